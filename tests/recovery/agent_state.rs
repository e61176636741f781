//! Mode `project-and-state`: agents' config, hooks and plugins come back; credentials never enter the store.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agent_encrypted::state as encrypted;
use crate::support::compare::assert_same_tree;
use crate::support::jackin::write_instance;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::search;
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
    search::holds(bytes, canary.as_bytes())
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
        "skipped .claude/.credentials.json",
        "skipped .codex/auth.json",
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
        plan.contains(".codex/auth.json: it is gone; no snapshot has it, so it stays"),
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
    sandbox.jackin(["verify"]).code(7).shows("digest.key is missing");
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
            .contains("NOT CAPTURED: no jackin container is named"),
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

#[test]
fn sessions_beside_each_other_in_one_home_do_not_get_in_each_others_way() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    agents(&sandbox.home());
    let with_state = sandbox.jackin(["begin", "shop"]).ok();
    let with_state = String::from_utf8_lossy(&with_state.stdout).trim().to_owned();
    let other = sandbox.project("other");
    fs::write(other.join("a"), "original").unwrap();
    let id = sandbox.launch(&other, "echo agent > a");
    // The first one lives, and lies elsewhere.
    sandbox.restore(&id, &[]);
    sandbox.jackin(["restore", &with_state, "--yes"]).code(3);
    sandbox.jackin(["end", &with_state]).ok();
}

#[test]
fn state_behind_a_link_is_missing_because_of_the_link() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    let home = sandbox.home();
    write(&home, "dotfiles/claude/settings.json", "{}");
    std::os::unix::fs::symlink("dotfiles/claude", home.join(".claude")).unwrap();
    let begun = sandbox.jackin(["begin", "shop"]).ok();
    begun.has(".claude: a link, whose target is not captured");
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    sandbox.jackin(["end", &id]).ok();
    let shown = sandbox.jackin(["show", &id]).ok();
    shown.has("/.claude: a link, whose target is not captured");
    assert!(!shown.text().contains("secret"), "{shown}");
}

#[test]
fn an_agent_that_comes_with_its_credential_goes_without_it() {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, "[recovery.state]\nhome = true\n");
    let home = sandbox.home();
    write(&home, "dotfiles/claude/settings.json", "{}");
    std::os::unix::fs::symlink("dotfiles/claude", home.join(".claude")).unwrap();
    let contract = sandbox.jackin(["explain", "shop"]).ok().said();
    assert!(
        contract.contains("captured .claude WARNING: reached through a link"),
        "{contract}"
    );
    let script = "mkdir -p ~/.grok/deep && echo x > ~/.grok/deep/settings.json && echo secret > ~/.grok/auth.json; rm ~/.claude; mkdir ~/.claude";
    sandbox.jackin(["launch", "shop", "--", "sh", "-c", script]).ok();
    sandbox.jackin(["restore", "@latest", "--yes"]).code_in(&[0, 6]);
    assert_eq!(fs::read(home.join(".grok/auth.json")).unwrap(), b"secret\n");
    assert!(!home.join(".grok/deep").exists());
    assert_eq!(
        fs::read_link(home.join(".claude")).unwrap(),
        Path::new("dotfiles/claude")
    );
    assert!(project.join("a").exists());
    let id = sandbox.newest();
    sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 6]);
    assert_eq!(fs::read(home.join(".grok/deep/settings.json")).unwrap(), b"x\n");
    assert_eq!(fs::read(home.join(".grok/auth.json")).unwrap(), b"secret\n");
    assert!(home.join(".claude").is_dir());
}

#[test]
fn no_mount_is_a_way_around() {
    let sandbox = Sandbox::new();
    agents(&sandbox.home());
    let directory = sandbox.home().join(".jackin/data/jk-1");
    agents(&directory.join("home"));
    write(&directory, "claude/credentials.json", "x");
    for place in [
        ".kimi-code",
        ".kimi-code/deep",
        ".jackin/data/jk-1/home/.kimi-code",
    ] {
        let place = sandbox.home().join(place);
        let run = sandbox
            .jackin(["explain", "--snapshot", "project", place.to_str().unwrap()])
            .code(2);
        assert!(run.said().contains("an agent's credentials"), "{run}");
    }
    for place in [directory.clone(), directory.join("home")] {
        let id = sandbox.launch(&place, "true");
        has_no_canary(&sandbox, &[]);
        sandbox.jackin(["verify", "--read-data"]).ok();
        drop(id);
    }
}

