//! The watcher itself: reads events, and answers checkpoints.
//!
//! It is exact by these facts. A change by a call has an event before the call returns, and all events are read before an answer. A
//! store through a mapping has none, but the file was opened for writing before, and its last close has an event. So nothing can be
//! stored unseen while no process has a file open for writing: processes are examined when something was opened since, after a rest.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::connection::{Line, listen};
use crate::clock::{Entropy, random};
use crate::contract::{Matcher, Verdict, why_unwatched};
use crate::model::{Coverage, InstanceId, RelPath, SnapshotId};
use crate::process::{Search, WriterSearch, cpu_time};
use crate::store::{InstanceRow, Layout};
use handle_fs::{Blindness, Enters, TreeWatch, letters, mount_table, remove_file_at, stat_path, uptime};

/// Time without an event after which processes are examined.
const QUIET: Duration = Duration::from_millis(200);
/// Interval at which it is checked whether the session goes on.
const LOOK: Duration = Duration::from_secs(1);
/// Longest time for which a caller's line is waited for.
const PATIENCE: Duration = Duration::from_millis(100);
/// Part of the time that examining processes may take: one of so many.
const SHARE: u32 = 20;

/// Serves as the watcher of a session until `is_over`, which is asked every second, or until its socket is gone.
///
/// # Errors
/// `Unsupported` for mounts that show not every change. The system's error, also if there are no watches left.
pub fn watch_changes(
    layout: &Layout,
    row: &InstanceRow,
    entropy: &dyn Entropy,
    is_over: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    if why_unwatched(&row.mounts).is_some() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut watcher = Watcher {
        matchers: row.mounts.iter().map(matcher).collect::<io::Result<_>>()?,
        watches: row.mounts.iter().map(watch).collect::<io::Result<_>>()?,
        roots: row
            .mounts
            .iter()
            .map(|coverage| coverage.root.to_path())
            .collect(),
        name: letters(random(entropy)),
        mounts: mount_table()?,
        remounts: 0,
        is_remounted: false,
        rest: None,
        unopened: None,
        examination: None,
        cost: Duration::ZERO,
        next: Duration::ZERO,
    };
    // Not before: a caller need not wait for what takes long.
    let mut socket = Socket::listen(layout, &row.id)?;
    let (mut looked, mut stirred) = (uptime(), uptime());
    loop {
        let nap = if watcher.is_calm() { LOOK } else { QUIET };
        TreeWatch::wait(&watcher.watches, &socket.listener, nap)?;
        let before = (watcher.token(), watcher.openings());
        watcher.read()?;
        if (watcher.token(), watcher.openings()) != before {
            stirred = uptime();
        }
        while let Ok((stream, _)) = socket.listener.accept() {
            if !watcher.serve(stream)? {
                return Ok(());
            }
        }
        if uptime().saturating_sub(stirred) >= QUIET {
            if watcher.is_replaced() {
                return Ok(());
            }
            if watcher.must_renew() {
                drop(socket);
                watcher.renew()?;
                socket = Socket::listen(layout, &row.id)?;
            }
            watcher.examine(&socket.listener)?;
        }
        if uptime().saturating_sub(looked) >= LOOK {
            looked = uptime();
            if is_over() || !socket.is_named() {
                return Ok(());
            }
        }
    }
}

fn watch(coverage: &Coverage) -> io::Result<TreeWatch<'static>> {
    let matcher = matcher(coverage)?;
    let enters: Enters<'static> = Box::new(move |path| match matcher.verdict(path, true) {
        Verdict::Covered => true,
        Verdict::OutsideTracked => matcher.is_on_the_way(path),
        Verdict::Excluded(_) | Verdict::Withheld(_) => false,
    });
    TreeWatch::begin(&coverage.root.to_path(), enters)
}

fn matcher(coverage: &Coverage) -> io::Result<Matcher> {
    Matcher::new(coverage).map_err(io::Error::other)
}

/// The socket, which goes with the watcher.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
    ino: Option<u64>,
}

impl Socket {
    fn listen(layout: &Layout, id: &InstanceId) -> io::Result<Self> {
        let listener = listen(layout, id)?;
        let path = layout.watcher(id);
        let ino = ino(&path);
        Ok(Self { listener, path, ino })
    }

    fn is_named(&self) -> bool {
        self.ino.is_some() && ino(&self.path) == self.ino
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Another watcher may have taken the place.
        if self.is_named() {
            drop(remove_file_at(&self.path));
        }
    }
}

fn ino(path: &Path) -> Option<u64> {
    Some(stat_path(path).ok()??.ino)
}

