//! `diff`: what changed between two snapshots, or between a snapshot and now.

mod differences;
mod sides;

use crate::cli::args::{Check, DiffArgs, DiffForm};
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::{html, view};
use crate::config::Mode;
use crate::diff::PatchOptions;
use crate::session::{find_called, find_instance, settle_lost};
use crate::store::{InstanceRow, Store};

pub(in crate::cli) use differences::{Compared, Differences, Question, differences, document};

use self::sides::Later;
use super::named_file::{Kind, Output};
use super::show::Known;
use super::unlock::identities;
use super::words::Words;

pub(super) fn run(context: &Context<'_>, args: &DiffArgs) -> Result<Status, CliError> {
    let page = args.html.as_ref();
    let page = page
        .map(|file| Output::settle(context, file, Kind::Page))
        .transpose()?;
    let (store, row) = open(context, &args.instance)?;
    let store = store.unlocked_by(identities(context, &args.unlock)?);
    // Archives must not go while they are read.
    let _needed = store.share()?;
    let question = Question {
        from: args.from.as_deref(),
        to: &args.to,
        paths: &args.paths,
        check_content: args.check == Some(Check::Content),
        show_secrets: args.show_secrets,
        pairs_renames: !args.no_renames,
    };
    let found = differences(context, &store, &row, &question)?;
    if let Some(file) = &page {
        let known = Known::of(&store, row)?;
        let shown = html::Shown {
            found: &found,
            show_secrets: args.show_secrets,
        };
        let page = html::page(&store, &known, Some(&shown), context.now())?;
        file.write_page(context, &page)?;
    } else if args.json {
        context.terminal.json(&document(&row, &found));
    } else {
        tell(context, &store, &row, &found, args);
    }
    let code = if args.exit_code && found.are_any() {
        ExitCode::Failed
    } else {
        ExitCode::Done
    };
    Ok(code.into())
}

fn tell(context: &Context<'_>, store: &Store, row: &InstanceRow, found: &Differences, args: &DiffArgs) {
    let options = PatchOptions {
        context: 3,
        show_secrets: args.show_secrets,
        hides: false,
    };
    let sources = found.sources(store.is_unlocked() && !args.show_secrets);
    // What agents may do now is wanted first, whatever else changed.
    for mount in found.mounts.iter().filter(|mount| !mount.settings.is_empty()) {
        let width = context.terminal.width_out();
        let text = view::settings::settings(&mount.coverage, &mount.settings, width);
        context.terminal.out(&text);
    }
    for mount in &found.mounts {
        show(
            context,
            args.form(),
            mount,
            &sources,
            options,
            found.mounts.len() > 1,
        );
    }
    if !found.are_any() {
        context.terminal.note("no differences");
    } else if matches!(found.later, Later::Now) {
        let undo = Words::new("restore")
            .arg(row.id.as_str())
            .flag("--from", args.from.as_ref())
            .flag("--identity", args.unlock.identity.as_ref())
            .paths(&args.paths);
        context.propose("undo it", &undo.text());
    }
}

/// Opens the store and closes the instance when it is found dead.
pub(super) fn open(context: &Context<'_>, instance: &str) -> Result<(Store, InstanceRow), CliError> {
    let reading = context.store_for_reading()?.ok_or_else(|| no_store(instance))?;
    let row = find_called(&reading, context.environment, instance)?;
    settled(context, reading, row)
}

/// The instance as it is once it was closed, when it is found dead.
pub(super) fn settled(
    context: &Context<'_>,
    reading: Store,
    row: InstanceRow,
) -> Result<(Store, InstanceRow), CliError> {
    if row.ended_at.is_some() || crate::session::state(&reading, &row) != crate::session::State::Lost {
        return Ok((reading, row));
    }
    drop(reading);
    let store = context.store_for_writing()?;
    settle_and_say(context, &store, &row)?;
    let row = find_instance(&store, row.id.as_str())?;
    Ok((store, row))
}

/// There is no store at all.
pub(in crate::cli) fn no_store(instance: &str) -> CliError {
    crate::session::SessionError::Unknown {
        wanted: instance.to_owned(),
        nearest: Vec::new(),
        some_recorded: false,
    }
    .into()
}

/// Takes the late closing snapshot of a dead instance, and says so.
pub(super) fn settle_and_say(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
) -> Result<(), CliError> {
    if let Some(closed) = settle_lost(store, context.world(), row)? {
        context.terminal.warn(&format!(
            "nobody saw {} end; a late closing snapshot was taken now, and what changed in between cannot be told apart",
            row.id
        ));
        if let Some(error) = closed.error {
            context
                .terminal
                .warn(&format!("the late closing snapshot failed: {error}"));
        }
    }
    Ok(())
}

/// A mode without files explains itself better than a missing snapshot.
pub(super) fn nothing(row: &InstanceRow, error: crate::session::SessionError) -> CliError {
    if row.is_imported() || Mode::parse(&row.mode).is_some_and(Mode::captures) {
        return error.into();
    }
    CliError::new(
        ErrorKind::NothingToRestore,
        format!(
            "nothing to restore from: {} has no files, its mode was {}",
            row.id, row.mode
        ),
    )
    .command(
        "have the files recorded next time",
        "launch --snapshot project DIR -- COMMAND",
    )
    .command("sessions that have snapshots", "list")
}

fn show(
    context: &Context<'_>,
    form: DiffForm,
    mount: &Compared,
    sources: &view::patch::Sources<'_>,
    options: PatchOptions,
    several: bool,
) {
    let terminal = context.terminal;
    let changes = &mount.comparison.changes;
    if several && !changes.is_empty() {
        terminal.out(&view::changes::host(&mount.coverage));
    }
    for change in &mount.repositories {
        terminal.out(&view::repository::change(
            &mount.coverage,
            change,
            terminal.width_out(),
        ));
    }
    match form {
        DiffForm::NameStatus => {
            for change in changes {
                if terminal.out_is_closed() {
                    return;
                }
                terminal.out(&view::changes::line(change));
            }
        }
        DiffForm::Stat => terminal.out(&view::patch::stat(mount, sources, terminal.width_out())),
        DiffForm::Patch => {
            for change in changes {
                if terminal.out_is_closed() {
                    return;
                }
                terminal.out(&view::patch::patch(&mount.coverage, change, sources, options));
            }
        }
    }
    for change in &mount.withheld {
        let told = view::changes::withheld(&mount.coverage, change);
        let where_it_is = match mount.coverage.recipients.as_slice() {
            [] => "no snapshot holds it",
            _ => "what was there is stored encrypted, for --identity FILE",
        };
        terminal.note(&format!("{told}; {where_it_is}"));
    }
    if !mount.comparison.not_covered.is_empty() {
        terminal.note(&view::patch::not_covered(&mount.comparison.not_covered));
    }
}
