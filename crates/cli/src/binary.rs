//! Device code of a file, section by section.
//!
//! Cubins and the sections in them are worked on in parallel, and what comes back is in file order. A cubin is
//! read and decompressed when its turn comes, and a lifted function lives as long as the work on its section.

use crate::input::{Binary, Selection};
use crate::progress::Progress;
use anyhow::{Context, Result, anyhow};
use rayon::prelude::*;
use sassafras_cubin::{Code, Cubin, Image, Library};
use sassafras_machine::Arch;
use sassafras_sass::program::{Program, ProgramProblem, Routine};

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
}

/// An image and a section of it, as messages name them.
pub fn place(image: &Image, section: &str) -> String {
    if image.location == Default::default() {
        section.to_owned()
    } else {
        format!("{}, {section}", image.location)
    }
}

/// The lifted routines of a section that are wanted.
pub enum Lifted {
    /// They are.
    Routines(Arch, Vec<Routine>),
    /// The architecture has no lifting; why.
    No(String),
}

/// Lifts a section.
pub fn lift(file: &str, site: &Site<'_, '_>, selection: &Selection) -> Result<Lifted> {
    let program = match Program::new(site.cubin) {
        Ok(program) => program,
        Err(error) => match error.problem {
            ProgramProblem::UnknownSm(_) | ProgramProblem::NoTable(_) => {
                return Ok(Lifted::No(error.problem.to_string()));
            }
            _ => return Err(anyhow!("{file}: {}: {error}", site.image.location)),
        },
    };
    let mut routines =
        program.lift(site.code).map_err(|error| anyhow!("{file}: {}: {error}", site.image.location))?;
    if !selection.takes_name(site.code.name) {
        routines.retain(|routine| selection.takes_name(&routine.name));
    }
    Ok(Lifted::Routines(program.arch(), routines))
}

/// Whether a section is wanted: by its own name or by that of a function in it.
pub fn wanted(code: &Code<'_>, selection: &Selection) -> bool {
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

impl Binary {
    /// Calls `work` for every section that is wanted, in parallel; the results are in file order.
    ///
    /// # Errors
    /// The first error in file order, whichever came first in time.
    pub fn visit<T: Send>(
        &self,
        library: &Library<'_>,
        selection: &Selection,
        work: impl Fn(&Site<'_, '_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let images: Vec<&Image> = library.cubins().collect();
        let progress = Progress::new(&self.name, images.len());
        let parts: Vec<Result<Part<T>>> = images
            .par_iter()
            .map(|image| {
                let part = self.image(library, image, selection, &work);
                progress.step();
                part
            })
            .collect();
        progress.end();
        let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
        let found =
            parts.iter().flat_map(|part| part.names.iter().map(|name| (name.as_str(), part.sm.as_str())));
        selection.check(&self.name, found)?;
        Ok(parts.into_iter().flat_map(|part| part.results).collect())
    }

    /// As [`Binary::visit`], with the results of one cubin at a time handed to `take`, for much output.
    ///
    /// # Errors
    /// As [`Binary::visit`]; `take` may have been called before.
    pub fn stream<T: Send>(
        &self,
        library: &Library<'_>,
        selection: &Selection,
        work: impl Fn(&Site<'_, '_>) -> Result<T> + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let mut found: Vec<(String, String)> = Vec::new();
        for image in library.cubins() {
            let part = self.image(library, image, selection, &work)?;
            found.extend(part.names.into_iter().map(|name| (name, part.sm.clone())));
            part.results.into_iter().try_for_each(&mut take)?;
        }
        selection.check(&self.name, found.iter().map(|(name, sm)| (name.as_str(), sm.as_str())))
    }

    fn image<T: Send>(
        &self,
        library: &Library<'_>,
        image: &Image,
        selection: &Selection,
        work: &(impl Fn(&Site<'_, '_>) -> Result<T> + Sync),
    ) -> Result<Part<T>> {
        let sm = image.sm.to_string();
        let takes = selection.takes_arch(&sm);
        if !takes && selection.kernels.is_empty() {
            return Ok(Part { names: vec![String::new()], sm, results: Vec::new() });
        }
        let context = || format!("{}: {}", self.name, image.location);
        let bytes = library.bytes(image).with_context(context)?;
        let cubin = Cubin::parse(&bytes).with_context(context)?;
        let names = if selection.kernels.is_empty() { vec![String::new()] } else { names(&cubin) };
        let sites: Vec<&Code<'_>> =
            cubin.code().iter().filter(|code| takes && wanted(code, selection)).collect();
        let results: Vec<Result<T>> = sites
            .into_par_iter()
            .map(|code| work(&Site { image, cubin: &cubin, code, sm: sm.clone() }))
            .collect();
        Ok(Part { names, sm, results: results.into_iter().collect::<Result<_>>()? })
    }
}

struct Part<T> {
    names: Vec<String>,
    sm: String,
    results: Vec<T>,
}
