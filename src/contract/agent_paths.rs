//! The state of agents: which paths below a home are an agent's, which of them are credentials, which can be made again. One table, so
//! that one more agent is one more row.

use std::path::{Path, PathBuf};

use super::model::{AgentTerms, StatePath, StateSource, StateTerms};
use super::sensitive_paths::Places;
use crate::config::{Resolved, StateSecrets, literal_pattern, settle};
use crate::environment::Environment;
use crate::model::{Coverage, ExcludeRule, ExcludeSource, RelPath, WithheldPath, WithheldReason};
use crate::redact::part_settings;

struct Agent {
    name: &'static str,
    /// Its state, below a home.
    state: &'static [&'static str],
    /// Files and directories of it that hold nothing but secrets.
    secret: &'static [&'static str],
    /// Files that hold an account beside other things.
    mixed: &'static [&'static str],
    /// Settings in which secrets may stand. In a project's mount they are files like any other.
    settings: &'static [&'static str],
    /// Patterns of files that the agent or jackin recreates, so they are excluded.
    again: &'static [&'static str],
    /// Directories beside the home that jackin hands over to the container; `handed_secret` lists the secrets in them.
    handed: &'static [&'static str],
    handed_secret: &'static [&'static str],
}

/// The one table of agents.
const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        state: &[".claude", ".claude.json"],
        secret: &[".claude/.credentials.json"],
        mixed: &[".claude.json"],
        settings: &[".claude/settings.json", ".claude/settings.local.json"],
        again: &[".claude/backups/"],
        handed: &["claude"],
        handed_secret: &["claude/account.json", "claude/credentials.json"],
    },
    Agent {
        name: "codex",
        state: &[".codex"],
        secret: &[".codex/auth.json", ".codex/.credentials.json"],
        mixed: &[],
        settings: &[".codex/config.toml", ".codex/config.json", ".codex/hooks.json"],
        again: &[".codex/tmp/"],
        handed: &["codex"],
        handed_secret: &["codex/auth.json", "codex/.credentials.json"],
    },
    Agent {
        name: "amp",
        state: &[".local/share/amp", ".config/amp"],
        secret: &[".local/share/amp/secrets.json"],
        mixed: &[],
        settings: &[".config/amp/settings.json"],
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
        mixed: &[],
        settings: &[".config/opencode/opencode.jsonc", ".config/opencode/config.json"],
        again: &[".config/opencode/opencode.json"],
        handed: &["opencode"],
        handed_secret: &["opencode/auth.json", "opencode/mcp-auth.json"],
    },
    Agent {
        name: "kimi",
        state: &[".kimi-code"],
        // Which files in it are credentials is not written down anywhere.
        secret: &[".kimi-code"],
        mixed: &[],
        settings: &[],
        again: &[],
        handed: &["kimi"],
        handed_secret: &["kimi"],
    },
    Agent {
        name: "grok",
        state: &[".grok"],
        secret: &[".grok/auth.json"],
        mixed: &[".grok/user-settings.json"],
        settings: &[".grok/settings.json"],
        again: &[],
        handed: &[],
        handed_secret: &[],
    },
    Agent {
        name: "github",
        state: &[".config/gh"],
        secret: &[],
        mixed: &[".config/gh/hosts.yml"],
        settings: &[".config/gh/config.yml"],
        again: &[],
        handed: &[".config/gh"],
        handed_secret: &[".config/gh/hosts.yml"],
    },
];

/// Rules for files in agents' state that the agent table does not name. The last match wins.
struct Rule {
    /// Patterns as in gitignore, below a home.
    patterns: &'static [&'static str],
    /// `None`: it is stored as it is.
    private: Option<WithheldReason>,
    /// Also in other letters: `Auth.json` is as good a credential as `auth.json`.
    any_case: bool,
    because: &'static str,
}

