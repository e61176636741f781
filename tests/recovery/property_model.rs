//! Random steps on a small tree: what the property tests draw from.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags, XattrFlags, lremovexattr, lsetxattr, renameat_with};

/// One step. Steps that the tree does not allow (a file as parent, a name taken) do nothing.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Writes the whole file; makes it when it is missing.
    Write(Place, u8),
    /// Adds bytes at the end.
    Append(Place, u8),
    /// Cuts it short.
    Truncate(Place),
    Directory(Place),
    Symlink(Place, Place),
    HardLink(Place, Place),
    Fifo(Place),
    Remove(Place),
    Rename(Place, Place),
    Mode(Place, u8),
    Attribute(Place, u8),
    NoAttribute(Place),
    /// The two swap their places.
    Exchange(Place, Place),
    /// Any mode, also one that shuts the owner out.
    AnyMode(Place, u16),
    /// Gives it to root. An ordinary user cannot take it from there.
    Root(Place),
}

/// A path of one to three names out of few, so that steps meet.
pub(crate) type Place = Vec<u8>;

const NAMES: [&str; 6] = ["a", "b", "new\nline", "-c", "d ", "é*"];

fn path(root: &Path, place: &Place) -> PathBuf {
    place.iter().fold(root.to_path_buf(), |path, name| {
        path.join(NAMES[usize::from(*name) % NAMES.len()])
    })
}

fn place() -> impl Strategy<Value = Place> {
    prop::collection::vec(0_u8..6, 1..=3)
}

/// Any step; those that build are more likely than those that remove.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (place(), any::<u8>()).prop_map(|(place, content)| Step::Write(place, content)),
        2 => (place(), any::<u8>()).prop_map(|(place, content)| Step::Append(place, content)),
        1 => place().prop_map(Step::Truncate),
        4 => place().prop_map(Step::Directory),
        2 => (place(), place()).prop_map(|(place, target)| Step::Symlink(place, target)),
        2 => (place(), place()).prop_map(|(place, old)| Step::HardLink(place, old)),
        1 => place().prop_map(Step::Fifo),
        3 => place().prop_map(Step::Remove),
        3 => (place(), place()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (place(), any::<u8>()).prop_map(|(place, mode)| Step::Mode(place, mode)),
        1 => (place(), any::<u8>()).prop_map(|(place, value)| Step::Attribute(place, value)),
        1 => place().prop_map(Step::NoAttribute),
        1 => (place(), place()).prop_map(|(one, other)| Step::Exchange(one, other)),
    ]
}

/// Steps that build a tree.
pub(crate) fn building() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 5..40)
}

/// Steps that damage it.
pub(crate) fn damage() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..25)
}

/// Steps that damage it with modes that shut the owner out, too.
pub(crate) fn shutting() -> impl Strategy<Value = Vec<Step>> {
    let shut = (place(), 0_u16..0o7777).prop_map(|(place, mode)| Step::AnyMode(place, mode));
    prop::collection::vec(prop_oneof![6 => step(), 1 => shut], 1..25)
}

/// Steps that give some of it to root.
pub(crate) fn giving() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(place().prop_map(Step::Root), 0..4)
}

/// Does the steps below `root`, one after the other.
pub(crate) fn apply(root: &Path, steps: &[Step]) {
    for step in steps {
        // Whether it worked does not matter: the tree that comes out is what is compared.
        let _ = apply_one(root, step);
    }
}

/// What a content number stands for: many small ones, some equal, some with holes, some over a block.
fn content(number: u8) -> Vec<u8> {
    let length = [0, 1, 5, 100, 4096, 5000][usize::from(number) % 6];
    vec![if number < 40 { 0 } else { b'a' + number % 20 }; length]
}

fn apply_one(root: &Path, step: &Step) -> std::io::Result<()> {
    match step {
        Step::Write(place, number) => {
            let path = regular(root, place)?;
            fs::write(path, content(*number))
        }
        Step::Append(place, number) => {
            use std::io::Write as _;
            let path = regular(root, place)?;
            fs::OpenOptions::new()
                .append(true)
                .open(path)?
                .write_all(&[*number, b'\n'])
        }
        Step::Truncate(place) => {
            let path = regular(root, place)?;
            fs::OpenOptions::new().write(true).open(path)?.set_len(1)
        }
        Step::Directory(place) => fs::create_dir_all(path(root, place)),
        Step::Symlink(place, target) => {
            let target = path(Path::new(""), target);
            std::os::unix::fs::symlink(target, path(root, place))
        }
        Step::HardLink(place, old) => {
            let old = path(root, old);
            fs::hard_link(old, path(root, place))
        }
        Step::Fifo(place) => {
            let path = path(root, place);
            handle_fs::make_fifo(CWD, path.as_os_str())?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o644))
        }
        Step::Remove(place) => {
            let path = path(root, place);
            if path.symlink_metadata()?.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            }
        }
        Step::Rename(from, to) => fs::rename(path(root, from), path(root, to)),
        Step::Mode(place, number) => {
            let path = path(root, place);
            let found = path.symlink_metadata()?;
            if found.is_symlink() {
                return Ok(());
            }
            // Its owner must stay able to read and to enter: gaps have tests of their own.
            let mode = if found.is_dir() { 0o700 } else { 0o600 } | u32::from(*number) & 0o177;
            fs::set_permissions(path, fs::Permissions::from_mode(mode))
        }
        Step::Attribute(place, value) => {
            let flags = XattrFlags::empty();
            Ok(lsetxattr(
                path(root, place),
                "user.drawn",
                &[*value, 0, b'\n'],
                flags,
            )?)
        }
        Step::NoAttribute(place) => Ok(lremovexattr(path(root, place), "user.drawn")?),
        Step::Exchange(one, other) => {
            let [one, other] = [path(root, one), path(root, other)];
            Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
        }
        Step::AnyMode(place, mode) => {
            let path = path(root, place);
            match path.symlink_metadata()?.is_symlink() {
                true => Ok(()),
                false => fs::set_permissions(path, fs::Permissions::from_mode(u32::from(*mode))),
            }
        }
        Step::Root(place) => std::os::unix::fs::lchown(path(root, place), Some(0), Some(0)),
    }
}

/// The path, when it is a regular file or nothing at all: opening a pipe would wait for ever, and a link could lead
/// out of the tree.
fn regular(root: &Path, place: &Place) -> std::io::Result<PathBuf> {
    let path = path(root, place);
    for part in path.ancestors().take_while(|part| *part != root) {
        let found = part.symlink_metadata();
        if found.as_ref().is_ok_and(|found| found.is_symlink()) {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        if part == path && found.is_ok_and(|found| !found.is_file()) {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
    }
    Ok(path)
}
