//! What is forgotten is in no byte of the store any more, and everything else restores as before.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::replicas;
use crate::retention::{is_whole, rules};
use crate::support::bucket::Bucket;
use crate::support::build::noise;
use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::search::holds;
use crate::support::tree::Tree;

/// A secret that is in no other file.
pub(crate) const FIRST: &str = "sk-live-4Zq8-the-first-secret-of-the-shop";
const SECOND: &str = "sk-live-9Xw2-the-second-secret-of-the-shop";

/// Every file of the store, as it is and decompressed, that has `text` in it.
pub(crate) fn found_in(sandbox: &Sandbox, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![sandbox.store()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let raw = fs::read(&path).unwrap();
            let plain = match path.extension() {
                Some(end) if end == "zst" => zstd::stream::decode_all(&*raw).unwrap(),
                _ => Vec::new(),
            };
            if [raw, plain].iter().any(|bytes| holds(bytes, text.as_bytes())) {
                found.push(path);
            }
        }
    }
    found
}

/// Two sessions with a baseline, checkpoints, closing and emergency snapshots, most of them with a secret in `.env`.
pub(crate) struct Leak {
    pub(crate) project: PathBuf,
    pub(crate) first: String,
    pub(crate) second: String,
    /// Session and name of a snapshot, and the tree as it was then.
    pub(crate) trees: Vec<(String, String, Tree)>,
}

impl Leak {
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        let project = sandbox.project("shop");
        // Mostly live whatever goes: it is the secret alone that must not stay with it.
        for number in 0..20 {
            let content = noise(&format!("file {number}"), 20_000);
            fs::write(project.join(format!("file-{number}")), content).unwrap();
        }
        fs::write(project.join(".env"), format!("KEY={FIRST}\n")).unwrap();
        let mut leak = Self {
            first: sandbox.begin(&project),
            second: String::new(),
            project,
            trees: Vec::new(),
        };
        leak.remember(&leak.first.clone(), "baseline");
        fs::write(leak.project.join(".env"), format!("KEY={SECOND}\n")).unwrap();
        fs::write(leak.project.join("made"), "by the agent\n").unwrap();
        let step = ["checkpoint", &leak.first, "--name", "step"];
        sandbox.jackin(step).ok();
        leak.remember(&leak.first.clone(), "step");
        fs::write(leak.project.join("file-3"), "changed\n").unwrap();
        sandbox.jackin(["end", &leak.first]).ok();
        leak.remember(&leak.first.clone(), "closing");
        sandbox.jackin(["restore", &leak.first, "--yes", "file-3"]).ok();
        leak.second = sandbox.begin(&leak.project);
        leak.remember(&leak.second.clone(), "baseline");
        fs::write(leak.project.join("file-4"), "changed, too\n").unwrap();
        sandbox.jackin(["end", &leak.second]).ok();
        leak.remember(&leak.second.clone(), "closing");
        leak
    }

    fn remember(&mut self, session: &str, name: &str) {
        let tree = Tree::read(&self.project);
        self.trees.push((session.to_owned(), name.to_owned(), tree));
    }

    /// Every snapshot but for the secret is what it was.
    pub(crate) fn restores_without(&self, sandbox: &Sandbox, gone: &str) {
        for (session, name, tree) in &self.trees {
            let written = written(sandbox, session, name);
            assert_same_tree(&tree.without(gone), &written.without(gone));
            assert!(!written.has(gone), "{session} {name}");
        }
    }
}

fn written(sandbox: &Sandbox, session: &str, name: &str) -> Tree {
    let copy = sandbox
        .scratch("copy")
        .with_extension(format!("{session}-{name}"));
    let to = copy.to_str().unwrap();
    sandbox
        .jackin(["restore", session, "--from", name, "--to", to, "--yes"])
        .ok();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    let tree = Tree::read(&copy);
    fs::remove_dir_all(&copy).unwrap();
    tree
}

