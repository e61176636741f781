//! The settings files that hold hooks as JSON: where jackin's entries stand, and how they are added and removed.

use super::command::{Program, call_in};
use super::edit::{Json, Style, append, applied, is_made_by_us, quoted, remove};
use super::json::{Kind, Node, line_of, read};
use super::{After, Fault, Found, FoundHook};
use crate::agents::Agent;

/// Maximum run time of a hook, in seconds. The first snapshot of a large project takes long, and an agent that waits is better
/// than one that continues without it.
const PATIENCE: u32 = 60;

/// Maximum number of jackin's hooks in a file; no installation leaves more.
const MOST: usize = 100;

/// Seconds that Codex gives a hook at the end of a session. It lowers a longer time and warns of it at every start.
const PATIENCE_AT_END: u32 = 3;

/// An event that jackin hooks.
struct Wanted {
    event: &'static str,
    /// Tools; `None` for all of them.
    tools: Option<Tools>,
}

/// Tools whose calls jackin hooks.
struct Tools {
    /// Pattern of their names.
    pattern: &'static str,
    /// Patterns that earlier versions wrote, each with the tools that it lacks.
    earlier: &'static [(&'static str, &'static str)],
}

const fn all(event: &'static str) -> Wanted {
    Wanted { event, tools: None }
}

// The tools that write, and all of MCP, whose effects are unknown; tools that only read would wait for nothing. A pattern with a
// character that no name has is a regular expression and matches anywhere in the name: without `^` and `$` this one would match
// `TodoWrite` and `BashOutput` too.
const CLAUDE_TOOLS: Tools = Tools {
    pattern: "^(Bash|Write|Edit|MultiEdit|NotebookEdit|EnterWorktree|ExitWorktree|mcp__.*)$",
    earlier: &[(
        "^(Bash|Write|Edit|MultiEdit|NotebookEdit|mcp__.*)$",
        "EnterWorktree|ExitWorktree",
    )],
};

const GEMINI_TOOLS: Tools = Tools {
    pattern: "^(write_file|replace|run_shell_command|mcp_.*)$",
    earlier: &[],
};

const fn some(event: &'static str, tools: Tools) -> Wanted {
    Wanted {
        event,
        tools: Some(tools),
    }
}

/// Returns the events that jackin hooks: the start, each prompt, every call that may change files and its return, the end of each turn,
/// and the end where there is one. Returns and ends are optional: no agent guarantees them, so nothing depends on them.
fn wanted(agent: Agent) -> &'static [Wanted] {
    match agent {
        Agent::Claude => {
            const {
                &[
                    all("SessionStart"),
                    all("UserPromptSubmit"),
                    some("PreToolUse", CLAUDE_TOOLS),
                    some("PostToolUse", CLAUDE_TOOLS),
                    // A command that failed returns by this one only.
                    some("PostToolUseFailure", CLAUDE_TOOLS),
                    all("Stop"),
                    all("SessionEnd"),
                ]
            }
        }
        // Its names for tools changed between versions: `run` tells them apart.
        Agent::Codex => {
            const {
                &[
                    all("SessionStart"),
                    all("UserPromptSubmit"),
                    all("PreToolUse"),
                    all("PostToolUse"),
                    all("Stop"),
                    all("SessionEnd"),
                ]
            }
        }
        Agent::Gemini => {
            const {
                &[
                    all("SessionStart"),
                    all("BeforeAgent"),
                    some("BeforeTool", GEMINI_TOOLS),
                    some("AfterTool", GEMINI_TOOLS),
                    all("AfterAgent"),
                    all("SessionEnd"),
                ]
            }
        }
        Agent::Cursor => {
            const {
                &[
                    all("sessionStart"),
                    all("beforeSubmitPrompt"),
                    all("beforeShellExecution"),
                    all("preToolUse"),
                    all("stop"),
                    all("sessionEnd"),
                ]
            }
        }
        Agent::Copilot => {
            const {
                &[
                    all("sessionStart"),
                    all("userPromptSubmitted"),
                    all("preToolUse"),
                    all("postToolUse"),
                    // A call that failed returns by this one only.
                    all("postToolUseFailure"),
                    all("agentStop"),
                    all("sessionEnd"),
                ]
            }
        }
        // It loads a plugin of jackin instead of settings.
        Agent::Opencode => &[],
    }
}

