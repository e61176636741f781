//! Files of a git directory that other files of it need: what becomes unreadable if one is deleted without the other.

use crate::git_directories::{Repositories, is_git_directory};
use crate::model::{Manifest, RelPath};
use git_reader::below;

/// Returns true if another file of the git directory `own` may need this one: objects, which refs, the index and reflogs name; the tables of
/// refs, which their list names; the shared part of a split index; and `shallow`, without which git misses the parents of commits.
pub(super) fn is_needed_by_others(own: &RelPath, path: &RelPath) -> bool {
    parts(own, path).any(is_store)
}

/// Returns true if a file of the git directory `own` may need others: anything but what only others need, and what lists objects or packs.
pub(super) fn needs_others(own: &RelPath, path: &RelPath) -> bool {
    let is_list = |name: &[u8]| {
        name == b"tables.list" || name.starts_with(b"commit-graph") || name.starts_with(b"multi-pack-index")
    };
    // Git writes it again with each `update-server-info`, and does not read it.
    let is_for_servers = all_parts(own, path).eq([b"info".as_slice(), b"refs"]);
    parts(own, path).any(is_list) || !is_needed_by_others(own, path) && !is_for_servers
}

/// Returns true if a path of the git directory `own` says where a branch, a tag or HEAD is.
pub(super) fn is_reference(own: &RelPath, path: &RelPath) -> bool {
    let mut names = all_parts(own, path);
    names.any(|name| matches!(name, b"refs" | b"packed-refs" | b"HEAD" | b"tables.list"))
}

/// Returns true if a path of the git directory `own` may name objects: a ref, a reflog, an index, or what a command has begun.
pub(super) fn names_objects(own: &RelPath, path: &RelPath) -> bool {
    needs_others(own, path) && (is_reference(own, path) || is_bookkeeping(own, path))
}

/// Returns the reflog of the ref with the own file `reference` in the git directory `own`.
pub(super) fn reflog(own: &RelPath, reference: &RelPath) -> Option<RelPath> {
    let name = reference.as_bytes().get(own.as_bytes().len()..)?;
    let name = name.strip_prefix(b"/").unwrap_or(name);
    RelPath::new(&[below(own, "logs").as_bytes(), b"/", name].concat()).ok()
}

/// Returns true for what holds objects, refs or reflogs of the git directory `own`, of a linked work tree or of a submodule. Git deletes such a
/// directory when it has emptied it, and makes it again.
pub(super) fn is_container(own: &RelPath, path: &RelPath) -> bool {
    let is_one = |name: &[u8]| matches!(name, b"objects" | b"refs" | b"logs" | b"reftable");
    let mut names = all_parts(own, path);
    match names.next() {
        // The name of the work tree or the submodule follows.
        Some(b"worktrees" | b"modules") => names.skip(1).any(is_one),
        first => first.is_some_and(is_one),
    }
}

/// Returns true for a hook of the git directory `own`. No file of git needs one.
pub(super) fn is_hook(own: &RelPath, path: &RelPath) -> bool {
    all_parts(own, path).next() == Some(b"hooks")
}

/// Returns true for a path of a git directory that can damage the repository if it alone stays as it is: a ref names deleted objects then. An
/// object or a file of git's own that cannot be removed is only one too many, but for an index, which names objects.
pub(super) fn is_inseparable(repositories: &Repositories, path: &RelPath, is_removed: bool) -> bool {
    let own = repositories.holding(path);
    own.is_some_and(|own| own != path && is_part(own, path, is_removed))
}

fn is_part(own: &RelPath, path: &RelPath, is_removed: bool) -> bool {
    let is_index = path.halves().1 == b"index";
    let is_one_too_many =
        is_removed && (is_needed_by_others(own, path) || is_bookkeeping(own, path) && !is_index);
    !is_hook(own, path) && !is_one_too_many
}

