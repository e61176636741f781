//! Secrets are not shown unless the operator asks: in settings of git, in files of secrets, in private keys, in settings of agents. What is
//! none stays.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use crate::agent_state::each_file;
use crate::support::build::Build;
use crate::support::git::Repository;
use crate::support::mcp::{ALLOWED, Client, Era, workspace};
use crate::support::sandbox::Sandbox;

/// Settings of git with secrets, and others.
const SETTINGS: &str = r#"
git config credential.helper '!f() { echo username=ci; echo password=MARK1; }; f'
git config alias.dep '!curl -H "Authorization: Bearer MARK2" x'
git config core.sshCommand 'sshpass -p MARK3 ssh'
git config github.token MARK4
git config sendemail.smtppass MARK5
git config http.extraheader 'X-Api-Key: MARK6'
git config alias.tun '!ssh  -p 8080 host'
git config credential.https://example.org.helper '!gh auth git-credential'
git config user.email shown@example.org
git config tools.tokenCount 5
"#;

/// Text that each of the answers must show.
const SHOWN: [&str; 2] = ["!gh auth git-credential", "!ssh  -p 8080 host"];

fn assert_hidden(what: &str, text: &str) {
    let found: Vec<&str> = text.lines().filter(|line| line.contains("MARK")).collect();
    assert!(found.is_empty(), "{what}: {found:#?}");
}

#[test]
fn secrets_in_settings_of_git_are_hidden() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("shop"), 1);
    let id = sandbox.launch(&repository.path, SETTINGS);
    let page = sandbox.scratch("page.html");
    let page_text = page.to_str().unwrap();
    sandbox.jackin(["diff", &id, "--html", page_text]).ok();
    let html = fs::read_to_string(&page).unwrap();
    assert_hidden("--html", &html);
    for flags in [&[][..], &["--json"], &["--patch"]] {
        let text = sandbox.jackin([&["diff", &id], flags].concat()).ok().text();
        assert_hidden(&format!("{flags:?}"), &text);
        for shown in SHOWN {
            assert!(text.contains(shown), "{flags:?} hides {shown}: {text}");
        }
        if flags.contains(&"--patch") {
            for shown in [
                "shown@example.org",
                "tokenCount = 5",
                "sshpass -p (hidden",
                "smtppass = (hidden",
            ] {
                assert!(text.contains(shown), "{flags:?} hides {shown}: {text}");
            }
        }
    }
    let all = sandbox
        .jackin(["diff", &id, "--patch", "--show-secrets"])
        .ok()
        .text();
    for number in 1..=6 {
        assert!(all.contains(&format!("MARK{number}")), "{all}");
    }
    sandbox.restore(&id, &[]);
    let config = fs::read_to_string(repository.path.join(".git/config")).unwrap();
    assert!(!config.contains("MARK"), "{config}");
    sandbox.undo(&id);
    let config = fs::read_to_string(repository.path.join(".git/config")).unwrap();
    assert!(config.contains("MARK5"), "{config}");
}

#[test]
fn secrets_in_settings_of_git_are_hidden_in_the_past() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("shop"), 1);
    sandbox.launch(&repository.path, SETTINGS);
    sandbox.launch(&repository.path, "true");
    let ask = |words: &[&str]| sandbox.command(words).inside(&repository.path).run();
    let config = ".git/config";
    ask(&["cat", config])
        .code(2)
        .hides("MARK")
        .shows("is likely to hold secrets");
    let all = ask(&["cat", "--show-secrets", config]).ok().text();
    for number in 1..=6 {
        assert!(all.contains(&format!("MARK{number}")), "{all}");
    }
    let shown = [
        ("email", "shown@example.org"),
        ("sshpass", "sshpass -p (hidden"),
        ("gh auth", SHOWN[0]),
        ("tun =", SHOWN[1]),
    ];
    for flags in [&[][..], &["--json"]] {
        let text = ask(&[&["blame", config], flags].concat()).ok().text();
        assert_hidden("blame", &text);
        assert!(shown.iter().all(|(_, shown)| text.contains(shown)), "{text}");
        for (pattern, shown) in shown.into_iter().chain([("MARK", "(hidden")]) {
            let text = ask(&[&["find", config, "--content", pattern], flags].concat());
            let text = text.ok().text();
            assert_hidden(pattern, &text);
            assert!(text.contains(shown), "{pattern}: {text}");
        }
    }
    for words in [&["blame", config][..], &["find", config, "--content", "MARK5"]] {
        let all = ask(&[words, &["--show-secrets"]].concat()).ok().text();
        assert!(all.contains("MARK5"), "{words:?}: {all}");
    }
}

