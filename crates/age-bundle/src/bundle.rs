//! Writes and opens a bundle.

use std::io::{self, Cursor, Read, Write};

use crate::paths::{self, PathError};
use crate::{Identities, OpenError, Recipients, SealError, SealedFile};

/// Strong enough for small text files, and its window stays far below `WINDOW_LOG`.
const LEVEL: i32 = 3;
/// The largest zstd window accepted, 8 MiB, so that a hostile frame cannot ask for gigabytes.
const WINDOW_LOG: u32 = 23;
/// The age header is parsed again for each of its lines, so a huge one would take hours.
/// This is enough for the most recipients there may be, each a post-quantum one.
pub(crate) const HEADER_MOST: usize = 64 * 1024;
/// Enough for the most recipients there may be, each an RSA key of the largest size.
pub(crate) const HEADER_LINES: usize = 512;
/// Name that GNU tar uses for the entry that carries a long path.
const LONG_LINK: &[u8] = b"././@LongLink";
/// Longest path that fits in a tar header, in bytes.
const SHORT_PATH: usize = 100;

/// Writes the files to one bundle that any one of the recipients can open.
///
/// # Errors
/// [`SealError`].
pub fn seal(files: &[SealedFile], recipients: &Recipients) -> Result<Vec<u8>, SealError> {
    let mut sorted: Vec<&SealedFile> = files.iter().collect();
    sorted.sort_by(|left, right| left.path.cmp(&right.path));
    paths::check(sorted.iter().map(|file| file.path.as_slice()))?;
    // The library's own error text is localized, and reads files in debug builds, so it is not used.
    let encryptor = age::Encryptor::with_recipients(recipients.iter()).map_err(|_| SealError::Encrypt)?;
    let mut bundle = Vec::new();
    let cipher = encryptor.wrap_output(&mut bundle)?;
    let mut archive = tar::Builder::new(zstd::Encoder::new(cipher, LEVEL)?);
    for file in sorted {
        append(&mut archive, file)?;
    }
    archive.into_inner()?.finish()?.finish()?;
    Ok(bundle)
}

/// Adds one file. The header is filled in by hand because paths are bytes, not platform paths.
fn append(archive: &mut tar::Builder<impl Write>, file: &SealedFile) -> io::Result<()> {
    if file.path.len() > SHORT_PATH {
        let mut value = file.path.clone();
        value.push(0);
        append_entry(archive, tar::EntryType::GNULongName, LONG_LINK, &value)?;
    }
    append_entry(archive, tar::EntryType::Regular, &file.path, &file.content)
}

fn append_entry(
    archive: &mut tar::Builder<impl Write>,
    kind: tar::EntryType,
    path: &[u8],
    content: &[u8],
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    for (to, from) in header.as_old_mut().name.iter_mut().zip(path) {
        *to = *from;
    }
    header.set_entry_type(kind);
    header.set_mode(0o600);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(u64::try_from(content.len()).map_err(io::Error::other)?);
    header.set_cksum();
    archive.append(&header, content)
}

/// Reads a bundle back. `most` bounds the size of the unpacked archive, in bytes.
///
/// A changed recipient part of the header looks like a wrong key, so it results in `NoIdentity`.
///
/// # Errors
/// [`OpenError`].
pub fn open(bundle: &[u8], identities: &Identities, most: u64) -> Result<Vec<SealedFile>, OpenError> {
    let archive = unpack(decrypt(bundle, identities)?, most)?;
    let mut files = Vec::new();
    let mut reader = tar::Archive::new(Cursor::new(archive.as_slice()));
    let entries = reader
        .entries()
        .map_err(|_| OpenError::Damaged("its archive cannot be read"))?;
    for entry in entries {
        let entry = entry.map_err(|_| OpenError::Damaged("its archive cannot be read"))?;
        files.push(read_entry(entry)?);
    }
    let end = usize::try_from(reader.into_inner().position()).unwrap_or(usize::MAX);
    // Data behind the end mark would be kept but never shown.
    if archive
        .get(end..)
        .unwrap_or_default()
        .iter()
        .any(|byte| *byte != 0)
    {
        return Err(OpenError::Damaged("there is data behind the end of its archive"));
    }
    paths::check(files.iter().map(|file| file.path.as_slice())).map_err(|error| {
        OpenError::Damaged(match error {
            PathError::NotAllowed { .. } => "it holds a path that is not allowed",
            PathError::Twice { .. } => "it holds the same path twice",
            PathError::Inside { .. } => "it holds a path inside a file",
        })
    })?;
    Ok(files)
}

/// Finds the key that fits and returns the decrypted, still compressed archive.
pub(crate) fn decrypt<'a>(
    bundle: &'a [u8],
    identities: &Identities,
) -> Result<impl Read + use<'a>, OpenError> {
    let head = bundle.get(..HEADER_MOST).unwrap_or(bundle);
    let end = head.windows(5).position(|window| window == b"\n--- ");
    let lines = head
        .get(..end.unwrap_or(usize::MAX))
        .map(|head| head.iter().filter(|byte| **byte == b'\n').count());
    if lines.is_none_or(|lines| lines > HEADER_LINES) {
        return Err(OpenError::Damaged("it does not start with an age header"));
    }
    let decryptor = age::Decryptor::new_buffered(bundle)
        .map_err(|_| OpenError::Damaged("its age header cannot be read"))?;
    decryptor.decrypt(identities.iter()).map_err(|error| match error {
        age::DecryptError::NoMatchingKeys => OpenError::NoIdentity,
        _ => OpenError::Damaged("its age header does not verify"),
    })
}

/// Decompresses to the end, which also makes age verify the last part of the bundle.
fn unpack(packed: impl Read, most: u64) -> Result<Vec<u8>, OpenError> {
    let damaged = |_| OpenError::Damaged("its content cannot be decrypted or decompressed");
    let mut decoder = zstd::Decoder::new(packed).map_err(damaged)?;
    decoder.window_log_max(WINDOW_LOG).map_err(damaged)?;
    let mut archive = Vec::new();
    decoder
        .take(most.saturating_add(1))
        .read_to_end(&mut archive)
        .map_err(damaged)?;
    if u64::try_from(archive.len()).is_ok_and(|length| length <= most) {
        Ok(archive)
    } else {
        Err(OpenError::TooLarge { most })
    }
}

fn read_entry(mut entry: tar::Entry<'_, impl Read>) -> Result<SealedFile, OpenError> {
    if entry.header().entry_type() != tar::EntryType::Regular {
        return Err(OpenError::Damaged(
            "it holds something that is not a regular file",
        ));
    }
    let path = entry.path_bytes().into_owned();
    let mut content = Vec::new();
    entry
        .read_to_end(&mut content)
        .map_err(|_| OpenError::Damaged("its archive cannot be read"))?;
    if u64::try_from(content.len()).ok() != Some(entry.size()) {
        return Err(OpenError::Damaged("its archive is cut off"));
    }
    Ok(SealedFile { path, content })
}
