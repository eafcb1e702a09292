//! Goal: LZ4 blocks small enough to go back into the room of the block they replace.
//!
//! A rescheduled cubin compresses slightly worse than ptxas's own order, and the room is what fatbinary's compressor
//! needed, so a fast greedy compressor rarely fits. This one parses optimally over the longest matches that it finds: the
//! cheapest sequence of literals and matches by dynamic programming from the end of the block. Matches of eight bytes and
//! more come from one hash chain, shorter ones from another that is not followed as far.
//!
//! Source: the public LZ4 block format: token (literal length, match length − 4), length bytes, literals, 16-bit distance.

use std::collections::BTreeMap;

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

/// Compresses `input` into a raw LZ4 block. Beside the input and the block it takes four bytes of memory per byte of input.
pub(crate) fn compress(input: &[u8], effort: Effort) -> Vec<u8> {
    let mut matches = longest_matches(input, effort);
    cheapest(&mut matches);
    emit(input, &matches)
}

/// By position, a match: at first a long one, then the one to take there, if any.
struct Matches {
    /// The length: 0 where there is none, [`LONG`] and [`FEWER`] where it does not fit.
    lens: Vec<u16>,
    distances: Vec<u16>,
    /// Matches too long for a number of 16 bits, in order.
    longs: Vec<Long>,
}

/// A match that goes on for very long: at each position that it is for, it ends at the same place.
struct Long {
    start: usize,
    end: usize,
}

/// The last long match that starts no later ends where this one does.
const LONG: u16 = u16::MAX;
/// As [`LONG`], with one length byte less.
const FEWER: u16 = u16::MAX - 1;
/// The longest length that is there as a number.
const MOST_LEN: usize = FEWER as usize - 1;

impl Matches {
    fn new(len: usize) -> Matches {
        Matches { lens: vec![0; len], distances: vec![0; len], longs: Vec::new() }
    }

    fn set(&mut self, at: usize, len: usize, distance: u16) {
        self.lens[at] = if len <= MOST_LEN { len as u16 } else { LONG };
        self.distances[at] = distance;
    }
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

/// By hash, the last place, and by place, the one before it. Nobody asks for what is further back than a match reaches, so that places
/// with the same [`WINDOW`] remainder share a slot.
struct Chain {
    last: Vec<u32>,
    previous: Vec<u32>,
}

/// Places that a match may reach, its own included.
const WINDOW: usize = MAX_DISTANCE + 1;

const NOWHERE: u32 = u32::MAX;

impl Seen {
    fn new() -> Seen {
        let chain = || Chain { last: vec![NOWHERE; 1 << HASH_BITS], previous: vec![NOWHERE; WINDOW] };
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
        self.previous[at % WINDOW] = before;
        before
    }

    /// The place before one that a match may reach.
    fn before(&self, at: u32) -> u32 {
        self.previous[at as usize % WINDOW]
    }
}

/// A long match at every position; the length is 0 where there is none.
fn longest_matches(input: &[u8], effort: Effort) -> Matches {
    let (tries, good) = effort.limits();
    let mut found = Matches::new(input.len());
    let Some(last) = input.len().checked_sub(LAST_MATCH_START) else {
        return found;
    };
    let mut seen = Seen::new();
    let mut at = 0;
    while at <= last {
        let here = &input[at..input.len() - LAST_LITERALS];
        let (mut best, mut distance) = (0, 0);
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
                        distance = (at - from as usize) as u16;
                    }
                }
                from = chain.before(from);
            }
        }
        if best > 0 {
            found.set(at, best, distance);
        }
        if best > MOST_LEN {
            found.longs.push(Long { start: at, end: at + best });
        }
        // Inside a very long match the shifted match is as good as any.
        let inside = if best >= good { best - good / 2 } else { 1 };
        for ahead in 1..inside.min(last + 1 - at) {
            found.set(at + ahead, best - ahead, distance);
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

/// The longest length with one length byte less, or the same where there is none.
fn fewer(len: usize) -> usize {
    match extra(len - MIN_MATCH) as usize {
        0 => len,
        level => MIN_MATCH + 14 + 255 * (level - 1),
    }
}

/// Costs from a position to the end, for the positions that are still asked for: those that a match of plain length reaches, and the
/// ends of long ones.
struct Costs<'m> {
    near: Vec<u32>,
    far: BTreeMap<usize, u32>,
    /// Long matches whose ends are still to come, the last to end behind the others.
    ends: Vec<&'m Long>,
}

/// A length with one length byte less is shorter by so much at most.
const MOST_LESS: usize = 255;

