//! From CSV text to rows.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use sassafras_ir::{Effects, Space};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::cell::Cursor;
use super::operand::Context;
use super::spec::{Extent, FlowKind, MemKind, MemSpec, Modifier, Row, Rule, Set, Width};
use crate::table::TableError;

/// The guard's bits: predicate and negation.
const GUARD: u64 = 0xf << 16;
/// The values that the widest modifier field can have.
const MOST_VALUES: u64 = 1 << 12;

/// The texts of the tables: the built-in ones, or a user's.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// One row per instruction.
    pub instructions: &'a str,
    /// Where arithmetic sources sit.
    pub forms: &'a str,
    /// The texts of modifier values.
    pub modifiers: &'a str,
    /// The registers and bytes of size values.
    pub widths: &'a str,
}

impl Sources<'static> {
    /// The tables that come with the crate.
    pub fn builtin() -> Sources<'static> {
        Sources {
            instructions: include_str!("../../../data/maxwell/instructions.csv"),
            forms: include_str!("../../../data/maxwell/forms.csv"),
            modifiers: include_str!("../../../data/maxwell/modifiers.csv"),
            widths: include_str!("../../../data/maxwell/widths.csv"),
        }
    }
}

impl Sources<'_> {
    /// Checks that the texts parse, and that no word matches two rows unless one of them refines the other.
    pub fn validate(&self) -> Result<(), TableError> {
        Tables::parse(self).map(drop)
    }
}

/// The tables of every SM.
#[derive(Debug)]
pub(crate) struct Tables {
    by_sm: BTreeMap<u16, Index>,
}

/// The rows of one SM by the highest byte of the word, the ones with the most mask bits first.
#[derive(Debug)]
pub(crate) struct Index(Box<[Vec<Arc<Row>>]>);

impl Index {
    /// The row of `word`.
    #[inline]
    pub fn row(&self, word: u64) -> Option<&Row> {
        let rows = &self.0[(word >> 56) as usize];
        rows.iter().map(AsRef::as_ref).find(|row| word & row.mask == row.matching)
    }
}

#[derive(Deserialize)]
struct InstructionRow {
    name: String,
    sm: String,
    forms: String,
    #[serde(rename = "match")]
    matching: String,
    mask: String,
    guard: String,
    modifiers: String,
    operands: String,
    memory: String,
    flow: String,
    effects: String,
}

#[derive(Deserialize)]
struct FormRow {
    form: char,
    lead: String,
    shift: u32,
    b: String,
    bf: String,
    bd: String,
    c: String,
}

#[derive(Deserialize)]
struct ModifierRow {
    set: String,
    value: u64,
    text: String,
}

#[derive(Deserialize)]
struct WidthRow {
    rule: String,
    value: String,
    lanes: u8,
    bytes: Option<u32>,
}

/// How the highest byte of the register form becomes that of another form.
struct Form {
    /// The leading bits.
    lead: u64,
    /// Where the three bits that the forms share go.
    shift: u32,
    sources: HashMap<String, String>,
}

impl Tables {
    pub fn builtin() -> &'static Tables {
        static TABLES: LazyLock<Tables> =
            LazyLock::new(|| Tables::parse(&Sources::builtin()).expect("the built-in tables are tested"));
        &TABLES
    }

    /// The rows of an SM; `None` for one of another encoding.
    pub fn of(&self, sm: u16) -> Option<&Index> {
        self.by_sm.get(&sm)
    }

    fn parse(sources: &Sources<'_>) -> Result<Tables, TableError> {
        let sets = sets(sources.modifiers)?;
        let rules = rules(sources.widths)?;
        let forms = forms(sources.forms)?;
        let mut rows: BTreeMap<u16, Vec<(u64, Arc<Row>)>> = BTreeMap::new();
        for (line, row) in records::<InstructionRow>("instructions", sources.instructions)? {
            let at = |message: String| TableError::new("instructions", line, message);
            let (first, last) = sm_range(&row.sm).map_err(at)?;
            for row in expand(&row, &sets, &rules, &forms).map_err(at)? {
                let row = Arc::new(row);
                for sm in first..=last {
                    rows.entry(sm).or_default().push((line, row.clone()));
                }
            }
        }
        let by_sm = rows.into_iter().map(|(sm, rows)| Ok((sm, index(rows)?))).collect::<Result<_, _>>()?;
        Ok(Tables { by_sm })
    }
}

/// `50-62` or `61`.
fn sm_range(text: &str) -> Result<(u16, u16), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last && last < 100 => Ok((first, last)),
        _ => Err(format!("`{text}` is no range of SM numbers")),
    }
}

