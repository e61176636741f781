//! GNU tar opens jackin's archives and extracts the right bytes, names and metadata. Needs `tar` and `zstd`; skips the tests
//! without them and says so.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Output};

use super::*;

/// Runs `tar` with nothing in its environment but a path and a locale; `None` when tar or zstd is missing.
fn tar(locale: &str, arguments: &[&OsStr]) -> Option<Output> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let here = |program: &str| std::env::split_paths(&search).any(|dir| dir.join(program).is_file());
    if !here("tar") || !here("zstd") {
        crate::skipped::skipped("tar or zstd is not installed");
        return None;
    }
    let mut command = Command::new("tar");
    command
        .env_clear()
        .env("PATH", &search)
        .env("LC_ALL", locale)
        .args(arguments);
    Some(command.output().unwrap())
}

/// Extracts into a new directory; what tar wrote to stderr comes with it.
fn extract(made: &Made, locale: &str) -> Option<(PathBuf, String)> {
    let to = made.directory.path().join(format!("out-{locale}"));
    std::fs::create_dir(&to).unwrap();
    let from = made.path();
    let flags = [
        "--zstd",
        "-p",
        "--numeric-owner",
        "--xattrs",
        "--xattrs-include=user.*",
        "-C",
    ];
    let mut arguments: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    arguments.extend([to.as_os_str(), OsStr::new("-xf"), from.as_os_str()]);
    let output = tar(locale, &arguments)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    Some((to, said))
}

fn at(root: &Path, name: impl AsRef<[u8]>) -> PathBuf {
    root.join("m").join(OsStr::from_bytes(name.as_ref()))
}

#[test]
fn names_and_links_come_out_as_they_are() {
    let names: Vec<Vec<u8>> = vec![
        b"-rf".to_vec(),
        b"line\nbreak".to_vec(),
        b"short\xff\xfe".to_vec(),
        "ümläut-日本".as_bytes().to_vec(),
        vec![b'a'; 255],
        [b"\xff".as_slice(), &[b'b'; 150]].concat(),
        [vec![b'c'; 98].as_slice(), b"/", &[b'd'; 98], b"/x"].concat(),
        [vec![b'e'; 200].as_slice(), b"/", &[b'f'; 200], b"/", &[0xe9; 200]].concat(),
        [vec![b'g'; 97].as_slice(), b"/h"].concat(),
        [vec![b'g'; 97].as_slice(), b"/long-enough-to-need-the-prefix"].concat(),
        "ü".repeat(120).into_bytes(),
    ];
    let targets: [&[u8]; 4] = [
        b"/x//y/./z/",
        b"../../up",
        &[b'l'; 300],
        &[b"\xfe".as_slice(), &[b'm'; 120]].concat(),
    ];
    let made = make(|writer| {
        writer.member("m", &RelPath::root(), &directory()).unwrap();
        let mut dirs: Vec<RelPath> = names
            .iter()
            .flat_map(|name| path(name).ancestors().skip(1).collect::<Vec<_>>())
            .collect();
        dirs.dedup();
        for dir in &dirs {
            writer.member("m", dir, &directory()).unwrap();
        }
        for name in &names {
            put(writer, name, name);
        }
        for (number, target) in targets.iter().enumerate() {
            writer
                .member(
                    "m",
                    &path(format!("link{number}")),
                    &entry(EntryKind::Symlink((*target).into())),
                )
                .unwrap();
        }
        for (number, name) in names.iter().enumerate() {
            writer
                .hard_link("m", &path(format!("hard{number}")), &file(1), ("m", &path(name)))
                .unwrap();
        }
        let long = [b'k'; 180];
        writer
            .hard_link("m", &path(long), &file(1), ("m", &path(&names[7])))
            .unwrap();
    });
    for locale in ["C", "C.UTF-8"] {
        let Some((root, said)) = extract(&made, locale) else {
            return;
        };
        for (number, name) in names.iter().enumerate() {
            let file = at(&root, name);
            assert_eq!(&std::fs::read(&file).unwrap(), name, "{locale}");
            let hard = std::fs::metadata(at(&root, format!("hard{number}"))).unwrap();
            assert_eq!(hard.ino(), std::fs::metadata(file).unwrap().ino());
        }
        assert_eq!(std::fs::read(at(&root, [b'k'; 180])).unwrap(), names[7]);
        for (number, target) in targets.iter().enumerate() {
            let link = std::fs::read_link(at(&root, format!("link{number}"))).unwrap();
            assert_eq!(link.as_os_str().as_bytes(), *target, "{locale}");
        }
        // GNU tar 1.34 does not know `hdrcharset` and says so, with exit code 0; it has nothing else to say.
        for line in said.lines() {
            assert!(line.contains("hdrcharset"), "{line}");
        }
        let from = made.path();
        let listing = tar(
            locale,
            &[OsStr::new("--zstd"), OsStr::new("-tf"), from.as_os_str()],
        )
        .unwrap();
        assert!(listing.status.success());
        assert_eq!(
            listing.stdout.split(|b| *b == b'\n').count(),
            made.open().members().count() + 1
        );
    }
}

