//! `mount`: snapshots as a directory, compared with what was captured; its ends, its secrets, and other commands meanwhile.

#![cfg(feature = "mount")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rustix::fs::llistxattr;
use rustix::process::{Pid, Signal, kill_process};

use crate::agent_encrypted::{HARM, Harmed};
use crate::support::build::{Build, noise};
use crate::support::compare::assert_same_tree;
use crate::support::invocation::Started;
use crate::support::kill::Dice;
use crate::support::machine::{run_tool, skip, tool};
use crate::support::nasty;
use crate::support::patience::await_that;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::stop::interrupt;
use crate::support::tree::Tree;

const PATIENCE: Duration = Duration::from_secs(60);

/// Mounted snapshots.
struct Mounted {
    started: Option<Started>,
    point: PathBuf,
}

/// Returns true if something is mounted on a directory.
fn is_mounted(point: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let word = format!(" {} ", point.display());
    table.lines().any(|line| line.contains(&word))
}

/// Returns a fresh directory that snapshots can be mounted on; `None` where nothing can be mounted.
fn point(sandbox: &Sandbox) -> Option<PathBuf> {
    if !Path::new("/dev/fuse").exists() {
        skip("mount", "there is no /dev/fuse");
        return None;
    }
    let point = sandbox.scratch("mnt");
    // It cannot be looked at while it holds what a killed process left.
    if fs::create_dir(&point).is_ok() {
        sandbox.give(&point);
    }
    Some(point)
}

