//! Input of a hook: JSON on standard input, with names that differ a little between agents. It is untrusted, like anything that
//! an agent writes: input that cannot be parsed is an error, and an unknown tool may change files.

mod ignored;
mod levels;

use std::path::PathBuf;

use serde::de::DeserializeSeed as _;
use serde_json::Value;

use self::ignored::ignored;
use self::levels::Levels;
use super::Agent;
use super::classify::{Effect, of_arguments, of_command};
use super::written_paths::written_paths;
use crate::diagnostic::{Diagnostic, ErrorKind};
use crate::model::{CallRef, Digest};

/// Maximum size of the input, in bytes; a tool call may hold a whole file.
pub const LARGEST: u64 = 32 << 20;

/// Maximum nesting depth of what is read of the input. The arguments of a tool may be nested more deeply, and its call is reported anyway.
const DEEPEST: usize = 100;

/// Kind of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// Start or continuation of an agent's session.
    Start,
    /// The operator asks for something: a turn begins. `None` if the agent sends no text.
    Prompt(Option<String>),
    /// A tool is about to be called.
    Tool(ToolCall),
    /// A tool has returned.
    ToolEnd(ToolCall),
    /// The agent has finished a turn, and waits for the operator.
    TurnEnd,
    /// End of the session; many agents never report it.
    End,
    /// Event that does not concern files.
    Other,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Name of the tool, as the agent calls it.
    pub tool: String,
    /// The agent's id of the call; `None` if the agent sends none.
    pub id: Option<String>,
    /// Effect of the call on files.
    pub effect: Effect,
    /// Command line of a shell; `None` for any other tool.
    pub command: Option<String>,
    /// Files that the call names as all that it writes, as the agent writes them; empty if it may write any.
    pub paths: Vec<PathBuf>,
    /// True if what it starts goes on after the call has returned.
    pub background: bool,
    /// True if a sub-agent calls.
    pub subagent: bool,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Kind of the event.
    pub happening: HookEvent,
    /// The agent's id of its session; empty if the agent sends none.
    pub session: String,
    /// Working directory of the agent, absolute; the roots of an editor's window if the agent sends no other, empty if it sends none at all.
    pub directories: Vec<PathBuf>,
}

/// Reason that an event cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// Input that is not a JSON object.
    #[error("the event of {agent} is not a JSON object: {why}")]
    Shape {
        /// The agent that sent it.
        agent: Agent,
        /// Description of the problem.
        why: String,
    },
    /// Unknown event name.
    #[error("unknown event {event:?} of {agent}")]
    Unknown {
        /// The agent that sent it.
        agent: Agent,
        /// The event's name.
        event: String,
    },
}

impl Diagnostic for EventError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }
}

