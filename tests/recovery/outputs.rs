//! Files that the operator names for output: `show --html`, `diff --html`, `launch --report`. Only what jackin itself wrote is replaced.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::Build;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

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
        (&pipe, "no regular file"),
    ] {
        for run in shop.writes(file) {
            run.code(2).has(why);
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
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
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
    let document: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(document["exit_code"], 0);
    shop.sandbox
        .command(["export", &shop.id, "-"])
        .inside(&here)
        .run()
        .code(2)
        .has("./-");
    assert_eq!(fs::read_dir(&here).unwrap().count(), 0);
}