/// Returns true for a file of the git directory `own` that git keeps for itself: it follows from other files, any command writes it again, or it
/// holds what a command has begun. Settings, hooks and whatever else people and tools put there are none, and neither are refs and HEAD.
pub(super) fn is_bookkeeping(own: &RelPath, path: &RelPath) -> bool {
    let mut names = all_parts(own, path).peekable();
    while let Some(name) = names.next() {
        let is_last = names.peek().is_none();
        match name {
            b"logs" | b"rr-cache" | b"sequencer" | b"rebase-merge" | b"rebase-apply"
            | b"fsmonitor--daemon" => return true,
            b"refs" => return false,
            // Git runs no sample, and copies them from its template.
            b"hooks" => return path.as_bytes().ends_with(b".sample"),
            b"info" => return names.eq([b"refs"]),
            // Where objects are borrowed from is a setting.
            b"objects" => return !names.eq([b"info".as_slice(), b"alternates"]),
            b"reftable" => return !names.eq([b"tables.list"]),
            b"lfs" => return matches!(names.next(), Some(b"tmp" | b"cache" | b"logs")),
            name if is_last => return is_state(name),
            _ => {}
        }
    }
    false
}

/// Returns true for a file directly in a git directory that git keeps for itself.
fn is_state(name: &[u8]) -> bool {
    let is_temporary = name.ends_with(b".lock") || name.starts_with(b"sharedindex.");
    // The message, the commits and the progress of a command that has begun, and the HEAD before it.
    let is_of_command = name != b"HEAD" && (name.ends_with(b"_HEAD") || name.ends_with(b"_MSG"))
        || name.starts_with(b"BISECT_")
        || matches!(
            name,
            b"COMMIT_EDITMSG" | b"NOTES_EDITMSG" | b"TAG_EDITMSG" | b"MERGE_MODE"
        );
    let is_derived = matches!(
        name,
        b"index" | b"shallow" | b"gc.pid" | b"gc.log" | b"AUTO_MERGE" | b"MERGE_RR"
    );
    is_temporary || is_of_command || is_derived
}

/// Returns the outermost git directory within `own`, or `own` itself, that holds `path`, exists now, and does not exist in the target.
pub(super) fn session_made(
    own: &RelPath,
    path: &RelPath,
    target: Option<&Manifest>,
    now: Option<&Manifest>,
) -> Option<RelPath> {
    let now = now?;
    let is_new = |dir: &RelPath| target.is_none_or(|target| target.entry(dir).is_none());
    let mut within = path.ancestors().filter(|above| above.is_within(own));
    within.find(|dir| is_git_directory(now, dir) && is_new(dir))
}

/// Returns true if `path` is the file `packed-refs` of the git directory that holds a ref.
pub(super) fn is_packed_in(path: &RelPath, reference: &RelPath) -> bool {
    let parts = path.split();
    parts.is_some_and(|(dir, name)| name.as_bytes() == b"packed-refs" && reference.is_within(&dir))
}

/// Returns true for a directory or file that only serves others in the same git directory.
fn is_store(name: &[u8]) -> bool {
    matches!(name, b"objects" | b"reftable" | b"shallow") || name.starts_with(b"sharedindex.")
}

/// Returns the parts of a path below `own`, up to refs and reflogs: a branch may be called like anything.
fn parts<'p>(own: &RelPath, path: &'p RelPath) -> impl Iterator<Item = &'p [u8]> {
    all_parts(own, path).take_while(|name| !matches!(*name, b"refs" | b"logs"))
}

/// Returns the parts of a path below `own`.
pub(super) fn all_parts<'p>(own: &RelPath, path: &'p RelPath) -> impl Iterator<Item = &'p [u8]> {
    let below = path.as_bytes().get(own.as_bytes().len()..).unwrap_or_default();
    below.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::is_part;
    use crate::model::RelPath;

    #[test]
    fn only_what_names_objects_has_to_be_removed_with_them() {
        let path = |text: &str| RelPath::new(text.as_bytes()).unwrap();
        for (below, when_changed, when_removed) in [
            ("refs/heads/main", true, true),
            ("HEAD", true, true),
            ("packed-refs", true, true),
            ("index", true, true),
            ("worktrees/two/index", true, true),
            ("config", true, true),
            ("objects/ab/cd", true, false),
            ("objects/pack/pack-1.pack", true, false),
            ("logs/HEAD", true, false),
            ("COMMIT_EDITMSG", true, false),
            ("index.lock", true, false),
            ("hooks/pre-commit", false, false),
        ] {
            let own = path("work/.git");
            let part = path(&format!("work/.git/{below}"));
            let is = [false, true].map(|is_removed| is_part(&own, &part, is_removed));
            assert_eq!(is, [when_changed, when_removed], "{below}");
        }
    }
}
