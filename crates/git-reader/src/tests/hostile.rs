//! Hostile repositories: each soon ends in an error or a doubt.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

use super::scratch::{Scratch, rel};
use crate::{Files as _, Live, ObjectKind, Oid, Repository, executables, unpushed};
use handle_fs::Root;

/// Reads everything. The results do not matter, only that the reads return.
fn ask_all(root: &Root) -> Vec<String> {
    let live = Live::new(root);
    let Ok(Some(repository)) = Repository::open(&live, &rel("")) else {
        return vec!["not opened".to_owned()];
    };
    let mut told = Vec::new();
    let mut note = |error: Option<String>| told.extend(error);
    note(repository.head().err().map(|error| error.to_string()));
    note(repository.index().err().map(|error| error.to_string()));
    note(unpushed(&repository).err().map(|error| error.to_string()));
    for oid in repository.refs().unwrap_or_default().values() {
        note(repository.object(oid).err().map(|error| error.to_string()));
        note(repository.peel(oid).err().map(|error| error.to_string()));
        if let Ok(Some(commit)) = repository.commit(oid) {
            note(repository.tree(&commit.tree).err().map(|error| error.to_string()));
            for entry in repository.tree(&commit.tree).ok().flatten().unwrap_or_default() {
                note(repository.object(&entry.oid).err().map(|error| error.to_string()));
            }
        }
    }
    let seen = (
        repository.stashes(),
        repository.is_partial(),
        repository.operations(),
    );
    let named = (
        repository.remotes(),
        repository.submodules(),
        repository.worktrees(),
    );
    let listed = (
        repository.reflog_names(),
        repository.locks(),
        executables(&repository),
    );
    drop((seen, named, listed));
    told.extend(repository.doubts());
    told
}

/// Returns a small repository with everything that is read.
fn small() -> Scratch {
    let scratch = Scratch::new();
    let mut lines: Vec<String> = (0..200).map(|line| format!("line {line}")).collect();
    for version in 0..4 {
        lines[version * 9] = "changed".to_owned();
        scratch.write("long", lines.join("\n"));
        scratch.commit("version");
    }
    scratch.git(&["tag", "-a", "-m", "tag", "v1"]);
    scratch.git(&["gc", "-q"]);
    scratch.write("file", "loose");
    scratch.git(&["stash", "-q"]);
    scratch.git(&["update-ref", "refs/remotes/origin/main", "HEAD~2"]);
    scratch.git(&["update-index", "--index-version", "4"]);
    scratch
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if !path.to_str().unwrap().ends_with(".sample") {
            found.push(path);
        }
    }
    found.sort();
}

