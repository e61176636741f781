//! Repositories that git works on while they are captured or restored: what a snapshot holds is whole or flagged, and `--files-only`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::prompts::answered;
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::git::{HeldLock, Repository};
use crate::support::machine::{copy_program, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const DAMAGE: &str = "echo agent > src/main.c; rm README; \
     git -c user.name=a -c user.email=a@x commit -qam agents; echo x > .git/hooks/pre-commit; rm -rf inner";

fn session(sandbox: &Sandbox) -> (Repository, String, Tree) {
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    let inner = Repository::with_history(&repository.path.join("inner"), 1);
    drop(inner);
    fs::create_dir_all(repository.path.join(".git/hooks")).unwrap();
    Build::at(&repository.path).file("README", "mine\n").aged();
    let before = Tree::read(&repository.path);
    let id = sandbox.launch(&repository.path, DAMAGE);
    (repository, id, before)
}

#[test]
fn files_only_leaves_everything_of_git_as_it_is() {
    let sandbox = Sandbox::new();
    let (repository, id, before) = session(&sandbox);
    let project = &repository.path;
    let after = Tree::read(project);
    let shown = sandbox
        .jackin(["restore", &id, "--files-only", "--dry-run"])
        .ok()
        .text();
    assert!(
        shown.contains("excluded") && shown.contains(" .git (--files-only)"),
        "{shown}"
    );
    assert!(
        !shown.contains(".git/HEAD") && !shown.contains("hooks"),
        "{shown}"
    );
    assert!(
        shown.contains("--files-only --yes") || shown.contains("--files-only"),
        "{shown}"
    );

    sandbox.restore(&id, &["--files-only"]);
    let now = Tree::read(project);
    assert_same_tree(&after.only(".git"), &now.only(".git"));
    assert_same_tree(
        &before.without(".git").without("inner"),
        &now.without(".git").without("inner"),
    );
    // The nested repository went as a whole: its files are back, and what was git's is not.
    assert!(now.has("inner/src/main.c") && !now.has("inner/.git"));

    // Later, all of it: the rest comes back as well.
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(project));
}

#[test]
fn files_only_writes_no_repository_elsewhere() {
    let sandbox = Sandbox::new();
    let (_, id, _) = session(&sandbox);
    let to = sandbox.scratch("to");
    let args = [
        "restore",
        &id,
        "--files-only",
        "--yes",
        "--to",
        to.to_str().unwrap(),
    ];
    sandbox.jackin(args).ok();
    let written = Tree::read(&to);
    let git: Vec<_> = written
        .paths()
        .filter(|path| path.windows(4).any(|part| part == b".git"))
        .collect();
    assert!(git.is_empty(), "{git:?}");
    let has = |end: &[u8]| written.paths().any(|path| path.ends_with(end));
    assert!(has(b"README") && has(b"inner/src/main.c"));
}

#[test]
fn a_lock_that_somebody_holds_is_refused_and_named() {
    if crate::support::machine::is_portable(crate::support::machine::NO_HOLDERS) {
        return;
    }
    let sandbox = Sandbox::new();
    let (repository, id, before) = session(&sandbox);
    let lock = repository.path.join(".git/index.lock");
    let after = Tree::read(&repository.path);
    let holder = HeldLock::of(&repository.path);
    for verb in [
        &["restore", &id, "--yes"][..],
        &["restore", &id, "--yes", "--json"],
    ] {
        let run = sandbox.jackin(verb).code(3);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(
            said.contains("index.lock is held by sleep") && said.contains("--files-only"),
            "{said}"
        );
    }
    // The lock itself is nothing of the session's.
    let shown = sandbox.jackin(["restore", &id, "--dry-run"]).code(6);
    assert!(String::from_utf8_lossy(&shown.stderr).contains("would be refused"));
    assert_same_tree(&after, &Tree::read(&repository.path).without(".git/index.lock"));
    // What is not git's does not wait for git.
    sandbox.restore(&id, &["--files-only"]);

    // Whoever held it is gone: a lock that nobody holds is a file that somebody made later.
    drop(holder);
    sandbox.restore_in_part(&id, &[]);
    assert!(lock.exists(), "it is not the session's");
    fs::remove_file(&lock).unwrap();
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&repository.path));
}

