//! An agent whose hooks report its conversation.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::machine::write_script;
use super::run::Run;
use super::sandbox::Sandbox;

/// Conversation of an agent in one process, which dies without a word at the end of the script.
pub(crate) struct Conversation<'a> {
    sandbox: &'a Sandbox,
    project: &'a Path,
    session: String,
    script: String,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(sandbox: &'a Sandbox, project: &'a Path, session: &str) -> Self {
        let mut new = Self {
            sandbox,
            project,
            session: session.to_owned(),
            script: "jackin=$1\n".to_owned(),
        };
        new.hook("SessionStart", &json!({"source": "startup"}));
        new
    }

    pub(crate) fn hook(&mut self, event: &str, more: &Value) {
        let name = format!("{}-{}", self.session, self.script.len());
        let file = self.sandbox.scratch(&name);
        fs::write(&file, event_of(&self.session, self.project, more)).unwrap();
        let hook = format!(
            "\"$jackin\" recovery hook run claude {event} < '{}'",
            file.display()
        );
        self.shell(&hook);
    }

    pub(crate) fn shell(&mut self, line: &str) {
        self.script.push_str(&format!("{line} || exit 9\n"));
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.hook("UserPromptSubmit", &json!({"prompt": text}));
    }

    /// Calls a shell with `command`, which does `work`.
    pub(crate) fn call_that(&mut self, command: &str, work: impl FnOnce(&mut Self)) {
        let id = format!("call-{}", self.script.len());
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id});
        self.hook("PreToolUse", &call);
        work(self);
        self.hook("PostToolUse", &call);
    }

    /// Calls a shell with `command`.
    pub(crate) fn call(&mut self, command: &str) {
        self.call_that(command, |agent| agent.shell(command));
    }

    pub(crate) fn turn(&mut self, prompt: &str, command: &str) {
        self.prompt(prompt);
        self.call(command);
        self.stop();
    }

    pub(crate) fn stop(&mut self) {
        self.hook("Stop", &json!({}));
    }

    pub(crate) fn end(&mut self) {
        self.hook("SessionEnd", &json!({"reason": "exit"}));
    }

    /// Runs it as the program `claude` that is launched.
    pub(crate) fn launch(self) -> Run {
        let program = self.sandbox.scratch("claude");
        write_script(&program, &format!("#!/bin/sh\n{}", self.script));
        let jackin = super::machine::binary();
        let command = [
            "launch".as_ref(),
            "--".as_ref(),
            program.as_path(),
            jackin.as_path(),
        ];
        self.sandbox.command(command).inside(self.project).run()
    }

    /// Runs it in a process that is neither a shell nor a program that only starts another.
    pub(crate) fn run(self) -> Run {
        let lock = self.sandbox.scratch("lock");
        // Shared: several agents may run at once.
        let agent = [
            "flock",
            "-s",
            lock.to_str().unwrap(),
            "sh",
            "-c",
            &self.script,
            "sh",
        ];
        let run = self.sandbox.command(["x"]).inside(self.project);
        run.through(&agent).run()
    }
}

/// Reports one event of a conversation from a process that lives as long as this one.
pub(crate) fn report(sandbox: &Sandbox, project: &Path, session: &str, event: &str, more: &Value) {
    let what = event_of(session, project, more);
    sandbox.tell("claude", event, what.as_bytes()).ok();
}

fn event_of(session: &str, project: &Path, more: &Value) -> String {
    let mut what = json!({"session_id": session, "cwd": project});
    let members = what.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    what.to_string()
}
