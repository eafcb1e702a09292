//! The pool of six scoreboards, as documented.
//!
//! In order of priority: one that is free (never used, waited for by all, or set 56 cycles ago or more, by when it is expected to
//! have ended); one whose holder has the same affinity, so that one wait serves both; the one set longest ago, which then
//! announces two results. Of several producers at once those of long latency choose first.
//!
//! Scoreboards count, so sharing one is never wrong: who waits waits for all that set it. [`crate::boards`] chooses better,
//! because it knows who waits where; this is the rule of the documents.
//!
//! Source: latency-model document, "Join Point" (six slots, affinity, long latency first); the order of the choices and the 56
//! cycles are from public write-ups.

use sassafras_control::{Scoreboard, WaitMask};
use sassafras_machine::constants;

/// What makes producers alike: a scheduling class, a category, or any other number of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Affinity(pub u16);

/// A producer that wants a scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it is like.
    pub affinity: Affinity,
    /// How long it is expected to take.
    pub latency: u32,
}

/// How a scoreboard was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It was free.
    Free,
    /// Its holder is alike.
    Affinity,
    /// It was set longest ago.
    Oldest,
}

/// A scoreboard that was given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Which one.
    pub board: Scoreboard,
    /// How it was found.
    pub how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    affinity: Affinity,
    since: u64,
}

/// Six scoreboards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    held: [Option<Held>; Scoreboard::COUNT as usize],
    /// When each was given out last, 0 for never, counted in allocations.
    used: [u64; Scoreboard::COUNT as usize],
    allocations: u64,
}

impl Pool {
    /// All free.
    pub fn new() -> Pool {
        Pool::default()
    }

    /// Gives a scoreboard to a producer that issues at a cycle. Cycles may not go back.
    pub fn allocate(&mut self, cycle: u64, request: Request) -> Allocation {
        let ended = u64::from(constants().barrier_edge_latency);
        let is_free = |board: &Scoreboard| {
            self.slot(*board).is_none_or(|held| cycle.saturating_sub(held.since) >= ended)
        };
        let free =
            Scoreboard::all().filter(is_free).min_by_key(|board| self.used[usize::from(board.index())]);
        let alike = || {
            let alike =
                |board: &Scoreboard| self.slot(*board).is_some_and(|h| h.affinity == request.affinity);
            Scoreboard::all().filter(alike).max_by_key(|board| self.slot(*board).map(|held| held.since))
        };
        let (board, how) = match free {
            Some(board) => (Some(board), How::Free),
            None => match alike() {
                Some(board) => (Some(board), How::Affinity),
                None => {
                    let since = |board: &Scoreboard| self.slot(*board).map(|held| held.since);
                    (Scoreboard::all().min_by_key(since), How::Oldest)
                }
            },
        };
        // There are six: one of the three finds something.
        let board = board.or_else(|| Scoreboard::new(0)).expect("scoreboard 0 exists");
        let place = usize::from(board.index());
        self.allocations += 1;
        self.used[place] = self.allocations;
        self.held[place] = Some(Held { affinity: request.affinity, since: cycle });
        Allocation { board, how }
    }

    /// Gives scoreboards to several producers of one cycle; those of long latency choose first, the longest of them before
    /// others. The answers are in the order of the requests.
    pub fn allocate_all(&mut self, cycle: u64, requests: &[Request]) -> Vec<Allocation> {
        let threshold = constants().long_latency_threshold;
        let mut order: Vec<usize> = (0..requests.len()).collect();
        order.sort_by_key(|&at| {
            let latency = requests[at].latency;
            std::cmp::Reverse(if latency > threshold { latency } else { 0 })
        });
        let mut found = vec![None; requests.len()];
        for at in order {
            found[at] = Some(self.allocate(cycle, requests[at]));
        }
        found.into_iter().flatten().collect()
    }

    /// Everybody who needs these has waited.
    pub fn release(&mut self, boards: WaitMask) {
        for board in boards.iter() {
            self.held[usize::from(board.index())] = None;
        }
    }

    /// Scoreboards that have not been waited for.
    pub fn under_way(&self) -> WaitMask {
        Scoreboard::all().filter(|&board| self.slot(board).is_some()).collect()
    }

    fn slot(&self, board: Scoreboard) -> Option<Held> {
        self.held[usize::from(board.index())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(affinity: u16, latency: u32) -> Request {
        Request { affinity: Affinity(affinity), latency }
    }

    fn found(allocation: Allocation) -> (u8, How) {
        (allocation.board.index(), allocation.how)
    }

    #[test]
    fn free_then_alike_then_oldest() {
        let mut pool = Pool::new();
        for i in 0..6u8 {
            assert_eq!(found(pool.allocate(u64::from(i), request(u16::from(i), 30))), (i, How::Free));
        }
        assert_eq!(found(pool.allocate(10, request(3, 30))), (3, How::Affinity));
        assert_eq!(found(pool.allocate(11, request(9, 30))), (0, How::Oldest));
        // Board 1 was set at cycle 1: free again 56 cycles later. Board 0 was set at 11.
        assert_eq!(found(pool.allocate(56, request(9, 30))), (0, How::Affinity));
        assert_eq!(found(pool.allocate(57, request(9, 30))), (1, How::Free));
        pool.release([Scoreboard::new(5).expect("exists")].into_iter().collect());
        assert_eq!(found(pool.allocate(57, request(7, 30))), (5, How::Free));
    }

    #[test]
    fn long_latency_chooses_first() {
        let mut pool = Pool::new();
        let requests = [request(1, 19), request(2, 20), request(3, 450), request(4, 5)];
        let boards: Vec<u8> = pool.allocate_all(0, &requests).iter().map(|a| a.board.index()).collect();
        // 450 before 20; 19 is not long, and keeps its place before 5.
        assert_eq!(boards, [2, 1, 0, 3]);
    }

    #[test]
    fn released_boards_are_given_out_in_turn() {
        let mut pool = Pool::new();
        let mut seen = Vec::new();
        for cycle in 0..8 {
            let allocation = pool.allocate(cycle, request(1, 30));
            pool.release([allocation.board].into_iter().collect());
            seen.push(allocation.board.index());
        }
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 0, 1]);
        assert!(pool.under_way().is_empty());
    }

    proptest! {
        #[test]
        fn nobody_shares_while_a_board_is_free(
            steps in proptest::collection::vec((0u16..4, 0u64..20, 0u8..64, any::<bool>()), 0..60),
        ) {
            let (mut pool, mut cycle) = (Pool::new(), 0);
            for (affinity, later, mask, release) in steps {
                cycle += later;
                if release {
                    pool.release(WaitMask::from_bits(mask).expect("six bits"));
                }
                let before = pool.under_way();
                let allocation = pool.allocate(cycle, request(affinity, 30));
                if before != WaitMask::ALL {
                    prop_assert_eq!(allocation.how, How::Free);
                    prop_assert!(pool.under_way().contains(allocation.board));
                }
            }
        }
    }
}
