//! The index in all its shapes.

use super::scratch::{Scratch, clear, text};
use crate::{Index, IndexFiles, ObjectFormat, is_shared_index};

fn stages_the_same<'a>(one: impl Into<IndexFiles<'a>>, other: impl Into<IndexFiles<'a>>) -> bool {
    crate::stages_the_same(one, other, ObjectFormat::Sha1)
}

fn shared_index(own: &[u8]) -> Option<String> {
    crate::shared_index(own, ObjectFormat::Sha1)
}

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

fn index_file(scratch: &Scratch) -> Vec<u8> {
    std::fs::read(scratch.dir.join(".git/index")).unwrap()
}

/// Makes git see every file as touched, and rewrite the index.
fn refresh(scratch: &Scratch, by: &[&str], round: u64) -> (Vec<u8>, Vec<u8>) {
    let before = index_file(scratch);
    let files = scratch.lines(&["ls-files"]);
    for (at, file) in files.iter().enumerate() {
        let Ok(open) = std::fs::File::options().write(true).open(scratch.dir.join(file)) else {
            continue;
        };
        let time = std::time::SystemTime::UNIX_EPOCH
            + std::time::Duration::from_secs(1_000_000 + 1000 * round + at as u64);
        open.set_modified(time).unwrap();
    }
    scratch.try_git(by);
    (before, index_file(scratch))
}

#[test]
fn a_refreshed_index_stages_the_same() {
    for version in ["2", "3", "4"] {
        for setting in [
            &[][..],
            &["core.untrackedCache", "true"],
            &["index.skipHash", "true"],
        ] {
            let scratch = Scratch::new();
            many(&scratch);
            if let [key, value] = setting {
                scratch.git(&["config", key, value]);
            }
            scratch.git(&["update-index", "--index-version", version]);
            scratch.git(&["update-index", "--skip-worktree", "dir1/sub/file 1"]);
            let ways = [&["status"][..], &["diff"], &["update-index", "-q", "--refresh"]];
            for (round, by) in (0..).zip(ways) {
                scratch.write("untracked", format!("{by:?}"));
                let (before, after) = refresh(&scratch, by, round);
                assert!(before != after, "{version} {setting:?} {by:?}");
                assert!(stages_the_same(&before, &after), "{version} {setting:?} {by:?}");
            }
            let before = index_file(&scratch);
            scratch.git(&["write-tree"]);
            assert!(stages_the_same(&before, &index_file(&scratch)));
        }
    }
}

#[test]
fn an_index_that_stages_something_else_differs() {
    let scratch = Scratch::new();
    many(&scratch);
    let mut known = vec![index_file(&scratch)];
    scratch.write("dir1/sub/file 1", "edited");
    let steps: [&[&str]; 9] = [
        &["add", "-A"],
        &["update-index", "--chmod=+x", "file"],
        &["update-index", "--assume-unchanged", "file"],
        &["update-index", "--skip-worktree", "file"],
        &["rm", "-q", "--cached", "dir0/sub/file 0"],
        &["add", "-N", "dir0/sub/file 0"],
        &["update-index", "--index-version", "4"],
        &["mv", "dir2", "moved"],
        &["update-index", "--force-remove", "dir3/sub/file 3"],
    ];
    for step in steps {
        scratch.git(step);
        let now = index_file(&scratch);
        assert!(stages_the_same(&now, &now), "{step:?}");
        for earlier in &known {
            assert!(!stages_the_same(earlier, &now), "{step:?}");
        }
        known.push(now);
    }
}

