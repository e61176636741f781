//! `find`: paths by name in all snapshots, what deleted them, and lines in their contents.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{Build, noise};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

fn inside(sandbox: &Sandbox, project: &Path, words: &[&str]) -> Run {
    sandbox.command(words).inside(project).run()
}

fn found(sandbox: &Sandbox, project: &Path, words: &[&str]) -> Value {
    let words: Vec<&str> = ["find", "--json"].iter().chain(words).copied().collect();
    inside(sandbox, project, &words).ok().json()
}

/// Names of the paths, in the order of the document.
fn names(document: &Value, project: &Path) -> Vec<String> {
    let all = document["paths"].as_array().unwrap().iter();
    let below = format!("{}/", project.display());
    all.map(|one| one["path"].as_str().unwrap().replacen(&below, "", 1))
        .collect()
}

fn history(sandbox: &Sandbox) -> (PathBuf, [String; 2]) {
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("a.rs", "one needle\n")
        .file("src/b.rs", "x\n")
        .file("src/deep/c.rs", "x\n")
        .file("doomed.txt", "first\nneedle https://me:hunter2@host\n")
        .file("between.txt", "x\n")
        .file(b"odd\n\xff*", "needle\n")
        .file("[x]", "x\n")
        .file("x", "x\n")
        .file(".env", "needle=hunter2\n")
        .file("bin", [b"needle\0".as_slice(), &noise("n", 100)].concat());
    let first = sandbox.session(&project, |project| {
        fs::write(project.join("a.rs"), "two\n").unwrap();
        fs::remove_file(project.join("doomed.txt")).unwrap();
    });
    fs::remove_file(project.join("between.txt")).unwrap();
    let second = sandbox.session(&project, |project| {
        fs::write(project.join("fresh.rs"), "x\n").unwrap();
        fs::remove_dir_all(project.join("src/deep")).unwrap();
    });
    (project, [first, second])
}

