//! Sessions without a name: the latest one that covers the current directory, in each of several projects.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::instances;
use crate::support::patience::await_moment;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;
use crate::support::tree::Tree;

fn run(sandbox: &Sandbox, directory: &Path, args: &[&str]) -> Run {
    sandbox.command(args).inside(directory).run()
}

/// Two projects, each damaged by the last of its sessions; with the trees before.
fn two() -> (Sandbox, [(PathBuf, Tree); 2]) {
    let sandbox = Sandbox::new();
    let projects = ["shop", "web"].map(|name| {
        let project = sandbox.project(name);
        Build::at(&project)
            .file("src/main.rs", format!("fn {name}() {{}}\n"))
            .file("docs/a.md", "a\n")
            .file(".env", "SECRET=1\n")
            .aged();
        let before = Tree::read(&project);
        (project, before)
    });
    for (project, _) in &projects {
        let launch = ["launch", "--", "sh", "-c", "rm -rf src .env"];
        run(&sandbox, project, &launch).ok();
    }
    (sandbox, projects)
}

#[test]
fn three_commands_without_a_name_undo_the_agent_in_each_project_in_turn() {
    let (sandbox, projects) = two();
    // The first project's session is not the latest of all.
    for (project, before) in &projects {
        let other = projects.iter().find(|(other, _)| other != project).unwrap();
        let damaged = Tree::read(project);
        let others = Tree::read(&other.0);
        let shown = run(&sandbox, project, &["diff", "--name-status"]).ok();
        assert_eq!(shown.stdout, b"D .env\nD src/\nD src/main.rs\n", "{shown}");
        run(&sandbox, project, &["restore", "--yes"]).ok();
        assert_same_tree(before, &Tree::read(project));
        // From below the root too.
        run(&sandbox, &project.join("src"), &["undo", "--yes"]).ok();
        assert_same_tree(&damaged, &Tree::read(project));
        run(&sandbox, &project.join("docs"), &["undo", "--yes"]).ok();
        assert_same_tree(before, &Tree::read(project));
        assert_untouched(&others, &Tree::read(&other.0));
    }
}

#[test]
fn what_was_chosen_is_said_and_is_the_same_for_every_command() {
    let (sandbox, [(shop, _), (web, _)]) = two();
    let ids: Vec<String> = instances(&sandbox.jackin(["list", "--json"]).ok())
        .into_iter()
        .map(|session| session.id)
        .collect();
    let [of_web, of_shop] = ids.as_slice() else {
        panic!("{ids:?}")
    };
    for (project, id) in [(&shop, of_shop), (&web, of_web)] {
        for args in [
            &["show"][..],
            &["diff"],
            &["restore", "--dry-run"],
            &["show", "@latest"],
        ] {
            let shown = run(&sandbox, project, args).ok();
            let line = format!("session {id} (sh, just now)");
            assert!(shown.ageless().contains(&line), "{shown}");
        }
        let document = run(&sandbox, project, &["show", "--json"]).ok();
        assert_eq!(document.json()["instance"]["id"], id.as_str(), "{document}");
        assert!(document.stderr.is_empty(), "{document}");
        let log = run(&sandbox, project, &["log"]).ok().text();
        assert!(log.contains(id.as_str()), "{log}");
        let listed = run(&sandbox, project, &["list", "."]).ok();
        listed
            .shows(id)
            .hides(if id == of_web { of_shop } else { of_web });
    }
    // Everything, wherever it is typed.
    let all = run(&sandbox, &shop, &["log", "--any"]).ok().text();
    assert!(ids.iter().all(|id| all.contains(id.as_str())), "{all}");
    run(&sandbox, &shop, &["show", "--any"]).ok().shows(of_web);
    run(&sandbox, &shop, &["diff", "@2", "--any"]).ok().shows(of_shop);
}

