//! Steps that `restore` and `undo` share: show a proposal, confirm, execute, report.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::cli::closed_paths::propose_opening;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::context::pending::tell_left;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::hunk_choice::choose_hunks;
use crate::cli::json_output::JsonForm;
use crate::cli::plan_question::{PlanQuestion, Unanswered};
use crate::cli::replication::leave;
use crate::cli::suggested_command::{Words, literal};
use crate::cli::view;
use crate::cli::view::plan::Listed;
use crate::cli::written_snapshot::print_changed_meanwhile;
use crate::diagnostic::Diagnostic as _;
use crate::diff::{ChangeKind, PatchOptions, WithheldKind};
use crate::model::{RelPath, SnapshotId};
use crate::recovery::{Caller, ChosenPaths, RestorePlan, Wanted, emptied};
use crate::report::{
    ConversationDocument, RepositoryDocument, RestoreDocument, Sources, presented, restore_document,
};
use crate::restore::{
    AsideWhy, Composed, Denied, LostEdit, LostKind, Merging, MountReport, Outcome, Proposal, ProposedMount,
    Purpose, Report, Unmerged, Why, refuse_in_use,
};
use crate::store::{InstanceRow, Store};
use crate::terminal::{Verbosity, sanitize, shell, size};
use handle_fs::is_privileged;

/// Options for executing a proposal.
pub(super) struct RestoreOptions {
    pub(super) json: bool,
    /// A plan is printed as one JSON object a line.
    pub(super) json_lines: bool,
    pub(super) yes: bool,
    pub(super) dry_run: bool,
    /// With `dry_run`: the lines that would be reverted are shown.
    pub(super) patch: bool,
    /// The plan lists every path.
    pub(super) all: bool,
    /// Choice of the operator before the question.
    pub(super) choosing: Choosing,
    pub(super) question: &'static str,
    /// The file with the operator's key, when one was given.
    pub(super) identity: Option<OsString>,
    /// The same once more, without what answers, shows, or allows: for the commands that are proposed.
    pub(super) again: Words,
}

/// Choice that an operator makes before the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choosing {
    /// None.
    Nothing,
    /// Paths, from a list.
    Paths,
    /// Hunks, one by one.
    Hunks,
}

/// Makes a plan again with the chosen paths alone.
pub(super) type Narrow<'a> = &'a dyn Fn(&ChosenPaths) -> Result<RestorePlan, CliError>;

/// Shows what was planned, asks, and carries it out. If the operator chooses some of the paths, the plan with these is shown next;
/// without `narrow` there is no choice.
pub(super) fn carry_out(
    context: &Context<'_>,
    mut planned: RestorePlan,
    how: &RestoreOptions,
    narrow: Option<Narrow<'_>>,
) -> Result<Status, CliError> {
    if how.dry_run {
        return show_only(context, &planned, how);
    }
    let by_hunks = how.choosing == Choosing::Hunks;
    if let Some(narrow) = narrow.filter(|_| by_hunks) {
        planned = chosen_by_hunks(context, planned, narrow)?;
    }
    let mut is_first = true;
    loop {
        // A choice of paths would forget the hunks.
        let can_choose = narrow.is_some() && !by_hunks;
        let chooses_first = how.choosing == Choosing::Paths && std::mem::replace(&mut is_first, false);
        let agreed = agree(context, &planned, how, (can_choose, chooses_first));
        let chosen = match (agreed, narrow) {
            (Ok(()), _) => return carry(context, &planned, how),
            (Err(Unanswered::Refused(error)), _) => return Err(error),
            (Err(Unanswered::Chosen(_)), None) => continue,
            (Err(Unanswered::Chosen(chosen)), Some(narrow)) => narrow(&chosen)?,
        };
        planned = chosen;
    }
}

