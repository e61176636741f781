//! From raw arguments to an [`Invocation`], or to what must be said instead.

use std::ffi::{OsStr, OsString};

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind as ClapKind};

use super::help::{brief, command_for, command_of};
use super::lack::{Lack, lacking};
use super::table::CommandSet;
use super::{CalledAs, GlobalArgs, RecoveryArgs, typed};
use crate::agents::Agent;
use crate::cli::error::{CliError, ErrorKind};
use crate::features::Feature;
use crate::terminal::{ColorMode, sanitize, shell};

/// A command line that was understood.
#[derive(Clone, Debug)]
pub struct Invocation<V> {
    /// The name that the program was called by.
    pub called_as: CalledAs,
    /// Options of every command.
    pub global: GlobalArgs,
    /// Command to run.
    pub verb: V,
    /// The arguments before a command to launch.
    words: Vec<OsString>,
}

impl<V> Invocation<V> {
    /// Program, version and the arguments in short. What belongs to a command to launch is not told: it may hold secrets.
    pub(in crate::cli) fn described(&self) -> String {
        let words = self.words.iter().map(shell::word).collect::<Vec<_>>();
        format!(
            "jackin-recovery {}: {}",
            env!("CARGO_PKG_VERSION"),
            words.join(" ")
        )
    }
}

/// A command line that leads to no command.
#[derive(Debug)]
pub enum ParseOutcome {
    /// Help or the version was asked for: text for stdout, exit code 0.
    Asked(String),
    /// It is wrong: exit code 2. `help` is shown to people instead of the error when no command was given at all.
    Wrong {
        /// Error in the command line.
        error: Box<CliError>,
        /// The overview, for stderr.
        help: Option<String>,
        /// Argument without which it is complete; `None` if something else is wrong.
        lacks: Option<Lack>,
    },
}

/// Understands `args`, the first of which is the program's name. Help is laid out for `columns`.
///
/// # Errors
/// When there is nothing to carry out: help was asked for, or the command line is wrong.
pub fn parse<V: CommandSet>(args: Vec<OsString>, columns: usize) -> Result<Invocation<V>, ParseOutcome> {
    let called_as = CalledAs::of(args.first().map(OsString::as_os_str));
    let args = with_help_flag(args, called_as);
    if let Some(error) = misplaced::<V>(called_as, args.get(1).map(OsString::as_os_str)) {
        return Err(ParseOutcome::Wrong {
            error: Box::new(error),
            help: None,
            lacks: None,
        });
    }
    let words: Vec<OsString> = own(&args).cloned().collect();
    if let Some(recovery) = parse_alone::<V>(&args, called_as) {
        return Ok(Invocation {
            called_as,
            global: recovery.global,
            verb: recovery.verb,
            words,
        });
    }
    if let Some(version) = version_alone(&words, called_as) {
        return Err(ParseOutcome::Asked(version));
    }
    let mut command = command_for::<V>(called_as, columns);
    let verb = own(&args).find_map(|arg| V::names().find(|verb| arg == verb));
    let understood = command
        .try_get_matches_from_mut(args)
        .and_then(|matches| match called_as {
            CalledAs::Jackin => typed(
                matches
                    .subcommand_matches("recovery")
                    .ok_or_else(|| clap::Error::new(ClapKind::MissingSubcommand))?,
            ),
            CalledAs::JackinRecovery => typed(&matches),
        });
    let recovery = understood.map_err(|error| match error.kind() {
        ClapKind::DisplayVersion if words.iter().any(|word| is_verbose(word)) => {
            ParseOutcome::Asked(format!("{}{}", error.render(), build()))
        }
        ClapKind::DisplayHelp if is_brief(&words, called_as) => {
            ParseOutcome::Asked(brief::<V>(called_as, columns))
        }
        _ => match told(&error, called_as, verb, &mut command) {
            // The name alone prints the overview.
            ParseOutcome::Wrong {
                error,
                help: Some(_),
                lacks,
            } if verb.is_none() && is_recovery(&words, called_as) => {
                let help = Some(brief::<V>(called_as, columns));
                ParseOutcome::Wrong { error, help, lacks }
            }
            other => other,
        },
    })?;
    Ok(Invocation {
        called_as,
        global: recovery.global,
        verb: recovery.verb,
        words,
    })
}