#[test]
fn words_count_back_among_the_sessions_here() {
    let (sandbox, [(shop, _), (web, _)]) = two();
    for number in 0..2 {
        let script = format!("echo {number} > new");
        run(&sandbox, &shop, &["launch", "-q", "--", "sh", "-c", &script]).ok();
    }
    let ids = |directory: &Path| {
        let listed = run(&sandbox, directory, &["list", ".", "--json"]).ok();
        let all = instances(&listed).into_iter().map(|session| session.id);
        all.collect::<Vec<String>>()
    };
    let known = ids(&shop);
    assert_eq!(known.len(), 3);
    for (at, id) in known.iter().enumerate() {
        let word = format!("@{}", at + 1);
        let shown = run(&sandbox, &shop, &["show", &word, "--json"]).ok();
        assert_eq!(shown.json()["instance"]["id"], id.as_str(), "{word}");
    }
    run(&sandbox, &shop, &["diff", "@4"])
        .code(5)
        .shows("there is no session @4: 3 sessions cover");
    for wrong in ["@0", "@", "@x", "@-1", "@99999999999999999999999999"] {
        run(&sandbox, &shop, &["diff", wrong])
            .code(5)
            .shows("@latest or @1");
    }
    assert_eq!(ids(&web).len(), 1);
}

/// A path says which project is meant, wherever the shell is.
#[test]
fn outside_of_every_session_a_path_names_the_one_that_is_meant() {
    let (sandbox, [(shop, before), (web, _)]) = two();
    let above = sandbox.sources();
    run(&sandbox, &above, &["cat", "shop/src/main.rs"])
        .ok()
        .has("fn shop()");
    let shown = run(&sandbox, &above, &["diff", "web/src", "--name-status"]).ok();
    assert_eq!(shown.stdout, b"D src/\nD src/main.rs\n", "{shown}");
    let others = Tree::read(&web);
    let file = shop.join("src/main.rs");
    run(&sandbox, &above, &["restore", "--yes", file.to_str().unwrap()])
        .ok()
        .has("session rc-");
    run(&sandbox, &above, &["restore", "--yes", "shop"]).ok();
    assert_same_tree(&before, &Tree::read(&shop));
    assert_untouched(&others, &Tree::read(&web));
    run(&sandbox, &above, &["restore", "--yes", "nowhere/f"])
        .code(5)
        .has("no session covers");
}

/// The shell of the operator stays in the directory that was deleted.
#[test]
fn a_shell_in_a_deleted_directory_is_told_how_to_enter_the_restored_one() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("gone");
    Build::at(&project).file("f", "f\n");
    let id = sandbox.launch(&project, "rm -r \"$PWD\"");
    let waits = "mkdir -p \"$0\"; cd \"$0\"; rmdir \"$0\"; exec \"$@\"";
    sandbox
        .command(["restore", &id, "--yes"])
        .through(&["sh", "-c", waits, project.to_str().unwrap()])
        .run()
        .ok()
        .has("cd \"$PWD\"");
    assert!(project.join("f").exists());
    let undone = sandbox.jackin(["undo", "--any", "--yes"]).code_in(&[0, 6]);
    undone.hides("$PWD");
}

#[test]
fn outside_of_every_session_the_error_lists_them_and_nothing_is_touched() {
    let (sandbox, [(shop, _), (web, _)]) = two();
    let outside = sandbox.project("other");
    for args in [&["restore", "--yes"][..], &["diff"], &["show"], &["fork"]] {
        let told = run(&sandbox, &outside, args).code(5);
        for project in [&shop, &web] {
            told.has(project.to_str().unwrap());
        }
        told.has("no session covers").has("--any");
    }
    run(&sandbox, &outside, &["undo", "--yes"])
        .code(5)
        .shows("nothing to undo");
    run(&sandbox, &shop, &["restore", "--yes"]).ok();
    let before = Tree::read(&sandbox.sources());
    run(&sandbox, &outside, &["undo", "--yes"])
        .code(5)
        .shows(shop.to_str().unwrap())
        .hides(web.to_str().unwrap());
    // Above a project one is outside of it, too: a restore there could mean any of them.
    run(&sandbox, &sandbox.sources(), &["restore", "--yes"]).code(5);
    assert_untouched(&before, &Tree::read(&sandbox.sources()));
    // A project whose name is the beginning of another one's is not it.
    let longer = sandbox.project("shopping");
    run(&sandbox, &longer, &["diff"]).code(5);
    run(&sandbox, &outside, &["diff", "--any"])
        .ok()
        .shows("src/main.rs");
}

