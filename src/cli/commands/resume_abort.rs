//! `resume` and `abort`: what becomes of a restore that was interrupted.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::{Example, Group, Unlock, some_text};
use crate::cli::command::Command;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::context::pending::{tell_left, what_was_cleared};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::identity_arg::identities;
use crate::cli::plan_question::{PlanQuestion, Unanswered};
use crate::cli::restore_flow::{Choosing, RestoreOptions, carry_out, print_patches, say};
use crate::cli::schema::Document;
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::cli::view::plan::Listed;
use crate::model::{Decision, Intent};
use crate::recovery::{
    Caller, Cleared, InstanceRow, InterruptedRestore, Proposal, Purpose, RestoreError, RestoreStage, Store,
    TakenBack,
};
use crate::report::restore_document as document;
use crate::report::{RestoreDocument, RestoreOutcome};
use crate::terminal::{Verbosity, sanitize};

/// Interrupted restore, and options.
#[derive(Clone, Debug, Args)]
pub struct WaitingArgs {
    /// The session [default: the one with an interrupted restore]
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
    /// Print the plan of the restore and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Finish an interrupted restore
#[derive(Clone, Debug, Args)]
pub struct ResumeArgs {
    /// Restore, and options.
    #[command(flatten)]
    pub restore: WaitingArgs,
    /// Private key for encrypted content.
    #[command(flatten)]
    pub unlock: Unlock,
}

impl Command for ResumeArgs {
    const NAME: &'static str = "resume";
    const GROUP: Option<Group> = Some(Group::Restore);
    const LONG: &'static str = "\
        Finishes a restore that was killed or interrupted by a power loss. Until then some paths may be old and some \
        new, every command warns of it, and no other restore or session can start there (exit code 8; 125 from `launch`). It stops if \
        you edited a path that is not restored yet.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery resume")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<RestoreDocument<'static>>("resume")];

    fn json(&self) -> bool {
        self.restore.json
    }

    fn changes_something(&self) -> bool {
        !self.restore.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        run_resume(&context, self)
    }
}

/// Roll back an interrupted restore
#[derive(Clone, Debug, Args)]
pub struct AbortArgs {
    /// Restore, and options.
    #[command(flatten)]
    pub restore: WaitingArgs,
    /// Keep every path as it is now and discard the restore
    #[arg(long)]
    pub as_is: bool,
}

impl Command for AbortArgs {
    const NAME: &'static str = "abort";
    const GROUP: Option<Group> = Some(Group::Restore);
    const LONG: &'static str = "\
        Returns every path to its state before the restore. Edits you made to restored paths are moved aside and listed.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery abort")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<RestoreDocument<'static>>("abort")];

    fn json(&self) -> bool {
        self.restore.json
    }

    fn changes_something(&self) -> bool {
        !self.restore.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        run_abort(&context, self)
    }
}

pub(super) fn run_resume(context: &Context<'_>, args: &ResumeArgs) -> Result<Status, CliError> {
    let identities = identities(context, &args.unlock)?;
    let (args, engine) = (&args.restore, context.engine());
    let found = engine.interrupted(args.instance.as_deref())?;
    if args.dry_run {
        return show(context, &found, args.json, "resume");
    }
    let held = engine.take_up(found, false, identities)?;
    let row = held.row.clone();
    let how = how(&row, held.intent(), args.json, args.yes);
    if held.stage == RestoreStage::Begun {
        // It is made again, as it was confirmed then.
        return carry_out(context, engine.plan_again(held)?, &how, None);
    }
    let planned = match held.stage {
        RestoreStage::Decided(Decision::Abort | Decision::Left) => None,
        _ => held.proposal()?,
    };
    let Some(proposal) = planned else {
        let done = engine.settle(held)?;
        tell_left(context, &done.left);
        if done.decision == Some(Decision::Commit) {
            return Ok(tell_complete(context, &row, args.json, &done));
        }
        return Err(
            CliError::new(ErrorKind::NothingToRestore, what_was_cleared(&done))
                .command("to finish it", how.again.text()),
        );
    };
    let words = "Finish this restore?";
    agree(context, args, (&row, &held.store, Some(&proposal)), words, true)?;
    let (proposal, report) = engine.resume(held)?;
    Ok(say(context, (&row, Caller::Outside), &proposal, &report, &how))
}

