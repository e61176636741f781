//! Words for zfs, by a stand-in for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::{Dataset, Freezer};
use crate::environment::SnapshotProgram;
use handle_fs::NativeKind;

/// A program that writes its words down and says `answer`.
fn stand_in(directory: &Path, answer: &str, status: i32) -> Freezer {
    let program = directory.join("zfs");
    let log = directory.join("log");
    let script = format!(
        "#!/bin/sh\nfor w in \"$@\"; do printf '<%s>' \"$w\"; done >>{}\necho >>{}\nprintf '{answer}'\nexit {status}\n",
        log.display(),
        log.display()
    );
    write_program(&program, &script);
    Freezer {
        kind: NativeKind::Zfs,
        found: SnapshotProgram {
            program,
            path: "/usr/bin:/bin".into(),
            helper_image: None,
            plans: Arc::default(),
        },
    }
}

/// Writes it through another process: what a child of another test still holds open for writing cannot be executed.
fn write_program(at: &Path, script: &str) {
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let done = Command::new("sh")
        .args(["-c", write])
        .arg(at)
        .arg(script)
        .status();
    assert!(done.unwrap().success());
}

fn log(directory: &Path) -> String {
    fs::read_to_string(directory.join("log")).unwrap_or_default()
}

#[test]
fn the_words_for_zfs() {
    let home = tempfile::tempdir().unwrap();
    let zfs = stand_in(home.path(), "tank/work\\t/srv/a b\\n", 0);
    let dataset = zfs.dataset(Path::new("/srv/a b/project")).unwrap();
    let wanted = Dataset {
        name: "tank/work".to_owned(),
        mountpoint: PathBuf::from("/srv/a b"),
    };
    assert_eq!(dataset, wanted);
    zfs.snapshot_dataset("tank/work@jackin-recovery-x").unwrap();
    let zfs = stand_in(home.path(), "tank/work@jackin-recovery-x\\n", 0);
    zfs.destroy_snapshot("tank/work@jackin-recovery-x").unwrap();
    assert_eq!(
        log(home.path()),
        "<list><-H><-p><-t><filesystem><-o><name,mountpoint><--></srv/a b/project>\n\
         <snapshot><tank/work@jackin-recovery-x>\n\
         <list><-H><-t><snapshot><-o><name><tank/work@jackin-recovery-x>\n<destroy><tank/work@jackin-recovery-x>\n"
    );
}

#[test]
fn what_cannot_be_seen_is_not_taken_for_gone() {
    let home = tempfile::tempdir().unwrap();
    let zfs = says_of(home.path(), "dataset does not exist", "tank/work");
    assert_eq!(zfs.has_snapshot("tank/work@x"), Ok(false));
    zfs.destroy_snapshot("tank/work@x").unwrap();
    // The pool is elsewhere.
    let zfs = says_of(home.path(), "dataset does not exist", "another");
    zfs.has_snapshot("tank/work@x").unwrap_err();
    zfs.destroy_snapshot("tank/work@x").unwrap_err();
    let zfs = says_of(home.path(), "permission denied", "tank/work");
    zfs.has_snapshot("tank/work@x").unwrap_err();
    assert!(!log(home.path()).contains("<destroy>"));
}

/// A program that knows one dataset without snapshots, and complains of all else.
fn says_of(directory: &Path, complaint: &str, dataset: &str) -> Freezer {
    let freezer = stand_in(directory, "", 0);
    let script = format!(
        "#!/bin/sh\nfor w; do printf '<%s>' \"$w\"; done >>{}\n[ \"$7\" = {dataset} ] || {{ echo '{complaint}' >&2; exit 1; }}\necho $7\n",
        directory.join("log").display()
    );
    write_program(&freezer.found.program, &script);
    freezer
}

#[test]
fn no_dataset_is_ever_destroyed_and_no_option_taken_for_one() {
    let home = tempfile::tempdir().unwrap();
    let zfs = stand_in(home.path(), "-r\\t/srv\\n", 0);
    for name in ["tank/work", "tank@", "@x", "-r@x", "tank@a%b", "tank@a,b"] {
        zfs.destroy_snapshot(name).unwrap_err();
    }
    assert_eq!(log(home.path()), "");
    zfs.dataset(Path::new("/srv")).unwrap_err();
    for answer in ["tank\\tlegacy\\n", "tank\\n", "tank\\t/a\\t/b\\n", ""] {
        stand_in(home.path(), answer, 0)
            .dataset(Path::new("/srv"))
            .unwrap_err();
    }
}

#[test]
fn what_fails_says_why() {
    let home = tempfile::tempdir().unwrap();
    let zfs = stand_in(home.path(), "", 1);
    let why = zfs.snapshot_dataset("tank@x").unwrap_err();
    assert_eq!(why, "zfs failed: it does not say why");
    fs::remove_file(home.path().join("zfs")).unwrap();
    let why = zfs.snapshot_dataset("tank@x").unwrap_err();
    assert!(why.starts_with("zfs cannot be started"), "{why}");
}
