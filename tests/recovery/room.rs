//! Disks that are full, of store and mount apart, for every verb that writes: a clear error that names the place, the old tree, no
//! litter; and when there is room the same command goes through.

mod captures;
mod restores;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::ballast::{Ballast, Short};
use crate::support::build::Build;
use crate::support::machine::run_tool;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// What lies on the small disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Store,
    Mount,
}

/// A file system that is short of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disk {
    /// In memory, of few bytes.
    Memory,
    /// In memory, of few inodes.
    MemoryInodes,
    /// ext4 of few blocks.
    Ext4,
    /// ext4 with few inodes.
    Ext4Inodes,
    /// btrfs with a quota (EDQUOT).
    Quota,
}

impl Disk {
    const ALL: [Self; 5] = [
        Self::Memory,
        Self::MemoryInodes,
        Self::Ext4,
        Self::Ext4Inodes,
        Self::Quota,
    ];

    /// Mounts it at `at`. The directory to work in is the second one.
    fn mount(self, at: &Path) -> Option<(Volume, PathBuf)> {
        let volume = match self {
            Self::Memory => Volume::tmpfs_of(at, "size=6m,mode=0755"),
            Self::MemoryInodes => Volume::tmpfs_of(at, "nr_inodes=400,mode=0755"),
            Self::Ext4 => Volume::image(at, "ext4", 8 << 20, &["mkfs.ext4", "-q", "-m0"]),
            Self::Ext4Inodes => Volume::image(at, "ext4", 16 << 20, &["mkfs.ext4", "-q", "-m0", "-N", "400"]),
            Self::Quota => Volume::image(at, "btrfs", 256 << 20, &["mkfs.btrfs", "-q"]),
        }?;
        if self != Self::Quota {
            return Some((volume, at.to_path_buf()));
        }
        let inner = at.join("limited");
        let btrfs = |words: &[&str], at: &Path| run_tool(Command::new("btrfs").args(words).arg(at));
        btrfs(&["quota", "enable"], at);
        btrfs(&["subvolume", "create"], &inner);
        Some((volume, inner))
    }

    /// How much is left, step by step.
    fn steps(self) -> Vec<Short> {
        let kib = [0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024];
        let all: Vec<Short> = match self {
            Self::Memory | Self::Ext4 | Self::Quota => kib.map(|kib| Short::Bytes(kib << 10)).into(),
            Self::MemoryInodes | Self::Ext4Inodes => (0..24).step_by(2).map(Short::Inodes).collect(),
        };
        // All of them where many kills are asked for, too; else some, other ones for each kind.
        let many = is_thorough();
        let (stride, first) = if many { (1, 0) } else { (8, self as usize) };
        all.into_iter().skip(first).step_by(stride).collect()
    }
}

/// Whether time is no matter.
fn is_thorough() -> bool {
    let kills = std::env::var("JACKIN_KILLS").ok();
    kills
        .and_then(|kills| kills.parse().ok())
        .is_some_and(|kills: u32| kills > 200)
}

/// A home of which a part lies on a small disk.
struct Cramped {
    /// First, because fields are dropped in this order: unmounted before the rest is removed.
    _volume: Volume,
    sandbox: Sandbox,
    project: PathBuf,
    /// Where the ballast goes.
    disk: PathBuf,
    on: On,
    kind: Disk,
}

impl Cramped {
    fn new(disk: Disk, on: On) -> Option<Self> {
        let sandbox = Sandbox::new();
        let at = match on {
            On::Store => sandbox.home().join("small"),
            On::Mount => sandbox.sources().join("small"),
        };
        let (volume, inner) = disk.mount(&at)?;
        let project = match on {
            On::Store => {
                // The store's home is a link's target: a directory on the small disk.
                std::fs::create_dir_all(inner.join("data")).unwrap();
                sandbox.project("project")
            }
            On::Mount => inner.join("project"),
        };
        for n in 0..40 {
            Build::at(&project).file(format!("dir/{n}"), format!("content {n}\n").repeat(60));
        }
        Build::at(&project)
            .big("big", 300_000)
            .file("edited", "before\n")
            .aged();
        Some(Self {
            _volume: volume,
            sandbox,
            project,
            disk: inner,
            on,
            kind: disk,
        })
    }

    /// Runs a verb; where the store lies on the small disk, jackin's home is there.
    fn run(&self, words: &[&str]) -> Run {
        self.run_at(words, "")
    }

    /// The same, and it dies at `point`.
    fn run_at(&self, words: &[&str], point: &str) -> Run {
        let mut command = self.sandbox.command(words).inside(&self.project);
        if self.on == On::Store {
            command = command.with("JACKIN_HOME_DIR", &self.disk);
        }
        if !point.is_empty() {
            command = command.with("JACKIN_RECOVERY_FAIL_AT", point);
        }
        command.run()
    }

    fn store(&self) -> PathBuf {
        match self.on {
            On::Store => self.disk.join("data/recovery"),
            On::Mount => self.sandbox.store(),
        }
    }

    fn fill(&self, short: Short) -> Ballast {
        match (self.kind, short) {
            (Disk::Quota, Short::Bytes(leave)) => Ballast::limit(&self.disk, leave),
            _ => Ballast::fill(&self.disk, short),
        }
    }

    fn tree(&self) -> Tree {
        Tree::read(&self.project)
    }

    /// An error that says what is wrong and where; never a panic, never a success.
    #[track_caller]
    fn says_what_is_full(&self, run: &Run, about: &str) {
        let reasons = [
            "No space left on device",
            "Disk quota exceeded",
            "database or disk is full",
            "disk I/O error",
            "free",
        ];
        run.names(&[1, 8, 125], &reasons, &self.disk, about);
    }

    /// What the store holds but for its logs, its catalog and its locks, which may have grown by a line.
    fn holdings(&self) -> Vec<String> {
        let store = self.store();
        let found = walkdir::WalkDir::new(&store).min_depth(2).sort_by_file_name();
        // There may be no store yet.
        let paths = found.into_iter().flatten().map(walkdir::DirEntry::into_path);
        let below = paths.map(|path| path.strip_prefix(&store).unwrap().to_string_lossy().into_owned());
        below.filter(|path| !path.starts_with("locks/")).collect()
    }

    /// Nothing is left of what failed, but what a record names.
    #[track_caller]
    fn no_litter(&self, about: &str) {
        for name in self.holdings() {
            assert!(!name.starts_with("tmp/"), "{about}: {name} is left");
            assert!(!name.starts_with("restores/"), "{about}: {name} is left");
        }
        let above = self.project.parent().unwrap();
        for entry in std::fs::read_dir(above).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with(".jackin"), "{about}: {name} is left");
        }
    }

    /// Everything that can be read is what was written.
    #[track_caller]
    fn sound(&self) {
        self.run(&["verify", "--read-data"]).ok();
        self.run(&["log", "--verify"]).ok();
    }
}

/// For each kind of disk, on the store's and the mount's side.
fn everywhere(test: impl Fn(&Cramped, Short, &str)) {
    for disk in Disk::ALL {
        for on in [On::Store, On::Mount] {
            let Some(cramped) = Cramped::new(disk, on) else {
                continue;
            };
            for short in disk.steps() {
                test(
                    &cramped,
                    short,
                    &format!("{disk:?} of the {on:?}, {short:?} left"),
                );
            }
        }
    }
}
