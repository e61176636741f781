//! Other machines, where they could be taken for something else: two addresses of one directory, programs in a mount, connections that
//! break, secrets there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::carried::project;
use crate::support::carried::{Kind, busybox};
use crate::support::compare::assert_same_tree;
use crate::support::machine::{has_points, run_tool, write_script};
use crate::support::patience::{await_file, await_that};
use crate::support::sandbox::Sandbox;

#[test]
fn the_same_directory_under_two_addresses_is_the_same_directory() {
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let project = project(&sandbox);
    let one = sandbox.target(&project);
    let other = one.replace("ssh://127.0.0.1", "ssh://localhost");
    let begin = |target: &str| {
        let begun = sandbox.jackin(["begin", "--snapshot", "project", target]).ok();
        String::from_utf8_lossy(&begun.stdout).trim().to_owned()
    };
    // What one session made while another one lived is nobody's alone; what is active by one address is so by the other.
    let first = begin(&one);
    let second = begin(&other);
    fs::write(project.join("made"), "by one of them\n").unwrap();
    sandbox.jackin(["end", &first]).ok();
    sandbox
        .jackin(["restore", &first, "--yes"])
        .code(3)
        .shows(&second);
    sandbox.jackin(["end", &second]).ok();
    sandbox.restore_in_part(&first, &[]).conflicted(&["made"]);
    assert!(project.join("made").exists());
}

#[test]
fn a_restore_that_died_is_in_the_way_by_every_address() {
    if !has_points() {
        return;
    }
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let project = project(&sandbox);
    let id = sandbox.launch(&project, "rm -r data own; echo y > .env");
    let restore = sandbox.command(["restore", &id, "--yes"]);
    restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    let other = sandbox
        .target(&project)
        .replace("ssh://127.0.0.1", "ssh://localhost");
    let begin = ["begin", "--snapshot", "project", &other];
    sandbox.jackin(begin).code(8).shows(&format!("resume {id}"));
    // Where the machine cannot be reached, nothing there is finished or taken back; it can be left as it is.
    sandbox.machine().uninstall();
    sandbox.machine().break_tool("stat");
    for verb in ["resume", "abort"] {
        let run = sandbox.jackin([verb, &id, "--yes"]);
        assert!(run.status.is_some_and(|status| !status.success()), "{run}");
    }
    sandbox
        .jackin(["abort", &id, "--yes", "--as-is"])
        .code_in(&[0, 6]);
    let listed = sandbox.jackin(["list"]).ok().text();
    assert!(!listed.contains("interrupted"), "{listed}");
}

#[test]
fn whoever_looks_whether_the_store_is_whole_asks_no_other_machine() {
    if !has_points() {
        return;
    }
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let project = project(&sandbox);
    let id = sandbox.launch(&project, "rm -r data own");
    let restore = sandbox.command(["restore", &id, "--yes"]);
    restore.with("JACKIN_RECOVERY_FAIL_AT", "staged").run();
    let marker = sandbox.scratch("started");
    let ssh = sandbox.scratch("ssh");
    write_script(&ssh, &format!("#!/bin/sh\n: > '{}'\n", marker.display()));
    let search = ssh.parent().unwrap().to_str().unwrap();
    for verb in ["verify", "doctor"] {
        sandbox
            .command([verb])
            .with("PATH", search)
            .run()
            .code_in(&[0, 1]);
        assert!(!marker.exists(), "{verb}");
    }
}

#[test]
fn a_mount_in_another_one_is_captured_once_whatever_its_address_is() {
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let project = project(&sandbox);
    let outer = sandbox.target(&project);
    let inner = sandbox.target(&project.join("part-0"));
    let inner = inner.replace("ssh://127.0.0.1", "ssh://localhost");
    let mounts = [(outer, "/w"), (inner, "/w/inner")];
    let mounts = mounts.map(|(src, dst)| format!("[[mounts]]\nsrc = \"{src}\"\ndst = \"{dst}\"\n"));
    let text = format!("{}\n[recovery]\nsnapshot = \"project\"\n", mounts.concat());
    sandbox.configure("workspaces/both.toml", &text);
    let explain = ["explain", "both", "--json"];
    let told: serde_json::Value = serde_json::from_slice(&sandbox.jackin(explain).ok().stdout).unwrap();
    let captured = told.to_string().matches("\"machine\"").count();
    assert_eq!(captured, 1, "{told}");
}

