//! Credentials that are stored encrypted: with a key that is locked by a passphrase, and in a directory of their own.

use crate::agent_encrypted::{HARM, Harmed, key, private, state};
use crate::agent_state::{agents, configure};
use crate::support::machine::{skip, tool};
use crate::support::sandbox::Sandbox;

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
    refused.shows("protected by a passphrase, and none was given");
    let Some(expect) = tool("expect") else {
        return skip("the passphrase", "expect is not installed");
    };
    for (typed, code) in [("wrong", 2), (PASSPHRASE, 0)] {
        let script = format!(
            "set timeout 60; spawn $env(PROGRAM) recovery restore @latest --yes --identity {locked}; \
             expect \"Passphrase of\"; send \"{typed}\\r\"; expect eof; exit [lindex [wait] 3]"
        );
        let start = "PROGRAM=\"$2\" exec \"$0\" -c \"$1\"";
        let run = sandbox
            .command::<[&str; 0], &str>([])
            .through(&["/bin/sh", "-c", start, expect.to_str().unwrap(), &script])
            .with("TERM", "xterm")
            .run()
            .code(code);
        assert!(!run.text().contains(typed), "{run}");
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
