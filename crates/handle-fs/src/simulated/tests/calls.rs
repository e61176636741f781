//! Random calls below a directory, and their answers: the same for every way to reach one. The tests of `shell-fs` use them as well.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;

use handle_fs::{AsHandle as _, Handle, NodeKind, Stat, Time, Xattr};
use proptest::prelude::*;

/// A call on one of two directories, with one of few names in each.
#[derive(Clone, Debug)]
pub(crate) enum Call {
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
pub(crate) struct Spot(bool, u8);

const NAMES: [&str; 4] = ["a", "b", "y", "c"];

impl Spot {
    fn name(self) -> &'static OsStr {
        OsStr::new(NAMES[usize::from(self.1) % NAMES.len()])
    }

    fn dir(self, root: &Handle) -> Result<Handle, i32> {
        let path = Path::new(if self.0 { "x/y" } else { "x" });
        handle_fs::open_beneath(root, path).map_err(|error| error.raw_os_error().unwrap())
    }
}

fn spot() -> impl Strategy<Value = Spot> {
    (any::<bool>(), 0_u8..4).prop_map(|(deep, name)| Spot(deep, name))
}

/// Returns any call.
pub(crate) fn call() -> impl Strategy<Value = Call> {
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
        Call::Make(at) => done(handle_fs::make_dir(at.dir(root)?, at.name())),
        Call::Write(at, byte) => {
            let mut file = handle_fs::create_file(at.dir(root)?, at.name()).map_err(code)?;
            done(file.write_all(&[*byte; 3]).and_then(|()| file.sync()))
        }
        Call::Link(from, to) => {
            let (dir, other) = (from.dir(root)?, to.dir(root)?);
            done(handle_fs::hard_link(dir, from.name(), other, to.name()))
        }
        Call::Symlink(at) => done(handle_fs::make_symlink(at.dir(root)?, at.name(), b"elsewhere")),
        Call::Fifo(at) => done(handle_fs::make_fifo(at.dir(root)?, at.name())),
        Call::RenameNew(from, to) => {
            let (dir, other) = (from.dir(root)?, to.dir(root)?);
            done(handle_fs::rename_new(dir, from.name(), other, to.name()))
        }
        Call::Exchange(from, to) => {
            let (dir, other) = (from.dir(root)?, to.dir(root)?);
            done(handle_fs::exchange(dir, from.name(), other, to.name()))
        }
        Call::Replace(from, to) => {
            let (dir, other) = (from.dir(root)?, to.dir(root)?);
            done(handle_fs::rename_over(dir, from.name(), other, to.name()))
        }
        Call::RemoveFile(at) => done(handle_fs::remove_file(at.dir(root)?, at.name())),
        Call::RemoveDir(at) => done(handle_fs::remove_dir(at.dir(root)?, at.name())),
        Call::Mode(at, mode) => {
            let dir = handle_fs::open_child_dir(at.dir(root)?, at.name()).map_err(code)?;
            done(handle_fs::chmod_handle(dir, *mode))
        }
        Call::Mtime(at, sec) => {
            let time = Time { sec: *sec, nsec: 7 };
            done(handle_fs::set_mtime(at.dir(root)?, at.name(), time))
        }
        Call::Attribute(at, value) => {
            let (file, _) = handle_fs::open_child_file(at.dir(root)?, at.name()).map_err(code)?;
            let attribute = Xattr {
                name: b"user.a".as_slice().into(),
                value: [*value].as_slice().into(),
            };
            done(handle_fs::set_handle_attribute(file.as_handle(), &attribute))
        }
        Call::ReadLink(at) => handle_fs::read_link(at.dir(root)?, at.name()).map_err(code),
        Call::OpenFile(at) => {
            let (file, stat) = handle_fs::open_child_file(at.dir(root)?, at.name()).map_err(code)?;
            let mut room = [0; 8];
            let count = file.read_at(&mut room, 0).map_err(code)?;
            assert_eq!(count as u64, stat.size);
            Ok(room[..count].to_vec())
        }
    }
}

/// Lists the objects below `path`, with the facts that both file systems can report alike.
fn told(root: &Handle, path: &Path, lines: &mut Vec<String>) {
    let dir = handle_fs::open_beneath(root, path).unwrap();
    let mut names = Vec::new();
    handle_fs::names(&dir, |name| names.push(String::from_utf8(name.to_vec()).unwrap())).unwrap();
    names.sort();
    for name in names {
        let stat: Stat = handle_fs::stat_child(&dir, OsStr::new(&name)).unwrap();
        let xattrs = handle_fs::list_attributes(&dir, OsStr::new(&name)).unwrap();
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

/// Makes the calls below a directory, and returns their answers and what lies there then.
pub(crate) fn run(root: &Handle, calls: &[Call]) -> (Vec<Result<Vec<u8>, i32>>, Vec<String>) {
    handle_fs::make_dir(root, OsStr::new("x")).unwrap();
    let x = handle_fs::open_child_dir(root, OsStr::new("x")).unwrap();
    handle_fs::make_dir(&x, OsStr::new("y")).unwrap();
    let answers = calls.iter().map(|call| make(call, root)).collect();
    let mut lines = Vec::new();
    told(root, Path::new(""), &mut lines);
    (answers, lines)
}