#[test]
fn ordinary_names_give_no_word_on_stderr() {
    let made = make(|writer| {
        writer.member("m", &RelPath::root(), &directory()).unwrap();
        put(writer, "short\u{fc}", b"1");
        put(writer, b"short\xff", b"2");
        put(writer, "l".repeat(200), b"3");
        put_sparse(writer, "sparse", 1 << 20, &[segment(4096, 4096)]);
    });
    let Some((_, said)) = extract(&made, "C.UTF-8") else {
        return;
    };
    assert_eq!(said, "");
}

#[test]
fn metadata_comes_out_as_it_is() {
    let times = [
        Time {
            sec: 1_700_000_000,
            nsec: 1,
        },
        Time {
            sec: 1_700_000_000,
            nsec: 0,
        },
        Time {
            sec: -5,
            nsec: 500_000_000,
        },
        Time {
            sec: -1,
            nsec: 999_999_999,
        },
        Time {
            sec: -86_400,
            nsec: 0,
        },
        Time { sec: 0, nsec: 0 },
        Time {
            sec: 8_589_934_591,
            nsec: 7,
        },
        Time {
            sec: 8_589_934_592,
            nsec: 0,
        },
    ];
    let modes = [0o0, 0o777, 0o4755, 0o2755, 0o1777, 0o6711];
    let xattrs = vec![
        xattr("user.eq=x%3D%y", b"1"),
        xattr("user.lines", b"a\n12 b=c\nd\n"),
        xattr("user.nul", b"a\0b"),
    ];
    let made = make(|writer| {
        writer.member("m", &RelPath::root(), &directory()).unwrap();
        for (number, mtime) in times.iter().enumerate() {
            let entry = Entry {
                mtime: *mtime,
                ..file(0)
            };
            writer.member("m", &path(format!("t{number}")), &entry).unwrap();
        }
        for (number, mode) in modes.iter().enumerate() {
            let entry = Entry {
                mode: *mode,
                ..file(0)
            };
            writer.member("m", &path(format!("m{number}")), &entry).unwrap();
        }
        writer
            .member(
                "m",
                &path("x"),
                &Entry {
                    xattrs: xattrs.clone(),
                    ..file(0)
                },
            )
            .unwrap();
        writer
            .member("m", &path("pipe"), &entry(EntryKind::Fifo))
            .unwrap();
        writer
            .member(
                "m",
                &path("late"),
                &Entry {
                    mtime: times[0],
                    mode: 0o2700,
                    ..directory()
                },
            )
            .unwrap();
    });
    let Some((root, said)) = extract(&made, "C.UTF-8") else {
        return;
    };
    for (number, time) in times.iter().enumerate() {
        let found = std::fs::metadata(at(&root, format!("t{number}"))).unwrap();
        assert_eq!(
            (found.mtime(), found.mtime_nsec()),
            (time.sec, i64::from(time.nsec)),
            "{time:?}"
        );
    }
    for (number, mode) in modes.iter().enumerate() {
        let found = std::fs::metadata(at(&root, format!("m{number}"))).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, *mode);
    }
    assert!(
        std::fs::metadata(at(&root, "pipe"))
            .unwrap()
            .file_type()
            .is_fifo()
    );
    let late = std::fs::metadata(at(&root, "late")).unwrap();
    assert_eq!(
        (late.mtime_nsec(), late.permissions().mode() & 0o7777),
        (1, 0o2700)
    );
    if said.contains("xattr") || said.contains("Cannot set") {
        crate::skipped::skipped("attributes, the temporary directory takes none");
        return;
    }
    for Xattr { name, value } in &xattrs {
        let mut room = vec![0; 100];
        let name = OsStr::from_bytes(name);
        let length = rustix::fs::getxattr(at(&root, "x"), name, room.as_mut_slice()).unwrap();
        assert_eq!(&room[..length], &**value, "{name:?}");
    }
}

