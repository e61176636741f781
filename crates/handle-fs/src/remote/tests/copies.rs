//! Requests to copies of this program.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::super::loopback::agent;
use super::super::{Address, Channel, Transports};

/// Ends on request.
struct Ending(Box<dyn Read + Send>, Arc<AtomicBool>);

impl Read for Ending {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(room)?;
        Ok(if self.1.load(Ordering::SeqCst) { 0 } else { count })
    }
}

#[test]
fn only_copies_are_asked_and_no_connection_is_made_for_it() {
    let (made, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, end) = (Arc::clone(&made), Arc::clone(&ends));
    let connect = move |address: &Address, _: &Arc<AtomicBool>| {
        count.fetch_add(1, Ordering::SeqCst);
        let channel = agent()?;
        let is_copy = matches!(address, Address::Docker { container } if container == "copy");
        Ok(Channel {
            from: Box::new(Ending(channel.from, Arc::clone(&end))),
            copied: is_copy.then_some(1),
            ..channel
        })
    };
    let transports = Transports::new(Box::new(connect), Box::new(|_, _| None));
    let asked = || {
        let all = std::sync::Mutex::new(Vec::new());
        transports.ask_copies(|address| {
            all.lock().unwrap().push(address.to_string());
            Some(vec![0])
        });
        all.into_inner().unwrap()
    };
    assert!(asked().is_empty());
    let address = |container: &str| Address::Docker {
        container: container.to_owned(),
    };
    for container in ["copy", "installed"] {
        let at = address(container).with(Path::new("/"));
        assert!(transports.stat_path(&at).unwrap().is_some());
    }
    assert_eq!(asked(), [address("copy").to_string()]);
    ends.store(true, Ordering::SeqCst);
    // The first call finds out that the connection broke, the second knows.
    for _ in 0..2 {
        asked();
    }
    assert_eq!(made.load(Ordering::SeqCst), 2);
}

/// Zeros without an end, counted.
struct Endless(Arc<AtomicUsize>);

impl Read for Endless {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        // The length of a message of almost 2 GiB, and its bytes.
        room.fill(0x7f);
        self.0.fetch_add(room.len(), Ordering::SeqCst);
        Ok(room.len())
    }
}

#[test]
fn a_machine_that_never_says_who_it_is_is_not_heard_to_its_end() {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let connect = move |_: &Address, _: &Arc<AtomicBool>| {
        Ok(Channel {
            from: Box::new(Endless(Arc::clone(&count))),
            ..agent()?
        })
    };
    let transports = Transports::new(Box::new(connect), Box::new(|_, _| None));
    let address = Address::Docker {
        container: "endless".to_owned(),
    };
    assert!(transports.stat_path(&address.with(Path::new("/"))).is_err());
    assert!(heard.load(Ordering::SeqCst) < 8 << 20, "{heard:?}");
}