/// Understands a command line with the definition of its command alone: those of the others and their help take most of the time
/// of a short command. `None` if it is not understood so, for help and errors need all of them. What this understands the whole
/// definition understands alike: no option stands before its command but those of every command, and what stands behind a command
/// concerns no other.
fn parse_alone<V: CommandSet>(args: &[OsString], called_as: CalledAs) -> Option<RecoveryArgs<V>> {
    let start = match called_as {
        CalledAs::Jackin => 2,
        CalledAs::JackinRecovery => 1,
    };
    if called_as == CalledAs::Jackin && args.get(1)? != "recovery" {
        return None;
    }
    let verb = args.get(behind_flags(args, start))?.to_str()?;
    let command = command_of::<V>(verb)?;
    let program = args.first()?;
    let own = std::iter::once(program).chain(args.get(start..)?);
    typed(&command.try_get_matches_from(own).ok()?).ok()
}

/// Returns the version if nothing else is asked for: that needs no definition of a command.
fn version_alone(words: &[OsString], called_as: CalledAs) -> Option<String> {
    let (last, before) = words.split_last()?;
    let is_whole = before.is_empty() || (called_as == CalledAs::Jackin && before == ["recovery"]);
    let is_asked = is_whole && (last == "-V" || last == "--version");
    let name = match before.is_empty() && called_as == CalledAs::Jackin {
        true => "jackin",
        false => CalledAs::JackinRecovery.prefix(),
    };
    is_asked.then(|| format!("{name} {}", env!("CARGO_PKG_VERSION")))
}

/// Returns the position of the first argument from `at` on that is no flag of every command.
fn behind_flags(args: &[OsString], mut at: usize) -> usize {
    while let Some(word) = args
        .get(at)
        .filter(|word| word.as_encoded_bytes().starts_with(b"-"))
    {
        at += match VALUED.iter().any(|flag| word == flag) {
            true => 2,
            false => 1,
        };
    }
    at
}

/// Writes `help COMMAND` as `COMMAND --help`, and `help` alone as `--help`. Other arguments stay as they are.
fn with_help_flag(mut args: Vec<OsString>, called_as: CalledAs) -> Vec<OsString> {
    let mut at = 1;
    if called_as == CalledAs::Jackin {
        if args.get(at).is_none_or(|word| word != "recovery") {
            return args;
        }
        at += 1;
    }
    at = behind_flags(&args, at);
    if args.get(at).is_none_or(|word| word != "help") {
        return args;
    }
    while args.get(at).is_some_and(|word| word == "help") {
        args.remove(at);
    }
    let end = args.iter().position(|word| word == "--").unwrap_or(args.len());
    args.insert(end, "--help".into());
    args
}

/// Flags of every command whose value is the next word.
const VALUED: [&str; 3] = ["--color", "--log-file", "--agent"];

/// Returns true for `-v`, also in a group of short options.
fn is_verbose(word: &OsStr) -> bool {
    match word.to_str().and_then(|word| word.strip_prefix('-')) {
        Some("-verbose") => true,
        Some(short) => short.chars().all(char::is_alphabetic) && short.contains('v'),
        None => false,
    }
}

/// Returns true if the command line names `recovery`, or needs not.
fn is_recovery(words: &[OsString], called_as: CalledAs) -> bool {
    called_as == CalledAs::JackinRecovery || words.first().is_some_and(|word| word == "recovery")
}

/// Returns true if the short overview is asked for: `-h` without a command.
fn is_brief(words: &[OsString], called_as: CalledAs) -> bool {
    let rest = match called_as {
        CalledAs::Jackin => words.get(1..).unwrap_or_default(),
        CalledAs::JackinRecovery => words,
    };
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let asks = rest.iter().any(|word| word == "-h") && !rest.iter().any(|word| word == "--help");
    is_recovery(words, called_as) && asks && rest.iter().all(is_option)
}

/// Returns the facts of this build, one on each line.
fn build() -> String {
    let names = |are_built: bool| {
        let chosen = Feature::ALL
            .into_iter()
            .filter(|feature| feature.is_built() == are_built);
        let names: Vec<_> = chosen.map(Feature::name).collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    };
    format!(
        "commit: {}\ntarget: {}\nfeatures: {}\nwithout: {}",
        env!("JACKIN_COMMIT"),
        env!("JACKIN_TARGET"),
        names(true),
        names(false),
    )
}

/// Returns true if `--json` or `--json-lines` is among the arguments, except those of a command to launch. Works for wrong command
/// lines too.
#[must_use]
pub fn wants_json(args: &[OsString]) -> bool {
    own(args).any(|arg| arg == "--json" || arg == "--json-lines")
}

