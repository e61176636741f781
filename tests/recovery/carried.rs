//! The same contract for directories of other machines: what holds here is tried by ssh and in a container. Each test says so where
//! there is no sshd or no docker.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::real_tree::{DAMAGES, furnish, later_work_stays, nothing_is_done};
use crate::support::build::Build;
use crate::support::carried::Kind;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::documents::instances;
use crate::support::machine::{SmallDisk, binary, has_points, is_nightly, run_tool, skip, write_script};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Returns the ways to other machines that a test takes: `usual`, and at night all of them.
pub(crate) fn chosen(usual: Kind) -> Vec<Kind> {
    if is_nightly() {
        Kind::ELSEWHERE.to_vec()
    } else {
        vec![usual]
    }
}

/// Runs a test on directories of this machine, and of others that are reached in the chosen ways.
fn everywhere(usual: Kind, test: impl Fn(&Sandbox)) {
    for kind in [Kind::Local].into_iter().chain(chosen(usual)) {
        if let Some(sandbox) = Sandbox::carried(kind) {
            eprintln!("{kind:?}");
            test(&sandbox);
        }
    }
}

/// Runs a test everywhere and tells it which cases are its own: at night all of them, otherwise each case in one place.
fn shared(test: impl Fn(&Sandbox, &dyn Fn(usize) -> bool)) {
    let kinds = [Kind::Local].into_iter().chain(Kind::ELSEWHERE);
    let there: Vec<(Kind, Sandbox)> = kinds
        .filter_map(|kind| Some((kind, Sandbox::carried(kind)?)))
        .collect();
    let places = there.len();
    for (place, (kind, sandbox)) in there.into_iter().enumerate() {
        eprintln!("{kind:?}");
        test(&sandbox, &|case| is_nightly() || case % places == place);
    }
}

pub(crate) fn project(sandbox: &Sandbox) -> PathBuf {
    let project = sandbox.project("tree");
    fs::create_dir_all(project.join("part-0/inner")).unwrap();
    // Each file costs a shell on the other side several processes.
    let files = if is_nightly() { 40 } else { 8 };
    for number in 0..files {
        let build = Build::at(&project.join("part-0"));
        build.file(format!("inner/{number}.rs"), format!("fn f{number}() {{}}\n"));
        build.file(format!("{number}.md"), format!("# {number}\n"));
    }
    furnish(&project);
    project
}

#[test]
fn every_damage_is_undone_wherever_the_files_lie() {
    shared(|sandbox, is_ours| {
        let project = project(sandbox);
        Build::at(&project).big("big.bin", if is_nightly() { 20 << 20 } else { 2 << 20 });
        let before = sandbox.tree(&project);
        let ours = DAMAGES.iter().enumerate().filter(|(case, _)| is_ours(*case));
        for (_, damage) in ours {
            let id = sandbox.launch(&project, damage.script);
            let damaged = sandbox.tree(&project);
            let changes = sandbox.diff(&id, &[]);
            for path in damage.named {
                let named = changes.touched().contains(&path.as_bytes().to_vec());
                assert!(named, "{}: no {path:?}\n{}", damage.scenario, changes.shown);
            }
            // 32: without a terminal nothing happens unasked, and the paths are said first, with their machine.
            let refused = sandbox.jackin(["restore", &id]).code(4);
            let refused = refused.shows(&sandbox.target(&project));
            if let Some(path) = damage.named.first().filter(|path| !path.contains('\n')) {
                let named = refused.text().contains(&format!(" {path}"));
                let folded = path
                    .rsplit_once('/')
                    .is_some_and(|(above, _)| refused.text().contains(above));
                assert!(named || folded, "{}: no {path}\n{refused}", damage.scenario);
            }
            assert_untouched(&damaged, &sandbox.tree(&project));
            let done = sandbox.restore(&id, &[]);
            assert!(done.applied == changes.touched(), "{}", damage.scenario);
            assert_same_tree(&before, &sandbox.tree(&project));
            // 27: once more is the same as once; the agent's tree comes back as well.
            sandbox.restore(&id, &[]).nothing();
            sandbox.undo(&id);
            assert_same_tree(&damaged, &sandbox.tree(&project));
            sandbox.undo(&id);
            assert_same_tree(&before, &sandbox.tree(&project));
        }
    });
}

