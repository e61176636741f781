//! Places beside the usual ones from which git runs programs: hooks and settings in files of the work tree that the configuration names, of submodules, and of
//! linked work trees. `diff` lists them first.

use std::path::Path;

use serde_json::Value;

use crate::support::build::Build;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;

/// The changes of a session that git would run, for each repository, by its place in the project.
fn executes(sandbox: &Sandbox, project: &Path, id: &str) -> Vec<(String, Vec<String>)> {
    let run = sandbox.jackin(["diff", id, "--json"]).ok();
    let found = run.json()["git"].as_array().unwrap().clone();
    let what = |one: &Value| one["what"].as_str().unwrap().to_owned();
    let each = found.iter().map(|repository| {
        let path = Path::new(repository["path"].as_str().unwrap()).to_path_buf();
        let path = path.strip_prefix(project).unwrap_or(&path).display().to_string();
        let all = repository["executes"]
            .as_array()
            .unwrap()
            .iter()
            .map(what)
            .collect();
        (path, all)
    });
    each.collect()
}

fn named(repository: &str, what: &[&str]) -> (String, Vec<String>) {
    (
        repository.to_owned(),
        what.iter().map(|what| (*what).to_owned()).collect(),
    )
}

#[test]
fn hooks_in_a_directory_that_the_configuration_names_stand_first() {
    for (setting, hook) in [
        (".githooks", ".githooks/pre-commit"),
        (".husky/_", ".husky/pre-commit"),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = Repository::with_history(&project, 1);
        Build::at(&project)
            .file(hook, "#!/bin/sh\n")
            .mode(hook, 0o755)
            .file(".husky/_/h", "\n");
        repository.git(&["config", "core.hooksPath", setting]);
        Build::at(&project).aged();
        let dir = hook.strip_suffix("pre-commit").unwrap();
        let id = sandbox.launch(
            &project,
            &format!("echo evil >> {hook}; cp {hook} {dir}post-checkout"),
        );
        let new = format!("hook {dir}post-checkout");
        let changed = format!("hook {hook}");
        assert_eq!(
            executes(&sandbox, &project, &id),
            [named(".git", &[&new, &changed])],
            "{setting}"
        );
        let shown = sandbox.jackin(["diff", &id]).ok().text();
        assert!(
            shown.contains("Git hooks or settings that run code changed:"),
            "{shown}"
        );
    }
}

#[test]
fn a_file_that_a_hook_leads_to_stands_first() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    Repository::with_history(&project, 1);
    Build::at(&project)
        .file("scripts/check", "#!/bin/sh\n")
        .dir(".git/hooks")
        .symlink(".git/hooks/pre-commit", "../../scripts/check")
        .aged();
    let id = sandbox.launch(&project, "echo evil >> scripts/check");
    assert_eq!(
        executes(&sandbox, &project, &id),
        [named(".git", &["hook scripts/check"])]
    );
}

#[test]
fn settings_in_an_included_file_of_the_work_tree_stand_first() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 1);
    Build::at(&project)
        .file(
            ".gitconfig",
            "[core]\n\tabbrev = 8\n[include]\n\tpath = tools/more\n",
        )
        .file("tools/more", "");
    repository.git(&["config", "include.path", "../.gitconfig"]);
    repository.git(&["config", "includeIf.onbranch:x.path", "/outside"]);
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        "printf '[core]\\n\\tfsmonitor = ./evil\\n' >> .gitconfig; printf '[diff \"x\"]\\n\\ttextconv = evil\\n' > tools/more",
    );
    assert_eq!(
        executes(&sandbox, &project, &id),
        [named(".git", &["core.fsmonitor", "diff.x.textconv"])]
    );
}

#[test]
fn an_alias_that_starts_no_shell_itself_stands_first() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    Repository::with_history(&project, 1);
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        "git config alias.up 'rebase --exec ./evil'; git config http.proxy http://evil",
    );
    assert_eq!(
        executes(&sandbox, &project, &id),
        [named(".git", &["alias.up", "http.proxy"])]
    );
}

/// A repository with a submodule in `sub`.
fn with_submodule(sandbox: &Sandbox, project: &Path) -> Repository {
    let inner = Repository::with_history(&sandbox.project("inner"), 1);
    let repository = Repository::with_history(project, 1);
    let url = inner.path.to_str().unwrap();
    let allowed = ["-c", "protocol.file.allow=always"];
    repository.git(&[&allowed[..], &["submodule", "--quiet", "add", url, "sub"]].concat());
    repository.git(&["commit", "-qm", "sub"]);
    repository
}

#[test]
fn hooks_and_settings_of_a_submodule_stand_first() {
    // What lies in `.git/modules` of one that is not checked out is used again by `submodule update`.
    for (is_checked_out, place) in [(true, "sub/.git"), (false, ".git/modules/sub")] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = with_submodule(&sandbox, &project);
        if !is_checked_out {
            repository.git(&["submodule", "--quiet", "deinit", "-f", "sub"]);
        }
        Build::at(&project).aged();
        let id = sandbox.launch(
            &project,
            "cd .git/modules/sub; mkdir -p hooks; printf '#!/bin/sh\\n' > hooks/post-checkout; chmod +x hooks/post-checkout; \
             git config -f config core.sshCommand evil",
        );
        let found = executes(&sandbox, &project, &id);
        assert_eq!(
            found,
            [named(place, &["core.sshcommand", "hook post-checkout"])],
            "{place}"
        );
        // A plan shows each of them on a line of its own.
        let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
        plan.shows(".git/modules/sub/config")
            .shows(".git/modules/sub/hooks/post-checkout");
    }
}

#[test]
fn commits_of_a_submodule_are_told() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    with_submodule(&sandbox, &project);
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        "cd sub; echo x > x; git add x; git -c user.name=a -c user.email=a@x commit -qm 'inside the submodule'",
    );
    let shown = sandbox.jackin(["diff", &id]).ok().text();
    assert!(
        shown.contains("sub/.git") && shown.contains("inside the submodule"),
        "{shown}"
    );
    let restored = sandbox.jackin(["restore", &id, "--yes"]).ok().text();
    assert!(restored.contains("1 commit is only in"), "{restored}");
    let own = project.join(".git/modules/sub").display().to_string();
    assert!(
        restored.contains(&format!("--to NEW-DIRECTORY {own}")),
        "{restored}"
    );
}

#[test]
fn settings_of_a_linked_work_tree_elsewhere_stand_first() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 1);
    let elsewhere = sandbox.project("elsewhere").join("tree");
    repository.git(&["worktree", "add", "-q", "--detach", elsewhere.to_str().unwrap()]);
    repository.git(&["config", "extensions.worktreeConfig", "true"]);
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        "printf '[core]\\n\\tfsmonitor = ./evil\\n' > .git/worktrees/tree/config.worktree",
    );
    assert_eq!(
        executes(&sandbox, &project, &id),
        [named(".git", &["core.fsmonitor in worktrees/tree"])]
    );
}
