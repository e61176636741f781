//! The store in a simulated file system: a kill, a power loss or an error at every call, also a power loss behind the work of the
//! process that comes after a kill.

use handle_fs::simulated::{Fault, Losses, Moment, Shared, World, errors, outcomes, within, world};

use super::*;

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

/// Runs `judge` in every state that a kill or a power loss at one of `moments` leaves.
fn after_crashes(moments: &[Moment], judge: impl Fn(&str)) {
    for moment in moments {
        let power = outcomes(moment, Losses::Power { most: MOST });
        for (at, disk) in [moment.disk()].into_iter().chain(power).enumerate() {
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

/// Runs `first`, kills it at every call, runs `second` behind it, and `judge` in every state that a power loss after that leaves.
fn after_kill_and_loss(from: &Moment, first: impl Fn(), second: impl Fn(), judge: impl Fn(&str)) {
    let killed = moments(World::after(from, from.disk()), &first);
    assert!(killed.len() > 2);
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
