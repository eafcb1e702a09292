//! One thread of a kernel: what its registers hold, as far as that follows from the code and its number alone.

use super::text::{Arg, Sign, Step};
use sassafras_ir::{Lane, RegClass};

/// The registers of a thread. What is not known is `None`.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    number: u32,
    registers: [Vec<Option<u32>>; 2],
    predicates: [[Option<bool>; 8]; 2],
}

/// What an instruction leaves in a register or predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Word(Option<u32>),
    /// A register and the next one.
    Pair(Option<u64>),
    Bit(Option<bool>),
}

impl Thread {
    /// A thread at the start of the kernel, by its number in the block.
    pub(super) fn new(number: u32) -> Thread {
        Thread { number, registers: [vec![None; 256], vec![None; 256]], predicates: [[None; 8]; 2] }
    }

    pub(super) fn word(&self, lane: Option<Lane>) -> Option<u32> {
        let Some(lane) = lane else { return Some(0) };
        match lane.class() {
            RegClass::Gpr => self.registers[0][lane.index() as usize],
            RegClass::Uniform => self.registers[1][lane.index() as usize],
            _ => None,
        }
    }

    pub(super) fn bit(&self, lane: Option<Lane>) -> Option<bool> {
        let Some(lane) = lane else { return Some(true) };
        match lane.class() {
            RegClass::Pred => self.predicates[0][lane.index() as usize],
            RegClass::UPred => self.predicates[1][lane.index() as usize],
            _ => None,
        }
    }

    pub(super) fn set(&mut self, lane: Lane, written: Written) {
        let index = lane.index() as usize;
        match (lane.class(), written) {
            (RegClass::Gpr, Written::Word(word)) => self.registers[0][index] = word,
            (RegClass::Uniform, Written::Word(word)) => self.registers[1][index] = word,
            (_, Written::Pair(pair)) => {
                self.set(lane, Written::Word(pair.map(|pair| pair as u32)));
                if let Some(next) = Lane::physical(lane.class(), lane.index() + 1) {
                    self.set(next, Written::Word(pair.map(|pair| (pair >> 32) as u32)));
                }
            }
            (RegClass::Pred, Written::Bit(bit)) => self.predicates[0][index] = bit,
            (RegClass::UPred, Written::Bit(bit)) => self.predicates[1][index] = bit,
            _ => {}
        }
    }

    /// Forgets a register or predicate.
    pub(super) fn forget(&mut self, lane: Lane) {
        self.set(lane, if lane.class().can_guard() { Written::Bit(None) } else { Written::Word(None) });
    }

    /// Forgets what another state of the same thread has otherwise.
    pub(super) fn keep_common(&mut self, other: &Thread) {
        for (mine, theirs) in self.registers.iter_mut().flatten().zip(other.registers.iter().flatten()) {
            *mine = mine.filter(|_| mine == theirs);
        }
        for (mine, theirs) in self.predicates.iter_mut().flatten().zip(other.predicates.iter().flatten()) {
            *mine = mine.filter(|_| mine == theirs);
        }
    }

    /// The value of a plain operand.
    pub(super) fn value(&self, arg: &Arg) -> Option<u32> {
        match *arg {
            Arg::Number(number) => Some(number),
            Arg::Register { lane, sign } => {
                let value = self.word(lane)?;
                Some(match sign {
                    Sign::Plain => value,
                    Sign::Minus => value.wrapping_neg(),
                    Sign::Not => !value,
                })
            }
            Arg::Address { ref registers, offset } => registers
                .iter()
                .try_fold(offset, |sum, &register| Some(sum.wrapping_add(self.word(register)?))),
            _ => None,
        }
    }

    /// The value of a register pair, or of a number that is extended with its sign.
    fn wide(&self, arg: &Arg) -> Option<u64> {
        match *arg {
            Arg::Number(number) => Some(number as i32 as i64 as u64),
            Arg::Register { lane: None, .. } => Some(0),
            Arg::Register { lane: Some(lane), sign: Sign::Plain } => {
                let high = Lane::physical(lane.class(), lane.index() + 1)?;
                Some(u64::from(self.word(Some(high))?) << 32 | u64::from(self.word(Some(lane))?))
            }
            _ => None,
        }
    }

