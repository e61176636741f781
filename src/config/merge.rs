//! One layer of settings, and its merge over a lower one: scalars replace, lists append.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeValue;

use super::document::{Document, type_of};
use super::error::{ConfigError, Place};
use super::parse::{self, Setting};
use super::replication::StoreLayer;
use super::retained::RetentionLayer;
use super::schema::RECOVERY;
use super::screen::ScreenLayer;
use super::{
    AgentRestore, CommandDetail, GitClean, Limits, Mode, MountConfig, Native, OnFailure, Prompts, Resolved,
    Sensitive, Sourced, StateSecrets, Subject, pattern,
};
use crate::model::{GitCoverage, RelPath};

/// The settings of one `[recovery]` table, or of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) mode: Option<Sourced<Mode>>,
    exclude: Vec<Sourced<String>>,
    paths: Vec<Sourced<RelPath>>,
    integrations: Option<Sourced<bool>>,
    watch: Option<Sourced<bool>>,
    sensitive: Option<Sourced<Sensitive>>,
    on_failure: Option<Sourced<OnFailure>>,
    command: Option<Sourced<CommandDetail>>,
    agent_restore: Option<Sourced<AgentRestore>>,
    agent_on_failure: Option<Sourced<OnFailure>>,
    prompts: Option<Sourced<Prompts>>,
    git_dir: Option<Sourced<GitCoverage>>,
    git_clean: Option<Sourced<GitClean>>,
    native: Option<Sourced<Native>>,
    state_home: Option<Sourced<bool>>,
    state_secrets: Option<Sourced<StateSecrets>>,
    pub(super) recipients: Vec<Sourced<String>>,
    max_entries: Option<Sourced<u64>>,
    max_bytes: Option<Sourced<u64>>,
    pub(super) retention: RetentionLayer,
    pub(super) store: StoreLayer,
    pub(super) screen: ScreenLayer,
}

impl Layer {
    /// Reads the table at `prefix`, if there is one.
    pub(super) fn read(
        document: &Document,
        prefix: &str,
        value: Option<&Spanned<DeValue<'_>>>,
    ) -> Result<Self, ConfigError> {
        let mut layer = Self::default();
        let Some(value) = value else {
            return Ok(layer);
        };
        let DeValue::Table(table) = value.get_ref() else {
            return Err(ConfigError::WrongType {
                place: document.place(value.span().start, prefix.to_owned()),
                expected: "a table",
                found: type_of(value.get_ref()),
            });
        };
        for (key, place, setting) in parse::read(document, prefix, table, RECOVERY)? {
            layer.set(&key, &place, setting)?;
        }
        layer.screen.refuse_shared_keys()?;
        Ok(layer)
    }

