//! Files of another machine, which is this one: through an agent in this process.

mod copies;
mod leaving;
mod several;
mod views;

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::agent::Wire;
use super::loopback::{through_agent, transports};
use super::message::{receive, send};
use super::protocol::{Answer, Bytes, Call, Request};
use super::upwards;
use super::{Address, serve};
use crate::Opening;

/// Roots of a directory, with the way to each: by this kernel, and by an agent.
fn roots(name: &str, place: &Path) -> Vec<(&'static str, crate::Handle)> {
    let far = transports().open_root(&through_agent(name, place)).unwrap();
    vec![("here", crate::open_root(place).unwrap()), ("agent", far)]
}

#[test]
fn files_of_an_agent_are_read_and_written_as_those_of_this_machine() {
    let place = tempfile::tempdir().unwrap();
    let far = through_agent("content", place.path());
    let dir = transports().open_root(&far).unwrap();
    let name = std::ffi::OsStr::new("file");
    let mut file = crate::create_file(&dir, name).unwrap();
    let content: Vec<u8> = (0..9_000_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    file.write_all(&content).unwrap();
    file.set_len(20_000_000).unwrap();
    file.sync().unwrap();
    let (read, stat) = crate::open_child_file(&dir, name).unwrap();
    assert_eq!(stat.size, 20_000_000);
    let mut room = vec![1; 9_000_100];
    read.read_exact_at(&mut room, 0).unwrap();
    assert_eq!(room[..9_000_000], content);
    assert_eq!(room[9_000_000..], [0; 100]);
    let segments = crate::data_segments(&read, stat.size).unwrap();
    let data: u64 = segments.iter().map(|(_, length)| length).sum();
    let shows_holes = crate::file_system(&read).unwrap().shows_holes;
    assert_eq!(data < 10_000_000, shows_holes, "{segments:?}");
    assert_eq!(
        transports().stat_path(&far.join("file")).unwrap().unwrap().ino,
        stat.ino
    );
    assert!(transports().stat_path(&far.join("none")).unwrap().is_none());
    // What is of one machine alone stays there.
    let here = crate::open_root(place.path()).unwrap();
    let moved = crate::rename_new(&dir, name, &here, std::ffi::OsStr::new("other"));
    assert_eq!(moved.unwrap_err().kind(), io::ErrorKind::CrossesDevices);
    // A lock there is one that is seen there.
    let (ours, _) = crate::open_child_file(&dir, name).unwrap();
    let theirs = crate::open_path(&place.path().join("file"), Opening::Read).unwrap();
    assert!(ours.try_lock(false).unwrap());
    assert!(!theirs.try_lock(false).unwrap());
    ours.unlock().unwrap();
    assert!(theirs.try_lock(false).unwrap());
}

#[test]
fn a_link_is_not_followed_there_either() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
    let far = through_agent("links", place.path());
    let dir = transports().open_root(&far).unwrap();
    assert!(crate::open_beneath(&dir, Path::new("real")).is_ok());
    for path in ["link", "../..", "link/x"] {
        assert!(crate::open_beneath(&dir, Path::new(path)).is_err(), "{path}");
    }
    assert_eq!(
        transports().canonical(&far.join("link")).unwrap(),
        far.join("real")
    );
}

#[test]
fn an_agent_that_does_not_understand_ends() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let again = theirs.try_clone().unwrap();
    let agent = std::thread::spawn(move || serve(again, theirs, &|_| None));
    ours.write_all(&[3, 0, 0, 0, 9, 9, 9]).unwrap();
    assert!(agent.join().unwrap().is_err());
    assert!(receive::<Request>(&mut ours).unwrap().is_none());
}

