//! A session on a page: what is known of it, what it covers, its snapshots, restores and receipts.

use maud::{Markup, html};

use crate::cli::view;
use crate::cli::view::instances::{agent_words, ending, kind_words, lost, notes, status};
use crate::cli::view::receipt::Telling;
use crate::cli::view::steps::step_words;
use crate::model::{Coverage, Time};
use crate::report::{LogDocument, SessionReport};
use crate::terminal::{sanitize, size};

fn fact(name: &str, value: &str) -> Markup {
    html! { dt { (name) } dd { (sanitize::text(value)) } }
}

/// A point in time. A script adds how long ago that is.
pub(super) fn when(time: Time) -> Markup {
    html! { time datetime=(time.rfc3339()) { (size::moment(time)) } }
}

/// Renders the facts about a session.
pub(super) fn facts(known: &SessionReport) -> Markup {
    let row = &known.instance;
    html! {
        dl {
            (fact("Status", &status(row)))
            @if let Some(workspace) = &row.workspace { (fact("Workspace", workspace)) }
            (fact("Mode", &row.mode))
            dt { "Began" } dd { (when(row.started_at)) }
            @if let Some(at) = row.ended_at { dt { "Ended" } dd { (when(at)) ", " (ending(row)) } }
            @if let Some((program, arguments)) = &known.command {
                (fact("Command", &format!("{program} with {}", size::counted(u64::from(*arguments), "argument", "arguments"))))
            }
            @if let Some(agent) = &known.agent {
                (fact("Agent", &agent_words(agent)))
            }
            @if let Some(command) = row.conversation.as_ref().and_then(|conversation| conversation.command.as_ref()) {
                (fact("Continue with", command))
            }
            @if let Some(container) = &known.container { (fact("Container", &container.name)) }
            @if let Some(fork) = &row.origin { (fact("Forked from", &view::forks::origin(fork))) }
        }
    }
}

/// Renders the contract: what is captured and what is not, as agreed when the session began.
pub(super) fn contract(known: &SessionReport) -> Markup {
    html! {
        section id="contract" {
            h2 { "What is covered" }
            @if known.coverage.is_empty() { p { "No file is kept." } }
            @for coverage in &known.coverage { (covered(coverage)) }
            @if let Some(policy) = &known.cleanup_policy {
                p { "jackin's own policy for a dirty work tree at the end: " (sanitize::text(policy)) }
            }
            @if !known.git.is_empty() {
                h3 { "Git repositories when it began" }
                ul { @for found in &known.git { li { (view::repository::sentence(found)) } } }
            }
            (lacking(known))
        }
    }
}

fn covered(coverage: &Coverage) -> Markup {
    html! {
        h3 class="mono" { (view::changes::host(coverage)) }
        @if !coverage.tracked.is_empty() {
            p { "Only these paths:" }
            ul { @for path in &coverage.tracked { li { code { (sanitize::name(path.as_bytes())) } } } }
        }
        @if coverage.excludes.is_empty() {
            p { "Nothing is excluded." }
        } @else {
            p { "Excluded: never captured, compared or restored:" }
            ul { @for rule in coverage.excludes.iter().filter(|rule| rule.leaves_out()) { li { code { (sanitize::name(rule.pattern.as_bytes())) } } } }
        }
        @if !coverage.withheld.is_empty() {
            p { "Skipped:" }
            ul {
                @for place in &coverage.withheld {
                    li { code { (sanitize::path(&place.path.on_host(&coverage.root.to_path()))) } }
                }
            }
        }
    }
}

fn lacking(known: &SessionReport) -> Markup {
    html! {
        @if known.lacking().next().is_some() {
            p class="warn" { "The baseline is incomplete. It is missing:" }
            ul {
                @for (gaps, more) in known.lacking() {
                    @for gap in gaps {
                        li {
                            code { (sanitize::path(&gap.at.on_host)) }
                            ": " (sanitize::text(&gap.reason))
                        }
                    }
                    @if more > 0 { li { "and " (size::count(more)) " more" } }
                }
            }
        }
    }
}