fn forget(sandbox: &Sandbox, project: &Path, more: &[&str]) -> Run {
    let args = ["forget", "--path", ".env"]
        .into_iter()
        .chain(more.iter().copied());
    sandbox.command(args).inside(project).run()
}

#[test]
fn no_byte_of_a_forgotten_secret_stays_and_everything_else_restores() {
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    assert!(!found_in(&sandbox, FIRST).is_empty() && !found_in(&sandbox, SECOND).is_empty());
    let plan = forget(&sandbox, &leak.project, &["--dry-run"]).ok();
    plan.shows("1 path to forget in 6 snapshots of 2 sessions")
        .shows("still exists: snapshots of later sessions store it again")
        .shows("to apply: jackin recovery forget --path .env");
    assert!(!found_in(&sandbox, FIRST).is_empty(), "a dry run deleted");
    forget(&sandbox, &leak.project, &[])
        .code(4)
        .shows("not confirmed");
    assert!(
        !found_in(&sandbox, FIRST).is_empty(),
        "an unconfirmed run deleted"
    );
    let done = forget(&sandbox, &leak.project, &["--yes"]).ok();
    done.shows("freed; receipt").hides(FIRST).hides(SECOND);
    for secret in [FIRST, SECOND] {
        assert_eq!(found_in(&sandbox, secret), Vec::<PathBuf>::new());
    }
    forget(&sandbox, &leak.project, &["--content", "--yes"])
        .code(2)
        .shows(".env was forgotten before, so no snapshot has it");
    leak.restores_without(&sandbox, ".env");
    is_whole(&sandbox);
    sandbox.jackin(["rebuild"]).ok();
    is_whole(&sandbox);
    sandbox.jackin(["doctor"]).ok();
    leak.restores_without(&sandbox, ".env");
    let log = sandbox.jackin(["log"]).ok();
    log.shows("forgot .env of 6 snapshots");
    // What comes after it does not bring it back either.
    sandbox.jackin(["prune", "--yes"]).ok();
    fs::remove_file(leak.project.join(".env")).unwrap();
    sandbox.session(&leak.project, |project| {
        fs::write(project.join("later"), "later").unwrap()
    });
    for secret in [FIRST, SECOND] {
        assert_eq!(found_in(&sandbox, secret), Vec::<PathBuf>::new());
    }
    is_whole(&sandbox);
    forget(&sandbox, &leak.project, &["--yes"])
        .code(2)
        .shows("no snapshot has");
}

#[test]
fn nothing_of_a_forgotten_path_stays_at_a_content_that_other_paths_keep() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("public"), noise("public", 30_000)).unwrap();
    fs::write(project.join("dead"), noise("dead", 200_000)).unwrap();
    sandbox.launch(&project, "true");
    fs::remove_file(project.join("dead")).unwrap();
    let codename = project.join("codename");
    fs::copy(project.join("public"), &codename).unwrap();
    let tagged = rustix::fs::lsetxattr(
        &codename,
        "user.token",
        SECOND.as_bytes(),
        rustix::fs::XattrFlags::empty(),
    );
    fs::write(project.join("filler"), noise("filler", 2_000_000)).unwrap();
    sandbox.launch(&project, "true");
    rules(&sandbox, "instances = 1");
    let last = sandbox.launch(&project, "true");
    sandbox.jackin(["prune", "--yes"]).ok();
    // Half of the first archive is dead without its session: what is left of it is repacked, under the first name that has it now. A
    // manifest has the names alone, without a slash, and keeps them for its gaps.
    let named = || {
        let mut found = found_in(&sandbox, "/codename");
        found.retain(|path| path.extension().is_some_and(|end| end == "zst"));
        found
    };
    assert_eq!(named().len(), 1, "no member has the name");
    assert_eq!(found_in(&sandbox, SECOND).len(), usize::from(tagged.is_ok()));
    let words = ["forget", "--path", "codename", "--yes"];
    sandbox.command(words).inside(&project).run().ok();
    assert_eq!(named(), Vec::<PathBuf>::new());
    assert_eq!(found_in(&sandbox, SECOND), Vec::<PathBuf>::new());
    is_whole(&sandbox);
    let left = written(&sandbox, &last, "closing");
    assert_same_tree(&Tree::read(&project).without("codename"), &left);
}

