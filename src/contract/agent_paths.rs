//! The state of agents: which paths below a home are an agent's, which of them are credentials, which can be made again. One table, so
//! that one more agent is one more row.

use super::secret_names::{ENDINGS, HIDDEN_FILES};
use crate::model::{ExcludeRule, ExcludeSource, WithheldReason};

/// An agent: its name, and its paths by their handling.
pub(super) struct Agent {
    pub(super) name: &'static str,
    /// Its state, below a home; empty if none is captured.
    pub(super) state: &'static [&'static str],
    /// Files and directories of it that hold nothing but secrets.
    pub(super) secret: &'static [&'static str],
    /// Files that hold an account beside other things.
    pub(super) mixed: &'static [&'static str],
    /// Settings in which secrets may stand. In a project's mount they are files like any other.
    pub(super) settings: &'static [&'static str],
    /// Patterns of files that the agent or jackin recreates, so they are excluded.
    pub(super) again: &'static [&'static str],
    /// Directories beside the home that jackin hands over to the container; `handed_secret` lists the secrets in them.
    pub(super) handed: &'static [&'static str],
    pub(super) handed_secret: &'static [&'static str],
}

/// The one table of agents.
pub(super) const AGENTS: &[Agent] = &[
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
        name: "gemini",
        // Only its credentials are known: no state of it is captured.
        state: &[],
        secret: &[
            ".gemini/oauth_creds.json",
            ".gemini/gemini-credentials.json",
            ".gemini/mcp-oauth-tokens.json",
            ".gemini/mcp-oauth-tokens-v2.json",
            ".gemini/a2a-oauth-tokens.json",
            ".gemini/.env",
        ],
        mixed: &[".gemini/google_accounts.json"],
        settings: &[],
        again: &[],
        handed: &[],
        handed_secret: &[],
    },
    Agent {
        name: "cursor",
        state: &[],
        secret: &[".cursor/auth.json", ".config/cursor/auth.json"],
        mixed: &[],
        settings: &[],
        again: &[],
        handed: &[],
        handed_secret: &[],
    },
    Agent {
        name: "copilot",
        state: &[],
        secret: &[".copilot/mcp-oauth-config"],
        mixed: &[".copilot/config.json"],
        settings: &[],
        again: &[],
        handed: &[],
        handed_secret: &[],
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

/// The rule that has the names of the common list, too.
const CREDENTIAL_NAMES: &str = "credentials have such names";

/// Rules for files in agents' state that the agent table does not name. The last match wins.
pub(super) struct Rule {
    /// Patterns as in gitignore, below a home.
    patterns: &'static [&'static str],
    /// `None`: it is stored as it is.
    private: Option<WithheldReason>,
    /// Also in other letters: `Auth.json` is as good a credential as `auth.json`.
    any_case: bool,
    because: &'static str,
}

/// The rules. First all is withheld, then what is known to hold no secrets by itself is allowed, then names that hold some are skipped again.
pub(super) const RULES: &[Rule] = &[
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
        because: "each file in them is classified separately",
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
            "id_{rsa,dsa,ecdsa,ed25519}*",
            ".env.*",
            "/.claude/ide/**",
        ],
        private: Some(WithheldReason::Credential),
        any_case: true,
        because: CREDENTIAL_NAMES,
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

impl Rule {
    /// Returns the excludes of the rule for a home at `prefix`.
    pub(super) fn below(&self, prefix: &str) -> impl Iterator<Item = ExcludeRule> {
        let is_of_names = self.because == CREDENTIAL_NAMES;
        let files = HIDDEN_FILES.iter().map(|name| (*name).to_owned());
        let names = files.chain(ENDINGS.iter().map(|ending| format!("*{ending}")));
        let patterns = self.patterns.iter().map(|pattern| (*pattern).to_owned());
        let patterns = patterns.chain(names.filter(move |_| is_of_names));
        patterns.map(move |pattern| {
            let pattern = match pattern.split_once('/') {
                // Only an anchored pattern is relative to the home.
                Some(("", rest)) => format!("/{prefix}{rest}"),
                Some(("!", rest)) => format!("!/{prefix}{rest}"),
                _ => pattern,
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
