//! Changes of names, owners, modes and times, and locks.

use std::io;

use rustix::io::Errno;

use super::content::Outcome;
use super::handle_table::Place;
use super::line::words;
use super::{FIRST_LOCK, Session, handle_table, line};
use handle_fs::remote::protocol::{Answer, Bytes, Call, Locking, Moving};

impl Session {
    /// Makes a change. What was listed ahead is forgotten by then.
    pub(super) fn change(&mut self, call: Call) -> Outcome<Answer> {
        let done = match call {
            Call::MakeDir { dir, path, mode } => self.make(
                dir,
                &path,
                format!("mkdir -m {:05o} --", mode & 0o7777).as_bytes(),
                "",
            )?,
            Call::MakeLink { dir, path, target } => {
                let command = [b"ln -sT -- ".as_slice(), &known!(line::quoted(&target.0))].concat();
                self.make(dir, &path, &command, "")?
            }
            Call::MakeNode {
                dir,
                path,
                kind,
                device: (major, minor),
            } => {
                let letter = match kind {
                    3 => {
                        return Ok(self
                            .make(dir, &path, b"mkfifo -m 00600 --", "")?
                            .map(|_| Answer::Done));
                    }
                    5 => "c",
                    6 => "b",
                    _ => return Ok(Err(Errno::OPNOTSUPP)),
                };
                self.make(
                    dir,
                    &path,
                    b"mknod -m 00600 --",
                    &format!("{letter} {major} {minor}"),
                )?
            }
            Call::Link { from, old, to, new } => {
                let (from, to) = (self.table.place(from, &old.0), self.table.place(to, &new.0));
                let to = known!(to);
                let name = known!(to.name());
                let link = [
                    b"e ".as_slice(),
                    &name,
                    b" && y \"Operation not permitted\" && ln -T -- \"$a\" ",
                    &name,
                ];
                self.between(&known!(from), &to, &link.concat())?
            }
            Call::Rename {
                from,
                old,
                to,
                new,
                how,
            } => {
                let (from, to) = (self.table.place(from, &old.0), self.table.place(to, &new.0));
                return Ok(self
                    .rename(&known!(from), &known!(to), how)?
                    .map(|()| Answer::Done));
            }
            Call::Unlink { dir, path, directory } => {
                self.on(dir, &path, if directory { "rmdir --" } else { "rm --" })?
            }
            Call::Own { dir, path, uid, gid } => {
                let path = path.unwrap_or_default();
                self.on(dir, &path, &format!("chown -h {uid}:{gid} --"))?
            }
            Call::Mode { handle, mode, .. } => {
                let place = known!(self.table.place(handle, b""));
                // Five digits: with fewer, some tools leave a directory the bits above the others.
                let mode = format!("{:05o}", mode & 0o7777);
                let set = |place: &Place| {
                    let (enter, name) = (place.enter()?, place.name()?);
                    let chmod = words(&[b"[ ! -L", &name, b"] && chmod", mode.as_bytes(), b"--", &name]);
                    Ok(words(&[&enter, b"&&", &chmod]))
                };
                let all = match place.number() {
                    // A directory that its owner may not enter is reached by its name.
                    Some(_) => {
                        let (inside, outside) = (
                            known!(set(&place)),
                            known!(set(&known!(self.table.by_name(handle)))),
                        );
                        let is_open =
                            [b"[ -x ".as_slice(), &known!(line::quoted(&place.dir)), b" ]"].concat();
                        words(&[b"if", &is_open, b"; then", &inside, b"; else", &outside, b"; fi"])
                    }
                    None => known!(set(&place)),
                };
                self.line.run(&all)?.output()
            }
            Call::Modified { dir, path, mtime } => {
                let (sec, nsec) = mtime;
                let time = match self.abilities.fine_times {
                    // Parts of a second are counted from the same side as the seconds.
                    true if sec < 0 && nsec > 0 => format!("@-{}.{:09}", -(sec + 1), 1_000_000_000 - nsec),
                    true => format!("@{sec}.{nsec:09}"),
                    false => format!("@{sec}"),
                };
                let place = known!(self.table.place(dir, &path.unwrap_or_default().0));
                let name = known!(place.name());
                // What is not there is not made, and nothing is said of it.
                let there = [
                    b"t ".as_slice(),
                    &name,
                    b" && touch -c -h -m -d ",
                    time.as_bytes(),
                ]
                .concat();
                self.run(&place.enter(), &words(&[&there, b"--", &name]))?
            }
            Call::Sync { handle, all } => self.sync(handle, all)?,
            _ => Err(Errno::NOSYS),
        };
        Ok(done.map(|_| Answer::Done))
    }

    fn sync(&mut self, handle: u64, all: bool) -> Outcome<Vec<u8>> {
        let place = known!(self.table.place(handle, b""));
        let name = known!(place.name());
        let how = if all { "sync -f --" } else { "sync --" };
        let command = match self.abilities.syncs {
            // What fails is told; what may not be opened is synced with all the rest.
            true => words(&[how.as_bytes(), &name, b"|| { [ ! -r", &name, b"] && sync; }"]),
            false => b"sync".to_vec(),
        };
        self.run(&place.enter(), &command)
    }

