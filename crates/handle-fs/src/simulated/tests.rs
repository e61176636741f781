//! The simulation against the kernel: the same calls give the same answers; and what its contract says of a power loss.

use crate::{AsHandle as _, Handle};
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;

use super::{Disk, Losses, Moment, Shared, World, outcomes};
use crate::remote::loopback::{through, through_agent, transports};
use crate::remote::tests::shells;
use crate::{NodeKind, Stat};
use crate::{Time, Xattr};

/// A call on one of two directories, with one of few names in each.
#[derive(Clone, Debug)]
enum Call {
    Make(Spot),
    Write(Spot, u8),
    Link(Spot, Spot),
    Symlink(Spot),
    Fifo(Spot),
    RenameNew(Spot, Spot),
    Exchange(Spot, Spot),
    Replace(Spot, Spot),
    RemoveFile(Spot),
    RemoveDir(Spot),
    Mode(Spot, u32),
    Mtime(Spot, i64),
    Attribute(Spot, u8),
    ReadLink(Spot),
    OpenFile(Spot),
}

/// A directory (`x` or `x/y`), and a name in it.
#[derive(Clone, Copy, Debug)]
struct Spot(bool, u8);

const NAMES: [&str; 4] = ["a", "b", "y", "c"];

impl Spot {
    fn name(self) -> &'static OsStr {
        OsStr::new(NAMES[usize::from(self.1) % NAMES.len()])
    }

    fn dir(self, root: &Handle) -> Result<Handle, i32> {
        let path = Path::new(if self.0 { "x/y" } else { "x" });
        crate::open_beneath(root, path).map_err(|error| error.raw_os_error().unwrap())
    }
}

fn spot() -> impl Strategy<Value = Spot> {
    (any::<bool>(), 0_u8..4).prop_map(|(deep, name)| Spot(deep, name))
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => spot().prop_map(Call::Make),
        4 => (spot(), any::<u8>()).prop_map(|(at, byte)| Call::Write(at, byte)),
        2 => (spot(), spot()).prop_map(|(from, to)| Call::Link(from, to)),
        1 => spot().prop_map(Call::Symlink),
        1 => spot().prop_map(Call::Fifo),
        3 => (spot(), spot()).prop_map(|(from, to)| Call::RenameNew(from, to)),
        3 => (spot(), spot()).prop_map(|(from, to)| Call::Exchange(from, to)),
        2 => (spot(), spot()).prop_map(|(from, to)| Call::Replace(from, to)),
        2 => spot().prop_map(Call::RemoveFile),
        2 => spot().prop_map(Call::RemoveDir),
        1 => (spot(), 0_u32..0o1000).prop_map(|(at, mode)| Call::Mode(at, mode | 0o700)),
        1 => (spot(), 0_i64..1_000_000_000).prop_map(|(at, sec)| Call::Mtime(at, sec)),
        1 => (spot(), any::<u8>()).prop_map(|(at, value)| Call::Attribute(at, value)),
        1 => spot().prop_map(Call::ReadLink),
        1 => spot().prop_map(Call::OpenFile),
    ]
}

