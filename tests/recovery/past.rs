//! `cat`, globs and `A..B`: single files of the past, and two moments of it compared.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::build::{Build, noise};
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::machine::{binary, skip, tool};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A file in three versions, and names that look like globs.
fn two_sessions(sandbox: &Sandbox) -> (PathBuf, String, String) {
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("a.rs", "one\n")
        .file("src/deep/b.rs", "b\n")
        .file("src/c.txt", "c\n")
        .file(b"odd\n\xff*.rs", "odd\n")
        .file("[x].rs", "bracket\n")
        .file("x.rs", "plain\n")
        .file("doomed", "precious\n")
        .symlink("link", "a.rs")
        .fifo("pipe");
    let first = sandbox.session(&project, |project| {
        fs::write(project.join("a.rs"), "two\n").unwrap();
        sandbox
            .jackin(["checkpoint", &sandbox.newest(), "--name", "mid"])
            .ok();
        fs::write(project.join("a.rs"), "three\n").unwrap();
        fs::remove_file(project.join("doomed")).unwrap();
        fs::write(project.join("fresh"), "fresh\n").unwrap();
    });
    let second = sandbox.session(&project, |project| {
        fs::write(project.join("a.rs"), "four\n").unwrap();
        fs::write(project.join("src/deep/b.rs"), "B\n").unwrap();
        fs::write(project.join("[x].rs"), "changed\n").unwrap();
        fs::write(project.join("x.rs"), "changed\n").unwrap();
        let odd = Build::at(project).place(b"odd\n\xff*.rs");
        fs::write(odd, "changed\n").unwrap();
        fs::create_dir(project.join("new")).unwrap();
        fs::write(project.join("new/n.rs"), "n\n").unwrap();
        fs::write(project.join("new/keep.log"), "log\n").unwrap();
    });
    (project, first, second)
}

fn inside(sandbox: &Sandbox, project: &Path, words: &[&str]) -> Run {
    sandbox.command(words).inside(project).run()
}

#[track_caller]
fn prints(sandbox: &Sandbox, project: &Path, words: &[&str], expected: &str) {
    let run = inside(sandbox, project, words).ok();
    assert_eq!(String::from_utf8_lossy(&run.stdout), expected, "{run}");
    assert!(run.stderr.is_empty(), "{run}");
}

