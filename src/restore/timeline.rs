//! States of a mount during a session, with the authors of each change.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::RestoreError;
use super::activity::Activity;
use super::authorship::{Authors, Look, authors, may_be_of_others_call};
use super::look_state::{OmittedPaths, State, omitted_paths, state_of};
use super::lost_edits::{OperatorState, PathEdits};
use super::moved_work::{MIN_RECOGNIZED_SIZE, MoveStep, Possible, moved_work};
use super::session_moments::{PathMoment, SessionMoments};
use super::states::same;
use crate::model::{
    AgentEvent, Content, Coverage, Digest, Directory, Entry, InstanceId, Manifest, RelPath, SnapshotId,
};
use crate::store::{AgentEventRow, InstanceRow, Store};
use handle_fs::Locations;

/// Author of the changes of a path since the target of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Author {
    /// The session; or no change was seen.
    Session,
    /// Only these other sessions, or the operator between turns.
    Others(Vec<InstanceId>),
    /// The session, and these or the operator between turns; or it is unknown which of them.
    Both(Vec<InstanceId>),
}

/// Moment whose state of the files a restore brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// Before the target of the restore that is judged.
    BeforeTarget,
    /// At the look with this position.
    Look(usize),
    /// At no look: others may have worked before it, as before an emergency snapshot.
    Unknown,
}

/// States of one mount during a session, oldest first, and who may have changed them.
#[derive(Default)]
pub struct Timeline {
    /// The session itself, then those that overlap with it.
    sessions: Vec<InstanceId>,
    /// Positions of the other sessions of the same conversation: what they did is the same agent's work.
    siblings: Vec<usize>,
    activities: Vec<Activity>,
    looks: Vec<(Look, SnapshotId)>,
    steps: Vec<Step>,
    /// Snapshots that the session's own looks found before the target.
    older: HashSet<SnapshotId>,
    /// States, as far as they can be read.
    states: HashMap<SnapshotId, State>,
    /// Root of the mount on the host, without links.
    root: PathBuf,
    /// Contents that others than the session may have made, and that the target does not have: wherever they lie now, they may be the only copy.
    foreign: HashSet<Digest>,
    /// States of what others than the session made and the session moved, by the path where a look found it.
    moved: HashMap<RelPath, Vec<Entry>>,
    /// The snapshot that shows the files as the session's agent left them, if it waited for the operator then and did nothing afterwards.
    pub(super) at_rest: Option<SnapshotId>,
}

/// From a look to a later one that found something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// Position of the look.
    before: usize,
    /// Position of the later look.
    after: usize,
    /// True if only the session itself can have changed anything.
    is_own: bool,
}

/// A look that shows the whole mount.
#[derive(Clone, Copy)]
struct Whole<'t> {
    /// Position of the look.
    at: usize,
    look: &'t Look,
    snapshot: &'t SnapshotId,
    manifest: &'t Manifest,
}

/// From a look that shows the whole mount to the next one that does. Looks between them show a part of it, or their snapshots are gone.
struct Span<'t> {
    before: Whole<'t>,
    after: Whole<'t>,
    steps: Vec<Step>,
}

impl Span<'_> {
    /// Returns true if only the session itself can have changed anything.
    fn is_own(&self) -> bool {
        self.steps.iter().all(|step| step.is_own)
    }
}

impl Timeline {
    /// Returns when the session's files were first found as a snapshot of it shows them.
    pub(super) fn moment(&self, snapshot: &SnapshotId) -> Moment {
        let is_it = |(look, found): &(Look, SnapshotId)| look.by == 0 && found == snapshot;
        match self.looks.iter().position(is_it) {
            Some(at) => Moment::Look(at),
            None if self.older.contains(snapshot) => Moment::BeforeTarget,
            None => Moment::Unknown,
        }
    }

