//! `hook install` adds our hooks to an agent's settings and nothing else, `uninstall` leaves the file as it was, and neither
//! writes what it should not.

mod refused;
mod trust;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use crate::support::compare::assert_untouched;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const CLAUDE: &str = r#"{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  // what it may do without asking
  "permissions": { "allow": ["Bash(npm run test:*)"], "deny": [] },
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          { "type": "command", "command": "~/bin/guard" } // theirs
        ]
      },
    ],
    "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }]
  },
  "unknown": { "kept": [1, 2.5e3, null] },
  "apiKey": "hush"
}
"#;

const CODEX: &str = "{\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": \"x\" }] }\r\n\t\t]\r\n\t}\r\n}";

const GEMINI: &str = "{\n    // mine\n    \"ui\": { \"theme\": \"GitHub\" },\n    \"mcpServers\": { \"x\": { \"env\": { \"T\": \"hush\" } } }, /* all */\n}";

const CURSOR: &str = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"preToolUse\": [{ \"command\": \"./guard.sh\", \"matcher\": \"Write\" }],\n    \
                      \"afterFileEdit\": []\n  }\n}\n";

const COPILOT: &str = "{\"version\":1,\"hooks\":{\"preToolUse\":[]},\"unknown\":true}";

/// Every agent and scope, with its file below the home or the project, and what people have in it; opencode has a file of ours.
const ALL: [(&str, &str, &str, Option<&str>); 13] = [
    ("claude", "user", ".claude/settings.json", Some(CLAUDE)),
    ("claude", "project", ".claude/settings.json", Some(CLAUDE)),
    ("claude", "local", ".claude/settings.local.json", Some(CLAUDE)),
    ("codex", "user", ".codex/hooks.json", Some(CODEX)),
    ("codex", "project", ".codex/hooks.json", Some(CODEX)),
    ("gemini", "user", ".gemini/settings.json", Some(GEMINI)),
    ("gemini", "project", ".gemini/settings.json", Some(GEMINI)),
    (
        "opencode",
        "user",
        ".config/opencode/plugins/jackin-recovery.js",
        None,
    ),
    (
        "opencode",
        "project",
        ".opencode/plugins/jackin-recovery.js",
        None,
    ),
    ("cursor", "user", ".cursor/hooks.json", Some(CURSOR)),
    ("cursor", "project", ".cursor/hooks.json", Some(CURSOR)),
    (
        "copilot",
        "user",
        ".copilot/hooks/jackin-recovery.json",
        Some(COPILOT),
    ),
    (
        "copilot",
        "project",
        ".github/hooks/jackin-recovery.json",
        Some(COPILOT),
    ),
];

/// A home with a project.
struct Desk {
    sandbox: Sandbox,
    project: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        Self { sandbox, project }
    }

    fn hook(&self, words: &[&str]) -> Run {
        // Without programs: no agent of this machine is asked for anything.
        self.hook_with("/nonexistent", words)
    }

    fn hook_with(&self, path: &str, words: &[&str]) -> Run {
        let words = ["hook"].iter().chain(words).copied();
        let command = self.sandbox.command(words).with("PATH", path);
        command.inside(&self.project).run()
    }

    /// The file of an agent.
    fn file(&self, scope: &str, below: &str) -> PathBuf {
        match scope {
            "user" => self.sandbox.home().join(below),
            _ => self.project.join(below),
        }
    }

    /// The same with a text.
    fn settings(&self, scope: &str, below: &str, text: &str) -> PathBuf {
        let file = self.file(scope, below);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn state(&self, agent: &str, scope: &str) -> String {
        let all = self.hook(&["status", agent, "--json"]).ok().json();
        let found = all["hooks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["scope"] == scope);
        found.unwrap()["state"].as_str().unwrap().to_owned()
    }
}

/// A workspace elsewhere is no protection here.
#[test]
fn an_installation_says_where_the_hooks_do_nothing() {
    let sandbox = Sandbox::new();
    let captured = sandbox.captured("shop", "");
    let other = sandbox.project("other");
    let install = |directory: &PathBuf| {
        let command = sandbox.command(["hook", "install", "claude", "--yes"]);
        command.inside(directory).run().ok()
    };
    install(&other)
        .shows("so the hooks do nothing there")
        .shows("init .");
    install(&captured).hides("do nothing");
}

#[test]
fn what_people_have_is_there_again_after_an_uninstall() {
    let desk = Desk::new();
    let own = env!("CARGO_BIN_EXE_jackin");
    for (agent, scope, below, text) in ALL {
        let Some(text) = text else { continue };
        let file = desk.settings(scope, below, text);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let install = ["install", agent, "--scope", scope, "--yes"];
        let run = desk.hook(&install).ok().harmless().hides("hush");
        run.has("+").has(own).has("Written: ");
        assert_eq!(run.said().contains("no protection"), scope != "user", "{run}");
        let with = fs::read_to_string(&file).unwrap();
        assert!(
            with.contains(&format!("{own} recovery hook run {agent} ")),
            "{with}"
        );
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o640);
        desk.hook(&install).ok().shows("Nothing to do");
        assert_eq!(fs::read_to_string(&file).unwrap(), with);
        assert_eq!(desk.state(agent, scope), "installed");
        desk.hook(&["uninstall", agent, "--scope", scope, "--yes"])
            .ok()
            .hides("hush")
            .shows("Written: ");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "{agent}");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o640);
        // Nothing but the settings of another scope lies beside it.
        let beside = if scope == "local" { 2 } else { 1 };
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), beside);
        assert_eq!(desk.state(agent, scope), "not-installed");
        desk.hook(&["uninstall", agent, "--scope", scope, "--yes"])
            .ok()
            .shows("Nothing to do");
    }
}

