//! Goal: the new order and the new control fields of one section, or why there are none.

use super::judge::Judge;
use super::kept::Kept;
use super::known::{self, Known, Remade};
use super::orders::Written;
use super::outcome::{Left, Notes};
use super::places::Places;
use super::propose::{self, Subject, propose};
use super::settle::{Fault, Proposal, Settled, put, settle, suspects};
use super::unproven::Unproven;
use super::watched::Watched;
use super::{Control, Options, RoutineId, Unit, serial};
use crate::bounds::{LONGEST_SECTION, MOST_FOLLOWED};
use crate::listing::Listing;
use fixedbitset::FixedBitSet;
use sassafras_cubin::{Code, CodeEdit, Cubin, RewriteOptions};
use sassafras_ir::cfg::Cfg;
use sassafras_ir::dominators::Dominators;
use sassafras_ir::function::Payload;
use sassafras_ir::loops::Loops;
use sassafras_ir::{Block, Effects, Function, Inst};
use sassafras_machine::Arch;
use sassafras_passes::Pass;
use sassafras_sass::program::{Program, Relative, Routine};
use sassafras_sass::rename::Renamer;
use sassafras_tepid as tepid;
use sassafras_tepid::Keep;
use sassafras_verify::hazards::{self, Rules};

/// So many hazards are looked at at once.
const HAZARDS: usize = 16;

/// What is to become of a section.
pub struct Planned {
    /// Order and words.
    pub edit: CodeEdit,
    /// What the scheduler says about it.
    pub notes: Notes,
}

/// The new order of one section, or why there is none. `image` is the number of the cubin in its file; `checked`: every attempt is checked as what is
/// written will be, so that a hazard costs single blocks. What is known of other routines of the file may be used.
pub fn plan(
    cubin: &Cubin<'_>,
    image: usize,
    code: &Code<'_>,
    (options, known): (&Options, &Known),
    checked: bool,
) -> Result<Planned, Kept> {
    let selection = &options.selection;
    let mut notes = Notes::default();
    if options.strategy.keeps() && options.control == Control::Keep {
        return Ok(Planned { edit: CodeEdit::unchanged(code), notes });
    }
    // What may not change in the end need not be looked at.
    let rewrite = RewriteOptions { capsules: options.capsules };
    cubin.refuse_capsule(code, rewrite)?;
    let program = Program::new(cubin).map_err(|error| Kept::Unknown(error.problem))?;
    refuse_long(cubin, code)?;
    let mut routines = program.lift(code).map_err(Kept::NotLifted)?;
    if let Some(offset) = routines.iter().find_map(opaque) {
        let section = cubin.sections()[code.section].name.to_owned();
        return Err(Kept::Opaque { section, offset });
    }
    routines.iter().try_for_each(refuse_tangled)?;
    let whole = selection.takes_name(code.name);
    let mut edit = CodeEdit::unchanged(code);
    let id = |routine: &Routine| RoutineId { image, section: code.section, start: routine.range.start };
    // What bisection leaves out need not be looked at either.
    if !routines.iter().any(|routine| options.bisection.takes_routine(id(routine))) {
        return Ok(Planned { edit, notes });
    }
    let relative = Relative::new(program.arch());
    let boundaries = cubin.boundaries(code)?;
    let places = Places { boundaries, frames: cubin.frame_rows(code) };
    let watched = Watched::new(options.watch, program.arch());
    for routine in &mut routines {
        let id = id(routine);
        if (whole || selection.takes_name(&routine.name)) && options.bisection.takes_routine(id) {
            watched.see(Pass::Lift, routine);
            if watched.stops(Pass::Lift) {
                continue;
            }
            let name = routine.name.clone();
            let (launch, unsearched) = (options.launch.launch(code), known.unsearched);
            let subject = Subject { name: &name, id, arch: program.arch(), launch, checked, unsearched };
            put_in(routine, subject, &places, relative, (options, known), (&mut edit, &mut notes, &watched))?;
        }
    }
    if options.control == Control::Serial {
        serial::rewrite(&routines, &mut edit);
    }
    if options.watch.stop_after.is_some() {
        (edit, notes) = (CodeEdit::unchanged(code), Notes::default());
    }
    notes.dumps = watched.into_text();
    Ok(Planned { edit, notes })
}

