//! A module with the lines of its text.

use sassafras_ptx::{InstId, Module, Span};

/// One of the two modules.
pub(super) struct Side<'a> {
    pub module: &'a Module,
    /// Where lines start.
    starts: Vec<usize>,
}

impl<'a> Side<'a> {
    pub fn new(module: &'a Module) -> Side<'a> {
        let breaks = module.source().bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Side { module, starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    /// The line of a place, from 1.
    pub fn line(&self, span: Span) -> usize {
        self.starts.partition_point(|&start| start <= span.start())
    }

    /// The line of an instruction.
    pub fn inst_line(&self, inst: InstId) -> usize {
        self.line(self.module.inst(inst).span())
    }

    /// The tokens of a part of the text with one blank between them.
    pub fn words(&self, span: Span) -> String {
        let mut out = String::new();
        for token in self.module.tokens(span) {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(self.module.text(token));
        }
        out
    }

    /// An instruction on one line.
    pub fn inst(&self, inst: InstId) -> String {
        let text = self.module.text(self.module.inst(inst).span());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
