//! Work that the stub lets a model do: the same for each client, in the words of its tools.

use std::path::Path;

use serde_json::{Value, json};

use super::client::Client;

/// Calls of the script `main` that change files.
pub(super) const CHANGING_CALLS: usize = 4;

/// Beginning of the names of scripts that two clients work through at once: every call waits for the other's.
pub(super) const IN_STEP: &str = "step";

/// A call of a tool.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Value,
    /// Group of the tool, where a client has one.
    pub(super) namespace: Option<&'static str>,
}

fn call(tool: &str, arguments: Value) -> Call {
    Call {
        tool: tool.to_owned(),
        arguments,
        namespace: None,
    }
}

/// Returns the calls of the script `name`, one for each turn of the model; after the last one it only says that it is done.
pub(super) fn calls(client: Client, name: &str, project: &Path) -> Vec<Call> {
    let words = Words { client, project };
    match name {
        "main" => vec![
            words.create("new.txt", "new\n"),
            words.edit("src/main.rs", "fn main() {}", "fn main() { oops() }"),
            words.shell("ls -la"),
            words.shell("git status"),
            words.shell("rm -r data; rm .env"),
            words.shell("echo more >> README.md && rmdir empty"),
        ],
        "parent" => vec![
            words.create("a.txt", "a\n"),
            words.sub_agent("SCRIPT:child please"),
            words.shell("echo more >> a.txt"),
        ],
        "child" => vec![
            words.create("child.txt", "c\n"),
            words.shell("echo more >> child.txt"),
        ],
        // Its last call writes a file, and is killed while it sleeps.
        "slow" => vec![
            words.create("new.txt", "new\n"),
            words.shell("rm -r data; rm .env; echo more >> README.md"),
            words.shell("echo late > late.txt; exec sleep 200"),
        ],
        // Files of its own, which its calls name.
        name if name.starts_with(IN_STEP) => vec![
            words.create(&format!("{name}-new.txt"), "new\n"),
            words.edit(&format!("{name}.txt"), "old", "changed"),
            words.create(&format!("{name}-other.txt"), "other\n"),
        ],
        "tools" => {
            let mut calls: Vec<Call> = words.search().into_iter().collect();
            calls.extend([
                words.own(
                    "snapshot_create",
                    json!({"name": "first", "description": "before"}),
                ),
                words.shell("rm -r data; rm .env; echo oops >> src/main.rs"),
                words.own("snapshot_list", json!({})),
                words.own("snapshot_diff", json!({"name": "first"})),
                words.own("session_checkpoints", json!({})),
                words.own("snapshot_restore", json!({"name": "first"})),
            ]);
            calls
        }
        _ => Vec::new(),
    }
}

struct Words<'a> {
    client: Client,
    project: &'a Path,
}

impl Words<'_> {
    fn path(&self, below: &str) -> String {
        self.project.join(below).to_str().unwrap().to_owned()
    }

    fn create(&self, below: &str, text: &str) -> Call {
        let path = self.path(below);
        match self.client {
            Client::Claude => call("Write", json!({"file_path": path, "content": text})),
            Client::Codex => call(
                "apply_patch",
                json!(format!(
                    "*** Begin Patch\n*** Add File: {below}\n+{text}*** End Patch\n"
                )),
            ),
            Client::Gemini => call("write_file", json!({"file_path": path, "content": text})),
            Client::Opencode => call("write", json!({"filePath": path, "content": text})),
            Client::Copilot => call("create", json!({"path": path, "file_text": text})),
        }
    }

    fn edit(&self, below: &str, old: &str, new: &str) -> Call {
        let path = self.path(below);
        match self.client {
            Client::Claude => call(
                "Edit",
                json!({"file_path": path, "old_string": old, "new_string": new}),
            ),
            Client::Codex => call(
                "apply_patch",
                json!(format!(
                    "*** Begin Patch\n*** Update File: {below}\n@@\n-{old}\n+{new}\n*** End Patch\n"
                )),
            ),
            Client::Gemini => call(
                "replace",
                json!({"file_path": path, "instruction": "x", "old_string": old, "new_string": new, "allow_multiple": false}),
            ),
            Client::Opencode => call(
                "edit",
                json!({"filePath": path, "oldString": old, "newString": new}),
            ),
            Client::Copilot => call("edit", json!({"path": path, "old_str": old, "new_str": new})),
        }
    }

    fn shell(&self, line: &str) -> Call {
        match self.client {
            Client::Claude => call("Bash", json!({"command": line, "description": "x"})),
            Client::Codex => call("exec_command", json!({"cmd": line})),
            Client::Gemini => call("run_shell_command", json!({"command": line, "description": "x"})),
            Client::Opencode | Client::Copilot => call("bash", json!({"command": line, "description": "x"})),
        }
    }

    fn sub_agent(&self, prompt: &str) -> Call {
        match self.client {
            Client::Opencode => call(
                "task",
                json!({"description": "child", "prompt": prompt, "subagent_type": "general"}),
            ),
            _ => call(
                "Agent",
                json!({"description": "child", "prompt": prompt, "subagent_type": "general-purpose",
                    "run_in_background": false}),
            ),
        }
    }

    /// A tool of jackin's MCP server.
    fn own(&self, tool: &str, arguments: Value) -> Call {
        match self.client {
            Client::Claude => call(&format!("mcp__jackin-recovery__{tool}"), arguments),
            Client::Gemini => call(&format!("mcp_jackin-recovery_{tool}"), arguments),
            Client::Codex => Call {
                namespace: Some("mcp__jackin_recovery"),
                ..call(tool, arguments)
            },
            _ => call(&format!("jackin-recovery_{tool}"), arguments),
        }
    }

    /// Claude Code loads the tools of a server when its model asks for them.
    fn search(&self) -> Option<Call> {
        let names = [
            "snapshot_create",
            "snapshot_list",
            "snapshot_diff",
            "session_checkpoints",
            "snapshot_restore",
        ];
        let names = names.map(|name| format!("mcp__jackin-recovery__{name}"));
        let query = format!("select:{}", names.join(","));
        (self.client == Client::Claude).then(|| call("ToolSearch", json!({"query": query, "max_results": 9})))
    }
}
