//! Sessions by workspace name, from jackin's own files.

use std::fs;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::instances;
use crate::support::jackin::write_instance;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn workspace_with_three_lines_of_recovery_is_launched_and_restored_by_name() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("my-project");
    Build::at(&project)
        .file("a", "before\n")
        .file("logs/x.log", "old\n")
        .aged();
    let config = sandbox.configure(
        "workspaces/web.toml",
        concat!(
            "version = \"v1alpha8\"\n",
            "workdir = \"/workspace/my-project\"\n",
            "default_agent = \"claude\"\n",
            "some_key_of_a_later_jackin = 1\n",
            "\n",
            "[recovery]\n",
            "snapshot = \"project\"\n",
            "exclude = [\"logs/\"]\n",
            "\n",
            "[[mounts]]\n",
            "src = \"~/src/my-project\"\n",
            "dst = \"/workspace/my-project\"\n",
        ),
    );
    let text = fs::read(&config).unwrap();
    let before = Tree::read(&project);

    let script = "echo agent > a; echo new > new; echo more >> logs/x.log";
    sandbox
        .command(["launch", "web", "--", "sh", "-c", script])
        .inside(&project)
        .run()
        .ok();
    let damaged = Tree::read(&project);
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    assert_eq!(all[0].workspace.as_deref(), Some("web"), "{run}");
    assert!(all[0].id.ends_with("-web"), "{run}");

    sandbox
        .diff("web", &[])
        .are(&[("modified", "a"), ("added", "new")]);
    sandbox.restore("web", &[]).touched(&["a", "new"]);
    let after = Tree::read(&project);
    assert_same_tree(&before.without("logs"), &after.without("logs"));
    assert_untouched(&damaged.only("logs"), &after.only("logs"));
    sandbox.undo("web");
    assert_same_tree(&damaged, &Tree::read(&project));
    assert_eq!(
        text,
        fs::read(&config).unwrap(),
        "jackin's files are never rewritten"
    );
}

#[test]
fn old_form_in_the_common_file_works_and_defaults_apply() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("api");
    Build::at(&project)
        .file("a", "before\n")
        .file("junk/x", "x\n")
        .file("scrap/y", "y\n")
        .aged();
    sandbox.configure(
        "config.toml",
        concat!(
            "version = \"v1alpha9\"\n",
            "[claude]\nauth_forward = \"sync\"\n",
            "[recovery]\nsnapshot = \"project\"\nexclude = [\"junk/\"]\n",
            "[workspaces.api]\nworkdir = \"/workspace\"\n",
            "[[workspaces.api.mounts]]\nsrc = \"~/src/api\"\ndst = \"/workspace\"\n",
            "[workspaces.api.recovery]\nexclude = [\"scrap/\"]\n",
        ),
    );
    let script = "echo agent > a; echo x > junk/x; echo y > scrap/y; echo z > z.tmp";
    let args = ["launch", "--exclude", "*.tmp", "api", "--", "sh", "-c", script];
    sandbox.command(args).inside(&project).run().ok();
    // Lists append: the common one, the workspace's, the flag's.
    sandbox.diff("api", &[]).are(&[("modified", "a")]);
    sandbox.restore("api", &[]).touched(&["a"]);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");
}

