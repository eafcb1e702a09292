//! The ways to order a block that compete. Each ranks what can go next and names the reason.

mod balance;
mod early_loads;
mod given;
mod height;
mod paced;
mod reuse;
mod reverse;
mod steady;

pub use balance::Balance;
pub use early_loads::EarlyLoads;
pub use given::Given;
pub use height::Height;
pub use paced::Paced;
pub use reuse::ReuseFirst;
pub use reverse::Reverse;
pub use steady::Steady;
