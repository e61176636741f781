//! The papers of a restore that was interrupted.

use std::fs;
use std::path::PathBuf;

use super::{HARMS, Harm, Sessions, damage};
use crate::support::compare::assert_same_tree;
use crate::support::machine::skip;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Interrupts a restore of the session that is to be damaged; gives the directory of its papers.
fn interrupted(sandbox: &Sandbox, id: &str, point: &str) -> Option<PathBuf> {
    let run = sandbox
        .command(["restore", id, "--yes"])
        .with("JACKIN_RECOVERY_FAIL_AT", point)
        .run();
    if run.exit().is_some() {
        skip("papers that are damaged", "the program has no points");
        return None;
    }
    let mut papers = fs::read_dir(sandbox.store().join("restores")).unwrap();
    Some(papers.next().unwrap().unwrap().path())
}

/// The papers of the same restore of another session, in another sandbox.
fn journal_of_another() -> Option<Vec<u8>> {
    let sandbox = Sandbox::new();
    let project = sandbox.project("theirs");
    fs::write(project.join("a"), "before").unwrap();
    let id = sandbox.launch(&project, "echo agent > a");
    let papers = interrupted(&sandbox, &id, "moved")?;
    Some(fs::read(papers.join("journal")).unwrap())
}

#[test]
fn papers_of_a_restore_that_are_damaged_are_named_and_lead_out() {
    let all = Sessions::new();
    all.again();
    let (id, project) = (&all.damaged.id, &all.damaged.project);
    let Some(papers) = interrupted(&all.sandbox, id, "moved") else {
        return;
    };
    let theirs = journal_of_another().unwrap();
    let journal = papers.join("journal");
    let good = fs::read(&journal).unwrap();
    let torn = Tree::read(project);
    let other = all.sandbox.scratch("other");
    let way_out = format!("abort {id} --yes --as-is");
    for place in [10, 200, -10] {
        for harm in HARMS {
            let about = format!("{harm:?} at {place}");
            fs::write(&other, &theirs).unwrap();
            damage(&journal, place, harm, &other);
            all.is_found(&about, "journal");
            all.is_found(&about, &way_out);
            for verb in ["resume", "abort"] {
                let run = all.sandbox.jackin([verb, id, "--yes"]).code(7);
                run.has("journal").has(&way_out);
            }
            // One that is there and cannot be read still says that the restore waits.
            all.sandbox.jackin(["restore", id, "--yes"]).code_in(&[7, 8]);
            // The other directory has nothing to do with it.
            all.whole_restores(&about);
            assert_same_tree(&torn, &Tree::read(project));
            fs::write(&journal, &good).unwrap();
        }
    }
    all.verifies();
    all.sandbox.jackin(["resume", id, "--yes"]).ok();
    assert_same_tree(&all.damaged.before, &Tree::read(project));
}

#[test]
fn the_way_out_of_papers_that_are_damaged_leads_out() {
    let all = Sessions::new();
    for (paper, point) in [("journal", "moved"), ("decision", "decided")] {
        for harm in [Harm::Flip, Harm::Remove] {
            if (paper, harm) == ("decision", Harm::Remove) {
                // Then it was not decided yet.
                continue;
            }
            all.again();
            let (id, project) = (&all.damaged.id, &all.damaged.project);
            let Some(papers) = interrupted(&all.sandbox, id, point) else {
                return;
            };
            damage(&papers.join(paper), -9, harm, &papers);
            let about = format!("{paper} {harm:?}");
            let torn = Tree::read(project);
            all.is_found(&about, paper);
            let way_out = ["abort", id, "--yes", "--as-is"];
            for verb in ["resume", "abort"] {
                let run = all.sandbox.jackin([verb, id, "--yes"]).code(7);
                run.has(&way_out.join(" "));
            }
            let left = all.sandbox.jackin(way_out).code(6);
            left.has(".jackin-recovery-");
            assert_same_tree(&torn, &Tree::read(project));
            assert!(!papers.exists(), "{about}");
            all.verifies();
            all.sandbox.jackin(["log"]).ok().has("discarded: the restore");
            all.sandbox.jackin(["restore", id, "--yes"]).code_in(&[0, 6]);
        }
    }
}

#[test]
fn an_intent_that_is_damaged_is_named_and_its_copy_serves() {
    let all = Sessions::new();
    for harm in [Harm::Flip, Harm::Remove] {
        all.again();
        let (id, project) = (&all.damaged.id, &all.damaged.project);
        let Some(papers) = interrupted(&all.sandbox, id, "moved") else {
            return;
        };
        damage(&papers.join("intent"), -9, harm, &papers);
        all.is_found(&format!("{harm:?}"), "intent");
        all.sandbox
            .jackin(["doctor"])
            .code(7)
            .has(&format!("resume {id}"));
        all.sandbox.jackin(["resume", id, "--yes"]).ok();
        assert_same_tree(&all.damaged.before, &Tree::read(project));
        all.verifies();
    }
}

#[test]
fn papers_that_cannot_be_looked_at_hide_nothing_else() {
    let all = Sessions::new();
    all.again();
    let Some(papers) = interrupted(&all.sandbox, &all.damaged.id, "moved") else {
        return;
    };
    fs::remove_file(papers.join("intent")).unwrap();
    fs::create_dir(papers.join("intent")).unwrap();
    let log = all.sandbox.store().join("receipts.log");
    damage(&log, -9, Harm::Flip, &log);
    for words in ["journals of interrupted restores", "receipt"] {
        all.sandbox.jackin(["verify"]).code(7).has(words);
    }
    all.sandbox
        .jackin(["doctor"])
        .code(7)
        .has("journals of interrupted restores");
}

#[test]
fn a_journal_that_nobody_knows_the_intent_of_is_in_the_way() {
    let all = Sessions::new();
    all.again();
    let (id, project) = (&all.damaged.id, all.damaged.project.to_str().unwrap());
    let Some(papers) = interrupted(&all.sandbox, id, "moved") else {
        return;
    };
    for name in ["intent", "intent.copy"] {
        fs::remove_file(papers.join(name)).unwrap();
    }
    all.is_found("both are gone", "intent");
    all.sandbox.jackin(["restore", id, "--yes"]).code(7).has("intent");
    let begin = ["begin", "--snapshot", "project", project];
    all.sandbox.jackin(begin).code(7).has("intent");
    assert!(papers.join("journal").exists());
}