#[test]
fn a_forgotten_path_is_neither_made_nor_deleted_and_diffs_say_so() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("old.env"), FIRST).unwrap();
    fs::write(project.join("code"), "one\n").unwrap();
    let id = sandbox.session(&project, |project| {
        fs::remove_file(project.join("old.env")).unwrap();
        fs::create_dir(project.join("new")).unwrap();
        fs::write(project.join("new/.env"), SECOND).unwrap();
        fs::write(project.join("code"), "two\n").unwrap();
    });
    let args = ["forget", &id, "--path", "old.env", "--path", "new/.env", "--yes"];
    sandbox.command(args).inside(&project).run().ok();
    sandbox
        .jackin(["diff", &id])
        .ok()
        .shows("old.env: forgotten: deleted from the store on request")
        .shows("new/.env: forgotten: deleted from the store on request");
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "one\n");
    assert!(!project.join("old.env").exists());
    assert_eq!(fs::read_to_string(project.join("new/.env")).unwrap(), SECOND);
    assert_eq!(found_in(&sandbox, FIRST), Vec::<PathBuf>::new());
    // The emergency snapshot of that restore left it out, although it was there.
    assert_eq!(found_in(&sandbox, SECOND), Vec::<PathBuf>::new());
    let asked = ["restore", &id, "--yes", "old.env"];
    // Asked for by its name, that is no success.
    let asked = sandbox.command(asked).inside(&project).run().code(6);
    assert!(asked.text().contains("forgotten"), "{asked}");
    assert!(!project.join("old.env").exists());
    let copy = sandbox.scratch("copy");
    let to = ["restore", &id, "--to", copy.to_str().unwrap(), "--yes", "old.env"];
    for words in [&to[..], &["cat", &id, "old.env"]] {
        let run = sandbox.command(words).inside(&project).run().code(5);
        run.shows("old.env was deleted from the store with forget");
    }
}

/// Committed content stays in objects of git, loose and packed, and the plan names their directory.
#[test]
fn a_git_directory_that_has_the_content_is_named() {
    for is_packed in [false, true] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        let repository = Repository::with_history(&project, 1);
        fs::write(project.join(".env"), FIRST).unwrap();
        repository.git(&["add", "-f", ".env"]);
        repository.commit("a slip");
        if is_packed {
            repository.git(&["gc", "-q"]);
        }
        fs::write(project.join("own.env"), SECOND).unwrap();
        let id = sandbox.launch(&project, "echo more > notes");
        let told = forget(&sandbox, &project, &["--dry-run", "--json"]).ok().json();
        assert_eq!(
            told["in_git"][0]["path"],
            project.join(".git").to_str().unwrap(),
            "{told}"
        );
        let run = forget(&sandbox, &project, &["--dry-run"]).ok();
        run.shows("Git has the same content")
            .shows("shop/.git in 2 snapshots");
        // With the directory nothing stays.
        let both = [
            "forget", &id, "--path", ".env", "--path", ".git", "--json", "--yes",
        ];
        let told = sandbox.command(both).inside(&project).run().ok().json();
        assert_eq!(told["in_git"], serde_json::json!([]), "{told}");
        let own = ["forget", &id, "--path", "own.env", "--json", "--yes"];
        let told = sandbox.command(own).inside(&project).run().ok().json();
        assert_eq!(told["in_git"], serde_json::json!([]), "{told}");
    }
}

