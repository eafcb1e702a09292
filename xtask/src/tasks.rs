//! What each task does.

use crate::browser;
use crate::corpus;
use crate::damage;
use crate::fuzz;
use crate::hazards;
use crate::project::{Project, run};
use crate::reach;
use crate::relayout;
use crate::steps::Steps;
use crate::tools;
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::Command;

/// The feature of a crate that compiles its tests against NVIDIA's tools.
const REAL_TOOLS: &str = "real-tools";

/// Everything but benches, which are measurements and no tests.
const TEST_TARGETS: [&str; 4] = ["--lib", "--bins", "--tests", "--examples"];

/// The tests that know the feature `pumpkin`. A run of its own, so that the workspace's is without the feature, as users are.
const SOLVER_TEST: [&str; 10] = [
    "test",
    "-p",
    "sassafras-modulo",
    "--features",
    "pumpkin",
    "--lib",
    "--test",
    "properties",
    "--test",
    "solver",
];

/// The folders with tests of Python code.
const PYTHON_TESTS: [&str; 3] = ["bench/gpu/compare", "bench/gpu/silicon", "tools/mutate"];

/// Every test.
pub fn test(project: &Project) -> Result<()> {
    let mut steps = Steps::default();
    test_steps(project, &mut steps);
    steps.finish()
}

fn test_steps(project: &Project, steps: &mut Steps) {
    // Without the tools or the corpus their tests fail and say so; the others still run.
    steps.run("tools", || tools::all_python(project).map(drop));
    steps.run("corpus", || corpus::build(project).map(drop));
    steps.run("tests", || run(&mut workspace_test(project, &TEST_TARGETS)?));
    steps.run("constraint solver", || run(&mut project.cargo(SOLVER_TEST)));
    steps.run("mutants", || hazards::short_mutants(project));
    steps.run("code of another length", || relayout::short(project));
    steps.run("wrong files", || damage::short_wrong_files(project));
    steps.run("broken files", || damage::short_broken_files(project));
    match browser::find() {
        Ok(found) => drop(steps.run("report in a browser", || browser::check(project, &found))),
        Err(why) => steps.left_out("report in a browser", &why),
    }
    steps.run("tests of Python code", || python_tests(project));
    steps.run("doc tests", || run(&mut workspace_test(project, &["--doc"])?));
    steps.run("fuzz smoke", || {
        run(&mut project.cargo(["test", "--manifest-path", "fuzz/Cargo.toml", "--no-fail-fast"]))
    });
}

fn workspace_test(project: &Project, targets: &[&str]) -> Result<Command> {
    let mut command = project.cargo(["test", "--workspace", "--no-fail-fast"]);
    command.args(targets).arg("--features").arg(real_tools_features(project)?);
    command.env("SASSAFRAS_TOOLS", project.tools()).env("SASSAFRAS_CORPUS", project.corpus());
    Ok(command)
}

/// What of the programs in Python can be tested without a GPU.
fn python_tests(project: &Project) -> Result<()> {
    let numpy = tools::python_tool(project, "numpy")?;
    for folder in PYTHON_TESTS {
        let mut tests = project.command("python3");
        tests.args(["-m", "unittest", "discover", "--start-directory", folder]);
        run(tests.env("PYTHONPATH", numpy.site_packages()).env("PYTHONDONTWRITEBYTECODE", "1"))?;
    }
    Ok(())
}

/// `package/real-tools` of every crate that has the feature, so that a new crate's tests cannot be forgotten.
fn real_tools_features(project: &Project) -> Result<String> {
    let mut features = Vec::new();
    for entry in fs::read_dir(project.root.join("crates"))? {
        let path = entry?.path().join("Cargo.toml");
        if !path.exists() {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let manifest: toml::Table = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let name = manifest.get("package").and_then(|p| p.get("name")).and_then(toml::Value::as_str);
        let has = manifest.get("features").is_some_and(|f| f.get(REAL_TOOLS).is_some());
        features.extend(name.filter(|_| has).map(|name| format!("{name}/{REAL_TOOLS}")));
    }
    if features.is_empty() {
        bail!("no crate has the feature `{REAL_TOOLS}`");
    }
    features.sort();
    Ok(features.join(","))
}

/// Everything that must pass before a change goes in.
pub fn ci(project: &Project) -> Result<()> {
    if std::env::var_os("SASSAFRAS_BLESS").is_some() {
        bail!("SASSAFRAS_BLESS is set: file tests would be rewritten instead of checked");
    }
    let mut steps = Steps::default();
    test_steps(project, &mut steps);
    let fuzz = ["--manifest-path", "fuzz/Cargo.toml"];
    steps.run("format", || run(&mut project.cargo(["fmt", "--all", "--check"])));
    steps.run("format of fuzz", || run(project.cargo(["fmt", "--check"]).args(fuzz)));
    let strict = ["--all-targets", "--all-features", "--keep-going", "--", "-D", "warnings"];
    steps.run("clippy", || run(project.cargo(["clippy", "--workspace"]).args(strict)));
    steps.run("clippy of fuzz", || run(project.cargo(["clippy"]).args(fuzz).args(strict)));
    steps.run("rustdoc", || {
        let mut doc = project.cargo(["doc", "--workspace", "--no-deps", "--all-features", "--keep-going"]);
        run(doc.env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.run("reach", || reach::check(project));
    steps.run("licences", || licences(project));
    steps.finish()
}

/// Licences, bans and sources of all dependencies, those of the fuzz targets included.
pub fn licences(project: &Project) -> Result<()> {
    let deny = tools::cargo(project, "cargo-deny")?;
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let mut check = project.command(&deny);
        check.args(["--all-features", "--manifest-path", manifest, "--config", "deny.toml"]);
        // Not its advisories: they need a database from elsewhere.
        run(check.args(["check", "licenses", "bans", "sources"]))?;
    }
    Ok(())
}

/// The long campaigns.
pub fn nightly(project: &Project, cases: u32, minutes: u32) -> Result<()> {
    let mut steps = Steps::default();
    steps.run("tools", || tools::all_python(project).map(drop));
    steps.run("corpus", || corpus::build(project).map(drop));
    steps.run(format!("properties, {cases} cases"), || {
        // The variable goes before the number of cases that a test asks for.
        let mut tests = workspace_test(project, &TEST_TARGETS)?;
        run(tests.arg("--release").env("PROPTEST_CASES", cases.to_string()).env("RANDOM_LOOPS", "10000"))
    });
    steps.run("10,000 loops beside the exact scheduler", || {
        let quality = ["test", "--release", "-p", "sassafras-modulo", "--test", "quality", "--", "--ignored"];
        run(&mut project.cargo(quality))
    });
    steps.run("2,000 loops by both exact schedulers", || {
        let both =
            ["test", "--release", "-p", "sassafras-modulo", "--features", "pumpkin", "--test", "solver"];
        run(project.cargo(both).args(["--", "--ignored"]))
    });
    fuzz::steps(project, &mut steps, None, minutes.saturating_mul(60));
    steps.finish()
}

/// All benchmarks, one after the other.
pub fn bench(project: &Project, args: &[String]) -> Result<()> {
    // A bench that wants a feature is an error without it.
    let features = ["--features", "sassafras-modulo/pumpkin"];
    run(project.cargo(["bench", "--workspace", "--bench", "*"]).args(features).arg("--").args(args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_with_real_tools_are_found() {
        let features =
            real_tools_features(&Project::find().expect("the project")).expect("readable manifests");
        assert!(features.split(',').any(|f| f == "sassafras-control/real-tools"), "{features}");
    }
}