/// Asks for each hunk of a plan, and plans again with the chosen ones.
fn chosen_by_hunks(
    context: &Context<'_>,
    planned: RestorePlan,
    narrow: Narrow<'_>,
) -> Result<RestorePlan, CliError> {
    if planned.proposal.is_empty() {
        return Ok(planned);
    }
    refuse_in_use(&planned.proposal)?;
    let terminal = context.terminal;
    let chosen = planned.ask(|| {
        let document = restore_document(&planned.row, &planned.proposal, None);
        if let Some(stays) = view::plan::stays(&document, terminal.width_err()) {
            terminal.err(&stays);
        }
        match choose_hunks(context, &planned) {
            Ok(chosen) => Err(Unanswered::Chosen(chosen)),
            Err(error) => Err(Unanswered::Refused(error)),
        }
    });
    match chosen {
        Ok(()) => Ok(planned),
        Err(Unanswered::Refused(error)) => Err(error),
        Err(Unanswered::Chosen(chosen)) => {
            drop(planned);
            narrow(&chosen)
        }
    }
}

/// Shows a plan that is not carried out, and returns the exit code.
fn show_only(context: &Context<'_>, planned: &RestorePlan, how: &RestoreOptions) -> Result<Status, CliError> {
    let RestorePlan {
        store, row, proposal, ..
    } = planned;
    let terminal = context.terminal;
    let document = restore_document(row, proposal, None);
    if !how.json {
        warn_of_gaps(context, proposal);
        print_plan(context, &document, how);
    }
    if let Err(refused) = refuse_in_use(proposal) {
        terminal.warn(&format!("would be refused now: {}", refused.message()));
    }
    if how.patch {
        print_patches(store, proposal, &mut |text| {
            terminal.out(text);
            !terminal.out_is_closed()
        });
    }
    if how.json {
        let document = document.in_conversation(conversation_of(context, row));
        let form = JsonForm {
            json: !how.json_lines,
            json_lines: how.json_lines,
        };
        form.print(context, &document)?;
    } else {
        if !how.all && !planned.is_refused && view::plan::is_folded(&document) {
            let words = how.again.clone().switch("--dry-run", true).switch("--all", true);
            let words = words
                .switch("--merge", proposal.allow.merging != Merging::Off)
                .switch("--conflict-markers", proposal.allow.merging == Merging::Marked)
                .switch("--overwrite-later-edits", proposal.allow.overwrite_later)
                .switch("--delete-later-files", proposal.allow.delete_later);
            context.propose("details", &words.text());
        }
        if !planned.is_refused {
            propose_next(context, proposal, how, planned.caller);
        }
    }
    Ok(match proposal.is_in_part() {
        true => ExitCode::Partial.into(),
        false => ExitCode::Done.into(),
    })
}

/// Shows a plan and asks whether it is carried out.
fn agree(
    context: &Context<'_>,
    planned: &RestorePlan,
    how: &RestoreOptions,
    (can_choose, chooses_first): (bool, bool),
) -> Result<(), Unanswered> {
    let RestorePlan {
        store, row, proposal, ..
    } = planned;
    let terminal = context.terminal;
    let document = restore_document(row, proposal, None);
    if !how.json {
        warn_of_gaps(context, proposal);
    }
    let locked = match proposal.is_empty() {
        true => Ok(()),
        false => refuse_in_use(proposal).map_err(CliError::from),
    };
    if how.yes || proposal.is_empty() || !terminal.can_ask() || locked.is_err() {
        print_plan(context, &document, how);
        locked?;
        if !proposal.is_empty() {
            confirm(terminal, &context.interrupts, how.question, how.yes)?;
        }
        return Ok(());
    }
    planned.ask(|| {
        print_plan(context, &document, how);
        let diff = |print: &mut dyn FnMut(&str) -> bool| print_patches(store, proposal, print);
        let question = PlanQuestion {
            words: how.question,
            plan: Some(&document),
            diff: Some(&diff),
            can_choose: can_choose && terminal.can_choose(),
            chooses_first,
            is_json: how.json,
        };
        question.ask(context)
    })
}