impl Mounted {
    /// Mounts for a caller in `directory`, and waits until it is there.
    #[track_caller]
    fn start(sandbox: &Sandbox, directory: &Path, flags: &[&str]) -> Option<Self> {
        let point = point(sandbox)?;
        let mut words = vec!["mount", point.to_str().unwrap()];
        words.extend(flags);
        let started = sandbox.command(words).inside(directory).start();
        let mut mounted = Self {
            started: Some(started),
            point,
        };
        let begun = Instant::now();
        while !is_mounted(&mounted.point) {
            let child = &mut mounted.started.as_mut().unwrap().child;
            if child.try_wait().unwrap().is_some() || begun.elapsed() > PATIENCE {
                panic!(
                    "nothing was mounted\n{}",
                    mounted.started.take().unwrap().finish()
                );
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(mounted)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.point.join(below)
    }

    fn send(&self, signal: Signal) {
        let pid = self.started.as_ref().unwrap().child.id();
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
    }

    /// Stops it, and insists that nothing is left.
    #[track_caller]
    fn end(mut self) -> Run {
        self.send(interrupt());
        let run = self.started.take().unwrap().finish().ok();
        assert!(!is_mounted(&self.point), "a mount is left\n{run}");
        run
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(mut started) = self.started.take() {
            let _ = started.child.kill();
            let _ = started.child.wait();
            let _ = Command::new("umount").arg("-l").arg(&self.point).output();
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn refusal(done: io::Result<impl Sized>) -> Option<i32> {
    done.err().and_then(|error| error.raw_os_error())
}

const EACCES: i32 = rustix::io::Errno::ACCESS.raw_os_error();
const ENOENT: i32 = rustix::io::Errno::NOENT.raw_os_error();

#[test]
fn the_tree_is_the_one_that_was_captured() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    nasty::tree(&project);
    let before = Tree::read(&project);
    let id = sandbox.session(&project, |project| {
        fs::remove_dir_all(project.join("deep")).unwrap();
        fs::write(project.join("plain"), "changed\n").unwrap();
    });
    let Some(mounted) = Mounted::start(&sandbox, &project, &["--show-secrets"]) else {
        return;
    };
    let top = mounted.path(&format!("{id}/baseline/p"));
    let shown = Tree::read(&top);
    assert_same_tree(&before, &shown);
    for (path, node) in &before.nodes {
        let (then, now) = (node.times.modified, shown.at(path).times.modified);
        assert_eq!(then, now, "time of {}", path.escape_ascii());
    }
    // Names are found one by one, too, and neither an absent one nor one that no file can have.
    for name in nasty::names() {
        let name = OsStr::from_bytes(&name);
        assert!(top.join(name).symlink_metadata().is_ok(), "{name:?}");
    }
    assert!(top.join("absent").symlink_metadata().is_err());
    // The closing snapshot beside it shows what the session did.
    let closing = mounted.path(&format!("{id}/closing/p"));
    assert_eq!(fs::read_to_string(closing.join("plain")).unwrap(), "changed\n");
    assert!(!closing.join("deep").exists());
    // Numbers are those of the snapshot at each look, in each process.
    let again = Tree::read(&top);
    assert_eq!(shown, again);
    let inode = shown.at("plain").times.inode;
    let sparse = top.join("sparse").metadata().unwrap();
    let has_holes = sparse.blocks() * 512 < sparse.size();
    assert!(
        has_holes || crate::support::machine::is_portable(crate::support::machine::NO_HOLES),
        "{sparse:?}"
    );
    assert_eq!(
        refusal(fs::write(top.join("plain"), "x")),
        Some(rustix::io::Errno::ROFS.raw_os_error())
    );
    mounted.end().harmless();
    // And the same in the next run.
    let mounted = Mounted::start(&sandbox, &project, &["--show-secrets", "--session", &id]).unwrap();
    let found = mounted.path("here/baseline/p/plain").metadata().unwrap().ino();
    assert_eq!(found, inode);
    mounted.end();
}

/// Returns a name of random bytes.
fn random_name(dice: &mut Dice) -> Vec<u8> {
    let longest = [8, 40, 255][usize::try_from(dice.below(3)).unwrap()];
    let byte = |dice: &mut Dice| match u8::try_from(1 + dice.below(255)).unwrap() {
        b'/' => b'.',
        byte => byte,
    };
    let name: Vec<u8> = (0..=dice.below(longest)).map(|_| byte(dice)).collect();
    match name.as_slice() {
        b"." | b".." => b"...".to_vec(),
        _ => name,
    }
}

#[test]
fn random_names_are_those_that_were_captured() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let mut dice = Dice::new(37);
    let mut known = BTreeSet::new();
    let mut directory = PathBuf::new();
    for number in 0..600 {
        let name = random_name(&mut dice);
        let path = directory.join(OsStr::from_bytes(&name));
        if path.as_os_str().len() > 2_000 || !known.insert(path.clone()) {
            directory = PathBuf::new();
            continue;
        }
        match dice.below(6) {
            0 => {
                fs::create_dir(project.join(&path)).unwrap();
                directory = path;
            }
            1 => std::os::unix::fs::symlink(OsStr::from_bytes(&name), project.join(&path)).unwrap(),
            _ => fs::write(project.join(&path), format!("{number}\n")).unwrap(),
        }
    }
    let before = Tree::read(&project);
    sandbox.session(&project, |_| {});
    let Some(mounted) = Mounted::start(&sandbox, &project, &["--show-secrets"]) else {
        return;
    };
    let top = mounted.path("here/baseline/p");
    assert_same_tree(&before, &Tree::read(&top));
    for path in &known {
        assert!(top.join(path).symlink_metadata().is_ok(), "{path:?}");
    }
    // Names that nothing has, on each level.
    for level in ["", "here", "here/baseline", "here/baseline/p"] {
        for _ in 0..200 {
            let name = PathBuf::from(OsStr::from_bytes(&random_name(&mut dice)));
            if !known.contains(&name) {
                let found = mounted.path(level).join(&name).symlink_metadata();
                assert_eq!(refusal(found), Some(ENOENT), "{name:?}");
            }
        }
    }
    mounted.end().harmless();
}

#[test]
fn tools_find_no_difference_to_a_restore() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let build = Build::at(&project);
    nasty::named(&project);
    build
        .big("large", 3 << 20)
        .sparse("sparse", 8 << 20, &[(1 << 20, b"middle"), (6 << 20, b"end")])
        .hard_link("twin", "large")
        .symlink("link", "nowhere")
        .dir("empty");
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("later"), "later\n").unwrap();
    });
    let restored = sandbox.scratch("restored");
    let words = ["restore", &id, "--yes", "--to", restored.to_str().unwrap()];
    sandbox.jackin(words).ok();
    let Some(mounted) = Mounted::start(&sandbox, &project, &[]) else {
        return;
    };
    let top = mounted.path("here/baseline/p");
    run_tool(
        Command::new("diff")
            .args(["-r", "--no-dereference"])
            .arg(&top)
            .arg(&restored),
    );
    let copy = sandbox.scratch("copy");
    run_tool(Command::new("cp").arg("-a").arg(&top).arg(&copy));
    let (original, copied) = (Tree::read(&top), Tree::read(&copy));
    assert_same_tree(&original, &copied);
    for (path, node) in &original.nodes {
        assert_eq!(
            node.times.modified,
            copied.at(path).times.modified,
            "{}",
            path.escape_ascii()
        );
    }
    let sparse = copy.join("sparse").metadata().unwrap();
    let has_holes = sparse.blocks() * 512 < 4 << 20;
    assert!(
        has_holes || crate::support::machine::is_portable(crate::support::machine::NO_HOLES),
        "{sparse:?}"
    );
    let archive = sandbox.scratch("all.tar");
    run_tool(
        Command::new("tar")
            .arg("-C")
            .arg(&top)
            .arg("-cSf")
            .arg(&archive)
            .arg("."),
    );
    let found = run_tool(Command::new("grep").args(["-rl", "below: café.txt"]).arg(&top));
    assert_eq!(String::from_utf8(found).unwrap().lines().count(), 1);
    let listed = run_tool(
        Command::new("find")
            .arg(&top)
            .args(["-name", "twin", "-links", "2"]),
    );
    assert!(listed.ends_with(b"/twin\n"));
    let listed = run_tool(Command::new("ls").arg("-lan").arg(&top));
    assert!(String::from_utf8_lossy(&listed).contains(" link -> nowhere"));
    mounted.end();
}

