//! The recovery contract in words: what operator and tool agree on before a session. Every name in it is
//! hostile until it is cleaned; nothing depends on color.

mod brief;
mod excludes;
mod gaps;
mod git;
mod jackin;
mod kept;
mod layout;
mod mounts;
mod state;

use crate::config::{AgentRestore, CommandDetail, Mode, OnFailure, Prompts, Subject, ValueSource};
use crate::contract::{Contract, Unavailable, why_unwatched};
use crate::model::ByteString;
use crate::terminal::{Role, size};
use layout::{Part, Sheet};

pub(in crate::cli) use brief::{brief, changes, warnings};

/// The contract as text for `columns`, without a newline at the end. Lines are longer only where a path is.
pub(in crate::cli) fn contract(contract: &Contract, columns: usize) -> String {
    let mut sheet = Sheet::new(columns);
    title(&mut sheet, &contract.subject);
    snapshot(&mut sheet, contract);
    jackin::write(&mut sheet, contract);
    mounts::write(&mut sheet, contract);
    git::write(&mut sheet, contract);
    state::write(&mut sheet, contract);
    if contract.snapshot.created {
        excludes::write(&mut sheet, contract);
        gaps::withheld(&mut sheet, contract);
    }
    stored(&mut sheet, contract);
    kept::write(&mut sheet, contract);
    restore(&mut sheet, contract);
    if contract.snapshot.created {
        limits(&mut sheet, contract);
        gaps::not_covered(&mut sheet, contract);
        sheet.section("Not undone");
        sheet.say(&[Part::Text(
            "side effects such as database writes, network calls, pushed commits",
        )]);
        sheet.section("Note");
        let recorded = match contract.prompts.value {
            Prompts::FirstLine => {
                "Hooks record the first line of your prompts and of the agent's commands, and the files it names. "
            }
            Prompts::Full => "Hooks record your prompts, the agent's commands and the files it names. ",
            Prompts::Off => "Hooks record the agent's tools and the files it names. ",
        };
        let command = match contract.command.value {
            CommandDetail::Program => "",
            CommandDetail::Full => {
                "The arguments of a launched command are recorded, without those that look like secrets. "
            }
        };
        sheet.say(&[
            Part::Text(
                "Your edits during the session count as the agent's, except between turns that hooks report. ",
            ),
            Part::Text(command),
            Part::Text(recorded),
            Part::Text(
                "This protects against accidents, not against malicious processes that run as you.",
            ),
        ]);
    }
    sheet.finish()
}

fn title(sheet: &mut Sheet, subject: &Subject) {
    let (kind, name) = match subject {
        Subject::Workspace { name } => (" for the workspace ", name.as_bytes()),
        Subject::Directory { path } => (" for the directory ", &*path.0),
    };
    sheet.title(&[
        Part::loud(Role::Heading, "Recovery contract"),
        Part::Text(kind),
        Part::name(name),
    ]);
}

fn snapshot(sheet: &mut Sheet, contract: &Contract) {
    let terms = &contract.snapshot;
    sheet.section("Snapshot");
    let answer = if terms.created {
        "yes, before the session and after it: mode "
    } else {
        "NO: mode "
    };
    let is_unset = terms.mode == Mode::Off && terms.source == ValueSource::Default;
    if is_unset {
        sheet.say(&[Part::Text("NO: no mode is configured")]);
    } else {
        let mut parts = vec![
            Part::Text(answer),
            Part::Text(terms.mode.word()),
            Part::Text(" ("),
        ];
        parts.extend(chosen(&terms.source));
        parts.push(Part::Text(")"));
        sheet.say(&parts);
    }
    match terms.mode {
        Mode::Off if is_unset => sheet.say(&[
            Part::loud(
                Role::Warning,
                "Only `launch` records sessions here, with mode project.",
            ),
            Part::Text(" To see what it would record, use --snapshot project"),
        ]),
        Mode::Off => sheet.say(&[
            Part::loud(Role::Warning, "Nothing is recorded, and nothing can be restored."),
            Part::Text(" To be able to undo the session, use --snapshot project"),
        ]),
        Mode::Metadata => sheet.say(&[
            Part::loud(
                Role::Warning,
                "The session and the state of git are recorded, but no files.",
            ),
            Part::Text(" To be able to undo the session, use --snapshot project"),
        ]),
        Mode::Project | Mode::ProjectAndState => {}
    }
    if contract.is_frozen() {
        sheet.say(&[Part::Text(
            "`launch` starts the command at once and stores the baseline while it runs. Exceeded limits and a full \
            disk are found only then and do not stop the command. `begin` waits for the baseline.",
        )]);
    }
    if let Some(seconds) = contract.checkpoint_every {
        let every = size::interval(seconds);
        sheet.say(&[
            Part::Text("A checkpoint every "),
            Part::Whole(every),
            Part::Text(" while it runs, if something changed."),
        ]);
    }
    if contract.watch.value && terms.created {
        let why = why_unwatched(contract.coverages());
        let mut parts = vec![Part::Text(match why {
            None => {
                "The files are watched: a checkpoint looks at them only if something may have happened, or where that \
                cannot be known (watch = true, "
            }
            Some(_) => "Each checkpoint looks at all files (watch = true, ",
        })];
        parts.extend(chosen(&contract.watch.source));
        parts.push(Part::Text(match why {
            None => ")",
            Some(_) => "): ",
        }));
        parts.extend(why.map(Part::Text));
        sheet.say(&parts);
    }
}

