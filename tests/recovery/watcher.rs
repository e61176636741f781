//! The watcher of a session: it says that nothing has happened only where that is so, spares a checkpoint the walk then, and is gone
//! with the session.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::{self, sleep};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, lsetxattr, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::documents::instances;
use crate::support::machine::{is_nightly, skip, tool};
use crate::support::mapping::Mapping;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Node, Tree};

/// Longest time that a busy machine takes for what takes moments: the watcher yields to all other processes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until `find` finds something.
#[track_caller]
fn await_that<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(200));
    }
}

/// Processes that run as the watcher of a session, without those that have ended.
fn watchers(id: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        if words.contains(&&b"__watcher"[..]) && words.contains(&id.as_bytes()) {
            found.push(pid);
        }
    }
    found
}

/// A project in which sessions are watched.
fn watched_project(sandbox: &Sandbox) -> PathBuf {
    sandbox.configure("config.toml", "[recovery]\nwatch = true\n");
    sandbox.project("shop")
}

/// A session whose watcher this test started, and asks itself.
struct Watched<'a> {
    sandbox: &'a Sandbox,
    project: PathBuf,
    id: String,
    snapshot: String,
    watcher: Child,
}

impl<'a> Watched<'a> {
    fn begin(sandbox: &'a Sandbox, project: &Path) -> Self {
        let id = sandbox.begin(project);
        let listed = instances(&sandbox.jackin(["list", "--json"]).ok());
        let watcher = sandbox.command(["__watcher", &id]).start().child;
        Self {
            sandbox,
            project: project.to_path_buf(),
            snapshot: listed[0].snapshot("baseline").id.clone(),
            id,
            watcher,
        }
    }

    fn say(&self, line: &str) -> Option<String> {
        let locks = File::open(self.sandbox.store().join("locks")).unwrap();
        let path = format!("/proc/self/fd/{}/watch-{}", locks.as_raw_fd(), self.id);
        let mut stream = UnixStream::connect(path).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(line.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer.trim_end().to_owned())
    }

    fn ask(&self) -> String {
        self.say(&format!("ask {}\n", self.snapshot)).unwrap_or_default()
    }

    /// Does what a checkpoint does: asks, and walks after that.
    #[track_caller]
    fn walk(&self) -> BTreeMap<Vec<u8>, Node> {
        let token = await_that("the watcher gives a token", || {
            let answer = self.ask();
            if answer == "same" {
                // Something that is no change of the tree, so that there is a token.
                File::open(&self.project)
                    .unwrap()
                    .set_modified(SystemTime::now())
                    .unwrap();
            }
            answer.strip_prefix("walk ").map(str::to_owned)
        });
        let found = state(&self.project);
        self.say(&format!("rest {} {token}\n", self.snapshot));
        found
    }

    #[track_caller]
    fn await_same(&self) {
        let mut asked = 0;
        await_that("the watcher says that nothing happened", || {
            asked += 1;
            if asked % 20 == 0 {
                // Other tests mount file systems, and from then on only another walk counts.
                self.walk();
            }
            (self.ask() == "same").then_some(())
        });
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let _ = self.watcher.kill();
        let _ = self.watcher.wait();
    }
}

/// All that a comparison looks at.
fn state(project: &Path) -> BTreeMap<Vec<u8>, Node> {
    let mut nodes = Tree::read(project).nodes;
    for node in nodes.values_mut() {
        (node.times.inode, node.times.modified, node.times.changed) = (0, 0, 0);
    }
    nodes
}

/// Numbers that are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// Open files and mappings that change files from one step to the next.
#[derive(Default)]
struct Writers {
    open: Option<File>,
    mapping: Option<Mapping>,
}

const STEPS: usize = 18;

