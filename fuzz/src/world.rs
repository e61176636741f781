//! A small world in which papers of a restore are taken up: a project with two snapshots, a staging directory beside it, and things
//! outside that are nobody's business. What lies there has numbers, for an input cannot know inodes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use jackin_recovery::capture::{Request, take};
use jackin_recovery::model::{
    Coverage, Digest, Ending, InstanceId, Operation, Recorded, SnapshotId, SnapshotKind, StoreId, Time,
};
use jackin_recovery::observer::Silent;
use serde_json::{Value, json};

use super::store::{Counter, Home};

/// What stands in an input for the world's own directory, the letters of its project's root, and its snapshots.
pub const BASE: &str = "/w";
pub const LETTERS: &str = ".jackin-recovery-@";
pub const TARGET: &str = "sn-111111111111";
pub const EMERGENCY: &str = "sn-222222222222";

/// What an input can name by its number, from 1: these, below the world.
const OBJECTS: [&str; 14] = [
    "project",
    "project/edited",
    "project/gone",
    "project/dir",
    "project/dir/inner",
    "project/link",
    "project/built",
    "project/built/out",
    "outside",
    "outside/secret",
    "*/new-0",
    "*/new-1",
    "*/old-0",
    "*",
];

/// The name of the staging directory of `root` that is there.
const STAGE: &str = "0011223344556677";

pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) entropy: Counter,
    target: SnapshotId,
    emergency: SnapshotId,
    letters: String,
    identities: Vec<Value>,
    states: Vec<Value>,
    /// Everything but the store, as it was made.
    pub(crate) made: BTreeMap<PathBuf, Object>,
}

/// What can be seen of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    ino: u64,
    mode: u32,
    mtime: (i64, i64),
    /// None when it may not be read.
    content: Option<Vec<u8>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        let (project, outside) = (home.base.join("project"), home.base.join("outside"));
        let write = |path: PathBuf, text: &str| fs::write(path, text).expect("a file");
        let dir = |path: PathBuf| fs::create_dir(path).expect("a directory");
        dir(project.clone());
        dir(project.join("dir"));
        dir(outside.clone());
        write(outside.join("secret"), "nobody's business\n");
        write(project.join("edited"), "before\n");
        write(project.join("dir/inner"), "inner\n");
        symlink("../outside", project.join("link")).expect("a link");
        let entropy = Counter::default();
        let target = snapshot(&home, &entropy, &project, SnapshotKind::Baseline);
        write(project.join("edited"), "after it\n");
        write(project.join("gone"), "made by a session\n");
        dir(project.join("built"));
        write(project.join("built/out"), "built\n");
        let emergency = snapshot(&home, &entropy, &project, SnapshotKind::Emergency);
        let digest = Digest::of(project.as_os_str().as_bytes()).hex();
        let letters = format!(".jackin-recovery-{}", &digest[..8]);
        let stage = home.base.join(format!("{letters}-{STAGE}"));
        dir(stage.clone());
        dir(home.base.join(format!("{letters}-{STAGE}-aside")));
        write(stage.join("new-0"), "before\n");
        write(stage.join("new-1"), "new\n");
        write(stage.join("old-0"), "old\n");
        let paths = OBJECTS.map(|path| match path.strip_prefix('*') {
            Some(rest) => stage.join(rest.trim_start_matches('/')),
            None => home.base.join(path),
        });
        Self {
            identities: paths.iter().map(|path| identity(path)).collect(),
            states: paths.iter().map(|path| state(path)).collect(),
            made: look(&home.base),
            target,
            emergency,
            letters,
            entropy,
            home,
        }
    }

    /// Where things are besides the store, now.
    pub(crate) fn now(&self) -> BTreeMap<PathBuf, Object> {
        look(&self.home.base)
    }

    /// Puts what this world has into an input.
    pub(crate) fn fill(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => {
                let known = items.len() == 2 && items[1] == "*";
                let at = items.first().and_then(Value::as_u64).filter(|_| known);
                if let Some((ino, state)) = at.and_then(|at| self.known(at)) {
                    *items = vec![ino, state];
                }
                items.iter_mut().for_each(|item| self.fill(item));
            }
            Value::Object(fields) => {
                let number = fields.get("ino").and_then(Value::as_u64);
                let is_identity = fields.contains_key("size") && fields.contains_key("mtime");
                if let Some(identity) = number
                    .filter(|_| is_identity)
                    .and_then(|at| nth(&self.identities, at))
                {
                    *value = identity.clone();
                    return;
                }
                for (name, field) in fields {
                    if ["was", "will"].contains(&name.as_str()) {
                        self.fill_entry(field);
                    } else {
                        self.fill(field);
                    }
                }
            }
            _ => {}
        }
    }

    /// The object of an entry is a number as well, but its bytes are packed.
    fn fill_entry(&self, value: &mut Value) {
        let Ok(Recorded(mut entry)) = serde_json::from_value(value.clone()) else {
            return;
        };
        if let Some(ino) = nth(&self.identities, entry.ino).and_then(|of| of.get("ino")?.as_u64()) {
            entry.ino = ino;
            *value = serde_json::to_value(Recorded(entry)).expect("our own form");
        }
    }

    fn known(&self, number: u64) -> Option<(Value, Value)> {
        let ino = nth(&self.identities, number)?.get("ino")?.clone();
        Some((ino, nth(&self.states, number)?.clone()))
    }

    fn text(&self, text: &str) -> String {
        if let Some(rest) = text
            .strip_prefix(BASE)
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        {
            return format!("{}{rest}", self.home.base.display());
        }
        if let Some(rest) = text.strip_prefix(LETTERS) {
            return format!("{}{rest}", self.letters);
        }
        match text {
            TARGET => self.target.to_string(),
            EMERGENCY => self.emergency.to_string(),
            _ => text.to_owned(),
        }
    }
}