/// As [`plan`], of a routine by itself, given as text: nothing outside points to places in it.
pub fn plan_alone(
    routine: &mut Routine,
    subject: Subject<'_>,
    (options, known): (&Options, &Known),
    came: CodeEdit,
) -> Result<Planned, Kept> {
    let mut notes = Notes::default();
    let mut edit = came;
    if options.strategy.keeps() && options.control == Control::Keep {
        return Ok(Planned { edit, notes });
    }
    if let Some(offset) = opaque(routine) {
        return Err(Kept::Opaque { section: routine.name.clone(), offset });
    }
    refuse_tangled(routine)?;
    let watched = Watched::new(options.watch, subject.arch);
    let came = edit.clone();
    if options.bisection.takes_routine(subject.id) {
        watched.see(Pass::Lift, routine);
        if !watched.stops(Pass::Lift) {
            let places = Places { boundaries: Vec::new(), frames: Vec::new() };
            let relative = Relative::new(subject.arch);
            put_in(routine, subject, &places, relative, (options, known), (&mut edit, &mut notes, &watched))?;
        }
    }
    if options.control == Control::Serial {
        serial::rewrite(std::slice::from_ref(routine), &mut edit);
    }
    if options.watch.stop_after.is_some() {
        (edit, notes) = (came, Notes::default());
    }
    notes.dumps = watched.into_text();
    Ok(Planned { edit, notes })
}

/// The offset of the first instruction of a routine that is not understood.
fn opaque(routine: &Routine) -> Option<u64> {
    let f = &routine.lifted.function;
    let mut insts = f.blocks().flat_map(|block| f.block_insts(block));
    insts.find(|&&inst| f.inst(inst).effects.contains(Effects::OPAQUE)).map(|&inst| routine.offset(inst))
}

/// Plans a routine and puts what comes of it into the edit of its section.
fn put_in(
    routine: &mut Routine,
    subject: Subject<'_>,
    places: &Places,
    relative: Relative,
    (options, known): (&Options, &Known),
    (edit, notes, watched): (&mut CodeEdit, &mut Notes, &Watched),
) -> Result<(), Kept> {
    let usable = Some(known).filter(|_| !subject.checked && options.may_know());
    let remade = remake_once(routine, subject, places, (options, usable), (notes, watched))?;
    let writes = options.watch.stop_after.is_none_or(|pass| pass == Pass::Write);
    let Some(fields) = remade.filter(|_| writes) else { return Ok(()) };
    if options.keep_orders {
        notes.orders.push((subject.name.to_owned(), written(&routine.lifted.function)));
    }
    // What came, from the routine's first slot on.
    let slots = (routine.range.start / 16) as usize..(routine.range.end.div_ceil(16)) as usize;
    let came = edit.words[slots.clone()].to_vec();
    let changed = changed(routine, &came);
    notes.units.extend(changed.map(|block| Unit { routine: subject.id, block: Some(block) }));
    notes.renamed += apply(routine, relative, &came, edit)?;
    if options.control == Control::Rebuild {
        set_fields(routine, &fields, edit);
    }
    watched.see_fields(Pass::Write, routine, &fields);
    if edit.words[slots] != came || options.control == Control::Serial {
        notes.units.push(Unit { routine: subject.id, block: None });
    }
    Ok(())
}

/// A section with more code than any function has stays as it came.
fn refuse_long(cubin: &Cubin<'_>, code: &Code<'_>) -> Result<(), Kept> {
    let instructions = code.bytes.len() as u64 / 16;
    if instructions <= LONGEST_SECTION {
        return Ok(());
    }
    let section = cubin.sections()[code.section].name.to_owned();
    Err(Kept::TooLong { section, instructions })
}

