//! Excludes, each with what it means in the test's own words: a second opinion on the gitignore syntax.

use std::fmt;

use proptest::prelude::*;

/// One pattern.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub(super) text: &'static str,
    /// Function that returns true if the rule matches a path: its names, and whether it is a directory.
    speaks: fn(&[&str], bool) -> bool,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl Rule {
    fn takes_back(&self) -> bool {
        self.text.starts_with('!')
    }
}

fn last(names: &[&str], wanted: &str) -> bool {
    names.last() == Some(&wanted)
}

const RULES: [Rule; 14] = [
    Rule {
        text: "b",
        speaks: |names, _| last(names, "b"),
    },
    Rule {
        text: "b/",
        speaks: |names, dir| dir && last(names, "b"),
    },
    Rule {
        text: "/a",
        speaks: |names, _| names == ["a"],
    },
    Rule {
        text: "/c/",
        speaks: |names, dir| dir && names == ["c"],
    },
    Rule {
        text: "a/b",
        speaks: |names, _| names == ["a", "b"],
    },
    Rule {
        text: "/a/c/",
        speaks: |names, dir| dir && names == ["a", "c"],
    },
    Rule {
        text: "*.o",
        speaks: |names, _| last(names, "x.o"),
    },
    Rule {
        text: "**/c",
        speaks: |names, _| last(names, "c"),
    },
    Rule {
        text: "a/**",
        speaks: |names, _| names.len() > 1 && names[0] == "a",
    },
    Rule {
        text: "/*/c",
        speaks: |names, _| names.len() == 2 && names[1] == "c",
    },
    Rule {
        text: "!c",
        speaks: |names, _| last(names, "c"),
    },
    Rule {
        text: "!b/",
        speaks: |names, dir| dir && last(names, "b"),
    },
    Rule {
        text: "!/a/b",
        speaks: |names, _| names == ["a", "b"],
    },
    Rule {
        text: "!x.o",
        speaks: |names, _| last(names, "x.o"),
    },
];

/// None, or up to four.
pub(super) fn rules() -> impl Strategy<Value = Vec<Rule>> {
    prop_oneof![
        1 => Just(Vec::new()),
        2 => prop::collection::vec((0..RULES.len()).prop_map(|number| RULES[number]), 1..=4),
    ]
}

/// Returns true if the last rule that matches the path itself excludes it.
pub(super) fn leaves_out(rules: &[Rule], path: &str, is_dir: bool) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    let speaking = rules.iter().rev().find(|rule| (rule.speaks)(&names, is_dir));
    speaking.is_some_and(|rule| !rule.takes_back())
}

/// Returns true if a path is excluded, by itself or with a directory above it: no rule can include a path in there again.
pub(super) fn is_hidden(rules: &[Rule], path: &str, is_dir: bool) -> bool {
    let above = path
        .char_indices()
        .filter(|(_, letter)| *letter == '/')
        .map(|(at, _)| path.get(..at).unwrap());
    above.into_iter().any(|above| leaves_out(rules, above, true)) || leaves_out(rules, path, is_dir)
}
