//! The command of a hook: written and recognized.

use super::super::Program;
use super::super::command::{Call, call_in};
use crate::agents::Agent;

#[test]
fn ours_and_lines_that_call_us_are_known_and_nothing_else_is() {
    let known = |command: &str| call_in(command, Agent::Codex, "PreToolUse");
    for (command, program) in [
        (
            "/usr/bin/jackin recovery hook run codex PreToolUse",
            "/usr/bin/jackin",
        ),
        (" jackin recovery hook run codex PreToolUse\n", "jackin"),
        ("'/a b/it'\\''s' recovery hook run codex PreToolUse", "/a b/it's"),
        (
            "\"/a b/jackin-recovery\" hook run codex PreToolUse",
            "/a b/jackin-recovery",
        ),
        (
            "/x/jackin-recovery hook run codex PreToolUse",
            "/x/jackin-recovery",
        ),
        ("/x/renamed recovery hook run codex PreToolUse", "/x/renamed"),
    ] {
        let call = Call {
            program: program.to_owned(),
            is_whole: true,
        };
        assert_eq!(known(command), Some(call), "{command}");
    }
    // Lines of the operator's, which call jackin as well.
    for (command, program) in [
        (
            "notify-send done; jackin recovery hook run codex PreToolUse",
            "jackin",
        ),
        (
            "say 'a b' && \"/a b/jackin\" recovery hook run codex PreToolUse",
            "/a b/jackin",
        ),
        (
            "JACKIN_HOME_DIR=/mnt/store jackin recovery hook run codex PreToolUse",
            "jackin",
        ),
        (
            "nice\tjackin-recovery hook run codex PreToolUse",
            "jackin-recovery",
        ),
        (
            "\"$HOME/bin/jackin\" recovery hook run codex PreToolUse",
            "$HOME/bin/jackin",
        ),
        ("{ jackin recovery hook run codex PreToolUse", "jackin"),
        ("jackin recovery hook run codex PreToolUse || true", "jackin"),
        ("jackin recovery hook run codex PreToolUse 2>/dev/null", "jackin"),
        ("jackin recovery hook run codex PreToolUse; date", "jackin"),
        (
            "/usr/bin/jackin recovery hook run codex PreToolUse && true",
            "/usr/bin/jackin",
        ),
    ] {
        let call = Call {
            program: program.to_owned(),
            is_whole: false,
        };
        assert_eq!(known(command), Some(call), "{command}");
    }
    for command in [
        "",
        "hook run codex PreToolUse",
        " recovery hook run codex PreToolUse",
        "lefthook run codex PreToolUse",
        "/usr/bin/other hook run codex PreToolUse",
        "/usr/bin/jackin recovery hook run codex PostToolUse",
        "/usr/bin/jackin recovery hook run claude PreToolUse",
        "/usr/bin/jackin recovery hook run codex PreToolUse2",
        "'/usr/bin/jackin recovery hook run codex PreToolUse'",
        "/usr/bin/jackin recovery unhook run codex PreToolUse",
        "echo \"jackin recovery hook run codex PreToolUse",
        "date; recovery hook run codex PreToolUse",
        "date;  recovery hook run codex PreToolUse",
    ] {
        assert_eq!(known(command), None, "{command}");
    }
}

#[test]
fn what_is_written_is_known() {
    for (path, word) in [
        ("/usr/bin/jackin", "/usr/bin/jackin"),
        ("/a b/jackin-recovery", "'/a b/jackin-recovery'"),
        ("/it's/jackin", "'/it'\\''s/jackin'"),
    ] {
        let program = Program::new(path.as_ref(), word).unwrap();
        for agent in Agent::ALL {
            let command = program.command(agent, "x.y");
            let call = Call {
                program: path.to_owned(),
                is_whole: true,
            };
            assert_eq!(call_in(&command, agent, "x.y"), Some(call), "{command}");
        }
    }
}
