//! What a contract and a snapshot say of repositories: where HEAD is, the class with its reason, how much is covered.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::support::build::Build;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;

/// The repositories that the newest session's baseline found.
pub(crate) fn found(sandbox: &Sandbox, directory: &Path) -> Vec<Value> {
    let id = sandbox.launch(directory, "true");
    let run = sandbox.jackin(["show", &id, "--json"]).ok();
    run.json()["git"].as_array().unwrap().clone()
}

/// A repository whose branch a remote has.
pub(crate) fn pushed(sandbox: &Sandbox, name: &str) -> Repository {
    let repository = Repository::with_history(&sandbox.project(name), 3);
    let remote = sandbox.scratch(&format!("{name}.git"));
    repository.git(&["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
    repository.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    repository.git(&["fetch", "-q", "origin"]);
    repository
}

fn class(facts: &Value) -> (&str, &str) {
    (
        facts["class"].as_str().unwrap(),
        facts["reason"].as_str().unwrap(),
    )
}

#[test]
fn a_clean_repository_is_clean_until_anything_is_not() {
    let sandbox = Sandbox::new();
    let repository = pushed(&sandbox, "project");
    let at = |path: &str| repository.path.join(path);
    let head = repository.git(&["rev-parse", "HEAD"]);
    let mut facts = found(&sandbox, &repository.path).remove(0);
    assert_eq!(class(&facts).0, "clean", "{facts}");
    assert_eq!(
        (&facts["branch"], &facts["commit"]),
        (&"refs/heads/main".into(), &head.trim().into())
    );
    assert_eq!(facts["path"], ".git");
    assert!(facts["bytes"].as_u64().unwrap() > 100);

    let mut becomes = |wanted: &str, why: &str, change: &dyn Fn()| {
        change();
        facts = found(&sandbox, &repository.path).remove(0);
        let (class, reason) = class(&facts);
        assert!(class == wanted && reason.contains(why), "{wanted} {why}: {facts}");
    };
    let git = |args: &[&str]| drop(repository.git(args));
    becomes("dirty", "not committed", &|| {
        fs::write(at("src/main.c"), "changed").unwrap()
    });
    becomes("clean", "", &|| git(&["checkout", "-q", "--", "src/main.c"]));
    becomes("dirty", "not committed", &|| {
        fs::write(at(".env"), "SECRET=1").unwrap()
    });
    becomes("dirty", "not committed", &|| {
        fs::write(at(".git/info/exclude"), ".env\n").unwrap();
        assert_eq!(repository.git(&["status", "--porcelain"]), "");
    });
    becomes("clean", "", &|| fs::remove_file(at(".env")).unwrap());
    becomes("dirty", "not committed", &|| {
        fs::remove_file(at("README")).unwrap()
    });
    becomes("clean", "", &|| git(&["checkout", "-q", "--", "README"]));
    becomes("dirty", "staged", &|| {
        fs::write(at("README"), "staged").unwrap();
        git(&["add", "README"]);
        fs::write(at("README"), "read me\n").unwrap();
    });
    becomes("clean", "", &|| git(&["reset", "-q"]));
    becomes("dirty", "stash", &|| {
        fs::write(at("README"), "stashed").unwrap();
        git(&["stash", "-q"]);
    });
    becomes("clean", "", &|| git(&["stash", "drop", "-q"]));
    becomes("dirty", "not to look", &|| {
        git(&["update-index", "--assume-unchanged", "README"])
    });
    becomes("clean", "", &|| {
        git(&["update-index", "--no-assume-unchanged", "README"])
    });
    becomes("dirty", "line ends", &|| {
        git(&["config", "core.autocrlf", "true"])
    });
    becomes("clean", "", &|| git(&["config", "--unset", "core.autocrlf"]));
    becomes("unpushed", "refs/heads/main", &|| {
        fs::write(at("README"), "new").unwrap();
        repository.commit("not pushed");
    });
    becomes("clean", "", &|| git(&["push", "-q", "origin", "main"]));
    becomes("unpushed", "the tip of no branch", &|| {
        git(&["checkout", "-q", "--detach"]);
        git(&["commit", "-q", "--allow-empty", "-m", "on no branch"]);
    });
    becomes("clean", "", &|| git(&["checkout", "-q", "main"]));
    let commit = repository.git(&["rev-parse", "HEAD~1"]);
    becomes("dirty", "replace", &|| git(&["replace", "HEAD", commit.trim()]));
    becomes("dirty", "replace", &|| {
        fs::write(at(".git/description"), "x").unwrap()
    });
    becomes("clean", "", &|| git(&["replace", "-d", "HEAD"]));
    becomes("dirty", "not committed", &|| {
        // A repository in it, and then its files alone: they were asked about by nobody.
        Repository::with_history(&at("inner"), 1);
    });
    becomes("dirty", "not committed", &|| {
        fs::remove_dir_all(at("inner/.git")).unwrap()
    });
    becomes("clean", "", &|| fs::remove_dir_all(at("inner")).unwrap());
    becomes("dirty", "a merge is under way", &|| {
        fs::write(at(".git/MERGE_HEAD"), head.clone()).unwrap();
    });
}

/// A commit that anything but a remote branch holds exists here only.
#[test]
fn whatever_holds_a_commit_that_no_remote_branch_has_is_unpushed() {
    let sandbox = Sandbox::new();
    let repository = pushed(&sandbox, "held");
    let git = |args: &[&str]| repository.git(args).trim().to_owned();
    let side = sandbox.project("side");
    let classed = || {
        let facts = found(&sandbox, &repository.path).remove(0);
        let (class, reason) = class(&facts);
        (class.to_owned(), reason.to_owned(), facts)
    };
    assert_eq!(classed().0, "clean");
    let tree = git(&["rev-parse", "HEAD^{tree}"]);
    let lost = git(&["commit-tree", &tree, "-p", "HEAD", "-m", "held by nothing else"]);
    let write = |name: &str| fs::write(repository.path.join(".git").join(name), format!("{lost}\n")).unwrap();
    let remove = |name: &str| fs::remove_file(repository.path.join(".git").join(name)).unwrap();
    let refs = [
        "refs/tags/light",
        "refs/notes/commits",
        "refs/bisect/bad",
        "refs/worktree/mine",
        "refs/anything/at/all",
        "refs/original/refs/heads/main",
    ];
    for name in refs {
        for packed in [false, true] {
            git(&["update-ref", name, &lost]);
            if packed {
                git(&["pack-refs", "--all"]);
            }
            let (class, reason, facts) = classed();
            assert!(
                class == "unpushed" && reason.contains(name),
                "{name} {packed}: {facts}"
            );
            assert_eq!(facts["unpushed"][0]["branch"], name, "{facts}");
            assert_eq!(facts["unpushed"][0]["commits"], 1, "{facts}");
            git(&["update-ref", "-d", name]);
            assert_eq!(classed().0, "clean", "{name}");
        }
    }
    git(&["tag", "-a", "-m", "annotated", "heavy", &lost]);
    let (class, reason, facts) = classed();
    assert!(
        class == "unpushed" && reason.contains("refs/tags/heavy"),
        "{facts}"
    );
    git(&["tag", "-d", "heavy"]);
    for name in ["ORIG_HEAD", "FETCH_HEAD", "MY_OWN_HEAD"] {
        write(name);
        let (class, reason, facts) = classed();
        assert!(class == "unpushed" && reason.contains(name), "{name}: {facts}");
        remove(name);
        assert_eq!(classed().0, "clean", "{name}");
    }
    // The HEAD of another work tree, and what that has for itself.
    git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        side.join("tree").to_str().unwrap(),
        &lost,
    ]);
    let (class, reason, facts) = classed();
    assert!(
        class == "unpushed" && reason.contains("worktrees/tree/HEAD"),
        "{facts}"
    );
    let side_git = |args: &[&str]| {
        let at = side.join("tree");
        repository.git(&[&["-C", at.to_str().unwrap()], args].concat());
    };
    side_git(&["checkout", "-q", "--detach", "main"]);
    let orig = repository.path.join(".git/worktrees/tree/ORIG_HEAD");
    let _ = fs::remove_file(&orig);
    assert_eq!(classed().0, "clean");
    side_git(&["update-ref", "refs/bisect/good", &lost]);
    let (class, reason, facts) = classed();
    assert!(
        class == "unpushed" && reason.contains("worktrees/tree/refs/bisect/good"),
        "{facts}"
    );
    side_git(&["update-ref", "-d", "refs/bisect/good"]);
    // A tag of something that is no commit: nobody knows which remote has it.
    let blob = git(&["rev-parse", "HEAD:README"]);
    git(&["tag", "content", &blob]);
    assert_eq!(classed().0, "dirty");
    git(&["tag", "-d", "content"]);
    // As soon as a remote branch reaches it nothing is lost with this repository.
    git(&["tag", "light", &lost]);
    assert_eq!(classed().0, "unpushed");
    git(&["push", "-q", "origin", &format!("{lost}:refs/heads/taken")]);
    git(&["fetch", "-q", "origin"]);
    assert_eq!(classed().0, "clean");
}

