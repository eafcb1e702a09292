//! Random loops to schedule, the same from the same seed on every machine and version: for tests, benchmarks and
//! experiments, also of other crates.
//!
//! Three shapes. *Tile* loops are what kernels on tiles look like: asynchronous copies into shared memory, reads of it,
//! matrix products that accumulate, element-wise chains, stores, and buffers that must be released before they are filled
//! again. *Plain* ones have no shape: any patterns, any edges. *Dense* ones want all of a few resources of which there is one
//! unit, with long patterns that hold several of them one after the other, so that to find the rows is a puzzle and the
//! bounds are often out of reach.
//!
//! Every problem passes [`Problem::check`]: edges of distance 0 lead forward, and no operation needs more of a resource at
//! once than there is.

use sassafras_problem::{Op, Problem, Resource, Use};

/// SplitMix64: small, seeded, and the same sequence everywhere.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Starts a sequence.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u32
    }

    /// A number of `from..=to`.
    pub fn between(&mut self, from: u32, to: u32) -> u32 {
        from + self.below(to.saturating_sub(from) + 1)
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

/// What a random loop looks like; see the module's comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Copies, reads, matrix products, element-wise work and stores.
    Tile,
    /// Anything.
    Plain,
    /// Long patterns on few resources.
    Dense,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Shape; 3] = [Shape::Tile, Shape::Plain, Shape::Dense];
}

/// A loop of `ops` operations.
pub fn problem(shape: Shape, ops: usize, seed: u64) -> Problem {
    // The shape and the size are part of the seed, so that loops of different ones have nothing in common.
    let mut rng = Rng::new(seed ^ (ops as u64).rotate_left(32) ^ (shape as u64).rotate_left(56));
    match shape {
        Shape::Tile => tile(&mut rng, ops),
        Shape::Plain => plain(&mut rng, ops),
        Shape::Dense => dense(&mut rng, ops),
    }
}

/// A loop of 2 to 24 operations, of all shapes in turn.
pub fn small(seed: u64) -> Problem {
    let ops = Rng::new(!seed).between(2, 24) as usize;
    problem(Shape::ALL[(seed % 3) as usize], ops, seed)
}

/// The slots of a tile loop that one operation at a time can hold, in the order of [`Slot`].
///
/// Source of names and of the footprints below: public write-ups of a tile scheduler, as `tile-scheduler` collects them.
/// What is wanted here is their shape, so that nothing depends on a better reading of them.
const SLOTS: [&str; 7] = ["tma", "tp_smem_wr", "tp_smem_rd", "tc_and_mma", "tp_mma", "xu", "lsu"];

#[derive(Clone, Copy)]
enum Slot {
    Tma,
    Write,
    Read,
    Tensor,
    Mma,
    Xu,
    Lsu,
}

/// Pools of several units: name and capacity.
const POOLS: [(&str, u32); 2] = [("alu_or_fmaheavy", 4), ("dual_alu", 3)];

