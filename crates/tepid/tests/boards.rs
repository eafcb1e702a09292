//! Scoreboards over all mined opcodes: none on opcodes that compiled code never gives one, and one where it always does.

use sassafras_ir::text::parse;
use sassafras_machine::Arch;
use sassafras_tepid::{Code, Fields, Original, rebuild};
use std::path::Path;

/// What compiled code has of an opcode.
struct Mined {
    opcode: String,
    decoupled: bool,
    seen: u64,
    write: u64,
    read: u64,
}

/// The opcodes of every table, with its name.
fn tables() -> Vec<(String, Vec<Mined>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/data/mined");
    let mut tables = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let Some(arch) = name.strip_suffix(".opcodes.csv") else { continue };
        let text = std::fs::read_to_string(&path).expect("a table");
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |at: usize| cells[at].parse().expect("a number");
            let (decoupled, opcode) = (cells[1] == "yes", cells[0].to_owned());
            Mined { opcode, decoupled, seen: number(3), write: number(5), read: number(6) }
        });
        tables.push((arch.to_owned(), rows.collect()));
    }
    tables.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(tables.len() > 7);
    tables
}

/// The fields of an instruction with this opcode whose source is overwritten, and whose result is then read.
fn fields(arch: &str, opcode: &str) -> Option<Fields> {
    let text = format!(
        "func f {arch} (R0, R2) {{\n^a:\n R4 = {opcode} R0, R2\n R0 = MOV R2\n R5 = MOV R4\n EXIT !exit\n}}"
    );
    let module = parse(&text).ok()?;
    let arch: Arch = arch.parse().ok()?;
    let code = Code::new(&module.functions[0], &[], arch);
    rebuild(&code, &Original::new(&code)).ok().map(|made| made[0])
}

#[test]
fn scoreboards_are_set_where_compiled_code_sets_them() {
    let often = u64::from(sassafras_machine::constants().boardless_seen);
    let (mut asked, mut wrong) = (0, Vec::new());
    for (arch, rows) in tables() {
        for row in rows.iter().filter(|row| row.seen >= often) {
            let Some(made) = fields(&arch, &row.opcode) else { continue };
            asked += 1;
            if made.read.is_some() && row.read == 0 && row.write > 0 {
                wrong.push(format!("{arch}: {} shows that its sources were read", row.opcode));
            }
            if made.write.is_some() && row.write == 0 && !row.decoupled {
                wrong.push(format!("{arch}: {} has a scoreboard for its result", row.opcode));
            }
            if made.write.is_none() && row.write == row.seen && row.decoupled {
                wrong.push(format!("{arch}: {} has none for its result", row.opcode));
            }
        }
    }
    assert!(asked > 500, "{asked}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
