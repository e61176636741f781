//! Configuration files of a repository. Of included files only those in the tree are read, and only for what makes git run programs.

use super::GitError;
use std::collections::VecDeque;

use super::config::{Config, ConfigEntry, IncludedConfig};
use super::error::shown;
use super::reading::{below, whole};
use super::repository::Repository;
use handle_fs::RelPath;

/// Maximum bytes of a configuration file; a larger one is hostile.
pub(super) const MOST_CONFIG: u64 = 4 << 20;
/// Maximum number of included files that are read.
const MOST_INCLUDED: usize = 20;

impl Repository<'_> {
    /// Returns the configuration, with that of the work tree if it has its own. Invalid lines are a doubt.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Reads the configuration, and the files in the tree that it includes.
    pub(super) fn read_config(&self) -> (Config, Vec<IncludedConfig>) {
        let Some(common) = self.shared_git_dir() else {
            return (Config::default(), Vec::new());
        };
        let mut config = self.config_at(&below(common, "config"));
        let mut included = self.included(common, &config);
        if config.says("extensions", "worktreeconfig")
            && let Some(own) = self.git_dir()
        {
            let more = self.config_at(&below(own, "config.worktree"));
            included.extend(self.included(own, &more));
            config.entries.extend(more.entries);
        }
        (config, included)
    }

    /// Reads the files in the tree that a configuration in the directory `base` includes, and those that these include. Conditions are not
    /// checked: each may hold.
    fn included(&self, base: &RelPath, config: &Config) -> Vec<IncludedConfig> {
        let paths = |config: &Config| -> Vec<Vec<u8>> {
            let includes = config.includes();
            includes.filter_map(|include| include.value.clone()).collect()
        };
        let mut open: VecDeque<_> = paths(config)
            .into_iter()
            .map(|path| (base.clone(), path))
            .collect();
        let mut found: Vec<IncludedConfig> = Vec::new();
        while let Some((base, named)) = open.pop_front() {
            let in_tree = self.resolve_named(&base, &named);
            let only = match in_tree {
                Some(_) => "which is read only for what makes git run programs",
                None => "which is not read",
            };
            self.doubts
                .add(format!("the configuration includes {}, {only}", shown(&named)));
            let Some(path) = in_tree.filter(|path| found.iter().all(|known| known.path != *path)) else {
                continue;
            };
            if found.len() == MOST_INCLUDED {
                let what = format!("the configuration includes more than {MOST_INCLUDED} files");
                self.doubts.add(format!("{what}, and the rest is not read"));
                break;
            }
            let config = self.config_at(&path);
            if let Some((dir, _)) = path.split() {
                open.extend(paths(&config).into_iter().map(|path| (dir.clone(), path)));
            }
            found.push(IncludedConfig { path, config });
        }
        found
    }

    /// Returns the place of a path in a setting, which is relative to `base`; `None` if it lies outside of the tree.
    pub(super) fn resolve_named(&self, base: &RelPath, path: &[u8]) -> Option<RelPath> {
        let is_elsewhere = path.is_empty() || path.starts_with(b"~") || path.starts_with(b"%(");
        (!is_elsewhere).then(|| self.resolve_dir(base, path)).flatten()
    }

    /// Returns the lines of the configuration and of the included files that are in the tree.
    pub(super) fn all_entries(&self) -> impl Iterator<Item = &ConfigEntry> {
        let included = self.included.iter().flat_map(|file| &file.config.entries);
        self.config.entries.iter().chain(included)
    }

    /// Returns the included files that are in the tree, whether they exist or not.
    #[must_use]
    pub fn included_files(&self) -> Vec<RelPath> {
        self.included.iter().map(|file| file.path.clone()).collect()
    }

    /// Reads a file in the syntax of configurations; empty if it does not exist.
    pub(super) fn config_at(&self, path: &RelPath) -> Config {
        let text = whole(self.files, path, MOST_CONFIG);
        let text = self.doubts.settle(text).unwrap_or_default();
        Config::parse(&text).unwrap_or_else(|(before, line)| {
            let why = format!("line {line} is invalid, and the rest is not read");
            self.doubts.add(GitError::damaged(path, why));
            before
        })
    }
}
