//! Result of an operation that may have met an error, as the operator sees it.

use crate::restore::{Outcome, Proposal, Report, RestoreError};

/// Result of an operation that may have met an error.
#[derive(Debug)]
pub(super) enum Done {
    /// All that was planned was done.
    Whole,
    /// All but the named paths was done.
    Partly(Vec<String>),
    /// Refused without a change, with the reason.
    Refused(String),
    /// A restore waits, with the reason.
    Waits(String),
}

impl Done {
    /// Returns the reported text.
    pub(super) fn said(&self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::Partly(named) => named.join("\n"),
            Self::Refused(why) | Self::Waits(why) => why.clone(),
        }
    }

    pub(super) fn of(result: Result<(Proposal, Report), RestoreError>) -> Self {
        match result {
            Err(error) if error.is_pending() => Self::Waits(error.to_string()),
            Err(error) => Self::Refused(error.to_string()),
            Ok((proposal, report)) if report.outcome == Outcome::Partial => {
                let mut named = report.left;
                for (mount, done) in proposal.mounts.iter().zip(&report.mounts) {
                    named.extend(done.failed.iter().map(|failed| format!("{failed:?}")));
                    let plan = &mount.plan;
                    named.extend(plan.not_covered.iter().map(|gap| format!("{:?}", gap.path)));
                    let kept = plan.conflicts.iter().chain(&plan.kept);
                    named.extend(kept.map(|kept| format!("{:?}", kept.change.path)));
                }
                Self::Partly(named)
            }
            Ok(_) => Self::Whole,
        }
    }
}
