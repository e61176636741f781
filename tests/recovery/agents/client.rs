//! The clients: where they are installed, which settings lead them to the stub, and how each is started with a prompt.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

/// Name, package and version of each, as `.ci/prepare` installs it.
const VERSIONS: &str = include_str!("versions");

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Copilot,
}

impl Client {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
        }
    }

    /// Returns the directory of its program.
    ///
    /// # Errors
    /// The reason that it does not run here.
    pub(super) fn programs(self) -> Result<PathBuf, String> {
        let line = VERSIONS
            .lines()
            .find(|line| line.split(' ').next() == Some(self.word()));
        let version = line.and_then(|line| line.rsplit(' ').next()).unwrap();
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/agents");
        let all = std::env::var_os("JACKIN_AGENTS").map_or(all, PathBuf::from);
        let programs = all.join(format!("{}-{version}", self.word())).join("bin");
        match programs.join(self.word()).exists() {
            true => Ok(programs),
            false => Err(format!(
                "{} {version} is not installed; .ci/run installs it where npm is reachable",
                self.word()
            )),
        }
    }

    /// Writes the settings that lead the client to the stub, before anything of jackin is installed.
    pub(super) fn configure(self, home: &Path, project: &Path, url: &str) {
        let write = |below: &str, text: String| {
            let file = home.join(below);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        match self {
            Self::Codex => write(
                ".codex/config.toml",
                format!(
                    "model = \"gpt-5.5\"\nmodel_provider = \"stub\"\n[model_providers.stub]\nname = \"stub\"\n\
                     base_url = \"{url}/v1\"\nwire_api = \"responses\"\nenv_key = \"STUB_KEY\"\n\
                     [projects.{project:?}]\ntrust_level = \"trusted\"\n"
                ),
            ),
            Self::Gemini => write(
                ".gemini/settings.json",
                json!({"security": {"auth": {"selectedType": "gemini-api-key"}}}).to_string(),
            ),
            Self::Opencode => {
                let model = json!({"name": "stub", "limit": {"context": 100_000, "output": 8_000}, "tool_call": true});
                let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "stub",
                    "options": {"baseURL": format!("{url}/v1"), "apiKey": "dummy"}, "models": {"stub-model": model}});
                let settings = json!({"autoupdate": false, "share": "disabled", "model": "stub/stub-model",
                    "small_model": "stub/stub-model", "permission": "allow", "provider": {"stub": provider}});
                write(".config/opencode/opencode.json", settings.to_string());
            }
            Self::Claude | Self::Copilot => {}
        }
    }

    /// Adds jackin's MCP server to the settings; the words of the client's own command where it has one.
    pub(super) fn server(self, home: &Path, program: &Path) -> Option<Vec<String>> {
        let program = program.to_str().unwrap();
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        match self {
            Self::Claude => words(&[
                "mcp",
                "add",
                "--scope",
                "user",
                "jackin-recovery",
                "--",
                program,
                "recovery",
                "mcp",
            ]),
            Self::Codex => words(&["mcp", "add", "jackin-recovery", "--", program, "recovery", "mcp"]),
            Self::Gemini => words(&[
                "mcp",
                "add",
                "--scope",
                "user",
                "jackin-recovery",
                program,
                "recovery",
                "mcp",
            ]),
            Self::Opencode => {
                let file = home.join(".config/opencode/opencode.json");
                let mut settings: serde_json::Value =
                    serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
                settings["mcp"] = json!({"jackin-recovery": {"type": "local", "enabled": true,
                    "command": [program, "recovery", "mcp"]}});
                fs::write(file, settings.to_string()).unwrap();
                None
            }
            Self::Copilot => None,
        }
    }

    /// Returns the variables that it needs.
    pub(super) fn variables(self, url: &str) -> Vec<(&'static str, String)> {
        let plain = |pairs: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
            pairs
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect()
        };
        let (mut all, more) = match self {
            Self::Claude => (
                plain(&[
                    ("ANTHROPIC_API_KEY", "dummy"),
                    ("IS_SANDBOX", "1"),
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                    ("DISABLE_AUTOUPDATER", "1"),
                ]),
                Some(("ANTHROPIC_BASE_URL", url.to_owned())),
            ),
            Self::Codex => (plain(&[("STUB_KEY", "dummy")]), None),
            Self::Gemini => (
                plain(&[("GEMINI_API_KEY", "dummy")]),
                Some(("GOOGLE_GEMINI_BASE_URL", url.to_owned())),
            ),
            Self::Opencode => (
                plain(&[
                    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                    // At each start it installs a package for its plugins, which ours does not use, and waits for it.
                    ("npm_config_offline", "true"),
                ]),
                None,
            ),
            Self::Copilot => (
                plain(&[
                    ("COPILOT_MODEL", "gpt-4.1"),
                    ("COPILOT_OFFLINE", "true"),
                    ("COPILOT_PROVIDER_API_KEY", "dummy"),
                ]),
                Some(("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))),
            ),
        };
        all.extend(more);
        all
    }

    /// Returns the command by which a person continues a conversation.
    pub(super) fn resumes_with(self, id: &str) -> String {
        match self {
            Self::Claude => format!("claude --resume {id}"),
            Self::Codex => format!("codex resume {id}"),
            Self::Gemini => format!("gemini --resume {id}"),
            Self::Opencode => format!("opencode --session {id}"),
            Self::Copilot => format!("copilot --resume={id}"),
        }
    }

    /// Returns the arguments that continue a conversation with a prompt: those of [`Self::resumes_with`], and what lets it work
    /// without a terminal and without questions.
    pub(super) fn arguments_to_resume(self, id: &str, prompt: &str) -> Vec<String> {
        let mut words = self.arguments(prompt);
        let more = match self {
            Self::Claude | Self::Gemini => vec!["--resume".to_owned(), id.to_owned()],
            Self::Opencode => vec!["--session".to_owned(), id.to_owned()],
            Self::Copilot => vec![format!("--resume={id}")],
            Self::Codex => {
                words.insert(1, "resume".to_owned());
                words.insert(words.len() - 1, id.to_owned());
                Vec::new()
            }
        };
        words.extend(more);
        words
    }

    /// Returns the arguments that give it a prompt and let it work without questions.
    pub(super) fn arguments(self, prompt: &str) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Claude => &["-p", prompt, "--dangerously-skip-permissions"],
            Self::Codex => &[
                "exec",
                "--json",
                "--dangerously-bypass-approvals-and-sandbox",
                prompt,
            ],
            Self::Gemini => &[
                "-p",
                prompt,
                "--yolo",
                "--skip-trust",
                "-m",
                "gemini-2.5-flash",
                "-o",
                "json",
            ],
            Self::Opencode => &["run", prompt],
            Self::Copilot => &["-p", prompt, "--allow-all-tools", "--allow-all-paths"],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}
