//! Baselines that are stored while the command runs already: what a kill at any moment of that leaves, signals, checkpoints, several mounts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, kill_process};

use crate::native::Btrfs;
use crate::support::background::Background;
use crate::support::build::{Build, noise};
use crate::support::compare::assert_same_tree;
use crate::support::documents::{Instance, instances};
use crate::support::kill::{Dice, fill, strike};
use crate::support::machine::{binary, has_points, is_nightly};
use crate::support::patience::{await_moment, await_that};
use crate::support::sandbox::Sandbox;
use crate::support::stop::interrupt;
use crate::support::tree::Tree;

/// Enough that it takes a while to store.
pub(crate) fn large(project: &Path) {
    fill(project, 200);
    Build::at(project).file("large", noise("large", 96 << 20)).aged();
}

pub(crate) fn launch<'a>(
    sandbox: &'a Sandbox,
    project: &Path,
    script: &str,
) -> crate::support::invocation::Invocation<'a> {
    let target = project.to_str().unwrap();
    sandbox.launching(target, &["sh", "-c", script]).inside(project)
}

pub(crate) fn only(sandbox: &Sandbox) -> Instance {
    let mut all = instances(&sandbox.jackin(["list", "--json"]).ok());
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Nothing that was frozen is left, on the disk and in the store.
#[track_caller]
pub(crate) fn nothing_frozen(sandbox: &Sandbox, btrfs: &Btrfs, about: &str) {
    assert_eq!(btrfs.others(), [""; 0], "{about}");
    let papers = fs::read_dir(sandbox.store().join("native"));
    let papers = papers.map_or(0, |all| all.count());
    assert_eq!(papers, 0, "{about}");
    let names = fs::read_dir(&btrfs.disk)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name());
    let left: Vec<_> = names
        .filter(|name| name.to_string_lossy().contains("jackin-recovery"))
        .collect();
    assert!(left.is_empty(), "{about}: {left:?}");
}

#[test]
fn a_command_begins_before_its_baseline_is_stored_and_nobody_takes_that_for_complete() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    large(project);
    let before = Tree::read(project);
    let script = format!(
        "ls {store}/snapshots | wc -l >seen; ls {store}/native | wc -l >>seen; echo agent >mode; rm large; rm -r many",
        store = sandbox.store().display()
    );
    let run = launch(&sandbox, project, &script).run().ok();
    assert_eq!(
        fs::read_to_string(project.join("seen")).unwrap(),
        "0\n1\n",
        "{run}"
    );
    let instance = only(&sandbox);
    let kinds: Vec<&str> = instance
        .snapshots
        .iter()
        .map(|snapshot| snapshot.kind.as_str())
        .collect();
    assert_eq!(kinds, ["closing", "baseline"], "newest first");
    assert!(instance.snapshots.iter().all(|snapshot| snapshot.complete));
    nothing_frozen(&sandbox, &btrfs, "stored");
    sandbox.restore(&instance.id, &[]);
    assert_same_tree(&before, &Tree::read(project));
    sandbox.jackin(["verify", "--read-data"]).ok();
}

#[test]
fn checkpoints_and_the_end_wait_for_the_baseline() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    large(project);
    let program = binary();
    let script = format!(
        "echo one >mode; {} recovery checkpoint --name one; echo two >mode",
        program.display()
    );
    let run = launch(&sandbox, project, &script).run().ok();
    let instance = only(&sandbox);
    let kinds: Vec<&str> = instance
        .snapshots
        .iter()
        .map(|snapshot| snapshot.kind.as_str())
        .collect();
    assert_eq!(kinds, ["closing", "checkpoint", "baseline"], "{run}");
    sandbox.restore(&instance.id, &["--from", "one"]);
    assert_eq!(fs::read_to_string(project.join("mode")).unwrap(), "one\n");
}

#[test]
fn a_command_that_cannot_be_started_leaves_nothing_frozen() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    Build::at(project)
        .file("a", "a\n")
        .file("script", "#!/nowhere/at/all\n")
        .mode("script", 0o755);
    let target = project.to_str().unwrap();
    let run = sandbox.launching(target, &["./script"]);
    run.inside(project).run().code(126);
    assert_eq!(only(&sandbox).status, "failed");
    nothing_frozen(&sandbox, &btrfs, "not started");
}

