//! The state of agents: which paths below a home are an agent's, which of them are credentials, which can be made again. One table, so
//! that one more agent is one more row.

use std::path::{Path, PathBuf};

use super::places::Places;
use super::terms::{AgentTerms, StatePath, StateSource, StateTerms};
use crate::config::{Resolved, settle};
use crate::environment::Environment;
use crate::snapshot::{
    ByteString, Coverage, ExcludeRule, ExcludeSource, RelPath, WithheldPath, WithheldReason,
};

struct Agent {
    name: &'static str,
    /// Its state, below a home.
    state: &'static [&'static str],
    /// Files and directories of it that hold secrets, or hold some beside other things.
    secret: &'static [&'static str],
    /// What it, or jackin, makes again.
    again: &'static [&'static str],
    /// What jackin hands over to its container: a directory beside the home, and the secrets in it.
    handed: &'static [&'static str],
    handed_secret: &'static [&'static str],
}

/// The one table of agents.
const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        state: &[".claude", ".claude.json"],
        secret: &[".claude/.credentials.json", ".claude.json"],
        again: &[".claude/backups/"],
        handed: &["claude"],
        handed_secret: &["claude/account.json", "claude/credentials.json"],
    },
    Agent {
        name: "codex",
        state: &[".codex"],
        secret: &[".codex/auth.json", ".codex/.credentials.json"],
        again: &[".codex/tmp/"],
        handed: &["codex"],
        handed_secret: &["codex/auth.json", "codex/.credentials.json"],
    },
    Agent {
        name: "amp",
        state: &[".local/share/amp", ".config/amp"],
        secret: &[".local/share/amp/secrets.json"],
        again: &[],
        handed: &["amp"],
        handed_secret: &["amp/secrets.json"],
    },
    Agent {
        name: "opencode",
        state: &[".local/share/opencode", ".config/opencode"],
        secret: &[
            ".local/share/opencode/auth.json",
            ".local/share/opencode/mcp-auth.json",
        ],
        again: &[".config/opencode/opencode.json"],
        handed: &["opencode"],
        handed_secret: &["opencode/auth.json", "opencode/mcp-auth.json"],
    },
    Agent {
        name: "kimi",
        state: &[".kimi-code"],
        // Which files in it are credentials is not written down anywhere.
        secret: &[".kimi-code"],
        again: &[],
        handed: &["kimi"],
        handed_secret: &["kimi"],
    },
    Agent {
        name: "grok",
        state: &[".grok"],
        secret: &[".grok/auth.json", ".grok/user-settings.json"],
        again: &[],
        handed: &[],
        handed_secret: &[],
    },
    Agent {
        name: "github",
        state: &[".config/gh"],
        secret: &[".config/gh/hosts.yml"],
        again: &[],
        handed: &[".config/gh"],
        handed_secret: &[".config/gh/hosts.yml"],
    },
];

/// Names that credentials have, wherever they lie in a state directory: what the table does not know of is left out all the same.
const SECRET_NAMES: &[&str] = &[
    "*credentials.json*",
    "*auth.json*",
    "*secrets.json*",
    "*oauth*.json",
    "*token*.json",
    "*.pem",
    "*.key",
    ".netrc",
    ".env",
    ".env.*",
];

/// How jackin hands over credentials when nobody says otherwise.
const USUAL_AUTH: &str = "sync";

/// Every secret in the directory of a container of jackin's.
pub(super) fn container_secrets() -> impl Iterator<Item = String> {
    let home = secrets().map(|path| format!("home/{path}"));
    let handed = AGENTS.iter().flat_map(|agent| agent.handed_secret);
    home.chain(handed.map(|path| (*path).to_owned()))
}

/// Every secret below a home.
pub(super) fn secrets() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().flat_map(|agent| agent.secret).copied()
}

