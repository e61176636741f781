//! `import`: what another machine exported comes back, and what a stranger made does no harm.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::build::{Build, noise};
use crate::support::compare::assert_same_tree;
use crate::support::machine::{has_points, is_root};
use crate::support::nasty;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};

/// Exports the baseline of a session in another home.
fn exported(there: &Sandbox, id: &str) -> PathBuf {
    let file = there.scratch("export.tar.zst");
    there.jackin(["export", id, file.to_str().unwrap()]).ok();
    file
}

fn import(here: &Sandbox, file: &std::path::Path, flags: &[&str]) -> Run {
    let words = ["import", file.to_str().unwrap()];
    here.jackin(words.into_iter().chain(flags.iter().copied()))
}

fn comparable(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.nodes
        .retain(|path, node| !path.is_empty() && node.kind != Kind::Socket);
    tree
}

/// What is in a store, but for what locks and catalogs are.
fn kept(sandbox: &Sandbox) -> Vec<String> {
    let mut names = Vec::new();
    for directory in ["archives", "snapshots", "tmp"] {
        let entries = fs::read_dir(sandbox.store().join(directory))
            .into_iter()
            .flatten();
        names.extend(entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
    }
    names
}

#[test]
fn a_fork_of_it_may_have_the_path_that_it_had_there() {
    let (there, here) = (Sandbox::new(), Sandbox::new());
    let project = there.project("moved");
    Build::at(&project).file("a", "a\n").aged();
    let id = there.launch(&project, "echo agent > a");
    let file = exported(&there, &id);
    fs::remove_dir_all(&project).unwrap();
    let run = import(&here, &file, &["--trust", "--yes", "--json"]).ok();
    let new = run.json()["instance"].as_str().unwrap().to_owned();
    here.jackin(["fork", &new, project.to_str().unwrap()]).ok();
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "a\n");
    // It is no longer empty.
    here.jackin(["fork", &new, project.to_str().unwrap()]).code(2);
}

#[test]
fn it_comes_back_on_another_machine() {
    let (there, here) = (Sandbox::new(), Sandbox::new());
    let project = there.project("nasty");
    nasty::tree(&project);
    let before = Tree::read(&project);
    let id = there.launch(&project, "echo agent > plain; rm -r deep");
    let file = exported(&there, &id);
    let planned = import(&here, &file, &["--dry-run", "--json"]).ok().json();
    assert_eq!(planned["outcome"], "planned");
    assert!(!here.store().exists(), "a dry run makes nothing");
    import(&here, &file, &[]).code(4);
    let run = import(&here, &file, &["--trust", "--yes", "--json"]).ok();
    let document = run.json();
    assert_eq!(document["outcome"], "imported");
    assert_eq!(document["origin"]["instance"], id.as_str());
    let new = document["instance"].as_str().unwrap().to_owned();
    assert_ne!(new, id);
    assert!(new.ends_with("-nasty"), "{new}");
    let to = here.scratch("fork");
    here.jackin(["fork", &new, to.to_str().unwrap()]).code_in(&[0, 6]);
    let forked = Tree::read(&to);
    if is_root() {
        assert_same_tree(&comparable(&before), &comparable(&forked));
        for (path, node) in comparable(&before).nodes {
            let modified = forked.at(&path).times.modified;
            assert_eq!(node.times.modified, modified, "mtime of {}", path.escape_ascii());
        }
    }
    let to = here.scratch("restored");
    here.jackin(["restore", &new, "--to", to.to_str().unwrap(), "--yes"])
        .code_in(&[0, 6]);
    let shown = here.jackin(["show", &new, "--json"]).ok().json();
    assert_eq!(shown["instance"]["mode"], "imported");
    assert_eq!(shown["instance"]["status"], "ended");
    here.jackin(["verify", "--read-data"]).ok();
    here.jackin(["log", "--verify"]).ok();
    here.jackin(["log"]).ok().shows("imported");
    here.jackin(["rebuild"]).ok();
    assert_eq!(here.newest(), new);
}

