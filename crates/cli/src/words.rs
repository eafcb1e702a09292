//! Goal: a text cut into words as a shell does it: blanks part them, quotes and backslashes keep them together. Nothing else
//! of a shell: no variables, no patterns.

/// What keeps words together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// Single and double quotes.
    Both,
    /// Double quotes alone, as in option files of ptxas 13.4 (tried): a single quote is a character as any other.
    Double,
}

/// Cuts a text into words.
///
/// # Errors
/// When a quote is not closed or nothing follows the last backslash.
pub fn split(text: &str, quotes: Quotes) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' if quotes == Quotes::Both => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err(format!("a quote is not closed: {text}")),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('"') => break,
                        Some('\\') => match rest.next() {
                            Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                            Some(c) => word.extend(['\\', c]),
                            None => return Err(format!("a quote is not closed: {text}")),
                        },
                        Some(c) => word.push(c),
                        None => return Err(format!("a quote is not closed: {text}")),
                    }
                }
            }
            '\\' => match rest.next() {
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err(format!("nothing follows the last backslash: {text}")),
            },
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (text, wanted) in [
            ("", &[][..]),
            ("  \t\n", &[]),
            ("--quiet --knob a=1", &["--quiet", "--knob", "a=1"]),
            ("--knobs 'a b.toml'", &["--knobs", "a b.toml"]),
            ("x\"a b\"'c d'\\ e", &["xa bc d e"]),
            ("'' \"\"", &["", ""]),
            (r#""a\"b\\c\d""#, &[r#"a"b\c\d"#]),
            (r"'a\b'", &[r"a\b"]),
        ] {
            assert_eq!(
                split(text, Quotes::Both).as_deref(),
                Ok(&wanted.iter().map(|&w| w.to_owned()).collect::<Vec<_>>()[..])
            );
        }
        let double = split("it's \"a b\" c\\ d", Quotes::Double);
        assert_eq!(double.as_deref(), Ok(&["it's", "a b", "c d"].map(str::to_owned)[..]));
        for text in ["'", "a \"b", "\"a\\", "a\\"] {
            assert!(split(text, Quotes::Both).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in prop::collection::vec("[^']{0,8}", 0..5)) {
            let text: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            prop_assert_eq!(split(&text.join(" "), Quotes::Both), Ok(words));
        }
    }
}
