//! What each view holds.

use ratatui::text::Line;

use super::data::{Changes, PatchLine, Request};
use super::scroll::Scroll;
use super::tree::Tree;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Sessions,
    Timeline,
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
    /// There is something to do.
    pub(super) does_something: bool,
    /// It was drawn: what is typed ahead agrees to nothing.
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

/// What differs, as a tree, with the lines of the path that is chosen.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) changes: Changes,
    pub(super) tree: Tree,
    pub(super) scroll: Scroll,
    /// Which change the lines belong to.
    pub(super) patch_of: Option<usize>,
    pub(super) patch: Vec<PatchLine>,
    pub(super) patch_scroll: Scroll,
}

/// A question that was asked, and in which words one waits for the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) words: &'static str,
    /// It changes files: nothing else goes on until it is done.
    pub(super) acts: bool,
    /// It only shows anew what is shown: going elsewhere does not give it up.
    pub(super) refreshes: bool,
}

/// Where things are on the screen, for pages and for the mouse.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drawn {
    /// Columns of the screen.
    pub(super) columns: u16,
    /// The rows of the list.
    pub(super) list: ratatui::layout::Rect,
    /// The lines beside it.
    pub(super) side: ratatui::layout::Rect,
}