#[test]
fn an_index_of_a_form_that_is_not_known_equals_none() {
    let scratch = Scratch::new();
    many(&scratch);
    let whole = index_file(&scratch);
    assert!(stages_the_same(&whole, &whole));
    let seal = |mut content: Vec<u8>| {
        let checksum = crate::Oid::of_bytes(&content).unwrap();
        content.extend_from_slice(checksum.as_bytes());
        content
    };
    let content = &whole[..whole.len() - 20];
    let with = |name: &[u8; 4]| seal([content, name, &3_u32.to_be_bytes(), b"abc"].concat());
    // An optional extension counts, if it is not known to be a cache; a required one is not understood.
    let (cache, optional, required) = (with(b"FSMN"), with(b"XYZW"), with(b"xyzw"));
    assert!(stages_the_same(&whole, &cache));
    assert!(stages_the_same(&optional, &optional) && !stages_the_same(&whole, &optional));
    assert!(!stages_the_same(&required, &required));
    let mut version = content.to_vec();
    version[7] = 5;
    let version = seal(version);
    assert!(!stages_the_same(&version, &version));
    // Any flipped bit is found, unless the checksum was omitted.
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        assert!(
            !stages_the_same(&damaged, &damaged) && !stages_the_same(&whole, &damaged),
            "{at}"
        );
        assert!(!stages_the_same(&whole[..at], &whole[..at]), "{at}");
    }
    scratch.git(&["update-index", "--split-index"]);
    let split = index_file(&scratch);
    assert!(!stages_the_same(&split, &split));
}

#[test]
fn a_split_index_stages_the_same_with_its_shared_index() {
    let scratch = Scratch::new();
    many(&scratch);
    scratch.git(&["config", "splitIndex.maxPercentChange", "100"]);
    let whole = index_file(&scratch);
    scratch.git(&["update-index", "--split-index"]);
    let shared_file = |own: &[u8]| {
        let name = shared_index(own).unwrap();
        std::fs::read(scratch.dir.join(format!(".git/sharedindex.{name}"))).unwrap()
    };
    let first = index_file(&scratch);
    let shared = shared_file(&first);
    fn with<'a>(own: &'a [u8], shared: &'a [u8]) -> IndexFiles<'a> {
        let shared = Some(shared);
        IndexFiles { own, shared }
    }
    assert!(shared_index(&whole).is_none());
    assert!(stages_the_same(with(&first, &shared), &whole));
    let (before, after) = refresh(&scratch, &["status"], 1);
    assert!(before != after);
    assert!(stages_the_same(with(&before, &shared), with(&after, &shared)));
    // Without the shared index, or with another file, nothing is known.
    assert!(!stages_the_same(&before, &before));
    assert!(!stages_the_same(with(&before, &whole), with(&before, &whole)));
    let mut damaged = shared.clone();
    damaged[40] ^= 1;
    assert!(!stages_the_same(with(&before, &damaged), with(&before, &damaged)));
    for step in [&["rm", "-q", "--cached", "file"][..], &["add", "-N", "file"]] {
        let before = index_file(&scratch);
        scratch.git(step);
        let now = index_file(&scratch);
        let (before, now) = (with(&before, &shared), with(&now, &shared));
        assert!(
            stages_the_same(now, now) && !stages_the_same(before, now),
            "{step:?}"
        );
    }
}

/// Content of the index by git's own account, without stat data: version, stages, flags, and resolved conflicts.
fn by_git(scratch: &Scratch) -> String {
    let stages = scratch.text(&["ls-files", "-s", "-z"]);
    let undo = scratch.text(&["ls-files", "--resolve-undo", "-z"]);
    let debug = scratch.text(&["ls-files", "--debug"]);
    let flags = debug.lines().filter_map(|line| line.split_once("flags: "));
    // The other bits are those of the running program.
    let kept = |hex: &str| u32::from_str_radix(hex.trim(), 16).unwrap() & 0x6000_b000;
    let flags: Vec<u32> = flags.map(|(_, hex)| kept(hex)).collect();
    format!("{} {stages} {undo} {flags:?}", index_file(scratch)[7])
}

