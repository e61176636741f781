//! The program (ssh, docker or kubectl) that connects to the agent on another machine.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::channel::{Heard, Patient, cut, ended, hear, listen, wait};
use super::container::{container, volume};
use super::kubernetes::{self, Kubectl};
use super::not_built::NotBuilt;
use super::pipe;
use super::product::Product;
use super::program::{self, Program};
use super::reach::Reach;
use super::script;
use super::settings::{AgentSource, Settings};
use super::shell;
use super::token::unguessable;
use handle_fs::Entropy;
use handle_fs::remote::{Address, Channel, Listener, Patience};
use processes::{find, path_outside};

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

/// Starts an agent at an address. No program in an untrusted directory is ever started. `stop` is set when the
/// operator wants to stop: a machine that does not answer soon after is no longer waited for.
///
/// # Errors
/// Why it cannot be started, in words.
pub fn carry(
    settings: &Settings<'_>,
    stop: &Arc<AtomicBool>,
    entropy: &dyn Entropy,
    address: &Address,
) -> io::Result<Channel> {
    let Settings { product, source, .. } = *settings;
    let has_shell = cfg!(feature = "remote-shell");
    if source == AgentSource::Shell && !has_shell {
        return Err(io::Error::other(NotBuilt::remote_shell(product)));
    }
    let carrier = Carrier::new(settings, stop, entropy, address)?;
    let kept = settings
        .kept
        // A helper's files go with it.
        .filter(|_| {
            matches!(
                address,
                Address::Ssh { .. } | Address::Docker { .. } | Address::Pod(_)
            )
        })
        .map_or_else(String::new, |name| script::kept(product, name));
    let script = match source {
        AgentSource::Auto => {
            let last = match has_shell {
                true => shell::LOOP.to_owned(),
                false => script::no_shell(product),
            };
            [kept, script::installed(product), script::offer(product), last].concat()
        }
        AgentSource::Copy => [kept, script::offer(product), script::no_copy(product)].concat(),
        AgentSource::Shell => shell::LOOP.to_owned(),
    };
    carrier.start(&script, |machine| {
        let found = program::for_machine(machine, settings);
        match source {
            // The shell serves as well.
            AgentSource::Auto if has_shell => Ok(found.unwrap_or(None)),
            AgentSource::Auto | AgentSource::Copy | AgentSource::Shell => found,
        }
    })
}

/// The program that carries, and its words up to the command.
struct Carrier<'e> {
    product: &'static Product,
    entropy: &'e dyn Entropy,
    program: PathBuf,
    path: OsString,
    reach: Reach,
    /// The other side takes a line for its shell, not words.
    by_line: bool,
    /// Message for a container without a shell, with the way that works.
    without_shell: String,
    stop: Arc<AtomicBool>,
    patience: Arc<Patience>,
}

