//! Places in files, and what is read and written there.

use rustix::io::Errno;

use super::content::{self, Outcome};
use super::{Session, handle_table};
use handle_fs::TICK_NANOS;
use handle_fs::Time;
use handle_fs::remote::protocol::{Answer, Bytes, Each, Facts, LoadedFile, Wanted, Whence};

impl Session {
    /// The shell keeps no place in a file; this side does.
    pub(super) fn seek(&mut self, handle: u64, to: Whence) -> Outcome<Answer> {
        let size = match to {
            Whence::End(_) | Whence::Data(_) | Whence::Hole(_) => known!(self.facts_of(handle, b"")?).size,
            Whence::Start(_) | Whence::Current(_) => 0,
        };
        let held = known!(self.table.get_mut(handle));
        let at = match to {
            Whence::Start(at) => Some(at),
            Whence::End(offset) => size.checked_add_signed(offset),
            Whence::Current(offset) => held.at.checked_add_signed(offset),
            // Everything is data, as far as anybody tells.
            Whence::Data(at) | Whence::Hole(at) if at >= size => return Ok(Err(Errno::NXIO)),
            Whence::Data(at) => Some(at),
            Whence::Hole(_) => Some(size),
        };
        let at = known!(at.ok_or(Errno::INVAL));
        held.at = at;
        Ok(Ok(Answer::Number(at)))
    }

    pub(super) fn read(&mut self, handle: u64, most: u64, at: Option<u64>) -> Outcome<Answer> {
        let place = known!(self.table.place(handle, b""));
        let held = known!(self.table.get_mut(handle));
        if held.directory {
            return Ok(Err(Errno::ISDIR));
        }
        let from = at.unwrap_or(held.at);
        let found = match self.view.of_opened(handle) {
            Some(_) => content::part(&held.ahead, from, most),
            None => known!(content::read(&mut self.line, &place, held, from, most)?),
        };
        if at.is_none() {
            held.at += found.len() as u64;
        }
        Ok(Ok(Answer::Bytes(Bytes(found))))
    }

    pub(super) fn write(&mut self, handle: u64, bytes: &[u8], at: Option<u64>) -> Outcome<Answer> {
        self.forget();
        let place = known!(self.table.place(handle, b""));
        let end = match known!(self.table.get(handle)).appends {
            true => Some(known!(self.facts_of(handle, b"")?).size),
            false => None,
        };
        let held = known!(self.table.get_mut(handle));
        held.ahead.1.clear();
        let from = end.or(at).unwrap_or(held.at);
        let written = known!(content::write(&mut self.line, &place, held.ino, from, bytes)?);
        if at.is_none() {
            held.at = from + written;
        }
        Ok(Ok(Answer::Number(written)))
    }

    /// Waits until the times of files have settled.
    pub(super) fn settle<'f>(&self, files: impl Iterator<Item = &'f Wanted>) {
        let time = |(sec, nsec): (i64, u32)| Time { sec, nsec };
        let waits = files.filter_map(|file| self.clock.until_settled(time(file.last), TICK_NANOS));
        if let Some(wait) = waits.max() {
            handle_fs::pause(wait);
        }
    }

    /// Reads small files, when their times have settled.
    pub(super) fn load(&mut self, dir: u64, files: &[Wanted]) -> Outcome<Vec<Each<LoadedFile>>> {
        if files.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let place = known!(self.table.place(dir, b""));
        self.settle(files.iter());
        let (mounts, dir) = (&self.mounts, &place.dir);
        let placed = |name: &[u8], facts: Facts| mounts.placed(&handle_table::join(dir, name), facts);
        let abilities = (!self.abilities.fine_times, self.abilities.stays_flat);
        content::load(&mut self.line, &place, files, abilities, placed)
    }
}
