//! Tests of the captured mounts and their excludes.

use super::{FILE, at, bytes, captured, coverage, file, flat, mount, ordinary, project, rule, stack};
use crate::config::Unread;
use crate::config::{Isolation, Sourced};
use crate::contract::{BroadReason, MountState, NotCovered};
use crate::model::{ExcludeSource, RelPath};

#[test]
fn every_mount_says_what_becomes_of_it() {
    let not = |reason| MountState::NotCovered { reason };
    let label = "shop".to_owned();
    let isolated = |containers: &[&str], unread: &[&str]| NotCovered::Isolated {
        containers: containers.iter().map(|name| (*name).to_owned()).collect(),
        unread: unread
            .iter()
            .map(|path| Unread {
                path: bytes(path),
                reason: "it is not JSON (line 1)".to_owned(),
                container: None,
            })
            .collect(),
    };
    let file = "/home/ann/.jackin/data/jk-2/.jackin/isolation.json";
    let mut worktree = mount("/home/ann/src/tool", not(isolated(&[], &[file])));
    worktree.isolation = Isolation::Worktree;
    let mut clones = mount("/home/ann/src/two", not(isolated(&["jk-1", "jk-2"], &[])));
    clones.isolation = Isolation::Clone;
    let mut found = captured("/home/ann/.jackin/data/jk-1/git/tool", "tool", vec![]);
    found.source = bytes("/home/ann/src/other");
    (found.isolation, found.container) = (Isolation::Worktree, Some("jk-1".to_owned()));
    let mut linked = captured("/srv/data", "data", vec![]);
    linked.source = bytes("/home/ann/data");
    linked.broad = vec![BroadReason::Store, BroadReason::Configuration];
    let contract = project(vec![
        captured("/home/ann/src/shop", "shop", vec![]),
        linked,
        mount(
            "/home/ann/src/shop/api",
            MountState::CoveredBy {
                label: label.clone(),
                outer: bytes("/home/ann/src/shop"),
            },
        ),
        mount("/home/ann/docs", MountState::Readonly),
        worktree,
        clones,
        found,
        mount("/home/ann/notes.txt", not(NotCovered::SingleFile)),
        mount("/run/docker.sock", not(NotCovered::Special)),
        mount(
            "/home/ann/src/shop/dist",
            not(NotCovered::LeftOut {
                label: label.clone(),
                pattern: Some("dist/".to_owned()),
            }),
        ),
        mount(
            "/home/ann/src/shop/.ssh",
            not(NotCovered::LeftOut { label, pattern: None }),
        ),
    ]);
    let text = at(&contract, 80);
    let section = text
        .split_once("Mounts")
        .unwrap()
        .1
        .split_once("Skipped")
        .unwrap()
        .0;
    assert_eq!(
        section,
        "       captured      /home/ann/src/shop
               called shop below
             captured      /srv/data
               configured as /home/ann/data
               called data below
               WARNING: it contains the recovery store and contains jackin's own
               configuration; --allow-broad lets it pass
             captured      /home/ann/src/shop/api
               once, as a part of the mount /home/ann/src/shop
             read-only     /home/ann/docs
               recorded; never captured, never restored into
             not captured  /home/ann/src/tool
               the agent works in a worktree, and it is unknown which container
               has one
               /home/ann/.jackin/data/jk-2/.jackin/isolation.json: it is not
               JSON (line 1)
             not captured  /home/ann/src/two
               the agent works in a clone, and several containers match; use its
               directory instead: jk-1, jk-2
             captured      /home/ann/.jackin/data/jk-1/git/tool
               configured as /home/ann/src/other
               the worktree of the container jk-1
               called tool below
             not captured  /home/ann/notes.txt
               a single file; only directories can be captured
             not captured  /run/docker.sock
               a socket, a FIFO or a device
             not captured  /home/ann/src/shop/dist
               excluded by dist/ of the mount /home/ann/src/shop
             not captured  /home/ann/src/shop/.ssh
               skipped, or outside the tracked paths, of the mount
               /home/ann/src/shop
"
    );
    assert!(
        text.contains(
            "\nRestore      asks first; creates, replaces and deletes files only in the mounts\nLimits"
        ),
        "{text}"
    );
}

#[test]
fn tracked_paths_are_named_and_absent_ones_said() {
    let mut contract = ordinary();
    let path = |text: &str| RelPath::new(text.as_bytes()).unwrap();
    coverage(&mut contract).tracked = vec![path("src/data"), path("with, comma"), path("zoo")];
    contract.mounts[0].absent_paths = vec![path("zoo")];
    let text = flat(&contract);
    assert!(
        text.contains("/shop only these paths below it: src/data, \"with, comma\", zoo not there yet: zoo"),
        "{text}"
    );
}

#[test]
fn excludes_with_the_same_source_share_a_line_and_say_where_they_come_from() {
    let config = || ExcludeSource::Config(bytes(FILE));
    let node = ["node_modules/", ".next/", ".nuxt/", ".turbo/"].map(|one| stack(one, "node", "package.json"));
    let mine = [
        rule("*.log", config()),
        rule("!keep me.log", config()),
        rule("tmp/", ExcludeSource::Flag),
    ];
    let mut contract = project(vec![
        captured(
            "/a/api",
            "api",
            [&[stack("/target/", "rust", "Cargo.toml")][..], &mine].concat(),
        ),
        captured("/a/web", "web", [&node[..], &mine].concat()),
    ]);
    contract.mounts[1].has_baseline = true;
    contract.mounts[1].new_excludes = node.to_vec();
    let text = at(&contract, 80);
    let section = text
        .split_once("Excluded")
        .unwrap()
        .1
        .split_once("Skipped")
        .unwrap()
        .0;
    assert_eq!(
        section,
        "     in api, automatic (rust, because of Cargo.toml): /target/
             NEW: in web, automatic (node, because of package.json):
             node_modules/ .next/ .nuxt/ .turbo/
             by /home/ann/.config/jackin/workspaces/shop.toml
               *.log \"!keep me.log\"
             by --exclude: tmp/
             Excludes marked NEW did not apply to the last baseline. An agent
             can plant a file such as package.json to keep a directory out of
             the snapshot: check it before you continue.
"
    );
}

#[test]
fn only_what_is_new_is_marked() {
    let mut contract = ordinary();
    assert!(!flat(&contract).contains("NEW"));
    contract.mounts[0].has_baseline = true;
    assert!(!flat(&contract).contains("NEW"));
    contract.mounts[0].new_excludes = vec![stack("/target/", "rust", "Cargo.toml")];
    let text = flat(&contract);
    assert!(
        text.contains("NEW: automatic (rust, because of Cargo.toml): /target/"),
        "{text}"
    );
    assert!(text.contains("by --exclude: *.log"), "{text}");
    assert_eq!(text.matches("NEW").count(), 2, "{text}");
    coverage(&mut contract).excludes.clear();
    contract.integrations = Sourced {
        value: false,
        source: file(12),
    };
    let text = flat(&contract);
    assert!(
        text.contains(&format!(
            "Excluded Automatic excludes are off (integrations = false, {FILE}, line 12) "
        )),
        "{text}"
    );
}
