//! Grammars of languages, and what their scopes mean.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::{Token, Tokens};

/// Roles by scope, the more specific ones first. `None` ends the search: a part of another kind within the outer one.
const ROLES: [(&str, Option<Token>); 22] = [
    ("comment", Some(Token::Comment)),
    ("constant", Some(Token::Constant)),
    ("entity.name.tag", Some(Token::Keyword)),
    ("entity.name", Some(Token::Name)),
    ("entity.other.attribute-name", Some(Token::Name)),
    ("entity.other.inherited-class", Some(Token::Name)),
    ("keyword.operator.word", Some(Token::Keyword)),
    ("keyword.operator.logical.python", Some(Token::Keyword)),
    ("keyword.operator", None),
    ("keyword", Some(Token::Keyword)),
    ("markup.heading", Some(Token::Keyword)),
    ("markup.raw", Some(Token::Text)),
    ("meta.interpolation", None),
    ("source", None),
    ("storage", Some(Token::Keyword)),
    ("string", Some(Token::Text)),
    ("support.constant", Some(Token::Constant)),
    ("support", Some(Token::Name)),
    ("text", None),
    ("variable.annotation", Some(Token::Name)),
    ("variable.function", Some(Token::Name)),
    ("variable.language", Some(Token::Keyword)),
];

/// All known grammars. A regular expression of one is compiled when it is used first.
pub(super) struct Grammars {
    set: SyntaxSet,
    roles: Vec<(Scope, Option<Token>)>,
}

impl Grammars {
    /// False in a build without grammars.
    pub(super) const ARE_BUILT: bool = true;

    pub(super) fn load() -> Self {
        let role = |(name, role): (&str, Option<Token>)| Some((Scope::new(name).ok()?, role));
        Self {
            set: two_face::syntax::extra_newlines(),
            roles: ROLES.into_iter().filter_map(role).collect(),
        }
    }

    /// Returns the tokens of the lines of a file; none if its language is unknown, or from a place on that is not understood.
    pub(super) fn tokens(&self, name: &str, lines: &[String], stop: &AtomicBool) -> Vec<Tokens> {
        let Some(syntax) = self.syntax(name, lines) else {
            return Vec::new();
        };
        let (mut state, mut stack) = (ParseState::new(syntax), ScopeStack::new());
        let mut all = Vec::with_capacity(lines.len());
        for line in lines {
            let with_end = format!("{line}\n");
            let changes = state.parse_line(&with_end, &self.set);
            let Ok(changes) = changes else { break };
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut tokens = Tokens::new();
            let mut start = 0;
            let mut add = |range: Range<usize>, stack: &ScopeStack| {
                let role = self.role(stack).filter(|_| {
                    line.get(range.clone())
                        .is_some_and(|text| !text.trim().is_empty())
                });
                match (role, tokens.last_mut()) {
                    (Some(role), Some((last, known))) if *known == role && last.end == range.start => {
                        last.end = range.end
                    }
                    (Some(role), _) => tokens.push((range, role)),
                    (None, _) => {}
                }
            };
            for (at, change) in &changes {
                add(start..(*at).min(line.len()), &stack);
                start = (*at).min(line.len());
                if stack.apply(change).is_err() {
                    return all;
                }
            }
            add(start..line.len(), &stack);
            all.push(tokens);
        }
        all
    }

    fn role(&self, stack: &ScopeStack) -> Option<Token> {
        let inner_first = stack.scopes.iter().rev();
        let mut found =
            inner_first.filter_map(|scope| self.roles.iter().find(|(role, _)| role.is_prefix_of(*scope)));
        found.next().and_then(|(_, role)| *role)
    }

    fn syntax(&self, name: &str, lines: &[String]) -> Option<&SyntaxReference> {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        let lower = extension.map(str::to_ascii_lowercase);
        let by_name = [Some(name), extension, lower.as_deref()].into_iter().flatten();
        let found = by_name
            .filter_map(|name| self.set.find_syntax_by_extension(name))
            .next();
        let by_line = || {
            lines
                .first()
                .filter(|line| line.starts_with("#!"))
                .and_then(|line| self.set.find_syntax_by_first_line(line))
        };
        let found = found.or_else(by_line)?;
        (found.name != "Plain Text").then_some(found)
    }
}
