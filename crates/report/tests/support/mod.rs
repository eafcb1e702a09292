//! A kernel that was looked at, for the tests of what is shown of it.

use sassafras_analyze::trace::Traced;
use sassafras_analyze::{Kernel, Subject, analyze};
use sassafras_cubin::Cubin;
use sassafras_ir::Payload;
use sassafras_machine::multiprocessor::Launch;
use sassafras_sass::print::Printer;
use sassafras_sass::program::Program;
use sassafras_tepid::Code;

/// The small kernel with a loop that the sessions of the command have, too.
const LOOPED: &[u8] = include_bytes!("../../../cli/tests/cmd/binary.in/looped.cubin");

/// What the analysis says of it, with a trace of its loop.
pub fn looped() -> Kernel {
    let cubin = Cubin::parse(LOOPED).expect("a cubin");
    let program = Program::new(&cubin).expect("a known architecture");
    let routine = program.lift(&cubin.code()[0]).expect("lifted").remove(0);
    let code = Code::new(&routine.lifted.function, &routine.lifted.sources, program.arch());
    let printer = Printer::new(program.arch());
    let text = |inst| match routine.lifted.function.inst(inst).payload {
        Payload::Word(word) => printer.print(word, routine.offset(inst)).text,
        _ => String::new(),
    };
    let launch = Launch { registers: Some(100), threads: Some(128), ..Launch::default() };
    analyze(&Subject {
        name: &routine.name,
        code: &code,
        launch,
        offset: &|inst| routine.offset(inst),
        text: &text,
        traced: &Traced::Hottest,
    })
}