    /// Returns the last look before a receipt.
    pub(super) fn moment_before(&self, receipt: u64) -> Moment {
        let before = self.looks.iter().take_while(|(look, _)| look.number < receipt);
        match before.count().checked_sub(1) {
            Some(at) => Moment::Look(at),
            None => Moment::BeforeTarget,
        }
    }

    /// Returns who changed a path since the first look, and before the one at the position `until`. `then` is the state that a restore brings
    /// back: what the operator made of a path, and is brought back, is not lost.
    pub(super) fn author(&self, path: &RelPath, then: Option<&Entry>, until: Option<usize>) -> Author {
        let mut all = Authors::default();
        let mut pending = Authors::default();
        let mut last = self.steps.first().and_then(|step| self.state(step.before, path));
        let host = path.on_host(&self.root);
        let is_before = |step: &&Step| until.is_none_or(|until| step.before < until);
        for step in self.steps.iter().take_while(is_before) {
            let now = self.state(step.after, path);
            // Who may have changed it is asked only where it was changed.
            if let (Some(was), Some(found)) = (last, now)
                && same(was, found)
            {
                (last, pending) = (now, Authors::default());
                continue;
            }
            let has_names = [last.flatten(), now.flatten()]
                .into_iter()
                .flatten()
                .any(|entry| !entry.is_dir() && entry.nlink > 1);
            pending.add(&self.authors(*step, Some(path), &host, has_names));
            let Some(now) = now else { continue };
            let was = last.replace(now);
            if was.is_none_or(|was| !same(was, now)) {
                // A state that is brought back loses nothing that the operator made.
                let kept = pending.operator && !pending.own && pending.others.is_empty() && same(now, then);
                if !kept {
                    all.add(&pending);
                }
            }
            pending = Authors::default();
        }
        let named = |others: &[usize]| -> Vec<InstanceId> {
            others
                .iter()
                .filter_map(|at| self.sessions.get(*at).cloned())
                .collect()
        };
        match &all {
            all if *all == Authors::default() || all.is_own() => Author::Session,
            all if all.own => Author::Both(named(&all.others)),
            all => Author::Others(named(&all.others)),
        }
    }

    /// Returns true if a file has a content that others than the session may have made.
    pub(super) fn is_foreign(&self, now: &Entry) -> bool {
        now.content()
            .is_some_and(|content| self.foreign.contains(&content.digest))
    }

    /// Returns true for something that others than the session made, and that the session moved to `path`.
    pub(super) fn is_moved_work(&self, path: &RelPath, now: &Entry) -> bool {
        let mut states = self.moved.get(path).into_iter().flatten();
        states.any(|state| same(Some(state), Some(now)))
    }

    /// Returns the states of what others made and the session moved, by path. `read` returns a content of a snapshot.
    fn moved(&self, read: &dyn Fn(&SnapshotId, &Content) -> Option<Vec<u8>>) -> HashMap<RelPath, Vec<Entry>> {
        let spans = self.spans();
        let steps = spans.iter().map(|span| MoveStep {
            before: span.before.manifest,
            after: span.after.manifest,
            is_own: span.is_own(),
        });
        let steps: Vec<MoveStep<'_>> = steps.collect();
        let authors = |at: usize, path: &RelPath, entry: &Entry| {
            let has_names = !entry.is_dir() && entry.nlink > 1;
            let found = spans
                .get(at)
                .map(|span| self.authors_over(&span.steps, path, has_names));
            found.map_or(Possible::default(), |found| Possible {
                own: found.own,
                others: !found.is_own(),
            })
        };
        let read = |at: usize, content: &Content| read(spans.get(at)?.after.snapshot, content);
        moved_work(&steps, &authors, &read)
    }