/// Files with two names, of which one is that of a secret: the first name, and the other one. The last pair is of none.
const TWINS: [(&str, &str); 3] = [("notes", ".env"), ("keys/id_rsa", "keys/notes"), ("only", "more")];

#[test]
fn another_name_of_a_secret_shows_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    for (first, second) in TWINS {
        Build::at(&project)
            .file(first, "MARK1\n")
            .hard_link(second, first);
    }
    let id = sandbox.launch(
        &project,
        "for f in notes keys/notes more; do echo MARK2 >> $f; done",
    );
    let ask = |words: &[&str]| sandbox.command(words).inside(&project).run();
    for hidden in ["notes", ".env", "keys/id_rsa", "keys/notes"] {
        let refused = ask(&["cat", &id, hidden]).code(2);
        assert_hidden(hidden, &refused.shows("is likely to hold secrets").text());
        assert_hidden(hidden, &ask(&["blame", hidden]).ok().text());
        let shown = ask(&["cat", "--show-secrets", &id, hidden]).ok().text();
        assert!(shown.contains("MARK1"), "{hidden}: {shown}");
    }
    ask(&["cat", &id, "more"]).ok().shows("MARK1");
    ask(&["blame", "more"]).ok().shows("MARK2");
    let patch = ask(&["diff", &id, "--patch"]).ok().text();
    let marks = patch.lines().filter(|line| line.contains("MARK"));
    assert_eq!(
        marks.collect::<Vec<_>>(),
        [" MARK1", "+MARK2"].repeat(2),
        "{patch}"
    );
    let page = sandbox.scratch("page.html");
    ask(&["diff", &id, "--html", page.to_str().unwrap()]).ok();
    let html = fs::read_to_string(&page).unwrap();
    assert_eq!(html.matches("MARK2").count(), 2, "{html}");
    let dry = ask(&["restore", &id, "--dry-run", "--patch"]).ok().text();
    let marks = dry.lines().filter(|line| line.contains("MARK"));
    assert_eq!(marks.count(), 4, "{dry}");
    let found = ask(&["find", "--content", "MARK"]).ok();
    found.shows("more").hides("notes").hides("id_rsa");
}

/// A later snapshot has the secret name alone; the part of the manifest with the other one may be the same.
#[test]
fn a_name_that_comes_later_hides_the_others() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "MARK1\n").hard_link("b", "a");
    let id = sandbox.launch(&project, "ln a z.env");
    let ask = |words: &[&str]| sandbox.command(words).inside(&project).run();
    for shown in ["a", "b"] {
        ask(&["cat", &id, shown]).ok().shows("MARK1");
        let refused = ask(&["cat", &format!("{id}:closing"), shown]).code(2);
        refused.shows("is likely to hold secrets");
    }
    ask(&["find", "--content", "MARK"])
        .code_in(&[0, 1])
        .hides("MARK1");
}

#[test]
fn lines_of_a_private_key_are_hidden_in_the_past() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMARKA\nMARKB\n-----END RSA PRIVATE KEY-----\n";
    Build::at(&project).file("deploy.txt", format!("SHOWN1\n{key}SHOWN2\n"));
    sandbox.launch(&project, "true");
    let ask = |words: &[&str]| sandbox.command(words).inside(&project).run().ok();
    ask(&["blame", "deploy.txt"])
        .shows("SHOWN1")
        .shows("SHOWN2")
        .hides("MARK");
    ask(&["find", "--content", "SHOWN1|MARK"])
        .shows("SHOWN1")
        .hides("MARK");
    ask(&["find", "--content", "SHOWN2"]).shows("SHOWN2");
    ask(&["find", "--content", "MARK", "--show-secrets"]).shows("MARKA");
}

/// The mount begins in the repository, so that its name is not in the path below it.
#[test]
fn secrets_in_settings_of_a_bare_repository_are_hidden() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop.git");
    let git = std::process::Command::new("git")
        .args(["init", "-q", "--bare"])
        .arg(&project)
        .status();
    assert!(git.unwrap().success());
    let config = fs::read_to_string(project.join("config")).unwrap();
    fs::write(project.join("config"), format!("{config}[a]\n\ttoken = MARK\n")).unwrap();
    let id = sandbox.launch(&project, "true");
    let ask = |words: &[&str]| sandbox.command(words).inside(&project).run();
    ask(&["cat", &id, "config"]).code(2).hides("MARK");
    ask(&["blame", "config"]).ok().hides("MARK");
}