/// With `clean = "commit"` the class decides whether contents are kept.
#[test]
fn a_work_tree_whose_tag_no_remote_has_is_archived() {
    let sandbox = Sandbox::new();
    let repository = pushed(&sandbox, "tagged");
    sandbox.configure("config.toml", "[recovery.git]\nclean = \"commit\"\n");
    let facts = found(&sandbox, &repository.path).remove(0);
    assert_eq!(facts["by_commit"], true, "{facts}");
    repository.git(&["checkout", "-q", "--detach"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "tagged and not pushed"]);
    repository.git(&["tag", "mine"]);
    repository.git(&["checkout", "-q", "main"]);
    let facts = found(&sandbox, &repository.path).remove(0);
    assert_eq!(class(&facts).0, "unpushed", "{facts}");
    assert!(
        facts["by_commit"].is_null() || facts["by_commit"] == false,
        "{facts}"
    );
}

#[test]
fn repositories_that_are_not_like_the_others_are_told() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("plain");
    let outer = Repository::with_history(&project.join("outer"), 1);
    outer.git(&["worktree", "add", "-q", project.join("tree").to_str().unwrap()]);
    Repository::init(&project.join("unborn"));
    outer.git(&[
        "clone",
        "-q",
        "--bare",
        ".",
        project.join("bare.git").to_str().unwrap(),
    ]);
    outer.git(&["remote", "add", "origin", "https://me:token@example.org/x.git"]);
    Build::at(&project)
        .file("broken/.git", "gitdir: /nowhere/at/all\n")
        .file("odd/.git/HEAD", "what?\n")
        .dir("empty/.git");
    let all = found(&sandbox, &project);
    let told: Vec<(&str, &str, &str)> = all
        .iter()
        .map(|facts| (facts["path"].as_str().unwrap(), class(facts).0, class(facts).1))
        .collect();
    let paths: Vec<&str> = told.iter().map(|told| told.0).collect();
    assert_eq!(
        paths,
        [
            "bare.git",
            "broken/.git",
            "odd/.git",
            "outer/.git",
            "tree/.git",
            "unborn/.git"
        ]
    );
    let why = |path: &str| told.iter().find(|told| told.0 == path).unwrap();
    assert_eq!(why("broken/.git").1, "dirty");
    assert!(why("broken/.git").2.contains("/nowhere/at/all"), "{told:?}");
    assert!(
        why("unborn/.git").2.contains("nothing was committed yet"),
        "{told:?}"
    );
    assert_eq!(why("odd/.git").1, "dirty");
    assert_eq!(all[3]["worktrees"][0], "tree");
    assert_eq!(all[3]["remotes"][0]["url"], "https://example.org/x.git");
    let run = sandbox.command([
        "launch",
        "-v",
        "--snapshot",
        "project",
        project.to_str().unwrap(),
        "--",
        "true",
    ]);
    let run = run.run().ok();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(
        said.contains("broken/.git is dirty") && said.contains("git: 1 more repositories:"),
        "{said}"
    );
    let shown = sandbox.jackin(["show", "@latest"]).ok().hides("token").text();
    for line in [
        "outer/.git: ",
        "branch main at ",
        "linked work trees: tree",
        "all of it is covered",
    ] {
        assert!(shown.contains(line), "{line:?} is missing: {shown}");
    }
}

