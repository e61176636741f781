//! The check of the installation: configuration, store, locks, sessions, mounts and versions.

use std::path::Path;

use super::Recovery;
use crate::doctor::{Checkup, look};

impl Recovery<'_> {
    /// Inspects everything and changes nothing. `program` is the running file, if known.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::Recovery;
    /// # let environment = Environment { home: Some("/nowhere".into()), ..Environment::default() };
    /// let checkup = Recovery::open(&environment).doctor(None);
    /// assert!(!checkup.findings.is_empty());
    /// ```
    #[must_use]
    pub fn doctor(&self, program: Option<&Path>) -> Checkup {
        look(self.environment, program)
    }
}
