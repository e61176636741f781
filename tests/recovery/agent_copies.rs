//! Files in an agent's home that the table of agents does not name: copies that editors make, older names, other letters. None of them
//! enters the store readably.

use crate::agent_encrypted::state as encrypted;
use crate::agent_state::{configure, has_no_canary, holds, write};
use crate::support::compare::assert_same_tree;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const CANARY: &str = "canary-7f3a9c1e5b";
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
        "withheld, because they are not known to be free of secrets: *",
        "stored as they are, because they are documents or code:",
        "stored as they are, because they are conversations, with what was typed in them: /.claude/projects/**/*.jsonl",
        "stored without secrets, because they may be settings: *.{json,jsonc,toml,yml,yaml}",
        "withheld, because credentials have such names: *credentials.json*",
        "withheld, because editors and agents name copies so: *~",
    ] {
        assert!(contract.contains(part), "{part}: {contract}");
    }
    assert!(!holds(contract.as_bytes(), "[aA]"), "{contract}");
}