/// Returns the events of a complete installation.
pub(super) fn events(agent: Agent) -> impl Iterator<Item = &'static str> {
    wanted(agent).iter().map(|wanted| wanted.event)
}

/// Returns true if an entry is a group of hooks for some tools.
fn is_grouped(agent: Agent) -> bool {
    matches!(agent, Agent::Claude | Agent::Codex | Agent::Gemini)
}

/// Returns the key of the command.
fn command_key(agent: Agent) -> &'static str {
    match agent {
        Agent::Copilot => "bash",
        _ => "command",
    }
}

/// Returns the element of an event's list.
fn entry(agent: Agent, wanted: &Wanted, program: &Program) -> Json {
    let (key, patience) = match agent {
        // Milliseconds.
        Agent::Gemini => ("timeout", PATIENCE * 1000),
        Agent::Copilot => ("timeoutSec", PATIENCE),
        Agent::Codex if wanted.event == "SessionEnd" => ("timeout", PATIENCE_AT_END),
        _ => ("timeout", PATIENCE),
    };
    let command = Json::Text(program.command(agent, wanted.event));
    let mut hook = Vec::new();
    if agent != Agent::Cursor {
        hook.push(("type", Json::Text("command".to_owned())));
    }
    hook.extend([(command_key(agent), command), (key, Json::Number(patience))]);
    if !is_grouped(agent) {
        return Json::Object(hook);
    }
    let mut group = Vec::new();
    if let Some(tools) = &wanted.tools {
        group.push(("matcher", Json::Text(tools.pattern.to_owned())));
    }
    group.push(("hooks", Json::Array(vec![Json::Object(hook)])));
    Json::Object(group)
}

/// Returns the text of a new file.
pub(super) fn fresh(agent: Agent, program: &Program) -> String {
    file(agent, wanted(agent).iter(), program)
}

/// Number of the newest set of events: 0 has starts and calls, 1 prompts, turns and more ends too, 2 returns.
const NEWEST: u8 = 2;

/// Returns the first set of events that has this one.
fn set_of(agent: Agent, event: &str) -> u8 {
    match (agent, event) {
        (Agent::Claude, "PostToolUse" | "PostToolUseFailure")
        | (Agent::Codex, "PostToolUse")
        | (Agent::Gemini, "AfterTool")
        | (Agent::Copilot, "postToolUse" | "postToolUseFailure") => 2,
        (Agent::Claude, "UserPromptSubmit" | "Stop")
        | (Agent::Codex, "UserPromptSubmit" | "Stop" | "SessionEnd")
        | (Agent::Gemini, "BeforeAgent" | "AfterAgent")
        | (Agent::Cursor, "beforeSubmitPrompt" | "stop" | "sessionEnd")
        | (Agent::Copilot, "userPromptSubmitted" | "agentStop") => 1,
        _ => 0,
    }
}

/// Returns the events of a set.
fn set(agent: Agent, number: u8) -> impl Iterator<Item = &'static Wanted> {
    wanted(agent)
        .iter()
        .filter(move |wanted| set_of(agent, wanted.event) <= number)
}

/// Returns every text that jackin's versions leave of a file that they made: with the events of one set, or of one completed by later ones.
fn made(agent: Agent, program: &Program) -> Vec<String> {
    let mut first = file(agent, set(agent, 0), program);
    for tools in wanted(agent).iter().filter_map(|wanted| wanted.tools.as_ref()) {
        if let Some((old, _)) = tools.earlier.first() {
            first = first.replace(tools.pattern, old);
        }
    }
    let mut made = vec![first];
    for number in 1..=NEWEST {
        let completed: Vec<String> = made
            .iter()
            .filter_map(|text| install_set(agent, text, program, number).ok())
            .collect();
        made.extend(completed);
        made.push(file(agent, set(agent, number), program));
    }
    made
}

