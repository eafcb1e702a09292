//! Compiles our kernels with the real tools.

pub mod claim;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sassafras_testkit::tools::{run, sm_number};

/// Targets by the release and the version of PTX that know them.
pub const TARGETS: [(&str, &str, &[&str]); 3] = [
    ("12.", "8.8", &["70", "72"]),
    (
        "13.",
        "9.1",
        &["75", "80", "86", "87", "89", "90", "90a", "100", "100a", "103a", "110a", "120", "120a", "121a"],
    ),
    ("13.", "9.4", &["107a"]),
];

/// Whether a snippet's target list admits `arch`.
fn admits(targets: &str, arch: &str) -> bool {
    match targets.parse::<u32>() {
        Ok(least) => sm_number(arch) >= least,
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
