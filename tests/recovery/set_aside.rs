//! `--set-aside-excluded`: an excluded directory is moved away whole with a restore, and comes back with its undo; also after a kill at every
//! step, and whatever somebody else does to it meanwhile.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::{Exactness, differences};
use crate::support::rows::rows;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

pub(crate) const FLAG: &str = "--set-aside-excluded";

/// Plants a program where no snapshot looks, and does something that one sees.
pub(crate) const PLANT: &str =
    "echo evil > target/debug/x; chmod 755 target/debug/x; echo agent >> src/main.rs; echo n > new";

/// A project with a build directory in it, and a session that planted something there.
pub(crate) struct Cargo {
    pub(crate) sandbox: Sandbox,
    pub(crate) project: PathBuf,
    pub(crate) id: String,
    pub(crate) before: Tree,
    pub(crate) planted: Tree,
}

impl Cargo {
    pub(crate) fn new() -> Self {
        Self::by(Sandbox::new(), PLANT)
    }

    pub(crate) fn by(sandbox: Sandbox, script: &str) -> Self {
        let project = sandbox.project("tool");
        Self::at(sandbox, project, script)
    }

    pub(crate) fn at(sandbox: Sandbox, project: PathBuf, script: &str) -> Self {
        build(&project);
        sandbox.give(&project);
        let before = Tree::read(&project);
        let id = sandbox.launch_with(&["--exclude", "target/"], &project, script);
        let planted = Tree::read(&project);
        Self {
            sandbox,
            project,
            id,
            before,
            planted,
        }
    }

    /// Runs in the project.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.sandbox.command(args).inside(&self.project).run()
    }

    pub(crate) fn restore(&self, more: &[&str]) -> Run {
        let args = ["restore", &self.id, "--yes"];
        self.run(&[&args, more].concat())
    }

    pub(crate) fn undo(&self, more: &[&str]) -> Run {
        let args = ["undo", &self.id, "--yes"];
        self.run(&[&args, more].concat())
    }

    /// What lies aside, in whatever directory.
    pub(crate) fn aside(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for directory in [&self.project, self.project.parent().unwrap()] {
            let names = fs::read_dir(directory).unwrap();
            found.extend(names.map(|entry| entry.unwrap().path()).filter(|path| {
                let name = path.file_name().unwrap().as_bytes();
                name.starts_with(b".jackin-recovery-") && name.ends_with(b"-aside")
            }));
        }
        found
    }

    #[track_caller]
    pub(crate) fn receipts(&self) -> u64 {
        let log = self.run(&["log", "--json"]).ok().json();
        log["receipts"][0]["number"].as_u64().unwrap()
    }

    /// The tree that the restore is to give: the one before, and no build directory.
    #[track_caller]
    pub(crate) fn is_clean(&self, about: &str) {
        let wanted = self.before.without("target");
        same(&wanted, &Tree::read(&self.project), Exactness::Content, about);
        let beside = fs::read_dir(self.project.parent().unwrap()).unwrap();
        let hidden = beside.filter(|entry| entry.as_ref().unwrap().file_name().as_bytes()[0] == b'.');
        assert!(hidden.count() <= 1, "{about}: a staging directory is left");
        let [place] = &self.aside()[..] else {
            panic!("{about}: {:?}", self.aside());
        };
        let lies = Tree::read(&place.join("target"));
        same(&below(&self.planted, "target"), &lies, Exactness::Identity, about);
    }

    /// The agent's tree; what no snapshot holds is the very same.
    #[track_caller]
    pub(crate) fn is_planted(&self, about: &str) {
        let now = Tree::read(&self.project);
        same(&self.planted, &now, Exactness::Content, about);
        same(
            &self.planted.only("target"),
            &now.only("target"),
            Exactness::Identity,
            about,
        );
        assert_eq!(self.aside(), [""; 0].map(PathBuf::from), "{about}");
        self.sandbox.no_litter();
    }
}

pub(crate) fn build(project: &Path) {
    Build::at(project)
        .file("Cargo.toml", "[package]\n")
        .file("src/main.rs", "fn main() {}\n")
        .file("target/debug/app", "built\n")
        .file("target/debug/deps/one", "dep\n")
        .symlink("target/latest", "debug")
        .aged();
}