#[test]
fn the_undo_of_a_restore_that_needs_a_forgotten_path_says_so() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join(".env"), FIRST).unwrap();
    fs::write(project.join("code"), "one\n").unwrap();
    let id = sandbox.session(&project, |project| {
        fs::write(project.join(".env"), SECOND).unwrap();
        fs::write(project.join("code"), "two\n").unwrap();
    });
    sandbox.restore(&id, &[]);
    assert_eq!(fs::read_to_string(project.join(".env")).unwrap(), FIRST);
    forget(&sandbox, &project, &["--yes"]).ok();
    let undone = sandbox.jackin(["undo", &id, "--yes"]);
    assert_eq!(undone.exit(), Some(6), "{undone}");
    assert!(undone.text().contains("forgotten"), "{undone}");
    assert_eq!(fs::read_to_string(project.join(".env")).unwrap(), FIRST);
    assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "two\n");
    for secret in [FIRST, SECOND] {
        assert_eq!(found_in(&sandbox, secret), Vec::<PathBuf>::new());
    }
}

#[test]
fn the_undo_of_a_restore_below_a_forgotten_directory_says_so() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::create_dir(project.join("d")).unwrap();
    fs::write(project.join("d/k"), FIRST).unwrap();
    fs::write(project.join("code"), "one\n").unwrap();
    let id = sandbox.session(&project, |project| {
        fs::remove_file(project.join("d/k")).unwrap();
        fs::write(project.join("code"), "two\n").unwrap();
    });
    sandbox.restore(&id, &[]);
    let forget = sandbox.command(["forget", "--path", "d", "--yes"]);
    forget.inside(&project).run().ok();
    sandbox.jackin(["undo", &id, "--yes"]).code(6).shows("forgotten");
    assert!(project.join("d/k").exists());
    assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "two\n");
}

#[test]
fn other_paths_keep_the_same_content_and_are_named_unless_it_goes_everywhere() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join(".env"), FIRST).unwrap();
    fs::write(project.join("copy of it"), FIRST).unwrap();
    fs::hard_link(project.join(".env"), project.join("linked")).unwrap();
    fs::hard_link(project.join(".env"), project.join("twice")).unwrap();
    let id = sandbox.session(&project, |_| {});
    let before = Tree::read(&project);
    let plan = forget(&sandbox, &project, &["--dry-run", "--json"]).ok().json();
    let mut kept: Vec<&str> = plan["copies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|copy| copy["path"].as_str().unwrap())
        .collect();
    kept.sort_unstable();
    let host = |name: &str| project.join(name).to_str().unwrap().to_owned();
    assert_eq!(kept, [host("copy of it"), host("linked"), host("twice")]);
    assert!(plan["contents"].as_array().unwrap().is_empty(), "{plan}");
    forget(&sandbox, &project, &["--yes"])
        .ok()
        .shows("The same content stays in the store for other paths")
        .shows("--content");
    assert!(!found_in(&sandbox, FIRST).is_empty());
    let left = written(&sandbox, &id, "baseline");
    assert!(!left.has(".env") && left.has("linked") && left.has("copy of it"));
    assert_eq!(before.at("linked").kind, left.at("linked").kind);
    is_whole(&sandbox);
    let args = ["forget", "--path", "linked", "--content", "--yes"];
    sandbox.command(args).inside(&project).run().ok();
    assert_eq!(found_in(&sandbox, FIRST), Vec::<PathBuf>::new());
    let left = written(&sandbox, &id, "closing");
    assert!(!left.has("linked") && !left.has("twice") && !left.has("copy of it"));
    is_whole(&sandbox);
}

