//! Codex runs hooks only once they are trusted, and which program hooks call.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::Desk;
use crate::support::machine::{install_program, skip, tool, write_script};
use crate::support::tree::Tree;

/// A Codex with nothing but a server that lists hooks and stores trust.
const CODEX: &str = r#"#!/usr/bin/python3
import hashlib, json, os, sys
home = os.environ["HOME"] + "/.codex"
assert sys.argv[1:] == ["app-server"]
def label(event):
    return "".join(("_" if at and c.isupper() else "") + c.lower() for at, c in enumerate(event))
def hooks():
    found = []
    settings = home + "/config.toml"
    config = open(settings).read() if os.path.exists(settings) else ""
    for event, groups in json.load(open(home + "/hooks.json"))["hooks"].items():
        for at, group in enumerate(groups):
            for index, hook in enumerate(group["hooks"]):
                timeout = min(hook["timeout"], 3) if event == "SessionEnd" else hook["timeout"]
                identity = {"event_name": label(event), "hooks": [
                    {"async": False, "command": hook["command"], "timeout": timeout, "type": "command"}]}
                text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
                hash = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
                found.append({"key": f"{home}/hooks.json:{label(event)}:{at}:{index}", "command": hook["command"],
                    "sourcePath": home + "/hooks.json", "currentHash": hash,
                    "trustStatus": "trusted" if hash in config else "untrusted"})
    return {"data": [{"hooks": found}]}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {}
    if asked["method"] == "hooks/list":
        result = hooks()
    if asked["method"] == "config/batchWrite":
        [edit] = asked["params"]["edits"]
        assert (edit["keyPath"], edit["mergeStrategy"]) == ("hooks.state", "upsert")
        with open(home + "/config.toml", "a") as file:
            for key, state in edit["value"].items():
                file.write(f'[hooks.state."{key}"]\ntrusted_hash = "{state["trusted_hash"]}"\n')
    print(json.dumps({"id": asked["id"], "result": result}), flush=True)
"#;

/// A directory of `PATH` with that Codex. `None`, and said why, where there is no Python.
fn codex(at: &Path) -> Option<String> {
    if !Path::new("/usr/bin/python3").exists() {
        skip("trust of Codex", "python3 is not installed");
        return None;
    }
    fs::create_dir_all(at).unwrap();
    let program = at.join("codex");
    write_script(&program, CODEX);
    Some(at.to_str().unwrap().to_owned())
}

#[test]
fn codex_trusts_what_the_operator_confirmed() {
    let desk = Desk::new();
    let Some(path) = codex(&desk.sandbox.home().join("bin")) else {
        return;
    };
    // No program that could be asked.
    let run = desk.hook(&["install", "codex", "--yes"]).ok();
    run.has("Codex does not run the hooks yet")
        .has("to trust them: start codex, and trust the hooks when it asks");
    let untrusted = "codex     user     untrusted: Codex does not run it";
    desk.hook(&["status", "codex"])
        .ok()
        .has(untrusted)
        .has("to trust them: jackin recovery hook install codex");
    let told = desk.hook(&["status", "codex", "--json"]).ok().json();
    assert_eq!(told["hooks"][0]["trust"], "untrusted", "{told}");
    assert_eq!(
        told["hooks"][0]["untrusted"].as_array().unwrap().len(),
        6,
        "{told}"
    );
    let doctor = || desk.sandbox.jackin(["doctor"]);
    doctor().has("the hooks of codex are untrusted: Codex does not run them");
    // Not without an answer, and not by a program of the project.
    desk.hook_with(&path, &["install", "codex"])
        .ok()
        .has("Codex does not run the hooks yet");
    let planted = codex(&desk.project.join("bin")).unwrap();
    desk.hook_with(&planted, &["install", "codex", "--yes"])
        .ok()
        .has("its program `codex` is not in PATH");
    desk.hook(&["status", "codex"]).ok().has(untrusted);
    let run = desk.hook_with(&path, &["install", "codex", "--yes"]).ok();
    run.has("Nothing to do")
        .has("hook run codex SessionEnd")
        .has("Trusted: Codex runs these hooks");
    desk.hook(&["status", "codex"])
        .ok()
        .has("codex     user     installed: ");
    assert!(!doctor().said().contains("untrusted"));
    // Once is enough.
    let before = Tree::read(&desk.sandbox.home());
    let told = desk
        .hook_with(&path, &["install", "codex", "--yes", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&told["outcome"], &told["trust"]),
        (&"unchanged".into(), &"trusted".into())
    );
    assert!(before.paths().eq(Tree::read(&desk.sandbox.home()).paths()));
    // A hook that changed since is not the one that was trusted.
    let file = desk.file("user", ".codex/hooks.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"timeout\": 60", "\"timeout\": 50", 1)).unwrap();
    desk.hook(&["status", "codex"]).ok().has(untrusted);
}

