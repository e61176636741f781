//! The crew that fills a tree: all cores, each with a piece of work at a time, in the order in which content lies in the
//! store, so that each frame is decompressed once. Further names of files come last.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::RestoreError;
use super::build::{Builder, Built, failed};
use super::io_error::is_out_of_space;
use super::problem::Problem;
use super::tree_writer::{Origin, Planned, TreeWriter};
use crate::store::{BlobPlace, BlobReader, Blobs};
use handle_fs::Dir;
use handle_fs::parallel;

/// A file of so many bytes is begun before all smaller ones: one that is begun last is written while the other cores have
/// nothing left to do.
const LARGE: u64 = 4 << 20;

/// So many objects without content in the store are one piece of work.
const SMALL: usize = 64;

/// So many directories a thread holds open.
const OPEN: usize = 8;

/// Splits the objects into pieces of work: large files first, then files that are adjacent in the store, then objects that need
/// nothing from the store.
fn runs(objects: &[Planned<'_>], blobs: &Blobs) -> Vec<Vec<usize>> {
    let (mut large, mut stored, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (number, object) in objects.iter().enumerate() {
        if object.origin != Origin::Store {
            continue;
        }
        let content = object.entry.content().filter(|content| content.size > 0);
        match content.and_then(|content| Some((content, blobs.place_of(&content.digest)?))) {
            Some((content, _)) if blobs.stored_bytes(&content.digest) >= Some(LARGE) => {
                large.push((std::cmp::Reverse(content.size), number));
            }
            Some((_, place)) => stored.push((place, number)),
            None => rest.push(number),
        }
    }
    large.sort_unstable();
    stored.sort_unstable();
    let beside = |a: &(BlobPlace, usize), b: &(BlobPlace, usize)| a.0.is_adjacent(&b.0);
    let large = large.into_iter().map(|(_, number)| vec![number]);
    let stored = stored
        .chunk_by(beside)
        .map(|run| run.iter().map(|(_, number)| *number).collect());
    let rest = rest.chunks(SMALL).map(<[usize]>::to_vec);
    large.chain(stored).chain(rest).collect()
}

impl TreeWriter<'_> {
    /// Makes everything that is no directory; gives, for each object, whether it was made.
    pub(super) fn fill(&self, builder: &mut Builder<'_>) -> Result<Vec<bool>, RestoreError> {
        let runs = runs(&self.objects, builder.blobs);
        // No object from this one on needs to be made any more.
        let limit = AtomicUsize::new(usize::MAX);
        let shared: &Builder<'_> = builder;
        let done = parallel::map_with(
            &runs,
            || Worker::new(self),
            |hand, run| hand.work(run, shared, &limit),
        );
        let mut made: Vec<bool> = self
            .objects
            .iter()
            .map(|object| object.origin == Origin::There)
            .collect();
        let mut notes: Vec<(usize, Vec<Problem>)> = Vec::new();
        let mut errors = Vec::new();
        for done in done {
            errors.extend(done.error);
            for (number, built) in done.odd {
                notes.push((number, built.notes));
                set(&mut made, number, built.is_made);
            }
            for number in done.made {
                set(&mut made, number, true);
            }
        }
        if let Some((_, error)) = errors.into_iter().min_by_key(|(number, _)| *number) {
            return Err(error);
        }
        self.name_again(shared, &mut made, &mut notes)?;
        notes.sort_by_key(|(number, _)| *number);
        for (number, notes) in notes {
            let Some(object) = self.objects.get(number) else {
                continue;
            };
            builder
                .problems
                .extend(notes.into_iter().map(|note| (object.path.clone(), note)));
        }
        Ok(made)
    }

    /// Gives what has several names the others. Where the first could not be made, the next one is tried.
    fn name_again(
        &self,
        builder: &Builder<'_>,
        made: &mut [bool],
        notes: &mut Vec<(usize, Vec<Problem>)>,
    ) -> Result<(), RestoreError> {
        let mut hand = Worker::new(self);
        let mut instead: HashMap<usize, usize> = HashMap::new();
        for (number, object) in self.objects.iter().enumerate() {
            let Origin::NameOf(first) = object.origin else {
                continue;
            };
            let fail = |source| failed(object.path, source);
            let is_made = made.get(first).copied().unwrap_or(false);
            let first = if is_made {
                Some(first)
            } else {
                instead.get(&first).copied()
            };
            if let Some(from) = first.and_then(|first| self.objects.get(first)) {
                let from_dir = self.dir(from.folder).map_err(fail)?;
                let dir = hand.dir(object.folder).map_err(fail)?;
                handle_fs::hard_link(&from_dir, &from.name, dir, &object.name).map_err(fail)?;
            } else {
                let built = hand.build(object, builder)?;
                let is_made = built.is_made;
                notes.push((number, built.notes));
                if !is_made {
                    continue;
                }
                if let Origin::NameOf(first) = object.origin {
                    instead.insert(first, number);
                }
            }
            set(made, number, true);
        }
        Ok(())
    }
}

/// Result of a piece of work.
#[derive(Default)]
struct Done {
    made: Vec<usize>,
    /// Objects that were not made, or not exactly.
    odd: Vec<(usize, Built)>,
    error: Option<(usize, RestoreError)>,
}

/// One thread at work.
struct Worker<'s, 'a> {
    site: &'s TreeWriter<'a>,
    reader: BlobReader,
    /// The directories that were filled last, by number; the last one in front.
    open: Vec<(usize, Dir)>,
}

impl<'s, 'a> Worker<'s, 'a> {
    fn new(site: &'s TreeWriter<'a>) -> Self {
        Self {
            site,
            reader: BlobReader::default(),
            open: Vec::with_capacity(OPEN),
        }
    }

    /// Builds what a run names. After a failure, here or elsewhere, only what comes before it in the order of paths is
    /// built still, so that the first failure in that order is always the one that is told.
    fn work(&mut self, run: &[usize], builder: &Builder<'_>, limit: &AtomicUsize) -> Done {
        let mut done = Done::default();
        for number in run.iter().copied() {
            let Some(object) = self.site.planned(number) else {
                continue;
            };
            if number >= limit.load(Ordering::Relaxed) {
                continue;
            }
            match self.build(object, builder) {
                Ok(built) if built.is_made && built.notes.is_empty() => done.made.push(number),
                Ok(built) => done.odd.push((number, built)),
                Err(error) => {
                    limit.fetch_min(if is_final(&error) { 0 } else { number }, Ordering::Relaxed);
                    if done.error.as_ref().is_none_or(|(first, _)| number < *first) {
                        done.error = Some((number, error));
                    }
                }
            }
        }
        done
    }

    fn build(&mut self, object: &Planned<'_>, builder: &Builder<'_>) -> Result<Built, RestoreError> {
        let mut reader = std::mem::take(&mut self.reader);
        let built = self
            .dir(object.folder)
            .map_err(|source| failed(object.path, source))
            .and_then(|dir| builder.build(dir, &object.name, object.path, object.entry, &mut reader));
        self.reader = reader;
        built
    }

    fn dir(&mut self, number: usize) -> io::Result<&Dir> {
        match self.open.iter().position(|(held, _)| *held == number) {
            Some(0) => {}
            Some(at) => self.open.swap(0, at),
            None => {
                let dir = self.site.dir(number)?;
                self.open.truncate(OPEN - 1);
                self.open.insert(0, (number, dir));
            }
        }
        let first = self.open.first().map(|(_, dir)| dir);
        first.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns true if no error of an earlier object would be reported instead: the operator stopped the restore, or no space is
/// left.
fn is_final(error: &RestoreError) -> bool {
    match error {
        RestoreError::Interrupted => true,
        RestoreError::Build { source, .. } => is_out_of_space(source),
        _ => false,
    }
}

fn set(made: &mut [bool], number: usize, is_made: bool) {
    if let Some(place) = made.get_mut(number) {
        *place = is_made;
    }
}
