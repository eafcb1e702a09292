//! Compiles our kernels with the real tools and reads what nvdisasm prints about the result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Targets by the release that knows them.
pub const TARGETS: [(&str, &str, &[&str]); 2] = [
    ("12.", "8.8", &["70", "72"]),
    (
        "13.",
        "9.1",
        &["75", "80", "86", "87", "89", "90", "90a", "100", "100a", "103a", "110a", "120", "120a", "121a"],
    ),
];

fn files_named(name: &str, folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let entry = entry.expect("readable entry");
        if entry.file_type().expect("known type").is_dir() {
            files_named(name, &entry.path(), found);
        } else if entry.file_name() == name {
            found.push(entry.path());
        }
    }
}

/// The tool called `name` whose `--version` names a release starting with `release`, if it is installed.
pub fn find_tool(name: &str, release: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SASSAFRAS_TOOLS")
        .expect("SASSAFRAS_TOOLS is not set: run `cargo xtask test`, which fetches the tools and sets it");
    let mut found = Vec::new();
    files_named(name, Path::new(&root), &mut found);
    let wanted = format!("release {release}");
    found.into_iter().find(|path| {
        String::from_utf8_lossy(&run(Command::new(path).arg("--version")).stdout).contains(&wanted)
    })
}

/// The same, where the tests cannot do without.
pub fn tool(name: &str, release: &str) -> PathBuf {
    find_tool(name, release)
        .unwrap_or_else(|| panic!("no {name} {release}x below SASSAFRAS_TOOLS: run `cargo xtask test`"))
}

pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// Whether a snippet's target list admits `arch`.
fn admits(targets: &str, arch: &str) -> bool {
    match targets.parse::<u32>() {
        Ok(least) => {
            let number = arch.trim_end_matches('a').parse::<u32>().expect("a number");
            number >= least
        }
        Err(_) => targets.split(',').any(|t| t == arch),
    }
}

/// Register numbers of class `prefix` that a body names.
fn named(body: &str, prefix: char, range: std::ops::Range<u32>) -> BTreeSet<u32> {
    body.split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|token| token.strip_prefix(prefix)?.parse().ok())
        .filter(|n| range.contains(n))
        .collect()
}

/// One kernel around a body.
fn kernel(index: usize, body: &str) -> String {
    let mut text = format!(
        ".visible .entry k{index}(.param .u64 ptr, .param .u32 n, .param .u64 m, .param .f32 ff) {{
.reg .b8 b<32>; .reg .b16 h<40>; .reg .b32 r<256>; .reg .b64 d<40>; .reg .f32 f<256>; .reg .f64 g<40>;
.reg .pred p<10>; .reg .pred pp<40>; .local .align 16 .b8 lbuf[256];
ld.param.u64 d0,[ptr]; cvta.to.global.u64 d1,d0; mov.u32 r0,%tid.x; mad.wide.u32 d2,r0,1024,d1;
mul.lo.u32 r29,r0,64; mov.u32 r28,sbuf; add.u32 r30,r28,r29; mov.u32 r27,lbuf; and.b32 r29,r29,127; add.u32 r31,r27,r29;
"
    );
    if body.contains("b128") {
        text.push_str(".reg .b128 q<8>;\n");
    }
    let inputs = [
        ('r', 1..27, "b32", 4),
        ('d', 3..9, "b64", 8),
        ('d', 12..13, "b64", 8),
        ('g', 1..9, "f64", 8),
        ('f', 1..9, "f32", 4),
        ('h', 1..9, "u16", 4),
    ];
    let mut offset = 256;
    for (prefix, range, kind, bytes) in inputs {
        for n in named(body, prefix, range) {
            offset = (offset + bytes - 1) / bytes * bytes;
            writeln!(text, "ld.global.{kind} {prefix}{n},[d2+{offset}];").expect("text");
            offset += bytes;
        }
    }
    text.push_str("ld.global.b32 r27,[d2+768]; setp.lt.s32 p1,r27,5; setp.gt.s32 p2,r27,-5;\n");
    text.push_str(&body.replace("; ", ";\n"));
    let outputs = [
        ('r', 40..256, "b32", 4),
        ('f', 40..256, "f32", 4),
        ('h', 20..40, "b16", 4),
        ('d', 20..32, "b64", 8),
        ('g', 10..32, "f64", 8),
    ];
    offset = 0;
    for (prefix, range, kind, bytes) in outputs {
        for n in named(body, prefix, range) {
            offset = (offset + bytes - 1) / bytes * bytes;
            write!(text, "\nst.global.{kind} [d1+{offset}],{prefix}{n};").expect("text");
            offset += bytes;
        }
    }
    text.push_str("\nret;\n}\n");
    text
}

