//! Every mistake leads back: what is said for each is committed in `mistakes.txt`, to be read as a whole. Each kind of error
//! has at least one. `JACKIN_BLESS=1` writes the file anew.

mod book;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use book::Book;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::git::{HeldLock, Repository};
use crate::support::sandbox::Sandbox;

#[test]
#[cfg_attr(
    not(all(feature = "html", feature = "mcp", feature = "s3", feature = "tui")),
    ignore = "an optional feature is not built"
)]
fn each_leads_back() {
    let sandbox = Sandbox::new();
    let shop = sandbox.project("shop");
    Build::at(&shop)
        .file("main.rs", "before\n")
        .file(".env", "KEY=1\n")
        .aged();
    let plain = sandbox.project("plain");
    Build::at(&plain).file("a", "a\n").aged();
    Build::at(&sandbox.project("many"))
        .file("a", "a\n")
        .file("sub/b", "b\n");
    let mount = "[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/shop\"\n";
    let on = "[recovery]\nsnapshot = \"project\"\n";
    let file = |name: &str, text: String| sandbox.configure(&format!("workspaces/{name}.toml"), &text);
    file("shop", format!("{mount}{on}"));
    file("bare", mount.to_owned());
    file("key", format!("{mount}[recovery]\nsnapshots = \"project\"\n"));
    file("word", format!("{mount}[recovery]\nsnapshot = \"all\"\n"));
    file("type", format!("{mount}{on}exclude = \"target/\"\n"));
    file("glob", format!("{mount}{on}exclude = [\"[a\"]\n"));
    file(
        "everywhere",
        format!("{mount}{on}[recovery.store]\nreplicate = \"s3://box/p\"\n"),
    );
    file("unfrozen", format!("{mount}{on}native = \"require\"\n"));
    file("toml", format!("{mount}[recovery\n"));
    let gone = mount.replace("shop", "gone");
    file("nowhere", format!("{gone}{on}"));
    file("mountless", on.to_owned());
    file(
        "tight",
        format!("[[mounts]]\nsrc = \"~/src/many\"\ndst = \"/x\"\n{on}[recovery.limits]\nmax_entries = 1\n"),
    );
    let home = sandbox.home();
    let full = sandbox.scratch("full");
    Build::at(&full).file("x", "x");
    let mut book = Book::new(sandbox);
    command_line(&mut book, &shop, &plain);
    configuration(&mut book, &shop, &plain, &home);
    sessions(&mut book, &shop, &plain, &full);
    object_store(&mut book, &shop);
    damage(&mut book, &shop);
    book.compare();
}

fn command_line(book: &mut Book, shop: &Path, plain: &Path) {
    let usage = ("usage", 2);
    book.mistake("a verb with a slip", usage, &["lst"], plain);
    book.mistake("a verb of other programs", usage, &["rm", "x"], plain);
    book.mistake("an agent in the place of a command", usage, &["claude"], plain);
    book.mistake("nothing to forget named", usage, &["forget"], plain);
    book.mistake(
        "a glob that the shell replaced",
        usage,
        &["find", "a.rs", "b.rs"],
        plain,
    );
    book.mistake("a count that is none", usage, &["list", "-n", "few"], plain);
    book.mistake(
        "a policy as options",
        usage,
        &["prune", "--keep-last", "3"],
        plain,
    );
    book.mistake(
        "an age without a unit",
        usage,
        &["forget", "--older-than", "7"],
        plain,
    );
    let nothing = ("nothing-to-restore", 5);
    book.mistake("no session named", nothing, &["restore"], plain);
    book.mistake(
        "a flag of another verb",
        usage,
        &["diff", "x", "--only-changes-of", "y"],
        plain,
    );
    book.mistake(
        "a checkpoint's name in the place of a session",
        ("unknown-instance", 5),
        &["checkpoint", "s1"],
        plain,
    );
    book.mistake("a flag with a slip", usage, &["restore", "x", "--dryrun"], plain);
    book.mistake(
        "no such mode",
        usage,
        &["explain", "--snapshot", "everything", "."],
        plain,
    );
    book.mistake(
        "two that exclude each other",
        usage,
        &["restore", "x", "--yes", "--dry-run"],
        plain,
    );
    let launch = ["launch", "--snapshot", "project", "."];
    book.mistake("no command", usage, &launch, shop);
    book.mistake("an empty path", usage, &["explain", ""], shop);
    book.mistake(
        "a remote place",
        usage,
        &["explain", "ssh://host", "--snapshot", "project"],
        shop,
    );
    book.mistake(
        "a log that cannot be written",
        ("io", 1),
        &["list", "--log-file", "no/such/log"],
        plain,
    );
    let with = |command| launch.iter().copied().chain(["--", command]).collect::<Vec<_>>();
    book.mistake(
        "no such command",
        ("command-not-found", 127),
        &with("cluade"),
        plain,
    );
    book.mistake("an empty command", ("usage", 2), &with(""), plain);
    book.mistake(
        "a directory in the place of a command",
        ("cannot-execute", 126),
        &with("./"),
        plain,
    );
    book.mistake(
        "one that cannot be executed",
        ("cannot-execute", 126),
        &with("./a"),
        plain,
    );
}

