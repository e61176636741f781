//! Carries what is said to an agent on another machine: the operator's own `ssh` and `docker` do, so their configuration, keys and
//! contexts count. Nothing of a mount is ever part of a command; the words of one are fixed, but for an address that was checked.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::search::{absolute_path, find};
use crate::environment::Environment;
use crate::platform::remote::{Address, Channel};

/// The variable that says which agent serves on other machines.
pub const AGENT_VARIABLE: &str = "JACKIN_RECOVERY_AGENT";

/// What a carrier said last is kept (bytes).
const KEPT: u64 = 4 << 10;
/// How long a carrier that closed its end may take to say why.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an answer may take: what is synced may be much (seconds).
const SILENCE: i64 = 300;
const NAP: Duration = Duration::from_millis(10);
/// Words for `ssh`: nobody is asked anything, nothing is forwarded, a machine that does not answer any more is given up.
const SSH: [&str; 9] = [
    "-T",
    "-oBatchMode=yes",
    "-oControlMaster=no",
    "-oClearAllForwardings=yes",
    "-oPermitLocalCommand=no",
    "-oRemoteCommand=none",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=4",
    "-oConnectTimeout=20",
];
/// Starts the agent that is installed there, under either of its names.
const INSTALLED: &str = "if command -v jackin-recovery >/dev/null 2>&1; then exec jackin-recovery __agent; \
    elif command -v jackin >/dev/null 2>&1; then exec jackin recovery __agent; \
    else echo \"jackin recovery is not installed there\" >&2; exit 127; fi";
/// How it says that it is not.
pub const NOT_INSTALLED: &str = "jackin recovery is not installed there";
/// Takes a copy of this program in, in a directory that nobody else may look into, and says which.
const TAKE: &str = "umask 077 && d=$(mktemp -d \"${TMPDIR:-/tmp}/jackin-recovery.XXXXXXXXXX\") && \
    cat >\"$d/agent\" && chmod 700 \"$d/agent\" && echo \"$d\"";

/// Where the agent comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentSource {
    /// It is installed there.
    #[default]
    Installed,
    /// This program is copied there for as long as the command runs.
    Copy,
}

impl AgentSource {
    /// What [`AGENT_VARIABLE`] says.
    ///
    /// # Errors
    /// The words that say what is wrong with it.
    pub fn of(environment: &Environment) -> Result<Self, String> {
        match environment.get(AGENT_VARIABLE).and_then(OsStr::to_str) {
            None | Some("" | "auto") => Ok(Self::Installed),
            Some("copy") => Ok(Self::Copy),
            Some(_) => Err(format!("{AGENT_VARIABLE} is neither auto nor copy")),
        }
    }
}

/// Starts an agent at an address.
///
/// # Errors
/// Why it cannot be started, in words.
pub fn carry(environment: &Environment, address: &Address) -> io::Result<Channel> {
    let carrier = Carrier::new(environment, address)?;
    match AgentSource::of(environment).map_err(io::Error::other)? {
        AgentSource::Installed => carrier.start(INSTALLED),
        AgentSource::Copy => {
            let directory = carrier.copy()?;
            // The agent removes its own file as soon as it runs; what cannot run is removed by the shell.
            carrier.start(&format!(
                "\"{directory}/agent\" recovery __agent --remove {directory}; \
                 code=$?; rm -rf {directory}; exit $code"
            ))
        }
    }
}

/// The program that carries, and its words up to the command.
struct Carrier {
    program: PathBuf,
    path: OsString,
    words: Vec<OsString>,
    /// The other side takes a line for its shell, not words.
    by_line: bool,
}

