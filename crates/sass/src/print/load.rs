//! From CSV text to templates by opcode.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::field::Condition;
use super::operand::{Operands, PlaceRow};
use super::template::{self, Context, Name, Piece, Values};
use crate::table::{SMS, TableError};

const OPCODES: usize = 1 << 12;

/// The texts of the printing tables: the built-in ones, or a user's.
#[derive(Clone, Debug)]
pub struct PrintSources<'a> {
    /// Which architectures share a table.
    pub families: &'a str,
    /// Where arithmetic sources sit.
    pub forms: &'a str,
    /// How a source is written, per place.
    pub places: &'a str,
    /// What modifier values are called.
    pub values: &'a str,
    /// `(family, text)` of the templates.
    pub templates: Vec<(&'a str, &'a str)>,
}

impl PrintSources<'static> {
    /// The tables that come with the crate.
    pub fn builtin() -> PrintSources<'static> {
        PrintSources {
            families: include_str!("../../data/print/families.csv"),
            forms: include_str!("../../data/forms.csv"),
            places: include_str!("../../data/print/places.csv"),
            values: include_str!("../../data/print/values.csv"),
            templates: vec![
                ("volta", include_str!("../../data/print/volta.csv")),
                ("turing", include_str!("../../data/print/turing.csv")),
                ("ampere", include_str!("../../data/print/ampere.csv")),
                ("ampere_86", include_str!("../../data/print/ampere_86.csv")),
                ("ada", include_str!("../../data/print/ada.csv")),
                ("hopper", include_str!("../../data/print/hopper.csv")),
                ("blackwell", include_str!("../../data/print/blackwell.csv")),
                ("blackwell_64", include_str!("../../data/print/blackwell_64.csv")),
                ("blackwell_107", include_str!("../../data/print/blackwell_107.csv")),
                ("blackwell_120", include_str!("../../data/print/blackwell_120.csv")),
            ],
        }
    }
}

/// The predicate file that guards an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    None,
    Pred,
    UPred,
}

/// How one form of an opcode is written.
#[derive(Debug)]
pub(super) struct Template {
    pub guard: Guard,
    pub pieces: Box<[Piece]>,
    /// Values of bits that the text does not show; all others that it does not show are zero.
    pub fixed: Box<[Condition]>,
    /// The bits that choosing the template tells: those of conditions that admit a single value.
    pub told: u128,
    pub when: Box<[Condition]>,
}

impl Template {
    /// What its text starts with, up to the first modifier.
    fn mnemonic(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text.split(['.', ' ']).next().unwrap_or_default(),
            _ => "",
        }
    }
}

/// Opcodes and numbers of templates, by mnemonic.
type ByMnemonic = HashMap<Box<str>, Vec<(u16, u16)>>;

/// One family's templates, reachable by opcode.
#[derive(Debug)]
pub(super) struct Family {
    templates: Vec<Template>,
    /// Those of opcode `i` are `first[i]..first[i + 1]`.
    first: Vec<u16>,
    /// By mnemonic, modifiers left out: opcodes and templates, made when they are first asked for.
    named: OnceLock<ByMnemonic>,
}

impl Family {
    /// The template that fits a word.
    #[inline]
    pub fn find(&self, word: u128) -> Option<&Template> {
        let opcode = (word & (OPCODES as u128 - 1)) as usize;
        let range = usize::from(self.first[opcode])..usize::from(self.first[opcode + 1]);
        self.templates[range].iter().find(|template| template.when.iter().all(|c| c.holds(word)))
    }

    /// The templates whose text starts with a mnemonic, each with its opcode.
    pub fn named(&self, mnemonic: &str) -> Vec<(u16, &Template)> {
        let named = self.named.get_or_init(|| {
            let mut named = ByMnemonic::new();
            for (opcode, range) in (0..).zip(self.first.windows(2)) {
                for at in range[0]..range[1] {
                    let name = self.templates[usize::from(at)].mnemonic();
                    named.entry(name.into()).or_default().push((opcode, at));
                }
            }
            named
        });
        let found = named.get(mnemonic).into_iter().flatten();
        found.map(|&(opcode, at)| (opcode, &self.templates[usize::from(at)])).collect()
    }
}