    fn truth(&self, arg: &Arg) -> Option<bool> {
        match *arg {
            Arg::Predicate { lane, negated } => self.bit(lane).map(|bit| bit != negated),
            _ => None,
        }
    }

    /// What the instruction writes, by its leading operands, in order. `None` for one that is not modelled: everything it
    /// writes is then unknown. Operands that are constant registers are written too, and the caller drops them.
    ///
    /// Two answers are taken for granted, since the rest of the kernel is there to make them true: what is waited for
    /// arrives, and this thread is the one that is elected.
    pub(super) fn step(&self, step: &Step) -> Option<Vec<Written>> {
        use Written::{Bit, Pair, Word};
        if step.name() == "SYNCS" && step.has("PHASECHK") || step.name() == "ELECT" {
            return Some(vec![Bit(Some(true))]);
        }
        if !step.complete {
            return None;
        }
        let args = &step.args;
        let arg = |index: usize| args.get(index);
        let value = |index: usize| arg(index).and_then(|arg| self.value(arg));
        let truth = |index: usize| arg(index).and_then(|arg| self.truth(arg));
        // Predicates that are written behind the first operand.
        let extra = args.iter().skip(1).take_while(|arg| matches!(arg, Arg::Predicate { .. })).count();
        let name = step.name().strip_prefix('U').unwrap_or(step.name());
        let words = |word: Option<u32>| Some(vec![Word(word)]);
        let pair = |value: Option<u64>| Some(vec![Pair(value)]);
        match name {
            "MOV" if step.words.len() == 1 => words(value(1)),
            "R2UR" if args.len() == 2 => words(value(1)),
            "S2R" | "S2UR" => words(match arg(1)? {
                Arg::Special(name) => self.special(name),
                _ => None,
            }),
            "CS2R" => match arg(1)? {
                Arg::Special(name) if name == "SRZ" && step.has("32") => words(Some(0)),
                Arg::Special(name) if name == "SRZ" => pair(Some(0)),
                _ => None,
            },
            "IMAD" if step.has("WIDE") && extra == 0 => {
                let product = match (value(1)?, value(2)?) {
                    (a, b) if step.has("U32") => u64::from(a) * u64::from(b),
                    (a, b) => (i64::from(a as i32) * i64::from(b as i32)) as u64,
                };
                pair(self.wide(arg(3)?).map(|sum| product.wrapping_add(sum)))
            }
            "IMAD" if step.has("HI") => match (value(1), value(2), arg(3)?) {
                (Some(a), Some(b), Arg::Register { lane: None, .. }) if step.has("U32") => {
                    words(Some(((u64::from(a) * u64::from(b)) >> 32) as u32))
                }
                _ => None,
            },
            "IMAD" if extra == 0 => {
                let product = match (value(1), value(2)) {
                    (Some(a), Some(b)) => Some(a.wrapping_mul(b)),
                    (Some(0), _) | (_, Some(0)) => Some(0),
                    _ => None,
                };
                let carry = if step.has("X") { truth(4)? } else { false };
                let sum = value(3).map(|sum| sum.wrapping_add(u32::from(carry)));
                words(product.zip(sum).map(|(product, sum)| product.wrapping_add(sum)))
            }
            "VIADD" if step.words.len() == 1 => words(value(1).zip(value(2)).map(|(a, b)| a.wrapping_add(b))),
            "IADD3" | "IADD" if step.has("64") && extra == 0 => {
                let sum = args[1..].iter().try_fold(0u64, |sum, arg| Some(sum.wrapping_add(self.wide(arg)?)));
                pair(sum)
            }
            "IADD3" => self.sum(step, extra),
            "LEA" => self.scaled(step, extra),
            "SHF" if !step.has("W") => {
                let (low, shift, high) = (value(1), value(2)?, value(3));
                let shift = shift.min(63);
                words(match (step.has("L"), step.has("HI")) {
                    (true, false) => low.map(|low| (u64::from(low) << shift) as u32),
                    (true, true) => low.zip(high).map(|(low, high)| {
                        (((u64::from(high) << 32 | u64::from(low)) << shift) >> 32) as u32
                    }),
                    (false, true) if step.has("S32") => {
                        high.map(|high| (high as i32 >> shift.min(31)) as u32)
                    }
                    (false, true) => high.map(|high| (u64::from(high) >> shift) as u32),
                    (false, false) => low
                        .zip(high)
                        .map(|(low, high)| ((u64::from(high) << 32 | u64::from(low)) >> shift) as u32),
                })
            }
            "LOP3" => match arg(0)? {
                Arg::Register { .. } if extra == 0 => words(table([value(1), value(2), value(3)], value(4)?)),
                Arg::Register { .. } => None,
                _ => {
                    let word = table([value(2), value(3), value(4)], value(5)?);
                    let alone = truth(6) == Some(false);
                    Some(vec![Bit(word.filter(|_| alone).map(|word| word != 0)), Word(word)])
                }
            },
            "PLOP3" => {
                let mask = |truth: Option<bool>| truth.map(|truth| if truth { !0 } else { 0 });
                let inputs = [mask(truth(2)), mask(truth(3)), mask(truth(4))];
                let bit = |lut| table(inputs, lut).map(|word| word != 0);
                Some(vec![Bit(bit(value(5)?)), Bit(bit(value(6)?))])
            }
            "SEL" if step.words.len() == 1 => words(match (truth(3), value(1), value(2)) {
                (Some(true), a, _) => a,
                (Some(false), _, b) => b,
                (None, a, b) => a.filter(|_| a == b),
            }),
            "ISETP" => Some(self.compare(step)),
            "SHFL" if step.has("IDX") => {
                // Lane 0 of the warp asks for what lane 0 has.
                let own = self.number.is_multiple_of(32) && value(3) == Some(0);
                Some(vec![Bit(None), Word(value(2).filter(|_| own))])
            }
            _ => None,
        }
    }

