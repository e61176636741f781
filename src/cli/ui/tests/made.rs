//! A store that is made up.

use crate::cli::ui::data::{
    Changes, ForgetText, Goal, Holding, Kind, Moment, PatchLine, PatchText, PathChange, Point, Request,
    Session, Sides, TextLine, Timeline, What,
};
use crate::diff::{Line, word_marks};
use crate::model::{Digest, Time};
use crate::terminal::Role;

const MINUTE: i128 = 60_000_000_000;

pub(super) fn now() -> Time {
    Time::from_nanos(1_800_000_000_000_000_000)
}

fn ago(minutes: i128) -> Time {
    Time::from_nanos(now().nanos() - minutes * MINUTE)
}

pub(super) fn sessions() -> Vec<Session> {
    let one =
        |id: &str, workspace: Option<&str>, status: &str, role, minutes, snapshots, bytes, place: &str| {
            Session {
                id: id.to_owned(),
                workspace: workspace.map(str::to_owned),
                name: None,
                is_pinned: false,
                status: status.to_owned(),
                role,
                began: ago(minutes),
                snapshots,
                bytes,
                place: place.to_owned(),
                roots: place.split(", ").map(Into::into).collect(),
            }
        };
    vec![
        one(
            "rc-7h2kq9xa-shop",
            Some("shop"),
            "active",
            Role::Added,
            4,
            3,
            52_428_800,
            "/home/o/src/shop",
        ),
        one(
            "rc-p0wm3c8d-shop",
            Some("shop"),
            "ended",
            Role::Dim,
            190,
            12,
            51_380_224,
            "/home/o/src/shop",
        ),
        one(
            "rc-zz81ty5n-notes",
            None,
            "lost",
            Role::Warning,
            2_900,
            2,
            81_920,
            "/home/o/notes",
        ),
        one(
            "rc-3d9v6b1e-site",
            Some("site"),
            "ended",
            Role::Dim,
            60_000,
            40,
            734_003_200,
            "/srv/site, /srv/media",
        ),
    ]
}

pub(super) fn timeline(active: bool) -> Timeline {
    let snapshot = |id: &str, minutes, name: &str, role, note: &str, before: Option<&str>| Moment {
        at: ago(minutes),
        what: What::Snapshot {
            id: id.to_owned(),
            before: before.map(str::to_owned),
        },
        name: name.to_owned(),
        role,
        note: note.to_owned(),
        under: (name == "emergency").then_some(29),
        is_pinned: note == "pinned",
    };
    let restore = |number, minutes, name: &str, note: &str| Moment {
        at: ago(minutes),
        what: What::Restore {
            number,
            emergency: "sn-emergency0000".to_owned(),
        },
        name: name.to_owned(),
        role: Role::Changed,
        note: note.to_owned(),
        under: (number == 29).then_some(31),
        is_pinned: false,
    };
    Timeline {
        id: "rc-p0wm3c8d-shop".to_owned(),
        active: active.then(|| "active (launcher 4711): read-only until it ends".to_owned()),
        facts: "\u{1b}[1mrc-p0wm3c8d-shop\u{1b}[0m\nstatus     ended\nworkspace  shop\nmode       project\n\
                agent      claude, its session 0c5e2f\nmount      /home/o/src/shop"
            .to_owned(),
        moments: vec![
            restore(31, 3, "undo 31", "undid receipt 29, 4 paths"),
            restore(
                29,
                10,
                "restore 29",
                "to baseline, 4 paths, 1 conflict, undone by receipt 31",
            ),
            snapshot(
                "sn-emergency0000",
                10,
                "emergency",
                Role::Dim,
                "before restore 29",
                None,
            ),
            snapshot(
                "sn-closing000000",
                60,
                "closing",
                Role::Added,
                "changed +2 ~1 -3",
                Some("sn-half00000000"),
            ),
            snapshot(
                "sn-half00000000",
                90,
                "before-refactoring",
                Role::Added,
                "changed +812 ~3, before Bash",
                Some("sn-baseline00000"),
            ),
            snapshot("sn-baseline00000", 190, "baseline", Role::Heading, "pinned", None),
        ],
        points: points(),
    }
}

fn points() -> Vec<Point> {
    let point = |minutes, text: &str, changed: &str, snapshot: Option<&str>| Point {
        at: ago(minutes),
        is_prompt: text.starts_with('"'),
        text: text.to_owned(),
        changed: changed.to_owned(),
        snapshot: snapshot.map(str::to_owned),
    };
    vec![
        point(
            70,
            "\"clean up what is not used\" (2 calls)",
            "+2 ~1 -3",
            Some("sn-half00000000"),
        ),
        point(69, "Bash: rm -rf data", "-3", Some("sn-half00000000")),
        point(65, "Write: cart.rs", "", None),
        point(
            189,
            "\"split the cart into modules and give each of them a test of its own\" (1 call)",
            "+812 ~3",
            Some("sn-baseline00000"),
        ),
        point(180, "Bash: cargo new cart", "", Some("sn-baseline00000")),
    ]
}

