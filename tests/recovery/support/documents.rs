//! The JSON documents that scripts rely on (DESIGN section 7), checked for their shape and taken apart.

use std::collections::BTreeSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::run::Run;

/// One instance of `list --json`.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) workspace: Option<String>,
    pub(crate) status: String,
    pub(crate) ended_at: Option<String>,
    pub(crate) snapshots: Vec<Snapshot>,
}

/// One of its snapshots.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) complete: bool,
    pub(crate) entries: u64,
}

impl Instance {
    /// The newest snapshot of this kind.
    #[track_caller]
    pub(crate) fn snapshot(&self, kind: &str) -> &Snapshot {
        let found = self.snapshots.iter().find(|snapshot| snapshot.kind == kind);
        found.unwrap_or_else(|| panic!("no {kind} among {:?}", self.snapshots))
    }
}

/// What `list --json` said.
#[track_caller]
pub(crate) fn instances(run: &Run) -> Vec<Instance> {
    let document = run.json();
    let all = document["instances"]
        .as_array()
        .unwrap_or_else(|| panic!("no `instances`\n{run}"));
    let instances: Vec<Instance> = all.iter().map(|value| instance(value, run)).collect();
    let starts: Vec<&Value> = all.iter().map(|value| &value["started_at"]).collect();
    let newest_first = starts.windows(2).all(|two| two[0].as_str() >= two[1].as_str());
    assert!(newest_first, "instances are not newest first\n{run}");
    instances
}

#[track_caller]
fn instance(value: &Value, run: &Run) -> Instance {
    assert_time(&value["started_at"], run);
    let ended_at = value["ended_at"].as_str().map(str::to_owned);
    if ended_at.is_some() {
        assert_time(&value["ended_at"], run);
    }
    let snapshots = value["snapshots"]
        .as_array()
        .unwrap_or_else(|| panic!("no `snapshots`\n{run}"));
    Instance {
        id: text(&value["id"], run),
        workspace: value["workspace"].as_str().map(str::to_owned),
        status: text(&value["status"], run),
        ended_at,
        snapshots: snapshots.iter().map(|value| snapshot(value, run)).collect(),
    }
}

#[track_caller]
fn snapshot(value: &Value, run: &Run) -> Snapshot {
    assert_time(&value["taken_at"], run);
    assert!(value["bytes"].is_u64(), "`bytes` is no number\n{run}");
    let kind = text(&value["kind"], run);
    assert!(
        ["baseline", "checkpoint", "closing", "emergency"].contains(&kind.as_str()),
        "kind {kind}\n{run}"
    );
    Snapshot {
        id: text(&value["id"], run),
        kind,
        complete: value["complete"]
            .as_bool()
            .unwrap_or_else(|| panic!("no `complete`\n{run}")),
        entries: value["entries"]
            .as_u64()
            .unwrap_or_else(|| panic!("no `entries`\n{run}")),
    }
}

/// RFC 3339 in UTC with nine digits.
#[track_caller]
fn assert_time(value: &Value, run: &Run) {
    let time = value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no time\n{run}"));
    let form: String = time
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(form, "0000-00-00T00:00:00.000000000Z", "{time}\n{run}");
}

#[track_caller]
fn text(value: &Value, run: &Run) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text\n{run}"))
        .to_owned()
}

/// One change of `diff --json`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    pub(crate) path: Vec<u8>,
    pub(crate) what: String,
    pub(crate) from: Option<Vec<u8>>,
}

/// What `diff --json` said.
pub(crate) struct Changes {
    pub(crate) all: Vec<Change>,
    pub(crate) not_covered: Vec<Vec<u8>>,
    pub(crate) shown: String,
}

const WORDS: [&str; 7] = [
    "added", "modified", "deleted", "type", "mode", "metadata", "renamed",
];

