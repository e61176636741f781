//! Several looks at once: on another machine each one by itself would wait for the wire. Here they are what they say.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::remote::Wanted as Asked;
use super::{
    AsHandle, Handle, HandleRef, NodeKind, Stat, clock_of, data_segments, handle_attributes, list_attributes,
    names, open_beneath, open_child_file_blindly, read_link, stat_child, stat_handle, step_of,
};
use crate::{Time, Xattr};

/// A directory that was listed once.
#[derive(Debug)]
pub struct Looked {
    /// Its facts before.
    pub before: Stat,
    /// The names in it, sorted, with the facts of what they name.
    pub children: Vec<(Vec<u8>, io::Result<Stat>)>,
    /// A name was gone when its facts were asked for.
    pub vanished: bool,
    /// Its facts after that.
    pub after: Stat,
}

/// A small file to read.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'w> {
    /// Its name.
    pub name: &'w OsStr,
    /// Bytes that it should have.
    pub size: u64,
    /// The latest of its times.
    pub last: Time,
    /// True if the file is to be written back before it is read ([`super::write_back`]).
    pub write_back: bool,
}

impl Wanted<'_> {
    fn asked(&self) -> Asked {
        Asked {
            name: Path::new(self.name).into(),
            size: self.size,
            last: (self.last.sec, self.last.nsec),
            write_back: self.write_back,
        }
    }
}

/// A small file that was read.
#[derive(Debug)]
pub struct LoadedFile {
    /// Content, at most one byte more than the expected size.
    pub data: Vec<u8>,
    /// Its attributes.
    pub xattrs: Vec<Xattr>,
    /// Its facts after that.
    pub stat: Stat,
    /// True if the file has no holes.
    pub dense: bool,
    /// True if the file was written back before it was read, so that its times show every later change.
    pub written_back: bool,
}

/// Link target and attributes of an object whose content is not read.
#[derive(Debug)]
pub struct Object {
    /// The target of a link.
    pub target: Option<Vec<u8>>,
    /// Its attributes.
    pub xattrs: Vec<Xattr>,
}

/// Waits until a change made now would carry another time than `last`; a change within one step of the times of the machine that
/// `place` belongs to would otherwise go unseen.
///
/// # Errors
/// When that machine does not answer.
pub fn settle(place: impl AsHandle, last: Time) -> io::Result<()> {
    let age = clock_of(place, false)?.nanos() - last.nanos();
    let step = step_of(last);
    if (0..step).contains(&age) {
        let rest = u64::try_from(step - age).unwrap_or(0);
        super::pause(Duration::from_nanos(rest));
    }
    Ok(())
}

