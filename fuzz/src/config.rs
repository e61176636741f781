//! Configuration files with any text in them: read, or refused with the line; and `init` adds to them and changes nothing else.

use std::fs;
use std::path::PathBuf;

use jackin_recovery::config::{Config, Edit, EditError, Flags, Resolved, Wanted, survey};
use jackin_recovery::environment::Environment;

/// The global file; behind a byte 0xFF, which no text has, the file of the workspace `w`.
pub fn config(bytes: &[u8]) -> bool {
    let home = tempfile::tempdir().expect("a directory");
    let at = home.path().join(".config/jackin");
    fs::create_dir_all(at.join("workspaces")).expect("a directory");
    let mut files = bytes.splitn(2, |byte| *byte == 0xff);
    let global = files.next().filter(|text| !text.is_empty());
    let own = files.next();
    let paths = [at.join("config.toml"), at.join("workspaces/w.toml")];
    for (path, text) in paths.iter().zip([global, own]) {
        if let Some(text) = text {
            fs::write(path, text).expect("a file");
        }
    }
    let environment = Environment {
        home: Some(home.path().to_path_buf()),
        current: home.path().to_path_buf(),
        ..Environment::default()
    };
    let _ = survey(&environment);
    let Some(config) = said(Config::load(&environment)) else {
        return false;
    };
    let mut written = false;
    let names = said(config.workspace_names()).unwrap_or_default();
    for name in names.iter().map(String::as_str).chain(["w"]).take(4) {
        assert!(
            !name.is_empty() && !name.contains(['/', '\0']),
            "{name:?} is no workspace's name"
        );
        said(
            config
                .for_workspace(name, &Flags::default())
                .map(|resolved| resolved_well(&resolved)),
        );
        written |= added(&environment, name, &paths);
    }
    said(config.for_directory(home.path(), &Flags::default()));
    said(config.workspace_for_directory(home.path()));
    written
}

/// An error has words for the operator.
fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> Option<T> {
    result
        .map_err(|error| assert!(!error.to_string().is_empty()))
        .ok()
}

fn resolved_well(resolved: &Resolved) {
    for mount in &resolved.mounts {
        assert!(mount.src.is_absolute(), "{:?}", mount.src);
    }
    for pattern in &resolved.exclude {
        jackin_recovery::config::recorded_pattern(&pattern.value).expect("it was checked when it was read");
    }
}

/// `init`: every byte that was there is there, in the same order, and what comes to it is one piece.
/// Whether anything came to it.
fn added(environment: &Environment, name: &str, paths: &[PathBuf; 2]) -> bool {
    let wanted = Wanted {
        mode: "project".to_owned(),
        exclude: vec!["target/".to_owned()],
        because: "Cargo.toml".to_owned(),
    };
    let config = Config::load(environment).expect("it loaded before");
    let Some(edit) = said(Edit::propose(&config, name, &wanted)) else {
        return false;
    };
    let before = paths.each_ref().map(|path| fs::read_to_string(path).ok());
    edit.apply(&config, [1; 8]).expect("it was tried before");
    let mut changed = 0;
    for (path, before) in paths.iter().zip(before) {
        let after = fs::read_to_string(path).ok();
        if before == after {
            continue;
        }
        let (before, after) = (before.expect("it was there"), after.expect("it is there"));
        toml::de::DeTable::parse(&after).expect("it is TOML still");
        let at = before
            .bytes()
            .zip(after.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let kept = after.len() - before.len();
        assert_eq!(kept, edit.added().len());
        let whole = (0..=at).any(|at| {
            after.as_bytes().get(at..at + kept) == Some(edit.added().as_bytes())
                && after.as_bytes()[at + kept..] == before.as_bytes()[at..]
        });
        assert!(whole, "more was changed than added:\n{before:?}\n{after:?}");
        changed += 1;
    }
    assert_eq!(changed, 1, "one file is written");
    let again = Config::load(environment).expect("it loads still");
    let resolved = again
        .for_workspace(name, &Flags::default())
        .expect("so does the workspace");
    assert_eq!(resolved.mode.value.word(), "project");
    let twice = Edit::propose(&again, name, &wanted);
    assert!(matches!(twice, Err(EditError::Already { .. })), "{twice:?}");
    true
}
