//! Snapshots of file systems as the source of captures: on a real btrfs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::file_systems::{build, there_and_back};
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::machine::{run_tool, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// A btrfs, and a subvolume in it.
pub(crate) struct Btrfs {
    volume: Volume,
    pub(crate) disk: PathBuf,
    pub(crate) project: PathBuf,
}

impl Btrfs {
    /// One beside the store.
    pub(crate) fn new(sandbox: &Sandbox) -> Option<Self> {
        Self::at(sandbox.sources().join("disk"))
    }

    /// One that the store lies on, too.
    pub(crate) fn with_store(sandbox: &Sandbox) -> Option<Self> {
        let made = Self::at(sandbox.home().join(".jackin"))?;
        Some(made)
    }

    fn at(disk: PathBuf) -> Option<Self> {
        if crate::support::machine::is_portable("no file system takes snapshots of itself") {
            return None;
        }
        tool("btrfs")?;
        let volume = Volume::image(&disk, "btrfs", 512 << 20, &["mkfs.btrfs", "-q", "-f"])?;
        let project = disk.join("project");
        subvolume(&project);
        Some(Self {
            volume,
            disk,
            project,
        })
    }

    /// Every subvolume but the project.
    pub(crate) fn others(&self) -> Vec<String> {
        let listed = run_tool(
            Command::new("btrfs")
                .args(["subvolume", "list", "-o"])
                .arg(&self.disk),
        );
        let listed = String::from_utf8(listed).unwrap();
        let paths = listed.lines().filter_map(|line| line.split_once(" path "));
        let paths = paths.map(|(_, path)| path.to_owned());
        paths.filter(|path| path != "project").collect()
    }
}

/// A process that ends with the test.
struct Writer(Child);

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn subvolume(at: &Path) {
    run_tool(Command::new("btrfs").args(["-q", "subvolume", "create"]).arg(at));
}

fn mounts(sandbox: &Sandbox, project: &Path, more: &[&str]) -> Value {
    let target = project.to_str().unwrap();
    let words = [&["explain", "--snapshot", "project", "--json", target], more].concat();
    sandbox.jackin(words).ok().json()["mounts"].clone()
}

#[test]
fn a_subvolume_is_frozen_and_comes_back_as_ever() {
    for in_store in [false, true] {
        let sandbox = Sandbox::new();
        let made = match in_store {
            true => Btrfs::with_store(&sandbox),
            false => Btrfs::new(&sandbox),
        };
        let Some(btrfs) = made else { return };
        build(&btrfs.project);
        let terms = &mounts(&sandbox, &btrfs.project, &[])[0];
        assert_eq!(terms["native"]["kind"], "btrfs");
        assert_eq!(terms["native"]["source"], btrfs.project.to_str().unwrap());
        assert_eq!(terms["coverage"]["native"], "source");
        let place = terms["native"]["place"].as_str().unwrap();
        assert_eq!(Path::new(place).starts_with(sandbox.store()), in_store, "{place}");
        there_and_back(&sandbox, &btrfs.project);
        assert_eq!(btrfs.others(), [""; 0], "nothing frozen stays");
        let left = fs::read_dir(&btrfs.disk)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name());
        let left: Vec<_> = left
            .filter(|name| name.to_str().unwrap().contains("jackin-recovery"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        sandbox.jackin(["doctor"]).ok();
    }
}

#[test]
fn an_ordinary_user_freezes_what_is_their_own_and_lets_it_go() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    build(&btrfs.project);
    sandbox.give(&btrfs.disk);
    let before = Tree::read(&btrfs.project);
    // What they could not remove they do not make.
    let why_not = || mounts(&sandbox, &btrfs.project, &[])[0]["native"]["why_not"].to_string();
    assert!(why_not().contains("user_subvol_rm_allowed"), "{}", why_not());
    assert!(btrfs.volume.remounted("remount,user_subvol_rm_allowed"));
    assert_eq!(why_not(), "null");
    // Nor where others could put something in its place.
    let mode = |mode| fs::set_permissions(&btrfs.disk, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o777);
    assert!(why_not().contains("that only you can write"), "{}", why_not());
    mode(0o755);
    let id = sandbox.launch(&btrfs.project, "echo agent > edited; rm gone; rm -r dir");
    assert_eq!(btrfs.others(), [""; 0]);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&btrfs.project));
    // Another user's subvolume is not theirs to freeze.
    let other = btrfs.disk.join("other");
    subvolume(&other);
    let inner = other.join("inner");
    fs::create_dir(&inner).unwrap();
    sandbox.give(&inner);
    let terms = &mounts(&sandbox, &inner, &[])[0];
    let why = format!("the subvolume {} is another user's", other.display());
    assert_eq!(terms["native"]["why_not"], why);
}

/// A snapshot of a subvolume has nothing of those that lie in it, and shows an empty directory there.
#[test]
fn a_subvolume_within_a_subvolume_is_never_taken_for_empty() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    build(&btrfs.project);
    let nested = btrfs.project.join("dir/nested");
    subvolume(&nested);
    Build::at(&nested).file("kept", "theirs\n").aged();
    for native in ["auto", "off"] {
        sandbox.configure("config.toml", &format!("[recovery]\nnative = \"{native}\"\n"));
        let id = sandbox.launch(&btrfs.project, "echo agent > edited; echo more > dir/nested/more");
        let shown = sandbox.jackin(["show", &id]).ok();
        shown.has("dir/nested");
        let restored = sandbox.jackin(["restore", &id, "--yes"]).ok();
        assert_eq!(
            fs::read_to_string(nested.join("kept")).unwrap(),
            "theirs\n",
            "{native}: {restored}"
        );
        assert!(nested.join("more").exists(), "{native}: {restored}");
        assert_eq!(btrfs.others(), [""; 0]);
    }
}

