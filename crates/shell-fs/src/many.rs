//! Many changes in one command.

use rustix::io::Errno;

use super::content::Outcome;
use super::handle_table::{Place, is_at_or_below};
use super::line::{quoted, words};
use super::{Session, content, facts};
use handle_fs::remote::protocol::{Answer, Bytes, Each, Facts, Moving, NewFile, NewName};
use handle_fs::remote::sent;

/// Descriptors that hold the directories of moves, in the subshell of one command.
const HELD: [u8; 2] = [8, 9];

/// Moves as one command, as far as they are understood as such.
struct Moves {
    command: Vec<u8>,
    /// Paths before and after.
    paths: Vec<(Vec<u8>, Vec<u8>)>,
    /// Paths of the directories that the descriptors hold.
    held: [Option<Vec<u8>>; 2],
}

impl Moves {
    fn new() -> Self {
        Self {
            command: b"c=0; { true".to_vec(),
            paths: Vec::new(),
            held: [None, None],
        }
    }

    /// Lets a descriptor hold a directory; `other` is not replaced.
    fn hold(&mut self, place: &Place, other: Option<usize>) -> Result<usize, Errno> {
        if let Some(at) = self
            .held
            .iter()
            .position(|held| held.as_ref() == Some(&place.dir))
        {
            return Ok(at);
        }
        let at = match (other, &self.held) {
            (Some(other), _) => 1 - other,
            (None, [None, _]) => 0,
            (None, _) => 1,
        };
        let (Some(held), Some(number)) = (self.held.get_mut(at), HELD.get(at)) else {
            return Err(Errno::INVAL);
        };
        *held = Some(place.dir.clone());
        let ino = place.number().ok_or(Errno::INVAL)?.to_string();
        let enter = words(&[b" && h", &quoted(&place.dir)?, ino.as_bytes()]);
        self.command.extend(enter);
        self.command
            .extend(format!(" && command exec {number}<. && D{number}=$D").as_bytes());
        Ok(at)
    }

    /// Adds a move. What comes from a directory that is held is found there whatever has its path by then.
    fn add(&mut self, from: &Place, to: &Place) -> Result<(), Errno> {
        // The directory that most names go to or come from is kept.
        let known = self.held.iter().position(|held| held.as_ref() == Some(&to.dir));
        let old = self.hold(from, known)?;
        let new = self.hold(to, Some(old))?;
        let number = |at: usize| HELD.get(at).copied().unwrap_or_default();
        let (old, new) = (number(old), number(new));
        if old != new {
            self.command.extend(b" && [ \"$D8\" = \"$D9\" ]");
        }
        let (name, free) = (from.name()?, to.name()?);
        self.command.extend(words(&[
            b" && m",
            old.to_string().as_bytes(),
            &name,
            new.to_string().as_bytes(),
            &free,
        ]));
        self.paths.push((from.path(), to.path()));
        Ok(())
    }

    /// Returns true if a directory was moved by one of the moves.
    fn concerns(&self, place: &Place) -> bool {
        self.paths
            .iter()
            .any(|(old, new)| is_at_or_below(&place.dir, old) || is_at_or_below(&place.dir, new))
    }
}

impl Session {
    pub(super) fn rename_many(&mut self, moves: Vec<NewName>) -> Outcome<Answer> {
        let mut done = 0;
        let made = |count: usize, error: Option<Errno>| {
            Ok(Ok(Answer::Made {
                count: count as u64,
                error: error.map(sent),
            }))
        };
        while let Some(rest) = moves.get(done..).filter(|rest| !rest.is_empty()) {
            let (count, error) = match known!(self.together(rest)) {
                Some(moves) => self.move_together(moves)?,
                None => match rest.first() {
                    Some(one) => (1, self.move_one(one)?.err()),
                    None => break,
                },
            };
            if error.is_some() {
                return made(done + count.min(rest.len() - 1), error);
            }
            done += count;
        }
        made(done, None)
    }