    /// Returns the contents that others than the session may have made, without those of the target.
    fn foreign(&self) -> HashSet<Digest> {
        let mut found = HashSet::new();
        for span in self.spans().iter().filter(|span| !span.is_own()) {
            for (dir, entry, content) in recognized(span.after.manifest) {
                let was = span.before.manifest.directory(&dir.path);
                let was = was
                    .and_then(|was| was.entry(&entry.name))
                    .and_then(Entry::content);
                if was.is_some_and(|was| was.digest == content.digest) || found.contains(&content.digest) {
                    continue;
                }
                let path = dir.path.join(&entry.name);
                if !self.authors_over(&span.steps, &path, entry.nlink > 1).is_own() {
                    found.insert(content.digest);
                }
            }
        }
        for (at, step) in self.steps.iter().enumerate().filter(|(_, step)| !step.is_own) {
            if let Some(state) = self.state_at(step.after).filter(|state| !state.is_whole) {
                self.foreign_in_part(at, state, &mut found);
            }
        }
        if let Some(target) = self.state_at(0) {
            let entries = target.manifest.directories.iter().flat_map(|dir| &dir.entries);
            for content in entries.filter_map(Entry::content) {
                found.remove(&content.digest);
            }
        }
        found
    }

    /// Adds the contents that the end of the step at a position shows in a part of the mount, or below another root, and that others than the
    /// session may have made.
    fn foreign_in_part(&self, at: usize, state: &State, found: &mut HashSet<Digest>) {
        let Some((earlier, [step, ..])) = self.steps.split_at_checked(at) else {
            return;
        };
        let like = |look: &State| look.roots == state.roots && !look.is_whole;
        let mut before = (0..=step.before).rev();
        let previous = before.find_map(|look| self.state_at(look).filter(|look| like(look)));
        for (dir, entry, content) in recognized(&state.manifest) {
            // Nothing in it was changed since.
            let was = previous.and_then(|previous| previous.manifest.directory(&dir.path));
            if was.is_some_and(|was| Arc::ptr_eq(was, dir)) {
                continue;
            }
            let there = dir.path.join(&entry.name);
            let (own, host) = match &state.roots {
                None => (Some(there.clone()), there.on_host(&self.root)),
                Some((root, theirs)) => {
                    let host = there.on_host(theirs);
                    let own = host.strip_prefix(root).ok();
                    let own = own.and_then(|own| RelPath::new(own.as_os_str().as_bytes()).ok());
                    let host = own.as_ref().map_or(host, |own| own.on_host(&self.root));
                    (own, host)
                }
            };
            // The last look that shows the path. Where the mount does not hold it, only one below the same root can.
            let shown = |look: usize| match &own {
                Some(own) => self.state(look, own),
                None => {
                    let earlier = self
                        .state_at(look)
                        .filter(|earlier| earlier.roots == state.roots)?;
                    Some(earlier.manifest.entry(&there))
                }
            };
            let last = (0..=step.before)
                .rev()
                .find_map(|look| Some((look, shown(look)?)));
            let was = last.and_then(|(_, was)| was).and_then(Entry::content);
            if was.is_some_and(|was| was.digest == content.digest) || found.contains(&content.digest) {
                continue;
            }
            let since = last.map_or(0, |(look, _)| look);
            let mut steps = earlier
                .iter()
                .filter(|earlier| earlier.before >= since)
                .chain([step]);
            let is_own = |step: &Step| self.authors(*step, own.as_ref(), &host, entry.nlink > 1).is_own();
            if !steps.all(is_own) {
                found.insert(content.digest);
            }
        }
    }

