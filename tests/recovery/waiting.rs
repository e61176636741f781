//! A restore that waits, and sessions on directories around it.

use std::fs;
use std::path::Path;

use crate::ways_out::killed_at;

#[test]
fn a_restore_that_waits_stops_what_works_above_and_below_it_and_nothing_else() {
    let waiting = killed_at("moved:1");
    let sandbox = &waiting.sandbox;
    let begin = |directory: &Path| {
        let target = directory.to_str().unwrap();
        let words = [
            "launch",
            "--allow-broad",
            "--snapshot",
            "project",
            target,
            "--",
            "true",
        ];
        sandbox.jackin(words)
    };
    let inner = waiting.project.join("inner");
    fs::create_dir(&inner).unwrap();
    for directory in [&inner, &waiting.project, &sandbox.sources()] {
        let run = begin(directory).refused();
        assert!(
            run.text().contains("resume") && run.text().contains(&waiting.id),
            "{run}"
        );
    }
    let beside = sandbox.project("waiting-not");
    fs::write(beside.join("a"), "a").unwrap();
    begin(&beside).ok();
}
