//! What must hold of shapes before anything is scheduled, and the loop over tiles that is built from them.
//!
//! A persistent kernel runs a loop over output tiles in every cluster: the index starts at the cluster's number and grows
//! by the number of clusters. It counts in 64 bits where 32 do not hold the last index and one step beyond it.
//!
//! Source: `tile-scheduler` ("Shared Helpers").

use sassafras_tileir::program::{Descriptor, Persistent, Program};
use sassafras_tileir::scheduled::{TileLoop, WorkTile};
use thiserror::Error;

/// Shapes that do not agree.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContractError {
    /// Different numbers of dimensions.
    #[error("the problem has {problem} dimensions, tiles have {tile} and clusters {cluster}")]
    Rank {
        /// Of the problem.
        problem: usize,
        /// Of tiles.
        tile: usize,
        /// Of clusters.
        cluster: usize,
    },
    /// An extent of 0.
    #[error("{what} has an extent of 0 in dimension {dimension}")]
    Zero {
        /// The shape.
        what: &'static str,
        /// The dimension.
        dimension: usize,
    },
    /// Tiles that do not divide among the blocks of a cluster.
    #[error("{tiles} tiles in dimension {dimension} cannot be divided among clusters of {cluster}")]
    Cluster {
        /// The dimension.
        dimension: usize,
        /// Tiles there.
        tiles: u64,
        /// Blocks of a cluster there.
        cluster: u64,
    },
    /// More tiles than 64 bits count.
    #[error("the problem has more tiles than can be counted")]
    TooMany,
    /// Work tiles without a loop over tiles.
    #[error("work tiles are given, but no problem that they are tiles of")]
    Loopless,
    /// A work tile that is given twice.
    #[error("work tile {0:?} is given twice")]
    Twice(Vec<u64>),
    /// Work-tile information whose parts differ in representation.
    #[error("work-tile information mixes {0} and {1}")]
    Mixed(&'static str, &'static str),
    /// Work-tile information of the wrong length.
    #[error("work-tile information has {found} coordinates, the problem has {wanted} dimensions")]
    Coordinates {
        /// What there are.
        found: usize,
        /// What is wanted.
        wanted: usize,
    },
}

/// The loop over tiles that a loop's shapes ask for, if they agree. Asked before anything is scheduled.
pub fn check(program: &Program, clusters: u64) -> Result<Option<TileLoop>, ContractError> {
    match &program.persistent {
        Some(shape) => tile_loop(shape, &program.work_tiles, clusters).map(Some),
        None if !program.work_tiles.is_empty() => Err(ContractError::Loopless),
        None => Ok(None),
    }
}

/// Tiles in each dimension, and all of them.
fn tiles(shape: &Persistent) -> Result<(Vec<u64>, u64), ContractError> {
    let Persistent { problem, tile, cluster } = shape;
    if problem.len() != tile.len() || problem.len() != cluster.len() || problem.is_empty() {
        return Err(ContractError::Rank { problem: problem.len(), tile: tile.len(), cluster: cluster.len() });
    }
    for (what, extents) in [("the problem", problem), ("a tile", tile), ("a cluster", cluster)] {
        if let Some(dimension) = extents.iter().position(|&e| e == 0) {
            return Err(ContractError::Zero { what, dimension });
        }
    }
    let mut all = 1u64;
    let mut each = Vec::new();
    for (dimension, ((&p, &t), &c)) in problem.iter().zip(tile).zip(cluster).enumerate() {
        let tiles = p.div_ceil(t);
        if tiles % c != 0 {
            return Err(ContractError::Cluster { dimension, tiles, cluster: c });
        }
        all = all.checked_mul(tiles).ok_or(ContractError::TooMany)?;
        each.push(tiles);
    }
    Ok((each, all))
}

/// The loop over tiles for so many clusters; each takes as many tiles at once as it has blocks. Where work tiles are given, the
/// index counts them.
fn tile_loop(shape: &Persistent, work: &[Descriptor], clusters: u64) -> Result<TileLoop, ContractError> {
    let (each, all) = tiles(shape)?;
    let work = work_tiles(shape, work)?;
    let blocks: u64 = shape.cluster.iter().product();
    let count = if work.is_empty() { all / blocks.max(1) } else { work.len() as u64 };
    let step = clusters.max(1);
    let last = count.checked_add(step).ok_or(ContractError::TooMany)?;
    let index_bits = if last > i32::MAX as u64 { 64 } else { 32 };
    let coordinates = TileLoop::coordinates_of(shape, &each);
    Ok(TileLoop { shape: shape.clone(), tiles: each, count, step, index_bits, coordinates, work })
}

