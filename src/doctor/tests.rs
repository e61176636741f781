//! Each problem is judged, reported once, and comes with a step; no damage stops the rest.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Checkup, Finding, Group, Severity, Step, look};
use crate::environment::Environment;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn program(&self, name: &str) -> PathBuf {
        let path = self.write(name, "");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn environment(&self, path: &str) -> Environment {
        Environment {
            variables: [("PATH".into(), path.into())].into(),
            home: Some(self.path().to_path_buf()),
            current: self.path().to_path_buf(),
            ..Environment::default()
        }
    }

    fn look(&self) -> Checkup {
        look(&self.environment(""), None)
    }
}

fn of(checkup: &Checkup, group: Group) -> Vec<&Finding> {
    checkup
        .findings
        .iter()
        .filter(|finding| finding.group == group)
        .collect()
}

#[track_caller]
fn every_fault_has_a_step(checkup: &Checkup) {
    for finding in &checkup.findings {
        assert!(
            finding.severity < Severity::Warning || finding.step.is_some(),
            "{finding:?}"
        );
        assert!(
            finding.severity == Severity::Error || !finding.integrity,
            "{finding:?}"
        );
    }
}

#[test]
fn an_empty_home_is_well_and_stays_empty() {
    let home = Home::new();
    let checkup = home.look();
    assert!(checkup.worst() <= Severity::Note, "{:#?}", checkup.findings);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    assert!(checkup.space.unwrap().bytes.is_none());
}

#[test]
fn nobody_home_is_an_error_and_no_panic() {
    let checkup = look(&Environment::default(), None);
    assert_eq!(checkup.worst(), Severity::Error);
    assert!(!checkup.is_damaged() && checkup.space.is_none());
    every_fault_has_a_step(&checkup);
}

#[test]
fn every_faulty_file_is_named_with_its_line() {
    let home = Home::new();
    home.write(".config/jackin/config.toml", "[recovery]\nsnapshot = 1\n");
    home.write(
        ".config/jackin/workspaces/a.toml",
        "[[mounts]]\nsrc = '/a'\n[recovery]\nexcludes = []\n",
    );
    home.write(".config/jackin/workspaces/b.toml", "not toml");
    home.write(".config/jackin/workspaces/c.toml", "[[mounts]]\nsrc = '/a'\n");
    let checkup = home.look();
    let found = of(&checkup, Group::Configuration);
    assert_eq!(found.len(), 3, "{found:#?}");
    for (finding, (name, line, key)) in found.iter().zip([
        ("config.toml", 2, "recovery.snapshot"),
        ("workspaces/a.toml", 4, "recovery.excludes"),
        ("workspaces/b.toml", 1, "TOML"),
    ]) {
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.path.as_ref().unwrap().ends_with(name), "{finding:?}");
        assert!(finding.what.contains(key), "{finding:?}");
        let Some(Step::Shell(step)) = &finding.step else {
            panic!("{finding:?}")
        };
        assert!(step.contains(&format!("+{line} ")), "{step}");
    }
    every_fault_has_a_step(&checkup);
}

#[test]
fn a_hostile_store_is_only_findings() {
    let home = Home::new();
    let store = home.path().join(".jackin/data/recovery");
    home.write(".jackin/data/recovery/catalog.sqlite3", "no database");
    home.write(".jackin/data/recovery/receipts.log", "\n\n");
    home.write(
        ".jackin/data/recovery/snapshots/sn-000000000000.json",
        "{\"format\":99}",
    );
    home.write(".jackin/data/recovery/tmp/\u{1b}[2J/deep/er", "x");
    std::os::unix::fs::symlink("/", store.join("archives")).unwrap();
    std::os::unix::fs::symlink("nowhere", store.join("locks")).unwrap();
    let checkup = home.look();
    every_fault_has_a_step(&checkup);
    assert!(checkup.is_damaged());
    for group in [Group::Store, Group::Snapshots, Group::Receipts, Group::Catalog] {
        let worst = of(&checkup, group).iter().map(|finding| finding.severity).max();
        assert_eq!(
            worst,
            Some(Severity::Error),
            "{group:?} in {:#?}",
            checkup.findings
        );
    }
    assert!(!of(&checkup, Group::Program).is_empty());
}

#[test]
fn a_file_kept_where_the_store_belongs_is_named() {
    let home = Home::new();
    home.write(".jackin/data/recovery", "x");
    let checkup = home.look();
    every_fault_has_a_step(&checkup);
    assert_eq!(checkup.worst(), Severity::Error);
    // What was not seen is not called well.
    for group in [
        Group::Snapshots,
        Group::Receipts,
        Group::Catalog,
        Group::Work,
        Group::Sessions,
    ] {
        assert!(of(&checkup, group).is_empty(), "{:#?}", checkup.findings);
    }
}

#[test]
fn staging_directories_are_named_where_roots_are_known() {
    let home = Home::new();
    home.write(
        ".config/jackin/workspaces/w.toml",
        "[[mounts]]\nsrc = '~/src/p'\n[[mounts]]\nsrc = '~/gone'\n",
    );
    fs::create_dir_all(home.path().join("src/p/.jackin-recovery-in")).unwrap();
    fs::create_dir_all(home.path().join("src/.jackin-recovery-be side")).unwrap();
    fs::create_dir_all(home.path().join("elsewhere/.jackin-recovery-no")).unwrap();
    let checkup = home.look();
    let found = of(&checkup, Group::Mounts);
    let named: Vec<PathBuf> = found.iter().filter_map(|finding| finding.path.clone()).collect();
    let root = home.path().canonicalize().unwrap();
    assert_eq!(
        named,
        [
            "src/.jackin-recovery-be side",
            "src/p/.jackin-recovery-in",
            "gone"
        ]
        .map(|name| root.join(name))
    );
    assert!(
        found.iter().all(|finding| finding.severity == Severity::Warning),
        "{found:#?}"
    );
    every_fault_has_a_step(&checkup);
}

#[test]
fn the_first_of_that_name_in_path_is_the_one_that_runs() {
    let home = Home::new();
    let own = home.program("own/jackin");
    home.program("other/jackin");
    home.write("plain/jackin", "not executable");
    fs::create_dir(home.path().join("links")).unwrap();
    std::os::unix::fs::symlink(&own, home.path().join("links/jackin")).unwrap();
    for (path, severity, says) in [
        ("", Severity::Note, "is not in PATH"),
        ("plain", Severity::Note, "is not in PATH"),
        ("plain:own:other", Severity::Ok, "runs this program"),
        ("links:other", Severity::Ok, "runs this program"),
        ("other:own", Severity::Warning, "comes first"),
    ] {
        let checkup = look(&home.environment(path), Some(&own));
        let found = of(&checkup, Group::Program);
        let finding = found.iter().find(|finding| finding.what.contains(says));
        assert_eq!(
            finding.map(|finding| finding.severity),
            Some(severity),
            "{path}: {found:#?}"
        );
    }
}
