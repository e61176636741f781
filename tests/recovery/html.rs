//! The pages of `diff --html` and `show --html`: what is in them, who may read them, and what a browser makes of hostile names and
//! contents.

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

use crate::support::machine::{NOBODY, skip, tool};
use crate::support::sandbox::Sandbox;

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
    assert!(fs::read_to_string(secret).unwrap().contains("TOKEN=othersecret"));
    // Only what a page is made of: no element or attribute comes from a name or a content.
    for page in [&page, &shown] {
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
        for refused in [
            "<script",
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
fn browsed(browser: &Path, sandbox: &Sandbox, file: &Path) -> String {
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
        .arg(format!("file://{}", file.display()))
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
    let seen = browsed(&browser, &sandbox, &bare);
    assert!(seen.contains("<title>RAN</title>") && asked.often() > 0, "{seen}");
    let before = asked.often();
    for args in [&["diff", &id][..], &["show", &id]] {
        let (file, _) = written(&sandbox, args);
        let seen = browsed(&browser, &sandbox, &file);
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
        page.contains("<del>-let port = <b>80;</b> // &lt;b&gt;</del>"),
        "{page}"
    );
    assert!(
        page.contains("<ins>+let port = <b>8080;</b> // &lt;b&gt;</ins>"),
        "{page}"
    );
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
    for wide in page.split("class=\"wide\"").skip(1) {
        assert!(
            wide.starts_with(" tabindex=\"0\" role=\"region\" aria-label="),
            "{wide:.80}"
        );
    }

    // Color is not all that tells what was added and what was removed.
    assert!(page.contains("<ins>+") && page.contains("<del>-"));
}
