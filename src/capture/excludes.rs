//! The excludes of a coverage, compiled.

use super::CaptureError;
use crate::contract::Matcher;
use crate::model::Coverage;

/// Returns the compiled excludes of a coverage.
pub(super) fn matcher(coverage: &Coverage) -> Result<Matcher, CaptureError> {
    Matcher::new(coverage).map_err(|error| CaptureError::Excludes {
        path: coverage.root.to_path(),
        reason: error.to_string(),
    })
}
