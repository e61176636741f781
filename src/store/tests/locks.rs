//! Locks: one holder, gone with its process, never inherited, no litter.

use super::*;
use crate::environment::Environment;
use crate::store::lock;
use handle_fs::Locations;
use handle_fs::remote::loopback::{through_agent, transports};

fn is_locked<T>(result: Result<T, StoreError>, object: &LockedObject) {
    match result {
        Err(StoreError::Locked { object: found }) => assert_eq!(&found, object),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{object} was given twice"),
    }
}

#[test]
fn an_instance_is_held_once() {
    let place = Place::new();
    let (one, two) = (place.write(), place.write());
    assert!(!one.instance_locked(&instance(1)).unwrap());
    let guard = one.lock_instance(&instance(1)).unwrap();
    for store in [&one, &two, &place.read()] {
        assert!(store.instance_locked(&instance(1)).unwrap());
        assert!(!store.instance_locked(&instance(2)).unwrap());
    }
    is_locked(
        two.lock_instance(&instance(1)),
        &LockedObject::Instance(instance(1)),
    );
    drop(two.lock_instance(&instance(2)).unwrap());
    drop(guard);
    assert!(!two.instance_locked(&instance(1)).unwrap());
    drop(two.lock_instance(&instance(1)).unwrap());
    let left: Vec<_> = fs::read_dir(place.layout().locks())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().starts_with("instance-")),
        "{left:?}"
    );
}

#[test]
fn a_killed_holder_holds_nothing_and_its_child_neither() {
    let place = Place::new();
    let child = children::hold(&place.root, "instance");
    let store = place.write();
    assert!(store.instance_locked(&instance(1)).unwrap());
    is_locked(
        store.lock_instance(&instance(1)),
        &LockedObject::Instance(instance(1)),
    );
    children::kill(child);
    assert!(!store.instance_locked(&instance(1)).unwrap());
    drop(store.lock_instance(&instance(1)).unwrap());
}

#[test]
fn restores_exclude_each_other_on_and_below_a_root() {
    let place = Place::new();
    let (one, two) = (place.write(), place.write());
    let roots = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let guard = one
        .lock_restore(&roots(&["/srv/b", "/srv/a/x", "/srv/b", "/srv/b/inner"]))
        .unwrap();
    for (wanted, named) in [
        (vec!["/srv/a/x"], "/srv/a/x"),
        (vec!["/srv/c", "/srv/b"], "/srv/b"),
        (vec!["/srv/a/x/deep/er"], "/srv/a/x/deep/er"),
        (vec!["/srv/a"], "/srv/a"),
        (vec!["/"], "/"),
    ] {
        match two.lock_restore(&roots(&wanted)) {
            Err(StoreError::Locked {
                object: LockedObject::Root(root, holders),
            }) => {
                assert_eq!(root, PathBuf::from(named));
                let pids: Vec<u32> = holders.iter().map(|holder| holder.pid).collect();
                assert!(
                    !cfg!(target_os = "linux") || pids == [std::process::id()],
                    "{pids:?}"
                );
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("{wanted:?} was given twice"),
        }
    }
    drop(two.lock_restore(&roots(&["/srv/a/xy", "/srv/c"])).unwrap());
    // What a refused attempt had taken already is free again.
    drop(two.lock_restore(&roots(&["/srv/c"])).unwrap());
    drop(guard);
    drop(two.lock_restore(&roots(&["/"])).unwrap());
    let left = fs::read_dir(place.layout().locks()).unwrap().count();
    assert_eq!(left, 3, "receipts, drafts and store");
}

#[test]
fn restores_exclude_each_other_through_a_mount_that_shows_one_directory_twice() {
    let place = Place::new();
    let layout = place.layout();
    drop(place.write());
    let table = b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 8:1 /srv/a /mnt/b rw - ext4 /dev/sda1 rw\n";
    let locations = Locations::by(table);
    let lock = |path: &str| {
        let roots = [PathBuf::from(path)];
        lock::restore(&layout, (&roots, &locations), lock::Reach::Here)
    };
    let guard = lock("/srv/a/x").unwrap();
    for path in ["/srv/a/x", "/mnt/b/x", "/mnt/b", "/mnt/b/x/deep"] {
        is_locked_root(lock(path), path);
    }
    drop(lock("/mnt/b/y").unwrap());
    drop(guard);
    drop(lock("/mnt/b").unwrap());
    let left = fs::read_dir(layout.locks()).unwrap().count();
    assert_eq!(left, 3, "receipts, drafts and store");
}

fn is_locked_root(result: Result<LockGuard, StoreError>, path: &str) {
    match result {
        Err(StoreError::Locked {
            object: LockedObject::Root(root, _),
        }) => assert_eq!(root, PathBuf::from(path)),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{path} was given twice"),
    }
}

#[test]
fn a_root_of_another_machine_is_locked_there_or_not_at_all() {
    let place = Place::new();
    let environment = Environment {
        transports: transports(),
        ..Environment::default()
    };
    let store = Store::open_write(Layout::of(place.root.clone(), &environment)).unwrap();
    let there = crate::workplace::scratch();
    let far = through_agent("locked", there.path());
    let guard = store.lock_restore(std::slice::from_ref(&far)).unwrap();
    let locked = handle_fs::open_root(there.path()).unwrap();
    assert!(!handle_fs::try_lock(&locked, false).unwrap());
    drop(guard);
    assert!(handle_fs::try_lock(&locked, false).unwrap());
    handle_fs::unlock(&locked).unwrap();
    // One that is gone comes back as a whole; where the lock cannot be had, nothing goes on without it.
    drop(store.lock_restore(&[far.join("gone")]).unwrap());
    let never = [far.join("x".repeat(300))];
    assert!(matches!(store.lock_restore(&never), Err(StoreError::Io { .. })));
    drop(store.lock_restore_here(&never).unwrap());
}

#[test]
fn captures_share_the_store_and_a_prune_does_not() {
    let place = Place::new();
    let (one, two) = (place.write(), place.write());
    let object = LockedObject::Store(place.root.clone());
    let shares = (
        one.share().unwrap(),
        two.share().unwrap(),
        place.read().share().unwrap(),
    );
    is_locked(one.exclusive(Patience::Short), &object);
    drop(shares);
    let exclusive = one.exclusive(Patience::Short).unwrap();
    is_locked(two.exclusive(Patience::Short), &object);
    // Whoever shares waits: archives go in moments.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| two.share().map(drop));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        drop(exclusive);
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn a_lock_is_never_held_twice_while_it_is_fought_over() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let place = Place::new();
    let store = place.write();
    let holders = AtomicU32::new(0);
    let taken = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for turn in 0..1500 {
                    if turn % 50 == 0 {
                        store.instance_locked(&instance(1)).unwrap();
                    }
                    let Ok(_guard) = store.lock_instance(&instance(1)) else {
                        continue;
                    };
                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                    taken.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    holders.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert!(taken.load(Ordering::SeqCst) > 1500);
}
