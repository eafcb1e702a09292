//! How many registers a PTX function may use.

use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::{MOST_REGISTERS, Multiprocessor};
use sassafras_ptx::Module;
use sassafras_ptx::syntax::Function;

/// Registers per thread that the directives of a function leave: what `.maxnreg` says, and as many as let the blocks be resident that
/// `.minnctapersm` asks for (one without it) with the threads that `.maxntid` or `.reqntid` names.
pub fn registers(module: &Module, function: &Function) -> u32 {
    let numbers = |name: &str| {
        let directive = function.directives().iter().find(|d| module.text(d.name) == name)?;
        let text = module.text(directive.span).strip_prefix(name)?;
        text.split(',').map(|word| word.trim().parse::<u32>().ok()).collect::<Option<Vec<u32>>>()
    };
    let product = |name: &str| numbers(name).map(|all| all.into_iter().fold(1, u32::saturating_mul));
    let mut most = product(".maxnreg").unwrap_or(MOST_REGISTERS).clamp(1, MOST_REGISTERS);
    let threads = product(".reqntid").or_else(|| product(".maxntid"));
    let arch = module.target().and_then(|target| Arch::parse_or_universal(target).ok());
    if let (Some(threads), Some(arch)) = (threads, arch) {
        let blocks = product(".minnctapersm").unwrap_or(1);
        most = most.min(Multiprocessor::of(arch).registers_for(threads, blocks));
    }
    most
}
