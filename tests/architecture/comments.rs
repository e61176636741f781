//! Doc comments begin with what a thing is or does, not with a clause ("What is …", "Whether …").

/// Words that a clause begins with.
const CLAUSES: &[&str] = &[
    "Anyone",
    "As",
    "How",
    "If",
    "It",
    "Nobody",
    "Nothing",
    "Somebody",
    "Someone",
    "That",
    "These",
    "They",
    "Those",
    "Unless",
    "Until",
    "What",
    "Whatever",
    "When",
    "Where",
    "Wherever",
    "Whether",
    "Which",
    "Whichever",
    "Who",
    "Whoever",
    "Whom",
    "Whose",
    "Why",
];

/// First lines of the doc comments of a file, with their line numbers from 1.
pub(crate) fn summaries(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut was_doc = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let doc = ["///", "//!"]
            .into_iter()
            .find_map(|mark| line.strip_prefix(mark));
        // Four slashes are an ordinary comment.
        let doc = doc.filter(|doc| !doc.starts_with('/'));
        if let (Some(doc), false) = (doc, was_doc) {
            found.push((at + 1, doc.trim()));
        }
        was_doc = doc.is_some();
    }
    found
}

/// Returns true if a summary begins with a clause.
pub(crate) fn is_clause(summary: &str) -> bool {
    let end = summary.find(|c: char| !c.is_alphabetic());
    CLAUSES.contains(&end.map_or(summary, |end| summary.split_at(end).0))
}
