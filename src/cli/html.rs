//! `show --html` and `diff --html`: one page for a browser, to review or to keep. It loads nothing and runs nothing: it has no script,
//! and a policy that allows none, nor anything else but its own style. Names and contents come from the mounts: they are made visible
//! as for a terminal (`sanitize`), and then escaped, which `maud` does with every text that is put in.

mod changes;
mod session;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

pub(in crate::cli) use changes::Shown;

use super::error::CliError;
use crate::model::Time;
use crate::report::{LogDocument, SessionReport};
use crate::terminal::size;

const STYLE: &str = include_str!("html/style.css");

/// The page of a session, with what differs between two sides when that is asked for.
pub(in crate::cli) fn page(
    known: &SessionReport,
    log: &LogDocument,
    shown: Option<&Shown<'_>>,
    now: Time,
) -> Result<String, CliError> {
    let body = html! {
        header {
            h1 { (known.instance.id) }
            (session::facts(known))
            nav aria-label="On this page" {
                ul {
                    @if shown.is_some() { li { a href="#changes" { "Changes" } } }
                    li { a href="#contract" { "What is covered" } }
                    li { a href="#snapshots" { "Snapshots" } }
                    @if !known.restores.is_empty() { li { a href="#restores" { "Restores" } } }
                    li { a href="#receipts" { "Receipts" } }
                }
            }
        }
        main {
            @if let Some(shown) = shown { (changes::section(shown)) }
            (session::contract(known))
            (session::turns(known))
            (session::snapshots(known))
            (session::restores(known))
            (session::receipts(log))
        }
        footer {
            "Written by jackin recovery " (env!("CARGO_PKG_VERSION")) " on " (size::moment(now)) ". "
            "It undoes files, never side effects."
        }
    };
    Ok(document(&known.instance.id, &body).into_string())
}

fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="generator" content="jackin recovery";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (title) " · jackin recovery" }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    }
}

/// Returns the content security policy: the page may use its own style, and nothing else.
fn policy() -> String {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
}

#[cfg(test)]
mod tests {
    //! The frame: what stands in it is escaped, and the policy fits the style.

    use maud::html;

    use super::{STYLE, document};

    #[test]
    fn texts_are_escaped_and_nothing_may_be_loaded() {
        let hostile = "</title><script>alert(1)</script>\"'&";
        let page = document(hostile, &html! { p title=(hostile) { (hostile) } }).into_string();
        assert!(!page.contains("<script"), "{page}");
        assert!(page.starts_with(crate::cli::named_file::PAGE_MARK), "{page}");
        assert_eq!(page.matches("&lt;/title&gt;&lt;script&gt;").count(), 3);
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
        // The style holds nothing that would end it.
        assert!(!STYLE.contains('<'));
    }
}
