//! The resource model: what an instruction adds to and releases from the ten resource buckets.
//!
//! Source: latency-model document, sections "10-Element Resource Vector", "Resource Cost Model" and "Resource Cost
//! Accumulation".
//!
//! Readings taken where the text cannot be followed literally:
//! - **Buckets.** The vector is presented as one counter per execution pipe, but the operand scan indexes it by
//!   *register class* (0–6). Both are kept: the scan fills the buckets of the register classes, 7–9 stay untouched here.
//! - **Last use in modes 0/1.** Only mode 2 looks at the last-use flag; the own cost charges every register operand.
//! - **Release test.** As printed, mode 2 releases registers whose held bit is *clear* and then clears it, so undoing by
//!   setting would change the mask, and after mode 1 (which sets the bit of every operand) nothing would ever be
//!   released. Both stated properties (no side effect; last uses are released) hold with the opposite test, taken here:
//!   a register is released when its bit is set, once.
//! - **Pressure.** Modes 0/1 store the 9-bit field as the pressure that mode 3 adds later.
//! - **Flags.** Modes 0/1 also reset a flag byte that no documented step sets or reads; it is left out.
//! - **Slot word 20.** It holds the block-entered flag and receives the pressure: here bit 0 is the flag and the upper 31
//!   bits ("auxiliary state") the pressure, so that neither overwrites the other.

use fixedbitset::FixedBitSet;
use sassafras_machine::{RESOURCE_SLOT_SIZE, Unit};
use smallvec::SmallVec;
use thiserror::Error;

use crate::params::PARAMETERS;
use crate::register_cost::{RegisterCost, RegisterDesc, Tracking, register_cost};

/// Number of resource buckets: one per counted unit.
pub const PIPES: usize = Unit::ALL.len();

/// One resource vector.
pub type ResourceVector = [i32; PIPES];

/// A source operand as the model sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// The register's id, or `None` for an operand that is not a register.
    pub register: Option<u32>,
    /// The register is dead after this instruction.
    pub last_use: bool,
    /// Whether a last use may release the register here; asked only when `last_use` is set.
    pub release_eligible: bool,
    /// The auxiliary byte is negative: the operand never adds cost.
    pub exempt: bool,
}

impl Operand {
    /// Decodes the packed 8-byte form: bits 28–30 of the low word say 1 for a register, bits 0–23 its id, bit 31 last
    /// use; the sign of byte 6 exempts it. Eligibility is not part of the word.
    #[must_use]
    pub const fn from_raw(raw: u64, release_eligible: bool) -> Self {
        let is_register = (raw >> 28) & 7 == 1;
        Self {
            register: if is_register { Some((raw & 0xFF_FFFF) as u32) } else { None },
            last_use: raw & (1 << 31) != 0,
            release_eligible,
            exempt: raw & (0x80 << 48) != 0,
        }
    }
}

/// An instruction as the model sees it.
#[derive(Debug, Clone, Copy)]
pub struct ResourceInstr<'a> {
    /// Source operands in order.
    pub operands: &'a [Operand],
    /// The scheduling word whose low 9 bits are the pressure field.
    pub sched_word: u16,
}

impl ResourceInstr<'_> {
    /// The 9-bit pressure field.
    #[must_use]
    pub fn pressure(&self) -> i32 {
        i32::from(self.sched_word & 0x1FF)
    }
}

/// Looks register descriptors up by operand id.
pub trait RegisterTable {
    /// The descriptor of register `id`, if there is one.
    fn register(&self, id: u32) -> Option<RegisterDesc>;
}

impl RegisterTable for [RegisterDesc] {
    fn register(&self, id: u32) -> Option<RegisterDesc> {
        self.get(usize::try_from(id).ok()?).copied()
    }
}

/// Why a cost cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ResourceError {
    /// An operand names a register that the table does not hold.
    #[error("operand {operand} names register {id}, which the register table does not hold")]
    UnknownRegister {
        /// Position of the operand.
        operand: usize,
        /// The id it names.
        id: u32,
    },
    /// A register's tracked index lies beyond [`ResourceState::CAPACITY`].
    #[error("operand {operand} is tracked at index {index}, beyond the model's {max}", max = ResourceState::CAPACITY)]
    IndexTooLarge {
        /// Position of the operand.
        operand: usize,
        /// The index.
        index: u32,
    },
}

/// The modes of the resource model, by their documented numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CostMode {
    /// 0 and 1: reset the instruction's tracking, then its own cost. The document does not tell the two apart.
    OwnCost,
    /// 2: net change of this instruction, releases included, leaving no trace.
    Differential,
    /// 3: add the pressure that mode 0/1 found.
    Pressure,
}

