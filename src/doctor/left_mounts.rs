//! Judges mounted snapshots in protected directories: a killed `mount` leaves one that cannot be read, so that captures around it are incomplete.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::{Finding, Group, Severity};
use crate::config::shown;
use crate::display::shell;
use crate::product::FILE_SYSTEM;

/// Time to wait for an answer. A stopped process answers when it continues.
const PATIENCE: Duration = Duration::from_secs(2);

/// Judges the mounts in the known mount roots. Elsewhere no capture comes upon one.
pub(super) fn judge(roots: &[PathBuf], findings: &mut Vec<Finding>) {
    let mut mounted = handle_fs::mounts_of_kind(&format!("fuse.{FILE_SYSTEM}"));
    mounted.retain(|point| roots.iter().any(|root| point.starts_with(root)));
    for point in mounted {
        let what = match answer(&point) {
            Some(Err(error)) if handle_fs::is_disconnected(&error) => "a killed `mount` left it mounted",
            Some(_) => continue,
            None => "the snapshots mounted there do not answer",
        };
        let what = format!("{}: {what}; sessions around it are incomplete", shown(&point));
        let finding = Finding::new(Group::Mounts, Severity::Warning, what).at(&point);
        findings.push(finding.shell(format!("umount {}", shell::word(&point))));
    }
}

/// Returns the result of listing a directory; `None` if it takes too long. A thread goes on with it then, until the process ends.
fn answer(point: &Path) -> Option<io::Result<()>> {
    let (tell, told) = channel();
    let point = point.to_path_buf();
    std::thread::spawn(move || tell.send(handle_fs::names_at(&point).map(drop)));
    told.recv_timeout(PATIENCE).ok()
}
