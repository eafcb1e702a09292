//! Dual issue on sm_50 to sm_62: the pairs that the rules allow against the pairs that a compiler made.
//!
//! The control word marks the first instruction of a pair: stall 0 with the yield bit set, and the next one issues in the
//! same cycle.
//!
//! - [`stream`]: decoded code with what pairing asks about each instruction;
//! - [`mod@walk`]: issue cycles of code in its order, with no pairs, with those that are marked, or with all that are legal;
//! - [`mod@survey`]: what code shows about mnemonics, from which the tables were made;
//! - [`mod@compare`]: both pairings side by side, with a reason for every pair that one of them lacks.
//!
//! Only neighbours are paired; nothing is moved to make neighbours of instructions that would pair. Since what leads never
//! follows, no instruction has two partners, and pairing all legal neighbours in one walk is the best there is.
//!
//! Source: latency-model document, section "Dual-Issue Rules", and ptxas-scheduling document, section "Dual-Issue
//! Optimization", as mended by compiled code (`sassafras_model::dual_issue::observed`).

pub mod compare;
pub mod stream;
pub mod survey;
pub mod walk;

pub use compare::{Comparison, compare};
pub use stream::{Slot, Stream};
pub use survey::{Seen, survey};
pub use walk::{Pairing, Walk, walk};
