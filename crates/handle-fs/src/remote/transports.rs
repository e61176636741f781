//! Connections to other machines, as one value that the program makes at its edge and passes down.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::io::Errno;

use super::connection::{Channel, Connection, Helper, Lost, LostMachines, locked};
use super::limitation::Limitation;
use super::protocol::{Bytes, Call};
use super::{Address, RemoteHandle};
use crate::{Handle, Result, Stat, uptime};

/// Opens a channel to an address, with an agent at its other end. The flag becomes true when waits for a helper should end.
pub type Connect = Box<dyn Fn(&Address, &Arc<AtomicBool>) -> io::Result<Channel> + Send + Sync>;

/// Completes an address and a path that leave something open; `None` if they stay as they are.
pub type Resolve = Box<dyn Fn(&Address, &Path) -> Option<(Address, PathBuf)> + Send + Sync>;

/// Outcome of the last attempt to reach an address.
enum Reached {
    Open(Arc<Connection>),
    /// The connection failed; it is not tried again before this [`uptime`].
    Failed(Duration),
}

/// Locked by the thread that connects. Starting a helper may take minutes; threads that want another address do not wait.
type Slot = Arc<Mutex<Option<Reached>>>;

/// Shortest time before a failed connection is tried again.
const STANDS: Duration = Duration::from_secs(10);
const STANDS_TIMES: u32 = 10;

/// Connections to other machines, one for each address, made when the first path leads there.
///
/// Clones share their connections. The default value reaches no machine but this one.
#[derive(Clone, Default)]
pub struct Transports(Arc<Shared>);

#[derive(Default)]
struct Shared {
    connect: Option<Connect>,
    resolve: Option<Resolve>,
    open: Mutex<HashMap<Address, Slot>>,
    lost: LostMachines,
    /// True while waits for helpers should end.
    given_up: Arc<AtomicBool>,
}

