//! What tileiras made of the same programs, as far as its cubins tell.

use anyhow::{Context, Result};
use sassafras_corpus_tests::{Origin, cubins};
use sassafras_cubin::Cubin;
use sassafras_sass::program::Program;
use std::fmt::Write;

const HEAD: &str = "
## What tileiras chose

Read from its cubins: shared memory, threads, registers, named barriers, barrier objects that are initialised (`SYNCS.EXCH`), and how many
instructions of some kinds the kernel has. Stages are not written anywhere. Where transfers have barrier objects, a loop of `s` stages has
at least `2 s` of them: half of the objects is an upper bound of the stages of all transfers together.

| program | arch | shared | threads | registers | named barriers | barrier objects | transfers | matrix | exchanges |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// The table.
pub fn table() -> Result<String> {
    let mut out = String::from(HEAD);
    for item in cubins()?.iter().filter(|item| item.origin == Origin::Tile) {
        let cubin = Cubin::parse(&item.bytes).with_context(|| item.name.clone())?;
        let program = Program::new(&cubin).with_context(|| item.name.clone())?;
        for code in cubin.code() {
            let (mut objects, mut transfers, mut matrix, mut exchanges) = (0, 0, 0, 0);
            for routine in program.lift(code).with_context(|| item.name.clone())? {
                let function = &routine.lifted.function;
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
            let threads = code.required_threads.or(code.max_threads).map_or(0, |t| t.iter().product());
            writeln!(
                out,
                "| {} | {} | {} | {threads} | {} | {} | {objects} | {transfers} | {matrix} | {exchanges} |",
                code.name,
                item.sm,
                code.shared_bytes,
                code.registers.unwrap_or(0),
                code.barriers.unwrap_or(0),
            )?;
        }
    }
    Ok(out)
}