/// Prints a plan where the operator reads it: in the pager if it is long and something depends on it.
fn print_plan(context: &Context<'_>, plan: &RestoreDocument<'_>, how: &RestoreOptions) {
    let terminal = context.terminal;
    let listed = match how.all {
        true => Listed::All,
        false => Listed::Folded,
    };
    if how.json {
        // The operator who is asked must see it. Without a question stderr holds the error's document alone.
        if !how.yes && terminal.can_ask() {
            terminal.err(&view::plan::plan(plan, terminal.width_err(), listed));
        }
        return;
    }
    let width = terminal.width_out();
    if how.yes && terminal.verbosity() == Verbosity::Quiet {
        // What stays is a part of the result.
        if let Some(stays) = view::plan::stays(plan, terminal.width_err()) {
            terminal.err(&stays);
        }
        return;
    }
    if how.yes {
        terminal.out(&view::plan::plan(plan, width, listed));
        return;
    }
    let mut page = terminal.page();
    for line in view::plan::paths(plan, width, listed) {
        page.line(&line);
    }
    drop(page);
    terminal.out(&view::plan::summary(plan, width));
}

/// Runs what was planned, shown and confirmed, and reports the result.
pub(super) fn carry(
    context: &Context<'_>,
    planned: &RestorePlan,
    how: &RestoreOptions,
) -> Result<Status, CliError> {
    let RestorePlan {
        store, row, proposal, ..
    } = planned;
    let terminal = context.terminal;
    let report = act(context, planned)?;
    if let (Some(emergency), Some(receipt)) = (&report.emergency, report.receipt) {
        terminal.detail(&format!(
            "emergency snapshot {emergency} is stored and was read back; receipt {receipt}"
        ));
    }
    if !how.json {
        tell_of_commits(context, store, row, proposal, &report);
    }
    let status = say(context, (row, planned.caller), proposal, &report, how);
    if !how.json && is_in_deleted_directory(context) {
        // `.` is the deleted one for every program that the shell starts.
        context.propose_of_other(
            "your shell is still in the deleted directory; to enter this one",
            "cd \"$PWD\"",
        );
    }
    Ok(status)
}

/// Returns true if the current directory was deleted and another one has its path.
fn is_in_deleted_directory(context: &Context<'_>) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
    let there = id(&context.environment.current);
    there.is_some() && there != id(Path::new("."))
}

/// Carries a plan out that was agreed to, and leaves a process behind that copies the emergency snapshot.
pub(super) fn act(context: &Context<'_>, planned: &RestorePlan) -> Result<Report, CliError> {
    let report = context.engine().restore(planned)?;
    leave(context.environment);
    Ok(report)
}

/// Tells how a restore went, and gives its exit code.
pub(super) fn say(
    context: &Context<'_>,
    (row, caller): (&InstanceRow, Caller),
    proposal: &Proposal,
    report: &Report,
    how: &RestoreOptions,
) -> Status {
    tell_left(context, &report.left);
    if how.json {
        context.terminal.json(
            &restore_document(row, proposal, Some(report)).in_conversation(conversation_of(context, row)),
        );
    } else {
        tell(context, (row, caller), proposal, report, how);
    }
    if report.outcome == Outcome::Partial {
        ExitCode::Partial.into()
    } else {
        ExitCode::Done.into()
    }
}

/// Commits that the session made are in no branch any more: says where they are, and how to get at them.
fn tell_of_commits(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    proposal: &Proposal,
    report: &Report,
) {
    let Some(emergency) = &report.emergency else {
        return;
    };
    for (coverage, change) in emptied(store, proposal, report) {
        context.terminal.note(&view::repository::emptied(
            &RepositoryDocument::new(&coverage, &change),
            emergency.as_str(),
        ));
        let own = change.own.on_host(&coverage.root.to_path());
        let words = Words::new("restore")
            .arg(row.id.as_str())
            .flag("--from", Some(emergency.as_str()))
            .flag("--to", Some("NEW-DIRECTORY"))
            .paths(&[literal(&[coverage.root.to_path()], &own)]);
        context.propose("to write that repository elsewhere", &words.text());
    }
}

/// Prints the lines that go, as `diff` shows them: from what comes back to what is there. `print` returns false once nothing more is
/// wanted.
pub(super) fn print_patches(store: &Store, proposal: &Proposal, print: &mut dyn FnMut(&str) -> bool) {
    let blobs = proposal.contents(store);
    let sources = Sources {
        from: &blobs,
        to: None,
        hides_private: store.is_unlocked(),
    };
    let options = PatchOptions {
        context: 3,
        show_secrets: false,
        hides: false,
    };
    for mount in &proposal.mounts {
        for step in &mount.plan.steps {
            let text = view::patch::patch(&mount.request.coverage, &step.change, &sources, options);
            if !print(&text) {
                return;
            }
        }
    }
}