/// Lists a directory with the facts of what is in it, once its times have settled.
///
/// # Errors
/// The system's error for the directory.
pub fn look_into(dir: impl AsHandle) -> io::Result<Looked> {
    let dir = dir.as_handle();
    if let HandleRef::There(far) = dir {
        return Ok(far.look()?);
    }
    let before = stat_handle(dir)?;
    settle(dir, before.ctime.max(before.mtime))?;
    let mut listed = Vec::new();
    names(dir, |name| listed.push(name.to_vec()))?;
    listed.sort_unstable();
    let (mut children, mut vanished) = (Vec::with_capacity(listed.len()), false);
    for name in listed {
        match stat_child(dir, super::os_name(&name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => vanished = true,
            stat => children.push((name, stat)),
        }
    }
    let after = stat_handle(dir)?;
    Ok(Looked {
        before,
        children,
        vanished,
        after,
    })
}

/// Opens the directory at a relative path, through no link and across no mount, and lists it: a handle, its facts before that, and
/// what [`look_into`] says.
///
/// # Errors
/// Why it cannot be opened.
pub fn look_below(root: impl AsHandle, path: &Path) -> io::Result<(Handle, Stat, io::Result<Looked>)> {
    if let HandleRef::There(far) = root.as_handle() {
        let (dir, own, looked) = far.look_below(path.into())?;
        return Ok((dir.into(), own, looked));
    }
    let dir = open_beneath(root, path)?;
    let own = stat_handle(&dir)?;
    let looked = look_into(&dir);
    Ok((dir, own, looked))
}

/// Returns the link target and the attributes of an object in a directory, without its content.
///
/// # Errors
/// The system's error.
pub fn object(dir: impl AsHandle, name: &OsStr, is_link: bool) -> io::Result<Object> {
    let target = is_link.then(|| read_link(&dir, name)).transpose()?;
    let xattrs = list_attributes(dir, name)?;
    Ok(Object { target, xattrs })
}

/// The same of several, in their order; with each name whether it is a link.
///
/// # Errors
/// Only when another machine does not answer.
pub fn objects(dir: impl AsHandle, names: &[(&OsStr, bool)]) -> io::Result<Vec<io::Result<Object>>> {
    match dir.as_handle() {
        HandleRef::Here(here) => {
            let one = |(name, is_link): &(&OsStr, bool)| object(here, name, *is_link);
            Ok(names.iter().map(one).collect())
        }
        HandleRef::There(far) => {
            let one = |(name, is_link): &(&OsStr, bool)| (Path::new(name).into(), *is_link);
            Ok(far.objects(names.iter().map(one).collect())?)
        }
    }
}

/// The facts of several names in a directory, in their order.
///
/// # Errors
/// Only when another machine does not answer.
pub fn stat_children<'n>(
    dir: impl AsHandle,
    names: impl Iterator<Item = &'n OsStr>,
) -> io::Result<Vec<io::Result<Stat>>> {
    match dir.as_handle() {
        HandleRef::Here(here) => Ok(names.map(|name| stat_child(here, name)).collect()),
        HandleRef::There(far) => Ok(far.facts(names.map(|name| Path::new(name).into()).collect())?),
    }
}

/// Reads a small file, with its attributes and its facts after that. By place, so that nothing is taken out of a pipe that
/// stands there now.
///
/// A file that should be written back first and cannot be (it lies in memory, say) is read twice: its times do not show a store
/// through a mapping, so only its bytes tell whether it held still.
///
/// # Errors
/// The system's error; `ResourceBusy` if both readings differ.
pub fn load_file(dir: impl AsHandle, wanted: &Wanted<'_>) -> io::Result<LoadedFile> {
    let dir = dir.as_handle();
    settle(dir, wanted.last)?;
    let file = open_child_file_blindly(dir, wanted.name)?;
    let written_back = match wanted.write_back {
        true => super::write_back(&file),
        false => {
            super::await_write(&file);
            false
        }
    };
    // One byte more than there should be, so that one that grew is known by it.
    let most = usize::try_from(wanted.size).unwrap_or(0) + 1;
    let data = file.read_up_to(most)?;
    if wanted.write_back && !written_back && file.read_up_to(most)? != data {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    let xattrs = handle_attributes(&file)?;
    let stat = stat_handle(&file)?;
    let may_have_holes = stat.kind == NodeKind::File && stat.allocated < stat.size;
    let dense = !may_have_holes || data_segments(&file, stat.size)? == [(0, stat.size)];
    Ok(LoadedFile {
        data,
        xattrs,
        stat,
        dense,
        written_back,
    })
}

/// Reads small files of several directories below one, in their order.
///
/// # Errors
/// Only when another machine does not answer.
pub fn load_below(
    root: impl AsHandle,
    parts: &[(&Path, Vec<Wanted<'_>>)],
) -> io::Result<Vec<io::Result<Vec<io::Result<LoadedFile>>>>> {
    let HandleRef::There(far) = root.as_handle() else {
        let one = |(path, wanted): &(&Path, Vec<Wanted<'_>>)| {
            let dir = open_beneath(&root, path)?;
            Ok(wanted.iter().map(|wanted| load_file(&dir, wanted)).collect())
        };
        return Ok(parts.iter().map(one).collect());
    };
    let part = |(path, wanted): &(&Path, Vec<Wanted<'_>>)| {
        ((*path).into(), wanted.iter().map(Wanted::asked).collect())
    };
    Ok(far.load_below(parts.iter().map(part).collect())?)
}
