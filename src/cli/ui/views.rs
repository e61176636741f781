//! Contents of each view.

use std::collections::BTreeMap;

use ratatui::text::Line;

use super::data::{Changes, Job, PathChange, Request};
use super::preview::{LineMarks, Preview};
use super::scroll::Scroll;
use super::tree::Tree;

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

/// Text that can be copied: its key, its name, and the text.
pub(super) type Copyable = (char, &'static str, String);

/// The plan of forgetting a session, which waits for an answer.
#[derive(Debug)]
pub(super) struct ForgetPlan {
    pub(super) session: String,
    pub(super) page: Page,
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
}

impl Page {
    pub(super) fn of(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
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
    /// The rows of the list.
    pub(super) list: ratatui::layout::Rect,
    /// The preview beside or below it.
    pub(super) side: ratatui::layout::Rect,
    /// Line of the preview in each of its rows.
    pub(super) side_lines: Vec<usize>,
}