#[test]
fn an_installation_without_returns_is_completed_and_goes_whole() {
    let all = [
        ("claude", ".claude/settings.json", "PostToolUse", "Stop"),
        ("codex", ".codex/hooks.json", "PostToolUse", "Stop"),
        ("gemini", ".gemini/settings.json", "AfterTool", "AfterAgent"),
        (
            "copilot",
            ".copilot/hooks/jackin-recovery.json",
            "postToolUse",
            "agentStop",
        ),
    ];
    for (agent, below, returned, next) in all {
        let desk = Desk::new();
        desk.hook(&["install", agent, "--yes"]).ok();
        let file = desk.file("user", below);
        let text = fs::read_to_string(&file).unwrap();
        let at = |event: &str| text.find(&format!("    \"{event}\": [")).unwrap();
        let earlier = format!("{}{}", &text[..at(returned)], &text[at(next)..]);
        fs::write(&file, &earlier).unwrap();
        assert_eq!(desk.state(agent, "user"), "partly-installed", "{agent}");
        desk.hook(&["install", agent, "--yes"]).ok();
        assert_eq!(desk.state(agent, "user"), "installed", "{agent}");
        desk.hook(&["uninstall", agent, "--yes"]).ok();
        assert!(!file.exists(), "{agent}");
        desk.settings("user", below, &earlier);
        desk.hook(&["uninstall", agent, "--yes"]).ok();
        assert!(!file.exists(), "{agent}");
    }
}

#[test]
fn what_was_made_goes_with_its_directories() {
    let desk = Desk::new();
    let before = Tree::read(desk.sandbox.world());
    for (agent, scope, below, _) in ALL {
        desk.hook(&["install", agent, "--scope", scope, "--yes"]).ok();
        let file = desk.file(scope, below);
        let mode = fs::metadata(&file).unwrap().mode();
        assert_eq!(mode & 0o600, 0o600, "{mode:o}");
        assert_eq!(desk.state(agent, scope), "installed");
        let run = desk.hook(&["uninstall", agent, "--scope", scope, "--yes"]).ok();
        run.has("Removed: ");
        assert!(!file.exists());
    }
    assert!(
        before.paths().eq(Tree::read(desk.sandbox.world()).paths()),
        "something is left"
    );
    // Earlier content, and what is used by now, stays.
    let there = desk.project.join(".codex");
    fs::create_dir(&there).unwrap();
    desk.hook(&["install", "codex", "--scope", "project", "--yes"])
        .ok();
    desk.hook(&["uninstall", "codex", "--scope", "project", "--yes"])
        .ok();
    assert!(there.is_dir());
    desk.hook(&["install", "gemini", "--scope", "project", "--yes"])
        .ok();
    let used = desk.project.join(".gemini/GEMINI.md");
    fs::write(&used, "").unwrap();
    desk.hook(&["uninstall", "gemini", "--scope", "project", "--yes"])
        .ok();
    assert!(used.is_file());
}

