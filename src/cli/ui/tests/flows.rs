//! From key to key: what is asked for, and what an answer leads to.

use std::ffi::OsString;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::{Played, made};
use crate::cli::ui::data::{
    Answer, Ask, Goal, Job, Kind, PatchLine, PatchText, Request, Sides, TextLine, Timeline,
};
use crate::cli::ui::views::View;
use crate::diff::Line;

pub(super) fn in_timeline() -> Played {
    let mut played = Played::new(80, 24);
    played.tell(Answer::Sessions(made::sessions()));
    played.press(KeyCode::Down).press(KeyCode::Enter);
    assert_eq!(played.asked(), [Ask::Timeline("rc-p0wm3c8d-shop".to_owned())]);
    played.tell(Answer::Timeline(made::timeline(false)));
    played
}

pub(super) fn in_changes() -> Played {
    let mut played = in_timeline();
    played.press(KeyCode::End).press(KeyCode::Enter);
    let sides = Sides {
        instance: "rc-p0wm3c8d-shop".to_owned(),
        from: "sn-baseline00000".to_owned(),
        to: None,
        is_step: false,
    };
    assert_eq!(played.asked(), [Ask::Changes(sides)]);
    played.tell(Answer::Changes(made::changes()));
    assert!(matches!(played.asked().pop(), Some(Ask::Later(_))));
    played
}

