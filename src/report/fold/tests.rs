//! Folding, and unfolding what was folded.

mod renamed;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Extent, FEWEST, Fold, Foldable, FoldedLine, MANY, fold};
use crate::diff::ChangeKind;
use crate::model::RelPath;

/// A change: letter, path (a directory ends in `/`), earlier path.
type Row = (char, String, Option<String>);

fn row(letter: char, path: &str) -> Row {
    (letter, path.to_owned(), None)
}

fn rows(letter: char, directory: &str, count: usize) -> Vec<Row> {
    (0..count)
        .map(|number| row(letter, &format!("{directory}/f{number:03}")))
        .collect()
}

fn path(text: &str) -> RelPath {
    RelPath::new(text.trim_end_matches('/').as_bytes()).unwrap()
}

/// Runs `check` with the list that the rows make; a path with `!` stands alone, a letter in lower case is reverted.
fn with_list<R>(rows: &[Row], check: impl FnOnce(&[Foldable<'_>]) -> R) -> R {
    let paths: Vec<(RelPath, Option<RelPath>)> = rows
        .iter()
        .map(|(_, text, from)| (path(text), from.as_deref().map(path)))
        .collect();
    let list: Vec<Foldable<'_>> = rows
        .iter()
        .zip(&paths)
        .map(|((letter, text, _), (path, from))| Foldable {
            path,
            from_path: from.as_ref(),
            kind: match letter.to_ascii_uppercase() {
                'A' => ChangeKind::Added,
                'D' => ChangeKind::Deleted,
                'R' => ChangeKind::Renamed,
                'T' => ChangeKind::Type,
                _ => ChangeKind::Modified,
            },
            is_directory: text.ends_with('/'),
            is_marked: letter.is_ascii_lowercase(),
            stands_alone: text.contains('!'),
        })
        .collect();
    check(&list)
}

fn folded(rows: &[Row]) -> Vec<String> {
    with_list(rows, |list| words(list, &fold(list, &[], std::iter::empty())))
}

fn words(list: &[Foldable<'_>], lines: &[FoldedLine]) -> Vec<String> {
    let word = |line: &FoldedLine| match line {
        FoldedLine::One(at) => String::from_utf8_lossy(list[*at].path.as_bytes()).into_owned(),
        FoldedLine::Fold(Fold {
            extent,
            path,
            files,
            directories,
            has_others,
            ..
        }) => {
            let path = String::from_utf8_lossy(path.as_bytes());
            let others = if *has_others { " and others" } else { "" };
            format!("{extent:?} {path} {files}+{directories}{others}")
        }
    };
    lines.iter().map(word).collect()
}

#[test]
fn a_directory_that_was_deleted_with_all_below_it_is_one_line() {
    let mut list = vec![row('D', "benches/"), row('D', "benches/sub/")];
    list.extend(rows('D', "benches/sub", 3));
    list.extend(rows('D', "benches", 4));
    list.push(row('M', "kept"));
    assert_eq!(folded(&list), ["Whole(Deleted) benches 7+1", "kept"]);
}

#[test]
fn few_changes_keep_their_names() {
    let mut list = vec![row('A', "new/")];
    list.extend(rows('A', "new", FEWEST - 1));
    assert_eq!(folded(&list).len(), FEWEST);
}

#[test]
fn a_directory_with_changes_of_another_kind_is_not_folded_but_its_directories_are() {
    let mut list = vec![row('A', "new/")];
    list.extend(rows('A', "new", 6));
    list.push(row('A', "new/sub/"));
    list.extend(rows('A', "new/sub", 6));
    list.push(('R', "new/x".into(), Some("old/x".into())));
    let lines = folded(&list);
    assert_eq!(lines.len(), 1 + 6 + 1 + 1, "{lines:?}");
    assert!(
        lines.contains(&"Whole(Added) new/sub 6+0".to_owned()),
        "{lines:?}"
    );
}

#[test]
fn what_stands_alone_is_a_line_of_its_own_beside_the_fold() {
    let mut list = vec![row('D', "scripts/"), row('D', "scripts/!run")];
    list.extend(rows('D', "scripts", 9));
    assert_eq!(
        folded(&list),
        ["Whole(Deleted) scripts 9+0 and others", "scripts/!run"]
    );
}

#[test]
fn a_directory_above_an_unknown_path_is_not_folded() {
    let mut list = vec![row('A', "new/")];
    list.extend(rows('A', "new", 9));
    let lines = with_list(&list, |list| {
        fold(list, &[], [path("new/unreadable")].iter()).len()
    });
    assert_eq!(lines, 10);
}

#[test]
fn a_renamed_directory_is_one_line_if_everything_in_it_kept_its_place() {
    let renamed = |name: &str| ('R', format!("new/{name}"), Some(format!("old/{name}")));
    let mut list = vec![row('A', "new/"), row('A', "new/sub/")];
    list.extend((0..6).map(|number| renamed(&format!("f{number}"))));
    list.extend((0..6).map(|number| renamed(&format!("sub/f{number}"))));
    list.extend([row('D', "old/"), row('D', "old/sub/")]);
    assert_eq!(folded(&list), ["Moved new 12+1"]);
    for more in [
        ('R', "new/other".to_owned(), Some("old/another".to_owned())),
        ('R', "away".to_owned(), Some("old/another".to_owned())),
        row('A', "new/more"),
        row('D', "old/gone"),
        ('R', "new/!run".to_owned(), Some("old/!run".to_owned())),
    ] {
        let mut list = list.clone();
        list.push(more.clone());
        let lines = folded(&list);
        assert!(lines.len() >= 2, "{more:?} {lines:?}");
        assert!(
            !lines.iter().any(|line| line == "Moved new 12+1"),
            "{more:?} {lines:?}"
        );
    }
}

#[test]
fn git_directories_fold_whatever_changed_in_them() {
    let mut list = rows('M', ".git", 3);
    list.extend(rows('A', ".git/objects", 4));
    list.push(row('D', ".git/!hook"));
    list.extend(rows('M', "src", 3));
    let lines = folded(&list);
    assert_eq!(lines[0], "Git(None) .git 7+0 and others");
    assert_eq!(lines[1..], [".git/!hook", "src/f000", "src/f001", "src/f002"]);

    let mut list = vec![row('A', "sub/.git/")];
    list.extend(rows('A', "sub/.git", 6));
    assert_eq!(folded(&list), ["Git(Some(Added)) sub/.git 6+0"]);
}

#[test]
fn a_bare_repository_is_a_git_directory_and_a_mount_is_not() {
    let list = rows('M', "mirror", 8);
    let (mirror, root) = (path("mirror"), RelPath::root());
    with_list(&list, |list| {
        assert_eq!(fold(list, &[&mirror], std::iter::empty()).len(), 1);
        assert_eq!(fold(list, &[&root], std::iter::empty()).len(), 8);
    });
}

#[test]
fn files_of_a_directory_that_stays_fold_only_in_long_lists() {
    let mut list = rows('D', "some", MANY / 2);
    assert_eq!(folded(&list).len(), MANY / 2);
    list.extend(rows('M', "some", MANY));
    list.push(row('M', "other/one"));
    let lines = folded(&list);
    assert_eq!(
        lines,
        [
            format!("Files(Deleted) some {}+0", MANY / 2),
            format!("Files(Modified) some {MANY}+0"),
            "other/one".to_owned(),
        ]
    );
}

#[test]
fn what_was_reverted_folds_apart() {
    let mut list = vec![row('d', "gone/")];
    list.extend(rows('d', "gone", 9));
    assert_eq!(folded(&list), ["Whole(Deleted) gone 9+0"]);
    list.push(row('D', "gone/other"));
    assert_eq!(folded(&list).len(), 11);
}

#[test]
fn ten_thousand_deleted_files_are_a_screen_or_two() {
    let mut emptied = Vec::new();
    let mut deleted = Vec::new();
    for number in 0..40 {
        let directory = format!("d{number:02}");
        deleted.push(row('D', &format!("{directory}/")));
        deleted.extend(rows('D', &directory, 250));
        emptied.extend(rows('D', &directory, 250));
    }
    for list in [emptied, deleted] {
        assert_eq!(folded(&list).len(), 40);
    }
}

#[test]
fn lists_of_nothing_and_of_the_root() {
    assert!(folded(&[]).is_empty());
    let mut list = vec![('A', String::new(), None)];
    list.extend(rows('A', "x", 3));
    assert_eq!(folded(&list).len(), 4);
}

fn some_row() -> impl Strategy<Value = Row> {
    let part = prop::sample::select(vec!["a", "b", ".git", "hooks", "c!", "d"]);
    let name = prop::collection::vec(part, 1..5);
    let letter = prop::sample::select(vec!['A', 'D', 'M', 'R', 'T', 'd']);
    (letter, name.clone(), name, any::<bool>()).prop_map(|(letter, path, from, is_directory)| {
        let mut text = path.join("/");
        if is_directory {
            text.push('/');
        }
        (letter, text, (letter == 'R').then(|| from.join("/")))
    })
}

proptest! {
    #[test]
    fn unfolding_gives_back_the_list(mut list in prop::collection::vec(some_row(), 0..300)) {
        list.sort_by(|one, other| one.1.trim_end_matches('/').cmp(other.1.trim_end_matches('/')));
        list.dedup_by(|one, other| path(&one.1) == path(&other.1));
        with_list(&list, |items| {
            {
                let lines = fold(items, &[], std::iter::empty());
                let mut seen = BTreeSet::new();
                for line in &lines {
                    match line {
                        FoldedLine::One(at) => assert!(seen.insert(*at)),
                        FoldedLine::Fold(fold) => holds(items, fold, &mut seen),
                    }
                }
                assert_eq!(seen, (0..items.len()).collect());
            }
        });
    }
}

/// Fails unless everything in a fold is what the fold states.
fn holds(items: &[Foldable<'_>], fold: &Fold, seen: &mut BTreeSet<usize>) {
    let within = |at: &&usize| items[**at].path.is_within(&fold.path);
    let below = fold.items.iter().filter(within);
    let below = below.filter(|at| *items[**at].path != fold.path);
    assert_eq!(below.count() as u64, fold.files + fold.directories);
    for at in &fold.items {
        let item = &items[*at];
        assert!(seen.insert(*at), "{at} is twice in {fold:?}");
        let is_old = fold
            .from_path
            .as_ref()
            .is_some_and(|old| item.path.is_within(old));
        assert!(!item.stands_alone && (item.path.is_within(&fold.path) || is_old));
        match fold.extent {
            Extent::Whole(kind) | Extent::Files(kind) | Extent::Git(Some(kind)) => {
                assert_eq!(item.kind, kind);
            }
            Extent::Git(None) | Extent::Moved => {}
        }
    }
    if let Extent::Whole(kind) = fold.extent {
        // All that is listed below the directory was changed in this way.
        let mut all = items.iter().filter(|item| item.path.is_within(&fold.path));
        assert!(all.all(|item| item.kind == kind), "{fold:?}");
    }
}
