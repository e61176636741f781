//! Settings files as people write them.

use super::super::json::read;
use super::super::{After, Program, install, look, uninstall};
use super::{WITH_SETTINGS, installed, ours, program, there_and_back};
use crate::agents::Agent;

/// Settings files in every form that an agent may have.
const ANY: &[&str] = &[
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\r\n}\r\n",
    "\u{feff}{}",
    "// mine\n{ /* nothing yet */ }\n",
    "{ // nothing\n}",
    "{\"a\":1}",
    "{\"a\":1,}",
    "{\"a\":1 /* one */}",
    "{\"a\":1, /* one */ }",
    "{\"a\":1 // one\n}",
    "{\"a\":1, // one\n\n\n}",
    "{\"a\":1 /* one\n two */ }",
    "{\"a\":1\n// one\n,\n// two\n}",
    "{\n  \"a\": [1, 2],\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {\n  },\n  \"b\": null\n}\n",
    "{\n  \"hooks\": { /* later */ },\n  \"b\": null\n}\n",
    "{\"hooks\":{}}",
    "{\"hooks\":{\"Other\":[]}}",
    "{\r\n\t\"a\": \"\\u00e4\\\"// no comment\",\r\n\t\"b\": {\r\n\t\t\"c\": [ ]\r\n\t}\r\n}",
    "/* one */ // two\n\n    {\n        \"deep\": true\n    }\n\n// three",
];

const CLAUDE: &[&str] = &[
    r#"{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  // what it may do without asking
  "permissions": {
    "allow": ["Bash(npm run test:*)", "mcp__github__get_issue"],
    "deny": ["Read(./.env)"],
  },
  "env": { "API_KEY": "hush" },
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          { "type": "command", "command": "~/bin/guard hook run claude PreToolUse" } // not ours
        ]
      }
    ],
    "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }]
  },
  "unknown": { "kept": [1, 2.5e3, -0, true, false, null] }
}
"#,
    "{\"hooks\":{\"SessionStart\":[],\"PreToolUse\":[ ],\"SessionEnd\":[\n]}}",
    "{\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"\", \"hooks\": []}, // empty\n\t\t],\n\t},\n}",
    "{\n    \"model\": \"opus\",\n    \"hooks\": {\n        \"SessionEnd\": [\n            {\"hooks\": [{\"command\": \"x\"}]}\n        ]\n    }\n}",
];

const CURSOR: &[&str] = &[
    "{\n  \"version\": 1,\n  \"hooks\": {\n    \"beforeShellExecution\": [\n      { \"command\": \"./guard.sh\" }\n    ],\n    \
     \"afterFileEdit\": [{ \"command\": \"./format.sh\" }]\n  }\n}\n",
    "{\"version\":1,\"hooks\":{\"stop\":[]}}",
];

const GEMINI: &[&str] = &[
    "{\n  // theme\n  \"ui\": { \"theme\": \"GitHub\" },\n  \"mcpServers\": { \"x\": { \"command\": \"npx\" } },\n  \"hooks\": {\n    \
     \"BeforeTool\": [{ \"matcher\": \"write_file\", \"hooks\": [{ \"name\": \"n\", \"type\": \"command\", \"command\": \"c\" }] }],\n  },\n}",
];

#[test]
fn what_was_there_is_there_again() {
    for agent in WITH_SETTINGS {
        for text in ANY {
            there_and_back(agent, text);
        }
    }
    for text in CLAUDE {
        for agent in [Agent::Claude, Agent::Codex] {
            there_and_back(agent, text);
        }
    }
    for text in CURSOR {
        there_and_back(Agent::Cursor, text);
        there_and_back(Agent::Copilot, text);
    }
    for text in GEMINI {
        there_and_back(Agent::Gemini, text);
    }
}

#[test]
fn a_file_that_was_made_goes() {
    for agent in Agent::ALL {
        assert_eq!(uninstall(agent, None), Ok(After::Same));
        let text = installed(agent, None);
        assert_eq!(install(agent, Some(&text), &ours()), Ok(After::Same));
        assert_eq!(uninstall(agent, Some(&text)), Ok(After::Gone), "{text}");
        // Also when another program installed over it.
        let other = program("/opt/jackin-recovery");
        let Ok(After::Text(moved)) = install(agent, Some(&text), &other) else {
            panic!("{agent}");
        };
        assert_ne!(moved, text);
        assert_eq!(uninstall(agent, Some(&moved)), Ok(After::Gone), "{moved}");
    }
}

