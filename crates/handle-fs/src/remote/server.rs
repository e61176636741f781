//! The agent: answers calls in order until the connection ends.

mod convert;
mod many;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, SeekFrom, Timespec, Timestamps};
use rustix::io::Errno;

use self::convert::{MOST, attribute, load, number_of, one, seen};
use super::error_number::sent;
use super::flags_of;
use super::greeting::greeting;
use super::message::{receive, tell, written};
use super::protocol::{Answer, Bytes, Call, Facts, Locking, NOWHERE, NewName, Request, Wanted, Whence};
use crate::kernel::{self, Bearer};
use crate::system::own;
use crate::{AsHandle, Handle, HandleRef, Result};

/// Answers what is asked above the calls of files; `None`: it was not understood.
pub type Knows<'k> = &'k dyn Fn(&[u8]) -> Option<Vec<u8>>;

/// So many answers wait for the wire while the next one is found.
const AHEAD: usize = 4;
/// Interval of [`Answer::AtWork`] while a request is being answered.
const BEAT: Duration = Duration::from_millis(500);

/// Answers on `to` what is asked on `from`, until it ends. Nothing is done that is not asked.
///
/// # Errors
/// Messages of the two pipes; an error of a call is its answer.
pub fn serve(mut from: impl Read, mut to: impl Write + Send, knows: Knows<'_>) -> io::Result<()> {
    let (say, said) = mpsc::sync_channel::<Vec<u8>>(AHEAD);
    let at_work = written(&Answer::AtWork)?;
    let busy = AtomicBool::new(false);
    let is_busy = &busy;
    thread::scope(|scope| {
        // What it cannot say it says no more: then nobody takes the next answer.
        let talks = scope.spawn(move || {
            loop {
                match said.recv_timeout(BEAT) {
                    Ok(message) => tell(&mut to, &message)?,
                    // Whoever waits gives up what is silent.
                    Err(RecvTimeoutError::Timeout) if is_busy.load(Ordering::Relaxed) => {
                        tell(&mut to, &at_work)?;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
            }
        });
        let mut agent = Agent::default();
        let mut heard = || -> io::Result<()> {
            while let Some(Request { closed, call }) = receive(&mut from)? {
                for handle in closed {
                    agent.held.remove(&handle);
                }
                let leaves = matches!(call, Call::Leave);
                busy.store(true, Ordering::Relaxed);
                let answer = match call {
                    Call::Leave => Ok(Answer::Done),
                    Call::Ask { question } => knows(&question.0)
                        .map(Bytes)
                        .map(Answer::Bytes)
                        .ok_or(Errno::NOSYS),
                    call => agent.answer(call),
                };
                busy.store(false, Ordering::Relaxed);
                let answer = answer.unwrap_or_else(|error| Answer::Failed(sent(error)));
                if say.send(written(&answer)?).is_err() || leaves {
                    break;
                }
            }
            Ok(())
        };
        let heard = heard();
        drop(say);
        let told = talks.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        heard.and(told)
    })
}

#[derive(Default)]
struct Agent {
    held: HashMap<u64, Handle>,
    /// The last number that was given to a handle.
    last: u64,
}

impl Agent {
    fn at(&self, number: u64) -> Result<HandleRef<'_>> {
        match number {
            NOWHERE => Ok(HandleRef::Here(CWD)),
            number => self.held.get(&number).map(Handle::as_handle).ok_or(Errno::BADF),
        }
    }

    fn keep(&mut self, handle: Handle) -> Answer {
        Answer::Handle(self.hold(handle))
    }

    fn hold(&mut self, handle: Handle) -> u64 {
        self.last += 1;
        self.held.insert(self.last, handle);
        self.last
    }

    fn answer(&mut self, call: Call) -> Result<Answer> {
        let done = |()| Answer::Done;
        match call {
            Call::Greet { .. } => Ok(Answer::Greeting(greeting())),
            Call::Ask { .. } | Call::Leave => Err(Errno::NOSYS),
            Call::Survey { dir, parts, load } => self.survey(dir, &parts, load),
            Call::RenameMany { moves } => Ok(self.rename_many(&moves)),
            Call::UnlinkMany { dir, names } => {
                let dir = self.at(dir)?;
                let mut names = names.iter();
                names
                    .try_for_each(|name| kernel::unlinkat(dir, name.path(), AtFlags::empty()))
                    .map(done)
            }
            Call::MakeFiles { dir, files } => {
                let dir = self.at(dir)?;
                let made = files.iter().map(|file| many::make(dir, file)).collect();
                Ok(Answer::Several(made))
            }
            Call::Open {
                dir,
                path,
                flags,
                mode,
            } => {
                let opened = kernel::openat(self.at(dir)?, path.path(), flags_of(flags), own::mode_of(mode))?;
                Ok(self.keep(opened))
            }
            Call::OpenBeneath { dir, path, flags } => {
                let opened = kernel::open_beneath(self.at(dir)?, path.path(), flags_of(flags))?;
                Ok(self.keep(opened))
            }
            Call::Stat { dir, path, own } => {
                let stat = match own {
                    true => kernel::stat_itself(self.at(dir)?),
                    false => kernel::stat(self.at(dir)?, path.path()),
                }?;
                Ok(Answer::Facts(Facts::from(&stat)))
            }
            Call::Names { dir } => {
                let mut names = Vec::new();
                kernel::names(self.at(dir)?, |name| names.push(Bytes::from(name)))?;
                Ok(Answer::Names(names))
            }
            Call::ReadLink { dir, path } => {
                let target = kernel::readlinkat(self.at(dir)?, path.path())?;
                Ok(Answer::Bytes(Bytes::from(target.as_slice())))
            }
            Call::MakeDir { dir, path, mode } => {
                kernel::mkdirat(self.at(dir)?, path.path(), own::mode_of(mode)).map(done)
            }
            Call::MakeLink { dir, path, target } => {
                kernel::symlinkat(&target.0, self.at(dir)?, path.path()).map(done)
            }
            Call::MakeNode {
                dir,
                path,
                kind,
                device,
            } => {
                let kind = match kind {
                    3 => FileType::Fifo,
                    4 => FileType::Socket,
                    5 => FileType::CharacterDevice,
                    6 => FileType::BlockDevice,
                    _ => return Err(Errno::INVAL),
                };
                kernel::mknodat(self.at(dir)?, path.path(), kind, device).map(done)
            }
            Call::Link { from, old, to, new } => {
                kernel::linkat(self.at(from)?, old.path(), self.at(to)?, new.path()).map(done)
            }
            Call::Rename {
                from,
                old,
                to,
                new,
                how,
            } => {
                let one = NewName {
                    from,
                    old,
                    to,
                    new,
                    how,
                };
                self.rename(&one).map(done)
            }
            Call::Unlink { dir, path, directory } => {
                let flags = if directory {
                    AtFlags::REMOVEDIR
                } else {
                    AtFlags::empty()
                };
                kernel::unlinkat(self.at(dir)?, path.path(), flags).map(done)
            }
            Call::Own { dir, path, uid, gid } => match path {
                Some(path) => kernel::chownat(self.at(dir)?, path.path(), uid, gid).map(done),
                None => kernel::fchown(self.at(dir)?, uid, gid).map(done),
            },
            Call::Mode { handle, mode, pinned } => {
                let (handle, mode) = (self.at(handle)?, own::mode_of(mode));
                match pinned {
                    true => kernel::chmod_pinned(handle, mode).map(done),
                    false => kernel::fchmod(handle, mode).map(done),
                }
            }
            Call::Modified { dir, path, mtime } => {
                let times = only_mtime(mtime);
                match path {
                    Some(path) => kernel::utimensat(self.at(dir)?, path.path(), &times).map(done),
                    None => kernel::futimens(self.at(dir)?, &times).map(done),
                }
            }
            Call::Sync { handle, all } => match all {
                true => kernel::syncfs(self.at(handle)?).map(done),
                false => kernel::fsync(self.at(handle)?).map(done),
            },
            Call::WriteBack { handle } => Ok(Answer::Number(crate::write_back(self.at(handle)?).into())),
            Call::Magic { handle } => kernel::magic(self.at(handle)?).map(Answer::Number),
            Call::Room { handle, all } => match all {
                true => kernel::all_bytes(self.at(handle)?).map(Answer::Number),
                false => kernel::free_bytes(self.at(handle)?).map(Answer::Number),
            },
            Call::Seek { handle, to } => kernel::seek(self.at(handle)?, seek_from(to)).map(Answer::Number),
            Call::Read { handle, most, at } => {
                let mut room = vec![0; usize::try_from(most.min(MOST)).map_err(|_| Errno::INVAL)?];
                let read = match at {
                    Some(at) => kernel::pread(self.at(handle)?, &mut room, at)?,
                    None => kernel::read(self.at(handle)?, &mut room)?,
                };
                room.truncate(read);
                Ok(Answer::Bytes(Bytes(room)))
            }
            Call::Write { handle, bytes, at } => {
                let written = match at {
                    Some(at) => kernel::pwrite(self.at(handle)?, &bytes.0, at)?,
                    None => kernel::write(self.at(handle)?, &bytes.0)?,
                };
                Ok(Answer::Number(written as u64))
            }
            Call::Cut { handle, length } => kernel::ftruncate(self.at(handle)?, length).map(done),
            Call::ListAttributes { dir, name } => {
                let bearer = bearer(self.at(dir)?, name.as_ref());
                grown(|room| kernel::list_xattr(&bearer, room))
            }
            Call::GetAttribute { dir, name, attribute } => {
                let bearer = bearer(self.at(dir)?, name.as_ref());
                grown(|room| kernel::get_xattr(&bearer, &attribute.0, room))
            }
            Call::SetAttribute {
                dir,
                name,
                attribute,
                value,
            } => {
                let bearer = bearer(self.at(dir)?, name.as_ref());
                match value {
                    Some(value) => kernel::set_xattr(&bearer, &attribute.0, &value.0).map(done),
                    None => kernel::remove_xattr(&bearer, &attribute.0).map(done),
                }
            }
            Call::Lock { handle, how } => {
                let how = match how {
                    Locking::Share => FlockOperation::NonBlockingLockShared,
                    Locking::Take => FlockOperation::NonBlockingLockExclusive,
                    Locking::Drop => FlockOperation::Unlock,
                };
                kernel::flock(self.at(handle)?, how).map(done)
            }
            Call::InodeFlags { handle } => {
                kernel::inode_flags(self.at(handle)?).map(|flags| Answer::Number(flags.into()))
            }
            Call::SetInodeFlags { handle, flags } => {
                kernel::set_inode_flags(self.at(handle)?, flags).map(done)
            }
            Call::MayChange { path } => kernel::may_change(path.path()).map(done),
            Call::Clock { fine } => {
                let now = if fine {
                    crate::fine_clock()
                } else {
                    crate::file_clock()
                };
                Ok(Answer::Time(now.sec, now.nsec))
            }
            Call::Canonical { path } => {
                let real = std::fs::canonicalize(path.path()).map_err(|error| number_of(&error))?;
                let real = crate::stored_path(&real);
                Ok(Answer::Bytes(Bytes::from(real.as_path())))
            }
            Call::Look { dir } => {
                let looked = crate::look_into(self.at(dir)?);
                Ok(Answer::Looked(seen(looked.map_err(|error| number_of(&error))?)))
            }
            Call::LookBelow { dir, path } => {
                let below = crate::look_below(self.at(dir)?, path.path());
                let (handle, own, looked) = below.map_err(|error| number_of(&error))?;
                Ok(Answer::LookedBelow {
                    handle: self.hold(handle),
                    own: Facts::from(&own),
                    looked: looked.map(seen).map_err(|error| sent(number_of(&error))),
                })
            }
            Call::LoadBelow { dir, parts } => {
                let root = self.at(dir)?;
                let part = |(path, files): &(Bytes, Vec<Wanted>)| {
                    let below = crate::open_beneath(root, path.path());
                    let below = below.map_err(|error| sent(number_of(&error)))?;
                    Ok(files.iter().map(|file| load(below.as_handle(), file)).collect())
                };
                Ok(Answer::LoadedBelow(parts.iter().map(part).collect()))
            }
            Call::Objects { dir, names } => {
                let dir = self.at(dir)?;
                let object = |(name, is_link): &(Bytes, bool)| {
                    let told = crate::object(dir, OsStr::from_bytes(&name.0), *is_link);
                    let told = told.map_err(|error| sent(number_of(&error)))?;
                    Ok((
                        told.target.map(Bytes),
                        told.xattrs.into_iter().map(attribute).collect(),
                    ))
                };
                Ok(Answer::Objects(names.iter().map(object).collect()))
            }
            Call::Facts { dir, names } => {
                let dir = self.at(dir)?;
                let fact = |name: &Bytes| one(crate::stat_child(dir, OsStr::from_bytes(&name.0)));
                Ok(Answer::Several(names.iter().map(fact).collect()))
            }
        }
    }
}

fn bearer<'b>(dir: HandleRef<'b>, name: Option<&'b Bytes>) -> Bearer<'b, HandleRef<'b>> {
    match name {
        Some(name) => Bearer::Child(dir, OsStr::from_bytes(&name.0)),
        None => Bearer::Open(dir),
    }
}

/// Asks with more room until the answer fits.
fn grown(call: impl Fn(&mut [u8]) -> Result<usize>) -> Result<Answer> {
    let mut room = vec![0; 1 << 10];
    loop {
        match call(&mut room) {
            Ok(length) => {
                room.truncate(length);
                return Ok(Answer::Bytes(Bytes(room)));
            }
            Err(Errno::RANGE) if room.len() < 1 << 20 => room.resize(room.len() * 8, 0),
            Err(error) => return Err(error),
        }
    }
}

fn only_mtime((tv_sec, nanos): (i64, u32)) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec,
            tv_nsec: nanos.into(),
        },
    }
}

fn seek_from(to: Whence) -> SeekFrom {
    match to {
        Whence::Start(at) => SeekFrom::Start(at),
        Whence::End(offset) => SeekFrom::End(offset),
        Whence::Current(offset) => SeekFrom::Current(offset),
        Whence::Data(at) => SeekFrom::Data(at),
        Whence::Hole(at) => SeekFrom::Hole(at),
    }
}
