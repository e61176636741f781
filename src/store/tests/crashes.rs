//! The store in a simulated file system: a kill, a power loss or an error at every call, also a power loss behind the work of the
//! process that comes after a kill.

use std::collections::HashSet;

use handle_fs::simulated::{Fault, Losses, Moment, Shared, World, errors, outcomes, within, world};

use super::*;
use crate::simulated_share::stride;

const STORE: &str = "/data/recovery";
/// States of a power loss that are tried at each moment.
const MOST: usize = 24;

fn layout() -> Layout {
    Layout::new(STORE.into())
}

fn open() -> Store {
    Store::open_write(Path::new(STORE)).unwrap()
}

/// A world in which `work` was done, all on disk.
fn prepared(work: impl FnOnce()) -> Moment {
    let ((), world) = within(World::new(&["/data"]), work);
    let mut world = world.lock();
    world.end_process();
    world.settle();
    world.moment()
}

/// The moments before each call of `work` that changes something, and the one after it.
fn moments(mut world: World, work: impl FnOnce()) -> Vec<Moment> {
    world.moments = Some(Vec::new());
    let ((), world) = within(world, work);
    let mut world = world.lock();
    world.end_process();
    let mut moments = world.moments.take().unwrap();
    moments.push(world.moment());
    moments
}

/// Runs `judge` in every state that a kill or a power loss at one of `moments` leaves, once in each.
fn after_crashes(moments: &[Moment], judge: impl Fn(&str)) {
    let mut seen = HashSet::new();
    for moment in moments {
        let power = outcomes(moment, Losses::Power { most: MOST });
        for (at, disk) in [moment.disk()].into_iter().chain(power).enumerate() {
            if !seen.insert(disk.print()) {
                continue;
            }
            let world = Shared::new(World::after(moment, disk));
            let _inside = world.enter();
            judge(&format!("call {}, state {at}", moment.call));
        }
    }
}

#[test]
fn a_repair_of_the_log_that_is_interrupted_loses_no_whole_link() {
    const WHOLE: usize = 10;
    let path = layout().receipts();
    let from = prepared(|| {
        let store = open();
        store.append(at(0), 7, &instance(1), begin("/srv/one")).unwrap();
        let world = world().unwrap();
        let behind = world.lock().content(&layout().catalog()).unwrap();
        for second in 1..=WHOLE {
            store.append(at(second as i64), 7, &instance(1), end()).unwrap();
        }
        drop(store);
        // The last link is damaged, and the catalog's copy has only the first.
        let mut text = world.lock().content(&path).unwrap().to_vec();
        let last = text.len() - 3;
        text[last] ^= 1;
        world.lock().store(&path, &text).unwrap();
        world.lock().store(&layout().catalog(), &behind).unwrap();
    });
    let judge = |about: &str| {
        let mended = mend_chain(&layout(), true);
        assert!(mended.is_ok(), "{about}: {mended:?}");
        assert_eq!(open().receipts().unwrap().len(), WHOLE, "{about}");
        let world = world().unwrap();
        let names = world.lock().names_in(STORE);
        assert!(names.contains("receipts.log.damaged-1"), "{about}: {names:?}");
    };
    let start = || World::after(&from, from.disk());
    let moments = moments(start(), || drop(mend_chain(&layout(), true).unwrap()));
    assert!(moments.len() > 8);
    after_crashes(&moments, judge);
    for (_, error, stays) in errors() {
        for call in 1.. {
            let mut world = start();
            world.fault = Some(Fault::new(error, call, stays));
            let (_, world) = within(world, || mend_chain(&layout(), true));
            let has_struck = {
                let mut world = world.lock();
                world.end_process();
                world.fault.take().is_some_and(|fault| fault.struck())
            };
            if !has_struck {
                break;
            }
            let _inside = world.enter();
            judge(&format!("{error:?} at call {call}"));
        }
    }
}

/// Runs `first`, kills it at every call, runs `second` behind it, and `judge` in every state that a power loss after that leaves, once
/// in each.
fn after_kill_and_loss(from: &Moment, first: impl Fn(), second: impl Fn(), judge: impl Fn(&str)) {
    let killed = moments(World::after(from, from.disk()), &first);
    assert!(killed.len() > 2);
    let mut seen = HashSet::new();
    for moment in killed {
        let ((), world) = within(World::killed(&moment), &second);
        let last = {
            let mut world = world.lock();
            world.end_process();
            world.moment()
        };
        for (at, disk) in outcomes(&last, Losses::Power { most: MOST })
            .into_iter()
            .enumerate()
        {
            if !seen.insert(disk.print()) {
                continue;
            }
            let world = Shared::new(World::after(&last, disk));
            let _inside = world.enter();
            judge(&format!("killed at call {}, state {at}", moment.call));
        }
    }
}