/// A link to the file is followed, and `doctor` names an import that was killed.
#[test]
fn it_comes_through_a_link_and_is_named_when_it_was_interrupted() {
    let (there, here) = (Sandbox::new(), Sandbox::new());
    let project = there.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    let id = there.launch(&project, "echo agent > a");
    let file = exported(&there, &id);
    let link = here.scratch("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    import(&here, &link, &["--yes"]).ok();
    if !has_points() {
        return;
    }
    let killed = here.command(["import", file.to_str().unwrap(), "--yes"]);
    killed.with("JACKIN_RECOVERY_FAIL_AT", "import-captured").run();
    let new = here.newest();
    let told = here.jackin(["doctor"]);
    told.shows(&format!("the import of {new} was interrupted"))
        .shows(&format!("recovery forget {new}"));
    here.jackin(["list"])
        .ok()
        .shows("import interrupted")
        .shows(&format!(
            "{new}: its import was interrupted; import its file again, and delete"
        ));
    here.jackin(["forget", &new, "--yes"]).ok();
    // Without a snapshot it is gone once the file was imported.
    let begun = here.command(["import", file.to_str().unwrap(), "--yes"]);
    begun.with("JACKIN_RECOVERY_FAIL_AT", "import-begun").run();
    let empty = here.newest();
    for _ in 0..2 {
        here.jackin(["doctor"])
            .shows(&format!("the import of {empty} was interrupted"));
        here.jackin(["list"])
            .ok()
            .shows("import interrupted")
            .shows(&format!(
                "{empty}: its import was interrupted; import its file again"
            ));
        let shown = here.jackin(["show", &empty]).ok().shows("import its file again");
        assert!(!shown.text().contains("recovery fork"), "{shown}");
        // A command that writes records that it failed.
        let other = here.project("other");
        here.launch(&other, "true");
    }
    import(&here, &file, &["--yes"]).ok();
    here.jackin(["list"])
        .ok()
        .hides("import interrupted")
        .shows("1 session more, whose import was interrupted and then repeated");
    here.jackin(["doctor"]).hides("was interrupted");
}

#[test]
fn it_is_never_put_into_the_paths_of_this_machine() {
    let (there, here) = (Sandbox::new(), Sandbox::new());
    let project = there.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    let id = there.launch(&project, "echo agent > a");
    let file = exported(&there, &id);
    let new = import(&here, &file, &["--yes", "--json"]).ok().json()["instance"]
        .as_str()
        .unwrap()
        .to_owned();
    let live = Tree::read(&project);
    here.jackin(["restore", &new, "--yes"])
        .code(5)
        .shows("imported")
        .shows("fork")
        .shows("--to");
    here.jackin(["restore", &new, "--dry-run"]).code(5);
    here.jackin(["diff", &new]).code(5);
    here.jackin(["restore", &new, "--from", "closing", "--yes"])
        .code(5);
    crate::support::compare::assert_untouched(&live, &Tree::read(&project));
    for words in [&["show"][..], &["restore", "--yes"]] {
        let refused = here.command(words).inside(&project).run().code(5);
        refused
            .shows("no session covers")
            .shows("(imported)")
            .shows(&format!("recovery fork {new}"));
    }
    let list = here.jackin(["list"]).ok();
    assert!(list.ageless().contains("just now imported"), "{list}");
    // Nothing is proposed that is refused.
    let fork = format!("recovery fork {new}");
    here.jackin(["show", &new])
        .ok()
        .shows(&fork)
        .hides("recovery diff");
    for words in [["undo", new.as_str(), "--yes"], ["watch", new.as_str(), "--json"]] {
        here.jackin(words).code(5).shows(&fork);
    }
    let found = here.jackin(["find", "--any", "a"]).ok();
    found
        .shows(&format!("recovery restore {new} --from "))
        .shows("--to DIR");
    for (words, code) in [
        (&["forget", "@latest", "--yes"][..], 5),
        (&["forget", "--any", "--yes"], 2),
        (&["forget", "--any", "--path", "a", "--yes"], 2),
    ] {
        here.command(words).inside(&project).run().code(code);
    }
    here.command(["forget", "@latest", "--any", "--dry-run"])
        .inside(&project)
        .run()
        .ok()
        .shows(&new);
    // A session of this machine on the same paths is the latest, and believes nothing of what was imported.
    let own = here.launch(&project, "echo more >> a");
    assert_eq!(here.newest(), own);
    import(&here, &file, &["--yes"]).ok();
    here.jackin(["show", "@latest"]).ok().shows(&own);
    here.restore(&own, &[]).touched(&["a"]);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "agent\n");
}