#[test]
fn undo_is_about_the_last_restore_here() {
    let (sandbox, [(shop, _), (web, _)]) = two();
    let damaged = Tree::read(&web);
    run(&sandbox, &web, &["restore", "--yes"]).ok();
    let restored = Tree::read(&web);
    run(&sandbox, &shop, &["undo", "--yes"])
        .code(5)
        .shows("nothing to undo in")
        .shows("undo --any");
    assert_same_tree(&restored, &Tree::read(&web));
    run(&sandbox, &shop, &["undo", "--any", "--yes"]).ok();
    assert_same_tree(&damaged, &Tree::read(&web));
}

#[test]
fn a_path_needs_no_session_before_it() {
    let (sandbox, [(shop, _), _]) = two();
    // Deleted files are not there to be recognized: the snapshot has them.
    run(&sandbox, &shop, &["restore", "src/main.rs", "--yes"]).ok();
    assert!(shop.join("src/main.rs").exists() && !shop.join(".env").exists());
    run(&sandbox, &shop, &["restore", ".env", "--yes"]).ok();
    assert!(shop.join(".env").exists());
    let shown = run(&sandbox, &shop, &["diff", "src", "docs", "--name-only"]).ok();
    assert_eq!(shown.stdout, b"src\nsrc/main.rs\n", "{shown}");
    // A word that is neither is a session that is not there.
    run(&sandbox, &shop, &["restore", "nonsense", "--yes"])
        .code(5)
        .shows("session \"nonsense\" not found");
    run(&sandbox, &shop, &["restore", "rc-00000000-src", "--yes"]).code(5);
}

#[test]
fn a_word_that_is_a_session_and_a_path_is_refused() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("api/a", "a\n").aged();
    let launch = ["launch", "--name", "api", "--", "rm", "-r", "api"];
    run(&sandbox, &project, &launch).ok();
    let before = Tree::read(&project);
    let told = run(&sandbox, &project, &["restore", "api", "--yes"]).code(2);
    let id = sandbox.newest();
    told.has("both a session and a path").has("./api").has(&id);
    assert_untouched(&before, &Tree::read(&project));
    // What it proposes is understood.
    run(&sandbox, &project, &["restore", "./api", "--dry-run"])
        .ok()
        .shows("api/a");
    run(&sandbox, &project, &["restore", &id, "--dry-run"])
        .ok()
        .shows("api/a");
    // Elsewhere no path is meant.
    run(&sandbox, &sandbox.sources(), &["restore", "api", "--dry-run"]).ok();
}

#[test]
fn a_name_of_a_session_elsewhere_keeps_no_file_here_from_being_meant() {
    let (sandbox, [(shop, _), (web, _)]) = two();
    let launch = ["launch", "--name", "docs", "--", "true"];
    run(&sandbox, &web, &launch).ok();
    run(&sandbox, &shop, &["restore", "docs", "--dry-run"])
        .ok()
        .shows("Nothing to do");
    // Where it is no path, the session is meant.
    run(&sandbox, &sandbox.sources(), &["show", "docs"])
        .ok()
        .shows(web.to_str().unwrap());
    run(&sandbox, &web, &["restore", "docs", "--dry-run"])
        .code(2)
        .shows("both a session and a path");
}

