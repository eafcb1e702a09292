//! One small machine IR for every level of the scheduler.
//!
//! A [`Module`] is a list of [`Function`]s; a function is a list of blocks in layout order; a block is a list of
//! instructions. The IR knows nothing of any scheduler and nothing of any file format: a front-end lifts what it read
//! into it and keeps what it needs to write the instruction back as a [`Payload`].
//!
//! Three decisions carry everything else:
//!
//! * **Registers are lanes.** Dependence, liveness and pressure work on 32-bit register units and single predicate
//!   bits ([`Lane`]). An operand is a [`Span`] of consecutive lanes, so that a 128-bit load writes four lanes and each
//!   of them is tracked by itself.
//! * **A guarded write is a may-write** and does not kill the value that was there ([`Function::kills`]).
//! * **Memory accesses are operands.** On the left of `=` an access is written, on the right it is read, so that an
//!   instruction that copies from global to shared memory is one instruction with one access on either side.
//!
//! Modules, in the order a reader wants them: [`lane`], [`operand`], [`function`], [`text`] (parser and printer),
//! [`verify`], then the analyses [`mod@cfg`], [`dominators`], [`loops`], [`liveness`], [`pressure`].
//!
//! ```
//! use sassafras_ir::{cfg::Cfg, liveness::Liveness, text};
//!
//! let module = text::parse("func f sm_90 {\n^a:\n  R4 = LDG global.4[R0]\n  R5 = FADD R4, R2\n  EXIT !exit\n}\n")
//!     .expect("a right text");
//! let f = &module.functions[0];
//! let block = f.blocks().next().expect("a block");
//! let mut written = Vec::new();
//! f.for_each_write(f.block_insts(block)[0], |lane| written.push(lane.lane.to_string()));
//! assert_eq!(written, ["R4"]);
//! let liveness = Liveness::new(f, &Cfg::new(f))?;
//! assert_eq!(liveness.live_in(block).map(|lane| lane.to_string()).collect::<Vec<_>>(), ["R0", "R2"]);
//! # Ok::<(), sassafras_ir::liveness::TooLarge>(())
//! ```

pub mod cfg;
pub mod dominators;
pub mod function;
pub mod lane;
pub mod liveness;
pub mod loops;
pub mod operand;
pub mod pressure;
pub mod text;
pub mod verify;

pub use function::{Block, Effects, Function, Guard, Inst, LaneRef, Module, Opcode, Payload, Role};
pub use lane::{Lane, RegClass, Span};
pub use operand::{AccessFlags, MemAccess, MemRef, Name, Operand, Space};
