//! The walls: which layer may see which, and the one place that each outside thing has.

use crate::source::{Named, Source};

/// The layers, lowest first; those of one row may see each other. A file sees its own row and the rows before it.
const LAYERS: &[&[&str]] = &[
    &[
        "model",
        "clock",
        "observer",
        "environment",
        "features",
        "diagnostic",
        "display",
        "product",
        "simulated_share",
        "skipped",
        "workplace",
    ],
    &["process"],
    &["config"],
    &["contract"],
    &["git_directories"],
    &["store"],
    &["capture"],
    &["transfer", "replica"],
    &["diff"],
    &["restore"],
    &["session"],
    &["retention"],
    &["agents"],
    &["doctor"],
    &["recovery"],
    &["report"],
    &["terminal"],
    &["cli"],
];

/// The program of the second name, which is no part of the library: it replaces itself by the first.
const SECOND_NAME: &str = "src/second_name";

/// An outside thing and the modules that may touch it.
struct Wall {
    names: &'static [&'static str],
    within: &'static [&'static str],
    instead: &'static str,
}

const WALLS: &[Wall] = &[
    Wall {
        names: &["rusqlite"],
        within: &["src/store/catalog"],
        instead: "SQL belongs in store/catalog; give it a function there and call that",
    },
    Wall {
        names: &["zstd"],
        within: &["src/store/archive", "crates/age-bundle"],
        instead: "archive bytes belong in store/archive; give it a function there and call that",
    },
    Wall {
        // What `tar` sends from another machine is no archive of ours, and an encrypted bundle is none.
        names: &["tar"],
        within: &["src/store/archive", "crates/age-bundle", "crates/shell-fs"],
        instead: "archive bytes belong in store/archive; give it a function there and call that",
    },
    Wall {
        names: &["rmcp"],
        within: &["src/cli/mcp"],
        instead: "the protocol belongs in cli/mcp; everything else is ordinary threads",
    },
    Wall {
        // AWS's library exists for this runtime alone; nothing of it shows outside that file.
        names: &["tokio"],
        within: &["src/cli/mcp", "src/replica/s3"],
        instead: "what runs on tokio belongs in cli/mcp or replica/s3; everything else is ordinary threads",
    },
    Wall {
        names: &["aws_config", "aws_sdk_s3", "aws_smithy_http_client"],
        within: &["src/replica/s3"],
        instead: "an object store is a `Bucket`; only replica/s3 knows whose library speaks to it",
    },
    Wall {
        names: &["age"],
        within: &["crates/age-bundle"],
        instead: "what is encrypted is made and opened in crates/age-bundle; give it a function there and call that",
    },
    Wall {
        names: &["ratatui"],
        within: &["src/cli/ui", "src/terminal/tty"],
        instead: "what is drawn on a screen belongs in cli/ui; everything else says lines",
    },
    Wall {
        names: &["fuser"],
        within: &["src/cli/mount"],
        instead: "the kernel's requests for files are answered in cli/mount; everything else asks `Browser`",
    },
    Wall {
        // A list takes single keys, so it must never confirm anything.
        names: &["dialoguer"],
        within: &["src/terminal"],
        instead: "a list to choose from is shown by `Terminal::choose`; what changes files asks with `confirm`",
    },
    Wall {
        // A walk by paths follows a directory that is swapped for a link meanwhile.
        names: &["walkdir"],
        within: &["src/store/inspect"],
        instead: "only the store's own tree is walked by paths; a mount is walked through held directories",
    },
    Wall {
        names: &["std::process::Command"],
        within: &["crates/processes", "crates/transports", SECOND_NAME],
        instead: "processes are started in crates/processes and crates/transports only; give it a function there and call that",
    },
    Wall {
        names: &[
            "std::io::stdout",
            "std::io::stderr",
            "anstream::stdout",
            "anstream::stderr",
            "rustix::stdio::stdout",
            "rustix::stdio::stderr",
        ],
        within: &["src/terminal", SECOND_NAME],
        instead: "stdout and stderr belong to terminal; return a value, or report through the observer",
    },
    Wall {
        names: &[
            "std::time::SystemTime::now",
            "jiff::Timestamp::now",
            "jiff::Zoned::now",
        ],
        within: &["src/main", "src/cli/context", "src/clock"],
        instead: "take the time from the `Clock` that is passed in",
    },
    Wall {
        names: &["std::time::Instant::now"],
        within: &[
            "src/main",
            "src/cli/context",
            "src/clock",
            "src/terminal",
            // How long hostile code may be read for its colors. A clock that a test fixes would never end it.
            "src/cli/highlight",
        ],
        instead: "only progress on the terminal measures time; take a `Clock`",
    },
    Wall {
        names: &["getrandom"],
        within: &["src/main", "src/cli/context", "src/clock"],
        instead: "take random bytes from the `Entropy` that is passed in",
    },
    Wall {
        names: &["std::fs"],
        within: &[
            "crates/handle-fs",
            "crates/processes",
            "crates/transports",
            "src/config",
            "src/contract",
            "src/doctor",
            "src/cli",
            // Whether the directory of a fork is there still.
            "src/report/forks",
            "src/store/inspect",
            "src/store/lock/held",
        ],
        instead: "captures, restores and the store reach files through handle-fs, where the simulation sees every call",
    },
    Wall {
        names: &["rustix", "std::os::linux"],
        within: SYSTEM,
        instead: ASK_SYSTEM,
    },
];

