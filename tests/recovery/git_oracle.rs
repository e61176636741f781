//! Which paths a snapshot says differ from HEAD, with git as the oracle: wrong only towards "dirty".

use std::fs;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::git_class::found;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;

/// What somebody did to a repository.
#[derive(Clone, Debug)]
enum Deed {
    Write(u8, u8),
    Remove(u8),
    Run(u8, bool),
    Link(u8),
    Add,
    Commit,
    Ignore(u8),
    Reset,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let path = || 0_u8..6;
    let one = prop_oneof![
        4 => (path(), 0_u8..3).prop_map(|(path, content)| Deed::Write(path, content)),
        1 => path().prop_map(Deed::Remove),
        1 => (path(), any::<bool>()).prop_map(|(path, on)| Deed::Run(path, on)),
        1 => path().prop_map(Deed::Link),
        2 => Just(Deed::Add),
        2 => Just(Deed::Commit),
        1 => path().prop_map(Deed::Ignore),
        1 => Just(Deed::Reset),
    ];
    proptest::collection::vec(one, 0..12)
}

fn path_of(number: u8) -> &'static str {
    ["a", "b.o", "d/c", "d/e/f", "d.x", "d-y"][usize::from(number)]
}

fn perform(repository: &Repository, deed: &Deed) {
    use std::os::unix::fs::PermissionsExt as _;
    let at = |number: u8| repository.path.join(path_of(number));
    match deed {
        Deed::Write(path, content) => {
            let _ = fs::remove_file(at(*path));
            fs::create_dir_all(at(*path).parent().unwrap()).unwrap();
            fs::write(at(*path), format!("content {content}\n")).unwrap();
        }
        Deed::Remove(path) => drop(fs::remove_file(at(*path))),
        Deed::Run(path, on) => {
            if at(*path).is_file() && !at(*path).is_symlink() {
                fs::set_permissions(
                    at(*path),
                    fs::Permissions::from_mode(if *on { 0o755 } else { 0o644 }),
                )
                .unwrap();
            }
        }
        Deed::Link(path) => {
            let _ = fs::remove_file(at(*path));
            fs::create_dir_all(at(*path).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("target", at(*path)).unwrap();
        }
        Deed::Add => drop(repository.tried(&["add", "-A"])),
        Deed::Commit => drop(repository.tried(&["commit", "-q", "-m", "x"])),
        Deed::Ignore(path) => fs::write(repository.path.join(".git/info/exclude"), path_of(*path)).unwrap(),
        Deed::Reset => drop(repository.tried(&["reset", "-q"])),
    }
}

/// What git calls changed, missing, untracked, ignored, or staged; by path.
fn of_git(repository: &Repository) -> Vec<String> {
    let told = repository.git(&[
        "status",
        "--porcelain",
        "--ignored=matching",
        "-uall",
        "-z",
        "--no-renames",
    ]);
    let mut paths: Vec<String> = told
        .split('\0')
        .filter(|line| line.len() > 3)
        // Only staged: the work tree is what HEAD names when both differ from the index in the same way.
        .map(|line| line[3..].to_owned())
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn what_differs_is_what_git_says() {
    let cases = std::env::var("JACKIN_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(12);
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    runner
        .run(&(deeds(), deeds()), |(first, second)| {
            let sandbox = Sandbox::new();
            let repository = Repository::with_history(&sandbox.project("project"), 1);
            // Twice, because the second look takes over what the first one found.
            for deeds in [first, second] {
                deeds.iter().for_each(|deed| perform(&repository, deed));
                let git = of_git(&repository);
                let facts = found(&sandbox, &repository.path).remove(0);
                let mut ours: Vec<&str> = facts["differs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| one["path"].as_str().unwrap())
                    .collect();
                ours.sort_unstable();
                // What is only staged is counted apart.
                prop_assert!(
                    ours.iter().all(|path| git.contains(&(*path).to_owned())),
                    "{ours:?} {git:?}"
                );
                let staged = facts["staged"].as_u64().unwrap();
                prop_assert!(
                    git.len() as u64 <= ours.len() as u64 + staged,
                    "{ours:?} and {staged} staged, but {git:?}"
                );
                let head = repository.git(&["diff", "--name-only", "-z", "HEAD"]);
                let tracked: Vec<&str> = head
                    .split('\0')
                    .filter(|path| !path.is_empty() && repository.path.join(path).symlink_metadata().is_ok())
                    .collect();
                prop_assert!(
                    tracked.iter().all(|path| ours.contains(path) || staged > 0),
                    "{tracked:?} {ours:?}"
                );
                prop_assert_eq!(
                    staged,
                    repository
                        .git(&["diff", "--cached", "--no-renames", "--name-only", "-z"])
                        .split('\0')
                        .filter(|path| !path.is_empty())
                        .count() as u64
                );
                if git.is_empty() {
                    prop_assert!(facts["class"] == "unpushed", "{}", facts);
                } else {
                    prop_assert_eq!(&facts["class"], "dirty");
                }
            }
            Ok(())
        })
        .unwrap();
}
