//! How fast the seven list strategies order a block, dependence graph and values included, how that grows, and how LLVM's schedulers of the
//! same names compare.
//!
//! `cargo bench -p sassafras-passes`. Where `llc` or `llc-19` is on the path (or `$LLC` names one), it runs on the same shapes in the same
//! minutes, and the last column is its time over ours. `cargo bench -p sassafras-passes -- once list-ilp fma 10000` orders one block, for a
//! counter of instructions (callgrind).

#![allow(clippy::print_stdout)]

mod llc;

use sassafras_list::registry::{self, Contest, Entry};
use sassafras_passes::{Options, order_blocks};
use sassafras_testkit::timing::Scaling;
use sassafras_testkit::workloads::Workload;

const SIZES: [usize; 3] = [1_000, 10_000, 50_000];

fn main() {
    let words: Vec<String> = std::env::args().skip_while(|word| word != "once").skip(1).collect();
    if let [name, code, size, ..] = words.as_slice() {
        let list = registry::find(name).expect("a strategy");
        let workload = Workload::ALL.into_iter().find(|workload| workload.name() == code).expect("a shape");
        let f = workload.function(size.parse().expect("a size"));
        let made = order_blocks(&f, &options(list)).expect("orders");
        println!("{} picks", made.iter().map(|schedule| schedule.picks.len()).sum::<usize>());
        return;
    }
    let llc = llc::Llc::find();
    println!("{}", llc.as_ref().map_or("no llc found".to_owned(), llc::Llc::describe));
    println!(
        "{:>12} {:>5} {:>12} {:>12} {:>12} {:>9} {:>12} {:>8}",
        "strategy", "code", "inst/s 1k", "10k", "50k", "exponent", "llc inst/s", "ratio"
    );
    for list in registry::contestants(Contest::Auto) {
        for workload in Workload::ALL {
            let call = |f: &_| order_blocks(f, &options(list)).expect("orders");
            let scaling = Scaling::measure(workload, &SIZES, 7, |n| workload.function(n), call);
            let grown = Scaling { workload, points: scaling.points[1..].to_vec() };
            let theirs = llc.as_ref().and_then(|llc| llc.seconds(list.name, workload, SIZES[2]));
            let ours = scaling.rate(SIZES[2]);
            let theirs = theirs.map(|(insts, seconds)| insts as f64 / seconds);
            println!(
                "{:>12} {:>5} {:>12.0} {:>12.0} {:>12.0} {:>9.3} {:>12} {:>8}",
                list.name,
                workload.name(),
                scaling.rate(SIZES[0]),
                scaling.rate(SIZES[1]),
                ours,
                grown.exponent(),
                theirs.map_or(String::new(), |rate| format!("{rate:.0}")),
                theirs.map_or(String::new(), |rate| format!("{:.1}", ours / rate)),
            );
        }
    }
}

fn options(strategy: &'static Entry) -> Options {
    Options { strategy, ..Options::default() }
}
