//! Stands in for pages in a build without them.

use super::error::CliError;
use super::report::SessionReport;
use crate::features::{Feature, NotBuilt};
use crate::model::Time;
use crate::recovery::Differences;
use crate::store::Store;

/// Comparison that a page would show.
pub(in crate::cli) struct Shown<'a> {
    pub(in crate::cli) found: &'a Differences,
    pub(in crate::cli) show_secrets: bool,
}

/// Refuses.
pub(in crate::cli) fn page(
    _store: &Store,
    _known: &SessionReport,
    _shown: Option<&Shown<'_>>,
    _now: Time,
) -> Result<String, CliError> {
    Err(NotBuilt(Feature::Html).into())
}
