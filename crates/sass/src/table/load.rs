//! From CSV text to dense tables.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::TableError;
use super::field::Gathered;
use super::spec::{self, Context, Extent, Form, Order, OrderRule, Orders, Row, Rule, Rules};

/// How many values the opcode field (bits 0..12) has.
pub(crate) const OPCODES: usize = 1 << 12;
/// SM numbers are below this.
pub(crate) const SMS: usize = 256;

/// The texts of the tables: the built-in ones, or a user's.
#[derive(Clone, Debug)]
pub struct Sources<'a> {
    /// Which architectures share a table.
    pub families: &'a str,
    /// Where arithmetic sources sit.
    pub forms: &'a str,
    /// How modifier fields decide operand widths.
    pub lanes: &'a str,
    /// How memory-order fields read.
    pub orders: &'a str,
    /// `(family, text)` of the opcode tables.
    pub opcodes: Vec<(&'a str, &'a str)>,
}

impl Sources<'static> {
    /// The tables that come with the crate.
    pub fn builtin() -> Sources<'static> {
        Sources {
            families: include_str!("../../data/families.csv"),
            forms: include_str!("../../data/forms.csv"),
            lanes: include_str!("../../data/lanes.csv"),
            orders: include_str!("../../data/orders.csv"),
            opcodes: vec![
                ("volta", include_str!("../../data/volta.csv")),
                ("xavier", include_str!("../../data/xavier.csv")),
                ("turing", include_str!("../../data/turing.csv")),
                ("ampere", include_str!("../../data/ampere.csv")),
                ("hopper", include_str!("../../data/hopper.csv")),
                ("blackwell", include_str!("../../data/blackwell.csv")),
                ("blackwell_64", include_str!("../../data/blackwell_64.csv")),
                ("blackwell_107", include_str!("../../data/blackwell_107.csv")),
                ("blackwell_120", include_str!("../../data/blackwell_120.csv")),
            ],
        }
    }
}

impl Sources<'_> {
    /// Checks that the texts parse.
    pub fn validate(&self) -> Result<(), TableError> {
        Tables::parse(self).map(drop)
    }
}

/// Rows of an opcode with the table and line they stand in.
type Texts<'a> = BTreeMap<u16, Vec<(&'a str, u64, Arc<OpcodeRow>)>>;

/// One family's rows, reachable by opcode.
#[derive(Debug)]
pub(crate) struct FamilyTable {
    #[cfg(test)]
    pub name: String,
    /// Bits 0..9 of every control-flow instruction.
    control: Range<u16>,
    rows: Vec<Row>,
    /// Rows of opcode `i` are `rows[first[i]..first[i + 1]]`.
    first: Vec<u16>,
}

impl FamilyTable {
    /// Whether an opcode lies where the control-flow instructions are, known or not.
    pub fn is_control(&self, opcode: usize) -> bool {
        self.control.contains(&(opcode as u16 & 0x1ff))
    }

    /// The rows of an opcode, in the order to try them.
    #[inline]
    pub fn rows(&self, opcode: usize) -> &[Row] {
        &self.rows[usize::from(self.first[opcode])..usize::from(self.first[opcode + 1])]
    }
}

/// Families that were read.
#[derive(Debug)]
pub(crate) struct Tables {
    families: Vec<FamilyTable>,
}

