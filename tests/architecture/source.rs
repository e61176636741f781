//! Reads Rust source as far as the walls need it: what is code, what is text, and which paths the code names.

/// A source file taken apart. Both parts keep the line breaks, so that line numbers hold.
pub(crate) struct Source {
    /// Without comments, and with every literal emptied.
    pub(crate) code: String,
    /// The literals alone.
    pub(crate) text: String,
}

/// A path that the code names, such as `std::io::stdout`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// From 1.
    pub(crate) line: usize,
    /// Its parts; a glob import ends in `*`.
    pub(crate) parts: Vec<String>,
    /// It comes from a `use` declaration.
    pub(crate) imported: bool,
    /// The declaration is public, be it for a part of the crate only.
    pub(crate) public: bool,
    /// Its other name.
    pub(crate) alias: Option<String>,
}

impl Source {
    pub(crate) fn of(source: &str) -> Self {
        let characters: Vec<char> = source.chars().collect();
        let mut parts = Self {
            code: String::new(),
            text: String::new(),
        };
        let mut at = 0;
        while at < characters.len() {
            let (end, kind) = token(&characters, at);
            for character in &characters[at..end] {
                let blank = if *character == '\n' { '\n' } else { ' ' };
                parts
                    .code
                    .push(if kind == Token::Code { *character } else { blank });
                parts
                    .text
                    .push(if kind == Token::Literal { *character } else { blank });
            }
            at = end;
        }
        parts
    }

    /// Every path of two and more parts, and everything that is imported, trees taken apart.
    pub(crate) fn paths(&self) -> Vec<Named> {
        let words = words(&self.code);
        let mut found = Vec::new();
        let mut at = 0;
        while at < words.len() {
            if words[at].1 == "use" {
                let begun = found.len();
                let public = is_public(&words, at);
                at = tree(&words, at + 1, &[], &mut found);
                found[begun..].iter_mut().for_each(|named| named.public = public);
            } else if is_name(&words[at].1) {
                let (parts, end) = path(&words, at);
                if parts.len() > 1 {
                    found.push(Named {
                        line: words[at].0,
                        parts,
                        imported: false,
                        public: false,
                        alias: None,
                    });
                }
                at = end;
            } else {
                at += 1;
            }
        }
        found
    }

    /// The macros that are called: name and line.
    pub(crate) fn macros(&self) -> Vec<(usize, String)> {
        let words = words(&self.code);
        let text = |at: usize| words.get(at).map_or("", |(_, word)| word.as_str());
        let called = |at: &usize| is_name(text(*at)) && text(at + 1) == "!" && text(at + 2) != "=";
        (0..words.len())
            .filter(called)
            .map(|at| words[at].clone())
            .collect()
    }

    /// Names, `::` and single other characters of the code, each with its line.
    pub(crate) fn words(&self) -> Vec<(usize, String)> {
        words(&self.code)
    }

    /// The lines that hold this word as code.
    pub(crate) fn lines_with(&self, word: &str) -> Vec<usize> {
        words(&self.code)
            .into_iter()
            .filter(|(_, found)| found == word)
            .map(|(line, _)| line)
            .collect()
    }
}

#[derive(PartialEq, Eq)]
enum Token {
    Code,
    Comment,
    Literal,
}

