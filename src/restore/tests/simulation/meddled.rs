//! Another process writes between a crash and the recovery: to the tree, and to what is staged or set aside. None of its changes
//! are lost or taken for content of the snapshot, and everything else is the old tree or the new one.

use super::session::{ROOT, left, within};
use super::{Ended, Session, Verb, World, cases, stride, wants_all};
use handle_fs::simulated::{Moment, Object, Tree};

const TEXT: &str = "of somebody else";

/// Change that the other process makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    /// Writes into the file.
    Write,
    /// Puts another file in its place.
    Replace,
    /// Makes a file in the directory.
    Add,
    /// Removes it with all below it.
    Remove,
    /// Sets its mode, or its owner.
    Mode,
    Own,
    /// Sets the mode of a directory.
    Shut,
}

/// Mode that only the operator sets: no state of any session has it.
const MODE: u32 = 0o604;
const OWNER: (u32, u32) = (77, 78);

/// The same for a directory. Its owner may not write it: what is opened for a move has this one nevertheless.
const SHUT: u32 = 0o504;

/// Change of a path below the disk.
#[derive(Clone, Debug)]
struct Meddling {
    deed: Deed,
    path: String,
    /// True if the changed file has other names too.
    linked: bool,
}

impl Meddling {
    /// All that can be done to a tree.
    fn all(tree: &Tree) -> Vec<Self> {
        let mut all = Vec::new();
        for (path, object) in tree {
            let deeds: &[Deed] = match object.what.split(' ').next() {
                Some("directory") if path.is_empty() => &[Deed::Add],
                Some("directory") if path == "project" => &[Deed::Add, Deed::Shut],
                // The staging directory itself goes in the end.
                Some("directory") if !path.contains('/') => &[Deed::Replace, Deed::Add],
                // So does the mark in it that moves began (macOS).
                Some("directory") if path.ends_with("/moving") || path.ends_with("/linked") => {
                    &[Deed::Replace, Deed::Add]
                }
                Some("directory") => &[Deed::Replace, Deed::Add, Deed::Shut],
                Some("file") => &[Deed::Write, Deed::Replace],
                _ => &[Deed::Replace],
            };
            // What is staged or lies aside has no name that anybody knows.
            let more: &[Deed] = match path.as_str() {
                "project/mode" | "project/owned" => &[Deed::Remove, Deed::Mode, Deed::Own],
                path if path.starts_with("project/") => &[Deed::Remove],
                _ => &[],
            };
            all.extend(deeds.iter().chain(more).map(|deed| Self {
                deed: *deed,
                path: path.clone(),
                linked: object.group.is_some(),
            }));
        }
        all
    }

    fn apply(&self, world: &mut World) {
        let path = format!("/disk/{}", self.path);
        match self.deed {
            Deed::Write => world.rewrite(&path, TEXT),
            Deed::Replace => world.put_file(&path, TEXT),
            Deed::Remove => world.cut(&path),
            Deed::Mode => world.set_mode(&path, MODE),
            Deed::Own => world.set_owner(&path, OWNER),
            Deed::Shut => world.set_mode(&path, SHUT),
            Deed::Add => world.put_file(&format!("{}/somebody", path.trim_end_matches('/')), TEXT),
        }
    }

    /// The path below the mount root; none when it is elsewhere.
    fn in_project(&self) -> Option<&str> {
        match self.path.strip_prefix("project")? {
            "" => Some(""),
            below => below.strip_prefix('/'),
        }
    }

