//! The store stays as large as the rules say, and nothing that is still listed is hurt by it: rules, ceiling, and a disk that is nearly full.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::build::{Build, noise};
use crate::support::compare::assert_same_tree;
use crate::support::documents::{Instance, instances};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

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
    sandbox.jackin(["verify", "--read-data"]).ok().shows("all valid");
    sandbox
        .jackin(["log", "--verify"])
        .ok()
        .shows("every hash is valid");
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
        let id = sandbox.begin(&project);
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
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    assert_same_tree(&session.trees["c89"], &Tree::read(&session.project));
}

/// To delete reads every record of the store, so beyond a large limit it does not happen for each checkpoint.
#[test]
fn beyond_a_large_limit_several_checkpoints_go_together() {
    let sandbox = Sandbox::new();
    rules(&sandbox, "checkpoints = 16");
    let mut session = Session::begin(&sandbox);
    let checkpoints = || {
        let shown = instances(&sandbox.jackin(["list", "--json"]).ok());
        let kinds = shown[0].snapshots.iter().map(|snapshot| &snapshot.kind);
        kinds.filter(|kind| *kind == "checkpoint").count()
    };
    let mut counts = Vec::new();
    for number in 0..20 {
        session.checkpoint(&sandbox, number).ok();
        counts.push(checkpoints());
    }
    assert_eq!(counts[15..], [16, 17, 18, 16, 17]);
    // `prune` keeps to the exact number.
    sandbox.jackin(["prune", "--yes"]).ok();
    assert_eq!(checkpoints(), 16);
}

/// Of two sessions that go on beside each other the one that began earlier may have the newer snapshots.
#[test]
fn of_two_sessions_at_once_the_oldest_checkpoints_go() {
    let sandbox = Sandbox::new();
    rules(&sandbox, "checkpoints = 3");
    let project = sandbox.project("work");
    fs::write(project.join("file"), "0\n").unwrap();
    let (older, younger) = (sandbox.begin(&project), sandbox.begin(&project));
    let checkpoint = |id: &str, name: &str| {
        fs::write(project.join("file"), name).unwrap();
        sandbox.jackin(["checkpoint", id, "--name", name]).ok();
    };
    for name in ["b1", "b2", "b3"] {
        checkpoint(&younger, name);
    }
    sandbox.jackin(["end", &younger]).ok();
    for name in ["a1", "a2"] {
        checkpoint(&older, name);
    }
    let names = |id: &str| -> Vec<String> {
        let shown = sandbox.jackin(["show", id, "--json"]).ok().json();
        let all = shown["instance"]["snapshots"].as_array().unwrap().iter();
        let mut names: Vec<_> = all
            .filter_map(|row| row["name"].as_str().map(str::to_owned))
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        (names(&younger), names(&older)),
        (vec!["b3".to_owned()], vec!["a1".to_owned(), "a2".to_owned()])
    );
    is_whole(&sandbox);
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
    sandbox.jackin(["pin", &first]).ok().shows("is pinned");
    sandbox.jackin(["pin", &first]).ok().shows("already pinned");
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
    sandbox.jackin(["unpin", &first]).ok().shows("is unpinned");
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
    // Its contract went with it, and that of another session stayed.
    let contract = |id: &str| sandbox.store().join(format!("contracts/{id}.json"));
    assert!(!contract(&first).exists() && contract(&sandbox.newest()).exists());
    // The last restore can still be taken back.
    fs::remove_file(project.join("b3")).unwrap();
    fs::remove_file(project.join("b4")).unwrap();
    fs::write(project.join("a"), "1\n").unwrap();
    assert_same_tree(&after, &Tree::read(&project));
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
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
    let run = sandbox.launching(&last, &["true"]).run().ok();
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
        .has("all other snapshots are kept: 8 snapshots: kept, the session is the newest of its workspace")
        .has("receipts and catalog");
}

