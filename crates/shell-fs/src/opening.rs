//! Opening what lies there, and its facts.

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::content::Outcome;
use super::{Session, facts, handle_table, line};
use handle_fs::remote::protocol::{Answer, Facts, NOWHERE};

impl Session {
    pub(super) fn facts_of(&mut self, dir: u64, path: &[u8]) -> Outcome<Facts> {
        let place = known!(self.table.place(dir, path));
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
        let answer = match self.ahead.directory(&place.path()) {
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
            self.ahead.forget();
        }
        let followed;
        let path = if dir == NOWHERE && !flags.contains(OFlags::NOFOLLOW) && !flags.contains(OFlags::CREATE) {
            followed = known!(self.canonical(path)?);
            followed.as_slice()
        } else {
            path
        };
        let place = known!(self.table.place(dir, path));
        let name = known!(place.name());
        let mut command = Vec::new();
        if flags.contains(OFlags::CREATE) {
            self.ahead.forget();
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
