//! Repositories that tests make themselves, with git as the maker and as a second opinion. Never used on anything that
//! a test did not make.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use super::build::Build;
use super::machine::{by_path, run_tool, workplace};
use super::process::words;

/// A repository with a work tree.
pub(crate) struct Repository {
    pub(crate) path: PathBuf,
}

impl Repository {
    /// An empty one at `path`, on the branch `main`, that knows who commits.
    #[track_caller]
    pub(crate) fn init(path: &Path) -> Self {
        Mold::of(0).write(path);
        Self {
            path: path.to_path_buf(),
        }
    }

    /// The same, by git itself.
    #[track_caller]
    fn init_by_git(path: &Path) -> Self {
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
        let mut command = Command::new(by_path("git"));
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

    /// Files to build on: so many commits, each of which changes `history.txt`, and a few sources. What is there already is in them.
    #[track_caller]
    pub(crate) fn with_history(path: &Path, commits: u32) -> Self {
        let is_new = fs::read_dir(path).map_or(true, |mut inside| inside.next().is_none());
        if commits == 0 || !is_new {
            let repository = Self::init(path);
            repository.grow(commits);
            return repository;
        }
        Mold::of(commits).write(path);
        let repository = Self {
            path: path.to_path_buf(),
        };
        // The index knows the files by their numbers and times.
        repository.git(&["update-index", "-q", "--refresh"]);
        repository
    }

    #[track_caller]
    fn grow(&self, commits: u32) {
        let build = Build::at(&self.path);
        build
            .file("src/main.c", "int main(void) { return 0; }\n")
            .file("README", "read me\n");
        for number in 1..=commits {
            build.file("history.txt", format!("version {number}\n"));
            self.commit(&format!("change {number}"));
        }
    }

    /// State as git sees it, ignored files included.
    #[track_caller]
    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain=v2", "--branch", "--ignored"])
    }
}

/// Every file of a new repository, with its mode; directories have no content. Git takes three processes for a commit, so each number of
/// commits is made once and then written where it is wanted.
struct Mold(Vec<(PathBuf, u32, Option<Vec<u8>>)>);

impl Mold {
    /// The one of a repository with so many commits.
    fn of(commits: u32) -> Arc<Self> {
        static MADE: Mutex<BTreeMap<u32, Arc<Mold>>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let mold = made
            .entry(commits)
            .or_insert_with(|| Arc::new(Self::make(commits)));
        Arc::clone(mold)
    }

    fn make(commits: u32) -> Self {
        let place = tempfile::TempDir::with_prefix_in("jr-git-", workplace()).unwrap();
        let repository = Repository::init_by_git(place.path());
        if commits > 0 {
            repository.grow(commits);
        }
        let all = walkdir::WalkDir::new(place.path())
            .min_depth(1)
            .sort_by_file_name();
        let parts = all.into_iter().map(|entry| {
            let entry = entry.unwrap();
            let content = entry
                .file_type()
                .is_file()
                .then(|| fs::read(entry.path()).unwrap());
            let path = entry.path().strip_prefix(place.path()).unwrap().to_path_buf();
            (path, entry.metadata().unwrap().permissions().mode(), content)
        });
        Self(parts.collect())
    }

    #[track_caller]
    fn write(&self, to: &Path) {
        let made = |done: std::io::Result<()>, at: &Path| {
            done.unwrap_or_else(|error| panic!("{}: {error}", at.display()));
        };
        made(fs::create_dir_all(to), to);
        for (path, mode, content) in &self.0 {
            let at = to.join(path);
            match content {
                None => made(fs::create_dir_all(&at), &at),
                Some(content) => made(fs::write(&at, content), &at),
            }
            made(fs::set_permissions(&at, fs::Permissions::from_mode(*mode)), &at);
        }
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
        while words(held.0.id())
            .first()
            .is_none_or(|program| program != "sleep")
        {
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
