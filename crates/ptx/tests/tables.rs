//! The loader against broken tables: each is refused, at its line.

use sassafras_ptx::Module;
use sassafras_ptx::table::Table;

const OPCODES: &str = "opcode,with,operands,commutes,implicit,effects,source\n";
const MODIFIERS: &str = "modifier,kind,value,source\n";
const SPECIAL: &str = "name,value,source\n";

const MACHINE: &str = "opcode,with,machine,source\n";

fn load(opcodes: &str, modifiers: &str, special: &str) -> Result<(), String> {
    let with = |header: &str, row: &str| format!("{header}{row}");
    let tables = (with(OPCODES, opcodes), with(MODIFIERS, modifiers), with(SPECIAL, special));
    Table::load(&tables.0, &tables.1, &tables.2, MACHINE).map(drop).map_err(|e| e.to_string())
}

#[test]
fn sound_rows_are_taken() {
    assert_eq!(
        load("add sub,cc !x a*|b,> < <?,,>CC,,isa\n", "b32,type,4,isa\n", "%tid,constant,isa\n"),
        Ok(())
    );
}

#[test]
fn broken_opcodes_are_refused() {
    for (row, message) in [
        ("Add,,> <,,,,isa", "`Add` is no list of opcodes"),
        (",,> <,,,,isa", "`` is no list of opcodes"),
        ("add,,> <,,,,", "a row without a source"),
        ("add,!,> <,,,,isa", "`!` is no condition"),
        ("add,a|,> <,,,,isa", "`a|` is no condition"),
        ("add,,> =,,,,isa", "`=` is no operand"),
        ("add,,> [x],,,,isa", "`[x]` is no operand"),
        ("add,,> [r:nowhere],,,,isa", "`[r:nowhere]` is no operand"),
        ("add,,> >|<,,,,isa", "`>|<` is no operand"),
        ("add,,> <* <,,,,isa", "only the last operand may repeat"),
        ("add,,> < <,1,,,isa", "`1` is no pair of operands"),
        ("add,,> < <,1 1,,,isa", "`1 1` is no pair of operands"),
        ("add,,> < <,2 1,,,isa", "`2 1` is no pair of operands"),
        ("add,,> < <,one 2,,,isa", "`one` is no position"),
        ("add,,> < <,0 1,,,isa", "only operands that are read and never missing change places"),
        ("add,,> < <,1 3,,,isa", "only operands that are read and never missing change places"),
        ("add,,> < <?,1 2,,,isa", "only operands that are read and never missing change places"),
        ("add,,>? < <,1 2,,,isa", "only operands that are read and never missing change places"),
        ("add,,> <*,1 2,,,isa", "only operands that are read and never missing change places"),
        ("add,,> <> <,1 2,,,isa", "only operands that are read and never missing change places"),
        ("add,,> [r] <,1 2,,,isa", "only operands that are read and never missing change places"),
        ("add,,> <,,>DD,,isa", "`>DD` is no implicit operand"),
        ("add,,> <,,,opaque,isa", "`opaque` is no effect"),
        ("add,,> <,,,fast,isa", "`fast` is no effect"),
        ("bra,,<,,,branch,isa", "a branch has a label, and only a branch has one"),
        ("add,,L,,,,isa", "a branch has a label, and only a branch has one"),
        ("add,,> <,,,,isa\nadd,x,> <,,,,isa", "`add`: a row before this one takes everything"),
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

/// What may be exchanged, typed in a second time; `tests/isa` has every opcode.
#[test]
fn operands_that_commute() {
    let body = "\
        add.u32 a, b, c; add.sat.s32 a, b, c; add.rn.ftz.f32 a, b, c; add.f64 a, b, c; add.f16x2 a, b, c; add.f32x2 a, b, c;\n\
        add.cc.u32 a, b, c; addc.u32 a, b, c; addc.cc.u32 a, b, 5; mul.lo.u32 a, b, c; mul.wide.s16 a, b, 4; mul.hi.u64 a, b, c;\n\
        mul24.lo.u32 a, b, c; mul.f32 a, b, 0f3F800000; mad.lo.u32 a, b, c, d; mad.lo.cc.u32 a, b, c, d; madc.hi.u32 a, b, c, d;\n\
        mad24.hi.s32 a, b, c, d; sad.u32 a, b, c, d; fma.rn.f32 a, b, c, d; fma.rn.f32.f16 a, b, c, d; min.s32 a, b, c;\n\
        max.NaN.f32 a, b, c; min.xorsign.abs.f32 a, b, c; max.f32 a, b, c, d; and.b32 a, b, c; or.pred a, b, c; xor.b64 a, b, c;\n\
        setp.eq.s32 a, b, c; setp.ne.f32 a, b, c; setp.equ.f32 a, b, c; setp.neu.f64 a|d, b, c; setp.num.f32 a, b, c;\n\
        setp.nan.f32 a, b, c; setp.eq.and.s32 a, b, c, d;\n\
        sub.u32 a, b, c; sub.cc.u32 a, b, c; subc.u32 a, b, c; div.f32 a, b, c; rem.s32 a, b, c; copysign.f32 a, b, c;\n\
        add.f32.f16 a, b, c; add.rn.f32.bf16 a, b, c; shl.b32 a, b, c; shr.u32 a, b, c; lop3.b32 a, b, c, d, 1;\n\
        setp.lt.s32 a, b, c; setp.gtu.f32 a, b, c; setp.lo.u32 a, b, c; set.eq.u32.s32 a, b, c;\n\
        selp.b32 a, b, c, d; slct.f32.s32 a, b, c, d; bfi.b32 a, b, c, d, e; prmt.b32 a, b, c, d; shf.l.wrap.b32 a, b, c, d;\n\
        dp4a.s32.u32 a, b, c, d; vadd.u32.s32.u32 a, b, c; mov.b32 a, b; st.u32 [a], b; frobnicate a, b, c; add.u32 a, b;\n\
        add.u32 a, b, c, d; add.u32 a, {b, c}, d; add.u32 a, [b], c; add.u32 a, b * 2, c; add /* x */ .u32 a, b, c;";
    let text = format!(".entry k() {{\n.reg .b32 a, b, c, d, e;\n{body}\n}}\n");
    let module = Module::parse(&text).expect("shapes only");
    let (mut yes, mut no) = (0, 0);
    for inst in module.functions()[0].insts() {
        let shown = module.text(module.inst(inst).span());
        if module.inst(inst).span().start() < text.find("sub.u32").expect("there") {
            assert_eq!(module.commuting(inst), Some([1, 2]), "{shown}");
            yes += 1;
        } else {
            assert_eq!(module.commuting(inst), None, "{shown}");
            no += 1;
        }
    }
    assert_eq!((yes, no), (35, 31));
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

#[test]
fn machine_names_are_checked() {
    let load = |row: &str| {
        let opcodes = format!("{OPCODES}add,,> < <,,,,isa\n");
        let (modifiers, special) =
            (format!("{MODIFIERS}b32,type,4,isa\n"), format!("{SPECIAL}%tid,constant,isa\n"));
        Table::load(&opcodes, &modifiers, &special, &format!("{MACHINE}{row}"))
            .map(drop)
            .map_err(|e| e.to_string())
    };
    assert_eq!(load("add,f32,FADD,nvdisasm\nadd,,IADD3,nvdisasm\n"), Ok(()));
    for (row, message) in [
        ("add,,fadd,nvdisasm\n", "machine.csv, line 2: `fadd` is no machine instruction"),
        ("add,,FADD,\n", "machine.csv, line 2: a row without a source"),
        (
            "add,,FADD,x\nadd,f32,FADD,x\n",
            "machine.csv, line 3: `add`: a row before this one takes everything",
        ),
        ("sub,,FADD,x\n", "machine.csv, line 0: `sub` is no opcode"),
    ] {
        assert_eq!(load(row), Err(message.to_owned()));
    }
}

#[test]
fn machine_names_follow_types_and_spaces() {
    let name = |opcode| Table::get().machine_name(opcode);
    assert_eq!(name("add.rn.f32"), Some("FADD"));
    assert_eq!(name("mul.wide.u32"), Some("IMAD.WIDE"));
    assert_eq!(name("ld.shared::cta.v4.b32"), Some("LDS"));
    assert_eq!(name("ld.global.nc.L1::no_allocate.v4.b32"), Some("LDG"));
    assert_eq!(name("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16"), Some("LDS"));
    assert_eq!(name("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"), Some("HGMMA"));
    assert_eq!(name("cp.async.wait_group"), None);
}
