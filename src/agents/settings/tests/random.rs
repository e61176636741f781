//! Random JSON, with comments, commas and blanks wherever they are allowed.

use proptest::prelude::*;

use super::super::json::read;
use super::super::{After, install, uninstall};
use super::{WITH_SETTINGS, ours};
use crate::simulated_share::cases;

/// Generates the blanks and comments between two tokens.
fn gap() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // a, \"b\" }\n".to_owned()),
        1 => Just("//]\r\n".to_owned()),
        1 => Just("/* , */".to_owned()),
        1 => Just("/* \n ] */ ".to_owned()),
    ];
    prop::collection::vec(one, 0..3).prop_map(|all| all.concat())
}

/// Generates a container with its parts, and perhaps a trailing comma.
fn container(
    open: char,
    close: char,
    part: impl Strategy<Value = String> + Clone + 'static,
) -> impl Strategy<Value = String> {
    let part = (gap(), part, gap()).prop_map(|(before, part, behind)| format!("{before}{part}{behind}"));
    (prop::collection::vec(part, 0..4), any::<bool>(), gap()).prop_map(move |(parts, trailing, last)| {
        let comma = if trailing && !parts.is_empty() { "," } else { "" };
        format!("{open}{}{comma}{last}{close}", parts.join(","))
    })
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1".to_owned()),
        Just("-2.5e-3".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just(r#""a \" // b, ]""#.to_owned()),
        Just(r#""""#.to_owned()),
    ]
}

fn value() -> impl Strategy<Value = String> + Clone {
    let scalar = scalar().boxed();
    let list = container('[', ']', scalar.clone()).boxed();
    prop_oneof![3 => scalar, 1 => list].boxed()
}

/// Generates an entry that is not jackin's, valid or broken.
fn entry() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        Just(r#"{"matcher":"Bash","hooks":[{"type":"command","command":"x"}]}"#.to_owned()),
        Just(r#"{ "command": "y", "bash": "z" }"#.to_owned()),
        Just("{}".to_owned()),
        Just(r#"{"hooks": []}"#.to_owned()),
        Just("7".to_owned()),
    ]
    .boxed()
}

/// Members with keys that differ, each with a value of its own kind.
fn object(
    keys: &'static [&'static str],
    value: impl Strategy<Value = String> + Clone + 'static,
) -> impl Strategy<Value = String> {
    let member = (gap(), gap(), value, gap(), gap());
    let chosen = prop::sample::subsequence(keys, 0..=keys.len().min(4)).prop_shuffle();
    (chosen, prop::collection::vec(member, 4), any::<bool>(), gap()).prop_map(
        |(keys, members, trailing, last)| {
            let parts: Vec<String> = keys
                .iter()
                .zip(members)
                .map(|(key, (a, b, value, c, d))| format!("{a}\"{key}\"{b}:{c}{value}{d}"))
                .collect();
            let comma = if trailing && !parts.is_empty() { "," } else { "" };
            format!("{{{}{comma}{last}}}", parts.join(","))
        },
    )
}

const EVENTS: &[&str] = &[
    "SessionStart",
    "PreToolUse",
    "SessionEnd",
    "BeforeTool",
    "sessionStart",
    "preToolUse",
    "beforeShellExecution",
    "Other",
];

fn settings() -> impl Strategy<Value = String> {
    let hooks = object(EVENTS, container('[', ']', entry()).boxed()).boxed();
    let with_hooks = (gap(), gap(), hooks, gap(), value(), any::<bool>(), gap()).prop_map(
        |(a, b, hooks, c, other, first, last)| {
            let own = format!("{a}\"hooks\"{b}:{hooks}{c}");
            if first {
                format!("{{{own},\"z\": {other}{last}}}")
            } else {
                format!("{{\"z\": {other},{own}{last}}}")
            }
        },
    );
    let whole = prop_oneof![
        2 => with_hooks,
        1 => object(&["a", "b", "c", "d"], value()),
    ];
    (gap(), whole, gap()).prop_map(|(before, whole, behind)| format!("{before}{whole}{behind}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]

    #[test]
    fn in_and_out_leaves_every_byte(text in settings()) {
        read(&text).unwrap();
        for agent in WITH_SETTINGS {
            let Ok(After::Text(with)) = install(agent, Some(&text), &ours()) else {
                return Err(TestCaseError::fail(format!("{agent}: not installed: {text}")));
            };
            prop_assert_eq!(install(agent, Some(&with), &ours()), Ok(After::Same), "{}", with);
            prop_assert_eq!(uninstall(agent, Some(&with)), Ok(After::Text(text.clone())), "{}", with);
        }
    }

    #[test]
    fn whatever_is_read_ends(text in "[\\[\\]{}\",:/* \n\\\\a1]{0,60}") {
        for agent in WITH_SETTINGS {
            let _ = install(agent, Some(&text), &ours());
            let _ = uninstall(agent, Some(&text));
        }
    }
}
