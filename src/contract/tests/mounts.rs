//! The overlap matrix: each path is captured once, and a mount that is not captured says why.

use std::path::Path;

use super::{Host, states};
use crate::contract::{ContractError, Options, overlap};

const RW: &str = "";
const RO: &str = "readonly = true";
const TREE: &str = "isolation = \"worktree\"";
const CLONE: &str = "isolation = \"clone\"";

type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

const MATRIX: &[Case] = &[
    (&[("src/a", RW)], &["captured"]),
    (&[("src/a", RW), ("src/b", RW)], &["captured", "captured"]),
    (&[("src/a", RW), ("src/a", RW)], &["captured", "in a"]),
    (&[("src/a", RO), ("src/a", RW)], &["in a", "captured"]),
    (&[("src/a", RW), ("src/a", RO)], &["captured", "in a"]),
    (&[("src/a", RW), ("src/a/in", RW)], &["captured", "in a"]),
    (&[("src/a/in", RW), ("src/a", RW)], &["in a", "captured"]),
    (&[("src/a", RW), ("src/a/in", RO)], &["captured", "in a"]),
    (&[("src/a", RO), ("src/a/in", RW)], &["readonly", "captured"]),
    (
        &[("src/a", RO), ("src/a/in", RW), ("src/a/in/deep", RW)],
        &["readonly", "captured", "in in"],
    ),
    (
        &[("src/a", RW), ("src/a/in", RO), ("src/a/in/deep", RW)],
        &["captured", "in a", "in a"],
    ),
    (&[("src/a", TREE), ("src/a/in", RW)], &["Isolated", "captured"]),
    (&[("src/a", RW), ("src/a/in", CLONE)], &["captured", "Isolated"]),
    (&[("src/link", RW), ("src/a", RW)], &["captured", "in a"]),
    (&[("src/link/in", RW), ("src/a", RW)], &["in a", "captured"]),
    (&[("src/a", RW), ("src/ab", RW)], &["captured", "captured"]),
    (&[("src/a", RW), ("src/file", RW)], &["captured", "SingleFile"]),
    (&[("src/a", RW), ("src/file", RO)], &["captured", "readonly"]),
    (&[("src/a", RW), ("src/a/note", RW)], &["captured", "in a"]),
    (&[("src/a", RW), ("src/fifo", RW)], &["captured", "Special"]),
    // A mount within a captured one that leaves that very place out is named, not passed over.
    (
        &[("src/a", RW), ("src/a/dist", RW)],
        &["captured", "left out of a by dist/"],
    ),
    (
        &[("src/a", RW), ("src/a/dist/x", RW)],
        &["captured", "left out of a by dist/"],
    ),
    (&[("src/a", RO), ("src/a/dist", RW)], &["readonly", "captured"]),
];

#[test]
fn overlapping_mounts_follow_the_matrix() {
    let host = Host::new()
        .dir("src/a/in/deep")
        .dir("src/b")
        .dir("src/ab")
        .dir("src/a/dist/x");
    let host = host.file("src/file").file("src/a/note").link("src/link", "src/a");
    handle_fs::make_fifo(rustix::fs::CWD, host.path("src/fifo").as_os_str()).unwrap();
    let recovery = "snapshot = \"project\"\nexclude = [\"dist/\"]";
    for (mounts, expected) in MATRIX {
        let contract = host.workspace(mounts, recovery, Options::default(), &[]).unwrap();
        assert_eq!(states(&contract), *expected, "{mounts:?}");
        // No captured root lies within another.
        let roots: Vec<_> = contract
            .coverages()
            .map(|coverage| coverage.root.to_path())
            .collect();
        for (index, root) in roots.iter().enumerate() {
            for (other, outer) in roots.iter().enumerate() {
                assert!(index == other || !root.starts_with(outer), "{mounts:?}");
            }
        }
        // What a restore may touch is what is captured.
        assert_eq!(contract.restore.overwrites.len(), roots.len());
    }
}

#[test]
fn a_mount_beside_the_tracked_paths_of_the_outer_one_is_named() {
    let host = Host::new().dir("src/a/in/deep").dir("src/a/out");
    let recovery = "snapshot = \"project\"\npaths = [\"in/deep\"]";
    let mounts = [
        ("src/a", RW),
        ("src/a/in", RW),
        ("src/a/out", RW),
        ("src/a/in/deep", RW),
    ];
    let contract = host
        .workspace(&mounts, recovery, Options::default(), &[])
        .unwrap();
    assert_eq!(
        states(&contract),
        ["captured", "in a", "left out of a by -", "in a"]
    );
    assert_eq!(contract.restore.overwrites, [host.bytes("src/a/in/deep")]);
}

