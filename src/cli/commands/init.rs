//! `init`: adds a `[recovery]` table to the file of a workspace. Beside `hook` the only command that writes outside the
//! store without a restore, and it writes that one file.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, SnapshotMode, some_path};
use crate::cli::command::Command;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::clock::random;
use crate::config::{Config, ConfigError, Edit, Flags, Wanted, settle, settle_mount};
use crate::contract::{Target, automatic_excludes};
use crate::report::{InitDocument, InitOutcome};
use crate::terminal::sanitize;
use clap::ValueEnum as _;
use handle_fs::remote::Transports;

/// Enable recovery for a workspace
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// A workspace, or a directory in its mount (with a `/`, `.` or `..`) [default: the current directory]
    #[arg(value_name = "TARGET", value_parser = some_path(), value_hint = ValueHint::AnyPath)]
    pub target: Option<OsString>,
    /// Set what to capture: off, metadata or project [default: project]
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    pub snapshot: Option<SnapshotMode>,
    /// Print what would be added and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for InitArgs {
    const NAME: &'static str = "init";
    const GROUP: Option<Group> = Some(Group::Setup);
    const LONG: &'static str = "\
        Adds a [recovery] table to the file that defines the workspace, prints the addition, and asks. All other \
        bytes of the file stay the same. A comment names the directories that are excluded automatically. A \
        workspace that already has the table is not changed.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Preview the addition for the workspace shop:",
            "jackin recovery init shop --dry-run",
        ),
        (
            "For the workspace of the current directory:",
            "jackin recovery init .",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<InitDocument>("init")];
    const READS_CONFIG: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        !self.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let terminal = context.terminal;
        // An agent must not decide what its next session may be undone to.
        context.engine().ensure_outside()?;
        let config = Config::load(context.environment)?;
        let workspace = workspace(context, &config, args.target.as_deref())?;
        let propose = |mode| {
            Edit::propose(
                &config,
                &workspace,
                &wanted(&context.environment.transports, &config, &workspace, mode),
            )
        };
        let mode = match args.snapshot {
            Some(mode) => mode,
            None if args.yes || args.dry_run || args.json => SnapshotMode::Project,
            None => {
                // What cannot be added is refused before the operator chooses.
                propose(SnapshotMode::Project)?;
                chosen_mode(context)?
            }
        };
        let edit = propose(mode)?;
        let document = |outcome| InitDocument::new(&workspace, &edit, outcome);
        let shown = view::addition::addition(&document(InitOutcome::Planned));
        if !args.json {
            terminal.out(&shown);
        } else if !args.yes && !args.dry_run {
            terminal.err(&shown);
        }
        if args.dry_run {
            if args.json {
                terminal.json(&document(InitOutcome::Planned));
            }
            return Ok(ExitCode::Done.into());
        }
        confirm(terminal, &context.interrupts, "Write this file?", args.yes)?;
        edit.apply(&config, random(context.world().entropy))?;
        if args.json {
            terminal.json(&document(InitOutcome::Written));
        } else {
            terminal.out(&format!("Written: {}", sanitize::path(edit.file())));
            let explain = Words::new("explain").arg(&workspace);
            context.propose("to see the result", &explain.text());
        }
        Ok(ExitCode::Done.into())
    }
}

/// The workspace that is meant: by its name, or as the one that a directory belongs to.
fn workspace(context: &Context<'_>, config: &Config, target: Option<&OsStr>) -> Result<String, CliError> {
    let directory = match Target::parse(target) {
        Target::Workspace(name) => {
            return name.to_str().map(str::to_owned).ok_or_else(|| {
                let name = sanitize::os(&name);
                ConfigError::BadName {
                    name,
                    problem: "it is not UTF-8",
                }
                .into()
            });
        }
        Target::Remote(_) => {
            let message = "an address has no workspace file; name a workspace or a directory";
            return Err(CliError::new(ErrorKind::Usage, message));
        }
        Target::Directory(path) => context.environment.absolute(&path),
        Target::Here => context.environment.current.clone(),
    };
    config.workspace_for_directory(&directory)?.ok_or_else(|| {
        let shown = sanitize::path(&settle(&directory));
        let made = CliError::new(
            ErrorKind::Usage,
            format!("{shown} is not in a configured workspace, so there is no file to change"),
        );
        let made = match config.workspace_names() {
            Ok(names) if !names.is_empty() => made.hint(format!("the workspaces: {}", names.join(", "))),
            _ => made,
        };
        made.hint(format!(
            "without configuration: {}",
            context.command("launch --snapshot project DIR -- COMMAND")
        ))
    })
}

/// Returns the mode that the operator chose; without a terminal the default.
fn chosen_mode(context: &Context<'_>) -> Result<SnapshotMode, CliError> {
    const MODES: [SnapshotMode; 3] = [SnapshotMode::Project, SnapshotMode::Metadata, SnapshotMode::Off];
    if !context.terminal.can_choose() {
        return Ok(SnapshotMode::Project);
    }
    let line = |mode: SnapshotMode| {
        let value = mode.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        let name = value.as_ref().map(|value| value.get_name());
        format!(
            "{:<10}{}",
            name.unwrap_or_default(),
            help.map(ToString::to_string).unwrap_or_default()
        )
    };
    let items = MODES.map(line);
    let chosen = context.terminal.choose("Mode", &items, 0, &context.interrupts);
    chosen
        .and_then(|at| MODES.get(at).copied())
        .ok_or_else(|| CliError::new(ErrorKind::NotConfirmed, "not confirmed; nothing was changed"))
}

/// The mode that was asked for, and the automatic excludes of the workspace's mounts.
fn wanted(transports: &Transports, config: &Config, workspace: &str, mode: SnapshotMode) -> Wanted {
    let mode = mode.to_possible_value();
    let mut wanted = Wanted {
        mode: mode.map(|mode| mode.get_name().to_owned()).unwrap_or_default(),
        ..Wanted::default()
    };
    // What is wrong with the workspace is said when the edit is proposed.
    let mounts = config
        .for_workspace(workspace, &Flags::default())
        .map(|resolved| resolved.mounts)
        .unwrap_or_default();
    let roots: Vec<PathBuf> = mounts
        .iter()
        .filter(|mount| !mount.readonly)
        .map(|mount| settle_mount(transports, &mount.src))
        .collect();
    // What is left out by itself is not written again.
    let mut because = Vec::new();
    for rule in roots
        .iter()
        .flat_map(|root| automatic_excludes(transports, root, &[]).excludes)
    {
        let pattern = sanitize::text(&rule.pattern);
        if !because.contains(&pattern) {
            because.push(pattern);
        }
    }
    wanted.because = because.join(", ");
    wanted
}