fn warn_of_gaps(context: &Context<'_>, proposal: &Proposal) {
    if let Some(told) = gaps(proposal) {
        context.terminal.warn(&told);
    }
    print_changed_meanwhile(context, &proposal.target);
}

/// Number of missing paths that a warning names.
const NAMED: usize = 3;

/// Describes the gaps of the target snapshot; `None` if it is complete.
pub(super) fn gaps(proposal: &Proposal) -> Option<String> {
    let lacks: u64 = proposal.target.mounts.iter().map(|mount| mount.gap_count).sum();
    let gaps = proposal.target.mounts.iter().flat_map(|mount| &mount.gaps);
    let mixed = gaps.filter(|gap| gap.is_stored()).count() as u64;
    let absent = match lacks.saturating_sub(mixed) {
        0 => None,
        1 => Some("1 path, which is not touched".to_owned()),
        some => Some(format!("{} paths, which are not touched", size::count(some))),
    };
    let mixed = match mixed {
        0 => None,
        1 => Some("1 file that changed while it was read".to_owned()),
        some => Some(format!(
            "{} files that changed while they were read",
            size::count(some)
        )),
    };
    let parts: Vec<String> = absent.into_iter().chain(mixed).collect();
    if parts.is_empty() {
        return None;
    }
    let rest = parts.join(", and ");
    let mut named: Vec<String> = Vec::new();
    for mount in &proposal.target.mounts {
        let root = mount.coverage.root.to_path();
        let gaps = mount.gaps.iter().map(|gap| gap.path.on_host(&root));
        named.extend(gaps.map(|path| sanitize::path(&path)));
    }
    let more = lacks.saturating_sub(NAMED as u64);
    named.truncate(NAMED);
    if more > 0 && !named.is_empty() {
        named.push(format!("{} more", size::count(more)));
    }
    let named = match named.is_empty() {
        true => String::new(),
        false => format!(": {}", named.join(", ")),
    };
    Some(format!(
        "the snapshot is incomplete: {rest}{named} (`show` has the reasons)"
    ))
}

/// The flags that the conflicts of a proposal give way to: overwriting, deleting.
pub(super) fn flags(proposal: &Proposal) -> (bool, bool) {
    let conflicts = proposal.mounts.iter().flat_map(|mount| &mount.plan.conflicts);
    let later = conflicts.filter(|kept| match &kept.why {
        Why::Closed
        | Why::Holds(_)
        | Why::Parent(_)
        | Why::OneName(_)
        | Why::Encoding
        | Why::Socket
        | Why::Root => false,
        Why::Aside(why) => matches!(why, AsideWhy::Taken(_) | AsideWhy::Other),
        _ => true,
    });
    later.fold((false, false), |(overwrite, delete), kept| {
        // What is in the way of what lies aside is set aside itself.
        let added = kept.change.kind == ChangeKind::Added && !matches!(kept.why, Why::Aside(_));
        (overwrite || !added, delete || added)
    })
}

/// Returns true if the flags that conflicts give way to would only recreate what was deleted later.
fn loses_nothing(proposal: &Proposal) -> bool {
    let mut conflicts = proposal.mounts.iter().flat_map(|mount| &mount.plan.conflicts);
    conflicts.all(|kept| {
        matches!(
            kept.why,
            Why::LaterDeletion(_)
                | Why::Closed
                | Why::Holds(_)
                | Why::Parent(_)
                | Why::OneName(_)
                | Why::Encoding
                | Why::Socket
                | Why::Root
        )
    })
}

/// Returns the purpose of the command that opens the encrypted files of a proposal; `None` if none stays for lack of its key.
fn to_open(proposal: &Proposal) -> Option<String> {
    let withheld = proposal.mounts.iter().flat_map(|mount| {
        let changes = mount.withheld.iter();
        changes.filter(|change| mount.encrypted.contains(&change.path))
    });
    let (new, others): (Vec<_>, Vec<_>) = withheld.partition(|change| change.kind == WithheldKind::Added);
    let which = match new.len() + others.len() {
        0 => return None,
        1 => "it",
        _ => "them",
    };
    let verb = match others.is_empty() {
        true => "delete",
        false => "restore",
    };
    Some(format!("to {verb} {which} too"))
}

