//! Opening what lies there, and its facts.

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::content::Outcome;
use super::handle_table::Place;
use super::{Session, facts, handle_table, line};
use handle_fs::remote::protocol::{Answer, Facts, NOWHERE};

impl Session {
    pub(super) fn facts_of(&mut self, dir: u64, path: &[u8]) -> Outcome<Facts> {
        let place = known!(self.table.place(dir, path));
        if let Some(seen) = self.seen_before(dir, path, &place) {
            return Ok(seen);
        }
        let name = known!(place.name());
        // Where a path through links leads is told, for the mount that it lies on.
        let parting = self.line.parting();
        let command = [
            b"stat -c \"$F\" -- ".as_slice(),
            &name,
            b" && ",
            parting.as_bytes(),
            b" && printf %s \"$PWD\"",
        ];
        let out = known!(self.run(&place.look(), &command.concat())?);
        let parts = self.line.parted(&out);
        let (Some(record), Some(real)) = (parts.first(), parts.get(1)) else {
            return Ok(Err(Errno::IO));
        };
        let facts = known!(facts::only(record, !self.abilities.fine_times));
        let opened = path.is_empty() && dir != NOWHERE;
        if opened && self.table.get(dir).is_ok_and(|held| held.ino != facts.ino) {
            return Ok(Err(Errno::STALE));
        }
        let path = match place.name.strip_prefix(b"./") {
            Some(name) => handle_table::join(real, name),
            None => real.to_vec(),
        };
        Ok(Ok(self.mounts.placed(&path, facts)))
    }

    /// The facts of a view that is held.
    fn seen_before(&self, dir: u64, path: &[u8], place: &Place) -> Option<Result<Facts, Errno>> {
        if dir == NOWHERE {
            return None;
        }
        let held = self.table.get(dir).ok()?;
        let is_itself = place.name == b".";
        let facts = match (path.is_empty(), held.directory) {
            (true, false) => Ok(self.view.of_opened(dir)?),
            _ if is_itself => Ok(self.view.directory(&place.dir)?),
            // One of several parts may be a link.
            _ if path.contains(&b'/') => return None,
            _ => return self.view.name(&place.path()),
        };
        let is_other = facts.is_ok_and(|facts| facts.ino != held.ino);
        Some(if is_other { Err(Errno::STALE) } else { facts })
    }

    pub(super) fn canonical(&mut self, path: &[u8]) -> Outcome<Vec<u8>> {
        let path = known!(line::quoted(path));
        let ask = [
            b"if [ -d ".as_slice(),
            &path,
            b" ]; then f ",
            &path,
            b" && printf %s \"$PWD\"; elif [ -e ",
            &path,
            b" ]; then readlink -n -f -- ",
            &path,
            b"; else stat -L -c %i -- ",
            &path,
            b" >/dev/null; false; fi",
        ];
        Ok(self.line.run(&ask.concat())?.output())
    }

    pub(super) fn open_beneath(&mut self, dir: u64, path: &[u8], flags: OFlags) -> Outcome<Answer> {
        let place = known!(self.table.place(dir, path));
        let above = known!(self.table.get(dir)).place;
        let path_of = place.path();
        let seen = self
            .ahead
            .directory(&path_of)
            .or_else(|| self.view.directory(&path_of));
        let answer = match seen {
            Some(facts) => Answer::Handle(self.table.keep(place.path(), &facts)),
            None => known!(self.open(dir, if path == b"." { b"" } else { path }, flags, 0)?),
        };
        if let Answer::Handle(number) = answer
            && known!(self.table.get(number)).place != above
        {
            self.table.close(number);
            return Ok(Err(Errno::XDEV));
        }
        Ok(Ok(answer))
    }

