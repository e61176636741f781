//! Hint after the system denied access to a path: the change of its mode that gives this user access, or `sudo`; after it opened no
//! more files, the limit to raise.

use std::io;
use std::path::Path;

use super::Hint;
use crate::display::shell;
use handle_fs::remote::is_elsewhere;

/// Right to search a directory, which each one above a path needs.
const SEARCH: u32 = 0o100;

/// Returns the limit to raise if this process may open no more files.
pub(crate) fn out_of_handles_hint(error: &io::Error) -> Option<Hint> {
    let hint = || Hint::text("raise the limit on open files: ulimit -n 1024");
    handle_fs::is_out_of_handles(error).then(hint)
}

/// Returns the step that gives this user the rights `need` (bits of the owner) on a directory, or the limit to raise; `None` if `error`
/// is another one, or root was denied.
pub(crate) fn denied_hint(directory: &Path, need: u32, error: &io::Error) -> Option<Hint> {
    if let Some(hint) = out_of_handles_hint(error) {
        return Some(hint);
    }
    if error.kind() != io::ErrorKind::PermissionDenied {
        return None;
    }
    if is_elsewhere(directory) {
        let letters = letters(need);
        return Some(Hint::text(format!(
            "make it accessible (chmod u+{letters}) and repeat the command"
        )));
    }
    if handle_fs::is_privileged() {
        return None;
    }
    let sudo = || Hint::text("repeat the command with `sudo`");
    Some(own_mode_hint(directory, need).unwrap_or_else(sudo))
}

/// Returns the step that gives this user the rights `need` (bits of the owner) on a path; `None` if the mode of what is this user's
/// own does not deny them.
pub(crate) fn own_mode_hint(path: &Path, need: u32) -> Option<Hint> {
    if is_elsewhere(path) || handle_fs::is_privileged() {
        return None;
    }
    // The nearest directory that can be examined is the one that denies: it cannot be used itself, or not be searched.
    let denies = path.ancestors().find_map(|path| {
        let stat = handle_fs::stat_path(path).ok()??;
        Some((path, stat))
    });
    let (denies, stat) = denies?;
    let need = if denies == path { need } else { SEARCH };
    let missing = need & !stat.mode;
    (stat.uid == handle_fs::own_ids().0 && missing != 0).then(|| {
        let (letters, path) = (letters(missing), shell::word(denies));
        Hint::text(format!(
            "make it accessible and repeat the command:\n  chmod u+{letters} {path}"
        ))
    })
}

/// Returns true if a directory of this machine belongs to this user, and its mode lacks a right of `need`.
pub(crate) fn is_closed_to_owner(directory: &Path, need: u32) -> bool {
    let may_change = !is_elsewhere(directory) && !handle_fs::is_privileged();
    let stat = handle_fs::stat_path(directory).ok().flatten();
    may_change && stat.is_some_and(|stat| stat.uid == handle_fs::own_ids().0 && need & !stat.mode != 0)
}

/// Returns the letters of rights as chmod(1) takes them.
fn letters(rights: u32) -> String {
    let named = [(0o400, 'r'), (0o200, 'w'), (SEARCH, 'x')];
    let named = named.into_iter().filter(|(bit, _)| rights & bit != 0);
    named.map(|(_, letter)| letter).collect()
}