fn file<'w>(agent: Agent, wanted: impl Iterator<Item = &'w Wanted>, program: &Program) -> String {
    let event = |wanted: &Wanted| (wanted.event, Json::Array(vec![entry(agent, wanted, program)]));
    let hooks = Json::Object(wanted.map(event).collect());
    let mut root = vec![("hooks", hooks)];
    if !is_grouped(agent) {
        root.insert(0, ("version", Json::Number(1)));
    }
    let mut text = Json::Object(root).write(Style::OURS, "");
    text.push('\n');
    text
}

/// One of jackin's hooks in a file, or one of the operator's that calls jackin.
struct Ours<'a> {
    /// Indices of the member of the root, the event, the entry, and the hook in its group.
    at: [usize; 4],
    event: &'a str,
    command: &'a Node,
    program: String,
    /// Pattern of the tools of its group, if there is one.
    matcher: Option<&'a Node>,
    /// Maximum run time, if the hook states one.
    timeout: Option<u64>,
    /// True if the hook has nothing but a type, a command and a timeout.
    is_plain: bool,
    /// True if its group holds no other hook.
    is_alone: bool,
    /// True if its command only calls jackin. Another one is the operator's: it reports the event, and stays as it is.
    is_whole: bool,
}

impl Ours<'_> {
    /// Returns the tools that its pattern lacks; `None` unless an earlier version of jackin wrote the pattern.
    fn lacks(&self, wanted: &Wanted) -> Option<&'static str> {
        let pattern = self.matcher.and_then(Node::text)?;
        let mut earlier = wanted.tools.as_ref()?.earlier.iter();
        earlier.find(|(old, _)| *old == pattern).map(|(_, lacks)| *lacks)
    }
}

/// Returns all of jackin's hooks, in the order of the text.
fn ours<'a>(text: &str, agent: Agent, root: &'a Node) -> Result<Vec<Ours<'a>>, Fault> {
    let mut found = Vec::new();
    let Some((at, hooks)) = hooks_of(text, root)? else {
        return Ok(found);
    };
    for (of_event, part) in hooks.parts().iter().enumerate() {
        let Some(event) = part.key.as_deref() else {
            continue;
        };
        for (of_entry, entry) in part.value.parts().iter().enumerate() {
            let mut see = |hook: &'a Node, of_hook, is_alone| {
                let number = hook.get("timeout").and_then(|node| text.get(node.span.clone()));
                let command = hook.get(command_key(agent));
                if let Some((command, said)) = command.and_then(|node| Some((node, node.text()?)))
                    && let Some(call) = call_in(said, agent, event)
                {
                    found.push(Ours {
                        at: [at, of_event, of_entry, of_hook],
                        event,
                        command,
                        program: call.program,
                        matcher: entry.value.get("matcher"),
                        timeout: number.and_then(|number| number.parse().ok()),
                        is_plain: hook.parts().iter().all(|part| {
                            part.key
                                .as_deref()
                                .is_some_and(|key| matches!(key, "type" | "command" | "timeout"))
                        }),
                        is_alone,
                        is_whole: call.is_whole,
                    });
                }
            };
            if is_grouped(agent) {
                let group = entry.value.get("hooks").map(Node::parts).unwrap_or_default();
                for (of_hook, hook) in group.iter().enumerate() {
                    see(&hook.value, of_hook, group.len() == 1);
                }
            } else {
                see(&entry.value, 0, true);
            }
        }
    }
    Ok(found)
}

/// Returns the object of all hooks; `None` if there is none.
fn hooks_of<'a>(text: &str, root: &'a Node) -> Result<Option<(usize, &'a Node)>, Fault> {
    if !matches!(root.kind, Kind::Object(_)) {
        return Err(shape(text, root, "the file", "an object"));
    }
    let found = only(text, root, "hooks")?;
    match found {
        Some((_, hooks)) if !matches!(hooks.kind, Kind::Object(_)) => {
            Err(shape(text, hooks, "`hooks`", "an object"))
        }
        found => Ok(found),
    }
}

