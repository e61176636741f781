//! Cost of a launch (syncs, readings of the files of a process) and of a checkpoint (looks at a directory).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::machine::{skip, tool};
use crate::support::sandbox::Sandbox;

/// Syncs of a launch into a store that is there, in a directory of which it has a snapshot. `docs/crash-safety.md` lists them.
const SYNCS: usize = 11;
/// Three more for the archive, where something is stored.
const SYNCS_WITH_ARCHIVE: usize = SYNCS + 3;
/// Names of a new store, of each directory above it, and tables of a new catalog.
const SYNCS_OF_A_NEW_STORE: usize = 15;

/// Looks at a directory above the one of a launch: once for each path that is resolved, not once for each secret place.
const LOOKS: usize = 20;

/// Queries of the catalog by a launch into a store that is there: each locks the file and looks for its journals.
const READS: usize = 45;

/// System calls of one command.
struct Calls(String);

impl Calls {
    /// Traces `launch -- true`; `None` where that is not possible.
    fn of_launch(sandbox: &Sandbox, project: &Path) -> Option<Self> {
        Self::of(
            sandbox,
            project,
            &["launch", "--snapshot", "project", ".", "--", "true"],
        )
    }

    /// Traces a command; `None` where that is not possible.
    fn of(sandbox: &Sandbox, project: &Path, args: &[&str]) -> Option<Self> {
        if tool("strace").is_none() {
            skip("cost of a command", "strace is not installed");
            return None;
        }
        let log = sandbox.scratch("trace");
        let calls = "trace=fsync,fdatasync,syncfs,sync_file_range,open,openat,readlink,statx,newfstatat";
        let log_text = log.to_str().unwrap();
        let run = sandbox
            .command(args.iter().copied())
            .inside(project)
            .through(&["strace", "-f", "-qq", "-e", calls, "-o", log_text])
            .run();
        let trace = fs::read_to_string(&log).unwrap_or_default();
        if trace.is_empty() || trace.contains("ptrace(PTRACE_TRACEME") {
            skip("cost of a command", "tracing is not allowed here");
            return None;
        }
        run.code(0);
        Some(Self(trace))
    }

    fn syncs(&self) -> Vec<&str> {
        let names = ["fsync(", "fdatasync(", "syncfs(", "sync_file_range("];
        let is_sync = |line: &&str| names.iter().any(|name| line.contains(name));
        self.0.lines().filter(is_sync).collect()
    }

    /// Number of looks at this very path.
    fn looks_at(&self, path: &Path) -> usize {
        let named = format!("\"{}\"", path.display());
        let is_look = |line: &&str| line.contains(&named) && !line.contains(" open");
        self.0.lines().filter(is_look).count()
    }

    /// Number of looks at this name in whatever directory.
    fn looks_at_name(&self, name: &str) -> usize {
        let named = format!("\"{name}\"");
        let is_look = |line: &&str| line.contains(&named) && !line.contains(" open");
        self.0.lines().filter(is_look).count()
    }

    /// Files of processes that were opened more than once.
    fn read_again(&self) -> BTreeMap<&str, usize> {
        let mut opened = BTreeMap::new();
        for line in self.0.lines().filter(|line| line.contains(" open")) {
            let path = line
                .split_once("\"/proc/")
                .and_then(|(_, rest)| rest.split_once('"'));
            let Some((path, _)) = path else { continue };
            let of_process = path.split_once('/').map(|(process, _)| process);
            if of_process.is_some_and(|process| process.bytes().all(|byte| byte.is_ascii_digit())) {
                *opened.entry(path).or_insert(0) += 1;
            }
        }
        assert!(opened.len() > 2, "no process was looked at: {}", self.0);
        opened.retain(|_, times| *times > 1);
        opened
    }
}

