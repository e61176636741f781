//! The contract is complete, readable, and free of side effects.

use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn show_names_skipped_secrets_that_exist_first() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    Build::at(&home.join(".ssh")).file("id", "k");
    sandbox
        .command([
            "launch",
            "-q",
            "--allow-broad",
            "--snapshot",
            "project",
            ".",
            "--",
            "true",
        ])
        .inside(&home)
        .run()
        .ok();
    let shown = sandbox.command(["show"]).inside(&home).run().ok().text();
    let line = shown.lines().find(|line| line.contains("skipped"));
    let line = line.unwrap_or_else(|| panic!("{shown}")).trim();
    assert!(
        line.starts_with("skipped .ssh, ") && line.ends_with(" more (see --contract)"),
        "{line}"
    );
}

#[test]
fn explain_changes_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("explained");
    crate::support::nasty::tree(&project);
    sandbox.configure(
        "workspaces/web.toml",
        "[recovery]\nsnapshot = \"project\"\n[[mounts]]\nsrc = \"~/src/explained\"\ndst = \"/w\"\n",
    );
    let before = Tree::read(sandbox.world());
    let target = project.to_str().unwrap();
    for args in [
        &["explain", "--snapshot", "project", target][..],
        &["explain", "--snapshot", "project", "--json", target],
        &["explain", "--snapshot", "metadata", target],
        &[
            "explain",
            "--snapshot",
            "project",
            "--exclude",
            "*.o",
            "--path",
            "deep",
            target,
        ],
        &["explain", "web"],
        &["explain", "web", "--json"],
    ] {
        sandbox.jackin(args).ok();
        assert_untouched(&before, &Tree::read(sandbox.world()));
    }
    sandbox
        .command(["explain"])
        .inside(&project)
        .run()
        .ok()
        .shows(target);
    sandbox.jackin(["explain", "nothing-of-this-name"]).code(2);
    assert_untouched(&before, &Tree::read(sandbox.world()));
}

#[test]
fn contract_names_what_was_agreed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("agreed");
    Build::at(&project)
        .file("Cargo.toml", "[package]\nname = \"x\"\n")
        .file("target/CACHEDIR.TAG", "")
        .file("a", "a\n");
    let config = sandbox.configure(
        "workspaces/web.toml",
        "[recovery]\nsnapshot = \"project\"\nexclude = [\"*.cache\"]\n[[mounts]]\nsrc = \"~/src/agreed\"\ndst = \"/w\"\n",
    );
    let run = sandbox.jackin(["explain", "web", "--exclude", "*.tmp"]).ok();
    let run = run
        .shows(project.to_str().unwrap())
        .shows(sandbox.store().to_str().unwrap());
    // Every exclude, and where each comes from.
    let run = run
        .shows("*.cache")
        .shows(config.file_name().unwrap().to_str().unwrap());
    let run = run.shows("*.tmp").shows("target/").shows("Cargo.toml").harmless();
    assert!(
        run.text().contains("--exclude") || run.text().contains("flag"),
        "{run}"
    );
    // Readable at 80 columns; only a path may be longer than its line.
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        let long = line.chars().count() > 80;
        assert!(
            !long || line.contains('/'),
            "{} columns: {line}\n{run}",
            line.chars().count()
        );
    }
    let document = sandbox.jackin(["explain", "web", "--json"]).ok().json();
    assert!(document.to_string().contains("*.cache"), "{document:#}");
}

#[test]
fn launch_prints_the_contract_on_stderr_and_leaves_stdout_to_the_command() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("streams");
    let target = project.to_str().unwrap();
    let run = sandbox
        .launching(target, &["sh", "-c", "echo out; echo err >&2"])
        .inside(&project)
        .run()
        .ok();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "out\n", "{run}");
    let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
    let place = |text: &str| stderr.find(text).unwrap_or_else(|| panic!("no `{text}`\n{run}"));
    assert!(
        place(target) < place("err\n"),
        "the contract comes before the command\n{run}"
    );
}

