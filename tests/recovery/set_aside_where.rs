//! Which directories may be set aside, and on what they lie.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::set_aside::{Cargo, FLAG, PLANT, build, same, text};
use crate::support::build::Build;
use crate::support::compare::{Exactness, differences};
use crate::support::machine::{is_root, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};
use crate::support::volume::Volume;

#[test]
fn one_directory_in_an_excluded_one() {
    let cargo = Cargo::new();
    let there = Tree::read(&cargo.project);
    cargo
        .restore(&[FLAG, "target/debug/", FLAG, "./target/debug/deps"])
        .ok();
    let now = Tree::read(&cargo.project);
    same(
        &cargo.before.without("target/debug"),
        &now,
        Exactness::Content,
        "only that one",
    );
    let [place] = &cargo.aside()[..] else {
        panic!("{:?}", cargo.aside())
    };
    assert!(place.join("debug/x").exists());
    cargo.undo(&[]).ok();
    let now = Tree::read(&cargo.project);
    same(
        &there.only("target/debug"),
        &now.only("target/debug"),
        Exactness::Identity,
        "undone",
    );
    same(&there, &now, Exactness::Content, "undone");
    cargo.sandbox.no_litter();
    // From below, by a path of the host, and of two that were named the outer one.
    let inner = cargo.project.join("target/debug");
    let args = ["restore", &cargo.id, "--yes", FLAG, "deps", FLAG, text(&inner)];
    cargo.sandbox.command(args).inside(&inner).run().ok();
    assert_eq!(cargo.aside().len(), 1);
    assert!(!inner.exists());
    // Where it was is gone.
    fs::remove_dir_all(cargo.project.join("target")).unwrap();
    cargo.undo(&[]).code(6).shows("its directory is missing");
}

#[test]
fn several_on_two_mounts() {
    let sandbox = Sandbox::new();
    let mut text =
        String::from("[recovery]\nsnapshot = \"project\"\nexclude = [\"target/\", \"node_modules/\"]\n");
    let projects = ["one", "two"].map(|name| sandbox.project(name));
    for project in &projects {
        build(project);
        Build::at(project).file("node_modules/.bin/tool", "tool\n").aged();
        let name = project.file_name().unwrap().to_str().unwrap();
        text.push_str(&format!(
            "[[mounts]]\nsrc = \"~/src/{name}\"\ndst = \"/{name}\"\n"
        ));
    }
    sandbox.configure("workspaces/both.toml", &text);
    let script = "for p in one two; do echo evil > $p/target/debug/x; echo evil > $p/node_modules/.bin/x; done; echo a > one/a";
    let launch = ["launch", "--cwd", "keep", "both", "--", "sh", "-c", script];
    sandbox.command(launch).inside(&sandbox.sources()).run().ok();
    let planted = Tree::read(&sandbox.sources());
    let dirs = ["one/target", "two/target", "two/node_modules"];
    let mut args = vec!["restore", "both", "--yes", "--json"];
    args.extend(dirs.iter().flat_map(|dir| [FLAG, *dir]));
    let done = sandbox.command(&args).inside(&sandbox.sources()).run().ok();
    assert_eq!(done.json()["set_aside"].as_array().unwrap().len(), 3, "{done}");
    for dir in dirs {
        assert!(!sandbox.sources().join(dir).exists(), "{dir}");
    }
    assert!(projects[0].join("node_modules/.bin/x").exists());
    let not_checked = &done.json()["not_checked"];
    assert_eq!(not_checked.as_array().unwrap().len(), 1, "{done}");
    assert_eq!(not_checked[0]["path"], "node_modules", "{done}");
    // One of them was made again: the others come back.
    fs::create_dir(projects[1].join("target")).unwrap();
    sandbox.jackin(["undo", "both", "--yes"]).code(6);
    assert!(projects[0].join("target/debug/x").exists());
    assert!(projects[1].join("node_modules/.bin/x").exists());
    assert!(!projects[1].join("target/debug").exists());
    fs::remove_dir(projects[1].join("target")).unwrap();
    let receipts = sandbox.jackin(["show", "both", "--json"]).ok().json();
    let first = receipts["restores"][1]["receipt"].as_u64().unwrap().to_string();
    // Of those that are back already nothing lies aside any more.
    sandbox
        .jackin(["undo", "both", "--yes", "--receipt", &first])
        .code(6);
    same(
        &planted,
        &Tree::read(&sandbox.sources()),
        Exactness::Content,
        "all undone",
    );
    sandbox.no_litter();
}