    pub(super) fn open(&mut self, dir: u64, path: &[u8], flags: OFlags, mode: u32) -> Outcome<Answer> {
        if dir == NOWHERE {
            // What is mounted may have changed since somebody looked from the beginning.
            self.learn_mounts()?;
            self.forget();
        }
        let followed;
        let path = if dir == NOWHERE && !flags.contains(OFlags::NOFOLLOW) && !flags.contains(OFlags::CREATE) {
            followed = known!(self.canonical(path)?);
            followed.as_slice()
        } else {
            path
        };
        let place = known!(self.table.place(dir, path));
        let only_reads = !flags.intersects(
            OFlags::CREATE
                | OFlags::WRONLY
                | OFlags::RDWR
                | OFlags::DIRECTORY
                | OFlags::TRUNC
                | OFlags::APPEND,
        );
        let is_plain = dir != NOWHERE && only_reads && !is_only_named(flags) && !path.contains(&b'/');
        if is_plain && let Some((facts, data)) = self.view.content(&place.path()) {
            let number = self.table.keep(place.path(), &facts);
            known!(self.table.get_mut(number)).ahead = (0, data);
            self.view.opens(number, facts);
            return Ok(Ok(Answer::Handle(number)));
        }
        let name = known!(place.name());
        let mut command = Vec::new();
        if flags.contains(OFlags::CREATE) {
            self.forget();
            command.extend(format!("umask {:04o}; ", !mode & 0o777).as_bytes());
            // With -C the shell opens with O_EXCL.
            let how = match flags.contains(OFlags::EXCL) {
                true => [b"e ".as_slice(), &name, b" && set -C && true > "].concat(),
                false => b"true >> ".to_vec(),
            };
            command.extend([how.as_slice(), &name, b" && "].concat());
        }
        let may = |letter: &str| {
            [
                b"; [ -",
                letter.as_bytes(),
                b" ",
                &name,
                b" ] && echo ",
                letter.as_bytes(),
            ]
            .concat()
        };
        let parting = self.line.parting();
        command.extend(
            [
                b"stat -c \"$F\" -- ".as_slice(),
                &name,
                b" && { ",
                parting.as_bytes(),
                &may("r"),
                &may("w"),
                b"; ",
                parting.as_bytes(),
                b"; printf %s \"$PWD\"; }",
            ]
            .concat(),
        );
        // What is made is made in the directory that was opened.
        let enter = if flags.contains(OFlags::CREATE) {
            place.enter()
        } else {
            place.look()
        };
        let out = known!(self.run(&enter, &command)?);
        let parts = self.line.parted(&out);
        let [record, may, real] = parts.as_slice() else {
            return Ok(Err(Errno::IO));
        };
        let facts = known!(facts::only(record, !self.abilities.fine_times));
        let refused = match facts.kind {
            1 if flags.intersects(OFlags::WRONLY | OFlags::RDWR) => Some(Errno::ISDIR),
            1 => None,
            _ if flags.contains(OFlags::DIRECTORY) => Some(Errno::NOTDIR),
            2 if !is_only_named(flags) => Some(Errno::LOOP),
            4 if !is_only_named(flags) => Some(Errno::NXIO),
            _ => None,
        };
        let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
        let reads = !flags.contains(OFlags::WRONLY);
        let forbidden = (reads && !may.contains(&b'r')) || (writes && !may.contains(&b'w'));
        // What was made by this call is open, whatever its mode.
        let made = flags.contains(OFlags::CREATE | OFlags::EXCL);
        let refused = refused.or((forbidden && !is_only_named(flags) && !made).then_some(Errno::ACCESS));
        if let Some(error) = refused {
            return Ok(Err(error));
        }
        let path = match place.name.strip_prefix(b"./") {
            Some(name) => handle_table::join(real, name),
            None => real.to_vec(),
        };
        let facts = self.mounts.placed(&path, facts);
        let number = self.table.keep(path, &facts);
        if let Ok(held) = self.table.get_mut(number) {
            held.appends = flags.contains(OFlags::APPEND);
        }
        Ok(Ok(Answer::Handle(number)))
    }
}

fn is_only_named(flags: OFlags) -> bool {
    flags.contains(handle_fs::remote::ONLY_NAMED)
}
