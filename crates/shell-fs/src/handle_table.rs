//! Handles of a shell, which keeps nothing open. A handle is a path that is checked at each use, and follows the moves that
//! are made through this shell.

use std::collections::HashMap;

use rustix::io::Errno;

use super::line::quoted;
use handle_fs::remote::protocol::{Facts, NOWHERE};

/// A handle.
#[derive(Clone, Debug)]
pub(super) struct HandleTable {
    /// Without links.
    pub(super) path: Vec<u8>,
    pub(super) ino: u64,
    /// File system and mount that the object was on.
    pub(super) place: (u64, u64),
    /// True for a directory. Any other object is reached through its parent directory.
    pub(super) directory: bool,
    /// Offset of the next read or write.
    pub(super) at: u64,
    /// Data that was read ahead, after its offset.
    pub(super) ahead: (u64, Vec<u8>),
    /// True if every write appends.
    pub(super) appends: bool,
}

/// A name in a directory.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory.
    pub(super) dir: Vec<u8>,
    /// True if the directory is entered only by a path without links.
    pub(super) sure: bool,
    /// Its number, where a handle of it was opened.
    ino: Option<u64>,
    /// The number of what has the name, where a handle of it was opened and it is no directory.
    file: Option<u64>,
    /// `.` for the directory itself, else it begins with `./`.
    pub(super) name: Vec<u8>,
}

impl Place {
    /// The commands that enter the directory, and look whether what was opened is still there.
    pub(super) fn enter(&self) -> Result<Vec<u8>, Errno> {
        let dir = quoted(&self.dir)?;
        let enter = match (self.sure, self.ino) {
            (true, Some(ino)) => [b"i ", dir.as_slice(), b" ", ino.to_string().as_bytes()].concat(),
            (true, None) => [b"d ".as_slice(), &dir].concat(),
            (false, _) => [b"f ".as_slice(), &dir].concat(),
        };
        Ok(match self.file {
            Some(ino) => {
                let (name, ino) = (self.name()?, ino.to_string());
                [enter.as_slice(), b" && u ", &name, b" ", ino.as_bytes()].concat()
            }
            None => enter,
        })
    }

    /// A directory by its path, with its number if it is known.
    pub(super) fn of_directory(dir: Vec<u8>, ino: Option<u64>) -> Self {
        Self {
            dir,
            sure: true,
            ino,
            file: None,
            name: b".".to_vec(),
        }
    }

    /// The number of the directory, where a handle of it was opened.
    pub(super) fn number(&self) -> Option<u64> {
        self.ino
    }

    /// The same, for calls that are harmless if another directory takes its place.
    pub(super) fn look(&self) -> Result<Vec<u8>, Errno> {
        let word = if self.sure { "d " } else { "f " };
        Ok([word.as_bytes(), &quoted(&self.dir)?].concat())
    }

    /// The name, as the shell takes it.
    pub(super) fn name(&self) -> Result<Vec<u8>, Errno> {
        quoted(&self.name)
    }

    /// Its path, when the directory has that one.
    pub(super) fn path(&self) -> Vec<u8> {
        match self.name.strip_prefix(b"./") {
            Some(name) => join(&self.dir, name),
            None => self.dir.clone(),
        }
    }
}

/// A path below a directory.
pub(super) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    match dir {
        b"/" => [b"/", name].concat(),
        dir => [dir, b"/", name].concat(),
    }
}

fn in_front_of(path: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let at = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let (dir, name) = path.split_at_checked(at).unwrap_or((b"", path));
    let dir = if dir.is_empty() { b"/".as_slice() } else { dir };
    (dir.to_vec(), [b".", name].concat())
}

/// All handles.
#[derive(Debug, Default)]
pub(super) struct Table {
    held: HashMap<u64, HandleTable>,
    last: u64,
}

impl Table {
    pub(super) fn keep(&mut self, path: Vec<u8>, facts: &Facts) -> u64 {
        self.last += 1;
        let (at, ahead, appends) = (0, (0, Vec::new()), false);
        self.held.insert(
            self.last,
            HandleTable {
                path,
                ino: facts.ino,
                place: facts.place,
                directory: facts.kind == 1,
                at,
                ahead,
                appends,
            },
        );
        self.last
    }

    /// Keeps a handle of a view of the objects below a directory.
    pub(super) fn keep_view(&mut self, root: &HandleTable) -> u64 {
        self.last += 1;
        self.held.insert(self.last, root.clone());
        self.last
    }

    pub(super) fn close(&mut self, number: u64) {
        self.held.remove(&number);
    }