/// Does something to the tree. Files outside of it lie in `beside`, on the same file system.
fn disturb(step: usize, number: usize, project: &Path, beside: &Path, writers: &mut Writers) {
    let dir = project.join(format!("dir{}", number % 3));
    let _ = fs::create_dir_all(&dir);
    let file = dir.join(format!("file{}", number % 4));
    let other = beside.join(format!("other{number}"));
    let is_there = fs::metadata(&file).is_ok_and(|found| found.is_file());
    let text = format!("{number}\n");
    match step {
        0 => fs::write(&file, text).unwrap(),
        1 if is_there => {
            let mut open = OpenOptions::new().append(true).open(&file).unwrap();
            open.write_all(text.as_bytes()).unwrap();
        }
        2 if is_there => OpenOptions::new()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(1)
            .unwrap(),
        3 if is_there => {
            let mode = 0o600 + u32::try_from(number % 8).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        // Not every file system has them.
        4 if is_there => drop(lsetxattr(
            &file,
            "user.step",
            text.as_bytes(),
            XattrFlags::empty(),
        )),
        5 if is_there => fs::rename(&file, &other).unwrap(),
        6 => {
            fs::write(&other, text).unwrap();
            fs::rename(&other, &file).unwrap();
        }
        7 => {
            // A whole tree comes at once.
            let tree = beside.join(format!("tree{number}"));
            fs::create_dir_all(tree.join("a/b")).unwrap();
            fs::write(tree.join("a/b/c"), text).unwrap();
            fs::rename(&tree, dir.join(format!("tree{number}"))).unwrap();
        }
        8 => {
            // A directory is filled before it can have a watch.
            let deep = dir.join(format!("deep{number}/x/y"));
            fs::create_dir_all(&deep).unwrap();
            fs::write(deep.join("z"), text).unwrap();
        }
        9 if is_there => {
            let _ = fs::hard_link(&file, dir.join(format!("link{number}")));
        }
        10 => {
            let _ = symlink(&text, dir.join(format!("symlink{number}")));
        }
        11 => {
            let place = dir.join(format!("pipe{number}"));
            let _ = mknodat(CWD, &place, FileType::Fifo, Mode::RUSR, 0);
        }
        12 if is_there => {
            // The times say nothing.
            let times = fs::metadata(&file).unwrap();
            fs::write(&file, text).unwrap();
            let open = File::open(&file).unwrap();
            open.set_modified(times.modified().unwrap()).unwrap();
        }
        13 => {
            // What was opened before writes now, or is opened.
            match writers.open.take() {
                Some(open) => open.write_all_at(text.as_bytes(), 0).unwrap(),
                None => writers.open = OpenOptions::new().write(true).open(&file).ok(),
            }
        }
        14 => match &mut writers.mapping {
            Some(mapping) => mapping.store(number % 60, &format!("{number}")),
            None => {
                let mapped = project.join("mapped");
                fs::write(&mapped, vec![b'.'; 64]).unwrap();
                writers.mapping = Mapping::of(&mapped);
            }
        },
        15 => writers.mapping = None,
        16 => {
            let _ = fs::remove_dir_all(&dir);
        }
        17 if is_there => drop(fs::read(&file).unwrap()),
        _ => {}
    }
}

/// Returns how often the watcher said that nothing had happened.
fn random_writers(seed: u64, rounds: usize) -> usize {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let beside = sandbox.project("beside");
    Build::at(&project)
        .file("dir0/file0", "one\n")
        .file("kept", "kept\n");
    let watched = Watched::begin(&sandbox, &project);
    let mut dice = Dice(seed);
    let mut writers = Writers::default();
    let mut before = watched.walk();
    let mut same = 0;
    for round in 0..rounds {
        let step = dice.below(STEPS + 6);
        disturb(step, dice.below(1000), &project, &beside, &mut writers);
        if dice.below(2) == 0 {
            sleep(Duration::from_millis(300));
        }
        let is_same = watched.ask() == "same";
        let now = state(&project);
        let changed = || {
            let differs = |path: &&Vec<u8>| now.get(*path) != before.get(*path);
            let paths = now.keys().chain(before.keys()).filter(differs);
            paths
                .map(|path| String::from_utf8_lossy(path).into_owned())
                .collect::<Vec<_>>()
        };
        assert!(
            !is_same || now == before,
            "seed {seed}, round {round}, step {step}: {:?}",
            changed()
        );
        same += usize::from(is_same);
        if !is_same {
            before = watched.walk();
        }
    }
    // How often it can say so before that depends on the machine.
    drop(writers);
    watched.await_same();
    same
}

#[test]
fn nothing_is_said_to_be_the_same_that_is_not() {
    let (seeds, rounds) = if is_nightly() { (10, 600) } else { (3, 50) };
    // They wait for the watcher most of the time.
    let same: usize = thread::scope(|scope| {
        let all = (1..=seeds).map(|seed| scope.spawn(move || random_writers(seed, rounds)));
        let all: Vec<_> = all.collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_ne!(same, 0);
}

#[test]
fn stores_through_a_mapping_are_not_overlooked() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("mapped", vec![b'.'; 4096]);
    let watched = Watched::begin(&sandbox, &project);
    watched.walk();
    watched.await_same();
    // A file that is only read changes nothing, once processes were examined.
    fs::read(project.join("mapped")).unwrap();
    watched.await_same();
    let Some(mut mapping) = Mapping::of(&project.join("mapped")) else {
        return;
    };
    for text in ["one", "two"] {
        let before = watched.walk();
        // Longer than it takes to examine processes.
        sleep(Duration::from_millis(800));
        assert_ne!(watched.ask(), "same");
        mapping.store(0, text);
        assert_ne!(watched.ask(), "same");
        assert_ne!(state(&project), before);
    }
    drop(mapping);
    watched.walk();
    watched.await_same();
}

#[test]
fn a_name_outside_and_a_path_that_leads_elsewhere_are_not_overlooked() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("own", "one\n");
    let outside = sandbox.project("beside").join("outside");
    fs::write(&outside, "one\n").unwrap();
    fs::hard_link(&outside, project.join("linked")).unwrap();
    let watched = Watched::begin(&sandbox, &project);
    await_that("it answers", || watched.say("ask no\n"));
    for _ in 0..10 {
        sleep(Duration::from_millis(50));
        // There is no answer while it opens another socket, because another test mounted something.
        let said = watched.ask();
        assert!(["unknown", ""].contains(&said.as_str()), "{said}");
    }
    // Without the name outside all is seen.
    fs::remove_file(&outside).unwrap();
    fs::write(project.join("own"), "two\n").unwrap();
    fs::remove_file(project.join("linked")).unwrap();
    watched.walk();
    watched.await_same();
    fs::rename(&project, project.with_file_name("moved")).unwrap();
    fs::create_dir(&project).unwrap();
    assert_ne!(watched.ask(), "same");
    await_that("it gives up", || watched.say("ask no\n").is_none().then_some(()));
}

#[test]
fn lost_events_are_not_overlooked() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let watched = Watched::begin(&sandbox, &project);
    watched.walk();
    watched.await_same();
    let watcher = Pid::from_raw(watched.watcher.id().cast_signed()).unwrap();
    kill_process(watcher, Signal::STOP).unwrap();
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let most: usize = most.trim().parse().unwrap();
    for number in 0..=most / 2 {
        File::create(project.join(["a", "b"][number % 2])).unwrap();
    }
    // Its directory comes after the queue is full.
    Build::at(&project).file("late/file", "one\n");
    kill_process(watcher, Signal::CONT).unwrap();
    assert_ne!(watched.ask(), "same");
    watched.walk();
    watched.await_same();
    fs::write(project.join("late/file"), "two\n").unwrap();
    assert_ne!(watched.ask(), "same");
}

