//! Cache of the frames that were decompressed last, and of the memory of earlier ones: a new buffer for each frame costs the kernel
//! as much as a third of the decompression.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::frame::Unpacker;

/// Largest frame or buffer that is kept, in bytes.
const LARGEST: usize = 8 << 20;

/// The frames of one archive that were used last. One reader's own, shared by all of an archive, or a part of those of several
/// archives.
pub(super) struct FrameCache {
    most: usize,
    /// Number of the archive among those that share the frames.
    archive: usize,
    shelf: Arc<Mutex<Shelf>>,
}

/// Bound for the frames that several archives keep in memory together. Copies share it.
#[derive(Clone)]
pub struct SharedFrames {
    most: usize,
    shelf: Arc<Mutex<Shelf>>,
    archives: Arc<AtomicUsize>,
}

impl std::fmt::Debug for SharedFrames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedFrames").field(&self.most).finish()
    }
}

impl SharedFrames {
    /// Keeps so many frames, of about 1 MiB each.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            shelf: Arc::default(),
            archives: Arc::default(),
        }
    }

    /// Returns the cache of one more archive.
    pub(super) fn of_archive(&self) -> FrameCache {
        FrameCache {
            most: self.most,
            archive: self.archives.fetch_add(1, Ordering::Relaxed),
            shelf: Arc::clone(&self.shelf),
        }
    }
}

/// Decompressor with reusable buffers.
#[derive(Default)]
pub(super) struct DecoderPool {
    pub(super) unpacker: Unpacker,
    /// Takes the compressed frame.
    pub(super) packed: Vec<u8>,
    /// Takes its content.
    pub(super) content: Vec<u8>,
}

/// A frame by archive and number, and its content.
type KeptFrame = ((usize, usize), Arc<Vec<u8>>);

#[derive(Default)]
struct Shelf {
    /// The frame used last stands in front.
    frames: Vec<KeptFrame>,
    tools: Option<DecoderPool>,
}

impl FrameCache {
    /// Keeps so many frames.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            archive: 0,
            shelf: Arc::default(),
        }
    }

    /// The content of a frame, when it is kept.
    pub(super) fn find(&self, number: usize) -> Option<Arc<Vec<u8>>> {
        let frames = &mut self.shelf().frames;
        let wanted = (self.archive, number);
        let place = frames.iter().position(|(held, _)| *held == wanted)?;
        frames.get_mut(..=place)?.rotate_right(1);
        frames.first().map(|(_, content)| Arc::clone(content))
    }

    /// Something to decompress one more frame with: the memory of the one that would have to go.
    pub(super) fn tools(&self) -> DecoderPool {
        let mut shelf = self.shelf();
        let mut tools = shelf.tools.take().unwrap_or_default();
        while shelf.frames.len() >= self.most {
            // Somebody may still read in it.
            let last = shelf.frames.pop().and_then(|(_, last)| Arc::into_inner(last));
            tools.content = last.unwrap_or_default();
        }
        tools
    }

    /// Keeps the content of a frame, and what it was decompressed with.
    pub(super) fn put(&self, number: usize, content: Vec<u8>, mut tools: DecoderPool) -> Arc<Vec<u8>> {
        let content = Arc::new(content);
        if tools.packed.capacity() > LARGEST {
            tools.packed = Vec::new();
        }
        let mut shelf = self.shelf();
        shelf.tools = Some(tools);
        if content.capacity() <= LARGEST {
            shelf
                .frames
                .insert(0, ((self.archive, number), Arc::clone(&content)));
            // Others may have put theirs meanwhile.
            shelf.frames.truncate(self.most);
        }
        content
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{FrameCache, SharedFrames};

    fn numbers(kept: &FrameCache) -> Vec<usize> {
        kept.shelf()
            .frames
            .iter()
            .map(|((_, number), _)| *number)
            .collect()
    }

    #[test]
    fn the_frames_used_last_stay_and_their_memory_is_used_again() {
        let kept = FrameCache::new(2);
        for number in 0..2 {
            let tools = kept.tools();
            assert_eq!(tools.content.capacity(), 0, "nothing had to go yet");
            drop(kept.put(number, Vec::with_capacity(100 + number), tools));
        }
        assert!(kept.find(0).is_some() && kept.find(7).is_none());
        assert_eq!(numbers(&kept), [0, 1]);
        let tools = kept.tools();
        assert_eq!(
            tools.content.capacity(),
            101,
            "that of the frame that was used longest ago"
        );
        drop(kept.put(2, vec![2], tools));
        assert_eq!(numbers(&kept), [2, 0]);
    }

    #[test]
    fn archives_that_share_a_bound_do_not_see_each_other() {
        let shared = SharedFrames::new(2);
        let (one, other) = (shared.of_archive(), shared.of_archive());
        for (cache, content) in [(&one, 1), (&other, 2)] {
            drop(cache.put(7, vec![content], cache.tools()));
        }
        assert_eq!(one.find(7).map(|frame| frame[0]), Some(1));
        assert_eq!(other.find(7).map(|frame| frame[0]), Some(2));
        drop(other.put(8, vec![3], other.tools()));
        assert_eq!(one.find(7), None, "the bound is for all of them");
    }

    #[test]
    fn what_is_read_still_is_not_overwritten_and_what_is_large_not_kept() {
        let kept = FrameCache::new(1);
        let read = kept.put(0, vec![1; 10], kept.tools());
        let tools = kept.tools();
        assert_eq!(tools.content.capacity(), 0);
        assert_eq!(*read, [1; 10]);
        let large = kept.put(1, vec![1; super::LARGEST + 1], tools);
        assert_eq!((Arc::strong_count(&large), numbers(&kept).len()), (1, 0));
    }
}
