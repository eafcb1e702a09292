//! What a text is read into.

use super::types::Type;

/// The operations that end a region.
const TERMINATORS: [&str; 4] = ["break", "continue", "return", "yield"];

/// A text: operations, and names for attributes where the text has debug information.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Module {
    /// In the order of the text.
    pub items: Vec<Item>,
}

/// What stands at the top of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// An `entry`, a `global`, a `module` around them.
    Operation(Operation),
    /// `#name = …`.
    Alias(Alias),
}

/// A name for an attribute, which is kept as it stands: only debug information uses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alias {
    /// The name, `#` and all.
    pub name: String,
    /// What stands behind the equals sign.
    pub text: String,
}

/// A value where it is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value {
    /// Its name without `%`.
    pub name: String,
    /// Which of the results that share the name: 1 of `%name#1`.
    pub number: Option<u32>,
}

/// Results that share a name where they are defined: `%name`, or `%name:2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Results {
    /// The name without `%`.
    pub name: String,
    /// How many they are, where the text says it.
    pub count: Option<u32>,
}

/// A name that a region gives to a value: an argument of an entry, what a loop carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The name without `%`.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Where it is from.
    pub location: Option<Location>,
}

/// `loc(…)`: where something is from, kept as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location(pub String);

/// The line of a text that an operation begins on, from 1; 0 where there is no text. All lines are equal, so that trees that differ
/// in nothing else are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line(pub u32);

impl PartialEq for Line {
    fn eq(&self, _: &Line) -> bool {
        true
    }
}

impl Eq for Line {}

impl std::hash::Hash for Line {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// What it defines.
    pub results: Vec<Results>,
    /// Its name: `mmaf`, `load_view_tko`.
    pub name: String,
    /// What it is given, and the types.
    pub header: Header,
    /// What is inside: the body of a loop or an entry, both sides of an `if`.
    pub regions: Vec<Region>,
    /// Where it is from.
    pub location: Option<Location>,
    /// Where it is in the text.
    pub line: Line,
}

/// What stands between the name of an operation and its regions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Header {
    /// Arguments, types behind a colon, types behind an arrow.
    Plain {
        /// What it is given.
        arguments: Vec<Argument>,
        /// Whether the last symbol among the arguments is followed by what the first region binds, as with an `entry`.
        signature: bool,
        /// The types behind the colon: of operands, or of results where there is no arrow.
        types: Vec<Type>,
        /// The types behind the arrow: of results.
        result_types: Vec<Type>,
        /// Whether those stand in parentheses.
        parentheses: bool,
    },
    /// `for %i in (%from to %to, step %step) : T iter_values(%a = %x) -> (T)`. Its region binds the index, then what is carried.
    For(Loop),
    /// `loop iter_values(%a = %x) : T -> T`. Its region binds what is carried.
    Loop {
        /// Where what is carried begins.
        initial: Vec<Value>,
        /// The types of the results.
        result_types: Vec<Type>,
    },
}

/// The header of a counted loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// Whether the bounds are unsigned.
    pub unsigned: bool,
    /// The first index.
    pub from: Value,
    /// The first index that is too large.
    pub to: Value,
    /// What is added to the index.
    pub step: Value,
    /// Where what is carried begins.
    pub initial: Vec<Value>,
}

/// Operations inside an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Region {
    /// The word before it: `else`.
    pub label: Option<String>,
    /// The names it gives to what comes in.
    pub arguments: Vec<Binding>,
    /// In order; the last one says what goes out, if anything does.
    pub operations: Vec<Operation>,
}

/// One argument of an operation, or one entry between brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Argument {
    /// What parts it from the one before.
    pub separator: Separator,
    /// Its name: `token` of `token = %0`.
    pub key: Option<Key>,
    /// What it is.
    pub value: Attribute,
}

/// What parts two arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Separator {
    /// A blank, or nothing before the first.
    #[default]
    Blank,
    /// A comma.
    Comma,
}

/// The name of an argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The name.
    pub name: String,
    /// Whether a colon follows, as in `<f32: 0.0>`, and not an equals sign.
    pub colon: bool,
    /// Whether a blank stands before the sign. The disassembler prints both `token = %0` and `token=%0`.
    pub blank: bool,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attribute {
    /// Nothing: a mode that has its default is printed as no word between two blanks.
    Default,
    /// A value.
    Value(Value),
    /// A value with indices: `%view[%i, %j]`.
    Indexed(Value, Vec<Argument>),
    /// A word: `weak`, `signed`, `#alias`.
    Word(String),
    /// A word with parameters: `div_by<16>`, `rounding<positive_inf>`.
    Call(String, Vec<Argument>),
    /// A symbol, `@` and all.
    Symbol(String),
    /// A number, as it is written: `1`, `0xFF800000`, `1.500000e+00`.
    Number(String),
    /// `?`.
    Unknown,
    /// A string, its quotes and all.
    Text(String),
    /// Sizes, and the type of an element behind them where there is one: `64x128`, `2x?xf32`.
    Shape(Vec<super::types::Extent>, Option<Box<Type>>),
    /// Something in brackets.
    Group(Bracket, Vec<Argument>),
    /// Something with its type: `0.000000e+00 : f32`.
    Typed(Box<Attribute>, Box<Type>),
    /// A type with parameters.
    Type(Box<Type>),
}

/// A pair of brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bracket {
    /// `()`.
    Round,
    /// `[]`.
    Square,
    /// `<>`.
    Angle,
    /// `{}`.
    Brace,
}