#[test]
fn launch_says_what_changed_and_how_to_undo_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("told");
    Build::at(&project).file("a", "before\n").aged();
    let target = project.to_str().unwrap();
    let run = sandbox
        .launching(target, &["sh", "-c", "echo b > a; echo n > new"])
        .inside(&project)
        .run()
        .ok();
    let id = sandbox.newest();
    // In the session's directory its name is not needed; elsewhere the command has it.
    let run = run.shows("recovery restore\n").hides(&format!("restore {id}"));
    let launch = sandbox.launching(target, &["sh", "-c", "echo c > a"]).run().ok();
    launch.shows(&format!("recovery restore {}", sandbox.newest()));
    sandbox.restore(&sandbox.newest(), &[]);
    assert!(run.stdout.is_empty(), "{run}");
    sandbox.restore(&id, &[]).touched(&["a", "new"]);
}

#[test]
fn new_automatic_exclude_is_marked() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("marked");
    Build::at(&project).file("a", "a\n");
    let target = project.to_str().unwrap();
    sandbox.launch(
        &project,
        "echo '{}' > package.json; mkdir node_modules; echo evil > node_modules/x.js",
    );
    // An agent may plant what excludes: it is said that this one was not there at the last baseline.
    let run = sandbox
        .jackin(["explain", "--snapshot", "project", target])
        .ok()
        .shows("node_modules");
    let text = run.text();
    let line = text
        .lines()
        .position(|line| line.contains("node_modules"))
        .unwrap();
    let around: String = text.lines().skip(line.saturating_sub(2)).take(5).collect();
    assert!(around.to_lowercase().contains("new"), "{run}");
}

#[test]
fn an_excluded_dot_env_is_not_called_captured() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("env");
    let target = project.to_str().unwrap();
    for (exclude, captured, excluded) in [
        ("*.o", true, false),
        (".env", false, true),
        (".env*", false, true),
        ("/.env", false, false),
    ] {
        let args = ["explain", "--snapshot", "project", "--exclude", exclude, target];
        let run = sandbox.jackin(args).ok();
        let text = run.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            text.contains("a .env and the like are captured"),
            captured,
            "{run}"
        );
        assert_eq!(text.contains("Any .env is excluded."), excluded, "{run}");
    }
}

#[test]
fn changed_terms_come_last_and_fit_the_screen() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("a-project-with-a-rather-long-name");
    let launch = || {
        sandbox
            .command(["launch", "--", "true"])
            .inside(&project)
            .run()
            .ok()
    };
    launch().hides("has changed");
    launch().shows("protected: ~/src/").hides("has changed");
    // A directory that became a workspace is compared with its sessions as a directory.
    let mount = format!("[[mounts]]\nsrc = \"{}\"\ndst = \"/w\"\n", project.display());
    let excludes = "[\".env\", \"/build-output/of/the/first/stage/*.cache\", \"logs/\"]";
    let table =
        format!("{mount}[recovery]\nsnapshot = \"project\"\nexclude = {excludes}\ncommand = \"full\"\n");
    sandbox.configure("workspaces/shop.toml", &table);
    let run = launch();
    let text = run.text();
    let (contract, changes) = text
        .split_once("The contract has changed since the last launch:\n")
        .unwrap();
    assert!(
        contract.contains("Recovery contract for the workspace shop"),
        "{run}"
    );
    let changes = changes.split("rc-").next().unwrap();
    assert!(
        changes.contains("  + excluded: .env in a-project-with-a-rather-long-name, by\n"),
        "{run}"
    );
    assert!(
        changes.contains("      ~/.config/jackin/workspaces/shop.toml\n"),
        "{run}"
    );
    assert!(
        changes.contains("  recorded of the command: full (before: program)\n"),
        "{run}"
    );
    assert!(changes.lines().all(|line| line.chars().count() <= 80), "{run}");
    launch().shows("protected: ~/src/").hides("has changed");
}

/// Keys that change nothing of what is captured, kept, copied or restored, or of who does it.
const OUTSIDE: &[&str] = &["recovery.ui."];

/// Returns the dotted keys of the default configuration, which has all of them.
fn keys() -> Vec<String> {
    let mut table = String::new();
    let mut found = Vec::new();
    for line in include_str!("../../config/default.toml").lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = name.to_owned();
        } else if let Some((key, _)) = line.split_once(" = ").filter(|(key, _)| !key.starts_with('#')) {
            found.push(format!("{table}.{key}"));
        }
    }
    found
}

