//! `show --html` and `diff --html`: one page for a browser, to review or to keep. It loads nothing, and is complete without its one
//! script, which adds a filter, keys and views. Its policy allows that style and that script by their digests, and nothing else. Names and
//! contents come from the mounts: they are made visible as for a terminal (`sanitize`), and then escaped, which `maud` does with every
//! text that is put in.

mod changes;
mod lines;
mod picture;
mod session;
mod tree;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

pub(in crate::cli) use changes::Shown;

use super::error::CliError;
use crate::model::Time;
use crate::report::{LogDocument, SessionReport};

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Keys of a page with changes.
const KEYS: [(&str, &str); 10] = [
    ("j k", "next and previous path"),
    ("o", "open or close the path"),
    ("e", "expand all"),
    ("E", "collapse all"),
    ("/", "filter"),
    ("s", "side by side or unified"),
    ("w", "wrap long lines or not"),
    ("c", "copy the command that restores the path"),
    ("l", "put the link to the path into the address"),
    ("?", "these keys"),
];

/// Letters of changes, and their names.
const KINDS: [(&str, &str); 6] = [
    ("", "All"),
    ("A", "Added"),
    ("M", "Modified"),
    ("D", "Deleted"),
    ("R", "Renamed"),
    ("Tm", "Type or mode"),
];

/// The page of a session, with what differs between two sides when that is asked for.
pub(in crate::cli) fn page(
    known: &SessionReport,
    log: &LogDocument,
    shown: Option<&Shown<'_>>,
    now: Time,
) -> Result<String, CliError> {
    let changes = shown.map(changes::changes);
    let has_pictures = changes.as_ref().is_some_and(|changes| changes.has_pictures);
    let body = html! {
        header {
            h1 { (known.instance.id) }
            (session::facts(known))
            nav aria-label="On this page" {
                ul {
                    @if changes.is_some() { li { a href="#changes" { "Changes" } } }
                    li { a href="#contract" { "What is covered" } }
                    @if !known.turns.is_empty() { li { a href="#turns" { "Turns" } } }
                    li { a href="#snapshots" { "Snapshots" } }
                    @if !known.restores.is_empty() { li { a href="#restores" { "Restores" } } }
                    li { a href="#receipts" { "Receipts" } }
                }
            }
        }
        div class=[changes.is_some().then_some("split")] {
            @if let Some(changes) = &changes { (files(&changes.tree)) }
            main {
                @if let Some(changes) = &changes {
                    (bar())
                    (changes.section)
                }
                (session::contract(known))
                (session::turns(known))
                (session::snapshots(known))
                (session::restores(known))
                (session::receipts(log))
            }
        }
        @if changes.is_some() { (keys()) }
        footer {
            "Written by jackin recovery " (env!("CARGO_PKG_VERSION")) " on " (session::when(now)) ". "
            "It undoes files, never side effects."
        }
    };
    Ok(document(&known.instance.id, &body, has_pictures).into_string())
}

/// Renders the tree of the paths, with the filter that the script shows.
fn files(tree: &Markup) -> Markup {
    html! {
        nav class="tree" aria-label="Changed paths" {
            h2 { "Changed paths" }
            div class="controls" {
                input id="filter" type="search" placeholder="Filter ( / )" aria-label="Filter paths" autocomplete="off";
                select id="kind" aria-label="Kind of change" autocomplete="off" {
                    @for (letters, word) in KINDS { option value=(letters) { (word) } }
                }
            }
            (tree)
        }
    }
}

/// Renders the buttons that the script shows.
fn bar() -> Markup {
    html! {
        div class="bar" {
            button type="button" data-does="expand" { "Expand all" }
            button type="button" data-does="collapse" { "Collapse all" }
            button type="button" class="split-button" id="side" data-does="side" aria-pressed="false" { "Side by side" }
            button type="button" id="wrap" data-does="wrap" aria-pressed="true" { "Wrap" }
            button type="button" data-does="keys" { "Keys" }
            span id="status" class="dim" role="status" {}
        }
    }
}

fn keys() -> Markup {
    html! {
        dialog id="keys" aria-label="Keys" {
            h2 { "Keys" }
            dl {
                @for (key, work) in KEYS { dt { kbd { (key) } } dd { (work) } }
            }
            button type="button" data-does="close" { "Close" }
        }
    }
}

fn document(title: &str, body: &Markup, has_pictures: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content="jackin recovery";
                meta http-equiv="Content-Security-Policy" content=(policy(has_pictures));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (title) " · jackin recovery" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// Returns the content security policy: the page may use its own style and script, and the images that are a part of it. Only
/// one place of the script may make markup of a text.
fn policy(has_pictures: bool) -> String {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let (style, script) = (digest(STYLE), digest(SCRIPT));
    let images = if has_pictures { " img-src data:;" } else { "" };
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}';{images} base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types lines"
    )
}

#[cfg(test)]
mod tests {
    //! The frame: what stands in it is escaped, and the policy fits the style and the script.

    use maud::html;

    use super::{SCRIPT, STYLE, document};

    #[test]
    fn texts_are_escaped_and_nothing_may_be_loaded() {
        let hostile = "</title><script>alert(1)</script>\"'&";
        let page = document(hostile, &html! { p title=(hostile) { (hostile) } }, false).into_string();
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        assert!(page.starts_with(crate::cli::named_file::PAGE_MARK), "{page}");
        assert_eq!(page.matches("&lt;/title&gt;&lt;script&gt;").count(), 3);
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
        assert!(page.contains("; script-src 'sha256-") && !page.contains("img-src"));
        let with_images = document("", &html! {}, true).into_string();
        assert!(with_images.contains("; img-src data:; base-uri"));
        // The style and the script hold nothing that would end them.
        assert!(!STYLE.contains('<') && !SCRIPT.contains("</") && !SCRIPT.contains("<!"));
    }
}
