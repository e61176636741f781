//! Attribution of states: every kind of evidence, alone and against each other.

use std::collections::HashMap;
use std::path::Path;

use super::{ChangeHistory, NOTHING, Scope, path, plan, words};
use crate::capture::tests::coverage;
use crate::contract::Matcher;
use crate::diff::tests::{Tree, dir, file, tree, with_mode};
use crate::model::{Entry, ExcludeRule, ExcludeSource, InstanceId, Listing, Manifest, RelPath, SnapshotId};
use crate::restore::activity::{Activity, Call, Span};
use crate::restore::authorship::Look;
use crate::restore::timeline::Timeline;
use crate::restore::{LeftState, ShownWork, Verdict};

fn manifest(entries: &[(&str, &str)]) -> Manifest {
    tree(entries.iter().map(|(at, content)| (*at, file(content))))
        .build()
        .manifest
}

fn states(list: &[(&str, Option<&str>)]) -> HashMap<RelPath, Vec<Option<Entry>>> {
    let mut states: HashMap<_, Vec<_>> = HashMap::new();
    for (at, content) in list {
        states.entry(path(at)).or_default().push(content.map(file));
    }
    states
}

/// States that jackin made.
fn left_states(list: &[(&str, Option<&str>)]) -> HashMap<RelPath, Vec<LeftState>> {
    let made = |state| LeftState {
        state,
        shows: ShownWork::Jackins,
        receipt: 9,
    };
    let states = states(list).into_iter();
    let left = states.map(|(path, states)| (path, states.into_iter().map(made).collect()));
    left.collect()
}

fn other() -> InstanceId {
    InstanceId::new([2; 8], "other")
}

/// Two sessions that lived during a change of `p`.
fn overlapping() -> Timeline {
    let ids = [1, 2].map(|number| SnapshotId::new([number; 12]));
    let span = Span { start: 1, end: 9 };
    let activity = Activity {
        working: vec![span],
        calls: vec![Call {
            span,
            paths: Vec::new(),
        }],
        idle: Vec::new(),
        ..Activity::default()
    };
    let look = |number| Look {
        since: number - 1,
        number,
        by: 0,
        at_rest: false,
    };
    Timeline::made(
        vec![
            (InstanceId::new([1; 8], "own"), activity.clone()),
            (other(), activity),
        ],
        vec![(look(2), ids[0].clone()), (look(8), ids[1].clone())],
        vec![
            (ids[0].clone(), manifest(&[("p", "base")])),
            (ids[1].clone(), manifest(&[("p", "s")])),
        ],
    )
}

struct Case {
    about: &'static str,
    witness: ChangeHistory,
    then: Option<&'static str>,
    now: Option<&'static str>,
    verdict: Verdict,
}

fn case(
    about: &'static str,
    witness: ChangeHistory,
    then: Option<&'static str>,
    now: Option<&'static str>,
    verdict: Verdict,
) -> Case {
    Case {
        about,
        witness,
        then,
        now,
        verdict,
    }
}

fn seen(last: &[(&str, &str)]) -> ChangeHistory {
    ChangeHistory {
        last: Some(manifest(last)),
        ..ChangeHistory::default()
    }
}

fn lost(live: &[&[(&str, &str)]]) -> ChangeHistory {
    ChangeHistory {
        live: (0..)
            .zip(live)
            .map(|(number, entries)| (SnapshotId::new([number; 12]), manifest(entries)))
            .collect(),
        ..ChangeHistory::default()
    }
}

