//! The decoder and printer against the real ptxas and nvdisasm, on kernels of our own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSection};
use sassafras_machine::Arch;
use sassafras_sass::maxwell::{Flow, decode, groups};
use sassafras_testkit::tools::{succeed, tool};

use super::{ARCHS, sets, squeezed};

/// One instruction of a listing.
struct Line {
    text: String,
    reads: BTreeSet<String>,
    writes: BTreeSet<String>,
}

/// The lines of a listing by section and address, and the addresses of its labels.
#[derive(Default)]
struct Listing {
    lines: BTreeMap<(String, u64), Line>,
    labels: BTreeMap<(String, String), u64>,
}

/// Registers that a body names, by prefix and range of numbers.
fn named(body: &str, prefix: char, range: std::ops::Range<u32>) -> BTreeSet<u32> {
    body.split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|token| token.strip_prefix(prefix)?.parse().ok())
        .filter(|number| range.contains(number))
        .collect()
}

/// A load or store of every register that a body names, at aligned offsets.
fn transfers(body: &str, range: std::ops::Range<u32>, mut offset: u32, is_load: bool) -> String {
    let mut out = String::new();
    for (prefix, kind, bytes) in
        [('r', "b32", 4), ('d', "b64", 8), ('f', "f32", 4), ('g', "f64", 8), ('h', "b16", 8)]
    {
        for number in named(body, prefix, range.clone()) {
            offset = offset.next_multiple_of(bytes);
            let (register, address) = (format!("{prefix}{number}"), format!("[a0+{offset}]"));
            match is_load {
                true => writeln!(out, "ld.global.{kind} {register},{address};"),
                false => writeln!(out, "st.global.{kind} {address},{register};"),
            }
            .expect("text");
            offset += bytes;
        }
    }
    out
}

/// Every body that an SM knows, as one module.
fn module(sm: u16) -> String {
    let mut text = format!(
        ".version 8.8\n.target sm_{sm}\n.address_size 64
.shared .align 128 .b8 sbuf[8192]; .const .align 16 .b8 table[512] = {{1,2,3,4}};
.global .texref tex; .global .surfref srf;
.func (.reg .b32 o) fn1 (.reg .b32 a, .reg .b32 b) {{ div.u32 o,a,b; mad.lo.u32 o,o,a,b; ret; }}
.func (.reg .b32 o) fn2 (.reg .b32 a) {{ .reg .pred p; .reg .b32 t,u; setp.lt.u32 p,a,2; @p bra X; sub.u32 t,a,1;
call.uni (u),fn2,(t); mul.lo.u32 o,u,a; ret; X: mov.u32 o,1; ret; }}\n"
    );
    let bodies = include_str!("bodies.txt").lines().filter(|line| !line.starts_with('#'));
    for (i, line) in bodies.enumerate() {
        let (least, body) = line.split_once(": ").expect("an SM and a body");
        if least.parse::<u16>().expect("a number") > sm {
            continue;
        }
        writeln!(
            text,
            ".visible .entry k{i}(.param .u64 ptr) {{
.reg .b16 h<40>; .reg .b32 r<40>; .reg .b64 d<40>; .reg .f32 f<40>; .reg .f64 g<40>; .reg .pred p<10>;
.reg .b64 a0; .reg .b32 s0, l0, t0; .local .align 16 .b8 lbuf[256];
ld.param.u64 a0,[ptr]; cvta.to.global.u64 a0,a0; mov.u32 t0,%tid.x; mad.wide.u32 a0,t0,1024,a0; mov.u32 s0,sbuf;
mov.u32 l0,lbuf; mad.lo.u32 s0,t0,128,s0; and.b32 t0,t0,15; add.u32 l0,l0,t0;
{}ld.global.b32 t0,[a0+768]; setp.lt.s32 p1,t0,5;\n{}\n{}ret; }}",
            transfers(body, 1..9, 256, true),
            body.replace("; ", ";\n"),
            transfers(body, 20..40, 0, false),
        )
        .expect("text");
    }
    text
}

