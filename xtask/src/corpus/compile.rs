//! The calls of nvcc, ptxas, Triton and the assembler of tile programs.

use super::cache::Cache;
use super::plan::{Assemble, FrontEnd, Settings, TileCubin, TileJob, TritonJob};
use crate::project::{Project, quiet};
use crate::tools::{self, Tool};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where programs are inside a tool's folder.
const PROGRAMS: [(&str, &str); 3] =
    [("cuda13", "nvidia/cu13/bin"), ("cuda12", "nvidia/cuda_nvcc/bin"), ("cudatile", "nvidia/cu13/bin")];

/// The newest tool, the one whose nvcc makes all PTX.
const NEWEST: &str = "cuda13";

/// The compilers, installed.
pub struct Compilers<'p> {
    project: &'p Project,
    tools: BTreeMap<String, Tool>,
    /// Compiles Triton kernels.
    script: String,
    triton: String,
    /// Turns tile programs into bytecode.
    tile_script: String,
    tile: String,
}

impl Compilers<'_> {
    /// Installs what the settings name.
    pub fn find<'p>(project: &'p Project, settings: &Settings) -> Result<Compilers<'p>> {
        let mut host = project.command("g++");
        if quiet(host.arg("--version")).is_err() {
            bail!(
                "nvcc needs a host compiler for its preprocessor, and `g++ --version` does not work: install g++"
            );
        }
        let mut found = BTreeMap::new();
        for name in settings.tools() {
            found.insert(name.to_owned(), tools::python_tool(project, name)?);
        }
        let script = |name: &str| {
            let path = project.root.join("corpus").join(name);
            fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        Ok(Compilers {
            project,
            tools: found,
            script: script("triton_compile.py")?,
            triton: settings.triton.tool.clone(),
            tile_script: script("tile_compile.py")?,
            tile: settings.tile.tool.clone(),
        })
    }

    fn tool(&self, name: &str) -> Result<&Tool> {
        self.tools.get(name).with_context(|| format!("corpus.toml does not name the tool {name}"))
    }

    fn program(&self, tool: &str, program: &str) -> Result<PathBuf> {
        let (_, folder) =
            PROGRAMS.iter().find(|(name, _)| *name == tool).context("a tool without programs")?;
        let path = self.tool(tool)?.site_packages().join(folder).join(program);
        if !path.exists() {
            bail!("{} is missing: remove the folder {tool} and try again", path.display());
        }
        Ok(path)
    }

    /// CUDA to PTX; returns the file.
    pub fn front_end(&self, job: &FrontEnd, cache: &Cache) -> Result<PathBuf> {
        let inputs = ("nvcc", &self.tool(NEWEST)?.pins, &job.kernel.text, &job.virtual_arch, &job.options);
        let folder = cache.get(&inputs, |folder| {
            let mut nvcc = self.project.command(self.program(NEWEST, "nvcc")?);
            nvcc.args(["-ptx", "-O3", "-std=c++17", "-allow-unsupported-compiler"]).args(&job.options);
            nvcc.arg(format!("-arch=compute_{}", job.virtual_arch)).arg("-o").arg(folder.join("out.ptx"));
            quiet(nvcc.arg(format!("corpus/cuda/{}.cu", job.kernel.name)))
        })?;
        Ok(folder.join("out.ptx"))
    }

    /// PTX to a cubin; returns the file.
    pub fn assemble(&self, job: &Assemble, ptx: &Path, cache: &Cache) -> Result<PathBuf> {
        let mut text = fs::read_to_string(ptx).with_context(|| ptx.display().to_string())?;
        if let Some(version) = &job.version {
            text = with_header(&text, version, &job.arch);
        }
        let inputs = ("ptxas", &self.tool(&job.tool)?.pins, &text, &job.arch, &job.options);
        let folder = cache.get(&inputs, |folder| {
            let source = folder.join("in.ptx");
            fs::write(&source, &text)?;
            let mut ptxas = self.project.command(self.program(&job.tool, "ptxas")?);
            ptxas.args(&job.options).arg(format!("-arch=sm_{}", job.arch));
            quiet(ptxas.arg(&source).arg("-o").arg(folder.join("out.cubin"))).with_context(|| job.path())?;
            fs::remove_file(source).context("cannot remove the PTX")
        })?;
        Ok(folder.join("out.cubin"))
    }

    /// Triton to cubins; returns a folder with a folder for every target.
    pub fn triton(&self, job: &TritonJob, cache: &Cache) -> Result<PathBuf> {
        let tool = self.tool(&self.triton)?;
        let pairs = job.targets.iter().map(|t| format!("{}:{}", t.capability, job.kernel.name));
        let pairs: Vec<String> = pairs.collect();
        cache.get(&(&self.script, &tool.pins, &job.kernel.text, &pairs), |folder| {
            let own = folder.join("triton-cache");
            let mut python = self.project.command("python3");
            python.arg("corpus/triton_compile.py").arg("corpus/triton").arg(folder).args(&pairs);
            python.env("PYTHONPATH", tool.site_packages()).env("PYTHONDONTWRITEBYTECODE", "1");
            python.env("TRITON_CACHE_DIR", &own).env("TRITON_HOME", &own);
            quiet(&mut python)?;
            fs::remove_dir_all(own).context("cannot remove Triton's own cache")
        })
    }

    /// A tile program to bytecode and text; returns a folder with the files.
    pub fn tile(&self, job: &TileJob, cache: &Cache) -> Result<PathBuf> {
        let tool = self.tool(&self.tile)?;
        let name = &job.kernel.name;
        cache.get(&("tile", &self.tile_script, &tool.pins, &job.kernel.text), |folder| {
            let mut python = self.project.command("python3");
            python.arg("corpus/tile_compile.py").arg("corpus/tile").arg(folder).arg(name);
            python.env("PYTHONPATH", tool.site_packages()).env("PYTHONDONTWRITEBYTECODE", "1");
            quiet(&mut python)?;
            let bytecode = folder.join(format!("{name}.tilebc"));
            for (ending, option) in [("", None), ("-debug", Some("-g"))] {
                let mut disassembler = self.project.command(self.program(&self.tile, "tileirdisasm")?);
                disassembler.args(option).arg(&bytecode);
                let text = fs::File::create(folder.join(format!("{name}{ending}.tileir")))?;
                quiet(disassembler.stdout(text)).with_context(|| name.clone())?;
            }
            Ok(())
        })
    }

    /// Bytecode of a tile program to a cubin; returns the file.
    pub fn tile_cubin(&self, job: &TileCubin, bytecode: &Path, cache: &Cache) -> Result<PathBuf> {
        let input = fs::read(bytecode).with_context(|| bytecode.display().to_string())?;
        let pins = (&self.tool(&self.tile)?.pins, &self.tool(NEWEST)?.pins);
        let folder = cache.get(&("tileiras", pins, &input, &job.target), |folder| {
            let mut assembler = self.project.command(self.program(&self.tile, "tileiras")?);
            // Where it looks for ptxas and the code generator.
            let ptxas = self.program(NEWEST, "ptxas")?;
            assembler.env("CUDA_HOME", ptxas.ancestors().nth(2).context("ptxas is in no folder")?);
            assembler.arg(format!("--gpu-name=sm_{}", job.target)).arg(bytecode);
            quiet(assembler.arg("-o").arg(folder.join("out.cubin"))).with_context(|| job.path())
        })?;
        Ok(folder.join("out.cubin"))
    }

    /// Libraries of others: tool folder and file.
    pub fn wheels(&self, settings: &Settings) -> Result<Vec<(String, PathBuf)>> {
        let mut files = Vec::new();
        for wheel in &settings.wheel {
            for file in &wheel.files {
                let path = self.tool(&wheel.tool)?.site_packages().join(file);
                if !path.exists() {
                    bail!("{} has no {file}", wheel.tool);
                }
                files.push((wheel.tool.clone(), path));
            }
        }
        Ok(files)
    }
}

/// PTX that says it is of this version and for this target.
fn with_header(ptx: &str, version: &str, arch: &str) -> String {
    let lines = ptx.lines().map(|line| match line.split_whitespace().next() {
        Some(".version") => format!(".version {version}\n"),
        // What follows a comma (`debug`, `texmode_…`) stays.
        Some(".target") => match line.split_once(',') {
            Some((_, options)) => format!(".target sm_{arch},{options}\n"),
            None => format!(".target sm_{arch}\n"),
        },
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_header_changes() {
        let ptx = "// .target x\n.version 9.1\n.target sm_75, debug\n.address_size 64\nret;\n";
        let old = "// .target x\n.version 8.8\n.target sm_50, debug\n.address_size 64\nret;\n";
        assert_eq!(with_header(ptx, "8.8", "50"), old);
        assert_eq!(with_header(".target sm_75", "8.8", "60"), ".target sm_60\n");
    }
}
