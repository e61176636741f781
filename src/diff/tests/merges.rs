//! Three-way merges, with `git merge-file` as a second opinion.

use std::process::Command;

use proptest::prelude::*;

use crate::diff::{MergeLabels, MergeSides, Merged, merge};

const LABELS: MergeLabels<'static> = MergeLabels {
    ours: "ours",
    base: "base",
    theirs: "theirs",
};

fn merged(base: &[u8], ours: &[u8], theirs: &[u8]) -> Merged {
    merge(MergeSides { base, ours, theirs }, LABELS)
}

/// Returns what git makes of it, and whether that is clean; `None` without git.
fn by_git(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<(Vec<u8>, bool)> {
    let scratch = crate::workplace::scratch();
    for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        std::fs::write(scratch.path().join(name), text).unwrap();
    }
    let labels = ["-L", "ours", "-L", "base", "-L", "theirs"];
    let output = Command::new("git")
        .args(["merge-file", "-p", "--diff3"])
        .args(labels)
        .args(["ours", "base", "theirs"])
        .current_dir(scratch.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output();
    match output {
        Ok(output) => Some((output.stdout, output.status.success())),
        Err(_) => {
            crate::skipped::skipped("git is not installed");
            None
        }
    }
}

/// An edit: so many lines at a place are replaced by these.
type Edit = (prop::sample::Index, usize, Vec<u32>);

fn edits(kinds: u32) -> impl Strategy<Value = Vec<Edit>> {
    let new = prop::collection::vec(1000..1000 + kinds, 0..3);
    prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, new), 0..4)
}

fn edited(lines: &[u32], edits: &[Edit]) -> Vec<u32> {
    let mut lines = lines.to_vec();
    for (at, count, new) in edits {
        let at = at.index(lines.len() + 1);
        let end = (at + count).min(lines.len());
        lines.splice(at..end, new.iter().copied());
    }
    lines
}

fn text(lines: &[u32], newline: &str, ends: bool) -> Vec<u8> {
    let mut text: String = lines.iter().map(|line| format!("line {line}{newline}")).collect();
    if !ends {
        text.truncate(text.trim_end().len());
    }
    text.into_bytes()
}

prop_compose! {
    /// Three texts: what both sides began with, and both sides.
    fn texts()(
        base in prop_oneof![
            // Lines of their own, as most are, and lines that repeat, as blank ones and braces do.
            prop::collection::vec(0..100_000_u32, 0..40),
            prop::collection::vec(prop_oneof![3 => 0..100_000_u32, 1 => Just(7)], 0..40),
        ],
        ours in edits(900), theirs in edits(900),
        newline in prop_oneof![3 => Just("\n"), 1 => Just("\r\n")],
        ends in any::<[bool; 3]>(),
    ) -> [Vec<u8>; 3] {
        let both = [edited(&base, &ours), edited(&base, &theirs)];
        [text(&base, newline, ends[0]), text(&both[0], newline, ends[1]), text(&both[1], newline, ends[2])]
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(250) })]

    #[test]
    fn a_merge_is_that_of_git([base, ours, theirs] in texts()) {
        let Some((by_git, is_clean)) = by_git(&base, &ours, &theirs) else { return Ok(()) };
        let merged = merged(&base, &ours, &theirs);
        prop_assert_eq!(merged.overlaps.is_empty(), is_clean);
        prop_assert_eq!(String::from_utf8_lossy(&merged.text), String::from_utf8_lossy(&by_git));
    }

    #[test]
    fn lines_that_only_one_side_changed_stay_as_that_side_has_them([base, ours, _] in texts()) {
        for text in [merged(&base, &ours, &base), merged(&base, &base, &ours), merged(&base, &ours, &ours)] {
            prop_assert!(text.overlaps.is_empty());
            prop_assert_eq!(&text.text, &ours);
        }
    }

    /// Every line that `ours` added is in the result, in its order, for any texts.
    #[test]
    fn no_line_of_ours_is_lost(
        base in prop::collection::vec(0..4_u32, 0..20),
        ours in edits(5), theirs in edits(5),
    ) {
        let [ours, theirs] = [ours, theirs].map(|edits| text(&edited(&base, &edits), "\n", true));
        let merged = merged(&text(&base, "\n", true), &ours, &theirs);
        let mut rest = merged.text.split_inclusive(|byte| *byte == b'\n');
        let added = ours.split_inclusive(|byte| *byte == b'\n').filter(|line| line.starts_with(b"line 1"));
        for line in added.filter(|line| line.len() == b"line 1000\n".len()) {
            prop_assert!(rest.any(|found| found == line), "{:?}", String::from_utf8_lossy(&merged.text));
        }
    }
}

/// A change of one side that goes on after the last one of the other took its first lines.
#[test]
fn what_is_left_of_lines_that_the_other_side_removed_is_shown() {
    let (base, side) = (b"line 0\nline 0\nline 0".as_slice(), b"line 0".as_slice());
    for [ours, theirs] in [[b"".as_slice(), side], [side, b""]] {
        let merged = merged(base, ours, theirs);
        let [overlap] = &merged.overlaps[..] else {
            panic!("{merged:?}");
        };
        assert_eq!(
            (overlap.ours.concat(), overlap.theirs.concat()),
            (ours.to_vec(), theirs.to_vec())
        );
        if let Some((by_git, _)) = by_git(base, ours, theirs) {
            assert_eq!(
                String::from_utf8_lossy(&merged.text),
                String::from_utf8_lossy(&by_git)
            );
        }
    }
}

#[test]
fn changes_that_touch_overlap_and_say_where() {
    let merged = merged(b"1\n2\n3\n4\n", b"1\nII\n3\n4\n", b"1\n2\nthree\n4\n");
    let [overlap] = &merged.overlaps[..] else {
        panic!("{merged:?}");
    };
    assert_eq!((overlap.line, overlap.ours.concat()), (2, b"II\n3\n".to_vec()));
    assert_eq!(
        String::from_utf8_lossy(&merged.text),
        "1\n<<<<<<< ours\nII\n3\n||||||| base\n2\n3\n=======\n2\nthree\n>>>>>>> theirs\n4\n"
    );
}
