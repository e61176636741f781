//! State of the process: each `static` of the product is named here, with the reason that no value can carry it.

use super::product;
use crate::source::Source;

/// Every `static` that there is: its file, its name, and why it is one.
const ALLOWED: &[(&str, &str, &str)] = &[
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
        "crates/processes/src/linux.rs",
        "IGNORED",
        "the signals that the process was started with ignored, which each handler asks for",
    ),
    (
        "crates/processes/src/portable.rs",
        "IGNORED",
        "the same, for which a program of the system is started",
    ),
    (
        "crates/processes/src/portable.rs",
        "BOOT",
        "the boot of the machine, for which a program of the system is started",
    ),
    (
        "crates/handle-fs/src/lib.rs",
        "THREADS",
        "the cores that the process may use, which each piece of work asks for",
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
fn statics(text: &str) -> Vec<(usize, String)> {
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
fn check_statics(path: &str, text: &str) -> Vec<String> {
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

#[test]
fn no_state_belongs_to_the_process() {
    let files = product();
    let broken: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| check_statics(path, text))
        .collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
    for (allowed, name, _) in ALLOWED {
        let text = files.iter().find(|(path, _)| path == allowed);
        let there = text.is_some_and(|(_, text)| statics(text).iter().any(|(_, found)| found == name));
        assert!(there, "{allowed} has no `static {name}` any more");
    }
}

#[test]
fn state_of_the_process_is_found() {
    let cases = [
        ("static A: Mutex<bool> = Mutex::new(false);", "1 A"),
        ("fn f() {\n    static ONCE: Once = Once::new();\n}", "2 ONCE"),
        ("pub(super) static mut N: u32 = 0;", "1 N"),
        (
            "thread_local! {\n    static HERE: Cell<u8> = const { Cell::new(0) };\n}",
            "2 HERE",
        ),
        ("static\n    B: LazyLock<X> = LazyLock::new(x);", "1 B"),
        (
            "// static A: u8 = 0;\nconst T: &'static str = \"static B: u8\";",
            "",
        ),
        ("fn f(x: &'static Product) -> Box<dyn Any + 'static> { g() }", ""),
    ];
    for (code, expected) in cases {
        let found: Vec<String> = statics(code)
            .into_iter()
            .map(|(line, name)| format!("{line} {name}"))
            .collect();
        assert_eq!(found.join(", "), expected, "{code}");
    }
    let found = check_statics(
        "src/store/lock.rs",
        "//! A job.\nstatic HELD: Held = Held::new();\n",
    );
    assert!(
        found.len() == 1 && found[0].starts_with("src/store/lock.rs:2: `static HELD`"),
        "{found:?}"
    );
    assert_eq!(
        check_statics("src/store/archive.rs", "static ZEROS: [u8; 4] = [0; 4];"),
        Vec::<String>::new()
    );
}
