//! What the attacker does, again and again, while the program runs. He reaches everything through directories that he holds open,
//! so that he is never led astray by his own links.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use handle_fs::remote::ONLY_NAMED;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};

use super::treasure::BAITS;
use crate::support::build::Build;

/// One kind of attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Blow {
    /// What is there changes places with a link to the treasure, or to a file in it, and back.
    Link,
    /// With a pipe.
    Fifo,
    /// With a directory that holds a file.
    Directory,
    /// With a file of other bytes.
    File,
    /// With another name of a file outside the mount.
    HardLink,
    /// It is moved out of the mount, and back.
    Away,
    /// It changes places with what lies beside it.
    Neighbor,
    /// Other bytes of the same length, with the old time.
    Forge,
    /// Cut short and made longer.
    Truncate,
    /// No rights, all rights, set-id.
    Mode,
}

impl Blow {
    pub(super) const ALL: [Self; 10] = [
        Self::Link,
        Self::Fifo,
        Self::Directory,
        Self::File,
        Self::HardLink,
        Self::Away,
        Self::Neighbor,
        Self::Forge,
        Self::Truncate,
        Self::Mode,
    ];

    /// Those that change the bytes or the mode of what lies there, instead of what lies there.
    pub(super) fn is_in_place(self) -> bool {
        matches!(self, Self::Forge | Self::Truncate | Self::Mode)
    }
}

/// What all attackers of a round share.
pub(super) struct War<'a> {
    pub(super) den: &'a Path,
    pub(super) vault: &'a Path,
    pub(super) bait: &'a Path,
    pub(super) over: AtomicBool,
    /// Blows that hit: what lay at a path was another thing for a moment.
    pub(super) hits: AtomicU64,
    /// Number of the next thing that the attacker makes, in all rounds.
    pub(super) made: &'a AtomicU64,
    /// What he left in a staging directory, by number.
    pub(super) staying: Mutex<BTreeSet<u64>>,
}

/// A name in a directory that is held open.
pub(super) struct Target {
    dir: OwnedFd,
    name: OsString,
}

impl Target {
    /// None when its directory is not there, or something else than a directory.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let flags = ONLY_NAMED | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(CWD, path.parent()?, flags, Mode::empty()).ok()?;
        Some(Self {
            dir,
            name: path.file_name()?.to_owned(),
        })
    }
}

/// How a thing of the attacker's is called, in his files and in his den.
pub(super) fn tag(number: u64) -> String {
    format!("decoy-{number:06}.")
}

