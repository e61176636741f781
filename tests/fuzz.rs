//! The fuzz targets on stable: the committed corpus, and a fixed number of changed copies of it, the same in every run.
//! `JACKIN_FUZZ_ROUNDS` asks for more or fewer a target, `JACKIN_FUZZ_SEED` for others; `JACKIN_BLESS=1` writes the seeds anew.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "a promise that does not hold is a panic, and the targets are another crate's as well"
)]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// An entry point, and how many changed inputs it is given by default.
type Target = (&'static str, fn(&[u8]) -> bool, u64);

/// The slow ones work on a file system.
const TARGETS: [Target; 10] = [
    ("archive", targets::archive, 400),
    ("config", targets::config, 200),
    ("git", targets::git, 1000),
    ("manifest", targets::manifest, 3000),
    ("papers", targets::papers, 100),
    ("patch", targets::patch, 1000),
    ("receipts", targets::receipts, 40),
    ("record", targets::record, 200),
    ("stream", targets::stream, 400),
    ("text", targets::text, 1000),
];

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(target)
}

/// What is committed, by name.
fn committed(target: &str) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(corpus(target)).unwrap().map(Result::unwrap);
    let inputs: BTreeMap<_, _> = files
        .map(|file| {
            (
                file.file_name().into_string().unwrap(),
                fs::read(file.path()).unwrap(),
            )
        })
        .collect();
    assert!(!inputs.is_empty(), "{target} has no corpus");
    inputs
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// Numbers that look random and are the same for the same seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Bytes that mean something to some reader.
const WORDS: [&[u8]; 17] = [
    b"..",
    b"/",
    b"\0",
    b"../../outside",
    b"/w/outside",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\0",
    b"-1",
    b"18446744073709551615",
    b"\"",
    b"null",
    b"{}",
    b"\n",
    b"\r",
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"[recovery]\n",
];

/// A copy of one input with some of it changed, maybe by a part of another one.
fn changed(inputs: &[&Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = inputs[numbers.below(inputs.len())].clone();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len() + 1);
        let end = at + numbers.below((bytes.len() - at).min(24) + 1);
        match numbers.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << numbers.below(8),
            1 if at < bytes.len() => bytes[at] = numbers.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = numbers.below(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
            5 => {
                let other = inputs[numbers.below(inputs.len())];
                let from = numbers.below(other.len() + 1);
                let part = other[from..(from + 40).min(other.len())].to_vec();
                drop(bytes.splice(at..end, part));
            }
            6 => {
                let digits = bytes[at..].iter().position(u8::is_ascii_digit);
                if let Some(digit) = digits {
                    bytes[at + digit] = b'0' + numbers.below(10) as u8;
                }
            }
            7 => {
                let quotes: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'"').collect();
                if let [open, close] = quotes
                    .windows(2)
                    .nth(numbers.below(quotes.len()))
                    .unwrap_or_default()
                {
                    drop(bytes.splice(
                        open + 1..*close,
                        WORDS[numbers.below(WORDS.len())].iter().copied(),
                    ));
                }
            }
            _ => drop(bytes.splice(at..end, WORDS[numbers.below(WORDS.len())].iter().copied())),
        }
    }
    bytes
}

fn try_all(name: &str) {
    let (_, target, rounds) = TARGETS.into_iter().find(|(target, ..)| *target == name).unwrap();
    let rounds = variable("JACKIN_FUZZ_ROUNDS").unwrap_or(rounds);
    let seed = variable("JACKIN_FUZZ_SEED").unwrap_or(1);
    let inputs = committed(name);
    for (file, bytes) in &inputs {
        let tried = catch_unwind(AssertUnwindSafe(|| target(bytes)));
        assert!(tried.is_ok(), "fuzz/corpus/{name}/{file}");
    }
    let inputs: Vec<&Vec<u8>> = inputs.values().collect();
    for round in 0..rounds {
        let mut numbers = Numbers(seed << 32 | round);
        let bytes = changed(&inputs, &mut numbers);
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            let kept = std::env::temp_dir().join(format!("fuzz-{name}-{seed}-{round}"));
            fs::write(&kept, &bytes).unwrap();
            panic!(
                "{name}: round {round} of JACKIN_FUZZ_SEED={seed}; the input is in {}",
                kept.display()
            );
        }
    }
}

#[test]
fn archives_of_any_bytes() {
    try_all("archive");
}

#[test]
fn configurations_of_any_bytes() {
    try_all("config");
}

#[test]
fn repositories_of_any_files() {
    try_all("git");
}

#[test]
fn manifests_of_any_bytes() {
    try_all("manifest");
}

#[test]
fn papers_that_say_anything() {
    try_all("papers");
}

#[test]
fn patches_of_any_contents() {
    try_all("patch");
}

#[test]
fn chains_of_any_receipts() {
    try_all("receipts");
}

#[test]
fn records_of_any_bytes() {
    try_all("record");
}

#[test]
fn archives_that_lie() {
    try_all("stream");
}

#[test]
fn text_of_any_bytes() {
    try_all("text");
}

/// What is refused at once tries nothing behind it. What has to be refused is.
#[test]
fn every_seed_gets_to_the_end() {
    for (of, name, bytes) in targets::seeds() {
        let (_, target, _) = TARGETS.into_iter().find(|(target, ..)| *target == of).unwrap();
        assert_eq!(target(&bytes), !name.starts_with("refused"), "{of}/{name}");
    }
}

/// The seeds are what the program's code makes today; a form that changed is seen here.
#[test]
fn the_seeds_are_those_that_our_code_makes() {
    let seeds = targets::seeds();
    if std::env::var_os("JACKIN_BLESS").is_some() {
        for (target, name, bytes) in &seeds {
            fs::create_dir_all(corpus(target)).unwrap();
            fs::write(corpus(target).join(name), bytes).unwrap();
        }
    }
    for (target, name, bytes) in &seeds {
        assert!(
            committed(target).get(*name) == Some(bytes),
            "{target}/{name}: JACKIN_BLESS=1 writes it anew"
        );
    }
    for (target, ..) in TARGETS {
        assert!(seeds.iter().any(|(of, ..)| *of == target), "{target} has no seed");
        assert!(
            committed(target).values().all(|bytes| bytes.len() < 12 << 10),
            "{target}: keep the corpus small"
        );
    }
}
