//! The pages of `diff --html` and `show --html`: what is in them, who may read them, and what a browser makes of hostile names and
//! contents.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::support::machine::{NOBODY, run_tool, skip, tool};
use crate::support::sandbox::Sandbox;

/// An image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// What would run, or ask for something, if it were not escaped; `PORT` is where it would ask.
const HOSTILE: [&str; 8] = [
    "<script>document.title='RAN'</script>",
    "<script src='http://127.0.0.1:PORT/s.js'></script>",
    "\"><img src='http://127.0.0.1:PORT/i.png' onerror=\"document.title='RAN'\">",
    "</pre></details></title></style><style>@import 'http://127.0.0.1:PORT/c.css';</style>",
    "<iframe srcdoc=\"<script>parent.document.title='RAN'</script>\"></iframe>",
    "<svg onload=\"document.title='RAN'\">",
    "<meta http-equiv='refresh' content='0;url=http://127.0.0.1:PORT/m'>",
    "<a href='javascript:document.title=1' autofocus onfocus=\"document.title='RAN'\">x</a>",
];

/// A session that leaves hostile names and contents behind.
fn attacked(port: u16) -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("kept"), "one\ntwo\n").unwrap();
    fs::write(project.join(".env"), "TOKEN=verysecret\n").unwrap();
    fs::set_permissions(project.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    let hostile: Vec<String> = HOSTILE
        .iter()
        .map(|text| text.replace("PORT", &port.to_string()))
        .collect();
    let id = sandbox.session(&project, |project| {
        let all = format!("one\n{}\nthree\u{202e}\u{1b}[31m\n", hostile.join("\n"));
        fs::write(project.join("kept"), all).unwrap();
        fs::write(project.join(".env"), "TOKEN=othersecret\n").unwrap();
        for text in &hostile {
            // A slash would end the name.
            fs::write(project.join(text.replace('/', "|")), "x").unwrap();
        }
        fs::write(
            project.join(OsStr::from_bytes(b"bidi\xe2\x80\xaegnp\x1b[2J\n\xff")),
            "x",
        )
        .unwrap();
    });
    (sandbox, project, id)
}