#[test]
fn what_is_written_is_what_the_agents_read() {
    let text = installed(Agent::Claude, None);
    assert_eq!(
        text,
        r#"{
  "hooks": {
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude SessionStart",
            "timeout": 60
          }
        ]
      }
    ],
    "UserPromptSubmit": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude UserPromptSubmit",
            "timeout": 60
          }
        ]
      }
    ],
    "PreToolUse": [
      {
        "matcher": "^(Bash|Write|Edit|MultiEdit|NotebookEdit|EnterWorktree|ExitWorktree|mcp__.*)$",
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude PreToolUse",
            "timeout": 60
          }
        ]
      }
    ],
    "PostToolUse": [
      {
        "matcher": "^(Bash|Write|Edit|MultiEdit|NotebookEdit|EnterWorktree|ExitWorktree|mcp__.*)$",
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude PostToolUse",
            "timeout": 60
          }
        ]
      }
    ],
    "PostToolUseFailure": [
      {
        "matcher": "^(Bash|Write|Edit|MultiEdit|NotebookEdit|EnterWorktree|ExitWorktree|mcp__.*)$",
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude PostToolUseFailure",
            "timeout": 60
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude Stop",
            "timeout": 60
          }
        ]
      }
    ],
    "SessionEnd": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude SessionEnd",
            "timeout": 60
          }
        ]
      }
    ]
  }
}
"#
    );
    let json = |agent| serde_json::from_str::<serde_json::Value>(&installed(agent, None)).unwrap();
    let gemini = json(Agent::Gemini);
    assert_eq!(gemini["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 60_000);
    let cursor = json(Agent::Cursor);
    assert_eq!(cursor["version"], 1);
    assert_eq!(
        cursor["hooks"]["beforeShellExecution"][0]["command"],
        "/usr/bin/jackin recovery hook run cursor beforeShellExecution"
    );
    let copilot = json(Agent::Copilot);
    let hook = &copilot["hooks"]["preToolUse"][0];
    assert_eq!(
        (&hook["type"], &hook["timeoutSec"]),
        (&"command".into(), &60.into())
    );
    assert!(
        hook["bash"]
            .as_str()
            .unwrap()
            .ends_with("hook run copilot preToolUse")
    );
    let codex = json(Agent::Codex);
    assert_eq!(codex["hooks"].as_object().unwrap().len(), 6);
    // Codex lowers a longer time at the end of a session, and warns of it at every start.
    assert_eq!(codex["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"], 3);
}

/// Settings as version 0.1.0 wrote them, before prompts, turns and worktrees had hooks.
const OLD_CLAUDE: &str = r#"{
  "hooks": {
    "SessionStart": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude SessionStart",
            "timeout": 60
          }
        ]
      }
    ],
    "PreToolUse": [
      {
        "matcher": "^(Bash|Write|Edit|MultiEdit|NotebookEdit|mcp__.*)$",
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude PreToolUse",
            "timeout": 60
          }
        ]
      }
    ],
    "SessionEnd": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/usr/bin/jackin recovery hook run claude SessionEnd",
            "timeout": 60
          }
        ]
      }
    ]
  }
}
"#;

#[test]
fn an_older_installation_is_completed_and_goes_as_a_whole() {
    let found = look(Agent::Claude, Some(OLD_CLAUDE)).unwrap();
    assert_eq!(
        found.missing,
        [
            "UserPromptSubmit",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "PreToolUse(EnterWorktree|ExitWorktree)"
        ]
    );
    assert_eq!(uninstall(Agent::Claude, Some(OLD_CLAUDE)), Ok(After::Gone));
    let completed = installed(Agent::Claude, Some(OLD_CLAUDE));
    assert!(look(Agent::Claude, Some(&completed)).unwrap().missing.is_empty());
    assert_eq!(uninstall(Agent::Claude, Some(&completed)), Ok(After::Gone));
    // A pattern of the owner's is kept, and lacks nothing.
    let own = OLD_CLAUDE.replace("mcp__.*", "mcp__x");
    let completed = installed(Agent::Claude, Some(&own));
    assert!(completed.contains("mcp__x"), "{completed}");
    assert!(look(Agent::Claude, Some(&completed)).unwrap().missing.is_empty());
}

#[test]
fn it_takes_the_form_of_the_file() {
    let with = there_and_back(Agent::Claude, "{\n\t\"a\": 1 // why\n}\n");
    assert!(
        with.starts_with("{\n\t\"a\": 1, // why\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{\n"),
        "{with}"
    );
    let with = there_and_back(Agent::Codex, "{\r\n    \"a\": 1\r\n}\r\n");
    assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
    assert!(with.contains("\r\n        \"SessionStart\""), "{with}");
}

