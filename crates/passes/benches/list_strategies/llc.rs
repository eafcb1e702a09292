//! LLVM's schedulers on the same shapes.
//!
//! The shapes are written as LLVM IR of one block and compiled for x86-64, whose back-end runs both kinds of scheduler: those of the
//! instruction selector (`-pre-RA-sched`) and the machine scheduler (`-misched`). The time is that of the scheduling pass alone as
//! `-time-passes` gives it; it includes the dependence graph, as ours does.

use sassafras_testkit::workloads::Workload;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// An `llc`.
pub struct Llc {
    path: PathBuf,
    version: String,
}

impl Llc {
    /// The one that `$LLC` names, or one on the path.
    pub fn find() -> Option<Llc> {
        let named = std::env::var_os("LLC").map(PathBuf::from);
        let names = named.into_iter().chain(["llc-19", "llc"].map(PathBuf::from));
        names.into_iter().find_map(|path| {
            let out = Command::new(&path).arg("--version").output().ok()?;
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            let version = text.lines().find(|line| line.contains("version"))?.trim().to_owned();
            Some(Llc { path, version })
        })
    }

    /// Which it is.
    pub fn describe(&self) -> String {
        format!("llc: {}", self.version)
    }

    /// Instructions and seconds of its scheduler of that name; none when it says nothing.
    pub fn seconds(&self, strategy: &str, workload: Workload, size: usize) -> Option<(usize, f64)> {
        let source = ir(workload, size);
        let file = std::env::temp_dir().join(format!("sassafras-llc-{}-{size}.ll", workload.name()));
        std::fs::write(&file, source).ok()?;
        let before = ["list-burr", "source", "list-hybrid", "list-ilp"].contains(&strategy);
        let mut command = Command::new(&self.path);
        command.args(["-O2", "-mtriple=x86_64-unknown-linux", "-mattr=+avx2,+fma", "-time-passes"]);
        if before {
            command.arg(format!("-pre-RA-sched={strategy}")).arg("-enable-misched=false");
        } else {
            command.arg("-enable-misched").arg(format!("-misched={strategy}"));
        }
        let assembly = file.with_extension("s");
        command.arg(&file).arg("-o").arg(&assembly).stdout(Stdio::null());
        let mut once = || {
            let out = command.output().ok()?;
            let report = String::from_utf8_lossy(&out.stderr).into_owned();
            let pass = if before { "Instruction Scheduling" } else { "Machine Instruction Scheduler" };
            report.lines().filter_map(|line| time_of(line, pass)).reduce(f64::max)
        };
        let mut best = once()?;
        // What takes long is not disturbed much, and not worth waiting for again.
        for _ in 0..if best < 1.0 { 4 } else { 0 } {
            best = best.min(once()?);
        }
        // What is dead is gone before anything is scheduled: count what is left.
        let text = std::fs::read_to_string(&assembly).ok()?;
        let is_instruction = |line: &&str| line.starts_with('\t') && !line.starts_with("\t.");
        Some((text.lines().filter(is_instruction).count(), best))
    }
}

/// The processor time of a pass in a line of `-time-passes`: the last but one of the figures, with its share behind it.
fn time_of(line: &str, pass: &str) -> Option<f64> {
    let line = line.trim_end();
    let figures = line.strip_suffix(pass)?;
    let numbers: Vec<f64> = figures
        .split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .filter_map(|word| word.parse().ok())
        .collect();
    // Columns of seconds, each followed by its percentage; wall time is the last.
    numbers.len().checked_sub(2).map(|at| numbers[at])
}

/// One block of about `size` instructions.
fn ir(workload: Workload, size: usize) -> String {
    let mut out = String::new();
    match workload {
        Workload::IntegerChains => chains(&mut out, size),
        Workload::Gemm8x8 => gemm(&mut out, size),
        Workload::LoadStore => load_store(&mut out, size),
    }
    out
}

/// A small generator of numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes everything");
    out.push('\n');
}