impl Module {
    /// The operations at the top.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.items.iter().filter_map(|item| match item {
            Item::Operation(operation) => Some(operation),
            Item::Alias(_) => None,
        })
    }

    /// The entries, those inside modules too.
    pub fn entries(&self) -> impl Iterator<Item = &Operation> {
        self.operations().flat_map(Operation::walk).filter(|operation| operation.name == "entry")
    }
}

impl Operation {
    /// Its results one by one: what they are called where they are used.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.results.iter().flat_map(|results| {
            let value = |number| Value { name: results.name.clone(), number };
            let several =
                results.count.into_iter().flat_map(move |count| (0..count).map(move |n| value(Some(n))));
            let one = results.count.is_none().then(|| value(None));
            one.into_iter().chain(several)
        })
    }

    /// How many results it has.
    pub fn result_count(&self) -> usize {
        self.results.iter().map(|results| results.count.unwrap_or(1) as usize).sum()
    }

    /// The type of a result. One type behind the arrow may be that of all; where there is no arrow, the result is of the last type
    /// behind the colon, or of the accumulator's.
    pub fn result_type(&self, number: usize) -> Option<&Type> {
        if number >= self.result_count() {
            return None;
        }
        let all = match &self.header {
            Header::For(_) => {
                return self.regions.first()?.arguments.get(number + 1).map(|binding| &binding.ty);
            }
            Header::Plain { result_types, types, .. } if result_types.is_empty() => {
                let scaled = self.name == "mmaf_scaled" && types.len() == 5;
                return if scaled { types.get(2) } else { types.last() };
            }
            Header::Plain { result_types, .. } | Header::Loop { result_types, .. } => result_types,
        };
        if all.len() == 1 { all.first() } else { all.get(number) }
    }

    /// The arguments; none of a loop.
    pub fn arguments(&self) -> &[Argument] {
        match &self.header {
            Header::Plain { arguments, .. } => arguments,
            Header::For(_) | Header::Loop { .. } => &[],
        }
    }

    /// The argument of this name.
    pub fn argument(&self, name: &str) -> Option<&Attribute> {
        let named = |argument: &&Argument| argument.key.as_ref().is_some_and(|key| key.name == name);
        self.arguments().iter().find(named).map(|argument| &argument.value)
    }

    /// Whether this word is among the arguments.
    #[cfg(test)]
    pub(crate) fn has_word(&self, word: &str) -> bool {
        self.arguments()
            .iter()
            .any(|a| matches!(&a.value, Attribute::Word(w) if a.key.is_none() && w == word))
    }

    /// The symbol it has, without `@`.
    pub fn symbol(&self) -> Option<&str> {
        self.arguments().iter().find_map(|argument| match &argument.value {
            Attribute::Symbol(symbol) => symbol.strip_prefix('@'),
            _ => None,
        })
    }

    /// All values it uses, in the order of the text; those of operations inside it are theirs.
    pub fn operands(&self) -> Vec<&Value> {
        let mut found = Vec::new();
        match &self.header {
            Header::Plain { arguments, .. } => arguments.iter().for_each(|a| a.value.collect(&mut found)),
            Header::For(header) => {
                found.extend([&header.from, &header.to, &header.step]);
                found.extend(&header.initial);
            }
            Header::Loop { initial, .. } => found.extend(initial),
        }
        found
    }

    /// The counted loop that it is.
    pub fn as_for(&self) -> Option<&Loop> {
        match &self.header {
            Header::For(header) => Some(header),
            _ => None,
        }
    }

    /// What a loop carries: the name in its body, and the value it begins with.
    pub fn carried(&self) -> impl Iterator<Item = (&Binding, &Value)> {
        let (skip, initial): (usize, &[Value]) = match &self.header {
            Header::For(header) => (1, &header.initial),
            Header::Loop { initial, .. } => (0, initial),
            Header::Plain { .. } => (0, &[]),
        };
        let bindings = self.regions.first().map_or(&[][..], |region| &region.arguments);
        bindings.iter().skip(skip).zip(initial)
    }

    /// It and all operations inside it, each before those inside it.
    pub fn walk(&self) -> impl Iterator<Item = &Operation> {
        let mut pending = vec![self];
        std::iter::from_fn(move || {
            let next = pending.pop()?;
            pending.extend(next.regions.iter().flat_map(|region| &region.operations).rev());
            Some(next)
        })
    }
}

impl Region {
    /// The operation at the end, which says what goes out. None where nothing goes out, because it is not printed then.
    pub fn terminator(&self) -> Option<&Operation> {
        self.operations.last().filter(|last| TERMINATORS.contains(&&*last.name))
    }
}

impl Attribute {
    /// Adds the values inside it.
    fn collect<'a>(&'a self, found: &mut Vec<&'a Value>) {
        match self {
            Attribute::Value(value) => found.push(value),
            Attribute::Indexed(value, arguments) => {
                found.push(value);
                arguments.iter().for_each(|a| a.value.collect(found));
            }
            Attribute::Call(_, arguments) | Attribute::Group(_, arguments) => {
                arguments.iter().for_each(|a| a.value.collect(found));
            }
            Attribute::Typed(inner, _) => inner.collect(found),
            Attribute::Default
            | Attribute::Word(_)
            | Attribute::Symbol(_)
            | Attribute::Number(_)
            | Attribute::Unknown
            | Attribute::Text(_)
            | Attribute::Shape(..)
            | Attribute::Type(_) => {}
        }
    }

    /// The value that it is or that it indexes.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Attribute::Value(value) | Attribute::Indexed(value, _) => Some(value),
            _ => None,
        }
    }
}
