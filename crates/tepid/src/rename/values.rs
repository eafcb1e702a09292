//! The values of a block: what is defined at one place and read at others, with all that must share its registers.

use super::is_renamed;
use rustc_hash::FxHashMap;
use sassafras_ir::{Function, Lane, Operand, Payload, RegClass, Span};
use sassafras_machine::Arch;
use sassafras_sass::rename::{Renamer, alignment};

/// The values of a block. A *value* is everything that has to move together: the lanes of a tuple, and definitions of which only the
/// program knows which one a reader sees.
pub struct Values {
    /// By position and lane that is read or written: the value.
    reads: FxHashMap<(u32, Lane), u32>,
    writes: FxHashMap<(u32, Lane), u32>,
    /// By value.
    all: Vec<Value>,
    /// Fixed lanes with the positions that touch them: by lane, readers and writers of values that keep it.
    pub kept: Vec<Kept>,
}

/// A value.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its lanes in the order of their numbers, as they were named before.
    pub lanes: Vec<Lane>,
    /// How far another place may be from the old one: a multiple of this.
    pub step: u32,
    /// Whether it had better be in the other bank.
    pub flipped: bool,
    /// Whether it may go elsewhere.
    pub freed: bool,
    /// The virtual number of its first lane.
    first_virtual: u32,
    /// By lane: positions that define and that read it.
    pub defined: Vec<Vec<u32>>,
    pub used: Vec<Vec<u32>>,
}

/// A value that keeps its lane.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The lane.
    pub lane: Lane,
    /// It is there when the block starts.
    pub comes: bool,
    /// It is wanted when the block has ended.
    pub leaves: bool,
    /// Positions that define and that read it.
    pub defined: Vec<u32>,
    pub used: Vec<u32>,
}

/// One definition of a lane, or what it holds when the block starts.
struct Atom {
    lane: Lane,
    comes: bool,
    leaves: bool,
    fixed: bool,
    defined: Vec<u32>,
    used: Vec<u32>,
}

struct Finder {
    atoms: Vec<Atom>,
    parent: Vec<u32>,
    /// The widest tuple that the atom is part of, by root.
    widest: Vec<u8>,
    now: FxHashMap<Lane, u32>,
    reads: FxHashMap<(u32, Lane), u32>,
    writes: FxHashMap<(u32, Lane), u32>,
}

impl Values {
    /// Those of a function of one block, behind which these lanes are wanted.
    pub fn new(f: &Function, arch: Arch, wanted: &[Lane]) -> Values {
        let renamer = Renamer::new(arch);
        let mut finder = Finder {
            atoms: Vec::new(),
            parent: Vec::new(),
            widest: Vec::new(),
            now: FxHashMap::default(),
            reads: FxHashMap::default(),
            writes: FxHashMap::default(),
        };
        for &inst in f.blocks().flat_map(|block| f.block_insts(block)) {
            let at = inst.as_u32();
            let mut read: Vec<Span> = f.inst(inst).guard.iter().map(|guard| guard.lane.into()).collect();
            let mut tied = Vec::new();
            for operand in f.uses(inst) {
                if let Operand::Tied { span, def } = *operand {
                    tied.push((span, def));
                }
                read.extend(operand.span());
            }
            read.extend(f.accesses(inst).flat_map(|(access, _)| access.address()));
            let written: Vec<Span> = f.defs(inst).iter().filter_map(|def| def.span()).collect();
            let mut fixed = Vec::new();
            let mut both = Vec::new();
            match f.inst(inst).payload {
                Payload::Word(word) => match renamer.fields(word) {
                    Some(fields) => {
                        both.extend(
                            fields.named.iter().filter(|f| f.is_read() && f.is_written()).map(|f| f.span),
                        );
                        fixed = fields.fixed.to_vec();
                    }
                    None => fixed = read.iter().chain(&written).flat_map(|span| span.lanes()).collect(),
                },
                Payload::None | Payload::Text(_) => {}
            }
            for &span in &read {
                finder.read(at, span);
            }
            let before: Vec<Option<u32>> =
                both.iter().map(|span| finder.now.get(&span.first()).copied()).collect();
            let ties: Vec<(Option<u32>, u8)> =
                tied.iter().map(|&(span, def)| (finder.now.get(&span.first()).copied(), def)).collect();
            fixed.iter().for_each(|&lane| finder.fix(lane));
            for &span in &written {
                finder.write(at, span, f.kills(inst));
            }
            fixed
                .iter()
                .filter(|&&lane| written.iter().any(|span| span.overlaps(lane.into())))
                .for_each(|&lane| finder.fix(lane));
            for (span, before) in both.iter().zip(before) {
                if let (Some(before), Some(&after)) = (before, finder.now.get(&span.first())) {
                    finder.unite(before, after);
                }
            }
            for (before, def) in ties {
                let after = f.defs(inst).get(usize::from(def)).and_then(|def| def.span());
                if let (Some(before), Some(after)) =
                    (before, after.and_then(|span| finder.now.get(&span.first()).copied()))
                {
                    finder.unite(before, after);
                }
            }
        }
        for &lane in wanted {
            let atom = finder.now(lane);
            finder.atoms[atom as usize].leaves = true;
            finder.atoms[atom as usize].fixed = true;
        }
        finder.finish()
    }

