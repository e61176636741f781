//! What `diff` says of repositories: what git runs first, then HEAD, branches, commits, index, stashes; read from files, git is
//! never started.

use std::fs;

use serde_json::Value;

use crate::support::build::Build;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;

const AGENT: &str = "git -c user.name=a -c user.email=a@x";

fn repositories(sandbox: &Sandbox, id: &str, more: &[&str]) -> Vec<Value> {
    let args = [&["diff", id, "--json"], more].concat();
    let run = sandbox.jackin(args).ok();
    run.json()["git"].as_array().unwrap().clone()
}

fn texts(list: &Value, key: &str) -> Vec<String> {
    let each = list.as_array().unwrap().iter();
    each.map(|one| one[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn commits_branches_and_the_index_are_told() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 6);
    repository.git(&["pack-refs", "--all"]);
    repository.git(&["gc", "-q"]);
    let head = repository.git(&["rev-parse", "HEAD"]);
    let lost = repository.git(&["rev-list", "HEAD", "^HEAD~2"]);
    let script = format!(
        "git reset -q --hard HEAD~2; echo x > new; git add new; {AGENT} commit -qm 'by the agent'; \
         echo y > new; {AGENT} commit -qam 'and again'; git branch side; git tag -m t v1; echo z > staged; git add staged; \
         {AGENT} stash -q"
    );
    let id = sandbox.launch(&repository.path, &script);
    let all = repositories(&sandbox, &id, &[]);
    let [told] = &all[..] else { panic!("{all:?}") };
    assert_eq!(told["path"], ".git");
    assert_eq!(told["state"], "changed");
    assert_eq!(told["head_from"]["reference"], "refs/heads/main");
    assert_eq!(told["head_from"]["commit"], head.trim());
    assert_eq!(
        told["head_to"]["commit"],
        repository.git(&["rev-parse", "HEAD"]).trim()
    );
    let mut refs = texts(&told["refs"], "name");
    refs.sort();
    assert_eq!(
        refs,
        ["refs/heads/main", "refs/heads/side", "refs/stash", "refs/tags/v1"]
    );
    let of_git = |args: &[&str]| -> Vec<String> {
        let mut ids: Vec<String> = repository.git(args).lines().map(str::to_owned).collect();
        ids.sort();
        ids
    };
    let ids = |key: &str| {
        let mut ids = texts(&told[key], "id");
        ids.sort();
        ids
    };
    assert_eq!(ids("commits_lost"), {
        let mut lost: Vec<_> = lost.lines().map(str::to_owned).collect();
        lost.sort();
        lost
    });
    assert_eq!(
        ids("commits_made"),
        of_git(&["rev-list", "--all", &format!("^{}", head.trim())])
    );
    assert!(texts(&told["commits_made"], "subject").contains(&"and again".to_owned()));
    assert_eq!(told["more_commits"], false);
    assert_eq!(
        (&told["stashes_from"], &told["stashes_to"]),
        (&0.into(), &1.into())
    );
    assert_eq!(told["doubts"], Value::Array(Vec::new()));

    let shown = sandbox.jackin(["diff", &id]).ok().text();
    for line in [
        "HEAD     main ",
        "branch   side made at ",
        "tag      v1 made at ",
        "and again",
        "now unreachable",
        "stashes  0 -> 1",
    ] {
        assert!(shown.contains(line), "{line:?} is missing: {shown}");
    }
    // The same between two snapshots, and the other way round.
    let stored = repositories(&sandbox, &id, &["--to", "closing"]);
    assert_eq!(stored[0]["commits_made"], told["commits_made"]);
    assert_eq!(stored[0]["refs"], told["refs"]);
    let back = repositories(&sandbox, &id, &["--from", "closing", "--to", "baseline"]);
    assert_eq!(back[0]["commits_lost"], told["commits_made"]);
    // After a restore nothing of it is told.
    let run = sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert!(repositories(&sandbox, &id, &["--now"]).is_empty());
    // The commits are not lost: the restore says where they are, and how to get at them.
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(
        said.contains("HEAD is at main") && said.contains("only in the"),
        "{said}"
    );
    let command = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("jackin recovery restore "));
    let words: Vec<&str> = command.unwrap().split(' ').collect();
    let to = sandbox.scratch("written");
    let words: Vec<&str> = words
        .into_iter()
        .map(|word| {
            if word == "NEW-DIRECTORY" {
                to.to_str().unwrap()
            } else {
                word
            }
        })
        .collect();
    sandbox.jackin([&["restore", "--yes"][..], &words].concat()).ok();
    let copy = Repository {
        path: to.join("project"),
    };
    let copy = if copy.path.exists() {
        copy
    } else {
        Repository { path: to }
    };
    for commit in texts(&told["commits_made"], "id") {
        copy.git(&["cat-file", "-e", &commit]);
    }
}

