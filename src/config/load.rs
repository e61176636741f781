//! Finds the files of a workspace, merges their layers, and lists the workspaces. A workspace's file is read only on request, so
//! a fault in one does not affect another.

mod versions;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use toml::de::{DeTable, DeValue};

use self::versions::{GLOBAL_VERSION, WORKSPACE_VERSION, unknown_version};
use super::document::{Document, quoted};
use super::embedded::{embedded, embedded_workspace};
use super::merge::Layer;
use super::schema::is_own_value;
use super::{
    ConfigError, Flags, Isolation, JackinTerms, MountConfig, Replication, Resolved, Retention, Room,
    ScreenSettings, Sourced, Subject, ValueSource, integrations, mounts, settle, settle_mount,
};
use crate::environment::Environment;
use crate::model::ByteString;
use handle_fs::remote::{Transports, is_elsewhere};

/// Minimum similarity, from 0 to 1, of a name that is proposed for an unknown one.
const LIKENESS: f64 = 0.4;

/// jackin's configuration directory, with `config.toml` read.
#[derive(Clone, Debug)]
pub struct Config {
    directory: Option<PathBuf>,
    home: Option<PathBuf>,
    current: PathBuf,
    transports: Transports,
    global: Option<Document>,
    defaults: Layer,
}

impl Config {
    /// Reads `config.toml`. A missing file or directory is no error: the built-in values apply.
    ///
    /// # Errors
    /// When `config.toml` is there and cannot be read, is not TOML, or has a fault in its global `[recovery]`.
    pub fn load(environment: &Environment) -> Result<Self, ConfigError> {
        let directory = environment.jackin_config();
        let global = match &directory {
            Some(directory) => Document::read(&directory.join("config.toml"))?,
            None => None,
        };
        let defaults = match &global {
            Some(document) => {
                refuse_misspelled(document, "", &document.root()?)?;
                let layer = Layer::read(document, "recovery", document.root()?.get("recovery"))?;
                layer.store.refuse_without_recipients(&layer.recipients)?;
                layer
            }
            None => Layer::default(),
        };
        Ok(Self {
            global,
            defaults,
            ..Self::without_global(environment)
        })
    }

    /// Returns the configuration without `config.toml`, so that a fault there does not hide the other files.
    pub(super) fn without_global(environment: &Environment) -> Self {
        Self {
            directory: environment.jackin_config(),
            home: environment.home.clone(),
            current: environment.current.clone(),
            transports: environment.transports.clone(),
            global: None,
            defaults: Layer::default(),
        }
    }

    /// Returns jackin's configuration directory, which need not exist; `None` if the home directory is unknown.
    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the version of `config.toml`, if it is unknown.
    ///
    /// # Errors
    /// When the file is not TOML.
    pub(super) fn unknown_version(&self) -> Result<Option<String>, ConfigError> {
        unknown_version(self.global.as_ref(), GLOBAL_VERSION)
    }

    /// Returns true if the global `[recovery]` names a mode, so that directories without a workspace have one.
    #[must_use]
    pub fn has_default_mode(&self) -> bool {
        self.defaults.mode.is_some()
    }

