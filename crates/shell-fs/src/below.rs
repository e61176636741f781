//! Calls about a directory below another one. The shell answers their parts one after the other.

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::content::{self, Outcome};
use super::handle_table::{self, Place};
use super::line::words;
use super::{Session, facts};
use handle_fs::remote::protocol::{Answer, Bytes, Each, Facts, LoadedFile, Told, Wanted};
use handle_fs::remote::sent;

/// Files of one directory.
type LoadedPart = Each<Vec<Each<LoadedFile>>>;

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
        let parting = self.line.parting().as_bytes();
        let (mut command, mut places) = (Vec::new(), Vec::new());
        for (path, files) in parts {
            let path = known!(self.table.place(dir, &path.0)).path();
            let place = Place::of_directory(path.clone(), (path == root.path).then_some(root.ino));
            let names = known!(content::names(files));
            let read = words(&[
                &known!(place.enter()),
                b"&& stat -c \"$F\" -- . &&",
                parting,
                b"&& { set --",
                &names,
                b"; tar -cf - \"$@\"; } &&",
                parting,
                b"&& stat -c \"$F\" -- \"$@\" &&",
                parting,
                b"&& ",
            ]);
            command.extend(read);
            places.push(path);
        }
        command.extend(b"true");
        let said = self.line.run(&command)?;
        if !said.fine || said.complaint().is_some() {
            return Ok(Ok(None));
        }
        let told = self.line.parted(&said.out);
        let whole_seconds = !self.abilities.fine_times;
        let mut loaded = Vec::new();
        for ((path, (_, files)), told) in places.iter().zip(parts).zip(told.chunks(3)) {
            let [own, archive, records] = told else {
                return Ok(Ok(None));
            };
            let own = self.mounts.placed(path, known!(facts::only(own, whole_seconds)));
            if own.place != root.place {
                return Ok(Ok(None));
            }
            let records = known!(facts::records(records, whole_seconds));
            let placed = |name: &[u8], facts: Facts| {
                let name = name.strip_prefix(b"./").unwrap_or(name);
                self.mounts.placed(&handle_table::join(path, name), facts)
            };
            loaded.push(Ok(content::loaded(
                archive,
                &records,
                files,
                (Errno::IO, Errno::IO),
                placed,
            )));
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
