//! Every part of a store damaged in every way: it is found and named, what is not damaged still restores, and what can be made again is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::machine::run_tool;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

mod archives;
mod catalog;
mod papers;
mod receipts;
mod records;

/// How something is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Flip,
    Truncate,
    Remove,
    Swap,
}

const HARMS: [Harm; 4] = [Harm::Flip, Harm::Truncate, Harm::Remove, Harm::Swap];

/// Hurts the file at `place` (from the end when negative); `other`, a sound file of the same kind, is what it changes places with.
fn damage(path: &Path, place: i64, harm: Harm, other: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let length = i64::try_from(bytes.len()).unwrap();
    let at = usize::try_from(if place < 0 {
        length + place
    } else {
        place.min(length - 1)
    })
    .unwrap();
    match harm {
        Harm::Flip => bytes[at] ^= 0x20,
        Harm::Truncate => bytes.truncate(at),
        Harm::Remove => return fs::remove_file(path).unwrap(),
        Harm::Swap => {
            fs::write(path, fs::read(other).unwrap()).unwrap();
            return fs::write(other, bytes).unwrap();
        }
    }
    fs::write(path, bytes).unwrap();
}

/// A session: its id, its directory, the tree before it.
struct Session {
    id: String,
    project: PathBuf,
    before: Tree,
}

/// Sessions of different directories that have nothing in common: one that is damaged, one that it may change places with, and one
/// that nothing happens to.
struct Sessions {
    sandbox: Sandbox,
    saved: PathBuf,
    damaged: Session,
    other: Session,
    whole: Session,
}

impl Sessions {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let binary = env!("CARGO_BIN_EXE_jackin");
        let session = |name: &str| {
            let project = sandbox.project(name);
            for number in 0..6 {
                fs::write(
                    project.join(format!("{name}-{number}")),
                    format!("{name} {number} ").repeat(500),
                )
                .unwrap();
            }
            let before = Tree::read(&project);
            let script = format!(
                "echo {name} > step && {binary} recovery checkpoint --name half >/dev/null; \
                 rm *-1; echo agent > new; echo more >> $(ls | head -1)"
            );
            let id = sandbox.launch(&project, &script);
            Session { id, project, before }
        };
        let (damaged, other, whole) = (session("first"), session("second"), session("third"));
        let saved = sandbox.scratch("saved");
        run_tool(Command::new("cp").arg("-a").arg(sandbox.world()).arg(&saved));
        Self {
            sandbox,
            saved,
            damaged,
            other,
            whole,
        }
    }

    /// Puts the store and all directories back.
    fn again(&self) {
        let projects = [&self.damaged, &self.other, &self.whole].map(|session| session.project.clone());
        for part in projects.into_iter().chain([self.sandbox.store()]) {
            let from = self.saved.join(part.strip_prefix(self.sandbox.world()).unwrap());
            fs::remove_dir_all(&part).unwrap();
            run_tool(Command::new("cp").arg("-a").arg(from).arg(&part));
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.sandbox.store().join(name)
    }

    #[track_caller]
    fn whole_restores(&self, about: &str) {
        let Session { id, project, before } = &self.whole;
        let run = self.sandbox.jackin(["restore", id, "--yes"]);
        assert_eq!(run.exit(), Some(0), "{about}: {run}");
        assert_same_tree(before, &Tree::read(project));
    }

    /// Insists that damaged content is refused or comes back exactly, and is never anything else.
    #[track_caller]
    fn is_not_torn(&self, session: &Session, about: &str) {
        let Session { id, project, before } = session;
        let now = Tree::read(project);
        let run = self.sandbox.jackin(["restore", id, "--yes"]);
        match run.exit() {
            Some(0) => assert_same_tree(before, &Tree::read(project)),
            Some(6 | 7) => {
                if run.exit() != Some(6) {
                    assert_same_tree(&now, &Tree::read(project));
                }
            }
            _ => panic!("{about}: {run}"),
        }
    }

    /// Both looks find it, and name it so.
    #[track_caller]
    fn is_found(&self, about: &str, name: &str) {
        for args in [&["verify"][..], &["verify", "--read-data"], &["doctor"]] {
            let run = self.sandbox.jackin(args);
            assert_eq!(run.exit(), Some(7), "{about}: {run}");
            run.has(name);
        }
    }

    #[track_caller]
    fn verifies(&self) -> Run {
        self.sandbox.jackin(["verify", "--read-data"]).ok()
    }

    fn snapshots(&self, of: &Session) -> Vec<String> {
        let all = instances(&self.sandbox.jackin(["list", "--json"]));
        let found = all.into_iter().find(|found| found.id == of.id);
        found
            .map(|found| found.snapshots.into_iter().map(|s| s.id).collect())
            .unwrap_or_default()
    }

    /// The files of the first session's baseline and of the second one's.
    fn files(&self, folder: &str, prefix: &str, ending: &str) -> (PathBuf, PathBuf) {
        let file = |session: &Session| {
            let baseline = self.snapshots(session).pop().unwrap().replace("sn-", prefix);
            self.file(folder).join(format!("{baseline}{ending}"))
        };
        (file(&self.damaged), file(&self.other))
    }
}

/// The store of somebody else, with two sessions in it.
fn another() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["theirs", "too"] {
        let project = sandbox.project(name);
        fs::write(project.join("a"), name).unwrap();
        sandbox.launch(&project, "echo agent > a");
    }
    sandbox
}

/// A sound file of another store, in a place where it may be overwritten.
fn of_another(sandbox: &Sandbox, from: &Sandbox, name: &str) -> PathBuf {
    let copy = sandbox.scratch("other");
    fs::write(&copy, fs::read(from.store().join(name)).unwrap()).unwrap();
    copy
}

/// The id in the name of a file of the store.
fn id_in(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    name.split('.').next().unwrap().to_owned()
}

#[test]
fn a_catalog_that_is_no_database_is_rebuilt_and_not_deleted_by_hand() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    let id = sandbox.launch(&project, "echo 1 > a");
    fs::write(
        sandbox.store().join("catalog.sqlite3"),
        "nothing of the kind ".repeat(400),
    )
    .unwrap();
    let seen = sandbox.jackin(["list"]).ok();
    seen.has(&id).has("`rebuild` makes it again");
    sandbox.jackin(["rebuild"]).ok();
    assert!(!sandbox.jackin(["list"]).ok().said().contains("rebuild"));
}
