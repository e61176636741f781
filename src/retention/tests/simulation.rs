//! A prune and a forget in a simulated file system: a crash, a power loss or an error at every call. What is listed is whole, what is
//! kept is listed, and the same command once more brings everything to its end.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::capture::tests::{Moment as Point, at, coverage};
use crate::capture::{Request, take};
use crate::config::{Retention, Room};
use crate::model::{Coverage, Ending, InstanceId, Operation, SnapshotId, SnapshotKind, Time};
use crate::observer::Silent;
use crate::retention::{
    Acting, Care, ForgetError, ForgetSubject, PrunePlan, Rules, carry_out, forget, plan, propose,
};
use crate::simulated_share::{stride, wants_all};
use crate::store::{AmendedRecord, Store, StoreError};
use handle_fs::simulated::{
    Disk, Fault, Letters, Losses, Moment, Node, Shared, World, errors, outcomes, within, world,
};

const ROOT: &str = "/disk/project";
const STORE: &str = "/data/recovery";
/// Files of the project before the first session.
const FILES: usize = 5;

fn now() -> Time {
    handle_fs::fine_clock()
}

/// Content that nothing compresses and nothing else is like.
fn bytes_of(name: &str) -> Vec<u8> {
    let mut state = name
        .bytes()
        .fold(7_u64, |state, byte| state * 31 + u64::from(byte));
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..1500).map(|_| byte()).collect()
}

/// Puts a file there.
fn write(name: &str) {
    let bytes = bytes_of(name);
    let world = world().unwrap();
    let mut world = world.lock();
    world.put(&format!("{ROOT}/{name}"), Node::File(Arc::new(bytes)), 0o644);
    world.pass(1_000_000_000);
}

/// One session: a baseline, so many checkpoints, a closing snapshot, each with one file more.
fn session(store: &Store, number: u8, checkpoints: usize) {
    let instance = InstanceId::new([number; 8], "demo");
    begin(store, &instance);
    // Of the older session's first archive most is dead once that session is gone.
    if number == 1 {
        (0..3 * FILES).for_each(|at| write(&format!("passing-{at}")));
    }
    snapshot(store, &instance, SnapshotKind::Baseline);
    if number == 1 {
        let world = world().unwrap();
        (0..3 * FILES).for_each(|at| world.lock().cut(&format!("{ROOT}/passing-{at}")));
    }
    for at in 0..checkpoints {
        write(&format!("step-{number}-{at}"));
        snapshot(store, &instance, SnapshotKind::Checkpoint);
    }
    write(&format!("last-{number}"));
    snapshot(store, &instance, SnapshotKind::Closing);
    end(store, &instance);
}

/// A session that changes nothing.
fn unchanged_session(store: &Store, number: u8) {
    let instance = InstanceId::new([number; 8], "demo");
    begin(store, &instance);
    snapshot(store, &instance, SnapshotKind::Baseline);
    snapshot(store, &instance, SnapshotKind::Closing);
    end(store, &instance);
}

fn coverages() -> Vec<Coverage> {
    vec![coverage(Path::new(ROOT), "project")]
}

fn begin(store: &Store, instance: &InstanceId) {
    let begin = Operation::Begin {
        workspace: None,
        mode: "project".to_owned(),
        mounts: coverages(),
        keeper: None,
        scripts: Vec::new(),
        boot: String::new(),
        command: None,
        cleanup_policy: None,
        container: None,
        watched: Vec::new(),
        agent: None,
        title: crate::model::SessionTitle::default(),
    };
    store.append(now(), 1000, instance, begin).unwrap();
}

fn snapshot(store: &Store, instance: &InstanceId, kind: SnapshotKind) {
    let coverages = coverages();
    let request = Request::of(instance, kind, &coverages, (now(), 1000));
    take(store, &request, &Silent, &Letters).unwrap();
}

fn end(store: &Store, instance: &InstanceId) {
    let end = Operation::End {
        ending: Ending::Ended,
        survivors: Vec::new(),
    };
    store.append(now(), 1000, instance, end).unwrap();
}

