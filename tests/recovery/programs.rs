//! Real programs at work while their files are captured: what comes back passes the program's own check, or the snapshot names the
//! files that did not hold still.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::git_locked::is_unsteady;
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{is_nightly, is_root, skip, tool};
use crate::support::patience::await_file;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// How many snapshots are taken while a program writes.
const SNAPSHOTS: usize = 6;

/// A program in a process group of its own, which ends with the value.
struct Load(Child);

impl Load {
    fn start(command: &mut Command) -> Self {
        use std::os::unix::process::CommandExt as _;
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// Debian's Python with these modules; a test that needs them says so when they are missing.
fn python(modules: &str) -> Option<PathBuf> {
    let place = PathBuf::from("/usr/bin/python3");
    let has = Command::new(&place)
        .args(["-c", &format!("import {modules}")])
        .stderr(Stdio::null())
        .status();
    if has.is_ok_and(|status| status.success()) {
        return Some(place);
    }
    skip("a program at work", &format!("/usr/bin/python3 has no {modules}"));
    None
}

/// Captures a project again and again while `load` writes to it, and writes each snapshot to a directory. `check` says whether the
/// program finds its files sound there.
fn each_snapshot_opens_or_is_named(
    sandbox: &Sandbox,
    project: &Path,
    load: Load,
    check: impl Fn(&Path) -> bool,
) {
    let mut names = Vec::new();
    let id = sandbox.session(project, |_| {
        for number in 0..SNAPSHOTS {
            sleep(Duration::from_millis(150));
            let (id, name) = (sandbox.newest(), format!("c{number}"));
            sandbox.jackin(["checkpoint", &id, "--name", &name]).ok();
            names.push(name);
        }
    });
    drop(load);
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let rows = shown["instance"]["snapshots"].as_array().unwrap().clone();
    let of = |name: &str| {
        rows.iter()
            .find(|row| row["name"] == name || row["kind"] == name)
            .unwrap()
    };
    let is_named = |row: &Value| {
        let changed = shown["changed_meanwhile"].as_array().unwrap();
        // A repository that does not hold still in any round is flagged as a whole.
        let is_flagged = is_unsteady(sandbox, row["id"].as_str().unwrap());
        is_flagged
            || row["complete"] == false
            || changed.iter().any(|changed| changed["snapshot"] == row["id"])
    };
    names.extend(["baseline", "closing"].map(str::to_owned));
    for name in names {
        let to = sandbox.world().join(format!("to-{name}"));
        let run = sandbox
            .jackin([
                "restore",
                &id,
                "--from",
                &name,
                "--to",
                to.to_str().unwrap(),
                "--yes",
            ])
            .code_in(&[0, 6]);
        assert!(
            check(&to) || is_named(of(&name)),
            "{name} is unsound and nothing is named\n{run}"
        );
    }
    // Nothing writes the last state any more. It is what the kill left, which for a program without a log may be half of a step.
    let id = sandbox.launch(project, "true");
    let to = sandbox.world().join("quiet");
    sandbox
        .jackin([
            "restore",
            &id,
            "--from",
            "closing",
            "--to",
            to.to_str().unwrap(),
            "--yes",
        ])
        .ok();
    let [is, was] = [project, &to].map(|top| {
        // Excluded; and a new directory is private.
        let mut tree = Tree::read(top).without("node_modules");
        tree.nodes.remove(&b""[..]);
        tree
    });
    assert_same_tree(&is, &was);
    assert!(check(&to) || !check(project), "what nothing writes to is unsound");
}

fn succeeds(command: &mut Command) -> bool {
    let done = command.stdin(Stdio::null()).output().unwrap();
    if !done.status.success() {
        eprintln!("{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    done.status.success()
}

const SQLITE: &str = "
import sqlite3, sys, threading
d = sqlite3.connect(sys.argv[1] + '/db', isolation_level=None)
d.execute('pragma mmap_size=268435456')
d.execute('pragma journal_mode=' + sys.argv[2])
d.execute('pragma synchronous=off')
d.execute('pragma wal_autocheckpoint=50')
d.execute('create table if not exists t(id integer primary key, a, b)')
d.execute('create index if not exists i on t(b)')
n = 0
while True:
    n += 1
    d.execute('begin')
    for k in range(20):
        d.execute('insert or replace into t values(?,?,?)', ((n * 20 + k) % 5000, 'x' * 300, str(n * 7919 % 100003)))
    d.execute('commit')
    if n == 50: open(sys.argv[1] + '/ready', 'w').close()
";

const SQLITE_CHECK: &str = "
import sqlite3, sys
d = sqlite3.connect(sys.argv[1] + '/db')
sys.exit(0 if d.execute('pragma integrity_check').fetchone()[0] == 'ok' and d.execute('select count(*) from t').fetchone()[0] > 0 else 1)
";

#[test]
fn sqlite_with_a_log_and_a_mapping_opens() {
    for journal in ["wal", "delete"] {
        let Some(python) = python("sqlite3") else { return };
        let sandbox = Sandbox::new();
        let project = sandbox.project("data");
        let load = Load::start(
            Command::new(&python)
                .args(["-c", SQLITE])
                .arg(&project)
                .arg(journal),
        );
        await_file(&project.join("ready"));
        each_snapshot_opens_or_is_named(&sandbox, &project, load, |to| {
            succeeds(Command::new(&python).args(["-c", SQLITE_CHECK]).arg(to))
        });
    }
}

/// Commits a statement, and ends without the checkpoint that moves it from the log into the database.
const SQLITE_CUT: &str = "
import os, sqlite3, sys
d = sqlite3.connect(sys.argv[1], isolation_level=None)
d.execute('pragma journal_mode=wal')
d.execute(sys.argv[2])
os._exit(0)
";

const SQLITE_ROWS: &str = "
import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute('select a from t').fetchall())
";

#[test]
fn sqlite_has_each_committed_row_when_its_database_alone_is_named() {
    let Some(python) = python("sqlite3") else { return };
    let sandbox = Sandbox::new();
    let project = sandbox.project("data");
    let database = project.join("app.db");
    let commit = |statement: &str| {
        let mut command = Command::new(&python);
        assert!(succeeds(
            command.args(["-c", SQLITE_CUT]).arg(&database).arg(statement)
        ));
    };
    let rows = |database: &Path| {
        let run = Command::new(&python)
            .args(["-c", SQLITE_ROWS])
            .arg(database)
            .output();
        String::from_utf8(run.unwrap().stdout).unwrap()
    };
    commit("create table t(a)");
    commit("insert into t values('customer')");
    // The agent's work is in the log alone.
    let id = sandbox.session(&project, |_| commit("delete from t"));
    sandbox
        .command(["restore", &id, "app.db", "--yes"])
        .inside(&project)
        .run()
        .ok();
    let to = sandbox.world().join("to");
    let copy = ["restore", &id, "app.db", "--to", to.to_str().unwrap(), "--yes"];
    sandbox.command(copy).inside(&project).run().ok();
    for database in [database.clone(), to.join("app.db")] {
        assert_eq!(rows(&database), "('customer',)\n", "{}", database.display());
    }
}

const LMDB: &str = "
import lmdb, os, sys
e = lmdb.open(sys.argv[1] + '/lmdb', map_size=1 << 24, writemap=True, map_async=True)
n = 0
while True:
    n += 1
    with e.begin(write=True) as t:
        for k in range(20):
            t.put(str((n * 20 + k) % 3000).encode(), (str(n) * 50).encode())
    if n == 50: open(sys.argv[1] + '/ready', 'w').close()
";

/// Reads every page of the newest tree; the values have to be what a transaction wrote.
const LMDB_CHECK: &str = "
import lmdb, sys
e = lmdb.open(sys.argv[1] + '/lmdb', map_size=1 << 24, readonly=True, lock=False)
count = 0
with e.begin() as t:
    for key, value in t.cursor():
        text = value.decode()
        assert text == text[:len(text) // 50] * 50, key
        count += 1
    assert count == t.stat()['entries'], count
sys.exit(0 if count else 1)
";

#[test]
fn lmdb_with_a_writable_map_opens() {
    let Some(python) = python("lmdb") else { return };
    let sandbox = Sandbox::new();
    let project = sandbox.project("data");
    let load = Load::start(Command::new(&python).args(["-c", LMDB]).arg(&project));
    await_file(&project.join("ready"));
    each_snapshot_opens_or_is_named(&sandbox, &project, load, |to| {
        succeeds(Command::new(&python).args(["-c", LMDB_CHECK]).arg(to))
    });
}

/// Each round writes its number everywhere, and rests between two rounds for as long as a capture may take to see it still. A busy
/// machine may halt it in the middle for as long; the first number is the largest then.
const NUMPY: &str = "
import numpy, sys, time
m = numpy.memmap(sys.argv[1] + '/array', dtype='u4', mode='w+', shape=(1 << 20,))
n = 0
while True:
    n += 1
    m[0] = 2**32 - 1
    m[1:] = n
    m[0] = n
    if n == 2: open(sys.argv[1] + '/ready', 'w').close()
    time.sleep(0.2)
";

const NUMPY_CHECK: &str = "
import numpy, sys
m = numpy.memmap(sys.argv[1] + '/array', dtype='u4', mode='r')
is_whole = m[0] == 2**32 - 1 or m[0] > 0 and (m == m[0]).all()
sys.exit(0 if m.size == 1 << 20 and is_whole else 1)
";

#[test]
fn a_numpy_map_is_of_one_round() {
    let Some(python) = python("numpy") else { return };
    let sandbox = Sandbox::new();
    let project = sandbox.project("data");
    let load = Load::start(Command::new(&python).args(["-c", NUMPY]).arg(&project));
    await_file(&project.join("ready"));
    each_snapshot_opens_or_is_named(&sandbox, &project, load, |to| {
        succeeds(Command::new(&python).args(["-c", NUMPY_CHECK]).arg(to))
    });
}

/// The directory of PostgreSQL's programs.
fn postgres() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let found = versions
        .map(|version| version.path().join("bin"))
        .find(|bin| bin.join("initdb").exists());
    if found.is_none() || !is_root() {
        skip(
            "PostgreSQL under load",
            "it is not installed, or this is not root, who can run it as its user",
        );
        return None;
    }
    found
}

/// As the user that PostgreSQL runs as, for it refuses root.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .env("HOME", "/nonexistent")
        .current_dir("/");
    command
}

fn owned(directory: &Path) {
    assert!(succeeds(
        Command::new("chown").args(["-R", "65534:65534"]).arg(directory)
    ));
}

#[test]
fn postgresql_under_load_starts_again() {
    let Some(bin) = postgres() else { return };
    let sandbox = Sandbox::new();
    // The user has to come to it.
    assert!(succeeds(
        Command::new("chmod").args(["-R", "a+rX"]).arg(sandbox.world())
    ));
    let project = sandbox.project("data");
    owned(&project);
    let data = project.join("pg");
    let socket = sandbox.world().join("socket");
    fs::create_dir(&socket).unwrap();
    owned(&socket);
    assert!(succeeds(
        as_user(&bin.join("initdb"))
            .args(["-A", "trust", "-U", "tester", "-D"])
            .arg(&data)
    ));
    let (config, port) = (data.join("postgresql.conf"), 54_000 + std::process::id() % 1000);
    let mut text = fs::read_to_string(&config).unwrap();
    text.push_str(&format!(
        "\nlisten_addresses=''\nport={port}\nunix_socket_directories='{}'\nfsync=off\nmax_wal_size=32MB\nshared_buffers=8MB\n",
        socket.display()
    ));
    fs::write(&config, text).unwrap();
    let client = |program: &str| {
        let mut command = as_user(&bin.join(program));
        command
            .arg("-h")
            .arg(&socket)
            .args(["-p", &port.to_string(), "-U", "tester"]);
        command
    };
    let server = |data: &Path| Load::start(as_user(&bin.join("postgres")).arg("-D").arg(data));
    let is_up = || {
        (0..1200).any(|_| {
            sleep(Duration::from_millis(100));
            succeeds(client("psql").args(["-d", "postgres", "-c", "select 1"]))
        })
    };
    let running = server(&data);
    assert!(is_up(), "PostgreSQL does not start");
    assert!(succeeds(
        client("pgbench").args(["-i", "-q", "-s", "1", "postgres"])
    ));
    let clients = Load::start(client("pgbench").args(["-c", "2", "-T", "120", "postgres"]));
    let mut names = Vec::new();
    let id = sandbox.session(&project, |_| {
        for number in 0..2 {
            sleep(Duration::from_millis(300));
            let (id, name) = (sandbox.newest(), format!("c{number}"));
            sandbox.jackin(["checkpoint", &id, "--name", &name]).ok();
            names.push(name);
        }
    });
    drop(clients);
    // Ended in order, so that the last state is a whole one.
    assert!(succeeds(
        as_user(&bin.join("pg_ctl"))
            .args(["-m", "fast", "-w", "stop", "-D"])
            .arg(&data)
    ));
    drop(running);
    let quiet = sandbox.launch(&project, "true");
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let rows = shown["instance"]["snapshots"].as_array().unwrap();
    let changed = shown["changed_meanwhile"].as_array().unwrap();
    let sound = |id: &str, from: &str| {
        let to = sandbox.world().join(format!("to-{id}-{from}"));
        sandbox
            .jackin([
                "restore",
                id,
                "--from",
                from,
                "--to",
                to.to_str().unwrap(),
                "--yes",
            ])
            .code_in(&[0, 6]);
        // The new directory is root's alone.
        owned(&to);
        let _ = fs::remove_file(to.join("pg/postmaster.pid"));
        let again = server(&to.join("pg"));
        let found = is_up()
            && succeeds(client("pg_amcheck").args([
                "--heapallindexed",
                "-d",
                "postgres",
                "--install-missing",
            ]))
            && succeeds(client("psql").args([
                "-d",
                "postgres",
                "-c",
                "select sum(abalance) from pgbench_accounts",
            ]));
        let _ = succeeds(
            as_user(&bin.join("pg_ctl"))
                .args(["-m", "immediate", "-w", "stop", "-D"])
                .arg(to.join("pg")),
        );
        drop(again);
        found
    };
    for row in rows {
        let named = row["complete"] == false || changed.iter().any(|one| one["snapshot"] == row["id"]);
        let snapshot = row["id"].as_str().unwrap();
        // One that names what changed may be unsound, and starting it would prove nothing.
        assert!(
            named || sound(&id, snapshot),
            "{snapshot} is unsound and nothing is named\n{shown:#}"
        );
    }
    assert!(sound(&quiet, "closing"), "what nothing writes to is unsound");
}

#[test]
fn git_gc_leaves_a_repository_that_git_finds_whole() {
    let Some(git) = tool("git") else {
        return skip("git gc at work", "git is not installed");
    };
    let sandbox = Sandbox::new();
    let project = sandbox.project("repo");
    Build::at(&project).file("a", "a\n");
    let script = "git init -q && git config user.name a && git config user.email a@b && n=0
        while :; do n=$((n+1)); echo $n > a; head -c 5000 /dev/urandom > r$((n%20)); git add -A; git commit -qm $n
        if [ $((n%5)) = 0 ]; then git gc -q --prune=now; fi; [ $n = 3 ] && touch .git/ready; done";
    let mut load = Command::new("sh");
    load.args(["-c", script])
        .current_dir(&project)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", sandbox.home());
    let load = Load::start(&mut load);
    await_file(&project.join(".git/ready"));
    each_snapshot_opens_or_is_named(&sandbox, &project, load, |to| {
        let _ = fs::remove_file(to.join(".git/gc.pid"));
        succeeds(
            Command::new(&git)
                .arg("-C")
                .arg(to)
                .args(["-c", "safe.directory=*", "fsck", "--full"])
                .env("HOME", sandbox.home()),
        )
    });
}

/// At night with thirty packages, otherwise with five.
#[test]
fn npm_install_is_captured_with_its_lock_file() {
    let Some(npm) = tool("npm") else {
        return skip("npm install at work", "npm is not installed");
    };
    let sandbox = Sandbox::new();
    let project = sandbox.project("app");
    let build = Build::at(&project);
    let packages = if is_nightly() { 30 } else { 5 };
    for number in 0..packages {
        let package = format!("packages/p{number}");
        build
            .file(
                format!("{package}/package.json"),
                format!("{{\"name\":\"p{number}\",\"version\":\"1.0.0\"}}"),
            )
            .file(
                format!("{package}/index.js"),
                format!("module.exports = {number}\n"),
            );
    }
    let dependencies: Vec<String> = (0..packages)
        .map(|n| format!("\"p{n}\":\"file:packages/p{n}\""))
        .collect();
    build.file(
        "package.json",
        format!(
            "{{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{{{}}}}}",
            dependencies.join(",")
        ),
    );
    let script = "while :; do npm install --offline --install-links --no-audit --no-fund --silent; touch ready; rm -rf node_modules package-lock.json; done";
    let mut load = Command::new("sh");
    load.args(["-c", script])
        .current_dir(&project)
        .env("HOME", sandbox.home());
    let load = Load::start(&mut load);
    await_file(&project.join("ready"));
    each_snapshot_opens_or_is_named(&sandbox, &project, load, |to| {
        // Each JSON file is whole, and npm itself can install from what came back.
        let manifest = fs::read(to.join("package.json")).unwrap();
        let is_json = |file: &str| match fs::read(to.join(file)) {
            Ok(bytes) => serde_json::from_slice::<Value>(&bytes).is_ok(),
            Err(_) => true,
        };
        serde_json::from_slice::<Value>(&manifest).is_ok()
            && is_json("package-lock.json")
            && succeeds(
                Command::new(&npm)
                    .args([
                        "install",
                        "--offline",
                        "--install-links",
                        "--no-audit",
                        "--no-fund",
                        "--silent",
                    ])
                    .current_dir(to)
                    .env("HOME", sandbox.home()),
            )
    });
}

/// A file that did not hold still is stored, and a restore says what its bytes may be.
#[test]
fn a_file_that_changed_while_it_was_read_is_not_called_untouched() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    let file = project.join("log");
    fs::write(&file, vec![0; 8 << 20]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let run = |words: &[&str]| sandbox.command(words).inside(&project).by_the_operator().run();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::os::unix::fs::FileExt as _;
            let log = fs::OpenOptions::new().write(true).open(&file).unwrap();
            for number in 0_u64.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                log.write_all_at(&number.to_le_bytes(), (number % 1024) * 8192)
                    .unwrap();
            }
        });
        let begun = run(&["begin", "--snapshot", "project", "."]).ok();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        begun.has("may mix two versions");
    });
    fs::write(&file, "good\n").unwrap();
    run(&["end", "@latest"]).ok();
    let restored = run(&["restore", "--yes"]).code(6);
    restored.has("1 file that changed while it was read:");
    restored.has("Changed while they were captured; their bytes may mix two versions:");
    for words in ["not touched", "Not captured"] {
        let shown = [restored.text(), restored.said()];
        assert!(!shown.concat().contains(words), "{restored}");
    }
    assert!(restored.text().contains("replace   log"), "{restored}");
}
