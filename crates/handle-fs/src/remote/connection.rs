//! A connection to an agent, or to a shell, on another machine.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Serialize;

use super::agent::Wire;
use super::answerer::{Answerer, Introduce};
use super::backing::{Backing, Storage};
use super::error_number::received;
use super::limitation::Limitation;
use super::protocol::{Answer, Bytes, Call, Greeting, VERSION};
use super::view::View;
use super::{Address, machine_id};
use crate::{FileSystemId, Result, uptime};

/// Program that listens at the other end.
pub enum Listener {
    /// This program.
    Agent,
    /// Something else that answers the same calls.
    Other(Introduce),
}

type Reason = Box<dyn FnMut() -> Option<String> + Send>;
type End = Box<dyn FnMut() + Send>;

/// Helper that was started to reach files that nothing else shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Helper {
    /// The image that it is made of.
    pub image: String,
    /// The node that it runs on, where it has to be one.
    pub node: Option<String>,
    /// The user that it runs as in a cluster that allows no root; `None` for root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<u64>,
    /// Permission that the operator needs for it, in the form of `kubectl auth can-i`.
    pub permissions: Vec<String>,
}

/// The two ends of the carrier process to another machine.
pub struct Channel {
    /// The only directories that can be reached; empty if all can.
    pub only: Vec<PathBuf>,
    /// Program that listens there.
    pub listener: Listener,
    /// Output of the other end.
    pub from: Box<dyn Read + Send>,
    /// Input of the other end.
    pub to: Box<dyn Write + Send>,
    /// Time limits of the channel.
    pub patience: Arc<Patience>,
    /// Returns the reason why the channel ended, as the carrier process reported it. Called once it has ended.
    pub why: Box<dyn FnMut() -> Option<String> + Send>,
    /// Kills the carrier process.
    pub cut: Box<dyn FnMut() + Send>,
    /// Storage of its paths, as far as it is known.
    pub backings: Vec<Backing>,
    /// Location of its paths, as far as other channels may show the same files.
    pub storages: Vec<Storage>,
    /// Helper that was started only for this channel.
    pub helper: Option<Helper>,
    /// Size of the copy of this program that runs there (bytes); `None`: none does.
    pub copied: Option<u64>,
    /// Ends the other side if it may not notice the closed pipe, or if something has to be removed. Called after the last call.
    pub end: Option<Box<dyn FnMut() + Send>>,
}

/// Time limits of a channel. Changes apply to reads and writes in progress.
#[derive(Debug)]
pub struct Patience {
    limit: Duration,
    /// Name of the setting of the limit, for messages.
    setting: &'static str,
    /// Deadline for the handshake, in time since boot; `None` once it is done.
    by: Mutex<Option<Duration>>,
    /// True for a shell, which sends nothing while it hashes or syncs a large file.
    shell: AtomicBool,
}

/// Maximum number of bytes of a handshake; a list of many thousand users fits.
const LONGEST_GREETING: usize = 4 << 20;

/// Output of the other end, of which a handshake may take only so much: until it is done, nothing is known of who sends it.
struct Greeted {
    from: Box<dyn Read + Send>,
    patience: Arc<Patience>,
    left: usize,
}

impl Read for Greeted {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if !self.patience.is_greeting() {
            return self.from.read(room);
        }
        if self.left == 0 {
            return Err(io::Error::other(
                "it did not say who it is: its first answer has no end",
            ));
        }
        let most = room.len().min(self.left);
        let count = self.from.read(room.get_mut(..most).unwrap_or_default())?;
        self.left -= count;
        Ok(count)
    }
}

/// Factor on the limit for a shell.
const SHELL_TIMES: u32 = 5;

impl Patience {
    /// Creates limits of this duration. Messages name the setting that the user changes for another one.
    #[must_use]
    pub fn new(limit: Duration, setting: &'static str) -> Self {
        Self {
            limit,
            setting,
            by: Mutex::default(),
            shell: AtomicBool::default(),
        }
    }

    /// Starts the handshake deadline. Data that arrives does not extend it.
    pub fn begin(&self) {
        *locked(&self.by) = Some(uptime() + self.limit);
    }

    /// Ends the handshake deadline. From now on the limit applies to time without data.
    pub fn flow(&self) {
        *locked(&self.by) = None;
    }

    /// Returns true until the handshake is done.
    fn is_greeting(&self) -> bool {
        locked(&self.by).is_some()
    }

    fn flow_from(&self, is_shell: bool) {
        self.flow();
        self.shell.store(is_shell, Ordering::Relaxed);
    }