impl<'e> Carrier<'e> {
    fn new(
        settings: &Settings<'_>,
        stop: &Arc<AtomicBool>,
        entropy: &'e dyn Entropy,
        address: &Address,
    ) -> io::Result<Self> {
        let Settings {
            product,
            untrusted,
            image,
            ..
        } = *settings;
        if matches!(address, Address::Pod(_) | Address::Claim(_)) && !cfg!(feature = "kubernetes") {
            return Err(io::Error::other(NotBuilt::kubernetes(product)));
        }
        let path = path_outside(settings.path, untrusted);
        let name = match address {
            Address::Ssh { .. } => "ssh",
            Address::Docker { .. } | Address::Volume { .. } => "docker",
            Address::Pod(_) | Address::Claim(_) => "kubectl",
        };
        let program = find(OsStr::new(name), &path, untrusted)
            .ok_or_else(|| io::Error::other(format!("{name} is not installed here, or not in PATH")))?;
        let kubectl = |spot| Kubectl::new(product, &program, &path, spot).map_err(io::Error::other);
        let reach = match address {
            Address::Ssh { host, user, port } => {
                let mut words: Vec<OsString> = SSH.iter().map(OsString::from).collect();
                words.extend(user.iter().map(|user| format!("-oUser={user}").into()));
                words.extend(port.iter().map(|port| format!("-oPort={port}").into()));
                words.extend(["--".into(), host.into()]);
                Reach::of(words)
            }
            Address::Docker { container: name } => container(&program, &path, image, name)?,
            Address::Volume { name } => volume(settings, &program, &path, name)?,
            Address::Pod(spot) => kubernetes::pod(&kubectl(spot)?)?,
            Address::Claim(spot) => kubernetes::claim(&kubectl(spot)?, settings, entropy, stop)?,
        };
        Ok(Self {
            product,
            entropy,
            program,
            path,
            reach,
            by_line: matches!(address, Address::Ssh { .. }),
            without_shell: without_shell(product, address),
            stop: Arc::clone(stop),
            patience: Arc::new(Patience::new(settings.timeout, settings.product.timeout_variable)),
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

    /// Finds out who listens. Sends a copy of this program to a machine that takes one and does not have it already, and returns its size
    /// if it serves.
    fn introduced(
        &self,
        from: &mut impl Read,
        to: &mut impl Write,
        token: &str,
        mark: String,
        copy: impl Fn(&str) -> io::Result<Option<Program>>,
    ) -> io::Result<(Listener, Option<u64>)> {
        let mut copied = None;
        self.patience.begin();
        let mut heard = hear(from, token)?;
        // One in each of its directories.
        let mut most = script::DIRECTORIES;
        while let Heard::Has { digest, machine } = &heard {
            most = most.checked_sub(1).ok_or_else(again)?;
            let build = copy(machine)?;
            let answer = match build {
                Some(build) if build.digest()? == *digest => {
                    copied = Some(build.size);
                    "use"
                }
                Some(_) => "no",
                // It is of a command that may copy this program as it is.
                None => "skip",
            };
            writeln!(to, "{answer}")?;
            to.flush()?;
            heard = hear(from, token)?;
        }
        if let Heard::Wants(machine) = heard {
            match copy(&machine)? {
                Some(Program { file, size }) => {
                    writeln!(to, "{size} {}", self.product.version)?;
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
            Heard::Shell => Ok((shell::listener(self.product, mark), None)),
            Heard::Wants(_) | Heard::Has { .. } => Err(again()),
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
        copy: impl Fn(&str) -> io::Result<Option<Program>>,
    ) -> io::Result<Channel> {
        let (token, mark) = (unguessable(self.entropy), unguessable(self.entropy));
        let watch = if self.by_line { script::WATCH } else { "" };
        let mut child = self.spawn(&mut self.command(&format!("T={token}; {watch}{script}")))?;
        let (from, to) = (child.stdout.take(), child.stdin.take());
        let complaint = listen(child.stderr.take());
        let mut lifeline = self.reach.lifeline.take();
        if let Some(lifeline) = &mut lifeline {
            lifeline.watch(child.id())?;
        }
        let child = Arc::new(Mutex::new(child));
        let carrying = Arc::clone(&child);
        let first = complaint.clone();
        let why = move || ended(&carrying, &complaint);
        let (Some(from), Some(to)) = (from, to) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        pipe::widen(&from);
        pipe::widen(&to);
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
                // Docker writes why it cannot start the shell to the shell's output.
                if let Some(said) = error.get_ref().filter(|_| !self.by_line) {
                    first.begins_with(&said.to_string());
                }
                let error = match why() {
                    Some(_) if !self.by_line && lacks_shell(&first.text()) => {
                        io::Error::other(self.without_shell)
                    }
                    why => why.map_or(error, io::Error::other),
                };
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
            backings: std::mem::take(&mut self.reach.backings),
            storages: std::mem::take(&mut self.reach.storages),
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

fn again() -> io::Error {
    io::Error::other("it asks for a copy of this program again")
}

/// Returns the message for a container without a shell.
fn without_shell(product: &Product, address: &Address) -> String {
    match address {
        Address::Pod(_) => {
            "the container has no shell: name another container of the pod (POD:CONTAINER), or its claim \
            (k8s-pvc://[CONTEXT/]NAMESPACE/CLAIM)"
                .to_owned()
        }
        Address::Ssh { .. } | Address::Docker { .. } => {
            "the container has no shell: name the volume that has the files \
            (docker-volume://NAME), or the directory of this machine that is mounted there"
                .to_owned()
        }
        Address::Volume { .. } | Address::Claim(_) => format!(
            "the helper's image has no shell: name another image in {}",
            product.image_variable
        ),
    }
}

/// Returns true if a container was started or entered, and `sh` was not found in it. Each runtime has its own words.
fn lacks_shell(complaint: &str) -> bool {
    let is_missing = |words: &str| complaint.contains(words);
    is_missing("executable file") && is_missing("not found") && (is_missing("\"sh\"") || is_missing("`sh`"))
}

#[cfg(test)]
mod tests {
    use super::lacks_shell;

    #[test]
    fn a_container_without_a_shell_is_recognized_in_the_words_of_each_runtime() {
        for complaint in [
            r#"OCI runtime exec failed: exec failed: unable to start container process: exec: "sh": executable file not found in $PATH"#,
            "OCI runtime attempted to invoke a command that was not found: executable file `sh` not found in $PATH: No such file or directory",
        ] {
            assert!(lacks_shell(complaint), "{complaint}");
        }
        assert!(!lacks_shell("Error: No such container: sh"));
        assert!(!lacks_shell(
            r#"exec: "bash": executable file not found in $PATH"#
        ));
    }
}
