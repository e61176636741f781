//! Mounts that must not be captured: too broad ones, the operator's secrets, the store.

use std::path::Path;

use super::{Host, only};
use crate::contract::sensitive_paths::Places;
use crate::contract::{BroadReason, ContractError, Options};
use crate::model::WithheldReason;

fn refused(host: &Host, mount: &str, recovery: &str) -> String {
    host.short(&host.project(mount, recovery).expect_err(mount))
}

#[test]
fn the_volume_of_macos_that_shows_below_the_root_holds_what_the_root_holds() {
    let host = Host::new();
    let places = Places::of(&host.environment());
    let reasons = [BroadReason::Home, BroadReason::Store, BroadReason::Configuration];
    assert_eq!(places.broad(Path::new("/System/Volumes/Data")), reasons);
    let store = host.path("home/.jackin/data/recovery");
    let withheld = places.withheld(Path::new("/System/Volumes/Data"), false);
    assert!(
        withheld
            .iter()
            .any(|place| Path::new("/").join(place.path.as_path()) == store),
        "{withheld:?}"
    );
}

#[test]
fn broad_mounts_need_the_flag() {
    let host = Host::new()
        .dir("home/src")
        .link("src/home", "home")
        .dir("elsewhere/x");
    let tail = "; choose a smaller directory, or use --allow-broad";
    let home = "is or contains your home directory and contains the recovery store and contains jackin's own configuration";
    assert_eq!(
        refused(&host, "home", ""),
        format!("the mount ROOT/home {home}{tail}")
    );
    assert_eq!(
        refused(&host, "src/home", ""),
        format!("the mount ROOT/home {home}{tail}")
    );
    assert!(refused(&host, "", "").contains("home directory"));
    let above = "contains jackin's own configuration";
    assert_eq!(
        refused(&host, "home/.config", ""),
        format!("the mount ROOT/home/.config {above}{tail}")
    );
    assert!(refused(&host, "home/.config/jackin/workspaces", "").contains(above));
    host.project("home/src", "").unwrap();
    // The store elsewhere, not made yet, also through a link.
    let host = host
        .link("src/link", "elsewhere")
        .variable("JACKIN_HOME_DIR", "src/link/x/later");
    assert_eq!(
        refused(&host, "elsewhere", ""),
        format!("the mount ROOT/elsewhere contains the recovery store{tail}")
    );
    let contract = host.broad("elsewhere", "").unwrap();
    assert_eq!(contract.mounts[0].broad, [BroadReason::Store]);
    let root = host.environment();
    let config = crate::config::Config::load(&root).unwrap();
    let flags = crate::config::Flags {
        snapshot: Some("project".into()),
        ..Default::default()
    };
    let resolved = config.for_directory(Path::new("/"), &flags).unwrap();
    match crate::contract::resolve(&root, &resolved, Options::default()) {
        Err(ContractError::Broad { reasons, .. }) => assert_eq!(reasons[0], BroadReason::FileSystemRoot),
        other => panic!("{other:?}"),
    }
}

#[test]
fn mounts_that_are_not_captured_are_not_refused() {
    let host = Host::new().dir("src/a");
    for more in ["readonly = true", "isolation = \"clone\""] {
        let mounts = [("src/a", ""), ("home", more)];
        host.workspace(&mounts, "snapshot = \"project\"", Options::default(), &[])
            .unwrap();
    }
}

#[test]
fn the_store_never_captures_itself() {
    let host = Host::new()
        .dir("home/.jackin/data/recovery/archives")
        .dir("home/.jackin/data/forks/f");
    for mount in [
        "home/.jackin/data/recovery",
        "home/.jackin/data/recovery/archives",
    ] {
        let expected = format!(
            "the mount ROOT/{mount} is inside the recovery store ROOT/home/.jackin/data/recovery, which never \
            captures itself"
        );
        assert_eq!(refused(&host, mount, ""), expected);
        assert_eq!(host.short(&host.broad(mount, "").unwrap_err()), expected);
    }
    // A fork lies beside the store and is a mount like any other.
    assert_eq!(
        only(&host.project("home/.jackin/data/forks/f", "").unwrap()).withheld,
        []
    );
}

const SECRETS: [&str; 12] = [
    ".aws",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".ssh",
    "Library/Keychains",
];

fn withheld(host: &Host, mount: &str, recovery: &str) -> Vec<(String, WithheldReason)> {
    let contract = host.broad(mount, recovery).unwrap();
    let path = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    only(&contract)
        .withheld
        .iter()
        .map(|w| (path(w.path.as_bytes()), w.reason))
        .collect()
}

