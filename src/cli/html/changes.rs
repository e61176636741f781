//! Differences: a tree of the changed paths, and each path with its lines.

use std::ffi::OsString;

use maud::{Markup, html};
use sha2::{Digest as _, Sha256};

use super::lines::{self, Code, Room};
use super::picture;
use super::tree::{Leaf, tree};
use crate::cli::suggested_command::literal;
use crate::cli::view::{self, Reader};
use crate::model::{Coverage, Entry, RelPath};
use crate::report::{
    Body, Change, ChangeDocument, Contents, DiffDocument, Extent, Fold, FoldedLine, MAX_TEXT, MountDiff,
    PatchOptions, Sources, contents, patch_of,
};
use crate::terminal::{filter, sanitize, size};

/// Columns of what is laid out as text.
const WIDTH: usize = 110;

/// Most paths of a fold that is open at first.
const OPEN_FOLD: usize = 50;

/// Two sides that are compared.
pub(in crate::cli) struct Shown<'a> {
    pub(in crate::cli) found: &'a DiffDocument<'a>,
    pub(in crate::cli) sources: Sources<'a>,
    /// Also what is likely to be a secret.
    pub(in crate::cli) show_secrets: bool,
    /// Returns the command that restores these host paths to the earlier side; `None` means all that is compared.
    pub(in crate::cli) restore: &'a dyn Fn(Option<Vec<OsString>>) -> String,
}

/// The changes as parts of a page.
pub(super) struct Changes {
    /// Links to all paths.
    pub(super) tree: Markup,
    /// Section of all mounts.
    pub(super) section: Markup,
    /// True if there are images on the page.
    pub(super) has_pictures: bool,
}

/// Renders the changes of all mounts.
pub(super) fn changes(shown: &Shown<'_>) -> Changes {
    let found = shown.found;
    let mut writer = Writer {
        shown,
        room: Room::default(),
        omitted: 0,
    };
    let mounts: Vec<(Markup, Markup)> = found.mounts().map(|mount| writer.mount(&mount)).collect();
    let to = match found.to.as_str() {
        "now" => "the files as they are".to_owned(),
        id => format!("snapshot {id}"),
    };
    let several = found.mounts().len() > 1;
    let roots = found.mounts().map(|mount| view::changes::host(mount.coverage));
    let section = html! {
        section id="changes" {
            h2 { "What changed" }
            p { "From the " (found.earlier.kind.word()) " snapshot " code { (found.from) } " to " (to) "." }
            @if found.are_any() {
                (command("to undo all of it", &(shown.restore)(None), None))
            } @else {
                p { "no differences" }
            }
            @for (main, _) in &mounts { (main) }
        }
    };
    let tree = html! {
        @for (root, (_, tree)) in roots.zip(&mounts) {
            @if several { h3 class="mono" { (root) } }
            (tree)
        }
    };
    Changes {
        tree,
        section,
        has_pictures: writer.room.has_pictures,
    }
}

/// A command to copy. `link` is the fragment of the path that it belongs to.
fn command(label: &str, command: &str, link: Option<&str>) -> Markup {
    html! {
        p class="command" {
            span class="dim" { (label) ": " }
            code { (command) }
            " "
            button type="button" class="copy" { "Copy" }
            @if let Some(link) = link { " " a href={ "#" (link) } { "Link" } }
        }
    }
}

/// A path of a mount, rendered.
struct File<'a> {
    markup: Markup,
    leaf: Leaf<'a>,
}

struct Writer<'w> {
    shown: &'w Shown<'w>,
    room: Room,
    /// Paths of the mount that found no room.
    omitted: u64,
}

