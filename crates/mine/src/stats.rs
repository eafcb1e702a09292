//! Counts.

/// How often one distance was left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The distance.
    pub cycles: u16,
    /// Pairs with no wait between.
    pub seen: u32,
    /// In how many functions.
    pub functions: u32,
    /// In which files, one bit each; the last bit stands for all further ones.
    pub files: u128,
    /// Of these, pairs where both instructions have the same guard, so that the second surely meets the first.
    pub certain: u32,
    /// In how many functions those are.
    pub certain_functions: u32,
    last: u32,
    last_certain: u32,
}

/// Distances of one kind of pair, smallest first.
#[derive(Clone, Debug, Default)]
pub struct Distances {
    /// Pairs with no wait between, by distance; only the smallest distances are kept.
    pub cells: Vec<Cell>,
    /// All pairs with no wait between.
    pub seen: u64,
    /// All pairs with a wait between, or at the second instruction.
    pub waited: u64,
    /// The smallest distance among those.
    pub least_waited: Option<u16>,
    /// In how many functions, no wait between.
    pub functions: u32,
    /// In which files.
    pub files: u128,
    last: u32,
}

/// Where a pair was seen.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The function, counted from 1.
    pub function: u32,
    /// The file.
    pub file: u32,
}

impl Distances {
    const KEPT: usize = 12;

    /// Counts a pair.
    pub fn add(&mut self, place: Place, cycles: u16, waited: bool, certain: bool) {
        if waited {
            self.waited += 1;
            self.least_waited = Some(self.least_waited.map_or(cycles, |least| least.min(cycles)));
            return;
        }
        let file = 1 << place.file.min(127);
        self.seen += 1;
        self.files |= file;
        self.functions += u32::from(std::mem::replace(&mut self.last, place.function) != place.function);
        let at = self.cells.partition_point(|cell| cell.cycles < cycles);
        if self.cells.get(at).is_none_or(|cell| cell.cycles != cycles) {
            if at == Self::KEPT {
                return;
            }
            self.cells.insert(at, Cell { cycles, ..Cell::default() });
            self.cells.truncate(Self::KEPT);
        }
        let cell = &mut self.cells[at];
        cell.seen += 1;
        cell.files |= file;
        cell.functions += u32::from(std::mem::replace(&mut cell.last, place.function) != place.function);
        if certain {
            let last = std::mem::replace(&mut cell.last_certain, place.function);
            cell.certain += 1;
            cell.certain_functions += u32::from(last != place.function);
        }
    }

    /// The smallest distance with no wait between.
    pub fn least(&self) -> Option<u16> {
        self.cells.first().map(|cell| cell.cycles)
    }

    /// Adds what was counted of another kind of pair. Functions that hold both are counted twice: what is asked of
    /// their number is a threshold, and kinds are joined only when each is rare.
    pub fn join(&mut self, other: &Distances) {
        self.seen += other.seen;
        self.waited += other.waited;
        self.least_waited = match (self.least_waited, other.least_waited) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.functions += other.functions;
        self.files |= other.files;
        for cell in &other.cells {
            let at = self.cells.partition_point(|mine| mine.cycles < cell.cycles);
            match self.cells.get_mut(at).filter(|mine| mine.cycles == cell.cycles) {
                Some(mine) => {
                    mine.seen += cell.seen;
                    mine.functions += cell.functions;
                    mine.files |= cell.files;
                    mine.certain += cell.certain;
                    mine.certain_functions += cell.certain_functions;
                }
                None => self.cells.insert(at, *cell),
            }
        }
        self.cells.truncate(Self::KEPT);
    }
}

/// What instructions of one opcode carry.
#[derive(Clone, Debug, Default)]
pub struct OpcodeCounts {
    /// Instructions.
    pub seen: u64,
    /// That write a register.
    pub writes: u64,
    /// That set a write scoreboard.
    pub write_board: u64,
    /// That set a read scoreboard.
    pub read_board: u64,
    /// By stall.
    pub stalls: [u64; 16],
    /// In how many functions.
    pub functions: u32,
    /// In which files.
    pub files: u128,
    last: u32,
}

impl OpcodeCounts {
    pub(crate) fn add(&mut self, place: Place, writes: bool, write: bool, read: bool, stall: u8) {
        self.seen += 1;
        self.writes += u64::from(writes);
        self.write_board += u64::from(write);
        self.read_board += u64::from(read);
        self.stalls[usize::from(stall & 15)] += 1;
        self.files |= 1 << place.file.min(127);
        self.functions += u32::from(std::mem::replace(&mut self.last, place.function) != place.function);
    }

    /// Adds what was counted elsewhere.
    pub fn join(&mut self, other: &OpcodeCounts) {
        self.seen += other.seen;
        self.writes += other.writes;
        self.write_board += other.write_board;
        self.read_board += other.read_board;
        for (mine, theirs) in self.stalls.iter_mut().zip(&other.stalls) {
            *mine += theirs;
        }
        self.functions += other.functions;
        self.files |= other.files;
    }
}
