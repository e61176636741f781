//! Meaning of the word TARGET, and the configuration that belongs to it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::ContractError;
use crate::config::{Config, ConfigError, Flags, JackinTerms, Resolved, jackin_instances};
use crate::environment::Environment;
use handle_fs::remote::{has_path, scheme_of};

/// Target, classified by its form alone; its existence is checked later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// No argument: the workspace whose mount contains the current directory, else the directory itself.
    Here,
    /// Argument that contains a `/`, or is `.` or `..`.
    Directory(PathBuf),
    /// Argument that contains `://`.
    Remote(OsString),
    /// Any other word: a workspace, or a jackin container whose workspace is meant.
    Workspace(OsString),
}

impl Target {
    /// Reads an argument.
    #[must_use]
    pub fn parse(argument: Option<&OsStr>) -> Self {
        let Some(argument) = argument else {
            return Self::Here;
        };
        let bytes = argument.as_bytes();
        if bytes.windows(3).any(|window| window == b"://") {
            Self::Remote(argument.to_owned())
        } else if bytes.contains(&b'/') || matches!(bytes, b"." | b"..") {
            Self::Directory(PathBuf::from(argument))
        } else {
            Self::Workspace(argument.to_owned())
        }
    }

    /// Returns the configuration for this target.
    ///
    /// # Errors
    /// When the target is remote, no workspace has this name, none belongs to the current directory, or the
    /// configuration has a fault.
    pub fn settings(
        &self,
        config: &Config,
        environment: &Environment,
        flags: &Flags,
    ) -> Result<Resolved, ContractError> {
        match self {
            Self::Remote(address) => match has_path(Path::new(address)) {
                true => Ok(config.for_directory(Path::new(address), flags)?),
                false => Err(ContractError::Address {
                    scheme: scheme_of(Path::new(address)),
                }),
            },
            Self::Directory(path) => Ok(config.for_directory(path, flags)?),
            Self::Workspace(name) => match name.to_str() {
                Some(name) => match config.for_workspace(name, flags) {
                    Err(error @ ConfigError::UnknownWorkspace { .. }) => {
                        of_container(name, config, environment, flags).unwrap_or(Err(error.into()))
                    }
                    other => Ok(other?),
                },
                None => Err(ContractError::Config(ConfigError::BadName {
                    name: name.as_bytes().escape_ascii().to_string(),
                    problem: "it is not UTF-8",
                })),
            },
            Self::Here => {
                let current = &environment.current;
                let workspace = match config.workspace_for_directory(current) {
                    // As for a directory that is named: with a mode among the flags it needs no workspace.
                    Err(_) if flags.snapshot.is_some() => None,
                    found => found?,
                };
                let resolved = match workspace {
                    Some(name) => config.for_workspace(&name, flags),
                    None => config.for_directory(current, flags),
                };
                resolved.map_err(|error| match error {
                    ConfigError::NoMode { .. } => ContractError::NoTarget {
                        current: current.clone(),
                    },
                    other => other.into(),
                })
            }
        }
    }
}

/// Returns the configuration of the workspace whose container has this name; `None` if jackin knows no such container.
fn of_container(
    name: &str,
    config: &Config,
    environment: &Environment,
    flags: &Flags,
) -> Option<Result<Resolved, ContractError>> {
    let found = jackin_instances(&environment.jackin_home()?);
    let Some(instance) = found.called(name) else {
        // The container's file exists but cannot be read.
        let mut unread = found.unread.into_iter();
        let own = unread.find(|unread| unread.container.as_deref() == Some(name));
        return own.map(|unread| Err(ContractError::ContainerUnread(unread)));
    };
    let Some(workspace) = &instance.workspace else {
        return Some(Err(ContractError::NoWorkspaceOfContainer {
            container: instance.container.clone(),
        }));
    };
    let resolved = config.for_workspace(workspace, flags);
    Some(resolved.map_err(ContractError::from).map(|resolved| Resolved {
        jackin: Some(JackinTerms {
            unknown_version: resolved.jackin.and_then(|terms| terms.unknown_version),
            container: Some(instance.container.clone()),
            instance_id: instance.id.clone(),
            status: instance.status.clone(),
            role: instance.role.clone(),
            agent: instance.agent.clone(),
        }),
        ..resolved
    }))
}
