//! Machine code as text goes through everything that a cubin goes through, and comes out the same.

#[path = "support/text.rs"]
mod support;

use sassafras::reschedule::reschedule_text;
use sassafras::{Error, Options, Selection, verify};
use sassafras_ir::text::{Annotated, parse_annotated};
use sassafras_list::registry;

/// `corpus/cuda/nbody.cu` as ptxas compiled it for sm_90.
const SAMPLE: &[u8] = include_bytes!("../../cli/samples/nbody.cubin");

fn functions(text: &str) -> Vec<Annotated> {
    parse_annotated(text).expect("parses")
}

#[test]
fn the_text_of_a_cubin_is_scheduled_as_the_cubin() {
    for strategy in [registry::get("tepid"), registry::get("reverse")] {
        let options = Options { strategy, ..Options::default() };
        assert_eq!(support::differences(SAMPLE, &options), [""; 0], "{strategy:?}");
    }
}

const SMALL: &str = "func f sm_90 launch(entry, registers 32) {
^a:
  [B------:R-:W0:-:S04] R4 = LDG global.4[R2:2]
  [B0-----:R-:W-:Y:S05] R5 = FADD R4, R0 slots(R4, R0)
  [B------:R-:W1:-:S04] R6 = LDG global.4[R2:2+4]
  [B-1----:R-:W-:Y:S05] R7 = FADD R6, R0 slots(R6, R0)
  [B------:R-:W-:Y:S05] global.4[R8:2] = STG R5
  [B------:R-:W-:Y:S05] global.4[R8:2+4] = STG R7
  [B------:R-:W-:Y:S05] EXIT !exit
}
";

#[test]
fn text_without_machine_words_is_scheduled_and_proven() {
    let old = functions(SMALL);
    let options = Options { strategy: registry::get("height"), ..Options::default() };
    let done = reschedule_text(&old, &options).expect("scheduled");
    let new = String::from_utf8(done.bytes).expect("text");
    let places = |text: &str| text.lines().filter(|line| line.contains("LDG")).count();
    assert!(done.outcomes[0].moved > 0 && places(&new) == 2, "{new}");
    let found = verify::verify_text(&functions(&new), &Selection::default()).expect("machine code");
    assert_eq!(found.hazards(), 0);
    assert_eq!(sassafras_verify::against::annotated(&old, &functions(&new)), []);
    // Registers may be others, as long as every value gets to where it is wanted.
    let renamed = SMALL.replace("R6 =", "R10 =").replace("FADD R6, R0 slots(R6", "FADD R10, R0 slots(R10");
    assert_eq!(sassafras_verify::against::annotated(&old, &functions(&renamed)), []);
    for wrong in [
        SMALL.replace("R6 =", "R10 ="),
        SMALL.replace("global.4[R2:2+4]", "global.4[R2:2+8]"),
        SMALL.replace("STG R7", "STG R5"),
    ] {
        assert_ne!(sassafras_verify::against::annotated(&old, &functions(&wrong)), [], "{wrong}");
    }
}

#[test]
fn an_instruction_without_control_fields_among_others_is_an_error() {
    let text = SMALL.replace("[B------:R-:W1:-:S04] ", "");
    let wrong = [
        reschedule_text(&functions(&text), &Options::default()).err(),
        verify::verify_text(&functions(&text), &Selection::default()).err(),
        reschedule_text(&functions(&SMALL.replace("sm_90", "sm_999")), &Options::default()).err(),
    ];
    assert!(wrong.iter().all(|wrong| matches!(wrong, Some(Error::Text { .. }))), "{wrong:?}");
}
