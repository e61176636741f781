//! Rules for the values that are not stored.

use std::borrow::Cow;
use std::ops::Range;

use super::heuristics::{self, Strictness};
use super::judge;
use super::names::{CREDENTIAL, is_credential};
use super::text::{Program, secret_arguments};
use super::tree::{Kind, Member, Node};

/// Names of an agent's own login. Only their values are kept if they changed or are new: an attacker who can choose a name that
/// merely sounds like a credential could keep anything.
const LOGIN: [&str; 19] = [
    "account",
    "oauthaccount",
    "primaryapikey",
    "userid",
    "customapikeyresponses",
    "oauth_token",
    "token",
    "tokens",
    "apikey",
    "api_key",
    "api-key",
    "key",
    "accesstoken",
    "access_token",
    "refreshtoken",
    "refresh_token",
    "id_token",
    "secret",
    "password",
];

/// Endings of other names that hold a login, including variables.
const LOGIN_ENDS: [&str; 6] = ["_token", "-token", "_key", "-key", "_secret", "_password"];

/// Tables of environment variables and headers.
const ENVIRONMENT: [&str; 6] = [
    "env",
    "environment",
    "set",
    "headers",
    "http_headers",
    "env_http_headers",
];

/// Names of the lists of a program's arguments, which stand beside its `command`.
const ARGUMENTS: [&str; 3] = ["args", "argv", "arguments"];

/// Tables whose names a user picks: a server may be called `token-service` and is no credential.
const NAMED_BY_USER: [&str; 12] = [
    "mcpservers",
    "mcp_servers",
    "servers",
    "projects",
    "profiles",
    "model_providers",
    "modelproviders",
    "plugins",
    "enabledplugins",
    "extraknownmarketplaces",
    "agents",
    "hooks",
];

/// Treatment of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Stored, or examined member by member.
    Public,
    /// Withheld.
    Secret {
        /// True if a restore keeps it, even if it changed.
        credential: bool,
        /// True if it is withheld only because it is a variable: it may be a word that occurs elsewhere, too.
        ordinary: bool,
    },
}

fn secret(credential: bool) -> Verdict {
    Verdict::Secret {
        credential,
        ordinary: false,
    }
}

/// Facts about a container from the names above it.
#[derive(Clone, Copy, Default)]
pub(super) struct KeyContext {
    /// True if it is an environment table.
    environment: bool,
    /// True if it is somewhere within an environment table.
    within_environment: bool,
    /// True if the user picks the names in it.
    named_by_user: bool,
    /// Program whose arguments a list holds.
    program: Program,
    /// `Some` within a credential that is not written in one piece; true if a restore keeps it.
    credential: Option<bool>,
}

/// A value within a container.
pub(super) struct Child<'a> {
    pub(super) name: Cow<'a, str>,
    /// Range of its name; `None` for an element of a list.
    pub(super) key: Option<&'a Range<usize>>,
    pub(super) node: &'a Node,
    /// The element before it, which may be a flag.
    before: Option<&'a Node>,
    /// True for an argument that is a secret by its place.
    is_argument: bool,
    /// Program of the container that it is in.
    program: Program,
    /// Context of the container that it is in.
    outer: KeyContext,
}

impl Child<'_> {
    /// Returns the treatment of the value.
    pub(super) fn verdict(&self) -> Verdict {
        match self.key {
            Some(_) => judge_member(&self.name, self.node, self.outer),
            None => judge_element(self, self.outer),
        }
    }

    /// Returns the context of the values within it.
    pub(super) fn around(&self) -> KeyContext {
        let program = match self.key {
            Some(_) if ARGUMENTS.iter().any(|name| self.name.eq_ignore_ascii_case(name)) => self.program,
            _ => Program::default(),
        };
        KeyContext {
            program,
            ..below(self.key.map(|_| self.name.as_ref()), self.node, self.outer)
        }
    }
}

/// Returns all values of a container.
pub(super) fn children(node: &Node, around: KeyContext) -> Box<dyn Iterator<Item = Child<'_>> + '_> {
    match &node.kind {
        Kind::List(elements, _) => {
            let before = std::iter::once(None).chain(elements.iter().map(Some));
            let words: Vec<&str> = elements.iter().map(text_of).collect();
            let secret = secret_arguments(around.program, &words);
            let all = elements.iter().zip(before).zip(secret).enumerate().map(
                move |(index, ((element, before), is_argument))| Child {
                    name: Cow::Owned(index.to_string()),
                    key: None,
                    node: element,
                    before,
                    is_argument,
                    program: Program::default(),
                    outer: around,
                },
            );
            Box::new(all)
        }
        Kind::Map(members, _) => {
            let program = program_of(members);
            Box::new(members.iter().map(move |member| Child {
                name: Cow::Borrowed(&member.name),
                key: Some(&member.key),
                node: &member.node,
                before: None,
                is_argument: false,
                program,
                outer: around,
            }))
        }
        Kind::Plain | Kind::Text(_) => Box::new(std::iter::empty()),
    }
}