/// Where the piece that begins here ends, and what it is.
fn token(text: &[char], at: usize) -> (usize, Token) {
    let starts = |what: &str| {
        what.chars()
            .enumerate()
            .all(|(i, c)| text.get(at + i) == Some(&c))
    };
    let after_name = at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_');
    if starts("//") {
        let length = text[at..].iter().position(|c| *c == '\n');
        return (length.map_or(text.len(), |length| at + length), Token::Comment);
    }
    if starts("/*") {
        return (block_comment(text, at), Token::Comment);
    }
    if !after_name {
        let prefix = ["br", "cr", "r", "b", "c"]
            .into_iter()
            .find(|prefix| starts(prefix))
            .unwrap_or("");
        let mut open = at + prefix.len();
        if prefix.ends_with('r') {
            let hashes = text[open..].iter().take_while(|c| **c == '#').count();
            if text.get(open + hashes) == Some(&'"') {
                return (raw(text, open + hashes + 1, hashes), Token::Literal);
            }
            open = at;
        }
        match text.get(open) {
            Some('"') => return (quoted(text, open + 1, '"'), Token::Literal),
            // A lifetime has no closing quote behind its first character.
            Some('\'') if text.get(open + 1) == Some(&'\\') || text.get(open + 2) == Some(&'\'') => {
                return (quoted(text, open + 1, '\''), Token::Literal);
            }
            _ => {}
        }
    } else if starts("\"") {
        return (quoted(text, at + 1, '"'), Token::Literal);
    }
    (at + 1, Token::Code)
}

fn block_comment(text: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => (at, depth) = (at + 2, depth + 1),
            ('*', Some('/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn quoted(text: &[char], mut at: usize, quote: char) -> usize {
    while at < text.len() && text[at] != quote {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn raw(text: &[char], mut at: usize, hashes: usize) -> usize {
    while at < text.len() {
        let closing = text[at] == '"' && text[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
        if closing {
            return at + 1 + hashes;
        }
        at += 1;
    }
    text.len()
}

/// Names, `::` and single other characters, each with its line.
fn words(code: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let name = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            let length = if rest.starts_with("::") {
                2
            } else {
                name.max(first.len_utf8())
            };
            words.push((number + 1, rest[..length].to_owned()));
            rest = rest[length..].trim_start();
        }
    }
    words
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The names joined by `::` from here on, and where they end.
fn path(words: &[(usize, String)], mut at: usize) -> (Vec<String>, usize) {
    let word = |at: usize| words.get(at).map_or("", |(_, word)| word.as_str());
    let mut parts = Vec::new();
    while is_name(word(at)) {
        parts.push(word(at).to_owned());
        at += 1;
        if word(at) != "::" || !is_name(word(at + 1)) {
            break;
        }
        at += 1;
    }
    (parts, at)
}

/// Returns true if `pub`, or `pub` with a place in parentheses, stands before the word.
fn is_public(words: &[(usize, String)], at: usize) -> bool {
    let before = words[..at].iter().rev().map(|(_, word)| word.as_str());
    let mut before = before.take(8);
    match before.next() {
        Some("pub") => true,
        Some(")") => before.skip_while(|word| *word != "(").nth(1) == Some("pub"),
        _ => false,
    }
}

/// One tree of a `use` declaration; gives where it ends.
fn tree(words: &[(usize, String)], mut at: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let word = |at: usize| words.get(at).map_or(";", |(_, word)| word.as_str());
    let line = words.get(at).map_or(0, |(line, _)| *line);
    at += usize::from(word(at) == "::");
    let (parts, end) = path(words, at);
    let mut full = [prefix, parts.as_slice()].concat();
    at = end + usize::from(word(end) == "::");
    match word(at) {
        "{" => {
            at += 1;
            while !matches!(word(at), "}" | ";") {
                let next = tree(words, at, &full, found);
                // What does not parse is passed over.
                at = if next == at || word(next) == "," {
                    next + 1
                } else {
                    next
                };
            }
            return at + 1;
        }
        "*" => {
            full.push("*".to_owned());
            at += 1;
        }
        _ => {}
    }
    let alias = (word(at) == "as").then(|| word(at + 1).to_owned());
    let end = if alias.is_some() { at + 2 } else { at };
    if full.len() > 1 && full.last().is_some_and(|last| last == "self") {
        full.pop();
    }
    if !full.is_empty() {
        found.push(Named {
            line,
            parts: full,
            imported: true,
            public: false,
            alias,
        });
    }
    end
}