#[test]
fn sessions_and_snapshots_have_their_words() {
    let sandbox = Sandbox::new();
    let (shop, other) = (sandbox.project("shop"), sandbox.project("other"));
    Build::at(&shop).file("a", "one\n");
    Build::at(&other).file("b", "other\n");
    let elsewhere = sandbox.session(&other, |_| {});
    let id = sandbox.begin(sandbox.target(&shop));
    sandbox.jackin(["rename", &id, "fixes"]).ok();
    // A name of its own for the latest session here.
    let taken = sandbox.jackin(["rename", &id, "here"]).code(2);
    taken.has("this word has another meaning");
    let Some(mounted) = Mounted::start(&sandbox, &shop, &[]) else {
        return;
    };
    let mut expected = vec![
        "fixes".to_owned(),
        "here".to_owned(),
        elsewhere.clone(),
        id.clone(),
    ];
    expected.sort();
    assert_eq!(names(&mounted.point), expected);
    assert_eq!(fs::read_link(mounted.path("here")).unwrap(), Path::new(&id));
    assert_eq!(names(&mounted.path("fixes")), ["baseline", "latest"]);
    // What is taken meanwhile appears, and moves the words.
    let take = |text: &str, flags: &[&str]| {
        fs::write(shop.join("a"), text).unwrap();
        let words = ["checkpoint", &id].into_iter().chain(flags.iter().copied());
        sandbox.jackin(words).ok();
    };
    take("two\n", &["--name", "mid"]);
    take("three\n", &[]);
    await_that("the checkpoints", || names(&mounted.path("here")).len() == 4);
    assert_eq!(
        names(&mounted.path("here")),
        ["baseline", "checkpoint", "latest", "mid"]
    );
    let reads = |path: &str, text: &str| {
        let path = mounted.path(path);
        await_that(&path.display().to_string(), || {
            fs::read_to_string(&path).is_ok_and(|read| read == text)
        });
    };
    reads("here/mid/shop/a", "two\n");
    reads("here/latest/shop/a", "three\n");
    let old = fs::read_link(mounted.path("here/latest")).unwrap();
    assert_eq!(old, Path::new("checkpoint"));
    let number = mounted.path("here/checkpoint").metadata().unwrap().ino();
    take("four\n", &[]);
    reads("here/checkpoint/shop/a", "four\n");
    assert_ne!(mounted.path("here/checkpoint").metadata().unwrap().ino(), number);
    assert_eq!(names(&mounted.path("here")).len(), 5, "the older one has its id");
    sandbox.jackin(["end", &id]).ok();
    reads("here/closing/shop/a", "four\n");
    // A directory's time is that of its snapshot; an id works for any.
    let document = sandbox.jackin(["list", "--json"]).ok().json();
    let all = document["instances"].as_array().unwrap();
    let session = all.iter().find(|session| session["id"] == id.as_str()).unwrap();
    for snapshot in session["snapshots"].as_array().unwrap() {
        let by_id = mounted.path(&format!("{id}/{}", snapshot["id"].as_str().unwrap()));
        let seconds = by_id.metadata().unwrap().mtime();
        let taken = snapshot["taken_at"].as_str().unwrap();
        let taken: jiff::Timestamp = taken.parse().unwrap();
        assert_eq!(seconds, taken.as_second());
    }
    mounted.end();
}

