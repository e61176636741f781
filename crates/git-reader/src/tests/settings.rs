//! Configuration, remotes, submodules.

use super::scratch::{Scratch, text};
use crate::{Config, without_credentials};

#[test]
fn tricky_configurations_are_read_as_git_reads_them() {
    let texts: [&[u8]; 9] = [
        b"[a] b = c\n[a]b=c\n[A \"Sub\\\"x\\\\\"] KEY = \"  quoted # ; \" rest  # comment\n",
        b"\xef\xbb\xbf[x]\r\n\tlonely\r\n\tempty =\r\n  spaces =  a  b\t c  \r\n",
        b"[x]\nlong = one \\\n  two\\\n three\nnext = \\t\\b\\n\\\\\\\"end\n",
        b"[sec.SUB]\nk = 1\n[sec \"SUB\"]\nk = 2\n[sec \"\"]\nk = 3\n",
        b"# c\n; d\n[x] ; e\n a = 1;2\n b = \"1;2\" ;3\n c = \"a\"b\"c d\"\n",
        b"[x] a = \"\"  \n b = \" \" \n c = x\"y",
        b"[x]\na = 1\nb ? 2\nc = 3\n",
        b"[x]\na = bad \\q escape\n",
        b"[x-y \"a.b.c\"]\nk-1 = last",
    ];
    let scratch = Scratch::empty();
    for written in texts {
        scratch.write("file", written);
        let output = scratch.try_git(&["config", "-f", "file", "--list", "-z"]);
        let Ok(config) = Config::parse(written) else {
            assert!(!output.status.success(), "{}", written.escape_ascii());
            continue;
        };
        let ours: Vec<Vec<u8>> = (config.entries.iter())
            .map(|entry| match &entry.value {
                Some(value) => [&entry.name(), &b"\n"[..], value].concat(),
                None => entry.name(),
            })
            .collect();
        assert!(output.status.success(), "{}", written.escape_ascii());
        let theirs: Vec<_> = output.stdout.split(|byte| *byte == 0).collect();
        assert_eq!(ours.join(&0), theirs[..theirs.len() - 1].join(&0));
    }
}

#[test]
fn the_work_tree_may_have_its_own_and_includes_are_only_listed() {
    let scratch = Scratch::new();
    scratch.write("more", "[core]\nfsmonitor = evil\n");
    scratch.git(&["config", "include.path", "../more"]);
    scratch.git(&["config", "extensions.worktreeConfig", "true"]);
    scratch.git(&["config", "--worktree", "core.sshCommand", "evil"]);
    scratch.read("", |repository| {
        let config = repository.config();
        assert_eq!(config.last("core", None, "sshcommand"), Some(Some(&b"evil"[..])));
        assert_eq!(config.last("core", None, "fsmonitor"), None);
        assert_eq!(config.includes().count(), 1);
        assert!(repository.doubts()[0].contains("../more"));
    });
}

#[test]
fn credentials_do_not_stand_in_addresses() {
    let cases = [
        (
            "https://user:secret@example.org/a.git",
            "https://example.org/a.git",
        ),
        ("https://secret@example.org/a", "https://example.org/a"),
        (
            "https://user:sec@ret@example.org:8443/a@b",
            "https://example.org:8443/a@b",
        ),
        ("https://user:sec/ret@example.org/a", "https://example.org/a"),
        ("https://example.org/a@b", "https://example.org/a@b"),
        ("https://example.org:443/a@b", "https://example.org:443/a@b"),
        ("ssh://git@example.org/a", "ssh://git@example.org/a"),
        ("ssh://git:secret@example.org/a", "ssh://example.org/a"),
        ("git@example.org:a/b.git", "git@example.org:a/b.git"),
        ("user@example.org:a/b.git", "example.org:a/b.git"),
        (
            "helper::https://user:secret@example.org/",
            "helper::https://example.org/",
        ),
        ("/some/path@x", "/some/path@x"),
        ("../up", "../up"),
        ("", ""),
    ];
    for (written, shown) in cases {
        assert_eq!(text(&without_credentials(written.as_bytes())), shown);
    }
    let scratch = Scratch::new();
    scratch.git(&["remote", "add", "origin", cases[0].0]);
    scratch.git(&["config", "remote.origin.pushurl", "git@example.org:a"]);
    scratch.read("", |repository| {
        let remotes = repository.remotes();
        let remotes = remotes
            .iter()
            .map(|remote| (text(&remote.name), text(&remote.url)));
        let shown: Vec<_> = remotes.collect();
        assert_eq!(shown[0], ("origin".to_owned(), cases[0].1.to_owned()));
        assert_eq!(shown[1].1, "git@example.org:a");
    });
}

#[test]
fn submodules_lie_where_their_file_points() {
    let scratch = Scratch::new();
    let other = Scratch::new();
    let from = other.dir.to_str().unwrap();
    scratch.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        from,
        "sub",
    ]);
    scratch.commit("with a submodule");
    scratch.read("", |repository| {
        let submodules = repository.submodules();
        assert_eq!(submodules.len(), 1);
        assert_eq!(
            (text(&submodules[0].name), text(&submodules[0].path)),
            ("sub".into(), "sub".into())
        );
        assert_eq!(text(&submodules[0].url), from);
        let index = repository.index().unwrap().unwrap();
        assert!(index.entries.iter().any(|entry| entry.mode == 0o160000));
    });
    scratch.read("sub", |repository| {
        assert_eq!(repository.git_dir().unwrap().as_bytes(), b".git/modules/sub");
        assert_eq!(
            repository.head().unwrap().commit.unwrap().to_string(),
            other.text(&["rev-parse", "HEAD"])
        );
        assert!(repository.doubts().is_empty());
    });
}
