//! A damaged closing snapshot takes nothing from the baseline; it only vouches for nothing.

use std::fs;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s41_damaged_closing_snapshot_leaves_the_baseline_usable() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hurt");
    Build::at(&project)
        .file("edited", "before\n")
        .file("gone", "gone\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > edited; rm gone");
    let run = sandbox.jackin(["list", "--json"]).ok();
    let closing = instances(&run)[0].snapshot("closing").id.replace("sn-", "ar-");
    let archive = sandbox.store().join(format!("archives/{closing}.tar.zst"));
    let mut bytes = fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    fs::write(&archive, bytes).unwrap();

    // What is missing comes back; what only the damaged snapshot could tell from later work is kept and named.
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let cleaned = run.said();
    assert!(
        cleaned.contains("cannot be read, so it vouches for nothing"),
        "{run}"
    );
    let after = Tree::read(&project);
    assert_same_tree(&before.only("gone"), &after.only("gone"));
    assert_eq!(fs::read_to_string(project.join("edited")).unwrap(), "agent\n");

    sandbox
        .restore(&id, &["--overwrite-later-edits"])
        .touched(&["edited"]);
    assert_same_tree(&before, &Tree::read(&project));
}