    /// Returns what the operator left between turns, or may have, and the session then changed or deleted, sorted by path.
    pub(super) fn overwritten_edits(&self) -> Vec<OperatorState> {
        let mut found: BTreeMap<RelPath, PathEdits> = BTreeMap::new();
        for span in self.spans() {
            let (before, after) = (span.before.manifest, span.after.manifest);
            let by = |path: &RelPath, entry: &Entry| {
                let has_names = !entry.is_dir() && entry.nlink > 1;
                self.authors_over(&span.steps, path, has_names)
            };
            let is_alike = |path: &RelPath| {
                let dirs = path
                    .split()
                    .and_then(|(dir, _)| before.directory(&dir).zip(after.directory(&dir)));
                dirs.is_some_and(|(before, after)| Arc::ptr_eq(before, after))
            };
            let is_own_look = span.after.look.by == 0;
            found.retain(|path, edits| {
                if !is_alike(path) {
                    let (Some(was), Some(now)) =
                        (self.state(span.before.at, path), self.state(span.after.at, path))
                    else {
                        return true;
                    };
                    if let Some(any) = was.or(now).filter(|_| !same(was, now)) {
                        edits.changed(&by(path, any), now.is_none());
                    }
                }
                if is_own_look {
                    edits.shown(span.after.snapshot, span.after.at);
                }
                !edits.is_empty()
            });
            if span.is_own() {
                continue;
            }
            for dir in &after.directories {
                let was = before.directory(&dir.path);
                if was.is_some_and(|was| Arc::ptr_eq(was, dir)) {
                    continue;
                }
                for entry in &dir.entries {
                    let was = was.and_then(|was| was.entry(&entry.name));
                    // A new directory is one of the paths below it.
                    if same(was, Some(entry)) || entry.is_dir() && was.is_none_or(|was| !was.is_dir()) {
                        continue;
                    }
                    let path = dir.path.join(&entry.name);
                    let by = by(&path, entry);
                    // What another agent's call may have made is most likely its work.
                    let of_call = |step: &Step| self.is_of_others_call(*step, &path, entry);
                    let is_of_call = || !by.others.is_empty() && span.steps.iter().any(of_call);
                    if !by.operator || is_of_call() || self.state(span.before.at, &path).is_none() {
                        continue;
                    }
                    let state = OperatorState {
                        is_gone: false,
                        is_doubtful: !by.is_operators(),
                        path: path.clone(),
                        entry: entry.clone(),
                        snapshot: span.after.snapshot.clone(),
                        look: span.after.at,
                    };
                    found.entry(path).or_default().made(state, is_own_look);
                }
            }
        }
        found.into_values().filter_map(PathEdits::into_undone).collect()
    }

