//! Random TOML and YAML.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const NAMES: [&str; 12] = [
    "a",
    "b",
    "c",
    "env",
    "token",
    "api_key",
    "account",
    "headers",
    "mcp_servers",
    "projects",
    "command",
    "x-key",
];

const TOML_VALUES: [&str; 13] = [
    "1",
    "true",
    "'x'",
    "\"y \\\" # , z\"",
    "'ghp_0123456789'",
    "\"curl --token abc\"",
    "'''\nlong\n'''",
    "[]",
    "[ 'a', 'ghp_0123456789' ]",
    "['--token', 'hf_987654321', # c, d\n  2,\n]",
    "{ token = 'q', n = 1 }",
    "{ a.key = 'q', a.b = 2, env = { Z = 'z' } }",
    "{ a = ['hf_0123456789'] }",
];

/// Tables with a few values each; names are made unique as they must be.
fn toml() -> impl Strategy<Value = String> {
    let line = (
        select(&NAMES[..]),
        select(&NAMES[..]),
        select(&TOML_VALUES[..]),
        0..4_u8,
    );
    let header = (select(&NAMES[..]), select(&NAMES[..]), 0..3_u8);
    vec((header, vec(line, 0..5)), 0..5).prop_map(|tables| {
        let mut text = String::new();
        for (table, ((first, second, kind), lines)) in tables.into_iter().enumerate() {
            match kind {
                0 if table > 0 => text.push_str(&format!("[{first}{table}.{second}] # head\n")),
                1 if table > 0 => text.push_str(&format!("\n[[{first}]]\n")),
                _ if table > 0 => text.push_str(&format!("[t{table}.{first}]\n")),
                _ => {}
            }
            for (line, (name, other, value, kind)) in lines.into_iter().enumerate() {
                let key = format!("l{table}-{line}");
                text.push_str(&match kind {
                    0 => format!("{key}.{name} = {value}\n"),
                    1 => format!("  {key}{name} = {value} # after\n"),
                    2 => format!("# before\n{key}.{name}.{other}={value}\n"),
                    _ => format!("\"{key}\".{name} = {value}\n{key}.{name}x = {value}\n"),
                });
            }
        }
        text
    })
}

#[derive(Clone, Debug)]
enum Tree {
    Scalar(&'static str),
    List(Vec<&'static str>),
    Map(Vec<(&'static str, Tree, bool)>),
}

const YAML_VALUES: [&str; 10] = [
    "x",
    "1",
    "true",
    "'y: z # q'",
    "\"a b\"",
    "ghp_0123456789",
    "--token=q",
    "it's",
    "''",
    "a:b",
];

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        3 => select(&YAML_VALUES[..]).prop_map(Tree::Scalar),
        1 => vec(select(&YAML_VALUES[..]), 1..4).prop_map(Tree::List),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        vec((select(&NAMES[..]), inner, any::<bool>()), 1..5).prop_map(Tree::Map)
    })
}

fn write(tree: &Tree, indent: usize, step: usize, text: &mut String) {
    let lead = " ".repeat(indent);
    match tree {
        Tree::Scalar(value) => text.push_str(&format!(" {value}\n")),
        Tree::List(values) => {
            text.push('\n');
            values
                .iter()
                .for_each(|value| text.push_str(&format!("{lead}- {value}\n")));
        }
        Tree::Map(members) => {
            text.push('\n');
            for (index, (name, value, comment)) in members.iter().enumerate() {
                if *comment {
                    text.push_str("\n# comment\n");
                }
                text.push_str(&format!(
                    "{lead}{name}{}:",
                    if index == 0 {
                        ""
                    } else {
                        ["1", "2", "3", "4"][index - 1]
                    }
                ));
                write(value, indent + step, step, text);
            }
        }
    }
}

fn yaml() -> impl Strategy<Value = String> {
    (
        vec((select(&NAMES[..]), tree(), any::<bool>()), 0..5),
        1..5_usize,
        any::<bool>(),
    )
        .prop_map(|(members, step, open)| {
            let mut text = String::new();
            write(&Tree::Map(members), 0, step, &mut text);
            if open { text.trim_end().to_owned() } else { text }
        })
}

/// Joins the text with itself, with nothing and with another one.
fn check(format: Format, text: &str, live: &str, same: bool) {
    let taken = REDACTOR
        .take(format, text.as_bytes())
        .unwrap_or_else(|| panic!("not taken apart:\n{text}"));
    let joined =
        merge::fill(REDACTOR, format, taken.public.as_bytes(), &taken.found, &|_| true).expect("joined");
    assert_eq!(String::from_utf8(joined.whole).unwrap(), text);
    assert!(joined.missing.is_empty() && joined.lost.is_empty());
    let public = taken.public.as_bytes();
    let joined = REDACTOR
        .merge(format, public, None, &|_| true)
        .unwrap_or_else(|| panic!("not valid without:\n{text}"));
    assert_eq!(joined.missing.len(), taken.found.len());
    let whole = String::from_utf8(joined.whole).unwrap();
    assert!(!whole.contains(WITHHELD));
    let found = REDACTOR.take(format, live.as_bytes()).expect("taken").found;
    let joined = merge::fill(REDACTOR, format, public, &found, &|_| same)
        .unwrap_or_else(|| panic!("not valid with:\n{text}\n----\n{live}"));
    // All that came in came from the live file's secrets, so what is public is the same once it is gone again.
    let again = REDACTOR.take(format, &joined.whole).expect("taken");
    let emptied = merge::fill(REDACTOR, format, again.public.as_bytes(), &[], &|_| true).expect("joined");
    let lines = |text: &str| {
        text.lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&String::from_utf8(emptied.whole).unwrap()),
        lines(&whole),
        "{text}\n----\n{live}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn toml_joins(text in toml(), live in toml(), same: bool) {
        check(Format::Toml, &text, &live, same);
    }

    #[test]
    fn yaml_joins(text in yaml(), live in yaml(), same: bool) {
        check(Format::Yaml, &text, &live, same);
    }

    #[test]
    fn toml_joins_with_some_of_it(text in toml(), gone in any::<prop::sample::Index>()) {
        let mut lines: Vec<&str> = text.lines().collect();
        if !lines.is_empty() {
            lines.remove(gone.index(lines.len()));
        }
        let live = lines.join("\n");
        if REDACTOR.take(Format::Toml, live.as_bytes()).is_some() {
            check(Format::Toml, &text, &live, true);
            check(Format::Toml, &live, &text, true);
        }
    }
}