#[test]
fn a_mount_that_is_not_there_is_an_error_in_every_mode() {
    let host = Host::new()
        .dir("src/a")
        .link("src/dangling", "src/gone")
        .link("src/loop", "src/loop");
    for mode in ["off", "metadata", "project"] {
        for more in [RW, RO, TREE] {
            for missing in ["src/gone", "src/dangling"] {
                let mounts = [("src/a", RW), (missing, more)];
                let recovery = format!("snapshot = {mode:?}");
                let error = host
                    .workspace(&mounts, &recovery, Options::default(), &[])
                    .unwrap_err();
                assert_eq!(
                    host.short(&error),
                    format!(
                        "the mount ROOT/{missing} (ROOT/home/.config/jackin/workspaces/w.toml, line 5) does not exist"
                    )
                );
            }
        }
    }
    let error = host.project("src/loop", "").unwrap_err();
    assert!(
        host.short(&error).starts_with(
            "the mount ROOT/src/loop (ROOT/home/.config/jackin/workspaces/w.toml, line 2) cannot be read: Too many"
        ),
        "{error}"
    );
}

#[test]
fn a_snapshot_of_nothing_is_refused_with_each_reason() {
    let host = Host::new().dir("src/a").dir("src/b").file("src/file");
    let mounts = [("src/a", RO), ("src/b", CLONE), ("src/file", RW)];
    let error = host
        .workspace(&mounts, "snapshot = \"project\"", Options::default(), &[])
        .unwrap_err();
    assert_eq!(
        host.short(&error),
        "a snapshot is asked for, but nothing can be captured: ROOT/src/a is read-only; ROOT/src/b is handed out as \
        a worktree or clone, and no container has one now; ROOT/src/file is a single file"
    );
    let contract = host
        .workspace(&mounts, "snapshot = \"metadata\"", Options::default(), &[])
        .unwrap();
    assert_eq!(states(&contract), ["readonly", "Isolated", "SingleFile"]);
}

#[test]
fn a_mount_that_cannot_be_listed_is_refused() {
    // Mode bits do not stop root.
    if rustix::process::geteuid().is_root() {
        return;
    }
    use std::os::unix::fs::PermissionsExt as _;
    let host = Host::new().dir("src/a");
    std::fs::set_permissions(host.path("src/a"), std::fs::Permissions::from_mode(0o300)).unwrap();
    assert!(matches!(
        host.project("src/a", ""),
        Err(ContractError::Unreadable { .. })
    ));
}

#[test]
fn labels_are_unique_and_fit_the_format() {
    let long = "x".repeat(100);
    let names = ["web", "a b", ".hidden", "-dash", "caf\u{e9}", &long];
    let mut host = Host::new();
    let mut mounts = Vec::new();
    for top in ["src/1", "src/2"] {
        for name in names {
            let path = format!("{top}/{name}");
            host = host.dir(&path);
            mounts.push(path);
        }
    }
    let given: Vec<(&str, &str)> = mounts.iter().map(|path| (path.as_str(), RW)).collect();
    let contract = host
        .workspace(&given, "snapshot = \"project\"", Options::default(), &[])
        .unwrap();
    let labels: Vec<&str> = contract
        .coverages()
        .map(|coverage| coverage.label.as_str())
        .collect();
    assert_eq!(labels[..5], ["web", "a_b", "_.hidden", "_-dash", "caf__"]);
    assert_eq!(labels[6], "web-2");
    for (index, label) in labels.iter().enumerate() {
        assert!(label.len() <= 64 && !labels[..index].contains(label), "{label}");
        assert!(
            label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
            "{label}"
        );
        assert!(!label.starts_with(['.', '-']), "{label}");
    }
}

#[test]
fn the_outermost_captured_mount_holds_the_others() {
    let path = Path::new;
    let mounts = [
        (path("/a/b"), true),
        (path("/a"), false),
        (path("/a/b/c/d"), true),
        (path("/a/b/c"), false),
    ];
    assert_eq!(overlap::holders(&mounts), [Some(0), None, Some(0), Some(0)]);
    assert_eq!(
        overlap::holders(&[(path("/"), true), (path("/x"), true)]),
        [Some(0), Some(0)]
    );
    assert_eq!(overlap::holders(&[]), []);
}