#[test]
fn content_of_every_size_comes_out_and_holes_stay_holes() {
    let sizes = [
        0,
        1,
        511,
        512,
        513,
        (1 << 20) - 1,
        1 << 20,
        (1 << 20) + 1,
        (3 << 20) + 5,
    ];
    let sparse: Vec<(u64, Vec<Segment>)> = vec![
        (1 << 20, vec![]),
        (1 << 20, vec![segment(0, 1 << 20)]),
        (1 << 20, vec![segment(65_536, 5000)]),
        (1 << 20, vec![segment(0, 4096), segment((1 << 20) - 1, 1)]),
        (40_000, (0..300).map(|at| segment(at * 110, 100)).collect()),
        (
            12 << 20,
            (0..2500).map(|at| segment(at * 4500 + 7, 500)).collect(),
        ),
        (9 << 30, vec![segment((8 << 30) + 5, 2 << 20)]),
    ];
    let deep = format!("{}/{}", "p".repeat(150), "q".repeat(150));
    let made = make(|writer| {
        for size in sizes {
            put(writer, format!("f{size}"), &noise(size as u64, size));
        }
        for (number, (size, segments)) in sparse.iter().enumerate() {
            put_sparse(writer, &format!("s{number}"), *size, segments);
        }
        put_sparse(writer, &deep, sparse[2].0, &sparse[2].1);
        writer
            .blob(BlobKind::Chunk, Digest::of(b"chunk"), b"chunk")
            .unwrap();
    });
    let Some((root, said)) = extract(&made, "C.UTF-8") else {
        return;
    };
    assert_eq!(said, "");
    for size in sizes {
        assert!(
            std::fs::read(at(&root, format!("f{size}"))).unwrap() == noise(size as u64, size),
            "{size}"
        );
    }
    for (number, (size, segments)) in sparse.iter().enumerate() {
        let place = at(&root, format!("s{number}"));
        let found = std::fs::metadata(&place).unwrap();
        assert_eq!(found.len(), *size);
        let data: u64 = segments.iter().map(|segment| segment.length + 2 * 4096).sum();
        assert!(found.blocks() * 512 <= data, "case {number} has lost its holes");
        if *size < 1 << 30 {
            assert!(
                std::fs::read(place).unwrap() == sparse_content(*size, segments),
                "case {number}"
            );
        }
    }
    assert!(std::fs::read(at(&root, &deep)).unwrap() == sparse_content(sparse[2].0, &sparse[2].1));
    assert!(!root.join("m/GNUSparseFile.0").exists());
    let chunk = root
        .join(INTERNAL)
        .join("chunks")
        .join(Digest::of(b"chunk").hex());
    assert_eq!(std::fs::read(chunk).unwrap(), b"chunk");
    assert!(root.join(INTERNAL).join("index").is_file());
}
