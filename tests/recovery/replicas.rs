//! The store goes to a real object store, encrypted, and comes back on another machine; what is said when it cannot, and what kills leave.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::support::bucket::{Bucket, Door, SECRET, USER};
use crate::support::compare::{Exactness, differences};
use crate::support::kill::Dice;
use crate::support::machine::{is_nightly, tool};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::search::holds;
use crate::support::tree::Tree;

/// A key pair of age, made for these tests, and the private key of another.
pub(crate) const RECIPIENT: &str = "age1pv3t7xy42wx35l0gvyn29t475hgukr2cut2e9dtmcwe5ggrk7s2sjs9uq3";
const IDENTITY: &str = "AGE-SECRET-KEY-174T4CAM2X72K9H0JMEQL6WMZ8NUTHTSRGMHC0WXY4SH57LUH6EJQGSL99U\n";
pub(crate) const OTHER: &str = "AGE-SECRET-KEY-1NWWM0EL4X9NNZYMX6QE5X9YPE6S9CWCQCCAFA3NT560J07X4HS6QYPUN8K\n";
pub(crate) const PLACE: &str = "s3://bucket/machines/one";

/// A machine whose store is copied.
pub(crate) fn copied(more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "config.toml",
        &format!(
            "[recovery]\nsnapshot = \"project\"\n[recovery.state]\nrecipients = [\"{RECIPIENT}\"]\n[recovery.store]\nreplicate = \"{PLACE}\"\n{more}"
        ),
    );
    sandbox
}