#[track_caller]
pub(crate) fn same(left: &Tree, right: &Tree, exactness: Exactness, about: &str) {
    let lines = differences(left, right, exactness);
    assert!(lines.is_empty(), "{about}\n{}", lines.join("\n"));
}

/// A part of a tree, as if its top were the root.
pub(crate) fn below(tree: &Tree, top: &str) -> Tree {
    let nodes = tree.only(top).nodes.into_iter();
    let inner = |path: Vec<u8>| {
        let rest = &path[top.len()..];
        rest.strip_prefix(b"/").unwrap_or(rest).to_vec()
    };
    Tree {
        nodes: nodes.map(|(path, node)| (inner(path), node)).collect(),
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn there_and_back_and_there_again() {
    let cargo = Cargo::new();
    let plan = cargo.run(&["restore", &cargo.id, "--dry-run"]).ok();
    assert!(plan.text().contains("Not checked"), "{plan}");

    let planned = cargo
        .run(&["restore", &cargo.id, "--dry-run", FLAG, "target"])
        .ok();
    let line = planned
        .text()
        .lines()
        .find(|line| line.contains("set aside"))
        .unwrap()
        .to_owned();
    assert!(line.contains(" target/  ->  "), "{planned}");
    assert!(planned.text().contains("1 to set aside"), "{planned}");
    assert!(!planned.text().contains("Not checked"), "{planned}");
    assert!(
        planned.text().contains("--set-aside-excluded target"),
        "{planned}"
    );
    same(
        &cargo.planted,
        &Tree::read(&cargo.project),
        Exactness::Everything,
        "a dry run",
    );

    let done = cargo.restore(&["--json", FLAG, "target"]).ok();
    cargo.is_clean("set aside");
    let [place] = &cargo.aside()[..] else {
        unreachable!()
    };
    assert_eq!(fs::metadata(place).unwrap().permissions().mode() & 0o7777, 0o700);
    let told = &done.json()["set_aside"][0];
    assert_eq!(told["mount"], text(&cargo.project));
    assert_eq!(told["path"], "target");
    assert_eq!(told["place"], text(&place.join("target")));
    assert_eq!(done.json()["outcome"], "restored");
    let number = cargo.receipts();

    // Nobody takes it for something that was left over.
    let doctor = cargo.run(&["doctor"]);
    doctor
        .shows(&format!("set aside by receipt {number}"))
        .hides("left by an interrupted restore");
    for verb in ["log", "show"] {
        let args: &[&str] = if verb == "log" {
            &["log"]
        } else {
            &["show", &cargo.id]
        };
        cargo.run(args).ok().shows("set aside target");
    }
    cargo.run(&["log", "--verify"]).ok();
    let again = cargo.run(&["restore", &cargo.id, "--dry-run", "--json"]).ok();
    assert_eq!(again.json()["outcome"], "nothing", "{again}");

    let back = cargo.undo(&["--json"]).ok();
    assert_eq!(back.json()["brought_back"][0]["path"], "target");
    assert_eq!(back.json()["set_aside"].as_array().unwrap().len(), 0);
    cargo.is_planted("undone");
    cargo.undo(&[]).ok().shows("1 excluded directory set aside");
    cargo.is_clean("the undo undone");
    cargo.undo(&[]).ok().shows("1 excluded directory restored");
    cargo.is_planted("undone again");
    cargo.run(&["log", "--verify"]).ok();
    cargo.run(&["rebuild"]).ok();
    cargo.undo(&[]).ok();
    cargo.is_clean("after a rebuild");
}

#[test]
fn nothing_else_to_do() {
    let cargo = Cargo::by(Sandbox::new(), "echo evil > target/debug/x");
    let plan = cargo
        .run(&["restore", &cargo.id, "--dry-run", FLAG, "target"])
        .ok();
    assert!(plan.text().contains("1 path: 1 to set aside."), "{plan}");
    // Nobody can be asked here.
    cargo.run(&["restore", &cargo.id, FLAG, "target"]).code(4);
    cargo.is_planted("not confirmed");
    cargo.restore(&[FLAG, "target"]).ok();
    cargo.is_clean("set aside");
    cargo.undo(&[]).ok();
    cargo.is_planted("undone");
}

#[test]
fn what_was_built_again_stays() {
    let cargo = Cargo::new();
    cargo.restore(&[FLAG, "target"]).ok();
    let number = cargo.receipts().to_string();
    Build::at(&cargo.project).file("target/debug/app", "built again\n");
    let rebuilt = Tree::read(&cargo.project).only("target");

    let plan = cargo.run(&["undo", &cargo.id, "--dry-run"]).code(6);
    plan.shows("the path exists again")
        .shows("--overwrite-later-edits");
    let part = cargo.undo(&["--json"]).code(6);
    assert_eq!(part.json()["conflicts"][0]["path"], "target", "{part}");
    let now = Tree::read(&cargo.project);
    same(&rebuilt, &now.only("target"), Exactness::Everything, "kept");
    same(
        &cargo.planted.without("target"),
        &now.without("target"),
        Exactness::Content,
        "the rest",
    );
    let places = cargo.aside();
    assert_eq!(places.len(), 1);

    // The two change places, and again.
    let swap = ["--receipt", &number, "--overwrite-later-edits"];
    cargo.undo(&swap).ok().shows("exchange");
    let now = Tree::read(&cargo.project);
    same(
        &cargo.planted.only("target"),
        &now.only("target"),
        Exactness::Identity,
        "exchanged",
    );
    let lies = Tree::read(&places[0].join("target"));
    same(
        &below(&rebuilt, "target"),
        &lies,
        Exactness::Identity,
        "lies aside",
    );
    cargo.undo(&[]).ok();
    let now = Tree::read(&cargo.project);
    same(
        &rebuilt,
        &now.only("target"),
        Exactness::Identity,
        "exchanged again",
    );
    assert_eq!(cargo.aside(), places);
    cargo.undo(&[]).ok();
    let now = Tree::read(&cargo.project);
    same(
        &cargo.planted.only("target"),
        &now.only("target"),
        Exactness::Identity,
        "and again",
    );
}

#[test]
fn what_was_put_back_and_replaced_is_kept() {
    let cargo = Cargo::new();
    cargo.restore(&[FLAG, "target"]).ok();
    cargo.undo(&[]).ok();
    fs::rename(cargo.project.join("target"), cargo.sandbox.scratch("old")).unwrap();
    Build::at(&cargo.project).file("target/other", "mine\n");
    let part = cargo.undo(&[]).code(6);
    part.shows("the restored one was replaced");
    assert_eq!(fs::read(cargo.project.join("target/other")).unwrap(), b"mine\n");
    assert_eq!(cargo.aside().len(), 0);
    fs::remove_dir_all(cargo.project.join("target")).unwrap();
    cargo.undo(&[]).ok();
    cargo
        .undo(&["--receipt", &(cargo.receipts() - 4).to_string()])
        .code_in(&[0, 5, 6]);
}

#[test]
fn gone_from_where_it_lay() {
    let cargo = Cargo::new();
    cargo.restore(&[FLAG, "target"]).ok();
    let [place] = &cargo.aside()[..] else {
        unreachable!()
    };
    fs::remove_dir_all(place).unwrap();
    let part = cargo.undo(&[]).code(6);
    part.shows("the old one is no longer in").shows(text(place));
    let now = Tree::read(&cargo.project);
    same(
        &cargo.planted.without("target"),
        &now,
        Exactness::Content,
        "the rest",
    );

    // Something else under the same name is not taken for it.
    let cargo = Cargo::new();
    cargo.restore(&[FLAG, "target"]).ok();
    let [place] = &cargo.aside()[..] else {
        unreachable!()
    };
    fs::rename(place.join("target"), cargo.sandbox.scratch("kept")).unwrap();
    Build::at(&place.join("target")).file("debug/x", "other\n");
    cargo.undo(&[]).code(6);
    assert!(!cargo.project.join("target").exists());
    assert!(place.join("target/debug/x").exists());
}

/// Kills a restore, then its undo, at one point after the other; `how` ends it.
fn at_every_point(how: &str) {
    let cargo = Cargo::new();
    let (planted, clean) = (
        |about: &str| cargo.is_planted(about),
        |about: &str| cargo.is_clean(about),
    );
    killed_at(&cargo, &["restore", FLAG, "target"], how, planted, clean);
    killed_at(&cargo, &["undo"], how, clean, planted);
}

fn killed_at(cargo: &Cargo, verb: &[&str], how: &str, old: impl Fn(&str), new: impl Fn(&str)) {
    let mut waited = 0;
    for n in 1.. {
        let about = format!("{how} after {verb:?} was killed at {n}");
        let args = [&[verb[0], &cargo.id, "--yes"], &verb[1..]].concat();
        let killed = |args: &[&str], n: u32| {
            let run = cargo.sandbox.command(args).inside(&cargo.project);
            run.with("JACKIN_RECOVERY_FAIL_AT", format!("any:{n}")).run()
        };
        let run = killed(&args, n);
        if let Some(code) = run.exit() {
            assert_eq!(code, 0, "{about}\n{run}");
            new(&about);
            break;
        }
        let waits = cargo.run(&["restore", &cargo.id, "--dry-run"]).exit() == Some(8);
        if waits {
            waited += 1;
            cargo.run(&["doctor"]).hides("left by an interrupted restore");
            let _ = killed(&[how, &cargo.id, "--yes"], n % 7 + 1);
        }
        let begun = cargo
            .run(&["doctor"])
            .text()
            .contains("was interrupted before it changed anything, or");
        cargo.run(&[how, &cargo.id, "--yes"]).code_in(&[0, 5]);
        cargo.run(&["log", "--verify"]).ok();
        let is_new = !cargo.project.join("new").exists();
        let is_new = if verb[0] == "undo" { !is_new } else { is_new };
        if is_new {
            assert!(how == "resume" || !waits, "{about}: not the old tree");
            new(&about);
            cargo.undo(&[]).ok();
            old(&about);
        } else {
            assert!(how == "abort" || !(waits || begun), "{about}: not the new tree");
            old(&about);
        }
    }
    assert!(waited >= 6, "{how}: only {waited} waited");
}

rows! {
    at_every_point:
    killed_at_every_point_and_taken_back("abort");
    killed_at_every_point_and_finished("resume");
}

#[test]
fn an_exchange_killed_at_every_point() {
    let cargo = Cargo::new();
    cargo.restore(&[FLAG, "target"]).ok();
    let number = cargo.receipts().to_string();
    Build::at(&cargo.project).file("target/again", "built again\n");
    let rebuilt = Tree::read(&cargo.project).only("target");
    let [place] = &cargo.aside()[..] else {
        unreachable!()
    };
    let sides = || {
        let now = Tree::read(&cargo.project).only("target");
        let lies = Tree::read(&place.join("target"));
        (now, lies)
    };
    for n in 1.. {
        let how = if n % 2 == 0 { "abort" } else { "resume" };
        let args = [
            "undo",
            &cargo.id,
            "--receipt",
            &number,
            "--overwrite-later-edits",
            "--yes",
        ];
        let run = cargo
            .sandbox
            .command(args)
            .with("JACKIN_RECOVERY_FAIL_AT", format!("any:{n}"))
            .run();
        let is_done = run.exit().is_some();
        let waits = cargo.run(&["restore", &cargo.id, "--dry-run"]).exit() == Some(8);
        cargo.run(&[how, &cargo.id, "--yes"]).code_in(&[0, 5]);
        let (now, lies) = sides();
        let about = format!("{how} after it was killed at {n}");
        let is_new = now.has("target/debug");
        assert!(!waits || is_new == (how == "resume"), "{about}");
        let (here, there) = if is_new {
            (cargo.planted.only("target"), below(&rebuilt, "target"))
        } else {
            (rebuilt.clone(), below(&cargo.planted, "target"))
        };
        same(&here, &now, Exactness::Identity, &about);
        same(&there, &lies, Exactness::Identity, &about);
        if is_done {
            break;
        }
        if is_new {
            cargo.undo(&[]).ok();
        }
    }
    assert_eq!(cargo.aside().len(), 1);
}

#[test]
fn meddled_with_while_it_waits() {
    let cargo = Cargo::new();
    let die = |n: u32| {
        let args = ["restore", &cargo.id, "--yes", FLAG, "target"];
        let run = cargo.sandbox.command(args).inside(&cargo.project);
        run.with("JACKIN_RECOVERY_FAIL_AT", format!("moved:{n}")).run()
    };
    assert_eq!(die(1).exit(), None);
    Build::at(&cargo.project).file("target/mine", "mine\n");
    let back = cargo.run(&["abort", &cargo.id, "--yes"]).code(6);
    // The old one is back, and what was there lies aside and is named.
    let [place] = &cargo.aside()[..] else {
        panic!("{back}")
    };
    back.shows(text(place));
    assert_eq!(fs::read(place.join("target/mine")).unwrap(), b"mine\n");
    let now = Tree::read(&cargo.project);
    same(
        &cargo.planted.only("target"),
        &now.only("target"),
        Exactness::Identity,
        "taken back",
    );
    cargo.run(&["doctor"]).shows("left by an interrupted restore");
    fs::remove_dir_all(place).unwrap();

    assert_eq!(die(1).exit(), None);
    let [place] = &cargo.aside()[..] else { panic!() };
    fs::rename(place.join("target"), cargo.sandbox.scratch("taken")).unwrap();
    symlink("/etc", place.join("target")).unwrap();
    cargo.run(&["resume", &cargo.id, "--yes"]).refused();
    let back = cargo.run(&["abort", &cargo.id, "--yes"]).code(6);
    back.shows("was removed while");
    assert!(!cargo.project.join("target").exists());
}

#[test]
fn a_file_in_whose_place_an_excluded_directory_lies_is_not_restored_and_the_way_out_is_named() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("web");
    fs::write(project.join("package.json"), "{}\n").unwrap();
    fs::write(project.join("client"), "docs\n").unwrap();
    let before = Tree::read(&project);
    let script = "rm client; mkdir -p client/node_modules/x; echo 1 > client/node_modules/x/i.js";
    let id = sandbox.launch(&project, script);
    let changed = Tree::read(&project);
    let run = |more: &[&str]| {
        let words = ["restore", &id, "--yes"];
        sandbox.command(words.iter().chain(more)).inside(&project).run()
    };
    let held = project.join("client/node_modules");
    run(&[])
        .code(6)
        .has("holds client/node_modules")
        .has(&format!("{FLAG} {}", held.display()))
        .has("then, to restore the file");
    let aside = run(&[FLAG, held.to_str().unwrap()]).code(6);
    aside.has("then, to restore the file");
    // That is done.
    for words in ["out of the way", FLAG] {
        assert!(!aside.said().contains(words), "{aside}");
    }
    run(&[]).ok();
    assert_eq!(fs::read_to_string(project.join("client")).unwrap(), "docs\n");
    assert_eq!(
        differences(&before, &Tree::read(&project), Exactness::Content),
        [""; 0]
    );
    assert_eq!(before.nodes.len() + 3, changed.nodes.len());
}

/// The name may be as long as the file system takes. A restore of this kind ended in the middle, and could not be taken up.
#[test]
fn a_directory_with_a_long_name_is_exchanged_too() {
    for length in [64, 65, 249, 250, 255] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("long");
        let name = "L".repeat(length);
        let (kept, built) = (format!("{name}/kept"), format!("{name}/built"));
        Build::at(&project)
            .file(&kept, "kept\n")
            .file("a", "before\n")
            .aged();
        let exclude = format!("{name}/");
        let agent = "echo agent > a; for d in L*; do echo agent > $d/kept; done";
        let id = sandbox.launch_with(&["--exclude", &exclude], &project, agent);
        let run = |args: &[&str]| sandbox.command(args).inside(&project).run();
        run(&["restore", &id, "--yes", FLAG, &name]).ok();
        Build::at(&project).file(&built, "mine\n");
        let undo = ["undo", &id, "--yes", "--overwrite-later-edits"];
        run(&undo).ok();
        assert_eq!(fs::read(project.join(&kept)).unwrap(), b"agent\n", "{length}");
        run(&["undo", &id, "--yes"]).ok();
        assert_eq!(fs::read(project.join(&built)).unwrap(), b"mine\n", "{length}");
    }
}
