//! How fast the graph is built, how that grows, and how large it is.
//!
//! `cargo bench -p sassafras-deps`. The goals: 1,000,000 instructions per second on one core at 50,000 instructions,
//! an exponent of at most 1.1 from 10,000 to 100,000, and under 300 bytes per instruction.

#![allow(clippy::print_stdout)]

use sassafras_deps::latency::UnitLatency;
use sassafras_deps::{BuildOptions, build};
use sassafras_testkit::timing::Scaling;
use sassafras_testkit::workloads::Workload;

fn main() {
    let sizes = [10_000, 20_000, 50_000, 100_000];
    println!(
        "{:>5} {:>9} {:>12} {:>10} {:>8} {:>9}",
        "code", "size", "inst/s", "bytes/inst", "edges", "joins"
    );
    for workload in Workload::ALL {
        let make = |n| {
            let f = workload.function(n);
            let block = f.blocks().next().expect("one block");
            (f.block_insts(block).to_vec(), f)
        };
        let build_one = |(insts, f): &(Vec<_>, _)| build(f, insts, &UnitLatency, BuildOptions::default());
        let scaling = Scaling::measure(workload, &sizes, 7, make, build_one);
        for &n in &sizes {
            let graph = build_one(&make(n));
            println!(
                "{:>5} {n:>9} {:>12.0} {:>10.1} {:>8.2} {:>9}",
                workload.name(),
                scaling.rate(n),
                graph.bytes() as f64 / n as f64,
                graph.edges().len() as f64 / n as f64,
                graph.node_count() - graph.inst_count(),
            );
        }
        println!("{:>5} exponent 10k..100k: {:.3}", workload.name(), scaling.exponent());
    }
}
