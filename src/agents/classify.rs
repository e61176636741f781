//! Classifies commands by whether they may change files. A command counts as reading only if its program is in the list here and
//! none of its options writes or starts something else; every other command may change files.
//!
//! The names are assumed to stand for the usual programs. A poisoned `PATH` or start-up file can make `ls` another program; the
//! next checkpoint then contains what that program changed.

mod programs;
mod scripts;
#[cfg(test)]
mod tests;

use super::shell::{Output, Simple, Word, parse};
use programs::{Rule, rule};

/// Effect of a tool call on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Provably changes no file.
    Reads,
    /// May change files.
    Changes,
}

/// Returns the effect that a shell command line may have.
#[must_use]
pub fn of_command(line: &str) -> Effect {
    of(reads_line(line, 0))
}

/// Returns the effect of a program started with these arguments, without a shell. After a shell's `-c` or `-lc`, the line counts.
#[must_use]
pub fn of_arguments(arguments: &[String]) -> Effect {
    if let [shell, option, line] = arguments
        && programs::is_shell(name_of(shell).unwrap_or_default())
        && matches!(option.as_str(), "-c" | "-lc")
    {
        return of_command(line);
    }
    let words: Vec<Word> = arguments.iter().map(|text| fixed(text)).collect();
    of(reads_words(&words, 0))
}

fn of(reads: bool) -> Effect {
    if reads { Effect::Reads } else { Effect::Changes }
}

fn fixed(text: &str) -> Word {
    Word {
        text: text.to_owned(),
        is_fixed: true,
    }
}

/// Maximum depth of command lines within command lines; deeper ones may change files.
const DEEPEST: usize = 8;

fn reads_line(line: &str, depth: usize) -> bool {
    let Some(line) = parse(line).filter(|_| depth < DEEPEST) else {
        return false;
    };
    line.commands.iter().all(|command| reads(command, depth))
}

fn reads(command: &Simple, depth: usize) -> bool {
    command.outputs.iter().all(|output| *output == Output::Harmless) && reads_words(&command.words, depth)
}

fn reads_words(words: &[Word], depth: usize) -> bool {
    let Some((first, rest)) = words.split_first() else {
        // A redirection alone, which was looked at.
        return true;
    };
    if let Some(does) = assigns(first) {
        return does && reads_words(rest, depth);
    }
    if !first.is_fixed {
        return false;
    }
    match first.text.as_str() {
        // What stands in front of a command, or alone.
        "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "}" | "fi" | "done" => {
            reads_words(rest, depth)
        }
        // `for NAME in WORDS`: the words are only expanded. Another variable than one of the script's own may change what runs.
        "for" => {
            let name = rest.first();
            name.is_some_and(|name| name.is_fixed && is_own(&name.text)) && !rest.iter().any(may_run)
        }
        _ => {
            let Some(name) = name_of(&first.text) else {
                return false;
            };
            // What a shell takes for a name or a number it may evaluate once more.
            let looks_harmless = matches!(name, "grep" | "egrep" | "fgrep" | "rg" | "echo" | "sed" | "awk")
                || !rest.iter().any(may_run);
            looks_harmless && rule(name).is_some_and(|rule| follows(&rule, rest, depth))
        }
    }
}

/// Returns the program that a first word names; `None` if its path is outside the system's directories.
fn name_of(word: &str) -> Option<&str> {
    match word.rsplit_once('/') {
        None => Some(word),
        Some(("/bin" | "/usr/bin", name)) => Some(name),
        Some(_) => None,
    }
}

/// Returns true if a shell that evaluates the word once more would run a command, as it does with an index in arithmetic.
fn may_run(word: &Word) -> bool {
    word.text.contains("$(") || word.text.contains('`')
}

/// Returns true if the word assigns a variable that changes nothing else; `None` if it assigns nothing.
fn assigns(word: &Word) -> Option<bool> {
    let (name, value) = word.text.split_once('=')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        // An index, `+=`, or a program with such a name.
        return name.ends_with(['+', ']']).then_some(false);
    }
    let is_harmless = is_own(name) || (is_display(name) && (word.is_fixed || value.is_empty()));
    Some(is_harmless && !may_run(word))
}

/// Returns true for a variable that no program and no shell reads.
fn is_own(name: &str) -> bool {
    let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    // Variables of zsh that are tied to others, and of proxies, which no reading program here asks.
    const ODD: [&str; 8] = [
        "path",
        "cdpath",
        "fpath",
        "manpath",
        "module_path",
        "fignore",
        "psvar",
        "prompt",
    ];
    !name.is_empty() && name.bytes().all(is_small) && !ODD.contains(&name)
}

/// Returns true for a variable that affects only how output is shown.
fn is_display(name: &str) -> bool {
    const KNOWN: [&str; 12] = [
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "COLUMNS",
        "LINES",
        "NO_COLOR",
        "CLICOLOR",
        "FORCE_COLOR",
        "CI",
        "RUST_BACKTRACE",
        "GREP_COLORS",
    ];
    KNOWN.contains(&name) || name.starts_with("LC_")
}

