//! Goal: which operand reuse cache an instruction reads its sources through.
//!
//! Source: `data/reuse_caches.csv`, whose rows name theirs.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::dispatch::{Entries, best, enter, names};
use crate::names::names;
use crate::{Arch, TableError, table};

names! {
    /// An operand reuse cache of a sub-core: what is flagged stays there until the next instruction of the same pipes reads its place.
    ReuseCache {
        /// Integers, FP32 and packed half precision.
        Main = "main",
        /// FP64, and packed half precision on the matrix pipe.
        Fp64 = "fp64",
        /// Matrix instructions.
        Tensor = "tensor",
    }
}

/// The cache of an opcode; none where that is not known.
pub fn reuse_cache(arch: Arch, opcode: &str) -> Option<ReuseCache> {
    names(opcode).find_map(|name| best(CACHES.get(name)?, arch)).flatten()
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCache {
    tables: String,
    name: String,
    cache: String,
    source: String,
}

static CACHES: LazyLock<Entries<Option<ReuseCache>>> =
    LazyLock::new(|| parse(include_str!("../data/reuse_caches.csv")).expect("checked by the tests"));

/// Reads the table.
fn parse(text: &str) -> Result<Entries<Option<ReuseCache>>, TableError> {
    let mut out = Entries::default();
    for row in table::rows::<RawCache>("reuse caches", text)? {
        let raw = &row.value;
        let cache = match raw.cache.as_str() {
            "-" => None,
            name => Some(name.parse().map_err(|message: String| row.error(message))?),
        };
        enter(&mut out, &row, [&raw.name, &raw.tables, &raw.source], cache)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_beside_the_main_ones_have_caches_of_their_own() {
        let arch: Arch = "sm_90".parse().expect("known");
        let of = |opcode| reuse_cache(arch, opcode);
        for opcode in ["LOP3.LUT", "FFMA", "IMAD.WIDE", "HADD2.F32", "HFMA2", "HSETP2.BF16"] {
            assert_eq!(of(opcode), Some(ReuseCache::Main), "{opcode}");
        }
        assert_eq!((of("DFMA"), of("HFMA2.MMA")), (Some(ReuseCache::Fp64), Some(ReuseCache::Fp64)));
        assert_eq!(of("HMMA.16816.F32"), Some(ReuseCache::Tensor));
        assert_eq!((of("LDG"), of("NOVEL")), (None, None));
        assert_eq!(reuse_cache("sm_80".parse().expect("known"), "HSETP2"), None);
    }

    #[test]
    fn rows_that_cannot_be_are_refused() {
        let row = |row: &str| parse(&format!("tables,name,cache,source\n{row}\n")).map(|_| ());
        assert!(row("*,alu,main,mined").is_ok());
        for (bad, why) in [
            ("*,alu,mian,mined", "one of main"),
            ("*,alu,main,", "no source"),
            ("sm_9,alu,main,mined", "sm_9"),
        ] {
            let error = row(bad).expect_err(bad).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
