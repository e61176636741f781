//! The record of a snapshot, `snapshots/<id>.json`: a snapshot is visible when its record is.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ArchiveId, Content, Coverage, Digest, DigestMethod, FileSystemId, InstanceId, MIXED, NativeRef, Recorded,
    RelPath, RepositoryFacts, SnapshotId, SnapshotKind, Time, WithheldPath, WithheldReason,
};

/// A path that the snapshot lacks, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedGap {
    /// Below the mount root.
    pub path: RelPath,
    /// e.g. "cannot be read: permission denied".
    pub reason: String,
}

impl RecordedGap {
    /// Returns true if the snapshot has the file anyway, with bytes that may mix two versions.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.reason == MIXED
    }
}

/// One mount within a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountRecord {
    /// Coverage that the capture was asked to hold.
    pub coverage: Coverage,
    /// Start of the walk of this mount. The next capture reads a file again that changed later than shortly before this.
    pub started_at: Time,
    /// True if the root itself was a mount point. If it was not and is now, the tree is hidden below the new mount.
    #[serde(default)]
    pub mounted: bool,
    /// True if every file was written back before it was read. Only then do equal times prove equal content, because a store
    /// through a mapping that was already dirty changes no times. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub written_back: bool,
    /// File system that was mounted at the root; `None` if nothing was mounted, or it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystemId>,
    /// True if a shell served the files, which shows no attributes, ACLs and flags: that an entry has none says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attributes_unknown: bool,
    /// Digest of the manifest list; none when the mount root did not exist at that moment.
    pub manifest: Option<Digest>,
    /// Entries below the root.
    pub entries: u64,
    /// Sum of file sizes in bytes, hard links once.
    pub bytes: u64,
    /// Number of gaps.
    pub gap_count: u64,
    /// The first hundred gaps; the manifest has them all.
    pub gaps: Vec<RecordedGap>,
    /// The first hundred files that changed after they were read, while the capture went on. Each is one version, but versions of
    /// several files may not fit together (those of a database).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_meanwhile: Vec<RelPath>,
    /// Number of such files.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changed_meanwhile_count: u64,
    /// The git repositories in it; `None` if jackin did not look for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Vec<RepositoryFacts>>,
    /// The credentials in an agent's state that are in no archive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldFact>,
    /// Their bundle, when they are stored encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<SealedRef>,
    /// The snapshot of the file system that has the contents, which are in no archive then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeRef>,
}

/// The private files of a mount in one bundle, encrypted to the operator's own keys: an age file with a zstd-compressed tar in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedRef {
    /// BLAKE3 of its bytes.
    pub digest: Digest,
    /// Size in bytes.
    pub size: u64,
    /// The public keys that it was encrypted to.
    pub recipients: Vec<String>,
}

/// A private file of an agent: a credential, of which no archive has anything that can be read, or a settings file, of which
/// one has all but the secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithheldFact {
    /// Below the mount root.
    pub path: RelPath,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes; of a link that of its target.
    pub size: u64,
    /// Keyed digest of path, kind and content, by the store's own key; none when it is too large.
    pub digest: Option<Digest>,
    /// Reason that the rest is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The object when it is a regular file, with a keyed digest in the place of that of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<Recorded>,
    /// The part that is stored openly; then `digest` is that of the secrets alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsFact>,
}

/// A settings file as it is stored: with a placeholder in the place of each secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsFact {
    /// BLAKE3 of what is stored.
    pub digest: Digest,
    /// Number of stored bytes; if it is 0, nothing is stored.
    pub size: u64,
    /// The secrets that were taken out.
    pub secrets: Vec<SecretFact>,
}

impl SettingsFact {
    /// Returns the content that is stored.
    #[must_use]
    pub fn content(&self) -> Content {
        Content {
            size: self.size,
            digest: self.digest,
            method: DigestMethod::Plain,
        }
    }
}