    /// Writes a file back. The layers of an overlay cannot be asked for: it counts as what it mostly lies on, a disk.
    pub(super) fn write_back(&mut self, handle: u64) -> Outcome<Answer> {
        known!(self.sync(handle, false)?);
        let magic = match self.magic(handle)? {
            Ok(magic) => magic,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(Answer::Number(
            handle_fs::FileSystem::of(magic).writes_back.into(),
        )))
    }

    /// Runs a command with a name as its last word.
    fn on(&mut self, dir: u64, path: &Bytes, command: &str) -> Outcome<Vec<u8>> {
        let place = known!(self.table.place(dir, &path.0));
        let command = words(&[command.as_bytes(), &known!(place.name())]);
        self.run(&place.enter(), &command)
    }

    /// Makes something that has a new name.
    fn make(&mut self, dir: u64, path: &Bytes, command: &[u8], more: &str) -> Outcome<Vec<u8>> {
        let place = known!(self.table.place(dir, &path.0));
        let name = known!(place.name());
        let command = words(&[b"e", &name, b"&&", command, &name, more.as_bytes()]);
        self.run(&place.enter(), &command)
    }

    /// Runs a command in the directory of the second name; `$a` is the path of the first one, which is there.
    fn between(&mut self, from: &Place, to: &Place, command: &[u8]) -> Outcome<Vec<u8>> {
        let (enter, name, then) = (known!(from.enter()), known!(from.name()), known!(to.enter()));
        let all = words(&[&enter, b"&& p", &name, b"&&", &then, b"&& {", command, b"; }"]);
        Ok(self.line.run(&all)?.output())
    }

    /// `mv` calls rename(2), and copies what that cannot move; so it is asked for nothing that cannot be moved.
    pub(super) fn rename(&mut self, from: &Place, to: &Place, how: Moving) -> Outcome<()> {
        let (old, new) = (from.path(), to.path());
        if how == Moving::Exchange {
            return Ok(Err(Errno::INVAL));
        }
        if !self.mounts.same(&from.dir, &to.dir) {
            return Ok(Err(Errno::XDEV));
        }
        let name = known!(to.name());
        // Where a file system is made of layers, a directory of a lower one cannot be moved; whoever restores there knows, and moves
        // none but its own. A file shows the device of its layer.
        let can = match self.mounts.is_layered(&from.dir) {
            true => "",
            false => "v \"${a%/*}/.\" . &&",
        };
        let same = b"s=$(stat -c %d:%i -- \"$a\") && if [ \"$s\" = \"$(stat -c %d:%i --".as_slice();
        let says = |words: &str| format!("{{ echo \"{words}\" >&2; false; }}").into_bytes();
        let moving = match how {
            // What `mv` says of these depends on what else is wrong.
            Moving::Over if handle_table::is_at_or_below(&to.dir, &old) => says("Invalid argument"),
            Moving::Over if handle_table::is_at_or_below(&from.dir, &new) => says("Directory not empty"),
            // One that came in the last moment is left alone, and nobody says so.
            Moving::New => words(&[b"e", &name, b"&& mv -n -T -- \"$a\"", &name, b"&& e \"$a\""]),
            // Of two names of one file rename(2) leaves both.
            _ => words(&[
                same,
                &name,
                b"2>/dev/null)\" ]; then true; else mv -f -T -- \"$a\"",
                &name,
                b"; fi",
            ]),
        };
        let moved = self.between(from, to, &words(&[can.as_bytes(), &moving]))?;
        if moved.is_ok() {
            self.table.moved(&old, &new);
        }
        Ok(moved.map(drop))
    }

    /// A lock is held by a descriptor of the shell itself.
    pub(super) fn lock(&mut self, handle: u64, how: Locking) -> Outcome<Answer> {
        let shared = match how {
            Locking::Drop => return self.unlock(handle).map(|()| Ok(Answer::Done)),
            Locking::Share => "-s",
            Locking::Take => "-x",
        };
        if !self.abilities.locks {
            return Ok(Err(Errno::OPNOTSUPP));
        }
        let held = known!(self.table.get(handle));
        let path = known!(line::quoted(&held.path));
        let known = self.locks.iter().position(|lock| *lock == Some(handle));
        let Some(slot) = known.or_else(|| self.locks.iter().position(Option::is_none)) else {
            return Ok(Err(Errno::OPNOTSUPP));
        };
        let number = (slot + FIRST_LOCK).to_string();
        let number = number.as_bytes();
        let open = match known {
            Some(_) => Vec::new(),
            None => [
                b"[ -r ".as_slice(),
                &path,
                b" ] && command exec ",
                number,
                b"<",
                &path,
                b" && ",
            ]
            .concat(),
        };
        let command = [open.as_slice(), b"flock -n ", shared.as_bytes(), b" ", number].concat();
        let said = self.line.stay(&command)?;
        if said.fine {
            if let Some(lock) = self.locks.get_mut(slot) {
                *lock = Some(handle);
            }
            return Ok(Ok(Answer::Done));
        }
        if known.is_none() {
            self.line.stay(&[b"command exec ", number, b"<&-"].concat())?;
        }
        Ok(Err(Errno::WOULDBLOCK))
    }

    pub(super) fn unlock(&mut self, handle: u64) -> io::Result<()> {
        for (slot, lock) in self.locks.iter_mut().enumerate() {
            if *lock == Some(handle) {
                *lock = None;
                let number = (slot + FIRST_LOCK).to_string();
                self.line
                    .stay(&[b"command exec ", number.as_bytes(), b"<&-"].concat())?;
            }
        }
        Ok(())
    }
}
