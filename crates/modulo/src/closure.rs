//! The longest paths between all operations at a given II: how far apart two operations must start at least.
//!
//! Goal: a window query `[early, late]` in constant time per placed operation. The weight of an edge is
//! `latency − II·distance`, every operation reaches itself with 0, and "no path" is a sentinel far below every path. A
//! circuit of positive weight means that no schedule of this II exists, and is found by the same computation.
//!
//! Algorithm: Floyd–Warshall over (max, +) in tiles (Venkataraman, Sahni and Mukhopadhyaya, 2003): per block of 64
//! operations the diagonal tile is closed, then its row and its column, then all other tiles, and all but the first step
//! is one product of tiles. The product keeps a few rows of two vectors in registers while it goes through all 64
//! middle operations, so that loads and stores of the result are amortised over 64 relaxations. Tiles are
//! contiguous: at sizes that are powers of two, rows of a plain matrix would fall on the same cache sets. Tiles in which no
//! path exists are skipped. `multiversion` compiles the product for AVX2 beside the portable form; both are the same
//! source, and both are exact, so that their results are identical.
//!
//! Exactness: let `up` be the sum, over all operations, of the largest weight that leaves each (at least 0), and `down`
//! the same of the most negative ones. Simple paths lie within `[−down, up]`, and a chain that passes a missing edge is at
//! most `NO_PATH + up`. Where `up + down` is less than the distance from 0 to `NO_PATH` the two cannot be confused, and the
//! former are not overflown: before a positive circuit closes, no cell exceeds `up`, and the diagonal is looked at
//! before each middle operation is used. Cells never fall, so they stay at or above `NO_PATH`: the sum of two is within
//! `i32` (`NO_PATH` is −2³⁰ there), and saturates in `i16`. Weights that are too large for a width are refused. Chains over
//! missing edges become `NO_PATH` again at the end.
//!
//! Cost: n³ relaxations and n² cells, with n rounded up to a multiple of 64.
//!
//! Source: `tile-scheduler`, "All-Pairs Distance Matrix". It prints the closure once with max and once with min;
//! dependences need the longest path.

use cranelift_entity::EntityRef;
use multiversion::multiversion;
use sassafras_problem::{Op, Problem};
use thiserror::Error;

/// Rows and columns of a tile.
const SIDE: usize = 64;
/// Rows of the result that the product of two tiles keeps in registers.
const REGISTER_ROWS: usize = 4;

type Tile<T> = [[T; SIDE]; SIDE];

/// The most operations that are closed: a matrix of 1 GiB in `i32`.
pub const MAX_OPS: usize = 1 << 14;

/// Why there are no longest paths.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClosureError {
    /// A circuit of positive weight: no schedule of this II exists.
    #[error("operation {0} would have to start after itself: the initiation interval is too small")]
    PositiveCircuit(usize),
    /// Paths could be too long for the numbers.
    #[error("paths between {0} and {1} do not fit the width of the distances")]
    TooWide(i64, i64),
    /// More operations than [`MAX_OPS`].
    #[error("{0} operations are too many for all pairs of them")]
    TooMany(usize),
    /// The matrix is not square, or an edge names an operation that there is none of.
    #[error("the matrix is not square, or an edge leaves it")]
    Shape,
}

/// A number that distances are kept in: `i32` or `i16`.
pub trait Cell: Copy + Ord + Default + Into<i64> + TryFrom<i64> + sealed::Sealed {
    /// "No path": below every path, and the sum of two does not wrap.
    const NO_PATH: Self;
    /// The sum, for cells as the module's comment bounds them.
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
    /// `c = max(c, a ⊗ b)` with the vectors of this machine.
    #[doc(hidden)]
    fn product(c: &mut Tile<Self>, a: &Tile<Self>, b: &Tile<Self>);
    /// Closes a diagonal tile with the vectors of this machine.
    #[doc(hidden)]
    fn close_tile(tile: &mut Tile<Self>, ops: usize) -> Result<(), usize>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i16 {}
}

impl Cell for i32 {
    const NO_PATH: i32 = -(1 << 30);
    #[inline(always)]
    fn plus(self, other: i32) -> i32 {
        self.wrapping_add(other)
    }
    fn product(c: &mut Tile<i32>, a: &Tile<i32>, b: &Tile<i32>) {
        product_i32(c, a, b);
    }
    fn close_tile(tile: &mut Tile<i32>, ops: usize) -> Result<(), usize> {
        close_tile_i32(tile, ops)
    }
}

