//! The page: totals first, then a row per kernel.

use std::fmt::Write as _;

use crate::measure::{Kernel, Used, ways};
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

`cargo xtask ptx-table` writes this file: {count} kernels of {modules} modules by nvcc, Triton and clang, each in the order that came, in that of every
list strategy and in what `auto` takes, compiled by ptxas {version} with its usual settings for the target that the module names.
{date}, {processor}. A test checks that the totals are those of the rows.

The bar is {BAR} % registers in sum for `auto`, with no kernel that spills more. `auto` has {auto:+.2} %: the bar {bar}. Even the best order
per kernel of all of these with hindsight, and with no more spills, has {best:+.2} %: by choosing among them the bar {best_bar}.

Estimated and real registers do not correlate. Of {orders} orders with another number of registers live at once by our estimate, ptxas's number goes in
the same direction for {same} and in the opposite one for {opposite}; for the others it stays (correlation of the changes: {correlation:.2}). ptxas orders
instructions anew before it allocates registers, so that an order in PTX is a hint to it and no more. `auto` may not call ptxas, and can not know which of
the orders is the one that saves registers.

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
        correlation = agreement.correlation,
    );
    for (way, strategy) in ways().iter().enumerate() {
        let seconds: f64 = kernels.iter().filter_map(|kernel| Some(kernel.seconds.as_ref()?[way])).sum();
        let total = totals::of(kernels, way);
        row(&mut out, strategy.name(), total, original, &format!("{seconds:.1}"));
    }
    row(&mut out, "best of all", best, original, "");
    out.push_str(
        "
## Kernels

Registers, and after a slash bytes of spills where there are any. A dot is what the order that came has.

",
    );
    let names: Vec<&str> = ways().iter().map(|way| way.name()).collect();
    let _ = writeln!(out, "| module | kernel | {} |", names.join(" | "));
    let _ = writeln!(out, "|---|---|{}", "--:|".repeat(names.len()));
    for kernel in kernels {
        let first = cell(kernel.used[0]);
        let others = kernel.used[1..].iter();
        let others = others.map(|&used| if used == kernel.used[0] { "·".to_owned() } else { cell(used) });
        let cells: Vec<String> = [first].into_iter().chain(others).collect();
        let _ = writeln!(out, "| {} | `{}` | {} |", kernel.module, kernel.name, cells.join(" | "));
    }
    out
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