#[test]
fn nobody_makes_a_bare_repository_of_a_directory_of_files() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    Build::at(&project).file("src/main.c", "mine\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "echo evil > src/main.c; echo 'ref: refs/heads/x' > src/HEAD; mkdir src/objects src/refs",
    );
    sandbox.restore(&id, &["--files-only"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_lock_that_comes_while_somebody_is_asked_is_seen() {
    if crate::support::machine::is_portable(crate::support::machine::NO_HOLDERS) {
        return;
    }
    let sandbox = Sandbox::new();
    let (repository, _, _) = session(&sandbox);
    let wrecked = Tree::read(&repository.path);
    // The plan is there by then; who answers is who holds the lock, until the terminal is gone.
    let lock = repository.path.join(".git/index.lock");
    let typed = format!(
        "asked 1; exec 9>'{}'; for i in $(seq 200); do echo yes || exit; sleep 0.5; done",
        lock.display()
    );
    let Some(run) = answered(&sandbox, &typed) else {
        return;
    };
    run.code(3).shows("[y/N/?]").shows("index.lock is held by");
    fs::remove_file(&lock).unwrap();
    assert_same_tree(&wrecked, &Tree::read(&repository.path));
}

#[test]
fn a_lock_of_a_linked_work_tree_elsewhere_counts() {
    if crate::support::machine::is_portable(crate::support::machine::NO_HOLDERS) {
        return;
    }
    let sandbox = Sandbox::new();
    let (repository, _, _) = session(&sandbox);
    let tree = sandbox.scratch("tree");
    repository.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let id = sandbox.launch(
        &repository.path,
        "rm .git/ORIG_HEAD 2>/dev/null; echo x > .git/description",
    );
    let lock = repository.path.join(".git/worktrees/tree/index.lock");
    fs::write(&lock, "").unwrap();
    // As git does while an editor runs: the lock is closed, and the process works in the other tree.
    let program = sandbox.scratch("git");
    copy_program(&tool("sleep").unwrap(), &program);
    let mut git = Command::new(&program)
        .arg("600")
        .current_dir(&tree)
        .spawn()
        .unwrap();
    while fs::read(format!("/proc/{}/comm", git.id())).unwrap() != b"git\n" {
        std::thread::yield_now();
    }
    let run = sandbox.jackin(["restore", &id, "--yes"]);
    git.kill().unwrap();
    git.wait().unwrap();
    let said = String::from_utf8_lossy(&run.code(3).stderr).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("worktrees/tree/index.lock is held by git (process"),
        "{said}"
    );
}

#[test]
fn a_lock_of_somebody_elses_counts_as_held() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    // Git refuses to work for one user in what belongs to another.
    let project = sandbox.project("project");
    let made = Repository::with_history(&sandbox.world().join("made"), 2).path;
    fs::remove_dir(&project).unwrap();
    fs::rename(made, &project).unwrap();
    let repository = Repository { path: project };
    sandbox.give(&repository.path);
    let id = sandbox.launch(&repository.path, "echo agent > README; rm .git/config");
    let lock = repository.path.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    if fs::metadata(&lock).unwrap().uid() == fs::metadata(repository.path.join("README")).unwrap().uid() {
        crate::support::machine::skip("a lock of another user", "only root can make one");
        return;
    }
    let after = Tree::read(&repository.path);
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(3);
    let said = String::from_utf8_lossy(&run.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("index.lock may be held by a process"), "{said}");
    assert_same_tree(&after, &Tree::read(&repository.path));
    fs::remove_file(&lock).unwrap();
    sandbox.restore(&id, &[]);
}

/// A shell that commits, with a pause of so many seconds each time, until this is dropped.
struct Busy(Child);

