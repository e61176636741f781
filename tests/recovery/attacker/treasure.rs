//! What lies outside the mount: files that no run of the program may change, read into a snapshot, or name.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use crate::support::build::Build;
use crate::support::compare::{Exactness, differences};
use crate::support::sandbox::Sandbox;
use crate::support::search::holds;
use crate::support::tree::Tree;

/// Stands in the files of the treasure and nowhere else.
pub(super) const SECRET: &[u8] = b"the-gold-is-buried-here";
/// Begins the names of what lies in the treasure. No link's target has it.
pub(super) const GOLD: &[u8] = b"doubloon-";
/// Stands in the files that the attacker gives second names in the tree.
const BAIT: &str = "bait, outside the mount\n";
/// How many of those there are.
pub(super) const BAITS: usize = 4;

/// Two directories outside the mount: what links lead to, and what gets second names below the mount.
pub(super) struct Treasure {
    /// Never touched by the attacker himself.
    pub(super) vault: PathBuf,
    /// Its files get and lose second names by the attacker's own hand.
    pub(super) bait: PathBuf,
    facts: BTreeMap<PathBuf, Facts>,
    whole: Tree,
    hooks: Tree,
}

/// All that `lstat` says, change time, links and time of access among it.
type Facts = [i128; 10];

impl Treasure {
    pub(super) fn bury(world: &Path) -> Self {
        let (vault, bait) = (world.join("vault"), world.join("bait"));
        let text = [SECRET, b"\n"].concat();
        // `plain` and `one` have the names of what lies in the tree, so that a link in the place of a directory leads to them.
        Build::at(&vault)
            .file("plain", &text)
            .mode("plain", 0o600)
            .file("one", &text)
            .file("in/plain", &text)
            .file("doubloon-a", &text)
            .attribute("doubloon-a", "user.gold", "yes")
            .file("doubloon-setuid", &text)
            .mode("doubloon-setuid", 0o4755)
            .file("doubloon-deep/doubloon-b", &text)
            .hard_link("doubloon-deep/doubloon-c", "doubloon-a")
            .symlink("doubloon-link", "doubloon-a")
            .dir("doubloon-empty")
            .mode("doubloon-empty", 0o711)
            .aged();
        let build = Build::at(&bait);
        for number in 0..BAITS {
            let name = format!("hook-{number}");
            build
                .file(&name, BAIT)
                .attribute(&name, "user.hook", "yes")
                .mode(&name, 0o640);
        }
        build.aged();
        let whole = Tree::read(&vault);
        unread(&vault);
        Self {
            facts: facts(&vault),
            whole,
            hooks: Tree::read(&bait),
            vault,
            bait,
        }
    }

    /// What is another thing than it was, one line each. Looking changes nothing.
    pub(super) fn changes(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let now = facts(&self.vault);
        for (path, was) in &self.facts {
            match now.get(path) {
                Some(is) if is == was => {}
                is => lines.push(format!("{}: {was:?} | {is:?}", path.display())),
            }
        }
        let new = now.keys().filter(|path| !self.facts.contains_key(*path));
        lines.extend(new.map(|path| format!("{}: new", path.display())));
        lines.extend(differences(
            &self.hooks,
            &Tree::read(&self.bait),
            Exactness::Identity,
        ));
        lines
    }

    /// The same for every byte, at the very end: reading would change the times of access.
    pub(super) fn changed_bytes(&self) -> Vec<String> {
        differences(&self.whole, &Tree::read(&self.vault), Exactness::Identity)
    }

    /// Files of the bait that have another number of names than there are to be found below `world`.
    pub(super) fn stray_links(&self, world: &Path) -> Vec<String> {
        let mut names: BTreeMap<u64, u64> = BTreeMap::new();
        for entry in walkdir::WalkDir::new(world).into_iter().flatten() {
            if let Ok(found) = entry.path().symlink_metadata()
                && !found.is_dir()
            {
                *names.entry(found.ino()).or_default() += 1;
            }
        }
        let mut stray = Vec::new();
        for number in 0..BAITS {
            let found = self
                .bait
                .join(format!("hook-{number}"))
                .symlink_metadata()
                .unwrap();
            let seen = names.get(&found.ino()).copied().unwrap_or_default();
            if seen != found.nlink() {
                stray.push(format!("hook-{number}: {} links, {seen} names", found.nlink()));
            }
        }
        stray
    }
}

/// Sets the times of access back, so that the first read of anything shows.
fn unread(top: &Path) {
    for entry in walkdir::WalkDir::new(top).contents_first(true) {
        let path = entry.unwrap().into_path();
        let modified = path.symlink_metadata().unwrap();
        let times = Timestamps {
            last_access: Timespec {
                tv_sec: 1_000_000_000,
                tv_nsec: 0,
            },
            last_modification: Timespec {
                tv_sec: modified.mtime(),
                tv_nsec: modified.mtime_nsec(),
            },
        };
        utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
}

fn facts(top: &Path) -> BTreeMap<PathBuf, Facts> {
    let mut facts = BTreeMap::new();
    for entry in walkdir::WalkDir::new(top) {
        let path = entry.unwrap().into_path();
        let is = path.symlink_metadata().unwrap();
        // Listing is what this very look does to a directory, and reading a target what a walk does to a link.
        let read = if is.is_file() { is.atime() } else { 0 };
        let all = [
            i128::from(is.ino()),
            i128::from(is.mode()),
            i128::from(is.uid()),
            i128::from(is.gid()),
            i128::from(is.nlink()),
            i128::from(is.size()),
            i128::from(is.mtime()) * 1_000_000_000 + i128::from(is.mtime_nsec()),
            i128::from(is.ctime()) * 1_000_000_000 + i128::from(is.ctime_nsec()),
            i128::from(read),
            i128::from(is.dev()),
        ];
        facts.insert(path, all);
    }
    facts
}

/// What the store's archives hold, decompressed: the ones that were not looked at before.
#[derive(Default)]
pub(super) struct Vaults {
    seen: BTreeMap<PathBuf, Vec<u8>>,
}

impl Vaults {
    /// Reads what is new. Everything of the treasure that is in any archive is given, one line each.
    pub(super) fn look(&mut self, sandbox: &Sandbox) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(sandbox.store().join("archives"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            if self.seen.contains_key(&path) {
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            // The name of an archive that a repack has moved is no archive, and not compressed.
            let is_moved = path.extension().is_some_and(|extension| extension == "moved");
            let text = if is_moved {
                bytes
            } else {
                zstd::decode_all(&bytes[..]).unwrap()
            };
            for wanted in [SECRET, GOLD] {
                if holds(&text, wanted) {
                    found.push(format!("{} holds {}", path.display(), wanted.escape_ascii()));
                }
            }
            self.seen.insert(path, text);
        }
        found
    }

    /// Whether any archive holds these bytes.
    pub(super) fn hold(&self, wanted: &[u8]) -> bool {
        self.seen.values().any(|text| holds(text, wanted))
    }
}