/// Returns the text of a value; empty if it is none.
fn text_of(node: &Node) -> &str {
    match &node.kind {
        Kind::Text(text) => text,
        _ => "",
    }
}

/// Returns the program that the `command` among the members names.
fn program_of(members: &[Member]) -> Program {
    let command = members.iter().find(|member| member.name == "command");
    let command = command.map_or("", |member| text_of(&member.node));
    match command {
        "" => Program::default(),
        command => Program::of(command),
    }
}

/// Returns true if a text that cannot be read by key holds nothing like a secret or the name of one.
pub(super) fn names_none(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_name = |word: &str| is_environment(word) || word.ends_with("key");
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
    !CREDENTIAL.iter().any(|word| lower.contains(word))
        && !words.any(is_name)
        && !text
            .lines()
            .any(|line| judge::is_secret(line, Strictness::Stored))
}

fn is_environment(name: &str) -> bool {
    let name = name.to_lowercase();
    ENVIRONMENT.contains(&name.as_str()) || name.ends_with("environment") || name.ends_with("headers")
}

fn is_named_by_user(name: &str) -> bool {
    // Some write the name of their program before it.
    let name = name.to_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    NAMED_BY_USER.contains(&last)
}

/// Returns true if a credential with this name is an agent's own login.
fn is_login(name: &str, node: &Node, around: KeyContext) -> bool {
    let name = name.to_lowercase();
    let is_named = LOGIN_ENDS.iter().any(|end| name.ends_with(end));
    let is_own = !around.within_environment && LOGIN.contains(&name.as_str());
    let is_value = match &node.kind {
        // Where a credential lies is none.
        Kind::Text(text) => {
            node.is_withheld || (!text.contains('/') && !text.trim().contains(char::is_whitespace))
        }
        _ => !node.runs,
    };
    (is_named || is_own) && is_value
}

/// Returns true if the name alone makes a member a credential.
fn by_name(name: &str, node: &Node, around: KeyContext) -> bool {
    let is_count = |text: &str| heuristics::is_count(name, text);
    if node.is_void()
        || (around.named_by_user && node.is_container())
        || matches!(&node.kind, Kind::Text(text) if is_count(text))
    {
        return false;
    }
    is_credential(name) || (around.environment && !runs(name) && name.to_lowercase().contains("key"))
}

/// Returns true for a variable that holds a command, which does not count as a key.
fn runs(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with("helper") || name.ends_with("command")
}

fn judge_member(name: &str, node: &Node, around: KeyContext) -> Verdict {
    if around.credential.is_some() {
        return judge_value(node, around);
    }
    if by_name(name, node, around) {
        // What is run must come back as it was, so it is withheld but never kept as a credential.
        return if node.in_one {
            secret(is_login(name, node, around))
        } else {
            Verdict::Public
        };
    }
    judge_value(node, around)
}

fn judge_element(child: &Child<'_>, around: KeyContext) -> Verdict {
    let flag = child.before.map_or("", text_of);
    let follows = |text: &str| child.is_argument || heuristics::follows(flag, text);
    if let Kind::Text(text) = &child.node.kind
        && around.credential.is_none()
        && follows(text)
    {
        return secret(false);
    }
    judge_value(child.node, around)
}

/// Judges a value by everything but its name.
fn judge_value(node: &Node, around: KeyContext) -> Verdict {
    if let Some(credential) = around.credential {
        return if node.in_one {
            secret(credential)
        } else {
            Verdict::Public
        };
    }
    match &node.kind {
        Kind::Text(text) if node.is_withheld || judge::is_secret(text, Strictness::Stored) => secret(false),
        Kind::Text(text) if around.within_environment && !heuristics::is_plain(text) => Verdict::Secret {
            credential: false,
            ordinary: true,
        },
        _ => Verdict::Public,
    }
}

fn below(name: Option<&str>, node: &Node, around: KeyContext) -> KeyContext {
    if !node.is_container() {
        return KeyContext::default();
    }
    let environment = name.is_some_and(is_environment);
    let credential = match name {
        Some(name) if around.credential.is_none() && !node.in_one && by_name(name, node, around) => {
            Some(is_login(name, node, around))
        }
        _ => around.credential,
    };
    KeyContext {
        environment,
        within_environment: environment || around.within_environment,
        named_by_user: name.is_some_and(is_named_by_user),
        program: Program::default(),
        credential,
    }
}