/// A function in which following who waits for whom takes too much stays as it came.
fn refuse_tangled(routine: &Routine) -> Result<(), Kept> {
    let f = &routine.lifted.function;
    let blocks = f.block_count();
    let sets = |inst: &&Inst| match f.inst(**inst).payload {
        Payload::Word(word) => tepid::Fields::of(word).boards() != 0,
        Payload::None | Payload::Text(_) => false,
    };
    let setters = f.blocks().flat_map(|block| f.block_insts(block)).filter(sets).count();
    if blocks as u64 * setters as u64 <= MOST_FOLLOWED {
        return Ok(());
    }
    Err(Kept::TooManyWays { routine: routine.name.clone(), blocks, setters })
}

/// As [`remake`], or as it was done with another routine of the same code, if nothing is in the way of that.
fn remake_once(
    routine: &mut Routine,
    subject: Subject<'_>,
    places: &Places,
    (options, known): (&Options, Option<&Known>),
    (notes, watched): (&mut Notes, &Watched),
) -> Result<Option<Vec<tepid::Fields>>, Kept> {
    let Some(known) = known else {
        return Ok(remake(routine, subject, places, options, (notes, watched))?.fields);
    };
    let key = known::key(routine, subject);
    if let Some(remade) = known.get(&key)
        && repeat(routine, &remade, subject, places, options)
    {
        notes.unproven += remade.unproven;
        notes.estimated(remade.cycles);
        notes.stand(&remade.standing);
        return Ok(remade.fields());
    }
    let Made { fields, clean } = remake(routine, subject, places, options, (notes, watched))?;
    if let Some(Clean { unproven, cycles, standing }) = clean {
        known.insert(key, Remade::new(unproven, cycles, &standing, fields.as_deref()));
    }
    Ok(fields)
}

/// Gives a routine the orders of another one of the same code. Where something is in the way, it stays as it is.
fn repeat(
    routine: &mut Routine,
    remade: &Remade,
    subject: Subject<'_>,
    places: &Places,
    options: &Options,
) -> bool {
    let Some(fields) = remade.fields() else { return true };
    let came = routine.lifted.clone();
    let stands = put(&mut routine.lifted, &remade.standing, &Renamer::new(subject.arch)).is_ok()
        && places.crossed(routine).is_empty()
        && (options.control != Control::Rebuild
            || hazards(routine, &fields, subject.arch, subject.checked).is_ok());
    if !stands {
        routine.lifted = came;
    }
    stands
}

/// What became of a routine.
struct Made {
    /// Its new control fields, empty where none are made; none if it stays as it came.
    fields: Option<Vec<tepid::Fields>>,
    /// What else is to say where nothing was in the way.
    clean: Option<Clean>,
}

struct Clean {
    unproven: u64,
    /// Of the model, before and after.
    cycles: (u64, u64),
    standing: Vec<Proposal>,
}