/// Paths of a JSON diff.
fn changed(sandbox: &Sandbox, project: &Path, words: &[&str]) -> Vec<String> {
    let words: Vec<&str> = ["diff", "--json"].iter().chain(words).copied().collect();
    let document = inside(sandbox, project, &words).ok().json();
    let all = document["changes"].as_array().unwrap().iter();
    all.map(|change| change["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn cat_prints_the_bytes_of_any_snapshot() {
    let sandbox = Sandbox::new();
    let (project, first, _) = two_sessions(&sandbox);
    let is = |words: &[&str], expected: &str| prints(&sandbox, &project, words, expected);
    is(&["cat", "a.rs"], "three\n");
    is(&["cat", ":closing", "a.rs"], "four\n");
    is(&["cat", "@2", "a.rs"], "one\n");
    is(&["cat", "@2:mid", "./a.rs"], "two\n");
    is(&["cat", "@2:1", "a.rs"], "two\n");
    is(
        &["cat", &format!("{first}:latest"), "a.rs", "src/c.txt"],
        "three\nc\n",
    );
    is(&["cat", "@2", "doomed"], "precious\n");
    is(&["cat", "link"], "a.rs");
    // A name wins over its reading as a glob.
    is(&["cat", "[x].rs"], "bracket\n");
    is(&["cat", "src/**/*.rs"], "b\n");
    is(&["cat", "odd*"], "odd\n");
    prints(
        &sandbox,
        &project.join("src"),
        &["cat", "c.txt", "../x.rs"],
        "c\nplain\n",
    );
    inside(&sandbox, &project, &["cat", "@2:9", "a.rs"]).code(5);
    inside(&sandbox, &project, &["cat", "*.none"])
        .code(2)
        .shows("*.none");
    inside(&sandbox, &project, &["cat", "pipe"])
        .code(2)
        .shows("a named pipe");
    inside(&sandbox, &project, &["cat", "src"])
        .code(2)
        .shows("--to DIR");
    // The nearest snapshot that has it, as a command to type.
    let gone = inside(&sandbox, &project, &["cat", "doomed"]).code(5);
    let told = gone.said();
    let line = told.lines().find(|line| line.contains(" cat ")).unwrap();
    let words: Vec<&str> = line[line.find(" cat ").unwrap()..].split_whitespace().collect();
    is(&words, "precious\n");
    inside(&sandbox, &project, &["cat", "@2", "fresh"])
        .code(5)
        .shows(&format!("cat {first}:"));
}

#[test]
fn cat_keeps_secrets_and_binary_files_from_a_screen() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let big = noise("big", 3 << 20);
    Build::at(&project)
        .file(".env", "KEY=hunter2\n")
        .file("url", "https://me:hunter2@host/\n")
        .file("private", "hunter2\n")
        .mode("private", 0o600)
        .file("steer", "\x1b[31mred\nplain")
        .file("big", &big)
        .sparse("holes", 5 << 20, &[(4 << 20, b"end")]);
    sandbox.session(&project, |_| {});
    for name in [".env", "url", "private"] {
        inside(&sandbox, &project, &["cat", name])
            .code(2)
            .hides("hunter2")
            .shows("--show-secrets");
        let run = inside(&sandbox, &project, &["cat", name, "--show-secrets"]).ok();
        assert_eq!(run.stdout, fs::read(project.join(name)).unwrap());
    }
    let out = sandbox.scratch("out");
    let words = ["cat", ".env", "big", "holes", "-o", out.to_str().unwrap()];
    inside(&sandbox, &project, &words).ok();
    let expected = [".env", "big", "holes"].map(|name| fs::read(project.join(name)).unwrap());
    assert_eq!(fs::read(&out).unwrap(), expected.concat());
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
    inside(&sandbox, &project, &words).code(2).shows("already exists");
    let run = inside(&sandbox, &project, &["cat", "big", "steer"]).ok();
    assert_eq!(run.stdout, [&big[..], b"\x1b[31mred\nplain"].concat());
    let Some(script) = tool("script") else {
        return skip("cat on a terminal", "script is not installed");
    };
    let on_a_terminal = |name: &str| {
        let words = sandbox.command(["cat", name]).inside(&project);
        let line = "cmd=$(printf '%s ' \"$@\"); exec \"$0\" -qec \"$cmd\" /dev/null";
        let words = words
            .through(&["/bin/sh", "-c", line])
            .through(&[script.to_str().unwrap()]);
        words.with("TERM", "dumb").run()
    };
    on_a_terminal("big").shows("binary file").shows("--output");
    let shown = on_a_terminal("steer").ok();
    assert!(!shown.stdout.contains(&0x1b), "{shown}");
    shown.has("red").has("plain");
}

#[test]
fn globs_choose_changed_paths() {
    let sandbox = Sandbox::new();
    let (project, _, _) = two_sessions(&sandbox);
    let diff = |words: &[&str]| changed(&sandbox, &project, words);
    assert_eq!(diff(&["src/**"]), ["src/deep/b.rs"]);
    assert_eq!(
        diff(&["*.rs", "--exclude", "odd*"]),
        ["[x].rs", "a.rs", "new/n.rs", "src/deep/b.rs", "x.rs"]
    );
    // A path of that name wins; `[[]x].rs` is the same as a glob.
    assert_eq!(diff(&["[x].rs"]), ["[x].rs"]);
    assert_eq!(diff(&["[[]x].rs"]), ["[x].rs"]);
    assert_eq!(diff(&["new", "--exclude", "*.log"]), ["new", "new/n.rs"]);
    // What matches and did not change is no mistake; what matches nothing is one.
    assert!(diff(&["src/*.txt"]).is_empty());
    inside(&sandbox, &project, &["diff", "src/*.go"])
        .code(2)
        .shows("src/*.go");
    inside(&sandbox, &project, &["diff", "./a["]).code(2).shows("a[");
    inside(&sandbox, &project, &["diff", "new", "--exclude", "a["]).code(2);
    let src = project.join("src");
    let below = sandbox
        .command(["diff", "--json", "*.rs"])
        .inside(&src)
        .run()
        .ok();
    assert_eq!(below.json()["changes"].as_array().unwrap().len(), 1);
    inside(&sandbox, &project, &["restore", "*.none", "--yes"]).code(2);
    let out = sandbox.scratch("out");
    let to = out.to_str().unwrap();
    inside(
        &sandbox,
        &project,
        &["restore", "src/**/*.rs", "--to", to, "--yes"],
    )
    .ok();
    assert_eq!(fs::read(out.join("src/deep/b.rs")).unwrap(), b"b\n");
    assert!(!out.join("src/c.txt").exists());
    let words = [
        "restore",
        "*.rs",
        "new",
        "--exclude",
        "*.log",
        "--exclude",
        "x.rs",
        "--yes",
    ];
    inside(&sandbox, &project, &words).ok();
    let read = |name: &str| fs::read_to_string(project.join(name)).unwrap();
    assert_eq!(
        [read("a.rs"), read("src/deep/b.rs"), read("[x].rs")],
        ["three\n", "b\n", "bracket\n"]
    );
    assert_eq!(
        fs::read(Build::at(&project).place(b"odd\n\xff*.rs")).unwrap(),
        b"odd\n"
    );
    // Excluded paths stay, and the directory around one.
    assert_eq!([read("x.rs"), read("new/keep.log")], ["changed\n", "log\n"]);
    assert!(!project.join("new/n.rs").exists());
    inside(&sandbox, &project, &["undo", "--yes"]).ok();
    assert_eq!([read("a.rs"), read("new/n.rs")], ["four\n", "n\n"]);
    sandbox.no_litter();
}

#[test]
fn a_rename_is_excluded_as_a_whole() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("old.rs", noise("x", 4000))
        .file("b", "b\n");
    sandbox.launch(&project, "mv old.rs new.txt; echo x > b");
    let words = ["restore", "--exclude", "*.rs", "--yes"];
    inside(&sandbox, &project, &words).ok();
    assert!(project.join("new.txt").exists());
    assert_eq!(fs::read(project.join("b")).unwrap(), b"b\n");
    // A glob brings the other side of a rename with it.
    inside(&sandbox, &project, &["restore", "*.txt", "--yes"]).ok();
    assert!(project.join("old.rs").exists() && !project.join("new.txt").exists());
}

