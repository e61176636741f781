//! Stands in for pages in a build without them.

use std::ffi::OsString;

use super::error::CliError;
use crate::features::{Feature, NotBuilt};
use crate::model::Time;
use crate::report::{DiffDocument, LogDocument, SessionReport, Sources};

/// Comparison that a page would show.
pub(in crate::cli) struct Shown<'a> {
    pub(in crate::cli) found: &'a DiffDocument<'a>,
    pub(in crate::cli) sources: Sources<'a>,
    pub(in crate::cli) show_secrets: bool,
    pub(in crate::cli) restore: &'a dyn Fn(Option<Vec<OsString>>) -> String,
}

/// Refuses.
pub(in crate::cli) fn page(
    _known: &SessionReport,
    _log: &LogDocument,
    _shown: Option<&Shown<'_>>,
    _now: Time,
) -> Result<String, CliError> {
    Err(NotBuilt(Feature::Html).into())
}
