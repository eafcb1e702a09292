//! Switches of the strategies, from knobs.

use crate::list_schedule::Options;
use sassafras_knobs::{KnobSet, keys};
use sassafras_list::strategies::Terms;

impl Options {
    /// The same with what the knobs of the list schedulers say.
    #[must_use]
    pub fn with_knobs(self, knobs: &KnobSet) -> Options {
        let on = |key, otherwise: bool| knobs.get(key).unwrap_or(otherwise);
        let small = |key, otherwise: u32| {
            knobs.get(key).map_or(otherwise, |value: i64| u32::try_from(value).unwrap_or(u32::MAX))
        };
        let terms = self.terms;
        let tensor = u16::try_from(small(keys::TENSOR_LATENCY, 0)).unwrap_or(u16::MAX);
        Options {
            terms: Terms {
                critical_path: !on(keys::DISABLE_CRITICAL_PATH, !terms.critical_path),
                scheduled_height: !on(keys::DISABLE_SCHEDULED_HEIGHT, !terms.scheduled_height),
                register_pressure: !on(keys::DISABLE_REGISTER_PRESSURE, !terms.register_pressure),
                live_uses: !on(keys::DISABLE_LIVE_USES, !terms.live_uses),
                stalls: !on(keys::DISABLE_STALLS, !terms.stalls),
                physical_join: !on(keys::DISABLE_PHYSICAL_JOIN, !terms.physical_join),
                register_cycles: !on(keys::DISABLE_REGISTER_CYCLES, !terms.register_cycles),
                cycles: !on(keys::DISABLE_CYCLES, !terms.cycles),
                sorted: on(keys::SORT_FIRST, terms.sorted),
                max_reorder: small(keys::MAX_REORDER, terms.max_reorder),
                lookahead: u64::from(small(keys::CRITICAL_PATH_LOOKAHEAD, u32::MAX)),
                chain_limit: small(keys::RECURRENCE_CHAIN_LIMIT, terms.chain_limit),
                ..terms
            },
            async_tensor: on(keys::ASYNC_TENSOR, true).then_some(tensor),
            group_wmma: on(keys::WMMA_MEMORY_SPACE, self.group_wmma),
            cyclic_critical_path: on(keys::CYCLIC_CRITICAL_PATH, self.cyclic_critical_path),
            ..self
        }
    }
}
