//! Typed access to the knobs that something reads.
//!
//! A knob gets a key here together with its first entry in `used_by`; a test keeps the two in step, and names the keys that
//! wait for the preset `documented`. Since a [`Key`] cannot be made elsewhere, a knob that nothing reads is known to be one.

use std::marker::PhantomData;

use crate::value::Value;

/// The typed name of a knob that the project reads.
#[derive(Debug)]
pub struct Key<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    const fn new(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }

    /// Name of the knob.
    pub fn name(self) -> &'static str {
        self.name
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

/// A Rust type that the value of a knob can be read as.
pub trait Readable: Sized {
    /// The value, if it is of this type.
    fn read(value: &Value) -> Option<Self>;
}

impl Readable for bool {
    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl Readable for i64 {
    fn read(value: &Value) -> Option<Self> {
        value.as_int()
    }
}

impl Readable for f64 {
    fn read(value: &Value) -> Option<Self> {
        value.as_float()
    }
}

impl Readable for String {
    fn read(value: &Value) -> Option<Self> {
        value.as_text().map(str::to_owned)
    }
}

macro_rules! keys {
    ($($(#[$doc:meta])* $key:ident: $type:ty = $name:literal;)*) => {
        $($(#[$doc])* pub const $key: Key<$type> = Key::new($name);)*

        /// Name of every key with the test whether a kind holds values of its type.
        #[cfg(test)]
        const ALL: &[(&str, fn(&Value) -> bool)] =
            &[$(($name, |value| <$type as Readable>::read(value).is_some())),*];
    };
}

keys! {
    /// Cost of a result that no latency table speaks of (`deps`).
    HIGH_LATENCY_CYCLES: i64 = "sched-high-latency-cycles";
    /// How hard the scheduler after allocation works (`tepid`).
    TEPID_AGGRESSIVENESS: i64 = "knob-610";
    /// Tracks the two halves of a register separately.
    DUAL_REGISTER_TRACKING: bool = "knob-420";
    /// Batch size of the default mode, and largest stall of the ILP and ReduceReg modes.
    BATCH_OR_STALL_CAP: i64 = "knob-805";
    /// Largest stall of the DynBatch mode.
    DYNBATCH_STALL_CAP: i64 = "knob-806";
    /// Matrix scheduling without a recognised kernel, first mode.
    MATRIX_MODE_1: bool = "knob-618";
    /// Matrix scheduling without a recognised kernel, second mode.
    MATRIX_MODE_2: bool = "knob-629";
    /// Whether and how urgently barrier points are made in matrix kernels.
    CUTLASS_BARRIER_INSERTION: i64 = "knob-646";
    /// 1 makes the stall count of matrix kernels apply.
    CUTLASS_DETECTION_MODE: i64 = "cutlass-detection-mode";
    /// The stall count at barrier points of matrix kernels.
    CUTLASS_STALL_COUNT: i64 = "cutlass-stall-count";
    /// Leaves the critical path out of `list-ilp`.
    DISABLE_CRITICAL_PATH: bool = "disable-sched-critical-path";
    /// Leaves the scheduled height out of `list-ilp`.
    DISABLE_SCHEDULED_HEIGHT: bool = "disable-sched-scheduled-height";
    /// Leaves live ranges out of the list strategies.
    DISABLE_REGISTER_PRESSURE: bool = "disable-sched-reg-pressure";
    /// Leaves live operands out of `list-ilp`.
    DISABLE_LIVE_USES: bool = "disable-sched-live-uses";
    /// Leaves free units out of `list-ilp`.
    DISABLE_STALLS: bool = "disable-sched-stalls";
    /// Leaves physical registers out of `list-ilp`.
    DISABLE_PHYSICAL_JOIN: bool = "disable-sched-physreg-join";
    /// Does not look for values that go around a loop.
    DISABLE_REGISTER_CYCLES: bool = "disable-sched-vrcycle";
    /// List strategies do not wait for operands.
    DISABLE_CYCLES: bool = "disable-sched-cycles";
    /// Equal candidates come in source order.
    SORT_FIRST: bool = "topo-sort-begin";
    /// Picks beside the critical path in a row.
    MAX_REORDER: i64 = "max-sched-reorder";
    /// Slack within which a node is on the critical path.
    CRITICAL_PATH_LOOKAHEAD: i64 = "sched-critical-path-lookahead";
    /// Longest chain of a recurrence that is looked at.
    RECURRENCE_CHAIN_LIMIT: i64 = "recurrence-chain-limit";
    /// Asynchronous tensor copies have a latency and a priority of their own.
    ASYNC_TENSOR: bool = "enable-async-tensor-sched";
    /// Their latency.
    TENSOR_LATENCY: i64 = "tensor-latency-cycles";
    /// Puts accesses to matrix fragments together by bank.
    WMMA_MEMORY_SPACE: bool = "wmma-memory-space-opt";
    /// The critical path goes around the loop.
    CYCLIC_CRITICAL_PATH: bool = "enable-cyclic-critical-path";
    /// Which anti-dependences renaming removes.
    BREAK_ANTI_DEPENDENCES: String = "break-anti-dependencies";
    /// Breaks every second anti-dependence only.
    ANTI_DEPENDENCES_DIVIDED: bool = "agg-antidep-debugdiv";
    /// Breaks the other half of them.
    ANTI_DEPENDENCES_SECOND_HALF: bool = "agg-antidep-debugmod";
    /// Runs the list strategies on PTX.
    BEFORE_ALLOCATION: bool = "enable-misched";
    /// Runs the list strategies on binaries.
    AFTER_ALLOCATION: bool = "enable-post-misched";
    /// Prints the critical path.
    PRINT_CRITICAL: bool = "print-sched-critical";
    /// Attempts to fit buffers of tile programs.
    MAX_CONSTRAINT_ITERATIONS: i64 = "max-constraint-iterations";
    /// How operations of tile programs are given to warps.
    PIPELINE_STRATEGY: String = "pipeline-strategy";
    /// Rows of a reservation table above which time is quantised.
    RRT_SIZE_THRESHOLD: i64 = "rrt-size-threshold";
    /// Where a trace of the schedule goes.
    SCHEDULE_TRACE_FILE: String = "schedule-trace-file";
    /// Most stages where one agent runs everything.
    UNSPECIALIZED_STAGES: i64 = "unspecialized-pipeline-num-stages";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::registry;
    use crate::value::Kind;

    /// What the cost model and the plans for matrix kernels read, which wait for the preset `documented`.
    const AWAITING: [&str; 8] = [
        "cutlass-detection-mode",
        "cutlass-stall-count",
        "knob-420",
        "knob-618",
        "knob-629",
        "knob-646",
        "knob-805",
        "knob-806",
    ];

    #[test]
    fn keys_and_consumers_agree() {
        let keys: BTreeSet<&str> = ALL.iter().map(|&(name, _)| name).collect();
        assert_eq!(keys.len(), ALL.len(), "a knob has two keys");
        let read: BTreeSet<&str> =
            registry().iter().filter(|knob| !knob.used_by.is_empty()).map(|knob| &*knob.name).collect();
        assert_eq!(
            keys.difference(&read).copied().collect::<Vec<_>>(),
            AWAITING,
            "keys that no command reads"
        );
        assert_eq!(read.difference(&keys).count(), 0, "read without a key: {read:?}");
    }

    #[test]
    fn keys_have_the_type_of_their_knob() {
        for (name, reads) in ALL {
            let sample = match &registry().find(name).unwrap().kind {
                Kind::Bool => Value::Bool(true),
                Kind::Int(_) => Value::Int(0),
                Kind::Float(_) => Value::Float(0.0),
                Kind::Enum(_) | Kind::Text => Value::from(""),
            };
            assert!(reads(&sample), "{name}");
        }
    }
}
