//! Directory in which git makes repositories, without any configuration of this machine.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::git_command::git;

use crate::{Files, GitError, Live, Repository};
use handle_fs::RelPath;
use handle_fs::Root;
use handle_fs::remote::Transports;

pub(super) struct Scratch {
    _temp: TempDir,
    pub(super) dir: PathBuf,
}

impl Scratch {
    pub(super) fn empty() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        Self { _temp: temp, dir }
    }

    /// Returns a repository with one commit.
    pub(super) fn new() -> Self {
        let scratch = Self::empty();
        scratch.git(&["init", "-q", "-b", "main"]);
        scratch.write("file", "one\n");
        scratch.commit("first");
        scratch
    }

    pub(super) fn try_git(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        git(&self.dir, args)
    }

    /// Runs git, which must succeed, and returns its output.
    pub(super) fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = self.try_git(args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {told}");
        output.stdout
    }

    pub(super) fn text(&self, args: &[&str]) -> String {
        String::from_utf8(self.git(args)).unwrap().trim_end().to_owned()
    }

    pub(super) fn lines(&self, args: &[&str]) -> Vec<String> {
        self.text(args).lines().map(str::to_owned).collect()
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub(super) fn root(&self) -> Root {
        Root::open(&Transports::default(), &self.dir).unwrap()
    }

    /// Opens the repository at a path of the scratch directory, which must exist.
    pub(super) fn read<T>(&self, path: &str, look: impl FnOnce(&Repository) -> T) -> T {
        self.try_read(path, |repository| look(&repository.unwrap().unwrap()))
    }

    pub(super) fn try_read<T>(
        &self,
        path: &str,
        look: impl FnOnce(Result<Option<Repository>, GitError>) -> T,
    ) -> T {
        let root = self.root();
        let live = Live::new(&root);
        look(Repository::open(&live, &rel(path)))
    }

    pub(super) fn files<T>(&self, look: impl FnOnce(&dyn Files) -> T) -> T {
        let root = self.root();
        look(&Live::new(&root))
    }
}

pub(super) fn rel(path: &str) -> RelPath {
    RelPath::new(path.as_bytes()).unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Checks that the repository has no doubts.
pub(super) fn clear(repository: &Repository) {
    assert_eq!(repository.doubts(), Vec::<String>::new());
}
