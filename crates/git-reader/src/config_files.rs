//! Configuration files of a repository. Included files are listed, but never read.

use super::GitError;
use super::config::Config;
use super::error::shown;
use super::reading::{below, whole};
use super::repository::Repository;
use handle_fs::RelPath;

/// Maximum bytes of a configuration file; a larger one is hostile.
const MOST_CONFIG: u64 = 4 << 20;

impl Repository<'_> {
    /// Returns the configuration, with that of the work tree if it has its own. Invalid lines are a doubt.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn read_config(&self) -> Config {
        let Some(common) = self.shared_git_dir() else {
            return Config::default();
        };
        let mut config = self.config_at(&below(common, "config"));
        if config.says("extensions", "worktreeconfig")
            && let Some(own) = self.git_dir()
        {
            let more = self.config_at(&below(own, "config.worktree"));
            config.entries.extend(more.entries);
        }
        for include in config.includes() {
            let path = shown(include.value.as_deref().unwrap_or_default());
            self.doubts
                .add(format!("the configuration includes {path}, which is not read"));
        }
        config
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