/// Returns true if an agent calls (`hook run`). Works for wrong command lines too.
#[must_use]
pub fn is_called_by_agent(args: &[OsString]) -> bool {
    let mut words = own(args).filter(|arg| !arg.as_encoded_bytes().starts_with(b"-") && *arg != "recovery");
    words.next().is_some_and(|verb| verb == "hook") && words.next().is_some_and(|action| action == "run")
}

/// Returns the value of `--color`, as far as it can be known before parsing.
#[must_use]
pub fn wanted_color(args: &[OsString]) -> ColorMode {
    let mut mode = ColorMode::Auto;
    let mut own = own(args);
    while let Some(arg) = own.next() {
        let value = match arg.to_str() {
            Some("--color") => own.next().and_then(|value| value.to_str()),
            Some(arg) => arg.strip_prefix("--color="),
            None => None,
        };
        match value {
            Some("always") => mode = ColorMode::Always,
            Some("never") => mode = ColorMode::Never,
            _ => {}
        }
    }
    mode
}

/// The arguments up to `--`.
fn own(args: &[OsString]) -> impl Iterator<Item = &OsString> {
    args.iter().skip(1).take_while(|arg| *arg != "--")
}

/// A command where `recovery` must stand, or the reverse.
fn misplaced<V: CommandSet>(called_as: CalledAs, first: Option<&OsStr>) -> Option<CliError> {
    let first = first.filter(|first| !first.as_encoded_bytes().starts_with(b"-"))?;
    let shown = sanitize::os(first);
    let is_verb = first.to_str().is_some_and(|first| V::named(first).is_some());
    let usage = |message: String| CliError::new(ErrorKind::Usage, message);
    match called_as {
        CalledAs::Jackin if first == "recovery" => None,
        CalledAs::Jackin if is_verb => Some(
            usage(format!("`{shown}` must come after `recovery`"))
                .hint(format!("write jackin recovery {shown}")),
        ),
        CalledAs::Jackin => Some(
            usage(format!(
                "there is no command `{shown}`: this program has only `recovery`"
            ))
            .hint("see jackin recovery --help"),
        ),
        CalledAs::JackinRecovery if first == "recovery" => Some(
            usage(
                "there is no command `recovery`: called as jackin-recovery, the program takes the command directly"
                    .into(),
            )
            .hint("write jackin-recovery COMMAND, or see jackin-recovery --help"),
        ),
        CalledAs::JackinRecovery => None,
    }
}