#[test]
fn what_git_would_run_stands_first() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 1);
    let hooks = repository.path.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    Build::at(&repository.path)
        .file(".git/hooks/pre-push", "#!/bin/sh\ntrue\n")
        .mode(".git/hooks/pre-push", 0o755)
        .file(".git/hooks/old", "#!/bin/sh\n")
        .aged();
    let script = "git config core.sshCommand 'touch x'; git config alias.st '!touch y'; git config filter.f.clean 'touch z'; \
        git config user.name other; printf '#!/bin/sh\nevil\n' > .git/hooks/pre-push; cp .git/hooks/pre-push .git/hooks/post-checkout; \
        rm .git/hooks/old; printf '* filter=f\n*.txt text\n' > .gitattributes; mkdir deep; echo '*.bin diff=f' > deep/.gitattributes; \
        echo agent > README";
    let id = sandbox.launch(&repository.path, script);
    let all = repositories(&sandbox, &id, &[]);
    let told = texts(&all[0]["executes"], "what");
    assert_eq!(
        told,
        [
            "alias.st",
            "attribute in .gitattributes",
            "attribute in deep/.gitattributes",
            "core.sshcommand",
            "filter.f.clean",
            "hook old",
            "hook post-checkout",
            "hook pre-push",
        ]
    );
    let shown = sandbox.jackin(["diff", &id]).ok().text();
    let at = |what: &str| {
        shown
            .find(what)
            .unwrap_or_else(|| panic!("{what:?} is missing: {shown}"))
    };
    assert!(
        at("Git hooks or settings that run code") < at("README")
            && at("core.sshcommand: touch x") < at("README"),
        "{shown}"
    );
    assert!(
        shown.contains("~ hook pre-push") && shown.contains("- hook old"),
        "{shown}"
    );
    // `--exit-code` counts them, and a path that has nothing to do with git says nothing of it.
    sandbox.jackin(["diff", &id, "--exit-code"]).code(1);
    let readme = sandbox
        .jackin(["diff", &id, repository.path.join("README").to_str().unwrap()])
        .ok()
        .text();
    assert!(!readme.contains("git:"), "{readme}");
}

