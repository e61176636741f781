//! Does an instance live? Every reason for yes, and every way to be over.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::record;
use crate::capture::tests::Place;
use crate::model::Ending;
use crate::process::{self, INSTANCE_VARIABLE, Why};
use crate::session::{Reason, State, state};
use crate::store::InstanceRow;

/// A process that does nothing, until the test is over.
struct Idle(Child);

impl Idle {
    fn new(instance: Option<&str>) -> Self {
        let mut command = Command::new("sleep");
        command.arg("600");
        if let Some(instance) = instance {
            command.env(INSTANCE_VARIABLE, instance);
        }
        Self(command.spawn().unwrap())
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a row without a sign of life: of this boot, with a dead launcher.
fn quiet(place: &Place) -> InstanceRow {
    quiet_as(place, "rc-aaaaaaaa-demo")
}

fn quiet_as(place: &Place, id: &str) -> InstanceRow {
    InstanceRow {
        boot: process::current_boot(),
        command: Some(("agent".to_owned(), 2)),
        ..record(place, id, None, vec![])
    }
}

fn ended(row: InstanceRow, ending: Ending) -> InstanceRow {
    InstanceRow {
        ended_at: Some(row.started_at),
        ending: Some(ending),
        ..row
    }
}

#[test]
fn an_end_is_what_was_written_down_and_no_end_is_a_loss() {
    let place = Place::new();
    let quiet = quiet(&place);
    let until_end = InstanceRow {
        keeper: None,
        command: None,
        ..quiet.clone()
    };
    let with_boot = |boot: &str| InstanceRow {
        boot: boot.to_owned(),
        ..until_end.clone()
    };
    let cases = [
        ("its launcher is dead", quiet.clone(), State::Lost),
        (
            "it returned",
            ended(quiet.clone(), Ending::Status(0)),
            State::Ended,
        ),
        ("it failed", ended(quiet.clone(), Ending::Status(1)), State::Ended),
        ("a signal", ended(quiet.clone(), Ending::Signal(9)), State::Ended),
        ("`end`", ended(until_end.clone(), Ending::Ended), State::Ended),
        ("nobody saw it", ended(quiet.clone(), Ending::Unseen), State::Lost),
        (
            "it never began",
            ended(quiet.clone(), Ending::Failed("no baseline".to_owned())),
            State::Failed,
        ),
        ("another boot", with_boot("another boot"), State::Lost),
        // Unknown means active: `end` ends it.
        (
            "a boot that is not known",
            with_boot(""),
            State::Active(vec![Reason::UntilEnd]),
        ),
        (
            "an import in a boot that is not known",
            InstanceRow {
                mode: crate::store::IMPORTED.to_owned(),
                ..with_boot("")
            },
            State::Lost,
        ),
        (
            "a command without a keeper",
            InstanceRow {
                keeper: None,
                ..quiet.clone()
            },
            State::Lost,
        ),
    ];
    for (about, row, expected) in cases {
        assert_eq!(state(&place.store, &row), expected, "{about}");
    }
    if process::current_boot().is_empty() {
        crate::skipped::skipped("this system tells no boot");
    } else {
        assert_eq!(
            state(&place.store, &until_end),
            State::Active(vec![Reason::UntilEnd])
        );
    }
}

#[test]
fn an_import_that_failed_was_not_interrupted() {
    let place = Place::new();
    let of = |ending: Option<Ending>| InstanceRow {
        mode: crate::store::IMPORTED.to_owned(),
        ending,
        ..quiet(&place)
    };
    let failed = |why: &str| Some(Ending::Failed(why.to_owned()));
    let is_interrupted = |ending| crate::session::is_interrupted_import(&of(ending));
    assert!(is_interrupted(None) && is_interrupted(failed("the import was interrupted")));
    assert!(!is_interrupted(failed("no space left on device")) && !is_interrupted(Some(Ending::Ended)));
}

#[test]
fn a_held_lock_is_life_until_it_is_let_go() {
    let place = Place::new();
    let row = quiet(&place);
    let lock = place.store.lock_instance(&row.id).unwrap();
    assert_eq!(
        state(&place.store, &row),
        State::Active(vec![Reason::OtherCommand]),
        "its launcher is dead"
    );
    let unknown = InstanceRow {
        keeper: None,
        ..row.clone()
    };
    assert_eq!(
        state(&place.store, &unknown),
        State::Active(vec![Reason::Launcher(None)])
    );
    // A launcher that has written the end down only tidies up.
    assert_eq!(
        state(&place.store, &ended(row.clone(), Ending::Status(0))),
        State::Ended
    );
    drop(lock);
    assert_eq!(state(&place.store, &row), State::Lost);
}

#[test]
fn a_living_process_is_life_whatever_was_written_down() {
    let place = Place::new();
    // A process carries this id: no other test may find it alive.
    let row = quiet_as(&place, "rc-aaaaaaaa-carried");
    let why = |row: &InstanceRow, pid: u32| match state(&place.store, row) {
        State::Active(reasons) => reasons.into_iter().find_map(|reason| match reason {
            Reason::Process(member) if member.pid == pid => Some(member.why),
            _ => None,
        }),
        _ => None,
    };
    let kept = Idle::new(None);
    let reference = process::reference(kept.0.id()).unwrap();
    let keeper = InstanceRow {
        keeper: Some(reference.clone()),
        ..row.clone()
    };
    assert_eq!(why(&keeper, kept.0.id()), Some(Why::Recorded));
    let survivor = InstanceRow {
        survivors: vec![reference],
        ..ended(row.clone(), Ending::Status(0))
    };
    assert_eq!(why(&survivor, kept.0.id()), Some(Why::Recorded));

    let marked = Idle::new(Some(row.id.as_str()));
    // Its own environment shows when it runs, which a busy machine may put off.
    let until = Instant::now() + Duration::from_secs(120);
    let look = || why(&ended(row.clone(), Ending::Unseen), marked.0.id());
    let mut found = look();
    while found.is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
        found = look();
    }
    assert_eq!(found, Some(Why::Environment));
    drop((kept, marked));
    assert_eq!(state(&place.store, &keeper), State::Lost);
    assert_eq!(state(&place.store, &survivor), State::Ended);
}
