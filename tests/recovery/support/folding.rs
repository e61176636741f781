//! A file system in memory that keeps the case of names and does not tell it apart, as APFS, FAT and ext4 with `casefold` do. A thread of
//! this process serves it to the kernel, so the built program meets the real calls on any Linux that has FUSE.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const ENXIO: i32 = 6;
const EEXIST: i32 = 17;
const ENOTDIR: i32 = 20;
const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;
const ENOTEMPTY: i32 = 39;
const EILSEQ: i32 = 84;

const FMT: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

type Answer = Result<Vec<u8>, i32>;

/// Directory entries by the form in which names are compared: the name as it is kept, and the inode.
type Entries = BTreeMap<Vec<u8>, (Vec<u8>, u64)>;

struct Node {
    mode: u32,
    owner: (u32, u32),
    links: u32,
    times: [(u64, u32); 2],
    content: Vec<u8>,
    entries: Entries,
}

/// Rules of such a file system beside keeping files. Copies share the switches, which may be turned while it is mounted.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    /// Exchanges two names.
    pub(crate) exchanges: bool,
    /// Calls every file empty, as /proc does, and answers reads all the same, as FUSE does for files that are made while they are read.
    pub(crate) sizeless: bool,
    /// Calls every file one hole, as Docker's file systems from a Mac do.
    pub(crate) hides_data: bool,
    /// Takes names for one that differ in case or in how a letter is composed.
    pub(crate) folds: Arc<AtomicBool>,
    /// Refuses a name that is no UTF-8, as APFS does.
    pub(crate) refuses: Arc<AtomicBool>,
    /// Has the names of FAT: refuses some characters, and drops dots at the end.
    pub(crate) fat: bool,
    /// Inode of a directory that it lets no one list, as the privacy protection of macOS does; 0 for none.
    pub(crate) closed: Arc<AtomicU64>,
    /// Offset in bytes from which on a read is not answered until this is 0 again.
    pub(crate) held: Arc<AtomicU64>,
}

impl Rules {
    /// Rules of one that takes such names for one.
    pub(crate) fn folding(exchanges: bool) -> Self {
        Self {
            exchanges,
            folds: Arc::new(true.into()),
            ..Self::default()
        }
    }

    /// The name as it is kept.
    fn stored<'a>(&self, name: &'a [u8]) -> &'a [u8] {
        let end = name
            .iter()
            .rposition(|byte| *byte != b'.')
            .map_or(0, |last| last + 1);
        if self.fat { &name[..end] } else { name }
    }

    /// The form in which it compares a name.
    fn key(&self, name: &[u8]) -> Vec<u8> {
        let name = self.stored(name);
        match self.folds.load(Ordering::SeqCst) {
            true => key(name),
            false => name.to_vec(),
        }
    }

    fn check(&self, name: &[u8]) -> Result<(), i32> {
        if self.fat && name.iter().any(|byte| b":*?\"<>|\\".contains(byte)) {
            return Err(EINVAL);
        }
        match self.refuses.load(Ordering::SeqCst) && std::str::from_utf8(name).is_err() {
            true => Err(EILSEQ),
            false => Ok(()),
        }
    }
}

/// The file system.
pub(super) struct Folding {
    nodes: BTreeMap<u64, Node>,
    next: u64,
    rules: Rules,
}

/// Mounts a new one at `at`; it lives until it is unmounted.
pub(super) fn mount(at: &Path, rules: Rules) -> Result<(), String> {
    let device = File::options().read(true).write(true).open("/dev/fuse");
    let device = device.map_err(|error| format!("/dev/fuse: {error}"))?;
    let output = Command::new("mount")
        .args(["-i", "-t", "fuse.folding", "-o"])
        .arg("fd=0,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions")
        .arg("folding")
        .arg(at)
        .stdin(Stdio::from(device.try_clone().unwrap()))
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    std::thread::spawn(move || Folding::new(rules).serve(device));
    Ok(())
}

/// The form in which names are compared: in small letters, and composed.
fn key(name: &[u8]) -> Vec<u8> {
    const COMPOSED: [(&str, &str); 3] = [("e\u{301}", "é"), ("u\u{308}", "ü"), ("n\u{303}", "ñ")];
    let Ok(text) = std::str::from_utf8(name) else {
        return name.to_vec();
    };
    let small = text.to_lowercase();
    let composed = COMPOSED
        .iter()
        .fold(small, |text, (apart, whole)| text.replace(apart, whole));
    composed.into_bytes()
}

