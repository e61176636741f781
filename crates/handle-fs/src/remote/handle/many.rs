//! Many calls in one exchange.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::{RemoteHandle, each, stat};
use crate::remote::Limitation;
use crate::remote::connection::of_view;
use crate::remote::error_number::received;
use crate::remote::protocol::{self, Answer, Bytes, Call, NewName};
use crate::{NewFile, Result, Stat, uptime};

impl RemoteHandle {
    /// Returns true if both handles are on one connection.
    pub(crate) fn is_on_machine_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.connection, &other.connection)
    }

    /// Returns true if the machine has this limitation.
    pub(crate) fn lacks(&self, limitation: Limitation) -> bool {
        self.connection.lacks().contains(&limitation)
    }

    /// Looks at names in directories below it. The view lasts as long as the handle.
    pub(crate) fn survey(&self, parts: Vec<(Bytes, Vec<Bytes>)>, load: bool) -> Result<Self> {
        let (dir, connection) = (self.number, &self.connection);
        let since = (connection.view().changes(), uptime());
        let call = Call::Survey {
            dir,
            parts: parts.clone(),
            load,
        };
        let opened = |number| Self::new(Arc::clone(connection), number);
        let found = match connection.call(call)? {
            // A shell keeps what it saw itself.
            Answer::Handle(number) => return Ok(opened(number)),
            Answer::Surveyed(found) if found.len() == parts.len() => found,
            _ => return Err(Errno::IO),
        };
        // What is missing is asked for by itself.
        let seen = parts
            .into_iter()
            .zip(found)
            .filter_map(|(part, found)| Some((part, found.ok()?)));
        let number = connection.view().add(since, dir, seen);
        Ok(opened(of_view(number)))
    }

    /// Moves names, in order, up to the first that fails.
    pub(crate) fn rename_many(&self, moves: Vec<NewName>) -> (usize, io::Result<()>) {
        let all = moves.len();
        let made = self.ask(Call::RenameMany { moves }, |answer| match answer {
            Answer::Made { count, error } => Some((usize::try_from(count).ok()?, error)),
            _ => None,
        });
        match made {
            Ok((count, None)) if count == all => (count, Ok(())),
            Ok((count, Some(error))) if count < all => (count, Err(received(error).into())),
            Ok(_) => (0, Err(Errno::IO.into())),
            Err(error) => (0, Err(error.into())),
        }
    }

    /// Removes names in it.
    pub(crate) fn unlink_many(&self, names: Vec<Bytes>) -> Result<()> {
        let dir = self.number;
        self.done(Call::UnlinkMany { dir, names })
    }

    /// Makes files in it.
    pub(crate) fn make_files(&self, files: Vec<NewFile<'_>>) -> Result<Vec<io::Result<Stat>>> {
        let (dir, wanted) = (self.number, files.len());
        let file = |file: NewFile<'_>| protocol::NewFile {
            name: Path::new(file.name).into(),
            data: Bytes(file.data),
            mode: file.mode,
            owner: file.owner,
            mtime: (file.mtime.sec, file.mtime.nsec),
        };
        let files = files.into_iter().map(file).collect();
        let made = self.ask(Call::MakeFiles { dir, files }, |answer| match answer {
            Answer::Several(made) if made.len() == wanted => Some(made),
            _ => None,
        })?;
        let one = |facts| each(facts, |facts| stat(&facts));
        Ok(made.into_iter().map(one).collect())
    }
}
