//! Remotes and submodules. Credentials in addresses are removed, so that no report shows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::reading::below;
use super::repository::Repository;

/// An address of a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its name.
    pub name: Arc<[u8]>,
    /// Its address, without credentials.
    pub url: Vec<u8>,
}

/// Submodule in `.gitmodules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    /// Its name.
    pub name: Arc<[u8]>,
    /// Path in the work tree; empty if not set.
    pub path: Vec<u8>,
    /// Address without credentials; empty if not set.
    pub url: Vec<u8>,
}

impl Repository<'_> {
    /// Returns the addresses of all remotes without credentials, also of those that are only pushed to.
    #[must_use]
    pub fn remotes(&self) -> Vec<Remote> {
        let entries = self.config.section("remote");
        let entries = entries.filter(|entry| matches!(entry.key.as_slice(), b"url" | b"pushurl"));
        let remotes = entries.filter_map(|entry| {
            Some(Remote {
                name: entry.subsection.clone()?,
                url: without_credentials(entry.value.as_deref()?),
            })
        });
        remotes.collect()
    }

    /// Returns the submodules in the work tree's `.gitmodules`, by name.
    #[must_use]
    pub fn submodules(&self) -> Vec<Submodule> {
        let config = self.config_at(&below(&self.work, ".gitmodules"));
        let mut found = BTreeMap::<Arc<[u8]>, Submodule>::new();
        for entry in config.section("submodule") {
            let (Some(name), Some(value)) = (&entry.subsection, &entry.value) else {
                continue;
            };
            let submodule = found.entry(Arc::clone(name)).or_insert_with(|| Submodule {
                name: Arc::clone(name),
                path: Vec::new(),
                url: Vec::new(),
            });
            match entry.key.as_slice() {
                b"path" => submodule.path.clone_from(value),
                b"url" => submodule.url = without_credentials(value),
                _ => {}
            }
        }
        found.into_values().collect()
    }
}

/// Returns an address without user and password. `git@` stays: it is the usual account on servers, and not secret.
#[must_use]
pub fn without_credentials(url: &[u8]) -> Vec<u8> {
    let scheme = url.windows(3).position(|three| three == b"://").map(|at| at + 3);
    let (scheme, rest) = url.split_at(scheme.unwrap_or_default());
    let slash = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
    let (host, _) = rest.split_at(slash);
    let last_at = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'@');
    // A slash in a password must be written as %2F; a password that breaks this rule must not be printed either.
    let is_cut = !scheme.is_empty() && last_at(host).is_none() && !is_host(host);
    let at = if is_cut { last_at(rest) } else { last_at(host) };
    let Some((user, rest)) = at.and_then(|at| rest.split_at_checked(at)) else {
        return url.to_vec();
    };
    // Without a scheme only `user@host:path` has a user: a path may hold an `@`.
    if scheme.is_empty() && !host.contains(&b':') {
        return url.to_vec();
    }
    let kept: &[u8] = if user == b"git" { b"git" } else { b"" };
    let rest = if kept.is_empty() {
        rest.strip_prefix(b"@").unwrap_or(rest)
    } else {
        rest
    };
    [scheme, kept, rest].concat()
}

/// Returns true for `host`, `host:123`, `[::1]:123`.
fn is_host(bytes: &[u8]) -> bool {
    let after = bytes.rsplit(|byte| *byte == b':').next().unwrap_or_default();
    !bytes.contains(&b':') || bytes.starts_with(b"[") || after.iter().all(u8::is_ascii_digit)
}