/// Work tiles of a loop from descriptors, all of one kind, checked against the shape. One that lies outside of the problem is
/// not valid, as a scheduler that runs out of work says it.
fn work_tiles(shape: &Persistent, from: &[Descriptor]) -> Result<Vec<WorkTile>, ContractError> {
    let rank = shape.problem.len();
    let name = |d: &Descriptor| match d {
        Descriptor::Async { .. } => "asynchronous values",
        Descriptor::Cutlass { .. } => "CUTLASS descriptors",
    };
    if let Some(pair) = from.windows(2).find(|p| name(&p[0]) != name(&p[1])) {
        return Err(ContractError::Mixed(name(&pair[0]), name(&pair[1])));
    }
    let (each, _) = tiles(shape)?;
    let build = |d: &Descriptor| {
        let (coordinates, valid) = match d {
            Descriptor::Async { coordinates, valid } => (coordinates.clone(), *valid),
            // A problem of two dimensions has no batch, and then only batch 0 is a tile of it.
            Descriptor::Cutlass { m, n, l, valid } if rank == 2 => (vec![*m, *n], *valid && *l == 0),
            Descriptor::Cutlass { m, n, l, valid } => (vec![*m, *n, *l], *valid),
        };
        if coordinates.len() != rank {
            return Err(ContractError::Coordinates { found: coordinates.len(), wanted: rank });
        }
        let inside = coordinates.iter().zip(&each).all(|(c, tiles)| c < tiles);
        Ok(WorkTile { coordinates, valid: valid && inside })
    };
    let built: Vec<WorkTile> = from.iter().map(build).collect::<Result<_, _>>()?;
    let mut seen = std::collections::BTreeSet::new();
    match built.iter().filter(|w| w.valid).find(|w| !seen.insert(&w.coordinates)) {
        Some(twice) => Err(ContractError::Twice(twice.coordinates.clone())),
        None => Ok(built),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(problem: &[u64], tile: &[u64], cluster: &[u64]) -> Persistent {
        Persistent { problem: problem.into(), tile: tile.into(), cluster: cluster.into() }
    }

    #[test]
    fn shapes_that_do_not_agree_are_refused() {
        let message = |s: Persistent| tiles(&s).expect_err("refused").to_string();
        assert_eq!(
            [
                message(shape(&[4, 4], &[2], &[1, 1])),
                message(shape(&[4, 4], &[2, 0], &[1, 1])),
                message(shape(&[6, 4], &[2, 2], &[2, 1])),
                message(shape(&[u64::MAX, u64::MAX], &[1, 1], &[1, 1])),
            ],
            [
                "the problem has 2 dimensions, tiles have 1 and clusters 2",
                "a tile has an extent of 0 in dimension 1",
                "3 tiles in dimension 0 cannot be divided among clusters of 2",
                "the problem has more tiles than can be counted",
            ]
        );
    }

    #[test]
    fn every_tile_is_visited_once() {
        let s = shape(&[1000, 600], &[128, 64], &[2, 1]);
        let l = tile_loop(&s, &[], 7).expect("a loop");
        assert_eq!((l.tiles.clone(), l.count, l.index_bits), (vec![8, 10], 40, 32));
        let mut seen = std::collections::BTreeSet::new();
        for cluster in 0..7 {
            let mut index = cluster;
            while index < l.count {
                let w = l.work_tile(index);
                assert!(w.valid && seen.insert(w.coordinates));
                index += l.step;
            }
        }
        assert_eq!(seen.len(), 40);
        assert!(!l.work_tile(40).valid);
    }

    #[test]
    fn the_index_is_as_wide_as_it_must_be() {
        let bits = |n: u64| tile_loop(&shape(&[n], &[1], &[1]), &[], 132).expect("a loop").index_bits;
        assert_eq!(bits(i32::MAX as u64 - 132), 32);
        assert_eq!(bits(i32::MAX as u64 - 131), 64);
    }

    #[test]
    fn work_tiles_have_one_representation() {
        let s = shape(&[256, 256, 2], &[128, 128, 1], &[1, 1, 1]);
        let cutlass = |m, n, l, valid| Descriptor::Cutlass { m, n, l, valid };
        let asynchronous = Descriptor::Async { coordinates: vec![1, 0, 1], valid: true };
        let tiles = |d: &[Descriptor]| work_tiles(&s, d);
        let one = WorkTile { coordinates: vec![1, 0, 1], valid: true };
        assert_eq!(tiles(std::slice::from_ref(&asynchronous)), Ok(vec![one.clone()]));
        assert_eq!(tiles(&[cutlass(1, 0, 1, true)]), Ok(vec![one]));
        assert!(!tiles(&[cutlass(2, 0, 1, true)]).expect("built")[0].valid);
        assert_eq!(
            tiles(&[asynchronous, cutlass(0, 0, 0, true)]),
            Err(ContractError::Mixed("asynchronous values", "CUTLASS descriptors"))
        );
        let short = Descriptor::Async { coordinates: vec![1], valid: true };
        assert_eq!(tiles(&[short]), Err(ContractError::Coordinates { found: 1, wanted: 3 }));
        let twice = [cutlass(1, 0, 1, true), cutlass(0, 0, 1, false), cutlass(1, 0, 1, true)];
        assert_eq!(tiles(&twice), Err(ContractError::Twice(vec![1, 0, 1])));
    }
}
