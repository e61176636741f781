//! Runs the operator's own `btrfs` and `zfs` (and finds `kubectl`), which make and remove snapshots of file systems. Their words are fixed but for paths, each
//! of which is absolute, and for the names of datasets, which `zfs` said itself. Neither is taken from a recorded mount.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::transport::{PRODUCT, helper_image};
use crate::environment::{Environment, RecordedMounts, SnapshotProgram, SnapshotPrograms};
use handle_fs::NativeKind;
use processes::CommandRequest;
use transports::Claims;

/// Time limit for a program, which may first write dirty data to the disk.
const PATIENCE: Duration = Duration::from_secs(300);

/// Message of zfs-list(8) for a snapshot or a dataset that does not exist.
const NO_DATASET: &str = "dataset does not exist";

/// Returns the search for these programs in the `PATH` of `environment`, never in a recorded mount.
#[must_use]
pub fn snapshot_programs(environment: &Environment, recorded: RecordedMounts) -> SnapshotPrograms {
    SnapshotPrograms::new(environment.get("PATH"), helper_image(environment), recorded)
}

/// The program that makes snapshots of one kind of file system.
#[derive(Clone, Debug)]
pub struct Freezer {
    kind: NativeKind,
    found: SnapshotProgram,
}

/// A dataset of ZFS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Its name.
    pub name: String,
    /// Mount point of the dataset.
    pub mountpoint: PathBuf,
}

impl Freezer {
    /// Finds it, outside of `mounts` and of those that are recorded: an agent can write there.
    #[must_use]
    pub fn find(programs: &SnapshotPrograms, kind: NativeKind, mounts: &[PathBuf]) -> Option<Self> {
        let found = programs.find(kind, mounts)?;
        Some(Self { kind, found })
    }

    /// Returns the client for snapshots of claims, if this is `kubectl`.
    #[must_use]
    pub fn claims(&self) -> Claims<'_> {
        Claims {
            product: &PRODUCT,
            program: &self.found.program,
            path: &self.found.path,
            image: self.found.helper_image.as_deref(),
            plans: &self.found.plans,
        }
    }

    /// Makes a read-only snapshot of a btrfs subvolume at a path that is free.
    ///
    /// # Errors
    /// Why not, in its words.
    pub fn snapshot_subvolume(&self, subvolume: &Path, at: &Path) -> Result<(), String> {
        let words = ["subvolume", "snapshot", "-r", "--"].map(OsStr::new);
        self.run(&[&words[..], &[subvolume.as_os_str(), at.as_os_str()]].concat())
            .map(drop)
    }

    /// The id of a subvolume, where it may be asked for.
    #[must_use]
    pub fn uuid_of(&self, at: &Path) -> Option<String> {
        let words = ["subvolume", "show", "--"].map(OsStr::new);
        let said = self.run(&[&words[..], &[at.as_os_str()]].concat()).ok()?;
        let line = said.lines().find_map(|line| line.trim().strip_prefix("UUID:"))?;
        let uuid = line.trim();
        let is_one = uuid.len() == 36 && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        is_one.then(|| uuid.to_owned())
    }

    /// Removes a snapshot of a subvolume.
    ///
    /// # Errors
    /// Why not, in its words.
    pub fn delete_subvolume(&self, at: &Path) -> Result<(), String> {
        let delete = ["subvolume", "delete", "-c", "--"].map(OsStr::new);
        let delete = || self.run(&[&delete[..], &[at.as_os_str()]].concat()).map(drop);
        let Err(why) = delete() else { return Ok(()) };
        // An ordinary user may remove only what they may write.
        let (before, behind) = (["property", "set", "-t", "subvol"], ["ro", "false"]);
        let open = [
            &before.map(OsStr::new)[..],
            &[at.as_os_str()],
            &behind.map(OsStr::new)[..],
        ];
        match self.run(&open.concat()) {
            Ok(_) => delete(),
            Err(_) => Err(why),
        }
    }

    /// The dataset that a directory lies in.
    ///
    /// # Errors
    /// Reason that it is unknown, in words.
    pub fn dataset(&self, directory: &Path) -> Result<Dataset, String> {
        let words = [
            "list",
            "-H",
            "-p",
            "-t",
            "filesystem",
            "-o",
            "name,mountpoint",
            "--",
        ]
        .map(OsStr::new);
        let said = self.run(&[&words[..], &[directory.as_os_str()]].concat())?;
        let line = said.strip_suffix('\n').unwrap_or(&said);
        let mut fields = line.split('\t');
        let name = fields.next().filter(|name| is_dataset(name));
        let mountpoint = PathBuf::from(fields.next().unwrap_or_default());
        match name {
            Some(name) if mountpoint.is_absolute() && fields.next().is_none() => Ok(Dataset {
                name: name.to_owned(),
                mountpoint,
            }),
            _ => Err("unexpected answer from zfs".to_owned()),
        }
    }

    /// Makes the snapshot `DATASET@NAME`.
    ///
    /// # Errors
    /// Why not, in its words.
    pub fn snapshot_dataset(&self, snapshot: &str) -> Result<(), String> {
        self.run(&["snapshot", snapshot].map(OsStr::new)).map(drop)
    }

    /// Returns true if the snapshot `DATASET@NAME` exists.
    ///
    /// # Errors
    /// The program's message, if that cannot be determined.
    pub fn has_snapshot(&self, snapshot: &str) -> Result<bool, String> {
        let list = |kind, name| self.run(&["list", "-H", "-t", kind, "-o", "name", name].map(OsStr::new));
        match list("snapshot", snapshot) {
            Ok(said) => Ok(said.trim_end() == snapshot),
            // That is said as well when its whole pool is elsewhere for now.
            Err(why) if why.contains(NO_DATASET) => {
                let (dataset, _) = snapshot.split_once('@').unwrap_or_default();
                list("filesystem", dataset).map(|_| false)
            }
            Err(why) => Err(why),
        }
    }

    /// Removes the snapshot `DATASET@NAME`, and nothing that has no such name. One that is not there is no error.
    ///
    /// # Errors
    /// Why not, in its words.
    pub fn destroy_snapshot(&self, snapshot: &str) -> Result<(), String> {
        // Without an `@` a whole dataset would go.
        let is_one = snapshot.split_once('@').is_some_and(|(dataset, name)| {
            is_dataset(dataset) && !name.is_empty() && !name.contains(['@', '%', ','])
        });
        if !is_one {
            return Err(format!("{snapshot:?} is no snapshot of a dataset"));
        }
        match self.has_snapshot(snapshot)? {
            true => self.run(&["destroy", snapshot].map(OsStr::new)).map(drop),
            false => Ok(()),
        }
    }

    /// Runs the program and returns its output; the error is its message.
    fn run(&self, words: &[&OsStr]) -> Result<String, String> {
        let asked = CommandRequest {
            name: self.kind.word(),
            program: &self.found.program,
            path: &self.found.path,
            patience: PATIENCE,
            bare: true,
        };
        asked.ask(words, None)
    }
}

/// Returns true if `name` can be the name of a dataset, and is no option.
fn is_dataset(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.:/ ".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(allowed)
}

#[cfg(test)]
mod tests;
