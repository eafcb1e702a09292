//! Sources and settings, and the jobs that follow from them.

use super::manifest::{Entry, LeftOut};
use crate::project::Project;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;

/// The folder of Triton kernels, and what they are called in the manifest and in file names.
pub const TRITON: &str = "triton";

/// The folder of tile programs, and what they are called in the manifest and in file names.
pub const TILE: &str = "tile";

/// What `corpus.toml` holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    cuda: Vec<Targets>,
    form: Vec<Form>,
    /// How Triton kernels are compiled.
    pub triton: Triton,
    /// How tile programs are compiled.
    pub tile: Tile,
    /// Libraries.
    pub wheel: Vec<Wheels>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Targets {
    tool: String,
    #[serde(default, rename = "virtual")]
    virtual_arch: u32,
    version: Option<String>,
    #[serde(default)]
    named_only: bool,
    archs: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    name: String,
    nvcc: Vec<String>,
    ptxas: Vec<String>,
    archs: Vec<String>,
    kernels: Vec<String>,
}

/// Settings of Triton kernels.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triton {
    /// The tool folder.
    pub tool: String,
    targets: BTreeMap<u32, String>,
}

/// Settings of tile programs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tile {
    /// The tool folder.
    pub tool: String,
    targets: BTreeMap<u32, String>,
}

/// Libraries of one Python package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheels {
    /// The tool folder.
    pub tool: String,
    /// Files below its `site-packages`.
    pub files: Vec<String>,
}

impl Settings {
    /// The project's settings.
    pub fn load(project: &Project) -> Result<Settings> {
        let path = project.root.join("corpus/corpus.toml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// All tool folders that the settings name.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        let cuda = self.cuda.iter().map(|targets| &*targets.tool);
        cuda.chain([&*self.triton.tool, &*self.tile.tool]).chain(self.wheel.iter().map(|wheel| &*wheel.tool))
    }
}

/// A source file.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name without the suffix.
    pub name: String,
    /// Its text.
    pub text: String,
    needs: Needs,
}

/// Where a kernel can run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    AtLeast(u32, String),
    Only(Vec<String>, String),
}

impl Kernel {
    fn new(name: &str, text: String) -> Result<Kernel> {
        let needs = Needs::of(&text).with_context(|| format!("corpus kernel {name}"))?;
        Ok(Kernel { name: name.to_owned(), text, needs })
    }

    /// Why an architecture cannot run it.
    fn refuses(&self, arch: &str) -> Option<String> {
        match &self.needs {
            Needs::AtLeast(least, why) if number(arch) < *least => Some(format!("needs sm_{least}: {why}")),
            Needs::Only(archs, why) if !archs.iter().any(|a| a == arch) => {
                Some(format!("only for sm_{}: {why}", archs.join(" sm_")))
            }
            _ => None,
        }
    }
}

impl Needs {
    /// Reads a comment line `needs sm_N: why` or `only sm_Na sm_M: why`.
    fn of(text: &str) -> Result<Needs> {
        for line in text.lines() {
            let Some(comment) = line.strip_prefix("// ").or_else(|| line.strip_prefix("# ")) else {
                continue;
            };
            let Some((word, rest)) =
                comment.split_once(" sm_").filter(|(word, _)| ["needs", "only"].contains(word))
            else {
                continue;
            };
            let (archs, why) = rest.split_once(": ").with_context(|| format!("`{line}` gives no reason"))?;
            let archs: Vec<String> = archs.split(" sm_").map(str::to_owned).collect();
            return match (word, archs.as_slice()) {
                ("needs", [arch]) => {
                    Ok(Needs::AtLeast(arch.parse().context(line.to_owned())?, why.to_owned()))
                }
                ("needs", _) => bail!("`{line}` names several architectures"),
                _ => Ok(Needs::Only(archs, why.to_owned())),
            };
        }
        Ok(Needs::Nothing)
    }
}

/// The number of an architecture: 90 of `90a`.
fn number(arch: &str) -> u32 {
    arch.trim_end_matches(['a', 'f']).parse().unwrap_or(u32::MAX)
}