#[test]
fn what_is_not_the_sessions_stays_wherever_the_files_lie() {
    everywhere(Kind::Shell, |sandbox| {
        let project = project(sandbox);
        Build::at(&project)
            .file("target/old", "before\n")
            .file("node_modules/m/i.js", "before\n");
        let before = sandbox.tree(&project);
        let excluded = ["--exclude", "target/", "--exclude", "node_modules/"];
        // 13, 20, 21, 22: planted links, ignored files, a changed .gitignore, excluded trees.
        let script = "ln -s /etc/passwd x; : > .gitignore; rm own/a; echo new > target/new; rm target/old; \
                      rm -r node_modules; mkdir -p node_modules/n; touch \"$(printf 'own/\\033[31mred')\"";
        let id = sandbox.launch_with(&excluded, &project, script);
        let damaged = sandbox.tree(&project);
        for verb in ["show", "diff"] {
            sandbox.jackin([verb, &id]).ok().harmless();
        }
        sandbox.restore(&id, &["own/a"]).touched(&["own/a"]);
        assert_kept(&damaged, &sandbox.tree(&project), &["own/a"]);
        later_work_stays(sandbox, &project, &id, (&before, &damaged));
        nothing_is_done(sandbox, &project, &excluded);
    });
}

#[test]
fn an_active_session_is_refused_wherever_the_files_lie() {
    everywhere(Kind::Ssh, |sandbox| {
        // 31.
        let project = project(sandbox);
        let target = sandbox.target(&project);
        let id = sandbox.begin(&target);
        fs::remove_file(project.join(".env")).unwrap();
        let damaged = sandbox.tree(&project);
        sandbox.jackin(["restore", &id, "--yes"]).code(3);
        assert_untouched(&damaged, &sandbox.tree(&project));
        sandbox.jackin(["end", &id]).ok();
        sandbox.restore(&id, &[]).touched(&[".env"]);
    });
}

/// The tree is the one before the session or the damaged one, never half of each, and comes back whole.
pub(crate) fn is_old_or_new(sandbox: &Sandbox, project: &Path, id: &str, (before, damaged): (&Tree, &Tree)) {
    let now = sandbox.tree(project);
    let is_new = now.nodes.contains_key(b"data/one.csv".as_slice());
    assert_same_tree(if is_new { before } else { damaged }, &now);
    sandbox.restore(id, &[]);
    assert_same_tree(before, &sandbox.tree(project));
}

#[test]
fn a_restore_that_dies_is_finished_or_taken_back_wherever_the_files_lie() {
    if !has_points() {
        return;
    }
    shared(|sandbox, is_ours| {
        // 29: killed on this side.
        let project = project(sandbox);
        let before = sandbox.tree(&project);
        let points = ["intent", "staged", "journaled", "moved", "moved:3", "decided"];
        for (number, point) in points.into_iter().enumerate() {
            // Each place has one point for each verb.
            let verbs = ["resume", "abort"].into_iter().enumerate();
            for (_, verb) in verbs.filter(|(other, _)| is_ours(number + 3 * other)) {
                let id = sandbox.launch(
                    &project,
                    "rm -r data own; chmod 600 run.sh; echo x > new; echo y > .env",
                );
                let damaged = sandbox.tree(&project);
                let restore = sandbox.command(["restore", &id, "--yes"]);
                restore.with("JACKIN_RECOVERY_FAIL_AT", point).run();
                if sandbox.jackin(["list"]).ok().text().contains("interrupted") {
                    sandbox.jackin([verb, &id, "--yes"]).code_in(&[0, 6]);
                }
                is_old_or_new(sandbox, &project, &id, (&before, &damaged));
            }
        }
    });
}

