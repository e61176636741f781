//! Alive, dead, and another process with the same number.

use super::{Scratch, until};
use crate::ProcessRef;
use crate::{Life, current_boot, is_alive, life, reference};

#[test]
fn a_running_process_is_alive_and_a_collected_one_dead() {
    let mut child = Scratch::start("sleep", &["60"], &[]);
    let process = reference(child.pid()).unwrap();
    assert_eq!(process.pid, child.pid());
    assert_eq!(process.boot, current_boot());
    assert_eq!(process.boot.len(), 36, "{}", process.boot);
    assert_eq!(life(&process), Life::Alive);
    child.0.kill().unwrap();
    child.0.wait().unwrap();
    assert_eq!(life(&process), Life::Dead);
    assert!(!is_alive(&process));
    assert_eq!(reference(child.pid()), None);
}

#[test]
fn a_later_process_with_the_same_number_is_another_one() {
    let child = Scratch::start("sleep", &["60"], &[]);
    let process = reference(child.pid()).unwrap();
    assert_eq!(
        life(&ProcessRef {
            start: process.start + 1,
            ..process.clone()
        }),
        Life::Dead
    );
    assert_eq!(
        life(&ProcessRef {
            start: process.start - 1,
            ..process.clone()
        }),
        Life::Dead
    );
    assert_eq!(
        life(&ProcessRef {
            boot: "another".into(),
            ..process.clone()
        }),
        Life::Dead
    );
    // An unknown boot proves nothing.
    assert_eq!(
        life(&ProcessRef {
            boot: String::new(),
            ..process
        }),
        Life::Alive
    );
}

#[test]
fn a_zombie_is_dead_but_can_still_be_named() {
    let child = Scratch::start("true", &[], &[]);
    let process = reference(child.pid()).unwrap();
    until("the zombie", || life(&process) == Life::Dead);
    assert_eq!(reference(child.pid()), Some(process));
}

#[test]
fn a_stopped_process_is_alive() {
    let child = Scratch::shell("kill -STOP $$", &[]);
    let process = reference(child.pid()).unwrap();
    until("the stop", || {
        std::fs::read_to_string(format!("/proc/{}/stat", process.pid))
            .unwrap()
            .contains(") T ")
    });
    assert_eq!(life(&process), Life::Alive);
}

#[test]
fn numbers_that_no_process_can_have() {
    for pid in [0, i32::MAX.cast_unsigned(), u32::MAX] {
        assert_eq!(reference(pid), None);
        assert_eq!(
            life(&ProcessRef {
                pid,
                start: 1,
                boot: current_boot()
            }),
            Life::Dead
        );
    }
}