fn configuration(book: &mut Book, shop: &Path, plain: &Path, home: &Path) {
    let config = ("config", 2);
    for (what, name) in [
        ("a wrong key", "key"),
        ("a wrong word", "word"),
        ("a wrong type", "type"),
        ("a wrong pattern", "glob"),
        ("a key of the whole store in a workspace", "everywhere"),
        ("a snapshot that its file system cannot make", "unfrozen"),
        ("a file that is no TOML", "toml"),
        ("no such workspace", "shpo"),
        ("a mount that is not there", "nowhere"),
        ("no mounts", "mountless"),
    ] {
        book.mistake(what, config, &["explain", name], plain);
    }
    // One that cannot be read might be the one that a directory belongs to.
    fs::remove_file(home.join(".config/jackin/workspaces/toml.toml")).unwrap();
    book.mistake("a workspace without a mode", config, &["begin", "bare"], plain);
    book.mistake("a directory without a mode", config, &["explain", "."], plain);
    book.mistake("no target at all", ("usage", 2), &["explain"], plain);
    book.mistake(
        "a directory that is not there",
        ("usage", 2),
        &["explain", "./gone"],
        plain,
    );
    let broad = ["explain", "--snapshot", "project", "."];
    book.mistake("too much", ("too-broad", 2), &broad, home);
    book.mistake(
        "a table that is there already",
        config,
        &["init", "shop", "--yes"],
        shop,
    );
    book.mistake(
        "no action of hook",
        ("usage", 2),
        &["hook", "instal", "claude"],
        plain,
    );
    let settings = home.join(".codex/hooks.json");
    fs::create_dir(home.join(".codex")).unwrap();
    fs::write(settings, "{\n  \"hooks\": []\n}\n").unwrap();
    book.mistake(
        "settings of another shape",
        config,
        &["hook", "install", "codex", "--yes"],
        plain,
    );
    book.mistake(
        "no workspace to turn on",
        config,
        &["init", "nosuch", "--yes"],
        plain,
    );
    book.mistake(
        "a workspace with a slip",
        config,
        &["init", "baer", "--yes"],
        plain,
    );
    book.mistake(
        "a home as a workspace",
        ("too-broad", 2),
        &["init", ".", "--yes"],
        home,
    );
    book.mistake(
        "a workspace of a directory that is not there",
        config,
        &["init", "./gone", "--yes"],
        plain,
    );
    book.mistake(
        "completions of no shell",
        ("usage", 2),
        &["completions", "--install", "--yes"],
        plain,
    );
    book.mistake(
        "nothing to watch",
        ("unknown-instance", 5),
        &["watch", "fixed"],
        plain,
    );
    book.mistake(
        "more than a limit allows",
        ("limit-exceeded", 1),
        &["begin", "tight"],
        plain,
    );
}

/// As on a full disk: no file may grow beyond what the catalog needs.
const FULL: [&str; 3] = ["sh", "-c", "trap '' XFSZ; ulimit -f 800; exec \"$0\" \"$@\""];

/// A megabyte that does not compress.
fn noise() -> Vec<u8> {
    let mut state: u32 = 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..1 << 20).map(|_| next()).collect()
}

