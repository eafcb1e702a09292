//! Goal: LZ4 blocks small enough to go back into the room of the block they replace.
//!
//! A rescheduled cubin compresses slightly worse than ptxas's own order, and the room is what fatbinary's compressor
//! needed, so a fast greedy compressor rarely fits. This one parses optimally over the longest matches that it finds: the
//! cheapest sequence of literals and matches by dynamic programming from the end of the block. Matches of eight bytes and
//! more come from one hash chain, shorter ones from another that is not followed as far.
//!
//! Source: the public LZ4 block format: token (literal length, match length − 4), length bytes, literals, 16-bit distance.

const MIN_MATCH: usize = 4;
/// The format's end rules: the last match starts at least 12 bytes before the end, the last 5 bytes are literals.
const LAST_MATCH_START: usize = 12;
const LAST_LITERALS: usize = 5;
const MAX_DISTANCE: usize = 65_535;
const HASH_BITS: u32 = 16;

/// How hard to look for matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    /// A few percent smaller than what fatbinary writes.
    Quick,
    /// Six times slower, for another five percent.
    Best,
}

impl Effort {
    /// Candidates tried per position, by eight and by four bytes, and the length from which a match is taken without looking
    /// further.
    const fn limits(self) -> ([usize; 2], usize) {
        match self {
            Effort::Quick => ([8, 1], 64),
            Effort::Best => ([256, 256], 1024),
        }
    }
}

/// Compresses `input` into a raw LZ4 block.
pub(crate) fn compress(input: &[u8], effort: Effort) -> Vec<u8> {
    let matches = longest_matches(input, effort);
    let steps = cheapest(input.len(), &matches);
    emit(input, &steps)
}

#[derive(Clone, Copy, Default)]
struct Match {
    len: u32,
    distance: u32,
}

fn read_4(input: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(input[at..at + 4].try_into().expect("four bytes"))
}

fn read_8(input: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(input[at..at + 8].try_into().expect("eight bytes"))
}

/// The places seen so far, by what stands there: eight bytes, and four.
struct Seen {
    chains: [Chain; 2],
}

/// By hash, the last place, and by place, the one before it.
struct Chain {
    last: Vec<u32>,
    previous: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Seen {
    fn new(len: usize) -> Seen {
        let chain = || Chain { last: vec![NOWHERE; 1 << HASH_BITS], previous: vec![NOWHERE; len] };
        Seen { chains: [chain(), chain()] }
    }

    /// Notes a place. Returns the last ones that look like it.
    fn note(&mut self, input: &[u8], at: usize) -> [u32; 2] {
        let long = read_8(input, at).wrapping_mul(0x9e37_79b1_85eb_ca87) >> (64 - HASH_BITS);
        let short = read_4(input, at).wrapping_mul(2_654_435_761) >> (32 - HASH_BITS);
        let [longer, shorter] = &mut self.chains;
        [longer.note(long as usize, at), shorter.note(short as usize, at)]
    }
}

impl Chain {
    fn note(&mut self, hash: usize, at: usize) -> u32 {
        let before = std::mem::replace(&mut self.last[hash], at as u32);
        self.previous[at] = before;
        before
    }
}

/// A long match at every position; the length is 0 where there is none.
fn longest_matches(input: &[u8], effort: Effort) -> Vec<Match> {
    let (tries, good) = effort.limits();
    let mut found = vec![Match::default(); input.len()];
    let Some(last) = input.len().checked_sub(LAST_MATCH_START) else {
        return found;
    };
    let mut seen = Seen::new(input.len());
    let mut at = 0;
    while at <= last {
        let here = &input[at..input.len() - LAST_LITERALS];
        let mut best = 0;
        let candidates = seen.note(input, at);
        for ((mut from, chain), tries) in candidates.into_iter().zip(&seen.chains).zip(tries) {
            for _ in 0..tries {
                let reached = from != NOWHERE && at - from as usize <= MAX_DISTANCE;
                if !reached || best >= good || best >= here.len() {
                    break;
                }
                // Only a candidate that also agrees where the best one stopped can be longer.
                if input[from as usize + best] == here[best] {
                    let len = common(&input[from as usize..], here);
                    if len >= MIN_MATCH && len > best {
                        best = len;
                        found[at] = Match { len: len as u32, distance: at as u32 - from };
                    }
                }
                from = chain.previous[from as usize];
            }
        }
        // Inside a very long match the shifted match is as good as any.
        let inside = if best >= good { best - good / 2 } else { 1 };
        for ahead in 1..inside.min(last + 1 - at) {
            let Match { len, distance } = found[at];
            found[at + ahead] = Match { len: len - ahead as u32, distance };
            seen.note(input, at + ahead);
        }
        at += inside;
    }
    found
}

fn common(a: &[u8], b: &[u8]) -> usize {
    let end = a.len().min(b.len());
    let mut len = 0;
    while len + 8 <= end {
        let difference = read_8(a, len) ^ read_8(b, len);
        if difference != 0 {
            return len + difference.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + a[len..end].iter().zip(&b[len..end]).take_while(|(a, b)| a == b).count()
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
            // What is left never costs more further on, so the longest match is best but for the length bytes it needs.
            let level = extra(longest - MIN_MATCH) as usize;
            let fewer = if level > 0 { MIN_MATCH + 14 + 255 * (level - 1) } else { longest };
            for take in [longest, fewer] {
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
        let sizes = [Effort::Quick, Effort::Best].map(|effort| {
            let packed = compress(input, effort);
            let unpacked = lz4_flex::block::decompress(&packed, input.len()).expect("a legal block");
            assert_eq!(unpacked, input);
            packed.len()
        });
        sizes[0].max(sizes[1])
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