/// What of agents' state is covered: that of the container that the session is about, else that of the operator's own home when the
/// configuration says so.
pub(super) fn terms(
    environment: &Environment,
    resolved: &Resolved,
    places: &Places,
    label: impl FnOnce(&Path) -> String,
) -> StateTerms {
    let mut terms = StateTerms {
        source: StateSource::None,
        home: resolved.state_home.clone(),
        agents: Vec::new(),
        coverage: None,
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
        label: label(&root),
        root: ByteString::from(root.as_path()),
        excludes: Vec::new(),
        tracked: Vec::new(),
        withheld: places.withheld(&root, false),
        by_commit: false,
        state: true,
    };
    for agent in AGENTS {
        let mut own = terms.agent(agent, &root, prefix, container.is_some(), &coverage.withheld);
        let auth = resolved.auth.get(agent.name);
        let auth = auth.map_or(USUAL_AUTH, String::as_str);
        own.auth = container.map(|_| auth.to_owned());
        coverage
            .tracked
            .extend(own.state.iter().map(|state| state.path.clone()));
        for secret in &own.withheld {
            coverage.withheld.retain(|known| known.path != secret.path);
            coverage.withheld.push(WithheldPath {
                path: secret.path.clone(),
                reason: WithheldReason::Credential,
            });
        }
        coverage
            .excludes
            .extend(agent.again.iter().map(|pattern| ExcludeRule {
                pattern: format!("/{prefix}{pattern}"),
                source: ExcludeSource::Integration {
                    name: agent.name.to_owned(),
                    because: "its state".to_owned(),
                    defined: None,
                },
            }));
        terms.agents.push(own);
    }
    coverage
        .excludes
        .extend(SECRET_NAMES.iter().map(|pattern| ExcludeRule {
            pattern: (*pattern).to_owned(),
            source: ExcludeSource::Integration {
                name: "secrets".to_owned(),
                because: "their names".to_owned(),
                defined: None,
            },
        }));
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
    /// What lies in or around a mount is captured there, and once.
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
                && let Some(part) = super::places::below(&root, &mount)
            {
                coverage.excludes.push(ExcludeRule {
                    pattern: format!("/{}", literal(part.as_bytes())),
                    source: ExcludeSource::Integration {
                        name: "mounts".to_owned(),
                        because: "it is captured as a mount".to_owned(),
                        defined: None,
                    },
                });
            }
            let apart = |path: &RelPath| !path.on_host(&root).starts_with(&mount);
            coverage.tracked.retain(apart);
            for agent in &mut self.agents {
                agent.state.retain(|state| apart(&state.path));
                agent.withheld.retain(|secret| apart(&secret.path));
            }
        }
        // Nothing tracked would mean everything.
        if coverage.tracked.is_empty() {
            self.coverage = None;
        }
    }

    /// What is an agent's below `root`. What is withheld as a whole anyway is no state.
    fn agent(
        &self,
        agent: &Agent,
        root: &Path,
        prefix: &str,
        in_container: bool,
        withheld: &[WithheldPath],
    ) -> AgentTerms {
        let handed = |paths: &'static [&'static str]| paths.iter().filter(move |_| in_container).copied();
        let below = |path: &str| RelPath::new(path.as_bytes()).ok();
        let found = |own: &'static [&'static str], beside: &'static [&'static str]| {
            let all = own.iter().map(|path| format!("{prefix}{path}"));
            let all = all.chain(handed(beside).map(str::to_owned));
            let paths: Vec<StatePath> = all
                .filter_map(|path| below(&path))
                .map(|path| StatePath {
                    there: std::fs::symlink_metadata(path.on_host(root)).is_ok(),
                    link: is_link(root, &path),
                    path,
                })
                .collect();
            paths
        };
        let mut secrets = found(agent.secret, agent.handed_secret);
        let mut state = found(agent.state, agent.handed);
        // What is the operator's own secret is no state.
        let is_own = |place: &WithheldPath| !secrets.iter().any(|secret| secret.path == place.path);
        let own: Vec<&WithheldPath> = withheld.iter().filter(|place| is_own(place)).collect();
        state.retain(|state| !own.iter().any(|place| state.path.is_within(&place.path)));
        secrets.retain(|secret| state.iter().any(|state| secret.path.is_within(&state.path)));
        AgentTerms {
            name: agent.name.to_owned(),
            auth: None,
            state,
            withheld: secrets,
        }
    }
}

/// Whether a path, or a directory on the way to it, is a link.
fn is_link(root: &Path, path: &RelPath) -> bool {
    let mut places = path.ancestors().chain([path.clone()]);
    places.any(|place| {
        !place.is_root()
            && std::fs::symlink_metadata(place.on_host(root)).is_ok_and(|found| found.is_symlink())
    })
}

/// A path as a pattern of gitignore that matches nothing else. What is not UTF-8 is matched by a wider one.
fn literal(path: &[u8]) -> String {
    let mut pattern = String::new();
    for letter in String::from_utf8_lossy(path).chars() {
        match letter {
            '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | ' ' => pattern.extend(['\\', letter]),
            char::REPLACEMENT_CHARACTER | '\n' | '\r' => pattern.push('*'),
            _ => pattern.push(letter),
        }
    }
    pattern
}
