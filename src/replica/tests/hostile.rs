//! Attacks with access to the bucket and knowledge of the recipients: objects are removed, exchanged or forged, and the import
//! reports it.

use super::*;

/// A bucket with three snapshots, and the name of its store.
fn full() -> (Bench, Memory, String) {
    let (bench, bucket) = (Bench::new(), Memory::new());
    (1..=2).for_each(|n| drop(bench.add(n)));
    bench.push(&bucket).0.unwrap();
    bench.add(3);
    bench.push(&bucket).0.unwrap();
    let store = bench.identity().id.to_string();
    (bench, bucket, store)
}

/// Returns all problems that an import reports, one per line.
fn troubles(bench: &Bench, bucket: &Memory) -> String {
    let keys = identities(IDENTITY);
    let remote = match Remote::open(bucket, bench.identity().id, &keys, &Silent) {
        Ok(remote) => remote,
        Err(error) => return error.to_string(),
    };
    let (index, mut all) = remote.index().unwrap();
    all.extend(Remote::strange(&index));
    let chain = remote.chain(&index).unwrap();
    all.extend(chain.troubles.clone());
    let found = remote.records(&index, &chain).unwrap();
    let (records, more) = (found.records, found.troubles);
    all.extend(more);
    for archive in records.iter().flat_map(|record| &record.archives) {
        let read = remote
            .resolve(&index, archive)
            .and_then(|archive| remote.archive(&index, &archive, &mut |_| Ok(())).unwrap());
        all.extend(read.err());
    }
    all.join("\n")
}

#[test]
fn an_object_that_is_gone_is_named() {
    let (bench, bucket, store) = full();
    assert_eq!(troubles(&bench, &bucket), "");
    for name in bucket.names() {
        let (_, before, tag) = bucket
            .all()
            .into_iter()
            .find(|(other, ..)| *other == name)
            .unwrap();
        bucket.remove(&name);
        let told = troubles(&bench, &bucket);
        let short = name.strip_prefix(&format!("{store}/")).unwrap();
        let named = match short.split('/').next().unwrap() {
            "snapshots" => short.trim_start_matches("snapshots/").trim_end_matches(".age"),
            "archives" => short,
            "receipts" if short.ends_with("001.age") => "receipts 1 to 3 are not there",
            // The end of the chain: nothing in the bucket can tell that it is missing.
            "receipts" => "",
            "keys" => "has no ",
            other => panic!("{other}"),
        };
        assert!(told.contains(named), "{name}: {told}");
        bucket.add(&name, &before, tag);
    }
    assert_eq!(troubles(&bench, &bucket), "");
}

#[test]
fn a_changed_byte_is_noticed_wherever_it_is() {
    let (bench, bucket, _) = full();
    for name in bucket.names() {
        let length = bucket
            .all()
            .into_iter()
            .find(|(other, ..)| *other == name)
            .unwrap()
            .1
            .len();
        for place in [0, 30, length / 2, length - 1] {
            bucket.change(&name, |bytes| bytes[place] ^= 1);
            let told = troubles(&bench, &bucket);
            assert!(!told.is_empty(), "{name} at {place}");
            bucket.change(&name, |bytes| bytes[place] ^= 1);
        }
        let cut = length / 2;
        let mut rest = Vec::new();
        bucket.change(&name, |bytes| rest = bytes.split_off(cut));
        assert!(!troubles(&bench, &bucket).is_empty(), "{name} cut");
        bucket.change(&name, |bytes| bytes.append(&mut rest));
    }
    assert_eq!(troubles(&bench, &bucket), "");
}

#[test]
fn exchanged_objects_are_noticed() {
    let (bench, bucket, store) = full();
    let names = bucket.names();
    for one in &names {
        for other in names.iter().filter(|other| *other > one) {
            bucket.exchange(one, other);
            let told = troubles(&bench, &bucket);
            assert!(
                told.contains("exchanged") || told.contains("is not the key"),
                "{one} {other}: {told}"
            );
            bucket.exchange(one, other);
        }
    }
    // Nor does one of another store do.
    let (_, foreign, theirs) = full_of_another();
    for (name, bytes, tag) in foreign.all() {
        let Some(rest) = name.strip_prefix(&format!("{theirs}/")) else {
            continue;
        };
        let here = format!("{store}/{rest}");
        let Some((_, own, own_tag)) = bucket.all().into_iter().find(|(other, ..)| *other == here) else {
            continue;
        };
        bucket.add(&here, &bytes, tag);
        let told = troubles(&bench, &bucket);
        assert!(told.contains("exchanged"), "{here}: {told}");
        bucket.add(&here, &own, own_tag);
    }
}

