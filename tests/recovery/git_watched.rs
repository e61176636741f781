//! Mode `metadata`: no file is kept, but where the repositories stood when the session began.

use std::fs;

use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;

#[test]
fn metadata_records_base_commit_dirty_status_and_cleanup_policy() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("my-project"), 3);
    let commit = repository.git(&["rev-parse", "HEAD"]);
    fs::write(repository.path.join(".env"), "SECRET=hunter2").unwrap();
    fs::create_dir(repository.path.join("logs")).unwrap();
    fs::write(repository.path.join("logs/x.log"), "excluded").unwrap();
    sandbox.configure(
        "workspaces/web.toml",
        concat!(
            "dirty_exit_policy = \"keep\"\n",
            "[recovery]\nsnapshot = \"metadata\"\nexclude = [\"logs/\"]\n",
            "[[mounts]]\nsrc = \"~/src/my-project\"\ndst = \"/workspace/my-project\"\n",
        ),
    );
    let contract = sandbox.jackin(["explain", "web"]).ok().text();
    assert!(contract.contains("none of .git is covered"), "{contract}");
    let run = sandbox.jackin(["launch", "web", "--", "true"]).ok();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.contains(".git is dirty (1 path is not"), "{said}");

    let shown = sandbox.jackin(["show", "web", "--json"]).ok().json();
    assert_eq!(shown["cleanup_policy"], "keep", "{shown}");
    assert_eq!(shown["coverage"], serde_json::json!([]));
    let root = repository.path.canonicalize().unwrap();
    assert_eq!(shown["watched"][0]["coverage"]["root"], root.to_str().unwrap());
    let facts = &shown["git"][0];
    assert_eq!(facts["commit"], commit.trim());
    assert_eq!(facts["branch"], "refs/heads/main");
    assert_eq!(
        (&facts["class"], &facts["differing"]),
        (&"dirty".into(), &1.into())
    );
    // A name may tell something too, and a receipt is kept for ever.
    assert_eq!(facts["differs"], serde_json::json!([]));
    let text = sandbox.jackin(["show", "web"]).ok().text();
    assert!(
        text.contains("cleanup    keep") && text.contains("1 path is not what HEAD names"),
        "{text}"
    );
    assert!(!text.contains("is covered"), "nothing is: {text}");
    let receipts = fs::read_to_string(sandbox.store().join("receipts.log")).unwrap();
    assert!(
        !receipts.contains("hunter2") && !receipts.contains(".env"),
        "{receipts}"
    );
}

#[test]
fn a_watched_mount_that_holds_too_much_is_said_and_begins_all_the_same() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    for number in 0..20 {
        fs::write(project.join(number.to_string()), "").unwrap();
    }
    sandbox.configure("config.toml", "[recovery.limits]\nmax_entries = 10\n");
    let target = project.to_str().unwrap();
    sandbox
        .jackin(["launch", "--snapshot", "metadata", target, "--", "true"])
        .ok();
    let shown = sandbox.jackin(["show", "@latest", "--json"]).ok().json();
    let error = shown["watched"][0]["error"].as_str().unwrap();
    assert!(error.contains("10"), "{error}");
    assert_eq!(shown["git"], serde_json::json!([]));
    let text = sandbox.jackin(["show", "@latest"]).ok().text();
    assert!(
        text.contains("nothing is known of its git repositories"),
        "{text}"
    );
}

#[test]
fn what_a_receipt_keeps_of_many_repositories_is_bounded_and_said() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let first = Repository::with_history(&project.join("r00"), 1);
    for number in 0..30 {
        first.git(&["branch", &format!("b{number:02}")]);
        first.git(&["remote", "add", &format!("o{number:02}"), "https://example.org/x"]);
    }
    for number in 1..23 {
        let copy = project.join(format!("r{number:02}"));
        first.git(&["clone", "-q", ".", copy.to_str().unwrap()]);
    }
    let target = project.to_str().unwrap();
    sandbox
        .jackin(["launch", "--snapshot", "metadata", target, "--", "true"])
        .ok();
    let shown = sandbox.jackin(["show", "@latest", "--json"]).ok().json();
    let git = shown["git"].as_array().unwrap();
    assert_eq!((git.len(), &shown["watched"][0]["more"]), (20, &3.into()));
    for list in ["remotes", "unpushed"] {
        assert_eq!(git[0][list].as_array().unwrap().len(), 20, "{list}");
    }
    sandbox
        .jackin(["show", "@latest"])
        .ok()
        .shows("3 more repositories were not written down");
    let receipts = fs::metadata(sandbox.store().join("receipts.log")).unwrap();
    assert!(receipts.len() < 64 << 10, "{}", receipts.len());
}
