//! Pictures of each view in two sizes: the files below `docs/screens/ui`, which `JACKIN_BLESS=1` rewrites.

use std::fs;
use std::path::Path;

use ratatui::crossterm::event::KeyCode;
use ratatui::style::{Color, Modifier};

use super::{Played, made};
use crate::cli::ui::data::{Answer, Goal};
use crate::cli::ui::without_colors_of;
use crate::simulated_share::stride;

/// Through all views; `see` looks at each.
fn every_view(played: &mut Played, mut see: impl FnMut(&mut Played, &str)) {
    see(played, "reading");
    played.tell(Answer::Sessions(made::sessions()));
    see(played, "sessions");
    played.keys("?");
    see(played, "help");
    played.press(KeyCode::Esc).keys("/sit");
    see(played, "filter");
    played.press(KeyCode::Esc).keys("m");
    see(played, "name");
    played.press(KeyCode::Esc).keys("y");
    see(played, "copy");
    played
        .press(KeyCode::Esc)
        .press(KeyCode::Down)
        .press(KeyCode::Enter);
    played.tell(Answer::Timeline(made::timeline(true)));
    see(played, "timeline-active");
    played.press(KeyCode::Esc).press(KeyCode::Enter);
    played.tell(Answer::Timeline(made::timeline(false)));
    played.press(KeyCode::End);
    see(played, "timeline");
    played.press(KeyCode::Home).press(KeyCode::Right);
    see(played, "timeline-open");
    played.press(KeyCode::Left).press(KeyCode::End);
    played.keys("b").press(KeyCode::Down);
    see(played, "points");
    played.keys("/CART");
    see(played, "points-filter");
    played
        .press(KeyCode::Esc)
        .press(KeyCode::Esc)
        .press(KeyCode::Enter);
    played.tell(Answer::Changes(made::changes()));
    let main = played.app.compared.as_ref().unwrap().changes.all.len() - 2;
    while played.app.compared.as_ref().unwrap().preview.of != Some(main) {
        played.press(KeyCode::Down);
    }
    played.tell(Answer::Patch(main, made::patch()));
    played.keys(" ").press(KeyCode::Up);
    played.tell(Answer::Patch(main, made::patch()));
    see(played, "changes");
    played.press(KeyCode::Enter);
    see(played, "lines");
    played.keys("] ").press(KeyCode::Home).keys("jjvj");
    see(played, "lines-marked");
    played.press(KeyCode::Esc).keys("/wait");
    see(played, "lines-search");
    played.press(KeyCode::Esc).keys("a");
    played.press(KeyCode::Esc).keys("r");
    played.tell(Answer::Plan(
        made::request(Goal::Snapshot("sn-baseline00000".to_owned())),
        made::PLAN.to_owned(),
        Some(2),
    ));
    see(played, "plan");
    played.keys("y");
    see(played, "restoring");
    played.tell(Answer::Done(
        "Done: 2 paths restored and verified.\nto undo: jackin recovery undo rc-p0wm3c8d-shop\n".to_owned(),
    ));
    see(played, "done");
    played.keys("s");
    played.tell(Answer::Store(made::store()));
    see(played, "store");
    played.keys("l");
    played.tell(Answer::Log(
        "log",
        " N  WHEN            SESSION           OPERATION\n31  3 minutes ago   rc-p0wm3c8d-shop  undid 29, back to sn-emergency0000: 4 paths\n\
         29  10 minutes ago  rc-p0wm3c8d-shop  restored to sn-baseline00000: 4 paths (undone by 31)\n"
            .to_owned(),
    ));
    see(played, "log");
    played.press(KeyCode::Esc).press(KeyCode::Esc).keys("u");
    played.tell(Answer::Failed(
        "\u{1b}[1;31merror:\u{1b}[0m rc-p0wm3c8d-shop is active\n\u{1b}[2mbecause:\u{1b}[0m process 4711 (node) is running\n\
         \u{1b}[1mhint:\u{1b}[0m nothing was changed; wait for it to end, or end it"
            .to_owned(),
    ));
    see(played, "refused");
}

#[test]
fn each_view_looks_as_its_picture() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screens/ui");
    let is_blessed = std::env::var_os("JACKIN_BLESS").is_some();
    for (columns, lines) in [(80, 24), (160, 50)] {
        every_view(&mut Played::new(columns, lines), |played, name| {
            let seen = played.text();
            let file = place.join(format!("{name}-{columns}x{lines}.txt"));
            if is_blessed {
                fs::create_dir_all(&place).unwrap();
                fs::write(&file, &seen).unwrap();
            }
            let wanted = fs::read_to_string(&file).unwrap_or_default();
            assert!(seen == wanted, "{} is not what is drawn:\n{seen}", file.display());
        });
    }
}

#[test]
fn no_view_breaks_on_a_screen_of_any_size() {
    for (number, columns) in [1, 7, 39, 40, 41, 79, 109, 110, 200, 400].into_iter().enumerate() {
        for lines in [1, 7, 8, 9, 24, 100]
            .into_iter()
            .skip(number % stride(3))
            .step_by(stride(3))
        {
            // No key acts on a screen on which nothing fits, so such a one is drawn only.
            let small = (columns, lines);
            let (wide, high) = if columns < 40 || lines < 8 {
                (160, 50)
            } else {
                small
            };
            every_view(&mut Played::new(wide, high), |played, _| {
                played.size = small;
                played.text();
                played.size = (wide, high);
            });
        }
    }
}

#[test]
fn a_question_is_whole_on_a_narrow_screen() {
    let wanted = [
        (
            40,
            " Delete this permanently? It cannot be\n undone.\n y  yes    Esc  no\n",
        ),
        (
            100,
            " Delete this permanently? It cannot be undone.  y  yes    Esc  no\n",
        ),
    ];
    for (columns, whole) in wanted {
        let mut played = Played::new(columns, 12);
        played.tell(Answer::Sessions(made::sessions()));
        played.keys("D");
        let plan = made::forget("1 session with 2 snapshots to forget.\n");
        played.tell(Answer::Forget("rc-p0wm3c8d-shop".to_owned(), plan));
        let text = played.text();
        assert!(text.contains(whole), "{text}");
    }
}

#[test]
fn without_colors_the_chosen_row_and_the_words_that_differ_still_stand_out() {
    let mut played = Played::new(160, 50);
    every_view(&mut played, |played, name| {
        let mut buffer = played.buffer();
        let colored =
            |buffer: &ratatui::buffer::Buffer| buffer.content.iter().any(|cell| cell.fg != Color::Reset);
        if ["sessions", "timeline", "changes", "plan"].contains(&name) {
            assert!(colored(&buffer), "{name}");
        }
        without_colors_of(&mut buffer);
        assert!(!colored(&buffer), "{name}");
        let has = |modifier: Modifier| buffer.content.iter().any(|cell| cell.modifier.contains(modifier));
        assert!(has(Modifier::REVERSED), "{name}");
        if name == "changes" || name == "lines" {
            assert!(has(Modifier::UNDERLINED), "{name}");
        }
        // Only the terminal's own background: it may be light or dark.
        assert!(
            buffer.content.iter().all(|cell| cell.bg == Color::Reset),
            "{name}"
        );
    });
}
