//! Renamed directories among random changes. The reference looks through the whole list for each pair of directories.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use proptest::prelude::*;

use super::{Row, path, with_list};
use crate::diff::ChangeKind;
use crate::model::{RelPath, directories_above};
use crate::report::fold::{Extent, Foldable, FoldedLine, Folding};

impl Folding<'_, '_> {
    fn renamed_by_reference(&mut self, unknown: &BTreeSet<RelPath>) {
        let at: HashMap<&RelPath, usize> = (0..).zip(self.list).map(|(at, item)| (item.path, at)).collect();
        let mut tried: HashSet<RelPath> = HashSet::new();
        for item in self.list {
            let Some(from) = item.from_path else { continue };
            let mut pairs: Vec<_> = item.path.ancestors().zip(from.ancestors()).collect();
            pairs.sort_by_key(|(new, _)| new.as_bytes().len());
            for (new, old) in pairs {
                if new.is_root() || old.is_root() || !tried.insert(new.clone()) {
                    continue;
                }
                if unknown.contains(&new) || unknown.contains(&old) {
                    continue;
                }
                if let Some((items, has_others)) = self.moved(&at, &new, &old) {
                    self.add(Extent::Moved, new, Some(old), items, has_others);
                    break;
                }
            }
        }
    }

    /// Returns the changes that a rename of a directory explains, and whether some of them are lines of their own. `None` if it does not
    /// explain all in both directories.
    fn moved(
        &self,
        at: &HashMap<&RelPath, usize>,
        new: &RelPath,
        old: &RelPath,
    ) -> Option<(Vec<usize>, bool)> {
        let is_directory = |path: &RelPath, kind| {
            let item = at.get(path).and_then(|at| self.item(*at));
            item.is_some_and(|item| item.kind == kind && item.is_directory)
        };
        if !is_directory(new, ChangeKind::Added) || !is_directory(old, ChangeKind::Deleted) {
            return None;
        }
        let (mut items, mut has_others) = (Vec::new(), false);
        let mut is_marked = None;
        for (number, item) in self.list.iter().enumerate() {
            let explained = match item.path {
                path if path.is_within(new) => match (item.kind, item.from_path) {
                    (ChangeKind::Renamed, Some(from)) => placed(path, new, old) == *from,
                    (ChangeKind::Added, None) if item.is_directory => {
                        is_directory(&placed(path, new, old), ChangeKind::Deleted)
                    }
                    _ => false,
                },
                path if path.is_within(old) => {
                    item.kind == ChangeKind::Deleted
                        && is_directory(&placed(path, old, new), ChangeKind::Added)
                }
                _ if item.from_path.is_some_and(|from| from.is_within(old)) => false,
                _ => continue,
            };
            let alike = *is_marked.get_or_insert(item.is_marked) == item.is_marked;
            if !explained || self.owner[number].is_some() || !alike {
                return None;
            }
            match item.stands_alone {
                true => has_others = true,
                false => items.push(number),
            }
        }
        Some((items, has_others))
    }
}

/// Returns the place in `there` that a path has in `here`.
fn placed(path: &RelPath, here: &RelPath, there: &RelPath) -> RelPath {
    let rest = &path.as_bytes()[here.as_bytes().len()..];
    RelPath::new(&[there.as_bytes(), rest].concat()).unwrap()
}

fn lines<'l>(
    list: &'l [Foldable<'l>],
    unknown: &BTreeSet<RelPath>,
    renamed: impl FnOnce(&mut Folding<'l, 'l>, &BTreeSet<RelPath>),
) -> Vec<FoldedLine> {
    let mut folding = Folding {
        list,
        owner: vec![None; list.len()],
        folds: Vec::new(),
    };
    folding.git(&[]);
    renamed(&mut folding, unknown);
    folding.into_lines()
}

const DIRECTORIES: [&str; 12] = [
    "a", "a-b", "a.b", "b", "a/a", "a/a-b", "a/b", "a-b/a", "a.b/b", "b/a", "b/b/a", "b/.git",
];
const BELOW: [&str; 6] = ["", "/a", "/a-b", "/a/a", "/a/b", "/.git"];

/// Rows of a renamed directory. Each directory in it, as far as its number is above 0, has as many files less one.
fn rename(old: &str, new: &str, counts: &[usize]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (below, count) in BELOW.iter().zip(counts) {
        if *count == 0 {
            continue;
        }
        rows.push(('A', format!("{new}{below}/"), None));
        rows.push(('D', format!("{old}{below}/"), None));
        for name in ["f", "a.c", "g!", "h", "i", "j", "k"].iter().take(count - 1) {
            let there = |dir| format!("{dir}{below}/{name}");
            rows.push(('R', there(new), Some(there(old))));
        }
    }
    rows
}

