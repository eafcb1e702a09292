//! Goal: one zstd frame, decompressed and believed only if all that its header and its end state is true.
//!
//! The decoder in safe Rust decodes blocks; it does not compare the content size and the checksum that a frame states with
//! what came out, takes any number of frames, and any window. Other decoders refuse what is refused here, so that a file with
//! such a frame does not load.
//!
//! Source: RFC 8878, section 3.1.1: magic, descriptor (7–6 width of the content size, 5 single segment, 3 reserved, 2 checksum, 1–0
//! width of the dictionary's number), window, dictionary, content size, blocks, checksum. fatbinary always states the content size.

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// The largest window that decoders take where nobody asks them for more.
const MOST_WINDOW: u64 = 128 << 20;
/// Bytes decoded before they are taken over.
const STEP: usize = 1 << 20;

/// What a frame states about itself.
struct Header {
    /// Bytes of its content.
    content: u64,
    /// Bytes that have to be kept while it is decoded.
    window: u64,
}

impl Header {
    fn read(frame: &[u8]) -> Result<Header, String> {
        let cut = || "the frame's header is cut short".to_owned();
        let rest = frame.strip_prefix(&MAGIC).ok_or("no zstd frame")?;
        let (&descriptor, mut rest) = rest.split_first().ok_or_else(cut)?;
        if descriptor & 8 != 0 {
            return Err("the frame's header has a reserved bit set".to_owned());
        }
        let single = descriptor & 0x20 != 0;
        let mut take = |count: usize| -> Result<u64, String> {
            let (bytes, left) = rest.split_at_checked(count).ok_or_else(cut)?;
            rest = left;
            Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        };
        let window = if single { None } else { Some(take(1)?) };
        if take([0, 1, 2, 4][usize::from(descriptor & 3)])? != 0 {
            return Err("the frame needs a dictionary".to_owned());
        }
        let content = match (descriptor >> 6, single) {
            (0, false) => return Err("the frame does not state the size of its content".to_owned()),
            (0, true) => take(1)?,
            (1, _) => take(2)? + 256,
            (2, _) => take(4)?,
            (_, _) => take(8)?,
        };
        let window = window.map_or(content, |window| {
            let base = 1u64 << (10 + (window >> 3));
            base + base / 8 * (window & 7)
        });
        Ok(Header { content, window })
    }
}

/// Decompresses the one frame of `stored`, which has to fill `image`.
pub(crate) fn decompress(mut stored: &[u8], image: &mut [u8]) -> Result<(), String> {
    let header = Header::read(stored)?;
    if header.content != image.len() as u64 {
        return Err(format!("the frame says {} bytes, the entry {}", header.content, image.len()));
    }
    if header.window > MOST_WINDOW.max(header.content) {
        return Err(format!("the frame has a window of {} bytes", header.window));
    }
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut stored).map_err(|error| error.to_string())?;
    let mut written = 0;
    while !decoder.is_finished() {
        let strategy = BlockDecodingStrategy::UptoBytes(STEP);
        decoder.decode_blocks(&mut stored, strategy).map_err(|error| error.to_string())?;
        written += decoder.read(&mut image[written..]).map_err(|error| error.to_string())?;
        if decoder.can_collect() != 0 {
            return Err(format!("more than the {} bytes that the frame says", image.len()));
        }
    }
    if written != image.len() {
        return Err(format!("{written} bytes, the frame says {}", image.len()));
    }
    if let Some(stated) = decoder.get_checksum_from_data()
        && decoder.get_calculated_checksum() != Some(stated)
    {
        return Err("the content is not what its checksum says".to_owned());
    }
    match stored.len() {
        0 => Ok(()),
        left => Err(format!("{left} bytes stand behind the frame")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that takes more than one block.
    fn content() -> Vec<u8> {
        (0..30_000u32)
            .flat_map(|i| format!("line {} of {}\n", i * 7919 % 1000, i / 16).into_bytes())
            .collect()
    }

    fn frame(content: &[u8], checksum: bool) -> Vec<u8> {
        let mut compressor = zstd::bulk::Compressor::new(3).expect("a compressor");
        compressor.include_checksum(checksum).expect("a setting");
        compressor.compress(content).expect("room enough")
    }

    fn decompressed(frame: &[u8], size: usize) -> Result<Vec<u8>, String> {
        let mut image = vec![0; size];
        decompress(frame, &mut image).map(|()| image)
    }

    #[test]
    fn frames_of_every_size_are_read() {
        let content = content();
        for size in [0, 1, 255, 256, 257, 65_791, 65_792, 200_000, content.len()] {
            for checksum in [false, true] {
                let frame = frame(&content[..size], checksum);
                assert!(decompressed(&frame, size).is_ok_and(|image| image == content[..size]), "{size}");
            }
        }
    }

    #[test]
    fn no_bit_of_a_header_may_change() {
        let content = content();
        for size in [100, 300, content.len()] {
            let whole = frame(&content[..size], true);
            for bit in 0..8 * 9 {
                let mut damaged = whole.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                // Bit 4 of the descriptor is for nobody to read; a larger window changes nothing.
                if let Ok(image) = decompressed(&damaged, size) {
                    assert!(image == content[..size], "{size}, bit {bit}");
                    let window = whole[4] & 0x20 == 0 && bit / 8 == 5;
                    assert!(bit == 4 * 8 + 4 || window, "{size}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn what_a_frame_states_is_held_against_it() {
        let content = content();
        let whole = frame(&content, true);
        let said = |frame: &[u8], size| decompressed(frame, size).expect_err("refused");
        assert!(said(&whole, content.len() - 1).starts_with("the frame says "));
        let mut damaged = whole.clone();
        *damaged.last_mut().expect("a byte") ^= 1;
        assert_eq!(said(&damaged, content.len()), "the content is not what its checksum says");
        let behind = [&whole[..], &[0]].concat();
        assert_eq!(said(&behind, content.len()), "1 bytes stand behind the frame");
        let two = [&whole[..], &whole].concat();
        assert!(decompressed(&two, 2 * content.len()).is_err(), "two frames are none");
        assert!(said(&whole[..4], 0).ends_with("cut short"));
        // Magic, no size stated, and one empty block.
        assert!(said(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0], 0).starts_with("the frame does not state"));
        assert!(said(&[0x28, 0xb5, 0x2f, 0xfd, 0x80, 0xf8, 0, 0, 0, 0, 1, 0, 0], 0).contains("a window of"));
    }
}
