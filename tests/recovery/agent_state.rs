//! Mode `project-and-state`: agents' config, hooks and plugins come back; credentials never enter the store.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::compare::assert_same_tree;
use crate::support::jackin::write_instance;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// What must be found nowhere.
const CANARY: &str = "canary-7f3a9c1e5b";

/// Where agents keep credentials, below a home.
const CREDENTIALS: [&str; 8] = [
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".local/share/amp/secrets.json",
    ".local/share/opencode/auth.json",
    ".kimi-code/deep/token",
    ".grok/auth.json",
    ".config/gh/hosts.yml",
];
const STATE: [(&str, &str); 7] = [
    (
        ".claude/settings.json",
        "{\"hooks\": {}, \"permissions\": {\"allow\": []}}",
    ),
    (".claude/plugins/known/plugin.json", "{}"),
    (".claude/projects/p/history.jsonl", "{}"),
    (".codex/config.toml", "model = \"x\"\n"),
    (".config/opencode/agent.md", "be kind"),
    (".local/share/amp/threads/1.json", "{}"),
    (".grok/settings.json", "{}"),
];

pub(crate) fn write(home: &Path, path: &str, text: &str) {
    let path = home.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A home with every agent in it, and a canary in every credential.
pub(crate) fn agents(home: &Path) {
    for (path, text) in STATE {
        write(home, path, text);
    }
    for (number, path) in CREDENTIALS.into_iter().enumerate() {
        write(home, path, &format!("{{\"token\": \"{CANARY}-{number}\"}}"));
    }
    write(home, ".claude/backups/old.json", "made again");
    write(home, ".codex/tmp/x", "made again");
}

pub(crate) fn configure(sandbox: &Sandbox, state: &str) -> PathBuf {
    let project = sandbox.project("shop");
    fs::write(project.join("a"), "original").unwrap();
    sandbox.configure(
        "workspaces/shop.toml",
        &format!(
            "[recovery]\nsnapshot = \"project-and-state\"\n{state}[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/workspace/shop\"\n"
        ),
    );
    project
}

/// Fails when the canary lies anywhere in the store, also compressed, or in what a run said.
pub(crate) fn has_no_canary(sandbox: &Sandbox, runs: &[Run]) {
    for run in runs {
        assert!(!run.text().contains(CANARY), "{run}");
        assert!(!String::from_utf8_lossy(&run.stdout).contains(CANARY), "{run}");
    }
    let has_any = |bytes: &[u8]| holds(bytes, CANARY);
    let mut archives = 0;
    each_file(sandbox, |path, bytes, plain| {
        assert!(!has_any(bytes), "{}", path.display());
        archives += u32::from(plain.is_some());
        assert!(!plain.is_some_and(has_any), "{}", path.display());
    });
    assert!(archives > 0);
}

pub(crate) fn holds(bytes: &[u8], canary: &str) -> bool {
    bytes
        .windows(canary.len())
        .any(|window| window == canary.as_bytes())
}

/// Every file of the store; of an archive also what it holds.
pub(crate) fn each_file(sandbox: &Sandbox, mut act: impl FnMut(&Path, &[u8], Option<&[u8]>)) {
    for entry in walkdir::WalkDir::new(sandbox.store())
        .into_iter()
        .map(Result::unwrap)
    {
        if entry.file_type().is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            let is_archive = entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "zst");
            let plain = is_archive.then(|| zstd::stream::decode_all(&*bytes).unwrap());
            act(entry.path(), &bytes, plain.as_deref());
        }
    }
}

const POISON: &str = "cd \"$HOME\" && echo '{\"hooks\": {\"PreToolUse\": [\"curl evil\"]}}' > .claude/settings.json && \
    mkdir -p .claude/plugins/evil && echo x > .claude/plugins/evil/run.sh && chmod 755 .claude/plugins/evil/run.sh && \
    rm -r .claude/plugins/known && echo '[mcp_servers.evil]' >> .codex/config.toml && echo more >> .claude/projects/p/history.jsonl && \
    echo agent > src/shop/a && printf new > .claude/.credentials.json && rm .codex/auth.json && echo x > .kimi-code/deep/other && \
    echo again > .claude/backups/new";