#[test]
fn find_knows_each_path_and_what_deleted_it() {
    let sandbox = Sandbox::new();
    let (project, [first, second]) = history(&sandbox);
    let find = |words: &[&str]| found(&sandbox, &project, words);
    let is =
        |words: &[&str], expected: &[&str]| assert_eq!(names(&find(words), &project), expected, "{words:?}");
    is(&["*.rs"], &["fresh.rs", "src/deep/c.rs", "a.rs", "src/b.rs"]);
    is(&["src/*.rs"], &["src/b.rs"]);
    is(&["src/**/*.rs"], &["src/deep/c.rs", "src/b.rs"]);
    is(&["deep"], &["src/deep"]);
    is(&["src/deep"], &["src/deep"]);
    // A path of the very name matches as well as what the glob means.
    is(&["[x]"], &["[x]", "x"]);
    is(&["*.none"], &[]);
    let odd = find(&["odd*"]);
    assert!(odd["paths"][0]["path_bytes"].is_string(), "{odd:#}");
    let gone = find(&["*", "--in", "deleted"]);
    let expected = ["src/deep", "src/deep/c.rs", "between.txt", "doomed.txt"];
    assert_eq!(names(&gone, &project), expected);
    let deleted = |at: usize| &gone["paths"][at]["deleted"];
    assert_eq!(
        [&deleted(0)["instance"], &deleted(0)["kind"]],
        [&second, "closing"]
    );
    assert_eq!(
        [&deleted(2)["instance"], &deleted(2)["kind"]],
        [&second, "baseline"]
    );
    assert_eq!(
        [&deleted(3)["instance"], &deleted(3)["kind"]],
        [&first, "closing"]
    );
    let changed = &find(&["a.rs"])["paths"][0];
    assert_eq!(changed["versions"], 2);
    assert_eq!(changed["changed"]["instance"], first.as_str());
    assert_eq!(changed["first"]["kind"], "baseline");
    assert_eq!(changed["now"], "there");
    fs::remove_file(project.join("a.rs")).unwrap();
    let later = &find(&["a.rs", "--in", "deleted"])["paths"][0];
    assert_eq!(
        [&later["now"], &later["deleted"]],
        [&Value::from("deleted"), &Value::Null]
    );
    // The last line leads on, and what it names works.
    let run = inside(&sandbox, &project, &["find", "doomed.txt"]).ok();
    run.has("deleted ").has(" by rc-");
    assert!(run.text().lines().all(|line| line.chars().count() <= 80), "{run}");
    let said = String::from_utf8_lossy(&run.stderr);
    let (_, words) = said.rsplit_once("jackin recovery ").unwrap();
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = [&words[..], &["--yes"]].concat();
    inside(&sandbox, &project, &words).ok();
    assert!(project.join("doomed.txt").exists());
    inside(&sandbox, &project, &["find", "odd*"]).ok().harmless();
    // Elsewhere, only with --any.
    let elsewhere = sandbox.project("other");
    inside(&sandbox, &elsewhere, &["find", "a.rs"]).code(5);
    assert_eq!(
        found(&sandbox, &elsewhere, &["a.rs", "--any"])["paths"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn what_lay_below_a_directory_that_is_a_link_now_is_deleted() {
    for target in ["nowhere", "beside"] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        Build::at(&project)
            .file("a/g", "x\n")
            .file("a/b/c/g", "x\n")
            .file("beside/b/c/g", "x\n");
        sandbox.launch(&project, &format!("rm -r a; ln -s {target} a"));
        let gone = found(&sandbox, &project, &["--in", "deleted"]);
        assert_eq!(names(&gone, &project), ["a/b", "a/b/c", "a/b/c/g", "a/g"]);
        let run = inside(&sandbox, &project, &["find", "g"]).ok();
        run.has("deleted ");
        run.hides("unknown");
    }
}

#[test]
fn an_exclude_is_no_deletion() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("out/x", "x\n").file("a", "a\n");
    sandbox.launch(&project, "echo b > a");
    sandbox.launch_with(&["--exclude", "out/"], &project, "echo c > a");
    let one = &found(&sandbox, &project, &["x"])["paths"][0];
    assert_eq!(
        [&one["now"], &one["deleted"]],
        [&Value::from("there"), &Value::Null]
    );
    fs::remove_dir_all(project.join("out")).unwrap();
    let third = sandbox.launch(&project, "true");
    let one = &found(&sandbox, &project, &["x"])["paths"][0];
    assert_eq!(one["deleted"]["instance"], third.as_str(), "{one:#}");
}

#[test]
fn contents_are_searched_in_all_versions() {
    let sandbox = Sandbox::new();
    let (project, [first, _]) = history(&sandbox);
    let document = found(&sandbox, &project, &["--content", "^(one )?needle"]);
    let mut all = names(&document, &project);
    all.sort();
    assert_eq!(all, ["a.rs", "doomed.txt", "odd\n\u{fffd}*"]);
    assert_eq!([&document["binary"], &document["secret"]], [1, 1]);
    let matches = document["paths"].as_array().unwrap().iter();
    let mut matches = matches.map(|one| &one["matches"]);
    let doomed = matches.find(|one| one["lines"][0]["line"] == 2).unwrap();
    assert_eq!(doomed["snapshot"]["instance"], first.as_str());
    let run = inside(&sandbox, &project, &["find", "--content", "needle"]).ok();
    run.has(":baseline doomed.txt:2: needle ")
        .has("to print the first: ");
    run.hides("hunter2")
        .shows("likely to hold secrets")
        .shows("binary")
        .harmless();
    let shown = ["find", "--content", "needle", "--show-secrets"];
    inside(&sandbox, &project, &shown).ok().shows("needle=hunter2");
    let only = ["--content", "needle", "*.txt", "--in", "deleted"];
    assert_eq!(names(&found(&sandbox, &project, &only), &project), ["doomed.txt"]);
    inside(&sandbox, &project, &["find", "--content", "a("])
        .code(2)
        .shows("a(");
    inside(&sandbox, &project, &["find"]).code(2);
}

#[test]
fn a_search_that_is_stopped_does_not_look_complete() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    for file in 0..2000 {
        Build::at(&project).file(format!("f{file:0>60}"), format!("needle {file}\n"));
    }
    sandbox.session(&project, |_| ());
    // The pipe is full when the signal comes, so the search is not over.
    let script = "mkfifo \"$0/out\"; \"$1\" recovery find --content needle > \"$0/out\" 2> \"$0/error\" & pid=$!; \
                  exec 3< \"$0/out\"; read -r line <&3; kill -TERM $pid; cat <&3 > /dev/null; wait $pid; \
                  code=$?; cat \"$0/error\"; exit $code";
    let place = sandbox.scratch("place");
    fs::create_dir(&place).unwrap();
    let run = sandbox.command(["x"]).inside(&project);
    let run = run.through(&["sh", "-c", script, place.to_str().unwrap()]).run();
    run.refused().shows("interrupted").hides("to print the first");
}

