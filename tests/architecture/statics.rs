//! State of the process: each `static` of the product is named here, with the reason that no value can carry it.

use crate::source::Source;

/// Every `static` that there is: its file, its name, and why it is one.
pub(crate) const ALLOWED: &[(&str, &str, &str)] = &[
    // Constants that are referred to, and never change.
    (
        "src/process/transport.rs",
        "PRODUCT",
        "a constant that outlives every borrower",
    ),
    ("src/store/archive.rs", "ZEROS", "a constant too large to copy"),
    // One for each process, as the kernel sees it.
    (
        "crates/processes/src/child_registry.rs",
        "OWN",
        "the children of a process belong to the process: the code that collects orphans must know all of them",
    ),
    (
        "src/terminal/tty.rs",
        "TAKEN",
        "a panic hook takes no argument, and it restores the one terminal",
    ),
    ("src/terminal/tty.rs", "HOOKED", "a process has one panic hook"),
    // Only in builds for tests.
    (
        "crates/handle-fs/src/simulated.rs",
        "HERE",
        "the simulated file system of a test's thread",
    ),
    (
        "crates/handle-fs/src/remote/loopback.rs",
        "CUT_WHEN",
        "the moment at which a test's connection breaks",
    ),
    (
        "crates/handle-fs/src/remote/loopback.rs",
        "KNOWS",
        "the answers of a test's agents",
    ),
];

/// The statics that a file declares, also within functions and `thread_local!`: line and name.
pub(crate) fn statics(text: &str) -> Vec<(usize, String)> {
    let words = Source::of(text).words();
    let word = |at: usize| words.get(at).map_or("", |(_, word)| word.as_str());
    let declared = (0..words.len()).filter(|at| word(*at) == "static" && (*at == 0 || word(at - 1) != "'"));
    declared
        .filter_map(|at| {
            let name = if word(at + 1) == "mut" { at + 2 } else { at + 1 };
            let is_one = word(name + 1) == ":" || word(at + 1) == "mut";
            is_one.then(|| (words[at].0, word(name).to_owned()))
        })
        .collect()
}

/// Returns what is wrong with the statics of a product file.
pub(crate) fn check_statics(path: &str, text: &str) -> Vec<String> {
    let is_allowed = |name: &str| {
        ALLOWED
            .iter()
            .any(|(file, known, _)| *file == path && *known == name)
    };
    statics(text)
        .into_iter()
        .filter(|(_, name)| !is_allowed(name))
        .map(|(line, name)| {
            format!(
                "{path}:{line}: `static {name}` is state of the process; put it into a value that is made at the edge and \
                 passed down, or say in tests/architecture/statics.rs why that cannot be"
            )
        })
        .collect()
}
