//! `secrets = "encrypt"`: credentials come back with the operator's private key, and with nothing else; also with a key that a passphrase
//! locks, and into a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agent_settings::{FILES, settings, text};
use crate::agent_state::{agents, configure, has_no_canary, write};
use crate::support::machine::{skip, tool};
use crate::support::sandbox::Sandbox;

/// A key pair of age, made for these tests.
pub(crate) const RECIPIENT: &str = "age1pv3t7xy42wx35l0gvyn29t475hgukr2cut2e9dtmcwe5ggrk7s2sjs9uq3";
pub(crate) const IDENTITY: &str =
    "# made for tests\nAGE-SECRET-KEY-174T4CAM2X72K9H0JMEQL6WMZ8NUTHTSRGMHC0WXY4SH57LUH6EJQGSL99U\n";
const OTHER_RECIPIENT: &str = "age12sku3n8mydsn08jfv0yajzc0dqd9ttcef3emrnd9vcta5t5dv45sazzuf0";
const OTHER: &str = "AGE-SECRET-KEY-1NWWM0EL4X9NNZYMX6QE5X9YPE6S9CWCQCCAFA3NT560J07X4HS6QYPUN8K\n";
/// One of ssh.
const SSH_RECIPIENT: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBqd2yequ7lgkGFQ1K6M151Dp8SNBUTuIMg3fAgR/ZgH me@host";
const SSH_IDENTITY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACAandsnqru5YJBhUNSujNedQ6fEjQVE7iDIN3wIEf2YBwAAAJAk+5eLJPuX
iwAAAAtzc2gtZWQyNTUxOQAAACAandsnqru5YJBhUNSujNedQ6fEjQVE7iDIN3wIEf2YBw
AAAECmszyGGFQbKFptYno7EWiATcWoX2kNxG92d83/ZefbGxqd2yequ7lgkGFQ1K6M151D
p8SNBUTuIMg3fAgR/ZgHAAAAB3Jvb3RAdm0BAgMEBQY=
-----END OPENSSH PRIVATE KEY-----
";

pub(crate) fn state(recipients: &[&str]) -> String {
    format!("[recovery.state]\nhome = true\nsecrets = \"encrypt\"\nrecipients = {recipients:?}\n")
}