fn published(n: u8) {
    let store = open();
    let record = record(n);
    let draft = store.draft(snapshot(n)).unwrap();
    store.publish(draft, &record, Told::default(), at(1), 7).unwrap();
}

#[test]
fn a_receipt_that_the_next_process_writes_has_its_record_on_disk() {
    let from = prepared(|| drop(open().append(at(0), 7, &instance(1), begin("/srv/one"))));
    let judge = |about: &str| {
        let store = open();
        assert!(store.warnings().is_empty(), "{about}: {:?}", store.warnings());
        for receipt in store.receipts().unwrap() {
            if let Operation::Capture { snapshot, .. } = &receipt.act {
                assert!(store.record(snapshot).is_ok(), "{about}");
            }
        }
    };
    after_kill_and_loss(&from, || published(1), || drop(open()), judge);
}

#[test]
fn a_receipt_stays_whoever_made_the_log() {
    let from = prepared(|| drop(open()));
    let append = || {
        open().append(at(0), 7, &instance(1), begin("/srv/one")).unwrap();
    };
    let judge = |about: &str| assert!(!open().receipts().unwrap().is_empty(), "{about}");
    after_kill_and_loss(&from, append, append, judge);
}

#[test]
fn archives_of_a_record_that_was_visible_stay_while_another_draft_is_open() {
    use std::io::Write as _;

    let from = prepared(|| drop(open()));
    let archive = snapshot(1).archive();
    let (mut shown, mut unseen) = (0, 0);
    for call in 1.. {
        let mut world = World::after(&from, from.disk());
        world.moments = Some(Vec::new());
        let (done, world) = within(world, || {
            let store = open();
            let _other = store.draft(snapshot(2)).unwrap();
            let draft = store.draft(snapshot(1)).unwrap();
            draft.archive_file(&archive).unwrap().write_all(b"abc").unwrap();
            draft.publish_archive(&archive).unwrap();
            let mut record = record(1);
            record.archives = vec![archive_ref(archive.clone())];
            let world = handle_fs::simulated::world().unwrap();
            world.lock().fault = Some(Fault::new(rustix::io::Errno::IO, call, false));
            let published = draft.publish(&record);
            let struck = world.lock().fault.take().is_some_and(|fault| fault.struck());
            drop(draft);
            (published.is_ok(), struck)
        });
        let mut world = world.lock();
        world.end_process();
        let (is_published, has_struck) = done;
        let moments = world.moments.take().unwrap();
        let is_there = |moment: &Moment, path: &Path| {
            let world = World::after(moment, moment.disk());
            world.content(path).is_some()
        };
        if !is_published {
            let layout = layout();
            let record = layout.record(&snapshot(1));
            let was_shown = moments.iter().any(|moment| is_there(moment, &record));
            let stays = is_there(&world.moment(), &layout.archive(&archive));
            assert!(stays || !was_shown, "call {call}");
            (shown, unseen) = (shown + u64::from(was_shown), unseen + u64::from(!was_shown));
        }
        if !has_struck {
            break;
        }
    }
    assert!(shown > 0 && unseen > 0, "{shown}, {unseen}");
}

#[test]
fn a_key_and_an_identity_that_were_used_stay_whoever_made_them() {
    use handle_fs::simulated::Letters;

    let used = std::cell::RefCell::new(None);
    let from = prepared(|| drop(open()));
    let make = || {
        let store = open();
        let key = store.make_digest_key(&Letters).unwrap();
        let identity = store.make_replica_identity(&Letters).unwrap();
        used.replace(Some((key, identity)));
    };
    let judge = |about: &str| {
        let store = open();
        let found = store.digest_key().unwrap().zip(store.replica_identity().unwrap());
        assert_eq!(found, *used.borrow(), "{about}");
    };
    after_kill_and_loss(&from, make, make, judge);
}

#[test]
fn a_store_stays_whoever_made_its_directories() {
    let from = World::new(&["/data"]).moment();
    let append = || {
        open().append(at(0), 7, &instance(1), begin("/srv/one")).unwrap();
    };
    let judge = |about: &str| assert!(!open().receipts().unwrap().is_empty(), "{about}");
    after_kill_and_loss(&from, || drop(open()), append, judge);
}