fn now() -> (u64, u32) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (now.as_secs(), now.subsec_nanos())
}

/// Contents of a request, read from its start.
struct Given<'a>(&'a [u8]);

impl<'a> Given<'a> {
    fn u32(&mut self) -> u32 {
        let (value, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        u32::from_ne_bytes(*value)
    }

    fn u64(&mut self) -> u64 {
        let (value, rest) = self.0.split_first_chunk().unwrap();
        self.0 = rest;
        u64::from_ne_bytes(*value)
    }

    fn skip(&mut self, bytes: usize) -> &mut Self {
        self.0 = &self.0[bytes..];
        self
    }

    fn name(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap();
        let (name, rest) = self.0.split_at(end);
        self.0 = &rest[1..];
        name
    }
}

fn put(answer: &mut Vec<u8>, numbers: &[u64]) {
    numbers
        .iter()
        .for_each(|number| answer.extend(number.to_ne_bytes()));
}

fn put32(answer: &mut Vec<u8>, numbers: &[u32]) {
    numbers
        .iter()
        .for_each(|number| answer.extend(number.to_ne_bytes()));
}

impl Folding {
    fn new(rules: Rules) -> Self {
        let mut made = Self {
            nodes: BTreeMap::new(),
            next: 1,
            rules,
        };
        made.make(DIRECTORY | 0o755, (0, 0), Vec::new());
        made
    }

    fn make(&mut self, mode: u32, owner: (u32, u32), content: Vec<u8>) -> u64 {
        let number = self.next;
        self.next += 1;
        let node = Node {
            mode,
            owner,
            links: 0,
            times: [now(); 2],
            content,
            entries: Entries::new(),
        };
        self.nodes.insert(number, node);
        number
    }

    fn serve(mut self, mut device: File) {
        let mut room = vec![0; 1 << 19];
        // Its end is the end of the mount.
        while let Ok(length) = device.read(&mut room) {
            let mut given = Given(&room[..length]);
            let (_, opcode, unique, node) = (given.u32(), given.u32(), given.u64(), given.u64());
            let owner = (given.u32(), given.u32());
            given.skip(8);
            // No answer is expected to what is forgotten or interrupted.
            if matches!(opcode, 2 | 36 | 42) {
                continue;
            }
            let (error, body) = match self.answer(opcode, node, owner, &mut given) {
                Ok(body) => (0, body),
                Err(error) => (-error, Vec::new()),
            };
            let mut answer = Vec::new();
            put32(&mut answer, &[u32::try_from(16 + body.len()).unwrap()]);
            answer.extend(error.to_ne_bytes());
            put(&mut answer, &[unique]);
            answer.extend(body);
            if device.write_all(&answer).is_err() && opcode == 38 {
                return;
            }
        }
    }

    fn node(&mut self, number: u64) -> Result<&mut Node, i32> {
        self.nodes.get_mut(&number).ok_or(ENOENT)
    }

    fn child(&self, dir: u64, name: &[u8]) -> Result<u64, i32> {
        self.rules.check(name)?;
        let key = self.rules.key(name);
        let found = self.nodes.get(&dir).and_then(|node| node.entries.get(&key));
        found.map(|(_, number)| *number).ok_or(ENOENT)
    }

    /// Adds a name, or takes one away, and passes the time.
    fn name(&mut self, dir: u64, name: &[u8], number: Option<u64>) -> Result<(), i32> {
        self.rules.check(name)?;
        let key = self.rules.key(name);
        let old = match number {
            Some(number) => {
                let name = self.rules.stored(name).to_vec();
                self.node(dir)?.entries.insert(key, (name, number))
            }
            None => self.node(dir)?.entries.remove(&key),
        };
        self.node(dir)?.times = [now(); 2];
        if let Some((_, old)) = old {
            self.node(old)?.links -= 1;
            self.node(old)?.times[1] = now();
        }
        if let Some(number) = number {
            self.node(number)?.links += 1;
            self.node(number)?.times[1] = now();
        }
        Ok(())
    }