/// The templates of every family, and which architecture uses which.
#[derive(Debug)]
pub struct Templates {
    families: Vec<Family>,
    by_sm: HashMap<u16, usize>,
}

/// Rows of an opcode with the table and line they stand in.
type Texts<'a> = BTreeMap<u16, Vec<(&'a str, u64, Arc<TemplateRow>)>>;

impl Templates {
    /// The templates for an SM number of those that come with the crate. They alone are read, when they are first asked for.
    pub(super) fn builtin(sm: u16) -> Option<&'static Family> {
        static BY_SM: [OnceLock<Option<Family>>; SMS] = [const { OnceLock::new() }; SMS];
        let read = || {
            let templates = Templates::parse_for(&PrintSources::builtin(), Some(sm));
            templates.expect("the built-in tables are tested").families.into_iter().next()
        };
        BY_SM.get(usize::from(sm))?.get_or_init(read).as_ref()
    }

    /// The templates for an SM number.
    pub(super) fn family(&self, sm: u16) -> Option<&Family> {
        self.by_sm.get(&sm).map(|&i| &self.families[i])
    }

    /// Reads printing tables.
    pub fn parse(sources: &PrintSources<'_>) -> Result<Templates, TableError> {
        Templates::parse_for(sources, None)
    }

    /// Reads the templates of one SM number and no other, or all.
    fn parse_for(sources: &PrintSources<'_>, only: Option<u16>) -> Result<Templates, TableError> {
        let tables = values(sources.values)?;
        let forms = [operands(sources, false)?, operands(sources, true)?];
        let mut out = Templates { families: Vec::new(), by_sm: HashMap::new() };
        let mut layers: HashMap<String, Texts<'_>> = HashMap::new();
        for (line, family) in rows::<FamilyRow>("families", sources.families)? {
            let error = |message: String| TableError::new("families", line, message);
            let (name, text) = sources
                .templates
                .iter()
                .find(|(name, _)| *name == family.family)
                .ok_or_else(|| error(format!("no templates for `{}`", family.family)))?;
            let mut own = Texts::new();
            for (line, row) in rows::<TemplateRow>(name, text)? {
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
                out.by_sm.insert(sm, out.families.len());
                wanted |= only == Some(sm);
            }
            if wanted {
                let operands = &forms[usize::from(family.uniform_bits > 0)];
                out.families.push(build(&family, &texts, &tables, operands)?);
                if only.is_some() {
                    break;
                }
            }
            layers.insert(family.family, texts);
        }
        Ok(out)
    }
}

fn build(
    family: &FamilyRow,
    texts: &Texts<'_>,
    tables: &HashMap<String, Arc<Values>>,
    operands: &HashMap<u16, Operands>,
) -> Result<Family, TableError> {
    let mut out =
        Family { templates: Vec::new(), first: Vec::with_capacity(OPCODES + 1), named: OnceLock::new() };
    for opcode in 0..OPCODES as u16 {
        out.first.push(out.templates.len() as u16);
        for (name, line, row) in texts.get(&opcode).into_iter().flatten().filter(|(.., row)| row.text != "-")
        {
            let operands = operands.get(&(opcode >> 9)).filter(|_| !row.forms.is_empty());
            if family.uniform_bits == 0 && operands.is_some_and(Operands::has_uniform) {
                continue;
            }
            let context = Context { tables, uniform_bits: family.uniform_bits, operands };
            let template = row.build(&context).map_err(|message| TableError::new(name, *line, message))?;
            out.templates.push(template);
        }
    }
    if out.templates.len() > usize::from(u16::MAX) {
        return Err(TableError::new(&family.family, 0, "too many templates"));
    }
    out.first.push(out.templates.len() as u16);
    Ok(out)
}

