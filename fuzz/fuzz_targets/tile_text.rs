//! Shim; what it runs is `sassafras_fuzz::tile_text`.
#![no_main]
#![allow(missing_docs)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    sassafras_fuzz::tile_text(data);
});