/// One secret in a settings file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretFact {
    /// Position in the file: names of members, and numbers of elements.
    pub key: Vec<String>,
    /// Keyed digest of file, key and value.
    pub digest: Digest,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl MountRecord {
    /// Returns the contents that are stored of private files.
    pub fn private(&self) -> impl Iterator<Item = Content> {
        let settings = self.withheld.iter().filter_map(|fact| fact.settings.as_ref());
        let sealed = self.sealed.iter().map(|sealed| Content {
            size: sealed.size,
            digest: sealed.digest,
            method: DigestMethod::Plain,
        });
        settings.map(SettingsFact::content).chain(sealed)
    }

    /// Returns the paths of the private files that can be read in full only with the operator's key.
    pub fn encrypted(&self) -> impl Iterator<Item = &RelPath> {
        let facts = self.withheld.iter().filter(|_| self.sealed.is_some());
        let is_bundled = |fact: &&WithheldFact| {
            let is_file = fact
                .entry
                .as_ref()
                .is_some_and(|entry| entry.0.content().is_some());
            let settings = fact.settings.as_ref();
            is_file && settings.is_none_or(|settings| !settings.secrets.is_empty())
        };
        facts.filter(is_bundled).map(|fact| &fact.path)
    }

    /// Returns the paths whose absence from the manifest is no lack: what the coverage withholds, and private files that are stored apart
    /// from it, which rules by name found.
    #[must_use]
    pub fn agreed(&self) -> Vec<WithheldPath> {
        let is_stored =
            |fact: &&WithheldFact| fact.settings.is_some() || self.sealed.is_some() && fact.digest.is_some();
        let stored = self.withheld.iter().filter(is_stored);
        let stored = stored.map(|fact| WithheldPath {
            path: fact.path.clone(),
            reason: WithheldReason::Settings,
        });
        self.coverage.withheld.iter().cloned().chain(stored).collect()
    }

    /// Its repositories, with where it lies.
    pub fn repositories(&self) -> impl Iterator<Item = (&Coverage, &RepositoryFacts)> {
        let found = self.git.iter().flatten();
        found.map(|facts| (&self.coverage, facts))
    }
}

/// An archive that a snapshot needs, with what its bytes must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveRef {
    /// `archives/<id>.tar.zst`.
    pub id: ArchiveId,
    /// Length of the file in bytes.
    pub size: u64,
    /// BLAKE3 of the whole file.
    pub digest: Digest,
    /// BLAKE3 of the compressed index frame; the index holds the digest of every other compressed frame.
    pub index: Digest,
}

/// The whole record. Unknown fields are ignored (additive changes keep the format number).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRecord {
    /// Version of this record's form.
    pub format: u32,
    /// Its id.
    pub id: SnapshotId,
    /// The instance it belongs to.
    pub instance: InstanceId,
    /// The workspace's name, when there is one.
    pub workspace: Option<String>,
    /// Kind of the snapshot.
    pub kind: SnapshotKind,
    /// True for a closing snapshot that was taken late, because the end of the session was not observed.
    #[serde(default)]
    pub late: bool,
    /// A checkpoint's name.
    #[serde(default)]
    pub name: Option<String>,
    /// A checkpoint's message.
    #[serde(default)]
    pub message: Option<String>,
    /// Time at which the capture began.
    pub taken_at: Time,
    /// True if everything inside the coverage is held.
    pub complete: bool,
    /// Mounts in the instance's order.
    pub mounts: Vec<MountRecord>,
    /// Every archive that content or manifest chunks lie in.
    pub archives: Vec<ArchiveRef>,
    /// Program that wrote it.
    pub written_by: String,
}

impl SnapshotRecord {
    /// The newest form that this version reads: that of records whose coverage names a forgotten path.
    pub const FORMAT: u32 = 2;
    /// The form of all other records, which older programs read too.
    const WITHOUT_FORGOTTEN: u32 = 1;

    /// Returns the number of private files that can be read in full only with the operator's key.
    #[must_use]
    pub fn encrypted(&self) -> u64 {
        self.mounts
            .iter()
            .map(|mount| mount.encrypted().count() as u64)
            .sum()
    }

    /// Returns the lowest form that can express a record of these mounts.
    #[must_use]
    pub fn form_of(mounts: &[MountRecord]) -> u32 {
        let mut withheld = mounts.iter().flat_map(|mount| &mount.coverage.withheld);
        match withheld.any(|path| path.reason == WithheldReason::Forgotten) {
            true => Self::FORMAT,
            false => Self::WITHOUT_FORGOTTEN,
        }
    }

    /// Entries over all mounts.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.mounts.iter().map(|mount| mount.entries).sum()
    }

    /// Every git repository that was found, with the coverage of its mount.
    pub fn repositories(&self) -> impl Iterator<Item = (&Coverage, &RepositoryFacts)> {
        self.mounts.iter().flat_map(MountRecord::repositories)
    }

    /// Returns the number of agents' private files that no archive holds as they are.
    #[must_use]
    pub fn withheld(&self) -> u64 {
        self.mounts.iter().map(|mount| mount.withheld.len() as u64).sum()
    }

    /// The public keys that private files were encrypted to, each once.
    #[must_use]
    pub fn sealed_to(&self) -> Vec<String> {
        let sealed = self.mounts.iter().filter_map(|mount| mount.sealed.as_ref());
        let keys: BTreeSet<&String> = sealed.flat_map(|sealed| &sealed.recipients).collect();
        keys.into_iter().cloned().collect()
    }

    /// Bytes over all mounts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.mounts
            .iter()
            .map(|mount| mount.bytes)
            .fold(0, super::manifest::add_sizes)
    }
}
