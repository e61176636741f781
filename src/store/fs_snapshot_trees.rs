//! Content that no archive holds, because a snapshot of the file system has it, which is kept for that.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use foldhash::fast::RandomState;

use super::StoreError;
use super::archive::Piece;
use super::archive_blobs::ArchiveBlobs;
use crate::model::{Content, Digest, Manifest, RelPath, SnapshotRecord, Time};
use handle_fs::File;
use handle_fs::remote::Transports;
use handle_fs::{MountError, NodeKind, Root, Wanted};

/// So much is read at once (bytes).
const ROOM: usize = 1 << 20;
/// Maximum size in bytes of a file that is read together with others.
const SMALL: u64 = 256 << 10;
/// Number of bytes after which no further file is added to those that are read together.
const TOGETHER: u64 = 2 << 20;

/// All mounts of a snapshot whose contents are there.
#[derive(Default)]
pub(super) struct KeptTrees(Vec<KeptTree>);

/// One of them.
struct KeptTree {
    directory: PathBuf,
    transports: Transports,
    manifest: Manifest,
    places: OnceLock<HashMap<Digest, RelPath, RandomState>>,
    /// The contents whose files its directories list.
    listed: OnceLock<HashSet<Digest, RandomState>>,
    /// `Err`: why it cannot be opened.
    root: OnceLock<Result<Root, MountError>>,
}

impl KeptTrees {
    /// Collects the file-system snapshots of a snapshot. Skips one whose manifest is unreadable: no content can be requested from
    /// it.
    pub(super) fn of(record: &SnapshotRecord, blobs: &ArchiveBlobs) -> Self {
        let kept = record.mounts.iter().filter_map(|mount| {
            let native = mount.native.as_ref()?;
            Some(KeptTree {
                directory: native.inner.on_host(&native.place.directory()),
                transports: blobs.transports().clone(),
                manifest: blobs.manifest(mount.manifest.as_ref()?).ok()?,
                places: OnceLock::new(),
                listed: OnceLock::new(),
                root: OnceLock::new(),
            })
        });
        Self(kept.collect())
    }

    /// Returns true if the content should be in one of them.
    pub(super) fn shows(&self, digest: &Digest) -> bool {
        self.0.iter().any(|tree| tree.places().contains_key(digest))
    }

    /// Returns true if one of them lists a file that should have the content.
    pub(super) fn have(&self, digest: &Digest) -> bool {
        self.0.iter().any(|tree| tree.lists(digest))
    }

    /// Returns true if no mount has any.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads small content that is on other machines with few requests. Lacks what has to be read by itself. The caller compares
    /// what was read with the digest.
    pub(super) fn load<'c>(&self, wanted: impl Iterator<Item = &'c Content>) -> HashMap<Digest, Vec<u8>> {
        let wanted: Vec<&Content> = wanted.filter(|content| content.size <= SMALL).collect();
        let mut loaded = HashMap::new();
        for tree in &self.0 {
            tree.load(&wanted, &mut loaded);
        }
        loaded
    }

    /// Returns a message for content that should be in one of them; `None` for other content.
    pub(super) fn lost(&self, digest: &Digest) -> Option<String> {
        let tree = self.0.iter().find(|tree| tree.places().contains_key(digest))?;
        let directory = tree.directory.display();
        Some(match tree.root() {
            Ok(_) => format!("the file-system snapshot {directory} no longer has it"),
            Err(MountError::Missing { .. }) => format!("the file-system snapshot {directory} is missing"),
            Err(error) => format!("the file-system snapshot cannot be read: {error}"),
        })
    }

    /// The file that has the content, and its size. What is read of it has to be compared with the digest.
    pub(super) fn open(&self, digest: &Digest) -> Option<(File, u64)> {
        self.0.iter().find_map(|tree| {
            let path = tree.places().get(digest)?;
            let (parent, name) = path.split()?;
            let (file, stat) = tree
                .root()
                .as_ref()
                .ok()?
                .dir(&parent)
                .ok()?
                .file(name.as_os_str())
                .ok()?;
            Some((file, stat.size))
        })
    }

    /// Passes the content to `each`, piece by piece.
    pub(super) fn stream(
        &self,
        digest: &Digest,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        let fail = |reason: String| StoreError::Content {
            digest: *digest,
            reason,
        };
        let Some((file, size)) = self.open(digest) else {
            return Err(fail(self.lost(digest).unwrap_or_default()));
        };
        let read = |each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>| -> std::io::Result<()> {
            let mut room = vec![0; ROOM];
            let mut at = 0;
            for (start, length) in handle_fs::data_segments(&file, size)? {
                if start > at {
                    each(Piece::Hole(start - at))?;
                }
                let end = start + length;
                at = start;
                while at < end {
                    let want = usize::try_from(end - at).unwrap_or(ROOM).min(ROOM);
                    let part = room.get_mut(..want).unwrap_or_default();
                    file.read_exact_at(part, at)?;
                    each(Piece::Data(part))?;
                    at += want as u64;
                }
            }
            match size > at {
                true => each(Piece::Hole(size - at)),
                false => Ok(()),
            }
        };
        read(each).map_err(|error| fail(error.to_string()))
    }
}

