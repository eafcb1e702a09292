//! Command-line sessions as text files: `tests/cmd/*.trycmd`, with their input files in the folder of the same name.
//! `TRYCMD=overwrite` rewrites what is expected; look at the difference before you commit it.

#[test]
fn sessions() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