impl Writer<'_> {
    /// Renders a mount, and the tree of its paths.
    fn mount(&mut self, mount: &MountDiff<'_>) -> (Markup, Markup) {
        let rank = ranks(mount.exact);
        let rank_of = |at: &usize| rank.get(*at).copied().unwrap_or_default();
        let kinds: Vec<_> = mount.exact.iter().map(|change| change.kind).collect();
        let mut folded = mount.folded();
        for line in &mut folded {
            if let FoldedLine::Fold(fold) = line {
                fold.items.sort_by_key(rank_of);
            }
        }
        folded.sort_by_key(|line| match line {
            FoldedLine::One(at) => rank_of(at),
            FoldedLine::Fold(fold) => fold.items.first().map(rank_of).unwrap_or_default(),
        });
        let mut leaves: Vec<(usize, Leaf<'_>)> = Vec::new();
        let mut files = Vec::new();
        for line in &folded {
            match line {
                FoldedLine::One(at) => {
                    if let Some(file) = self.file(mount, *at, true) {
                        leaves.push((rank_of(at), file.leaf));
                        files.push(file.markup);
                    }
                }
                FoldedLine::Fold(fold) => {
                    let is_open = opens(fold);
                    let mut inner = Vec::new();
                    for at in &fold.items {
                        if let Some(mut file) = self.file(mount, *at, is_open) {
                            file.leaf.is_git = matches!(fold.extent, Extent::Git(_));
                            leaves.push((rank_of(at), file.leaf));
                            inner.push(file.markup);
                        }
                    }
                    let line = plain(&view::folded::line(fold, &kinds));
                    let (letter, rest) = line.split_once(' ').unwrap_or(("", &line));
                    files.push(html! {
                        details class="fold" open[is_open] {
                            summary { span class={ "kind " (letter) } { (letter) } " " span class="mono" { (rest) } }
                            @for file in &inner { (file) }
                        }
                    });
                }
            }
        }
        leaves.sort_by_key(|(rank, _)| *rank);
        let leaves: Vec<Leaf<'_>> = leaves.into_iter().map(|(_, leaf)| leaf).collect();
        let omitted = std::mem::take(&mut self.omitted);
        (around(mount, &files, omitted), tree(&leaves))
    }

    fn file<'a>(&mut self, mount: &MountDiff<'a>, at: usize, may_open: bool) -> Option<File<'a>> {
        let (change, told) = (mount.exact.get(at)?, mount.changes.get(at)?);
        let coverage = mount.coverage;
        let root = coverage.root.to_path();
        let paths = [change.from_path.as_ref(), Some(&change.path)]
            .into_iter()
            .flatten();
        let roots = [root.clone()];
        let paths = paths.map(|path| literal(&roots, &path.on_host(&root)));
        let restore = (self.shown.restore)(Some(paths.collect()));
        if !self
            .room
            .takes_path(restore.len() + 2 * change.path.as_bytes().len())
        {
            self.omitted += 1;
            return None;
        }
        let options = PatchOptions {
            context: 3,
            show_secrets: self.shown.show_secrets,
            hides: false,
        };
        let both = contents(coverage, change, &self.shown.sources, options, MAX_TEXT);
        let patch = patch_of(&both, options);
        let counts = (patch.added, patch.removed);
        let is_open = may_open && self.room.opens(counts.0 + counts.1);
        let mut count = 0;
        let body = match patch.body {
            Body::Nothing => note(&nothing(change)),
            Body::Lines(found) => {
                let code = Code {
                    path: &change.path,
                    contents: &both,
                    show_secrets: self.shown.show_secrets,
                };
                let (markup, lines) = lines::lines(&found, &code, &mut self.room);
                count = lines;
                markup
            }
            Body::Binary(old, new) => match self.pictures(change, &both) {
                Some(pictures) => pictures,
                None => note(&format!("binary: {} → {}", size::bytes(old), size::bytes(new))),
            },
            Body::Large(old, new) => note(&format!(
                "too large to show: {} → {}",
                size::bytes(old),
                size::bytes(new)
            )),
            Body::Hidden => note("content hidden: it may hold secrets (--show-secrets shows it)"),
            Body::Unavailable(why) => note(&format!("content not available: {}", sanitize::text(&why))),
        };
        let id = fragment(coverage, &change.path);
        let waits = self.room.waits(count) && !is_open;
        let body = html! {
            (command("to undo", &restore, Some(&id)))
            (body)
        };
        let markup = html! {
            details class="file" open[is_open] {
                summary { (head(change, told, counts)) }
                // Browsers open what is around a fragment, without a script.
                div class="body" id=(id) { @if waits { noscript { (body) } } @else { (body) } }
            }
        };
        let leaf = Leaf {
            names: match change.path.is_root() {
                true => Vec::new(),
                false => change.path.as_bytes().split(|byte| *byte == b'/').collect(),
            },
            id,
            letter: view::changes::letter(change.kind).0,
            counts,
            is_directory: change
                .to
                .as_ref()
                .or(change.from.as_ref())
                .is_some_and(Entry::is_dir),
            is_git: false,
            since: view::changes::since(told),
        };
        Some(File { markup, leaf })
    }

    fn pictures(&mut self, change: &Change, both: &Contents) -> Option<Markup> {
        let Contents::Both(old, new) = both else {
            return None;
        };
        let is_there = [change.from.is_some(), change.to.is_some()];
        let sides = [("Before", old), ("After", new)].into_iter().zip(is_there);
        let sides = sides.filter_map(|(side, is_there)| is_there.then_some(side));
        picture::pictures(sides, &mut self.room)
    }
}