/// Returns the member with a key. A repeated key is refused: programs differ in which one they use.
fn only<'a>(text: &str, object: &'a Node, key: &str) -> Result<Option<(usize, &'a Node)>, Fault> {
    let parts = object.parts().iter().enumerate();
    let mut found = parts.filter(|(_, part)| part.key.as_deref() == Some(key));
    let first = found.next().map(|(at, part)| (at, &part.value));
    match found.next() {
        Some((_, again)) => Err(Fault::at(
            line_of(text, again.span.start),
            &format!("`{key}` appears twice"),
        )),
        None => Ok(first),
    }
}

fn shape(text: &str, node: &Node, what: &str, expected: &str) -> Fault {
    let problem = format!("{what} must be {expected}, but it is {}", node.name());
    Fault::at(line_of(text, node.span.start), &problem)
}

/// Returns the text with all of jackin's hooks.
pub(super) fn install(agent: Agent, text: &str, program: &Program) -> Result<String, Fault> {
    install_set(agent, text, program, NEWEST)
}

fn install_set(agent: Agent, text: &str, program: &Program, number: u8) -> Result<String, Fault> {
    // Checked before the first change: a fault names a line of the file as it is.
    check(agent, text, number)?;
    let mut text = text.to_owned();
    for wanted in set(agent, number) {
        text = with(agent, &text, wanted, program)?;
    }
    Ok(text)
}

/// Fails if an event to be added is there and is no list.
fn check(agent: Agent, text: &str, number: u8) -> Result<(), Fault> {
    let root = read(text)?;
    let found = ours(text, agent, &root)?;
    let Some((_, hooks)) = hooks_of(text, &root)? else {
        return Ok(());
    };
    let has_own = |wanted: &&Wanted| found.iter().any(|ours| ours.event == wanted.event);
    set(agent, number)
        .filter(|wanted| !has_own(wanted))
        .try_for_each(|wanted| list_of(text, hooks, wanted.event).map(drop))
}

/// Returns the list of an event's hooks; `None` if there is none.
fn list_of<'a>(text: &str, hooks: &'a Node, event: &str) -> Result<Option<&'a Node>, Fault> {
    match only(text, hooks, event)? {
        Some((_, other)) if !matches!(other.kind, Kind::Array(_)) => {
            Err(shape(text, other, &format!("`hooks.{event}`"), "a list"))
        }
        found => Ok(found.map(|(_, list)| list)),
    }
}

fn with(agent: Agent, text: &str, wanted: &Wanted, program: &Program) -> Result<String, Fault> {
    let root = read(text)?;
    let found = ours(text, agent, &root)?;
    let mut own = found.iter().filter(|ours| ours.event == wanted.event).peekable();
    if own.peek().is_some() {
        let command = program.command(agent, wanted.event);
        let mut changes = Vec::new();
        for ours in own.filter(|ours| ours.is_whole) {
            if ours.command.text() != Some(&command) {
                changes.push((ours.command.span.clone(), quoted(&command)));
            }
            // A pattern of the owner's stays; one of an earlier version is completed where its group is jackin's alone.
            let tools = wanted
                .tools
                .as_ref()
                .filter(|_| ours.is_alone && ours.lacks(wanted).is_some());
            if let Some((tools, matcher)) = tools.zip(ours.matcher) {
                changes.push((matcher.span.clone(), quoted(tools.pattern)));
            }
        }
        return Ok(applied(text, changes));
    }
    let entry = entry(agent, wanted, program);
    let Some((_, hooks)) = hooks_of(text, &root)? else {
        let hooks = Json::Object(vec![(wanted.event, Json::Array(vec![entry]))]);
        return Ok(append(text, &root, Some("hooks"), &hooks));
    };
    Ok(match list_of(text, hooks, wanted.event)? {
        None => append(text, hooks, Some(wanted.event), &Json::Array(vec![entry])),
        Some(list) => append(text, list, None, &entry),
    })
}

