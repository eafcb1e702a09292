//! The page: totals first, then a row per kernel.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::measure::{Kernel, Used, ways};
use crate::origin::Origin;
use crate::totals::{self, Total};

/// The bar that is set for registers in sum, in percent.
const BAR: f64 = -2.0;

/// The whole text.
pub fn write(kernels: &[Kernel], version: &str, date: &str, processor: &str) -> String {
    let mut out = String::new();
    let auto = ways().len() - 1;
    let [original, chosen] = [0, auto].map(|way| totals::of(kernels, way));
    let best = totals::best(kernels);
    let agreement = totals::agreement(kernels);
    let percent = |total: Total| change(original.registers, total.registers);
    let reached = |total: Total| if percent(total) <= BAR { "is reached" } else { "is not reached" };
    let modules = kernels.iter().filter(|kernel| kernel.seconds.is_some()).count();
    let _ = write!(
        out,
        "# PTX: registers after ptxas

`cargo xtask ptx-table` writes this file: {count} kernels of {modules} modules by nvcc, Triton, clang and in libraries, each in the order that came, in that of every
list strategy and in what `auto` takes, compiled by ptxas {version} with its usual settings for the target that the module names.
{date}, {processor}. A test checks that the totals are those of the rows.

The bar is {BAR} % registers in sum for `auto`, with no kernel that spills more. `auto` has {auto:+.2} %: the bar {bar}. Even the best order
per kernel of all of these with hindsight, and with no more spills, has {best:+.2} %: by choosing among them the bar {best_bar}.

Estimated and real registers do not correlate in a way that a choice could use. Of {orders} orders with another number of registers live at once by our
estimate, ptxas's number goes in the same direction for {same} and in the opposite one for {opposite}; for the other {still} it stays (Pearson's coefficient of
the changes: {correlation:.2}). ptxas orders instructions anew before it allocates registers, so that an order in PTX is a hint to it and no more. `auto` may not
call ptxas, and cannot know which of the orders is the one that saves registers.

## Totals

`spills`: bytes stored and loaded by spills. `fewer`, `more`: kernels with fewer or more registers than in the order that came. `spilling`: kernels
with more bytes of spills. `ptxas`: seconds of processor time, over all modules; equal texts are compiled once and counted for each.

| order | registers | change | spills | fewer | more | spilling | ptxas |
|---|--:|--:|--:|--:|--:|--:|--:|
",
        count = kernels.len(),
        auto = percent(chosen),
        bar = reached(chosen),
        best = percent(best),
        best_bar = reached(best),
        orders = agreement.orders,
        same = agreement.same,
        opposite = agreement.opposite,
        still = agreement.orders - agreement.same - agreement.opposite,
        correlation = agreement.correlation,
    );
    for (way, strategy) in ways().iter().enumerate() {
        let seconds: f64 = kernels.iter().filter_map(|kernel| Some(kernel.seconds.as_ref()?[way])).sum();
        let total = totals::of(kernels, way);
        row(&mut out, strategy.name, total, original, &format!("{seconds:.1}"));
    }
    row(&mut out, "best of all", best, original, "");
    origins(&mut out, kernels, auto);
    rows(&mut out, kernels);
    out
}

/// The sums of `auto` and of the best by who wrote the modules: one large library outweighs everything else.
fn origins(out: &mut String, kernels: &[Kernel], auto: usize) {
    out.push_str(
        "
By origin:

| modules | kernels | original | auto | spilling | best of all |
|---|--:|--:|--:|--:|--:|
",
    );
    for origin in Origin::ALL {
        let own = || kernels.iter().filter(|kernel| origin.has(&kernel.module));
        let original = totals::of(own(), 0);
        let [chosen, best] = [totals::of(own(), auto), totals::best(own())];
        let percent = |total: Total| change(original.registers, total.registers);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:+.2} % | {} | {:+.2} % |",
            origin.name(),
            own().count(),
            original.registers,
            percent(chosen),
            chosen.spilling,
            percent(best),
        );
    }
}

/// A row per kernel. What is the same in every order is one row per library.
fn rows(out: &mut String, kernels: &[Kernel]) {
    out.push_str(
        "
## Kernels

Registers, and after a slash bytes of spills where there are any. A dot is what the order that came has. Kernels of a library that are the same in every
order are one row with their sum.

",
    );
    let names: Vec<&str> = ways().iter().map(|way| way.name).collect();
    let _ = writeln!(out, "| module | kernel | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|---|{}", "--:|".repeat(names.len()));
    let same = |kernel: &Kernel| kernel.used.iter().all(|used| *used == kernel.used[0]);
    let is_folded = |kernel: &Kernel| Origin::Library.has(&kernel.module) && same(kernel);
    let mut folded: BTreeMap<&str, (usize, Used)> = BTreeMap::new();
    for kernel in kernels {
        if is_folded(kernel) {
            let (count, sum) = folded.entry(&kernel.module).or_default();
            *count += 1;
            sum.registers += kernel.used[0].registers;
            sum.spills += kernel.used[0].spills;
            continue;
        }
        let others = kernel.used[1..].iter();
        let others = others.map(|&used| if used == kernel.used[0] { "·".to_owned() } else { cell(used) });
        let cells: Vec<String> = [cell(kernel.used[0])].into_iter().chain(others).collect();
        let _ = writeln!(out, "| {} | `{}` | {} |", kernel.module, kernel.name, cells.join(" | "));
    }
    for (module, (count, sum)) in folded {
        let dots = " · |".repeat(names.len() - 1);
        let _ = writeln!(out, "| {module} | {count} the same in every order | {} |{dots}", cell(sum));
    }
}

fn row(out: &mut String, name: &str, total: Total, original: Total, seconds: &str) {
    let Total { registers, spills, fewer, more, spilling } = total;
    let change = change(original.registers, registers);
    let _ = writeln!(
        out,
        "| {name} | {registers} | {change:+.2} % | {spills} | {fewer} | {more} | {spilling} | {seconds} |"
    );
}

fn cell(used: Used) -> String {
    match used.spills {
        0 => used.registers.to_string(),
        spills => format!("{}/{spills}", used.registers),
    }
}

/// By how many percent.
fn change(old: u32, new: u32) -> f64 {
    (f64::from(new) / f64::from(old) - 1.0) * 100.0
}
