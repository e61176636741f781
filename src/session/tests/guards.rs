//! No restore under an active session, and none by the session itself.

use std::path::Path;

use super::{record, row};
use crate::capture::tests::{Place, coverage};
use crate::environment::Environment;
use crate::model::{Coverage, InstanceId};
use crate::process::INSTANCE_VARIABLE;
use crate::session::{Allowed, SessionError, ensure_idle, ensure_outside_session};

fn on(root: &str) -> Vec<Coverage> {
    vec![coverage(Path::new(root), "project")]
}

#[test]
fn another_living_session_on_overlapping_paths_refuses() {
    for (root, overlaps) in [
        ("/srv/project", true),
        ("/srv", true),
        ("/", true),
        ("/srv/project/sub/dir", true),
        ("/srv/project-two", false),
        ("/srv/projec", false),
        ("/home", false),
    ] {
        let place = Place::new();
        let own = record(&place, "rc-aaaaaaaa-own", None, on("/srv/project"));
        let other = record(&place, "rc-bbbbbbbb-other", None, on(root));
        ensure_idle(&place.store, &own).unwrap();
        let _lives = place.store.lock_instance(&other.id).unwrap();
        match ensure_idle(&place.store, &own) {
            Err(SessionError::Active {
                instance,
                other: is_other,
                reasons,
            }) => {
                assert!(overlaps, "{root}");
                assert_eq!((instance, is_other, reasons.len()), (other.id, true, 1));
            }
            Ok(()) => assert!(!overlaps, "{root}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_session_that_lives_itself_refuses_also_without_mounts() {
    for mounts in [on("/srv/project"), vec![]] {
        let place = Place::new();
        let own = record(&place, "rc-aaaaaaaa-own", None, mounts);
        let _lives = place.store.lock_instance(&own.id).unwrap();
        let Err(SessionError::Active { instance, other, .. }) = ensure_idle(&place.store, &own) else {
            panic!("it lives");
        };
        assert_eq!((instance, other), (own.id, false));
    }
}

#[test]
fn one_of_several_mounts_is_enough() {
    let place = Place::new();
    let both = [on("/srv/one"), on("/srv/two")].concat();
    let own = record(&place, "rc-aaaaaaaa-own", None, both);
    let theirs = [on("/srv/three"), on("/srv/two/sub")].concat();
    let other = record(&place, "rc-bbbbbbbb-other", None, theirs);
    let _lives = place.store.lock_instance(&other.id).unwrap();
    assert!(matches!(
        ensure_idle(&place.store, &own),
        Err(SessionError::Active { other: true, .. })
    ));
}

#[test]
fn a_caller_that_names_a_living_session_is_inside_it() {
    let place = Place::new();
    let own = record(&place, "rc-aaaaaaaa-own", None, on("/srv/project"));
    let caller = |value: &str| Environment {
        variables: [(INSTANCE_VARIABLE.into(), value.into())].into(),
        ..Environment::default()
    };
    let inside = |value: &str, allowed: Allowed<'_>| {
        ensure_outside_session(&place.store, &caller(value), allowed).is_err()
    };
    assert!(!inside(own.id.as_str(), Allowed::Nothing), "it is dead");
    let lives = place.store.lock_instance(&own.id).unwrap();
    assert!(inside(own.id.as_str(), Allowed::Nothing));
    assert!(
        inside(own.id.as_str(), Allowed::End(&own.id)),
        "it may not end itself either"
    );
    assert!(
        !inside(own.id.as_str(), Allowed::Checkpoint(&own.id)),
        "it may mark a moment of its own"
    );
    let other = InstanceId::parse("rc-bbbbbbbb-other").unwrap();
    assert!(
        inside(own.id.as_str(), Allowed::Checkpoint(&other)),
        "and of no other"
    );
    assert!(!inside("", Allowed::Nothing));
    assert!(!inside("rc-bbbbbbbb-unknown", Allowed::Nothing));
    assert!(!inside("not an id\n", Allowed::Nothing));
    drop(lives);
    assert!(!inside(own.id.as_str(), Allowed::Nothing));
    assert!(row(&place, &own.id).ended_at.is_none(), "looking changes nothing");
}
