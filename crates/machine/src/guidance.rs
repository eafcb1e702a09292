//! Goal: which functional units of the scheduling guidance an instruction keeps busy, and for how long.
//!
//! Source: `data/guidance_units.csv`, whose rows name theirs; pipes and their cycles are those of [`dispatch`](crate::dispatch).

use std::sync::LazyLock;

use serde::Deserialize;

use crate::dispatch::{Dispatch, Pipe, names as spellings};
use crate::names::names;
use crate::table::{self, Row};
use crate::{Category, TableError};

names! {
    /// A unit of the scheduling guidance, per sub-core.
    GuidanceUnit {
        /// Constant loads and barriers.
        Adu = "ADU",
        /// Integer and logic.
        Alu = "ALU",
        /// Branches and convergence.
        Cbu = "CBU",
        /// The half of the multiply-add pipe that takes integers, too.
        Fma = "FMA",
        /// Both halves.
        Fma2x = "FMA2x",
        /// Packed half precision.
        Half = "HALF",
        /// Special functions and conversions.
        Xu = "XU",
        /// Attribute interpolation.
        Ipa = "IPA",
        /// Loads, stores, shuffles.
        Lsu = "LSU",
        /// Reductions over a warp.
        Redux = "REDUX",
        /// Textures and surfaces.
        Tex = "TEX",
        /// Ray tracing.
        Ttu = "TTU",
        /// The uniform datapath.
        Udp = "UDP",
        /// Double precision.
        Fp64 = "FP64",
        /// Matrix products.
        Tensor = "TENSOR",
    }
}

/// What is known of a unit.
#[derive(Debug, Clone)]
pub struct UnitFacts {
    /// The unit.
    pub unit: GuidanceUnit,
    /// What it does, in a few words.
    pub title: String,
    /// Whether the documented guidance lists it.
    pub documented: bool,
    /// What Nsight Compute calls it, where that counts it.
    pub counter: Option<String>,
    from: From,
}

#[derive(Debug, Clone)]
enum From {
    Pipe(Pipe),
    Names(Vec<String>, u16),
}

