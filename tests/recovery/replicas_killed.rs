//! Two hundred snapshots, while the server is killed, refuses, breaks off and answers into the void, and while what copies is killed:
//! in the end a fresh home on another machine has all of them, exactly.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::replicas::{brought_back, comes_back, copied, own_key, signed};
use crate::support::bucket::{Bucket, Door};
use crate::support::kill::Dice;
use crate::support::machine::is_nightly;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Snapshots of a session, its baseline and its closing one among them.
const MOMENTS: u64 = 20;
/// Sessions of the test: ten at night.
fn sessions() -> u64 {
    if is_nightly() { 10 } else { 1 }
}

/// One snapshot and what the tree was then.
struct Moment {
    session: String,
    snapshot: String,
    tree: Tree,
}

/// Changes a project a little.
fn work(project: &Path, dice: &mut Dice, step: u64) {
    let file = |number: u64| project.join(format!("directory-{}/file-{number}", number % 7));
    for _ in 0..3 {
        let path = file(dice.below(40));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let lines = usize::try_from(dice.below(400)).unwrap();
        fs::write(&path, format!("{step} {}\n", dice.below(1 << 40)).repeat(lines)).unwrap();
    }
    let gone = file(dice.below(40));
    if gone.is_file() {
        fs::remove_file(gone).unwrap();
    }
}

/// Something happens to the server, or to what copies.
fn trouble(sandbox: &Sandbox, bucket: &mut Bucket, dice: &mut Dice, kills: &mut u64) {
    match dice.below(10) {
        0 => bucket.door(Door::Shut),
        1 => bucket.door(Door::Busy),
        2 => bucket.door(Door::Deaf),
        3 => bucket.door(Door::Torn),
        4 => bucket.kill(),
        5 => bucket.revive(),
        6 | 7 => {
            bucket.door(Door::Open);
            let copying = bucket.signed(sandbox.command(["replicate"])).apart().start();
            std::thread::sleep(Duration::from_millis(dice.below(250)));
            let group = Pid::from_raw(copying.child.id().cast_signed()).unwrap();
            let _ = kill_process_group(group, Signal::KILL);
            copying.finish();
            *kills += 1;
        }
        _ => bucket.door(Door::Open),
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn snapshots_survive_kills_and_refusals() {
    let Some(mut bucket) = Bucket::start() else { return };
    let sandbox = copied("[recovery.retention]\ninstances = 0\ncheckpoints = 0\n");
    let mut dice = Dice::new(0x5eed);
    let (mut moments, mut kills, mut troubles) = (Vec::new(), 0, 0);
    for session in 0..sessions() {
        let project = sandbox.project(&format!("project-{}", session % 3));
        work(&project, &mut dice, 0);
        let begun = signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
        let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
        let mut note = |snapshot: &str| {
            moments.push(Moment {
                session: id.clone(),
                snapshot: snapshot.to_owned(),
                tree: Tree::read(&project),
            });
        };
        note("baseline");
        for step in 1..MOMENTS - 1 {
            work(&project, &mut dice, step);
            if dice.below(3) == 0 {
                trouble(&sandbox, &mut bucket, &mut dice, &mut kills);
                troubles += 1;
            }
            let name = format!("step-{step}");
            // Whatever the server does, a snapshot is taken.
            signed(&sandbox, &bucket, &["checkpoint", &id, "--name", &name]).ok();
            note(&name);
        }
        work(&project, &mut dice, MOMENTS);
        signed(&sandbox, &bucket, &["end", &id]).ok();
        note("closing");
    }
    assert_eq!(moments.len() as u64, sessions() * MOMENTS);
    let enough = kills * 2 >= sessions() && troubles >= sessions() * 4;
    assert!(enough, "{kills} kills, {troubles} troubles");
    bucket.door(Door::Open);
    bucket.revive();
    let done = signed(&sandbox, &bucket, &["replicate", "--json"]).ok().json();
    assert_eq!(done["waiting"]["snapshots"], 0, "{done}");
    assert_eq!(done["waiting"]["receipts"], 0, "{done}");
    // Brought back under kills, too.
    let fresh = Sandbox::new();
    let identity = own_key(&fresh);
    let args = [
        "import",
        "--from",
        crate::replicas::PLACE,
        "--identity",
        &identity,
        "--yes",
    ];
    for _ in 0..6 {
        let importing = bucket.signed(fresh.command(args)).apart().start();
        std::thread::sleep(Duration::from_millis(100 + dice.below(1500)));
        let group = Pid::from_raw(importing.child.id().cast_signed()).unwrap();
        let _ = kill_process_group(group, Signal::KILL);
        importing.finish();
    }
    signed(&fresh, &bucket, &args).ok();
    for moment in &moments {
        comes_back(&fresh, &moment.session, &moment.snapshot, &moment.tree);
    }
    for args in [
        vec!["verify", "--read-data"],
        vec!["log", "--verify"],
        vec!["rebuild"],
    ] {
        fresh.jackin(args).ok();
    }
    // And in one go.
    let (other, told) = brought_back(&bucket, &[]);
    assert_eq!(told["snapshots"].as_array().unwrap().len(), moments.len());
    let size = |sandbox: &Sandbox| -> u64 {
        let archives = fs::read_dir(sandbox.store().join("archives")).unwrap();
        archives
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum()
    };
    // What several snapshots share is stored once.
    assert!(
        size(&other) < 3 * size(&sandbox),
        "{} {}",
        size(&other),
        size(&sandbox)
    );
    eprintln!(
        "{kills} kills, {troubles} troubles; archives {} here, {} there",
        size(&sandbox),
        size(&other)
    );
}