fn parse(text: &str) -> Listing {
    let mut out = Listing::default();
    let (mut section, mut waiting) = (String::new(), Vec::new());
    let (mut header, mut columns): (Vec<&str>, Vec<(usize, String)>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("//----") {
            section = rest.trim_matches(['-', ' ']).to_owned();
            (header, columns) = (Vec::new(), Vec::new());
            waiting.clear();
            continue;
        }
        let split = line.rfind("// |").or_else(|| line.rfind("// +"));
        let (code, table) = split.map_or((line, ""), |at| (&line[..at], &line[at + 3..]));
        if columns.is_empty() {
            if table.starts_with("+-") && !header.is_empty() {
                columns = columns_of(&header);
            } else if table.starts_with('|') {
                header.push(table);
            }
        }
        if let Some(label) = code.trim().strip_suffix(':') {
            waiting.push(label.to_owned());
        }
        let Some((address, rest)) = code.trim().strip_prefix("/*").and_then(|code| code.split_once("*/"))
        else {
            continue;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else {
            continue; // a control word
        };
        for label in waiting.drain(..) {
            out.labels.insert((section.clone(), label), address);
        }
        let marked = |marks: &[u8]| {
            let at =
                |(at, _): &&(usize, String)| table.as_bytes().get(*at).is_some_and(|c| marks.contains(c));
            columns.iter().filter(at).map(|(_, name)| name.clone()).collect()
        };
        let text = rest.split("/*").next().unwrap_or_default();
        // What it found out about jumps through the stack is no part of the instruction.
        let text = text.split("(*\"").next().unwrap_or_default().trim().trim_end_matches([';', ' ']);
        let line = Line { text: format!("{text} ;"), reads: marked(b"vx"), writes: marked(b"^x") };
        out.lines.insert((section.clone(), address), line);
    }
    out
}

/// Where each register's column is. The digits of a number stand above each other.
fn columns_of(header: &[&str]) -> Vec<(usize, String)> {
    let bars: Vec<usize> = header[0].match_indices('|').map(|(at, _)| at).collect();
    let digits = &header[1..];
    let units = digits[digits.len() - 1];
    let mut out = Vec::new();
    for pair in bars.windows(2) {
        let prefix = if header[0][pair[0]..pair[1]].contains("GPR") { "R" } else { "P" };
        let first = pair[0] + units[pair[0]..].find('#').expect("a counter") + 1;
        for at in first..pair[1] {
            let number: String = digits.iter().map(|row| &row[at..=at]).collect();
            if let Ok(number) = number.trim().parse::<u32>() {
                out.push((at, format!("{prefix}{number}")));
            }
        }
    }
    out
}

/// Replaces the labels of a line by addresses; `None` when it names something elsewhere.
fn resolved(text: &str, section: &str, listing: &Listing) -> Option<String> {
    let Some((before, after)) = text.split_once("`(") else {
        return Some(text.to_owned());
    };
    let (label, after) = after.split_once(')')?;
    let target = listing.labels.get(&(section.to_owned(), label.to_owned()))?;
    Some(format!("{before}{target:#x}{after}"))
}

/// Our text, with the target as the listing gives it: the instruction, where the word may name its control word.
fn ours(text: String, flow: Flow, raw_is_label: bool) -> String {
    let (Flow::Branch { target } | Flow::Call { target } | Flow::Push { target }) = flow else {
        return text;
    };
    if raw_is_label { text.replace(&format!("{:#x} ;", target - 8), &format!("{target:#x} ;")) } else { text }
}

fn check(arch: Arch, folder: &Path) {
    let sm = arch.number().expect("a chip");
    let (source, cubin) = (folder.join(format!("{sm}.ptx")), folder.join(format!("{sm}.cubin")));
    fs::write(&source, module(sm)).expect("written");
    let ptxas = tool("ptxas", "12.9");
    succeed(Command::new(ptxas).arg("-w").arg(format!("-arch={arch}")).arg(&source).arg("-o").arg(&cubin));
    let options = ["-c", "-hex", "-novliw", "-plr", "-lrm", "narrow"];
    let listing = parse(&succeed(Command::new(tool("nvdisasm", "12.8")).args(options).arg(&cubin)));
    let bytes = fs::read(&cubin).expect("compiled");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let (mut seen, mut opaque, mut mnemonics) = (0, 0, BTreeSet::new());
    for section in file.sections() {
        let name = section.name().expect("a name");
        if !name.starts_with(".text.") {
            continue;
        }
        for instruction in groups(section.data().expect("data")).expect("whole groups") {
            let decoded = decode(instruction.word, arch, instruction.address);
            let Some(line) = listing.lines.get(&(name.to_owned(), instruction.address)) else {
                assert_eq!(decoded.mnemonic(), Some("NOP"), "{arch} {name}: more than padding is not listed");
                continue;
            };
            seen += 1;
            if decoded.is_opaque() {
                opaque += 1;
                continue;
            }
            mnemonics.extend(decoded.mnemonic());
            let place = format!("{arch} {:#018x} `{}`", instruction.word, line.text);
            assert!(decoded.is_complete(), "{place}");
            let text = decoded.display(Some(instruction.control)).to_string();
            if let Some(expected) = resolved(&line.text, name, &listing) {
                let text = ours(text, decoded.flow(), line.text.contains('`'));
                assert_eq!(squeezed(&text), squeezed(&expected), "{place}");
            }
            // A call is listed with what the function that it calls reads and writes, an indirect one included.
            let is_call =
                matches!(decoded.flow(), Flow::Call { .. } | Flow::CallElsewhere | Flow::IndirectBranch);
            // Predicates that are moved as a set are not listed at all.
            let moves_predicates = matches!(decoded.mnemonic(), Some("P2R" | "R2P"));
            if !is_call && !moves_predicates {
                let (mut reads, mut writes) = sets(&decoded);
                reads.remove("CC");
                writes.remove("CC");
                assert_eq!(reads, line.reads, "reads of {place}");
                assert_eq!(writes, line.writes, "writes of {place}");
            }
        }
    }
    assert_eq!(opaque, 0, "{arch}: of {seen}");
    assert!(mnemonics.len() > 85, "{arch}: only {} instructions met: {mnemonics:?}", mnemonics.len());
}

#[test]
fn our_kernels_read_as_nvdisasm_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    for arch in ARCHS {
        check(arch, folder.path());
    }
}
