//! `fork`: a snapshot in a directory of its own is exactly what was captured, nothing else is touched, its reference is known, and a kill
//! or a failure leaves nothing behind.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent_state::configure;
use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::machine::{NOBODY, has_points, is_root, skip};
use crate::support::nasty;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};

/// A project with a session that changed one file.
pub(crate) fn session(sandbox: &Sandbox) -> (PathBuf, String) {
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("main.rs", "before\n")
        .file("sub/b", "b\n")
        .dir("empty")
        .aged();
    let id = sandbox.launch(&project, "echo agent > main.rs");
    (project, id)
}

/// The reference that a run printed: the one line on stdout.
#[track_caller]
pub(crate) fn reference(run: &Run) -> Value {
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "one line\n{run}");
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{run}"));
    assert_eq!(value["provider"], "jackin-recovery", "{run}");
    value
}

/// Where the only mount of a fork lies.
#[track_caller]
pub(crate) fn directory(reference: &Value) -> PathBuf {
    PathBuf::from(reference["mounts"][0]["path"].as_str().unwrap())
}

/// What lies in the directory of forks.
pub(crate) fn forks(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.home().join(".jackin/data/forks"));
    let names = entries.into_iter().flatten().flatten();
    names
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// The tree without what a fork cannot hold (sockets), and without the root itself, which is the fork's own.
fn comparable(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.nodes
        .retain(|path, node| !path.is_empty() && node.kind != Kind::Socket);
    tree
}

#[test]
fn a_fork_is_the_baseline_and_the_source_is_untouched() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("nasty");
    nasty::tree(&project);
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > plain; rm -r deep; echo new > new");
    let live = Tree::read(&project);
    let to = sandbox.scratch("fork");
    let run = sandbox.jackin(["fork", &id, to.to_str().unwrap()]).ok();
    assert_eq!(directory(&reference(&run)), to);
    let forked = Tree::read(&to);
    assert_same_tree(&comparable(&before), &comparable(&forked));
    for (path, node) in &comparable(&before).nodes {
        let modified = forked.at(path).times.modified;
        assert_eq!(node.times.modified, modified, "mtime of {}", path.escape_ascii());
    }
    assert_untouched(&live, &Tree::read(&project));
    assert_eq!(fs::metadata(&to).unwrap().mode() & 0o7777, 0o700);
    let blocks = fs::metadata(to.join("sparse")).unwrap().blocks();
    assert!(blocks < 4096 || crate::support::machine::is_portable(crate::support::machine::NO_HOLES));
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.no_litter();
}

#[test]
fn a_fork_is_named_by_its_id_and_its_branch() {
    let sandbox = Sandbox::new();
    let (_, id) = session(&sandbox);
    let to = sandbox.scratch("fork");
    let made = sandbox.jackin([
        "fork",
        &id,
        to.to_str().unwrap(),
        "--from",
        "closing",
        "--branch",
        "second",
    ]);
    let fork = reference(&made.ok())["id"].as_str().unwrap().to_owned();
    for (at, word) in [fork.as_str(), "second"].into_iter().enumerate() {
        let shown = sandbox.jackin(["show", word, "--json"]).ok().json();
        assert_eq!(
            (&shown["instance"]["id"], &shown["fork"]),
            (&json!(id), &json!(fork))
        );
        let again = sandbox.scratch(&format!("again-{at}"));
        sandbox.jackin(["fork", word, again.to_str().unwrap()]).ok();
        assert_eq!(fs::read_to_string(again.join("main.rs")).unwrap(), "agent\n");
    }
    // A session that is called so comes first.
    sandbox.jackin(["rename", &id, "second"]).ok();
    let shown = sandbox.jackin(["show", "second", "--json"]).ok().json();
    assert_eq!(shown["fork"], json!(null));
    sandbox.jackin(["show", "fk-zzzzzzzzzzzz"]).code(5);
    sandbox.jackin(["restore", &fork, "--dry-run"]).code(5);
}

#[test]
fn an_empty_directory_is_taken_and_another_one_refused() {
    let sandbox = Sandbox::new();
    let (project, id) = session(&sandbox);
    let (empty, full, file) = (
        sandbox.scratch("empty"),
        sandbox.scratch("full"),
        sandbox.scratch("file"),
    );
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o755)).unwrap();
    Build::at(&full).file("x", "x");
    fs::write(&file, "x").unwrap();
    sandbox
        .jackin(["fork", &id, empty.to_str().unwrap(), "--from", "closing"])
        .ok();
    assert_eq!(fs::read_to_string(empty.join("main.rs")).unwrap(), "agent\n");
    assert_eq!(fs::metadata(&empty).unwrap().mode() & 0o7777, 0o700);
    assert!(
        fs::read_dir(&empty).unwrap().count() == 3,
        "nothing of ours stays"
    );
    for refused in [&full, &file, &sandbox.scratch("no/such"), &project.join("below")] {
        let before = Tree::read(&project);
        sandbox
            .jackin(["fork", &id, refused.to_str().unwrap()])
            .code(2)
            .shows(refused.to_str().unwrap());
        assert_untouched(&before, &Tree::read(&project));
    }
    let store = sandbox.store().join("archives/below");
    sandbox.jackin(["fork", &id, store.to_str().unwrap()]).code(2);
    sandbox
        .jackin(["fork", &id, "--from", "nothing"])
        .code(5)
        .shows("nothing");
    sandbox.jackin(["fork", "nobody"]).code(5);
    assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
}

