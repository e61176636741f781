//! Living processes that belong together: by the value of a variable in their environment, by a record, or by descent.

use std::collections::{BTreeMap, BTreeSet};

use super::identity::{Life, current_boot, life, may_be_same_boot};
use super::process_ref::ProcessRef;
use super::process_table::{ProbeError, Seen};
use super::shared_table::ProcessTable;

/// Reason why a process belongs to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Recorded as one of them.
    Recorded,
    /// Started with the value in its environment.
    Environment,
    /// Descends from such a process: by its chain of parents, or by a process session that such a process leads.
    Descendant,
}

/// One living process that belongs to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Process number.
    pub pid: u32,
    /// Name that the process calls itself: hostile text, to be neutralized before it is printed. Empty if it cannot be seen.
    pub name: String,
    /// Reason why it belongs to them.
    pub why: Why,
}

/// Result of a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The living processes that belong together but the calling one, by number.
    pub members: Vec<Member>,
    /// Reason why the calling process belongs to them; `None` if it does not.
    pub caller: Option<Why>,
}

/// Returns the values of a variable in the environment of any living process but the calling one. One look at the process table serves
/// for all of them.
///
/// # Errors
/// When the process table cannot be read; treat that as: any.
pub fn carried(table: &ProcessTable, variable: &str) -> Result<BTreeSet<String>, ProbeError> {
    let own = std::process::id();
    let mut found = BTreeSet::new();
    for seen in table
        .all()?
        .iter()
        .filter(|seen| !seen.dead && !seen.kernel && seen.pid != own)
    {
        let values = table.values(seen.pid, variable)?;
        found.extend(
            values
                .into_iter()
                .filter_map(|value| String::from_utf8(value).ok()),
        );
    }
    Ok(found)
}

/// Returns the living processes that belong together: those that `known` records, those that have the variable with the value in their
/// environment, and everything that descends from either. A recorded process that cannot be seen but may live counts.
///
/// The table is not read at one instant, so a process that forks and ends meanwhile can hide its child from one
/// look: "no process lives" needs a second one.
///
/// # Errors
/// When the process table cannot be read; treat that as active.
pub fn members(
    table: &ProcessTable,
    variable: &str,
    value: &str,
    known: &[ProcessRef],
) -> Result<Probe, ProbeError> {
    let probe = probe_once(table, variable, value, known)?;
    if probe.members.is_empty() {
        probe_once(table, variable, value, known)
    } else {
        Ok(probe)
    }
}

fn probe_once(
    processes: &ProcessTable,
    variable: &str,
    value: &str,
    known: &[ProcessRef],
) -> Result<Probe, ProbeError> {
    let boot = current_boot();
    let known: Vec<&ProcessRef> = known
        .iter()
        .filter(|process| may_be_same_boot(&process.boot, &boot))
        .collect();
    let table = processes.all()?;
    let mut carriers = BTreeSet::new();
    for seen in table.iter().filter(|seen| !seen.dead && !seen.kernel) {
        let values = processes.values(seen.pid, variable)?;
        if values.iter().any(|one| one == value.as_bytes()) {
            carriers.insert(seen.pid);
        }
    }
    let own = std::process::id();
    let mut probe = Probe::default();
    let belonging = belonging(&table, &carriers, &known);
    for seen in &table {
        match belonging.get(&seen.pid) {
            Some(why) if seen.pid == own => probe.caller = Some(*why),
            Some(why) => {
                probe.members.push(Member {
                    pid: seen.pid,
                    name: seen.name.clone(),
                    why: *why,
                });
            }
            None => {}
        }
    }
    for process in known {
        let seen = table.iter().any(|seen| seen.pid == process.pid);
        if !seen && life(process) != Life::Dead {
            probe.members.push(Member {
                pid: process.pid,
                name: String::new(),
                why: Why::Recorded,
            });
        }
    }
    probe.members.sort_by_key(|member| member.pid);
    Ok(probe)
}

/// Returns the rows of the table that belong to `carriers` and `known`, which are of this boot.
pub(crate) fn belonging(
    table: &[Seen],
    carriers: &BTreeSet<u32>,
    known: &[&ProcessRef],
) -> BTreeMap<u32, Why> {
    let mut found = BTreeMap::new();
    for seen in table.iter().filter(|seen| !seen.dead && !seen.kernel) {
        if known.iter().any(|process| seen.is(process)) {
            found.insert(seen.pid, Why::Recorded);
        } else if carriers.contains(&seen.pid) {
            found.insert(seen.pid, Why::Environment);
        }
    }
    // A session keeps the number of the process that made it, and the kernel gives that number to nobody else while
    // the session has members: so a dead leader vouches for them until another process has its number.
    let leaders: Vec<&ProcessRef> = known
        .iter()
        .copied()
        .filter(|process| {
            table
                .iter()
                .all(|seen| seen.pid != process.pid || seen.is(process))
        })
        .collect();
    loop {
        let before = found.len();
        for seen in table.iter().filter(|seen| !seen.dead && !seen.kernel) {
            let descends = found.contains_key(&seen.parent)
                || found.contains_key(&seen.session)
                || leaders
                    .iter()
                    .any(|leader| leader.pid == seen.session && leader.start <= seen.start);
            if descends {
                found.entry(seen.pid).or_insert(Why::Descendant);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
