//! `fork`: a snapshot into a directory of its own, read back, with a receipt. Nothing else is touched.

use std::ffi::OsString;
use std::path::Path;

use crate::cli::args::{Example, ForkArgs, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::identity_arg::identities;
use crate::cli::schema::Document;
use crate::cli::session_arg::{Asking, SessionArg};
use crate::cli::snapshot_arg::named_by_options;
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::cli::written_snapshot::{
    print_changed_meanwhile, print_encrypted, print_outside_git, print_problems, print_sockets, to_write,
};
use crate::model::InstanceId;
use crate::recovery::{ForkRequest, Wanted};
use crate::report::{ForkDocument, ForkOutcome};
use crate::terminal::size;

impl Command for ForkArgs {
    const NAME: &'static str = "fork";
    const GROUP: Option<Group> = Some(Group::Restore);
    const LONG: &'static str = "\
        Writes all files of a snapshot to an absent or empty directory, with their modes, links, attributes and \
        times, and verifies each. Nothing else changes. Only you can enter the directory. Prints one line of JSON \
        that names the fork; `fork` and `show` accept it, or the fork's id or branch, in place of a session. `list` shows \
        the forks and the sessions started in them. Paths that the file system there cannot hold are listed (exit code 6). \
        A warning names each place elsewhere that git in the fork works on, such as the repository of a linked work tree.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Write the files before the last session to a new directory:",
            "jackin recovery fork",
        ),
        (
            "Two agents side by side, from the same snapshot:",
            "jackin recovery fork shop ../shop-codex --branch codex",
        ),
        ("", "jackin recovery fork shop ../shop-claude --branch claude"),
        (
            "Fork the same snapshot again:",
            "jackin recovery fork \"$reference\" ../again",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ForkDocument>("fork")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        true
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let keys = || identities(context, &args.unlock);
        let (session, directory, from) = named(context, args)?;
        let forked = context.engine().fork(&ForkRequest {
            from: from.as_deref(),
            directory: directory.as_deref().map(Path::new),
            branch: args.branch.as_deref(),
            keys: &keys,
            ..ForkRequest::of(&session)
        })?;
        print_changed_meanwhile(context, &forked.target);
        print_problems(context, &forked.written, args.json);
        if !args.json {
            print_sockets(context, &forked.written.sockets);
        }
        let (target, encrypted) = (forked.target.clone(), forked.encrypted.clone());
        let status = tell(context, args, &ForkDocument::of(forked, args.branch.as_deref()));
        if !args.json && !encrypted.is_empty() {
            print_encrypted(context, &encrypted);
            // The fork stays as it is: with the key another one is made.
            let from = match InstanceId::parse(&session) {
                Err(_) => Some(target.id.to_string()),
                Ok(_) => from,
            };
            let words = Words::new("fork").session(context, &target.instance, Wanted::Any);
            let words = words.flag("--from", from).plain("--identity FILE");
            context.propose(to_write(&encrypted), &words.text());
        }
        Ok(status)
    }
}

/// Returns the session, the directory and the snapshot. A first word with a slash is the directory, and the session is the latest one
/// here.
fn named(
    context: &Context<'_>,
    args: &ForkArgs,
) -> Result<(String, Option<OsString>, Option<String>), CliError> {
    let (word, directory) = match (&args.instance, &args.directory) {
        (Some(word), None) if is_directory(word) => (None, Some(word.clone())),
        (word, directory) => (word.as_ref(), directory.clone()),
    };
    let instance = word.map(|word| word.to_string_lossy().into_owned());
    let options = [("--from", args.from.as_deref())];
    let (session, [from]) = named_by_options(context, instance.as_deref(), args.any, options)?;
    let subject = SessionArg {
        instance: session.or(instance),
        any: args.any,
    };
    let session = subject.settle_or_fork(context, Asking::any(args.json))?;
    Ok((session, directory, from))
}

/// Returns true for a word that can only be a path, and is not what `fork` printed.
fn is_directory(word: &OsString) -> bool {
    let bytes = word.as_encoded_bytes();
    (bytes.contains(&b'/') || bytes == b"." || bytes == b"..") && !bytes.trim_ascii_start().starts_with(b"{")
}

fn tell(context: &Context<'_>, args: &ForkArgs, fork: &ForkDocument) -> Status {
    let terminal = context.terminal;
    let code = match fork.outcome {
        ForkOutcome::Forked => ExitCode::Done,
        ForkOutcome::Partial => ExitCode::Partial,
    };
    if args.json {
        terminal.json(fork);
        return code.into();
    }
    terminal.note(&view::forks::made(fork));
    if !fork.is_whole {
        terminal.warn(&format!(
            "the snapshot and so the fork are incomplete; `show {}` lists what is missing",
            fork.instance
        ));
    }
    if !fork.failed.is_empty() {
        let count = size::counted(fork.failed.len() as u64, "path differs", "paths differ");
        terminal.warn(&format!("{count} from the snapshot; each is listed above"));
    }
    print_outside_git(context, &fork.outside_git);
    // The reference alone, so that a script can keep what it reads; it is not meant for a screen.
    if !terminal.is_tty_out() {
        terminal.json(&fork.reference);
    }
    // An agent there would change what lies elsewhere.
    if fork.outside_git.is_empty() {
        let words = Words::new("launch")
            .plain("--snapshot project")
            .arg(&fork.place)
            .plain("-- COMMAND");
        context.propose("to run an agent there", &words.text());
    }
    code.into()
}
