//! How something went that may have met an error, as an operator is told.

use crate::restore::{Outcome, Proposal, Report, RestoreError};

/// How something went that may have met an error.
#[derive(Debug)]
pub(super) enum Done {
    /// All that was planned.
    Whole,
    /// All but what is named.
    Partly(Vec<String>),
    /// Nothing; why.
    Refused(String),
    /// A restore waits; why.
    Waits(String),
}

impl Done {
    /// What was said of it.
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
