//! Every tuning knob of the five specifications: name, type, default, range, meaning, consumer.
//!
//! The table is `data/knobs.toml`; [`registry`] gives it parsed. A [`KnobSet`] holds what a user set, from the command
//! line ([`KnobSet::assign`]) or a file ([`KnobSet::load_toml`]), and tells a value that was set from a default, because
//! the documents test for "knob is set". Code reads a knob through a typed [`Key`]; every knob whose row names a reader has
//! one in [`keys`], and tests of the command show each reader on a real file, so that [`KnobSet::unread`] finds settings
//! without any effect.
//!
//! ```
//! use sassafras_knobs::{KnobSet, keys};
//!
//! let mut knobs = KnobSet::new();
//! assert_eq!(knobs.get(keys::DYNBATCH_STALL_CAP), Some(0)); // the documented default
//! assert_eq!(knobs.explicit(keys::DYNBATCH_STALL_CAP), None); // but nobody set it
//!
//! knobs.assign("dynbatch-stall-cap=12")?;
//! assert_eq!(knobs.explicit(keys::DYNBATCH_STALL_CAP), Some(12));
//!
//! let error = knobs.assign("knob-806=17").unwrap_err();
//! assert_eq!(error.to_string(), "17 is out of range for knob `knob-806`: allowed is 0 to 16");
//! # Ok::<(), sassafras_knobs::SettingError>(())
//! ```

mod error;
mod file;
pub mod keys;
mod knob;
mod listing;
mod registry;
mod set;
mod suggest;
mod table;
mod value;

pub use error::{FileError, Hint, Place, SettingError};
pub use keys::{Key, Readable};
pub use knob::{DefaultValue, Document, Family, Knob};
pub use listing::{FamilyEntry, KnobEntry, Listing, TABLE_HEADER};
pub use registry::{Registry, registry};
pub use set::{KnobSet, Setting};
pub use value::{Bounds, Kind, Range, Value};