fn index(mut rows: Vec<(u64, Arc<Row>)>) -> Result<Index, TableError> {
    rows.sort_by_key(|(line, row)| (std::cmp::Reverse(row.mask.count_ones()), *line));
    let mut buckets: Box<[Vec<Arc<Row>>]> = (0..256).map(|_| Vec::new()).collect();
    for (byte, bucket) in (0u64..).zip(&mut buckets) {
        let here: Vec<_> =
            rows.iter().filter(|(_, row)| (row.matching ^ byte << 56) & row.mask >> 56 << 56 == 0).collect();
        for (i, (_, fine)) in here.iter().enumerate() {
            for (line, coarse) in &here[i + 1..] {
                let both = (fine.matching ^ coarse.matching) & fine.mask & coarse.mask == 0;
                if both && (fine.mask & coarse.mask != coarse.mask || fine.mask == coarse.mask) {
                    let message = format!("`{}` and `{}` match the same words", fine.name, coarse.name);
                    return Err(TableError::new("instructions", *line, message));
                }
            }
        }
        *bucket = here.into_iter().map(|(_, row)| row.clone()).collect();
    }
    Ok(Index(buckets))
}

/// The rows that a line stands for: one per form.
fn expand(
    row: &InstructionRow,
    sets: &HashMap<String, Arc<Set>>,
    rules: &HashMap<String, Arc<Rule>>,
    forms: &HashMap<char, Form>,
) -> Result<Vec<Row>, String> {
    let hex = |text: &str| {
        let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 16);
        let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        value.ok_or_else(|| format!("`{text}` is no word of 16 hexadecimal digits"))
    };
    let (matching, mask) = (hex(&row.matching)?, hex(&row.mask)?);
    if row.forms.is_empty() {
        return Ok(vec![build(row, matching, mask, &Context { sets, rules, form: None })?]);
    }
    let one = |letter| {
        let form = forms.get(&letter).ok_or_else(|| format!("no form `{letter}`"))?;
        if matching >> 59 != REGISTER_LEAD || mask >> 56 != 0xff {
            return Err("not the encoding of a register form".to_owned());
        }
        // The highest byte: five leading bits, then three that every form has somewhere.
        let byte = form.lead << (8 - LEAD_BITS[form.shift as usize]) | (matching >> 56 & 7) << form.shift;
        let known = 0xff >> form.shift << form.shift;
        let low = (1 << 56) - 1;
        let context = Context { sets, rules, form: Some(&form.sources) };
        build(row, byte << 56 | matching & low, known << 56 | mask & low, &context)
    };
    row.forms.chars().map(one).collect()
}

/// The leading five bits of a register form.
const REGISTER_LEAD: u64 = 0b01011;
/// How many leading bits there are when the shared ones are shifted by 0 or 1.
const LEAD_BITS: [u32; 2] = [5, 4];

fn build(row: &InstructionRow, matching: u64, mask: u64, context: &Context<'_>) -> Result<Row, String> {
    if matching & !mask != 0 {
        return Err("`match` has bits outside `mask`".into());
    }
    let guarded = match row.guard.as_str() {
        "" => true,
        "-" => false,
        other => return Err(format!("`{other}` is no guard")),
    };
    let modifiers = context.modifiers(&row.modifiers)?;
    let mut operands = context.operands(&row.operands)?;
    if modifiers.iter().any(|modifier| matches!(modifier, Modifier::Reuse { .. })) {
        // The flags mean something else here than reuse of a source.
        operands.iter_mut().for_each(|operand| operand.decoration.slot = None);
    }
    let accounted = modifiers.iter().map(|m| m.mask()).chain(operands.iter().map(|o| o.mask()));
    let accounted = accounted.fold(if guarded { mask | GUARD } else { mask }, |all, bits| all | bits);
    Ok(Row {
        name: row.name.as_str().into(),
        matching,
        mask,
        accounted,
        guarded,
        modifiers,
        operands,
        memory: memory(&row.memory, context)?,
        flow: flow(&row.flow)?,
        effects: effects(&row.effects)?,
    })
}