#[test]
fn a_mount_in_a_state_directory_takes_its_part_and_no_more() {
    let sandbox = Sandbox::new();
    agents(&sandbox.home());
    let skills = sandbox.home().join(".claude/a b[1]");
    fs::create_dir_all(&skills).unwrap();
    fs::write(skills.join("one"), "1").unwrap();
    sandbox.configure(
        "config.toml",
        "[recovery]\nsnapshot = \"project-and-state\"\n[recovery.state]\nhome = true\n",
    );
    let run = sandbox
        .jackin([
            "launch",
            skills.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            "echo 2 > \"$HOME/.claude/a b[1]/one\"; echo x > ~/.claude/settings.json",
        ])
        .ok();
    drop(run);
    let told = sandbox.jackin(["diff", "@latest", "--json"]).ok().json();
    let changes: Vec<(&str, &str)> = told["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            (
                change["mount"].as_str().unwrap(),
                change["path"].as_str().unwrap(),
            )
        })
        .collect();
    let home = sandbox.home().canonicalize().unwrap();
    assert_eq!(
        changes,
        [
            (skills.canonicalize().unwrap().to_str().unwrap(), "one"),
            (home.to_str().unwrap(), ".claude/settings.json")
        ]
    );
    sandbox.jackin(["restore", "@latest", "--yes"]).ok();
    assert_eq!(fs::read(skills.join("one")).unwrap(), b"1");
}

#[test]
fn that_only_a_credential_changed_is_a_difference_and_a_path_is_found_from_elsewhere() {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, "[recovery.state]\nhome = true\n");
    agents(&sandbox.home());
    sandbox
        .jackin([
            "launch",
            "shop",
            "--",
            "sh",
            "-c",
            "echo new > ~/.codex/auth.json",
        ])
        .ok();
    let run = sandbox.jackin(["diff", "@latest", "--exit-code"]).code(1);
    assert!(!run.text().contains("no differences"), "{run}");
    sandbox
        .jackin(["launch", "shop", "--", "sh", "-c", "echo agent > ~/src/shop/a"])
        .ok();
    sandbox.jackin(["restore", "@latest", "a", "--yes"]).ok();
    assert_eq!(fs::read(project.join("a")).unwrap(), b"original");
    let run = sandbox.jackin(["diff", "@latest", "--from", "typo"]).code(5);
    assert!(!run.said().contains("has no files"), "{run}");
    // A container that works elsewhere in the home is nobody's business here.
    let other = sandbox.project("other");
    sandbox.configure(
        "workspaces/other.toml",
        &format!("[[mounts]]\nsrc = \"{}\"\ndst = \"/o\"\n", other.display()),
    );
    let elsewhere = "{\"version\": 2, \"workspace_name\": \"other\", \"status\": \"running\"}";
    write_instance(&sandbox, "jk-2", elsewhere);
    sandbox.jackin(["restore", "@latest", "--dry-run"]).ok();
    // Without the key nothing can be said, and that is said.
    fs::remove_file(sandbox.store().join("digest.key")).unwrap();
    let told = sandbox.jackin(["diff", "@latest", "--now", "--json"]).ok().json();
    let reasons: Vec<&str> = told["withheld"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["reason"].as_str().unwrap())
        .collect();
    assert!(
        !reasons.is_empty()
            && reasons
                .iter()
                .all(|reason| *reason == "it is unknown whether it changed"),
        "{told}"
    );
}

const KEY: &str = "age1pv3t7xy42wx35l0gvyn29t475hgukr2cut2e9dtmcwe5ggrk7s2sjs9uq3";

