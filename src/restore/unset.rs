//! Reads from an object what the system refused to set, when the call that failed was another name's or another process's.

use super::problem::Problem;
use crate::model::{Entry, EntryKind};

/// Returns the metadata that `live` lacks of `wanted`; none unless that alone parts the two, so that a refusal explains it.
///
/// A restore sets fewer bits of the mode where the owner, the group or an access list is not the wanted one.
pub(super) fn lacking(wanted: &Entry, live: &Entry) -> Option<Vec<Problem>> {
    let is_symlink = matches!(live.kind, EntryKind::Symlink(_));
    let is_below = |less: u32, more: u32| less & !more == 0;
    let has_no_more = live.kind == wanted.kind
        && (is_symlink || is_below(live.mode, wanted.mode))
        && live.xattrs.iter().all(|xattr| wanted.xattrs.contains(xattr))
        && wanted.flags.contains(live.flags);
    if !has_no_more {
        return None;
    }
    let mut problems = Vec::new();
    if (live.uid, live.gid) != (wanted.uid, wanted.gid) {
        let owner = format!("owner {}:{} could not be set", wanted.uid, wanted.gid);
        problems.push(Problem::denied(owner));
    }
    for xattr in wanted.xattrs.iter().filter(|xattr| !live.xattrs.contains(xattr)) {
        let name = xattr.name.escape_ascii();
        problems.push(Problem::new(format!("attribute {name} could not be set")));
    }
    let explains_mode = !problems.is_empty() || is_symlink || live.mode == wanted.mode;
    if live.flags != wanted.flags {
        problems.push(Problem::new("its flags could not be set"));
    }
    (explains_mode && !problems.is_empty()).then_some(problems)
}

#[cfg(test)]
mod tests {
    use super::lacking;
    use crate::model::{Entry, EntryKind, InodeFlags, Name, Time, Xattr};

    fn wanted() -> Entry {
        Entry {
            name: Name::new(b"f").unwrap(),
            kind: EntryKind::Fifo,
            mode: 0o4755,
            uid: 0,
            gid: 0,
            mtime: Time { sec: 0, nsec: 0 },
            ctime: Time { sec: 0, nsec: 0 },
            ino: 1,
            flags: InodeFlags::NODUMP,
            xattrs: vec![Xattr {
                name: Box::from(*b"user.a"),
                value: Box::from(*b"1"),
            }],
            link: None,
            nlink: 1,
            unstable: false,
        }
    }

    /// Words of what a change of the wanted object lacks.
    fn words(change: impl Fn(&mut Entry)) -> Option<Vec<String>> {
        let mut live = wanted();
        change(&mut live);
        let problems = lacking(&wanted(), &live)?;
        Some(problems.into_iter().map(|problem| problem.words).collect())
    }

    #[test]
    fn each_thing_that_is_missing_is_named() {
        let all = words(|live| {
            live.uid = 77;
            live.mode = 0o755;
            live.xattrs.clear();
            live.flags = InodeFlags::default();
        });
        let said = [
            "owner 0:0 could not be set",
            "attribute user.a could not be set",
            "its flags could not be set",
        ];
        assert_eq!(all.unwrap(), said);
        let mut live = wanted();
        live.gid = 77;
        assert!(
            lacking(&wanted(), &live)
                .unwrap()
                .iter()
                .all(|problem| problem.denied)
        );
    }

    #[test]
    fn a_change_that_no_refusal_explains_is_another_process_s() {
        assert_eq!(words(|_| ()), None);
        assert_eq!(words(|live| live.mode = 0o700), None);
        assert_eq!(words(|live| (live.uid, live.mode) = (77, 0o4775)), None);
        assert_eq!(
            words(|live| (live.mode, live.flags) = (0o700, InodeFlags::default())),
            None
        );
        assert_eq!(
            words(|live| (live.uid, live.kind) = (77, EntryKind::Socket)),
            None
        );
        assert_eq!(
            words(|live| (live.uid, live.flags) = (77, InodeFlags::APPEND)),
            None
        );
        assert_eq!(
            words(|live| (live.uid, live.xattrs[0].value) = (77, Box::from(*b"2"))),
            None
        );
    }
}
