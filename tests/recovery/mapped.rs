//! Writes through a shared mapping: a page that is dirty already takes stores without a new time, and they count like any others.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::support::build::Build;
use crate::support::documents::instances;
use crate::support::mapping::Mapping;
use crate::support::rows::rows;
use crate::support::sandbox::Sandbox;
use crate::support::volume::Volume;

const SIZE: usize = 1 << 16;

/// Longer than any file system takes for a change to be older than the next capture.
fn rest() {
    sleep(Duration::from_millis(60));
}

/// A project with a file that is dirty through a mapping.
fn dirty(project: &Path) -> Option<Mapping> {
    Build::at(project)
        .file("mapped", vec![0; SIZE])
        .file("dir/kept", "kept\n");
    let mut mapping = Mapping::of(&project.join("mapped"))?;
    mapping.store(0, "FIRST");
    rest();
    Some(mapping)
}

#[track_caller]
fn begins_with(file: &Path, wanted: &str) {
    let content = fs::read(file).unwrap();
    assert_eq!(content.len(), SIZE, "{}", file.display());
    assert_eq!(String::from_utf8_lossy(&content[..wanted.len()]), wanted);
}

/// A store between two sessions, one within a session, and one between checkpoints: each snapshot has what was there.
fn each_store_is_captured(project: &Path, sandbox: &Sandbox) {
    let Some(mut mapping) = dirty(project) else { return };
    sandbox.launch(project, "true");
    // Between two sessions, on a page that was dirty at the first one.
    mapping.store(0, "SECOND");
    rest();
    let id = sandbox.launch(project, "rm mapped");
    sandbox.restore(&id, &[]);
    begins_with(&project.join("mapped"), "SECOND");
    drop(mapping);

    // Within a session: dirty before it began.
    let Some(mut mapping) = Mapping::of(&project.join("mapped")) else {
        return;
    };
    mapping.store(0, "BEFORE");
    rest();
    let id = sandbox.session(project, |_| {
        mapping.store(0, "WITHIN");
        rest();
    });
    drop(mapping);
    sandbox
        .diff(&id, &["--from", "baseline", "--to", "closing"])
        .are(&[("modified", "mapped")]);
    sandbox.restore(&id, &[]).touched(&["mapped"]);
    begins_with(&project.join("mapped"), "BEFORE");
    sandbox.undo(&id);
    begins_with(&project.join("mapped"), "WITHIN");

    // Between checkpoints, each on the page that the one before saw dirty.
    let Some(mut mapping) = Mapping::of(&project.join("mapped")) else {
        return;
    };
    let id = sandbox.session(project, |_| {
        for text in ["ONE", "TWO", "THREE"] {
            mapping.store(0, text);
            rest();
            let id = sandbox.newest();
            sandbox.jackin(["checkpoint", &id, "--name", text]).ok();
        }
    });
    for text in ["ONE", "TWO", "THREE"] {
        let to = sandbox.world().join(text);
        let to = to.to_str().unwrap();
        sandbox
            .jackin(["restore", &id, "--from", text, "--to", to, "--yes"])
            .ok();
        begins_with(&Path::new(to).join("mapped"), text);
    }
}

/// Returns true if the file was like this at one moment. The program writes from the front to the back, a few pages at a time, and may
/// have had no turn in the middle of a round: then the front is one round ahead of the back. The copying function of the C library
/// stores the ends, at most 256 bytes each, when all else is done, so the first and the last page are not looked at.
fn is_of_one_moment(bytes: &[u8]) -> bool {
    const PAGE: usize = 4 << 10;
    let bytes = &bytes[PAGE..bytes.len() - PAGE];
    let (front, back) = (bytes[0], bytes[bytes.len() - 1]);
    let end_of_front = bytes.iter().position(|byte| *byte != front);
    let start_of_back = bytes.iter().rposition(|byte| *byte != back);
    match (end_of_front, start_of_back) {
        (None, _) => true,
        (Some(end), Some(start)) => front == back % 250 + 1 && start < end + (64 << 10),
        (Some(_), None) => false,
    }
}

/// Describes the first runs of equal bytes.
fn runs(bytes: &[u8]) -> String {
    let runs = bytes.chunk_by(|one, next| one == next).take(40);
    let runs = runs.map(|run| format!("{} times {}", run.len(), run[0]));
    runs.collect::<Vec<_>>().join(", ")
}

