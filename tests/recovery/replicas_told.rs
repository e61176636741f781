//! What is said when the store cannot be copied, or a copy is not what it was; and what becomes of what is given up.

use std::fs;

use crate::replicas::{OTHER, PLACE, brought_back, comes_back, copied, key, own_key, session, signed};
use crate::support::bucket::{Bucket, Door, SECRET, USER};
use crate::support::machine::tool;
use crate::support::sandbox::Sandbox;

/// What is said when it cannot be done, and that nothing is lost by it.
#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_cannot_be_copied_is_told_and_stops_nothing() {
    let Some(mut bucket) = Bucket::start() else { return };
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
        .shows("no such bucket");
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
    let Some(bucket) = Bucket::start() else { return };
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
    let told: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
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
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(waits, Some(0));
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn credentials_come_from_a_profile_too() {
    let Some(bucket) = Bucket::start() else { return };
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
    let Some(bucket) = Bucket::start() else { return };
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
        .shows("holds no store");
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
    let Some(bucket) = Bucket::start() else { return };
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
fn a_clock_that_is_wrong_is_told_or_does_no_harm() {
    let Some(bucket) = Bucket::start() else { return };
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
