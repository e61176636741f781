//! Verdicts of a coverage on paths, against a table of expectations. They equal those of `git check-ignore`, except for `{a,b}`,
//! which git does not know.

use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use crate::contract::{Matcher, Verdict};
use crate::model::{ByteString, Coverage, ExcludeRule, ExcludeSource, RelPath, WithheldPath, WithheldReason};

fn coverage(patterns: &[&str], tracked: &[&str], withheld: &[(&str, WithheldReason)]) -> Coverage {
    let rule = |pattern: &&str| ExcludeRule {
        pattern: (*pattern).to_owned(),
        source: ExcludeSource::Flag,
        private: None,
    };
    Coverage {
        excludes: patterns.iter().map(rule).collect(),
        tracked: tracked.iter().map(|path| rel(path.as_bytes())).collect(),
        withheld: withheld
            .iter()
            .map(|(path, reason)| WithheldPath {
                path: rel(path.as_bytes()),
                reason: *reason,
            })
            .collect(),
        ..Coverage::new("m", Path::new("/srv/m"))
    }
}

fn rel(path: &[u8]) -> RelPath {
    RelPath::new(path).unwrap()
}

/// Path (with `/` at the end for a directory) and the pattern that leaves it out; none when it is covered.
type Case = (&'static [u8], Option<&'static str>);

const TABLE: &[(&[&str], &[Case])] = &[
    (&[], &[(b"a", None), (b"a/b/", None)]),
    (
        &["target/"],
        &[
            (b"target/", Some("target/")),
            (b"target", None),
            (b"a/target/", Some("target/")),
            (b"target/x/y", Some("target/")),
            (b"targets/", None),
        ],
    ),
    (
        &["/target/"],
        &[
            (b"target/", Some("/target/")),
            (b"a/target/", None),
            (b"a/target/x", None),
            (b"target/x", Some("/target/")),
        ],
    ),
    (
        &["*.log", "!keep.log"],
        &[
            (b"a.log", Some("*.log")),
            (b"a/b.log", Some("*.log")),
            (b"keep.log", None),
            (b"a/keep.log", None),
            (b".log", Some("*.log")),
            (b"a.log/", Some("*.log")),
        ],
    ),
    // What lies below an excluded directory cannot be taken back, unless the directory itself is.
    (
        &["build/", "!build/keep"],
        &[(b"build/keep", Some("build/")), (b"build/", Some("build/"))],
    ),
    (
        &["build/*", "!build/keep"],
        &[
            (b"build/keep", None),
            (b"build/", None),
            (b"build/x", Some("build/*")),
            (b"build/x/keep", Some("build/*")),
        ],
    ),
    (&["!a", "a"], &[(b"a", Some("a"))]),
    // Rules that older programs recorded exclude what they excluded then: no blank at the end counts.
    (&["tr\t"], &[(b"tr", Some("tr\t")), (b"tr\t", None)]),
    (&["tr\t "], &[(b"tr", Some("tr\t ")), (b"tr\t", None)]),
    (&["tr "], &[(b"tr", Some("tr ")), (b"tr ", None)]),
    (&["a", "!a", "a/"], &[(b"a", None), (b"a/", Some("a/"))]),
    (
        &["a/b"],
        &[
            (b"a/b", Some("a/b")),
            (b"x/a/b", None),
            (b"a/b/c", Some("a/b")),
            (b"a/bc", None),
        ],
    ),
    (
        &["**/b/c"],
        &[
            (b"b/c", Some("**/b/c")),
            (b"x/y/b/c", Some("**/b/c")),
            (b"b/x/c", None),
        ],
    ),
    (
        &["a/**"],
        &[(b"a/", None), (b"a/x", Some("a/**")), (b"a/x/y", Some("a/**"))],
    ),
    (
        &["a/**/z"],
        &[
            (b"a/z", Some("a/**/z")),
            (b"a/b/c/z", Some("a/**/z")),
            (b"b/a/z", None),
        ],
    ),
    (
        &["?.[ch]"],
        &[
            (b"a.c", Some("?.[ch]")),
            (b"ab.c", None),
            (b"x/a.h", Some("?.[ch]")),
            (b"a.o", None),
        ],
    ),
    (
        &["lib[!0-9]*"],
        &[
            (b"libs", Some("lib[!0-9]*")),
            (b"d/libs", Some("lib[!0-9]*")),
            (b"lib/x", None),
        ],
    ),
    (
        &["logs/[^/]*.log"],
        &[(b"logs/a.log", Some("logs/[^/]*.log")), (b"logs/a/b.log", None)],
    ),
    (&["[a\\/b]x"], &[(b"ax", Some("[a\\/b]x")), (b"d/ax", None)]),
    (&["[a/b]x"], &[(b"ax", Some("[a/b]x")), (b"d/ax", None)]),
    (&["a[+-9]c"], &[(b"a0c", Some("a[+-9]c")), (b"a/c", None)]),
    (
        &["y[[:space:]]"],
        &[(b"y ", Some("y[[:space:]]")), (b"y\x0b", None)],
    ),
    (&["[[:digit:]]x"], &[(b"1x", Some("[[:digit:]]x")), (b"ax", None)]),
    (&["[!a]x"], &[(b"bx", Some("[!a]x")), (b"ax", None)]),
    (
        &["\\!a", "\\#b"],
        &[(b"!a", Some("\\!a")), (b"#b", Some("\\#b")), (b"a", None)],
    ),
    (&["a\\ "], &[(b"a ", Some("a\\ ")), (b"a", None)]),
    (&["a  "], &[(b"a", Some("a  "))]),
    (&["\\*"], &[(b"*", Some("\\*")), (b"a", None)]),
    (&["A"], &[(b"a", None), (b"A", Some("A"))]),
    (
        &["*.{tmp,bak}"],
        &[(b"x.tmp", Some("*.{tmp,bak}")), (b"x.old", None)],
    ),
    // Names that are not UTF-8, or hold line breaks or a leading dash.
    (
        &["*.log", "caf*/", "x?y"],
        &[
            (b"\xff\xfe.log", Some("*.log")),
            (b"\xff/b.log", Some("*.log")),
            (b"caf\xe9/", Some("caf*/")),
            (b"caf\xe9", None),
            (b"caf\xe9/in/\xff", Some("caf*/")),
            (b"x\xffy", Some("x?y")),
            (b"\xff", None),
            (b"a\nb.log", Some("*.log")),
            (b"-rf.log", Some("*.log")),
        ],
    ),
    (
        &["caf\u{e9}"],
        &[("caf\u{e9}".as_bytes(), Some("caf\u{e9}")), (b"caf\xe9", None)],
    ),
    // The root's own name takes no part, however the patterns look.
    (
        &["m", "srv"],
        &[(b"x", None), (b"m", Some("m")), (b"srv/m", Some("srv"))],
    ),
    (&["*"], &[(b"a/b", Some("*")), (b".x", Some("*"))]),
];