/// No snapshot has the files that git would find there.
#[test]
fn links_and_other_directories_in_which_git_looks_stand_first() {
    for (script, wanted) in [
        (
            "rm .git/config; ln -s ../../evil/.git/config .git/config",
            ("config", "a link to ../../evil/.git/config"),
        ),
        (
            "rm -rf .git/hooks; ln -s /evil .git/hooks",
            ("hooks", "a link to /evil"),
        ),
        (
            "git config core.hooksPath tracked; ln -s /evil tracked",
            ("hooks tracked", "a link to /evil"),
        ),
        (
            "git config include.path ../more; ln -s /evil more",
            ("include more", "a link to /evil"),
        ),
        (
            "rm -rf .git/info; ln -s /evil .git/info",
            ("info", "a link to /evil"),
        ),
        (
            "echo ../../evil/.git > .git/commondir",
            ("commondir", "../../evil/.git"),
        ),
        (
            "ln -s ../../evil/.git/commondir .git/commondir",
            ("commondir", "a link to ../../evil/.git/commondir"),
        ),
        (
            "rm -rf .git; echo 'gitdir: ../evil/.git' > .git",
            ("git directory", "../evil/.git"),
        ),
        (
            "mv .git ../moved; ln -s ../evil/.git .git",
            ("git directory", "a link to ../evil/.git"),
        ),
    ] {
        let sandbox = Sandbox::new();
        let repository = Repository::with_history(&sandbox.project("project"), 1);
        Build::at(&repository.path).aged();
        let id = sandbox.launch(&repository.path, script);
        let all = repositories(&sandbox, &id, &[]);
        let [told] = &all[..] else {
            panic!("{script}: {all:?}")
        };
        let executes = told["executes"].as_array().unwrap();
        let (what, now) = wanted;
        let is_wanted = |one: &&Value| one["what"] == what && one["from"].is_null() && one["to"] == now;
        assert_eq!(
            executes.iter().filter(is_wanted).count(),
            1,
            "{script}: {executes:?}"
        );
        let shown = sandbox.jackin(["diff", &id]).ok().text();
        let line = format!("+ {what}: {now}");
        assert!(shown.contains(&line), "{script}: {shown}");
    }
    // Where git itself puts them they are nothing new.
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 1);
    Build::at(&repository.path).aged();
    let id = sandbox.launch(&repository.path, "git worktree add -q tree");
    for told in repositories(&sandbox, &id, &[]) {
        assert_eq!(told["executes"], Value::Array(Vec::new()));
    }
}

#[test]
fn what_cannot_be_read_any_more_is_a_change() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 1);
    repository.git(&["pack-refs", "--all"]);
    fs::write(repository.path.join("README"), "mine\n").unwrap();
    Build::at(&repository.path).aged();
    let id = sandbox.launch(&repository.path, "echo nonsense >> .git/packed-refs");
    let told = repositories(&sandbox, &id, &[]);
    assert!(told[0]["doubts"].to_string().contains("nonsense"), "{told:?}");
    sandbox
        .jackin(["diff", &id])
        .ok()
        .shows("unknown: .git/packed-refs is damaged");
    // It was so before.
    let id = sandbox.launch(&repository.path, "touch .git/description");
    assert!(repositories(&sandbox, &id, &[]).is_empty());
}

#[test]
fn values_of_a_private_configuration_are_hidden() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 1);
    Build::at(&repository.path).mode(".git/config", 0o600).aged();
    let id = sandbox.launch(
        &repository.path,
        "git config credential.helper '!echo password=hunter2'; chmod 600 .git/config",
    );
    for args in [
        &["diff", &id][..],
        &["diff", &id, "--json"],
        &["diff", &id, "--patch"],
    ] {
        let run = sandbox.jackin(args).ok().hides("hunter2");
        assert!(run.text().contains("credential.helper"), "{}", run.text());
    }
    let tree = repository.path.join("tree");
    repository.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let other = sandbox.launch(&repository.path, "git config core.sshCommand 'pass hunter3'; echo '* diff=x' > tree/.gitattributes; chmod 600 .git/config");
    let run = sandbox.jackin(["diff", &other]).ok().hides("hunter3");
    assert!(run.text().contains("tree/.git"), "{}", run.text());
    let shown = sandbox
        .jackin(["diff", &id, "--patch", "--show-secrets"])
        .ok()
        .text();
    assert!(shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_hostile_repository_is_told_without_harm() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    Build::at(&repository.path).aged();
    let subject = "$(printf '\\033]0;owned\\007 \\342\\200\\256 evil')";
    let script = format!(
        "echo x > x; git add x; {AGENT} commit -qm \"{subject}\"; rm -f .git/index; mkfifo .git/index; \
         printf 'ref: refs/heads/a' > .git/refs/heads/b; printf 'ref: refs/heads/b' > .git/refs/heads/a; \
         printf '[core\\nbroken' >> .git/config; ln -s /etc/passwd .git/refs/heads/link"
    );
    let id = sandbox.launch(&repository.path, &script);
    let shown = sandbox.jackin(["diff", &id]).ok().harmless().text();
    assert!(shown.contains("unknown:") && !shown.contains("root:"), "{shown}");
    sandbox.jackin(["diff", &id, "--json"]).ok();
    sandbox.restore(&id, &[]);
    assert!(repositories(&sandbox, &id, &["--now"]).is_empty());
}

