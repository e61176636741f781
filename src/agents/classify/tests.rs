//! The table of commands, and what no table has.

use proptest::prelude::*;

use super::{Effect, of_arguments, of_command};

/// `=` reads, `!` changes, `\n` and `\t` in a line stand for themselves.
const TABLE: &str = include_str!("commands.txt");

#[test]
fn every_command_of_the_table_is_what_it_says() {
    let mut wrong = Vec::new();
    let mut count = [0, 0];
    for line in TABLE
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let (sign, command) = line.split_once(' ').unwrap();
        let command = command.replace("\\n", "\n").replace("\\t", "\t");
        let wanted = match sign {
            "=" => Effect::Reads,
            "!" => Effect::Changes,
            _ => panic!("{line}"),
        };
        count[usize::from(wanted == Effect::Changes)] += 1;
        if of_command(&command) != wanted {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count[0] >= 100 && count[1] >= 150, "{count:?}");
}

#[test]
fn the_shell_that_an_agent_runs_its_lines_in_is_looked_through() {
    let of = |words: &[&str]| of_arguments(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(of(&["bash", "-lc", "ls -la | head"]), Effect::Reads);
    assert_eq!(of(&["bash", "-lc", "ls > out"]), Effect::Changes);
    assert_eq!(of(&["/bin/zsh", "-c", "cat a"]), Effect::Reads);
    assert_eq!(of(&["cat", "a b", "$(rm x)"]), Effect::Changes);
    assert_eq!(of(&["cat", "a b", "*"]), Effect::Reads);
    assert_eq!(of(&["apply_patch", "*** Begin Patch"]), Effect::Changes);
    assert_eq!(of(&[]), Effect::Reads);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Checks that a line with a removal never counts as reading, whatever surrounds the removal.
    #[test]
    fn a_removal_is_seen_wherever_it_stands(
        before in "(ls|cat a|echo \"x\"|true|cd /tmp|grep x y)?",
        joint in "(;|&&|\\|\\||\\||&|\n)",
        around in 0_usize..9,
        after in "( \\| head| 2>/dev/null|; ls| # x|)",
    ) {
        let removal = ["rm x", "(rm x)", "echo $(rm x)", "echo `rm x`", "echo \"$(rm x)\"", "{ rm x; }", "! rm x",
            "if true; then rm x; fi", "xargs rm"][around];
        let line = format!("{before}{joint}{removal}{after}");
        prop_assert_eq!(of_command(&line), Effect::Changes, "{}", line);
    }

    /// Checks that any text is classified without a panic.
    #[test]
    fn any_text_has_an_answer(text in "[ -~\n]{0,60}") {
        let _ = of_command(&text);
    }
}