    /// Whether nothing can be renamed.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Lets only those values go elsewhere that `chosen` accepts.
    pub fn keep_others(&mut self, chosen: impl Fn(u32) -> bool) {
        for (number, value) in (0..).zip(&mut self.all) {
            value.freed = chosen(number);
        }
    }

    /// Whether a value may go elsewhere.
    pub fn is_freed(&self, value: u32) -> bool {
        self.all[value as usize].freed
    }

    /// The values.
    pub fn all(&self) -> &[Value] {
        &self.all
    }

    /// Lanes that are read, with their value.
    pub fn reads(&self) -> &FxHashMap<(u32, Lane), u32> {
        &self.reads
    }

    /// Lanes that are written, with their value.
    pub fn writes(&self) -> &FxHashMap<(u32, Lane), u32> {
        &self.writes
    }

    /// Whether a value can be in either bank.
    pub fn has_choice(&self, value: u32) -> bool {
        let value = &self.all[value as usize];
        value.freed && value.step == 1 && value.lanes.len() == 1 && value.lanes[0].class() == RegClass::Gpr
    }

    /// Puts a value into the other bank.
    pub fn flip(&mut self, value: u32) {
        let value = &mut self.all[value as usize];
        value.flipped = !value.flipped;
        // Numbers of banks alternate, and single registers have neighbours to spare.
        value.first_virtual ^= 1;
    }

    /// The virtual lane that is read in place of one.
    pub fn virtual_read(&self, at: u32, lane: Lane) -> Option<Lane> {
        self.virtual_lane(*self.reads.get(&(at, lane))?, lane)
    }

    /// The virtual lane that is written in place of one.
    pub fn virtual_written(&self, at: u32, lane: Lane) -> Option<Lane> {
        self.virtual_lane(*self.writes.get(&(at, lane))?, lane)
    }

    fn virtual_lane(&self, value: u32, lane: Lane) -> Option<Lane> {
        let value = &self.all[value as usize];
        if !value.freed {
            return None;
        }
        let first = value.lanes[0];
        Lane::virt(lane.class(), value.first_virtual + lane.index() - first.index())
    }
}

impl Finder {
    fn add(&mut self, lane: Lane, comes: bool) -> u32 {
        let atom = self.atoms.len() as u32;
        // What comes into the block stays where it is.
        let fixed = comes || !is_renamed(lane.class());
        self.atoms.push(Atom { lane, comes, leaves: false, fixed, defined: Vec::new(), used: Vec::new() });
        self.parent.push(atom);
        self.widest.push(1);
        self.now.insert(lane, atom);
        atom
    }

    /// What a lane holds.
    fn now(&mut self, lane: Lane) -> u32 {
        match self.now.get(&lane) {
            Some(&atom) => atom,
            None => self.add(lane, true),
        }
    }

    fn fix(&mut self, lane: Lane) {
        let atom = self.now(lane);
        self.atoms[atom as usize].fixed = true;
    }

