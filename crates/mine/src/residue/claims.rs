//! Where the reasons of a table hold in a function: the pairs that each row names, with the cycles that it says are left.

use super::paths::{Part, counted};
use rustc_hash::{FxHashMap, FxHashSet};
use sassafras_control::{Field, volta};
use sassafras_ir::{Effects, Function, Inst, Lane, Payload, RegClass, Role};
use sassafras_machine::Category;
use sassafras_machine::mined::residue::{Reason, Second, When};
use sassafras_verify::hazards::rules::class_name;

/// The reasons of a table for the code of one group of architectures.
#[derive(Clone, Copy, Debug)]
pub struct Reasons<'a> {
    /// Its rows.
    pub rows: &'a [Reason],
    /// The group's name.
    pub table: &'a str,
}

/// A reason that holds for an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its place in the table.
    pub reason: u16,
    /// The cycles that are left, as it says.
    pub cycles: u16,
    /// The cycles that are.
    pub given: u16,
    /// The stalls that leave them.
    pub part: Part,
}

/// The rows that the instructions of a function are the first of, and those that they are the second of.
struct Roles {
    /// By instruction: its number. Those with one number are in the same rows.
    numbers: Vec<u32>,
    /// By number.
    first: Vec<Vec<u16>>,
    second: FxHashSet<(u32, u16)>,
}

impl Reasons<'_> {
    /// Where they hold in a function.
    pub fn claims(&self, f: &Function) -> Vec<Claim> {
        let roles = self.roles(f);
        let number = |inst: Inst| roles.numbers[inst.as_u32() as usize];
        let mut claims = Vec::new();
        let arithmetic = arithmetic(f);
        for block in f.blocks() {
            let insts = f.block_insts(block);
            let mut times = vec![0u16];
            for &inst in insts {
                times.push(times[times.len() - 1].saturating_add(counted(f, inst)));
            }
            let yields = !seldom_yields(f, insts, &arithmetic);
            for (place, &first) in insts.iter().enumerate() {
                for &reason in &roles.first[number(first) as usize] {
                    let row = &self.rows[usize::from(reason)];
                    if (yields && row.when.contains(&When::SeldomYields))
                        || !row.when.iter().all(|&when| first_is(f, first, when))
                    {
                        continue;
                    }
                    let is_second = |inst: Inst| {
                        roles.second.contains(&(number(inst), reason))
                            && row.when.iter().all(|&when| pair_is(f, first, inst, when))
                    };
                    for to in ends(f, insts, place, row, is_second).into_iter().flatten() {
                        let given = times[to] - times[place];
                        let part = Part { block, from: place as u32, to: to as u32 };
                        claims.push(Claim { reason, cycles: row.cycles, given, part });
                    }
                }
            }
        }
        claims
    }

    fn roles(&self, f: &Function) -> Roles {
        let mut names: FxHashMap<String, u32> = FxHashMap::default();
        let mut numbers = vec![0; f.inst_count()];
        let shaped = [Some(Category::Tensor), Some(Category::WarpgroupMma)];
        let matrix: Vec<bool> = f.opcodes().map(|text| shaped.contains(&Category::of(text))).collect();
        let mut plain: Vec<Option<u32>> = vec![None; matrix.len()];
        for &inst in f.blocks().flat_map(|block| f.block_insts(block)) {
            let opcode = f.inst(inst).opcode.as_u32() as usize;
            let number = plain[opcode].unwrap_or_else(|| {
                // The shape of matrix instructions counts.
                let text = f.opcode_text(f.inst(inst).opcode);
                let name = if matrix[opcode] { shaped_name(f, inst) } else { text.to_owned() };
                let next = names.len() as u32;
                *names.entry(name).or_insert(next)
            });
            plain[opcode] = Some(number).filter(|_| !matrix[opcode]);
            numbers[inst.as_u32() as usize] = number;
        }
        let mut roles = Roles { numbers, first: vec![Vec::new(); names.len()], second: FxHashSet::default() };
        for (reason, row) in self.rows.iter().enumerate() {
            for (name, &number) in &names {
                if row.first.hold(self.table, name) {
                    roles.first[number as usize].push(reason as u16);
                }
                if matches!(&row.second, Second::Names { names, .. } if names.hold(self.table, name)) {
                    roles.second.insert((number, reason as u16));
                }
            }
        }
        roles
    }
}

/// The places where the cycles of a reason end: at an instruction that it names, and at the end of the block. None where nothing fits, or
/// where as many instructions stand between as cycles are left.
fn ends(
    f: &Function,
    insts: &[Inst],
    place: usize,
    row: &Reason,
    is_second: impl Fn(Inst) -> bool,
) -> [Option<usize>; 2] {
    let Second::Names { edge, .. } = row.second else { return [Some(place + 1), None] };
    let furthest = (place + usize::from(row.cycles) - 1).min(insts.len());
    let adjacent = row.when.contains(&When::Adjacent);
    let mut named = None;
    for (to, &inst) in insts.iter().enumerate().take(furthest + 1).skip(place) {
        if to > place && named.is_none() && is_second(inst) {
            named = Some(to);
        }
        // Draining takes longer than any stall, and so does what is elsewhere. The last of a block may be a call that never
        // returns, and a return goes on where it was called.
        let elsewhere = f.inst(inst).effects.intersects(Effects::CALL | Effects::RET);
        let elsewhere = elsewhere && to > place && to + 1 < insts.len();
        if elsewhere || drains(f, inst) || (adjacent && to > place) {
            return [named, None];
        }
    }
    [named, (edge && furthest == insts.len()).then_some(insts.len())]
}

