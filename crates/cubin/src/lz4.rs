//! Goal: LZ4 blocks small enough to go back into the room of the block they replace.
//!
//! A rescheduled cubin compresses slightly worse than ptxas's own order, and the room is what fatbinary's compressor
//! needed, so a fast greedy compressor rarely fits. This one parses optimally over the matches of a hash chain: the
//! cheapest sequence of literals and matches by dynamic programming from the end of the block.
//!
//! Source: the public LZ4 block format: token (literal length, match length − 4), length bytes, literals, 16-bit distance.

const MIN_MATCH: usize = 4;
/// The format's end rules: the last match starts at least 12 bytes before the end, the last 5 bytes are literals.
const LAST_MATCH_START: usize = 12;
const LAST_LITERALS: usize = 5;
const MAX_DISTANCE: usize = 65_535;
/// Candidates tried per position: enough for code, whose repeats are near.
const CHAIN: usize = 256;
/// A match this long is taken without looking further.
const GOOD: usize = 1024;
const HASH_BITS: u32 = 16;

/// Compresses `input` into a raw LZ4 block.
pub(crate) fn compress(input: &[u8]) -> Vec<u8> {
    let matches = longest_matches(input);
    let steps = cheapest(input.len(), &matches);
    emit(input, &steps)
}

#[derive(Clone, Copy, Default)]
struct Match {
    len: u32,
    distance: u32,
}

fn hash(input: &[u8], at: usize) -> usize {
    let word = u32::from_le_bytes(input[at..at + 4].try_into().expect("four bytes"));
    (word.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize
}

/// The longest match at every position; the length is 0 where there is none.
fn longest_matches(input: &[u8]) -> Vec<Match> {
    let mut found = vec![Match::default(); input.len()];
    let Some(last) = input.len().checked_sub(LAST_MATCH_START) else {
        return found;
    };
    let mut head = vec![u32::MAX; 1 << HASH_BITS];
    let mut previous = vec![u32::MAX; input.len()];
    let mut at = 0;
    while at <= last {
        let longest = input.len() - LAST_LITERALS - at;
        let slot = hash(input, at);
        let mut candidate = head[slot];
        let mut best = Match::default();
        for _ in 0..CHAIN {
            let from = candidate as usize;
            if candidate == u32::MAX || at - from > MAX_DISTANCE {
                break;
            }
            let best_len = best.len as usize;
            // Only a candidate that also agrees where the best one stopped can be longer.
            if best_len >= longest {
                break;
            }
            if input[from + best_len] == input[at + best_len] {
                let len = common(&input[from..], &input[at..at + longest]);
                if len >= MIN_MATCH && len > best_len {
                    best = Match { len: len as u32, distance: (at - from) as u32 };
                }
            }
            if best.len as usize >= GOOD {
                break;
            }
            candidate = previous[from];
        }
        found[at] = best;
        previous[at] = head[slot];
        head[slot] = at as u32;
        at += 1;
        // Inside a very long match the shifted match is as good as any.
        if best.len as usize >= GOOD {
            for ahead in 1..(best.len as usize - GOOD / 2) {
                if at > last {
                    break;
                }
                found[at] = Match { len: best.len - ahead as u32, distance: best.distance };
                let slot = hash(input, at);
                previous[at] = head[slot];
                head[slot] = at as u32;
                at += 1;
            }
        }
    }
    found
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Extra bytes that a length needs beyond the token.
fn extra(len: usize) -> u32 {
    if len < 15 { 0 } else { ((len - 15) / 255 + 1) as u32 }
}

/// Per position, the match length to take there on the cheapest way to the end (0: a literal), and its distance.
///
/// Two costs per position: before it a match (or the start) ended, or a run of literals is open. The run's length bytes
/// are charged approximately, once per 255 literals.
fn cheapest(len: usize, matches: &[Match]) -> Vec<Match> {
    let mut cost = vec![0u32; len + 1];
    let mut literals = vec![0u32; len + 1];
    let mut steps = vec![Match::default(); len];
    for at in (0..len).rev() {
        let run = literals[at + 1] + 1;
        let run_bytes = u32::from(run == 15 || (run > 15 && (run - 15).is_multiple_of(255)));
        let mut best = cost[at + 1] + 1 + run_bytes;
        let found = matches[at];
        literals[at] = run;
        let longest = found.len as usize;
        if longest >= MIN_MATCH {
            // Shorter versions of a match matter only where another match starts inside: near lengths suffice.
            let shortest = if longest > 64 { longest - 16 } else { MIN_MATCH };
            for take in shortest..=longest {
                let total = cost[at + take] + 3 + extra(take - MIN_MATCH);
                if total < best {
                    best = total;
                    steps[at] = Match { len: take as u32, distance: found.distance };
                    literals[at] = 0;
                }
            }
        }
        cost[at] = best;
    }
    steps
}

fn emit(input: &[u8], steps: &[Match]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() / 2 + 16);
    let (mut at, mut from) = (0, 0);
    while at < input.len() {
        let step = steps[at];
        if step.len == 0 {
            at += 1;
            continue;
        }
        let match_len = step.len as usize - MIN_MATCH;
        sequence_start(&mut out, &input[from..at], match_len);
        out.extend((step.distance as u16).to_le_bytes());
        length_bytes(&mut out, match_len);
        at += step.len as usize;
        from = at;
    }
    sequence_start(&mut out, &input[from..], 0);
    out
}

fn sequence_start(out: &mut Vec<u8>, literals: &[u8], match_len: usize) {
    out.push((literals.len().min(15) << 4 | match_len.min(15)) as u8);
    length_bytes(out, literals.len());
    out.extend_from_slice(literals);
}

fn length_bytes(out: &mut Vec<u8>, len: usize) {
    if let Some(mut rest) = len.checked_sub(15) {
        while rest >= 255 {
            out.push(255);
            rest -= 255;
        }
        out.push(rest as u8);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(input: &[u8]) -> usize {
        let packed = compress(input);
        let unpacked = lz4_flex::block::decompress(&packed, input.len()).expect("a legal block");
        assert_eq!(unpacked, input);
        packed.len()
    }

    #[test]
    fn edges() {
        for len in 0..40 {
            round_trip(&vec![7; len]);
        }
        round_trip(&vec![7; 100_000]);
        let ramp: Vec<u8> = (0..70_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        round_trip(&ramp);
    }

    #[test]
    fn no_larger_than_the_fast_compressor() {
        let words: Vec<u8> =
            (0..20_000u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 27).to_le_bytes()).collect();
        assert!(round_trip(&words) <= lz4_flex::block::compress(&words).len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn any_bytes(input in prop::collection::vec(0u8..4, 0..3000)) {
            round_trip(&input);
        }
    }
}