#[test]
fn secrets_stay_hidden() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let login = "url = https://me:hunter22222@example.org/x\n";
    let line = "0123456789abcdef0123456789abcde\n";
    let half = line.repeat((3 << 20) / line.len());
    Build::at(&project)
        .file("open", "open\n")
        .file(".env", "KEY=hunter2\n")
        .file("private", "mine\n")
        .mode("private", 0o600)
        .attribute("private", "user.note", "hunter2")
        .file("config", login)
        .file(".git/config", "[x]\n\ttoken = hunter2\n")
        .file("bare.git/config", "[core]\n\tbare = true\n")
        .file("large.log", [half.as_str(), login, &half].concat())
        .file("binary", [b"\0".as_slice(), login.as_bytes()].concat())
        .file("keys/id_rsa", "mine\n")
        .attribute("keys/id_rsa", "user.note", "hunter2")
        .hard_link("keys/above", "keys/id_rsa")
        .hard_link("keys/notes", "keys/id_rsa")
        .file("notes", "mine\n")
        .hard_link("z.env", "notes")
        .file("one", "one\n")
        .hard_link("two", "one")
        .symlink(".aws/link", "../open");
    let id = sandbox.session(&project, |_| {});
    let Some(mounted) = Mounted::start(&sandbox, &project, &[]) else {
        return;
    };
    let top = mounted.path("here/baseline/p");
    assert_eq!(fs::read_to_string(top.join("two")).unwrap(), "one\n");
    assert!(fs::read(top.join("bare.git/config")).is_ok());
    let linked = ["keys/above", "keys/id_rsa", "keys/notes", "notes", "z.env"];
    for name in [".env", ".git/config", "private", "config"]
        .into_iter()
        .chain(linked)
    {
        assert_eq!(refusal(fs::read(top.join(name))), Some(EACCES), "{name}");
        assert!(top.join(name).metadata().unwrap().len() > 0);
        // As `cat` decides.
        sandbox.command(["cat", name]).inside(&project).run().code(2);
    }
    assert_eq!(refusal(fs::read_link(top.join(".aws/link"))), Some(EACCES));
    assert_eq!(fs::read(top.join("open")).unwrap(), b"open\n");
    assert_eq!(
        fs::read(top.join("binary")).unwrap(),
        fs::read(project.join("binary")).unwrap()
    );
    let mut list = [0; 100];
    assert_eq!(llistxattr(top.join("private"), &mut list), Ok(0));
    // Of a large text only the part around the login is hidden.
    let large = fs::File::open(top.join("large.log")).unwrap();
    let mut room = [0; 32];
    large.read_exact_at(&mut room, 0).unwrap();
    assert_eq!(room, line.as_bytes());
    assert_eq!(refusal(large.read_exact_at(&mut room, 3 << 20)), Some(EACCES));
    large.read_exact_at(&mut room, 5 << 20).unwrap();
    mounted.end();
    let flags = ["--show-secrets", "--session", &id];
    let mounted = Mounted::start(&sandbox, &project, &flags).unwrap();
    let shown = Tree::read(&mounted.path("here/baseline/p"));
    assert_same_tree(&Tree::read(&project), &shown);
    mounted.end();
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn encrypted_files_need_the_key() {
    let harmed = Harmed::by(HARM);
    let flags = ["--show-secrets", "--session", &harmed.id];
    let Some(mounted) = Mounted::start(&harmed.sandbox, &harmed.home, &flags) else {
        return;
    };
    let credentials = |mounted: &Mounted| {
        let baseline = mounted.path(&format!("{}/baseline", harmed.id));
        let mut mounts = names(&baseline).into_iter().map(|label| baseline.join(label));
        let state = mounts.find(|mount| mount.join(".claude").is_dir());
        fs::read_to_string(state.unwrap().join(".claude/.credentials.json"))
    };
    let told = credentials(&mounted).unwrap_err();
    assert_eq!(told.kind(), io::ErrorKind::NotFound, "it is in no archive");
    mounted.end();
    let flags = [&flags[..], &["--identity", &harmed.own]].concat();
    let mounted = Mounted::start(&harmed.sandbox, &harmed.home, &flags).unwrap();
    let path = Path::new(".claude/.credentials.json");
    let before = harmed.before.iter().find(|(known, _)| known == path).unwrap();
    assert_eq!(credentials(&mounted).ok(), before.1);
    mounted.end();
    // As for `cat`, the key alone is not the wish to see secrets.
    let mounted = Mounted::start(&harmed.sandbox, &harmed.home, &flags[1..]).unwrap();
    assert_eq!(refusal(credentials(&mounted)), Some(EACCES));
    mounted.end();
}

