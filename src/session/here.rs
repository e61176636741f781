//! Sessions that cover a directory, and the words `@latest` and `@N`, which count back from the latest of them.

use std::path::Path;

use super::SessionError;
use super::deferred_baseline::awaited;
use super::liveness::is_active;
use crate::config::Mode;
use crate::model::{Coverage, Ending, SnapshotKind};
use crate::store::{InstanceRow, Store, StoreError};

/// Returns the sessions that cover a directory (canonical path), newest first, without those that were forgotten. Imported ones cover
/// nothing on this machine.
///
/// # Errors
/// As [`crate::store::Catalog::instances`].
pub fn sessions_covering(store: &Store, directory: &Path) -> Result<Vec<InstanceRow>, StoreError> {
    let rows = all_sessions_covering(store, directory)?;
    without_forgotten(store, rows)
}

/// Returns the sessions that cover a directory (canonical path), newest first, also those that were forgotten.
///
/// # Errors
/// As [`crate::store::Catalog::instances`].
pub fn all_sessions_covering(store: &Store, directory: &Path) -> Result<Vec<InstanceRow>, StoreError> {
    let mut rows = store.catalog().instances_around(directory)?;
    rows.retain(|row| !row.is_imported() && row.mounts.iter().any(|mount| covers(mount, directory)));
    Ok(rows)
}

/// Returns the sessions without those that were forgotten: nothing is left of them that a command could be about.
///
/// # Errors
/// As [`crate::store::Catalog::instances`].
pub fn without_forgotten(store: &Store, mut rows: Vec<InstanceRow>) -> Result<Vec<InstanceRow>, StoreError> {
    let forgotten = store.catalog().forgotten()?;
    rows.retain(|row| !forgotten.contains_key(&row.id));
    Ok(rows)
}

/// Returns true if a command in `directory` is about this mount. Of a home only the agents' own directories count.
fn covers(coverage: &Coverage, directory: &Path) -> bool {
    let mut places = coverage.places().into_iter();
    match coverage.state {
        true => places.any(|place| directory.starts_with(place)),
        false => {
            directory.starts_with(coverage.root.to_path())
                && places.any(|place| directory.starts_with(&place) || place.starts_with(directory))
        }
    }
}

/// Returns true for a word that counts back from the latest session.
#[must_use]
pub fn counts_back(word: &str) -> bool {
    word.starts_with('@')
}

/// Returns the number that a word counts back: 1 for `@latest` and `@1`; `None` for any other word.
fn number(word: &str) -> Option<usize> {
    match word.strip_prefix('@')? {
        "latest" => Some(1),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|number| *number > 0)
        }
        _ => None,
    }
}

/// Returns the session that `word` counts back to among `rows`, which are sorted, newest first.
///
/// One whose baseline failed, or that was imported, does not count where others do.
///
/// # Errors
/// [`SessionError::TooFarBack`] if there are fewer sessions; [`SessionError::Unknown`] if the word is not `@latest` or `@N`.
pub(super) fn count_back(
    store: &Store,
    rows: Vec<InstanceRow>,
    word: &str,
    directory: Option<&Path>,
) -> Result<InstanceRow, SessionError> {
    let Some(number) = number(word) else {
        return Err(SessionError::Unknown {
            wanted: word.to_owned(),
            nearest: Vec::new(),
            some_recorded: !rows.is_empty(),
        });
    };
    let rows = those_that_began(store, rows);
    let count = rows.len();
    rows.into_iter()
        .nth(number - 1)
        .ok_or_else(|| match (count, number) {
            (0, 1) if directory.is_none() => SessionError::Unknown {
                wanted: word.to_owned(),
                nearest: Vec::new(),
                some_recorded: false,
            },
            _ => SessionError::TooFarBack {
                wanted: word.to_owned(),
                count,
                directory: directory.map(Path::to_path_buf),
            },
        })
}

/// Returns the sessions without those that never began or were imported; all of them if no others are left.
#[must_use]
pub fn those_that_began(store: &Store, rows: Vec<InstanceRow>) -> Vec<InstanceRow> {
    let began = |row: &InstanceRow| {
        let failed = matches!(row.ending, Some(Ending::Failed(_)));
        // A session of which this cannot be read counts.
        let is_useless = || lacks_baseline(store, row).unwrap_or(false) && !is_active(store, row);
        !row.is_imported() && !failed && !is_useless()
    };
    let (began, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(began);
    if began.is_empty() { others } else { began }
}

/// Returns true for a session that has not ended, and whose baseline neither is stored nor will be. If it does not live either, nothing of
/// it can be restored.
///
/// # Errors
/// [`StoreError`].
pub fn lacks_baseline(store: &Store, row: &InstanceRow) -> Result<bool, StoreError> {
    // Once its end is recorded it has failed.
    if row.ended_at.is_some() || row.mounts.is_empty() || !Mode::parse(&row.mode).is_some_and(Mode::captures)
    {
        return Ok(false);
    }
    let snapshots = store.catalog().snapshots(&row.id)?;
    let has_baseline = snapshots.iter().any(|row| row.kind == SnapshotKind::Baseline);
    Ok(!has_baseline && awaited(store, row)?.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{covers, number};
    use crate::model::{Coverage, RelPath};

    #[test]
    fn words_count_from_one() {
        let cases = [
            ("@latest", Some(1)),
            ("@1", Some(1)),
            ("@12", Some(12)),
            ("@0", None),
            ("@", None),
            ("@-1", None),
            ("@later", None),
            ("latest", None),
            ("@99999999999999999999999", None),
        ];
        for (word, expected) in cases {
            assert_eq!(number(word), expected, "{word}");
        }
    }

    #[test]
    fn a_mount_covers_what_is_tracked_in_it() {
        let path = |path: &str| RelPath::new(path.as_bytes()).unwrap();
        let root = Path::new("/p/shop");
        let whole = Coverage::new("shop", root);
        let part = Coverage {
            tracked: vec![path("src/api")],
            ..whole.clone()
        };
        let state = Coverage {
            state: true,
            ..part.clone()
        };
        let cases: [(&Coverage, &[&str], &[&str]); 3] = [
            (&whole, &["/p/shop", "/p/shop/a/b"], &["/p", "/p/shopping", "/"]),
            (
                &part,
                &["/p/shop", "/p/shop/src", "/p/shop/src/api/x"],
                &["/p/shop/docs", "/p"],
            ),
            (&state, &["/p/shop/src/api"], &["/p/shop", "/p/shop/src"]),
        ];
        for (coverage, inside, outside) in cases {
            for directory in inside {
                assert!(covers(coverage, Path::new(directory)), "{directory}");
            }
            for directory in outside {
                assert!(!covers(coverage, Path::new(directory)), "{directory}");
            }
        }
    }
}