/// The commands that follow from a proposal: apply it, and discard the conflicts.
fn propose_next(context: &Context<'_>, proposal: &Proposal, how: &RestoreOptions, caller: Caller) {
    let allow = proposal.allow;
    let say = |purpose: &str, overwrite: bool, delete: bool| {
        let words = how.again.clone();
        let words = words
            .switch("--overwrite-later-edits", overwrite)
            .switch("--delete-later-files", delete);
        context.propose(purpose, &words.text());
    };
    let (overwrite, delete) = flags(proposal);
    let is_restore = !matches!(proposal.purpose, Purpose::Undo(_));
    if is_restore && proposal.mounts.iter().any(|mount| mount.may_merge) {
        context.propose(
            "to merge later edits",
            &how.again.clone().switch("--merge", true).text(),
        );
    }
    let mut unmerged = proposal.mounts.iter().flat_map(|mount| mount.unmerged.values());
    if unmerged.any(|why| matches!(why, Unmerged::Overlaps { .. })) {
        let words = how.again.clone().switch("--merge", true);
        let words = words.switch("--conflict-markers", true);
        context.propose("to write all versions between conflict markers", &words.text());
    }
    // Inside a session it is refused.
    if caller == Caller::Outside && (overwrite || delete) {
        let (overwrite, delete) = (overwrite || allow.overwrite_later, delete || allow.delete_later);
        let purpose = match loses_nothing(proposal) {
            true => "to recreate what was deleted since as well",
            false => "to discard later edits as well",
        };
        say(purpose, overwrite, delete);
    }
    if caller == Caller::Outside {
        propose_lost_edits(context, proposal);
    }
    // Inside a session a key is refused.
    if let Some(purpose) = to_open(proposal).filter(|_| caller == Caller::Outside) {
        context.propose(&purpose, &how.again.clone().plain("--identity FILE").text());
    }
    for mount in &proposal.mounts {
        let host = |path: &RelPath| path.on_host(&mount.request.coverage.root.to_path());
        // What is set aside is in the way no more.
        let goes = |held: &RelPath| mount.aside.iter().any(|step| held.is_within(&step.path));
        let barring = mount
            .barred()
            .map(|(_, held)| held)
            .filter(|held| !goes(held))
            .map(&host);
        let (dirs, others): (Vec<PathBuf>, Vec<PathBuf>) =
            barring.partition(|held| is_restore && held.symlink_metadata().is_ok_and(|found| found.is_dir()));
        if !dirs.is_empty() {
            let dirs: Vec<OsString> = dirs.into_iter().map(PathBuf::into_os_string).collect();
            let words = how.again.clone().flags("--set-aside-excluded", &dirs);
            context.propose(
                "to set aside the excluded directory that is in the way (`undo` brings it back)",
                &words.text(),
            );
        }
        for held in &others {
            let held = sanitize::path(held);
            context
                .terminal
                .note(&format!("move {held}, which is excluded, out of the way"));
        }
        if mount.barred().next().is_some() {
            context.propose("then, to restore the file", &how.again.clone().text());
        }
        let stuck: Vec<OsString> = mount
            .left_alone()
            .map(|change| host(&change.path).into_os_string())
            .collect();
        if !stuck.is_empty() {
            let words = how.again.clone().flags("--set-aside-excluded", &stuck);
            context.propose(
                "to set aside settings that cannot be merged (`undo` brings them back)",
                &words.text(),
            );
            context.propose("then restore the settings", &how.again.clone().text());
        }
    }
    if how.dry_run && !proposal.is_empty() {
        let words = how.again.clone();
        let words = words
            .switch("--merge", allow.merging != Merging::Off)
            .switch("--conflict-markers", allow.merging == Merging::Marked)
            .switch("--overwrite-later-edits", allow.overwrite_later)
            .switch("--delete-later-files", allow.delete_later);
        context.propose("to apply", &words.text());
    }
}