#[test]
fn a_machine_that_cannot_be_reached_is_named_with_what_works_without_it() {
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let far = project(&sandbox);
    let near = sandbox.scratch("near");
    fs::create_dir(&near).unwrap();
    fs::write(near.join("file"), "before\n").unwrap();
    let mount = |src: &str, dst: &str| format!("[[mounts]]\nsrc = \"{src}\"\ndst = \"{dst}\"\n");
    let mounts = mount(near.to_str().unwrap(), "/near") + &mount(&sandbox.target(&far), "/far");
    let text = format!("{mounts}\n[recovery]\nsnapshot = \"project\"\n");
    sandbox.configure("workspaces/both.toml", &text);
    let script = format!("rm '{}'", near.join("file").display());
    sandbox.jackin(["launch", "both", "--", "sh", "-c", &script]).ok();
    let id = sandbox.newest();
    // A program of this name that fails is found first.
    let ssh = sandbox.scratch("bin");
    fs::create_dir(&ssh).unwrap();
    write_script(
        &ssh.join("ssh"),
        "#!/bin/sh\necho no route to host >&2\nexit 255\n",
    );
    let search = format!("{}:{}", ssh.display(), std::env::var("PATH").unwrap());
    let run = sandbox
        .command(["restore", &id, "--yes"])
        .with("PATH", &search)
        .run();
    run.shows("cannot lock").shows("restore --to NEW-DIRECTORY");
    let out = sandbox.scratch("out");
    let to = ["restore", &id, "--to", out.to_str().unwrap(), "--yes"];
    sandbox.command(to).with("PATH", &search).run().ok();
    assert!(!near.join("file").exists());
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_eq!(fs::read(near.join("file")).unwrap(), b"before\n");
}

/// A session on a directory of this machine, with an `ssh` planted in it: where it would tell that it was started, and a `PATH` that
/// finds it first.
fn planted(sandbox: &Sandbox) -> (PathBuf, String) {
    let local = sandbox.project("local");
    let target = local.to_str().unwrap();
    sandbox.launching(target, &["true"]).run().ok();
    let marker = sandbox.scratch("started");
    fs::create_dir(local.join("bin")).unwrap();
    let planted = local.join("bin/ssh");
    write_script(&planted, &format!("#!/bin/sh\n: > '{}'\n", marker.display()));
    let (_, path) = &sandbox.machine().variables[0];
    (marker, format!("{}:{path}", local.join("bin").display()))
}

#[test]
fn a_program_that_lies_in_a_mount_carries_nothing() {
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let (marker, search) = planted(&sandbox);
    let target = sandbox.target(&project(&sandbox));
    let explain = || {
        let explain = sandbox.command(["explain", "--snapshot", "project", &target]);
        explain.with("PATH", &search).run()
    };
    explain().ok();
    assert!(!marker.exists());
    // What is known of mounts is known without the catalog, too, and is waited for while somebody writes.
    let catalog = sandbox.store().join("catalog.sqlite3");
    let writer = rusqlite::Connection::open(&catalog).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let done = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_secs(3));
            drop(writer);
        });
        explain()
    });
    done.ok();
    assert!(!marker.exists());
    fs::remove_file(catalog).unwrap();
    explain().ok();
    assert!(!marker.exists());
}

#[test]
fn where_the_mounts_are_not_known_nothing_is_carried() {
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let (marker, search) = planted(&sandbox);
    let target = sandbox.target(&project(&sandbox));
    // Nobody can say what a store of a later version knows.
    let writer = rusqlite::Connection::open(sandbox.store().join("catalog.sqlite3")).unwrap();
    writer.pragma_update(None, "user_version", 99).unwrap();
    drop(writer);
    let explain = sandbox.command(["explain", "--snapshot", "project", &target]);
    explain.with("PATH", search).run().code_in(&[1, 2, 5, 7]);
    assert!(!marker.exists());
}

#[test]
fn a_connection_that_broke_is_made_anew_for_the_closing_snapshot() {
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let project = project(&sandbox);
    let (go, on) = (sandbox.scratch("go"), sandbox.scratch("on"));
    let script = format!(
        "rm .env; : > '{}'; while [ ! -e '{}' ]; do sleep 0.05; done",
        go.display(),
        on.display()
    );
    let target = sandbox.target(&project);
    let launch = sandbox.launching(&target, &["sh", "-c", &script]);
    let running = launch.inside(&project).start();
    await_file(&go);
    sandbox.machine().cut(true);
    fs::write(on, "").unwrap();
    running.finish().ok().shows("D .env");
    let id = sandbox.newest();
    sandbox.restore(&id, &[]).touched(&[".env"]);
}

#[test]
fn secrets_of_the_other_machines_home_are_withheld() {
    let Some(sandbox) = Sandbox::carried(Kind::Docker) else {
        return;
    };
    // In the container its root is at home in /root.
    let target = sandbox.target(Path::new("/root"));
    let words = ["explain", "--allow-broad", "--snapshot", "project", &target];
    sandbox.jackin(words).ok().shows(".ssh");
    sandbox
        .jackin(["explain", "--snapshot", "project", &format!("{target}/.ssh")])
        .code(2);
}