    fn attributes(&mut self, number: u64) -> Answer {
        let (hides_data, sizeless) = (self.rules.hides_data, self.rules.sizeless);
        let node = self.node(number)?;
        let is_dir = node.mode & FMT == DIRECTORY;
        let size = match node.mode & FMT {
            DIRECTORY => 4096,
            REGULAR if sizeless => 0,
            _ => node.content.len() as u64,
        };
        let blocks = if hides_data { 0 } else { size.div_ceil(512) };
        let [mtime, ctime] = node.times;
        let mut answer = Vec::new();
        put(&mut answer, &[number, size, blocks, mtime.0, mtime.0, ctime.0]);
        let links = if is_dir { 2 } else { node.links };
        put32(
            &mut answer,
            &[
                mtime.1,
                mtime.1,
                ctime.1,
                node.mode,
                links,
                node.owner.0,
                node.owner.1,
                0,
                4096,
                0,
            ],
        );
        Ok(answer)
    }

    fn entry(&mut self, number: u64) -> Answer {
        let mut answer = Vec::new();
        put(&mut answer, &[number, 0, 0, 0, 0]);
        answer.extend(self.attributes(number)?);
        Ok(answer)
    }

    fn add(&mut self, (dir, name): (u64, &[u8]), mode: u32, owner: (u32, u32), content: Vec<u8>) -> Answer {
        if self.child(dir, name).is_ok() {
            return Err(EEXIST);
        }
        let number = self.make(mode, owner, content);
        self.name(dir, name, Some(number))?;
        self.entry(number)
    }

    fn remove(&mut self, dir: u64, name: &[u8], directory: bool) -> Answer {
        let number = self.child(dir, name)?;
        let node = self.node(number)?;
        if directory && node.mode & FMT != DIRECTORY {
            return Err(ENOTDIR);
        }
        if !node.entries.is_empty() {
            return Err(ENOTEMPTY);
        }
        self.name(dir, name, None)?;
        Ok(Vec::new())
    }

    fn rename(&mut self, (dir, old): (u64, &[u8]), (to, new): (u64, &[u8]), flags: u32) -> Answer {
        let number = self.child(dir, old)?;
        self.rules.check(new)?;
        let there = self.child(to, new).ok();
        match (flags, there) {
            (1, Some(_)) => return Err(EEXIST),
            (2, Some(there)) if self.rules.exchanges => {
                self.name(dir, old, Some(there))?;
                self.name(to, new, Some(number))?;
                return Ok(Vec::new());
            }
            (0, _) | (1, None) => {}
            _ => return Err(EINVAL),
        }
        if there.is_some_and(|there| there != number && !self.nodes[&there].entries.is_empty()) {
            return Err(ENOTEMPTY);
        }
        self.node(number)?.links += 1;
        self.name(dir, old, None)?;
        self.name(to, new, Some(number))?;
        self.node(number)?.links -= 1;
        Ok(Vec::new())
    }

    fn list(&mut self, dir: u64, from: u64, size: u32) -> Answer {
        let entries: Vec<(Vec<u8>, u64)> = self.node(dir)?.entries.values().cloned().collect();
        let mut answer = Vec::new();
        for (at, (name, number)) in (1..).zip(entries).skip(usize::try_from(from).unwrap()) {
            let kind = self.node(number)?.mode >> 12;
            let length = (24 + name.len()).next_multiple_of(8);
            if answer.len() + length > size as usize {
                break;
            }
            let end = answer.len() + length;
            put(&mut answer, &[number, at]);
            put32(&mut answer, &[u32::try_from(name.len()).unwrap(), kind]);
            answer.extend(name);
            answer.resize(end, 0);
        }
        Ok(answer)
    }

    fn set(&mut self, number: u64, given: &mut Given<'_>) -> Answer {
        let valid = given.u32();
        let size = given.skip(12).u64();
        let mtime = given.skip(16).u64();
        let mtime = (mtime, given.skip(12).u32());
        let mode = given.skip(4).u32();
        let owner = (given.skip(4).u32(), given.u32());
        let node = self.node(number)?;
        let set = |bit: u32| valid & bit != 0;
        if set(1) {
            node.mode = (node.mode & FMT) | (mode & 0o7777);
        }
        if set(2) {
            node.owner.0 = owner.0;
        }
        if set(4) {
            node.owner.1 = owner.1;
        }
        if set(8) {
            node.content.resize(usize::try_from(size).unwrap(), 0);
            node.times[0] = now();
        }
        if set(32) {
            node.times[0] = if set(256) { now() } else { mtime };
        }
        node.times[1] = now();
        let mut answer = Vec::new();
        put(&mut answer, &[0, 0]);
        answer.extend(self.attributes(number)?);
        Ok(answer)
    }

