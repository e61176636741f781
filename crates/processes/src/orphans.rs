//! Processes that the command leaves behind: descendants that lost their parent and became children of this process.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

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

/// Returns the descendants that live on, after a short wait for those that are about to end.
pub(crate) fn settle() -> Vec<ProcessRef> {
    let (times, pause) = SETTLE;
    let mut survivors = Vec::new();
    for _ in 0..times {
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
