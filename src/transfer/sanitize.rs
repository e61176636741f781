//! Removes from an untrusted tree what grants rights, or has a meaning only on another machine.

use std::sync::Arc;

use crate::model::{
    Directory, Entry, EntryKind, Gap, GapReason, InodeFlags, Manifest, MountRecord, Recorded, RelPath, Time,
};

/// Number of paths that are named; the rest is counted.
const NAMED: usize = 20;
/// The set-user-id and the set-group-id bit.
const SET_ID: u32 = 0o6000;
/// Prefix of the only attributes that grant no rights.
const HARMLESS: &[u8] = b"user.";

/// Metadata that was dropped from one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedWhat {
    /// Label of the mount.
    pub label: String,
    /// Below its root.
    pub path: RelPath,
    /// In words: `set-user-id bit`, `attribute security.capability`, `device`, `owner 0:0` and so on.
    pub what: Vec<String>,
}

/// Summary of the dropped metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Paths that lost something beside their owner.
    pub paths: u64,
    /// Paths that lost their owner.
    pub owners: u64,
    /// The first of all these, those that lost more than an owner before the others.
    pub named: Vec<DroppedWhat>,
}

impl Dropped {
    /// Returns the number of paths that lost something.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.paths.saturating_add(self.owners)
    }
}

/// Sanitizer for one importing user.
pub(super) struct Stripping {
    owner: (u32, u32),
    dropped: Dropped,
    /// The first that lost their owner alone.
    owners: Vec<DroppedWhat>,
}

impl Stripping {
    /// Creates a sanitizer that makes `owner` the owner of everything.
    pub(super) fn new(owner: (u32, u32)) -> Self {
        Self {
            owner,
            dropped: Dropped::default(),
            owners: Vec::new(),
        }
    }

    /// Returns the summary of the dropped metadata.
    pub(super) fn end(mut self) -> Dropped {
        let more = NAMED.saturating_sub(self.dropped.named.len());
        self.dropped.named.extend(self.owners.into_iter().take(more));
        self.dropped
    }

    /// Sanitizes everything in a manifest.
    pub(super) fn manifest(&mut self, label: &str, manifest: &mut Manifest) {
        self.entry(label, &RelPath::root(), &mut manifest.root);
        for dir in &mut manifest.directories {
            let dir = Arc::make_mut(dir);
            self.devices(label, dir);
            for entry in &mut dir.entries {
                self.entry(label, &dir.path.join(&entry.name), entry);
            }
        }
    }

    /// Sanitizes the recorded metadata of private files.
    pub(super) fn private(&mut self, mount: &mut MountRecord) {
        let label = mount.coverage.label.clone();
        for fact in &mut mount.withheld {
            (fact.uid, fact.gid) = self.owner;
            fact.mode &= !SET_ID;
            if let Some(Recorded(entry)) = &mut fact.entry {
                self.entry(&label, &fact.path, entry);
            }
        }
    }

    /// A device becomes a gap: it is known of, and not held.
    fn devices(&mut self, label: &str, dir: &mut Directory) {
        let is_device =
            |entry: &Entry| matches!(entry.kind, EntryKind::CharDevice(..) | EntryKind::BlockDevice(..));
        if !dir.entries.iter().any(is_device) {
            return;
        }
        let (devices, rest) = std::mem::take(&mut dir.entries).into_iter().partition(is_device);
        dir.entries = rest;
        let devices: Vec<Entry> = devices;
        for device in devices {
            self.lost(label, &dir.path.join(&device.name), vec!["device".to_owned()]);
            dir.gaps.push(Gap {
                name: device.name,
                reason: GapReason::Unreadable("a device, which the import dropped".to_owned()),
            });
        }
        dir.gaps.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn entry(&mut self, label: &str, path: &RelPath, entry: &mut Entry) {
        let mut what = Vec::new();
        for (bit, words) in [(0o4000, "set-user-id bit"), (0o2000, "set-group-id bit")] {
            if entry.mode & bit != 0 {
                what.push(words.to_owned());
            }
        }
        entry.mode &= !SET_ID;
        entry.xattrs.retain(|attribute| {
            let keeps = attribute.name.starts_with(HARMLESS);
            if !keeps {
                what.push(format!("attribute {}", String::from_utf8_lossy(&attribute.name)));
            }
            keeps
        });
        if !entry.flags.is_empty() {
            what.push("inode flags".to_owned());
            entry.flags = InodeFlags::default();
        }
        let foreign = (entry.uid, entry.gid) != self.owner;
        let owner = format!("owner {}:{}", entry.uid, entry.gid);
        (entry.uid, entry.gid) = self.owner;
        if !what.is_empty() {
            what.extend(foreign.then_some(owner));
            self.lost(label, path, what);
        } else if foreign {
            self.dropped.owners += 1;
            name(&mut self.owners, label, path, vec![owner]);
        }
    }

    fn lost(&mut self, label: &str, path: &RelPath, what: Vec<String>) {
        self.dropped.paths += 1;
        name(&mut self.dropped.named, label, path, what);
    }
}

fn name(list: &mut Vec<DroppedWhat>, label: &str, path: &RelPath, what: Vec<String>) {
    if list.len() < NAMED {
        list.push(DroppedWhat {
            label: label.to_owned(),
            path: path.clone(),
            what,
        });
    }
}

/// Forgets the data by which a file would be recognized as unchanged: those of another machine's kernel prove nothing here, and a
/// capture of the same path must never rely on them.
pub(super) fn forget_identities(manifest: &mut Manifest) {
    let forget = |entry: &mut Entry| {
        entry.ino = 0;
        entry.ctime = Time::default();
    };
    forget(&mut manifest.root);
    for dir in &mut manifest.directories {
        let dir = Arc::make_mut(dir);
        dir.all_named = false;
        dir.entries.iter_mut().for_each(forget);
    }
}
