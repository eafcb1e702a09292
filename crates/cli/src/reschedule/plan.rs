//! Goal: the new order and the new control fields of one section, or why there are none.

use super::anti;
use super::orders::Written;
use super::outcome::Notes;
use super::{Control, Job, Order, Orders, RoutineId, Unit, in_the_way};
use crate::input::Selection;
use crate::serial;
use sassafras_cubin::{Boundary, Code, CodeEdit, Cubin, FrameRow, RewriteOptions};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::function::Payload;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Effects, Function, Inst};
use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::Multiprocessor;
use sassafras_passes::schedule_function;
use sassafras_sass::Lifted;
use sassafras_sass::program::{Program, Relative, Routine};
use sassafras_sass::rename::Renamer;
use sassafras_tepid as tepid;
use sassafras_tepid::cutlass::CutlassPlan;
use sassafras_tepid::schedule::Settings;
use std::collections::BTreeMap;

/// What is to become of a section.
pub struct Planned {
    /// Order and words.
    pub edit: CodeEdit,
    /// What the scheduler says about it.
    pub notes: Notes,
}

/// The new order of one section, or why there is none. `image` is the number of the cubin in its file.
pub fn plan(
    cubin: &Cubin<'_>,
    image: usize,
    code: &Code<'_>,
    selection: &Selection,
    job: &Job,
) -> Result<Planned, String> {
    let mut notes = Notes::default();
    if matches!(job.order, Order::Original) && job.control == Control::Keep {
        return Ok(Planned { edit: CodeEdit::unchanged(code), notes });
    }
    // What may not change in the end need not be looked at.
    let options = RewriteOptions { capsules: job.capsules };
    cubin.refuse_capsule(code, options).map_err(|refusal| in_the_way(&refusal))?;
    let program = Program::new(cubin).map_err(|error| error.problem.to_string())?;
    let mut routines = program.lift(code).map_err(|error| error.to_string())?;
    let opaque = routines.iter().find_map(|routine| {
        let f = &routine.lifted.function;
        let mut insts = f.blocks().flat_map(|block| f.block_insts(block));
        insts.find(|&&inst| f.inst(inst).effects.contains(Effects::OPAQUE)).map(|&inst| routine.offset(inst))
    });
    if let Some(offset) = opaque {
        let section = cubin.sections()[code.section].name;
        return Err(format!(
            "{section} at offset {offset:#x}: an opaque instruction keeps its control fields"
        ));
    }
    let whole = selection.takes_name(code.name);
    let mut edit = CodeEdit::unchanged(code);
    let id = |routine: &Routine| RoutineId { image, section: code.section, start: routine.range.start };
    // What bisection leaves out need not be looked at either.
    if !routines.iter().any(|routine| job.bisection.takes_routine(id(routine))) {
        return Ok(Planned { edit, notes });
    }
    let relative = Relative::new(program.arch());
    let frames = cubin.frame_rows(code);
    let boundaries = cubin.boundaries(code).map_err(|refusal| in_the_way(&refusal))?;
    for routine in &mut routines {
        let id = id(routine);
        if (whole || selection.takes_name(&routine.name)) && job.bisection.takes_routine(id) {
            let arch = program.arch();
            let lifted = &mut routine.lifted;
            let original = tepid::Original::new(&tepid::Code::new(&lifted.function, &lifted.sources, arch));
            original.hold(&mut lifted.function);
            let made = reorder(lifted, &original, (&routine.name, id, arch), code, job, &mut notes)?;
            if matches!(made, Made::Nothing) {
                continue;
            }
            let wanted = orders(&routine.lifted.function);
            keep_sides(routine, &boundaries);
            keep_rows(routine, &frames);
            let came = match &made {
                Made::Order(came) => came.as_ref(),
                Made::Nothing | Made::Turns(_) => None,
            };
            if let Some(came) = came
                && orders(&routine.lifted.function) != wanted
            {
                // Registers were chosen for an order that cannot be.
                routine.lifted = Lifted::clone(came);
            }
            let fields = match (job.control, made) {
                (Control::Rebuild, Made::Turns(fields)) => Some(fields),
                (Control::Rebuild, Made::Order(came)) => Some(fields(routine, came, &original, arch)?),
                (Control::Rebuild, Made::Nothing) | (Control::Keep | Control::Serial, _) => None,
            };
            if job.keep_orders {
                notes.orders.push((routine.name.clone(), written(&routine.lifted.function)));
            }
            let came = edit.words.clone();
            notes.units.extend(changed(routine, &came).map(|block| Unit { routine: id, block: Some(block) }));
            notes.renamed += apply(routine, relative, &mut edit)?;
            if let Some(fields) = fields {
                set_fields(routine, &fields, &mut edit);
            }
            if edit.words != came || job.control == Control::Serial {
                notes.units.push(Unit { routine: id, block: None });
            }
        }
    }
    if job.control == Control::Serial {
        serial::rewrite(&routines, &mut edit);
    }
    Ok(Planned { edit, notes })
}