#[test]
fn a_launch_syncs_a_few_times() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("synced");
    let Some(first) = Calls::of_launch(&sandbox, &project) else {
        return;
    };
    let syncs = first.syncs();
    // The names above the store are synced one by one.
    let above = sandbox.home().components().count();
    let most = SYNCS_WITH_ARCHIVE + SYNCS_OF_A_NEW_STORE + above;
    assert!(syncs.len() <= most, "{} of {most}: {syncs:#?}", syncs.len());
    let Some(second) = Calls::of_launch(&sandbox, &project) else {
        return;
    };
    assert!(second.syncs().len() <= SYNCS, "{:#?}", second.syncs());
    let another = sandbox.project("another");
    let Some(third) = Calls::of_launch(&sandbox, &another) else {
        return;
    };
    assert!(third.syncs().len() <= SYNCS_WITH_ARCHIVE, "{:#?}", third.syncs());
    sandbox.jackin(["log", "--verify"]).ok();
}

#[test]
fn a_launch_looks_at_the_directories_above_its_own_a_few_times() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("deep/below");
    // The first one makes the store.
    let calls = Calls::of_launch(&sandbox, &project).and(Calls::of_launch(&sandbox, &project));
    let Some(calls) = calls else { return };
    let mut is_seen = false;
    // A secret place below the home has another one of these above it each.
    for above in project
        .ancestors()
        .skip(1)
        .filter(|above| above.parent().is_some())
    {
        let looks = calls.looks_at(above);
        assert!(looks <= LOOKS, "{looks} at {}: {}", above.display(), calls.0);
        is_seen |= looks > 0;
    }
    assert!(is_seen, "no look was recognized: {}", calls.0);
}

#[test]
fn a_launch_reads_the_catalog_a_few_times() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("read");
    // The first one makes the store.
    let calls = Calls::of_launch(&sandbox, &project).and(Calls::of_launch(&sandbox, &project));
    let Some(calls) = calls else { return };
    // SQLite looks for this one, which is never there, for each read outside a transaction.
    let reads = calls.looks_at(&sandbox.store().join("catalog.sqlite3-wal"));
    assert!((1..=READS).contains(&reads), "{reads}: {}", calls.0);
}

#[test]
fn a_launch_reads_each_file_of_a_process_once() {
    if crate::support::machine::is_portable("a library reads the process table") {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("processes");
    let mut again = BTreeMap::new();
    // What is known of a process is used for two seconds, and a machine that is busy may take longer.
    for _ in 0..5 {
        let Some(calls) = Calls::of_launch(&sandbox, &project) else {
            return;
        };
        let found = calls.read_again();
        if found.is_empty() {
            return;
        }
        again = found
            .into_iter()
            .map(|(path, times)| (path.to_owned(), times))
            .collect();
    }
    panic!("opened more than once: {again:#?}");
}

/// A checkpoint lists each directory once and looks at its times once more, whether or not it is taken, and one that is not taken syncs nothing and
/// leaves nothing.
#[test]
fn a_checkpoint_walks_once_and_stores_only_a_change() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("walked");
    Build::at(&project)
        .file("beside/kept", "kept\n")
        .file("place/changed", "one\n")
        .aged();
    let id = sandbox.begin(&project);
    let exec = ["exec", &id, "--", "touch", "/dev/null"];
    let stored = || {
        let count = |dir| fs::read_dir(sandbox.store().join(dir)).unwrap().count();
        ["snapshots", "archives", "tmp"].map(count)
    };
    let before = stored();
    // The same bytes at another time are no change, though they are read.
    fs::write(project.join("place/changed"), "one\n").unwrap();
    for _ in 0..2 {
        let Some(calls) = Calls::of(&sandbox, &project, &exec) else {
            return;
        };
        assert_eq!(calls.looks_at_name("beside"), 2, "{}", calls.0);
        assert_eq!(calls.syncs(), Vec::<&str>::new());
        assert_eq!(stored(), before);
    }
    fs::write(project.join("place/changed"), "two\n").unwrap();
    let Some(calls) = Calls::of(&sandbox, &project, &exec) else {
        return;
    };
    assert_eq!(calls.looks_at_name("beside"), 2, "{}", calls.0);
    let [snapshots, archives, drafts] = before;
    assert_eq!(stored(), [snapshots + 1, archives + 1, drafts]);
    sandbox.jackin(["end", &id]).ok();
}
