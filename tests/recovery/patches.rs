//! What `diff` shows in full: numbers in one column, patches that patch(1) and the real `git apply` take over all shapes of changes, and secrets
//! when they are asked for.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::Build;
use crate::support::machine::{run_tool, skip, tool};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

#[test]
fn numbers_stand_in_one_column() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("columns");
    Build::at(&project)
        .file("a", "1\n")
        .file("a-longer-name", "1\n")
        .aged();
    let id = sandbox.launch(&project, "echo 2 > a; echo 2 > a-longer-name");
    let run = sandbox.jackin(["diff", &id, "--stat"]).ok();
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let columns: Vec<_> = text.lines().filter_map(|line| line.find("+1 -1")).collect();
    assert!(columns.len() == 2 && columns[0] == columns[1], "{run}");
    assert!(text.lines().all(|line| line.len() < 60), "{run}");
}

#[test]
fn patch_is_taken_by_patch() {
    let sandbox = Sandbox::new();
    if tool("patch").is_none() {
        skip("patch_is_taken_by_patch", "patch is not installed");
        return;
    }
    let project = sandbox.project("patched");
    let long: String = (0..40).map(|n| format!("{n}\n")).collect();
    Build::at(&project)
        .file("long", &long)
        .file("sub/gone", "one\ntwo\n")
        .file("unended", "no newline")
        .aged();
    let copy = sandbox.scratch("copy");
    let id = sandbox.launch(
        &project,
        "sed -i 's/^7$/seven/;s/^33$/x/' long; rm sub/gone; printf end > unended; echo new > sub/new",
    );
    sandbox
        .jackin(["restore", &id, "--to", copy.to_str().unwrap(), "--yes"])
        .ok();
    let run = sandbox.jackin(["diff", &id, "--patch"]).ok();
    let patch = sandbox.scratch("patch");
    fs::write(&patch, &run.stdout).unwrap();
    let done = Command::new("patch")
        .args(["-p1", "--batch", "-i"])
        .arg(&patch)
        .current_dir(&copy)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}\n{run}");
    for file in ["long", "unended", "sub/new"] {
        let read = |at: &Path| fs::read(at.join(file)).unwrap();
        assert_eq!(read(&copy), read(&project), "{file}\n{run}");
    }
    assert!(!copy.join("sub/gone").exists(), "{run}");
}

#[test]
fn plan_counts_what_it_shows() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("counted");
    Build::at(&project)
        .file("moved", "some content that is long enough\n")
        .file("gone", "gone\n")
        .aged();
    let id = sandbox.launch(&project, "mv moved elsewhere; rm gone; echo new > new");
    let run = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let lines = |word: &str| {
        text.lines()
            .filter(|line| line.trim_start().starts_with(word))
            .count()
    };
    assert_eq!(
        (lines("move back"), lines("create"), lines("delete")),
        (1, 1, 1),
        "{run}"
    );
    run.shows("3 paths: 1 to move back, 1 to create, 1 to delete.");
}

#[test]
fn settings_that_every_form_hides_are_shown_in_every_form() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    sandbox.configure(
        "config.toml",
        "[recovery]\nsnapshot = \"project-and-state\"\n[recovery.state]\nhome = true\n",
    );
    // Every file of this form in an agent's home is stored without its secrets.
    Build::at(&sandbox.home()).file(".claude/tool.json", "{}");
    Build::at(&project).file(".env", "KEY=hunter1\n").aged();
    let target = project.to_str().unwrap();
    let script = "echo '{\"apiToken\": \"hunter2\"}' > ~/.claude/tool.json; echo KEY=hunter3 > .env";
    let launch = ["launch", target, "--", "sh", "-c", script];
    sandbox.command(launch).inside(&project).run().ok();
    for form in ["--name-status", "--stat", "--json"] {
        let diff = ["diff", "@latest", form];
        let run = sandbox.jackin(diff).ok().hides("hunter");
        run.shows("apiToken").shows("(withheld by jackin recovery)");
        let run = sandbox.jackin(diff.into_iter().chain(["--show-secrets"])).ok();
        // No snapshot holds the value, so no flag shows it. What a file holds is content: that is what a patch is for.
        run.shows("apiToken").hides("hunter");
    }
    let patch = ["diff", "@latest", "--patch"];
    sandbox.jackin(patch).ok().hides("hunter1").hides("hunter3");
    let run = sandbox.jackin(patch.into_iter().chain(["--show-secrets"])).ok();
    run.shows("-KEY=hunter1").shows("+KEY=hunter3");
}

