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
use crate::cli::session_arg::{Asking, SessionArg};
use crate::cli::view;
use crate::recovery::{Recovery, RecoveryError, Wanted, Watch};
use crate::report::{WatchDocument, WatchLine};
use crate::terminal::{sanitize, size};

/// Interval at which signals, and the end of the session, are noticed.
const NAP: Duration = Duration::from_millis(200);

/// Print what the agent changes, as it happens
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// Session.
    #[command(flatten)]
    pub session: SessionArg,
    /// List each path inside .git directories
    #[arg(long)]
    pub all: bool,
    /// Print one JSON document for each change, each on a line
    #[arg(long)]
    pub json: bool,
}

impl Command for WatchArgs {
    const NAME: &'static str = "watch";
    const GROUP: Option<Group> = Some(Group::Inspect);
    const LONG: &'static str = "\
        Compares the files with the baseline every two seconds, less often in large directories (at most 4 % of one \
        core), and prints each new change: A added, M modified, D deleted, T type, m mode or metadata, = as in the \
        baseline again. Begins with the changes so far. Excluded paths are not printed, and changes inside .git \
        directories are one line. Ends with the session, or with Ctrl-C (exit code 130).";
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

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let context = &context;
        // Without progress: a look every two seconds is no news.
        let quiet = Quiet::of(context.interrupts.flag());
        let engine = context.engine_observed_by(&quiet);
        let asking = Asking {
            wanted: Wanted::Active,
            is_silent: true,
        };
        let mut watch = engine.watch(&self.session.settle(context, asking)?)?;
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
            self.print(context, watch, found.iter().map(WatchLine::new).collect());
            if !is_running {
                return Ok(true);
            }
            if !pause(context, watch, watch.interval()) {
                return Ok(false);
            }
        }
    }

    fn print(&self, context: &Context<'_>, watch: &Watch, found: Vec<WatchLine>) {
        if self.json {
            let (id, now) = (watch.row.id.as_str(), context.now());
            for line in found {
                context.terminal.json(&WatchDocument::change(id, now, line));
            }
        } else {
            let several = watch.roots().count() > 1;
            for line in view::watch::lines(&found, several, self.all) {
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
        if context.interrupts.requested() || context.terminal.out_has_no_reader() {
            return false;
        }
        let nap = NAP.min(left);
        handle_fs::pause(nap);
        left -= nap;
        if !watch.is_held() {
            return true;
        }
    }
    !context.interrupts.requested()
}
