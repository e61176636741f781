//! `receipts.log`: the chain of receipts, one line each. Reads and checks links, and appends one. Who may
//! append is decided above (the lock `receipts`).

use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::Deserialize;

use super::{StoreError, durable};
use crate::model::{Digest, InstanceId, Operation, Receipt, Time};
use handle_fs::File;

/// One link with its place in the file.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The receipt.
    pub(super) receipt: Receipt,
    /// Its bytes as they stand in the log.
    pub(super) json: String,
    /// Place of the line.
    pub(super) place: Place,
}

/// Fields that join a link to the chain. They never change, while the operation may be one that a later version added.
#[derive(Deserialize)]
struct Joint {
    number: u64,
    previous: Digest,
}

/// A link that was saved elsewhere: as text its number, a colon, and its hash in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Number of the receipt; 0 before the first.
    pub number: u64,
    /// Hash of the receipt's JSON.
    pub hash: Digest,
}

impl Anchor {
    /// Before the first.
    pub const NOTHING: Self = Self {
        number: 0,
        hash: Digest([0; 32]),
    };

    /// Reads what [`std::fmt::Display`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (number, hash) = text.trim().split_once(':')?;
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.parse().ok().filter(|_| digits)?;
        Some(Self {
            number,
            hash: Digest::from_hex(hash)?,
        })
    }
}

impl std::fmt::Display for Anchor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.number, self.hash)
    }
}

/// Receipt that has no place in the chain yet.
#[derive(Clone, Debug)]
pub(super) struct News {
    /// Wall-clock time.
    pub(super) at: Time,
    /// ID of the acting user.
    pub(super) uid: u32,
    /// Session that it concerns; `None` for the store.
    pub(super) instance: Option<InstanceId>,
    /// What was done.
    pub(super) act: Operation,
}

/// Number, byte range and hash of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of the receipt; 0 before the first.
    pub(super) number: u64,
    /// First byte of the line.
    pub(super) start: u64,
    /// First byte behind its newline.
    pub(super) stop: u64,
    /// Hash of the receipt's JSON.
    pub(super) hash: Digest,
}

impl Place {
    /// Before the first line.
    pub(super) const BEGIN: Self = Self {
        number: 0,
        start: 0,
        stop: 0,
        hash: Digest([0; 32]),
    };
}

fn broken(path: &Path, number: u64, why: impl Into<String>) -> StoreError {
    StoreError::Chain {
        path: path.to_path_buf(),
        number,
        why: why.into(),
    }
}

/// Calls `each` for every link behind `from`, checked, in order. A last line without its newline was never
/// acknowledged and is skipped. Returns the place of the last link.
pub(super) fn scan(
    path: &Path,
    from: Place,
    mut each: impl FnMut(Link) -> Result<(), StoreError>,
) -> Result<Place, StoreError> {
    let Some(mut file) = durable::open(path)? else {
        return if from.number == 0 {
            Ok(from)
        } else {
            Err(cut_short(path, from.number))
        };
    };
    confirm(&mut file, path, from)?;
    file.seek(SeekFrom::Start(from.stop))
        .map_err(StoreError::io("read", path))?;
    scan_lines(BufReader::new(file), path, from, &mut each)
}

/// The same for lines that were read from elsewhere; `path` is for messages.
fn scan_lines(
    mut reader: impl BufRead,
    path: &Path,
    from: Place,
    each: &mut dyn FnMut(Link) -> Result<(), StoreError>,
) -> Result<Place, StoreError> {
    let mut last = from;
    loop {
        let mut line = Vec::new();
        let length = reader
            .read_until(b'\n', &mut line)
            .map_err(StoreError::io("read", path))? as u64;
        if length == 0 {
            return Ok(last);
        }
        let number = last.number + 1;
        if line.pop() != Some(b'\n') {
            // `pop` took the last byte. What is left being a whole line means that the byte was its newline
            // once.
            return if split(&line).is_ok() {
                Err(broken(path, number, "its newline is missing"))
            } else {
                Ok(last)
            };
        }
        let (hash, json) = split(&line).map_err(|why| broken(path, number, why))?;
        let joint: Joint = serde_json::from_str(json).map_err(|why| broken(path, number, why.to_string()))?;
        if joint.number != number {
            let why = format!("it says that it is number {}", joint.number);
            return Err(broken(path, number, why));
        }
        if joint.previous != last.hash {
            return Err(broken(path, number, "it does not continue the receipt before it"));
        }
        let receipt = serde_json::from_str(json).map_err(|why| StoreError::UnknownReceipt {
            path: path.to_path_buf(),
            number,
            why: why.to_string(),
        })?;
        last = Place {
            number,
            start: last.stop,
            stop: last.stop + length,
            hash,
        };
        each(Link {
            receipt,
            json: json.to_owned(),
            place: last,
        })?;
    }
}