/// A command that deletes something from the store.
struct Deletion {
    name: &'static str,
    /// Preparation of the store.
    before: fn(),
    /// Does what the command does. Does nothing when it is done already.
    run: fn() -> Result<(), StoreError>,
    /// Returns the snapshots that it deletes.
    chosen: fn(&Store) -> BTreeSet<SnapshotId>,
    /// Returns what is left to do.
    left: fn(&Store) -> Vec<String>,
}

const PRUNE: Deletion = Deletion {
    name: "prune",
    before: || {},
    run: prune,
    chosen: |store| {
        let plan = planned(store).unwrap();
        assert!(plan.repacks(), "something is to be repacked");
        let chosen = plan.chosen.iter().map(|one| one.snapshot.id.clone());
        let chosen: BTreeSet<SnapshotId> = chosen.collect();
        assert_eq!(chosen.len(), 7, "the older session, two checkpoints of the newer");
        chosen
    },
    left: |store| {
        let plan = planned(store).unwrap();
        let (chosen, gain) = (plan.chosen.len(), plan.repack_gain());
        let left = format!("{chosen} chosen, {} idle, {gain} to gain", plan.idle);
        (!plan.is_empty()).then_some(left).into_iter().collect()
    },
};

/// Nothing of a path, or of what other commands left, may stay in an archive.
fn dead_content(store: &Store) -> Vec<String> {
    let plan = store.plan_forget(Vec::new(), AmendedRecord::of(store), Vec::new(), &Silent);
    let archives = plan.unwrap().archives();
    let left = format!("{archives} archives hold what nothing needs");
    (archives > 0).then_some(left).into_iter().collect()
}

const FORGET_PATH: Deletion = Deletion {
    name: "forget a path",
    before: || {},
    run: || {
        forgotten(&ForgetSubject::Paths {
            paths: vec![format!("{ROOT}/file-1").into()],
            of: None,
            copies: false,
        })
    },
    chosen: |_| BTreeSet::new(),
    left: dead_content,
};

const FORGET_SESSION: Deletion = Deletion {
    name: "forget a session",
    before: || {},
    run: || {
        let store = Store::open_write(Path::new(STORE))?;
        let oldest = store.catalog().instances()?.pop().unwrap().id;
        forgotten(&ForgetSubject::Session(oldest))
    },
    chosen: |store| {
        let oldest = store.catalog().instances().unwrap().pop().unwrap().id;
        let all = store.catalog().snapshots(&oldest).unwrap();
        all.into_iter().map(|row| row.id).collect()
    },
    left: dead_content,
};

/// Records name archives that are gone, and redirects lead to those that lose content now.
const FORGET_PATH_AGAIN: Deletion = Deletion {
    name: "forget a path after a session",
    before: || (FORGET_SESSION.run)().unwrap(),
    ..FORGET_PATH
};

/// Other snapshots need all that the archives have: the changed manifest is all that is new.
const FORGET_PATH_OF_ONE: Deletion = Deletion {
    name: "forget a path of one session",
    before: || {
        let store = Store::open_write(Path::new(STORE)).unwrap();
        unchanged_session(&store, 3);
    },
    run: || {
        forgotten(&ForgetSubject::Paths {
            paths: vec![format!("{ROOT}/file-1").into()],
            of: Some(InstanceId::new([3; 8], "demo")),
            copies: false,
        })
    },
    ..FORGET_PATH
};