pub(super) fn run_abort(context: &Context<'_>, args: &AbortArgs) -> Result<Status, CliError> {
    let engine = context.engine();
    let found = engine.interrupted(args.restore.instance.as_deref())?;
    if args.restore.dry_run {
        return show(context, &found, args.restore.json, "abort");
    }
    let stage = found.waiting.stage;
    let is_over = matches!(
        stage,
        RestoreStage::Decided(Decision::Commit | Decision::Left) | RestoreStage::Recorded
    );
    let held = engine.take_up(found, args.as_is && !is_over, None)?;
    let (row, intent) = (held.row.clone(), held.intent().clone());
    if is_over {
        let done = engine.settle(held)?;
        tell_left(context, &done.left);
        let error = CliError::new(ErrorKind::NothingToRestore, what_was_cleared(&done));
        return Err(match done.decision {
            Some(Decision::Commit) => error.command("to undo", format!("undo {}", row.id)),
            _ => error,
        });
    }
    let question = if args.as_is {
        "Keep every path as it is now, some old and some new?"
    } else {
        "Undo this restore?"
    };
    // What has no readable plan can be taken back all the same: the journal knows every move.
    let proposal = held.proposal().ok().flatten();
    agree(
        context,
        &args.restore,
        (&row, &held.store, proposal.as_ref()),
        question,
        false,
    )?;
    let back = if args.as_is {
        let words =
            |place: PathBuf| format!("{} stays; it holds what was moved aside", sanitize::path(&place));
        TakenBack {
            left: engine.leave(held)?.into_iter().map(words).collect(),
            ..TakenBack::default()
        }
    } else {
        engine.abort(held)?
    };
    Ok(tell_taken_back(context, args, (&row, &intent), stage, &back))
}

/// Reports a restore that was complete and recorded, and returns its exit code: nothing but its own files was left to remove.
fn tell_complete(context: &Context<'_>, row: &InstanceRow, json: bool, done: &Cleared) -> Status {
    if json {
        let target = done.intent.target.to_string();
        let left = done.left.clone();
        context.terminal.json(&RestoreDocument::bare(
            row.id.as_str(),
            RestoreOutcome::Restored,
            target,
            left,
        ));
        return ExitCode::Done.into();
    }
    context.terminal.out(&what_was_cleared(done));
    context.propose("to undo", &format!("undo {}", row.id));
    ExitCode::Done.into()
}

/// Shows the plan of an interrupted restore, if it can be read, and asks. The lines that differ are shown only if they are those that the
/// answer changes (`has_diff`).
fn agree(
    context: &Context<'_>,
    args: &WaitingArgs,
    (row, store, proposal): (&InstanceRow, &Store, Option<&Proposal>),
    words: &str,
    has_diff: bool,
) -> Result<(), CliError> {
    let terminal = context.terminal;
    let document = proposal.map(|proposal| document(row, proposal, None));
    let is_asked = !args.yes && terminal.can_ask();
    if let Some(plan) = &document {
        match args.json {
            true if is_asked => {
                let mut lines = view::plan::steps(plan, terminal.width_err(), Listed::Folded);
                lines.push(view::plan::total(plan, terminal.width_err()));
                terminal.err(&lines.join("\n"));
            }
            true => {}
            false if args.yes && terminal.verbosity() == Verbosity::Quiet => {}
            false => print_steps(context, plan),
        }
    }
    if !is_asked {
        return confirm(terminal, &context.interrupts, words, args.yes);
    }
    let diff = |print: &mut dyn FnMut(&str) -> bool| {
        if let Some(proposal) = proposal {
            print_patches(store, proposal, print);
        }
    };
    let question = PlanQuestion {
        words,
        plan: document.as_ref(),
        diff: (has_diff && proposal.is_some()).then_some(&diff),
        can_choose: false,
        chooses_first: false,
        is_json: args.json,
    };
    match question.ask(context) {
        Err(Unanswered::Refused(error)) => Err(error),
        Ok(()) | Err(Unanswered::Chosen(_)) => Ok(()),
    }
}

/// Prints the plan of an interrupted restore, in the pager if it is long.
fn print_steps(context: &Context<'_>, plan: &RestoreDocument<'_>) {
    let width = context.terminal.width_out();
    let mut page = context.terminal.page();
    for line in view::plan::steps(plan, width, Listed::Folded) {
        page.line(&line);
    }
    drop(page);
    context.terminal.out(&view::plan::total(plan, width));
}