#[test]
fn refused_and_nothing_changed() {
    let cargo = Cargo::by(
        Sandbox::new(),
        &format!(
            "{PLANT}; ln -s target link; echo f > target/file; mkdir -p kept; ln -s ../target kept/through"
        ),
    );
    let outside = cargo.sandbox.scratch("outside");
    fs::create_dir(&outside).unwrap();
    let there = Tree::read(cargo.sandbox.world());
    let cases = [
        ("src", "is not excluded by the snapshot"),
        ("Cargo.toml", "is not a directory"),
        ("target/file", "is not a directory"),
        ("missing", "is not there"),
        ("target/missing", "is not there"),
        ("target/missing/deeper", "is not there"),
        ("link", "is not a directory, or is reached through a link"),
        (
            "target/latest",
            "is not a directory, or is reached through a link",
        ),
        (".", "is the mount itself"),
        ("target/..", "is the mount itself"),
        ("..", "is in no mount of the session"),
        (text(&outside), "is in no mount of the session"),
        ("", "empty"),
    ];
    for (dir, why) in cases {
        for more in [&["--dry-run"][..], &["--yes"]] {
            let args = [&["restore", &cargo.id, FLAG, "target", FLAG, dir], more].concat();
            let run = cargo.run(&args).code(2);
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            let said: Vec<&str> = said.split_whitespace().collect();
            let said = said.join(" ");
            assert!(said.contains(why), "{dir:?}\n{run}");
            let named = format!(
                "existing excluded directories: {}",
                text(&cargo.project.join("target"))
            );
            let elsewhere = ["no mount", "as a path", "empty"]
                .iter()
                .any(|what| why.contains(what));
            assert!(elsewhere || said.contains(&named), "{dir:?}\n{run}");
        }
    }
    cargo.restore(&[FLAG, "target", "--to", text(&outside)]).code(2);
    let lines = differences(
        &there.without("home/.jackin"),
        &Tree::read(cargo.sandbox.world()).without("home/.jackin"),
        Exactness::Everything,
    );
    assert!(lines.is_empty(), "{}", lines.join("\n"));
    // The link leads to it, and is never followed as the last part.
    cargo.restore(&[FLAG, "link/debug"]).ok();
    assert!(!cargo.project.join("target/debug").exists());
}

#[test]
fn what_is_withheld_stays() {
    let sandbox = Sandbox::new();
    let project = sandbox.home().join("work");
    build(&project);
    Build::at(&project).file("target/keys/id", "secret\n");
    // The store lies in the excluded directory.
    let home = project.join("target/jackin");
    fs::create_dir_all(&home).unwrap();
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
    let run = |args: &[&str]| {
        let command = sandbox.command(args).inside(&project);
        command.with("JACKIN_HOME_DIR", text(&home)).run()
    };
    let launch = [
        "launch",
        "--snapshot",
        "project",
        "--allow-broad",
        "--exclude",
        "target/",
    ];
    let script = [text(&project), "--", "sh", "-c", PLANT];
    run(&[&launch[..], &script].concat()).ok();
    let refused = run(&["restore", "@latest", "--yes", FLAG, "target"]).code(2);
    refused.shows("which is never changed");
    assert!(project.join("target/debug/x").exists());
    run(&["restore", "@latest", "--yes", FLAG, "target/debug"]).ok();
    assert!(!project.join("target/debug").exists());
}

#[test]
fn another_mount_in_it() {
    if !is_root() {
        return skip("a mount below an excluded directory", "only root mounts");
    }
    let cargo = Cargo::new();
    let inner = cargo.project.join("target/debug/deps");
    let Some(volume) = Volume::tmpfs(&inner) else {
        return;
    };
    for dir in ["target", "target/debug", "target/debug/deps"] {
        let run = cargo.restore(&[FLAG, dir]).code(2);
        run.shows("another mount begins at");
    }
    drop(volume);
    cargo.restore(&[FLAG, "target"]).ok();
    cargo.is_clean("unmounted");
}