#[test]
fn what_is_left_of_large_archives_is_packed_anew() {
    if crate::support::machine::is_portable(crate::support::machine::NO_HOLES) {
        return;
    }
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
    log.has("repacked 1 archive");
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
    fs::write(project.join("blob"), noise(&seed.to_string(), bytes)).unwrap();
}

#[test]
fn beside_small_checkpoints_the_store_is_measured_now_and_then() {
    let sandbox = Sandbox::new();
    let mut session = Session::begin(&sandbox);
    let project = sandbox.project("work");
    let large = sandbox.project("large");
    fill(&large, 6 << 20, 1);
    sandbox.launch(&large, "true");
    let kept = |session: &Session| {
        let shown = sandbox.jackin(["show", &session.id, "--json"]).ok().json();
        shown["instance"]["snapshots"].as_array().unwrap().len()
    };
    session.checkpoint(&sandbox, 0).ok();
    let size = ["archives", "snapshots", "receipts.log", "catalog.sqlite3"].map(|part| bytes(&sandbox, part));
    rules(&sandbox, &format!("max_bytes = {}", size.iter().sum::<u64>()));
    // With the baseline these are 15 snapshots.
    for number in 1..14 {
        session.checkpoint(&sandbox, number).ok();
    }
    assert_eq!(kept(&session), 15);
    session
        .checkpoint(&sandbox, 14)
        .ok()
        .has("The retention policy deleted");
    let left = kept(&session);
    assert!(left < 16, "{left}");
    // One that adds much is looked at whatever its number.
    session
        .checkpoint(&sandbox, 15)
        .ok()
        .hides("The retention policy");
    fill(&project, 64 << 10, 2);
    session
        .checkpoint(&sandbox, 16)
        .ok()
        .has("The retention policy deleted");
    is_whole(&sandbox);
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
    let run = sandbox.launching(
        other.to_str().unwrap(),
        &["sh", "-c", "jackin recovery prune --yes; echo $?"],
    );
    let inside = run.run().ok();
    assert!(!inside.said().contains("deleted"), "{inside}");
}

/// Bytes of a file, or below a directory of the store.
fn bytes(sandbox: &Sandbox, name: &str) -> u64 {
    let path = sandbox.store().join(name);
    match path.is_dir() {
        true => {
            let all = fs::read_dir(path).unwrap();
            all.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
        }
        false => path.metadata().unwrap().len(),
    }
}

#[test]
fn all_that_the_store_takes_counts_against_its_ceiling() {
    let sandbox = Sandbox::new();
    let mut session = Session::begin(&sandbox);
    for number in 0..6 {
        session.checkpoint(&sandbox, number).ok();
    }
    let (archives, records) = (bytes(&sandbox, "archives"), bytes(&sandbox, "snapshots"));
    let lasting = bytes(&sandbox, "receipts.log") + bytes(&sandbox, "catalog.sqlite3");
    let planned = sandbox.jackin(["prune", "--dry-run", "--json"]).ok().json();
    assert_eq!(planned["archive_bytes"], archives);
    assert_eq!(planned["record_bytes"], records);
    assert_eq!(planned["lasting_bytes"], lasting);
    assert_eq!(planned["size"], archives + records + lasting);
    assert_eq!(planned["outcome"], "nothing");
    sandbox
        .jackin(["prune", "--dry-run"])
        .ok()
        .has("receipts and catalog");
    // What is more than the archives alone is enough, and records are among what becomes free. The archives would fit.
    rules(
        &sandbox,
        &format!("max_bytes = {}", archives + records + lasting - 1),
    );
    let planned = sandbox.jackin(["prune", "--dry-run", "--json"]).ok().json();
    let gone = planned["snapshots"].as_array().unwrap();
    assert_eq!(gone.len(), 1, "{planned}");
    assert_eq!(gone[0]["name"], "c0");
    assert!(planned["freed"].as_u64().unwrap() >= records / 16, "{planned}");
    let shown = sandbox.jackin(["prune", "--dry-run"]).ok();
    shown.has("checkpoint c0");
    assert!(!shown.said().contains("\"\""), "{shown}");
    let pruned = sandbox.jackin(["prune", "--yes", "--json"]).ok().json();
    assert_eq!(pruned["lacking"], 0);
    assert_eq!(
        records - bytes(&sandbox, "snapshots") + archives - bytes(&sandbox, "archives"),
        pruned["freed"].as_u64().unwrap() + pruned["repacked_bytes"].as_u64().unwrap()
    );
    is_whole(&sandbox);
}