/// Renders the rest of a mount around its paths.
fn around(mount: &MountDiff<'_>, files: &[Markup], omitted: u64) -> Markup {
    html! {
        h3 class="mono" { (view::changes::host(mount.coverage)) }
        @if !mount.changes.is_empty() { p class="counts" { (view::changes::counts(mount.exact.iter()).join(", ")) } }
        @if !mount.settings.is_empty() {
            pre { (plain(&view::settings::settings(mount.settings, WIDTH, Reader::Operator))) }
        }
        @for change in mount.repositories {
            pre { (plain(&view::repository::change(change, WIDTH, Reader::Operator))) }
        }
        @for file in files { (file) }
        @if omitted > 0 {
            p class="warn" {
                (size::counted(omitted, "path is", "paths are")) " not shown: the page would be too large; "
                code { "jackin recovery diff --all" } " lists every path"
            }
        }
        @for change in mount.withheld {
            p class="path warn" {
                (view::changes::withheld(change))
            }
        }
        @if !mount.not_covered.is_empty() {
            h3 { "Not covered" }
            ul {
                @for gap in mount.not_covered {
                    li { code { (sanitize::path(&gap.at.on_host)) } ": " (sanitize::text(&gap.reason)) }
                }
            }
        }
    }
}

/// Renders the line that stays in sight while the content of a path is read.
fn head(change: &Change, told: &ChangeDocument, (added, removed): (u64, u64)) -> Markup {
    let (letter, _) = view::changes::letter(change.kind);
    let detail = view::changes::detail(change);
    html! {
        span class={ "kind " (letter) } { (letter) }
        " "
        span class="mono name" { (name(change)) }
        @if !detail.is_empty() { span class="dim" { "  (" (detail) ")" } }
        @if let Some(word) = view::changes::since(told) { span class="warn" { "  " (word) } }
        @if added + removed > 0 {
            span class="dim sum" { "  +" (size::count(added)) " −" (size::count(removed)) }
        }
    }
}

/// Returns true if a fold is open at first. Git's own data and moved files have nothing to read.
fn opens(fold: &Fold) -> bool {
    match fold.extent {
        Extent::Git(_) | Extent::Moved => false,
        Extent::Whole(_) | Extent::Files(_) => fold.items.len() <= OPEN_FOLD,
    }
}

/// Returns the place of each change among the others, name by name: `a-b` does not come between `a` and `a/b`.
fn ranks(changes: &[Change]) -> Vec<usize> {
    let key = |at: &usize| -> Vec<u8> {
        let path = changes.get(*at).map(|change| change.path.as_bytes());
        let bytes = path.unwrap_or_default().iter();
        bytes.map(|byte| if *byte == b'/' { 0 } else { *byte }).collect()
    };
    let mut order: Vec<usize> = (0..changes.len()).collect();
    order.sort_by_cached_key(key);
    let mut ranks = vec![0; changes.len()];
    for (rank, at) in order.into_iter().enumerate() {
        if let Some(place) = ranks.get_mut(at) {
            *place = rank;
        }
    }
    ranks
}

/// Returns the fragment of a path. It is the same on every page, and plain whatever bytes the path has.
fn fragment(coverage: &Coverage, path: &RelPath) -> String {
    let mut hash = Sha256::new();
    hash.update(&coverage.root.0);
    hash.update([0]);
    hash.update(path.as_bytes());
    let digest = hash.finalize();
    let digits = digest.iter().take(8).map(|byte| format!("{byte:02x}"));
    format!("file-{}", digits.collect::<String>())
}

/// Describes a change that has no content to show.
fn nothing(change: &Change) -> String {
    match (&change.from, &change.to) {
        (Some(_), Some(to)) if to.is_dir() => {
            "a directory, of which mode, owner or attributes changed".to_owned()
        }
        (Some(_), Some(_)) => "the content is the same".to_owned(),
        (Some(entry), None) | (None, Some(entry)) => {
            format!("a {}, without content", view::changes::kind(entry))
        }
        (None, None) => String::new(),
    }
}

fn note(text: &str) -> Markup {
    html! { p class="dim" { (text) } }
}

fn name(change: &Change) -> String {
    let entry = change.to.as_ref().or(change.from.as_ref());
    let path = view::changes::path(&change.path, entry);
    match &change.from_path {
        Some(from) => format!("{} → {path}", view::changes::path(from, change.from.as_ref())),
        None => path,
    }
}

/// A text for a terminal, without its colors.
fn plain(text: &str) -> String {
    filter::printable(text, false)
}