/// The rules. First all is withheld, then what is known to hold no secrets by itself is allowed, then names that hold some are taken back.
const RULES: &[Rule] = &[
    Rule {
        patterns: &["*"],
        private: Some(WithheldReason::Credential),
        any_case: false,
        because: "they are not known to be free of secrets",
    },
    Rule {
        patterns: &["!*/"],
        private: None,
        any_case: false,
        because: "each file in them is judged by itself",
    },
    Rule {
        patterns: &[
            "**/{plugins,plugin,skills,commands,command,agents,agent,modes,mode,hooks,prompts,rules,output-styles,themes,tools,tool,scripts,bin,extensions}/**",
        ],
        private: Some(WithheldReason::Settings),
        any_case: false,
        because: "they belong to extensions",
    },
    Rule {
        patterns: &[
            "!*.{md,mdx,mdc,rst,html,css,scss,svg,png,jpg,jpeg,gif,webp,ico,ttf,woff,woff2}",
            "!*.{sh,bash,zsh,fish,ps1,bat,cmd,py,pyi,rb,pl,lua,js,mjs,cjs,jsx,ts,mts,cts,tsx,map,wasm}",
            "!*.{go,rs,c,h,cc,cpp,hpp,java,kt,swift,php,el,vim,awk,sed,sql,graphql,proto}",
            "!{LICENSE,LICENCE,NOTICE,COPYING,CHANGELOG,README}*",
        ],
        private: None,
        any_case: false,
        because: "they are documents or code",
    },
    Rule {
        patterns: &["*.{json,jsonc,toml,yml,yaml}"],
        private: Some(WithheldReason::Settings),
        any_case: false,
        because: "they may be settings",
    },
    Rule {
        patterns: &[
            "!/.claude/projects/**/*.jsonl",
            "!/.claude/projects/**/tool-results/*.txt",
            "!/.claude/history.jsonl",
            "!/.claude/transcripts/**/*.jsonl",
            "!/.claude/{todos,tasks}/**/*.json",
            "!/.claude/file-history/**",
            "!/.codex/{sessions,archived_sessions}/**/*.jsonl",
            "!/.codex/{history,session_index}.jsonl",
            "!/.codex/state*.sqlite*",
            "!/.local/share/amp/threads/**/*.json",
            "!/.local/share/amp/history.jsonl",
            "!/.local/share/opencode/{storage,project}/**/*.json",
            "!/.local/share/opencode/snapshot/**",
            "!/.grok/sessions/**/*.{json,jsonl}",
        ],
        private: None,
        any_case: false,
        because: "they are conversations, with what was typed in them",
    },
    Rule {
        patterns: &[
            "!**/{plugins,plugin,skills,extensions}/**/{package,package-lock,tsconfig}.json",
            "!**/{plugins,plugin,skills,extensions}/**/{Cargo,uv,yarn,bun,poetry}.lock",
            "!**/{plugins,plugin,skills,extensions}/**/.git/**",
            "!**/node_modules/**",
        ],
        private: None,
        any_case: false,
        because: "they are packages",
    },
    Rule {
        patterns: &["**/.git/**/config", "**/.git/{config,config.worktree,FETCH_HEAD}"],
        private: Some(WithheldReason::Settings),
        any_case: false,
        because: "an address in them may hold a password",
    },
    Rule {
        patterns: &[
            ".mcp.json",
            "mcp.json",
            "mcp*config*.json",
            "settings*.json",
            "user-settings.json",
            "config.json",
            "opencode.json",
            ".claude.json",
        ],
        private: Some(WithheldReason::Settings),
        any_case: true,
        because: "they are settings",
    },
    Rule {
        patterns: &[
            "*credentials.json*",
            "*auth.json*",
            "*secrets.json*",
            "*oauth*.json",
            "*token*.json",
            "*{auth,credential,credentials,secret,secrets}[!a-zA-Z]*.json*",
            "*cookie*",
            "*.{pem,key,p12,pfx,kdbx}",
            "id_{rsa,dsa,ecdsa,ed25519}*",
            ".{netrc,npmrc,pypirc,pgpass,git-credentials}",
            ".env",
            ".env.*",
            "*.env",
            "/.claude/ide/**",
        ],
        private: Some(WithheldReason::Credential),
        any_case: true,
        because: "credentials have such names",
    },
    Rule {
        patterns: &[
            "*~",
            "\\#*#",
            ".#*",
            "*.sw[a-zA-Z]",
            "*[ ._-]{bak,backup,copy,old,orig}[!a-zA-Z]*",
            "*.{bak,bk,backup,old,orig,rej,save,saved,tmp,temp,part,copy,lck}",
            "*.{json,jsonc,toml,yml,yaml}[!a-zA-Z0-9]*",
        ],
        private: Some(WithheldReason::Credential),
        any_case: true,
        because: "editors and agents name copies so",
    },
];

/// Way in which jackin hands over credentials if none is configured.
const USUAL_AUTH: &str = "sync";

/// Every secret in the directory of a container of jackin's.
pub(super) fn container_secrets() -> impl Iterator<Item = String> {
    let home = secrets().map(|path| format!("home/{path}"));
    let handed = AGENTS.iter().flat_map(|agent| agent.handed_secret);
    home.chain(handed.map(|path| (*path).to_owned()))
}

/// Every secret below a home.
pub(super) fn secrets() -> impl Iterator<Item = &'static str> {
    let all = |agent: &'static Agent| agent.secret.iter().chain(agent.mixed);
    AGENTS.iter().flat_map(all).copied()
}

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
        ..Coverage::new(label(&root), root.as_path())
    };
    let site = Site {
        root: &root,
        prefix,
        in_container: container.is_some(),
    };
    coverage.excludes = RULES.iter().flat_map(|rule| rule.below(prefix)).collect();
    for agent in AGENTS {
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
                && let Some(part) = super::sensitive_paths::below(&root, &mount)
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
            path.whole =
                text.is_some_and(|text| part_settings(path.path.as_bytes(), &text, may_be_unread).is_none());
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

impl Rule {
    fn below(&self, prefix: &str) -> impl Iterator<Item = ExcludeRule> {
        self.patterns.iter().map(move |pattern| {
            let pattern = match pattern.split_once('/') {
                // Only an anchored pattern is relative to the home.
                Some(("", rest)) => format!("/{prefix}{rest}"),
                Some(("!", rest)) => format!("!/{prefix}{rest}"),
                _ => (*pattern).to_owned(),
            };
            ExcludeRule {
                pattern: if self.any_case {
                    in_any_case(&pattern)
                } else {
                    pattern
                },
                source: ExcludeSource::State(self.because.to_owned()),
                private: self.private,
            }
        })
    }
}

/// Returns the pattern with a class for each letter, to match any case. Every version that reads the rules knows classes.
fn in_any_case(pattern: &str) -> String {
    let mut out = String::new();
    let mut in_class = false;
    for c in pattern.chars() {
        in_class = (in_class || c == '[') && c != ']';
        match c {
            _ if in_class || !c.is_ascii_alphabetic() => out.push(c),
            _ => out.extend(['[', c.to_ascii_lowercase(), c.to_ascii_uppercase(), ']']),
        }
    }
    out
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