#[test]
fn an_excluded_path_takes_no_other_content_with_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("old/edited", noise("x", 4000))
        .file("old/kept", noise("y", 4000))
        .file("old-b", "b\n")
        .file("was/in", "in\n");
    let before = Tree::read(&project);
    let script = "mv old new; echo more >> new/edited; mv old-b new-b; rm -r was; echo file > was";
    let id = sandbox.launch(&project, script);
    let after = Tree::read(&project);
    // Of a directory that was renamed, an edited file is no pair by itself. To delete it alone would lose it.
    for glob in ["old/", "/old/edited", "new/"] {
        inside(&sandbox, &project, &["restore", "--exclude", glob, "--yes"]).ok();
        let now = Tree::read(&project);
        assert_untouched(&after.only("new/edited"), &now.only("new/edited"));
        assert!(project.join("old-b").exists(), "{glob}");
        sandbox.undo(&id);
        assert_same_tree(&after, &Tree::read(&project));
    }
    // A directory that is excluded and is a file now.
    let after = Tree::read(&project);
    inside(&sandbox, &project, &["restore", "--exclude", "was/", "--yes"]).ok();
    let now = Tree::read(&project);
    assert_untouched(&after.only("was"), &now.only("was"));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn options_take_the_words_that_name_a_snapshot() {
    let sandbox = Sandbox::new();
    let (project, first, second) = two_sessions(&sandbox);
    let stdout = |words: &[&str]| inside(&sandbox, &project, words).code_in(&[0, 6]).stdout;
    let plain = [
        "diff",
        &first,
        "--name-status",
        "--from",
        "mid",
        "--to",
        "closing",
    ];
    for words in [["@2:mid", "@2:closing"], ["@2:1", ":closing"]] {
        let [from, to] = words;
        let shown = stdout(&["diff", "--name-status", "--from", from, "--to", to]);
        assert_eq!(shown, stdout(&plain), "{words:?}");
    }
    let baseline = stdout(&["restore", &first, "--dry-run"]);
    assert_eq!(stdout(&["restore", "--dry-run", "--from", "@2"]), baseline);
    let step = stdout(&["restore", &first, "--dry-run", "--only-changes-of", "mid", "a.rs"]);
    let word = format!("{first}:mid");
    assert_eq!(
        stdout(&["restore", "--dry-run", "--only-changes-of", &word, "a.rs"]),
        step
    );
    let closing = stdout(&["restore", "--dry-run", "--from", "closing"]);
    assert_eq!(stdout(&["restore", "--dry-run", "--from", ":closing"]), closing);
    assert_ne!(closing, baseline);
    let fork = sandbox.scratch("fork");
    stdout(&["fork", fork.to_str().unwrap(), "--from", "@2:mid"]);
    assert_eq!(fs::read_to_string(fork.join("a.rs")).unwrap(), "two\n");
    let file = sandbox.scratch("file.tar.zst");
    stdout(&["export", &first, file.to_str().unwrap(), "--from", "@2:mid"]);
    // Another session than the command is about.
    for words in [
        &["restore", &second, "--dry-run", "--from", "@2:mid"][..],
        &["diff", "--from", "@2:mid", "--to", "@1:closing"],
        &["fork", &second, "--from", "@2:mid"],
        &["export", &second, "elsewhere", "--from", "@2:mid"],
    ] {
        inside(&sandbox, &project, words).code(2).shows(&format!(
            "a snapshot of {}",
            if words[0] == "diff" { &second } else { &first }
        ));
    }
    inside(&sandbox, &project, &["restore", "--from", "@9:closing"]).code(5);
}