fn nth(values: &[Value], number: u64) -> Option<&Value> {
    values.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// The session that all of it belongs to.
pub(crate) fn instance() -> InstanceId {
    InstanceId::new([1; 8], "demo")
}

/// What is captured of a directory: all.
pub fn coverage(root: &Path) -> Coverage {
    Coverage::new("project", root)
}

fn snapshot(home: &Home, entropy: &Counter, root: &Path, kind: SnapshotKind) -> SnapshotId {
    let (instance, coverages) = (instance(), [coverage(root)]);
    let request = Request::of(&instance, kind, &coverages, (Time::default(), 0));
    take(&home.store, &request, &Silent, entropy)
        .expect("a snapshot")
        .record
        .id
}

fn stamp(time: std::time::SystemTime) -> Value {
    let since = time.duration_since(UNIX_EPOCH).expect("after 1970");
    json!([since.as_secs(), since.subsec_nanos()])
}

fn identity(path: &Path) -> Value {
    let meta = path.symlink_metadata().expect("it is there");
    let mut identity = json!({
        "ino": meta.ino(),
        "size": meta.size(),
        "mtime": stamp(meta.modified().expect("a time")),
    });
    if let Ok(born) = meta.created() {
        identity["born"] = stamp(born);
    }
    identity
}

fn state(path: &Path) -> Value {
    let meta = path.symlink_metadata().expect("it is there");
    let mtime = stamp(meta.modified().expect("a time"));
    match (meta.is_dir(), meta.is_file()) {
        (true, _) => json!("d"),
        (_, true) => json!({ "f": [meta.size(), mtime] }),
        _ => json!({ "o": mtime }),
    }
}

/// Everything below a directory but the store, as far as an ordinary user sees it: papers can name any mode.
fn look(base: &Path) -> BTreeMap<PathBuf, Object> {
    let mut found = BTreeMap::new();
    let mut open = vec![base.to_path_buf()];
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            let Ok(meta) = path.symlink_metadata() else {
                continue;
            };
            if path == base.join("data") {
                continue;
            }
            let content = if meta.is_symlink() {
                fs::read_link(&path).map(|to| to.as_os_str().as_bytes().to_vec())
            } else if meta.is_file() {
                fs::read(&path)
            } else {
                Ok(Vec::new())
            };
            if meta.is_dir() {
                open.push(path.clone());
            }
            let object = Object {
                ino: meta.ino(),
                mode: meta.mode(),
                mtime: (meta.mtime(), meta.mtime_nsec()),
                content: content.ok(),
            };
            found.insert(path, object);
        }
    }
    found
}

impl Drop for World {
    /// So that its directory can be removed.
    fn drop(&mut self) {
        let mut open = vec![self.home.base.clone()];
        while let Some(dir) = open.pop() {
            let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
            let below = fs::read_dir(&dir).into_iter().flatten().flatten();
            open.extend(
                below
                    .map(|entry| entry.path())
                    .filter(|path| !path.is_symlink() && path.is_dir()),
            );
        }
    }
}

/// A session that came from the copy of a store.
pub fn adopted() -> Operation {
    Operation::Adopt {
        place: "s3://bucket/prefix".to_owned(),
        store: StoreId::new([4; 12]),
        trusted: true,
        workspace: Some("web".to_owned()),
        mode: "project".to_owned(),
        mounts: Vec::new(),
        command: None,
        title: jackin_recovery::model::SessionTitle::default(),
        began: Time::default(),
        ended: Time::default(),
        ending: Ending::Ended,
    }
}
