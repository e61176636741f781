//! The lasting terms of a contract, which are the same at each launch until the operator or the project changes them. Sizes, the state of
//! git and other facts of the moment are omitted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Contract, MountState, MountTerms, NotCovered};
use crate::config::{AgentRestore, OnFailure, Sourced, StateSecrets};
use crate::model::{Coverage, ExcludeRule, ExcludeSource, RelPath};

/// Terms of a contract, as words under headings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms(BTreeMap<String, BTreeSet<String>>);

/// Difference of two contracts under one heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermChange {
    /// The heading.
    pub heading: String,
    /// Words that no longer hold.
    pub before: Vec<String>,
    /// Words that hold now.
    pub now: Vec<String>,
}

impl Terms {
    /// Returns the terms of a contract.
    #[must_use]
    pub fn of(contract: &Contract) -> Self {
        let mut terms = Self::default();
        terms.add("mode", contract.snapshot.mode.word());
        for mount in &contract.mounts {
            terms.mount(mount);
        }
        for coverage in contract.coverages() {
            terms.coverage(coverage);
        }
        if let Some(state) = &contract.state {
            terms.add("agents' state", &format!("{:?}", state.source).to_lowercase());
            terms.add("secrets of agents", state.secrets.value.word());
            if state.secrets.value == StateSecrets::Encrypt {
                let keys = state.recipients.iter();
                keys.for_each(|Sourced { value, .. }| terms.add("encrypted to", value));
            }
        }
        if let Some(store) = &contract.store {
            terms.add("stored in", &store.to_path().to_string_lossy());
        }
        if let Some(kept) = &contract.retention {
            // A source names a line, which moves with every edit of the file.
            let rules = &kept.kept;
            let numbers = [
                ("sessions kept", rules.instances.value),
                ("days kept", rules.days.value),
                ("checkpoints kept", rules.checkpoints.value),
                ("days that checkpoints are kept", rules.checkpoint_days.value),
                ("bytes of the store", kept.room.max_bytes),
                ("bytes left free", kept.room.min_free),
            ];
            numbers
                .iter()
                .for_each(|(heading, number)| terms.add(heading, &number.to_string()));
        }
        if let Some(seconds) = contract.checkpoint_every {
            terms.add("seconds between checkpoints", &seconds.to_string());
        }
        terms.add(
            "entries per baseline",
            &contract.limits.max_entries.value.to_string(),
        );
        terms.add("bytes per baseline", &contract.limits.max_bytes.value.to_string());
        terms.add("your own secrets", contract.sensitive.value.word());
        terms.add("if the baseline fails", contract.on_failure.value.word());
        terms.add(
            "automatic excludes",
            if contract.integrations.value { "on" } else { "off" },
        );
        if contract.watch.value {
            terms.add("watcher of the files", "on");
        }
        terms.add("recorded of the command", contract.command.value.word());
        terms.add("recorded of prompts", contract.prompts.value.word());
        // Only where they differ from the defaults: the terms of older sessions have none of these.
        if contract.agent_restore.value != AgentRestore::Deny {
            terms.add(
                "an agent may restore on its own",
                contract.agent_restore.value.word(),
            );
        }
        if contract.agent_on_failure.value != OnFailure::Run {
            terms.add(
                "if a checkpoint of an agent fails",
                contract.agent_on_failure.value.word(),
            );
        }
        if let Some(replica) = &contract.replica {
            terms.add("copied to", &replica.place);
            let keys = replica.recipients.iter();
            keys.for_each(|key| terms.add("the copy is encrypted to", &key.value));
            if replica.prune {
                terms.add("deleted in the copy", "what is deleted here");
            }
        }
        terms
    }

