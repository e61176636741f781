//! A real source tree of at least 5,000 files: the scenarios one after another, and many kinds of damage at once (scenarios 5 to 15, 20 to 24, 26,
//! 27, 32, 44 together).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched, changed_paths};
use crate::support::machine::{is_nightly, is_root, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};
use crate::support::{nasty, real_tree};

/// What an agent does on a bad day. Lists are sorted so that every run is the same.
const DAMAGE: &str = r#"
find . -name '*.rs' -type f | LC_ALL=C sort > "$LISTS/rs"
find . -name '*.md' -type f | LC_ALL=C sort > "$LISTS/md"
find . -name '*.toml' -type f | LC_ALL=C sort > "$LISTS/toml"
find . -mindepth 2 -maxdepth 2 -type d ! -name odd | LC_ALL=C sort > "$LISTS/packages"
# Deleted, edited, emptied, touched, and made executable.
awk 'NR % 10 == 1' "$LISTS/rs" | tr '\n' '\0' | xargs -0 rm -f
awk 'NR % 10 == 2' "$LISTS/rs" | while IFS= read -r f; do echo '// by the agent' >> "$f"; done
awk 'NR % 10 == 3' "$LISTS/rs" | tr '\n' '\0' | xargs -0 truncate -s0
awk 'NR % 10 == 4' "$LISTS/rs" | tr '\n' '\0' | xargs -0 touch
awk 'NR % 10 == 5' "$LISTS/rs" | tr '\n' '\0' | xargs -0 chmod 777
# Replaced by a link, by a directory; hard linked; moved.
awk 'NR % 5 == 1' "$LISTS/md" | while IFS= read -r f; do ln -sfn /etc/hostname "$f"; done
awk 'NR % 5 == 2' "$LISTS/md" | while IFS= read -r f; do rm -f "$f"; mkdir "$f"; echo x > "$f/x"; done
awk 'NR % 5 == 3' "$LISTS/toml" | while IFS= read -r f; do mv "$f" "$f.moved"; done
awk 'NR % 5 == 4' "$LISTS/toml" | while IFS= read -r f; do ln "$f" "$f.linked"; done
# Whole packages removed, moved, and replaced by a file.
awk 'NR % 12 == 1' "$LISTS/packages" | tr '\n' '\0' | xargs -0 rm -rf
awk 'NR % 12 == 2' "$LISTS/packages" | while IFS= read -r d; do mv "$d" "$d.away"; done
awk 'NR % 12 == 3' "$LISTS/packages" | while IFS= read -r d; do rm -rf "$d"; echo flat > "$d"; done
# New files, new trees, and the odd corner wiped.
mkdir -p new/deep/er; for n in 1 2 3 4 5 6 7 8 9; do echo "$n" > "new/deep/file-$n"; done
find odd -mindepth 1 -delete
"#;

#[test]
fn real_source_tree_is_restored_and_undone_exactly() {
    let sandbox = Sandbox::new();
    let project = sandbox.sources().join("real");
    real_tree::copy_to(&project);
    nasty::named(&project.join("odd/names"));
    Build::at(&project)
        .file("odd/key", "private\n")
        .mode("odd/key", 0o600)
        .file("odd/pair-1", "linked\n")
        .hard_link("odd/pair-2", "odd/pair-1")
        .symlink("odd/link", "../no/such")
        .dir("odd/empty")
        .mode("odd/empty", 0o700)
        .file("target/CACHEDIR.TAG", "excluded by flag\n");
    assert!(real_tree::count_files(&project) >= real_tree::FILES);
    let before = Tree::read(&project);

    let lists = sandbox.scratch("lists");
    fs::create_dir(&lists).unwrap();
    let script = format!("LISTS='{}'; echo built > target/new; {DAMAGE}", lists.display());
    let id = sandbox.launch_with(&["--exclude", "/target/"], &project, &script);
    let damaged = Tree::read(&project);
    let mut wrong = changed_paths(&before.without("target"), &damaged.without("target"));
    // A second name beside a file is a new path; the file itself is what it was.
    wrong.retain(|path| !(before.has(path) && damaged.has([path.as_slice(), b".linked"].concat())));
    assert!(wrong.len() > 1000, "only {} paths were damaged", wrong.len());

    // Shown, planned and done are the same, and are what really differs.
    let diff = sandbox.diff(&id, &["--no-renames"]);
    assert!(diff.touched() == wrong, "{}", apart(&diff.touched(), &wrong));
    let renamed = sandbox.diff(&id, &[]).touched();
    assert!(renamed == wrong, "{}", apart(&renamed, &wrong));
    let plan = sandbox.plan(&id, &[]);
    assert!(plan.applied == wrong, "{}", apart(&plan.applied, &wrong));
    sandbox.jackin(["restore", &id]).code(4);
    assert_untouched(&damaged, &Tree::read(&project));

    // One package alone first: nothing else moves.
    let is_package =
        |path: &[u8]| path.starts_with(b"part-") && path.iter().filter(|b| **b == b'/').count() == 1;
    let one = wrong.iter().find(|path| is_package(path)).unwrap();
    let one_text = std::str::from_utf8(one).unwrap();
    sandbox.restore(&id, &[one_text]);
    let partly = Tree::read(&project);
    assert_kept(&damaged, &partly, &[one]);
    assert_same_tree(&before.only(one), &partly.only(one));

    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before.without("target"), &after.without("target"));
    assert_kept(
        &before.without("target"),
        &after.without("target"),
        &with_touched_times(&before, &damaged, &wrong),
    );
    assert_untouched(&damaged.only("target"), &after.only("target"));

    sandbox.restore(&id, &[]).nothing();
    assert_untouched(&after, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&partly, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&after, &Tree::read(&project));
}

