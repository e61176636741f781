//! Files whose content is hidden unless the caller asks for it.

use std::path::Path;

use super::{dir, file, path, symlink, with_mode};
use crate::diff::is_secret_path;

#[test]
fn a_name_that_usually_holds_secrets_is_one_wherever_it_lies() {
    for name in [
        ".env",
        "a/b/.env",
        ".env.production",
        ".ENV.local",
        "prod.env",
        "server.pem",
        "SERVER.PEM",
        "tls.key",
        "vault.kdbx",
        "a.p12",
        "a.pfx",
        ".npmrc",
        ".netrc",
        ".pypirc",
        ".envrc",
        ".git-credentials",
        "auth.json",
        "x/.credentials.json",
        "credentials",
        "secrets.json",
        "hosts.yml",
        "id_rsa",
        "keys/id_ed25519",
        ".ssh/config",
        "backup/.aws/anything",
        ".gnupg/x/y",
        ".kube/config",
        ".docker/config.json",
    ] {
        assert!(is_secret_path(Path::new("/src"), &path(name), None), "{name}");
        assert!(
            is_secret_path(Path::new("/src"), &path(name), Some(&file("x"))),
            "{name}"
        );
    }
}

#[test]
fn a_mount_that_begins_in_a_place_of_secrets_lies_in_it() {
    for (root, secret) in [
        ("/src/infra/.kube", true),
        ("/home/me/.AWS/cli", true),
        ("ssh://host/srv/.docker", true),
        ("/src/kube", false),
        ("/src/.env/x", false),
    ] {
        let found = is_secret_path(Path::new(root), &path("config"), Some(&file("x")));
        assert_eq!(found, secret, "{root}");
    }
}

#[test]
fn a_checkout_or_a_machine_that_is_called_like_a_secret_place_is_none() {
    for (root, is_secret) in [
        ("/home/ann/src/gcloud", false),
        ("/work/gcloud/app", false),
        ("ssh://gcloud/srv/app", false),
        ("docker://.kube/srv/app", false),
        ("/home/ann/.config/gcloud", true),
        ("/home/ann/.config/gcloud/x", true),
        ("ssh://host/home/ann/.kube", true),
    ] {
        let found = is_secret_path(Path::new(root), &path("notes"), Some(&file("x")));
        assert_eq!(found, is_secret, "{root}");
    }
}

#[test]
fn other_names_are_not() {
    for name in [
        "main.rs",
        ".env.example",
        ".env.sample",
        "environment",
        "id_rsa.pub",
        "id_card.txt",
        "keyboard",
        "authors.json",
        "ssh/config",
        "a.pem.md",
    ] {
        assert!(
            !is_secret_path(Path::new("/src"), &path(name), Some(&file("x"))),
            "{name}"
        );
    }
}

#[test]
fn a_file_that_only_its_owner_may_read_is_one() {
    for (mode, secret) in [
        (0o600, true),
        (0o400, true),
        (0o700, true),
        (0o000, true),
        (0o640, false),
        (0o604, false),
        (0o644, false),
        (0o610, false),
    ] {
        let entry = with_mode(file("x"), mode);
        assert_eq!(
            is_secret_path(Path::new("/src"), &path("notes"), Some(&entry)),
            secret,
            "{mode:o}"
        );
    }
    // A directory has no content, and the mode of a link says nothing.
    assert!(!is_secret_path(
        Path::new("/src"),
        &path("d"),
        Some(&with_mode(dir(), 0o700))
    ));
    assert!(!is_secret_path(
        Path::new("/src"),
        &path("l"),
        Some(&with_mode(symlink("t"), 0o700))
    ));
}
