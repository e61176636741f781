//! `blame` and `log PATH`: which session, prompt and tool call wrote each line of a file, and what deleted it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::carried::Kind;
use crate::support::conversation::Conversation;
use crate::support::sandbox::Sandbox;

/// Writes a file with these lines.
fn write(agent: &mut Conversation<'_>, project: &Path, name: &str, text: &str) {
    let name = project.join(name);
    agent.shell(&format!("printf %s '{text}' > '{}'", name.display()));
}

fn workspace() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    (sandbox, project)
}

fn blamed(sandbox: &Sandbox, project: &Path, name: &str) -> Value {
    let run = sandbox.command(["blame", name, "--json"]);
    run.inside(project).run().ok().json()
}

/// Returns each line with a short description of its author.
fn authors(document: &Value) -> Vec<(String, String)> {
    let lines = document["lines"].as_array().unwrap().iter();
    lines
        .map(|line| {
            let step = usize::try_from(line["change"].as_u64().unwrap()).unwrap();
            (
                line["text"].as_str().unwrap().to_owned(),
                author(&document["changes"][step]),
            )
        })
        .collect()
}

fn author(step: &Value) -> String {
    let calls = step["sessions"][0]["calls"].as_array();
    let call = calls.and_then(|calls| calls.first());
    let turn = &step["sessions"][0]["last_turn"];
    match (step["by"].as_str().unwrap(), call) {
        ("session", Some(call)) => call["command"].as_str().unwrap().to_owned(),
        ("session", None) if turn.is_number() => format!("turn {turn}"),
        (by, _) => by.to_owned(),
    }
}

fn expect(document: &Value, expected: &[(&str, &str)]) {
    let owned = |(text, by): &(&str, &str)| ((*text).to_owned(), (*by).to_owned());
    let expected: Vec<(String, String)> = expected.iter().map(owned).collect();
    assert_eq!(authors(document), expected, "{document:#}");
}

