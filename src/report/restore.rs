//! A restore or an undo: a plan, or what was done, under the same names.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::diff::append;
use super::fold::{Foldable, FoldedLine, fold, foldable};
use super::{
    ChangeDocument, ConversationDocument, Head, HeadDocument, HostPathDocument, OutsideGitDocument,
    PathDocument, ReasonDocument, why_words,
};
use crate::diff::{Change, ChangeKind, WithheldChange, WithheldKind, renames};
use crate::display::size;
use crate::git_directories::dot_git_above;
use crate::model::{AsideAct, AsideStep, Composition, Coverage, MIXED, RelPath};
use crate::restore::{
    Action, HeadMove, KeptPath, Location, LostKind, Outcome, Proposal, ProposedMount, Report, Step,
};
use crate::store::InstanceRow;

/// Result of a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RestoreOutcome {
    /// `--dry-run`: this would be done.
    Planned,
    /// There was nothing to do.
    Nothing,
    /// All of it was done.
    Restored,
    /// A conflict was kept, or a path could not be changed; each is named.
    Partial,
    /// `abort`: an interrupted restore was undone.
    Aborted,
}

/// `restore --json`, `undo --json`, `resume --json`, `abort --json`; with `--dry-run` the plan under the same names.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoreDocument<'a> {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The session's id.
    pub(crate) instance: String,
    pub(crate) outcome: RestoreOutcome,
    /// Id of the snapshot that files are restored from.
    pub(crate) target: String,
    /// BLAKE3 of the plan: the receipt of the restore names the one that was carried out. None for a restore that is taken up.
    pub(crate) plan: Option<String>,
    /// The number in `log`; none for a plan, or when nothing was to do.
    pub(crate) receipt: Option<u64>,
    /// Id of the snapshot of what was there before.
    pub(crate) emergency: Option<String>,
    /// Paths that the restore changes or changed.
    pub(crate) applied: Vec<ChangeDocument>,
    /// Paths that stay without a conflict: the session did not change them, or none of its change is left.
    pub(crate) kept: Vec<ChangeDocument>,
    /// Conflicts: paths that stay because they changed after the session, or in another one.
    pub(crate) conflicts: Vec<ChangeDocument>,
    /// Paths that could not be changed.
    pub(crate) failed: Vec<ReasonDocument>,
    /// Paths that the snapshot does not cover; they are not changed.
    pub(crate) not_covered: Vec<ReasonDocument>,
    /// Excluded directories that hold something newer than the snapshot.
    pub(crate) not_checked: Vec<ReasonDocument>,
    /// Excluded directories that are moved away, or were.
    pub(crate) set_aside: Vec<AsideDocument>,
    /// Excluded directories that come back, or came: an `undo` of that.
    pub(crate) brought_back: Vec<AsideDocument>,
    /// Repositories that `--files-only` skips, with how many of their paths differ.
    pub(crate) left_out: Vec<ReasonDocument>,
    /// Paths that were not asked for and belong to one that was: the other side of a rename, or a file of the same database.
    pub(crate) also: Vec<PathDocument>,
    /// Conversation of the agent that the session is a part of: its files are restored, the conversation itself is not. Absent if no
    /// agent reported one.
    pub(crate) conversation: Option<ConversationDocument>,
    /// Files that the restore replaces or deletes while a process has them open for writing. What the process writes afterwards is lost.
    pub(crate) open_files: Vec<ReasonDocument>,
    /// Edits between turns that are yours, or may be, and were overwritten or deleted afterwards. The restore does not bring them back; the
    /// reason names the snapshot that has them.
    pub(crate) lost_edits: Vec<ReasonDocument>,
    /// Unknown files in the temporary directory, which stay there, in words; of `resume` also a sentence if something stayed as planned.
    pub(crate) left: Vec<String>,
    /// Of a plan, where each mount ends in the lists above.
    #[serde(skip)]
    parts: Vec<Part<'a>>,
}

