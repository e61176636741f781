//! Contents of each view.

use ratatui::text::Line;

use super::data::{Changes, PatchLine, Request};
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
    /// Index of the change that the lines belong to.
    pub(super) patch_of: Option<usize>,
    pub(super) patch: Vec<PatchLine>,
    pub(super) patch_scroll: Scroll,
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
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drawn {
    /// Columns of the screen.
    pub(super) columns: u16,
    /// The rows of the list.
    pub(super) list: ratatui::layout::Rect,
    /// The lines beside it.
    pub(super) side: ratatui::layout::Rect,
}