impl Changes {
    /// Takes the document apart; insists on its shape.
    #[track_caller]
    pub(crate) fn of(run: &Run) -> Self {
        let document = run.json();
        for key in ["instance", "from", "to"] {
            assert!(document[key].is_string(), "no `{key}`\n{run}");
        }
        let all = document["changes"]
            .as_array()
            .unwrap_or_else(|| panic!("no `changes`\n{run}"));
        let all = all.iter().map(|value| {
            assert!(
                value["mount"].is_string(),
                "a change without `mount`: {value}\n{run}"
            );
            let what = text(&value["change"], run);
            assert!(WORDS.contains(&what.as_str()), "change `{what}`\n{run}");
            let from = (!value["from_path"].is_null()).then(|| path_of(value, "from_path", run));
            assert_eq!(
                what == "renamed",
                from.is_some(),
                "`from_path` belongs to renamed: {value}\n{run}"
            );
            Change {
                path: path_of(value, "path", run),
                what,
                from,
            }
        });
        Self {
            all: all.collect(),
            not_covered: paths(&document, "not_covered", run),
            shown: run.to_string(),
        }
    }

    /// Insists that exactly these paths changed, and how. `want` is `("deleted", "path")`.
    #[track_caller]
    pub(crate) fn are<P: AsRef<[u8]>>(&self, want: &[(&str, P)]) {
        let mut want: Vec<(Vec<u8>, String)> = want
            .iter()
            .map(|(what, path)| (path.as_ref().to_vec(), (*what).to_owned()))
            .collect();
        want.sort();
        let mut got: Vec<_> = self
            .all
            .iter()
            .map(|change| (change.path.clone(), change.what.clone()))
            .collect();
        got.sort();
        let show = |all: &[(Vec<u8>, String)]| {
            all.iter()
                .map(|(path, what)| format!("\n  {what} \"{}\"", path.escape_ascii()))
                .collect::<String>()
        };
        assert!(
            got == want,
            "changes are{}\nbut these were expected{}\n{}",
            show(&got),
            show(&want),
            self.shown
        );
    }

    /// The change at `path`.
    #[track_caller]
    pub(crate) fn at(&self, path: impl AsRef<[u8]>) -> &Change {
        let path = path.as_ref();
        let found = self.all.iter().find(|change| change.path == path);
        found.unwrap_or_else(|| panic!("no change at \"{}\"\n{}", path.escape_ascii(), self.shown))
    }

    /// Every path that a restore has to touch, sorted: a rename has two.
    pub(crate) fn touched(&self) -> Vec<Vec<u8>> {
        let mut all: Vec<_> = self.all.iter().map(|change| change.path.clone()).collect();
        all.extend(self.all.iter().filter_map(|change| change.from.clone()));
        all.sort();
        all
    }

    /// Every pair of an old and a new path that is shown as a rename.
    pub(crate) fn renames(&self) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
        let pair = |change: &Change| Some((change.from.clone()?, change.path.clone()));
        self.all.iter().filter_map(pair).collect()
    }
}

/// What `restore --json` or `undo --json` said; paths sorted.
#[derive(Debug)]
pub(crate) struct Restored {
    pub(crate) applied: Vec<Vec<u8>>,
    pub(crate) kept: Vec<Vec<u8>>,
    pub(crate) conflicts: Vec<Vec<u8>>,
    pub(crate) failed: Vec<Vec<u8>>,
    pub(crate) not_checked: Vec<Vec<u8>>,
    /// Included as the other side of a rename.
    pub(crate) also: Vec<Vec<u8>>,
    pub(crate) document: Value,
}

