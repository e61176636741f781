//! Calls to an agent about a whole directory: each single call would wait for the connection.

use std::io;

use rustix::io::Errno;

use super::{RemoteHandle, each, is_name, stat};
use crate::Xattr;
use crate::remote::protocol::{Answer, Bytes, Call, Each, Facts, LoadedFile, Seen, Told, Wanted};
use crate::{Looked, Object, Result, Stat};

type Files = Vec<io::Result<crate::LoadedFile>>;

impl RemoteHandle {
    /// A directory's facts, those of everything in it, whether something vanished meanwhile, and its own facts after that.
    pub(crate) fn look(&self) -> Result<Looked> {
        let dir = self.number;
        looked(self.ask(Call::Look { dir }, |answer| match answer {
            Answer::Looked(seen) => Some(seen),
            _ => None,
        })?)
    }

    /// The same of a directory below it, with a handle of that and its facts.
    pub(crate) fn look_below(&self, path: Bytes) -> Result<(Self, Stat, io::Result<Looked>)> {
        let dir = self.number;
        let (handle, own, seen) = self.ask(Call::LookBelow { dir, path }, |answer| match answer {
            Answer::LookedBelow { handle, own, looked } => Some((handle, own, looked)),
            _ => None,
        })?;
        let handle = Self::new(std::sync::Arc::clone(&self.connection), handle);
        Ok((handle, stat(&own)?, each(seen, looked)))
    }

    /// Small files of directories below it.
    pub(crate) fn load_below(&self, parts: Vec<(Bytes, Vec<Wanted>)>) -> Result<Vec<io::Result<Files>>> {
        let dir = self.number;
        let wanted: Vec<usize> = parts.iter().map(|(_, files)| files.len()).collect();
        let found = self.ask(Call::LoadBelow { dir, parts }, |answer| match answer {
            Answer::LoadedBelow(found) if found.len() == wanted.len() => Some(found),
            _ => None,
        })?;
        let part = |(part, wanted): (Each<Vec<Each<LoadedFile>>>, usize)| {
            each(part, |files| match files.len() == wanted {
                true => Ok(all(files)),
                false => Err(Errno::IO),
            })
        };
        Ok(found.into_iter().zip(wanted).map(part).collect())
    }

    /// Attributes and targets of what is in it.
    pub(crate) fn objects(&self, names: Vec<(Bytes, bool)>) -> Result<Vec<io::Result<Object>>> {
        let (dir, wanted) = (self.number, names.len());
        let found = self.ask(Call::Objects { dir, names }, |answer| match answer {
            Answer::Objects(found) if found.len() == wanted => Some(found),
            _ => None,
        })?;
        let object = |(target, attributes): Told| {
            Ok(Object {
                target: target.map(|target| target.0),
                xattrs: xattrs(attributes),
            })
        };
        Ok(found.into_iter().map(|told| each(told, object)).collect())
    }
}

fn looked(seen: Seen) -> Result<Looked> {
    let children = seen.children;
    // Listed by name, and each once: else something would stand in a manifest twice.
    let sorted = children.is_sorted_by(|(a, _), (b, _)| a.0 < b.0);
    if !sorted || !children.iter().all(|(name, _)| is_name(name)) {
        return Err(Errno::IO);
    }
    let child = |(name, facts): (Bytes, Each<Facts>)| (name.0, each(facts, |facts| stat(&facts)));
    Ok(Looked {
        before: stat(&seen.before)?,
        children: children.into_iter().map(child).collect(),
        vanished: seen.vanished,
        after: stat(&seen.after)?,
    })
}

fn all(files: Vec<Each<LoadedFile>>) -> Files {
    files.into_iter().map(|file| each(file, loaded)).collect()
}

fn xattrs(told: Vec<(Bytes, Bytes)>) -> Vec<Xattr> {
    let attribute = |(name, value): (Bytes, Bytes)| Xattr {
        name: name.0.into(),
        value: value.0.into(),
    };
    told.into_iter().map(attribute).collect()
}

fn loaded(file: LoadedFile) -> Result<crate::LoadedFile> {
    Ok(crate::LoadedFile {
        data: file.data.0,
        xattrs: xattrs(file.attributes),
        stat: stat(&file.facts)?,
        dense: file.dense,
        written_back: file.written_back,
    })
}
