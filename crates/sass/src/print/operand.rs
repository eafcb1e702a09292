//! Arithmetic sources: templates name them by the letter of `forms.csv`, the opcode's form says where they are.
//!
//! `{$b:-|f}` is the source `b`. After the colon:
//!
//! | mark | means |
//! |---|---|
//! | `-` `\|` `~` | it can be negated, made absolute, inverted |
//! | `h` | two halves: a selector follows the register, an immediate is a pair of half floats |
//! | `w` | the same, and the selector may ask for a whole float |
//! | `q` | the same without a selector |
//! | `f` `d` | an immediate is a float, the upper half of a double |
//! | `s` | an immediate is a signed integer; else it is an unsigned one |
//! | `n` | its register has no reuse bit |

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Deserialize;

/// A row of `places.csv`: how a source is written when it comes from `place`, and the bits that modify it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaceRow {
    place: String,
    text: String,
    bindless: String,
    negate: String,
    absolute: String,
    half: String,
    half_negate: String,
    half_absolute: String,
    #[serde(rename = "source")]
    _source: String,
}

/// The sources of one form, by letter.
#[derive(Clone, Debug)]
pub(super) struct Operands {
    by_letter: HashMap<char, PlaceRow>,
    has_bindless: bool,
}

/// Which reuse bit belongs to a source.
const REUSE: [(char, u8); 4] = [('a', 122), ('b', 123), ('c', 124), ('x', 124)];

impl Operands {
    /// From a row of `forms.csv`.
    pub fn new<'a>(
        form: &HashMap<String, String>,
        places: impl Iterator<Item = &'a PlaceRow> + Clone,
        has_bindless: bool,
    ) -> Result<Operands, String> {
        let mut by_letter = HashMap::new();
        for (letter, _) in REUSE {
            let name = form.get(letter.encode_utf8(&mut [0; 4])).ok_or_else(|| format!("no `{letter}`"))?;
            let place = places.clone().find(|row| row.place == *name);
            by_letter.insert(letter, place.ok_or_else(|| format!("no place `{name}`"))?.clone());
        }
        Ok(Operands { by_letter, has_bindless })
    }

    /// Whether a source is a uniform register.
    pub fn has_uniform(&self) -> bool {
        self.by_letter.values().any(|place| place.place.starts_with("UR"))
    }

    /// Replaces the sources of a template by pieces.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let (body, tail) = after.split_once('}').ok_or("no `}`")?;
            match body.strip_prefix('$') {
                Some(source) => self.source(&mut out, source)?,
                None => {
                    let _ = write!(out, "{{{body}}}");
                }
            }
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn source(&self, out: &mut String, source: &str) -> Result<(), String> {
        let (name, marks) = source.split_once(':').unwrap_or((source, ""));
        let letter = name.parse::<char>().ok();
        let place = letter.and_then(|letter| self.by_letter.get(&letter));
        let place = place.ok_or_else(|| format!("`{name}` is no source"))?;
        if let Some(odd) = marks.chars().find(|mark| !"-|~hwqfdsn".contains(*mark)) {
            return Err(format!("`{odd}` is no mark of a source"));
        }
        let has = |mark: char| marks.contains(mark);
        let halves = has('h') || has('w') || has('q');
        if place.place == "-" {
            out.push_str(match () {
                () if halves => "<85=0?{f16:48..64}, {f16:32..48}><85=1?{bf16:48..64}, {bf16:32..48}>",
                () if has('f') => "{f32:32..64}",
                () if has('d') => "{f64:32..64}",
                () if has('s') => "{s:32..64}",
                () => "{x:32..64}",
            });
            return Ok(());
        }
        let (negate, absolute) = match halves {
            true => (&place.half_negate, &place.half_absolute),
            false => (&place.negate, &place.absolute),
        };
        let mut append = |text: std::fmt::Arguments<'_>| out.write_fmt(text).map_err(|e| e.to_string());
        if has('-') {
            append(format_args!("{{-:{negate}}}"))?;
        }
        if has('~') {
            append(format_args!("{{~:{negate}}}"))?;
        }
        let bar = if has('|') { format!("{{|:{absolute}}}") } else { String::new() };
        if self.has_bindless && !place.bindless.is_empty() {
            append(format_args!("{bar}<91=0?{}><91=1?{}>{bar}", place.text, place.bindless))?;
        } else {
            append(format_args!("{bar}{}{bar}", place.text))?;
        }
        let reuse = REUSE
            .iter()
            .find(|(l, _)| Some(*l) == letter)
            .filter(|_| place.place.starts_with('R') && !has('n'));
        if let Some((_, bit)) = reuse {
            append(format_args!("{{reuse:{bit}}}"))?;
        }
        if has('h') || has('w') {
            let table = if has('h') { "half" } else { "half_f32" };
            append(format_args!("{{={table}:{}}}", place.half))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands() -> Operands {
        let row = |place: &str, text: &str| PlaceRow {
            place: place.into(),
            text: text.into(),
            bindless: String::new(),
            negate: "72".into(),
            absolute: "73".into(),
            half: "74..76".into(),
            half_negate: "84".into(),
            half_absolute: "83".into(),
            _source: String::new(),
        };
        let places = [row("R24", "{R:24}"), row("-", "")];
        let form = [("a", "R24"), ("b", "-"), ("c", "R24"), ("x", "-")];
        let form = form.map(|(letter, place)| (letter.to_owned(), place.to_owned())).into();
        Operands::new(&form, places.iter(), true).unwrap()
    }

    #[test]
    fn sources_become_pieces() {
        let expand = |text| operands().expand(text).unwrap();
        assert_eq!(expand("X {R:16}, {$a:-|}"), "X {R:16}, {-:72}{|:73}{R:24}{|:73}{reuse:122}");
        assert_eq!(expand("{$b:-|f}, {$x:s}, {$b}"), "{f32:32..64}, {s:32..64}, {x:32..64}");
        assert_eq!(expand("{$c:-h}{$a:n}"), "{-:84}{R:24}{reuse:124}{=half:74..76}{R:24}");
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(operands().expand("{$a:z}").is_err() && operands().expand("{$y}").is_err());
    }
}