impl Tables {
    /// The table for an SM number of those that come with the crate. It alone is read, when it is first asked for: all of
    /// them take longer than the work on a small kernel.
    pub fn builtin(sm: u16) -> Option<&'static FamilyTable> {
        static BY_SM: [OnceLock<Option<FamilyTable>>; SMS] = [const { OnceLock::new() }; SMS];
        let read = || {
            let tables =
                Tables::parse_for(&Sources::builtin(), Some(sm)).expect("the built-in tables are tested");
            tables.families.into_iter().next()
        };
        BY_SM.get(usize::from(sm))?.get_or_init(read).as_ref()
    }

    pub fn parse(sources: &Sources<'_>) -> Result<Tables, TableError> {
        Tables::parse_for(sources, None)
    }

    /// Reads the table of one SM number and no other, or all.
    fn parse_for(sources: &Sources<'_>, only: Option<u16>) -> Result<Tables, TableError> {
        let forms = forms(sources.forms)?;
        let rules = rules(sources.lanes)?;
        let orders = orders(sources.orders)?;
        let mut families = Vec::new();
        let mut seen: HashSet<u16> = HashSet::new();
        let mut layers: HashMap<String, Texts<'_>> = HashMap::new();
        for (line, family) in rows::<FamilyRow>("families", sources.families)? {
            let error = |message: String| TableError::new("families", line, message);
            let (name, text) = sources
                .opcodes
                .iter()
                .find(|(name, _)| *name == family.family)
                .ok_or_else(|| error(format!("no table for `{}`", family.family)))?;
            let mut own = Texts::new();
            for (line, row) in rows::<OpcodeRow>(name, text)? {
                let row = Arc::new(row);
                for opcode in row.opcodes().map_err(|message| TableError::new(name, line, message))? {
                    own.entry(opcode).or_default().push((name, line, Arc::clone(&row)));
                }
            }
            let mut texts = match family.inherits.as_str() {
                "" => Texts::new(),
                parent => layers.get(parent).cloned().ok_or_else(|| {
                    error(format!("`{}` inherits `{parent}`, which no line before it names", family.family))
                })?,
            };
            texts.extend(own);
            let mut wanted = only.is_none();
            for sm in family.sm.split_whitespace() {
                let sm = sm.parse().map_err(|_| error(format!("`{sm}` is no SM number")))?;
                if !seen.insert(sm) {
                    return Err(error(format!("sm_{sm} is in two families")));
                }
                wanted |= only == Some(sm);
            }
            if family.uniform_bits > 8 {
                return Err(error("a uniform register has at most 8 bits".into()));
            }
            let control = opcode_range(&family.control)
                .ok_or_else(|| error(format!("`{}` is no range of opcodes", family.control)))?;
            if wanted {
                families.push(family_table(&family, control, &texts, (&forms, &rules, &orders))?);
                if only.is_some() {
                    break;
                }
            }
            layers.insert(family.family, texts);
        }
        Ok(Tables { families })
    }
}

/// `0x140..0x160`.
fn opcode_range(text: &str) -> Option<Range<u16>> {
    let hex = |text: &str| u16::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let (lo, hi) = text.split_once("..")?;
    Some(hex(lo)?..hex(hi)?)
}