/// The part of a tree that git records: file contents, executable bits, link targets.
fn tree(root: &Path) -> BTreeMap<Vec<u8>, (String, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_path_buf()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if meta.is_symlink() {
                let target = fs::read_link(&path).unwrap().into_os_string().into_vec();
                found.insert(name, ("link".to_owned(), target));
            } else if meta.is_dir() {
                left.push(path);
            } else if meta.is_file() {
                let kind = match meta.permissions().mode() & 0o100 {
                    0 => "file",
                    _ => "program",
                };
                found.insert(name, (kind.to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    found
}

struct Patched {
    sandbox: Sandbox,
    project: PathBuf,
    copy: PathBuf,
    id: String,
}

impl Patched {
    /// A session that did `damage` to what `build` made, and a copy of what was there before.
    fn new(build: impl FnOnce(&Path), damage: impl FnOnce(&Path)) -> Option<Self> {
        if tool("git").is_none() {
            skip("git apply", "git is not installed");
            return None;
        }
        let sandbox = Sandbox::new();
        let project = sandbox.project("patched");
        build(&project);
        Build::at(&project).aged();
        let copy = sandbox.scratch("copy");
        run_tool(Command::new("cp").arg("-a").arg(&project).arg(&copy));
        let id = sandbox.session(&project, damage);
        Some(Self {
            sandbox,
            project,
            copy,
            id,
        })
    }

    fn patch(&self, flags: &[&str]) -> Run {
        let args = ["diff", &self.id, "--patch"]
            .into_iter()
            .chain(flags.iter().copied());
        self.sandbox.jackin(args).ok()
    }

    /// Applies the patch with git; the copy is then what the session left.
    #[track_caller]
    fn apply(&self, flags: &[&str]) -> Run {
        let run = self.patch(flags);
        let file = self.sandbox.scratch("patch");
        fs::write(&file, &run.stdout).unwrap();
        let done = Command::new("git")
            .args(["-c", "apply.whitespace=nowarn", "apply"])
            .args(
                flags
                    .iter()
                    .filter(|flag| **flag == "-U0")
                    .map(|_| "--unidiff-zero"),
            )
            .arg(&file)
            .env("HOME", self.sandbox.home())
            .env("GIT_CEILING_DIRECTORIES", self.sandbox.world())
            .current_dir(&self.copy)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}\n{run}",
            String::from_utf8_lossy(&done.stderr)
        );
        run
    }

    #[track_caller]
    fn same(&self, flags: &[&str]) -> Run {
        let run = self.apply(flags);
        let (now, made) = (tree(&self.project), tree(&self.copy));
        for path in now.keys().chain(made.keys()) {
            let name = OsStr::from_bytes(path);
            assert_eq!(now.get(path), made.get(path), "{}\n{run}", name.display());
        }
        run
    }
}

/// Names that git quotes, and names that it does not.
const NAMES: [&[u8]; 12] = [
    b"plain",
    b"with space",
    b" leading",
    b"trailing ",
    b"say \"x\"",
    b"back\\slash",
    b"new\nline",
    b"tab\tand\rreturn",
    b"caf\xc3\xa9",
    b"invalid-\xff\xfe",
    b"\x1b[31mred",
    b"-dash",
];

fn at(root: &Path, name: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(name))
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn every_shape_is_applied() {
    let long: String = (0..60).map(|n| format!("line {n}\n")).collect();
    let changed = long.replace("line 7\n", "seven\n").replace("line 50\n", "");
    let patched = Patched::new(
        |project| {
            Build::at(project)
                .file("long", &long)
                .file("unended", "no newline")
                .file("ended", "newline\n")
                .file("emptied", "a\n")
                .file("filled", "")
                .file("empty-gone", "")
                .file("sub/gone", "one\ntwo\n")
                .file("run.sh", "#!/bin/sh\n")
                .file("both", "#!/bin/sh\n")
                .mode("both", 0o755)
                .file("moved", "content that is long enough\n")
                .file("moved-run", "other content that is long enough\n")
                .file("moved-edited", &long)
                .file("swap-a", "content of a\n")
                .file("swap-b", "content of b\n")
                .symlink("link", "old-target")
                .symlink("link-gone", "nowhere")
                .symlink("link-to-file", "nowhere")
                .symlink("link-to-dir", "nowhere")
                .file("file-to-link", "a file\n")
                .file("file-to-dir", "a file\n")
                .file("dir-to-file/x", "x\n")
                .file("dir-to-file/y", "y\n")
                .file("dir-to-link/x", "x\n")
                .file("crlf", "one\r\ntwo\r\nthree\r\n")
                .file("to-crlf", "one\ntwo\n")
                .file(
                    "signs",
                    "-- a\n++ b\n@@ -1 +1 @@\ndiff --git a/x b/x\n# c\n\\ d\n",
                )
                .file("blanks", "a \n\t\n\n  b\n");
        },
        |project| {
            let write = |name: &str, text: &str| fs::write(project.join(name), text).unwrap();
            write("long", &changed);
            write("unended", "still none");
            write("ended", "newline\nnone");
            write("emptied", "");
            write("filled", "b\n");
            fs::remove_file(project.join("empty-gone")).unwrap();
            write("empty-new", "");
            fs::remove_dir_all(project.join("sub")).unwrap();
            mode(&project.join("run.sh"), 0o755);
            write("both", "#!/bin/sh\ntrue\n");
            mode(&project.join("both"), 0o644);
            fs::create_dir(project.join("deep")).unwrap();
            fs::rename(project.join("moved"), project.join("deep/moved here")).unwrap();
            fs::rename(project.join("moved-run"), project.join("moved-run.sh")).unwrap();
            mode(&project.join("moved-run.sh"), 0o755);
            fs::remove_file(project.join("moved-edited")).unwrap();
            write("deep/edited", &changed);
            fs::rename(project.join("swap-a"), project.join("swap")).unwrap();
            fs::rename(project.join("swap-b"), project.join("swap-a")).unwrap();
            fs::rename(project.join("swap"), project.join("swap-b")).unwrap();
            let link =
                |target: &str, name: &str| std::os::unix::fs::symlink(target, project.join(name)).unwrap();
            for name in [
                "link",
                "link-gone",
                "link-to-file",
                "link-to-dir",
                "file-to-link",
                "file-to-dir",
            ] {
                fs::remove_file(project.join(name)).unwrap();
            }
            for name in ["dir-to-file", "dir-to-link"] {
                fs::remove_dir_all(project.join(name)).unwrap();
            }
            link("new target", "link");
            link("caf\u{e9}", "link-new");
            write("link-to-file", "now a file\n");
            fs::create_dir(project.join("link-to-dir")).unwrap();
            write("link-to-dir/in", "in\n");
            link("a target", "file-to-link");
            fs::create_dir(project.join("file-to-dir")).unwrap();
            write("file-to-dir/in", "in\n");
            write("dir-to-file", "now a file\n");
            link("deep", "dir-to-link");
            write("crlf", "one\r\nTWO\r\nthree\r\nfour\r");
            write("to-crlf", "one\r\ntwo\r\n");
            write("signs", "-- A\n++ b\n@@ -2 +2 @@\ndiff --git a/y b/y\n# d\n\\ e");
            write("blanks", "a\n\t \n\n\n  b \n");
            write("program", "#!/bin/sh\n");
            mode(&project.join("program"), 0o755);
        },
    );
    let Some(patched) = patched else { return };
    let run = patched.same(&[]);
    for fact in [
        "diff --git a/long b/long",
        "old mode 100644\nnew mode 100755",
        "new file mode 120000",
        "deleted file mode 100644",
        "similarity index 100%\nrename from moved\nrename to deep/moved here",
        "\\ No newline at end of file",
    ] {
        run.has(fact);
    }
}

#[test]
fn every_name_is_applied() {
    let patched = Patched::new(
        |project| {
            for name in NAMES {
                for kind in [&b"kept "[..], b"gone ", b"mode ", b"moved "] {
                    let content = [kind, name, b" some content\n"].concat();
                    let printable: Vec<u8> = content
                        .iter()
                        .map(|byte| match byte {
                            b' '..=b'~' | b'\n' => *byte,
                            _ => b'?',
                        })
                        .collect();
                    fs::write(at(project, &[kind, name].concat()), printable).unwrap();
                }
            }
        },
        |project| {
            for name in NAMES {
                let of = |kind: &[u8]| at(project, &[kind, name].concat());
                fs::write(of(b"kept "), "edited\n").unwrap();
                fs::remove_file(of(b"gone ")).unwrap();
                mode(&of(b"mode "), 0o755);
                fs::rename(of(b"moved "), at(project, &[b"elsewhere ", name].concat())).unwrap();
                fs::write(at(project, name), "new\n").unwrap();
                std::os::unix::fs::symlink("t", at(project, &[name, b".link"].concat())).unwrap();
            }
        },
    );
    let Some(patched) = patched else { return };
    let run = patched.same(&[]).harmless();
    run.has("\"a/kept caf\\303\\251\"")
        .has("café")
        .has("+++ b/with space\t");
}

#[test]
fn content_that_could_steer_a_terminal_is_encoded_and_shown() {
    let patched = Patched::new(
        |project| {
            Build::at(project)
                .file("steers", "one\ntwo\n")
                .file("latin", b"caf\xe9\n")
                .file("bidi", "plain\n")
                .symlink("link", "plain");
        },
        |project| {
            fs::write(project.join("steers"), "one\n\u{1b}]0;owned\u{7}\n").unwrap();
            fs::write(project.join("latin"), b"th\xe9\n").unwrap();
            fs::write(project.join("bidi"), "\u{202e}nialp\n").unwrap();
            fs::remove_file(project.join("link")).unwrap();
            std::os::unix::fs::symlink("\u{1b}[2J", project.join("link")).unwrap();
        },
    );
    let Some(patched) = patched else { return };
    let run = patched.same(&[]).harmless();
    run.has("GIT binary patch")
        .has("# +\\x1b]0;owned\\x07")
        .has("# +th\\xe9");
}

#[test]
fn binary_content_is_left_out_or_encoded() {
    let noise: Vec<u8> = (0..100_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2])
        .collect();
    let build = |project: &Path| {
        Build::at(project)
            .file("a.bin", b"\0one")
            .file("gone.bin", b"\0gone")
            .file("text", "one\n")
            .file("noise", &noise)
            .mode("noise", 0o755);
    };
    let damage = |project: &Path| {
        fs::write(project.join("a.bin"), b"\0two and more").unwrap();
        fs::remove_file(project.join("gone.bin")).unwrap();
        fs::write(project.join("new.bin"), b"\0").unwrap();
        fs::write(project.join("text"), "two\n").unwrap();
        fs::write(
            project.join("noise"),
            [&noise[..50_000], b"x", &noise[..]].concat(),
        )
        .unwrap();
        mode(&project.join("noise"), 0o644);
        // What is larger than what is compared line by line.
        fs::write(project.join("large"), "line\n".repeat(1 << 20)).unwrap();
    };
    let Some(patched) = Patched::new(build, damage) else {
        return;
    };
    let run = patched.apply(&[]);
    run.has("Binary files a/a.bin and b/a.bin differ")
        .has("--binary includes it")
        .has("5 paths are not in the patch");
    assert_eq!(fs::read(patched.copy.join("text")).unwrap(), b"two\n");
    assert_eq!(fs::read(patched.copy.join("a.bin")).unwrap(), b"\0one");
    let Some(patched) = Patched::new(build, damage) else {
        return;
    };
    patched.same(&["--binary"]).has("GIT binary patch");
}