#[test]
fn an_agent_cannot_mount() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n");
    let Some(point) = point(&sandbox) else {
        return;
    };
    let words = ["sh", "-c", "\"$0\" recovery mount \"$1\"; test $? = 3"];
    let mut command: Vec<&str> = words.to_vec();
    let binary = crate::support::machine::binary();
    command.extend([binary.to_str().unwrap(), point.to_str().unwrap()]);
    let target = project.to_str().unwrap().to_owned();
    sandbox.launching(target, &command).inside(&project).run().ok();
    assert!(!is_mounted(&point));
}

#[test]
fn each_end_leaves_no_mount() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n");
    sandbox.session(&project, |_| {});
    let Some(mounted) = Mounted::start(&sandbox, &project, &[]) else {
        return;
    };
    mounted.end().shows("to end, press Ctrl-C, or: umount ");
    // In use: it leaves the tree nevertheless.
    let mut mounted = Mounted::start(&sandbox, &project, &[]).unwrap();
    let used = fs::File::open(mounted.path("here/latest/p/a")).unwrap();
    mounted.send(Signal::TERM);
    let run = mounted.started.take().unwrap().finish().ok();
    assert!(!is_mounted(&mounted.point));
    run.shows("was in use");
    drop(used);
    let mut mounted = Mounted::start(&sandbox, &project, &[]).unwrap();
    run_tool(Command::new("umount").arg(&mounted.point));
    mounted.started.take().unwrap().finish().ok();
    // Killed, it leaves what the next one removes.
    let mut mounted = Mounted::start(&sandbox, &project, &[]).unwrap();
    mounted.send(Signal::KILL);
    mounted.started.take().unwrap().finish();
    let lost = fs::read_dir(&mounted.point).unwrap_err();
    assert_eq!(
        lost.raw_os_error(),
        Some(rustix::io::Errno::NOTCONN.raw_os_error())
    );
    // No other command minds it.
    for words in [&["list"][..], &["diff"], &["doctor"], &["verify"]] {
        sandbox.command(words).inside(&project).run().ok();
    }
    let again = || {
        let mounted = Mounted::start(&sandbox, &project, &[]).unwrap();
        await_that("the new mount", || {
            fs::read(mounted.path("here/latest/p/a")).is_ok_and(|read| read == b"a\n")
        });
        mounted
    };
    let mut mounted = again();
    // Also at once, while the kernel still answers from memory that the directory is there.
    fs::metadata(&mounted.point).unwrap();
    mounted.send(Signal::KILL);
    mounted.started.take().unwrap().finish();
    let mut mounted = again();
    let busy = sandbox.jackin(["mount", mounted.point.to_str().unwrap()]).code(2);
    busy.shows("are mounted on").shows("already");
    mounted.send(interrupt());
    let run = mounted.started.take().unwrap().finish().ok();
    run.shows("that an earlier `mount` left");
    assert!(!is_mounted(&mounted.point));
}

