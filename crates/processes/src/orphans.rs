//! Processes that the command leaves behind: descendants that lost their parent and became children of this process.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::child_registry;
use super::identity::current_boot;
use super::probe::belonging;
use super::process_ref::ProcessRef;
use super::system;

/// Wait for helpers that end right after the command: number of rounds, and the pause of each.
const SETTLE: (u32, Duration) = (20, Duration::from_millis(10));

/// Collects children that have ended, except the command and others that their starters wait for.
pub(crate) fn collect(command: Option<Pid>) {
    // Most often it is the command itself. Orphans that ended with it are collected once it is, by [`settle`].
    if command.is_some_and(|command| has_ended(WaitId::Pid(command))) || !has_ended(WaitId::All) {
        return;
    }
    let own = std::process::id();
    let ours = child_registry::all();
    for seen in system::all().unwrap_or_default() {
        if ours.waited_for.contains(&seen.pid) {
            continue;
        }
        let pid = i32::try_from(seen.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|pid| seen.parent == own && seen.dead && Some(*pid) != command) {
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            child_registry::forget(seen.pid);
        }
    }
}

/// Looks whether a child has ended, and collects none. `Err(CHILD)`: there is no such child.
fn look(which: WaitId<'_>) -> Result<bool, Errno> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(which, options).map(|status| status.is_some())
}

/// Returns true if a child has ended and is not collected, or if that is unknown.
fn has_ended(which: WaitId<'_>) -> bool {
    match look(which) {
        Ok(has_ended) => has_ended,
        Err(errno) => errno != Errno::CHILD,
    }
}

/// Returns true if this process certainly has no child.
fn is_childless() -> bool {
    look(WaitId::All) == Err(Errno::CHILD)
}

/// Returns the descendants that live on, after a short wait for those that are about to end. `adopts`: this process gets the orphans
/// below it, so that it has a child as long as it has a descendant.
pub(crate) fn settle(adopts: bool) -> Vec<ProcessRef> {
    let (times, pause) = SETTLE;
    let mut survivors = Vec::new();
    for _ in 0..times {
        if adopts && is_childless() {
            return Vec::new();
        }
        collect(None);
        survivors = descendants();
        if survivors.is_empty() {
            break;
        }
        thread::sleep(pause);
    }
    survivors
}

/// Everything that descends from this process.
fn descendants() -> Vec<ProcessRef> {
    let own = std::process::id();
    let boot = current_boot();
    let table = system::all().unwrap_or_default();
    let Some(ourselves) = table
        .iter()
        .find(|seen| seen.pid == own)
        .map(|seen| seen.reference(&boot))
    else {
        return Vec::new();
    };
    let below = belonging(&table, &BTreeSet::new(), &[&ourselves]);
    let ours = child_registry::all();
    let parent = |pid: u32| table.iter().find(|seen| seen.pid == pid).map(|seen| seen.parent);
    let is_ours = |pid: u32| {
        let mut above = std::iter::successors(Some(pid), |pid| parent(*pid)).take(table.len());
        above.any(|pid| ours.has(pid))
    };
    let is_below = |pid: u32| pid != own && below.contains_key(&pid) && !is_ours(pid);
    table
        .iter()
        .filter(|seen| is_below(seen.pid))
        .map(|seen| seen.reference(&boot))
        .collect()
}
