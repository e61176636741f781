//! A document cut into lines: one object for each item of its lists, and the rest as the last one.

use serde::Serialize;
use serde_json::{Map, Value};

/// Field that names the list of an item.
pub(crate) const KIND: &str = "kind";
/// Kind of the last line.
pub(crate) const SUMMARY: &str = "summary";
/// Field of an item that is no object.
pub(crate) const VALUE: &str = "value";
/// Field of the version, which each line has.
pub(crate) const SCHEMA: &str = "schema";

/// Returns the lines of a document.
///
/// # Errors
/// The error of its serialization.
pub(crate) fn json_lines(document: &impl Serialize) -> serde_json::Result<Vec<Value>> {
    let (mut lines, mut rest) = (Vec::new(), Map::new());
    if let Value::Object(fields) = serde_json::to_value(document)? {
        for (name, value) in fields {
            match value {
                Value::Array(items) => lines.extend(items.into_iter().map(|item| line(&name, item))),
                value => {
                    rest.insert(name, value);
                }
            }
        }
    }
    lines.push(line(SUMMARY, Value::Object(rest)));
    Ok(lines)
}

/// Returns the line of one item of the list `kind`.
///
/// # Errors
/// The error of its serialization.
pub(crate) fn json_line(kind: &str, item: &impl Serialize) -> serde_json::Result<Value> {
    Ok(line(kind, serde_json::to_value(item)?))
}

fn line(kind: &str, item: Value) -> Value {
    let mut fields = match item {
        Value::Object(fields) => fields,
        value => Map::from_iter([(VALUE.to_owned(), value)]),
    };
    fields.insert(SCHEMA.to_owned(), 1.into());
    fields.insert(KIND.to_owned(), kind.into());
    Value::Object(fields)
}
