//! The chain of receipts: the catalog has a copy of each link, and the records tell what it must have told of.

use std::fs;

use super::{HARMS, Harm, Sessions, another, damage, of_another};

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn receipts_that_are_damaged_are_named_stop_no_look_and_come_back() {
    let all = Sessions::new();
    let theirs = another();
    all.again();
    let log = all.file("receipts.log");
    let good = fs::read(&log).unwrap();
    for place in [30, 1500, -20] {
        for harm in HARMS {
            all.again();
            let about = format!("{harm:?} at {place}");
            let other = of_another(&all.sandbox, &theirs, "receipts.log");
            damage(&log, place, harm, &other);
            let log_says = all.sandbox.jackin(["log", "--verify"]).code(7);
            // The catalog has a copy: nobody is to give anything up.
            log_says.has("rebuild");
            assert!(!log_says.said().contains("--accept-loss"), "{about}: {log_says}");
            all.is_found(&about, "receipt");
            all.sandbox.jackin(["doctor"]).code(7).has("rebuild");
            // Looking goes on. What writes finds out when the last link is damaged; each link is looked at by those above.
            all.sandbox.jackin(["diff", &all.whole.id]).ok();
            let page = all.sandbox.scratch("page.html");
            let show = ["show", &all.whole.id, "--html", page.to_str().unwrap()];
            all.sandbox.jackin(show).ok();
            let page = fs::read_to_string(page).unwrap();
            assert!(page.contains("before the damage"), "{about}");
            let restored = all
                .sandbox
                .jackin(["restore", &all.whole.id, "--yes"])
                .code_in(&[0, 7]);
            if restored.exit() == Some(7) {
                restored.has("rebuild");
            }
            all.sandbox.jackin(["rebuild"]).ok();
            assert!(fs::read(&log).unwrap().starts_with(&good), "{about}");
            all.whole_restores(&about);
            all.verifies();
        }
    }
}

#[test]
fn log_shows_what_stands_before_the_break_and_then_says_where_it_is() {
    let all = Sessions::new();
    let log = all.file("receipts.log");
    let lines = fs::read_to_string(&log).unwrap();
    let third: usize = lines.split_inclusive('\n').take(2).map(str::len).sum();
    damage(&log, i64::try_from(third + 80).unwrap(), Harm::Flip, &log);
    let run = all.sandbox.jackin(["log"]).code(7);
    run.has("began").has("receipt 3");
    assert!(run.text().contains("baseline snapshot"), "{run}");
    assert!(!run.text().contains("closing snapshot"), "{run}");
    let run = all.sandbox.jackin(["log", "--json"]).code(7);
    let document = run.json();
    assert_eq!(document["verified"], false);
    assert_eq!(document["receipts"].as_array().unwrap().len(), 2);
    assert_eq!(run.error()["kind"], "integrity");
    // Asked whether it holds, it says so and nothing else.
    let run = all.sandbox.jackin(["log", "--verify"]).code(7);
    assert!(run.stdout.is_empty(), "{run}");
}

#[test]
fn a_chain_that_lost_receipts_together_with_the_catalog_is_no_whole_chain() {
    let all = Sessions::new();
    let log = all.file("receipts.log");
    for kept in [0, 1, 2, 8] {
        all.again();
        let about = format!("{kept} links kept");
        let text: String = fs::read_to_string(&log)
            .unwrap()
            .split_inclusive('\n')
            .take(kept)
            .collect();
        match kept {
            0 => fs::remove_file(&log).unwrap(),
            _ => fs::write(&log, &text).unwrap(),
        }
        fs::remove_file(all.file("catalog.sqlite3")).unwrap();
        let closing = all.snapshots(&all.whole).remove(0);
        all.is_found(&about, "receipts");
        all.sandbox
            .jackin(["log", "--verify"])
            .code(7)
            .has("--accept-loss");
        all.sandbox.jackin(["log"]).code(7).has("receipts");
        // No snapshot is damaged by that.
        all.sandbox.jackin(["show", &all.whole.id]).ok().has(&closing);
        all.sandbox.jackin(["rebuild"]).code(7).has("--accept-loss");
        all.sandbox.jackin(["rebuild", "--accept-loss"]).ok();
        assert!(fs::read_to_string(&log).unwrap().starts_with(&text), "{about}");
        all.sandbox.jackin(["log", "--verify"]).ok();
        all.sandbox.jackin(["log"]).ok().has("lost receipts");
        let document = all.sandbox.jackin(["log", "--json"]).ok().json();
        assert_eq!(document["receipts"][0]["act"]["act"], "accept-loss", "{about}");
        all.verifies();
        all.sandbox.jackin(["doctor"]).code_in(&[0]);
    }
}