impl CostMode {
    /// The mode of a documented number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 | 1 => Some(Self::OwnCost),
            2 => Some(Self::Differential),
            3 => Some(Self::Pressure),
            _ => None,
        }
    }
}

/// The model's persistent state: which tracked registers are held, and the journals of the current instruction.
///
/// Equality ignores how much room the held set has reserved.
#[derive(Debug, Clone, Default)]
pub struct ResourceState {
    held: FixedBitSet,
    added: Vec<u32>,
    released: Vec<u32>,
    pressure: i32,
}

impl PartialEq for ResourceState {
    fn eq(&self, other: &Self) -> bool {
        self.held.ones().eq(other.held.ones())
            && (&self.added, &self.released) == (&other.added, &other.released)
            && self.pressure == other.pressure
    }
}

impl Eq for ResourceState {}

/// One operand's share, after every skip rule.
struct Contribution {
    bucket: usize,
    cost: RegisterCost,
    release: bool,
}

impl ResourceState {
    /// Tracked indices are below this; it bounds memory on hostile input (24-bit ids, doubled).
    pub const CAPACITY: u32 = 1 << 25;

    /// Whether a tracked register index is held.
    #[must_use]
    pub fn is_held(&self, index: u32) -> bool {
        usize::try_from(index).is_ok_and(|i| self.held.contains(i))
    }

    /// Marks a tracked register index as held, e.g. live into the block. Indices past the capacity are ignored.
    pub fn hold(&mut self, index: u32) {
        if index < Self::CAPACITY {
            self.held.grow_and_insert(index as usize);
        }
    }

    /// Frees a tracked register index. No mode does so lastingly: a scheduler that commits an instruction frees what died
    /// there.
    pub fn release(&mut self, index: u32) {
        if self.is_held(index) {
            self.held.remove(index as usize);
        }
    }

    /// Registers added since the last reset, in order.
    #[must_use]
    pub fn added(&self) -> &[u32] {
        &self.added
    }

    /// The pressure found by the last mode 0/1 run.
    #[must_use]
    pub fn pressure(&self) -> i32 {
        self.pressure
    }

    /// Runs one mode for one instruction. Modes 0–2 clear `output` first; mode 3 adds to it.
    ///
    /// # Errors
    /// Names the operand whose register is unknown or out of range; state and output are then unchanged.
    pub fn cost<T: RegisterTable + ?Sized>(
        &mut self,
        mode: CostMode,
        registers: &T,
        tracking: Tracking,
        instr: &ResourceInstr<'_>,
        output: &mut ResourceVector,
    ) -> Result<(), ResourceError> {
        match mode {
            CostMode::OwnCost => {
                let parts = contributions(registers, tracking, instr, false)?;
                self.added.clear();
                self.released.clear();
                self.pressure = instr.pressure();
                *output = self.apply(&parts);
            }
            CostMode::Differential => {
                let parts = contributions(registers, tracking, instr, true)?;
                let (added, released) = (self.added.len(), self.released.len());
                *output = self.apply(&parts);
                let bucket = &mut output[usize::from(PARAMETERS.pressure_bucket)];
                *bucket = raised(*bucket, instr.pressure());
                self.roll_back(added, released);
            }
            CostMode::Pressure => {
                let bucket = &mut output[usize::from(PARAMETERS.pressure_bucket)];
                *bucket = bucket.saturating_add(self.pressure);
            }
        }
        Ok(())
    }

    /// Applies contributions in operand order, journalling every bit that changes.
    fn apply(&mut self, parts: &[Contribution]) -> ResourceVector {
        let mut output = [0; PIPES];
        for part in parts {
            let bucket: &mut i32 = &mut output[part.bucket];
            for unit in part.cost.units() {
                // A release needs a held register and an addition a free one: either way each register counts once.
                if self.is_held(unit) != part.release {
                    continue;
                }
                if part.release {
                    *bucket = bucket.saturating_sub(part.cost.cost);
                    self.held.remove(unit as usize);
                    self.released.push(unit);
                } else {
                    *bucket = bucket.saturating_add(part.cost.cost);
                    self.held.grow_and_insert(unit as usize);
                    self.added.push(unit);
                }
            }
        }
        output
    }

    /// Undoes the journals down to the given lengths.
    fn roll_back(&mut self, added: usize, released: usize) {
        // A register may be released and added again, or the reverse, so neither journal can be undone alone: what the
        // instruction both released and added ends as it began.
        for unit in self.added.drain(added..).chain(self.released.drain(released..)) {
            self.held.toggle(unit as usize);
        }
    }
}

