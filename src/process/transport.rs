//! Carries what is said to an agent on another machine: the operator's own `ssh` and `docker` do, so their configuration, keys and
//! contexts count. Nothing of a mount is ever part of a command; the words of one are fixed, but for an address that was checked.

mod channel;
mod cleanup;
mod cluster;
mod container;
#[cfg(feature = "kubernetes")]
mod kubernetes;
#[cfg(not(feature = "kubernetes"))]
#[path = "transport/kubernetes_absent.rs"]
mod kubernetes;
mod program;

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::channel::{Heard, Patient, cut, ended, hear, listen, wait};
use self::cleanup::Lifeline;
use self::container::{container, volume};
use self::kubernetes::Kubectl;
use self::program::Program;
use crate::clock::{Entropy, letters, random};
use crate::environment::Environment;
use crate::features::{Feature, NotBuilt};
use handle_fs::remote::{Address, Channel, Helper, Listener, Patience, SHELL_LOOP, TIMEOUT_VARIABLE};
use processes::{find, path_outside};

pub use cleanup::hold;
pub use cluster::{Cut, LeftBehind, NewClaim, Permission, VolumePlan};
pub use kubernetes::{give_up_waiting, left_behind, permissions, settle as settle_cluster};

/// The variable that names the image of helpers, which are containers and pods.
pub const HELPER_VARIABLE: &str = "JACKIN_RECOVERY_HELPER_IMAGE";
/// Image of the helper for a volume if none is named.
const HELPER: &str = "busybox";
/// The variable that selects the agent on other machines.
pub const AGENT_VARIABLE: &str = "JACKIN_RECOVERY_AGENT";

/// Default time limit for remote machines.
const SILENCE: Duration = Duration::from_secs(60);
/// Room between a carrier and this program (bytes).
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;
/// Bytes that are sent at once of a copy, before a stop is looked for.
const PIECE: usize = 256 << 10;
/// Arguments for `ssh`: no prompts, no forwarding, and an end for a machine that does not answer any more.
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
/// Kills remote processes once the connection is gone, as a hanging process would not notice. A command that sshd runs leads a session of
/// its own, and its parent is the connection.
const WATCH: &str = "if kill -0 $PPID && read -r _ _ _ _ G _ </proc/$$/stat && [ \"$G\" = $$ ]; then \
    (while kill -0 $PPID && kill -0 $$; do sleep 2; done; kill -9 0) </dev/null >/dev/null 2>&1 & fi 2>/dev/null; ";
/// Starts what is installed there, under either of its names. Each tells who listens, behind words that nothing else there says.
const INSTALLED: &str = "if command -v jackin-recovery >/dev/null 2>&1; then echo \"$T agent\"; exec jackin-recovery __agent; \
    elif jackin recovery --version >/dev/null 2>&1; then echo \"$T agent\"; exec jackin recovery __agent; fi; ";
/// Takes a copy of this program in and runs it, if a directory can be made in which programs may run. It says which machine it is, reads
/// the length of the copy (0: there is none for it), then the copy. The copy removes itself and its directory when it starts, and says
/// who listens. Where it cannot run, all of it was read, nothing of it stays, and the script goes on with the reason in `W`. Where `dd`
/// can read whole blocks from a pipe it reads most of the copy: the `head` of busybox takes three times as long.
const OFFER: &str = "W=\"no directory lets it run (TMPDIR, /tmp, /var/tmp, /dev/shm)\"; \
    for D in \"${TMPDIR:-/tmp}\" /var/tmp /dev/shm; do \
    if d=$(mktemp -d \"$D/jackin-recovery.XXXXXXXXXX\"); then trap \"rm -rf \\\"\\$d\\\"\" 0; trap \"exit 1\" 1 2 15; \
    echo exit >\"$d/agent\" && chmod 700 \"$d/agent\" && \"$d/agent\" && break; rm -rf \"$d\"; trap - 0 1 2 15; fi 2>/dev/null; d=; done; \
    if [ -n \"$d\" ]; then echo \"$T wants $(uname -sm)\"; IFS=\" \" read -r N V; W=\"there is no static build for $(uname -sm)\"; \
    if [ \"${N:-0}\" -gt 0 ]; then W=\"it cannot be stored in $d\"; \
    if { if echo ok | dd bs=3 count=1 iflag=fullblock >/dev/null; then dd bs=65536 count=$((N / 65536)) iflag=fullblock && \
    head -c $((N % 65536)); else head -c \"$N\"; fi; } 2>/dev/null | { cat >\"$d/agent\" || { cat >/dev/null; false; }; } 2>/dev/null; then W=\"it does not run there, or is another version\"; \
    if [ \"$(\"$d/agent\" recovery --version </dev/null 2>/dev/null)\" = \"$V\" ]; then \
    \"$d/agent\" recovery __agent --remove \"$d\" --listening \"$T agent\"; exit; fi; fi; fi; \
    rm -rf \"$d\"; trap - 0 1 2 15; fi; ";