#[test]
fn a_fork_may_lie_in_the_home_whose_agent_directories_a_session_covers() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    let home = sandbox.home();
    Build::at(&home).file(".claude/settings.json", "{}\n");
    sandbox.command(["launch", "shop", "--", "true"]).run().ok();
    let id = sandbox.newest();
    let inside = home.join(".claude/fork");
    sandbox
        .jackin(["fork", &id, inside.to_str().unwrap()])
        .code(2)
        .shows(".claude, which the session covers");
    assert!(!inside.exists());
    let beside = home.join("shop-fork");
    sandbox.jackin(["fork", &id, beside.to_str().unwrap()]).ok();
    assert_eq!(fs::read_dir(&beside).unwrap().count(), 2);
}

#[test]
fn several_lie_side_by_side_and_list_tells_whence_they_come() {
    let sandbox = Sandbox::new();
    let (_, id) = session(&sandbox);
    let one = sandbox.jackin(["fork", &id, "--branch", "one"]).ok();
    let two = sandbox
        .jackin(["fork", &id, "--branch", "two", "--from", "closing"])
        .ok();
    let (one, two) = (reference(&one), reference(&two));
    let place = sandbox.home().join(".jackin/data/forks");
    assert_eq!(fs::metadata(&place).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(directory(&one), place.join(one["id"].as_str().unwrap()));
    let read = |fork: &Value| fs::read_to_string(directory(fork).join("main.rs")).unwrap();
    assert_eq!(
        (read(&one), read(&two)),
        ("before\n".to_owned(), "agent\n".to_owned())
    );
    sandbox
        .jackin(["fork", &id, "--branch", "one"])
        .code(2)
        .shows(one["id"].as_str().unwrap());
    for bad in ["closing", "-x", "a/b", "fk-x", "a b", ""] {
        sandbox.jackin(["fork", &id, &format!("--branch={bad}")]).code(2);
    }
    assert_eq!(forks(&sandbox).len(), 2);
    let list = sandbox.jackin(["list", "--json"]).ok().json();
    let told = list["forks"].as_array().unwrap();
    assert_eq!(told.len(), 2);
    assert_eq!(
        (&told[0]["id"], &told[1]["id"]),
        (&two["id"], &one["id"]),
        "newest first"
    );
    assert_eq!(told[1]["branch"], "one");
    assert_eq!(told[1]["instance"], id.as_str());
    assert_eq!(told[1]["snapshot"], one["snapshot"]);
    assert_eq!(told[1]["is_there"], true);
    // A session that begins in a fork knows where it comes from; one beside it does not.
    let child = sandbox.launch(&directory(&one), "echo other > main.rs");
    let shown = sandbox.jackin(["show", &child, "--json"]).ok().json();
    assert_eq!(shown["instance"]["forked_from"], one["id"]);
    sandbox
        .jackin(["show", &child])
        .ok()
        .shows("forked from")
        .shows(one["id"].as_str().unwrap());
    let list = sandbox.jackin(["list", "--json"]).ok().json();
    assert_eq!(list["instances"][0]["forked_from"], one["id"]);
    assert_eq!(list["instances"][1]["forked_from"], Value::Null);
    fs::remove_dir_all(directory(&two)).unwrap();
    let run = sandbox.jackin(["list"]).ok();
    run.has(&format!(
        "{child} began in the fork {}",
        one["id"].as_str().unwrap()
    ));
    run.has("forks:")
        .has("one")
        .has("(gone)")
        .has(place.to_str().unwrap());
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["forks"].as_array().unwrap().len(), 2);
    assert_eq!(shown["forks"][0]["is_there"], false);
    sandbox.jackin(["log"]).ok().shows("forked");
    sandbox.jackin(["log", "--verify"]).ok();
}