    fn move_one(&mut self, one: &NewName) -> Outcome<()> {
        let from = known!(self.table.place(one.from, &one.old.0));
        let to = known!(self.table.place(one.to, &one.new.0));
        self.rename(&from, &to, one.how)
    }

    /// The first of the moves that one command can make; `None` if the first cannot be made so.
    fn together(&self, moves: &[NewName]) -> Result<Option<Moves>, Errno> {
        let mut all = Moves::new();
        for one in moves {
            let from = self.table.place(one.from, &one.old.0)?;
            let to = self.table.place(one.to, &one.new.0)?;
            let fits = |place: &Place| place.number().is_some() && !all.concerns(place);
            let is_plain = !self.mounts.is_empty()
                && self.mounts.same(&from.dir, &to.dir)
                && !self.mounts.is_layered(&from.dir);
            if one.how != Moving::New || !is_plain || !fits(&from) || !fits(&to) {
                break;
            }
            all.add(&from, &to)?;
        }
        Ok((!all.paths.is_empty()).then_some(all))
    }

    /// Makes the moves up to the first that fails. Returns the number of those that were made, and the error of the next one.
    fn move_together(&mut self, moves: Moves) -> std::io::Result<(usize, Option<Errno>)> {
        let Moves {
            mut command, paths, ..
        } = moves;
        command.extend(b"; }; s=$?; echo \"$c\"; [ \"$s\" = 0 ]");
        let said = self.line.run(&command)?;
        let count = String::from_utf8_lossy(&said.out)
            .trim()
            .parse::<usize>()
            .unwrap_or(0);
        let count = count.min(paths.len());
        for (old, new) in paths.iter().take(count) {
            self.table.moved(old, new);
        }
        let error = (count < paths.len()).then(|| said.output().err().unwrap_or(Errno::IO));
        Ok((count, error))
    }

    pub(super) fn unlink_many(&mut self, dir: u64, names: &[Bytes]) -> Outcome<Answer> {
        let place = known!(self.table.place(dir, b""));
        let mut command = b"rm --".to_vec();
        for name in names {
            command.push(b' ');
            command.extend(known!(quoted(&[b"./", name.0.as_slice()].concat())));
        }
        Ok(self.run(&place.enter(), &command)?.map(|_| Answer::Done))
    }

    /// Makes files as an archive tells. `tar` would replace what has their names, so that nothing has is looked at before.
    pub(super) fn make_files(&mut self, dir: u64, files: &[NewFile]) -> Outcome<Answer> {
        let place = known!(self.table.place(dir, b""));
        let archive = known!(content::archive(files, self.abilities.fine_times).map_err(|_| Errno::INVAL));
        let (mut names, mut free) = (Vec::new(), Vec::new());
        for file in files {
            let name = known!(quoted(&[b"./", file.name.0.as_slice()].concat()));
            free.extend(words(&[b" && e", &name]));
            names.push(b' ');
            names.extend(name);
        }
        let enter = known!(place.enter());
        let take = format!("dd iflag=fullblock bs={} count=1 2>/dev/null", archive.len());
        // Whatever goes wrong, what was sent is taken.
        let command = words(&[
            b"g=; if",
            &enter,
            &free,
            b"; then g=1;",
            take.as_bytes(),
            b"| tar -xpkf - && stat -c \"$F\" --",
            &names,
            b"; else false; fi; s=$?; [ \"$g\" ] ||",
            take.as_bytes(),
            b">/dev/null; [ $s = 0 ]",
        ]);
        let out = known!(self.line.give(&command, &archive)?.output());
        let records = known!(facts::records(&out, !self.abilities.fine_times));
        let facts_of = |file: &NewFile| -> Each<Facts> {
            let name = [b"./", file.name.0.as_slice()].concat();
            let found = records.iter().find(|(found, _)| *found == name);
            let (_, facts) = found.ok_or(sent(Errno::NOENT))?;
            let path = super::handle_table::join(&place.dir, &file.name.0);
            Ok(self.mounts.placed(&path, *facts))
        };
        Ok(Ok(Answer::Several(files.iter().map(facts_of).collect())))
    }
}