    pub(super) fn get(&self, number: u64) -> Result<&HandleTable, Errno> {
        self.held.get(&number).ok_or(Errno::BADF)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Result<&mut HandleTable, Errno> {
        self.held.get_mut(&number).ok_or(Errno::BADF)
    }

    /// Resolves a path that begins at a handle; an empty path is the handle itself.
    pub(super) fn place(&self, dir: u64, path: &[u8]) -> Result<Place, Errno> {
        let parts = path
            .split(|byte| *byte == b'/')
            .filter(|part| !matches!(*part, b"" | b"."));
        let parts: Vec<&[u8]> = parts.collect();
        if dir == NOWHERE {
            if path.first() != Some(&b'/') {
                return Err(Errno::INVAL);
            }
            let Some((last, above)) = parts.split_last() else {
                return Ok(Place {
                    dir: b"/".to_vec(),
                    sure: false,
                    ino: None,
                    file: None,
                    name: b".".to_vec(),
                });
            };
            return Ok(Place {
                dir: [b"/".as_slice(), &above.join(&b'/')].concat(),
                sure: false,
                ino: None,
                file: None,
                name: [b"./", *last].concat(),
            });
        }
        let held = self.get(dir)?;
        if path.first() == Some(&b'/') || parts.contains(&b"..".as_slice()) {
            return Err(Errno::XDEV);
        }
        let (ino, sure) = (Some(held.ino), true);
        match parts.split_last() {
            None if held.directory => Ok(Place {
                dir: held.path.clone(),
                sure,
                ino,
                file: None,
                name: b".".to_vec(),
            }),
            None => self.by_name(dir),
            Some(_) if !held.directory => Err(Errno::NOTDIR),
            Some((last, above)) => Ok(Place {
                dir: match above {
                    [] => held.path.clone(),
                    above => join(&held.path, &above.join(&b'/')),
                },
                sure,
                ino: ino.filter(|_| above.is_empty()),
                file: None,
                name: [b"./", *last].concat(),
            }),
        }
    }

    /// Returns where a held object is, by the directory that has its name: the name and the number are looked at there.
    pub(super) fn by_name(&self, handle: u64) -> Result<Place, Errno> {
        let held = self.get(handle)?;
        let (dir, name) = in_front_of(&held.path);
        Ok(Place {
            dir,
            sure: true,
            ino: None,
            file: Some(held.ino),
            name,
        })
    }

    /// Updates the handles after a move. Handles of objects at or below `to` are removed, those at or below `from` follow.
    pub(super) fn moved(&mut self, from: &[u8], to: &[u8]) {
        self.held.retain(|_, held| !is_at_or_below(&held.path, to));
        for held in self.held.values_mut() {
            if is_at_or_below(&held.path, from) {
                held.path = [to, held.path.get(from.len()..).unwrap_or_default()].concat();
            }
        }
    }
}

/// Returns true if `path` is `above` or lies below it.
pub(super) fn is_at_or_below(path: &[u8], above: &[u8]) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::{Errno, Facts, NOWHERE, Table};

    /// Facts of a directory, or of a file.
    fn facts(ino: u64, is_dir: bool) -> Facts {
        let record = format!(
            "{}|0|0|1|8|512|1|1970-01-01 00:00:01.000000000 +0000|1|1970-01-01 00:00:01.000000000 +0000|{ino}|5|1|0|0|./x//\n",
            if is_dir { "41ed" } else { "81a4" }
        );
        crate::facts::only(record.as_bytes(), false).unwrap()
    }

    fn commands(table: &Table, dir: u64, path: &str) -> Result<String, Errno> {
        let place = table.place(dir, path.as_bytes())?;
        let all = [place.enter()?, place.name()?].join(&b' ');
        Ok(String::from_utf8(all).unwrap())
    }

    #[test]
    fn paths_lead_where_they_should_and_nowhere_else() {
        let mut table = Table::default();
        let dir = table.keep(b"/srv/a".to_vec(), &facts(7, true));
        let file = table.keep(b"/srv/f".to_vec(), &facts(8, false));
        let told = |dir, path| commands(&table, dir, path);
        assert_eq!(told(NOWHERE, "/").unwrap(), "f '/' '.'");
        assert_eq!(told(NOWHERE, "//srv//x/").unwrap(), "f '/srv' './x'");
        assert_eq!(told(NOWHERE, "/x").unwrap(), "f '/' './x'");
        assert_eq!(told(dir, "").unwrap(), "i '/srv/a' 7 '.'");
        assert_eq!(told(dir, "-x y").unwrap(), "i '/srv/a' 7 './-x y'");
        assert_eq!(told(dir, "b/c").unwrap(), "d '/srv/a/b' './c'");
        assert_eq!(told(dir, "it's\n").unwrap(), "i '/srv/a' 7 './it'\\''s'\"$n\"''");
        assert_eq!(told(file, "").unwrap(), "d '/srv' && u './f' 8 './f'");
        for (dir, path, error) in [
            (dir, "../x", Errno::XDEV),
            (dir, "/etc/passwd", Errno::XDEV),
            (file, "x", Errno::NOTDIR),
            (NOWHERE, "x", Errno::INVAL),
            (99, "x", Errno::BADF),
            (dir, "a\0b", Errno::INVAL),
        ] {
            assert_eq!(told(dir, path), Err(error), "{path:?}");
        }
    }

    #[test]
    fn handles_follow_what_is_moved() {
        let mut table = Table::default();
        let (inner, beside) = (
            table.keep(b"/a/b/c".to_vec(), &facts(1, true)),
            table.keep(b"/a/bc".to_vec(), &facts(2, true)),
        );
        let replaced = table.keep(b"/z/b".to_vec(), &facts(3, false));
        table.moved(b"/a/b", b"/z/b");
        assert_eq!(table.get(inner).unwrap().path, b"/z/b/c");
        assert_eq!(table.get(beside).unwrap().path, b"/a/bc");
        assert!(table.get(replaced).is_err());
    }
}