#[test]
fn a_forgotten_directory_goes_with_everything_below_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::create_dir_all(project.join("keys/deep")).unwrap();
    fs::write(project.join("keys/deep/one"), FIRST).unwrap();
    std::os::unix::fs::symlink(SECOND, project.join("keys/link")).unwrap();
    fs::write(project.join("code"), "one\n").unwrap();
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("code"), "two\n").unwrap()
    });
    let args = ["forget", "--path", "keys/", "--yes", "--json"];
    let done = sandbox.command(args).inside(&project).run().ok().json();
    assert_eq!(done["outcome"], "forgotten");
    assert_eq!(done["paths"][0]["files"], 1);
    assert_eq!(done["contents"].as_array().unwrap().len(), 1);
    assert!(done["receipt"].is_u64(), "{done}");
    // The target of a link is in manifests alone.
    for secret in [FIRST, SECOND] {
        assert_eq!(found_in(&sandbox, secret), Vec::<PathBuf>::new());
    }
    fs::remove_dir_all(project.join("keys")).unwrap();
    let _ = sandbox.jackin(["restore", &id, "--yes"]);
    assert!(!project.join("keys").exists());
    assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "one\n");
    is_whole(&sandbox);
}

#[test]
fn one_session_goes_with_all_of_its_content_and_the_others_stay() {
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    sandbox
        .jackin(["forget", &leak.first, "--yes"])
        .ok()
        .shows("1 session with 4 snapshots to forget")
        .shows(&format!(
            "The last restore of {} cannot be undone after this.",
            leak.first
        ));
    assert_eq!(found_in(&sandbox, FIRST), Vec::<PathBuf>::new());
    assert!(!found_in(&sandbox, SECOND).is_empty(), "the other session has it");
    for (session, name, tree) in leak.trees.iter().filter(|(session, ..)| *session == leak.second) {
        assert_same_tree(tree, &written(&sandbox, session, name));
    }
    is_whole(&sandbox);
    sandbox.jackin(["doctor"]).ok();
    sandbox
        .jackin(["restore", &leak.first, "--yes"])
        .code(5)
        .shows(&format!("{} was forgotten on ", leak.first))
        .hides("pruned");
    sandbox.jackin(["log"]).ok().shows("forgot");
    sandbox.jackin(["forget", &leak.second, "--yes"]).ok();
    assert_eq!(found_in(&sandbox, SECOND), Vec::<PathBuf>::new());
    let archives = fs::read_dir(sandbox.store().join("archives")).unwrap().count();
    assert_eq!(archives, 0);
    is_whole(&sandbox);
}