#[test]
fn a_wrong_directory_is_refused() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").dir("inside");
    let none = sandbox.jackin(["mount", "/nowhere"]).code(5);
    none.shows("no session is recorded yet");
    sandbox.session(&project, |_| {});
    let store = sandbox.store();
    let link = sandbox.scratch("link");
    std::os::unix::fs::symlink(project.join("inside"), &link).unwrap();
    let cases: [(PathBuf, &str); 6] = [
        (sandbox.scratch("absent"), "there is no directory"),
        (project.join("a"), "which rc-"),
        (project.join("inside"), "which rc-"),
        (link, "which rc-"),
        (store.join("tmp"), "lies in the store"),
        (sandbox.sources(), "is not empty"),
    ];
    for (place, expected) in cases {
        let run = sandbox.jackin(["mount", place.to_str().unwrap()]).code(2);
        run.has(expected);
        assert!(!is_mounted(&place), "{run}");
    }
    let words = ["mount", "--session", "no-such", "/nowhere"];
    sandbox.jackin(words).code(5);
}

#[test]
fn what_is_deleted_meanwhile_is_gone_and_the_rest_stays() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project)
        .file("keep", "keep\n")
        .file("leak", "leaked\n")
        .big("large", 3 << 20);
    let first = sandbox.session(&project, |project| {
        fs::write(project.join("keep"), "changed\n").unwrap();
    });
    let second = sandbox.session(&project, |project| {
        fs::write(project.join("keep"), "again\n").unwrap();
    });
    let Some(mounted) = Mounted::start(&sandbox, &project, &[]) else {
        return;
    };
    let old = mounted.path(&format!("{first}/baseline/p"));
    let new = mounted.path(&format!("{second}/baseline/p"));
    let mut open = fs::File::open(old.join("large")).unwrap();
    let mut room = [0; 100];
    open.read_exact(&mut room).unwrap();
    fs::read(new.join("leak")).unwrap();
    let held = fs::File::open(new.join("leak")).unwrap();
    // One session, and then a path of the other.
    sandbox.jackin(["forget", &first, "--yes"]).ok();
    open.seek(SeekFrom::Start(2 << 20)).unwrap();
    let stale = rustix::io::Errno::STALE.raw_os_error();
    let told = refusal(open.read_exact(&mut room));
    assert!(
        told == Some(stale) || told == Some(rustix::io::Errno::IO.raw_os_error()),
        "{told:?}"
    );
    await_that("the end of a session", || !mounted.path(&first).exists());
    assert_eq!(fs::read(new.join("keep")).unwrap(), b"changed\n");
    let path = project.join("leak");
    sandbox
        .jackin(["forget", "--yes", "--path", path.to_str().unwrap()])
        .ok();
    await_that("the end of a path", || {
        refusal(fs::read(new.join("leak"))).is_some()
    });
    assert!(held.read_exact_at(&mut [0; 3], 0).is_err() || held.metadata().is_ok());
    await_that("the rest", || {
        fs::read(new.join("keep")).is_ok_and(|read| read == b"changed\n")
    });
    // Locks are held for moments only.
    sandbox.jackin(["prune", "--yes"]).ok();
    sandbox.jackin(["verify"]).ok();
    let run = mounted.end();
    assert!(!run.text().contains("panicked"), "{run}");
}

#[test]
fn a_mount_is_not_captured() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n");
    sandbox.session(&project, |_| {});
    let Some(mounted) = Mounted::start(&sandbox, &project, &[]) else {
        return;
    };
    // The directory around it, which no session protected when it was mounted.
    let around = mounted.point.parent().unwrap().to_path_buf();
    fs::write(around.join("beside"), "beside\n").unwrap();
    let id = sandbox.session(&around, |_| {});
    let shown = sandbox.jackin(["find", "*", "--any", "--json"]).ok().json();
    let paths = shown["paths"].as_array().unwrap();
    let within = paths.iter().filter(|found| {
        let path = Path::new(found["path"].as_str().unwrap());
        path.starts_with(&mounted.point) && path != mounted.point
    });
    assert_eq!(within.count(), 0, "{shown}");
    await_that("the new session", || mounted.path(&id).exists());
    // Nor as a target of its own.
    for target in [mounted.point.clone(), mounted.path(&id)] {
        let words = [
            "launch",
            "--snapshot",
            "project",
            target.to_str().unwrap(),
            "--",
            "true",
        ];
        sandbox.jackin(words).refused().has("is a mounted snapshot");
    }
    mounted.end();
}

