//! Records trust the way Codex's own client does: its server names the fingerprint of each hook, and stores the ones that the operator
//! confirmed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::agents::settings::Standing;
use crate::config::settle;
use crate::environment::Environment;
use crate::process::{Conversation, find, path_outside};

/// Time that Codex may take for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Codex's own program.
#[derive(Clone, Debug)]
pub struct CodexProgram {
    program: PathBuf,
    /// `PATH` in which it finds others.
    path: OsString,
}

impl CodexProgram {
    /// Finds it in `PATH`, but never in one of `mounts`: an agent can write there.
    #[must_use]
    pub fn find(environment: &Environment, mounts: &[PathBuf]) -> Option<Self> {
        let path = path_outside(environment.get("PATH"), mounts);
        let program = find("codex".as_ref(), &path, mounts)?;
        Some(Self { program, path })
    }

    /// Records that the operator trusts the hooks of jackin in a file, and no others.
    ///
    /// # Errors
    /// The reason, in words, if Codex does not trust all of them afterwards.
    pub fn trust(&self, environment: &Environment, standing: &Standing) -> Result<(), String> {
        let talk = Conversation::start("codex", &self.program, &self.path, &["app-server"], PATIENCE)?;
        Server { talk, asked: 0 }.trust(environment, standing)
    }
}

/// Codex's server, which speaks JSON-RPC in lines.
struct Server {
    talk: Conversation,
    asked: u64,
}

impl Server {
    fn trust(mut self, environment: &Environment, standing: &Standing) -> Result<(), String> {
        let client = json!({"name": "jackin_recovery", "title": "jackin recovery", "version": env!("CARGO_PKG_VERSION")});
        self.ask("initialize", &json!({"clientInfo": client}))?;
        self.talk.say(&json!({"method": "initialized"}).to_string())?;
        let listed = self.hooks(&environment.current, standing)?;
        let mut state = serde_json::Map::new();
        for hook in listed.iter().filter(|hook| !hook.is_trusted()) {
            state.insert(hook.key.clone(), json!({"trusted_hash": hook.hash}));
        }
        if !state.is_empty() {
            let edit = json!({"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"});
            self.ask("config/batchWrite", &json!({"edits": [edit]}))?;
        }
        let listed = self.hooks(&environment.current, standing)?;
        match listed.iter().find(|hook| !hook.is_trusted()) {
            None => Ok(()),
            Some(hook) => Err(format!("codex still says of {}: {}", hook.key, hook.status)),
        }
    }

    /// Returns the hooks of the file, as Codex sees them, each with a command of jackin.
    fn hooks(&mut self, directory: &Path, standing: &Standing) -> Result<Vec<ListedHook>, String> {
        let answer = self.ask("hooks/list", &json!({"cwds": [directory]}))?;
        let file = settle(&standing.path);
        let places = answer.get("data").and_then(Value::as_array);
        let hooks = places
            .into_iter()
            .flatten()
            .filter_map(|place| place.get("hooks")?.as_array())
            .flatten();
        let is_ours = |hook: &ListedHook| {
            let mut known = standing.found.hooks.iter();
            settle(&hook.source) == file && known.any(|known| known.command == hook.command)
        };
        let hooks: Vec<ListedHook> = hooks.filter_map(ListedHook::read).filter(is_ours).collect();
        match hooks.len() < standing.found.hooks.len() {
            true => Err(
                "codex does not see all hooks: it reads those of a directory only once you trust it"
                    .to_owned(),
            ),
            false => Ok(hooks),
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.asked += 1;
        let id = self.asked;
        let request = json!({"id": id, "method": method, "params": params});
        self.talk.say(&request.to_string())?;
        let answer = self.talk.hear(|line| {
            let answer: Value = serde_json::from_slice(line).ok()?;
            (answer.get("id")?.as_u64() == Some(id)).then_some(answer)
        })?;
        if let Some(result) = answer.get("result") {
            return Ok(result.clone());
        }
        let why = answer.pointer("/error/message").and_then(Value::as_str);
        Err(format!(
            "codex refuses {method}: {}",
            why.unwrap_or("it does not say why")
        ))
    }
}

/// A hook as Codex lists it.
struct ListedHook {
    key: String,
    hash: String,
    status: String,
    command: String,
    source: PathBuf,
}

impl ListedHook {
    fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
        Some(Self {
            key: text("key")?,
            hash: text("currentHash")?,
            status: text("trustStatus")?,
            command: text("command")?,
            source: text("sourcePath")?.into(),
        })
    }

    fn is_trusted(&self) -> bool {
        matches!(self.status.as_str(), "trusted" | "managed")
    }
}
