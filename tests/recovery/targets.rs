//! Directories that are too much to protect by accident (scenario 37).

use std::process::Command;

use crate::support::build::Build;
use crate::support::documents::instances;
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s37_home_root_and_what_holds_the_store_are_refused() {
    let sandbox = Sandbox::new();
    Build::at(&sandbox.home())
        .file("src/project/a", "a\n")
        .file("document", "d\n")
        .aged();
    let home = sandbox.home();
    let above = sandbox.world();
    let marker = sandbox.scratch("ran");
    let script = format!("touch '{}'", marker.display());
    let before = Tree::read(sandbox.world());
    for target in ["/", home.to_str().unwrap(), above.to_str().unwrap()] {
        let run = sandbox.launching(target, &["sh", "-c", &script]).run();
        run.code_in(&[125, 2]).shows("--allow-broad");
        sandbox
            .jackin(["begin", "--snapshot", "project", target])
            .refused()
            .shows("--allow-broad");
        assert!(!marker.exists(), "the command ran unprotected on {target}");
    }
    // By a detour too: `..` and a link that leads there.
    std::os::unix::fs::symlink(&home, sandbox.scratch("to-home")).unwrap();
    let detours = [
        format!("{}/src/..", home.display()),
        sandbox.scratch("to-home").display().to_string(),
    ];
    for target in &detours {
        sandbox
            .jackin(["begin", "--snapshot", "project", target])
            .refused()
            .shows("--allow-broad");
    }
    // No store was made for the refusals, or an empty one at most.
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert!(instances(&run).is_empty(), "{run}");
    let after = Tree::read(sandbox.world());
    crate::support::compare::assert_same_tree(&before.only("home/document"), &after.only("home/document"));
    assert!(
        !sandbox
            .store()
            .join("archives")
            .read_dir()
            .is_ok_and(|mut all| all.next().is_some())
    );
}

#[test]
fn s37_explain_says_that_it_would_be_refused() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    let run = sandbox.jackin(["explain", "--snapshot", "project", home.to_str().unwrap()]);
    run.code_in(&[0, 1, 2]).shows("--allow-broad");
}

#[test]
fn s37_store_never_captures_itself() {
    let sandbox = Sandbox::new();
    Build::at(&sandbox.home())
        .file("src/project/a", "a\n")
        .file("document", "before\n");
    let home = sandbox.home();
    let flags = ["--allow-broad"];
    sandbox.launch_with(&flags, &home, "true");
    let id = sandbox.launch_with(&flags, &home, "echo agent > document; rm src/project/a");
    let store = sandbox.store();
    for archive in store.join("archives").read_dir().unwrap().flatten() {
        let names = run_tool(Command::new("tar").arg("--zstd").arg("-tf").arg(archive.path()));
        let names = String::from_utf8_lossy(&names);
        let own = names.lines().find(|name| name.contains(".jackin/data/recovery"));
        assert_eq!(own, None, "{}", archive.path().display());
        assert!(archive.metadata().unwrap().len() < 1 << 20, "it grows by itself");
    }
    sandbox
        .diff(&id, &[])
        .are(&[("modified", "document"), ("deleted", "src/project/a")]);
    sandbox.restore(&id, &[]).touched(&["document", "src/project/a"]);
    // The store survived a restore of the directory that it lies in.
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.undo(&id);
    assert_eq!(std::fs::read_to_string(home.join("document")).unwrap(), "agent\n");
}

#[test]
fn s37_operators_own_secrets_are_withheld_and_stay() {
    let sandbox = Sandbox::new();
    let secret = "MARKED-SECRET-OF-THE-OPERATOR";
    let build = Build::at(&sandbox.home());
    for path in [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".gnupg/key",
        ".netrc",
        ".config/gh/hosts.yml",
    ] {
        build.file(path, secret).mode(path, 0o600);
    }
    build.file("src/project/a", "a\n");
    let home = sandbox.home();
    let run = sandbox
        .jackin([
            "explain",
            "--snapshot",
            "project",
            "--allow-broad",
            home.to_str().unwrap(),
        ])
        .ok();
    run.shows(".ssh").hides(secret);
    let id = sandbox.launch_with(
        &["--allow-broad"],
        &home,
        "echo x > src/project/a; echo x >> ~/.ssh/id_ed25519",
    );
    for archive in sandbox.store().join("archives").read_dir().unwrap().flatten() {
        let bytes = run_tool(Command::new("zstd").arg("-dcq").arg(archive.path()));
        assert!(
            !bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes())
        );
    }
    sandbox
        .jackin(["diff", &id, "--patch", "--show-secrets"])
        .ok()
        .hides(secret);
    sandbox.restore(&id, &[]).touched(&["src/project/a"]);
    let kept = std::fs::read_to_string(home.join(".ssh/id_ed25519")).unwrap();
    assert_eq!(kept, format!("{secret}x\n"), "what is not covered is not touched");
}

#[test]
fn content_of_private_files_is_hidden_in_patches() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("private");
    Build::at(&project)
        .file("key", "MARKED-OLD\n")
        .mode("key", 0o600)
        .file("open", "OPEN-OLD\n")
        .aged();
    let id = sandbox.launch(&project, "echo MARKED-NEW > key; echo OPEN-NEW > open");
    let run = sandbox.jackin(["diff", &id, "--patch"]).ok();
    run.shows("OPEN-NEW")
        .shows("key")
        .hides("MARKED-OLD")
        .hides("MARKED-NEW");
    sandbox
        .jackin(["diff", &id, "--patch", "--show-secrets"])
        .ok()
        .shows("MARKED-OLD")
        .shows("MARKED-NEW");
}
