//! Everything that makes git run programs is found, and nothing else is.

use std::os::unix::fs::PermissionsExt;

use super::scratch::Scratch;
use crate::executables;

#[test]
fn what_runs_programs_is_listed() {
    let scratch = Scratch::new();
    let config = br#"
[core]
    fsmonitor = ./evil
    hooksPath = /tmp/hooks
    sshCommand = ssh -o ProxyCommand=evil
    excludesFile = harmless
    pager = less
[filter "lfs"]
    clean = git-lfs clean
    required = true
[alias]
    st = status
    x = !sh -c evil
[remote "o"]
    url = https://example.org/
    proxy = http://user:secret@proxy/
    pushurl = ext::sh -c evil
[url "https://user:secret@example.org/"]
    insteadOf = git://example.org/
[diff "z"]
    textconv = evil
    external = odd
[submodule "a"]
    update = !evil
[submodule "b"]
    update = rebase
[credential "https://example.org"]
    helper = !evil
[includeIf "gitdir:/x"]
    path = /more
[pager]
    log = false
    show = evil
"#;
    let path = scratch.dir.join(".git/config");
    let mut text = std::fs::read(&path).unwrap();
    text.extend_from_slice(config);
    scratch.write(".git/config", text);
    for hook in ["pre-commit", "post-checkout", "pre-push.sample"] {
        scratch.write(&format!(".git/hooks/{hook}"), "#!/bin/sh\n");
    }
    let hook = scratch.dir.join(".git/hooks/pre-commit");
    std::fs::set_permissions(hook, PermissionsExt::from_mode(0o755)).unwrap();
    scratch.write(
        ".git/info/attributes",
        "# filter=no\n*.bin filter=lfs -text\n* text\n",
    );
    let found = scratch.read("", executables);
    let shown: Vec<String> = (found.iter())
        .map(|found| format!("{}: {}", found.what, found.detail))
        .collect();
    assert_eq!(
        shown,
        [
            "alias.st: status",
            "alias.x: !sh -c evil",
            "attribute filter: *.bin filter=lfs -text",
            "core.fsmonitor: ./evil",
            "core.hookspath: /tmp/hooks",
            "core.pager: less",
            "core.sshcommand: ssh -o ProxyCommand=evil",
            "credential.https://example.org.helper: !evil",
            "diff.z.external: odd",
            "diff.z.textconv: evil",
            "filter.lfs.clean: git-lfs clean",
            "hook post-checkout: not executable",
            "hook pre-commit: executable",
            "includeif.gitdir:/x.path: /more",
            "pager.show: evil",
            "remote.o.proxy: http://proxy/",
            "remote.o.pushurl: ext::sh -c evil",
            "submodule.a.update: !evil",
            "url.https://example.org/.insteadof: git://example.org/",
        ]
    );
}

#[test]
fn a_plain_repository_runs_nothing() {
    let scratch = Scratch::new();
    scratch.git(&["config", "core.fsmonitor", "true"]);
    assert_eq!(scratch.read("", executables), []);
}

#[test]
fn settings_of_work_trees_are_bounded_together() {
    let scratch = Scratch::new();
    scratch.git(&["config", "extensions.worktreeConfig", "true"]);
    let aliases: String = (0..10_100).map(|n| format!("a{n} = b\n")).collect();
    scratch.write(".git/worktrees/w0/config.worktree", format!("[alias]\n{aliases}"));
    // It would be a doubt if it were read.
    scratch.write(".git/worktrees/w1/config.worktree", "[alias\n");
    let (found, doubts) = scratch.read("", |repository| (executables(repository), repository.doubts()));
    assert_eq!(found.len(), 10_000);
    let doubts = doubts.join("\n");
    assert!(
        doubts.contains("more than 10000 things") && !doubts.contains("invalid"),
        "{doubts}"
    );
    // Settings that run nothing take time to read as well.
    let lines = "# nothing\n".repeat(400_000);
    for n in 0..5 {
        scratch.write(&format!(".git/worktrees/w{n}/config.worktree"), &lines);
    }
    let (found, doubts) = scratch.read("", |repository| (executables(repository), repository.doubts()));
    let doubts = doubts.join("");
    assert!(
        found.len() == 1 && doubts.contains("too large to be listed: .git/worktrees/w4/config.worktree"),
        "{doubts}"
    );
}