    fn special(&self, name: &str) -> Option<u32> {
        match name {
            "SR_TID.X" => Some(self.number),
            "SR_LANEID" => Some(self.number % 32),
            // The first block of its cluster.
            "SR_CgaCtaId" | "SR_TID.Y" | "SR_TID.Z" | "SRZ" => Some(0),
            _ => None,
        }
    }

    /// The sum of three, with carries that come in and go out.
    fn sum(&self, step: &Step, extra: usize) -> Option<Vec<Written>> {
        let sources = step.args.get(1 + extra..4 + extra)?;
        let plain = sources
            .iter()
            .all(|arg| !matches!(arg, Arg::Register { lane: Some(_), sign } if *sign != Sign::Plain));
        let carries =
            step.args[4 + extra..].iter().try_fold(0, |sum, arg| Some(sum + u64::from(self.truth(arg)?)));
        let carries = if step.has("X") { carries } else { Some(0) };
        let total = carries.and_then(|carries| {
            sources.iter().try_fold(carries, |sum, arg| Some(sum + u64::from(self.value(arg)?)))
        });
        let mut written = vec![Written::Word(total.map(|total| total as u32))];
        let carry = total.filter(|total| plain && total >> 33 == 0).map(|total| total >> 32 == 1);
        written.extend(
            (0..extra).map(|place| Written::Bit(if place == 0 { carry } else { carry.map(|_| false) })),
        );
        Some(written)
    }

