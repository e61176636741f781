//! Sessions after an import from an object store: their end and pin, forgotten ones, and facts that only the lost store could compare.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::clock::faketime;
use crate::replicas::{
    PLACE, RECIPIENT, bring_back, brought_back, comes_back, copied, own_key, session, signed,
};
use crate::support::bucket::Bucket;
use crate::support::documents::instances;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_session_that_was_active_when_it_was_copied_gets_its_end_and_keeps_its_pin() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("web");
    fs::write(project.join("a"), "before").unwrap();
    let begun = signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    fs::write(project.join("a"), "after").unwrap();
    signed(&sandbox, &bucket, &["checkpoint", &id]).ok();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let (fresh, _) = brought_back(&bucket, &[]);
    fresh.jackin(["show", &id]).ok().shows("lost");
    signed(&sandbox, &bucket, &["end", &id]).ok();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    bring_back(&fresh, &bucket, &[]);
    let show = fresh.jackin(["show", &id]).ok();
    assert!(!show.text().contains("no closing snapshot"), "{show}");
    show.has("ended");
    // A pin that the operator took back does not come again.
    fresh.jackin(["unpin", &id]).ok();
    bring_back(&fresh, &bucket, &[]);
    fresh.jackin(["forget", &id, "--yes"]).ok();
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_forgotten_session_does_not_come_back_from_what_is_left_there() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let (secret, _) = session(&sandbox, &bucket, "secret");
    let (other, _) = session(&sandbox, &bucket, "other");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    signed(&sandbox, &bucket, &["forget", &secret, "--yes"]).ok();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let identity = own_key(&sandbox);
    let from = ["import", "--from", PLACE, "--identity", &identity, "--dry-run"];
    let planned = signed(&Sandbox::new(), &bucket, &from).ok();
    planned.shows("3 more snapshots were forgotten there, and are not imported");
    let (fresh, told) = brought_back(&bucket, &["--trust"]);
    assert_eq!(told["forgotten"], 3, "{told}");
    let list = fresh.jackin(["list"]).ok();
    assert!(!list.text().contains(&secret), "{list}");
    list.has(&other);
    // What came from another store's objects is still there when it is forgotten here.
    fresh.jackin(["unpin", &other]).ok();
    fresh
        .jackin(["forget", &other, "--yes"])
        .ok()
        .shows("was imported from s3://bucket/machines/one/st-");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_was_copied_for_earlier_recipients_is_said() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    session(&sandbox, &bucket, "web");
    let run = signed(&sandbox, &bucket, &["replicate"]).ok();
    assert!(!run.text().contains("recipients"), "{run}");
    let config = sandbox.home().join(".config/jackin/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let ssh = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBqd2yequ7lgkGFQ1K6M151Dp8SNBUTuIMg3fAgR/ZgH me@host";
    fs::write(&config, text.replace(RECIPIENT, ssh)).unwrap();
    let said = "opens only with the private keys of the earlier ones";
    signed(&sandbox, &bucket, &["replicate"])
        .ok()
        .shows(said)
        .shows("replicate --new-store");
    let run = bucket.signed(sandbox.command(["doctor"])).run();
    run.has(said);
    let run = signed(&sandbox, &bucket, &["replicate", "--new-store"]).ok();
    assert!(!run.text().contains(said), "{run}");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn secrets_that_another_stores_key_knows_are_not_called_changed() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let config = sandbox.home().join(".config/jackin/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replace("\"project\"", "\"project-and-state\"");
    fs::write(
        &config,
        text.replace("[recovery.state]\n", "[recovery.state]\nhome = true\n"),
    )
    .unwrap();
    for (name, text) in [
        (".credentials.json", "{}"),
        ("settings.json", "{\"apiKey\": \"hunter2\"}"),
    ] {
        fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
        fs::write(sandbox.home().join(".claude").join(name), text).unwrap();
    }
    let project = sandbox.project("web");
    fs::write(project.join("a"), "before").unwrap();
    let begun = signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    fs::write(project.join("a"), "after").unwrap();
    signed(&sandbox, &bucket, &["end", &id]).ok();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    fs::remove_dir_all(sandbox.store()).unwrap();
    bring_back(&sandbox, &bucket, &["--trust"]);
    for args in [&["diff", &id][..], &["restore", &id, "--dry-run"]] {
        let run = sandbox.jackin(args);
        assert!(!run.text().contains(": it changed"), "{run}");
        assert!(!run.text().contains("a secret in it changed"), "{run}");
        run.has(" a");
    }
}

