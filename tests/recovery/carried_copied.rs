//! A static build that was installed beside the program serves on machines where the program is not installed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::carried::Kind;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{SmallDisk, binary, skip};
use crate::support::sandbox::Sandbox;

/// A machine without the program; `build` is what could be copied to it.
fn without(kind: Kind, build: &Path) -> Option<(Sandbox, PathBuf)> {
    let mut sandbox = Sandbox::carried(kind)?;
    if kind == Kind::Docker {
        sandbox.machine().uninstall();
    }
    sandbox.install_with(build);
    let project = sandbox.project("project");
    Build::at(&project)
        .file(".env", "SECRET=1\n")
        .file("src/main.rs", "fn main() {}\n")
        .attribute(".env", "user.kept", b"value");
    Some((sandbox, project))
}

/// A session that loses something, and comes back exactly: attributes too, which a shell cannot read.
#[track_caller]
fn is_exact(sandbox: &Sandbox, project: &Path) {
    let before = sandbox.tree(project);
    let target = sandbox.target(project);
    let begun = sandbox.jackin(["begin", "--snapshot", "project", &target]).ok();
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    fs::remove_file(project.join(".env")).unwrap();
    sandbox.jackin(["end", &id]).ok();
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_same_tree(&before, &sandbox.tree(project));
}

/// The contract says that the shell serves, and nothing of a copy stays on the machine.
#[track_caller]
fn shell_serves(sandbox: &Sandbox, project: &Path) {
    let target = sandbox.target(project);
    let words = ["explain", "--snapshot", "project", &target];
    sandbox.jackin(words).ok().shows("is not installed");
    nothing_stays(sandbox);
}

#[track_caller]
fn nothing_stays(sandbox: &Sandbox) {
    let left: Vec<_> = fs::read_dir(sandbox.machine().temporary()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_build_beside_the_program_serves_where_it_is_not_installed() {
    // The one that was built for this machine runs there as well: both are the same machine.
    for kind in [Kind::Shell, Kind::Docker] {
        let Some((sandbox, project)) = without(kind, &binary()) else {
            continue;
        };
        let target = sandbox.target(&project);
        let explained = sandbox.jackin(["explain", "--snapshot", "project", &target]).ok();
        let explained = explained.shows("a copy of this program (");
        assert!(!explained.text().contains("is not installed"), "{explained}");
        is_exact(&sandbox, &project);
        if kind == Kind::Shell {
            nothing_stays(&sandbox);
        }
        if !cfg!(feature = "remote-shell") {
            continue;
        }
        // `--agent shell` turns the copy off.
        let command = sandbox.command(["explain", "--snapshot", "project", &target]);
        let explained = command.with("JACKIN_RECOVERY_AGENT", "shell").run().ok();
        assert!(explained.text().contains("is not installed"), "{explained}");
    }
}

#[test]
fn a_build_that_does_not_run_there_leaves_the_work_to_the_shell() {
    let place = tempfile::TempDir::with_prefix("jr-build-").unwrap();
    let build = place.path().join("build");
    // What a shell takes for a script of its own, what nothing can run, and a build of another version.
    let scripts = [
        b"exit 0\n".as_slice(),
        b"\x7fELF\x02\x01\x01\0(\0\0;\n",
        b"#!/bin/sh\necho jackin-recovery 0.0.0\n",
    ];
    for bytes in scripts {
        fs::write(&build, bytes).unwrap();
        fs::set_permissions(&build, fs::Permissions::from_mode(0o755)).unwrap();
        let Some((sandbox, project)) = without(Kind::Shell, &build) else {
            return;
        };
        shell_serves(&sandbox, &project);
    }
}

#[test]
fn a_full_disk_there_leaves_the_work_to_the_shell() {
    let place = tempfile::TempDir::with_prefix("jr-build-").unwrap();
    let build = place.path().join("build");
    // What would be taken for commands if it were left to the shell.
    let line = b"\n touch /tmp/jr-never\n\0\n echo never\n";
    fs::write(&build, line.repeat(200_000)).unwrap();
    let Some((sandbox, project)) = without(Kind::Shell, &build) else {
        return;
    };
    let Some(disk) = SmallDisk::mount(&sandbox.machine().temporary(), 1 << 20) else {
        skip("a full disk on another machine", "only root can mount one");
        return;
    };
    shell_serves(&sandbox, &project);
    // `--agent copy` fails, and the error says why.
    let target = sandbox.target(&project);
    let words = ["explain", "--snapshot", "project", &target];
    let command = sandbox.command(words).with("JACKIN_RECOVERY_AGENT", "copy");
    command
        .run()
        .code(2)
        .shows("jackin cannot be copied there: it cannot be stored");
    drop(disk);
}

#[test]
fn the_static_build_serves_where_there_is_nothing_but_busybox() {
    let built = std::env::var_os("JACKIN_STATIC").map(PathBuf::from);
    let built = built.map(|place| place.join(format!("jackin-{}-linux", std::env::consts::ARCH)));
    let Some(built) = built.filter(|path| path.is_file()) else {
        skip(
            "the static build in a container",
            "packaging/build was not run, or JACKIN_STATIC does not name its directory",
        );
        return;
    };
    let Some((sandbox, project)) = without(Kind::Busybox, &built) else {
        return;
    };
    let target = sandbox.target(&project);
    sandbox
        .jackin(["explain", "--snapshot", "project", &target])
        .ok()
        .shows("a copy of this program (");
    is_exact(&sandbox, &project);
}