/// The ids of all snapshots that are listed of sessions about this directory.
fn snapshots(sandbox: &Sandbox, project: &Path) -> Vec<String> {
    let listed = sandbox.jackin(["list", "--json"]).ok().json();
    let root = project.to_str().unwrap();
    let sessions = listed["instances"].as_array().unwrap().iter();
    sessions
        .filter(|session| session["mounts"][0] == root)
        .flat_map(|session| session["snapshots"].as_array().unwrap())
        .map(|snapshot| snapshot["id"].as_str().unwrap().to_owned())
        .collect()
}

fn launch(sandbox: &Sandbox, project: &Path, script: &str) -> Run {
    let target = project.to_str().unwrap();
    let words = [
        "launch",
        "--snapshot",
        "project",
        "--exclude",
        "out/",
        target,
        "--",
        "sh",
        "-c",
        script,
    ];
    sandbox.command(words).inside(project).run()
}

/// Four sessions of a workspace, each with a change, and the tree before the first.
fn history(sandbox: &Sandbox, project: &Path) -> Tree {
    Build::at(project).file("a", "before\n").aged();
    let before = Tree::read(project);
    for number in 0..4 {
        launch(sandbox, project, &format!("echo {number} > a")).ok();
    }
    before
}

#[test]
fn an_agent_that_fills_the_disk_deletes_no_history() {
    // Into its mount, into an excluded directory of it, and beside it.
    for place in [".", "out", "../beside"] {
        let sandbox = Sandbox::new();
        let Some(_volume) = Volume::tmpfs_of(&sandbox.home(), "size=60m") else {
            return;
        };
        let (old, filled) = (sandbox.project("old"), sandbox.project("filled"));
        history(&sandbox, &old);
        history(&sandbox, &filled);
        let kept = [snapshots(&sandbox, &old), snapshots(&sandbox, &filled)];
        // Zeros take no room in the store, and all of it on the disk.
        let script = format!(
            "mkdir -p {place}; head -c 1M /dev/zero > {place}/spare; cat /dev/zero > {place}/zeros 2>/dev/null; rm {place}/spare; true"
        );
        let run = launch(&sandbox, &filled, &script).ok();
        assert!(!run.said().contains("larger than"), "{place}: {run}");
        assert!(!run.said().contains("deleted 1"), "{place}: {run}");
        let run = run.shows("min_free").shows("free on the disk");
        assert_eq!(snapshots(&sandbox, &old), kept[0], "{place}: {run}");
        let now = snapshots(&sandbox, &filled);
        assert!(kept[1].iter().all(|id| now.contains(id)), "{place}: {run}");
        let planned = sandbox.jackin(["prune", "--dry-run", "--json"]).ok().json();
        assert_eq!(planned["snapshots"].as_array().unwrap().len(), 0, "{planned}");
        assert_eq!(planned["lacking"], 0, "{planned}");
        assert!(planned["shortage"]["missing"].as_u64().unwrap() > 0, "{planned}");
        // Nothing goes when somebody asks, either, for it would not help.
        sandbox.jackin(["prune", "--yes"]).ok();
        assert_eq!(snapshots(&sandbox, &old), kept[0], "{place}");
        fs::remove_file(filled.join(place).join("zeros")).unwrap();
        is_whole(&sandbox);
    }
}