    fn answer(&mut self, opcode: u32, node: u64, owner: (u32, u32), given: &mut Given<'_>) -> Answer {
        // Past the cache, which knows no byte behind the size.
        let is_direct = u32::from(self.rules.sizeless);
        let opened = || {
            let mut answer = Vec::new();
            put(&mut answer, &[0]);
            put32(&mut answer, &[is_direct, 0]);
            answer
        };
        match opcode {
            1 => {
                let number = self.child(node, given.name())?;
                self.entry(number)
            }
            3 => {
                let mut answer = Vec::new();
                put(&mut answer, &[0, 0]);
                answer.extend(self.attributes(node)?);
                Ok(answer)
            }
            4 => self.set(node, given),
            5 => Ok(self.node(node)?.content.clone()),
            6 => {
                let (name, target) = (given.name(), given.name());
                self.add((node, name), LINK | 0o777, owner, target.to_vec())
            }
            8 => {
                let mode = given.u32();
                let name = given.skip(12).name();
                self.add((node, name), mode, owner, Vec::new())
            }
            9 => {
                let mode = given.u32();
                let name = given.skip(4).name();
                self.add((node, name), DIRECTORY | (mode & 0o7777), owner, Vec::new())
            }
            10 | 11 => self.remove(node, given.name(), opcode == 11),
            12 => {
                let to = given.u64();
                self.rename((node, given.name()), (to, given.name()), 0)
            }
            13 => {
                let (number, name) = (given.u64(), given.name());
                if self.child(node, name).is_ok() {
                    return Err(EEXIST);
                }
                self.name(node, name, Some(number))?;
                self.entry(number)
            }
            27 if self.rules.closed.load(Ordering::SeqCst) == node => Err(EPERM),
            14 | 27 => Ok(opened()),
            15 => {
                let (from, size) = (given.skip(8).u64(), given.u32());
                let held = || self.rules.held.load(Ordering::SeqCst);
                while held() != 0 && from + u64::from(size) > held() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                let content = &self.node(node)?.content;
                let rest = content.get(usize::try_from(from).unwrap()..).unwrap_or_default();
                Ok(rest[..rest.len().min(size as usize)].to_vec())
            }
            16 => {
                let (from, size) = (given.skip(8).u64(), given.u32());
                let bytes = &given.skip(20).0[..size as usize];
                let (from, node) = (usize::try_from(from).unwrap(), self.node(node)?);
                if node.content.len() < from + bytes.len() {
                    node.content.resize(from + bytes.len(), 0);
                }
                node.content[from..from + bytes.len()].copy_from_slice(bytes);
                node.times = [now(); 2];
                let mut answer = Vec::new();
                put32(&mut answer, &[size, 0]);
                Ok(answer)
            }
            17 => {
                let mut answer = Vec::new();
                put(&mut answer, &[1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20]);
                put32(&mut answer, &[4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0]);
                Ok(answer)
            }
            18 | 20 | 25 | 29 | 30 | 38 | 50 => Ok(Vec::new()),
            26 => {
                let mut answer = Vec::new();
                put32(&mut answer, &[7, 31, 1 << 17, 1 << 5, 12 | (9 << 16), 1 << 17, 1]);
                put32(&mut answer, &[0; 9]);
                Ok(answer)
            }
            28 => {
                let (from, size) = (given.skip(8).u64(), given.u32());
                self.list(node, from, size)
            }
            35 => {
                let mode = given.skip(4).u32();
                let name = given.skip(8).name();
                let mut answer = self.add((node, name), REGULAR | (mode & 0o7777), owner, Vec::new())?;
                answer.extend(opened());
                Ok(answer)
            }
            45 => {
                let (to, flags) = (given.u64(), given.u32());
                given.skip(4);
                self.rename((node, given.name()), (to, given.name()), flags)
            }
            46 if self.rules.hides_data => {
                const SEEK_DATA: u32 = 3;
                let (from, whence) = (given.skip(8).u64(), given.u32());
                if whence == SEEK_DATA {
                    return Err(ENXIO);
                }
                let mut answer = Vec::new();
                put(&mut answer, &[from]);
                Ok(answer)
            }
            _ => Err(ENOSYS),
        }
    }
}

/// Returns the names in a directory as it keeps them, sorted.
#[track_caller]
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let text = |name: &OsStr| String::from_utf8_lossy(name.as_bytes()).into_owned();
    let mut names: Vec<String> = entries.map(|entry| text(&entry.unwrap().file_name())).collect();
    names.sort();
    names
}
