//! The seek table of the zstd seekable format
//! (<https://github.com/facebook/zstd/blob/dev/contrib/seekable_format/zstd_seekable_compression_format.md>), written
//! and read by hand: the C loader trusts the number of frames (zstd issues 4685 and 4717).

const SKIPPABLE_MAGIC: u32 = 0x184D_2A5E;
const SEEKABLE_MAGIC: u32 = 0x8F92_EAB1;

/// Magic and size of the skippable frame.
const HEAD: u64 = 8;
/// Compressed and decompressed size of one frame.
const ENTRY: u64 = 8;
/// Number of frames, descriptor, magic.
pub(super) const FOOTER: usize = 9;
/// No frame that has content is shorter: magic, descriptor, a size, a block header, a byte, a checksum.
const SHORTEST_FRAME: u64 = 12;

/// So many frames a seek table can describe: its own size is a 32-bit number.
pub(super) const MAX_FRAMES: u32 = (u32::MAX - 9) / 8;

/// A compressed frame may hold so much content, except the index.
pub(super) const MAX_FRAME: u32 = 256 << 20;
/// The index frame may hold so much.
pub(super) const MAX_INDEX_FRAME: u32 = 2 << 30;

/// Compressed and decompressed size of a frame in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) packed: u32,
    pub(super) raw: u32,
}

/// The whole skippable frame.
pub(super) fn encode(frames: &[Sizes]) -> Option<Vec<u8>> {
    let count = u32::try_from(frames.len())
        .ok()
        .filter(|count| *count <= MAX_FRAMES)?;
    let mut out = Vec::new();
    out.extend_from_slice(&SKIPPABLE_MAGIC.to_le_bytes());
    out.extend_from_slice(&(count * 8 + 9).to_le_bytes());
    for sizes in frames {
        out.extend_from_slice(&sizes.packed.to_le_bytes());
        out.extend_from_slice(&sizes.raw.to_le_bytes());
    }
    out.extend_from_slice(&count.to_le_bytes());
    out.push(0);
    out.extend_from_slice(&SEEKABLE_MAGIC.to_le_bytes());
    Some(out)
}

/// Length in bytes of the table whose footer this is, in a file of `file` bytes. Never more than the file.
pub(super) fn length(footer: [u8; FOOTER], file: u64) -> Result<u64, &'static str> {
    let [n0, n1, n2, n3, descriptor, magic @ ..] = footer;
    if u32::from_le_bytes(magic) != SEEKABLE_MAGIC {
        return Err("there is none at the end of the file");
    }
    if descriptor != 0 {
        return Err("its descriptor is not 0");
    }
    let count = u64::from(u32::from_le_bytes([n0, n1, n2, n3]));
    let length = HEAD + count * ENTRY + FOOTER as u64;
    if count == 0 || count > file / SHORTEST_FRAME || length > file {
        return Err("it names more frames than the file can hold");
    }
    Ok(length)
}

/// Reads a whole table of [`length`] bytes that ends a file of `file` bytes.
pub(super) fn decode(table: &[u8], file: u64) -> Result<Vec<Sizes>, &'static str> {
    let (head, rest) = table.split_first_chunk::<8>().ok_or("it ends too early")?;
    let (entries, _) = rest.split_last_chunk::<FOOTER>().ok_or("it ends too early")?;
    let [m0, m1, m2, m3, size @ ..] = *head;
    if u32::from_le_bytes([m0, m1, m2, m3]) != SKIPPABLE_MAGIC {
        return Err("it does not begin where its length says");
    }
    if usize::try_from(u32::from_le_bytes(size)) != Ok(rest.len()) {
        return Err("its size and its number of frames do not agree");
    }
    let (pairs, odd) = entries.as_chunks::<8>();
    let frames: Vec<Sizes> = pairs
        .iter()
        .map(|[p0, p1, p2, p3, raw @ ..]| Sizes {
            packed: u32::from_le_bytes([*p0, *p1, *p2, *p3]),
            raw: u32::from_le_bytes(*raw),
        })
        .collect();
    let sum: u64 = frames.iter().map(|sizes| u64::from(sizes.packed)).sum();
    if !odd.is_empty() || sum + table.len() as u64 != file {
        return Err("the sizes of its frames do not add up to the file");
    }
    for (number, sizes) in frames.iter().enumerate() {
        let limit = if number + 1 == frames.len() {
            MAX_INDEX_FRAME
        } else {
            MAX_FRAME
        };
        if sizes.raw == 0 || sizes.raw > limit {
            return Err("a frame has no content, or more than a frame may have");
        }
        let most = super::frame::packed_bound(usize::try_from(sizes.raw).unwrap_or(usize::MAX));
        if u64::from(sizes.packed) < SHORTEST_FRAME || u64::from(sizes.packed) > most as u64 {
            return Err("a frame is longer or shorter than its content allows");
        }
    }
    Ok(frames)
}