/// The damaged paths, and the files that the agent only touched: a difference in times alone is none, so they keep
/// the agent's.
fn with_touched_times(before: &Tree, damaged: &Tree, wrong: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let same = |path: &&Vec<u8>| {
        let (old, new) = (before.nodes.get(*path), damaged.nodes.get(*path));
        old.zip(new)
            .is_none_or(|(old, new)| old.times.modified == new.times.modified)
    };
    let is_file = |path: &&Vec<u8>| before.at(path).kind != Kind::Directory;
    let touched = before
        .nodes
        .keys()
        .filter(is_file)
        .filter(|path| !same(path))
        .cloned();
    touched.chain(wrong.iter().cloned()).collect()
}

#[test]
fn real_source_tree_that_was_left_alone_is_left_alone() {
    let sandbox = Sandbox::new();
    let project = sandbox.sources().join("idle");
    real_tree::copy_to(&project);
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "true");
    sandbox.diff(&id, &[]).are::<&str>(&[]);
    sandbox.restore(&id, &[]).nothing();
    assert_untouched(&before, &Tree::read(&project));
}

/// What only one of two lists holds, the first few of each.
fn apart(left: &[Vec<u8>], right: &[Vec<u8>]) -> String {
    let only = |a: &[Vec<u8>], b: &[Vec<u8>]| {
        let rest: Vec<String> = a
            .iter()
            .filter(|path| !b.contains(path))
            .map(|path| path.escape_ascii().to_string())
            .collect();
        format!("{}: {:?}", rest.len(), rest.iter().take(10).collect::<Vec<_>>())
    };
    format!(
        "only left {}\nonly right {}",
        only(left, right),
        only(right, left)
    )
}

/// What an agent does in one scenario, and paths that the diff must name.
pub(crate) struct Damage {
    pub(crate) scenario: &'static str,
    pub(crate) script: &'static str,
    pub(crate) named: &'static [&'static str],
}

/// Each begins from the same tree, because each is undone.
pub(crate) const DAMAGES: [Damage; 11] = [
    Damage {
        scenario: "1: ignored files deleted",
        script: "rm .env local.db data/*.csv",
        named: &[".env", "local.db", "data/one.csv", "data/two.csv"],
    },
    Damage {
        scenario: "5: edits and deletes in a plain directory",
        script: "for f in $(find part-0 -name '*.rs' | head -n 200); do echo '// agent' >> $f; done; \
                 find part-0 -name '*.md' -delete",
        named: &[],
    },
    Damage {
        scenario: "6: moved in a shell",
        script: "mv own/a own/b",
        named: &["own/b"],
    },
    Damage {
        scenario: "7: a big file emptied",
        script: "truncate -s0 big.bin",
        named: &["big.bin"],
    },
    Damage {
        scenario: "8: modes only",
        script: "chmod -x run.sh; chmod 777 key.pem",
        named: &["run.sh", "key.pem"],
    },
    Damage {
        scenario: "9: a private file deleted",
        script: "rm key",
        named: &["key"],
    },
    Damage {
        scenario: "10: links deleted, retargeted, replaced by a file",
        script: "rm link-1; ln -sfn other link-2; rm link-3; echo file > link-3",
        named: &["link-1", "link-2", "link-3"],
    },
    Damage {
        scenario: "11: empty directories removed",
        script: "rmdir empty/a empty/b",
        named: &["empty/a", "empty/b"],
    },
    Damage {
        scenario: "12: file and directory exchanged",
        script: "rm own/a; mkdir own/a; echo in > own/a/in; rm -r data; echo flat > data",
        named: &["own/a", "data"],
    },
    Damage {
        scenario: "14: a hard linked pair edited",
        script: "echo agent >> pair-1",
        named: &["pair-1", "pair-2"],
    },
    Damage {
        scenario: "15: odd names deleted",
        script: "find odd -mindepth 1 -delete",
        named: &["odd/new\nline", "odd/café.txt"],
    },
];