    /// Returns the names of all workspaces, sorted: the files in `workspaces/` and the tables `[workspaces.<name>]`.
    ///
    /// # Errors
    /// When `workspaces/` is there and cannot be listed, or `workspaces` in `config.toml` is no table.
    pub fn workspace_names(&self) -> Result<Vec<String>, ConfigError> {
        let mut names = BTreeSet::new();
        if let Some(document) = &self.global {
            let root = document.root()?;
            if let Some(table) = embedded(document, &root)? {
                names.extend(table.keys().map(|name| name.get_ref().to_string()));
            }
        }
        if let Some(directory) = &self.directory {
            let path = directory.join("workspaces");
            let failed = |source| ConfigError::Read {
                path: path.clone(),
                source,
            };
            match fs::read_dir(&path) {
                Ok(entries) => {
                    for entry in entries {
                        let file = entry.map_err(failed)?.file_name();
                        names.extend(
                            file.to_str()
                                .and_then(|name| name.strip_suffix(".toml"))
                                .map(str::to_owned),
                        );
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(names
            .into_iter()
            .filter(|name| check_name(name).is_ok())
            .collect())
    }

    /// Returns the settings and mounts of a workspace.
    ///
    /// # Errors
    /// When the name cannot be one, no file defines it, a file or flag has a fault, or it has no mounts.
    pub fn for_workspace(&self, name: &str, flags: &Flags) -> Result<Resolved, ConfigError> {
        check_name(name)?;
        self.put_together(name, self.workspace_file(name)?, flags)
    }

    /// Returns the same with `changed` in place of the file that has its path.
    pub(super) fn for_workspace_with(&self, name: &str, changed: Document) -> Result<Resolved, ConfigError> {
        let flags = Flags::default();
        if self.global.as_ref().map(Document::path) == Some(changed.path()) {
            let defaults = Layer::read(&changed, "recovery", changed.root()?.get("recovery"))?;
            let changed = Self {
                global: Some(changed),
                defaults,
                ..self.clone()
            };
            return changed.for_workspace(name, &flags);
        }
        self.put_together(name, Some(changed), &flags)
    }

    /// Returns the files that define a workspace: its own, and `config.toml` if it has a table for it.
    pub(super) fn definitions(
        &self,
        name: &str,
    ) -> Result<(Option<Document>, Option<&Document>), ConfigError> {
        check_name(name)?;
        let mut global = None;
        if let Some(document) = &self.global
            && embedded_workspace(document, &document.root()?, name)?.is_some()
        {
            global = Some(document);
        }
        Ok((self.workspace_file(name)?, global))
    }

    fn put_together(
        &self,
        name: &str,
        file: Option<Document>,
        flags: &Flags,
    ) -> Result<Resolved, ConfigError> {
        let layer = self.layers_with(name, file.as_ref(), flags)?;
        let Some(mounts) = self.mounts(name, file.as_ref())? else {
            let path = self.workspace_path(name).unwrap_or_default();
            return Err(ConfigError::NoMounts {
                name: name.to_owned(),
                path,
            });
        };
        let subject = Subject::Workspace {
            name: name.to_owned(),
        };
        self.with_integrations(Resolved {
            cleanup_policy: self.own_word(name, file.as_ref(), "dirty_exit_policy")?,
            auth: self.auth_modes(name, file.as_ref())?,
            jackin: Some(JackinTerms {
                role: self.own_word(name, file.as_ref(), "default_role")?,
                agent: self.own_word(name, file.as_ref(), "default_agent")?,
                unknown_version: unknown_version(file.as_ref(), WORKSPACE_VERSION)?,
                ..JackinTerms::default()
            }),
            ..layer.resolve(subject, mounts)
        })
    }

    /// Returns the merged layers of a workspace.
    fn layers(&self, name: &str, flags: &Flags) -> Result<Layer, ConfigError> {
        check_name(name)?;
        self.layers_with(name, self.workspace_file(name)?.as_ref(), flags)
    }

    fn layers_with(&self, name: &str, file: Option<&Document>, flags: &Flags) -> Result<Layer, ConfigError> {
        let mut layer = self.defaults.clone();
        let mut known = false;
        if let Some(document) = &self.global {
            let root = document.root()?;
            if let Some(table) = embedded_workspace(document, &root, name)? {
                known = true;
                let prefix = format!("workspaces.{}.recovery", quoted(name));
                refuse_misspelled(document, &format!("workspaces.{}.", quoted(name)), table)?;
                let own = Layer::read(document, &prefix, table.get("recovery"))?;
                own.retention.refuse_of_store()?;
                own.store.refuse_of_store()?;
                own.screen.refuse_of_screen()?;
                layer = own.over(layer);
            }
        }
        if let Some(document) = file {
            known = true;
            refuse_misspelled(document, "", &document.root()?)?;
            let own = Layer::read(document, "recovery", document.root()?.get("recovery"))?;
            own.retention.refuse_of_store()?;
            own.store.refuse_of_store()?;
            own.screen.refuse_of_screen()?;
            layer = own.over(layer);
        }
        if !known {
            return Err(self.unknown(name)?);
        }
        Ok(flags.complete(flags.layer()?.over(layer)))
    }

    /// Returns the settings for a directory: the global defaults, those of the workspace that the directory belongs to, and the flags. With a
    /// mode among the flags, a directory whose workspace is unknown belongs to none.
    ///
    /// # Errors
    /// When a flag or the workspace has a fault, or no layer sets a mode. Without a mode among the flags, also if it is unknown which workspace
    /// the directory belongs to.
    pub fn for_directory(&self, directory: &Path, flags: &Flags) -> Result<Resolved, ConfigError> {
        let workspace = match self.workspace_for_directory(directory) {
            Err(_) if flags.snapshot.is_some() => None,
            found => found?,
        };
        let layer = match workspace {
            Some(name) => self.layers(&name, flags)?,
            None => self.layers_without_workspace(flags)?,
        };
        self.put_together_for(directory, layer)
    }

    /// Returns the current settings for a directory of a session that began earlier, with its mode among the flags. A workspace that has a
    /// fault, or is unknown, counts as none: it must not stop the session.
    ///
    /// # Errors
    /// When a flag has a fault, or no layer sets a mode.
    pub fn for_session(&self, directory: &Path, flags: &Flags) -> Result<Resolved, ConfigError> {
        let workspace = self.workspace_for_directory(directory).ok().flatten();
        let layer = match workspace.and_then(|name| self.layers(&name, flags).ok()) {
            Some(layer) => layer,
            None => self.layers_without_workspace(flags)?,
        };
        self.put_together_for(directory, layer)
    }

    /// Returns the merged layers of a directory that belongs to no workspace.
    fn layers_without_workspace(&self, flags: &Flags) -> Result<Layer, ConfigError> {
        Ok(flags.complete(flags.layer()?.over(self.defaults.clone())))
    }

    fn put_together_for(&self, directory: &Path, layer: Layer) -> Result<Resolved, ConfigError> {
        let src = match is_elsewhere(directory) {
            true => settle_mount(&self.transports, directory),
            false => tidy(&self.current.join(directory)),
        };
        if layer.mode.is_none() {
            return Err(ConfigError::NoMode { directory: src });
        }
        let path = ByteString::from(src.as_path());
        let source = ValueSource::Flag { name: "TARGET" };
        let mount = MountConfig {
            src,
            dst: None,
            readonly: false,
            isolation: Isolation::Shared,
            source,
        };
        self.with_integrations(layer.resolve(Subject::Directory { path }, vec![mount]))
    }

    /// Adds the operator's own integrations, unless they are switched off.
    fn with_integrations(&self, resolved: Resolved) -> Result<Resolved, ConfigError> {
        let directory = self.directory.as_ref().filter(|_| resolved.integrations.value);
        let defined = directory.map(|directory| integrations::read(directory));
        Ok(Resolved {
            replication: self.replication(),
            defined: defined.transpose()?.unwrap_or_default(),
            ..resolved
        })
    }

    /// Returns the workspace whose mount contains a directory; the deepest mount decides.
    ///
    /// # Errors
    /// When two workspaces have mounts equally deep, or a workspace's file cannot be read: it might be the one.
    pub fn workspace_for_directory(&self, directory: &Path) -> Result<Option<String>, ConfigError> {
        let names = self.workspace_names()?;
        if names.is_empty() {
            return Ok(None);
        }
        let is_there = is_elsewhere(directory);
        let directory = match is_there {
            true => settle_mount(&self.transports, directory),
            false => settle(&self.current.join(directory)),
        };
        let mut best: Option<(usize, String)> = None;
        let mut rival = None;
        for name in names {
            let file = self.workspace_file(&name)?;
            let mounts = self.mounts(&name, file.as_ref())?.unwrap_or_default();
            // A mount elsewhere has no directory here, and is not asked for.
            let roots = mounts
                .iter()
                .filter(|mount| is_elsewhere(&mount.src) == is_there)
                .map(|mount| settle_mount(&self.transports, &mount.src));
            let depth = roots
                .filter(|root| directory.starts_with(root))
                .map(|root| root.components().count())
                .max();
            let Some(depth) = depth else { continue };
            match &best {
                Some((deepest, _)) if depth < *deepest => {}
                Some((deepest, _)) if depth == *deepest => rival = Some(name),
                _ => {
                    best = Some((depth, name));
                    rival = None;
                }
            }
        }
        match (best, rival) {
            (Some((_, first)), Some(second)) => Err(ConfigError::Ambiguous {
                directory,
                first,
                second,
            }),
            (best, _) => Ok(best.map(|(_, name)| name)),
        }
    }

    /// Returns only the mounts of a workspace.
    ///
    /// # Errors
    /// As [`Config::for_workspace`], except that a workspace without mounts is no error.
    pub fn workspace_mounts(&self, name: &str) -> Result<Vec<MountConfig>, ConfigError> {
        let (file, global) = self.definitions(name)?;
        if file.is_none() && global.is_none() {
            return Err(self.unknown(name)?);
        }
        Ok(self.mounts(name, file.as_ref())?.unwrap_or_default())
    }

    /// Returns the retention policy of a workspace, or of all that belongs to none. A workspace that is no longer defined has the
    /// defaults.
    ///
    /// # Errors
    /// When one of its files has a fault.
    pub fn retention(&self, workspace: Option<&str>) -> Result<Retention, ConfigError> {
        let layer = match workspace {
            Some(name) => match self.layers(name, &Flags::default()) {
                Ok(layer) => layer,
                Err(ConfigError::UnknownWorkspace { .. } | ConfigError::BadName { .. }) => {
                    self.defaults.clone()
                }
                Err(error) => return Err(error),
            },
            None => self.defaults.clone(),
        };
        Ok(layer.retention.resolve())
    }

    /// Returns the size limits of the store.
    #[must_use]
    pub fn room(&self) -> Room {
        self.defaults.retention.room()
    }

    /// Returns the settings of the copy of the store; `None` if the store is not copied.
    #[must_use]
    pub fn replication(&self) -> Option<Replication> {
        let defaults = &self.defaults;
        let (_, place) = defaults.store.replicate.clone()?;
        Some(Replication {
            place,
            recipients: defaults.recipients.clone(),
            prune: defaults.store.prune_replica.as_ref().is_some_and(|(_, on)| *on),
        })
    }

    /// Returns the public keys of `config.toml`, to which secrets and the copy of the store are encrypted.
    #[must_use]
    pub(super) fn recipients(&self) -> &[Sourced<String>] {
        &self.defaults.recipients
    }

    /// Returns the settings of the screen that differ from the defaults.
    #[must_use]
    pub fn screen(&self) -> ScreenSettings {
        self.defaults.screen.settings()
    }

    pub(super) fn workspace_path(&self, name: &str) -> Option<PathBuf> {
        self.directory
            .as_ref()
            .map(|directory| directory.join("workspaces").join(format!("{name}.toml")))
    }

    fn workspace_file(&self, name: &str) -> Result<Option<Document>, ConfigError> {
        match self.workspace_path(name) {
            Some(path) => Document::read(&path),
            None => Ok(None),
        }
    }

    /// Returns the mounts in the workspace's own file, else those in `config.toml`, where older versions of jackin kept them.
    fn mounts(&self, name: &str, file: Option<&Document>) -> Result<Option<Vec<MountConfig>>, ConfigError> {
        let home = self.home.as_deref();
        if let Some(document) = file
            && let Some(mounts) = mounts::read(document, "", &document.root()?, home)?
        {
            return Ok(Some(mounts));
        }
        if let Some(document) = &self.global {
            let root = document.root()?;
            if let Some(table) = embedded_workspace(document, &root, name)? {
                return mounts::read(document, &format!("workspaces.{}", quoted(name)), table, home);
            }
        }
        Ok(None)
    }

    fn unknown(&self, name: &str) -> Result<ConfigError, ConfigError> {
        let mut similar: Vec<(f64, String)> = self
            .workspace_names()?
            .into_iter()
            .map(|known| (strsim::normalized_damerau_levenshtein(name, &known), known))
            .filter(|(likeness, known)| *likeness >= LIKENESS || known.starts_with(name))
            .collect();
        similar.sort_by(|a, b| b.0.total_cmp(&a.0));
        let nearest = similar.into_iter().take(3).map(|(_, known)| known).collect();
        let there = self.current.join(name).is_dir();
        let directory = there.then(|| Path::new(".").join(name));
        Ok(ConfigError::UnknownWorkspace {
            name: name.to_owned(),
            nearest,
            directory,
        })
    }
}

/// Removes `.` and doubled slashes. A path with `..` is resolved through its links; any other keeps its name as given, because
/// the operator knows the directory by that name.
fn tidy(path: &Path) -> PathBuf {
    if path.components().any(|part| part == Component::ParentDir) {
        settle(path)
    } else {
        path.components().collect()
    }
}

/// Checks that a name, which becomes a file name, stays within its directory.
fn check_name(name: &str) -> Result<(), ConfigError> {
    let problem = match name {
        "" => "it is empty",
        "." | ".." => "it means a directory",
        _ if name.contains(['/', '\\']) => "it holds a `/` or a `\\`",
        _ if name.contains('\0') => "it holds a NUL byte",
        _ => return Ok(()),
    };
    Err(ConfigError::BadName {
        name: name.to_owned(),
        problem,
    })
}

/// Refuses a key that is almost `recovery`, and one that belongs in that table: the slip would leave a session unprotected. Other keys are
/// jackin's own.
fn refuse_misspelled(document: &Document, prefix: &str, table: &DeTable<'_>) -> Result<(), ConfigError> {
    const SLIP: f64 = 0.75;
    for (key, value) in table.iter() {
        let name = key.get_ref();
        let place = || document.place(key.span().start, format!("{prefix}{}", quoted(name)));
        if is_own_value(name) && !matches!(value.get_ref(), DeValue::Table(_)) {
            return Err(ConfigError::Misplaced {
                place: place(),
                table: format!("{prefix}recovery"),
            });
        }
        let likeness = strsim::normalized_damerau_levenshtein(&name.to_lowercase(), "recovery");
        if name != "recovery" && likeness >= SLIP {
            return Err(ConfigError::UnknownKey {
                place: place(),
                nearest: "recovery",
            });
        }
    }
    Ok(())
}