/// The files that render a report, and the modules that they may import for it.
const RENDERERS: &[&str] = &[
    "src/cli/view",
    "src/cli/html",
    "src/cli/mcp/text",
    "src/cli/mcp/results",
    "src/cli/ui",
];
const RENDERED: &[&str] = &[
    "report",
    "model",
    "display",
    "terminal",
    "environment",
    "features",
    "cli",
];

/// What a renderer may import besides, and why. A row that is no longer needed fails.
const STILL_SEEN: &[(&str, &[&str])] = &[
    // The rules of git for a patch, for example how it quotes a name.
    ("src/cli/view/git_patch.rs", &["diff"]),
    // The screen stops when its parent process ends, and suspends itself on Ctrl-Z.
    ("src/cli/ui.rs", &["process"]),
    // The worker of the screen asks the engine; only its answers are rendered.
    ("src/cli/ui/work.rs", &["recovery", "session", "store"]),
    ("src/cli/ui/work/jobs.rs", &["recovery"]),
    ("src/cli/ui/work/plans.rs", &["recovery", "restore"]),
    ("src/cli/ui/work/reading.rs", &["recovery", "session"]),
    // The contract is a serde model itself: `explain --json` prints it as it is.
    ("src/cli/view/contract.rs", &["config", "contract"]),
    ("src/cli/view/contract/brief.rs", &["config", "contract"]),
    ("src/cli/view/contract/excludes.rs", &["contract"]),
    ("src/cli/view/contract/gaps.rs", &["config", "contract"]),
    ("src/cli/view/contract/git.rs", &["contract"]),
    ("src/cli/view/contract/jackin.rs", &["contract"]),
    ("src/cli/view/contract/kept.rs", &["config", "contract"]),
    ("src/cli/view/contract/mounts.rs", &["config", "contract"]),
    ("src/cli/view/contract/state.rs", &["config", "contract"]),
];

/// The modules that a command may import: the engine's face, what it renders with, and what every layer shares.
const OF_COMMANDS: &[&str] = &[
    "recovery",
    "cli",
    "report",
    "terminal",
    "display",
    "diagnostic",
    "model",
    "config",
    "features",
    "clock",
    "environment",
    "observer",
];

