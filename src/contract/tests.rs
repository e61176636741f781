//! Contracts made from real directories.

mod coverage;
mod foreign;
mod matcher;
mod mounts;
mod refusals;
mod target;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::{Contract, ContractError, MountState, NotCovered, Options, mark_new, resolve};
use crate::config::{Config, Flags};
use crate::environment::Environment;
use crate::model::{ByteString, Coverage};

/// A host: `ROOT/home` with jackin's directories in it, `ROOT/src` for mounts.
pub(super) struct Host {
    directory: tempfile::TempDir,
    variables: BTreeMap<OsString, OsString>,
}

impl Host {
    pub(super) fn new() -> Self {
        let host = Self {
            directory: crate::workplace::scratch(),
            variables: BTreeMap::new(),
        };
        host.dir("home/.config/jackin/workspaces").dir("src")
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(below)
    }

    pub(super) fn dir(self, below: &str) -> Self {
        fs::create_dir_all(self.path(below)).unwrap();
        self
    }

    pub(super) fn file(self, below: &str) -> Self {
        fs::create_dir_all(self.path(below).parent().unwrap()).unwrap();
        fs::write(self.path(below), "x").unwrap();
        self
    }

    pub(super) fn link(self, below: &str, target: &str) -> Self {
        symlink(self.path(target), self.path(below)).unwrap();
        self
    }

    pub(super) fn variable(mut self, name: &str, below: &str) -> Self {
        self.variables
            .insert(name.into(), self.path(below).into_os_string());
        self
    }

    pub(super) fn environment(&self) -> Environment {
        Environment {
            variables: self.variables.clone(),
            home: Some(self.path("home")),
            current: self.path("src"),
            ..Environment::default()
        }
    }

    /// The contract for workspace `w`, whose file holds these mounts (`ROOT/` before each path, then other keys) and
    /// this `[recovery]`.
    pub(super) fn workspace(
        &self,
        mounts: &[(&str, &str)],
        recovery: &str,
        options: Options,
        previous: &[Coverage],
    ) -> Result<Contract, ContractError> {
        let mut text = String::new();
        for (path, more) in mounts {
            text += &format!("[[mounts]]\nsrc = {:?}\n{more}\n", self.path(path));
        }
        text += &format!("[recovery]\n{recovery}\n");
        let environment = self.environment();
        let directory = environment.jackin_config().unwrap();
        fs::create_dir_all(directory.join("workspaces")).unwrap();
        fs::write(directory.join("workspaces/w.toml"), text).unwrap();
        let resolved = Config::load(&environment)?.for_workspace("w", &Flags::default())?;
        let mut contract = resolve(&environment, &resolved, options)?;
        mark_new(&mut contract, previous);
        Ok(contract)
    }

    /// A contract for one mount in mode `project`.
    pub(super) fn project(&self, mount: &str, recovery: &str) -> Result<Contract, ContractError> {
        let recovery = format!("snapshot = \"project\"\n{recovery}");
        self.workspace(&[(mount, "")], &recovery, Options::default(), &[])
    }

    /// The same with `--allow-broad`.
    pub(super) fn broad(&self, mount: &str, recovery: &str) -> Result<Contract, ContractError> {
        let recovery = format!("snapshot = \"project\"\n{recovery}");
        self.workspace(
            &[(mount, "")],
            &recovery,
            Options {
                allow_broad: true,
                ..Options::default()
            },
            &[],
        )
    }

    /// Any text with this host's root written as `ROOT`.
    pub(super) fn short(&self, text: &dyn std::fmt::Display) -> String {
        text.to_string()
            .replace(self.path("").to_str().unwrap().trim_end_matches('/'), "ROOT")
    }

    pub(super) fn bytes(&self, below: &str) -> ByteString {
        ByteString::from(self.path(below).as_path())
    }
}

pub(super) fn only(contract: &Contract) -> &Coverage {
    let mut coverages = contract.coverages();
    let first = coverages.next().unwrap();
    assert!(coverages.next().is_none());
    first
}

/// `captured`, `in <label>`, `readonly`, or why not.
pub(super) fn states(contract: &Contract) -> Vec<String> {
    let word = |state: &MountState| match state {
        MountState::Captured => "captured".to_owned(),
        MountState::CoveredBy { label, .. } => format!("in {label}"),
        MountState::Readonly => "readonly".to_owned(),
        MountState::NotCovered { reason } => match reason {
            NotCovered::LeftOut { label, pattern } => {
                format!("left out of {label} by {}", pattern.as_deref().unwrap_or("-"))
            }
            NotCovered::Isolated { .. } => "Isolated".to_owned(),
            other => format!("{other:?}"),
        },
    };
    contract.mounts.iter().map(|mount| word(&mount.state)).collect()
}

