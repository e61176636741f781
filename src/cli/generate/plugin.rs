//! The plugin for Claude Code: jackin's hooks and its MCP server, and the marketplace that lists the plugin.

use serde_json::{Value, json};

use super::GeneratedFile;
use crate::agents::settings::plugin_hooks;

/// Directory of the plugin. Its commands are written by hand.
const DIRECTORY: &str = "packaging/claude-code";

const DESCRIPTION: &str =
    "Undo anything that Claude Code does to your files, also to files that git ignores.";

/// Returns the generated files.
pub(super) fn files() -> Vec<GeneratedFile> {
    let owner = json!({"name": "The jackin recovery authors"});
    let plugin = json!({
        "name": "jackin-recovery",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        "author": owner,
        "homepage": env!("CARGO_PKG_HOMEPAGE"),
        "repository": env!("CARGO_PKG_REPOSITORY"),
        "license": env!("CARGO_PKG_LICENSE"),
        "keywords": ["undo", "checkpoint", "restore", "recovery"],
    });
    let servers = json!({"mcpServers": {"jackin-recovery": {"command": "jackin-recovery", "args": ["mcp"]}}});
    let listed = json!({
        "name": "jackin-recovery",
        "source": format!("./{DIRECTORY}"),
        "description": DESCRIPTION,
    });
    let marketplace = json!({
        "name": "jackin-recovery",
        "owner": owner,
        "description": "The plugin of jackin recovery.",
        "plugins": [listed],
    });
    vec![
        file(".claude-plugin/marketplace.json".to_owned(), &marketplace),
        file(format!("{DIRECTORY}/.claude-plugin/plugin.json"), &plugin),
        file(format!("{DIRECTORY}/.mcp.json"), &servers),
        GeneratedFile {
            path: format!("{DIRECTORY}/hooks/hooks.json"),
            contents: plugin_hooks(),
        },
    ]
}

fn file(path: String, value: &Value) -> GeneratedFile {
    GeneratedFile {
        path,
        contents: format!("{value:#}\n"),
    }
}
