//! One zstd frame: an uncompressed buffer in, compressed bytes and their digest out, and back.

use std::io;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{CParameter, find_frame_compressed_size, get_frame_content_size};

use crate::model::Digest;

/// Bit of the frame header descriptor (RFC 8878, 3.1.1.1.1) that says that a content checksum follows.
const CHECKSUM_FLAG: u8 = 4;

/// A finished frame.
pub(super) struct Packed {
    /// The frame as it is in the file.
    pub(super) bytes: Vec<u8>,
    /// BLAKE3 of `bytes`.
    pub(super) digest: Digest,
    /// Length of the content in bytes.
    pub(super) raw: usize,
}

/// Compresses `raw` as one frame with content size and checksum.
///
/// A context is made for every frame: libzstd's row-based match finders (levels 5 to 12) salt their hash tables anew
/// when a context is used again (`ZSTD_advanceHashSalt`), and then the bytes depend on what was compressed before.
pub(super) fn pack(raw: &[u8], level: i32) -> io::Result<Packed> {
    let mut context = Compressor::new(level)?;
    context.set_parameter(CParameter::ChecksumFlag(true))?;
    context.set_parameter(CParameter::ContentSizeFlag(true))?;
    let bytes = context.compress(raw)?;
    Ok(Packed {
        digest: Digest::of(&bytes),
        raw: raw.len(),
        bytes,
    })
}

/// The most bytes that an honest frame of `raw` bytes takes.
pub(super) fn packed_bound(raw: usize) -> usize {
    zstd::zstd_safe::compress_bound(raw)
}

/// Decompresses exactly one frame of exactly `raw` bytes. Reserves memory only after the frame's own header has
/// confirmed the size.
pub(super) fn unpack(bytes: &[u8], raw: u32) -> Result<Vec<u8>, &'static str> {
    Unpacker::default().unpack(bytes, raw, Vec::new())
}

/// Decompresses one frame after another, with one context for all of them.
#[derive(Default)]
pub(super) struct Unpacker(Option<Decompressor<'static>>);

impl Unpacker {
    /// Decompresses like [`unpack`], into the memory of `content`.
    pub(super) fn unpack(
        &mut self,
        bytes: &[u8],
        raw: u32,
        mut content: Vec<u8>,
    ) -> Result<Vec<u8>, &'static str> {
        let raw = usize::try_from(raw).map_err(|_| "its content does not fit into memory")?;
        if !matches!(get_frame_content_size(bytes), Ok(Some(size)) if usize::try_from(size) == Ok(raw)) {
            return Err("its content size is not that of the seek table");
        }
        if bytes
            .get(4)
            .is_none_or(|descriptor| descriptor & CHECKSUM_FLAG == 0)
        {
            return Err("it has no content checksum");
        }
        if find_frame_compressed_size(bytes) != Ok(bytes.len()) {
            return Err("it does not end where the next one begins");
        }
        content.clear();
        content
            .try_reserve_exact(raw)
            .map_err(|_| "its content does not fit into memory")?;
        let context = match &mut self.0 {
            Some(context) => context,
            none => none.insert(Decompressor::new().map_err(|_| "no memory to decompress it")?),
        };
        match context.decompress_to_buffer(bytes, &mut content) {
            Ok(length) if length == raw => Ok(content),
            Ok(_) => Err("it has less content than it says"),
            Err(_) => Err("it cannot be decompressed"),
        }
    }
}
