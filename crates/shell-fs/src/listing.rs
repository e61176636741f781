//! Directories as `find` lists them. Reading one directory at a time would cost a round trip each: the first
//! read of a directory that was not listed lists all that is below, and what had settled by then answers the
//! looks that follow, each once. A walk that starts again from a path, or asks for the time, gets nothing that was
//! listed before.

use std::collections::HashMap;

use rustix::io::Errno;

use super::clock::Clock;
use super::content::Outcome;
use super::facts::{self, Record, child};
use super::handle_table::Place;
use super::line::{Line, Said, quoted, words};
use super::mounts::Mounts;
use handle_fs::TICK_NANOS;
use handle_fs::Time;
use handle_fs::remote::protocol::{Answer, Bytes, Each, Facts, Seen};
use handle_fs::remote::sent;

/// Time for which a listing made ahead is used (nanoseconds). It is short, so that later changes are noticed soon.
const FRESH: i128 = 10_000_000_000;
/// Time for which the listed directories are known, in order to open them (nanoseconds).
const KNOWN: i128 = 60_000_000_000;
/// Largest number of records of a tree that is kept.
const MOST: usize = 2_000_000;
/// Number of attempts to list a directory that changes all the time.
const TRIES: usize = 5;

/// Entries of a directory, with their facts.
type Children = Vec<(Bytes, Facts)>;

/// A directory that was listed.
#[derive(Debug)]
struct Listed {
    facts: Facts,
    /// Entries of the directory; `None` once they were returned.
    children: Option<Children>,
}

/// Trees that were listed ahead.
#[derive(Debug, Default)]
pub(super) struct ListingCache {
    root: Vec<u8>,
    taken: i128,
    directories: HashMap<Vec<u8>, Listed>,
}

impl ListingCache {
    /// Something was changed.
    pub(super) fn forget(&mut self) {
        self.root.clear();
        self.directories.clear();
    }

    fn is_fresh(&self, span: i128) -> bool {
        handle_fs::fine_clock().nanos() - self.taken < span
    }

    /// The facts of a directory that was listed. The caller then checks that it is still that one.
    pub(super) fn directory(&self, path: &[u8]) -> Option<Facts> {
        let listed = self.directories.get(path).filter(|_| self.is_fresh(KNOWN));
        listed.map(|listed| listed.facts)
    }

    /// The facts of a directory, if the next listing of it is the one that was made ahead.
    pub(super) fn next(&self, path: &[u8]) -> Option<Facts> {
        let listed = self.directories.get(path).filter(|_| self.is_fresh(FRESH))?;
        listed.children.is_some().then_some(listed.facts)
    }

    fn take(&mut self, path: &[u8]) -> Option<(Facts, Children)> {
        let fresh = self.is_fresh(FRESH);
        let listed = self.directories.get_mut(path)?;
        let children = listed.children.take().filter(|_| fresh)?;
        Some((listed.facts, children))
    }

    /// Returns true if a listing of `path` should include everything below it: it is not part of a recent listing.
    fn is_new(&self, path: &[u8]) -> bool {
        let below = path
            .strip_prefix(self.root.as_slice())
            .is_some_and(|rest| rest.first() == Some(&b'/'));
        self.root.is_empty() || !below || !self.is_fresh(FRESH)
    }
}

fn last(facts: &Facts) -> Time {
    let time = |(sec, nsec): (i64, u32)| Time { sec, nsec };
    time(facts.ctime).max(time(facts.mtime))
}

/// Connection to the other machine, and its properties that a listing needs.
pub(super) struct Lister<'l> {
    pub(super) line: &'l mut Line,
    pub(super) clock: &'l mut Clock,
    pub(super) mounts: &'l Mounts,
    pub(super) whole_seconds: bool,
}