#[test]
fn two_snapshots_of_any_sessions_are_compared() {
    let sandbox = Sandbox::new();
    let (project, first, second) = two_sessions(&sandbox);
    let diff = |words: &[&str]| changed(&sandbox, &project, words);
    assert_eq!(diff(&["@2:mid..@2:closing"]), ["a.rs", "doomed", "fresh"]);
    assert_eq!(diff(&["@2:mid..@1:baseline", "a.rs"]), ["a.rs"]);
    assert_eq!(diff(&["@2..@1", "src"]), ["src/deep/b.rs"]);
    assert_eq!(diff(&["..@2"]), ["a.rs", "doomed", "fresh"]);
    fs::write(project.join("later"), "").unwrap();
    assert_eq!(diff(&["@1.."]), ["later"]);
    assert_eq!(diff(&["@1..now"]), ["later"]);
    let document = inside(&sandbox, &project, &["diff", "@2..@1", "--json"])
        .ok()
        .json();
    assert_eq!(
        [&document["instance"], &document["later_instance"]],
        [&first, &second]
    );
    inside(
        &sandbox,
        &project,
        &["diff", "@2:baseline..@1", "--patch", "a.rs"],
    )
    .ok()
    .shows("-one\n+four\n");
    inside(&sandbox, &project, &["diff", "@2..@1", "--now"]).code(2);
    let other = sandbox.project("other");
    let elsewhere = sandbox.session(&other, |_| {});
    inside(&sandbox, &project, &["diff", &format!("{first}..{elsewhere}")])
        .code(2)
        .shows("cannot be compared");
    // A path of that name wins.
    fs::write(project.join("a..b"), "").unwrap();
    assert_eq!(diff(&["--now", "a..b"]), ["a..b"]);
}

#[test]
fn what_one_session_excludes_is_neither_added_nor_deleted() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").file("out/x", "x\n");
    sandbox.launch_with(&["--exclude", "out/"], &project, "echo b > a");
    sandbox.launch(&project, "echo c > a");
    let words = ["diff", "@2..@1", "--json"];
    let document = inside(&sandbox, &project, &words).ok().json();
    assert_eq!(document["changes"].as_array().unwrap().len(), 1, "{document:#}");
    assert_eq!(document["not_covered"][0]["path"], "out");
}

