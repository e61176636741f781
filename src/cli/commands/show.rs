//! `show`: one instance in full.

use std::ffi::OsString;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::context::frozen::natives_of;
use crate::cli::context::pending::waiting_instances;
use crate::cli::document::{
    ForkedDocument, Head, ImportedDocument, InstanceDocument, ReasonDocument, RepositoryStateDocument,
    RestoredDocument, ShowDocument, WatchedDocument,
};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::fork_reference::called;
use crate::cli::named_file::{Kind, Output};
use crate::cli::named_session::no_store;
use crate::cli::report::SessionReport;
use crate::cli::schema::Document;
use crate::cli::{html, view};
use crate::model::SnapshotRecord;
use crate::terminal::sanitize;

/// Show the details of a session
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// The session: an id or its prefix, a workspace, a container, or @latest; or what `fork` printed
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page to FILE, which may only be a page written before; - prints it
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath, conflicts_with = "json")]
    pub html: Option<OsString>,
}

impl Command for ShowArgs {
    const NAME: &'static str = "show";
    const GROUP: Option<Group> = Some(Group::Inspect);
    const LONG: &'static str =
        "What was agreed, which snapshots there are, what they lack, and what was restored since.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery show @latest")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ShowDocument<'static>>("show")];
    const IS_READ: bool = true;
    const TELLS_PENDING: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let page = args.html.as_ref();
        let page = page
            .map(|file| Output::settle(context, file, Kind::Page))
            .transpose()?;
        let reading = context
            .store_for_reading()?
            .ok_or_else(|| no_store(&args.instance))?;
        let (row, fork) = called(context, &reading, &args.instance)?;
        let (store, row) = context.engine().settled(reading, row)?;
        let known = SessionReport::of(&store, row)?;
        if let Some(file) = &page {
            let page = html::page(&store, &known, None, context.now())?;
            return file.write_page(context, &page);
        }
        let row = &known.row;
        if args.json {
            context.terminal.json(&ShowDocument {
                head: Head::default(),
                instance: InstanceDocument::new(
                    row,
                    &known.state,
                    &known.snapshots,
                    known.forked_from.as_ref(),
                    waiting_instances(&store).contains(&row.id),
                )
                .keeping(natives_of(&store, &row.id))
                .lacking(known.closing_error.clone()),
                command: row.command.as_ref(),
                steps: known
                    .steps
                    .counts
                    .iter()
                    .map(|(id, counts)| (id.to_string(), *counts))
                    .collect(),
                calls: known
                    .steps
                    .calls
                    .iter()
                    .map(|(id, call)| (id.to_string(), call))
                    .collect(),
                agent: known.begun.agent.as_ref(),
                pinned: known
                    .pins
                    .iter()
                    .map(|pin| pin.as_ref().map(ToString::to_string))
                    .collect(),
                pruned: known.pruned,
                coverage: &row.mounts,
                lacks: known.baseline.as_ref().map(lacks).unwrap_or_default(),
                changed_meanwhile: &known.changed_meanwhile,
                cleanup_policy: known.begun.cleanup_policy.as_deref(),
                container: known.begun.container.as_ref(),
                git: known
                    .repositories()
                    .iter()
                    .map(|(coverage, facts)| RepositoryStateDocument::new(coverage, facts))
                    .collect(),
                watched: known.begun.watched.iter().map(WatchedDocument::from).collect(),
                restores: RestoredDocument::all(&known.restores),
                forks: known.forks.iter().map(ForkedDocument::new).collect(),
                fork: fork.map(|fork| fork.id.to_string()),
                imported: known.imported.as_ref().map(ImportedDocument::from),
            });
            return Ok(ExitCode::Done.into());
        }
        let width = context.terminal.width_out();
        context.terminal.out(&view::instances::show(
            &known,
            fork.as_ref(),
            context.now(),
            width,
        ));
        for native in natives_of(&store, &row.id) {
            let place = sanitize::text(&native.place);
            let what = if native.kept {
                "kept by the file system in"
            } else {
                "is frozen until it is stored, in"
            };
            context
                .terminal
                .out(&format!("{}: {what} {place}", native.snapshot));
        }
        if known.baseline.is_some() {
            context.propose("what changed", &format!("diff {}", row.id));
        }
        Ok(ExitCode::Done.into())
    }
}

fn lacks(record: &SnapshotRecord) -> Vec<ReasonDocument> {
    let all = record
        .mounts
        .iter()
        .flat_map(|mount| mount.gaps.iter().map(move |gap| (mount, gap)));
    all.map(|(mount, gap)| ReasonDocument::new(&mount.coverage, &gap.path, gap.reason.clone()))
        .collect()
}
