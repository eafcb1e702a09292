//! The known name that an unknown one was probably meant to be.

/// Names longer than this are no slips of a known one; keeps the cost of a suggestion bounded.
const LONGEST: usize = 80;

/// The candidate with the smallest edit distance to `name`, if it is close enough to be a slip: one edit in five
/// characters. Case, `_` for `-`, leading dashes and a bare knob number do not count as edits.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let wanted = normalise(name);
    let allowed = (wanted.chars().count() / 5).max(1);
    candidates
        .map(|candidate| (strsim::osa_distance(&wanted, &normalise(candidate)), candidate))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

fn normalise(name: &str) -> String {
    let name = name.trim_start_matches('-').replace('_', "-").to_lowercase();
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("knob-{name}")
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggest(name: &str) -> Option<&'static str> {
        nearest(name, ["max-sched-reorder", "knob-805", "SchedDisableAll"].into_iter())
    }

    #[test]
    fn slips_are_recognised() {
        assert_eq!(suggest("max-shced-reorder"), Some("max-sched-reorder"));
        assert_eq!(suggest("--max_sched_reorder"), Some("max-sched-reorder"));
        assert_eq!(suggest("805"), Some("knob-805"));
        assert_eq!(suggest("Knob805"), Some("knob-805"));
        assert_eq!(suggest("scheddisableall"), Some("SchedDisableAll"));
    }

    #[test]
    fn strangers_are_not() {
        assert_eq!(suggest(""), None);
        assert_eq!(suggest("unroll"), None);
        assert_eq!(suggest(&"max-sched-reorder".repeat(100)), None);
    }
}
