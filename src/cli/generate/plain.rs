//! Formats a generated manual page as text, for terminals without `man`. It knows the few requests that the generator writes.

use crate::terminal::width;

/// Columns by which text below a heading is indented.
const INDENT: usize = 4;

/// Returns the page as text for a terminal with so many columns.
#[must_use]
pub fn plain(roff: &str, columns: usize) -> String {
    let mut page = Page {
        columns: columns.max(2 * INDENT + 20),
        ..Page::default()
    };
    roff.lines().for_each(|line| page.take(line));
    page.end_paragraph();
    format!("{}\n", page.text.trim())
}

#[derive(Default)]
struct Page {
    text: String,
    columns: usize,
    /// Words of the paragraph so far.
    paragraph: String,
    /// Steps of indentation.
    depth: usize,
    /// Lines are not filled.
    is_literal: bool,
    /// The next line is the tag of a list.
    is_tag: bool,
    /// The paragraph is the text behind a tag.
    is_item: bool,
}

impl Page {
    fn take(&mut self, line: &str) {
        let (request, rest) = line.split_once(' ').unwrap_or((line, ""));
        match request {
            ".SH" | ".SS" => {
                self.end_paragraph();
                let heading = unescaped(rest).replace('"', "");
                let indent = if request == ".SS" { "  " } else { "" };
                self.text.push_str(&format!("\n{indent}{heading}\n"));
                (self.depth, self.is_item) = (1, false);
            }
            ".PP" => {
                self.end_paragraph();
                self.blank();
                self.is_item = false;
            }
            ".TP" => {
                self.end_paragraph();
                (self.is_tag, self.is_item) = (true, false);
            }
            ".RS" | ".RE" => {
                self.end_paragraph();
                self.is_item = false;
                self.depth = if request == ".RS" {
                    self.depth + 1
                } else {
                    self.depth.saturating_sub(1)
                };
            }
            ".nf" | ".fi" => {
                self.end_paragraph();
                self.is_literal = request == ".nf";
            }
            ".br" => self.end_paragraph(),
            // The title, and the definition of the apostrophe.
            _ if request.starts_with('.') => {}
            _ => self.add(&unescaped(line)),
        }
    }

    fn add(&mut self, line: &str) {
        if self.is_tag {
            self.put(line, self.depth);
            (self.is_tag, self.is_item) = (false, true);
        } else if self.is_literal {
            self.put(line, self.depth);
        } else {
            if !self.paragraph.is_empty() {
                self.paragraph.push(' ');
            }
            self.paragraph.push_str(line);
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if paragraph.is_empty() {
            return;
        }
        let depth = self.depth + usize::from(self.is_item);
        for line in width::wrap(&paragraph, self.columns.saturating_sub(depth * INDENT)) {
            self.put(&line, depth);
        }
    }

    fn put(&mut self, line: &str, depth: usize) {
        let indent = " ".repeat(depth * INDENT);
        self.text.push_str(format!("{indent}{line}").trim_end());
        self.text.push('\n');
    }

    fn blank(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

/// Returns the text without changes of the font, and with the characters that escapes mean.
fn unescaped(line: &str) -> String {
    let line = line.replace("\\*(Aq", "'").replace("\\(aq", "'");
    let mut text = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('f') => drop(letters.next()),
                Some('e') => text.push('\\'),
                Some('&') | None => {}
                Some(other) => text.push(other),
            },
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_page_is_text() {
        let roff = "\
            .ie \\n(.g .ds Aq \\(aq\n.TH jackin 1 \" \"\n.SH NAME\njackin\\-x \\- Do it\n.SH \"SEE ALSO\"\n.TP\n\
            \\fB\\-\\-all\\fR \\fI<N>\\fR\nAll of the agent\\*(Aqs words, one after the other\n.PP\nNext:\n.RS 4\n.nf\n\
            \\fBa \\e\\fR\n\\fB    b\\fR\n.fi\n.RE\n";
        let text = "\
NAME
    jackin-x - Do it

SEE ALSO
    --all <N>
        All of the agent's
        words, one after the
        other

    Next:
        a \\
            b
";
        assert_eq!(plain(roff, 28), text);
    }
}
