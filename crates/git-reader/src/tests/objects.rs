//! Objects, loose and packed, and ids of files.

use std::collections::BTreeSet;

use super::scratch::{Scratch, clear, rel, text};
use crate::{ObjectKind, Oid, Repository, blob_id, indexed, unpushed};

fn versions(scratch: &Scratch, count: usize) {
    let mut lines: Vec<String> = (0..200).map(|line| format!("line {line} of the file")).collect();
    for version in 0..count {
        lines[version * 7 % 200] = format!("changed in {version}");
        scratch.write("deep/long", lines.join("\n"));
        scratch.commit(&format!("version {version}\n\nMore of it."));
    }
}

/// Compares every object with what git shows.
fn compare(scratch: &Scratch) {
    let all = scratch.lines(&["cat-file", "--batch-all-objects", "--batch-check"]);
    assert!(all.len() > 10);
    scratch.read("", |repository| {
        for line in all {
            let mut words = line.split(' ');
            let (name, kind) = (words.next().unwrap(), words.next().unwrap());
            let oid = Oid::parse(name.as_bytes()).unwrap();
            let object = repository.object(&oid).unwrap().unwrap();
            assert_eq!(object.kind.word(), kind);
            assert!(repository.missing(&BTreeSet::from([oid])).unwrap().is_empty());
            assert!(object.bytes == scratch.git(&["cat-file", kind, name]), "{name}");
            if object.kind == ObjectKind::Tree {
                let entries = repository.tree(&oid).unwrap().unwrap();
                let ours = entries.iter().map(|entry| {
                    let kind = if entry.mode == 0o40000 { "tree" } else { "blob" };
                    format!("{:06o} {kind} {}\t{}", entry.mode, entry.oid, text(&entry.name))
                });
                assert_eq!(ours.collect::<Vec<_>>(), scratch.lines(&["ls-tree", name]));
            }
            if object.kind == ObjectKind::Commit {
                let commit = repository.commit(&oid).unwrap().unwrap();
                let parents: Vec<_> = commit.parents.iter().map(Oid::to_string).collect();
                let parents = parents.join(" ");
                let ours = format!(
                    "{} {parents}|{}|{}",
                    commit.tree, commit.subject, commit.author_time
                );
                let theirs = scratch.text(&["show", "-s", "--format=%T %P|%s|%at", name]);
                assert_eq!(ours, theirs);
            }
        }
        let missing = Oid::from_bytes([7; 20]);
        assert_eq!(repository.object(&missing).unwrap(), None);
        let some = BTreeSet::from([missing]);
        assert_eq!(repository.missing(&some).unwrap(), some);
        clear(repository);
    });
}

#[test]
fn loose_and_packed_objects_are_those_of_git() {
    let scratch = Scratch::new();
    versions(&scratch, 20);
    scratch.git(&["tag", "-a", "-m", "a tag", "v1"]);
    scratch.git(&["tag", "-a", "-m", "a tag of it", "v2", "v1"]);
    compare(&scratch);
    scratch.git(&["gc", "-q", "--aggressive"]);
    let deltas = scratch.text(&["count-objects", "-v"]);
    assert!(deltas.contains("count: 0"), "{deltas}");
    compare(&scratch);
    scratch.read("", |repository| {
        let refs = repository.refs().unwrap();
        let peeled = repository.peel(&refs[&b"refs/tags/v2"[..]]).unwrap().unwrap();
        assert_eq!(peeled.0, ObjectKind::Commit);
        assert_eq!(peeled.1.to_string(), scratch.text(&["rev-parse", "HEAD"]));
    });
}

#[test]
fn old_packs_are_read_too() {
    let scratch = Scratch::new();
    versions(&scratch, 6);
    scratch.git(&["config", "pack.indexVersion", "1"]);
    scratch.git(&["config", "repack.useDeltaBaseOffset", "false"]);
    scratch.git(&["repack", "-adfq"]);
    compare(&scratch);
}

