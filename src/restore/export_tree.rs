//! Writes a snapshot into a directory of its own, with the recorded times, and touches nothing else. A new directory appears when it is
//! complete; one that existed bears a mark until then.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::problem::Problem;
use super::reflink::Twins;
use super::scope::Scope;
use super::stage::make_private;
use super::tree_writer::{Builder, Origin, Times, TreeWriter};
use super::verify::read_back;
use super::{RestoreError, left};
use crate::clock::letters;
use crate::contract::STAGING_PREFIX;
use crate::model::{Entry, EntryKind, Manifest, Name, RelPath, add_sizes};
use crate::observer::{Observer, Phase};
use crate::store::Blobs;
use handle_fs::remote::{Transports, above, is_elsewhere};
use handle_fs::{Dir, NodeKind, Root, Stat, fold_name, stored_name};

/// Result of writing a tree into a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Paths, in order.
    pub paths: Vec<RelPath>,
    /// Paths that could not be written, or not exactly, with the reason.
    pub problems: Vec<(RelPath, Problem)>,
    /// Number of paths that this user may not read once they are written. They were compared during the write and not read back.
    pub unread: u64,
}

/// Writes what `scope` takes of `manifest` into `directory`, which must be absent or empty but for the mark of an [`OutputDir`]. A
/// directory made here is open to its owner only.
///
/// [`OutputDir`]: super::OutputDir
///
/// # Errors
/// [`RestoreError::NotEmpty`], or what keeps an object from being made; then what was made here is removed again, and
/// [`RestoreError::Left`] says so when something else came there meanwhile.
pub fn write_to(
    directory: &Path,
    manifest: &Manifest,
    scope: &Scope,
    blobs: &Blobs,
    observer: &dyn Observer,
) -> Result<Written, RestoreError> {
    write(directory, manifest, scope, blobs, observer, false)
}

/// Writes a tree like [`write_to`], then reads every path back. A difference from the manifest becomes a problem.
///
/// # Errors
/// As [`write_to`].
pub fn write_verified(
    directory: &Path,
    manifest: &Manifest,
    scope: &Scope,
    blobs: &Blobs,
    observer: &dyn Observer,
) -> Result<Written, RestoreError> {
    write(directory, manifest, scope, blobs, observer, true)
}

/// Removes what was written into `directory`, which was made for it: another mount of the same snapshot could not be written.
///
/// # Errors
/// [`RestoreError::Settle`] when something else came there meanwhile; that stays.
pub fn take_away(
    transports: &Transports,
    directory: &Path,
    manifest: &Manifest,
    scope: &Scope,
) -> Result<(), RestoreError> {
    let gone = || {
        let name = directory.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = Dir::open(transports, above(directory).unwrap_or(directory))?;
        clear(&parent.dir(name)?, &wanted(manifest, scope))?;
        handle_fs::remove_dir(&parent, name)
    };
    gone().map_err(|source| RestoreError::Settle {
        path: directory.to_path_buf(),
        source,
    })
}

