//! How fast a block is scheduled and given control fields, and how that grows.
//!
//! `cargo bench -p sassafras-tepid`. Every policy competes as in a loop; the default is what code that runs once gets.
//! `cargo bench -p sassafras-tepid -- once fma reuse 10000` orders one block, for a counter of instructions (callgrind).

#![allow(clippy::print_stdout)]

use sassafras_list::registry;
use sassafras_machine::Arch;
use sassafras_tepid::function::choose;
use sassafras_tepid::schedule::Settings;
use sassafras_tepid::{Code, Original, rebuild};
use sassafras_testkit::timing::Scaling;
use sassafras_testkit::workloads::Workload;

fn main() {
    let sizes = [1_000, 10_000, 50_000, 100_000];
    let arch: Arch = "sm_90".parse().expect("an architecture");
    let policies = [
        ("default", None),
        ("height", Some("height")),
        ("reuse", Some("reuse")),
        ("balance", Some("balance")),
    ];
    let words: Vec<String> = std::env::args().skip_while(|word| word != "once").skip(1).collect();
    if let [code, name, size, ..] = words.as_slice() {
        let workload = Workload::ALL.into_iter().find(|workload| workload.name() == code).expect("a shape");
        let (_, policy) = policies.into_iter().find(|(policy, _)| policy == name).expect("a policy");
        let f = workload.function(size.parse().expect("a size"));
        let plan = choose(
            &Code::new(&f, &[], arch),
            &Settings { strategy: policy.and_then(registry::find), ..Settings::default() },
        );
        println!("{} blocks in another order", plan.choices.len());
        return;
    }
    println!("{:>5} {:>8} {:>9} {:>14} {:>14}", "code", "policy", "size", "order inst/s", "fields inst/s");
    for workload in Workload::ALL {
        for (name, policy) in policies {
            let settings = Settings { strategy: policy.and_then(registry::find), ..Settings::default() };
            let order = Scaling::measure(
                workload,
                &sizes,
                3,
                |n| workload.function(n),
                |f| choose(&Code::new(f, &[], arch), &settings),
            );
            let made = |n| {
                let mut f = workload.function(n);
                let plan = choose(&Code::new(&f, &[], arch), &settings);
                plan.choices.iter().for_each(|choice| f.reorder(choice.block, &choice.order));
                f
            };
            let fields = Scaling::measure(workload, &sizes, 3, made, |f| {
                let code = Code::new(f, &[], arch);
                rebuild(&code, &Original::new(&code)).expect("fields")
            });
            for &n in &sizes {
                println!(
                    "{:>5} {name:>8} {n:>9} {:>14.0} {:>14.0}",
                    workload.name(),
                    order.rate(n),
                    fields.rate(n)
                );
            }
            let exponent = |all: &Scaling| Scaling { workload, points: all.points[1..].to_vec() }.exponent();
            println!(
                "{:>5} {name:>8} exponent 10k..100k: {:.3}, fields {:.3}",
                workload.name(),
                exponent(&order),
                exponent(&fields)
            );
        }
    }
}