fn project(sandbox: &Sandbox) -> std::path::PathBuf {
    let project = sandbox.sources().join("tree");
    real_tree::copy_to(&project);
    furnish(&project);
    assert!(real_tree::count_files(&project) >= real_tree::FILES);
    project
}

/// What the scenarios are about, in a directory that is there.
pub(crate) fn furnish(project: &Path) {
    nasty::named(&project.join("odd"));
    Build::at(project)
        .file(".env", "TOKEN=canary\n")
        .file(".gitignore", ".env\nlocal.db\ndata/\n")
        .file("local.db", "db\n")
        .file("data/one.csv", "1\n")
        .file("data/two.csv", "2\n")
        .file("own/a", "moved, and long enough to be known again\n")
        .file("run.sh", "#!/bin/sh\n")
        .mode("run.sh", 0o755)
        .file("key.pem", "key\n")
        .mode("key.pem", 0o600)
        .file("key", "private\n")
        .mode("key", 0o600)
        .symlink("link-1", "run.sh")
        .symlink("link-2", "../no/such")
        .symlink("link-3", "/absolute")
        .dir("empty/a")
        .dir("empty/b")
        .mode("empty/b", 0o700)
        .file("pair-1", "pair\n")
        .hard_link("pair-2", "pair-1")
        .fifo("pipe")
        .aged();
}

/// At night every damage; otherwise one in four, for `carried` tries each of them on a smaller tree.
#[test]
fn real_source_tree_survives_every_damage() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    let (size, every) = if is_nightly() {
        (200 << 20, 1)
    } else {
        (5 << 20, 4)
    };
    Build::at(&project).big("big.bin", size);
    let before = Tree::read(&project);
    for Damage {
        scenario,
        script,
        named,
    } in DAMAGES.iter().step_by(every)
    {
        let id = sandbox.launch(&project, script);
        let changes = sandbox.diff(&id, &[]);
        for path in *named {
            assert!(
                changes.touched().contains(&path.as_bytes().to_vec()),
                "{scenario}: no {path:?}\n{}",
                changes.shown
            );
        }
        // 32: without a terminal nothing happens unasked, and the host paths are said first.
        let refused = sandbox.jackin(["restore", &id]).code(4);
        let refused = refused.shows(project.to_str().unwrap());
        if let Some(path) = named.first().filter(|path| !path.contains('\n')) {
            let named = refused.text().contains(&format!(" {path}"));
            let folded = path
                .rsplit_once('/')
                .is_some_and(|(above, _)| refused.text().contains(above));
            assert!(named || folded, "{scenario}: no {path}\n{refused}");
        }
        // 44: what is shown, what is planned and what is done are the same list.
        let plan = sandbox.plan(&id, &[]);
        assert_eq!(plan.applied.len(), changes.touched().len(), "{scenario}");
        let done = sandbox.restore(&id, &[]);
        assert!(done.applied == changes.touched(), "{scenario}");
        assert_same_tree(&before, &Tree::read(&project));
        // 27: once more is the same as once.
        sandbox.restore(&id, &[]).nothing();
    }
}

/// Scenario 23: what the operator made since stays and is named, everything else of `before` comes back, excluded trees stay as
/// damaged.
pub(crate) fn later_work_stays(
    sandbox: &Sandbox,
    project: &Path,
    id: &str,
    (before, damaged): (&Tree, &Tree),
) {
    fs::write(project.join("notes.md"), "mine\n").unwrap();
    sandbox.restore_in_part(id, &[]).conflicted(&["notes.md"]);
    let after = sandbox.tree(project);
    let own = |tree: &Tree| tree.without("target").without("node_modules").without("notes.md");
    assert_same_tree(&own(before), &own(&after));
    for excluded in ["target", "node_modules"] {
        assert_untouched(&damaged.only(excluded), &after.only(excluded));
    }
    fs::remove_file(project.join("notes.md")).unwrap();
}

