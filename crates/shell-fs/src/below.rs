//! Calls about a directory below another one. The shell answers their parts one after the other.

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::content::{self, Files, Outcome};
use super::handle_table::{self, Place};
use super::line::words;
use super::{Session, facts};
use handle_fs::remote::protocol::{Answer, Bytes, Each, LoadedFile, Told, Wanted};
use handle_fs::remote::sent;

/// Files of one directory.
type LoadedPart = Each<Vec<Each<LoadedFile>>>;

/// Descriptors that hold directories in the subshell of one command. Some shells only know numbers of one digit.
const HELD: std::ops::Range<u8> = 4..10;

/// A directory, and the files in it that are read.
struct Part<'w> {
    place: Place,
    files: &'w [Wanted],
    /// The descriptor that holds the directory; `None`: it is the current one.
    held: Option<u8>,
}

impl Part<'_> {
    /// Returns what stands before the names of the files.
    fn prefix(&self) -> Vec<u8> {
        self.held
            .map_or(b"./".to_vec(), |held| format!("{held}/").into_bytes())
    }
}

/// Returns a command that reads files of a few directories with one `tar` and one `stat`: starting these takes longer than what they do.
///
/// Each directory is entered without links and held from then on, so that what takes its place is not read.
fn reading(parts: &[Part<'_>], parting: &[u8], stays_flat: bool) -> Result<Vec<u8>, Errno> {
    let (mut command, mut own, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        command.extend(words(&[&part.place.enter()?, b"&& "]));
        if let Some(held) = part.held {
            command.extend(format!("command exec {held}<. && cd /proc/self/fd && ").as_bytes());
        }
        let prefix = part.prefix();
        own.extend([b" ", prefix.as_slice(), b"."].concat());
        names.extend(content::names(&prefix, part.files)?);
    }
    let expected = content::expected(parts.iter().flat_map(|part| part.files));
    command.extend(words(&[
        b"{ set --",
        &names,
        b";",
        &content::archiving(stays_flat, expected),
        b"; } &&",
        parting,
        b"&& stat -c \"$F\" --",
        &own,
        b"\"$@\" &&",
        parting,
        b"&& ",
    ]));
    Ok(command)
}

impl Session {
    pub(super) fn look_below(&mut self, dir: u64, path: &[u8]) -> Outcome<Answer> {
        let handle = known!(self.directory_below(dir, path)?);
        let place = known!(self.table.place(handle, b""));
        let own = match self.ahead.next(&place.path()) {
            Some(facts) => facts,
            None => known!(self.facts_of(handle, b"")?),
        };
        let looked = match self.lister(|lister, ahead| lister.look(ahead, &place))? {
            Ok(Answer::Looked(seen)) => Ok(seen),
            Ok(_) => return Ok(Err(Errno::IO)),
            Err(error) => Err(sent(error)),
        };
        Ok(Ok(Answer::LookedBelow { handle, own, looked }))
    }

    pub(super) fn load_below(&mut self, dir: u64, parts: Vec<(Bytes, Vec<Wanted>)>) -> Outcome<Answer> {
        if parts.len() > 1
            && let Some(loaded) = known!(self.load_together(dir, &parts)?)
        {
            return Ok(Ok(Answer::LoadedBelow(loaded)));
        }
        let mut loaded: Vec<Each<Vec<Each<LoadedFile>>>> = Vec::new();
        for (path, files) in parts {
            let part = match self.directory_below(dir, &path.0)? {
                Ok(handle) => {
                    let files = self.load(handle, &files)?;
                    self.table.close(handle);
                    files
                }
                Err(error) => Err(error),
            };
            loaded.push(part.map_err(sent));
        }
        Ok(Ok(Answer::LoadedBelow(loaded)))
    }

    /// Reads files of several directories with one command. `None` if anything is complained about: of which part is not known.
    fn load_together(
        &mut self,
        dir: u64,
        parts: &[(Bytes, Vec<Wanted>)],
    ) -> Outcome<Option<Vec<LoadedPart>>> {
        let root = known!(self.table.get(dir)).clone();
        self.settle(parts.iter().flat_map(|(_, files)| files));
        // Descriptors have paths where there is a table of mounts.
        let has_paths = !self.mounts.is_empty();
        let at_once = if has_paths { HELD.len() } else { 1 };
        let mut directories = Vec::new();
        for ((path, files), held) in parts.iter().zip(HELD.cycle()) {
            let path = known!(self.table.place(dir, &path.0)).path();
            let number = (path == root.path).then_some(root.ino);
            directories.push(Part {
                place: Place::of_directory(path, number),
                files,
                held: has_paths.then_some(held),
            });
        }
        let mut command = Vec::new();
        for group in directories.chunks(at_once) {
            let parting = self.line.parting().as_bytes();
            command.extend(known!(reading(group, parting, self.abilities.stays_flat)));
        }
        command.extend(b"true");
        let said = self.line.run(&command)?;
        if !said.fine || said.complaint().is_some() {
            return Ok(Ok(None));
        }
        let told = self.line.parted(&said.out);
        let mut loaded = Vec::new();
        for (group, told) in directories.chunks(at_once).zip(told.chunks(2)) {
            let [archive, records] = told else {
                return Ok(Ok(None));
            };
            let records = known!(facts::records(records, !self.abilities.fine_times));
            let mut read = Files::of(archive, &records);
            for part in group {
                let (path, prefix) = (part.place.path(), part.prefix());
                let own = read.facts(&[prefix.as_slice(), b"."].concat());
                let place = own.map(|own| self.mounts.placed(&path, own).place);
                if place != Some(root.place) {
                    return Ok(Ok(None));
                }
                let placed = |name: &[u8], facts| self.mounts.placed(&handle_table::join(&path, name), facts);
                loaded.push(Ok(read.loaded(
                    &prefix,
                    part.files,
                    (Errno::IO, Errno::IO),
                    placed,
                )));
            }
        }
        Ok(Ok((loaded.len() == parts.len()).then_some(loaded)))
    }

    /// Attributes are none of what it tells.
    pub(super) fn objects(&mut self, dir: u64, names: Vec<(Bytes, bool)>) -> Outcome<Answer> {
        let mut told: Vec<Each<Told>> = Vec::new();
        for (name, is_link) in names {
            let target = match is_link {
                true => self.link_target(dir, &name.0)?.map(|target| Some(Bytes(target))),
                false => Ok(None),
            };
            let target = target.map_err(sent);
            told.push(target.map(|target| (target, Vec::new())));
        }
        Ok(Ok(Answer::Objects(told)))
    }

    fn directory_below(&mut self, dir: u64, path: &[u8]) -> Outcome<u64> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        Ok(match known!(self.open_beneath(dir, path, flags)?) {
            Answer::Handle(handle) => Ok(handle),
            _ => Err(Errno::IO),
        })
    }

    /// The target of a link.
    pub(super) fn link_target(&mut self, dir: u64, path: &[u8]) -> Outcome<Vec<u8>> {
        let place = known!(self.table.place(dir, path));
        let name = known!(place.name());
        let ask = [
            b"if [ -L ".as_slice(),
            &name,
            b" ]; then readlink -n -- ",
            &name,
            b"; elif [ -e ",
            &name,
            b" ]; then echo \"Invalid argument\" >&2; false; else t ",
            &name,
            b"; fi",
        ];
        self.run(&place.look(), &ask.concat())
    }
}