    /// Returns true if `path`, below the root, is the changed path, contains it or lies in it.
    fn concerns(&self, path: &str) -> bool {
        let within = |inner: &str, outer: &str| {
            inner == outer
                || inner
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        self.in_project()
            .is_some_and(|mine| !mine.is_empty() && (within(path, mine) || within(mine, path)))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    runs: u64,
    old: u64,
    new: u64,
    refused: u64,
}

struct Trial<'a> {
    session: &'a Session,
    new: Tree,
    counts: Counts,
}

impl Trial<'_> {
    fn run(&mut self, moment: &Moment, meddling: &Meddling) {
        for (first, second) in [(Verb::Resume, Verb::Abort), (Verb::Abort, Verb::Resume)] {
            let mut world = left(moment, &moment.disk());
            meddling.apply(&mut world);
            let there = world.tree("/disk");
            let mut about = format!("call {}, {meddling:?}", moment.call);
            for verb in [first, second] {
                about = format!("{about}, {verb:?}");
                let (ended, shared) = within(world, || self.session.recover(verb));
                let (now, everything) = {
                    let world = shared.lock();
                    (world.moment(), world.tree("/disk"))
                };
                self.counts.runs += 1;
                match meddling.deed {
                    Deed::Remove => {
                        // What is old and still there is thrown away only when the new tree is kept.
                        let lost = self.lost(&there, &everything);
                        let is_kept = verb == Verb::Resume || ended == Ok(Ended::Either);
                        assert!(is_kept || lost.is_empty(), "{about}: {ended:?} {lost:?}");
                        // Nothing of these lies aside, so nothing has to wait for them.
                        let is_free = ["project/only", "project/hollow"].contains(&meddling.path.as_str());
                        let must = is_free && (first, verb) == (Verb::Abort, Verb::Abort);
                        let is_back = ended
                            .as_ref()
                            .map_or_else(|left| left.contains("TakenBack"), |_| true);
                        assert!(!must || is_back, "{about}: {ended:?}");
                    }
                    Deed::Mode | Deed::Own => {
                        let now = everything.get(&meddling.path);
                        let theirs = now.is_some_and(|now| match meddling.deed {
                            Deed::Mode => now.mode & 0o7777 == MODE,
                            _ => now.owner == OWNER,
                        });
                        assert!(theirs, "{about}: it was set otherwise, {now:?}\n{ended:?}");
                    }
                    Deed::Shut => {
                        // What the restore made goes when it is taken back, with whatever mode.
                        let is_gone = !self.was_there(meddling) && ended == Ok(Ended::Old);
                        let is_theirs = everything.values().any(|object| object.mode == SHUT);
                        assert!(is_gone || is_theirs, "{about}: it was set otherwise\n{ended:?}");
                    }
                    Deed::Write | Deed::Replace | Deed::Add => {
                        let survives = everything.values().any(|object| object.what.contains(TEXT));
                        assert!(survives, "{about}: it is lost\n{ended:?}");
                    }
                }
                match ended {
                    Ok(ended) => {
                        self.judge(&everything, ended, meddling, &about);
                        break;
                    }
                    Err(_) => {
                        self.counts.refused += 1;
                        // What was staged is not what was staged: it goes nowhere.
                        let taken = |(path, object): (&String, &Object)| {
                            path.starts_with("project") && object.what.contains(TEXT)
                        };
                        let taken = verb == Verb::Resume
                            && meddling.in_project().is_none()
                            && everything.iter().any(taken);
                        assert!(
                            !taken || meddling.linked,
                            "{about}: it was taken for ours\n{ended:?}"
                        );
                    }
                }
                world = left(&now, &now.disk());
            }
        }
    }

    /// Returns true if the change is about an old directory, wherever that lies by now.
    fn was_there(&self, meddling: &Meddling) -> bool {
        let old = |path: &str| self.session.old.get(path);
        match meddling.in_project() {
            Some(path) => old(path).is_some_and(|object| object.what == "directory"),
            None => meddling.path.contains("/old-"),
        }
    }