/// Scenario 24: a session that changed nothing, a restore that writes nothing.
pub(crate) fn nothing_is_done(sandbox: &Sandbox, project: &Path, flags: &[&str]) {
    let idle = sandbox.tree(project);
    let id = sandbox.launch_with(flags, project, "true");
    sandbox.restore(&id, &[]).nothing();
    assert_untouched(&idle, &sandbox.tree(project));
}

#[test]
fn real_source_tree_keeps_what_is_not_the_sessions() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    Build::at(&project)
        .file("target/old", "before\n")
        .file("node_modules/m/i.js", "before\n");
    let before = Tree::read(&project);
    let excluded = ["--exclude", "target/", "--exclude", "node_modules/"];

    // 13, 20, 21, 22, 36, 42: planted links, ignored files, a changed .gitignore, excluded trees, a FIFO, escapes.
    let script = "ln -s ~/.ssh/id_rsa x; : > .gitignore; rm own/a; echo new > target/new; rm target/old; \
                  rm -r node_modules; mkdir -p node_modules/n; touch \"$(printf 'own/\\033[31mred')\"";
    let id = sandbox.launch_with(&excluded, &project, script);
    let damaged = Tree::read(&project);
    for verb in ["show", "diff"] {
        sandbox.jackin([verb, &id]).ok().harmless();
    }
    sandbox.jackin(["restore", &id, "--dry-run"]).ok().harmless();
    // 26: one path, and nothing else moves.
    sandbox.restore(&id, &["own/a"]).touched(&["own/a"]);
    assert_kept(&damaged, &Tree::read(&project), &["own/a"]);
    later_work_stays(&sandbox, &project, &id, (&before, &damaged));
    nothing_is_done(&sandbox, &project, &excluded);

    // 43: `off` leaves no trace; `metadata` keeps no file and says so.
    let store = Tree::read(&sandbox.store());
    let target = project.to_str().unwrap();
    sandbox
        .jackin(["launch", "--snapshot", "off", target, "--", "true"])
        .ok();
    assert_untouched(&store, &Tree::read(&sandbox.store()));
    sandbox
        .jackin(["launch", "--snapshot", "metadata", target, "--", "true"])
        .ok();
    sandbox.jackin(["restore", &sandbox.newest(), "--yes"]).code(5);
    // 37: the tree's home, which holds the store, is refused.
    let home = sandbox.home();
    sandbox.launching(&home, &["true"]).run().refused();
}

#[test]
fn real_source_tree_is_refused_while_it_lives_and_without_an_emergency() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    let before = Tree::read(&project);

    // 31: while the session lives, with the process named.
    let running = Background::launch(&sandbox, &project, "rm .env");
    let id = sandbox.newest();
    let agent = running.agent().to_string();
    sandbox.jackin(["restore", &id, "--yes"]).code(3).shows(&agent);
    running.kill();
    sandbox.restore(&id, &[]).touched(&[".env"]);
    assert_same_tree(&before, &Tree::read(&project));

    // 28: an emergency snapshot that cannot be written.
    let id = sandbox.launch(&project, "echo agent > own/a; rm key");
    let damaged = Tree::read(&project);
    refuse_drafts(&sandbox.store(), || {
        sandbox.jackin(["restore", &id, "--yes"]).refused();
    });
    assert_untouched(&damaged, &Tree::read(&project));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

/// Nothing can be drafted meanwhile: a file lies where drafts go. This also stops root.
fn refuse_drafts(store: &Path, act: impl FnOnce()) {
    let drafts = store.join("tmp");
    fs::remove_dir(&drafts).unwrap();
    fs::write(&drafts, "in the way\n").unwrap();
    act();
    fs::remove_file(&drafts).unwrap();
    fs::create_dir(&drafts).unwrap();
    fs::set_permissions(&drafts, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn real_source_tree_with_unreadable_files_is_captured_but_for_them() {
    // 35: as another user than root, for whom something can be unreadable at all.
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip("s35 on the real tree", "commands cannot run as another user here");
        return;
    };
    let project = project(&sandbox);
    sandbox.give(&project);
    let build = Build::at(&project);
    build.file("closed", "nobody reads this\n").mode("closed", 0o000);
    if is_root() {
        build.file("roots", "owned by root\n").mode("roots", 0o600);
    }
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "rm -rf own data; echo agent > .env");
    sandbox
        .jackin(["show", &id])
        .ok()
        .shows("not complete")
        .shows("closed");
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_untouched(&before.only("closed"), &after.only("closed"));
}
