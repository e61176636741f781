//! Colors and widths from the environment.

use super::super::ColorMode;
use super::super::terminal_info::Stream;
use crate::environment::Environment;

fn stream(tty: bool, real: Option<usize>, variables: &[(&str, &str)], color: ColorMode) -> Stream {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    Stream::new(
        tty,
        real,
        &Environment {
            variables,
            ..Environment::default()
        },
        color,
    )
}

#[test]
fn the_width_is_the_terminals_else_columns_else_80() {
    let width = |tty, real, columns: &str| stream(tty, real, &[("COLUMNS", columns)], ColorMode::Auto).width;
    assert_eq!(width(true, Some(132), "100"), 132);
    assert_eq!(width(true, None, "100"), 100);
    assert_eq!(width(false, None, "100"), 100);
    assert_eq!(width(false, Some(132), "100"), 100);
    for unusable in ["", "0", "7", "-1", "wide", "99999999999999999999999"] {
        assert_eq!(width(false, None, unusable), 80, "{unusable}");
    }
    assert_eq!(width(true, Some(5), "100"), 80);
}

#[test]
fn colors_follow_the_flag_then_the_variables_then_the_terminal() {
    let color = |tty, variables: &[(&str, &str)], mode| stream(tty, None, variables, mode).color;
    let xterm = ("TERM", "xterm");
    assert!(color(true, &[xterm], ColorMode::Auto));
    assert!(!color(false, &[xterm], ColorMode::Auto));
    assert!(!color(true, &[("TERM", "dumb")], ColorMode::Auto));
    assert!(!color(true, &[], ColorMode::Auto));
    assert!(!color(true, &[xterm, ("NO_COLOR", "1")], ColorMode::Auto));
    assert!(color(true, &[xterm, ("NO_COLOR", "")], ColorMode::Auto));
    assert!(color(false, &[("CLICOLOR_FORCE", "1")], ColorMode::Auto));
    assert!(!color(false, &[("CLICOLOR_FORCE", "0")], ColorMode::Auto));
    assert!(!color(
        false,
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
        ColorMode::Auto
    ));
    assert!(color(false, &[("NO_COLOR", "1")], ColorMode::Always));
    assert!(!color(true, &[xterm, ("CLICOLOR_FORCE", "1")], ColorMode::Never));
}
