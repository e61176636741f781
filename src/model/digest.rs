//! BLAKE3 digests, and how the content of a file is digested.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A BLAKE3 digest, 32 bytes, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// 64 lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// Reads 64 hex digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text)
            .ok()
            .map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "BLAKE3 in hex.",
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
        })
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| D::Error::custom("not a BLAKE3 digest in hex"))
    }
}

/// Size in bytes from which content is digested by blocks.
const BLOCKS_FROM: u64 = 16 << 20;

/// Input that a content digest is computed over. It follows from the size alone: two digests of the same bytes must be equal wherever
/// holes lie and whatever was at the path before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DigestMethod {
    /// BLAKE3 over the bytes.
    Plain,
    /// BLAKE3 in key derivation mode over the size and every 4096-byte block that is not all zero, each with its
    /// number: the digest of a file with holes costs what its data costs, and does not depend on where a file
    /// system chose to put holes.
    Blocks,
}

impl DigestMethod {
    /// Returns the method for content of a file of `size` bytes. Earlier versions decided by holes, so content that an old snapshot
    /// describes may have the other one.
    #[must_use]
    pub fn of_size(size: u64) -> Self {
        match size < BLOCKS_FROM {
            true => Self::Plain,
            false => Self::Blocks,
        }
    }
}

/// The content of a regular file: how long, which digest, how it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Content {
    /// Logical size in bytes, holes included.
    pub size: u64,
    /// Digest as `method` says.
    pub digest: Digest,
    /// Input that the digest was computed over.
    pub method: DigestMethod,
}

/// Size of a block of [`DigestMethod::Blocks`] in bytes.
const BLOCK: usize = 4096;

/// Domain of [`DigestMethod::Blocks`]; part of the format.
const BLOCKS_CONTEXT: &str = "jackin-recovery 2026-11 file content by non-zero 4096-byte blocks v1";

/// Number of bytes that are hashed at once: BLAKE3 is fast on long aligned input only.
const QUEUE: usize = 128 << 10;

const ZEROS: [u8; BLOCK] = [0; BLOCK];

impl Content {
    /// Returns the content that these bytes of a file are.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let size = bytes.len() as u64;
        let mut hasher = Hasher::new(DigestMethod::of_size(size), size);
        hasher.update(bytes);
        hasher.finish()
    }

    /// Returns true if these are its bytes.
    #[must_use]
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        let mut hasher = Hasher::new(self.method, self.size);
        bytes.len() as u64 == self.size && {
            hasher.update(bytes);
            hasher.finish() == *self
        }
    }
}

/// Takes a content digest while the bytes go by.
pub struct Hasher {
    inner: blake3::Hasher,
    method: DigestMethod,
    /// Bytes to hash next ([`DigestMethod::Blocks`] only).
    queue: Vec<u8>,
    /// Bytes since the last block boundary ([`DigestMethod::Blocks`] only).
    partial: Vec<u8>,
    /// Number of the block that `partial` begins.
    block: u64,
    length: u64,
}

impl Hasher {
    /// A hasher for content of `size` bytes (the size is part of the digest of [`DigestMethod::Blocks`]).
    #[must_use]
    pub fn new(method: DigestMethod, size: u64) -> Self {
        let (inner, queue) = match method {
            DigestMethod::Plain => (blake3::Hasher::new(), Vec::new()),
            DigestMethod::Blocks => (
                blake3::Hasher::new_derive_key(BLOCKS_CONTEXT),
                size.to_le_bytes().to_vec(),
            ),
        };
        Self {
            inner,
            method,
            queue,
            partial: Vec::new(),
            block: 0,
            length: 0,
        }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.method == DigestMethod::Plain {
            self.inner.update(bytes);
            return;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.partial.is_empty() && rest.len() >= BLOCK {
                let (block, tail) = rest.split_at(BLOCK);
                self.block(block);
                rest = tail;
                continue;
            }
            let take = rest.len().min(BLOCK - self.partial.len());
            let (head, tail) = rest.split_at(take);
            self.partial.extend_from_slice(head);
            rest = tail;
            if self.partial.len() == BLOCK {
                self.partial_block();
            }
        }
    }

    /// Says that the next `count` bytes are zero, without their being passed.
    pub fn skip_zeros(&mut self, count: u64) {
        let mut left = count;
        if self.method == DigestMethod::Blocks && self.partial.is_empty() {
            let whole = left / BLOCK as u64;
            self.block += whole;
            self.length += whole * BLOCK as u64;
            left -= whole * BLOCK as u64;
        }
        while left > 0 {
            // Nothing waits for the rest of a block in the other method.
            let missing = BLOCK - self.partial.len();
            let take = usize::try_from(left).unwrap_or(usize::MAX).min(missing);
            if let Some(zeros) = ZEROS.get(..take) {
                self.update(zeros);
            }
            left -= take as u64;
            if self.method == DigestMethod::Blocks && self.partial.is_empty() && left >= BLOCK as u64 {
                return self.skip_zeros(left);
            }
        }
    }

    /// The content seen so far.
    #[must_use]
    pub fn finish(mut self) -> Content {
        if !self.partial.is_empty() {
            self.partial_block();
        }
        self.inner.update(&self.queue);
        Content {
            size: self.length,
            digest: Digest(*self.inner.finalize().as_bytes()),
            method: self.method,
        }
    }

    fn partial_block(&mut self) {
        let mut partial = std::mem::take(&mut self.partial);
        self.block(&partial);
        partial.clear();
        self.partial = partial;
    }

    fn block(&mut self, bytes: &[u8]) {
        if Some(bytes) != ZEROS.get(..bytes.len()) {
            self.queue.extend_from_slice(&self.block.to_le_bytes());
            self.queue.extend_from_slice(bytes);
        }
        self.block += 1;
        if let Some(ready) = self.queue.get(..QUEUE) {
            self.inner.update(ready);
            self.queue.drain(..QUEUE);
        }
    }
}