/// The part of a mount in the lists of a plan.
#[derive(Debug)]
struct Part<'a> {
    coverage: &'a Coverage,
    is_recreated: bool,
    aside: &'a [AsideStep],
    heads: &'a [HeadMove],
    location: &'a Location,
    exact: Vec<Cow<'a, Change>>,
    left_out_as: Vec<LeftOut>,
    applied: Range<usize>,
    kept: Range<usize>,
    conflicts: Range<usize>,
    not_covered: Range<usize>,
    not_checked: Range<usize>,
    left_out: Range<usize>,
    also: Range<usize>,
    open_files: Range<usize>,
    lost_edits: Range<usize>,
}

/// One mount of a plan.
pub(crate) struct MountPlan<'a> {
    /// Its coverage, as the snapshot froze it.
    pub(crate) coverage: &'a Coverage,
    /// True if the mount root was deleted and recreated after the snapshot.
    pub(crate) is_recreated: bool,
    /// Changes with both states: `from` is restored, `to` is the current one.
    pub(crate) applied: Vec<(&'a ChangeDocument, &'a Change)>,
    pub(crate) kept: &'a [ChangeDocument],
    pub(crate) conflicts: &'a [ChangeDocument],
    pub(crate) not_covered: &'a [ReasonDocument],
    pub(crate) not_checked: &'a [ReasonDocument],
    /// Skipped paths, and why.
    pub(crate) left_out: Vec<(&'a ReasonDocument, &'a LeftOut)>,
    pub(crate) also: &'a [PathDocument],
    /// Files that a process has open for writing.
    pub(crate) open_files: &'a [ReasonDocument],
    /// Edits between turns that do not come back.
    pub(crate) lost_edits: &'a [ReasonDocument],
    /// Excluded directories that go aside or come back.
    pub(crate) aside: &'a [AsideStep],
    /// Changes to HEAD of each repository.
    pub(crate) heads: Vec<MovedHead<'a>>,
    /// The directory in which new content is staged.
    pub(crate) staging: &'a Path,
    /// That directory is the mount itself.
    pub(crate) is_staged_inside: bool,
}

/// HEAD of a repository, as a plan moves it.
pub(crate) struct MovedHead<'a> {
    /// Git directory.
    pub(crate) own: &'a RelPath,
    /// Position before the restore.
    pub(crate) now: HeadDocument,
    /// Position after it.
    pub(crate) then: HeadDocument,
}

impl<'a> MovedHead<'a> {
    fn new(moved: &'a HeadMove) -> Self {
        Self {
            own: &moved.own,
            now: HeadDocument::from(&moved.now),
            then: HeadDocument::from(&moved.then),
        }
    }
}

