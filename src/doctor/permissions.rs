//! Judges the permissions of jackin's home and of the store, and the free room.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::{Finding, Group, Severity, Space, size};
use crate::config::shown;
use crate::display::shell;
use crate::environment::Environment;
use crate::store::{Inconsistency, Survey, UnexpectedFile};

/// With less room than this even a small session may fail to be captured (bytes).
const LITTLE: u64 = 1 << 30;
/// With less than this nothing can be captured (bytes).
const NONE: u64 = 16 << 20;
/// Maximum number of places that are named individually; a store copied with other modes has thousands.
const NAMED: usize = 5;

fn found(severity: Severity, what: String) -> Finding {
    Finding::new(Group::Store, severity, what)
}

pub(super) fn judge(
    environment: &Environment,
    survey: Option<&Survey>,
    findings: &mut Vec<Finding>,
) -> Option<Space> {
    let Some((home, root)) = environment.jackin_home().zip(environment.store_directory()) else {
        let what = "your home directory is unknown, and so is the path of the store";
        findings.push(found(Severity::Error, what.to_owned()).words("set HOME or JACKIN_HOME_DIR"));
        return None;
    };
    let user = environment
        .operator
        .map_or_else(|| handle_fs::own_ids().0, |operator| operator.uid);
    jackin_home(&home, user, findings);
    match survey {
        None => {
            let what = format!("{}: not there yet; the first session makes it", shown(&root));
            findings.push(found(Severity::Ok, what).at(&root));
        }
        Some(survey) => {
            places(survey, user, findings);
            let failures = survey.failures.iter().filter(|_| !survey.is_closed());
            findings.extend(failures.map(|error| {
                let step = format!("ls -la {}", shell::word(&survey.root));
                found(Severity::Error, error.to_string()).shell(step)
            }));
        }
    }
    let free = free(&root);
    let seen = survey.filter(|survey| !survey.is_closed());
    if seen.is_some() && !handle_fs::may_write(&root) {
        let what = format!(
            "{} cannot be written to, so nothing can be recorded or restored",
            shown(&root)
        );
        let mounts = match cfg!(target_os = "linux") {
            true => "findmnt --target",
            false => "df",
        };
        let step = format!("{mounts} {0}; ls -ld {0}", shell::word(&root));
        findings.push(found(Severity::Error, what).at(&root).shell(step));
    }
    room(&root, free, seen, findings);
    Some(Space {
        path: root,
        files: seen.map(|survey| survey.files),
        bytes: seen.map(|survey| survey.bytes),
        free,
    })
}

fn jackin_home(home: &Path, user: u32, findings: &mut Vec<Finding>) {
    let word = shell::word(home);
    let name = format!("jackin's home {}", shown(home));
    let meta = match fs::metadata(home) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !home.is_symlink() => {
            findings.push(found(Severity::Ok, format!("{name}: not there yet")).at(home));
            return;
        }
        Err(error) => {
            let what = format!("{name} cannot be read: {error}");
            findings.push(
                found(Severity::Error, what)
                    .at(home)
                    .shell(format!("ls -ld {word}")),
            );
            return;
        }
    };
    let mode = meta.mode() & 0o7777;
    let finding = if !meta.is_dir() {
        found(Severity::Error, format!("{name} is not a directory")).shell(format!("ls -ld {word}"))
    } else if meta.uid() != user {
        let what = format!("{name} belongs to user {}, and this is user {user}", meta.uid());
        found(Severity::Warning, what).words("run as its owner, or name another home in JACKIN_HOME_DIR")
    } else if mode & 0o022 != 0 {
        let what =
            format!("{name} has mode {mode:04o}: others could put another store in the place of yours");
        found(Severity::Warning, what).shell(format!("chmod go-w {word}"))
    } else {
        found(Severity::Ok, format!("{name}: {}, mode {mode:04o}", whose(user)))
    };
    findings.push(finding.at(home));
}

