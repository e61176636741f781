//! The store stays as large as the rules say, and nothing that is still listed is hurt by it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::{Instance, instances};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

pub(crate) fn rules(sandbox: &Sandbox, text: &str) {
    let path = sandbox.home().join(".config/jackin/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("[recovery.retention]\n{text}\n")).unwrap();
}

fn listed(sandbox: &Sandbox) -> Vec<Instance> {
    instances(&sandbox.jackin(["list", "--json"]).ok())
}

/// Bytes below `archives`.
fn archives(sandbox: &Sandbox) -> u64 {
    let all = fs::read_dir(sandbox.store().join("archives")).unwrap();
    all.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

pub(crate) fn is_whole(sandbox: &Sandbox) {
    sandbox.jackin(["verify", "--read-data"]).ok().shows("whole");
    sandbox.jackin(["log", "--verify"]).ok().shows("every link holds");
}

/// A session with checkpoints, and the tree as it was at each of them.
pub(crate) struct Session {
    project: PathBuf,
    id: String,
    trees: BTreeMap<String, Tree>,
}

impl Session {
    pub(crate) fn begin(sandbox: &Sandbox) -> Self {
        let project = sandbox.project("work");
        for number in 0..12 {
            let content = vec![b'a' + number; 3000 + usize::from(number)];
            fs::write(project.join(format!("file-{number}")), content).unwrap();
        }
        let begun = sandbox
            .jackin(["begin", "--snapshot", "project", project.to_str().unwrap()])
            .ok();
        let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
        Self {
            project,
            id,
            trees: BTreeMap::new(),
        }
    }

    /// Changes a file, makes one, removes one, and marks the moment.
    fn change(&mut self, number: usize) {
        fs::write(
            self.project.join(format!("file-{}", number % 12)),
            format!("{number} ").repeat(900),
        )
        .unwrap();
        fs::create_dir_all(self.project.join(format!("dir-{}", number % 5))).unwrap();
        fs::write(
            self.project.join(format!("dir-{}/new-{number}", number % 5)),
            number.to_string(),
        )
        .unwrap();
        let _ = fs::remove_file(self.project.join(format!(
            "dir-{}/new-{}",
            number % 5,
            number.wrapping_sub(10)
        )));
    }

    pub(crate) fn checkpoint(&mut self, sandbox: &Sandbox, number: usize) -> Run {
        self.checkpoint_dying(sandbox, number, "never")
    }

    /// The same, and it dies when it gets to `point`.
    pub(crate) fn checkpoint_dying(&mut self, sandbox: &Sandbox, number: usize, point: &str) -> Run {
        self.change(number);
        let name = format!("c{number}");
        self.trees.insert(name.clone(), Tree::read(&self.project));
        let command = sandbox.command(["checkpoint", &self.id, "--name", &name]);
        command.with("JACKIN_RECOVERY_FAIL_AT", point).run()
    }

    /// Every checkpoint that is listed can be written elsewhere, and is what it was. Gives how many there are.
    pub(crate) fn all_restore(&self, sandbox: &Sandbox) -> usize {
        let shown = sandbox.jackin(["show", &self.id, "--json"]).ok().json();
        let mut count = 0;
        for snapshot in shown["instance"]["snapshots"].as_array().unwrap() {
            let Some(name) = snapshot["name"].as_str() else {
                continue;
            };
            let copy = sandbox.scratch("copy").with_extension(name);
            let to = copy.to_str().unwrap();
            sandbox
                .jackin(["restore", &self.id, "--from", name, "--to", to, "--yes"])
                .ok();
            // Whoever writes a copy makes its top for the operator alone.
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
            assert_same_tree(&self.trees[name], &Tree::read(&copy));
            fs::remove_dir_all(&copy).unwrap();
            count += 1;
        }
        count
    }
}

#[test]
fn a_ring_of_checkpoints_stays_bounded_and_each_that_is_left_restores() {
    let sandbox = Sandbox::new();
    rules(&sandbox, "checkpoints = 6");
    let mut session = Session::begin(&sandbox);
    let mut largest = 0;
    for number in 0..90 {
        session.checkpoint(&sandbox, number).ok();
        if number == 40 {
            largest = archives(&sandbox);
        }
    }
    assert_eq!(session.all_restore(&sandbox), 6);
    assert!(
        archives(&sandbox) < 2 * largest,
        "{} and {largest}",
        archives(&sandbox)
    );
    sandbox.jackin(["end", &session.id]).ok();
    assert_eq!(session.all_restore(&sandbox), 6);
    is_whole(&sandbox);
    // What the rules gave up is told, and a name of it is not taken for another snapshot.
    let log = sandbox.jackin(["log", "--json"]).ok().json();
    let acts = log["receipts"].as_array().unwrap().iter();
    let pruned: usize = acts
        .filter(|receipt| receipt["act"]["act"] == "prune")
        .map(|receipt| receipt["act"]["snapshots"].as_array().unwrap().len())
        .sum();
    assert_eq!(pruned, 84);
    sandbox
        .jackin(["diff", &session.id, "--from", "c3"])
        .code(5)
        .has("c3");
    // And the baseline is whole, too.
    sandbox.jackin(["restore", &session.id, "--yes"]).ok();
    assert!(!session.project.join("dir-1").exists());
    sandbox.jackin(["undo", "--yes"]).ok();
    assert_same_tree(&session.trees["c89"], &Tree::read(&session.project));
}

#[test]
fn the_name_of_a_checkpoint_that_was_given_up_stands_for_no_other_snapshot() {
    let sandbox = Sandbox::new();
    rules(&sandbox, "checkpoints = 1");
    let mut session = Session::begin(&sandbox);
    let shown = sandbox.jackin(["show", &session.id, "--json"]).ok().json();
    let baseline = shown["instance"]["snapshots"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let like_its_id = &baseline["sn-".len()..][..5];
    let marked = sandbox.jackin(["checkpoint", &session.id, "--name", like_its_id]);
    marked.ok();
    session.checkpoint(&sandbox, 1).ok();
    sandbox.jackin(["end", &session.id]).ok();
    for verb in [["diff"].as_slice(), &["restore", "--yes"], &["fork"]] {
        let mut words = verb.to_vec();
        words.extend([session.id.as_str(), "--from", like_its_id]);
        sandbox.jackin(&words).code(5).has("was pruned");
    }
    // A word of three letters that names nothing is not the beginning of an id, either.
    sandbox
        .jackin(["diff", &session.id, "--from", &like_its_id[..3]])
        .code(5);
    sandbox
        .jackin([
            "diff",
            &session.id,
            "--from",
            &format!("sn-{}", &like_its_id[..3]),
        ])
        .ok();
}

#[test]
fn sessions_beyond_their_number_go_and_what_is_held_stays() {
    let sandbox = Sandbox::new();
    rules(&sandbox, "instances = 2");
    let project = sandbox.project("work");
    fs::write(project.join("a"), "0").unwrap();
    let run = |text: &str| sandbox.launch(&project, &format!("echo {text} > a; echo {text} > b{text}"));
    let first = run("1");
    sandbox
        .jackin(["pin", &first])
        .ok()
        .shows("is kept until it is unpinned");
    sandbox.jackin(["pin", &first]).ok().shows("pinned already");
    let second = run("2");
    sandbox.jackin(["restore", &second, "--yes"]).ok();
    let after = Tree::read(&project);
    let third = run("3");
    let fourth = run("4");
    let all = listed(&sandbox);
    let kept: Vec<(&str, usize)> = all
        .iter()
        .map(|found| (found.id.as_str(), found.snapshots.len()))
        .collect();
    // Of the second only what its restore is taken back with.
    assert_eq!(
        kept,
        [
            (fourth.as_str(), 2),
            (third.as_str(), 2),
            (second.as_str(), 2),
            (first.as_str(), 2)
        ]
    );
    let held: Vec<&str> = all[2]
        .snapshots
        .iter()
        .map(|snapshot| snapshot.kind.as_str())
        .collect();
    assert_eq!(held, ["emergency", "baseline"]);
    is_whole(&sandbox);
    sandbox
        .jackin(["unpin", &first])
        .ok()
        .shows("the rules apply again");
    let planned = sandbox.jackin(["prune", "--dry-run"]).ok();
    planned
        .has(&all[3].snapshots[0].id)
        .has("sessions beyond their number")
        .has("the last restore");
    // Nothing was changed by looking, and nothing goes unasked.
    sandbox.jackin(["prune"]).code(4).has("not confirmed");
    assert_eq!(listed(&sandbox).len(), 4);
    let pruned = sandbox.jackin(["prune", "--yes", "--json"]).ok().json();
    assert_eq!(pruned["outcome"], "pruned");
    assert_eq!(pruned["snapshots"].as_array().unwrap().len(), 2);
    assert_eq!(
        sandbox.jackin(["prune", "--yes", "--json"]).ok().json()["outcome"],
        "nothing"
    );
    let gone = sandbox.jackin(["restore", &first, "--yes"]).code(5);
    gone.has("pruned");
    is_whole(&sandbox);
    // The last restore can still be taken back.
    fs::remove_file(project.join("b3")).unwrap();
    fs::remove_file(project.join("b4")).unwrap();
    fs::write(project.join("a"), "1\n").unwrap();
    assert_same_tree(&after, &Tree::read(&project));
    sandbox.jackin(["undo", "--yes"]).ok();
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "2\n");
}

#[test]
fn a_store_that_is_too_large_loses_its_oldest_sessions_and_says_when_that_is_not_enough() {
    let sandbox = Sandbox::new();
    rules(&sandbox, "max_bytes = \"40kB\"");
    let mut ids = Vec::new();
    for number in 0..4_u8 {
        // What cannot be compressed, different each time.
        let project = sandbox.project(&format!("p{number}"));
        fill(&project, 16 << 10, number);
        ids.push(sandbox.launch(&project, "echo x > x"));
    }
    // Each is the newest of its directory.
    let last = sandbox.project("p0");
    assert_eq!(listed(&sandbox).len(), 4);
    fill(&last, 16 << 10, 100);
    let run = sandbox
        .command([
            "launch",
            "--snapshot",
            "project",
            last.to_str().unwrap(),
            "--",
            "true",
        ])
        .run()
        .ok();
    run.has("larger than retention allows").has("prune --dry-run");
    let left = listed(&sandbox);
    assert!(
        !left
            .iter()
            .any(|found| found.id == ids[0] && !found.snapshots.is_empty())
    );
    assert!(left.iter().filter(|found| !found.snapshots.is_empty()).count() == 4);
    is_whole(&sandbox);
    let planned = sandbox.jackin(["prune", "--dry-run", "--json"]).ok().json();
    assert!(planned["lacking"].as_u64().unwrap() > 0);
    assert_eq!(planned["left"]["newest"], 8);
    let shown = sandbox.jackin(["prune", "--dry-run"]).ok();
    shown
        .has("all that is left is held: 8 snapshots: kept, the session is the newest of its workspace")
        .has("receipts and catalog");
}

#[test]
fn what_is_left_of_large_archives_is_packed_anew() {
    let sandbox = Sandbox::new();
    rules(&sandbox, "instances = 1");
    let project = sandbox.project("work");
    // Larger than what is copied in one piece, with holes, small, and twice the same; the rest is dead weight.
    Build::at(&project)
        .big("large", 6 << 20)
        .sparse(
            "holes",
            64 << 20,
            &[
                (0, b"begin" as &[u8]),
                (9 << 20, b"middle"),
                ((64 << 20) - 3, b"end"),
            ],
        )
        .file("small", "small")
        .file("again", "small")
        .aged();
    fill(&project, 14 << 20, 7);
    sandbox.launch(&project, "rm blob");
    let before = archives(&sandbox);
    let tree = Tree::read(&project);
    for _ in 0..2 {
        sandbox.launch(&project, "echo x > x; rm x");
    }
    assert!(
        archives(&sandbox) < before / 2,
        "{} of {before}",
        archives(&sandbox)
    );
    let log = sandbox.jackin(["log"]).ok();
    log.has("packed 1 archive anew");
    is_whole(&sandbox);
    fs::remove_file(project.join("large")).unwrap();
    fs::remove_file(project.join("holes")).unwrap();
    let id = sandbox.launch(&project, "true");
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    let all = listed(&sandbox);
    let older = all
        .iter()
        .find(|found| found.id != id && !found.snapshots.is_empty());
    assert!(older.is_none(), "{all:?}");
    // The snapshot before that is gone with its session; this one never had them.
    assert!(!project.join("large").exists());
    let again = sandbox.launch(&project, "rm small again");
    sandbox.jackin(["restore", &again, "--yes"]).ok();
    assert_eq!(fs::read(project.join("again")).unwrap(), b"small");
    drop(tree);
}

fn fill(project: &Path, bytes: usize, seed: u8) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(seed) + 1);
    let mut content = Vec::new();
    while content.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    fs::write(project.join("blob"), content).unwrap();
}

#[test]
fn the_rules_are_checked_like_everything_else_in_a_configuration() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    sandbox.configure(
        "workspaces/shop.toml",
        &format!(
            "workdir = \"{0}\"\nmounts = [{{ src = \"{0}\", dst = \"{0}\" }}]\n[recovery]\nsnapshot = \"project\"\n[recovery.retention]\nmax_bytes = \"1GiB\"\n",
            project.display()
        ),
    );
    let run = sandbox.jackin(["explain", "shop"]).code(2);
    run.has("retention.max_bytes").has("config.toml");
    // A session inside one prunes nothing.
    let other = sandbox.project("other");
    let run = sandbox.command([
        "launch",
        "--snapshot",
        "project",
        other.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "jackin recovery prune --yes; echo $?",
    ]);
    let inside = run.run().ok();
    assert!(!inside.said().contains("given up"), "{inside}");
}