fn full_of_another() -> (Bench, Memory, String) {
    let (bench, bucket) = (Bench::new(), Memory::new());
    bench.entropy.0.store(200, Ordering::Relaxed);
    (1..=3).for_each(|n| drop(bench.add(n)));
    bench.push(&bucket).0.unwrap();
    let store = bench.identity().id.to_string();
    (bench, bucket, store)
}

#[test]
fn who_knows_the_recipients_alone_can_make_nothing_that_is_believed() {
    let (bench, bucket, store) = full();
    let names = [RECIPIENT.to_owned()];
    let recipients = Recipients::parse(&names).unwrap();
    // The store's name stands in the bucket; its key does not.
    let guessed = ReplicaIdentity {
        id: bench.identity().id,
        key: [9; 32],
    };
    for name in bucket.names() {
        let (_, own, tag) = bucket
            .all()
            .into_iter()
            .find(|(other, ..)| *other == name)
            .unwrap();
        let short = name.strip_prefix(&format!("{store}/")).unwrap();
        let payload = b"anything at all\n";
        let mac = envelope::mac(&guessed, short, payload);
        let forged = envelope::seal(&guessed, &recipients, short, &mac, payload).unwrap();
        bucket.add(&name, &forged, Some(Tag { mac, last: None }));
        let told = troubles(&bench, &bucket);
        assert!(
            told.contains("was not written by the store") || short.starts_with("keys"),
            "{name}: {told}"
        );
        assert!(!told.is_empty(), "{name}");
        bucket.add(&name, &own, tag);
    }
    // A second key, which opens: then nobody can tell which is ours.
    let other = Name::of_key(&guessed.key, &names).to_string();
    let note = envelope::key_note(&guessed).unwrap();
    let mac = envelope::mac(&guessed, &other, &note);
    let forged = envelope::seal(&guessed, &recipients, &other, &mac, &note).unwrap();
    bucket.add(&format!("{store}/{other}"), &forged, None);
    let told = troubles(&bench, &bucket);
    assert!(told.contains("two keys"), "{told}");
    bucket.remove(&format!("{store}/{other}"));
    bucket.add(&format!("{store}/readme.txt"), b"hello", None);
    assert!(troubles(&bench, &bucket).contains("readme.txt"));
}

#[test]
fn another_private_key_opens_nothing() {
    let (bench, bucket, _) = full();
    let keys = identities(OTHER);
    let error = Remote::open(&bucket, bench.identity().id, &keys, &Silent)
        .err()
        .unwrap();
    assert!(matches!(error, ReplicaError::NoIdentity { .. }), "{error}");
    let nobody = StoreId::new([0; 12]);
    let keys = identities(IDENTITY);
    let error = Remote::open(&bucket, nobody, &keys, &Silent).err().unwrap();
    assert!(matches!(error, ReplicaError::UnknownStore { .. }), "{error}");
    assert!(stores(&Memory::new()).unwrap().is_empty());
}

#[test]
fn other_recipients_get_a_key_of_their_own() {
    let (bench, bucket, _) = full();
    let ssh = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBqd2yequ7lgkGFQ1K6M151Dp8SNBUTuIMg3fAgR/ZgH me@host";
    let names = [RECIPIENT.to_owned(), ssh.to_owned()];
    let recipients = Recipients::parse(&names).unwrap();
    bench.add(4);
    let mut copying = Copying::new(
        &bench.store,
        &bucket,
        bench.identity(),
        (&recipients, &names),
        place(),
        &Silent,
    )
    .unwrap()
    .in_parts_of(PART);
    copying.run().unwrap();
    let keys: Vec<String> = bucket
        .names()
        .into_iter()
        .filter(|name| name.contains("/keys/"))
        .collect();
    assert_eq!(keys.len(), 2);
    is_whole(&bench, &bucket);
}

#[test]
fn what_consoles_put_there_for_folders_is_no_object() {
    let (bench, bucket, store) = full();
    for name in ["", "archives/", "snapshots/"] {
        bucket.add(&format!("{store}/{name}"), b"", None);
    }
    assert_eq!(troubles(&bench, &bucket), "");
    bucket.add(&format!("{store}/archives/notes.txt"), b"", None);
    let told = troubles(&bench, &bucket);
    assert!(told.ends_with("did not put there: archives/notes.txt"), "{told}");
}
