//! Shim; what it runs is `sassafras_fuzz::cuda_tile`.
#![no_main]
#![allow(missing_docs)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sassafras_fuzz::cuda_tile(data);
});
