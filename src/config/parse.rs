//! Reads a `[recovery]` table by the schema: every key is known, every type is right, nothing is set that this version cannot do.
//! The first fault in the order of the file is reported.

use bytesize::ByteSize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Document, quoted, type_of};
use super::error::{ConfigError, Place};
use super::schema::{Key, Shape, meant, nearest};

/// A checked value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    Word(&'static str),
    Switch(bool),
    List(Vec<(Place, String)>),
    Text(String),
    Number(u64),
}

/// Dotted key below `[recovery]`, its place, and its value.
pub(super) type Found = (String, Place, Setting);

/// Reads a whole table. `prefix` is the dotted path of the table in its file.
pub(super) fn read(
    document: &Document,
    prefix: &str,
    table: &DeTable<'_>,
    keys: &'static [Key],
) -> Result<Vec<Found>, ConfigError> {
    let mut found = Vec::new();
    walk(document, prefix, "", table, keys, &mut found)?;
    Ok(found)
}

fn walk(
    document: &Document,
    prefix: &str,
    below: &str,
    table: &DeTable<'_>,
    keys: &'static [Key],
    found: &mut Vec<Found>,
) -> Result<(), ConfigError> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    for (name, value) in entries {
        let text: &str = name.get_ref();
        let place = document.place(name.span().start, format!("{prefix}.{below}{}", quoted(text)));
        let Some(key) = keys.iter().find(|key| key.name == text) else {
            let nearest = nearest(text, keys.iter().map(|key| key.name));
            return Err(ConfigError::UnknownKey { place, nearest });
        };
        if let Shape::Table(inner) = key.shape {
            let DeValue::Table(table) = value.get_ref() else {
                return Err(wrong_type(place, "a table", value));
            };
            walk(
                document,
                prefix,
                &format!("{below}{}.", key.name),
                table,
                inner,
                found,
            )?;
            continue;
        }
        let setting = setting(document, &place, key, value)?;
        found.push((format!("{below}{}", key.name), place, setting));
    }
    Ok(())
}

fn setting(
    document: &Document,
    place: &Place,
    key: &Key,
    value: &Spanned<DeValue<'_>>,
) -> Result<Setting, ConfigError> {
    let wrong = |expected| Err(wrong_type(place.clone(), expected, value));
    match (key.shape, value.get_ref()) {
        (Shape::Words(valid), DeValue::String(word)) => choose(place, word, valid).map(Setting::Word),
        (Shape::Text, DeValue::String(text)) => Ok(Setting::Text(text.to_string())),
        (Shape::Words(_) | Shape::Text, _) => wrong("a string"),
        (Shape::Switch, DeValue::Boolean(on)) => Ok(Setting::Switch(*on)),
        (Shape::Switch, _) => wrong("true or false"),
        (Shape::List, DeValue::Array(items)) => {
            let mut list = Vec::new();
            for item in items.iter() {
                let at = document.place(item.span().start, place.key.clone());
                match item.get_ref() {
                    DeValue::String(text) => list.push((at, text.to_string())),
                    _ => {
                        return Err(ConfigError::EntryType {
                            place: at,
                            found: type_of(item.get_ref()),
                        });
                    }
                }
            }
            Ok(Setting::List(list))
        }
        (Shape::List, _) => wrong("a list of strings"),
        (Shape::Count(min), DeValue::Integer(number)) => {
            whole(place, number, min, "a whole number").map(Setting::Number)
        }
        (Shape::Count(_), _) => wrong("a whole number"),
        (Shape::Size(min), DeValue::Integer(number)) => {
            whole(place, number, min, "a size in bytes").map(Setting::Number)
        }
        (Shape::Size(min), DeValue::String(text)) => size(place, text, min).map(Setting::Number),
        (Shape::Size(_), _) => wrong("a size such as \"20GiB\" or a whole number of bytes"),
        (Shape::Table(_), _) => wrong("a table"),
    }
}

fn wrong_type(place: Place, expected: &'static str, value: &Spanned<DeValue<'_>>) -> ConfigError {
    ConfigError::WrongType {
        place,
        expected,
        found: type_of(value.get_ref()),
    }
}

/// Returns the word if it is valid.
pub(super) fn choose(
    place: &Place,
    word: &str,
    valid: &'static [&'static str],
) -> Result<&'static str, ConfigError> {
    valid
        .iter()
        .copied()
        .find(|candidate| *candidate == word)
        .ok_or_else(|| ConfigError::UnknownWord {
            place: place.clone(),
            value: word.to_owned(),
            nearest: meant(word, valid),
            valid,
        })
}

fn whole(
    place: &Place,
    number: &toml::de::DeInteger<'_>,
    min: u64,
    what: &'static str,
) -> Result<u64, ConfigError> {
    let value = u64::from_str_radix(number.as_str(), number.radix()).ok();
    // TOML promises 64 signed bits and no more.
    value
        .filter(|value| *value >= min && i64::try_from(*value).is_ok())
        .ok_or_else(|| ConfigError::BadValue {
            place: place.clone(),
            value: number.to_string(),
            problem: format!("it must be {what} from {min} to {}", i64::MAX),
        })
}

fn size(place: &Place, text: &str, min: u64) -> Result<u64, ConfigError> {
    let bad = |problem: &str| ConfigError::BadValue {
        place: place.clone(),
        value: text.to_owned(),
        problem: problem.to_owned(),
    };
    let size: ByteSize = text
        .trim()
        .parse()
        .map_err(|_| bad("it must be a size such as \"20GiB\", \"500MB\" or \"4096\""))?;
    match size.as_u64() {
        bytes if bytes < min => Err(bad("it must be at least one byte")),
        // The parser saturates instead of failing.
        u64::MAX => Err(bad("it is larger than any store can be")),
        bytes => Ok(bytes),
    }
}