    /// The old files that were there before, and are nowhere now. What the new tree has as well may have been the staged one.
    fn lost<'t>(&self, before: &'t Tree, after: &Tree) -> Vec<&'t String> {
        let has = |tree: &Tree, what: &String| tree.values().any(|object| object.what == *what);
        let old = |what: &&String| {
            what.starts_with("file ") && has(&self.session.old, what) && !has(&self.new, what)
        };
        let files = before.values().map(|object| &object.what).filter(old);
        files.filter(|what| !has(after, what)).collect()
    }

    fn judge(&mut self, everything: &Tree, ended: Ended, meddling: &Meddling, about: &str) {
        let wanted = match ended {
            Ended::New => {
                self.counts.new += 1;
                &self.new
            }
            Ended::Old => {
                self.counts.old += 1;
                &self.session.old
            }
            Ended::Either | Ended::Mixed => return,
        };
        let root = ROOT.trim_start_matches("/disk/");
        let mut wrong = Vec::new();
        for (path, object) in everything {
            let Some(path) = path.strip_prefix(root).map(|path| path.trim_start_matches('/')) else {
                continue;
            };
            let will = wanted.get(path).map(|object| &object.what);
            if !meddling.concerns(path) && !path.ends_with("somebody") && will != Some(&object.what) {
                wrong.push(format!("{path:?} is {}, not {will:?}", object.what));
            }
        }
        // What lay in a directory that somebody replaced went with it.
        let replaced = |at: &str| {
            let above = |(end, _)| at.get(..end).and_then(|above| everything.get(above));
            let mut above = at.match_indices('/').filter_map(above);
            above.any(|object| object.what.contains(TEXT))
        };
        for (path, object) in wanted {
            let at = format!("{root}/{path}");
            let at = at.trim_end_matches('/');
            if !meddling.concerns(path) && !everything.contains_key(at) && !replaced(at) {
                wrong.push(format!("{path:?}, {}, is missing", object.what));
            }
        }
        // What lay aside may come back with what was written to it: it is the same object. What was staged may not. And what
        // has several names shows it under each.
        let aside = ended == Ended::Old && meddling.in_project().is_none();
        if aside || (meddling.deed == Deed::Write && meddling.linked) {
            wrong.retain(|line| !line.contains(TEXT));
        }
        assert!(wrong.is_empty(), "{about}, {ended:?}: {wrong:#?}");
    }
}

fn is_undecided(moment: &Moment) -> bool {
    let papers = left(moment, &moment.disk()).tree("/data/recovery/restores");
    let has = |name: &str| papers.keys().any(|path| path.ends_with(name));
    has("/journal") && !has("/decision")
}

/// `back`: while it is undone.
fn meddled(session: &Session, every: usize, back: bool) -> Counts {
    let mut world = session.begin();
    world.moments = Some(Vec::new());
    let (_, world) = within(world, || session.restore());
    let (mut moments, new) = {
        let mut world = world.lock();
        (world.moments.take().unwrap(), world.tree(ROOT))
    };
    // From the first move on, as long as nothing is decided.
    moments.retain(is_undecided);
    assert!(moments.len() > 5, "{}", moments.len());
    if back {
        // On the way back from the last of them.
        let last = moments.pop().unwrap();
        let mut world = left(&last, &last.disk());
        world.moments = Some(Vec::new());
        let (ended, world) = within(world, || session.recover(Verb::Abort));
        assert_eq!(ended, Ok(Ended::Old));
        moments = world.lock().moments.take().unwrap();
        moments.retain(is_undecided);
    }
    let mut trial = Trial {
        session,
        new,
        counts: Counts::default(),
    };
    for moment in moments.iter().step_by(every) {
        for meddling in Meddling::all(&left(moment, &moment.disk()).tree("/disk")) {
            trial.run(moment, &meddling);
        }
    }
    trial.counts
}

#[test]
fn what_somebody_writes_between_a_crash_and_its_taking_up_survives() {
    // The middle of an exchange in steps is a moment or two.
    for (session, every) in [
        (cases::busy(), 6),
        (cases::busy().in_steps(), 1),
        (cases::busy().layered(), 6),
        (cases::rooms(), 2),
        (cases::rooms().layered(), 2),
        (cases::linked(), 6),
        (cases::shut(), 6),
    ] {
        let counts = meddled(&session, if wants_all() { 1 } else { every * stride(17) }, false);
        println!("meddled with: {counts:?}");
        assert!(
            counts.old > 0 && counts.new > 0 && counts.refused > 0,
            "{counts:?}"
        );
    }
}

#[test]
fn what_somebody_writes_while_a_restore_is_taken_back_survives() {
    for (session, every) in [
        (cases::busy(), 6),
        (cases::busy().in_steps(), 2),
        (cases::rooms().layered(), 2),
        (cases::shut(), 6),
    ] {
        let counts = meddled(&session, if wants_all() { 1 } else { every * stride(17) }, true);
        println!("meddled with on the way back: {counts:?}");
        assert!(counts.old > 0 && counts.refused > 0, "{counts:?}");
    }
}
