//! The chain: it stays valid whichever process appends, and every change to it is found.

use std::os::unix::fs::symlink;

use super::*;

fn three(place: &Place) -> Store {
    let store = place.write();
    store.append(at(0), 7, &instance(1), begin("/srv/one")).unwrap();
    let act = Operation::CaptureFailed {
        kind: SnapshotKind::Baseline,
        error: "no\nroom ä".to_owned(),
    };
    store.append(at(1), 7, &instance(1), act).unwrap();
    store.append(at(2), 7, &instance(1), end()).unwrap();
    store
}

#[test]
fn a_chain_comes_back_as_it_was_appended() {
    let place = Place::new();
    let store = three(&place);
    let receipts = store.receipts().unwrap();
    assert_eq!(receipts.iter().map(|r| r.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(receipts[0].previous, Digest([0; 32]));
    assert_eq!(receipts[0].act, begin("/srv/one"));
    assert_eq!((receipts[2].at, receipts[2].uid), (at(2), 7));
    // As docs/format.md states it, computed anew.
    let log = fs::read_to_string(place.layout().receipts()).unwrap();
    let mut previous = "0".repeat(64);
    for (line, receipt) in log.lines().zip(&receipts) {
        let (hash, json) = line.split_at(64);
        assert_eq!(hash, blake3::hash(&json.as_bytes()[1..]).to_hex().as_str());
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(value["previous"], previous);
        previous = hash.to_owned();
        assert_eq!(
            store.catalog().receipt(receipt.number).unwrap().as_ref(),
            Some(receipt)
        );
    }
    assert!(log.ends_with('\n'));
    assert_eq!(store.catalog().receipt(4).unwrap(), None);
    assert_eq!(store.catalog().receipt(u64::MAX).unwrap(), None);
}

#[test]
fn every_flipped_bit_is_found() {
    let place = Place::new();
    let store = three(&place);
    let path = place.layout().receipts();
    let good = fs::read(&path).unwrap();
    let starts: Vec<usize> = std::iter::once(0)
        .chain(
            good.iter()
                .enumerate()
                .filter(|(_, b)| **b == b'\n')
                .map(|(at, _)| at + 1),
        )
        .collect();
    for (position, byte) in good.iter().enumerate() {
        for bit in 0..8 {
            change(&path, position, byte ^ (1 << bit));
            let line = starts.iter().filter(|start| **start <= position).count() as u64;
            match store.receipts() {
                Err(StoreError::Chain { number, .. }) => {
                    assert_eq!(number, line, "bit {bit} of byte {position}")
                }
                other => panic!("bit {bit} of byte {position}: {other:?}"),
            }
        }
        change(&path, position, *byte);
    }
    assert_eq!(store.receipts().unwrap().len(), 3);
}

#[test]
fn lines_taken_out_or_moved_are_found() {
    let place = Place::new();
    let store = three(&place);
    let path = place.layout().receipts();
    let log = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = log.split_inclusive('\n').collect();
    for (order, broken) in [
        (vec![1, 2], 1),
        (vec![0, 2], 2),
        (vec![1, 0, 2], 1),
        (vec![0, 1, 1], 3),
        (vec![0, 0, 1, 2], 2),
    ] {
        fs::write(&path, order.iter().map(|at| lines[*at]).collect::<String>()).unwrap();
        let found = store.receipts();
        assert!(
            matches!(&found, Err(StoreError::Chain { number, .. }) if *number == broken),
            "{order:?}: {found:?}"
        );
    }
    fs::write(&path, format!("{log}\n")).unwrap();
    assert!(matches!(
        store.receipts(),
        Err(StoreError::Chain { number: 4, .. })
    ));
}

#[test]
fn a_torn_line_is_cut_off_wherever_it_tore() {
    let place = Place::new();
    let store = three(&place);
    let path = place.layout().receipts();
    let good = fs::read(&path).unwrap();
    store.append(at(3), 7, &instance(2), begin("/srv/two")).unwrap();
    let four = fs::read(&path).unwrap();
    drop(store);
    let lengths: Vec<usize> = (good.len() + 1..four.len())
        .filter(|length| length % 83 == 0)
        .chain([four.len() - 1])
        .collect();
    for length in lengths {
        fs::write(&path, &four[..length]).unwrap();
        fs::remove_file(place.layout().catalog()).unwrap();
        assert_eq!(place.read().receipts().unwrap().len(), 3, "torn at {length}");
        let store = place.write();
        assert_eq!(store.receipts().unwrap().len(), 3);
        let receipt = store.append(at(3), 7, &instance(2), begin("/srv/two")).unwrap();
        assert_eq!(receipt.number, 4);
        assert_eq!(fs::read(&path).unwrap(), four);
    }
    // A line shorter than what it replaces.
    fs::write(&path, [&good[..], &[b'x'; 2000]].concat()).unwrap();
    fs::remove_file(place.layout().catalog()).unwrap();
    let store = place.write();
    store.append(at(3), 7, &instance(1), end()).unwrap();
    assert_eq!(store.receipts().unwrap().len(), 4);
    assert!(fs::read(&path).unwrap().ends_with(b"\n"));
}

#[test]
fn a_receipt_that_was_rewritten_with_its_hash_is_found() {
    let place = Place::new();
    let store = three(&place);
    let path = place.layout().receipts();
    let log = fs::read_to_string(&path).unwrap();
    for (line, old, new, broken) in [
        // The hash in the next one does not follow.
        (0, "\"uid\":7", "\"uid\":8", 2),
        (1, "\"uid\":7", "\"uid\":8", 3),
        (2, "\"number\":3", "\"number\":4", 3),
        (0, "\"number\":1", "\"number\":0", 1),
        (2, "\"number\":3", "\"numbre\":3", 3),
    ] {
        let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
        let json = lines[line].split_at(65).1.replace(old, new);
        lines[line] = format!("{} {json}", Digest::of(json.as_bytes()));
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let found = store.receipts();
        assert!(
            matches!(&found, Err(StoreError::Chain { number, .. }) if *number == broken),
            "{line} {new}: {found:?}"
        );
    }
}

#[test]
fn a_log_behind_the_catalog_is_damage() {
    let place = Place::new();
    drop(three(&place));
    let path = place.layout().receipts();
    let good = fs::read_to_string(&path).unwrap();
    let two: String = good.split_inclusive('\n').take(2).collect();
    for (bad, broken) in [
        (two.as_str(), 3),
        ("", 3),
        (&good.replace("\"uid\":7", "\"uid\":8"), 3),
    ] {
        fs::write(&path, bad).unwrap();
        let is_it =
            |error: &StoreError| matches!(error, StoreError::Chain { number, .. } if *number == broken);
        // What is stored can be read all the same, with a warning; nothing is written.
        let read = Store::open_read(&place.root).unwrap().unwrap();
        assert!(read.warnings().iter().any(is_it), "{:?}", read.warnings());
        assert_eq!(read.catalog().instances().unwrap().len(), 1);
        let write = Store::open_write(&place.root).map(drop).unwrap_err();
        assert!(is_it(&write), "{write:?}");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(
        Store::open_write(&place.root),
        Err(StoreError::Chain { .. })
    ));
    let mended = mend_chain(&place.layout(), false).unwrap().unwrap();
    assert_eq!((mended.links, mended.regained), (3, 3));
    assert_eq!(fs::read_to_string(&path).unwrap(), good);
    let next = place.write().append(at(9), 0, &instance(1), end()).unwrap();
    assert_eq!(next.number, 4);
}

#[test]
fn a_chain_is_mended_from_the_copy_that_the_catalog_has_and_only_from_that() {
    let place = Place::new();
    drop(three(&place));
    let (path, layout) = (place.layout().receipts(), place.layout());
    let good = fs::read_to_string(&path).unwrap();
    assert_eq!(mend_chain(&layout, false).unwrap(), None);
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let harmed = [
        (good.replacen("no\\nroom", "no\\nmoor", 1), 2),
        ([lines[0], lines[2]].concat(), 2),
        ([lines[1], lines[0], lines[2]].concat(), 3),
        (lines[0].to_owned(), 2),
        ("nonsense".to_owned(), 3),
    ];
    for (at, (bad, regained)) in harmed.iter().enumerate() {
        fs::write(&path, bad).unwrap();
        let mended = mend_chain(&layout, false).unwrap().unwrap();
        assert_eq!((mended.links, mended.regained), (3, *regained), "{bad}");
        assert_eq!(fs::read_to_string(&path).unwrap(), good);
        assert_eq!(fs::read_to_string(&mended.aside).unwrap(), *bad);
        assert!(mended.aside.ends_with(format!("receipts.log.damaged-{}", at + 1)));
        // The catalog is made anew, with the places of the new file.
        assert_eq!(place.write().receipts().unwrap().len(), 3);
    }
    // Without a copy nothing is guessed.
    fs::write(&path, &harmed[0].0).unwrap();
    fs::remove_file(layout.catalog()).unwrap();
    assert!(matches!(
        mend_chain(&layout, false),
        Err(StoreError::Chain { number: 2, .. })
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), harmed[0].0);
    let mended = mend_chain(&layout, true).unwrap().unwrap();
    assert_eq!((mended.links, mended.regained), (1, 0));
    assert_eq!(fs::read_to_string(&path).unwrap(), lines[0]);
    assert_eq!(
        place
            .write()
            .append(at(9), 0, &instance(1), end())
            .unwrap()
            .number,
        2
    );
}

#[test]
fn a_whole_link_that_the_copy_lacks_is_lost_wherever_it_stands() {
    let place = Place::new();
    let (store, layout) = (three(&place), place.layout());
    let behind = fs::read(layout.catalog()).unwrap();
    for second in 3..5 {
        store.append(at(second), 7, &instance(1), end()).unwrap();
    }
    drop(store);
    // The catalog has three links, of the fourth nothing is left, and the fifth is whole.
    fs::write(layout.catalog(), behind).unwrap();
    let text = fs::read_to_string(layout.receipts()).unwrap();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    (lines[1], lines[3]) = ("x\n", "x\n");
    fs::write(layout.receipts(), lines.concat()).unwrap();
    assert!(matches!(
        mend_chain(&layout, false),
        Err(StoreError::Chain { number: 2, .. })
    ));
    let mended = mend_chain(&layout, true).unwrap().unwrap();
    assert_eq!((mended.links, mended.lost), (3, true));
}

#[test]
fn a_copy_that_tells_another_story_mends_nothing() {
    let place = Place::new();
    drop(three(&place));
    let other = Place::new();
    {
        let store = other.write();
        store.append(at(5), 1, &instance(2), begin("/srv/two")).unwrap();
        store.append(at(6), 1, &instance(2), end()).unwrap();
    }
    let (path, layout) = (place.layout().receipts(), place.layout());
    fs::copy(other.layout().catalog(), layout.catalog()).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    fs::write(&path, good.replacen("no\\nroom", "no\\nmoor", 1)).unwrap();
    assert!(matches!(
        mend_chain(&layout, false),
        Err(StoreError::Chain { number: 2, .. })
    ));
}

#[test]
fn nothing_is_appended_behind_damage() {
    let place = Place::new();
    let store = three(&place);
    let path = place.layout().receipts();
    let mut bad = fs::read(&path).unwrap();
    let end = bad.len();
    bad[end - 3] ^= 1;
    fs::write(&path, &bad).unwrap();
    assert!(matches!(
        store.append(at(3), 0, &instance(1), super::end()),
        Err(StoreError::Chain { .. })
    ));
    assert_eq!(fs::read(&path).unwrap(), bad);
}

#[test]
fn many_who_append_make_one_chain() {
    const THREADS: u8 = 4;
    const EACH: u8 = 8;
    let place = Place::new();
    drop(place.write());
    let shared = place.write();
    std::thread::scope(|scope| {
        for n in 0..THREADS {
            let (place, shared) = (&place, &shared);
            scope.spawn(move || {
                let own = place.write();
                for step in 0..EACH {
                    // Two threads share a handle, the others have their own.
                    let store = if n < 2 { shared } else { &own };
                    store.append(at(i64::from(step)), 0, &instance(n), end()).unwrap();
                }
            });
        }
    });
    let receipts = shared.receipts().unwrap();
    assert_eq!(receipts.len(), usize::from(THREADS * EACH));
    for n in 0..THREADS {
        let own: Vec<i64> = receipts
            .iter()
            .filter(|r| r.instance == Some(instance(n)))
            .map(|r| r.at.sec)
            .collect();
        assert_eq!(
            own,
            (0..EACH).map(|step| at(i64::from(step)).sec).collect::<Vec<_>>()
        );
    }
    // The catalog followed all of them.
    let all: usize = (0..THREADS)
        .map(|n| shared.catalog().receipts_of(&instance(n)).unwrap().len())
        .sum();
    assert_eq!(all, receipts.len());
    assert_eq!(answers(place.read().catalog()), answers(shared.catalog()));
}

#[test]
fn a_linked_log_is_not_followed() {
    let place = Place::new();
    drop(place.write());
    let outside = place.root.join("../outside");
    fs::write(&outside, "").unwrap();
    symlink("../outside", place.layout().receipts()).unwrap();
    assert!(Store::open_write(&place.root).is_err());
    assert!(Store::open_read(&place.root).is_err());
    assert_eq!(fs::read(&outside).unwrap(), b"");
}

#[test]
fn a_receipt_of_a_newer_version_is_not_called_damage() {
    let place = Place::new();
    let store = three(&place);
    let path = place.layout().receipts();
    let log = fs::read_to_string(&path).unwrap();
    let last = log.lines().next_back().unwrap();
    let json = last
        .split_at(65)
        .1
        .replace("\"act\":\"end\"", "\"act\":\"prune\"");
    assert!(json.contains("prune"));
    let first_two: String = log.split_inclusive('\n').take(2).collect();
    let newer = format!("{first_two}{} {json}\n", Digest::of(json.as_bytes()));
    fs::write(&path, &newer).unwrap();
    fs::remove_file(place.layout().catalog()).unwrap();
    let found = [
        store.receipts().map(drop),
        Store::open_read(&place.root).map(drop),
        Store::open_write(&place.root).map(drop),
    ];
    for error in found {
        assert!(
            matches!(error, Err(StoreError::UnknownReceipt { number: 3, .. })),
            "{error:?}"
        );
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
}