    /// A shifted operand plus another one.
    fn scaled(&self, step: &Step, extra: usize) -> Option<Vec<Written>> {
        let value = |index: usize| step.args.get(index + extra).and_then(|arg| self.value(arg));
        let (a, b) = (value(1), value(2));
        let word = if step.has("X") {
            None
        } else if step.has("SX32") {
            let shift = 32 - value(3)?.min(32);
            a.zip(b).map(|(a, b)| ((i64::from(a as i32) >> shift) as u32).wrapping_add(b))
        } else if step.has("HI") {
            let shift = 32 - value(4)?.min(32);
            let whole = a.zip(value(3)).map(|(low, high)| u64::from(high) << 32 | u64::from(low));
            whole.zip(b).map(|(whole, b)| ((whole >> shift) as u32).wrapping_add(b))
        } else {
            let shift = value(3)?;
            a.zip(b).map(|(a, b)| ((u64::from(a) << shift.min(63)) as u32).wrapping_add(b))
        };
        let mut written = vec![Written::Word(word)];
        written.extend((0..extra).map(|_| Written::Bit(None)));
        Some(written)
    }

    fn compare(&self, step: &Step) -> Vec<Written> {
        let value = |index: usize| step.args.get(index).and_then(|arg| self.value(arg));
        let truth = |index: usize| step.args.get(index).and_then(|arg| self.truth(arg));
        let order = value(2)
            .zip(value(3))
            .map(|(a, b)| if step.has("U32") { a.cmp(&b) } else { (a as i32).cmp(&(b as i32)) });
        let meets = |order: std::cmp::Ordering| {
            let words = &step.words[1..];
            let is = |word: &str| words.first().is_some_and(|first| first == word);
            Some(match order {
                _ if is("T") => true,
                _ if is("F") => false,
                order if is("EQ") => order.is_eq(),
                order if is("NE") => order.is_ne(),
                order if is("LT") => order.is_lt(),
                order if is("LE") => order.is_le(),
                order if is("GT") => order.is_gt(),
                order if is("GE") => order.is_ge(),
                _ => return None,
            })
        };
        let met = match order {
            // The high halves are equal: the low ones decide.
            Some(order) if step.has("EX") && order.is_eq() => truth(5),
            Some(order) => meets(order),
            None => None,
        };
        let join = |met: Option<bool>| match (met, truth(4)) {
            (Some(false), _) | (_, Some(false)) if step.has("AND") => Some(false),
            (Some(true), Some(true)) if step.has("AND") => Some(true),
            (Some(true), _) | (_, Some(true)) if step.has("OR") => Some(true),
            (Some(false), Some(false)) if step.has("OR") => Some(false),
            (Some(met), Some(other)) if step.has("XOR") => Some(met != other),
            _ => None,
        };
        vec![Written::Bit(join(met)), Written::Bit(join(met.map(|met| !met)))]
    }
}

