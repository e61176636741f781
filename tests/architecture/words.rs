//! Words that no text of the project has, with the word to use. What a person reads is searched: messages, help, manual
//! pages, doc comments, and the documents.

use super::source::Source;

/// Phrases that are refused, each with the word to use.
const REFUSED: &[(&str, &str)] = &[
    // A sentence names who acts.
    ("nobody", "name the actor, or write `no process`, `unknown`"),
    ("somebody", "name the actor, or write `another process`"),
    ("somebody's", "name the actor, or write `another process's`"),
    ("whoever", "name the actor"),
    ("who asks", "the caller"),
    // No moral or bodily words.
    ("beware", "Note"),
    ("believed", "trusted"),
    ("eyes only", "readable only by you"),
    ("hold against", "compare with"),
    ("hurt", "damaged"),
    ("hurts", "damages"),
    ("means harm", "malicious"),
    ("torn apart", "split"),
    ("vouches", "proves"),
    ("papers", "journal"),
    // The program is jackin.
    ("of ours", "of jackin"),
    ("our hooks", "jackin's hooks"),
    // The reader's word.
    ("all the same", "anyway"),
    ("beyond the rules", "exceeds the retention policy"),
    ("cannot be told", "is unknown"),
    ("carries out", "runs"),
    ("carry it out", "apply"),
    ("gave up", "deleted"),
    ("give back", "restore"),
    ("give up", "delete, prune, discard or stop"),
    ("given up", "deleted, pruned, discarded or timed out"),
    ("gives up", "deletes, prunes, discards or stops"),
    ("go by themselves", "are deleted automatically"),
    ("goes beyond", "exceeds"),
    ("laid aside", "moved aside"),
    ("later work", "later edits"),
    ("leave out", "exclude, omit or skip"),
    ("leaves out", "excludes, omits or skips"),
    ("left out", "excluded, omitted or skipped"),
    ("made anew", "rebuilt, or made again"),
    ("makes no sense", "is invalid"),
    ("put back", "restored"),
    ("puts back", "restores"),
    ("rules of retention", "retention policy"),
    ("stands for several", "matches several"),
    ("take back", "undo, revert or roll back"),
    ("take it back", "undo it, or roll it back"),
    ("taken back", "undone, reverted or rolled back"),
    ("takes back", "undoes, reverts or rolls back"),
    ("took back", "undid, reverted or rolled back"),
];

/// Places where a refused phrase is right: the end of the path, the phrase, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[("docs/crash-safety.md", "papers", "the name of a fuzz target")];

/// Words of a text in lower case, with their line numbers from 1. An empty line is an empty word: no phrase goes beyond it.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            found.push((at + 1, String::new()));
        }
        let parts = line.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '_' | '-'));
        let parts = parts.map(|part| part.trim_matches('\''));
        found.extend(
            parts
                .filter(|part| !part.is_empty())
                .map(|part| (at + 1, part.to_lowercase())),
        );
    }
    found
}

/// Refused phrases of a text, each as `path:line: phrase, and the word to use`.
fn refused(path: &str, text: &str) -> Vec<String> {
    let words = words(text);
    let mut found = Vec::new();
    for (phrase, instead) in REFUSED {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let is_excepted = EXCEPTIONS
            .iter()
            .any(|(end, other, _)| path.ends_with(end) && other == phrase);
        let hits = words
            .windows(parts.len())
            .filter(|window| window.iter().map(|(_, word)| word).eq(parts.iter()));
        if !is_excepted {
            found.extend(hits.map(|hit| format!("{path}:{}: \"{phrase}\"; write: {instead}", hit[0].0)));
        }
    }
    found
}

/// The doc comments of a Rust file; the other lines are empty.
fn doc_comments(text: &str) -> String {
    let docs = text.lines().map(|line| {
        let line = line.trim_start();
        let doc = ["///", "//!"]
            .into_iter()
            .find_map(|mark| line.strip_prefix(mark));
        doc.filter(|doc| !doc.starts_with('/')).unwrap_or_default()
    });
    docs.collect::<Vec<_>>().join("\n")
}