#[test]
fn current_directory_in_a_configured_mount_needs_no_target() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("here");
    Build::at(&project).file("deep/er/a", "before\n").aged();
    let before = Tree::read(&project);
    sandbox.configure(
        "workspaces/here.toml",
        "[recovery]\nsnapshot = \"project\"\n[[mounts]]\nsrc = \"~/src/here\"\ndst = \"/w\"\n",
    );
    let args = ["launch", "--", "sh", "-c", "echo agent > a; echo up > ../up"];
    sandbox.command(args).inside(&project.join("deep/er")).run().ok();
    sandbox.restore("here", &[]).touched(&["deep/er/a", "deep/up"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn readonly_mount_is_recorded_and_never_restored_into() {
    let sandbox = Sandbox::new();
    let [writable, fixed] = ["writable", "fixed"].map(|name| sandbox.project(name));
    Build::at(&writable).file("a", "before\n").aged();
    Build::at(&fixed).file("b", "before\n").aged();
    sandbox.configure(
        "workspaces/both.toml",
        concat!(
            "[recovery]\nsnapshot = \"project\"\n",
            "[[mounts]]\nsrc = \"~/src/writable\"\ndst = \"/w\"\n",
            "[[mounts]]\nsrc = \"~/src/fixed\"\ndst = \"/f\"\nreadonly = true\n",
        ),
    );
    sandbox
        .jackin(["explain", "both"])
        .ok()
        .shows(fixed.to_str().unwrap());
    let script = "echo agent > ~/src/writable/a; echo someone > ~/src/fixed/b; echo n > ~/src/fixed/n";
    sandbox.jackin(["launch", "both", "--", "sh", "-c", script]).ok();
    let there = Tree::read(&fixed);
    let run = sandbox
        .jackin(["restore", "both", "--yes", "--json"])
        .code_in(&[0, 6]);
    assert_eq!(
        fs::read_to_string(writable.join("a")).unwrap(),
        "before\n",
        "{run}"
    );
    assert_untouched(&there, &Tree::read(&fixed));
}

#[test]
fn several_mounts_are_one_session_and_one_restore() {
    let sandbox = Sandbox::new();
    let names = ["one", "two", "three"];
    let mut mounts = String::from("[recovery]\nsnapshot = \"project\"\n");
    for name in names {
        // The same path in each: a plan must not take one mount's for another's.
        Build::at(&sandbox.project(name))
            .file("same/path", format!("of {name}\n"))
            .file("only", name)
            .aged();
        mounts.push_str(&format!(
            "[[mounts]]\nsrc = \"~/src/{name}\"\ndst = \"/{name}\"\n"
        ));
    }
    sandbox.configure("workspaces/many.toml", &mounts);
    let before = Tree::read(&sandbox.sources());
    let script = "echo agent > one/same/path; rm two/same/path; echo new > three/new; rm -r three/same";
    sandbox
        .jackin(["launch", "--cwd", "keep", "many", "--", "sh", "-c", script])
        .ok();
    let damaged = Tree::read(&sandbox.sources());

    let changes = sandbox.diff("many", &["--no-renames"]);
    changes.are(&[
        ("modified", "same/path"),
        ("deleted", "same/path"),
        ("added", "new"),
        ("deleted", "same"),
        ("deleted", "same/path"),
    ]);
    sandbox.restore("many", &[]);
    assert_same_tree(&before, &Tree::read(&sandbox.sources()));
    sandbox.undo("many");
    assert_same_tree(&damaged, &Tree::read(&sandbox.sources()));
    // By a host path, one mount's only.
    let path = sandbox.sources().join("one/same/path");
    sandbox
        .restore("many", &[path.to_str().unwrap()])
        .touched(&["same/path"]);
    assert_same_tree(&before.only("one"), &Tree::read(&sandbox.sources()).only("one"));
}

#[test]
fn overlapping_mounts_are_captured_and_restored_once() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("outer");
    Build::at(&project)
        .file("a", "before\n")
        .file("inner/only-here", "before\n")
        .file("inner/gone", "g\n")
        .aged();
    let before = Tree::read(&project);
    sandbox.configure(
        "workspaces/nested.toml",
        concat!(
            "[recovery]\nsnapshot = \"project\"\n",
            "[[mounts]]\nsrc = \"~/src/outer/inner\"\ndst = \"/inner\"\n",
            "[[mounts]]\nsrc = \"~/src/outer\"\ndst = \"/outer\"\n",
            "[[mounts]]\nsrc = \"~/src/outer/\"\ndst = \"/again\"\n",
            "[[mounts]]\nsrc = \"~/src/outer/../outer/inner\"\ndst = \"/inner-again\"\n",
        ),
    );
    let script = "echo agent > outer/a; echo agent > outer/inner/only-here; rm outer/inner/gone; echo n > outer/inner/new";
    sandbox
        .jackin(["launch", "--cwd", "keep", "nested", "--", "sh", "-c", script])
        .ok();
    let damaged = Tree::read(&project);
    let changes = sandbox.diff("nested", &[]);
    for name in ["a", "only-here", "gone", "new"] {
        let found = changes.all.iter().filter(|change| {
            change.path == name.as_bytes() || change.path.ends_with(format!("/{name}").as_bytes())
        });
        assert_eq!(found.count(), 1, "{name}\n{}", changes.shown);
    }
    let restored = sandbox.restore("nested", &[]);
    assert_eq!(restored.applied.len(), 4, "{:#}", restored.document);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo("nested");
    assert_same_tree(&damaged, &Tree::read(&project));
}

/// The mount that covers another one has the tracked paths of both.
#[test]
fn tracked_paths_count_in_each_of_overlapping_mounts() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("outer");
    Build::at(&project)
        .file("src/a", "a\n")
        .file("inner/src/b", "b\n")
        .file("inner/other", "other\n")
        .file("single", "single\n")
        .aged();
    let before = Tree::read(&project);
    sandbox.configure(
        "workspaces/nested.toml",
        concat!(
            "[recovery]\nsnapshot = \"project\"\npaths = [\"src\"]\n",
            "[[mounts]]\nsrc = \"~/src/outer\"\ndst = \"/outer\"\n",
            "[[mounts]]\nsrc = \"~/src/outer/inner\"\ndst = \"/inner\"\n",
            "[[mounts]]\nsrc = \"~/src/outer/single\"\ndst = \"/single\"\n",
        ),
    );
    let explained = sandbox.jackin(["explain", "nested"]).ok();
    explained.hides("of the mount outer: ~/src/outer/inner");
    // A path of the inner mount that is excluded, or a link, is none of theirs.
    sandbox.configure(
        "workspaces/excluded.toml",
        concat!(
            "[recovery]\nsnapshot = \"project\"\npaths = [\"src\"]\nexclude = [\"inner\"]\n",
            "[[mounts]]\nsrc = \"~/src/outer\"\ndst = \"/outer\"\n",
            "[[mounts]]\nsrc = \"~/src/outer/inner\"\ndst = \"/inner\"\n",
        ),
    );
    let excluded = sandbox.jackin(["explain", "excluded"]).ok();
    excluded.shows("excluded by inner");
    let script = "rm -r src inner/src";
    sandbox
        .command(["launch", "nested", "--", "sh", "-c", script])
        .inside(&project)
        .run()
        .ok();
    sandbox.restore("nested", &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn tracked_paths_alone_are_captured_and_restored() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("tracked");
    Build::at(&project)
        .file("docs/a", "before\n")
        .file("src/b", "before\n")
        .file("c", "before\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch_with(
        &["--path", "docs"],
        &project,
        "for f in docs/a src/b c; do echo agent > $f; done; echo n > docs/n; echo n > src/n; rm -r src",
    );
    let damaged = Tree::read(&project);
    sandbox
        .diff(&id, &[])
        .are(&[("modified", "docs/a"), ("added", "docs/n")]);
    sandbox.restore(&id, &[]).touched(&["docs/a", "docs/n"]);
    let after = Tree::read(&project);
    assert_same_tree(&before.only("docs"), &after.only("docs"));
    assert_untouched(&damaged.only("c"), &after.only("c"));
    assert!(!after.has("src"), "what was not tracked is not known");
}

#[test]
fn directories_named_by_the_environment_are_used() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("elsewhere");
    Build::at(&project).file("a", "before\n").aged();
    let (home, config) = (sandbox.scratch("jackin-home"), sandbox.scratch("jackin-config"));
    Build::at(&config).file(
        "workspaces/w.toml",
        "[recovery]\nsnapshot = \"project\"\n[[mounts]]\nsrc = \"~/src/elsewhere\"\ndst = \"/w\"\n",
    );
    let run = |args: &[&str]| {
        let command = sandbox.command(args).inside(&project);
        command
            .with("JACKIN_HOME_DIR", &home)
            .with("JACKIN_CONFIG_DIR", &config)
            .run()
            .ok()
    };
    run(&["launch", "w", "--", "sh", "-c", "echo agent > a"]);
    assert!(home.join("data/recovery/snapshots").is_dir());
    assert!(!sandbox.store().exists());
    run(&["restore", "w", "--yes"]);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");
}