#[test]
fn a_limit_that_is_found_behind_the_command_keeps_what_was_frozen() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    fill(project, 50);
    let before = Tree::read(project);
    let config = sandbox.home().join(".config/jackin");
    fs::create_dir_all(&config).unwrap();
    let limit = |entries: u32| {
        let text = format!("[recovery.limits]\nmax_entries = {entries}\n");
        fs::write(config.join("config.toml"), text).unwrap();
    };
    limit(20);
    let run = launch(&sandbox, project, "echo agent >mode; rm big").run().ok();
    run.has("the baseline is not stored")
        .has("limit of 20 entries")
        .has("raise max_entries");
    // Told again, and kept, until there is room for it.
    sandbox.jackin(["list"]).ok().has("is not stored yet");
    let id = only(&sandbox).id;
    // It would be stored later, with the path.
    let forget = ["forget", "--path", "big", "--yes"];
    let forget = sandbox.command(forget).inside(project).run();
    forget.code(1).has("is not stored yet");
    sandbox
        .jackin(["pin", &id])
        .ok()
        .has("cannot be stored")
        .has("raise max_entries");
    limit(2000);
    sandbox.jackin(["unpin", &id]).ok().has("is stored now");
    nothing_frozen(&sandbox, &btrfs, "stored late");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(project));
}

/// One that never fits need not be kept for ever, nor be tried in an agent's tool calls.
#[test]
fn a_baseline_that_never_fits_is_given_up_by_a_prune_that_was_asked_for() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    fill(project, 50);
    sandbox.configure("config.toml", "[recovery.limits]\nmax_entries = 20\n");
    let run = launch(&sandbox, project, "echo agent >mode").run().ok();
    run.has("its baseline is not stored yet");
    let inside = sandbox
        .command(["list"])
        .with("JACKIN_RECOVERY_INSTANCE", only(&sandbox).id);
    inside.run().ok();
    let plan = sandbox.jackin(["prune", "--dry-run", "--json"]).ok().json();
    assert_eq!(plan["frozen"].as_array().unwrap().len(), 1, "{plan}");
    sandbox
        .jackin(["prune", "--dry-run"])
        .ok()
        .has("unless it can be stored now");
    sandbox.jackin(["prune", "--yes"]).ok().has("cannot be stored");
    nothing_frozen(&sandbox, &btrfs, "given up");
    sandbox
        .jackin(["prune", "--yes"])
        .ok()
        .has("Nothing exceeds the retention policy");
    assert!(
        only(&sandbox)
            .snapshots
            .iter()
            .all(|snapshot| snapshot.kind != "baseline")
    );
}

/// The order of the chain is not that of the moments: a baseline is the first of its session.
#[test]
fn a_baseline_that_is_stored_behind_the_closing_snapshot_is_still_the_first() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    fill(project, 50);
    let before = Tree::read(project);
    sandbox.configure("config.toml", "[recovery.limits]\nmax_entries = 20\n");
    launch(&sandbox, project, "echo agent >mode; rm many/1/1; echo n >new")
        .run()
        .ok();
    let after = Tree::read(project);
    sandbox.configure("config.toml", "[recovery.limits]\nmax_entries = 2000\n");
    let id = only(&sandbox).id;
    sandbox.jackin(["pin", &id]).ok().has("is stored now");
    let kinds: Vec<String> = only(&sandbox)
        .snapshots
        .iter()
        .map(|one| one.kind.clone())
        .collect();
    assert_eq!(kinds, ["closing", "baseline"]);
    sandbox.jackin(["diff", &id]).ok().shows("many/1/1").shows("new");
    // The step from the baseline to the closing one is taken back, and nothing is a conflict.
    sandbox
        .jackin(["restore", &id, "--only-changes-of", "closing", "--yes"])
        .ok();
    assert_same_tree(&before, &Tree::read(project));
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert_same_tree(&after, &Tree::read(project));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(project));
}

