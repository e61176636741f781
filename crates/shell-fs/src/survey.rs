//! A view of many objects, seen in one exchange. The caller that holds it looks at them right afterwards, one by one, and each look would
//! be a command otherwise. It ends with its handle, with the first change through this shell, and after a few seconds.

use std::collections::HashMap;

use rustix::io::Errno;

use super::content::Outcome;
use super::facts::{self, child};
use super::handle_table::{Place, join};
use super::line::{Said, quoted, words};
use super::{Session, content};
use handle_fs::remote::protocol::{Answer, Bytes, Facts};

/// Time for which it is used (nanoseconds).
const FRESH: i128 = 3_000_000_000;
/// Size of the largest file whose content is read (bytes).
const SMALL: u64 = 256 << 10;
/// Number of bytes that are read at once.
const TOGETHER: u64 = 8 << 20;

/// Objects that were seen, by path.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Handles that it lasts as long as, all of them; empty if there is none.
    handles: Vec<u64>,
    taken: i128,
    directories: HashMap<Vec<u8>, Facts>,
    /// `None`: nothing has the name.
    names: HashMap<Vec<u8>, Option<Facts>>,
    contents: HashMap<Vec<u8>, Vec<u8>>,
    /// Files that were opened with what was seen of them.
    opened: HashMap<u64, Facts>,
}

impl View {
    /// Ends it: something was changed.
    pub(super) fn forget(&mut self) {
        if !self.handles.is_empty() {
            *self = Self::default();
        }
    }

    /// Ends it if this is one of its handles.
    pub(super) fn closed(&mut self, handle: u64) {
        self.opened.remove(&handle);
        if self.handles.contains(&handle) {
            self.forget();
        }
    }

    fn is_fresh(&self) -> bool {
        !self.handles.is_empty() && handle_fs::fine_clock().nanos() - self.taken < FRESH
    }

    /// Returns the facts of a directory. The caller then checks that it is still that one.
    pub(super) fn directory(&self, path: &[u8]) -> Option<Facts> {
        self.directories.get(path).copied().filter(|_| self.is_fresh())
    }

    /// Returns the facts of what has a name, or that nothing has it.
    pub(super) fn name(&self, path: &[u8]) -> Option<Result<Facts, Errno>> {
        let seen = self.names.get(path).filter(|_| self.is_fresh())?;
        Some(seen.ok_or(Errno::NOENT))
    }

    /// Returns the facts and the content of a file, once.
    pub(super) fn content(&mut self, path: &[u8]) -> Option<(Facts, Vec<u8>)> {
        let facts = self.name(path)?.ok()?;
        Some((facts, self.contents.remove(path)?))
    }

    /// Keeps the facts of a file that was opened with its content.
    pub(super) fn opens(&mut self, handle: u64, facts: Facts) {
        self.opened.insert(handle, facts);
    }

    /// Returns the facts of a file that was opened with its content. All of that is there.
    pub(super) fn of_opened(&self, handle: u64) -> Option<Facts> {
        self.opened.get(&handle).copied().filter(|_| self.is_fresh())
    }
}

/// One directory, and the names in it.
struct Part {
    place: Place,
    path: Vec<u8>,
    names: Vec<Bytes>,
}

impl Session {
    pub(super) fn survey(
        &mut self,
        dir: u64,
        parts: Vec<(Bytes, Vec<Bytes>)>,
        load: bool,
    ) -> Outcome<Answer> {
        let root = known!(self.table.get(dir)).clone();
        let mut all = Vec::new();
        for (path, names) in parts {
            // Entered by its path, which has to lead through no link.
            let place = known!(self.table.place(dir, &path.0));
            let path = place.path();
            let place = Place::of_directory(path.clone(), (path == root.path).then_some(root.ino));
            all.push(Part { place, path, names });
        }
        let taken = handle_fs::fine_clock().nanos();
        let mut view = known!(self.seen(&all)?);
        if load {
            known!(self.read_small(&all, &mut view)?);
        }
        let number = self.table.keep_view(&root);
        if !self.view.is_fresh() {
            self.view = View {
                taken,
                ..View::default()
            };
        }
        // One that is held, too, is part of it, and all of it is as old as that.
        self.view.handles.push(number);
        self.view.directories.extend(view.directories);
        self.view.names.extend(view.names);
        self.view.contents.extend(view.contents);
        Ok(Ok(Answer::Handle(number)))
    }

