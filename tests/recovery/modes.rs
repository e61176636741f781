//! `off` and `metadata` (scenario 43, its first two clauses).

use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::documents::instances;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s43_off_writes_nothing_at_all() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("off");
    Build::at(&project).file("a", "a\n").aged();
    let before = Tree::read(sandbox.world());
    let target = project.to_str().unwrap();
    let args = [
        "launch",
        "--snapshot",
        "off",
        target,
        "--",
        "sh",
        "-c",
        "test -f a; exit 7",
    ];
    sandbox.command(args).inside(&project).run().code(7);
    assert_untouched(&before, &Tree::read(sandbox.world()));
    sandbox.jackin(["explain", "--snapshot", "off", target]).ok();
    assert_untouched(&before, &Tree::read(sandbox.world()));
}

#[test]
fn s43_off_by_configuration_writes_nothing_at_all() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("off");
    Build::at(&project).file("a", "a\n").aged();
    let mounts = "[[mounts]]\nsrc = \"~/src/off\"\ndst = \"/workspace/off\"\n";
    sandbox.configure(
        "workspaces/quiet.toml",
        &format!("version = \"v1alpha8\"\n{mounts}"),
    );
    sandbox.configure(
        "workspaces/silent.toml",
        &format!("[recovery]\nsnapshot = \"off\"\n{mounts}"),
    );
    let before = Tree::read(sandbox.world());
    // The default is off; but a session that is not protected is never started in silence.
    sandbox
        .jackin(["launch", "quiet", "--", "true"])
        .code_in(&[0, 2, 125]);
    sandbox.jackin(["launch", "silent", "--", "true"]).ok();
    assert_untouched(&before, &Tree::read(sandbox.world()));
    // A flag wins over the file.
    sandbox
        .jackin(["launch", "--snapshot", "project", "silent", "--", "true"])
        .ok();
    assert!(sandbox.store().is_dir());
}

#[test]
fn s43_metadata_records_and_restores_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("metadata");
    Build::at(&project).file("a", "MARKED-CONTENT\n").aged();
    let target = project.to_str().unwrap();
    let args = [
        "launch",
        "--snapshot",
        "metadata",
        target,
        "--",
        "sh",
        "-c",
        "echo agent > a; echo new > b",
    ];
    sandbox.command(args).inside(&project).run().ok();
    let damaged = Tree::read(&project);

    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    assert_eq!(all.len(), 1, "{run}");
    let id = all[0].id.clone();
    sandbox.jackin(["show", &id]).ok().shows("metadata");
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(5)
        .shows("nothing to restore from");
    let error = sandbox
        .jackin(["restore", &id, "--yes", "--json"])
        .code(5)
        .error();
    assert!(
        error["message"].to_string().contains("metadata"),
        "it says why: {error}"
    );
    sandbox.jackin(["restore", &id, "--dry-run"]).code(5);
    sandbox.jackin(["undo", &id, "--yes"]).code(5);
    assert_untouched(&damaged, &Tree::read(&project));
    for entry in walkdir::WalkDir::new(sandbox.store())
        .into_iter()
        .flatten()
        .filter(|e| e.file_type().is_file())
    {
        let bytes = std::fs::read(entry.path()).unwrap();
        let held = bytes.windows(14).any(|window| window == b"MARKED-CONTENT");
        assert!(!held, "{}", entry.path().display());
    }
    assert!(
        !sandbox
            .store()
            .join("archives")
            .read_dir()
            .is_ok_and(|mut all| all.next().is_some()),
        "no archive"
    );
}

#[test]
fn s43_explain_says_whether_a_restore_will_be_possible() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("said");
    let target = project.to_str().unwrap();
    for mode in ["off", "metadata", "project"] {
        sandbox
            .jackin(["explain", "--snapshot", mode, target])
            .ok()
            .shows(mode)
            .shows("restore");
    }
    sandbox
        .jackin(["explain", "--snapshot", "everything", target])
        .code(2)
        .shows("everything");
}
