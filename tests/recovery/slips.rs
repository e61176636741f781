//! What somebody meets who uses it for the first time, or in a place that is not theirs: nothing goes wrong in silence.

use std::fs;

use crate::guidance::{complaint, proposed, typed};
use crate::support::build::Build;
use crate::support::machine::{NOBODY, SmallDisk, is_root, skip};
use crate::support::sandbox::Sandbox;

#[test]
fn a_quiet_launch_still_tells_its_result() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("quiet");
    Build::at(&project).file("a", "before\n");
    let launch = ["launch", "-q", "--snapshot", "project", ".", "--", "rm", "a"];
    let run = sandbox.command(launch).inside(&project).run().ok();
    let said = complaint(&run);
    assert!(
        said.starts_with("session rc-") && said.ends_with(": 1 deleted\n"),
        "{run}"
    );
}

#[test]
fn a_directory_of_a_workspace_without_a_mode_leads_to_the_flag() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "before\n");
    let text = "[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/p\"\n[recovery]\nexclude = [\"b\"]\n";
    let file = sandbox.configure("workspaces/shop.toml", text);
    let run = sandbox.command(["explain", "."]).inside(&project).run().code(2);
    let words = proposed(&run, "to see the contract without configuration:");
    typed(&sandbox, &project, &words, "").ok().shows("mode project");
    // With a mode it needs none.
    fs::write(&file, format!("{text}snapshot = \"project\"\n")).unwrap();
    let run = sandbox.command(["explain", "."]).inside(&project).run().ok();
    run.shows("mode project").shows("workspaces/shop.toml");
}

#[test]
fn a_tracked_path_that_is_not_there_is_a_warning() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("tracked");
    Build::at(&project).file("src/a", "before\n");
    let launch = [
        "launch",
        "--snapshot",
        "project",
        "--path",
        "scr",
        ".",
        "--",
        "true",
    ];
    let run = sandbox.command(launch).inside(&project).run().ok();
    run.shows("warning: ").shows("tracked/scr is not there yet");
}

#[test]
fn words_of_other_programs_and_slips_are_understood() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("src/a", "before\n");
    sandbox.launch(&project, "echo agent > src/a");
    let run = sandbox.jackin(["restore", "-y", "@latest"]).code(2);
    run.shows("did you mean --yes?").hides("to pass");
    let run = sandbox.jackin(["restore", "-n", "@latest"]).code(2);
    run.shows("did you mean --dry-run?");
    sandbox
        .jackin(["show", "@lates"])
        .code(5)
        .shows("is @latest or @1")
        .hides("nearest");
    // A path in the place of the session is one of the latest session here; elsewhere there is none.
    let inside = sandbox
        .command(["restore", "src/a", "--dry-run"])
        .inside(&project);
    inside.run().ok().shows("src/a");
    sandbox
        .jackin(["restore", "src/a"])
        .code(5)
        .shows("no session covers");
}

#[test]
fn an_option_at_the_wrong_place_leads_to_the_right_one() {
    let sandbox = Sandbox::new();
    let said = |words: &[&str]| sandbox.jackin(words).code(2);
    let run = said(&["--stat", "diff"]);
    run.shows("`--stat` goes after the command: jackin recovery diff --stat")
        .shows("usage: jackin recovery diff [OPTIONS]")
        .hides("is an option of");
    let error = said(&["--json", "list"]).error();
    let hints: Vec<&str> = error["hints"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|hint| hint.as_str())
        .collect();
    let wanted = [
        "`--json` goes after the command:\n  jackin recovery list --json",
        "usage: jackin recovery list [OPTIONS] [PATH]",
        "see jackin recovery list --help",
    ];
    assert_eq!(hints, wanted);
    // Many commands have it, so none of them is what was meant.
    said(&["status", "--any"]).hides("is an option of");
    said(&["launch", "--only-changes-of", "x", "--", "true"])
        .shows("`--only-changes-of` is an option of jackin recovery restore");
}

#[test]
fn a_full_disk_under_the_store_says_what_helps() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    let place = sandbox.scratch("disk");
    let Some(_disk) = SmallDisk::mount(&place, 200 << 10) else {
        return skip("a full disk", "mounting is not allowed here");
    };
    fs::write(place.join("x"), vec![1; 190 << 10]).unwrap();
    let launch = ["launch", "-q", "--snapshot", "project", ".", "--", "rm", "a"];
    let run = sandbox
        .command(launch)
        .with("JACKIN_HOME_DIR", place.join("j"))
        .inside(&project)
        .run()
        .code(125);
    run.shows("full").shows("free disk space for the store");
    assert!(project.join("a").exists(), "the command was not started");
}

#[test]
fn a_command_that_runs_outside_of_the_mounts_is_said() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("inside");
    Build::at(&project).file("a", "before\n");
    let launch = ["launch", "--cwd", "keep", "./inside", "--", "true"];
    let outside = sandbox.command(launch).run().ok();
    outside.shows("which is not protected");
    let launch = ["launch", "./inside", "--", "true"];
    let moved = sandbox.command(launch).run().ok();
    moved.hides("which is not protected").shows("running in ");
    let launch = ["launch", "--snapshot", "project", ".", "--", "true"];
    let inside = sandbox.command(launch).inside(&project).run().ok();
    inside.hides("which is not protected");
}

#[test]
fn in_a_current_directory_that_is_gone_the_command_runs_in_the_target() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let target = project.display().to_string();
    let gone = "mkdir gone; cd gone; rmdir ../gone; exec \"$0\" \"$@\"";
    let run = sandbox
        .launching(&target, &["pwd"])
        .inside(&project)
        .through(&["sh", "-c", gone])
        .run()
        .ok();
    assert_eq!(
        String::from_utf8_lossy(&run.stdout),
        format!("{target}\n"),
        "{run}"
    );
    run.shows(&format!("running in {target}\n"));
}

#[test]
fn root_in_another_users_home_is_warned_and_never_told_to_take_it_over() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    if !is_root() {
        return skip("another user's home", "only root can give one away");
    }
    let nobody = Some(NOBODY);
    std::os::unix::fs::chown(sandbox.home(), nobody, nobody).unwrap();
    let launch = ["launch", "-q", "--snapshot", "project", ".", "--", "true"];
    let run = sandbox.command(launch).inside(&project).run().ok();
    run.shows(&format!("in a directory of user {NOBODY}"));
    let again = sandbox.command(launch).inside(&project).run().ok();
    again.hides("in a directory of user");
    for entry in walkdir::WalkDir::new(sandbox.home().join(".jackin")) {
        std::os::unix::fs::lchown(entry.unwrap().path(), nobody, nobody).unwrap();
    }
    let run = sandbox.jackin(["doctor"]).refused();
    run.shows(&format!("run as user {NOBODY}")).hides("chown");
}

#[test]
fn a_home_behind_a_file_says_so() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    let file = sandbox.scratch("file");
    fs::write(&file, "").unwrap();
    let launch = ["launch", "-q", "--snapshot", "project", ".", "--", "rm", "a"];
    for (words, code) in [(&launch[..], 125), (&["list"], 1), (&["restore", "--yes"], 1)] {
        let command = sandbox.command(words);
        let command = command.with("JACKIN_HOME_DIR", file.join("home"));
        let run = command.inside(&project).run().code(code);
        run.shows("a file stands where a directory should be");
    }
    assert!(project.join("a").exists(), "the command was not started");
}