#[test]
fn each_line_names_the_call_that_wrote_it() {
    let (sandbox, project) = workspace();
    fs::write(project.join("f"), "one\ntwo\n").unwrap();
    fs::write(project.join("data"), "precious\n").unwrap();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.prompt("fix the login test\nand more");
    agent.call_that("first", |agent| write(agent, &project, "f", "one\nTWO\n"));
    agent.call_that("second", |agent| write(agent, &project, "f", "one\nTWO\nthree\n"));
    // After the call, and before the next checkpoint: as far as is known, a part of it.
    write(&mut agent, &project, "f", "zero\none\nTWO\nthree\n");
    agent.call_that("rm -rf data", |agent| agent.shell("rm data"));
    agent.stop();
    write(&mut agent, &project, "f", "zero\nyours\none\nTWO\nthree\n");
    agent.prompt("second");
    write(
        &mut agent,
        &project,
        "f",
        "zero\nyours\none\nTWO\nthree\nuncalled\n",
    );
    agent.call_that("last", |agent| {
        write(
            agent,
            &project,
            "f",
            "zero\nyours\none\nTWO\nthree\nuncalled\nend\n",
        )
    });
    agent.stop();
    agent.end();
    agent.run().ok();
    fs::write(
        project.join("f"),
        "zero\nyours\none\nTWO\nthree\nuncalled\nend\nlater\n",
    )
    .unwrap();
    let found = blamed(&sandbox, &project, "f");
    expect(
        &found,
        &[
            ("zero", "second"),
            ("yours", "operator"),
            ("one", "before"),
            ("TWO", "first"),
            ("three", "second"),
            ("uncalled", "turn 2"),
            ("end", "last"),
            ("later", "operator"),
        ],
    );
    let first = &found["changes"][1]["sessions"][0];
    assert_eq!(first["prompt"], "fix the login test");
    assert_eq!(first["agent"], "claude");
    assert!(found["changes"].as_array().unwrap().last().unwrap()["snapshot"].is_null());
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run().ok();
    run(&["blame", "f"])
        .shows("\"fix the login test\" Bash: first")
        .shows("1 line is in no snapshot yet");
    // A file that is gone names what deleted it.
    run(&["blame", "data"])
        .shows("was deleted")
        .shows("Bash: rm -rf data")
        .shows("1) precious");
    let log = run(&["log", "./data", "--json"]).json();
    let kinds: Vec<&Value> = log["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["change"])
        .collect();
    assert_eq!(kinds, ["deleted", "found"]);
    assert_eq!(author(&log["changes"][0]), "rm -rf data");
    run(&["log", "./data"]).shows("\"fix the login test\" Bash: rm -rf data");
    let only = run(&["blame", "f", "-L", "4,5", "--json"]).json();
    assert_eq!(authors(&only), authors(&found)[3..5]);
    sandbox
        .command(["blame", "f", "-L", "99,"])
        .inside(&project)
        .run()
        .refused();
    sandbox
        .command(["blame", "none"])
        .inside(&project)
        .run()
        .refused();
    sandbox.command(["blame", "."]).inside(&project).run().refused();
}

#[test]
fn sessions_restores_and_renames_are_followed() {
    let (sandbox, project) = workspace();
    fs::write(project.join("f"), "one\ntwo\n").unwrap();
    let first = sandbox.launch(&project, "printf 'one\\nagent\\n' > f; printf 'a\\nb\\n' > old");
    fs::write(project.join("f"), "one\nagent\nyours\n").unwrap();
    sandbox.launch(&project, "mv old new; chmod 755 f");
    expect(
        &blamed(&sandbox, &project, "f"),
        &[("one", "before"), ("agent", "session"), ("yours", "operator")],
    );
    let new = blamed(&sandbox, &project, "new");
    expect(&new, &[("a", "session"), ("b", "session")]);
    assert_eq!(new["changes"][0]["sessions"][0]["instance"], first.as_str());
    assert_eq!(new["changes"][1]["change"], "renamed");
    let kinds = |name: &str| -> Vec<String> {
        let steps = blamed(&sandbox, &project, name)["changes"].clone();
        let steps = steps.as_array().unwrap().iter();
        steps
            .map(|step| step["change"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(kinds("f"), ["found", "modified", "modified", "metadata"]);
    // What a restore brought back keeps its author.
    let flags = ["--overwrite-later-edits", "--delete-later-files", "--yes"];
    sandbox.jackin(["restore", &first].iter().chain(&flags)).ok();
    let found = blamed(&sandbox, &project, "f");
    expect(&found, &[("one", "before"), ("two", "before")]);
    assert_eq!(found["changes"][4]["by"], "restore");
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    expect(
        &blamed(&sandbox, &project, "f"),
        &[("one", "before"), ("agent", "session"), ("yours", "operator")],
    );
    // One session alone ends with its own end.
    let own = sandbox.command(["blame", &first, "f", "--json"]).inside(&project);
    expect(&own.run().ok().json(), &[("one", "before"), ("agent", "session")]);
}

#[test]
fn a_new_name_that_a_restore_removed_was_not_removed_by_the_operator() {
    let (sandbox, project) = workspace();
    fs::write(project.join("f"), "one\ntwo\n").unwrap();
    let id = sandbox.launch(&project, "mv f h");
    sandbox.restore(&id, &[]);
    let check = || {
        let changes = blamed(&sandbox, &project, "h")["changes"].clone();
        let last = changes.as_array().unwrap().last().unwrap();
        assert_eq!(
            (&last["change"], &last["by"]),
            (&"deleted".into(), &"restore".into()),
            "{changes:#}"
        );
    };
    check();
    sandbox.launch(&project, "true");
    check();
}

#[test]
fn a_file_that_was_renamed_back_and_forth_is_followed_in_bounded_work() {
    let (sandbox, project) = workspace();
    fs::write(project.join("e"), "one\ntwo\n").unwrap();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.prompt("move it");
    // Each rename doubles the work if both names are traced from the beginning.
    for _ in 0..20 {
        agent.call("mv e b");
        agent.call("mv b e");
    }
    agent.stop();
    agent.end();
    agent.run().ok();
    let found = blamed(&sandbox, &project, "e");
    let steps = found["changes"].as_array().unwrap();
    let is_rename = |step: &&Value| step["change"] == "renamed";
    assert_eq!(steps.iter().rev().take_while(is_rename).count(), 20, "{found:#}");
    assert_eq!(found["lines"].as_array().unwrap().len(), 2);
    let log = sandbox.command(["log", "./e", "--json"]).inside(&project);
    assert_eq!(
        log.run().ok().json()["changes"].as_array().unwrap().len(),
        steps.len()
    );
    let gone = blamed(&sandbox, &project, "b");
    let last = gone["changes"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(author(&last), "mv b e");
}

#[test]
fn a_file_in_the_place_of_a_directory_is_blamed() {
    let (sandbox, project) = workspace();
    fs::write(project.join("x"), "one\n").unwrap();
    sandbox.launch(&project, "rm x; mkdir x");
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run();
    run(&["blame", "x"]).code(2).shows("is a directory");
    fs::remove_dir(project.join("x")).unwrap();
    fs::write(project.join("x"), "back\n").unwrap();
    expect(&blamed(&sandbox, &project, "x"), &[("back", "operator")]);
    run(&["log", "./x"]).ok().has("not stored yet");
}

/// A file that a restore composed of both is its change as well, and each line keeps its author.
#[test]
fn a_merge_by_a_restore_was_not_made_by_the_operator() {
    let (sandbox, project) = workspace();
    fs::write(project.join("f"), "one\ntwo\nthree\nfour\nfive\n").unwrap();
    let id = sandbox.launch(&project, "sed -i s/one/agent/ f");
    fs::write(project.join("f"), "agent\ntwo\nthree\nfour\nmine\n").unwrap();
    sandbox.restore(&id, &["--merge"]);
    let merged = "one\ntwo\nthree\nfour\nmine\n";
    assert_eq!(fs::read_to_string(project.join("f")).unwrap(), merged);
    let check = || {
        let found = blamed(&sandbox, &project, "f");
        let changes = found["changes"].as_array().unwrap();
        let by: Vec<&str> = changes.iter().map(|step| step["by"].as_str().unwrap()).collect();
        assert_eq!(by, ["before", "session", "operator", "restore"], "{found:#}");
        let lines = authors(&found);
        assert_eq!(lines[0], ("one".to_owned(), "before".to_owned()), "{found:#}");
        assert_eq!(lines[4], ("mine".to_owned(), "operator".to_owned()), "{found:#}");
    };
    check();
    sandbox.launch(&project, "true");
    check();
}

#[test]
fn what_is_written_after_a_restore_is_the_operators() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("f"), "one\n").unwrap();
    fs::write(project.join("other"), "one\n").unwrap();
    let id = sandbox.launch(&project, "echo oops >> f; echo theirs >> other");
    sandbox.restore(&id, &["f"]);
    for name in ["f", "other"] {
        let file = project.join(name);
        let before = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{before}mine\n")).unwrap();
    }
    let check = || {
        expect(
            &blamed(&sandbox, &project, "f"),
            &[("one", "before"), ("mine", "operator")],
        );
        let other = blamed(&sandbox, &project, "other");
        expect(
            &other,
            &[("one", "before"), ("theirs", "session"), ("mine", "operator")],
        );
    };
    check();
    sandbox.launch(&project, "true");
    check();
}

#[test]
fn hidden_binary_and_hostile_content_is_safe() {
    let (sandbox, project) = workspace();
    fs::write(project.join(".env"), "TOKEN=hunter2\n").unwrap();
    fs::write(project.join("bin"), b"a\0b").unwrap();
    fs::write(project.join("odd\u{1b}[31m"), b"\x1b[2J\xff\xe2\x80\xae\n").unwrap();
    fs::write(project.join("url"), "https://me:hunter2@example.org/\n").unwrap();
    fs::write(project.join("closed"), "hunter2\n").unwrap();
    sandbox.launch(&project, "echo KEY=hunter2 >> .env; printf 'c\\0d' > bin");
    fs::set_permissions(project.join("closed"), fs::Permissions::from_mode(0o600)).unwrap();
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run().ok();
    run(&["blame", ".env"]).hides("hunter2").shows("--show-secrets");
    run(&["blame", ".env", "--json"]).hides("hunter2");
    run(&["blame", "closed"]).hides("hunter2").shows("--show-secrets");
    run(&["blame", "url"]).hides("hunter2");
    run(&["blame", ".env", "--show-secrets"]).shows("KEY=hunter2");
    run(&["blame", "bin"]).shows("a binary file");
    run(&["blame", "./odd\u{1b}[31m"]).harmless();
    run(&["log", "./odd\u{1b}[31m"]).harmless();
    assert!(
        blamed(&sandbox, &project, "bin")["lines"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn files_of_other_machines_are_blamed_too() {
    for kind in crate::carried::chosen(Kind::Ssh) {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        let project = sandbox.project("tree");
        fs::write(project.join("f"), "one\n").unwrap();
        let id = sandbox.launch(&project, "printf 'one\\nagent\\n' > f");
        fs::write(project.join("f"), "one\nagent\nyours\n").unwrap();
        let there = format!("{}/f", sandbox.target(&project));
        let found = sandbox.jackin(["blame", &there, "--json"]).ok().json();
        let written = [("one", "before"), ("agent", "session"), ("yours", "operator")];
        expect(&found, &written);
        let found = sandbox.jackin(["blame", &id, "f", "--json"]).ok().json();
        expect(&found, &written[..2]);
    }
}

#[test]
fn where_snapshots_are_pruned_all_calls_between_are_named() {
    let (sandbox, project) = workspace();
    sandbox.configure("config.toml", "[recovery.retention]\ncheckpoints = 1\n");
    fs::write(project.join("f"), "one\n").unwrap();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.prompt("go");
    for number in 0..4 {
        let text: String = (0..=number).map(|line| format!("call {line}\n")).collect();
        agent.call_that(&format!("call {number}"), |agent| {
            write(agent, &project, "f", &text)
        });
    }
    agent.stop();
    agent.end();
    agent.run().ok();
    let found = blamed(&sandbox, &project, "f");
    let steps = found["changes"].as_array().unwrap();
    let calls = |step: &Value| step["sessions"][0]["calls"].as_array().map_or(0, Vec::len);
    assert!(steps.iter().any(|step| calls(step) > 1), "{found:#}");
    assert!(steps[1..].iter().all(|step| step["by"] == "session"), "{found:#}");
    assert_eq!(found["unreadable"], 0);
}

#[test]
fn a_damaged_snapshot_makes_authors_uncertain_and_not_wrong() {
    let (sandbox, project) = workspace();
    fs::write(project.join("f"), "one\n").unwrap();
    let first = sandbox.launch(&project, "echo first >> f");
    let second = sandbox.launch(&project, "echo second >> f");
    sandbox.launch(&project, "echo third >> f");
    let shown = sandbox.jackin(["show", &second, "--json"]).ok().json();
    let snapshots = shown["instance"]["snapshots"].as_array().unwrap();
    let closing = snapshots.iter().find(|one| one["kind"] == "closing").unwrap();
    let id = closing["id"].as_str().unwrap().trim_start_matches("sn-");
    let archives = fs::read_dir(sandbox.store().join("archives")).unwrap();
    let own = archives.map(|entry| entry.unwrap().path());
    let own: Vec<PathBuf> = own.filter(|path| path.to_str().unwrap().contains(id)).collect();
    assert_eq!(own.len(), 1, "{id}");
    fs::remove_file(&own[0]).unwrap();
    let found = blamed(&sandbox, &project, "f");
    let authors = authors(&found);
    let sure = [("one", "before"), ("first", "session")];
    assert_eq!(
        authors[..2],
        sure.map(|(line, by)| (line.to_owned(), by.to_owned()))
    );
    assert_eq!(found["changes"][1]["sessions"][0]["instance"], first.as_str());
    assert_eq!(authors[2].1, "unknown", "{found:#}");
    assert_ne!(found["unreadable"], 0);
    let run = sandbox.command(["blame", "f"]).inside(&project).run().ok();
    run.shows("cannot be read");
}

#[test]
fn a_private_file_of_an_agent_is_described_as_a_whole() {
    let sandbox = Sandbox::new();
    let project = crate::agent_state::configure(&sandbox, "[recovery.state]\nhome = true\n");
    crate::agent_state::write(&sandbox.home(), ".claude/.credentials.json", "hunter2\n");
    let script = "echo hunter3 > ~/.claude/.credentials.json";
    let launch = ["launch", "shop", "--", "sh", "-c", script];
    sandbox.command(launch).inside(&project).run().ok();
    let file = sandbox.home().join(".claude/.credentials.json");
    let file = file.to_str().unwrap();
    let run = sandbox.jackin(["blame", file, "--show-secrets"]).ok();
    run.hides("hunter").shows("a private file of an agent");
    let log = sandbox
        .jackin(["log", file, "--json"])
        .ok()
        .hides("hunter")
        .json();
    assert_eq!(log["changes"][0]["by"], "session", "{log:#}");
}

/// A step of a drawn conversation.
#[derive(Clone, Debug)]
enum Step {
    /// A tool call that replaces, adds or removes lines.
    Call(Vec<(u8, Edit)>),
    /// The agent edits after a call, which is then its author.
    After(Vec<(u8, Edit)>),
    /// The turn ends, the operator edits, and the agent does in the next turn before any call.
    Between(Vec<(u8, Edit)>, Vec<(u8, Edit)>),
}

#[derive(Clone, Copy, Debug)]
enum Edit {
    Insert,
    Replace,
    Remove,
}

fn edits() -> impl Strategy<Value = Vec<(u8, Edit)>> {
    let edit = prop_oneof![Just(Edit::Insert), Just(Edit::Replace), Just(Edit::Remove)];
    prop::collection::vec((any::<u8>(), edit), 0..4)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => edits().prop_map(Step::Call),
        1 => edits().prop_map(Step::After),
        2 => (edits(), edits()).prop_map(|(yours, own)| Step::Between(yours, own)),
    ];
    prop::collection::vec(step, 1..7)
}

/// Lines of a file with their authors. Each text is unique, so that a difference has one reading.
#[derive(Default)]
struct Model {
    lines: Vec<(String, String)>,
    count: usize,
}

impl Model {
    fn edit(&mut self, edits: &[(u8, Edit)], by: &str) {
        for (at, edit) in edits {
            let at = usize::from(*at) % (self.lines.len() + 1);
            self.count += 1;
            let line = (format!("line {}", self.count), by.to_owned());
            match edit {
                Edit::Insert => self.lines.insert(at, line),
                Edit::Replace if at < self.lines.len() => self.lines[at] = line,
                Edit::Remove if at < self.lines.len() && self.lines.len() > 1 => drop(self.lines.remove(at)),
                _ => {}
            }
        }
    }

    fn text(&self) -> String {
        self.lines.iter().map(|(line, _)| format!("{line}\n")).collect()
    }
}

#[test]
fn blame_agrees_with_a_model_of_random_sessions() {
    let config = Config {
        cases: 12,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..Config::default()
    };
    let cases = (prop::collection::vec(steps(), 1..3), edits(), edits());
    TestRunner::new(config)
        .run(&cases, |(sessions, apart, last)| {
            let (sandbox, project) = workspace();
            let mut model = Model::default();
            model.edit(
                &[(0, Edit::Insert), (0, Edit::Insert), (0, Edit::Insert)],
                "before",
            );
            let file = project.join("f");
            fs::write(&file, model.text()).unwrap();
            for (number, steps) in sessions.iter().enumerate() {
                let mut agent = Conversation::new(&sandbox, &project, &format!("s{number}"));
                let mut turn = 1;
                agent.prompt("go");
                for (at, step) in steps.iter().enumerate() {
                    match step {
                        Step::Call(edits) => {
                            let command = format!("call {number} {at}");
                            model.edit(edits, &command);
                            let text = model.text();
                            agent.call_that(&command, |agent| write(agent, &project, "f", &text));
                        }
                        Step::After(edits) => {
                            agent.call_that("look", |_| {});
                            model.edit(edits, "look");
                            write(&mut agent, &project, "f", &model.text());
                            agent.call_that("look", |_| {});
                        }
                        Step::Between(edits, own) => {
                            agent.stop();
                            model.edit(edits, "operator");
                            write(&mut agent, &project, "f", &model.text());
                            turn += 1;
                            agent.prompt("again");
                            model.edit(own, &format!("turn {turn}"));
                            write(&mut agent, &project, "f", &model.text());
                        }
                    }
                }
                agent.stop();
                agent.end();
                agent.run().ok();
                model.edit(&apart, "operator");
                fs::write(&file, model.text()).unwrap();
            }
            model.edit(&last, "operator");
            fs::write(&file, model.text()).unwrap();
            let found = blamed(&sandbox, &project, "f");
            prop_assert_eq!(authors(&found), model.lines.clone(), "{:#}", found);
            Ok(())
        })
        .unwrap();
}

#[test]
fn two_agents_at_once_are_both_named() {
    let (sandbox, project) = workspace();
    fs::write(project.join("f"), "one\n").unwrap();
    let hook = |session: &str, event: &str, more: &Value| {
        let mut what = json!({"session_id": session, "cwd": project});
        what.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        sandbox.tell("claude", event, what.to_string().as_bytes()).ok();
    };
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "b"});
    for session in ["one", "two"] {
        hook(session, "SessionStart", &json!({}));
        hook(session, "UserPromptSubmit", &json!({"prompt": session}));
    }
    hook("one", "PreToolUse", &bash);
    fs::write(project.join("f"), "one\nalone\n").unwrap();
    hook("one", "PostToolUse", &bash);
    hook("two", "PreToolUse", &bash);
    hook("one", "PreToolUse", &bash);
    fs::write(project.join("f"), "one\nalone\nany\n").unwrap();
    for session in ["one", "two"] {
        hook(session, "PostToolUse", &bash);
        hook(session, "Stop", &json!({}));
        hook(session, "SessionEnd", &json!({}));
    }
    let found = blamed(&sandbox, &project, "f");
    let by: BTreeMap<String, usize> = found["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            let step = usize::try_from(line["change"].as_u64().unwrap()).unwrap();
            let sessions = found["changes"][step]["sessions"].as_array().unwrap();
            (line["text"].as_str().unwrap().to_owned(), sessions.len())
        })
        .collect();
    let expected = [("one", 0), ("alone", 1), ("any", 2)];
    let expected = expected.map(|(line, count)| (line.to_owned(), count));
    assert_eq!(by, expected.into(), "{found:#}");
}