impl KeptTree {
    fn places(&self) -> &HashMap<Digest, RelPath, RandomState> {
        self.places.get_or_init(|| {
            let files = self.manifest.entries();
            let contents = files.filter_map(|(path, entry)| Some((entry.content()?.digest, path)));
            contents.collect()
        })
    }

    /// Returns true if the file of the content is listed. Each directory is listed once, which takes less than to open each file.
    fn lists(&self, digest: &Digest) -> bool {
        let listed = || {
            let mut places: BTreeMap<&[u8], HashMap<&[u8], Digest>> = BTreeMap::new();
            for (digest, path) in self.places() {
                let (parent, name) = path.halves();
                places.entry(parent).or_default().insert(name, *digest);
            }
            let mut listed = HashSet::default();
            for (parent, names) in places {
                let directory = RelPath::new(parent).ok();
                let looked = directory.and_then(|path| self.root().as_ref().ok()?.look_below(&path).ok());
                let children = looked.and_then(|(_, _, looked)| Some(looked.ok()?.children));
                listed.extend(children.into_iter().flatten().filter_map(|(name, stat)| {
                    let is_file = stat.is_ok_and(|stat| stat.kind == NodeKind::File);
                    names.get(name.as_slice()).filter(|_| is_file).copied()
                }));
            }
            listed
        };
        self.places().contains_key(digest) && self.listed.get_or_init(listed).contains(digest)
    }

    fn far(&self) -> Option<&Root> {
        self.root().as_ref().ok().filter(|root| root.is_far())
    }

    /// Reads what is wanted and not loaded yet, as long as it has no more than about [`TOGETHER`] bytes. The rest is read by itself.
    fn load(&self, wanted: &[&Content], loaded: &mut HashMap<Digest, Vec<u8>>) {
        let mut parts: BTreeMap<&[u8], Vec<(&[u8], &Content)>> = BTreeMap::new();
        let mut bytes = 0;
        for content in wanted {
            if !loaded.contains_key(&content.digest)
                && bytes < TOGETHER
                && let Some(path) = self.places().get(&content.digest)
            {
                let (parent, name) = path.halves();
                parts.entry(parent).or_default().push((name, content));
                bytes += content.size;
            }
        }
        let Some(root) = self.far().filter(|_| !parts.is_empty()) else {
            return;
        };
        let mut asked: Vec<(&Path, Vec<Wanted<'_>>)> = Vec::with_capacity(parts.len());
        for (parent, files) in &parts {
            let files = files.iter().map(|(name, content)| Wanted {
                name: OsStr::from_bytes(name),
                size: content.size,
                last: Time::default(),
                write_back: false,
            });
            asked.push((Path::new(OsStr::from_bytes(parent)), files.collect()));
        }
        let told = root.load(&asked);
        for (files, told) in parts.into_values().zip(told.unwrap_or_default()) {
            for ((_, content), file) in files.into_iter().zip(told.unwrap_or_default()) {
                if let Ok(file) = file
                    && (file.stat.kind, file.dense, file.data.len() as u64)
                        == (NodeKind::File, true, content.size)
                {
                    loaded.insert(content.digest, file.data);
                }
            }
        }
    }

    fn root(&self) -> &Result<Root, MountError> {
        self.root
            .get_or_init(|| Root::open(&self.transports, &self.directory))
    }
}
