//! The refs in a `packed-refs` that was written after the session: each one is judged alone, as if it had a file of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::model::RelPath;
use git_reader::Oid;

/// Comparison of all refs of a repository whose `packed-refs` was changed after the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PackedRefs {
    kept: HashMap<Vec<u8>, Kept>,
    /// The own file of each ref, by name, and true if the ref is as the target has it.
    files: HashMap<Vec<u8>, (RelPath, bool)>,
    /// The refs that exist, by the path of their own file.
    existing: HashSet<RelPath>,
    /// The refs that would be restored, by the path of their own file.
    restored: Vec<RelPath>,
}

/// Which line of a ref stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// The one of now: the ref was changed after the session.
    Now {
        /// True if that is not what the target has, so that it is a later edit.
        is_later: bool,
        /// True if the ref exists.
        is_there: bool,
    },
    /// The one of the target; where that has the ref in a file of its own, the one of now may stay below it.
    Target,
    /// None, unless the target has one.
    Gone,
}

impl PackedRefs {
    /// Adds a ref with the path of its own file, and its objects in the target, at the end of the session, and now.
    pub(super) fn add(&mut self, name: &[u8], path: &RelPath, [target, last, now]: [Option<&Oid>; 3]) {
        let kept = match (now == last, target) {
            (false, _) => Kept::Now {
                is_later: now != target,
                is_there: now.is_some(),
            },
            (true, Some(_)) => Kept::Target,
            (true, None) => Kept::Gone,
        };
        if now == last && now != target {
            self.restored.push(path.clone());
        }
        self.files.insert(name.to_vec(), (path.clone(), now == target));
        if now.is_some() {
            self.existing.insert(path.clone());
        }
        self.kept.insert(name.to_vec(), kept);
    }

    /// Returns true if the ref with this file exists, whether or not the file does.
    pub(super) fn has(&self, path: &RelPath) -> bool {
        self.existing.contains(path)
    }

    /// Returns true if each ref is as the target has it.
    pub(super) fn are_as_in_target(&self) -> bool {
        self.files.values().all(|(_, is_as_target)| *is_as_target)
    }

    /// Returns true if a list that the target does not have holds nothing which a restore would take out of it, and no later edit.
    pub(super) fn may_stay(&self) -> bool {
        let mut kept = self.kept.values();
        !kept.any(|kept| matches!(kept, Kept::Gone | Kept::Now { is_later: true, .. }))
    }

    /// Returns the refs that would be restored, by the path of their own file, whether or not that exists.
    pub(super) fn restored(&self) -> &[RelPath] {
        &self.restored
    }

    /// Returns the comparison for a restore that brings back own files only where `holds` says so: what is elsewhere as the target has it keeps
    /// its line. `None` if a ref would have to change whose file `exists` elsewhere, where that hides the list.
    pub(super) fn within(
        mut self,
        holds: impl Fn(&RelPath) -> bool,
        exists: impl Fn(&RelPath) -> bool,
    ) -> Option<Self> {
        for (name, (path, is_as_target)) in self.files.iter().filter(|(_, (path, _))| !holds(path)) {
            match self.kept.get_mut(name) {
                Some(kept) if *is_as_target => {
                    *kept = Kept::Now {
                        is_later: false,
                        is_there: !matches!(kept, Kept::Gone | Kept::Now { is_there: false, .. }),
                    }
                }
                Some(Kept::Target | Kept::Gone) if exists(path) => return None,
                _ => {}
            }
        }
        Some(self)
    }