#[test]
fn a_suggested_command_works() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file(".env", "KEY=hunter2\n").fifo("pipe");
    sandbox.session(&project, |_| ());
    let words = ["find", "--content", "KEY", "--show-secrets"];
    inside(&sandbox, &project, &words)
        .ok()
        .has("cat --show-secrets rc-");
    inside(&sandbox, &project, &["find", "pipe"])
        .ok()
        .hides("recovery cat");
}

/// A session on a directory in the project judges its files no other than the one on the project, and reveals no earlier version to it.
#[test]
fn a_session_on_a_directory_below_reveals_no_secrets() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("nested");
    Build::at(&project)
        .file("sub/cfg", "pw=SWORD\n")
        .mode("sub/cfg", 0o600)
        .file("infra/.kube/config", "pw=SWORD\n")
        .file("infra/.docker/cli/config", "pw=SWORD\n");
    sandbox.launch(&project, "true");
    let mut sessions = Vec::new();
    for directory in ["sub", "infra/.kube", "infra/.docker/cli"] {
        let below = project.join(directory);
        if directory == "sub" {
            Build::at(&below).file("cfg", "nothing\n");
            sandbox.launch(&below, "true");
        } else {
            sessions.push((sandbox.launch(&below, "echo y >> config"), below));
        }
    }
    let search = ["find", "--content", "SWORD"];
    let is_hidden = |run: Run| drop(run.hides("=SWORD"));
    is_hidden(inside(&sandbox, &project, &search).ok());
    is_hidden(inside(&sandbox, &project.join("sub"), &search));
    for (session, below) in &sessions {
        is_hidden(inside(&sandbox, below, &search));
        is_hidden(inside(&sandbox, below, &["cat", "config"]).code(2));
        is_hidden(
            inside(&sandbox, below, &["blame", "config"])
                .ok()
                .shows("--show-secrets"),
        );
        is_hidden(
            sandbox
                .jackin(["diff", "--patch", session])
                .ok()
                .shows("--show-secrets"),
        );
        is_hidden(sandbox.jackin(["show", session]).ok());
        is_hidden(sandbox.jackin(["restore", session, "--dry-run", "--patch"]));
        let shown = sandbox.jackin(["diff", "--patch", session, "--show-secrets"]);
        shown.ok().shows("=SWORD");
    }
}

/// The search cuts a long line, but neither a login nor the value of a header in it.
#[test]
fn logins_in_a_line_of_any_length_are_masked() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("long");
    let mut logins = String::new();
    for number in 0..60_000 {
        write!(logins, " https://me:SWORD{number:06}@h.example/").unwrap();
    }
    let filler = "x".repeat((4 << 20) - 40);
    Build::at(&project)
        .file("logins", &logins)
        .file(
            "header",
            format!("a Authorization: {} SWORD", "y ".repeat(1 << 20)),
        )
        .file(
            "one",
            format!("{filler} https://me:{}@h.example/", "SWORD".repeat(100)),
        );
    sandbox.launch(&project, "true");
    for pattern in ["example", "SWORD", "."] {
        inside(&sandbox, &project, &["find", "--content", pattern])
            .ok()
            .hides("SWORD");
    }
    let refused = inside(&sandbox, &project, &["cat", "one"]).code(2);
    refused.shows("likely to hold secrets").hides("SWORD");
}
