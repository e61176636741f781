//! Carries what is said to an agent on another machine: the operator's own `ssh` and `docker` do, so their configuration, keys and
//! contexts count. Nothing of a mount is ever part of a command; the words of one are fixed, but for an address that was checked.

mod container;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use self::container::Reach;
use super::search::{find, path_outside};
use crate::clock::{Entropy, letters, random};
use crate::environment::Environment;
use crate::platform::remote::{Address, Channel, Listener};

pub use container::HELPER_VARIABLE;

/// The variable that says which agent serves on other machines.
pub const AGENT_VARIABLE: &str = "JACKIN_RECOVERY_AGENT";

/// What a carrier said last is kept (bytes).
const KEPT: u64 = 4 << 10;
/// How long a carrier that closed its end may take to say why.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long an answer may take: what is synced may be much (seconds).
const SILENCE: i64 = 300;
/// So long it is waited before anybody looks whether the operator wants to stop (seconds).
const STEP: i64 = 5;
/// Room between a carrier and this program (bytes).
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;
const NAP: Duration = Duration::from_millis(10);
/// Words for `ssh`: nobody is asked anything, nothing is forwarded, a machine that does not answer any more is given up.
const SSH: [&str; 11] = [
    "-T",
    "-a",
    "-x",
    "-oBatchMode=yes",
    "-oControlMaster=no",
    "-oClearAllForwardings=yes",
    "-oPermitLocalCommand=no",
    "-oRemoteCommand=none",
    "-oServerAliveInterval=15",
    "-oServerAliveCountMax=4",
    "-oConnectTimeout=20",
];
/// Starts what is installed there, under either of its names. Each tells who listens, behind words that nothing else there says.
const INSTALLED: &str = "if command -v jackin-recovery >/dev/null 2>&1; then echo \"$T agent\"; exec jackin-recovery __agent; \
    elif jackin recovery --version >/dev/null 2>&1; then echo \"$T agent\"; exec jackin recovery __agent; fi; ";
/// A shell that runs what is said to it, when it begins with the mark that it was told first.
pub(crate) const SHELL: &str = "echo \"$T shell\"; LC_ALL=C; TZ=UTC0; export LC_ALL TZ; unset TAR_OPTIONS POSIXLY_CORRECT CDPATH ENV BASH_ENV; \
    IFS= read -r M; while IFS= read -r l; do case $l in \"$M \"*) eval \"${l#\"$M \"}\";; *) exit 1;; esac; done";
/// What another machine's start-up files may say before (bytes).
const CHATTER: usize = 64 << 10;

/// Where the agent comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentSource {
    /// This program, where it is installed there; else the shell and the tools there serve.
    #[default]
    Auto,
    /// This program is copied there for as long as the command runs.
    Copy,
    /// The shell and the tools there, whatever is installed.
    Shell,
}

impl AgentSource {
    /// What [`AGENT_VARIABLE`] says.
    ///
    /// # Errors
    /// The words that say what is wrong with it.
    pub fn of(environment: &Environment) -> Result<Self, String> {
        match environment.get(AGENT_VARIABLE).and_then(OsStr::to_str) {
            None | Some("" | "auto") => Ok(Self::Auto),
            Some("copy") => Ok(Self::Copy),
            Some("shell") => Ok(Self::Shell),
            Some(_) => Err(format!("{AGENT_VARIABLE} is none of auto, copy and shell")),
        }
    }
}

/// Starts an agent at an address. What lies in one of `mounts` is never started: an agent can write there. `stop` is set when the
/// operator wants to stop: who does not answer by then is given up.
///
/// # Errors
/// Why it cannot be started, in words.
pub fn carry(
    environment: &Environment,
    mounts: &[PathBuf],
    stop: &Arc<AtomicBool>,
    entropy: &dyn Entropy,
    address: &Address,
) -> io::Result<Channel> {
    let carrier = Carrier::new(environment, mounts, stop, entropy, address)?;
    match AgentSource::of(environment).map_err(io::Error::other)? {
        AgentSource::Auto => carrier.start(&[INSTALLED, SHELL].concat()),
        AgentSource::Shell => carrier.start(SHELL),
        AgentSource::Copy => {
            let mut own = File::open(std::env::current_exe()?)?;
            let size = own.metadata()?.len();
            let mut channel = carrier.start(&take(size))?;
            let sent = io::copy(&mut own, &mut channel.to).and_then(|_| channel.to.flush());
            match sent {
                Ok(()) => Ok(channel),
                Err(error) => {
                    let why = (channel.why)().unwrap_or_else(|| error.to_string());
                    Err(io::Error::other(format!(
                        "this program cannot be copied there: {why}"
                    )))
                }
            }
        }
    }
}

/// Letters and digits that nobody can guess.
fn unguessable(entropy: &dyn Entropy) -> String {
    [letters(random(entropy)), letters(random(entropy))].concat()
}

