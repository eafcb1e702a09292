//! How many registers a PTX function may use.

use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::Multiprocessor;
use sassafras_ptx::Module;
use sassafras_ptx::syntax::Function;

/// What an instruction can name.
const MOST: u32 = 255;
/// Registers are given out in steps of so many per thread.
const STEP: u32 = 8;

/// Registers per thread that the directives of a function leave: what `.maxnreg` says, and as many as let the blocks be resident that
/// `.minnctapersm` asks for (one without it) with the threads that `.maxntid` or `.reqntid` names.
pub fn registers(module: &Module, function: &Function) -> u32 {
    let numbers = |name: &str| {
        let directive = function.directives().iter().find(|d| module.text(d.name) == name)?;
        let text = module.text(directive.span).strip_prefix(name)?;
        text.split(',').map(|word| word.trim().parse::<u32>().ok()).collect::<Option<Vec<u32>>>()
    };
    let product = |name: &str| numbers(name).map(|all| all.into_iter().fold(1, u32::saturating_mul));
    let mut most = MOST;
    if let Some(declared) = product(".maxnreg") {
        most = most.min(declared.max(1));
    }
    if let Some(threads) = product(".reqntid").or_else(|| product(".maxntid")) {
        let blocks = product(".minnctapersm").unwrap_or(1);
        let arch = module.target().and_then(|target| Arch::parse_or_universal(target).ok());
        if let Some(arch) = arch {
            let all = Multiprocessor::of(arch).registers;
            let each = all / threads.saturating_mul(blocks).max(1);
            most = most.min((each / STEP * STEP).max(STEP));
        }
    }
    most
}
