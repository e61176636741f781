//! Every verb prints the document that the committed schema describes. (Each run of every test with `--json` is held
//! against it too; here none is forgotten, and the judge itself is tried.)

use std::fs;

use serde_json::{Value, json};

use crate::support::build::Build;
use crate::support::machine::has_points;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::schema::{check, names, printed_by};

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn every_document_of_the_schema_is_printed_and_valid() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("Cargo.toml", "[package]\n")
        .file("a", "before\n")
        .file(b"odd\xff", "x");
    sandbox.configure(
        "workspaces/shop.toml",
        "[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/p\"\n",
    );
    let report = sandbox.scratch("report.json");
    let fresh = sandbox.scratch("fresh").to_str().unwrap().to_owned();
    let directory = project.to_str().unwrap();
    let mut seen: Vec<String> = Vec::new();
    let mut run = |args: &[&str], code: i32| {
        let run = sandbox.jackin(args.iter().copied()).code(code);
        let name = printed_by(&args.iter().map(Into::into).collect::<Vec<_>>()).unwrap();
        // That it is valid was checked when it ended.
        seen.push(if run.stdout.is_empty() { "error" } else { name }.to_owned());
        run
    };
    run(&["list", "--json"], 0);
    run(&["show", "nobody", "--json"], 5);
    run(&["explain", directory, "--snapshot", "project", "--json"], 0);
    run(&["init", "shop", "--yes", "--json"], 0);
    run(&["hook", "install", "claude", "--yes", "--json"], 0);
    run(&["hook", "status", "--json"], 0);
    run(&["hook", "uninstall", "claude", "--yes", "--json"], 0);
    let begun = run(&["begin", "shop", "--json"], 0).json();
    let id = begun["instance"].as_str().unwrap();
    fs::write(project.join("a"), "agent\n").unwrap();
    fs::rename(project.join("Cargo.toml"), project.join("Cargo.old")).unwrap();
    run(
        &["checkpoint", id, "--name", "one", "--message", "two", "--json"],
        0,
    );
    run(&["end", id, "--json"], 0);
    run(&["rename", id, "renamed", "--json"], 0);
    run(&["show", id, "--contract", "--json"], 0);
    fs::write(project.join("later"), "mine\n").unwrap();
    run(&["diff", id, "--json"], 0);
    run(&["diff", id, "--json-lines"], 0);
    run(&["restore", id, "--dry-run", "--json"], 6);
    run(&["restore", id, "--dry-run", "--json-lines"], 6);
    run(&["restore", id, "--to", &fresh, "--yes", "--json"], 0);
    run(&["fork", id, "--json"], 0);
    let exported = sandbox.scratch("exported").to_str().unwrap().to_owned();
    run(&["export", id, &exported, "--json"], 0);
    run(&["restore", id, "--yes", "--json"], 6);
    run(&["undo", "--any", "--yes", "--json"], 0);
    let step = ["restore", id, "--only-changes-of", "one", "--yes", "--json"];
    run(&step, 0);
    run(&["undo", "--any", "--yes", "--json"], 0);
    let die = || {
        let restore = sandbox.command(["restore", id, "--yes"]);
        let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
        assert_eq!(killed.exit(), None, "{killed}");
    };
    die();
    run(&["abort", id, "--dry-run", "--json"], 0);
    run(&["abort", id, "--yes", "--json"], 0);
    die();
    run(&["resume", "--yes", "--json"], 6);
    run(&["undo", "--any", "--yes", "--json"], 0);
    run(&["show", id, "--json"], 0);
    run(&["list", "--json"], 0);
    run(&["verify", "--read-data", "--json"], 0);
    run(&["log", "--json"], 0);
    run(&["log", "--json-lines"], 0);
    run(&["log", "--anchor", "--json"], 0);
    run(&["log", id, "./a", "--json"], 0);
    run(&["log", id, "./a", "--json-lines"], 0);
    run(&["blame", id, "a", "--json"], 0);
    run(&["find", "a", "--any", "--json"], 0);
    run(&["find", "a", "--any", "--json-lines"], 0);
    run(&["pin", id, "--json"], 0);
    run(&["unpin", id, "--json"], 0);
    run(&["prune", "--dry-run", "--json"], 0);
    run(&["forget", id, "--path", "a", "--dry-run", "--json"], 0);
    run(&["forget", id, "--dry-run", "--json"], 0);
    run(&["import", &exported, "--dry-run", "--json"], 0);
    let imported = run(&["import", &exported, "--yes", "--json"], 0).json();
    run(&["show", imported["instance"].as_str().unwrap(), "--json"], 0);
    run(&["rebuild", "--json"], 0);
    run(&["doctor", "--json"], 0);
    run(&["completions", "fish", "--json"], 0);
    run(&["completions", "fish", "--install", "--yes", "--json"], 0);
    run(&["status", "--json"], 1);
    run(&["man", "restore", "--json"], 0);
    let recipient = crate::replicas::RECIPIENT;
    let elsewhere = format!(
        "[recovery.state]\nrecipients = [\"{recipient}\"]\n[recovery.store]\nreplicate = \"s3://bucket/prefix\"\n"
    );
    sandbox.configure("config.toml", &elsewhere);
    run(&["replicate", "--dry-run", "--json"], 0);
    sandbox.configure("config.toml", "");
    let launch = [
        "launch",
        "--report",
        report.to_str().unwrap(),
        "shop",
        "--",
        "rm",
        "a",
    ];
    sandbox.command(launch).inside(&project).run().ok();
    let document: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    check("report", &document, &"launch --report");
    seen.push("report".to_owned());
    // That takes an object store: `replicas.rs` has one, and what it prints is checked there.
    seen.push("import-from".to_owned());
    // That takes a session that runs: `watching.rs`.
    seen.push("watch".to_owned());
    // That takes a stdout that takes nothing: `lost_result.rs`.
    seen.push("warning".to_owned());
    // A command that takes a session and nothing else needs no line of its own above.
    let names = names();
    for name in names.iter().filter(|name| !seen.contains(name)) {
        sandbox.jackin([name.as_str(), id, "--json"]).code(0);
    }
    assert!(seen.iter().all(|name| names.contains(name)), "{seen:?}");
}

