//! The placeholder of secrets in stored settings files, and the redactor that writes it.

use settings_redaction::Redactor;

/// Placeholder for a secret in a stored settings file; a part of the store's format.
pub const WITHHELD: &str = "(withheld by jackin recovery)";

/// Redactor of every settings file that is stored.
pub const REDACTOR: Redactor<'static> = Redactor::new(WITHHELD);