pub(super) fn change(path: &str, kind: Kind, letter: &'static str, runs: bool) -> PathChange {
    PathChange {
        is_renamed: letter == "R",
        root: 0,
        names: path.trim_end_matches('/').split('/').map(str::to_owned).collect(),
        is_directory: path.ends_with('/'),
        kind,
        letter,
        role: match kind {
            Kind::Added => Role::Added,
            Kind::Deleted => Role::Removed,
            _ => Role::Changed,
        },
        detail: if letter == "m" {
            "mode 0644 -> 0755".to_owned()
        } else {
            String::new()
        },
        runs,
        hosts: vec![format!("/home/o/src/shop/{}", path.trim_end_matches('/')).into()],
    }
}

pub(super) fn changes() -> Changes {
    use Kind::{Added, Deleted, Modified, Other};
    Changes {
        sides: Sides {
            instance: "rc-p0wm3c8d-shop".to_owned(),
            from: "sn-baseline00000".to_owned(),
            to: None,
            is_step: false,
        },
        from: "baseline".to_owned(),
        to: "now".to_owned(),
        beside: "/home/o/src/shop/.git: branch main moved, 2 commits".to_owned(),
        all: vec![
            change(".env", Deleted, "D", false),
            change(".git/hooks/pre-commit", Added, "A", true),
            change("deploy.sh", Other, "m", true),
            change("src/", Modified, "M", false),
            change("src/cart/", Deleted, "D", false),
            change("src/cart/lines.rs", Deleted, "D", false),
            change("src/main.rs", Modified, "M", false),
            change(
                "src/\u{4ed5}\u{69d8}-ein sehr langer Name, der nirgends aufh\u{f6}rt und deshalb gek\u{fc}rzt wird.txt",
                Added,
                "A",
                false,
            ),
        ],
        roots: vec!["/home/o/src/shop".to_owned()],
    }
}

/// Two hunks of a text whose lines can be marked.
pub(super) fn patch() -> PatchText {
    use Line::{Added, Context, Hunk, Removed};
    let lines = [
        (Hunk, "@@ -1,4 +1,4 @@", None, None),
        (Context, "fn main() {", Some(1), Some(1)),
        (Removed, "    let port = 80;", Some(2), None),
        (Added, "    let port = 8080;", None, Some(2)),
        (Context, "    serve(port);", Some(3), Some(3)),
        (Context, "}", Some(4), Some(4)),
        (Hunk, "@@ -98,3 +98,4 @@", None, None),
        (Context, "fn stop() {", Some(98), Some(98)),
        (Added, "    wait();", None, Some(99)),
        (Added, "    wait();", None, Some(100)),
        (Context, "    end();", Some(99), Some(101)),
    ];
    let words: Vec<(Line, String)> = lines.map(|(line, text, ..)| (line, text.to_owned())).into();
    let words = word_marks(&words);
    let lines = lines.into_iter().zip(words);
    PatchText {
        lines: lines
            .map(|((line, text, then, now), words)| {
                PatchLine::Line(TextLine {
                    line,
                    text: text.to_owned(),
                    words,
                    tokens: Vec::new(),
                    then,
                    now,
                })
            })
            .collect(),
        sides: Some([Digest::of(b"then"), Digest::of(b"now")]),
    }
}

pub(super) fn forget(text: &str) -> ForgetText {
    ForgetText {
        text: text.to_owned(),
        at: now(),
    }
}

pub(super) fn request(goal: Goal) -> Request {
    Request {
        instance: "rc-p0wm3c8d-shop".to_owned(),
        goal,
        paths: Vec::new(),
        lines: Vec::new(),
        overwrite_later: false,
        delete_later: false,
    }
}

pub(super) const PLAN: &str = "\u{1b}[1m/home/o/src/shop\u{1b}[0m\n  \u{1b}[32mcreate   \u{1b}[0m /home/o/src/shop/.env\n  \
    \u{1b}[33mreplace  \u{1b}[0m /home/o/src/shop/src/main.rs\n  \u{1b}[1;33mConflicts, not changed:\u{1b}[0m\n    \
    /home/o/src/shop/README.md: it was edited after the session, at 14:02 today, and that edit is in no snapshot\n\
    2 paths: 1 to create, 1 to replace; 1 conflict stays.\nAn emergency snapshot is taken first; `undo` restores it.";

pub(super) fn store() -> Vec<Holding> {
    let one = |name: &str, sessions, by_age| Holding {
        name: name.to_owned(),
        sessions,
        by_age,
    };
    vec![
        one("site", 3, [0, 0, 104_857_600, 629_145_600]),
        one("shop", 14, [20_971_520, 41_943_040, 31_457_280, 0]),
        one("~/notes", 1, [0, 40_960, 0, 0]),
    ]
}
