//! Contents of each view.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use ratatui::text::Line;

use super::data::{Changes, Job, PathChange, Request};
use super::preview::{LineMarks, Preview, found};
use super::scroll::Scroll;
use super::tree::Tree;
use crate::display::sanitize;
use crate::model::Time;

/// View that the screen shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Sessions,
    Timeline,
    /// Prompts and tool calls of the session.
    Points,
    Changes,
    /// The lines of a path, where there is no room for them beside the tree.
    Patch,
    Plan,
    /// The plan of forgetting a session.
    Forget,
    Done,
    Store,
    Log,
}

/// A plan that waits for an answer.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) request: Request,
    pub(super) page: Page,
    /// True if the plan changes anything.
    pub(super) does_something: bool,
    /// Number of paths that it changes.
    pub(super) paths: u64,
    /// True once the plan was drawn; keys typed ahead of that confirm nothing.
    pub(super) seen: bool,
}

/// Question before a job. It has the keys until it is answered.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) words: String,
    /// Text that the operator types; `None` if the answer is yes or no.
    pub(super) typed: Option<String>,
    pub(super) job: Job,
}

/// Bytes that can be copied: their key, their name, and the bytes.
pub(super) type Copyable = (char, &'static str, OsString);

/// Shows what can be copied in one row. A path may hold anything; other things are text already.
pub(super) fn in_one_row(name: &str, bytes: &OsStr) -> String {
    match name {
        "path" => sanitize::os(bytes),
        _ => sanitize::line(bytes.as_bytes()),
    }
}

/// The plan of forgetting a session, which waits for an answer.
#[derive(Debug)]
pub(super) struct ForgetPlan {
    pub(super) session: String,
    pub(super) page: Page,
    /// Time of the [`super::data::ForgetText`].
    pub(super) at: Time,
    /// True once it was drawn.
    pub(super) seen: bool,
}

/// A text that can be scrolled.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) scroll: Scroll,
    /// Its lines, for as many columns as they were laid out for.
    pub(super) laid: Option<(usize, Vec<Line<'static>>)>,
    /// Text that is searched for.
    pub(super) search: String,
}

impl Page {
    pub(super) fn of(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// Returns the numbers of the lines with the searched text, once they were laid out.
    pub(super) fn hits(&self) -> Vec<usize> {
        let lines = self.laid.iter().flat_map(|(_, lines)| lines.iter().enumerate());
        let is_hit = |line: &Line<'_>| found(&line.to_string(), &self.search).next().is_some();
        lines
            .filter(|(_, line)| !self.search.is_empty() && is_hit(line))
            .map(|(at, _)| at)
            .collect()
    }

    /// Scrolls to the next line with the searched text, or to the one before; with `stays`, the first line that is shown counts too.
    /// Returns false if there is none.
    pub(super) fn find(&mut self, forward: bool, stays: bool) -> bool {
        let hits = self.hits();
        let top = self.scroll.top;
        let next = match forward {
            true => hits.iter().find(|hit| **hit > top || stays && **hit == top),
            false => hits.iter().rev().find(|hit| **hit < top),
        };
        let around = if forward { hits.first() } else { hits.last() };
        if let Some(hit) = next.or(around) {
            (self.scroll.top, self.scroll.at) = (*hit, *hit);
        }
        !hits.is_empty()
    }
}

/// Differences as a tree, with the lines of the selected path.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) changes: Changes,
    pub(super) tree: Tree,
    pub(super) scroll: Scroll,
    pub(super) preview: Preview,
    /// Changes that a restore keeps, and why; empty until that is known.
    pub(super) later: BTreeMap<usize, &'static str>,
}

impl Compared {
    /// Returns the tree of these differences, with nothing selected and marked.
    pub(super) fn of(changes: Changes) -> Self {
        Self {
            tree: Tree::new(&changes),
            changes,
            scroll: Scroll::default(),
            preview: Preview::default(),
            later: BTreeMap::new(),
        }
    }

    /// Selects the first path that has lines to show. What git keeps for itself comes after the files.
    pub(super) fn begin(&mut self) {
        let file = |at: &usize| {
            let change = self.changes.all.get(self.tree.change(*at)?)?;
            (!change.is_directory).then_some(change)
        };
        let is_files_own = |at: &usize| {
            let host = file(at).and_then(|change| change.hosts.first());
            host.is_some_and(|host| host.components().all(|part| part.as_os_str() != ".git"))
        };
        let rows = 0..self.tree.rows.len();
        self.scroll.at = rows.clone().find(is_files_own).unwrap_or(0);
    }

    /// Stays where the operator was in the same comparison when it was made before: the filter, the path or the one behind it, and the
    /// marks of the paths that still differ.
    pub(super) fn stay_at(&mut self, before: &Self) {
        self.tree.filter.clone_from(&before.tree.filter);
        self.tree.kind = before.tree.kind;
        self.tree.lay_out(&self.changes);
        let host = |change: &PathChange| change.hosts.first().cloned();
        let ours = self.changes.all.iter().enumerate();
        let ours: HashMap<PathBuf, usize> = ours.filter_map(|(at, own)| Some((host(own)?, at))).collect();
        // The change of the same path.
        let again = |before_at: usize| {
            ours.get(before.changes.all.get(before_at)?.hosts.first()?)
                .copied()
        };
        let mut rows = HashMap::new();
        for row in 0..self.tree.rows.len() {
            if let Some(change) = self.tree.change(row) {
                rows.entry(change).or_insert(row);
            }
        }
        let behind = before.scroll.at..before.tree.rows.len();
        let mut behind = behind.filter_map(|row| again(before.tree.change(row)?));
        let at = behind.find_map(|change| rows.get(&change).copied());
        let last = self.tree.rows.len().saturating_sub(1);
        self.scroll.at = at.unwrap_or(before.scroll.at).min(last);
        self.scroll.top = before.scroll.top;
        self.tree.marked = before.tree.marked.iter().filter_map(|at| again(*at)).collect();
        let in_part = before.tree.in_part.iter();
        self.tree.in_part = in_part
            .filter_map(|(at, marks)| Some((again(*at)?, marks.clone())))
            .collect();
    }

    /// Returns the selected change, unless it is of a directory.
    pub(super) fn chosen_file(&self) -> Option<&PathChange> {
        let change = self.changes.all.get(self.tree.change(self.scroll.at)?)?;
        (!change.is_directory).then_some(change)
    }

    /// Marks these lines of the preview, or removes their marks if all of them are marked. Returns false if the path has no lines that
    /// can be marked.
    pub(super) fn mark_lines(&mut self, lines: std::ops::Range<usize>) -> bool {
        let (Some(of), Some(sides)) = (self.preview.of, self.preview.text.sides) else {
            return false;
        };
        let wanted = self.preview.parts(lines);
        let all = self.preview.parts(0..self.preview.text.lines.len());
        let mut parts = match self.tree.marked.remove(&of) {
            true => all.clone(),
            false => self
                .tree
                .in_part
                .remove(&of)
                .map_or_else(Default::default, |marks| marks.parts),
        };
        match wanted.is_subset(&parts) {
            true => parts.retain(|part| !wanted.contains(part)),
            false => parts.extend(wanted),
        }
        if parts == all {
            self.tree.marked.insert(of);
        } else if !parts.is_empty() {
            self.tree.in_part.insert(of, LineMarks { sides, parts });
        }
        true
    }

    /// Returns true if a line of the preview is marked.
    pub(super) fn is_marked(&self, line: usize) -> bool {
        let part = self.preview.text.lines.get(line).and_then(|line| line.part());
        let (Some(of), Some(part)) = (self.preview.of, part) else {
            return false;
        };
        let marks = self.tree.in_part.get(&of);
        self.tree.marked.contains(&of) || marks.is_some_and(|marks| marks.parts.contains(&part))
    }
}

/// Request whose answer is awaited, and the words shown meanwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) words: &'static str,
    /// True if the request changes files; everything else waits until it is done.
    pub(super) acts: bool,
    /// True if the request only refreshes the view; leaving the view does not cancel it.
    pub(super) refreshes: bool,
}

/// Positions on the screen, for paging and for the mouse.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawn {
    /// Columns of the screen.
    pub(super) columns: u16,
    /// True if nothing fits on it.
    pub(super) is_too_small: bool,
    /// The rows of the list.
    pub(super) list: ratatui::layout::Rect,
    /// The preview beside or below it.
    pub(super) side: ratatui::layout::Rect,
    /// Line of the preview in each of its rows.
    pub(super) side_lines: Vec<usize>,
}
