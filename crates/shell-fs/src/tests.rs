//! Shells of this machine, which are asked what an agent would be asked.

#[path = "../../handle-fs/src/simulated/tests/calls.rs"]
mod calls;
mod many;
mod reasons;
#[path = "../../handle-fs/src/remote/tests/several.rs"]
mod several;

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use handle_fs::remote::{Address, Channel, Listener, Patience, Transports};
use handle_fs::{Handle, NodeKind, Time, open_root};
use proptest::prelude::*;

use crate::skipped::skipped;
use calls::{Call, call, run};

/// Shells at the other end, with the tools of this machine or of busybox.
const SHELLS: [&str; 3] = ["dash", "bash", "busybox"];

/// A shell of this machine; `busybox` with its own tools alone.
fn shell_of(shell: &str) -> io::Result<Channel> {
    let mut command = Command::new(shell);
    if shell == "busybox" {
        let tools = busybox().ok_or(io::ErrorKind::NotFound)?;
        command.arg("sh").env("PATH", tools);
    }
    let mut child = command
        .args(["-c", crate::LOOP])
        .env("T", "x")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut from = child.stdout.take().unwrap();
    let mut first = [0; 8];
    from.read_exact(&mut first)?;
    assert_eq!(&first, b"x shell\n");
    Ok(Channel {
        only: Vec::new(),
        listener: Listener::Other(crate::introduce("0123456789abcdef".to_owned())),
        from: Box::new(from),
        to: Box::new(child.stdin.take().unwrap()),
        patience: Arc::new(Patience::new(Duration::from_secs(60), "the test")),
        cut: Box::new(|| ()),
        why: Box::new(move || child.wait().ok().map(|status| format!("it ended: {status}"))),
        backings: Vec::new(),
        storages: Vec::new(),
        helper: None,
        copied: None,
        end: None,
    })
}

/// A directory with the tools of busybox under their names.
fn busybox() -> Option<PathBuf> {
    static TOOLS: std::sync::OnceLock<Option<tempfile::TempDir>> = std::sync::OnceLock::new();
    let tools = TOOLS.get_or_init(|| {
        let place = tempfile::tempdir().ok()?;
        let done = Command::new("busybox")
            .args(["--install", "-s"])
            .arg(place.path())
            .status();
        done.is_ok_and(|status| status.success()).then_some(place)
    });
    tools.as_ref().map(|tools| tools.path().to_path_buf())
}

/// The shells that there are here.
fn shells() -> Vec<&'static str> {
    let there = |shell: &&str| {
        let found = match *shell {
            "busybox" => busybox().is_some(),
            shell => Command::new(shell).args(["-c", "true"]).status().is_ok(),
        };
        if !found {
            skipped(&format!("{shell} is not installed"));
        }
        found
    };
    SHELLS.into_iter().filter(there).collect()
}

/// Returns connections to the shells that addresses of [`through`] name.
fn transports() -> Transports {
    let connect = |address: &Address, _: &Arc<AtomicBool>| {
        let Address::Docker { container } = address else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let (shell, _) = container.split_once('-').ok_or(io::ErrorKind::Unsupported)?;
        shell_of(shell)
    };
    Transports::new(Box::new(connect), Box::new(|_, _| None))
}

/// Returns the address of a path of this machine, reached through a shell. Each `machine` has a connection of its own.
fn through(shell: &str, machine: &str, path: &Path) -> PathBuf {
    let container = format!("{shell}-{machine}");
    Address::Docker { container }.with(path)
}

/// Roots of a directory, with the way to each: by this kernel, and by every shell.
fn roots(name: &str, place: &Path) -> Vec<(&'static str, Handle)> {
    let far = shells().into_iter().map(|shell| {
        (
            shell,
            transports().open_root(&through(shell, name, place)).unwrap(),
        )
    });
    std::iter::once(("here", open_root(place).unwrap()))
        .chain(far)
        .collect()
}

const HOSTILE: [&[u8]; 12] = [
    b"plain",
    b"-rf",
    b"it's \"quoted\"",
    b"a\nb\n",
    b"$(touch hacked) `id` ${x}",
    b"; rm -rf x #",
    b"\\n\\",
    b" lead and trail ",
    b"\xff\xfe\x81\x88",
    b"*?[a]",
    b"\t\r\x01",
    "\u{e4}\u{2028}".as_bytes(),
];

