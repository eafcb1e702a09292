//! What templates call: numbers as the other outputs show them. Templates hand on references or values, as it happens.

use crate::columns;
use sassafras_machine::guidance::GuidanceUnit;
use std::borrow::Borrow;

/// A number.
pub fn number(value: impl Borrow<f64>) -> String {
    columns::number(*value.borrow())
}

/// A number that may be missing.
pub fn known(value: impl Borrow<Option<u32>>) -> String {
    columns::known(*value.borrow())
}

/// The width of a bar, in per cent: never more than all of it.
pub fn width(percent: impl Borrow<f64>) -> String {
    columns::number(percent.borrow().clamp(0.0, 100.0))
}

/// The class that has the colour of a unit.
pub fn colour(unit: impl Borrow<GuidanceUnit>) -> String {
    format!("u{}", *unit.borrow() as usize)
}

/// An offset as listings have it.
pub fn offset(at: impl Borrow<u64>) -> String {
    format!("{:04x}", at.borrow())
}
