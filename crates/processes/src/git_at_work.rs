//! Commands of git that change a repository while they run, also while they wait in an editor and hold no lock.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::git_directory::{belongs_to, git_directory};
use super::system;

/// Options of git itself whose value is the next word.
const WITH_VALUE: [&str; 7] = [
    "-C",
    "-c",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--config-env",
    "--attr-source",
];

/// A command of git that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitAtWork {
    /// Number of its process.
    pub pid: u32,
    /// Its name, such as `commit`.
    pub command: String,
}

/// Returns a running command of git that changes the repository with this git directory, or will after its editor. None where processes
/// cannot be examined.
#[must_use]
pub fn git_at_work(git_dir: &Path) -> Option<GitAtWork> {
    let sought = system::place(git_dir).ok().flatten()?;
    let own = std::process::id();
    let living = system::all().unwrap_or_default().into_iter();
    for seen in living.filter(|seen| !seen.dead && seen.pid != own && seen.name.starts_with("git")) {
        let words = system::words(seen.pid);
        let Some(call) = Call::of(&words).filter(Call::writes) else {
            continue;
        };
        let variable = system::values(seen.pid, "GIT_DIR").unwrap_or_default();
        let variable = variable.first().map(|value| OsStr::from_bytes(value));
        let named = call.git_dir.map(OsStr::new).or(variable).map(Path::new);
        if git_directory(seen.pid, named).is_some_and(|found| belongs_to(seen.pid, &found, sought)) {
            return Some(GitAtWork {
                pid: seen.pid,
                command: call.command.to_owned(),
            });
        }
    }
    None
}

/// A command line of git.
struct Call<'a> {
    command: &'a str,
    arguments: Vec<&'a str>,
    /// Git directory that it names.
    git_dir: Option<&'a str>,
}

impl<'a> Call<'a> {
    fn of(words: &'a [String]) -> Option<Self> {
        let (program, rest) = words.split_first()?;
        let mut rest = rest.iter().map(String::as_str);
        let mut git_dir = None;
        let command = match Path::new(program).file_name()?.to_str()? {
            "git" => loop {
                let word = rest.next()?;
                if let Some(named) = word.strip_prefix("--git-dir=") {
                    git_dir = Some(named);
                } else if word == "--git-dir" {
                    git_dir = rest.next();
                } else if WITH_VALUE.contains(&word) {
                    rest.next();
                } else if !word.starts_with('-') {
                    break word;
                }
            },
            dashed => dashed.strip_prefix("git-")?,
        };
        Some(Self {
            command,
            arguments: rest.collect(),
            git_dir,
        })
    }

    /// Returns true if the command changes a repository. Those that only read may run for hours, in a pager. So may `fetch` and
    /// `maintenance` that an editor starts, at a server that does not answer: they hold a lock while they write.
    fn writes(&self) -> bool {
        let has = |words: &[&str]| {
            let is_word = |argument: &&str| {
                let name = argument.split_once('=').map_or(*argument, |(name, _)| name);
                words.contains(&name)
            };
            self.arguments.iter().any(is_word)
        };
        if has(&["--help", "--show-current-patch"]) {
            return false;
        }
        let mut arguments = self.arguments.iter().copied();
        let verb = loop {
            match arguments.next() {
                // The value of `git notes --ref`.
                Some("--ref") if self.command == "notes" => drop(arguments.next()),
                Some(word) if word.starts_with('-') => {}
                word => break word,
            }
        };
        let is_verb = |words: &[&str]| verb.is_some_and(|verb| words.contains(&verb));
        match self.command {
            "add" | "am" | "checkout" | "cherry-pick" | "clean" | "commit" | "fast-import"
            | "filter-branch" | "gc" | "merge" | "mergetool" | "mv" | "prune" | "pull" | "read-tree"
            | "rebase" | "receive-pack" | "repack" | "reset" | "restore" | "revert" | "rm" | "stage"
            | "switch" | "update-index" | "update-ref" => true,
            "branch" => has(&["--edit-description"]),
            "bisect" => verb.is_some() && !is_verb(&["log", "visualize", "view", "terms"]),
            "config" => {
                (has(&["-e", "--edit"]) || is_verb(&["edit"]))
                    && !has(&["--global", "--system", "-f", "--file"])
            }
            "notes" => is_verb(&["add", "append", "copy", "edit", "merge", "prune", "remove"]),
            "replace" => has(&["-e", "--edit"]),
            "stash" => !is_verb(&["list", "show"]),
            "submodule" => verb.is_some() && !is_verb(&["status", "summary"]),
            "tag" => {
                let lists = [
                    "-l",
                    "--list",
                    "--contains",
                    "--no-contains",
                    "--merged",
                    "--no-merged",
                    "--points-at",
                    "--sort",
                    "--column",
                    "--format",
                    "-v",
                    "--verify",
                ];
                let counts_lines = self.arguments.iter().any(|word| word.starts_with("-n"));
                verb.is_some() && !has(&lists) && !counts_lines
            }
            "worktree" => verb.is_some() && !is_verb(&["list"]),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Call;

    #[test]
    fn a_command_line_shows_if_git_changes_the_repository() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let call = Call::of(&words)?;
            call.writes()
                .then(|| (call.command.to_owned(), call.git_dir.map(str::to_owned)))
        };
        for (line, command) in [
            ("git commit", "commit"),
            ("/usr/bin/git -C /x -c a=b --no-pager commit --amend", "commit"),
            ("git --git-dir=/x/.git tag -a v1", "tag"),
            ("git --git-dir /x/.git rebase -i HEAD~2", "rebase"),
            ("git checkout -p", "checkout"),
            ("git stash", "stash"),
            ("git stash push -p", "stash"),
            ("git notes --ref=x edit", "notes"),
            ("git notes --ref x add", "notes"),
            ("git replace --edit HEAD", "replace"),
            ("git config -e", "config"),
            ("git config edit", "config"),
            ("git branch --edit-description", "branch"),
            ("git-receive-pack /x", "receive-pack"),
        ] {
            let (found, git_dir) = of(line).unwrap_or_default();
            assert_eq!(found, command, "{line}");
            assert_eq!(git_dir.is_some(), line.contains("git-dir"), "{line}");
        }
        for line in [
            "git",
            "git log -p",
            "git diff",
            "git -c commit.x=y show",
            "git --paginate branch --list",
            "git tag",
            "git tag -n3",
            "git tag --sort=x --list v*",
            "git stash list",
            "git notes show",
            "git notes --ref add show",
            "git replace --list",
            "git config core.editor",
            "git config --global --edit",
            "git config edit.x",
            "git fetch --all",
            "git maintenance run --auto",
            "git bisect log",
            "git worktree list",
            "git am --show-current-patch=diff",
            "git commit --help",
            "git cat-file --batch",
            "git fsmonitor--daemon run",
            "gitk commit",
            "",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