/// A path that a restore skips.
#[derive(Debug)]
pub(crate) enum LeftOut {
    /// A repository, for `--files-only`; so many of its paths differ.
    Repository(u64),
    /// A file whose secrets differ, and each of them is told.
    Noted,
    /// A file whose secrets differ in this way.
    Secret(&'static str),
    /// Settings that differ in this way and cannot be put together key by key.
    Stuck(&'static str),
    /// A private file that differs in this way, and that no snapshot holds.
    Withheld(&'static str),
    /// A private file that differs in this way, and that is encrypted.
    Encrypted(&'static str),
    /// A secret: its key, and what becomes of it.
    Note(String, &'static str),
    /// One name of a renamed file, of which `--exclude` matches this other one.
    Parted(String),
}

impl LeftOut {
    /// Returns true if it is a private file.
    pub(crate) fn is_private(&self) -> bool {
        !matches!(self, Self::Repository(_) | Self::Note(..) | Self::Parted(_))
    }

    fn of(mount: &ProposedMount, change: &WithheldChange) -> Self {
        let words = change.kind.words();
        let has_note = || mount.notes.iter().any(|note| note.path == change.path);
        let is_stuck = || mount.left_alone().any(|stuck| stuck.path == change.path);
        match mount.encrypted.contains(&change.path) {
            _ if change.kind == WithheldKind::Secret && has_note() => Self::Noted,
            _ if change.kind == WithheldKind::Secret => Self::Secret(words),
            _ if is_stuck() => Self::Stuck(words),
            false => Self::Withheld(words),
            true => Self::Encrypted(words),
        }
    }
}

impl RestoreDocument<'_> {
    /// Adds the conversation that the session is a part of.
    pub(crate) fn in_conversation(mut self, conversation: Option<ConversationDocument>) -> Self {
        self.conversation = conversation;
        self
    }

    /// One that names no path.
    pub(crate) fn bare(instance: &str, outcome: RestoreOutcome, target: String, left: Vec<String>) -> Self {
        Self {
            head: Head::default(),
            instance: instance.to_owned(),
            outcome,
            target,
            plan: None,
            receipt: None,
            emergency: None,
            applied: Vec::new(),
            kept: Vec::new(),
            conflicts: Vec::new(),
            failed: Vec::new(),
            not_covered: Vec::new(),
            not_checked: Vec::new(),
            set_aside: Vec::new(),
            brought_back: Vec::new(),
            left_out: Vec::new(),
            also: Vec::new(),
            open_files: Vec::new(),
            lost_edits: Vec::new(),
            conversation: None,
            left,
            parts: Vec::new(),
        }
    }
}

/// An excluded directory, and where it lies aside.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct AsideDocument {
    #[serde(flatten)]
    at: PathDocument,
    /// Host path of the directory while it lies aside.
    place: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    place_bytes: Option<String>,
}

impl AsideDocument {
    pub(crate) fn new(coverage: &Coverage, path: &RelPath, lies: &Path) -> Self {
        let HostPathDocument {
            path: place,
            path_bytes,
            ..
        } = HostPathDocument::new(lies);
        Self {
            at: PathDocument::new(coverage, path),
            place,
            place_bytes: path_bytes,
        }
    }
}

/// `restore --to DIR --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RestoreToDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The session's id.
    pub(crate) instance: String,
    pub(crate) outcome: RestoreOutcome,
    /// Id of the snapshot that is written.
    pub(crate) target: String,
    /// Output directory.
    pub(crate) directory: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) directory_bytes: Option<String>,
    /// True if the snapshot is complete, and no file that was asked for stays encrypted.
    pub(crate) complete: bool,
    /// The claim that is made for it, or was; null when it is there, or is none.
    pub(crate) new_claim: Option<NewClaimDocument>,
    /// Number of paths to write, or written.
    pub(crate) paths: u64,
    /// Paths that could not be written exactly.
    pub(crate) failed: Vec<ReasonDocument>,
    /// Files that are not written: those that the snapshot has only encrypted, and of each database the first that is excluded.
    pub(crate) left_out: Vec<ReasonDocument>,
    /// Paths that were not asked for and belong to a database of which a part was.
    pub(crate) also: Vec<PathDocument>,
    /// Places outside of the directory that git in it works on; empty before it is written.
    pub(crate) outside_git: Vec<OutsideGitDocument>,
}

/// A claim that is made for what is written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct NewClaimDocument {
    /// Its `StorageClass`; null: the default one of the cluster.
    pub(crate) storage_class: Option<String>,
    /// Size in the notation of Kubernetes (`4Gi`).
    pub(crate) storage: String,
    /// The claim in the same namespace that it is like.
    pub(crate) like: Option<String>,
}

