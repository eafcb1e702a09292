//! How much code is scheduled and analysed: what takes much for every instruction must not be asked of any number of them, and a few
//! kilobytes of a compressed file can stand for millions.

use sassafras_cubin::Image;
use thiserror::Error;

/// Sections with more instructions are neither scheduled nor analysed, and stay as they came: scheduling takes about ten microseconds and a
/// kilobyte for each. Three times the longest of NCCL, cuSPARSE, cuSOLVER and vLLM (2026-11), which has 87,212.
pub const LONGEST_SECTION: u64 = 1 << 18;

/// Functions whose blocks times instructions that set a scoreboard are more are not scheduled: who waits for whom is followed with a bit for
/// each pair. A function of 100,000 instructions with a block for every ten of them and a scoreboard for every third has a third of that.
pub const MOST_FOLLOWED: u64 = 1 << 30;

/// What is looked at of the images of a file of up to a megabyte, in bytes when decompressed.
///
/// Of 78 libraries (PyTorch, vLLM, cuBLAS, cuDNN, NPP, NCCL and others; 2026-11) none stands for more than 14 times its size. Single images
/// do (41 MB in 0.85 MB, PyTorch): such a one alone in a file would be too much. So much code takes the slowest commands up to eight seconds.
pub const MOST_UNPACKED: u64 = 12 << 20;
/// What is looked at besides for each byte that a file has beyond [`SMALL_FILE`].
pub const UNPACKED_RATIO: u64 = 64;
/// A megabyte.
pub const SMALL_FILE: u64 = 1 << 20;

/// Files that stand for more than so many times their size stay as they came where orders would be searched for: two more than any of those libraries.
pub const SEARCHED_RATIO: u64 = 16;

/// Whether a file of `size` bytes stands for more with these images than any is known to: that is more than a megabyte, and more than
/// [`SEARCHED_RATIO`] times its size.
pub fn is_unusual<'i>(images: impl Iterator<Item = &'i Image>, size: u64) -> bool {
    let all = images.map(|image| image.size).fold(0, u64::saturating_add);
    all > SMALL_FILE.max(size.saturating_mul(SEARCHED_RATIO))
}

/// A file stands for more code than any of its size does, and what is beyond is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("its file stands for more than {limit} bytes, and what is beyond is not looked at")]
pub struct TooMuch {
    /// What is looked at.
    pub limit: u64,
}

/// For each of these images of a file of `size` bytes whether it is too much: those are that no longer fit, in their order.
pub fn too_much<'i>(images: impl Iterator<Item = &'i Image>, size: u64) -> Vec<Option<TooMuch>> {
    let more = size.saturating_sub(SMALL_FILE).saturating_mul(UNPACKED_RATIO);
    let limit = MOST_UNPACKED.saturating_add(more);
    let mut left = limit;
    let fits = |image: &Image| match left.checked_sub(image.size) {
        Some(rest) => {
            left = rest;
            None
        }
        None => Some(TooMuch { limit }),
    };
    images.map(fits).collect()
}
