//! Fatbinaries, host files and archives: every image is bounded, and replacing one leaves the others alone, also where the file
//! has to grow.

use sassafras_cubin::{Container, Image, Limits};

/// Finds the images of a file, decompresses each, and puts a changed one back.
pub fn container(data: &[u8]) -> bool {
    let limits = Limits { image_bytes: 1 << 16, zero_bytes: 1 << 16, ..Limits::default() };
    let container = match Container::parse_with(data, limits) {
        Ok(container) => container,
        Err(error) => {
            assert!(error.place.offset <= data.len() as u64 && !error.place.section.is_empty(), "{error}");
            return false;
        }
    };
    for image in container.images() {
        match container.bytes(image) {
            Ok(bytes) => {
                assert!(bytes.len() as u64 <= limits.image_bytes.max(data.len() as u64));
                assert!(container.replace(image, &bytes).expect("the same") == data);
            }
            Err(error) => assert!(error.place.offset <= data.len() as u64, "{error}"),
        }
    }
    // One, for compressing well takes its time.
    if let Some((index, image)) = container.images().iter().enumerate().next_back() {
        replace(&container, index, image, 0, limits);
        replace(&container, index, image, 512, limits);
    }
    true
}

/// Replaces an image by one that is changed and larger by some bytes that do not compress.
fn replace(container: &Container<'_>, index: usize, image: &Image, more: u64, limits: Limits) {
    let Ok(bytes) = container.bytes(image) else {
        return;
    };
    let mut new = bytes.into_owned();
    let Some(byte) = new.first_mut() else {
        return;
    };
    *byte ^= 0x80;
    new.extend((0..more).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ i as u8));
    let Ok(file) = container.replace(image, &new) else {
        return;
    };
    // A file that is an image becomes another file, which need not be recognised.
    if image.location.fatbinary.is_none() {
        return;
    }
    let again = Container::parse_with(&file, limits).expect("still whole");
    assert_eq!(again.images().len(), container.images().len());
    for (other, (before, after)) in container.images().iter().zip(again.images()).enumerate() {
        if other == index {
            // One that is larger may be beyond the bounds.
            let Ok(bytes) = again.bytes(after) else {
                assert!(more > 0, "{}", after.location);
                continue;
            };
            // What is stored as it is keeps its size.
            assert!(bytes.starts_with(&new) && bytes[new.len()..].iter().all(|&byte| byte == 0));
        } else if let Ok(expected) = container.bytes(before) {
            assert!(*again.bytes(after).expect("reads") == *expected);
        }
    }
}