/// A Rust file without the tests at its end.
fn product(text: &str) -> &str {
    let end = text.find("#[cfg(test)]\nmod tests {");
    end.map_or(text, |end| text.split_at(end).0)
}

/// Refused phrases in the messages and doc comments of a Rust file.
pub(crate) fn of_source(path: &str, text: &str) -> Vec<String> {
    let text = product(text);
    let mut found = refused(path, &doc_comments(text));
    // A line break in a literal may stand behind a backslash.
    found.extend(refused(path, &Source::of(text).text.replace("\\n", "  ")));
    found
}

/// Refused phrases in a manual page.
pub(crate) fn of_manual(path: &str, text: &str) -> Vec<String> {
    refused(path, &text.replace("\\-", "-").replace("\\*(Aq", "'"))
}

/// Refused phrases in a document, without its examples and names in code.
pub(crate) fn of_document(path: &str, text: &str) -> Vec<String> {
    let mut is_example = false;
    let lines = text.lines().map(|line| {
        if line.trim_start().starts_with("```") {
            is_example = !is_example;
        }
        let parts = line.split('`').step_by(2);
        if is_example {
            String::new()
        } else {
            parts.collect::<Vec<_>>().join(" ` ")
        }
    });
    refused(path, &lines.collect::<Vec<_>>().join("\n"))
}

/// The newest section of a change log; older ones stay as they were written.
pub(crate) fn newest(text: &str) -> &str {
    let start = text.find("\n## ").map_or(0, |start| start + 1);
    let end = text[start..].find("\n## ").map_or(text.len(), |end| start + end);
    &text[..end]
}

#[test]
fn each_refused_phrase_is_found() {
    for (phrase, _) in REFUSED {
        let (first, rest) = phrase.split_once(' ').unwrap_or((phrase, ""));
        let broken = format!("const A: &str = \"Text {first} \\\n    {rest} more\";\n");
        let found = of_source("src/a.rs", &broken);
        assert!(
            found.iter().any(|line| line.contains(phrase)),
            "{phrase}: {found:?}"
        );
        for text in [
            format!("/// Text {first}\n/// {rest}.\nfn a() {{}}\n"),
            format!("//! Text: {phrase}, more.\n"),
        ] {
            let found = of_source("src/a.rs", &text);
            assert!(
                found.iter().any(|line| line.contains(phrase)),
                "{phrase}: {found:?}"
            );
        }
        let manual = format!(".SH A\nText {} more\n", phrase.replace('\'', "\\*(Aq"));
        let found = of_manual("man/a.1", &manual);
        assert!(
            found.iter().any(|line| line.starts_with("man/a.1:2:")),
            "{phrase}"
        );
        let document = format!("# A\n\nText\n{}\n", phrase.to_uppercase());
        let found = of_document("docs/a.md", &document);
        assert!(
            found.iter().any(|line| line.starts_with("docs/a.md:4:")),
            "{phrase}"
        );
    }
}

#[test]
fn what_nobody_reads_is_not_searched() {
    let source = "// nobody\nlet nobody = hurt(papers);\n#[cfg(test)]\nmod tests {\n    const A: &str = \"nobody\";\n}\n";
    assert!(of_source("src/a.rs", source).is_empty());
    assert!(of_document("docs/a.md", "```text\nnobody\n```\n").is_empty());
    assert!(of_document("docs/a.md", "the target `papers`\n").is_empty());
    assert!(of_document("docs/a.md", "It was put\n\nback then.\n").is_empty());
    // Only whole words count.
    assert!(of_document("docs/a.md", "unhurt, newspapers, input back\n").is_empty());
    assert_eq!(newest("# A\n\n## 2\nnew\n\n## 1\nold\n"), "# A\n\n## 2\nnew\n");
}

#[test]
fn an_exception_has_a_reason() {
    for (path, phrase, why) in EXCEPTIONS {
        assert!(why.len() > 10, "{path}: {phrase}");
        assert!(
            REFUSED.iter().any(|(refused, _)| refused == phrase),
            "{path}: {phrase}"
        );
    }
}