#[test]
fn what_is_left_out_makes_nothing_dirty() {
    let sandbox = Sandbox::new();
    let repository = pushed(&sandbox, "project");
    fs::write(repository.path.join("t.log"), "tracked").unwrap();
    repository.commit("a log");
    repository.git(&["push", "-q", "origin", "main"]);
    let id = sandbox.launch_with(&["--exclude", "*.log"], &repository.path, "true");
    let facts = sandbox.jackin(["show", &id, "--json"]).ok().json()["git"][0].clone();
    assert_eq!(class(&facts).0, "clean", "{facts}");
}

#[test]
fn how_much_of_git_is_captured_is_what_the_configuration_says() {
    let sandbox = Sandbox::new();
    let repository = pushed(&sandbox, "project");
    let src = repository.path.to_str().unwrap();
    let launch = |name: &str, dir: &str, script: &str| {
        let text = format!(
            "workdir = \"/w\"\n[[mounts]]\nsrc = \"{src}\"\ndst = \"/w\"\n[recovery]\nsnapshot = \"project\"\n[recovery.git]\ndir = \"{dir}\"\n"
        );
        sandbox.configure(&format!("workspaces/{name}.toml"), &text);
        let script = format!("cd {src} && {script}");
        let run = sandbox.jackin(["launch", name, "--", "sh", "-c", &script]).ok();
        (
            sandbox.newest(),
            String::from_utf8_lossy(&run.stderr).into_owned(),
        )
    };
    let head = fs::read(repository.path.join(".git/HEAD")).unwrap();
    for (name, dir, shown) in [
        ("whole", "full", "all of it is covered"),
        ("some", "state", "covered without its objects"),
        ("none", "off", "none of it is covered"),
    ] {
        let agent = "git -c user.name=a -c user.email=a@x commit -q --allow-empty -m agents; git checkout -q --detach; echo x > README";
        let (id, told) = launch(name, dir, agent);
        let contract = told.split("The contract has changed").next().unwrap();
        let facts = sandbox.jackin(["show", &id, "--json"]).ok().json()["git"][0].clone();
        assert_eq!(facts["covered"], dir, "{facts}");
        assert_eq!(
            (&facts["class"], &facts["branch"]),
            (&"clean".into(), &"refs/heads/main".into()),
            "{facts}"
        );
        let text = sandbox.jackin(["show", &id]).ok().text();
        assert!(text.contains(shown), "{text}");
        assert_eq!(
            contract.contains("**/.git/objects/"),
            dir == "state",
            "{contract}"
        );
        sandbox.restore(&id, &[]);
        let is_back = fs::read(repository.path.join(".git/HEAD")).unwrap() == head;
        assert_eq!(is_back, dir != "off", "{dir}");
        // The objects that the session made stay where nobody looked after them.
        let loose = repository.git(&["count-objects"]);
        assert!(
            repository.try_git(&["checkout", "-q", "-f", "main"]),
            "{dir}: {loose}"
        );
        repository.git(&["reset", "-q", "--hard", "origin/main"]);
    }
}