#[test]
fn repositories_that_come_and_go_are_told_by_name() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("plain");
    Repository::with_history(&project.join("inner"), 3);
    Build::at(&project).file("x", "x").aged();
    let id = sandbox.launch(
        &project,
        "rm -rf inner; git init -q made; git init -q --bare depot.git",
    );
    let all = repositories(&sandbox, &id, &[]);
    let told: Vec<(&str, &str)> = all
        .iter()
        .map(|one| (one["path"].as_str().unwrap(), one["state"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("depot.git", "added"),
            ("inner/.git", "deleted"),
            ("made/.git", "added")
        ]
    );
    assert_eq!(all[1]["commits_lost"].as_array().unwrap().len(), 3);
    let shown = sandbox.jackin(["diff", &id]).ok().text();
    assert!(
        shown.contains("inner/.git is gone") && shown.contains("made/.git came"),
        "{shown}"
    );
}

#[test]
fn a_mount_that_a_snapshot_lacks_is_not_read_from_the_disk() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    Build::at(&repository.path).aged();
    let kept = sandbox.scratch("kept");
    let script = format!("cd ..; cp -a project '{0}'; rm -rf project", kept.display());
    let id = sandbox.launch(&repository.path, &script);
    // It comes back afterwards, and somebody works in it.
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([&kept, &repository.path])
        .status();
    assert!(copied.unwrap().success());
    fs::write(repository.path.join("README"), "later").unwrap();
    repository.commit("made after the session");
    let told = repositories(&sandbox, &id, &["--from", "baseline", "--to", "closing"]);
    assert_eq!(
        (told.len(), &told[0]["state"]),
        (1, &"deleted".into()),
        "{told:?}"
    );
    assert!(told[0]["commits_made"].as_array().unwrap().is_empty(), "{told:?}");
}

#[test]
fn commits_that_the_agent_made_and_gave_up_are_told_and_kept() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 3);
    let script = format!(
        "echo x > new; git add new; {AGENT} commit -qm 'given up'; git rev-parse HEAD > ../gone; git reset -q --hard HEAD~1; \\
         git checkout -q -b side; git checkout -q main"
    );
    let id = sandbox.launch(&repository.path, &script);
    let gone = fs::read_to_string(repository.path.join("../gone")).unwrap();
    let all = repositories(&sandbox, &id, &[]);
    assert_eq!(texts(&all[0]["commits_given_up"], "id"), [gone.trim()], "{all:?}");
    assert_eq!(all[0]["commits_made"], serde_json::json!([]));
    let text = sandbox.jackin(["diff", &id]).code_in(&[0, 1]).text();
    assert!(text.contains("1 commit created and dropped"), "{text}");
    let run = sandbox.jackin(["restore", &id, "--yes"]).ok();
    let text = run.said();
    assert!(
        text.contains("1 commit is only in the emergency snapshot"),
        "{run}"
    );
}

#[test]
fn a_branch_that_is_left_out_of_a_restore_keeps_its_commits() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    let script = format!("echo x > new; git add new; {AGENT} commit -qm agent");
    let id = sandbox.launch(&repository.path, &script);
    let run = sandbox
        .jackin(["restore", &id, "--exclude", "main", "--yes"])
        .ok();
    assert_eq!(repository.git(&["log", "-1", "--format=%s"]).trim(), "agent");
    let text = run.said();
    // The objects of the commit stay with the branch: one line, not one for each.
    assert!(
        text.contains(".git/objects/ (") && !text.contains("only in the emergency snapshot"),
        "{run}"
    );
    repository.git(&["fsck", "--strict"]);
}