/// Each command that looks names a snapshot that is damaged here and incomplete there, until it is repaired.
#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_snapshot_that_is_whole_nowhere_is_told() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    session(&sandbox, &bucket, "web");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let archives = fs::read_dir(sandbox.store().join("archives")).unwrap();
    let archives = archives.map(|entry| entry.unwrap().path());
    let largest = archives
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    let whole = fs::read(&largest).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&largest, damaged).unwrap();
    let id = largest
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .split('.')
        .next()
        .unwrap()
        .to_owned();
    for object in bucket.objects() {
        if object.to_string_lossy().contains(&id) {
            fs::remove_file(object).unwrap();
        }
    }
    signed(&sandbox, &bucket, &["replicate"])
        .code(6)
        .shows("is not copied");
    let doctor = || bucket.signed(sandbox.command(["doctor"])).run();
    doctor().shows("not whole in s3://").hides("is up to date");
    let verify = sandbox.jackin(["verify", "--read-data"]).code(7);
    verify
        .shows("may have what is damaged here")
        .shows("import --from s3://");
    fs::write(&largest, whole).unwrap();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    doctor().hides("not whole in").shows("is up to date");
}

/// Imports a copy as another machine's own store.
fn trusted(fresh: &Sandbox, bucket: &Bucket) -> Run {
    let identity = own_key(fresh);
    let words = [
        "import",
        "--from",
        PLACE,
        "--identity",
        &identity,
        "--trust",
        "--yes",
    ];
    signed(fresh, bucket, &words)
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_session_whose_receipts_come_with_a_later_import_is_this_machines_own() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    session(&sandbox, &bucket, "first");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let early = bucket.objects();
    let (id, _) = session(&sandbox, &bucket, "web");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    // As if a kill had come before the receipts.
    let late = bucket.objects().into_iter().filter(|object| {
        !early.contains(object) && object.components().any(|part| part.as_os_str() == "receipts")
    });
    let kept: Vec<(PathBuf, Vec<u8>)> = late
        .map(|object| {
            (
                bucket.root().join(&object),
                fs::read(bucket.root().join(object)).unwrap(),
            )
        })
        .collect();
    assert!(!kept.is_empty());
    for (path, _) in &kept {
        fs::remove_file(path).unwrap();
    }
    let fresh = Sandbox::new();
    trusted(&fresh, &bucket).code_in(&[0, 6]);
    fresh.jackin(["restore", &id, "--dry-run"]).code(5);
    for (path, bytes) in &kept {
        fs::write(path, bytes).unwrap();
    }
    trusted(&fresh, &bucket).ok();
    for rebuilt in [false, true] {
        if rebuilt {
            fresh.jackin(["rebuild"]).ok();
        }
        fresh.jackin(["restore", &id, "--dry-run"]).code_in(&[0, 6]);
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_came_without_trust_stays_another_machines_and_that_is_said() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let (id, _) = session(&sandbox, &bucket, "web");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let (fresh, _) = brought_back(&bucket, &[]);
    trusted(&fresh, &bucket)
        .ok()
        .has("1 session was imported before without --trust");
    fresh.jackin(["restore", &id, "--dry-run"]).code(5);
}

/// Begins a session in a directory, and returns its id.
fn begun(sandbox: &Sandbox, bucket: &Bucket, project: &Path) -> String {
    let words = ["begin", "--snapshot", "project", project.to_str().unwrap()];
    let begun = signed(sandbox, bucket, &words).ok();
    String::from_utf8(begun.stdout).unwrap().trim().to_owned()
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn sessions_that_lived_together_did_so_after_a_trusted_import() {
    // The clock may be set back while they live.
    for is_set_back in [false, true] {
        let bucket = Bucket::start();
        let sandbox = copied("");
        let project = sandbox.project("web");
        fs::write(project.join("a"), "a").unwrap();
        let one = match is_set_back.then(faketime).flatten() {
            Some(library) => {
                let command = sandbox.command(["begin", "--snapshot", "project", project.to_str().unwrap()]);
                let command = command.with("LD_PRELOAD", library).with("FAKETIME", "+2h");
                let begun = command.with("NO_FAKE_STAT", "1").run().ok();
                String::from_utf8(begun.stdout).unwrap().trim().to_owned()
            }
            None => begun(&sandbox, &bucket, &project),
        };
        let two = begun(&sandbox, &bucket, &project);
        fs::write(project.join("of one"), "1").unwrap();
        fs::write(project.join("of two"), "2").unwrap();
        for id in [&two, &one] {
            signed(&sandbox, &bucket, &["end", id]).ok();
        }
        signed(&sandbox, &bucket, &["replicate"]).ok();
        let fresh = Sandbox::new();
        trusted(&fresh, &bucket).ok();
        for (id, other) in [(&one, &two), (&two, &one)] {
            let told = format!("may also have been changed by {other}");
            sandbox.jackin(["restore", id, "--dry-run"]).code(6).has(&told);
            fresh.jackin(["restore", id, "--dry-run"]).code(6).has(&told);
        }
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_session_whose_closing_is_lost_is_over_after_a_trusted_import() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("web");
    let mut ids = Vec::new();
    for number in ["1", "2"] {
        let id = begun(&sandbox, &bucket, &project);
        fs::write(project.join("a"), number).unwrap();
        signed(&sandbox, &bucket, &["end", &id]).ok();
        ids.push(id);
    }
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let first = all.iter().find(|session| session.id == ids[0]).unwrap();
    let closing = first.snapshot("closing").id.clone();
    let is_it = |object: &&PathBuf| object.to_string_lossy().contains(&closing);
    for object in bucket.objects().iter().filter(is_it) {
        fs::remove_file(bucket.root().join(object)).unwrap();
    }
    let fresh = Sandbox::new();
    trusted(&fresh, &bucket).code_in(&[0, 6]);
    fresh
        .jackin(["restore", &ids[1], "--dry-run"])
        .ok()
        .has("replace   a");
    let new = fresh.launch(&project, "echo 3 > b");
    for rebuilt in [false, true] {
        if rebuilt {
            fresh.jackin(["rebuild"]).ok();
        }
        fresh
            .jackin(["restore", &new, "--dry-run"])
            .ok()
            .has("delete    b");
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_a_later_import_brings_was_made_while_others_lived() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("web");
    fs::write(project.join("a"), "a").unwrap();
    let one = begun(&sandbox, &bucket, &project);
    signed(&sandbox, &bucket, &["checkpoint", &one]).ok();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let fresh = Sandbox::new();
    trusted(&fresh, &bucket).ok();
    let two = begun(&sandbox, &bucket, &project);
    fs::write(project.join("of one"), "1").unwrap();
    fs::write(project.join("of two"), "2").unwrap();
    for id in [&two, &one] {
        signed(&sandbox, &bucket, &["end", id]).ok();
    }
    signed(&sandbox, &bucket, &["replicate"]).ok();
    // The baseline of the second one comes last.
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let second = all.iter().find(|session| session.id == two).unwrap();
    let baseline = second.snapshot("baseline").id.clone();
    let is_it = |object: &&PathBuf| object.to_string_lossy().contains(&baseline);
    let objects = bucket.objects();
    let lost = bucket.root().join(objects.iter().find(is_it).unwrap());
    let bytes = fs::read(&lost).unwrap();
    fs::remove_file(&lost).unwrap();
    trusted(&fresh, &bucket).code_in(&[0, 6]);
    fs::write(&lost, bytes).unwrap();
    trusted(&fresh, &bucket).ok();
    for (id, other) in [(&one, &two), (&two, &one)] {
        let told = format!("may also have been changed by {other}");
        fresh.jackin(["restore", id, "--dry-run"]).code(6).has(&told);
    }
    let receipts = |fresh: &Sandbox| {
        let log = fresh.jackin(["log", "--any", "--json"]).ok().json();
        log["receipts"].as_array().unwrap().len()
    };
    let before = receipts(&fresh);
    trusted(&fresh, &bucket).ok();
    assert_eq!(receipts(&fresh), before, "an import of nothing leaves receipts");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn sessions_keep_their_order_after_a_trusted_import() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("web");
    fs::write(project.join("a"), "0").unwrap();
    let first = sandbox.launch(&project, "echo 1 > a");
    sandbox.launch(&project, "echo 2 > a");
    sandbox
        .jackin(["restore", &first, "--overwrite-later-edits", "--yes"])
        .ok();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let early = bucket.objects();
    let last = sandbox.launch(&project, "echo 3 > b");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let is_late = |object: &PathBuf| {
        !early.contains(object) && object.components().any(|part| part.as_os_str() == "receipts")
    };
    let late: Vec<PathBuf> = bucket.objects().into_iter().filter(is_late).collect();
    let paths = late.iter().map(|object| bucket.root().join(object));
    let kept: Vec<(PathBuf, Vec<u8>)> = paths
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    for (path, _) in &kept {
        fs::remove_file(path).unwrap();
    }
    let fresh = Sandbox::new();
    // As if a kill had come before the receipts of the last session.
    trusted(&fresh, &bucket).code_in(&[0, 6]);
    for (path, bytes) in &kept {
        fs::write(path, bytes).unwrap();
    }
    trusted(&fresh, &bucket).ok();
    for here in [&sandbox, &fresh] {
        let diff = here.command(["diff"]).inside(&project).run();
        diff.has(&last).has("A b");
        assert!(!diff.text().contains("ended later"), "{diff}");
        let restore = here.command(["restore", "--dry-run"]).inside(&project).run().ok();
        restore.has(&last).has("delete    b");
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_a_forget_wrote_comes_with_copies_in_the_background() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("shop");
    fs::write(project.join("kept"), "kept\n").unwrap();
    fs::write(project.join("secret"), "sk-live-of-the-shop\n").unwrap();
    let pass = || {
        let begun = signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
        let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
        signed(&sandbox, &bucket, &["end", &id]).ok();
        id
    };
    let (id, _) = (pass(), pass());
    // Both sessions have the same manifests: the archive of the forget is named by no record.
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let words = ["forget", &id, "--path", "secret", "--yes"];
    sandbox.command(words).inside(&project).run().ok();
    let waiting = || sandbox.jackin(["replicate", "--dry-run", "--json"]).ok().json()["waiting"].clone();
    assert_eq!(waiting()["snapshots"], 2);
    fs::write(project.join("new"), "new\n").unwrap();
    pass();
    let begun = Instant::now();
    while waiting()["receipts"] != 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", waiting());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(waiting()["snapshots"], 0);
    let (fresh, told) = brought_back(&bucket, &["--trust"]);
    assert_eq!(told["snapshots"].as_array().unwrap().len(), 6, "{told}");
    fresh.jackin(["verify", "--read-data"]).ok().shows("all valid");
    let mut tree = Tree::read(&project);
    for gone in ["secret", "new"] {
        tree = tree.without(gone);
    }
    comes_back(&fresh, &id, "baseline", &tree);
}

/// Archives that an import received before it was killed wait for the next one, or for `prune`, and are named.
#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_a_killed_import_left_is_named_and_pruned() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    session(&sandbox, &bucket, "web");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let fresh = Sandbox::new();
    let identity = own_key(&fresh);
    let import = ["import", "--from", PLACE, "--identity", &identity, "--yes"];
    let killed = || {
        let command = bucket.signed(fresh.command(import));
        command.with("JACKIN_RECOVERY_FAIL_AT", "adopt-fetched").run();
        assert!(fresh.store().join("incoming").is_dir());
    };
    killed();
    let left = "an import that did not end left ";
    fresh.jackin(["doctor"]).has(left);
    let planned = fresh.jackin(["prune", "--dry-run", "--json"]).ok().json();
    let bytes = planned["freed"].as_u64().unwrap();
    assert!(bytes > 0, "{planned}");
    let pruned = fresh.jackin(["prune", "--yes", "--json"]).ok().json();
    assert_eq!(pruned["freed"], bytes, "{pruned}");
    assert!(!fresh.store().join("incoming").exists());
    let doctor = fresh.jackin(["doctor"]);
    assert!(!doctor.text().contains(left), "{doctor}");
    killed();
    bring_back(&fresh, &bucket, &[]);
    assert!(!fresh.store().join("incoming").exists());
}
