//! The state of agents in a contract: path by path what is captured, and what of it is a secret.

use super::layout::{Part, Sheet};
use super::mounts::frozen;
use crate::config::StateSecrets;
use crate::contract::{AgentTerms, Contract, StatePath, StateSource, StateTerms};
use crate::model::{Coverage, ExcludeSource, WithheldReason};
use crate::terminal::Role;

/// Writes the section, in the mode that captures any.
pub(super) fn write(sheet: &mut Sheet, contract: &Contract) {
    let Some(terms) = &contract.state else { return };
    sheet.section("State");
    match (terms.source, &terms.coverage) {
        (StateSource::None, _) => {
            sheet.say(&[
                Part::loud(Role::Warning, "NOT CAPTURED:"),
                Part::Text(
                    " no jackin container is named, and [recovery.state] home is not true, so the owner of the state \
                    is unknown",
                ),
            ]);
        }
        (_, None) => sheet.say(&[Part::Text("is captured with the mounts that hold it")]),
        (source, Some(coverage)) => {
            let whose = match source {
                StateSource::Home => "of the agents in your own home ",
                _ => "of the agents in the container's directory ",
            };
            sheet.say(&[Part::Text(whose), Part::name(&coverage.root.0)]);
            frozen(sheet, terms.native.as_ref());
            left_out(sheet, coverage);
            agents(sheet, terms);
            secrets(sheet, terms);
        }
    }
}

/// Lists each reason once, with all its patterns.
fn left_out(sheet: &mut Sheet, coverage: &Coverage) {
    let mut groups: Vec<(&str, &str, Vec<Part<'_>>)> = Vec::new();
    for rule in &coverage.excludes {
        let because = match &rule.source {
            ExcludeSource::State(because) => because.as_str(),
            _ => "",
        };
        let treatment = match rule.private {
            Some(WithheldReason::Credential) if coverage.recipients.is_empty() => "skipped",
            Some(WithheldReason::Credential) => "encrypted",
            Some(_) => "stored without secrets",
            None if rule.leaves_out() => "excluded",
            // That directories are looked into needs no word.
            None if rule.pattern == "!*/" => continue,
            None => "stored as they are",
        };
        let pattern = match rule.leaves_out() {
            true => Part::item(rule.pattern.as_bytes()),
            // Their commas stand within braces.
            false => Part::name(folded(rule.pattern.trim_start_matches('!')).as_bytes()),
        };
        let pattern = [Part::Text(" "), pattern];
        match groups
            .iter_mut()
            .find(|(how, known, _)| (*how, *known) == (treatment, because))
        {
            Some((_, _, parts)) => parts.extend(pattern),
            None => groups.push((treatment, because, pattern.into())),
        }
    }
    for (treatment, because, patterns) in groups {
        let mut parts = vec![
            Part::Text(treatment),
            Part::Text(", because "),
            Part::Text(because),
            Part::Text(":"),
        ];
        parts.extend(patterns);
        sheet.below(&parts);
    }
}

/// A pattern as it reads: `[aA]`, which matches a letter in any case, is shown as `a`.
fn folded(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        let mut ahead = rest.clone();
        let class = (c == '[').then(|| (ahead.next(), ahead.next(), ahead.next()));
        match class {
            Some((Some(small), Some(capital), Some(']')))
                if small.is_ascii_lowercase() && capital == small.to_ascii_uppercase() =>
            {
                out.push(small);
                rest = ahead;
            }
            _ => out.push(c),
        }
    }
    out
}

/// Describes the treatment of secrets, and the source of that choice.
fn secrets(sheet: &mut Sheet, terms: &StateTerms) {
    let mut parts = match terms.secrets.value {
        StateSecrets::Withhold => vec![Part::Text(
            "For skipped files only their existence, metadata and a keyed digest are recorded; a restore never \
            changes them (secrets = \"withhold\", ",
        )],
        StateSecrets::Encrypt => vec![Part::Text(
            "Encrypted files, and settings with their secrets, can be read only with your private key: a restore \
            needs --identity FILE for them, and does not change them without (secrets = \"encrypt\", ",
        )],
    };
    parts.extend(super::chosen(&terms.secrets.source));
    parts.push(Part::Text(")"));
    sheet.say(&parts);
    if terms.secrets.value == StateSecrets::Encrypt {
        for recipient in &terms.recipients {
            sheet.below(&[Part::Text("to "), Part::item(recipient.value.as_bytes())]);
        }
    }
    sheet.say(&[Part::Text(
        "Settings are stored without their secrets, and restored key by key, keeping the current secrets. A settings \
        file that cannot be parsed is skipped if it may hold any. If several rules match a file, the last one \
        counts. Secrets in files that are stored unchanged (conversations, documents, scripts) are stored with them.",
    )]);
}

