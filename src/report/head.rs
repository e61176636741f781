//! The head of every document.

use schemars::JsonSchema;
use serde::Serialize;

/// First field of every document.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Head {
    /// The version of the document. Fields are only ever added within one.
    #[schemars(extend("const" = 1))]
    schema: u32,
}

impl Default for Head {
    fn default() -> Self {
        Self { schema: 1 }
    }
}