fn tile(rng: &mut Rng, ops: usize) -> Problem {
    let mut p = Problem::new();
    let slots: Vec<Resource> = SLOTS.iter().map(|n| p.add_resource(*n, 1)).collect();
    let pools: Vec<Resource> = POOLS.iter().map(|(n, c)| p.add_resource(*n, *c)).collect();
    let hold = |slot: Slot, start, rows| Use { resource: slots[slot as usize], start, rows, units: 1 };
    // What later operations can read: the operation, and how long it takes.
    let mut values: Vec<(Op, i32)> = Vec::new();
    let mut products: Vec<Op> = Vec::new();
    let mut i = 0;
    while i < ops {
        let left = ops - i;
        let pick = |rng: &mut Rng, from: &[(Op, i32)]| {
            (!from.is_empty()).then(|| from[from.len() - 1 - rng.below(from.len().min(8) as u32) as usize])
        };
        match rng.below(10) {
            // A copy into shared memory, a read of it and a product, with the buffer given back behind the product.
            0..=3 if left >= 3 => {
                let rows = rng.between(7, 8);
                let load =
                    p.add_op(format!("load{i}"), vec![hold(Slot::Tma, 0, rows), hold(Slot::Write, 0, rows)]);
                let read = p.add_op(format!("read{i}"), vec![hold(Slot::Read, 0, 7)]);
                let product =
                    p.add_op(format!("mma{i}"), vec![hold(Slot::Tensor, 0, 8), hold(Slot::Mma, 0, 8)]);
                p.add_edge(load, read, rows as i32 + rng.below(20) as i32, 0);
                p.add_edge(read, product, 7, 0);
                if rng.chance(60) {
                    p.add_edge(product, load, rng.between(1, 8) as i32, rng.between(2, 3));
                }
                // The accumulator: its own of the iteration before, or a chain of all products.
                let before = if rng.chance(50) { products.last().copied() } else { None };
                if let Some(before) = before {
                    p.add_edge(before, product, 16, 0);
                    if rng.chance(40) {
                        p.add_edge(product, before, 16, rng.between(1, 3));
                    }
                } else if rng.chance(60) {
                    p.add_edge(product, product, 16, rng.between(1, 2));
                }
                products.push(product);
                values.push((product, 16));
                i += 3;
            }
            4 => {
                let wait = rng.between(7, 8);
                let store = p.add_op(
                    format!("store{i}"),
                    vec![hold(Slot::Write, 0, 7), hold(Slot::Tma, 7 + rng.below(3), wait)],
                );
                if let Some((from, latency)) = pick(rng, &values) {
                    p.add_edge(from, store, latency, 0);
                    if rng.chance(30) {
                        p.add_edge(store, from, rng.between(1, 7) as i32, rng.between(1, 3));
                    }
                }
                i += 1;
            }
            5 => {
                let op = p.add_op(
                    format!("fetch{i}"),
                    vec![hold(Slot::Lsu, 0, 2), hold(Slot::Read, 1, rng.between(2, 7))],
                );
                values.push((op, 12 + rng.below(12) as i32));
                i += 1;
            }
            _ => {
                let units = rng.between(1, 2);
                let pool = pools[rng.below(2) as usize];
                let mut uses = vec![Use { resource: pool, start: 0, rows: rng.between(1, 4), units }];
                if rng.chance(25) {
                    uses.push(hold(Slot::Xu, rng.below(3), rng.between(1, 4)));
                }
                let op = p.add_op(format!("math{i}"), uses);
                for _ in 0..rng.between(1, 2) {
                    if let Some((from, latency)) = pick(rng, &values) {
                        p.add_edge(from, op, latency, 0);
                        if rng.chance(15) {
                            p.add_edge(op, from, rng.between(2, 6) as i32, rng.between(1, 3));
                        }
                    }
                }
                if rng.chance(15) {
                    p.add_edge(op, op, rng.between(2, 6) as i32, rng.between(1, 3));
                }
                values.push((op, rng.between(2, 6) as i32));
                i += 1;
            }
        }
    }
    p
}

/// Edges between operations that are there: forward within an iteration, any way across one to three.
fn edges(rng: &mut Rng, p: &mut Problem, count: usize, latest: u32) {
    let ops = p.ops().len() as u32;
    for _ in 0..count {
        // Mostly near ones, so that large loops are not one circuit.
        let a = rng.below(ops);
        let b = if rng.chance(80) { (a + rng.below(6)).min(ops - 1) } else { rng.below(ops) };
        let (a, b) = if a > b && rng.chance(60) { (b, a) } else { (a, b) };
        let back = a >= b || (b - a < 6 && rng.chance(20));
        let latency = rng.between(1, latest) as i32;
        if back {
            p.add_edge(Op::from_u32(a.max(b)), Op::from_u32(a.min(b)), latency.min(9), rng.between(1, 3));
        } else {
            p.add_edge(Op::from_u32(a), Op::from_u32(b), latency, 0);
        }
    }
}

