//! A session that is still running while the test goes on.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};

use super::invocation::Started;
use super::machine::run_tool;
use super::run::Run;
use super::sandbox::Sandbox;

/// A launched session whose command did its damage and now waits to be told to go on, or to be killed.
pub(crate) struct Background {
    launcher: Option<Started>,
    agent: Pid,
    go: PathBuf,
}

impl Background {
    /// Launches `script` on `directory` and returns when it is done and the session waits.
    #[track_caller]
    pub(crate) fn launch(sandbox: &Sandbox, directory: &Path, script: &str) -> Self {
        Self::launch_in(sandbox, "project", directory, script)
    }

    /// The same in another mode.
    #[track_caller]
    pub(crate) fn launch_in(sandbox: &Sandbox, mode: &str, directory: &Path, script: &str) -> Self {
        Self::launch_with(sandbox, &["--snapshot", mode], directory, script)
    }

    /// The same with flags of `launch`.
    #[track_caller]
    pub(crate) fn launch_with(sandbox: &Sandbox, flags: &[&str], directory: &Path, script: &str) -> Self {
        let mark = directory.file_name().unwrap().to_string_lossy().into_owned();
        let number = fs::read_dir(sandbox.scratch("").as_path()).map_or(0, |all| all.count());
        let ready = sandbox.scratch(&format!("ready-{mark}-{number}"));
        let go = sandbox.scratch(&format!("go-{mark}-{number}"));
        // It waits in a pipe that nobody opened yet, without a child of its own: the session is one process.
        run_tool(Command::new("mkfifo").arg(&go));
        let whole = format!(
            "{script}\necho $$ > '{ready}'; read go < '{go}'",
            ready = ready.display(),
            go = go.display()
        );
        let target = directory.to_str().unwrap();
        let launcher = sandbox
            .command([&["launch"], flags, &[target, "--", "sh", "-c", &whole]].concat())
            .inside(directory)
            .start();
        Self::wait_for(launcher, &ready, go)
    }

    #[track_caller]
    fn wait_for(mut launcher: Started, ready: &Path, go: PathBuf) -> Self {
        let begun = Instant::now();
        loop {
            // What has no end yet may be half of it.
            let written = fs::read_to_string(ready).unwrap_or_default();
            let agent = written.strip_suffix('\n').and_then(|text| text.parse().ok());
            if let Some(agent) = agent.and_then(Pid::from_raw) {
                return Self {
                    launcher: Some(launcher),
                    agent,
                    go,
                };
            }
            let gone = launcher.child.try_wait().unwrap().is_some();
            if gone || begun.elapsed() > Duration::from_secs(60) {
                let _ = launcher.child.kill();
                panic!("the session did not get ready\n{}", launcher.finish());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The agent's process number.
    pub(crate) fn agent(&self) -> i32 {
        self.agent.as_raw_nonzero().get()
    }

    /// Lets the command return and waits for the launcher.
    pub(crate) fn end(mut self) -> Run {
        self.let_go();
        self.launcher
            .take()
            .expect("it is taken only at the end")
            .finish()
    }

    /// Opens the pipe as soon as the agent reads from it. One that is gone never will.
    fn let_go(&self) {
        let begun = Instant::now();
        let mut options = fs::OpenOptions::new();
        options
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        while self.agent_lives() && begun.elapsed() < Duration::from_secs(120) {
            if let Ok(mut pipe) = options.open(&self.go) {
                pipe.write_all(b"go\n").unwrap();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// `kill -9` to the launcher alone; the agent lives on.
    pub(crate) fn kill_launcher(&mut self) {
        let launcher = self.launcher.as_mut().expect("it is taken only at the end");
        let _ = launcher.child.kill();
        let _ = launcher.child.wait();
    }

    /// `kill -9` to launcher and agent, and waits until both are gone.
    pub(crate) fn kill(mut self) {
        self.kill_all();
    }

    fn kill_all(&mut self) {
        if self.launcher.is_none() {
            return;
        }
        self.kill_launcher();
        self.launcher = None;
        let _ = kill_process(self.agent, Signal::KILL);
        let begun = Instant::now();
        while self.agent_lives() && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn agent_lives(&self) -> bool {
        super::process::lives(self.agent().unsigned_abs())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill_all();
    }
}
