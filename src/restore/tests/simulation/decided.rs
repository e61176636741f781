//! Another process replaces what a decided restore put in place, before the next command finishes that restore. Nothing is set on its
//! objects, and a restore that is not decided is not forgotten.

use std::path::{Path, PathBuf};

use super::session::{ROOT, STORE, left, within};
use super::{Ended, Session, Verb, cases};
use crate::restore::{RestoreError, settle};
use crate::store::Store;
use handle_fs::simulated::Moment;

/// Moments of a restore at which its papers hold `has` and not `lacks`.
fn moments(session: &Session, has: &str, lacks: &str) -> Vec<Moment> {
    let mut world = session.begin();
    world.moments = Some(Vec::new());
    let (_, world) = within(world, || session.restore());
    let mut moments = world.lock().moments.take().unwrap();
    moments.retain(|moment| {
        let papers = left(moment, &moment.disk()).tree(&format!("{STORE}/restores"));
        let holds = |name: &str| papers.keys().any(|path| path.ends_with(name));
        holds(has) && !holds(lacks)
    });
    assert!(!moments.is_empty());
    moments
}

#[test]
fn what_replaces_an_installed_object_keeps_its_flags_and_times() {
    let mut replaced = 0;
    for session in [cases::bound(), cases::busy().exact()] {
        for moment in moments(&session, "/decision", "/none") {
            let tree = left(&moment, &moment.disk()).tree(ROOT);
            for (path, object) in tree.iter().filter(|(path, _)| !path.is_empty()) {
                let at = format!("{ROOT}/{path}");
                let mut world = left(&moment, &moment.disk());
                world.carry(&at, "/disk/carried");
                match object.what.as_str() {
                    "directory" => world.put_file(&format!("{at}/theirs"), "theirs"),
                    _ => world.put_file(&at, "theirs"),
                }
                let theirs = world.tree(ROOT)[path].clone();
                let (_, world) = within(world, || session.recover(Verb::Resume));
                let now = world.lock().tree(ROOT);
                assert_eq!(now.get(path), Some(&theirs), "call {}, {path}", moment.call);
                replaced += 1;
            }
        }
    }
    assert!(replaced > 50, "{replaced}");
}

#[test]
fn a_restore_that_wrote_its_journal_is_not_forgotten() {
    let session = cases::bound();
    let moments = moments(&session, "/journal", "/decision");
    let moment = moments.first().unwrap();
    let (settled, world) = within(left(moment, &moment.disk()), || {
        let store = Store::open_write(Path::new(STORE)).unwrap();
        let _locks = store.lock_restore(&[PathBuf::from(ROOT)]).unwrap();
        let id = store.pending_restores().unwrap().remove(0).intent.id;
        let papers = store.take_up(&id).unwrap().unwrap();
        settle(&store, papers, &session.acting())
    });
    assert!(matches!(settled, Err(RestoreError::Pending(_))), "{settled:?}");
    let after = {
        let mut world = world.lock();
        world.end_process();
        world.moment()
    };
    let (ended, _) = within(left(&after, &after.disk()), || session.recover(Verb::Resume));
    assert_eq!(ended, Ok(Ended::New));
}
