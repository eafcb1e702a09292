//! What is fuzzed, as plain functions: the libFuzzer shims in `fuzz_targets/` and the smoke tests call the same ones.
//!
//! A target takes any bytes and panics when a promise of the crate under test is broken. It returns whether the input
//! got past the parser to the checks, so that a test can tell seeds that exercise something from seeds that do not.
#![forbid(unsafe_code)]

mod container;
mod control;
mod cubin;
mod cuda_tile;
mod dep_graph;
mod knobs;
mod ptx;
mod ptx_pair;
mod sass_decode;
pub mod seeds;
mod text_ir;
mod tile_text;

pub use container::container;
pub use control::control;
pub use cubin::cubin;
pub use cuda_tile::cuda_tile;
pub use dep_graph::dep_graph;
pub use knobs::knobs;
pub use ptx::ptx;
pub use ptx_pair::ptx_pair;
pub use sass_decode::sass_decode;
pub use text_ir::text_ir;
pub use tile_text::tile_text;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of the binary, the seed folder and the dictionary.
    pub name: &'static str,
    /// Runs one input; returns whether it got past the parser.
    pub run: fn(&[u8]) -> bool,
}

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target { name: "text_ir", run: text_ir },
    Target { name: "knobs", run: knobs },
    Target { name: "hwprofile", run: hwprofile },
    Target { name: "control", run: control },
    Target { name: "dep_graph", run: dep_graph },
    Target { name: "cubin", run: cubin },
    Target { name: "container", run: container },
    Target { name: "sass_decode", run: sass_decode },
    Target { name: "ptx", run: ptx },
    Target { name: "ptx_pair", run: ptx_pair },
    Target { name: "cuda_tile", run: cuda_tile },
    Target { name: "tile_text", run: tile_text },
];

/// Hardware profiles: what decodes has exactly one encoding and prints.
pub fn hwprofile(data: &[u8]) -> bool {
    sassafras_hwprofile::fuzz_decode(data);
    sassafras_hwprofile::Profile::decode(data).is_ok()
}