/// Imports of commands that the engine does not replace yet: the file below `src/cli/commands`, the modules, and why. An entry that is
/// no longer needed fails the test.
const COMMANDS_BELOW_THE_ENGINE: &[(&str, &[&str], &str)] = &[
    (
        "agent_there",
        &["capture", "contract", "process"],
        "it is the other end of a capture on another machine",
    ),
    (
        "begin",
        &["process"],
        "it names the process that keeps the session",
    ),
    (
        "checkpoints",
        &["process", "session"],
        "it is a process beside a session, and looks whether that goes on",
    ),
    (
        "ending",
        &["process", "session"],
        "it is a process beside a session, and looks whether that goes on",
    ),
    (
        "exec",
        &["agents", "process"],
        "it starts a command, and judges its words as those of a hook",
    ),
    (
        "generated",
        &["process", "session"],
        "it shows a manual outside of all mounts",
    ),
    (
        "hook",
        &["agents"],
        "the engine has no method for the settings of agents",
    ),
    (
        "hook/edit",
        &["agents"],
        "the engine has no method for the settings of agents",
    ),
    (
        "hook/status",
        &["agents"],
        "the engine has no method for the settings of agents",
    ),
    (
        "hook/trust",
        &["agents"],
        "the engine has no method for the settings of agents",
    ),
    (
        "hook/recorded",
        &["agents"],
        "it turns an agent's call into what a receipt records of it",
    ),
    (
        "hook/run",
        &["agents", "process", "session", "store"],
        "it finds the session of an agent's call, in one open store",
    ),
    ("launch", &["process"], "it starts the command and waits for it"),
    (
        "lifeline",
        &["process"],
        "it is the process that cleans up on a cluster",
    ),
    (
        "replicating",
        &["process"],
        "it is a background process, and leaves the terminal",
    ),
    (
        "watcher",
        &["process", "session"],
        "it is a process beside a session, and looks whether that goes on",
    ),
    (
        "ui/start",
        &["process"],
        "it starts this program again for the screen",
    ),
];

/// The modules that may speak to the kernel directly.
const SYSTEM: &[&str] = &[
    "crates/handle-fs",
    "crates/processes",
    "crates/shell-fs",
    "crates/transports",
    "src/terminal",
    "src/store/lock",
];
const ASK_SYSTEM: &str = "the kernel is asked in handle-fs, processes, shell-fs, transports, terminal and store/lock; add it to handle-fs";

/// Names that say nothing about what a file does.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "manager", "managers", "engine", "engines", "misc",
];

const LONGEST_FILE: usize = 800;

/// Whether a file holds tests: they may look behind the walls, not above their layer.
pub(crate) fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Whether a file is this module or below it.
fn is_within(path: &str, module: &str) -> bool {
    path.strip_prefix(module)
        .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Everything that is wrong with a file, as `path:line: what, and what to do`.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let source = Source::of(text);
    let paths = source.paths();
    let mut found = form(path, text);
    found.extend(source.lines_with("unsafe").into_iter().map(|line| {
        format!(
            "{path}:{line}: `unsafe` is forbidden; rustix or signal-hook have a safe function for most things"
        )
    }));
    if path.starts_with("src/") {
        found.extend(layers(path, &paths));
        found.extend(of_commands(path, &paths));
    }
    let is_product = path.starts_with("src/") || (path.starts_with("crates/") && path.contains("/src/"));
    if is_product && !is_test(path) {
        found.extend(outside_things(path, &source, &paths));
        found.extend(renderers(path, &paths));
    }
    found
}

/// Imports of a renderer besides the report, and exceptions for it that it does not need.
fn renderers(path: &str, paths: &[Named]) -> Vec<String> {
    if !RENDERERS.iter().any(|module| is_within(path, module)) {
        return Vec::new();
    }
    let depth = path.split('/').count() - 1;
    let excepted = STILL_SEEN.iter().filter(|(file, _)| *file == path);
    let excepted: Vec<&str> = excepted
        .flat_map(|(_, modules)| modules.iter().copied())
        .collect();
    let seen = paths
        .iter()
        .filter_map(|named| Some((named.line, from_root(named, depth)?)));
    let mut found: Vec<String> = seen
        .clone()
        .filter(|(_, module)| !RENDERED.contains(module) && !excepted.contains(module))
        .map(|(line, module)| {
            format!("{path}:{line}: a renderer must not see `{module}`; render a fact that `report` holds")
        })
        .collect();
    for module in excepted {
        if !seen.clone().any(|(_, other)| other == module) {
            found.push(format!(
                "{path}: take `{module}` out of STILL_SEEN, for nothing is imported from it"
            ));
        }
    }
    found
}