/// Returns true if a program does no more than its rule allows.
fn follows(rule: &Rule, arguments: &[Word], depth: usize) -> bool {
    match rule {
        Rule::Any => true,
        Rule::But(options) => {
            arguments.iter().all(|word| word.is_fixed)
                && !arguments
                    .iter()
                    .any(|word| options.iter().any(|option| is_option(&word.text, option)))
        }
        Rule::Only(options) => arguments
            .iter()
            .all(|word| word.is_fixed && options.contains(&word.text.as_str())),
        Rule::AtMost(count) => {
            let is_plain = |word: &&Word| !word.text.starts_with('-') || word.text == "-";
            let mut parts = arguments.splitn(2, |word| word.text == "--");
            let (options, operands) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let number = options.iter().filter(is_plain).count() + operands.len();
            arguments.iter().all(|word| word.is_fixed) && number <= *count
        }
        Rule::Variables => arguments.iter().all(|word| {
            let is_named = assigns(word).unwrap_or_else(|| is_own(&word.text) || word.text == "-r");
            word.is_fixed && is_named
        }),
        Rule::Before {
            options,
            valued,
            extra,
        } => {
            let rest = behind(arguments, options, valued);
            rest.and_then(|rest| rest.get(*extra..))
                .is_some_and(|rest| reads_words(rest, depth))
        }
        Rule::Environment => environment(arguments, depth),
        Rule::Command => match arguments.split_first() {
            Some((first, _)) if matches!(first.text.as_str(), "-v" | "-V") => true,
            _ => reads_words(arguments, depth),
        },
        Rule::Shell => match arguments {
            [option, line] => option.text == "-c" && line.is_fixed && reads_line(&line.text, depth + 1),
            _ => false,
        },
        Rule::Each => each(arguments, depth),
        Rule::Find => scripts::find_reads(arguments),
        Rule::Sed => scripts::sed_reads(arguments),
        Rule::Awk => scripts::awk_reads(arguments),
        Rule::Git => scripts::git_reads(arguments),
        Rule::Version => matches!(arguments, [only] if only.is_fixed && only.text == "--version"),
    }
}

/// Returns true if a word is `option`, also with an attached value, abbreviated, or in a group of letters.
fn is_option(word: &str, option: &str) -> bool {
    // One dash and several letters: the whole word.
    if !option.starts_with("--") && option.len() > 2 {
        return word == option;
    }
    match (option.strip_prefix("--"), option.strip_prefix('-')) {
        (Some(long), _) => word.strip_prefix("--").is_some_and(|given| {
            let given = given.split_once('=').map_or(given, |(name, _)| name);
            !given.is_empty() && long.starts_with(given)
        }),
        (None, Some(letter)) => {
            word.starts_with('-')
                && !word.starts_with("--")
                && word.get(1..).is_some_and(|all| all.contains(letter))
        }
        (None, None) => word == option,
    }
}

/// Returns the words after the options; `None` if an option is unknown or lacks its value.
fn behind<'w>(arguments: &'w [Word], options: &[&str], valued: &[&str]) -> Option<&'w [Word]> {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        if !first.is_fixed || !first.text.starts_with('-') {
            break;
        }
        let text = first.text.as_str();
        rest = if text == "--" {
            return Some(after);
        } else if options.contains(&text) {
            after
        } else if valued.contains(&text) {
            after.split_first()?.1
        } else if valued
            .iter()
            .any(|option| text.starts_with(option) && text.len() > option.len())
        {
            after
        } else {
            return None;
        };
    }
    Some(rest)
}

/// `env`: what it sets, then a command.
fn environment(arguments: &[Word], depth: usize) -> bool {
    let Some(rest) = behind(arguments, &["-i", "-0", "-"], &["-u", "--unset="]) else {
        return false;
    };
    // Without a command it prints; the assignments are looked at where a command has them, too.
    reads_words(rest, depth)
}

/// `xargs`: a command whose last arguments are anything.
fn each(arguments: &[Word], depth: usize) -> bool {
    let known = ["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty"];
    let Some(rest) = behind(arguments, &known, &["-n", "-L", "-P", "-I", "-d", "-s", "-E"]) else {
        return false;
    };
    if rest.is_empty() {
        return true;
    }
    let mut words = rest.to_vec();
    words.push(Word {
        text: String::new(),
        is_fixed: false,
    });
    // Where the arguments go is said by `-I`: any word may be one of them.
    if arguments.iter().any(|word| word.text.starts_with("-I")) {
        words.iter_mut().for_each(|word| word.is_fixed = false);
        if let (Some(first), Some(given)) = (words.first_mut(), rest.first()) {
            first.is_fixed =
                given.is_fixed && rule(&given.text).is_some_and(|rule| matches!(rule, Rule::Any));
        }
    }
    reads_words(&words, depth)
}
