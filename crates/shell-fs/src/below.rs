//! Calls about a directory below another one. The shell answers their parts one after the other.

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Session;
use super::content::Outcome;
use handle_fs::remote::protocol::{Answer, Bytes, Each, LoadedFile, Told, Wanted};
use handle_fs::remote::sent;

impl Session {
    pub(super) fn look_below(&mut self, dir: u64, path: &[u8]) -> Outcome<Answer> {
        let handle = known!(self.directory_below(dir, path)?);
        let own = known!(self.facts_of(handle, b"")?);
        let place = known!(self.table.place(handle, b""));
        let looked = match self.lister(|lister, ahead| lister.look(ahead, &place))? {
            Ok(Answer::Looked(seen)) => Ok(seen),
            Ok(_) => return Ok(Err(Errno::IO)),
            Err(error) => Err(sent(error)),
        };
        Ok(Ok(Answer::LookedBelow { handle, own, looked }))
    }

    pub(super) fn load_below(&mut self, dir: u64, parts: Vec<(Bytes, Vec<Wanted>)>) -> Outcome<Answer> {
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