/// Returns the file without jackin's hooks, including those for events that only other versions hook.
pub(super) fn uninstall(agent: Agent, text: &str) -> Result<After, Fault> {
    let root = read(text)?;
    let found = removable(text, agent, &root)?;
    let Some(first) = found.first() else {
        return Ok(After::Same);
    };
    // Each is taken out by itself.
    if found.len() > MOST {
        let problem = "too many hooks of jackin; remove them by hand";
        return Err(Fault::whole(problem));
    }
    // A file with only the content of a new installation was made by jackin.
    let word = first.command.text().and_then(|command| {
        let before = command.strip_suffix(&format!(" hook run {agent} {}", first.event))?;
        Some(before.strip_suffix(" recovery").unwrap_or(before).to_owned())
    });
    let maker = word.and_then(|word| Program::new(first.program.as_ref(), &word).ok());
    if maker.is_some_and(|maker| made(agent, &maker).iter().any(|made| made == text)) {
        return Ok(After::Gone);
    }
    // The last one first: each step is the opposite of one of the installation's.
    let mut text = text.to_owned();
    loop {
        let root = read(&text)?;
        let found = removable(&text, agent, &root)?;
        let Some(last) = found.last() else {
            return Ok(After::Text(text));
        };
        let less = without(agent, &text, &root, last);
        let Some(less) = less.filter(|less| less.len() < text.len()) else {
            return Ok(After::Text(text));
        };
        text = less;
    }
}

/// Returns the hooks that are only jackin's, in the order of the text.
fn removable<'a>(text: &str, agent: Agent, root: &'a Node) -> Result<Vec<Ours<'a>>, Fault> {
    let found = ours(text, agent, root)?;
    Ok(found.into_iter().filter(|ours| ours.is_whole).collect())
}

/// Removes one hook, with each container around it that jackin made for it.
fn without(agent: Agent, text: &str, root: &Node, ours: &Ours<'_>) -> Option<String> {
    let [of_hooks, of_event, of_entry, of_hook] = ours.at;
    let hooks = &root.parts().get(of_hooks)?.value;
    let list = &hooks.parts().get(of_event)?.value;
    if is_grouped(agent) && !ours.is_alone {
        let group = list.parts().get(of_entry)?.value.get("hooks")?;
        return Some(remove(text, group, of_hook));
    }
    let made = if !is_made_by_us(text, list) {
        remove(text, list, of_entry)
    } else if !is_made_by_us(text, hooks) {
        remove(text, hooks, of_event)
    } else {
        remove(text, root, of_hooks)
    };
    Some(made)
}

/// Returns jackin's hooks in the text.
pub(super) fn look(agent: Agent, text: &str) -> Result<Found, Fault> {
    let root = read(text)?;
    let mut found = Found::default();
    let mut lacking = Vec::new();
    for ours in ours(text, agent, &root)? {
        let of_event = wanted(agent).iter().find(|wanted| wanted.event == ours.event);
        if let Some(lacks) = of_event.and_then(|wanted| ours.lacks(wanted)) {
            lacking.push(format!("{}({lacks})", ours.event));
        }
        found.hooks.push(FoundHook {
            event: ours.event.to_owned(),
            group: ours.at[2],
            index: ours.at[3],
            command: ours.command.text().unwrap_or_default().to_owned(),
            matcher: ours.matcher.and_then(Node::text).map(str::to_owned),
            timeout: ours.timeout,
            is_plain: ours.is_plain,
        });
        if !found.events.iter().any(|event| event == ours.event) {
            found.events.push(ours.event.to_owned());
        }
        if !found.programs.contains(&ours.program) {
            found.programs.push(ours.program);
        }
    }
    let there = &found.events;
    let missing = events(agent).filter(|event| !there.iter().any(|there| there == event));
    found.missing = missing.map(str::to_owned).chain(lacking).collect();
    Ok(found)
}