impl<'m> Costs<'m> {
    fn new(longs: &'m [Long]) -> Costs<'m> {
        let mut ends: Vec<&Long> = longs.iter().collect();
        ends.sort_unstable_by_key(|long| long.end);
        Costs { near: vec![0; WINDOW], far: BTreeMap::new(), ends }
    }

    /// Positions come from the last to the first.
    fn set(&mut self, at: usize, cost: u32) {
        self.near[at % WINDOW] = cost;
        while self.ends.last().is_some_and(|long| at + MOST_LESS < long.end) {
            self.ends.pop();
        }
        if self.ends.last().is_some_and(|long| at <= long.end) {
            self.far.insert(at, cost);
        }
    }

    /// The cost of what is behind a match that starts at `at`.
    fn behind(&self, at: usize, len: usize) -> u32 {
        match len {
            0..WINDOW => self.near[(at + len) % WINDOW],
            _ => self.far[&(at + len)],
        }
    }
}

/// Leaves, per position, the match to take there on the cheapest way to the end, or none for a literal.
///
/// Two costs per position: before it a match (or the start) ended, or a run of literals is open. The run's length bytes
/// are charged approximately, once per 255 literals.
fn cheapest(matches: &mut Matches) {
    let Matches { lens, longs, .. } = matches;
    let mut costs = Costs::new(longs);
    let mut long = longs.iter().rev().peekable();
    // Behind the position: what is left costs, and how many literals are open.
    let (mut cost, mut literals) = (0, 0);
    for (at, len) in lens.iter_mut().enumerate().rev() {
        let run = literals + 1;
        let run_bytes = u32::from(run == 15 || (run > 15 && (run - 15_u32).is_multiple_of(255)));
        let mut best = cost + 1 + run_bytes;
        literals = run;
        while long.next_if(|long| long.start > at).is_some() {}
        let longest = match *len {
            LONG => long.peek().map_or(0, |long| long.end - at),
            len => usize::from(len),
        };
        let mut taken = 0;
        if longest >= MIN_MATCH {
            // What is left never costs more further on, so the longest match is best but for the length bytes it needs.
            let fewer = fewer(longest);
            for (take, code) in [(longest, *len), (fewer, if *len == LONG { FEWER } else { fewer as u16 })] {
                let total = costs.behind(at, take) + 3 + extra(take - MIN_MATCH);
                if total < best {
                    best = total;
                    taken = code;
                    literals = 0;
                }
            }
        }
        *len = taken;
        cost = best;
        costs.set(at, cost);
    }
}

fn emit(input: &[u8], steps: &Matches) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() / 2 + 16);
    let (mut at, mut from) = (0, 0);
    let mut longs = steps.longs.iter();
    let mut long = longs.next();
    while at < input.len() {
        let len = steps.lens[at];
        if len == 0 {
            at += 1;
            continue;
        }
        while let Some(next) = longs.as_slice().first().filter(|next| next.start <= at) {
            (long, _) = (Some(next), longs.next());
        }
        let longest = long.map_or(0, |long| long.end.saturating_sub(at));
        let len = match len {
            LONG => longest,
            FEWER => fewer(longest),
            len => usize::from(len),
        };
        let match_len = len - MIN_MATCH;
        sequence_start(&mut out, &input[from..at], match_len);
        out.extend(steps.distances[at].to_le_bytes());
        length_bytes(&mut out, match_len);
        at += len;
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

    /// The cheapest way with a table of everything.
    fn cheapest_simply(found: &Matches) -> Vec<usize> {
        let len = found.lens.len();
        let (mut cost, mut literals, mut steps) = (vec![0; len + 1], vec![0; len + 1], vec![0; len]);
        for at in (0..len).rev() {
            let run = literals[at + 1] + 1;
            cost[at] = cost[at + 1] + 1 + u32::from(run == 15 || run > 15 && (run - 15) % 255 == 0);
            literals[at] = run;
            let longest = match found.lens[at] {
                LONG => found.longs.iter().rfind(|long| long.start <= at).expect("there is one").end - at,
                len => usize::from(len),
            };
            for take in [longest, fewer(longest.max(MIN_MATCH))].into_iter().filter(|&take| take > 0) {
                if longest > 0 && cost[at + take] + 3 + extra(take - MIN_MATCH) < cost[at] {
                    cost[at] = cost[at + take] + 3 + extra(take - MIN_MATCH);
                    (literals[at], steps[at]) = (0, take);
                }
            }
        }
        steps
    }

    /// The steps as lengths.
    fn steps(found: &Matches) -> Vec<usize> {
        let long = |at| found.longs.iter().rfind(|long| long.start <= at).map_or(0, |long| long.end - at);
        let lens = found.lens.iter().enumerate();
        lens.map(|(at, &len)| match len {
            LONG => long(at),
            FEWER => fewer(long(at)),
            len => usize::from(len),
        })
        .collect()
    }

    #[test]
    fn long_matches_cost_what_they_cost() {
        let noise = |seed: u32, len: u32| {
            (0..len).map(move |i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 13) as u8)
        };
        let mut input = vec![0; 66_000];
        input.extend(noise(1, 300));
        for len in [65_530_usize, 65_534, 65_536, 65_790, 131_000, 200_000, 70_000] {
            input.extend(std::iter::repeat_n(len as u8, len));
            input.extend(noise(len as u32, 40));
        }
        let twice: Vec<u8> = noise(7, 60_000).collect();
        // Matches that overlap, and a very long one at a large distance.
        (0..4).for_each(|_| input.extend_from_slice(&twice));
        for effort in [Effort::Quick, Effort::Best] {
            let mut found = longest_matches(&input, effort);
            assert!(found.longs.len() >= 5, "{}", found.longs.len());
            let simply = cheapest_simply(&found);
            cheapest(&mut found);
            assert!(steps(&found) == simply);
        }
        round_trip(&input);
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
            let mut found = longest_matches(&input, Effort::Quick);
            let simply = cheapest_simply(&found);
            cheapest(&mut found);
            prop_assert_eq!(steps(&found), simply);
        }
    }
}