fn write(
    directory: &Path,
    manifest: &Manifest,
    scope: &Scope,
    blobs: &Blobs,
    observer: &dyn Observer,
    verified: bool,
) -> Result<Written, RestoreError> {
    let fail = |source| RestoreError::Stage {
        path: directory.to_path_buf(),
        source,
    };
    // The directory that it is made in, unless it is there.
    let (top, made) = match there(blobs.transports(), directory).map_err(fail)? {
        Some(top) => (top, None),
        None => {
            let name = directory
                .file_name()
                .ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?;
            let parent =
                Dir::open(blobs.transports(), above(directory).unwrap_or(directory)).map_err(fail)?;
            handle_fs::make_dir(&parent, name).map_err(fail)?;
            (parent.dir(name).map_err(fail)?, Some((parent, name)))
        }
    };
    if !is_empty(&top).map_err(fail)? {
        return Err(RestoreError::NotEmpty(directory.to_path_buf()));
    }
    let mut wanted = wanted(manifest, scope);
    // That of a new file system is its own.
    if has_lost_and_found(&top).map_err(fail)? {
        let its_own = RelPath::new(LOST_AND_FOUND.as_bytes()).ok();
        wanted.retain(|(path, _)| {
            !its_own
                .as_ref()
                .is_some_and(|own| path.is_within(own) || path == own)
        });
    }
    if let Some((path, other)) = one_name(&top, &wanted).map_err(fail)? {
        let error = RestoreError::OneName {
            directory: directory.to_path_buf(),
            path,
            other,
        };
        let gone = made.map_or(Ok(()), |(parent, name)| handle_fs::remove_dir(&parent, name));
        return Err(left(
            error,
            gone.map_err(|source| RestoreError::Settle {
                path: directory.to_path_buf(),
                source,
            }),
        ));
    }
    observer.begin(Phase::Stage);
    let contents = manifest.entries().filter(|(path, _)| scope.holds(path));
    let contents = contents.filter_map(|(_, entry)| entry.content());
    let (files, bytes) = contents.fold((0, 0), |(files, bytes), content| {
        (files + 1, add_sizes(bytes, content.size))
    });
    observer.expect(files, bytes);
    let mut builder = Builder {
        blobs,
        observer,
        times: Times::Recorded,
        twins: Twins::default(),
        problems: Vec::new(),
    };
    let result = fill(&top, &wanted, &mut builder);
    observer.end();
    let check = |paths: Vec<RelPath>| {
        handle_fs::sync_file_system(&top).map_err(fail)?;
        let mut written = Written {
            paths,
            problems: std::mem::take(&mut builder.problems),
            unread: 0,
        };
        if verified {
            observer.reached("fork-written");
            check_written((blobs.transports(), directory), manifest, &mut written, observer)?;
            let renamed = renamed(&top, &written.paths).map_err(fail)?;
            let problem = || Problem::new("is kept under another name there");
            written
                .problems
                .extend(renamed.into_iter().map(|path| (path, problem())));
        }
        Ok(written)
    };
    match result.and_then(check) {
        Ok(written) => Ok(written),
        Err(cause) => {
            let cause = taken_name(&top, directory, cause);
            let emptied = clear(&top, &wanted);
            let gone = match (emptied, &made) {
                (Ok(()), Some((parent, name))) => handle_fs::remove_dir(parent, name),
                (other, _) => other,
            };
            Err(left(
                cause,
                gone.map_err(|source| RestoreError::Settle {
                    path: directory.to_path_buf(),
                    source,
                }),
            ))
        }
    }
}

/// Returns two of the wanted paths that are one name in the empty directory `top`. It is asked only if some differ in case alone.
fn one_name(top: &Dir, wanted: &[(RelPath, &Entry)]) -> io::Result<Option<(RelPath, RelPath)>> {
    let folded = |path: &RelPath| {
        let (above, name) = path.halves();
        [above, b"/", &*fold_name(name)].concat()
    };
    let is_plain = |path: &RelPath| fold_name(path.halves().1) == path.halves().1;
    // Of two such names one at least is not in small letters.
    let mut alike: HashMap<Vec<u8>, Vec<&RelPath>> = HashMap::new();
    for (path, _) in wanted.iter().filter(|(path, _)| !is_plain(path)) {
        alike.entry(folded(path)).or_default().push(path);
    }
    if alike.is_empty() {
        return Ok(None);
    }
    for (path, _) in wanted.iter().filter(|(path, _)| is_plain(path)) {
        if let Some(paths) = alike.get_mut(&folded(path)) {
            paths.push(path);
        }
    }
    let mut pairs: Vec<(&RelPath, &RelPath)> = alike
        .values()
        .flat_map(|paths| paths.iter().zip(paths.iter().skip(1)))
        .map(|(one, other)| (*one.min(other), *one.max(other)))
        .collect();
    pairs.sort();
    for (one, other) in pairs {
        let [name, same] = [one, other].map(|path| OsStr::from_bytes(path.halves().1));
        handle_fs::make_dir(top, name)?;
        let found = top.look(same);
        handle_fs::remove_dir(top, name)?;
        if found?.is_some() {
            return Ok(Some((one.clone(), other.clone())));
        }
    }
    Ok(None)
}

/// Returns the error that names both paths, if one could not be made because the directory takes its name for that of another one. What
/// differs in case was found before; what differs in how a letter is composed is found here.
fn taken_name(top: &Dir, directory: &Path, cause: RestoreError) -> RestoreError {
    let RestoreError::Build { path, source } = &cause else {
        return cause;
    };
    if source.kind() != io::ErrorKind::AlreadyExists {
        return cause;
    }
    let other = || {
        let (parent, name) = path.split()?;
        let stored = stored_name(&top.dir_below(&parent).ok()?, name.as_os_str()).ok()??;
        let stored = Name::new(stored.as_bytes()).ok()?;
        (stored != name).then(|| parent.join(&stored))
    };
    match other() {
        Some(other) => RestoreError::OneName {
            directory: directory.to_path_buf(),
            path: path.clone(),
            other,
        },
        None => cause,
    }
}

