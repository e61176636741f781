//! Random steps on a small tree, which read as lines of a shell.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

/// Few names, so that steps meet.
pub(super) const NAMES: [&str; 4] = ["a", "b", "c", "x.o"];

/// A path of one to three names, by their numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot(pub(super) Vec<u8>);

impl Spot {
    pub(super) fn text(&self) -> String {
        let names: Vec<&str> = self
            .0
            .iter()
            .map(|name| NAMES[usize::from(*name) % NAMES.len()])
            .collect();
        names.join("/")
    }
}

impl fmt::Debug for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

pub(super) fn spot() -> impl Strategy<Value = Spot> {
    spot_of(false)
}

/// With `links` few, so that steps meet the names of one file.
fn spot_of(links: bool) -> impl Strategy<Value = Spot> {
    let (names, depth) = if links { (0_u8..3, 1..=2) } else { (0_u8..4, 1..=3) };
    prop::collection::vec(names, depth).prop_map(Spot)
}

/// One step. What the tree does not allow (a file as parent, a name taken) does nothing.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Step {
    Write(Spot, u8),
    Directory(Spot),
    Symlink(Spot, u8),
    HardLink(Spot, Spot),
    Fifo(Spot),
    Remove(Spot),
    Rename(Spot, Spot),
    Mode(Spot, u8),
    Attribute(Spot, u8),
    /// Through a shared mapping, which stays: a second one meets a page that is dirty already.
    Store(Spot, u8),
    /// A further name beside the mount.
    Outside(Spot, u8),
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(at, number) => write!(f, "mkdir -p $(dirname {at:?}); printf {number} > {at:?}"),
            Self::Directory(at) => write!(f, "mkdir -p {at:?}"),
            Self::Symlink(at, number) => write!(f, "ln -s to-{number} {at:?}"),
            Self::HardLink(at, old) => write!(f, "ln {old:?} {at:?}"),
            Self::Fifo(at) => write!(f, "mkfifo {at:?}"),
            Self::Remove(at) => write!(f, "rm -r {at:?}"),
            Self::Rename(from, to) => write!(f, "mv -T {from:?} {to:?}"),
            Self::Mode(at, number) => write!(f, "chmod {:o} {at:?}", mode(*number)),
            Self::Attribute(at, number) => write!(f, "setfattr -n user.drawn -v {number} {at:?}"),
            Self::Store(at, number) => write!(f, "store {number} through a mapping of {at:?}"),
            Self::Outside(at, number) => write!(f, "ln {at:?} ../outside-{number}"),
        }
    }
}

fn mode(number: u8) -> u32 {
    // Its owner must stay able to read and to enter: gaps have tests of their own.
    [0o700, 0o711, 0o750, 0o755, 0o1777][usize::from(number) % 5]
}

/// Any step; those that build are more likely than those that remove.
fn step(links: bool) -> impl Strategy<Value = Step> {
    let spot = move || spot_of(links);
    let linking = if links { 12 } else { 0 };
    let linked = prop_oneof![
        5 => (spot(), spot()).prop_map(|(at, old)| Step::HardLink(at, old)),
        3 => (spot(), 0_u8..6).prop_map(|(at, number)| Step::Store(at, number)),
        2 => (spot(), 0_u8..3).prop_map(|(at, number)| Step::Outside(at, number)),
    ];
    prop_oneof![
        7 => (spot(), 0_u8..6).prop_map(|(at, number)| Step::Write(at, number)),
        3 => spot().prop_map(Step::Directory),
        1 => (spot(), 0_u8..2).prop_map(|(at, number)| Step::Symlink(at, number)),
        1 => spot().prop_map(Step::Fifo),
        3 => spot().prop_map(Step::Remove),
        2 => (spot(), spot()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (spot(), any::<u8>()).prop_map(|(at, number)| Step::Mode(at, number)),
        1 => (spot(), 0_u8..2).prop_map(|(at, number)| Step::Attribute(at, number)),
        linking => linked,
    ]
}

pub(super) fn steps(links: bool, least: usize, most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(links), least..most)
}

/// Does the steps below `root`. Whether one worked does not matter: the tree that comes out is what is compared.
pub(super) fn apply(root: &Path, steps: &[Step]) {
    for step in steps {
        let _ = apply_one(root, step);
    }
}

fn apply_one(root: &Path, step: &Step) -> io::Result<()> {
    let at = |spot: &Spot| inside(root, spot);
    match step {
        Step::Write(spot, number) => {
            let path = at(spot)?;
            if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            fs::create_dir_all(path.parent().unwrap())?;
            fs::write(path, number.to_string().repeat(usize::from(*number) * 700))
        }
        Step::Directory(spot) => fs::create_dir_all(at(spot)?),
        Step::Symlink(spot, number) => std::os::unix::fs::symlink(format!("to-{number}"), at(spot)?),
        Step::HardLink(spot, old) => fs::hard_link(at(old)?, at(spot)?),
        Step::Fifo(spot) => {
            let path = at(spot)?;
            handle_fs::make_fifo(rustix::fs::CWD, path.as_os_str())?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o644))
        }
        Step::Remove(spot) => {
            let path = at(spot)?;
            if path.symlink_metadata()?.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            }
        }
        Step::Rename(from, to) => fs::rename(at(from)?, at(to)?),
        Step::Mode(spot, number) => {
            let path = at(spot)?;
            if path.symlink_metadata()?.is_symlink() {
                return Ok(());
            }
            fs::set_permissions(path, fs::Permissions::from_mode(mode(*number)))
        }
        Step::Attribute(spot, number) => {
            let path = at(spot)?;
            let flags = rustix::fs::XattrFlags::empty();
            Ok(rustix::fs::lsetxattr(path, "user.drawn", &[*number], flags)?)
        }
        Step::Store(spot, number) => {
            let path = at(spot)?;
            let found = path.symlink_metadata()?;
            if !found.is_file() || found.len() == 0 {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            super::mapper::store(&path, *number)
        }
        Step::Outside(spot, number) => {
            let path = at(spot)?;
            if !path.symlink_metadata()?.is_file() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            fs::hard_link(path, root.with_file_name(format!("outside-{number}")))
        }
    }
}

/// The path, when no link stands on the way to it.
fn inside(root: &Path, spot: &Spot) -> io::Result<PathBuf> {
    let path = root.join(spot.text());
    let mut above = path.ancestors().skip(1).take_while(|above| *above != root);
    if above.any(|above| above.symlink_metadata().is_ok_and(|found| found.is_symlink())) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(path)
}
