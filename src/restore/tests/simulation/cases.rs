//! The trees that are tried: all small ones, and a few with one of everything.

use std::collections::BTreeMap;

use super::session::ROOT;
use super::{Session, World};
use crate::model::InodeFlags;
use handle_fs::simulated::Node;

/// Makes a session; it is not itself for other threads.
pub(super) type Make = Box<dyn Fn() -> Session + Send + Sync>;

/// Sessions with one of everything.
pub(super) fn rich() -> Vec<Make> {
    vec![
        Box::new(busy),
        Box::new(|| busy().exact()),
        Box::new(|| busy().in_steps()),
        Box::new(|| busy().layered()),
        Box::new(linked),
        Box::new(bound),
        Box::new(|| busy().composing("edit", "composed")),
    ]
}

/// Object at a path of a small tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    None,
    One,
    Two,
    Directory,
}

/// A tree with at most three paths: `a`, `d`, `d/b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Small([State; 3]);

/// Every such tree: each path is absent, a file with one of two contents, or a directory.
pub(super) fn small() -> Vec<Small> {
    use State::{Directory, None, One, Two};
    let mut all = Vec::new();
    for a in [None, One, Two, Directory] {
        for d in [None, One, Directory] {
            let below: &[State] = if d == Directory {
                &[None, One, Two]
            } else {
                &[None]
            };
            all.extend(below.iter().map(|b| Small([a, d, *b])));
        }
    }
    all
}

impl Small {
    fn put(self, world: &mut World) {
        for (path, state) in ["a", "d", "d/b"].into_iter().zip(self.0) {
            let path = format!("{ROOT}/{path}");
            match state {
                State::None => {}
                State::One => world.put_file(&path, "one"),
                State::Two => world.put_file(&path, "another"),
                State::Directory => world.put(&path, Node::Directory(BTreeMap::new()), 0o755),
            }
        }
    }

    /// A session that makes `after` of this tree, as other objects.
    pub(super) fn to(self, after: Self) -> Session {
        let before = |world: &mut World| self.put(world);
        let damage = |world: &mut World| {
            for (number, path) in ["a", "d"].into_iter().enumerate() {
                if self.0[number] != State::None {
                    world.cut(&format!("{ROOT}/{path}"));
                }
            }
            after.put(world);
        };
        Session::of(before, damage)
    }
}

pub(super) fn at(path: &str) -> String {
    format!("{ROOT}/{path}")
}

/// Directories that stay, with one or two moves in each: somebody may remove them meanwhile.
pub(super) fn rooms() -> Session {
    let before = |world: &mut World| {
        world.put_file(&at("deep/edit"), "deep before");
        world.put_file(&at("lone/edit"), "lone before");
        world.put_file(&at("only/kept"), "kept");
        world.put_file(&at("only/lost"), "lost");
    };
    let damage = |world: &mut World| {
        world.rewrite(&at("deep/edit"), "deep after");
        world.rewrite(&at("lone/edit"), "lone after");
        world.cut(&at("only/lost"));
        world.put(&at("hollow/in"), Node::Directory(BTreeMap::new()), 0o755);
        world.put_file(&at("deep/junk"), "deep junk");
    };
    Session::of(before, damage)
}

/// Everything that a session does to files: written to, removed, made, moved, other kinds, modes.
pub(super) fn busy() -> Session {
    let before = |world: &mut World| {
        world.put_file(&at("edit"), "before");
        world.put_file(&at("gone/in/file"), "gone");
        world.put_file(&at("kind"), "a file");
        world.put_file(&at("moved"), "moved");
        world.put_file(&at("mode"), "mode");
        world.put_file(&at("owned"), "owned");
        world.put(&at("empty"), Node::Directory(BTreeMap::new()), 0o700);
        world.put(&at("link"), Node::Symlink(b"edit".to_vec()), 0o777);
        world.put_file(&at("still"), "still");
    };
    let damage = |world: &mut World| {
        world.rewrite(&at("edit"), "after");
        world.cut(&at("gone"));
        world.cut(&at("kind"));
        world.put_file(&at("kind/is/a/directory"), "now");
        world.carry(&at("moved"), &at("new-name"));
        world.set_mode(&at("mode"), 0o600);
        // Nobody else can give it back.
        if handle_fs::is_privileged() {
            world.set_owner(&at("owned"), (5, 6));
        }
        world.cut(&at("empty"));
        world.cut(&at("link"));
        world.put(&at("link"), Node::Symlink(b"still".to_vec()), 0o777);
        world.put_file(&at("made/by/session"), "junk");
    };
    Session::of(before, damage)
}

/// Names of which only the case changed, of files and of directories, with other changes in them.
pub(super) fn recased() -> Session {
    let before = |world: &mut World| {
        world.put_file(&at("Readme"), "read me");
        world.put_file(&at("Src/Deep/file"), "file");
        world.put_file(&at("Src/edit"), "before");
        world.put_file(&at("Gone"), "gone");
        world.put(&at("Empty"), Node::Directory(BTreeMap::new()), 0o700);
        world.put_file(&at("caf\u{e9}"), "composed");
    };
    let damage = |world: &mut World| {
        world.carry(&at("Readme"), &at("README"));
        world.carry(&at("Src"), &at("src"));
        world.carry(&at("src/Deep"), &at("src/deep"));
        world.rewrite(&at("src/edit"), "after");
        world.cut(&at("Gone"));
        world.put(&at("GONE"), Node::Symlink(b"src".to_vec()), 0o777);
        world.carry(&at("Empty"), &at("empty"));
        world.carry(&at("caf\u{e9}"), &at("cafe\u{301}"));
    };
    Session::of(before, damage)
}