#[test]
fn the_session_is_named_before_files_are_changed() {
    let (sandbox, [(shop, _), _]) = two();
    let id = instances(&run(&sandbox, &shop, &["list", ".", "--json"]).ok())
        .remove(0)
        .id;
    let line = format!("session {id} (sh, just now)");
    for args in [
        &["restore", "--yes"][..],
        &["undo", "--yes"],
        &["restore", &id, "--yes"],
    ] {
        let shown = run(&sandbox, &shop, args).ok();
        assert!(shown.ageless().contains(&line), "{shown}");
        let quiet = run(&sandbox, &shop, &[args, &["-q"]].concat()).ok();
        assert!(!quiet.ageless().contains(&line), "{quiet}");
    }
    let undo = ["undo", &id, "--yes", "--json"];
    assert!(run(&sandbox, &shop, &undo).ok().stderr.is_empty());
}

#[test]
fn an_undo_says_which_restore_it_is_about() {
    let (sandbox, [(shop, _), _]) = two();
    run(&sandbox, &shop, &["restore", "--yes"]).ok();
    let first = run(&sandbox, &shop, &["undo", "--dry-run"]).ok();
    assert!(first.ageless().contains("just now, receipt "), "{first}");
    first.shows("undoing the restore of 2").hides("since");
    for _ in 0..2 {
        run(&sandbox, &shop, &["launch", "-q", "--", "true"]).ok();
    }
    run(&sandbox, &shop, &["undo", "--dry-run"])
        .ok()
        .shows("2 sessions have begun here since");
}

#[test]
fn the_session_that_changed_a_path_last_is_named() {
    let (sandbox, [(shop, _), _]) = two();
    for name in ["third", "fourth"] {
        let launch = ["launch", "--name", name, "--", "touch", "x"];
        run(&sandbox, &shop, &launch).ok();
    }
    let told = run(&sandbox, &shop, &["restore", "src/main.rs", "--yes"]).code(2);
    told.has("jackin recovery restore @3 src/main.rs");
    run(&sandbox, &shop, &["restore", "@3", "src", "--yes"]).ok();
    // One that the latest session changed itself is restored already.
    let launch = ["launch", "--", "rm", "src/main.rs"];
    run(&sandbox, &shop, &launch).ok();
    run(&sandbox, &shop, &["restore", "src/main.rs", "--yes"]).ok();
    run(&sandbox, &shop, &["restore", "src/main.rs", "--yes"])
        .ok()
        .shows("Nothing to do")
        .hides("restore @");
    run(&sandbox, &shop, &["restore", "docs/a.md", "--yes"])
        .ok()
        .hides("restore @");
}

#[test]
fn an_earlier_session_that_was_restored_already_is_not_proposed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("f", "f\n").file("g", "g\n").aged();
    let launch = |script: &str| run(&sandbox, &project, &["launch", "--", "sh", "-c", script]).ok();
    launch("echo first > f");
    launch("echo second > f");
    run(&sandbox, &project, &["restore", "--yes"]).ok();
    launch("echo third > g");
    let restore = || run(&sandbox, &project, &["restore", "f", "--yes"]).ok();
    // The one before it changed the path, too, and was not restored.
    restore().shows("Nothing to do").shows("restore @3 f");
    run(&sandbox, &project, &["restore", "@3", "f", "--yes"]).ok();
    assert_eq!(fs::read_to_string(project.join("f")).unwrap(), "f\n");
    restore().shows("Nothing to do").hides("an earlier session");
}

#[test]
fn a_launch_that_failed_is_said_not_to_count() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").file("b", "b\n").aged();
    run(&sandbox, &project, &["launch", "--", "true"]).ok();
    run(&sandbox, &project, &["show", "@2"])
        .code(5)
        .shows("there is no session @2: 1 session covers")
        .hides("not counting");
    sandbox.configure("config.toml", "[recovery.limits]\nmax_entries = 1\n");
    run(&sandbox, &project, &["launch", "--", "true"]).refused();
    let sessions = instances(&run(&sandbox, &project, &["list", ".", "--json"]).ok());
    assert_eq!(sessions.len(), 2);
    run(&sandbox, &project, &["show", "@2"])
        .code(5)
        .shows("1 session covers")
        .shows("not counting 1 that failed to start");
}