/// Makes a call; its answer is the system's error, or something that was read.
fn make(call: &Call, root: &Handle) -> Result<Vec<u8>, i32> {
    let code = |error: std::io::Error| error.raw_os_error().unwrap_or(-1);
    let done = |result: std::io::Result<()>| result.map(|()| Vec::new()).map_err(code);
    match call {
        Call::Make(at) => done(crate::make_dir(at.dir(root)?, at.name())),
        Call::Write(at, byte) => {
            let mut file = crate::create_file(at.dir(root)?, at.name()).map_err(code)?;
            done(file.write_all(&[*byte; 3]).and_then(|()| file.sync()))
        }
        Call::Link(from, to) => {
            let (dir, other) = (from.dir(root)?, to.dir(root)?);
            done(crate::hard_link(dir, from.name(), other, to.name()))
        }
        Call::Symlink(at) => done(crate::make_symlink(at.dir(root)?, at.name(), b"elsewhere")),
        Call::Fifo(at) => done(crate::make_fifo(at.dir(root)?, at.name())),
        Call::RenameNew(from, to) => {
            let (dir, other) = (from.dir(root)?, to.dir(root)?);
            done(crate::rename_new(dir, from.name(), other, to.name()))
        }
        Call::Exchange(from, to) => {
            let (dir, other) = (from.dir(root)?, to.dir(root)?);
            done(crate::exchange(dir, from.name(), other, to.name()))
        }
        Call::Replace(from, to) => {
            let (dir, other) = (from.dir(root)?, to.dir(root)?);
            let moved = crate::kernel::renameat(dir, from.name(), other, to.name());
            done(moved.map_err(std::io::Error::from))
        }
        Call::RemoveFile(at) => done(crate::remove_file(at.dir(root)?, at.name())),
        Call::RemoveDir(at) => done(crate::remove_dir(at.dir(root)?, at.name())),
        Call::Mode(at, mode) => {
            let dir = crate::open_child_dir(at.dir(root)?, at.name()).map_err(code)?;
            done(crate::chmod_handle(dir, *mode))
        }
        Call::Mtime(at, sec) => {
            let time = Time { sec: *sec, nsec: 7 };
            done(crate::set_mtime(at.dir(root)?, at.name(), time))
        }
        Call::Attribute(at, value) => {
            let (file, _) = crate::open_child_file(at.dir(root)?, at.name()).map_err(code)?;
            let attribute = Xattr {
                name: b"user.a".as_slice().into(),
                value: [*value].as_slice().into(),
            };
            done(crate::set_handle_attribute(file.as_handle(), &attribute))
        }
        Call::ReadLink(at) => crate::read_link(at.dir(root)?, at.name()).map_err(code),
        Call::OpenFile(at) => {
            let (file, stat) = crate::open_child_file(at.dir(root)?, at.name()).map_err(code)?;
            let mut room = [0; 8];
            let count = file.read_at(&mut room, 0).map_err(code)?;
            assert_eq!(count as u64, stat.size);
            Ok(room[..count].to_vec())
        }
    }
}

/// Lists the objects below `path`, with the facts that both file systems can report alike.
fn told(root: &Handle, path: &Path, lines: &mut Vec<String>) {
    let dir = crate::open_beneath(root, path).unwrap();
    let mut names = Vec::new();
    crate::names(&dir, |name| names.push(String::from_utf8(name.to_vec()).unwrap())).unwrap();
    names.sort();
    for name in names {
        let stat: Stat = crate::stat_child(&dir, OsStr::new(&name)).unwrap();
        let xattrs = crate::list_attributes(&dir, OsStr::new(&name)).unwrap();
        let is_dir = stat.kind == NodeKind::Directory;
        let plain = if is_dir { (0, 0) } else { (stat.size, stat.nlink) };
        let below = path.join(&name);
        lines.push(format!(
            "{below:?} {:?} {:o} {plain:?} {xattrs:?}",
            stat.kind, stat.mode
        ));
        if is_dir {
            told(root, &below, lines);
        }
    }
}