/// Renders what agents were asked for, newest first.
pub(super) fn turns(known: &SessionReport) -> Markup {
    html! {
        @if !known.turns.is_empty() {
            section id="turns" {
                h2 { "Turns" }
                div class="wide" tabindex="0" role="region" aria-label="Turns" {
                    table {
                        thead { tr { th class="number" { "Turn" } th { "When" } th { "Changed" } th { "Prompt and calls" } } }
                        tbody {
                            @for turn in &known.turns {
                                tr {
                                    td class="number" { (view::turns::number(turn)) }
                                    td class="when" { (when(turn.started_at)) }
                                    td { @if let Some(changed) = turn.changed { (step_words(changed)) } }
                                    td { (view::turns::words(turn)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Every snapshot, newest first.
pub(super) fn snapshots(known: &SessionReport) -> Markup {
    html! {
        section id="snapshots" {
            h2 { "Snapshots" }
            @if known.instance.snapshots.is_empty() { p { "none" } } @else {
                div class="wide" tabindex="0" role="region" aria-label="Snapshots" {
                    table {
                        thead {
                            tr {
                                th { "Snapshot" } th { "Kind" } th { "Taken" } th class="number" { "Entries" }
                                th class="number" { "Size" } th { "Changed" } th { "What for" }
                            }
                        }
                        tbody {
                            @for row in &known.instance.snapshots {
                                tr {
                                    td class="mono" { (row.id) }
                                    td { (kind_words(row)) }
                                    td class="when" { (when(row.taken_at)) }
                                    td class="number" { (size::count(row.entries)) }
                                    td class="number" { (size::bytes(row.bytes)) }
                                    td { @if let Some(step) = known.steps.get(&row.id) { (step_words(*step)) } }
                                    td class=[(!row.complete).then_some("warn")] { (notes(known, row).join(", ")) }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(lost) = lost(known) {
                p { (lost) }
            }
        }
    }
}

/// Renders the restores, newest first.
pub(super) fn restores(known: &SessionReport) -> Markup {
    html! {
        @if !known.restores.is_empty() {
            section id="restores" {
                h2 { "Restores" }
                div class="wide" tabindex="0" role="region" aria-label="Restores" {
                    table {
                        thead {
                            tr {
                                th class="number" { "Receipt" } th { "Act" } th { "When" } th { "To" }
                                th class="number" { "Changed" } th class="number" { "Conflicts" } th { "Before restore" }
                            }
                        }
                        tbody {
                            @for row in &known.restores {
                                tr {
                                    td class="number" { a href={ "#receipt-" (row.receipt) } { (row.receipt) } }
                                    td { (view::instances::act_words(row)) }
                                    td class="when" { (when(row.at)) }
                                    td class="mono" { (row.target) }
                                    td class="number" { (size::count(row.changed)) }
                                    td class="number" { (size::count(row.conflicts)) }
                                    td class="mono" { (row.emergency) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The receipts of the session with their hashes, newest first. Every link of the whole chain was checked; what stands before one that
/// does not hold is shown.
pub(super) fn receipts(log: &LogDocument) -> Markup {
    html! {
        section id="receipts" {
            details {
                summary { h2 { "Receipts" } " " span class="dim" { (size::count(log.receipts.len() as u64)) } }
                @match &log.broken {
                    Some(broken) => {
                        p class="warn" { "Only those before the damage: " (sanitize::text(broken)) }
                    }
                    None => {
                        p {
                            "Each holds the hash of the one before; all were valid when this was written. The \
                            fingerprint: "
                            code class="mono" { (log.anchor) }
                        }
                    }
                }
                div class="wide" tabindex="0" role="region" aria-label="Receipts" {
                    table {
                        thead { tr { th class="number" { "N" } th { "When" } th { "Act" } th { "By" } th { "Hash" } } }
                        tbody {
                            @for one in &log.receipts {
                                @let receipt = &one.receipt;
                                tr id={ "receipt-" (receipt.number) } {
                                    td class="number" { (receipt.number) }
                                    td class="when" { (when(receipt.at)) }
                                    td { (Telling(log).words(one)) }
                                    td { "user " (receipt.uid) }
                                    td class="mono hash" { (one.hash) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