#[test]
fn each_testimony_counts_for_what_it_shows() {
    use Verdict::{Later, Ours, Settled, Shared, Unvouched};
    let shared = |mut witness: ChangeHistory| {
        witness.timeline = overlapping();
        witness
    };
    let left = |mut witness: ChangeHistory, list: &[(&str, Option<&str>)]| {
        witness.left = left_states(list);
        witness
    };
    let elsewhere = |mut witness: ChangeHistory, list: &[(&str, Option<&str>)]| {
        witness.elsewhere = states(list);
        witness
    };
    let undo = |list: &[(&str, Option<&str>)]| ChangeHistory {
        left: left_states(list),
        only_left: true,
        ..ChangeHistory::default()
    };
    let base = Some("base");
    let cases = [
        case("seen end, same", seen(&[("p", "s")]), base, Some("s"), Ours),
        case("seen end, changed", seen(&[("p", "s")]), base, Some("t"), Later),
        case("seen end, gone then and now", seen(&[]), base, None, Ours),
        case("seen end, gone later", seen(&[("p", "s")]), base, None, Later),
        case("seen end, made later", seen(&[]), None, Some("t"), Later),
        case(
            "lost, a checkpoint shows it",
            lost(&[&[("p", "c")], &[]]),
            base,
            Some("c"),
            Ours,
        ),
        case(
            "lost, an older one shows it",
            lost(&[&[], &[("p", "c")]]),
            base,
            Some("c"),
            Ours,
        ),
        case(
            "lost, none shows it",
            lost(&[&[("p", "c")]]),
            base,
            Some("t"),
            Unvouched,
        ),
        case(
            "lost, missing loses nothing",
            lost(&[&[("p", "c")]]),
            base,
            None,
            Ours,
        ),
        case("lost without any snapshot", lost(&[]), base, Some("t"), Unvouched),
        case(
            "shared",
            shared(seen(&[("p", "s")])),
            base,
            Some("s"),
            Shared(vec![other()]),
        ),
        case(
            "shared and lost",
            shared(lost(&[])),
            base,
            None,
            Shared(vec![other()]),
        ),
        case(
            "shared, but our own restore left it",
            left(shared(seen(&[("p", "s")])), &[("p", Some("r"))]),
            base,
            Some("r"),
            Ours,
        ),
        case(
            "our restore left it",
            left(seen(&[("p", "s")]), &[("p", Some("r"))]),
            base,
            Some("r"),
            Ours,
        ),
        case(
            "our restore left nothing",
            left(seen(&[("p", "s")]), &[("p", None)]),
            base,
            None,
            Ours,
        ),
        case(
            "an older restore left it",
            left(seen(&[("p", "s")]), &[("p", Some("q")), ("p", Some("r"))]),
            base,
            Some("r"),
            Ours,
        ),
        case(
            "a restore left another path",
            left(seen(&[("p", "s")]), &[("q", Some("r"))]),
            base,
            Some("r"),
            Later,
        ),
        case(
            "another's restore, and the session never touched it",
            elsewhere(seen(&[("p", "base")]), &[("p", Some("r"))]),
            base,
            Some("r"),
            Settled,
        ),
        case(
            "another's restore of what the session changed",
            elsewhere(seen(&[("p", "s")]), &[("p", Some("r"))]),
            base,
            Some("r"),
            Later,
        ),
        case(
            "another's restore left what the session left",
            elsewhere(seen(&[("p", "s")]), &[("p", Some("s"))]),
            base,
            Some("s"),
            Ours,
        ),
        case(
            "an undo takes back what was left",
            undo(&[("p", Some("r"))]),
            base,
            Some("r"),
            Ours,
        ),
        case(
            "and nothing else",
            undo(&[("p", Some("r"))]),
            base,
            Some("t"),
            Later,
        ),
        case(
            "not even what is missing",
            undo(&[("p", Some("r"))]),
            base,
            None,
            Later,
        ),
    ];
    for case in cases {
        let (then, now) = (case.then.map(file), case.now.map(file));
        let verdict = case.witness.judge(&path("p"), then.as_ref(), now.as_ref());
        assert_eq!(verdict, case.verdict, "{}", case.about);
    }
}

