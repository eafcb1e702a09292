//! File tests of the parser, the printer and lowering. Directives: `blocks`, `lower`, `error`, `reverse`, `commute`.

use anyhow::{Result, bail};
use sassafras_ir::{text, verify};
use sassafras_ptx::{Module, lower};
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    sassafras_testkit::filetest::main(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), run)
}

fn run(directive: &str, source: &str) -> Result<String> {
    let mut module = match (Module::parse(source), directive) {
        (Err(error), "error") => return Ok(error.render("input", source, false)),
        (Ok(_), "error") => bail!("parsed, but an error was wanted"),
        (Err(error), _) => bail!(error.render("input", source, false)),
        (Ok(module), _) => module,
    };
    if module.print() != source {
        bail!("an unchanged module does not print as it was read");
    }
    let mut out = String::new();
    match directive {
        "blocks" => blocks(&module, &mut out)?,
        "lower" => {
            let mut functions = Vec::new();
            for function in module.functions().iter().filter(|f| f.has_body()) {
                let lowered = lower(&module, function)?;
                if let Err(broken) = verify::verify(&lowered.function) {
                    bail!("{broken:?}");
                }
                functions.push(lowered.function);
            }
            out = text::print(&sassafras_ir::Module { functions });
        }
        // What stands between the first and the last instruction of every block, backwards.
        "reverse" => {
            for block in module.blocks() {
                let mut order = module.order(block);
                let end = order.len().saturating_sub(1);
                order[..end].reverse();
                module.reorder(block, &order)?;
            }
            out = module.print();
            out = out.lines().skip_while(|line| !line.starts_with('{')).map(|l| format!("{l}\n")).collect();
        }
        // Every instruction with operands that may change places.
        "commute" => {
            let all: Vec<_> = module.functions().iter().flat_map(|function| function.insts()).collect();
            for inst in all {
                if let Err(error) = module.commute(inst) {
                    let text = module.text(module.inst(inst).span());
                    writeln!(out, "{text} // {error}")?;
                }
            }
            let printed = module.print();
            let insts = printed.lines().skip_while(|line| !line.starts_with('{'));
            out.extend(insts.map(|line| format!("{line}\n")));
        }
        other => bail!("no such directive: {other}"),
    }
    Ok(out)
}

fn blocks(module: &Module, out: &mut String) -> Result<()> {
    for function in module.functions() {
        let names = |spans: &[sassafras_ptx::Span]| {
            spans.iter().map(|&span| module.text(span).to_owned()).collect::<Vec<_>>().join(" ")
        };
        let params: Vec<_> = function.params().iter().map(|p| p.name).collect();
        let returns: Vec<_> = function.returns().iter().map(|p| p.name).collect();
        let directives: Vec<_> = function.directives().iter().map(|d| d.span).collect();
        writeln!(
            out,
            "{:?} {} linkage [{}] returns [{}] params [{}] directives [{}]{}",
            function.kind(),
            module.text(function.name()),
            names(function.linkage()),
            names(&returns),
            names(&params),
            names(&directives),
            if function.has_body() { "" } else { " declared" }
        )?;
        for block in function.blocks() {
            let insts = module.order(block);
            let texts: Vec<_> = insts.iter().map(|&i| module.text(module.inst(i).opcode())).collect();
            writeln!(out, "  {}", texts.join(" "))?;
        }
    }
    Ok(())
}
