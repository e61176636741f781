//! Parses a shell's command line as far as its effect can be known without running it. Anything else is `None`, which the caller
//! treats as the worst case.
//!
//! Sources: POSIX.1-2024, Shell Command Language, 2.2 (quoting), 2.3 (tokens), 2.6 (expansions), 2.7 (redirection), 2.9 (commands), and
//! the extensions of bash and zsh that are common.

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Text without quotes and without the results of expansions.
    pub(super) text: String,
    /// True if nothing in it is expanded: the command gets exactly this text.
    pub(super) is_fixed: bool,
}

/// Target of an output redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Another stream, or nowhere.
    Harmless,
    /// A file.
    File,
}

/// One command without operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<Word>,
    /// Targets of its output.
    pub(super) outputs: Vec<Output>,
}

/// A parsed command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Every command in it, also those in subshells and substitutions.
    pub(super) commands: Vec<Simple>,
}

/// Maximum nesting depth.
const DEEPEST: usize = 16;
/// Maximum length of a line, in bytes.
const LONGEST: usize = 64 << 10;

/// Parses a line; `None` if any part of it is not understood.
pub(super) fn parse(text: &str) -> Option<Line> {
    if text.len() > LONGEST {
        return None;
    }
    let mut line = Line::default();
    let mut reader = Reader {
        left: text,
        line: &mut line,
        depth: 0,
    };
    reader.list(None)?;
    Some(line)
}

struct Reader<'t, 'l> {
    left: &'t str,
    line: &'l mut Line,
    depth: usize,
}