#[test]
fn secrets_in_settings_of_git_are_hidden_from_agents() {
    let (sandbox, project) = workspace(ALLOWED);
    let mut client = Client::start(&sandbox, &project, &[], Era::Stateless);
    client.call("snapshot_create", json!({"name": "s1"})).ok();
    let script = format!("git init -q\n{SETTINGS}");
    let run = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(&project)
        .status();
    assert!(run.unwrap().success());
    let diff = client.call("snapshot_diff", json!({"name": "s1"})).ok();
    assert_hidden("snapshot_diff", &format!("{diff:?}").replace("\\n", "\n"));
}

#[test]
fn files_of_the_sensitive_list_and_private_keys_are_not_in_a_patch() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMARK\n-----END RSA PRIVATE KEY-----\n";
    let code = "if line == \"-----BEGIN PRIVATE KEY-----\" { SHOWN1 }\n";
    let secret = [
        ".config/op/config",
        "Library/Keychains/k",
        ".config/gh/config.yml",
        ".pgpass",
        ".cargo/credentials.toml",
        ".env~",
        ".env-prod",
        "_netrc",
        ".dockercfg",
        ".my.cnf",
    ];
    let shown = [
        "gcloud.rs",
        "cookies.rs",
        "token_count",
        ".env-example",
        "main.rs~",
        "op/config",
    ];
    Build::at(&project).file("a", "");
    let id = sandbox.session(&project, |project| {
        let built = Build::at(project);
        for name in secret {
            built.file(name, "a: MARK\n");
        }
        for name in shown {
            built.file(name, format!("SHOWN of {name}\ntoken_count = 5\n"));
        }
        built.file("deploy_key", key).file("key.rs", code);
        for name in secret.iter().chain(&shown).chain(&["deploy_key"]) {
            fs::set_permissions(project.join(name), fs::Permissions::from_mode(0o644)).unwrap();
        }
    });
    let text = sandbox.jackin(["diff", &id, "--patch"]).ok().text();
    assert_hidden("--patch", &text);
    for name in shown {
        assert!(text.contains(&format!("SHOWN of {name}")), "{name}: {text}");
    }
    assert!(text.contains("SHOWN1"), "{text}");
    // What is hidden comes back as well.
    sandbox.restore(&id, &[]);
    sandbox.undo(&id);
    assert_eq!(fs::read_to_string(project.join("deploy_key")).unwrap(), key);
}

/// Fails if an archive of the store holds `secret`, or none holds `shown`.
fn assert_stored(sandbox: &Sandbox, secret: &str, shown: &[&str]) {
    let mut all = String::new();
    each_file(sandbox, |_, _, plain| {
        all.push_str(&String::from_utf8_lossy(plain.unwrap_or_default()));
    });
    let found = all.match_indices(secret).map(|(at, _)| all.get(at..at + 12));
    assert_eq!(found.collect::<Vec<_>>(), Vec::<Option<&str>>::new());
    for shown in shown {
        assert!(all.contains(shown), "{shown} is not stored");
    }
}

#[test]
fn credentials_stay_out_where_a_variable_moves_the_agent() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file(".codex/auth.json", "MARK1")
        .file(".codex/notes.md", "SHOWN1")
        .file(".cl/.credentials.json", "MARK2")
        .file(".cl/.claude.json", "MARK3")
        .file(".g/.gemini/oauth_creds.json", "MARK4")
        .file(".g/oauth_creds.json", "SHOWN2")
        .file(".cop/config.json", "MARK5")
        .file(".copilot/config.json", "SHOWN3");
    let target = project.to_str().unwrap();
    let run = sandbox
        .command(["launch", "-q", "--snapshot", "project", target, "--", "true"])
        .with("CODEX_HOME", project.join(".codex"))
        .with("CLAUDE_CONFIG_DIR", project.join(".cl"))
        .with("GEMINI_CLI_HOME", project.join(".g"))
        .with("COPILOT_HOME", project.join(".cop"))
        .run();
    run.ok();
    assert_stored(&sandbox, "MARK", &["SHOWN1", "SHOWN2", "SHOWN3"]);
}

#[test]
fn credentials_of_every_agent_stay_out_of_a_captured_home() {
    let sandbox = Sandbox::new();
    let home = sandbox.home();
    Build::at(&home)
        .file(".gemini/oauth_creds.json", "MARK1")
        .file(".gemini/mcp-oauth-tokens.json", "MARK2")
        .file(".gemini/GEMINI.md", "SHOWN1")
        .file(".copilot/config.json", "MARK3")
        .file(".copilot/mcp-oauth-config/a.tokens.json", "MARK4")
        .file(".copilot/notes.md", "SHOWN2")
        .file(".config/cursor/auth.json", "MARK5")
        .file(".cursor/rules/a.md", "SHOWN3")
        .file(".codex/auth.json", "MARK6");
    let run = sandbox
        .command([
            "launch",
            "-q",
            "--allow-broad",
            "--snapshot",
            "project",
            ".",
            "--",
            "true",
        ])
        .inside(&home)
        .run();
    run.ok();
    assert_stored(&sandbox, "MARK", &["SHOWN1", "SHOWN2", "SHOWN3"]);
}