impl Restored {
    /// Takes the document apart; insists on its shape.
    #[track_caller]
    pub(crate) fn of(run: &Run) -> Self {
        let document = run.json();
        for key in ["instance", "outcome"] {
            assert!(document[key].is_string(), "no `{key}`\n{run}");
        }
        let [applied, kept, conflicts, failed, not_checked, also] =
            ["applied", "kept", "conflicts", "failed", "not_checked", "also"]
                .map(|key| paths(&document, key, run));
        if !run.command.contains("--dry-run") {
            let left = !conflicts.is_empty() || !failed.is_empty();
            let says_so = run.exit() == Some(6);
            assert!(
                !left || says_so,
                "something was left and the exit code does not say so\n{run}"
            );
            assert!(
                !says_so || left || !kept.is_empty(),
                "exit code 6 and nothing is named\n{run}"
            );
        }
        Self {
            applied,
            kept,
            conflicts,
            failed,
            not_checked,
            also,
            document,
        }
    }

    /// Insists that nothing was to be done.
    #[track_caller]
    pub(crate) fn nothing(&self) {
        assert!(
            self.applied.is_empty() && self.conflicts.is_empty(),
            "{:#}",
            self.document
        );
    }

    /// Insists on exactly these applied paths.
    #[track_caller]
    pub(crate) fn touched<P: AsRef<[u8]>>(&self, want: &[P]) {
        assert_paths(&self.applied, want, "applied", &self.document);
    }

    /// Insists on exactly these conflicts.
    #[track_caller]
    pub(crate) fn conflicted<P: AsRef<[u8]>>(&self, want: &[P]) {
        assert_paths(&self.conflicts, want, "conflicts", &self.document);
    }

    /// Whether `path` is named in any list but `applied`.
    pub(crate) fn names(&self, path: impl AsRef<[u8]>) -> bool {
        let path = path.as_ref();
        [&self.kept, &self.conflicts, &self.failed, &self.not_checked]
            .iter()
            .any(|all| all.iter().any(|p| p == path))
    }
}

#[track_caller]
fn assert_paths<P: AsRef<[u8]>>(got: &[Vec<u8>], want: &[P], what: &str, document: &Value) {
    let mut want: Vec<Vec<u8>> = want.iter().map(|path| path.as_ref().to_vec()).collect();
    want.sort();
    let show = |all: &[Vec<u8>]| {
        all.iter()
            .map(|path| format!("\n  {}", path.escape_ascii()))
            .collect::<String>()
    };
    assert!(
        got == want,
        "{what}:{}\nbut these were expected:{}\n{document:#}",
        show(got),
        show(&want)
    );
}

#[track_caller]
fn paths(document: &Value, key: &str, run: &Run) -> Vec<Vec<u8>> {
    let all = document[key]
        .as_array()
        .unwrap_or_else(|| panic!("no `{key}`\n{run}"));
    let mut paths: Vec<_> = all.iter().map(|value| path_of(value, "path", run)).collect();
    // A renamed file is one line for two paths, as in `diff`.
    let moved = all.iter().filter(|value| value["from_path"].is_string());
    paths.extend(moved.map(|value| path_of(value, "from_path", run)));
    paths.sort();
    paths
}

/// The raw bytes of a path: `<key>_bytes` when it is there (then the name is not UTF-8), else `<key>`. The mount root
/// is the empty path, also when it is written as `.`.
#[track_caller]
fn path_of(value: &Value, key: &str, run: &Run) -> Vec<u8> {
    let lossy = value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no `{key}` in {value}\n{run}"));
    let bytes = match value[format!("{key}_bytes")].as_str() {
        None => lossy.as_bytes().to_vec(),
        Some(base64) => {
            let bytes = STANDARD
                .decode(base64)
                .unwrap_or_else(|error| panic!("{base64}: {error}\n{run}"));
            assert!(
                std::str::from_utf8(&bytes).is_err(),
                "`{key}_bytes` beside a valid UTF-8 name\n{run}"
            );
            assert_eq!(
                String::from_utf8_lossy(&bytes),
                lossy,
                "`{key}` is not the lossy form\n{run}"
            );
            bytes
        }
    };
    let bytes = bytes.strip_suffix(b"/").unwrap_or(&bytes).to_vec();
    if bytes == b"." { Vec::new() } else { bytes }
}
