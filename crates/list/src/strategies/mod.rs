//! The strategies, a file each.

mod critical_path;
mod original;
mod shuffle;

pub use critical_path::CriticalPath;
pub use original::Original;
pub use shuffle::Shuffle;
