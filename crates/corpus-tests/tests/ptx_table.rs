//! `docs/ptx-registers.md`: its totals are those of its rows.

use std::fs;
use std::path::Path;

/// The cells of the rows of the table below a heading, its own heading first.
fn table<'t>(text: &'t str, heading: &str) -> Vec<Vec<&'t str>> {
    let (_, text) = text.split_once(heading).expect("a heading");
    let lines = text.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).filter(|line| !line.starts_with("|---"));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Registers and bytes of spills.
fn used(cell: &str) -> (u64, u64) {
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"));
    match cell.split_once('/') {
        Some((registers, spills)) => (number(registers), number(spills)),
        None => (number(cell), 0),
    }
}

#[test]
fn totals_are_those_of_the_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ptx-registers.md");
    let text = fs::read_to_string(path).expect("the page");
    let (totals, kernels) = (table(&text, "## Totals"), table(&text, "## Kernels"));
    assert!(kernels.len() > 100, "only {} kernels", kernels.len());
    let orders = &kernels[0][2..];
    assert_eq!(orders.len(), 9);
    // Per order: registers, spills, kernels with fewer registers, with more, with more spills; the last one is the best of all.
    let mut sums = vec![[0; 5]; orders.len() + 1];
    for row in &kernels[1..] {
        let original = used(row[2]);
        let each: Vec<(u64, u64)> =
            row[2..].iter().map(|cell| if *cell == "·" { original } else { used(cell) }).collect();
        let best = each.iter().filter(|used| used.1 <= original.1).min().copied().expect("its own");
        for (sum, (registers, spills)) in sums.iter_mut().zip(each.into_iter().chain([best])) {
            let add = [
                registers,
                spills,
                u64::from(registers < original.0),
                u64::from(registers > original.0),
                u64::from(spills > original.1),
            ];
            for (sum, add) in sum.iter_mut().zip(add) {
                *sum += add;
            }
        }
    }
    let original = sums[0][0] as f64;
    assert_eq!(totals.len(), sums.len() + 1);
    for ((row, sum), name) in totals[1..].iter().zip(&sums).zip(orders.iter().chain([&"best of all"])) {
        let [registers, spills, fewer, more, spilling] = sum.map(|number| number.to_string());
        let change = format!("{:+.2} %", (sum[0] as f64 / original - 1.0) * 100.0);
        assert_eq!(row[..7], [*name, &registers, &change, &spills, &fewer, &more, &spilling]);
    }
}