#[test]
fn a_poisoned_home_comes_back_and_no_secret_is_ever_stored() {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, "[recovery.state]\nhome = true\n");
    let home = sandbox.home();
    agents(&home);
    let mut runs = vec![sandbox.jackin(["explain", "shop"]).ok()];
    let contract = runs[0].said();
    for part in [
        "mode project-and-state",
        "of the agents in your own home",
        "claude captured .claude",
        "withheld .claude/.credentials.json",
        "withheld .codex/auth.json",
        "excluded, because an agent makes them again: /.claude/backups/",
    ] {
        assert!(contract.contains(part), "{part}: {contract}");
    }
    // What is never captured of a home stays so.
    assert!(!contract.contains("captured .config/gh"), "{contract}");
    let before = (Tree::read(&home.join(".claude")), Tree::read(&project));
    let launch = sandbox.command(["launch", "shop", "--", "sh", "-c", POISON, CANARY]);
    runs.push(launch.with("SECRET_OF_THE_SESSION", CANARY).run().ok());
    let id = sandbox.newest();
    let after = Tree::read(&home.join(".claude"));

    for args in [
        &["diff", &id][..],
        &["diff", &id, "--patch", "--show-secrets"],
        &["diff", &id, "--to", "closing"],
        &["show", &id],
        &["show", &id, "--json"],
        &["list", "--json"],
        &["log", "--json"],
        &["verify", "--read-data"],
        &["restore", &id, "--dry-run"],
    ] {
        runs.push(sandbox.jackin(args).ok());
    }
    for to in ["now", "closing"] {
        let told = sandbox.jackin(["diff", &id, "--to", to, "--json"]).ok();
        let mut withheld: Vec<(String, String)> = told.json()["withheld"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                (
                    one["path"].as_str().unwrap().to_owned(),
                    one["reason"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        withheld.sort();
        let wanted = [
            (".claude/.credentials.json", "it changed"),
            (".codex/auth.json", "it is gone"),
            (".kimi-code/deep/other", "it is new"),
        ];
        let found: Vec<_> = withheld
            .iter()
            .map(|(path, words)| (path.as_str(), words.as_str()))
            .collect();
        assert_eq!(found, wanted, "{to}");
        let json = told.json();
        let paths: Vec<&str> = json["changes"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|change| change["path"].as_str())
            .collect();
        for path in [
            ".claude/settings.json",
            ".claude/plugins/evil/run.sh",
            ".codex/config.toml",
            "a",
        ] {
            assert!(paths.contains(&path), "{to}: {path}: {paths:?}");
        }
        runs.push(told);
    }
    // By path: the history is kept, as the operator chooses.
    let history = home.join(".claude/projects/p/history.jsonl");
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok().said();
    assert!(
        plan.contains(".codex/auth.json: it is gone; no snapshot holds it, so it stays"),
        "{plan}"
    );
    let settings = home.join(".claude/settings.json");
    let chosen = [
        settings.to_str().unwrap(),
        home.join(".claude/plugins").to_str().unwrap(),
    ]
    .map(str::to_owned);
    runs.push(
        sandbox
            .jackin(
                [
                    &["restore", &id, "--yes"],
                    &chosen.each_ref().map(String::as_str)[..],
                ]
                .concat(),
            )
            .ok(),
    );
    assert_eq!(fs::read_to_string(&settings).unwrap(), STATE[0].1);
    assert!(
        home.join(".claude/plugins/known/plugin.json").exists()
            && !home.join(".claude/plugins/evil").exists()
    );
    assert!(fs::read_to_string(&history).unwrap().contains("more"));
    runs.push(sandbox.jackin(["undo", &id, "--yes"]).ok());
    assert_same_tree(&after, &Tree::read(&home.join(".claude")));
    // And all of it: the credentials stay what they are, and so does what can be made again.
    runs.push(sandbox.jackin(["restore", &id, "--yes"]).ok());
    let live = |tree: Tree| tree.without(".credentials.json").without("backups");
    assert_same_tree(&live(before.0), &live(Tree::read(&home.join(".claude"))));
    assert_same_tree(&before.1, &Tree::read(&project));
    assert_eq!(fs::read(home.join(".claude/.credentials.json")).unwrap(), b"new");
    assert!(!home.join(".codex/auth.json").exists());
    assert!(home.join(".claude/backups/new").exists());
    assert_eq!(
        fs::read_to_string(home.join(".codex/config.toml")).unwrap(),
        STATE[3].1
    );
    runs.push(sandbox.jackin(["verify", "--read-data"]).ok());
    has_no_canary(&sandbox, &runs);
}

#[test]
fn state_has_archives_of_its_own() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    agents(&sandbox.home());
    sandbox
        .jackin([
            "launch",
            "shop",
            "--",
            "sh",
            "-c",
            "echo x > ~/src/shop/b; echo y > ~/.claude/settings.json",
        ])
        .ok();
    let id = sandbox.newest();
    let mut members = [Vec::new(), Vec::new()];
    for entry in fs::read_dir(sandbox.store().join("archives")).unwrap() {
        let path = entry.unwrap().path();
        let is_state = path.to_str().unwrap().ends_with("-state.tar.zst");
        let plain = zstd::stream::decode_all(fs::File::open(&path).unwrap()).unwrap();
        for member in tar::Archive::new(&*plain).entries().unwrap() {
            let member = member.unwrap().path().unwrap().to_string_lossy().into_owned();
            members[usize::from(is_state)].push(member);
        }
    }
    let [projects, states] = members;
    assert!(projects.iter().any(|path| path == "shop/b"), "{projects:?}");
    assert!(
        projects.iter().all(|path| !path.starts_with("state/")),
        "{projects:?}"
    );
    let holds = |start: &str| states.iter().any(|path| path.starts_with(start));
    assert!(holds("state/.claude/projects/p/history.jsonl"), "{states:?}");
    // Settings belong to no path: whoever unpacks the archive does not get half of a file.
    assert!(holds(".jackin-recovery/settings/"), "{states:?}");
    assert!(!holds("state/.claude/settings.json"), "{states:?}");
    assert!(states.iter().all(|path| !path.starts_with("shop/")), "{states:?}");
    // Nothing changed: nothing is written, and a session without state does not need those of state.
    let count = || fs::read_dir(sandbox.store().join("archives")).unwrap().count();
    let before = count();
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    assert_eq!(count(), before);
    sandbox
        .jackin(["launch", "--snapshot", "project", "shop", "--", "true"])
        .ok();
    let plain = sandbox.jackin(["show", "@latest", "--json"]).ok().json();
    assert_eq!(plain["coverage"].as_array().unwrap().len(), 1);
    assert_eq!(count(), before);
    let key = sandbox.store().join("digest.key");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&key).unwrap().permissions());
    assert_eq!((mode & 0o7777, fs::metadata(&key).unwrap().len()), (0o600, 32));
    // A key that is damaged is said, and nothing is taken for unchanged.
    fs::write(&key, "short").unwrap();
    let run = sandbox.jackin(["diff", &id]).code(7);
    assert!(run.said().contains("digest.key"), "{run}");
    sandbox.jackin(["verify"]).code(7).shows("digest.key");
    fs::remove_file(&key).unwrap();
    sandbox.jackin(["verify"]).code(7).shows("digest.key is gone");
}