fn chains(out: &mut String, size: usize) {
    let mut dice = Dice(1);
    put(out, format_args!("define void @f(ptr %p) {{"));
    let mut last: Vec<String> = Vec::new();
    for i in 0..16 {
        put(out, format_args!("  %q{i} = getelementptr i32, ptr %p, i64 {i}"));
        put(out, format_args!("  %a{i} = load volatile i32, ptr %q{i}"));
        last.push(format!("%a{i}"));
    }
    for i in 0..size {
        // Never a value with itself, which would be folded.
        let chain = dice.below(16) as usize;
        let other = (chain + 1 + dice.below(15) as usize) % 16;
        let op = ["add", "xor", "mul", "sub"][dice.below(4) as usize];
        put(out, format_args!("  %v{i} = {op} i32 {}, {}", last[chain], last[other]));
        last[chain] = format!("%v{i}");
    }
    for (i, value) in last.iter().enumerate() {
        put(out, format_args!("  store i32 {value}, ptr %q{i}"));
    }
    put(out, format_args!("  ret void\n}}"));
}

fn gemm(out: &mut String, size: usize) {
    put(out, format_args!("declare float @llvm.fma.f32(float, float, float)"));
    put(out, format_args!("define void @f(ptr noalias %a, ptr noalias %b, ptr noalias %c) {{"));
    let mut sums: Vec<String> = Vec::new();
    for i in 0..64 {
        put(out, format_args!("  %c{i} = getelementptr float, ptr %c, i64 {i}"));
        put(out, format_args!("  %s{i} = load float, ptr %c{i}"));
        sums.push(format!("%s{i}"));
    }
    for step in 0..size.div_ceil(80) {
        for i in 0..8 {
            for side in ["a", "b"] {
                let at = step * 8 + i;
                put(out, format_args!("  %p{side}{at} = getelementptr float, ptr %{side}, i64 {at}"));
                put(out, format_args!("  %{side}v{at} = load float, ptr %p{side}{at}"));
            }
        }
        for (i, sum) in sums.iter_mut().enumerate() {
            let (a, b) = (step * 8 + i / 8, step * 8 + i % 8);
            put(
                out,
                format_args!(
                    "  %f{step}.{i} = call float @llvm.fma.f32(float %av{a}, float %bv{b}, float {sum})"
                ),
            );
            *sum = format!("%f{step}.{i}");
        }
    }
    for (i, sum) in sums.iter().enumerate() {
        put(out, format_args!("  store float {sum}, ptr %c{i}"));
    }
    put(out, format_args!("  ret void\n}}"));
}

fn load_store(out: &mut String, size: usize) {
    let mut dice = Dice(2);
    put(out, format_args!("define void @f(ptr %p0, ptr %p1, ptr %p2, ptr %p3, ptr %p4, ptr %p5) {{"));
    let mut values: Vec<String> = vec!["1".to_owned(); 64];
    // A load or a store takes an address of its own in the IR and none in the machine code.
    for i in 0..size {
        let (pointer, slot) = (dice.below(6), dice.below(64) as usize);
        let offset = dice.below(1024);
        match dice.below(10) {
            0..4 => {
                put(out, format_args!("  %q{i} = getelementptr i32, ptr %p{pointer}, i64 {offset}"));
                put(out, format_args!("  %v{i} = load i32, ptr %q{i}"));
                values[slot] = format!("%v{i}");
            }
            4..6 => {
                put(out, format_args!("  %q{i} = getelementptr i32, ptr %p{pointer}, i64 {offset}"));
                put(out, format_args!("  store i32 {}, ptr %q{i}", values[slot]));
            }
            _ => {
                let (a, b) = (dice.below(64) as usize, dice.below(64) as usize);
                put(out, format_args!("  %v{i} = add i32 {}, {}", values[a], values[b]));
                values[slot] = format!("%v{i}");
            }
        }
    }
    put(out, format_args!("  ret void\n}}"));
}