    /// Composes the list from both contents, and returns it with true if a ref that was changed or deleted after the session is so in it;
    /// `None` if one of them is not understood, both have different heads, or a ref would be a directory of another one.
    pub(super) fn compose(&self, target: &[u8], now: &[u8]) -> Option<(Vec<u8>, bool)> {
        let (target, now) = (PackedList::parse(target)?, PackedList::parse(now)?);
        if target.head != now.head {
            return None;
        }
        let mut holds_later = false;
        let there = self
            .kept
            .iter()
            .filter(|(_, kept)| matches!(kept, Kept::Now { is_there: true, .. }));
        let mut present: BTreeSet<&[u8]> = there.map(|(name, _)| name.as_slice()).collect();
        let mut text = now.head.concat();
        let names: BTreeMap<&[u8], ()> = target
            .refs
            .keys()
            .chain(now.refs.keys())
            .map(|name| (*name, ()))
            .collect();
        for name in names.into_keys() {
            let (then, is) = (target.refs.get(name), now.refs.get(name));
            let lines = match self.kept.get(name) {
                Some(Kept::Now { is_later, .. }) => {
                    holds_later |= *is_later && (is.is_some() || then.is_some());
                    is
                }
                Some(Kept::Target) => then.or(is),
                Some(Kept::Gone) => then,
                // A name that no ref may have.
                None => is,
            };
            if lines.is_some() {
                present.insert(name);
            }
            text.extend(lines.into_iter().flatten().copied().flatten());
        }
        let is_below_one = |name: &&[u8]| {
            let mut ends = name
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'/')
                .map(|(at, _)| at);
            ends.any(|end| name.get(..end).is_some_and(|above| present.contains(above)))
        };
        (!present.iter().any(is_below_one)).then_some((text, holds_later))
    }
}

/// Lines of such a file, with their ends.
struct PackedList<'t> {
    head: Vec<&'t [u8]>,
    /// The line of each ref, and the one that says what a tag points to.
    refs: BTreeMap<&'t [u8], Vec<&'t [u8]>>,
}

impl<'t> PackedList<'t> {
    fn parse(text: &'t [u8]) -> Option<Self> {
        let mut list = Self {
            head: Vec::new(),
            refs: BTreeMap::new(),
        };
        let mut last = None;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let bare = line.strip_suffix(b"\n")?;
            match bare.first()? {
                b'#' if list.refs.is_empty() => list.head.push(line),
                b'^' => list.refs.get_mut(last?)?.push(line),
                _ => {
                    let (_, name) = bare.split_at_checked(41).filter(|(oid, _)| oid.ends_with(b" "))?;
                    if list.refs.insert(name, vec![line]).is_some() {
                        return None;
                    }
                    last = Some(name);
                }
            }
        }
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use super::PackedRefs;
    use crate::model::RelPath;
    use git_reader::Oid;

    const HEAD: &str = "# pack-refs with: peeled fully-peeled sorted \n";

    fn oid(digit: char) -> String {
        std::iter::repeat_n(digit, 40).collect()
    }

    fn list(refs: &[(char, &str)]) -> String {
        let lines = refs.iter().map(|(digit, name)| match name.strip_suffix('^') {
            Some(name) => format!("{} refs/{name}\n^{}\n", oid(*digit), oid('f')),
            None => format!("{} refs/{name}\n", oid(*digit)),
        });
        HEAD.to_owned() + &lines.collect::<String>()
    }

    /// Refs in the target, at the end of the session, and now.
    fn compared(refs: &[(&str, [char; 3])]) -> PackedRefs {
        let mut packed = PackedRefs::default();
        for (name, states) in refs {
            let states = states.map(|digit| Oid::parse(oid(digit).as_bytes()));
            let [target, last, now] = &states;
            let path = RelPath::new(name.as_bytes()).unwrap();
            packed.add(
                format!("refs/{name}").as_bytes(),
                &path,
                [target.as_ref(), last.as_ref(), now.as_ref()],
            );
        }
        packed
    }

