//! Help: complete, and readable at 80 columns.

use std::collections::BTreeSet;

use super::super::args::{CalledAs, CommandSet as _, OVERVIEW, command_for, command_of};
use super::super::commands::Verb;
use super::super::{ParseOutcome, parse};
use super::{understood, words};
use crate::terminal::sanitize;
use crate::terminal::width;

fn asked(line: &str, columns: usize) -> String {
    match parse(words(line), columns) {
        Err(ParseOutcome::Asked(text)) => text,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_definition_is_sound() {
    command_for::<Verb>(CalledAs::Jackin, 80).debug_assert();
    command_for::<Verb>(CalledAs::JackinRecovery, 80).debug_assert();
}

#[test]
fn each_definition_alone_is_that_of_the_whole() {
    use clap::Command;

    /// Properties of an argument by which clap understands a command line.
    fn arguments(command: &Command) -> Vec<String> {
        let one = |argument: &clap::Arg| {
            format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {} {} {} {:?} {}",
                argument.get_id(),
                argument.get_short(),
                argument.get_long(),
                argument.get_visible_aliases(),
                argument.get_action(),
                argument.get_num_args(),
                argument.is_required_set(),
                argument.is_last_set(),
                argument.is_allow_hyphen_values_set(),
                argument.get_default_values(),
                argument.is_global_set(),
            )
        };
        let mut all: Vec<String> = command.get_arguments().map(one).collect();
        all.extend(command.get_subcommands().flat_map(arguments));
        all
    }

    let mut whole = command_for::<Verb>(CalledAs::JackinRecovery, 80);
    whole.build();
    for info in Verb::ALL {
        let mut alone = command_of::<Verb>(info.name).unwrap();
        alone.build();
        let of_whole = whole.find_subcommand(info.name).unwrap();
        let of_alone = alone.find_subcommand(info.name).unwrap();
        assert_eq!(arguments(of_alone), arguments(of_whole), "{}", info.name);
        let own = |command: &Command| command.clone().mut_subcommands(|_| Command::new("none"));
        let globals = |command: &Command| {
            let mut own = arguments(&own(command));
            own.sort();
            own
        };
        assert_eq!(globals(&alone), globals(&whole), "{}", info.name);
    }
    assert!(command_of::<Verb>("recovery").is_none());
}

#[test]
fn every_verb_has_help_that_fits_80_columns() {
    for program in ["jackin recovery", "jackin-recovery"] {
        for flag in ["-h", "--help"] {
            let mut pages = vec![asked(&format!("{program} {flag}"), 80)];
            pages.extend(Verb::names().map(|verb| asked(&format!("{program} {verb} {flag}"), 80)));
            for page in pages {
                for line in page.lines() {
                    assert!(width::of(line) <= 80, "{program} {flag}: {line}");
                }
                assert!(page.contains("Usage:") && page.contains("Example"), "{page}");
            }
        }
    }
}

#[test]
fn help_and_a_command_show_the_help_of_that_command() {
    for program in ["jackin recovery", "jackin-recovery"] {
        for verb in Verb::names() {
            let page = asked(&format!("{program} {verb} --help"), 80);
            assert_eq!(asked(&format!("{program} help {verb}"), 80), page);
        }
        let page = asked(&format!("{program} hook install --help"), 80);
        assert_eq!(asked(&format!("{program} help hook install"), 80), page);
        assert_eq!(
            asked(&format!("{program} -v --color never help help restore"), 80),
            asked(&format!("{program} restore --help"), 80)
        );
        assert_eq!(
            asked(&format!("{program} help launch -- make"), 80),
            asked(&format!("{program} launch --help"), 80)
        );
        assert_eq!(
            asked(&format!("{program} help"), 80),
            asked(&format!("{program} --help"), 80)
        );
    }
}

#[test]
fn help_of_a_command_that_is_unknown_says_so() {
    let Err(ParseOutcome::Wrong { error, .. }) = parse(words("jackin recovery help restoer"), 80) else {
        panic!("it is no command");
    };
    assert_eq!(error.message, "there is no command `restoer`");
    // A session may be called so.
    understood("jackin recovery show help");
}

#[test]
fn the_overview_shows_every_verb_once_and_in_groups() {
    let page = asked("jackin recovery --help", 80);
    let overview = page.split("Output:").next().unwrap();
    for verb in Verb::names() {
        let shown = overview
            .lines()
            .filter(|line| bare(line).trim_start().starts_with(&format!("{verb} ")))
            .count();
        assert_eq!(shown, 1, "{verb}");
    }
    let command = command_for::<Verb>(CalledAs::JackinRecovery, 80);
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let defined: BTreeSet<&str> = shown.map(clap::Command::get_name).collect();
    assert_eq!(defined, Verb::names().collect());
}

#[test]
fn the_short_overview_fits_a_small_terminal() {
    for program in ["jackin recovery", "jackin-recovery"] {
        let page = asked(&format!("{program} -h"), 80);
        assert!(page.lines().count() < 24, "{page}");
        let page: Vec<String> = page.lines().map(bare).collect();
        assert!(page.iter().all(|line| width::of(line) <= 80), "{page:?}");
        let words: Vec<&str> = page.iter().flat_map(|line| line.split(' ')).collect();
        for verb in Verb::names() {
            assert!(words.contains(&verb), "{verb}");
        }
        assert!(
            page.contains(&format!("Usage: {program} [OPTIONS] <COMMAND>")),
            "{page:?}"
        );
        let narrow: Vec<String> = asked(&format!("{program} -h"), 50).lines().map(bare).collect();
        assert!(narrow.iter().all(|line| width::of(line) <= 50), "{narrow:#?}");
        // That of a command, and of `help`, is whole.
        assert!(asked(&format!("{program} launch -h"), 80).contains("Examples:"));
        assert!(asked(&format!("{program} help"), 80).contains("Examples:"));
    }
}

/// Without color codes.
fn bare(line: &str) -> String {
    let mut rest = line;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once('\x1b') {
        text.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    text + rest
}

#[test]
fn every_example_is_understood() {
    let own = Verb::shown().map(|command| (command.name, command.examples));
    for (verb, examples) in own.chain([("", OVERVIEW)]) {
        assert!(!examples.is_empty(), "{verb}");
        for (_, line) in examples {
            // A line before may make what the command needs.
            let line = line
                .strip_prefix("mkdir -p ~/.local/share/bash-completion/completions\n")
                .unwrap_or(line);
            let typed = line.split(['|', '>']).next().unwrap().replace('\\', "");
            let typed = typed
                .trim_start_matches("id=$(")
                .trim_end_matches(')')
                .replace("\"tests pass\"", "tests-pass");
            let invocation = understood(&typed);
            assert_eq!(invocation.called_as, CalledAs::Jackin, "{line}");
        }
    }
}

#[test]
fn help_and_version_are_asked_for_under_either_name() {
    assert!(asked("jackin --help", 80).contains("only the command `recovery`"));
    assert_eq!(
        asked("jackin-recovery --version", 80),
        concat!("jackin-recovery ", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(
        asked("jackin -V", 80),
        concat!("jackin ", env!("CARGO_PKG_VERSION"))
    );
    for typed in [
        "jackin --version -v",
        "jackin recovery -vV",
        "jackin-recovery -V --verbose",
    ] {
        let said = asked(typed, 80);
        let lines: Vec<_> = said.lines().collect();
        assert!(lines[0].ends_with(env!("CARGO_PKG_VERSION")), "{said}");
        assert_eq!(lines.len(), 5, "{said}");
        assert_eq!(lines[2], concat!("target: ", env!("JACKIN_TARGET")));
        assert!(
            lines[1].starts_with("commit: ") && lines[3].starts_with("features: "),
            "{said}"
        );
    }
    assert!(bare(&asked("jackin-recovery undo -h", 80)).contains("Usage: jackin-recovery undo"));
    assert!(bare(&asked("jackin recovery undo -h", 80)).contains("Usage: jackin recovery undo"));
}

#[test]
fn nothing_in_help_needs_escaping() {
    for verb in Verb::names() {
        let page = bare(&asked(&format!("jackin recovery {verb} --help"), 80));
        assert_eq!(sanitize::text(&page), page);
    }
}