#[test]
fn rights_are_dropped_unless_the_file_is_trusted() {
    let (there, here) = (Sandbox::new(), Sandbox::new());
    let project = there.project("shop");
    let build = Build::at(&project);
    build
        .file("setuid", "s\n")
        .mode("setuid", 0o4755)
        .dir("setgid")
        .mode("setgid", 0o2755)
        .file("plain", "p\n")
        .attribute("plain", "user.kept", "yes");
    if is_root() {
        build
            .device("null", 1, 3)
            .file("owned", "o\n")
            .file("capable", "c\n");
        std::os::unix::fs::chown(project.join("owned"), Some(1234), Some(4321)).unwrap();
        // Version 2, effective, cap_net_bind_service.
        let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        build.attribute("capable", "security.capability", capability);
    }
    build.aged();
    let before = Tree::read(&project);
    let id = there.launch(&project, "true");
    let file = exported(&there, &id);
    let run = import(&here, &file, &["--dry-run"]).ok();
    run.has("setuid").has("set-user-id bit").has("set-group-id bit");
    if is_root() {
        run.has("device")
            .has("owner 1234:4321")
            .has("security.capability");
    }
    let document = import(&here, &file, &["--yes", "--json"]).ok().json();
    let named: Vec<&Value> = document["dropped_paths"].as_array().unwrap().iter().collect();
    assert_eq!(document["dropped"], if is_root() { 4 } else { 2 }, "{named:?}");
    assert_eq!(document["owners"], u64::from(is_root()));
    let to = here.scratch("fork");
    let new = document["instance"].as_str().unwrap();
    here.jackin(["fork", new, to.to_str().unwrap()]).ok();
    let tree = Tree::read(&to);
    assert_eq!(tree.at("setuid").mode, 0o755);
    assert_eq!(tree.at("setgid").mode, 0o755);
    assert_eq!(tree.at("plain").attributes, before.at("plain").attributes);
    assert!(!tree.nodes.contains_key(&b"null"[..]));
    let own = fs::metadata(&to).unwrap();
    for (path, node) in &tree.nodes {
        assert_eq!(node.owner, (own.uid(), own.gid()), "{}", path.escape_ascii());
        let keeps = |name: &Vec<u8>| name.starts_with(b"user.");
        assert!(node.attributes.keys().all(keeps), "{}", path.escape_ascii());
    }
    if is_root() {
        here.jackin(["show", new])
            .ok()
            .shows("a device, which the import dropped");
        let trusted = import(&here, &file, &["--yes", "--trust", "--json"]).ok().json();
        assert_eq!(
            (&trusted["dropped"], &trusted["trusted"]),
            (&0.into(), &true.into())
        );
        let to = here.scratch("trusted");
        let new = trusted["instance"].as_str().unwrap();
        here.jackin(["fork", new, to.to_str().unwrap()]).ok();
        assert_same_tree(&comparable(&before), &comparable(&Tree::read(&to)));
    }
}

#[test]
fn what_is_damaged_is_refused_and_leaves_nothing() {
    let (there, here) = (Sandbox::new(), Sandbox::new());
    let project = there.project("shop");
    Build::at(&project)
        .big("big", 3 << 20)
        .file("small", "s\n")
        .sparse("sparse", 1 << 20, &[(4096, b"data")])
        .aged();
    let id = there.launch(&project, "true");
    let whole = fs::read(exported(&there, &id)).unwrap();
    let file = here.scratch("hostile");
    let refused = |bytes: &[u8], about: &str| {
        fs::write(&file, bytes).unwrap();
        for flags in [["--yes"], ["--dry-run"]] {
            let run = import(&here, &file, &flags);
            assert_eq!(run.exit(), Some(7), "{about}\n{run}");
            run.harmless();
        }
        assert_eq!(kept(&here), Vec::<String>::new(), "{about}");
    };
    let length = whole.len();
    // A byte in each region: at its beginning, in frames, in the index, in the seek table, in the footer.
    let step = (length / 40).max(1);
    for at in (0..length).step_by(step).chain(length.saturating_sub(60)..length) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        refused(&bytes, &format!("byte {at} of {length} was changed"));
    }
    for keep in [0, 1, 100, length / 2, length - 1] {
        refused(&whole[..keep], &format!("cut to {keep}"));
    }
    refused(&[&whole[..], b"more"].concat(), "something behind it");
    refused(&noise("no export", 100_000), "noise");
    // An archive of a store is whole, and no export.
    let archive = fs::read_dir(there.store().join("archives"))
        .unwrap()
        .next()
        .unwrap();
    refused(
        &fs::read(archive.unwrap().path()).unwrap(),
        "an archive of a store",
    );
    let list = here.jackin(["list", "--json"]).ok().json();
    assert_eq!(list["instances"].as_array().unwrap().len(), 0);
    for odd in [here.scratch("gone"), here.home()] {
        import(&here, &odd, &["--yes"])
            .code(2)
            .shows(odd.to_str().unwrap());
    }
    fs::write(&file, &whole).unwrap();
    import(&here, &file, &["--yes"]).ok();
}

