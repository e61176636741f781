//! `list`: instances and their snapshots, newest first, and beside them jackin's own.

use std::collections::{BTreeSet, HashMap};

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::context::frozen::natives_of;
use crate::cli::context::pending::waiting_instances;
use crate::cli::document::{ForkedDocument, InstanceDocument, JackinDocument, ListDocument};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::config::{JackinInstance, Unread, jackin_instances};
use crate::session::{Docker, LivenessProbe, State, forked_from, state_by};
use crate::store::{InstanceRow, Store, Tally};
use crate::terminal::{self, Role, sanitize, size, style};

/// List sessions and their snapshots
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ListArgs {
    const NAME: &'static str = "list";
    const GROUP: Option<Group> = Some(Group::Inspect);
    const LONG: &'static str = "Newest first. A session is active while any of its processes lives.";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery list")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ListDocument>("list")];
    const IS_READ: bool = true;
    const TELLS_PENDING: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let (mut rows, mut waiting, mut forks) = (Vec::new(), BTreeSet::new(), Vec::new());
        let store = context.store_for_reading()?;
        if let Some(store) = &store {
            waiting = waiting_instances(store);
            let sight = LivenessProbe::now();
            // The table says how many there are; only the document has each of them.
            let tallies = match args.json {
                true => HashMap::new(),
                false => store.catalog().tallies()?,
            };
            for row in store.catalog().instances()? {
                let tally = tallies.get(&row.id).copied().unwrap_or_default();
                let state = state_by(&sight, store, &row);
                rows.push((row, state, tally));
            }
            forks = store.catalog().forks()?;
        }
        let mut missing = match &store {
            Some(store) => store.catalog().missing_closings()?,
            None => HashMap::new(),
        };
        let (jackin, unread) = of_jackin(context, store.as_ref(), &rows)?;
        if args.json {
            let mut documents = Vec::new();
            let mut snapshots_of = match &store {
                Some(store) => store.catalog().snapshots_by_instance()?,
                None => HashMap::new(),
            };
            for (row, state, _) in &rows {
                let snapshots = snapshots_of.remove(&row.id).unwrap_or_default();
                let origin = match &store {
                    Some(store) => forked_from(store, &forks, row)?,
                    None => None,
                };
                let waits = waiting.contains(&row.id);
                let native = store.as_ref().map(|store| natives_of(store, &row.id));
                let document = InstanceDocument::new(row, state, &snapshots, origin, waits);
                let document = document.keeping(native.unwrap_or_default());
                documents.push(document.lacking(missing.remove(&row.id)));
            }
            let forks = forks.iter().map(ForkedDocument::new).collect();
            context
                .terminal
                .json(&ListDocument::new(documents, forks, jackin, unread));
            return Ok(ExitCode::Done.into());
        }
        let width = context.terminal.width_out();
        let all = rows.len();
        if let Some(store) = &store {
            // What nothing is left of is told by `log`; here it would bury what there is.
            let pruned = store.catalog().pruned_counts()?;
            rows.retain(|(row, state, tally)| {
                state.is_active() || tally.snapshots > 0 || !pruned.contains_key(&row.id)
            });
        }
        if all == 0 {
            context.terminal.note("no sessions were recorded yet");
        } else {
            let home = context
                .environment
                .home
                .as_deref()
                .filter(|_| context.terminal.is_tty_out());
            let table = view::instances::list(&rows, context.now(), width, home);
            context.terminal.out(&table);
            for (row, ..) in &rows {
                if let Some(reason) = missing.get(&row.id) {
                    let told = view::instances::no_closing(reason);
                    let told = terminal::width::wrap(&format!("{}: {told}", row.id), width).join("\n");
                    context.terminal.out(&style::paint(Role::Warning, &told));
                }
                let origin = match &store {
                    Some(store) => forked_from(store, &forks, row)?,
                    None => None,
                };
                if let Some(fork) = origin {
                    let told = format!("{} began in the fork {}", row.id, view::forks::origin(fork));
                    context
                        .terminal
                        .out(&terminal::width::wrap(&told, width).join("\n"));
                }
            }
        }
        let gone = (all - rows.len()) as u64;
        if gone > 0 {
            let sessions = size::counted(gone, "session", "sessions");
            context.terminal.note(&format!(
                "{sessions} more, of which every snapshot was pruned (see `log`)"
            ));
        }
        if !forks.is_empty() {
            let table = view::forks::list(&forks, context.now(), width);
            context.terminal.out(&format!("\nforks:\n{table}"));
        }
        if !jackin.is_empty() {
            let table = view::instances::jackin(&jackin, width);
            context.terminal.out(&format!("\njackin's own:\n{table}"));
        }
        for unread in unread {
            let path = sanitize::path(&unread.path.to_path());
            context.terminal.warn(&format!(
                "{path} cannot be read: {}",
                sanitize::text(&unread.reason)
            ));
        }
        match rows.first() {
            Some((latest, ..)) => context.propose("one in full", &format!("show {}", latest.id)),
            None => context.propose("begin with", "launch --snapshot project DIR -- COMMAND"),
        }
        Ok(ExitCode::Done.into())
    }
}

/// jackin's instances, each with the last session that began for it, and the files of jackin's that could not be read.
fn of_jackin(
    context: &Context<'_>,
    store: Option<&Store>,
    rows: &[(InstanceRow, State, Tally)],
) -> Result<(Vec<JackinDocument>, Vec<Unread>), CliError> {
    let Some(home) = context.environment.jackin_home() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let found = jackin_instances(&home);
    let mounts = rows.iter().flat_map(|(row, ..)| &row.mounts);
    let mounts = mounts.map(|mount| mount.root.to_path()).collect();
    let mut docker = Docker::new(context.environment, mounts);
    let mut all = Vec::new();
    for instance in found.all {
        let sessions = match store {
            Some(store) => store.catalog().instances_of_container(&instance.container)?,
            None => Vec::new(),
        };
        let active = instance.may_live() && docker.may_run(&instance).is_some();
        let session = sessions.first().map(|row| row.id.to_string());
        all.push(document(instance, active, session));
    }
    Ok((all, found.unread))
}

fn document(instance: JackinInstance, active: bool, session: Option<String>) -> JackinDocument {
    JackinDocument {
        container: instance.container,
        instance_id: instance.id,
        workspace: instance.workspace,
        role: instance.role,
        agent: instance.agent,
        status: instance.status,
        updated_at: instance.updated_at,
        active,
        newer: instance.newer,
        session,
    }
}
