//! One object has one name, and a name says what it is.

use super::*;
use crate::model::ArchiveId;

#[test]
fn names_are_read_as_they_are_written() {
    let archive = ArchiveId::parse("ar-0123456789ab").unwrap();
    let names = [
        Name::of_key(&[1; 32], &["b".to_owned(), "a".to_owned()]),
        Name::Archive(archive.clone(), 1),
        Name::Archive(archive.clone(), 1_234_567),
        Name::Moved(archive.clone(), archive),
        Name::Record(snapshot(3)),
        Name::Receipts(1),
        Name::Receipts(u64::MAX),
    ];
    for name in names {
        assert_eq!(Name::parse(&name.to_string()), Some(name));
    }
    for text in [
        "",
        "keys/.age",
        "keys/0123.age",
        "archives/ar-0123456789ab/000000.age",
        "archives/ar-0123456789ab/1.age",
        "archives/ar-0123456789ab/+00001.age",
        "archives/../000001.age",
        "snapshots/rc-01234567-label.age",
        "snapshots/sn-000000000001",
        "receipts/1.age",
        "receipts/000000000000.age",
        "other/sn-000000000001.age",
    ] {
        assert_eq!(Name::parse(text), None, "{text}");
    }
}

#[test]
fn the_name_of_a_key_tells_of_recipients_only_whether_they_are_the_same() {
    let (a, b) = ("age1a".to_owned(), "age1b".to_owned());
    let of = |recipients: &[&String]| {
        let recipients: Vec<String> = recipients.iter().map(|one| (*one).clone()).collect();
        Name::of_key(&[1; 32], &recipients)
    };
    assert_eq!(of(&[&a, &b]), of(&[&b, &a]));
    assert_ne!(of(&[&a]), of(&[&a, &b]));
    assert_ne!(of(&[&a]), Name::of_key(&[2; 32], std::slice::from_ref(&a)));
}
