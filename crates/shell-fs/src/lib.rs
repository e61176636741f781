//! Files of a machine that has nothing but a POSIX shell and the tools of GNU or busybox. Each call of the protocol of `handle-fs` is one
//! command; a handle is a path that is checked at each use. What the shell cannot do is a [`Limitation`].
//!
//! [`LOOP`] is run by the shell there, and [`introduce`] is the listener of the channel to it.

/// Goes on with a value, or ends with the error of the call.
macro_rules! known {
    ($outcome:expr) => {
        match $outcome {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        }
    };
}

mod below;
mod change;
mod clock;
mod content;
mod facts;
mod files;
mod greeting;
mod handle_table;
mod line;
mod listing;
mod many;
mod mounts;
mod opening;
#[cfg(test)]
#[path = "../../../tests/recovery/support/skipped.rs"]
mod skipped;
mod survey;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use self::clock::Clock;
use self::content::Outcome;
use self::greeting::Abilities;
use self::handle_table::Table;
use self::line::{Line, words};
use self::listing::{Lister, ListingCache};
use self::mounts::Mounts;
use self::survey::View;
use handle_fs::Time;
use handle_fs::remote::protocol::{Answer, Bytes, Call, Greeting, NOWHERE};
use handle_fs::remote::{Answerer, Introduce, Limitation, flags_of, sent};

/// A shell loop that runs each line that begins with the mark, which is the first line it reads. First it prints the
/// value of `T`, by which the caller knows where the output begins, and `shell`.
///
/// GNU's `tar` takes a backslash in a name for an escape if nothing forbids it; others do not read `TAR_OPTIONS`.
pub const LOOP: &str = "\
    echo \"$T shell\"; LC_ALL=C; TZ=UTC0; TAR_OPTIONS=--no-unquote; export LC_ALL TZ TAR_OPTIONS; \
    unset POSIXLY_CORRECT CDPATH ENV BASH_ENV; \
    IFS= read -r M; [ -n \"$M\" ] || exit 1; while IFS= read -r l; do case $l in \"$M \"*) eval \"${l#\"$M \"}\";; \
    *) exit 1;; esac; done";

/// Returns the listener of a channel to a shell that runs [`LOOP`]. The shell takes no command without `mark`: random letters and digits.
#[must_use]
pub fn introduce(mark: String) -> Introduce {
    Box::new(|from, to| {
        let (shell, greeting) = Shell::new(from, to, mark)?;
        Ok((Box::new(shell), greeting))
    })
}

/// The shell of another machine.
struct Shell {
    session: Mutex<Session>,
    broken: AtomicBool,
    lacks: Vec<Limitation>,
}

impl fmt::Debug for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shell")
            .field("lacks", &self.lacks)
            .finish_non_exhaustive()
    }
}

struct Session {
    line: Line,
    table: Table,
    clock: Clock,
    mounts: Mounts,
    ahead: ListingCache,
    view: View,
    /// Numbers of the types of file systems, by device.
    magics: HashMap<u64, u64>,
    abilities: Abilities,
    /// Handles whose locks the shell's own descriptors hold; `None` for a free descriptor.
    locks: [Option<u64>; 6],
}

/// The first descriptor that holds a lock.
const FIRST_LOCK: usize = 4;

impl Shell {
    /// Asks who is there. `mark`: unguessable letters and digits.
    ///
    /// # Errors
    /// Missing programs, or the error of the channel.
    fn new(
        from: Box<dyn Read + Send>,
        to: Box<dyn Write + Send>,
        mark: String,
    ) -> io::Result<(Self, Greeting)> {
        let mut line = Line::new(from, to, mark)?;
        line.stay(&[b"F=", line::quoted(facts::FORMAT.as_bytes())?.as_slice()].concat())?;
        let (greeting, abilities) = greeting::greet(&mut line)?;
        let mut session = Session {
            line,
            table: Table::default(),
            clock: Clock::new(abilities.fine_clock),
            mounts: Mounts::default(),
            ahead: ListingCache::default(),
            view: View::default(),
            magics: HashMap::new(),
            abilities,
            locks: [None; 6],
        };
        session.learn_mounts()?;
        session.tell_time()?;
        let mut lacks = vec![Limitation::Attributes, Limitation::Holes, Limitation::Exchange];
        lacks.extend((!abilities.fine_times).then_some(Limitation::FineTimes));
        lacks.extend((!abilities.locks).then_some(Limitation::Locks));
        lacks.extend(session.mounts.is_empty().then_some(Limitation::Mounts));
        let shell = Self {
            session: Mutex::new(session),
            broken: AtomicBool::new(false),
            lacks,
        };
        Ok((shell, greeting))
    }
}

