//! The tree of changes: what is shown, and what is marked.

use std::collections::BTreeSet;

use super::made;
use crate::cli::ui::data::{Changes, Kind};
use crate::cli::ui::preview::LineMarks;
use crate::cli::ui::tree::{Marks, Row, Tree};
use crate::model::Digest;

fn shown(tree: &Tree, changes: &Changes) -> Vec<String> {
    let rows = tree.rows.iter().map(|row| match row {
        Row::Beside => "beside".to_owned(),
        Row::Running(count) => format!("{count} run"),
        Row::Runs(change) => format!("! {}", changes.all[*change].names.join("/")),
        Row::Place(at) => {
            let place = tree.place(*at).unwrap();
            let open = match (place.opens, place.is_open) {
                (false, _) => "",
                (true, true) => "/",
                (true, false) => "/...",
            };
            format!("{}{}{open}", " ".repeat(place.depth), place.name)
        }
    });
    rows.collect()
}

fn small() -> Changes {
    let all = vec![
        made::change("a/b/c", Kind::Added, "A", false),
        made::change("a/b/d", Kind::Deleted, "D", false),
        made::change("a/e", Kind::Modified, "M", true),
        made::change("f", Kind::Modified, "M", false),
    ];
    Changes {
        all,
        beside: String::new(),
        ..made::changes()
    }
}

#[test]
fn what_can_run_stands_on_top_and_directories_open_and_close() {
    let changes = small();
    let mut tree = Tree::new(&changes);
    let whole = ["1 run", "! a/e", "a/", " b/", "  c", "  d", " e", "f"];
    assert_eq!(shown(&tree, &changes), whole);
    assert!(tree.toggle(3, None, &changes));
    assert_eq!(
        shown(&tree, &changes),
        ["1 run", "! a/e", "a/", " b/...", " e", "f"]
    );
    assert!(!tree.toggle(3, Some(false), &changes), "it is closed already");
    assert!(
        !tree.toggle(5, None, &changes) && !tree.toggle(99, None, &changes),
        "nothing to open"
    );
    assert_eq!(tree.above(4), Some(2));
    assert_eq!((tree.above(2), tree.above(0)), (None, None));
    // What is searched for is found in a closed directory, too.
    tree.filter = "B/D".to_owned();
    tree.lay_out(&changes);
    assert_eq!(shown(&tree, &changes), ["a/", " b/", "  d"]);
    tree.filter.clear();
    tree.kind = Kind::Runs;
    tree.lay_out(&changes);
    assert_eq!(
        (shown(&tree, &changes), tree.left),
        (["1 run", "! a/e", "a/", " e"].map(str::to_owned).into(), 1)
    );
}

#[test]
fn all_directories_open_and_close_at_once() {
    let all = vec![
        made::change(".git/refs/heads/main", Kind::Modified, "M", false),
        made::change("a/b/c", Kind::Added, "A", false),
    ];
    let changes = Changes {
        all,
        beside: String::new(),
        ..made::changes()
    };
    let mut tree = Tree::new(&changes);
    let again = |tree: &mut Tree| {
        tree.toggle_all();
        tree.lay_out(&changes);
        shown(tree, &changes)
    };
    assert_eq!(again(&mut tree), [".git/...", "a/..."]);
    assert_eq!(again(&mut tree), [".git/...", "a/", " b/", "  c"]);
}

#[test]
fn marks_of_a_directory_are_those_below_it_that_are_shown() {
    let changes = small();
    let mut tree = Tree::new(&changes);
    tree.mark(3, &changes);
    assert_eq!(tree.marked, [0, 1].into());
    assert_eq!(
        (tree.marks(2, &changes), tree.marks(3, &changes)),
        (Marks::Part, Marks::All)
    );
    tree.mark(4, &changes);
    assert_eq!(tree.marked, [1].into());
    tree.mark(0, &changes);
    assert_eq!(
        tree.marked,
        [1, 2].into(),
        "the heading stands for all that can run"
    );
    tree.kind = Kind::Modified;
    tree.lay_out(&changes);
    tree.mark_all(&changes);
    assert_eq!(tree.marked, [1, 2, 3].into(), "what is not shown is as it was");
    tree.mark_all(&changes);
    assert_eq!(tree.marked, [1].into(), "what is not shown is as it was");
    let lines = || LineMarks {
        sides: [Digest::of(b"then"), Digest::of(b"now")],
        parts: BTreeSet::new(),
    };
    tree.in_part.extend([(0, lines()), (2, lines())]);
    tree.filter = "e".to_owned();
    tree.lay_out(&changes);
    for _ in 0..2 {
        tree.mark_all(&changes);
    }
    assert_eq!((tree.marked, tree.in_part), ([1].into(), [(0, lines())].into()));
}

#[test]
fn several_mounts_have_roots_and_the_root_itself_can_change() {
    let mut changes = small();
    changes.roots.push("/srv/media".to_owned());
    let mut other = made::change("x", Kind::Added, "A", false);
    other.root = 1;
    let mut root = made::change("", Kind::Other, "m", false);
    (root.root, root.names, root.is_directory) = (1, Vec::new(), true);
    changes.all.extend([root, other]);
    let tree = Tree::new(&changes);
    let rows = shown(&tree, &changes);
    assert_eq!(rows[2..4], ["/home/o/src/shop/", " a/"]);
    assert_eq!(rows[rows.len() - 2..], ["/srv/media/", " x"]);
    // Of a single mount the root is shown only when it changed itself.
    changes.roots.pop();
    changes.all.truncate(4);
    let mut root = made::change("", Kind::Other, "m", false);
    (root.names, root.is_directory) = (Vec::new(), true);
    changes.all.insert(0, root);
    assert_eq!(shown(&Tree::new(&changes), &changes)[2], ".");
}

#[test]
fn ten_thousand_changes_begin_closed() {
    let mut changes = small();
    changes.all = (0..10_000)
        .map(|number| {
            made::change(
                &format!("d{}/e{}/f{number}", number % 7, number % 90),
                Kind::Added,
                "A",
                false,
            )
        })
        .collect();
    changes.all.sort_by(|a, b| a.names.cmp(&b.names));
    let mut tree = Tree::new(&changes);
    assert_eq!((tree.rows.len(), tree.left), (7, 10_000));
    tree.mark_all(&changes);
    assert_eq!(tree.marked.len(), 10_000);
    tree.filter = "f77".to_owned();
    tree.lay_out(&changes);
    assert_eq!(tree.left, 111);
}