#[test]
fn excludes_follow_the_table() {
    for (patterns, cases) in TABLE {
        let matcher = Matcher::new(&coverage(patterns, &[], &[])).unwrap();
        for (path, expected) in *cases {
            let (bytes, is_dir) = match path.strip_suffix(b"/") {
                Some(directory) => (directory, true),
                None => (*path, false),
            };
            let got = match matcher.verdict_with_parents(&rel(bytes), is_dir) {
                Verdict::Covered => None,
                Verdict::Excluded(rule) => Some(rule.pattern.as_str()),
                other => panic!("{other:?}"),
            };
            assert_eq!(got, *expected, "{patterns:?} {}", path.escape_ascii());
        }
        assert_eq!(
            matcher.verdict_with_parents(&RelPath::root(), true),
            Verdict::Covered
        );
    }
}

/// As in git, only spaces at the end do not count, and a carriage return.
#[test]
fn new_patterns_are_recorded_as_git_reads_them() {
    for (pattern, recorded, not, excluded) in [
        ("tr\t", "tr[\t]", "tr", "tr\t"),
        ("tr\t", "tr[\t]", "tr", "d/tr\t"),
        ("tr\t ", "tr[\t]", "tr", "tr\t"),
        ("tr\\\t", "tr[\t]", "tr", "tr\t"),
        ("/d/\t", "/d/[\t]", "d/x", "d/\t"),
        ("tr \r", "tr ", "tr ", "tr"),
        ("tr\r", "tr", "tr\r", "tr"),
        ("tr", "tr", "tr\t", "tr"),
    ] {
        let found = crate::config::recorded_pattern(pattern).unwrap();
        assert_eq!(found, recorded, "{pattern:?}");
        let matcher = Matcher::new(&coverage(&[&found], &[], &[])).unwrap();
        let verdict = |path: &str| matcher.verdict_with_parents(&rel(path.as_bytes()), false);
        assert_eq!(verdict(not), Verdict::Covered, "{pattern:?}");
        assert!(matches!(verdict(excluded), Verdict::Excluded(_)), "{pattern:?}");
    }
    for refused in ["tr\r\r", "a\rb", "\r", "[\t", "a[\t"] {
        assert!(crate::config::recorded_pattern(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn the_rule_that_decided_is_the_one_named() {
    let mut coverage = coverage(&["x", "y", "x"], &[], &[]);
    coverage.excludes[0].source = ExcludeSource::Config(ByteString(b"/c".to_vec()));
    let matcher = Matcher::new(&coverage).unwrap();
    assert_eq!(
        matcher.verdict(&rel(b"x"), false),
        Verdict::Excluded(&coverage.excludes[2])
    );
    assert_eq!(
        matcher.verdict(&rel(b"y"), false),
        Verdict::Excluded(&coverage.excludes[1])
    );
}

#[test]
fn withheld_paths_beat_every_pattern() {
    use WithheldReason::{Sensitive, Staging, Store};
    let withheld = [
        (".ssh", Sensitive),
        (".jackin/data", Sensitive),
        (".jackin/data/recovery", Store),
    ];
    let matcher = Matcher::new(&coverage(&["!.ssh", ".jackin"], &[".ssh", "src"], &withheld)).unwrap();
    for (path, expected) in [
        (".ssh", Verdict::Withheld(Sensitive)),
        (".ssh/id", Verdict::Withheld(Sensitive)),
        (".sshx", Verdict::OutsideTracked),
        ("src/.ssh", Verdict::Covered),
        (".jackin/data/recovery/archives", Verdict::Withheld(Store)),
        (".jackin/data/jk-x", Verdict::Withheld(Sensitive)),
        (".jackin", Verdict::OutsideTracked),
        // A restore stages directly in the root, and nowhere else.
        (".jackin-recovery-3f", Verdict::Withheld(Staging)),
        (".jackin-recovery-3f/0", Verdict::Withheld(Staging)),
        ("src/.jackin-recovery-3f", Verdict::Covered),
        (".jackin-recovery", Verdict::OutsideTracked),
    ] {
        assert_eq!(
            matcher.verdict_with_parents(&rel(path.as_bytes()), true),
            expected,
            "{path}"
        );
    }
}

#[test]
fn tracked_paths_and_the_way_to_them() {
    let matcher = Matcher::new(&coverage(&["*.o", "skip/"], &["src/data", "b/c/d.txt"], &[])).unwrap();
    for (path, is_dir, expected, on_the_way) in [
        ("", true, Verdict::OutsideTracked, true),
        ("src", true, Verdict::OutsideTracked, true),
        ("src/data", true, Verdict::Covered, false),
        ("src/data/x", false, Verdict::Covered, false),
        ("src/database", true, Verdict::OutsideTracked, false),
        ("src/other", true, Verdict::OutsideTracked, false),
        ("b", true, Verdict::OutsideTracked, true),
        ("b/c", true, Verdict::OutsideTracked, true),
        ("b/c/d.txt", false, Verdict::Covered, false),
        ("b/c/e.txt", false, Verdict::OutsideTracked, false),
        ("z/src/data", true, Verdict::OutsideTracked, false),
    ] {
        let path = rel(path.as_bytes());
        assert_eq!(matcher.verdict_with_parents(&path, is_dir), expected, "{path:?}");
        assert_eq!(matcher.verdict(&path, is_dir), expected, "{path:?}");
        assert_eq!(matcher.is_on_the_way(&path), on_the_way, "{path:?}");
    }
    let excluded = |path: &str| {
        matches!(
            matcher.verdict_with_parents(&rel(path.as_bytes()), false),
            Verdict::Excluded(_)
        )
    };
    assert!(excluded("src/data/x.o") && excluded("src/data/skip/x"));
    // An exclude also closes the way.
    let matcher = Matcher::new(&coverage(&["a/"], &["a/b"], &[])).unwrap();
    assert!(matches!(matcher.verdict(&rel(b"a"), true), Verdict::Excluded(_)));
    assert!(matches!(
        matcher.verdict_with_parents(&rel(b"a/b"), true),
        Verdict::Excluded(_)
    ));
    let all = Matcher::new(&coverage(&[], &[], &[])).unwrap();
    assert!(!all.is_on_the_way(&RelPath::root()));
}

#[test]
fn a_pattern_that_does_not_parse_is_named() {
    let error = Matcher::new(&coverage(&["ok", "a{b"], &[], &[])).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the exclude \"a{b\" cannot be used: "),
        "{error}"
    );
}

#[test]
fn where_names_fold_every_rule_and_place_matches_in_any_case() {
    let withheld = [(".ssh", WithheldReason::Sensitive)];
    let exact = coverage(
        &["target/", "*.log", "!Keep.log"],
        &["Src", "Target", ".ssh"],
        &withheld,
    );
    let folded = Coverage {
        folds: true,
        ..exact.clone()
    };
    let judged = |coverage: &Coverage, path: &str, is_dir: bool| {
        let matcher = Matcher::new(coverage).unwrap();
        match matcher.verdict_with_parents(&rel(path.as_bytes()), is_dir) {
            Verdict::Covered => "covered",
            Verdict::Excluded(_) => "excluded",
            Verdict::Withheld(_) => "withheld",
            Verdict::OutsideTracked => "outside",
        }
    };
    for (path, is_dir, by_case, anyway) in [
        ("Src/a", false, "covered", "covered"),
        ("SRC/a", false, "outside", "covered"),
        ("Target", true, "covered", "excluded"),
        ("Src/TARGET/x", false, "covered", "excluded"),
        ("Src/a.LOG", false, "covered", "excluded"),
        ("Src/KEEP.log", false, "excluded", "covered"),
        (".SSH/key", false, "outside", "withheld"),
    ] {
        assert_eq!(
            (judged(&exact, path, is_dir), judged(&folded, path, is_dir)),
            (by_case, anyway),
            "{path}"
        );
    }
}

/// Returns the names that git ignores by a pattern.
fn ignored_by_git(pattern: &str, names: &[String]) -> Vec<String> {
    let scratch = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(args).current_dir(scratch.path());
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    fs::write(scratch.path().join(".git/info/exclude"), format!("{pattern}\n")).unwrap();
    for name in names {
        fs::write(scratch.path().join(name), "").unwrap();
    }
    let ignored = git(&["ls-files", "-z", "-o", "-i", "--exclude-standard"]);
    ignored.split_terminator('\0').map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Checks that a walk which stops at uncovered paths agrees with judging single paths.
    #[test]
    fn walking_down_and_asking_at_once_agree(
        patterns in proptest::collection::vec("!?/?[a-c*]{1,2}(/[a-c*]{1,2})?/?", 0..5),
        parts in proptest::collection::vec("[a-c]{1,2}", 1..5),
        tracked in proptest::option::of("[a-c](/[a-c])?"),
        is_dir in any::<bool>(),
    ) {
        prop_assume!(patterns.iter().all(|pattern| crate::config::recorded_pattern(pattern).is_ok()));
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let tracked: Vec<&str> = tracked.iter().map(String::as_str).collect();
        let matcher = Matcher::new(&coverage(&patterns, &tracked, &[])).unwrap();
        let mut walked = Verdict::Covered;
        let mut path = String::new();
        for (index, part) in parts.iter().enumerate() {
            path = if path.is_empty() { part.clone() } else { format!("{path}/{part}") };
            let here = rel(path.as_bytes());
            walked = matcher.verdict(&here, is_dir || index + 1 < parts.len());
            if walked != Verdict::Covered && !(walked == Verdict::OutsideTracked && matcher.is_on_the_way(&here)) {
                break;
            }
        }
        let whole = rel(parts.join("/").as_bytes());
        prop_assert_eq!(matcher.verdict_with_parents(&whole, is_dir), walked);
    }

    /// Checks bracket expressions against git's.
    #[test]
    fn brackets_match_as_in_git(
        start in "[!^]?",
        members in proptest::collection::vec(
            proptest::sample::select(vec![
                "a", "c-f", "0-5", "-", "]", "[", "!", "^", "\\\\", "\\]", "\\[", "\\-", "\\a-\\c", "+--", "--0", "[:digit:]", "[:upper:]",
                "[:punct:]", "[:space:]", "[:none:]", "[:", ":]", "\u{e9}",
            ]),
            1..5,
        ),
    ) {
        let pattern = format!("x[{start}{}]", members.concat());
        let names: Vec<String> = ('\x01'..='~').map(|c| format!("x{c}")).filter(|name| name != "x/").collect();
        prop_assume!(crate::config::recorded_pattern(&pattern).is_ok());
        let ignored = ignored_by_git(&pattern, &names);
        let matcher = Matcher::new(&coverage(&[&pattern], &[], &[])).unwrap();
        let excludes = |name: &&String| matcher.verdict(&rel(name.as_bytes()), false) != Verdict::Covered;
        let excluded: Vec<&String> = names.iter().filter(excludes).collect();
        prop_assert_eq!(excluded, ignored.iter().collect::<Vec<_>>(), "{}", pattern);
    }

    /// Checks that every accepted pattern compiles, and judges any bytes without a panic.
    #[test]
    fn checked_patterns_compile(pattern in "[!#/\\\\*?\\[\\]{},. a-c\u{e9}-]{0,10}", path in proptest::collection::vec(1_u8.., 1..12)) {
        if let Ok(pattern) = crate::config::recorded_pattern(&pattern) {
            let matcher = Matcher::new(&coverage(&[&pattern], &[], &[])).unwrap();
            if let Ok(path) = RelPath::new(&path) {
                let _ = matcher.verdict_with_parents(&path, false);
            }
        }
    }
}
