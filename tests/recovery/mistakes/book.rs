//! The transcript of mistakes: how one is made, written down without what differs from run to run, and compared.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::support::machine::{NO_HOLDERS, is_portable};
use crate::support::sandbox::Sandbox;

/// The words that other tests show, because they need a signal, another user or a full disk (`interrupted`, `doctor`,
/// `emergency`), and those that no command of this version gives.
const ELSEWHERE: [&str; 2] = ["interrupted", "partial"];

/// A transcript that grows.
pub(super) struct Book {
    pub(super) sandbox: Sandbox,
    pub(super) text: String,
    pub(super) kinds: BTreeSet<String>,
}

impl Book {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            text: String::new(),
            kinds: BTreeSet::new(),
        }
    }

    /// One mistake: what it is, the kind and the exit code of its error, and the words that were typed in `directory`.
    #[track_caller]
    pub(super) fn mistake(&mut self, what: &str, wanted: (&str, i32), words: &[&str], directory: &Path) {
        self.mistake_through(&[], what, wanted, words, directory);
    }

    /// The same, started by another program.
    #[track_caller]
    pub(super) fn mistake_through(
        &mut self,
        program: &[&str],
        what: &str,
        (kind, code): (&str, i32),
        words: &[&str],
        directory: &Path,
    ) {
        let typed = |more: &[&str]| {
            let words = words.iter().chain(more).copied();
            // Nothing is wrapped, so that the text does not depend on how long the paths are here.
            let command = self
                .sandbox
                .command(words)
                .with("COLUMNS", "10000")
                .with("PATH", "/usr/bin:/bin");
            command.through(program).inside(directory).run()
        };
        let run = typed(&[]).code(code);
        assert!(run.stdout.is_empty() || words.contains(&"restore"), "{run}");
        if !["launch", "lst"].contains(&words[0]) {
            let error = typed(&["--json"]).code(code).error();
            assert_eq!(error["kind"], kind, "{run}");
        }
        self.kinds.insert(kind.to_owned());
        let said = String::from_utf8(run.stderr).unwrap();
        // The contract is not the mistake.
        let at = said.find("error:").unwrap_or_default();
        let said = self.plain(&said[at..]);
        let shown: Vec<String> = words.iter().map(|word| self.plain(word)).collect();
        let typed = shown.join(" ");
        write!(
            self.text,
            "# {what} ({kind})\n$ jackin recovery {typed}\n{said}[{code}]\n\n"
        )
        .unwrap();
    }

    /// Without what differs from run to run: the home, ids, process numbers, random names, sizes of files.
    pub(super) fn plain(&self, text: &str) -> String {
        let text = text.replace(self.sandbox.home().to_str().unwrap(), "/home/ann");
        let text = text.replace(self.sandbox.scratch("").to_str().unwrap(), "/tmp/");
        let text = masked(&text, "rc-", |c| c.is_ascii_alphanumeric(), "rc-xxxxxxxx");
        let text = masked(&text, "sn-", |c| c.is_ascii_alphanumeric(), "sn-xxxxxxxxxxxx");
        let text = masked(&text, "fk-", |c| c.is_ascii_alphanumeric(), "fk-xxxxxxxxxxxx");
        let text = masked(&text, "ar-", |c| c.is_ascii_alphanumeric(), "ar-xxxxxxxxxxxx");
        let text = masked(&text, "content ", |c| c.is_ascii_hexdigit(), "content c0ffee…");
        let text = masked(&text, "process ", |c| c.is_ascii_digit(), "process 4711");
        let text = masked(&text, "kill ", |c| c.is_ascii_digit() || c == ' ', "kill 4711");
        aged(&text)
    }

    /// Insists on the committed text, and that no kind of error is missing.
    pub(super) fn compare(&self) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recovery/mistakes.txt");
        if std::env::var_os("JACKIN_BLESS").is_some() {
            fs::write(&path, &self.text).unwrap();
        }
        let mut committed = fs::read_to_string(&path).unwrap();
        if is_portable(NO_HOLDERS) {
            let (holder, unknown) = ("is held by sleep (process 4711)", "may be held by a process");
            assert!(committed.contains(holder));
            committed = committed.replace(holder, unknown);
        }
        for (said, agreed) in self.text.split("\n\n").zip(committed.split("\n\n")) {
            assert_eq!(said, agreed, "JACKIN_BLESS=1 writes mistakes.txt anew");
        }
        assert_eq!(self.text, committed);
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../../config/schema.json")).unwrap();
        let kinds = schema["$defs"]["ErrorKind"]["oneOf"].as_array().unwrap();
        let all: BTreeSet<String> = kinds
            .iter()
            .map(|kind| kind["const"].as_str().unwrap().to_owned())
            .filter(|kind| !ELSEWHERE.contains(&kind.as_str()))
            .collect();
        assert_eq!(self.kinds, all, "a kind of error that nobody tried");
    }
}

/// `text` with `head`, and what follows it as long as `more` holds, replaced.
fn masked(text: &str, head: &str, more: impl Fn(char) -> bool, instead: &str) -> String {
    let mut made = String::new();
    let mut left = text;
    while let Some((before, after)) = left.split_once(head) {
        // What is masked may hold the head itself.
        let rest = after.trim_start_matches(&more);
        made.push_str(before);
        made.push_str(if rest.len() == after.len() { head } else { instead });
        left = rest;
    }
    made.push_str(left);
    made
}

/// Without the age of a session that began a moment ago.
fn aged(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    while let Some(at) = words
        .windows(2)
        .position(|pair| matches!(pair[0], "second" | "seconds") && pair[1].starts_with("ago)"))
    {
        words.splice(at - 1..=at, ["just"]);
        words[at] = "now)";
    }
    words.join(" ")
}
