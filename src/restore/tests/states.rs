//! One path: every state at the baseline, at the session's end and now, with every permission.

use super::{BOTH, ChangeHistory, DELETE, NOTHING, OVERWRITE, Scope, plan, planned, words};
use crate::diff::tests::{dir, file, object, symlink, tree, with_mode, with_xattr};
use crate::model::{Entry, EntryKind, SnapshotId};

fn states() -> Vec<Option<Entry>> {
    vec![
        None,
        Some(file("one")),
        Some(file("two")),
        Some(with_mode(file("one"), 0o600)),
        Some(with_xattr(file("one"), "v")),
        Some(dir()),
        Some(with_mode(dir(), 0o700)),
        Some(symlink("one")),
        Some(symlink("two")),
        Some(object(EntryKind::Fifo, 0o644)),
    ]
}

fn same(a: &Option<Entry>, b: &Option<Entry>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.same_state(b),
        _ => false,
    }
}

/// The rule of the design, in its own words.
fn expected(
    then: &Option<Entry>,
    last: &Option<Entry>,
    now: &Option<Entry>,
    allow: super::Allow,
) -> Vec<String> {
    if same(then, now) {
        return vec![];
    }
    let action = match (then, now) {
        (_, None) => "create",
        (None, _) => "delete",
        (Some(then), Some(now)) if then.kind == now.kind => "metadata",
        _ => "replace",
    };
    let may = if action == "delete" {
        allow.delete_later
    } else {
        allow.overwrite_later
    };
    let later = match action {
        "create" => "deletion",
        "delete" if last.is_none() => "file",
        _ => "edit",
    };
    vec![match (same(now, last), may) {
        (true, _) => format!("{action} p"),
        (false, true) => format!("{action} p overrode"),
        (false, false) => format!("conflict p: {later}"),
    }]
}

#[test]
fn every_state_then_last_and_now_with_every_permission() {
    for then in states() {
        for last in states() {
            for now in states() {
                for allow in [NOTHING, OVERWRITE, DELETE, BOTH] {
                    let build = |state: &Option<Entry>| tree(state.clone().map(|entry| ("p", entry)));
                    let plan = planned(&build(&then), &build(&last), &build(&now), &Scope::All, allow);
                    let about = format!("{then:?}\n{last:?}\n{now:?}\n{allow:?}");
                    assert_eq!(words(&plan), expected(&then, &last, &now, allow), "{about}");
                }
            }
        }
    }
}

#[test]
fn without_a_seen_end_only_what_a_live_snapshot_shows_is_replaced_or_deleted() {
    // A checkpoint shows `seen`; `gone` and `lost` are missing now; the rest appeared after the checkpoint.
    let target = tree([
        ("edited", file("b")),
        ("gone", file("g")),
        ("lost", file("l")),
        ("seen", file("b")),
    ]);
    let checkpoint = tree([("edited", file("c")), ("made", file("m")), ("seen", file("c"))]);
    let now = tree([
        ("edited", file("d")),
        ("made", file("m")),
        ("new", file("n")),
        ("seen", file("c")),
    ]);
    let witness = ChangeHistory {
        live: vec![
            (SnapshotId::new([1; 12]), checkpoint.build().manifest),
            (SnapshotId::new([2; 12]), target.build().manifest),
        ],
        ..ChangeHistory::default()
    };
    let target = target.build().manifest;
    let words_with = |allow| {
        words(&plan(
            Some(&target),
            &now.build().side(),
            &witness,
            &Scope::All,
            allow,
        ))
    };
    assert_eq!(
        words_with(NOTHING),
        [
            "conflict edited: unvouched",
            "conflict new: unvouched",
            "create gone",
            "create lost",
            "delete made",
            "replace seen",
        ]
    );
    assert_eq!(
        words_with(BOTH),
        [
            "create gone",
            "create lost",
            "delete made",
            "delete new overrode",
            "replace edited overrode",
            "replace seen",
        ]
    );
}

#[test]
fn a_socket_is_never_made_and_is_removed_like_anything_else() {
    let socket = || object(EntryKind::Socket, 0o755);
    for (then, now, expected) in [
        (Some(socket()), None, vec!["kept p: socket"]),
        (Some(socket()), Some(file("f")), vec!["kept p: socket"]),
        (Some(socket()), Some(dir()), vec!["kept p: socket"]),
        (
            Some(socket()),
            Some(with_mode(socket(), 0o700)),
            vec!["metadata p"],
        ),
        (None, Some(socket()), vec!["delete p"]),
        (Some(file("f")), Some(socket()), vec!["replace p"]),
        (Some(socket()), Some(socket()), vec![]),
    ] {
        let build = |state: &Option<Entry>| tree(state.clone().map(|entry| ("p", entry)));
        let plan = planned(&build(&then), &build(&now), &build(&now), &Scope::All, NOTHING);
        assert_eq!(words(&plan), expected, "{then:?} {now:?}");
    }
}

#[test]
fn the_root_is_made_again_and_changed_but_never_removed() {
    let full = tree([("d", dir()), ("d/f", file("f"))]).build();
    let ours = |manifest| ChangeHistory {
        last: Some(manifest),
        ..ChangeHistory::default()
    };
    let witness = ours(full.manifest.clone());
    let gone = plan(None, &full.side(), &witness, &Scope::All, NOTHING);
    assert_eq!(words(&gone), ["delete d", "delete d/f", "kept : root"]);
    let missing = crate::diff::Side {
        manifest: None,
        skipped: &[],
    };
    let again = plan(
        Some(&full.manifest),
        &missing,
        &ChangeHistory::default(),
        &Scope::All,
        NOTHING,
    );
    assert_eq!(words(&again), ["create ", "create d", "create d/f"]);
    let mut shut = full.manifest.clone();
    shut.root.mode = 0o700;
    let changed = plan(
        Some(&shut),
        &full.side(),
        &ours(full.manifest.clone()),
        &Scope::All,
        NOTHING,
    );
    assert_eq!(words(&changed), ["metadata "]);
}