#[test]
fn a_watcher_that_does_not_answer_in_time_is_asked_again() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let mut watched = Watched::begin(&sandbox, &project);
    watched.walk();
    let watcher = Pid::from_raw(watched.watcher.id().cast_signed()).unwrap();
    kill_process(watcher, Signal::STOP).unwrap();
    let socket = sandbox.store().join(format!("locks/watch-{}", watched.id));
    let exec = ["exec", &watched.id, "--", "touch", "/dev/null"];
    sandbox.jackin(exec).ok();
    fs::write(project.join("new"), "one\n").unwrap();
    sandbox.jackin(exec).ok();
    let listed = instances(&sandbox.jackin(["list", "--json"]).ok());
    assert_eq!(listed[0].snapshots.len(), 2);
    kill_process(watcher, Signal::CONT).unwrap();
    watched.walk();
    watched.await_same();
    kill_process(watcher, Signal::STOP).unwrap();
    sandbox.jackin(["end", &watched.id]).ok();
    assert!(!socket.exists());
    kill_process(watcher, Signal::CONT).unwrap();
    await_that("it ends without its socket", || {
        watched.watcher.try_wait().unwrap()
    });
}

/// Number of looks of a checkpoint at the file `kept`; `None` where that cannot be counted.
fn looks(sandbox: &Sandbox, id: &str) -> Option<usize> {
    if tool("strace").is_none() {
        skip("looks of a checkpoint", "strace is not installed");
        return None;
    }
    let log = sandbox.scratch("trace");
    let command = sandbox.command(["exec", id, "--", "touch", "/dev/null"]);
    let tracer = ["strace", "-f", "-qq", "-e", "trace=statx,newfstatat", "-o"];
    let tracer: Vec<&str> = tracer.into_iter().chain([log.to_str().unwrap()]).collect();
    command.through(&tracer).run();
    let trace = BufReader::new(File::open(&log).ok()?)
        .lines()
        .map_while(Result::ok);
    let lines: Vec<String> = trace.collect();
    if lines.is_empty() || lines.iter().any(|line| line.contains("PTRACE_TRACEME")) {
        skip("looks of a checkpoint", "tracing is not allowed here");
        return None;
    }
    Some(lines.iter().filter(|line| line.contains("\"kept\"")).count())
}