#[test]
fn json_lines_hold_what_the_document_holds() {
    let sandbox = Sandbox::new();
    let (project, first, _) = two_sessions(&sandbox);
    let lines = |words: &[&str], code: i32| -> Vec<Value> {
        let words: Vec<&str> = words.iter().copied().chain(["--json-lines"]).collect();
        let run = inside(&sandbox, &project, &words).code(code);
        let text = String::from_utf8_lossy(&run.stdout);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let kinds = |lines: &[Value]| -> Vec<String> {
        let kinds = lines.iter().map(|line| line["kind"].as_str().unwrap().to_owned());
        kinds.collect()
    };
    let diff = lines(&["diff", "@2"], 0);
    assert_eq!(kinds(&diff), ["changes", "changes", "changes", "summary"]);
    let whole = inside(&sandbox, &project, &["diff", "@2", "--json"]).ok().json();
    for (line, change) in diff.iter().zip(whole["changes"].as_array().unwrap()) {
        assert_eq!(
            [&line["path"], &line["change"]],
            [&change["path"], &change["change"]]
        );
    }
    assert_eq!(diff[3]["instance"], first.as_str());
    let plan = lines(&["restore", "a.rs", "--dry-run"], 0);
    assert_eq!(kinds(&plan), ["applied", "summary"]);
    assert_eq!(plan[1]["outcome"], "planned");
    let log = lines(&["log", "--any"], 0);
    assert!(kinds(&log).ends_with(&["receipts".to_owned(), "summary".to_owned()]));
    assert_eq!(
        kinds(&lines(&["log", "./doomed"], 0)),
        ["changes", "changes", "summary"]
    );
    assert_eq!(kinds(&lines(&["find", "a.rs"], 0)), ["paths", "summary"]);
    assert_eq!(
        kinds(&lines(&["find", "--content", "fou?r"], 0)),
        ["paths", "summary"]
    );
    inside(&sandbox, &project, &["restore", "--yes", "--json-lines"]).code(2);
    inside(&sandbox, &project, &["diff", "none", "--json-lines"])
        .refused()
        .error();
}

#[test]
fn a_login_is_found_in_a_file_of_any_size() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let mut text = "a line of a long text\n".repeat(300_000);
    text.push_str("https://me:hunter2@example.com/");
    Build::at(&project).file("log", &text);
    sandbox.session(&project, |_| ());
    let run = inside(&sandbox, &project, &["cat", "log"]).code(2);
    run.shows("--show-secrets").hides("hunter2");
    let shown = inside(&sandbox, &project, &["cat", "log", "--show-secrets"]).ok();
    assert!(shown.stdout == text.as_bytes());
}

#[test]
fn errors_name_the_word_and_the_next_step() {
    let sandbox = Sandbox::new();
    let (project, ..) = two_sessions(&sandbox);
    for (words, text) in [
        (&["cat", ":closing"][..], "no PATH was given after :closing"),
        (&["cat", "@2"], "no PATH was given after @2"),
        (
            &["edit", "@1:latest", "--tool", "cat"],
            "no PATH was given after @1:latest",
        ),
        (&["cat"], "hint: name a file"),
        (&["find", "--content", "a("], "cannot be used: unclosed group"),
        (&["find", "--content", "a("], "hint: quote it for the shell"),
        (&["find", "[z-a]"], "hint: put a backslash"),
        (&["cat", "../other/x"], "other/x is in no mount of the session"),
    ] {
        inside(&sandbox, &project, words).code(2).has(text);
    }
    let run = inside(&sandbox, &project, &["diff", "zz*"]).code(2);
    run.shows("error: no path matches zz*").hides("because");
    // A file of that name is no snapshot.
    fs::write(project.join(":closing"), "x\n").unwrap();
    inside(&sandbox, &project, &["cat", ":closing"]).code(5);
}

#[test]
fn inside_a_session_no_stored_file_is_read() {
    let sandbox = Sandbox::new();
    let other = sandbox.project("other");
    Build::at(&other).file(".env", "KEY=hunter2\n");
    let id = sandbox.session(&other, |_| {});
    fs::remove_file(other.join(".env")).unwrap();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n");
    let (said, env) = (sandbox.scratch("said"), other.join(".env"));
    let script = [
        format!("cat --show-secrets {id}:baseline '{}'", env.display()),
        "find --any --show-secrets --content hunter".to_owned(),
        format!("edit --show-secrets {id}:baseline '{}' --tool cat", env.display()),
    ]
    .map(|words| {
        let (program, said) = (binary(), said.display());
        format!(
            "'{}' recovery {words} >> '{said}' 2>&1; echo code=$? >> '{said}'",
            program.display()
        )
    })
    .join("\n");
    sandbox.launch(&project, &script);
    let text = fs::read_to_string(&said).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(text.matches("code=3").count(), 3, "{text}");
}