#[test]
fn what_is_no_regular_file_is_called_that_and_a_session_names_its_file() {
    let (there, here) = (Sandbox::new(), Sandbox::new());
    let directory = here.project("directory");
    import(&here, &directory, &["--yes"])
        .code(2)
        .has("directory is not a regular file");
    let pipe = here.scratch("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    import(&here, &pipe, &["--yes"])
        .code(2)
        .has("pipe is not a regular file");
    import(&here, &directory.join("nothing"), &["--yes"])
        .code(2)
        .has("not found");
    let project = there.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    let id = there.launch(&project, "true");
    let file = exported(&there, &id);
    let made = import(&here, &file, &["--yes", "--json"]).ok().json();
    let made = made["instance"].as_str().unwrap();
    let shown = here.jackin(["show", made]).ok();
    shown.has("imported").has(file.to_str().unwrap()).has(&id);
    let shown = here.jackin(["show", made, "--json"]).ok().json();
    assert_eq!(shown["imported"]["path"], file.to_str().unwrap());
    assert_eq!(shown["imported"]["instance"], id.as_str());
    let shown = there.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["imported"], Value::Null);
}

#[test]
fn a_killed_one_leaves_nothing_that_looks_good() {
    if !has_points() {
        return;
    }
    let (there, here) = (Sandbox::new(), Sandbox::new());
    let project = there.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    let id = there.launch(&project, "true");
    let file = exported(&there, &id);
    for point in ["import-stored", "import-begun", "import-captured", "import-told"] {
        let words = ["import", file.to_str().unwrap(), "--yes"];
        let killed = here.command(words).with("JACKIN_RECOVERY_FAIL_AT", point).run();
        assert_eq!(killed.exit(), None, "{point}");
        let list = here.jackin(["list", "--json"]).ok().json();
        let found = list["instances"].as_array().unwrap().clone();
        if point == "import-stored" {
            assert!(found.is_empty(), "{point}");
            // The next command that writes sweeps what was stored.
            import(&here, &file, &["--yes"]).ok();
            assert_eq!(kept(&here).len(), 2, "{:?}", kept(&here));
            continue;
        }
        let id = found[0]["id"].as_str().unwrap();
        assert_eq!(found[0]["status"], "lost", "{point}");
        let shown = here.jackin(["show", id, "--json"]).ok().json();
        let wanted = if point == "import-told" { "ended" } else { "failed" };
        assert_eq!(shown["instance"]["status"], wanted, "{point}");
        let snapshots = shown["instance"]["snapshots"].as_array().unwrap();
        assert!(
            snapshots.iter().all(|one| one["kind"] == "baseline"),
            "nothing was captured here"
        );
    }
    here.jackin(["verify", "--read-data"]).ok();
    here.jackin(["log", "--verify"]).ok();
}

#[test]
fn what_is_imported_beside_a_session_makes_none_of_its_changes_a_conflict() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("f", "orig\n").file("g", "orig\n");
    let earlier = sandbox.launch(&project, "echo a >> g");
    let file = exported(&sandbox, &earlier);
    let good = Tree::read(&project);
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("f"), "of the agent\n").unwrap();
        import(&sandbox, &file, &["--yes"]).ok();
    });
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_same_tree(&good, &Tree::read(&project));
}
