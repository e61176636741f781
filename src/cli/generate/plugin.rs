//! Packages that agents install: the plugin for Claude Code with its marketplace, the extension for Gemini CLI, and the plugin
//! file for opencode. All of them have the hooks of `hook install`.

use serde_json::{Value, json};

use super::GeneratedFile;
use super::prompts::{ALL, Dialect};
use crate::agents::Agent;
use crate::agents::settings::shipped_hooks;

/// Name of the plugin, of the extension, of the MCP server, and of the program.
const NAME: &str = "jackin-recovery";

/// Directory of the plugin for Claude Code.
const CLAUDE: &str = "packaging/claude-code";

/// Directory of the extension for Gemini CLI.
const GEMINI: &str = "packaging/gemini";

/// Directory of the plugin file for opencode.
const OPENCODE: &str = "packaging/opencode";

/// Returns the generated files.
pub(super) fn files() -> Vec<GeneratedFile> {
    let mut files = claude();
    files.extend(gemini());
    files.push(GeneratedFile {
        path: format!("{OPENCODE}/{NAME}.js"),
        contents: shipped_hooks(Agent::Opencode),
    });
    files
}

fn claude() -> Vec<GeneratedFile> {
    let owner = json!({"name": "The jackin recovery authors"});
    let plugin = json!({
        "name": NAME,
        "version": env!("CARGO_PKG_VERSION"),
        "description": description(Agent::Claude),
        "author": owner,
        "homepage": env!("CARGO_PKG_HOMEPAGE"),
        "repository": env!("CARGO_PKG_REPOSITORY"),
        "license": env!("CARGO_PKG_LICENSE"),
        "keywords": ["undo", "checkpoint", "restore", "recovery"],
    });
    let listed = json!({
        "name": NAME,
        "source": format!("./{CLAUDE}"),
        "description": description(Agent::Claude),
    });
    let marketplace = json!({
        "name": NAME,
        "owner": owner,
        "description": "The plugin of jackin recovery.",
        "plugins": [listed],
    });
    let mut files = vec![
        file(".claude-plugin/marketplace.json".to_owned(), &marketplace),
        file(format!("{CLAUDE}/.claude-plugin/plugin.json"), &plugin),
        file(format!("{CLAUDE}/.mcp.json"), &json!({"mcpServers": servers()})),
        GeneratedFile {
            path: format!("{CLAUDE}/hooks/hooks.json"),
            contents: shipped_hooks(Agent::Claude),
        },
    ];
    files.extend(ALL.iter().map(|prompt| GeneratedFile {
        path: format!("{CLAUDE}/commands/{}.md", prompt.name),
        contents: prompt.write(Dialect::Claude),
    }));
    files
}

fn gemini() -> Vec<GeneratedFile> {
    let extension = json!({
        "name": NAME,
        "version": env!("CARGO_PKG_VERSION"),
        "description": description(Agent::Gemini),
        "mcpServers": servers(),
    });
    let mut files = vec![
        file(format!("{GEMINI}/gemini-extension.json"), &extension),
        GeneratedFile {
            path: format!("{GEMINI}/hooks/hooks.json"),
            contents: shipped_hooks(Agent::Gemini),
        },
    ];
    // A directory is the part of the command before the colon.
    files.extend(ALL.iter().map(|prompt| GeneratedFile {
        path: format!("{GEMINI}/commands/{NAME}/{}.toml", prompt.name),
        contents: prompt.write(Dialect::Gemini),
    }));
    files
}

fn description(agent: Agent) -> String {
    let title = agent.title();
    format!("Undo anything that {title} does to your files, also to files that git ignores.")
}

fn servers() -> Value {
    json!({NAME: {"command": NAME, "args": ["mcp"]}})
}

fn file(path: String, value: &Value) -> GeneratedFile {
    GeneratedFile {
        path,
        contents: format!("{value:#}\n"),
    }
}