    /// Returns the steps between looks that show the whole mount, oldest first.
    fn spans(&self) -> Vec<Span<'_>> {
        let mut spans = Vec::new();
        let mut steps = Vec::new();
        let mut begun = None;
        for step in &self.steps {
            if steps.is_empty() {
                begun = self.whole(step.before);
            }
            steps.push(*step);
            if let Some(after) = self.whole(step.after) {
                let steps = std::mem::take(&mut steps);
                spans.extend(begun.map(|before| Span { before, after, steps }));
            }
        }
        spans
    }

    /// Returns a look if it shows the whole mount.
    fn whole(&self, at: usize) -> Option<Whole<'_>> {
        let (look, snapshot) = self.looks.get(at)?;
        let state = self.states.get(snapshot).filter(|state| state.is_whole)?;
        Some(Whole {
            at,
            look,
            snapshot,
            manifest: &state.manifest,
        })
    }

    /// Returns the possible authors of what steps in a row changed of a path.
    fn authors_over(&self, steps: &[Step], path: &RelPath, any_call: bool) -> Authors {
        let host = path.on_host(&self.root);
        let mut all = Authors::default();
        for step in steps {
            let sides = self.state(step.before, path).zip(self.state(step.after, path));
            if sides.is_none_or(|(was, now)| !same(was, now)) {
                all.add(&self.authors(*step, Some(path), &host, any_call));
            }
        }
        all
    }

    /// Returns what a snapshot shows of the mount, if its paths are those of the mount.
    pub(super) fn shown(&self, snapshot: &SnapshotId) -> Option<&Manifest> {
        let state = self.states.get(snapshot)?;
        state.roots.is_none().then_some(&state.manifest)
    }

    /// Returns true if the call of another session may have made an entry between the looks of a step.
    fn is_of_others_call(&self, step: Step, path: &RelPath, entry: &Entry) -> bool {
        let Some((after, _)) = self.looks.get(step.after) else {
            return false;
        };
        let before = self.looks_without(step, Some(path));
        let has_names = !entry.is_dir() && entry.nlink > 1;
        let host = path.on_host(&self.root);
        may_be_of_others_call(&self.activities, (&before, after), &host, has_names)
    }

    /// Returns true if the last look found the path in the state `now`, or what it found is unknown.
    pub(super) fn ends_with(&self, path: &RelPath, now: Option<&Entry>) -> bool {
        let last = self
            .steps
            .iter()
            .rev()
            .find_map(|step| self.state(step.after, path));
        last.is_none_or(|last| same(last, now))
    }

    /// Returns what a look shows; `None` if that is unknown.
    fn state_at(&self, look: usize) -> Option<&State> {
        let (_, snapshot) = self.looks.get(look)?;
        self.states.get(snapshot)
    }

    /// Returns the state of a path at a look; `None` if it is unknown.
    fn state(&self, look: usize, path: &RelPath) -> Option<Option<&Entry>> {
        self.state_at(look)?.at(path)
    }

    /// Splits each step of the session whose first look shows nothing, because its snapshot was pruned, at the first look behind that
    /// which does: what was changed before it and what was changed after it have different authors. `read` returns what a snapshot of the
    /// session at a position shows.
    fn split_unknown(&mut self, read: &dyn Fn(&SnapshotId, usize) -> Option<State>) {
        let mut steps = Vec::new();
        for step in std::mem::take(&mut self.steps) {
            let look = |at: usize| self.looks.get(at);
            let is_known =
                |at: usize| look(at).is_some_and(|(_, snapshot)| self.states.contains_key(snapshot));
            let found = match step.is_own && !is_known(step.before) {
                true => (step.before + 1..step.after).find_map(|at| {
                    let (look, snapshot) = look(at)?;
                    Some((at, snapshot.clone(), read(snapshot, look.by)?))
                }),
                false => None,
            };
            let Some((at, snapshot, state)) = found else {
                steps.push(step);
                continue;
            };
            self.states.insert(snapshot, state);
            steps.extend([Step { after: at, ..step }, Step { before: at, ..step }]);
        }
        self.steps = steps;
    }

    /// Returns the looks that do not show how a step left a path, newest first: the one before it, and those that ended while that one went
    /// on. Without a path only the one before it.
    fn looks_without(&self, step: Step, path: Option<&RelPath>) -> Vec<&Look> {
        let mut looks = self.looks.iter().enumerate().take(step.before + 1).rev();
        let Some((_, (before, _))) = looks.next() else {
            return Vec::new();
        };
        let mut found = vec![before];
        if let Some(path) = path
            && let Some(now) = self.state(step.after, path)
        {
            let went_on = looks.take_while(|(_, (look, _))| look.number > before.since);
            let shows_another = |at: usize| self.state(at, path).is_some_and(|state| !same(state, now));
            let others = went_on.filter(|(at, _)| shows_another(*at));
            found.extend(others.map(|(_, (look, _))| look));
        }
        found
    }

    /// Returns the possible authors of a step's change of `path`, which is `host` on the host.
    fn authors(&self, step: Step, path: Option<&RelPath>, host: &Path, any_call: bool) -> Authors {
        match self.looks.get(step.after) {
            Some((after, _)) if !step.is_own => {
                let before = self.looks_without(step, path);
                let found = authors(&self.activities, (&before, after), host, any_call);
                found.with_own(&self.siblings)
            }
            _ => Authors {
                own: true,
                ..Authors::default()
            },
        }
    }

    /// Returns the steps between looks that found different things. Where only the session itself is at work, several are one, which ends with
    /// a look of its own: that of another session need not show all paths.
    fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let is_own_look = |at: usize| self.looks.get(at).is_some_and(|(look, _)| look.by == 0);
        for (at, pair) in self.looks.windows(2).enumerate() {
            let [(_, earlier), (_, later)] = pair else {
                continue;
            };
            if earlier == later {
                continue;
            }
            let mut step = Step {
                before: at,
                after: at + 1,
                is_own: false,
            };
            // Any path lies in the root.
            step.is_own = self.authors(step, None, Path::new("/"), true).is_own();
            let shows_all = is_own_look(step.after);
            // The steps of a look of its own reach back over those of others before it.
            while let Some(last) =
                steps.pop_if(|last| step.is_own && last.is_own && (shows_all || !is_own_look(last.after)))
            {
                step.before = last.before;
            }
            steps.push(step);
        }
        steps
    }
}