#[test]
fn a_word_of_jackins_own_that_is_not_known_is_shown_without_a_meaning_and_refuses_nothing() {
    let sandbox = Sandbox::new();
    Build::at(&sandbox.project("shop")).file("a", "before\n").aged();
    sandbox.configure(
        "workspaces/shop.toml",
        "[recovery]\nsnapshot = \"project-and-state\"\n[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/w\"\n",
    );
    let about = "{\"version\": 2, \"workspace_name\": \"shop\", \"status\": \"clean_exited\"}";
    write_instance(&sandbox, "jk-1", about);
    Build::at(&sandbox.home().join(".jackin/data/jk-1/home")).file(".claude/settings.json", "{}");
    let explained = |value: &str| {
        sandbox.configure("config.toml", &format!("[claude]\nauth_forward = {value}\n"));
        sandbox.jackin(["explain", "jk-1"]).ok().harmless().said()
    };
    let contract = explained("\"ignore\"");
    assert!(
        contract.contains("claude (auth_forward = ignore: it is handed none)"),
        "{contract}"
    );
    // jackin refuses its own mistakes, and may know more words than we do.
    for word in ["sink", "Sync", "a_word_of_a_later_jackin"] {
        let contract = explained(&format!("\"{word}\""));
        let shown = format!("claude (auth_forward = {word}) captured");
        assert!(contract.contains(&shown), "{word}: {contract}");
    }
    // What can be no word is not repeated: it may be meant for the terminal, or be a secret in the wrong place.
    for value in [
        "\"hunter2 and more\"",
        "\"hunter2\\u001b[31m\"",
        "[\"hunter2\"]",
        "\"\"",
    ] {
        let contract = explained(value);
        assert!(
            contract.contains("claude (its auth_forward is no word)") && !contract.contains("hunter2"),
            "{value}: {contract}"
        );
    }
}

