//! Bracket expressions of gitignore in the syntax of the matcher, which has neither classes such as `[:digit:]` nor escapes in brackets.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::RangeInclusive;
use std::str::Chars;

/// Members that have a meaning of their own in a bracket expression of the matcher, or in the middle of a range.
const SPECIAL: [char; 6] = [']', '[', '\\', '!', '^', '-'];

/// Returns a gitignore pattern in the syntax of the matcher. Every pattern goes through here before it is compiled. One that
/// cannot be translated stays as it is: it is the name of a file that looks like a pattern, or an older version accepted it.
#[must_use]
pub fn matcher_syntax(pattern: &str) -> Cow<'_, str> {
    translated(pattern).unwrap_or(Cow::Borrowed(pattern))
}

/// Returns a gitignore pattern in the syntax of the matcher.
///
/// # Errors
/// Returns the problem in words if a bracket expression is not closed, names an unknown class, has a range that ends before it begins, or
/// matches no character.
pub(super) fn translated(pattern: &str) -> Result<Cow<'_, str>, String> {
    let mut text = String::new();
    let mut rest = pattern.chars().peekable();
    let mut is_changed = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                text.push(c);
                text.extend(rest.next());
            }
            '[' => {
                let from = rest.clone();
                let set = Bracket::parse(&mut rest)?;
                if set.is_plain {
                    let length = from.clone().count() - rest.clone().count();
                    text.push('[');
                    text.extend(from.take(length));
                } else {
                    is_changed = true;
                    set.write(&mut text)?;
                }
            }
            _ => text.push(c),
        }
    }
    Ok(match is_changed {
        true => Cow::Owned(at_the_same_place(pattern, &text)),
        false => Cow::Borrowed(pattern),
    })
}

/// Returns a pattern whose last character is a blank other than a space, with that blank in brackets; `None` for any other pattern. The
/// matcher drops all blanks at the end of a line, git only spaces. Rules of snapshots keep what they meant when they were recorded, so only
/// new patterns go through here.
#[must_use]
pub fn with_last_blank(pattern: &str) -> Option<String> {
    let is_escaped = |head: &str| head.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
    let mut rest = pattern;
    while let Some(head) = rest.strip_suffix(' ').filter(|head| !is_escaped(head)) {
        rest = head;
    }
    let last = rest
        .chars()
        .next_back()
        .filter(|c| c.is_whitespace() && *c != ' ')?;
    let head = rest.strip_suffix(last)?;
    let head = match is_escaped(head) {
        true => head.strip_suffix('\\')?,
        false => head,
    };
    Some(format!("{head}[{last}]"))
}

/// Returns the translation of a pattern with its meaning for directories: one without a slash matches in all of them, and one with a slash
/// that is not the last character only from the root of the mount. A slash in brackets counts, and the translation may have lost or won one.
fn at_the_same_place(pattern: &str, translation: &str) -> String {
    let has_slash = |text: &str| text.strip_suffix('/').unwrap_or(text).contains('/');
    let (sign, body) = match translation.strip_prefix('!') {
        Some(body) => ("!", body),
        None => ("", translation),
    };
    let lead = match (has_slash(pattern), has_slash(body)) {
        (false, true) => "**/",
        (true, false) => "/",
        _ => "",
    };
    format!("{sign}{lead}{body}")
}

/// A bracket expression.
#[derive(Default)]
struct Bracket {
    is_negated: bool,
    /// True if the matcher reads it as git does.
    is_plain: bool,
    /// Members within ASCII.
    ascii: BTreeSet<char>,
    /// Members beyond ASCII.
    others: Vec<RangeInclusive<char>>,
}

impl Bracket {
    /// Reads an expression from behind its `[` to its `]`. As in git, a `]` right at the beginning is a member.
    fn parse(rest: &mut Peekable<Chars<'_>>) -> Result<Self, String> {
        let mut set = Self {
            is_plain: true,
            ..Self::default()
        };
        set.is_negated = rest.next_if(|c| matches!(c, '!' | '^')).is_some();
        // The matcher's would match a slash.
        set.is_plain = !set.is_negated;
        let mut is_first = true;
        loop {
            let c = rest.next().ok_or_else(open)?;
            if c == ']' && !is_first {
                return Ok(set);
            }
            is_first = false;
            if c == '['
                && let Some((name, behind)) = class_name(rest)
            {
                set.is_plain = false;
                set.add_class(&name)?;
                *rest = behind;
                continue;
            }
            let low = set.member(c, rest)?;
            let mut ahead = rest.clone();
            let is_range = ahead.next() == Some('-') && ahead.peek().is_some_and(|c| *c != ']');
            if is_range {
                *rest = ahead;
                let last = rest.next().ok_or_else(open)?;
                let high = set.member(last, rest)?;
                if high < low {
                    return Err(format!(
                        "it has the range `{low}-{high}`, which ends before it begins"
                    ));
                }
                set.add(low..=high);
            } else {
                set.add(low..=low);
            }
        }
    }