impl Answerer for Shell {
    fn lacks(&self) -> &[Limitation] {
        &self.lacks
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    fn leave(&self) -> io::Result<()> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        self.broken.store(true, Ordering::Release);
        session.line.leave()
    }

    fn ask(&self, closed: &[u64], call: Call) -> io::Result<Answer> {
        if self.is_broken() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let mut session: MutexGuard<'_, Session> =
            self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = session.closed(closed).and_then(|()| session.answer(call));
        if answer.is_err() {
            self.broken.store(true, Ordering::Release);
        }
        Ok(answer?.unwrap_or_else(|error| Answer::Failed(sent(error))))
    }
}

impl Session {
    fn learn_mounts(&mut self) -> io::Result<()> {
        let said = self.line.run(b"cat /proc/self/mountinfo")?;
        self.mounts = Mounts::of(&said.out);
        self.magics.clear();
        Ok(())
    }

    fn tell_time(&mut self) -> io::Result<Option<Time>> {
        let said = self.line.run(self.clock.command().as_bytes())?;
        Ok(self.clock.told(&said.out))
    }

    fn closed(&mut self, handles: &[u64]) -> io::Result<()> {
        for handle in handles {
            self.table.close(*handle);
            self.view.closed(*handle);
            self.unlock(*handle)?;
        }
        Ok(())
    }

    /// Something is changed: what was seen before counts no more.
    fn forget(&mut self) {
        self.ahead.forget();
        self.view.forget();
    }

