//! Finding workspaces: by name, by directory, and their mounts.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Home, MOUNT, flags};
use crate::config::{ConfigError, Flags, Isolation, Mode};

#[test]
fn names_come_from_both_places_sorted_and_once() {
    let home = Home::new()
        .global("[workspaces.old]\nworkdir = \"/x\"\n[workspaces.web]\n[workspaces.\"a/b\"]\n")
        .workspace("web", MOUNT)
        .workspace("api", "this is not TOML at all");
    fs::write(home.configuration().join("workspaces/notes.txt"), "x").unwrap();
    fs::write(home.configuration().join("workspaces/.toml"), "x").unwrap();
    assert_eq!(
        home.load().unwrap().workspace_names().unwrap(),
        ["api", "old", "web"]
    );
    // A fault in one file is no fault of another.
    assert!(home.resolve("web").is_ok());
    assert!(matches!(
        home.resolve("api"),
        Err(ConfigError::Toml { line: 1, .. })
    ));
}

#[test]
fn an_unknown_name_gets_the_nearest_and_the_directory() {
    let home = Home::new()
        .workspace("website", MOUNT)
        .workspace("webhook", MOUNT)
        .workspace("data", MOUNT);
    assert_eq!(
        home.error("web-site"),
        "workspace \"web-site\" not found; the nearest: \"website\""
    );
    assert_eq!(home.error("zzzzzzzz"), "workspace \"zzzzzzzz\" not found");
    fs::create_dir(home.path().join("dat")).unwrap();
    assert_eq!(
        home.error("dat"),
        "workspace \"dat\" not found; the nearest: \"data\"; for the directory of that name write ./dat"
    );
}

#[test]
fn names_that_leave_their_directory_are_refused() {
    let home = Home::new().workspace("w", MOUNT);
    fs::write(home.configuration().join("evil.toml"), MOUNT).unwrap();
    for (name, problem) in [
        ("", "it is empty"),
        (".", "it means a directory"),
        ("..", "it means a directory"),
        ("../evil", "it holds a `/` or a `\\`"),
        ("a\\b", "it holds a `/` or a `\\`"),
        ("a\0", "it holds a NUL byte"),
    ] {
        assert_eq!(
            home.error(name),
            format!("{name:?} cannot be the name of a workspace: {problem}")
        );
    }
}

#[test]
fn mounts_are_read_with_their_defaults() {
    let text = "version = \"v1alpha8\"\nworkdir = \"/w\"\nallowed_roles = [\"x\"]\n\
                [[mounts]]\nsrc = \"~/src/web\"\ndst = \"/w\"\nsomething_new = { a = 1 }\n\
                [[mounts]]\nsrc = \"~\"\nreadonly = true\nisolation = \"worktree\"\n\
                [claude]\nauth_forward = \"sync\"\n[env]\nTOKEN = \"op://x\"\n[future]\nx = 1\n";
    let home = Home::new().workspace("w", text);
    let mounts = home.resolve("w").unwrap().mounts;
    assert_eq!(mounts.len(), 2);
    assert_eq!(mounts[0].src, home.path().join("src/web"));
    assert_eq!(mounts[0].dst.as_deref(), Some("/w"));
    assert_eq!(
        (mounts[0].readonly, mounts[0].isolation),
        (false, Isolation::Shared)
    );
    assert_eq!(mounts[1].src, home.path());
    assert_eq!(
        (mounts[1].readonly, mounts[1].isolation),
        (true, Isolation::Worktree)
    );
    assert_eq!(
        mounts[1]
            .source
            .to_string()
            .replace(home.configuration().to_str().unwrap(), "CONF"),
        "CONF/workspaces/w.toml, line 9"
    );
}

#[test]
fn mounts_of_an_older_config_toml_serve_until_the_workspace_file_has_its_own() {
    let global = "[[workspaces.w.mounts]]\nsrc = \"/old\"\n";
    let sources = |home: &Home| -> Vec<PathBuf> {
        home.resolve("w")
            .unwrap()
            .mounts
            .into_iter()
            .map(|mount| mount.src)
            .collect()
    };
    assert_eq!(sources(&Home::new().global(global)), [Path::new("/old")]);
    let home = Home::new()
        .global(global)
        .workspace("w", "[recovery]\nsnapshot = \"project\"\n");
    assert_eq!(sources(&home), [Path::new("/old")]);
    let home = Home::new().global(global).workspace("w", MOUNT);
    assert_eq!(sources(&home), [Path::new("/srv/x")]);
    let home = Home::new().global("[[workspaces.w.mounts]]\ndst = \"/x\"\n");
    assert_eq!(
        home.error("w"),
        "CONF/config.toml, line 1: `workspaces.w.mounts.src` is missing; every mount needs it"
    );
}

