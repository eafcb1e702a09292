//! Cubins, fatbinaries and host files that hold them: read, and written back with code reordered.
//!
//! [`Container`] finds the device images in any file, [`Library`] also in one that is not in memory; [`Cubin`] reads one;
//! [`Cubin::rewrite`] writes it back with the instructions of some code sections in another order and every offset that
//! names an instruction following it; and [`Container::replace`] puts the result where it came from. No instruction is
//! decoded here: a slot is 16 bytes.
//!
//! ```no_run
//! use sassafras_cubin::{CodeEdit, Container, Cubin};
//!
//! let file = std::fs::read("libkernels.so")?;
//! let container = Container::parse(&file)?;
//! for image in container.cubins() {
//!     let bytes = container.bytes(image)?;
//!     let cubin = Cubin::parse(&bytes)?;
//!     for code in cubin.code() {
//!         println!("{} {} {:?} registers", cubin.sm(), code.name, code.registers);
//!     }
//!     let edits: Vec<_> = cubin.code().iter().map(CodeEdit::unchanged).collect();
//!     assert_eq!(cubin.rewrite(&edits)?, bytes.as_ref());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: nothing here panics on foreign bytes; nothing is allocated on the word of a header alone; an edit that
//! changes nothing gives the same bytes; a permutation and then its inverse give the same bytes.

mod attribute;
mod boundary;
mod bytes;
mod compression;
mod container;
mod cubin;
mod edit;
mod elf;
mod error;
mod fatbin;
mod follow_attributes;
mod follow_frames;
mod follow_lines;
mod grow;
mod image;
mod layout;
mod leb;
mod library;
mod line_encode;
mod line_table;
mod lz4;
mod moves;
mod pack;
mod place;
mod relayout;
mod replace;
mod rewrite;
mod sm;
mod source;
mod structures;
mod taken;
mod zstd_frame;

pub use attribute::{Attribute, AttributeInfo, AttributeType, Format, OffsetLayout, attribute_table};
pub use boundary::{Boundary, BoundaryKind};
pub use compression::{Compression, Limits};
pub use container::Container;
pub use cubin::{Code, ConstantBank, Cubin, Function};
pub use edit::{Capsules, CodeEdit, Reason, Refusal, RewriteOptions};
pub use elf::{Relocation, RelocationTable, Section, Symbol};
pub use error::{Error, Place, Problem};
pub use fatbin::ImageKind;
pub use follow_frames::FrameRow;
pub use grow::Fixed;
pub use image::{ContainerKind, Image, Location};
pub use library::Library;
pub use relayout::{Layout, Origin, Relayout, Slot};
pub use replace::{NoRoom, Prepared};
pub use sm::{Sm, Variant};
pub use source::{Source, Stored};
