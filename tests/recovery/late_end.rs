//! A session whose end nobody saw (scenario 31, the dead half; promise 5).

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// A session that was killed with its launcher after its damage: the project, its tree before, the instance.
fn killed(sandbox: &Sandbox) -> (PathBuf, Tree, String) {
    let project = sandbox.project("killed");
    Build::at(&project)
        .file("edited", "before\n")
        .file("gone", "gone\n")
        .file("dir/gone", "g\n")
        .aged();
    let before = Tree::read(&project);
    let session = Background::launch(
        sandbox,
        &project,
        "echo agent > edited; rm -r gone dir; echo new > added",
    );
    let id = sandbox.newest();
    session.kill();
    (project, before, id)
}

#[test]
fn s31_killed_session_may_be_restored_and_only_missing_paths_are_made() {
    let sandbox = Sandbox::new();
    let (project, before, id) = killed(&sandbox);
    let restored = sandbox.restore_in_part(&id, &[]);
    restored.touched(&["dir", "dir/gone", "gone"]);
    // No live snapshot says who wrote these: the agent, or the operator after it died.
    restored.conflicted(&["added", "edited"]);
    let after = Tree::read(&project);
    assert_same_tree(&before.only("gone"), &after.only("gone"));
    assert_same_tree(&before.only("dir"), &after.only("dir"));
    assert_eq!(fs::read_to_string(project.join("edited")).unwrap(), "agent\n");
    assert!(after.has("added"));
}

#[test]
fn s31_killed_session_is_restored_whole_on_request() {
    let sandbox = Sandbox::new();
    let (project, before, id) = killed(&sandbox);
    let damaged = Tree::read(&project);
    let restored = sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
    restored.touched(&["added", "dir", "dir/gone", "edited", "gone"]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn s31_late_end_is_recorded_and_said() {
    let sandbox = Sandbox::new();
    let (_, _, id) = killed(&sandbox);
    // The reason why an instance that was never ended may be restored is said.
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .code_in(&[0, 6])
        .shows(&id);
    sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let run = sandbox.jackin(["list", "--json"]).ok();
    let instance = &instances(&run)[0];
    assert_ne!(instance.status, "active", "{run}");
    instance.snapshot("closing");
    let record = sandbox
        .store()
        .join(format!("snapshots/{}.json", instance.snapshot("closing").id));
    let record: serde_json::Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    assert_eq!(record["late"], true, "{record:#}");
}

#[test]
fn s31_agent_killed_by_a_signal_still_gets_its_closing_snapshot() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("terminated");
    Build::at(&project).file("a", "before\n").aged();
    let before = Tree::read(&project);
    // The agent ends by a signal of its own; the launcher reports it as a shell would.
    let target = project.to_str().unwrap();
    sandbox
        .launching(target, &["sh", "-c", "echo agent > a; kill -TERM $$"])
        .inside(&project)
        .run()
        .code(128 + 15);
    let id = sandbox.newest();
    sandbox.restore(&id, &[]).touched(&["a"]);
    assert_same_tree(&before, &Tree::read(&project));
}

/// Two closing snapshots would take what the operator edits between them for the agent's work.
#[test]
fn of_several_ends_at_once_one_closes_the_session() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("at-once");
    Build::at(&project)
        .file("edited", "before\n")
        .file("other", "o\n")
        .aged();
    let id = sandbox.begin(&project);
    fs::write(project.join("edited"), "agent\n").unwrap();
    let runs: Vec<_> = std::thread::scope(|scope| {
        let ends: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| sandbox.jackin(["end", &id])))
            .collect();
        ends.into_iter().map(|end| end.join().unwrap()).collect()
    });
    let (closed, late): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.exit() == Some(0));
    assert_eq!(closed.len(), 1);
    for run in late {
        run.code(1).shows("has already ended");
    }
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    let closings = all[0].snapshots.iter().filter(|one| one.kind == "closing");
    assert_eq!(closings.count(), 1, "{run}");
    fs::write(project.join("edited"), "operator\n").unwrap();
    sandbox.restore_in_part(&id, &[]).conflicted(&["edited"]);
    assert_eq!(fs::read_to_string(project.join("edited")).unwrap(), "operator\n");
}

#[test]
fn a_session_that_cannot_be_closed_can_be_read() {
    for is_full in [false, true] {
        let sandbox = Sandbox::new();
        let home = sandbox.home().join(".jackin");
        let Some(volume) = Volume::tmpfs_of(&home, "size=16m") else {
            return;
        };
        let (project, _, id) = killed(&sandbox);
        let filler = home.join("filler");
        if is_full {
            fs::remove_file(sandbox.store().join("reserve")).unwrap();
            let mut filler = fs::File::create(&filler).unwrap();
            while filler.write_all(&[0; 4096]).is_ok() {}
        } else if !volume.try_read_only() {
            return;
        }
        let said = format!("{id} ended without a closing snapshot, and none can be taken now:");
        let read = |words: &[&str]| {
            let run = sandbox.command(words).inside(&project).run().ok();
            let words: Vec<String> = run.text().split_whitespace().map(str::to_owned).collect();
            assert_eq!(words.join(" ").matches(&said).count(), 1, "{run}");
            run
        };
        read(&["show", &id]).shows("baseline");
        read(&["diff", &id]).shows("M edited").shows("D gone");
        read(&["cat", "gone"]).shows("gone");
        read(&["log", "edited"]).shows("not stored yet");
        read(&["blame", "edited"]);
        read(&["find", "gone"]).shows("dir/gone");
        if !is_full {
            // Its receipt has no place.
            let file = sandbox.scratch("out.tar.zst");
            let run = sandbox.jackin(["export", &id, file.to_str().unwrap()]).code(1);
            run.shows("mount its file system writable");
        }
        if is_full {
            fs::remove_file(&filler).unwrap();
        } else {
            volume.writable();
        }
        let run = sandbox.jackin(["show", &id]).ok();
        run.shows("closing").hides(&said);
    }
}
