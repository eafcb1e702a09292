//! Scheduled tile loops for people: as text, as a page with the modulo table drawn, and as a trace of the steady state.

mod page;
mod table;
mod text;
mod trace;

pub use page::html;
pub use text::text;
pub use trace::json;

use sassafras_tile::view::View;
use serde::Serialize;

/// A scheduled loop and what its proof ran, in words.
#[derive(Clone, Debug, Serialize)]
pub struct Loop {
    /// The loop.
    #[serde(flatten)]
    pub view: View,
    /// What was replayed to prove it.
    pub proof: Vec<String>,
}
