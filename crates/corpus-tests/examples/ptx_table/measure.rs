//! Schedules every module in every way and compiles it for its own target.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use sassafras_corpus_tests::ptx::{PtxItem, modules};
use sassafras_knobs::KnobSet;
use sassafras_list::registry::{self, Contest, Entry};
use sassafras_passes::ptx::schedule_ptx;
use sassafras_passes::{FunctionReport, Options};
use sassafras_ptx::Module;

/// The ways, the order that came first.
pub fn ways() -> Vec<&'static Entry> {
    let lists = registry::contestants(Contest::Auto);
    [registry::get("original")].into_iter().chain(lists).chain([registry::get("auto")]).collect()
}

/// What ptxas says of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub registers: u32,
    /// Bytes that spills store and load.
    pub spills: u32,
}

/// A kernel in every way.
#[derive(Debug)]
pub struct Kernel {
    /// The module's name, without its ending.
    pub module: String,
    pub name: String,
    /// By place in [`ways`].
    pub used: Vec<Used>,
    /// Registers live at once by our estimate, by place in [`ways`].
    pub estimates: Vec<u32>,
    /// Seconds of processor time that ptxas took for the module, by place in [`ways`]; only with the first kernel of a module.
    pub seconds: Option<Vec<f64>>,
}

/// Every kernel of every module that is not there in another form.
pub fn all(ptxas: &Path) -> Result<Vec<Kernel>> {
    let items: Vec<PtxItem> = modules()?.into_iter().filter(|item| !item.is_other_form()).collect();
    let scratch = tempfile::tempdir().context("a folder")?;
    let one = |(number, item): (usize, &PtxItem)| {
        module(ptxas, scratch.path(), number, item).with_context(|| item.name.clone())
    };
    let kernels: Vec<Vec<Kernel>> = items.par_iter().enumerate().map(one).collect::<Result<_>>()?;
    Ok(kernels.into_iter().flatten().collect())
}

fn module(ptxas: &Path, scratch: &Path, number: usize, item: &PtxItem) -> Result<Vec<Kernel>> {
    let module = Module::parse(&item.text).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let target = module.target().context("no target")?.to_owned();
    // Strategies often agree: what was compiled is not compiled again.
    let mut compiled: HashMap<String, Compiled> = HashMap::new();
    let mut kernels: BTreeMap<String, Kernel> = BTreeMap::new();
    let mut times = Vec::new();
    for (way, strategy) in ways().into_iter().enumerate() {
        let mut new = module.clone();
        let options = Options { strategy, ..Options::default() }.with_knobs(&KnobSet::default());
        let reports = schedule_ptx(&mut new, &options, None, |_| true)?;
        let text = new.print();
        if !compiled.contains_key(&text) {
            let path = scratch.join(format!("{number}.ptx"));
            fs::write(&path, &text)?;
            compiled.insert(text.clone(), compile(ptxas, &path, &target)?);
        }
        let result = &compiled[&text];
        times.push(result.seconds);
        for (name, used) in &result.used {
            let estimate = reports.iter().find(|report| report.name == *name).map_or(0, peak);
            let kernel = kernels.entry(name.clone()).or_insert_with(|| Kernel {
                module: item.name.trim_start_matches("ptx/").trim_end_matches(".ptx").to_owned(),
                name: name.clone(),
                used: Vec::new(),
                estimates: Vec::new(),
                seconds: None,
            });
            ensure!(kernel.used.len() == way, "{name} is there twice or not always");
            kernel.used.push(*used);
            kernel.estimates.push(estimate);
        }
    }
    let mut kernels: Vec<Kernel> = kernels.into_values().collect();
    if let Some(first) = kernels.first_mut() {
        first.seconds = Some(times);
    }
    Ok(kernels)
}

/// General registers live at once where most are, after scheduling.
fn peak(report: &FunctionReport) -> u32 {
    let of = |block: &sassafras_passes::BlockReport| block.after.peak_registers.get("R").copied();
    report.blocks.iter().filter_map(of).max().unwrap_or(0)
}

pub struct Compiled {
    pub used: Vec<(String, Used)>,
    seconds: f64,
}

pub fn compile(ptxas: &Path, path: &Path, target: &str) -> Result<Compiled> {
    // The shell's `times` says what its children took; nothing in the standard library does.
    let mut command = Command::new("bash");
    command.args(["-c", r#""$@"; status=$?; times; exit $status"#, "bash"]).arg(ptxas).arg("-v");
    let done = command.arg(format!("-arch={target}")).arg(path).args(["-o", "/dev/null"]).output()?;
    let log = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{log}");
    let seconds = children(&String::from_utf8_lossy(&done.stdout)).context("no times")?;
    Ok(Compiled { used: kernels(&log).context("not what ptxas -v says")?, seconds })
}

/// Processor time of children in what `times` prints: `0m0.020s 0m0.010s` in the second line.
fn children(text: &str) -> Option<f64> {
    let part = |part: &str| {
        let (minutes, seconds) = part.trim_end_matches('s').split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    text.lines().nth(1)?.split_whitespace().map(part).sum()
}

/// Kernels with what they use, from the log of `ptxas -v`. Functions that are not kernels have no line with registers.
fn kernels(log: &str) -> Option<Vec<(String, Used)>> {
    let mut found: Vec<(String, Used)> = Vec::new();
    let mut open = false;
    for line in log.lines() {
        if let Some((_, tail)) = line.split_once("Compiling entry function '") {
            found.push((tail.split('\'').next()?.to_owned(), Used::default()));
            open = true;
        } else if let (true, Some((_, used))) = (open, found.last_mut()) {
            if line.contains("bytes spill stores") {
                let number = |part: &str| part.split_whitespace().next()?.parse::<u32>().ok();
                used.spills = line.split(',').skip(1).map(number).sum::<Option<u32>>()?;
            } else if let Some((_, tail)) = line.split_once("Used ") {
                used.registers = tail.split_whitespace().next()?.parse().ok()?;
                open = false;
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_read() {
        let log = "ptxas info    : Compiling entry function 'a' for 'sm_80'
ptxas info    : Function properties for a
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 23 registers, used 1 barriers, 376 bytes cmem[0]
ptxas info    : Function properties for called
    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads";
        assert_eq!(kernels(log), Some(vec![("a".to_owned(), Used { registers: 23, spills: 32 })]));
    }

    #[test]
    fn times_are_read() {
        let seconds = children("0m0.001s 0m0.000s\n1m0.250s 0m0.500s\n").expect("times");
        assert!((seconds - 60.75).abs() < 1e-9);
    }
}