fn agents(sheet: &mut Sheet, terms: &StateTerms) {
    let is_there = |agent: &&AgentTerms| agent.state.iter().any(|state| state.there || state.link);
    for agent in terms.agents.iter().filter(is_there) {
        let mut title = vec![Part::item(agent.name.as_bytes())];
        if let Some("") = agent.auth.as_deref() {
            title.push(Part::Text(" (its auth_forward is no word)"));
        } else if let Some(auth) = &agent.auth {
            title.extend([Part::Text(" (auth_forward = "), Part::item(auth.as_bytes())]);
            title.push(Part::Text(match auth.as_str() {
                "sync" => ": its credentials lie there)",
                "api_key" | "oauth_token" => ": its secret is in the environment alone)",
                "ignore" => ": it is handed none)",
                _ => ")",
            }));
        }
        sheet.say(&title);
        let state = captured(agent).map(|state| ("captured  ", state));
        let kept = match terms.secrets.value {
            StateSecrets::Withhold => "skipped   ",
            StateSecrets::Encrypt => "encrypted ",
        };
        let secrets = agent.withheld.iter().map(|secret| (kept, secret));
        let settings = by_key(agent).map(|settings| ("by key    ", settings));
        for (what, state) in state.chain(settings).chain(secrets) {
            let mut parts = vec![Part::Text(what), Part::item(state.path.as_bytes())];
            if state.link {
                parts.extend([
                    Part::Text(" "),
                    Part::loud(Role::Warning, "WARNING:"),
                    Part::Text(" reached through a link, so its target is not captured"),
                ]);
            } else if state.whole {
                parts.extend([
                    Part::Text(" "),
                    Part::loud(Role::Warning, "WARNING:"),
                    Part::Text(
                        " it cannot be parsed now, so it is skipped, and a restore does not change it",
                    ),
                ]);
            } else if !state.there {
                parts.push(Part::Text(" (not there)"));
            }
            sheet.below(&parts);
        }
    }
    let rest = terms.agents.iter().filter(|agent| !is_there(agent));
    if rest.clone().next().is_none() {
        return;
    }
    let mut parts = vec![Part::Text("Also captured, once it exists:")];
    for state in rest.clone().flat_map(captured) {
        parts.extend([Part::Text(" "), Part::item(state.path.as_bytes())]);
    }
    for settings in rest.clone().flat_map(by_key) {
        parts.extend([
            Part::Text(" "),
            Part::item(settings.path.as_bytes()),
            Part::Text(" (by key)"),
        ]);
    }
    parts.push(Part::Text(match terms.secrets.value {
        StateSecrets::Withhold => "; skipped:",
        StateSecrets::Encrypt => "; encrypted:",
    }));
    for secret in rest.flat_map(|agent| &agent.withheld) {
        parts.extend([Part::Text(" "), Part::item(secret.path.as_bytes())]);
    }
    sheet.say(&parts);
}

/// Returns an agent's state paths that are neither skipped as a whole nor stored by key.
fn captured(agent: &AgentTerms) -> impl Iterator<Item = &StatePath> {
    let is_whole = |state: &StatePath| {
        let mut private = agent.withheld.iter().chain(by_key(agent));
        private.any(|secret| secret.path == state.path)
    };
    agent.state.iter().filter(move |state| !is_whole(state))
}

/// Returns an agent's state paths that are stored without the secrets in them.
fn by_key(agent: &AgentTerms) -> impl Iterator<Item = &StatePath> {
    agent.accounts.iter().chain(&agent.settings)
}