/// The directories of each agent, with a settings file in it.
const HOMES: [(&str, &str); 10] = [
    (".claude", "settings.json"),
    (".claude/plugins/p", "settings.json"),
    (".claude/projects/p", "settings.json"),
    (".codex", "config.toml"),
    (".config/amp", "settings.json"),
    (".local/share/amp", "secrets.json"),
    (".config/opencode", "opencode.json"),
    (".local/share/opencode/storage/session", "auth.json"),
    (".grok", "user-settings.json"),
    (".config/gh", "hosts.yml"),
];

/// Names of copies of `name`, and of files that hold secrets by design.
fn names(name: &str) -> Vec<String> {
    let (stem, end) = name.rsplit_once('.').unwrap();
    let mut all: Vec<String> = [
        ".swp", ".swo", ".swx", "~", ".bak", ".bak.1", ".orig", ".old", ".save", ".tmp", ".1",
    ]
    .iter()
    .flat_map(|end| [format!("{name}{end}"), format!(".{name}{end}")])
    .collect();
    all.extend([
        format!("#{name}#"),
        format!(".#{name}"),
        format!("{name}.BAK"),
        format!("{name}.~1~"),
        format!("{stem}.bak.{end}"),
        format!("{stem} copy.{end}"),
        format!("{stem}.{}", end.to_uppercase()),
        name.to_uppercase(),
        format!("{stem}.jsonc"),
        format!("{stem}.json5"),
        format!("{stem}.ini"),
        format!("{stem}.env"),
        stem.to_owned(),
    ]);
    let others = [
        "Auth.json",
        "AUTH.JSON",
        "Credentials.json",
        "oauth_creds.json",
        ".Credentials.Json",
        "config.json",
        "opencode.jsonc",
        ".mcp.json",
        ".MCP.json",
        "mcp.json",
        ".env",
        ".ENV",
        ".env.local",
        "Server.PEM",
        "id_ed25519",
        "token",
        "api_key",
        ".netrc",
        ".npmrc",
        "cookies.txt",
        "cookies.sqlite",
        "12345.lock",
        "log",
        "settings.local.JSON",
    ];
    all.extend(others.map(str::to_owned));
    all.sort();
    all.dedup();
    all
}

