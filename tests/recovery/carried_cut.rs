//! Connections to other machines that are cut: nothing is lost, and what was interrupted waits.

use std::time::Instant;

use crate::carried::{chosen, is_old_or_new, project};
use crate::support::build::Build;
use crate::support::carried::Kind;
use crate::support::machine::{has_points, is_nightly};
use crate::support::sandbox::Sandbox;

#[test]
fn a_connection_that_is_cut_loses_nothing() {
    let rounds: usize = std::env::var("JACKIN_CUTS")
        .map_or(if is_nightly() { 6 } else { 2 }, |rounds| rounds.parse().unwrap());
    for kind in chosen(Kind::Docker) {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        let project = project(&sandbox);
        let before = sandbox.tree(&project);
        let (mut landed, mut waited) = (0, 0);
        // Many moves, so that many cuts come between two of them.
        let damage = "rm -r data own; for f in part-0/*.md part-0/inner/*.rs; do echo x >> $f; done; \
                      chmod 600 run.sh; echo x > new; echo y > .env";
        // So long one takes that is not cut.
        let id = sandbox.launch(&project, damage);
        let began = Instant::now();
        sandbox.restore(&id, &[]);
        let whole = began.elapsed();
        for round in 0..rounds {
            let id = sandbox.launch(&project, damage);
            let damaged = sandbox.tree(&project);
            let restore = sandbox.command(["restore", &id, "--yes"]).start();
            // At moments that are spread over all of it, in no order.
            std::thread::sleep(
                whole * u32::try_from(round * 37 % rounds).unwrap() / u32::try_from(rounds).unwrap(),
            );
            sandbox.machine().cut(round % 3 == 0);
            let run = restore.finish();
            assert!(run.status.is_some_and(|status| status.code().is_some()), "{run}");
            landed += usize::from(run.status.is_some_and(|status| !status.success()));
            let list = sandbox.jackin(["list"]).ok();
            if list.text().contains("interrupted") {
                waited += 1;
                let verb = if round % 2 == 0 { "resume" } else { "abort" };
                sandbox.jackin([verb, &id, "--yes"]).code_in(&[0, 6]);
            }
            is_old_or_new(&sandbox, &project, &id, (&before, &damaged));
            sandbox.no_litter();
        }
        println!(
            "{kind:?}: {rounds} connections cut, {landed} while they were needed; {waited} restores waited"
        );
        assert!(
            rounds < 20 || landed >= rounds / 4,
            "too few were cut in their middle"
        );
    }
}

#[test]
fn an_abort_whose_connection_is_cut_still_waits() {
    if !has_points() {
        return;
    }
    for kind in chosen(Kind::Ssh) {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        let project = project(&sandbox);
        let damage =
            "rm -r data own; for f in part-0/*.md part-0/inner/*.rs; do echo x >> $f; done; chmod 600 run.sh";
        let interrupted = || {
            let id = sandbox.launch(&project, damage);
            let restore = sandbox.command(["restore", &id, "--yes"]);
            restore.with("JACKIN_RECOVERY_FAIL_AT", "compared").run();
            id
        };
        let id = interrupted();
        let began = Instant::now();
        sandbox.jackin(["abort", &id, "--yes"]).ok();
        let whole = began.elapsed();
        let mut waited = 0;
        for part in [2, 4, 6, 8] {
            sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
            let id = interrupted();
            let abort = sandbox.command(["abort", &id, "--yes"]).start();
            std::thread::sleep(whole * part / 10);
            sandbox.machine().cut(false);
            let run = abort.finish();
            let ended = run.exit() == Some(0);
            if !ended {
                assert!(!run.text().contains("everything is as it was"), "{run}");
            }
            if sandbox.jackin(["list"]).ok().text().contains("interrupted") {
                waited += 1;
                assert!(matches!(run.exit(), Some(1 | 8)), "{run}");
                sandbox.jackin(["abort", &id, "--yes"]).ok();
            }
            sandbox.restore(&id, &[]);
        }
        println!("{kind:?}: {waited} aborts waited");
    }
}

#[test]
fn a_capture_whose_connection_is_cut_leaves_no_snapshot() {
    for kind in chosen(Kind::Ssh) {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        let project = project(&sandbox);
        Build::at(&project).big("big.bin", 200 << 20);
        let target = sandbox.target(&project);
        let mut begin = sandbox
            .command(["begin", "--snapshot", "project", &target])
            .start();
        // Each connection that it makes, until it makes no other.
        while begin.child.try_wait().unwrap().is_none() {
            sandbox.machine().cut(true);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let run = begin.finish();
        assert!(!run.status.unwrap().success(), "{kind:?}: nothing was cut\n{run}");
        // A carrier that was killed says nothing, and one that outlived the other end says so itself.
        let said = run.text();
        assert!(
            said.contains("connection") || said.contains("terminated"),
            "{run}"
        );
        let list = sandbox.jackin(["list", "--json"]).ok();
        assert!(!list.text().contains("\"baseline\""), "{list}");
    }
}