#[test]
fn only_an_agent_with_local_settings_has_that_scope() {
    let desk = Desk::new();
    for action in ["install", "uninstall"] {
        desk.hook(&[action, "codex", "--scope", "local", "--yes"])
            .code(2)
            .shows("Codex has no local settings; its scopes are user and project")
            .shows("hook install codex --scope project");
    }
    desk.hook(&["install", "claude", "--scope", "local", "--yes"])
        .ok();
    assert!(desk.file("local", ".claude/settings.local.json").exists());
    assert!(!desk.file("project", ".claude/settings.json").exists());
    desk.hook(&["status"]).ok().shows("claude    local    installed");
    assert!(!desk.hook(&["status"]).text().contains("codex     local"));
}

#[test]
fn dry_run_and_no_answer_write_nothing() {
    let desk = Desk::new();
    let file = desk.settings("user", ".claude/settings.json", CLAUDE);
    let before = Tree::read(desk.sandbox.world());
    let run = desk
        .hook(&["install", "claude", "--dry-run"])
        .ok()
        .harmless()
        .hides("hush");
    run.shows("+++ ")
        .shows("hook run claude SessionStart")
        .shows("mcp__");
    desk.hook(&["install", "claude"])
        .code(4)
        .shows("hook run claude PreToolUse");
    let run = desk.hook(&["install", "claude", "--json"]).code(4);
    assert!(run.stdout.is_empty(), "{run}");
    let planned = desk
        .hook(&["install", "claude", "--dry-run", "--json"])
        .ok()
        .json();
    assert_eq!(planned["outcome"], "planned");
    assert_eq!(planned["path"], file.to_str().unwrap());
    assert!(
        planned["diff"]
            .as_str()
            .unwrap()
            .contains("hook run claude SessionEnd")
    );
    assert!(!planned["diff"].as_str().unwrap().contains("hush"), "{planned}");
    desk.hook(&["uninstall", "claude"]).ok().shows("Nothing to do");
    assert_untouched(&before, &Tree::read(desk.sandbox.world()));
    let written = desk.hook(&["install", "claude", "--yes", "--json"]).ok().json();
    assert_eq!(
        (&written["outcome"], &written["scope"]),
        (&"written".into(), &"user".into())
    );
    let asked = desk.hook(&["uninstall", "claude", "--json"]).code(4);
    assert!(asked.stderr.starts_with(b"{\"schema\""), "{asked}");
    desk.hook(&["uninstall", "claude"])
        .code(4)
        .shows("hook run claude PreToolUse");
    let removed = desk.hook(&["uninstall", "claude", "--yes", "--json"]).ok().json();
    assert_eq!(removed["outcome"], "written");
    assert_eq!(fs::read_to_string(&file).unwrap(), CLAUDE);
}