/// Contents of such files, with and without readable keys.
fn texts(number: usize) -> [String; 5] {
    [
        format!(
            "{{\"authToken\": \"{CANARY}-{number}\", \"headers\": {{\"X-A\": \"{CANARY}-{number}\"}}, \"env\": {{\"B\": \"{CANARY}-{number}\"}}}}"
        ),
        format!("// a comment\n{{\"authToken\": \"{CANARY}-{number}\"}}"),
        format!("\u{feff}{{\"apiKey\": \"{CANARY}-{number}\"}}"),
        format!("token = \"{CANARY}-{number}\"\n"),
        format!("b0VIM 9.0\0\0\0me\0\0{{\"apiKey\": \"{CANARY}-{number}\"}}\0\u{1}"),
    ]
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn no_copy_of_a_settings_file_enters_the_store_readably() {
    for secrets in [None, Some(KEY)] {
        for turn in 0..5 {
            let sandbox = Sandbox::new();
            match secrets {
                None => configure(&sandbox, "[recovery.state]\nhome = true\n"),
                Some(key) => configure(&sandbox, &encrypted(&[key])),
            };
            let home = sandbox.home();
            let mut number = 0;
            for (dir, name) in HOMES {
                for name in names(name) {
                    number += 1;
                    write(&home, &format!("{dir}/{name}"), &texts(number)[turn]);
                }
            }
            let later = "for d in .claude .codex .config/opencode; do printf '{\"authToken\": \"%s\"}' \"$C\" > \"$HOME/$d/.new.json.swp\"; \
                         printf '%s' \"$C\" > \"$HOME/$d/unknown\"; done";
            let launch = sandbox.command(["launch", "shop", "--", "sh", "-c", later]);
            let mut runs = vec![launch.with("C", CANARY).run().ok()];
            let id = sandbox.newest();
            runs.push(sandbox.jackin(["show", &id, "--json"]).ok());
            runs.push(sandbox.jackin(["diff", &id, "--patch"]).ok());
            runs.push(sandbox.jackin(["restore", &id, "--yes"]));
            has_no_canary(&sandbox, &runs);
            // What is no secret is not lost in the store, either: it stays where it is.
            assert!(home.join(".claude/.new.json.swp").exists());
        }
    }
}

#[test]
fn what_agents_run_and_remember_comes_back() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    let home = sandbox.home();
    for (path, text) in [
        (".claude/CLAUDE.md", "be kind"),
        (".claude/skills/s/SKILL.md", "a skill"),
        (".claude/skills/s/run", "#!/bin/sh\necho hi\n"),
        (".claude/skills/s/LICENSE", "a token of account"),
        (".claude/commands/c.md", "a command"),
        (".claude/agents/a.md", "an agent"),
        (".claude/hooks/guard.py", "print(1)"),
        (".claude/hooks/guard", "#!/bin/sh\nexit 0\n"),
        (
            ".claude/plugins/p/.claude-plugin/plugin.json",
            "{\"name\": \"p\"}",
        ),
        (".claude/plugins/p/node_modules/x/index.cjs", "x"),
        (".claude/plugins/p/.git/HEAD", "ref: refs/heads/main\n"),
        (".claude/keybindings.json", "{\"a\": \"b\"}"),
        (".claude/projects/p/1.jsonl", "{}"),
        (".claude/todos/1.json", "[]"),
        (".codex/AGENTS.md", "be quick"),
        (".codex/prompts/p.md", "a prompt"),
        (".codex/rules/default.rules", "allow ls"),
        (".codex/sessions/2026/11/1.jsonl", "{}"),
        (".codex/hooks.json", "{\"hooks\": {}}"),
        (".config/opencode/opencode.jsonc", "{\"theme\": \"dark\"}"),
        (".config/opencode/themes/t.json", "{}"),
        (".local/share/opencode/storage/session/s.json", "{}"),
        (".local/share/amp/threads/t.json", "{}"),
        (".grok/GROK.md", "be brief"),
    ] {
        write(&home, path, text);
    }
    let dirs = [".claude", ".codex", ".config/opencode", ".local/share", ".grok"];
    let read = || dirs.map(|dir| Tree::read(&home.join(dir)));
    let before = read();
    let script = "cd && find .claude .codex .config/opencode .local/share .grok -type f | while read -r f; do \
                  case $f in *.json*) echo '{\"evil\": 1}' > \"$f\";; *) echo evil > \"$f\";; esac; done; \
                  mkdir -p .claude/plugins/evil; echo evil > .claude/plugins/evil/run; echo '{}' > .claude/evil.json; echo x > .codex/rules/evil.rules";
    sandbox.jackin(["launch", "shop", "--", "sh", "-c", script]).ok();
    sandbox.jackin(["restore", &sandbox.newest(), "--yes"]).ok();
    for (before, after) in before.iter().zip(&read()) {
        assert_same_tree(before, after);
    }
    sandbox.jackin(["verify", "--read-data"]).ok();
}

#[test]
fn the_contract_says_what_is_stored_split_and_left_out() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    write(&sandbox.home(), ".claude/settings.json", "{}");
    let contract = sandbox.jackin(["explain", "shop"]).ok().said();
    for part in [
        "skipped, because they are not known to be free of secrets: *",
        "stored as they are, because they are documents or code:",
        "stored as they are, because they are conversations, with what was typed in them: /.claude/projects/**/*.jsonl",
        "stored without secrets, because they may be settings: *.{json,jsonc,toml,yml,yaml}",
        "skipped, because credentials have such names: *credentials.json*",
        "skipped, because editors and agents name copies so: *~",
    ] {
        assert!(contract.contains(part), "{part}: {contract}");
    }
    assert!(!holds(contract.as_bytes(), "[aA]"), "{contract}");
}