#[test]
fn names_that_shells_and_tools_could_take_for_something_else_are_only_names() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let far = through(shell, "names", place.path());
        let dir = transports().open_root(&far).unwrap();
        for name in HOSTILE {
            let name = OsStr::from_bytes(name);
            let mut file = handle_fs::create_file(&dir, name).unwrap();
            file.write_all(name.as_bytes()).unwrap();
            let (mut again, stat) = handle_fs::open_child_file(&dir, name).unwrap();
            let mut read = Vec::new();
            again.read_to_end(&mut read).unwrap();
            assert_eq!(read, name.as_bytes(), "{shell} {name:?}");
            assert_eq!(stat.mode, 0o600);
            let below = OsStr::from_bytes(b"d'\n ");
            let _ = handle_fs::make_dir(&dir, below);
            let inner = handle_fs::open_child_dir(&dir, below).unwrap();
            handle_fs::rename_new(&dir, name, &inner, name).unwrap();
            handle_fs::make_symlink(&inner, OsStr::new("l"), name.as_bytes()).unwrap();
            assert_eq!(
                handle_fs::read_link(&inner, OsStr::new("l")).unwrap(),
                name.as_bytes()
            );
            handle_fs::remove_file(&inner, OsStr::new("l")).unwrap();
        }
        let inner = std::fs::read_dir(place.path().join(OsStr::from_bytes(b"d'\n "))).unwrap();
        let mut found: Vec<_> = inner
            .map(|entry| entry.unwrap().file_name().as_bytes().to_vec())
            .collect();
        let mut wanted: Vec<_> = HOSTILE.iter().map(|name| name.to_vec()).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{shell}");
        let looked =
            handle_fs::look_into(handle_fs::open_child_dir(&dir, OsStr::from_bytes(b"d'\n ")).unwrap());
        let listed: Vec<_> = looked
            .unwrap()
            .children
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(listed, wanted, "{shell}");
    }
}

#[test]
fn content_comes_and_goes_as_it_is() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let far = through(shell, "content", place.path());
        let dir = transports().open_root(&far).unwrap();
        let name = OsStr::new("file");
        let mut file = handle_fs::create_file(&dir, name).unwrap();
        // With all bytes, what looks like an answer, and what looks like a command.
        let mut content: Vec<u8> = (0..5_000_000_u32)
            .map(|at| at.wrapping_mul(7919).to_le_bytes()[2])
            .collect();
        content.extend(b"\n0123456789abcde 0\n\nE=$(id); z\n");
        for part in content.chunks(700_001) {
            file.write_all(part).unwrap();
        }
        file.set_len(6_000_000).unwrap();
        file.write_all_at(b"end", 5_999_997).unwrap();
        file.sync().unwrap();
        content.resize(5_999_997, 0);
        content.extend(b"end");
        assert!(
            std::fs::read(place.path().join("file")).unwrap() == content,
            "{shell}"
        );
        let (mut read, stat) = handle_fs::open_child_file(&dir, name).unwrap();
        assert_eq!(stat.size, 6_000_000);
        let mut room = vec![1; 100];
        read.read_exact_at(&mut room, 4_999_990).unwrap();
        assert_eq!(room, content[4_999_990..][..100]);
        let mut all = Vec::new();
        read.read_to_end(&mut all).unwrap();
        assert!(all == content, "{shell}");
        assert_eq!(
            handle_fs::data_segments(&read, 6_000_000).unwrap(),
            [(0, 6_000_000)]
        );
    }
}

#[test]
fn what_cannot_be_written_is_told_and_the_next_call_is_understood() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let far = through(shell, "refused", place.path());
        let dir = transports().open_root(&far).unwrap();
        let mut file = handle_fs::create_file(&dir, OsStr::new("f")).unwrap();
        std::fs::write(place.path().join("g"), "another's").unwrap();
        std::fs::rename(place.path().join("g"), place.path().join("f")).unwrap();
        assert!(file.write_all(&[b'x'; 100_000]).is_err(), "{shell}");
        assert_eq!(std::fs::read(place.path().join("f")).unwrap(), b"another's");
        let code = |result: io::Result<()>| result.unwrap_err().raw_os_error().unwrap();
        let make = |name: &str| handle_fs::make_dir(&dir, OsStr::new(name));
        assert_eq!(code(make("f")), 17, "{shell}");
        assert_eq!(code(make(&"n".repeat(300))), 36, "{shell}");
        assert_eq!(code(handle_fs::remove_dir(&dir, OsStr::new("f"))), 20, "{shell}");
        assert_eq!(
            code(handle_fs::remove_file(&dir, OsStr::new("none"))),
            2,
            "{shell}"
        );
        make("d").unwrap();
        std::fs::write(place.path().join("d/x"), "").unwrap();
        assert_eq!(code(handle_fs::remove_dir(&dir, OsStr::new("d"))), 39, "{shell}");
        assert_eq!(code(handle_fs::remove_file(&dir, OsStr::new("d"))), 21, "{shell}");
        let exchanged = handle_fs::exchange(&dir, OsStr::new("d"), &dir, OsStr::new("f"));
        assert_eq!(
            exchanged.unwrap_err().kind(),
            io::ErrorKind::InvalidInput,
            "{shell}"
        );
        let taken = handle_fs::rename_new(&dir, OsStr::new("f"), &dir, OsStr::new("d"));
        assert_eq!(taken.unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{shell}");
        assert!(place.path().join("d/x").exists() && !place.path().join("d/f").exists());
    }
}