fn some_path() -> impl Strategy<Value = String> {
    let names = ["", "/a", "/f", "/a/f", "/a-b/f", "/a/a/h", "/new"];
    let at = (
        prop::sample::select(&DIRECTORIES[..]),
        prop::sample::select(names.to_vec()),
    );
    at.prop_map(|(dir, name)| format!("{dir}{name}"))
}

fn some_rows() -> impl Strategy<Value = Vec<Row>> {
    let directory = || prop::sample::select(&DIRECTORIES[..]);
    let counts = prop::collection::vec(0..8_usize, BELOW.len());
    let renames = prop::collection::vec((directory(), directory(), counts), 1..4);
    let letter = prop::sample::select(vec!['A', 'D', 'M', 'R', 'r', 'T', 'd']);
    let other = (letter, some_path(), some_path(), any::<bool>());
    let others = prop::collection::vec(other, 0..3);
    let slips = prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8), 0..3);
    let rows = (renames, others, slips, any::<bool>()).prop_map(|(renames, others, slips, all_reverted)| {
        let mut rows: Vec<Row> = Vec::new();
        for (letter, at, from, is_directory) in others {
            let end = if is_directory { "/" } else { "" };
            let from = letter.eq_ignore_ascii_case(&'R').then_some(from);
            rows.push((letter, format!("{at}{end}"), from));
        }
        let renames = renames
            .iter()
            .flat_map(|(old, new, counts)| rename(old, new, counts));
        rows.extend(renames);
        if all_reverted {
            rows.iter_mut().for_each(|row| row.0 = row.0.to_ascii_lowercase());
        }
        for (at, slip) in slips {
            let at = at.index(rows.len());
            match slip {
                0 => drop(rows.remove(at)),
                1 => rows[at].0 = if rows[at].0.is_ascii_lowercase() { 'A' } else { 'd' },
                2 => rows[at].1 = format!("{}x", rows[at].1),
                _ => rows[at].2 = rows[at].2.as_ref().map(|from| format!("{from}x")),
            }
            if rows.is_empty() {
                break;
            }
        }
        // Each path has one change, and only renamed ones have an earlier path.
        let mut unique: BTreeMap<RelPath, Row> = BTreeMap::new();
        for mut row in rows {
            row.2 = row.2.filter(|_| row.0.eq_ignore_ascii_case(&'R'));
            unique.entry(path(&row.1)).or_insert(row);
        }
        unique.into_values().collect::<Vec<Row>>()
    });
    rows.prop_flat_map(|rows| prop_oneof![Just(rows.clone()), Just(rows).prop_shuffle()])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]
    #[test]
    fn renamed_directories_are_those_of_the_reference(
        rows in some_rows(),
        unknown in prop::collection::vec(some_path(), 0..2),
        has_unknown in prop::bool::weighted(0.2),
    ) {
        let unknown: Vec<RelPath> = unknown.iter().filter(|_| has_unknown).map(|at| path(at)).collect();
        let unknown = directories_above(unknown.iter());
        with_list(&rows, |list| {
            let found = lines(list, &unknown, Folding::renamed);
            let expected = lines(list, &unknown, Folding::renamed_by_reference);
            assert_eq!(found, expected, "{rows:?}");
        });
    }
}

/// A chain of renamed directories, each with a file, is tried at each of its levels if a new file lies at its end.
#[test]
fn a_deep_renamed_directory_folds_at_its_outermost_level_that_is_one() {
    let deep = |top: &str, level: usize| format!("{top}{}", "/d".repeat(level));
    let mut rows: Vec<Row> = Vec::new();
    for level in 0..60 {
        let file = |top| format!("{}/f", deep(top, level));
        rows.push(('A', format!("{}/", deep("new", level)), None));
        rows.push(('D', format!("{}/", deep("old", level)), None));
        rows.push(('R', file("new"), Some(file("old"))));
    }
    let moved = |rows: &[Row]| {
        with_list(rows, |list| {
            let found = lines(list, &BTreeSet::new(), Folding::renamed);
            assert_eq!(
                found,
                lines(list, &BTreeSet::new(), Folding::renamed_by_reference)
            );
            let fold = |line: &FoldedLine| match line {
                FoldedLine::Fold(fold) => Some(fold.path.clone()),
                FoldedLine::One(_) => None,
            };
            found.iter().find_map(fold)
        })
    };
    assert_eq!(moved(&rows), Some(path("new")));
    for (level, expected) in [(59, None), (20, Some(path(&deep("new", 21))))] {
        let mut rows = rows.clone();
        rows.push(('A', format!("{}/more", deep("new", level)), None));
        assert_eq!(moved(&rows), expected, "{level}");
    }
}