/// Returns the written paths that their directories keep under another name: FAT drops dots at the end of one, HFS+ takes letters
/// apart. Such a name leads to the file, so only a listing shows it.
fn renamed(top: &Dir, written: &[RelPath]) -> io::Result<Vec<RelPath>> {
    let may_differ = |name: &[u8]| !name.is_ascii() || name.ends_with(b".") || name.ends_with(b" ");
    let mut renamed = Vec::new();
    let mut listed: Option<(RelPath, HashSet<Name>)> = None;
    for path in written {
        let Some((parent, name)) = path.split().filter(|(_, name)| may_differ(name.as_bytes())) else {
            continue;
        };
        if listed.as_ref().is_none_or(|(dir, _)| *dir != parent) {
            let names = match top.dir_below(&parent).and_then(|dir| dir.names()) {
                Ok(names) => names,
                // Written as one that this user may not list.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(error) => return Err(error),
            };
            listed = Some((parent, names.into_iter().collect()));
        }
        if listed.as_ref().is_some_and(|(_, names)| !names.contains(&name)) {
            renamed.push(path.clone());
        }
    }
    Ok(renamed)
}

/// Compares what was written with the manifest. What is known not to be exact is told already.
fn check_written(
    (transports, directory): (&Transports, &Path),
    manifest: &Manifest,
    written: &mut Written,
    observer: &dyn Observer,
) -> Result<(), RestoreError> {
    let told: HashSet<&RelPath> = written.problems.iter().map(|(path, _)| path).collect();
    let paths: Vec<&RelPath> = written.paths.iter().filter(|path| !told.contains(path)).collect();
    let seen = read_back(&Root::open(transports, directory)?, manifest, &paths, observer);
    if observer.cancelled() {
        return Err(RestoreError::Interrupted);
    }
    let differ = || Problem::new("was written, and does not read back as the snapshot has it");
    let differ: Vec<_> = seen.differ.into_iter().map(|path| (path, differ())).collect();
    written.unread = seen.unread;
    written.problems.extend(differ);
    Ok(())
}

/// Removes what was written of `written` below `top`, and nothing that others put there: an entry is jackin's
/// if it has the recorded time, which is the last thing that an object gets. Of directories only empty ones go.
fn clear(top: &Dir, written: &[(RelPath, &Entry)]) -> io::Result<()> {
    let dirs = || written.iter().filter(|(_, entry)| entry.is_dir());
    for (path, _) in dirs() {
        // What it was to be in the end may keep us out.
        let _ = open_up(top, path);
    }
    for (path, entry) in written.iter().rev() {
        // What is not as it was made stays, and so does the directory that it lies in.
        let _ = remove(top, path, entry);
    }
    let names = top.names()?;
    let is_ours = |name: &OsStr| is_mark(name) || name == LOST_AND_FOUND;
    match names.iter().find(|name| !is_ours(name.as_os_str())) {
        None => Ok(()),
        Some(name) => Err(io::Error::other(format!(
            "{name:?} in it is nothing that was written here"
        ))),
    }
}

fn open_up(top: &Dir, path: &RelPath) -> io::Result<()> {
    let Some((parent, name)) = path.split() else {
        return Ok(());
    };
    let dir = top.dir_below(&parent)?;
    let mode = dir.look(name.as_os_str())?.map_or(0o700, |stat| stat.mode);
    if mode & 0o700 == 0o700 {
        return Ok(());
    }
    handle_fs::chmod_handle(&dir.dir(name.as_os_str())?, 0o700)
}

fn remove(top: &Dir, path: &RelPath, entry: &Entry) -> io::Result<()> {
    let Some((parent, name)) = path.split() else {
        return Ok(());
    };
    let (dir, name) = (top.dir_below(&parent)?, name.as_os_str());
    if entry.is_dir() {
        return handle_fs::remove_dir(&dir, name);
    }
    match dir.look(name)? {
        Some(stat) if is_written(entry, &stat) => handle_fs::remove_file(&dir, name),
        _ => Ok(()),
    }
}

/// Returns true if an object has the recorded time, or that time as a file system keeps it that has only whole seconds, or every other one,
/// and the recorded size.
fn is_written(entry: &Entry, stat: &Stat) -> bool {
    if entry.mtime == stat.mtime {
        return true;
    }
    let is_rounded =
        stat.mtime.nsec == 0 && matches!(entry.mtime.sec.checked_sub(stat.mtime.sec), Some(0 | 1));
    is_rounded && entry.content().is_none_or(|content| content.size == stat.size)
}