#[test]
fn attributes_that_are_too_large_to_be_read_are_a_doubt() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 1);
    let script = "{ echo '* filter=x'; head -c 5000000 /dev/zero | tr '\\0' '#'; } > .gitattributes";
    let id = sandbox.launch(&repository.path, script);
    let told = repositories(&sandbox, &id, &[]).remove(0);
    assert!(told["doubts"].to_string().contains(".gitattributes"), "{told}");
    assert!(told["executes"].to_string().contains("unknown which"), "{told}");
    let shown = sandbox.jackin(["diff", &id]).ok().text();
    assert!(shown.contains(".gitattributes"), "{shown}");
}

#[test]
fn a_plan_says_where_the_branch_goes() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    let at = |name: &str| {
        repository
            .git(&["rev-parse", "--short=10", name])
            .trim()
            .to_owned()
    };
    let before = at("HEAD");
    let script = "echo agent > new; git add new; git commit -qm agent";
    let id = sandbox.launch(&repository.path, script);
    let after = at("HEAD");
    let told = format!("branch main moves from {after} to {before}");
    let plan = |more: &[&str]| sandbox.jackin([&["restore", id.as_str(), "--dry-run"], more].concat());
    plan(&[]).ok().shows(&told);
    plan(&["--all"]).ok().shows(&told);
    plan(&["--files-only"]).ok().hides(" moves from ");
    plan(&["new"]).ok().hides(" moves from ");
    sandbox.restore(&id, &[]);
    let back = sandbox.jackin(["undo", &id, "--dry-run"]).ok();
    back.shows(&format!("branch main moves from {before} to {after}"));
    // Another branch, and a HEAD without one.
    let id = sandbox.launch(
        &repository.path,
        "git switch -qc side; echo s > s; git add s; git commit -qm s",
    );
    let (main, side) = (at("main"), at("side"));
    let plan = || sandbox.jackin(["restore", id.as_str(), "--dry-run"]);
    plan()
        .ok()
        .shows(&format!("HEAD moves from side ({side}) to main ({main})"));
    // Of what is asked for alone: HEAD, then the branch that is checked out.
    let one = |name: &str| {
        let path = repository.path.join(".git").join(name);
        sandbox.jackin(["restore", &id, "--dry-run", path.to_str().unwrap()])
    };
    one("HEAD")
        .code_in(&[0, 6])
        .shows(&format!("HEAD moves from side ({side}) to main ({main})"));
    repository.git(&["branch", "-q", "-f", "main", "side"]);
    one("HEAD")
        .code_in(&[0, 6])
        .shows(&format!("HEAD moves from side ({side}) to main ({side})"));
    one("refs/heads/main").code_in(&[0, 6]).hides("HEAD moves from");
    repository.git(&["branch", "-q", "-f", "main", &main]);
    // A later move of HEAD is kept, so nothing is said of it.
    repository.git(&["switch", "-q", "--detach", "main"]);
    plan().code_in(&[0, 6]).hides(" moves from ");
}

