//! Tables at the widths that people have.

use super::super::filter::printable;
use super::super::style::Role;
use super::super::table::{Cell, Column, Fit, Table};
use super::super::width;

fn sample() -> Table {
    let mut table = Table::new([
        Column::new("ID"),
        Column::new("SIZE").right(),
        Column::new("PATH").fit(Fit::Cut),
        Column::new("NOTE").fit(Fit::Wrap),
    ]);
    table.row([
        "sn-1".into(),
        "1.4 GiB".into(),
        Cell::new(Role::Path, "src/main.rs"),
        "short".into(),
    ]);
    let long = "a/".repeat(60) + "end.txt";
    let note = "cannot be read: permission denied; it belongs to another user and is kept as it is";
    table.row([
        "sn-22".into(),
        "5 B".into(),
        Cell::new(Role::Path, long),
        note.into(),
    ]);
    table.row(["sn-3".into()]);
    table
}

#[test]
fn at_80_columns_paths_are_cut_and_notes_wrap() {
    let text = printable(&sample().render(80), false);
    let expected = "\
ID        SIZE  PATH                             NOTE
sn-1   1.4 GiB  src/main.rs                      short
sn-22      5 B  a/a/a/a/a/a/a/a…a/a/a/a/end.txt  cannot be read: permission
                                                 denied; it belongs to another
                                                 user and is kept as it is
sn-3";
    assert_eq!(text, expected);
    assert!(text.lines().all(|line| width::of(line) <= 80));
}

#[test]
fn at_200_columns_more_is_shown_and_nothing_is_padded() {
    let text = printable(&sample().render(200), false);
    assert!(
        text.lines()
            .all(|line| width::of(line) <= 200 && !line.ends_with(' ')),
        "{text}"
    );
    let roomy = printable(&sample().render(400), false);
    assert!(!roomy.contains('…'));
    assert_eq!(roomy.lines().count(), 4);
    assert!(roomy.contains(&("a/".repeat(60) + "end.txt")));
}

#[test]
fn columns_that_keep_their_width_are_never_cut() {
    let mut table = Table::new([Column::new(""), Column::new("")]);
    table.row(["a-very-long-id-that-matters".into(), "x".into()]);
    assert_eq!(table.render(10), "a-very-long-id-that-matters  x");
}

#[test]
fn wide_characters_line_up_and_untitled_tables_have_no_heading() {
    let mut table = Table::new([Column::new(""), Column::new("")]);
    table.row(["日本".into(), "x".into()]);
    table.row(["abc".into(), "y".into()]);
    table.row(["".into(), "z".into()]);
    assert_eq!(table.render(80), "日本  x\nabc   y\n      z");
    assert!(Table::new([Column::new("")]).is_empty());
    assert_eq!(Table::new([Column::new("")]).render(80), "");
}

#[test]
fn colors_take_no_columns() {
    let mut table = Table::new([Column::new("").right(), Column::new("")]);
    table.row([Cell::new(Role::Added, "+1"), "x".into()]);
    table.row([Cell::new(Role::Removed, "-100"), "y".into()]);
    let painted = table.render(80);
    assert!(painted.contains('\x1b'));
    assert_eq!(printable(&painted, false), "  +1  x\n-100  y");
}
