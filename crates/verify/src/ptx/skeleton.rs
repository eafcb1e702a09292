//! Everything outside instructions: the same tokens, and blocks at the same places between them.
//!
//! The text becomes a row of events: a token, the start of a block, a label inside a block with its place there. Instructions and `.loc` are
//! left out. Two modules with the same row have the same directives, declarations, scopes and labels, functions and blocks, in the same
//! order; registers of one are registers of the other by number.

use super::lines::Side;
use super::{Illegal, Place, Rule};
use sassafras_ptx::{Module, Span};

/// What the text is made of besides instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event<'a> {
    Token(&'a str),
    Block,
    /// A label that no instruction names, and how many instructions of its block stand before it.
    Label(usize, &'a str),
}

impl Event<'_> {
    fn describe(event: Option<Event<'_>>) -> String {
        match event {
            None => "the end of the text".to_owned(),
            Some(Event::Token(text)) => format!("`{text}`"),
            Some(Event::Block) => "a block of instructions".to_owned(),
            Some(Event::Label(place, name)) => {
                let plural = if place == 1 { "" } else { "s" };
                format!(
                    "`{name}`, which no instruction names, behind {place} instruction{plural} of its block"
                )
            }
        }
    }
}

/// A part of the text that is not compared token by token.
struct Cut<'a> {
    span: Span,
    event: Option<Event<'a>>,
}

/// Checks that both modules are the same outside their instructions.
pub(super) fn check(old: &Side<'_>, new: &Side<'_>) -> Result<(), Illegal> {
    let (mut was, mut is) = (Events::new(old.module), Events::new(new.module));
    loop {
        let (a, b) = (was.next(), is.next());
        if a.map(|(event, _)| event) != b.map(|(event, _)| event) {
            let (was, is) = (Event::describe(a.map(|a| a.0)), Event::describe(b.map(|b| b.0)));
            let function = b.and_then(|(_, span)| around(new.module, span));
            let place = Box::new(Place {
                function,
                block: None,
                old_line: a.map(|(_, span)| old.line(span)),
                new_line: b.map(|(_, span)| new.line(span)),
            });
            return Err(Illegal { place, rule: Rule::Outside { was, is } });
        }
        if a.is_none() {
            break;
        }
    }
    // The same events are read the same way; this is only to be sure.
    let shape = |module: &Module| {
        let blocks: Vec<usize> = module.functions().iter().map(|f| f.blocks().len()).collect();
        (blocks, module.register_count())
    };
    if shape(old.module) != shape(new.module) {
        let (was, is) = ("the same functions and registers".to_owned(), "others".to_owned());
        return Err(Illegal { place: Box::default(), rule: Rule::Outside { was, is } });
    }
    Ok(())
}

/// The function around a place.
fn around(module: &Module, place: Span) -> Option<String> {
    let mut functions = module.functions().iter();
    let found = functions.find(|f| f.span().start() <= place.start() && place.start() < f.span().end());
    found.map(|function| module.text(function.name()).to_owned())
}

struct Events<'a> {
    module: &'a Module,
    tokens: Box<dyn Iterator<Item = Span> + 'a>,
    cuts: std::iter::Peekable<std::vec::IntoIter<Cut<'a>>>,
    /// A token that waits for the events in front of it.
    held: Option<Span>,
}

impl<'a> Events<'a> {
    fn new(module: &'a Module) -> Events<'a> {
        let mut cuts: Vec<Cut<'a>> = Vec::with_capacity(module.inst_count() + module.locs().len());
        cuts.extend(module.locs().iter().map(|&span| Cut { span, event: None }));
        for block in module.blocks() {
            for (place, inst) in module.order(block).into_iter().enumerate() {
                for span in module.free_labels(inst) {
                    let name = module.tokens(span).next().map_or("", |token| module.text(token));
                    cuts.push(Cut { span, event: Some(Event::Label(place, name)) });
                }
                let event = (place == 0).then_some(Event::Block);
                cuts.push(Cut { span: module.inst(inst).span(), event });
            }
        }
        cuts.sort_by_key(|cut| cut.span.start());
        let tokens = Box::new(module.tokens(module.span()));
        Events { module, tokens, cuts: cuts.into_iter().peekable(), held: None }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = (Event<'a>, Span);

    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        loop {
            let token = self.held.take().or_else(|| self.tokens.next())?;
            match self.cuts.peek_mut() {
                Some(cut) if cut.span.end() <= token.start() => drop(self.cuts.next()),
                Some(cut) if cut.span.start() <= token.start() => {
                    // What a cut says is said once, at its first token; its tokens are passed over.
                    if let Some(event) = cut.event.take() {
                        return Some((event, token));
                    }
                    continue;
                }
                _ => return Some((Event::Token(self.module.text(token)), token)),
            }
            self.held = Some(token);
        }
    }
}