/// The request of the plan that was asked for.
#[track_caller]
fn planned(played: &mut Played) -> (Goal, Vec<OsString>) {
    match played.asked().pop() {
        Some(Ask::Plan(request)) => (request.goal, request.paths),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_moment_or_a_restore_is_gone_back_to() {
    let mut played = in_timeline();
    played.press(KeyCode::End).keys("r");
    assert_eq!(
        planned(&mut played),
        (Goal::Snapshot("sn-baseline00000".to_owned()), vec![])
    );
    played.press(KeyCode::Home).keys("u");
    assert_eq!(planned(&mut played), (Goal::Undo(Some(31)), vec![]));
    played.press(KeyCode::End).keys("u");
    assert_eq!(planned(&mut played), (Goal::Undo(None), vec![]), "the last one");
    // The step of a moment, and of one that none comes before.
    played.press(KeyCode::Up).keys("t");
    let Some(Ask::Changes(sides)) = played.asked().pop() else {
        panic!()
    };
    assert_eq!(
        (sides.from.as_str(), sides.to.as_deref()),
        ("sn-baseline00000", Some("sn-half00000000"))
    );
    played.press(KeyCode::End).keys("t");
    assert!(played.app.message.is_some() && played.asked().is_empty());
}

/// Presses a letter together with a modifier.
pub(super) fn with(played: &mut Played, modifiers: KeyModifiers, letter: char) {
    played.buffer();
    played.app.key(KeyEvent::new(KeyCode::Char(letter), modifiers));
}

#[test]
fn a_letter_with_ctrl_scrolls_or_does_nothing() {
    let mut played = in_timeline();
    with(&mut played, KeyModifiers::CONTROL, 'd');
    assert_eq!(played.app.timeline_scroll.at, played.app.timeline_rows.len() - 1);
    // Without Ctrl it is the key of an undo, and others restore and forget.
    with(&mut played, KeyModifiers::CONTROL, 'u');
    assert_eq!(played.app.timeline_scroll.at, 0);
    for letter in ['r', 'D', 'q', 'x'] {
        with(&mut played, KeyModifiers::CONTROL, letter);
    }
    assert!(played.asked().is_empty() && !played.app.over);
    assert!(played.app.question.is_none());

    played.keys("r");
    let Some(Ask::Plan(request)) = played.asked().pop() else {
        panic!()
    };
    played.tell(Answer::Plan(request, "the plan".to_owned(), Some(2)));
    with(&mut played, KeyModifiers::CONTROL, 'y');
    assert!(played.asked().is_empty(), "only y alone agrees");
    // Esc and a key in one read.
    with(&mut played, KeyModifiers::ALT, 'y');
    assert!(played.asked().is_empty());
    assert_eq!(played.app.view(), View::Timeline);
}

#[test]
fn the_past_of_the_selected_file_is_shown() {
    let mut played = in_changes();
    played.press(KeyCode::Home).asked();
    played.keys("H");
    assert!(played.asked().is_empty());
    assert!(played.app.message.take().is_some(), "the first row is no file");
    let file = |played: &Played| {
        let compared = played.app.compared.as_ref().unwrap();
        compared.chosen_file().map(|file| file.hosts[0].clone())
    };
    while file(&played).is_none() {
        played.press(KeyCode::Down);
    }
    let path = file(&played).unwrap();
    played.asked();
    played.keys("H");
    assert_eq!(played.asked(), [Ask::History(path.clone(), 80)]);
    played.tell(Answer::Log("changes of a file", "modified +1 -0".to_owned()));
    assert!(played.text().contains("\u{203a} changes of a file"));
    played.press(KeyCode::Esc).keys("B");
    assert_eq!(played.asked(), [Ask::Blame(path, 80)]);
    played.tell(Answer::Log("blame", "you  3 minutes ago  1) x".to_owned()));
    assert!(played.text().contains("you  3 minutes ago  1) x"));
}

#[test]
fn the_moment_before_a_prompt_or_call_is_gone_back_to() {
    let mut played = in_timeline();
    played.keys("b");
    assert_eq!(played.app.view(), View::Points);
    played.press(KeyCode::Enter);
    assert_eq!(
        planned(&mut played),
        (Goal::Snapshot("sn-half00000000".to_owned()), vec![])
    );
    played
        .tell(Answer::Failed("refused".to_owned()))
        .press(KeyCode::Esc);
    // None was taken before it.
    played.keys("jjr");
    assert!(played.app.message.take().is_some() && played.asked().is_empty());
    // Found by its text, and back in two steps.
    played.keys("/SPLIT").press(KeyCode::Enter).keys("r");
    assert_eq!(
        planned(&mut played),
        (Goal::Snapshot("sn-baseline00000".to_owned()), vec![])
    );
    played.press(KeyCode::Esc);
    assert!(played.app.points_filter.is_empty());
    played.press(KeyCode::Esc);
    assert_eq!(played.app.view(), View::Timeline);
    // A session without an agent has nothing to list.
    let bare = |mut timeline: Timeline| {
        timeline.points.clear();
        timeline
    };
    played
        .press(KeyCode::F(5))
        .tell(Answer::Timeline(bare(made::timeline(false))));
    played.keys("b");
    assert!(played.app.message.is_some() && played.app.view() == View::Timeline);
}

#[test]
fn after_a_restore_the_new_one_is_chosen_and_else_what_was_chosen_before() {
    use crate::cli::ui::data::What;
    let mut played = in_timeline();
    // The baseline is chosen; a restore of it puts two moments on top.
    played.press(KeyCode::End);
    let new = |number| {
        let mut timeline = made::timeline(false);
        let mut restore = timeline.moments[0].clone();
        restore.what = What::Restore {
            number,
            emergency: "sn-emergency0001".to_owned(),
        };
        let mut emergency = timeline.moments[2].clone();
        emergency.what = What::Snapshot {
            id: "sn-emergency0001".to_owned(),
            before: None,
        };
        timeline.moments.splice(0..0, [restore, emergency]);
        timeline
    };
    played.tell(Answer::Timeline(new(40)));
    played.keys("r");
    assert_eq!(
        planned(&mut played).0,
        Goal::Snapshot("sn-baseline00000".to_owned())
    );
    played.tell(Answer::Done("Done".to_owned()));
    played.press(KeyCode::Enter);
    assert_eq!(played.app.view(), View::Timeline);
    played.tell(Answer::Timeline(new(63)));
    played.keys("u");
    assert_eq!(planned(&mut played).0, Goal::Undo(Some(63)));
}

#[test]
fn only_what_is_marked_or_chosen_is_restored() {
    let mut played = in_changes();
    // The first row stands for no path.
    played.press(KeyCode::Home).asked();
    played.keys("r");
    assert!(played.app.message.is_some() && played.asked().is_empty());
    played.keys("x").press(KeyCode::Down);
    played.keys("r");
    let (goal, paths) = planned(&mut played);
    assert_eq!(goal, Goal::Snapshot("sn-baseline00000".to_owned()));
    assert_eq!(
        paths,
        [
            "/home/o/src/shop/.git/hooks/pre-commit",
            "/home/o/src/shop/deploy.sh"
        ]
    );
    played.keys("R");
    assert!(planned(&mut played).1.is_empty(), "everything");
    played
        .press(KeyCode::End)
        .keys(" ")
        .press(KeyCode::Home)
        .press(KeyCode::Down)
        .keys("r");
    let (_, paths) = planned(&mut played);
    assert_eq!(paths.len(), 1, "what is marked, wherever one is: {paths:?}");
    // A step is taken back as one, and what came later stays.
    let mut played = in_timeline();
    let mut changes = made::changes();
    changes.sides.to = Some("sn-half00000000".to_owned());
    changes.sides.is_step = true;
    played.press(KeyCode::Enter);
    played.tell(Answer::Changes(changes)).keys("R");
    assert_eq!(planned(&mut played).0, Goal::Step("sn-half00000000".to_owned()));
}

#[test]
fn nothing_is_done_before_yes_and_only_what_was_shown() {
    let mut played = in_changes();
    played.keys("R");
    let request = made::request(Goal::Snapshot("sn-baseline00000".to_owned()));
    played.tell(Answer::Plan(request.clone(), "the plan".to_owned(), Some(2)));
    assert_eq!(played.app.view(), View::Plan);
    played.press(KeyCode::Enter).keys(" ");
    assert!(played.asked().is_empty() && played.app.view() == View::Plan);
    played.keys("n");
    assert!(
        played.asked().is_empty() && played.app.view() == View::Changes,
        "n is no"
    );
    played.keys("R");
    played.asked();
    played.tell(Answer::Plan(request.clone(), "the plan".to_owned(), Some(2)));
    played.keys("o");
    let Some(Ask::Plan(wider)) = played.asked().pop() else {
        panic!()
    };
    assert!(wider.overwrite_later && !wider.delete_later);
    // While that is on its way nobody agrees to what is shown.
    played.keys("y");
    assert!(played.asked().is_empty());
    played.app.told(
        played.app.waiting.unwrap().number,
        Answer::Plan(wider.clone(), "the wider plan".to_owned(), Some(2)),
    );
    assert!(played.app.message.is_none(), "what was asked for is no surprise");
    played.keys("y");
    assert_eq!(
        played.asked(),
        [Ask::Act(wider.clone(), "the wider plan".to_owned())]
    );
    // Until it is done no key does anything, and leaving waits.
    played.keys("q").press(KeyCode::Esc).keys("y");
    assert!(played.app.view() == View::Plan && !played.app.over && played.asked().is_empty());
    played
        .app
        .key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert!(played.app.over && played.app.acts() && std::mem::take(&mut played.app.stops));
    let number = played.app.waiting.unwrap().number;
    // How it went is told when the screen is gone.
    let mut left = in_changes();
    left.keys("R");
    left.tell(Answer::Plan(request.clone(), "the plan".to_owned(), Some(2)))
        .keys("y");
    left.app
        .key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    left.tell(Answer::Failed("it waits to be resumed".to_owned()));
    assert!(left.app.over && !left.app.acts());
    assert_eq!(left.app.farewell.as_deref(), Some("it waits to be resumed"));
    // There was something else meanwhile: it is shown, and not done.
    played
        .app
        .told(number, Answer::Plan(wider, "another plan".to_owned(), Some(2)));
    assert!(played.app.message.as_ref().unwrap().contains("changed meanwhile"));
    assert!(!played.app.acts());
    // A plan with nothing to do is not agreed to.
    let mut played = in_changes();
    played.keys("R");
    played
        .tell(Answer::Plan(request, "nothing".to_owned(), None))
        .keys("y");
    assert!(played.asked().is_empty());
}

#[test]
fn what_was_typed_before_a_plan_was_seen_agrees_to_nothing() {
    let mut played = in_changes();
    played.keys("R");
    let request = made::request(Goal::Snapshot("sn-baseline00000".to_owned()));
    played.tell(Answer::Plan(request, "the plan".to_owned(), Some(2)));
    // It came with the answer, before anything was drawn.
    let yes = KeyEvent::new(KeyCode::Char('y'), KeyModifiers::NONE);
    played.app.key(yes);
    assert!(played.asked().is_empty() && !played.app.acts());
    // Nor under another one that was shown over it, or that took its place.
    played.buffer();
    played.app.key(yes);
    let Some(Ask::Act(request, _)) = played.asked().pop() else {
        panic!()
    };
    let number = played.app.waiting.unwrap().number;
    played
        .app
        .told(number, Answer::Plan(request, "another plan".to_owned(), Some(2)));
    played.app.key(yes);
    played.app.key(yes);
    assert!(played.asked().is_empty() && !played.app.acts());
}

#[test]
fn what_was_given_up_comes_to_nothing() {
    let mut played = in_timeline();
    played.press(KeyCode::Enter);
    let number = played.app.waiting.unwrap().number;
    assert!(played.app.waiting.is_some());
    played.press(KeyCode::Esc);
    assert!(played.app.waiting.is_none() && std::mem::take(&mut played.app.stops));
    assert_eq!((played.app.given_up, played.app.view()), (number, View::Sessions));
    played.app.told(number, Answer::Changes(made::changes()));
    assert_eq!(played.app.view(), View::Sessions);
    // The lines of a path that one went on from are not those of the next one.
    let mut played = in_changes();
    played.press(KeyCode::End);
    let last = made::changes().all.len() - 1;
    played.app.told(999, Answer::Patch(last - 1, made::patch()));
    assert!(
        played
            .app
            .compared
            .as_ref()
            .unwrap()
            .preview
            .text
            .lines
            .is_empty()
    );
    played.app.told(999, Answer::Patch(last, made::patch()));
    assert!(
        !played
            .app
            .compared
            .as_ref()
            .unwrap()
            .preview
            .text
            .lines
            .is_empty()
    );
}

#[test]
fn reading_anew_leads_nowhere_else() {
    let mut played = in_timeline();
    played.press(KeyCode::F(5));
    assert_eq!(played.asked().len(), 2);
    played.press(KeyCode::Esc);
    assert_eq!(played.app.view(), View::Sessions);
    let number = played.app.waiting.unwrap().number;
    played.app.told(number, Answer::Timeline(made::timeline(false)));
    assert_eq!(played.app.view(), View::Sessions);
    played.press(KeyCode::F(5));
    assert_eq!(played.asked(), [Ask::Sessions]);
}

#[test]
fn a_line_that_is_wider_than_the_screen_goes_on_below() {
    let mut played = in_changes();
    played.press(KeyCode::End);
    let last = made::changes().all.len() - 1;
    let long = format!("{} the end", "word ".repeat(60));
    let line = TextLine {
        line: Line::Added,
        text: long,
        words: Vec::new(),
        tokens: Vec::new(),
        then: None,
        now: Some(1),
    };
    let mut lines = vec![PatchLine::Line(line); 30];
    lines.push(PatchLine::Said("and nothing more".to_owned()));
    let text = PatchText { lines, sides: None };
    played.app.told(999, Answer::Patch(last, text));
    played.press(KeyCode::Enter);
    assert!(played.text().contains("the end"));
    played.press(KeyCode::End);
    assert!(played.text().contains("and nothing more"), "{}", played.text());
    played.press(KeyCode::Home);
    assert!(!played.text().contains("and nothing more"));
    // Cut, and broken again.
    played.keys("w");
    assert!(!played.text().contains("the end") && played.text().contains('\u{2026}'));
    played.keys("w");
    assert!(played.text().contains("the end"));
    // Only lines of a modified text can be marked.
    played.keys(" ");
    assert!(played.app.message.take().is_some());
}

/// In the preview of `src/main.rs`.
pub(super) fn in_preview() -> Played {
    let mut played = in_changes();
    let main = made::changes().all.len() - 2;
    played.press(KeyCode::End).press(KeyCode::Up);
    assert_eq!(played.asked().pop(), Some(Ask::Patch(main, 3)));
    played.app.told(999, Answer::Patch(main, made::patch()));
    played.press(KeyCode::Tab);
    assert_eq!(played.app.view(), View::Patch);
    played
}

/// The request of the plan that was asked for.
#[track_caller]
fn requested(played: &mut Played) -> Request {
    match played.asked().pop() {
        Some(Ask::Plan(request)) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn hunks_and_lines_are_marked_and_restored() {
    use crate::report::ChangedLine::{Added, Removed};
    let mut played = in_preview();
    // A hunk: its changed lines alone.
    played.keys("] r");
    let request = requested(&mut played);
    assert_eq!(request.paths, ["/home/o/src/shop/src/main.rs"]);
    let [file] = request.lines.as_slice() else {
        panic!()
    };
    assert_eq!(file.path.to_str(), Some("/home/o/src/shop/src/main.rs"));
    assert_eq!(file.lines, [Added(99), Added(100)].into());
    assert_eq!(Some(file.sides), made::patch().sides);
    assert!(
        played.text().contains("*    99     wait();") || played.text().contains("*     99 +    wait();"),
        "{}",
        played.text()
    );
    // The same key removes the mark; then a range of lines.
    played
        .keys(" ")
        .press(KeyCode::Home)
        .keys("jjv")
        .press(KeyCode::Esc);
    assert_eq!(played.app.view(), View::Patch, "Esc only cancels the selection");
    played.keys("v r");
    assert_eq!(requested(&mut played).lines[0].lines, [Removed(2)].into());
    played.keys("jvjjjjj r");
    assert_eq!(
        requested(&mut played).lines[0].lines,
        [Removed(2), Added(2), Added(99)].into()
    );
    // In the tree the file is marked in part, and all of its lines are the whole file.
    played.press(KeyCode::Tab);
    let text = played.text();
    assert!(
        text.contains("3 lines marked") && text.contains(" -    M main.rs"),
        "{text}"
    );
    played.press(KeyCode::Tab).keys("a");
    assert!(played.text().contains("src/main.rs  marked"), "{}", played.text());
    played.keys("r");
    let request = requested(&mut played);
    assert!(
        request.lines.is_empty() && request.paths.len() == 1,
        "{request:?}"
    );
    // One hunk less than all.
    played.press(KeyCode::Home).keys(" r");
    assert_eq!(
        requested(&mut played).lines[0].lines,
        [Added(99), Added(100)].into()
    );
    // A mark of the whole path in the tree replaces those of its lines.
    played.press(KeyCode::Tab).keys(" r");
    assert!(requested(&mut played).lines.is_empty());
}

#[test]
fn the_jobs_of_a_session_have_a_question_each() {
    let mut played = Played::new(80, 24);
    played.tell(Answer::Sessions(made::sessions()));
    let session = "rc-p0wm3c8d-shop".to_owned();
    played.press(KeyCode::Down).keys("P");
    assert!(
        played.text().contains("Pin rc-p0wm3c8d-shop with all of its"),
        "{}",
        played.text()
    );
    // Another key than y is no yes.
    played.keys("x");
    assert!(played.asked().is_empty() && played.app.question.is_none());
    played.keys("Py");
    let job = Job::Pin {
        session: session.clone(),
        snapshot: None,
        pins: true,
    };
    assert_eq!(played.asked(), [Ask::Do(job)]);
    played.app.told(
        played.app.waiting.unwrap().number,
        Answer::JobDone("is pinned".to_owned()),
    );
    assert_eq!(played.asked(), [Ask::Sessions], "it is read again");
    // The list still shows the session as it was, so a key would ask for what is done already.
    played.keys("P");
    assert!(played.app.question.is_none() && played.app.message.is_none());
    played.tell(Answer::Sessions(made::sessions()));
    assert_eq!(played.app.message.as_deref(), Some("is pinned"));
    played
        .press(KeyCode::Esc)
        .keys("mfirst")
        .press(KeyCode::Backspace)
        .press(KeyCode::Enter);
    let job = Job::Rename {
        session: session.clone(),
        name: "firs".to_owned(),
    };
    assert_eq!(played.asked(), [Ask::Do(job)]);
    played.app.told(
        played.app.waiting.unwrap().number,
        Answer::Failed("refused".to_owned()),
    );
    played.press(KeyCode::Esc).keys("x").press(KeyCode::Enter);
    assert!(
        played.app.message.take().is_some() && played.asked().is_empty(),
        "no file was named"
    );
    // Nothing is forgotten before its plan was seen.
    played.keys("D");
    assert_eq!(played.asked(), [Ask::PlanForget(session.clone())]);
    played.app.told(
        played.app.waiting.unwrap().number,
        Answer::Forget(session.clone(), made::forget("all")),
    );
    played
        .app
        .key(KeyEvent::new(KeyCode::Char('y'), KeyModifiers::NONE));
    assert!(played.asked().is_empty());
    played.buffer();
    played.keys("y");
    let job = Job::Forget {
        session,
        agreed: made::forget("all"),
    };
    assert_eq!(played.asked(), [Ask::Do(job)]);
}

#[test]
fn a_restore_is_folded_below_its_undo() {
    let mut played = in_timeline();
    assert!(played.text().contains("6 entries, 2 folded"), "{}", played.text());
    played.press(KeyCode::Home).press(KeyCode::Right);
    assert!(played.text().contains("\u{21ba} restore 29"), "{}", played.text());
    played.press(KeyCode::Down).keys("u");
    assert_eq!(planned(&mut played).0, Goal::Undo(Some(29)));
    played.press(KeyCode::Left);
    assert_eq!(played.app.timeline_scroll.at, 0, "closed from inside");
    assert!(!played.text().contains("restore 29 "));
    // What two marks compare, the older one first.
    played
        .press(KeyCode::End)
        .keys(" ")
        .press(KeyCode::Up)
        .press(KeyCode::Up)
        .keys(" ")
        .press(KeyCode::Enter);
    let Some(Ask::Changes(sides)) = played.asked().pop() else {
        panic!()
    };
    assert_eq!(
        (sides.from.as_str(), sides.to.as_deref()),
        ("sn-baseline00000", Some("sn-closing000000"))
    );
    assert!(!sides.is_step);
}

#[test]
fn keys_are_chosen_in_the_configuration() {
    let mut played = in_changes();
    played.app.settings.keys = [('z', 'R'), ('x', ' '), ('y', 'r')].into();
    // A default key that has another meaning, or none, does not act.
    played.keys("R");
    assert!(played.asked().is_empty());
    played.press(KeyCode::End).keys("x");
    assert!(
        played.text().contains("1 marked") && played.text().contains("x mark"),
        "{}",
        played.text()
    );
    played.keys("z");
    let request = made::request(Goal::Snapshot("sn-baseline00000".to_owned()));
    played.tell(Answer::Plan(request, "the plan".to_owned(), Some(2)));
    // An answer is always y.
    assert!(played.text().contains("y yes, do it"), "{}", played.text());
    played.keys("y");
    assert!(matches!(played.asked().pop(), Some(Ask::Act(..))));
}

#[test]
fn marks_of_a_text_that_changed_are_removed() {
    let mut played = in_preview();
    played.keys(" ").press(KeyCode::Tab);
    let main = made::changes().all.len() - 2;
    played.keys("+");
    assert_eq!(played.asked(), [Ask::Patch(main, 6)]);
    let mut other = made::patch();
    other.sides = None;
    played.app.told(999, Answer::Patch(main, other));
    assert!(played.app.message.take().unwrap().contains("changed meanwhile"));
    assert!(played.app.compared.as_ref().unwrap().tree.in_part.is_empty());
    played.keys("--");
    assert_eq!(played.asked().pop(), Some(Ask::Patch(main, 1)));
}

#[test]
fn lines_are_searched() {
    let mut played = in_preview();
    let at = |played: &Played| played.app.compared.as_ref().unwrap().preview.at;
    played.keys("/WAIT").press(KeyCode::Backspace);
    assert_eq!(at(&played), 0, "a capital letter is meant");
    for _ in 0..3 {
        played.press(KeyCode::Backspace);
    }
    played.keys("wait").press(KeyCode::Enter);
    assert_eq!(at(&played), 8);
    assert!(
        played.text().contains("search: wait (2 lines)"),
        "{}",
        played.text()
    );
    played.keys("n");
    assert_eq!(at(&played), 9);
    played.keys("n");
    assert_eq!(at(&played), 8, "around the end");
    played.keys("NN");
    assert_eq!(at(&played), 8);
    played.press(KeyCode::Esc).keys("n");
    assert_ne!(
        played.app.compared.as_ref().unwrap().preview.of,
        Some(made::changes().all.len() - 2)
    );
}

#[test]
fn an_error_stays_until_a_key_and_takes_nothing_away() {
    let mut played = Played::new(80, 24);
    played.tell(Answer::Failed("error: the store is newer".to_owned()));
    assert!(played.text().contains("the store is newer"));
    played.keys("q");
    assert!(
        !played.app.over && played.app.message.is_none(),
        "the key only closes it"
    );
    played.keys("q");
    assert!(played.app.over);
}

#[test]
fn filters_are_typed_and_taken_off() {
    let mut played = in_changes();
    played.keys("/CART");
    assert!(played.app.typing && played.app.compared.as_ref().unwrap().tree.left == 2);
    played.press(KeyCode::Backspace).press(KeyCode::Enter);
    assert!(!played.app.typing);
    played.keys("f");
    assert_eq!(played.app.compared.as_ref().unwrap().tree.kind, Kind::Added);
    played.press(KeyCode::Esc);
    assert_eq!(
        (played.app.view(), played.app.filter().cloned()),
        (View::Changes, Some(String::new()))
    );
    // The filter by kind comes off by itself, before the screen is left.
    assert_eq!(played.app.compared.as_ref().unwrap().tree.kind, Kind::Added);
    played.press(KeyCode::Esc);
    assert_eq!(played.app.view(), View::Changes);
    assert_eq!(played.app.compared.as_ref().unwrap().tree.kind, Kind::All);
    played.press(KeyCode::Esc);
    assert_eq!(played.app.view(), View::Timeline);
    // Nothing is left: no row, no lines, no harm.
    let mut played = in_changes();
    played.keys("/nowhere").press(KeyCode::Enter);
    played
        .press(KeyCode::Down)
        .press(KeyCode::Enter)
        .press(KeyCode::Left);
    played.text();
}

#[test]
fn the_mouse_chooses_opens_and_scrolls() {
    let mut played = in_changes();
    played.buffer();
    let list = played.app.drawn.list;
    let mouse = |kind, row| MouseEvent {
        kind,
        column: list.x + 4,
        row: list.y + row,
        modifiers: KeyModifiers::NONE,
    };
    let click = MouseEventKind::Down(MouseButton::Left);
    played.app.mouse(mouse(click, 3));
    assert_eq!(played.app.compared.as_ref().unwrap().scroll.at, 3);
    played.app.mouse(mouse(click, 3));
    assert_eq!(played.app.view(), View::Patch);
    played.press(KeyCode::Esc).buffer();
    let list = played.app.drawn.list;
    assert!(played.app.drawn.side.y > list.y, "the preview lies below");
    played.app.mouse(mouse(MouseEventKind::ScrollDown, 0));
    assert_eq!(played.app.compared.as_ref().unwrap().scroll.at, 6);
    // Below the last row, and outside.
    for row in [19, 200] {
        played.app.mouse(mouse(click, row));
    }
    assert_eq!(played.app.compared.as_ref().unwrap().scroll.at, 6);
}

#[test]
fn no_key_but_its_own_says_yes_and_none_does_unseen() {
    let mut played = in_changes();
    played.app.settings.keys = [('0', 'y')].into();
    played.keys("R");
    let request = made::request(Goal::Snapshot("sn-baseline00000".to_owned()));
    played.tell(Answer::Plan(request, "the plan".to_owned(), Some(2)));
    played.keys("0");
    assert!(played.asked().is_empty());
    let size = std::mem::replace(&mut played.size, (30, 5));
    assert!(played.text().contains("too small"));
    played.keys("y");
    assert!(played.asked().is_empty());
    played.size = size;
    played.keys("y");
    assert!(matches!(played.asked().pop(), Some(Ask::Act(..))));
}

#[test]
fn the_undo_of_what_was_just_done_is_of_its_session() {
    let mut played = in_timeline();
    played.keys("u");
    let request = Request {
        instance: "rc-another0-shop".to_owned(),
        ..made::request(Goal::Undo(None))
    };
    played.tell(Answer::Plan(request, "the plan".to_owned(), Some(1)));
    played.keys("y");
    played.tell(Answer::Done("Done".to_owned()));
    played.tell(Answer::Timeline(made::timeline(false)));
    played.asked();
    played.keys("u");
    let Some(Ask::Plan(request)) = played.asked().pop() else {
        panic!()
    };
    assert_eq!(request.instance, "rc-another0-shop");
}
