//! A home with a project of every kind of file, one installed client, the stub, and jackin.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Client;
use super::script::IN_STEP;
use super::stub::Stub;
use crate::support::kill::lives;
use crate::support::machine::workplace;
use crate::support::patience::await_that;
use crate::support::skipped::skipped;

/// No run of a client may take longer.
const PATIENCE: Duration = Duration::from_secs(480);

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_jackin");

/// Most tests that run clients at a time. A client computes for up to twenty seconds; if all start together, none ends in time.
const AT_ONCE: usize = 4;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// The turn of a test to run clients.
struct Turn;

impl Turn {
    fn wait() -> Self {
        let running = RUNNING.lock().unwrap();
        *ENDED.wait_while(running, |running| *running >= AT_ONCE).unwrap() += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap() -= 1;
        ENDED.notify_one();
    }
}

pub(super) struct World {
    client: Client,
    programs: PathBuf,
    place: Arc<TempDir>,
    stub: Stub,
    /// Two clients of one test share it.
    turn: Arc<Turn>,
}

impl World {
    /// Returns a new one; `None`, and says why, where the client is not installed. `more` stands in `[recovery]`.
    pub(super) fn new(client: Client, what: &str, more: &str) -> Option<Self> {
        let programs = match client.programs() {
            Ok(programs) => programs,
            Err(why) => {
                skipped(&why);
                return None;
            }
        };
        let turn = Arc::new(Turn::wait());
        let place = TempDir::with_prefix_in(format!("jr-{}-{what}-", client.word()), workplace()).unwrap();
        let (home, project) = (place.path().join("home"), place.path().join("proj"));
        fs::create_dir(&home).unwrap();
        build(&project);
        let workspace = home.join(".config/jackin/workspaces/proj.toml");
        fs::create_dir_all(workspace.parent().unwrap()).unwrap();
        let mount = format!("[[mounts]]\nsrc = {project:?}\ndst = \"/workspace/proj\"\n");
        let text = format!("[recovery]\nsnapshot = \"project\"\n{more}\n{mount}");
        fs::write(workspace, text).unwrap();
        let stub = Stub::start(client, project.clone());
        client.configure(&home, &project, &format!("http://127.0.0.1:{}", stub.port));
        Some(Self {
            client,
            programs,
            place: Arc::new(place),
            stub,
            turn,
        })
    }

    /// Returns the same home and project with another client; `None`, and says why, where that is not installed.
    pub(super) fn beside(&self, client: Client) -> Option<Self> {
        let programs = client.programs().map_err(|why| skipped(&why)).ok()?;
        let stub = self.stub.beside(client, self.project());
        let url = format!("http://127.0.0.1:{}", stub.port);
        client.configure(&self.home(), &self.project(), &url);
        Some(Self {
            client,
            programs,
            place: Arc::clone(&self.place),
            stub,
            turn: Arc::clone(&self.turn),
        })
    }

    pub(super) fn project(&self) -> PathBuf {
        self.place.path().join("proj")
    }

    fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    pub(super) fn install(&self) {
        self.jackin(&["hook", "install", self.client.word(), "--yes"]);
        let state = &self.json(&["hook", "status", self.client.word(), "--json"])["hooks"][0];
        assert_eq!(state["state"], "installed", "{state}");
        // Nothing more has to be done: also the agent that asks for trust has it.
        assert_ne!(state["trust"], "untrusted", "{state}");
    }

    /// Adds the marketplace of this repository, and installs the plugin from it.
    pub(super) fn install_plugin(&self) {
        let top = env!("CARGO_MANIFEST_DIR");
        let plugin = format!("{top}/packaging/claude-code");
        for words in [
            &["validate", "--strict", top][..],
            &["validate", "--strict", &plugin],
            &["marketplace", "add", top],
            &["install", "jackin-recovery@jackin-recovery"],
        ] {
            let program = self.programs.join(self.client.word());
            self.finish(Command::new(program).arg("plugin").args(words), "plugin");
        }
    }

    /// Installs the extension for Gemini CLI from this repository.
    pub(super) fn install_extension(&self) {
        let extension = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/gemini");
        // What a person answers who is asked on a terminal.
        let trusted = json!({extension: "TRUST_FOLDER"});
        fs::write(
            self.home().join(".gemini/trustedFolders.json"),
            trusted.to_string(),
        )
        .unwrap();
        for words in [&["validate", extension][..], &["install", extension, "--consent"]] {
            let program = self.programs.join(self.client.word());
            self.finish(Command::new(program).arg("extensions").args(words), "extension");
        }
    }

    /// Copies the plugin file for opencode from this repository.
    pub(super) fn copy_plugin(&self) {
        let file = "jackin-recovery.js";
        let directory = self.home().join(".config/opencode/plugins");
        fs::create_dir_all(&directory).unwrap();
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/opencode");
        fs::copy(shipped.join(file), directory.join(file)).unwrap();
    }

    pub(super) fn uninstall(&self) {
        self.jackin(&["hook", "uninstall", self.client.word(), "--yes"]);
    }