/// The private key in a file.
pub(crate) fn key(sandbox: &Sandbox, content: &str) -> String {
    let path = sandbox.scratch("identity");
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(crate) fn own_key(sandbox: &Sandbox) -> String {
    key(sandbox, IDENTITY)
}

pub(crate) fn signed(sandbox: &Sandbox, bucket: &Bucket, args: &[&str]) -> Run {
    bucket.signed(sandbox.command(args)).run()
}

/// A session with a baseline, a checkpoint and a closing snapshot; what the tree was at each.
pub(crate) fn session(sandbox: &Sandbox, bucket: &Bucket, name: &str) -> (String, Vec<(String, Tree)>) {
    let project = sandbox.project(name);
    fs::write(
        project.join("canary-file-one"),
        format!("canary-content of {name}\n").repeat(40),
    )
    .unwrap();
    fs::create_dir_all(project.join("canary-directory/deep")).unwrap();
    fs::write(project.join("canary-directory/deep/two"), "canary-content\n").unwrap();
    std::os::unix::fs::symlink("canary-target", project.join("canary-link")).unwrap();
    let begun = signed(sandbox, bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    let mut moments = vec![("baseline".to_owned(), Tree::read(&project))];
    fs::write(project.join("canary-file-one"), "canary-content, changed\n").unwrap();
    signed(
        sandbox,
        bucket,
        &[
            "checkpoint",
            &id,
            "--name",
            "canary-step",
            "--message",
            "canary-message",
        ],
    )
    .ok();
    moments.push(("canary-step".to_owned(), Tree::read(&project)));
    fs::remove_dir_all(project.join("canary-directory")).unwrap();
    signed(sandbox, bucket, &["end", &id]).ok();
    moments.push(("closing".to_owned(), Tree::read(&project)));
    (id, moments)
}

/// Brings everything back into a home where nothing is.
pub(crate) fn brought_back(bucket: &Bucket, more: &[&str]) -> (Sandbox, Value) {
    let fresh = Sandbox::new();
    let told = bring_back(&fresh, bucket, more);
    (fresh, told)
}

pub(crate) fn bring_back(sandbox: &Sandbox, bucket: &Bucket, more: &[&str]) -> Value {
    let identity = own_key(sandbox);
    let mut args = vec![
        "import",
        "--from",
        PLACE,
        "--identity",
        &identity,
        "--yes",
        "--json",
    ];
    args.extend(more);
    signed(sandbox, bucket, &args).ok().json()
}

/// A snapshot, written out on a machine, is what it was.
#[track_caller]
pub(crate) fn comes_back(sandbox: &Sandbox, id: &str, snapshot: &str, expected: &Tree) {
    let to = sandbox.scratch(&format!("to-{id}-{snapshot}"));
    sandbox
        .jackin([
            "restore",
            id,
            "--from",
            snapshot,
            "--to",
            to.to_str().unwrap(),
            "--yes",
        ])
        .ok();
    let tree = Tree::read(&to);
    let mut found = differences(expected, &tree, Exactness::Content);
    // The directory itself is 0700, whatever the mount was.
    found.retain(|line| !line.starts_with("\"\": mode"));
    assert!(found.is_empty(), "{id} {snapshot}: {found:#?}");
    for (path, node) in expected.nodes.iter().filter(|(path, _)| !path.is_empty()) {
        let shown = path.escape_ascii();
        assert_eq!(
            tree.nodes[path].times.modified, node.times.modified,
            "{id} {snapshot}: {shown}"
        );
    }
    fs::remove_dir_all(&to).unwrap();
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_store_comes_back_on_another_machine() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let (id, moments) = session(&sandbox, &bucket, "canary-workspace");
    // `end` copies too, but not while a process that the checkpoint left behind does.
    let run = signed(&sandbox, &bucket, &["replicate", "--json"]).ok();
    assert_eq!(run.json()["waiting"]["snapshots"], 0, "{run}");
    let run = signed(&sandbox, &bucket, &["replicate", "--json"]).ok();
    assert_eq!(run.json()["outcome"], "nothing", "{run}");
    let (fresh, told) = brought_back(&bucket, &[]);
    assert_eq!(told["outcome"], "imported", "{told}");
    assert_eq!(told["snapshots"].as_array().unwrap().len(), 3, "{told}");
    let head = String::from_utf8(sandbox.jackin(["log", "--anchor"]).ok().stdout).unwrap();
    assert_eq!(told["anchor"], head.trim());
    for (snapshot, tree) in &moments {
        comes_back(&fresh, &id, snapshot, tree);
    }
    let list = fresh.jackin(["list", "--json"]).ok().json();
    let here = sandbox.jackin(["list", "--json"]).ok().json();
    for field in ["id", "started_at", "ended_at"] {
        assert_eq!(
            list["instances"][0][field], here["instances"][0][field],
            "{field}"
        );
    }
    for at in 0..3 {
        for field in ["id", "kind", "name", "taken_at", "entries", "bytes"] {
            assert_eq!(
                list["instances"][0]["snapshots"][at][field], here["instances"][0]["snapshots"][at][field],
                "{field}"
            );
        }
    }
    for args in [
        vec!["show", &id],
        vec!["diff", &id, "--from", "canary-step", "--to", "closing"],
        vec!["verify", "--read-data"],
        vec!["log", "--verify"],
        vec!["rebuild"],
        vec!["fork", &id],
        vec!["list"],
    ] {
        fresh.jackin(args).ok();
    }
    // It was imported: its paths are another machine's.
    fresh
        .jackin(["restore", &id, "--yes"])
        .code(5)
        .shows("another machine");
    // Again: nothing is new.
    let again = bring_back(&fresh, &bucket, &[]);
    assert_eq!(again["there"], 3, "{again}");
    assert!(again["snapshots"].as_array().unwrap().is_empty(), "{again}");
    assert!(!fresh.store().join("incoming").exists());
    fresh.jackin(["doctor"]).ok();
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_trusted_copy_is_this_machines_own() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let (id, moments) = session(&sandbox, &bucket, "web");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let project = sandbox.project("web");
    let (fresh, _) = brought_back(&bucket, &["--trust"]);
    fs::remove_dir_all(&project).unwrap();
    fresh.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
    fresh
        .jackin(["restore", &id, "--yes", "--overwrite-later-edits"])
        .code_in(&[0, 6]);
    let now = Tree::read(&project);
    let found = differences(&moments[0].1, &now, Exactness::Content);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn rights_are_dropped_without_trust() {
    use std::os::unix::fs::PermissionsExt as _;
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("web");
    fs::write(project.join("tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(project.join("tool"), fs::Permissions::from_mode(0o4755)).unwrap();
    let begun = signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    signed(&sandbox, &bucket, &["end", &id]).ok();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    for (more, dropped, mode) in [(vec![], 2, 0o755), (vec!["--trust"], 0, 0o4755)] {
        let (fresh, told) = brought_back(&bucket, &more);
        assert_eq!(told["dropped"], dropped, "{told}");
        let to = fresh.scratch("to");
        fresh
            .jackin(["restore", &id, "--to", to.to_str().unwrap(), "--yes"])
            .ok();
        let found = fs::metadata(to.join("tool")).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, mode, "{more:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn nothing_in_the_bucket_can_be_read() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let (id, _) = session(&sandbox, &bucket, "canary-workspace");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let label = id.splitn(3, '-').nth(2).unwrap();
    let home = sandbox.home();
    let canaries: Vec<Vec<u8>> = [
        "canary-",
        label,
        home.to_str().unwrap(),
        "baseline",
        "checkpoint",
        SECRET,
        USER,
    ]
    .iter()
    .map(|canary| canary.as_bytes().to_vec())
    .collect();
    let mut count = 0;
    for entry in walkdir::WalkDir::new(bucket.root()).min_depth(1) {
        let entry = entry.unwrap();
        let name = entry.file_name().as_encoded_bytes().to_vec();
        let content = match entry.file_type().is_file() && entry.file_name() != "server-log" {
            true => fs::read(entry.path()).unwrap(),
            false => Vec::new(),
        };
        count += 1;
        for canary in &canaries {
            let is_there = holds(&name, canary) || holds(&content, canary);
            assert!(!is_there, "{}", entry.path().display());
        }
    }
    assert!(count > 8, "{count}");
    // What stays here of it tells no secret either.
    for entry in walkdir::WalkDir::new(sandbox.store()) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let content = fs::read(entry.path()).unwrap();
            let text = String::from_utf8_lossy(&content);
            assert!(
                !text.contains(SECRET) && !text.contains(USER),
                "{}",
                entry.path().display()
            );
        }
    }
}

/// What is said when it cannot be done, and that nothing is lost by it.
#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_cannot_be_copied_is_told_and_stops_nothing() {
    let mut bucket = Bucket::start();
    let sandbox = copied("");
    let waits = |sandbox: &Sandbox| {
        sandbox.jackin(["replicate", "--dry-run", "--json"]).ok().json()["waiting"]["snapshots"].clone()
    };
    bucket.door(Door::Shut);
    let (id, moments) = session(&sandbox, &bucket, "web");
    assert_eq!(waits(&sandbox), 3);
    let run = signed(&sandbox, &bucket, &["replicate"]).code(1);
    run.shows("cannot be reached").shows("nothing is lost");
    bucket.door(Door::Busy);
    signed(&sandbox, &bucket, &["replicate"])
        .code(1)
        .shows("cannot serve now");
    bucket.door(Door::Open);
    let with =
        |args: &[&str], key: &str, value: &str| bucket.signed(sandbox.command(args)).with(key, value).run();
    let refused = with(&["replicate", "--json"], "AWS_SECRET_ACCESS_KEY", "another");
    assert_eq!(refused.code_in(&[1]).error()["kind"], "object-store");
    let none = with(&["replicate"], "AWS_ACCESS_KEY_ID", "").code(1);
    none.shows("credentials");
    for run in [
        with(&["replicate"], "AWS_SECRET_ACCESS_KEY", "another"),
        with(&["replicate"], "AWS_ACCESS_KEY_ID", "nobody"),
    ] {
        run.code(1).shows("credentials");
    }
    fs::rename(bucket.root().join("bucket"), bucket.root().join("other")).unwrap();
    signed(&sandbox, &bucket, &["replicate"])
        .code(1)
        .shows("bucket not found");
    fs::rename(bucket.root().join("other"), bucket.root().join("bucket")).unwrap();
    bucket.kill();
    signed(&sandbox, &bucket, &["replicate"])
        .code(1)
        .shows("nothing is lost");
    bucket.revive();
    assert_eq!(waits(&sandbox), 3);
    signed(&sandbox, &bucket, &["replicate"]).ok();
    assert_eq!(waits(&sandbox), 0);
    let (fresh, _) = brought_back(&bucket, &[]);
    for (snapshot, tree) in &moments {
        comes_back(&fresh, &id, snapshot, tree);
    }
}

/// What copies beside a session is nobody's work in it, and is not waited for longer than a while.
#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_service_that_says_nothing_holds_no_session_up() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("web");
    fs::write(project.join("a"), "a").unwrap();
    bucket.door(Door::Silent);
    let target = project.to_str().unwrap();
    let report = sandbox.scratch("report");
    let words = [
        "launch",
        target,
        "--report",
        report.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "echo b >b",
    ];
    let run = bucket.signed(sandbox.command(words)).run().ok();
    run.shows("another process is still copying");
    let told: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(told["survivors"].as_array().unwrap().len(), 0, "{told}");
    let all = sandbox.jackin(["list", "--json"]).ok().json();
    assert_eq!(all["instances"][0]["status"], "ended", "{all}");
    bucket.door(Door::Open);
    // Whoever is at it goes on, and what waits is copied.
    let mut waits = None;
    for _ in 0..600 {
        let run = sandbox.jackin(["replicate", "--dry-run", "--json"]).ok();
        waits = run.json()["waiting"]["snapshots"].as_u64();
        if waits == Some(0) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(waits, Some(0));
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn credentials_come_from_a_profile_too() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    fs::create_dir_all(sandbox.home().join(".aws")).unwrap();
    let written = |name: &str, text: String| fs::write(sandbox.home().join(".aws").join(name), text).unwrap();
    written(
        "config",
        format!(
            "[profile backup]\nregion = eu-central-1\nendpoint_url = {}\n",
            bucket.endpoint()
        ),
    );
    written(
        "credentials",
        format!("[backup]\naws_access_key_id = {USER}\naws_secret_access_key = {SECRET}\n"),
    );
    let project = sandbox.project("web");
    fs::write(project.join("a"), "a").unwrap();
    sandbox.launch(&project, "echo b > b");
    let run = sandbox
        .command(["replicate", "--json"])
        .with("AWS_PROFILE", "backup")
        .with("AWS_EC2_METADATA_DISABLED", "true")
        .run()
        .ok();
    assert_eq!(run.json()["snapshots"].as_array().unwrap().len(), 2, "{run}");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn without_recipients_it_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "config.toml",
        &format!("[recovery]\nsnapshot = \"project\"\n[recovery.store]\nreplicate = \"{PLACE}\"\n"),
    );
    let project = sandbox.project("web");
    for args in [vec!["replicate"], vec!["begin", project.to_str().unwrap()]] {
        sandbox
            .jackin(args)
            .code(2)
            .shows("recipients")
            .shows("config.toml");
    }
    assert!(!sandbox.store().exists());
    sandbox.configure("config.toml", "[recovery]\nsnapshot = \"project\"\n");
    sandbox.jackin(["replicate"]).code(2).shows("replicate =");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_copy_that_was_tampered_with_is_told() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let (id, moments) = session(&sandbox, &bucket, "web");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let other = Sandbox::new();
    let (wrong, right) = (key(&other, OTHER), own_key(&sandbox));
    let import = |identity: &str, more: &[&str]| {
        let fresh = Sandbox::new();
        let mut args = vec!["import", "--from", PLACE, "--identity", identity, "--yes"];
        args.extend(more);
        let run = signed(&fresh, &bucket, &args);
        (fresh, run)
    };
    import(&wrong, &[])
        .1
        .code(2)
        .shows("none of the given private keys");
    import(&right, &["--store", "st-000000000000"])
        .1
        .code(5)
        .shows("has no ");
    let anchor = String::from_utf8(sandbox.jackin(["log", "--anchor"]).ok().stdout).unwrap();
    import(&right, &["--anchor", anchor.trim()]).1.ok();
    let forged = anchor.trim().replace(['a', '1'], "2");
    import(&right, &["--anchor", &forged]).1.code(7).shows("anchor");
    // A part of the closing snapshot is gone; the others come.
    let records = sandbox.jackin(["list", "--json"]).ok().json();
    let closing = records["instances"][0]["snapshots"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let lost = bucket
        .objects()
        .into_iter()
        .find(|path| path.to_string_lossy().contains(&format!("snapshots/{closing}")));
    let lost = lost.unwrap();
    let bytes = fs::read(&lost).unwrap();
    fs::remove_file(&lost).unwrap();
    let (fresh, run) = import(&right, &[]);
    run.code(6).shows(&closing);
    for (snapshot, tree) in moments.iter().take(2) {
        comes_back(&fresh, &id, snapshot, tree);
    }
    fs::write(&lost, &bytes[..bytes.len() / 2]).unwrap();
    import(&right, &[]).1.code(6).shows(&closing);
    fs::write(&lost, &bytes).unwrap();
    import(&right, &[]).1.ok();
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_is_given_up_here_stays_there_unless_it_is_asked_for() {
    let bucket = Bucket::start();
    for (more, stays) in [("", true), ("prune_replica = true\n", false)] {
        let sandbox = copied(&format!("{more}[recovery.retention]\ninstances = 1\n"));
        let (first, _) = session(&sandbox, &bucket, "web");
        let snapshots = sandbox.jackin(["list", "--json"]).ok().json();
        let gone: Vec<String> = snapshots["instances"][0]["snapshots"]
            .as_array()
            .unwrap()
            .iter()
            .map(|snapshot| snapshot["id"].as_str().unwrap().to_owned())
            .collect();
        session(&sandbox, &bucket, "web-two");
        fs::remove_dir_all(sandbox.project("web")).unwrap();
        let (_, _) = session(&sandbox, &bucket, "web");
        signed(&sandbox, &bucket, &["prune", "--yes"]).ok();
        signed(&sandbox, &bucket, &["replicate"]).ok();
        let list = sandbox.jackin(["list", "--json"]).ok();
        let listed = String::from_utf8_lossy(&list.stdout).into_owned();
        assert!(listed.contains(&first), "{list}");
        for id in gone {
            assert!(!listed.contains(&id), "{list}");
            let there = bucket
                .objects()
                .iter()
                .any(|path| path.to_string_lossy().contains(&id));
            assert_eq!(there, stays, "{id}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_password_in_the_address_of_the_service_is_not_shown() {
    let sandbox = copied("");
    let project = sandbox.project("web");
    sandbox.launch(&project, "echo b > b");
    for address in [
        "http://user:hunter2@127.0.0.1:1/ x",
        "http://127.0.0.1:1?sig=hunter2",
        "ftp://user:hunter2@127.0.0.1:1",
    ] {
        let run = sandbox
            .command(["replicate"])
            .with("AWS_ENDPOINT_URL", address)
            .with("AWS_ACCESS_KEY_ID", "a")
            .with("AWS_SECRET_ACCESS_KEY", "b")
            .with("AWS_EC2_METADATA_DISABLED", "true")
            .run();
        run.code(1).hides("hunter2");
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_clock_that_is_wrong_is_told_or_does_no_harm() {
    let bucket = Bucket::start();
    if tool("faketime").is_none() {
        return;
    }
    let sandbox = copied("");
    session(&sandbox, &bucket, "web");
    let run = bucket
        .signed(sandbox.command(["replicate"]))
        .through(&["faketime", "2 days ago"])
        .run();
    // Services differ in whether they mind.
    if run.exit() != Some(0) {
        run.code(1).shows("clock");
    }
}

/// Snapshots of a session, its baseline and its closing one among them.
const MOMENTS: u64 = 20;
/// Sessions of the test: ten at night.
fn sessions() -> u64 {
    if is_nightly() { 10 } else { 1 }
}

/// One snapshot and what the tree was then.
struct Moment {
    session: String,
    snapshot: String,
    tree: Tree,
}

/// Changes a project a little.
fn work(project: &Path, dice: &mut Dice, step: u64) {
    let file = |number: u64| project.join(format!("directory-{}/file-{number}", number % 7));
    for _ in 0..3 {
        let path = file(dice.below(40));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lines = usize::try_from(dice.below(400)).unwrap();
        fs::write(&path, format!("{step} {}\n", dice.below(1 << 40)).repeat(lines)).unwrap();
    }
    let gone = file(dice.below(40));
    if gone.is_file() {
        fs::remove_file(gone).unwrap();
    }
}

/// Something happens to the server, or to what copies.
fn trouble(sandbox: &Sandbox, bucket: &mut Bucket, dice: &mut Dice, kills: &mut u64) {
    match dice.below(10) {
        0 => bucket.door(Door::Shut),
        1 => bucket.door(Door::Busy),
        2 => bucket.door(Door::Deaf),
        3 => bucket.door(Door::Torn),
        4 => bucket.kill(),
        5 => bucket.revive(),
        6 | 7 => {
            bucket.door(Door::Open);
            let copying = bucket.signed(sandbox.command(["replicate"])).apart().start();
            std::thread::sleep(Duration::from_millis(dice.below(250)));
            let group = Pid::from_raw(copying.child.id().cast_signed()).unwrap();
            let _ = kill_process_group(group, Signal::KILL);
            copying.finish();
            *kills += 1;
        }
        _ => bucket.door(Door::Open),
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn snapshots_survive_kills_and_refusals() {
    let mut bucket = Bucket::start();
    let sandbox = copied("[recovery.retention]\ninstances = 0\ncheckpoints = 0\n");
    let mut dice = Dice::new(0x5eed);
    let (mut moments, mut kills, mut troubles) = (Vec::new(), 0, 0);
    for session in 0..sessions() {
        let project = sandbox.project(&format!("project-{}", session % 3));
        work(&project, &mut dice, 0);
        let begun = signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
        let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
        let mut note = |snapshot: &str| {
            moments.push(Moment {
                session: id.clone(),
                snapshot: snapshot.to_owned(),
                tree: Tree::read(&project),
            });
        };
        note("baseline");
        for step in 1..MOMENTS - 1 {
            work(&project, &mut dice, step);
            if dice.below(3) == 0 {
                trouble(&sandbox, &mut bucket, &mut dice, &mut kills);
                troubles += 1;
            }
            let name = format!("step-{step}");
            // Whatever the server does, a snapshot is taken.
            signed(&sandbox, &bucket, &["checkpoint", &id, "--name", &name]).ok();
            note(&name);
        }
        work(&project, &mut dice, MOMENTS);
        signed(&sandbox, &bucket, &["end", &id]).ok();
        note("closing");
    }
    assert_eq!(moments.len() as u64, sessions() * MOMENTS);
    let enough = kills * 2 >= sessions() && troubles >= sessions() * 4;
    assert!(enough, "{kills} kills, {troubles} troubles");
    bucket.door(Door::Open);
    bucket.revive();
    let done = signed(&sandbox, &bucket, &["replicate", "--json"]).ok().json();
    assert_eq!(done["waiting"]["snapshots"], 0, "{done}");
    assert_eq!(done["waiting"]["receipts"], 0, "{done}");
    // Brought back under kills, too.
    let fresh = Sandbox::new();
    let identity = own_key(&fresh);
    let args = ["import", "--from", PLACE, "--identity", &identity, "--yes"];
    for _ in 0..6 {
        let importing = bucket.signed(fresh.command(args)).apart().start();
        std::thread::sleep(Duration::from_millis(100 + dice.below(1500)));
        let group = Pid::from_raw(importing.child.id().cast_signed()).unwrap();
        let _ = kill_process_group(group, Signal::KILL);
        importing.finish();
    }
    signed(&fresh, &bucket, &args).ok();
    for moment in &moments {
        comes_back(&fresh, &moment.session, &moment.snapshot, &moment.tree);
    }
    for args in [
        vec!["verify", "--read-data"],
        vec!["log", "--verify"],
        vec!["rebuild"],
    ] {
        fresh.jackin(args).ok();
    }
    // And in one go.
    let (other, told) = brought_back(&bucket, &[]);
    assert_eq!(told["snapshots"].as_array().unwrap().len(), moments.len());
    let size = |sandbox: &Sandbox| -> u64 {
        let archives = fs::read_dir(sandbox.store().join("archives")).unwrap();
        archives
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum()
    };
    // What several snapshots share is stored once.
    assert!(
        size(&other) < 3 * size(&sandbox),
        "{} {}",
        size(&other),
        size(&sandbox)
    );
    eprintln!(
        "{kills} kills, {troubles} troubles; archives {} here, {} there",
        size(&sandbox),
        size(&other)
    );
}