/// All snippets that `arch` knows, as one module.
pub fn snippets(arch: &str, version: &str) -> String {
    let mut text = format!(
        ".version {version}\n.target sm_{arch}\n.address_size 64
.shared .align 128 .b8 sbuf[8192];
.const .align 16 .b8 cdata[4096] = {{1,2,3,4}};
.extern .func (.param .b32 rv) vprintf (.param .b64 a, .param .b64 b);
.func (.reg .b32 o) fn1 (.reg .b32 a, .reg .b32 b) {{ div.u32 o,a,b; mad.lo.u32 o,o,a,b; ret; }}
.func (.reg .b32 o) fn2 (.reg .b32 a) {{ .reg .pred p; .reg .b32 t,u; setp.lt.u32 p,a,2; @p bra X; sub.u32 t,a,1;
call.uni (u),fn2,(t); mul.lo.u32 o,u,a; ret; X: mov.u32 o,1; ret; }}
"
    );
    let bodies = include_str!("../snippets.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once(": ").expect("targets and a body"));
    for (i, (_, body)) in bodies.enumerate().filter(|(_, (t, _))| admits(t, arch)) {
        text.push_str(&kernel(i, body));
    }
    text
}

/// Compiles PTX; `options` go to ptxas.
pub fn compile(ptxas: &Path, arch: &str, ptx: &str, options: &[&str], folder: &Path) -> PathBuf {
    let tag = options.concat();
    let source = folder.join(format!("{arch}{tag}.ptx"));
    let cubin = folder.join(format!("{arch}{tag}.cubin"));
    fs::write(&source, ptx).expect("written");
    let out = run(Command::new(ptxas)
        .arg(format!("-arch=sm_{arch}"))
        .args(options)
        .arg(&source)
        .arg("-o")
        .arg(&cubin));
    assert!(out.status.success(), "sm_{arch}: {}", String::from_utf8_lossy(&out.stderr));
    cubin
}

/// One instruction of a listing.
pub struct Line {
    pub section: String,
    pub address: u64,
    pub word: u128,
    pub text: String,
    /// Registers read and written, by name.
    pub reads: BTreeSet<String>,
    pub writes: BTreeSet<String>,
    /// The registers that the listing has a column for.
    pub columns: BTreeSet<String>,
}

/// A listing made with `-c -hex -plr -lrm narrow`, and where its labels stand.
#[derive(Default)]
pub struct Listing {
    pub lines: Vec<Line>,
    /// `(section, label)` to the byte address.
    pub labels: BTreeMap<(String, String), u64>,
}

/// Disassembles with register sets.
pub fn disassemble(nvdisasm: &Path, cubin: &Path) -> Listing {
    let out = run(Command::new(nvdisasm).args(["-c", "-hex", "-plr", "-lrm", "narrow"]).arg(cubin));
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    listing(&String::from_utf8_lossy(&out.stdout))
}

fn hex(line: &str) -> Option<u64> {
    let (_, tail) = line.split_once("/* 0x")?;
    u64::from_str_radix(tail.split_once(" */")?.0, 16).ok()
}

/// Reads a listing.
pub fn listing(text: &str) -> Listing {
    let mut out = Listing::default();
    let mut section = String::new();
    let mut header: Vec<&str> = Vec::new();
    let mut columns: Vec<(usize, String)> = Vec::new();
    let mut pending: Option<(u64, String, u64)> = None;
    let mut waiting: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("//----") {
            section = rest.trim_matches(['-', ' ']).to_owned();
            (header, columns, pending) = (Vec::new(), Vec::new(), None);
            waiting.clear();
            continue;
        }
        let (code, table) = match line.rfind("// |").or_else(|| line.rfind("// +")) {
            Some(at) => (&line[..at], Some(&line[at + 3..])),
            None => (line, None),
        };
        if let Some(table) = table.filter(|_| columns.is_empty()) {
            if table.starts_with("+-") && !header.is_empty() {
                columns = columns_of(&header);
            } else if table.starts_with('|') {
                header.push(table);
            }
            continue;
        }
        let trimmed = code.trim();
        if let Some(label) = trimmed.strip_suffix(':') {
            waiting.push(label.to_owned());
        }
        match (trimmed.strip_prefix("/*"), pending.take()) {
            (Some(_), Some((address, text, low))) if trimmed.starts_with("/* 0x") => {
                let high = hex(trimmed).expect("the high half");
                let cells = table.unwrap_or("").as_bytes();
                let marked = |marks: &[u8]| {
                    let at =
                        |column: &&(usize, String)| cells.get(column.0).is_some_and(|c| marks.contains(c));
                    columns.iter().filter(at).map(|(_, n)| n.clone()).collect()
                };
                out.lines.push(Line {
                    section: section.clone(),
                    address,
                    word: u128::from(low) | u128::from(high) << 64,
                    text,
                    reads: marked(b"vx"),
                    writes: marked(b"^x"),
                    columns: columns.iter().map(|(_, n)| n.clone()).collect(),
                });
            }
            (Some(rest), _) => {
                let Some((address, rest)) = rest.split_once("*/") else {
                    continue;
                };
                let (Ok(address), Some(low)) = (u64::from_str_radix(address, 16), hex(rest)) else {
                    continue;
                };
                let text = rest.split("/*").next().unwrap_or_default();
                let text = text.trim().trim_end_matches([';', ' ']).to_owned();
                for label in waiting.drain(..) {
                    out.labels.insert((section.clone(), label), address);
                }
                pending = Some((address, text, low));
            }
            _ => {}
        }
    }
    out
}

/// Where each register's column is: `(byte position, name)`. The digits of a number stand above each other.
fn columns_of(header: &[&str]) -> Vec<(usize, String)> {
    let bars: Vec<usize> = header[0].match_indices('|').map(|(i, _)| i).collect();
    let mut out = Vec::new();
    for pair in bars.windows(2) {
        let prefix = match header[0][pair[0] + 1..pair[1]].trim() {
            "GPR" => "R",
            "PRED" => "P",
            "UGPR" => "UR",
            "UPRED" => "UP",
            other => panic!("unknown register file {other}"),
        };
        let units = header.last().expect("a header");
        let first = pair[0] + units[pair[0]..].find('#').expect("a counter") + 1;
        for at in first..pair[1] {
            let number: String =
                header[1..].iter().map(|row| &row[at..at + 1]).collect::<String>().trim().to_owned();
            if let Ok(n) = number.parse::<u32>() {
                out.push((at, format!("{prefix}{n}")));
            }
        }
    }
    out
}
