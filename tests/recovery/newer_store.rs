//! A store from a newer version is refused and named; a damaged one is found.

use std::fs;
use std::path::PathBuf;

use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::documents::instances;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

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
    sandbox
        .jackin([
            "launch",
            "--snapshot",
            "project",
            target,
            "--",
            "sh",
            "-c",
            &script,
        ])
        .code(125);
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