/// A function of three operands, bit by bit, by its table. An unknown operand does no harm where the table does not look at it: all of
/// its bits set and none of them give the same.
fn table(inputs: [Option<u32>; 3], lut: u32) -> Option<u32> {
    let result = |guess: [u32; 3]| {
        let value = |place: usize| inputs[place].unwrap_or(guess[place]);
        let rows = (0..8u32).filter(|row| lut >> row & 1 == 1);
        let side =
            |row: u32, place: usize| if row >> (2 - place) & 1 == 1 { value(place) } else { !value(place) };
        rows.fold(0, |sum, row| sum | side(row, 0) & side(row, 1) & side(row, 2))
    };
    let guesses = (0..8u32).map(|bits| [0, 1, 2].map(|place| 0u32.wrapping_sub(bits >> place & 1)));
    let mut results = guesses.map(result);
    let first = results.next()?;
    results.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &[&str]) -> Thread {
        let mut thread = Thread::new(64);
        for line in text {
            let step = Step::parse(line, true);
            let written = thread.step(&step).unwrap_or_else(|| panic!("`{line}` is not modelled"));
            for (arg, written) in step.args.iter().zip(written) {
                if let Arg::Register { lane: Some(lane), .. } | Arg::Predicate { lane: Some(lane), .. } = *arg
                {
                    thread.set(lane, written);
                }
            }
        }
        thread
    }

    fn word(thread: &Thread, class: RegClass, index: u32) -> Option<u32> {
        thread.word(Some(Lane::physical(class, index).expect("a register")))
    }

    #[test]
    fn arithmetic_is_that_of_the_machine() {
        let thread = run(&[
            "S2R R0, SR_TID.X",
            "SHF.R.U32.HI R1, RZ, 0x5, R0",
            "LEA R2, R1, 0x400, 0x3",
            "IADD3 R3, P0, R2, -0x1, RZ",
            "IADD3.X R4, RZ, RZ, RZ, P0, !PT",
            "IMAD.WIDE.U32 R6, R0, 0x4000001, RZ",
            "LOP3.LUT R8, R0, 0x41, RZ, 0x3c, !PT",
            "LEA.HI R9, R0, R1, RZ, 0x1e",
            "IMAD.HI.U32 R10, R0, 0x8000000, RZ",
            "SHF.L.U64.HI R11, R6, 0x4, R7",
        ]);
        let values = [64, 2, 0x410, 0x40f, 1, 1, 0x41, 18, 2, 16].map(Some);
        let registers = [0, 1, 2, 3, 4, 7, 8, 9, 10, 11].map(|index| word(&thread, RegClass::Gpr, index));
        assert_eq!(registers[..6], values[..6]);
        assert_eq!(word(&thread, RegClass::Gpr, 6), Some(0x40));
        assert_eq!(registers[6], Some(0x40 ^ 0x41));
        assert_eq!(registers[7..], [18, 2, 16].map(Some));
    }

    #[test]
    fn a_remainder_by_multiplication_is_one() {
        for counter in 0..20u32 {
            let thread = run(&[
                &format!("UMOV UR11, {counter:#x}"),
                "UIMAD.WIDE.U32 UR8, UR11, -0x33333333, URZ",
                "USHF.R.U32.HI UR9, URZ, 0x2, UR9",
                "UIMAD UR9, UR9, -0x5, UR11",
            ]);
            assert_eq!(word(&thread, RegClass::Uniform, 9), Some(counter % 5));
        }
    }

    #[test]
    fn unknown_stays_unknown_unless_nobody_looks() {
        let thread = run(&[
            "S2R R0, SR_CTAID.X",
            "LOP3.LUT R1, R0, 0x7, RZ, 0xc0, !PT",
            "LOP3.LUT R2, R0, RZ, RZ, 0xc0, !PT",
            "IMAD R3, R0, RZ, 0x5",
            "ISETP.NE.U32.AND P0, PT, R0, RZ, PT",
            "ISETP.NE.U32.AND P1, PT, R0, RZ, !PT",
            "SEL R4, 0x3, 0x3, P0",
            "SEL R5, 0x3, 0x4, P0",
            "PLOP3.LUT P2, PT, PT, PT, P0, 0x80, 0x0",
        ]);
        let registers = [1, 2, 3, 4, 5].map(|index| word(&thread, RegClass::Gpr, index));
        assert_eq!(registers, [None, Some(0), Some(5), Some(3), None]);
        let bits = [0, 1, 2].map(|index| thread.bit(Lane::physical(RegClass::Pred, index)));
        assert_eq!(bits, [None, Some(false), None]);
    }

    #[test]
    fn halves_are_compared_together() {
        for (high, low, expected) in [(0, 4, true), (0, 5, false), (1, 0, false)] {
            let thread = run(&[
                &format!("MOV R0, {low:#x}"),
                &format!("MOV R1, {high:#x}"),
                "ISETP.LT.U32.AND P0, PT, R0, 0x5, PT",
                "ISETP.LT.U32.AND.EX P0, P1, R1, RZ, PT, P0",
            ]);
            let bits = [0, 1].map(|index| thread.bit(Lane::physical(RegClass::Pred, index)));
            assert_eq!(bits, [Some(expected), Some(!expected)], "{high} {low}");
        }
    }
}