#[test]
fn the_latest_session_began_last_and_one_that_outlasts_it_is_named() {
    let (sandbox, [(shop, _), _]) = two();
    let earlier = sandbox.begin(&shop);
    run(&sandbox, &shop, &["launch", "-q", "--", "touch", "x"]).ok();
    let latest = sandbox.newest();
    for (end, told) in [(false, "has not ended"), (true, "ended later")] {
        if end {
            sandbox.jackin(["end", &earlier]).ok();
        }
        let status = run(&sandbox, &shop, &["status", "--json"]).ok().json();
        assert_eq!(status["instance"], latest.as_str(), "{status}");
        run(&sandbox, &shop, &["diff"])
            .ok()
            .shows(&format!("session {latest} "))
            .shows(&format!(
                "{earlier} began before it and {told}; @2 means that one"
            ));
    }
    run(&sandbox, &shop, &["diff", "@2"])
        .ok()
        .hides("began before it");
}

#[test]
fn a_path_outside_the_tracked_ones_is_in_no_snapshot() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("parts");
    fs::create_dir(project.join("src")).unwrap();
    fs::write(project.join("src/f"), "1").unwrap();
    fs::write(project.join("other"), "2").unwrap();
    run(
        &sandbox,
        &project,
        &["launch", "--path", "src", "--", "sh", "-c", "echo y > other"],
    )
    .ok();
    for words in [
        &["restore", "--yes", "other"][..],
        &["diff", "other"],
        &["cat", "other"],
    ] {
        run(&sandbox, &project, words)
            .code(5)
            .shows("other is outside the tracked paths (src), so no snapshot has it");
    }
    run(&sandbox, &project, &["restore", "--yes", "src"]).ok();
    run(&sandbox, &project, &["restore", "--yes", "src/none"])
        .code(2)
        .shows("does not exist now");
}

#[test]
fn a_word_that_is_nothing_says_so() {
    let (sandbox, [(shop, _), _]) = two();
    run(&sandbox, &shop, &["diff", "foo", "bar"])
        .code(5)
        .shows("session \"foo\" not found, and there is no such path, now or in rc-");
    let tracking = ["launch", "--path", "docs", "--", "true"];
    run(&sandbox, &shop, &tracking).ok();
    run(&sandbox, &shop, &["restore", "foo"])
        .code(5)
        .shows("session \"foo\" not found, and there is no such path, now or in rc-")
        .hides("tracked paths");
    run(&sandbox, &shop, &["diff", "@0"])
        .code(5)
        .shows("counted from 1");
    // Gone, and in no snapshot.
    let launch = ["launch", "--exclude", "/build/", "--", "true"];
    run(&sandbox, &shop, &launch).ok();
    run(&sandbox, &shop, &["restore", "build", "--yes"])
        .code(5)
        .shows("build is excluded by /build/, so no snapshot has it");
    let id = sandbox.newest();
    run(&sandbox, &shop, &["undo", &id])
        .code(5)
        .shows("was not restored");
    let slip = run(&sandbox, &shop, &["restroe"]).code(2).text();
    let at = |command: &str| slip.find(command).unwrap_or(usize::MAX);
    assert!(at("recovery restore?") < at("recovery resume?"), "{slip}");
}