/// Ends a script whose copy of this program cannot run.
const NO_COPY: &str = "echo \"jackin cannot be copied there: $W\" >&2; exit 1";
/// Ends a script for a build that cannot work through a shell.
const NO_SHELL: &str = "echo \"jackin is not installed there, cannot be copied there ($W), and was built without the feature remote-shell\" \
    >&2; exit 1";

/// Source of the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentSource {
    /// This program where it is installed; else a static copy; else the shell and the tools there.
    #[default]
    Auto,
    /// This program is copied there for as long as the command runs.
    Copy,
    /// The shell and the tools there, whatever is installed.
    Shell,
}

impl AgentSource {
    /// Reads [`AGENT_VARIABLE`].
    ///
    /// # Errors
    /// The reason, in words, if the value is invalid.
    pub fn of(environment: &Environment) -> Result<Self, String> {
        match environment.get(AGENT_VARIABLE).and_then(OsStr::to_str) {
            None | Some("" | "auto") => Ok(Self::Auto),
            Some("copy") => Ok(Self::Copy),
            Some("shell") => Ok(Self::Shell),
            Some(_) => Err(format!("{AGENT_VARIABLE} is none of auto, copy and shell")),
        }
    }
}

/// Reads the time limit from [`TIMEOUT_VARIABLE`]; 60 seconds by default.
fn timeout(environment: &Environment) -> io::Result<Duration> {
    let Some(told) = environment.get(TIMEOUT_VARIABLE).filter(|told| !told.is_empty()) else {
        return Ok(SILENCE);
    };
    let seconds = told.to_str().and_then(|told| told.parse().ok());
    match seconds.filter(|seconds| (1..=86_400).contains(seconds)) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err(io::Error::other(format!(
            "{TIMEOUT_VARIABLE} is no number of seconds between 1 and 86400"
        ))),
    }
}

/// Starts an agent at an address. No program in one of `mounts` is ever started: an agent can write there. `stop` is set when the
/// operator wants to stop: a machine that does not answer soon after is no longer waited for.
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
    let source = AgentSource::of(environment).map_err(io::Error::other)?;
    let has_shell = Feature::RemoteShell.is_built();
    if source == AgentSource::Shell && !has_shell {
        return Err(io::Error::other(NotBuilt(Feature::RemoteShell)));
    }
    let carrier = Carrier::new(environment, mounts, stop, entropy, address)?;
    let script = match source {
        AgentSource::Auto => [INSTALLED, OFFER, if has_shell { SHELL_LOOP } else { NO_SHELL }].concat(),
        AgentSource::Copy => [OFFER, NO_COPY].concat(),
        AgentSource::Shell => SHELL_LOOP.to_owned(),
    };
    carrier.start(&script, |machine| {
        let found = program::for_machine(machine, mounts, source);
        match source {
            // The shell serves as well.
            AgentSource::Auto if has_shell => Ok(found.unwrap_or(None)),
            AgentSource::Auto | AgentSource::Copy | AgentSource::Shell => found,
        }
    })
}