/// The document of a plan, or of what was done.
pub(crate) fn restore_document<'a>(
    row: &InstanceRow,
    proposal: &'a Proposal,
    report: Option<&Report>,
) -> RestoreDocument<'a> {
    let outcome = match report.map(|report| report.outcome) {
        Some(Outcome::Done) => RestoreOutcome::Restored,
        Some(Outcome::Nothing) => RestoreOutcome::Nothing,
        Some(Outcome::Partial) => RestoreOutcome::Partial,
        None if proposal.is_empty() && !proposal.is_in_part() => RestoreOutcome::Nothing,
        None => RestoreOutcome::Planned,
    };
    let left = report.map(|report| report.left.clone()).unwrap_or_default();
    let target = proposal.target.id.to_string();
    let mut made = RestoreDocument::bare(row.id.as_str(), outcome, target, left);
    made.plan = (!proposal.is_empty()).then(|| proposal.digest().hex());
    made.receipt = report.and_then(|report| report.receipt);
    let emergency = report.and_then(|report| report.emergency.as_ref());
    made.emergency = emergency.map(ToString::to_string);
    for (at, mount) in proposal.mounts.iter().enumerate() {
        let coverage = &mount.request.coverage;
        let done = report.and_then(|report| report.mounts.get(at));
        let of_step = |change: &Change, step: &Step| {
            let composed = mount.request.witness.composed.get(&step.change.path);
            let by = composed.map(|file| file.by);
            // A merge keeps what it overrode, and a hunk that the operator wrote discards no edit.
            let is_merged =
                matches!(by, Some(Composition::Merge { .. })) || composed.is_some_and(|file| file.is_typed);
            ChangeDocument::new(coverage, change)
                .action(step.action)
                .overrode(step.overrode && !is_merged)
                .composed(by)
                .others(coverage, &step.others)
        };
        let mut exact = Vec::new();
        let applied = match done {
            Some(done) => {
                let steps = done.applied(&mount.plan);
                let shown = presented(&steps).into_iter();
                append(
                    &mut made.applied,
                    shown.map(|(change, step)| of_step(&change, step)),
                )
            }
            None => {
                let shown = presented(&mount.plan.steps).into_iter();
                let told = shown.map(|(change, step)| {
                    let told = of_step(&change, step);
                    exact.push(change);
                    told
                });
                append(&mut made.applied, told)
            }
        };
        let stays = |kept: &KeptPath| {
            let why = mount.unmerged.get(&kept.change.path);
            let told = ChangeDocument::new(coverage, &kept.change).reason(why_words(&kept.why));
            told.unmerged(why)
        };
        let kept = append(&mut made.kept, mount.plan.kept.iter().map(stays));
        let conflicts = append(&mut made.conflicts, mount.plan.conflicts.iter().map(stays));
        let also = mount.also.iter();
        let also = append(&mut made.also, also.map(|path| PathDocument::new(coverage, path)));
        let open = mount.open_files.iter().map(|open| {
            let program = format!("{} (process {})", open.program, open.pid);
            ReasonDocument::new(coverage, &open.path, program)
        });
        let open_files = append(&mut made.open_files, open);
        let lost = mount.lost_edits.iter().map(|edit| {
            let done = if edit.is_gone { "deleted" } else { "overwritten" };
            let snapshot = &edit.snapshot;
            let is_objects = edit.kind == LostKind::Objects;
            let words = match edit.is_doubtful {
                true if is_objects => format!("objects deleted later; those in {snapshot} may be yours"),
                false if is_objects => format!("objects deleted by the session; yours are in {snapshot}"),
                true => format!("{done} later; the version in {snapshot} may be yours"),
                false => format!("{done} by the session; your version is in {snapshot}"),
            };
            ReasonDocument::new(coverage, &edit.path, words)
        });
        let lost_edits = append(&mut made.lost_edits, lost);
        let failed = done.into_iter().flat_map(|done| &done.failed);
        made.failed
            .extend(failed.map(|f| ReasonDocument::new(coverage, &f.path, f.problem.words.clone())));
        let aside = done.map_or(mount.aside.as_slice(), |done| done.aside.as_slice());
        for step in aside {
            let told = AsideDocument::new(coverage, &step.path, &step.lies());
            if step.act != AsideAct::Away {
                made.brought_back.push(told.clone());
            }
            if step.leaves() {
                made.set_aside.push(told);
            }
        }
        made.failed.extend(mount.hidden().map(|gap| {
            let now = mount.now.manifest.as_ref();
            let is_there = now.is_some_and(|now| now.entry(&gap.path).is_some_and(|entry| !entry.is_dir()));
            let why = match (mount.is_gone(&gap.path), is_there) {
                _ if mount.was_unreadable(&gap.path) || gap.reason == MIXED => gap.reason.clone(),
                (true, _) => format!("missing, and not in the snapshot: {}", gap.reason),
                (false, true) => format!("not in the snapshot: {}", gap.reason),
                (false, false) => format!("cannot be read: {}", gap.reason),
            };
            ReasonDocument::new(coverage, &gap.path, why)
        }));
        let gaps = mount.plan.not_covered.iter();
        let not_covered = append(
            &mut made.not_covered,
            gaps.map(|gap| ReasonDocument::gap(coverage, gap)),
        );
        let (left_out, left_out_as): (Vec<_>, Vec<_>) = left_out(mount).unzip();
        let left_out = append(&mut made.left_out, left_out.into_iter());
        let reason = "excluded, and changed since the snapshot";
        let skipped = mount.not_checked.iter();
        let not_checked = append(
            &mut made.not_checked,
            skipped.map(|skipped| ReasonDocument::new(coverage, &skipped.path, reason)),
        );
        if done.is_none() {
            made.parts.push(Part {
                coverage,
                is_recreated: mount.is_recreated,
                aside: &mount.aside,
                heads: &mount.heads,
                location: &mount.location,
                exact,
                left_out_as,
                applied,
                kept,
                conflicts,
                not_covered,
                not_checked,
                left_out,
                also,
                open_files,
                lost_edits,
            });
        }
    }
    made
}

