//! `off` and `metadata` (scenario 43, its first two clauses): no file is kept; `metadata` writes down where the repositories stood.

use std::fs;
use std::path::Path;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::documents::instances;
use crate::support::git::Repository;
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
    // A session that is not protected is never started in silence.
    sandbox
        .jackin(["launch", "silent", "--", "true"])
        .ok()
        .shows("mode off");
    let here = sandbox.command(["launch", "--", "true"]).inside(&project).run();
    here.code(2).shows("quiet").shows("silent");
    assert_untouched(&before, &Tree::read(sandbox.world()));
    // Where nothing is configured, typing `launch` asks for protection.
    sandbox
        .jackin(["launch", "quiet", "--", "true"])
        .ok()
        .shows("mode project (the default)");
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
        .shows("has no files to restore");
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
        let bytes = fs::read(entry.path()).unwrap();
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
fn a_session_without_files_is_the_latest_of_its_directory() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("here");
    Build::at(&project).file("a", "before\n").dir("below").aged();
    let older = sandbox.launch(&project, "echo agent > a; rm -r below; mkdir below");
    let report = sandbox.scratch("report.json");
    let launch = ["launch", "--snapshot", "metadata", ".", "--report"];
    let words = launch.map(Path::new).into_iter().chain([report.as_path()]);
    let words = words.chain(["--", "true"].map(Path::new));
    sandbox.command(words).inside(&project).run().ok();
    let id = sandbox.newest();
    let left = Tree::read(&project);
    let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["undo"], serde_json::Value::Null, "{report}");

    let below = project.join("below");
    for place in [&project, &below] {
        let run = |words: &[&str]| sandbox.command(words).inside(place).run();
        run(&["show"]).ok().shows(&id).shows("metadata");
        for words in [
            &["restore", "--yes"][..],
            &["restore", "--yes", "@latest"],
            &["restore", "--yes", "nothing-here"],
            &["diff"],
            &["fork"],
        ] {
            let run = run(words).code(5);
            if !words.contains(&"nothing-here") {
                run.shows(&format!("{id} has no files to restore: its mode was metadata"));
            }
        }
        assert_untouched(&left, &Tree::read(&project));
    }
    let inside = |words: &[&str]| sandbox.command(words).inside(&project).run().ok();
    let root = project.to_str().unwrap();
    for words in [&["list", ".", "--json"][..], &["list", "--json"]] {
        let run = inside(words);
        let listed = run.json();
        let listed = listed["instances"].as_array().unwrap();
        let ids: Vec<&str> = listed.iter().filter_map(|one| one["id"].as_str()).collect();
        assert_eq!(ids, [id.as_str(), older.as_str()], "{run}");
        assert_eq!(listed[0]["mounts"][0], root, "{run}");
    }
    // The older one is a word away.
    inside(&["restore", "--yes", "@2"]);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");

    // Elsewhere it is not meant, and a checkpoint is taken of the session that records files.
    let other = sandbox.project("other");
    sandbox.command(["show"]).inside(&other).run().code(5);
    let recorded = Background::launch(&sandbox, &project, "");
    let recorded_id = sandbox.newest();
    let unrecorded = Background::launch_in(&sandbox, "metadata", &project, "");
    inside(&["checkpoint", "--name", "one"]).shows(&recorded_id);
    recorded.end().ok();
    sandbox
        .command(["checkpoint"])
        .inside(&project)
        .run()
        .code(5)
        .shows("metadata");
    unrecorded.end().ok();
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
            .shows("Restore");
    }
    sandbox
        .jackin(["explain", "--snapshot", "everything", target])
        .code(2)
        .shows("everything");
}

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
    assert!(said.contains(".git is dirty (1 path is"), "{said}");

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
        text.contains("cleanup    keep") && text.contains("1 path is not committed"),
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
    assert!(text.contains("its git repositories are unknown"), "{text}");
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
        .shows("3 more repositories were not recorded");
    let receipts = fs::metadata(sandbox.store().join("receipts.log")).unwrap();
    assert!(receipts.len() < 64 << 10, "{}", receipts.len());
}
