//! Sessions that cover a directory, and the words `@latest` and `@N`, which count back from the latest of them.

use std::path::Path;
use std::vec;

use super::SessionError;
use super::deferred_baseline::awaited;
use super::liveness::{LivenessProbe, is_active};
use crate::config::Mode;
use crate::model::{Coverage, Ending, InstanceId, SnapshotKind};
use crate::store::{InstanceRow, Store, StoreError};

/// Sessions that cover a directory, newest first. Each is read when it is asked for: of thousands a command needs the latest.
pub struct Covering<'s> {
    store: &'s Store,
    directory: &'s Path,
    ids: vec::IntoIter<InstanceId>,
}

impl<'s> Covering<'s> {
    /// Looks for the sessions that cover a directory (canonical path), without those that were forgotten. Imported ones cover nothing on
    /// this machine.
    ///
    /// # Errors
    /// As [`crate::store::Catalog::instances`]; so for each session.
    pub fn new(store: &'s Store, directory: &'s Path) -> Result<Self, StoreError> {
        let mut all = Self::with_forgotten(store, directory)?;
        if all.ids.len() > 0 {
            let forgotten = store.catalog().forgotten()?;
            let ids: Vec<InstanceId> = all.ids.filter(|id| !forgotten.contains_key(id)).collect();
            all.ids = ids.into_iter();
        }
        Ok(all)
    }

    /// The same, also those that were forgotten.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_forgotten(store: &'s Store, directory: &'s Path) -> Result<Self, StoreError> {
        Ok(Self {
            store,
            directory,
            ids: store.catalog().instances_around(directory)?.into_iter(),
        })
    }

    /// Returns the sessions that began, which `@N` counts if there are any.
    pub fn that_began(self) -> impl Iterator<Item = Result<InstanceRow, StoreError>> {
        let store = self.store;
        self.filter(move |row| row.as_ref().map_or(true, |row| began(store, row)))
    }

    /// Returns the latest session that began, else the latest; `None` if there is none.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn latest(self) -> Result<Option<InstanceRow>, StoreError> {
        let store = self.store;
        Ok(nth_that_began(store, self, 1)?.ok())
    }
}

impl Iterator for Covering<'_> {
    type Item = Result<InstanceRow, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let id = self.ids.next()?;
            match self.store.catalog().instance(&id) {
                Ok(Some(row)) if is_here(&row, self.directory) => return Some(Ok(row)),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Returns all sessions that cover a directory, as [`Covering::new`] finds them.
///
/// # Errors
/// As [`crate::store::Catalog::instances`].
pub fn sessions_covering(store: &Store, directory: &Path) -> Result<Vec<InstanceRow>, StoreError> {
    Covering::new(store, directory)?.collect()
}

/// Returns true if [`Covering::new`] finds this session.
///
/// # Errors
/// As [`crate::store::Catalog::instances`].
pub fn is_covering(store: &Store, row: &InstanceRow, directory: &Path) -> Result<bool, StoreError> {
    Ok(is_here(row, directory) && !store.catalog().forgotten()?.contains_key(&row.id))
}

/// Returns the latest active session that covers a directory, of those that record files if there are any; `None` if none is active.
///
/// # Errors
/// As [`crate::store::Catalog::instances`].
pub fn latest_active(store: &Store, directory: &Path) -> Result<Option<InstanceRow>, StoreError> {
    let mut living = LivenessProbe::now(store).may_live_in(store)?;
    living.retain(|row| is_here(row, directory) && is_active(store, row));
    // A checkpoint can only be taken of files that are recorded.
    living.sort_by_key(|row| row.mounts.is_empty());
    Ok(without_forgotten(store, living)?.into_iter().next())
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

/// Returns true if a session began on this machine and covers a directory.
fn is_here(row: &InstanceRow, directory: &Path) -> bool {
    !row.is_imported() && row.writable().any(|mount| covers(mount, directory))
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

/// Returns the session that `word` counts back to among `rows`, newest first.
///
/// One whose baseline failed, or that was imported, does not count where others do.
///
/// # Errors
/// [`SessionError::TooFarBack`] if there are fewer sessions; [`SessionError::Unknown`] if the word is not `@latest` or `@N`.
pub(super) fn count_back(
    store: &Store,
    mut rows: impl Iterator<Item = Result<InstanceRow, StoreError>>,
    word: &str,
    directory: Option<&Path>,
) -> Result<InstanceRow, SessionError> {
    let Some(number) = number(word) else {
        return Err(SessionError::Unknown {
            wanted: word.to_owned(),
            nearest: Vec::new(),
            some_recorded: rows.next().is_some(),
        });
    };
    nth_that_began(store, rows, number)?.map_err(|found| match (found.counted, number) {
        (0, 1) if directory.is_none() => SessionError::Unknown {
            wanted: word.to_owned(),
            nearest: Vec::new(),
            some_recorded: false,
        },
        _ => SessionError::TooFarBack {
            wanted: word.to_owned(),
            count: found.counted,
            uncounted: found.uncounted,
            directory: directory.map(Path::to_path_buf),
        },
    })
}

/// Numbers of sessions, of which there are fewer than were counted back.
struct TooFew {
    /// Those that count.
    counted: usize,
    /// Those that do not count, because others began here.
    uncounted: usize,
}

/// Returns the session at this position, counted from 1, among those that began here, or among all if none did; how many there are
/// if these are fewer. Reads no more of `rows` than that.
fn nth_that_began(
    store: &Store,
    rows: impl Iterator<Item = Result<InstanceRow, StoreError>>,
    number: usize,
) -> Result<Result<InstanceRow, TooFew>, StoreError> {
    let mut count = 0;
    let mut others = Vec::new();
    for row in rows {
        let row = row?;
        if !began(store, &row) {
            others.push(row);
            continue;
        }
        count += 1;
        if count == number {
            return Ok(Ok(row));
        }
    }
    if count > 0 {
        return Ok(Err(TooFew {
            counted: count,
            uncounted: others.len(),
        }));
    }
    let counted = others.len();
    let found = others.into_iter().nth(number - 1);
    Ok(found.ok_or(TooFew {
        counted,
        uncounted: 0,
    }))
}

/// Returns the sessions without those that never began or were imported; all of them if no others are left.
#[must_use]
pub fn those_that_began(store: &Store, rows: Vec<InstanceRow>) -> Vec<InstanceRow> {
    let (began, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| began(store, row));
    if began.is_empty() { others } else { began }
}

/// Returns true for a session that began on this machine, so that something of it can be restored.
fn began(store: &Store, row: &InstanceRow) -> bool {
    let failed = matches!(row.ending, Some(Ending::Failed(_)));
    // A session of which this cannot be read counts.
    let is_useless = || lacks_baseline(store, row).unwrap_or(false) && !is_active(store, row);
    !row.is_imported() && !failed && !is_useless()
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