#[test]
fn the_command_of_another_place_is_replaced_where_it_stands() {
    let before = CLAUDE.first().unwrap();
    let old = Program::new(
        "/home/me/my tools/jackin-recovery".as_ref(),
        "'/home/me/my tools/jackin-recovery'",
    )
    .unwrap();
    let Ok(After::Text(with)) = install(Agent::Claude, Some(before), &old) else {
        panic!("nothing was installed");
    };
    let Ok(After::Text(moved)) = install(Agent::Claude, Some(&with), &ours()) else {
        panic!("nothing was replaced");
    };
    assert_eq!(with.lines().count(), moved.lines().count());
    let differ = with.lines().zip(moved.lines()).filter(|(a, b)| a != b);
    assert_eq!(differ.count(), 7);
    assert_eq!(
        uninstall(Agent::Claude, Some(&moved)),
        Ok(After::Text((*before).to_owned()))
    );
    // The owner's changes to jackin's entry are kept.
    let changed = with
        .replace("\"timeout\": 60", "\"timeout\": 5")
        .replace("mcp__.*", "mcp__x");
    let Ok(After::Text(moved)) = install(Agent::Claude, Some(&changed), &ours()) else {
        panic!("nothing was replaced");
    };
    assert!(
        moved.contains("\"timeout\": 5") && moved.contains("mcp__x"),
        "{moved}"
    );
}

#[test]
fn only_ours_are_taken_out_of_a_group_that_others_joined() {
    let text = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[
        {"command":"theirs"},
        {"command":"'/a b/jackin' recovery hook run claude PreToolUse"}, // ours
        {"command":"jackin-recovery hook run claude PostToolUse"},
        {"command":"lefthook run claude PreToolUse"}
    ]}],"Notification":[{"hooks":[{"command":"x/jackin-recovery hook run claude Notification"}]}]}}"#;
    let found = look(Agent::Claude, Some(text)).unwrap();
    assert_eq!(found.programs, ["/a b/jackin", "x/jackin-recovery"]);
    assert_eq!(found.events, ["PreToolUse", "Notification"]);
    assert_eq!(
        found.missing,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "SessionEnd"
        ]
    );
    let Ok(After::Text(without)) = uninstall(Agent::Claude, Some(text)) else {
        panic!("nothing was taken out");
    };
    read(&without).unwrap();
    assert!(
        without.contains("theirs") && without.contains("lefthook"),
        "{without}"
    );
    assert!(
        without.contains("PostToolUse\"}"),
        "the event is another: not ours\n{without}"
    );
    assert!(
        !without.contains("a b") && !without.contains("x/jackin"),
        "{without}"
    );
}

#[test]
fn what_an_agent_wrote_anew_is_cleaned_all_the_same() {
    for agent in WITH_SETTINGS {
        for text in ["{\"a\": 1}", "{}", "{\"hooks\": {}}"] {
            let with = installed(agent, Some(text));
            let value: serde_json::Value = serde_json::from_str(&with).unwrap();
            for anew in [
                serde_json::to_string(&value),
                serde_json::to_string_pretty(&value),
            ] {
                let Ok(After::Text(back)) = uninstall(agent, Some(&anew.unwrap())) else {
                    panic!("{agent}: {with}");
                };
                let mut back: serde_json::Value = serde_json::from_str(&back).unwrap();
                // Whose the empty containers are cannot be told any more.
                back.as_object_mut().unwrap().remove("hooks");
                let mut old: serde_json::Value = serde_json::from_str(text).unwrap();
                old.as_object_mut().unwrap().remove("hooks");
                assert_eq!(back, old);
            }
        }
    }
}

#[test]
fn the_program_of_opencode_is_known_again() {
    let text = installed(Agent::Opencode, None);
    let found = look(Agent::Opencode, Some(&text)).unwrap();
    assert_eq!(found.programs, ["/usr/bin/jackin"]);
    assert!(found.missing.is_empty());
    assert!(text.contains(r#"const CALL = ["/usr/bin/jackin","recovery","hook","run","opencode"];"#));
    let Ok(After::Text(direct)) = install(Agent::Opencode, Some(&text), &program("/x/jackin-recovery"))
    else {
        panic!("nothing was replaced");
    };
    assert!(direct.contains(r#"["/x/jackin-recovery","hook","run","opencode"]"#));
    let theirs = "export const Mine = async () => ({})\n";
    assert_eq!(uninstall(Agent::Opencode, Some(theirs)), Ok(After::Same));
    assert!(install(Agent::Opencode, Some(theirs), &ours()).is_err());
    assert!(look(Agent::Opencode, Some(theirs)).unwrap().programs.is_empty());
}
