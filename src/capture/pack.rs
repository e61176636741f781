//! Stores what a scan finds: content that no known archive holds goes into the draft's archive, once.

use std::collections::{HashMap, HashSet};
use std::io;

use super::CaptureError;
use super::contents::{Failure, Sink};
use super::readahead::{IN_MEMORY, Loaded};
use super::repositories::Settled;
use super::source::{ContentSource, LayoutHasher};
use foldhash::fast::RandomState;

use crate::model::{ArchiveId, ArchiveRef, Content, Digest, Entry, RelPath};
use crate::observer::Observer;
use crate::store::archive::{BlobKind, LEVEL, Segment, Stored, Writer};
use crate::store::{Blobs, Draft};
use handle_fs::File;

/// Digest of the bytes, and number of owner and mode. If both agree, tar can unpack the files as one.
type Twin = (Digest, u16);

/// Writes the archive of one capture.
pub(super) struct Packer<'a> {
    draft: &'a Draft,
    id: ArchiveId,
    known: &'a Blobs,
    /// Content of the current mount that commits hold, if any.
    settled: Option<&'a Settled>,
    observer: &'a dyn Observer,
    writer: Option<Writer<File>>,
    /// True if every entry becomes a member, without relying on older archives.
    whole: bool,
    members: HashMap<Twin, Member, RandomState>,
    /// Mode, owner and group, each with its number in [`Twin`].
    owners: HashMap<(u32, u32, u32), u16>,
    places: Places,
    /// Sizes of the large contents that are stored, here or in an older archive; filled when the first one comes.
    large: Option<HashSet<u64>>,
    /// Member written last; the same path comes again if its file changed while it was read.
    last: Option<(Member, Twin)>,
}

impl<'a> Packer<'a> {
    pub(super) fn new(draft: &'a Draft, id: ArchiveId, known: &'a Blobs, observer: &'a dyn Observer) -> Self {
        Self {
            draft,
            id,
            known,
            settled: None,
            observer,
            writer: None,
            whole: known.is_empty(),
            members: HashMap::default(),
            owners: HashMap::new(),
            places: Places::default(),
            large: None,
            last: None,
        }
    }

