//! Mounts below a mount: another file system's, or a bind mount of a directory or of a single file. They are found by their
//! mount's number, named, and never touched, whenever they came. And mounts of a workspace that are single files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::{Changes, Restored, instances};
use crate::support::invocation::Invocation;
use crate::support::machine::{is_root, skip};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Bind mounts that only the runs of the binary see.
pub(crate) struct Bound<'a> {
    sandbox: &'a Sandbox,
    /// What is mounted, and over what.
    pairs: Vec<(PathBuf, PathBuf)>,
}

impl<'a> Bound<'a> {
    /// Says so and gives `None` where nothing can be mounted.
    pub(crate) fn new(sandbox: &'a Sandbox, what: &str, pairs: &[(&Path, PathBuf)]) -> Option<Self> {
        let works = is_root()
            && Command::new("unshare")
                .args(["-m", "mount", "--bind", "/", "/"])
                .output()
                .is_ok_and(|output| output.status.success());
        if !works {
            skip(what, "no bind mount can be made here");
            return None;
        }
        let pairs = pairs
            .iter()
            .map(|(from, over)| (from.to_path_buf(), over.clone()))
            .collect();
        Some(Self { sandbox, pairs })
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.command(args).run()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Invocation<'a> {
        let mut script: String = self
            .pairs
            .iter()
            .map(|(from, over)| format!("mount --bind '{}' '{}' && ", from.display(), over.display()))
            .collect();
        script.push_str("exec \"$@\"");
        let through = ["unshare", "-m", "sh", "-c", &script, "sh"];
        self.sandbox.command(args).through(&through)
    }
}

/// What is mounted: a directory and a file outside the project.
fn elsewhere(sandbox: &Sandbox) -> (PathBuf, PathBuf) {
    let other = sandbox.world().join("elsewhere");
    fs::create_dir(&other).unwrap();
    Build::at(&other)
        .file("dir/a", "elsewhere\n")
        .file("dir/only-here", "elsewhere\n")
        .file("file", "elsewhere\n")
        .aged();
    (other.join("dir"), other.join("file"))
}

fn begin(run: &Run) -> String {
    String::from_utf8_lossy(&run.stdout).trim().to_owned()
}

fn lossy(paths: &[Vec<u8>]) -> Vec<String> {
    paths
        .iter()
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect()
}