/// One that nobody serves.
fn object_store(book: &mut Book, shop: &Path) {
    let signed = [
        "AWS_ENDPOINT_URL=http://127.0.0.1:1",
        "AWS_ACCESS_KEY_ID=x",
        "AWS_SECRET_ACCESS_KEY=y",
    ];
    let text = format!(
        "[recovery.state]\nrecipients = [\"{}\"]\n[recovery.store]\nreplicate = \"s3://bucket/prefix\"\n",
        crate::replicas::RECIPIENT
    );
    let file = book.sandbox.configure("config.toml", &text);
    let program = [&["env"], signed.as_slice()].concat();
    let (what, kind) = ("a bucket that cannot be reached", ("object-store", 1));
    book.mistake_through(&program, what, kind, &["replicate"], shop);
    fs::remove_file(file).unwrap();
}

fn sessions(book: &mut Book, shop: &Path, plain: &Path, full: &Path) {
    let unknown = ("unknown-instance", 5);
    book.mistake("nothing to undo", ("nothing-to-restore", 5), &["undo"], shop);
    book.sandbox
        .jackin([
            "launch",
            "shop",
            "--",
            "sh",
            "-c",
            "echo agent > ~/src/shop/main.rs",
        ])
        .ok();
    let id = book.sandbox.newest();
    let id = id.as_str();
    book.mistake("no such session", unknown, &["show", "shpo"], shop);
    Build::at(&plain.join("big")).file("noise", noise());
    let begin = ["begin", "--snapshot", "project", "./big"];
    book.mistake_through(
        &FULL,
        "no room for the baseline",
        ("snapshot-failed", 1),
        &begin,
        plain,
    );
    let metadata = ["launch", "--snapshot", "metadata", ".", "--", "true"];
    book.sandbox.command(metadata).inside(plain).run().ok();
    let bare = book.sandbox.newest();
    book.mistake("more than one", unknown, &["show", "rc-"], shop);
    let nothing = ("nothing-to-restore", 5);
    book.mistake(
        "a session without files",
        nothing,
        &["restore", &bare, "--yes"],
        shop,
    );
    book.mistake(
        "a snapshot in the place of a session",
        unknown,
        &["show", ":closing"],
        shop,
    );
    book.mistake(
        "a snapshot in the place of a session or a path",
        unknown,
        &["diff", ":closing"],
        shop,
    );
    let snapshot = ("unknown-snapshot", 5);
    book.mistake(
        "no such snapshot",
        snapshot,
        &["diff", id, "--from", "before"],
        shop,
    );
    book.mistake(
        "no such receipt",
        snapshot,
        &["undo", "--receipt", "99", "--yes"],
        shop,
    );
    book.mistake("nobody to ask", ("not-confirmed", 4), &["restore", id], shop);
    book.mistake(
        "a path that nobody knows",
        ("usage", 2),
        &["restore", id, "mian.rs", "--yes"],
        shop,
    );
    let to = full.to_str().unwrap();
    book.mistake(
        "a place that is taken",
        ("usage", 2),
        &["restore", id, "--to", to, "--yes"],
        shop,
    );
    elsewhere(book, id, shop, full);
    book.mistake("a session that is over", ("failed", 1), &["checkpoint", id], shop);
    book.mistake("no session is active here", ("failed", 1), &["checkpoint"], shop);
    book.mistake("nothing that waits", nothing, &["resume", id], shop);
    let restore = book.sandbox.command(["restore", id, "--yes"]);
    restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    let waits = ("pending", 8);
    book.mistake(
        "a restore that was killed",
        waits,
        &["restore", id, "--yes"],
        shop,
    );
    book.sandbox.jackin(["abort", id, "--yes"]).ok();
    let session = Background::launch(&book.sandbox, shop, "true");
    let active = book.sandbox.newest();
    book.mistake(
        "while it runs",
        ("refused-active", 3),
        &["restore", &active, "--yes"],
        shop,
    );
    book.mistake(
        "while another runs there",
        ("refused-overlap", 3),
        &["restore", id, "--yes"],
        shop,
    );
    let name = ["checkpoint", &active, "--name", "closing"];
    book.mistake("a name that means something else", ("usage", 2), &name, shop);
    session.end();
    let depot = Repository::with_history(&book.sandbox.project("depot"), 1);
    let other = book.sandbox.launch(&depot.path, "rm .git/HEAD");
    let held = HeldLock::of(&depot.path);
    book.mistake(
        "while git works there",
        ("refused-locked", 3),
        &["restore", &other, "--yes"],
        shop,
    );
    drop(held);
    let script = format!(
        "COLUMNS=10000 \"$0\" recovery restore {id} --yes 2> ~/said; echo $? > ~/code; COLUMNS=10000 \"$0\" recovery \
         restore {id} --yes --json 2> ~/json; true"
    );
    let inside = [
        "launch",
        "shop",
        "--",
        "sh",
        "-c",
        &script,
        env!("CARGO_BIN_EXE_jackin"),
    ];
    book.sandbox.command(inside).inside(shop).run().ok();
    let read = |name: &str| fs::read_to_string(book.sandbox.home().join(name)).unwrap();
    assert_eq!(read("code"), "3\n");
    assert!(read("json").contains("\"refused-inside\""));
    let said = book.plain(&read("said"));
    book.kinds.insert("refused-inside".to_owned());
    writeln!(
        book.text,
        "# from inside a session (refused-inside)\n$ jackin recovery restore {} --yes\n{said}[3]\n",
        book.plain(id)
    )
    .unwrap();
}

