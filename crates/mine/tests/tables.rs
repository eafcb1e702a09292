//! From code to tables: small functions with stalls written out are mined, and the rows say what was seen often enough.

use sassafras_control::{Field, RawControl, volta};
use sassafras_ir::{Function, text};
use sassafras_machine::Arch;
use sassafras_mine::{Mined, tables};
use sassafras_verify::hazards::Rules;

/// Pairs of instructions with a stall between them, far from each other.
fn function(pairs: &[(&str, u8, &str)]) -> Function {
    let word = |stall| {
        let mut raw = RawControl::from_bits_truncate(0);
        for (field, value) in [(Field::Stall, stall), (Field::Write, 7), (Field::Read, 7)] {
            raw = raw.with(field, value).expect("in range");
        }
        volta::insert(0, raw)
    };
    let mut source = String::from("func f sm_90 {\n^entry:\n");
    for (first, stall, second) in pairs {
        source += &format!("  {first} raw({:#x})\n  {second} raw({:#x})\n", word(*stall), word(15));
        source += &format!("  NOP raw({:#x})\n", word(15)).repeat(4);
    }
    source += &format!("  EXIT !exit raw({:#x})\n}}\n", word(5));
    match text::parse(&source) {
        Ok(mut module) => module.functions.remove(0),
        Err(error) => panic!("{}", error.render("test", &source, false)),
    }
}

const FMA: (&str, &str) = ("R1 = FFMA R0, R0, R0", "R2 = FADD R1, R0");

/// Mines the function in each of these files, as so many functions.
fn mined(functions: &[(Function, u32, u32)]) -> Mined {
    let rules = Rules::for_mining("sm_90".parse::<Arch>().expect("an architecture"));
    let mut all = Mined::default();
    for (f, files, copies) in functions {
        for file in 0..*files {
            for _ in 0..*copies {
                all.function(f, file, &rules);
            }
        }
    }
    all
}

/// `observed_min` and `safe` of a row.
fn row(mined: &Mined, key: &str) -> Option<(u16, u16)> {
    let text = tables::write_distances(&tables::distances(mined, "sm_70"));
    let line = text.lines().find(|line| line.starts_with(key))?;
    let cells: Vec<&str> = line[key.len()..].split(',').filter(|cell| !cell.is_empty()).collect();
    Some((cells[0].parse().expect("a number"), cells[1].parse().expect("a number")))
}

#[test]
fn a_pair_of_classes_needs_evidence() {
    let at = |stall| function(&[(FMA.0, stall, FMA.1); 10]);
    let key = "raw,R,fma,low,fma,operand";
    let any = "raw,R,fma,low,any,operand";
    assert_eq!(row(&mined(&[(at(4), 3, 6)]), any), Some((4, 4)), "many pairs in three files");
    assert_eq!(row(&mined(&[(at(4), 1, 9)]), any), None, "one file may repeat an accident");
    assert_eq!(row(&mined(&[(at(4), 2, 1)]), any), None, "two functions");
    // A consumer of its own: seen often enough it has its own row.
    let far = function(&[(FMA.0, 9, "R2 = FADD R1, R0"); 10]);
    let near = function(&[(FMA.0, 5, "R2 = LOP3 R1, R0"); 10]);
    let both = mined(&[(far.clone(), 3, 6), (near.clone(), 3, 6)]);
    assert_eq!(row(&both, any).map(|r| r.0), Some(5));
    assert_eq!(row(&both, key).map(|r| r.0), Some(9));
    let few = mined(&[(far, 2, 3), (near, 3, 6)]);
    assert_eq!(row(&few, key), None, "falls back to any consumer");
}

#[test]
fn the_smallest_distance_counts_once_it_was_seen() {
    let usual = function(&[(FMA.0, 5, FMA.1); 10]);
    let closer = function(&[(FMA.0, 4, FMA.1)]);
    let key = "raw,R,fma,low,any,operand";
    let both = mined(&[(usual, 3, 6), (closer, 1, 1)]);
    assert_eq!(row(&both, key).map(|r| r.0), Some(4), "asked for no more than compiled code ever left");
    let safe = tables::write_distances(&tables::distances(&both, "sm_70"));
    assert!(safe.contains("fma,low,any,operand,,4,5,"), "but a scheduler keeps to what is usual: {safe}");
}

#[test]
fn overwriting_asks_for_no_more_than_finishing_in_order() {
    let body = function(&[(FMA.0, 9, "R1 = LOP3 R0, R0"); 10]);
    let reads = function(&[(FMA.0, 4, FMA.1), ("R1 = LOP3 R0, R0", 4, "R2 = LOP3 R1, R0")].repeat(5));
    let both = mined(&[(body, 3, 6), (reads, 3, 6)]);
    assert_eq!(row(&both, "waw,R,fma,low,alu,overwrite").map_or(1, |r| r.0), 1);
}

#[test]
fn differences_are_named() {
    let at = |stall| mined(&[(function(&[(FMA.0, stall, FMA.1); 10]), 3, 6)]);
    let (four, six) = (at(4), at(6));
    let text = |m: &Mined| tables::write_distances(&tables::distances(m, "sm_70"));
    let compare = |table: &Mined, seen: &Mined| {
        tables::compare(&text(table), &tables::least(seen, "sm_70"), &tables::distances(seen, "sm_70"))
            .join("\n")
    };
    assert!(compare(&six, &four).starts_with("looser   raw,R,fma"), "{}", compare(&six, &four));
    assert!(compare(&four, &six).starts_with("tighter  raw,R,fma"), "{}", compare(&four, &six));
    assert_eq!(compare(&four, &four), "");
    assert!(tables::changes(&text(&four), &text(&six))[0].contains("4 -> 6"));
}

#[test]
fn joining_does_not_depend_on_the_order() {
    let parts: Vec<Mined> =
        (4..8).map(|stall| mined(&[(function(&[(FMA.0, stall, FMA.1); 10]), 3, 2)])).collect();
    let joined = |order: &[usize]| {
        let mut all = Mined::default();
        order.iter().for_each(|&i| all.join(&parts[i]));
        tables::counts(&all)
    };
    assert_eq!(joined(&[0, 1, 2, 3]), joined(&[3, 1, 0, 2]));
    assert!(!joined(&[0]).is_empty());
}
