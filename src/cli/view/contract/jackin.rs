//! Facts from jackin about the session: container, role, agent, and the policy for a dirty work tree.

use super::layout::{Part, Sheet};
use crate::contract::Contract;
use crate::terminal::Role;

/// Writes the section, when there is anything to say.
pub(super) fn write(sheet: &mut Sheet, contract: &Contract) {
    let terms = contract.jackin.clone().unwrap_or_default();
    let mut lines = Vec::new();
    if let Some(container) = &terms.container {
        let mut parts = vec![Part::Text("the container "), Part::item(container.as_bytes())];
        if let Some(id) = &terms.instance_id {
            parts.extend([
                Part::Text(" (instance "),
                Part::item(id.as_bytes()),
                Part::Text(")"),
            ]);
        }
        if let Some(status) = &terms.status {
            parts.extend([Part::Text(", "), Part::item(status.as_bytes())]);
        }
        lines.push(parts);
    }
    let each = [("role ", &terms.role), ("agent ", &terms.agent)];
    let mut parts = Vec::new();
    for (what, word) in each {
        let Some(word) = word else { continue };
        if !parts.is_empty() {
            parts.push(Part::Text(", "));
        }
        parts.extend([Part::Text(what), Part::item(word.as_bytes())]);
    }
    if !parts.is_empty() {
        if terms.container.is_none() {
            parts.push(Part::Text(" unless another is chosen"));
        }
        lines.push(parts);
    }
    if let Some(version) = &terms.unknown_version {
        lines.push(vec![
            Part::loud(Role::Warning, "WARNING:"),
            Part::Text(" the workspace's file has the unknown version "),
            Part::item(version.as_bytes()),
            Part::Text(", so it may mean something else"),
        ]);
    }
    if let Some(policy) = &contract.cleanup_policy {
        lines.push(vec![
            Part::Text("a dirty work tree at the end: "),
            Part::item(policy.as_bytes()),
            Part::Text(" (dirty_exit_policy)"),
        ]);
    }
    if lines.is_empty() {
        return;
    }
    sheet.section("jackin");
    for line in &lines {
        sheet.say(line);
    }
}