#[test]
fn what_git_lists_alike_stages_the_same() {
    let steps: [&[&str]; 20] = [
        &["status"],
        &["diff", "HEAD"],
        &["update-index", "-q", "--refresh"],
        &["update-index", "-q", "--really-refresh"],
        &["update-index", "--untracked-cache"],
        &["update-index", "--force-write-index"],
        &["write-tree"],
        &["read-tree", "HEAD"],
        &["add", "-A"],
        &["add", "-N", "."],
        &["commit", "-qm", "step", "--allow-empty"],
        &["rm", "-rq", "--cached", "dir1"],
        &["update-index", "--chmod=+x", "file"],
        &["update-index", "--chmod=-x", "file"],
        &["update-index", "--assume-unchanged", "file"],
        &["update-index", "--no-assume-unchanged", "file"],
        &["update-index", "--skip-worktree", "dir0/sub/file 0"],
        &["update-index", "--no-skip-worktree", "dir0/sub/file 0"],
        &["update-index", "--index-version", "4"],
        &["update-index", "--index-version", "2"],
    ];
    let (mut alike, mut unlike) = (0, 0);
    for seed in 1..4_u64 {
        let scratch = Scratch::new();
        many(&scratch);
        let mut random = seed;
        let mut known: Vec<(String, Vec<u8>)> = vec![(by_git(&scratch), index_file(&scratch))];
        for round in 0..40 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let drawn = usize::try_from(random >> 40).unwrap();
            match drawn % 5 {
                0 => scratch.write(&format!("dir{}/sub/file 1", drawn % 3), format!("{}", drawn % 7)),
                1 => drop(std::fs::remove_file(
                    scratch.dir.join(format!("dir0/sub/file {}", drawn % 40)),
                )),
                _ => {}
            }
            let (_, now) = refresh(&scratch, steps[drawn / 8 % steps.len()], round);
            let listed = by_git(&scratch);
            for (earlier, before) in &known {
                let is_same = stages_the_same(before, &now);
                assert_eq!(is_same, *earlier == listed, "seed {seed}, round {round}");
                match is_same {
                    true => alike += usize::from(*before != now),
                    false => unlike += 1,
                }
            }
            known.push((listed, now));
        }
    }
    assert!(alike > 100 && unlike > 100, "{alike} alike, {unlike} unlike");
}

#[test]
fn answers_of_a_file_system_monitor_do_not_count() {
    let scratch = Scratch::new();
    many(&scratch);
    let monitor = scratch.dir.join(".git/monitor");
    // By another process: what a child of another test still holds open for writing cannot be executed.
    let write = r#"printf %s "$1" > "$0" && chmod 755 "$0""#;
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", write]).arg(&monitor);
    let done = shell.arg("#!/bin/sh\nprintf 'token%s\\0' $$\n").status();
    assert!(done.unwrap().success());
    let plain = index_file(&scratch);
    scratch.git(&["config", "core.fsmonitor", monitor.to_str().unwrap()]);
    scratch.git(&["update-index", "--fsmonitor"]);
    let (before, after) = refresh(&scratch, &["status"], 1);
    assert!(after.windows(4).any(|word| word == b"FSMN"));
    assert!(stages_the_same(&plain, &before) && stages_the_same(&before, &after));
}

#[test]
fn indexes_with_names_of_sha256_are_compared() {
    let sha256 = ObjectFormat::Sha256;
    for version in ["2", "3", "4"] {
        let scratch = Scratch::new();
        std::fs::remove_dir_all(scratch.dir.join(".git")).unwrap();
        scratch.git(&["init", "-q", "--object-format=sha256"]);
        many(&scratch);
        scratch.git(&["config", "splitIndex.maxPercentChange", "100"]);
        scratch.git(&["update-index", "--index-version", version]);
        scratch.git(&["update-index", "--skip-worktree", "dir1/sub/file 1"]);
        let whole = index_file(&scratch);
        let (before, after) = refresh(&scratch, &["status"], 1);
        assert!(before != after && !stages_the_same(&before, &after), "{version}");
        assert!(
            crate::stages_the_same(&before, &after, sha256) && crate::shared_index(&after, sha256).is_none()
        );
        scratch.git(&["update-index", "--split-index"]);
        let own = index_file(&scratch);
        let name = crate::shared_index(&own, sha256).unwrap();
        let shared = std::fs::read(scratch.dir.join(format!(".git/sharedindex.{name}"))).unwrap();
        assert!(name.len() == 64 && is_shared_index(&shared, &name) && !is_shared_index(&own, &name));
        let split = IndexFiles {
            own: &own,
            shared: Some(&shared),
        };
        assert!(crate::stages_the_same(&whole, split, sha256), "{version}");
        scratch.git(&["rm", "-q", "--cached", "file"]);
        let now = index_file(&scratch);
        let now = IndexFiles { own: &now, ..split };
        assert!(crate::stages_the_same(now, now, sha256) && !crate::stages_the_same(split, now, sha256));
    }
}