impl Carrier {
    fn new(environment: &Environment, address: &Address) -> io::Result<Self> {
        let path = absolute_path(environment);
        let name = match address {
            Address::Ssh { .. } => "ssh",
            Address::Docker { .. } => "docker",
        };
        let program = find(OsStr::new(name), &path, &[])
            .ok_or_else(|| io::Error::other(format!("{name} is not installed here, or not in PATH")))?;
        let mut words: Vec<OsString> = Vec::new();
        match address {
            Address::Ssh { host, user, port } => {
                words.extend(SSH.iter().map(OsString::from));
                words.extend(user.iter().map(|user| format!("-oUser={user}").into()));
                words.extend(port.iter().map(|port| format!("-oPort={port}").into()));
                words.extend(["--".into(), host.into()]);
            }
            // Whoever may use docker is root in a container anyway, and owners are put back by root alone.
            Address::Docker { container } => {
                words.extend(["exec", "-i", "-u", "0:0", container].map(OsString::from));
            }
        }
        let by_line = matches!(address, Address::Ssh { .. });
        Ok(Self {
            program,
            path,
            words,
            by_line,
        })
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.words)
            .env("PATH", &self.path)
            .current_dir("/")
            // Ctrl-C is meant for this program, which ends what it does first.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // The login shell there may be any; it is given one word that has no quote in it.
        match self.by_line {
            true => command.arg(format!("exec sh -c '{script}'")),
            false => command.args(["sh", "-c", script]),
        };
        command
    }

    fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{:?}: {error}", self.program));
        let child = command.spawn().map_err(named)?;
        lock(&CARRIERS).insert(child.id());
        Ok(child)
    }

    /// Starts what listens on its standard input and answers on its output.
    fn start(&self, script: &str) -> io::Result<Channel> {
        let mut child = self.spawn(&mut self.command(script))?;
        let (from, to) = (child.stdout.take(), child.stdin.take());
        let complaint = listen(child.stderr.take());
        let child = Mutex::new(child);
        let why = move || ended(&child, &complaint);
        match (from, to) {
            (Some(from), Some(to)) => Ok(Channel {
                from: Box::new(Patient(from)),
                to: Box::new(to),
                why: Box::new(why),
            }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Copies this program to the other machine; gives the directory that it lies in.
    fn copy(&self) -> io::Result<String> {
        let own = File::open(std::env::current_exe()?)?;
        let mut child = self.spawn(self.command(TAKE).stdin(own))?;
        let complaint = listen(child.stderr.take());
        let mut said = String::new();
        if let Some(from) = child.stdout.take() {
            from.take(KEPT).read_to_string(&mut said)?;
        }
        let directory = said.trim_end();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let fits = directory.starts_with('/') && directory.chars().all(is_plain);
        match child.wait()?.success() && fits {
            true => Ok(directory.to_owned()),
            false => {
                let why = ended(&Mutex::new(child), &complaint);
                let why = why.unwrap_or_else(|| "it does not say where it lies".to_owned());
                Err(io::Error::other(format!(
                    "this program cannot be copied there: {why}"
                )))
            }
        }
    }
}

/// Reads, but does not wait for ever.
struct Patient(ChildStdout);

impl Read for Patient {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut ready = [PollFd::new(&self.0, PollFlags::IN)];
        let wait = Timespec {
            tv_sec: SILENCE,
            tv_nsec: 0,
        };
        match poll(&mut ready, Some(&wait)) {
            Ok(0) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "it has not answered for five minutes",
            )),
            Ok(_) => self.0.read(room),
            Err(error) => Err(error.into()),
        }
    }
}

/// Every carrier that this process started.
static CARRIERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The processes that carry for this one. They are nobody's work in a session.
pub(super) fn carriers() -> BTreeSet<u32> {
    lock(&CARRIERS).clone()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a carrier complains of, so far.
type Complaint = Arc<Mutex<String>>;

fn listen(from: Option<impl Read + Send + 'static>) -> Complaint {
    let complaint = Complaint::default();
    let kept = Arc::clone(&complaint);
    if let Some(mut from) = from {
        // Nobody waits for it: what a carrier leaves behind may keep the pipe open.
        thread::spawn(move || {
            let mut room = [0; 512];
            while let Ok(count @ 1..) = from.read(&mut room) {
                let mut kept = lock(&kept);
                if (kept.len() as u64) < KEPT {
                    kept.push_str(&String::from_utf8_lossy(room.get(..count).unwrap_or_default()));
                }
            }
        });
    }
    complaint
}

/// Why a carrier ended, in its own words; `None` while it lives.
fn ended(child: &Mutex<Child>, complaint: &Complaint) -> Option<String> {
    let mut child = lock(child);
    let mut left = PATIENCE;
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if left.is_zero() => return None,
            None => {
                thread::sleep(NAP);
                left = left.saturating_sub(NAP);
            }
        }
    };
    // Its last words may still be on their way.
    thread::sleep(NAP);
    let said = lock(complaint);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Some(match last {
        Some(last) => last.trim().to_owned(),
        None => format!("the connection ended ({status})"),
    })
}

/// Removes the copy of this program that runs here.
///
/// # Errors
/// What the system says.
pub fn remove_copy(directory: &Path) -> io::Result<()> {
    std::fs::remove_file(directory.join("agent"))?;
    std::fs::remove_dir(directory)
}