#[test]
fn the_contract_names_what_git_has_before_anything_is_captured() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    fs::write(repository.path.join("README"), "stashed").unwrap();
    repository.git(&["stash", "-q"]);
    let root = repository.path.to_str().unwrap();
    let head = repository.git(&["rev-parse", "HEAD"]);
    let shown = sandbox
        .jackin(["explain", "--snapshot", "project", root])
        .ok()
        .said();
    let at = format!("branch main at {}", &head[..10]);
    for line in [
        "Git ",
        &at,
        "main: 2 commits in no remote branch",
        "1 stash",
        "all of .git is covered",
    ] {
        assert!(shown.contains(line), "{line:?} is missing: {shown}");
    }
    let json = sandbox
        .jackin(["explain", "--snapshot", "project", root, "--json"])
        .ok()
        .json();
    let git = &json["contract"]["mounts"][0]["git"];
    let git = if git.is_null() {
        &json["mounts"][0]["git"]
    } else {
        git
    };
    assert_eq!(
        (&git["commit"], &git["covered"]),
        (&head.trim().into(), &"full".into()),
        "{json}"
    );
    // Nothing is said of git where there is none.
    let plain = sandbox.project("plain");
    let shown = sandbox
        .jackin(["explain", "--snapshot", "project", plain.to_str().unwrap()])
        .ok()
        .text();
    assert!(!shown.contains("Git "), "{shown}");
}

#[test]
fn a_session_in_a_part_of_a_work_tree_is_told_that_git_is_above_it() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 1);
    let part = repository.path.join("src");
    let own = repository.path.join(".git");
    let explain = |more: &[&str]| {
        let args = [
            &["explain", "--snapshot", "project", part.to_str().unwrap()],
            more,
        ]
        .concat();
        sandbox.jackin(args).ok()
    };
    explain(&[]).shows("its git directory is elsewhere and not captured");
    let contract = explain(&["--json"]).json();
    let git = &contract["mounts"][0]["git"];
    assert_eq!(git["elsewhere"], own.to_str().unwrap(), "{contract}");
    // A directory that only has that name is none.
    fs::remove_file(own.join("HEAD")).unwrap();
    assert!(explain(&["--json"]).json()["mounts"][0]["git"].is_null());
}

#[test]
fn an_exclude_that_leaves_out_a_part_of_git_is_told() {
    let sandbox = Sandbox::new();
    let repository = pushed(&sandbox, "project");
    let id = sandbox.launch_with(&["--exclude", "logs/"], &repository.path, "true");
    let facts = sandbox.jackin(["show", &id, "--json"]).ok().json()["git"][0].clone();
    assert_eq!(class(&facts), ("dirty", ".git/logs is excluded"), "{facts}");
    assert_eq!(facts["covered"], "full");
}