#[test]
fn status_tells_which_program_is_called() {
    let desk = Desk::new();
    desk.hook(&["status"])
        .ok()
        .shows("claude    user     not installed");
    let own = env!("CARGO_BIN_EXE_jackin");
    desk.hook(&["install", "cursor", "--yes"]).ok();
    let run = desk
        .hook(&["status", "cursor"])
        .ok()
        .shows(&format!("installed: {own}"));
    assert!(!run.said().contains("warning"), "{run}");
    let file = desk.file("user", ".cursor/hooks.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(own, "/gone/jackin")).unwrap();
    desk.hook(&["status"])
        .ok()
        .shows("/gone/jackin, which is not there");
    fs::write(&file, text.replace(own, "/bin/sh")).unwrap();
    desk.hook(&["status"])
        .ok()
        .shows("/bin/sh, which is not this program");
    // An installation brings them up to date.
    desk.hook(&["install", "cursor", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    fs::write(&file, text.replace("hook run cursor preToolUse", "x")).unwrap();
    desk.hook(&["status"])
        .ok()
        .shows("partly installed")
        .shows("not for preToolUse");
    // The plugin of an older version is completed.
    desk.hook(&["install", "opencode", "--yes"]).ok();
    let plugin = desk.file("user", ".config/opencode/plugins/jackin-recovery.js");
    let text = fs::read_to_string(&plugin).unwrap();
    fs::write(
        &plugin,
        text.replace("session.idle", "x").replace("chat.message", "y"),
    )
    .unwrap();
    desk.hook(&["status", "opencode"])
        .ok()
        .shows("not for chat.message, session.idle");
    desk.hook(&["install", "opencode", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&plugin).unwrap(), text);
}

#[test]
fn the_agents_own_variables_say_where_they_look() {
    let desk = Desk::new();
    let elsewhere = desk.sandbox.home().join("else where");
    for (variable, agent, below) in [
        ("CLAUDE_CONFIG_DIR", "claude", "settings.json"),
        ("CODEX_HOME", "codex", "hooks.json"),
        (
            "XDG_CONFIG_HOME",
            "opencode",
            "opencode/plugins/jackin-recovery.js",
        ),
        ("COPILOT_HOME", "copilot", "hooks/jackin-recovery.json"),
    ] {
        for verb in ["install", "uninstall"] {
            let command = desk.sandbox.command(["hook", verb, agent, "--yes"]);
            command
                .with(variable, &elsewhere)
                .inside(&desk.project)
                .run()
                .ok();
            assert_eq!(elsewhere.join(below).exists(), verb == "install");
        }
        assert!(!elsewhere.exists(), "{agent}");
    }
}

#[test]
fn who_captures_nothing_is_told_before_the_hooks_are_written() {
    let sandbox = Sandbox::new();
    let words = "until then the hooks do nothing";
    let run = sandbox.jackin(["hook", "install", "claude", "--dry-run"]).ok();
    run.has(words).has("jackin recovery init .");
    // The tests' program is in a build directory.
    run.has("`cargo clean` removes it; install it first");
    sandbox.captured("shop", "");
    let run = sandbox.jackin(["hook", "install", "claude", "--dry-run"]).ok();
    assert!(!run.said().contains(words), "{run}");
}

/// A command of the operator's that calls jackin as well is neither replaced nor removed, and counts as jackin's for its event.
#[test]
fn a_command_of_the_operators_that_calls_jackin_stays() {
    let desk = Desk::new();
    for before in [
        "notify-send done; ",
        "JACKIN_HOME_DIR=/mnt/store ",
        "say \\\"done\\\" && ",
    ] {
        let own = format!("{before}jackin recovery hook run claude Stop");
        let text = format!(
            "{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{own}\"}}]}}]}}}}\n"
        );
        let file = desk.file("user", ".claude/settings.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &text).unwrap();
        let status = desk.hook(&["status", "claude", "--json"]).ok().json();
        assert_eq!(status["hooks"][0]["programs"][0]["program"], "jackin", "{status}");
        desk.hook(&["install", "claude", "--yes"]).ok();
        let installed = fs::read_to_string(&file).unwrap();
        assert!(installed.contains(&own), "{installed}");
        assert_eq!(
            installed.matches("hook run claude Stop").count(),
            1,
            "{installed}"
        );
        assert!(installed.contains("hook run claude PreToolUse"), "{installed}");
        desk.hook(&["uninstall", "claude", "--yes"]).ok();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

/// The file that a person copies calls the program by its name.
#[test]
fn the_plugin_file_of_the_repository_is_known_and_its_program_found_in_path() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join(".config/opencode/plugins/jackin-recovery.js");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let shipped = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/packaging/opencode/jackin-recovery.js"
    );
    fs::copy(shipped, &file).unwrap();
    let status = |path: &str| {
        let words = ["hook", "status", "opencode", "--json"];
        let run = sandbox.command(words).with("PATH", path).run().ok();
        let program = run.json()["hooks"][0]["programs"][0].clone();
        assert_eq!(program["program"], "jackin-recovery", "{run}");
        (program["is_there"] == true, program["is_this"] == true)
    };
    let built = std::path::Path::new(env!("CARGO_BIN_EXE_jackin-recovery"));
    let built = built.parent().unwrap().to_str().unwrap();
    assert_eq!(status(&format!("/nowhere:{built}")), (true, true));
    assert_eq!(status("/nowhere"), (false, false));
    let doctor = sandbox.command(["doctor"]).with("PATH", built).run();
    doctor.has("opencode calls jackin-recovery");
    sandbox.jackin(["hook", "uninstall", "opencode", "--yes"]).ok();
    assert!(!file.exists());
}