/// What a launch writes: a session begins, its baseline has an archive if `archived`, its closing snapshot comes with its end.
fn launched(n: u8, archived: bool) {
    use std::io::Write as _;

    let store = open();
    let of = |n| SnapshotRecord {
        instance: instance(n),
        ..record(n)
    };
    store
        .append_deferred(at(0), 7, &instance(n), begin("/srv/one"))
        .unwrap();
    let draft = store.draft(snapshot(n)).unwrap();
    let mut baseline = of(n);
    if archived {
        let archive = snapshot(n).archive();
        draft.archive_file(&archive).unwrap().write_all(b"abc").unwrap();
        draft.publish_archive(&archive).unwrap();
        baseline.archives = vec![archive_ref(archive)];
    }
    store
        .publish(draft, &baseline, Told::default(), at(1), 7)
        .unwrap();
    assert!(store.catalog().instance(&instance(n)).unwrap().is_some());
    let draft = store.draft(snapshot(n + 1)).unwrap();
    let closing = SnapshotRecord {
        id: snapshot(n + 1),
        taken_at: at(2),
        archives: baseline.archives.clone(),
        ..of(n)
    };
    let told = Told {
        then: Some((at(3), end())),
        ..Told::default()
    };
    store.publish(draft, &closing, told, at(2), 7).unwrap();
    assert!(
        store
            .catalog()
            .instance(&instance(n))
            .unwrap()
            .unwrap()
            .ended_at
            .is_some()
    );
}

/// Checks that records, receipts, archives and the catalog of the store tell of the same, and that nothing lies around.
fn is_sound(about: &str) {
    let store = open();
    assert!(store.warnings().is_empty(), "{about}: {:?}", store.warnings());
    assert!(store.check_told().is_ok(), "{about}");
    assert_eq!(store.lost_records().unwrap(), [], "{about}");
    let receipts = store.receipts().unwrap();
    let records = store.record_ids().unwrap();
    for id in &records {
        let tells = |act: &Operation| matches!(act, Operation::Capture { snapshot, .. } if snapshot == id);
        let told = receipts.iter().filter(|receipt| tells(&receipt.act)).count();
        assert_eq!(told, 1, "{about}: {id} in {receipts:?}");
        store.record(id).unwrap();
    }
    let world = world().unwrap();
    let names = |below: &str| world.lock().names_in(&format!("{STORE}/{below}"));
    assert!(names("tmp").is_empty(), "{about}: {:?}", names("tmp"));
    let needed = records.iter().flat_map(|id| store.record(id).unwrap().archives);
    let needed: std::collections::BTreeSet<String> =
        needed.map(|archive| format!("{}.tar.zst", archive.id)).collect();
    let archives: std::collections::BTreeSet<String> = names("archives").into_iter().collect();
    assert_eq!(archives, needed, "{about}");
    assert!(
        !catalog_sync::is_false(store.catalog(), &layout()).unwrap(),
        "{about}"
    );
    for row in store.catalog().instances().unwrap() {
        let is_told = |receipt: &Receipt| receipt.instance.as_ref() == Some(&row.id);
        assert!(receipts.iter().any(is_told), "{about}");
    }
}

/// The moments that are tried.
fn share(moments: Vec<Moment>) -> Vec<Moment> {
    moments.into_iter().step_by(stride(2)).collect()
}

fn launch_crashed(archived: bool) {
    let from = prepared(|| launched(1, true));
    let crashed = moments(World::after(&from, from.disk()), || launched(3, archived));
    assert!(crashed.len() > 10, "{}", crashed.len());
    after_crashes(&share(crashed), |about| {
        is_sound(about);
        // What comes next is as it would have been.
        launched(5, archived);
        is_sound(about);
    });
    after_kill_and_loss(&from, || launched(3, archived), || drop(open()), is_sound);
}

#[test]
fn a_launch_that_meets_a_crash_leaves_a_sound_store() {
    launch_crashed(true);
}

#[test]
fn a_launch_without_an_archive_that_meets_a_crash_leaves_a_sound_store() {
    launch_crashed(false);
}

#[test]
fn a_first_launch_that_meets_a_crash_leaves_a_sound_store() {
    let from = World::new(&["/data"]).moment();
    let crashed = moments(World::after(&from, from.disk()), || launched(1, true));
    after_crashes(&share(crashed), is_sound);
}

#[test]
fn a_launch_that_meets_an_error_leaves_a_sound_store() {
    let from = prepared(|| launched(1, true));
    let mut seen = HashSet::new();
    for (_, error, stays) in errors() {
        for call in 1.. {
            let mut world = World::after(&from, from.disk());
            world.fault = Some(Fault::new(error, call, stays));
            let (_, world) = within(world, || {
                let work = std::panic::AssertUnwindSafe(|| launched(3, true));
                std::panic::catch_unwind(work).is_ok()
            });
            let (has_struck, disk) = {
                let mut world = world.lock();
                world.end_process();
                let has_struck = world.fault.take().is_some_and(|fault| fault.struck());
                (has_struck, world.moment().disk())
            };
            if !has_struck {
                break;
            }
            // Errors of several kinds leave the same.
            if seen.insert(disk.print()) {
                let _inside = world.enter();
                is_sound(&format!("{error:?} at call {call}"));
            }
        }
    }
}