/// Every key changes the contract, or stands in [`OUTSIDE`]: a new one has to be in either.
#[test]
fn each_setting_changes_the_contract() {
    let key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let recipients = format!("[\"{key}\"]");
    let with_keys = format!("state.recipients = {recipients}");
    let home_with_keys = format!("state.home = true\n{with_keys}");
    let copied = format!("{with_keys}\nstore.replicate = \"s3://bucket/prefix\"");
    // Key, two values, and what else is set.
    let cases: &[(&str, [&str; 2], &str)] = &[
        ("snapshot", ["\"project\"", "\"off\""], ""),
        ("exclude", ["[]", "[\"x\"]"], ""),
        ("paths", ["[]", "[\"a\"]"], ""),
        ("integrations", ["true", "false"], ""),
        ("sensitive", ["\"withhold\"", "\"capture\""], ""),
        ("on_failure", ["\"block\"", "\"run\""], ""),
        ("command", ["\"program\"", "\"full\""], ""),
        // Required where no file system has any, they refuse the session.
        ("native", ["\"off\"", "\"require\""], ""),
        ("watch", ["false", "true"], ""),
        ("git.dir", ["\"full\"", "\"off\""], ""),
        ("git.clean", ["\"archive\"", "\"commit\""], ""),
        ("limits.max_entries", ["1000", "2000"], ""),
        ("limits.max_bytes", ["\"1GiB\"", "\"2GiB\""], ""),
        ("retention.checkpoints", ["100", "0"], ""),
        ("retention.checkpoint_days", ["0", "3"], ""),
        ("retention.instances", ["20", "0"], ""),
        ("retention.days", ["30", "0"], ""),
        ("retention.max_bytes", ["\"50GiB\"", "0"], ""),
        ("retention.min_free", ["\"5GiB\"", "\"0\""], ""),
        ("state.home", ["false", "true"], ""),
        ("state.secrets", ["\"withhold\"", "\"encrypt\""], &home_with_keys),
        (
            "state.recipients",
            ["[]", &recipients],
            "state.home = true\nstate.secrets = \"encrypt\"",
        ),
        ("agent.restore", ["\"deny\"", "\"checkpoints\""], ""),
        ("agent.on_failure", ["\"run\"", "\"block\""], ""),
        ("agent.prompts", ["\"first-line\"", "\"off\""], ""),
        ("store.replicate", ["\"\"", "\"s3://bucket/prefix\""], &with_keys),
        ("store.prune_replica", ["false", "true"], &copied),
    ];
    let mut known: Vec<String> = cases.iter().map(|(key, ..)| format!("recovery.{key}")).collect();
    let mut all = keys();
    all.retain(|key| !OUTSIDE.iter().any(|outside| key.starts_with(outside)));
    known.sort();
    all.sort();
    assert_eq!(known, all);

    let sandbox = Sandbox::new();
    let project = sandbox.project("agreed");
    Build::at(&project)
        .file("Cargo.toml", "[package]\nname = \"x\"\n")
        .file("target/CACHEDIR.TAG", "")
        .file("a/b", "b\n");
    Build::at(&sandbox.home()).file(".claude/settings.json", "{}\n");
    Repository::init(&project).commit("all");
    for (key, values, more) in cases {
        // An agent's state is only in one mode.
        let mode = if key.starts_with("state.") {
            "project-and-state"
        } else {
            "project"
        };
        let mode = if *key == "snapshot" {
            String::new()
        } else {
            format!("snapshot = \"{mode}\"\n")
        };
        let explained = values.map(|value| {
            sandbox.configure(
                "config.toml",
                &format!("[recovery]\n{key} = {value}\n{mode}{more}\n"),
            );
            sandbox.command(["explain", "."]).inside(&project).run().text()
        });
        assert_ne!(explained[0], explained[1], "{key}");
    }
}

/// The short contract of a launch names what changed since the last one.
#[test]
fn what_an_agent_may_do_and_where_copies_go_is_a_change_of_the_contract() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("agreed");
    Build::at(&project).file("a", "a\n");
    sandbox.launch(&project, "true");
    let agent = "[recovery.agent]\nrestore = \"checkpoints\"\non_failure = \"block\"\n";
    sandbox.configure("config.toml", agent);
    let run = sandbox.launching(&project, &["true"]).run().ok();
    run.shows("an agent may restore on its own")
        .shows("if a checkpoint of an agent fails");
}
