//! Names and trees that break tools: the kinds that issue trackers are full of.

use std::path::Path;

use super::build::Build;
use super::machine::is_root;

/// File names that are legal and unusual. Each is one directory entry.
pub(crate) fn names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "café.txt",
        "cafe\u{301}.txt",
        "new\nline",
        "\n",
        "-rf",
        "--",
        "*",
        "?",
        "[a-z]",
        ":(top)x",
        "!important",
        "#comment",
        "trailing ",
        " leading",
        " ",
        "tab\tname",
        "back\\slash",
        "\\",
        "\"quoted\"",
        "it's",
        "$HOME",
        "`id`",
        "$(id)",
        "~",
        "...",
        ".hidden",
        "a;b&c|d",
        "CON",
        "escape\u{1b}[31mred",
        "bell\u{7}",
        "carriage\rreturn",
        "right\u{202e}left",
        "c1\u{9b}31m",
        "zero\u{200b}width",
        "💾",
        ".jackin-recoverya",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    names.push(b"invalid-\xff\xfe-utf8".to_vec());
    names.push(vec![0x80]);
    names.push(b"\xc3".to_vec());
    names.push(vec![b'x'; 255]);
    names.push([vec![0xff], vec![b'y'; 254]].concat());
    names
}

/// A file of its own content at each of [`names`], at the top, and below a directory of the same name.
pub(crate) fn named(root: &Path) {
    let build = Build::at(root);
    for name in names() {
        build.file(&name, [b"at the top: ", &name[..]].concat());
        build.file(
            [b"in/", &name[..], b"/", &name[..]].concat(),
            [b"below: ", &name[..]].concat(),
        );
    }
}

/// One of everything: types, modes, links, attributes, sizes, times, and all the names.
pub(crate) fn tree(root: &Path) {
    named(root);
    let build = Build::at(root);
    build
        .file("plain", "plain\n")
        .file("empty", "")
        .file("twin-a", "the same content")
        .file("twin-b", "the same content")
        .mode("twin-b", 0o600)
        .file("private", "for the owner only\n")
        .mode("private", 0o600)
        .file("setuid", "set-id bits\n")
        .mode("setuid", 0o4755)
        .file("script.sh", "#!/bin/sh\n")
        .mode("script.sh", 0o755)
        .file("only-execute", "x")
        .mode("only-execute", 0o611)
        .file("bytes", (0..=255_u8).cycle().take(70_000).collect::<Vec<_>>())
        .file("block", vec![b'b'; 4096])
        .file("block-and-one", vec![b'b'; 4097])
        .file("zeros", vec![0; 9000])
        .big("three-megabytes", 3 * 1024 * 1024 + 17)
        .sparse(
            "sparse",
            5 << 20,
            &[(0, b"start"), (2 << 20, b"middle"), ((5 << 20) - 3, b"end")],
        )
        .sparse("hole-at-the-end", 1 << 20, &[(4096, b"data")])
        .sparse("only-a-hole", 1 << 20, &[]);
    build
        .dir("empty-dir")
        .mode("empty-dir", 0o700)
        .dir("sticky")
        .mode("sticky", 0o1777)
        .dir("deep/er/and/deep/er/still")
        .file("deep/er/and/file", "deep\n")
        .symlink("link", "plain")
        .symlink("dangling", "no/such/target")
        .symlink("absolute", "/etc/hostname")
        .symlink("odd-target", "deep//er/./and/../")
        .symlink("to-dir", "deep")
        .symlink("loop", "loop")
        .symlink(b"link-\xff", b"target-\xfe\n")
        .file("pair-1", "one file, two names\n")
        .hard_link("pair-2", "pair-1")
        .hard_link("deep/pair-3", "pair-1")
        .fifo("pipe")
        .socket("socket");
    build
        .attribute("plain", "user.origin", "here")
        .attribute("plain", "user.binary", b"\x00\xff\nnewline=7 ")
        .attribute("plain", "user.empty", "")
        .attribute("empty-dir", "user.on-a-directory", "yes")
        .acl("private", "u:12345:r")
        .acl("sticky", "d:u:12345:rwx");
    // Only root reads through its own missing permission; as another user these are gaps (scenario 35).
    if is_root() {
        build.file("no-permission", "0000\n").mode("no-permission", 0o000);
        build.file("closed/inside", "behind 0000\n").mode("closed", 0o000);
        build.file("owned", "by another\n");
        std::os::unix::fs::chown(build.place("owned"), Some(1234), Some(4321)).unwrap();
    }
    build
        .aged()
        .time("plain", -5, 250_000_000)
        .time("twin-a", 4_000_000_000, 1);
}
