//! What tileiras made of the same programs, as far as its cubins tell.

use anyhow::{Context, Result};
use sassafras_corpus_tests::stages::{Launch, read};
use sassafras_corpus_tests::tile::cubins;
use sassafras_cubin::Cubin;
use sassafras_sass::print::Printer;
use sassafras_sass::program::Program;
use std::fmt::Write;

const HEAD: &str = "
## What tileiras chose

Read from its cubins: shared memory, threads, registers, named barriers, barrier objects that are initialised (`SYNCS.EXCH`), and how many
instructions of some kinds the kernel has. Stages are not written anywhere; `slots` and `loops` are read from what the code does
(`corpus_tests::stages`): threads are sent through it, and the places in shared memory that its transfers use turn by turn are counted.

`slots`: for each load of each loop (loops parted by semicolons) how many places it uses before the first comes again: to be compared with the
column `slots` above, not with `stages`. `loops` says what that rests on. `filled 5×1`: it arrives at 5 barrier objects in turn, made for 1 arrival each;
`freed 5×128`: 5 objects are waited for before it (`ready`: before a store), in turn. A load that is issued before the wait has one slot more than there
are objects that free it. `apart`: bytes between places. `copied`: with `LDGSTS`, by the threads themselves; `ahead`: iterations from the copy to the read of its place,
or to the wait for its object; `open`: groups of copies that `DEPBAR.LE` lets go on when it is read. `registers`: loaded with `LDG`; the slots
are the iterations that have their values at once, `ahead` counts iterations to the first and the last use that is no move. What cannot be told says so, with the reason. A dash: no loop loads.

| program | arch | slots | shared | threads | registers | named barriers | barrier objects | transfers | matrix | exchanges | loops |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|
";

/// The table.
pub fn table() -> Result<String> {
    let mut out = String::from(HEAD);
    for item in cubins()? {
        let cubin = Cubin::parse(&item.bytes).with_context(|| item.name.clone())?;
        let program = Program::new(&cubin).with_context(|| item.name.clone())?;
        for code in cubin.code() {
            let (mut objects, mut transfers, mut matrix, mut exchanges) = (0, 0, 0, 0);
            let threads = code.required_threads.or(code.max_threads).map_or(0, |t| t.iter().product());
            let launch = Launch { threads, shared: code.shared_bytes };
            let (mut slots, mut loops) = (String::new(), String::new());
            for routine in program.lift(code).with_context(|| item.name.clone())? {
                let function = &routine.lifted.function;
                if routine.entry {
                    let reading = read(function, Some(Printer::new(program.arch())), launch);
                    (slots, loops) = (reading.slots(), reading.to_string());
                }
                for inst in function.blocks().flat_map(|b| function.block_insts(b).iter().copied()) {
                    let opcode = function.opcode_text(function.inst(inst).opcode);
                    objects += u32::from(opcode.starts_with("SYNCS.EXCH"));
                    transfers +=
                        u32::from(["UTMALDG", "LDGSTS", "UTMASTG"].iter().any(|t| opcode.starts_with(t)));
                    matrix += u32::from(
                        ["HGMMA", "QGMMA", "IGMMA", "HMMA", "IMMA", "UTCHMMA", "UTCQMMA", "UTCIMMA"]
                            .iter()
                            .any(|m| opcode.starts_with(m)),
                    );
                    exchanges +=
                        u32::from(["LDS", "STS", "LDTM", "STTM"].iter().any(|m| opcode.starts_with(m)));
                }
            }
            let dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
            writeln!(
                out,
                "| {} | {} | {} | {} | {threads} | {} | {} | {objects} | {transfers} | {matrix} | {exchanges} | {} |",
                code.name,
                item.sm,
                dash(slots),
                code.shared_bytes,
                code.registers.unwrap_or(0),
                code.barriers.unwrap_or(0),
                dash(loops),
            )?;
        }
    }
    Ok(out)
}
