//! Goal: kernels in the style of CUTLASS get what their matrix loops need: barrier points, a stall and a register limit per
//! block, scoreboards for the slow instructions first, and matrix and memory instructions in turn.
//!
//! - [`detect`]: by the function's name and by the structure of its loops;
//! - [`settings`]: the knobs;
//! - [`thresholds`] and [`worklist`]: barrier points between the matrix instructions of a block;
//! - [`pair_table`]: block → (stall target, register limit), by FNV-1a;
//! - [`pool`]: who gets a scoreboard first;
//! - [`memory`] and [`interleave`]: an order of a block in which memory instructions stand evenly between matrix instructions.
//!
//! [`CutlassPlan::of`] makes all of it for a function, or nothing where the function is no such kernel.
//!
//! Source: latency-model document, section "Cutlass-Specific Scheduling"; ptxas-scheduling document, section "CUTLASS-Aware
//! Scheduling". What the documents do not say is said where it is decided. Not here: the rounds of sinking and
//! rematerialisation (knob 862), which happen before registers are assigned.

pub mod detect;
pub mod interleave;
pub mod memory;
pub mod pair_table;
pub mod pool;
pub mod settings;
pub mod thresholds;
pub mod worklist;

pub use detect::Evidence;
pub use interleave::Interleave;
pub use pair_table::{PairTable, StallPair};
pub use settings::{Insertion, Settings};
pub use worklist::{Point, Priority, Worklist};

use crate::body::Body;
use crate::code::{Code, index};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::{Block, Inst, RegClass};
use sassafras_knobs::KnobSet;
use sassafras_machine::Category;

/// The scheduling modes in which blocks are scored with barrier points in mind, by their documented numbers.
pub const BARRIER_AWARE_MODES: [u8; 3] = [3, 5, 6];

/// What a score takes into account at a block with barrier points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// More registers are live than the block should have.
    pub over_limit: bool,
    /// The stall wanted around matrix instructions; none where the modelled one stays.
    pub stall: Option<u8>,
}

/// Everything that is special about the scheduling of one kernel.
#[derive(Clone, Debug)]
pub struct CutlassPlan {
    /// Why it is one.
    pub evidence: Evidence,
    /// The knobs.
    pub settings: Settings,
    /// Barrier points.
    pub worklist: Worklist,
    /// By block.
    pub pairs: PairTable,
    /// By instruction: its turn when scoreboards are given out, 0 first.
    ranks: Vec<u32>,
    /// By instruction: the priority of its barrier point.
    priorities: Vec<Option<Priority>>,
    /// By instruction: a barrier of the block's threads.
    barriers: Vec<bool>,
}

impl CutlassPlan {
    /// The plan for a function; none when it is no such kernel and no knob asks to treat it as one.
    pub fn of(code: &Code<'_>, name: &str, knobs: &KnobSet) -> Option<CutlassPlan> {
        let cfg = Cfg::new(code.f);
        let settings = Settings::from(knobs);
        let evidence = Evidence::of(code, &cfg, name);
        let wanted = evidence.is_cutlass() || settings.matrix_modes.contains(&true);
        if evidence.matrix_instructions == 0 || !wanted {
            return None;
        }
        let worklist = Worklist::build(code, &cfg, settings.insertion);
        let pair = StallPair {
            stall_target: settings.stall_override().map_or(0, i32::from),
            register_limit: i32::try_from(registers(code)).unwrap_or(i32::MAX),
        };
        let mut pairs = PairTable::new();
        let mut priorities = vec![None; code.f.inst_count()];
        for point in worklist.points() {
            pairs.insert(point.block.as_u32(), pair);
            priorities[index(point.inst)] = Some(point.priority);
        }
        let barriers = code.f.opcodes().map(|text| text.split('.').next() == Some("BAR")).collect::<Vec<_>>();
        let mut is_barrier = vec![false; code.f.inst_count()];
        for &inst in code.f.blocks().flat_map(|block| code.f.block_insts(block)) {
            is_barrier[index(inst)] = barriers[code.f.inst(inst).opcode.as_u32() as usize];
        }
        let ranks = pool::ranks(code);
        Some(CutlassPlan { evidence, settings, worklist, pairs, ranks, priorities, barriers: is_barrier })
    }

    /// The priority of the barrier point at an instruction.
    pub fn priority(&self, inst: Inst) -> Option<Priority> {
        self.priorities.get(index(inst)).copied().flatten()
    }

    /// The stall that replaces the modelled one at barrier points.
    pub fn stall_override(&self) -> Option<u8> {
        self.settings.stall_override()
    }

    /// Whether blocks are scored with barrier points in mind, in a scheduling mode.
    ///
    /// The second matrix mode (knob 629) is set beside the first one and nothing documented asks for it here.
    pub fn is_barrier_aware(&self, mode: u8) -> bool {
        let on = self.evidence.is_cutlass() || self.settings.matrix_modes[0];
        on && !self.worklist.is_empty() && BARRIER_AWARE_MODES.contains(&mode)
    }

    /// What to take into account when an instruction of a block is scored while `live` registers are.
    pub fn adjustment(&self, block: Block, mode: u8, live: u32) -> Option<Adjustment> {
        if !self.is_barrier_aware(mode) {
            return None;
        }
        let pair = self.pairs.get(block.as_u32());
        let over_limit = i64::from(live) > i64::from(pair.register_limit);
        let stall = u8::try_from(pair.stall_target).ok().filter(|&stall| stall > 0);
        Some(Adjustment { over_limit, stall })
    }

    /// An instruction's turn when scoreboards are given out: smaller ones choose first.
    pub fn pool_rank(&self, inst: Inst) -> u32 {
        self.ranks.get(index(inst)).copied().unwrap_or(u32::MAX)
    }

    /// Instructions in the order in which they choose scoreboards.
    pub fn pool_order(&self, insts: &[Inst]) -> Vec<Inst> {
        let mut order = insts.to_vec();
        order.sort_by_key(|&inst| self.pool_rank(inst));
        order
    }

    /// Whether a batch ends before this instruction, unless it starts one: the document calls it the CUTLASS barrier. By that
    /// role it is a barrier of the block's threads; the number printed with it is that of a global load elsewhere.
    pub fn ends_batch(&self, inst: Inst) -> bool {
        self.barriers.get(index(inst)).copied().unwrap_or(false)
    }

    /// Whether the mode of dynamic batches is chosen without a knob: the documents have detection decide it.
    pub fn wants_dynamic_batches(&self) -> bool {
        self.evidence.is_cutlass()
    }

    /// The ordering policy for a block; none where there is nothing to put in turn.
    pub fn policy<'b>(&self, code: &Code<'_>, body: &'b Body) -> Option<Interleave<'b>> {
        Interleave::new(code, body)
    }
}

/// Whether an instruction multiplies matrices.
pub fn is_matrix(code: &Code<'_>, inst: Inst) -> bool {
    matches!(code.op(inst).category, Some(Category::Tensor | Category::WarpgroupMma))
}

/// General registers that a function uses, counted from 0: what an order of its blocks may not exceed.
fn registers(code: &Code<'_>) -> u32 {
    let f = code.f;
    let operands = f.blocks().flat_map(|block| f.block_insts(block)).flat_map(|&inst| f.operands(inst));
    let general = operands.filter_map(|operand| operand.span()).filter(|span| span.class() == RegClass::Gpr);
    general.map(|span| span.first().index() + u32::from(span.len())).max().unwrap_or(0)
}