    /// Sets one checked value. A key of the schema that this version does not implement changes nothing.
    pub(super) fn set(&mut self, key: &str, place: &Place, setting: Setting) -> Result<(), ConfigError> {
        match (key, setting) {
            ("snapshot", Setting::Word(word)) => self.mode = Mode::parse(word).map(|value| at(place, value)),
            ("sensitive", Setting::Word(word)) => {
                self.sensitive = Sensitive::parse(word).map(|value| at(place, value));
            }
            ("on_failure", Setting::Word(word)) => {
                self.on_failure = OnFailure::parse(word).map(|value| at(place, value));
            }
            ("command", Setting::Word(word)) => {
                self.command = CommandDetail::parse(word).map(|value| at(place, value));
            }
            ("agent.restore", Setting::Word(word)) => {
                self.agent_restore = AgentRestore::parse(word).map(|value| at(place, value));
            }
            ("agent.on_failure", Setting::Word(word)) => {
                self.agent_on_failure = OnFailure::parse(word).map(|value| at(place, value));
            }
            ("agent.prompts", Setting::Word(word)) => {
                self.prompts = Prompts::parse(word).map(|value| at(place, value));
            }
            ("git.dir", Setting::Word(word)) => {
                self.git_dir = GitCoverage::parse(word).map(|value| at(place, value));
            }
            ("native", Setting::Word(word)) => {
                self.native = Native::parse(word).map(|value| at(place, value))
            }
            ("git.clean", Setting::Word(word)) => {
                self.git_clean = GitClean::parse(word).map(|value| at(place, value));
            }
            ("state.home", Setting::Switch(on)) => self.state_home = Some(at(place, on)),
            ("state.secrets", Setting::Word(word)) => {
                self.state_secrets = StateSecrets::parse(word).map(|value| at(place, value));
            }
            ("state.recipients", Setting::List(list)) => {
                for (place, text) in list {
                    refuse_no_key(&place, &text)?;
                    self.recipients.push(at(&place, text));
                }
            }
            ("store.replicate", Setting::Text(text)) => self.store.set_place(place, &text)?,
            ("store.prune_replica", Setting::Switch(on)) => {
                self.store.prune_replica = Some((place.clone(), on));
            }
            ("integrations", Setting::Switch(on)) => self.integrations = Some(at(place, on)),
            ("watch", Setting::Switch(on)) => self.watch = Some(at(place, on)),
            ("limits.max_entries", Setting::Number(number)) => self.max_entries = Some(at(place, number)),
            ("limits.max_bytes", Setting::Number(number)) => self.max_bytes = Some(at(place, number)),
            ("exclude", Setting::List(list)) => {
                for (place, text) in list {
                    let pattern = pattern::recorded(&text).map_err(|problem| ConfigError::BadValue {
                        place: place.clone(),
                        value: text.clone(),
                        problem,
                    })?;
                    self.exclude.push(at(&place, pattern));
                }
            }
            ("paths", Setting::List(list)) => {
                for (place, text) in list {
                    self.path(&place, text.as_bytes())?;
                }
            }
            (key, setting) => {
                if let Some(key) = key.strip_prefix("retention.") {
                    self.retention.set(key, place, setting);
                } else if let Some(key) = key.strip_prefix("ui.") {
                    self.screen.set(key, place, setting)?;
                }
            }
        }
        Ok(())
    }

    /// Adds one entry of `paths`.
    pub(super) fn path(&mut self, place: &Place, written: &[u8]) -> Result<(), ConfigError> {
        let bad = |problem: String| ConfigError::BadValue {
            place: place.clone(),
            value: String::from_utf8(written.to_vec()).unwrap_or_else(|_| written.escape_ascii().to_string()),
            problem: format!("{problem}; it must be a path below the mount, such as src/data"),
        };
        let mut bytes = written;
        // Completion in a shell writes `./src/`.
        while let Some(rest) = bytes.strip_prefix(b"./") {
            bytes = rest;
        }
        while let Some(rest) = bytes.strip_suffix(b"/").filter(|rest| !rest.is_empty()) {
            bytes = rest;
        }
        match RelPath::new(bytes) {
            Ok(path) if path.is_root() => Err(bad("it is empty".to_owned())),
            Ok(path) => {
                self.paths.push(at(place, path));
                Ok(())
            }
            Err(error) => Err(bad(error.to_string())),
        }
    }

    /// Returns this layer merged over a lower one.
    pub(super) fn over(self, lower: Self) -> Self {
        Self {
            mode: self.mode.or(lower.mode),
            exclude: [lower.exclude, self.exclude].concat(),
            paths: [lower.paths, self.paths].concat(),
            integrations: self.integrations.or(lower.integrations),
            watch: self.watch.or(lower.watch),
            sensitive: self.sensitive.or(lower.sensitive),
            on_failure: self.on_failure.or(lower.on_failure),
            command: self.command.or(lower.command),
            agent_restore: self.agent_restore.or(lower.agent_restore),
            agent_on_failure: self.agent_on_failure.or(lower.agent_on_failure),
            prompts: self.prompts.or(lower.prompts),
            git_dir: self.git_dir.or(lower.git_dir),
            git_clean: self.git_clean.or(lower.git_clean),
            native: self.native.or(lower.native),
            state_home: self.state_home.or(lower.state_home),
            state_secrets: self.state_secrets.or(lower.state_secrets),
            recipients: [lower.recipients, self.recipients].concat(),
            max_entries: self.max_entries.or(lower.max_entries),
            max_bytes: self.max_bytes.or(lower.max_bytes),
            retention: self.retention.over(lower.retention),
            // Only the lowest layer may have it.
            store: lower.store,
            screen: lower.screen,
        }
    }