/// The kernels of a folder, by name.
pub fn sources(project: &Project, folder: &str, suffix: &str) -> Result<Vec<Kernel>> {
    let folder = project.root.join("corpus").join(folder);
    let mut kernels = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|s| s == suffix) {
            let name = path.file_stem().context("a kernel without a name")?.to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            kernels.push(Kernel::new(&name, text)?);
        }
    }
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(kernels)
}

/// CUDA to PTX.
#[derive(Clone, Debug)]
pub struct FrontEnd {
    /// The source.
    pub kernel: Kernel,
    /// `90` of `compute_90`.
    pub virtual_arch: String,
    /// Empty for the ordinary form.
    form: String,
    /// Options of nvcc besides the architecture.
    pub options: Vec<String>,
}

/// PTX to a cubin.
#[derive(Debug)]
pub struct Assemble {
    /// Which front end makes the PTX.
    pub front_end: usize,
    kernel: String,
    form: String,
    /// `90a` of `sm_90a`.
    pub arch: String,
    /// The tool folder of ptxas.
    pub tool: String,
    /// The `.version` that the PTX gets, with the architecture as its target.
    pub version: Option<String>,
    /// Options of ptxas besides the architecture.
    pub options: Vec<String>,
}

/// Triton to cubins.
#[derive(Debug)]
pub struct TritonJob {
    /// The source.
    pub kernel: Kernel,
    /// What it is compiled for.
    pub targets: Vec<TritonTarget>,
}

/// A target of Triton.
#[derive(Debug)]
pub struct TritonTarget {
    /// `90`.
    pub capability: String,
    arch: String,
}

/// A tile program to bytecode and text, which are the same for all architectures.
#[derive(Debug)]
pub struct TileJob {
    /// The source.
    pub kernel: Kernel,
}

/// Bytecode of a tile program to a cubin.
#[derive(Debug)]
pub struct TileCubin {
    /// Which program.
    pub job: usize,
    kernel: String,
    /// `90`.
    pub target: String,
    arch: String,
}

fn with_form(kernel: &str, form: &str) -> String {
    if form.is_empty() { kernel.to_owned() } else { format!("{kernel}-{form}") }
}

impl FrontEnd {
    /// Where the PTX goes.
    pub fn path(&self) -> String {
        format!("ptx/compute_{}/{}.ptx", self.virtual_arch, with_form(&self.kernel.name, &self.form))
    }

    /// Its line in the manifest.
    pub fn entry(&self, path: String) -> Entry {
        Entry {
            kernel: self.kernel.name.clone(),
            arch: format!("compute_{}", self.virtual_arch),
            language: "cuda",
            tool: "cuda13".to_owned(),
            options: self.options.clone(),
            path,
        }
    }
}

impl Assemble {
    /// Where the cubin goes.
    pub fn path(&self) -> String {
        format!("sm_{}/{}.cubin", self.arch, with_form(&self.kernel, &self.form))
    }

    /// Its line in the manifest.
    pub fn entry(&self, path: String) -> Entry {
        Entry {
            kernel: self.kernel.clone(),
            arch: format!("sm_{}", self.arch),
            language: "cuda",
            tool: self.tool.clone(),
            options: self.options.clone(),
            path,
        }
    }
}

impl TritonJob {
    /// Where the file for a target goes.
    pub fn path(&self, target: &TritonTarget, suffix: &str) -> String {
        let folder = if suffix == "ptx" { format!("ptx/{TRITON}_") } else { "sm_".to_owned() };
        format!("{folder}{}/{TRITON}-{}.{suffix}", target.arch, self.kernel.name)
    }

    /// Its line in the manifest.
    pub fn entry(&self, target: &TritonTarget, path: String) -> Entry {
        Entry {
            kernel: self.kernel.name.clone(),
            arch: format!("sm_{}", target.arch),
            language: TRITON,
            tool: TRITON.to_owned(),
            options: Vec::new(),
            path,
        }
    }
}

impl TileJob {
    /// Where a file goes.
    pub fn path(&self, name: &str) -> String {
        format!("{TILE}/{name}")
    }

    /// Its line in the manifest.
    pub fn entry(&self, path: String) -> Entry {
        tile_entry(&self.kernel.name, "any".to_owned(), path)
    }
}