#[cfg(test)]
impl Timeline {
    /// Returns the timeline of looks and what they found; the first session is the one that is asked about.
    pub(super) fn made(
        sessions: Vec<(InstanceId, Activity)>,
        looks: Vec<(Look, SnapshotId)>,
        found: Vec<(SnapshotId, Manifest)>,
    ) -> Self {
        let (sessions, activities) = sessions.into_iter().unzip();
        let found = found.into_iter();
        let mut timeline = Self {
            sessions,
            activities,
            looks,
            states: found
                .map(|(id, manifest)| {
                    (
                        id,
                        State {
                            manifest,
                            roots: None,
                            tracked: Vec::new(),
                            excludes: None,
                            is_whole: true,
                        },
                    )
                })
                .collect(),
            root: PathBuf::from("/"),
            ..Self::default()
        };
        timeline.steps = timeline.steps();
        timeline.foreign = timeline.foreign();
        timeline.moved = timeline.moved(&|_, _| None);
        timeline
    }
}

/// Reads the timeline of one mount from the snapshot `from` to the last one of the session, or to `until`.
///
/// # Errors
/// [`RestoreError::Store`] when the catalog, or an encrypted file, cannot be read.
pub(super) fn timeline(
    store: &Store,
    instance: &InstanceRow,
    coverage: &Coverage,
    (from, until): (&SnapshotId, Option<&SnapshotId>),
    others: &[InstanceRow],
) -> Result<Timeline, RestoreError> {
    let all: Vec<&InstanceRow> = std::iter::once(instance).chain(others).collect();
    let locations = Locations::default();
    let mut timeline = Timeline {
        root: coverage.ground(),
        ..Timeline::default()
    };
    let mut moments = Vec::new();
    let mut omitted: Vec<Option<OmittedPaths>> = Vec::new();
    let mut conversation = None;
    for (at, row) in all.iter().enumerate() {
        let mut read = SessionMoments::read(store, row, at)?;
        // What a restore is asked about is known, whatever it proves. What a late closing shows may have been made by anything.
        let asked = |moment: &PathMoment| {
            at == 0 && (moment.snapshot == *from || until.is_some_and(|until| moment.snapshot == *until))
        };
        let proves = |moment: &PathMoment| !moment.is_emergency && !moment.is_late;
        read.moments.retain(|moment| proves(moment) || asked(moment));
        let mut activity = read.activity(coverage.state);
        if at == 0 {
            timeline.at_rest = at_rest(&read.events, &read.moments).cloned();
            conversation = read.conversation().cloned();
        } else {
            // The same client, in nested workspaces: in two clients, one conversation is two agents.
            let is_client = row.keeper.is_some() && row.keeper == instance.keeper;
            if is_client && conversation.is_some() && read.conversation() == conversation.as_ref() {
                timeline.siblings.push(at);
            }
            activity.places = common_places(row, coverage, &timeline.root, &locations);
        }
        activity.name_below(&timeline.root, &locations);
        omitted.push((at > 0).then(|| omitted_paths(row, coverage)));
        moments.extend(read.moments);
        timeline.sessions.push(row.id.clone());
        timeline.activities.push(activity);
    }
    moments.sort_by_key(|moment| moment.number);
    let is_own = |moment: &PathMoment, id: &SnapshotId| moment.look.by == 0 && moment.snapshot == *id;
    let first = moments
        .iter()
        .position(|moment| is_own(moment, from))
        .unwrap_or(0);
    let last = match until {
        Some(until) => moments.iter().position(|moment| is_own(moment, until)),
        None => moments.iter().rposition(|moment| moment.look.by == 0),
    };
    let older = moments.iter().take(first).filter(|moment| moment.look.by == 0);
    timeline.older = older.map(|moment| moment.snapshot.clone()).collect();
    let moments: Vec<PathMoment> = moments
        .into_iter()
        .take(last.map_or(0, |last| last + 1))
        .skip(first)
        .collect();
    let looks = moments.into_iter().map(|moment| (moment.look, moment.snapshot));
    timeline.looks = looks.collect();
    let steps = timeline.steps();
    // Where the session is the only author there is nothing to tell apart.
    if steps.iter().all(|step| step.is_own) {
        return Ok(timeline);
    }
    let needed = steps.iter().flat_map(|step| [step.before, step.after]);
    for (look, snapshot) in needed.filter_map(|at| timeline.looks.get(at)) {
        let Some(row) = all
            .get(look.by)
            .filter(|_| !timeline.states.contains_key(snapshot))
        else {
            continue;
        };
        let omitted = omitted.get(look.by).and_then(Option::as_ref);
        if let Some(state) = state_of(store, row, (coverage, &locations), snapshot, omitted)? {
            timeline.states.insert(snapshot.clone(), state);
        }
    }
    timeline.steps = steps;
    timeline.split_unknown(&|snapshot, at| {
        let omitted = omitted.get(at).and_then(Option::as_ref);
        let read = state_of(store, all.get(at)?, (coverage, &locations), snapshot, omitted);
        read.ok().flatten()
    });
    timeline.foreign = timeline.foreign();
    let read = |snapshot: &SnapshotId, content: &Content| {
        let record = store.record(snapshot).ok()?;
        let mut bytes = Vec::new();
        let blobs = store.contents(&record);
        let read = blobs.stream(&content.digest, &mut |piece| {
            piece.append_to(&mut bytes);
            Ok(())
        });
        read.is_ok().then_some(bytes)
    };
    timeline.moved = timeline.moved(&read);
    Ok(timeline)
}