#[test]
fn secrets_and_store_below_a_mount_are_withheld_whether_they_exist_or_not() {
    let host = Host::new().dir("home/.ssh");
    let found = withheld(&host, "home", "");
    for secret in SECRETS {
        assert!(
            found.contains(&(secret.to_owned(), WithheldReason::Sensitive)),
            "{secret}"
        );
    }
    let store = (".jackin/data/recovery".to_owned(), WithheldReason::Store);
    let state = (".jackin/data".to_owned(), WithheldReason::Sensitive);
    let agent = (".claude/.credentials.json".to_owned(), WithheldReason::Sensitive);
    assert!(found.contains(&store) && found.contains(&state) && found.contains(&agent));
    // With `capture` the operator's own go in; agents' credentials and the store never do.
    let found = withheld(&host, "home", "sensitive = \"capture\"");
    assert!(!found.iter().any(|(path, _)| SECRETS.contains(&path.as_str())));
    assert!(found.contains(&store) && found.contains(&state) && found.contains(&agent));
    // A directory beside them has none.
    assert_eq!(withheld(&host, "src", ""), []);
    let found: Vec<String> = withheld(&host, "home/.config", "")
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(found[..2], ["cursor/auth.json", "gcloud"]);
}

#[test]
fn secrets_are_followed_through_links() {
    let sensitive = |path: &str| (path.to_owned(), WithheldReason::Sensitive);
    // ~/.ssh leads into the mount, ~/.aws to what is not there yet, and a dotfile tool links one file.
    let host = Host::new()
        .dir("src/keys")
        .link("home/.ssh", "src/keys")
        .link("home/.aws", "src/later");
    let host = host
        .file("src/dotfiles/kube")
        .dir("home/.kube")
        .link("home/.kube/config", "src/dotfiles/kube");
    let host = host.dir("src/project").link("home/.kube/work", "src/project");
    assert_eq!(
        withheld(&host, "src", ""),
        [sensitive("dotfiles/kube"), sensitive("keys"), sensitive("later")]
    );
    assert!(
        refused(&host, "src/keys", "").starts_with("the mount ROOT/src/keys is or is inside ROOT/src/keys")
    );
    host.project("src/project", "").unwrap();
    // The home directory itself reached through a link.
    let host = Host::new().dir("real/.gnupg").link("src/link", "real");
    let mut environment = host.environment();
    environment.home = Some(host.path("src/link"));
    let places = Places::of(&environment);
    assert!(places.secret_around(&host.path("real/.gnupg/x")).is_some());
    assert_eq!(places.broad(&host.path("real"))[0], BroadReason::Home);
}

#[test]
fn a_secret_is_no_mount_unless_the_operator_says_so() {
    for secret in SECRETS {
        for below in ["", "/deep"] {
            let mount = format!("home/{secret}{below}");
            let host = Host::new().dir(&mount);
            assert_eq!(
                refused(&host, &mount, ""),
                format!(
                    "the mount ROOT/{mount} is or is inside ROOT/home/{secret}, which holds your secrets; set \
                    sensitive = \"capture\" to store it anyway"
                )
            );
            assert!(
                host.broad(&mount, "").is_err(),
                "--allow-broad is about size, not secrets"
            );
            assert_eq!(
                only(&host.project(&mount, "sensitive = \"capture\"").unwrap()).withheld,
                []
            );
        }
    }
    // Also as the inner one of two mounts.
    let host = Host::new().dir("home/src").dir("home/.ssh");
    let mounts = [("home", ""), ("home/.ssh", "")];
    let options = Options {
        allow_broad: true,
        ..Options::default()
    };
    let error = host
        .workspace(&mounts, "snapshot = \"project\"", options, &[])
        .unwrap_err();
    assert!(matches!(error, ContractError::Sensitive { .. }));
}

#[test]
fn without_a_home_nothing_can_be_withheld_so_nothing_is_captured() {
    let host = Host::new()
        .dir("src/a")
        .variable("JACKIN_CONFIG_DIR", "home/.config/jackin");
    host.project("src/a", "").unwrap();
    let mut environment = host.environment();
    environment.home = None;
    let config = crate::config::Config::load(&environment).unwrap();
    let resolved = config.for_workspace("w", &Default::default()).unwrap();
    let fail =
        |environment: &_| crate::contract::resolve(environment, &resolved, Options::default()).unwrap_err();
    assert!(matches!(fail(&environment), ContractError::NoStore));
    environment
        .variables
        .insert("JACKIN_HOME_DIR".into(), host.path("store").into());
    assert!(matches!(fail(&environment), ContractError::NoHome));
}
