//! `watch`: changes of a running session, as they happen.

use std::time::Duration;

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::checkpoint_timer::Quiet;
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::session_arg::{Asking, Reported, SessionArg};
use crate::cli::view;
use crate::recovery::{Recovery, RecoveryError, SessionError, Wanted, Watch, WatchedChange};
use crate::report::{WatchDocument, WatchLine, watched_lines};
use crate::terminal::{sanitize, size};

/// Interval at which signals, and the end of the session, are noticed.
const NAP: Duration = Duration::from_millis(200);
/// Interval at which a session is looked for.
const WAIT: Duration = Duration::from_millis(500);

/// Print what the agent changes, as it happens
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// Session.
    #[command(flatten)]
    pub session: SessionArg,
    /// List each path, without folding directories
    #[arg(long)]
    pub all: bool,
    /// Print one JSON document for each change, each on a line
    #[arg(long)]
    pub json: bool,
}

impl Command for WatchArgs {
    const NAME: &'static str = "watch";
    const GROUP: Option<Group> = Some(Group::Daily);
    const LONG: &'static str = "\
        Compares the files with the baseline every two seconds, less often in large directories (at most 4 % of one \
        core), and prints each new change: A added, M modified, D deleted, T type, m mode or metadata, = as in the \
        baseline again. Begins with the changes so far, and waits for a session if none is active here. Excluded paths \
        are not printed. Five or more changes of a whole directory, or inside a .git directory, are one line. Ends with \
        the session, or with Ctrl-C (exit code 130).";
    const EXAMPLES: &'static [Example] = &[
        (
            "In a second terminal, in the same directory:",
            "jackin recovery watch",
        ),
        ("For a program:", "jackin recovery watch @latest --json"),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<WatchDocument>("watch")];

    fn json(&self) -> bool {
        self.json
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let context = &context;
        // Without progress: a look every two seconds is no news.
        let quiet = Quiet::of(context.interrupts.flag());
        let engine = context.engine_observed_by(&quiet);
        let Some(mut watch) = self.begin(context, &engine)? else {
            return Ok(match context.interrupts.requested() {
                true => Status::of_interrupt(),
                false => ExitCode::Done.into(),
            });
        };
        context.terminal.release();
        if !self.json {
            let paths: Vec<String> = watch.roots().map(|root| sanitize::path(&root)).collect();
            let id = &watch.row.id;
            context
                .terminal
                .note(&format!("watching {id} in {} (Ctrl-C to end)", paths.join(", ")));
        }
        let followed = self.follow(context, &engine, &mut watch);
        if context.interrupts.requested() {
            return Ok(Status::of_interrupt());
        }
        if followed? {
            self.tell_end(context, &watch);
        }
        Ok(ExitCode::Done.into())
    }
}

impl WatchArgs {
    /// Begins to watch the named session, or the active one here, for which it waits. Returns `None` after a signal, or if nothing
    /// reads the output any more.
    fn begin(&self, context: &Context<'_>, engine: &Recovery<'_>) -> Result<Option<Watch>, CliError> {
        let wanted = Wanted::Active;
        if self.session.instance.is_some() {
            let asking = Asking {
                wanted,
                is_silent: true,
                reported: Reported::None,
                names_earlier: false,
            };
            let id = self.session.settle(context, asking)?;
            return Ok(Some(engine.watch(&id)?));
        }
        let mut is_told = false;
        loop {
            if let Some(id) = self.session.settle_here(context, wanted)? {
                match engine.watch(&id) {
                    Err(RecoveryError::NotRunning(_)) => {}
                    // The baseline of a session that has just begun may not be stored yet.
                    Err(RecoveryError::Session(SessionError::NoSnapshot { .. })) if is_told => {}
                    watch => return Ok(Some(watch?)),
                }
            }
            if !is_told && !self.json {
                let place = if self.session.any { "" } else { " here" };
                context.terminal.note(&format!(
                    "no session is active{place}: waiting for one (Ctrl-C to end)"
                ));
            }
            is_told = true;
            context.terminal.release();
            if !nap(context, WAIT) {
                return Ok(None);
            }
        }
    }

    /// Looks until the session ends, and returns true then; the last look is after the end. Returns false after a signal, or if
    /// nothing reads the output any more.
    fn follow(
        &self,
        context: &Context<'_>,
        engine: &Recovery<'_>,
        watch: &mut Watch,
    ) -> Result<bool, RecoveryError> {
        loop {
            let is_running = watch.is_running()?;
            let found = engine.look(watch)?;
            self.print(context, watch, &found);
            if !is_running {
                return Ok(true);
            }
            if !pause(context, watch, watch.interval()) {
                return Ok(false);
            }
        }
    }

    fn print(&self, context: &Context<'_>, watch: &Watch, found: &[WatchedChange]) {
        if self.json {
            let (id, now) = (watch.row.id.as_str(), context.now());
            for line in found.iter().map(WatchLine::new) {
                context.terminal.json(&WatchDocument::change(id, now, line));
            }
        } else {
            let several = watch.roots().count() > 1;
            for line in view::watch::lines(&watched_lines(found, self.all), several) {
                context.terminal.out(&line);
            }
        }
        context.terminal.flush_out();
    }

    fn tell_end(&self, context: &Context<'_>, watch: &Watch) {
        let id = watch.row.id.as_str();
        if self.json {
            let end = WatchDocument::end(id, context.now(), watch.changed());
            context.terminal.json(&end);
            return;
        }
        let changed = size::counted(watch.changed(), "path differs", "paths differ");
        context
            .terminal
            .note(&format!("{id} ended: {changed} from the baseline"));
        context.propose("details", &format!("diff {id}"));
    }
}

/// Waits before the next look, less if the session ends. Returns false after a signal, or if the reader is gone.
fn pause(context: &Context<'_>, watch: &mut Watch, wait: Duration) -> bool {
    let mut left = wait;
    while !left.is_zero() {
        let part = NAP.min(left);
        if !nap(context, part) {
            return false;
        }
        left -= part;
        if !watch.is_held() {
            return true;
        }
    }
    true
}

/// Waits. Returns false after a signal, or if the reader is gone.
fn nap(context: &Context<'_>, wait: Duration) -> bool {
    let is_over = || context.interrupts.requested() || context.terminal.out_has_no_reader();
    if is_over() {
        return false;
    }
    handle_fs::pause(wait);
    !is_over()
}
