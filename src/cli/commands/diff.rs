//! `diff`: what changed between two snapshots, or between a snapshot and now.

mod sides;

use crate::capture::{Earlier, Reveal, Show};
use crate::cli::args::{Check, DiffArgs, DiffForm, Until};
use crate::cli::context::Context;
use crate::cli::document::{
    ChangeDocument, DiffDocument, Head, ReasonDocument, RepositoryDocument, SettingDocument,
};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::config::Mode;
use crate::diff::{
    Comparison, NotCovered, PatchOptions, RepositoryChange, Setting, Side, WithheldChange, compare,
    compare_withheld, pair_renames, withheld_settings,
};
use crate::restore::Scope;
use crate::session::{find_called, find_instance, find_snapshot, settle_lost};
use crate::snapshot::Coverage;
use crate::store::Store;
use crate::terminal::sanitize;

use self::sides::{Later, live, stored};
use super::paths;
use super::repositories::{repositories, settings};
use super::restore::refuse_imported;
use super::unlock::identities;
use super::words::Words;

/// One mount compared.
pub(in crate::cli) struct Compared {
    pub(in crate::cli) coverage: Coverage,
    pub(in crate::cli) comparison: Comparison,
    /// What changed about the repositories in it.
    pub(in crate::cli) repositories: Vec<RepositoryChange>,
    /// What changed about the settings of agents.
    pub(in crate::cli) settings: Vec<Setting>,
    /// Which credentials changed that no snapshot holds.
    pub(in crate::cli) withheld: Vec<WithheldChange>,
}

pub(super) fn run(context: &Context<'_>, args: &DiffArgs) -> Result<Status, CliError> {
    let (store, row) = open(context, &args.instance)?;
    let store = store.unlocked_by(identities(context, &args.unlock)?);
    // Archives must not go while they are read.
    let _needed = store.share()?;
    let from = find_snapshot(&store, &row, args.from.as_deref().unwrap_or("baseline"));
    let from = store.record(&from.map_err(|error| nothing(&row, error))?.id)?;
    let later = match &args.to {
        Until::Now => {
            refuse_imported(&row)?;
            Later::Now
        }
        Until::Snapshot(name) => {
            let snapshot = find_snapshot(&store, &row, name)?;
            Later::Snapshot(Box::new(store.record(&snapshot.id)?))
        }
    };
    let coverages: Vec<Coverage> = from.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    let scopes = paths::scopes(context.environment, &coverages, &args.paths)?;
    let check = args.check == Some(Check::Content);
    let mut compared = Vec::new();
    let mut blobs = store.contents(&from);
    let mut later_blobs = match &later {
        Later::Now => None,
        Later::Snapshot(record) => Some(store.contents(record)),
    };
    for (mount, scope) in from.mounts.iter().zip(&scopes) {
        let mut reveal = Reveal::of(&store, &mount.coverage, Show::Stored)?;
        let plain = store.manifest(&from, mount)?;
        let (before, _) = reveal.shown(&store, &from, mount, plain.clone())?;
        let mut after = match &later {
            Later::Now => live(
                context,
                &store,
                &mount.coverage,
                // Nothing private: a look takes names from it.
                plain.as_ref().map(|manifest| Earlier {
                    manifest,
                    started_at: mount.started_at,
                    same_rules: true,
                }),
                check,
            )?,
            Later::Snapshot(record) => stored(&store, record, &mount.coverage, &mut reveal)?,
        };
        if let (Later::Now, Some(now)) = (&later, &mut after.manifest) {
            reveal.now(now, mount);
        }
        blobs.lend(reveal.lent());
        if let Some(blobs) = &mut later_blobs {
            blobs.lend(reveal.lent());
        }
        let skipped: Vec<_> = after.skipped.iter().map(|skipped| &skipped.path).collect();
        let lacks: Vec<_> = [&before, &after.manifest]
            .into_iter()
            .flatten()
            .flat_map(|manifest| manifest.gaps().map(|(path, _)| path))
            .collect();
        let known = paths::Known {
            sides: &[before.as_ref(), after.manifest.as_ref()],
            elsewhere: &skipped.into_iter().chain(&lacks).collect::<Vec<_>>(),
            described: &format!(
                "is on neither side: not in the {} snapshot, nor later",
                from.kind.word()
            ),
        };
        known.check(&mount.coverage, scope, row.id.as_str())?;
        let from = Side {
            manifest: before.as_ref(),
            skipped: &[],
        };
        let to = Side {
            manifest: after.manifest.as_ref(),
            skipped: &after.skipped,
        };
        let mut comparison = compare(&from, &to);
        comparison.changes.retain(|change| scope.holds(&change.path));
        comparison
            .not_covered
            .retain(|gap| scope.holds(&gap.path) || *scope == Scope::All);
        let repositories = repositories(
            &mount.coverage,
            (before.as_ref(), &blobs),
            (after.manifest.as_ref(), later_blobs.as_ref()),
            &comparison.changes,
            args.show_secrets,
        );
        let mut settings = settings(
            &mount.coverage,
            (before.as_ref(), &blobs),
            (after.manifest.as_ref(), later_blobs.as_ref()),
            &comparison.changes,
            (args.show_secrets, store.is_unlocked()),
        );
        if !args.no_renames {
            comparison.changes = pair_renames(comparison.changes);
        }
        let mut withheld = compare_withheld(&mount.withheld, later.withheld(&reveal, &mount.coverage));
        let sides = (before.as_ref(), after.manifest.as_ref());
        withheld.retain(|change| scope.holds(&change.path) && !change.is_told_by(sides));
        settings.extend(withheld_settings(&withheld, &mount.coverage));
        settings.sort_by_key(|setting| (!setting.grants, setting.key.is_empty()));
        // What is said of it is said once.
        let is_told = |gap: &NotCovered| withheld.iter().any(|change| change.path == gap.path);
        comparison.not_covered.retain(|gap| !is_told(gap));
        compared.push(Compared {
            coverage: mount.coverage.clone(),
            comparison,
            repositories,
            settings,
            withheld,
        });
    }
    let differs = compared
        .iter()
        .any(|mount| !mount.comparison.changes.is_empty() || !mount.withheld.is_empty());
    if args.json {
        let to = match &later {
            Later::Now => "now".to_owned(),
            Later::Snapshot(record) => record.id.to_string(),
        };
        context
            .terminal
            .json(&document(row.id.to_string(), from.id.to_string(), to, &compared));
    } else {
        let options = PatchOptions {
            context: 3,
            show_secrets: args.show_secrets,
            hides: false,
        };
        let sources = view::patch::Sources {
            from: &blobs,
            to: later_blobs.as_ref(),
            hides_private: store.is_unlocked() && !args.show_secrets,
        };
        // What agents may do now is wanted first, whatever else changed.
        for mount in compared.iter().filter(|mount| !mount.settings.is_empty()) {
            let width = context.terminal.width_out();
            let text = view::settings::settings(&mount.coverage, &mount.settings, width);
            context.terminal.out(&text);
        }
        for mount in &compared {
            show(context, args.form(), mount, &sources, options, compared.len() > 1);
        }
        if !differs {
            context.terminal.note("no differences");
        } else if matches!(later, Later::Now) {
            let undo = Words::new("restore")
                .arg(row.id.as_str())
                .flag("--from", args.from.as_ref())
                .flag("--identity", args.unlock.identity.as_ref())
                .paths(&args.paths);
            context.propose("undo it", &undo.text());
        }
    }
    let code = if args.exit_code && differs {
        ExitCode::Failed
    } else {
        ExitCode::Done
    };
    Ok(code.into())
}