#[test]
fn hidden_content_stays_hidden_and_the_rest_is_applied() {
    let build = |project: &Path| {
        Build::at(project)
            .file(".env", "KEY=hunter1\n")
            .file("private", "hunter2\n")
            .mode("private", 0o600)
            .file("remotes", "one\nhttps://me:hunter3@example.org/x\nthree\n")
            .file("steers", "https://me:hunter4@example.org/x\n\n\n\n\n\n\n\nlast\n")
            .file("bin", b"\0https://me:hunter5@example.org/x\n")
            .file("text", "one\n");
    };
    let damage = |project: &Path| {
        fs::write(project.join(".env"), "KEY=hunter6\n").unwrap();
        fs::write(project.join("private"), "hunter7\n").unwrap();
        fs::write(
            project.join("remotes"),
            "ONE\nhttps://me:hunter3@example.org/x\nthree\n",
        )
        .unwrap();
        fs::write(
            project.join("steers"),
            "https://me:hunter4@example.org/x\n\n\n\n\n\n\n\n\u{1b}\n",
        )
        .unwrap();
        fs::write(project.join("bin"), b"\0https://me:hunter8@example.org/x\n").unwrap();
        fs::write(project.join("text"), "two\n").unwrap();
    };
    let Some(patched) = Patched::new(build, damage) else {
        return;
    };
    for flags in [&["--binary"][..], &["-U9"], &["--word-diff"]] {
        patched.patch(flags).hides("hunter");
    }
    let run = patched.apply(&["--binary"]);
    run.has("content hidden: it may hold secrets")
        .has("5 paths are not in the patch");
    assert_eq!(fs::read(patched.copy.join("text")).unwrap(), b"two\n");
    assert_eq!(fs::read(patched.copy.join(".env")).unwrap(), b"KEY=hunter1\n");
    let Some(patched) = Patched::new(build, damage) else {
        return;
    };
    patched.same(&["--binary", "--show-secrets"]);
}