/// The pressure field replaces a smaller bucket, unless it is zero.
fn raised(bucket: i32, pressure: i32) -> i32 {
    if pressure != 0 { bucket.max(pressure) } else { bucket }
}

/// Resolves the operands through the skip rules; `releases` says whether last uses are looked at.
fn contributions<T: RegisterTable + ?Sized>(
    registers: &T,
    tracking: Tracking,
    instr: &ResourceInstr<'_>,
    releases: bool,
) -> Result<SmallVec<[Contribution; 8]>, ResourceError> {
    let p = &*PARAMETERS;
    let sentinels = p.sentinel_register_lo..=p.sentinel_register_hi;
    let mut parts = SmallVec::new();
    for (operand, source) in instr.operands.iter().enumerate() {
        let Some(id) = source.register else { continue };
        if sentinels.contains(&id) {
            continue;
        }
        let Some(desc) = registers.register(id) else {
            return Err(ResourceError::UnknownRegister { operand, id });
        };
        if desc.class > p.register_class_max {
            continue;
        }
        let cost = register_cost(tracking, &desc);
        if cost.units().end > ResourceState::CAPACITY {
            return Err(ResourceError::IndexTooLarge { operand, index: cost.start });
        }
        let release = releases && source.last_use;
        let skipped = if release { !source.release_eligible } else { source.exempt };
        if skipped {
            continue;
        }
        parts.push(Contribution { bucket: usize::from(desc.class), cost, release });
    }
    Ok(parts)
}

/// The 84-byte record of a block: usage, change of pressure, and one word of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockSlot {
    /// Current usage per bucket.
    pub usage: ResourceVector,
    /// Change of pressure caused by scheduling, per bucket.
    pub delta: ResourceVector,
    /// The block has been entered.
    pub entered: bool,
    /// Accumulated pressure (31 bits).
    pub pressure: u32,
}

impl BlockSlot {
    /// Size of the packed form.
    pub const BYTES: usize = RESOURCE_SLOT_SIZE;

    /// The 20-element view: usage first, then delta.
    #[must_use]
    pub fn view(&self) -> [i32; 2 * PIPES] {
        std::array::from_fn(|i| if i < PIPES { self.usage[i] } else { self.delta[i - PIPES] })
    }

    /// Charges one instruction in the three documented phases: own cost into `usage`, net change into `delta`, pressure
    /// into the state word.
    ///
    /// # Errors
    /// As [`ResourceState::cost`]; the slot's numbers are then unchanged.
    pub fn charge<T: RegisterTable + ?Sized>(
        &mut self,
        state: &mut ResourceState,
        registers: &T,
        tracking: Tracking,
        instr: &ResourceInstr<'_>,
    ) -> Result<(), ResourceError> {
        self.entered = true;
        let mut output = [0; PIPES];
        state.cost(CostMode::OwnCost, registers, tracking, instr, &mut output)?;
        accumulate(&mut self.usage, &output);
        state.cost(CostMode::Differential, registers, tracking, instr, &mut output)?;
        accumulate(&mut self.delta, &output);
        let mut pressure = [0; PIPES];
        state.cost(CostMode::Pressure, registers, tracking, instr, &mut pressure)?;
        let gained = pressure[usize::from(PARAMETERS.pressure_bucket)].unsigned_abs();
        self.pressure = self.pressure.saturating_add(gained).min(u32::MAX >> 1);
        Ok(())
    }

    /// Packs the slot, little endian.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let state = (self.pressure << 1) | u32::from(self.entered);
        let mut bytes = [0; Self::BYTES];
        let words = self.view().map(|v| v.to_le_bytes()).into_iter().chain([state.to_le_bytes()]);
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(words) {
            chunk.copy_from_slice(&word);
        }
        bytes
    }

    /// Unpacks a slot; every bit pattern is one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let word = |i: usize| std::array::from_fn(|b| bytes[4 * i + b]);
        let state = u32::from_le_bytes(word(2 * PIPES));
        Self {
            usage: std::array::from_fn(|i| i32::from_le_bytes(word(i))),
            delta: std::array::from_fn(|i| i32::from_le_bytes(word(PIPES + i))),
            entered: state & 1 != 0,
            pressure: state >> 1,
        }
    }
}

fn accumulate(total: &mut ResourceVector, part: &ResourceVector) {
    for (t, p) in total.iter_mut().zip(part) {
        *t = t.saturating_add(*p);
    }
}

#[cfg(test)]
mod tests;