#[test]
fn nobody_is_led_through_a_link_or_into_another_directory() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(place.path()).unwrap();
        for name in ["real", "secret"] {
            std::fs::create_dir(real.join(name)).unwrap();
            std::fs::write(real.join(name).join("f"), name).unwrap();
        }
        symlink("real", real.join("link")).unwrap();
        let far = through(shell, "links", &real);
        let root = transports().open_root(&far).unwrap();
        for path in ["link", "../..", "link/f", "real/../real"] {
            assert!(
                handle_fs::open_beneath(&root, Path::new(path)).is_err(),
                "{shell} {path}"
            );
        }
        assert_eq!(
            transports().canonical(&far.join("link")).unwrap(),
            far.join("real")
        );
        let dir = handle_fs::open_beneath(&root, Path::new("real")).unwrap();
        // Another process puts a link, or another directory, in the place of an opened one.
        std::fs::rename(real.join("real"), real.join("moved")).unwrap();
        symlink("secret", real.join("real")).unwrap();
        assert!(handle_fs::remove_file(&dir, OsStr::new("f")).is_err(), "{shell}");
        assert!(handle_fs::look_into(&dir).is_err(), "{shell}");
        std::fs::remove_file(real.join("real")).unwrap();
        std::fs::rename(real.join("secret"), real.join("real")).unwrap();
        assert!(handle_fs::remove_file(&dir, OsStr::new("f")).is_err(), "{shell}");
        assert!(real.join("real/f").exists() && real.join("moved/f").exists());
        // What this program moves it finds again.
        let dir = handle_fs::open_beneath(&root, Path::new("moved")).unwrap();
        handle_fs::rename_new(&root, OsStr::new("moved"), &root, OsStr::new("there")).unwrap();
        handle_fs::remove_file(&dir, OsStr::new("f")).unwrap();
        assert!(!real.join("there/f").exists());
    }
}

#[test]
fn facts_are_those_that_the_kernel_tells() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let far = through(shell, "facts", place.path());
        let here = open_root(place.path()).unwrap();
        std::fs::write(place.path().join("file"), "content").unwrap();
        std::fs::set_permissions(place.path().join("file"), std::fs::Permissions::from_mode(0o4751)).unwrap();
        std::fs::create_dir(place.path().join("dir")).unwrap();
        symlink("file", place.path().join("link")).unwrap();
        handle_fs::make_fifo(&here, OsStr::new("fifo")).unwrap();
        std::fs::hard_link(place.path().join("file"), place.path().join("second")).unwrap();
        let dir = transports().open_root(&far).unwrap();
        let time = Time {
            sec: 1_500_000_000,
            nsec: 123_456_789,
        };
        handle_fs::set_mtime(&dir, OsStr::new("dir"), time).unwrap();
        let whole = shell == "busybox";
        assert_eq!(
            std::fs::metadata(place.path().join("dir")).unwrap().mtime_nsec(),
            if whole { 0 } else { 123_456_789 }
        );
        let looked = handle_fs::look_into(&dir).unwrap();
        assert!(!looked.vanished);
        assert_eq!(looked.children.len(), 5);
        for (name, theirs) in looked.children {
            let name = OsStr::from_bytes(&name);
            let mut ours = handle_fs::stat_child(&here, name).unwrap();
            let theirs = theirs.unwrap();
            // Only Linux numbers its mounts.
            let numbers = [theirs.place.1, 0];
            assert!(numbers.contains(&ours.place.1), "{shell}: the mount's number");
            if whole {
                ours.mtime.nsec = 0;
            }
            ours.allocated = ours.allocated.max(ours.size);
            (ours.born, ours.place) = (None, theirs.place);
            assert_eq!(theirs, ours, "{shell} {name:?}");
        }
        let own = handle_fs::stat_handle(&dir).unwrap();
        assert_eq!(
            (own.kind, own.ino),
            (
                NodeKind::Directory,
                std::fs::metadata(place.path()).unwrap().ino()
            )
        );
        assert!(handle_fs::free_bytes(&dir).unwrap() > 0);
        assert!(transports().may_write(&far));
        let (theirs, ours) = (
            handle_fs::file_system(&dir).unwrap(),
            handle_fs::file_system(&here).unwrap(),
        );
        assert_eq!(theirs.trusted_ctime, ours.trusted_ctime, "{shell}");
        // Of its own file systems only Linux knows more.
        assert!(theirs == ours || !ours.writes_back, "{shell}");
    }
}

