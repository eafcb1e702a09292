//! The tree as text, as the disassembler prints it.

use super::tree::{
    Argument, Attribute, Binding, Bracket, Header, Item, Location, Module, Operation, Region, Results,
    Separator, Value,
};
use super::types::{Extent, TensorView, Tile, Type, View};
use std::fmt::{self, Display, Formatter};

/// Blanks that a region is deeper than the operation around it.
const STEP: usize = 2;

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for item in &self.items {
            match item {
                Item::Operation(operation) => writeln!(f, "{operation}")?,
                Item::Alias(alias) => writeln!(f, "{} = {}", alias.name, alias.text)?,
            }
        }
        Ok(())
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        operation(f, self, 0)
    }
}

fn operation(f: &mut Formatter<'_>, op: &Operation, indent: usize) -> fmt::Result {
    write!(f, "{:indent$}", "")?;
    if !op.results.is_empty() {
        write!(f, "{} = ", List(&op.results, ", "))?;
    }
    f.write_str(&op.name)?;
    let first = op.regions.first();
    let bound = first.map_or(&[][..], |region| &region.arguments);
    let mut own_line = false;
    match &op.header {
        Header::Plain { arguments, signature, types, result_types, parentheses } => {
            let last_symbol = arguments.iter().rposition(|a| a.is_symbol()).filter(|_| *signature);
            for (number, argument) in arguments.iter().enumerate() {
                if argument.separator == Separator::Comma {
                    f.write_str(",")?;
                }
                write!(f, " {argument}")?;
                if last_symbol == Some(number) {
                    write!(f, "({})", List(bound, ", "))?;
                }
            }
            if !types.is_empty() {
                write!(f, " : {}", List(types, ", "))?;
            }
            match (result_types.is_empty(), parentheses) {
                (_, true) => write!(f, " -> ({})", List(result_types, ", "))?,
                (false, false) => write!(f, " -> {}", List(result_types, ", "))?,
                (true, false) => {}
            }
            own_line = last_symbol.is_none();
        }
        Header::For(header) => {
            let sign = if header.unsigned { " unsigned" } else { "" };
            let (index, carried) = bound.split_first().ok_or(fmt::Error)?;
            write!(f, "{sign} %{} in ({} to {}, step {})", index.name, header.from, header.to, header.step)?;
            write!(f, " : {}", index.ty)?;
            if !header.initial.is_empty() {
                write!(f, " iter_values({})", List(&pairs(carried, &header.initial), ", "))?;
                let types: Vec<&Type> = carried.iter().map(|binding| &binding.ty).collect();
                write!(f, " -> ({})", List(&types, ", "))?;
            }
        }
        Header::Loop { initial, result_types } => {
            if !initial.is_empty() {
                let types: Vec<&Type> = bound.iter().map(|binding| &binding.ty).collect();
                write!(f, " iter_values({}) : {}", List(&pairs(bound, initial), ", "), List(&types, ", "))?;
            }
            if !result_types.is_empty() {
                let sign = if initial.is_empty() { ":" } else { "->" };
                write!(f, " {sign} {}", List(result_types, ", "))?;
            }
        }
    }
    for (number, inner) in op.regions.iter().enumerate() {
        region(f, inner, indent, (own_line || number > 0) && !inner.arguments.is_empty())?;
    }
    location(f, op.location.as_ref())
}

fn region(f: &mut Formatter<'_>, region: &Region, indent: usize, arguments: bool) -> fmt::Result {
    if let Some(label) = &region.label {
        write!(f, " {label}")?;
    }
    if arguments {
        // The blank before the newline is what the disassembler prints.
        write!(f, " \n{:indent$}({})", "", List(&region.arguments, ", "))?;
    }
    f.write_str(" {\n")?;
    for inner in &region.operations {
        operation(f, inner, indent + STEP)?;
        f.write_str("\n")?;
    }
    write!(f, "{:indent$}}}", "")
}

fn location(f: &mut Formatter<'_>, location: Option<&Location>) -> fmt::Result {
    location.map_or(Ok(()), |location| write!(f, " loc({})", location.0))
}

fn pairs(bound: &[Binding], initial: &[Value]) -> Vec<String> {
    bound.iter().zip(initial).map(|(binding, value)| format!("%{} = {value}", binding.name)).collect()
}