/// The global table lies below that of a workspace, also where a directory of it is named.
#[test]
fn a_directory_of_a_workspace_has_its_settings_whatever_the_global_table_says() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("secrets/key", "k\n")
        .file("a", "a\n")
        .aged();
    let workspace = |mode: &str| {
        let text = "[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/w\"\n[recovery]\nexclude = [\"secrets/\"]\n";
        sandbox.configure("workspaces/shop.toml", &format!("{text}snapshot = \"{mode}\"\n"));
    };
    for global in ["", "[recovery]\nsnapshot = \"project\"\n"] {
        sandbox.configure("config.toml", global);
        workspace("off");
        let launch = |flags: &[&str]| {
            let words = [&["launch"][..], flags, &[".", "--", "true"]].concat();
            sandbox.command(words).inside(&project).run().ok()
        };
        launch(&[]).shows("mode off");
        assert!(!sandbox.store().exists());
        workspace("project");
        launch(&[]).shows("secrets/");
        // A flag lies above both.
        workspace("off");
        launch(&["--snapshot", "project"]).shows("secrets/");
        let found = sandbox.command(["find", "key"]).inside(&project).run();
        assert!(!found.text().contains("secrets/key"), "{found}");
        fs::remove_dir_all(sandbox.home().join(".jackin")).unwrap();
    }
}

/// A fault elsewhere is in the way only where the workspace would set the mode.
#[test]
fn a_given_mode_needs_no_workspace_that_cannot_be_read() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    sandbox.configure("workspaces/other.toml", "mounts = 3\n");
    let launch = |flags: &[&str]| {
        let words = [&["launch"][..], flags, &[".", "--", "true"]].concat();
        sandbox.command(words).inside(&project).run()
    };
    launch(&[]).code_in(&[2]);
    launch(&["--snapshot", "project"]).ok();
}