/// Forks, and files that are carried about.
fn elsewhere(book: &mut Book, id: &str, shop: &Path, full: &Path) {
    let usage = ("usage", 2);
    book.sandbox.jackin(["fork", id, "--branch", "one"]).ok();
    let taken = ["fork", id, "--branch", "one"];
    book.mistake("a branch that is taken", usage, &taken, shop);
    book.mistake("a fork within the mount", usage, &["fork", id, "copy"], shop);
    let other = r#"{"provider":"docker","id":"fk-000000000000"}"#;
    book.mistake("what another program calls a fork", usage, &["fork", other], shop);
    let file = full.join("x");
    let file = file.to_str().unwrap();
    book.mistake("a file that is there", usage, &["export", id, file], shop);
    let damaged = ("integrity", 7);
    book.mistake(
        "a file that is no export",
        damaged,
        &["import", file, "--yes"],
        shop,
    );
}

fn damage(book: &mut Book, shop: &Path) {
    // The store was copied from a disk that lost the archives.
    let store = book.sandbox.store();
    let archives: Vec<PathBuf> = fs::read_dir(store.join("archives"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    for archive in &archives {
        fs::rename(archive, archive.with_extension("lost")).unwrap();
    }
    let restore = ["restore", "@latest", "--from", "baseline", "--yes"];
    fs::write(shop.join("main.rs"), "again\n").unwrap();
    book.mistake("archives that are gone", ("integrity", 7), &restore, shop);
    let receipts = store.join("receipts.log");
    let before = fs::read(&receipts).unwrap();
    let mut changed = before.clone();
    changed[100] ^= 1;
    fs::write(&receipts, changed).unwrap();
    book.mistake("a receipt that was changed", ("integrity", 7), &["log"], shop);
    fs::write(&receipts, before).unwrap();
    let catalog = rusqlite::Connection::open(store.join("catalog.sqlite3")).unwrap();
    catalog.pragma_update(None, "user_version", 99).unwrap();
    drop(catalog);
    book.mistake("a store of a newer version", ("newer-store", 7), &["list"], shop);
    book.sandbox.configure("config.toml", "[recovery]\n");
    fs::remove_dir_all(&store).unwrap();
    fs::write(&store, "no directory").unwrap();
    book.mistake("a store that cannot be made", ("io", 1), &["begin", "shop"], shop);
    fs::remove_file(&store).unwrap();
    fs::set_permissions(shop, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::rename(shop, shop.with_extension("old")).unwrap();
    fs::write(shop, "a file now").unwrap();
    let begun = ["begin", "--snapshot", "project", "./shop"];
    book.mistake(
        "a file where a directory was",
        ("config", 2),
        &begun,
        shop.parent().unwrap(),
    );
}
