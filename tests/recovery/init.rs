//! `init` adds one table to one file and nothing else, and only when told to.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::machine::{NOBODY, is_root, skip};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const FILE: &str = "# mine\r\nversion = \"v1alpha8\"   # kept\r\n[[mounts]]\r\nsrc = \"~/src/p\"\r\ndst = '/p'\r\n\r\n\
                    [env]\r\nTOKEN = \"hush\"\r\n# the end";

/// A workspace `shop` on `src/p`, where a Cargo.toml lies.
fn shop() -> (Sandbox, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    Build::at(&sandbox.project("p"))
        .file("Cargo.toml", "[package]\n")
        .file("a", "a\n");
    let file = sandbox.configure("workspaces/shop.toml", FILE);
    (sandbox, file)
}

/// Two that begin at once make one workspace, and the other one says why it made none.
#[test]
fn two_at_once_make_one_workspace() {
    for _ in 0..5 {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        let runs: Vec<Run> = std::thread::scope(|scope| {
            let begin = || scope.spawn(|| sandbox.command(["init", ".", "--yes"]).inside(&project).run());
            let begun: Vec<_> = (0..3).map(|_| begin()).collect();
            begun.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let done = runs.iter().filter(|run| run.exit() == Some(0)).count();
        assert!(done >= 1, "{}", runs[0]);
        let workspaces = sandbox.home().join(".config/jackin/workspaces");
        assert_eq!(fs::read_dir(workspaces).unwrap().count(), 1);
        sandbox.command(["explain", "."]).inside(&project).run().ok();
    }
}

#[test]
fn dry_run_and_no_answer_write_nothing() {
    let (sandbox, file) = shop();
    let before = Tree::read(sandbox.world());
    let run = sandbox.jackin(["init", "shop", "--dry-run"]).ok().harmless();
    run.shows("+[recovery]")
        .shows("+snapshot = \"project\"")
        .shows("/target/")
        .hides("hush");
    sandbox
        .jackin(["init", "shop"])
        .code(4)
        .shows("+[recovery]")
        .hides("hush");
    let run = sandbox.jackin(["init", "shop", "--json"]).code(4);
    assert!(run.stdout.is_empty(), "{run}");
    assert!(run.stderr.starts_with(b"{\"schema\""), "{run}");
    let planned = sandbox
        .jackin(["init", "shop", "--dry-run", "--json"])
        .ok()
        .json();
    assert_eq!(planned["outcome"], "planned");
    assert_eq!(planned["path"], file.to_str().unwrap());
    assert!(planned["added"].as_str().unwrap().contains("[recovery]"));
    assert_untouched(&before, &Tree::read(sandbox.world()));
}

#[test]
fn the_table_is_added_and_works_and_every_other_byte_stays() {
    let (sandbox, file) = shop();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let written = sandbox.jackin(["init", "shop", "--yes", "--json"]).ok().json();
    assert_eq!(
        (&written["outcome"], &written["workspace"]),
        (&"written".into(), &"shop".into())
    );
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("{FILE}{}", written["added"].as_str().unwrap()));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    sandbox
        .jackin(["explain", "shop"])
        .ok()
        .shows("mode project")
        .shows("/target/");
    let project = sandbox.sources().join("p");
    sandbox
        .command(["launch", "shop", "--", "true"])
        .inside(&project)
        .run()
        .ok();
    // A second time there is nothing to add.
    let before = Tree::read(sandbox.world());
    let run = sandbox.jackin(["init", "shop", "--yes"]).code(2);
    run.shows(file.to_str().unwrap())
        .shows("line 13")
        .shows("already exists");
    assert_untouched(&before, &Tree::read(sandbox.world()));
}

#[test]
fn the_owner_stays_also_when_root_writes() {
    if !is_root() {
        return skip("the owner of a file that root writes", "not root");
    }
    let (sandbox, file) = shop();
    lchown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
    sandbox.jackin(["init", "shop", "--yes"]).ok();
    let meta = fs::metadata(&file).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (NOBODY, NOBODY));
}

#[test]
fn a_workspace_in_config_toml_gets_its_table_there() {
    let sandbox = Sandbox::new();
    let old = "[workspaces.old]\nworkdir = '/o'\n[[workspaces.old.mounts]]\nsrc = '~/src/o' # c\n\n[workspaces.new]\n";
    sandbox.project("o");
    let file = sandbox.configure("config.toml", old);
    // By the directory that it mounts.
    sandbox
        .command(["init", "--yes", "--snapshot", "metadata"])
        .inside(&sandbox.project("o"))
        .run()
        .ok();
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("[workspaces.old.recovery]\nsnapshot = \"metadata\""),
        "{text}"
    );
    assert!(
        old.lines().all(|line| text.lines().any(|new| new == line)),
        "{text}"
    );
    sandbox.jackin(["explain", "old"]).ok().shows("metadata");
    sandbox
        .jackin(["init", "./o", "--yes"])
        .code(2)
        .shows("workspaces.old.recovery");
}