/// clap's answer in our form.
fn told(error: &clap::Error, called_as: CalledAs, verb: Option<&str>, command: &mut Command) -> ParseOutcome {
    let lacks = lacking(error, verb);
    let rendered = || error.render().ansi().to_string().trim_end().to_owned();
    let prefix = called_as.prefix();
    let none = || match verb {
        Some(HOOK) => CliError::new(
            ErrorKind::Usage,
            "no action was given: install, uninstall or status",
        )
        .hint(format!("see {prefix} {HOOK} --help")),
        _ => CliError::new(ErrorKind::Usage, "no command was given").hint(format!("see {prefix} --help")),
    };
    let (error, help) = match (error.kind(), verb) {
        (ClapKind::DisplayHelp | ClapKind::DisplayVersion, _) => return ParseOutcome::Asked(rendered()),
        (ClapKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => (none(), Some(rendered())),
        (ClapKind::MissingSubcommand, _) => (none(), None),
        (ClapKind::InvalidSubcommand, Some(HOOK)) => {
            (unknown(error, "action", &format!("{prefix} {HOOK}")), None)
        }
        (ClapKind::InvalidSubcommand, _) => (unknown(error, "command", prefix), None),
        (_, None) => (
            from_paragraphs(&error.render().to_string(), None).hint(format!("see {prefix} --help")),
            None,
        ),
        (kind, Some(verb)) => {
            let made = match (verb, kind) {
                ("launch", ClapKind::MissingRequiredArgument) => {
                    CliError::new(ErrorKind::Usage, "no command was given; put it after `--`")
                        .hint(format!("for example:\n  {prefix} launch -- claude"))
                }
                _ => from_paragraphs(&error.render().to_string(), Some(verb)),
            };
            // Words that the launched command should have been given.
            let misplaced = (verb, kind) == ("launch", ClapKind::UnknownArgument);
            let made = if misplaced {
                made.hint("put the command and its arguments after `--`")
            } else {
                made
            };
            // What other programs call them.
            let meant = match error
                .get(ContextKind::InvalidArg)
                .map(ToString::to_string)
                .as_deref()
            {
                Some("-y" | "--force" | "-f") => Some("--yes"),
                Some("-n") => Some("--dry-run"),
                _ => None,
            };
            let made = match meant
                .filter(|_| matches!(verb, "restore" | "undo" | "resume" | "abort" | "init" | HOOK))
            {
                Some(flag) => {
                    let mut made = made;
                    made.hints.retain(|hint| {
                        !hint.starts_with("to pass") && !hint.starts_with("a similar argument")
                    });
                    made.hint(format!("did you mean {flag}?"))
                }
                None => made,
            };
            // Other commands have this option.
            let takes_paths = matches!(verb, "blame" | "cat" | "diff" | "edit" | "log" | "restore");
            let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string);
            if takes_paths && argument.as_deref() == Some("--path") {
                let message = format!("{verb} has no --path: paths need no flag");
                let error = CliError::new(ErrorKind::Usage, message);
                let error = error.hint(format!("for example:\n  {prefix} {verb} src/main.rs"));
                return ParseOutcome::Wrong {
                    error: Box::new(error),
                    help: None,
                    lacks,
                };
            }
            // An option of another command cannot be meant as a value.
            let made = match hint_of_owner(command, prefix, verb, error.get(ContextKind::InvalidArg)) {
                Some(hint) if kind == ClapKind::UnknownArgument => {
                    let mut made = made;
                    // "'list --json' exists" says less.
                    made.hints
                        .retain(|hint| !hint.starts_with("to pass") && !hint.ends_with("' exists"));
                    made.hint(hint)
                }
                _ => made,
            };
            // The shell replaced a glob by the names that it matches.
            let made = match (
                verb,
                kind,
                error.get(ContextKind::InvalidArg).map(ToString::to_string),
            ) {
                ("find", ClapKind::UnknownArgument, Some(word)) if !word.starts_with('-') => made.hint(
                    format!("quote a glob, so that the shell leaves it alone:\n  {prefix} find '*.rs'"),
                ),
                _ => made,
            };
            // restic's policy is given by options, this one by the configuration.
            let is_policy = error
                .get(ContextKind::InvalidArg)
                .is_some_and(|arg| arg.to_string().starts_with("--keep"));
            let made = match verb {
                "prune" if is_policy => made.hint(format!(
                    "[recovery.retention] in config.toml sets what is kept:\n  {prefix} man config"
                )),
                _ => made,
            };
            let made = match usage_of(command, called_as, verb) {
                Some(usage) => made.hint(format!("usage: {usage}")),
                None => made,
            };
            // Ids are not known by heart.
            let made = match kind {
                ClapKind::MissingRequiredArgument if lacks_instance(error) => made.hint(format!(
                    "`@1` is the latest session here; to list the sessions:\n  {prefix} list"
                )),
                _ => made,
            };
            (made.hint(format!("see {prefix} {verb} --help")), None)
        }
    };
    ParseOutcome::Wrong {
        error: Box::new(error),
        help,
        lacks,
    }
}

/// Number of commands with an option that are named. More of them say nothing about what was meant.
const OWNERS: usize = 3;

/// Returns the hint for a long option that stands at the wrong place: before its command, or at a command that has none of this name.
fn hint_of_owner(
    command: &Command,
    prefix: &str,
    verb: &str,
    argument: Option<&ContextValue>,
) -> Option<String> {
    let flag = argument?.to_string();
    let flag = flag.split('=').next()?;
    let name = flag.strip_prefix("--")?;
    let recovery = command.find_subcommand("recovery").unwrap_or(command);
    let owners = recovery.get_subcommands().filter(|one| {
        !one.is_hide_set()
            && one
                .get_arguments()
                .any(|argument| argument.get_long() == Some(name))
    });
    let owners: Vec<&str> = owners.map(Command::get_name).collect();
    if owners.contains(&verb) {
        return Some(format!(
            "`{flag}` goes after the command:\n  {prefix} {verb} {flag}"
        ));
    }
    let (last, others) = owners.split_last().filter(|_| owners.len() <= OWNERS)?;
    Some(match others {
        [] => format!("`{flag}` is an option of {prefix} {last}"),
        others => format!("`{flag}` is an option of {} and {last}", others.join(", ")),
    })
}

