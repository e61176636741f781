//! Ids name files in the store, so what comes from outside is never taken for a path.

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

fn hostile() -> Vec<String> {
    let mut all: Vec<String> = [
        "",
        " ",
        ".",
        "..",
        "/",
        "../../etc/passwd",
        "/etc/passwd",
        "../../../../../../../../etc/passwd",
        "rc-../../x",
        "rc-00000000-../x",
        "rc-00000000-x\n",
        "a\nb",
        "rc-\u{1b}[31m",
        "\u{202e}rc-",
        "%2e%2e%2f",
        "'; DROP TABLE instances; --",
        "' OR '1'='1",
        "rc-%",
        "rc-________-x",
        "*",
        "@",
        "@latest/../x",
        "@nothing",
        "RC-00000000-X",
        "sn-000000000000",
        "ar-000000000000",
        "💾",
    ]
    .map(str::to_owned)
    .to_vec();
    all.push("x".repeat(10_000));
    all.push(format!("rc-00000000-{}", "x".repeat(5_000)));
    all
}

#[test]
fn hostile_ids_name_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("safe");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    // Looking once makes what looking may make (a lock file).
    sandbox.jackin(["show", &id]).ok();
    sandbox.jackin(["restore", &id]).code(4);
    let before = Tree::read(sandbox.world());
    for name in hostile() {
        // `--` so that each is taken as the name that it is.
        for verb in [&["show"][..], &["restore", "--yes"]] {
            let args = verb.iter().copied().chain(["--", &name]);
            let run = sandbox.jackin(args).code_in(&[2, 5]).harmless();
            assert!(run.stderr.len() < 20_000, "it need not repeat all of it\n{run}");
        }
    }
    for name in ["../../etc/passwd", "", "a\nb", "' OR '1'='1"] {
        for verb in ["diff", "undo", "end"] {
            let more: &[&str] = if verb == "undo" { &["--yes"] } else { &[] };
            let args = [verb].into_iter().chain(more.iter().copied()).chain(["--", name]);
            sandbox.jackin(args).code_in(&[2, 5]).harmless();
        }
        for flag in ["--from", "--to"] {
            sandbox.jackin(["diff", &id, flag, name]).refused().harmless();
        }
        sandbox
            .jackin(["restore", &id, "--yes", "--from", name])
            .refused()
            .harmless();
    }
    assert_same_tree(&before, &Tree::read(sandbox.world()));
}

#[test]
fn names_that_are_no_text_are_refused_and_do_not_crash() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
    let project = sandbox.project("bytes");
    Build::at(&project).file("a", "a\n");
    let id = sandbox.launch(&project, "echo b > a");
    let raw = OsStr::from_bytes(b"raw-\xff\xfe");
    for verb in ["show", "diff", "restore", "explain", "end"] {
        sandbox.jackin([OsStr::new(verb), raw]).refused().harmless();
    }
    let words = ["restore", &id, "--yes"].map(OsStr::new);
    sandbox
        .jackin(words.into_iter().chain([raw]))
        .refused()
        .harmless();
}

#[test]
fn mount_directory_whose_name_is_no_text_works() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
    let project = sandbox.sources().join(OsStr::from_bytes(b"mount-\xff\n\x1b[1m"));
    Build::at(&project).file("a", "before\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a; echo n > n");
    sandbox.jackin(["show", &id]).ok().harmless();
    sandbox.jackin(["list"]).ok().harmless();
    sandbox.restore(&id, &[]).touched(&["a", "n"]);
    assert_same_tree(&before, &Tree::read(&project));
}
