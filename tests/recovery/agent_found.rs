//! Agents' settings and credentials in `find`, in plans, and in `forget`: what a snapshot has apart from its manifest counts as captured.

use std::fs;

use serde_json::Value;

use crate::agent_encrypted::{IDENTITY, RECIPIENT, key, state};
use crate::agent_state::{configure, each_file, write};
use crate::support::sandbox::Sandbox;

const SETTINGS: &str = ".claude/settings.json";
const CREDENTIALS: &str = ".claude/.credentials.json";

/// Paths that `find` lists, below the home.
fn found(sandbox: &Sandbox, words: &[&str]) -> Vec<(String, Value)> {
    let words: Vec<&str> = ["find", "--any", "--json"].iter().chain(words).copied().collect();
    let document = sandbox.jackin(words).ok().json();
    let below = format!("{}/", sandbox.home().display());
    let all = document["paths"].as_array().unwrap().iter();
    all.map(|one| (one["path"].as_str().unwrap().replacen(&below, "", 1), one.clone()))
        .collect()
}

/// Returns true if an archive has encrypted files.
fn has_bundle(sandbox: &Sandbox) -> bool {
    const NAME: &[u8] = b".jackin-recovery/sealed/";
    let mut has_one = false;
    each_file(sandbox, |_, _, plain| {
        let plain = plain.unwrap_or_default();
        has_one |= plain.windows(NAME.len()).any(|part| part == NAME);
    });
    has_one
}

fn names(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    found(sandbox, words).into_iter().map(|(path, _)| path).collect()
}

#[test]
fn find_lists_settings_and_what_deleted_them() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    let home = sandbox.home();
    write(&home, SETTINGS, "{\"a\": 1}\n");
    write(&home, ".claude/CLAUDE.md", "doc\n");
    write(&home, CREDENTIALS, "{\"token\": \"hidden\"}\n");
    let change = "cd && echo '{\"a\": 2}' > .claude/settings.json";
    sandbox.jackin(["launch", "shop", "--", "sh", "-c", change]).ok();
    let delete = "cd && rm .claude/settings.json .claude/CLAUDE.md .claude/.credentials.json";
    sandbox.jackin(["launch", "shop", "--", "sh", "-c", delete]).ok();
    let second = sandbox.newest();
    for words in [
        &["settings.json"][..],
        &["sett*"],
        &["--in", "deleted", "settings.json"],
    ] {
        let found = found(&sandbox, words);
        assert_eq!(found.len(), 1, "{words:?} {found:?}");
        let (path, facts) = &found[0];
        assert_eq!(path, SETTINGS);
        assert_eq!(facts["versions"], 2, "{facts:#}");
        assert_eq!(facts["now"], "deleted");
        assert_eq!(facts["deleted"]["instance"], second.as_str());
        assert_eq!(facts["deleted"]["kind"], "closing");
    }
    let mut gone = names(&sandbox, &["--in", "deleted", "*"]);
    gone.sort();
    assert_eq!(gone, [".claude/CLAUDE.md", SETTINGS]);
    // No snapshot holds a credential that is not encrypted.
    assert_eq!(names(&sandbox, &["*.credentials*"]), [""; 0]);
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn find_lists_encrypted_files_and_searches_none() {
    let sandbox = Sandbox::new();
    configure(&sandbox, &state(&[RECIPIENT]));
    let home = sandbox.home();
    write(&home, CREDENTIALS, "{\"token\": \"needle\"}\n");
    write(&home, SETTINGS, "{\"env\": {\"API_TOKEN\": \"needle\"}}\n");
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    assert_eq!(names(&sandbox, &["*.credentials*"]), [CREDENTIALS]);
    assert_eq!(names(&sandbox, &["settings.json"]), [SETTINGS]);
    for more in [&[][..], &["--show-secrets"]] {
        let words: Vec<&str> = ["--content", "needle"].iter().chain(more).copied().collect();
        assert_eq!(names(&sandbox, &words), [""; 0]);
    }
    fs::remove_file(home.join(CREDENTIALS)).unwrap();
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    let (_, facts) = found(&sandbox, &["--in", "deleted", "*.credentials*"]).remove(0);
    assert_eq!(facts["deleted"]["kind"], "baseline", "{facts:#}");
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn an_unchanged_encrypted_file_is_named_by_no_plan() {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, &state(&[RECIPIENT]));
    let home = sandbox.home();
    write(&home, CREDENTIALS, "C1\n");
    write(&home, ".kimi-code/deep/token", "C1\n");
    sandbox
        .jackin(["launch", "shop", "--", "sh", "-c", "echo agent > a"])
        .ok();
    let id = sandbox.newest();
    for words in [&["restore", &id, "--dry-run"][..], &["diff", &id]] {
        for more in [&[][..], &["--json"]] {
            let words: Vec<&str> = words.iter().chain(more).copied().collect();
            let said = sandbox.jackin(words).ok().text();
            assert!(!said.contains("credentials") && !said.contains("kimi"), "{said}");
        }
    }
    write(&home, CREDENTIALS, "C2\n");
    let said = sandbox.jackin(["restore", &id, "--dry-run"]);
    said.has(".claude/.credentials.json").has("--identity");
    fs::write(project.join("a"), "later").unwrap();
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn the_last_encrypted_files_are_forgotten_with_their_bundle() {
    let sandbox = Sandbox::new();
    configure(&sandbox, &state(&[RECIPIENT]));
    let home = sandbox.home();
    write(&home, CREDENTIALS, "C1\n");
    write(&home, ".codex/auth.json", "C1\n");
    sandbox
        .jackin(["launch", "shop", "--", "sh", "-c", "echo agent > a"])
        .ok();
    let id = sandbox.newest();
    let paths = [CREDENTIALS, ".codex/auth.json"].map(|path| home.join(path).display().to_string());
    let alone = sandbox.jackin(["forget", "--path", &paths[0], "--yes"]);
    assert_ne!(alone.exit(), Some(0), "{alone}");
    alone.has("with other private files");
    let own = key(&sandbox, "own", IDENTITY);
    sandbox.jackin(["verify", "--read-data", "--identity", &own]).ok();
    assert!(has_bundle(&sandbox));
    let all = ["forget", "--path", &paths[0], "--path", &paths[1], "--yes"];
    sandbox.jackin(all).ok();
    assert!(!has_bundle(&sandbox), "a bundle stayed");
    sandbox.jackin(["verify", "--read-data", "--identity", &own]).ok();
    sandbox.jackin(["restore", &id, "--yes", "--identity", &own]);
    assert_eq!(fs::read_to_string(home.join(CREDENTIALS)).unwrap(), "C1\n");
    assert_eq!(
        fs::read_to_string(sandbox.project("shop").join("a")).unwrap(),
        "original"
    );
}