#[derive(Deserialize)]
struct FamilyRow {
    family: String,
    inherits: String,
    sm: String,
    uniform_bits: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueRow {
    table: String,
    value: String,
    text: String,
    source: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateRow {
    opcode: String,
    forms: String,
    when: String,
    guard: String,
    text: String,
    fixed: String,
    source: String,
}

/// A row of `alike.csv`: two opcodes, and what the modifiers of the second one name.
#[derive(Debug)]
pub(super) struct Alike {
    pub narrow: u16,
    pub wide: u16,
    pub kind: Box<str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AlikeRow {
    narrow: String,
    wide: String,
    r#type: String,
    #[serde(rename = "source")]
    _source: String,
}

/// Opcodes that are spelled alike.
pub(super) fn alike() -> &'static [Alike] {
    static ROWS: OnceLock<Vec<Alike>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let rows: Vec<(u64, AlikeRow)> = rows("alike", include_str!("../../data/print/alike.csv"))
            .expect("the built-in tables are tested");
        let read = |(_, row): (u64, AlikeRow)| {
            let [narrow, wide] = [row.narrow, row.wide]
                .map(|text| text.strip_prefix("0x").and_then(|hex| u16::from_str_radix(hex, 16).ok()));
            let (narrow, wide) = narrow.zip(wide).expect("the built-in tables are tested");
            Alike { narrow, wide, kind: row.r#type.into() }
        };
        rows.into_iter().map(read).collect()
    })
}

impl TemplateRow {
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
                let form = form.to_digit(8).filter(|_| opcode < 1 << 9);
                let form = form.ok_or_else(|| format!("`{text}` with forms `{}`", self.forms))?;
                out.push(opcode | (form as u16) << 9);
            }
        }
        Ok(out)
    }

    fn build(&self, context: &Context<'_>) -> Result<Template, String> {
        let when = Condition::parse_all(&self.when)?;
        let guard = match self.guard.as_str() {
            "" => Guard::Pred,
            "UP" => Guard::UPred,
            "-" => Guard::None,
            other => return Err(format!("`{other}` is no guard")),
        };
        Ok(Template {
            guard,
            pieces: template::parse(&self.text, context)?,
            fixed: Condition::parse_all(&self.fixed)?,
            told: when.iter().filter(|c| c.is_exact()).map(|c| c.field.mask()).fold(0, |a, b| a | b),
            when,
        })
    }
}

/// The named value tables. Of several values with the same name the first is the usual one.
fn values(text: &str) -> Result<HashMap<String, Arc<Values>>, TableError> {
    let mut out: HashMap<String, Vec<Option<Name>>> = HashMap::new();
    for (line, row) in rows::<ValueRow>("values", text)? {
        let error = |message: String| TableError::new("values", line, message);
        if row.source.is_empty() {
            return Err(error("no source".into()));
        }
        let table = out.entry(row.table.clone()).or_default();
        for (i, value) in row.value.split('|').enumerate() {
            let value = value.parse::<u16>().ok().filter(|v| *v < 1 << 13);
            let value = usize::from(value.ok_or_else(|| error(format!("`{}` is no value", row.value)))?);
            let len = (value + 1).next_power_of_two().max(2);
            if table.len() < len {
                table.resize(len, None);
            }
            let name = Name { text: row.text.as_str().into(), is_alias: i > 0 };
            if table[value].replace(name).is_some() {
                return Err(error(format!("`{}` gives {value} twice", row.table)));
            }
        }
    }
    Ok(out.into_iter().map(|(name, values)| (name, Arc::new(values.into()))).collect())
}

/// The sources of every form, for families with uniform registers or without.
fn operands(sources: &PrintSources<'_>, uniform: bool) -> Result<HashMap<u16, Operands>, TableError> {
    let places: Vec<(u64, PlaceRow)> = rows("places", sources.places)?;
    let mut out = HashMap::new();
    for (line, row) in rows::<HashMap<String, String>>("forms", sources.forms)? {
        let error = |message: String| TableError::new("forms", line, message);
        let form = row.get("form").and_then(|form| form.parse().ok());
        let form = form.ok_or_else(|| error("no form number".into()))?;
        let operands = Operands::new(&row, places.iter().map(|(_, place)| place), uniform).map_err(error)?;
        out.insert(form, operands);
    }
    Ok(out)
}

fn rows<T: DeserializeOwned>(table: &str, text: &str) -> Result<Vec<(u64, T)>, TableError> {
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::Headers).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| TableError::new(table, 1, e))?.clone();
    let mut out = Vec::new();
    for record in reader.records() {
        let record =
            record.map_err(|e| TableError::new(table, e.position().map_or(0, csv::Position::line), e))?;
        let line = record.position().map_or(0, csv::Position::line);
        out.push((line, record.deserialize(Some(&headers)).map_err(|e| TableError::new(table, line, e))?));
    }
    Ok(out)
}
