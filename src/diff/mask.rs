//! Hides credentials in a line of text: the user and password of an address, and the value of `Authorization:`.

use settings_redaction::{Strictness, is_secret_user};

const HIDDEN: &[u8] = b"(hidden)";
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

fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"/?#\"'`<>|\\".contains(&byte)
}

fn is_secret(user: &[u8]) -> bool {
    is_secret_user(&String::from_utf8_lossy(user), Strictness::Shown)
}

#[cfg(test)]
mod tests {
    use super::masked;

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