#[test]
fn each_mount_has_a_directory_of_its_own() {
    let sandbox = Sandbox::new();
    for name in ["front", "back"] {
        Build::at(&sandbox.project(name)).file("name", name).aged();
    }
    sandbox.configure(
        "workspaces/shop.toml",
        "[[mounts]]\nsrc = \"~/src/front\"\ndst = \"/front\"\n[[mounts]]\nsrc = \"~/src/back\"\ndst = \"/back\"\n\
         [recovery]\nsnapshot = \"project\"\n",
    );
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    let made = reference(&sandbox.jackin(["fork", "shop"]).ok());
    let mounts = made["mounts"].as_array().unwrap();
    assert_eq!(mounts.len(), 2);
    for mount in mounts {
        let path = Path::new(mount["path"].as_str().unwrap());
        assert_eq!(path.file_name().unwrap().to_str(), mount["label"].as_str());
        let name = fs::read_to_string(path.join("name")).unwrap();
        assert_eq!(mount["label"].as_str().unwrap(), name);
    }
}

#[test]
fn what_root_forks_for_the_operator_is_theirs_to_enter() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = Sandbox::unprivileged().filter(|_| is_root()) else {
        return skip("a fork by sudo", "only root can play both the operator and root");
    };
    for name in ["front", "back"] {
        Build::at(&sandbox.project(name)).file("name", name).aged();
        sandbox.give(&sandbox.sources());
    }
    sandbox.configure(
        "workspaces/shop.toml",
        "[[mounts]]\nsrc = \"~/src/front\"\ndst = \"/front\"\n[[mounts]]\nsrc = \"~/src/back\"\ndst = \"/back\"\n\
         [recovery]\nsnapshot = \"project\"\n",
    );
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    let run = sandbox.command(["fork", "shop"]).by_sudo().run().ok();
    let made = reference(&run);
    let place = sandbox.home().join(".jackin/data/forks");
    for entry in walkdir::WalkDir::new(&place) {
        let entry = entry.unwrap();
        assert_eq!(
            entry.metadata().unwrap().uid(),
            NOBODY,
            "{}",
            entry.path().display()
        );
    }
    sandbox.jackin(["fork", &made.to_string()]).ok();
}

#[test]
fn inside_a_session_it_is_refused() {
    let sandbox = Sandbox::new();
    let (project, id) = session(&sandbox);
    let script = format!("\"$0\" recovery fork {id} ~/out; echo $? > ~/code; true");
    let inside = [
        "launch",
        "--snapshot",
        "project",
        ".",
        "--",
        "sh",
        "-c",
        &script,
        env!("CARGO_BIN_EXE_jackin"),
    ];
    sandbox.command(inside).inside(&project).run().ok();
    assert_eq!(fs::read_to_string(sandbox.home().join("code")).unwrap(), "3\n");
    assert!(!sandbox.home().join("out").exists());
}

#[test]
fn a_killed_one_leaves_nothing_that_looks_finished() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let (project, _) = session(&sandbox);
    Build::at(&project)
        .dir("closed")
        .file("closed/inside", "x\n")
        .mode("closed", 0o555);
    let later = sandbox.launch(&project, "true");
    let before = Tree::read(&project);
    for point in ["fork-made", "fork-written", "fork-verified"] {
        let fork = |args: &[&str]| {
            let words = ["fork", &later].into_iter().chain(args.iter().copied());
            sandbox
                .command(words)
                .with("JACKIN_RECOVERY_FAIL_AT", point)
                .run()
        };
        assert_eq!(fork(&[]).exit(), None, "{point}");
        let left = forks(&sandbox);
        assert!(
            left.iter().all(|name| name.starts_with(".jackin-recovery-")),
            "{left:?}"
        );
        assert_eq!(left.len(), 1, "{point}: {left:?}");
        // The next one sweeps it, and is whole.
        let made = reference(&sandbox.jackin(["fork", &later]).ok());
        assert_eq!(forks(&sandbox), [made["id"].as_str().unwrap()], "{point}");
        fs::remove_dir_all(directory(&made)).unwrap_or_else(|_| {
            let closed = directory(&made).join("closed");
            fs::set_permissions(closed, fs::Permissions::from_mode(0o755)).unwrap();
            fs::remove_dir_all(directory(&made)).unwrap();
        });
        let absent = sandbox.scratch(&format!("absent-{point}"));
        assert_eq!(fork(&[absent.to_str().unwrap()]).exit(), None);
        assert!(!absent.exists(), "{point}");
        let empty = sandbox.scratch(&format!("empty-{point}"));
        fs::create_dir(&empty).unwrap();
        sandbox.give(&empty);
        assert_eq!(fork(&[empty.to_str().unwrap()]).exit(), None);
        assert!(empty.join(".jackin-recovery-unfinished").exists(), "{point}");
        let again = sandbox.jackin(["fork", &later, empty.to_str().unwrap()]).code(2);
        again.shows("holds an unfinished copy").shows("delete it");
    }
    // What somebody else put there stays, whatever it is called.
    let place = sandbox.home().join(".jackin/data/forks");
    let strange = place.join(".jackin-recovery-fk-000000000000");
    Build::at(&strange).file("mine", "mine\n");
    sandbox.jackin(["fork", &later]).ok();
    assert!(strange.join("mine").exists());
    let forks = sandbox.jackin(["list", "--json"]).ok().json()["forks"].clone();
    assert_eq!(forks.as_array().unwrap().len(), 4);
    assert_untouched(&before, &Tree::read(&project));
    sandbox.jackin(["doctor"]).code_in(&[0, 1]);
}

