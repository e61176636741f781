//! Judges the configuration files.

use super::{Finding, Group, Severity, counted};
use crate::config::{ConfigError, Survey, shown};
use crate::display::shell;

pub(super) fn judge(survey: &Survey, findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Configuration, severity, what);
    let Some(directory) = &survey.directory else {
        let what = "your home directory is unknown, and so is jackin's configuration";
        findings.push(found(Severity::Error, what.to_owned()).shell("export HOME=~"));
        return;
    };
    findings.extend(survey.faults.iter().map(fault));
    if survey.faults.is_empty() {
        let what = if directory.join("config.toml").exists() || !survey.workspaces.is_empty() {
            let workspaces = counted(survey.workspaces.len(), "workspace", "workspaces");
            format!("{}: {workspaces}, without a fault", shown(directory))
        } else {
            format!("{}: nothing is configured", shown(directory))
        };
        findings.push(found(Severity::Ok, what).at(directory));
    }
}

fn fault(error: &ConfigError) -> Finding {
    let severity = match error {
        // jackin itself can do without; only a launch of this workspace cannot.
        ConfigError::NoMounts { .. } => Severity::Warning,
        _ => Severity::Error,
    };
    let finding = Finding::new(Group::Configuration, severity, error.to_string());
    match error.location() {
        Some((path, Some(line))) => finding
            .at(path)
            .shell(format!("${{EDITOR:-vi}} +{line} {}", shell::word(path))),
        Some((path, None)) => finding.at(path).shell(format!("ls -ld {}", shell::word(path))),
        None => finding.words("correct the name"),
    }
}
