//! What is printed and written for the operator: output files, of which only those that jackin itself wrote are replaced, and a stdout that takes
//! no result.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::schema;
use crate::support::tree::Tree;

struct Shop {
    sandbox: Sandbox,
    project: PathBuf,
    id: String,
    pages: PathBuf,
}

fn shop() -> Shop {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    let pages = sandbox.scratch("pages");
    fs::create_dir(&pages).unwrap();
    Shop {
        sandbox,
        project,
        id,
        pages,
    }
}

impl Shop {
    /// Each way to write to a file.
    fn writes(&self, file: &Path) -> Vec<Run> {
        let file = file.as_os_str();
        let words =
            |words: &[&str]| -> Vec<_> { words.iter().map(|word| OsStr::new(*word).to_owned()).collect() };
        let mut all = Vec::new();
        for verb in ["show", "diff"] {
            let mut args = words(&[verb, &self.id, "--html"]);
            args.push(file.to_owned());
            all.push(self.sandbox.jackin(&args));
        }
        all.push(self.report(file));
        all
    }

    fn report(&self, file: &OsStr) -> Run {
        let project = self.project.as_os_str();
        let mut args: Vec<&OsStr> = ["launch", "--snapshot", "project", "--report"]
            .map(OsStr::new)
            .to_vec();
        args.extend([file, project, OsStr::new("--"), OsStr::new("true")]);
        self.sandbox.jackin(&args)
    }
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_file_that_jackin_did_not_write_is_never_replaced() {
    let shop = shop();
    let victim = shop.pages.join("LICENSE");
    let page =
        "<!DOCTYPE html><html lang=\"en\"><head><title>generator jackin recovery</title></head></html>";
    for content in ["all rights reserved\n", page, "{\"schema\": 1}\n", ""] {
        fs::write(&victim, content).unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o644)).unwrap();
        let before = fs::metadata(&victim).unwrap();
        for run in shop.writes(&victim) {
            let run = run.code(2);
            run.has("already exists")
                .has("mv -- ")
                .has(victim.to_str().unwrap());
            assert!(run.stdout.is_empty(), "{run}");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), content);
        let after = fs::metadata(&victim).unwrap();
        assert_eq!((after.ino(), after.mode()), (before.ino(), before.mode()));
    }
    // The command did not run for nothing: it was refused before.
    assert_eq!(shop.sandbox.newest(), shop.id);
    assert_eq!(fs::read_dir(&shop.pages).unwrap().count(), 1);
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn links_and_pipes_are_never_written_through_or_replaced() {
    let shop = shop();
    let page = shop.pages.join("page.html");
    shop.sandbox
        .jackin([
            OsStr::new("show"),
            OsStr::new(&shop.id),
            OsStr::new("--html"),
            page.as_os_str(),
        ])
        .ok();
    let written = fs::read(&page).unwrap();
    let link = shop.pages.join("link.html");
    let dangling = shop.pages.join("dangling.html");
    let pipe = shop.pages.join("pipe.html");
    std::os::unix::fs::symlink(&page, &link).unwrap();
    std::os::unix::fs::symlink(shop.pages.join("absent"), &dangling).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (file, why) in [
        (&link, "it is a link"),
        (&dangling, "it is a link"),
        (&pipe, "not a regular file"),
        (&PathBuf::from("/dev/null"), "not a regular file"),
    ] {
        for run in shop.writes(file) {
            let run = run.code(2);
            run.has(why);
            // Whatever works with it would lose it.
            assert!(!run.text().contains("mv --"), "{run}");
        }
    }
    assert_eq!(fs::read(&page).unwrap(), written);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_dir(&shop.pages).unwrap().count(), 4);
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_page_and_a_report_replace_their_own_kind_and_not_the_other() {
    let shop = shop();
    let (page, report) = (shop.pages.join("page.html"), shop.pages.join("report.json"));
    shop.report(report.as_os_str()).ok();
    let first = fs::metadata(&report).unwrap().ino();
    shop.report(report.as_os_str()).ok();
    assert_ne!(fs::metadata(&report).unwrap().ino(), first);
    for verb in ["show", "diff", "diff", "show"] {
        let args = [OsStr::new(verb), OsStr::new(&shop.id), OsStr::new("--html")];
        shop.sandbox
            .jackin(args.into_iter().chain([page.as_os_str()]))
            .ok();
        shop.sandbox
            .jackin(args.into_iter().chain([report.as_os_str()]))
            .code(2)
            .has("no page that jackin wrote");
    }
    shop.report(page.as_os_str())
        .code(2)
        .has("no report that jackin wrote");
    let document: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(document["written_by"], "jackin recovery");
    assert_eq!(fs::read_dir(&shop.pages).unwrap().count(), 2);
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_written_file_is_its_owners_whatever_the_umask() {
    let shop = shop();
    for mask in ["0777", "0000", "0277"] {
        for (verb, file) in [("show", "s.html"), ("diff", "d.html"), ("launch", "r.json")] {
            let file = shop.pages.join(file);
            let place = file.to_str().unwrap();
            let target = shop.project.to_str().unwrap();
            let words = match verb {
                "launch" => vec![
                    "launch",
                    "--snapshot",
                    "project",
                    "--report",
                    place,
                    target,
                    "--",
                    "true",
                ],
                _ => vec![verb, &shop.id, "--html", place],
            };
            let masked = format!("umask {mask}; exec \"$0\" \"$@\"");
            shop.sandbox
                .command(words)
                .through(&["sh", "-c", &masked])
                .run()
                .ok();
            let mode = fs::metadata(&file).unwrap().mode() & 0o7777;
            assert_eq!(mode, 0o600, "{mask} {verb}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_dash_is_standard_output() {
    let shop = shop();
    let here = shop.pages.clone();
    for verb in ["show", "diff"] {
        let run = shop
            .sandbox
            .command([verb, &shop.id, "--html", "-"])
            .inside(&here)
            .run()
            .ok();
        let file = here.join(format!("{verb}.html"));
        shop.sandbox
            .jackin([
                OsStr::new(verb),
                OsStr::new(&shop.id),
                OsStr::new("--html"),
                file.as_os_str(),
            ])
            .ok();
        let printed = String::from_utf8(run.stdout.clone()).unwrap();
        // What a browser checks the style by is untouched, too.
        let style = |page: &str| {
            page.split("<style>")
                .nth(1)
                .unwrap()
                .split("</style>")
                .next()
                .unwrap()
                .to_owned()
        };
        assert!(
            printed.starts_with("<!DOCTYPE html>") && printed.trim_end().ends_with("</html>"),
            "{run}"
        );
        assert_eq!(style(&printed), style(&fs::read_to_string(&file).unwrap()));
        fs::remove_file(file).unwrap();
    }
    let target = shop.project.to_str().unwrap();
    let run = shop
        .sandbox
        .command([
            "launch",
            "--snapshot",
            "project",
            "--report",
            "-",
            target,
            "--",
            "true",
        ])
        .inside(&here)
        .run()
        .ok();
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(document["exit_code"], 0);
    shop.sandbox
        .command(["export", &shop.id, "-"])
        .inside(&here)
        .run()
        .code(2)
        .has("./-");
    assert_eq!(fs::read_dir(&here).unwrap().count(), 0);
}

/// The same command with `/dev/full` as stdout.
fn full(sandbox: &Sandbox, words: &[&str]) -> Run {
    sandbox
        .command(words)
        .through(&["sh", "-c", "exec \"$@\" > /dev/full", "sh"])
        .run()
}

/// The one document on stderr.
#[track_caller]
fn warning(run: &Run) -> Value {
    let lines = String::from_utf8_lossy(&run.stderr);
    let mut documents = lines.lines().filter(|line| line.starts_with('{'));
    let line = documents.next().unwrap_or_else(|| panic!("no document: {run}"));
    assert_eq!(documents.next(), None, "{run}");
    let value: Value = serde_json::from_str(line).unwrap();
    schema::check("warning", &value, run);
    assert_eq!(value["warning"]["kind"], "result-not-written", "{run}");
    value["result"].clone()
}

#[test]
fn what_changes_something_returns_the_code_of_its_work() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    Build::at(&project).file("a", "before\n").aged();
    let before = Tree::read(&project);
    let target = project.to_str().unwrap();

    let begun = full(&sandbox, &["begin", "--snapshot", "project", target]).code(0);
    let id = sandbox.newest();
    let begun = begun.shows("warning: the command did its work").shows(&id);
    assert!(!begun.said().contains("error:"), "{begun}");
    fs::write(project.join("a"), "agent\n").unwrap();
    let marked = full(&sandbox, &["checkpoint", &id, "--name", "one", "--json"]).code(0);
    assert_eq!(warning(&marked)["name"], "one");
    let ended = full(&sandbox, &["end", &id, "--json"]).code(0);
    assert_eq!(warning(&ended)["instance"], id.as_str());
    let damaged = Tree::read(&project);

    let restored = full(&sandbox, &["restore", &id, "--yes", "--json"]).code(0);
    let result = warning(&restored);
    assert_eq!(
        (&result["outcome"], &result["instance"]),
        (&"restored".into(), &id.as_str().into())
    );
    assert_same_tree(&before, &Tree::read(&project));
    let undone = full(&sandbox, &["undo", &id, "--yes"]).code(0);
    let undone = undone
        .shows("warning: the command did its work")
        .shows("No space left on device");
    undone.shows("Done");
    assert_same_tree(&damaged, &Tree::read(&project));

    // A part that was kept stays a part.
    fs::write(project.join("later"), "by the operator\n").unwrap();
    let kept = full(&sandbox, &["restore", &id, "--yes", "--json"]).code(6);
    assert_eq!(warning(&kept)["outcome"], "partial");

    full(&sandbox, &["pin", &id, "--json"]).code(0);
    full(&sandbox, &["unpin", &id]).code(0);
    full(&sandbox, &["prune", "--yes"]).code(0);
    let fork = sandbox.scratch("fork");
    full(&sandbox, &["fork", &id, fork.to_str().unwrap()]).code(0);
    assert!(fork.join("a").exists());
}

#[test]
fn an_interrupted_restore_is_taken_up_all_the_same() {
    if !crate::support::machine::has_points() {
        return crate::support::machine::skip("kills at points", "a released program has none");
    }
    for (verb, outcome) in [("resume", "restored"), ("abort", "aborted")] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("taken");
        Build::at(&project).file("a", "before\n").file("b", "b\n").aged();
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, "echo agent > a; rm b");
        let damaged = Tree::read(&project);
        let restore = sandbox.command(["restore", &id, "--yes"]);
        let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
        assert_eq!(killed.exit(), None, "{killed}");
        let run = full(&sandbox, &[verb, &id, "--yes", "--json"]).code(0);
        assert_eq!(warning(&run)["outcome"], outcome, "{run}");
        let wanted = if verb == "abort" { &damaged } else { &before };
        assert_same_tree(wanted, &Tree::read(&project));
    }
}

/// A command that only prints fails if stdout fails.
#[test]
fn what_only_prints_fails_when_it_cannot() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("read");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    for words in [
        &["list"][..],
        &["show", &id],
        &["diff", &id],
        &["log"],
        &["restore", &id, "--dry-run"],
        &["prune", "--dry-run"],
        &["undo", "--dry-run", &id],
    ] {
        let run = full(&sandbox, words);
        assert!(run.exit().is_some_and(|code| code != 0), "{run}");
    }
}