impl std::fmt::Debug for Transports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transports")
            .field("lost", &self.0.lost)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Transports {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Transports {}

impl Transports {
    /// Creates the value from a way to reach addresses and a way to complete them.
    #[must_use]
    pub fn new(connect: Connect, resolve: Resolve) -> Self {
        Self(Arc::new(Shared {
            connect: Some(connect),
            resolve: Some(resolve),
            ..Shared::default()
        }))
    }

    /// Makes every wait for a helper end soon, or lets waits go on again. The flag that is set when the operator wants to stop
    /// covers everything else.
    pub fn give_up_waiting(&self, now: bool) {
        self.0.given_up.store(now, Ordering::Relaxed);
    }

    /// Completes an address and a path that leave something open.
    #[must_use]
    pub fn resolve(&self, address: Address, path: PathBuf) -> (Address, PathBuf) {
        let is_open = match &address {
            Address::Pod(spot) | Address::Claim(spot) => spot.context.is_none(),
            Address::Ssh { .. } | Address::Docker { .. } | Address::Volume { .. } => false,
        };
        let resolve = self.0.resolve.as_ref().filter(|_| is_open);
        let meant = resolve.and_then(|resolve| resolve(&address, &path));
        meant.unwrap_or((address, path))
    }

    /// Ends the connections that have a cleanup step, and waits until it is done. The next call opens a new connection.
    pub fn disconnect_all(&self) {
        self.disconnect_where(|_| true);
    }

    /// Ends such connections to some addresses: another thread may be at work with the others.
    pub fn disconnect_where(&self, is_meant: impl Fn(&Address) -> bool) {
        let slots: Vec<Slot> = {
            let open = locked(&self.0.open);
            let meant = open.iter().filter(|(address, _)| is_meant(address));
            meant.map(|(_, slot)| Arc::clone(slot)).collect()
        };
        for slot in slots {
            let mut reached = locked(&slot);
            if let Some(Reached::Open(connection)) = &*reached
                && connection.has_end()
            {
                connection.hang_up();
                *reached = None;
            }
        }
    }

    /// Returns the machines that were unreachable or lost so far.
    #[must_use]
    pub fn lost(&self) -> Vec<Lost> {
        self.0.lost.all()
    }

    /// Returns true if the connection to the machine of a path broke.
    #[must_use]
    pub fn lost_near(&self, path: &Path) -> bool {
        Address::split(path)
            .is_some_and(|(address, _)| self.lost().iter().any(|lost| lost.address == address))
    }

    /// Returns the connection to an address.
    ///
    /// # Errors
    /// `HOSTUNREACH` when it cannot be made, or could not; [`Self::lost`] has the reason.
    fn to(&self, address: &Address) -> Result<Arc<Connection>> {
        let slot = Arc::clone(locked(&self.0.open).entry(address.clone()).or_default());
        let mut reached = locked(&slot);
        match &*reached {
            // What was opened over one that broke stays broken; what is opened from now on need not be. That it broke may not be known yet.
            Some(Reached::Open(known)) if known.call(Call::Clock { fine: false }).is_ok() => {
                return Ok(Arc::clone(known));
            }
            Some(Reached::Failed(until)) if uptime() < *until => {
                return Err(Errno::HOSTUNREACH);
            }
            _ => {}
        }
        let began = uptime();
        let made = match &self.0.connect {
            Some(connect) => connect(address, &self.0.given_up)
                .and_then(|channel| Connection::greet(address, channel, &self.0.lost)),
            None => Err(io::ErrorKind::Unsupported.into()),
        };
        match made {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *reached = Some(Reached::Open(Arc::clone(&connection)));
                Ok(connection)
            }
            Err(error) => {
                self.0.lost.add(address, error.to_string());
                let stands = STANDS.max(uptime().saturating_sub(began) * STANDS_TIMES);
                *reached = Some(Reached::Failed(uptime() + stands));
                Err(Errno::HOSTUNREACH)
            }
        }
    }

    /// Returns the connection to the machine of a path; `None` for this machine, or if that one cannot be asked.
    fn near(&self, path: &Path) -> Option<Arc<Connection>> {
        let (address, _) = Address::split(path)?;
        self.to(&address).ok()
    }

    /// Returns the reason why a path cannot be reached although its machine answers.
    #[must_use]
    pub fn out_of_reach(&self, path: &Path) -> Option<String> {
        let (address, inner) = Address::split(path)?;
        self.to(&address).ok()?.hides(&address.inside(inner))
    }

    /// Returns the identity of the machine that a path leads to, the same for every address of it. `None` for this machine, or if
    /// that one cannot be asked.
    #[must_use]
    pub fn machine_of(&self, path: &Path) -> Option<String> {
        Some(self.near(path)?.greeting().machine.clone())
    }

    /// Returns the location of the files at a path of another machine, the same for all containers that show them. `None` for a path of this
    /// machine, or if it is not known.
    #[must_use]
    pub fn storage_of(&self, path: &Path) -> Option<PathBuf> {
        let (address, inner) = Address::split(path)?;
        self.to(&address).ok()?.storage_of(&address.inside(inner))
    }

    /// Returns the numeric user and groups that act on the machine of a path; `None` for this machine, or if that one cannot be
    /// asked.
    #[must_use]
    pub fn actor_near(&self, path: &Path) -> Option<(u32, Vec<u32>)> {
        let connection = self.near(path)?;
        let greeting = connection.greeting();
        Some((greeting.uid, greeting.groups.clone()))
    }

    /// Asks this program on the machine of a path a question above the calls of files. A question that names a place names it by
    /// [`place_there`](super::place_there). `None`: it is this machine, or no program there answers.
    #[must_use]
    pub fn ask(&self, path: &Path, question: Vec<u8>) -> Option<Vec<u8>> {
        let far = RemoteHandle::nowhere(self.near(path)?);
        let question = Bytes(question);
        far.bytes(Call::Ask { question }).ok()
    }

    /// Returns the limitations on the machine of a path; empty for this machine, or if that one cannot be asked.
    #[must_use]
    pub fn lacks_near(&self, path: &Path) -> Vec<Limitation> {
        let connection = self.near(path);
        connection.map_or_else(Vec::new, |connection| connection.lacks().to_vec())
    }

    /// Returns the helper that was started only to reach a path, if there is one.
    #[must_use]
    pub fn helper_near(&self, path: &Path) -> Option<Helper> {
        self.near(path)?.helper().cloned()
    }

    /// Asks every copy of this program that serves a connection. A connection that broke is not made again for it, and no answer is
    /// expected.
    pub fn ask_copies(&self, question: impl Fn(&Address) -> Option<Vec<u8>>) {
        let copy = |(address, slot): (&Address, &Slot)| match &*locked(slot) {
            Some(Reached::Open(connection)) if connection.copied().is_some() => {
                Some((address.clone(), Arc::clone(connection)))
            }
            _ => None,
        };
        let copies: Vec<_> = locked(&self.0.open).iter().filter_map(copy).collect();
        for (address, connection) in copies {
            if let Some(question) = question(&address) {
                let question = Bytes(question);
                let _ = RemoteHandle::nowhere(connection).bytes(Call::Ask { question });
            }
        }
    }

    /// Returns the size of the copy of this program that runs on the machine a path leads to (bytes).
    #[must_use]
    pub fn copied_near(&self, path: &Path) -> Option<u64> {
        self.near(path)?.copied()
    }

    /// Returns the home directory of the user who acts on the machine of a path; `None` for this machine, or if it is unknown.
    #[must_use]
    pub fn home_near(&self, path: &Path) -> Option<PathBuf> {
        let (address, _) = Address::split(path)?;
        let home = self.to(&address).ok()?.home()?;
        absolute(&address, &home.0)
    }

    /// Resolves links, `.` and `..` in a path, on its own machine.
    ///
    /// # Errors
    /// The system's error.
    pub fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        let Some((address, path)) = Address::split(path) else {
            return std::fs::canonicalize(path).map(|real| crate::stored_path(&real));
        };
        let (address, path) = self.resolve(address, path);
        let connection = self.to(&address)?;
        let path = address.inside(path);
        if let Some(why) = connection.hides(&path) {
            return Err(io::Error::other(why));
        }
        let far = RemoteHandle::nowhere(connection);
        let path = Bytes::from(path.as_path());
        let real = far.bytes(Call::Canonical { path })?;
        Ok(absolute(&address, &real).ok_or(Errno::IO)?)
    }

    /// Opens a directory by its path, on its own machine. The last part is not followed when it is a link.
    ///
    /// # Errors
    /// The system's error; `NotADirectory` for a link or a file.
    pub fn open_root(&self, path: &Path) -> io::Result<Handle> {
        match self.route(path)? {
            None => crate::open_root(path),
            Some((top, inner)) => crate::open_child_dir(Handle::from(top), inner.as_os_str()),
        }
    }

    /// Returns the facts of the object at a path, on its own machine; of a link itself. `None`: nothing is there.
    ///
    /// # Errors
    /// The system's error.
    pub fn stat_path(&self, path: &Path) -> io::Result<Option<Stat>> {
        match self.route(path)? {
            None => crate::stat_path(path),
            Some((top, inner)) => match crate::stat_child(Handle::from(top), inner.as_os_str()) {
                Ok(stat) => Ok(Some(stat)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    /// Returns true if the acting user may create and remove names in the directory at a path, as [`may_write`](crate::may_write)
    /// does for this machine.
    #[must_use]
    pub fn may_write(&self, directory: &Path) -> bool {
        if Address::split(directory).is_none() {
            return crate::may_write(directory);
        }
        let Ok(Some((top, inner))) = self.route(directory) else {
            return false;
        };
        let path = Bytes::from(inner.as_path());
        let may_change = top.done(Call::MayChange { path }).is_ok();
        let facts = crate::stat_child(Handle::from(top), inner.as_os_str());
        may_change && !facts.is_ok_and(|facts| facts.flags.bind())
    }

    /// Returns the handle at which absolute paths of another machine begin, and the path there; `None` for this machine.
    fn route(&self, path: &Path) -> Result<Option<(RemoteHandle, PathBuf)>> {
        let Some((address, path)) = Address::split(path) else {
            return Ok(None);
        };
        let connection = self.to(&address)?;
        let path = address.inside(path);
        match connection.hides(&path) {
            Some(_) => Err(Errno::NODEV),
            None => Ok(Some((RemoteHandle::nowhere(connection), path))),
        }
    }
}

/// Returns the address of a path that the other machine named. One that is no absolute path would lead to another machine.
fn absolute(address: &Address, told: &[u8]) -> Option<PathBuf> {
    let whole = address.with(&address.outside(Path::new(crate::os_name(told)))?);
    let is_path = told.first() == Some(&b'/') && !told.contains(&0);
    let same = is_path && Address::split(&whole).is_some_and(|(found, _)| found == *address);
    same.then_some(whole)
}
