//! What can be wrong with a setting, on the command line or in a file.

use std::fmt;

use thiserror::Error;

/// A setting that was refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SettingError {
    /// Not of the form `NAME=VALUE`.
    #[error("malformed knob assignment `{text}`: expected NAME=VALUE")]
    Malformed {
        /// The assignment, shortened.
        text: String,
    },
    /// No knob has this name or alias.
    #[error("unknown knob `{name}`{hint}")]
    Unknown {
        /// The name, shortened.
        name: String,
        /// What may help.
        hint: Hint,
    },
    /// The value is of another type.
    #[error("knob `{knob}` is of type {expected_type} and takes {expected}, not {found}")]
    Type {
        /// Name of the knob.
        knob: String,
        /// Its type.
        expected_type: &'static str,
        /// What to write instead.
        expected: &'static str,
        /// The value, or its type, shortened.
        found: String,
    },
    /// The value is of the right type and out of range.
    #[error("{value} is out of range for knob `{knob}`: allowed is {range}")]
    OutOfRange {
        /// Name of the knob.
        knob: String,
        /// The value, shortened.
        value: String,
        /// The range, in words.
        range: String,
    },
}

/// What may help after an unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing comes near.
    None,
    /// This name or alias is spelled nearly the same.
    Similar(String),
    /// The name belongs to a family whose members no document names.
    Family(String),
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("; `sassafras knobs` lists them"),
            Self::Similar(name) => write!(f, "; did you mean `{name}`?"),
            Self::Family(prefix) => {
                write!(f, "; the documents mention the {prefix}* family without naming its members")
            }
        }
    }
}

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the file, as given by the caller.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset; one past the end, or inside a character, is rounded down.
    pub(crate) fn of_offset(file: &str, text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A file of settings that was refused; none of its settings was taken.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FileError {
    /// Not TOML. A key given twice is one of these.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the TOML parser says.
        message: String,
    },
    /// A setting is wrong.
    #[error("{place}: {error}")]
    Setting {
        /// Where.
        place: Place,
        /// What is wrong with it.
        error: SettingError,
    },
    /// One knob is set twice, by its name and by its alias, or inside and outside of `[knobs]`.
    #[error("{place}: knob `{knob}` is already set in line {first_line}")]
    Repeated {
        /// Where the second setting is.
        place: Place,
        /// Name of the knob.
        knob: String,
        /// Line of the first setting.
        first_line: usize,
    },
}

/// Cuts user text for a message, so that a message stays one line of bounded length.
pub(crate) fn shorten(text: &str) -> String {
    const LIMIT: usize = 60;
    let mut short: String = text.chars().take(LIMIT).flat_map(char::escape_debug).collect();
    if text.chars().nth(LIMIT).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters() {
        let text = "a\näöü = 1\n";
        let place = |offset| {
            let place = Place::of_offset("f.toml", text, offset);
            (place.line, place.column)
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(1), (1, 2));
        assert_eq!(place(2), (2, 1));
        assert_eq!(place(3), (2, 1), "inside a character");
        assert_eq!(place(4), (2, 2));
        assert_eq!(place(usize::MAX), (3, 1));
        assert_eq!(Place::of_offset("f.toml", text, 4).to_string(), "f.toml:2:2");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(shorten("short"), "short");
        assert_eq!(shorten("a\nb"), "a\\nb");
        assert_eq!(shorten(&"x".repeat(1000)).chars().count(), 61);
    }
}