#[test]
fn sessions_that_ended_long_ago_go_and_pinned_and_active_ones_stay() {
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    let other = sandbox.project("other");
    let active = sandbox.begin(&other);
    sandbox.jackin(["pin", &leak.second]).ok();
    sandbox
        .jackin(["forget", "--older-than", "1d", "--any", "--yes"])
        .ok()
        .shows("No session is old enough to forget.");
    let planned = sandbox
        .jackin(["forget", "--older-than", "0m", "--any", "--dry-run", "--json"])
        .ok()
        .json();
    assert_eq!(planned["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(planned["kept_sessions"]["pinned"], 1);
    sandbox
        .jackin(["forget", "--older-than", "0m", "--any", "--yes"])
        .ok();
    sandbox
        .jackin(["list"])
        .ok()
        .shows(&leak.second)
        .shows(&active)
        .hides(&leak.first);
    is_whole(&sandbox);
    sandbox.jackin(["end", &active]).ok();
}

#[test]
fn an_age_means_the_sessions_here_unless_all_are_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.configure("config.toml", "[recovery.retention]\ninstances = 40\n");
    let projects = ["shop", "web"].map(|name| sandbox.project(name));
    let [here, there] = projects.each_ref().map(|project| {
        fs::write(project.join("a"), "a\n").unwrap();
        sandbox.launch(project, "echo b > a")
    });
    for number in 0..25 {
        sandbox.launch(&projects[0], &format!("echo {number} > a"));
    }
    let old = |project: &Path, more: &[&str]| {
        let args = ["forget", "--older-than", "0m", "--dry-run"];
        let run = sandbox.command([&args, more].concat()).inside(project).run();
        run.ok()
    };
    let shop = projects[0].to_str().unwrap();
    old(&projects[0], &[])
        .shows(&format!("Sessions that cover {shop}:"))
        .shows(&here)
        .hides(&there)
        .shows("and 6 more (--all lists them)")
        .shows("1 session elsewhere")
        .shows("forget --older-than 0m --any --dry-run")
        .shows("to apply: jackin recovery forget --older-than 0m\n");
    let all = old(&projects[0], &["--any", "--all"]);
    all.has(&there)
        .has("WHERE")
        .has(shop)
        .has("27 sessions with 54 snapshots");
    assert!(!all.text().contains("more (--all"), "{all}");
    let document = old(&projects[1], &["--json"]).json();
    assert_eq!(document["sessions"][0]["instance"], there.as_str(), "{document}");
    assert_eq!(
        document["sessions"][0]["mounts"][0],
        projects[1].to_str().unwrap()
    );
    assert_eq!(document["elsewhere"], 26);
    // Outside of every session none is meant.
    old(&sandbox.sources(), &[])
        .shows("No session that covers")
        .hides(&there);
    let done = ["forget", "--older-than", "0m", "--yes"];
    sandbox.command(done).inside(&projects[1]).run().ok();
    let list = sandbox.jackin(["list"]).ok();
    list.shows(&here).shows("1 session more, forgotten").hides(&there);
}

#[test]
fn a_forgotten_session_is_chosen_by_nothing_and_says_when_it_was_forgotten() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("a"), "a\n").unwrap();
    fs::write(project.join("notes"), "kept\n").unwrap();
    let run = |args: &[&str]| sandbox.command(args).inside(&project).run();
    let named = |name: &str, script: &str| {
        run(&["launch", "--name", name, "--", "sh", "-c", script]).ok();
        sandbox.newest()
    };
    let older = named("notes-2", "echo older > a");
    run(&["restore", "--yes"]).ok();
    let other = named("notes-2", "echo other > a");
    let newer = named("notes", "echo newer > a; rm notes");
    run(&["restore", "--yes"]).ok();
    let receipt = |id: &str| {
        let done = run(&["forget", id, "--yes", "--json"]).ok().json();
        done["receipt"].as_u64().unwrap()
    };
    receipt(&other);
    let receipt = receipt(&newer);
    // Neither the default nor a number nor a name means it.
    for args in [&["diff"][..], &["diff", "@1"], &["show"], &["diff", "--any"]] {
        run(args).ok().shows(&older).hides(&newer);
    }
    for args in [&["undo", "--dry-run"][..], &["undo", "--dry-run", "--any"]] {
        let undo = run(args).code_in(&[0, 6]);
        undo.shows(&older).hides("there is no snapshot");
    }
    run(&["diff", "@2"]).code(5).shows("1 session covers");
    run(&["diff", "notes-2"]).ok();
    // Its name is free for the file.
    fs::write(project.join("notes"), "edited\n").unwrap();
    run(&["restore", "notes", "--dry-run"])
        .code_in(&[0, 6])
        .hides("both a session");
    // Named in full it says what became of it.
    let told = format!("{newer} was forgotten on 2");
    for args in [
        &["diff", newer.as_str()][..],
        &["restore", &newer, "--yes"],
        &["undo", &newer, "--yes"],
        &["fork", &newer],
        &["pin", &newer],
        &["forget", &newer, "--yes"],
    ] {
        let refused = run(args).code(5);
        refused.has(&told).has(&format!("(receipt {receipt})"));
        refused.has(&format!("log {newer}"));
        assert!(!refused.text().contains("pruned"), "{refused}");
    }
    run(&["show", &newer])
        .ok()
        .shows("forgotten on 2")
        .shows(&format!("(receipt {receipt})"))
        .hides("retention");
    let shown = run(&["show", &newer, "--json"]).ok().json();
    assert_eq!(shown["instance"]["forgotten"]["receipt"], receipt);
    run(&["log", &newer]).ok().shows("forgot");
    run(&["list"]).ok().shows("2 sessions more, forgotten");
    run(&["forget", &older, "--yes"]).ok();
    run(&["undo"]).code(5).shows("nothing to undo");
    run(&["diff", "@1"]).code(5).shows("no sessions cover");
}