#[test]
fn what_git_cannot_express_is_said_and_breaks_nothing() {
    let patched = Patched::new(
        |project| {
            Build::at(project)
                .file("text", "one\n")
                .file("odd-mode", "a\n")
                .file(".git/config", "[core]\n")
                .file("sub/.git/HEAD", "ref: refs/heads/main\n")
                .dir("directory")
                .fifo("pipe");
        },
        |project| {
            fs::remove_file(project.join("pipe")).unwrap();
            fs::create_dir(project.join("added-directory")).unwrap();
            mode(&project.join("directory"), 0o700);
            mode(&project.join("odd-mode"), 0o640);
            fs::write(project.join(".git/config"), "[core]\n\tpager = evil\n").unwrap();
            fs::write(project.join("sub/.git/HEAD"), "ref: refs/heads/other\n").unwrap();
            fs::write(project.join("text"), "two\n").unwrap();
            Build::at(project).fifo("other-pipe");
            fs::write(project.join("new-private"), "").unwrap();
            mode(&project.join("new-private"), 0o640);
        },
    );
    let Some(patched) = patched else { return };
    let run = patched.apply(&[]);
    for fact in [
        "git records no directories",
        "git records no FIFOs",
        "git records only the modes 644 and 755",
        "`git apply` changes nothing in a .git",
        "# +\tpager = evil",
    ] {
        run.has(fact);
    }
    let first: Vec<u8> = run.stdout.split(|byte| *byte == b'\n').next().unwrap().to_vec();
    assert!(first.starts_with(b"# "), "{run}");
    assert_eq!(fs::read(patched.copy.join("text")).unwrap(), b"two\n");
    assert_eq!(fs::read(patched.copy.join(".git/config")).unwrap(), b"[core]\n");
    assert_eq!(fs::read(patched.copy.join("new-private")).unwrap(), b"");
}