#[test]
fn a_project_that_was_deleted_with_the_shell_in_it_is_restored_without_a_name() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("gone");
    Build::at(&project).file("a", "a\n").dir("d").aged();
    let before = Tree::read(&project);
    run(&sandbox, &project, &["launch", "--", "true"]).ok();
    let script = "rm -rf \"$PWD\"; exec \"$@\"";
    let restore = sandbox.command([
        "restore",
        "--delete-later-files",
        "--overwrite-later-edits",
        "--yes",
    ]);
    let restore = restore.inside(&project).with("PWD", &project);
    restore.through(&["sh", "-c", script, "sh"]).run().ok();
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn names_are_given_changed_and_found() {
    let (sandbox, [(shop, before), _]) = two();
    let launch = [
        "launch",
        "--name",
        "fix-login",
        "-m",
        "second try",
        "--",
        "sh",
        "-c",
        "echo x > x",
    ];
    run(&sandbox, &shop, &launch).ok();
    let id = sandbox.newest();
    let list = run(&sandbox, &shop, &["list", "-n", "1"]).ok();
    list.has("fix-login").has("+1").has("sh");
    let shown = run(&sandbox, &sandbox.sources(), &["show", "fix-login", "--json"])
        .ok()
        .json()["instance"]
        .take();
    assert_eq!(
        (&shown["id"], &shown["name"], &shown["message"]),
        (&id.as_str().into(), &"fix-login".into(), &"second try".into())
    );
    let renamed = sandbox
        .jackin(["rename", "fix-login", "login", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&renamed["instance"], &renamed["name"]),
        (&id.as_str().into(), &"login".into())
    );
    sandbox.jackin(["show", "fix-login"]).code(5);
    sandbox.jackin(["rename", "login", "-m", ""]).ok();
    let shown = sandbox.jackin(["show", "login", "--json"]).ok().json()["instance"].take();
    assert_eq!(
        (&shown["name"], &shown["message"]),
        (&"login".into(), &serde_json::Value::Null)
    );
    // The catalog is made of receipts alone.
    fs::remove_file(sandbox.store().join("catalog.sqlite3")).unwrap();
    sandbox.jackin(["rebuild"]).ok();
    run(&sandbox, &shop, &["restore", "login", "--yes"]).ok();
    assert!(!shop.join("x").exists());
    run(&sandbox, &shop, &["restore", "@2", "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(&shop));
    sandbox.jackin(["rename", "login", "--no-name"]).ok();
    sandbox.jackin(["show", "login"]).code(5);
    sandbox.jackin(["log", "--verify"]).ok();
    for wrong in ["rc-x", "@latest", "a b", "now", ".x"] {
        let told = sandbox.jackin(["rename", &id, wrong]).code(2);
        told.has("letters, digits");
        let launch = ["launch", "--name", wrong, "--", "touch", "ran"];
        run(&sandbox, &shop, &launch).code_in(&[2, 125]);
        assert!(!shop.join("ran").exists());
    }
    sandbox
        .jackin(["rename", &id])
        .code(2)
        .shows("nothing to change")
        .hides("@1");
    sandbox
        .jackin(["rename", "no-such"])
        .code(2)
        .shows("jackin recovery rename @1 no-such");
}

#[test]
fn of_two_sessions_with_a_name_the_latest_is_meant() {
    let (sandbox, [(shop, _), (web, _)]) = two();
    for project in [&shop, &web] {
        run(&sandbox, project, &["launch", "--name", "try", "--", "true"]).ok();
    }
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let shown = sandbox.jackin(["show", "try", "--json"]).ok().json();
    assert_eq!(shown["instance"]["id"], all[0].id.as_str());
    // In a list the name is that of this one, and the other has its id.
    let list = sandbox.jackin(["list"]).ok().text();
    let (own, other) = (&all[0].id, &all[1].id);
    assert_eq!(list.matches("try ").count(), 2, "{list}");
    assert!(
        list.contains(&format!("{other}: its name try now means {own}")),
        "{list}"
    );
}

#[test]
fn arguments_are_recorded_where_the_configuration_asks_and_secrets_are_not() {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("full", "command = \"full\"\n");
    let launch = [
        "launch",
        "--",
        "sh",
        "-c",
        "true",
        "--token",
        "MARKED-hunter2",
        "--model=large",
        "--api-key=MARKED-abc",
        "ghp_MARKED0123456789abcdefghij",
        "-u",
        "admin:MARKED-a",
        "--user=admin:MARKED-b",
        r#"{"apiKey":"MARKED-c","model":"large"}"#,
        "--auth",
        "MARKED-d",
        "--auth=MARKED-e",
        "host=db;password=MARKED-f",
        "X-Api-Key:MARKED-g",
        "curl --user admin:MARKED-h example.org",
    ];
    run(&sandbox, &project, &launch).ok();
    run(&sandbox, &project, &["show"])
        .ok()
        .has("--model=large")
        .has("--token")
        .has("(hidden)");
    for entry in walkdir::WalkDir::new(sandbox.store()).into_iter().flatten() {
        if entry.file_type().is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            let is_there = bytes.windows(6).any(|window| window == b"MARKED");
            assert!(!is_there, "{}", entry.path().display());
        }
    }
}

#[test]
fn lists_are_narrowed() {
    let (sandbox, [(shop, _), (web, _)]) = two();
    run(&sandbox, &shop, &["launch", "--", "true"]).ok();
    let ids = |args: &[&str]| {
        let listed = run(&sandbox, &web, &[&["list", "--json"], args].concat()).ok();
        let all = instances(&listed).into_iter().map(|session| session.id);
        all.collect::<Vec<String>>()
    };
    let all = ids(&[]);
    assert_eq!(all.len(), 3);
    assert_eq!(ids(&["-n", "2"]), all[..2]);
    assert_eq!(ids(&["."]), [all[1].clone()]);
    assert_eq!(ids(&["../shop/docs"]), [all[0].clone(), all[2].clone()]);
    assert_eq!(ids(&["--changed"]), all[1..]);
    assert!(ids(&["--active"]).is_empty() && ids(&["/nowhere"]).is_empty());
    let none = run(&sandbox, &web, &["list", "--active"]).ok();
    none.shows("no session is active");
    let none = run(&sandbox, &web, &["list", "/nowhere"]).ok();
    none.shows("no session covers /nowhere");
    let row = run(&sandbox, &web, &["list", "."]).ok().text();
    for column in [
        "SESSION", "WHEN", "LASTED", "COMMAND", "CHANGED", "WHERE", " sh ", " -3 ",
    ] {
        assert!(row.contains(column), "{column}: {row}");
    }
}

#[test]
fn outside_on_a_terminal_a_session_is_typed_and_chosen() {
    let (sandbox, [(shop, before), _]) = two();
    let outside = sandbox.project("other");
    let script = "jackin recovery restore; echo code=$?; sleep 99";
    let Some(tmux) = Tmux::start(&sandbox, &outside, (80, 24), script, &[]) else {
        return;
    };
    let list = tmux.lists("Session (");
    assert!(!list.contains("x1b") && !list.contains("\\x"), "{list}");
    // Letters narrow the list.
    tmux.press(&["shop"]);
    tmux.misses("~/src/web");
    tmux.lists("~/src/shop");
    tmux.press(&["Enter"]).asks("[y/N");
    tmux.press(&["y", "Enter"]).sees("code=0");
    assert_same_tree(&before, &Tree::read(&shop));
}

#[test]
fn a_list_in_a_narrow_terminal_leaves_no_lines_behind() {
    let (sandbox, _) = two();
    let outside = sandbox.project("other");
    let script = "jackin recovery restore; echo code=$?; sleep 99";
    let Some(tmux) = Tmux::start(&sandbox, &outside, (50, 24), script, &[]) else {
        return;
    };
    tmux.lists("Session (");
    let typed = "a name that no session has, and that is much longer than a line of this terminal";
    tmux.press(&["-l", typed]);
    let screen = tmux.sees("terminal|");
    assert_eq!(screen.matches("Session").count(), 1, "{screen}");
    tmux.press(&["Escape"]).sees("code=");
    assert!(!tmux.screen().contains("Session"), "{}", tmux.screen());
}

#[test]
fn a_terminal_without_lines_for_a_list_gets_the_error_with_the_sessions() {
    let (sandbox, _) = two();
    let outside = sandbox.project("other");
    for command in ["show", "restore"] {
        let script = format!("jackin recovery {command}; echo code=$?; sleep 99");
        let Some(tmux) = Tmux::start(&sandbox, &outside, (120, 4), &script, &[]) else {
            return;
        };
        tmux.sees("code=5");
    }
}

#[test]
fn a_path_that_only_an_earlier_session_had_is_no_session_elsewhere() {
    let (sandbox, projects) = two();
    let [(shop, _), _] = &projects;
    let docs = sandbox.project("docs");
    Build::at(&docs).file("page", "one\n");
    run(&sandbox, shop, &["launch", "--", "rm", "-r", "docs"]).ok();
    run(&sandbox, shop, &["launch", "--", "true"]).ok();
    run(&sandbox, &docs, &["launch", "--", "rm", "page"]).ok();
    let others = Tree::read(&docs);
    // The label of the session in the other directory is `docs`.
    run(&sandbox, shop, &["restore", "docs", "--yes"]).has("restore @2 docs");
    assert_untouched(&others, &Tree::read(&docs));
}

#[test]
fn where_no_session_covers_the_directory_none_is_forgotten_by_counting_back() {
    let (sandbox, _) = two();
    let before = instances(&sandbox.jackin(["list", "--json"]));
    let elsewhere = sandbox.sources();
    run(&sandbox, &elsewhere, &["forget", "@latest", "--yes"])
        .code(5)
        .has("no session covers");
    let after = instances(&sandbox.jackin(["list", "--json"]));
    let ids = |all: &[crate::support::documents::Instance]| -> Vec<String> {
        all.iter().map(|one| one.id.clone()).collect()
    };
    assert_eq!(ids(&before), ids(&after));
}

#[test]
fn a_workspace_comes_before_a_session_elsewhere_that_is_called_alike() {
    let sandbox = Sandbox::new();
    let shop = sandbox.captured("shop", "");
    run(&sandbox, &shop, &["launch", "shop", "--", "true"]).ok();
    let of_workspace = sandbox.newest();
    let web = sandbox.project("web");
    run(&sandbox, &web, &["launch", "--name", "shop", "--", "true"]).ok();
    let shown = sandbox.jackin(["show", "shop", "--json"]).ok().json();
    assert_eq!(shown["instance"]["id"], of_workspace.as_str(), "{shown}");
}

#[test]
fn a_launch_that_was_killed_in_its_baseline_hides_no_session() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    let before = Tree::read(&project);
    run(&sandbox, &project, &["launch", "--", "sh", "-c", "echo x >> a"]).ok();
    let good = sandbox.newest();
    Build::at(&project).big("large", 128 << 20);
    let log = sandbox.store().join("receipts.log");
    let length = || fs::metadata(&log).unwrap().len();
    let before_it = length();
    let mut launch = sandbox.command(["launch", "--", "true"]).inside(&project).start();
    await_moment("its beginning", || length() > before_it);
    launch.child.kill().unwrap();
    launch.finish();
    let sessions = || instances(&sandbox.jackin(["list", "--json"]).ok());
    assert_eq!(sessions().len(), 2);
    let killed = sessions().remove(0);
    assert!(killed.snapshots.is_empty(), "its baseline was stored: {killed:?}");
    let doctor = sandbox.jackin(["doctor"]);
    doctor
        .hides("last changes")
        .shows("interrupted before its baseline was stored: its command did not run");
    fs::remove_file(project.join("large")).unwrap();
    let run = run(&sandbox, &project, &["restore", "--yes"]).ok();
    run.has(&good);
    assert_same_tree(&before, &Tree::read(&project));
    // Named, it says why nothing comes of it, and no snapshot is taken of it.
    sandbox.jackin(["restore", &killed.id, "--yes"]).refused();
    let killed = sessions()
        .into_iter()
        .find(|session| session.id == killed.id)
        .unwrap();
    assert_eq!((killed.status.as_str(), killed.snapshots.len()), ("failed", 0));
    let forgotten = sandbox.jackin(["forget", &killed.id, "--yes"]).ok();
    forgotten.shows("Nothing to forget: no snapshot has it.");
}