#[test]
fn a_tree_that_is_listed_at_once_is_the_one_that_is_there() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        for number in 0..30 {
            let dir = place.path().join(format!("d{}/e{number}", number % 3));
            std::fs::create_dir_all(&dir).unwrap();
            for file in 0..5 {
                std::fs::write(dir.join(format!("{file}\n")), [b'x'; 10]).unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(1100));
        let root = transports()
            .open_root(&through(shell, "tree", place.path()))
            .unwrap();
        let listed = |dir: &Handle| -> Vec<Vec<u8>> {
            let looked = handle_fs::look_into(dir).unwrap();
            looked.children.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(listed(&root).len(), 3);
        let deep = handle_fs::open_beneath(&root, Path::new("d1/e4")).unwrap();
        assert_eq!(listed(&deep).len(), 5);
        // A second look asks the machine again, and so does a look at a path that this program changed.
        std::fs::write(place.path().join("d1/e4/late"), "").unwrap();
        assert_eq!(listed(&deep).len(), 6);
        let other = handle_fs::open_beneath(&root, Path::new("d2/e5")).unwrap();
        handle_fs::create_file(&other, OsStr::new("made")).unwrap();
        assert_eq!(listed(&other).len(), 6);
        let names: Vec<String> = (0..5).map(|file| format!("{file}\n")).collect();
        let stats = handle_fs::stat_children(&deep, names.iter().map(OsStr::new)).unwrap();
        let latest = |stat: &handle_fs::Stat| stat.mtime.max(stat.ctime);
        let stats: Vec<_> = stats.into_iter().map(Result::unwrap).collect();
        let wanted: Vec<_> = names
            .iter()
            .zip(&stats)
            .map(|(name, stat)| handle_fs::Wanted {
                name: OsStr::new(name),
                size: stat.size,
                last: latest(stat),
                write_back: true,
            })
            .collect();
        std::fs::remove_file(place.path().join("d1/e4/3\n")).unwrap();
        let parts = [(Path::new(""), wanted)];
        let loaded = handle_fs::load_below(&deep, &parts).unwrap().remove(0).unwrap();
        for (number, file) in loaded.into_iter().enumerate() {
            match number {
                3 => assert_eq!(file.unwrap_err().kind(), io::ErrorKind::NotFound, "{shell}"),
                _ => assert_eq!(file.unwrap().data, [b'x'; 10], "{shell}"),
            }
        }
    }
}

#[test]
fn a_lock_is_one_that_others_see() {
    for shell in shells() {
        let place = tempfile::tempdir().unwrap();
        let far = transports()
            .open_root(&through(shell, "locks", place.path()))
            .unwrap();
        let here = open_root(place.path()).unwrap();
        let taken = handle_fs::try_lock(&far, false);
        // Not every busybox has `flock`: then none is ever taken for held.
        if taken
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::Unsupported)
        {
            assert_eq!(shell, "busybox");
            continue;
        }
        assert!(taken.unwrap(), "{shell}");
        assert!(!handle_fs::try_lock(&here, true).unwrap(), "{shell}");
        handle_fs::unlock(&far).unwrap();
        assert!(handle_fs::try_lock(&here, false).unwrap(), "{shell}");
        assert!(!handle_fs::try_lock(&far, true).unwrap(), "{shell}");
    }
}

/// Returns true for a call that a shell cannot do and refuses.
fn is_beyond_a_shell(call: &Call) -> bool {
    matches!(call, Call::Attribute(..) | Call::Exchange(..))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn a_shell_answers_as_the_kernel_does(calls in prop::collection::vec(call(), 1..25)) {
        let calls: Vec<Call> = calls.into_iter().filter(|call| !is_beyond_a_shell(call)).collect();
        for shell in shells() {
            let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let (answers, lines) = run(&open_root(place.path()).unwrap(), &calls);
            let (theirs, shown) = run(&transports().open_root(&through(shell, "calls", other.path())).unwrap(), &calls);
            for ((call, real), theirs) in calls.iter().zip(&answers).zip(&theirs) {
                prop_assert_eq!(real, theirs, "{} {:?} (the kernel's answer first)", shell, call);
            }
            prop_assert_eq!(lines, shown);
        }
    }
}