impl Lister<'_> {
    /// Returns the listing of a directory that was made ahead. If `path` is outside the last one, everything below it is listed
    /// now.
    fn listed(&mut self, ahead: &mut ListingCache, place: &Place) -> Outcome<Option<(Facts, Children)>> {
        let path = place.path();
        if let Some(listed) = ahead.take(&path) {
            return Ok(Ok(Some(listed)));
        }
        if !ahead.is_new(&path) {
            return Ok(Ok(None));
        }
        ahead.forget();
        let Some(directories) = known!(self.tree(&path, place)?) else {
            return Ok(Ok(None));
        };
        *ahead = ListingCache {
            root: path.clone(),
            taken: handle_fs::fine_clock().nanos(),
            directories,
        };
        Ok(Ok(ahead.take(&path)))
    }

    /// A directory's facts, those of everything in it, and its own once more.
    pub(super) fn look(&mut self, ahead: &mut ListingCache, place: &Place) -> Outcome<Answer> {
        match known!(self.listed(ahead, place)?) {
            Some((facts, children)) => Ok(Ok(looked(facts, children, false, facts))),
            None => self.one(place),
        }
    }

    /// The facts of several names in a directory, in their order.
    pub(super) fn several(
        &mut self,
        ahead: &mut ListingCache,
        place: &Place,
        names: &[Bytes],
    ) -> Outcome<Answer> {
        if names.is_empty() {
            return Ok(Ok(Answer::Several(Vec::new())));
        }
        let children = match known!(self.listed(ahead, place)?) {
            Some((_, children)) => children,
            None => known!(self.some(place, names)?),
        };
        let known: HashMap<&[u8], Facts> = children.iter().map(|(name, facts)| (&*name.0, *facts)).collect();
        let missing = sent(Errno::NOENT);
        let fact = |name: &Bytes| known.get(name.0.as_slice()).copied().ok_or(missing);
        Ok(Ok(Answer::Several(names.iter().map(fact).collect())))
    }

    fn some(&mut self, place: &Place, names: &[Bytes]) -> Outcome<Children> {
        let mut command = b"stat -c \"$F\" --".to_vec();
        for name in names {
            command.push(b' ');
            command.extend(known!(quoted(&[b"./", name.0.as_slice()].concat())));
        }
        let enter = known!(place.look());
        let said = self
            .line
            .run(&words(&[&enter, b"&& {", &command, b"; true; }"]))?;
        let Some(missing) = said.missing().filter(|_| said.fine) else {
            return Ok(Err(said.complaint().unwrap_or(Errno::IO)));
        };
        let mut found = Vec::new();
        for (name, facts) in known!(self.records(&said.out)) {
            let name = known!(child(&name).ok_or(Errno::IO));
            let facts = self
                .mounts
                .placed(&super::handle_table::join(&place.dir, &name.0), facts);
            found.push((name, facts));
        }
        // What is neither told nor told to be missing is not known to be either.
        match found.len() + missing < names.len() {
            true => Ok(Err(Errno::IO)),
            false => Ok(Ok(found)),
        }
    }

    fn records(&self, out: &[u8]) -> Result<Vec<Record>, Errno> {
        facts::records(out, self.whole_seconds)
    }

    /// One directory, when its times have settled.
    fn one(&mut self, place: &Place) -> Outcome<Answer> {
        let command = || {
            let enter = place.enter()?;
            let own = b"stat -c \"$F\" -- .";
            let parting = self.line.parting();
            let children = b"find . -mindepth 1 -maxdepth 1 -exec stat -c \"$F\" -- {} +";
            let parts = [
                enter.as_slice(),
                b"&&",
                self.clock.command().as_bytes(),
                b"&&",
                parting.as_bytes(),
                b"&&",
                own,
                b"&&",
                parting.as_bytes(),
                b"&& {",
                children,
                b"; c=$?;",
                parting.as_bytes(),
                b"; echo $c;",
                parting.as_bytes(),
                b"; stat -c \"$F\" -- . || c=2; [ $c -lt 2 ]; }",
            ];
            Ok(words(&parts))
        };
        let command = match command() {
            Ok(command) => command,
            Err(error) => return Ok(Err(error)),
        };
        let mut tries = 0;
        loop {
            let said = self.line.run(&command)?;
            tries += 1;
            let listed = match self.understood(place, &said) {
                Ok(listed) => listed,
                Err(error) => return Ok(Err(error)),
            };
            let wait = self.clock.until_settled(last(&listed.before), TICK_NANOS);
            match wait {
                Some(wait) if tries < TRIES => handle_fs::pause(wait),
                _ => {
                    return Ok(Ok(looked(
                        listed.before,
                        listed.children,
                        listed.vanished,
                        listed.after,
                    )));
                }
            }
        }
    }

    fn understood(&mut self, place: &Place, said: &Said) -> Result<Single, Errno> {
        let error = || said.complaint().unwrap_or(Errno::IO);
        let parts = self.line.parted(&said.out);
        let [clock, before, children, ended, after] = parts.as_slice() else {
            return Err(error());
        };
        self.clock.told(clock);
        // What vanished is told of, and so is a directory that may not be listed.
        if said.complaint().is_some() && said.missing().is_none() {
            return Err(error());
        }
        // One that ends badly without a word told of nothing, or of a part.
        if ended.trim_ascii() != b"0" && said.complaint().is_none() {
            return Err(Errno::IO);
        }
        let own = |part: &[u8]| facts::only(part, self.whole_seconds).map_err(|_| error());
        let (before, after) = (own(before)?, own(after)?);
        let path = place.path();
        let mut found = Vec::new();
        for (name, facts) in self.records(children)? {
            let name = child(&name).ok_or(Errno::IO)?;
            let facts = self
                .mounts
                .placed(&super::handle_table::join(&path, &name.0), facts);
            found.push((name, facts));
        }
        found.sort_by(|(a, _), (b, _)| a.0.cmp(&b.0));
        Ok(Single {
            before: self.mounts.placed(&path, before),
            children: found,
            vanished: said.complaint().is_some(),
            after: self.mounts.placed(&path, after),
        })
    }

    /// All directories at and below one that had settled when they were listed. `None`: not all could be looked at, so that nothing is
    /// known of any.
    fn tree(&mut self, path: &[u8], place: &Place) -> Outcome<Option<HashMap<Vec<u8>, Listed>>> {
        let parting = self.line.parting();
        let enter = match place.enter() {
            Ok(enter) => enter,
            Err(error) => return Ok(Err(error)),
        };
        let command = words(&[
            enter.as_slice(),
            b"&&",
            self.clock.command().as_bytes(),
            b"&&",
            parting.as_bytes(),
            b"&& find . -xdev -exec stat -c \"$F\" -- {} + &&",
            parting.as_bytes(),
            // What changed while all was listed shows another time afterwards.
            b"&& find . -xdev -type d -exec stat -c \"$F\" -- {} +",
        ]);
        let said = self.line.run(&command)?;
        if !said.fine || said.complaint().is_some() {
            return Ok(Ok(None));
        }
        let parts = self.line.parted(&said.out);
        let [clock, records, again] = parts.as_slice() else {
            return Ok(Err(Errno::IO));
        };
        self.clock.told(clock);
        let began = self.clock.told_at();
        let mut directories: HashMap<Vec<u8>, Listed> = HashMap::new();
        let records = match self.records(records) {
            Ok(records) if records.len() <= MOST => records,
            // Whichever cannot be understood, the others can, each by itself.
            _ => return Ok(Ok(None)),
        };
        let Ok(again) = self.records(again) else {
            return Ok(Ok(None));
        };
        let again: HashMap<Vec<u8>, Facts> = again.into_iter().collect();
        for (name, facts) in &records {
            let held_still = again.get(name).is_some_and(|again| again.is_as(facts));
            if facts.kind == 1 && held_still {
                let below = whole(path, name);
                let facts = self.mounts.placed(&below, *facts);
                directories.insert(
                    below,
                    Listed {
                        facts,
                        children: Some(Vec::new()),
                    },
                );
            }
        }
        for (name, facts) in records {
            let Some(at) = name.iter().rposition(|byte| *byte == b'/') else {
                continue;
            };
            let (above, name_of) = name.split_at_checked(at).unwrap_or_default();
            if let Some(listed) = directories.get_mut(&whole(path, above)) {
                let facts = self.mounts.placed(&whole(path, &name), facts);
                let children = listed.children.get_or_insert_default();
                children.push((Bytes::from(name_of.get(1..).unwrap_or_default()), facts));
            }
        }
        let device = directories.get(path).map(|listed| listed.facts.place);
        // What changed since is looked at by itself, and so is where another file system begins, which was not entered.
        directories.retain(|_, listed| {
            last(&listed.facts).nanos() + TICK_NANOS <= began && Some(listed.facts.place) == device
        });
        for listed in directories.values_mut() {
            let children = listed.children.get_or_insert_default();
            children.sort_by(|(a, _), (b, _)| a.0.cmp(&b.0));
        }
        Ok(Ok(Some(directories)))
    }
}

struct Single {
    before: Facts,
    children: Children,
    vanished: bool,
    after: Facts,
}

/// The path of what `find .` in a directory names.
fn whole(path: &[u8], name: &[u8]) -> Vec<u8> {
    match name.strip_prefix(b"./") {
        Some(name) => super::handle_table::join(path, name),
        None => path.to_vec(),
    }
}

fn looked(before: Facts, children: Children, vanished: bool, after: Facts) -> Answer {
    let child = |(name, facts): (Bytes, Facts)| -> (Bytes, Each<Facts>) { (name, Ok(facts)) };
    Answer::Looked(Seen {
        before,
        children: children.into_iter().map(child).collect(),
        vanished,
        after,
    })
}
