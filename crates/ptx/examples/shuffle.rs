//! Another random order for every block of a PTX file, as far as dependences allow: what compilers and GPUs make of it shows whether
//! the roles of operands are right.
//!
//! `cargo run -p sassafras-ptx --example shuffle -- k.ptx 7 > shuffled.ptx`
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/support/mod.rs"]
mod support;

use sassafras_ptx::Module;
use sassafras_testkit::rng::Rng;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, seed] = arguments.as_slice() else {
        eprintln!("usage: shuffle FILE.ptx SEED");
        return ExitCode::from(2);
    };
    match (std::fs::read_to_string(path), seed.parse()) {
        (Ok(text), Ok(seed)) => match Module::parse(&text) {
            Ok(mut module) => {
                support::shuffle(&mut module, &mut Rng::new(seed));
                print!("{}", module.print());
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{path}: {error}");
                ExitCode::from(2)
            }
        },
        (Err(error), _) => {
            eprintln!("{path}: {error}");
            ExitCode::from(2)
        }
        (_, Err(_)) => {
            eprintln!("`{seed}` is no number");
            ExitCode::from(2)
        }
    }
}