/// What was done with a routine, and so which of its control fields are made anew: one that no better order was found for keeps those
/// that it came with.
enum Made {
    /// It stays as it is.
    Nothing,
    /// It stays in order, and its warps keep their turns longer.
    Turns(Vec<tepid::Fields>),
    /// It has another order, or all its control fields are wanted anew. If it has other registers, too, this is how it came.
    Order(Option<Box<Lifted>>),
}

/// Puts the blocks of a routine into another order.
fn reorder(
    lifted: &mut Lifted,
    original: &tepid::Original,
    (name, id, arch): (&str, RoutineId, Arch),
    code: &Code<'_>,
    job: &Job,
    notes: &mut Notes,
) -> Result<Made, String> {
    let warps = job.launch.warps(code, arch);
    let cycles = |lifted: &Lifted| estimate(lifted, arch, warps);
    let settings = match &job.order {
        Order::Original => {
            let cycles = cycles(lifted);
            notes.estimated(cycles, cycles);
            return Ok(Made::Order(None));
        }
        Order::List(options) => {
            let before = cycles(lifted);
            let came = lifted.clone();
            let renamed = anti::break_dependences(lifted, options, (id, arch), code, job)?;
            let old: Vec<Vec<Inst>> = orders(&came.function);
            let mut listed = came.function.clone();
            schedule_function(&mut listed, options).map_err(|error| error.to_string())?;
            for block in came.function.blocks().filter(|block| !renamed.contains(block)) {
                lifted.function.reorder(block, listed.block_insts(block));
            }
            keep_groups(lifted, arch, old);
            keep_others(&mut lifted.function, id, job);
            notes.estimated(before, cycles(lifted));
            if orders(&lifted.function) != orders(&came.function) {
                notes.made_by(options.strategy.name());
            }
            return Ok(Made::Order((!renamed.is_empty()).then(|| Box::new(came))));
        }
        Order::Given(orders) => {
            let before = cycles(lifted);
            give(lifted, name, arch, orders)?;
            keep_others(&mut lifted.function, id, job);
            notes.estimated(before, cycles(lifted));
            return Ok(Made::Order(None));
        }
        Order::Tepid(settings) => {
            let withheld = Multiprocessor::of(arch).withheld;
            let count = code.registers.filter(|_| !job.keep_registers);
            let registers = count.unwrap_or(0).saturating_sub(withheld);
            Settings { registers, ..settings.for_warps(warps) }
        }
    };
    let prepared = tepid::Code::new(&lifted.function, &lifted.sources, arch);
    let choose = || {
        let cutlass = CutlassPlan::of(&prepared, name, &job.knobs);
        tepid::function::choose_with(&prepared, &settings, cutlass.as_ref())
    };
    let mut plan = match &job.memo {
        Some(memo) => memo.get(id, choose),
        None => choose(),
    };
    let all = plan.choices.len();
    plan.choices.retain(|choice| job.bisection.takes(id, choice.block.as_u32()));
    // Who asks for the fields of a routine alone gets them for the order that came.
    let fields_alone = all > 0 && job.bisection.takes_fields(id);
    // Where nothing is searched, closed loops gain by fields that know all distances: on an H200 up to 3 %, and no kernel of the suite loses.
    let anew = settings.evaluations == 0 && plan.streams.any_closed() && job.bisection.takes_fields(id);
    let made = if settings.policy.is_some() || !plan.choices.is_empty() || fields_alone || anew {
        let renamed = plan.choices.iter().any(|choice| choice.names.is_some());
        Made::Order(renamed.then(|| Box::new(lifted.clone())))
    } else if plan.streams.any() && job.bisection.takes_fields(id) {
        Made::Turns(tepid::yields::hold_streams(&prepared, original, &plan.streams))
    } else {
        Made::Nothing
    };
    let renamer = Renamer::new(arch);
    for choice in &plan.choices {
        lifted.function.reorder(choice.block, &choice.order);
        let Some(names) = &choice.names else { continue };
        for inst in names.insts() {
            let (read, written) = (|span| names.read(inst, span), |span| names.written(inst, span));
            lifted.rename(&renamer, inst, read, written).map_err(|error| error.to_string())?;
        }
    }
    if plan.choices.len() < all {
        plan.cycles.1 = estimate(lifted, arch, warps);
    }
    notes.add(&plan);
    Ok(made)
}