/// Things with something between them.
struct List<'a, T>(&'a [T], &'a str);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, item) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(self.1)?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.name)?;
        self.number.map_or(Ok(()), |number| write!(f, "#{number}"))
    }
}

impl Display for Results {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.name)?;
        self.count.map_or(Ok(()), |count| write!(f, ":{count}"))
    }
}

impl Display for Binding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}", self.name, self.ty)?;
        location(f, self.location.as_ref())
    }
}

impl Argument {
    fn is_symbol(&self) -> bool {
        matches!(self.value, Attribute::Symbol(_))
    }
}

/// Without its separator.
impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(key) = &self.key {
            f.write_str(&key.name)?;
            // A blank follows a colon always, and an equals sign when one stands before it.
            f.write_str(match (key.colon, key.blank) {
                (true, true) => " : ",
                (true, false) => ": ",
                (false, true) => " = ",
                (false, false) => "=",
            })?;
        }
        self.value.fmt(f)
    }
}

/// Entries between brackets.
struct Entries<'a>(&'a [Argument]);

impl Display for Entries<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, argument) in self.0.iter().enumerate() {
            match argument.separator {
                Separator::Comma => f.write_str(", ")?,
                Separator::Blank if number > 0 => f.write_str(" ")?,
                Separator::Blank => {}
            }
            argument.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Default => Ok(()),
            Attribute::Value(value) => value.fmt(f),
            Attribute::Indexed(value, indices) => write!(f, "{value}[{}]", Entries(indices)),
            Attribute::Word(text)
            | Attribute::Symbol(text)
            | Attribute::Number(text)
            | Attribute::Text(text) => f.write_str(text),
            Attribute::Call(name, parameters) => write!(f, "{name}<{}>", Entries(parameters)),
            Attribute::Unknown => f.write_str("?"),
            Attribute::Shape(shape, element) => match element {
                Some(element) => shaped(f, shape, element),
                None => List(shape, "x").fmt(f),
            },
            Attribute::Group(bracket, entries) => {
                let (open, close) = bracket.signs();
                write!(f, "{open}{}{close}", Entries(entries))
            }
            Attribute::Typed(inner, ty) => write!(f, "{inner} : {ty}"),
            Attribute::Type(ty) => ty.fmt(f),
        }
    }
}

impl Bracket {
    fn signs(self) -> (char, char) {
        match self {
            Bracket::Round => ('(', ')'),
            Bracket::Square => ('[', ']'),
            Bracket::Angle => ('<', '>'),
            Bracket::Brace => ('{', '}'),
        }
    }
}

impl Display for Extent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Static(size) => size.fmt(f),
            Extent::Dynamic => f.write_str("?"),
        }
    }
}

fn shaped(f: &mut Formatter<'_>, shape: &[Extent], element: &Type) -> fmt::Result {
    shape.iter().try_for_each(|extent| write!(f, "{extent}x"))?;
    element.fmt(f)
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tile(tile) => tile.fmt(f),
            Type::TensorView(view) => view.fmt(f),
            Type::View(view) => view.fmt(f),
            Type::Pointer(to) => write!(f, "ptr<{to}>"),
            Type::Token => f.write_str("token"),
            Type::Scalar(name) => f.write_str(name),
            Type::Other { name, parameters } => write!(f, "{name}<{}>", Entries(parameters)),
        }
    }
}

impl Display for Tile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("tile<")?;
        shaped(f, &self.shape, &self.element)?;
        f.write_str(">")
    }
}

impl Display for TensorView {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("tensor_view<")?;
        shaped(f, &self.shape, &self.element)?;
        if !self.strides.is_empty() {
            write!(f, ", strides=[{}]", List(&self.strides, ","))?;
        }
        f.write_str(">")
    }
}

impl Display for View {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}<tile=({}), ", self.kind.name(), List(&self.tile, "x"))?;
        if let Some(steps) = &self.traversal {
            write!(f, "traversal_strides=[{}], ", List(steps, ","))?;
        }
        if let Some(padding) = &self.padding {
            write!(f, "padding_value = {padding}, ")?;
        }
        self.tensor.fmt(f)?;
        if let Some(map) = &self.dim_map {
            write!(f, ", dim_map=[{}]", List(map, ", "))?;
        }
        if let Some(axis) = self.sparse_dim {
            write!(f, ", sparse_dim={axis}")?;
        }
        f.write_str(">")
    }
}
