//! Hides credentials in a line of text: the user and password of an address, and the value of `Authorization:`.

use settings_redaction::{Strictness, is_secret_user};

const HIDDEN: &[u8] = b"(hidden)";
/// Most bytes of an address before its host.
const LONGEST: usize = 64 << 10;
const AUTHORIZATION: &[u8] = b"authorization:";

/// Returns the line without credentials. Everything else stays.
#[must_use]
pub fn masked(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.windows(3).position(|window| window == b"://") {
        let (before, after) = rest.split_at(at + 3);
        out.extend_from_slice(before);
        let end = after.iter().position(|byte| is_end(*byte)).unwrap_or(after.len());
        let (authority, behind) = after.split_at(end);
        match authority.iter().rposition(|byte| *byte == b'@') {
            Some(user) if is_secret(authority.get(..user).unwrap_or_default()) => {
                out.extend_from_slice(HIDDEN);
                out.extend_from_slice(authority.get(user..).unwrap_or_default());
            }
            _ => out.extend_from_slice(authority),
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
    let lower = out.to_ascii_lowercase();
    let header = lower
        .windows(AUTHORIZATION.len())
        .position(|window| window == AUTHORIZATION);
    if let Some(at) = header {
        out.truncate(at + AUTHORIZATION.len());
        out.push(b' ');
        out.extend_from_slice(HIDDEN);
    }
    out
}

/// Returns the position before which the begin of a long line may be masked apart from its rest: no login goes on behind it.
///
/// An address of more than 64 KiB without a character that ends its login has none.
#[must_use]
pub fn end_of_logins(line: &[u8]) -> usize {
    // The last bytes may begin an address or a header.
    let mut cut = line.len().saturating_sub(AUTHORIZATION.len());
    // One may lie in the other.
    while let Some(begin) = header_at(line, cut).or_else(|| address_at(line, cut)) {
        cut = begin;
    }
    cut
}

/// Returns the position of the name of a header that lies on both sides of `cut`.
fn header_at(line: &[u8], cut: usize) -> Option<usize> {
    let around = AUTHORIZATION.len() - 1;
    let begin = cut.saturating_sub(around);
    let near = line.get(begin..line.len().min(cut + around))?;
    let mut windows = near.windows(AUTHORIZATION.len());
    let at = windows.position(|window| window.eq_ignore_ascii_case(AUTHORIZATION))?;
    Some(begin + at).filter(|at| *at < cut)
}

/// Returns the position of the `://` of an address whose login may lie on both sides of `cut`.
fn address_at(line: &[u8], cut: usize) -> Option<usize> {
    const MARK: &[u8] = b"://";
    let begin = cut.saturating_sub(LONGEST);
    let before = line.get(begin..line.len().min(cut + MARK.len() - 1))?;
    let at = before.windows(MARK.len()).rposition(|window| window == MARK)?;
    let login = line.get(begin + at + MARK.len()..cut).unwrap_or_default();
    let is_open = !login.iter().any(|byte| is_end(*byte));
    Some(begin + at).filter(|at| is_open && *at < cut)
}

/// Returns true if [`masked`] hides the rest of the line, however long it is.
#[must_use]
pub fn masks_the_rest(line: &[u8]) -> bool {
    let mut windows = line.windows(AUTHORIZATION.len());
    windows.any(|window| window.eq_ignore_ascii_case(AUTHORIZATION))
}

fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"/?#\"'`<>|\\".contains(&byte)
}

fn is_secret(user: &[u8]) -> bool {
    is_secret_user(&String::from_utf8_lossy(user), Strictness::Shown)
}

#[cfg(test)]
mod tests {
    use super::{end_of_logins, masked, masks_the_rest};

    #[test]
    fn no_login_is_cut() {
        for line in [
            "a https://me:hunter2@host b",
            "a https://me:hunter2@host/x b",
            "x=1,redis://:hunter2@h",
            "a Authorization: Basic hunter2",
            "https://authorization:hunter2@host",
        ] {
            for cut in 0..=line.len() {
                let (begin, _) = line.split_at(cut);
                let (begin, rest) = line.split_at(end_of_logins(begin.as_bytes()));
                let shown = [begin, rest].map(|part| masked(part.as_bytes())).concat();
                let is_masked = masks_the_rest(begin.as_bytes());
                let shown = String::from_utf8(shown).unwrap();
                assert!(is_masked || !shown.contains("nter2"), "{line} at {cut}: {shown}");
            }
        }
        // A text without any is cut near its end.
        assert!(end_of_logins(&[b'a'; 1 << 20]) > (1 << 20) - 100);
        assert!(end_of_logins(&[b"://".as_slice(), &[b'a'; 1 << 20]].concat()) > (1 << 20) - 100);
    }

    #[test]
    fn what_signs_in_is_hidden_and_nothing_else() {
        for (line, expected) in [
            (
                "\turl = https://me:hunter2@example.org/x.git",
                "\turl = https://(hidden)@example.org/x.git",
            ),
            ("https://ghp_0123456789abcdef@h/x", "https://(hidden)@h/x"),
            (
                "a \"redis://:pw@h:1\" b ssh://u:p@h b",
                "a \"redis://(hidden)@h:1\" b ssh://(hidden)@h b",
            ),
            (
                "extraheader = AUTHORIZATION: basic abc",
                "extraheader = AUTHORIZATION: (hidden)",
            ),
            (
                "git@host:x ssh://git@host/x https://h/@x:y@z",
                "git@host:x ssh://git@host/x https://h/@x:y@z",
            ),
            ("https://me:@h", "https://me:@h"),
            ("://", "://"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8(masked(line.as_bytes())).unwrap(), expected);
        }
    }
}