    fn answer(&mut self, call: Call) -> Outcome<Answer> {
        match call {
            Call::Greet { .. } | Call::Leave => Ok(Err(Errno::INVAL)),
            Call::Ask { .. } => Ok(Err(Errno::NOSYS)),
            Call::Open {
                dir,
                path,
                flags,
                mode,
            } => self.open(dir, &path.0, flags_of(flags), mode),
            Call::OpenBeneath { dir, path, flags } => self.open_beneath(dir, &path.0, flags_of(flags)),
            Call::Stat { dir, path, own } => {
                let path = if own { &[] } else { path.0.as_slice() };
                Ok(self.facts_of(dir, path)?.map(Answer::Facts))
            }
            Call::Names { dir } => {
                let place = known!(self.table.place(dir, b""));
                let enter = known!(place.enter());
                let command = [&enter, b" && find . -mindepth 1 -maxdepth 1 -print0".as_slice()].concat();
                let out = known!(self.line.run(&command)?.output());
                let names = out
                    .split(|byte| *byte == 0)
                    .filter_map(|name| name.strip_prefix(b"./"));
                Ok(Ok(Answer::Names(names.map(Bytes::from).collect())))
            }
            Call::ReadLink { dir, path } => Ok(self
                .link_target(dir, &path.0)?
                .map(|target| Answer::Bytes(Bytes(target)))),
            Call::Seek { handle, to } => self.seek(handle, to),
            Call::Read { handle, most, at } => self.read(handle, most, at),
            Call::Write { handle, bytes, at } => self.write(handle, &bytes.0, at),
            Call::Cut { handle, length } => {
                self.forget();
                let place = known!(self.table.place(handle, b""));
                let held = known!(self.table.get_mut(handle));
                held.ahead.1.clear();
                Ok(content::cut(&mut self.line, &place, held.ino, length)?.map(|()| Answer::Done))
            }
            Call::ListAttributes { .. }
            | Call::GetAttribute { .. }
            | Call::SetAttribute { .. }
            | Call::InodeFlags { .. }
            | Call::SetInodeFlags { .. } => Ok(Err(Errno::OPNOTSUPP)),
            Call::Lock { handle, how } => self.lock(handle, how),
            Call::WriteBack { handle } => self.write_back(handle),
            Call::Magic { handle } => Ok(self.magic(handle)?.map(Answer::Number)),
            Call::Room { handle, all } => {
                let what = if all { "%b" } else { "%a" };
                let told = known!(self.about(handle, format!("stat -f -c \"{what} %S\" -- .").as_bytes())?);
                let numbers = told.split_once(' ');
                let bytes = numbers
                    .and_then(|(blocks, size)| blocks.parse::<u64>().ok()?.checked_mul(size.parse().ok()?));
                Ok(bytes.map(Answer::Number).ok_or(Errno::IO))
            }
            Call::MayChange { path } => {
                let place = known!(self.table.place(NOWHERE, &path.0));
                let name = known!(place.name());
                let ask = [
                    b"f ".as_slice(),
                    &name,
                    b" && { { [ -w . ] && [ -x . ]; } || { echo \"Permission denied\" >&2; false; }; }",
                ];
                Ok(self.run(&place.look(), &ask.concat())?.map(|_| Answer::Done))
            }
            Call::Clock { .. } => {
                self.forget();
                let time = self.tell_time()?;
                Ok(time
                    .map(|time| Answer::Time(time.sec, time.nsec))
                    .ok_or(Errno::IO))
            }
            Call::Canonical { path } => self
                .canonical(&path.0)
                .map(|path| path.map(|path| Answer::Bytes(Bytes(path)))),
            Call::Look { dir } => {
                let place = known!(self.table.place(dir, b""));
                self.lister(|lister, ahead| lister.look(ahead, &place))
            }
            Call::Facts { dir, names } => {
                let place = known!(self.table.place(dir, b""));
                self.lister(|lister, ahead| lister.several(ahead, &place, &names))
            }
            Call::LookBelow { dir, path } => self.look_below(dir, &path.0),
            Call::LoadBelow { dir, parts } => self.load_below(dir, parts),
            Call::Objects { dir, names } => self.objects(dir, names),
            Call::Survey { dir, parts, load } => self.survey(dir, parts, load),
            Call::RenameMany { moves } => {
                self.forget();
                self.rename_many(moves)
            }
            Call::UnlinkMany { dir, names } => {
                self.forget();
                self.unlink_many(dir, &names)
            }
            Call::MakeFiles { dir, files } => {
                self.forget();
                self.make_files(dir, &files)
            }
            change => {
                self.forget();
                self.change(change)
            }
        }
    }

    fn lister<T>(&mut self, ask: impl FnOnce(&mut Lister<'_>, &mut ListingCache) -> T) -> T {
        let mut lister = Lister {
            line: &mut self.line,
            clock: &mut self.clock,
            mounts: &self.mounts,
            whole_seconds: !self.abilities.fine_times,
        };
        ask(&mut lister, &mut self.ahead)
    }

    /// Runs what is to be done in a directory.
    fn run(&mut self, enter: &Result<Vec<u8>, Errno>, command: &[u8]) -> Outcome<Vec<u8>> {
        let enter = known!(enter.as_ref().map_err(|error| *error));
        Ok(self
            .line
            .run(&words(&[enter, b"&& {", command, b"; }"]))?
            .output())
    }

    /// The number of the file system that a handle lies on.
    fn magic(&mut self, handle: u64) -> Outcome<u64> {
        let (device, _) = known!(self.table.get(handle)).place;
        if let Some(magic) = self.magics.get(&device) {
            return Ok(Ok(*magic));
        }
        let told = known!(self.about(handle, b"stat -f -c %t -- .")?);
        let magic = known!(u64::from_str_radix(&told, 16).map_err(|_| Errno::IO));
        self.magics.insert(device, magic);
        Ok(Ok(magic))
    }

    /// Runs a command in the directory of a handle and returns its output without surrounding blanks.
    fn about(&mut self, handle: u64, command: &[u8]) -> Outcome<String> {
        let place = known!(self.table.place(handle, b""));
        let out = known!(self.run(&place.look(), command)?);
        Ok(Ok(String::from_utf8_lossy(&out).trim().to_owned()))
    }
}