#[test]
fn a_path_that_is_no_session_is_proposed_as_a_path() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    for file in ["creds.txt", "more.txt"] {
        fs::write(project.join(file), "a\n").unwrap();
    }
    sandbox.launch(&project, "echo b > creds.txt");
    let run = |args: &[&str]| sandbox.command(args).inside(&project).run();
    run(&["forget", "creds.txt", "--yes"])
        .code(5)
        .shows("jackin recovery forget --path creds.txt\n");
    run(&["forget", "--path", "creds.txt", "more.txt", "--yes"])
        .code(5)
        .shows("repeat --path")
        .shows("forget --path creds.txt --path more.txt\n");
    run(&["undo", "creds.txt"])
        .code(5)
        .shows("`undo` takes a session")
        .shows("jackin recovery restore creds.txt\n");
}

#[test]
fn what_must_stay_is_refused_with_the_command_that_helps() {
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    sandbox.jackin(["pin", &leak.first, "step"]).ok();
    forget(&sandbox, &leak.project, &["--yes"])
        .code(1)
        .shows("is pinned")
        .shows(&format!("unpin {}", leak.first));
    sandbox
        .jackin(["forget", &leak.first, "--yes"])
        .code(1)
        .shows("to unpin it");
    // Of the other session alone it goes, and stays in the pinned one.
    let only = ["forget", &leak.second, "--path", ".env", "--yes"];
    sandbox.command(only).inside(&leak.project).run().ok();
    assert!(!found_in(&sandbox, FIRST).is_empty());
    sandbox.jackin(["unpin", &leak.first]).ok();
    let active = sandbox.begin(&leak.project);
    for args in [
        vec!["forget", "--path", ".env", "--yes"],
        vec!["forget", &active, "--yes"],
    ] {
        let run = sandbox.command(args).inside(&leak.project).run();
        run.code(3).shows("is active").shows(&format!("end {active}"));
    }
    sandbox.jackin(["end", &active]).ok();
    let whole = sandbox
        .command(["forget", "--path", ".", "--yes"])
        .inside(&leak.project)
        .run();
    whole.code(2).shows("to delete the whole session");
    let nowhere = sandbox
        .command(["forget", "--path", "no/such", "--yes"])
        .inside(&leak.project)
        .run();
    nowhere.code(2).shows("no snapshot has");
    sandbox.jackin(["forget"]).code(2).shows("--older-than");
    sandbox.jackin(["forget", "--content", "--yes"]).code(2);
    sandbox
        .jackin(["forget", "--older-than", "soon"])
        .code(2)
        .shows("such as 12h, 7d or 4w");
    sandbox
        .jackin(["forget", "--older-than", "7d", &leak.first])
        .code(2);
    sandbox
        .jackin(["forget", "nobody", "--yes"])
        .code(5)
        .shows("not found");
    sandbox
        .jackin(["forget", "--replica", "--yes"])
        .code(2)
        .shows("replicate is not set");
    forget(&sandbox, &leak.project, &["--yes"]).ok();
    is_whole(&sandbox);
}

#[test]
fn copies_outside_of_the_store_are_named() {
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    let file = sandbox.scratch("shop.tar.zst");
    sandbox
        .jackin(["export", &leak.first, file.to_str().unwrap()])
        .ok();
    let fork = sandbox.scratch("fork");
    sandbox.jackin(["fork", &leak.first, fork.to_str().unwrap()]).ok();
    forget(&sandbox, &leak.project, &["--yes"])
        .ok()
        .shows("the export")
        .shows("the fork")
        .shows("delete it yourself");
    let after = sandbox.scratch("after.tar.zst");
    sandbox
        .jackin(["export", &leak.first, after.to_str().unwrap()])
        .ok();
    let plain = zstd::stream::decode_all(fs::File::open(&after).unwrap()).unwrap();
    assert!(!plain.windows(FIRST.len()).any(|part| part == FIRST.as_bytes()));
    let other = Sandbox::new();
    other.jackin(["import", after.to_str().unwrap(), "--yes"]).ok();
    let imported = other.newest();
    let copy = written(&other, &imported, "baseline");
    assert!(!copy.has(".env") && copy.has("file-1"));
    is_whole(&other);
}