/// The links in a text that comes from elsewhere, as far as they hold, the last of them, and what is wrong with the next. `path` is
/// for messages.
#[must_use]
pub fn read_links(text: &[u8], path: &Path) -> (Vec<Receipt>, Anchor, Option<StoreError>) {
    let (mut receipts, mut head) = (Vec::new(), Anchor::NOTHING);
    let scanned = scan_lines(text, path, Place::BEGIN, &mut |link| {
        head = Anchor {
            number: link.place.number,
            hash: link.place.hash,
        };
        receipts.push(link.receipt);
        Ok(())
    });
    let broken = match scanned {
        // Half a line is none that was ever sent.
        Ok(last) if last.stop != text.len() as u64 => Some(broken(path, last.number + 1, "it is cut off")),
        Ok(_) => None,
        Err(error) => Some(error),
    };
    (receipts, head, broken)
}

/// Hash and JSON of a line without its newline, when they belong together.
fn split(line: &[u8]) -> Result<(Digest, &str), &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not text")?;
    let (hex, json) = text.split_once(' ').ok_or("it is not a hash and a receipt")?;
    let hash = Digest::of(json.as_bytes());
    // As text: upper-case digits would be the same number, and not the same line.
    if hash.hex() == hex {
        Ok((hash, json))
    } else {
        Err("its hash is not that of its content")
    }
}

pub(super) fn cut_short(path: &Path, number: u64) -> StoreError {
    broken(
        path,
        number,
        "the catalog knows this receipt and the log has lost it",
    )
}

/// The line at `place`, which the catalog mirrors, must still be the one that was mirrored.
fn confirm(file: &mut File, path: &Path, place: Place) -> Result<(), StoreError> {
    if place.number == 0 {
        return Ok(());
    }
    let size = file.stat().map_err(StoreError::io("read", path))?.size;
    if size < place.stop {
        return Err(cut_short(path, place.number));
    }
    file.seek(SeekFrom::Start(place.start))
        .map_err(StoreError::io("read", path))?;
    let mut line = Vec::new();
    file.take(place.stop.saturating_sub(place.start))
        .read_to_end(&mut line)
        .map_err(StoreError::io("read", path))?;
    let whole = line.pop() == Some(b'\n');
    match split(&line) {
        Ok((hash, _)) if whole && hash == place.hash => Ok(()),
        _ => Err(broken(
            path,
            place.number,
            "it is not the receipt that the catalog knows",
        )),
    }
}

/// Makes durable what is in the log, also what a process that was killed has appended and not synced.
pub(super) fn sync(path: &Path) -> Result<(), StoreError> {
    match durable::open(path)? {
        Some(file) => file.sync().map_err(StoreError::io("sync", path)),
        None => Ok(()),
    }
}

/// Appends receipts behind `last`, all of them in one write and one sync. What lies behind `last` is a line that was never
/// finished; it is cut off.
pub(super) fn append(path: &Path, last: Place, news: Vec<News>) -> Result<Vec<Link>, StoreError> {
    let (mut links, mut lines) = (Vec::new(), String::new());
    let mut before = last;
    for news in news {
        let link = link(before, news).map_err(|why| StoreError::io("write", path)(why.into()))?;
        lines.push_str(&format!("{} {}\n", link.place.hash, link.json));
        before = link.place;
        links.push(link);
    }
    let mut file = durable::open_or_create(path)?;
    // This append may have created the file. Its name comes to disk before a receipt is in it: a process that is killed behind
    // the receipt could not do that any more, and the next one finds a log that is not new.
    if last.number == 0 {
        durable::sync_parent(path)?;
    }
    let written = file
        .set_len(last.stop)
        .and_then(|()| file.seek(SeekFrom::Start(last.stop)))
        .and_then(|_| file.write_all(lines.as_bytes()))
        .and_then(|()| file.sync());
    if let Err(error) = written {
        // Half a line, or one that may not be on disk, must not be taken for a receipt. Should this fail too,
        // the next writer cuts the half line off.
        let _ = file.set_len(last.stop);
        return Err(StoreError::io("write", path)(error));
    }
    Ok(links)
}

/// Makes the link behind `last`.
fn link(last: Place, news: News) -> serde_json::Result<Link> {
    let receipt = Receipt {
        number: last.number + 1,
        previous: last.hash,
        at: news.at,
        uid: news.uid,
        instance: news.instance,
        act: news.act,
    };
    let json = serde_json::to_string(&receipt)?;
    let hash = Digest::of(json.as_bytes());
    // The hash, a space, the JSON, a newline.
    let length = hash.hex().len() + json.len() + 2;
    let place = Place {
        number: receipt.number,
        start: last.stop,
        stop: last.stop + length as u64,
        hash,
    };
    Ok(Link { receipt, json, place })
}
