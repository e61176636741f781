//! What is recorded of credentials in agents' state: that they are there, their metadata, and a digest that only the store's key makes
//! comparable. Nothing of their content leaves this file.

use std::ffi::OsStr;
use std::io::{self, Read as _};

use crate::mount::{Dir, Root};
use crate::platform::{NodeKind, Stat};
use crate::snapshot::{Coverage, Digest, RelPath, WithheldFact, WithheldReason};
use crate::store::{DigestKey, Store, StoreError};

/// A larger file is no credential; that it is there is enough.
const LARGEST: u64 = 16 << 20;
/// So many files and directories of one that is withheld as a whole.
const MOST: usize = 1000;
/// So deep.
const DEEPEST: usize = 16;

/// Looks at every credential that a coverage withholds.
pub(super) fn withheld_facts(root: &Root, coverage: &Coverage, key: &DigestKey) -> Vec<WithheldFact> {
    let mut look = Look {
        key,
        found: Vec::new(),
        left: MOST,
    };
    let is_tracked = |path: &RelPath| coverage.tracked.iter().any(|tracked| path.is_within(tracked));
    for withheld in &coverage.withheld {
        if withheld.reason == WithheldReason::Credential && is_tracked(&withheld.path) {
            let Some((parent, name)) = withheld.path.split() else {
                continue;
            };
            look.left = MOST;
            match root.dir(&parent) {
                Ok(dir) => look.at(&dir, name.as_os_str(), &withheld.path, 0),
                Err(error) if is_missing(&error) => {}
                Err(error) => look.found.push(unknown(&withheld.path, &error)),
            }
        }
    }
    look.found.sort_by(|a, b| a.path.cmp(&b.path));
    look.found
}

/// What is there now of the credentials that a coverage withholds; `None` when it cannot be told: the key or the root is gone.
///
/// # Errors
/// When the key cannot be read.
pub fn withheld_now(store: &Store, coverage: &Coverage) -> Result<Option<Vec<WithheldFact>>, StoreError> {
    if !coverage.state {
        return Ok(Some(Vec::new()));
    }
    let root = Root::open(&coverage.root.to_path()).ok();
    let key = store.digest_key()?;
    Ok(key
        .zip(root)
        .map(|(key, root)| withheld_facts(&root, coverage, &key)))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unknown(path: &RelPath, error: &io::Error) -> WithheldFact {
    WithheldFact {
        path: path.clone(),
        mode: 0,
        uid: 0,
        gid: 0,
        size: 0,
        digest: None,
        error: Some(error.to_string()),
    }
}

struct Look<'a> {
    key: &'a DigestKey,
    found: Vec<WithheldFact>,
    /// So many more of this credential.
    left: usize,
}

impl Look<'_> {
    fn at(&mut self, dir: &Dir, name: &OsStr, path: &RelPath, depth: usize) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            let error = io::Error::other(format!("more than {MOST} of it are not looked at"));
            return self.found.push(unknown(path, &error));
        }
        let stat = match dir.look(name) {
            Ok(Some(stat)) => stat,
            Ok(None) => return,
            Err(error) => return self.found.push(unknown(path, &error)),
        };
        if stat.kind == NodeKind::Directory && depth < DEEPEST {
            let inner = dir.dir(name).and_then(|inner| Ok((inner.names()?, inner)));
            return match inner {
                Ok((names, inner)) => {
                    for name in names {
                        self.at(&inner, name.as_os_str(), &path.join(&name), depth + 1);
                    }
                }
                Err(error) => self.found.push(unknown(path, &error)),
            };
        }
        let digest = self.digest(dir, name, path, &stat);
        self.found.push(match digest {
            Ok((size, digest)) => WithheldFact {
                path: path.clone(),
                mode: stat.mode,
                uid: stat.uid,
                gid: stat.gid,
                size,
                digest,
                error: None,
            },
            Err(error) => unknown(path, &error),
        });
    }

    /// The digest of path, kind and content, so that the same secret in two places does not show.
    fn digest(
        &self,
        dir: &Dir,
        name: &OsStr,
        path: &RelPath,
        stat: &Stat,
    ) -> io::Result<(u64, Option<Digest>)> {
        let mut hasher = blake3::Hasher::new_keyed(self.key);
        hasher.update(&(path.as_bytes().len() as u64).to_le_bytes());
        hasher.update(path.as_bytes());
        let size = match stat.kind {
            NodeKind::File if stat.size > LARGEST => return Ok((stat.size, None)),
            NodeKind::File => {
                hasher.update(b"f");
                let (file, _) = dir.file(name)?;
                let mut content = Vec::new();
                let mut reader = file.take(LARGEST + 1);
                reader.read_to_end(&mut content)?;
                hasher.update(&content);
                content.len() as u64
            }
            NodeKind::Symlink => {
                hasher.update(b"l");
                let target = dir.link_target(name)?;
                hasher.update(&target);
                target.len() as u64
            }
            _ => {
                hasher.update(b"o");
                0
            }
        };
        Ok((size, Some(Digest(*hasher.finalize().as_bytes()))))
    }
}