fn places(survey: &Survey, user: u32, findings: &mut Vec<Finding>) {
    let root = &survey.root;
    if survey.odd.is_empty() {
        let what = format!("{}: {} alone, no links in it", shown(root), whose(user));
        findings.push(found(Severity::Ok, what).at(root));
        return;
    }
    // A store of another user is one finding, not one for each of its files.
    let mut owners = Vec::new();
    let tells = |place: &&UnexpectedFile| match &place.lapse {
        Inconsistency::Owner(owner) if owners.contains(owner) => false,
        Inconsistency::Owner(owner) => {
            owners.push(*owner);
            true
        }
        _ => true,
    };
    let mut judged: Vec<Finding> = survey
        .odd
        .iter()
        .filter(tells)
        .map(|place| odd(place, user))
        .collect();
    judged.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let more = judged.split_off(judged.len().min(NAMED));
    findings.extend(judged);
    if let Some(worst) = more.iter().map(|finding| finding.severity).max() {
        let what = format!("and {} more places in the store", more.len());
        // BSD's `find` has another sign for any of these bits.
        let any = if cfg!(target_os = "linux") { "/" } else { "+" };
        let list = format!(
            "find {} ! -user \"$(id -u)\" -o -type l -o -perm {any}077",
            shell::word(root)
        );
        findings.push(found(worst, what).at(root).shell(list));
    }
}

/// Returns the owner in words for the current user.
fn whose(user: u32) -> String {
    if user == handle_fs::own_ids().0 {
        "yours".to_owned()
    } else {
        format!("user {user}'s")
    }
}

fn odd(place: &UnexpectedFile, user: u32) -> Finding {
    let (path, word) = (shown(&place.path), shell::word(&place.path));
    let finding = match &place.lapse {
        Inconsistency::Link => found(
            Severity::Error,
            format!("{path} is a symbolic link, and the store follows none"),
        )
        .shell(format!("ls -l {word}")),
        Inconsistency::Kind => found(
            Severity::Error,
            format!("{path} is not what the store keeps under this name"),
        )
        .shell(format!("ls -ld {word}")),
        Inconsistency::Owner(owner) => found(
            Severity::Error,
            format!("{path} belongs to user {owner}, and this is user {user}"),
        )
        // Taking it over would lock its owner out.
        .words(format!(
            "run as user {owner}, or name a jackin home of your own in JACKIN_HOME_DIR"
        )),
        // The store refuses such a directory: what lies in it may have been put there.
        Inconsistency::Open(mode) if place.directory && mode & 0o022 != 0 => found(
            Severity::Error,
            format!("{path} has mode {mode:04o}: others can write to it, so the store refuses it"),
        )
        .shell(format!("chmod 700 {word}")),
        Inconsistency::Open(mode) => found(
            Severity::Warning,
            format!("{path} has mode {mode:04o}: it must be yours alone"),
        )
        .shell(format!("chmod u=rwX,go= {word}")),
        Inconsistency::Closed(mode) => found(
            Severity::Note,
            format!("{path} has mode {mode:04o}: it is read-only"),
        )
        .shell(format!("chmod u+rwX {word}")),
        Inconsistency::Unseen(error) => {
            found(Severity::Error, format!("{path} cannot be read: {error}")).shell(format!("ls -ld {word}"))
        }
    };
    finding.at(&place.path)
}

/// Returns the free bytes at the directory of the store, or where it would be created.
fn free(root: &Path) -> Option<u64> {
    let there = root.ancestors().find(|path| path.is_dir())?;
    handle_fs::free_bytes_at(there).ok()
}

fn room(root: &Path, free: Option<u64>, survey: Option<&Survey>, findings: &mut Vec<Finding>) {
    let used = survey.map_or_else(String::new, |survey| {
        format!("the store takes up {}, ", size(survey.bytes))
    });
    let step = format!(
        "df -h {}",
        shell::word(root.ancestors().find(|path| path.is_dir()).unwrap_or(root))
    );
    let finding = match free {
        None => {
            let what = format!("{used}and its free space is unknown");
            found(Severity::Note, what)
        }
        Some(bytes) => {
            let severity = match bytes {
                0..NONE => Severity::Error,
                NONE..LITTLE => Severity::Warning,
                _ => Severity::Ok,
            };
            let finding = found(severity, format!("{used}{} are free there", size(bytes)));
            if severity == Severity::Ok {
                finding
            } else {
                finding.shell(step)
            }
        }
    };
    findings.push(finding.at(root));
}
