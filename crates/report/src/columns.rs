//! Columns that align, without lines around them.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table. The first `left` columns are text, the others numbers, and the last one text again if `tail`.
pub fn columns(head: &[&str], left: usize, tail: bool, rows: Vec<Vec<String>>) -> String {
    let last = head.len().saturating_sub(1);
    aligned(head, |at| at < left || (tail && at == last), rows)
}

/// A table whose columns are text where `is_text` says so, and numbers elsewhere.
pub fn aligned(head: &[&str], is_text: impl Fn(usize) -> bool, rows: Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if is_text(at) { CellAlignment::Left } else { CellAlignment::Right });
    }
    let text = table.to_string();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A number as it is: no digits behind the point where there are none.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value}") }
}

/// A number that may be missing.
pub fn known<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// So many of something, in words.
pub fn counted(count: u32, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        assert_eq!(
            (number(3.0), number(17.63), known::<u32>(None)),
            ("3".to_owned(), "17.63".to_owned(), "-".to_owned())
        );
        assert_eq!((counted(1, "loop"), counted(0, "loop")), ("1 loop".to_owned(), "0 loops".to_owned()));
    }

    #[test]
    fn columns_align() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        let table = columns(&["name", "n"], 1, false, vec![row("a", "1"), row("long", "100")]);
        assert_eq!(table, " name    n\n a       1\n long  100\n");
        assert_eq!(columns(&["name"], 1, false, Vec::new()), "");
    }
}
