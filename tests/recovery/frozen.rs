//! Stores that older versions wrote, kept as they were: this version reads everything in them, goes on in them, and makes their
//! catalogs anew. `tests/stores/make` made them. A format that changes gets a new one; the old ones stay.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::machine::{is_root, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

fn stores() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores");
    let files = fs::read_dir(directory).unwrap().flatten();
    let mut stores: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    stores.retain(|path| path.extension().is_some_and(|ending| ending == "zst"));
    stores.sort();
    assert!(stores.len() >= 2, "{stores:?}");
    stores
}

/// One of them, unpacked into a home of its own.
struct Frozen {
    sandbox: Sandbox,
    /// The project as it was, moment by moment.
    trees: PathBuf,
    session: String,
    version: i64,
    /// A session with agents' state and inode flags, and a file that `export` wrote; stores of the first versions have neither.
    later: Option<(String, PathBuf)>,
}

impl Frozen {
    fn thaw(file: &Path) -> Self {
        let sandbox = Sandbox::new();
        let top = sandbox.scratch("frozen");
        let bytes = zstd::decode_all(fs::File::open(file).unwrap()).unwrap();
        let mut archive = tar::Archive::new(&*bytes);
        archive.set_preserve_permissions(true);
        archive.unpack(&top).unwrap();
        fs::create_dir_all(sandbox.store().parent().unwrap()).unwrap();
        fs::rename(top.join("store"), sandbox.store()).unwrap();
        let catalog = rusqlite::Connection::open(sandbox.store().join("catalog.sqlite3")).unwrap();
        let version = catalog
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap();
        let state = fs::read_to_string(top.join("state-session")).ok();
        Self {
            later: state.map(|id| (id.trim().to_owned(), top.join("export.tar.zst"))),
            session: fs::read_to_string(top.join("session")).unwrap().trim().to_owned(),
            trees: top.join("trees"),
            sandbox,
            version,
        }
    }

    /// Every moment of the session comes back exactly.
    fn comes_back(&self) {
        for moment in ["baseline", "one", "two", "closing"] {
            let copy = self.sandbox.scratch("copy");
            let to = copy.to_str().unwrap();
            let words = ["restore", &self.session, "--from", moment, "--to", to, "--yes"];
            self.sandbox.jackin(words).ok();
            assert_same_tree(&below(&self.trees.join(moment)), &below(&copy));
            fs::remove_dir_all(&copy).unwrap();
        }
        self.sandbox.jackin(["verify", "--read-data"]).ok();
        self.sandbox.jackin(["log", "--verify"]).ok();
    }

    /// What the listing verbs say, without what only depends on the moment.
    fn told(&self) -> Vec<String> {
        let list = instances(&self.sandbox.jackin(["list", "--json"]).ok());
        let show = self.sandbox.jackin(["show", &self.session, "--json"]).ok().json();
        let diff = [
            "diff",
            &self.session,
            "--from",
            "baseline",
            "--to",
            "closing",
            "--json",
        ];
        let diff = self.sandbox.jackin(diff).ok().json();
        vec![format!("{list:?}"), show.to_string(), diff["changes"].to_string()]
    }
}

/// What lies in a directory; what is written elsewhere has a top that keeps others out.
fn below(directory: &Path) -> Tree {
    let mut tree = Tree::read(directory);
    tree.nodes.remove([].as_slice());
    tree
}

#[test]
fn a_store_of_every_version_is_read_and_gone_on_with() {
    if !is_root() {
        skip("stores of older versions", "they belong to root");
        return;
    }
    let mut versions = BTreeSet::new();
    for file in stores() {
        let frozen = Frozen::thaw(&file);
        versions.insert(frozen.version);
        let sandbox = &frozen.sandbox;
        let told = frozen.told();
        frozen.comes_back();
        // Looking changed nothing.
        assert_eq!(frozen.told(), told, "{file:?}");
        // A new session beside the old ones, and an end to what was pinned.
        let project = sandbox.project("later");
        fs::write(project.join("a"), "a\n").unwrap();
        let id = sandbox.launch(&project, "rm a");
        sandbox.jackin(["restore", &id, "--yes"]).ok();
        assert!(project.join("a").exists());
        sandbox.jackin(["pin", &frozen.session]).ok();
        sandbox.jackin(["prune", "--yes"]).ok();
        frozen.comes_back();
        sandbox.jackin(["doctor"]).ok();
    }
    // The newest is the one that this version writes.
    let own = Frozen::thaw(stores().last().unwrap());
    let project = own.sandbox.project("own");
    own.sandbox.launch(&project, "true");
    let catalog = rusqlite::Connection::open(own.sandbox.store().join("catalog.sqlite3")).unwrap();
    let newest: i64 = catalog
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        versions,
        (1..=newest).collect::<BTreeSet<_>>(),
        "a store of each version is kept"
    );
}

#[test]
fn the_catalog_of_every_version_is_made_anew() {
    if !is_root() {
        skip("stores of older versions", "they belong to root");
        return;
    }
    for file in stores() {
        let frozen = Frozen::thaw(&file);
        let told = frozen.told();
        fs::remove_file(frozen.sandbox.store().join("catalog.sqlite3")).unwrap();
        assert_eq!(frozen.told(), told, "{file:?}: read without a catalog");
        frozen.sandbox.jackin(["rebuild"]).ok();
        assert_eq!(frozen.told(), told, "{file:?}: made anew");
        frozen.comes_back();
    }
}

#[test]
fn exported_files_and_the_state_of_agents_of_older_versions_are_read() {
    if !is_root() {
        skip("stores of older versions", "they belong to root");
        return;
    }
    let mut seen = 0;
    for file in stores() {
        let frozen = Frozen::thaw(&file);
        let Some((session, exported)) = &frozen.later else {
            continue;
        };
        seen += 1;
        let sandbox = &frozen.sandbox;
        let diff = ["diff", session, "--from", "baseline", "--to", "closing"];
        sandbox
            .jackin(diff)
            .code_in(&[0, 1])
            .shows("D file")
            .shows("settings.json");
        let copy = sandbox.scratch("flagged");
        let to = copy.to_str().unwrap();
        sandbox.jackin(["restore", session, "--to", to, "--yes"]).ok();
        let text = fs::read_to_string(copy.join("flagged/file")).unwrap();
        assert_eq!(text, "not to be dumped\n");
        let other = Sandbox::new();
        other.jackin(["import", exported.to_str().unwrap(), "--yes"]).ok();
        let copy = other.scratch("copy");
        let id = other.newest();
        let words = ["restore", &id, "--to", copy.to_str().unwrap(), "--yes"];
        other.jackin(words).ok();
        assert_same_tree(&below(&frozen.trees.join("one")), &below(&copy));
    }
    assert!(seen > 0);
}