#[test]
fn an_error_is_alone_on_standard_error() {
    let sandbox = Sandbox::new();
    let alone = |run: Run| {
        let document: Value = serde_json::from_slice(&run.stderr)
            .unwrap_or_else(|error| panic!("stderr is not one document: {error}\n{run}"));
        assert!(document["error"]["message"].is_string(), "{run}");
        assert!(run.stdout.is_empty(), "{run}");
        document["error"].clone()
    };
    let project = sandbox.captured("many", "[recovery.limits]\nmax_entries = 1\n");
    Build::at(&project).file("a", "a").file("b", "b");
    let plain = sandbox.jackin(["begin", "many"]).refused();
    assert!(plain.said().contains("Limits"), "{plain}");
    let limit = alone(sandbox.jackin(["begin", "many", "--json"]).refused());
    assert!(limit["warnings"].is_null(), "{limit}");
    if !has_points() {
        return;
    }
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a").file("b", "b").aged();
    let id = sandbox.launch(&project, "echo 1 > a; rm b");
    let restore = sandbox.command(["restore", &id, "--yes"]);
    restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    let target = project.to_str().unwrap();
    let waits = ["begin", "--snapshot", "project", target, "--json"];
    alone(sandbox.jackin(waits).code(8));
    let pending = alone(sandbox.jackin(["checkpoint", &id, "--json"]).refused());
    let warning = pending["warnings"][0].as_str().unwrap().to_owned();
    assert!(warning.contains("was interrupted"), "{warning}");
    // Beside a result the warning stays what it was.
    let listed = sandbox.jackin(["list", "--json"]).ok();
    assert!(
        String::from_utf8_lossy(&listed.stderr).contains("was interrupted"),
        "{listed}"
    );
}

#[test]
fn the_judge_finds_what_is_wrong() {
    let good = json!({
        "schema": 1, "instance": "rc-00000000-x", "from": "a", "to": "now", "not_covered": [], "git": [], "withheld": [], "state": [],
        "changes": [{ "mount": "/p", "path": "a", "change": "added" }],
    });
    check("diff", &good, &"good");
    let spoil = |spoil: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        spoil(&mut bad);
        let found = std::panic::catch_unwind(|| check("diff", &bad, &"bad"));
        assert!(found.is_err(), "{bad} passed");
    };
    spoil(&|bad| bad["schema"] = 2.into());
    spoil(&|bad| bad["more"] = 1.into());
    spoil(&|bad| bad["changes"][0]["more"] = 1.into());
    spoil(&|bad| bad["changes"][0]["change"] = "moved".into());
    spoil(&|bad| bad["changes"][0]["path"] = Value::Null);
    spoil(&|bad| {
        bad.as_object_mut().unwrap().remove("to");
    });
}

#[test]
fn an_error_document_stands_alone_with_verbose_too() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    let log = sandbox.scratch("log");
    sandbox.launch(&project, "rm a");
    for (words, code) in [(["show", "none"], 5), (["restore", "@9"], 5)] {
        let words = words.iter().copied().chain(["--json", "-v", "--log-file"]);
        let run = sandbox
            .command(words.chain([log.to_str().unwrap()]))
            .inside(&project)
            .run();
        let run = run.code(code);
        let document: Value = serde_json::from_slice(&run.stderr).unwrap();
        assert!(document["error"]["kind"].is_string(), "{run}");
    }
    assert!(fs::read_to_string(&log).unwrap().contains("exit code 5"));
}
