//! The one list of places and file names that usually hold secrets: places below a home never enter an archive, and what is called so anywhere
//! is not shown.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::model::RelPath;

/// Below the home directory: the operator's own secrets.
pub(super) const PLACES: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".config/gcloud",
    ".kube",
    ".docker",
    ".config/gh",
    ".netrc",
    ".npmrc",
    ".git-credentials",
    ".config/op",
    // Of macOS: agents and tools keep their logins there.
    "Library/Keychains",
];

/// Names of copies of such places.
const COPIED_PLACES: [&str; 2] = [".op", "gcloud"];

/// Names of files of secrets that begin with a dot.
pub(super) const HIDDEN_FILES: &[&str] = &[
    ".env",
    ".envrc",
    ".npmrc",
    ".netrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".gitcookies",
    ".dockercfg",
    ".my.cnf",
    ".mylogin.cnf",
    ".credentials.json",
];

/// Other names of files of secrets.
const FILES: &[&str] = &[
    "_netrc",
    "auth.json",
    "mcp-auth.json",
    "oauth_creds.json",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "secrets.json",
    "secrets.toml",
    "cookies.txt",
    "cookies.sqlite",
    "hosts.yml",
];

/// Endings of files of secrets.
pub(super) const ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".kdbx", ".env"];

/// Endings that editors and people give to a copy.
const COPIES: [&str; 6] = ["~", ".bak", ".backup", ".old", ".orig", ".save"];

/// Endings of files without secrets that show what to fill in.
const EXAMPLES: [&str; 4] = ["example", "sample", "template", "dist"];

/// Returns true if files of this name, or in this place, usually hold secrets. The place is that on the host: a mount that begins in `.aws`
/// lies in it.
#[must_use]
pub fn is_named_secret(root: &Path, path: &RelPath) -> bool {
    let name = path.split().map(|(_, name)| name.as_bytes().to_ascii_lowercase());
    let name = name.unwrap_or_default();
    let mut copies = COPIES.iter();
    let copied = copies.find_map(|ending| name.strip_suffix(ending.as_bytes()));
    is_secret_file(&name) || copied.is_some_and(is_secret_file) || is_in_place(root, path)
}

/// Returns true for the name of a file of secrets, in small letters.
fn is_secret_file(name: &[u8]) -> bool {
    let ends = |ending: &str| name.ends_with(ending.as_bytes());
    let is_example = EXAMPLES.iter().any(|example| ends(example));
    let is_variant = match name.strip_prefix(b".env") {
        Some([b'.', ..]) => !ends(".example") && !ends(".sample"),
        // Behind a dot stands the language of a program.
        Some([b'-' | b'_', rest @ ..]) => !rest.contains(&b'.') && !is_example,
        _ => false,
    };
    is_variant
        || name.starts_with(b"id_") && !ends(".pub") && !name.contains(&b'.')
        || HIDDEN_FILES
            .iter()
            .chain(FILES)
            .any(|known| name == known.as_bytes())
        || ENDINGS.iter().any(|ending| ends(ending))
}

/// Returns true for a path in a place of secrets. Of a mount's root only names that begin with a dot count, and places of several parts: a
/// checkout or a machine may be called like one.
fn is_in_place(root: &Path, path: &RelPath) -> bool {
    let mut parts: Vec<&[u8]> = root.iter().map(OsStr::as_bytes).collect();
    // The scheme and the machine.
    if root.as_os_str().as_bytes().windows(3).any(|part| part == b"://") {
        parts.drain(..parts.len().min(2));
    }
    let above = parts.len();
    parts.extend(path.parts());
    let is_here = |(at, part): (usize, &&[u8])| {
        let is_place = |place: &&str| {
            let names = place.split('/');
            let count = names.clone().count();
            let here = parts.get(at..at + count).unwrap_or_default();
            let is_certain = count > 1 || at >= above || part.starts_with(b".");
            is_certain
                && here.len() == count
                && names
                    .zip(here)
                    .all(|(name, part)| part.eq_ignore_ascii_case(name.as_bytes()))
        };
        PLACES.iter().chain(&COPIED_PLACES).any(is_place)
    };
    parts.iter().enumerate().any(is_here)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::is_named_secret;
    use crate::model::RelPath;

    fn is_secret(root: &str, path: &str) -> bool {
        is_named_secret(Path::new(root), &RelPath::new(path.as_bytes()).unwrap())
    }

    #[test]
    fn places_and_names_are_those_of_the_list() {
        for path in [
            ".pgpass",
            "a/.PGPASS",
            ".cargo/credentials.toml",
            "_netrc",
            ".dockercfg",
            ".my.cnf",
            ".env~",
            ".env.bak",
            ".env-prod",
            ".netrc.old",
            "server.key~",
            "id_rsa.bak",
            ".config/op/config",
            "backup/.config/gh/config.yml",
            "Library/Keychains/login.keychain-db",
            ".gemini/oauth_creds.json",
        ] {
            assert!(is_secret("/src", path), "{path}");
        }
        assert!(is_secret("/home/ann/.config", "op/config"));
        assert!(is_secret("/home/ann/Library/Keychains", "k"));
    }

    #[test]
    fn names_like_them_are_not() {
        for path in [
            "gcloud.rs",
            "src/pgpass.rs",
            "op/config",
            "gh/config.yml",
            "cookies.rs",
            "tokenizer.json",
            "tokens.json",
            ".env-example",
            ".env-loader.js",
            ".environment",
            ".env.example",
            "main.rs~",
            "notes.bak",
            "~",
            "keychains/k",
            "docker/config.json",
            "credentials.rs",
            "id_card.txt.bak",
        ] {
            assert!(!is_secret("/src", path), "{path}");
        }
        assert!(!is_secret("/src/gcloud", "main.rs"));
        assert!(!is_secret("ssh://op/config", "main.rs"));
    }
}
