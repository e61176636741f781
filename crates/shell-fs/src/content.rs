//! Content of files, read with `dd` and `tar` and written with `dd`.

use std::collections::HashMap;
use std::io::{self, Read as _};

use rustix::io::Errno;

use super::facts;
use super::handle_table::{HandleTable, Place};
use super::line::{Line, quoted, words};
use handle_fs::remote::protocol::{Bytes, Facts, LoadedFile, NewFile, Wanted};
use handle_fs::remote::sent;

/// A block that is read (bytes).
const BLOCK: u64 = 64 << 10;
/// Number of blocks that are read at once when a file is read sequentially.
const MANY: u64 = 64;
/// Size of the largest block that is written (bytes).
const LARGEST: u64 = 1 << 20;

/// Bytes that an archive needs beside the content of one file: headers, a long name, and what fills the last block.
const AROUND: u64 = 16 << 10;
/// Bytes of an archive beside all files: its end, and what fills the last record.
const ENDING: u64 = 64 << 10;

/// Returns the command that writes `"$@"` as an archive. Files are listed before they are read, so a directory or a much larger file may have
/// taken the name of one since: no more than fits `count` files with `bytes` of content is sent.
pub(super) fn archiving(stays_flat: bool, (count, bytes): (usize, u64)) -> Vec<u8> {
    let flat = if stays_flat { "--no-recursion " } else { "" };
    // Files that grow a little while they are read still fit.
    let most = (count as u64)
        .saturating_mul(AROUND)
        .saturating_add(bytes)
        .saturating_add(ENDING);
    let blocks = most.div_ceil(BLOCK);
    format!("tar {flat}-cf - \"$@\" | dd iflag=fullblock bs={BLOCK} count={blocks} 2>/dev/null").into_bytes()
}

/// Returns the number of files, and the bytes that they should have.
pub(super) fn expected<'w>(files: impl Iterator<Item = &'w Wanted>) -> (usize, u64) {
    files.fold((0, 0), |(count, bytes), file| {
        (count + 1, bytes.saturating_add(file.size))
    })
}

/// Outcome of a call; the outer error is the reason why the outcome is unknown.
pub(super) type Outcome<T> = io::Result<Result<T, Errno>>;

/// Reads from a file at `at`; fewer bytes than `most` may come.
pub(super) fn read(
    line: &mut Line,
    place: &Place,
    held: &mut HandleTable,
    at: u64,
    most: u64,
) -> Outcome<Vec<u8>> {
    let (begin, bytes) = (held.ahead.0, held.ahead.1.len() as u64);
    let is_there = at >= begin && at < begin + bytes;
    if !is_there {
        let goes_on = bytes > 0 && at == begin + bytes;
        let first = at / BLOCK;
        let wanted = (at + most).div_ceil(BLOCK).saturating_sub(first).clamp(1, MANY);
        let count = if goes_on { MANY } else { wanted };
        let command = || {
            let (enter, name) = (place.look()?, place.name()?);
            let name = name.as_slice();
            let ino = held.ino.to_string();
            let blocks = format!("bs={BLOCK} skip={first} count={count}");
            Ok(words(&[
                &enter,
                b"&& o",
                name,
                ino.as_bytes(),
                b"&& { k 0",
                ino.as_bytes(),
                b"&& dd",
                blocks.as_bytes(),
                b"; } <",
                name,
            ]))
        };
        let command = match command() {
            Ok(command) => command,
            Err(error) => return Ok(Err(error)),
        };
        match line.run(&command)?.output() {
            Ok(found) => held.ahead = (first * BLOCK, found),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(part(&held.ahead, at, most)))
}

/// The part of what was read ahead that begins at `at`.
pub(super) fn part((begin, bytes): &(u64, Vec<u8>), at: u64, most: u64) -> Vec<u8> {
    let from = usize::try_from(at.saturating_sub(*begin)).unwrap_or(usize::MAX);
    let rest = bytes.get(from..).unwrap_or_default();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    rest.get(..most).unwrap_or(rest).to_vec()
}

/// Files as an archive. Fractions of a second are in headers that only GNU's `tar` reads.
pub(super) fn archive(files: &[NewFile], fine_times: bool) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let (sec, nsec) = file.mtime;
        if sec < 0 || (fine_times && nsec > 0) {
            let time = match (sec < 0 && nsec > 0, fine_times) {
                // Parts of a second are counted from the same side as the seconds.
                (true, true) => format!("-{}.{:09}", -(sec + 1), 1_000_000_000 - nsec),
                (false, true) => format!("{sec}.{nsec:09}"),
                (_, false) => sec.to_string(),
            };
            archive.append_pax_extensions([("mtime", time.as_bytes())])?;
        }
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(file.data.0.len() as u64);
        header.set_mode(file.mode);
        header.set_uid(file.owner.0.into());
        header.set_gid(file.owner.1.into());
        header.set_mtime(sec.try_into().unwrap_or(0));
        archive.append_data(&mut header, file.name.path(), file.data.0.as_slice())?;
    }
    archive.into_inner()
}

