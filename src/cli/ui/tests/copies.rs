//! Paths, ids and commands that keys copy, and the box that shows them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use ratatui::crossterm::event::KeyCode;

use super::flows::{in_changes, in_preview};
use super::{Played, made};
use crate::cli::ui::data::{Answer, Changes, Kind};

#[test]
fn a_path_to_copy_is_shown_in_one_row_and_copied_as_it_is() {
    let mut played = in_changes();
    played.press(KeyCode::End);
    let compared = played.app.compared.as_mut().unwrap();
    let last = compared.changes.all.last_mut().unwrap();
    let path = "/home/o/src/shop/a\u{1b}[2J\ni  id  rc-forged";
    last.hosts = vec![path.into()];
    played.keys("y");
    let (shown, text) = (r#""/home/o/src/shop/a\x1b[2J\ni  id  rc-forged""#, played.text());
    assert!(text.contains(&format!("p  path     {shown}")), "{text}");
    played.keys("p");
    assert_eq!(played.app.copied.take().unwrap(), path);
    let text = played.text();
    assert!(text.contains(&format!("copied the path: {shown}")), "{text}");
}

#[test]
fn each_mount_of_a_session_is_copied_byte_for_byte() {
    let mut sessions = made::sessions();
    sessions[0].roots = vec![
        OsString::from_vec(b"/srv/\xff\n".to_vec()).into(),
        "/srv/media".into(),
    ];
    let mut played = Played::new(80, 24);
    played.tell(Answer::Sessions(sessions));
    let text = played.keys("y").text();
    assert!(
        text.contains(r#"p  path     "/srv/\xff\n""#) && text.contains("2  path     /srv/media"),
        "{text}"
    );
    assert!(text.contains("p 2-9 i c choose"), "{text}");
    played.keys("p");
    assert_eq!(played.app.copied.take().unwrap().as_bytes(), b"/srv/\xff\n");
    played.keys("y2");
    assert_eq!(played.app.copied.take().unwrap(), "/srv/media");
}

#[test]
fn paths_ids_and_commands_are_copied() {
    let mut played = in_preview();
    played.app.called = "jackin recovery".to_owned();
    played.keys("y");
    let text = played.text();
    assert!(
        text.contains("c  command") && text.contains("p i c choose"),
        "{text}"
    );
    played.keys("c");
    let text =
        "jackin recovery restore rc-p0wm3c8d-shop --from sn-baseline00000 /home/o/src/shop/src/main.rs";
    assert_eq!(played.app.copied.take().unwrap(), text);
    assert!(played.text().contains("copied the command"));
    played.keys("yp");
    assert_eq!(played.app.copied.take().unwrap(), "/home/o/src/shop/src/main.rs");
    played.keys("yz");
    assert_eq!(played.app.copied, None);
    played.keys("e");
    let words = played.app.runs.take().unwrap();
    assert_eq!(
        words,
        [
            "edit",
            "rc-p0wm3c8d-shop:sn-baseline00000",
            "--",
            "/home/o/src/shop/src/main.rs"
        ]
    );
}

#[test]
fn the_command_of_a_directory_that_did_not_change_itself_means_that_directory() {
    let mut played = in_changes();
    let changes = Changes {
        all: vec![
            made::change("a/b/c", Kind::Added, "A", false),
            made::change("d", Kind::Modified, "M", false),
        ],
        beside: String::new(),
        ..made::changes()
    };
    played.press(KeyCode::F(5)).tell(Answer::Changes(changes));
    for (row, path) in [(0, "/home/o/src/shop/a"), (1, "/home/o/src/shop/a/b")] {
        played.press(KeyCode::Home);
        for _ in 0..row {
            played.press(KeyCode::Down);
        }
        played.keys("yp");
        assert_eq!(played.app.copied.take().unwrap(), path);
        played.keys("yc");
        let command = played.app.copied.take().unwrap();
        let wanted = format!("--from sn-baseline00000 {path}");
        assert!(command.to_str().unwrap().ends_with(&wanted), "{command:?}");
    }
}