    /// Returns the contents of older archives.
    pub(super) fn known(&self) -> &'a Blobs {
        self.known
    }

    /// Starts the mount with this label; all that follows belongs to it.
    pub(super) fn mount(&mut self, label: &str, settled: Option<&'a Settled>) {
        self.places.labels.push(label.to_owned());
        self.settled = settled;
    }

    /// Returns true if this archive already holds `digest`.
    pub(super) fn holds(&self, digest: &Digest) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.holds(digest))
    }

    /// Returns true if content was stored, but not a member for every entry.
    pub(super) fn is_partial(&self) -> bool {
        self.writer.is_some() && !self.whole
    }

    /// Stores a chunk or a list, unless it is known.
    pub(super) fn blob(&mut self, kind: BlobKind, digest: Digest, bytes: &[u8]) -> Result<(), CaptureError> {
        if self.holds(&digest) || self.known.contains(&digest) {
            return Ok(());
        }
        Ok(self.writer()?.blob(kind, digest, bytes)?)
    }

    /// Returns the sizes of all large stored contents. They are those of whole files, holes included.
    fn large(&mut self) -> &mut HashSet<u64> {
        let known = self.known;
        self.large
            .get_or_insert_with(|| known.sizes().filter(|size| *size > IN_MEMORY).collect())
    }

    /// Ends the archive and publishes it; `None` if there was nothing to store.
    pub(super) fn finish(self) -> Result<Option<ArchiveRef>, CaptureError> {
        let Some(writer) = self.writer else {
            return Ok(None);
        };
        // The index is made in memory now; what is not needed for it makes room.
        drop((self.members, self.places));
        let (_, finished) = writer.finish()?;
        self.draft.publish_archive(&self.id)?;
        Ok(Some(ArchiveRef {
            id: self.id,
            size: finished.size,
            digest: finished.digest,
            index: finished.index,
        }))
    }

    fn writer(&mut self) -> Result<&mut Writer<File>, CaptureError> {
        if self.writer.is_none() {
            let file = self.draft.archive_file(&self.id)?;
            self.writer = Some(Writer::new(file, LEVEL));
        }
        self.writer
            .as_mut()
            .ok_or(CaptureError::Write(io::ErrorKind::NotFound.into()))
    }

    /// Returns the key of a twin; `None` if there are too many owners and modes to number them.
    fn twin(&mut self, entry: &Entry, digest: Digest) -> Option<Twin> {
        let next = u16::try_from(self.owners.len()).ok();
        let owner = (entry.mode, entry.uid, entry.gid);
        let number = match (self.owners.get(&owner), next) {
            (Some(number), _) => *number,
            (None, Some(next)) => *self.owners.entry(owner).or_insert(next),
            (None, None) => return None,
        };
        Some((digest, number))
    }

    /// Returns true if content is stored already, here or in an older archive. Writes a hard link if the archive needs one.
    fn is_stored(&mut self, path: &RelPath, entry: &Entry, digest: Digest) -> Result<bool, CaptureError> {
        let twin = self.twin(entry, digest);
        self.forget(path, twin);
        if self.settled.is_some_and(|settled| settled.has(path, &digest)) {
            return Ok(true);
        }
        if let Some(first) = twin.and_then(|twin| self.members.get(&twin).copied()) {
            let (label, target) = self.places.get(first);
            if label != self.places.label() || target != path.as_bytes() {
                let (label, target) = (label.to_owned(), RelPath::new(target));
                let target = target.map_err(|error| CaptureError::Write(io::Error::other(error)))?;
                let own = self.places.label().to_owned();
                self.writer()?.hard_link(&own, path, entry, (&label, &target))?;
            }
            return Ok(true);
        }
        Ok(self.known.contains(&digest) || (!self.whole && self.holds(&digest)))
    }

    /// Forgets the last member if its file changed while it was read. Nothing may become a link to that member, which is
    /// overwritten when the archive is unpacked.
    fn forget(&mut self, path: &RelPath, now: Option<Twin>) {
        if let Some((member, old)) = self.last
            && Some(old) != now
            && self.places.get(member) == (self.places.label(), path.as_bytes())
        {
            self.last = None;
            self.members.remove(&old);
        }
    }

    /// Adds the content to the index and remembers its member.
    fn stored(
        &mut self,
        path: &RelPath,
        entry: &Entry,
        stored: Stored,
        content: Content,
    ) -> Result<(), CaptureError> {
        self.writer()?.index(stored, content.digest);
        // Also what is large because of its holes alone: a twin without any is read by itself.
        if content.size > IN_MEMORY {
            self.large().insert(content.size);
        }
        let twin = self.twin(entry, content.digest);
        self.forget(path, twin);
        if let Some((twin, member)) = twin.zip(self.places.add(path)) {
            self.last = Some((member, twin));
            self.members.insert(twin, member);
        }
        Ok(())
    }
}

impl Sink for Packer<'_> {
    fn root(&mut self, root: &Entry) -> Result<(), CaptureError> {
        if self.whole {
            let label = self.places.label().to_owned();
            self.writer()?.member(&label, &RelPath::root(), root)?;
        }
        Ok(())
    }

    fn wants_objects(&self) -> bool {
        self.whole
    }

    fn object(&mut self, path: &RelPath, entry: &Entry) -> Result<(), CaptureError> {
        // What an entry with content needs is in an older archive.
        if entry.content().is_none_or(|content| content.size == 0) {
            let label = self.places.label().to_owned();
            self.writer()?.member(&label, path, entry)?;
        }
        Ok(())
    }

    fn file(
        &mut self,
        path: &RelPath,
        entry: &Entry,
        source: &mut ContentSource,
    ) -> Result<Content, Failure> {
        if source.data_len() <= IN_MEMORY {
            let (content, data) = source.load().map_err(Failure::Source)?;
            self.small(path, entry, &data, content, source.segments())
                .map_err(Failure::Fatal)?;
            return Ok(content);
        }
        let observer = self.observer;
        // Only what has the size of something that is stored, or what a commit has, can be the same: the rest is read once.
        let is_settled = self.settled.is_some_and(|settled| settled.may_have(path));
        if is_settled || self.large().contains(&source.size()) {
            let cancelled = || match observer.cancelled() {
                true => Err(io::Error::other("interrupted")),
                false => Ok(()),
            };
            let content = match source.digest(|_| cancelled()) {
                Ok(content) => content,
                Err(_) if observer.cancelled() => return Err(Failure::Fatal(CaptureError::Interrupted)),
                Err(error) => return Err(Failure::Source(error)),
            };
            if self
                .is_stored(path, entry, content.digest)
                .map_err(Failure::Fatal)?
            {
                observer.advance(0, content.size);
                return Ok(content);
            }
            // What is stored counts, not what was there a moment ago: the second pass is hashed again.
            source.rewind();
        }
        let mut hashed = Hashed {
            hasher: source.hasher(),
            source,
            observer,
        };
        let label = self.places.label().to_owned();
        let segments = hashed.source.segments().map(segments);
        let writer = self.writer().map_err(Failure::Fatal)?;
        let mut stored = writer
            .file(&label, path, entry, segments.as_deref(), &mut hashed)
            .map_err(|error| Failure::Fatal(error.into()))?;
        if observer.cancelled() {
            return Err(Failure::Fatal(CaptureError::Interrupted));
        }
        if let Some(error) = stored.error.take() {
            return Err(Failure::Source(error));
        }
        let content = hashed.hasher.finish();
        self.stored(path, entry, stored, content)
            .map_err(Failure::Fatal)?;
        Ok(content)
    }

    fn keeps_data(&self) -> bool {
        true
    }

    fn loaded(&mut self, path: &RelPath, entry: &Entry, file: &Loaded) -> Result<(), CaptureError> {
        self.small(path, entry, &file.data, file.content, None)
    }

    fn hard_link(&mut self, path: &RelPath, entry: &Entry, first: &RelPath) -> Result<(), CaptureError> {
        let Some(content) = entry.content() else {
            return Ok(());
        };
        if content.size == 0 {
            return match self.whole {
                true => self.object(path, entry),
                false => Ok(()),
            };
        }
        let known = self
            .twin(entry, content.digest)
            .and_then(|twin| self.members.get(&twin));
        let there =
            known.is_some_and(|known| self.places.get(*known) == (self.places.label(), first.as_bytes()));
        if self.whole || there {
            self.is_stored(path, entry, content.digest)?;
        }
        Ok(())
    }
}

