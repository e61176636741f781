//! What a restore has no business with is not touched (scenarios 22, 24, 26), nor what `--path` does not name.

use std::fs;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::machine::{skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s22_excluded_directories_are_untouched() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("excluded");
    Build::at(&project)
        .file("src/main.rs", "fn main() {}\n")
        .file("target/debug/old", "built before\n")
        .file("node_modules/left-pad/index.js", "before\n")
        .file("crates/one/target/old", "built before\n")
        .file("crates/one/lib.rs", "lib\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch_with(
        &["--exclude", "target/", "--exclude", "node_modules/"],
        &project,
        "echo new > target/debug/new; echo x > target/debug/old; rm -r node_modules/left-pad; \
         echo evil > node_modules/evil.js; echo x > crates/one/target/new; rm crates/one/lib.rs src/main.rs",
    );
    let damaged = Tree::read(&project);
    let excluded = ["target", "node_modules", "crates/one/target"];
    let changes = sandbox.diff(&id, &[]);
    changes.are(&[("deleted", "crates/one/lib.rs"), ("deleted", "src/main.rs")]);
    let restored = sandbox.restore(&id, &[]);
    restored.touched(&["crates/one/lib.rs", "src/main.rs"]);
    // The agent's programs survive there, so it is said that nobody looked.
    for path in excluded {
        assert!(
            restored.not_checked.iter().any(|p| p == path.as_bytes()),
            "{path}: {:#}",
            restored.document
        );
    }

    let after = Tree::read(&project);
    for path in excluded {
        assert_untouched(&damaged.only(path), &after.only(path));
    }
    let strip = |tree: &Tree| {
        excluded
            .iter()
            .fold(tree.clone(), |tree, path| tree.without(path))
    };
    assert_same_tree(&strip(&before), &strip(&after));
}

#[test]
fn s22_restoring_a_parent_leaves_the_excluded_child() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("parent");
    Build::at(&project)
        .file("app/target/keep", "keep\n")
        .file("app/main", "m\n")
        .file("other", "o\n")
        .aged();

    let id = sandbox.launch_with(
        &["--exclude", "target/"],
        &project,
        "echo x > app/main; echo x > other; echo x > app/target/x",
    );
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &["app"]).touched(&["app/main"]);
    let after = Tree::read(&project);
    assert_untouched(&damaged.only("app/target"), &after.only("app/target"));
    assert_untouched(&damaged.only("other"), &after.only("other"));
    assert_same_tree(&damaged.without("app/main"), &after.without("app/main"));
}

#[test]
fn s22_new_directory_with_an_excluded_child_stays_and_is_named() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("fresh");
    Build::at(&project).file("a", "a\n").aged();

    let id = sandbox.launch_with(
        &["--exclude", "target/"],
        &project,
        "mkdir -p fresh/sub/target fresh/gone; echo built > fresh/sub/target/x; echo y > fresh/sub/y; echo z > fresh/z",
    );
    let damaged = Tree::read(&project);
    let run = sandbox
        .jackin(["restore", &id, "--yes", "--json"])
        .code_in(&[0, 6]);
    let restored = crate::support::documents::Restored::of(&run);
    restored.touched(&["fresh/gone", "fresh/sub/y", "fresh/z"]);
    assert!(restored.names("fresh") && restored.names("fresh/sub"), "{run}");
    let after = Tree::read(&project);
    assert_untouched(&damaged.only("fresh/sub/target"), &after.only("fresh/sub/target"));
    assert_eq!(
        after.only("fresh").paths().count(),
        4,
        "fresh, fresh/sub, target and its file"
    );
}

#[test]
fn s22_built_in_excludes_are_frozen_into_the_snapshot() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("stack");
    Build::at(&project)
        .file("Cargo.toml", "[package]\nname = \"x\"\n")
        .file(
            "target/CACHEDIR.TAG",
            "Signature: 8a477f597d28d172789f06886806bc55\n",
        )
        .file("target/debug/x", "built\n")
        .file("node_modules/mine.js", "not excluded: there is no package.json\n")
        .file("src/lib.rs", "lib\n")
        .aged();
    let before = Tree::read(&project);

    // The agent plants what would exclude more, and takes away what excluded: neither may matter afterwards.
    let id = sandbox.launch(
        &project,
        "rm Cargo.toml; echo '{}' > package.json; echo '*' > .gitignore; rm node_modules/mine.js; echo > target/new; \
         rm src/lib.rs",
    );
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_untouched(&damaged.only("target"), &after.only("target"));
    assert_same_tree(&before.without("target"), &after.without("target"));
}