/// The commands that restore the operator's edits between turns that the session overwrote or deleted, for the first snapshots that have some.
fn propose_lost_edits(context: &Context<'_>, proposal: &Proposal) {
    const SNAPSHOTS: usize = 3;
    const PATHS: usize = 5;
    // Those that are certain come first.
    let mut all: BTreeMap<(bool, &SnapshotId), Vec<OsString>> = BTreeMap::new();
    for mount in &proposal.mounts {
        let root = mount.request.coverage.root.to_path();
        let is_apart = |edit: &&LostEdit| edit.kind != LostKind::DirectoryMetadata;
        let mut edits: Vec<&LostEdit> = mount.lost_edits.iter().filter(is_apart).collect();
        // No ref comes back without the objects that it needs.
        edits.sort_by_key(|edit| edit.kind != LostKind::Objects);
        for edit in edits {
            let paths = all.entry((edit.is_doubtful, &edit.snapshot)).or_default();
            paths.push(literal(std::slice::from_ref(&root), &edit.path.on_host(&root)));
        }
    }
    for ((is_doubtful, snapshot), paths) in all.iter().take(SNAPSHOTS) {
        let words = Words::new("restore")
            .session(context, &proposal.target.instance, Wanted::Any)
            .flag("--from", Some(snapshot.as_str()))
            .paths(paths.get(..PATHS).unwrap_or(paths));
        let version = match is_doubtful {
            true => "what may be your version",
            false => "your version",
        };
        let purpose = match paths.len() > PATHS {
            true => format!(
                "to restore {version} of the first {PATHS} of {} paths",
                size::count(paths.len() as u64)
            ),
            false => format!("to restore {version}"),
        };
        context.propose(&purpose, &words.text());
    }
}

/// Returns how many paths are not as they should be, and how many of them only could not be read back.
fn not_done(failed: u64, unread: u64) -> String {
    let incomplete = match failed.saturating_sub(unread) {
        0 => None,
        some => Some(format!("{} could not be restored completely", size::count(some))),
    };
    let unread = match unread {
        0 => None,
        some => Some(format!("{} could not be verified", size::count(some))),
    };
    let both: Vec<String> = incomplete.into_iter().chain(unread).collect();
    both.join(", ")
}

fn tell(
    context: &Context<'_>,
    (row, caller): (&InstanceRow, Caller),
    proposal: &Proposal,
    report: &Report,
    how: &RestoreOptions,
) {
    let terminal = context.terminal;
    for root in &report.in_steps {
        terminal.note(&format!(
            "the file system of {} cannot exchange names, so each replaced path was missing briefly",
            sanitize::path(root)
        ));
    }
    if report.shared > 0 {
        let files = size::counted(report.shared, "file shares its", "files share their");
        terminal.detail(&format!(
            "{files} blocks with what was on the file system already"
        ));
    }
    let (mut failed, mut unread, mut denied) = (0, 0, false);
    for (mount, done) in proposal.mounts.iter().zip(&report.mounts) {
        let root = mount.request.coverage.root.to_path();
        for failure in &done.failed {
            failed += 1;
            unread += u64::from(failure.problem.unread);
            denied |= failure.problem.denied;
            let host = sanitize::path(&failure.path.on_host(&root));
            terminal.warn(&format!("{host}: {}", failure.problem));
        }
        for step in done.applied(&mount.plan).iter() {
            let path = &step.change.path;
            let marked = mount
                .request
                .witness
                .composed
                .get(path)
                .map_or(0, Composed::marked);
            if marked > 0 {
                let places = size::counted(marked.into(), "place", "places");
                let host = sanitize::path(&path.on_host(&root));
                terminal.warn(&format!("{host}: conflict markers in {places}"));
            }
        }
    }
    // As in the plan: a file that was moved is one.
    let lines = |(mount, done): (&ProposedMount, &MountReport)| {
        let applied = done.applied(&mount.plan);
        let shown = presented(&applied);
        let deleted = shown
            .iter()
            .filter(|(change, _)| change.kind == ChangeKind::Added);
        (shown.len(), deleted.count())
    };
    let done = proposal.mounts.iter().zip(&report.mounts).map(lines);
    let (changed, deleted) = done.fold((0, 0), |(all, of_all), (some, of_some)| {
        (all + some, of_all + of_some)
    });
    let verb = match deleted > 0 && deleted == changed {
        true => "deleted",
        false => "restored",
    };
    if report.emergency.is_some() {
        let changed = size::counted(changed as u64, "path", "paths");
        let aside = view::aside::told(report.mounts.iter().flat_map(|mount| &mount.aside));
        terminal.out(&match failed {
            0 => format!("Done: {changed} {verb} and verified{aside}."),
            some => format!(
                "Done in part: {changed} {verb} and verified{aside}, {}.",
                not_done(some, unread)
            ),
        });
    }
    propose_next(context, proposal, how, caller);
    if opened(proposal, report) {
        context.propose("to restore what can be read now", &how.again.clone().text());
    }
    let unread: Vec<Denied> = proposal.mounts.iter().map(Denied::of).collect();
    propose_opening(context, (proposal, caller), &unread, &how.again);
    denied |= lies_out_of_reach(proposal) || unread.iter().any(|unread| unread.needs_root);
    if denied && !is_privileged() {
        context.propose_to_root("to change them as root", &how.again.clone().text());
    }
    let has_set_aside = report.mounts.iter().any(|mount| !mount.aside.is_empty());
    if report.emergency.is_some() && (changed > 0 || has_set_aside) {
        let undo = Words::new("undo").session(context, &row.id, Wanted::Restored);
        let undo = undo.flag("--identity", how.identity.as_ref());
        match caller {
            Caller::Outside => context.propose("to undo", &undo.text()),
            // Inside a session it is refused.
            Caller::Inside => context.propose("the operator can undo it after the session", &undo.text()),
        }
        if caller == Caller::Outside {
            propose_conversation(context, row, &proposal.purpose);
        }
    }
}