fn stored(sheet: &mut Sheet, contract: &Contract) {
    let Some(store) = &contract.store else { return };
    sheet.section("Stored in");
    sheet.say(&[
        Part::name(&store.0),
        Part::Text(if contract.snapshot.created {
            " (readable only by you)"
        } else {
            " (metadata only, readable only by you; it stays)"
        }),
    ]);
    let Some(replica) = &contract.replica else { return };
    let mut parts = vec![
        Part::loud(Role::Warning, "Copied to "),
        Part::name(replica.place.as_bytes()),
        Part::Text(match replica.prune {
            true => " after each snapshot; what is deleted here is deleted there, too (",
            false => " after each snapshot; what is deleted here stays there (",
        }),
    ];
    parts.extend(chosen(&replica.source));
    parts.push(Part::Text("). Only these keys can read it:"));
    sheet.say(&parts);
    for key in &replica.recipients {
        sheet.below(&[Part::name(key.value.as_bytes())]);
    }
}

fn restore(sheet: &mut Sheet, contract: &Contract) {
    let terms = &contract.restore;
    sheet.section("Restore");
    if !terms.available {
        return sheet.say(&[Part::Text(match terms.reason {
            Some(Unavailable::Off) if contract.snapshot.source == ValueSource::Default => {
                "not possible without a mode."
            }
            Some(Unavailable::Off) => "not possible: the mode is off.",
            Some(Unavailable::Metadata) => "not possible: the mode is metadata, so no files are stored.",
            None => "not possible.",
        })]);
    }
    let captured = |path: &ByteString| {
        let mut mounts = contract.mounts.iter().filter(|mount| mount.coverage.is_some());
        mounts.any(|mount| mount.root == *path)
    };
    if terms.overwrites.iter().all(captured) {
        sheet.say(&[Part::Text(
            "asks first; creates, replaces and deletes files only in the mounts",
        )]);
    } else {
        sheet.say(&[Part::Text("asks first; may create, replace and delete files in")]);
        for path in &terms.overwrites {
            sheet.below(&[Part::name(&path.0)]);
        }
    }
    if contract.agent_restore.value == AgentRestore::Checkpoints {
        let mut parts = vec![Part::loud(Role::Warning, "Without a question")];
        parts.push(Part::Text(
            " the agent may restore the checkpoints of its own session, and fork them (restore = \"checkpoints\" in [recovery.agent], ",
        ));
        parts.extend(chosen(&contract.agent_restore.source));
        parts.push(Part::Text(")"));
        sheet.say(&parts);
    }
}

fn limits(sheet: &mut Sheet, contract: &Contract) {
    sheet.section("Limits");
    let (entries, bytes) = (contract.limits.max_entries.value, contract.limits.max_bytes.value);
    let most = format!(
        "at most {} and {} per baseline",
        size::counted(entries, "entry", "entries"),
        size::bytes(bytes)
    );
    let mut parts = vec![Part::Text(&most)];
    match contract.on_failure.value {
        OnFailure::Block => {}
        OnFailure::Run => {
            sheet.say(&parts);
            parts = vec![
                Part::loud(Role::Warning, "WARNING:"),
                Part::Text(
                    " if the baseline fails, the session starts without protection (on_failure = \"run\", ",
                ),
            ];
            parts.extend(chosen(&contract.on_failure.source));
            parts.push(Part::Text(")"));
        }
    }
    sheet.say(&parts);
    if contract.agent_on_failure.value == OnFailure::Block {
        let mut parts = vec![Part::Text(
            "a tool call of an agent with hooks does not run if its checkpoint fails (on_failure = \"block\" in \
            [recovery.agent], ",
        )];
        parts.extend(chosen(&contract.agent_on_failure.source));
        parts.push(Part::Text(")"));
        sheet.say(&parts);
    }
}

/// Returns the source of a value, for the text in brackets.
fn chosen(source: &ValueSource) -> Vec<Part<'_>> {
    match source {
        ValueSource::Default => vec![Part::Text("the default")],
        ValueSource::Flag { name } => vec![Part::Text(name)],
        ValueSource::File { path, line } => vec![
            Part::name(&path.0),
            Part::Text(", line "),
            Part::Whole(line.to_string()),
        ],
    }
}