#[test]
fn s24_session_that_changed_nothing_is_restored_by_writing_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("idle");
    crate::support::nasty::tree(&project);
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "true");
    assert_untouched(&before, &Tree::read(&project));
    sandbox.diff(&id, &[]).are::<&str>(&[]);
    sandbox.restore(&id, &[]).nothing();
    sandbox.jackin(["restore", &id]).ok();
    assert_untouched(&before, &Tree::read(&project));
    // Two captures of the same tree: the second stores no content again.
    let archives = fs::read_dir(sandbox.store().join("archives")).unwrap().count();
    assert_eq!(archives, 1, "an unchanged tree needs a record only");
}

#[test]
fn s26_one_path_is_restored_and_everything_else_is_as_it_was() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("one-path");
    Build::at(&project)
        .file("a/one", "1\n")
        .file("a/two", "2\n")
        .file("a/sub/three", "3\n")
        .file("ab", "a name that begins like the directory\n")
        .file("b/gone", "g\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "for f in a/one a/two a/sub/three ab; do echo agent > $f; done; rm b/gone; echo new > a/new; echo new > new",
    );
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &["a/one"]).touched(&["a/one"]);
    let after = Tree::read(&project);
    assert_eq!(after.at("a/one").kind, before.at("a/one").kind);
    assert_kept(&damaged, &after, &["a/one"]);

    // An absolute host path names the same; a directory takes all below it, new files included, and no neighbor.
    let directory = project.join("a");
    sandbox
        .restore(&id, &[directory.to_str().unwrap()])
        .touched(&["a/new", "a/sub/three", "a/two"]);
    let later = Tree::read(&project);
    assert_same_tree(&before.only("a"), &later.only("a"));
    assert_untouched(&damaged.only("ab"), &later.only("ab"));
    assert_untouched(&damaged.only("new"), &later.only("new"));
    assert!(!later.has("b/gone"));

    // A deleted file by its name, from inside the mount.
    let run = sandbox
        .command(["restore", &id, "--yes", "b/gone"])
        .inside(&project)
        .run();
    run.ok();
    assert_eq!(Tree::read(&project).at("b/gone").kind, before.at("b/gone").kind);
}

#[test]
fn s26_path_that_no_snapshot_knows_is_an_error() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("unknown-path");
    Build::at(&project).file("a", "a\n").aged();
    let id = sandbox.launch(&project, "echo b > a");
    let damaged = Tree::read(&project);
    for (path, named) in [
        ("no-such-file", "no-such-file"),
        // Where it leads: that depends on the current directory.
        ("../outside", "/outside is in no mount"),
        ("/etc/passwd", "/etc/passwd"),
        ("a/below-a-file", "a/below-a-file"),
    ] {
        sandbox
            .jackin(["restore", &id, "--yes", path])
            .refused()
            .shows(named);
    }
    assert_untouched(&damaged, &Tree::read(&project));
}

