//! Many calls in one, each made as if it were alone.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::RenameFlags;

use super::convert::{load, number_of, one};
use super::{Agent, HandleRef, kernel};
use crate::remote::error_number::sent;
use crate::remote::protocol::{
    Answer, Bytes, Each, Facts, LoadedFile, Moving, NewFile, NewName, Surveyed, Wanted,
};
use crate::{AsHandle as _, Result, Stat, Time};

/// Size of the largest file whose content a survey has (bytes).
const SMALL: u64 = 256 << 10;
/// Largest number of bytes of content in one survey.
const TOGETHER: u64 = 8 << 20;

impl Agent {
    pub(super) fn survey(&mut self, dir: u64, parts: &[(Bytes, Vec<Bytes>)], load: bool) -> Result<Answer> {
        self.at(dir)?;
        let mut room = if load { TOGETHER } else { 0 };
        let part =
            |(path, names): &(Bytes, Vec<Bytes>)| self.look_at(dir, path, names, &mut room).map_err(sent);
        Ok(Answer::Surveyed(parts.iter().map(part).collect()))
    }

    fn look_at(&mut self, root: u64, path: &Bytes, names: &[Bytes], room: &mut u64) -> Result<Surveyed> {
        let dir = crate::open_beneath(self.at(root)?, path.path()).map_err(|error| number_of(&error))?;
        let fact = |name: &Bytes| one(crate::stat_child(&dir, OsStr::from_bytes(&name.0)));
        let (own, magic) = (kernel::stat_itself(&dir)?, kernel::magic(&dir).map_err(sent));
        let seen: Vec<Each<Facts>> = names.iter().map(fact).collect();
        let files = names
            .iter()
            .zip(&seen)
            .map(|(name, facts)| read_small(dir.as_handle(), name, facts.as_ref().ok()?, room));
        let files = files.collect();
        Ok(Surveyed {
            handle: self.hold(dir),
            own: Facts::from(&own),
            magic,
            names: seen,
            files,
        })
    }

    pub(super) fn rename(&self, one: &NewName) -> Result<()> {
        let (from, to) = (self.at(one.from)?, self.at(one.to)?);
        let (old, new) = (one.old.path(), one.new.path());
        let flags = match one.how {
            Moving::Over => return kernel::renameat(from, old, to, new),
            Moving::New => RenameFlags::NOREPLACE,
            Moving::Exchange => RenameFlags::EXCHANGE,
        };
        kernel::renameat_with(from, old, to, new, flags)
    }

    pub(super) fn rename_many(&self, moves: &[NewName]) -> Answer {
        for (count, one) in (0..).zip(moves) {
            if let Err(error) = self.rename(one) {
                let error = Some(sent(error));
                return Answer::Made { count, error };
            }
        }
        Answer::Made {
            count: moves.len() as u64,
            error: None,
        }
    }
}

/// Reads a small file whose facts are known, if there is room for it and it holds still.
fn read_small(dir: HandleRef<'_>, name: &Bytes, facts: &Facts, room: &mut u64) -> Option<LoadedFile> {
    if facts.kind != 0 || facts.size > SMALL || facts.size > *room || *room == 0 {
        return None;
    }
    let wanted = Wanted {
        name: name.clone(),
        size: facts.size,
        last: facts.mtime.max(facts.ctime),
        write_back: false,
    };
    let file = load(dir, &wanted).ok()?;
    *room -= facts.size;
    let held_still = file.facts.is_as(facts) && file.data.0.len() as u64 == facts.size;
    held_still.then_some(file)
}

/// Makes a file. One that cannot be made as it is wanted is removed.
pub(super) fn make(dir: HandleRef<'_>, file: &NewFile) -> Each<Facts> {
    one(made(dir, file))
}

fn made(dir: HandleRef<'_>, wanted: &NewFile) -> io::Result<Stat> {
    let name = OsStr::from_bytes(&wanted.name.0);
    let file = crate::create_file(dir, name)?;
    let finish = || {
        let handle = file.as_handle();
        file.write_all_at(&wanted.data.0, 0)?;
        file.write_out()?;
        let now = file.stat()?;
        let (uid, gid) = wanted.owner;
        if (now.uid, now.gid) != (uid, gid) {
            crate::chown_handle(handle, uid, gid)?;
        }
        // A directory may give its files some, which belong to the mode in part.
        for attribute in crate::handle_attributes(handle)? {
            crate::remove_handle_attribute(handle, &attribute.name)?;
        }
        crate::chmod_handle(handle, wanted.mode)?;
        let (sec, nsec) = wanted.mtime;
        crate::set_mtime_handle(handle, Time { sec, nsec })?;
        file.stat()
    };
    finish().inspect_err(|_| drop(crate::remove_file(dir, name)))
}