/// Prints how a restore was rolled back or left, and returns its exit code.
fn tell_taken_back(
    context: &Context<'_>,
    args: &AbortArgs,
    (row, intent): (&InstanceRow, &Intent),
    stage: RestoreStage,
    back: &TakenBack,
) -> Status {
    let gone = back
        .gone
        .iter()
        .map(|path| RestoreError::Gone { path: path.clone() }.to_string());
    let left: Vec<String> = gone.chain(back.left.iter().cloned()).collect();
    let code = match left.is_empty() {
        true => ExitCode::Done,
        false => ExitCode::Partial,
    };
    if args.restore.json {
        let outcome = match code {
            ExitCode::Done => RestoreOutcome::Aborted,
            _ => RestoreOutcome::Partial,
        };
        let target = intent.target.to_string();
        let mut made = RestoreDocument::bare(row.id.as_str(), outcome, target, left);
        made.emergency = back.emergency.as_ref().map(ToString::to_string);
        context.terminal.json(&made);
        return code.into();
    }
    tell_left(context, &left);
    context
        .terminal
        .out(match (args.as_is, stage != RestoreStage::Begun) {
            (true, _) => "Discarded: every path stays as it is.",
            (false, true) if !back.is_partial => "Rolled back: every path is as before the restore.",
            (false, true) => "Rolled back in part.",
            (false, false) => "The restore had changed nothing; its staging files are removed.",
        });
    if let Some(emergency) = back.emergency.as_ref().filter(|_| back.is_partial) {
        let words = Words::new("restore")
            .arg(row.id.as_str())
            .flag("--from", Some(emergency.to_string()))
            .switch("--overwrite-later-edits", true)
            .switch("--delete-later-files", true);
        context.propose("to see the emergency snapshot", &words.text());
    }
    code.into()
}

fn show(
    context: &Context<'_>,
    found: &InterruptedRestore,
    json: bool,
    verb: &str,
) -> Result<Status, CliError> {
    let (row, terminal, stage) = (&found.row, context.terminal, found.waiting.stage);
    match context.engine().interrupted_plan(found)? {
        Some(proposal) if json => terminal.json(&document(row, &proposal, None)),
        Some(proposal) => print_steps(context, &document(row, &proposal, None)),
        None if json => terminal.json(&RestoreDocument::bare(
            row.id.as_str(),
            RestoreOutcome::Planned,
            found.waiting.intent.target.to_string(),
            Vec::new(),
        )),
        None => terminal.out(match stage {
            RestoreStage::Begun | RestoreStage::Moving => {
                "The restore was interrupted before it changed anything."
            }
            RestoreStage::Recorded | RestoreStage::Decided(Decision::Commit) => {
                "The restore is complete and recorded; only cleanup is left."
            }
            RestoreStage::Decided(Decision::Abort) => "The restore was rolled back; only cleanup is left.",
            RestoreStage::Decided(Decision::Left) => "The restore was discarded; only cleanup is left.",
        }),
    }
    let is_done = matches!(
        stage,
        RestoreStage::Recorded | RestoreStage::Decided(Decision::Commit)
    );
    match json {
        true => {}
        // It is complete, so only `undo` rolls it back.
        false if is_done && verb == "abort" => context.propose("to undo", &format!("undo {}", row.id)),
        false => context.propose("to apply", &format!("{verb} {}", row.id)),
    }
    Ok(ExitCode::Done.into())
}

fn how(row: &InstanceRow, intent: &Intent, json: bool, yes: bool) -> RestoreOptions {
    let again = match Purpose::of(intent) {
        Purpose::Restore => Words::new("restore")
            .arg(row.id.as_str())
            .flag("--from", Some(intent.target.to_string())),
        Purpose::Step(step) => Words::new("restore")
            .arg(row.id.as_str())
            .flag("--only-changes-of", Some(step.called())),
        Purpose::Undo(number) => Words::new("undo")
            .arg(row.id.as_str())
            .flag("--receipt", Some(number.to_string())),
    };
    RestoreOptions {
        json,
        json_lines: false,
        yes,
        dry_run: false,
        patch: false,
        all: false,
        choosing: Choosing::Nothing,
        question: "Restore these files?",
        identity: None,
        again,
    }
}
