//! Causes of an error that only `-v` prints.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

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
    std::fs::write(project.join("a"), "before\n").unwrap();
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
