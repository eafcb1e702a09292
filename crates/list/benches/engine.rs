//! How fast the engine schedules, with and without building the graph, and how that grows.
//!
//! `cargo bench -p sassafras-list`. The figures to compare with are those of LLVM's list schedulers at the same sizes
//! (docs/benchmarks.md).

#![allow(clippy::print_stdout)]

use sassafras_deps::latency::UnitLatency;
use sassafras_deps::paths::Paths;
use sassafras_deps::{BuildOptions, build};
use sassafras_list::strategies::CriticalPath;
use sassafras_list::{Direction, Resources, schedule};
use sassafras_testkit::timing::Scaling;
use sassafras_testkit::workloads::Workload;

fn main() {
    let sizes = [1_000, 10_000, 50_000, 100_000];
    println!("{:>5} {:>9} {:>16} {:>16}", "code", "size", "engine inst/s", "with graph");
    for workload in Workload::ALL {
        let make = |n| {
            let f = workload.function(n);
            let insts = f.block_insts(f.blocks().next().expect("one block")).to_vec();
            let graph = build(&f, &insts, &UnitLatency, BuildOptions::default());
            let resources = Resources::unlimited(1, insts.len());
            (f, insts, graph, resources)
        };
        let engine = Scaling::measure(workload, &sizes, 9, make, |(_, _, graph, resources)| {
            schedule(graph, &Paths::new(graph), resources, Direction::TopDown, &mut CriticalPath)
        });
        let whole = Scaling::measure(workload, &sizes, 9, make, |(f, insts, _, resources)| {
            let graph = build(f, insts, &UnitLatency, BuildOptions::default());
            schedule(&graph, &Paths::new(&graph), resources, Direction::TopDown, &mut CriticalPath)
        });
        for &n in &sizes {
            println!("{:>5} {n:>9} {:>16.0} {:>16.0}", workload.name(), engine.rate(n), whole.rate(n));
        }
        let (e, w) = (&engine.points[1..], &whole.points[1..]);
        let exponent = |p: &[(usize, f64)]| Scaling { workload, points: p.to_vec() }.exponent();
        println!(
            "{:>5} exponent 10k..100k: {:.3}, with graph {:.3}",
            workload.name(),
            exponent(e),
            exponent(w)
        );
    }
}