/// Writes all of `bytes` at `at`.
pub(super) fn write(line: &mut Line, place: &Place, ino: u64, at: u64, bytes: &[u8]) -> Outcome<u64> {
    if bytes.is_empty() {
        return Ok(Ok(0));
    }
    let command = || {
        let (enter, name) = (place.look()?, place.name()?);
        let name = name.as_slice();
        // The place is counted in blocks: the largest that it is a multiple of.
        let block = 1 << at.trailing_zeros().min(LARGEST.trailing_zeros());
        let length = bytes.len();
        let how = format!(
            "iflag=fullblock ibs={length} count=1 obs={block} seek={} conv=notrunc",
            at / block
        );
        let all = format!("dd iflag=fullblock bs={length} count=1 of=/dev/null 2>/dev/null");
        let ino = ino.to_string();
        // Whatever goes wrong, what was sent is taken.
        Ok(words(&[
            b"g=; if",
            &enter,
            b"&& o",
            name,
            ino.as_bytes(),
            b"; then { g=1; if k 5",
            ino.as_bytes(),
            b"; then dd",
            how.as_bytes(),
            b">&5; else",
            all.as_bytes(),
            b"; false; fi; } 5<>",
            name,
            b"; else false; fi; s=$?; [ \"$g\" ] ||",
            all.as_bytes(),
            b"; [ $s = 0 ]",
        ]))
    };
    match command() {
        Ok(command) => {
            let said = line.give(&command, bytes)?;
            Ok(said.output().map(|_| bytes.len() as u64))
        }
        Err(error) => Ok(Err(error)),
    }
}

/// Cuts a file, or lets it grow by a hole.
pub(super) fn cut(line: &mut Line, place: &Place, ino: u64, length: u64) -> Outcome<()> {
    let command = || {
        let (enter, name) = (place.look()?, place.name()?);
        let name = name.as_slice();
        let block = 1 << length.trailing_zeros().min(LARGEST.trailing_zeros());
        Ok(words(&[
            &enter,
            b"&& o",
            name,
            ino.to_string().as_bytes(),
            &[b"&& dd if=/dev/null of=".as_slice(), name].concat(),
            format!("bs={block} seek={} count=0", length / block).as_bytes(),
        ]))
    };
    match command() {
        Ok(command) => Ok(line.run(&command)?.output().map(drop)),
        Err(error) => Ok(Err(error)),
    }
}