impl Packer<'_> {
    /// Stores a file whose data is in memory.
    fn small(
        &mut self,
        path: &RelPath,
        entry: &Entry,
        mut data: &[u8],
        content: Content,
        holes: Option<&[(u64, u64)]>,
    ) -> Result<(), CaptureError> {
        self.observer.advance(0, content.size);
        if content.size == 0 {
            self.forget(path, None);
            return match self.whole {
                true => self.object(path, entry),
                false => Ok(()),
            };
        }
        if self.is_stored(path, entry, content.digest)? {
            return Ok(());
        }
        let label = self.places.label().to_owned();
        let segments = holes.map(segments);
        let stored = self
            .writer()?
            .file(&label, path, entry, segments.as_deref(), &mut data)?;
        self.stored(path, entry, stored, content)
    }
}

fn segments(segments: &[(u64, u64)]) -> Vec<Segment> {
    let segment = |(offset, length): &(u64, u64)| Segment {
        offset: *offset,
        length: *length,
    };
    segments.iter().map(segment).collect()
}

/// Offset of a path in [`Places`].
type Member = u32;

/// Paths of members with their mounts, one behind the other. A million of them take a fifth of the memory that as many strings
/// would.
#[derive(Default)]
struct Places {
    /// For each path the number of its label and its length (four bytes each), and its bytes.
    bytes: Vec<u8>,
    labels: Vec<String>,
}

impl Places {
    /// Returns the label of the mount that is being packed, the last one.
    fn label(&self) -> &str {
        self.labels.last().map_or("", String::as_str)
    }

    /// Adds a path in the last mount. `None` if there is no room for more.
    fn add(&mut self, path: &RelPath) -> Option<Member> {
        let at = Member::try_from(self.bytes.len()).ok()?;
        let mount = u32::try_from(self.labels.len()).ok()?.checked_sub(1)?;
        let length = u32::try_from(path.as_bytes().len()).ok()?;
        self.bytes.extend_from_slice(&mount.to_le_bytes());
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(path.as_bytes());
        Some(at)
    }

    /// Returns label and path; both are empty for a path that was never added.
    fn get(&self, member: Member) -> (&str, &[u8]) {
        let found = || {
            let bytes = self.bytes.get(usize::try_from(member).ok()?..)?;
            let (mount, rest) = bytes.split_first_chunk()?;
            let (length, rest) = rest.split_first_chunk()?;
            let label = self
                .labels
                .get(usize::try_from(u32::from_le_bytes(*mount)).ok()?)?;
            let path = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
            Some((label.as_str(), path))
        };
        found().unwrap_or_default()
    }
}

/// Reader that hashes what it passes to the archive, so that the digest is that of the stored bytes.
struct Hashed<'a> {
    source: &'a mut ContentSource,
    hasher: LayoutHasher,
    observer: &'a dyn Observer,
}

impl io::Read for Hashed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.observer.cancelled() {
            return Err(io::Error::other("interrupted"));
        }
        let count = self.source.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        self.observer.advance(0, count as u64);
        Ok(count)
    }
}