    /// Fills in the built-in values that no layer sets.
    pub(super) fn resolve(self, subject: Subject, mounts: Vec<MountConfig>) -> Resolved {
        let defaults = Limits::default();
        Resolved {
            subject,
            mounts,
            mode: self.mode.unwrap_or_else(|| Sourced::built_in(Mode::Off)),
            exclude: self.exclude,
            paths: self.paths,
            integrations: self.integrations.unwrap_or_else(|| Sourced::built_in(true)),
            watch: self.watch.unwrap_or_else(|| Sourced::built_in(false)),
            sensitive: self
                .sensitive
                .unwrap_or_else(|| Sourced::built_in(Sensitive::Withhold)),
            on_failure: self
                .on_failure
                .unwrap_or_else(|| Sourced::built_in(OnFailure::Block)),
            command: self
                .command
                .unwrap_or_else(|| Sourced::built_in(CommandDetail::Program)),
            agent_restore: self
                .agent_restore
                .unwrap_or_else(|| Sourced::built_in(AgentRestore::Deny)),
            agent_on_failure: self
                .agent_on_failure
                .unwrap_or_else(|| Sourced::built_in(OnFailure::Run)),
            prompts: self
                .prompts
                .unwrap_or_else(|| Sourced::built_in(Prompts::FirstLine)),
            git_dir: self
                .git_dir
                .unwrap_or_else(|| Sourced::built_in(GitCoverage::Full)),
            git_clean: self
                .git_clean
                .unwrap_or_else(|| Sourced::built_in(GitClean::Archive)),
            native: self.native.unwrap_or_else(|| Sourced::built_in(Native::Auto)),
            state_home: self.state_home.unwrap_or_else(|| Sourced::built_in(false)),
            state_secrets: self
                .state_secrets
                .unwrap_or_else(|| Sourced::built_in(StateSecrets::Withhold)),
            recipients: self.recipients,
            replication: None,
            defined: Vec::new(),
            cleanup_policy: None,
            auth: BTreeMap::new(),
            jackin: None,
            limits: Limits {
                max_entries: self.max_entries.unwrap_or(defaults.max_entries),
                max_bytes: self.max_bytes.unwrap_or(defaults.max_bytes),
            },
            room: self.retention.room(),
            retention: self.retention.resolve(),
        }
    }
}

fn at<T>(place: &Place, value: T) -> Sourced<T> {
    Sourced {
        value,
        source: (&place.origin).into(),
    }
}

/// Refuses a recipient that is no public key whatever it is meant for. It is not shown, as it may be a part of a private one.
fn refuse_no_key(place: &Place, text: &str) -> Result<(), ConfigError> {
    const BEGINNINGS: [&str; 4] = ["age1", "ssh-", "ecdsa-", "sk-"];
    const PRIVATE: [&str; 2] = ["AGE-SECRET-KEY", "-----BEGIN"];
    let begins_with = |beginning: &&str| text.trim_start().starts_with(*beginning);
    if BEGINNINGS.iter().any(begins_with) {
        return Ok(());
    }
    let problem = match PRIVATE.iter().any(begins_with) {
        true => "it is a private key; give the public key that belongs to it",
        false => "it is not a public key; one begins with `age1`, `ssh-ed25519` or `ssh-rsa`",
    };
    Err(ConfigError::BadValue {
        place: place.clone(),
        value: "…".to_owned(),
        problem: problem.to_owned(),
    })
}