impl Event {
    /// Parses what an agent sends for `event`.
    ///
    /// # Errors
    /// [`EventError`].
    pub fn parse(agent: Agent, event: &str, bytes: &[u8]) -> Result<Self, EventError> {
        let shape = |why: String| EventError::Shape { agent, why };
        let value = json(bytes).map_err(|error| shape(error.to_string()))?;
        if !value.is_object() {
            return Err(shape("it is something else".to_owned()));
        }
        let text = |names: &[&str]| -> Option<String> {
            let found = names.iter().find_map(|name| value.get(*name)?.as_str());
            found.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let directories: Vec<String> = match text(&["cwd", "directory"]) {
            Some(directory) => vec![directory],
            None => {
                let roots = value.get("workspace_roots").and_then(Value::as_array);
                let texts = roots.into_iter().flatten().filter_map(Value::as_str);
                texts.map(str::to_owned).collect()
            }
        };
        let happening = match plain(event).as_str() {
            "sessionstart" | "sessioncreated" => HookEvent::Start,
            "sessionend" | "sessiondeleted" => HookEvent::End,
            "pretooluse"
            | "beforetool"
            | "toolexecutebefore"
            | "beforeshellexecution"
            | "beforemcpexecution" => HookEvent::Tool(call(&value, &text)),
            "posttooluse"
            | "posttoolusefailure"
            | "aftertool"
            | "toolexecuteafter"
            | "aftershellexecution"
            | "aftermcpexecution" => {
                let mut call = call(&value, &text);
                call.background |= goes_on(agent, &value, &call);
                HookEvent::ToolEnd(call)
            }
            "userpromptsubmit"
            | "userpromptsubmitted"
            | "beforesubmitprompt"
            | "beforeagent"
            | "chatmessage" => HookEvent::Prompt(text(&["prompt"])),
            "stop" | "agentstop" | "afteragent" | "sessionidle" => HookEvent::TurnEnd,
            "afterfileedit" | "subagentstop" | "notification" => HookEvent::Other,
            other if ignored(agent).contains(&other) => HookEvent::Other,
            _ => {
                return Err(EventError::Unknown {
                    agent,
                    event: event.to_owned(),
                });
            }
        };
        // What a sub-agent is asked, and the end of its work, is no turn of the operator's.
        let is_of_subagent = text(&["agent_id", "agentId"]).is_some();
        let happening = match happening {
            HookEvent::Prompt(_) | HookEvent::TurnEnd if is_of_subagent => HookEvent::Other,
            HookEvent::Prompt(Some(text)) if is_notification(agent, &text) => HookEvent::Other,
            happening => happening,
        };
        Ok(Self {
            happening,
            session: text(&["session_id", "sessionId", "sessionID", "conversation_id"])
                .map(bounded)
                .unwrap_or_default(),
            directories: directories
                .into_iter()
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .collect(),
        })
    }
}

/// Parses JSON, if need be as [`repaired`]. A value below [`DEEPEST`] others is null.
fn json(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes).or_else(|error| {
        let text = repaired(bytes);
        let mut parser = serde_json::Deserializer::from_str(&text);
        let value = Levels(DEEPEST).deserialize(&mut parser);
        value
            .and_then(|value| parser.end().map(|()| value))
            .map_err(|_| error)
    })
}

/// Returns JSON with U+FFFD for what is no character: bytes that are not UTF-8, and halves of a surrogate pair. JavaScript writes such a half
/// where a text was cut in the middle of an emoji.
fn repaired(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        let low = || escape.get(6..).and_then(code_unit);
        let (shown, length) = match code_unit(escape) {
            Some(0xD800..=0xDBFF) if matches!(low(), Some(0xDC00..=0xDFFF)) => (None, 12),
            Some(0xD800..=0xDFFF) => (Some("\u{fffd}"), 6),
            _ => (None, escape.chars().take(2).map(char::len_utf8).sum()),
        };
        let (escape, after) = escape.split_at(length);
        repaired.push_str(before);
        repaired.push_str(shown.unwrap_or(escape));
        rest = after;
    }
    repaired + rest
}

/// Returns the number in an escape such as `\ud83d` at the beginning of a text.
fn code_unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// Longest id of a session that is kept, in bytes. Each event of the session is recorded with it.
const LONGEST_ID: usize = 256;

/// Returns an id of a session; in place of one that is too long, its digest.
fn bounded(id: String) -> String {
    match id.len() > LONGEST_ID {
        true => Digest::of(id.as_bytes()).to_string(),
        false => id,
    }
}

/// Beginnings of the prompts that Claude Code and Copilot give themselves when a command in the background has ended. Copilot does so
/// even behind the end of its session.
const NOTIFICATIONS: [&str; 2] = ["<task-notification>", "<system_notification>"];

/// Returns true for a prompt of an agent to itself.
fn is_notification(agent: Agent, text: &str) -> bool {
    matches!(agent, Agent::Claude | Agent::Copilot)
        && NOTIFICATIONS.iter().any(|beginning| text.starts_with(beginning))
}

/// Beginning of what Gemini CLI shows of a command that it no longer waits for.
const MOVED: &str = "Command moved to background";

/// End of the result of Copilot's shell when its command has ended: `<shellId: 2 completed with exit code 0>`.
const COMPLETED: &str = " completed with exit code ";

/// Returns true if a tool has returned although its command goes on. Claude Code does not wait longer than the call's timeout, and both
/// it and Gemini CLI let their operator send a command to the background. Codex says nothing before a command has ended.
fn goes_on(agent: Agent, value: &Value, call: &ToolCall) -> bool {
    let text = |response: &str, name: &str| value.get(response)?.get(name)?.as_str();
    match agent {
        Agent::Claude => text("tool_response", "backgroundTaskId").is_some(),
        Agent::Gemini => text("tool_response", "returnDisplay").is_some_and(|shown| shown.starts_with(MOVED)),
        Agent::Copilot if is_shell(&call.tool) => {
            text("toolResult", "textResultForLlm").is_some_and(|text| {
                let last = text.trim_end().lines().next_back();
                !last.is_some_and(|last| last.starts_with("<shellId: ") && last.contains(COMPLETED))
            })
        }
        _ => false,
    }
}

