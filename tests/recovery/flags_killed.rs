//! kill -9 while the flags that were in the way are off.

use std::fs;

use crate::flags::{chattr, flagged, flags};
use crate::support::build::Build;
use crate::support::sandbox::Sandbox;

#[test]
fn s29_flags_that_were_in_the_way_are_there_again_after_a_kill() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "flags and a kill") else {
        return;
    };
    let project = sandbox.project("bound");
    Build::at(&project).file("kept", "before\n").dir("box").aged();
    chattr("+i", &project.join("kept"));
    let id = sandbox.launch(
        &project,
        "chattr -i kept; echo agent > kept; chattr +i kept; echo new > box/new; chattr +i box/new; chattr +a box",
    );
    let state = || {
        let letters = ["kept", "box/new", "box"].map(|name| match project.join(name).exists() {
            true => flags(&project.join(name)),
            false => "gone".to_owned(),
        });
        (fs::read_to_string(project.join("kept")).unwrap(), letters)
    };
    let old = state();
    assert_eq!(old.1, ["i", "i", "a"]);
    for point in [
        "intent",
        "staging",
        "staged",
        "journaled",
        "move",
        "moved",
        "decided",
        "settled",
        "flags",
    ] {
        for how in ["abort", "resume"] {
            let restore = sandbox.command(["restore", &id, "--yes"]);
            let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", point).run();
            assert_eq!(killed.exit(), None, "{point}: {killed}");
            let run = sandbox.jackin([how, &id, "--yes"]).code_in(&[0, 5]);
            let decided = ["decided", "settled", "flags"].contains(&point);
            if how == "abort" && !decided {
                assert_eq!(state(), old, "{point}, {how}: {run}");
                continue;
            }
            let new = ("before\n".to_owned(), ["i", "gone", ""].map(str::to_owned));
            assert_eq!(state(), new, "{point}, {how}: {run}");
            sandbox.jackin(["undo", &id, "--yes"]).ok();
            assert_eq!(state(), old, "{point}, {how}, undone");
        }
    }
}