#[test]
fn a_checkpoint_does_not_walk_where_nothing_happened() {
    let sandbox = Sandbox::new();
    let project = watched_project(&sandbox);
    Build::at(&project)
        .file("kept", "kept\n")
        .file("place/changed", "one\n")
        .aged();
    let session = Background::launch(&sandbox, &project, "true");
    let id = sandbox.newest();
    let watcher = await_that("there is a watcher", || watchers(&id).first().copied());
    let snapshots = || {
        instances(&sandbox.jackin(["list", "--json"]).ok())[0]
            .snapshots
            .len()
    };
    for text in ["two\n", "three\n"] {
        fs::write(project.join("place/changed"), text).unwrap();
        let before = snapshots();
        sandbox.jackin(["exec", &id, "--", "touch", "/dev/null"]).ok();
        assert_eq!(snapshots(), before + 1);
        let Some(0) = await_that("a checkpoint does not walk", || {
            sleep(Duration::from_millis(300));
            match looks(&sandbox, &id) {
                Some(1..) => None,
                other => Some(other),
            }
        }) else {
            break;
        };
        assert_eq!(snapshots(), before + 1);
    }
    // Its end is no error of a checkpoint.
    kill_process(Pid::from_raw(watcher).unwrap(), Signal::KILL).unwrap();
    fs::write(project.join("place/changed"), "four\n").unwrap();
    let before = snapshots();
    sandbox.jackin(["exec", &id, "--", "touch", "/dev/null"]).ok();
    assert_eq!(snapshots(), before + 1);
    session.end().ok();
    sandbox.jackin(["doctor"]).ok();
}

#[test]
fn no_watcher_outlives_its_session() {
    let sandbox = Sandbox::new();
    let project = watched_project(&sandbox);
    let gone = |id: &str| {
        await_that("its watcher is gone", || watchers(id).is_empty().then_some(()));
        let socket = sandbox.store().join(format!("locks/watch-{id}"));
        await_that("its socket is gone", || (!socket.exists()).then_some(()));
    };
    let session = Background::launch(&sandbox, &project, "true");
    let id = sandbox.newest();
    await_that("there is a watcher", || watchers(&id).first().copied());
    session.end().ok();
    gone(&id);
    let mut session = Background::launch(&sandbox, &project, "true");
    let id = sandbox.newest();
    await_that("there is a watcher", || watchers(&id).first().copied());
    session.kill_launcher();
    gone(&id);
    session.kill();
    // Without the setting there is none.
    sandbox.configure("config.toml", "[recovery]\nwatch = false\n");
    let session = Background::launch(&sandbox, &project, "true");
    let id = sandbox.newest();
    sleep(Duration::from_millis(300));
    assert!(watchers(&id).is_empty());
    session.end().ok();
}

#[test]
fn the_contract_says_whether_checkpoints_walk() {
    let sandbox = Sandbox::new();
    let project = watched_project(&sandbox);
    let explained = sandbox
        .command(["explain", "--snapshot", "project", "."])
        .inside(&project)
        .run()
        .ok();
    explained.shows("The files are watched");
}
