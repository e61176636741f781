//! What is said for those who look for a cause: `-v`, and `--log-file` with times; never what a command was given, and never where a link leads.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::support::build::Build;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

#[test]
fn it_holds_what_is_said_and_more_with_times() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    let log = sandbox.scratch("log");
    let (target, path) = (project.to_str().unwrap(), log.to_str().unwrap());
    let launch = [
        "launch",
        "--snapshot",
        "project",
        "-q",
        "--log-file",
        path,
        target,
        "--",
    ];
    let command = ["sh", "-c", "echo hush > a; : \"$0\"", "TOKEN=hush"];
    let run = sandbox
        .command(launch.into_iter().chain(command))
        .inside(&project)
        .run()
        .ok();
    assert!(!run.text().contains("Recovery contract"), "{run}");
    let first = fs::read_to_string(&log).unwrap();
    for fact in [
        "Recovery contract",
        "1 modified",
        "captured 1 entry",
        "baseline sn-",
        "exit code 0",
    ] {
        assert!(first.contains(fact), "`{fact}` is not in\n{first}");
    }
    assert!(!first.contains("hush"), "{first}");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o7777, 0o600);

    // It is appended to; an error stands in it, also when it is told as JSON.
    sandbox
        .jackin(["show", "nobody", "--json", "--log-file", path])
        .code(5);
    let both = fs::read_to_string(&log).unwrap();
    let second = both.strip_prefix(&first).unwrap();
    assert!(
        second.contains("error   error:") && second.contains("nobody"),
        "{second}"
    );
    for line in both.lines() {
        let mut parts = line.splitn(4, ' ');
        let time = parts.next().unwrap();
        assert!(time.len() == 30 && time.ends_with('Z'), "{line}");
        assert!(parts.next().unwrap().parse::<u32>().is_ok(), "{line}");
        let level = parts.next().unwrap();
        assert!(["error", "warning", "note", "detail"].contains(&level), "{line}");
        assert!(!line.contains('\x1b'), "{line:?}");
    }
    // `-v` shows the details on stderr.
    sandbox
        .jackin(["diff", "@latest", "-v"])
        .ok()
        .shows("compared 1 entry")
        .shows("exit code 0");
}

#[test]
fn it_is_a_plain_file_of_ones_own_or_nothing_is_done() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n").file("victim", "kept\n");
    let victim = project.join("victim");
    let link = sandbox.scratch("link");
    symlink(&victim, &link).unwrap();
    let hard = sandbox.scratch("hard");
    fs::hard_link(&victim, &hard).unwrap();
    let fifo = sandbox.scratch("fifo");
    Build::at(fifo.parent().unwrap()).fifo(fifo.file_name().unwrap().to_str().unwrap());
    let directory = sandbox.scratch("directory");
    fs::create_dir(&directory).unwrap();
    let nowhere = sandbox.scratch("no/such/log");
    for log in [&link, &hard, &fifo, &directory, &nowhere] {
        let path = log.to_str().unwrap();
        let target = project.to_str().unwrap();
        let launch = [
            "launch",
            "--snapshot",
            "project",
            "--log-file",
            path,
            target,
            "--",
            "rm",
            "a",
        ];
        let run = sandbox.command(launch).inside(&project).run().code(125);
        run.shows("cannot be written").shows("nothing was done");
        assert!(project.join("a").exists() && !sandbox.store().exists(), "{path}");
    }
    assert_eq!(fs::read(&victim).unwrap(), b"kept\n");
}

/// Starts what answers every request with a page, as a network does before one has signed in to it. Returns its address.
fn portal() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for guest in listener.incoming() {
            let mut guest = guest.unwrap();
            let mut request = [0; 16 << 10];
            let _ = guest.read(&mut request);
            let page = "<html>sign in</html>";
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
            let _ = write!(guest, "{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        }
    });
    address
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn details_name_what_lies_behind_an_error() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("a"), "before\n").unwrap();
    sandbox.launch(&project, "echo agent > a");
    let text = format!(
        "[recovery.state]\nrecipients = [\"{}\"]\n[recovery.store]\nreplicate = \"s3://bucket/prefix\"\n",
        crate::replicas::RECIPIENT
    );
    sandbox.configure("config.toml", &text);
    let portal = portal();
    let replicate = |words: &[&str]| -> Run {
        let words = [&["replicate"], words].concat();
        let signed = sandbox
            .command(words)
            .with("AWS_ENDPOINT_URL", &portal)
            .with("AWS_ACCESS_KEY_ID", "x")
            .with("AWS_SECRET_ACCESS_KEY", "y");
        signed.run().code(1)
    };
    let error = "the service refuses it (status 200)";
    replicate(&[]).shows(error).hides("caused by");
    replicate(&["-v"]).shows(error).shows("caused by: ");
    let document = replicate(&["--json"]).hides("caused by");
    assert_eq!(document.error()["kind"], "object-store");
    assert!(document.error()["causes"].is_null(), "{document}");
}
