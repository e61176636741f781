//! Judges jackin's own files about its containers.

use super::{Finding, Group, Severity};
use crate::config::{jackin_instances, shown};
use crate::display::shell;
use crate::environment::Environment;

pub(super) fn judge(environment: &Environment, findings: &mut Vec<Finding>) {
    let Some(home) = environment.jackin_home() else {
        return;
    };
    let warning = |what: String| Finding::new(Group::Sessions, Severity::Warning, what);
    let found = jackin_instances(&home);
    for unread in &found.unread {
        let path = unread.path.to_path();
        let what = format!("jackin's file {} cannot be read: {}", shown(&path), unread.reason);
        findings.push(
            warning(what)
                .at(&path)
                .shell(format!("ls -ld {}", shell::word(&path))),
        );
    }
    for instance in &found.all {
        let Some(version) = instance.newer else { continue };
        let what = format!(
            "{} has the newer version {version}, so jackin's container {:?} counts as at work unless docker reports that \
             it is gone",
            shown(&instance.file),
            instance.container
        );
        findings.push(warning(what).at(&instance.file).words("update jackin recovery"));
    }
}