impl TileCubin {
    /// Where the cubin goes.
    pub fn path(&self) -> String {
        format!("sm_{}/{TILE}-{}.cubin", self.arch, self.kernel)
    }

    /// Its line in the manifest.
    pub fn entry(&self, path: String) -> Entry {
        tile_entry(&self.kernel, format!("sm_{}", self.arch), path)
    }
}

fn tile_entry(kernel: &str, arch: String, path: String) -> Entry {
    Entry {
        kernel: kernel.to_owned(),
        arch,
        language: TILE,
        tool: "cudatile".to_owned(),
        options: Vec::new(),
        path,
    }
}

/// All jobs, and what none of them makes.
#[derive(Debug, Default)]
pub struct Plan {
    /// Runs of nvcc.
    pub front_ends: Vec<FrontEnd>,
    /// Runs of ptxas.
    pub cubins: Vec<Assemble>,
    /// Runs of Triton.
    pub triton: Vec<TritonJob>,
    /// Tile programs.
    pub tile: Vec<TileJob>,
    /// Runs of the assembler of tile programs.
    pub tile_cubins: Vec<TileCubin>,
    /// Kernels that an architecture cannot run.
    pub left_out: Vec<LeftOut>,
}

impl Plan {
    /// What the settings ask for.
    pub fn new(
        settings: &Settings,
        cuda: Vec<Kernel>,
        triton: Vec<Kernel>,
        tile: Vec<Kernel>,
    ) -> Result<Plan> {
        let mut plan = Plan::default();
        let ordinary = Form { ptxas: vec!["-O3".to_owned()], ..Form::default() };
        for form in std::iter::once(&ordinary).chain(&settings.form) {
            if let Some(unknown) = form.kernels.iter().find(|name| cuda.iter().all(|k| k.name != **name)) {
                bail!("corpus.toml: form {} names the unknown kernel {unknown}", form.name);
            }
            for kernel in cuda.iter().filter(|k| form.name.is_empty() || form.kernels.contains(&k.name)) {
                plan.add(settings, form, kernel);
            }
        }
        for kernel in triton {
            let (left, targets) = (settings.triton.targets.iter())
                .map(|(capability, arch)| TritonTarget {
                    capability: capability.to_string(),
                    arch: arch.clone(),
                })
                .partition(|target| kernel.refuses(&target.capability).is_some());
            let left: Vec<TritonTarget> = left;
            for target in left {
                let reason = kernel.refuses(&target.capability).unwrap_or_default();
                plan.leave_out(&format!("{TRITON}-{}", kernel.name), &target.arch, reason);
            }
            plan.triton.push(TritonJob { kernel, targets });
        }
        for kernel in tile {
            for (target, arch) in &settings.tile.targets {
                if let Some(reason) = kernel.refuses(&target.to_string()) {
                    plan.leave_out(&format!("{TILE}-{}", kernel.name), arch, reason);
                    continue;
                }
                plan.tile_cubins.push(TileCubin {
                    job: plan.tile.len(),
                    kernel: kernel.name.clone(),
                    target: target.to_string(),
                    arch: arch.clone(),
                });
            }
            plan.tile.push(TileJob { kernel });
        }
        Ok(plan)
    }

    fn add(&mut self, settings: &Settings, form: &Form, kernel: &Kernel) {
        for targets in &settings.cuda {
            for arch in &targets.archs {
                let named = matches!(&kernel.needs, Needs::Only(archs, _) if archs.contains(arch));
                let wanted = form.name.is_empty() || form.archs.contains(arch);
                if !wanted || targets.named_only && !named {
                    continue;
                }
                if let Some(reason) = kernel.refuses(arch) {
                    self.leave_out(&with_form(&kernel.name, &form.name), arch, reason);
                    continue;
                }
                let virtual_arch = match &kernel.needs {
                    Needs::Only(..) => arch.clone(),
                    Needs::AtLeast(least, _) => targets.virtual_arch.max(*least).to_string(),
                    Needs::Nothing => targets.virtual_arch.to_string(),
                };
                let front_end = self.front_end(kernel, form, &virtual_arch);
                self.cubins.push(Assemble {
                    front_end,
                    kernel: kernel.name.clone(),
                    form: form.name.clone(),
                    arch: arch.clone(),
                    tool: targets.tool.clone(),
                    version: targets.version.clone(),
                    options: form.ptxas.clone(),
                });
            }
        }
    }