#[test]
fn a_message_that_claims_to_be_endless_is_refused() {
    let mut claimed: &[u8] = &[0xff, 0xff, 0xff, 0xff, 1];
    assert_eq!(
        receive::<Request>(&mut claimed).unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
    let mut cut = Vec::new();
    let call = Call::Clock { fine: true };
    send(
        &mut cut,
        &Request {
            closed: vec![7],
            call,
        },
    )
    .unwrap();
    for length in 1..cut.len() {
        assert!(receive::<Request>(&mut &cut[..length]).is_err(), "{length}");
    }
    assert!(receive::<Request>(&mut cut.as_slice()).unwrap().is_some());
}

fn told(text: &str) -> Option<(String, String)> {
    let (address, path) = Address::split(Path::new(text))?;
    Some((address.to_string(), path.display().to_string()))
}

#[test]
fn addresses_are_taken_apart() {
    for (text, address, path) in [
        ("ssh://host/srv/a", "ssh://host", "/srv/a"),
        (
            "ssh://ann@host.example:2222/srv//a/",
            "ssh://ann@host.example:2222",
            "/srv//a/",
        ),
        ("ssh://host", "ssh://host", "/"),
        ("docker://web-1/app", "docker://web-1", "/app"),
        ("docker-volume://data", "docker-volume://data", "/"),
        ("docker-volume://data/a/b", "docker-volume://data", "/a/b"),
        ("k8s://web/pod-0/srv/a", "k8s://web/pod-0", "/srv/a"),
        ("k8s://web/pod-0:/srv", "k8s://web/pod-0:", "/srv"),
        ("k8s://web/pod-0:side/srv", "k8s://web/pod-0:side", "/srv"),
        ("k8s://dev/web/pod-0:side/srv", "k8s://dev/web/pod-0:side", "/srv"),
        (
            "k8s://admin@Dev_1/web/pod-0/srv",
            "k8s://admin@Dev_1/web/pod-0:",
            "/srv",
        ),
        (
            "k8s://a%3Ab%2Fc/web/pod-0:/srv",
            "k8s://a%3Ab%2Fc/web/pod-0:",
            "/srv",
        ),
        ("k8s-pvc://web/data", "k8s-pvc://web/data:", "/"),
        ("k8s-pvc://dev/web/data", "k8s-pvc://dev/web/data:", "/"),
        ("k8s-pvc://dev/web/data/a", "k8s-pvc://dev/web/data:", "/a"),
        ("k8s-pvc://web/data:/a/b", "k8s-pvc://web/data:", "/a/b"),
        ("k8s-pvc://web/data:snap-0/a", "k8s-pvc://web/data:snap-0", "/a"),
    ] {
        assert_eq!(told(text), Some((address.to_owned(), path.to_owned())), "{text}");
    }
    let (address, _) = Address::split(Path::new("ssh://[::1]:22/x")).unwrap();
    let (host, port) = ("::1".to_owned(), Some(22));
    assert_eq!(
        address,
        Address::Ssh {
            host,
            user: None,
            port
        }
    );
}

#[test]
fn what_could_be_an_option_or_a_command_is_no_address() {
    for text in [
        "/srv/a",
        "srv://x",
        "",
        "ssh:///a",
        "ssh://-oProxyCommand=x/a",
        "ssh://a b/c",
        "ssh://host:0/a",
        "ssh://host:/a",
        "ssh://host:x/a",
        "ssh://$(id)/a",
        "ssh://-l@host/a",
        "docker://--privileged/a",
        "docker://a;b/c",
        "docker:///a",
        "k8s:///web/pod/a",
        "k8s://web",
        "k8s://web//a",
        "k8s://web/-pod/a",
        "k8s://web/Pod/a",
        "k8s://web/pod:Side/a",
        "k8s://--context=x/web/pod/a;b",
        "k8s://%zz/web/pod:/a",
        "k8s://%00/web/pod:/a",
        "k8s-pvc://web",
        "k8s-pvc://web/data:Side",
    ] {
        assert_eq!(told(text), None, "{text}");
    }
}

#[test]
fn a_snapshot_of_a_claim_is_nothing_to_work_in() {
    for (text, has) in [
        ("k8s-pvc://web/data", true),
        ("k8s-pvc://web/data:/a", true),
        ("k8s-pvc://dev/web/data:snap-0", false),
        ("k8s-pvc://web/data:snap-0/a", false),
    ] {
        assert_eq!(super::has_path(Path::new(text)), has, "{text}");
    }
}

#[test]
fn the_path_of_a_volume_is_one_of_its_helper_and_back() {
    for (whole, inner) in [
        ("docker-volume://data", "/volume"),
        ("docker-volume://data/a/b", "/volume/a/b"),
    ] {
        let (address, path) = Address::split(Path::new(whole)).unwrap();
        assert_eq!(address.inside(path), Path::new(inner));
        let back = address.outside(Path::new(inner)).unwrap();
        assert_eq!(address.with(&back), Path::new(whole));
        assert_eq!(address.outside(Path::new("/etc")), None);
    }
    let top = Path::new("docker-volume://data");
    assert_eq!(super::above(top), None);
    assert_eq!(super::above(&top.join("a")), Some(top));
    assert_eq!(super::above(Path::new("/a/b")), Some(Path::new("/a")));
    assert_eq!(
        super::above(Path::new("ssh://host/a")).unwrap(),
        Path::new("ssh://host")
    );
}

#[test]
fn an_address_with_a_path_comes_back() {
    let (address, path) = Address::split(Path::new("ssh://ann@[fe80::1]:22/srv/a")).unwrap();
    let whole = address.with(&path);
    assert_eq!(Address::split(&whole), Some((address, path)), "{whole:?}");
}

#[test]
fn several_threads_ask_at_once_and_each_gets_its_own_answer() {
    let place = tempfile::tempdir().unwrap();
    for number in 0..8_u8 {
        std::fs::write(
            place.path().join(number.to_string()),
            vec![number; usize::from(number) * 1000],
        )
        .unwrap();
    }
    let far = through_agent("threads", place.path());
    let dir = transports().open_root(&far).unwrap();
    std::thread::scope(|scope| {
        for number in 0..8_u8 {
            let dir = &dir;
            scope.spawn(move || {
                let (name, size) = (number.to_string(), usize::from(number) * 1000);
                for _ in 0..200 {
                    let (file, stat) = crate::open_child_file(dir, name.as_ref()).unwrap();
                    let mut content = vec![0xff; size];
                    file.read_exact_at(&mut content, 0).unwrap();
                    assert_eq!((stat.size, content), (size as u64, vec![number; size]));
                }
            });
        }
    });
}

#[test]
fn whoever_waits_for_an_agent_that_ends_is_told() {
    // It answers the greeting and a few calls, and then no more.
    let place = tempfile::tempdir().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let ends = std::thread::spawn(move || {
        let (mut from, mut to) = (theirs.try_clone().unwrap(), theirs);
        for _ in 0..5 {
            let request: Request = receive(&mut from).unwrap().unwrap();
            drop(request);
            send(&mut to, &Answer::Done).unwrap();
        }
        let _: Option<Request> = receive(&mut from).unwrap();
    });
    let wire = Wire::new(Box::new(ours.try_clone().unwrap()), Box::new(ours));
    let path = Bytes::from(place.path());
    let told: Vec<bool> = std::thread::scope(|scope| {
        let ask = || {
            let path = path.clone();
            wire.ask(Vec::new(), Call::MayChange { path }).is_ok()
        };
        let threads: Vec<_> = (0..12).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    ends.join().unwrap();
    // Whoever was told first that it ended may have been ahead of one that had an answer coming.
    assert!(told.iter().filter(|told| **told).count() <= 5);
    assert!(wire.is_broken());
    assert!(wire.ask(Vec::new(), Call::Clock { fine: true }).is_err());
}

#[test]
fn what_lies_above_a_path_has_the_same_address() {
    for (path, tops) in [
        (
            "ssh://me@host:22/srv/app",
            &[
                "ssh://me@host:22/srv/app",
                "ssh://me@host:22/srv",
                "ssh://me@host:22/",
            ][..],
        ),
        ("docker://web/srv", &["docker://web/srv", "docker://web/"]),
        (
            "docker-volume://data/a",
            &["docker-volume://data/a", "docker-volume://data"],
        ),
        ("docker-volume://data", &["docker-volume://data"]),
        (
            "k8s://dev/default/gnu:/work",
            &["k8s://dev/default/gnu:/work", "k8s://dev/default/gnu:/"],
        ),
        (
            "k8s://dev/default/gnu:main/work",
            &["k8s://dev/default/gnu:main/work", "k8s://dev/default/gnu:main/"],
        ),
        ("k8s-pvc://dev/default/data:", &["k8s-pvc://dev/default/data:"]),
        (
            "k8s-pvc://dev/default/data:/a/b",
            &[
                "k8s-pvc://dev/default/data:/a/b",
                "k8s-pvc://dev/default/data:/a",
                "k8s-pvc://dev/default/data:",
            ],
        ),
        ("/srv/app", &["/srv/app", "/srv", "/"]),
    ] {
        let above: Vec<&Path> = upwards(Path::new(path)).collect();
        assert_eq!(above, tops.iter().map(Path::new).collect::<Vec<_>>(), "{path}");
        let machine = |path: &Path| Address::split(path).map(|(address, _)| address);
        assert!(
            above.iter().all(|at| machine(at) == machine(Path::new(path))),
            "{path}"
        );
    }
}

#[test]
fn an_agent_says_that_it_is_at_work() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let again = theirs.try_clone().unwrap();
    let knows = |_: &[u8]| {
        std::thread::sleep(Duration::from_millis(1_600));
        Some(b"done".to_vec())
    };
    let agent = std::thread::spawn(move || serve(again, theirs, &knows));
    let request = Request {
        closed: Vec::new(),
        call: Call::Ask {
            question: Bytes(b"how long".to_vec()),
        },
    };
    send(&mut ours, &request).unwrap();
    let mut beats = 0;
    let answer = loop {
        match receive(&mut ours).unwrap().unwrap() {
            Answer::AtWork => beats += 1,
            answer => break answer,
        }
    };
    assert!(matches!(answer, Answer::Bytes(Bytes(bytes)) if bytes == b"done"));
    assert!(beats >= 1);
    drop(ours);
    let _ = agent.join();
}