/// Returns true if directories got a mode that shows what could not be listed before.
fn opened(proposal: &Proposal, report: &Report) -> bool {
    let mut mounts = proposal.mounts.iter().zip(&report.mounts);
    mounts.any(|(mount, done)| {
        let applied = done.applied(&mount.plan);
        let mut steps = applied
            .iter()
            .filter(|step| matches!(step.change.kind, ChangeKind::Mode | ChangeKind::Metadata));
        steps.any(|step| mount.hidden().any(|gap| gap.path.is_within(&step.change.path)))
    })
}

/// Returns the conversation that a session is a part of. Without it a restore is complete, so a store that cannot be read has none.
fn conversation_of(context: &Context<'_>, row: &InstanceRow) -> Option<ConversationDocument> {
    let store = context.store_for_reading().ok()??;
    ConversationDocument::of(&store, &row.id).ok()?
}

/// Prints the command that continues the conversation of the session, and how the client rolls it back: its agent remembers work that
/// is undone.
fn propose_conversation(context: &Context<'_>, row: &InstanceRow, purpose: &Purpose) {
    let Some(ConversationDocument {
        command: Some(command),
        then,
        ..
    }) = conversation_of(context, row)
    else {
        return;
    };
    let words = match (purpose, then) {
        (Purpose::Undo(_), _) => "to continue the conversation".to_owned(),
        (_, Some(then)) => format!("to roll back the conversation as well (then {then})"),
        (_, None) => "to roll back the conversation as well".to_owned(),
    };
    // A client looks for the conversations of its directory.
    let roots: Vec<PathBuf> = row.mounts.iter().map(|mount| mount.root.to_path()).collect();
    let is_there = roots
        .iter()
        .any(|root| context.environment.current.starts_with(root));
    let command = match roots.first().filter(|root| !is_there && root.is_absolute()) {
        Some(root) => format!("cd {} && {command}", shell::word(root)),
        None => command,
    };
    context.propose_of_other(&words, &command);
}

/// Returns true if this user cannot reach a set-aside directory, as when root set it aside.
fn lies_out_of_reach(proposal: &Proposal) -> bool {
    let mut conflicts = proposal.mounts.iter().flat_map(|mount| &mount.plan.conflicts);
    conflicts.any(|kept| matches!(&kept.why, Why::Aside(AsideWhy::Unseen(_, why)) if why.denied))
}
