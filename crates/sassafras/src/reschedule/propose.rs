//! Goal: another order for the blocks of a routine, by whichever strategy the user wants.

use super::kept::Kept;
use super::settle::Proposal;
use super::{Options, RoutineId, anti};
use sassafras_ir::{Block, Function, Inst};
use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::{Launch, Multiprocessor};
use sassafras_passes::{Options as ListOptions, reorder_function};
use sassafras_sass::Lifted;
use sassafras_tepid as tepid;
use sassafras_tepid::cutlass::CutlassPlan;
use sassafras_tepid::schedule::Settings;

/// A routine to find orders for.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is in the file.
    pub id: RoutineId,
    /// For which architecture.
    pub arch: Arch,
    /// How it is launched, as far as that is known.
    pub launch: Launch,
    /// Every attempt is checked as what is written will be.
    pub checked: bool,
    /// Whether nothing is searched.
    pub unsearched: bool,
}

impl Subject<'_> {
    /// Warps that each scheduler has at once.
    pub fn warps(&self) -> u32 {
        Multiprocessor::of(self.arch).resident_warps(&self.launch)
    }
}

/// What is to be done with a routine, and so which of its control fields are made anew: one that no better order was found for keeps
/// those that it came with.
pub enum Made {
    /// It stays as it is.
    Nothing,
    /// It stays in order, and its warps keep their turns longer.
    Turns(Vec<tepid::Fields>),
    /// Some of its blocks get another order.
    Orders {
        /// Those.
        proposals: Vec<Proposal>,
        /// Whether all control fields are wanted anew even if no order stands.
        fields: bool,
    },
}

impl Made {
    /// Keeps the orders of these blocks; the others stay as they came.
    pub fn retain(&mut self, may: impl Fn(Block) -> bool) {
        if let Made::Orders { proposals, .. } = self {
            proposals.retain(|proposal| may(proposal.block));
        }
    }
}

/// Finds orders for the blocks of a routine.
///
/// # Errors
/// When orders that the user gave do not fit.
pub fn propose(
    lifted: &Lifted,
    original: &tepid::Original,
    subject: Subject<'_>,
    options: &Options,
) -> Result<Made, Kept> {
    // What the user asks for is wanted whatever the model says.
    let wanted = |proposals: Vec<Proposal>| Made::Orders { proposals, fields: true };
    match options.strategy {
        strategy if strategy.is_given() => give(lifted, subject, options).map(wanted),
        strategy if strategy.keeps() => Ok(wanted(Vec::new())),
        strategy if strategy.is_for_machine_code() => Ok(search(lifted, original, subject, options)),
        _ => listed(lifted, subject, options).map(wanted),
    }
}

/// Orders by the model of the machine: the best, or those of one strategy.
fn search(lifted: &Lifted, original: &tepid::Original, subject: Subject<'_>, options: &Options) -> Made {
    if subject.unsearched {
        return Made::Nothing;
    }
    let Subject { name, id, arch, launch, .. } = subject;
    let withheld = Multiprocessor::of(arch).withheld;
    let count = launch.registers.filter(|_| !options.keep_registers);
    let registers = count.unwrap_or(0).saturating_sub(withheld);
    let strategy = Some(options.strategy).filter(|strategy| !strategy.is_contest());
    let model = options.model.for_warps(subject.warps());
    let settings = Settings { registers, strategy, ..model };
    let prepared = tepid::Code::new(&lifted.function, &lifted.sources, arch);
    let choose = || {
        let cutlass = CutlassPlan::of(&prepared, name, &options.knobs);
        tepid::function::choose_with(&prepared, &settings, cutlass.as_ref())
    };
    let mut plan = match &options.memo {
        Some(memo) => memo.get(id, choose),
        None => choose(),
    };
    let all = plan.choices.len();
    plan.choices.retain(|choice| options.bisection.takes(id, choice.block.as_u32()));
    // Who asks for the fields of a routine alone gets them for the order that came.
    let fields_alone = all > 0 && options.bisection.takes_fields(id) && plan.choices.is_empty();
    // Where nothing is searched, closed loops gain by fields that know all distances: on an H200 up to 3 %, and no kernel of the suite loses.
    let anew = settings.evaluations == 0 && plan.streams.any_closed() && options.bisection.takes_fields(id);
    let fields = settings.strategy.is_some() || fields_alone || anew;
    if fields || !plan.choices.is_empty() {
        let proposals = plan.choices.into_iter().map(|choice| Proposal {
            block: choice.block,
            order: choice.order,
            names: choice.names,
            by: choice.by,
        });
        Made::Orders { proposals: proposals.collect(), fields }
    } else if plan.streams.any() && options.bisection.takes_fields(id) {
        Made::Turns(tepid::yields::hold_streams(&prepared, original, &plan.streams))
    } else {
        Made::Nothing
    }
}

/// Orders by a strategy that looks at no control field.
fn listed(lifted: &Lifted, subject: Subject<'_>, options: &Options) -> Result<Vec<Proposal>, Kept> {
    let list = &ListOptions { strategy: options.strategy, ..options.list };
    let by = list.strategy.name;
    let renamed = anti::break_dependences(lifted, list, subject, options);
    let mut listed = lifted.function.clone();
    reorder_function(&mut listed, list).map_err(|error| Kept::NotScheduled(error.to_string()))?;
    let others = listed.blocks().filter(|block| !renamed.iter().any(|(renamed, _)| renamed == block));
    let others = others.map(|block| (block, listed.block_insts(block).to_vec()));
    let mut proposals = free(lifted, others, by, subject, options);
    proposals.extend(renamed.into_iter().map(|(block, made)| Proposal {
        block,
        order: made.order,
        names: Some(made.names),
        by,
    }));
    proposals.sort_by_key(|proposal| proposal.block);
    Ok(proposals)
}

/// Orders that the user gave.
fn give(lifted: &Lifted, subject: Subject<'_>, options: &Options) -> Result<Vec<Proposal>, Kept> {
    let f = &lifted.function;
    let code = tepid::Code::new(f, &lifted.sources, subject.arch);
    let mut given = Vec::new();
    for block in f.blocks() {
        let Some(wanted) = options.orders.get(subject.name, block.as_u32()) else { continue };
        let length = f.block_insts(block).len();
        if wanted.len() != length {
            let (routine, given) = (subject.name.to_owned(), wanted.len());
            return Err(Kept::OrderLength { block: block.as_u32(), routine, length, given });
        }
        given.push((block, tepid::function::given(&code, block, wanted)));
    }
    Ok(free(lifted, given, options.strategy.name, subject, options))
}

/// Of orders those that are others than what came, that may be, and that the user wants. Blocks with instructions that run beside the
/// warp, by groups, stay: what other orders need of their control fields is not known (on an H200 most were wrong).
fn free(
    lifted: &Lifted,
    orders: impl IntoIterator<Item = (Block, Vec<Inst>)>,
    by: &'static str,
    subject: Subject<'_>,
    options: &Options,
) -> Vec<Proposal> {
    let f: &Function = &lifted.function;
    let code = tepid::Code::new(f, &lifted.sources, subject.arch);
    let may = |block: Block, order: &[Inst]| {
        let came = f.block_insts(block);
        order != came && !code.has_group(came) && options.bisection.takes(subject.id, block.as_u32())
    };
    let orders = orders.into_iter().filter(|(block, order)| may(*block, order));
    orders.map(|(block, order)| Proposal { block, order, names: None, by }).collect()
}