#[test]
fn context_and_words_are_chosen() {
    let long: String = (0..30).map(|n| format!("{n}\n")).collect();
    let build = |project: &Path| {
        Build::at(project)
            .file("long", &long)
            .file("words", "let port = 80; // old\nsame\n");
    };
    let damage = |project: &Path| {
        fs::write(project.join("long"), long.replace("15\n", "fifteen\n")).unwrap();
        fs::write(project.join("words"), "let port = 8080; // old\nsame\nmore\n").unwrap();
    };
    for (flag, count) in [("-U0", 0), ("-U1", 2), ("--unified=5", 10)] {
        let Some(patched) = Patched::new(build, damage) else {
            return;
        };
        let run = patched.same(&[flag]);
        let text = run.text();
        let long = text.split("diff --git a/words").next().unwrap();
        let context = long.lines().filter(|line| line.starts_with(' ')).count();
        assert_eq!(context, count, "{run}");
        let alone = patched.sandbox.jackin(["diff", &patched.id, flag]).ok();
        assert_eq!(alone.stdout, run.stdout, "it is a patch without --patch, too");
    }
    let Some(patched) = Patched::new(build, damage) else {
        return;
    };
    let run = patched.patch(&["--word-diff"]);
    run.has("let port = [-80;-]{+8080;+} // old")
        .has("{+more+}")
        .has("same");
    for wrong in [
        &["--stat", "-U1"][..],
        &["--json", "--word-diff"],
        &["--name-only", "--patch"],
        &["--binary", "--word-diff"],
        &["-z"],
        &["-z", "--stat"],
        &["-U", "x"],
    ] {
        let args = ["diff", &patched.id].into_iter().chain(wrong.iter().copied());
        patched.sandbox.jackin(args).code(2);
    }
}