/// Gives a routine its new orders.
fn remake(
    routine: &mut Routine,
    subject: Subject<'_>,
    places: &Places,
    options: &Options,
    (notes, watched): (&mut Notes, &Watched),
) -> Result<Made, Kept> {
    let (lifted, arch) = (&mut routine.lifted, subject.arch);
    let mut original = tepid::Original::new(&tepid::Code::new(&lifted.function, &lifted.sources, arch));
    let judge = Judge::new(lifted, &original, subject, options);
    let came = lifted.function.clone();
    original.hold(&mut lifted.function);
    let unproven = Unproven::of(&lifted.function, arch);
    notes.unproven += unproven.insts.len() as u64;
    let mut proposed = propose(lifted, &original, subject, options)?;
    if !options.move_unproven {
        unproven.insts.iter().for_each(|&inst| original.keep_still(inst));
        proposed.retain(|block| !unproven.holds(block));
    }
    let unproven = unproven.insts.len() as u64;
    if let propose::Made::Orders { proposals, .. } = &proposed {
        watched.see_proposals(Pass::Propose, routine, proposals);
    } else {
        watched.see(Pass::Propose, routine);
    }
    if watched.stops(Pass::Propose) {
        return Ok(Made { fields: None, clean: None });
    }
    let lifted = &mut routine.lifted;
    let (proposals, turns, wants_fields) = match proposed {
        propose::Made::Nothing => {
            let cycles = (judge.before(), judge.before());
            notes.estimated(cycles);
            return Ok(Made { fields: None, clean: Some(Clean { unproven, cycles, standing: Vec::new() }) });
        }
        propose::Made::Turns(fields) => (Vec::new(), Some(fields), true),
        propose::Made::Orders { proposals, fields } => (proposals, None, fields),
    };
    // What holds instructions in place is for those who make orders: the checker asks what instructions are.
    lifted.function = came;
    let attempt = |routine: &Routine| {
        let crossed = places.crossed(routine);
        if !crossed.is_empty() {
            return Err(crossed);
        }
        if options.control != Control::Rebuild {
            return Ok((Vec::new(), None));
        }
        let lifted = &routine.lifted;
        let code = tepid::Code::new(&lifted.function, &lifted.sources, arch);
        let made = match &turns {
            Some(fields) => vec![fields.clone()],
            None => fields(routine, &code, &original, judge.kept(routine).as_ref())?,
        };
        made.iter().for_each(|fields| watched.see_fields(Pass::Fields, routine, fields));
        if watched.stops(Pass::Fields) {
            return Ok((made.into_iter().next().unwrap_or_default(), None));
        }
        let timed = made.into_iter().map(|fields| (judge.time(routine, &code, &fields), fields));
        let mut timed: Vec<_> = timed.collect();
        timed.sort_by_key(|(time, _)| time.sixteenths());
        let mut faults = None;
        for (time, fields) in timed {
            let checked = hazards(routine, &fields, arch, subject.checked);
            if checked.is_ok() {
                watched.see_fields(Pass::Hazards, routine, &fields);
                if watched.stops(Pass::Hazards) {
                    return Ok((fields, None));
                }
            }
            match checked.and_then(|()| judge.judge(routine, &time)) {
                Ok(cycles) => {
                    watched.see_fields(Pass::Judge, routine, &fields);
                    return Ok((fields, Some(cycles)));
                }
                Err(found) => drop(faults.get_or_insert(found)),
            }
        }
        Err(faults.unwrap_or_default())
    };
    let Settled { made, standing, kept } = settle(routine, proposals, &Renamer::new(arch), attempt);
    let (made, after) = match made {
        Ok((fields, after)) => (Ok(fields), after),
        Err(why) => (Err(why), None),
    };
    watched.see_fields(Pass::Settle, routine, made.as_deref().unwrap_or_default());
    let stays = made.is_err() || standing.is_empty() && !wants_fields;
    let after = if stays { judge.before() } else { after.unwrap_or(judge.before()) };
    let cycles = (judge.before(), after);
    // What the words of the whole section decide (`--control serial`) is not timed.
    if options.control == Control::Rebuild {
        notes.estimated(cycles);
    }
    notes.stand(&standing);
    let is_clean = made.is_ok() && kept.is_empty();
    for kept in kept {
        let first = routine.lifted.function.block_insts(kept.block).iter().min();
        let offset = first.map_or(routine.range.start, |&inst| routine.offset(inst));
        notes.left.push(Left { offset, block: Some(kept.block.as_u32()), why: kept.why });
    }
    if let Err(why) = &made {
        notes.left.push(Left { offset: routine.range.start, block: None, why: why.clone() });
    }
    let clean = is_clean.then_some(Clean { unproven, cycles, standing });
    Ok(Made { fields: made.ok().filter(|_| !stays), clean })
}

/// New control fields for the instructions of a routine as they stand: with what blocks that are kept came with, as far as it serves, and all anew.
/// Where nothing may be kept, the last alone.
fn fields(
    routine: &Routine,
    code: &tepid::Code<'_>,
    original: &tepid::Original,
    kept: Option<&FixedBitSet>,
) -> Result<Vec<Vec<tepid::Fields>>, Vec<Fault>> {
    let sources = kept.map(Keep::Blocks).into_iter().chain([Keep::Nothing]);
    let mut made = Vec::new();
    let mut unsolvable = None;
    for keep in sources {
        match tepid::rebuild_with(code, original, keep) {
            Ok(fields) if made.contains(&fields) => {}
            Ok(fields) => made.push(fields),
            Err(error) => unsolvable = Some(error),
        }
    }
    match unsolvable {
        Some(unsolvable) if made.is_empty() => {
            let listing = Listing::new(code.arch, routine);
            let why = unsolvable.describe(|inst| format!("`{}`", listing.line(inst)));
            let why = Kept::NoControlFields(why);
            let involved = [Some(unsolvable.inst), unsolvable.producer()];
            Err(vec![Fault { suspects: suspects(code.f, involved.into_iter().flatten()), why }])
        }
        _ => Ok(made),
    }
}