    pub(super) fn add_server(&self) {
        if let Some(words) = self.client.server(&self.home(), Path::new(PROGRAM)) {
            let program = self.programs.join(self.client.word());
            self.finish(Command::new(program).args(words), "mcp");
        }
    }

    /// Returns the name of the client's script that it works through in step with another client.
    pub(super) fn step(&self) -> String {
        format!("{IN_STEP}{}", self.client.word())
    }

    /// Lets the client work through a script, to its end.
    pub(super) fn run(&self, script: &str) {
        self.ask(&format!("SCRIPT:{script} please"));
    }

    /// Gives the client a prompt, and lets it work to its end.
    pub(super) fn ask(&self, prompt: &str) {
        self.start(self.client.arguments(prompt));
    }

    /// Continues a conversation with a script.
    pub(super) fn resume(&self, id: &str, script: &str) {
        let prompt = format!("SCRIPT:{script} please");
        self.start(self.client.arguments_to_resume(id, &prompt));
    }

    /// Lets the client work through the script `slow`, and kills it with all that it started in the middle of its last call.
    pub(super) fn run_and_kill(&self) {
        let program = self.programs.join(self.client.word());
        let mut command = Command::new(program);
        command.args(self.client.arguments("SCRIPT:slow please"));
        let mut child = self.spawn(&mut command, "client");
        let late = self.project().join("late.txt");
        let is_late = || fs::read(&late).is_ok_and(|text| text.ends_with(b"\n"));
        let end = Instant::now() + PATIENCE;
        while !is_late() && child.try_wait().unwrap().is_none() && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
        let was_alive = child.try_wait().unwrap().is_none();
        // All stand still before one dies: none goes on when the call ends, and none looks at what it wrote.
        stop_all_of(self.place.path(), &child);
        // First by what they carry: one that the group's signal is ending shows nothing by which it could be waited for.
        kill_all_of(self.place.path());
        kill_group(&mut child);
        assert!(
            was_alive && is_late(),
            "{:?} did not come to its last call: {}",
            self.client,
            self.said()
        );
    }

    fn start(&self, arguments: Vec<String>) {
        let program = self.programs.join(self.client.word());
        self.finish(Command::new(program).args(arguments), "client");
    }

    pub(super) fn prompts(&self) -> Vec<String> {
        self.stub.prompts()
    }

    /// Returns what the client has said, for messages.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(self.output("client")).unwrap_or_default()
    }

    pub(super) fn results(&self) -> Vec<Value> {
        self.stub.results()
    }

    #[track_caller]
    pub(super) fn jackin(&self, words: &[&str]) -> String {
        self.finish(Command::new(PROGRAM).arg("recovery").args(words), "jackin")
    }

    #[track_caller]
    pub(super) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.jackin(words)).unwrap()
    }

    #[track_caller]
    pub(super) fn only_session(&self) -> Value {
        let all = self.json(&["list", "--json"]);
        let sessions = all["instances"].as_array().unwrap();
        assert_eq!(sessions.len(), 1, "{:?}: {all}\n{}", self.client, self.said());
        sessions[0].clone()
    }

    /// Runs jackin, and returns its status with the JSON that it prints.
    pub(super) fn status_and_json(&self, words: &[&str]) -> (Option<i32>, Value) {
        let mut command = Command::new(PROGRAM);
        let (status, said, errors) = self.end(command.arg("recovery").args(words), "jackin");
        let document = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}\n{errors}"));
        (status.and_then(|status| status.code()), document)
    }

    fn output(&self, name: &str) -> PathBuf {
        self.place
            .path()
            .join(format!("{}-{name}.out", self.client.word()))
    }

    /// Runs a command as [`Self::end`] does; any failure is one of the test. Returns its output.
    #[track_caller]
    fn finish(&self, command: &mut Command, name: &str) -> String {
        let (status, said, errors) = self.end(command, name);
        assert!(
            status.is_some_and(|status| status.success()),
            "{:?} {name}: {status:?}\n{said}\n{errors}",
            self.client
        );
        said
    }

    /// Runs a command in the project, with nothing of the caller's environment but `PATH`. Everything that it started and left in its
    /// group goes with it. Returns its status, if it ended in time, and its output.
    fn end(&self, command: &mut Command, name: &str) -> (Option<ExitStatus>, String, String) {
        let mut child = self.spawn(command, name);
        let end = Instant::now() + PATIENCE;
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() > end => break None,
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        kill_group(&mut child);
        let read = |file: PathBuf| fs::read_to_string(file).unwrap_or_default();
        let output = self.output(name);
        (status, read(output.clone()), read(output.with_extension("err")))
    }

    fn spawn(&self, command: &mut Command, name: &str) -> Child {
        let output = self.output(name);
        let file = fs::File::create(&output).unwrap();
        let errors = fs::File::create(output.with_extension("err")).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        // The plugin calls the program by its second name.
        let named = Path::new(PROGRAM).parent().unwrap();
        let url = format!("http://127.0.0.1:{}", self.stub.port);
        command
            .env_clear()
            .env(
                "PATH",
                format!("{}:{}:{path}", self.programs.display(), named.display()),
            )
            .env("HOME", self.home())
            .env("TERM", "dumb")
            // What node compiled of a client once it does not compile at each start.
            .env("NODE_COMPILE_CACHE", self.programs.join("../cache"))
            .envs(self.client.variables(&url))
            .current_dir(self.project())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors);
        command.spawn().unwrap()
    }

    /// Returns everything that a restore has to bring back: each path with its kind, mode, target and content.
    pub(super) fn state(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.project()];
        while let Some(at) = open.pop() {
            let facts = fs::symlink_metadata(&at).unwrap();
            let content = if facts.is_symlink() {
                fs::read_link(&at).unwrap().into_os_string().into_encoded_bytes()
            } else if facts.is_dir() {
                // opencode keeps a note of its own there.
                let entries = fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path());
                open.extend(entries.filter(|path| !path.ends_with(".git/opencode")));
                Vec::new()
            } else {
                fs::read(&at).unwrap()
            };
            found.insert(at, (facts.mode(), content));
        }
        found
    }
}