/// Returns the paths of a mount that a restore skips.
fn left_out(mount: &ProposedMount) -> impl Iterator<Item = (ReasonDocument, LeftOut)> {
    let coverage = &mount.request.coverage;
    let repositories = mount.plan.left_out.iter().map(|(own, paths)| {
        let differ = size::counted(*paths, "path differs", "paths differ");
        let told = ReasonDocument::new(coverage, own, format!("--files-only: {differ}"));
        (told, LeftOut::Repository(*paths))
    });
    let private = mount.withheld.iter().map(|change| {
        let words = change.kind.words();
        let reason = match mount.encrypted.contains(&change.path) {
            false => format!("skipped, so no snapshot has it: {words}"),
            true => format!("encrypted, and --identity is missing: {words}"),
        };
        let told = ReasonDocument::new(coverage, &change.path, reason);
        (told, LeftOut::of(mount, change))
    });
    let notes = mount.notes.iter().map(|note| {
        let (key, words) = (note.key.join("."), note.words());
        let told = ReasonDocument::new(coverage, &note.path, format!("the secret {key}: {words}"));
        (told, LeftOut::Note(key, words))
    });
    let parted = mount.parted.iter().map(|(path, other)| {
        let other = String::from_utf8_lossy(other.as_bytes());
        let reason = format!("--exclude matches {other}, its other name");
        let told = ReasonDocument::new(coverage, path, reason);
        (told, LeftOut::Parted(other.into_owned()))
    });
    repositories.chain(private).chain(notes).chain(parted)
}

