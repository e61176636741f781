//! Stores that other versions wrote. Older ones are kept as they were: this version reads everything in them, goes on in them, and makes their
//! catalogs anew. `tests/stores/make` made them. A format that changes gets a new one; the old ones stay. Newer ones are refused and named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
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

fn session() -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project)
        .file("a", "before\n".repeat(1000))
        .file("b", "b\n")
        .aged();
    let id = sandbox.launch(&project, "echo agent > a; rm b");
    (sandbox, project, id)
}

#[test]
fn newer_catalog_is_refused_and_named() {
    let (sandbox, project, id) = session();
    let damaged = Tree::read(&project);
    let catalog = sandbox.store().join("catalog.sqlite3");
    let connection = rusqlite::Connection::open(&catalog).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let bytes = fs::read(&catalog).unwrap();
    for args in [
        &["list"][..],
        &["show", &id],
        &["diff", &id],
        &["restore", &id, "--yes"],
        &["undo", &id, "--yes"],
    ] {
        sandbox.jackin(args).code(7).shows("99").shows("catalog.sqlite3");
    }
    let error = sandbox.jackin(["list", "--json"]).code(7).error();
    assert!(error.to_string().contains("99"), "{error}");
    let marker = sandbox.scratch("ran");
    let script = format!("touch '{}'", marker.display());
    let target = project.to_str().unwrap();
    sandbox.launching(target, &["sh", "-c", &script]).run().code(125);
    assert!(!marker.exists());
    assert_untouched(&damaged, &Tree::read(&project));
    assert_eq!(bytes, fs::read(&catalog).unwrap(), "it is not written to");
}

#[test]
fn newer_record_is_refused_and_named() {
    let (sandbox, project, id) = session();
    let damaged = Tree::read(&project);
    for record in sandbox.store().join("snapshots").read_dir().unwrap().flatten() {
        let mut value: serde_json::Value = serde_json::from_slice(&fs::read(record.path()).unwrap()).unwrap();
        assert_eq!(value["format"], 1);
        value["format"] = 99.into();
        fs::write(record.path(), serde_json::to_vec(&value).unwrap()).unwrap();
    }
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(7);
    let run = run.shows("sn-");
    assert!(
        run.text().contains("99") || run.text().contains("version") || run.text().contains("newer"),
        "{run}"
    );
    sandbox.jackin(["diff", &id]).code(7);
    assert_untouched(&damaged, &Tree::read(&project));
}

#[test]
fn flipped_bit_in_an_archive_is_found_and_nothing_is_restored_from_it() {
    let (sandbox, project, id) = session();
    let damaged = Tree::read(&project);
    sandbox.jackin(["verify", "--read-data"]).ok();
    let run = sandbox.jackin(["list", "--json"]).ok();
    let baseline = instances(&run)[0].snapshot("baseline").id.clone();
    let archive = sandbox
        .store()
        .join(format!("archives/{}.tar.zst", baseline.replacen("sn-", "ar-", 1)));
    let whole = fs::read(&archive).unwrap();
    for place in [whole.len() / 7, whole.len() / 2, whole.len() - 20] {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        fs::write(&archive, &bytes).unwrap();
        let name = archive
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .trim_end_matches(".tar.zst")
            .to_owned();
        sandbox.jackin(["verify", "--read-data"]).code(7).shows(&name);
        // Restored is what is whole, or nothing: never wrong bytes.
        let restored = sandbox.jackin(["restore", &id, "--yes"]);
        let after = Tree::read(&project);
        if restored.exit() == Some(7) {
            assert_untouched(&damaged, &after);
        } else {
            let sizes = ["a", "b"].map(|path| fs::metadata(project.join(path)).map(|found| found.len()).ok());
            assert!(
                matches!(sizes, [Some(6 | 7000), None | Some(2)]),
                "{sizes:?}\n{restored}"
            );
        }
    }
    fs::write(&archive, &whole).unwrap();
    sandbox.jackin(["verify", "--read-data"]).ok();
}

#[test]
fn archive_that_is_gone_or_short_is_found() {
    let (sandbox, project, id) = session();
    let damaged = Tree::read(&project);
    let run = sandbox.jackin(["list", "--json"]).ok();
    let baseline = instances(&run)[0].snapshot("baseline").id.clone();
    let archive = sandbox
        .store()
        .join(format!("archives/{}.tar.zst", baseline.replacen("sn-", "ar-", 1)));
    let whole = fs::read(&archive).unwrap();
    fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
    sandbox.jackin(["verify"]).code(7);
    sandbox.jackin(["restore", &id, "--yes"]).code(7);
    fs::remove_file(&archive).unwrap();
    sandbox.jackin(["verify"]).code(7);
    sandbox.jackin(["restore", &id, "--yes"]).code(7);
    assert_untouched(&damaged, &Tree::read(&project));
}