#[test]
fn s24_nothing_to_do_issues_no_writing_call_below_the_mount() {
    /// Calls that change something, by what they name: a path, or with `-y` the file behind a descriptor.
    // A question mark: older versions do not know it.
    const WRITING: &str = "trace=write,pwrite64,writev,pwritev,ftruncate,truncate,fallocate,copy_file_range,sendfile,mkdir,mkdirat,\
                           mknod,mknodat,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,symlink,symlinkat,chmod,\
                           fchmod,fchmodat,?fchmodat2,chown,fchown,lchown,fchownat,utime,utimes,utimensat,futimesat,setxattr,\
                           lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr,ioctl,open,openat,openat2,creat";
    if tool("strace").is_none() {
        return skip("s24 by system calls", "strace is not installed");
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("still");
    Build::at(&project)
        .file("a/b", "b\n")
        .file("c", "c\n")
        .symlink("l", "c")
        .aged();
    let id = sandbox.launch(&project, "cat c");
    // Another one, to see that the test looks for the right thing.
    let busy = sandbox.launch(&project, "echo agent > c");
    sandbox.restore(&busy, &[]);
    sandbox.jackin(["undo", &busy, "--yes"]).ok();
    let traced = |args: &[&str]| {
        let log = sandbox.scratch("trace");
        let run = sandbox
            .command(args)
            .through(&[
                "strace",
                "-f",
                "-qq",
                "-y",
                "-s",
                "4096",
                "-e",
                WRITING,
                "-o",
                log.to_str().unwrap(),
            ])
            .run();
        let trace = fs::read_to_string(&log).unwrap_or_default();
        if trace.is_empty() || trace.contains("ptrace(PTRACE_TRACEME") {
            return None;
        }
        run.ok();
        let root = sandbox.sources().to_str().unwrap().to_owned();
        let opens =
            |line: &str| line.contains(" open") && !line.contains("O_CREAT") && !line.contains("O_TRUNC");
        // Writing back what others wrote changes no file.
        let asks = ["FS_IOC_GETFLAGS", "FS_IOC_FIEMAP"];
        let reads = |line: &str| opens(line) || asks.iter().any(|ask| line.contains(ask));
        // strace prints the current directory with each path. Written text may contain a path.
        let here = format!("AT_FDCWD<{root}>, ");
        let is_below = |line: &str| {
            let told = line.replace(&here, "");
            let is_write = line.contains(" write(") || line.contains(" pwrite64(");
            let place = if is_write {
                told.split(',').next()
            } else {
                Some(told.as_str())
            };
            let is_relative = line.contains(&format!("{here}\"")) && !line.contains(&format!("{here}\"/"));
            is_relative || place.is_some_and(|place| place.contains(&root))
        };
        let found: Vec<String> = trace
            .lines()
            .filter(|line| is_below(line) && !reads(line))
            .map(str::to_owned)
            .collect();
        Some(found)
    };
    let Some(writes) = traced(&["restore", &busy, "--yes"]) else {
        return skip("s24 by system calls", "tracing is not allowed here");
    };
    assert!(
        writes.iter().any(|line| line.contains("rename")),
        "the trace shows no rename: {writes:#?}"
    );
    let before = Tree::read(&project);
    for args in [
        &["restore", &id, "--yes"][..],
        &["restore", &busy, "--yes"],
        &["restore", &busy, "--dry-run"],
    ] {
        assert_eq!(traced(args).unwrap_or_default(), Vec::<String>::new(), "{args:?}");
    }
    assert_untouched(&before, &Tree::read(&project));
}

#[test]
fn only_tracked_paths_are_captured_and_restored() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("tracked");
    Build::at(&project)
        .file("deep/in/kept", "before\n")
        .file("deep/out", "before\n")
        .file("else/x", "before\n")
        .aged();
    let before = Tree::read(&project);
    let flags = ["--path", "deep/in", "--path", "made"];
    let id = sandbox.launch_with(
        &flags,
        &project,
        "rm -r deep/in; echo agent > deep/out; rm -r else; mkdir -p made/x; echo > made/x/y; echo > beside",
    );
    sandbox
        .restore(&id, &[])
        .touched(&["deep/in", "deep/in/kept", "made", "made/x", "made/x/y"]);
    let after = Tree::read(&project);
    assert_same_tree(&before.only("deep/in"), &after.only("deep/in"));
    assert!(!after.has("made"), "it was not there, and it was asked for");
    assert!(
        !after.has("else") && after.has("beside"),
        "nobody asked for these"
    );
    assert_eq!(fs::read_to_string(project.join("deep/out")).unwrap(), "agent\n");
}

#[test]
fn directory_on_the_way_that_the_session_made_stays_for_what_nobody_looked_at() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("way");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch_with(
        &["--path", "new/tracked"],
        &project,
        "mkdir -p new/tracked; echo > new/tracked/x; echo mine > new/other",
    );
    let run = sandbox.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
    assert!(!project.join("new/tracked").exists(), "{run}");
    assert_eq!(fs::read_to_string(project.join("new/other")).unwrap(), "mine\n");
}

#[test]
fn a_directory_on_the_way_goes_again_with_the_undo_that_takes_back_its_coming() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("way");
    Build::at(&project)
        .file("up/tracked/inside", "before\n")
        .file("other", "before\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch_with(
        &["--path", "up/tracked"],
        &project,
        "rm -r up; echo agent >> other",
    );
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before.only("up"), &Tree::read(&project).only("up"));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    // What else lies in it by then is nobody's to remove.
    sandbox.undo(&id);
    Build::at(&project).file("up/mine", "mine\n");
    sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 6]);
    assert!(project.join("up/mine").exists() && !project.join("up/tracked").exists());
}
