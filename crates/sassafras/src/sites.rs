//! The code sections of a file, one after the other or in parallel.
//!
//! Cubins and the sections in them are worked on in parallel, and results come in file order. A cubin is read and decompressed when
//! its turn comes, and a lifted function lives as long as the work on its section.

use crate::bounds::{TooMuch, too_much};
use crate::error::Error;
use crate::progress::Progress;
use crate::selection::Selection;
use rayon::prelude::*;
use sassafras_cubin::{Code, Cubin, Image, Library};
use sassafras_machine::Arch;
use sassafras_sass::program::{Program, ProgramProblem, Routine};
use thiserror::Error;

/// One code section at work.
pub struct Site<'a, 'd> {
    /// The image that holds it.
    pub image: &'a Image,
    /// The cubin.
    pub cubin: &'a Cubin<'d>,
    /// The section.
    pub code: &'a Code<'d>,
    /// The architecture as the file names it.
    pub sm: String,
    /// Whether the image is more than is looked at of a file of its size.
    pub too_much: Option<TooMuch>,
}

impl Site<'_, '_> {
    /// The section's name.
    pub fn section(&self) -> &str {
        self.cubin.sections()[self.code.section].name
    }

    /// The section as messages name it.
    pub fn place(&self) -> String {
        place(self.image, self.section())
    }

    /// Lifts the selected routines of the section.
    ///
    /// # Errors
    /// When the code cannot be read.
    pub fn lift(&self, selection: &Selection) -> Result<Lifted, Error> {
        let wrong = |error| Error::at(self.image, error);
        let program = match Program::new(self.cubin) {
            Ok(program) => program,
            Err(error) => match error.problem {
                ProgramProblem::UnknownSm(_) | ProgramProblem::NoTable(_) => {
                    return Ok(Lifted::No(error.problem.into()));
                }
                _ => return Err(wrong(error.into())),
            },
        };
        if let Some(too_much) = self.too_much {
            return Ok(Lifted::No(too_much.into()));
        }
        let mut routines = program.lift(self.code).map_err(|error| wrong(error.into()))?;
        if !selection.takes_name(self.code.name) {
            routines.retain(|routine| selection.takes_name(&routine.name));
        }
        Ok(Lifted::Routines(program.arch(), routines))
    }
}

/// An image and a section of it, as messages name them.
pub fn place(image: &Image, section: &str) -> String {
    if image.location == Default::default() {
        section.to_owned()
    } else {
        format!("{}, {section}", image.location)
    }
}

/// The lifted routines of a section that are selected.
pub enum Lifted {
    /// They are.
    Routines(Arch, Vec<Routine>),
    /// They are not.
    No(NotLifted),
}

/// Why a section is not lifted.
#[derive(Debug, Error)]
pub enum NotLifted {
    /// The architecture cannot be.
    #[error(transparent)]
    Unknown(#[from] ProgramProblem),
    /// Its file stands for too much.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
}

/// Whether a section is selected: by its own name or by that of a function in it.
pub fn is_selected(code: &Code<'_>, selection: &Selection) -> bool {
    selection.takes_name(code.name) || code.functions.iter().any(|f| selection.takes_name(f.name))
}

/// Names of everything that can be selected in a cubin.
pub fn names(cubin: &Cubin<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for code in cubin.code() {
        names.push(code.name.to_owned());
        names.extend(code.functions.iter().map(|f| f.name).filter(|&n| n != code.name).map(str::to_owned));
    }
    names
}

/// What came of a visit.
#[derive(Debug)]
pub struct Visited<T> {
    /// In file order.
    pub results: Vec<T>,
    /// Selected names that several functions have, with their number.
    pub several: Vec<(String, u32)>,
}

/// Calls `work` for every section that is selected, in parallel; the results are in file order.
///
/// # Errors
/// The first error in file order, whichever came first in time.
pub fn visit<T: Send, E: From<Error> + Send>(
    library: &Library<'_>,
    selection: &Selection,
    progress: &dyn Progress,
    work: impl Fn(&Site<'_, '_>) -> Result<T, E> + Sync,
) -> Result<Visited<T>, E> {
    let images = selected_images(library, selection);
    progress.begin(images.len());
    let parts: Vec<Result<Part<T>, E>> = images
        .par_iter()
        .map(|image| {
            let part = visit_image(library, *image, selection, &work);
            progress.step();
            part
        })
        .collect();
    progress.end();
    let parts = parts.into_iter().collect::<Result<Vec<_>, E>>()?;
    let found = parts.iter().flat_map(|part| part.names.iter().map(|name| (name.as_str(), part.sm.as_str())));
    let several = selection.check(found).map_err(Error::from)?;
    Ok(Visited { results: parts.into_iter().flat_map(|part| part.results).collect(), several })
}

/// As [`visit`], with the results of one cubin at a time handed to `take`, for much output. Returns the selected names that several
/// functions have.
///
/// # Errors
/// As [`visit`]; `take` may have been called before.
pub fn stream<T: Send, E: From<Error> + Send>(
    library: &Library<'_>,
    selection: &Selection,
    work: impl Fn(&Site<'_, '_>) -> Result<T, E> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<Vec<(String, u32)>, E> {
    let mut found: Vec<(String, String)> = Vec::new();
    for image in selected_images(library, selection) {
        let part = visit_image(library, image, selection, &work)?;
        found.extend(part.names.into_iter().map(|name| (name, part.sm.clone())));
        part.results.into_iter().try_for_each(&mut take)?;
    }
    let found = found.iter().map(|(name, sm)| (name.as_str(), sm.as_str()));
    Ok(selection.check(found).map_err(Error::from)?)
}

/// The cubins of a file, each with whether it is too much; where its architecture is not selected, it is not counted.
fn selected_images<'i>(library: &'i Library<'_>, selection: &Selection) -> Vec<(&'i Image, Option<TooMuch>)> {
    let taken = |image: &&Image| selection.takes_arch(&image.sm.to_string());
    let mut found = too_much(library.cubins().filter(taken), library.size()).into_iter();
    let mut beyond = |image| if taken(&image) { found.next().flatten() } else { None };
    library.cubins().map(|image| (image, beyond(image))).collect()
}

struct Part<T> {
    names: Vec<String>,
    sm: String,
    results: Vec<T>,
}

fn visit_image<T: Send, E: From<Error> + Send>(
    library: &Library<'_>,
    (image, too_much): (&Image, Option<TooMuch>),
    selection: &Selection,
    work: &(impl Fn(&Site<'_, '_>) -> Result<T, E> + Sync),
) -> Result<Part<T>, E> {
    let sm = image.sm.to_string();
    let takes = selection.takes_arch(&sm);
    if !takes && selection.kernels.is_empty() {
        return Ok(Part { names: vec![String::new()], sm, results: Vec::new() });
    }
    let wrong = |error: sassafras_cubin::Error| Error::at(image, error.into());
    let bytes = library.bytes(image).map_err(wrong)?;
    let cubin = Cubin::parse(&bytes).map_err(wrong)?;
    let names = if selection.kernels.is_empty() { vec![String::new()] } else { names(&cubin) };
    let sites: Vec<&Code<'_>> =
        cubin.code().iter().filter(|code| takes && is_selected(code, selection)).collect();
    let results: Vec<Result<T, E>> = sites
        .into_par_iter()
        .map(|code| work(&Site { image, cubin: &cubin, code, sm: sm.clone(), too_much }))
        .collect();
    Ok(Part { names, sm, results: results.into_iter().collect::<Result<_, E>>()? })
}