fn written(sandbox: &Sandbox, args: &[&str]) -> (PathBuf, String) {
    let file = sandbox.scratch(&format!("{}.html", args[0]));
    let mut all = args.to_vec();
    all.extend(["--html", file.to_str().unwrap()]);
    let run = sandbox.jackin(all).ok();
    assert!(run.stdout.is_empty(), "{run}");
    run.has(file.to_str().unwrap());
    let page = fs::read_to_string(&file).unwrap();
    (file, page)
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_page_says_what_changed_what_is_covered_and_what_was_done() {
    let (sandbox, project, id) = attacked(1);
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    let (file, page) = written(&sandbox, &["diff", &id, "--to", "closing"]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for fact in [
        &id,
        "What changed",
        "9 added, 2 modified",
        "+9 \u{2212}1",
        "content hidden",
        "What is covered",
        "Nothing is excluded.",
        project.to_str().unwrap(),
        "Snapshots",
        "emergency",
        "Restores",
        "Receipts",
        "all were valid",
    ] {
        assert!(page.contains(fact), "{fact}");
    }
    let head = String::from_utf8(sandbox.jackin(["log", "--anchor"]).ok().stdout).unwrap();
    assert!(page.contains(head.trim()), "{head}");
    assert!(!page.contains("secret\n") && !page.contains("TOKEN"));
    let shown = written(&sandbox, &["show", &id]).1;
    assert!(shown.contains("Receipts") && !shown.contains("What changed"));
    let secret = sandbox.scratch("secret.html");
    let secret = secret.to_str().unwrap();
    sandbox
        .jackin(["diff", &id, "--to", "closing", "--show-secrets", "--html", secret])
        .ok();
    assert!(
        fs::read_to_string(secret)
            .unwrap()
            .contains("TOKEN=<b>othersecret</b>")
    );
    // Only what a page is made of: no element or attribute comes from a name or a content.
    for page in [&page, &shown] {
        assert!(page.contains("default-src 'none'; style-src 'sha256-") && !page.contains("img-src"));
        assert_eq!(page.matches("<script").count(), 1);
        for refused in [
            "<script ",
            "<img",
            "<iframe",
            "<svg",
            "<link",
            "<base",
            "<form",
            "<object",
            "onerror=\"",
            "onload=\"",
            "javascript:\"",
            "src=\"",
        ] {
            assert!(!page.contains(refused), "{refused}");
        }
        assert_eq!(page.matches("<style>").count(), 1);
        assert_eq!(page.matches("http-equiv=\"").count(), 1);
        let odd = page
            .chars()
            .find(|c| c.is_control() && *c != '\n' || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(odd, None);
    }
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_page_goes_where_it_was_asked_for_and_nowhere_else() {
    let (sandbox, project, id) = attacked(1);
    let directory = sandbox.scratch("pages");
    fs::create_dir(&directory).unwrap();
    let victim = directory.join("victim");
    fs::write(&victim, "mine").unwrap();
    let link = directory.join("link.html");
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    sandbox
        .jackin(["show", &id, "--html", link.to_str().unwrap()])
        .code(2);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    std::os::unix::fs::symlink(sandbox.store().join("locks"), directory.join("link")).unwrap();
    for (file, code) in [
        (directory.to_str().unwrap().to_owned(), 2),
        (format!("{}/absent/page.html", directory.display()), 2),
        (format!("{}/page.html", sandbox.store().display()), 2),
        (format!("{}/link/page.html", directory.display()), 2),
        (String::new(), 2),
    ] {
        sandbox.jackin(["show", &id, "--html", &file]).code(code);
        sandbox.jackin(["diff", &id, "--html", &file]).code(code);
    }
    let file = directory.join("x.html");
    let file = file.to_str().unwrap();
    sandbox.jackin(["diff", &id, "--html", file, "--json"]).code(2);
    sandbox.jackin(["diff", &id, "--html", file, "--patch"]).code(2);
    sandbox.jackin(["show", &id, "--html", file, "--json"]).code(2);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 3);
    // As diff(1) tells it.
    sandbox
        .jackin(["diff", &id, "--html", file, "--exit-code"])
        .code(1);
    let kept = project.join("kept");
    sandbox
        .jackin(["diff", &id, kept.to_str().unwrap(), "--html", file])
        .ok();
    assert!(!fs::read_to_string(file).unwrap().contains("bidi"));
}

/// The browser's view of a file: its title and what stands in it, after everything had time to run and to be asked for.
fn browsed(browser: &Path, sandbox: &Sandbox, file: &Path, fragment: Option<&str>) -> String {
    let profile = sandbox.scratch("profile");
    let output = Command::new("timeout")
        .args(["-k", "5", "60"])
        .arg(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--virtual-time-budget=3000",
            "--timeout=10000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!(
            "file://{}{}",
            file.display(),
            fragment.map_or_else(String::new, |to| format!("#{to}"))
        ))
        .env("HOME", sandbox.home())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Counts who asks, and has nothing.
struct Asked(Arc<AtomicUsize>);

impl Asked {
    fn listen() -> (Self, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        thread::spawn(move || {
            for stream in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                let Ok(mut stream) = stream else { break };
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream
                    .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        });
        (Self(count), port)
    }

    fn often(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_browser_runs_nothing_of_it_and_asks_for_nothing() {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = browsers.into_iter().find_map(tool) else {
        return skip("a page in a browser", "chromium is not installed");
    };
    let (asked, port) = Asked::listen();
    let (sandbox, _, id) = attacked(port);
    // What a page would do that does not escape: the test sees it.
    let bare = sandbox.scratch("bare.html");
    let hostile = HOSTILE[..3].join("\n").replace("PORT", &port.to_string());
    fs::write(&bare, format!("<!DOCTYPE html><title>quiet</title>{hostile}")).unwrap();
    let seen = browsed(&browser, &sandbox, &bare, None);
    assert!(seen.contains("<title>RAN</title>") && asked.often() > 0, "{seen}");
    let before = asked.often();
    for args in [&["diff", &id][..], &["show", &id]] {
        let (file, _) = written(&sandbox, args);
        let seen = browsed(&browser, &sandbox, &file, None);
        assert!(seen.contains(&format!("<title>{id} ")), "{seen}");
        assert!(
            seen.contains("Receipts") && !seen.contains("<title>RAN"),
            "{seen}"
        );
        assert_eq!(asked.often(), before, "a request left the page");
    }
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn what_root_writes_for_the_operator_is_the_operators() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("sudo", "only root can play both the operator and root");
    };
    let project = sandbox.project("shop");
    fs::write(project.join("a"), "a\n").unwrap();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "echo agent > a");
    let [page, patch, report] =
        ["page.html", "patch.html", "report.json"].map(|name| sandbox.home().join(name));
    let place = |path: &Path| path.to_str().unwrap().to_owned();
    let target = place(&project);
    let report_to = place(&report);
    let launch = [
        "launch",
        "--snapshot",
        "project",
        "--report",
        &report_to,
        &target,
        "--",
        "true",
    ];
    let words: [&[&str]; 3] = [
        &["show", &id, "--html", &place(&page)],
        &["diff", &id, "--html", &place(&patch)],
        &launch,
    ];
    for words in words {
        sandbox.command(words).by_sudo().run().ok();
    }
    for file in [page, patch, report] {
        let meta = fs::metadata(&file).unwrap();
        assert_eq!(
            (meta.uid(), meta.mode() & 0o7777),
            (NOBODY, 0o600),
            "{}",
            file.display()
        );
    }
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn words_that_differ_are_marked() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("a"), "let port = 80; // <b>\nsame\n").unwrap();
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("a"), "let port = 8080; // <b>\nsame\n").unwrap();
    });
    let (_, page) = written(&sandbox, &["diff", &id, "--to", "closing"]);
    assert!(
        page.contains("<del data-a=\"1\">let port = <b>80</b>; // &lt;b&gt;</del>"),
        "{page}"
    );
    assert!(
        page.contains("<ins data-b=\"1\">let port = <b>8080</b>; // &lt;b&gt;</ins>"),
        "{page}"
    );
}

