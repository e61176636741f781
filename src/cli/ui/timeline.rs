//! Rows of the timeline: an emergency snapshot is folded below its restore, and a restore below its undo.

use std::collections::BTreeSet;

use super::data::{Moment, What};

/// Row of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimelineRow {
    /// Index of the moment.
    pub(super) moment: usize,
    /// Receipt of the moment, if others are folded below it.
    pub(super) folds: Option<u64>,
    /// True if those are shown.
    pub(super) is_open: bool,
    /// Receipt of the moment that this one is folded below.
    pub(super) inside: Option<u64>,
}

/// Returns the rows of the timeline. Below each moment whose receipt is in `opened` stand those that are folded below it.
pub(super) fn fold_moments(moments: &[Moment], opened: &BTreeSet<u64>) -> Vec<TimelineRow> {
    let heads: Vec<Option<u64>> = moments.iter().map(|moment| head_of(moments, moment)).collect();
    let mut rows = Vec::new();
    for (at, moment) in moments.iter().enumerate() {
        if heads.get(at).is_some_and(Option::is_some) {
            continue;
        }
        let receipt = receipt(moment).filter(|receipt| heads.contains(&Some(*receipt)));
        let is_open = receipt.is_some_and(|receipt| opened.contains(&receipt));
        rows.push(TimelineRow {
            moment: at,
            folds: receipt,
            is_open,
            inside: None,
        });
        let inside = heads.iter().enumerate();
        let inside = inside.filter(|(_, head)| is_open && **head == receipt);
        rows.extend(inside.map(|(at, head)| TimelineRow {
            moment: at,
            folds: None,
            is_open: false,
            inside: *head,
        }));
    }
    rows
}

/// Returns the receipt of the moment that another one is folded below, in the end; `None` if it is not folded.
pub(super) fn head_of(moments: &[Moment], moment: &Moment) -> Option<u64> {
    let with = |number: u64| moments.iter().find(|other| receipt(other) == Some(number));
    let mut head = None;
    let mut next = moment.under;
    // A receipt is older than its undo, so this ends.
    while let Some((number, above)) = next.and_then(|number| Some((number, with(number)?))) {
        head = Some(number);
        next = above.under.filter(|above| *above > number);
    }
    head
}

fn receipt(moment: &Moment) -> Option<u64> {
    match moment.what {
        What::Restore { number, .. } => Some(number),
        What::Snapshot { .. } => None,
    }
}