    /// Checks the limits after `silent` without data.
    ///
    /// # Errors
    /// In words.
    pub fn check(&self, silent: Duration) -> std::result::Result<(), String> {
        let (limit, by) = (self.limit, *locked(&self.by));
        let limit = match self.shell.load(Ordering::Relaxed) && by.is_none() {
            true => limit * SHELL_TIMES,
            false => limit,
        };
        let why = match by {
            Some(by) if uptime() >= by => "did not say who it is within",
            _ if silent >= limit => "has not answered for",
            _ => return Ok(()),
        };
        Err(format!(
            "it {why} {} seconds ({} sets the limit)",
            limit.as_secs(),
            self.setting
        ))
    }
}

/// A machine that could not be reached, or the connection to which was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Address of the machine.
    pub address: Address,
    /// Reason, as far as it is known.
    pub why: String,
}

/// Machines that could not be reached, and broken connections, each address once.
#[derive(Clone, Debug, Default)]
pub(super) struct LostMachines(Arc<Mutex<Vec<Lost>>>);

impl LostMachines {
    /// Adds a machine, if its address is not listed yet.
    pub(super) fn add(&self, address: &Address, why: String) {
        let mut lost = locked(&self.0);
        if lost.iter().all(|lost| lost.address != *address) {
            let address = address.clone();
            lost.push(Lost { address, why });
        }
    }