/// One file that was written to.
pub(super) fn edited() -> Session {
    let before = |world: &mut World| world.put_file(&at("edit"), "before");
    let damage = |world: &mut World| world.rewrite(&at("edit"), "after");
    Session::of(before, damage)
}

/// Directories in directories where there was a file, and an empty one.
pub(super) fn nested() -> Session {
    let before = |world: &mut World| world.put_file(&at("kind"), "a file");
    let damage = |world: &mut World| {
        world.cut(&at("kind"));
        world.put_file(&at("kind/is/directory"), "now");
        world.put(&at("hollow"), Node::Directory(BTreeMap::new()), 0o755);
        // Made anew it is the operator's until its owner is set.
        if handle_fs::is_privileged() {
            world.set_owner(&at("kind/is"), (5, 6));
        }
    };
    Session::of(before, damage)
}

/// Names of one object, attributes, pipes, times and modes of directories.
pub(super) fn linked() -> Session {
    let before = |world: &mut World| {
        world.put_file(&at("d/one"), "shared");
        world.name_again(&at("d/one"), &at("two"));
        world.put_file(&at("three"), "alone");
        world.put_file(&at("dressed"), "x");
        world.set_attribute(&at("dressed"), "user.key", "before");
        world.put(&at("pipe"), Node::Fifo, 0o640);
        world.put_file(&at("shut/inside"), "inside");
        world.set_mode(&at("shut"), 0o750);
    };
    let damage = |world: &mut World| {
        world.cut(&at("two"));
        world.put_file(&at("two"), "shared");
        world.cut(&at("three"));
        world.name_again(&at("d/one"), &at("three"));
        world.set_attribute(&at("dressed"), "user.key", "after");
        world.set_attribute(&at("dressed"), "user.more", "x");
        world.cut(&at("pipe"));
        world.put_file(&at("pipe"), "no pipe");
        world.set_mode(&at("shut"), 0o700);
        world.set_mode(ROOT, 0o711);
    };
    Session::of(before, damage)
}

/// Directories that their owner may not write: moved either way, with something that moves in them, and with other modes.
pub(super) fn shut() -> Session {
    let before = |world: &mut World| {
        world.put_file(&at("lost/inside"), "inside");
        world.put_file(&at("kind/inside"), "was a directory");
        world.put_file(&at("other"), "was a file");
        world.put_file(&at("room/edit"), "room before");
        world.put_file(&at("wider/edit"), "wider before");
        world.put_file(&at("narrower/edit"), "narrower before");
        for path in ["lost", "kind", "room", "wider"] {
            world.set_mode(&at(path), 0o555);
        }
    };
    let damage = |world: &mut World| {
        world.cut(&at("lost"));
        world.cut(&at("kind"));
        world.put_file(&at("kind"), "is a file");
        world.cut(&at("other"));
        world.put_file(&at("other/inside"), "is a directory");
        world.put_file(&at("made/inside"), "made");
        for path in ["room", "wider", "narrower"] {
            world.rewrite(&at(&format!("{path}/edit")), "after");
        }
        for (path, mode) in [
            ("other", 0o555),
            ("made", 0o555),
            ("wider", 0o750),
            ("narrower", 0o500),
        ] {
            world.set_mode(&at(path), mode);
        }
    };
    Session::of(before, damage)
}

/// Metadata that are set one after the other: owners, which take bits of a mode with them, attributes, modes.
pub(super) fn dressed() -> Session {
    let before = |world: &mut World| {
        world.put_file(&at("file"), "x");
        world.set_mode(&at("file"), 0o4444);
        world.set_attribute(&at("file"), "user.key", "before");
        world.put_file(&at("d/inside"), "inside");
        world.set_mode(&at("d"), 0o555);
        world.set_attribute(&at("d"), "user.key", "before");
    };
    let damage = |world: &mut World| {
        world.set_attribute(&at("file"), "user.key", "after");
        world.set_attribute(&at("d"), "user.key", "after");
        world.set_mode(&at("d"), 0o500);
        if handle_fs::is_privileged() {
            world.set_owner(&at("file"), (5, 6));
            world.set_owner(&at("d"), (5, 6));
            world.set_mode(&at("file"), 0o600);
        }
    };
    Session::of(before, damage)
}

/// Files that nobody may change.
pub(super) fn bound() -> Session {
    let before = |world: &mut World| {
        world.put_file(&at("fixed"), "before");
        world.put_file(&at("d/log"), "one");
        world.set_flags(&at("d/log"), InodeFlags::APPEND);
    };
    let damage = |world: &mut World| {
        world.rewrite(&at("fixed"), "after");
        world.set_flags(&at("fixed"), InodeFlags::IMMUTABLE);
        world.rewrite(&at("d/log"), "one two");
        world.put_file(&at("new"), "new");
        world.set_flags(&at("new"), InodeFlags::IMMUTABLE);
    };
    Session::of(before, damage)
}
