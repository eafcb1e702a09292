//! What the hardware is: architectures, opcodes, scheduling classes, units and latencies, as data.
//!
//! Every number lives in a CSV file under `data/`, next to the place it was taken from. A number nobody printed is
//! absent and carries a reason; a printed range stays a range; a value borrowed from another architecture names it.
//!
//! Two latency sources exist and their types keep them apart:
//!
//! * **documented**: the latency-model document's scheduling costs ([`Cost`]), for [`classes`](ClassTable);
//! * **measured**: cycles ([`Cycles`]) seen in public tables, in compiled code or on a device
//!   ([`MeasuredLatencies`]).
//!
//! | question | start at |
//! |---|---|
//! | which machines are known, what does one inherit | [`Arch`], [`ArchInfo`] |
//! | what scheduling class has an instruction | [`OpcodeTable`], [`resolve_class`], [`class_for_mnemonic`] |
//! | what does a class cost on a machine | [`class_costs`], [`dependence_rule`] |
//! | which unit executes it | [`Unit`], [`unit_for_mnemonic`] |
//! | how many cycles apart must two instructions be | [`MeasuredLatencies`] |
//! | how close does compiled code let them stand | [`mined`] |
//! | which pipe takes it, when is a source of it free again | [`dispatch`] |
//! | where do flagged sources stay at hand | [`reuse`] |
//! | how many warps and dispatch slots | [`WarpProfile`] |
//! | how is all that packed into an instruction | [`Descriptor`] |
//! | everything at once, for printing | [`view()`] |

mod arch;
mod category;
mod class;
pub mod collectives;
mod condition;
mod constants;
mod descriptor;
pub mod dispatch;
mod encoding;
mod error;
pub mod guidance;
mod id;
mod measured;
mod memory;
pub mod mined;
mod mnemonic;
pub mod multiprocessor;
mod names;
mod opcode;
mod operand_time;
pub mod reuse;
mod rule;
mod span;
pub mod special;
pub mod state;
mod table;
pub mod tile;
mod unit;
pub mod view;
mod warp;

pub use arch::{Arch, ArchError, ArchInfo, ArchTable, InstructionEncoding, Layer, RegisterFile, Suffix};
pub use category::{Category, Consumer, Evidence, Guard, Hazard, Lane, RegisterKind, Role};
pub use class::{ClassCosts, ClassEntry, ClassOrigin, ClassTable, class_costs};
pub use condition::{Atom, Condition, ConditionError, Conditions};
pub use constants::{Constant, Constants, constants};
pub use descriptor::{Descriptor, DescriptorFields};
pub use encoding::{
    EncodingRow, PipeFlags, PipeMask, SubClass, pipe_flag_rows, pipe_mask_rows, sub_class_rows,
};
pub use error::TableError;
pub use id::{ClassId, IdError, LatencyIndex, OriOpcode};
pub use measured::{Measured, MeasuredLatencies, MeasuredQuery, MeasuredRow, MeasuredTable};
pub use memory::{
    HidingCategory, MemorySpace, Temperature, TemperatureRule, TypicalCycles, hiding_categories,
    memory_spaces, temperature_rules,
};
pub use mnemonic::{MnemonicClass, Via, class_for_mnemonic, classes_for_mnemonic, unit_for_mnemonic};
pub use opcode::{
    Alias, ClassChoice, ClassRef, OpcodeEntry, OpcodeGroup, OpcodeTable, Variant, opcodes, resolve_class,
};
pub use rule::{DependenceRule, HwLatencyEntry, RuleOrigin, SchedParams, dependence_rule, hw_latency_entry};
pub use span::{Cost, Cycles, Span};
pub use unit::{
    CharCode, Ipc, Pipe, RESOURCE_FLAGS_OFFSET, RESOURCE_SLOT_SIZE, Rate, Unit, UnitInfo, UnitName,
    char_codes, class_for_unit_name, unit_names,
};
pub use view::{ArchView, view};
pub use warp::{
    ArchWarpProfile, IssueWidth, SubArchVariant, WarpProfile, issue_width, issue_widths, sub_arch_variants,
    warp_profiles,
};
