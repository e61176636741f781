//! Paths that a bundle may contain.

use std::collections::BTreeSet;

/// Reason why a path cannot be in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path is empty or absolute, has an empty, `.` or `..` component, or contains a NUL.
    #[error("the path `{path}` cannot be stored in a sealed bundle")]
    NotAllowed {
        /// The path, with unprintable bytes escaped.
        path: String,
    },
    /// Two files have the same path.
    #[error("the path `{path}` is there twice")]
    Twice {
        /// The path, with unprintable bytes escaped.
        path: String,
    },
    /// One of its parents is a file.
    #[error("the path `{path}` is inside something that is a file")]
    Inside {
        /// The path, with unprintable bytes escaped.
        path: String,
    },
}

/// Checks each path, and that they can all be written to one directory.
pub(crate) fn check<'a>(paths: impl Iterator<Item = &'a [u8]>) -> Result<(), PathError> {
    let mut seen = BTreeSet::new();
    for path in paths {
        if !allowed(path) {
            return Err(PathError::NotAllowed { path: shown(path) });
        }
        if !seen.insert(path) {
            return Err(PathError::Twice { path: shown(path) });
        }
    }
    for path in &seen {
        let mut slashes = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| at);
        if slashes.any(|at| path.get(..at).is_some_and(|parent| seen.contains(parent))) {
            return Err(PathError::Inside { path: shown(path) });
        }
    }
    Ok(())
}

/// An absolute path, an empty one and one ending in a slash all have an empty part.
fn allowed(path: &[u8]) -> bool {
    !path.contains(&0)
        && path
            .split(|byte| *byte == b'/')
            .all(|part| !matches!(part, b"" | b"." | b".."))
}

fn shown(path: &[u8]) -> String {
    path.escape_ascii().to_string()
}