#[test]
fn killed_at_its_points_nothing_unknown_stays() {
    if !has_points() {
        return;
    }
    for (point, has_baseline) in [
        ("freeze-written", false),
        ("frozen", true),
        ("behind-stored", true),
    ] {
        let sandbox = Sandbox::new();
        let Some(btrfs) = Btrfs::new(&sandbox) else { return };
        let project = &btrfs.project;
        fill(project, 50);
        let before = Tree::read(project);
        // Long enough that the thread beside it comes to its point.
        let launched = launch(&sandbox, project, "echo agent >>mode; sleep 2");
        let killed = launched.with("JACKIN_RECOVERY_FAIL_AT", point).run();
        assert_eq!(killed.exit(), None, "{point}: {killed}");
        sandbox.jackin(["list"]).ok();
        let next = sandbox.jackin(["prune", "--yes"]).ok();
        nothing_frozen(&sandbox, &btrfs, point);
        let instance = &instances(&sandbox.jackin(["list", "--json"]).ok())[0];
        let found = instance
            .snapshots
            .iter()
            .any(|snapshot| snapshot.kind == "baseline");
        assert_eq!(found, has_baseline, "{point}: {next}");
        if has_baseline {
            let id = instance.id.clone();
            let restore = ["restore", &id, "--yes", "--overwrite-later-edits"];
            wait_for_end(&sandbox, &id);
            sandbox.jackin(restore).code_in(&[0, 6]);
            assert_same_tree(&before, &Tree::read(project));
        }
        sandbox.jackin(["verify", "--read-data"]).ok();
        sandbox.jackin(["log", "--verify"]).ok();
    }
}

/// The command outlives its launcher for a while.
fn wait_for_end(sandbox: &Sandbox, id: &str) {
    await_that("the end of the command", || {
        let all = instances(&sandbox.jackin(["list", "--json"]).ok());
        all.iter()
            .any(|instance| instance.id == id && instance.status != "active")
    });
}

#[test]
fn killed_while_the_archive_is_written_the_baseline_is_stored_by_the_next_command() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    large(project);
    let before = Tree::read(project);
    let launched = Background::launch(&sandbox, project, "echo agent >mode; rm large; rm -r many");
    assert_eq!(
        fs::read_dir(sandbox.store().join("snapshots")).unwrap().count(),
        0,
        "it was too fast"
    );
    launched.kill();
    assert_eq!(btrfs.others().len(), 1);
    let id = only(&sandbox).id;
    sandbox
        .jackin(["list"])
        .ok()
        .has("the baseline of")
        .has("is not stored yet");
    let restored = sandbox
        .jackin(["restore", &id, "--yes", "--overwrite-later-edits"])
        .code_in(&[0, 6]);
    restored.has("is stored now from its file-system snapshot");
    assert_same_tree(&before, &Tree::read(project));
    nothing_frozen(&sandbox, &btrfs, "finished");
    sandbox.jackin(["verify", "--read-data"]).ok();
}

#[test]
fn killed_at_random_moments_a_baseline_is_whole_or_not_there() {
    const MOST: u64 = 12;
    let rounds = if is_nightly() { MOST } else { 2 };
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    fill(project, 400);
    let mut dice = Dice::new(31);
    let mut whole = 0;
    for round in 0..MOST {
        // More than that only until one baseline was stored before the kill.
        if round >= rounds && whole > 0 {
            break;
        }
        let before = Tree::read(project);
        // A busy machine comes less far in the same time.
        let moment = Duration::from_millis(dice.below(400 * (1 + round / rounds)));
        strike(
            launch(
                &sandbox,
                project,
                &format!("echo {round} >>mode; rm -f many/1/*; sleep 0.2"),
            ),
            moment,
        );
        // Killed itself, the next one is as good as the first.
        let next = sandbox.command(["prune", "--yes"]);
        strike(next, Duration::from_millis(dice.below(60)));
        sandbox.jackin(["prune", "--yes"]).ok();
        let about = format!("round {round}, {moment:?}");
        nothing_frozen(&sandbox, &btrfs, &about);
        let all = instances(&sandbox.jackin(["list", "--json"]).ok());
        let newest = all
            .first()
            .filter(|newest| newest.snapshots.iter().any(|one| one.kind == "baseline"));
        if let Some(newest) = newest {
            assert!(newest.snapshot("baseline").complete);
            sandbox
                .jackin(["restore", &newest.id, "--yes", "--overwrite-later-edits"])
                .code_in(&[0, 5, 6]);
            assert_same_tree(&before, &Tree::read(project));
            whole += 1;
        }
    }
    assert!(whole > 0, "no round came so far");
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.jackin(["log", "--verify"]).ok();
}

