//! Binary hardware-profile records: encoder, decoder and assembly order.
//!
//! The latency-model document describes how the assembler keeps its machine model in memory: 72-byte latency entries,
//! 40-byte dependence rules, and 96-byte schedule records of fourteen types with data blocks behind them. [`Profile`] is
//! that model as a value; [`Profile::encode`] and [`Profile::decode`] turn it into a file and back.
//!
//! # The file
//!
//! Little endian. Every pointer of the in-memory form is an offset from the start of the file, 0 for none.
//!
//! | part | bytes | contents |
//! |---|---|---|
//! | container header | 64 | magic, version, architecture, counts, offsets ([`container`]) |
//! | tables | 72 × entries + 40 × rules, padded to 16 | the documented entries, then the documented rules |
//! | knowledge | 16 × rules | which fields of each rule are *unknown*, and known ranges: ours, see [`Rule`] |
//! | records | 96 × records | the documented records in assembly order ([`RecordType`]) |
//! | output | per record 32 + its data block, padded to 16 | the linear output: a header per record, then its data |
//!
//! There is exactly one encoding of a profile: the decoder refuses everything that [`Profile::encode`] would not have
//! written, and names the offset and the field.
//!
//! # Readings
//!
//! The document leaves these open:
//!
//! - Of the 72 bytes of a latency entry it prints 32; the rest is written as zero.
//! - It says that the linear output has a 32-byte header per record without listing it, and lists a 32-byte header of the
//!   growable buffer (with 24 bytes used). Both describe a record's data block: one header serves as both.
//! - The root record's "profile object" is the table part of the file, and its table size is that part's size.
//! - Bitmask words of SM-specific entries are "one per 8 scheduling classes" and also "4 entries × 4 properties"; eight
//!   classes of four bits fill a word, and `4 × class_count` is then the number of bits.
//! - The order of the records after the dimension entries follows the construction pipeline: per group a boundary, then
//!   barrier entries, barrier data, standard, wait and scoreboard entries; SM-specific entries last.
//! - The cost product multiplies the latency by the throughput class of the latency entry in one example and by the
//!   throughput of the rule in the other: the entry's wins where there is one ([`Class::standard`]).

mod bytes;
mod class;
pub mod container;
mod data;
mod error;
mod fuzz;
mod grammar;
mod kind;
mod machine;
mod profile;
mod record;
mod rule;
mod text;
mod view;

pub use class::{Class, LatencyEntry};
pub use data::{
    BarrierTable, Block, DependencyTable, Dimension, Properties, SmTable, Variant, VariantSection,
};
pub use error::{DecodeError, EncodeError};
pub use fuzz::fuzz_decode;
pub use kind::RecordType;
pub use machine::ValueTooLarge;
pub use profile::{Group, Profile};
pub use record::Standard;
pub use rule::{Estimate, Override, OverrideCycles, Range, Rule};
pub use text::{Label, Text};