    /// Returns a copy of the list.
    pub(super) fn all(&self) -> Vec<Lost> {
        locked(&self.0).clone()
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connection to an agent, or to something else that answers the same calls.
#[derive(Debug)]
enum Way {
    Agent(Wire),
    Other(Box<dyn Answerer>),
}

/// A connection to an agent, or to a shell, that answered.
pub(super) struct Connection {
    address: Address,
    greeting: Greeting,
    way: Way,
    why: Mutex<Reason>,
    cut: Mutex<End>,
    backings: Vec<Backing>,
    storages: Vec<Storage>,
    helper: Option<Helper>,
    copied: Option<u64>,
    end: Option<Mutex<End>>,
    /// List that this connection joins when it breaks.
    lost: LostMachines,
    /// The only directories that can be reached; none: all can.
    only: Vec<PathBuf>,
    /// Objects that were seen with others, and dropped handles; the next call reports these to the agent.
    view: Mutex<View>,
}

/// Bit of the numbers that handles of a view have: the other side knows none of them.
const OF_VIEW: u64 = 1 << 63;

/// Returns the number of a handle of a view as that of any handle.
pub(super) fn of_view(number: u64) -> u64 {
    number | OF_VIEW
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("address", &self.address)
            .field("way", &self.way)
            .finish_non_exhaustive()
    }
}

/// The error, or what the program that carried says of its end.
fn reason(why: &mut Reason, error: &io::Error) -> io::Error {
    match why() {
        Some(why) => io::Error::other(why),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Asks an agent who it is.
fn introduced(wire: &Wire) -> io::Result<Greeting> {
    match wire.ask(Vec::new(), Call::Greet { version: VERSION })? {
        Answer::Greeting(greeting) if greeting.version == VERSION => Ok(greeting),
        Answer::Greeting(greeting) => Err(io::Error::other(format!(
            "the agent there speaks version {}, this program {VERSION}: install the same version on both sides",
            greeting.version
        ))),
        _ => Err(io::Error::other("the answer there is not from this program")),
    }
}

impl Connection {
    /// Asks who is there.
    pub(super) fn greet(address: &Address, channel: Channel, lost: &LostMachines) -> io::Result<Self> {
        let Channel {
            only,
            listener,
            from,
            to,
            patience,
            mut why,
            mut cut,
            backings,
            storages,
            helper,
            copied,
            end,
        } = channel;
        patience.begin();
        let from: Box<dyn Read + Send> = Box::new(Greeted {
            from,
            patience: Arc::clone(&patience),
            left: LONGEST_GREETING,
        });
        let greeted = match listener {
            Listener::Agent => {
                let wire = Wire::new(from, to);
                introduced(&wire).map(|greeting| (Way::Agent(wire), greeting))
            }
            Listener::Other(introduce) => {
                introduce(from, to).map(|(other, greeting)| (Way::Other(other), greeting))
            }
        };
        let (way, mut greeting) = greeted.map_err(|error| {
            let error = match error.kind() {
                // What it says itself is the reason.
                io::ErrorKind::Other => error,
                _ => reason(&mut why, &error),
            };
            cut();
            error
        })?;
        patience.flow_from(matches!(way, Way::Other(_)));
        // Messages are the same on every system; only Linux is known to answer as it should.
        if ![std::env::consts::OS, "linux"].contains(&greeting.system.as_str()) {
            return Err(io::Error::other(format!(
                "it runs {}, this machine {}",
                greeting.system,
                std::env::consts::OS
            )));
        }
        // A helper is another machine each time, and the volume the same.
        match address {
            Address::Volume { name } => {
                greeting.machine = machine_id(b"docker-volume", name.as_bytes(), b"");
            }
            Address::Claim(spot) => {
                greeting.machine = machine_id(b"k8s-pvc", spot.whole().to_string().as_bytes(), b"")
            }
            Address::Ssh { .. } | Address::Docker { .. } | Address::Pod(_) => {}
        }
        Ok(Self {
            address: address.clone(),
            greeting,
            way,
            only,
            why: Mutex::new(why),
            cut: Mutex::new(cut),
            backings,
            storages,
            helper,
            copied,
            end: end.map(Mutex::new),
            lost: lost.clone(),
            view: Mutex::default(),
        })
    }

    /// Makes a call. A connection that broke answers EIO from then on, as a disk that is gone.
    pub(super) fn call(&self, call: Call) -> Result<Answer> {
        let closed = self.view().called(call.ends_views());
        let answer = match &self.way {
            Way::Agent(wire) => wire.ask(closed, call),
            Way::Other(other) => other.ask(&closed, call),
        };
        match answer {
            Ok(Answer::Failed(number)) => Err(received(number)),
            Ok(answer) => Ok(answer),
            Err(error) => {
                let why = reason(&mut locked(&self.why), &error);
                self.lost.add(&self.address, why.to_string());
                locked(&self.cut)();
                Err(Errno::IO)
            }
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        match &self.way {
            Way::Agent(wire) => wire.is_broken(),
            Way::Other(other) => other.is_broken(),
        }
    }

    /// Returns the reason why a path cannot be reached, if it cannot. A helper container has only the files of volumes.
    pub(super) fn hides(&self, path: &Path) -> Option<String> {
        if self.only.is_empty() || self.only.iter().any(|only| path.starts_with(only)) {
            return None;
        }
        let only: Vec<String> = self.only.iter().map(|only| only.display().to_string()).collect();
        Some(format!(
            "the container does not run, and a helper reaches its volumes alone ({}): start it",
            only.join(", ")
        ))
    }

    /// Returns true if the end of this connection has to be told.
    pub(super) fn has_end(&self) -> bool {
        self.end.is_some()
    }

    /// Says goodbye, and ends what carries.
    pub(super) fn hang_up(&self) {
        // Who is gone hears nothing.
        let _ = match &self.way {
            Way::Agent(wire) => wire.leave(),
            Way::Other(other) => other.leave(),
        };
        if let Some(end) = &self.end {
            locked(end)();
        }
    }

    /// Returns the identity of the storage at a path there.
    pub(super) fn file_system_id(&self, path: &Path) -> Option<FileSystemId> {
        Backing::of_path(&self.backings, path).map(Backing::file_system_id)
    }

    /// Returns the location of a path there; `None` if it is not known that other connections may show the same files.
    pub(super) fn storage_of(&self, path: &Path) -> Option<PathBuf> {
        Storage::of_path(&self.storages, path)
    }

    /// Returns the helper that was started only for this connection.
    pub(super) fn helper(&self) -> Option<&Helper> {
        self.helper.as_ref()
    }

    /// Returns the size of the copy of this program that runs there (bytes).
    pub(super) fn copied(&self) -> Option<u64> {
        self.copied
    }

    /// Returns the limitations of this connection.
    pub(super) fn lacks(&self) -> &[Limitation] {
        match &self.way {
            Way::Agent(_) => &[],
            Way::Other(other) => other.lacks(),
        }
    }

    pub(super) fn close(&self, handle: u64) {
        match handle & OF_VIEW {
            0 => self.view().release(handle),
            _ => self.view().closed(handle & !OF_VIEW),
        }
    }

    /// Returns what was seen with others.
    pub(super) fn view(&self) -> MutexGuard<'_, View> {
        locked(&self.view)
    }

    /// Returns the home directory of the user who acts there.
    pub(super) fn home(&self) -> Option<Bytes> {
        self.greeting.home.clone()
    }

    pub(super) fn greeting(&self) -> &Greeting {
        &self.greeting
    }
}