#[test]
fn a_directory_belongs_to_the_workspace_with_the_deepest_mount_around_it() {
    let mount = |path: &str| format!("[[mounts]]\nsrc = \"~/{path}\"\n");
    let home = Home::new()
        .workspace("all", &mount("src"))
        .workspace("web", &(mount("src/web") + &mount("docs")))
        .workspace(
            "twin",
            &(mount("docs") + "[[mounts]]\nsrc = \"~/docs/twin\"\nreadonly = true\n"),
        );
    for path in ["src/web/deep", "src/webby", "docs/twin"] {
        fs::create_dir_all(home.path().join(path)).unwrap();
    }
    std::os::unix::fs::symlink(home.path().join("src/web/deep"), home.path().join("link")).unwrap();
    let config = home.load().unwrap();
    let find = |path: &str| {
        config
            .workspace_for_directory(&home.path().join(path))
            .map_err(|error| home.short(&error))
    };
    assert_eq!(find("src"), Ok(Some("all".into())));
    assert_eq!(find("src/webby"), Ok(Some("all".into())));
    assert_eq!(find("src/web"), Ok(Some("web".into())));
    assert_eq!(find("link"), Ok(Some("web".into())));
    assert_eq!(find("docs/twin/x"), Ok(Some("twin".into())));
    assert_eq!(find(".."), Ok(None));
    assert_eq!(
        find("docs"),
        Err("HOME/docs lies in mounts of the workspaces \"twin\" and \"web\"; name the one you mean".into())
    );
    // One that cannot be read might be the one.
    let home = home.workspace("broken", "mounts = 3");
    let error = home
        .load()
        .unwrap()
        .workspace_for_directory(&home.path().join("src"))
        .unwrap_err();
    assert!(
        home.short(&error)
            .starts_with("CONF/workspaces/broken.toml, line 1: `mounts`")
    );
    // A fault in another one's [recovery] is not in the way.
    let home = home.workspace("broken", "[recovery]\nnonsense = 3\n");
    assert_eq!(
        home.load()
            .unwrap()
            .workspace_for_directory(&home.path().join("src"))
            .unwrap(),
        Some("all".into())
    );
}

/// Only a directory without a mode of its own needs its workspace.
#[test]
fn a_given_mode_needs_no_workspace_that_is_unknown() {
    let twins = "[recovery]\nsnapshot = \"off\"\n[[mounts]]\nsrc = \"~/s\"\n";
    let rivals = Home::new().workspace("a", twins).workspace("b", twins);
    let broken = Home::new().workspace("other", "mounts = 3");
    for home in [rivals, broken] {
        let (config, directory) = (home.load().unwrap(), home.path().join("s"));
        let implied = Flags {
            implied: Some(Mode::Project),
            ..Flags::default()
        };
        assert!(config.for_directory(&directory, &implied).is_err());
        let given = config.for_directory(&directory, &flags("project")).unwrap();
        assert_eq!(given.mode.value, Mode::Project);
        let later = config.for_session(&directory, &flags("project")).unwrap();
        assert_eq!(later.mode.value, Mode::Project);
    }
    // The workspace is known and its settings have a fault: they may exclude something, which a running session has settled.
    let home = Home::new().workspace("w", "[recovery]\nnonsense = 3\n[[mounts]]\nsrc = \"~/s\"\n");
    let (config, directory) = (home.load().unwrap(), home.path().join("s"));
    assert!(config.for_directory(&directory, &flags("project")).is_err());
    assert!(config.for_session(&directory, &flags("project")).is_ok());
    assert!(config.for_session(&directory, &flags("nonsense")).is_err());
}

#[test]
fn a_mount_twice_in_one_workspace_is_no_rivalry() {
    let home = Home::new().workspace("w", "[[mounts]]\nsrc = \"~/s\"\n[[mounts]]\nsrc = \"~/s/.\"\n");
    let found = home
        .load()
        .unwrap()
        .workspace_for_directory(&home.path().join("s"));
    assert_eq!(found.unwrap(), Some("w".into()));
    let resolved = home
        .load()
        .unwrap()
        .for_workspace("w", &Flags::default())
        .unwrap();
    assert_eq!(resolved.subject.label(), "w");
}
