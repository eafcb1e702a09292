//! Rescheduled code on a GPU: the suite, rare instructions, PyTorch's operators, `torch.compile`, and the table of what is proven.
//!
//! Every part is a program of `bench/gpu/silicon` (its README says how each is used alone); here they get their places and modes, one after the
//! other, and a table at the end. What a part needs and does not find fails that part; nothing is left out silently.
//!
//! Cost on an H200 with 16 cores: rare instructions 48 s (eight modes of 931 cubins), the suite 25 s, the operators 12 minutes (five modes of two
//! libraries), `torch.compile` 7 minutes (four modes and three runs of the original, without looking again at what differs).

use crate::project::{Project, run};
use crate::steps::Steps;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the programs are.
const PROGRAMS: &str = "bench/gpu/silicon";
/// Rare instructions: every kernel in these.
const RARE_MODES: &str = "rebuild,default,reverse,shuffle1,shuffle2,shuffle3,shuffle4,shuffle5";
/// The suite.
const SUITE_MODES: &str = "rebuild,default,shuffle1,shuffle2,shuffle3,shuffle4,shuffle5";
/// PyTorch's operators on rescheduled libraries.
const OPERATOR_MODES: &str = "rebuild,default,shuffle1,shuffle2,shuffle3";
/// The operators through the stand-in.
const COMPILED_MODES: &str = "default,shuffle1,shuffle2,shuffle3";
/// All of them in a quick look.
const DAILY_MODES: &str = "default,shuffle1";

/// What to run, and with what.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Run the benchmark suite; no part given means all of them
    #[arg(long)]
    suite: bool,
    /// Run the kernels of rare instructions
    #[arg(long)]
    rare: bool,
    /// Run PyTorch's operators on rescheduled libraries
    #[arg(long)]
    operators: bool,
    /// Run PyTorch's operators through torch.compile and the stand-in
    #[arg(long)]
    compile: bool,
    /// Make the table of what is proven from the results that are there; needs no GPU
    #[arg(long)]
    coverage: bool,
    /// A quick look: default and one shuffle, -O3 of the rare kernels, a few operators; the table is not written
    #[arg(long)]
    daily: bool,
    /// Say what would be run, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Where results go [default: target/silicon]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The program to test, instead of building it
    #[arg(long, value_name = "FILE")]
    sassafras: Option<PathBuf>,
    /// The program that makes the table, instead of building it
    #[arg(long, value_name = "FILE")]
    mine: Option<PathBuf>,
    /// More options for `sassafras schedule`, in all parts
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    extra: String,
    /// The compiler of the rare kernels, with ptxas beside it; without it target/rare is taken as it is
    #[arg(long, value_name = "FILE")]
    nvcc: Option<PathBuf>,
    /// The suite as bench/gpu/suite/build.py wrote it [default: target/gpu-suite]
    #[arg(long, value_name = "DIR")]
    suite_dir: Option<PathBuf>,
    /// Count forms in this copy of PyTorch's libraries anew; without it the table's counts stay
    #[arg(long, value_name = "PATH")]
    libtorch: Vec<PathBuf>,
    /// The same for bitsandbytes
    #[arg(long, value_name = "PATH")]
    bitsandbytes: Vec<PathBuf>,
    /// The same for cubins of the corpus
    #[arg(long, value_name = "PATH")]
    corpus: Vec<PathBuf>,
}

/// One part: its programs, and the summary that they leave.
#[derive(Debug)]
struct Part {
    name: &'static str,
    commands: Vec<Vec<OsString>>,
    summary: Option<PathBuf>,
}

/// The whole.
pub fn silicon(project: &Project, options: &Options) -> Result<()> {
    let commit = commit(project);
    let out = options.out.clone().unwrap_or_else(|| project.target.join("silicon"));
    let parts = plan(project, options, &out, &commit);
    if options.dry_run {
        for command in parts.iter().flat_map(|part| &part.commands) {
            let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
            eprintln!("{}", words.join(" "));
        }
        return Ok(());
    }
    if parts.iter().any(|part| part.name != "coverage") {
        let check = project.command("python3").arg(format!("{PROGRAMS}/device.py")).output();
        let check = check.context("cannot start python3")?;
        if !check.status.success() {
            bail!("silicon needs a GPU: {}", String::from_utf8_lossy(&check.stderr).trim());
        }
        eprintln!("{}, commit {commit}", String::from_utf8_lossy(&check.stdout).trim());
    }
    for (given, package) in [(&options.sassafras, "sassafras-cli"), (&options.mine, "sassafras-mine")] {
        if given.is_none() {
            run(&mut project.cargo(["build", "--release", "-p", package]))?;
        }
    }
    std::fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    let mut steps = Steps::default();
    for part in &parts {
        steps.run(part.name, || {
            // All of them: a mode that differs must not keep the summary from being made.
            let results: Vec<Result<()>> =
                part.commands.iter().map(|words| run(&mut command(project, words))).collect();
            results.into_iter().collect()
        });
    }
    let summaries: Vec<&PathBuf> = parts.iter().filter_map(|part| part.summary.as_ref()).collect();
    if !summaries.is_empty() {
        steps.run("all results", || {
            let mut table = project.command("python3");
            run(table.arg(format!("{PROGRAMS}/summary.py")).args(summaries))
        });
    }
    steps.finish()
}