/// Returns random letters and digits.
fn unguessable(entropy: &dyn Entropy) -> String {
    [letters(random(entropy)), letters(random(entropy))].concat()
}

/// Command words up to the script, and the helpers that the transport needs.
struct Reach {
    words: Vec<OsString>,
    /// The only directories that can be reached; empty if all can.
    only: Vec<PathBuf>,
    /// Helper that was started only for this.
    helper: Option<Helper>,
    /// Process that ends the transport after this program is gone, where a closed pipe may go unnoticed.
    lifeline: Option<Lifeline>,
    /// Process that ends after `lifeline`.
    after: Option<Lifeline>,
}

impl Reach {
    fn of(words: Vec<OsString>) -> Self {
        Self {
            words,
            only: Vec::new(),
            helper: None,
            lifeline: None,
            after: None,
        }
    }
}

fn words<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// The image that the operator names for helpers. What could be an option is none.
fn chosen(environment: &Environment) -> Option<String> {
    let image = environment.get(HELPER_VARIABLE)?.to_str()?;
    (!image.is_empty() && !image.starts_with('-')).then(|| image.to_owned())
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
    patience: Arc<Patience>,
}

impl<'e> Carrier<'e> {
    fn new(
        environment: &Environment,
        mounts: &[PathBuf],
        stop: &Arc<AtomicBool>,
        entropy: &'e dyn Entropy,
        address: &Address,
    ) -> io::Result<Self> {
        if matches!(address, Address::Pod(_) | Address::Claim(_)) && !Feature::Kubernetes.is_built() {
            return Err(io::Error::other(NotBuilt(Feature::Kubernetes)));
        }
        let path = path_outside(environment.get("PATH"), mounts);
        let name = match address {
            Address::Ssh { .. } => "ssh",
            Address::Docker { .. } | Address::Volume { .. } => "docker",
            Address::Pod(_) | Address::Claim(_) => "kubectl",
        };
        let program = find(OsStr::new(name), &path, mounts)
            .ok_or_else(|| io::Error::other(format!("{name} is not installed here, or not in PATH")))?;
        let kubectl = |spot| Kubectl::new(&program, &path, spot).map_err(io::Error::other);
        let reach = match address {
            Address::Ssh { host, user, port } => {
                let mut words: Vec<OsString> = SSH.iter().map(OsString::from).collect();
                words.extend(user.iter().map(|user| format!("-oUser={user}").into()));
                words.extend(port.iter().map(|port| format!("-oPort={port}").into()));
                words.extend(["--".into(), host.into()]);
                Reach::of(words)
            }
            Address::Docker { container: name } => container(&program, &path, environment, name)?,
            Address::Volume { name } => volume(&program, &path, environment, name)?,
            Address::Pod(spot) => kubernetes::pod(&kubectl(spot)?)?,
            Address::Claim(spot) => kubernetes::claim(&kubectl(spot)?, environment, entropy, stop)?,
        };
        Ok(Self {
            entropy,
            program,
            path,
            reach,
            by_line: matches!(address, Address::Ssh { .. }),
            stop: Arc::clone(stop),
            patience: Arc::new(Patience::new(timeout(environment)?)),
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
        processes::start_child(command).map_err(named)
    }

    /// Finds out who listens. Sends a copy of this program to a machine that takes one, and returns its size if it serves.
    fn introduced(
        &self,
        from: &mut impl Read,
        to: &mut impl Write,
        token: &str,
        mark: String,
        copy: impl FnOnce(&str) -> io::Result<Option<Program>>,
    ) -> io::Result<(Listener, Option<u64>)> {
        let mut copied = None;
        self.patience.begin();
        let mut heard = hear(from, token)?;
        if let Heard::Wants(machine) = heard {
            match copy(&machine)? {
                Some(Program { file, size }) => {
                    writeln!(to, "{size} {}", program::version())?;
                    // The time it takes depends on the line, as long as something is sent.
                    self.patience.flow();
                    self.send(&mut file.take(size), to, size)?;
                    copied = Some(size);
                }
                None => writeln!(to, "0")?,
            }
            to.flush()?;
            self.patience.begin();
            heard = hear(from, token)?;
        }
        match heard {
            Heard::Agent => Ok((Listener::Agent, copied)),
            Heard::Shell => Ok((Listener::Shell(mark), None)),
            Heard::Wants(_) => Err(io::Error::other("it asks for a copy of this program again")),
        }
    }

    /// Sends `size` bytes, unless the operator stops it.
    fn send(&self, from: &mut impl Read, to: &mut impl Write, size: u64) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut left = size;
        while left > 0 {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("interrupted"));
            }
            let count = from.read(&mut piece)?;
            let read = piece.get(..count).unwrap_or_default();
            if read.is_empty() {
                return Err(io::Error::other(
                    "this program was replaced while it was copied there",
                ));
            }
            to.write_all(read)?;
            left = left.saturating_sub(count as u64);
        }
        Ok(())
    }

    /// Starts what listens on its standard input and answers on its output. `copy` finds the build of this program for a machine that
    /// takes a copy.
    fn start(
        mut self,
        script: &str,
        copy: impl FnOnce(&str) -> io::Result<Option<Program>>,
    ) -> io::Result<Channel> {
        let (token, mark) = (unguessable(self.entropy), unguessable(self.entropy));
        let watch = if self.by_line { WATCH } else { "" };
        let mut child = self.spawn(&mut self.command(&format!("T={token}; {watch}{script}")))?;
        let (from, to) = (child.stdout.take(), child.stdin.take());
        let complaint = listen(child.stderr.take());
        let mut lifeline = self.reach.lifeline.take();
        if let Some(lifeline) = &mut lifeline {
            lifeline.watch(child.id())?;
        }
        let child = Arc::new(Mutex::new(child));
        let carrying = Arc::clone(&child);
        let why = move || ended(&carrying, &complaint);
        let (Some(from), Some(to)) = (from, to) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        // What waits in a larger one wakes fewer processes; where it cannot be had the usual one does.
        #[cfg(target_os = "linux")]
        {
            let _ = rustix::pipe::fcntl_setpipe_size(&from, PIPE);
            let _ = rustix::pipe::fcntl_setpipe_size(&to, PIPE);
        }
        // Only this end: the carrier's own is another description of the pipe.
        rustix::io::ioctl_fionbio(&to, true)?;
        let mut from = Patient {
            pipe: from,
            stop: Arc::clone(&self.stop),
            patience: Arc::clone(&self.patience),
        };
        let mut to = Patient {
            pipe: to,
            stop: Arc::clone(&self.stop),
            patience: Arc::clone(&self.patience),
        };
        let (listener, copied) = match self.introduced(&mut from, &mut to, &token, mark, copy) {
            Ok(introduced) => introduced,
            Err(error) => {
                let error = why().map_or(error, io::Error::other);
                cut(&child);
                return Err(error);
            }
        };
        let mut after = self.reach.after.take();
        let carrying = Arc::clone(&child);
        let end = lifeline.map(|mut lifeline| -> Box<dyn FnMut() + Send> {
            Box::new(move || {
                wait(&child);
                lifeline.end();
                if let Some(after) = &mut after {
                    after.end();
                }
                // What did not end by itself was killed, and is ours to collect.
                wait(&child);
            })
        });
        Ok(Channel {
            helper: self.reach.helper.take(),
            copied,
            end,
            only: std::mem::take(&mut self.reach.only),
            listener,
            from: Box::new(from),
            to: Box::new(to),
            patience: Arc::clone(&self.patience),
            why: Box::new(why),
            cut: Box::new(move || cut(&carrying)),
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the copy of this program that runs here.
///
/// # Errors
/// The system's error.
pub fn remove_copy(directory: &Path) -> io::Result<()> {
    std::fs::remove_file(directory.join("agent"))?;
    std::fs::remove_dir(directory)
}