fn plain(rng: &mut Rng, ops: usize) -> Problem {
    let mut p = Problem::new();
    let resources: Vec<(Resource, u32)> = (0..rng.between(2, 5))
        .map(|i| {
            let capacity = if rng.chance(50) { 1 } else { rng.between(2, 5) };
            (p.add_resource(format!("r{i}"), capacity), capacity)
        })
        .collect();
    for i in 0..ops {
        let mut uses = Vec::new();
        for &(resource, capacity) in &resources {
            if rng.chance(40) {
                let rows = if rng.chance(30) { rng.between(5, 9) } else { rng.between(1, 4) };
                let start = rng.below(4);
                let units = rng.between(1, capacity);
                uses.push(Use { resource, start, rows, units });
                if rng.chance(15) {
                    let start = start + rows + rng.below(3);
                    uses.push(Use {
                        resource,
                        start,
                        rows: rng.between(1, 3),
                        units: rng.between(1, capacity),
                    });
                }
            }
        }
        p.add_op(format!("o{i}"), uses);
    }
    let count = ops + rng.below(ops as u32) as usize;
    edges(rng, &mut p, count, 20);
    p
}

fn dense(rng: &mut Rng, ops: usize) -> Problem {
    let mut p = Problem::new();
    let count = rng.between(2, 3);
    let slots: Vec<Resource> = (0..count).map(|i| p.add_resource(format!("slot{i}"), 1)).collect();
    let pool = p.add_resource("pool", rng.between(2, 4));
    for i in 0..ops {
        let first = rng.below(count);
        let rows = if rng.chance(70) { rng.between(7, 8) } else { rng.between(1, 6) };
        let mut uses = vec![Use::first(slots[first as usize], rows)];
        if rng.chance(50) {
            // A second slot, at the same time or handed over.
            let second = slots[((first + 1 + rng.below(count - 1)) % count) as usize];
            let start = if rng.chance(50) { 0 } else { rows - rng.below(rows.min(3)) };
            uses.push(Use { resource: second, start, rows: rng.between(1, 8), units: 1 });
        }
        if rng.chance(30) {
            uses.push(Use {
                resource: pool,
                start: rng.below(3),
                rows: rng.between(1, 8),
                units: rng.between(1, 2),
            });
        }
        p.add_op(format!("d{i}"), uses);
    }
    edges(rng, &mut p, ops, 16);
    p
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_of_the_size_and_repeatable() {
        for seed in 0..300 {
            let p = small(seed);
            assert_eq!(p.check(), Ok(()), "seed {seed}");
            assert!((2..=24).contains(&p.ops().len()));
            assert_eq!(format!("{p:?}"), format!("{:?}", small(seed)));
        }
        for shape in Shape::ALL {
            for ops in [0, 1, 200, 300] {
                let p = problem(shape, ops, 7);
                assert_eq!(p.check(), Ok(()));
                assert_eq!(p.ops().len(), ops);
            }
            assert_ne!(format!("{:?}", problem(shape, 9, 1)), format!("{:?}", problem(shape, 9, 2)));
        }
    }

    #[test]
    fn what_is_promised_occurs() {
        let loops: Vec<Problem> = (0..60).map(small).collect();
        let edges = || loops.iter().flat_map(|p| p.edges());
        assert!((1..=3).all(|d| edges().any(|e| e.distance == d)));
        let uses = |f: &dyn Fn(&Problem, &Use) -> bool| {
            loops.iter().any(|p| p.ops().any(|op| p.uses(op).iter().any(|u| f(p, u))))
        };
        assert!(uses(&|p, u| p.capacity(u.resource) == 1 && u.rows == 8));
        assert!(uses(&|p, u| p.capacity(u.resource) > 1 && u.units > 1));
        assert!(uses(&|_, u| u.start > 0));
    }
}
