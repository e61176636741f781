//! Finds unchanged directories on another machine, with the help of this program there: for each directory of the reference one
//! digest goes there, and one bit comes back, instead of the facts of all its entries.

use serde::{Deserialize, Serialize};

use super::facts::links;
use crate::model::{Digest, Directory, Entry, EntryKind, RelPath};
use handle_fs::Root;
use handle_fs::remote::{Transports, place_there};
use handle_fs::{NodeKind, Stat};

/// First byte of such a question.
pub const UNCHANGED: u8 = b'u';
/// Maximum number of directories in one question; other requests wait for the connection meanwhile.
const AT_ONCE: usize = 5_000;

/// Half a digest, which is long enough to rule out chance.
type Print = [u8; 16];

#[derive(Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) root: Vec<u8>,
    pub(super) ino: u64,
    pub(super) directories: Vec<(Vec<u8>, Print)>,
}

/// Facts of all entries of a directory, one behind the other.
#[derive(Default)]
struct Outline(Vec<u8>);

impl Outline {
    fn add(&mut self, name: &[u8], kind: (u8, u64, u64), stat: &Stat) {
        self.number(name.len() as u64);
        self.0.extend(name);
        let (letter, first, second) = kind;
        self.0.push(letter);
        for number in [
            first,
            second,
            stat.ino,
            stat.mode.into(),
            stat.uid.into(),
            stat.gid.into(),
        ] {
            self.number(number);
        }
        for time in [stat.mtime, stat.ctime] {
            self.0.extend(time.sec.to_le_bytes());
            self.0.extend(time.nsec.to_le_bytes());
        }
        self.number(links(stat).into());
        self.number(stat.flags.bits().into());
    }

    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn print(&self) -> Print {
        let mut print = [0; 16];
        let digest = Digest::of(&self.0);
        for (to, from) in print.iter_mut().zip(digest.0) {
            *to = from;
        }
        print
    }
}

/// Returns the type as a letter, with the size of a file and the numbers of a device.
fn kind_of(stat: &Stat) -> (u8, u64, u64) {
    match stat.kind {
        NodeKind::File => (b'f', stat.size, 0),
        NodeKind::Directory => (b'd', 0, 0),
        NodeKind::Symlink => (b'l', 0, 0),
        NodeKind::Fifo => (b'p', 0, 0),
        NodeKind::Socket => (b's', 0, 0),
        NodeKind::CharDevice => (b'c', stat.rdev.0.into(), stat.rdev.1.into()),
        NodeKind::BlockDevice => (b'b', stat.rdev.0.into(), stat.rdev.1.into()),
        NodeKind::Other => (b'?', 0, 0),
    }
}

/// Returns the recorded facts of an entry as those of an object at `place`. They lack the size of a directory and the birth time.
/// A file is taken to have no holes, because one with holes is never reported unchanged.
pub(super) fn recorded(entry: &Entry, place: (u64, u64)) -> Stat {
    let (kind, size, rdev) = match &entry.kind {
        EntryKind::File(content) => (NodeKind::File, content.size, (0, 0)),
        EntryKind::Directory => (NodeKind::Directory, 0, (0, 0)),
        EntryKind::Symlink(_) => (NodeKind::Symlink, 0, (0, 0)),
        EntryKind::Fifo => (NodeKind::Fifo, 0, (0, 0)),
        EntryKind::Socket => (NodeKind::Socket, 0, (0, 0)),
        EntryKind::CharDevice(major, minor) => (NodeKind::CharDevice, 0, (*major, *minor)),
        EntryKind::BlockDevice(major, minor) => (NodeKind::BlockDevice, 0, (*major, *minor)),
    };
    Stat {
        kind,
        mode: entry.mode,
        uid: entry.uid,
        gid: entry.gid,
        size,
        allocated: size,
        mtime: entry.mtime,
        ctime: entry.ctime,
        ino: entry.ino,
        born: None,
        nlink: entry.nlink,
        rdev,
        flags: entry.flags,
        place,
    }
}

pub(super) fn expected(directory: &Directory) -> Print {
    let mut outline = Outline::default();
    for entry in &directory.entries {
        let stat = recorded(entry, (0, 0));
        outline.add(entry.name.as_bytes(), kind_of(&stat), &stat);
    }
    outline.print()
}

/// Returns for each directory whether it holds what the reference says; empty if the machine cannot be asked.
pub(super) fn unchanged<'d>(
    root: &Root,
    directories: impl Iterator<Item = Option<&'d Directory>>,
) -> Vec<bool> {
    // What is asked there is the mount as it is, and not as it was frozen.
    let there = place_there(root.path()).filter(|_| root.frozen_since().is_none());
    let Some(place) = there else {
        return Vec::new();
    };
    let directories: Vec<Option<&Directory>> = directories.collect();
    let mut found = Vec::with_capacity(directories.len());
    for part in directories.chunks(AT_ONCE) {
        let wanted = part
            .iter()
            .flatten()
            .map(|dir| (dir.path.as_bytes().to_vec(), expected(dir)));
        let question = Question {
            root: crate::model::ByteString::from(place.as_path()).0,
            ino: root.stat().ino,
            directories: wanted.collect(),
        };
        let Some(answer) = told(root, &question) else {
            return Vec::new();
        };
        let mut answer = answer.into_iter();
        found.extend(
            part.iter()
                .map(|dir| dir.is_some() && answer.next().unwrap_or(false)),
        );
    }
    found
}

fn told(root: &Root, question: &Question) -> Option<Vec<bool>> {
    let question = postcard::to_extend(question, vec![UNCHANGED]).ok()?;
    let bits = root.transports().ask(root.path(), question)?;
    let bit = |byte: u8| (0..8).map(move |at| byte & (1 << at) != 0);
    Some(bits.into_iter().flat_map(bit).collect())
}

/// Answers such a question, given without its first byte. `None` if it is malformed, or its root cannot be opened.
#[must_use]
pub fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let question: Question = postcard::from_bytes(question).ok()?;
    let root = Root::open(
        &Transports::default(),
        &crate::model::ByteString(question.root).to_path(),
    )
    .ok()?;
    // The path may lead to another directory than the one that the asking process has open.
    let is_same = root.stat().ino == question.ino;
    let mut bits = vec![0_u8; question.directories.len().div_ceil(8)];
    for (at, (path, wanted)) in question.directories.iter().enumerate() {
        let found = RelPath::new(path).ok().and_then(|path| print(&root, &path));
        if is_same
            && found.is_some_and(|found| found == *wanted)
            && let Some(byte) = bits.get_mut(at / 8)
        {
            *byte |= 1 << (at % 8);
        }
    }
    Some(bits)
}

/// Returns the digest of a directory's current facts; `None` if some are missing or cannot be expressed.
fn print(root: &Root, path: &RelPath) -> Option<Print> {
    let looked = root.dir(path).and_then(|dir| dir.look_into()).ok()?;
    if looked.vanished || !looked.before.same_moment(&looked.after) {
        return None;
    }
    let mut outline = Outline::default();
    for (name, stat) in looked.children {
        let stat = stat.ok()?;
        let has_holes = stat.kind == NodeKind::File && stat.allocated < stat.size;
        if has_holes || !stat.is_on(root.place()) {
            return None;
        }
        outline.add(&name, kind_of(&stat), &stat);
    }
    Some(outline.print())
}