#[test]
fn what_links_in_secret_places_lead_to_stays_out() {
    let sandbox = Sandbox::new();
    let (home, files) = (sandbox.home(), sandbox.project("dotfiles"));
    Build::at(&files)
        .file("keys/id_work", "MARK1")
        .file("keys/deep/id2", "MARK2")
        .file("nest", "MARK3")
        .file("far/id", "MARK4")
        .file("keys.md", "SHOWN1")
        .file("bashrc", "SHOWN2")
        .file("far/readme", "SHOWN3");
    fs::set_permissions(files.join("far/id"), fs::Permissions::from_mode(0o600)).unwrap();
    Build::at(&home).dir(".aws/sso/cache");
    for (link, target) in [
        (".ssh", files.join("keys")),
        (".aws/sso/cache/token", files.join("nest")),
        (".aws/keys", home.join("src/dotfiles/keys")),
        (".aws/home", home.clone()),
        (".aws/top", "/".into()),
        (".aws/gone", files.join("gone")),
    ] {
        symlink(target, home.join(link)).unwrap();
    }
    // Of what a link leads to, the links count, too.
    symlink(files.join("far"), files.join("keys/deep/far")).unwrap();
    let target = files.to_str().unwrap();
    let launch =
        |target: &str| sandbox.jackin(["launch", "-q", "--snapshot", "project", target, "--", "true"]);
    launch(target).ok();
    assert_stored(&sandbox, "MARK", &["SHOWN1", "SHOWN2", "SHOWN3"]);
    // A secret place is no mount. A directory that a link leads to may be a project, and its private files stay out of that as well.
    launch(files.join("keys/deep").to_str().unwrap()).refused();
    launch(files.join("far").to_str().unwrap()).ok();
    assert_stored(&sandbox, "MARK", &["SHOWN3"]);
}

#[test]
fn secrets_in_command_lines_of_agents_settings_are_not_stored_and_come_back() {
    let sandbox = Sandbox::new();
    let (home, project) = (sandbox.home(), sandbox.project("shop"));
    sandbox.configure(
        "config.toml",
        "[recovery]\nsnapshot = \"project-and-state\"\n[recovery.state]\nhome = true\n",
    );
    let settings = json!({
        "statusLine": {"type": "command", "command": "mysql -pMARK1"},
        "permissions": {"allow": [
            "Bash(sshpass -p MARK2 ssh h:*)",
            "Bash(curl -u bob:MARK3 https://x)",
            "Bash(mysql -u root -pMARK4 db:*)",
            "Bash(docker login -u a -p MARK5)",
            "Bash(redis-cli -a MARK6)",
            "Bash(mysql -u root -p:*)",
            "Bash(serve -p 8080)",
        ]},
        "mcpServers": {"db": {"command": "sshpass", "args": ["-p", "MARK7", "ssh"]}},
    });
    let settings = serde_json::to_string_pretty(&settings).unwrap();
    let built = Build::at(&home);
    built.file(".claude/settings.json", &settings);
    let codex = "[mcp_servers.a]\nargs = [\"--auth\", \"VALUE9\", \"-p\", \"8080\"]\n";
    let begun = sandbox.jackin(["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    fs::write(home.join(".claude/settings.json"), "{\"model\": \"b\"}").unwrap();
    built.file(".codex/config.toml", codex);
    sandbox.jackin(["end", &id]).ok();
    assert_stored(
        &sandbox,
        "MARK",
        &["Bash(serve -p 8080)", "Bash(mysql -u root -p:*)"],
    );
    for flags in [&[][..], &["--json"], &["--patch"]] {
        let text = sandbox.jackin([&["diff", &id], flags].concat()).ok().text();
        assert_hidden("diff", &text);
    }
    let told = sandbox.jackin(["diff", &id]).ok().text();
    assert!(!told.contains("VALUE9") && told.contains("8080"), "{told}");
    fs::write(home.join(".claude/settings.json"), &settings).unwrap();
    sandbox.restore(&id, &["--overwrite-later-edits"]);
    assert_eq!(
        fs::read_to_string(home.join(".claude/settings.json")).unwrap(),
        settings
    );
}
