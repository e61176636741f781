//! A private file is never readable by others, not for an instant (scenario 9).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// With a umask of 0 the mode given to `open` is the mode that others see.
const OPEN_HANDED: [&str; 4] = ["sh", "-c", "umask 000; exec \"$@\"", "sh"];

/// A project with a private file big enough that writing it takes a while, its session, and the tree before.
fn deleted_key(sandbox: &Sandbox, size: u64) -> (PathBuf, String, Tree) {
    let project = sandbox.project("keys");
    Build::at(&project)
        .big("key", size)
        .mode("key", 0o600)
        .file("locked/inner", "inner\n")
        .mode("locked/inner", 0o600)
        .mode("locked", 0o700)
        .file("edited", "private too\n")
        .mode("edited", 0o600)
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "rm -r key locked; echo x > edited");
    (project, id, before)
}

#[test]
fn s09_private_file_comes_back_private_and_was_never_open() {
    let sandbox = Sandbox::new();
    let (project, id, before) = deleted_key(&sandbox, 48 << 20);
    let sources = sandbox.sources();
    let done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = Vec::new();
            while !done.load(Ordering::Relaxed) {
                open_to_others(&sources, &mut seen);
                std::thread::sleep(Duration::from_micros(200));
            }
            seen
        });
        let run = sandbox
            .command(["restore", &id, "--yes"])
            .through(&OPEN_HANDED)
            .run();
        done.store(true, Ordering::Relaxed);
        run.ok();
        watcher.join().unwrap()
    });
    assert!(seen.is_empty(), "others could read: {seen:?}");
    assert_same_tree(&before, &Tree::read(&project));
}

/// Regular files below `directory` that a stranger could open now. A directory that only its owner may enter hides
/// what lies in it.
fn open_to_others(directory: &Path, seen: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(found) = entry.path().symlink_metadata() else {
            continue;
        };
        let mode = found.permissions().mode();
        if found.is_dir() && mode & 0o011 != 0 {
            open_to_others(&entry.path(), seen);
        } else if found.is_file() && found.len() > 0 && mode & 0o066 != 0 {
            seen.push(entry.path());
        }
    }
}

#[test]
fn s09_nothing_is_ever_created_with_a_wide_mode() {
    if tool("strace").is_none() {
        skip("s09 by system calls", "strace is not installed");
        return;
    }
    let sandbox = Sandbox::new();
    let (project, id, before) = deleted_key(&sandbox, 100_000);
    let log = sandbox.scratch("trace");
    let calls = "trace=open,openat,openat2,creat,mkdir,mkdirat";
    let log_text = log.to_str().unwrap();
    let run = sandbox
        .command(["restore", &id, "--yes"])
        .through(&[
            "strace", "-f", "-qq", "-y", "-s", "4096", "-e", calls, "-o", log_text,
        ])
        .through(&OPEN_HANDED)
        .run();
    let trace = fs::read_to_string(&log).unwrap_or_default();
    if trace.is_empty() || trace.contains("ptrace(PTRACE_TRACEME") {
        skip("s09 by system calls", "tracing is not allowed here");
        return;
    }
    run.ok();
    let sources = sandbox.sources();
    let created: Vec<&str> = trace
        .lines()
        .filter(|line| creates_below(line, &sources))
        .collect();
    assert!(
        !created.is_empty(),
        "the trace shows no staged file: the test looks for the wrong thing\n{trace}"
    );
    let wide: Vec<&&str> = created.iter().filter(|line| is_wide(line)).collect();
    assert!(
        wide.is_empty(),
        "created with a mode that others can use:\n{wide:#?}"
    );
    assert_same_tree(&before, &Tree::read(&project));
}

/// Whether a traced call made a file or directory below `top`. `-y` shows the path behind every descriptor, so an
/// open tells its path in its result, and a mkdir in its own words or in the directory that it starts from.
fn creates_below(line: &str, top: &Path) -> bool {
    let Some((call, result)) = line.rsplit_once(" = ") else {
        return false;
    };
    let below = |text: &str| text.starts_with(top.to_str().unwrap());
    if call.contains("O_CREAT") || call.contains("O_TMPFILE") {
        return result.split_once('<').is_some_and(|(_, path)| below(path));
    }
    let words = call.split_once("mkdir").map(|(_, words)| words);
    let named = words
        .and_then(|words| words.split('"').nth(1))
        .unwrap_or_default();
    let from = words
        .and_then(|words| words.split_once('<'))
        .map_or("", |(_, from)| from);
    let path = if named.starts_with('/') { named } else { from };
    result.starts_with('0') && words.is_some() && below(path)
}

/// Whether the mode, the last octal number before the result, gives others anything.
fn is_wide(line: &str) -> bool {
    let call = line.rsplit_once(" = ").map_or(line, |(call, _)| call);
    let numbers = call
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| word.starts_with('0'));
    let mode = numbers
        .filter_map(|word| u32::from_str_radix(word, 8).ok())
        .next_back();
    mode.is_none_or(|mode| mode & 0o077 != 0)
}

#[test]
fn s09_trace_reader_knows_wide_from_narrow() {
    let narrow = r#"7 openat(5</x/src>, "key", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0600) = 6</x/src/key>"#;
    let wide = r#"7 openat(5</x/src>, "key", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0644) = 6</x/src/key>"#;
    let how = r#"7 openat2(5</x/src>, "k", {flags=O_RDWR|O_CREAT, mode=0666, resolve=RESOLVE_BENEATH}, 24) = 6</x/src/k>"#;
    let directory = r#"7 mkdirat(5</x/src>, ".jackin-recovery-1", 0700) = 0"#;
    let top = Path::new("/x/src");
    assert!(
        [narrow, wide, how, directory]
            .iter()
            .all(|line| creates_below(line, top))
    );
    assert_eq!(
        [narrow, wide, how, directory].map(is_wide),
        [false, true, true, false]
    );
    assert!(!creates_below(
        r#"7 openat(5</x/src>, "key", O_RDONLY|O_CLOEXEC) = 6</x/src/key>"#,
        top
    ));
}
