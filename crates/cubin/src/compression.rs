//! Goal: the compressed payloads of fatbinary entries, with memory bounded by what the compressed bytes can really hold.
//!
//! Source: entries written by fatbinary 12 and 13: raw LZ4 blocks, or one zstd frame that states its content size.

use crate::error::{Error, Problem};
pub(crate) use crate::lz4::Effort;
use crate::source::Fields;

/// How a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As it is.
    None,
    /// A raw LZ4 block.
    Lz4,
    /// A zstd frame.
    Zstd,
}

impl Compression {
    fn name(self) -> &'static str {
        match self {
            Self::None => "stored",
            Self::Lz4 => "LZ4",
            Self::Zstd => "zstd",
        }
    }

    /// The most bytes that `stored` compressed bytes may stand for. An LZ4 length byte adds at most 255, a zstd block
    /// of four bytes may hold 128 KiB: no real image comes near.
    fn most(self, stored: u64, limits: Limits) -> u64 {
        let ratio = match self {
            Self::None => return stored.min(limits.image_bytes),
            Self::Lz4 => limits.lz4_ratio,
            Self::Zstd => limits.zstd_ratio,
        };
        let large = stored.saturating_mul(limits.large_ratio).saturating_add(limits.large_bytes);
        stored.saturating_mul(ratio).max(128 << 10).min(large).min(limits.image_bytes)
    }
}

/// Bounds on what reading and growing may allocate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one decompressed image.
    pub image_bytes: u64,
    /// Most bytes that one byte of LZ4 data may stand for, beyond 128 KiB.
    pub lz4_ratio: u64,
    /// Most bytes that one byte of zstd data may stand for, beyond 128 KiB.
    pub zstd_ratio: u64,
    /// What an image may have beyond that only as far as it is stored in much: so many bytes, ...
    pub large_bytes: u64,
    /// ... and so many more for each byte that it is stored in.
    pub large_ratio: u64,
    /// Most bytes of uninitialised data that are written into a host file so that it can grow.
    pub zero_bytes: u64,
}

impl Default for Limits {
    /// Four times what real libraries have, at the least. In more than 50,000 compressed entries of 59 libraries (PyTorch 2.11, vLLM, cuBLAS
    /// 12 and 13, cuDNN, cuSOLVER, cuSPARSE, cuTENSOR, NCCL, cuDF, cuVS, DALI and others; 2026-11) the largest image has 128 MiB (NCCL), and a
    /// byte stands for 34 at most with LZ4 (cuDF) and for 207 with zstd (PyTorch; cuBLASLt 134). 256 MiB of zeros: libraries have
    /// less than one.
    ///
    /// Four times the largest at four times the best ratio would be 512 MiB in a file of 620 kB. So an image beyond 64 MiB needs a byte for every
    /// 128 that are more: the largest image would be let through at the best ratio that any has (128 MiB in 0.62 MiB, up to 143 MiB may be), and what comes in less than
    /// a megabyte has 186 MiB at most, of which a new version and both checkers hold several copies in a gigabyte.
    fn default() -> Self {
        Self {
            image_bytes: 512 << 20,
            lz4_ratio: 136,
            zstd_ratio: 1024,
            large_bytes: 64 << 20,
            large_ratio: 128,
            zero_bytes: 256 << 20,
        }
    }
}

/// Decompresses `stored`, which lies at `at` of `whole` and must give exactly `claimed` bytes.
pub(crate) fn decompress(
    whole: Fields<'_, '_>,
    at: u64,
    stored: &[u8],
    claimed: u64,
    compression: Compression,
    limits: Limits,
) -> Result<Vec<u8>, Error> {
    let limit = compression.most(stored.len() as u64, limits);
    if claimed > limit {
        return Err(whole.error(at, Problem::TooLarge { claimed, limit }));
    }
    let failed = |message: String| {
        let codec = compression.name();
        whole.error(at, Problem::Compression { codec, message })
    };
    let mut image = vec![0; claimed as usize];
    let written = match compression {
        Compression::None => {
            image.copy_from_slice(&stored[..claimed as usize]);
            image.len()
        }
        Compression::Lz4 => {
            lz4_flex::block::decompress_into(stored, &mut image).map_err(|error| failed(error.to_string()))?
        }
        Compression::Zstd => {
            crate::zstd_frame::decompress(stored, &mut image).map_err(failed)?;
            image.len()
        }
    };
    if written != image.len() {
        return Err(failed(format!("{written} bytes, the header says {claimed}")));
    }
    Ok(image)
}

/// Compresses an image.
pub(crate) fn compress(image: &[u8], compression: Compression, effort: Effort) -> Vec<u8> {
    match compression {
        Compression::None => image.to_vec(),
        Compression::Lz4 => crate::lz4::compress(image, effort),
        Compression::Zstd => zstd(image, effort),
    }
}

/// Undoes [`compress`].
pub(crate) fn expand(stored: &[u8], size: usize, compression: Compression) -> Vec<u8> {
    let mut image = vec![0; size];
    match compression {
        Compression::None => image.copy_from_slice(stored),
        Compression::Lz4 => {
            let written = lz4_flex::block::decompress_into(stored, &mut image);
            assert_eq!(written.ok(), Some(size), "a block of ours");
        }
        Compression::Zstd => crate::zstd_frame::decompress(stored, &mut image).expect("a frame of ours"),
    }
    image
}

/// Reading stays with the decoder in safe Rust, which meets foreign bytes; this encoder meets only ours.
fn zstd(image: &[u8], effort: Effort) -> Vec<u8> {
    let level = match effort {
        Effort::Quick => ZSTD_QUICK,
        Effort::Best => *zstd::compression_level_range().end(),
    };
    zstd::bulk::compress(image, level).expect("memory to memory, into room enough")
}

/// About as small as what fatbinary writes.
const ZSTD_QUICK: i32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_in_proportion_to_what_they_are_stored_in() {
        let most = |compression: Compression, stored: u64| compression.most(stored, Limits::default());
        // The largest image of a library at the best ratio of any.
        assert!(most(Compression::Zstd, (128 << 20) / 207) >= 128 << 20);
        assert!(most(Compression::Lz4, (128 << 20) / 34) >= 128 << 20);
        // Small ones may have four times the best.
        assert_eq!(most(Compression::Zstd, 50_000), 50_000 * 1024);
        assert_eq!(most(Compression::Zstd, 1), 128 << 10);
        // No file under a megabyte has hundreds of them.
        assert!(most(Compression::Zstd, 1_000_000) < 187 << 20);
        assert!(most(Compression::Lz4, 1_000_000) < 130 << 20);
        assert_eq!(most(Compression::Zstd, 1 << 30), 512 << 20);
    }
}
