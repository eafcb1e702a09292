//! What the checker says about compiled code: findings by kind of pair. `cargo run --release --example residue FILE…`
#![allow(clippy::print_stdout)]
use rayon::prelude::*;
use sassafras_ir::{Function, Inst, Payload};
use sassafras_machine::Arch;
use sassafras_verify::hazards::{Rules, check};
use std::collections::BTreeMap;
fn show(f: &Function, a: Inst, b: Inst) {
    let (a, b) = (a.as_u32(), b.as_u32());
    if a < b && b - a < 40 {
        for i in a..=b {
            let i = Inst::from_u32(i);
            let Payload::Word(w) = f.inst(i).payload else { continue };
            let r = sassafras_control::volta::read(w);
            use sassafras_control::Field::*;
            println!(
                "      {:x} S{} B{:06b} W{} R{} {}",
                i.as_u32() * 16,
                r.get(Stall),
                r.get(Wait),
                r.get(Write),
                r.get(Read),
                sassafras_ir::text::print_inst(f, i).split(" raw(").next().unwrap()
            );
        }
    }
}
struct Unknowns<'a>(&'a Rules, Vec<BTreeMap<String, u64>>, usize);
impl sassafras_verify::hazards::Observer for Unknowns<'_> {
    fn block(&mut self, b: sassafras_ir::Block) {
        self.2 = b.as_u32() as usize;
        self.1[self.2].clear();
    }
    fn pair(&mut self, p: &sassafras_verify::hazards::Pair<'_>) {
        if self.0.need(p) == sassafras_verify::hazards::Need::Unknown {
            let f = p.function;
            let c = |c: Option<sassafras_machine::Category>| c.map_or("-".to_string(), |c| c.to_string());
            let _ = f;
            *self.1[self.2]
                .entry(format!(
                    "{} {} {} {} -> {} {}",
                    p.kind.name(),
                    p.file(),
                    c(p.producer_category),
                    p.part % 2,
                    c(p.consumer_category),
                    p.used_as
                ))
                .or_default() += 1;
        }
    }
}
fn main() {
    let only = std::env::var("ARCH").ok();
    let limit: usize = std::env::var("LIMIT").ok().and_then(|l| l.parse().ok()).unwrap_or(usize::MAX);
    for file in std::env::args().skip(1) {
        let Ok(bytes) = std::fs::read(&file) else { continue };
        let Ok(c) = sassafras_cubin::Container::parse(&bytes) else { continue };
        let images: Vec<_> = c.cubins().collect();
        let t = std::time::Instant::now();
        let results: Vec<_> = images
            .par_iter()
            .filter_map(|im| {
                let b = c.bytes(im).ok()?;
                let cu = sassafras_cubin::Cubin::parse(&b).ok()?;
                let arch: Arch = cu.sm().to_string().parse().ok()?;
                if only.as_ref().is_some_and(|o| *o != arch.to_string()) {
                    return None;
                }
                let mut n = 0usize;
                let mut unknown = 0u64;
                let mut pairs = 0u64;
                let mut kinds: BTreeMap<String, (u64, String)> = BTreeMap::new();
                let mut ex = vec![];
                for code in cu.code() {
                    if n > limit {
                        break;
                    }
                    let Ok(l) = sassafras_sass::lift(&sassafras_sass::Code {
                        name: &code.name,
                        arch,
                        bytes: code.bytes,
                        indirect: &[],
                    }) else {
                        continue;
                    };
                    let f = l.function;
                    n += f.inst_count();
                    let r = check(&f, Rules::of(arch));
                    if std::env::var("UNKNOWN").is_ok() {
                        let mut u = Unknowns(Rules::of(arch), vec![BTreeMap::new(); f.block_count()], 0);
                        sassafras_verify::hazards::walk(&f, Rules::of(arch), &mut u);
                        for m in u.1 {
                            for (k, c) in m {
                                kinds.entry(format!("{arch} unknown {k}")).or_default().0 += c;
                            }
                        }
                    }
                    unknown += r.unknown;
                    pairs += r.pairs;
                    for x in &r.findings {
                        let op = |i| f.opcode_text(f.inst(i).opcode).to_string();
                        let k = format!(
                            "{arch} {} {} {} -> {} need {:?} has {}",
                            x.kind.name(),
                            x.lane.map_or(String::new(), |l| l.class().prefix().to_string()),
                            op(x.producer),
                            op(x.consumer),
                            x.needed,
                            x.given
                        );
                        let e = kinds.entry(k.clone()).or_default();
                        e.0 += 1;
                        if e.0 == 1 {
                            ex.push((k, code.name.to_string(), f.clone(), x.clone()));
                        }
                    }
                }
                Some((arch.to_string(), n, unknown, pairs, kinds, ex))
            })
            .collect();
        let s = t.elapsed().as_secs_f64();
        let mut per: BTreeMap<String, (usize, u64, u64, u64)> = BTreeMap::new();
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        let mut shown = std::collections::HashSet::new();
        let total: usize = results.iter().map(|r| r.1).sum();
        for (a, n, u, p, k, ex) in results {
            let e = per.entry(a).or_default();
            e.0 += n;
            e.1 += u;
            e.2 += p;
            e.3 += k.values().map(|x| x.0).sum::<u64>();
            for (k, c) in k {
                *kinds.entry(k).or_default() += c.0;
            }
            for (k, name, f, x) in ex {
                if shown.len() < 12 && std::env::var("SHOW").is_ok() && shown.insert(k.clone()) {
                    println!("{k}: {name} lane {:?}", x.lane.map(|l| l.to_string()));
                    show(&f, x.producer, x.consumer);
                }
            }
        }
        if total == 0 {
            continue;
        }
        let f = per.values().map(|x| x.3).sum::<u64>();
        if f > 0 || total > 50000 {
            println!("{file}: {total} insts {:.2} M/s", total as f64 / s / 1e6);
            for (a, (n, u, p, h)) in per {
                println!("   {a}: {n} insts, pairs {p}, unknown {u}, findings {h}");
            }
            let mut v: Vec<_> = kinds.into_iter().collect();
            v.sort_by_key(|x| std::cmp::Reverse(x.1));
            for (k, c) in v.iter().take(25) {
                println!("     {c:6} {k}");
            }
        }
    }
}
