//! Many kinds of damage at once, on a real source tree of at least 5,000 files (scenarios 5 to 15, 20 to 24, 26, 27,
//! 32, 44 together).

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched, changed_paths};
use crate::support::nasty;
use crate::support::real_tree;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};

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
    std::fs::create_dir(&lists).unwrap();
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