#[test]
#[cfg_attr(
    not(all(feature = "html", feature = "highlight")),
    ignore = "the features html and highlight are not built"
)]
fn code_has_colors_within_the_words_that_differ() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let text = |port: &str| format!("/* <b>\n{}*/\nlet port = {port};\n", "c </i>\n".repeat(9));
    fs::write(project.join("a.rs"), text("80")).unwrap();
    fs::write(project.join("a.txt"), text("80")).unwrap();
    fs::write(project.join("long.rs"), text("80") + &"x".repeat(2_000)).unwrap();
    let id = sandbox.session(&project, |project| {
        for name in ["a.rs", "a.txt", "long.rs"] {
            let old = fs::read_to_string(project.join(name)).unwrap();
            fs::write(project.join(name), old.replace("80", "8080")).unwrap();
        }
    });
    let (_, page) = written(&sandbox, &["diff", &id, "--to", "closing"]);
    assert_eq!(
        page.matches("<b><i class=\"n\">8080</i></b>;</ins>").count(),
        1,
        "{page}"
    );
    assert_eq!(page.matches("<b>8080</b>;</ins>").count(), 2);
    // The comment begins above the lines that are shown.
    assert_eq!(page.matches("<i class=\"c\">c &lt;/i&gt;</i></span>").count(), 2);
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_page_is_read_by_keys_in_the_dark_and_on_paper() {
    let (sandbox, _, id) = attacked(1);
    let (_, page) = written(&sandbox, &["diff", &id, "--to", "closing"]);
    for fact in [
        "<html lang=\"en\"",
        "<meta name=\"viewport\"",
        "prefers-color-scheme: dark",
        "@media print",
        "ins::before { content: \"+\"",
        "<details class=\"file\" open><summary>",
    ] {
        assert!(page.contains(fact), "{fact}");
    }
    // What opens has something that keys reach, and what scrolls can be reached, too.
    let parts: Vec<&str> = page.split("<details").skip(1).collect();
    assert!(parts.len() > 2);
    for part in parts {
        let first = part.split_once('>').unwrap().1;
        assert!(first.starts_with("<summary>"), "{first:.60}");
    }
    // Without a script nothing is hidden that only a script would show again, but what only a script can do.
    let body = page.split_once("</style>").unwrap().1;
    let body = body.split_once("<script>").unwrap().0;
    for refused in [" hidden=", " hidden>", " style=", "<template", " inert"] {
        assert!(!body.contains(refused), "{refused}");
    }
    for wide in page.split("class=\"wide\"").skip(1) {
        assert!(
            wide.starts_with(" tabindex=\"0\" role=\"region\" aria-label="),
            "{wide:.80}"
        );
    }
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn each_path_has_a_link_and_the_command_that_restores_it() {
    let (sandbox, project, id) = attacked(1);
    let (_, page) = written(&sandbox, &["diff", &id, "--to", "closing"]);
    let after = |text: &str, mark: &str| -> Vec<String> {
        let parts = text.split(mark).skip(1);
        parts
            .map(|part| part.split('"').next().unwrap().to_owned())
            .collect()
    };
    let ids = after(&page, "<div class=\"body\" id=\"");
    assert_eq!(ids.len(), 11, "{ids:?}");
    let unique: HashSet<&String> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len());
    for id in &ids {
        let digits = id.strip_prefix("file-").unwrap();
        assert!(
            digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{id}"
        );
        // In the tree, and at the path itself.
        assert_eq!(page.matches(&format!("<a href=\"#{id}\">")).count(), 2);
    }
    // The same on another page, wherever it is among others.
    let kept = project.join("kept");
    let (_, other) = written(&sandbox, &["diff", &id, kept.to_str().unwrap()]);
    let [link] = after(&other, "<div class=\"body\" id=\"").try_into().unwrap();
    assert!(ids.contains(&link));
    // What is shown is what the command for all of it means, wherever it is typed.
    let file = sandbox.scratch("part.html");
    let command = sandbox.command([
        "diff",
        &id,
        "--exclude",
        "*.log",
        "--html",
        file.to_str().unwrap(),
        "kept",
    ]);
    command.inside(&project).run().ok();
    let part = fs::read_to_string(file).unwrap();
    let words = format!("restore {id} --exclude '*.log' {}</code>", kept.display());
    assert!(part.contains(&words), "{part}");

    // The shell restores with it what it names, whatever its name is.
    let odd = project.join(OsStr::from_bytes(b"bidi\xe2\x80\xaegnp\x1b[2J\n\xff"));
    let commands = page.split("<code>jackin recovery ").skip(1);
    let commands = commands.map(|part| part.split("</code>").next().unwrap());
    let command = commands
        .into_iter()
        .find(|command| command.contains("bidi"))
        .unwrap();
    let command = command
        .replace("&gt;", ">")
        .replace("&lt;", "<")
        .replace("&amp;", "&");
    assert!(command.starts_with(&format!("restore {id} ")) && odd.exists());
    // What a shell makes of it.
    let words = Command::new("bash")
        .args(["-c", &format!("printf '%s\\0' {command}")])
        .output()
        .unwrap();
    let words: Vec<&OsStr> = words
        .stdout
        .split(|byte| *byte == 0)
        .map(OsStr::from_bytes)
        .collect();
    sandbox
        .jackin(
            words
                .into_iter()
                .filter(|word| !word.is_empty())
                .chain([OsStr::new("--yes")]),
        )
        .ok();
    assert!(!odd.exists() && fs::read_to_string(kept).unwrap().starts_with("one\n<script"));
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn images_stand_before_and_after_and_none_is_too_large_for_a_browser() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    // One red pixel, and one that is said to be 100,000 by 100,000.
    let image = STANDARD.decode(PIXEL).unwrap();
    let mut bomb = image.clone();
    bomb[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
    fs::write(project.join("logo.png"), &image).unwrap();
    fs::write(project.join("gone.png"), &image).unwrap();
    let vector = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>";
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("logo.png"), [image.as_slice(), b"\0"].concat()).unwrap();
        fs::remove_file(project.join("gone.png")).unwrap();
        fs::write(project.join("bomb.png"), &bomb).unwrap();
        fs::write(project.join("data.bin"), b"\0\x01").unwrap();
        fs::write(project.join("secret.key"), [image.as_slice(), b"\x01"].concat()).unwrap();
        fs::write(project.join("vector.svg"), vector).unwrap();
    });
    let (_, page) = written(&sandbox, &["diff", &id, "--to", "closing"]);
    assert!(page.contains("img-src data:;"));
    let start = format!("<img src=\"data:image/png;base64,{PIXEL}\"");
    assert_eq!(page.matches(&start).count(), 2, "before of both");
    assert_eq!(page.matches("<img ").count(), 3);
    assert!(page.contains("After: 100000 \u{d7} 100000"), "{page}");
    assert!(page.contains("too large to show") && page.contains("binary: 0 B \u{2192} 2 B"));
    assert!(page.contains("content hidden") && page.contains("onload") && !page.contains("<svg"));
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn git_is_folded_and_receipts_are_in_a_fold() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::create_dir_all(project.join(".git/objects")).unwrap();
    fs::write(project.join("old name"), "the same\n".repeat(9)).unwrap();
    let id = sandbox.session(&project, |project| {
        for number in 0..9 {
            fs::write(project.join(format!(".git/objects/{number}")), "x").unwrap();
        }
        fs::write(project.join("a"), "x\n").unwrap();
        fs::rename(project.join("old name"), project.join("new name")).unwrap();
        run_tool(Command::new("mkfifo").arg(project.join("pipe")));
    });
    let (_, page) = written(&sandbox, &["diff", &id, "--to", "closing"]);
    let fold = page.split("<details class=\"fold\">").nth(1).unwrap();
    assert!(
        fold.split("</summary>").next().unwrap().contains(".git/"),
        "{fold:.200}"
    );
    assert!(page.contains("<section id=\"receipts\"><details><summary>"));
    assert!(
        page.contains(">the content is the same</p>") && page.contains(">a FIFO, without content</p>"),
        "{page}"
    );
    // The tree has it closed, too.
    let tree = page
        .split("<nav class=\"tree\"")
        .nth(1)
        .unwrap()
        .split("</nav>")
        .next()
        .unwrap();
    assert!(
        tree.contains("<li><details><summary><span class=\"mono\">.git"),
        "{tree}"
    );
    assert_eq!(
        tree.matches("<a href=\"#file-").count(),
        page.matches("<details class=\"file\"").count()
    );
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_browser_shows_the_lines_of_a_long_page_with_and_without_scripts() {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = browsers.into_iter().find_map(tool) else {
        return skip("a long page in a browser", "chromium is not installed");
    };
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let lines = |word: &str| -> String { (0..3_000).map(|line| format!("{word} {line}\n")).collect() };
    for name in ["a", "b", "c", "d"] {
        fs::write(project.join(name), lines("one")).unwrap();
    }
    let last = "</noscript></details><script>document.title='RAN'</script>";
    let id = sandbox.session(&project, |project| {
        for name in ["a", "b", "c", "d"] {
            fs::write(project.join(name), format!("{}{last}", lines("two"))).unwrap();
        }
    });
    let (file, page) = written(&sandbox, &["diff", &id, "--to", "closing"]);
    // All lines are there for a browser without scripts; the last file waits for one with scripts.
    assert_eq!(page.matches("<ins ").count(), 4 * 3_001);
    assert_eq!(page.matches("<noscript>").count(), 1);
    let link = page
        .split("<noscript>")
        .next()
        .unwrap()
        .rsplit("id=\"file-")
        .next()
        .unwrap();
    let link = format!("file-{}", link.split('"').next().unwrap());
    let seen = browsed(&browser, &sandbox, &file, Some(&link));
    // Followed by its link it is open, and has its lines.
    assert!(
        seen.contains("class=\"js\"") && !seen.contains("<noscript>"),
        "{seen:.2000}"
    );
    assert_eq!(seen.matches("<ins ").count(), 4 * 3_001);
    assert!(seen.contains(&format!("<title>{id} ")) && seen.contains(" ago)"));
}