#[test]
fn what_a_snapshot_does_not_know_it_does_not_show() {
    // Nothing is there now: was it so at the session's end?
    let absent: &[(&str, Tree, &str, bool)] = &[
        ("proven", tree([]), "p", true),
        ("proven above", tree([]), "d/e/p", true),
        ("a file above", tree([("d", file("f"))]), "d/e/p", true),
        ("a gap", tree([]).gap("p"), "p", false),
        ("a gap above", tree([]).gap("d"), "d/e/p", false),
        (
            "an unsettled list",
            tree([]).listing("", Listing::Unsettled),
            "p",
            false,
        ),
        (
            "a partial list, whole for what was asked",
            tree([]).listing("", Listing::Partial),
            "p",
            true,
        ),
        (
            "an unreadable list above",
            tree([("d", dir())]).listing("d", Listing::Unreadable),
            "d/e/p",
            false,
        ),
        (
            "proven below a doubtful list",
            tree([("d", dir())]).listing("", Listing::Unsettled),
            "d/p",
            true,
        ),
    ];
    for (about, last, at, known) in absent {
        let witness = ChangeHistory {
            last: Some(last.build().manifest),
            ..ChangeHistory::default()
        };
        // To create what is missing loses nothing.
        let verdict = witness.judge(&path(at), Some(&file("base")), None);
        assert_eq!(verdict, Verdict::Ours, "{about}");
        let verdict = witness.judge(&path(at), Some(&file("base")), Some(&file("mine")));
        let expected = if *known {
            Verdict::Later
        } else {
            Verdict::Unvouched
        };
        assert_eq!(verdict, expected, "{about}");
    }
}

#[test]
fn a_settled_path_is_neither_done_nor_a_conflict_and_keeps_its_directory() {
    let target = tree([("p", file("base"))]).build();
    let now = tree([("p", file("r")), ("q", file("made"))]).build();
    let witness = ChangeHistory {
        last: Some(tree([("p", file("base")), ("q", file("made"))]).build().manifest),
        elsewhere: states(&[("p", Some("r"))]),
        ..ChangeHistory::default()
    };
    let plan = plan(
        Some(&target.manifest),
        &now.side(),
        &witness,
        &Scope::All,
        NOTHING,
    );
    assert_eq!(words(&plan), ["delete q", "kept p: settled"]);
}

#[test]
fn nothing_is_made_in_a_directory_that_anothers_restore_removed() {
    // The session emptied `d`, which the other session had made; that one's restore then removed `d`.
    let target = tree([("d", dir()), ("d/x", file("x"))]).build();
    let now = tree([]).build();
    let mut elsewhere = HashMap::new();
    elsewhere.insert(path("d"), vec![None]);
    let witness = ChangeHistory {
        last: Some(tree([("d", dir())]).build().manifest),
        elsewhere,
        ..ChangeHistory::default()
    };
    let plan = plan(
        Some(&target.manifest),
        &now.side(),
        &witness,
        &Scope::All,
        NOTHING,
    );
    // There would be no directory to make it in.
    assert_eq!(words(&plan), ["conflict d/x: parent d", "kept d: settled"]);
}

#[test]
fn what_our_restore_could_not_make_exact_is_ours_as_long_as_it_has_that_content() {
    let with = |inexact: &[&str]| ChangeHistory {
        left: left_states(&[("p", Some("r")), ("gone", None)]),
        inexact: inexact.iter().map(|at| path(at)).collect(),
        ..seen(&[("p", "s"), ("gone", "s")])
    };
    let differs = Entry {
        uid: 12_345,
        ..file("r")
    };
    let told = |witness: &ChangeHistory, at: &str, now: Option<&Entry>| {
        witness.judge(&path(at), Some(&file("base")), now)
    };
    let witness = with(&["p", "gone"]);
    assert_eq!(told(&witness, "p", Some(&differs)), Verdict::Ours);
    // The operator may have closed it.
    let closed = with_mode(file("r"), 0o600);
    assert_eq!(told(&witness, "p", Some(&closed)), Verdict::Later);
    assert_eq!(told(&witness, "p", Some(&file("edited"))), Verdict::Later);
    assert_eq!(told(&witness, "p", None), Verdict::Later);
    assert_eq!(told(&witness, "gone", Some(&file("r"))), Verdict::Later);
    assert_eq!(told(&with(&[]), "p", Some(&differs)), Verdict::Later);
}