#[test]
fn a_copy_in_an_object_store_loses_it_when_asked_and_an_import_does_not_bring_it_back() {
    let bucket = Bucket::start();
    let sandbox = replicas::copied("");
    let project = sandbox.project("shop");
    fs::write(project.join(".env"), FIRST).unwrap();
    fs::write(project.join("code"), noise("code", 30_000)).unwrap();
    let begun = replicas::signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    replicas::signed(&sandbox, &bucket, &["end", &id]).ok();
    replicas::signed(&sandbox, &bucket, &["replicate"]).ok();
    let archives = || {
        let names = bucket
            .objects()
            .into_iter()
            .map(|path| path.to_string_lossy().into_owned());
        names
            .filter(|name| name.contains("/archives/"))
            .collect::<Vec<_>>()
    };
    let before = archives();
    let args = ["forget", "--path", ".env", "--yes"];
    let run = bucket.signed(sandbox.command(args).inside(&project)).run().ok();
    run.shows("still has it").shows("forget --replica");
    replicas::signed(&sandbox, &bucket, &["replicate"]).ok();
    assert!(
        before.iter().all(|name| archives().contains(name)),
        "it was not asked to delete there"
    );
    // It is planned and asked about as everything else that is deleted.
    let planned = replicas::signed(&sandbox, &bucket, &["forget", "--replica", "--dry-run"]).ok();
    planned
        .shows("are deleted in s3://")
        .shows("to apply: jackin recovery forget --replica\n");
    replicas::signed(&sandbox, &bucket, &["forget", "--replica"]).code(4);
    assert!(before.iter().all(|name| archives().contains(name)), "{before:?}");
    replicas::signed(&sandbox, &bucket, &["forget", "--replica", "--yes"])
        .ok()
        .shows("deleted in s3://");
    assert!(before.iter().all(|name| !archives().contains(name)), "{before:?}");
    let (fresh, _) = replicas::brought_back(&bucket, &[]);
    let copy = written(&fresh, &id, "baseline");
    assert!(!copy.has(".env") && copy.has("code"));
    assert_eq!(found_in(&fresh, FIRST), Vec::<PathBuf>::new());
    is_whole(&fresh);
}

#[test]
fn redirects_lead_straight_to_what_is_there_after_any_number_of_forgets() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("many");
    let names: Vec<String> = (0..5).map(|number| format!("secret-{number}")).collect();
    for name in &names {
        fs::write(project.join(name), noise(name, 3_000)).unwrap();
    }
    fs::write(project.join("kept"), "kept\n").unwrap();
    let id = sandbox.launch(&project, "rm kept secret-*");
    for name in &names {
        let words = ["forget", "--path", name, "--yes"];
        sandbox.command(words).inside(&project).run().ok();
    }
    let archives = sandbox.store().join("archives");
    let mut redirects = 0;
    for entry in fs::read_dir(&archives).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "moved") {
            let text = fs::read_to_string(&path).unwrap();
            let moved: serde_json::Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
            let into = moved["into"]["id"].as_str().unwrap();
            assert!(
                archives.join(format!("{into}.tar.zst")).exists(),
                "{path:?} leads to {into}"
            );
            redirects += 1;
        }
    }
    assert!(redirects > 0);
    is_whole(&sandbox);
    sandbox.restore(&id, &[]);
    assert_eq!(fs::read_to_string(project.join("kept")).unwrap(), "kept\n");
}
