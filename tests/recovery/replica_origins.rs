//! Stores of several origins: an import adds nothing to sessions of another one, `forget` reaches earlier copies, and cut objects are
//! noticed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::replicas::{PLACE, copied, own_key, session, signed};
use crate::support::bucket::Bucket;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// Imports a store of the bucket.
fn imported(sandbox: &Sandbox, bucket: &Bucket, store: &str, more: &[&str]) -> Run {
    let identity = own_key(sandbox);
    let mut words = vec![
        "import",
        "--from",
        PLACE,
        "--identity",
        &identity,
        "--store",
        store,
    ];
    words.extend(["--yes", "--json"]);
    words.extend(more);
    signed(sandbox, bucket, &words)
}

/// The stores in the bucket.
fn stores(bucket: &Bucket) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for object in bucket.objects() {
        let parts = object
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned());
        found.extend(parts.filter(|part| part.starts_with("st-")));
    }
    found.sort();
    found.dedup();
    found
}

fn snapshots(sandbox: &Sandbox, id: &str) -> usize {
    let show = sandbox.jackin(["show", id, "--json"]).ok().json();
    show["instance"]["snapshots"].as_array().unwrap().len()
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let status = std::process::Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status();
    assert!(status.unwrap().success());
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_copy_adds_nothing_to_a_session_of_another_store() {
    let bucket = Bucket::start();
    let here = copied("");
    let project = here.project("web");
    for name in ["f", "g"] {
        fs::write(project.join(name), "before\n").unwrap();
    }
    let begun = signed(&here, &bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    fs::write(project.join("f"), "agent\n").unwrap();
    signed(&here, &bucket, &["replicate"]).ok();
    let own = stores(&bucket);
    // Another machine goes on with a copy of the store.
    let clone = copied("");
    copy_tree(&here.store(), &clone.store());
    signed(&here, &bucket, &["end", &id]).ok();
    fs::write(project.join("g"), "later work\n").unwrap();
    signed(&clone, &bucket, &["end", &id]);
    let (other, _) = session(&clone, &bucket, "other");
    signed(&clone, &bucket, &["replicate", "--new-store"]).ok();
    signed(&here, &bucket, &["replicate"]).ok();
    let all = stores(&bucket);
    let cloned = all.iter().find(|store| !own.contains(store)).unwrap();

    let before = snapshots(&here, &id);
    let plan = || here.jackin(["restore", &id, "--dry-run", "--json"]).json()["plan"].clone();
    let planned = plan();
    for more in [&[][..], &["--trust"]] {
        let run = imported(&here, &bucket, cloned, more).code(6);
        run.shows("was not imported")
            .shows(&id)
            .shows("began in this store");
        assert_eq!(snapshots(&here, &id), before);
    }
    assert_eq!(plan(), planned);
    // The rest came.
    here.jackin(["show", &other]).ok();

    let third = Sandbox::new();
    imported(&third, &bucket, &own[0], &[]).ok();
    let before = snapshots(&third, &id);
    let run = imported(&third, &bucket, cloned, &[]).code(6);
    run.shows("was imported from").shows(&own[0]);
    assert_eq!(snapshots(&third, &id), before);
}

/// A store with a secret in its copy.
fn leaked(bucket: &Bucket) -> (Sandbox, PathBuf) {
    let sandbox = copied("");
    let project = sandbox.project("shop");
    fs::write(project.join(".env"), "TOKEN=1\n").unwrap();
    let begun = signed(&sandbox, bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    signed(&sandbox, bucket, &["end", &id]).ok();
    signed(&sandbox, bucket, &["replicate"]).ok();
    (sandbox, project)
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn forget_names_each_earlier_copy_and_deletes_there_too() {
    for is_moved in [false, true] {
        let bucket = Bucket::start();
        let (sandbox, project) = leaked(&bucket);
        let archives: Vec<PathBuf> = bucket
            .objects()
            .into_iter()
            .filter(|object| object.components().any(|part| part.as_os_str() == "archives"))
            .collect();
        let there = || archives.iter().filter(|object| object.exists()).count();
        assert!(there() > 0);
        if is_moved {
            let config = sandbox.home().join(".config/jackin/config.toml");
            let text = fs::read_to_string(&config).unwrap();
            fs::write(&config, text.replace("machines/one", "machines/two")).unwrap();
            signed(&sandbox, &bucket, &["replicate"]).ok();
        } else {
            signed(&sandbox, &bucket, &["replicate", "--new-store"]).ok();
        }
        let earlier = "the earlier copy in s3://bucket/machines/one/st-";
        let forget = |more: &[&str]| {
            let mut words = vec!["forget", "--path", ".env", "--yes"];
            words.extend(more);
            bucket.signed(sandbox.command(words).inside(&project)).run()
        };
        forget(&[]).ok().shows(earlier).shows("still has it");
        let there_before = there();
        signed(&sandbox, &bucket, &["forget", "--replica", "--dry-run"])
            .ok()
            .shows("are deleted in s3://bucket/machines/one/st-");
        assert_eq!(there(), there_before);
        // An address that is not known keeps its copy, and that is no success.
        let addresses: Vec<PathBuf> = fs::read_dir(sandbox.store().join("replica"))
            .unwrap()
            .map(|entry| entry.unwrap().path().join("address"))
            .filter(|path| path.exists())
            .collect();
        assert!(!addresses.is_empty());
        if is_moved {
            for path in &addresses {
                fs::remove_file(path).unwrap();
            }
            signed(&sandbox, &bucket, &["forget", "--replica", "--yes"])
                .code(6)
                .shows("still has it")
                .shows("set `replicate` to that address and run `replicate`");
            assert_eq!(there(), there_before);
            // That works.
            let config = sandbox.home().join(".config/jackin/config.toml");
            let text = fs::read_to_string(&config).unwrap();
            fs::write(&config, text.replace("machines/two", "machines/one")).unwrap();
            signed(&sandbox, &bucket, &["replicate"]).ok();
            fs::write(&config, text).unwrap();
        }
        signed(&sandbox, &bucket, &["forget", "--replica", "--yes"])
            .ok()
            .shows("deleted in s3://bucket/machines/one/st-");
        assert_eq!(there(), 0);
        let again = signed(&sandbox, &bucket, &["forget", "--replica", "--yes"]).ok();
        assert!(!again.text().contains("machines/one/st-"), "{again}");
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn forget_deletes_nothing_in_a_copy_that_another_machine_goes_on_with() {
    let bucket = Bucket::start();
    let (first, project) = leaked(&bucket);
    let own = stores(&bucket);
    let clone = copied("");
    copy_tree(&first.store(), &clone.store());
    session(&first, &bucket, "more");
    signed(&first, &bucket, &["replicate"]).ok();
    signed(&clone, &bucket, &["replicate", "--new-store"]).ok();
    let objects = || {
        let is_own = |object: &PathBuf| {
            object
                .components()
                .any(|part| part.as_os_str() == own[0].as_str())
        };
        bucket
            .objects()
            .into_iter()
            .filter(is_own)
            .collect::<BTreeSet<_>>()
    };
    let before = objects();
    let path = project.join(".env");
    let words = ["forget", "--path", path.to_str().unwrap(), "--replica", "--yes"];
    signed(&clone, &bucket, &words)
        .code(6)
        .shows("another machine uses that copy");
    assert_eq!(objects(), before);
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_store_from_a_backup_gets_the_rest_of_its_sessions_from_its_own_copy() {
    let bucket = Bucket::start();
    let here = copied("");
    let project = here.project("web");
    fs::write(project.join("f"), "before\n").unwrap();
    let begun = signed(&here, &bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    signed(&here, &bucket, &["replicate"]).ok();
    let own = stores(&bucket);
    let backup = here.scratch("backup");
    copy_tree(&here.store(), &backup);
    fs::write(project.join("f"), "agent\n").unwrap();
    signed(&here, &bucket, &["end", &id]).ok();
    signed(&here, &bucket, &["replicate"]).ok();
    let all = snapshots(&here, &id);
    fs::rename(here.store(), here.scratch("lost")).unwrap();
    copy_tree(&backup, &here.store());
    let before = snapshots(&here, &id);
    assert!(before < all);
    imported(&here, &bucket, &own[0], &[])
        .code(6)
        .shows("only with --trust");
    assert_eq!(snapshots(&here, &id), before);
    imported(&here, &bucket, &own[0], &["--trust"]).ok();
    assert_eq!(snapshots(&here, &id), all);
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn an_object_that_was_cut_is_noticed_by_its_size() {
    let bucket = Bucket::start();
    let (sandbox, _) = leaked(&bucket);
    let doctor = || bucket.signed(sandbox.command(["doctor"])).run();
    for kind in ["archives", "snapshots", "receipts", "keys"] {
        let is_it = |object: &PathBuf| object.components().any(|part| part.as_os_str() == kind);
        let object = bucket.objects().into_iter().find(is_it).unwrap();
        for left in [0, 100] {
            fs::OpenOptions::new()
                .write(true)
                .open(&object)
                .unwrap()
                .set_len(left)
                .unwrap();
            signed(&sandbox, &bucket, &["replicate"])
                .code(6)
                .shows(&format!("has {left} bytes instead of"));
            doctor().hides("is up to date");
        }
        fs::remove_file(&object).unwrap();
        signed(&sandbox, &bucket, &["replicate"]).ok();
        doctor().shows("is up to date");
    }
}
