//! The confirmed proposal as an intent, and back: what a restore may touch has to be known after a crash as well.

use super::flags;
use super::proposal::{Proposal, ProposedMount, Purpose};
use super::scope::{Allow, Merging, Scope};
use super::stage::{Location, Stage};
use super::{RestoreContext, composed};
use crate::clock::{Entropy, random};
use crate::model::{Intent, IntentMount, IntentScope, RestoreId, RestoreKind};
use handle_fs::Dir;

impl From<&Scope> for IntentScope {
    fn from(scope: &Scope) -> Self {
        match scope {
            Scope::All => Self::All,
            Scope::Below(tops) => Self::Below(tops.listed().to_vec()),
            Scope::Exactly(paths) => Self::Exactly(paths.iter().cloned().collect()),
            // A proposal has none: it was resolved for both sides.
            Scope::Asked(_) => Self::Exactly(Vec::new()),
        }
    }
}

impl From<&IntentScope> for Scope {
    fn from(scope: &IntentScope) -> Self {
        match scope {
            IntentScope::All => Self::All,
            IntentScope::Below(tops) => Self::Below(tops.iter().cloned().collect()),
            IntentScope::Exactly(paths) => Self::Exactly(paths.iter().cloned().collect()),
        }
    }
}

impl Allow {
    /// Returns the permissions that the operator gave when an interrupted restore was confirmed.
    #[must_use]
    pub fn of(intent: &Intent) -> Self {
        Self {
            overwrite_later: intent.overwrite_later,
            delete_later: intent.delete_later,
            files_only: intent.files_only,
            // What was merged is in the intent.
            merging: Merging::Off,
        }
    }
}

impl Purpose {
    /// Returns the kind of the restore, and for an undo the number of the receipt that it reverts.
    pub(super) fn kind(&self) -> (RestoreKind, Option<u64>) {
        match self {
            Self::Restore | Self::Step(_) => (RestoreKind::Restore, None),
            Self::Undo(number) => (RestoreKind::Undo, Some(*number)),
        }
    }

    /// Returns the purpose of an interrupted restore.
    #[must_use]
    pub fn of(intent: &Intent) -> Self {
        match (intent.kind, intent.undoes, &intent.only_changes_of) {
            (RestoreKind::Undo, Some(number), _) => Self::Undo(number),
            (_, _, Some(step)) => Self::Step(step.clone()),
            _ => Self::Restore,
        }
    }
}

/// The intent of a proposal that was confirmed.
pub(super) fn intent(proposal: &Proposal, acting: &RestoreContext<'_>) -> Intent {
    let (kind, undoes) = proposal.purpose.kind();
    Intent {
        id: RestoreId::new(random(acting.entropy)),
        at: acting.now,
        uid: acting.uid,
        instance: proposal.target.instance.clone(),
        kind,
        undoes,
        only_changes_of: match &proposal.purpose {
            Purpose::Step(step) => Some(step.clone()),
            Purpose::Restore | Purpose::Undo(_) => None,
        },
        inside: acting.inside,
        target: proposal.target.id.clone(),
        overwrite_later: proposal.allow.overwrite_later,
        delete_later: proposal.allow.delete_later,
        files_only: proposal.allow.files_only,
        unlocked: proposal.mounts.iter().any(|mount| mount.reveal.is_unlocked()),
        plan: Some(proposal.digest()),
        exact_mtimes: acting.exact_mtimes,
        mounts: proposal
            .mounts
            .iter()
            .map(|mount| of_mount(proposal, mount, acting.entropy))
            .collect(),
    }
}

fn of_mount(proposal: &Proposal, mount: &ProposedMount, entropy: &dyn Entropy) -> IntentMount {
    let root = mount.request.coverage.root.to_path();
    let busy = mount.is_busy();
    IntentMount {
        coverage: mount.request.coverage.clone(),
        scope: IntentScope::from(&mount.request.scope),
        stage: busy.then(|| Stage::place(&mount.location, &root, random(entropy))),
        conflicts: mount.conflicts(),
        hidden: proposal.untouched(mount),
        bound: flags::bound(&mount.plan.steps),
        aside: mount.aside.clone(),
        composed: composed::recorded(&mount.request.witness.composed),
        root_mtime: match &mount.location {
            Location::Inside(root) if busy => {
                Dir::open(&mount.transports, root).and_then(|dir| dir.stat()).ok()
            }
            _ => None,
        }
        .map(|stat| stat.mtime.into()),
    }
}