impl Cell for i16 {
    const NO_PATH: i16 = i16::MIN;
    #[inline(always)]
    fn plus(self, other: i16) -> i16 {
        self.saturating_add(other)
    }
    fn product(c: &mut Tile<i16>, a: &Tile<i16>, b: &Tile<i16>) {
        product_i16(c, a, b);
    }
    fn close_tile(tile: &mut Tile<i16>, ops: usize) -> Result<(), usize> {
        close_tile_i16(tile, ops)
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn product_i32(c: &mut Tile<i32>, a: &Tile<i32>, b: &Tile<i32>) {
    product::<i32, 16>(c, a, b);
}

#[multiversion(targets("x86_64+avx2"))]
fn product_i16(c: &mut Tile<i16>, a: &Tile<i16>, b: &Tile<i16>) {
    product::<i16, 32>(c, a, b);
}

#[multiversion(targets("x86_64+avx2"))]
fn close_tile_i32(tile: &mut Tile<i32>, ops: usize) -> Result<(), usize> {
    close_tile(tile, ops)
}

#[multiversion(targets("x86_64+avx2"))]
fn close_tile_i16(tile: &mut Tile<i16>, ops: usize) -> Result<(), usize> {
    close_tile(tile, ops)
}

/// `c = max(c, a ⊗ b)`: `REGISTER_ROWS` rows of `LANES` columns at a time, all middle operations in between. Inlined into
/// its callers, which are compiled for the vectors they name.
#[inline(always)]
fn product<T: Cell, const LANES: usize>(c: &mut Tile<T>, a: &Tile<T>, b: &Tile<T>) {
    let (c, _) = c.as_chunks_mut::<REGISTER_ROWS>();
    let (a, _) = a.as_chunks::<REGISTER_ROWS>();
    for (c, a) in c.iter_mut().zip(a) {
        for column in 0..SIDE / LANES {
            let mut sums = [[T::NO_PATH; LANES]; REGISTER_ROWS];
            for (sum, row) in sums.iter_mut().zip(c.iter()) {
                *sum = row.as_chunks::<LANES>().0[column];
            }
            for (middle, row) in b.iter().enumerate() {
                let row = &row.as_chunks::<LANES>().0[column];
                for (sum, a) in sums.iter_mut().zip(a) {
                    let first = a[middle];
                    for (sum, &second) in sum.iter_mut().zip(row) {
                        *sum = (*sum).max(first.plus(second));
                    }
                }
            }
            for (sum, row) in sums.iter().zip(c.iter_mut()) {
                row.as_chunks_mut::<LANES>().0[column] = *sum;
            }
        }
    }
}

/// Closes the diagonal tile of `ops` operations in place, or says which of them lies on a positive circuit. Inlined as the
/// product is.
#[inline(always)]
fn close_tile<T: Cell>(tile: &mut Tile<T>, ops: usize) -> Result<(), usize> {
    for middle in 0..ops.min(SIDE) {
        // Before the operation is used: afterwards the cells could double with each further one.
        if tile[middle][middle] > T::default() {
            return Err(middle);
        }
        let through = tile[middle];
        for row in tile.iter_mut().take(ops) {
            let first = row[middle];
            for (cell, second) in row.iter_mut().zip(through) {
                *cell = (*cell).max(first.plus(second));
            }
        }
    }
    Ok(())
}

/// The range that simple paths lie in: the sums of the largest and of the most negative weights leaving each operation.
fn extent<T: Cell>(matrix: &[T], n: usize) -> (i64, i64) {
    matrix.chunks_exact(n.max(1)).fold((0, 0), |(down, up), row| {
        let real = || row.iter().copied().filter(|&w| w != T::NO_PATH).map(Into::<i64>::into);
        (down + real().min().unwrap_or(0).min(0), up + real().max().unwrap_or(0).max(0))
    })
}

/// Closes a matrix of `n` rows in place: cell `from·n + to` holds the weight of the edge or [`Cell::NO_PATH`], and
/// afterwards the longest path. The diagonal counts as 0 where it is less.
///
/// After an error the matrix holds nothing of use.
pub fn close<T: Cell>(matrix: &mut [T], n: usize) -> Result<(), ClosureError> {
    let up = prepare(matrix, n)?;
    if n == 0 {
        return Ok(());
    }
    let blocks = n.div_ceil(SIDE);
    let mut tiles = vec![[[T::NO_PATH; SIDE]; SIDE]; blocks * blocks];
    for (from, row) in matrix.chunks_exact(n).enumerate() {
        for (block, part) in row.chunks(SIDE).enumerate() {
            tiles[from / SIDE * blocks + block][from % SIDE][..part.len()].copy_from_slice(part);
        }
    }
    // What is at most this passes a missing edge.
    let missing = missing::<T>(up);
    let empty = |tile: &Tile<T>| tile.as_flattened().iter().fold(T::NO_PATH, |a, &b| a.max(b)) <= missing;
    let mut row: Vec<Tile<T>> = Vec::with_capacity(blocks);
    for k in 0..blocks {
        T::close_tile(&mut tiles[k * blocks + k], n - k * SIDE)
            .map_err(|op| ClosureError::PositiveCircuit(k * SIDE + op))?;
        let diagonal = tiles[k * blocks + k];
        // A closed diagonal tile is its own square, so that row and column need one product each, from what they were.
        for j in (0..blocks).filter(|&j| j != k) {
            let before = tiles[k * blocks + j];
            if !empty(&before) {
                T::product(&mut tiles[k * blocks + j], &diagonal, &before);
            }
        }
        row.clear();
        row.extend_from_slice(&tiles[k * blocks..][..blocks]);
        let used: Vec<usize> = (0..blocks).filter(|&j| j != k && !empty(&row[j])).collect();
        for i in (0..blocks).filter(|&i| i != k) {
            let before = tiles[i * blocks + k];
            if empty(&before) {
                continue;
            }
            T::product(&mut tiles[i * blocks + k], &before, &diagonal);
            let first = tiles[i * blocks + k];
            for &j in &used {
                T::product(&mut tiles[i * blocks + j], &first, &row[j]);
            }
        }
    }
    for (from, row) in matrix.chunks_exact_mut(n).enumerate() {
        for (block, part) in row.chunks_mut(SIDE).enumerate() {
            for (cell, &path) in part.iter_mut().zip(&tiles[from / SIDE * blocks + block][from % SIDE]) {
                *cell = if path <= missing { T::NO_PATH } else { path };
            }
        }
    }
    Ok(())
}

/// The textbook's three loops, cell by cell: what [`close`] must agree with, and the baseline of the benchmark.
pub fn close_scalar<T: Cell>(matrix: &mut [T], n: usize) -> Result<(), ClosureError> {
    let missing = missing::<T>(prepare(matrix, n)?);
    for middle in 0..n {
        if matrix[middle * n + middle] > T::default() {
            return Err(ClosureError::PositiveCircuit(middle));
        }
        for from in 0..n {
            let first = matrix[from * n + middle];
            if first <= missing {
                continue;
            }
            for to in 0..n {
                let path = first.plus(matrix[middle * n + to]);
                if path > matrix[from * n + to] {
                    matrix[from * n + to] = path;
                }
            }
        }
    }
    for cell in matrix.iter_mut().filter(|c| **c <= missing) {
        *cell = T::NO_PATH;
    }
    Ok(())
}

/// Checks shape and width, lets every operation reach itself, and returns the length of the longest path there can be.
fn prepare<T: Cell>(matrix: &mut [T], n: usize) -> Result<i64, ClosureError> {
    if n > MAX_OPS {
        return Err(ClosureError::TooMany(n));
    }
    if matrix.len() != n * n {
        return Err(ClosureError::Shape);
    }
    for op in 0..n {
        let own = &mut matrix[op * n + op];
        *own = (*own).max(T::default());
    }
    let (down, up) = extent(matrix, n);
    let room: i64 = -T::NO_PATH.into();
    if up - down >= room { Err(ClosureError::TooWide(down, up)) } else { Ok(up) }
}

/// The largest cell that stands for "no path" where no path is longer than `up`.
fn missing<T: Cell>(up: i64) -> T {
    T::try_from(T::NO_PATH.into() + up).unwrap_or(T::NO_PATH)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Cells {
    Narrow(Vec<i16>),
    Wide(Vec<i32>),
}

/// The longest paths between the operations of a problem at one II.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distances {
    n: usize,
    ii: u32,
    cells: Cells,
}

impl Distances {
    /// Closes the edges of `problem` at `ii`: in 16 bits where all paths fit, in 32 otherwise.
    pub fn new(problem: &Problem, ii: u32) -> Result<Distances, ClosureError> {
        let n = problem.ops().len();
        if n > MAX_OPS {
            return Err(ClosureError::TooMany(n));
        }
        let cells = match weights::<i16>(problem, ii).and_then(|m| closed(m, n)) {
            Ok(matrix) => Cells::Narrow(matrix),
            Err(ClosureError::TooWide(..)) => Cells::Wide(closed(weights(problem, ii)?, n)?),
            Err(error) => return Err(error),
        };
        Ok(Distances { n, ii, cells })
    }

    /// The II that the paths hold for.
    pub fn ii(&self) -> u32 {
        self.ii
    }

    /// How many cycles `to` starts after `from` at least; nothing where no path leads there.
    pub fn get(&self, from: Op, to: Op) -> Option<i32> {
        self.at(from.index(), to.index())
    }

    /// The same for positions in the order of operations.
    pub(crate) fn at(&self, from: usize, to: usize) -> Option<i32> {
        if to >= self.n {
            return None;
        }
        let cell = from.checked_mul(self.n)?.checked_add(to)?;
        match &self.cells {
            Cells::Narrow(m) => m.get(cell).filter(|&&d| d != i16::NO_PATH).map(|&d| i32::from(d)),
            Cells::Wide(m) => m.get(cell).filter(|&&d| d != i32::NO_PATH).copied(),
        }
    }
}

fn closed<T: Cell>(mut matrix: Vec<T>, n: usize) -> Result<Vec<T>, ClosureError> {
    close(&mut matrix, n).map(|()| matrix)
}

/// The edges as a matrix; of several between the same operations the tightest.
fn weights<T: Cell>(problem: &Problem, ii: u32) -> Result<Vec<T>, ClosureError> {
    let n = problem.ops().len();
    let mut matrix = vec![T::NO_PATH; n * n];
    for e in problem.edges() {
        let (from, to) = (e.from.index(), e.to.index());
        if from >= n || to >= n {
            return Err(ClosureError::Shape);
        }
        // Saturated where nobody has checked the problem: far too wide in any case.
        let weight = i64::from(e.latency).saturating_sub(i64::from(ii).saturating_mul(e.distance.into()));
        let cell = T::try_from(weight).ok().filter(|&c| c > T::NO_PATH);
        let cell = cell.ok_or(ClosureError::TooWide(weight.min(0), weight.max(0)))?;
        let old = &mut matrix[from * n + to];
        *old = (*old).max(cell);
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: i32 = i32::NO_PATH;

    #[test]
    fn a_chain() {
        let mut m = [X, 5, X, X, X, 7, -20, X, X];
        assert_eq!(close(&mut m, 3), Ok(()));
        assert_eq!(m, [0, 5, 12, -13, 0, 7, -20, -15, 0]);
    }

    #[test]
    fn positive_circuits_and_bad_input() {
        assert_eq!(close(&mut [X, 5, -4, X], 2), Err(ClosureError::PositiveCircuit(1)));
        assert_eq!(close(&mut [1], 1), Err(ClosureError::PositiveCircuit(0)));
        assert_eq!(close(&mut [X; 3], 2), Err(ClosureError::Shape));
        assert_eq!(close::<i32>(&mut [], 0), Ok(()));
        assert_eq!(close(&mut [X, 1 << 30, X, X], 2), Err(ClosureError::TooWide(0, 1 << 30)));
        assert_eq!(
            close(&mut [i16::MIN, 30_000, -3_000, i16::MIN], 2),
            Err(ClosureError::TooWide(-3_000, 30_000))
        );
        assert_eq!(close::<i32>(&mut [], MAX_OPS + 1), Err(ClosureError::TooMany(MAX_OPS + 1)));
    }

    #[test]
    fn the_portable_product_is_the_same() {
        let mut state = 1u64;
        let mut tile = || {
            [(); SIDE].map(|()| {
                [(); SIDE].map(|()| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    if state >> 62 == 0 { i16::NO_PATH } else { (state >> 50) as i16 - 8192 }
                })
            })
        };
        let wide = |t: &Tile<i16>| t.map(|r| r.map(|c| if c == i16::NO_PATH { X } else { i32::from(c) }));
        for _ in 0..20 {
            let (c, a, b) = (tile(), tile(), tile());
            let (mut fast, mut portable) = (c, c);
            i16::product(&mut fast, &a, &b);
            product::<i16, 32>(&mut portable, &a, &b);
            assert_eq!(fast, portable);
            let (c, a, b) = (wide(&c), wide(&a), wide(&b));
            let (mut fast, mut portable) = (c, c);
            i32::product(&mut fast, &a, &b);
            product::<i32, 16>(&mut portable, &a, &b);
            assert_eq!(fast, portable);
        }
    }

    #[test]
    fn wide_where_narrow_does_not_do() {
        let mut p = Problem::new();
        let [a, b] = ["a", "b"].map(|n| p.add_op(n, vec![]));
        p.add_edge(a, b, 6, 0);
        p.add_edge(b, a, 100_000, 50_000);
        assert!(matches!(Distances::new(&p, 2), Err(ClosureError::PositiveCircuit(_))));
        let d = Distances::new(&p, 3).expect("feasible");
        assert_eq!((d.get(a, b), d.get(b, a), d.get(a, a)), (Some(6), Some(-50_000), Some(0)));
        assert!(matches!(Distances::new(&p, u32::MAX), Err(ClosureError::TooWide(..))));
        assert_eq!(d.get(a, Op::from_u32(2)), None);
    }
}
