//! A path argument below a directory that the session replaced by a link means the path that the snapshot has, not the one to which the
//! link leads now: the session does not decide which file is restored, printed or forgotten.

use std::fs;
use std::path::PathBuf;

use crate::support::build::Build;
use crate::support::documents::Restored;
use crate::support::sandbox::Sandbox;

/// A project in which the session did `script`.
fn session(script: &str) -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("linked");
    Build::at(&project)
        .file("src/deep/main.rs", "of src\n")
        .file("src/deep/other.rs", "other\n")
        .file("lib/deep/main.rs", "of lib\n")
        .file("releases/one/notes", "first\n")
        .symlink("current", "releases")
        .aged();
    let id = sandbox.launch(&project, script);
    (sandbox, project, id)
}

const REPLACED: &str = "rm -r src; ln -s lib src; echo agent >> lib/deep/main.rs";

#[test]
fn a_link_in_place_of_a_directory_leads_no_restore_to_another_file() {
    for word in ["src/deep/main.rs", "./src/deep/main.rs", "src/deep/mai*.rs"] {
        let (sandbox, project, id) = session(REPLACED);
        sandbox
            .command(["restore", &id, "--yes", word])
            .inside(&project)
            .run()
            .ok();
        let read = |path: &str| fs::read_to_string(project.join(path)).unwrap();
        assert_eq!(read("src/deep/main.rs"), "of src\n", "{word}");
        assert_eq!(read("lib/deep/main.rs"), "of lib\nagent\n", "{word}");
        assert!(!project.join("src").is_symlink() && !project.join("src/deep/other.rs").exists());
    }
}