struct Watcher<'a> {
    /// One for each mount.
    watches: Vec<TreeWatch<'a>>,
    roots: Vec<PathBuf>,
    matchers: Vec<Matcher>,
    /// Part of each token, so that those of another watcher are not taken.
    name: String,
    /// Table of mounts, as it was read last.
    mounts: Vec<u8>,
    /// Number of times that this changed.
    remounts: u64,
    /// True if a directory may have come to light since the trees were read.
    is_remounted: bool,
    /// Snapshot whose files a walk after the token found.
    rest: Option<(SnapshotId, String)>,
    /// Number of openings before which no process that has a file open for writing was found.
    unopened: Option<u64>,
    /// Search for writers that goes on, with the number of openings before it.
    examination: Option<(u64, WriterSearch)>,
    /// Processor time that it has taken.
    cost: Duration,
    /// Time before which no other one begins.
    next: Duration,
}

impl Watcher<'_> {
    fn token(&self) -> String {
        let changes: u64 = self.watches.iter().map(TreeWatch::changes).sum();
        format!("{}-{}", self.name, changes + self.remounts)
    }

    fn openings(&self) -> u64 {
        self.watches.iter().map(TreeWatch::openings).sum()
    }

    fn is_blind(&self) -> bool {
        self.is_remounted || self.watches.iter().any(|watch| watch.blindness().is_some())
    }

    /// Returns true if there is nothing to find out.
    fn is_calm(&self) -> bool {
        !self.is_blind() && self.unopened == Some(self.openings())
    }

    /// Returns true if a file is in a snapshot.
    fn counts(&self, path: &Path) -> bool {
        self.roots.iter().zip(&self.matchers).any(|(root, matcher)| {
            let Ok(below) = path.strip_prefix(root) else {
                return false;
            };
            let below = RelPath::new(below.as_os_str().as_bytes());
            below.map_or(true, |below| {
                matcher.verdict_with_parents(&below, false) == Verdict::Covered
            })
        })
    }

    /// Reads all events. Returns false if there may be more.
    fn read(&mut self) -> io::Result<bool> {
        let mut is_whole = true;
        for watch in &mut self.watches {
            is_whole &= watch.read()?;
        }
        Ok(is_whole)
    }

    /// Answers one caller. Returns false if that was the end of the session.
    fn serve(&mut self, mut stream: UnixStream) -> io::Result<bool> {
        let answer = match Line::receive(&mut stream, PATIENCE) {
            Ok(Line::Ask(snapshot)) => self.answer(&snapshot)?,
            Ok(Line::Rest(snapshot, token)) => {
                self.rest = Some((snapshot, token));
                Line::Unknown
            }
            Ok(Line::End) => {
                drop(Line::Unknown.send(&mut stream, PATIENCE));
                return Ok(false);
            }
            _ => Line::Unknown,
        };
        drop(answer.send(&mut stream, PATIENCE));
        Ok(true)
    }

    fn answer(&mut self, snapshot: &SnapshotId) -> io::Result<Line> {
        let mounts = mount_table()?;
        if mounts != self.mounts {
            self.mounts = mounts;
            self.remounts += 1;
            self.is_remounted = true;
        }
        let is_whole = self.read()?;
        if !is_whole || self.is_blind() {
            return Ok(Line::Unknown);
        }
        let token = self.token();
        let is_same = |(rested, since): &(SnapshotId, String)| rested == snapshot && *since == token;
        Ok(match self.rest.as_ref().is_some_and(is_same) && self.is_calm() {
            true => Line::Same,
            false => Line::Walk(token),
        })
    }

    /// Returns true if a directory has lost its path for good.
    fn is_replaced(&self) -> bool {
        let mut all = self.watches.iter();
        all.any(|watch| watch.blindness() == Some(Blindness::Replaced))
    }

    /// Returns true if a tree must be read again.
    fn must_renew(&self) -> bool {
        let mut all = self.watches.iter();
        self.is_remounted || all.any(|watch| watch.blindness() == Some(Blindness::Stale))
    }

    fn renew(&mut self) -> io::Result<()> {
        for watch in &mut self.watches {
            if self.is_remounted || watch.blindness() == Some(Blindness::Stale) {
                watch.renew()?;
            }
        }
        self.is_remounted = false;
        Ok(())
    }

    /// Goes on to examine processes until a caller comes, if something was opened since.
    fn examine(&mut self, callers: &UnixListener) -> io::Result<()> {
        let before = self.openings();
        if self.unopened == Some(before) {
            return Ok(());
        }
        let mut search = match self.examination.take() {
            Some((openings, search)) if openings == before => search,
            _ if uptime() < self.next => return Ok(()),
            _ => {
                self.cost = Duration::ZERO;
                WriterSearch::begin(&self.roots)?
            }
        };
        let began = cpu_time();
        let has_caller = || TreeWatch::wait(&[], callers, Duration::ZERO).unwrap_or(true);
        let found = search.go_on(&|path| self.counts(path), &has_caller);
        self.cost += cpu_time().saturating_sub(began);
        self.next = uptime() + self.cost * SHARE;
        match found {
            Search::Stopped => self.examination = Some((before, search)),
            Search::Nothing => self.unopened = Some(before),
            Search::Found => {}
        }
        Ok(())
    }
}
