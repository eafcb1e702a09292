//! The loader against broken tables: each is refused, at its line.

use sassafras_ptx::table::Table;

const OPCODES: &str = "opcode,with,operands,implicit,effects,source\n";
const MODIFIERS: &str = "modifier,kind,value,source\n";
const SPECIAL: &str = "name,value,source\n";

fn load(opcodes: &str, modifiers: &str, special: &str) -> Result<(), String> {
    let with = |header: &str, row: &str| format!("{header}{row}");
    let tables = (with(OPCODES, opcodes), with(MODIFIERS, modifiers), with(SPECIAL, special));
    Table::load(&tables.0, &tables.1, &tables.2).map(drop).map_err(|e| e.to_string())
}

#[test]
fn sound_rows_are_taken() {
    assert_eq!(
        load("add sub,cc !x a*|b,> < <?,>CC,,isa\n", "b32,type,4,isa\n", "%tid,constant,isa\n"),
        Ok(())
    );
}

#[test]
fn broken_opcodes_are_refused() {
    for (row, message) in [
        ("Add,,> <,,,isa", "`Add` is no list of opcodes"),
        (",,> <,,,isa", "`` is no list of opcodes"),
        ("add,,> <,,,", "a row without a source"),
        ("add,!,> <,,,isa", "`!` is no condition"),
        ("add,a|,> <,,,isa", "`a|` is no condition"),
        ("add,,> =,,,isa", "`=` is no operand"),
        ("add,,> [x],,,isa", "`[x]` is no operand"),
        ("add,,> [r:nowhere],,,isa", "`[r:nowhere]` is no operand"),
        ("add,,> >|<,,,isa", "`>|<` is no operand"),
        ("add,,> <* <,,,isa", "only the last operand may repeat"),
        ("add,,> <,>DD,,isa", "`>DD` is no implicit operand"),
        ("add,,> <,,opaque,isa", "`opaque` is no effect"),
        ("add,,> <,,fast,isa", "`fast` is no effect"),
        ("bra,,<,,branch,isa", "a branch has a label, and only a branch has one"),
        ("add,,L,,,isa", "a branch has a label, and only a branch has one"),
        ("add,,> <,,,isa\nadd,x,> <,,,isa", "`add`: a row before this one takes everything"),
    ] {
        let line = 1 + row.lines().count();
        assert_eq!(load(row, "", ""), Err(format!("opcodes.csv, line {line}: {message}")), "{row}");
    }
}

#[test]
fn broken_modifiers_and_special_registers_are_refused() {
    for (row, message) in [
        ("b32,size,4,isa", "`size` is no kind of modifier"),
        ("b32,type,four,isa", "`four` is no type"),
        ("b32,type,65,isa", "`65` is no type"),
        ("v0,vector,0,isa", "`0` is no vector"),
        ("x,space,nowhere,isa", "`nowhere` is no space"),
        ("x,order,slow,isa", "`slow` is no order"),
        ("b32,type,4,", "a row without a source"),
    ] {
        assert_eq!(load("", row, ""), Err(format!("modifiers.csv, line 2: {message}")), "{row}");
    }
    assert!(load("", "b32,type,4,isa\nb32,type,4,isa", "").is_err_and(|e| e.contains("a second row")));
    for row in
        ["tid,constant,isa", "%tid,constant,", "%tid,sometimes,isa", "%tid,constant,isa\n%tid,changes,isa"]
    {
        assert!(load("", "", row).is_err_and(|e| e.contains("special.csv")), "{row}");
    }
}

#[test]
fn first_row_that_fits_is_taken() {
    let table = Table::get();
    let effects = |opcode: &str| format!("{:?}", table.row(opcode).map(|row| row.effects()));
    assert_ne!(effects("shfl.sync.up.b32"), effects("shfl.up.b32"));
    assert_eq!(effects("wgmma.wait_group.sync.aligned"), effects("wgmma.sync.aligned.wait_group"));
    assert!(table.row("frobnicate").is_none() && table.row("add /* .x */ .u32").is_none());
    assert_eq!(table.modifiers("ld.global.nc.v4.f32").bytes, Some(16));
    assert_eq!(
        (table.special("%tid.x"), table.special("%pm3"), table.special("%nothing")),
        (Some(false), Some(true), None)
    );
}