    /// Returns the member that begins with `c`.
    fn member(&mut self, c: char, rest: &mut Peekable<Chars<'_>>) -> Result<char, String> {
        self.is_plain &= !SPECIAL.contains(&c);
        match c {
            '\\' => rest.next().ok_or_else(open),
            _ => Ok(c),
        }
    }

    fn add(&mut self, range: RangeInclusive<char>) {
        self.is_plain &= !range.contains(&'/');
        let ascii = range.clone().take_while(char::is_ascii);
        // As in git, no expression matches a slash.
        self.ascii.extend(ascii.filter(|c| *c != '/'));
        if !range.end().is_ascii() && !range.is_empty() {
            self.others.push(*range.start().max(&'\u{80}')..=*range.end());
        }
    }

    fn add_class(&mut self, name: &str) -> Result<(), String> {
        let holds: fn(&char) -> bool = match name {
            "alnum" => char::is_ascii_alphanumeric,
            "alpha" => char::is_ascii_alphabetic,
            "blank" => |c| matches!(c, ' ' | '\t'),
            "cntrl" => char::is_ascii_control,
            "digit" => char::is_ascii_digit,
            "graph" => char::is_ascii_graphic,
            "lower" => char::is_ascii_lowercase,
            "print" => |c| c.is_ascii_graphic() || *c == ' ',
            "punct" => char::is_ascii_punctuation,
            // As git has it: without the vertical tab and the form feed.
            "space" => |c| matches!(c, ' ' | '\t' | '\n' | '\r'),
            "upper" => char::is_ascii_uppercase,
            "xdigit" => char::is_ascii_hexdigit,
            _ => {
                return Err(format!(
                    "it has the unknown class `[:{name}:]`, so it never matches"
                ));
            }
        };
        let members = ('\0'..='\x7f').filter(holds);
        self.ascii.extend(members.filter(|c| *c != '/'));
        Ok(())
    }

    /// Writes it for the matcher: `]` first, `-` last, and neither `!` nor `^` first.
    fn write(&self, text: &mut String) -> Result<(), String> {
        let has = |c: char| self.ascii.contains(&c);
        let mut inside = String::new();
        if has(']') {
            inside.push(']');
        }
        for range in runs(self.ascii.iter().filter(|c| !SPECIAL.contains(c))) {
            push(&mut inside, &range);
        }
        for range in &self.others {
            push(&mut inside, range);
        }
        inside.extend(['[', '\\'].into_iter().filter(|c| has(*c)));
        inside.extend(self.is_negated.then_some('/'));
        let signs: Vec<char> = ['!', '^'].into_iter().filter(|c| has(*c)).collect();
        let may_lead = self.is_negated || !inside.is_empty();
        if !may_lead && has('-') {
            inside.push('-');
            inside.extend(&signs);
        } else if may_lead || signs.is_empty() {
            inside.extend(&signs);
            inside.extend(has('-').then_some('-'));
        } else {
            let signs: Vec<String> = signs.iter().map(|sign| format!("\\{sign}")).collect();
            text.push_str(&format!("{{{}}}", signs.join(",")));
            return Ok(());
        }
        if inside.is_empty() {
            return Err("it has a `[…]` that matches no character, so it never matches".to_owned());
        }
        text.push('[');
        text.extend(self.is_negated.then_some('!'));
        text.push_str(&inside);
        text.push(']');
        Ok(())
    }
}

/// Returns the name of a class whose `[` was read, and what follows it.
fn class_name<'a>(rest: &Peekable<Chars<'a>>) -> Option<(String, Peekable<Chars<'a>>)> {
    let mut behind = rest.clone();
    behind.next_if_eq(&':')?;
    let mut name = String::new();
    loop {
        match behind.next()? {
            ']' => break,
            c => name.push(c),
        }
    }
    Some((name.strip_suffix(':')?.to_owned(), behind))
}

/// Returns runs of adjacent characters, which come in order.
fn runs<'a>(members: impl Iterator<Item = &'a char>) -> Vec<RangeInclusive<char>> {
    let mut runs: Vec<RangeInclusive<char>> = Vec::new();
    for member in members {
        match runs.last_mut() {
            Some(run) if u32::from(*run.end()) + 1 == u32::from(*member) => *run = *run.start()..=*member,
            _ => runs.push(*member..=*member),
        }
    }
    runs
}

fn push(text: &mut String, range: &RangeInclusive<char>) {
    text.push(*range.start());
    if range.start() != range.end() {
        text.extend(['-', *range.end()]);
    }
}

fn open() -> String {
    "it has a `[` without its `]`, so it never matches; write `\\[` for the character".to_owned()
}
