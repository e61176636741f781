//! `ui`: the screen.

use clap::Args;

use super::values::some_text;

/// Arguments of `ui`.
#[derive(Clone, Debug, Args)]
pub struct UiArgs {
    /// The session to begin with: an id or its prefix, a workspace, a container, or @latest
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: Option<String>,
}
