//! The chain of receipts: a log that is taken has every link right, and no byte of it can be another one.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use jackin_recovery::model::{Digest, InstanceId, Operation, Receipt, SnapshotKind, Time};
use jackin_recovery::store::Store;

use super::feed::Feed;
use super::store::Home;

thread_local! {
    static HOME: RefCell<Option<Home>> = const { RefCell::new(None) };
}

/// How the log is made and what is done with it, which byte of it is changed afterwards, and the log.
pub fn receipts(bytes: &[u8]) -> bool {
    HOME.with_borrow_mut(|home| of(home.get_or_insert_with(Home::new), bytes))
}

/// Whether there was a chain.
fn of(home: &Home, bytes: &[u8]) -> bool {
    let mut feed = Feed(bytes);
    let (how, place) = (feed.byte(), feed.number::<2>());
    let log = if how & 1 == 0 {
        feed.0.to_vec()
    } else {
        chained(feed.0)
    };
    let path = home.store.layout().receipts();
    let write = |log: &[u8]| {
        fs::write(&path, log).expect("a file");
        home.store.receipts()
    };
    let Ok(receipts) = write(&log) else { return false };
    check(&log, &receipts);
    // Without the last line, when that was never finished.
    let whole = log.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole > 0 {
        let mut other = log.clone();
        let place = usize::try_from(place).unwrap_or(0) % whole;
        other[place] ^= (how >> 3).max(1);
        assert!(
            write(&other).is_err(),
            "byte {place} is another one, and nobody saw it"
        );
    }
    let short = &log[..usize::try_from(place).unwrap_or(0) % (log.len() + 1)];
    if let Ok(fewer) = write(short) {
        assert_eq!(receipts.get(..fewer.len()), Some(fewer.as_slice()));
    }
    assert!(write(&log).is_ok());
    mirrored(home.root(), &receipts);
    // It takes a store of its own, which is slow.
    if how & 6 == 2 {
        goes_on(&log, &log[..whole], &receipts);
    }
    !receipts.is_empty()
}

/// Makes lines of JSON a chain: hashes, numbers and what they continue are right.
pub fn chained(lines: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut previous = Digest([0; 32]);
    for (line, number) in lines.split(|byte| *byte == b'\n').zip(1_u64..) {
        let Ok(mut json) = serde_json::from_slice::<serde_json::Value>(line) else {
            out.extend_from_slice(line);
            break;
        };
        if let Some(object) = json.as_object_mut() {
            object.insert("number".to_owned(), number.into());
            object.insert("previous".to_owned(), previous.hex().into());
        }
        let json = json.to_string();
        previous = Digest::of(json.as_bytes());
        out.extend_from_slice(format!("{} {json}\n", previous.hex()).as_bytes());
    }
    out
}

/// As `docs/format.md` states it, computed anew.
fn check(log: &[u8], receipts: &[Receipt]) {
    let mut previous = Digest([0; 32]);
    let mut count = 0;
    for line in log
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
    {
        let json = &line[65..line.len() - 1];
        assert_eq!(&line[..65], format!("{} ", Digest::of(json).hex()).as_bytes());
        let receipt = &receipts[count];
        assert_eq!((receipt.number, receipt.previous), (count as u64 + 1, previous));
        previous = Digest::of(json);
        count += 1;
        let again = serde_json::to_vec(receipt).expect("a receipt has a form");
        assert_eq!(
            serde_json::from_slice::<Receipt>(&again).expect("our own form"),
            *receipt
        );
    }
    assert_eq!(count, receipts.len());
}

/// A store with this log opens, and its catalog shows what stands there.
fn mirrored(root: &Path, receipts: &[Receipt]) {
    let reading = Store::open_read(root).expect("it opens").expect("it is there");
    let catalog = reading.catalog();
    for row in catalog.instances().expect("a query") {
        assert!(
            receipts
                .iter()
                .any(|receipt| receipt.instance.as_ref() == Some(&row.id)),
            "{}",
            row.id
        );
    }
    for receipt in receipts {
        let mirrored = catalog.receipt(receipt.number).expect("a query");
        assert_eq!(mirrored.as_ref(), Some(receipt));
        if let Some(instance) = &receipt.instance {
            let restores = catalog.restores(instance).expect("a query");
            assert!(restores.len() <= receipts.len());
        }
    }
}

/// The chain grows behind it.
fn goes_on(log: &[u8], whole: &[u8], receipts: &[Receipt]) {
    let home = Home::new();
    let path = home.store.layout().receipts();
    fs::write(&path, log).expect("a file");
    let store = Store::open_write(home.root()).expect("it opens");
    let act = Operation::CaptureFailed {
        kind: SnapshotKind::Baseline,
        error: "no room".to_owned(),
    };
    let instance = InstanceId::new([2; 8], "demo");
    store
        .append(Time::default(), 0, &instance, act)
        .expect("it grows");
    let grown = store.receipts().expect("it is whole");
    assert_eq!(grown.len(), receipts.len() + 1);
    assert_eq!(grown.get(..receipts.len()), Some(receipts));
    let now = fs::read(&path).expect("the log");
    assert!(now.starts_with(whole), "what was there is another one");
    mirrored(home.root(), &grown);
}
