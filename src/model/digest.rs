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

/// Input that a content digest is computed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DigestMethod {
    /// BLAKE3 over the bytes.
    Plain,
    /// BLAKE3 in key derivation mode over the size and every 4096-byte block that is not all zero, each with its
    /// number: the digest of a file with holes costs what its data costs, and does not depend on where a file
    /// system chose to put holes.
    Blocks,
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

impl Content {
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
        let inner = match method {
            DigestMethod::Plain => blake3::Hasher::new(),
            DigestMethod::Blocks => {
                let mut inner = blake3::Hasher::new_derive_key(BLOCKS_CONTEXT);
                inner.update(&size.to_le_bytes());
                inner
            }
        };
        Self {
            inner,
            method,
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
                Self::block(&mut self.inner, self.block, block);
                self.block += 1;
                rest = tail;
                continue;
            }
            let take = rest.len().min(BLOCK - self.partial.len());
            let (head, tail) = rest.split_at(take);
            self.partial.extend_from_slice(head);
            rest = tail;
            if self.partial.len() == BLOCK {
                Self::block(&mut self.inner, self.block, &self.partial);
                self.block += 1;
                self.partial.clear();
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
        const ZEROS: [u8; BLOCK] = [0; BLOCK];
        while left > 0 {
            let missing = if self.partial.is_empty() {
                BLOCK
            } else {
                BLOCK - self.partial.len()
            };
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
            Self::block(&mut self.inner, self.block, &self.partial);
        }
        Content {
            size: self.length,
            digest: Digest(*self.inner.finalize().as_bytes()),
            method: self.method,
        }
    }

    fn block(inner: &mut blake3::Hasher, number: u64, bytes: &[u8]) {
        if bytes.iter().any(|b| *b != 0) {
            inner.update(&number.to_le_bytes());
            inner.update(bytes);
        }
    }
}
