//! Finds the place for the new table and writes its text. Text is only added: line ends and a byte order mark, which an editor of
//! the tree would change, stay as they are.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use super::Wanted;

/// Text to add at a byte offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    /// Byte offset in the old text.
    pub(super) at: usize,
    /// Text, with the old text's line ends.
    pub(super) text: String,
}

/// The name of the table.
const NAME: &str = "recovery";
const BOM: &str = "\u{feff}";
const ABOVE: &str = "# What jackin recovery does for sessions of this workspace; flags win over it.\n\
     # `jackin recovery explain` shows the result.\n";
const MODES: &str = "  # off | metadata | project | project-and-state";

/// Returns the addition to `text` that creates a table `recovery` in the table at the path `tables` (empty: the file itself).
/// `None`: the text is no TOML, there is no such table, or an addition is not enough.
pub(super) fn plan(text: &str, tables: &[&str], wanted: &Wanted) -> Option<Insertion> {
    // The tree's editor drops both; they are put back by adding to the text as it is.
    let plain = text.strip_prefix(BOM).unwrap_or(text).replace("\r\n", "\n");
    let mut document: DocumentMut = plain.parse().ok()?;
    add(&mut document, tables, wanted)?;
    let added = difference(&plain, &document.to_string())?;
    Some(Insertion {
        at: offset(text, added.at),
        text: if text.contains("\r\n") {
            added.text.replace('\n', "\r\n")
        } else {
            added.text
        },
    })
}

/// Returns the table alone, for adding it by hand.
pub(super) fn alone(tables: &[&str], wanted: &Wanted) -> String {
    let (mut name, mut item) = (NAME, Item::Table(table(wanted, "")));
    for outer in tables.iter().rev() {
        let mut around = Table::new();
        around.set_implicit(true);
        around.insert(name, item);
        (name, item) = (outer, Item::Table(around));
    }
    let mut document = DocumentMut::new();
    document.insert(name, item);
    document.to_string()
}

fn add(document: &mut DocumentMut, tables: &[&str], wanted: &Wanted) -> Option<()> {
    let last = last_position(document.as_table());
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let empty = document.as_table().is_empty() && trailing.is_empty();
    let mut inner: &mut dyn TableLike = document.as_table_mut();
    let mut position = last;
    // A table in braces cannot be added to by a header.
    let mut in_braces = false;
    for name in tables {
        let item = inner.get_mut(name)?;
        in_braces |= item.is_value();
        if let Item::Table(table) = &*item {
            position = last_position(table).or(last);
        }
        inner = item.as_table_like_mut()?;
    }
    if inner.contains_key(NAME) {
        return None;
    }
    if in_braces {
        inner.insert(NAME, Item::Value(Value::InlineTable(inline(wanted))));
        return Some(());
    }
    // Comments at the end of the file stay where they are: the table comes behind them.
    let at_end = position == last;
    let mut before = String::new();
    if at_end {
        before.push_str(&trailing);
        if !trailing.is_empty() && !trailing.ends_with('\n') {
            before.push('\n');
        }
    }
    if !empty && !before.ends_with("\n\n") && before != "\n" {
        before.push('\n');
    }
    let mut table = table(wanted, &before);
    table.set_position(position);
    inner.insert(NAME, Item::Table(table));
    if at_end {
        document.set_trailing("");
    }
    Some(())
}

/// Returns the position of the last header in the table or below it.
fn last_position(table: &Table) -> Option<isize> {
    let below = table.iter().filter_map(|(_, item)| match item {
        Item::Table(table) => last_position(table),
        Item::ArrayOfTables(tables) => tables.iter().filter_map(last_position).max(),
        _ => None,
    });
    below.chain(table.position()).max()
}

fn array(wanted: &Wanted) -> Array {
    wanted.exclude.iter().map(String::as_str).collect()
}

fn table(wanted: &Wanted, before: &str) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix(format!("{before}{ABOVE}"));
    let mut mode = value(wanted.mode.as_str());
    suffix(&mut mode, MODES);
    table.insert("snapshot", mode);
    let mut exclude = value(array(wanted));
    let why = if wanted.because.is_empty() {
        "such as \"dist/\" or \"*.log\"".to_owned()
    } else {
        format!("excluded automatically: {}", wanted.because)
    };
    suffix(&mut exclude, &format!("  # gitignore syntax; {why}"));
    table.insert("exclude", exclude);
    table
}

fn inline(wanted: &Wanted) -> InlineTable {
    let mut table = InlineTable::new();
    table.insert("snapshot", wanted.mode.as_str().into());
    table.insert("exclude", Value::Array(array(wanted)));
    table
}

fn suffix(item: &mut Item, text: &str) {
    if let Some(value) = item.as_value_mut() {
        value.decor_mut().set_suffix(text);
    }
}

/// Returns the text that `new` adds to `old`; `None` unless it is one piece and nothing else differs. It is moved to the start of
/// a line where the same bytes allow it.
fn difference(old: &str, new: &str) -> Option<Insertion> {
    let length = new.len().checked_sub(old.len()).filter(|length| *length > 0)?;
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let mut at = same;
    let bytes = new.as_bytes();
    let begins = |at: usize| at == 0 || bytes.get(at - 1) == Some(&b'\n');
    while !begins(at) && bytes.get(at - 1) == bytes.get(at - 1 + length) {
        at -= 1;
    }
    if !begins(at) {
        at = same;
    }
    let text = new.get(at..at + length)?.to_owned();
    let whole = old.get(..at) == new.get(..at) && old.get(at..) == new.get(at + length..);
    whole.then_some(Insertion { at, text })
}

/// Converts an offset in the text without byte order mark and carriage returns into one in `text`.
fn offset(text: &str, plain: usize) -> usize {
    let bytes = text.as_bytes();
    let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let mut counted = 0;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        if counted == plain {
            return at;
        }
        if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            counted += 1;
        }
    }
    bytes.len()
}
