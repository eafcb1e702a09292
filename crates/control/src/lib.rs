//! SASS control words: stall, yield, scoreboards, wait masks and reuse flags of every encoding.
//!
//! Every SASS instruction carries 21 bits that tell the issue logic how to treat it. Three types separate what is
//! *stored* from what is *legal* and from *where* it is stored:
//!
//! - [`RawControl`]: any 21 bits. Total, so that foreign code survives a round trip whatever it holds.
//! - [`Control`]: only combinations that the hardware defines, per [`Family`]. Reached by validation, kept legal by
//!   its setters.
//! - The carriers [`volta`] (sm_70 and later: a field of each 128-bit instruction) and [`maxwell`] (sm_50–62: a 64-bit
//!   word before each group of three). Both leave every other bit untouched.
//!
//! [`layout`] holds the field positions as data.
//!
//! The rules of [`Control`] are checked against real ptxas output of all supported generations, and against the
//! encodings that nvdisasm refuses, by the tests behind the `real-tools` feature.
//!
//! ```
//! use sassafras_control::{Control, Issue, Scoreboard, Stall, volta};
//!
//! let word: u128 = 0x000ea200001ee900_00000000020b7381; // LDG R11, [R2]
//! let control = Control::try_from(volta::read(word))?;
//! assert_eq!(control.to_string(), "B------:R-:W2:-:S01");
//!
//! let slower = control.with_issue(Issue::Hold(Stall::new(4).unwrap()))?.with_write(Scoreboard::new(0));
//! assert_eq!(volta::read(volta::insert(word, slower.into())), slower.into());
//! # Ok::<(), sassafras_control::Violation>(())
//! ```

mod control;
pub mod layout;
pub mod maxwell;
mod raw;
mod types;
pub mod volta;

pub use control::{Control, Violation};
pub use layout::{Field, FieldOverflow};
pub use raw::{ColumnError, RawControl};
pub use types::{Family, Issue, Reuse, Scoreboard, ScoreboardRole, Stall, WaitMask};
