//! A session on a page: what is known of it, what it covers, its snapshots, restores and receipts.

use maud::{Markup, html};

use crate::cli::error::CliError;
use crate::cli::report::SessionReport;
use crate::cli::view;
use crate::cli::view::instances::{agent_words, ending, kind_words, notes, status};
use crate::cli::view::receipt::Telling;
use crate::cli::view::steps::step_words;
use crate::model::{Coverage, Digest, Receipt};
use crate::store::Store;
use crate::terminal::{sanitize, size};

fn fact(name: &str, value: &str) -> Markup {
    html! { dt { (name) } dd { (sanitize::text(value)) } }
}

/// Renders the facts about a session.
pub(super) fn facts(known: &SessionReport) -> Markup {
    let row = &known.row;
    html! {
        dl {
            (fact("Status", &status(&known.state)))
            @if let Some(workspace) = &row.workspace { (fact("Workspace", workspace)) }
            (fact("Mode", &row.mode))
            (fact("Began", &size::moment(row.started_at)))
            @if let Some(at) = row.ended_at { (fact("Ended", &format!("{}, {}", size::moment(at), ending(row)))) }
            @if let Some((program, arguments)) = &row.command {
                (fact("Command", &format!("{program} with {}", size::counted(u64::from(*arguments), "argument", "arguments"))))
            }
            @if let Some(agent) = &known.begun.agent {
                (fact("Agent", &agent_words(agent)))
            }
            @if let Some(container) = &known.begun.container { (fact("Container", &container.name)) }
            @if let Some(fork) = &known.forked_from { (fact("Forked from", &view::forks::origin(fork))) }
        }
    }
}

/// Renders the contract: what is captured and what is not, as agreed when the session began.
pub(super) fn contract(known: &SessionReport) -> Markup {
    let repositories = known.repositories();
    html! {
        section id="contract" {
            h2 { "What is covered" }
            @if known.row.mounts.is_empty() { p { "No file is kept." } }
            @for coverage in &known.row.mounts { (covered(coverage)) }
            @if let Some(policy) = &known.begun.cleanup_policy {
                p { "jackin's own policy for a dirty work tree at the end: " (sanitize::text(policy)) }
            }
            @if !repositories.is_empty() {
                h3 { "Git repositories when it began" }
                ul { @for (coverage, facts) in repositories { li { (view::repository::sentence(coverage, facts)) } } }
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
            p { "Withheld:" }
            ul {
                @for place in &coverage.withheld {
                    li { code { (sanitize::path(&place.path.on_host(&coverage.root.to_path()))) } }
                }
            }
        }
    }
}

fn lacking(known: &SessionReport) -> Markup {
    let record = known.baseline.as_ref().filter(|record| !record.complete);
    html! {
        @if let Some(record) = record {
            p class="warn" { "The baseline is not complete. It lacks:" }
            ul {
                @for mount in &record.mounts {
                    @for gap in &mount.gaps {
                        li {
                            code { (sanitize::path(&gap.path.on_host(&mount.coverage.root.to_path()))) }
                            ": " (sanitize::text(&gap.reason))
                        }
                    }
                    @let more = mount.gap_count.saturating_sub(mount.gaps.len() as u64);
                    @if more > 0 { li { "and " (size::count(more)) " more" } }
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
            @if known.snapshots.is_empty() { p { "none" } } @else {
                div class="wide" tabindex="0" role="region" aria-label="Snapshots" {
                    table {
                        thead {
                            tr {
                                th { "Snapshot" } th { "Kind" } th { "Taken" } th class="number" { "Entries" }
                                th class="number" { "Size" } th { "Changed" } th { "What for" }
                            }
                        }
                        tbody {
                            @for row in &known.snapshots {
                                tr {
                                    td class="mono" { (row.id) }
                                    td { (kind_words(row)) }
                                    td { (size::moment(row.taken_at)) }
                                    td class="number" { (size::count(row.entries)) }
                                    td class="number" { (size::bytes(row.bytes)) }
                                    td { @if let Some(step) = known.steps.counts.get(&row.id) { (step_words(*step)) } }
                                    td class=[(!row.complete).then_some("warn")] { (notes(known, row).join(", ")) }
                                }
                            }
                        }
                    }
                }
            }
            @if known.pruned > 0 {
                p { (size::counted(known.pruned, "snapshot was", "snapshots were")) " pruned by the rules of retention" }
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
                                th class="number" { "Changed" } th class="number" { "Conflicts" } th { "What was there before" }
                            }
                        }
                        tbody {
                            @for row in &known.restores {
                                tr {
                                    td class="number" { a href={ "#receipt-" (row.number) } { (row.number) } }
                                    td { (view::instances::act_words(row, &known.restores)) }
                                    td { (size::moment(row.at)) }
                                    td class="mono" { (row.target) }
                                    td class="number" { (size::count(row.paths())) }
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

/// The receipts of the session with their hashes, newest first. Every link of the whole chain is checked on the way; what stands
/// before one that does not hold is shown.
pub(super) fn receipts(store: &Store, known: &SessionReport) -> Result<Markup, CliError> {
    let (all, head, broken) = store.chain_until_break()?;
    // What the next link says of the one before it is the hash of that.
    let hashes = all.iter().skip(1).map(|next| next.previous);
    let hashes = hashes.chain(std::iter::once(head.hash));
    let telling = Telling::of(&all, &known.snapshots);
    let id = Some(&known.row.id);
    let own: Vec<(&Receipt, Digest)> = all
        .iter()
        .zip(hashes)
        .filter(|(receipt, _)| receipt.instance.as_ref() == id)
        .collect();
    Ok(html! {
        section id="receipts" {
            h2 { "Receipts" }
            @match &broken {
                Some(broken) => {
                    p class="warn" { "Only those before the break of the chain: " (sanitize::text(&broken.to_string())) }
                }
                None => {
                    p {
                        "Each holds the hash of the one before; every link held when this was written. The head of the chain: "
                        code class="mono" { (head) }
                    }
                }
            }
            div class="wide" tabindex="0" role="region" aria-label="Receipts" {
                table {
                    thead { tr { th class="number" { "N" } th { "When" } th { "Act" } th { "By" } th { "Hash" } } }
                    tbody {
                        @for (receipt, hash) in own.iter().rev() {
                            tr id={ "receipt-" (receipt.number) } {
                                td class="number" { (receipt.number) }
                                td { (size::moment(receipt.at)) }
                                td { (telling.words(receipt)) }
                                td { "user " (receipt.uid) }
                                td class="mono" { (hash) }
                            }
                        }
                    }
                }
            }
        }
    })
}