#[test]
fn a_moment_is_told_from_a_torn_file() {
    let file = |parts: &[(u8, usize)]| {
        let parts = parts.iter().map(|(byte, pages)| vec![*byte; pages << 12]);
        parts.flatten().collect::<Vec<u8>>()
    };
    for moment in [
        &[(7, 3000)][..],
        &[(8, 1000), (7, 2000)],
        &[(1, 100), (250, 2900)],
        &[(8, 999), (7, 1), (8, 1), (7, 1999)],
        &[(7, 1), (8, 999), (7, 2000)],
    ] {
        assert!(is_of_one_moment(&file(moment)), "{moment:?}");
    }
    for torn in [
        &[(7, 1000), (8, 2000)][..],
        &[(9, 1000), (7, 2000)],
        &[(8, 1000), (7, 1000), (8, 1000)],
        &[(8, 1), (7, 1000), (8, 1000), (7, 1)],
    ] {
        assert!(!is_of_one_moment(&file(torn)), "{torn:?}");
    }
}

/// A file that another program rewrites through a mapping while it is read is named, and is not called complete.
fn a_torn_file_is_named(project: &Path, sandbox: &Sandbox) {
    Build::at(project).file("torn", vec![0; 12 << 20]).aged();
    let Some(mut mapping) = Mapping::of(&project.join("torn")) else {
        return;
    };
    mapping.spin();
    for attempt in 0..10 {
        let id = sandbox.launch(project, "true");
        let listed = sandbox.jackin(["list", "--json"]).ok();
        let sessions = instances(&listed);
        if !sessions[0].snapshot("baseline").complete {
            sandbox.jackin(["show", &id]).ok().shows("torn");
            return;
        }
        let to = sandbox.world().join(format!("torn-{attempt}"));
        let words = [
            "restore",
            &id,
            "--from",
            "baseline",
            "--to",
            to.to_str().unwrap(),
            "--yes",
        ];
        sandbox.jackin(words).ok();
        let bytes = fs::read(to.join("torn")).unwrap();
        assert!(
            is_of_one_moment(&bytes),
            "a torn file is called complete: {}\n{listed}",
            runs(&bytes)
        );
    }
    panic!("the file was never rewritten while it was read");
}

fn on(mount: impl Fn(&Path) -> Option<Volume>) {
    for check in [each_store_is_captured, a_torn_file_is_named] {
        let sandbox = Sandbox::new();
        let disk = sandbox.sources().join("disk");
        let Some(_volume) = mount(&disk) else { return };
        check(&disk.join("project"), &sandbox);
    }
}

#[test]
fn stores_through_a_mapping_count_here() {
    let sandbox = Sandbox::new();
    each_store_is_captured(&sandbox.project("project"), &sandbox);
    let sandbox = Sandbox::new();
    a_torn_file_is_named(&sandbox.project("project"), &sandbox);
}

rows! {
    on:
    stores_through_a_mapping_count_on_ext4(|at| Volume::image(at, "ext4", 160 << 20, &["mkfs.ext4", "-q"]));
    stores_through_a_mapping_count_on_xfs(|at| Volume::image(at, "xfs", 320 << 20, &["mkfs.xfs", "-q", "-f"]));
    stores_through_a_mapping_count_on_btrfs(|at| Volume::image(at, "btrfs", 200 << 20, &["mkfs.btrfs", "-q", "-f"]));
    stores_through_a_mapping_count_on_tmpfs(Volume::tmpfs);
}

#[test]
fn stores_through_a_mapping_count_on_an_overlay() {
    on(|at| {
        let layers = at.with_extension("layers");
        let lower = at.with_extension("lower");
        fs::create_dir_all(&lower).unwrap();
        Volume::overlay(at, &lower, &layers, "")
    });
}

#[test]
fn stores_through_a_mapping_count_on_an_overlay_in_memory() {
    let sandbox = Sandbox::new();
    let memory = sandbox.sources().join("memory");
    let Some(_memory) = Volume::tmpfs(&memory) else {
        return;
    };
    for check in [each_store_is_captured, a_torn_file_is_named] {
        let sandbox = Sandbox::new();
        let (disk, lower) = (sandbox.sources().join("disk"), sandbox.sources().join("lower"));
        let layers = memory.join(sandbox.world().file_name().unwrap());
        fs::create_dir_all(&lower).unwrap();
        let Some(_volume) = Volume::overlay(&disk, &lower, &layers, "") else {
            return;
        };
        check(&disk.join("project"), &sandbox);
    }
}
