//! Lookup of sessions and snapshots by a word, and words that may be names.

use super::{record, row};
use crate::capture::tests::Place;
use crate::capture::{Request, take};
use crate::clock::Clock as _;
use crate::model::{InstanceId, SnapshotId, SnapshotKind};
use crate::observer::Silent;
use crate::session::{SessionError, check_name, find_instance, find_snapshot};

/// Result of a lookup: one id, several ids, or nothing.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    One(String),
    Several(Vec<String>),
    Nothing,
}

fn find(place: &Place, wanted: &str) -> Found {
    match find_instance(&place.store, wanted) {
        Ok(row) => Found::One(row.id.to_string()),
        Err(SessionError::Ambiguous { candidates, .. }) => Found::Several(candidates),
        Err(SessionError::Unknown { wanted: said, .. }) => {
            assert_eq!(said, wanted);
            Found::Nothing
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_instance_goes_by_its_id_a_prefix_its_workspace_and_its_label() {
    let place = Place::new();
    let [one, two, three, four] = [
        ("rc-aaaaaaaa-demo", Some("demo")),
        ("rc-aaaabbbb-demo", Some("demo")),
        ("rc-cccccccc-other", None),
        ("rc-dddddddd-aaaab", Some("aaaab")),
    ]
    .map(|(id, workspace)| record(&place, id, workspace, vec![]).id.to_string());
    let one_of = |id: &String| Found::One(id.clone());
    for (wanted, expected) in [
        ("@latest", one_of(&four)),
        ("rc-aaaaaaaa-demo", one_of(&one)),
        ("rc-aaaaa", one_of(&one)),
        ("aaaaa", one_of(&one)),
        ("rc-aaaab", one_of(&two)),
        ("rc-c", one_of(&three)),
        ("cccc", one_of(&three)),
        // Fewer letters are no id, but a name that was never given.
        ("ccc", Found::Nothing),
        ("c", Found::Nothing),
        ("demo", one_of(&two)),
        ("other", one_of(&three)),
        // The name of a workspace is no prefix.
        ("aaaab", one_of(&four)),
        ("rc-aaaa", Found::Several(vec![two.clone(), one.clone()])),
        ("aaaa", Found::Several(vec![two.clone(), one.clone()])),
        (
            "rc-",
            Found::Several(vec![four.clone(), three.clone(), two.clone(), one.clone()]),
        ),
        ("", Found::Nothing),
        ("rc-aaaaaaaa-demo-", Found::Nothing),
        ("DEMO", Found::Nothing),
        ("latest", Found::Nothing),
        ("%", Found::Nothing),
        ("../../etc/passwd", Found::Nothing),
        ("' OR 1=1 --", Found::Nothing),
    ] {
        assert_eq!(find(&place, wanted), expected, "{wanted:?}");
    }
}

#[test]
fn the_nearest_come_first_and_never_more_than_five() {
    let place = Place::new();
    assert_eq!(find(&place, "@latest"), Found::Nothing);
    for (number, label) in ["kitchen", "garden", "cellar", "attic", "hall", "porch"]
        .iter()
        .enumerate()
    {
        record(
            &place,
            &format!("rc-0000000{number}-{label}"),
            Some(label),
            vec![],
        );
    }
    for wanted in ["gardne", "garden2", "rc-00000001-gardem"] {
        let Err(SessionError::Unknown { nearest, .. }) = find_instance(&place.store, wanted) else {
            panic!("{wanted}");
        };
        assert_eq!(nearest[0], "rc-00000001-garden", "{wanted}");
        assert!(nearest.len() <= 5);
    }
    let endless = "x".repeat(1 << 20);
    assert_eq!(find(&place, &endless), Found::Nothing);
}

fn capture(place: &Place, id: &InstanceId, kind: SnapshotKind, name: Option<&str>) -> SnapshotId {
    let coverages = [place.coverage()];
    let request = Request {
        name,
        ..Request::of(id, kind, &coverages, (place.clock.now(), 1000))
    };
    take(&place.store, &request, &Silent, &place.entropy)
        .unwrap()
        .record
        .id
}

#[test]
fn a_snapshot_goes_by_its_kind_its_name_its_id_and_a_prefix() {
    let place = Place::with(&[("f", "f")]);
    let instance = record(&place, "rc-aaaaaaaa-demo", None, vec![place.coverage()]);
    let stranger = record(&place, "rc-bbbbbbbb-demo", None, vec![place.coverage()]);
    let baseline = capture(&place, &instance.id, SnapshotKind::Baseline, None);
    let first = capture(&place, &instance.id, SnapshotKind::Checkpoint, Some("step"));
    let second = capture(&place, &instance.id, SnapshotKind::Checkpoint, Some("other"));
    let again = capture(&place, &instance.id, SnapshotKind::Checkpoint, Some("step"));
    let foreign = capture(&place, &stranger.id, SnapshotKind::Closing, None);
    let row = row(&place, &instance.id);
    let bare = |id: &SnapshotId| id.as_str().trim_start_matches("sn-").to_owned();
    let cases: &[(&str, Option<&SnapshotId>)] = &[
        ("baseline", Some(&baseline)),
        ("checkpoint", Some(&again)),
        ("step", Some(&again)),
        ("other", Some(&second)),
        (first.as_str(), Some(&first)),
        (&bare(&first), Some(&first)),
        ("closing", None),
        ("emergency", None),
        ("late", None),
        ("Baseline", None),
        ("ste", None),
        ("", None),
        ("sn-", None),
        // All ids of this test begin alike.
        ("sn-0000", None),
        ("0000", None),
        (foreign.as_str(), None),
        ("../baseline", None),
    ];
    for (wanted, expected) in cases {
        match (find_snapshot(&place.store, &row, wanted), expected) {
            (Ok(found), Some(id)) => assert_eq!(&found.id, *id, "{wanted}"),
            (Err(SessionError::NoSnapshot { known, .. }), None) => {
                assert_eq!(known.len(), 4, "{wanted}");
                assert!(known.contains(&"step".to_owned()));
            }
            (other, _) => panic!("{wanted}: {other:?}"),
        }
    }
}

#[test]
fn a_checkpoints_name_is_short_plain_and_stands_for_nothing_else() {
    let longest = "x".repeat(128);
    for good in [
        "a",
        "_",
        "0a",
        "before-refactoring",
        "v1.2.3",
        "A_b-C.d",
        "snapshot",
        "rc",
        "nowhere",
        "Latest",
        "maqckmy5d53",
        "maqckmy5d53g4",
        "checkpoint12",
        "MAQCKMY5D53G",
        &longest,
    ] {
        assert!(check_name(good).is_ok(), "{good:?}");
    }
    let long = "x".repeat(129);
    for bad in [
        "",
        "-a",
        ".",
        "..",
        "v1..v2",
        "0",
        "12",
        ".hidden",
        "a b",
        "a/b",
        "a\n",
        "a\0",
        "ä",
        "a\u{202e}b",
        "\u{1b}[31m",
        "@latest",
        "baseline",
        "checkpoint",
        "closing",
        "emergency",
        "now",
        "latest",
        "sn-a",
        "rc-aaaaaaaa-x",
        "ar-",
        "jk-container",
        "maqckmy5d53g",
        "000000000000",
        &long,
    ] {
        let error = check_name(bad);
        assert!(
            matches!(&error, Err(SessionError::CheckpointName { name, .. }) if name == bad),
            "{bad:?}"
        );
    }
}
