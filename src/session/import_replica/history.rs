//! History of sessions in the chain of another machine.

use std::collections::{BTreeMap, HashMap};

use crate::model::{
    CallRef, ChangeCounts, Coverage, Ending, InstanceId, Operation, SessionTitle, SnapshotId, Time,
};
use crate::replica::Chain;
use crate::store::IMPORTED;

/// A session as its own chain tells of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    pub(super) workspace: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) mounts: Vec<Coverage>,
    pub(super) command: Option<(String, u32)>,
    pub(super) title: SessionTitle,
    pub(super) began: Option<Time>,
    pub(super) ended: Option<(Time, Ending)>,
}

/// Facts in the receipt of each snapshot that its record lacks: change counts and tool call.
pub(super) type Steps = HashMap<SnapshotId, (Option<ChangeCounts>, Option<CallRef>)>;

/// Returns the history of each session, and the facts from each snapshot's receipt.
pub(super) fn lives(chain: &Chain) -> (BTreeMap<InstanceId, Life>, Steps) {
    let mut lives: BTreeMap<InstanceId, Life> = BTreeMap::new();
    let mut steps = Steps::new();
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
                life.ended = Some((*ended, ending.clone()));
            }
            Operation::Rename { title } => {
                life.title.name.clone_from(&title.name);
                life.title.message.clone_from(&title.message);
            }
            Operation::End { ending, .. } if life.ended.is_none() => {
                life.ended = Some((receipt.at, ending.clone()))
            }
            Operation::Capture {
                snapshot, step, call, ..
            } => {
                steps
                    .entry(snapshot.clone())
                    .or_insert_with(|| (step.clone(), call.clone()));
            }
            _ => {}
        }
    }
    (lives, steps)
}
