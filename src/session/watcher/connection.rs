//! Connection between a checkpoint and the watcher of its session: a socket in the store, over which each side sends one line.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::{InstanceId, SnapshotId};
use crate::store::Layout;
use handle_fs::{
    Handle, NodeKind, chmod_node, connect_at_once, open_root, path_of_held, remove_file_at, stat_path,
};

/// Bytes of the longest line.
const LONGEST: u64 = 256;
/// Mode of the socket, as that of every file of the store.
const MODE: u32 = 0o600;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Has anything happened since a walk that found the files of this snapshot?
    Ask(SnapshotId),
    /// A walk after the token found the files of this snapshot.
    Rest(SnapshotId, String),
    /// The session has ended.
    End,
    /// Nothing has happened.
    Same,
    /// Something may have happened; the token of this moment.
    Walk(String),
    /// The watcher does not know, or has nothing to answer.
    Unknown,
}

impl Line {
    fn text(&self) -> String {
        match self {
            Self::Ask(snapshot) => format!("ask {snapshot}\n"),
            Self::Rest(snapshot, token) => format!("rest {snapshot} {token}\n"),
            Self::End => "end\n".to_owned(),
            Self::Same => "same\n".to_owned(),
            Self::Walk(token) => format!("walk {token}\n"),
            Self::Unknown => "unknown\n".to_owned(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.strip_suffix('\n')?.split(' ').collect();
        let snapshot = |word: &str| SnapshotId::parse(word).ok();
        match words.as_slice() {
            ["ask", id] => Some(Self::Ask(snapshot(id)?)),
            ["rest", id, token] => Some(Self::Rest(snapshot(id)?, (*token).to_owned())),
            ["end"] => Some(Self::End),
            ["same"] => Some(Self::Same),
            ["walk", token] => Some(Self::Walk((*token).to_owned())),
            ["unknown"] => Some(Self::Unknown),
            _ => None,
        }
    }

    pub(super) fn send(&self, stream: &mut UnixStream, most: Duration) -> io::Result<()> {
        stream.set_write_timeout(Some(most))?;
        stream.write_all(self.text().as_bytes())
    }

    /// Receives a line. Fails when `most` passes without a byte; a line that comes in pieces is not waited for longer than a few times
    /// that.
    pub(super) fn receive(stream: &mut UnixStream, most: Duration) -> io::Result<Self> {
        stream.set_read_timeout(Some(most))?;
        let mut text = String::new();
        BufReader::new(stream.take(LONGEST)).read_line(&mut text)?;
        Self::parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Connects to the watcher of a session; `None` if there is none, or too many wait for it.
pub(super) fn connect(layout: &Layout, id: &InstanceId) -> Option<UnixStream> {
    let path = layout.watcher(id);
    let is_socket = |stat: handle_fs::Stat| stat.kind == NodeKind::Socket;
    if !stat_path(&path).ok().flatten().is_some_and(is_socket) {
        return None;
    }
    let directory = open_root(&layout.locks()).ok()?;
    connect_at_once(&short(&directory, &path)?).ok()
}

/// Makes the socket of a session's watcher in the place of one that a dead process left.
///
/// # Errors
/// The system's error.
pub(super) fn listen(layout: &Layout, id: &InstanceId) -> io::Result<UnixListener> {
    let path = layout.watcher(id);
    match remove_file_at(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let directory = open_root(&layout.locks())?;
    let listener = UnixListener::bind(short(&directory, &path).ok_or(io::ErrorKind::Unsupported)?)?;
    if let Some(name) = path.file_name() {
        chmod_node(&directory, name, MODE)?;
    }
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Returns a path through the handle of the directory: an address holds at most 107 bytes.
fn short(directory: &Handle, path: &Path) -> Option<PathBuf> {
    Some(path_of_held(directory)?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::{Line, SnapshotId};

    #[test]
    fn a_line_is_read_as_it_was_written_and_nothing_else_is() {
        let id = SnapshotId::new([7; 12]);
        for line in [
            Line::Ask(id.clone()),
            Line::Rest(id, "n-7".to_owned()),
            Line::End,
            Line::Same,
            Line::Walk("n-7".to_owned()),
            Line::Unknown,
        ] {
            assert_eq!(Line::parse(&line.text()), Some(line));
        }
        for text in [
            "",
            "same",
            "same \n",
            "same\nsame\n",
            "walk\n",
            "ask ../x\n",
            "ask\n",
            "end now\n",
        ] {
            assert_eq!(Line::parse(text), None, "{text:?}");
        }
    }
}
