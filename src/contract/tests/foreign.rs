//! Counting what another user holds. Mode bits are judged for a made-up user, so the test works for root as well.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::{Host, only};
use crate::contract::{Foreign, Identity, MAX_VISITED, count_foreign};
use handle_fs::remote::Transports;

fn chmod(host: &Host, below: &str, mode: u32) {
    fs::set_permissions(host.path(below), Permissions::from_mode(mode)).unwrap();
}

/// A user that owns nothing here.
fn stranger(host: &Host) -> Identity {
    let metadata = fs::metadata(host.path("src")).unwrap();
    Identity {
        uid: metadata.uid() + 4_000,
        groups: vec![metadata.gid() + 4_000],
    }
}

fn count(host: &Host, recovery: &str, identity: &Identity, limit: u64) -> Foreign {
    let contract = host.project("src", recovery).unwrap();
    count_foreign(&Transports::default(), only(&contract), identity, limit).unwrap()
}

#[test]
fn the_owner_of_everything_meets_nothing_foreign() {
    let host = Host::new()
        .file("src/a")
        .file("src/dir/b")
        .link("src/link", "elsewhere");
    let owner = Identity {
        uid: fs::metadata(host.path("src")).unwrap().uid(),
        groups: vec![],
    };
    assert_eq!(
        count(&host, "", &owner, MAX_VISITED),
        Foreign {
            visited: 4,
            ..Foreign::default()
        }
    );
    // Root can read, replace and give back whatever there is.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(host.path("src/a"), Some(4_000), None).unwrap();
    }
    chmod(&host, "src/a", 0);
    let root = Identity {
        uid: 0,
        groups: vec![],
    };
    assert_eq!(
        count(&host, "", &root, MAX_VISITED),
        Foreign {
            visited: 4,
            ..Foreign::default()
        }
    );
}

#[test]
fn what_is_unreadable_or_fixed_is_counted() {
    let host = Host::new()
        .file("src/open")
        .file("src/secret")
        .file("src/shut/in")
        .file("src/free/x");
    let host = host
        .file("src/sticky/x")
        .file("src/target/skipped")
        .file("src/Cargo.toml");
    for (below, mode) in [
        ("src", 0o755),
        ("src/open", 0o644),
        ("src/secret", 0o600),
        ("src/shut", 0o700),
        ("src/free", 0o777),
        ("src/free/x", 0o000),
        ("src/sticky", 0o1777),
        ("src/sticky/x", 0o644),
        ("src/Cargo.toml", 0o644),
    ] {
        chmod(&host, below, mode);
    }
    let found = count(&host, "", &stranger(&host), MAX_VISITED);
    // Unreadable: secret, free/x, and the directory shut. Irreplaceable: the six covered entries of src, whose mode
    // keeps strangers from writing, and sticky/x. The excluded target is looked at once and not entered.
    assert_eq!(
        found,
        Foreign {
            unreadable: 3,
            irreplaceable: 7,
            other_owner: 8,
            sparse: 0,
            mount_points: 0,
            visited: 9,
            stopped: false
        }
    );
    // A group that may read.
    chmod(&host, "src/secret", 0o640);
    let member = Identity {
        groups: vec![fs::metadata(host.path("src")).unwrap().gid()],
        ..stranger(&host)
    };
    assert_eq!(count(&host, "", &member, MAX_VISITED).unreadable, 2);
    // Only what is tracked counts.
    let found = count(&host, "paths = [\"free\"]", &stranger(&host), MAX_VISITED);
    assert_eq!(
        (found.unreadable, found.irreplaceable, found.other_owner),
        (1, 1, 2)
    );
}

#[test]
fn the_count_stops_at_its_bound_and_says_so() {
    let mut host = Host::new();
    for number in 0..20 {
        host = host.file(&format!("src/{number}"));
    }
    let found = count(&host, "", &stranger(&host), 20);
    assert_eq!((found.visited, found.stopped), (20, false));
    let found = count(&host, "", &stranger(&host), 19);
    assert_eq!((found.visited, found.stopped), (19, true));
}

#[test]
fn a_root_that_is_gone_counts_nothing() {
    let host = Host::new().dir("src/a");
    let contract = host.project("src/a", "").unwrap();
    fs::remove_dir(host.path("src/a")).unwrap();
    assert_eq!(
        count_foreign(&Transports::default(), only(&contract), &stranger(&host), 5).unwrap(),
        Foreign::default()
    );
}
