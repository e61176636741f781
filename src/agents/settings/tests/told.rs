//! The command of a hook: written and recognized.

use super::super::Program;
use super::super::command::program_in;
use crate::agents::Agent;

#[test]
fn ours_are_known_by_their_end_and_nothing_else_is() {
    let known = |command: &str| program_in(command, Agent::Codex, "PreToolUse");
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
        assert_eq!(known(command).as_deref(), Some(program), "{command}");
    }
    for command in [
        "",
        "hook run codex PreToolUse",
        " recovery hook run codex PreToolUse",
        "lefthook run codex PreToolUse",
        "/usr/bin/other hook run codex PreToolUse",
        "/usr/bin/jackin recovery hook run codex PostToolUse",
        "/usr/bin/jackin recovery hook run claude PreToolUse",
        "/usr/bin/jackin recovery hook run codex PreToolUse && true",
        "/usr/bin/jackin recovery unhook run codex PreToolUse",
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
            assert_eq!(
                program_in(&command, agent, "x.y").as_deref(),
                Some(path),
                "{command}"
            );
        }
    }
}
