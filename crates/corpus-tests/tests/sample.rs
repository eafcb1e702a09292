//! The sample that the command carries is what the corpus compiles today: nobody reschedules a file by hand that no source leads to.
#![cfg(feature = "real-tools")]

use sassafras_corpus_tests::{Origin, cubins};

const SAMPLE: &[u8] = include_bytes!("../../cli/samples/nbody.cubin");

#[test]
fn the_sample_is_the_n_body_kernel_of_the_corpus() {
    let corpus = cubins().expect("a corpus");
    let ours = |item: &&sassafras_corpus_tests::Item| {
        item.origin == Origin::Cuda && item.name.contains("nbody") && item.sm.to_string() == "sm_90"
    };
    let mut named = corpus.iter().filter(ours);
    let item = named.find(|item| !item.name.contains('-')).expect("nbody for sm_90 is in the corpus");
    assert!(
        item.bytes == SAMPLE,
        "crates/cli/samples/nbody.cubin is not {}, which ptxas makes of corpus/cuda/nbody.cu: copy it",
        item.name
    );
}
