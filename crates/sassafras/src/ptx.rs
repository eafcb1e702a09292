//! PTX with the blocks of its functions reordered.

use crate::error::Error;
use crate::selection::{Selection, SelectionError};
use sassafras_knobs::{KnobSet, keys};
use sassafras_list::registry::{self, Entry};
use sassafras_passes::ptx::schedule_ptx;
use sassafras_passes::{FunctionReport, Options as ListOptions};
use sassafras_ptx::Module;

/// How PTX is rescheduled. The default takes the best of seven list schedulers and the original order, by estimate.
#[derive(Clone, Debug)]
pub struct PtxOptions {
    /// Which functions.
    pub selection: Selection,
    /// The strategy and its settings.
    pub list: ListOptions,
    /// Registers that a thread may use; without it what the directives say, or 255.
    pub registers: Option<u32>,
    /// Knobs.
    pub knobs: KnobSet,
}

impl Default for PtxOptions {
    fn default() -> PtxOptions {
        PtxOptions {
            selection: Selection::default(),
            list: ListOptions { strategy: const { registry::get("auto") }, ..ListOptions::default() },
            registers: None,
            knobs: KnobSet::new(),
        }
    }
}

/// PTX in its new order, and what became of its functions.
#[derive(Debug)]
pub struct RescheduledPtx {
    /// The text.
    pub text: String,
    /// In the order of the module.
    pub functions: Vec<FunctionReport>,
    /// Instructions that stand somewhere else.
    pub moved: usize,
    /// The strategy that was used: a knob may have switched it off.
    pub strategy: &'static Entry,
    /// Selected names that several functions have, with their number.
    pub several: Vec<(String, u32)>,
}

/// Reschedules PTX.
///
/// # Errors
/// When it cannot be read, something is selected that is not there, or the result does not verify: a defect.
pub fn reschedule_ptx(text: &str, options: &PtxOptions) -> Result<RescheduledPtx, Error> {
    let module = Module::parse(text).map_err(|error| Error::PtxSyntax(Box::new(error)))?;
    reschedule_module(module, options)
}

/// As [`reschedule_ptx`], of PTX that was parsed.
///
/// # Errors
/// As [`reschedule_ptx`].
pub fn reschedule_module(mut module: Module, options: &PtxOptions) -> Result<RescheduledPtx, Error> {
    let several = check(&module, &options.selection)?;
    let strategy = match options.knobs.get(keys::BEFORE_ALLOCATION) {
        Some(false) => const { registry::get("original") },
        _ => options.list.strategy,
    };
    let list = ListOptions { strategy, ..options.list };
    let target = module.target().unwrap_or_default().to_owned();
    let selection = &options.selection;
    let selected = |name: &str| selection.takes_name(name) && selection.takes_arch(&target);
    let functions = schedule_ptx(&mut module, &list, options.registers, selected)?;
    Ok(RescheduledPtx { text: module.print(), functions, moved: module.moved(), strategy, several })
}

/// Checks that what is selected is there.
fn check(module: &Module, selection: &Selection) -> Result<Vec<(String, u32)>, Error> {
    let Some(arch) = module.target() else { return Err(Error::NoTarget) };
    let functions = module.functions().iter().filter(|function| function.has_body());
    let found = functions.map(|f| (module.text(f.name()), arch));
    selection.check(found).map_err(|error: SelectionError| error.into())
}