pub(crate) fn key(sandbox: &Sandbox, name: &str, content: &str) -> String {
    let path = sandbox.scratch(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

const CREDENTIALS: [&str; 6] = [
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".local/share/amp/secrets.json",
    ".local/share/opencode/auth.json",
    ".kimi-code/deep/token",
    ".grok/auth.json",
];

/// A session that harmed every kind of private file, and those files before and after it.
pub(crate) struct Harmed {
    pub(crate) sandbox: Sandbox,
    pub(crate) home: PathBuf,
    pub(crate) id: String,
    /// The file with the key.
    pub(crate) own: String,
    pub(crate) before: Vec<(PathBuf, Option<String>)>,
    pub(crate) after: Vec<(PathBuf, Option<String>)>,
}

impl Harmed {
    pub(crate) fn by(script: &str) -> Self {
        let sandbox = Sandbox::new();
        configure(&sandbox, &state(&[RECIPIENT]));
        let home = sandbox.home();
        agents(&home);
        settings(&home);
        let before = private(&home);
        let launched = sandbox.jackin(["launch", "shop", "--", "sh", "-c", script]).ok();
        launched.hides("changed nothing");
        let own = key(&sandbox, "own", IDENTITY);
        let (id, after) = (sandbox.newest(), private(&home));
        Self {
            sandbox,
            home,
            id,
            own,
            before,
            after,
        }
    }
}

/// Every private file that is there, and a file: a FIFO would be waited for.
pub(crate) fn private(home: &Path) -> Vec<(PathBuf, Option<String>)> {
    let all = CREDENTIALS.into_iter().chain(FILES.map(|(path, _)| path));
    let text = |path: &str| {
        let file = home.join(path);
        file.is_file().then(|| fs::read_to_string(file).unwrap())
    };
    all.map(|path| (PathBuf::from(path), text(path))).collect()
}

pub(crate) const HARM: &str = r#"cd "$HOME" && echo other > .claude/.credentials.json && rm .codex/auth.json && rm -r .kimi-code && echo '{"token": "t"}' > .claude/settings.json &&
    sed -i 's/canary-7f3a9c1e5b-account/another/' .claude.json && mkdir -p .config/amp && echo new > .local/share/amp/secrets.json"#;

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn credentials_come_back_with_the_right_key_and_with_no_other() {
    let sandbox = Sandbox::new();
    configure(&sandbox, &state(&[RECIPIENT, SSH_RECIPIENT]));
    let home = sandbox.home();
    agents(&home);
    settings(&home);
    let before = private(&home);
    let mut runs = vec![sandbox.jackin(["explain", "shop"]).ok()];
    runs[0].has("encrypted .claude/.credentials.json").has(RECIPIENT);
    runs.push(sandbox.jackin(["launch", "shop", "--", "sh", "-c", HARM]).ok());
    let after = private(&home);
    let id = sandbox.newest();
    let (own, ssh) = (key(&sandbox, "own", IDENTITY), key(&sandbox, "ssh", SSH_IDENTITY));
    let other = key(&sandbox, "other", OTHER);
    for verb in ["restore", "diff", "undo", "verify"] {
        // Nothing was restored yet.
        let args: &[&str] = match verb {
            "verify" => &[verb, "--identity", &other],
            "restore" => &[verb, &id, "--dry-run", "--identity", &other],
            "undo" => continue,
            _ => &[verb, &id, "--identity", &other],
        };
        let run = sandbox.jackin(args);
        assert_ne!(run.exit(), Some(0), "{run}");
        run.has("none of the given private keys");
        runs.push(run);
    }
    // Without a key: everything else, and the secrets of now.
    let without = sandbox.jackin(["restore", &id, "--yes"]).ok();
    without.has("it stays without --identity");
    runs.push(without);
    assert_eq!(text(&home, ".claude/.credentials.json"), "other\n");
    assert!(!home.join(".codex/auth.json").exists());
    runs.push(sandbox.jackin(["undo", &id, "--yes"]).ok());
    // With either key all of it, exactly; and back.
    for identity in [&own, &ssh] {
        let dry = sandbox
            .jackin(["restore", &id, "--dry-run", "--identity", identity])
            .ok();
        dry.has(".claude/.credentials.json");
        runs.push(dry);
        for form in ["--patch", "--stat", "--json"] {
            runs.push(sandbox.jackin(["diff", &id, form, "--identity", identity]).ok());
        }
        let more = [
            "--yes",
            "--overwrite-later-edits",
            "--delete-later-files",
            "--identity",
            identity,
        ];
        let restored = sandbox.jackin([&["restore", &id][..], &more].concat()).ok();
        restored.has(&format!("undo {id} --identity"));
        runs.push(restored);
        assert_eq!(private(&home), before);
        runs.push(
            sandbox
                .jackin(["undo", &id, "--yes", "--identity", identity])
                .ok(),
        );
        let now = private(&home);
        for (was, is) in after.iter().zip(&now) {
            assert_eq!(was, is);
        }
    }
    runs.push(sandbox.jackin(["verify", "--read-data", "--identity", &own]).ok());
    has_no_canary(&sandbox, &runs);
    let shown = sandbox
        .jackin(["diff", &id, "--patch", "--show-secrets", "--identity", &own])
        .ok();
    shown.has("canary-7f3a9c1e5b");
    sandbox.no_litter();
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_bundle_of_what_did_not_change_is_not_stored_again() {
    let sandbox = Sandbox::new();
    configure(&sandbox, &state(&[RECIPIENT]));
    let home = sandbox.home();
    agents(&home);
    let id = sandbox.jackin(["begin", "shop"]).ok();
    let id = String::from_utf8_lossy(&id.stdout).trim().to_owned();
    let archives = || fs::read_dir(sandbox.store().join("archives")).unwrap().count();
    let first = archives();
    sandbox.jackin(["checkpoint", &id]).ok();
    assert_eq!(archives(), first);
    write(&home, ".codex/auth.json", "another");
    sandbox.jackin(["checkpoint", &id]).ok();
    assert_eq!(archives(), first + 1);
    sandbox.jackin(["end", &id]).ok();
    let own = key(&sandbox, "own", IDENTITY);
    sandbox.jackin(["verify", "--identity", &own]).ok();
    sandbox.jackin(["restore", &id, "--yes", "--identity", &own]).ok();
    assert!(text(&home, ".codex/auth.json").contains("canary"));
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn keys_that_cannot_be_used_are_refused_with_what_to_type() {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, &state(&[]));
    agents(&sandbox.home());
    let refused = |recipients: &[&str], words: &str| {
        configure(&sandbox, &state(recipients));
        for verb in [
            &["explain", "shop"][..],
            &["launch", "shop", "--", "touch", "ran"],
            &["begin", "shop"],
        ] {
            let run = sandbox.jackin(verb);
            assert!(matches!(run.exit(), Some(2 | 125)), "{run}");
            run.has(words)
                .has("recipients = [\"ssh-ed25519 AAAA…\"]")
                .has("shop.toml, line");
        }
        assert!(!sandbox.store().exists());
    };
    refused(&[], "there are none");
    refused(&["age1nonsense"], "age1nonsense");
    refused(&[RECIPIENT, "ecdsa-sha2-nistp256 AAAA"], "ecdsa");
    // A private key is not said again.
    configure(&sandbox, &state(&[OTHER.trim()]));
    let run = sandbox.jackin(["explain", "shop"]).code(2);
    run.shows("private key").hides("AGE-SECRET-KEY-1NWWM");
    // Without `encrypt` nobody needs any.
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    sandbox.jackin(["launch", "shop", "--", "true"]).ok();
    let id = sandbox.newest();
    let missing = project.join("no-such-key");
    for (file, words) in [
        (missing.to_str().unwrap().to_owned(), "cannot be read"),
        (key(&sandbox, "public", SSH_RECIPIENT), "public key"),
        (key(&sandbox, "empty", "\n"), "no private key"),
        (
            key(&sandbox, "cut", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"),
            "damaged",
        ),
    ] {
        sandbox
            .jackin(["restore", &id, "--dry-run", "--identity", &file])
            .code(2)
            .has(words);
    }
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn killed_at_every_point_credentials_are_the_old_or_the_new_ones() {
    let Harmed {
        sandbox,
        home,
        id,
        own,
        before,
        after,
    } = Harmed::by(HARM);
    let mut waited = 0;
    for n in 1.. {
        let restore = sandbox.command(["restore", &id, "--yes", "--identity", &own]);
        let run = restore.with("JACKIN_RECOVERY_FAIL_AT", format!("any:{n}")).run();
        if run.exit().is_some() {
            run.ok();
            break;
        }
        if sandbox.jackin(["restore", &id, "--dry-run"]).exit() == Some(8) {
            waited += 1;
            // Resumed at odd points, taken back at even ones.
            if n % 2 == 1 {
                // What was staged needs no key any more.
                let resumed = sandbox.jackin(["resume", &id, "--yes"]).code_in(&[0, 5]);
                assert_eq!(private(&home), before, "{n}\n{resumed}");
                sandbox.jackin(["undo", &id, "--yes", "--identity", &own]).ok();
            } else {
                sandbox.jackin(["abort", &id, "--yes"]).code_in(&[0, 5]);
            }
        }
        if private(&home) == before {
            // It was decided, and what came after settled it.
            sandbox.jackin(["undo", &id, "--yes", "--identity", &own]).ok();
        }
        assert_eq!(private(&home), after, "{n}");
    }
    assert!(waited >= 3, "only {waited} waited");
    assert_eq!(private(&home), before);
    has_no_canary(&sandbox, &[]);
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn what_lies_in_the_place_of_a_private_file_goes_and_comes_back_with_an_undo() {
    let harm = "cd ~ && ln -sf /etc/hostname .codex/auth.json && ln -sf /tmp/evil .codex/config.toml && \
                rm .kimi-code/deep/token .claude/settings.json && mkfifo .kimi-code/deep/token .claude/settings.json";
    let Harmed {
        sandbox,
        home,
        id,
        own,
        before,
        ..
    } = Harmed::by(harm);
    sandbox.jackin(["restore", &id, "--yes", "--identity", &own]).ok();
    assert_eq!(private(&home), before);
    sandbox.jackin(["undo", &id, "--yes", "--identity", &own]).ok();
    assert_eq!(
        fs::read_link(home.join(".codex/auth.json")).unwrap(),
        Path::new("/etc/hostname")
    );
    assert_eq!(
        fs::read_link(home.join(".codex/config.toml")).unwrap(),
        Path::new("/tmp/evil")
    );
    // Settings need no key for that.
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert!(text(&home, ".codex/config.toml").contains("command = \"a\""));
    assert!(
        fs::symlink_metadata(home.join(".codex/auth.json"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_key_that_was_given_once_is_asked_for_again() {
    let Harmed {
        sandbox,
        home,
        id,
        own,
        before,
        after,
    } = Harmed::by(HARM);
    // Killed before it changed anything: without the key it would be another restore.
    let restore = sandbox.command(["restore", &id, "--yes", "--identity", &own]);
    assert_eq!(
        restore.with("JACKIN_RECOVERY_FAIL_AT", "any:1").run().exit(),
        None
    );
    let refused = sandbox.jackin(["resume", &id, "--yes"]).code(2);
    refused.has("begun with your private key").has("--identity FILE");
    assert_eq!(private(&home), after);
    sandbox.jackin(["resume", &id, "--yes", "--identity", &own]).ok();
    assert_eq!(private(&home), before);
    // An undo without it is none, and says so.
    let cut_short = sandbox.jackin(["undo", &id, "--yes"]).code(6);
    cut_short.has("it stays without --identity");
    // Nobody edited anything: with the key all of it is the session's again.
    sandbox.jackin(["restore", &id, "--yes", "--identity", &own]).ok();
    assert_eq!(private(&home), before);
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn the_history_of_a_credential_ends_with_the_last_undo() {
    let harmed = Harmed::by("echo other > ~/.claude/.credentials.json; rm ~/.codex/auth.json");
    let (sandbox, id, own) = (&harmed.sandbox, &harmed.id, &harmed.own);
    for (verb, changed, gone) in [
        ("restore", "modified", "added"),
        ("undo", "modified", "deleted"),
        ("undo", "modified", "added"),
    ] {
        sandbox.jackin([verb, id, "--yes", "--identity", own]).ok();
        let receipts = sandbox.jackin(["log", "--json"]).ok().json();
        let number = receipts["receipts"][0]["number"].as_u64().unwrap();
        for (path, change) in [(".claude/.credentials.json", changed), (".codex/auth.json", gone)] {
            let path = harmed.home.join(path);
            let path = path.to_str().unwrap();
            let run = sandbox.jackin(["log", path]).ok();
            let text = run.text();
            let last = text
                .lines()
                .find(|line| line.contains(&format!("{verb} {number}")));
            assert!(last.is_some_and(|line| line.contains(change)), "{path}\n{run}");
        }
    }
    let blamed = harmed.home.join(".claude/.credentials.json");
    let run = sandbox.jackin(["blame", blamed.to_str().unwrap()]).ok();
    run.shows("a private file of an agent").shows("by undo");
}

/// A key of ssh with a passphrase.
const LOCKED_RECIPIENT: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKYRHvJRqjJMSEbkI8LOb38OUK1Yb1osY/77s5ga0dzg me@host";
const LOCKED_IDENTITY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABDM0JupIr
q/9+uzpta/r9DAAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIKYRHvJRqjJMSEbk
I8LOb38OUK1Yb1osY/77s5ga0dzgAAAAkFl8x3E0gh/sWNSOAC7g/LbA+fnCI4WTAQHjr4
Tu8hCadBb/Tr+cVaaldBkIkFIuj5Sw4Ip/zJTgtNx+Kh3o13dgrKCxwaIpQrF6umdzWrjG
WHtr/+qgVg+5V2eS79ltfA+mGblp42dJKQQ17cVw2hrNcCCz2B36jsKclT1g0AWKN1ZHm+
NssKN6Vqk9r3upyA==
-----END OPENSSH PRIVATE KEY-----
";
const PASSPHRASE: &str = "sesame-91";

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_passphrase_is_asked_for_on_a_terminal_and_does_not_show() {
    let sandbox = Sandbox::new();
    configure(&sandbox, &state(&[LOCKED_RECIPIENT]));
    let home = sandbox.home();
    agents(&home);
    sandbox
        .jackin(["launch", "shop", "--", "sh", "-c", "echo x > ~/.codex/auth.json"])
        .ok();
    let locked = key(&sandbox, "locked", LOCKED_IDENTITY);
    let refused = sandbox
        .jackin(["restore", "@latest", "--yes", "--identity", &locked])
        .code(2);
    refused
        .shows("protected by a passphrase, and none was given")
        .shows("on a terminal")
        .shows("ssh-keygen -p -N '' -f COPY");
    let Some(expect) = tool("expect") else {
        return skip("the passphrase", "expect is not installed");
    };
    let with_enter = format!("{PASSPHRASE}\\r");
    // The second is Ctrl-C, and the third is Enter alone.
    for (typed, code) in [("wrong\\r", 2), ("\\003", 4), ("\\r", 4), (&with_enter, 0)] {
        let script = format!(
            "set timeout 60; spawn $env(PROGRAM) recovery restore @latest --yes --identity {locked}; \
             expect \"Passphrase of\"; send \"{typed}\"; expect eof; exit [lindex [wait] 3]"
        );
        let start = "PROGRAM=\"$2\" exec \"$0\" -c \"$1\"";
        let run = sandbox
            .command::<[&str; 0], &str>([])
            .through(&["/bin/sh", "-c", start, expect.to_str().unwrap(), &script])
            .with("TERM", "xterm")
            .run()
            .code(code);
        assert!(
            !run.text().contains(typed.trim_end_matches("\\r")) || typed == "\\r",
            "{run}"
        );
        let is_withheld = run.text().contains("no passphrase was given");
        assert_eq!(is_withheld, code == 4, "{run}");
    }
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn elsewhere_a_snapshot_is_written_with_its_credentials_when_there_is_a_key() {
    let Harmed {
        sandbox,
        id,
        own,
        before,
        ..
    } = Harmed::by(HARM);
    let copy = sandbox.scratch("copy");
    let args = [
        "restore",
        &id,
        "--to",
        copy.to_str().unwrap(),
        "--yes",
        "--identity",
        &own,
    ];
    sandbox.jackin(args).ok();
    assert_eq!(private(&copy.join("state")), before);
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn the_right_key_serves_after_the_recipients_changed() {
    let Harmed {
        sandbox,
        home,
        id,
        own,
        before,
        ..
    } = Harmed::by(HARM);
    configure(&sandbox, &state(&[OTHER_RECIPIENT]));
    let harm = "cd \"$HOME\" && echo third > .claude/.credentials.json";
    sandbox.jackin(["launch", "shop", "--", "sh", "-c", harm]).ok();
    let second = sandbox.newest();
    let other = key(&sandbox, "other", OTHER);
    sandbox
        .jackin(["restore", &second, "--yes", "--identity", &other])
        .ok();
    sandbox.jackin(["restore", &id, "--yes", "--identity", &own]).ok();
    assert_eq!(private(&home), before);
    // A bundle for other recipients is not damaged.
    let one = sandbox
        .jackin(["verify", "--identity", &own, "--json"])
        .ok()
        .json();
    assert_eq!(
        (&one["outcome"], one["unopened"].as_u64() > Some(0)),
        (&"whole".into(), true)
    );
    let both = format!(
        "{}\n{}",
        fs::read_to_string(&own).unwrap(),
        fs::read_to_string(&other).unwrap()
    );
    let both = key(&sandbox, "both", &both);
    let all = sandbox
        .jackin(["verify", "--identity", &both, "--json"])
        .ok()
        .json();
    assert_eq!(all["unopened"], 0);
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_secret_that_comes_back_is_not_said_to_stay() {
    let sandbox = Sandbox::new();
    configure(&sandbox, &state(&[RECIPIENT]));
    let file = sandbox.home().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let content =
        |key: &str, x: u8| format!("{{\"env\": {{\"ANTHROPIC_API_KEY\": \"sk-ant-{key}\"}}, \"x\": {x}}}");
    fs::write(&file, content("OLD", 1)).unwrap();
    let id = {
        let script = format!("echo '{}' > \"$HOME/.claude/settings.json\"", content("NEW", 2));
        sandbox.jackin(["launch", "shop", "--", "sh", "-c", &script]).ok();
        sandbox.newest()
    };
    let own = key(&sandbox, "own", IDENTITY);
    let stays = "a secret in it changed; the current one stays";
    sandbox.jackin(["restore", &id, "--dry-run"]).ok().has(stays);
    sandbox
        .jackin(["restore", &id, "--yes", "--identity", &own])
        .ok()
        .hides(stays);
    assert_eq!(fs::read_to_string(&file).unwrap(), content("OLD", 1));
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn cat_names_the_key_that_a_private_file_needs() {
    let harmed = Harmed::by(HARM);
    let Harmed {
        sandbox,
        home,
        id,
        own,
        ..
    } = &harmed;
    let file = |path: &str| home.join(path).to_str().unwrap().to_owned();
    let (credential, settings) = (".claude/.credentials.json", ".claude/settings.json");
    let cat = |path: &str, more: &[&str]| {
        let (path, id) = (file(path), id.as_str());
        let words = ["cat", id, &path, "--show-secrets"];
        sandbox.jackin(words.iter().chain(more).copied())
    };
    let stored = |path: &str| {
        let mut before = harmed.before.iter();
        let found = before.find(|(known, _)| known == Path::new(path)).unwrap();
        found.1.clone().unwrap().into_bytes()
    };
    cat(credential, &[])
        .code(2)
        .shows("holds credentials, which the snapshot has only encrypted")
        .shows("--identity FILE");
    assert_eq!(
        cat(credential, &["--identity", own]).ok().stdout,
        stored(credential)
    );
    let cut = cat(settings, &[])
        .ok()
        .shows("has placeholders where it held secrets");
    assert_ne!(cut.stdout, stored(settings));
    let whole = cat(settings, &["--identity", own]).ok().hides("placeholders");
    assert_eq!(whole.stdout, stored(settings));
}
