//! Configuration files on disk, good and bad, through the public interface.

mod elsewhere;
mod errors;
mod layers;
mod shipped;
mod workspaces;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Config, ConfigError, Flags, Resolved};
use crate::environment::Environment;

/// A home directory with jackin's configuration in it.
pub(super) struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    pub(super) fn new() -> Self {
        let directory = crate::workplace::scratch();
        fs::create_dir_all(directory.path().join("home/.config/jackin/workspaces")).unwrap();
        Self { directory }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("home")
    }

    pub(super) fn configuration(&self) -> PathBuf {
        self.path().join(".config/jackin")
    }

    pub(super) fn global(self, text: &str) -> Self {
        fs::write(self.configuration().join("config.toml"), text).unwrap();
        self
    }

    pub(super) fn workspace(self, name: &str, text: &str) -> Self {
        fs::write(self.configuration().join(format!("workspaces/{name}.toml")), text).unwrap();
        self
    }

    pub(super) fn environment(&self) -> Environment {
        Environment {
            variables: BTreeMap::new(),
            home: Some(self.path()),
            current: self.path(),
            ..Environment::default()
        }
    }

    pub(super) fn load(&self) -> Result<Config, ConfigError> {
        Config::load(&self.environment())
    }

    pub(super) fn resolve(&self, name: &str) -> Result<Resolved, ConfigError> {
        self.load()?.for_workspace(name, &Flags::default())
    }

    /// Returns the text of the error for workspace `name`, with the configuration directory written as `CONF`.
    pub(super) fn error(&self, name: &str) -> String {
        self.short(&self.resolve(name).expect_err("it must be refused"))
    }

    pub(super) fn short(&self, error: &ConfigError) -> String {
        let text = error
            .to_string()
            .replace(self.configuration().to_str().unwrap(), "CONF");
        text.replace(self.path().to_str().unwrap(), "HOME")
    }
}

pub(super) fn flags(snapshot: &str) -> Flags {
    Flags {
        snapshot: Some(snapshot.to_owned()),
        ..Flags::default()
    }
}

const MOUNT: &str = "[[mounts]]\nsrc = \"/srv/x\"\ndst = \"/x\"\n";

#[test]
fn the_environment_says_where_the_files_are() {
    let home = Home::new();
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(
        elsewhere.join("config.toml"),
        "[recovery]\nsnapshot = \"metadata\"\n",
    )
    .unwrap();
    let mut environment = home.environment();
    environment
        .variables
        .insert(OsString::from("JACKIN_CONFIG_DIR"), elsewhere.into_os_string());
    let config = Config::load(&environment).unwrap();
    let resolved = config.for_directory(Path::new("."), &Flags::default()).unwrap();
    assert_eq!(resolved.mode.value.word(), "metadata");
}

#[test]
fn no_file_at_all_is_no_fault() {
    let empty = crate::workplace::scratch();
    let environment = Environment {
        home: Some(empty.path().to_path_buf()),
        current: empty.path().into(),
        ..Environment::default()
    };
    let config = Config::load(&environment).unwrap();
    assert_eq!(config.workspace_names().unwrap(), Vec::<String>::new());
    assert!(config.for_directory(Path::new("d"), &flags("project")).is_ok());
    let homeless = Environment {
        current: empty.path().into(),
        ..Environment::default()
    };
    assert!(
        Config::load(&homeless)
            .unwrap()
            .for_directory(Path::new("d"), &flags("off"))
            .is_ok()
    );
}

#[test]
fn paths_lead_where_their_links_lead_also_when_the_end_is_missing() {
    let directory = crate::workplace::scratch();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join("near")).unwrap();
    std::os::unix::fs::symlink(root.join("near/later"), root.join("far")).unwrap();
    std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
    let cases = [
        ("real/x/y", "real/x/y"),
        ("near/x", "real/x"),
        ("far/deep", "real/later/deep"),
        ("near/../other", "other"),
        ("./real/./x", "real/x"),
        ("missing/../real", "real"),
    ];
    for (given, expected) in cases {
        assert_eq!(super::settle(&root.join(given)), root.join(expected), "{given}");
    }
    // A loop ends.
    assert!(super::settle(&root.join("loop/x")).starts_with(&root));
}