/// A linked work tree shows its own changes, and no loss of commits that its repository still has.
#[test]
fn a_linked_work_tree_is_told_beside_its_repository() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 3);
    let path = repository.path.clone();
    let subject = |id: &str, args: &[&str]| {
        let all = repositories(&sandbox, id, args);
        let of_tree = all.into_iter().find(|told| told["path"] == "tree/.git");
        of_tree.expect("the linked work tree")
    };
    // A commit that only the HEAD of the work tree has.
    repository.git(&["worktree", "add", "-q", "--detach", "tree"]);
    Build::at(&path).file("tree/mine", "mine\n");
    let tree = Repository {
        path: path.join("tree"),
    };
    tree.git(&["add", "mine"]);
    tree.git(&["commit", "-q", "-m", "only there"]);
    let id = sandbox.launch(&path, "git -C tree reset -q --hard HEAD~1");
    let told = subject(&id, &[]);
    assert_eq!(texts(&told["commits_lost"], "subject"), ["only there"], "{told}");
    assert!(told["refs"].as_array().unwrap().is_empty(), "{told}");
    sandbox.restore(&id, &[]);
    assert_eq!(tree.git(&["log", "-1", "--format=%s"]).trim(), "only there");
    // Its branch and all other commits stay with the repository.
    repository.git(&["worktree", "remove", "--force", "tree"]);
    repository.git(&["worktree", "add", "-q", "-b", "feature", "tree"]);
    let id = sandbox.launch(&path, "git worktree remove tree");
    let told = subject(&id, &[]);
    assert_eq!(told["state"], "deleted");
    for none in ["refs", "commits_lost", "commits_given_up"] {
        assert!(told[none].as_array().unwrap().is_empty(), "{none}: {told}");
    }
    let id = sandbox.launch(&path, "git worktree add -q tree feature");
    let told = subject(&id, &[]);
    assert_eq!(told["state"], "added");
    for none in ["refs", "commits_made"] {
        assert!(told[none].as_array().unwrap().is_empty(), "{none}: {told}");
    }
}

/// A repository with branches of its own, in whose place the agent puts a linked work tree of another one.
#[test]
fn a_repository_that_became_a_linked_work_tree_shows_its_lost_branches() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    repository.git(&["branch", "feature"]);
    let inner = Repository::with_history(&repository.path.join("sub"), 3);
    inner.git(&["branch", "lost"]);
    let id = sandbox.launch(&repository.path, "rm -rf sub; git worktree add -q sub feature");
    let all = repositories(&sandbox, &id, &[]);
    let told = all.iter().find(|told| told["path"] == "sub/.git");
    let told = told.expect("the repository that was replaced");
    assert_eq!(
        texts(&told["refs"], "name"),
        ["refs/heads/lost", "refs/heads/main"],
        "{told}"
    );
    assert!(!texts(&told["commits_lost"], "subject").is_empty(), "{told}");
}

/// A summary that cannot be made is no empty one.
#[test]
fn refs_that_cannot_be_read_are_named_when_they_change() {
    for format in ["--ref-format=reftable", "--object-format=sha256"] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        fs::create_dir_all(&project).unwrap();
        let repository = Repository { path: project };
        if !repository.try_git(&["init", "-q", "-b", "main", format, "."]) {
            crate::support::machine::skip(format, "this git knows no such format");
            continue;
        }
        repository.git(&["config", "user.name", "me"]);
        repository.git(&["config", "user.email", "me@x"]);
        Build::at(&repository.path).file("README", "text\n");
        repository.commit("first");
        repository.git(&["branch", "feature"]);
        let id = sandbox.launch(&repository.path, "git branch -q -D feature");
        sandbox.jackin(["diff", &id]).ok().shows("is not understood");
        let id = sandbox.launch(&repository.path, "touch README; git status");
        sandbox.jackin(["diff", &id]).ok().hides("is not understood");
    }
}

#[test]
fn excluded_objects_are_no_damage() {
    let sandbox = Sandbox::new();
    sandbox.configure("config.toml", "[recovery.git]\ndir = \"state\"\n");
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    let id = sandbox.launch(
        &repository.path,
        &format!("echo z > z; git add z; {AGENT} commit -qm z"),
    );
    let all = repositories(&sandbox, &id, &[]);
    let [told] = &all[..] else { panic!("{all:?}") };
    let doubt = ".git/objects is excluded from the snapshot: commits cannot be listed";
    assert_eq!(texts(&told["commits_made"], "id"), [""; 0]);
    assert_eq!(told["doubts"], serde_json::json!([doubt]), "{told}");
    // The live repository has them.
    let all = repositories(&sandbox, &id, &["--now"]);
    let [told] = &all[..] else { panic!("{all:?}") };
    assert_eq!(
        texts(&told["commits_lost"], "subject").len() + texts(&told["commits_made"], "subject").len(),
        1
    );
    assert_eq!(told["doubts"], serde_json::json!([]), "{told}");
}