impl RestoreDocument<'_> {
    /// Returns a plan by mount.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = MountPlan<'_>> {
        self.parts.iter().map(|part| {
            let applied = self.applied.get(part.applied.clone()).unwrap_or_default();
            let left_out = self.left_out.get(part.left_out.clone()).unwrap_or_default();
            MountPlan {
                coverage: part.coverage,
                is_recreated: part.is_recreated,
                applied: applied.iter().zip(part.exact.iter().map(Cow::as_ref)).collect(),
                kept: self.kept.get(part.kept.clone()).unwrap_or_default(),
                conflicts: self.conflicts.get(part.conflicts.clone()).unwrap_or_default(),
                not_covered: self.not_covered.get(part.not_covered.clone()).unwrap_or_default(),
                not_checked: self.not_checked.get(part.not_checked.clone()).unwrap_or_default(),
                left_out: left_out.iter().zip(&part.left_out_as).collect(),
                also: self.also.get(part.also.clone()).unwrap_or_default(),
                open_files: self.open_files.get(part.open_files.clone()).unwrap_or_default(),
                lost_edits: self.lost_edits.get(part.lost_edits.clone()).unwrap_or_default(),
                aside: part.aside,
                heads: part.heads.iter().map(MovedHead::new).collect(),
                staging: part.location.directory(),
                is_staged_inside: matches!(part.location, Location::Inside(_)),
            }
        })
    }
}

impl MountPlan<'_> {
    /// Returns true if there is anything to do on this mount.
    pub(crate) fn is_busy(&self) -> bool {
        !self.applied.is_empty() || !self.aside.is_empty()
    }

    /// Returns the lines of a folded plan; their numbers are positions in `applied`.
    pub(crate) fn folded(&self) -> Vec<FoldedLine> {
        let stays = self.conflicts.iter().chain(self.kept).map(|kept| &kept.at.below);
        let unknown = self.not_covered.iter().chain(self.not_checked);
        let unknown = unknown.map(|gap| &gap.at.below);
        let skipped = self.left_out.iter().map(|(told, _)| &told.at.below);
        fold(&self.foldable(), &[], stays.chain(unknown).chain(skipped))
    }

    fn foldable(&self) -> Vec<Foldable<'_>> {
        let marked = self.applied.iter().map(|(told, change)| {
            let names = !told.parted_from.is_empty() || told.names_outside.is_some();
            let is_usual = matches!(
                (change.kind, told.action),
                (ChangeKind::Added, Some(Action::Delete))
                    | (ChangeKind::Deleted, Some(Action::Create))
                    | (ChangeKind::Modified, Some(Action::Replace))
                    | (ChangeKind::Renamed, _)
                    | (ChangeKind::Mode | ChangeKind::Metadata, Some(Action::Metadata))
            );
            let is_composed = told.merged.is_some() || told.hunks.is_some();
            let discards = told.discards_later_edit.is_some();
            // A later deletion lost no text, so that one note is enough for a whole directory.
            let is_deletion =
                discards && change.kind == ChangeKind::Deleted && dot_git_above(&change.path).is_none();
            let stands_alone = discards && !is_deletion || names || is_composed || !is_usual;
            (*change, is_deletion, stands_alone)
        });
        foldable(self.coverage, marked)
    }
}

/// The steps as `diff` shows the same changes: a file that was moved is one line, not two.
pub(crate) fn presented(steps: &[Step]) -> Vec<(Cow<'_, Change>, &Step)> {
    let changes: Vec<&Change> = steps.iter().map(|step| &step.change).collect();
    let partner = renames(&changes);
    let moved: HashSet<usize> = partner.values().copied().collect();
    let shown = steps.iter().enumerate().filter(|(at, _)| !moved.contains(at));
    shown
        .map(|(at, step)| {
            let old = partner.get(&at).and_then(|old| steps.get(*old));
            let change = match old {
                None => Cow::Borrowed(&step.change),
                Some(old) => Cow::Owned(Change {
                    kind: ChangeKind::Renamed,
                    from: old.change.from.clone(),
                    from_path: Some(old.change.path.clone()),
                    has_secret_name: old.change.has_secret_name || step.change.has_secret_name,
                    ..step.change.clone()
                }),
            };
            (change, step)
        })
        .collect()
}