impl<'t> Reader<'t, '_> {
    fn peek(&self) -> Option<char> {
        self.left.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.left.chars();
        let next = chars.next();
        self.left = chars.as_str();
        next
    }

    fn eat(&mut self, wanted: &str) -> bool {
        match self.left.strip_prefix(wanted) {
            Some(rest) => {
                self.left = rest;
                true
            }
            None => false,
        }
    }

    /// Reads commands up to and including `until`, or to the end of the text.
    fn list(&mut self, until: Option<char>) -> Option<()> {
        if self.depth > DEEPEST {
            return None;
        }
        let mut command = Simple::default();
        loop {
            let Some(next) = self.peek() else {
                self.end(&mut command);
                return until.is_none().then_some(());
            };
            match next {
                ' ' | '\t' => drop(self.next()),
                '\\' if self.left.starts_with("\\\n") => drop((self.next(), self.next())),
                // Words are read to their end, so one would begin here.
                '#' => self.skip_comment(),
                '\n' | ';' | '&' | '|' => self.operator(&mut command)?,
                '(' => {
                    // `name()` defines a function, `name=(…)` an array. `((…))` is arithmetic, which evaluates what a variable holds.
                    if !command.words.is_empty() || self.left.starts_with("((") {
                        return None;
                    }
                    self.next();
                    self.depth += 1;
                    self.list(Some(')'))?;
                    self.depth -= 1;
                }
                ')' => {
                    self.next();
                    self.end(&mut command);
                    return (until == Some(')')).then_some(());
                }
                '<' | '>' => self.redirection(&mut command)?,
                _ => {
                    let word = self.word()?;
                    let is_number = word.is_fixed && word.text.bytes().all(|byte| byte.is_ascii_digit());
                    if !(is_number && matches!(self.peek(), Some('<' | '>'))) {
                        command.words.push(word);
                    }
                }
            }
        }
    }

    fn skip_comment(&mut self) {
        let end = self.left.find('\n').unwrap_or(self.left.len());
        self.left = self.left.get(end..).unwrap_or_default();
    }

    fn end(&mut self, command: &mut Simple) {
        let command = std::mem::take(command);
        if command != Simple::default() {
            self.line.commands.push(command);
        }
    }

    fn operator(&mut self, command: &mut Simple) -> Option<()> {
        // `&>` and `&>>` send both streams.
        if self.eat("&>>") || self.eat("&>") {
            return self.target(command);
        }
        // The ends of a case, and zsh's `&|` and `&!`.
        if [";;", ";&", "&|", "&!"]
            .into_iter()
            .any(|odd| self.left.starts_with(odd))
        {
            return None;
        }
        for operator in ["&&", "||", "|&", "|", "&", ";", "\n"] {
            if self.eat(operator) {
                self.end(command);
                return Some(());
            }
        }
        None
    }

    fn redirection(&mut self, command: &mut Simple) -> Option<()> {
        if self.eat("<<<") {
            self.skip_blanks();
            return self.word().map(drop);
        }
        // Here-documents, process substitutions, and what opens for reading and writing.
        if ["<<", "<(", ">(", "<>"]
            .into_iter()
            .any(|odd| self.left.starts_with(odd))
        {
            return None;
        }
        if self.eat("<&") {
            return self.stream();
        }
        if self.eat("<") {
            self.skip_blanks();
            return self.word().map(drop);
        }
        if self.eat(">&") {
            // `>&2` is a stream, `>&name` a file.
            if self
                .peek()
                .is_some_and(|next| next.is_ascii_digit() || next == '-')
            {
                command.outputs.push(Output::Harmless);
                return self.stream();
            }
            return self.target(command);
        }
        // zsh overwrites the file behind it, bash writes a file of this name.
        if self.eat(">!") {
            return None;
        }
        let _ = self.eat(">>") || self.eat(">|") || self.eat(">");
        self.target(command)
    }

    /// Reads the number of a stream.
    fn stream(&mut self) -> Option<()> {
        let word = self.word()?;
        let is_stream = |byte: u8| byte.is_ascii_digit() || byte == b'-';
        (word.is_fixed && !word.text.is_empty() && word.text.bytes().all(is_stream)).then_some(())
    }

    fn target(&mut self, command: &mut Simple) -> Option<()> {
        const NOWHERE: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
        self.skip_blanks();
        let word = self.word()?;
        let is_harmless = word.is_fixed && NOWHERE.contains(&word.text.as_str());
        command.outputs.push(if is_harmless {
            Output::Harmless
        } else {
            Output::File
        });
        Some(())
    }

    fn skip_blanks(&mut self) {
        self.left = self.left.trim_start_matches([' ', '\t']);
    }

    /// Reads one word; `None` if there is none, or if a part of it is not understood.
    fn word(&mut self) -> Option<Word> {
        let mut word = Word {
            text: String::new(),
            is_fixed: true,
        };
        let before = self.left.len();
        let mut is_pattern = false;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    self.next();
                    let end = self.left.find('\'')?;
                    let (quoted, rest) = self.left.split_at_checked(end)?;
                    word.text.push_str(quoted);
                    self.left = rest.get(1..)?;
                }
                '"' => {
                    self.next();
                    self.quoted(&mut word)?;
                }
                '\\' => {
                    self.next();
                    match self.next()? {
                        '\n' => {}
                        escaped => word.text.push(escaped),
                    }
                }
                '$' => self.dollar(&mut word)?,
                '`' => self.backquoted(&mut word)?,
                // What they become depends on the files that are there.
                '*' | '?' | '[' | '{' | '~' | '^' => {
                    self.next();
                    word.text.push(next);
                    is_pattern = true;
                }
                '\0' => return None,
                plain => {
                    self.next();
                    word.text.push(plain);
                }
            }
        }
        // Alone, these are commands and no patterns.
        word.is_fixed &= !is_pattern || matches!(word.text.as_str(), "[" | "[[" | "{");
        (self.left.len() < before).then_some(word)
    }

    fn quoted(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.peek()? {
                '"' => {
                    self.next();
                    return Some(());
                }
                '\\' => {
                    self.next();
                    match self.next()? {
                        '\n' => {}
                        escaped @ ('$' | '`' | '"' | '\\') => word.text.push(escaped),
                        other => {
                            word.text.push('\\');
                            word.text.push(other);
                        }
                    }
                }
                // At the end of what is quoted it stands for itself.
                '$' if self.left.starts_with("$\"") => {
                    self.next();
                    word.text.push('$');
                }
                '$' => self.dollar(word)?,
                '`' => self.backquoted(word)?,
                plain => {
                    self.next();
                    word.text.push(plain);
                }
            }
        }
    }

    /// Reads what follows a dollar. The commands of a substitution become commands of the line.
    fn dollar(&mut self, word: &mut Word) -> Option<()> {
        self.next();
        match self.peek() {
            Some('(') => {
                if let Some(rest) = self.left.strip_prefix("((") {
                    return self.arithmetic(rest, word);
                }
                self.next();
                self.depth += 1;
                self.list(Some(')'))?;
                self.depth -= 1;
                word.is_fixed = false;
            }
            Some('{') => {
                let (name, rest) = self.left.get(1..)?.split_once('}')?;
                // Anything else may assign, or run what a variable holds.
                if name.is_empty()
                    || !name
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                {
                    return None;
                }
                self.left = rest;
                word.is_fixed = false;
            }
            // Letters in C's or the locale's quoting.
            Some('\'' | '"') => return None,
            Some(next) if next.is_ascii_alphanumeric() || "_?#@*!-$".contains(next) => {
                self.next();
                if next.is_ascii_alphabetic() || next == '_' {
                    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                    self.left = self.left.trim_start_matches(name);
                }
                word.is_fixed = false;
            }
            // A dollar that stands for itself.
            None | Some(' ' | '\t' | '\n' | '/' | '.' | ',' | '|' | ')' | ';') => word.text.push('$'),
            // Older sums, and what only some shells know.
            Some(_) => return None,
        }
        Some(())
    }

    /// Reads arithmetic of numbers only. A shell evaluates a variable's text once more, and an index in it may run commands.
    fn arithmetic(&mut self, inside: &'t str, word: &mut Word) -> Option<()> {
        let (sum, rest) = inside.split_once("))")?;
        if !sum
            .chars()
            .all(|c| c.is_ascii_digit() || " +-*/%()<>&|".contains(c))
        {
            return None;
        }
        self.left = rest;
        word.is_fixed = false;
        Some(())
    }

    fn backquoted(&mut self, word: &mut Word) -> Option<()> {
        let (inside, rest) = self.left.get(1..)?.split_once('`')?;
        // Escapes in it mean another level.
        if inside.contains('\\') || self.depth > DEEPEST {
            return None;
        }
        let mut reader = Reader {
            left: inside,
            line: &mut *self.line,
            depth: self.depth + 1,
        };
        reader.list(None)?;
        self.left = rest;
        word.is_fixed = false;
        Some(())
    }
}
