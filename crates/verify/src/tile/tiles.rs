//! The loop over output tiles: every tile exactly once, with an index that does not wrap. The index counts clusters of
//! tiles, since the blocks of a cluster take one tile each.

use sassafras_tileir::program::{Descriptor, Program};
use sassafras_tileir::scheduled::TileLoop;
use std::collections::BTreeSet;

/// Up to so many clusters of tiles the loop is walked, besides being reasoned about.
const WALKED: u64 = 1 << 12;

pub(super) fn check(program: &Program, made: Option<&TileLoop>) -> Result<(), String> {
    let (shape, t) = match (&program.persistent, made) {
        (None, None) => return Ok(()),
        (Some(_), None) => return Err("the program has one, the schedule has not".into()),
        (None, Some(_)) => return Err("the schedule has one, the program has not".into()),
        (Some(shape), Some(t)) => (shape, t),
    };
    if t.shape != *shape {
        return Err("it was built from another shape than the program's".into());
    }
    let dimensions = shape.problem.len();
    if dimensions == 0 || [&shape.tile, &shape.cluster, &t.tiles].iter().any(|l| l.len() != dimensions) {
        return Err("problem, tile, cluster and tiles differ in their dimensions".into());
    }
    let mut count: u128 = 1;
    for d in 0..dimensions {
        let (problem, tile, cluster) = (shape.problem[d], shape.tile[d], shape.cluster[d]);
        if tile == 0 || cluster == 0 {
            return Err(format!("a tile or a cluster has no extent in dimension {d}"));
        }
        let needed = problem.div_ceil(tile);
        if t.tiles[d] != needed {
            return Err(format!(
                "{} tiles in dimension {d}, where {problem} elements in tiles of {tile} make {needed}",
                t.tiles[d]
            ));
        }
        if needed % cluster != 0 {
            return Err(format!("{needed} tiles in dimension {d} are not whole clusters of {cluster}"));
        }
        count = count.checked_mul((needed / cluster).into()).ok_or("there are too many tiles to count")?;
    }
    work(program, t)?;
    let counted = if t.work.is_empty() { count } else { t.work.len() as u128 };
    if u128::from(t.count) != counted {
        return Err(format!("it counts {} clusters of tiles, there are {counted}", t.count));
    }
    if t.coordinates.len() != dimensions || t.coordinates.iter().any(|c| c.over == 0 || c.of == 0) {
        return Err("its index does not make a coordinate for every dimension".into());
    }
    let mut over = 1u128;
    for (d, c) in t.coordinates.iter().enumerate() {
        let of = (t.tiles[d] / shape.cluster[d]).max(1);
        if (u128::from(c.over), c.of, c.times) != (over, of, shape.cluster[d]) {
            return Err(format!("its index makes other coordinates in dimension {d} than the tiles have"));
        }
        over *= u128::from(of);
    }
    if t.step == 0 {
        return Err("its index never grows".into());
    }
    let last = u128::from(t.count) + u128::from(t.step);
    // The index may be signed.
    if t.index_bits == 0 || t.index_bits > 64 || last >> (t.index_bits - 1) != 0 {
        return Err(format!(
            "an index of {} bits does not hold {} clusters of tiles and a step of {}",
            t.index_bits, t.count, t.step
        ));
    }
    walk(t)
}

/// Work tiles are those of the program, each once.
fn work(program: &Program, t: &TileLoop) -> Result<(), String> {
    if program.work_tiles.len() != t.work.len() {
        return Err(format!(
            "it works on {} tiles, the program on {}",
            t.work.len(),
            program.work_tiles.len()
        ));
    }
    let mut seen = BTreeSet::new();
    for (i, (given, made)) in program.work_tiles.iter().zip(&t.work).enumerate() {
        let (mut coordinates, mut valid) = match given {
            Descriptor::Async { coordinates, valid } => (coordinates.clone(), *valid),
            Descriptor::Cutlass { m, n, l, valid } => (vec![*m, *n, *l], *valid),
        };
        if t.tiles.len() == 2 && matches!(given, Descriptor::Cutlass { .. }) {
            // Two dimensions have one batch.
            valid &= coordinates.pop() == Some(0);
        }
        if coordinates.len() != t.tiles.len() {
            return Err(format!("work tile {i} has {} coordinates", coordinates.len()));
        }
        valid &= coordinates.iter().zip(&t.tiles).all(|(c, tiles)| c < tiles);
        if (&made.coordinates, made.valid) != (&coordinates, valid) {
            return Err(format!("work tile {i} is another one than the program's"));
        }
        if valid && !seen.insert(coordinates) {
            return Err(format!("work tile {i} is worked on twice"));
        }
    }
    Ok(())
}

/// Performs the loop of every cluster as a machine would.
fn walk(t: &TileLoop) -> Result<(), String> {
    if t.count > WALKED {
        return Ok(());
    }
    let mask = if t.index_bits == 64 { u64::MAX } else { (1 << t.index_bits) - 1 };
    let mut seen = vec![false; t.count as usize];
    let mut tiles = BTreeSet::new();
    // A cluster with a number beyond the last tile has nothing to do.
    for cluster in 0..t.step.min(t.count) {
        let mut index = cluster & mask;
        while index < t.count {
            if std::mem::replace(&mut seen[index as usize], true) {
                return Err(format!("cluster {index} of tiles is visited twice"));
            }
            let at: Vec<u64> = t.coordinates.iter().map(|c| index / c.over % c.of * c.times).collect();
            if t.work.is_empty() && !tiles.insert(at) {
                return Err(format!("index {index} is of tiles that another one is of, too"));
            }
            index = index.wrapping_add(t.step) & mask;
        }
    }
    match seen.iter().position(|s| !s) {
        Some(tile) => Err(format!("cluster {tile} of tiles is never visited")),
        None => Ok(()),
    }
}
