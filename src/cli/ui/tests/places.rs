//! Destination of typed and pasted text, and the place on the screen after a restore.

use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::flows::{in_changes, in_timeline, with};
use super::{Played, made};
use crate::cli::ui::data::{Answer, Ask, Goal};
use crate::cli::ui::views::View;

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
