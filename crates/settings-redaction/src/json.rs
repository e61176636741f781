//! JSON: `serde_json` validates it, and `jsonc-parser` finds the positions.

use jsonc_parser::ast::{ObjectProp, ObjectPropName, Value};
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::tree::{Kind, Layout, MAX_DEPTH, MAX_NODES, Member, Node};

/// Returns the tree of a JSON text; the root must be an object or a list.
pub(super) fn read(text: &str) -> Option<Node> {
    // `jsonc-parser` accepts control characters in strings, and numbers that no program can hold.
    serde_json::from_str::<serde_json::Value>(text).ok()?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok()?;
    let mut reading = Reading {
        text,
        left: MAX_NODES,
    };
    reading.value(parsed.value?, 0).filter(Node::is_container)
}

struct Reading<'a> {
    text: &'a str,
    /// Number of values that may still be read.
    left: usize,
}

impl Reading<'_> {
    fn value(&mut self, value: Value<'_>, depth: usize) -> Option<Node> {
        self.left = self.left.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let span = span(value.range());
        match value {
            Value::Object(object) => {
                let commas = self.commas(object.properties.iter().map(|property| property.range))?;
                let members = object.properties.into_iter();
                let members: Option<_> = members.map(|property| self.member(property, depth)).collect();
                Node::map(span, members?, commas)
            }
            Value::Array(array) => {
                let commas = self.commas(array.elements.iter().map(|element| element.range()))?;
                let elements = array.elements.into_iter();
                let elements: Option<_> = elements.map(|element| self.value(element, depth + 1)).collect();
                Some(Node::list(span, elements?, commas))
            }
            Value::StringLit(string) => Some(Node::text(span, string.value.into_owned())),
            Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => Some(Node::plain(span)),
        }
    }

    fn member(&mut self, property: ObjectProp<'_>, depth: usize) -> Option<Member> {
        let ObjectPropName::String(name) = property.name else {
            return None;
        };
        Some(Member {
            key: span(name.range),
            name: name.value.into_owned(),
            node: self.value(property.value, depth + 1)?,
        })
    }

    /// Finds the commas: between two parts is nothing else but blanks.
    fn commas(&self, parts: impl Iterator<Item = Range> + Clone) -> Option<Layout> {
        let pairs = parts.clone().zip(parts.skip(1));
        let comma = |(left, right): (Range, Range)| {
            let gap = self.text.get(left.end..right.start)?;
            Some(left.end + gap.find(',')?)
        };
        Some(Layout::Commas {
            at: pairs.map(comma).collect::<Option<_>>()?,
            trailing: false,
        })
    }
}

fn span(range: Range) -> std::ops::Range<usize> {
    range.start..range.end
}

/// Returns the text between name and value of the object's last member; `: ` if it has none.
pub(super) fn separator<'a>(text: &'a str, object: &Node) -> &'a str {
    match &object.kind {
        Kind::Map(members, _) => members
            .last()
            .and_then(|last| text.get(last.key.end..last.node.span.start)),
        _ => None,
    }
    .unwrap_or(": ")
}