fn fill(
    top: &Dir,
    wanted: &[(RelPath, &Entry)],
    builder: &mut Builder<'_>,
) -> Result<Vec<RelPath>, RestoreError> {
    let mut site = TreeWriter::new(top);
    // The numbers of what is planned: the directories on the way down, the first of each hard link group, everything.
    let mut way: Vec<(&RelPath, usize)> = Vec::new();
    let mut groups: HashMap<&RelPath, usize> = HashMap::new();
    let mut numbers: Vec<Option<usize>> = Vec::with_capacity(wanted.len());
    for (path, entry) in wanted {
        while way.pop_if(|(above, _)| !path.is_within(above)).is_some() {}
        let within = way.last().map_or(TreeWriter::TOP, |(_, number)| *number);
        let name = entry.name.as_os_str();
        if entry.is_dir() {
            way.push((path, site.folder(within, name, path, entry)?));
            numbers.push(None);
            continue;
        }
        let leader = entry.link.as_ref().unwrap_or(path);
        let first = groups.get(leader).filter(|_| entry.nlink > 1);
        let origin = first.map_or(Origin::Store, |first| Origin::NameOf(*first));
        let number = site.object(within, Cow::Borrowed(name), path, entry, origin);
        if entry.nlink > 1 && origin == Origin::Store {
            groups.insert(leader, number);
        }
        numbers.push(Some(number));
    }
    site.make_folders()?;
    let made = site.fill(builder)?;
    site.finish_folders(builder)?;
    let is_made: Vec<bool> = numbers
        .iter()
        .map(|number| number.is_none_or(|number| made.get(number).copied().unwrap_or(false)))
        .collect();
    drop(site);
    let paths = wanted.iter().map(|(path, _)| path).zip(is_made);
    Ok(paths
        .filter(|(_, is_made)| *is_made)
        .map(|(path, _)| path.clone())
        .collect())
}

/// Returns the entries that `scope` selects, sorted by path, with the directories that lead to them. Sockets are skipped: only
/// the program that listens on a socket can create it.
fn wanted<'a>(manifest: &'a Manifest, scope: &Scope) -> Vec<(RelPath, &'a Entry)> {
    // A directory on the way to a wanted path is wanted as well.
    let mut needed: HashSet<RelPath> = HashSet::new();
    if *scope != Scope::All {
        for dir in &manifest.directories {
            if dir
                .entries
                .iter()
                .any(|entry| scope.holds(&dir.path.join(&entry.name)))
            {
                needed.extend(dir.path.ancestors());
                needed.insert(dir.path.clone());
            }
        }
    }
    let mut wanted = Vec::new();
    let entries = |path: &RelPath| manifest.directory(path).map(|dir| (dir, dir.entries.iter()));
    let mut open: Vec<_> = entries(&RelPath::root()).into_iter().collect();
    while let Some((dir, left)) = open.last_mut() {
        let Some(entry) = left.next() else {
            open.pop();
            continue;
        };
        let path = dir.path.join(&entry.name);
        let is_wanted = scope.holds(&path) || needed.contains(&path);
        if !is_wanted || entry.kind == EntryKind::Socket {
            continue;
        }
        if entry.is_dir() {
            open.extend(entries(&path));
        }
        wanted.push((path, entry));
    }
    wanted
}

/// Name of the mark in a directory that already existed, until everything is written. No snapshot holds such a name.
const MARK: &str = "unfinished";

/// A directory that is being written. Dropped without [`OutputDir::finish`] it is removed when it is
/// empty; else it keeps its first name, or its mark.
pub struct OutputDir {
    top: Dir,
    path: PathBuf,
    /// Names for the final rename; `None` if the directory already existed.
    naming: Option<Naming>,
    done: bool,
}

/// A directory that has another name until it is whole.
struct Naming {
    parent: Dir,
    draft: OsString,
    name: OsString,
}

impl OutputDir {
    /// Makes room for what shall become `directory`, which must be absent or empty. `random` makes its first name.
    ///
    /// # Errors
    /// [`RestoreError::NotEmpty`], [`RestoreError::Stage`].
    pub fn make(transports: &Transports, directory: &Path, random: [u8; 8]) -> Result<Self, RestoreError> {
        Self::called(
            transports,
            directory,
            &format!("{STAGING_PREFIX}{}", letters(random)),
        )
    }