#[test]
fn what_cannot_be_made_is_named() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").file("closed", "c\n").aged();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "true");
    let to = sandbox.scratch("fork");
    let run = sandbox.jackin(["fork", &id, to.to_str().unwrap(), "--json"]).ok();
    assert_eq!(run.json()["paths"], 2);
    if !is_root() {
        return;
    }
    // An owner that an ordinary user cannot give.
    std::os::unix::fs::chown(project.join("a"), Some(1234), Some(4321)).unwrap();
    let id = sandbox.launch(&project, "true");
    let to = sandbox.scratch("partial");
    let run = sandbox
        .jackin(["fork", &id, to.to_str().unwrap(), "--json"])
        .code(6);
    let document = run.json();
    assert_eq!(document["outcome"], "partial");
    assert_eq!(document["failed"][0]["path"], "a");
    assert_eq!(fs::read_to_string(to.join("a")).unwrap(), "a\n");
}

#[test]
fn a_reference_is_taken_back() {
    let sandbox = Sandbox::new();
    let (_, id) = session(&sandbox);
    let run = sandbox
        .jackin(["fork", &id, "--from", "closing", "--branch", "left"])
        .ok();
    let first = reference(&run);
    let text = String::from_utf8(run.stdout).unwrap();
    let shown = sandbox.jackin(["show", text.trim(), "--json"]).ok().json();
    assert_eq!(shown["instance"]["id"], id.as_str());
    assert_eq!(shown["fork"], first["id"]);
    sandbox
        .jackin(["show", text.trim()])
        .ok()
        .shows(first["id"].as_str().unwrap())
        .shows("left");
    let again = reference(&sandbox.jackin(["fork", text.trim()]).ok());
    assert_eq!(again["snapshot"], first["snapshot"]);
    assert_ne!(again["id"], first["id"]);
    let read = fs::read_to_string(directory(&again).join("main.rs")).unwrap();
    assert_eq!(read, "agent\n");
    // The whole document names it as well.
    let document = sandbox.jackin(["fork", &id, "--json"]).ok();
    assert_eq!(document.json()["outcome"], "forked");
    let whole = String::from_utf8(document.stdout).unwrap();
    sandbox.jackin(["fork", whole.trim()]).ok();
    sandbox
        .jackin(["fork", text.trim(), "--from", "baseline"])
        .code(2)
        .shows("--from");
}

#[test]
fn a_reference_that_is_not_ours_or_was_changed_is_refused() {
    let sandbox = Sandbox::new();
    let (_, id) = session(&sandbox);
    let made = reference(&sandbox.jackin(["fork", &id]).ok());
    let other = reference(&sandbox.jackin(["fork", &id, "--from", "closing"]).ok());
    let count = forks(&sandbox).len();
    let with = |key: &str, value: Value| {
        let mut changed = made.clone();
        changed[key] = value;
        changed.to_string()
    };
    let elsewhere = serde_json::json!([{"label": made["mounts"][0]["label"], "path": "/etc"}]);
    let cases = [
        ("{".to_owned(), 2, "reference"),
        ("{}".to_owned(), 2, "provider"),
        (
            "{\"provider\":\"jackin-recovery\"}".to_owned(),
            2,
            "missing field",
        ),
        (with("provider", "docker\u{1b}[31m".into()), 2, "docker"),
        (with("provider", 7.into()), 2, "provider"),
        (with("id", "fk-000000000000".into()), 5, "fk-000000000000"),
        (with("id", "../../etc".into()), 2, "fork id"),
        (with("snapshot", other["snapshot"].clone()), 2, "was changed"),
        (with("snapshot", "sn-../../../x".into()), 2, "snapshot id"),
        (with("mounts", serde_json::json!([])), 2, "was changed"),
        (with("mounts", elsewhere), 2, "was changed"),
        (format!("{made}{made}"), 2, "reference"),
        (format!("{{\"provider\":{}", "[".repeat(10_000)), 2, "reference"),
    ];
    for (text, code, word) in cases {
        for verb in ["fork", "show"] {
            sandbox.jackin([verb, &text]).code(code).harmless().shows(word);
            sandbox.jackin([verb, &text, "--json"]).code(code);
        }
    }
    assert_eq!(forks(&sandbox).len(), count);
}