impl GuidanceUnit {
    /// What is known of it.
    pub fn facts(self) -> &'static UnitFacts {
        &TABLE[self as usize]
    }

    /// The units that an instruction keeps busy, each with the cycles.
    pub fn used(opcode: &str, dispatch: &Dispatch) -> impl Iterator<Item = (GuidanceUnit, u16)> {
        TABLE.iter().filter_map(move |row| {
            let cycles = match &row.from {
                From::Pipe(pipe) if dispatch.enters[*pipe as usize] => {
                    u16::from(dispatch.busy[*pipe as usize])
                }
                From::Names(names, cycles)
                    if spellings(opcode).any(|name| names.iter().any(|n| n == name)) =>
                {
                    *cycles
                }
                _ => 0,
            };
            (cycles > 0).then_some((row.unit, cycles))
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    unit: String,
    title: String,
    pipe: String,
    names: String,
    cycles: Option<u16>,
    documented: String,
    counter: String,
    source: String,
}

static TABLE: LazyLock<Vec<UnitFacts>> =
    LazyLock::new(|| parse(include_str!("../data/guidance_units.csv")).expect("checked by the tests"));

/// Reads the table: a row for every unit, in their order.
fn parse(text: &str) -> Result<Vec<UnitFacts>, TableError> {
    let rows = table::rows::<Raw>("guidance_units.csv", text)?;
    if rows.len() != GuidanceUnit::ALL.len() {
        return Err(TableError::new(
            "guidance_units.csv",
            1,
            format!("{} units, not {}", rows.len(), GuidanceUnit::ALL.len()),
        ));
    }
    rows.iter().zip(GuidanceUnit::ALL).map(|(row, &unit)| facts(row, unit)).collect()
}

fn facts(row: &Row<Raw>, unit: GuidanceUnit) -> Result<UnitFacts, TableError> {
    let Raw { pipe, names, cycles, documented, source, .. } = &row.value;
    if row.value.unit != unit.name() {
        return Err(row.error(format!("`{}` where {unit} was expected", row.value.unit)));
    }
    if source.is_empty() || row.value.title.is_empty() {
        return Err(row.error("no source, or no title"));
    }
    let from = match (pipe.is_empty(), names.is_empty(), cycles) {
        (false, true, None) => From::Pipe(pipe.parse().map_err(|error| row.error(error))?),
        (true, false, Some(cycles @ 1..)) => {
            From::Names(names.split_whitespace().map(str::to_owned).collect(), *cycles)
        }
        _ => return Err(row.error("either a pipe, or names with cycles")),
    };
    if let From::Names(names, _) = &from {
        let known = |name: &String| {
            name.parse::<Category>().is_ok()
                || name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        };
        if let Some(odd) = names.iter().find(|name| !known(name)) {
            return Err(row.error(format!("`{odd}` is neither a category nor an opcode")));
        }
    }
    let documented = match documented.as_str() {
        "yes" => true,
        "no" => false,
        other => return Err(row.error(format!("`{other}` is neither yes nor no"))),
    };
    let counter = Some(row.value.counter.clone()).filter(|counter| !counter.is_empty());
    Ok(UnitFacts { unit, title: row.value.title.clone(), documented, counter, from })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::dispatch;

    fn used(opcode: &str) -> Vec<(GuidanceUnit, u16)> {
        GuidanceUnit::used(opcode, &dispatch("sm_90".parse().expect("known"), opcode)).collect()
    }

    #[test]
    fn instructions_find_their_units() {
        use GuidanceUnit::{Adu, Alu, Cbu, Fma, Fma2x, Half, Lsu, Tensor, Tex, Udp, Xu};
        assert_eq!(used("FFMA"), [(Fma, 1), (Fma2x, 1)]);
        assert_eq!(used("IMAD.MOV.U32"), [(Fma, 2)]);
        assert_eq!(used("IMAD.WIDE"), [(Fma, 4)]);
        assert_eq!(used("HADD2.F32"), [(Fma, 2), (Half, 2)]);
        assert_eq!(used("LOP3.LUT"), [(Alu, 2)]);
        assert_eq!(used("LDG.E.128"), [(Lsu, 4)]);
        assert_eq!(used("MUFU.RCP"), [(Xu, 8)]);
        assert_eq!(used("LDC"), [(Adu, 8)]);
        assert_eq!(used("BSSY"), [(Cbu, 1)]);
        assert_eq!(used("TEX"), [(Tex, 4)]);
        assert_eq!(used("UIADD3"), [(Udp, 2)]);
        assert_eq!(used("HMMA.16816.F32"), [(Tensor, 6)]);
        assert_eq!(used("NOP"), []);
    }

    #[test]
    fn the_guidance_lists_thirteen_units() {
        assert_eq!(TABLE.iter().filter(|row| row.documented).count(), 13);
        assert!(GuidanceUnit::ALL.iter().all(|unit| !unit.facts().title.is_empty()));
    }

    #[test]
    fn broken_tables_are_refused() {
        let text = include_str!("../data/guidance_units.csv");
        for (from, to) in [
            ("ALU,integer and logic,alu", "ALU,integer and logic,alo"),
            ("ALU,integer and logic,alu,,", "ALU,integer and logic,,,"),
            ("FFMA FADD FMUL,1", "FFMA FADD FMUL,"),
            ("FFMA FADD FMUL,1", "FFMA FADD FMUL,0"),
            ("FFMA FADD FMUL", "ffma"),
            ("UDP,", "UDB,"),
            ("uniform,,,yes", "uniform,,,maybe"),
            (",,no,tensor,\"h200: HMMA as mined\"", ",,no,tensor,"),
            ("TENSOR,matrix products,tensor,,,no,tensor,\"h200: HMMA as mined\"\n", ""),
        ] {
            assert!(text.contains(from), "{from}");
            assert!(parse(&text.replacen(from, to, 1)).is_err(), "{from} -> {to}");
        }
        assert!(parse(text).is_ok());
    }
}