#[test]
fn nothing_is_written_into_an_address() {
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let project = project(&sandbox);
    let id = sandbox.launch(&project, "rm .env");
    let target = sandbox.target(&sandbox.project("elsewhere").join("new"));
    sandbox
        .jackin(["restore", &id, "--to", &target, "--yes"])
        .code(2)
        .shows("is an address");
    sandbox.jackin(["doctor"]).code_in(&[0, 1]);
    let told = sandbox.jackin(["doctor"]).text();
    assert!(
        !told.contains("it is not there") && !told.contains("it is gone"),
        "{told}"
    );
}

#[test]
fn an_address_that_is_no_machine_of_ours_is_no_path_here() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("here");
    fs::write(project.join("file"), "text").unwrap();
    let id = sandbox.launch(&project, "rm file");
    for address in ["http://me:secret@host/y", "ssh://host/y"] {
        let words: [&[&str]; 4] = [
            &["restore", &id, "--to", address],
            &["fork", &id, address],
            &["export", &id, address],
            &["show", &id, "--html", address],
        ];
        // A build without pages refuses the last one for that.
        let count = if cfg!(feature = "html") { 4 } else { 3 };
        for words in words.into_iter().take(count) {
            let run = sandbox.jackin(words).code(2).shows("is an address");
            assert!(!run.text().contains("secret"), "{run}");
        }
    }
}

/// Damages a project that is reached in another way, and undoes that, and takes the undoing back.
pub(crate) fn there_and_back(sandbox: &Sandbox, project: &Path, target: &str) {
    let before = sandbox.tree(project);
    let environment = |words: &[&str]| {
        let command = sandbox.command(words);
        command
            .with("JACKIN_RECOVERY_HELPER_IMAGE", busybox().unwrap())
            .run()
    };
    let begun = environment(&["begin", "--snapshot", "project", target]).ok();
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    for path in [".env", "key", "link-1", "own/a"] {
        fs::remove_file(project.join(path)).unwrap();
    }
    fs::write(project.join("new"), "by the agent\n").unwrap();
    fs::write(project.join("run.sh"), "by the agent\n").unwrap();
    environment(&["end", &id]).ok();
    let damaged = sandbox.tree(project);
    environment(&["diff", &id]).code_in(&[0, 1]).shows("D .env");
    environment(&["restore", &id, "--yes"]).ok();
    assert_same_tree(&before, &sandbox.tree(project));
    environment(&["undo", &id, "--yes"]).ok();
    assert_same_tree(&damaged, &sandbox.tree(project));
    sandbox.no_litter();
}

/// Has docker make a volume that shows a directory.
pub(crate) fn make_volume(name: &str, directory: &Path) {
    let device = format!("device={}", directory.display());
    let options = [
        "--driver",
        "local",
        "--opt",
        "type=none",
        "--opt",
        "o=bind",
        "--opt",
        &device,
    ];
    run_tool(Command::new("docker").args([&["volume", "create"], &options[..], &[name]].concat()));
}

/// Has docker remove a volume. What another test starts may keep it mounted for a moment.
pub(crate) fn remove_volume(name: &str) {
    await_that(&format!("the end of the volume {name}"), || {
        let done = Command::new("docker").args(["volume", "rm", name]).output();
        done.unwrap().status.success()
    });
}

#[test]
fn a_volume_is_reached_through_a_helper_that_does_not_stay() {
    let Some(sandbox) = Sandbox::carried(Kind::Busybox) else {
        return;
    };
    let project = project(&sandbox);
    let name = format!("jr-volume-{}", std::process::id());
    let docker = |words: &[&str]| run_tool(Command::new("docker").args(words));
    make_volume(&name, &project);
    there_and_back(&sandbox, &project, &format!("docker-volume://{name}"));
    // Docker takes a moment to remove the last one.
    let helpers = || docker(&["ps", "--all", "--quiet", "--filter", &format!("volume={name}")]);
    await_that("the end of its helpers", || helpers().is_empty());
    remove_volume(&name);
    // One that is not there is not made.
    let missing = sandbox.command(["explain", "--snapshot", "project", "docker-volume://jr-none"]);
    missing.run().code(2).shows("jr-none");
    let made = docker(&["volume", "ls", "--quiet", "--filter", "name=jr-none"]);
    assert!(made.is_empty());
}

#[test]
fn a_stopped_container_is_reached_through_its_volumes_alone() {
    let Some(sandbox) = Sandbox::carried(Kind::Busybox) else {
        return;
    };
    let project = project(&sandbox);
    sandbox.machine().stop();
    there_and_back(&sandbox, &project, &sandbox.target(&project));
    sandbox
        .jackin([
            "explain",
            "--snapshot",
            "project",
            &sandbox.target(Path::new("/etc")),
        ])
        .code(2)
        .shows("does not run");
}