/// Returns the name in lower case, with only its letters and digits.
fn plain(event: &str) -> String {
    event
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn call(value: &Value, text: &dyn Fn(&[&str]) -> Option<String>) -> ToolCall {
    let given = ["tool_input", "toolArgs", "tool_args", "args", "arguments"]
        .into_iter()
        .find_map(|name| value.get(name));
    // Some hand the arguments over as a text of JSON.
    let inner: Option<Value> = given
        .and_then(Value::as_str)
        .and_then(|text| json(text.as_bytes()).ok());
    let input = inner.as_ref().or(given).unwrap_or(value);
    let tool = text(&["tool_name", "toolName", "tool"]).unwrap_or_else(|| UNNAMED_SHELL.to_owned());
    let command = is_shell(&tool).then(|| command_of(input)).flatten();
    let is_set = |name: &&str| input.get(*name).and_then(Value::as_bool) == Some(true);
    ToolCall {
        effect: effect(&tool, input),
        command,
        paths: written_paths(&plain(&tool), input),
        background: ["run_in_background", "is_background", "detach"]
            .iter()
            .any(is_set)
            || input.get("mode").and_then(Value::as_str) == Some("async"),
        subagent: text(&["agent_id", "agentId"]).is_some(),
        id: text(&["tool_use_id", "toolUseId", "call_id", "callID", "tool_call_id"]),
        tool,
    }
}

/// Tools of the agents that only read files, or do not touch any.
const READS: [&str; 34] = [
    "read",
    "readfile",
    "readmanyfiles",
    "notebookread",
    "view",
    "viewimage",
    "glob",
    "grep",
    "grepsearch",
    "searchfilecontent",
    "codebasesearch",
    "filesearch",
    "ls",
    "list",
    "listdir",
    "listdirectory",
    "listfiles",
    "webfetch",
    "fetch",
    "websearch",
    "googlewebsearch",
    "todoread",
    "todowrite",
    "updateplan",
    "exitplanmode",
    "enterplanmode",
    "askuserquestion",
    "bashoutput",
    "readbash",
    "taskoutput",
    "toolsearch",
    "readlints",
    "reportintent",
    "skill",
];
/// Tools that run a command line.
const SHELLS: [&str; 8] = [
    "bash",
    "shell",
    "localshell",
    "runshellcommand",
    "runterminalcmd",
    "execcommand",
    "runcommand",
    "exec",
];

/// jackin's own MCP tools, named as agents do: after `mcp` and the name of the server. They change files only through a restore,
/// which saves the previous state itself; a checkpoint before a restore to the newest checkpoint would itself be the newest.
const OWN: [&str; 8] = [
    "snapshotcreate",
    "snapshotlist",
    "snapshotdiff",
    "snapshotrestore",
    "snapshotfork",
    "sessioncheckpoint",
    "sessioncheckpoints",
    "sessionrestore",
];

/// Returns true if a tool of this name, from any server, may be one of jackin's own.
#[must_use]
pub fn may_be_own(tool: &str) -> bool {
    let name = plain(tool);
    OWN.iter().any(|own| name.ends_with(own))
}

/// Returns true for `jackin-recovery` and one of its tools, behind `mcp` or not. Claude Code names the servers of a plugin
/// `plugin_PLUGIN_SERVER`; jackin's plugin has the name of its server.
fn is_own(name: &str) -> bool {
    const SERVER: &str = "jackinrecovery";
    let name = name.strip_prefix("mcp").unwrap_or(name);
    let name = name.strip_prefix(&format!("plugin{SERVER}")).unwrap_or(name);
    let tool = name.strip_prefix(SERVER);
    tool.is_some_and(|tool| OWN.contains(&tool))
}

/// Name of the tool in an event that is about a command and names no tool, as Cursor's `beforeShellExecution`.
const UNNAMED_SHELL: &str = "shell";

/// Returns true if two calls within a turn of Cursor are one. Cursor reports a command by two events: `preToolUse`, which names the tool,
/// and `beforeShellExecution`, which names none.
#[must_use]
pub fn is_reported_twice(one: &CallRef, other: &CallRef) -> bool {
    let is_unnamed = |call: &CallRef| call.tool == UNNAMED_SHELL;
    is_shell(&one.tool)
        && is_shell(&other.tool)
        && is_unnamed(one) != is_unnamed(other)
        && one.command.is_some()
        && one.command == other.command
}

fn is_shell(tool: &str) -> bool {
    SHELLS.contains(&plain(tool).as_str())
}

/// Returns the command line of a shell; the script of `bash -c` without the shell's name.
fn command_of(input: &Value) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => {
                    Some((*script).to_owned())
                }
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

fn effect(tool: &str, input: &Value) -> Effect {
    let name = plain(tool);
    if READS.contains(&name.as_str()) || is_own(&name) {
        return Effect::Reads;
    }
    if !SHELLS.contains(&name.as_str()) {
        return Effect::Changes;
    }
    match input.get("command").or_else(|| input.get("cmd")) {
        Some(Value::String(line)) => of_command(line),
        Some(Value::Array(words)) => {
            let words: Option<Vec<String>> = words
                .iter()
                .map(|word| word.as_str().map(str::to_owned))
                .collect();
            words.map_or(Effect::Changes, |words| of_arguments(&words))
        }
        _ => Effect::Changes,
    }
}

#[cfg(test)]
mod tests {
    //! Input from each agent, as its documentation describes it.

    use super::{Event, HookEvent, is_reported_twice};
    use crate::agents::{Agent, Effect};
    use crate::model::CallRef;

    fn tool(
        agent: Agent,
        event: &str,
        json: &str,
    ) -> (String, Option<String>, Effect, String, Option<String>) {
        let event = Event::parse(agent, event, json.as_bytes()).unwrap();
        let HookEvent::Tool(call) = event.happening else {
            panic!("{event:?}")
        };
        let directory = event.directories.first().map(|path| path.display().to_string());
        (call.tool, call.id, call.effect, event.session, directory)
    }

    #[test]
    fn each_agent_is_understood() {
        let claude = r#"{"session_id":"s1","transcript_path":"/t","cwd":"/w","permission_mode":"default",
            "hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf x","description":"d"},
            "tool_use_id":"toolu_1"}"#;
        let of = |id: Option<&str>| id.map(str::to_owned);
        assert_eq!(
            tool(Agent::Claude, "PreToolUse", claude),
            (
                "Bash".to_owned(),
                of(Some("toolu_1")),
                Effect::Changes,
                "s1".to_owned(),
                of(Some("/w"))
            )
        );
        let codex = r#"{"session_id":"c1","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"shell",
            "tool_input":{"command":["bash","-lc","ls | head"]}}"#;
        assert_eq!(tool(Agent::Codex, "PreToolUse", codex).2, Effect::Reads);
        let gemini = r#"{"session_id":"g1","cwd":"/w","hook_event_name":"BeforeTool","timestamp":"t",
            "tool_name":"run_shell_command","tool_input":{"command":"git clean -fdx"}}"#;
        assert_eq!(tool(Agent::Gemini, "BeforeTool", gemini).2, Effect::Changes);
        let cursor = r#"{"conversation_id":"k1","generation_id":"x","hook_event_name":"beforeShellExecution",
            "workspace_roots":["/w","/v"],"command":"cat a"}"#;
        assert_eq!(
            tool(Agent::Cursor, "beforeShellExecution", cursor),
            (
                "shell".to_owned(),
                None,
                Effect::Reads,
                "k1".to_owned(),
                of(Some("/w"))
            )
        );
        let copilot =
            r#"{"timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"touch a\"}"}"#;
        assert_eq!(
            tool(Agent::Copilot, "preToolUse", copilot),
            (
                "bash".to_owned(),
                None,
                Effect::Changes,
                String::new(),
                of(Some("/w"))
            )
        );
        let opencode = r#"{"session_id":"o1","cwd":"/w","tool_name":"edit","tool_input":{"filePath":"/w/a"},"tool_use_id":"c"}"#;
        assert_eq!(
            tool(Agent::Opencode, "tool.execute.before", opencode).2,
            Effect::Changes
        );
        for reading in ["Read", "Grep", "read_file", "list_directory", "todo_write"] {
            let json = format!(r#"{{"tool_name":"{reading}","tool_input":{{}}}}"#);
            assert_eq!(
                tool(Agent::Claude, "PreToolUse", &json).2,
                Effect::Reads,
                "{reading}"
            );
        }
        for other in [
            "Write",
            "Edit",
            "MultiEdit",
            "NotebookEdit",
            "apply_patch",
            "mcp__x__read",
            "Task",
            "Unheard",
        ] {
            let json = format!(r#"{{"tool_name":"{other}","tool_input":{{}}}}"#);
            assert_eq!(
                tool(Agent::Claude, "PreToolUse", &json).2,
                Effect::Changes,
                "{other}"
            );
        }
    }

    #[test]
    fn a_command_that_two_events_report_is_one_call() {
        let call = |tool: &str, command: &str| CallRef {
            tool: tool.to_owned(),
            command: Some(command.to_owned()),
            ..CallRef::default()
        };
        let is_one = |one: (&str, &str), other: (&str, &str)| {
            is_reported_twice(&call(one.0, one.1), &call(other.0, other.1))
        };
        assert!(is_one(("Shell", "rm a"), ("shell", "rm a")));
        assert!(is_one(("shell", "rm a"), ("Shell", "rm a")));
        assert!(!is_one(("Shell", "rm a"), ("shell", "rm b")));
        // Twice the same command.
        assert!(!is_one(("Shell", "rm a"), ("Shell", "rm a")));
        assert!(!is_one(("shell", "rm a"), ("shell", "rm a")));
        assert!(!is_one(("Write", "rm a"), ("shell", "rm a")));
    }

    #[test]
    fn our_own_tools_need_no_checkpoint_before_them() {
        let effect = |name: &str| {
            let json = format!(r#"{{"tool_name":"{name}","tool_input":{{}}}}"#);
            tool(Agent::Claude, "PreToolUse", &json).2
        };
        for own in [
            "mcp__jackin-recovery__snapshot_restore",
            "mcp_jackin-recovery_session_restore",
            "jackin-recovery_snapshot_create",
            "jackin_recovery-snapshot_fork",
            "mcp__plugin_jackin-recovery_jackin-recovery__snapshot_create",
        ] {
            assert_eq!(effect(own), Effect::Reads, "{own}");
        }
        // Another server's tool of that name does whatever it does.
        for other in [
            "mcp__sandbox__snapshot_restore",
            "mcp__plugin_other_jackin-recovery__snapshot_restore",
            "snapshot_restore",
            "mcp__jackin-recovery__other",
        ] {
            assert_eq!(effect(other), Effect::Changes, "{other}");
        }
    }

    /// Recorded events of the clients in `tests/recovery/agents/versions` for a call that returned.
    #[test]
    fn a_call_returns_or_goes_on() {
        let returned = |agent, event: &str, json: &str| {
            let event = Event::parse(agent, event, json.as_bytes()).unwrap();
            let HookEvent::ToolEnd(call) = event.happening else {
                panic!("{event:?}")
            };
            (call.tool, call.id.unwrap_or_default(), call.background)
        };
        let of = |tool: &str, id: &str, background| (tool.to_owned(), id.to_owned(), background);
        let claude = |event, rest: &str| {
            let json = format!(
                r#"{{"session_id":"s","cwd":"/w","prompt_id":"p","hook_event_name":"{event}","tool_name":"Bash",
                "tool_input":{{"command":"make","timeout":1500}},"tool_use_id":"toolu_1","duration_ms":45,{rest}}}"#
            );
            returned(Agent::Claude, event, &json)
        };
        const PLAIN: &str =
            r#""stdout":"","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false"#;
        let done = of("Bash", "toolu_1", false);
        assert_eq!(
            claude("PostToolUse", &format!(r#""tool_response":{{{PLAIN}}}"#)),
            done
        );
        let failed = r#""error":"Exit code 3","is_interrupt":false"#;
        assert_eq!(claude("PostToolUseFailure", failed), done);
        for background in [
            r#""backgroundTaskId":"bu1zxa921","timedOutAfterMs":1500"#,
            r#""backgroundTaskId":"bnleief3z""#,
        ] {
            let rest = format!(r#""tool_response":{{{PLAIN},{background}}}"#);
            assert_eq!(claude("PostToolUse", &rest), of("Bash", "toolu_1", true));
        }
        let codex = |response: &str| {
            let json = format!(
                r#"{{"session_id":"c","turn_id":"t","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"Bash",
                "tool_input":{{"command":"make"}},"tool_response":{response},"tool_use_id":"call_1"}}"#
            );
            returned(Agent::Codex, "PostToolUse", &json)
        };
        // The output of a command that has ended, whatever that is, and nothing about the rest.
        for output in [
            r#""""#,
            r#""Process running with session ID 7\n""#,
            r#"{"session_id":7}"#,
        ] {
            assert_eq!(codex(output), of("Bash", "call_1", false), "{output}");
        }
        let gemini = |shown: &str| {
            let json = format!(
                r#"{{"session_id":"g","cwd":"/w","hook_event_name":"AfterTool","tool_name":"run_shell_command",
                "tool_input":{{"command":"make","description":"d"}},
                "tool_response":{{"llmContent":"<untrusted_context>\n</untrusted_context>","returnDisplay":{shown}}}}}"#
            );
            returned(Agent::Gemini, "AfterTool", &json)
        };
        let moved = r#""Command moved to background (PID: 5906). Output hidden. Press Ctrl+B to view.""#;
        assert_eq!(gemini(moved), of("run_shell_command", "", true));
        for shown in [r#""""#, r#""Command exited with code: 3""#, r#"{"fileName":"a"}"#] {
            assert_eq!(gemini(shown), of("run_shell_command", "", false), "{shown}");
        }
        let copilot = |event, tool: &str, rest: &str| {
            let json = format!(
                r#"{{"sessionId":"k","timestamp":1,"cwd":"/w","toolName":"{tool}","toolArgs":{{"command":"make"}},{rest}}}"#
            );
            returned(Agent::Copilot, event, &json)
        };
        let failed = copilot("postToolUseFailure", "edit", r#""error":"No match found""#);
        assert_eq!(failed, of("edit", "", false));
        for (tool, text, goes_on) in [
            ("bash", r"a\n<shellId: 2 completed with exit code 3>", false),
            ("bash", "<command started in background with shellId: 3>", true),
            (
                "bash",
                "<command started in detached background with shellId: 4>",
                true,
            ),
            ("create", "Created file /w/a with 4 characters", false),
        ] {
            let rest = format!(r#""toolResult":{{"resultType":"success","textResultForLlm":"{text}"}}"#);
            assert_eq!(
                copilot("postToolUse", tool, &rest),
                of(tool, "", goes_on),
                "{text}"
            );
        }
    }

    #[test]
    fn a_notification_is_no_prompt() {
        for (agent, event, json) in [
            (
                Agent::Claude,
                "UserPromptSubmit",
                r#"{"session_id":"s","prompt":"<task-notification>\n<task-id>b</task-id>\n</task-notification>"}"#,
            ),
            (
                Agent::Copilot,
                "userPromptSubmitted",
                r#"{"sessionId":"s","prompt":"<system_notification>\nShell command \"x\" (shellId: 3) has completed"}"#,
            ),
        ] {
            let event = Event::parse(agent, event, json.as_bytes()).unwrap();
            assert_eq!(event.happening, HookEvent::Other, "{agent}");
        }
    }

    #[test]
    fn half_characters_are_replaced() {
        let command = |bytes: &[u8]| {
            let json = [
                &br#"{"tool_name":"Bash","tool_input":{"command":""#[..],
                bytes,
                br#""}}"#,
            ]
            .concat();
            let HookEvent::Tool(call) = Event::parse(Agent::Claude, "PreToolUse", &json)
                .unwrap()
                .happening
            else {
                panic!()
            };
            call.command.unwrap()
        };
        assert_eq!(
            command(br"\ud83d\ude00 \ud83d\n\\ud83d \ude00\ud83d"),
            "\u{1f600} \u{fffd}\n\\ud83d \u{fffd}\u{fffd}"
        );
        assert_eq!(command(br"\ud83d\ud83d\ude00"), "\u{fffd}\u{1f600}");
        assert_eq!(command(b"rm caf\xe9"), "rm caf\u{fffd}");
        for odd in [&br#"{"a":"\ud8"#[..], br#"{"a":"\"#, b"{\"a\":\"\\\xe9\"}"] {
            assert!(Event::parse(Agent::Claude, "stop", odd).is_err());
        }
    }

    #[test]
    fn arguments_nested_deeply_do_not_hide_the_call() {
        let depth = 200_000;
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let parse = |json: &str| Event::parse(Agent::Claude, "PreToolUse", json.as_bytes());
        let json = format!(
            r#"{{"tool_name":"mcp__other__put","tool_input":{{"tree":{deep}}},"tool_use_id":"t","session_id":"s","cwd":"/w"}}"#
        );
        let event = parse(&json).unwrap();
        let HookEvent::Tool(call) = event.happening else {
            panic!()
        };
        assert_eq!(
            (call.tool.as_str(), call.id.as_deref()),
            ("mcp__other__put", Some("t"))
        );
        assert_eq!(call.effect, Effect::Changes);
        assert_eq!(
            (event.session.as_str(), event.directories),
            ("s", vec!["/w".into()])
        );
        for odd in [
            deep.clone(),
            format!("{json} x"),
            format!(r#"{{"a":{}"#, "[".repeat(depth)),
        ] {
            assert!(parse(&odd).is_err());
        }
    }

    #[test]
    fn starts_ends_and_what_is_no_event_are_told_apart() {
        let of = |event: &str| Event::parse(Agent::Claude, event, b"{\"session_id\":\"s\",\"cwd\":\"rel\"}");
        assert_eq!(of("SessionStart").unwrap().happening, HookEvent::Start);
        assert_eq!(of("session.created").unwrap().happening, HookEvent::Start);
        assert_eq!(of("sessionEnd").unwrap().happening, HookEvent::End);
        assert_eq!(of("stop").unwrap().happening, HookEvent::TurnEnd);
        assert_eq!(of("session.idle").unwrap().happening, HookEvent::TurnEnd);
        assert_eq!(of("UserPromptSubmit").unwrap().happening, HookEvent::Prompt(None));
        assert_eq!(of("SubagentStop").unwrap().happening, HookEvent::Other);
        let of_subagent = b"{\"session_id\":\"s\",\"agent_id\":\"a\",\"prompt\":\"look for it\"}";
        for event in ["UserPromptSubmit", "Stop"] {
            let event = Event::parse(Agent::Codex, event, of_subagent).unwrap();
            assert_eq!(event.happening, HookEvent::Other);
        }
        // A relative directory says nothing.
        assert_eq!(of("stop").unwrap().directories.len(), 0);
        assert!(of("Unheard").is_err());
        for (agent, event, other) in [
            (Agent::Claude, "PreCompact", Agent::Gemini),
            (Agent::Codex, "PermissionRequest", Agent::Gemini),
            (Agent::Codex, "PreCompact", Agent::Opencode),
            (Agent::Codex, "PostCompact", Agent::Cursor),
            (Agent::Copilot, "errorOccurred", Agent::Claude),
            (Agent::Gemini, "BeforeModel", Agent::Claude),
            (Agent::Gemini, "AfterModel", Agent::Codex),
            (Agent::Gemini, "BeforeToolSelection", Agent::Copilot),
            (Agent::Gemini, "PreCompress", Agent::Claude),
            (Agent::Cursor, "beforeReadFile", Agent::Claude),
        ] {
            let parsed = Event::parse(agent, event, b"{}").unwrap();
            assert_eq!(parsed.happening, HookEvent::Other, "{agent}: {event}");
            assert!(Event::parse(other, event, b"{}").is_err(), "{other}: {event}");
        }
        for odd in [&b""[..], b"[]", b"{", b"\xff", b"null", b"3"] {
            assert!(Event::parse(Agent::Claude, "stop", odd).is_err());
        }
        // A shell without a command line it understands.
        let json = br#"{"tool_name":"Bash","tool_input":{"command":[1]}}"#;
        let HookEvent::Tool(call) = Event::parse(Agent::Claude, "PreToolUse", json).unwrap().happening else {
            panic!()
        };
        assert_eq!(call.effect, Effect::Changes);
    }
}
