//! Modes, attributes, access lists and times (scenarios 8 and 33).

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree};
use crate::support::machine::{is_root, skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::search::holds;
use crate::support::tree::Tree;

#[test]
fn s08_modes_come_back_and_nothing_else_is_touched() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("modes");
    Build::at(&project)
        .file("run.sh", "#!/bin/sh\n")
        .mode("run.sh", 0o755)
        .file("key.pem", "not a real key\n")
        .mode("key.pem", 0o600)
        .dir("private")
        .mode("private", 0o700)
        .file("private/inside", "x")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "chmod -x run.sh; chmod 777 key.pem private");
    sandbox
        .diff(&id, &[])
        .are(&[("mode", "run.sh"), ("mode", "key.pem"), ("mode", "private")]);
    sandbox
        .restore(&id, &[])
        .touched(&["key.pem", "private", "run.sh"]);

    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    // The content did not change, so inode and mtime are those of before: nothing was written anew.
    assert_kept::<&str>(&before, &after, &[]);
}

#[test]
fn s08_attributes_and_access_lists_come_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("attributes");
    Build::at(&project)
        .file("tagged", "x")
        .attribute("tagged", "user.kept", "as it was")
        .attribute("tagged", "user.lost", b"\x00\x01 bytes\n")
        .file("shared", "y")
        .acl("shared", "u:12345:rw")
        .dir("box")
        .attribute("box", "user.box", "1")
        .file("unchanged", "z")
        .attribute("unchanged", "user.same", "same")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.session(&project, |project| {
        let tagged = project.join("tagged");
        let set = |name: &str, value: &str| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::lsetxattr(&tagged, name, value.as_bytes(), flags)
        };
        set("user.kept", "changed").unwrap();
        set("user.planted", "by the agent").unwrap();
        rustix::fs::lremovexattr(&tagged, "user.lost").unwrap();
        rustix::fs::lremovexattr(project.join("box"), "user.box").unwrap();
        if tool("setfacl").is_some() {
            Build::at(project).acl("shared", "u:12345:---");
        }
    });
    let changes = sandbox.diff(&id, &[]);
    assert_eq!(changes.at("tagged").what, "metadata", "{}", changes.shown);
    assert_eq!(changes.at("box").what, "metadata", "{}", changes.shown);
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept::<&str>(&before, &after, &[]);
}

#[test]
fn s08_an_access_list_does_not_keep_attributes_from_coming_back() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("an ordinary user", "there is none here");
    };
    let project = sandbox.project("listed");
    Build::at(&project)
        .file("closed", "x")
        .attribute("closed", "user.note", "kept")
        .acl("closed", "u:12345:r")
        .mode("closed", 0o440)
        .dir("box")
        .attribute("box", "user.note", "kept")
        .acl("box", "u:12345:rx")
        .mode("box", 0o550)
        .aged();
    sandbox.give(&project);
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "rm -f closed; chmod 750 box; rmdir box");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s08_set_id_bits_and_closed_files_come_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("bits");
    Build::at(&project)
        .file("setuid", "u")
        .mode("setuid", 0o4755)
        .dir("setgid")
        .mode("setgid", 0o2775)
        .dir("sticky")
        .mode("sticky", 0o1777)
        .file("read-only", "r")
        .mode("read-only", 0o444)
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "chmod 755 setuid; rm -f read-only; rmdir setgid; chmod 700 sticky",
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s33_restored_content_is_newer_than_what_was_built_from_the_damage() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("build");
    Build::at(&project)
        .file("src/older.c", "older\n")
        .file("src/newer.c", "newer\n")
        .file("src/same.c", "same\n")
        .aged()
        .time("src/older.c", 1_600_000_000, 5)
        .time("src/newer.c", 1_650_000_000, 6);
    let before = Tree::read(&project);

    let id = sandbox.launch_with(
        &["--exclude", "target/"],
        &project,
        "echo agent > src/older.c; echo agent > src/newer.c; mkdir target; echo built > target/program",
    );
    let built = modified(&project.join("target/program"));
    sandbox.restore(&id, &[]);
    let [older, newer] = ["src/older.c", "src/newer.c"].map(|path| modified(&project.join(path)));
    assert!(
        older >= built && newer >= built,
        "a build tool would take the agent's program as up to date"
    );
    assert!(older <= newer, "the recorded order is kept");
    assert!(
        newer <= SystemTime::now() + Duration::from_secs(2),
        "and no time lies in the future"
    );
    let after = Tree::read(&project);
    assert_same_tree(&before, &after.without("target"));
    assert_kept(&before, &after, &["src/older.c", "src/newer.c", "target"]);
}

