//! Archives: their body, with what is said of it behind the contents, the index, and the seek table.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use super::{HARMS, Harm, Sessions, damage, id_in};
use crate::support::documents::instances;
use crate::support::run::Run;

#[test]
fn s41_archives_that_are_damaged_are_named_and_the_others_restore() {
    let all = Sessions::new();
    let length = fs::metadata(all.files("archives", "ar-", ".tar.zst").0)
        .unwrap()
        .len();
    let eighth = i64::try_from(length / 8).unwrap();
    let body = (1..8).map(|part| (part * eighth, [Harm::Flip, Harm::Truncate].as_slice()));
    let ends = [600, -220, -6].map(|place| (place, HARMS.as_slice()));
    for (place, harms) in body.chain(ends) {
        for &harm in harms {
            all.again();
            let about = format!("{harm:?} at {place}");
            let (archive, other) = all.files("archives", "ar-", ".tar.zst");
            damage(&archive, place, harm, &other);
            let found = all.sandbox.jackin(["verify", "--read-data"]).code(7);
            found.has(&id_in(&archive));
            if harm == Harm::Swap {
                found.has(&id_in(&other));
                all.is_not_torn(&all.other, &about);
            }
            all.is_not_torn(&all.damaged, &about);
            all.whole_restores(&about);
            // Pruning takes nothing that is whole.
            all.sandbox.jackin(["prune", "--yes"]).code_in(&[0, 7]);
            all.sandbox.jackin(["diff", &all.whole.id]).ok();
            if harm == Harm::Swap {
                damage(&archive, place, harm, &other);
                all.verifies();
            }
        }
    }
}

/// The paths that are named, with their snapshots.
fn paths(run: &Run) -> BTreeSet<(String, String)> {
    let document: Value = run.json();
    let findings = document["findings"].as_array().unwrap();
    let path = |finding: &Value| {
        let (snapshot, path) = (finding["snapshot"].as_str()?, finding["path"].as_str()?);
        Some((snapshot.to_owned(), path.to_owned()))
    };
    findings.iter().filter_map(path).collect()
}

#[test]
fn reading_everything_names_every_path_that_a_look_names() {
    let all = Sessions::new();
    // The same contents in a session of their own: its archives have them whole.
    let twin = all.sandbox.project("twin");
    for entry in fs::read_dir(&all.damaged.project).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), twin.join(entry.file_name())).unwrap();
    }
    all.sandbox.launch(&twin, "echo agent > new");
    let of_twin = &instances(&all.sandbox.jackin(["list", "--json"]))[0];
    let of_twin = of_twin.snapshot("baseline").id.replace("sn-", "ar-");
    let (archive, other) = all.files("archives", "ar-", ".tar.zst");
    // Snapshots are read in the order of their ids. The second of the two is damaged: what the first one has is sound by then.
    let archive = archive.max(all.file("archives").join(format!("{of_twin}.tar.zst")));
    let good = fs::read(&archive).unwrap();
    for harm in [Harm::Flip, Harm::Remove] {
        // In the seek table: nothing in the archive can be found without it.
        damage(&archive, -6, harm, &other);
        let looked = paths(&all.sandbox.jackin(["verify", "--json"]).code(7));
        let read = paths(&all.sandbox.jackin(["verify", "--read-data", "--json"]).code(7));
        assert!(looked.len() >= 7, "{harm:?}: {looked:?}");
        assert!(looked.is_subset(&read), "{harm:?}: {looked:?} {read:?}");
        fs::write(&archive, &good).unwrap();
    }
}