#[test]
fn names_alone_are_for_programs() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("named");
    Build::at(&project)
        .file("moved", "some content\n")
        .file("gone", "x\n")
        .aged();
    let odd = OsStr::from_bytes(b"new\nline \xff");
    let id = sandbox.session(&project, |project| {
        fs::rename(project.join("moved"), project.join("sub moved")).unwrap();
        fs::remove_file(project.join("gone")).unwrap();
        fs::write(project.join(odd), "").unwrap();
        fs::create_dir_all(project.join(".git/hooks")).unwrap();
        fs::write(project.join(".git/hooks/pre-commit"), "x").unwrap();
        mode(&project.join(".git/hooks/pre-commit"), 0o755);
    });
    let only = sandbox.jackin(["diff", &id, "--name-only"]).ok();
    let lines: Vec<String> = String::from_utf8(only.stdout.clone())
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert!(
        lines.contains(&"gone".to_owned()) && lines.contains(&"sub moved".to_owned()),
        "{only}"
    );
    assert!(lines.contains(&"\"new\\nline \\xff\"".to_owned()), "{only}");
    assert!(
        !lines
            .iter()
            .any(|line| line == "moved" || line.starts_with("git:")),
        "{only}"
    );
    let parts = |flag: &str| {
        let run = sandbox
            .jackin(
                ["diff", &id, flag, "-z", "--", "gone", "sub moved", "moved"]
                    .map(OsStr::new)
                    .into_iter()
                    .chain([odd]),
            )
            .ok();
        let stdout = run.stdout.clone();
        assert_eq!(stdout.last(), Some(&0), "{run}");
        stdout[..stdout.len() - 1]
            .split(|byte| *byte == 0)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    assert_eq!(parts("--name-only"), [&b"gone"[..], odd.as_bytes(), b"sub moved"]);
    assert_eq!(
        parts("--name-status"),
        [
            &b"D"[..],
            b"gone",
            b"A",
            odd.as_bytes(),
            b"R",
            b"moved",
            b"sub moved"
        ]
    );
}