#[test]
fn inside_a_root_that_is_a_mount() {
    let sandbox = Sandbox::new();
    let place = sandbox.sources().join("volume");
    fs::create_dir_all(&place).unwrap();
    let Some(volume) = Volume::tmpfs(&place) else {
        return;
    };
    {
        let cargo = Cargo::at(sandbox, place.clone(), PLANT);
        let top = Tree::read(&place).at("").times.modified;
        cargo.restore(&[FLAG, "target"]).ok();
        let [aside] = &cargo.aside()[..] else { panic!() };
        assert_eq!(aside.parent(), Some(&*place));
        cargo
            .run(&["doctor"])
            .shows("set aside by receipt")
            .hides("left by an interrupted restore");
        let changes = cargo.run(&["diff", &cargo.id, "--now", "--json"]).ok();
        assert_eq!(
            changes.json()["changes"].as_array().unwrap().len(),
            0,
            "{changes}"
        );
        cargo.undo(&[]).ok();
        cargo.is_planted("undone");
        assert_ne!(Tree::read(&place).at("").times.modified, top, "entries changed");
        drop(volume);
    }
}

#[test]
fn a_directory_of_a_lower_layer_stays_and_is_named() {
    let sandbox = Sandbox::new();
    let layers = sandbox.scratch("layers");
    fs::create_dir_all(&layers).unwrap();
    let Some(memory) = Volume::tmpfs(&layers) else {
        return;
    };
    let lower = layers.join("lower");
    fs::create_dir(&lower).unwrap();
    build(&lower);
    let merged = sandbox.sources().join("merged");
    let Some(overlay) = Volume::overlay(&merged, &lower, &layers, ",redirect_dir=off") else {
        return;
    };
    let flags = ["--exclude", "target/"];
    let id = sandbox.launch_with(
        &flags,
        &merged,
        "mkdir target/own; echo evil > target/own/x; echo n > new",
    );
    let args = ["restore", &id, "--yes", "--json", FLAG, "target"];
    let part = sandbox.command(args).inside(&merged).run().code(6);
    assert_eq!(part.json()["failed"][0]["path"], "target", "{part}");
    assert_eq!(part.json()["set_aside"].as_array().unwrap().len(), 0, "{part}");
    assert!(merged.join("target/own/x").exists());
    assert!(!merged.join("new").exists(), "the rest is done");
    sandbox.no_litter();
    // What the upper layer alone holds moves.
    let args = ["restore", &id, "--yes", FLAG, "target/own"];
    sandbox.command(args).inside(&merged).run().ok();
    assert!(!merged.join("target/own").exists());
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert!(merged.join("target/own/x").exists());
    drop(overlay);
    drop(memory);
}

#[test]
fn names_that_are_no_text() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("odd");
    Build::at(&project)
        .file(b"out-\xff\n/x", "built\n")
        .file("a", "a\n")
        .aged();
    let id = sandbox.launch_with(
        &["--exclude", "out-*"],
        &project,
        "for d in out-*; do echo evil > \"$d/x\"; done",
    );
    let dir = OsStr::from_bytes(b"out-\xff\n");
    let mut args = ["restore", &id, "--yes", "--json", FLAG].map(OsStr::new).to_vec();
    args.push(dir);
    let done = sandbox.command(&args).inside(&project).run().ok();
    assert!(done.json()["set_aside"][0]["path_bytes"].is_string(), "{done}");
    assert!(done.json()["set_aside"][0]["place_bytes"].is_string(), "{done}");
    for args in [
        &["log"][..],
        &["show", &id],
        &["undo", &id, "--dry-run"],
        &["doctor"],
    ] {
        sandbox.jackin(args).harmless();
    }
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    let tree = Tree::read(&project);
    let Kind::File(content) = &tree.at(b"out-\xff\n/x").kind else {
        panic!()
    };
    assert_eq!(content.head, b"evil\n");
    sandbox.no_litter();
}

#[test]
fn as_an_ordinary_user() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("an ordinary user", "setpriv or the binary is out of reach");
    };
    let cargo = Cargo::by(sandbox, &format!("{PLANT}; chmod 500 target/debug target"));
    cargo.restore(&[FLAG, "target"]).ok();
    cargo.is_clean("set aside");
    cargo.undo(&[]).ok();
    cargo.is_planted("undone");
    cargo.restore(&[FLAG, "target/debug"]).ok();
    cargo.undo(&[]).ok();
    let now = Tree::read(&cargo.project);
    same(&cargo.planted, &now, Exactness::Content, "one below, undone");
}
