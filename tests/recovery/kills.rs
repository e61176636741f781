//! kill -9 at random moments of every verb that writes: the tree and the store are the old ones or the new ones, and the next
//! command works without anybody's help. `bench/kills` runs these tests with thousands of kills and makes a table.

mod captures;
mod restores;
mod sessions;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::documents::{Instance, instances};
use crate::support::kill::{Dice, Tally, fill};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// How many kills of each verb: a fifth of what `JACKIN_KILLS` asks for.
fn rounds() -> u32 {
    crate::support::kill::wanted().div_ceil(5)
}

/// A store grows with every round, and what looks at all of it gets slower: so many rounds and there is a new one.
const ROUNDS_A_STORE: u32 = 25;

/// Kills one verb in every round, in a scene from `set` that is made anew from time to time.
#[track_caller]
fn play<T>(
    verb: &'static str,
    seed: u64,
    mut set: impl FnMut(&mut Dice) -> T,
    mut round: impl FnMut(&mut T, &mut Dice, &mut Tally),
) {
    let (mut dice, mut tally) = (Dice::new(seed), Tally::of(verb));
    let mut scene = set(&mut dice);
    for number in 1..=rounds() {
        if number % ROUNDS_A_STORE == 0 {
            scene = set(&mut dice);
        }
        round(&mut scene, &mut dice, &mut tally);
    }
    tally.done();
}

/// A home with a project in it that no session has touched yet.
struct Scene {
    sandbox: Sandbox,
    project: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let project = sandbox.project("killed");
        fill(&project, 80);
        // Nothing that was listed may go here by any rule; `retention_killed` has those.
        let all = "[recovery.retention]\ninstances = 0\ndays = 0\ncheckpoints = 0\n";
        sandbox.configure("config.toml", all);
        Self { sandbox, project }
    }

    fn target(&self) -> &str {
        self.project.to_str().unwrap()
    }

    /// What makes the next snapshot differ from the last one, with content that no archive has.
    fn scribble(&self, dice: &mut Dice) {
        let build = Build::at(&self.project);
        for _ in 0..12 {
            let at = dice.below(80);
            build.file(format!("many/{}/{at}", at % 8), noise(dice, 3000));
        }
        build.file(format!("made/{}", dice.below(40)), noise(dice, 200_000));
    }

    /// The snapshot's paths in a directory of its own; the directory itself has a mode that keeps others out.
    #[track_caller]
    fn written_out(&self, words: &[&str], wanted: &Tree) {
        let to = self.sandbox.scratch("written-out");
        let all = ["restore"].iter().chain(words).chain(&["--yes", "--to"]);
        self.sandbox.jackin(all.copied().chain(to.to_str())).ok();
        assert_same_tree(&below(wanted), &below(&Tree::read(&to)));
        std::fs::remove_dir_all(&to).unwrap();
    }

    fn tree(&self) -> Tree {
        Tree::read(&self.project)
    }

    /// Begins a session, and gives its id.
    #[track_caller]
    fn begin(&self) -> String {
        let run = self
            .sandbox
            .jackin(["begin", "--snapshot", "project", self.target()]);
        String::from_utf8_lossy(&run.ok().stdout).trim().to_owned()
    }

    /// A whole session, without anybody's help; then there is nothing left of a kill.
    #[track_caller]
    fn begin_and_end(&self, about: &str) {
        let id = self.begin();
        assert!(self.listed()[&id].snapshot("baseline").complete, "{about}");
        self.sandbox.jackin(["end", &id]).ok();
        self.no_litter(about);
    }

    /// What `list` says, by instance.
    #[track_caller]
    fn listed(&self) -> BTreeMap<String, Instance> {
        let all = instances(&self.sandbox.jackin(["list", "--json"]).ok());
        all.into_iter().map(|one| (one.id.clone(), one)).collect()
    }

    /// Everything that the store shows can be read, and is what was written. Changes nothing.
    #[track_caller]
    fn store_is_sound(&self) {
        self.sandbox.jackin(["verify", "--read-data"]).ok();
        self.sandbox.jackin(["log", "--verify"]).ok();
    }

    /// What was listed before is listed still, with the same snapshots and more at most. Gives the instance that is new.
    #[track_caller]
    fn nothing_lost(
        &self,
        before: &BTreeMap<String, Instance>,
        tally: &mut Tally,
        about: &str,
    ) -> Option<Instance> {
        let mut now = self.listed();
        for (id, was) in before {
            let Some(is) = now.remove(id) else {
                tally.lost(format!("{about}: {id} is gone"));
                continue;
            };
            for snapshot in &was.snapshots {
                let found = is.snapshots.iter().find(|found| found.id == snapshot.id);
                if !found.is_some_and(|found| found.complete && found.entries == snapshot.entries) {
                    tally.lost(format!("{about}: {snapshot:?} is {found:?}"));
                }
            }
        }
        assert!(now.len() <= 1, "{about}: {now:?}");
        now.into_values().next()
    }

    /// The mount is what it was, to the last time stamp.
    fn untouched(&self, before: &Tree, tally: &mut Tally, about: &str) {
        let lines = differences(before, &self.tree(), Exactness::Everything);
        tally.untouched(&lines, about);
    }

    /// A command that wrote after a kill has swept what that left: in the store there is only what records name.
    #[track_caller]
    fn no_litter(&self, about: &str) {
        self.sandbox.no_litter();
        let store = self.sandbox.store();
        assert_eq!(names(&store.join("tmp")), [""; 0], "{about}: drafts are left");
        assert_eq!(
            names(&store.join("restores")),
            [""; 0],
            "{about}: papers are left"
        );
        // Only a prune sweeps what one that was killed had packed anew.
        let archives = names(&store.join("archives"));
        let mut moved = archives.iter().filter_map(|name| name.strip_suffix(".moved"));
        if moved.any(|id| archives.contains(&format!("{id}.tar.zst"))) {
            self.sandbox.jackin(["prune", "--yes"]).ok();
        }
        let records = names(&store.join("snapshots"));
        let texts: Vec<String> = records
            .iter()
            .map(|name| std::fs::read_to_string(store.join("snapshots").join(name)).unwrap())
            .collect();
        let archives = names(&store.join("archives"));
        let is_named = |id: &str| texts.iter().any(|text| text.contains(&format!("{id}\"")));
        let moved = archives.iter().filter_map(|name| name.strip_suffix(".moved"));
        let mut led_to = String::new();
        for id in moved {
            assert!(is_named(id), "{about}: no record asks for {id}.moved");
            assert!(!archives.contains(&format!("{id}.tar.zst")), "{about}: {id}");
            led_to += &std::fs::read_to_string(store.join(format!("archives/{id}.moved"))).unwrap();
        }
        for id in archives.iter().filter_map(|name| name.strip_suffix(".tar.zst")) {
            assert!(
                is_named(id) || led_to.contains(&format!("{id}\"")),
                "{about}: nothing leads to {id}"
            );
        }
    }
}

/// A tree without its top.
fn below(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.nodes.remove([].as_slice());
    tree
}

/// Bytes that cannot be compressed and that no other file has.
fn noise(dice: &mut Dice, length: u64) -> Vec<u8> {
    (0..length.div_ceil(8))
        .flat_map(|_| dice.below(u64::MAX).to_le_bytes())
        .collect()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
