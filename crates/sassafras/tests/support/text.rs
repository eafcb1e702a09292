//! A cubin and its text: one thing, whatever is asked about it.

use sassafras::reschedule::{declared, reschedule_text};
use sassafras::{Options, Selection, reschedule, verify};
use sassafras_cubin::Cubin;
use sassafras_ir::text::{Annotated, parse_annotated};
use sassafras_sass::program::{Program, ProgramError};
use sassafras_sass::text::print;

/// The routines of a cubin as text.
fn texts(bytes: &[u8]) -> Result<String, ProgramError> {
    let cubin = Cubin::parse(bytes).unwrap_or_else(|error| panic!("a cubin: {error}"));
    let program = Program::new(&cubin)?;
    let mut texts = Vec::new();
    for code in program.sections() {
        texts.extend(program.lift(code)?.iter().map(|routine| print(routine, declared(code))));
    }
    Ok(texts.join("\n"))
}

fn parsed(text: &str) -> Vec<Annotated> {
    parse_annotated(text).unwrap_or_else(|error| panic!("{}", error.render("text", text, false)))
}

/// What is another thing in the text of a cubin than in the cubin; none for code that cannot be lifted.
pub fn differences(bytes: &[u8], options: &Options) -> Vec<String> {
    let Ok(text) = texts(bytes) else { return Vec::new() };
    let functions = parsed(&text);
    let mut found = Vec::new();
    let lines =
        functions.iter().map(|text| sassafras_ir::text::print_annotated(&text.function, &text.annotations));
    if lines.collect::<Vec<_>>().join("\n") != text {
        found.push("printed again it is another text".to_owned());
    }
    let hazards =
        [verify(bytes, &Selection::default()), verify::verify_text(&functions, &Selection::default())];
    let hazards = hazards.map(|said| said.map(|said| said.hazards()).map_err(|error| error.to_string()));
    if hazards[0] != hazards[1] {
        found.push(format!("hazards: {hazards:?}"));
    }
    let new = reschedule(bytes, options).unwrap_or_else(|error| panic!("the cubin: {error}"));
    let of_text = match reschedule_text(&functions, options) {
        Ok(done) => done,
        Err(error) => return vec![format!("the text: {error}")],
    };
    // Places that something outside points to are not in a text.
    let kept =
        |done: &sassafras::Rescheduled| done.outcomes.iter().any(|o| o.kept.is_some() || !o.left.is_empty());
    if kept(&new) || kept(&of_text) {
        return found;
    }
    let (Ok(wanted), Ok(made)) = (texts(&new.bytes), String::from_utf8(of_text.bytes)) else {
        found.push("the new cubin or the new text cannot be read".to_owned());
        return found;
    };
    if let Some((wanted, made)) = wanted.lines().zip(made.lines()).find(|(wanted, made)| wanted != made) {
        found.push(format!("rescheduled, the cubin has\n  {wanted}\nand the text\n  {made}"));
    }
    found
}