/// Who listens, as its first line tells. What start-up files say before is passed over.
fn listener(from: &mut impl Read, token: &str, mark: String) -> io::Result<Listener> {
    let mut said = Vec::new();
    while said.len() < CHATTER {
        let mut byte = [0];
        if from.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        said.extend(byte);
        if said.last() != Some(&b'\n') {
            continue;
        }
        let line = said.trim_ascii_end();
        let word = line.strip_suffix(b" agent").map(|rest| (rest, true));
        let word = word.or_else(|| line.strip_suffix(b" shell").map(|rest| (rest, false)));
        match word {
            Some((rest, true)) if rest.ends_with(token.as_bytes()) => return Ok(Listener::Agent),
            Some((rest, false)) if rest.ends_with(token.as_bytes()) => return Ok(Listener::Shell(mark)),
            _ => {}
        }
    }
    Err(io::Error::other(
        "what answers there is no shell; does its start-up file say too much?",
    ))
}

/// Takes a copy of this program in, in a directory that nobody else may look into, runs it, and removes it, whatever comes.
fn take(size: u64) -> String {
    format!(
        "echo \"$T agent\"; umask 077 && d=$(mktemp -d \"${{TMPDIR:-/tmp}}/jackin-recovery.XXXXXXXXXX\") || exit 1; \
         trap \"rm -rf \\\"$d\\\"\" 0 1 2 15; head -c {size} >\"$d/agent\" && chmod 700 \"$d/agent\" && \
         \"$d/agent\" recovery __agent --remove \"$d\""
    )
}

/// The program that carries, and its words up to the command.
struct Carrier<'e> {
    entropy: &'e dyn Entropy,
    program: PathBuf,
    path: OsString,
    reach: Reach,
    /// The other side takes a line for its shell, not words.
    by_line: bool,
    stop: Arc<AtomicBool>,
}

impl<'e> Carrier<'e> {
    fn new(
        environment: &Environment,
        mounts: &[PathBuf],
        stop: &Arc<AtomicBool>,
        entropy: &'e dyn Entropy,
        address: &Address,
    ) -> io::Result<Self> {
        let path = path_outside(environment, mounts);
        let name = match address {
            Address::Ssh { .. } => "ssh",
            Address::Docker { .. } | Address::Volume { .. } => "docker",
        };
        let program = find(OsStr::new(name), &path, mounts)
            .ok_or_else(|| io::Error::other(format!("{name} is not installed here, or not in PATH")))?;
        let reach = match address {
            Address::Ssh { host, user, port } => {
                let mut words: Vec<OsString> = SSH.iter().map(OsString::from).collect();
                words.extend(user.iter().map(|user| format!("-oUser={user}").into()));
                words.extend(port.iter().map(|port| format!("-oPort={port}").into()));
                words.extend(["--".into(), host.into()]);
                let only = Vec::new();
                Reach { words, only }
            }
            Address::Docker { container: name } => container::container(&program, &path, environment, name)?,
            Address::Volume { name } => container::volume(&program, &path, environment, name)?,
        };
        Ok(Self {
            entropy,
            program,
            path,
            reach,
            by_line: matches!(address, Address::Ssh { .. }),
            stop: Arc::clone(stop),
        })
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.reach.words)
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
            false => command.arg(script),
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
        let (token, mark) = (unguessable(self.entropy), unguessable(self.entropy));
        let mut child = self.spawn(&mut self.command(&format!("T={token}; {script}")))?;
        let (from, to) = (child.stdout.take(), child.stdin.take());
        let complaint = listen(child.stderr.take());
        let child = Mutex::new(child);
        let why = move || ended(&child, &complaint);
        let (Some(from), Some(to)) = (from, to) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // What waits in a larger one wakes fewer processes; where it cannot be had the usual one does.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&from, PIPE);
        let mut from = Patient {
            pipe: from,
            stop: Arc::clone(&self.stop),
        };
        let listener = match listener(&mut from, &token, mark) {
            Ok(listener) => listener,
            Err(error) => return Err(why().map_or(error, io::Error::other)),
        };
        Ok(Channel {
            only: self.reach.only.clone(),
            listener,
            from: Box::new(from),
            to: Box::new(Patient {
                pipe: to,
                stop: Arc::clone(&self.stop),
            }),
            why: Box::new(why),
        })
    }
}

/// Reads and writes, but does not wait for ever, and not long when the operator wants to stop.
struct Patient<T> {
    pipe: T,
    stop: Arc<AtomicBool>,
}

impl<T: AsFd> Patient<T> {
    fn wait(&self, wanted: PollFlags) -> io::Result<()> {
        let step = Timespec {
            tv_sec: STEP,
            tv_nsec: 0,
        };
        for _ in 0..SILENCE / STEP {
            let mut ready = [PollFd::new(&self.pipe, wanted)];
            match poll(&mut ready, Some(&step)) {
                Ok(0) if self.stop.load(Ordering::Relaxed) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "it did not answer, and was given up",
                    ));
                }
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "it has not answered for five minutes",
        ))
    }
}

impl Read for Patient<ChildStdout> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFlags::IN)?;
        self.pipe.read(room)
    }
}

impl Write for Patient<ChildStdin> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A pipe that has room for something has room for so much (pipe(7)), and more would wait.
        const SURE: usize = 4096;
        self.wait(PollFlags::OUT)?;
        self.pipe.write(bytes.get(..SURE).unwrap_or(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
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