/// Cycles of the model for a function as it stands.
fn estimate(lifted: &Lifted, arch: Arch, warps: u32) -> u64 {
    let code = tepid::Code::new(&lifted.function, &lifted.sources, arch);
    tepid::function::choose(&code, &Settings { level: 0, ..Settings::default() }.for_warps(warps)).cycles.0
}

/// Puts blocks into orders that the user gave.
fn give(lifted: &mut Lifted, name: &str, arch: Arch, orders: &Orders) -> Result<(), String> {
    let old = self::orders(&lifted.function);
    let blocks: Vec<Block> = lifted.function.blocks().collect();
    for block in blocks {
        let Some(wanted) = orders.get(name, block.as_u32()) else { continue };
        let length = lifted.function.block_insts(block).len();
        if wanted.len() != length {
            let number = block.as_u32();
            return Err(format!(
                "block {number} of {name} has {length} instructions, the order has {}",
                wanted.len()
            ));
        }
        let code = tepid::Code::new(&lifted.function, &lifted.sources, arch);
        let order = tepid::function::given(&code, block, wanted);
        lifted.function.reorder(block, &order);
    }
    keep_groups(lifted, arch, old);
    Ok(())
}

fn orders(f: &Function) -> Vec<Vec<Inst>> {
    f.blocks().map(|block| f.block_insts(block).to_vec()).collect()
}

/// Gives blocks with instructions that run beside the warp, by groups, their old order back: what other orders need of their
/// control fields is not known (on an H200 most were wrong).
fn keep_groups(lifted: &mut Lifted, arch: Arch, old: Vec<Vec<Inst>>) {
    let code = tepid::Code::new(&lifted.function, &lifted.sources, arch);
    let kept: Vec<(Block, Vec<Inst>)> =
        lifted.function.blocks().zip(old).filter(|(_, insts)| code.has_group(insts)).collect();
    for (block, insts) in kept {
        lifted.function.reorder(block, &insts);
    }
}

/// New control fields for the instructions of a routine. If there are none for the new order, the one that came is restored.
fn fields(
    routine: &mut Routine,
    came: Option<Box<Lifted>>,
    original: &tepid::Original,
    arch: Arch,
) -> Result<Vec<tepid::Fields>, String> {
    let made =
        tepid::rebuild(&tepid::Code::new(&routine.lifted.function, &routine.lifted.sources, arch), original);
    if let Ok(fields) = made {
        return Ok(fields);
    }
    match came {
        Some(came) => routine.lifted = *came,
        None => {
            let f = &mut routine.lifted.function;
            f.blocks().collect::<Vec<_>>().into_iter().for_each(|block| restore(f, block));
        }
    }
    tepid::rebuild(&tepid::Code::new(&routine.lifted.function, &routine.lifted.sources, arch), original)
        .map_err(|error| error.to_string())
}

/// Gives the instructions of a routine new control fields, as they stand.
fn set_fields(routine: &Routine, fields: &[tepid::Fields], edit: &mut CodeEdit) {
    let f = &routine.lifted.function;
    let first = (routine.range.start / 16) as usize;
    for (&inst, slot) in f.blocks().flat_map(|block| f.block_insts(block)).zip(first..) {
        edit.words[slot] = fields[inst.as_u32() as usize].insert(edit.words[slot]);
    }
}

/// Gives a block its old order back where an instruction has crossed a place inside it that something may point to.
fn keep_sides(routine: &mut Routine, boundaries: &[Boundary]) {
    let blocks: Vec<Block> = routine.lifted.function.blocks().collect();
    for block in blocks {
        let new = routine.lifted.function.block_insts(block).to_vec();
        // Instructions are numbered in the order that they came in.
        let mut old = new.clone();
        old.sort_unstable();
        let Some(&first) = old.first() else { continue };
        let start = routine.offset(first);
        let crossed = boundaries.iter().any(|boundary| {
            let before = boundary.offset.saturating_sub(start).div_ceil(16).min(old.len() as u64) as usize;
            before > 0 && new[..before].iter().any(|&inst| inst > old[before - 1])
        });
        if crossed {
            routine.lifted.function.reorder(block, &old);
        }
    }
}