#[test]
fn bind_mounts_below_the_root_are_not_covered_and_never_touched() {
    if crate::support::machine::is_portable("there are no bind mounts") {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("bound");
    let (dir, file) = elsewhere(&sandbox);
    Build::at(&project)
        .file("data/a", "hidden\n")
        .file("conf/settings", "hidden\n")
        .file("conf/plain", "before\n")
        .file("b", "before\n")
        .aged();
    let pairs = [
        (dir.as_path(), project.join("data")),
        (file.as_path(), project.join("conf/settings")),
    ];
    let Some(bound) = Bound::new(&sandbox, "bind mounts below the root", &pairs) else {
        return;
    };
    let before = Tree::read(&project);
    let outside = Tree::read(&sandbox.world().join("elsewhere"));
    let target = project.to_str().unwrap();
    let id = begin(&bound.run(&["begin", "--snapshot", "project", target]).ok());
    fs::write(project.join("b"), "agent\n").unwrap();
    fs::write(project.join("conf/plain"), "agent\n").unwrap();
    fs::write(project.join("new"), "agent\n").unwrap();
    bound.run(&["end", &id]).ok();
    bound
        .run(&["show", &id])
        .ok()
        .shows("data")
        .shows("conf/settings")
        .shows("another mount begins here");
    let changes = Changes::of(&bound.run(&["diff", &id, "--json"]).ok());
    changes.are(&[("modified", "b"), ("modified", "conf/plain"), ("added", "new")]);
    assert_eq!(lossy(&changes.not_covered), ["conf/settings", "data"]);

    // Where the mounts are, and where they are not: what lies there is not known, and stays.
    let restored = Restored::of(&bound.run(&["restore", &id, "--yes", "--json"]).ok());
    restored.touched(&["b", "conf/plain", "new"]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_untouched(&outside, &Tree::read(&sandbox.world().join("elsewhere")));
    fs::write(project.join("data/a"), "another state\n").unwrap();
    let changed = Tree::read(&project);
    sandbox.restore(&id, &[]).nothing();
    assert_untouched(&changed, &Tree::read(&project));
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert!(!instances(&run)[0].snapshot("baseline").complete, "{run}");
}

#[test]
fn a_mount_that_came_after_the_snapshot_is_not_written_through() {
    if crate::support::machine::is_portable("there are no bind mounts") {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("came-later");
    let (dir, file) = elsewhere(&sandbox);
    Build::at(&project)
        .file("data/a", "before\n")
        .file("data/gone", "before\n")
        .file("deep/conf", "before\n")
        .file("b", "before\n")
        .aged();
    let pairs = [
        (dir.as_path(), project.join("data")),
        (file.as_path(), project.join("deep/conf")),
    ];
    let Some(bound) = Bound::new(&sandbox, "mounts that came later", &pairs) else {
        return;
    };
    let before = Tree::read(&project);
    let outside = Tree::read(&sandbox.world().join("elsewhere"));
    let id = sandbox.launch(
        &project,
        "echo agent > data/a; rm data/gone; echo agent > deep/conf; echo agent > b; chmod 700 deep",
    );
    let damaged = Tree::read(&project);
    let plan = bound.run(&["restore", &id, "--dry-run"]).code(6);
    plan.shows("data").shows("deep/conf").shows("another mount");
    let restored = Restored::of(&bound.run(&["restore", &id, "--yes", "--json"]).code(6));
    restored.touched(&["b", "deep"]);
    assert_untouched(&outside, &Tree::read(&sandbox.world().join("elsewhere")));
    let now = Tree::read(&project);
    assert_untouched(&damaged.only("data"), &now.only("data"));
    assert_untouched(&damaged.only("deep/conf"), &now.only("deep/conf"));
    sandbox.no_litter();

    // Without the mounts the rest comes back.
    sandbox
        .restore(&id, &[])
        .touched(&["data/a", "data/gone", "deep/conf"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_directory_that_holds_a_mount_point_stays() {
    if crate::support::machine::is_portable("there are no bind mounts") {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("holds");
    let (dir, file) = elsewhere(&sandbox);
    Build::at(&project)
        .file("was-a-file", "before\n")
        .file("b", "before\n")
        .aged();
    let pairs = [
        (dir.as_path(), project.join("new/deep/point")),
        (file.as_path(), project.join("was-a-file/point")),
    ];
    let Some(bound) = Bound::new(&sandbox, "a directory that holds a mount point", &pairs) else {
        return;
    };
    let before = Tree::read(&project);
    let outside = Tree::read(&sandbox.world().join("elsewhere"));
    let id = sandbox.launch(
        &project,
        "mkdir -p new/deep/point; echo x > new/side; rm was-a-file; mkdir was-a-file; : > was-a-file/point; echo agent > b",
    );
    let restored = Restored::of(&bound.run(&["restore", &id, "--yes", "--json"]).code(0));
    restored.touched(&["b", "new/side"]);
    for path in ["new", "new/deep", "was-a-file"] {
        assert!(
            restored.names(path),
            "{path} is not named: {:#}",
            restored.document
        );
    }
    let now = Tree::read(&project);
    assert!(now.has("new/deep/point") && now.has("was-a-file/point"));
    assert_untouched(&outside, &Tree::read(&sandbox.world().join("elsewhere")));
    sandbox.no_litter();
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_mount_point_over_itself_is_not_covered_either() {
    if crate::support::machine::is_portable("there are no bind mounts") {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("itself");
    Build::at(&project)
        .file("data/a", "before\n")
        .file("conf", "before\n")
        .file("b", "before\n")
        .aged();
    let data = project.join("data");
    let conf = project.join("conf");
    let pairs = [(data.as_path(), data.clone()), (conf.as_path(), conf.clone())];
    let Some(bound) = Bound::new(&sandbox, "a bind mount over itself", &pairs) else {
        return;
    };
    let id = sandbox.launch(&project, "echo agent > data/a; echo agent > conf; echo agent > b");
    let damaged = Tree::read(&project);
    let restored = Restored::of(&bound.run(&["restore", &id, "--yes", "--json"]).code(6));
    restored.touched(&["b"]);
    let now = Tree::read(&project);
    assert_untouched(&damaged.only("data"), &now.only("data"));
    assert_untouched(&damaged.only("conf"), &now.only("conf"));
}

const FILES: &str = concat!(
    "version = \"v1alpha8\"\n",
    "[recovery]\n",
    "snapshot = \"project\"\n",
    "[[mounts]]\n",
    "src = \"~/notes.txt\"\n",
    "dst = \"/workspace/notes.txt\"\n",
);

#[test]
fn workspace_of_a_single_file_is_refused_up_front() {
    let sandbox = Sandbox::new();
    let notes = sandbox.home().join("notes.txt");
    fs::write(&notes, "mine\n").unwrap();
    sandbox.configure("workspaces/files.toml", FILES);
    let before = Tree::read(&sandbox.home());
    for args in [&["explain", "files"][..], &["begin", "files"], &["doctor"]] {
        let run = sandbox.jackin(args);
        assert!(run.exit() != Some(0) || args == ["doctor"], "{run}");
        run.shows("notes.txt").shows("single file");
    }
    let run = sandbox.jackin(["explain", "files"]).code(2);
    run.shows("mount the directory that holds the file");
    let ran = sandbox.scratch("ran");
    sandbox
        .jackin(["launch", "files", "--", "touch", ran.to_str().unwrap()])
        .code(2)
        .shows("a single file");
    assert!(!ran.exists());
    assert_untouched(&before, &Tree::read(&sandbox.home()));
}

#[test]
fn single_file_beside_a_directory_is_named_as_not_covered() {
    let sandbox = Sandbox::new();
    let notes = sandbox.home().join("notes.txt");
    fs::write(&notes, "mine\n").unwrap();
    let project = sandbox.project("app");
    Build::at(&project)
        .file("a", "before\n")
        .file("inside.txt", "before\n")
        .aged();
    let more = concat!(
        "[[mounts]]\n",
        "src = \"~/src/app\"\n",
        "dst = \"/workspace/app\"\n",
        "[[mounts]]\n",
        "src = \"~/src/app/inside.txt\"\n",
        "dst = \"/workspace/inside.txt\"\n",
    );
    sandbox.configure("workspaces/files.toml", &format!("{FILES}{more}"));
    sandbox
        .jackin(["explain", "files"])
        .ok()
        .shows("notes.txt")
        .shows("a single file; only directories can be captured");
    let script = format!(
        "echo agent > a; echo agent > inside.txt; echo agent > '{}'",
        notes.display()
    );
    sandbox
        .command(["launch", "files", "--", "sh", "-c", &script])
        .inside(&project)
        .run()
        .ok()
        .shows("a single file");
    // The one inside the directory is covered with it.
    sandbox.restore("files", &[]).touched(&["a", "inside.txt"]);
    assert_eq!(fs::read_to_string(notes).unwrap(), "agent\n");
}

/// The operator's secrets, each with the canary.
fn secrets(sandbox: &Sandbox) {
    for path in [
        ".ssh/id_ed25519",
        ".ssh/inner/key",
        ".config/gh/hosts.yml",
        ".netrc",
        ".npmrc",
        ".git-credentials",
        ".claude/.credentials.json",
    ] {
        crate::agent_state::write(&sandbox.home(), path, SECRET);
    }
}

const SECRET: &str = "canary-7f3a9c1e5b";

#[test]
fn a_bind_mount_of_a_secret_place_is_refused() {
    let sandbox = Sandbox::new();
    secrets(&sandbox);
    let (home, shown) = (sandbox.home(), sandbox.project("shown"));
    for (from, target, word) in [
        (".ssh", "", ".ssh"),
        (".ssh", "inner", ".ssh"),
        // Within the place: nothing above the mount point is the place.
        (".ssh/inner", "", ".ssh"),
        (".config/gh", "", ".config/gh"),
    ] {
        let Some(bound) = Bound::new(
            &sandbox,
            "bind mounts of secrets",
            &[(&home.join(from), shown.clone())],
        ) else {
            return;
        };
        let target = shown.join(target);
        for mode in ["project", "project-and-state"] {
            let run = bound.run(&["begin", "--snapshot", mode, target.to_str().unwrap()]);
            run.refused().shows(word).shows("your secrets");
        }
    }
    // The home itself, by another name: it is as broad, and with the operator's word its secrets stay out.
    let Some(bound) = Bound::new(&sandbox, "a bind mount of the home", &[(&home, shown.clone())]) else {
        return;
    };
    let target = shown.to_str().unwrap();
    let refused = bound.run(&["begin", "--snapshot", "project", target]);
    refused.refused().shows("--allow-broad");
    let id = begin(
        &bound
            .run(&["begin", "--allow-broad", "--snapshot", "project", target])
            .ok(),
    );
    bound.run(&["end", &id]).ok();
    crate::agent_state::has_no_canary(&sandbox, &[]);
    let Some(bound) = Bound::new(
        &sandbox,
        "a bind mount within",
        &[(&home.join(".config"), shown.clone())],
    ) else {
        return;
    };
    let id = begin(
        &bound
            .run(&["begin", "--allow-broad", "--snapshot", "project", target])
            .ok(),
    );
    bound.run(&["end", &id]).ok().code(0);
    let words = ["explain", "--allow-broad", "--snapshot", "project", target];
    bound.run(&words).ok().shows("gcloud, gh, op");
    crate::agent_state::has_no_canary(&sandbox, &[]);
}

#[test]
fn a_secret_place_that_is_mounted_from_the_target_is_skipped() {
    let sandbox = Sandbox::new();
    let (home, project) = (sandbox.home(), sandbox.project("vault"));
    fs::write(project.join("a"), "ordinary").unwrap();
    for path in ["dotfiles/ssh/key", "inner/key", "netrc"] {
        crate::agent_state::write(&project, path, SECRET);
    }
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::create_dir_all(project.join("dotfiles/ssh/inner")).unwrap();
    fs::write(home.join(".netrc"), "").unwrap();
    let Some(bound) = Bound::new(
        &sandbox,
        "secret places that are mounted",
        &[
            (&project.join("dotfiles/ssh"), home.join(".ssh")),
            (&project.join("inner"), home.join(".ssh/inner")),
            (&project.join("netrc"), home.join(".netrc")),
        ],
    ) else {
        return;
    };
    let target = project.to_str().unwrap();
    let id = begin(&bound.run(&["begin", "--snapshot", "project", target]).ok());
    bound.run(&["end", &id]).ok();
    let shown = bound.run(&["show", &id]).ok();
    let shown = ["dotfiles/ssh", "inner", "netrc"]
        .iter()
        .fold(shown, |run, name| run.shows(name));
    crate::agent_state::has_no_canary(&sandbox, &[shown]);
}

#[test]
fn a_hard_link_to_a_secret_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    secrets(&sandbox);
    let (home, project) = (sandbox.home(), sandbox.project("linked"));
    fs::write(project.join("a"), "ordinary").unwrap();
    fs::create_dir(project.join("deep")).unwrap();
    let links = [
        (".ssh/id_ed25519", "deep/key"),
        (".ssh/inner/key", "inner"),
        (".netrc", "netrc"),
        (".npmrc", "npmrc"),
        (".git-credentials", "deep/git"),
        (".claude/.credentials.json", "agent"),
    ];
    for (from, to) in links {
        fs::hard_link(home.join(from), project.join(to)).unwrap();
    }
    let target = project.to_str().unwrap();
    let script = "ln ~/.ssh/id_ed25519 later; echo changed > a";
    sandbox
        .launching(target, &["sh", "-c", script])
        .inside(&project)
        .run()
        .ok();
    let id = sandbox.newest();
    let shown = links
        .iter()
        .fold(sandbox.jackin(["show", &id]).ok(), |run, (_, name)| {
            run.shows(name)
        });
    crate::agent_state::has_no_canary(&sandbox, &[shown]);
    // What is not captured is not touched either: it may be anything.
    sandbox.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "ordinary");
    for name in [
        "deep/key", "inner", "netrc", "npmrc", "deep/git", "agent", "later",
    ] {
        assert_eq!(fs::read_to_string(project.join(name)).unwrap(), SECRET, "{name}");
    }
}

#[test]
fn a_store_that_is_mounted_from_the_target_is_refused_and_never_captured() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    let project = sandbox.project("holds-the-store");
    Build::at(&project).file("a", "before\n").aged();
    let target = project.to_str().unwrap();
    for (from, over) in [
        ("state", ".jackin"),
        ("state/data", ".jackin/data"),
        ("state/data/recovery", ".jackin/data/recovery"),
    ] {
        fs::create_dir_all(project.join(from)).unwrap();
        fs::create_dir_all(home.join(over)).unwrap();
        let pair = (&*project.join(from), home.join(over));
        let Some(bound) = Bound::new(&sandbox, "a store that is mounted from the target", &[pair]) else {
            return;
        };
        let refused = bound.run(&["launch", "--snapshot", "project", target, "--", "rm", "a"]);
        refused.code(2).shows("recovery store").shows("--allow-broad");
        assert!(project.join("a").exists() && !project.join(from).join("catalog.sqlite3").exists());
        // Of the store's own directory, and of one in it, nothing can be captured.
        fs::create_dir_all(project.join("state/data/recovery/inner")).unwrap();
        for place in ["", "inner"] {
            let place = project.join("state/data/recovery").join(place);
            let words = ["begin", "--allow-broad", "--snapshot", "project"];
            let refused = bound.run(&[&words[..], &[place.to_str().unwrap()]].concat());
            refused.refused().shows("store");
        }
        fs::remove_dir_all(project.join("state")).unwrap();
    }

    fs::create_dir_all(project.join("state")).unwrap();
    let pair = (&*project.join("state"), home.join(".jackin"));
    let Some(bound) = Bound::new(&sandbox, "a store that is mounted from the target", &[pair]) else {
        return;
    };
    let words = ["begin", "--allow-broad", "--snapshot", "project", target];
    let id = begin(&bound.run(&words).ok());
    fs::write(project.join("a"), "agent\n").unwrap();
    bound.run(&["end", &id]).ok();
    let changes = Changes::of(&bound.run(&["diff", &id, "--json"]).ok());
    changes.are(&[("modified", "a")]);
    let words = ["restore", &id, "--delete-later-files", "--yes", "--json"];
    Restored::of(&bound.run(&words).ok()).touched(&["a"]);
    bound.run(&["undo", &id, "--yes"]).ok();
    bound.run(&["verify"]).ok();
}

#[test]
fn a_store_that_came_into_the_target_later_is_not_touched() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    let project = sandbox.project("came-into");
    Build::at(&project).file("a", "before\n").aged();
    let pair = (&*project.join("state"), home.join(".jackin"));
    let Some(bound) = Bound::new(&sandbox, "a store that comes into the target", &[pair]) else {
        return;
    };
    let id = sandbox.launch(&project, "rm a");
    fs::rename(home.join(".jackin"), project.join("state")).unwrap();
    fs::create_dir(home.join(".jackin")).unwrap();
    let words = ["restore", &id, "--delete-later-files", "--yes", "--json"];
    let restored = Restored::of(&bound.run(&words).code_in(&[0, 6]));
    restored.touched(&["a"]);
    bound.run(&["verify"]).ok();
    bound.run(&["undo", &id, "--yes"]).ok();
}

#[test]
fn a_missing_proc_is_named() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    Build::at(&project).file("a", "a\n");
    let Some(_) = Bound::new(&sandbox, "a system without /proc", &[]) else {
        return;
    };
    let through = [
        "unshare",
        "-m",
        "sh",
        "-c",
        "while umount -l /proc; do :; done 2>/dev/null; exec \"$@\"",
        "sh",
    ];
    let launch = sandbox.command(["launch", "--snapshot", "project", ".", "--", "true"]);
    let run = launch.inside(&project).through(&through).run().code(125);
    run.has("/proc is not mounted");
}