/// Kills a process with its group, and waits for all of it: a client that set its title shows no environment to be found by.
fn kill_group(child: &mut Child) {
    let group = rustix::process::Pid::from_child(child);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let _ = child.wait();
    await_that("the end of a client's group", || !lives(group));
}

/// Stops a process with its group, and all processes whose environment names the place, until each stands still.
fn stop_all_of(place: &Path, child: &Child) {
    let group = rustix::process::Pid::from_child(child);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::STOP);
    let end = Instant::now() + PATIENCE;
    loop {
        let mut all_stand = true;
        for (process, id) in processes_of(place) {
            if state(&process).is_some_and(|state| !"TtZX".contains(state)) {
                all_stand = false;
                let _ = rustix::process::kill_process(id, rustix::process::Signal::STOP);
            }
        }
        if all_stand {
            return;
        }
        assert!(Instant::now() < end, "a client cannot be stopped");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Kills the processes whose environment names the place, until none is left: clients start themselves once more, and calls in groups of
/// their own.
fn kill_all_of(place: &Path) {
    let end = Instant::now() + PATIENCE;
    let mut killed = HashSet::new();
    loop {
        // One that is dying has no environment any more, and is not dead yet.
        let mut are_left = killed
            .iter()
            .any(|process: &PathBuf| state(process).is_some_and(|state| !"ZX".contains(state)));
        for (process, id) in processes_of(place) {
            are_left = true;
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            killed.insert(process);
        }
        if !are_left {
            return;
        }
        assert!(Instant::now() < end, "a client cannot be killed");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the processes whose environment names the place: their directories in /proc, and their numbers.
fn processes_of(place: &Path) -> Vec<(PathBuf, rustix::process::Pid)> {
    use std::os::unix::ffi::OsStrExt as _;
    let place = place.as_os_str().as_bytes();
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|process| {
        let id = process.file_name().to_string_lossy().parse().ok()?;
        let environment = fs::read(process.path().join("environ")).ok()?;
        let names_it = environment.windows(place.len()).any(|part| part == place);
        Some((process.path(), rustix::process::Pid::from_raw(id)?)).filter(|_| names_it)
    })
    .collect()
}

/// Returns the letter that proc(5) has for the state of a process; `None` if it is gone.
fn state(process: &Path) -> Option<char> {
    let line = fs::read_to_string(process.join("stat")).ok()?;
    let letter = line.rsplit_once(") ")?.1.chars().next()?;
    // The first thread is a zombie while others of a killed process still end, and jackin rightly takes that for a running one.
    let threads = fs::read_dir(process.join("task")).map_or(0, Iterator::count);
    Some(if letter == 'Z' && threads > 1 { 'R' } else { letter })
}

/// A repository with a commit, ignored files, modes, a link, an empty directory.
fn build(project: &Path) {
    for directory in ["src", "data/deep", "empty"] {
        fs::create_dir_all(project.join(directory)).unwrap();
    }
    let write = |below: &str, mode: u32, text: &[u8]| {
        fs::write(project.join(below), text).unwrap();
        fs::set_permissions(project.join(below), fs::Permissions::from_mode(mode)).unwrap();
    };
    write("src/main.rs", 0o644, b"fn main() {}\n");
    write("README.md", 0o644, b"# readme\n");
    write(".gitignore", 0o644, b".env\ndata/\n");
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(project)
            .args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
        let output = command
            .args(words)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "one"]);
    write(".env", 0o600, b"SECRET=1\n");
    let noise: Vec<u8> = (0..300_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    write("data/a.bin", 0o640, &noise);
    write("data/deep/b", 0o644, b"deep\n");
    fs::set_permissions(project.join("data"), fs::Permissions::from_mode(0o750)).unwrap();
    write("run.sh", 0o755, b"#!/bin/sh\necho hi\n");
    symlink("../README.md", project.join("src/link")).unwrap();
    git(&["status"]);
}
