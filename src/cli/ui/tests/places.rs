//! Destination of typed and pasted text, and the place on the screen after a restore.

use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::flows::{in_changes, in_preview, in_timeline, with};
use super::{Played, made};
use crate::cli::highlight::Token;
use crate::cli::ui::data::{Answer, Ask, Goal, Job, PatchLine};
use crate::cli::ui::preview::{LineMarks, Part};
use crate::cli::ui::views::{Compared, View};
use crate::model::Digest;

#[test]
fn what_is_typed_for_a_filter_or_pasted_is_never_a_key() {
    let mut played = in_timeline();
    played.keys("/registry");
    assert!(played.asked().is_empty() && played.app.view() == View::Timeline);
    assert!(played.text().contains("filter: registry_"), "{}", played.text());
    played.press(KeyCode::Esc);
    played.app.paste("src/registry.rs\ny");
    assert!(played.asked().is_empty() && played.app.question.is_none());
    assert!(played.text().contains("Pasted text is ignored here."));
    // In a plan it is searched for, and no yes.
    played.keys("r");
    let request = made::request(Goal::Snapshot("sn-baseline00000".to_owned()));
    played.asked();
    played.tell(Answer::Plan(request, "one\ntwo\nwhy three".to_owned(), Some(3)));
    assert!(played.text().contains("Restore 3 paths?"));
    played.keys("/why").press(KeyCode::Enter);
    assert!(played.asked().is_empty());
    assert!(
        played.text().contains("search: why  (1 line)"),
        "{}",
        played.text()
    );
    // Where a text is typed it comes in.
    let mut played = in_timeline();
    played.keys("/");
    played.app.paste("losing\nr");
    assert!(
        played.text().contains("filter: losing_  (1 of "),
        "{}",
        played.text()
    );
    played.keys("x");
    with(&mut played, KeyModifiers::CONTROL, 'u');
    assert!(played.text().contains("filter: _"), "{}", played.text());
}

#[test]
fn after_a_restore_one_is_where_one_was() {
    let mut played = in_changes();
    let chosen = |played: &Played| {
        let compared = played.app.compared.as_ref().unwrap();
        compared.chosen_file().map(|file| file.hosts[0].clone())
    };
    assert!(chosen(&played).is_some(), "it begins at a file");
    played.press(KeyCode::End);
    let last = chosen(&played);
    played.keys("r");
    let request = made::request(Goal::Snapshot("sn-baseline00000".to_owned()));
    played.asked();
    played.tell(Answer::Plan(request, "the plan".to_owned(), Some(1)));
    played.text();
    played.keys("y");
    played.asked();
    played.tell(Answer::Done("Done: 1 path restored and verified.".to_owned()));
    let asked = played.asked();
    assert!(
        asked.iter().any(|ask| matches!(ask, Ask::Changes(_))),
        "{asked:?}"
    );
    played.tell(Answer::Changes(made::changes()));
    assert_eq!(played.app.view(), View::Done);
    played.press(KeyCode::Enter);
    assert_eq!(played.app.view(), View::Changes);
    assert_eq!(chosen(&played), last);
    // Also when it is read again.
    played.press(KeyCode::F(5));
    played.tell(Answer::Changes(made::changes()));
    assert_eq!(chosen(&played), last);
}

#[test]
fn marks_stay_on_the_paths_that_still_differ() {
    let mut played = in_changes();
    let host = |at: usize| made::changes().all[at].hosts[0].clone();
    let last = made::changes().all.len() - 1;
    let compared = played.app.compared.as_mut().unwrap();
    compared.tree.marked = [0, 2, last].into();
    let marks = LineMarks {
        sides: [Digest::of(b"then"), Digest::of(b"now")],
        parts: [Part::Metadata].into(),
    };
    compared.tree.in_part.insert(last - 1, marks);
    played.press(KeyCode::F(5));
    played.asked();
    let mut fewer = made::changes();
    fewer.all.remove(0);
    played.tell(Answer::Changes(fewer));
    let Compared { changes, tree, .. } = played.app.compared.as_ref().unwrap();
    let marked = tree.marked.iter().map(|at| changes.all[*at].hosts[0].clone());
    assert_eq!(marked.collect::<Vec<_>>(), [host(2), host(last)]);
    let in_part = tree.in_part.keys().map(|at| changes.all[*at].hosts[0].clone());
    assert_eq!(in_part.collect::<Vec<_>>(), [host(last - 1)]);
}

/// A line is laid out as far as it is seen, whatever its length and however often it has the searched text.
#[test]
fn a_search_in_a_very_long_line_is_drawn() {
    let mut played = in_preview();
    let mut patch = made::patch();
    for (line, text) in [(2, "a".repeat(1_000_000)), (3, "ab".repeat(500_000))] {
        let PatchLine::Line(line) = &mut patch.lines[line] else {
            panic!()
        };
        line.text = text;
        line.tokens = (0..100_000)
            .map(|at| (at * 10..at * 10 + 5, Token::Name))
            .collect();
    }
    let main = made::changes().all.len() - 2;
    played.app.told(999, Answer::Patch(main, patch));
    let text = played.keys("/a").text();
    assert!(text.contains("search: a_"), "{text}");
    assert!(text.contains("-aaaaaaaaaa"), "{text}");
    let text = played.press(KeyCode::Enter).keys("w").text();
    assert!(text.contains("aaaaaaaaaa\u{2026}"), "{text}");
}

#[test]
fn the_help_shows_the_chosen_keys_and_no_other_letters_change() {
    let mut played = in_timeline();
    let plain = played.keys("?").text();
    assert!(plain.contains("and u restores that"), "{plain}");
    assert!(!plain.contains('{') && !plain.contains('}'), "{plain}");
    let mut played = in_timeline();
    played.app.settings.keys = [('g', 'r'), ('<', 'g'), ('l', 'u'), ('T', ' ')].into();
    let text = played.keys("?").text();
    for wanted in [
        "and l restores that",
        "Ctrl-Z q   suspend",
        "mouse      select",
        "End, < and G as well",
        "g R        restore",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn a_new_name_begins_with_the_present_one() {
    let mut sessions = made::sessions();
    sessions[0].name = Some("keep".to_owned());
    let mut played = Played::new(80, 24);
    played.tell(Answer::Sessions(sessions));
    played.keys("m").press(KeyCode::Enter);
    assert!(played.asked().is_empty(), "nothing was typed");
    let text = played.keys("m").text();
    assert!(text.contains("removes it") && text.contains("keep"), "{text}");
    played.keys("er").press(KeyCode::Enter);
    let Some(Ask::Do(Job::Rename { name, .. })) = played.asked().pop() else {
        panic!()
    };
    assert_eq!(name, "keeper");
}
