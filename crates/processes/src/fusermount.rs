//! Mounts by `fusermount3`, which may mount a FUSE file system for an ordinary user (fusermount3(1)).

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::child_registry;
use super::command_output::CommandRequest;
use super::search::{find, path_outside};

/// Its name.
const NAME: &str = "fusermount3";
/// Tells it where the descriptor is awaited: its standard input, which a child gets without further ado.
const SOCKET: (&str, &str) = ("_FUSE_COMMFD", "0");
/// Time limit for one call.
const PATIENCE: Duration = Duration::from_secs(20);

/// The operator's `fusermount3`.
#[derive(Clone, Debug)]
pub struct Fusermount {
    program: PathBuf,
    path: OsString,
}

impl Fusermount {
    /// Finds the program; `None` if it is not installed. `path` is the value of `PATH`. A program inside `untrusted` is never run.
    #[must_use]
    pub fn find(path: Option<&OsStr>, untrusted: &[PathBuf]) -> Option<Self> {
        let path = path_outside(path, untrusted);
        let program = find(NAME.as_ref(), &path, untrusted);
        // Not every user's PATH has the directories of the system's own programs.
        let program =
            program.or_else(|| find(NAME.as_ref(), "/usr/bin:/bin:/usr/sbin:/sbin".as_ref(), untrusted))?;
        Some(Self { program, path })
    }

    /// Mounts on `point` with `options`, and returns the descriptor through which the file system is served.
    ///
    /// # Errors
    /// The reason, in the program's own words.
    pub fn mount(&self, point: &Path, options: &str) -> Result<OwnedFd, String> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        // Should it hang, its mount does not keep the caller waiting.
        ours.set_read_timeout(Some(PATIENCE))
            .map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs([("LC_ALL", "C"), SOCKET])
            .env("PATH", &self.path)
            .args(["-o", options, "--"])
            .arg(point)
            .current_dir("/")
            // Ctrl-C is meant for this program, which ends what it does first.
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = child_registry::start_child(&mut command);
        // It holds the other end of the socket, which must not stay open here.
        drop(command);
        let child = child.map_err(|error| format!("{NAME} cannot be started: {error}"))?;
        let number = child.id();
        let received = receive(&ours);
        let output = child.wait_with_output();
        child_registry::forget(number);
        match (received, output) {
            (Ok(Some(device)), _) => Ok(device),
            (Ok(None), Ok(output)) => Err(complaint(&output.stderr)),
            (Err(error), _) | (Ok(None), Err(error)) => Err(format!("{NAME} does not answer: {error}")),
        }
    }

    /// Unmounts what is mounted on `point`. With `lazily` also what is in use.
    ///
    /// # Errors
    /// The reason, in the program's own words.
    pub fn unmount(&self, point: &Path, lazily: bool) -> Result<(), String> {
        let request = CommandRequest {
            name: NAME,
            program: &self.program,
            path: &self.path,
            patience: PATIENCE,
            bare: true,
        };
        let flag = OsStr::new(if lazily { "-uz" } else { "-u" });
        let words = [flag, OsStr::new("--"), point.as_os_str()];
        request.ask(&words, None).map(drop)
    }
}

/// Waits for a descriptor; `None` if the other end was closed without one.
fn receive(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    loop {
        let received = recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut byte)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        );
        match received {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => break,
        }
    }
    let mut descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sent) => sent.next(),
        _ => None,
    });
    Ok(descriptors.next())
}

/// Returns the last line that it wrote, without its own name.
fn complaint(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let line = said.lines().rfind(|line| !line.trim().is_empty());
    let line = line.unwrap_or("it does not say why").trim();
    let named = line.split_once(NAME).map(|(_, rest)| rest);
    let reason = named.and_then(|rest| rest.strip_prefix(':'));
    reason.unwrap_or(line).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{complaint, receive};
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_reason_is_its_last_line() {
        let said = b"note\n/usr/bin/fusermount3: mount failed: Operation not permitted\n\n";
        assert_eq!(complaint(said), "mount failed: Operation not permitted");
        assert_eq!(complaint(b"other\n"), "other");
        assert_eq!(complaint(b""), "it does not say why");
    }

    #[test]
    fn an_end_that_closes_sends_nothing() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        assert!(receive(&ours).unwrap().is_none());
    }
}
