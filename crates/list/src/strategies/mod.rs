//! The strategies: a file each, and a line each in the table [`STRATEGIES`].
//!
//! `original`, `shuffle` and `critical-path` need the graph alone. Seven are those of the list-schedulers document; they share
//! [`Terms`] (their switches) and [`Boosted`] (what should start early), and those that look at registers take the [`Values`](crate::values::Values) of the block. The
//! document gives priorities in the sense of the final order; those that grow from the end turn them round where a doc comment says so.
//! The others are for machine code: they look at pipes and at the reuse cache ([`SubCore`](crate::request::SubCore)).

mod balance;
mod converge;
mod critical_path;
mod critical_path_registers;
mod early_loads;
mod given;
mod height;
mod ilpmax;
mod ilpmin;
mod list_burr;
mod list_hybrid;
mod list_ilp;
mod original;
mod paced;
mod reuse;
mod reverse;
mod shuffle;
mod source;
mod steady;
mod store_lines;
mod terms;

use crate::registry::Contest::{Auto, Commute, LoadsEarly, Loops, Stores, Windows};
use crate::registry::Phase::{After, Any, Before};
use crate::registry::Taken::{Always, IfFaster, Never};
use crate::registry::{About, Entry, Input, agents, contest, of, orders};

pub use balance::Balance;
pub use converge::Converge;
pub use critical_path::CriticalPath;
pub use critical_path_registers::CriticalPathRegisters;
pub use early_loads::EarlyLoads;
pub use given::Given;
pub use height::Height;
pub use ilpmax::IlpMax;
pub use ilpmin::IlpMin;
pub use list_burr::ListBurr;
pub use list_hybrid::ListHybrid;
pub use list_ilp::ListIlp;
pub use original::Original;
pub use paced::Paced;
pub use reuse::ReuseFirst;
pub use reverse::Reverse;
pub use shuffle::Shuffle;
pub use source::Source;
pub use steady::Steady;
pub use store_lines::StoreLines;
pub use terms::{Boosted, Terms};

/// Everything that has blocks.
pub(crate) const CODE: &[Input] = &[Input::Binary, Input::Ptx, Input::Text];
/// What is not allocated yet.
const TEXTS: &[Input] = &[Input::Ptx, Input::Text];
/// Machine code alone.
pub(crate) const BINARY: &[Input] = &[Input::Binary];
/// Tile programs alone.
pub(crate) const TILE: &[Input] = &[Input::Tile];

/// All of them. Contestants are tried in this order, and of equals the first wins.
#[rustfmt::skip]
pub const STRATEGIES: &[Entry] = &[
    // strategy               takes   phase   taken     takes part in             made by
    of::<CriticalPath>       (CODE,   Any,    IfFaster, &[],                      |p| p.either(CriticalPath)),
    of::<Original>           (CODE,   Any,    Never,    &[],                      |p| p.either(Original)),
    of::<Shuffle>            (CODE,   Any,    Always,   &[],                      |p| p.either(Shuffle { seed: p.seed })),
    contest("tepid",          BINARY, After, TEPID),
    of::<Height>             (BINARY, After,  Always,   &[Loops],                 |p| p.down(Height)),
    of::<ReuseFirst<'_>>     (BINARY, After,  Always,   &[Loops, Windows],        |p| p.down(ReuseFirst::new(p.graph(), p.machine()?, p.window))),
    of::<EarlyLoads<'_>>     (BINARY, After,  Always,   &[LoadsEarly],            |p| p.down(EarlyLoads::new(p.machine()?))),
    of::<Steady<'_>>         (BINARY, After,  Always,   &[Loops],                 |p| p.down(Steady::new(p.graph(), p.machine()?))),
    of::<Balance>            (BINARY, After,  Always,   &[Loops],                 |p| p.down(Balance::new(p.graph(), p.machine()?, p.window))),
    of::<Reverse>            (BINARY, After,  Always,   &[],                      |p| p.down(Reverse)),
    of::<StoreLines>         (BINARY, After,  Always,   &[Stores],                |p| p.down(StoreLines)),
    of::<Paced<'_>>          (BINARY, After,  Always,   &[Loops],                 |p| p.down(Paced::new(p.graph(), p.machine()?, p.window))),
    orders::<Given>          (BINARY, After),
    contest("auto",           TEXTS,  Before, AUTO),
    of::<ListBurr<'_>>       (TEXTS,  Before, Always,   &[Auto, Commute],         |p| p.up(ListBurr::new(p.graph(), p.values()?, p.boosted(), p.terms))),
    of::<Source<'_>>         (TEXTS,  Before, Always,   &[Auto, Commute],         |p| p.up(Source::new(p.graph(), p.values()?, p.boosted(), p.terms))),
    of::<ListHybrid<'_>>     (TEXTS,  Before, Always,   &[Auto, Commute],         |p| p.up(ListHybrid::new(p.graph(), p.values()?, p.boosted(), p.terms))),
    of::<ListIlp<'_>>        (TEXTS,  Before, Always,   &[Auto, Commute],         |p| p.up(ListIlp::new(p.graph(), p.values()?, p.boosted(), p.terms))),
    of::<Converge>           (CODE,   Any,    Always,   &[Auto, Commute],         |p| p.down(Converge::new(p.graph(), p.boosted(), p.terms))),
    of::<IlpMax>             (CODE,   Any,    Always,   &[Auto, Commute],         |p| p.up(IlpMax::new(p.graph(), p.boosted(), p.terms))),
    of::<IlpMin>             (CODE,   Any,    Always,   &[Auto, Commute],         |p| p.up(IlpMin::new(p.graph(), p.boosted(), p.terms))),
    of::<CriticalPathRegisters<'_>>(CODE, Any, IfFaster, &[],                |p| p.up(CriticalPathRegisters::new(p.graph(), p.values()?))),
    agents("none",            "one agent, one iteration after the other"),
    agents("unspecialize",    "one agent, iterations overlap"),
    agents("warp-specialize", "agents of their own for transfers, matrix units and the rest"),
];

const TEPID: About = About {
    summary: "the best by the model of a sub-core; a block stays unless another order is clearly better",
    knobs: &["tepid-aggressiveness"],
    contests: &[],
    source: "ptxas-scheduling document",
};
const AUTO: About = About {
    summary: "the best by estimate of the list schedulers and the original order, block by block",
    knobs: &[],
    contests: &[Commute],
    source: "measured with ptxas 13.4",
};