/// Does what the command `forget` does.
fn forgotten(subject: &ForgetSubject) -> Result<(), StoreError> {
    let store = Store::open_write(Path::new(STORE))?;
    let done = propose(&store, subject, &Silent).and_then(|proposal| match proposal.is_empty() {
        true => Ok(()),
        false => forget(&store, &proposal, &acting()).map(drop),
    });
    match done {
        Ok(()) | Err(ForgetError::Nowhere { .. }) => Ok(()),
        Err(ForgetError::Store(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

/// A store that a command has something to delete from.
struct Scene {
    deletion: &'static Deletion,
    from: Moment,
    kept: BTreeSet<SnapshotId>,
    chosen: BTreeSet<SnapshotId>,
}

impl Scene {
    fn new(deletion: &'static Deletion) -> Self {
        let mut world = World::new(&["/disk", "/data"]);
        world.put(ROOT, Node::Directory(std::collections::BTreeMap::new()), 0o755);
        let ((kept, chosen), world) = within(world, || {
            (0..FILES).for_each(|number| write(&format!("file-{number}")));
            let store = Store::open_write(Path::new(STORE)).unwrap();
            session(&store, 1, 3);
            session(&store, 2, 3);
            drop(store);
            (deletion.before)();
            let store = Store::open_write(Path::new(STORE)).unwrap();
            let chosen = (deletion.chosen)(&store);
            let kept = listed(&store).difference(&chosen).cloned().collect();
            (kept, chosen)
        });
        let mut world = world.lock();
        world.settle();
        Self {
            deletion,
            from: world.moment(),
            kept,
            chosen,
        }
    }

    /// Returns a description of each problem.
    fn judge(&self, world: &Shared, is_finished: bool) -> Vec<String> {
        let _inside = world.enter();
        let store = match Store::open_write(Path::new(STORE)) {
            Ok(store) => store,
            Err(error) => return vec![format!("the store does not open: {error}")],
        };
        let mut wrong: Vec<String> = store.warnings().iter().map(ToString::to_string).collect();
        let listed = listed(&store);
        let lost = self.kept.difference(&listed);
        wrong.extend(lost.map(|id| format!("{id} is lost")));
        let known: BTreeSet<_> = self.kept.union(&self.chosen).cloned().collect();
        wrong.extend(listed.difference(&known).map(|id| format!("{id} is listed")));
        let verified = store.verify(true, &Silent).unwrap();
        wrong.extend(verified.findings.iter().map(|finding| format!("{finding:?}")));
        if verified.snapshots != listed.len() as u64 {
            wrong.push(format!("{} records are there", verified.snapshots));
        }
        if is_finished {
            let there = self.chosen.intersection(&listed);
            wrong.extend(there.map(|id| format!("{id} is there still")));
            let left = (self.deletion.left)(&store).into_iter();
            wrong.extend(left.map(|left| format!("not done: {left}")));
            let litter = world.lock().names_in(&format!("{STORE}/tmp"));
            wrong.extend(litter.iter().map(|name| format!("litter: {name}")));
        }
        wrong
    }

    /// Another prune after a crash or an error, to its end.
    fn finish(&self, world: World, about: &str) {
        let (done, world) = within(world, self.deletion.run);
        world.lock().end_process();
        if let Err(error) = done {
            panic!("{about}: the next {}: {error}", self.deletion.name);
        }
        let wrong = self.judge(&world, true);
        assert!(wrong.is_empty(), "{about}, finished: {wrong:#?}");
    }

    /// The moments before each call of a prune that changes something, and the one after it.
    fn moments(&self, mut world: World) -> Vec<Moment> {
        world.moments = Some(Vec::new());
        let (done, world) = within(world, self.deletion.run);
        done.unwrap();
        let mut moments = {
            let mut world = world.lock();
            world.end_process();
            world.moments.take().unwrap()
        };
        moments.push(world.lock().moment());
        let wrong = self.judge(&world, true);
        assert!(wrong.is_empty(), "{wrong:#?}");
        moments
    }

    /// Checks that a crash leaves a valid store and that another prune completes the work, also if killed at each `nested`th of its
    /// calls. Returns the number of checked states.
    fn crash(&self, moment: &Moment, disk: &Disk, nested: usize, about: &str) -> u64 {
        let world = || World::after(moment, disk.clone());
        let wrong = self.judge(&Shared::new(world()), false);
        assert!(wrong.is_empty(), "{about}: {wrong:#?}");
        self.finish(world(), about);
        if nested == 0 {
            return 1;
        }
        let again = self.moments(world());
        let again = again.iter().step_by(nested);
        let states = again.map(|again| {
            let about = format!("{about}, then call {}", again.call);
            self.crash(again, &again.disk(), 0, &about)
        });
        1 + states.sum::<u64>()
    }
}

fn listed(store: &Store) -> BTreeSet<SnapshotId> {
    let all = store.catalog().all_snapshots().unwrap();
    all.into_iter().map(|row| row.id).collect()
}

fn planned(store: &Store) -> Result<PrunePlan, StoreError> {
    let mut kept = Retention::unlimited();
    (kept.instances.value, kept.checkpoints.value) = (1, 1);
    let rules = Rules {
        of: &|_| kept.clone(),
        room: Room {
            max_bytes: 0,
            min_free: 0,
        },
        own: None,
    };
    plan(store, &rules, Care::Thorough, now(), &Silent)
}

fn acting() -> Acting<'static> {
    Acting {
        entropy: &Letters,
        observer: &Silent,
        now: now(),
        uid: 1000,
        automatic: false,
    }
}

/// Does what the command `prune` does.
fn prune() -> Result<(), StoreError> {
    let store = Store::open_write(Path::new(STORE))?;
    let plan = planned(&store)?;
    carry_out(&store, plan, &acting()).map(drop)
}

/// Every path in the store at a moment.
fn names(moment: &Moment) -> Vec<String> {
    let store = World::after(moment, moment.disk()).tree(STORE);
    store.into_keys().collect()
}

fn crashed(deletion: &'static Deletion, losses: Losses, every: usize, nested: usize) {
    let scene = Scene::new(deletion);
    let (mut states, mut calls) = (0_u64, 0_u64);
    let moments = scene.moments(World::after(&scene.from, scene.from.disk()));
    let (mut seen, mut tried) = (BTreeSet::new(), BTreeSet::new());
    for (number, moment) in moments.iter().enumerate() {
        // A kill is tried at least once with each set of names in the store: what differs beyond that is content and times.
        let is_new = seen.insert(names(moment)) && matches!(losses, Losses::Kill);
        let nested = if number % every == 0 { nested } else { 0 };
        if number % every != 0 && !is_new {
            continue;
        }
        calls += 1;
        for disk in outcomes(moment, losses) {
            // The power may fail at several calls with the same loss.
            if tried.insert((disk.print(), nested)) {
                states += scene.crash(moment, &disk, nested, &format!("call {}", moment.call));
            }
        }
    }
    println!(
        "{}, {losses:?}: {calls} of {} calls, {} sets of names, {states} states",
        deletion.name,
        moments.len(),
        seen.len()
    );
    assert!(moments.len() > 20 && states > calls);
}

#[test]
fn a_prune_that_is_killed_at_any_call_and_again_loses_nothing() {
    let (every, nested) = if wants_all() { (1, 1) } else { (3 * stride(11), 13) };
    crashed(&PRUNE, Losses::Kill, every, nested);
}

#[test]
fn a_prune_that_meets_a_power_loss_at_any_call_loses_nothing() {
    let (most, every) = if wants_all() { (64, 1) } else { (4, 7 * stride(2)) };
    crashed(&PRUNE, Losses::Power { most }, every, 0);
}

/// `None`: it was done before it came so far.
fn struck(scene: &Scene, fault: Fault) -> Option<Result<(), StoreError>> {
    let about = format!("{fault:?}");
    let mut world = World::after(&scene.from, scene.from.disk());
    world.fault = Some(fault);
    let (done, world) = within(world, scene.deletion.run);
    let has_struck = {
        let mut world = world.lock();
        world.end_process();
        world.fault.take().unwrap().struck()
    };
    if !has_struck {
        return None;
    }
    let moment = world.lock().moment();
    let wrong = scene.judge(&world, false);
    assert!(wrong.is_empty(), "{about}: {done:?}: {wrong:#?}");
    scene.finish(World::after(&moment, moment.disk()), &about);
    Some(done)
}

fn failed(deletion: &'static Deletion) {
    let scene = Scene::new(deletion);
    let every = if wants_all() { 1 } else { 23 * stride(7) as u64 };
    let (mut runs, mut refused) = (0_u64, 0_u64);
    for (number, error, stays) in errors() {
        // Each error begins elsewhere.
        let mut at = 1 + (2 * number + u64::from(stays)) * 31 % every;
        while let Some(done) = struck(&scene, Fault::new(error, at, stays)) {
            runs += 1;
            refused += u64::from(done.is_err());
            at += every;
        }
    }
    println!("{}, errors: {runs} runs, {refused} refused", deletion.name);
    assert!(refused > 0);
}

#[test]
fn a_prune_that_meets_an_error_loses_nothing() {
    failed(&PRUNE);
}

#[test]
fn a_plan_whose_archives_another_process_replaced_is_carried_out_without_them() {
    let scene = Scene::new(&PRUNE);
    let (pruned, world) = within(World::after(&scene.from, scene.from.disk()), || {
        let open = || Store::open_write(Path::new(STORE)).unwrap();
        let plan = planned(&open()).unwrap();
        assert!(plan.repacks());
        prune().unwrap();
        carry_out(&open(), plan, &acting()).unwrap()
    });
    world.lock().end_process();
    assert_eq!((pruned.snapshots.len(), pruned.repacked), (0, 0));
    let wrong = scene.judge(&world, true);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_forgotten_while_a_prune_has_read_it_does_not_come_back() {
    let scene = Scene::new(&PRUNE);
    // The archives are read by then.
    let forgets = at(Point::Reached("prune-planned"), || (FORGET_PATH.run)().unwrap());
    let (_, world) = within(World::after(&scene.from, scene.from.disk()), || {
        let store = Store::open_write(Path::new(STORE)).unwrap();
        let plan = planned(&store).unwrap();
        assert!(plan.repacks());
        let acting = Acting {
            observer: &forgets,
            ..acting()
        };
        carry_out(&store, plan, &acting).unwrap();
    });
    let names = world.lock().tree(STORE).into_keys();
    let archives: Vec<String> = names.filter(|name| name.ends_with(".tar.zst")).collect();
    let _inside = world.enter();
    let contents = archives.iter().map(|name| {
        let packed = handle_fs::read_small_file(&Path::new(STORE).join(name), 1 << 20);
        zstd::decode_all(&*packed.unwrap().unwrap()).unwrap()
    });
    let contents: Vec<Vec<u8>> = contents.collect();
    let has = |name: &str| {
        let bytes = bytes_of(name);
        let mut all = contents.iter();
        all.any(|content| content.windows(bytes.len()).any(|part| part == bytes))
    };
    assert!(has("file-2"), "the archives are searched");
    assert!(!has("file-1"));
    // The next one does what that one left.
    prune().unwrap();
    let store = Store::open_write(Path::new(STORE)).unwrap();
    assert!(planned(&store).unwrap().is_empty());
}

/// Makes the tests of each deletion, which run beside one another.
macro_rules! forgetting {
    ($($name:ident: $deletion:ident,)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn a_kill_at_any_call_and_again_loses_nothing_and_leaves_nothing() {
                let (every, nested) = if wants_all() { (1, 1) } else { (2 * stride(23), 17) };
                crashed(&$deletion, Losses::Kill, every, nested);
            }

            #[test]
            fn a_power_loss_at_any_call_loses_nothing_and_leaves_nothing() {
                let (most, every) = if wants_all() { (64, 1) } else { (4, 7 * stride(3)) };
                crashed(&$deletion, Losses::Power { most }, every, 0);
            }

            #[test]
            fn an_error_loses_nothing_and_leaves_nothing() {
                failed(&$deletion);
            }
        })*
    };
}

forgetting! {
    forgetting_a_path: FORGET_PATH,
    forgetting_a_session: FORGET_SESSION,
    forgetting_a_path_again: FORGET_PATH_AGAIN,
    forgetting_a_path_of_one_session: FORGET_PATH_OF_ONE,
}
