//! The bytes of one file while it is read: its holes, its size, its digest.

use std::io::{self, Read};

use crate::model::{Content, DigestMethod, Hasher};
use handle_fs::{File, Stat};

/// An opened regular file with the size and the holes that it had when it was opened.
pub struct ContentSource {
    file: File,
    size: u64,
    /// Ranges of data as (offset, length); `None` if the file is dense.
    segments: Option<Vec<(u64, u64)>>,
    method: DigestMethod,
    /// The next byte to read: number of the segment and offset within it.
    at: (usize, u64),
    /// True if the file ended before its size.
    short: bool,
}

impl ContentSource {
    /// Looks for holes. `method` is the digest method of an earlier snapshot of this path, so that both digests compare; with
    /// `None`, the size decides.
    ///
    /// # Errors
    /// Error from the system.
    pub fn new(file: File, stat: &Stat, method: Option<DigestMethod>) -> io::Result<Self> {
        let mut segments = None;
        if stat.allocated < stat.size {
            let found = handle_fs::data_segments(&file, stat.size)?;
            if found != [(0, stat.size)] {
                segments = Some(found);
            }
        }
        let method = method.unwrap_or_else(|| DigestMethod::of_size(stat.size));
        Ok(Self {
            file,
            size: stat.size,
            segments,
            method,
            at: (0, 0),
            short: false,
        })
    }

    /// Returns the logical size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the ranges of data as (offset, length); `None` if all of it is data.
    #[must_use]
    pub fn segments(&self) -> Option<&[(u64, u64)]> {
        self.segments.as_deref()
    }

    /// Returns the number of data bytes.
    #[must_use]
    pub fn data_len(&self) -> u64 {
        self.segments
            .as_ref()
            .map_or(self.size, |found| found.iter().map(|(_, length)| length).sum())
    }

    /// Returns true if the file ended before its size when it was read last.
    #[must_use]
    pub fn was_short(&self) -> bool {
        self.short
    }

    /// Returns the open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Starts again at the first byte.
    pub fn rewind(&mut self) {
        self.at = (0, 0);
        self.short = false;
    }

    /// Returns a hasher that inserts the holes while it is fed the data.
    #[must_use]
    pub fn hasher(&self) -> LayoutHasher {
        LayoutHasher {
            hasher: Hasher::new(self.method, self.size),
            size: self.size,
            segments: self.segments.clone().unwrap_or_else(|| vec![(0, self.size)]),
            segment: 0,
            done: 0,
            at: 0,
        }
    }

    /// Reads everything into memory: the content, and its data without holes. For small files.
    ///
    /// # Errors
    /// Error from the system.
    pub fn load(&mut self) -> io::Result<(Content, Vec<u8>)> {
        let mut data = Vec::with_capacity(usize::try_from(self.data_len()).unwrap_or(0));
        self.read_to_end(&mut data)?;
        let mut hasher = self.hasher();
        hasher.update(&data);
        Ok((hasher.finish(), data))
    }

    /// Reads everything and returns the content's digest.
    ///
    /// # Errors
    /// Error from the system.
    pub fn digest(&mut self, mut tick: impl FnMut(u64) -> io::Result<()>) -> io::Result<Content> {
        let mut hasher = self.hasher();
        let mut buffer = vec![0; 1 << 17];
        loop {
            let count = self.read(&mut buffer)?;
            if count == 0 {
                return Ok(hasher.finish());
            }
            hasher.update(buffer.get(..count).unwrap_or_default());
            tick(count as u64)?;
        }
    }

    fn segment(&self, number: usize) -> Option<(u64, u64)> {
        match &self.segments {
            Some(segments) => segments.get(number).copied(),
            None => (number == 0).then_some((0, self.size)),
        }
    }
}

/// Returns the digest method of the earlier content if the size is the same, so that both digests compare.
pub(super) fn method_of(old: Option<&Content>, size: u64) -> Option<DigestMethod> {
    old.filter(|old| old.size == size).map(|old| old.method)
}

/// Reads the data bytes back to back. If the file became shorter, the missing bytes are zeros.
impl Read for ContentSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some((offset, length)) = self.segment(self.at.0) {
            let left = length - self.at.1;
            if left == 0 {
                self.at = (self.at.0 + 1, 0);
                continue;
            }
            let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let Some(buffer) = buffer.get_mut(..want) else {
                return Ok(0);
            };
            let mut count = self.file.read_at(buffer, offset + self.at.1)?;
            if count == 0 && want > 0 {
                self.short = true;
                buffer.fill(0);
                count = want;
            }
            self.at.1 += count as u64;
            return Ok(count);
        }
        Ok(0)
    }
}

/// Hashes logical content from its data alone.
pub struct LayoutHasher {
    hasher: Hasher,
    size: u64,
    segments: Vec<(u64, u64)>,
    segment: usize,
    /// Data bytes taken of the current segment.
    done: u64,
    /// Logical offset that the hasher has reached.
    at: u64,
}

impl LayoutHasher {
    /// Takes the next data bytes.
    pub fn update(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let Some((offset, length)) = self.segments.get(self.segment).copied() else {
                return;
            };
            if self.done == length {
                self.segment += 1;
                self.done = 0;
                continue;
            }
            self.hasher.skip_zeros(offset.saturating_sub(self.at));
            self.at = self.at.max(offset);
            let take = usize::try_from(length - self.done)
                .unwrap_or(usize::MAX)
                .min(data.len());
            let (head, tail) = data.split_at(take);
            self.hasher.update(head);
            self.done += take as u64;
            self.at += take as u64;
            data = tail;
        }
    }

    /// Returns the digest, with the hole at the end if there is one.
    #[must_use]
    pub fn finish(mut self) -> Content {
        self.hasher.skip_zeros(self.size.saturating_sub(self.at));
        self.hasher.finish()
    }
}