/// Ctrl-C gives up what is waited for, and not the closing snapshot that follows.
#[test]
fn interrupted_while_its_baseline_is_stored_a_session_is_closed_all_the_same() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    large(project);
    let before = Tree::read(project);
    let running = launch(&sandbox, project, "echo agent >mode").start();
    let pid = running.child.id();
    // Until the command is collected the signal is its own.
    await_moment("the end of the command", || {
        running.errors().contains("its baseline is still being stored")
    });
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    kill_process(raw, interrupt()).unwrap();
    let run = running.finish().ok();
    run.has("its baseline is still being stored")
        .has("the baseline is not stored")
        .has("its baseline is not stored yet");
    let instance = only(&sandbox);
    assert_eq!(instance.status, "ended", "{run}");
    assert!(instance.snapshot("closing").complete, "{run}");
    sandbox.jackin(["pin", &instance.id]).ok().has("is stored now");
    nothing_frozen(&sandbox, &btrfs, "stored late");
    sandbox.restore(&instance.id, &[]);
    assert_same_tree(&before, &Tree::read(project));
}

#[test]
fn checkpoints_by_the_clock_come_behind_a_baseline_that_takes_longer() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    large(project);
    let before = Tree::read(project);
    let target = project.to_str().unwrap();
    // A slow machine stores the baseline for a while.
    let script = "for n in $(seq 90); do echo $n >mode; sleep 1; \
         \"$0\" recovery show --json | grep -Eq '\"kind\": *\"checkpoint\"' && break; done";
    let program = binary();
    let words = [
        "launch",
        "--snapshot",
        "project",
        "--checkpoint-every",
        "1s",
        target,
        "--",
        "sh",
        "-c",
        script,
        program.to_str().unwrap(),
    ];
    let run = sandbox.command(words).inside(project).run().ok();
    let instance = only(&sandbox);
    let kinds: Vec<&str> = instance.snapshots.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds.first(), Some(&"closing"), "{run}");
    assert_eq!(kinds.last(), Some(&"baseline"), "{run}");
    assert!(kinds.contains(&"checkpoint"), "{run}");
    nothing_frozen(&sandbox, &btrfs, "checkpoints");
    sandbox.restore(&instance.id, &[]);
    assert_same_tree(&before, &Tree::read(project));
}

#[test]
fn two_mounts_in_one_subvolume_share_a_snapshot() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let [one, two] = ["one", "two"].map(|name| btrfs.project.join(name));
    for mount in [&one, &two] {
        fs::create_dir(mount).unwrap();
        fill(mount, 40);
    }
    Build::at(&btrfs.project).file("beside", "not covered\n");
    let text = format!(
        "[[mounts]]\nsrc = {one:?}\ndst = \"/one\"\n[[mounts]]\nsrc = {two:?}\ndst = \"/two\"\n[recovery]\nsnapshot = \"project\"\n"
    );
    sandbox.configure("workspaces/both.toml", &text);
    let before = [&one, &two].map(|mount| Tree::read(mount));
    let script = format!(
        "ls {disk} -A | grep frozen | wc -l >{seen}; btrfs subvolume list {disk} | wc -l >>{seen}; rm -r {one}/many {two}/big; echo x >{two}/mode",
        disk = btrfs.disk.display(),
        seen = sandbox.scratch("seen").display(),
        one = one.display(),
        two = two.display(),
    );
    let run = sandbox
        .command(["launch", "both", "--", "sh", "-c", &script])
        .run()
        .ok();
    let seen = fs::read_to_string(sandbox.scratch("seen")).unwrap();
    assert!(
        ["0\n2\n", "1\n2\n", "0\n1\n"].contains(&seen.as_str()),
        "{seen} {run}"
    );
    nothing_frozen(&sandbox, &btrfs, "two mounts");
    sandbox.restore(&only(&sandbox).id, &[]);
    let after = [&one, &two].map(|mount| Tree::read(mount));
    for (before, after) in before.iter().zip(&after) {
        assert_same_tree(before, after);
    }
}
