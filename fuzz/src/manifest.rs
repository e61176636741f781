//! Manifest chunks and lists. What is put together from them is safe to use, and comes back the same when it is written again.

use jackin_recovery::diff::{Side, compare};
use jackin_recovery::model::{
    Chunk, Directory, Entry, EntryKind, Manifest, ManifestList, Part, RelPath, WithheldPath, WithheldReason,
    runs,
};

use super::feed::Feed;
use super::names;

/// A list, and then the chunks that it is said to name, each behind its length.
pub fn manifest(bytes: &[u8]) -> bool {
    let mut feed = Feed(bytes);
    let list = ManifestList::decode(feed.piece());
    let mut chunks = Vec::new();
    while !feed.is_empty() {
        chunks.push(Chunk::decode(feed.piece()));
    }
    for parts in chunks.iter().flatten() {
        parts
            .iter()
            .filter_map(Part::directory)
            .for_each(|dir| directory(dir));
    }
    let Ok(list) = list else { return false };
    assert_eq!(ManifestList::decode(&list.encode()).as_ref(), Ok(&list));
    let Ok(chunks) = chunks.into_iter().collect() else {
        return false;
    };
    let Ok(manifest) = list.assemble(chunks) else {
        return false;
    };
    check(&manifest);
    let written = write(&manifest);
    let read = read(&written);
    assert_eq!(read, manifest, "it is another one when it was written and read");
    assert_eq!(write(&read), written, "the same manifest gives other bytes");
    true
}

/// The list, and the chunks.
fn write(manifest: &Manifest) -> (Vec<u8>, Vec<Vec<u8>>) {
    let chunks: Vec<Chunk> = runs(manifest).iter().map(|run| run.encode(manifest)).collect();
    let list = ManifestList {
        root: manifest.root.clone(),
        chunks: chunks.iter().map(|chunk| chunk.digest).collect(),
    };
    (
        list.encode(),
        chunks.into_iter().map(|chunk| chunk.bytes).collect(),
    )
}

fn read((list, chunks): &(Vec<u8>, Vec<Vec<u8>>)) -> Manifest {
    let list = ManifestList::decode(list).expect("our own list");
    let chunks = chunks
        .iter()
        .map(|chunk| Chunk::decode(chunk).expect("our own chunk"));
    list.assemble(chunks.collect()).expect("our own chunks")
}

/// As `docs/format.md` says under "Rules for readers".
fn check(manifest: &Manifest) {
    let directories = &manifest.directories;
    assert!(directories.first().is_some_and(|dir| dir.path.is_root()));
    assert!(manifest.root.is_dir());
    for pair in directories.windows(2) {
        assert!(parts(&pair[0].path) < parts(&pair[1].path), "out of order");
    }
    for dir in directories {
        directory(dir);
        if let Some((_, name)) = dir.path.split() {
            let named = manifest.entry(&dir.path).expect("its parent names it");
            assert!(
                named.is_dir() && named.name == name,
                "{:?} is no directory",
                dir.path
            );
        }
    }
    let mut count = 0;
    for (path, entry) in manifest.entries() {
        names::check(&path);
        assert_eq!(manifest.entry(&path), Some(entry), "{path:?} is not found");
        if let Some(first) = &entry.link {
            let first = manifest.entry(first).expect("its first name is there");
            assert!(first.link.is_none() && first.kind == entry.kind && !entry.is_dir());
        }
        count += 1;
    }
    assert_eq!(manifest.entry_count(), count);
    assert!(manifest.totals().1 <= i64::MAX.unsigned_abs());
    let lacks = manifest.lacks(&[]);
    let agreed: Vec<WithheldPath> = lacks.iter().map(|(path, _)| withheld(path)).collect();
    assert!(manifest.lacks(&agreed).iter().all(|lack| lacks.contains(lack)));
    let side = Side {
        manifest: Some(manifest),
        skipped: &[],
    };
    assert_eq!(compare(&side, &side).changes, [], "it differs from itself");
}

fn directory(dir: &Directory) {
    names::check(&dir.path);
    assert!(dir.entries.is_sorted_by(|a, b| a.name < b.name));
    assert!(dir.gaps.is_sorted_by(|a, b| a.name < b.name));
    for gap in &dir.gaps {
        assert!(names::is_name(gap.name.as_bytes()) && dir.entry(&gap.name).is_none());
    }
    dir.entries.iter().for_each(entry);
}

fn entry(entry: &Entry) {
    assert!(names::is_name(entry.name.as_bytes()), "{:?}", entry.name);
    assert!(entry.mode <= 0o7777, "{:o}", entry.mode);
    assert!(entry.mtime.nsec < 1_000_000_000 && entry.ctime.nsec < 1_000_000_000);
    assert!(entry.flags.is_empty() || matches!(entry.kind, EntryKind::File(_) | EntryKind::Directory));
    assert!(entry.xattrs.is_sorted_by(|a, b| a.name < b.name));
    entry.link.iter().for_each(names::check);
}

/// Sorted as these are, a subtree is in one piece.
fn parts(path: &RelPath) -> Vec<&[u8]> {
    path.parts().collect()
}

fn withheld(path: &RelPath) -> WithheldPath {
    WithheldPath {
        path: path.clone(),
        reason: WithheldReason::Sensitive,
    }
}