fn drains(f: &Function, inst: Inst) -> bool {
    matches!(f.inst(inst).payload, Payload::Word(word) if volta::read(word).get(Field::Stall) == 0)
}

/// Whether a condition on the first instruction holds; those on both do not count here.
fn first_is(f: &Function, inst: Inst, when: When) -> bool {
    let Payload::Word(word) = f.inst(inst).payload else { return false };
    let raw = volta::read(word);
    let writes = |classes: &[RegClass]| {
        let mut found = false;
        f.for_each_write(inst, |write| found |= classes.contains(&write.lane.class()));
        found
    };
    match when {
        When::WritesPredicate => writes(&[RegClass::Pred]),
        When::WritesUniform => writes(&[RegClass::Uniform, RegClass::UPred]),
        When::WritesGeneral => writes(&[RegClass::Gpr]),
        When::SetsScoreboard => [Field::Write, Field::Read].iter().any(|&field| raw.get(field) < 6),
        When::Guarded => f.inst(inst).guard.is_some(),
        When::Yields => raw.get(Field::Yield) == 0,
        When::Pair => data(f, inst) == 2,
        When::Quad => data(f, inst) == 4,
        _ => true,
    }
}

/// The name of a matrix instruction: with the registers of its result and sources, for those of warpgroups with those of its result.
fn shaped_name(f: &Function, inst: Inst) -> String {
    let text = f.opcode_text(f.inst(inst).opcode);
    if Category::of(text) == Some(Category::Tensor) {
        return class_name(f, inst);
    }
    let mut registers = 0;
    f.for_each_write(inst, |write| registers += u32::from(write.lane.class() == RegClass::Gpr));
    format!("{text}:{registers}")
}

/// By opcode: whether the integer and floating-point pipes take it.
fn arithmetic(f: &Function) -> Vec<bool> {
    let pipes = [Category::Alu, Category::Fma, Category::ImadWide, Category::Half];
    f.opcodes().map(|text| Category::of(text).is_some_and(|category| pipes.contains(&category))).collect()
}

/// So many instructions decide whether a block seldom yields.
const ENOUGH: u32 = 2;

/// Whether at most one in eight arithmetic instructions of a block that stall for 4 to 11 cycles ends the group.
fn seldom_yields(f: &Function, insts: &[Inst], arithmetic: &[bool]) -> bool {
    let (mut all, mut yields) = (0, 0);
    for &inst in insts {
        let Payload::Word(word) = f.inst(inst).payload else { continue };
        let raw = volta::read(word);
        if arithmetic[f.inst(inst).opcode.as_u32() as usize] && (4..=11).contains(&raw.get(Field::Stall)) {
            all += 1;
            yields += u32::from(raw.get(Field::Yield) == 0);
        }
    }
    all >= ENOUGH && yields * 8 <= all
}

/// How many registers of data an instruction loads or stores.
fn data(f: &Function, inst: Inst) -> usize {
    let (mut written, mut read) = (0, 0);
    f.for_each_write(inst, |write| written += usize::from(write.lane.class() == RegClass::Gpr));
    f.for_each_read(inst, |operand| {
        let is_data = matches!(operand.role, Role::Operand(_)) && operand.lane.class() == RegClass::Gpr;
        read += usize::from(is_data);
    });
    written.max(read)
}

/// Whether a condition on both instructions, or on the second, holds; those on the first do not count here.
fn pair_is(f: &Function, first: Inst, second: Inst, when: When) -> bool {
    let lanes = |inst: Inst, writes: bool| {
        let mut lanes: Vec<(Lane, bool)> = Vec::new();
        match writes {
            true => f.for_each_write(inst, |write| lanes.push((write.lane, false))),
            false => f.for_each_read(inst, |read| lanes.push((read.lane, read.role == Role::Guard))),
        }
        lanes
    };
    let meet = |first: Vec<(Lane, bool)>, second: Vec<(Lane, bool)>| {
        first.iter().any(|(lane, _)| second.iter().any(|(other, _)| other == lane))
    };
    match when {
        When::Reads => meet(lanes(first, true), lanes(second, false)),
        When::Guards => {
            meet(lanes(first, true), lanes(second, false).into_iter().filter(|&(_, guard)| guard).collect())
        }
        When::Overwrites => meet(lanes(first, true), lanes(second, true)),
        When::OverwritesSource => meet(lanes(first, false), lanes(second, true)),
        When::Waits => {
            matches!(f.inst(second).payload, Payload::Word(word) if volta::read(word).get(Field::Wait) != 0)
        }
        When::NeverRuns => matches!(f.inst(second).payload, Payload::Word(word) if word >> 12 & 15 == 15),
        _ => true,
    }
}