    /// Facts of the directories, and of the names in them.
    fn seen(&mut self, parts: &[Part]) -> Outcome<View> {
        let parting = self.line.parting().as_bytes();
        let mut command = Vec::new();
        for part in parts {
            let mut names = Vec::new();
            for name in &part.names {
                names.push(b' ');
                names.extend(known!(quoted(&[b"./", name.0.as_slice()].concat())));
            }
            let enter = known!(part.place.enter());
            let look = words(&[
                b"if",
                &enter,
                b"; then stat -c \"$F\" -- .",
                &names,
                b"; fi;",
                parting,
                b"; ",
            ]);
            command.extend(look);
        }
        command.extend(b"true");
        let said = self.line.run(&command)?;
        let mut view = View::default();
        let (mut asked, mut found) = (0, 0);
        for (part, told) in parts.iter().zip(self.line.parted(&said.out)) {
            asked += part.names.len();
            let records = known!(facts::records(told, !self.abilities.fine_times));
            for (name, facts) in records {
                if name == b"." {
                    let facts = self.mounts.placed(&part.path, facts);
                    view.directories.insert(part.path.clone(), facts);
                } else if let Some(name) = child(&name) {
                    let path = join(&part.path, &name.0);
                    let facts = self.mounts.placed(&path, facts);
                    view.names.insert(path, Some(facts));
                    found += 1;
                }
            }
        }
        // Each missing name is reported in one line. Only if that accounts for all is what was not found known to be gone.
        if said.missing().is_some_and(|missing| found + missing == asked) {
            for part in parts {
                for name in &part.names {
                    view.names.entry(join(&part.path, &name.0)).or_insert(None);
                }
            }
        }
        Ok(Ok(view))
    }

    /// Content of the small files that were seen, if they held still.
    fn read_small(&mut self, parts: &[Part], view: &mut View) -> Outcome<()> {
        let parting = self.line.parting().as_bytes();
        let (mut command, mut wanted, mut sum) = (Vec::new(), Vec::new(), 0);
        for part in parts {
            let (mut names, mut count, before) = (Vec::new(), 0, sum);
            for name in &part.names {
                let seen = view.names.get(&join(&part.path, &name.0)).copied().flatten();
                let Some(facts) = seen.filter(|facts| facts.kind == 0 && (1..=SMALL).contains(&facts.size))
                else {
                    continue;
                };
                sum += facts.size;
                if sum <= TOGETHER {
                    count += 1;
                    names.push(b' ');
                    names.extend(known!(quoted(&[b"./", name.0.as_slice()].concat())));
                }
            }
            if names.is_empty() {
                continue;
            }
            let enter = known!(part.place.enter());
            let read = words(&[
                b"if",
                &enter,
                b"; then set --",
                &names,
                b";",
                &content::archiving(self.abilities.stays_flat, (count, sum - before)),
                b";",
                parting,
                b"; stat -c \"$F\" -- \"$@\"; else",
                parting,
                b"; fi;",
                parting,
                b"; ",
            ]);
            command.extend(read);
            wanted.push(part);
        }
        if wanted.is_empty() {
            return Ok(Ok(()));
        }
        command.extend(b"true");
        let said: Said = self.line.run(&command)?;
        let told = self.line.parted(&said.out);
        for (part, told) in wanted.into_iter().zip(told.chunks(2)) {
            let [archive, records] = told else { break };
            let mut contents = content::Contents::of(archive);
            let records = known!(facts::records(records, !self.abilities.fine_times));
            for (name, after) in records {
                let Some((name, data)) = child(&name).zip(contents.take(&name)) else {
                    continue;
                };
                let path = join(&part.path, &name.0);
                let before = view.names.get(&path).copied().flatten();
                let held_still = before.is_some_and(|before| before.is_as(&after));
                if held_still && data.len() as u64 == after.size {
                    view.contents.insert(path, data);
                }
            }
        }
        Ok(Ok(()))
    }
}
