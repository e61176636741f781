//! Paths that count as git's own data.

use crate::capture::tests::{Place, path};
use crate::git_directories::Repositories;

#[test]
fn what_is_git_s_own_is_told_from_what_only_looks_like_it() {
    let place = Place::new();
    for file in [
        ".git/HEAD",
        ".git/modules/sub/HEAD",
        ".gitignore",
        ".git-notes/x",
        "deep/inner/.git/config",
        "deep/inner/file",
        "linked/.git",
        "depot/HEAD",
        "depot/objects/x",
        "depot/refs/x",
        "depot/hooks/update",
        "half/HEAD",
        "half/objects/x",
    ] {
        place.write(file, "x");
    }
    let manifest = place.look(None);
    let own = Repositories::of([&manifest]);
    let holding = |at: &str| {
        own.holding(&path(at))
            .map(|own| own.as_path().to_str().unwrap().to_owned())
    };
    for (at, wanted) in [
        (".git", Some(".git")),
        (".git/HEAD", Some(".git")),
        (".git/modules/sub/HEAD", Some(".git")),
        (".git/not/there/yet", Some(".git")),
        (".gitignore", None),
        (".git-notes/x", None),
        ("deep/inner/.git/config", Some("deep/inner/.git")),
        ("deep/inner/file", None),
        ("deep/inner", None),
        ("linked/.git", Some("linked/.git")),
        ("depot/hooks/update", Some("depot")),
        ("depot", Some("depot")),
        ("half/HEAD", None),
        ("zzz", None),
        ("", None),
    ] {
        assert_eq!(holding(at).as_deref(), wanted, "{at}");
    }
    assert_eq!(Repositories::of([]), Repositories::default());
}
