//! Recovery for a workspace that has none yet, or for a directory without a workspace: the change of jackin's configuration, and
//! the choice of a mode.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;

use super::args::SnapshotMode;
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::suggested_command::Words;
use super::view::host_path::below_home;
use crate::config::{Config, ConfigError, Edit, EditError, Flags, Origin, Wanted, settle, settle_mount};
use crate::contract::{ContractError, Target, automatic_excludes};
use crate::recovery::{ContractRequest, RecoveryError};
use crate::terminal::sanitize;

/// Owner of the new table.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// A workspace that is configured.
    Workspace(String),
    /// A directory in no workspace, which becomes one. The path is absolute and without links.
    Directory(PathBuf),
}

impl Subject {
    /// Returns the workspace that `target` names, or that its directory belongs to; else the directory itself.
    ///
    /// # Errors
    /// If the target is an address, or a directory that cannot be protected; [`ConfigError`].
    pub(super) fn of(
        context: &Context<'_>,
        config: &Config,
        target: Option<&OsStr>,
    ) -> Result<Self, CliError> {
        let directory = match Target::parse(target) {
            Target::Workspace(name) => {
                let named = name.to_str().map(str::to_owned).map(Self::Workspace);
                return named.ok_or_else(|| {
                    let name = sanitize::os(&name);
                    let problem = "it is not UTF-8";
                    ConfigError::BadName { name, problem }.into()
                });
            }
            Target::Remote(_) => {
                let message = "an address has no workspace file; name a workspace or a directory";
                return Err(CliError::new(ErrorKind::Usage, message));
            }
            Target::Directory(path) => context.environment.absolute(&path),
            Target::Here => context.environment.current.clone(),
        };
        if let Some(name) = config.workspace_for_directory(&directory)? {
            return Ok(Self::Workspace(name));
        }
        let directory = settle(&directory);
        ensure_protectable(context, &directory)?;
        Ok(Self::Directory(directory))
    }

    /// Returns the change of the configuration that sets `mode`. Nothing is written.
    ///
    /// # Errors
    /// As [`Edit::propose`] and [`Edit::create`].
    pub(super) fn edit(
        &self,
        context: &Context<'_>,
        config: &Config,
        mode: SnapshotMode,
    ) -> Result<Edit, CliError> {
        let made = match self {
            Self::Workspace(name) => Edit::propose(
                config,
                name,
                &wanted(context, &roots(context, config, name), mode),
            ),
            Self::Directory(root) => {
                Edit::create(config, root, &wanted(context, std::slice::from_ref(root), mode))
            }
        };
        made.map_err(|error| self.explained(context, error))
    }

    /// Says of an existing table whose it is and which file to edit.
    fn explained(&self, context: &Context<'_>, error: EditError) -> CliError {
        let file = match &error {
            EditError::Already { place } => match &place.origin {
                Origin::File { path, .. } => Some(path.clone()),
                _ => None,
            },
            _ => None,
        };
        let nearest = match &error {
            EditError::Config(ConfigError::UnknownWorkspace { nearest, .. }) => {
                Some(nearest.first().cloned())
            }
            _ => None,
        };
        let made = CliError::from(error);
        let made = match nearest {
            Some(Some(name)) => made.command("did you mean", Words::new("init").arg(&name).text()),
            Some(None) => made.command("to make a workspace of the current directory", "init ."),
            None => made,
        };
        let (Self::Workspace(name), Some(file)) = (self, file) else {
            return made;
        };
        let shown = sanitize::text(name);
        let home = context.environment.home.as_deref();
        let hints = vec![format!(
            "the workspace {shown} has recovery; to change it, edit {}",
            below_home(&file, home)
        )];
        let explain = Words::new("explain").arg(name);
        CliError { hints, ..made }.command("to see the contract", explain.text())
    }
}

/// Fails for a directory that no launch would protect: a missing one, the home directory, one with secrets, and their like.
fn ensure_protectable(context: &Context<'_>, directory: &Path) -> Result<(), CliError> {
    match context
        .engine()
        .contract(&ContractRequest::of_directory(directory))
    {
        Err(RecoveryError::Contract(ContractError::Broad { root, reasons })) => {
            let reasons: Vec<_> = reasons.iter().map(|reason| reason.words()).collect();
            let message = format!("{} {}", sanitize::path(&root), reasons.join(" and "));
            let made = CliError::new(ErrorKind::TooBroad, message);
            Err(made.hint("choose a smaller directory, such as one project"))
        }
        other => Ok(other.map(drop)?),
    }
}

/// Returns the mode that the operator chose; `None` if the choice was canceled. Without a terminal it is the default.
pub(super) fn chosen_mode(context: &Context<'_>) -> Option<SnapshotMode> {
    const MODES: [(SnapshotMode, &str); 4] = [
        (SnapshotMode::Project, "Snapshot the files, to restore them later"),
        (
            SnapshotMode::ProjectAndState,
            "Snapshot the agent's own state as well",
        ),
        (
            SnapshotMode::Metadata,
            "Record sessions and the state of git, but no files",
        ),
        (SnapshotMode::Off, "Record nothing"),
    ];
    if !context.terminal.can_choose() {
        return Some(SnapshotMode::Project);
    }
    let items = MODES.map(|(mode, what)| format!("{:<19}{what}", word(mode)));
    let chosen = context.terminal.choose("Mode", &items, 0, &context.interrupts)?;
    MODES.get(chosen).map(|(mode, _)| *mode)
}

/// Returns a mode as it is written.
fn word(mode: SnapshotMode) -> String {
    let value = mode.to_possible_value();
    value.map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Returns the directories of a workspace that an agent can write.
fn roots(context: &Context<'_>, config: &Config, workspace: &str) -> Vec<PathBuf> {
    // A fault of the workspace is reported when the edit is proposed.
    let resolved = config.for_workspace(workspace, &Flags::default());
    let mounts = resolved.map(|resolved| resolved.mounts).unwrap_or_default();
    let writable = mounts.iter().filter(|mount| !mount.readonly);
    writable
        .map(|mount| settle_mount(&context.environment.transports, &mount.src))
        .collect()
}

/// Returns the content of the table. Automatic excludes are named in a comment, because they apply without being written.
fn wanted(context: &Context<'_>, roots: &[PathBuf], mode: SnapshotMode) -> Wanted {
    let mut automatic = Vec::new();
    for rule in roots
        .iter()
        .flat_map(|root| automatic_excludes(&context.environment.transports, root, &[]).excludes)
    {
        let pattern = sanitize::text(&rule.pattern);
        if !automatic.contains(&pattern) {
            automatic.push(pattern);
        }
    }
    Wanted {
        mode: word(mode),
        because: automatic.join(", "),
        ..Wanted::default()
    }
}