#[test]
fn a_link_out_of_the_mount_hides_no_path() {
    let (sandbox, project, id) = session("rm -r src; ln -s /etc src");
    let path = project.join("src/deep/main.rs");
    sandbox.restore(&id, &[path.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(path).unwrap(), "of src\n");
}

#[test]
fn what_only_looks_at_a_path_means_the_same() {
    let (sandbox, project, id) = session(REPLACED);
    let path = project.join("src/deep/main.rs");
    let path = path.to_str().unwrap();
    let printed = sandbox.jackin(["cat", &id, path]).ok();
    assert_eq!(printed.stdout, b"of src\n");
    sandbox.diff(&id, &[path]).are(&[("deleted", "src/deep/main.rs")]);
    let to = sandbox.scratch("to");
    sandbox
        .jackin(["restore", &id, path, "--yes", "--to", to.to_str().unwrap()])
        .ok();
    assert_eq!(
        fs::read_to_string(to.join("src/deep/main.rs")).unwrap(),
        "of src\n"
    );
    assert!(!to.join("lib").exists());
    for of in [&[][..], &[id.as_str()]] {
        let words = [&["forget"], of, &["--path", path, "--dry-run"]].concat();
        let shown = sandbox.jackin(words).ok();
        shown.has("src/deep/main.rs");
        assert!(!shown.said().contains("lib/deep"), "{shown}");
    }
    sandbox.jackin(["blame", path]).ok().has("of src");
}

#[test]
fn a_link_that_was_there_before_is_followed() {
    let (sandbox, project, id) = session("echo agent > releases/one/notes");
    sandbox
        .command(["restore", &id, "--yes", "current/one/notes"])
        .inside(&project)
        .run()
        .ok();
    let notes = fs::read_to_string(project.join("releases/one/notes")).unwrap();
    assert_eq!(notes, "first\n");
    assert!(project.join("current").is_symlink());
}

#[test]
fn a_link_above_the_mount_leads_no_session_and_no_restore_to_another_directory() {
    for ended_before in [false, true] {
        let sandbox = Sandbox::new();
        let [project, foreign] = ["home/work", "other/work"].map(|name| sandbox.project(name));
        Build::at(&project).file("mine", "before\n").aged();
        Build::at(&foreign).file("precious", "theirs\n").aged();
        let (above, away) = (sandbox.sources().join("home"), sandbox.sources().join("away"));
        let id = sandbox.begin(&project);
        fs::write(project.join("mine"), "agent\n").unwrap();
        if ended_before {
            sandbox.jackin(["end", &id]).ok();
        }
        fs::rename(&above, &away).unwrap();
        std::os::unix::fs::symlink(foreign.parent().unwrap(), &above).unwrap();
        if !ended_before {
            let ended = sandbox.jackin(["end", &id]);
            assert!(!ended.text().contains("precious"), "{ended}");
        }
        for words in [
            &["restore", &id, "--yes"][..],
            &["restore", &id, "--dry-run"],
            &["diff", &id, "--now"],
        ] {
            let refused = sandbox.jackin(words).code(1);
            refused.has("is a symbolic link now");
        }
        assert_eq!(fs::read_to_string(foreign.join("precious")).unwrap(), "theirs\n");
        assert!(!foreign.join("mine").exists());
        // The directory at its place again is restored as ever. Without a closing snapshot the agent's change is a conflict.
        fs::remove_file(&above).unwrap();
        fs::rename(&away, &above).unwrap();
        let flags: &[&str] = match ended_before {
            true => &[],
            false => &["--overwrite-later-edits"],
        };
        sandbox.restore(&id, flags);
        assert_eq!(fs::read_to_string(project.join("mine")).unwrap(), "before\n");
    }
}

#[test]
fn two_dots_after_a_link_climb_from_where_it_leads() {
    let (sandbox, project, id) = session("echo agent >> lib/deep/main.rs; echo agent >> src/deep/main.rs");
    let (here, there) = (sandbox.project("here"), sandbox.project("there"));
    Build::at(&there).dir("in");
    Build::at(&here)
        .dir("deep")
        .symlink("out", "../there/in")
        .symlink("lib", "../linked/lib/deep");
    let run = |args: &[&str]| sandbox.command(args).inside(&here).run();
    // Directories that are written.
    run(&["fork", &id, "out/../forked"]).ok();
    run(&["restore", &id, "--yes", "--to", "out/../written"]).ok();
    for name in ["forked", "written"] {
        assert!(there.join(name).is_dir() && !here.join(name).exists(), "{name}");
    }
    // A path of the snapshot.
    run(&["restore", &id, "--yes", "lib/../deep/main.rs"]).ok();
    let read = |path: &str| fs::read_to_string(project.join(path)).unwrap();
    assert_eq!(read("lib/deep/main.rs"), "of lib\n");
    assert_eq!(read("src/deep/main.rs"), "of src\nagent\n");
    // A new workspace.
    let init = run(&["init", "lib/../..", "--dry-run"]).ok();
    init.shows(&format!("src = \"{}\"", project.display()));
}

/// A directory may be called what elsewhere is a glob: where such a word leads to a mount, or is one, it means that.
#[test]
fn a_mount_whose_name_is_a_glob_is_reached_from_outside() {
    for name in ["app[1]", "w*", "what?"] {
        let sandbox = Sandbox::new();
        let project = sandbox.project(name).join("inner");
        Build::at(&project)
            .file("f", "1\n")
            .file("sub/g.rs", "1\n")
            .aged();
        let id = sandbox.launch(&project, "rm f; echo 2 > sub/g.rs");
        let outside = project.ancestors().nth(2).unwrap();
        let restore = |word: &str| {
            let words = ["restore", &id, "--yes", "--json", word];
            let run = sandbox.command(words).inside(outside).run().ok();
            let restored = Restored::of(&run);
            sandbox.jackin(["undo", &id, "--yes"]).ok();
            restored
        };
        let whole = project.to_str().unwrap();
        for word in [whole, &format!("{name}/inner"), &format!("./{name}/inner/")] {
            restore(word).touched(&["f", "sub/g.rs"]);
        }
        for word in [format!("{whole}/f"), format!("{name}/inner/f")] {
            restore(&word).touched(&["f"]);
        }
        // What comes after it is a glob still.
        for word in [format!("{whole}/s*/*.rs"), format!("{name}/inner/**/g.r?")] {
            restore(&word).touched(&["sub/g.rs"]);
        }
        let cat = ["cat", &id, &format!("{name}/inner/f")];
        sandbox.command(cat).inside(outside).run().ok().shows("1");
        let find = ["find", "--any", "--in", "deleted", &format!("{name}/inner/f")];
        sandbox.command(find).inside(outside).run().ok().shows("f");
    }
}

#[test]
fn an_exclude_without_a_slash_counts_in_the_whole_mount() {
    let (sandbox, project, id) =
        session("for f in src/deep/main.rs lib/deep/main.rs src/deep/other.rs; do echo x > $f; done");
    let restore = |glob: &str| {
        let words = ["restore", &id, "--yes", "--json", "--exclude", glob];
        let run = sandbox.command(words).inside(&project.join("src")).run().ok();
        let restored = Restored::of(&run);
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        restored
    };
    restore("main.rs").touched(&["src/deep/other.rs"]);
    // With one it is relative to the current directory.
    for glob in ["deep/main.rs", "/deep/m*.rs"] {
        restore(glob).touched(&["lib/deep/main.rs", "src/deep/other.rs"]);
    }
}