/// Gives blocks their old order back where rows of call-frame data follow an instruction to the other side of another row.
fn keep_rows(routine: &mut Routine, frames: &[Vec<FrameRow>]) {
    let f = &routine.lifted.function;
    let mut places: BTreeMap<u64, (u64, Block)> = BTreeMap::new();
    let mut new = routine.range.start;
    for block in f.blocks() {
        for &inst in f.block_insts(block) {
            places.insert(routine.offset(inst), (new, block));
            new += 16;
        }
    }
    let mut kept: Vec<Block> = Vec::new();
    for rows in frames {
        let place = |row: &FrameRow| row.behind.and_then(|behind| places.get(&behind));
        let address = |row: &FrameRow| place(row).map_or(row.address, |(new, _)| new + 16);
        if !rows.is_sorted_by_key(address) {
            kept.extend(rows.iter().filter_map(place).map(|&(_, block)| block));
        }
    }
    kept.into_iter().for_each(|block| restore(&mut routine.lifted.function, block));
}

/// Gives blocks their old order back that may not change.
fn keep_others(f: &mut Function, id: RoutineId, job: &Job) {
    for block in f.blocks().collect::<Vec<_>>() {
        if !f.block_insts(block).is_sorted() && !job.bisection.takes(id, block.as_u32()) {
            restore(f, block);
        }
    }
}

/// The blocks of a routine that have another order or other registers than in the words that came.
fn changed(routine: &Routine, came: &[u128]) -> impl Iterator<Item = u32> {
    let f = &routine.lifted.function;
    let renamed = |&inst: &Inst| match f.inst(inst).payload {
        Payload::Word(word) => word != came[routine.slot(inst) as usize],
        Payload::None | Payload::Text(_) => false,
    };
    let is_changed = move |insts: &[Inst]| !insts.is_sorted() || insts.iter().any(renamed);
    f.blocks().filter(move |&block| is_changed(f.block_insts(block))).map(|block| block.as_u32())
}

/// Gives a block its old order back: instructions are numbered in the order that they came in.
fn restore(f: &mut Function, block: Block) {
    let mut old = f.block_insts(block).to_vec();
    old.sort_unstable();
    f.reorder(block, &old);
}

/// The blocks of a routine as they stand.
fn written(f: &Function) -> Vec<Written> {
    let cfg = Cfg::new(f);
    let loops = Loops::new(f, &cfg, &Dominators::new(f, &cfg));
    let of = |block: Block| {
        let mut old = f.block_insts(block).to_vec();
        old.sort_unstable();
        // Instructions are numbered in the order that they came in.
        let place = |inst: &Inst| old.binary_search(inst).unwrap_or(0) as u32;
        Written {
            block: block.as_u32(),
            depth: loops.block_depth(block),
            places: f.block_insts(block).iter().map(place).collect(),
            opcodes: old.iter().map(|&inst| f.opcode_text(f.inst(inst).opcode).to_owned()).collect(),
        }
    };
    f.blocks().filter(|&block| !f.block_insts(block).is_empty()).map(of).collect()
}

/// Puts the new order of a routine into the edit of its section, with its words. Distances in words follow. Returns how many words name
/// other registers.
fn apply(routine: &Routine, relative: Relative, edit: &mut CodeEdit) -> Result<u64, String> {
    let f = &routine.lifted.function;
    let first = (routine.range.start / 16) as u32;
    let old = edit.words.clone();
    let mut renamed = 0;
    for (inst, to) in f.blocks().flat_map(|block| f.block_insts(block)).zip(first..) {
        let from = routine.slot(*inst);
        let (from_offset, to_offset) = (u64::from(from) * 16, u64::from(to) * 16);
        let word = match f.inst(*inst).payload {
            Payload::Word(word) => word,
            Payload::None | Payload::Text(_) => old[from as usize],
        };
        renamed += u64::from(word != old[from as usize]);
        edit.order[to as usize] = from;
        edit.words[to as usize] = relative.moved(word, from_offset, to_offset).ok_or_else(|| {
            format!("the place that the instruction at {from_offset:#x} names is too far away")
        })?;
    }
    Ok(renamed)
}