    /// The same, under a first name that the caller knows it by. No snapshot may hold such a name.
    ///
    /// # Errors
    /// As [`OutputDir::make`].
    pub fn called(transports: &Transports, directory: &Path, draft: &str) -> Result<Self, RestoreError> {
        let fail = |source| RestoreError::Stage {
            path: directory.to_path_buf(),
            source,
        };
        if let Some(top) = there(transports, directory).map_err(fail)? {
            if !is_empty(&top).map_err(fail)? || top.look(&mark()).map_err(fail)?.is_some() {
                return Err(RestoreError::NotEmpty(directory.to_path_buf()));
            }
            handle_fs::create_file(&top, &mark()).map_err(fail)?;
            // The mark is to be there for whoever looks after a power cut.
            handle_fs::sync_directory(&top).map_err(fail)?;
            return Ok(Self {
                top,
                path: directory.to_path_buf(),
                naming: None,
                done: false,
            });
        }
        let above = above(directory).unwrap_or(directory);
        let naming = Naming {
            parent: Dir::open(transports, above).map_err(fail)?,
            draft: OsString::from(draft),
            name: directory.file_name().unwrap_or_default().to_owned(),
        };
        let top = make_private(&naming.parent, &naming.draft).map_err(|(source, _)| fail(source))?;
        Ok(Self {
            top,
            path: above.join(&naming.draft),
            naming: Some(naming),
            done: false,
        })
    }

    /// Returns the directory to write into.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets only its owner in, and makes it this user's and group's, whatever its mode was.
    ///
    /// # Errors
    /// [`RestoreError::Stage`].
    pub fn make_private(&self, owner: Option<(u32, u32)>) -> Result<(), RestoreError> {
        let change = || {
            handle_fs::chmod_handle(&self.top, 0o700)?;
            match owner {
                Some((uid, gid)) => handle_fs::chown_handle(&self.top, uid, gid),
                None => Ok(()),
            }
        };
        change().map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })
    }

    /// Everything is written and on disk: it gets its name, or loses its mark.
    ///
    /// # Errors
    /// [`RestoreError::Stage`]; `AlreadyExists` when something else took the name meanwhile.
    pub fn finish(mut self) -> Result<(), RestoreError> {
        let finish = || match &self.naming {
            Some(Naming { parent, draft, name }) => {
                // The name was free when the draft was made. What another process has put there since is not replaced.
                handle_fs::rename_new(parent, draft, parent, name)?;
                handle_fs::sync_directory(parent)
            }
            None => {
                handle_fs::remove_file(&self.top, &mark())?;
                handle_fs::sync_directory(&self.top)
            }
        };
        finish().map_err(|source| RestoreError::Stage {
            path: self.path.clone(),
            source,
        })?;
        self.done = true;
        Ok(())
    }
}

impl Drop for OutputDir {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // The error that led here is the one to report.
        match &self.naming {
            // What was written is removed by who wrote it; anything else in it stays, and keeps it.
            Some(Naming { parent, draft, .. }) => drop(handle_fs::remove_dir(parent, draft)),
            // As long as anything lies in it, it says that it is not finished.
            None => {
                if is_empty(&self.top).unwrap_or(false) {
                    drop(handle_fs::remove_file(&self.top, &mark()));
                }
            }
        }
    }
}

/// A directory that is there already. That of a volume has nothing above it that could be opened.
pub(super) fn there(transports: &Transports, directory: &Path) -> io::Result<Option<Dir>> {
    if is_elsewhere(directory) {
        return match Dir::open(transports, directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        };
    }
    let parent = Dir::open(transports, above(directory).unwrap_or(directory))?;
    let name = directory.file_name().unwrap_or_default();
    match parent.look(name)? {
        Some(_) => parent.dir(name).map(Some),
        None => Ok(None),
    }
}

/// Returns true if a directory is empty, except for the mark and what a new file system contains.
///
/// # Errors
/// An I/O error if the directory cannot be read.
pub fn is_empty(directory: &Dir) -> io::Result<bool> {
    for name in directory.names()? {
        let name = name.as_os_str();
        let is_nothing = is_mark(name) || name == LOST_AND_FOUND && has_lost_and_found(directory)?;
        if !is_nothing {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Directory in a new ext4 file system (mklost+found(8)), into which fsck puts recovered files.
const LOST_AND_FOUND: &str = "lost+found";

/// Returns true if a directory contains a `lost+found` that belongs to root and is closed to all others.
fn has_lost_and_found(directory: &Dir) -> io::Result<bool> {
    let found = directory.look(LOST_AND_FOUND.as_ref())?;
    Ok(found.is_some_and(|stat| stat.kind == NodeKind::Directory && stat.uid == 0 && stat.mode & 0o077 == 0))
}

/// Returns true if `name` is the name of the mark.
fn is_mark(name: &OsStr) -> bool {
    name == mark()
}

/// Returns the name of the mark in an existing directory that a copy is being written into.
#[must_use]
pub fn mark() -> OsString {
    OsString::from(format!("{STAGING_PREFIX}{MARK}"))
}
