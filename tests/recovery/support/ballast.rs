//! Takes up the room of a small file system, but for so much, until it is dropped.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::machine::run_tool;

/// What is to run short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    /// So many bytes are left.
    Bytes(u64),
    /// So many inodes are left.
    Inodes(usize),
}

/// What takes up the room.
pub(crate) enum Ballast {
    /// Files in this directory.
    Files(PathBuf),
    /// A limit of this btrfs subvolume.
    Quota(PathBuf),
}

impl Ballast {
    /// Fills the file system that `disk` is on.
    #[track_caller]
    pub(crate) fn fill(disk: &Path, short: Short) -> Self {
        let directory = disk.join("ballast");
        fs::create_dir(&directory).unwrap();
        let path = |name: usize| directory.join(name.to_string());
        match short {
            Short::Bytes(leave) => {
                // In pieces that get smaller, and each byte asked for on the disk: a file system that allocates late would
                // promise more than it has.
                let file = File::create(path(0)).unwrap();
                let mut end = 0;
                for piece in [1 << 20, 1 << 16, 1 << 12] {
                    while file.write_all_at(&vec![0x5a; piece], end).is_ok() && file.sync_all().is_ok() {
                        end += piece as u64;
                        assert!(end < 1 << 30, "it cannot be filled");
                    }
                }
                let _ = file.sync_all();
                let length = file.metadata().unwrap().len();
                file.set_len(length.saturating_sub(leave)).unwrap();
                let _ = file.sync_all();
            }
            Short::Inodes(leave) => {
                let made = (0..100_000)
                    .take_while(|name| File::create(path(*name)).is_ok())
                    .count();
                assert!(made < 100_000, "it cannot be filled");
                for name in (0..made).rev().take(leave) {
                    fs::remove_file(path(name)).unwrap();
                }
            }
        }
        Self::Files(directory)
    }

    /// Limits a btrfs subvolume to what it holds and so many bytes.
    #[track_caller]
    pub(crate) fn limit(subvolume: &Path, leave: u64) -> Self {
        let shown = btrfs(&["qgroup", "show", "--raw", "--sync", "-f"], subvolume);
        let shown = String::from_utf8(shown).unwrap();
        let last = shown.lines().last().unwrap();
        let holds: u64 = last.split_whitespace().nth(1).unwrap().parse().unwrap();
        btrfs(&["qgroup", "limit", &(holds + leave).to_string()], subvolume);
        Self::Quota(subvolume.to_path_buf())
    }
}

#[track_caller]
fn btrfs(words: &[&str], at: &Path) -> Vec<u8> {
    run_tool(Command::new("btrfs").args(words).arg(at))
}

impl Drop for Ballast {
    fn drop(&mut self) {
        match self {
            Self::Files(directory) => drop(fs::remove_dir_all(directory)),
            Self::Quota(subvolume) => {
                // Asked for by the subvolume itself it may be refused: that quota is used up. A drop must not panic.
                let told = |words: &[&str], at: &Path| {
                    let done = Command::new("btrfs").args(words).arg(at).output().ok()?;
                    done.status
                        .success()
                        .then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
                };
                let top = subvolume.parent().unwrap_or(subvolume);
                let id = told(&["inspect-internal", "rootid"], subvolume).unwrap_or_default();
                if told(&["qgroup", "limit", "none", &format!("0/{id}")], top).is_none() {
                    eprintln!("the quota of {subvolume:?} stays");
                }
            }
        }
    }
}