#[test]
fn what_is_lost_on_a_machine_without_the_program_is_told_and_a_copy_loses_nothing() {
    for kind in [Kind::Shell, Kind::Busybox] {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        let project = project(&sandbox);
        Build::at(&project).attribute(".env", "user.kept", b"value");
        let target = sandbox.target(&project);
        let explained = sandbox.jackin(["explain", "--snapshot", "project", &target]).ok();
        let explained = explained
            .shows("is not installed")
            .shows("attributes, ACLs")
            .shows("--agent copy");
        let coarse = explained.text().contains("whole seconds");
        assert_eq!(coarse, kind == Kind::Busybox, "{explained}");
        // What is built for one C library does not run with another, or with none.
        if kind == Kind::Busybox {
            continue;
        }
        let before = sandbox.tree(&project);
        let copied = |words: &[&str]| {
            let command = sandbox.command(words);
            command.with("JACKIN_RECOVERY_AGENT", "copy").run()
        };
        let explained = copied(&["explain", "--snapshot", "project", &target]).ok();
        assert!(!explained.text().contains("is not installed"), "{explained}");
        let begun = copied(&["begin", "--snapshot", "project", &target]).ok();
        let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
        fs::remove_file(project.join(".env")).unwrap();
        copied(&["end", &id]).ok();
        copied(&["restore", &id, "--yes"]).ok();
        assert_same_tree(&before, &sandbox.tree(&project));
        // Nothing of it stays.
        let left: Vec<_> = fs::read_dir(sandbox.machine().temporary()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn attributes_that_a_shell_did_not_see_are_not_deleted_by_a_copy() {
    let Some(sandbox) = Sandbox::carried(Kind::Shell) else {
        return;
    };
    let project = project(&sandbox);
    Build::at(&project).attribute(".env", "user.kept", b"value");
    let target = sandbox.target(&project);
    let id = sandbox.begin(&target);
    let env = project.join(".env");
    fs::set_permissions(&env, fs::Permissions::from_mode(0o640)).unwrap();
    let copied = |words: &[&str]| {
        let command = sandbox.command(words);
        command.with("JACKIN_RECOVERY_AGENT", "copy").run()
    };
    copied(&["end", &id]).ok();
    let before = sandbox.tree(&project);
    let refused = copied(&["restore", &id, "--yes"]).code(1);
    refused
        .shows("attributes, ACLs and flags are unknown")
        .shows("--agent shell");
    assert_same_tree(&before, &sandbox.tree(&project));
    // A session that a copy began knows them, whatever the shell saw before.
    let id = String::from_utf8_lossy(&copied(&["begin", "--snapshot", "project", &target]).ok().stdout)
        .trim()
        .to_owned();
    fs::set_permissions(&env, fs::Permissions::from_mode(0o600)).unwrap();
    copied(&["end", &id]).ok();
    copied(&["restore", &id, "--yes"]).ok();
    assert_same_tree(&before, &sandbox.tree(&project));
}

#[test]
fn tools_that_are_missing_are_named_before_anything_is_captured() {
    let Some(sandbox) = Sandbox::carried(Kind::Shell) else {
        return;
    };
    let project = project(&sandbox);
    sandbox.machine().break_tool("stat");
    let target = sandbox.target(&project);
    sandbox
        .jackin(["begin", "--snapshot", "project", &target])
        .code(2)
        .shows("these tools are missing there: ")
        .shows("stat (with -c and -f)")
        .shows("--agent copy");
    let list = sandbox.jackin(["list", "--json"]).ok();
    assert!(!list.text().contains("\"baseline\""), "{list}");
}

#[test]
fn a_container_without_a_shell_is_named_with_the_way_that_works() {
    for (kind, way) in [
        (Kind::Docker, "docker-volume://NAME"),
        (Kind::Pod, "POD:CONTAINER"),
    ] {
        let Some(sandbox) = Sandbox::carried(kind) else {
            return;
        };
        let project = project(&sandbox);
        let target = sandbox.target(&project);
        let remove = [
            "exec",
            sandbox.machine().container(),
            "sh",
            "-c",
            "rm -f /bin/sh /usr/bin/sh",
        ];
        run_tool(Command::new("docker").args(remove));
        for agent in ["auto", "copy"] {
            sandbox
                .jackin(["begin", "--snapshot", "project", "--agent", agent, &target])
                .code(2)
                .shows("the container has no shell: name ")
                .shows(way)
                .hides("OCI");
        }
    }
}

#[test]
fn addresses_that_name_no_directory_are_refused() {
    let sandbox = Sandbox::new();
    for address in [
        "ssh://host",
        "docker://container",
        "srv://host/a",
        "ssh://-oProxyCommand=id/a",
        "ssh://:22/a",
    ] {
        let run = sandbox
            .jackin(["explain", "--snapshot", "project", address])
            .code(2);
        run.shows("is not the address of a mount")
            .shows("ssh://[USER@]HOST[:PORT]/PATH");
    }
    let Some(sandbox) = Sandbox::carried(Kind::Ssh) else {
        return;
    };
    let missing = sandbox.target(Path::new("/no/such/directory"));
    sandbox
        .jackin(["explain", "--snapshot", "project", &missing])
        .code(2)
        .shows("does not exist")
        .shows("  ssh ")
        .shows("'mkdir -p /no/such/directory'");
    // More than anybody means to hand over.
    for broad in ["/", "/root"] {
        if broad == "/root" && !crate::support::machine::is_root() {
            continue;
        }
        let run = sandbox.jackin([
            "begin",
            "--snapshot",
            "project",
            &sandbox.target(Path::new(broad)),
        ]);
        run.code(2).shows("--allow-broad");
    }
    // Nobody listens there.
    let run = sandbox
        .jackin(["begin", "--snapshot", "project", "ssh://127.0.0.1:1/srv"])
        .code(2);
    run.shows("cannot be read: ssh: ")
        .shows("refused")
        .hides("No route to host");
}

#[test]
fn modes_of_what_is_put_back_were_never_wider() {
    everywhere(Kind::Busybox, |sandbox| {
        // 9.
        let project = project(sandbox);
        let id = sandbox.launch(&project, "rm key");
        sandbox.restore(&id, &[]);
        let mode = fs::metadata(project.join("key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    });
}

/// A program that is started takes longer than the files that it reads, and a file system that is written back for nothing longer still.
#[test]
fn a_shell_reads_several_directories_with_each_program_that_it_starts() {
    let Some(sandbox) = Sandbox::carried(Kind::Shell) else {
        return;
    };
    let project = sandbox.project("tree");
    for directory in 0..60 {
        let build = Build::at(&project);
        build.file(format!("part-{directory}/one"), format!("one {directory}\n"));
        build.file(
            format!("part-{directory}/it's \"two\"\n"),
            format!("two {directory}\n"),
        );
    }
    // What was changed just now is read again later, file by file.
    Build::at(&project).aged();
    let before = sandbox.tree(&project);
    let started = sandbox.scratch("started");
    fs::create_dir(&started).unwrap();
    for tool in ["tar", "stat", "sync"] {
        let note = format!("echo \"$*\" | head -n 1 >>'{}'", started.join(tool).display());
        sandbox.machine().wrap_tool(tool, &note);
    }
    let id = sandbox.begin(sandbox.target(&project));
    let starts = |tool: &str| -> Vec<String> {
        let noted = fs::read_to_string(started.join(tool)).unwrap();
        noted.lines().map(str::to_owned).collect()
    };
    let [tar, stat] = ["tar", "stat"].map(|tool| starts(tool).len());
    assert!(tar <= 15 && stat <= 120, "{tar} times tar, {stat} times stat");
    let sync = starts("sync");
    assert!(sync.iter().all(|words| !words.ends_with(" /")), "{sync:?}");
    for directory in 0..60 {
        fs::remove_dir_all(project.join(format!("part-{directory}"))).unwrap();
    }
    sandbox.jackin(["end", &id]).ok();
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &sandbox.tree(&project));
}

/// A link in the place of a directory that is being read leads to no other content.
#[test]
fn a_link_that_takes_the_place_of_a_directory_leads_a_shell_nowhere() {
    let Some(sandbox) = Sandbox::carried(Kind::Shell) else {
        return;
    };
    let (project, secret) = (sandbox.project("tree"), sandbox.scratch("secret"));
    for directory in 0..20 {
        Build::at(&project).file(format!("part-{directory}/file"), format!("shown {directory}\n"));
        Build::at(&secret).file("file", "never to be shown\n");
    }
    Build::at(&project).aged();
    let swap = format!(
        "case $* in *file*) cd '{}'; [ -L part-0 ] || for d in part-*; do mv \"$d\" \"was-$d\"; ln -s '{}' \"$d\"; done; \
         cd \"$OLDPWD\";; esac",
        project.display(),
        secret.display()
    );
    sandbox.machine().wrap_tool("tar", &swap);
    let run = sandbox.jackin(["begin", "--snapshot", "project", &sandbox.target(&project)]);
    assert!(project.join("part-0").is_symlink(), "{run}");
    for archive in fs::read_dir(sandbox.store().join("archives"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let shown = run_tool(Command::new("tar").args(["--zstd", "-xOf"]).arg(archive.path()));
        let shown = String::from_utf8_lossy(&shown).into_owned();
        assert!(!shown.contains("never to be shown"), "{run}");
    }
}

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
    let id = sandbox.begin(&target);
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
        let contract: Vec<String> = explained.text().split_whitespace().map(str::to_owned).collect();
        let contract = contract.join(" ");
        let machine = target.strip_suffix(project.to_str().unwrap()).unwrap();
        let told = format!(
            " On {machine}, the shell and tools there are used, as you asked (--agent shell): extended attributes"
        );
        assert!(contract.contains(&told), "{explained}");
        assert!(!contract.contains("is not installed"), "{explained}");
        let command = sandbox.command(["explain", "--json", "--snapshot", "project", &target]);
        let document = command.with("JACKIN_RECOVERY_AGENT", "shell").run().ok().json();
        assert_eq!(document["mounts"][0]["shell"], "asked", "{document}");
    }
}

/// Returns the only directory of a copy that is kept on the machine.
#[track_caller]
fn kept(sandbox: &Sandbox) -> PathBuf {
    let found = fs::read_dir(sandbox.machine().temporary()).unwrap();
    let all: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    let [only] = all.as_slice() else {
        panic!("{all:?}");
    };
    only.clone()
}

#[test]
fn a_copy_is_sent_once_and_stays_for_as_long_as_a_session_is_active() {
    let Some((sandbox, project)) = without(Kind::Shell, &binary()) else {
        return;
    };
    let size = binary().metadata().unwrap().len();
    let sent = sandbox.machine().record();
    // Whether all that a command sends is less than a copy.
    let sends_none = |words: &[&str]| {
        let before = sent.metadata().map_or(0, |found| found.len());
        sandbox.jackin(words).ok();
        sent.metadata().unwrap().len() - before < size / 2
    };
    let before = sandbox.tree(&project);
    let target = sandbox.target(&project);
    let id = sandbox.begin(&target);
    let directory = kept(&sandbox);
    let agent = directory.join("agent");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&agent)), (0o700, 0o700));
    fs::write(project.join("src/main.rs"), "changed\n").unwrap();
    assert!(sends_none(&["checkpoint", &id]));
    // What is no whole copy, or another version, is not run.
    // A file of its own: the connection before may not have ended yet.
    let other = directory.join("other");
    write_script(&other, "#!/bin/sh\ntouch never\n");
    fs::rename(&other, &agent).unwrap();
    assert!(!sends_none(&["checkpoint", &id]));
    assert!(fs::read(&agent).unwrap() == fs::read(binary()).unwrap());
    // Nor one that another user put there.
    if crate::support::machine::is_root() {
        std::os::unix::fs::chown(&directory, Some(65_534), None).unwrap();
        assert!(!sends_none(&["checkpoint", &id]));
        std::os::unix::fs::chown(&directory, Some(0), None).unwrap();
    }
    assert!(sends_none(&["show", &id]) && sends_none(&["diff", &id]));
    assert_eq!(kept(&sandbox), directory);
    assert!(sends_none(&["end", &id]));
    nothing_stays(&sandbox);
    assert!(!sends_none(&["restore", &id, "--yes"]));
    nothing_stays(&sandbox);
    assert_same_tree(&before, &sandbox.tree(&project));

    // A launch leaves it for others while its command runs, and for the next command if it is killed.
    let listed = sandbox.scratch("listed");
    let there = sandbox.machine().temporary();
    let script = format!("ls -A {} >{}; kill -9 $PPID", there.display(), listed.display());
    let killed = sandbox.launching(&target, &["sh", "-c", &script]).run();
    assert!(killed.exit() != Some(0), "{killed}");
    let directory = kept(&sandbox);
    let name = directory.file_name().unwrap().to_str().unwrap();
    assert_eq!(fs::read_to_string(&listed).unwrap().trim(), name);
    assert!(sends_none(&["diff", &sandbox.newest()]));
    nothing_stays(&sandbox);
}

#[test]
fn no_copy_stays_whatever_became_of_it_meanwhile() {
    let Some((sandbox, project)) = without(Kind::Shell, &binary()) else {
        return;
    };
    let target = sandbox.target(&project);
    // A process was killed while it wrote the copy.
    let id = sandbox.begin(&target);
    let directory = kept(&sandbox);
    fs::rename(directory.join("agent"), directory.join("agent.1")).unwrap();
    sandbox.jackin(["end", &id]).ok();
    nothing_stays(&sandbox);
    // A second session covers the place of the copy. No snapshot of it has the copy, and it changes nothing.
    let id = sandbox.begin(&target);
    let around = sandbox.begin(sandbox.target(&sandbox.machine().temporary()));
    sandbox.jackin(["end", &id]).ok();
    sandbox.jackin(["end", &around]).ok();
    nothing_stays(&sandbox);
    assert!(sandbox.diff(&around, &[]).touched().is_empty());
    sandbox
        .jackin(["restore", &around, "--yes"])
        .ok()
        .shows("Nothing to do");
    // Nothing there can compare it.
    sandbox.machine().break_tool("sha256sum");
    let id = sandbox.begin(&target);
    sandbox.jackin(["checkpoint", &id]).ok();
    sandbox.jackin(["end", &id]).ok();
    nothing_stays(&sandbox);
}

#[test]
fn no_copy_is_kept_in_a_mount() {
    let Some((sandbox, _)) = without(Kind::Shell, &binary()) else {
        return;
    };
    let id = sandbox.begin(sandbox.target(&sandbox.machine().temporary()));
    nothing_stays(&sandbox);
    sandbox.jackin(["end", &id]).ok();
    assert!(sandbox.diff(&id, &[]).touched().is_empty());
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

/// The kinds of snapshots of the only session, and its id.
fn kinds(sandbox: &Sandbox) -> (String, Vec<String>) {
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    assert_eq!(all.len(), 1, "{all:?}");
    let kinds = all[0].snapshots.iter().map(|one| one.kind.clone()).collect();
    (all[0].id.clone(), kinds)
}

#[test]
fn a_command_that_may_change_something_there_has_a_checkpoint_before_it() {
    for kind in chosen(Kind::Pod) {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        let project = project(&sandbox);
        let target = sandbox.target(&project);
        sandbox.jackin(["begin", "--snapshot", "project", &target]).ok();
        let (id, _) = kinds(&sandbox);
        fs::write(project.join("own/a"), "by the agent\n").unwrap();
        let between = sandbox.tree(&project);
        let key = project.join("key");
        sandbox
            .jackin(["exec", &id, "--", "rm", key.to_str().unwrap()])
            .ok();
        assert_eq!(kinds(&sandbox).1, ["checkpoint", "baseline"], "{kind:?}");
        sandbox.jackin(["end", &id]).ok();
        let back = ["restore", &id, "--from", "checkpoint", "--yes"];
        sandbox.jackin(back).ok();
        assert_same_tree(&between, &sandbox.tree(&project));
    }
}

#[test]
fn a_hook_takes_checkpoints_of_what_lies_on_other_machines() {
    for kind in chosen(Kind::Docker) {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        // The agent works here; what it may change lies here and there.
        let there = project(&sandbox);
        let here = sandbox.project("here");
        let mounts = format!(
            "[[mounts]]\nsrc = \"{}\"\ndst = \"/here\"\n[[mounts]]\nsrc = \"{}\"\ndst = \"/there\"\n\n[recovery]\nsnapshot = \"project\"\n",
            here.display(),
            sandbox.target(&there)
        );
        sandbox.configure("workspaces/both.toml", &mounts);
        let say = |event: &str, id: &str| {
            let what = json!({
                "session_id": "session-1", "transcript_path": "/x/transcript.jsonl", "cwd": here, "permission_mode": "default",
                "hook_event_name": event, "source": "startup", "tool_name": "Bash",
                "tool_input": {"command": "make install"}, "tool_use_id": id,
            });
            sandbox.tell("claude", event, what.to_string().as_bytes()).ok();
        };
        say("SessionStart", "0");
        assert_eq!(kinds(&sandbox).1, ["baseline"], "{kind:?}");
        say("PreToolUse", "1");
        fs::remove_file(there.join(".env")).unwrap();
        say("PreToolUse", "2");
        let (id, taken) = kinds(&sandbox);
        assert_eq!(taken, ["checkpoint", "baseline"], "{kind:?}: only what changed");
        let diff = ["diff", &id, "--from", "baseline", "--to", "checkpoint"];
        sandbox.jackin(diff).code_in(&[0, 1]).shows("D .env");
    }
}
