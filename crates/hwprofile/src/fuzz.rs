//! One entry point for fuzzers.

use crate::Profile;

/// Decodes any bytes; what decodes must encode to the same bytes and print.
///
/// # Panics
///
/// When one of these promises is broken, which is what a fuzzer looks for.
pub fn fuzz_decode(data: &[u8]) {
    match Profile::decode(data) {
        Ok(profile) => {
            assert_eq!(profile.encode().as_deref(), Ok(data), "the only encoding of {profile:?}");
            assert!(!profile.to_string().is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
