//! Judges the configuration files.

use super::{Finding, Group, Severity, counted};
use crate::config::{ConfigError, Sourced, Survey, ValueSource, shown};
use crate::display::shell;
use crate::features::Feature;
use crate::store::encryption::Recipients;

pub(super) fn judge(survey: &Survey, findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Configuration, severity, what);
    let Some(directory) = &survey.directory else {
        let what = "your home directory is unknown, and so is jackin's configuration";
        findings.push(found(Severity::Error, what.to_owned()).shell("export HOME=~"));
        return;
    };
    findings.extend(survey.faults.iter().map(fault));
    let keys: Vec<Finding> = survey.recipients.iter().filter_map(unusable_key).collect();
    let versions = survey.unknown_versions.iter();
    findings.extend(versions.map(|(path, version)| {
        let what = format!(
            "{} has the version {version:?}, which this program does not know; it may mean something else",
            shown(path)
        );
        found(Severity::Warning, what)
            .at(path)
            .words("update jackin recovery, or correct the version")
    }));
    let is_sound = survey.faults.is_empty() && keys.is_empty() && survey.unknown_versions.is_empty();
    findings.extend(keys);
    if is_sound {
        let what = if directory.join("config.toml").exists() || !survey.workspaces.is_empty() {
            let workspaces = counted(survey.workspaces.len(), "workspace", "workspaces");
            format!("{}: {workspaces}, without a fault", shown(directory))
        } else {
            format!("{}: nothing is configured", shown(directory))
        };
        findings.push(found(Severity::Ok, what).at(directory));
    }
}

/// Returns the error of a recipient that nothing can be encrypted to. A launch finds it only once there is something to encrypt.
fn unusable_key(recipient: &Sourced<String>) -> Option<Finding> {
    if !Feature::Encrypt.is_built() {
        return None;
    }
    let error = Recipients::parse(std::slice::from_ref(&recipient.value)).err()?;
    let what = format!("{}: {error}", recipient.source);
    let finding = Finding::new(Group::Configuration, Severity::Error, what);
    Some(match &recipient.source {
        ValueSource::File { path, line } => {
            let path = path.to_path();
            finding
                .at(&path)
                .shell(format!("${{EDITOR:-vi}} +{line} {}", shell::word(&path)))
        }
        _ => finding.words("correct the key"),
    })
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
