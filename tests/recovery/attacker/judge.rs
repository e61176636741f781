//! What must hold when a round is over: outside, in what was said, in the tree, and in the store.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;

use super::blows::tag;
use super::ground::Ground;
use super::round::Verb;
use super::share::Share;
use super::tally::Tally;
use super::treasure::{GOLD, SECRET};
use crate::support::compare::{Exactness, differences};
use crate::support::documents::{Changes, instances};
use crate::support::run::Run;
use crate::support::search::holds;
use crate::support::tree::{Kind, Tree};

/// One round after the fact.
pub(super) struct Judge<'a> {
    pub(super) ground: &'a mut Ground,
    pub(super) tally: &'a mut Tally,
    pub(super) about: String,
    pub(super) share: Share,
    /// The tree when the verb began.
    pub(super) begun: Tree,
    pub(super) verb: Verb,
    /// Bytes and modes were changed in place, and may be anything by now.
    pub(super) in_place: bool,
    /// Nothing in the tree was struck.
    pub(super) only_staged: bool,
    /// What he put into the staging directory under names of his own, and left there.
    pub(super) staying: BTreeSet<u64>,
    /// All that was said in this round.
    pub(super) said: Vec<String>,
}

impl Judge<'_> {
    fn wrong(&mut self, what: impl std::fmt::Display) {
        self.tally.wrong.push(format!("{}: {what}", self.about));
    }

    /// What must never happen, whatever the run was.
    fn always(&mut self, run: &Run) {
        let text = run.text();
        if run.status.is_none() {
            self.tally.hangs += 1;
            self.wrong(format!("it hangs\n{run}"));
        } else if run.exit().is_none_or(|code| code == 101) || text.contains("panicked") {
            self.tally.panics += 1;
            self.wrong(format!("it panics or dies\n{run}"));
        }
        if holds(text.as_bytes(), SECRET) || holds(text.as_bytes(), GOLD) {
            self.tally.followed += 1;
            self.wrong(format!("it tells of the treasure\n{run}"));
        }
        self.said.push(text);
        self.outside();
    }

    fn outside(&mut self) {
        let changes = self.ground.treasure.changes();
        self.tally.outside += changes.len();
        for line in changes {
            self.wrong(format!("outside: {line}"));
        }
        let found = self.ground.vaults.look(&self.ground.sandbox);
        self.tally.followed += found.len();
        for line in found {
            self.wrong(line);
        }
    }

    /// The run under attack itself.
    pub(super) fn run(&mut self, run: Run, session: Option<&str>) {
        self.always(&run);
        let now = Tree::read(&self.ground.project);
        let code = run.exit().unwrap_or(-1);
        let noticed = match self.verb {
            Verb::Begin | Verb::Checkpoint | Verb::End => self.captured(&run, session, &now),
            Verb::Diff => {
                self.same(&self.begun.clone(), &now, Exactness::Everything, &run);
                if ![0, 1].contains(&code) {
                    self.wrong(format!("exit code\n{run}"));
                }
                code != 0 || Changes::of(&run).touched() != self.calm()
            }
            Verb::To => {
                self.same(&self.begun.clone(), &now, Exactness::Everything, &run);
                if ![0, 1, 6].contains(&code) {
                    self.wrong(format!("exit code\n{run}"));
                }
                code != 0
            }
            _ => self.restored(&run, &now),
        };
        self.tally.noticed += u32::from(noticed);
    }

    /// What `diff` says of the session when nobody is in the way.
    fn calm(&self) -> Vec<Vec<u8>> {
        crate::support::compare::changed_paths(&self.ground.before, &self.ground.damaged)
    }

    /// Compares what the attacker left alone.
    fn same(&mut self, wanted: &Tree, found: &Tree, exactness: Exactness, run: &Run) {
        let lines = differences(&self.share.rest(wanted), &self.share.rest(found), exactness);
        if !lines.is_empty() {
            let lines = lines.join("\n  ");
            self.wrong(format!("what he left alone is another thing\n  {lines}\n{run}"));
        }
    }

    /// In part: where it is not new, the path or a directory above it (not the mount root) is named with the reason.
    fn new_or_named(&mut self, new: &Tree, now: &Tree, run: &Run) {
        let text = run.text();
        let root = self.ground.project.display().to_string();
        // A plan names it relative to the mount, a warning in full.
        let is_named = |path: &std::path::Path| {
            let path = format!("{}: ", path.display());
            let starts = |line: &str| line.starts_with("    ") && line.trim_start().starts_with(&path);
            text.contains(&format!("{root}/{path}")) || text.lines().any(starts)
        };
        let named = |path: &[u8]| {
            let path = String::from_utf8_lossy(path).into_owned();
            std::path::Path::new(&path)
                .ancestors()
                .filter(|above| *above != std::path::Path::new(""))
                .any(is_named)
        };
        let spared = |tree: &Tree| {
            let nodes = tree.nodes.iter().filter(|(path, _)| !named(path));
            Tree {
                nodes: nodes.map(|(path, node)| (path.clone(), node.clone())).collect(),
            }
        };
        let (new, now) = (spared(new), spared(now));
        self.same(&new, &now, Exactness::Content, run);
    }

    fn restored(&mut self, run: &Run, now: &Tree) -> bool {
        let (old, new) = match self.verb {
            Verb::Undo => (self.ground.before.clone(), self.ground.damaged.clone()),
            _ => (self.ground.damaged.clone(), self.ground.before.clone()),
        };
        match (self.verb, run.exit()) {
            (Verb::Abort, Some(0 | 6)) => self.same(&old, now, Exactness::Content, run),
            (_, Some(0)) => self.same(&new, now, Exactness::Content, run),
            (_, Some(6)) => self.new_or_named(&new, now, run),
            (Verb::Resume | Verb::Abort, Some(1 | 8)) | (_, Some(8)) => {}
            (_, Some(1)) if self.waits() => {}
            (_, Some(1)) => self.same(&self.begun.clone(), now, Exactness::Identity, run),
            _ => self.wrong(format!("exit code\n{run}")),
        }
        if self.only_staged && self.verb != Verb::Abort && run.exit() == Some(0) {
            // It says that everything is done, and nobody touched the tree but itself.
            let lines = differences(&new, now, Exactness::Content);
            if !lines.is_empty() {
                let lines = lines.join("\n  ");
                self.wrong(format!("it is not what it says\n  {lines}\n{run}"));
            }
        }
        run.exit() != Some(0)
    }

    fn captured(&mut self, run: &Run, session: Option<&str>, now: &Tree) -> bool {
        self.same(&self.begun.clone(), now, Exactness::Everything, run);
        let code = run.exit().unwrap_or(-1);
        if ![0, 1, 2, 6].contains(&code) {
            self.wrong(format!("exit code\n{run}"));
        }
        let printed = String::from_utf8_lossy(&run.stdout).trim().to_owned();
        let session = session.map_or(printed, str::to_owned);
        let from = match self.verb {
            Verb::Begin => "baseline",
            Verb::End => "closing",
            _ => "checkpoint",
        };
        if session.starts_with("rc-") && (code != 0 || self.verb != Verb::End) {
            self.ground.run(&["end", &session]);
        }
        if code != 0 || !session.starts_with("rc-") {
            return true;
        }
        let to = self.ground.den.join("seen");
        let to = to.to_str().unwrap().to_owned();
        let written = self
            .ground
            .run(&["restore", &session, "--yes", "--from", from, "--to", &to]);
        self.always(&written);
        if ![Some(0), Some(6)].contains(&written.exit()) {
            self.wrong(format!("the snapshot cannot be read\n{run}\n{written}"));
            return true;
        }
        if !fs::exists(&to).unwrap() {
            // The mount was not there, or could not be looked at: then it is listed as empty or as incomplete.
            let listed = self.ground.run(&["list", "--json"]);
            let all = instances(&listed);
            let taken = all.iter().find(|instance| instance.id == session).unwrap();
            let taken = taken.snapshot(from);
            if taken.complete && taken.entries > 0 {
                self.wrong(format!("it has nothing, and does not say so\n{run}\n{listed}"));
            }
            return true;
        }
        let seen = Tree::read(to.as_ref());
        self.same(&self.begun.clone(), &seen, Exactness::Content, run);
        self.whole(&seen, run);
        let mut calm = self.begun.clone();
        // The directory of `--to` is a new one, with a mode of its own.
        let root = seen.at("").clone();
        calm.nodes.insert(Vec::new(), root);
        !differences(&calm, &seen, Exactness::Content).is_empty() || written.exit() == Some(6)
    }

    /// No file is a mix of two, unless it was being written to.
    fn whole(&mut self, seen: &Tree, run: &Run) {
        if self.in_place {
            return;
        }
        for (path, node) in &seen.nodes {
            let Kind::File(content) = &node.kind else { continue };
            let starts = [
                &b"before "[..],
                b"by the agent: ",
                b"pair",
                b"decoy-",
                b"bait, outside",
            ];
            let whole = content.size < 40 && starts.iter().any(|start| content.head.starts_with(start));
            if !whole {
                self.wrong(format!(
                    "nobody wrote this to {}: {content:?}\n{run}",
                    path.escape_ascii()
                ));
            }
        }
    }

    fn waits(&self) -> bool {
        self.ground.run(&["restore", &self.ground.id, "--dry-run"]).exit() == Some(8)
    }

    /// Takes up what waits, now that the attacker is gone.
    pub(super) fn recover(&mut self, forward: bool) {
        let verbs = if forward {
            ["resume", "abort"]
        } else {
            ["abort", "resume"]
        };
        for verb in verbs {
            if !self.waits() {
                break;
            }
            let run = self.ground.run(&[verb, &self.ground.id, "--yes"]);
            self.always(&run);
            let now = Tree::read(&self.ground.project);
            let (old, new) = match self.verb {
                Verb::Undo => (self.ground.before.clone(), self.ground.damaged.clone()),
                _ => (self.ground.damaged.clone(), self.ground.before.clone()),
            };
            match (verb, run.exit()) {
                ("abort", Some(0 | 6)) => self.same(&old, &now, Exactness::Content, &run),
                ("resume", Some(0)) => self.same(&new, &now, Exactness::Content, &run),
                ("resume", Some(6)) => self.new_or_named(&new, &now, &run),
                (_, Some(1 | 8)) => {}
                _ => self.wrong(format!("exit code\n{run}")),
            }
        }
        if self.waits() {
            self.tally.stuck += 1;
            let run = self.ground.run(&["abort", &self.ground.id, "--as-is", "--yes"]);
            self.always(&run);
            if ![Some(0), Some(6)].contains(&run.exit()) {
                self.wrong(format!("there is no way out\n{run}"));
            }
        }
    }

    /// Whatever the attacker made and did not remove is somewhere: in the tree, aside, with him, or in the store.
    pub(super) fn lost(&mut self, made: Range<u64>) {
        self.outside();
        let mut there = BTreeSet::new();
        for entry in walkdir::WalkDir::new(self.ground.sandbox.world())
            .into_iter()
            .flatten()
        {
            let path = entry.path();
            if path.starts_with(&self.ground.treasure.vault) {
                continue;
            }
            if path
                .symlink_metadata()
                .is_ok_and(|found| found.is_file() && found.len() < 100)
            {
                there.insert(fs::read(path).unwrap());
            }
            let name = entry.file_name().as_encoded_bytes();
            there.insert(name.to_vec());
        }
        for number in made {
            let tag = tag(number);
            let is_there = there.contains(tag.as_bytes());
            // Pipes, links and names of other files have no bytes of their own to look for.
            // What comes under a name that the restore knows, between its last look and the removal, goes with it: nobody but he can
            // reach into the staging directory, and no call removes a name only while it is a certain object's.
            if self.only_staged && !self.staying.contains(&number) {
                continue;
            }
            if self.had_bytes() && !is_there && !self.ground.vaults.hold(tag.as_bytes()) {
                self.wrong(format!(
                    "{tag} is nowhere any more\n{}",
                    self.said.join("\n---\n")
                ));
            }
        }
        for path in self.ground.litter() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let forestalled = path.symlink_metadata().unwrap().is_symlink();
            if !forestalled && !self.said.iter().any(|said| said.contains(&name)) {
                self.wrong(format!("{name} stays and is not named\n{}", self.said.join("\n")));
            }
            if forestalled {
                fs::remove_file(path).unwrap();
            } else {
                fs::remove_dir_all(path).unwrap();
            }
        }
    }

    fn had_bytes(&self) -> bool {
        self.only_staged || self.about.contains(": File at") || self.about.contains(": Directory at")
    }

    /// Now that he is gone, everything can be brought to what it was before the session.
    pub(super) fn clean(&mut self) {
        let id = self.ground.id.clone();
        let all = [
            "restore",
            &id,
            "--yes",
            "--overwrite-later-edits",
            "--delete-later-files",
        ];
        let mut run = self.ground.run(&all);
        self.always(&run);
        if run.exit() != Some(0) {
            self.wrong(format!("it cannot be cleaned\n{run}"));
            run = self.ground.run(&all);
        }
        let now = Tree::read(&self.ground.project);
        let lines = differences(&self.ground.before, &now, Exactness::Content);
        if !lines.is_empty() {
            let lines = lines.join("\n  ");
            self.wrong(format!("what came back is not what was\n  {lines}\n{run}"));
        }
        for line in self.ground.treasure.stray_links(self.ground.sandbox.world()) {
            self.tally.outside += 1;
            self.wrong(line);
        }
        if !self.ground.litter().is_empty() {
            self.wrong(format!("something is left behind\n{run}"));
        }
    }
}