    /// Returns the differences between the terms of an earlier contract and these.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Vec<TermChange> {
        let none = BTreeSet::new();
        let headings: BTreeSet<&String> = self.0.keys().chain(earlier.0.keys()).collect();
        let changes = headings.into_iter().map(|heading| {
            let now = self.0.get(heading).unwrap_or(&none);
            let before = earlier.0.get(heading).unwrap_or(&none);
            TermChange {
                heading: heading.clone(),
                before: before.difference(now).cloned().collect(),
                now: now.difference(before).cloned().collect(),
            }
        });
        changes
            .filter(|change| !change.before.is_empty() || !change.now.is_empty())
            .collect()
    }

    fn add(&mut self, heading: &str, value: &str) {
        self.0
            .entry(heading.to_owned())
            .or_default()
            .insert(value.to_owned());
    }

    fn mount(&mut self, mount: &MountTerms) {
        let root = mount.root.to_path();
        let root = root.to_string_lossy();
        let state = match &mount.state {
            MountState::Captured => "captured",
            MountState::CoveredBy { .. } => "captured with the mount around it",
            MountState::Readonly => "read-only",
            MountState::NotCovered { reason } => match reason {
                NotCovered::Mode => "not captured in this mode",
                NotCovered::SingleFile | NotCovered::Special => "not captured, because it is no directory",
                NotCovered::Isolated { .. } => "not captured, because it is isolated",
                NotCovered::LeftOut { .. } => "excluded",
            },
        };
        self.add("mounts", &format!("{root}: {state}"));
        for warning in &mount.stack_warnings {
            self.add("warnings", &format!("{}: {}", warning.name, warning.text));
        }
        for lack in &mount.lacks {
            self.add("limits of the machine", &format!("{root}: {lack:?}"));
        }
    }

    fn coverage(&mut self, coverage: &Coverage) {
        let label = &coverage.label;
        let shown = |path: &RelPath| String::from_utf8_lossy(path.as_bytes()).into_owned();
        for rule in coverage.excludes.iter().filter(|rule| rule.leaves_out()) {
            self.add(
                "excluded",
                &format!("{} in {label}, {}", rule.pattern, source(rule)),
            );
        }
        for path in &coverage.tracked {
            self.add("captured only", &format!("{} in {label}", shown(path)));
        }
        for place in &coverage.withheld {
            self.add("skipped", &format!("{} in {label}", shown(&place.path)));
        }
        if coverage.by_commit {
            self.add("clean work trees", &format!("by commit in {label}"));
        }
        if coverage.native.is_some() {
            self.add("frozen by the file system", label);
        }
    }
}

/// Returns the reason for an exclude in words.
fn source(rule: &ExcludeRule) -> String {
    match &rule.source {
        ExcludeSource::Config(path) => format!("by {}", path.to_path().to_string_lossy()),
        ExcludeSource::Integration { name, because, .. } => {
            format!("automatic ({name}, because of {because})")
        }
        ExcludeSource::State(why) => format!("because {why}"),
        ExcludeSource::Flag => "by --exclude".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{TermChange, Terms};

    fn terms(pairs: &[(&str, &str)]) -> Terms {
        let mut terms = Terms::default();
        pairs
            .iter()
            .for_each(|(heading, value)| terms.add(heading, value));
        terms
    }

    #[test]
    fn differences_name_what_went_and_what_came() {
        let before = terms(&[
            ("mode", "project"),
            ("excluded", "a"),
            ("excluded", "b"),
            ("x", "1"),
        ]);
        let now = terms(&[
            ("mode", "project"),
            ("excluded", "b"),
            ("excluded", "c"),
            ("y", "2"),
        ]);
        let change = |heading: &str, before: &[&str], now: &[&str]| TermChange {
            heading: heading.to_owned(),
            before: before.iter().map(ToString::to_string).collect(),
            now: now.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(
            now.since(&before),
            [
                change("excluded", &["a"], &["c"]),
                change("x", &["1"], &[]),
                change("y", &[], &["2"]),
            ]
        );
        assert_eq!(now.since(&now), []);
    }
}