/// Length, first line, name.
fn form(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST_FILE {
        found.push(format!(
            "{path}: {lines} lines, at most {LONGEST_FILE}; split it by what its parts do"
        ));
    }
    let job = text.lines().next().and_then(|line| line.strip_prefix("//!"));
    if job.is_none_or(|job| job.trim().is_empty()) {
        found.push(format!(
            "{path}:1: begin with a `//!` line that says the file's one job"
        ));
    }
    let names = path.trim_end_matches(".rs").split(['/', '_']);
    for name in names.filter(|name| EMPTY_NAMES.contains(name)) {
        found.push(format!(
            "{path}: `{name}` says nothing; name the file after what it does"
        ));
    }
    found
}

fn rank(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

fn layers(path: &str, paths: &[Named]) -> Vec<String> {
    let modules: Vec<&str> = path
        .trim_start_matches("src/")
        .trim_end_matches(".rs")
        .split('/')
        .collect();
    let own = modules.first().copied().unwrap_or_default();
    if matches!(own, "lib" | "main" | "second_name") {
        return Vec::new();
    }
    let Some(own_rank) = rank(own) else {
        return vec![format!(
            "{path}: `{own}` has no layer; put it into LAYERS in tests/architecture/walls.rs"
        )];
    };
    let seen = paths
        .iter()
        .filter_map(|named| Some((named.line, from_root(named, modules.len())?)));
    seen.filter_map(|(line, module)| match rank(module) {
        Some(rank) if rank <= own_rank => None,
        Some(_) => Some(format!(
            "{path}:{line}: `{own}` must not see `{module}`, which lies above it; pass a value or a trait down"
        )),
        None if module == "*" => None,
        None => Some(format!("{path}:{line}: `crate::{module}` is in no layer; name the module that defines it")),
    })
    .collect()
}

/// Finds what a command imports past the engine, and exceptions for it that it does not need.
fn of_commands(path: &str, paths: &[Named]) -> Vec<String> {
    let Some(command) = path.strip_prefix("src/cli/commands/").filter(|_| !is_test(path)) else {
        return Vec::new();
    };
    let command = command.trim_end_matches(".rs");
    let depth = path.split('/').count() - 1;
    let excepted = COMMANDS_BELOW_THE_ENGINE
        .iter()
        .filter(|(file, ..)| *file == command)
        .flat_map(|(_, modules, _)| modules.iter());
    let excepted: Vec<&str> = excepted.copied().collect();
    let (mut found, mut needed) = (Vec::new(), Vec::new());
    for (line, module) in paths
        .iter()
        .filter_map(|named| Some((named.line, from_root(named, depth)?)))
    {
        if OF_COMMANDS.contains(&module) {
            continue;
        }
        needed.push(module);
        if !excepted.contains(&module) {
            found.push(format!(
                "{path}:{line}: a command must not see `{module}`; give `Recovery` a method for it, and call that"
            ));
        }
    }
    for module in excepted.iter().filter(|module| !needed.contains(module)) {
        found.push(format!(
            "{path}: sees `{module}` no more; take that from COMMANDS_BELOW_THE_ENGINE"
        ));
    }
    found
}

/// The top module that a path names, when it starts from the root of the crate.
fn from_root(named: &Named, depth: usize) -> Option<&str> {
    let parts = &named.parts;
    let up = parts.iter().take_while(|part| *part == "super").count();
    let start = match parts.first()?.as_str() {
        "crate" | "jackin_recovery" => 1,
        "super" if up >= depth => up,
        _ => return None,
    };
    parts.get(start).map(String::as_str)
}

fn outside_things(path: &str, source: &Source, paths: &[Named]) -> Vec<String> {
    let mut found = Vec::new();
    for named in paths {
        let line = named.line;
        let whole = named.parts.join("::");
        let is_glob = named.parts.last().is_some_and(|last| last == "*");
        if is_glob && matches!(named.parts[0].as_str(), "crate" | "super" | "self") {
            found.push(format!(
                "{path}:{line}: `{whole}` hides what is used; name each thing"
            ));
        }
        for wall in WALLS
            .iter()
            .filter(|wall| !wall.within.iter().any(|module| is_within(path, module)))
        {
            for name in wall.names.iter().map(|name| name.split("::").collect::<Vec<_>>()) {
                if names(&named.parts, &name)
                    || ((is_glob || named.alias.is_some()) && leads_to(&named.parts, &name))
                {
                    found.push(format!("{path}:{line}: `{whole}`: {}", wall.instead));
                }
            }
        }
    }
    let is_terminal = is_within(path, "src/terminal");
    for (line, name) in source.macros() {
        if matches!(name.as_str(), "print" | "println" | "eprint" | "eprintln" | "dbg") && !is_terminal {
            found.push(format!(
                "{path}:{line}: `{name}!`: only terminal prints; return a value, or report through the observer"
            ));
        }
    }
    let may_ask = SYSTEM.iter().any(|module| is_within(path, module));
    for (number, text) in source
        .text
        .lines()
        .enumerate()
        .filter(|(_, text)| !may_ask && names_proc(text))
    {
        found.push(format!("{path}:{}: {}: {ASK_SYSTEM}", number + 1, text.trim()));
    }
    found
}

/// Whether a path names the thing, from its first part or, where its module was imported, from a later one.
fn names(parts: &[String], thing: &[&str]) -> bool {
    let begins = |thing: &[&str]| parts.len() >= thing.len() && parts.iter().zip(thing).all(|(a, b)| a == b);
    begins(thing) || (1..thing.len().saturating_sub(1)).any(|from| begins(&thing[from..]))
}

/// Whether an import makes the thing reachable under a name that is not seen here.
fn leads_to(parts: &[String], thing: &[&str]) -> bool {
    let base: Vec<&String> = parts.iter().filter(|part| *part != "*").collect();
    base.len() < thing.len() && base.iter().zip(thing).all(|(a, b)| a == b)
}

/// A literal that begins with `/proc`.
fn names_proc(text: &str) -> bool {
    text.match_indices("\"/proc").any(|(at, found)| {
        let next = text[at + found.len()..].chars().next();
        !next.is_some_and(|next| next.is_alphanumeric() || next == '_')
    })
}

/// The dependencies of a manifest that no comment explains. Adjacent lines share the comment above them.
pub(crate) fn check_manifest(text: &str) -> Vec<String> {
    let (mut found, mut listed, mut explained, mut open) = (Vec::new(), false, false, 0_usize);
    for (number, line) in text.lines().map(str::trim).enumerate() {
        let continues = open > 0;
        let count = |which: [char; 2]| line.matches(which).count();
        let is_header = !continues && line.starts_with('[');
        let mut dependency = None;
        if is_header {
            let section = line.trim_matches(['[', ']']);
            listed = section.ends_with("dependencies");
            // `[dependencies.NAME]`.
            let table = section
                .rsplit_once('.')
                .filter(|(table, _)| table.ends_with("dependencies"));
            dependency = table.map(|(_, name)| name);
        } else if !line.starts_with('#') {
            open = (open + count(['[', '{'])).saturating_sub(count([']', '}']));
            dependency = line
                .split_once('=')
                .filter(|_| listed && !continues)
                .map(|(name, _)| name.trim());
        }
        if let Some(name) = dependency.filter(|_| !explained) {
            let line = number + 1;
            found.push(format!(
                "Cargo.toml:{line}: say in a comment above `{name}` what it is for"
            ));
        }
        // A header explains nothing that follows it, an empty line ends what a comment explains.
        explained = line.starts_with('#') || (explained && !line.is_empty() && !is_header);
    }
    found
}