/// Asks the checker about a routine with new control fields: about distances that compiled code was seen to leave, and, where that is wanted, about
/// everything.
fn hazards(
    routine: &Routine,
    fields: &[tepid::Fields],
    arch: Arch,
    everything: bool,
) -> Result<(), Vec<Fault>> {
    let mut f = routine.lifted.function.clone();
    let came = hazards::Came::of(&f);
    for inst in f.blocks().flat_map(|block| f.block_insts(block).to_vec()).collect::<Vec<_>>() {
        if let Payload::Word(word) = f.inst(inst).payload {
            f.set_payload(inst, Payload::Word(fields[inst.as_u32() as usize].insert(word)));
        }
    }
    let mut findings = hazards::rewritten(&f, &came, Rules::of(arch));
    if everything {
        findings.extend(hazards::check(&f, Rules::of(arch)).findings);
    }
    if findings.is_empty() {
        return Ok(());
    }
    let listing = Listing::new(arch, routine);
    let fault = |finding: &hazards::Finding| {
        let why = finding.describe_with(|inst| listing.line(inst));
        Fault { suspects: suspects(&f, [finding.consumer, finding.producer]), why: Kept::Hazard(why) }
    };
    Err(findings.iter().take(HAZARDS).map(fault).collect())
}

/// Gives the instructions of a routine new control fields, as they stand.
fn set_fields(routine: &Routine, fields: &[tepid::Fields], edit: &mut CodeEdit) {
    let f = &routine.lifted.function;
    let first = (routine.range.start / 16) as usize;
    for (&inst, slot) in f.blocks().flat_map(|block| f.block_insts(block)).zip(first..) {
        edit.words[slot] = fields[inst.as_u32() as usize].insert(edit.words[slot]);
    }
}

/// The blocks of a routine that have another order or other registers than in its words that came.
fn changed(routine: &Routine, came: &[u128]) -> impl Iterator<Item = u32> {
    let f = &routine.lifted.function;
    let renamed = |&inst: &Inst| match f.inst(inst).payload {
        Payload::Word(word) => word != came[inst.as_u32() as usize],
        Payload::None | Payload::Text(_) => false,
    };
    let is_changed = move |insts: &[Inst]| !insts.is_sorted() || insts.iter().any(renamed);
    f.blocks().filter(move |&block| is_changed(f.block_insts(block))).map(|block| block.as_u32())
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

/// Puts the new order of a routine into the edit of its section, with its words, which came as `old`. Distances in words follow. Returns how
/// many words name other registers.
fn apply(routine: &Routine, relative: Relative, old: &[u128], edit: &mut CodeEdit) -> Result<u64, Kept> {
    let f = &routine.lifted.function;
    let first = (routine.range.start / 16) as u32;
    let mut renamed = 0;
    for (inst, to) in f.blocks().flat_map(|block| f.block_insts(block)).zip(first..) {
        let from = routine.slot(*inst);
        let (from_offset, to_offset) = (u64::from(from) * 16, u64::from(to) * 16);
        let word = match f.inst(*inst).payload {
            Payload::Word(word) => word,
            Payload::None | Payload::Text(_) => old[(from - first) as usize],
        };
        renamed += u64::from(word != old[(from - first) as usize]);
        edit.order[to as usize] = from;
        edit.words[to as usize] =
            relative.moved(word, from_offset, to_offset).ok_or(Kept::TooFar { offset: from_offset })?;
    }
    Ok(renamed)
}
