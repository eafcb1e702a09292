//! The hazard checker on small functions, where more is asked than what it finds. What it finds is in `filetests/hazards`.

use sassafras_ir::Function;
use sassafras_ir::text::parse;
use sassafras_verify::hazards::{Came, Paths, Rules, check, rewritten};

fn function(body: &str) -> Function {
    let source = format!("func f sm_90 {{\n^entry:\n{body}}}\n");
    parse(&source)
        .unwrap_or_else(|error| panic!("{}", error.render("test", &source, false)))
        .functions
        .remove(0)
}

fn rules() -> &'static Rules {
    Rules::of("sm_90".parse().expect("an architecture"))
}

#[test]
fn a_finding_comes_with_the_blocks_that_lead_to_it() {
    // The loop's FFMA reads its own result of the iteration before: the branch adds its stall.
    let f = function(
        "^loop:\n[B------:R-:W-:Y:S01] R1 = FFMA R1, R0, R0\n[B------:R-:W-:Y:S02] @P0 BRA ^loop !branch\n\
         ^out:\n[B------:R-:W-:Y:S01] EXIT !exit\n",
    );
    let found = check(&f, rules()).findings;
    let path = Paths::new(&f).of(&found[0]);
    let names: Vec<&str> = path.iter().map(|&block| f.block_name(block)).collect();
    assert_eq!(names, ["loop", "loop"], "around the loop");
}

#[test]
fn pairs_of_which_nothing_is_known_keep_their_order() {
    let mut f = function(
        "[B------:R-:W-:Y:S04] BAR.SCAN !barrier\n[B------:R-:W-:Y:S02] R4 = LEPC\n[B------:R-:W-:Y:S15] NOP\n\
         [B------:R-:W-:Y:S05] EXIT !exit\n",
    );
    let as_it_came = Came::of(&f);
    let block = f.blocks().next().expect("a block");
    let mut order = f.block_insts(block).to_vec();
    order.swap(0, 1);
    f.reorder(block, &order);
    assert!(!rewritten(&f, &as_it_came, rules()).is_empty());
}
