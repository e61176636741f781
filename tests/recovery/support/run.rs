//! One finished run of the binary, and what a test may ask of it. Every complaint shows all that the run said.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use serde_json::Value;

/// A finished run.
pub(crate) struct Run {
    /// The command line, for messages.
    pub(crate) command: String,
    /// How it ended; `None` when it was stopped because it took too long.
    pub(crate) status: Option<ExitStatus>,
    /// Everything on standard output.
    pub(crate) stdout: Vec<u8>,
    /// Everything on standard error.
    pub(crate) stderr: Vec<u8>,
}

impl Run {
    /// The exit code; `None` for a signal or a run that was stopped.
    pub(crate) fn exit(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Insists on exit code 0.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.code(0)
    }

    /// Insists on this exit code.
    #[track_caller]
    pub(crate) fn code(self, wanted: i32) -> Self {
        assert_eq!(
            self.exit(),
            Some(wanted),
            "exit code {wanted} was expected\n{self}"
        );
        self
    }

    /// Insists on one of these exit codes, where the contract allows several.
    #[track_caller]
    pub(crate) fn code_in(self, wanted: &[i32]) -> Self {
        assert!(
            self.exit().is_some_and(|code| wanted.contains(&code)),
            "one of the exit codes {wanted:?} was expected\n{self}"
        );
        self
    }

    /// Insists on a plain exit (no signal, no panic) with anything but 0.
    #[track_caller]
    pub(crate) fn refused(self) -> Self {
        let code = self.exit();
        assert!(
            code.is_some_and(|code| code != 0 && code != 101),
            "a refusal was expected\n{self}"
        );
        self
    }

    /// Standard output as the one JSON document it must be, of schema 1.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let value: Value = serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON document: {error}\n{self}"));
        assert_eq!(value["schema"], 1, "the document's schema\n{self}");
        value
    }

    /// The error document on standard error, of schema 1: `kind`, `message`, `hints`.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let text = String::from_utf8_lossy(&self.stderr);
        let start = text.find("{\"schema\"").or_else(|| text.find('{'));
        let value: Value = start
            .and_then(|at| serde_json::from_str(text[at..].trim()).ok())
            .unwrap_or_else(|| panic!("stderr does not end in one JSON document\n{self}"));
        assert_eq!(value["schema"], 1, "the document's schema\n{self}");
        let error = &value["error"];
        assert!(
            error["kind"].is_string() && error["message"].is_string(),
            "error document's shape\n{self}"
        );
        assert!(error["hints"].is_array(), "error document's hints\n{self}");
        error.clone()
    }

    /// Both streams as one lossy text.
    pub(crate) fn text(&self) -> String {
        format!(
            "{}\n{}",
            String::from_utf8_lossy(&self.stdout),
            String::from_utf8_lossy(&self.stderr)
        )
    }

    /// The same in one line: prose is wrapped at the width of whoever reads it.
    pub(crate) fn said(&self) -> String {
        self.text().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The same without ages: a busy machine takes seconds for what has just happened.
    pub(crate) fn ageless(&self) -> String {
        let mut text = self.said();
        for unit in ["second", "seconds", "minute", "minutes"] {
            let ending = format!(" {unit} ago");
            while let Some(at) = text.find(&ending) {
                let number = text[..at]
                    .rfind(|c: char| !c.is_ascii_digit())
                    .map_or(0, |at| at + 1);
                text.replace_range(number..at + ending.len(), "just now");
            }
        }
        text
    }

    /// Insists that the output holds `fact` somewhere, be it across line breaks.
    #[track_caller]
    pub(crate) fn shows(self, fact: &str) -> Self {
        self.has(fact);
        self
    }

    /// As [`Self::shows`], of a run that is still needed.
    #[track_caller]
    pub(crate) fn has(&self, fact: &str) -> &Self {
        assert!(
            self.text().contains(fact) || self.said().contains(fact),
            "`{fact}` is not in the output\n{self}"
        );
        self
    }

    /// Insists on a failure that says what is wrong, in one of these words, and where; never a panic, never a success.
    #[track_caller]
    pub(crate) fn names(&self, codes: &[i32], reasons: &[&str], place: &Path, about: &str) {
        assert!(
            self.exit().is_some_and(|code| codes.contains(&code)),
            "{about}: a failure was expected\n{self}"
        );
        let text = self.said();
        assert!(
            reasons.iter().any(|reason| text.contains(reason)),
            "{about}: it does not say what is wrong\n{self}"
        );
        assert!(
            text.contains(place.to_str().unwrap()),
            "{about}: it does not say where\n{self}"
        );
    }

    /// Insists that the output holds `secret` nowhere.
    #[track_caller]
    pub(crate) fn hides(self, secret: &str) -> Self {
        assert!(
            !self.text().contains(secret),
            "`{secret}` is in the output\n{self}"
        );
        self
    }

    /// Insists that a terminal could come to no harm: UTF-8, no control characters but line feed and tab, nothing
    /// that turns the direction of writing.
    #[track_caller]
    pub(crate) fn harmless(self) -> Self {
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let text = std::str::from_utf8(stream)
                .unwrap_or_else(|error| panic!("{name} is not UTF-8: {error}\n{self}"));
            let bad = text.chars().find(|c| is_harmful(*c));
            assert!(bad.is_none(), "{name} holds {bad:?}\n{self}");
        }
        self
    }
}

/// Control characters (C0 without line feed and tab, DEL, C1), bidi controls, line and paragraph separators.
pub(crate) fn is_harmful(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            None => "stopped by the test: it took too long".to_owned(),
            Some(status) => match status.signal() {
                Some(signal) => format!("killed by signal {signal}"),
                None => format!("exit code {}", status.code().unwrap_or(-1)),
            },
        };
        writeln!(f, "--- {}\n--- {status}", self.command)?;
        writeln!(f, "--- stdout\n{}", shown(&self.stdout))?;
        write!(f, "--- stderr\n{}", shown(&self.stderr))
    }
}

/// Text for a message: lines stay, what could hurt the reader's own terminal is escaped, huge output is cut.
fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 50000;
    let cut = &bytes[..bytes.len().min(MOST)];
    let mut text: String = String::from_utf8_lossy(cut)
        .chars()
        .map(|c| {
            if is_harmful(c) {
                c.escape_unicode().to_string()
            } else {
                c.to_string()
            }
        })
        .collect();
    if bytes.len() > MOST {
        text.push_str(&format!("\n… and {} bytes more", bytes.len() - MOST));
    }
    text
}
