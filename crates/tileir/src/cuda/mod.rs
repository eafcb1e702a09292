//! CUDA Tile IR as `tileirdisasm` prints it, read into a tree and printed again.
//!
//! * [`tree`](Module): modules, operations, regions, attributes;
//! * [`types`](Type): tiles, views, pointers, tokens;
//! * `lex` and `parse`: from text; [`print`](Module#impl-Display-for-Module): back to it.
//!
//! The parser knows the shape of an operation, not the list of operations: results, a name, arguments, types behind a colon and an
//! arrow, regions. Only the two loops, whose headers bind names, are read by their names. An operation of a later version of the
//! language is read like any other. What the disassembler prints comes back byte by byte, except for comments.
//!
//! Values are names. They are checked while a text is read: every value is defined once among those that can be seen, and before it
//! is used.

mod lex;
mod parse;
mod print;
mod tree;
mod types;

pub use crate::lex::TextError;
pub use tree::{
    Alias, Argument, Attribute, Binding, Bracket, Header, Item, Key, Line, Location, Loop, Module, Operation,
    Region, Results, Separator, Value,
};
pub use types::{Extent, TensorView, Tile, Type, View, ViewKind};

#[cfg(test)]
mod tests;
