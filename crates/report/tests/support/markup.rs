//! A small reader of markup, strict where browsers are kind: every element that is opened is closed, every special character escaped.

/// Elements without an end.
const EMPTY: [&str; 2] = ["meta", "input"];
/// Elements whose content is no markup.
const RAW: [&str; 2] = ["style", "script"];

/// A start tag with its attributes, or text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A start tag.
    Start(String, Vec<(String, String)>),
    /// Text, with special characters as they are meant.
    Text(String),
}

/// Everything in a page; an error says what is wrong and where.
pub fn read(page: &str) -> Result<Vec<Piece>, String> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let mut open: Vec<String> = Vec::new();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let at = rest.find('<').unwrap_or(rest.len());
        if at > 0 {
            pieces.push(Piece::Text(unescape(&rest[..at])?));
            rest = &rest[at..];
            continue;
        }
        let (tag, behind) = tag(&rest[1..])?;
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            // Cells and rows end where their row or table does.
            while matches!(open.last().map(String::as_str), Some(last @ ("td" | "th")) if last != name) {
                open.pop();
            }
            if open.pop().as_deref() != Some(name) {
                return Err(format!("</{name}> closes nothing, before {:.60}", rest));
            }
            continue;
        }
        let (name, attributes) = attributes(tag.trim_end_matches('/'))?;
        if matches!(&*name, "td" | "th") && matches!(open.last().map(String::as_str), Some("td" | "th")) {
            open.pop();
        }
        if RAW.contains(&&*name) {
            let end = format!("</{name}>");
            let at = rest.find(&end).ok_or_else(|| format!("no {end}"))?;
            rest = &rest[at + end.len()..];
        } else if !tag.ends_with('/') && !EMPTY.contains(&&*name) {
            open.push(name.clone());
        }
        pieces.push(Piece::Start(name, attributes));
    }
    if open.is_empty() { Ok(pieces) } else { Err(format!("never closed: {open:?}")) }
}

/// A tag without its brackets, and what is behind it.
fn tag(text: &str) -> Result<(&str, &str), String> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return Ok((&text[..at], &text[at + 1..])),
            '<' => return Err(format!("`<` in a tag: {text:.60}")),
            _ => {}
        }
    }
    Err(format!("a tag without end: {text:.60}"))
}

fn attributes(tag: &str) -> Result<(String, Vec<(String, String)>), String> {
    let (name, mut rest) = tag.split_at(tag.find(char::is_whitespace).unwrap_or(tag.len()));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-:_".contains(c);
    if name.is_empty() || !name.chars().all(plain) {
        return Err(format!("not a name: {tag:.60}"));
    }
    let mut found = Vec::new();
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let (key, behind) = rest.split_at(rest.find(|c| !plain(c)).unwrap_or(rest.len()));
        if key.is_empty() {
            return Err(format!("not an attribute: {rest:.60}"));
        }
        let value = match behind.strip_prefix('=') {
            None => {
                rest = behind;
                ""
            }
            Some(behind) if behind.starts_with('"') => {
                let (value, behind) = behind[1..].split_once('"').ok_or("a value without end")?;
                rest = behind;
                value
            }
            Some(behind) => {
                let (value, behind) = behind.split_at(behind.find(|c| !plain(c)).unwrap_or(behind.len()));
                rest = behind;
                value
            }
        };
        found.push((key.to_owned(), unescape(value)?));
    }
    Ok((name.to_owned(), found))
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut parts = text.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once(';').ok_or_else(|| format!("a bare &: {text:.60}"))?;
        match name {
            "lt" => out.push('<'),
            "gt" => out.push('>'),
            "amp" => out.push('&'),
            "quot" => out.push('"'),
            _ => {
                let number = name.strip_prefix('#').and_then(|digits| digits.parse().ok());
                out.push(number.and_then(char::from_u32).ok_or_else(|| format!("&{name};"))?);
            }
        }
        out.push_str(rest);
    }
    Ok(out)
}