#[test]
fn a_contract_says_everything_and_prints_as_json() {
    let host = Host::new()
        .dir("src/web")
        .file("src/web/Cargo.toml")
        .dir("src/docs");
    let contract = host
        .workspace(
            &[("src/web", "dst = \"/w\""), ("src/docs", "readonly = true")],
            "snapshot = \"project\"\nexclude = [\"*.log\"]",
            Options::default(),
            &[],
        )
        .unwrap();
    assert_eq!(contract.label, "w");
    assert!(contract.snapshot.created && contract.restore.available);
    assert_eq!(contract.store, Some(host.bytes("home/.jackin/data/recovery")));
    assert_eq!(contract.restore.overwrites, [host.bytes("src/web")]);
    let json = serde_json::to_value(&contract).unwrap();
    let text = host.short(&json);
    for part in [
        r#""subject":{"kind":"workspace","name":"w"}"#,
        r#""snapshot":{"created":true,"mode":"project","source":{"kind":"file","line":8,"#,
        r#""restore":{"available":true,"overwrites":["ROOT/src/web"],"reason":null}"#,
        r#""limits":{"max_bytes":{"source":{"kind":"default"},"value":21474836480}"#,
        r#""state":"captured""#,
        r#""state":"readonly""#,
        r#"{"pattern":"/target/","source":{"integration":{"because":"Cargo.toml","name":"rust"}}}"#,
        r#"{"pattern":"*.log","source":{"config":"ROOT/home/.config/jackin/workspaces/w.toml"}}"#,
        r#""store":"ROOT/home/.jackin/data/recovery""#,
        r#""isolation":"shared""#,
        r#""dst":"/w""#,
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn off_and_metadata_capture_nothing_and_say_so() {
    let host = Host::new().dir("src/web").file("src/web/Cargo.toml");
    for (mode, reason) in [("off", "off"), ("metadata", "metadata")] {
        let recovery = format!("snapshot = {mode:?}");
        // Modes that capture nothing have no reason to refuse the home directory.
        for mount in ["src/web", "home", "home/.ssh"] {
            let host = Host::new().dir("src/web").dir("home/.ssh");
            let contract = host
                .workspace(&[(mount, "")], &recovery, Options::default(), &[])
                .unwrap();
            assert!(!contract.snapshot.created && !contract.restore.available);
            assert_eq!(contract.restore.overwrites, []);
            assert_eq!(contract.coverages().count(), 0);
            assert_eq!(states(&contract), ["Mode"]);
            assert_eq!(serde_json::to_value(contract.restore.reason).unwrap(), reason);
        }
        let contract = host
            .workspace(&[("src/web", "")], &recovery, Options::default(), &[])
            .unwrap();
        assert_eq!(contract.store.is_some(), mode == "metadata");
    }
}

#[test]
fn making_a_contract_changes_nothing() {
    let host = Host::new()
        .dir("home/.ssh")
        .file("src/web/package.json")
        .link("home/.aws", "src/web/aws");
    let look = |host: &Host| -> Vec<String> {
        let entries = walkdir::WalkDir::new(host.path(""))
            .sort_by_file_name()
            .into_iter();
        entries
            .map(|entry| {
                let entry = entry.unwrap();
                let metadata = entry.metadata().unwrap();
                format!(
                    "{:?} {:?} {:?}",
                    entry.path(),
                    metadata.modified().unwrap(),
                    metadata.permissions()
                )
            })
            .collect()
    };
    host.broad("src/web", "").unwrap();
    let environment = host.environment();
    let before = look(&host);
    let config = Config::load(&environment).unwrap();
    let resolved = config.for_workspace("w", &Flags::default()).unwrap();
    resolve(&environment, &resolved, Options::default()).unwrap();
    assert_eq!(look(&host), before);
}

#[test]
fn the_words_for_what_happens_to_a_mount_stay_as_they_are() {
    let label = "a".to_owned();
    let left_out = |pattern| NotCovered::LeftOut {
        label: "a".to_owned(),
        pattern,
    };
    for (state, json) in [
        (MountState::Captured, r#"{"state":"captured"}"#),
        (
            MountState::CoveredBy {
                label,
                outer: ByteString(b"/a".to_vec()),
            },
            r#"{"state":"covered_by","label":"a","outer":"/a"}"#,
        ),
        (MountState::Readonly, r#"{"state":"readonly"}"#),
        (
            MountState::NotCovered {
                reason: NotCovered::Mode,
            },
            r#"{"state":"not_covered","reason":{"kind":"mode"}}"#,
        ),
        (
            MountState::NotCovered {
                reason: NotCovered::SingleFile,
            },
            r#"{"state":"not_covered","reason":{"kind":"single_file"}}"#,
        ),
        (
            MountState::NotCovered {
                reason: NotCovered::Isolated {
                    containers: Vec::new(),
                    unread: Vec::new(),
                },
            },
            r#"{"state":"not_covered","reason":{"kind":"isolated","containers":[],"unread":[]}}"#,
        ),
        (
            MountState::NotCovered {
                reason: left_out(Some("x/".into())),
            },
            r#"{"state":"not_covered","reason":{"kind":"left_out","label":"a","pattern":"x/"}}"#,
        ),
        (
            MountState::NotCovered {
                reason: left_out(None),
            },
            r#"{"state":"not_covered","reason":{"kind":"left_out","label":"a","pattern":null}}"#,
        ),
    ] {
        assert_eq!(serde_json::to_string(&state).unwrap(), json);
    }
}
