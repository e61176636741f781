//! What all rounds of one verb came to.

use std::fmt;

/// Counts, and what was wrong in words.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) rounds: u32,
    /// Rounds in which a blow hit while the program ran.
    pub(super) collided: u32,
    /// How often one did, in all rounds.
    pub(super) hits: u64,
    /// Rounds in which the program met one: it stopped, kept, failed or named something, or captured what the attacker put there.
    pub(super) noticed: u32,
    /// Changes outside the mount.
    pub(super) outside: usize,
    /// Something of the treasure in the store, in the tree or in what was said.
    pub(super) followed: usize,
    pub(super) hangs: u32,
    pub(super) panics: u32,
    /// Restores that nothing but `abort --as-is` could end.
    pub(super) stuck: u32,
    /// Whatever else was wrong, and the words for all of the above.
    pub(super) wrong: Vec<String>,
}

impl Tally {
    pub(super) const HEAD: &'static str =
        "verb          rounds  collided     hits  noticed  outside  followed  hangs  panics  stuck  wrong";
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>6}  {:>8}  {:>7}  {:>7}  {:>7}  {:>8}  {:>5}  {:>6}  {:>5}  {:>5}",
            self.rounds,
            self.collided,
            self.hits,
            self.noticed,
            self.outside,
            self.followed,
            self.hangs,
            self.panics,
            self.stuck,
            self.wrong.len()
        )
    }
}
