//! Goal: spans that overlap, on as few rows as can be, so that those of one row do not.
//!
//! Cost: spans times rows. Source: first fit in order of their starts, which is best possible for intervals.

use sassafras_analyze::trace::Span;

/// The spans, row by row, each row in order.
pub fn rows(spans: &[Span]) -> Vec<Vec<Span>> {
    let mut sorted: Vec<Span> = spans.to_vec();
    sorted.sort_by_key(|span| (span.start, span.warp, span.step));
    let mut rows: Vec<Vec<Span>> = Vec::new();
    for span in sorted {
        let free =
            |row: &&mut Vec<Span>| row.last().is_none_or(|last| last.start + last.cycles <= span.start);
        match rows.iter_mut().find(free) {
            Some(row) => row.push(span),
            None => rows.push(vec![span]),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(start: u32, cycles: u32) -> Span {
        Span { warp: 0, step: 0, start, cycles }
    }

    #[test]
    fn who_ends_makes_room() {
        let found = rows(&[span(0, 4), span(2, 4), span(4, 1), span(5, 2)]);
        assert_eq!(found, [vec![span(0, 4), span(4, 1), span(5, 2)], vec![span(2, 4)]]);
        assert!(rows(&[]).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_row_overlaps_and_none_is_in_vain(spans in prop::collection::vec((0u32..60, 1u32..20), 0..40)) {
            let spans: Vec<Span> = spans.into_iter().map(|(start, cycles)| span(start, cycles)).collect();
            let found = rows(&spans);
            for row in &found {
                prop_assert!(row.is_sorted_by(|a, b| a.start + a.cycles <= b.start), "{row:?}");
            }
            prop_assert_eq!(found.iter().map(Vec::len).sum::<usize>(), spans.len());
            let at_once = |now: u32| spans.iter().filter(|s| s.start <= now && now < s.start + s.cycles).count();
            prop_assert_eq!(found.len(), (0..80).map(at_once).max().unwrap_or(0));
        }
    }
}
