//! Goal: the order that a user would choose, without calling ptxas.
//!
//! A block's orders are compared by two estimates, registers and cycles. As long as a function leaves room for eight warps per
//! scheduler, registers cost nothing and the fastest order that keeps that room is taken; of equals the one with fewer registers, and the
//! order that came before any other. A function that needs more as it came stays as it is, since what an order would save there by the
//! estimate ptxas does not save; only where it exceeds the budget of its directives, so that spills are to be expected, the order with
//! the fewest registers is taken if that brings it within the budget.
//!
//! Cost: that of all strategies together. Source: measured with ptxas 13.4 on the corpus (docs/benchmarks.md, "PTX"): over 322 kernels
//! estimated and real registers of an order move in the same direction as often as not, and only orders of functions below this limit
//! save registers in sum.

use crate::list_schedule::{Made, Options};
use sassafras_machine::Arch;
use sassafras_machine::multiprocessor::{Launch, MOST_REGISTERS, Multiprocessor};

/// Warps per scheduler beyond which more hide no more latency.
const ENOUGH_WARPS: u32 = 8;

/// The place of the order to take among those of each block.
pub(crate) fn choose(arch: Arch, made: &[Vec<Made>], options: &Options) -> Vec<usize> {
    let budget = options.terms.budget.max(0) as u32;
    let room = roomy(arch).min(budget);
    let as_it_came = made.iter().map(|orders| registers(&orders[0])).max().unwrap_or(0);
    let best = |orders: &Vec<Made>| {
        let within = |most: u32| (0..orders.len()).filter(move |&at| registers(&orders[at]) <= most);
        let cycles = |at: usize| orders[at].figures.cycles;
        if as_it_came <= room {
            within(room).min_by_key(|&at| (cycles(at), registers(&orders[at]), at))
        } else if registers(&orders[0]) > budget {
            within(budget).min_by_key(|&at| (registers(&orders[at]), cycles(at), at))
        } else {
            Some(0)
        }
    };
    made.iter().map(|orders| best(orders).unwrap_or(0)).collect()
}

/// General registers that are live at once.
fn registers(made: &Made) -> u32 {
    made.figures.peak_registers.get("R").copied().unwrap_or(0)
}

/// The most registers per thread with which there are enough warps.
fn roomy(arch: Arch) -> u32 {
    let sm = Multiprocessor::of(arch);
    let warps = |registers| sm.resident_warps(&Launch { registers: Some(registers), ..Launch::default() });
    let most = (1..=MOST_REGISTERS).rev().find(|&registers| warps(registers) >= ENOUGH_WARPS);
    most.unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_eight_warps() {
        assert_eq!(roomy("sm_90".parse().expect("known")), 64);
    }
}
