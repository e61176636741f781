//! Names that would steer a terminal, look like our own words, or are too long.

use std::collections::BTreeSet;

use super::{at, bytes, captured, contract, coverage, ordinary, project, rule, stack};
use crate::config::{Subject, ValueSource};
use crate::contract::{MountState, NotCovered};
use crate::model::{ByteString, ExcludeSource, RelPath, WithheldPath, WithheldReason};
use crate::terminal::sanitize;

/// A name that moves the cursor, turns the direction of text, breaks the line, hides, and is no UTF-8.
const EVIL: &[u8] = b"a\x1b[2J\n\r\x07\xe2\x80\xae\xe2\x80\x8b\xff\xc2\x9b31mz";

fn evil() -> String {
    String::from_utf8_lossy(EVIL).into_owned()
}

#[test]
fn no_name_reaches_the_terminal_as_it_is() {
    let root = ByteString([b"/", EVIL].concat());
    let path = RelPath::new(EVIL).unwrap();
    let mut first = captured("/", "a", vec![]);
    first.root = root.clone();
    first.source = ByteString([b"/s", EVIL].concat());
    let own = first.coverage.as_mut().unwrap();
    own.root = root.clone();
    own.label = evil();
    own.tracked = vec![path.clone()];
    own.withheld = vec![WithheldPath {
        path: path.clone(),
        reason: WithheldReason::Sensitive,
    }];
    own.excludes = vec![
        stack(&evil(), &evil(), &evil()),
        rule(&evil(), ExcludeSource::Config(root.clone())),
        rule(&evil(), ExcludeSource::Flag),
    ];
    first.new_excludes = own.excludes.clone();
    first.absent_paths = vec![path];
    let mut inner = super::mount(
        "/b",
        MountState::CoveredBy {
            label: evil(),
            outer: root.clone(),
        },
    );
    inner.root = root.clone();
    let mut out = inner.clone();
    out.state = MountState::NotCovered {
        reason: NotCovered::LeftOut {
            label: "gone".to_owned() + &evil(),
            pattern: Some(evil()),
        },
    };
    let mut value = project(vec![first, inner, out, captured("/c", "c", vec![])]);
    value.store = Some(root.clone());
    value.restore.overwrites = vec![root.clone()];
    let source = ValueSource::File {
        path: root.clone(),
        line: 1,
    };
    value.snapshot.source = source.clone();
    value.sensitive.source = source.clone();
    value.sensitive.value = crate::config::Sensitive::Capture;
    value.on_failure.source = source.clone();
    value.on_failure.value = crate::config::OnFailure::Run;
    value.integrations.source = source;
    value.integrations.value = false;
    for subject in [
        Subject::Workspace { name: evil() },
        Subject::Directory { path: root },
    ] {
        value.subject = subject;
        let raw = contract(&value, 80);
        // All codes in the text are the few of our own roles.
        let codes: BTreeSet<&str> = raw
            .split('\x1b')
            .skip(1)
            .map(|rest| rest.split_inclusive('m').next().unwrap())
            .collect();
        assert!(
            codes
                .iter()
                .all(|code| ["[0m", "[1m", "[33m", "[36m"].contains(code)),
            "{codes:?}"
        );
        let hidden = raw
            .chars()
            .find(|c| !matches!(c, '\n' | '\x1b') && !sanitize::is_visible(*c));
        assert_eq!(hidden, None, "{raw:?}");
        assert!(raw.matches("\\x1b[2J\\n\\r").count() >= 17, "{raw}");
    }
}

#[test]
fn a_path_is_never_cut_and_never_broken() {
    let long = format!("/home/ann/{}/with a blank, and more/end", "deep/".repeat(60));
    let mut value = project(vec![captured(&long, "end", vec![])]);
    value.store = Some(bytes(&long));
    value.snapshot.source = ValueSource::File {
        path: bytes(&long),
        line: 4,
    };
    for columns in [20, 80, 200] {
        let text = at(&value, columns);
        assert_eq!(text.matches(&long).count(), 3, "{text}");
    }
}

#[test]
fn a_pattern_with_blanks_is_quoted_so_that_it_cannot_pass_for_two() {
    let mut value = ordinary();
    coverage(&mut value).excludes = vec![
        rule("a b, c", ExcludeSource::Flag),
        rule("q\"u\\ x", ExcludeSource::Flag),
        rule("plain", ExcludeSource::Flag),
    ];
    let text = at(&value, 80);
    assert!(
        text.contains(r#"by --exclude: "a b, c" "q\"u\\ x" plain"#),
        "{text}"
    );
}

#[test]
fn a_hundred_patterns_are_all_there_within_the_width() {
    let mut value = ordinary();
    coverage(&mut value).excludes = (0..100)
        .map(|number| {
            rule(
                &format!("build-{number}/"),
                ExcludeSource::Config(bytes("/c.toml")),
            )
        })
        .collect();
    let text = at(&value, 80);
    assert!((0..100).all(|number| text.contains(&format!("build-{number}/"))));
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}