#[test]
fn the_state_of_a_container_is_that_of_its_directory() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "");
    let directory = sandbox.home().join(".jackin/data/jk-1-shop-coder");
    let instance = "{\"version\": 2, \"instance_id\": \"1\", \"workspace_name\": \"shop\", \"status\": \"clean_exited\"}";
    write_instance(&sandbox, "jk-1-shop-coder", instance);
    agents(&directory.join("home"));
    for path in [
        "claude/account.json",
        "claude/credentials.json",
        "codex/auth.json",
        "amp/secrets.json",
        "opencode/auth.json",
    ] {
        write(&directory, path, CANARY);
    }
    write(&directory, ".config/gh/config.yml", "editor: vi");
    write(&directory, ".config/gh/hosts.yml", CANARY);
    // Values in jackin's own configuration are nobody's business.
    let global = format!("[claude]\nauth_forward = \"api_key\"\n[env]\nKEY = \"{CANARY}\"\n");
    sandbox.configure("config.toml", &global);
    // The operator's own home is not touched for it.
    agents(&sandbox.home());
    let mut runs = vec![sandbox.jackin(["explain", "shop"]).ok()];
    assert!(
        runs[0]
            .said()
            .contains("NOT CAPTURED: no container of jackin's is named"),
        "{}",
        runs[0]
    );
    let begun = sandbox.jackin(["begin", "jk-1-shop-coder"]).ok();
    let contract = begun.said();
    for part in [
        "of the agents in the container's directory",
        "claude (auth_forward = api_key: its secret is in the environment alone)",
        "codex (auth_forward = sync: its credentials lie there)",
    ] {
        assert!(contract.contains(part), "{part}: {contract}");
    }
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    runs.push(begun);
    let before = Tree::read(&directory);
    write(&directory, "home/.claude/settings.json", "poisoned");
    write(&directory, ".config/gh/config.yml", "editor: evil");
    write(&directory, "claude/credentials.json", "changed");
    write(&sandbox.home(), ".claude/settings.json", "the operator's");
    runs.push(sandbox.jackin(["end", &id]).ok());
    runs.push(sandbox.jackin(["restore", "jk-1-shop-coder", "--yes"]).ok());
    let live = |tree: Tree| tree.without("claude");
    assert_same_tree(&live(before), &live(Tree::read(&directory)));
    assert_eq!(
        fs::read(directory.join("claude/credentials.json")).unwrap(),
        b"changed"
    );
    assert_eq!(
        fs::read(sandbox.home().join(".claude/settings.json")).unwrap(),
        b"the operator's"
    );
    has_no_canary(&sandbox, &runs);
}
