//! The word TARGET.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use super::Host;
use crate::config::{Config, Flags};
use crate::contract::{ContractError, Options, Target, resolve};

#[test]
fn the_form_decides() {
    let parse = |text: &str| Target::parse(Some(OsStr::new(text)));
    for text in ["./web", "/srv", "a/", "/", ".", "..", "../x", "a:/b"] {
        assert_eq!(parse(text), Target::Directory(PathBuf::from(text)), "{text}");
    }
    for text in ["ssh://host/x", "docker://c", "://"] {
        assert_eq!(parse(text), Target::Remote(text.into()), "{text}");
    }
    for text in ["web", "a:b", "...", "-x", ""] {
        assert_eq!(parse(text), Target::Workspace(text.into()), "{text}");
    }
    assert_eq!(Target::parse(None), Target::Here);
    let raw = OsString::from_vec(b"/\xff".to_vec());
    assert_eq!(
        Target::parse(Some(&raw)),
        Target::Directory(PathBuf::from(raw.clone()))
    );
}

fn settle(host: &Host, text: Option<&OsStr>, flags: &Flags) -> Result<String, String> {
    let environment = host.environment();
    let config = Config::load(&environment).unwrap();
    let settings = Target::parse(text).settings(&config, &environment, flags);
    settings
        .map(|resolved| resolved.subject.label())
        .map_err(|error| host.short(&error))
}

#[test]
fn each_form_finds_its_settings_or_says_what_to_write() {
    let host = Host::new().dir("src/web").dir("other");
    let project = Flags {
        snapshot: Some("project".into()),
        ..Flags::default()
    };
    let here = |host: &Host| settle(host, None, &Flags::default());
    assert_eq!(
        here(&host),
        Err("ROOT/src is not in a configured workspace; use --snapshot project".into())
    );
    assert_eq!(settle(&host, None, &project), Ok("src".into()));
    // `w` mounts src/web; the current directory is src.
    host.project("src/web", "").unwrap();
    assert!(here(&host).is_err());
    host.project("src", "").unwrap();
    assert_eq!(here(&host), Ok("w".into()));
    let named = |text: &str, flags: &Flags| settle(&host, Some(OsStr::new(text)), flags);
    assert_eq!(named("w", &Flags::default()), Ok("w".into()));
    for (given, label) in [
        ("../other", "other"),
        (".", "src"),
        ("./", "src"),
        ("web/..", "src"),
        ("/", "dir"),
    ] {
        assert_eq!(named(given, &project), Ok(label.into()), "{given}");
    }
    // The workspace of a directory above it counts.
    assert_eq!(named("./web", &Flags::default()), Ok("web".into()));
    assert_eq!(
        named("../other", &Flags::default()),
        Err("ROOT/other has no configuration; use --snapshot project".into())
    );
    assert_eq!(
        named("web", &project),
        Err("workspace \"web\" not found; for the directory of that name write ./web".into())
    );
    assert_eq!(
        named("ssh://me:secret@host/x", &project),
        Err(
            "ssh://\u{2026} is not the address of a mount; use ssh://[USER@]HOST[:PORT]/PATH, \
            docker://CONTAINER/PATH, docker-volume://NAME[/PATH], k8s://[CONTEXT/]NAMESPACE/POD[:CONTAINER]/PATH or \
            k8s-pvc://[CONTEXT/]NAMESPACE/CLAIM, with the whole path"
                .into()
        )
    );
    assert_eq!(
        named("", &project),
        Err("\"\" cannot be the name of a workspace: it is empty".into())
    );
    let raw = OsString::from_vec(b"w\xff".to_vec());
    assert_eq!(
        settle(&host, Some(&raw), &project),
        Err("\"w\\\\xff\" cannot be the name of a workspace: it is not UTF-8".into())
    );
}

/// A workspace whose file cannot be read might be that of the directory. With a mode among the flags it is not needed.
#[test]
fn a_broken_workspace_stops_no_directory_that_has_a_mode() {
    let host = Host::new()
        .dir("src")
        .file("home/.config/jackin/workspaces/broken.toml");
    std::fs::write(host.path("home/.config/jackin/workspaces/broken.toml"), "x = = 3").unwrap();
    let project = Flags {
        snapshot: Some("project".into()),
        ..Flags::default()
    };
    for text in [None, Some(OsStr::new("."))] {
        assert!(
            settle(&host, text, &Flags::default())
                .unwrap_err()
                .contains("broken.toml")
        );
        assert_eq!(settle(&host, text, &project), Ok("src".into()), "{text:?}");
    }
}

#[test]
fn a_target_that_is_no_directory_is_refused() {
    let host = Host::new().file("src/file");
    let environment = host.environment();
    let config = Config::load(&environment).unwrap();
    for mode in ["off", "metadata", "project"] {
        let flags = Flags {
            snapshot: Some(mode.into()),
            ..Flags::default()
        };
        let with = |text: &str| {
            let target = Target::parse(Some(OsStr::new(text)));
            let resolved = target.settings(&config, &environment, &flags)?;
            resolve(&environment, &resolved, Options::default())
        };
        let error = with("./file").unwrap_err();
        assert_eq!(
            host.short(&error),
            "ROOT/src/file is not a directory, and only a directory can be protected"
        );
        let error = with("./gone").unwrap_err();
        assert_eq!(host.short(&error), "the directory ROOT/src/gone does not exist");
        assert!(matches!(with("./file/x"), Err(ContractError::Unreadable { .. })));
        assert!(with(".").is_ok());
    }
}