#[test]
fn s33_make_builds_again_after_a_restore() {
    if tool("make").is_none() {
        skip("s33 with make", "make is not installed");
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("make");
    Build::at(&project)
        .file("Makefile", "out/program: source\n\tcp source out/program\n")
        .file("source", "good\n");
    Build::at(&project).aged();

    sandbox.launch_with(
        &["--exclude", "out/"],
        &project,
        "echo bad > source; mkdir out; make -s",
    );
    assert_eq!(fs::read_to_string(project.join("out/program")).unwrap(), "bad\n");
    sandbox.restore("@latest", &[]);
    let made = Command::new("make")
        .arg("-s")
        .current_dir(&project)
        .status()
        .unwrap();
    assert!(made.success());
    assert_eq!(fs::read_to_string(project.join("out/program")).unwrap(), "good\n");
}

#[test]
fn s33_cargo_builds_again_after_a_restore() {
    if tool("cargo").is_none() {
        return skip("s33 with cargo", "cargo is not in PATH");
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("crate");
    let says = |text: &str| format!("fn main() {{ println!(\"{text}\"); }}\n");
    Build::at(&project)
        .file(
            "Cargo.toml",
            "[package]\nname = \"said\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
        )
        .file("src/main.rs", says("good"))
        .aged();
    let build = || {
        let mut cargo = Command::new("cargo");
        // Nothing of the build that runs this test.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO_") && name != "CARGO_HOME" {
                cargo.env_remove(name);
            }
        }
        let built = cargo
            .args(["build", "-q", "--offline"])
            .current_dir(&project)
            .status();
        assert!(built.unwrap().success());
        let said = Command::new(project.join("target/debug/said")).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    assert_eq!(build(), "good\n");
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("src/main.rs"), says("bad")).unwrap();
        assert_eq!(build(), "bad\n");
    });
    sandbox.restore(&id, &[]);
    assert_eq!(build(), "good\n", "the agent's program survived the restore");
}