#[test]
fn no_directory_is_written_into_the_store() {
    let shop = shop();
    let store = shop.sandbox.store();
    let link = shop.pages.join("link");
    std::os::unix::fs::symlink(store.join("locks"), &link).unwrap();
    let refused = |place: &Path| {
        for args in [&["restore", "--yes", &shop.id, "--to"][..], &["fork", &shop.id]] {
            let words = args.iter().map(OsStr::new).chain([place.as_os_str()]);
            shop.sandbox
                .jackin(words)
                .code(2)
                .has("is in the store, which takes no other files");
        }
        assert!(!place.exists());
    };
    for place in [
        store.join("locks/sub"),
        store.join("archives/sub"),
        store.join("new"),
        link.join("sub"),
    ] {
        refused(&place);
    }
    // A link leads to jackin's home.
    let (home, moved) = (
        shop.sandbox.home().join(".jackin"),
        shop.sandbox.home().join("moved"),
    );
    fs::rename(&home, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &home).unwrap();
    for home in [home, moved] {
        refused(&home.join("data/recovery/archives/sub"));
    }
}

/// A job that reads the report of its own command must not read that of an earlier one.
#[test]
fn a_command_without_a_session_has_a_report_too() {
    let shop = shop();
    let report = shop.pages.join("report.json");
    let read = || -> Value { serde_json::from_slice(&fs::read(&report).unwrap()).unwrap() };
    shop.report(report.as_os_str()).ok();
    assert!(read()["instance"].is_string());
    let launched = |mode: &str, home: Option<&str>| {
        let launch = [
            "launch",
            "-q",
            "--on-failure",
            "run",
            "--snapshot",
            mode,
            "--report",
        ]
        .map(OsStr::new);
        let rest = ["--", "sh", "-c", "exit 3"].map(OsStr::new);
        let args = launch
            .into_iter()
            .chain([report.as_os_str(), shop.project.as_os_str()]);
        let mut command = shop.sandbox.command(args.chain(rest));
        if let Some(home) = home {
            command = command.with("JACKIN_HOME_DIR", home);
        }
        command.run().code(3);
        let told = read();
        assert_eq!(told["instance"], Value::Null, "{told}");
        assert_eq!(
            (&told["exit_code"], &told["complete"]),
            (&3.into(), &false.into())
        );
        shop.report(report.as_os_str()).ok();
    };
    launched("off", None);
    launched("project", Some("/proc/nohome"));
}