/// Opens the store and closes the instance when it is found dead.
pub(super) fn open(
    context: &Context<'_>,
    instance: &str,
) -> Result<(Store, crate::store::InstanceRow), CliError> {
    let reading = context.store_for_reading()?.ok_or_else(|| no_store(instance))?;
    let row = find_called(&reading, context.environment, instance)?;
    settled(context, reading, row)
}

/// The instance as it is once it was closed, when it is found dead.
pub(super) fn settled(
    context: &Context<'_>,
    reading: Store,
    row: crate::store::InstanceRow,
) -> Result<(Store, crate::store::InstanceRow), CliError> {
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
pub(super) fn no_store(instance: &str) -> CliError {
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
    row: &crate::store::InstanceRow,
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
pub(super) fn nothing(row: &crate::store::InstanceRow, error: crate::session::SessionError) -> CliError {
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

fn document(instance: String, from: String, to: String, compared: &[Compared]) -> DiffDocument {
    let changes = compared.iter().flat_map(|mount| {
        mount
            .comparison
            .changes
            .iter()
            .map(|change| ChangeDocument::new(&mount.coverage, change))
    });
    let gaps = compared.iter().flat_map(|mount| {
        mount
            .comparison
            .not_covered
            .iter()
            .map(|gap| ReasonDocument::gap(&mount.coverage, gap))
    });
    let git = compared.iter().flat_map(|mount| {
        let changed = mount.repositories.iter();
        changed.map(|change| RepositoryDocument::new(&mount.coverage, change))
    });
    let withheld = compared.iter().flat_map(|mount| {
        let changed = mount.withheld.iter();
        changed
            .map(|change| ReasonDocument::new(&mount.coverage, &change.path, change.kind.words().to_owned()))
    });
    DiffDocument {
        git: git.collect(),
        withheld: withheld.collect(),
        state: compared
            .iter()
            .flat_map(|mount| {
                let settings = mount.settings.iter();
                settings.map(|setting| SettingDocument::new(&mount.coverage, setting))
            })
            .collect(),
        head: Head::default(),
        instance,
        from,
        to,
        changes: changes.collect(),
        not_covered: gaps.collect(),
    }
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
        let host = change.path.on_host(&mount.coverage.root.to_path());
        let (host, words) = (sanitize::path(&host), change.kind.words());
        let where_it_is = match mount.coverage.recipients.as_slice() {
            [] => "no snapshot holds it",
            _ => "what was there is stored encrypted, for --identity FILE",
        };
        terminal.note(&format!("withheld: {host}: {words}; {where_it_is}"));
    }
    if !mount.comparison.not_covered.is_empty() {
        terminal.note(&view::patch::not_covered(&mount.comparison.not_covered));
    }
}