#[test]
fn s33_exact_times_on_request() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("exact-times");
    Build::at(&project)
        .file("a", "a\n")
        .file("d/b", "b\n")
        .dir("d/empty")
        .symlink("l", "a")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "echo x > a; rm -r d l");
    sandbox.restore(&id, &["--mtimes", "exact"]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    for path in ["a", "d/b", "d/empty", "d", "l"] {
        assert_eq!(
            before.at(path).times.modified,
            after.at(path).times.modified,
            "{path}"
        );
    }
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

/// macOS shows such lists by calls of their own, so `Tree` does not see them.
#[cfg(target_os = "macos")]
#[test]
fn s08_access_lists_of_macos_come_back() {
    use crate::support::machine::run_tool;

    let sandbox = Sandbox::new();
    let project = sandbox.project("lists");
    Build::at(&project)
        .file("shared", "x")
        .file("gone", "y")
        .file("plain", "z")
        .symlink("link", "plain")
        .dir("box")
        .aged();
    for (path, entry) in [
        ("shared", "everyone deny delete"),
        ("gone", "everyone allow read,write"),
        ("link", "everyone deny delete"),
        ("box", "everyone allow list,file_inherit,directory_inherit"),
    ] {
        let path = project.join(path);
        run_tool(Command::new("/bin/chmod").args(["-h", "+a", entry]).arg(path));
    }
    // The first line of each has its times.
    let lists = || {
        ["shared", "gone", "plain", "link", "box"].map(|path| {
            let shown = run_tool(Command::new("/bin/ls").arg("-lde").arg(project.join(path)));
            let lines = String::from_utf8(shown).unwrap();
            lines.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        })
    };
    let before = lists();
    assert_eq!(before.iter().flatten().count(), 4, "{before:?}");
    let id = sandbox.launch(
        &project,
        "chmod -N shared; rm gone; chmod +a 'everyone allow write' plain; chmod -h -N link; rmdir box",
    );
    let changes = sandbox.diff(&id, &[]);
    for path in ["shared", "plain"] {
        assert_eq!(changes.at(path).what, "metadata", "{}", changes.shown);
    }
    sandbox.restore(&id, &[]);
    assert_eq!(lists(), before);
    sandbox
        .diff(&id, &["--from", "baseline", "--to", "now"])
        .are::<&str>(&[]);
}

/// Mode of what lies at a path.
fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn another_group_gets_no_rights_that_it_did_not_have() {
    let (true, Some(sandbox)) = (is_root(), Sandbox::unprivileged()) else {
        return skip("an ordinary user", "only root can give files to groups");
    };
    let project = sandbox.project("grouped");
    Build::at(&project)
        .file("secret", "x")
        .file("read by all", "x")
        .dir("box");
    sandbox.give(&project);
    for (name, bits) in [("secret", 0o660), ("read by all", 0o664), ("box", 0o770)] {
        let path = project.join(name);
        std::os::unix::fs::chown(&path, None, Some(12345)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
    }
    let id = sandbox.launch(&project, "rm -r secret 'read by all' box");
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(6)
        .has("owner 65534:12345 could not be set");
    assert_eq!(mode(&project.join("secret")), 0o600);
    assert_eq!(mode(&project.join("read by all")), 0o644);
    assert_eq!(mode(&project.join("box")), 0o700);
    // Undone and restored again, nothing else is there.
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert!(!project.join("secret").exists());
}

#[test]
fn what_is_changed_later_stays_also_where_a_restore_was_not_exact() {
    let (true, Some(sandbox)) = (is_root(), Sandbox::unprivileged()) else {
        return skip("an ordinary user", "only root can give files to others");
    };
    let project = sandbox.project("inexact");
    Build::at(&project)
        .file("f", "one\n")
        .file("g", "two\n")
        .file("h", "three\n")
        .attribute("f", "user.token", "hushhushhush");
    sandbox.give(&project);
    let has_attributes = !Tree::read(&project).at("f").attributes.is_empty();
    // Only root could give them back to root.
    for name in ["f", "h"] {
        std::os::unix::fs::chown(project.join(name), Some(0), Some(0)).unwrap();
    }
    let id = sandbox.launch(&project, "rm -f f h; chmod 600 g");
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    run.has("owner 0:0 could not be set");
    // Values of attributes may be secret, and no receipt is ever deleted.
    let log = fs::read(sandbox.store().join("receipts.log")).unwrap();
    for before in ["", "-", "--"] {
        let encoded = STANDARD.encode(format!("{before}hushhushhush"));
        assert!(!holds(&log, &encoded.as_bytes()[4..12]), "{encoded}");
    }
    // What the restore left is its own state: nothing of it is a later edit.
    let again = sandbox.restore_in_part(&id, &[]);
    again.conflicted::<&str>(&[]);
    for name in ["f", "g"] {
        fs::set_permissions(project.join(name), fs::Permissions::from_mode(0o640)).unwrap();
    }
    sandbox.restore_in_part(&id, &[]).conflicted(&["f", "g"]);
    assert_eq!(mode(&project.join("f")), 0o640);
    assert_eq!(mode(&project.join("g")), 0o640);
    let wanted = sandbox.restore_in_part(&id, &["--overwrite-later-edits"]);
    wanted.conflicted::<&str>(&[]);
    assert_eq!(mode(&project.join("f")), 0o644);
    sandbox.undo(&id);
    assert_eq!(mode(&project.join("f")), 0o640);
    sandbox.restore_in_part(&id, &["--overwrite-later-edits"]);
    if has_attributes {
        Build::at(&project).attribute("f", "user.token", "mine");
        sandbox.restore_in_part(&id, &[]).conflicted(&["f"]);
    }
}

#[test]
fn without_access_lists_the_mask_of_one_is_no_right_of_the_group() {
    if !is_root() || tool("setfacl").is_none() {
        return skip("access lists", "only root can mount, and setfacl is needed");
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("listed");
    Build::at(&project)
        .file("key", "secret\n")
        .mode("key", 0o600)
        .acl("key", "u:12345:r")
        .dir("box")
        .mode("box", 0o700)
        .acl("box", "u:12345:rwx");
    assert_eq!(mode(&project.join("key")), 0o640);
    let id = sandbox.launch(&project, "rm key");
    // It keeps no access lists.
    let bare = sandbox.scratch("bare");
    fs::create_dir(&bare).unwrap();
    let mount = |words: &[&str]| Command::new(words[0]).args(&words[1..]).status().unwrap();
    if !mount(&["mount", "-t", "ramfs", "ramfs", bare.to_str().unwrap()]).success() {
        return skip("access lists", "nothing can be mounted");
    }
    let to = bare.join("x");
    let run = sandbox.jackin(["restore", &id, "--to", to.to_str().unwrap(), "--yes"]);
    let modes = [mode(&to.join("key")), mode(&to.join("box"))];
    mount(&["umount", bare.to_str().unwrap()]);
    run.has("system.posix_acl_access could not be set");
    assert_eq!(modes, [0o600, 0o700]);
}