#[test]
fn the_index_of_a_pack_lists_what_git_lists() {
    let scratch = Scratch::new();
    versions(&scratch, 6);
    for version in ["1", "2"] {
        scratch.git(&["config", "pack.indexVersion", version]);
        scratch.git(&["repack", "-adfq"]);
        let mut theirs = scratch.lines(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
        theirs.sort();
        let dir = scratch.dir.join(".git/objects/pack");
        let mut names = std::fs::read_dir(dir)
            .unwrap()
            .map(|file| file.unwrap().file_name());
        let idx = names
            .find_map(|name| name.to_str()?.ends_with(".idx").then_some(name))
            .unwrap();
        let idx = rel(&format!(".git/objects/pack/{}", idx.to_str().unwrap()));
        scratch.read("", |repository| {
            let ours = indexed(repository.files, &idx, 1000).unwrap().unwrap();
            let ours: Vec<String> = ours.iter().map(ToString::to_string).collect();
            assert_eq!(ours, theirs);
            assert_eq!(indexed(repository.files, &idx, 3).unwrap(), None);
        });
    }
}

#[test]
fn borrowed_objects_are_found_where_they_lie_in_the_tree() {
    let scratch = Scratch::new();
    scratch.git(&["init", "-q", "lender"]);
    let oid = Oid::parse(scratch.text(&["rev-parse", "HEAD"]).as_bytes()).unwrap();
    scratch.git(&["clone", "-q", "--shared", ".", "borrower"]);
    scratch.read("borrower", |repository| {
        assert!(repository.commit(&oid).unwrap().is_some());
        assert_eq!(repository.alternates().len(), 1);
        clear(repository);
    });
    scratch.write(
        "borrower/.git/objects/info/alternates",
        "../objects\n/nowhere/objects\n",
    );
    scratch.read("borrower", |repository| {
        assert_eq!(repository.commit(&oid).unwrap(), None);
        assert!(repository.doubts()[0].contains("/nowhere/objects"));
    });
}

#[test]
fn a_pack_without_an_index_is_a_doubt() {
    let scratch = Scratch::new();
    scratch.write(".git/objects/pack/pack-1.pack", "PACK");
    scratch.read("", |repository| {
        repository.object(&Oid::from_bytes([1; 20])).unwrap();
        assert!(repository.doubts()[0].contains("it has no index"));
    });
}

#[test]
fn ids_of_files_are_those_of_git() {
    let scratch = Scratch::new();
    for size in [0_usize, 1, 63, 64, 100_000] {
        let content = vec![b'x'; size];
        scratch.write("other", &content);
        let ours = blob_id(size as u64, content.as_slice()).unwrap();
        assert_eq!(ours.to_string(), scratch.text(&["hash-object", "other"]));
        assert!(blob_id(size as u64 + 1, content.as_slice()).is_err());
        assert_eq!(Oid::of(ObjectKind::Blob, &content), Some(ours));
    }
    assert!(blob_id(1, &b"xx"[..]).is_err());
}

fn counts(repository: &Repository) -> Vec<String> {
    let found = unpushed(repository).unwrap();
    let lines = found.iter().map(|found| {
        assert!(!found.more);
        format!("{} {}", text(&found.branch), found.commits)
    });
    lines.collect()
}

#[test]
fn unpushed_commits_are_those_that_git_counts() {
    let scratch = Scratch::new();
    versions(&scratch, 5);
    scratch.git(&["update-ref", "refs/remotes/origin/main", "HEAD~3"]);
    scratch.git(&["switch", "-qc", "side", "HEAD~4"]);
    scratch.commit("aside");
    scratch.git(&["switch", "-q", "main"]);
    scratch.git(&["merge", "-q", "-m", "both", "side"]);
    scratch.git(&["branch", "old", "HEAD~4"]);
    scratch.git(&["switch", "-q", "--orphan", "other"]);
    scratch.commit("a root");
    scratch.git(&["switch", "-q", "main"]);
    for pack in [false, true] {
        if pack {
            scratch.git(&["gc", "-q"]);
        }
        let branches = scratch.lines(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
        let theirs = branches.iter().map(|branch| {
            let count = scratch.text(&["rev-list", "--count", branch, "--not", "--remotes"]);
            format!("{branch} {count}")
        });
        let theirs: Vec<_> = theirs.collect();
        assert_eq!(scratch.read("", counts), theirs);
    }
}

#[test]
fn a_missing_commit_is_a_doubt() {
    let scratch = Scratch::new();
    let first = scratch.text(&["rev-parse", "HEAD"]);
    scratch.commit("second");
    let (fan, rest) = first.split_at(2);
    let path = format!(".git/objects/{fan}/{rest}");
    std::fs::remove_file(scratch.dir.join(path)).unwrap();
    scratch.read("", |repository| {
        let found = unpushed(repository).unwrap();
        assert!(found[0].more && found[0].commits == 1);
        assert_eq!(repository.doubts(), [format!("object {first} is missing")]);
    });
    scratch.files(|files| assert!(Repository::open(files, &rel("nothing")).unwrap().is_none()));
}