#[test]
fn the_contract_says_where_and_why_not() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    Build::at(&btrfs.project).file("a", "a\n");
    let target = btrfs.project.to_str().unwrap();
    let said = sandbox.jackin(["explain", "--snapshot", "project", target]).ok();
    said.has("frozen for each capture by a btrfs snapshot of")
        .has("until it is stored");
    // A directory in a subvolume is frozen with it.
    let inner = btrfs.project.join("inner");
    fs::create_dir(&inner).unwrap();
    let terms = &mounts(&sandbox, &inner, &[])[0];
    assert_eq!(terms["native"]["source"], target);
    // What is mounted in it would not be in the snapshot.
    let over = btrfs.project.join("over");
    let mounted = Volume::tmpfs(&over);
    let terms = &mounts(&sandbox, &btrfs.project, &[])[0];
    let why = format!("{} is mounted in it", over.display());
    assert_eq!(terms["native"]["why_not"], why);
    assert!(terms["coverage"]["native"].is_null());
    let config = sandbox.home().join(".config/jackin");
    fs::create_dir_all(&config).unwrap();
    let set = |word: &str| {
        fs::write(
            config.join("config.toml"),
            format!("[recovery]\nnative = \"{word}\"\n"),
        )
        .unwrap()
    };
    set("require");
    let refused = sandbox.launching(target, &["touch", "begun"]).run().code(2);
    refused
        .has("native = \"require\"")
        .has(&why)
        .has("native = \"auto\"");
    assert!(instances(&sandbox.jackin(["list", "--json"]).ok()).is_empty());
    drop(mounted);
    set("off");
    assert!(mounts(&sandbox, &btrfs.project, &[])[0]["native"].is_null());
    set("require");
    let terms = &mounts(&sandbox, &btrfs.project, &[])[0];
    assert_eq!(terms["coverage"]["native"], "itself");
    // Elsewhere there is nothing to say, unless it is required.
    let plain = sandbox.project("plain");
    let refused = sandbox
        .jackin(["explain", "--snapshot", "project", plain.to_str().unwrap()])
        .code(2);
    refused.has("its file system has none");
    set("auto");
    assert!(mounts(&sandbox, &plain, &[])[0]["native"].is_null());
}

#[test]
fn a_snapshot_never_shows_half_of_what_was_changed_together() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    // Between the two files of a pair lie many others, so that a walk is a long time between them.
    Build::at(project).file("a/first", "0\n").file("z/second", "0\n");
    for dir in 0..40 {
        for file in 0..50 {
            Build::at(project).file(format!("m{dir}/f{file}"), format!("{dir} {file}\n"));
        }
    }
    // The first is never behind the second: in no moment is it older, or more than one step ahead.
    let script = "i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i >a/.n && mv a/.n a/first; echo $i >z/.n && mv z/.n z/second; done";
    let writer = Command::new("sh")
        .args(["-c", script])
        .current_dir(project)
        .spawn();
    let mut writer = Writer(writer.unwrap());
    thread::sleep(Duration::from_millis(100));
    let mut seen = Vec::new();
    let target = project.to_str().unwrap();
    let begun = sandbox
        .jackin(["begin", "--json", "--snapshot", "project", target])
        .ok();
    let id = begun.json()["instance"].as_str().unwrap().to_owned();
    for number in 0..12 {
        let name = format!("c{number}");
        sandbox.jackin(["checkpoint", &id, "--name", &name]).ok();
    }
    fs::write(project.join("stop"), "").unwrap();
    writer.0.wait().unwrap();
    sandbox.jackin(["end", &id]).ok();
    for number in 0..12 {
        let to = sandbox.scratch(&format!("to{number}"));
        let from = format!("c{number}");
        sandbox
            .jackin([
                "restore",
                &id,
                "--from",
                &from,
                "--yes",
                "--to",
                to.to_str().unwrap(),
            ])
            .ok();
        let read = |path: &str| {
            fs::read_to_string(to.join(path))
                .unwrap()
                .trim()
                .parse::<i64>()
                .unwrap()
        };
        seen.push((read("a/first"), read("z/second")));
    }
    assert!(
        seen.iter()
            .all(|(first, second)| (0..=1).contains(&(first - second))),
        "{seen:?}"
    );
    assert!(
        seen.windows(2).any(|two| two[0] != two[1]),
        "nothing was written meanwhile: {seen:?}"
    );
    assert_eq!(btrfs.others(), [""; 0]);
}

#[test]
fn unchanged_files_stay_unchanged_between_frozen_and_live() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    build(&btrfs.project);
    let before = Tree::read(&btrfs.project);
    let id = sandbox.launch(&btrfs.project, "true");
    assert!(sandbox.diff(&id, &[]).touched().is_empty());
    sandbox.restore(&id, &[]).nothing();
    assert_same_tree(&before, &Tree::read(&btrfs.project));
    // The second session reads nothing anew: its baseline needs no archive of its own.
    let archives = || fs::read_dir(sandbox.store().join("archives")).unwrap().count();
    let count = archives();
    sandbox.launch(&btrfs.project, "true");
    assert_eq!(archives(), count);
}