/// `load global ldst@48..51`.
fn memory(text: &str, context: &Context<'_>) -> Result<Option<MemSpec>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [kind, space, width] = words.as_slice() else {
        return if words.is_empty() {
            Ok(None)
        } else {
            Err(format!("`{text}`: kind, space and bytes expected"))
        };
    };
    let kind = match *kind {
        "load" => MemKind::Load,
        "store" => MemKind::Store,
        "atomic" => MemKind::Atomic,
        other => return Err(format!("`{other}` is no kind of access")),
    };
    let space = Space::parse(space).ok_or_else(|| format!("no space `{space}`"))?;
    let width = match (*width, width.parse()) {
        ("?", _) => Width::Unknown,
        (_, Ok(bytes)) => Width::Bytes(bytes),
        (text, _) => {
            let mut cursor = Cursor::new(text);
            let (rule, field) = context.rule(&mut cursor)?;
            cursor.end()?;
            Width::By(rule, field)
        }
    };
    Ok(Some(MemSpec { kind, space, width }))
}

fn flow(text: &str) -> Result<Option<FlowKind>, String> {
    Ok(Some(match text {
        "" => return Ok(None),
        "branch" => FlowKind::Branch,
        "call" => FlowKind::Call,
        "push" => FlowKind::Push,
        "pop" => FlowKind::Pop,
        "return" => FlowKind::Return,
        "exit" => FlowKind::Exit,
        other => return Err(format!("`{other}` is no control-flow role")),
    }))
}

fn effects(text: &str) -> Result<Effects, String> {
    text.split_whitespace().try_fold(Effects::empty(), |effects, name| {
        let known = Effects::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, effect)| effects | *effect).ok_or_else(|| format!("no effect `{name}`"))
    })
}

fn sets(text: &str) -> Result<HashMap<String, Arc<Set>>, TableError> {
    let mut building: HashMap<String, Vec<Option<Box<str>>>> = HashMap::new();
    for (line, row) in records::<ModifierRow>("modifiers", text)? {
        let values = building.entry(row.set.clone()).or_default();
        enter(values, row.value, row.text.into_boxed_str())
            .map_err(|message| TableError::new("modifiers", line, format!("set `{}`: {message}", row.set)))?;
    }
    Ok(building.into_iter().map(|(name, values)| (name, Arc::new(Set(values.into())))).collect())
}

/// Enters the meaning of a value, once.
fn enter<T>(values: &mut Vec<Option<T>>, value: u64, meaning: T) -> Result<(), String> {
    if value >= MOST_VALUES {
        return Err(format!("{value} fits no field"));
    }
    let value = value as usize;
    if values.len() <= value {
        values.resize_with(value + 1, || None);
    }
    if values[value].is_some() {
        return Err(format!("{value} comes twice"));
    }
    values[value] = Some(meaning);
    Ok(())
}

fn rules(text: &str) -> Result<HashMap<String, Arc<Rule>>, TableError> {
    let mut building: HashMap<String, Rule> = HashMap::new();
    for (line, row) in records::<WidthRow>("widths", text)? {
        let at = |message: String| TableError::new("widths", line, format!("rule `{}`: {message}", row.rule));
        let rule = building.entry(row.rule.clone()).or_default();
        for value in row.value.split('|') {
            let value = value.parse().map_err(|_| at(format!("`{value}` is no number")))?;
            enter(&mut rule.0, value, Extent { lanes: row.lanes, bytes: row.bytes }).map_err(at)?;
        }
    }
    Ok(building.into_iter().map(|(name, rule)| (name, Arc::new(rule))).collect())
}

fn forms(text: &str) -> Result<HashMap<char, Form>, TableError> {
    let mut out = HashMap::new();
    for (line, row) in records::<FormRow>("forms", text)? {
        let at = |message: &str| TableError::new("forms", line, message);
        let lead = u64::from_str_radix(&row.lead, 2).map_err(|_| at("`lead` is no binary number"))?;
        if LEAD_BITS.get(row.shift as usize).is_none_or(|bits| row.lead.len() != *bits as usize) {
            return Err(at("`lead` and `shift` do not fill the highest byte"));
        }
        let sources = [("b", row.b), ("bf", row.bf), ("bd", row.bd), ("c", row.c)];
        let sources = sources.into_iter().filter(|(_, to)| !to.is_empty());
        let sources = sources.map(|(name, to)| (name.to_owned(), to)).collect();
        out.insert(row.form, Form { lead, shift: row.shift, sources });
    }
    Ok(out)
}

fn records<T: DeserializeOwned>(table: &str, text: &str) -> Result<Vec<(u64, T)>, TableError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| TableError::new(table, 1, e))?.clone();
    let mut out = Vec::new();
    for record in reader.records() {
        let line = |position: Option<&csv::Position>| position.map_or(0, csv::Position::line);
        let record = record.map_err(|e| TableError::new(table, line(e.position()), e))?;
        let at = line(record.position());
        let row = record.deserialize(Some(&headers)).map_err(|e| TableError::new(table, at, e))?;
        out.push((at, row));
    }
    Ok(out)
}