fn run(root: Handle, calls: &[Call]) -> (Vec<Result<Vec<u8>, i32>>, Vec<String>) {
    crate::make_dir(&root, OsStr::new("x")).unwrap();
    let x = crate::open_child_dir(&root, OsStr::new("x")).unwrap();
    crate::make_dir(&x, OsStr::new("y")).unwrap();
    let answers = calls.iter().map(|call| make(call, &root)).collect();
    let mut lines = Vec::new();
    told(&root, Path::new(""), &mut lines);
    (answers, lines)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn the_simulation_answers_as_the_kernel_does(calls in prop::collection::vec(call(), 1..25)) {
        let place = tempfile::tempdir().unwrap();
        let (answers, lines) = run(crate::open_root(place.path()).unwrap(), &calls);
        let shared = Shared::new(World::new(&["/disk"]));
        let inside = shared.enter();
        let (simulated, shown) = run(crate::open_root(Path::new("/disk")).unwrap(), &calls);
        drop(inside);
        for ((call, real), ours) in calls.iter().zip(&answers).zip(&simulated) {
            prop_assert_eq!(real, ours, "{:?} (the kernel's answer first)", call);
        }
        prop_assert_eq!(lines, shown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn an_agent_answers_as_the_kernel_does(calls in prop::collection::vec(call(), 1..25)) {
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (answers, lines) = run(crate::open_root(place.path()).unwrap(), &calls);
        let far = transports().open_root(&through_agent("calls", other.path()));
        let (theirs, shown) = run(far.unwrap(), &calls);
        for ((call, real), theirs) in calls.iter().zip(&answers).zip(&theirs) {
            prop_assert_eq!(real, theirs, "{:?} (the kernel's answer first)", call);
        }
        prop_assert_eq!(lines, shown);
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
            let (answers, lines) = run(crate::open_root(place.path()).unwrap(), &calls);
            let far = transports().open_root(&through(shell, "calls", other.path()));
            let (theirs, shown) = run(far.unwrap(), &calls);
            for ((call, real), theirs) in calls.iter().zip(&answers).zip(&theirs) {
                prop_assert_eq!(real, theirs, "{} {:?} (the kernel's answer first)", shell, call);
            }
            prop_assert_eq!(lines, shown);
        }
    }
}

/// The names in `/disk` that each power loss may leave.
fn after_power_loss(moment: &Moment) -> Vec<Vec<String>> {
    let names = |disk: Disk| {
        let world = World::after(moment, disk);
        world.names_in("/disk").into_iter().collect::<Vec<String>>()
    };
    let mut all: Vec<Vec<String>> = outcomes(moment, Losses::Power { most: 100 })
        .into_iter()
        .map(names)
        .collect();
    all.sort();
    all.dedup();
    all
}

fn in_work(work: impl FnOnce(&Handle)) -> Moment {
    let shared = Shared::new(World::new(&["/disk"]));
    let inside = shared.enter();
    work(&crate::open_root(Path::new("/disk")).unwrap());
    drop(inside);
    let world = shared.lock();
    world.moment()
}

fn named(name: &str) -> &OsStr {
    OsStr::new(name)
}

#[test]
fn names_that_were_not_synced_come_to_disk_in_any_combination() {
    let moment = in_work(|dir| {
        crate::make_dir(dir, named("a")).unwrap();
        crate::make_dir(dir, named("b")).unwrap();
    });
    let all = after_power_loss(&moment);
    assert_eq!(all, [vec![], vec!["a"], vec!["a", "b"], vec!["b"]]);
    let moment = in_work(|dir| {
        crate::make_dir(dir, named("a")).unwrap();
        crate::sync_directory(dir).unwrap();
        crate::make_dir(dir, named("b")).unwrap();
    });
    assert_eq!(after_power_loss(&moment), [vec!["a"], vec!["a", "b"]]);
}

#[test]
fn a_rename_is_whole_and_builds_on_what_was_there() {
    let moment = in_work(|dir| {
        crate::make_dir(dir, named("a")).unwrap();
        crate::rename_new(dir, named("a"), dir, named("b")).unwrap();
    });
    assert_eq!(after_power_loss(&moment), [vec![], vec!["a"], vec!["b"]]);
}

#[test]
fn content_that_was_not_synced_may_be_old_new_or_torn() {
    let moment = in_work(|dir| {
        let mut file = crate::create_file(dir, named("f")).unwrap();
        crate::sync_directory(dir).unwrap();
        file.write_all(b"12345678").unwrap();
    });
    let content = |disk: Disk| World::after(&moment, disk).content(Path::new("/disk/f")).unwrap();
    let mut all: Vec<Vec<u8>> = outcomes(&moment, Losses::Power { most: 100 })
        .into_iter()
        .map(|disk| content(disk).to_vec())
        .collect();
    all.sort();
    all.dedup();
    assert_eq!(
        all,
        [b"".to_vec(), b"1234\0\0\0\0".to_vec(), b"12345678".to_vec()]
    );
}
