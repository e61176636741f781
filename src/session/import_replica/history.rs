//! History of sessions in the chain of another machine.

use std::collections::{BTreeMap, HashMap};

use crate::model::{
    CallRef, ChangeCounts, Coverage, Ending, InstanceId, Operation, SessionTitle, SnapshotId, SnapshotKind,
    SnapshotRecord, Time,
};
use crate::replica::Chain;
use crate::session::select::name_fault;
use crate::store::{IMPORTED, check_mounts};

/// A session as its own chain tells of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    pub(super) workspace: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) mounts: Vec<Coverage>,
    pub(super) command: Option<(String, u32)>,
    pub(super) title: SessionTitle,
    pub(super) began: Option<Time>,
    /// Number of the receipt of its beginning.
    pub(super) first: Option<u64>,
    pub(super) ended: Option<(Time, Ending)>,
    /// Number of the receipt of its end.
    pub(super) last: Option<u64>,
}

/// Facts in the receipt of a snapshot that its record lacks.
#[derive(Clone, Debug)]
pub(super) struct Captured {
    pub(super) number: u64,
    pub(super) step: Option<ChangeCounts>,
    pub(super) call: Option<CallRef>,
}

/// Most mounts of a session that are taken from a log. Snapshots name theirs anyway.
const MOUNTS: usize = 256;
/// Most excludes of all mounts together.
const RULES: usize = 4096;
/// Longest text of a session, in bytes.
const WORDS: usize = 16 << 10;

impl Life {
    /// Without what no version of this program writes; without trust, also without so much of it: another machine's log may hold anything.
    fn checked(mut self, trusted: bool) -> Self {
        let rules: usize = self.mounts.iter().map(|mount| mount.excludes.len()).sum();
        let is_much = self.mounts.len() > MOUNTS || rules > RULES;
        if !trusted && is_much || check_mounts(&self.mounts).is_err() {
            self.mounts.clear();
        }
        if trusted {
            return self;
        }
        let SessionTitle {
            name,
            message,
            arguments,
        } = &mut self.title;
        name.take_if(|name| name_fault(name).is_some());
        message.take_if(|message| message.len() > WORDS);
        if arguments.iter().map(String::len).sum::<usize>() > WORDS {
            arguments.clear();
        }
        self.command.take_if(|(program, _)| program.len() > WORDS);
        self.workspace.take_if(|workspace| workspace.len() > WORDS);
        self.mode.take_if(|mode| mode.len() > WORDS);
        self
    }
}

/// The facts of each snapshot.
pub(super) type Captures = HashMap<SnapshotId, Captured>;

/// One step of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The session began.
    Begin,
    /// The snapshot with this position among those of the session was taken.
    Snapshot(usize),
    /// The session ended.
    End,
}

/// Returns the history of each session, and the facts from each snapshot's receipt.
pub(super) fn lives(chain: &Chain, trusted: bool) -> (BTreeMap<InstanceId, Life>, Captures) {
    let mut lives: BTreeMap<InstanceId, Life> = BTreeMap::new();
    let mut captures = Captures::new();
    for receipt in &chain.receipts {
        let Some(instance) = &receipt.instance else {
            continue;
        };
        let life = lives.entry(instance.clone()).or_default();
        match &receipt.act {
            Operation::Begin {
                workspace,
                mode,
                mounts,
                command,
                title,
                ..
            } if life.began.is_none() => {
                life.workspace.clone_from(workspace);
                life.mode = Some(mode.clone());
                life.mounts.clone_from(mounts);
                life.command.clone_from(command);
                life.title.clone_from(title);
                life.began = Some(receipt.at);
                life.first = Some(receipt.number);
            }
            Operation::Adopt {
                workspace,
                mode,
                mounts,
                command,
                title,
                began,
                ended,
                ending,
                ..
            } if life.began.is_none() || life.mode.as_deref() == Some(IMPORTED) => {
                life.workspace.clone_from(workspace);
                life.mode = Some(mode.clone());
                life.mounts.clone_from(mounts);
                life.command.clone_from(command);
                life.title.clone_from(title);
                life.began = Some(*began);
                life.first.get_or_insert(receipt.number);
                life.ended = Some((*ended, ending.clone()));
            }
            Operation::Rename { title } => {
                life.title.name.clone_from(&title.name);
                life.title.message.clone_from(&title.message);
            }
            Operation::End { ending, .. } => {
                life.ended.get_or_insert_with(|| (receipt.at, ending.clone()));
                life.last = Some(receipt.number);
            }
            Operation::Capture {
                snapshot, step, call, ..
            } => {
                captures.entry(snapshot.clone()).or_insert_with(|| Captured {
                    number: receipt.number,
                    step: step.clone(),
                    call: call.clone(),
                });
            }
            _ => {}
        }
    }
    let lives = lives
        .into_iter()
        .map(|(instance, life)| (instance, life.checked(trusted)));
    (lives.collect(), captures)
}

