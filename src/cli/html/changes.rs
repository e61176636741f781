//! Differences by path, with the lines folded.

use std::ops::Range;

use maud::{Markup, html};

use crate::cli::view::{self, Reader};
use crate::model::Coverage;
use crate::report::{
    Body, Change, ChangeDocument, DiffDocument, Line, MountDiff, PatchOptions, Sources, made, word_marks,
};
use crate::terminal::{filter, sanitize, size};

/// Maximum size of all lines in a page, in bytes, so that a browser can open it. The page says what it omits.
const LARGEST: usize = 32 << 20;

/// Maximum size of the lines of one file, in bytes.
const LARGEST_FILE: usize = 1 << 20;

/// Columns of what is laid out as text.
const WIDTH: usize = 110;

/// Two sides that are compared.
pub(in crate::cli) struct Shown<'a> {
    pub(in crate::cli) found: &'a DiffDocument<'a>,
    pub(in crate::cli) sources: Sources<'a>,
    /// Also what is likely to be a secret.
    pub(in crate::cli) show_secrets: bool,
}

/// The section of all mounts.
pub(super) fn section(shown: &Shown<'_>) -> Markup {
    let found = shown.found;
    let mut room = LARGEST;
    let to = match found.to.as_str() {
        "now" => "the files as they are".to_owned(),
        id => format!("snapshot {id}"),
    };
    html! {
        section id="changes" {
            h2 { "What changed" }
            p { "From the " (found.earlier.kind.word()) " snapshot " code { (found.from) } " to " (to) "." }
            @if !found.are_any() { p { "no differences" } }
            @for mount in found.mounts() { (of_mount(&mount, shown, &mut room)) }
        }
    }
}

fn of_mount(mount: &MountDiff<'_>, shown: &Shown<'_>, room: &mut usize) -> Markup {
    html! {
        h3 class="mono" { (view::changes::host(mount.coverage)) }
        @if !mount.changes.is_empty() { p class="counts" { (view::changes::counts(mount.exact.iter()).join(", ")) } }
        @if !mount.settings.is_empty() {
            pre { (plain(&view::settings::settings(mount.settings, WIDTH, Reader::Operator))) }
        }
        @for change in mount.repositories {
            pre { (plain(&view::repository::change(change, WIDTH, Reader::Operator))) }
        }
        @for (told, change) in mount.pairs() { (of_path(mount.coverage, told, change, shown, room)) }
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

fn of_path(
    coverage: &Coverage,
    told: &ChangeDocument,
    change: &Change,
    shown: &Shown<'_>,
    room: &mut usize,
) -> Markup {
    let (letter, _) = view::changes::letter(change.kind);
    let options = PatchOptions {
        context: 3,
        show_secrets: shown.show_secrets,
        hides: false,
    };
    let patch = made(coverage, change, &shown.sources, options);
    let (added, removed) = (patch.added, patch.removed);
    let head = html! {
        span class={ "kind " (letter) } { (letter) }
        span class="mono" { (name(change)) }
        @let detail = view::changes::detail(change);
        @if !detail.is_empty() { span class="dim" { "  (" (detail) ")" } }
        @if let Some(word) = view::changes::since(told) { span class="warn" { "  " (word) } }
        @if added + removed > 0 {
            span class="dim" { "  +" (size::count(added)) " −" (size::count(removed)) }
        }
    };
    let content = match patch.body {
        Body::Nothing => return html! { p class="path" { (head) } },
        Body::Lines(lines) => of_lines(&lines, room),
        Body::Binary(old, new) => note(&format!("binary: {} → {}", size::bytes(old), size::bytes(new))),
        Body::Large(old, new) => note(&format!(
            "too large to show: {} → {}",
            size::bytes(old),
            size::bytes(new)
        )),
        Body::Hidden => note("content hidden: it may hold secrets (--show-secrets shows it)"),
        Body::Unavailable(why) => note(&format!("content not available: {}", sanitize::text(&why))),
    };
    html! { details { summary { (head) } (content) } }
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

fn of_lines(lines: &[(Line, Vec<u8>)], room: &mut usize) -> Markup {
    let mut left = LARGEST_FILE.min(*room);
    let before = left;
    let fits = lines.iter().take_while(|(_, text)| {
        // What is around a line counts as well.
        let size = text.len() + 16;
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    });
    let fits: Vec<(Line, String)> = fits.map(|(line, text)| (*line, sanitize::line(text))).collect();
    let marks = word_marks(&fits);
    *room = room.saturating_sub(before - left);
    let more = (lines.len() - fits.len()) as u64;
    html! {
        @if !fits.is_empty() {
            pre {
                @for ((line, text), marks) in fits.iter().zip(marks) { (of_line(*line, text, &marks)) }
            }
        }
        @if more > 0 {
            p class="warn" { (size::counted(more, "line is", "lines are")) " not shown: the page would be too large" }
        }
    }
}

fn of_line(line: Line, text: &str, marks: &[Range<usize>]) -> Markup {
    match line {
        Line::Context => html! { " " (text) "\n" },
        Line::Added => html! { ins { "+" (marked(text, marks)) } },
        Line::Removed => html! { del { "-" (marked(text, marks)) } },
        Line::Hunk => html! { span class="hunk" { (text.trim_end()) } },
        Line::NoNewline => html! { span class="hunk" { "\\ No newline at end of file" } },
    }
}

/// A line whose words that differ from those of its counterpart stand out.
fn marked(text: &str, marks: &[Range<usize>]) -> Markup {
    let starts = std::iter::once(0).chain(marks.iter().map(|mark| mark.end));
    html! {
        @for (start, mark) in starts.zip(marks) {
            (text.get(start..mark.start).unwrap_or_default())
            b { (text.get(mark.clone()).unwrap_or_default()) }
        }
        (text.get(marks.last().map_or(0, |mark| mark.end)..).unwrap_or_default())
    }
}

/// A text for a terminal, without its colors.
fn plain(text: &str) -> String {
    filter::printable(text, false)
}