    #[test]
    fn each_ref_is_judged_alone() {
        // What is no digit stands for absent.
        let refs = compared(&[
            ("a-moved", ['1', '2', '2']),
            ("b-later", ['1', '1', '2']),
            ("c-deleted-by-the-session", ['1', '-', '-']),
            ("d-deleted-later", ['1', '1', '-']),
            ("e-made-by-the-session", ['-', '2', '2']),
            ("f-made-later", ['-', '-', '2']),
            ("g-loose-in-the-target", ['1', '2', '2']),
            ("h-tag", ['1', '2', '2']),
        ]);
        let target = list(&[
            ('1', "a-moved"),
            ('1', "b-later"),
            ('1', "c-deleted-by-the-session"),
            ('1', "d-deleted-later"),
            ('1', "h-tag^"),
        ]);
        let now = list(&[
            ('2', "a-moved"),
            ('2', "b-later"),
            ('2', "e-made-by-the-session"),
            ('2', "f-made-later"),
            ('2', "g-loose-in-the-target"),
            ('2', "h-tag"),
        ]);
        let expected = list(&[
            ('1', "a-moved"),
            ('2', "b-later"),
            ('1', "c-deleted-by-the-session"),
            ('2', "f-made-later"),
            ('2', "g-loose-in-the-target"),
            ('1', "h-tag^"),
        ]);
        let (text, holds_later) = refs.compose(target.as_bytes(), now.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert!(holds_later);
    }

    #[test]
    fn a_ref_that_was_deleted_later_is_a_later_edit() {
        let refs = compared(&[("a", ['1', '2', '2']), ("b", ['1', '1', '-'])]);
        let (target, now) = (list(&[('1', "a"), ('1', "b")]), list(&[('2', "a")]));
        let composed = refs.compose(target.as_bytes(), now.as_bytes());
        assert_eq!(composed, Some((list(&[('1', "a")]).into_bytes(), true)));
    }

    #[test]
    fn no_ref_becomes_a_directory_of_another_one() {
        let refs = compared(&[("a", ['1', '-', '-']), ("a/b", ['-', '-', '2'])]);
        let (target, now) = (list(&[('1', "a")]), list(&[('2', "a/b")]));
        assert_eq!(refs.compose(target.as_bytes(), now.as_bytes()), None);
    }

    #[test]
    fn without_a_later_change_the_target_comes_back() {
        let refs = compared(&[("a", ['1', '2', '2']), ("b", ['-', '2', '2'])]);
        let (target, now) = (list(&[('1', "a")]), list(&[('2', "a"), ('2', "b")]));
        let composed = refs.compose(target.as_bytes(), now.as_bytes());
        assert_eq!(composed, Some((target.into_bytes(), false)));
    }

    #[test]
    fn a_ref_keeps_its_line_if_its_file_is_not_restored() {
        let refs = compared(&[("a", ['1', '2', '2']), ("b", ['3', '3', '3'])]);
        // In the target, `b` has a file of its own above an older line.
        let (target, now) = (list(&[('1', "a"), ('2', "b")]), list(&[('2', "a"), ('3', "b")]));
        let holds = |path: &RelPath| path.as_bytes() == b"a";
        let within = refs.clone().within(holds, |_| false).unwrap();
        let composed = within.compose(target.as_bytes(), now.as_bytes());
        let expected = list(&[('1', "a"), ('3', "b")]);
        assert_eq!(composed, Some((expected.into_bytes(), false)));
        // What hides the list must not stay where the list would change.
        assert_eq!(refs.within(|_| false, |_| true), None);
    }

    #[test]
    fn a_list_that_is_not_understood_is_not_composed() {
        let refs = compared(&[("a", ['1', '2', '2'])]);
        let good = list(&[('1', "a")]);
        let line = format!("{} refs/a\n", oid('1'));
        for bad in [
            format!("# pack-refs with: peeled \n{line}"),
            format!("{HEAD}{line}{line}"),
            format!("{HEAD}^{line}"),
            format!("{HEAD}nonsense\n"),
            format!("{HEAD}\n{line}"),
            good.trim_end().to_owned(),
        ] {
            assert_eq!(refs.compose(good.as_bytes(), bad.as_bytes()), None, "{bad}");
            assert_eq!(refs.compose(bad.as_bytes(), good.as_bytes()), None, "{bad}");
        }
    }
}