#[test]
fn what_cannot_be_is_refused_with_a_way_on() {
    let (sandbox, _) = shop();
    sandbox.project("elsewhere");
    sandbox.configure("workspaces/bad.toml", "[[mounts]]\nsrc = 5\n");
    let before = Tree::read(sandbox.world());
    sandbox
        .jackin(["init", "shp", "--yes"])
        .code(2)
        .shows("the nearest: \"shop\"");
    sandbox
        .jackin(["init", "bad", "--yes"])
        .code(2)
        .shows("line 2")
        .shows("mounts.src");
    sandbox.jackin(["init", "ssh://host/x", "--yes"]).code(2);
    sandbox.jackin(["init", "../../etc", "--yes"]).refused();
    sandbox
        .jackin(["init", "shop", "--snapshot", "project-and-state", "--dry-run"])
        .ok()
        .shows("project-and-state");
    assert_untouched(&before, &Tree::read(sandbox.world()));
    fs::remove_file(sandbox.home().join(".config/jackin/workspaces/bad.toml")).unwrap();
    let home = sandbox.home();
    let run = sandbox.command(["init", ".", "--yes"]).inside(&home).run();
    run.code(2).shows("contains your home directory");
    sandbox.jackin(["init", "./a-file", "--yes"]).code(2);
}

#[test]
fn a_directory_in_no_workspace_becomes_one() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("My Shop");
    Build::at(&project).file("Cargo.toml", "[package]\n");
    let workspaces = sandbox.home().join(".config/jackin/workspaces");
    let before = Tree::read(sandbox.world());
    let planned = sandbox
        .command(["init", ".", "--dry-run", "--json"])
        .inside(&project)
        .run();
    assert_eq!(planned.ok().json()["creates"], true);
    let shown = sandbox.command(["init"]).inside(&project).run().code(4);
    shown
        .shows("--- /dev/null")
        .shows("+[[mounts]]")
        .shows("excluded automatically: /target/");
    assert_untouched(&before, &Tree::read(sandbox.world()));
    let run = sandbox.command(["init", "--yes"]).inside(&project).run().ok();
    run.shows("jackin recovery launch my-shop -- COMMAND");
    let file = workspaces.join("my-shop.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("version = \"v1alpha8\"\nworkdir = \"/workspace/my-shop\"\n"));
    assert!(
        !text.contains("exclude = [\""),
        "automatic ones are not written: {text}"
    );
    assert_eq!(fs::read_dir(&workspaces).unwrap().count(), 1);
    let doctor = sandbox.jackin(["doctor", "--json"]).ok().json();
    for finding in doctor["findings"].as_array().unwrap() {
        let is_config = finding["group"] == "configuration";
        assert!(!is_config || finding["severity"] == "ok", "{finding}");
    }
    sandbox
        .command(["launch", "--", "true"])
        .inside(&project)
        .run()
        .ok();
    // A second time, and in a directory below, it is a workspace that has its table.
    let again = sandbox.command(["init", "--yes"]).inside(&project).run();
    again.code(2).shows("already exists");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_new_workspace_has_a_name_and_a_mode_of_its_own() {
    let sandbox = Sandbox::new();
    let workspaces = sandbox.home().join(".config/jackin/workspaces");
    let old = sandbox.configure(
        "workspaces/shop.toml",
        "[[mounts]]\nsrc = \"~/src/old\"\ndst = '/o'\n",
    );
    fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).unwrap();
    // A dangling link is a taken name, too.
    std::os::unix::fs::symlink("nowhere", workspaces.join("shop-2.toml")).unwrap();
    let project = sandbox.project("Shop");
    let init = ["init", ".", "--yes", "--snapshot", "metadata", "--json"];
    let made = sandbox.command(init).inside(&project).run().ok().json();
    assert_eq!(made["workspace"], "shop-3");
    let file = workspaces.join("shop-3.toml");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("snapshot = \"metadata\"")
    );
    // Names without a letter, and names that only quotes can hold.
    for (directory, name) in [
        ("---", "workspace"),
        ("a\"b'c", "a-b-c"),
        ("été", "t"),
        ("x".repeat(200).as_str(), "x".repeat(32).as_str()),
    ] {
        let project = sandbox.project(directory);
        let made = sandbox
            .command(["init", ".", "--yes", "--json"])
            .inside(&project)
            .run()
            .ok()
            .json();
        assert_eq!(made["workspace"], name);
        sandbox.jackin(["explain", name]).ok().harmless();
    }
    // A name that is not UTF-8 is in no file.
    let odd = sandbox.sources().join(std::ffi::OsStr::new("odd")).join(
        <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff"),
    );
    fs::create_dir_all(&odd).unwrap();
    sandbox
        .command(["init", ".", "--yes"])
        .inside(&odd)
        .run()
        .code(2)
        .harmless()
        .shows("not UTF-8");
}

#[test]
fn a_link_to_the_file_stays_a_link() {
    let (sandbox, file) = shop();
    let kept = sandbox.home().join("dotfiles.toml");
    fs::rename(&file, &kept).unwrap();
    std::os::unix::fs::symlink(&kept, &file).unwrap();
    sandbox
        .jackin(["init", "shop", "--yes"])
        .ok()
        .shows(kept.to_str().unwrap());
    assert!(file.is_symlink());
    assert!(fs::read_to_string(&kept).unwrap().contains("[recovery]"));
}

#[test]
fn a_session_may_not_decide_what_the_next_one_leaves_out() {
    let (sandbox, file) = shop();
    let project = sandbox.project("q");
    let jackin = env!("CARGO_BIN_EXE_jackin");
    let status = sandbox.scratch("status");
    let script = format!(
        "'{jackin}' recovery init shop --yes; echo $? > '{}'",
        status.display()
    );
    let session = Background::launch(&sandbox, &project, &script);
    assert_eq!(fs::read_to_string(&status).unwrap().trim(), "3");
    assert_eq!(fs::read_to_string(&file).unwrap(), FILE);
    session.end().ok();
}