/// Reads small files of a directory, in their order.
pub(super) fn load(
    line: &mut Line,
    place: &Place,
    wanted: &[Wanted],
    (whole_seconds, stays_flat): (bool, bool),
    placed: impl Fn(&[u8], Facts) -> Facts,
) -> Outcome<Vec<Result<LoadedFile, i32>>> {
    let command = || {
        let names = names(b"./", wanted)?;
        Ok(words(&[
            &place.enter()?,
            b"&& { set --",
            &names,
            b";",
            &archiving(stays_flat, expected(wanted.iter())),
            b";",
            line.parting().as_bytes(),
            b"; stat -c \"$F\" -- \"$@\"; true; }",
        ]))
    };
    let command = match command() {
        Ok(command) => command,
        Err(error) => return Ok(Err(error)),
    };
    let said = line.run(&command)?;
    let complaint = said.complaint().unwrap_or(Errno::IO);
    let is_missing = said.missing().is_some_and(|missing| missing > 0) || complaint == Errno::NOENT;
    let parts = line.parted(&said.out);
    let (Some(archive), Some(records)) = (parts.first(), parts.get(1)) else {
        return Ok(Err(complaint));
    };
    let records = match facts::records(records, whole_seconds) {
        Ok(records) => records,
        Err(error) => return Ok(Err(error)),
    };
    // What was not reported as missing may be there.
    let lost = if is_missing { Errno::NOENT } else { Errno::IO };
    Ok(Ok(Files::of(archive, &records).loaded(
        b"./",
        wanted,
        (complaint, lost),
        placed,
    )))
}

/// The names of files as words of a command, each after `prefix`.
pub(super) fn names(prefix: &[u8], wanted: &[Wanted]) -> Result<Vec<u8>, Errno> {
    let mut names = Vec::new();
    for file in wanted {
        names.push(b' ');
        names.extend(quoted(&[prefix, file.name.0.as_slice()].concat())?);
    }
    Ok(names)
}

/// Contents of files, and their facts after they were read.
pub(super) struct Files<'r> {
    contents: Contents,
    facts: HashMap<&'r [u8], &'r Facts>,
}

impl<'r> Files<'r> {
    pub(super) fn of(archive: &[u8], records: &'r [facts::Record]) -> Self {
        let record = |(name, facts): &'r facts::Record| (name.as_slice(), facts);
        Self {
            contents: Contents::of(archive),
            facts: records.iter().map(record).collect(),
        }
    }

    /// Returns the facts of what was named so.
    pub(super) fn facts(&self, name: &[u8]) -> Option<Facts> {
        self.facts.get(name).map(|facts| **facts)
    }

    /// Returns the files whose names stand after `prefix`, in their order. `complaint`: why one is not in the archive; `lost`: why
    /// one has no facts.
    pub(super) fn loaded(
        &mut self,
        prefix: &[u8],
        wanted: &[Wanted],
        (complaint, lost): (Errno, Errno),
        placed: impl Fn(&[u8], Facts) -> Facts,
    ) -> Vec<Result<LoadedFile, i32>> {
        let loaded = |file: &Wanted| {
            let name = [prefix, file.name.0.as_slice()].concat();
            let facts = self.facts(&name).ok_or(sent(lost))?;
            let data = match facts.kind {
                0 => self.contents.take(&name).ok_or(sent(complaint))?,
                2 => return Err(sent(Errno::LOOP)),
                _ => Vec::new(),
            };
            Ok(LoadedFile {
                data: Bytes(data),
                attributes: Vec::new(),
                facts: placed(&file.name.0, facts),
                dense: true,
                // Who asked wrote the whole file system back before.
                written_back: false,
            })
        };
        wanted.iter().map(loaded).collect()
    }
}

/// Contents of files at the time `tar` read them.
pub(super) struct Contents(HashMap<Vec<u8>, Vec<u8>>);

impl Contents {
    /// Reads the archive as far as it is readable. A missing file was not read.
    pub(super) fn of(archive: &[u8]) -> Self {
        let mut contents = HashMap::new();
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().into_iter().flatten();
        for mut entry in entries.map_while(Result::ok) {
            let name = entry.path_bytes().into_owned();
            let mut data = Vec::new();
            match entry.header().entry_type() {
                tar::EntryType::Regular | tar::EntryType::Continuous => {
                    if entry.read_to_end(&mut data).is_err() {
                        break;
                    }
                }
                // Another name of one that was read before.
                tar::EntryType::Link => {
                    let target = entry.link_name_bytes().map(std::borrow::Cow::into_owned);
                    match target.and_then(|target| contents.get(&target).cloned()) {
                        Some(same) => data = same,
                        None => continue,
                    }
                }
                _ => continue,
            }
            contents.insert(name, data);
        }
        Self(contents)
    }

    pub(super) fn take(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.0.remove(name)
    }
}
