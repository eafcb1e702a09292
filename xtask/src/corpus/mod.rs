//! The corpus: our kernels compiled by NVIDIA's tools for every architecture, and code from public libraries.
//!
//! Sources are `corpus/cuda`, `corpus/triton` and `corpus/tile`; `corpus/corpus.toml` says what is compiled for what. The result
//! is `target/corpus`: `sm_NN/KERNEL[-FORM].cubin`, `ptx/`, `tile/`, `wheels/` and `manifest.json`, which lists every file and
//! everything left out with its reason. Whatever fails to compile is an error.
//!
//! * [`plan`]: sources and settings, and the jobs that follow from them;
//! * [`compile`]: the calls of nvcc, ptxas, Triton and the assembler of tile programs;
//! * [`cache`]: results by the hash of all that went into them;
//! * [`manifest`]: what was made.

mod cache;
mod compile;
mod manifest;
mod plan;

use crate::project::Project;
use anyhow::{Context, Result, bail};
use cache::Cache;
use compile::Compilers;
use manifest::{Manifest, Wheel};
use plan::{Plan, Settings, TILE, TRITON};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

/// Builds what is missing of the corpus; returns its folder.
pub fn build(project: &Project) -> Result<PathBuf> {
    let start = Instant::now();
    let settings = Settings::load(project)?;
    let sources = |folder, suffix| plan::sources(project, folder, suffix);
    let plan = Plan::new(&settings, sources("cuda", "cu")?, sources(TRITON, "py")?, sources(TILE, "py")?)?;
    let compilers = Compilers::find(project, &settings)?;
    let cache = Cache::open(project.corpus().join("cache"))?;

    let ptx = all(&plan.front_ends, |job| compilers.front_end(job, &cache))?;
    let cubins = all(&plan.cubins, |job| compilers.assemble(job, &ptx[job.front_end], &cache))?;
    let triton = all(&plan.triton, |job| compilers.triton(job, &cache))?;
    let tile = all(&plan.tile, |job| compilers.tile(job, &cache))?;
    let tile_cubins = all(&plan.tile_cubins, |cubin| {
        let name = &plan.tile[cubin.job].kernel.name;
        compilers.tile_cubin(cubin, &tile[cubin.job].join(format!("{name}.tilebc")), &cache)
    })?;

    let layout = Layout::fresh(project.corpus())?;
    let mut manifest = Manifest { left_out: plan.left_out.clone(), ..Manifest::default() };
    for (job, file) in plan.front_ends.iter().zip(&ptx) {
        manifest.ptx.push(job.entry(layout.place(file, &job.path())?));
    }
    for (job, file) in plan.cubins.iter().zip(&cubins) {
        manifest.cubins.push(job.entry(layout.place(file, &job.path())?));
    }
    for (job, folder) in plan.triton.iter().zip(&triton) {
        for target in &job.targets {
            let made = |suffix| folder.join(&target.capability).join(format!("{}.{suffix}", job.kernel.name));
            manifest.ptx.push(job.entry(target, layout.place(&made("ptx"), &job.path(target, "ptx"))?));
            manifest
                .cubins
                .push(job.entry(target, layout.place(&made("cubin"), &job.path(target, "cubin"))?));
        }
    }
    for (job, folder) in plan.tile.iter().zip(&tile) {
        for ending in [".tilebc", ".tileir", "-debug.tileir"] {
            let name = format!("{}{ending}", job.kernel.name);
            manifest.tile.push(job.entry(layout.place(&folder.join(&name), &job.path(&name))?));
        }
    }
    for (job, file) in plan.tile_cubins.iter().zip(&tile_cubins) {
        manifest.cubins.push(job.entry(layout.place(file, &job.path())?));
    }
    for (package, file) in compilers.wheels(&settings)? {
        let name = file.file_name().context("a wheel's file has no name")?.to_string_lossy().into_owned();
        manifest.wheels.push(Wheel { package, path: layout.place(&file, &format!("wheels/{name}"))? });
    }
    manifest.write(&project.corpus())?;
    let reused = cache.prune()?;
    report(&manifest);
    eprintln!(
        "{} cubins, {} PTX files, {} files of tile programs, {} libraries in {} ({reused} results reused, {:.0} s)",
        manifest.cubins.len(),
        manifest.ptx.len(),
        manifest.tile.len(),
        manifest.wheels.len(),
        project.corpus().display(),
        start.elapsed().as_secs_f64()
    );
    Ok(project.corpus())
}

/// Names what was left out and why: a line for each kernel.
fn report(manifest: &Manifest) {
    let mut lines: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for left in &manifest.left_out {
        lines.entry((&left.kernel, &left.reason)).or_default().push(&left.arch);
    }
    for ((kernel, reason), archs) in lines {
        eprintln!("left out: {kernel} for {}: {reason}", archs.join(" "));
    }
}

/// Runs a job for every item on all cores; results in the order of the items. All failures are shown, and are an error.
fn all<T: Sync, R: Send>(items: &[T], job: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        while let Some((index, item)) = items.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((index, job(item)));
        }
        done
    };
    let count = thread::available_parallelism().map_or(2, |cores| cores.get()).min(items.len().max(1));
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("jobs return errors")).collect::<Vec<_>>()
    });
    done.sort_by_key(|&(index, _)| index);
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    for (_, result) in done {
        match result {
            Ok(result) => results.push(result),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    if !failures.is_empty() {
        bail!("{} of {} compilations failed\n{}", failures.len(), items.len(), failures.join("\n"));
    }
    Ok(results)
}

/// The folder as users see it: links into the cache and to the tools, made anew each time so that nothing stale stays.
struct Layout {
    root: PathBuf,
}

impl Layout {
    fn fresh(root: PathBuf) -> Result<Layout> {
        for entry in fs::read_dir(&root).with_context(|| root.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("cache") {
                fs::remove_dir_all(&path).with_context(|| path.display().to_string())?;
            }
        }
        Ok(Layout { root })
    }

    /// Puts a file at `path`, which is returned.
    fn place(&self, file: &Path, path: &str) -> Result<String> {
        let to = self.root.join(path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        // A copy where links are not possible.
        let placed = fs::hard_link(file, &to).or_else(|_| fs::copy(file, &to).map(drop));
        placed.with_context(|| format!("cannot put {} at {}", file.display(), to.display()))?;
        Ok(path.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_and_every_failure_is_named() {
        let items: Vec<u32> = (0..50).collect();
        assert_eq!(
            all(&items, |&n| Ok(n * 2)).expect("no failure"),
            items.iter().map(|n| n * 2).collect::<Vec<_>>()
        );
        let failing = |&n: &u32| if n % 20 == 7 { bail!("job {n}") } else { Ok(n) };
        let error = all(&items, failing).unwrap_err().to_string();
        assert_eq!(error, "3 of 50 compilations failed\njob 7\njob 27\njob 47");
        assert!(all(&[], failing).expect("nothing to do").is_empty());
    }

    #[test]
    fn a_fresh_layout_drops_what_is_stale_and_keeps_the_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["cache", "sm_80"] {
            fs::create_dir(folder.path().join(name)).expect("created");
            fs::write(folder.path().join(name).join("old"), "1").expect("written");
        }
        let layout = Layout::fresh(folder.path().to_owned()).expect("readable");
        layout.place(&folder.path().join("cache/old"), "sm_80/new").expect("placed");
        assert!(!folder.path().join("sm_80/old").exists());
        assert_eq!(fs::read(folder.path().join("sm_80/new")).expect("placed"), b"1");
    }
}