#[test]
fn a_mount_that_is_left_in_a_protected_directory_is_named_and_removed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n");
    sandbox.session(&project, |_| {});
    let Some(mut mounted) = Mounted::start(&sandbox, &project, &[]) else {
        return;
    };
    let point = mounted.point.to_str().unwrap().to_owned();
    let around = mounted.point.parent().unwrap().to_path_buf();
    fs::write(around.join("beside"), "beside\n").unwrap();
    sandbox.session(&around, |_| {});
    let line = format!("umount {point}");
    sandbox.jackin(["doctor"]).ok().hides(&line);
    // Stopped, it does not answer, and nothing waits for it.
    mounted.send(Signal::STOP);
    sandbox
        .jackin(["doctor"])
        .ok()
        .shows("do not answer")
        .shows(&line);
    mounted.send(Signal::CONT);
    mounted.send(Signal::KILL);
    mounted.started.take().unwrap().finish();
    sandbox
        .jackin(["doctor"])
        .ok()
        .shows("a killed `mount` left it mounted")
        .shows(&line);
    sandbox
        .jackin(["mount", &point])
        .code(2)
        .shows("that an earlier `mount` left")
        .shows("which rc-");
    assert!(!is_mounted(&mounted.point));
    sandbox.jackin(["doctor"]).ok().hides(&line);
}

#[test]
fn a_read_unpacks_only_what_it_needs() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let content = noise("large", 8 << 20);
    Build::at(&project).file("large", &content);
    let id = sandbox.session(&project, |_| {});
    // Damage in the second megabyte of the archive, which a read of the sixth must not touch.
    let archives = sandbox.store().join("archives");
    let largest = fs::read_dir(&archives)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let largest = largest.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    bytes[3 << 19] ^= 1;
    fs::write(&largest, bytes).unwrap();
    let Some(mounted) = Mounted::start(&sandbox, &project, &[]) else {
        return;
    };
    let large = fs::File::open(mounted.path(&format!("{id}/baseline/p/large"))).unwrap();
    let mut room = vec![0; 5000];
    large.read_exact_at(&mut room, 6 << 20).unwrap();
    assert_eq!(room, content[6 << 20..][..5000]);
    let damage = refusal(large.read_exact_at(&mut room, 3 << 19));
    assert_eq!(damage, Some(rustix::io::Errno::IO.raw_os_error()));
    drop(large);
    mounted.end().shows("damaged");
}

#[test]
fn an_ordinary_user_mounts() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("an ordinary user", "setpriv or the binary is out of reach");
    };
    if tool("fusermount3").is_none() {
        return skip("an ordinary user", "fusermount3 is not installed");
    }
    let device = fs::metadata("/dev/fuse");
    if device.is_ok_and(|device| device.mode() & 0o006 != 0o006) {
        return skip("an ordinary user", "/dev/fuse is for root alone");
    }
    let project = sandbox.project("p");
    Build::at(&project)
        .file("a", "a\n")
        .big("large", 2 << 20)
        .dir("empty");
    sandbox.give(&project);
    let id = sandbox.session(&project, |_| {});
    let Some(mounted) = Mounted::start(&sandbox, &project, &[]) else {
        return;
    };
    let as_user = |words: &[&str]| -> Output {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command.args(words).output().unwrap()
    };
    let top = mounted.path(&format!("{id}/baseline/p"));
    let same = as_user(&["diff", "-r", top.to_str().unwrap(), project.to_str().unwrap()]);
    assert!(same.status.success(), "{same:?}");
    // Not even root may look.
    if rustix::process::geteuid().is_root() {
        assert_eq!(refusal(fs::read_dir(&mounted.point)), Some(EACCES));
    }
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = table
        .lines()
        .find(|line| line.contains(mounted.point.to_str().unwrap()));
    let line = line.unwrap();
    assert!(
        line.contains("ro,nosuid,nodev") && line.contains("fuse.jackin-recovery"),
        "{line}"
    );
    // Killed, it is mended by the same user.
    let mut killed = mounted;
    let pid = killed.started.as_ref().unwrap().child.id();
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
    killed.started.take().unwrap().finish();
    let mounted = Mounted::start(&sandbox, &project, &[]).unwrap();
    let reads = || as_user(&["cat", top.join("a").to_str().unwrap()]).stdout == b"a\n";
    await_that("the new mount", reads);
    let run = mounted.end();
    run.shows("that an earlier `mount` left");
}