/// Returns true if a session is among the missing arguments.
fn lacks_instance(error: &clap::Error) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|one| one == "<INSTANCE>"),
        _ => false,
    }
}

/// The command whose first word says what it does.
const HOOK: &str = "hook";

/// Commands of other programs, each with the one that does the same here.
const ELSEWHERE: [(&str, &str); 26] = [
    ("annotate", "blame"),
    ("backup", "checkpoint"),
    ("checkout", "restore"),
    ("clean", "prune"),
    ("compare", "diff"),
    ("config", "init"),
    ("delete", "forget"),
    ("dump", "cat"),
    ("gc", "prune"),
    ("grep", "find"),
    ("history", "log"),
    ("ls", "list"),
    ("recover", "restore"),
    ("redo", "undo"),
    ("remove", "forget"),
    ("reset", "restore"),
    ("revert", "restore"),
    ("rewind", "restore"),
    ("rm", "forget"),
    ("rollback", "restore"),
    ("run", "launch"),
    ("save", "checkpoint"),
    ("search", "find"),
    ("snapshot", "checkpoint"),
    ("snapshots", "list"),
    ("stop", "end"),
];

/// Returns true if a command may have been meant by a word: it begins so, or few letters differ.
fn is_near(command: &str, given: &str) -> bool {
    command.starts_with(given) || strsim::damerau_levenshtein(command, given) <= 1 + given.chars().count() / 4
}

fn unknown(error: &clap::Error, what: &str, prefix: &str) -> CliError {
    let given = error
        .get(ContextKind::InvalidSubcommand)
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut made = CliError::new(ErrorKind::Usage, format!("there is no {what} `{given}`"));
    if let Some((_, meant)) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == given) {
        made.hints.push(format!("did you mean {prefix} {meant}?"));
    } else if Agent::ALL.iter().any(|agent| agent.word() == given) {
        made.hints
            .push(format!("to run it in a session:\n  {prefix} launch -- {given}"));
    } else if let Some(ContextValue::Strings(near)) = error.get(ContextKind::SuggestedSubcommand) {
        // What begins so was typed in part, and is nearer than what only holds the same letters.
        let mut near: Vec<&String> = near.iter().filter(|near| is_near(near, &given)).collect();
        near.sort_by_key(|near| {
            let edits = strsim::damerau_levenshtein(near, &given);
            (!near.starts_with(&given), edits)
        });
        made.hints
            .extend(near.iter().map(|near| format!("did you mean {prefix} {near}?")));
    }
    made.hint(format!("see {prefix} --help"))
}

/// clap's text is paragraphs: what is wrong, tips, its own idea of the usage, where to find help.
fn from_paragraphs(text: &str, verb: Option<&str>) -> CliError {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = text.split("\n\n");
    let message = flat(paragraphs.next().unwrap_or_default());
    let mut error = CliError::new(
        ErrorKind::Usage,
        message.strip_prefix("error: ").unwrap_or(&message),
    );
    // Only these take values that may begin with a dash.
    let takes_paths = matches!(verb, Some("cat" | "diff" | "edit" | "find" | "restore"));
    let tips = paragraphs
        .flat_map(str::lines)
        .filter_map(|line| line.trim().strip_prefix("tip: "));
    let tips: Vec<&str> = tips.collect();
    // A slip in a flag is likelier than a path that looks like one.
    let is_slip = tips.iter().any(|tip| tip.starts_with("a similar argument"));
    error.hints.extend(
        tips.into_iter()
            .filter(|tip| takes_paths && !is_slip && !is_of_number(tip) || !tip.starts_with("to pass"))
            // `zsh` is not what was meant by `tcsh`.
            .filter(|tip| verb != Some("completions") || !tip.starts_with("a similar value"))
            .map(str::to_owned),
    );
    error
}

/// Returns true for clap's tip to pass a negative number behind `--`, where only paths stand.
fn is_of_number(tip: &str) -> bool {
    let word = tip.split('\'').nth(1).and_then(|word| word.strip_prefix('-'));
    word.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the usage of `verb`.
fn usage_of(command: &mut Command, called_as: CalledAs, verb: &str) -> Option<String> {
    // An error before the command leaves the commands without the names before theirs.
    command.build();
    let parent = match called_as {
        CalledAs::Jackin => command.find_subcommand_mut("recovery")?,
        CalledAs::JackinRecovery => command,
    };
    let usage = parent.find_subcommand_mut(verb)?.render_usage().to_string();
    Some(
        usage
            .trim_start_matches("Usage:")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    )
}
