//! Random JSON, and bytes of any kind.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::fixtures::{CLAUDE, CODEX, HOSTS, SETTINGS};
use super::*;

const JSON: Format = Format::Json;

const NAMES: [&str; 22] = [
    "a",
    "b",
    "model",
    "env",
    "headers",
    "set",
    "token",
    "api_key",
    "oauthAccount",
    "maxTokens",
    "key",
    "email",
    "projects",
    "mcpServers",
    "command",
    "args",
    "hooks",
    "permissions",
    "a \"b\" \\",
    "ü",
    "",
    "0",
];

const TEXTS: [&str; 12] = [
    "",
    "x",
    "plain words",
    "--token",
    "--verbose",
    "curl --api-key abc",
    "ghp_0123456789",
    "https://u:p@example.org",
    "tab\t\"quote\" \\ \u{1}ü",
    "#",
    "[,]{:}",
    WITHHELD,
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
        "[a-z]{3,9}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            object(inner)
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let members =
        (proptest::sample::select(&NAMES[..]), inner).prop_map(|(name, value)| (name.to_owned(), value));
    proptest::collection::vec(members, 0..7)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

fn root() -> impl Strategy<Value = Value> {
    object(value())
}

fn written(value: &Value, pretty: bool) -> String {
    if pretty {
        serde_json::to_string_pretty(value).unwrap()
    } else {
        value.to_string()
    }
}

fn is_hole(value: &Value) -> bool {
    value == WITHHELD
}

/// Returns the value expected from a join: the public value with its holes filled or removed, and with new secrets.
fn expected(public: &Value, path: &mut Vec<String>, found: &[Found], joined: &MergedSettings) -> Value {
    let live = |path: &[String]| {
        found
            .iter()
            .find(|found| found.secret.key == path)
            .expect("a live secret")
    };
    let raw = |found: &Found| serde_json::from_slice::<Value>(&found.secret.raw).unwrap();
    let mut inner = |name: String, value: &Value| {
        path.push(name);
        let inner = match value {
            value if !is_hole(value) => Some(expected(value, path, found, joined)),
            _ if joined.missing.contains(path) => None,
            _ => Some(raw(live(path))),
        };
        path.pop();
        inner
    };
    match public {
        Value::Object(members) => {
            let mut new = Map::new();
            for (name, value) in members {
                new.extend(inner(name.clone(), value).map(|value| (name.clone(), value)));
            }
            for found in found
                .iter()
                .filter(|found| found.credential && !joined.lost.contains(&found.secret.key))
            {
                let (name, parent) = found.secret.key.split_last().unwrap();
                if parent == path && !members.contains_key(name) {
                    new.insert(name.clone(), raw(found));
                }
            }
            new.into()
        }
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .filter_map(|(index, value)| inner(index.to_string(), value))
            .collect(),
        other => other.clone(),
    }
}

/// Returns the value without its holes.
fn without_holes(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !is_hole(value))
            .map(|(name, value)| (name.clone(), without_holes(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(elements) => elements
            .iter()
            .filter(|value| !is_hole(value))
            .map(without_holes)
            .collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_file_joins_with_itself(value in root(), pretty: bool) {
        let text = written(&value, pretty);
        // A generated secret may be found elsewhere by chance.
        if let Some(parted) = REDACTOR.split(JSON, text.as_bytes()) {
            let joined = REDACTOR.merge(JSON, &parted.public, Some(text.as_bytes()), &|_| true).unwrap();
            prop_assert_eq!(joined.whole, text.as_bytes());
            prop_assert!(joined.missing.is_empty() && joined.lost.is_empty());
        }
        // Whatever stays elsewhere, taking apart and filling is exact.
        let taken = REDACTOR.take(JSON, text.as_bytes()).unwrap();
        let joined = merge::fill(REDACTOR, JSON, taken.public.as_bytes(), &taken.found, &|_| true).unwrap();
        prop_assert_eq!(joined.whole, text.as_bytes());
        prop_assert!(joined.missing.is_empty() && joined.lost.is_empty());
    }

    #[test]
    fn nothing_public_changes(old in root(), live in root(), pretty: bool, same: bool) {
        let taken = REDACTOR.take(JSON, written(&old, pretty).as_bytes()).unwrap();
        let found = REDACTOR.take(JSON, written(&live, !pretty).as_bytes()).unwrap().found;
        let joined = merge::fill(REDACTOR, JSON, taken.public.as_bytes(), &found, &|_| same).unwrap();
        let public: Value = serde_json::from_str(&taken.public).unwrap();
        let whole: Value = serde_json::from_slice(&joined.whole).unwrap();
        prop_assert_eq!(whole, expected(&public, &mut Vec::new(), &found, &joined));
        for key in joined.lost {
            prop_assert!(found.iter().any(|found| found.secret.key == key));
        }
        for key in joined.missing {
            prop_assert!(taken.found.iter().any(|found| found.secret.key == key));
        }
    }

    #[test]
    fn without_a_live_file_only_holes_go(old in root(), pretty: bool) {
        let taken = REDACTOR.take(JSON, written(&old, pretty).as_bytes()).unwrap();
        let joined = REDACTOR.merge(JSON, taken.public.as_bytes(), None, &|_| true).unwrap();
        let public: Value = serde_json::from_str(&taken.public).unwrap();
        let whole: Value = serde_json::from_slice(&joined.whole).unwrap();
        prop_assert_eq!(whole, without_holes(&public));
        prop_assert_eq!(joined.missing.len(), taken.found.len());
    }

    #[test]
    fn texts_and_their_places_are_those_of_serde(texts in proptest::collection::vec(".{0,8}", 1..6), escapes: bool) {
        let escaped = |text: &str| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
        let written = |text: &String| match escapes {
            true => format!("\"{}\"", escaped(text)),
            false => serde_json::to_string(text).unwrap(),
        };
        let file = format!("[ {} ]", texts.iter().map(written).collect::<Vec<_>>().join(" , "));
        let read: Vec<String> = serde_json::from_str(&file).unwrap();
        let (_, root) = REDACTOR.read(JSON, file.as_bytes()).unwrap();
        let tree::Kind::List(elements, tree::Layout::Commas { at, .. }) = root.kind else { panic!("{file}") };
        prop_assert_eq!(elements.len(), read.len());
        for (element, read) in elements.iter().zip(&read) {
            let tree::Kind::Text(text) = &element.kind else { panic!("{file}") };
            prop_assert_eq!(text, read);
            prop_assert_eq!(&serde_json::from_str::<String>(file.get(element.span.clone()).unwrap()).unwrap(), read);
        }
        for comma in at {
            prop_assert_eq!(file.as_bytes()[comma], b',');
            prop_assert!(!elements.iter().any(|element| element.span.contains(&comma)));
        }
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}:,\"'# a=.\n-]{0,60}") {
        for format in [Format::Json, Format::Toml, Format::Yaml] {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let _ = REDACTOR.split(format, bytes);
                let _ = REDACTOR.merge(format, bytes, Some(bytes), &|_| true);
                let _ = REDACTOR.merge(format, bytes, None, &|_| true);
            }
        }
    }

    #[test]
    fn changed_fixtures_do_not_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0..4_usize, "[\\[\\]{}:,\"'# a=.\n-]{0,3}"), 1..6),
        which in 0..4_usize,
    ) {
        let (format, old) = [(JSON, CLAUDE), (JSON, SETTINGS), (Format::Toml, CODEX), (Format::Yaml, HOSTS)][which];
        let mut live = old.to_owned();
        for (index, count, new) in changes {
            let start = index.index(live.len());
            let end = (start + count).min(live.len());
            live.replace_range(start..end, &new);
        }
        let public = REDACTOR.split(format, old.as_bytes()).unwrap().public;
        if let Some(parted) = REDACTOR.split(format, live.as_bytes()) {
            prop_assert!(REDACTOR.merge(format, &public, Some(live.as_bytes()), &|_| false).is_some());
            let whole = REDACTOR.merge(format, &parted.public, Some(old.as_bytes()), &|_| true).unwrap().whole;
            prop_assert!(REDACTOR.read(format, &whole).is_some());
        }
    }
}
