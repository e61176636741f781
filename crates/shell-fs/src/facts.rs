//! Facts as `stat -c` tells them, of GNU and of busybox alike. A name ends with `//`, which no path has in it.

use rustix::io::Errno;

use handle_fs::remote::protocol::{Bytes, Facts};

/// Format string for `stat`; the shell has it as `$F`.
pub(super) const FORMAT: &str = "%f|%u|%g|%s|%b|%B|%Y|%y|%Z|%z|%i|%d|%h|%t|%T|%n//";
/// Number of fields before the name.
const WORDS: usize = 15;

/// A record: whose facts, and the facts.
pub(super) type Record = (Vec<u8>, Facts);

/// The records of an output.
///
/// # Errors
/// `IO` when it is none: a tool of another kind, or one that was killed.
pub(super) fn records(out: &[u8], whole_seconds: bool) -> Result<Vec<Record>, Errno> {
    let mut found = Vec::new();
    let mut rest = out;
    while !rest.is_empty() {
        let (record, after) = record(rest, whole_seconds).ok_or(Errno::IO)?;
        found.push(record);
        rest = after;
    }
    Ok(found)
}

/// The only record of an output.
///
/// # Errors
/// As [`records`].
pub(super) fn only(out: &[u8], whole_seconds: bool) -> Result<Facts, Errno> {
    match records(out, whole_seconds)?.as_slice() {
        [(_, facts)] => Ok(*facts),
        _ => Err(Errno::IO),
    }
}

fn record(text: &[u8], whole_seconds: bool) -> Option<(Record, &[u8])> {
    let mut words: [&[u8]; WORDS] = [b""; WORDS];
    let mut rest = text;
    for word in &mut words {
        let end = rest.iter().position(|byte| *byte == b'|')?;
        (*word, rest) = (rest.get(..end)?, rest.get(end + 1..)?);
    }
    let end = memchr::memmem::find(rest, b"//\n")?;
    let (name, after) = (rest.get(..end)?.to_vec(), rest.get(end + 3..)?);
    let [
        mode,
        uid,
        gid,
        size,
        blocks,
        block,
        mtime,
        mtime_clock,
        ctime,
        ctime_clock,
        ino,
        device,
        nlink,
        major,
        minor,
    ] = words;
    let mode = u32::from_str_radix(text_of(mode)?, 16).ok()?;
    let kind = match mode & 0o170_000 {
        0o100_000 => 0,
        0o040_000 => 1,
        0o120_000 => 2,
        0o010_000 => 3,
        0o140_000 => 4,
        0o020_000 => 5,
        0o060_000 => 6,
        _ => 7,
    };
    let size = number(size)?;
    let hexadecimal = |word: &[u8]| u32::from_str_radix(text_of(word)?, 16).ok();
    let is_device = matches!(kind, 5 | 6);
    let allocated = number::<u64>(blocks)?.saturating_mul(number(block)?);
    let mtime = (number(mtime)?, fraction(mtime_clock)?);
    Some((
        (
            name,
            Facts {
                kind,
                mode: mode & 0o7777,
                owner: (number(uid)?, number(gid)?),
                size,
                // Where a file has holes cannot be asked: it is taken for one without.
                allocated: allocated.max(size),
                mtime: if whole_seconds { (mtime.0, 0) } else { mtime },
                ctime: (number(ctime)?, fraction(ctime_clock)?),
                ino: number(ino)?,
                born: None,
                nlink: number(nlink)?,
                rdev: if is_device {
                    (hexadecimal(major)?, hexadecimal(minor)?)
                } else {
                    (0, 0)
                },
                flags: 0,
                place: (number(device)?, 0),
            },
        ),
        after,
    ))
}

fn text_of(word: &[u8]) -> Option<&str> {
    std::str::from_utf8(word).ok()
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    text_of(word)?.parse().ok()
}

/// The nanoseconds of a time as it is written for people: `2026-11-23 02:17:00.123456789 +0000`. None are told of a time that is so far
/// away that it has no date.
fn fraction(clock: &[u8]) -> Option<u32> {
    match text_of(clock)?.split_once('.') {
        Some((_, digits)) => digits.get(..9)?.parse().ok(),
        None => Some(0),
    }
}

/// The name of a child in what `find .` and `stat ./…` print.
pub(super) fn child(name: &[u8]) -> Option<Bytes> {
    let name = name.strip_prefix(b"./")?;
    (!name.is_empty() && !name.contains(&b'/')).then(|| Bytes::from(name))
}

#[cfg(test)]
mod tests {
    use super::{child, records};

    const ONE: &str = "81a4|1|2|3|8|512|1577836800|2020-01-01 00:00:00.123456789 +0000|1795400692|\
                       2026-11-23 02:24:52.855854994 +0000|10013332|65024|1|0|0|";

    #[test]
    fn a_record_is_read_whatever_the_name() {
        for name in ["./a", "./a\nb", "./81a4|1|2//x", "./\n//\n."] {
            let text = format!("{ONE}{name}//\n{ONE}./z//\n");
            let name_ends = !name.contains("//\n");
            let found = records(text.as_bytes(), false);
            assert_eq!(found.is_ok_and(|found| found.len() == 2), name_ends, "{name:?}");
        }
        let text = format!("{ONE}./a\nb//\n");
        let (name, facts) = records(text.as_bytes(), false).unwrap().remove(0);
        assert_eq!(name, b"./a\nb");
        assert_eq!((facts.kind, facts.mode, facts.owner), (0, 0o644, (1, 2)));
        assert_eq!(facts.mtime, (1_577_836_800, 123_456_789));
        assert_eq!((facts.ctime.1, facts.allocated), (855_854_994, 4096));
        // A time that is too far away for a date.
        let far = ONE.replace(
            "1577836800|2020-01-01 00:00:00.123456789 +0000",
            "99999999999999999|99999999999999999.000000000",
        );
        let (_, odd) = records(format!("{far}./a//\n").as_bytes(), false)
            .unwrap()
            .remove(0);
        assert_eq!(odd.mtime, (99_999_999_999_999_999, 0));
        let (_, coarse) = records(text.as_bytes(), true).unwrap().remove(0);
        assert_eq!((coarse.mtime, coarse.ctime), ((1_577_836_800, 0), facts.ctime));
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        for text in [
            "x",
            "stat: cannot read\n",
            ONE.split_at(60).0,
            &format!("{ONE}./a"),
            &format!("{}./a//\n", ONE.replace("81a4", "zz")),
        ] {
            assert!(records(text.as_bytes(), false).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_lies_deeper_is_no_child() {
        assert!(child(b"./a b\n").is_some());
        for name in [b"./a/b".as_slice(), b"./", b".", b"a", b"../a"] {
            assert!(child(name).is_none(), "{name:?}");
        }
    }
}
