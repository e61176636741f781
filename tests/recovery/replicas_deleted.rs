//! Deletion in the copy of the store: what was forgotten goes, also where it is not noted or of a name of its own, and a copy that is
//! in use is never taken for an earlier one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::replicas::{brought_back, copied, signed};
use crate::support::bucket::Bucket;
use crate::support::build::noise;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// A session of the project, from its baseline to its end.
fn session(sandbox: &Sandbox, bucket: &Bucket, project: &Path) -> String {
    let begun = signed(sandbox, bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    signed(sandbox, bucket, &["end", &id]).ok();
    signed(sandbox, bucket, &["replicate"]).ok();
    id
}

/// The objects with parts of archives.
fn parts(bucket: &Bucket) -> Vec<PathBuf> {
    let mut parts = bucket.objects();
    parts.retain(|path| path.to_string_lossy().contains("/archives/"));
    parts.sort();
    parts
}

fn forget(sandbox: &Sandbox, bucket: &Bucket, words: &[&str]) -> Run {
    let mut all = vec!["forget", "--replica", "--yes"];
    all.extend(words);
    signed(sandbox, bucket, &all)
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn an_archive_that_took_the_place_of_another_goes_when_its_session_is_pruned() {
    for is_earlier in [false, true] {
        let bucket = Bucket::start();
        let sandbox = copied("[recovery.retention]\ninstances = 1\n");
        let project = sandbox.project("shop");
        fs::write(project.join(".env"), noise("env", 200)).unwrap();
        fs::write(project.join("other-secret"), noise("other", 5_000)).unwrap();
        session(&sandbox, &bucket, &project);
        let env = project.join(".env");
        forget(&sandbox, &bucket, &["--path", env.to_str().unwrap()]).ok();
        let rewritten = parts(&bucket);
        assert!(!rewritten.is_empty());
        // Nothing of it is left in what comes later.
        fs::remove_dir_all(&project).unwrap();
        let project = sandbox.project("shop");
        fs::write(project.join("new"), noise("new", 5_000)).unwrap();
        session(&sandbox, &bucket, &project);
        signed(&sandbox, &bucket, &["prune", "--yes"]).ok();
        if is_earlier {
            signed(&sandbox, &bucket, &["replicate", "--new-store"]).ok();
        }
        forget(&sandbox, &bucket, &[]).ok().shows("deleted in s3://");
        let left = parts(&bucket);
        assert!(rewritten.iter().all(|part| !left.contains(part)), "{left:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_configuration_with_a_fault_deletes_nothing_in_the_copy() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("shop");
    fs::write(project.join(".env"), noise("env", 200)).unwrap();
    session(&sandbox, &bucket, &project);
    let (config, objects) = (
        sandbox.home().join(".config/jackin/config.toml"),
        bucket.objects(),
    );
    let sound = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        format!("{sound}\n[recovery.retention]\ncheckpoint = 3\n"),
    )
    .unwrap();
    let env = project.join(".env");
    let run = forget(&sandbox, &bucket, &["--path", env.to_str().unwrap()]).code(2);
    run.shows("checkpoint");
    assert_eq!(bucket.objects(), objects);
    fs::write(&config, &sound).unwrap();
    forget(&sandbox, &bucket, &["--path", env.to_str().unwrap()]).ok();
    assert_ne!(bucket.objects(), objects);
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_must_stay_there_is_told_and_goes_once_the_damage_is_mended() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("shop");
    fs::write(project.join(".env"), noise("env", 200)).unwrap();
    fs::write(project.join("code"), noise("code", 5_000)).unwrap();
    session(&sandbox, &bucket, &project);
    let old = parts(&bucket);
    let env = project.join(".env");
    sandbox
        .jackin(["forget", "--path", env.to_str().unwrap(), "--yes"])
        .ok();
    let mut sound = Vec::new();
    for entry in fs::read_dir(sandbox.store().join("archives")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "zst") {
            let bytes = fs::read(&path).unwrap();
            let mut damaged = bytes.clone();
            damaged[bytes.len() / 2] ^= 1;
            fs::write(&path, damaged).unwrap();
            sound.push((path, bytes));
        }
    }
    let run = forget(&sandbox, &bucket, &[]).code(6);
    run.shows("in s3://bucket/machines/one: the replacement is damaged")
        .shows("to find the damage: ");
    let run = forget(&sandbox, &bucket, &["--json"]).code(6).json();
    assert!(run["replica_withheld"].as_u64().unwrap() > 0, "{run}");
    assert!(old.iter().any(|part| parts(&bucket).contains(part)));
    for (path, bytes) in sound {
        fs::write(path, bytes).unwrap();
    }
    forget(&sandbox, &bucket, &[]).ok();
    assert!(old.iter().all(|part| !parts(&bucket).contains(part)));
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_bucket_that_was_emptied_is_noticed_and_filled_again() {
    let bucket = Bucket::start();
    let sandbox = copied("");
    let project = sandbox.project("shop");
    fs::write(project.join("a"), "one\n").unwrap();
    session(&sandbox, &bucket, &project);
    for object in bucket.objects() {
        fs::remove_file(object).unwrap();
    }
    let doctor = signed(&sandbox, &bucket, &["doctor"]);
    doctor.has("is not in s3://bucket/machines/one any more");
    assert!(!doctor.text().contains("is up to date"), "{doctor}");
    fs::write(project.join("a"), "two\n").unwrap();
    let begun = signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    signed(&sandbox, &bucket, &["end", &id]).ok();
    let (_fresh, told) = brought_back(&bucket, &[]);
    assert_eq!(told["snapshots"].as_array().unwrap().len(), 4, "{told}");
}
