//! Somebody changes the tree while a verb works on it: another process of the same user, as an agent's leftover would be. Nothing
//! outside changes, nothing of the attacker's is followed, every run ends, and afterwards there is a way to a clean tree.
//!
//! `JACKIN_ATTACKS` sets the rounds for each command (default: 4, at night 40); `bench/attack` runs many, and prints the table.

mod blows;
mod ground;
mod judge;
mod round;
mod share;
mod tally;
mod treasure;

use blows::Blow;
use round::{Campaign, Verb};
use tally::Tally;

use crate::support::machine::is_nightly;
use crate::support::rows::rows;

fn rounds() -> u32 {
    let wanted = std::env::var("JACKIN_ATTACKS").ok();
    let usual = if is_nightly() { 40 } else { 4 };
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual)
}

fn stands(verb: Verb, name: &str) {
    judge(name, &Campaign::new(verb).fight(rounds()));
}

fn judge(name: &str, tally: &Tally) {
    eprintln!("ATTACK {}", Tally::HEAD);
    eprintln!("ATTACK {name:<14}{tally}");
    assert!(
        tally.wrong.is_empty(),
        "{name}: {} things are wrong\n{}",
        tally.wrong.len(),
        tally.wrong.join("\n\n")
    );
    assert!(tally.outside + tally.followed == 0, "{name}: {tally}");
    assert!(
        tally.hits > 0 && tally.collided > 0,
        "{name}: no blow fell while it ran: {tally}"
    );
}

rows! {
    stands:
    a_session_begins_under_attack(Verb::Begin, "begin");
    a_checkpoint_is_taken_under_attack(Verb::Checkpoint, "checkpoint");
    a_session_ends_under_attack(Verb::End, "end");
    a_diff_looks_under_attack(Verb::Diff, "diff");
    a_snapshot_is_written_elsewhere_under_attack(Verb::To, "to");
    a_restore_goes_on_under_attack(Verb::Restore, "restore");
    an_undo_goes_on_under_attack(Verb::Undo, "undo");
    an_interrupted_restore_is_finished_under_attack(Verb::Resume, "resume");
    an_interrupted_restore_is_taken_back_under_attack(Verb::Abort, "abort");
}

#[test]
fn no_mode_is_set_on_what_came_into_the_place_of_a_file() {
    let campaign = Campaign::with(Verb::Restore, Blow::HardLink, &["kept-mode", "a/two"]);
    judge("modes", &campaign.fight(rounds()));
}

#[test]
fn no_mode_is_set_back_on_what_came_into_the_place_of_a_file() {
    let campaign = Campaign::with(Verb::Abort, Blow::HardLink, &["kept-mode", "a/two"]);
    judge("modes back", &campaign.fight(rounds()));
}
