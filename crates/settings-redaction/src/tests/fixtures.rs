//! Files as agents write them, with secrets in every place.

pub(super) const CLAUDE: &str = r#"{
  "numStartups": 41,
  "hasCompletedOnboarding": true,
  "lastOnboardingVersion": "2.0.14",
  "userID": "3f1c9a7be0d24586a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718",
  "oauthAccount": {
    "accountUuid": "0b5c1a52-7d3e-4b52-9a43-0d8a1f1f2e11",
    "emailAddress": "someone@example.org",
    "organizationName": "Someone's things"
  },
  "customApiKeyResponses": {
    "approved": [
      "Zk3-QpL9xYvT2aBcDe7f"
    ],
    "rejected": []
  },
  "mcpServers": {
    "search": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "search-mcp", "--api-key", "plainlookingvalue", "--verbose"],
      "env": {
        "SEARCH_TOKEN": "s3arch-me-not",
        "SEARCH_REGION": "region-of-secrecy",
        "RETRIES": 3
      }
    },
    "account-token-service": {
      "type": "http",
      "url": "https://mcp.example.org/v1",
      "headers": {
        "Authorization": "Bearer abc.def.ghi",
        "X-Team": "blue-team"
      }
    }
  },
  "projects": {
    "/home/u/oauth-proxy": {
      "allowedTools": ["Bash(git status)", "Read"],
      "hasTrustDialogAccepted": true,
      "lastTotalInputTokens": 12345,
      "lastSessionId": "5d1c7c2e-9a4b-4f7e-8c53-1c2d3e4f5a6b"
    }
  },
  "hasCompletedOauth": true
}
"#;

/// Texts that no public part of the file above may hold.
pub(super) const CLAUDE_SECRETS: [&str; 8] = [
    "3f1c9a7be0d2",
    "someone@example.org",
    "0b5c1a52",
    "Zk3-QpL9xYvT2aBcDe7f",
    "plainlookingvalue",
    "s3arch-me-not",
    "region-of-secrecy",
    "abc.def.ghi",
];

pub(super) const SETTINGS: &str = r#"{
  "apiKeyHelper": "/home/u/bin/key-helper.sh",
  "model": "opus",
  "env": {
    "ANTHROPIC_BASE_URL": "https://gateway.example.org",
    "ANTHROPIC_AUTH_TOKEN": "gateway-pass-1",
    "MAX_THINKING_TOKENS": "31999"
  },
  "permissions": {
    "allow": ["Bash(npm run lint)", "Bash(curl -H \"Authorization: Bearer t0ps\" https://x.example.org)"],
    "deny": ["Read(./.env)"]
  },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [
          { "type": "command", "command": "cargo fmt" },
          { "type": "command", "command": "notify --token hush-hush done" }
        ]
      }
    ]
  }
}
"#;

pub(super) const CODEX: &str = r#"# how codex is set up
model = "gpt-5"   # the usual one
approval_policy = "on-request"
notify = ["notify-send", "codex"]

[mcp_servers.search]
command = "npx"
args = ["-y", "search-mcp", "--api-key", "plainlookingvalue"]

[mcp_servers.search.env]
SEARCH_TOKEN = "s3arch-me-not"
SEARCH_REGION = 'region-of-secrecy' # near

[mcp_servers.inline]
command = "x"
env = { A_SECRET = "aaaaaa-1", B = "bbbbbb-2", N = 3 }
http_headers.X-Key = "cccccc-3"

[account]
id = "dddddd-4"
active = true

[[profiles.work.keys]]
api_key = """
eeeeee-5"""

[[profiles.work.keys]]
name = "other"

[projects."/home/u/token-service"]
trust_level = "trusted"
"#;

pub(super) const HOSTS: &str = "\
# written by gh
github.com:
    git_protocol: https
    users:
        octocat:
            oauth_token: gho_abcdefghijklmnopqrstuvwxyz012345
        other:
            oauth_token: 'short'
    user: octocat

    oauth_token: gho_zyxwvutsrqponmlkjihgfedcba987654
enterprise.example.org:
    user: octocat
    account:
        # who
        id: aaaaaa-1

        mail: bbbbbb-2
    scopes:
        - repo
        - gist
";
