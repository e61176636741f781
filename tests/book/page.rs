//! Page of the book as a test reads it: commands with the output that it shows, setup, and text.

use regex::Regex;

/// Part of a page; the parts together are the page.
pub(crate) enum Piece {
    /// Lines that nothing runs.
    Text(String),
    /// Comment that readers do not see, whose script builds what the page assumes.
    Setup {
        /// The comment.
        text: String,
        /// Its commands.
        script: String,
    },
    /// Command with its output.
    Step {
        /// The lines of the command, with their prompts.
        typed: String,
        /// The command.
        command: String,
        /// The output that the page shows.
        shown: String,
    },
}

/// Page that was taken apart.
pub(crate) struct Page {
    pub(crate) pieces: Vec<Piece>,
    /// Blocks with commands of jackin's that nothing runs, with the reason that a comment above them gives.
    pub(crate) not_run: Vec<(Option<String>, String)>,
    needs: Vec<String>,
}

impl Page {
    /// Takes a page apart. `<!-- setup`, `<!-- needs: TOOL … -->` and `<!-- not run: REASON -->` are the comments that it knows.
    pub(crate) fn parse(name: &str, text: &str) -> Self {
        let mut page = Self {
            pieces: Vec::new(),
            not_run: Vec::new(),
            needs: Vec::new(),
        };
        let mut lines = text.split_inclusive('\n').peekable();
        let mut reason = None;
        while let Some(line) = lines.next() {
            let bare = line.trim_end();
            if let Some(tools) = comment(bare, "needs") {
                page.needs.extend(tools.split_whitespace().map(str::to_owned));
            } else if let Some(why) = comment(bare, "not run") {
                reason = Some(why.to_owned());
            } else if bare == "<!-- setup" {
                let mut whole = line.to_owned();
                let mut script = String::new();
                for line in lines.by_ref() {
                    whole.push_str(line);
                    if line.trim_end() == "-->" {
                        break;
                    }
                    script.push_str(line);
                }
                page.pieces.push(Piece::Setup { text: whole, script });
                continue;
            } else if let Some(language) = bare.strip_prefix("```") {
                let mut block = Vec::new();
                let mut end = None;
                for line in lines.by_ref() {
                    if line.trim_end() == "```" {
                        end = Some(line);
                        break;
                    }
                    block.push(line);
                }
                let end = end.unwrap_or_else(|| panic!("{name}: a block has no end"));
                let reason = reason.take();
                page.text(line);
                if language == "console" && reason.is_none() {
                    page.steps(name, &block);
                } else {
                    let has_command = block.iter().any(|line| line.contains("jackin recovery "));
                    if reason.is_some() || (has_command && !matches!(language, "toml" | "json")) {
                        page.not_run.push((reason, block.concat()));
                    }
                    page.text(&block.concat());
                }
                page.text(end);
                continue;
            }
            page.text(line);
        }
        page
    }

    fn text(&mut self, more: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push_str(more),
            _ => self.pieces.push(Piece::Text(more.to_owned())),
        }
    }

    /// Takes a block apart: `$ ` begins a command, `> ` continues it, the rest is output.
    fn steps(&mut self, name: &str, block: &[&str]) {
        for line in block {
            if let Some(first) = line.strip_prefix("$ ") {
                self.pieces.push(Piece::Step {
                    typed: (*line).to_owned(),
                    command: first.trim_end().to_owned(),
                    shown: String::new(),
                });
                continue;
            }
            let Some(Piece::Step {
                typed,
                command,
                shown,
            }) = self.pieces.last_mut()
            else {
                panic!("{name}: a block begins with output: {line}");
            };
            match line.strip_prefix("> ") {
                Some(next) if shown.is_empty() => {
                    typed.push_str(line);
                    command.push('\n');
                    command.push_str(next.trim_end());
                }
                _ => shown.push_str(line),
            }
        }
    }

    /// Returns the tools without which the page cannot run.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &str> {
        self.needs.iter().map(String::as_str)
    }
}

/// Returns the text of a one-line comment `<!-- KIND: TEXT -->`.
fn comment<'a>(line: &'a str, kind: &str) -> Option<&'a str> {
    let inner = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    inner.strip_prefix(kind)?.strip_prefix(": ")
}

/// Returns true if the output shows a question with its answer, and the output without those lines.
pub(crate) fn without_answers(shown: &str) -> (bool, String) {
    let (asked, rest): (Vec<&str>, Vec<&str>) = shown
        .split_inclusive('\n')
        .partition(|line| line.trim_end().ends_with("? yes"));
    (!asked.is_empty(), rest.concat())
}

/// Returns printed output with the questions and answers that the page shows, before the line that reports the result.
pub(crate) fn with_answers(shown: &str, printed: &str) -> String {
    let is_answer = |line: &&str| line.trim_end().ends_with("? yes");
    let asked: String = shown.split_inclusive('\n').filter(is_answer).collect();
    match printed.find("Done: ") {
        Some(at) => format!("{}{asked}{}", &printed[..at], &printed[at..]),
        None => printed.to_owned(),
    }
}

/// Returns true if a command printed what the page shows. `…` stands for any text; sizes, durations, digests and the places where lines
/// break may differ.
pub(crate) fn is_like(shown: &str, printed: &str) -> bool {
    let pattern = regex::escape(&loose(shown)).replace('…', ".*?");
    Regex::new(&format!("(?s)^{pattern}$"))
        .unwrap()
        .is_match(&loose(printed))
}

fn loose(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, with) in [
        // First: a line may break within a size.
        ("\\s+", " "),
        ("[0-9]+([.,][0-9]+)* (B|KiB|MiB|bytes)", "SIZE"),
        ("[0-9]+(\\.[0-9]+)? m?s\\b", "TIME"),
        ("\\b[0-9a-f]{64}\\b", "DIGEST"),
    ] {
        text = Regex::new(pattern).unwrap().replace_all(&text, with).into_owned();
    }
    text
}