fn family_table(
    family: &FamilyRow,
    control: Range<u16>,
    texts: &Texts<'_>,
    (forms, rules, orders): (&HashMap<u16, Form>, &Rules, &Orders),
) -> Result<FamilyTable, TableError> {
    let mut table = FamilyTable {
        #[cfg(test)]
        name: family.family.clone(),
        control,
        rows: Vec::new(),
        first: Vec::with_capacity(OPCODES + 1),
    };
    for opcode in 0..OPCODES as u16 {
        table.first.push(table.rows.len() as u16);
        for (name, line, row) in texts.get(&opcode).into_iter().flatten() {
            if row.mnemonic == "-" {
                continue;
            }
            let form = forms.get(&(opcode >> 9)).filter(|_| !row.forms.is_empty());
            let context = Context { rules, orders, form, uniform_bits: family.uniform_bits };
            let built = row.build(&context).map_err(|message| TableError::new(name, *line, message))?;
            table.rows.extend(built);
        }
    }
    if table.rows.len() > usize::from(u16::MAX) {
        return Err(TableError::new(&family.family, 0, "too many rows"));
    }
    table.first.push(table.rows.len() as u16);
    Ok(table)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyRow {
    family: String,
    inherits: String,
    sm: String,
    uniform_bits: u8,
    control: String,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FormRow {
    form: u16,
    a: String,
    b: String,
    c: String,
    x: String,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LaneRow {
    rule: String,
    field: String,
    value: String,
    lanes: LaneCount,
    bytes: Option<u32>,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderRow {
    rule: String,
    field: String,
    value: String,
    order: String,
    #[serde(rename = "source")]
    _source: String,
}

/// `4`, or `4v+4` for the field's value v.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct LaneCount {
    factor: i32,
    offset: i32,
}

impl TryFrom<String> for LaneCount {
    type Error = String;

    fn try_from(text: String) -> Result<LaneCount, String> {
        let number =
            |t: &str| t.parse::<i16>().map(i32::from).map_err(|_| format!("`{text}` is no lane count"));
        match text.split_once('v') {
            Some((factor, offset)) => Ok(LaneCount { factor: number(factor)?, offset: number(offset)? }),
            None => Ok(LaneCount { factor: 0, offset: number(&text)? }),
        }
    }
}

impl LaneCount {
    fn at(self, value: usize) -> Result<u8, String> {
        let lanes = self.factor * value as i32 + self.offset;
        u8::try_from(lanes).map_err(|_| format!("{lanes} lanes at value {value}"))
    }
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpcodeRow {
    opcode: String,
    forms: String,
    when: String,
    mnemonic: String,
    guard: String,
    operands: String,
    memory: String,
    flow: String,
    effects: String,
    category: String,
    source: String,
}

impl OpcodeRow {
    /// The opcodes of the row: several may be listed, and each form of an arithmetic one is its own.
    fn opcodes(&self) -> Result<Vec<u16>, String> {
        if self.source.is_empty() {
            return Err("no source".into());
        }
        let mut out = Vec::new();
        for text in self.opcode.split_whitespace() {
            let opcode = text
                .strip_prefix("0x")
                .and_then(|hex| u16::from_str_radix(hex, 16).ok())
                .filter(|&opcode| usize::from(opcode) < OPCODES)
                .ok_or_else(|| format!("`{text}` is no opcode"))?;
            if self.forms.is_empty() {
                out.push(opcode);
            }
            for form in self.forms.chars() {
                let form = form
                    .to_digit(8)
                    .filter(|_| opcode < 1 << 9)
                    .ok_or_else(|| format!("`{text}` with form `{form}`"))?;
                out.push(opcode | (form as u16) << 9);
            }
        }
        Ok(out)
    }

    /// The row for one opcode; `None` when it names a register file that the family does not have.
    fn build(&self, context: &Context<'_>) -> Result<Option<Row>, String> {
        let Some(slots) = spec::slots(&self.operands, context)? else {
            return Ok(None);
        };
        let row = Row {
            mnemonic: self.mnemonic.clone().into(),
            when: spec::conditions(&self.when)?,
            guard: spec::guard(&self.guard)?,
            slots,
            mem: spec::memory(&self.memory, context)?,
            flow: spec::flow(&self.flow)?,
            effects: spec::effects(&self.effects)?,
            category: self.category.parse().map_err(|e| format!("`{}`: {e}", self.category))?,
        };
        match row.slots.iter().filter_map(|slot| slot.address).max() {
            Some(access) if usize::from(access) >= row.mem.len() => {
                Err("an address register without a memory access".into())
            }
            Some(access) if (0..=access).any(|i| row.address_registers(i) > 2) => {
                Err("an access has a base and an index, no third address register".into())
            }
            _ => Ok(Some(row)),
        }
    }
}

fn forms(text: &str) -> Result<HashMap<u16, Form>, TableError> {
    Ok(rows::<FormRow>("forms", text)?
        .into_iter()
        .map(|(_, row)| {
            let sources = [('a', row.a), ('b', row.b), ('c', row.c), ('x', row.x)];
            (row.form, Form(sources.into_iter().collect()))
        })
        .collect())
}

/// Rules under construction: the field's text, the field, and what each of its values means.
type Building<T> = BTreeMap<String, (String, Gathered, Box<[Option<T>]>)>;

/// Enters one row of a rule table: `value` lists field values; a [`Pattern`] stands for those not yet given.
fn enter<T>(
    building: &mut Building<T>,
    (rule, field, value): (&str, &str, &str),
    meaning: impl Fn(usize) -> Result<T, String>,
) -> Result<(), String> {
    let entry = match building.entry(rule.to_owned()) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => {
            let parsed: Gathered = field.parse()?;
            let values = (0..parsed.values()).map(|_| None).collect();
            entry.insert((field.to_owned(), parsed, values))
        }
    };
    if entry.0 != field {
        return Err(format!("rule `{rule}` has two fields"));
    }
    if let Some(pattern) = Pattern::parse(value, &entry.1) {
        for (i, slot) in entry.2.iter_mut().enumerate() {
            if slot.is_none() && pattern.holds(i) {
                *slot = Some(meaning(i)?);
            }
        }
        return Ok(());
    }
    for text in value.split('|') {
        let index = text.parse::<usize>().ok();
        let slot = index
            .and_then(|i| entry.2.get_mut(i))
            .ok_or_else(|| format!("`{text}` does not fit the field"))?;
        if slot.is_some() {
            return Err(format!("rule `{rule}` gives {text} twice"));
        }
        *slot = Some(meaning(index.unwrap_or_default())?);
    }
    Ok(())
}

/// A value with bits that do not matter: `1?0`, highest bit first, or `*`.
struct Pattern {
    mask: usize,
    bits: usize,
}

impl Pattern {
    fn parse(text: &str, field: &Gathered) -> Option<Pattern> {
        if text == "*" {
            return Some(Pattern { mask: 0, bits: 0 });
        }
        let fits = text.contains('?') && text.len() == field.bits() as usize;
        (fits && text.bytes().all(|c| b"01?".contains(&c))).then(|| {
            let fold = |of: fn(u8) -> bool| text.bytes().fold(0, |n, c| n << 1 | usize::from(of(c)));
            Pattern { mask: fold(|c| c != b'?'), bits: fold(|c| c == b'1') }
        })
    }

    fn holds(&self, value: usize) -> bool {
        value & self.mask == self.bits
    }
}

fn rules(text: &str) -> Result<Rules, TableError> {
    let mut building = Building::new();
    for (line, row) in rows::<LaneRow>("lanes", text)? {
        let key = (row.rule.as_str(), row.field.as_str(), row.value.as_str());
        let extent = |i| Ok(Extent { lanes: row.lanes.at(i)?, bytes: row.bytes });
        enter(&mut building, key, extent).map_err(|message| TableError::new("lanes", line, message))?;
    }
    Ok(building
        .into_iter()
        .map(|(name, (_, field, values))| (name, Arc::new(Rule { field, values })))
        .collect())
}

fn orders(text: &str) -> Result<Orders, TableError> {
    let mut building: Building<Order> = Building::new();
    for (line, row) in rows::<OrderRow>("orders", text)? {
        let key = (row.rule.as_str(), row.field.as_str(), row.value.as_str());
        enter(&mut building, key, |_| row.order.parse())
            .map_err(|message| TableError::new("orders", line, message))?;
    }
    Ok(building
        .into_iter()
        .map(|(name, (_, field, values))| (name, Arc::new(OrderRule { field, values })))
        .collect())
}

fn rows<T: DeserializeOwned>(table: &str, text: &str) -> Result<Vec<(u64, T)>, TableError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| TableError::new(table, 1, e))?.clone();
    let mut out = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| {
            let line = e.position().map_or(0, csv::Position::line);
            TableError::new(table, line, e)
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let row = record.deserialize(Some(&headers)).map_err(|e| TableError::new(table, line, e))?;
        out.push((line, row));
    }
    Ok(out)
}
