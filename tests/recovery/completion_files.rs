//! `completions --install` writes where the shell reads, shows that before, and replaces nothing that is not jackin's.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::compare::assert_untouched;
use crate::support::machine::{binary, skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const BASH: &str = ".local/share/bash-completion/completions";

#[test]
fn the_files_are_shown_asked_for_and_written_once() {
    let sandbox = Sandbox::new();
    let directory = sandbox.home().join(BASH);
    let install = ["completions", "--install"];
    let before = Tree::read(sandbox.world());
    let run = |more: &[&str]| {
        let all = install.iter().chain(more).copied();
        sandbox.command(all).with("SHELL", "/usr/bin/bash").run()
    };
    run(&["--dry-run"])
        .ok()
        .shows("new ~/.local/share/bash-completion/completions/jackin-recovery");
    run(&[]).code(4).shows("new ~/");
    assert!(run(&["--json"]).code(4).stdout.is_empty());
    assert_untouched(&before, &Tree::read(sandbox.world()));
    let written = run(&["--yes", "--json"]).ok().json();
    assert_eq!(
        (&written["outcome"], &written["shell"]),
        (&"written".into(), &"bash".into())
    );
    for name in ["jackin", "jackin-recovery"] {
        let text = fs::read_to_string(directory.join(name)).unwrap();
        assert!(text.contains("complete ") && text.contains(name), "{text}");
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2);
    let before = Tree::read(sandbox.world());
    assert_eq!(run(&["--yes", "--json"]).ok().json()["outcome"], "unchanged");
    assert_untouched(&before, &Tree::read(sandbox.world()));
}

#[test]
fn an_earlier_file_is_replaced_and_a_foreign_one_stays() {
    let sandbox = Sandbox::new();
    let directory = sandbox.home().join(BASH);
    let install = ["completions", "bash", "--install", "--yes"];
    sandbox.jackin(install).ok();
    let (jackin, other) = (directory.join("jackin"), directory.join("jackin-recovery"));
    let whole = fs::read_to_string(&other).unwrap();
    // An earlier version, in a directory of dotfiles.
    let kept = sandbox.home().join("dotfiles");
    fs::write(&kept, whole.replace("complete", "complete_earlier")).unwrap();
    fs::remove_file(&other).unwrap();
    symlink(&kept, &other).unwrap();
    fs::write(&jackin, "# of jackin itself\n").unwrap();
    let run = sandbox.jackin(install).code(6);
    run.shows("keep").shows("it is not from jackin").shows("update");
    assert_eq!(fs::read_to_string(&jackin).unwrap(), "# of jackin itself\n");
    assert!(other.is_symlink());
    assert_eq!(fs::read_to_string(&kept).unwrap(), whole);
    // A file where a directory should be.
    fs::remove_dir_all(sandbox.home().join(".local")).unwrap();
    fs::write(sandbox.home().join(".local"), "").unwrap();
    sandbox.jackin(install).refused();
    assert_eq!(fs::read(sandbox.home().join(".local")).unwrap(), b"");
}

#[test]
fn each_shell_reads_what_was_installed_for_it() {
    let sandbox = Sandbox::new();
    let run = sandbox.jackin(["completions", "--install", "zsh", "--yes"]).ok();
    let functions = sandbox.home().join(".local/share/zsh/site-functions");
    run.shows(&format!("fpath=({} $fpath)", functions.display()));
    assert!(functions.join("_jackin-recovery").is_file());
    // A directory that the shell reads already needs no line.
    let own = sandbox.home().join(".zfunc");
    fs::create_dir(&own).unwrap();
    let path = format!("/usr/share/zsh/functions:{}", own.display());
    let install = ["completions", "--install", "zsh", "--yes", "--json"];
    let told = sandbox.command(install).with("FPATH", path).run().ok().json();
    assert!(told["line"].is_null() && own.join("_jackin").is_file(), "{told}");

    sandbox.jackin(["completions", "--install", "fish", "--yes"]).ok();
    let Some(fish) = tool("fish") else {
        return skip("completions of fish", "fish is not installed");
    };
    let path = std::env::var("PATH").unwrap_or_default();
    let offered = Command::new(fish)
        .args(["-c", "complete -C 'jackin recovery stat'"])
        .env_clear()
        .env("PATH", format!("{}:{path}", binary().parent().unwrap().display()))
        .env("HOME", sandbox.home())
        .output()
        .unwrap();
    let offered = String::from_utf8_lossy(&offered.stdout).into_owned();
    assert!(offered.starts_with("status"), "{offered}");
}

#[test]
fn an_unknown_shell_and_a_session_are_refused() {
    let sandbox = Sandbox::new();
    let run = sandbox.command(["completions", "--install", "--yes"]);
    run.with("SHELL", "/bin/tcsh")
        .run()
        .code(2)
        .shows("name bash, zsh or fish");
    sandbox.jackin(["completions"]).code(2);
    sandbox.jackin(["completions", "bash", "--yes"]).code(2);
    let project = sandbox.project("p");
    let script = format!(
        "'{}' recovery completions bash --install --yes; echo $? > status",
        binary().display()
    );
    sandbox.launch(&project, &script);
    assert_eq!(fs::read_to_string(project.join("status")).unwrap(), "3\n");
    assert!(!sandbox.home().join(".local").exists());
}