/// A session to import, with the snapshots that are not here yet, oldest first.
pub(super) struct Incoming {
    pub(super) instance: InstanceId,
    pub(super) life: Life,
    pub(super) records: Vec<SnapshotRecord>,
}

/// Returns the steps, each with the position of its session, in the order in which they happened there: which sessions lived together, and
/// which snapshot is older than another one, decides what a restore may change.
pub(super) fn in_order(sessions: &[Incoming], captures: &Captures) -> Vec<(usize, Step)> {
    let mut steps = Vec::new();
    for (session, Incoming { life, records, .. }) in sessions.iter().enumerate() {
        let number = |record: &SnapshotRecord| captures.get(&record.id).map(|captured| captured.number);
        // Snapshots are copied before receipts: a session that none tells of is newer than those that they tell of.
        let begun = life.first.or_else(|| records.iter().filter_map(number).min());
        let mut at = begun.unwrap_or(u64::MAX - 1);
        steps.push((at, session, Step::Begin));
        let mut end = at;
        for (position, record) in records.iter().enumerate() {
            // A receipt that is missing there has the place of the one before it.
            at = number(record).unwrap_or(at);
            steps.push((at, session, Step::Snapshot(position)));
            if record.kind != SnapshotKind::Emergency {
                end = end.max(at);
            }
        }
        // A session whose end nothing tells of lived as long as that store.
        let is_over = life.ended.is_some() && begun.is_some();
        let end = life.last.unwrap_or(if is_over { end } else { u64::MAX });
        steps.push((end, session, Step::End));
    }
    steps.sort_by_key(|(at, ..)| *at);
    steps
        .into_iter()
        .map(|(_, session, step)| (session, step))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Life;
    use crate::model::{ByteString, Coverage, SessionTitle};

    fn at(label: &str, root: &str) -> Coverage {
        Coverage::new(label, ByteString(root.as_bytes().to_vec()))
    }

    #[test]
    fn a_log_that_no_version_of_this_program_wrote_tells_nothing() {
        let of = |mounts: Vec<Coverage>| Life {
            mounts,
            ..Life::default()
        };
        let good = vec![at("shop", "/srv/shop"), at("other", "/srv/other")];
        assert_eq!(of(good.clone()).checked(false).mounts, good);
        for bad in [
            vec![at("../../etc", "/srv/shop")],
            vec![at("shop", "relative/../../x")],
            vec![at("shop", "/srv/shop"), at("shop", "/srv/other")],
        ] {
            for trusted in [false, true] {
                assert_eq!(of(bad.clone()).checked(trusted).mounts, [], "{bad:?}");
            }
        }
        let many: Vec<_> = (0..1000).map(|n| at(&format!("m{n}"), "/srv/shop")).collect();
        assert_eq!(of(many.clone()).checked(false).mounts, []);
        assert_eq!(of(many.clone()).checked(true).mounts, many);
        let long = "x".repeat(2 << 20);
        let life = Life {
            title: SessionTitle {
                name: Some(long.clone()),
                message: Some(long.clone()),
                arguments: vec![long.clone()],
            },
            command: Some((long, 1)),
            ..Life::default()
        };
        assert_eq!(life.clone().checked(true).title, life.title);
        let life = life.checked(false);
        assert_eq!((life.title, life.command), (SessionTitle::default(), None));
        let named = Life {
            title: SessionTitle {
                name: Some("fix-login".to_owned()),
                message: Some("Mend the login".to_owned()),
                ..SessionTitle::default()
            },
            ..Life::default()
        };
        assert_eq!(named.clone().checked(false).title, named.title);
    }
}
