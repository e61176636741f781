//! Changes of a session: its first and last snapshot compared, as text and as JSON documents.

use crate::capture::{Captured, PrivateOverlay};
use crate::cli::context::Context;
use crate::cli::document::ChangeDocument;
use crate::cli::error::CliError;
use crate::cli::view;
use crate::diff::{Change, Comparison, Side, compare, compare_withheld, pair_renames};
use crate::model::{Coverage, InstanceId, SnapshotKind};
use crate::session::awaited;
use crate::store::{InstanceRow, Store};
use crate::terminal::{size, width};

/// Changes by mount.
pub(super) struct Changes {
    mounts: Vec<(Coverage, Vec<Change>)>,
    /// Number of changed private files whose contents cannot be shown.
    withheld: u64,
    has_baseline: bool,
    /// True if the baseline is missing and will be stored from a file-system snapshot.
    is_awaited: bool,
    has_closing: bool,
}

/// Compares the baseline of a session with its closing snapshot.
pub(super) fn of_session(
    store: &Store,
    row: &InstanceRow,
    closing: Option<&Captured>,
) -> Result<Changes, CliError> {
    let rows = store.catalog().snapshots(&row.id)?;
    let baseline = rows.iter().find(|row| row.kind == SnapshotKind::Baseline);
    let (Some(baseline), Some(closing)) = (baseline, closing) else {
        return Ok(Changes {
            mounts: Vec::new(),
            withheld: 0,
            has_baseline: baseline.is_some(),
            is_awaited: baseline.is_none() && !awaited(store, row)?.is_empty(),
            has_closing: closing.is_some(),
        });
    };
    let record = store.record(&baseline.id)?;
    let (mut mounts, mut withheld) = (Vec::new(), 0);
    let captured = closing.manifests.iter().zip(&closing.record.mounts);
    for (mount, (now, later)) in record.mounts.iter().zip(captured) {
        // Private files are compared by the facts that the snapshots store of them.
        let mut reveal = PrivateOverlay::default();
        let (before, _) = reveal.stored_manifest(store, &record, mount)?;
        let now = match later.withheld.is_empty() {
            true => now.clone(),
            false => reveal.stored_manifest(store, &closing.record, later)?.0,
        };
        let from = Side {
            manifest: before.as_ref(),
            skipped: &[],
        };
        let to = Side {
            manifest: now.as_ref(),
            skipped: &[],
        };
        let Comparison { changes, .. } = compare(&from, &to);
        let mut private = compare_withheld(&mount.withheld, Some(&later.withheld));
        private.retain(|change| !change.is_told_by((before.as_ref(), now.as_ref())));
        withheld += private.len() as u64;
        mounts.push((mount.coverage.clone(), pair_renames(changes)));
    }
    Ok(Changes {
        mounts,
        withheld,
        has_baseline: true,
        is_awaited: false,
        has_closing: true,
    })
}

impl Changes {
    /// Returns the changes as JSON documents.
    pub(super) fn documents(&self) -> Vec<ChangeDocument> {
        let all = self
            .mounts
            .iter()
            .flat_map(|(coverage, changes)| changes.iter().map(move |c| (coverage, c)));
        all.map(|(coverage, change)| ChangeDocument::new(coverage, change))
            .collect()
    }

    /// One screen: how much changed, the first paths, and the commands that show and undo it.
    pub(super) fn screen(&self, context: &Context<'_>, instance: &InstanceId, columns: usize) -> String {
        const SHOWN: usize = 12;
        if !self.has_closing && self.has_baseline {
            return format!(
                "session {instance} has ended; what it changed is not known, for there is no closing snapshot; `diff` compares with now"
            );
        }
        if self.is_awaited {
            return format!(
                "session {instance} has ended; its baseline is not stored yet, and until then nothing can be restored"
            );
        }
        if !self.has_baseline {
            return format!("session {instance} has ended; it has no baseline, so nothing can be restored");
        }
        let total: usize = self.mounts.iter().map(|(_, changes)| changes.len()).sum();
        if total == 0 && self.withheld == 0 {
            return format!("session {instance} changed nothing");
        }
        let all = self.mounts.iter().flat_map(|(_, changes)| changes);
        let mut parts = view::changes::counts(all);
        if self.withheld > 0 {
            let private = size::count(self.withheld);
            parts.push(format!("{private} private, of which `diff` tells"));
        }
        let head = format!("session {instance}: {}", parts.join(", "));
        let mut lines = width::wrap(&head, columns);
        let mut left = SHOWN;
        for (coverage, changes) in &self.mounts {
            if self.mounts.len() > 1 && !changes.is_empty() && left > 0 {
                lines.push(format!("  in {}", view::changes::host(coverage)));
            }
            for change in changes.iter().take(left) {
                lines.push(format!("  {}", view::changes::line(change)));
            }
            left = left.saturating_sub(changes.len());
        }
        if total > SHOWN {
            lines.push(format!("  and {} more", size::count((total - SHOWN) as u64)));
        }
        lines.push(context.proposal("see it", &format!("diff {instance}"), columns));
        lines.push(context.proposal("undo it", &format!("restore {instance}"), columns));
        lines.join("\n")
    }
}