/// What somebody did to a repository.
#[derive(Clone, Debug)]
enum Deed {
    Write(u8, u8),
    Remove(u8),
    Run(u8, bool),
    Link(u8),
    Add,
    Commit,
    Ignore(u8),
    Reset,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let path = || 0_u8..6;
    let one = prop_oneof![
        4 => (path(), 0_u8..3).prop_map(|(path, content)| Deed::Write(path, content)),
        1 => path().prop_map(Deed::Remove),
        1 => (path(), any::<bool>()).prop_map(|(path, on)| Deed::Run(path, on)),
        1 => path().prop_map(Deed::Link),
        2 => Just(Deed::Add),
        2 => Just(Deed::Commit),
        1 => path().prop_map(Deed::Ignore),
        1 => Just(Deed::Reset),
    ];
    proptest::collection::vec(one, 0..12)
}

fn path_of(number: u8) -> &'static str {
    ["a", "b.o", "d/c", "d/e/f", "d.x", "d-y"][usize::from(number)]
}

fn perform(repository: &Repository, deed: &Deed) {
    use std::os::unix::fs::PermissionsExt as _;
    let at = |number: u8| repository.path.join(path_of(number));
    match deed {
        Deed::Write(path, content) => {
            let _ = fs::remove_file(at(*path));
            fs::create_dir_all(at(*path).parent().unwrap()).unwrap();
            fs::write(at(*path), format!("content {content}\n")).unwrap();
        }
        Deed::Remove(path) => drop(fs::remove_file(at(*path))),
        Deed::Run(path, on) => {
            if at(*path).is_file() && !at(*path).is_symlink() {
                fs::set_permissions(
                    at(*path),
                    fs::Permissions::from_mode(if *on { 0o755 } else { 0o644 }),
                )
                .unwrap();
            }
        }
        Deed::Link(path) => {
            let _ = fs::remove_file(at(*path));
            fs::create_dir_all(at(*path).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("target", at(*path)).unwrap();
        }
        Deed::Add => drop(repository.tried(&["add", "-A"])),
        Deed::Commit => drop(repository.tried(&["commit", "-q", "-m", "x"])),
        Deed::Ignore(path) => fs::write(repository.path.join(".git/info/exclude"), path_of(*path)).unwrap(),
        Deed::Reset => drop(repository.tried(&["reset", "-q"])),
    }
}

/// What git calls changed, missing, untracked, ignored, or staged; by path.
fn of_git(repository: &Repository) -> Vec<String> {
    let told = repository.git(&[
        "status",
        "--porcelain",
        "--ignored=matching",
        "-uall",
        "-z",
        "--no-renames",
    ]);
    let mut paths: Vec<String> = told
        .split('\0')
        .filter(|line| line.len() > 3)
        // Only staged: the work tree is what HEAD names when both differ from the index in the same way.
        .map(|line| line[3..].to_owned())
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn what_differs_is_what_git_says() {
    let cases = std::env::var("JACKIN_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(12);
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    runner
        .run(&(deeds(), deeds()), |(first, second)| {
            let sandbox = Sandbox::new();
            let repository = Repository::with_history(&sandbox.project("project"), 1);
            // Twice, because the second look takes over what the first one found.
            for deeds in [first, second] {
                deeds.iter().for_each(|deed| perform(&repository, deed));
                let git = of_git(&repository);
                let facts = found(&sandbox, &repository.path).remove(0);
                let mut ours: Vec<&str> = facts["differs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| one["path"].as_str().unwrap())
                    .collect();
                ours.sort_unstable();
                // What is only staged is counted apart.
                prop_assert!(
                    ours.iter().all(|path| git.contains(&(*path).to_owned())),
                    "{ours:?} {git:?}"
                );
                let staged = facts["staged"].as_u64().unwrap();
                prop_assert!(
                    git.len() as u64 <= ours.len() as u64 + staged,
                    "{ours:?} and {staged} staged, but {git:?}"
                );
                let head = repository.git(&["diff", "--name-only", "-z", "HEAD"]);
                let tracked: Vec<&str> = head
                    .split('\0')
                    .filter(|path| !path.is_empty() && repository.path.join(path).symlink_metadata().is_ok())
                    .collect();
                prop_assert!(
                    tracked.iter().all(|path| ours.contains(path) || staged > 0),
                    "{tracked:?} {ours:?}"
                );
                prop_assert_eq!(
                    staged,
                    repository
                        .git(&["diff", "--cached", "--no-renames", "--name-only", "-z"])
                        .split('\0')
                        .filter(|path| !path.is_empty())
                        .count() as u64
                );
                if git.is_empty() {
                    prop_assert!(facts["class"] == "unpushed", "{}", facts);
                } else {
                    prop_assert_eq!(&facts["class"], "dirty");
                }
            }
            Ok(())
        })
        .unwrap();
}