#[test]
fn a_session_makes_room_for_what_it_stored_from_its_own_workspace() {
    let sandbox = Sandbox::new();
    let jackin = sandbox.home().join(".jackin");
    fs::create_dir_all(&jackin).unwrap();
    let Some(_volume) = Volume::tmpfs_of(&jackin, "size=100m,mode=0700") else {
        return;
    };
    let (old, large) = (sandbox.project("old"), sandbox.project("large"));
    let before = history(&sandbox, &old);
    let kept = snapshots(&sandbox, &old);
    Build::at(&large).big("big", 15 << 20).aged();
    let mut runs = Vec::new();
    for _ in 0..6 {
        runs.push(launch(&sandbox, &large, "head -c 15M /dev/urandom > big").ok());
    }
    let told: Vec<&Run> = runs
        .iter()
        .filter(|run| run.said().contains("The retention policy deleted"))
        .collect();
    let last = told.last().unwrap_or_else(|| panic!("nothing went: {}", runs[5]));
    assert!(last.said().contains("too little room is free"), "{last}");
    assert!(last.said().contains("MiB are free again"), "{last}");
    assert_eq!(snapshots(&sandbox, &old), kept, "{last}");
    let sessions = instances(&sandbox.jackin(["list", "--json"]).ok());
    let first = sessions.iter().find(|session| !session.snapshots.is_empty());
    assert_eq!(first.unwrap().snapshots.len(), 2);
    let oldest = sessions.iter().rev().find(|session| session.id.ends_with("-old"));
    sandbox.restore(&oldest.unwrap().id, &["--overwrite-later-edits"]);
    assert_same_tree(&before, &Tree::read(&old));
    is_whole(&sandbox);
}

#[test]
fn the_rules_of_number_and_size_delete_of_the_own_workspace_alone() {
    for rule in ["instances = 1", "max_bytes = 1", "checkpoints = 1\ninstances = 1"] {
        let sandbox = Sandbox::new();
        let (old, own): (PathBuf, PathBuf) = (sandbox.project("old"), sandbox.project("own"));
        history(&sandbox, &old);
        history(&sandbox, &own);
        let kept = snapshots(&sandbox, &old);
        assert_eq!(kept.len(), 8);
        rules(&sandbox, rule);
        let run = launch(&sandbox, &own, "echo last > a").ok();
        assert_eq!(snapshots(&sandbox, &old), kept, "{rule}: {run}");
        assert_eq!(snapshots(&sandbox, &own).len(), 2, "{rule}: {run}");
        let run = run.shows("The retention policy deleted 2 snapshots of rc-");
        assert!(run.said().contains("-own"), "{rule}: {run}");
        // Whoever asks gets all of it.
        sandbox.jackin(["prune", "--yes"]).ok();
        assert_eq!(snapshots(&sandbox, &old).len(), 2, "{rule}");
        is_whole(&sandbox);
    }
}

/// A session without a baseline is of no use, whatever number of sessions is kept.
#[test]
fn sessions_without_a_baseline_push_out_none_that_can_be_restored() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("grown");
    Build::at(&project)
        .file("f1", "1\n")
        .file("f2", "2\n")
        .file("dir/f3", "3\n")
        .aged();
    let before = Tree::read(&project);
    let kept = "[recovery.retention]\ninstances = 1\n";
    sandbox.configure("config.toml", kept);
    let good = sandbox.launch(&project, "rm f1");
    sandbox.configure(
        "config.toml",
        &format!("[recovery.limits]\nmax_entries = 1\n{kept}"),
    );
    for script in ["rm f2", "echo more > f4"] {
        let run = ["--snapshot", "project", "--on-failure", "run"];
        let words = [
            &["launch"][..],
            &run,
            &[project.to_str().unwrap(), "--", "sh", "-c", script],
        ]
        .concat();
        sandbox.command(words).inside(&project).run().ok();
    }
    let run = sandbox.jackin(["list", "--json"]).ok();
    for one in instances(&run) {
        assert_eq!(one.snapshots.is_empty(), one.id != good, "{run}");
    }
    fs::remove_file(project.join("f4")).unwrap();
    sandbox.restore(&good, &["--overwrite-later-edits"]);
    assert_same_tree(&before.only("f1"), &Tree::read(&project).only("f1"));
}
