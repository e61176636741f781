//! Terms for the state of agents: the paths of it that are there, and how each is captured.

use std::path::{Path, PathBuf};

use super::agent_paths::{AGENTS, Agent, RULES};
use super::model::{AgentTerms, StatePath, StateSource, StateTerms};
use super::sensitive_paths::{Places, below};
use crate::config::{Resolved, StateSecrets, literal_pattern, settle};
use crate::environment::Environment;
use crate::model::{Coverage, ExcludeRule, ExcludeSource, REDACTOR, RelPath, WithheldPath, WithheldReason};

/// Way in which jackin hands over credentials if none is configured.
const USUAL_AUTH: &str = "sync";

/// Returns the terms for agents' state, which lies in the container of the session. Without a container, the operator's home is
/// used if the configuration says so.
pub(super) fn terms(
    environment: &Environment,
    resolved: &Resolved,
    places: &Places,
    label: impl FnOnce(&Path) -> String,
) -> StateTerms {
    let mut terms = StateTerms {
        source: StateSource::None,
        home: resolved.state_home.clone(),
        secrets: resolved.state_secrets.clone(),
        recipients: resolved.recipients.clone(),
        agents: Vec::new(),
        coverage: None,
        native: None,
    };
    let container = resolved
        .jackin
        .as_ref()
        .and_then(|jackin| jackin.container.as_deref());
    let (root, prefix) = match (container, environment.jackin_home(), &environment.home) {
        (Some(container), Some(home), _) => {
            terms.source = StateSource::Container;
            (settle(&home.join("data").join(container)), "home/")
        }
        (_, _, Some(home)) if resolved.state_home.value => {
            terms.source = StateSource::Home;
            (settle(home), "")
        }
        _ => return terms,
    };
    let mut coverage = Coverage {
        withheld: places.withheld(&root, false),
        state: true,
        recipients: recipients(resolved),
        guarded: places.guarded(&root, false),
        folds: super::coverage::folds(places.transports(), &root),
        ..Coverage::new(label(&root), root.as_path())
    };
    let site = Site {
        root: &root,
        prefix,
        in_container: container.is_some(),
    };
    coverage.excludes = RULES.iter().flat_map(|rule| rule.below(prefix)).collect();
    for agent in AGENTS.iter().filter(|agent| !agent.state.is_empty()) {
        let mut own = site.agent(agent, &coverage.withheld);
        let auth = resolved.auth.get(agent.name);
        own.auth = container.map(|_| auth.map_or(USUAL_AUTH, String::as_str).to_owned());
        let state = own.state.iter().map(|state| state.path.clone());
        coverage.tracked.extend(state);
        let secret = own.withheld.iter().map(|path| (path, WithheldReason::Credential));
        let settings = own.settings.iter().map(|path| (path, WithheldReason::Settings));
        let accounts = own.accounts.iter().map(|path| (path, WithheldReason::Account));
        for (StatePath { path, .. }, reason) in secret.chain(settings).chain(accounts) {
            let path = path.clone();
            coverage.withheld.retain(|known| known.path != path);
            coverage.withheld.push(WithheldPath { path, reason });
        }
        let again = agent.again.iter();
        let again = again.map(|pattern| never(format!("/{prefix}{pattern}"), "an agent makes them again"));
        coverage.excludes.extend(again);
        terms.agents.push(own);
    }
    let touches = |place: &WithheldPath| {
        let mut tracked = coverage.tracked.iter();
        tracked.any(|path| place.path.is_within(path) || path.is_within(&place.path))
    };
    coverage.withheld.retain(touches);
    coverage.tracked.sort();
    coverage.withheld.sort_by(|a, b| a.path.cmp(&b.path));
    terms.coverage = Some(coverage);
    terms
}

impl StateTerms {
    /// Removes the paths that lie in or around a mount: they are captured there, and only once.
    pub(super) fn leave_out(&mut self, mounts: impl Iterator<Item = PathBuf>) {
        let Some(coverage) = &mut self.coverage else {
            return;
        };
        let root = coverage.root.to_path();
        for mount in mounts {
            let is_inside =
                |path: &RelPath| mount.starts_with(path.on_host(&root)) && mount != path.on_host(&root);
            // A part of a state directory: the rest stays.
            if coverage.tracked.iter().any(is_inside)
                && let Some(part) = below(&root, &mount)
            {
                let pattern = format!("/{}", literal_pattern(part.as_bytes()));
                coverage
                    .excludes
                    .push(never(pattern, "it is captured as a mount"));
            }
            let apart = |path: &RelPath| !path.on_host(&root).starts_with(&mount);
            coverage.tracked.retain(apart);
            for agent in &mut self.agents {
                agent.state.retain(|state| apart(&state.path));
                agent.withheld.retain(|secret| apart(&secret.path));
                agent.settings.retain(|settings| apart(&settings.path));
                agent.accounts.retain(|account| apart(&account.path));
            }
        }
        // Nothing tracked would mean everything.
        if coverage.tracked.is_empty() {
            self.coverage = None;
        }
    }
}

