//! Globs as an operator types them.

use super::PathGlob;
use crate::model::RelPath;

fn path(text: impl AsRef<[u8]>) -> RelPath {
    RelPath::new(text.as_ref()).unwrap()
}

fn matched(base: &str, word: &str, is_anchored: bool, at: impl AsRef<[u8]>) -> bool {
    let base = match base {
        "" => RelPath::root(),
        base => path(base),
    };
    PathGlob::of_word(base, word, is_anchored)
        .unwrap()
        .matches(&path(at), false)
}

#[test]
fn a_word_is_read_as_gitignore_does() {
    assert!(matched("", "*.rs", false, "a/b/c.rs"));
    assert!(!matched("", "*.rs", true, "a/c.rs"));
    assert!(matched("", "src/**/*.rs", true, "src/c.rs"));
    assert!(matched("", "src/*", true, "src/deep/below"));
    assert!(matched("src", "*.rs", true, "src/c.rs"));
    assert!(!matched("src", "*.rs", false, "srcs/c.rs"));
    assert!(!matched("src", "*.rs", false, "other/c.rs"));
    assert!(!matched("", "src/", true, "src"));
}

#[test]
fn hostile_names_are_bytes() {
    assert!(matched("", "*.txt", false, b"odd\xff\n.txt"));
    assert!(matched("", "a[[]*", false, "a[1]"));
    assert!(matched("", "!x*", false, "!xyz"));
    assert!(matched("", "#*", false, "#note"));
    assert!(matched("", "* ", false, "blank "));
    assert!(!matched("", "* ", false, "blank"));
    assert!(matched("", "*\t", false, "tab\t") && !matched("", "*\t", false, "tab"));
}

#[test]
fn later_lines_take_matches_back() {
    let lines = vec!["*.log".to_owned(), "!keep.log".to_owned()];
    let globs = PathGlob::of_lines(RelPath::root(), lines).unwrap();
    assert!(globs.matches(&path("a/x.log"), false));
    assert!(!globs.matches(&path("a/keep.log"), false));
    assert!(PathGlob::of_lines(RelPath::root(), vec!["a[".to_owned()]).is_err());
    assert!(PathGlob::is_glob("a[b]") && !PathGlob::is_glob("a[b"));
}