impl Busy {
    fn at(repository: &Repository, pause: &str) -> Self {
        let script = "n=0; while :; do n=$((n+1)); echo $n > f$((n % 7)); git add -A && git commit -qm $n; git branch -qf b$((n % 5));
            [ $((n % 9)) = 0 ] && git pack-refs --all; [ $((n % 25)) = 0 ] && git gc -q --prune=now; sleep $0; done";
        let mut command = Command::new("sh");
        command.args(["-c", script, pause]).current_dir(&repository.path);
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@x"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@x"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ] {
            command.env(name, value);
        }
        Self(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn is_unsteady(sandbox: &Sandbox, snapshot: &str) -> bool {
    let path = sandbox.store().join(format!("snapshots/{snapshot}.json"));
    let record: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    record["mounts"][0]["git"][0]["unsteady"].is_string()
}

#[test]
fn what_is_captured_while_git_works_is_whole_or_flagged() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 40);
    for number in 0..300 {
        fs::write(repository.path.join(format!("much{number}")), vec![b'x'; 5000]).unwrap();
    }
    repository.commit("much");
    let target = repository.path.to_str().unwrap();
    let id = sandbox.begin(target);
    let mut told = 0;
    let mut checkpoint = |name: &str| {
        let run = sandbox.jackin(["checkpoint", &id, "--name", name]).ok();
        told += u32::from(String::from_utf8_lossy(&run.stderr).contains("git was running in"));
    };
    for pause in ["0", "0.1"] {
        let busy = Busy::at(&repository, pause);
        (0..8).for_each(|number| checkpoint(&format!("{pause}-{number}")));
        drop(busy);
        // What it was killed in the middle of.
        for lock in ["index.lock", "HEAD.lock", "packed-refs.lock", "gc.pid"] {
            let _ = fs::remove_file(repository.path.join(".git").join(lock));
        }
    }
    checkpoint("quiet");
    sandbox.jackin(["end", &id]).ok();

    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let mut flagged = 0;
    let mut seen = 0;
    for snapshot in shown["instance"]["snapshots"].as_array().unwrap() {
        let (Some(name), Some(snapshot)) = (snapshot["name"].as_str(), snapshot["id"].as_str()) else {
            continue;
        };
        seen += 1;
        let is_flagged = is_unsteady(&sandbox, snapshot);
        let copy = sandbox.scratch(name);
        sandbox
            .jackin([
                "restore",
                &id,
                "--from",
                snapshot,
                "--to",
                copy.to_str().unwrap(),
                "--yes",
            ])
            .ok();
        let copy = Repository { path: copy };
        let (is_whole, said) = copy.tried(&["fsck", "--connectivity-only"]);
        assert!(is_whole || is_flagged, "{name}: {said}");
        assert!(name != "quiet" || !is_flagged);
        flagged += u32::from(is_flagged);
    }
    assert_eq!((seen, flagged), (17, told));
    println!("{flagged} of {seen} are flagged");
}

#[test]
fn a_lock_that_nobody_takes_away_is_told_by_everything_that_captures() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    fs::write(repository.path.join(".git/index.lock"), "").unwrap();
    let target = repository.path.to_str().unwrap();
    let tells = |args: &[&str]| {
        let run = sandbox.jackin(args).ok();
        let said = String::from_utf8_lossy(&run.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = ".git the whole time";
        assert_eq!(said.matches(words).count(), 1, "{args:?}: {said}");
        assert!(
            said.contains(".git/index.lock: git is running there, or was killed"),
            "{said}"
        );
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    };
    let id = tells(&["begin", "--snapshot", "project", target]);
    tells(&["checkpoint", &id, "--name", "one"]);
    tells(&["end", &id]);
    let run = sandbox.launching(target, &["true"]).run().ok();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    // Both its snapshots have it.
    assert_eq!(
        said.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .matches(".git the whole time")
            .count(),
        2,
        "{said}"
    );
    fs::remove_file(repository.path.join(".git/index.lock")).unwrap();
    let run = sandbox.launching(target, &["true"]).run().ok();
    assert!(!String::from_utf8_lossy(&run.stderr).contains("the whole time"));
}
