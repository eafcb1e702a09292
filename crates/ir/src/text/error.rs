//! Parse errors with a place, and how they are shown.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::ops::Range;
use thiserror::Error;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// What was expected or found.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes that the caret underlines.
    pub span: Range<usize>,
}

impl ParseError {
    /// An error at these bytes of a text; other languages than this one have it, too.
    pub fn new(source: &str, span: Range<usize>, message: impl Into<String>) -> ParseError {
        let before = &source[..span.start.min(source.len())];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        ParseError {
            message: message.into(),
            line: before.bytes().filter(|&b| b == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span,
        }
    }

    /// The error as a compiler would show it: the line with a caret under the place.
    pub fn render(&self, file: &str, source: &str, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let snippet = Snippet::source(source)
            .path(file)
            .annotation(AnnotationKind::Primary.span(self.span.clone()).label(self.message.as_str()));
        renderer.render(&[Level::ERROR.primary_title(self.message.as_str()).element(snippet)])
    }
}