fn excluding(pattern: &str) -> ChangeHistory {
    let mut coverage = coverage(Path::new("/srv/m"), "m");
    coverage.excludes.push(ExcludeRule {
        pattern: pattern.to_owned(),
        source: ExcludeSource::Flag,
        private: None,
    });
    ChangeHistory {
        excludes: Some(Matcher::new(&coverage).unwrap()),
        ..ChangeHistory::default()
    }
}

#[test]
fn only_a_deletion_asks_what_may_have_been_excluded() {
    let target = tree([("kept", file("before"))]).build();
    let now = tree([("build", file("now a file")), ("kept", file("after"))]).build();
    let witness = |pattern: &str| ChangeHistory {
        last: Some(now.manifest.clone()),
        ..excluding(pattern)
    };
    let words = |witness: &ChangeHistory| {
        let side = now.side();
        words(&plan(
            Some(&target.manifest),
            &side,
            witness,
            &Scope::All,
            NOTHING,
        ))
    };
    assert_eq!(words(&witness("other/")), ["delete build", "replace kept"]);
    assert_eq!(
        words(&witness("build/")),
        ["kept build: excluded", "replace kept"]
    );
    // It was covered as a file, so it comes back as one.
    assert_eq!(words(&witness("kept/")), ["delete build", "replace kept"]);
}

#[test]
fn what_is_of_another_type_now_may_have_been_excluded_then() {
    let doubtful = |witness: &ChangeHistory, now: &Entry| witness.may_have_been_excluded(&path("build"), now);
    // A directory would have been left out: was there one when the snapshot was taken?
    assert!(doubtful(&excluding("build/"), &file("now a file")));
    assert!(!doubtful(&excluding("build/"), &dir()), "no file was left out");
    assert!(!doubtful(&excluding("other/"), &file("f")));
    assert!(!doubtful(&ChangeHistory::default(), &file("f")));
}

#[test]
fn what_a_restore_left_is_judged_by_the_work_that_it_shows() {
    use Verdict::{Ours, Shared};
    let shared = Shared(vec![other()]);
    let shown = |number| ShownWork::UntilSnapshot(SnapshotId::new([number; 12]));
    for (about, shows, now, expected) in [
        ("what jackin made", vec![ShownWork::Jackins], Some("s"), Ours),
        (
            "no look of the session",
            vec![shown(9)],
            Some("s"),
            shared.clone(),
        ),
        ("the target", vec![shown(1)], Some("s"), Ours),
        ("after the others", vec![shown(2)], Some("s"), shared.clone()),
        (
            "brought back by an undo",
            vec![ShownWork::UntilRestore(9)],
            Some("s"),
            shared.clone(),
        ),
        (
            "the same state also before",
            vec![ShownWork::UntilRestore(9), shown(1)],
            Some("s"),
            Ours,
        ),
        (
            "brought back before the others",
            vec![ShownWork::UntilRestore(3)],
            Some("s"),
            Ours,
        ),
        (
            "done before the target",
            vec![ShownWork::UntilRestore(1)],
            Some("s"),
            Ours,
        ),
        ("missing", vec![ShownWork::UntilRestore(9)], None, shared.clone()),
        ("another state", vec![], Some("s"), shared),
    ] {
        let left = shows.into_iter().map(|shows| LeftState {
            state: now.map(file),
            shows,
            receipt: 9,
        });
        let witness = ChangeHistory {
            left: HashMap::from([(path("p"), left.collect())]),
            timeline: overlapping(),
            ..seen(&[("p", "s")])
        };
        let (then, now) = (file("base"), now.map(file));
        let verdict = witness.judge(&path("p"), Some(&then), now.as_ref());
        assert_eq!(verdict, expected, "{about}");
    }
}