impl War<'_> {
    /// Strikes at `target` until the war is over. In the end everything that can be is where it was.
    pub(super) fn wage(&self, blow: Blow, target: &Target, seed: u64) {
        let mut seed = seed;
        while !self.over.load(Ordering::Relaxed) {
            self.strike(blow, target, &mut seed);
            self.pause(&mut seed, 400);
        }
    }

    pub(super) fn strike(&self, blow: Blow, target: &Target, seed: &mut u64) {
        let hit = match blow {
            Blow::Forge | Blow::Truncate | Blow::Mode => self.spoil(blow, target, seed).is_ok(),
            Blow::Away => self.away(target, seed),
            Blow::Neighbor => self.neighbor(target, seed),
            _ => self.swap(blow, target, seed),
        };
        self.hits.fetch_add(u64::from(hit), Ordering::Relaxed);
    }

    /// Up to so many microseconds.
    fn pause(&self, seed: &mut u64, most: u64) {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((*seed >> 33) % most));
    }

    fn number(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    /// A new thing in the den, of the kind that the blow wants.
    fn decoy(&self, blow: Blow) -> OsString {
        let number = self.number();
        let name = tag(number);
        let (path, build) = (self.den.join(&name), Build::at(self.den));
        match blow {
            Blow::Link => {
                let leads = ["", "plain", "one", "in"][usize::try_from(number % 4).unwrap()];
                std::os::unix::fs::symlink(self.vault.join(leads), &path).unwrap();
            }
            Blow::Fifo => drop(build.fifo(&name)),
            Blow::Directory => drop(build.file(format!("{name}/plain"), &name)),
            Blow::HardLink => {
                let hook = self
                    .bait
                    .join(format!("hook-{}", number % u64::try_from(BAITS).unwrap()));
                fs::hard_link(hook, &path).unwrap();
            }
            _ => drop(build.file(&name, &name)),
        }
        name.into()
    }

    /// A decoy comes to the place, and goes again.
    fn swap(&self, blow: Blow, target: &Target, seed: &mut u64) -> bool {
        let decoy = self.decoy(blow);
        let place = self.den.join(&decoy);
        if !self.exchange(&place, target) {
            // Nothing is there: then something is, for a moment.
            let came = self.put(&place, target);
            self.pause(seed, 600);
            if came {
                self.take(target, &place);
            }
            return came;
        }
        self.pause(seed, 600);
        if !self.exchange(&place, target) {
            self.put(&place, target);
        }
        true
    }

    fn away(&self, target: &Target, seed: &mut u64) -> bool {
        let place = self.den.join(tag(self.number()));
        let went = self.take(target, &place);
        self.pause(seed, 600);
        went && self.put(&place, target)
    }

    /// Another name in the same directory: for directories, what lies below them is reached by another way for a moment.
    fn neighbor(&self, target: &Target, seed: &mut u64) -> bool {
        let other = match target.name.as_encoded_bytes() {
            b"a" => "b",
            b"b" => "a",
            b"one" => "two",
            b"in" => "made",
            _ => "keep",
        };
        let flip = || {
            let (dir, name) = (&target.dir, &target.name);
            renameat_with(dir, name, dir, OsStr::new(other), RenameFlags::EXCHANGE).is_ok()
        };
        let hit = flip();
        self.pause(seed, 600);
        if hit {
            flip();
        }
        hit
    }

    fn exchange(&self, place: &Path, target: &Target) -> bool {
        renameat_with(CWD, place, &target.dir, &target.name, RenameFlags::EXCHANGE).is_ok()
    }

    fn put(&self, place: &Path, target: &Target) -> bool {
        renameat_with(CWD, place, &target.dir, &target.name, RenameFlags::NOREPLACE).is_ok()
    }

    fn take(&self, target: &Target, place: &Path) -> bool {
        renameat_with(&target.dir, &target.name, CWD, place, RenameFlags::NOREPLACE).is_ok()
    }

    /// Changes what lies there without moving it.
    fn spoil(&self, blow: Blow, target: &Target, seed: &mut u64) -> std::io::Result<()> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if blow == Blow::Mode {
            let pin = ONLY_NAMED | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let pinned = openat(&target.dir, &target.name, pin, Mode::empty())?;
            let was = rustix::fs::fstat(&pinned)?.st_mode;
            if was & 0o170_000 == 0o120_000 {
                return Err(std::io::ErrorKind::InvalidInput.into());
            }
            let path = format!("/proc/self/fd/{}", pinned.as_raw_fd());
            for mode in [0, 0o4777, was & 0o7777] {
                match cfg!(target_os = "linux") {
                    true => rustix::fs::chmod(&path, Mode::from_raw_mode(mode))?,
                    false => rustix::fs::fchmod(&pinned, Mode::from_raw_mode(mode))?,
                }
                self.pause(seed, 300);
            }
            return Ok(());
        }
        let file = fs::File::from(openat(&target.dir, &target.name, flags, Mode::empty())?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        let (time, length) = (found.modified()?, found.len());
        if blow == Blow::Truncate {
            file.set_len(0)?;
            self.pause(seed, 200);
            file.set_len(length + 5000)?;
            self.pause(seed, 200);
            file.set_len(length)?;
        }
        let text = format!("{:>1$}", tag(self.number()), usize::try_from(length).unwrap());
        file.write_all_at(&text.as_bytes()[..usize::try_from(length).unwrap()], 0)?;
        if blow == Blow::Forge {
            file.set_modified(time)?;
        }
        Ok(())
    }

    /// Things that wait under names which the program has announced, and what it stages.
    pub(super) fn haunt(&self, beside: &Path, announced: &Path, blow: Blow, seed: u64) {
        let mut seed = seed;
        while !self.over.load(Ordering::Relaxed) {
            for place in staging(beside) {
                for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
                    if let Some(target) = Target::at(&entry.path()) {
                        self.strike(blow, &target, &mut seed);
                    }
                }
                if seed.is_multiple_of(5) {
                    self.leave(&place);
                }
                if seed.is_multiple_of(3)
                    && let Some(target) = Target::at(&place)
                {
                    self.strike(Blow::Link, &target, &mut seed);
                }
            }
            if seed.is_multiple_of(2) {
                self.forestall(beside, announced);
            }
            self.pause(&mut seed, 200);
        }
    }

    /// Leaves something of his own in a staging directory.
    fn leave(&self, staging: &Path) {
        let number = self.made.load(Ordering::Relaxed);
        let name = self.decoy(Blow::File);
        if name != OsStr::new(&tag(number)) {
            return;
        }
        let target = Target::at(&staging.join(&name));
        if target.is_some_and(|target| self.put(&self.den.join(&name), &target)) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            self.staying.lock().unwrap().insert(number);
        }
    }

    /// Puts a link to the treasure where staging is going to lie: the intent says the name.
    fn forestall(&self, beside: &Path, announced: &Path) {
        for papers in fs::read_dir(announced).into_iter().flatten().flatten() {
            let Ok(intent) = fs::read(papers.path().join("intent")) else {
                continue;
            };
            let text = String::from_utf8_lossy(&intent).into_owned();
            let Some(at) = text.find(".jackin-recovery-") else {
                continue;
            };
            let name: String = text[at..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "-.".contains(*c))
                .collect();
            let came = std::os::unix::fs::symlink(self.vault, beside.join(name)).is_ok();
            self.hits.fetch_add(u64::from(came), Ordering::Relaxed);
        }
    }

    /// Strikes at whatever shows up in a directory and in those below it.
    pub(super) fn wander(&self, top: &Path, blow: Blow, seed: u64) {
        let mut seed = seed;
        while !self.over.load(Ordering::Relaxed) {
            let mut level = vec![top.to_path_buf()];
            let found = fs::read_dir(top).into_iter().flatten().flatten();
            level.extend(found.map(|entry| entry.path()));
            for directory in level {
                if directory.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                    continue;
                }
                for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                    let path: PathBuf = entry.path();
                    if let Some(target) = Target::at(&path) {
                        self.strike(blow, &target, &mut seed);
                    }
                }
            }
            self.pause(&mut seed, 100);
        }
    }
}

/// The staging directories beside a mount.
fn staging(beside: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(beside).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().map(OsStr::as_encoded_bytes);
            let is_directory = path
                .symlink_metadata()
                .is_ok_and(|found| found.permissions().mode() & 0o170_000 == 0o040_000);
            is_directory && name.is_some_and(|name| name.starts_with(b".jackin-recovery-"))
        })
        .collect()
}
