//! Modes whatever the umask, refused directories, and readers that leave no trace.

use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};

use super::*;
use crate::diagnostic::Diagnostic as _;

fn refused(root: &Path) -> String {
    let read = Store::open_read(root).map(|store| store.is_some());
    let write = Store::open_write(root).map(drop);
    let (Err(read @ StoreError::Unsafe { .. }), Err(write @ StoreError::Unsafe { .. })) = (read, write)
    else {
        panic!("{root:?} was taken");
    };
    assert_eq!(read.to_string(), write.to_string());
    write.to_string()
}

#[test]
fn everything_is_private_whatever_the_umask() {
    for umask in ["000", "022", "077", "0777"] {
        let place = Place::new();
        fs::create_dir_all(place.root.parent().unwrap()).unwrap();
        children::run(umask, &place.root, "everything");
        let tree = tree(&place.root);
        for (path, (mode, _)) in &tree {
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(*mode, expected, "umask {umask}: {path:?} has {mode:o}");
        }
        let files = tree.keys().filter(|path| path.is_file()).count();
        // Catalog, log, record, archive, locks of receipts, drafts, store and instance, lock of the draft
        // (its journal is truncated, not removed).
        assert!(files >= 9, "{tree:?}");
    }
}

#[test]
fn missing_parents_are_made_private() {
    let place = Place::new();
    let home = place.root.parent().unwrap().parent().unwrap().join("deep/er");
    drop(Store::open_write(&home.join("data/recovery")).unwrap());
    let mode = fs::metadata(&home).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o700);
}

#[test]
fn a_store_that_others_could_read_becomes_private() {
    let place = Place::new();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(&place.root)
        .unwrap();
    fs::set_permissions(&place.root, fs::Permissions::from_mode(0o755)).unwrap();
    drop(place.read());
    assert_eq!(
        fs::metadata(&place.root).unwrap().permissions().mode() & 0o7777,
        0o755,
        "a reader changed it"
    );
    drop(place.write());
    assert_eq!(
        fs::metadata(&place.root).unwrap().permissions().mode() & 0o7777,
        0o700
    );
}

#[test]
fn a_linked_store_is_refused() {
    let place = Place::new();
    let elsewhere = Place::new();
    drop(elsewhere.write());
    fs::create_dir_all(place.root.parent().unwrap()).unwrap();
    symlink(&elsewhere.root, &place.root).unwrap();
    assert!(refused(&place.root).contains("symbolic link"));
    let mut slash = place.root.clone().into_os_string();
    slash.push("/");
    assert!(refused(Path::new(&slash)).contains("symbolic link"));
}

#[test]
fn a_linked_directory_in_the_store_is_refused() {
    let place = Place::new();
    drop(place.write());
    let archives = place.layout().archives();
    fs::rename(&archives, place.root.join("moved")).unwrap();
    symlink("moved", &archives).unwrap();
    assert!(refused(&place.root).contains("archives"));
}

#[test]
fn a_store_that_others_may_write_to_is_refused() {
    for mode in [0o770, 0o702, 0o777] {
        let place = Place::new();
        drop(place.write());
        fs::set_permissions(&place.root, fs::Permissions::from_mode(mode)).unwrap();
        assert!(refused(&place.root).contains(&format!("{mode:04o}")));
        fs::set_permissions(&place.root, fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(place.layout().snapshots(), fs::Permissions::from_mode(mode)).unwrap();
        assert!(refused(&place.root).contains("snapshots"));
    }
}

#[test]
fn a_store_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        crate::skipped::skipped("only root can give a directory away");
        return;
    }
    let place = Place::new();
    drop(place.write());
    std::os::unix::fs::chown(&place.root, Some(65534), None).unwrap();
    assert!(refused(&place.root).contains("belongs to user 65534"));
}

#[test]
fn a_file_in_the_way_is_named() {
    let place = Place::new();
    fs::create_dir_all(place.root.parent().unwrap()).unwrap();
    fs::write(&place.root, "mine").unwrap();
    assert!(refused(&place.root).contains("not a directory"));
    let below = place.root.join("data/recovery");
    let error = Store::open_write(&below).unwrap_err();
    assert!(
        matches!(&error, StoreError::Create { path, .. } if path.starts_with(&place.root)),
        "{error:?}"
    );
    assert!(format!("{:?}", error.hints()).contains("JACKIN_HOME_DIR"));
    assert_eq!(fs::read(&place.root).unwrap(), b"mine");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    // /proc takes no directories, from nobody.
    let error = Store::open_write(Path::new("/proc/jackin/data/recovery")).unwrap_err();
    assert!(
        matches!(&error, StoreError::Create { path, .. } if path == Path::new("/proc/jackin")),
        "{error:?}"
    );
}

#[test]
fn a_reader_makes_nothing() {
    let place = Place::new();
    let home = place.root.parent().unwrap().parent().unwrap();
    let before = tree(home);
    assert!(Store::open_read(&place.root).unwrap().is_none());
    assert_eq!(tree(home), before);

    let store = place.write();
    store.append(at(0), 0, &instance(1), begin("/srv/one")).unwrap();
    capture(&store, &record(1));
    drop(store);
    for lost in ["", "catalog.sqlite3", "locks", "tmp"] {
        if !lost.is_empty() {
            let path = place.root.join(lost);
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap()
            } else {
                fs::remove_file(path).unwrap()
            }
        }
        let before = tree(home);
        let store = place.read();
        assert_eq!(store.catalog().instances().unwrap().len(), 1);
        assert!(!store.instance_locked(&instance(1)).unwrap());
        assert!(store.record(&snapshot(1)).is_ok());
        drop(store.share().unwrap());
        for refusal in [
            store.append(at(0), 0, &instance(1), end()).map(drop),
            store.draft(snapshot(9)).map(drop),
            store.lock_instance(&instance(1)).map(drop),
            store.lock_restore(&[]).map(drop),
            store.exclusive(Patience::Short).map(drop),
            store.rebuild().map(drop),
        ] {
            assert!(matches!(refusal, Err(StoreError::ReadOnly { .. })));
        }
        assert_eq!(tree(home), before, "without {lost:?}");
    }
}

#[test]
fn an_unprivileged_reader_of_a_closed_directory_is_told() {
    if rustix::process::geteuid().is_root() {
        crate::skipped::skipped("root may read everything");
        return;
    }
    let place = Place::new();
    drop(place.write());
    let parent = place.root.parent().unwrap();
    fs::set_permissions(parent, fs::Permissions::from_mode(0o000)).unwrap();
    let error = Store::open_read(&place.root).map(drop).unwrap_err();
    fs::set_permissions(parent, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
}