/// Replaces a file, also one that git made read-only.
fn put(path: &Path, bytes: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn nothing_that_is_cut_short_hurts() {
    let scratch = small();
    let root = scratch.root();
    assert_eq!(ask_all(&root), Vec::<String>::new());
    let mut all = Vec::new();
    files(&scratch.dir.join(".git"), &mut all);
    assert!(all.len() > 15);
    for path in all {
        let whole = std::fs::read(&path).unwrap();
        let length = whole.len();
        for cut in [
            0,
            1,
            4,
            11,
            12,
            20,
            40,
            length / 2,
            length.saturating_sub(21),
            length.saturating_sub(1),
        ] {
            put(&path, &whole[..cut.min(length)]);
            ask_all(&root);
        }
        put(&path, &whole);
    }
    assert_eq!(ask_all(&root), Vec::<String>::new());
}

#[test]
fn pipes_and_links_in_place_of_files_do_not_hang() {
    let scratch = small();
    let root = scratch.root();
    let mut all = Vec::new();
    files(&scratch.dir.join(".git"), &mut all);
    for path in all {
        let whole = std::fs::read(&path).unwrap();
        for is_link in [false, true] {
            std::fs::remove_file(&path).unwrap();
            if is_link {
                std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            } else {
                handle_fs::make_fifo(rustix::fs::CWD, path.as_os_str()).unwrap();
            }
            let told = ask_all(&root);
            let name = path.strip_prefix(&scratch.dir).unwrap().to_str().unwrap();
            let is_read = ["HEAD", "index", "packed-refs", "config", "refs/heads/main"]
                .iter()
                .any(|read| name == format!(".git/{read}"))
                || name.ends_with(".idx")
                || name.ends_with(".pack");
            assert!(!is_read || !told.is_empty(), "{name}");
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, &whole).unwrap();
        }
    }
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn put_loose(scratch: &Scratch, oid: &str, bytes: &[u8]) {
    let (fan, rest) = oid.split_at(2);
    scratch.write(&format!(".git/objects/{fan}/{rest}"), deflated(bytes));
}

#[test]
fn loose_objects_that_lie_are_errors() {
    let scratch = Scratch::new();
    let name = "ab".repeat(20);
    let oid = Oid::parse(name.as_bytes()).unwrap();
    let bomb = [b"blob 4096\0".to_vec(), vec![0; 64 << 20]].concat();
    let cases: [&[u8]; 7] = [
        b"blob 99999999999999\0x",
        b"blob 4\0x",
        b"blob 1\0x",
        b"blob -1\0x",
        b"nothing 1\0x",
        b"no head at all, and it goes on and on and on and on",
        &bomb,
    ];
    for bytes in cases {
        put_loose(&scratch, &name, bytes);
        scratch.read("", |repository| assert!(repository.object(&oid).is_err()));
    }
    // A tree with more entries than any real one, under its right name.
    let entries = b"1 a\0aaaaaaaaaaaaaaaaaaaa".repeat(1_100_000);
    let tree = Oid::of(ObjectKind::Tree, &entries).unwrap();
    let head = format!("tree {}\0", entries.len());
    put_loose(&scratch, &tree.to_string(), &[head.as_bytes(), &entries].concat());
    scratch.read("", |repository| assert!(repository.tree(&tree).is_err()));
}

/// Writes a pack with one object, and its index of version 1.
fn put_pack(scratch: &Scratch, oid: Oid, object: &[u8]) {
    let pack = [&b"PACK\0\0\0\x02\0\0\0\x01"[..], object, &[0; 20]].concat();
    let first = usize::from(oid.as_bytes()[0]);
    let mut idx: Vec<u8> = (0..256)
        .flat_map(|at| u32::from(at >= first).to_be_bytes())
        .collect();
    idx.extend(12_u32.to_be_bytes());
    idx.extend(oid.as_bytes());
    idx.extend([0; 40]);
    scratch.write(".git/objects/pack/pack-1.pack", pack);
    scratch.write(".git/objects/pack/pack-1.idx", idx);
}

#[test]
fn deltas_that_lie_are_errors() {
    let scratch = Scratch::new();
    let oid = Oid::from_bytes([9; 20]);
    let error = |object: &[u8]| {
        put_pack(&scratch, oid, object);
        scratch.read("", |repository| repository.object(&oid).unwrap_err().to_string())
    };
    // Its own base.
    let own = [&[0x73][..], oid.as_bytes(), &deflated(b"abc")].concat();
    assert!(error(&own).contains("without an end"));
    assert!(error(&[0x63, 0]).contains("does not begin"));
    assert!(error(&[0x63, 5]).contains("does not begin"));
    // An object that claims 10 GiB.
    assert!(error(&[0xb0, 0x80, 0x80, 0x80, 0xa0, 0x02, 0]).contains("too large"));
    // A delta that claims to make 10 GiB.
    let delta = [0, 0x80, 0x80, 0x80, 0x80, 0x28, 1, b'x'];
    assert!(crate::delta::apply(b"", &delta, 128 << 20).is_err());
    assert!(crate::delta::apply(b"", &[0, 4, 0x90, 4], 128).is_err());
    assert!(crate::delta::apply(b"", &[0, 1, 0], 128).is_err());
    assert!(crate::delta::apply(b"ab", &[2, 1, 0x90, 2], 128).is_err());
    assert_eq!(
        crate::delta::apply(b"ab", &[2, 3, 0x90, 2, 1, b'c'], 128).unwrap(),
        b"abc"
    );
}

#[test]
fn circles_end() {
    let scratch = Scratch::new();
    scratch.write(".git/HEAD", "ref: refs/heads/a");
    scratch.write(".git/refs/heads/a", "ref: refs/heads/a");
    scratch.write(
        ".git/objects/info/alternates",
        "../objects\n./\n../../.git/objects\n",
    );
    scratch.read("", |repository| {
        assert_eq!(repository.head().unwrap().commit, None);
        assert_eq!(repository.object(&Oid::from_bytes([1; 20])).unwrap(), None);
        assert!(repository.doubts().join("").contains("more than 5 deep"));
    });
    let nested = Scratch::empty();
    nested.write(".git", "gitdir: .git");
    nested.try_read("", |found| {
        assert!(matches!(
            found.unwrap().unwrap().shape(),
            crate::GitDir::Elsewhere(_)
        ))
    });
    nested.write(".git", "gitdir: ../../../etc");
    nested.try_read("", |found| assert!(found.unwrap().unwrap().git_dir().is_none()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_flipped_byte_hurts(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        thread_local! {
            static SCRATCH: Scratch = small();
        }
        SCRATCH.with(|scratch| {
            let root = scratch.root();
            let mut all = Vec::new();
            files(&scratch.dir.join(".git"), &mut all);
            let mut kept = Vec::new();
            for (which, at, value) in flips {
                let path = which.get(&all);
                let mut bytes = std::fs::read(path).unwrap();
                kept.push((path.clone(), bytes.clone()));
                if !bytes.is_empty() {
                    *at.get_mut(&mut bytes) = value;
                }
                put(path, &bytes);
            }
            ask_all(&root);
            for (path, bytes) in kept.iter().rev() {
                put(path, bytes);
            }
        });
    }
}

/// Lowest byte of a number.
fn byte(value: usize) -> u8 {
    u8::try_from(value & 0xff).unwrap()
}

/// Names whose objects all lie at the end of one chain of deltas, each of which makes `size` bytes.
fn put_chain(scratch: &Scratch, size: usize, links: usize, names: &[Oid]) {
    let number = |mut value: usize| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(byte(value & 0x7f) | 0x80);
            value >>= 7;
        }
        bytes.push(byte(value));
        bytes
    };
    let head = |kind: u8, size: usize| {
        let mut bytes = vec![kind << 4 | byte(size & 15) | 0x80];
        bytes.extend(number(size >> 4));
        bytes
    };
    let mut pack = [
        &b"PACK\0\0\0\x02"[..],
        &u32::try_from(names.len()).unwrap().to_be_bytes(),
    ]
    .concat();
    let mut last = pack.len();
    pack.extend([head(2, size), deflated(&vec![0; size])].concat());
    // Copies of at most 64 KiB each, from the start.
    let copies = [0xb0, 0xff, 0xff].repeat(size / 0xffff);
    let delta = [number(size), number(size), copies].concat();
    for _ in 0..links {
        let at = pack.len();
        let back = at - last;
        let back = if back < 0x80 {
            vec![byte(back)]
        } else if back < 0x4080 {
            vec![0x80 | byte((back >> 7) - 1), byte(back & 0x7f)]
        } else {
            let high = (back >> 7) - 1;
            vec![
                0x80 | byte((high >> 7) - 1),
                0x80 | byte(high & 0x7f),
                byte(back & 0x7f),
            ]
        };
        pack.extend([head(6, delta.len()), back, deflated(&delta)].concat());
        last = at;
    }
    pack.extend([0; 20]);
    let mut names = names.to_vec();
    names.sort();
    let fan = (0..256).flat_map(|first| {
        let below = names.iter().filter(|oid| usize::from(oid.as_bytes()[0]) <= first);
        u32::try_from(below.count()).unwrap().to_be_bytes()
    });
    let mut idx: Vec<u8> = fan.collect();
    for oid in &names {
        idx.extend(u32::try_from(last).unwrap().to_be_bytes());
        idx.extend(oid.as_bytes());
    }
    idx.extend([0; 40]);
    scratch.write(".git/objects/pack/pack-1.pack", pack);
    scratch.write(".git/objects/pack/pack-1.idx", idx);
}

#[test]
fn many_names_of_one_chain_of_deltas_are_soon_too_much() {
    let scratch = Scratch::new();
    let names: Vec<Oid> = (0..40_u8).map(|n| Oid::from_bytes([n * 5; 20])).collect();
    put_chain(&scratch, 0xffff << 6, 4, &names);
    let entries = names
        .iter()
        .map(|oid| [&b"40000 d"[..], oid.to_string().as_bytes(), &[0], oid.as_bytes()].concat());
    let entries: Vec<u8> = entries.flatten().collect();
    let tree = Oid::of(ObjectKind::Tree, &entries).unwrap();
    put_loose(
        &scratch,
        &tree.to_string(),
        &[format!("tree {}\0", entries.len()).as_bytes(), &entries].concat(),
    );
    for name in &names {
        scratch.write(&format!(".git/refs/tags/{name}"), name.to_string());
    }
    let head = scratch.text(&["rev-parse", "HEAD"]);
    let head = Oid::parse(head.as_bytes()).unwrap();
    let root = scratch.root();
    let live = Live::new(&root);
    // As if others of the tree had taken nearly all of it.
    let (most, own) = (crate::store::MOST_EFFORT, crate::store::OWN_EFFORT);
    live.effort().set(most);
    let repository = Repository::open(&live, &rel("")).unwrap().unwrap();
    assert!(repository.commit(&head).unwrap().is_some());
    let mut paths = std::collections::BTreeSet::new();
    assert!(!crate::Named::new(&repository).walk(&rel(""), tree, &mut paths));
    // One object more at most.
    assert!(
        (most + own..most + own + (40 << 20)).contains(&live.effort().get()),
        "{}",
        live.effort().get()
    );
    assert!(repository.commit(&head).is_err() && repository.peel(&head).is_err());
    assert!(unpushed(&repository).unwrap().iter().all(|branch| branch.more));
    assert!(repository.doubts().join("\n").contains("too much work"));
    // Another repository of the tree is read still, as far as its own share goes.
    let again = Repository::open(&live, &rel("")).unwrap().unwrap();
    assert!(!again.is_exhausted() && again.tree(&tree).is_ok());
    assert!(!crate::Named::new(&again).walk(&rel(""), tree, &mut paths));
    assert!(again.is_exhausted());
    assert!(live.effort().get() < most + 2 * own + (80 << 20));
}