/// Returns the files of a manifest whose content is recognized wherever it lies, each with its directory.
fn recognized(manifest: &Manifest) -> impl Iterator<Item = (&Arc<Directory>, &Entry, &Content)> {
    manifest.directories.iter().flat_map(|dir| {
        let files = dir
            .entries
            .iter()
            .filter_map(|entry| Some((entry, entry.content()?)));
        let files = files.filter(|(_, content)| content.size >= MIN_RECOGNIZED_SIZE);
        files.map(move |(entry, content)| (dir, entry, content))
    })
}

/// Returns the places of a mount, whose root is `root` on the host, that the agent of another session may write.
fn common_places(
    other: &InstanceRow,
    coverage: &Coverage,
    root: &Path,
    locations: &Locations,
) -> Vec<PathBuf> {
    let mut places = Vec::new();
    for mount in other.writable() {
        let Some((own, theirs)) = coverage.reached_from(mount, locations) else {
            continue;
        };
        for place in mount.reach_in(&theirs, coverage) {
            match place.strip_prefix(&own) {
                Ok(below) => places.push(root.join(below)),
                Err(_) if own.starts_with(&place) => places.push(root.to_path_buf()),
                Err(_) => {}
            }
        }
    }
    places
}

/// Returns the snapshot of the files as an agent left them that has done nothing since: its last event was the end of a turn, and no later
/// snapshot shows anything else.
fn at_rest<'e>(events: &'e [AgentEventRow], own: &[PathMoment]) -> Option<&'e SnapshotId> {
    let is_end = |row: &&AgentEventRow| matches!(row.event, AgentEvent::TurnEnd { .. });
    let last = events.last().filter(is_end)?;
    let snapshot = last.snapshot.as_ref()?;
    let is_newer = |moment: &PathMoment| moment.number > last.number && moment.snapshot != *snapshot;
    (!own.iter().any(is_newer)).then_some(snapshot)
}