/// Location of agents' state.
struct Site<'a> {
    root: &'a Path,
    /// Prefix of the home below the root.
    prefix: &'static str,
    in_container: bool,
}

impl Site<'_> {
    fn find(&self, own: &'static [&'static str], handed: &'static [&'static str]) -> Vec<StatePath> {
        let handed = handed.iter().filter(|_| self.in_container);
        let all = own.iter().map(|path| format!("{}{path}", self.prefix));
        let all = all.chain(handed.map(|path| (*path).to_owned()));
        let paths = all.filter_map(|path| RelPath::new(path.as_bytes()).ok());
        let looked_at = paths.map(|path| StatePath {
            there: std::fs::symlink_metadata(path.on_host(self.root)).is_ok(),
            link: is_link(self.root, &path),
            whole: false,
            path,
        });
        looked_at.collect()
    }

    /// Works like [`Self::find`], for settings that are stored redacted. Marks a file as `whole` if it cannot be redacted now.
    fn find_by_key(&self, own: &'static [&'static str], may_be_unread: bool) -> Vec<StatePath> {
        const LARGEST: u64 = 4 << 20;
        let mut found = self.find(own, &[]);
        for path in found.iter_mut().filter(|path| path.there && !path.link) {
            let host = path.path.on_host(self.root);
            let is_small = std::fs::metadata(&host).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
            // A file that cannot be read here is reported when it is captured.
            let text = is_small.then(|| std::fs::read(&host).ok()).flatten();
            path.whole = text.is_some_and(|text| {
                REDACTOR
                    .split_named(path.path.as_bytes(), &text, may_be_unread)
                    .is_none()
            });
        }
        found
    }

    /// Returns the terms of one agent, without state that is skipped as a whole.
    fn agent(&self, agent: &Agent, withheld: &[WithheldPath]) -> AgentTerms {
        let (mixed_handed, secret_handed): (Vec<_>, Vec<_>) = agent
            .handed_secret
            .iter()
            .partition(|path| agent.mixed.contains(path));
        let mut secrets = self.find(agent.secret, &[]);
        let mut accounts = self.find_by_key(agent.mixed, false);
        let mut settings = self.find_by_key(agent.settings, true);
        for (handed, into) in [(secret_handed, &mut secrets), (mixed_handed, &mut accounts)] {
            for path in handed {
                into.extend(self.find(&[], std::slice::from_ref(path)));
            }
        }
        let mut state = self.find(agent.state, agent.handed);
        // The operator's own secrets are not agents' state.
        let is_private = |place: &WithheldPath| {
            let mut private = secrets.iter().chain(&settings).chain(&accounts);
            private.any(|secret| secret.path == place.path)
        };
        let own: Vec<&WithheldPath> = withheld.iter().filter(|place| !is_private(place)).collect();
        state.retain(|state| !own.iter().any(|place| state.path.is_within(&place.path)));
        let is_state = |secret: &StatePath| state.iter().any(|state| secret.path.is_within(&state.path));
        secrets.retain(is_state);
        settings.retain(is_state);
        accounts.retain(is_state);
        AgentTerms {
            name: agent.name.to_owned(),
            auth: None,
            state,
            withheld: secrets,
            settings,
            accounts,
        }
    }
}

/// Returns an exclude for files in agents' state that are never captured.
fn never(pattern: String, because: &str) -> ExcludeRule {
    ExcludeRule {
        pattern,
        source: ExcludeSource::State(because.to_owned()),
        private: None,
    }
}

/// Returns the public keys that credentials are encrypted to.
fn recipients(resolved: &Resolved) -> Vec<String> {
    let all = resolved.recipients.iter();
    let all = all.filter(|_| resolved.state_secrets.value == StateSecrets::Encrypt);
    all.map(|recipient| recipient.value.clone()).collect()
}

/// Returns true if a path or one of its parents is a symbolic link.
fn is_link(root: &Path, path: &RelPath) -> bool {
    let mut places = path.ancestors().chain([path.clone()]);
    places.any(|place| {
        !place.is_root()
            && std::fs::symlink_metadata(place.on_host(root)).is_ok_and(|found| found.is_symlink())
    })
}