#[test]
fn copilot_runs_the_hooks_of_a_directory_that_it_trusts() {
    let desk = Desk::new();
    let install = ["install", "copilot", "--scope", "project", "--yes"];
    desk.hook(&install)
        .ok()
        .has("Copilot runs these hooks only if you trust this directory")
        .has(desk.project.to_str().unwrap());
    desk.hook(&["status", "copilot"])
        .ok()
        .has("copilot   project  untrusted: Copilot does not run it");
    let trusted = format!("// mine\n{{\"trustedFolders\": [{:?}]}}\n", desk.project);
    desk.settings("user", ".copilot/config.json", &trusted);
    desk.hook(&["status", "copilot"])
        .ok()
        .has("copilot   project  installed: ");
}

#[test]
fn a_setting_that_disables_all_hooks_of_claude_is_named() {
    let desk = Desk::new();
    let user = desk.settings(
        "user",
        ".claude/settings.json",
        "{\n  // quiet\n  \"disableAllHooks\": true\n}\n",
    );
    desk.hook(&["install", "claude", "--yes"])
        .ok()
        .has("Claude Code runs no hooks while")
        .has("to enable them: remove `disableAllHooks` from");
    let disabled = "claude    user     disabled: Claude Code does not run it: ";
    let by = |scope: usize| -> String {
        let told = desk.hook(&["status", "claude", "--json"]).ok().json();
        let by = &told["hooks"][scope]["disabled_by"];
        by["path"].as_str().unwrap_or_default().to_owned()
    };
    desk.hook(&["status", "claude"])
        .ok()
        .has(disabled)
        .has("to enable them: remove `disableAllHooks` from");
    assert_eq!(Path::new(&by(0)), user);
    let doctor = || {
        let run = desk.sandbox.command(["doctor"]);
        run.inside(&desk.project).run()
    };
    doctor().has("the hooks of claude are disabled: Claude Code runs none while");
    // The settings of the project come before those of the user, and its local ones before both.
    desk.settings("project", ".claude/settings.json", "{\"disableAllHooks\": false}");
    assert_eq!(by(0), "");
    assert!(!doctor().said().contains("are disabled"));
    let local = desk.settings(
        "local",
        ".claude/settings.local.json",
        "{\"disableAllHooks\": true}",
    );
    assert_eq!(Path::new(&by(0)), local);
    let told = desk.hook(&["install", "claude", "--yes", "--json"]).ok().json();
    assert_eq!(
        (&told["outcome"], &told["disabled_by"]["key"]),
        (&"unchanged".into(), &"disableAllHooks".into())
    );
    fs::write(&local, "{\"disableAllHooks\": \"true\"}").unwrap();
    assert_eq!(by(0), "");
}

#[test]
fn hooks_call_an_installed_program_by_its_name_in_path() {
    let desk = Desk::new();
    // The tests' own program lies where the next build replaces it.
    desk.hook(&["install", "claude"])
        .code(4)
        .has("a build directory; nothing was changed")
        .has("install the program first, or use --yes");
    let Some(sh) = tool("sh") else { return };
    let (version, names) = (
        desk.sandbox.home().join("opt/1.0"),
        desk.sandbox.home().join("bin"),
    );
    let program = install_program(&version, "jackin");
    fs::create_dir(&names).unwrap();
    let name = names.join("jackin");
    let calls = |path: &Path| {
        let script = format!("exec '{}' recovery hook install claude --yes", program.display());
        let run = desk.sandbox.command::<[&str; 0], &str>([]);
        let run = run
            .through(&[sh.to_str().unwrap(), "-c", &script])
            .with("PATH", path);
        run.inside(&desk.project).run().ok();
        let found = desk.hook(&["status", "claude", "--json"]).ok().json();
        PathBuf::from(found["hooks"][0]["programs"][0]["program"].as_str().unwrap())
    };
    // The name in PATH is another program, then this one.
    fs::write(&name, "#!/bin/sh\n").unwrap();
    assert_eq!(calls(&names), program);
    fs::remove_file(&name).unwrap();
    symlink(&program, &name).unwrap();
    assert_eq!(calls(&names), name);
}
