//! Where the cycles of machine code go, kernel by kernel.
//!
//! The analysis is that of `sassafras-analyze`; here it is run over every selected function of a file.

use crate::bounds::LONGEST_SECTION;
use crate::error::Error;
use crate::listing::Listing;
use crate::progress::{Progress, Silent};
use crate::reschedule::{LaunchHint, arch_of};
use crate::selection::Selection;
use crate::sites::{Lifted, Site, visit};
use sassafras_analyze::compare::{Comparison, compare};
use sassafras_analyze::{Kernel, Subject};
use sassafras_cubin::{Library, Source};
use sassafras_ir::text::Annotated;
use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::Launch;
use sassafras_sass::program::Routine;
use sassafras_sass::text::routine;
use sassafras_tepid::Code;

pub use sassafras_analyze::trace::Traced;

/// The most blocks of a function that is analysed: a report of a block takes kilobytes, and code that means nothing has one in every word.
pub const MOST_BLOCKS: usize = 1 << 16;

/// What is analysed, and how it is launched.
#[derive(Clone, Debug, Default)]
pub struct AnalyzeOptions {
    /// Which code.
    pub selection: Selection,
    /// What is known about launches.
    pub launch: LaunchHint,
    /// The loops whose traces are wanted.
    pub traced: Traced,
}

/// What came of an analysis.
#[derive(Debug)]
pub struct Analysis {
    /// Functions in file order.
    pub kernels: Vec<Kernel>,
    /// Code that was not analysed, with its place and the reason.
    pub left_out: Vec<String>,
    /// Selected names that several functions have, with their number.
    pub several: Vec<(String, u32)>,
}

/// Analyses the selected code of a cubin, fatbinary, host file or archive.
///
/// # Errors
/// When the file or an image in it cannot be read, or something is selected that is not there.
pub fn analyze(bytes: &[u8], options: &AnalyzeOptions) -> Result<Analysis, Error> {
    analyze_library(&Library::parse(Source::Memory(bytes))?, options, &Silent)
}

/// As [`analyze()`], of a file that is read image by image, with word of how far it is.
///
/// # Errors
/// As [`analyze()`].
pub fn analyze_library(
    library: &Library<'_>,
    options: &AnalyzeOptions,
    progress: &dyn Progress,
) -> Result<Analysis, Error> {
    let visited = visit(library, &options.selection, progress, |site| section(site, options))?;
    let mut analysis = Analysis { kernels: Vec::new(), left_out: Vec::new(), several: visited.several };
    for (kernels, left_out) in visited.results {
        analysis.kernels.extend(kernels);
        analysis.left_out.extend(left_out);
    }
    Ok(analysis)
}

/// The functions of two versions of a file, side by side.
#[derive(Debug, Default)]
pub struct Versions<'k> {
    /// Functions of both, in the order of the first version.
    pub both: Vec<Comparison>,
    /// Functions that only the first version has.
    pub only_before: Vec<&'k Kernel>,
    /// Functions that only the second version has.
    pub only_after: Vec<&'k Kernel>,
}

/// Holds two versions of a file side by side: functions of the same name and architecture, of several with the same name the first and the
/// first, and so on.
pub fn compare_versions<'k>(before: &'k [Kernel], after: &'k [Kernel]) -> Versions<'k> {
    let mut found = Versions { only_after: after.iter().collect(), ..Versions::default() };
    for old in before {
        match found.only_after.iter().position(|new| new.name == old.name && new.arch == old.arch) {
            Some(at) => found.both.push(compare(old, found.only_after.remove(at))),
            None => found.only_before.push(old),
        }
    }
    found
}

/// Analyses the selected functions of a text whose instructions have control fields.
///
/// # Errors
/// When one of them is not machine code of an architecture that is known.
pub fn analyze_text(functions: &[Annotated], options: &AnalyzeOptions) -> Result<Analysis, Error> {
    let selected = functions.iter().filter(|text| {
        options.selection.takes_name(&text.function.name) && options.selection.takes_arch(&text.function.arch)
    });
    let kernels = selected.map(|text| {
        let launch = options.launch.with(text.annotations.declared);
        Ok(kernel(options, launch, arch_of(text)?, &routine(text, 0)))
    });
    let kernels = kernels.collect::<Result<_, Error>>()?;
    Ok(Analysis { kernels, left_out: Vec::new(), several: Vec::new() })
}

fn section(site: &Site<'_, '_>, options: &AnalyzeOptions) -> Result<(Vec<Kernel>, Vec<String>), Error> {
    let (mut kernels, mut left_out) = (Vec::new(), Vec::new());
    let instructions = site.code.bytes.len() as u64 / 16;
    if instructions > LONGEST_SECTION {
        let place = site.place();
        left_out.push(format!(
            "{place}: {instructions} instructions in one section, up to {LONGEST_SECTION} are"
        ));
        return Ok((kernels, left_out));
    }
    match site.lift(&options.selection)? {
        Lifted::Routines(arch, routines) => {
            for routine in &routines {
                match routine.lifted.function.block_count() {
                    blocks if blocks > MOST_BLOCKS => left_out.push(format!(
                        "{}: {blocks} blocks in {}, up to {MOST_BLOCKS} are",
                        site.place(),
                        routine.name
                    )),
                    _ => kernels.push(kernel(options, options.launch.launch(site.code), arch, routine)),
                }
            }
        }
        Lifted::No(reason) => left_out.push(format!("{}: {reason}", site.place())),
    }
    Ok((kernels, left_out))
}

fn kernel(options: &AnalyzeOptions, launch: Launch, arch: Arch, routine: &Routine) -> Kernel {
    let lifted = &routine.lifted;
    let listing = Listing::new(arch, routine);
    let code = Code::new(&lifted.function, &lifted.sources, arch);
    sassafras_analyze::analyze(&Subject {
        name: &routine.name,
        code: &code,
        launch,
        offset: &|inst| routine.offset(inst),
        text: &|inst| listing.text(inst),
        traced: &options.traced,
    })
}
