//! The process table that a command reads once and asks several questions of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::identity::current_boot;
use super::process_ref::ProcessRef;
use super::process_table::{ProbeError, Seen};
use super::system;

/// Age up to which a row is used again. A command asks several questions within moments; one that waits between two of them (for its
/// child, for an answer) gets new rows, for a process may have become another program meanwhile.
const FRESH: Duration = Duration::from_secs(2);

/// The processes as one command sees them: each file of a process is read once, unless what is known of it is older than two seconds.
///
/// The set of processes is asked again each time. One that ended is not in the next answer, and one that began is. A row that is
/// used again may have a parent that ended since, or belong to a process that is a zombie now.
#[derive(Clone, Debug, Default)]
pub struct ProcessTable(Arc<Mutex<BTreeMap<u32, Known>>>);

/// Facts that were read of one process.
#[derive(Clone, Debug)]
struct Known {
    identity: u64,
    /// Time since boot.
    read_at: Duration,
    seen: Seen,
    /// Variable that was asked for, and its values.
    values: Option<(String, Vec<Vec<u8>>)>,
}

/// Two tables are equal if they are the same.
impl PartialEq for ProcessTable {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ProcessTable {}

impl ProcessTable {
    /// The process that has this number now, zombies included. `None` when there is none, or when it is unknown.
    #[must_use]
    pub fn reference(&self, pid: u32) -> Option<ProcessRef> {
        let seen = self.look(pid).ok().flatten();
        seen.map(|seen| seen.reference(&current_boot()))
    }

    /// Every process that we may see.
    pub(crate) fn all(&self) -> Result<Vec<Seen>, ProbeError> {
        let listed = system::list()?;
        let mut known = self.known();
        let mut found = BTreeMap::new();
        for (pid, identity) in listed {
            if let Some(row) = row(&mut known, pid, identity)? {
                found.insert(pid, row);
            }
        }
        // Those that are gone are forgotten.
        *known = found;
        Ok(known.values().map(|known| known.seen.clone()).collect())
    }

    /// One process, zombies included. `None`: there is none with this number, or we may not see it.
    pub(crate) fn look(&self, pid: u32) -> Result<Option<Seen>, ProbeError> {
        let Some(identity) = system::identity(pid)? else {
            return Ok(None);
        };
        let mut known = self.known();
        let row = row(&mut known, pid, identity)?;
        let seen = row.as_ref().map(|row| row.seen.clone());
        known.extend(row.map(|row| (pid, row)));
        Ok(seen)
    }

    /// Every value that a variable has in the environment that a process was started with, as [`system::values`].
    pub(crate) fn values(&self, pid: u32, variable: &str) -> Result<Vec<Vec<u8>>, ProbeError> {
        let mut known = self.known();
        let of = known.get_mut(&pid).filter(|known| known.is_fresh());
        if let Some((name, values)) = of.as_ref().and_then(|known| known.values.as_ref())
            && name == variable
        {
            return Ok(values.clone());
        }
        let values = system::values(pid, variable)?;
        if let Some(known) = of {
            known.values = Some((variable.to_owned(), values.clone()));
        }
        Ok(values)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<u32, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn is_fresh(&self) -> bool {
        handle_fs::uptime().saturating_sub(self.read_at) < FRESH
    }
}

/// Takes the row of a process out of those that are known, or reads it.
fn row(known: &mut BTreeMap<u32, Known>, pid: u32, identity: u64) -> Result<Option<Known>, ProbeError> {
    // Also where the system has no such numbers and gives the same to all: then a row is used for too long, at most.
    match known
        .remove(&pid)
        .filter(|known| known.identity == identity && known.is_fresh())
    {
        Some(known) => Ok(Some(known)),
        None => Ok(system::row(pid)?.map(|seen| Known {
            identity,
            read_at: handle_fs::uptime(),
            seen,
            values: None,
        })),
    }
}