    /// The front end that makes this PTX: one for all architectures and forms that take it.
    fn front_end(&mut self, kernel: &Kernel, form: &Form, virtual_arch: &str) -> usize {
        let job = FrontEnd {
            kernel: kernel.clone(),
            virtual_arch: virtual_arch.to_owned(),
            form: if form.nvcc.is_empty() { String::new() } else { form.name.clone() },
            options: form.nvcc.clone(),
        };
        let path = job.path();
        self.front_ends.iter().position(|other| other.path() == path).unwrap_or_else(|| {
            self.front_ends.push(job);
            self.front_ends.len() - 1
        })
    }

    fn leave_out(&mut self, kernel: &str, arch: &str, reason: String) {
        self.left_out.push(LeftOut { kernel: kernel.to_owned(), arch: format!("sm_{arch}"), reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> (Settings, [Vec<Kernel>; 3]) {
        let project = Project::find().expect("the project");
        let settings = Settings::load(&project).expect("valid settings");
        let load = |folder, suffix| sources(&project, folder, suffix).expect("readable sources");
        (settings, [load("cuda", "cu"), load(TRITON, "py"), load(TILE, "py")])
    }

    #[test]
    fn every_kernel_is_compiled_or_left_out_with_a_reason() {
        let (settings, [cuda, triton, tile]) = project();
        assert!(cuda.len() >= 18 && triton.len() >= 6 && tile.len() >= 11);
        assert!(
            cuda.iter().chain(&triton).chain(&tile).all(|k| k.text.lines().count() <= 120),
            "a long kernel"
        );
        let names: Vec<_> = cuda.iter().map(|k| k.name.clone()).collect();
        let programs = tile.len();
        let plan = Plan::new(&settings, cuda, triton, tile).expect("a plan");
        let left = plan.left_out.iter().filter(|left| left.kernel.starts_with("tile-")).count();
        assert_eq!(plan.tile_cubins.len() + left, programs * settings.tile.targets.len());
        let ordinary = settings.cuda.iter().filter(|t| !t.named_only).flat_map(|t| &t.archs);
        for (arch, kernel) in ordinary.flat_map(|arch| names.iter().map(move |name| (arch, name))) {
            let made =
                plan.cubins.iter().filter(|c| c.arch == *arch && c.kernel == *kernel && c.form.is_empty());
            let sm = format!("sm_{arch}");
            let left = plan.left_out.iter().filter(|l| l.arch == sm && l.kernel == *kernel);
            assert_eq!(made.count() + left.count(), 1, "{kernel} {arch}");
        }
        assert!(plan.left_out.iter().all(|left| !left.reason.is_empty()));
        let mut paths: Vec<_> = plan.cubins.iter().map(Assemble::path).collect();
        paths.extend(plan.front_ends.iter().map(FrontEnd::path));
        paths.extend(plan.tile_cubins.iter().map(TileCubin::path));
        let count = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), count, "two jobs for one path");
    }

    #[test]
    fn a_kernel_says_where_it_runs() {
        let kernel = |text: &str| Kernel::new("k", text.to_owned());
        let needs = kernel("// What.\n// needs sm_80: cp.async\nint x;").expect("valid");
        assert_eq!(needs.refuses("75").expect("refused"), "needs sm_80: cp.async");
        assert_eq!(needs.refuses("80"), None);
        let only = kernel("// What.\n// only sm_90a sm_100a: such things").expect("valid");
        assert_eq!(only.refuses("90").expect("refused"), "only for sm_90a sm_100a: such things");
        assert_eq!(only.refuses("100a"), None);
        assert_eq!(kernel("// It needs sm_80 or so.").expect("prose").refuses("50"), None);
        for broken in ["// needs sm_80", "// needs sm_80 sm_90: both", "# needs sm_x: x"] {
            assert!(kernel(broken).is_err(), "{broken}");
        }
    }
}
