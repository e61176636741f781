//! Repositories that tests make themselves, with git as the maker and as a second opinion. Never used on anything that
//! a test did not make.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::Build;
use super::machine::run_tool;

/// A repository with a work tree.
pub(crate) struct Repository {
    pub(crate) path: PathBuf,
}

impl Repository {
    /// An empty one at `path`, on the branch `main`, that knows who commits.
    #[track_caller]
    pub(crate) fn init(path: &Path) -> Self {
        Build::at(path);
        let repository = Self {
            path: path.to_path_buf(),
        };
        repository.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [
            ("user.name", "Test"),
            ("user.email", "test@example.org"),
            ("commit.gpgsign", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            repository.git(&["config", key, value]);
        }
        repository
    }

    /// Runs git in it and gives what it wrote. No configuration but the repository's own, fixed dates, no locks that
    /// would rewrite the index.
    #[track_caller]
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = run_tool(&mut self.command(args));
        String::from_utf8_lossy(&output).into_owned()
    }

    fn command(&self, args: &[&str]) -> Command {
        let date = "2026-01-02T03:04:05+00:00";
        let mut command = Command::new("git");
        command
            .args(args)
            .current_dir(&self.path)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_EDITOR", "true")
            .env("GIT_AUTHOR_DATE", date)
            .env("GIT_COMMITTER_DATE", date);
        command
    }

    /// The same, where it may fail: whether it did not, and all it wrote.
    #[track_caller]
    pub(crate) fn tried(&self, args: &[&str]) -> (bool, String) {
        let output = self.command(args).output().unwrap();
        let wrote = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&wrote).into_owned(),
        )
    }

    /// Whether git does it.
    #[track_caller]
    pub(crate) fn try_git(&self, args: &[&str]) -> bool {
        self.tried(args).0
    }

    /// Adds everything that is not ignored and commits it.
    #[track_caller]
    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Files to build on: `n` commits, each of which changes `history.txt`, and a few sources.
    #[track_caller]
    pub(crate) fn with_history(path: &Path, commits: u32) -> Self {
        let repository = Self::init(path);
        let build = Build::at(path);
        build
            .file("src/main.c", "int main(void) { return 0; }\n")
            .file("README", "read me\n");
        for number in 1..=commits {
            build.file("history.txt", format!("version {number}\n"));
            repository.commit(&format!("change {number}"));
        }
        repository
    }

    /// State as git sees it, ignored files included.
    #[track_caller]
    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain=v2", "--branch", "--ignored"])
    }
}

/// A process that holds the lock of an index, until this is dropped.
pub(crate) struct HeldLock(std::process::Child);

impl HeldLock {
    /// Takes the lock of the repository in `work`.
    #[track_caller]
    pub(crate) fn of(work: &Path) -> Self {
        let child = Command::new("sh")
            .args(["-c", "exec 9>.git/index.lock; exec sleep 600"])
            .current_dir(work)
            .spawn()
            .unwrap();
        let held = Self(child);
        let name = format!("/proc/{}/comm", held.0.id());
        while std::fs::read(&name).unwrap() != b"sleep\n" {
            std::thread::yield_now();
        }
        held
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
