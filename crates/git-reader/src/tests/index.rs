//! The index in all its shapes.

use super::scratch::{Scratch, clear, text};
use crate::Index;

fn lines(index: &Index) -> Vec<String> {
    let lines = index.entries.iter().map(|entry| {
        let path = text(&entry.path);
        format!("{:06o} {} {}\t{path}", entry.mode, entry.oid, entry.stage)
    });
    lines.collect()
}

fn compare(scratch: &Scratch) -> Index {
    scratch.read("", |repository| {
        let index = repository.index().unwrap().unwrap();
        let theirs = scratch.git(&["ls-files", "-s", "--sparse", "-z"]);
        let theirs = text(&theirs);
        let theirs: Vec<_> = theirs.split_terminator('\0').collect();
        assert_eq!(lines(&index), theirs);
        clear(repository);
        index
    })
}

fn many(scratch: &Scratch) {
    for at in 0..40 {
        scratch.write(&format!("dir{}/sub/file {at}", at % 5), format!("{at}"));
    }
    scratch.write(&format!("{}/x", "long".repeat(50)), "x");
    scratch.commit("many");
}

#[test]
fn versions_2_to_4_are_those_of_git() {
    let scratch = Scratch::new();
    many(&scratch);
    for version in ["2", "3", "4"] {
        scratch.git(&["update-index", "--index-version", version]);
        scratch.git(&["update-index", "--assume-unchanged", "file"]);
        scratch.git(&["update-index", "--skip-worktree", "dir1/sub/file 1"]);
        scratch.write("new", "new");
        scratch.git(&["add", "-N", "new"]);
        let index = compare(&scratch);
        assert_eq!(index.version.to_string(), version.replace('2', "3"));
        let find = |path: &str| {
            let mut entries = index.entries.iter();
            entries.find(|entry| entry.path == path.as_bytes()).unwrap()
        };
        assert!(find("file").assume_valid && !find("new").assume_valid);
        assert!(find("dir1/sub/file 1").skip_worktree);
        assert!(find("new").intent_to_add && !find("file").intent_to_add);
    }
    scratch.git(&["reset", "-q", "--hard"]);
    std::fs::remove_file(scratch.dir.join(".git/index")).unwrap();
    scratch.git(&["reset", "-q"]);
    assert_eq!(compare(&scratch).version, 2);
}

#[test]
fn a_conflict_has_stages() {
    let scratch = Scratch::new();
    scratch.git(&["switch", "-qc", "side"]);
    scratch.write("file", "theirs\n");
    scratch.commit("theirs");
    scratch.git(&["switch", "-q", "main"]);
    scratch.write("file", "ours\n");
    scratch.commit("ours");
    assert!(!scratch.try_git(&["merge", "side"]).status.success());
    let stages: Vec<_> = compare(&scratch)
        .entries
        .iter()
        .map(|entry| entry.stage)
        .collect();
    assert_eq!(stages, [1, 2, 3]);
}

#[test]
fn a_split_index_is_put_together() {
    for version in ["2", "4"] {
        let scratch = Scratch::new();
        many(&scratch);
        scratch.git(&["config", "splitIndex.maxPercentChange", "100"]);
        scratch.git(&["update-index", "--index-version", version]);
        scratch.git(&["update-index", "--split-index"]);
        scratch.write("added", version);
        scratch.write("dir2/sub/file 2", version);
        scratch.git(&["add", "-A"]);
        scratch.git(&["rm", "-qf", "--cached", "dir3/sub/file 3"]);
        let index = compare(&scratch);
        assert!(index.is_split, "{version}");
        for entry in std::fs::read_dir(scratch.dir.join(".git")).unwrap() {
            let path = entry.unwrap().path();
            if path.to_str().unwrap().contains("sharedindex") {
                std::fs::remove_file(path).unwrap();
            }
        }
        let lost = scratch.read("", |repository| repository.index().unwrap_err().to_string());
        assert!(lost.contains("it is missing"), "{lost}");
    }
}

#[test]
fn a_sparse_index_has_directories() {
    let scratch = Scratch::new();
    many(&scratch);
    scratch.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "dir1"]);
    let index = compare(&scratch);
    assert!(index.is_sparse);
    let directories = index.entries.iter().filter(|entry| entry.is_sparse_dir());
    assert!(directories.count() > 3);
}