fn command(project: &Project, words: &[OsString]) -> Command {
    let mut command = project.command(&words[0]);
    command.args(&words[1..]).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// The commit that results stand beside.
fn commit(project: &Project) -> String {
    let described = project.command("git").args(["describe", "--always", "--dirty", "--abbrev=9"]).output();
    let text = described.ok().filter(|found| found.status.success());
    text.map_or("?".to_owned(), |found| String::from_utf8_lossy(&found.stdout).trim().to_owned())
}

/// What is run, in order.
fn plan(project: &Project, options: &Options, out: &Path, commit: &str) -> Vec<Part> {
    let Options { suite, rare, operators, compile, coverage, daily, .. } = *options;
    let all = !(suite || rare || operators || compile || coverage);
    let built = |given: &Option<PathBuf>, name: &str| {
        given.clone().unwrap_or_else(|| project.target.join("release").join(name))
    };
    let sassafras = built(&options.sassafras, "sassafras");
    let program = |name: &str| Words::new("python3").word(format!("{PROGRAMS}/{name}"));
    let modes = |modes: &'static str| if daily { DAILY_MODES } else { modes };
    let summary_of = |name: &str| out.join(name).join("summary.json");
    // Partial results have places of their own: they must not be taken for whole ones.
    let place = |name: &str| if daily { format!("{name}-daily") } else { name.to_owned() };
    let mut parts = Vec::new();
    if all || suite {
        let name = place("suite");
        let folder = options.suite_dir.clone().unwrap_or_else(|| project.target.join("gpu-suite"));
        let check = program("suite.py")
            .pair("--sassafras", &sassafras)
            .pair("--manifest", folder.join("manifest.json"))
            .pair("--out", out.join(&name))
            .pair("--modes", modes(SUITE_MODES))
            .word(format!("--extra={}", options.extra));
        let rows = program("summary.py")
            .pair("--rows", out.join(&name).join("result.json"))
            .pair("--part", "suite")
            .pair("--commit", commit)
            .pair("--out", summary_of(&name));
        parts.push(Part { name: "suite", commands: vec![check.0, rows.0], summary: Some(summary_of(&name)) });
    }
    let cubins = project.target.join("rare");
    let result = out.join("rare.json");
    if all || rare {
        let (result, summary) = match daily {
            true => (out.join("rare-daily.json"), out.join("rare-daily.summary.json")),
            false => (result.clone(), out.join("rare.summary.json")),
        };
        let build = options
            .nvcc
            .as_ref()
            .map(|nvcc| program("rare.py").word("build").pair("--out", &cubins).pair("--nvcc", nvcc).0);
        let mut check = program("rare.py")
            .word("run")
            .pair("--cubins", &cubins)
            .pair("--sassafras", &sassafras)
            .pair("--out", &result)
            .pair("--modes", modes(RARE_MODES))
            // What never ran would otherwise stay in place, and never be proven.
            .word(format!("--extra={}", format!("--move-unproven {}", options.extra).trim_end()));
        if daily {
            check = check.pair("--only", r"\.O3$").pair("--work", out.join("rare-daily"));
        }
        let rows = program("summary.py")
            .pair("--rows", &result)
            .pair("--part", "rare")
            .pair("--commit", commit)
            .pair("--out", &summary);
        let commands = build.into_iter().chain([check.0, rows.0]).collect();
        parts.push(Part { name: "rare instructions", commands, summary: Some(summary) });
    }
    let torch = |program: Words, name: &str, modes: &str| {
        let mut words = program
            .pair("--sassafras", &sassafras)
            .pair("--out", out.join(name))
            .pair("--modes", modes)
            .pair("--commit", commit)
            .word(format!("--extra={}", options.extra));
        if daily {
            words = words.word("--daily");
        }
        (vec![words.0], Some(summary_of(name)))
    };
    if all || operators {
        let words = program("operators.py").word("libraries");
        let (commands, summary) = torch(words, &place("operators"), modes(OPERATOR_MODES));
        parts.push(Part { name: "operators", commands, summary });
    }
    if all || compile {
        let (commands, summary) = torch(program("compiled.py"), &place("compiled"), modes(COMPILED_MODES));
        parts.push(Part { name: "torch.compile", commands, summary });
    }
    if (all && !daily) || coverage {
        let mut words = Words::new(built(&options.mine, "sassafras-mine"))
            .pair("--tables", project.root.join("crates/machine/data/mined"))
            .pair("--only", "sm_90")
            .pair("--coverage", format!("{}={}", result.display(), cubins.display()));
        let ran = out.join("suite").join("result.json");
        if all || suite || ran.exists() {
            words =
                words.pair("--coverage", format!("{}={}", ran.display(), out.join("suite/cubins").display()));
        }
        let libraries = [
            ("--libtorch", &options.libtorch),
            ("--bitsandbytes", &options.bitsandbytes),
            ("--corpus", &options.corpus),
        ];
        for (name, path) in
            libraries.iter().flat_map(|(name, paths)| paths.iter().map(move |path| (name, path)))
        {
            words = words.pair(name, path);
        }
        words =
            words.pair("--note", format!("Runs of sassafras {commit} on a device; `cargo xtask silicon`."));
        if !daily {
            words = words.word("--write");
        }
        parts.push(Part { name: "coverage", commands: vec![words.0], summary: None });
    }
    parts
}

/// A command line that grows.
struct Words(Vec<OsString>);

impl Words {
    fn new(program: impl Into<OsString>) -> Words {
        Words(vec![program.into()])
    }

    fn word(mut self, word: impl Into<OsString>) -> Words {
        self.0.push(word.into());
        self
    }

    fn pair(self, name: &str, value: impl Into<OsString>) -> Words {
        self.word(name).word(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parts(words: &[&str]) -> Vec<Part> {
        let options = Line::parse_from(std::iter::once(&"silicon").chain(words)).options;
        let project = Project { root: "/project".into(), target: "/target".into() };
        plan(&project, &options, Path::new("/out"), "abc")
    }

    fn text(part: &Part) -> String {
        let words = part.commands.iter().flatten().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn all_parts_run_unless_some_are_named() {
        let names = |words: &[&str]| parts(words).iter().map(|part| part.name).collect::<Vec<_>>();
        let all = ["suite", "rare instructions", "operators", "torch.compile", "coverage"];
        assert_eq!(names(&[]), all);
        assert_eq!(names(&["--daily"]), all[..4], "a quick look writes no table");
        assert_eq!(names(&["--rare", "--coverage"]), ["rare instructions", "coverage"]);
    }

    #[test]
    fn a_quick_look_keeps_its_results_apart() {
        let [whole, daily] =
            [&[][..], &["--daily"]].map(|words| parts(words).iter().map(text).collect::<Vec<_>>());
        for (whole, daily) in whole.iter().zip(&daily) {
            assert!(daily.contains("-daily") && !whole.contains("-daily"), "{daily}\n{whole}");
            assert!(daily.contains(DAILY_MODES) && whole.contains("shuffle3"), "{daily}\n{whole}");
        }
    }

    #[test]
    fn the_table_is_made_of_what_ran() {
        let made = parts(&[
            "--coverage",
            "--rare",
            "--libtorch",
            "/lib/a.so",
            "--libtorch",
            "/lib/b.so",
            "--mine",
            "/bin/mine",
        ]);
        let words = text(&made[1]);
        assert!(
            words.starts_with("/bin/mine --tables /project/crates/machine/data/mined --only sm_90"),
            "{words}"
        );
        assert!(
            words
                .contains("--coverage /out/rare.json=/target/rare --libtorch /lib/a.so --libtorch /lib/b.so"),
            "{words}"
        );
        assert!(words.ends_with("--write") && words.contains("sassafras abc on a device"), "{words}");
        assert!(!text(&parts(&["--coverage", "--daily"])[0]).contains("--write"));
    }

    #[test]
    fn kernels_are_built_where_there_is_a_compiler() {
        assert!(!text(&parts(&["--rare"])[0]).contains("rare.py build"));
        let made = parts(&["--rare", "--nvcc", "/cuda/nvcc", "--extra", "--effort standard"]);
        let words = text(&made[0]);
        assert!(words.contains("rare.py build --out /target/rare --nvcc /cuda/nvcc"), "{words}");
        assert!(
            words.contains("--extra=--move-unproven --effort standard") && words.contains("--commit abc"),
            "{words}"
        );
    }
}