    fn root(&mut self, mut atom: u32) -> u32 {
        while self.parent[atom as usize] != atom {
            let above = self.parent[self.parent[atom as usize] as usize];
            self.parent[atom as usize] = above;
            atom = above;
        }
        atom
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[b as usize] = a;
        self.widest[a as usize] = self.widest[a as usize].max(self.widest[b as usize]);
    }

    fn tuple(&mut self, atoms: &[u32]) {
        for pair in atoms.windows(2) {
            self.unite(pair[0], pair[1]);
        }
        let root = self.root(atoms[0]);
        self.widest[root as usize] = self.widest[root as usize].max(atoms.len() as u8);
    }

    fn read(&mut self, at: u32, span: Span) {
        let atoms: Vec<u32> = span.lanes().map(|lane| self.now(lane)).collect();
        for (lane, &atom) in span.lanes().zip(&atoms) {
            self.atoms[atom as usize].used.push(at);
            self.reads.insert((at, lane), atom);
        }
        self.tuple(&atoms);
    }

    fn write(&mut self, at: u32, span: Span, certain: bool) {
        let mut atoms = Vec::new();
        for lane in span.lanes() {
            let before = (!certain).then(|| self.now(lane));
            let atom = self.add(lane, false);
            self.atoms[atom as usize].defined.push(at);
            self.writes.insert((at, lane), atom);
            if let Some(before) = before {
                // Where the guard does not hold, the register keeps what it had.
                self.unite(before, atom);
            }
            atoms.push(atom);
        }
        self.tuple(&atoms);
    }

    fn finish(mut self) -> Values {
        let count = self.atoms.len() as u32;
        let roots: Vec<u32> = (0..count).map(|atom| self.root(atom)).collect();
        let mut fixed = vec![false; count as usize];
        for (atom, &root) in self.atoms.iter().zip(&roots) {
            fixed[root as usize] |= atom.fixed;
        }
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        let (mut all, mut kept) = (Vec::<Value>::new(), FxHashMap::<(u32, Lane), Kept>::default());
        for (atom, &root) in self.atoms.iter().zip(&roots) {
            if fixed[root as usize] {
                let new = || Kept {
                    lane: atom.lane,
                    comes: false,
                    leaves: false,
                    defined: Vec::new(),
                    used: Vec::new(),
                };
                let entry = kept.entry((root, atom.lane)).or_insert_with(new);
                entry.comes |= atom.comes;
                entry.leaves |= atom.leaves;
                entry.defined.extend(&atom.defined);
                entry.used.extend(&atom.used);
                continue;
            }
            let number = *numbers.entry(root).or_insert_with(|| {
                let step = alignment(self.widest[root as usize]);
                all.push(Value {
                    lanes: Vec::new(),
                    step,
                    flipped: false,
                    freed: true,
                    first_virtual: 0,
                    defined: Vec::new(),
                    used: Vec::new(),
                });
                all.len() as u32 - 1
            });
            let value = &mut all[number as usize];
            let place = match value.lanes.binary_search(&atom.lane) {
                Ok(place) => place,
                Err(place) => {
                    value.lanes.insert(place, atom.lane);
                    value.defined.insert(place, Vec::new());
                    value.used.insert(place, Vec::new());
                    place
                }
            };
            value.defined[place].extend(&atom.defined);
            value.used[place].extend(&atom.used);
        }
        let mut next = 0;
        for value in &mut all {
            let (first, last) = (value.lanes[0].index(), value.lanes[value.lanes.len() - 1].index());
            value.first_virtual = next + first % ALIKE;
            next += (first % ALIKE + last - first + 1).next_multiple_of(ALIKE);
        }
        let of = |map: FxHashMap<(u32, Lane), u32>| {
            let named = map
                .into_iter()
                .filter_map(|(key, atom)| numbers.get(&roots[atom as usize]).map(|&value| (key, value)));
            named.collect()
        };
        let (reads, writes) = (of(self.reads), of(self.writes));
        let mut kept: Vec<Kept> = kept.into_values().collect();
        kept.sort_unstable_by_key(|kept| {
            (kept.lane, kept.defined.first().copied(), kept.used.first().copied())
        });
        Values { reads, writes, all, kept }
    }
}

/// Virtual registers are as far from a multiple of this as those that they stand for.
const ALIKE: u32 = 8;
