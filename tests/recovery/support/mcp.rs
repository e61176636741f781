//! A client of `mcp` that speaks raw JSON-RPC, in either era of the protocol.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::documents::instances;
use super::machine::binary;
use super::sandbox::Sandbox;

const PATIENCE: Duration = Duration::from_secs(60);

/// Which era is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// A handshake first.
    Initialize,
    /// Every request says all of it.
    Stateless,
}

/// What a tool gave.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) text: String,
    pub(crate) structured: Value,
    pub(crate) failed: bool,
}

impl Called {
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert!(!self.failed && !self.text.contains('\u{1b}'), "{self:?}");
        self
    }

    /// Insists that it failed and said this.
    #[track_caller]
    pub(crate) fn refused(self, fact: &str) -> Self {
        assert!(self.failed && self.text.contains(fact), "`{fact}`: {self:?}");
        assert!(!self.text.contains('\u{1b}'), "{self:?}");
        self
    }

    /// What stands there as text.
    #[track_caller]
    pub(crate) fn at(&self, pointer: &str) -> String {
        let found = self.structured.pointer(pointer);
        found
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{pointer}: {self:?}"))
            .to_owned()
    }
}

/// A server, and who speaks with it.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    era: Era,
    number: u64,
}

impl Client {
    /// Starts `mcp ARGS…` in `directory` and opens the conversation.
    pub(crate) fn start(sandbox: &Sandbox, directory: &Path, args: &[&str], era: Era) -> Self {
        Self::start_with(sandbox, directory, args, era, &[])
    }

    /// The same with more environment variables.
    pub(crate) fn start_with(
        sandbox: &Sandbox,
        directory: &Path,
        args: &[&str],
        era: Era,
        environment: &[(&str, &str)],
    ) -> Self {
        let mut child = Command::new(binary())
            .args(["recovery", "mcp"])
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", sandbox.home())
            .envs(environment.iter().copied())
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (say, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if say.send(line).is_err() {
                    break;
                }
            }
        });
        let mut client = Self {
            input: child.stdin.take(),
            child,
            lines,
            era,
            number: 0,
        };
        match era {
            Era::Initialize => {
                let who = json!({"name": "test", "version": "1"});
                let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who});
                let told = client.ask("initialize", hello);
                assert_eq!(told["result"]["serverInfo"]["name"], "jackin-recovery", "{told}");
                assert_eq!(told["result"]["protocolVersion"], "2025-06-18", "{told}");
                client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            }
            Era::Stateless => {
                let told = client.ask("server/discover", json!({}));
                let versions = told["result"]["supportedVersions"].as_array().unwrap();
                assert!(versions.contains(&json!("2026-07-28")), "{told}");
            }
        }
        client
    }

    /// Writes one message.
    pub(crate) fn say(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.say_raw(line.as_bytes());
    }

    /// Writes anything.
    pub(crate) fn say_raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    /// The request, under a new number.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.number += 1;
        if self.era == Era::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
    }

    /// The next message of the server's.
    pub(crate) fn hear(&self) -> Value {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .expect("the server says nothing");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Asks, and waits for the answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let request = self.request(method, params);
        self.say(&request);
        let answer = self.hear();
        assert_eq!(answer["id"], request["id"], "{answer}");
        answer
    }

    /// Calls a tool.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Called {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        called(&answer)
    }

    /// The names of the tools that are offered, with what each says of itself.
    pub(crate) fn tools(&mut self) -> Vec<(String, Value)> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap();
        let named = tools
            .iter()
            .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone()));
        named.collect()
    }

    /// Says no more.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// The process number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the server is gone.
    #[track_caller]
    pub(crate) fn gone(mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the server does not end");
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes its input and waits.
    #[track_caller]
    pub(crate) fn end(mut self) {
        self.close();
        let status = self.gone();
        assert!(status.success(), "{status}");
    }
}

/// The result in an answer to `tools/call`.
#[track_caller]
pub(crate) fn called(answer: &Value) -> Called {
    let result = &answer["result"];
    let texts = result["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let texts: Vec<&str> = texts.iter().map(|part| part["text"].as_str().unwrap()).collect();
    Called {
        text: texts.join("\n"),
        structured: result["structuredContent"].clone(),
        failed: result["isError"] == true,
    }
}

/// A workspace that is captured, with what `[recovery.agent]` says of it.
pub(crate) fn workspace(agent: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", &format!("sensitive = \"capture\"\n{agent}"));
    fs::write(project.join("a"), "of the operator\n").unwrap();
    fs::write(project.join(".env"), "SECRET=1\n").unwrap();
    (sandbox, project)
}

/// The agent may go back to what it marked.
pub(crate) const ALLOWED: &str = "[recovery.agent]\nrestore = \"checkpoints\"\n";

/// The id of the only session.
#[track_caller]
pub(crate) fn only(sandbox: &Sandbox) -> String {
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].id.clone()
}

/// Begins a session that lives as long as this process does, as a hook or a launcher of the agent would.
pub(crate) fn begin(sandbox: &Sandbox, project: &Path) -> String {
    let own = std::process::id().to_string();
    let begun = sandbox
        .command(["begin", "--snapshot", "project", "--pid", &own, "."])
        .inside(project)
        .run()
        .ok();
    String::from_utf8_lossy(&begun.stdout).trim().to_owned()
}
