//! The ways to order a block that compete. Each ranks what can go next and names the reason.

mod early_loads;
mod height;
mod reuse;

pub use early_loads::EarlyLoads;
pub use height::Height;
pub use reuse::ReuseFirst;
