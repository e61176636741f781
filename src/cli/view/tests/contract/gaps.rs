//! Tests of the sections on skipped paths, on paths that are not covered, and of warnings.

use super::{bytes, captured, coverage, file, flag, flat, ordinary};
use crate::config::{OnFailure, Sensitive, Sourced};
use crate::contract::{Foreign, ShellReason};
use crate::model::{RelPath, WithheldPath, WithheldReason};
use handle_fs::remote::Limitation;

fn withheld(path: &str, reason: WithheldReason) -> WithheldPath {
    let path = RelPath::new(path.as_bytes()).unwrap();
    WithheldPath { path, reason }
}

#[test]
fn withheld_places_are_counted_and_named_when_few() {
    let mut contract = ordinary();
    assert!(flat(&contract).contains("Skipped No secrets: a .env"));
    coverage(&mut contract).withheld = vec![
        withheld(".aws", WithheldReason::Sensitive),
        withheld(".jackin/data/recovery", WithheldReason::Store),
        withheld(".ssh", WithheldReason::Sensitive),
    ];
    let text = flat(&contract);
    assert!(
        text.contains(
            "Skipped 2 places of your own secrets or agents' credentials: .aws, .ssh \
             the recovery store: .jackin/data/recovery Other secrets"
        ),
        "{text}"
    );
    coverage(&mut contract).withheld = (0..40)
        .map(|number| withheld(&format!("s{number}"), WithheldReason::Sensitive))
        .collect();
    let text = flat(&contract);
    assert!(
        text.contains(
            "40 places of your own secrets or agents' credentials, among them s0, s1, s2, s3, s4, "
        ),
        "{text}"
    );
    assert!(text.contains("s22, s23 Other sec"), "{text}");
    // With more than one mount, it is said in which.
    contract.mounts.push(captured("/b", "b", vec![]));
    let text = flat(&contract);
    assert!(text.contains("credentials in shop, among them"), "{text}");
}

#[test]
fn capturing_secrets_is_a_warning_that_names_who_chose_it() {
    let mut contract = ordinary();
    contract.sensitive = Sourced {
        value: Sensitive::Capture,
        source: file(9),
    };
    coverage(&mut contract).withheld = vec![withheld(".codex/auth.json", WithheldReason::Sensitive)];
    let text = flat(&contract);
    assert!(
        text.contains("1 place of agents' credentials: .codex/auth.json WARNING: your ~/.ssh"),
        "{text}"
    );
    assert!(text.contains("shop.toml, line 9)"), "{text}");
    assert!(!text.contains("no known credential directory"), "{text}");
}

#[test]
fn a_session_without_protection_is_a_warning() {
    let mut contract = ordinary();
    assert!(!flat(&contract).contains("if the baseline fails"));
    contract.on_failure = Sourced {
        value: OnFailure::Run,
        source: flag("--on-failure"),
    };
    contract.limits.max_entries.value = 7;
    contract.limits.max_bytes.value = 1 << 20;
    let text = flat(&contract);
    assert!(text.contains("at most 7 entries and 1.0 MiB"), "{text}");
    assert!(
        text.contains("WARNING: if the baseline fails, the session starts without protection"),
        "{text}"
    );
    assert!(
        text.contains("\"run\", --on-failure)") && !text.contains("does not begin"),
        "{text}"
    );
}

#[test]
fn what_another_user_holds_is_counted_over_all_mounts() {
    let mut contract = ordinary();
    contract.mounts.push(captured("/b", "b", vec![]));
    contract.mounts[0].foreign = Some(Foreign {
        unreadable: 1,
        other_owner: 1_200,
        mount_points: 1,
        visited: 5_000,
        ..Foreign::default()
    });
    contract.mounts[1].foreign = Some(Foreign {
        other_owner: 34,
        mount_points: 2,
        visited: u64::MAX,
        ..Foreign::default()
    });
    let text = flat(&contract);
    for part in [
        "other file systems inside them (3 found)",
        "1 entry that you cannot read: not captured 1,234 entries of other users",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(
        !text.contains("cannot replace") && !text.contains("Nothing was found"),
        "{text}"
    );
    // Neither a count that stopped nor one that was not made passes for "nothing".
    contract.mounts[1].foreign = None;
    contract.mounts[0].foreign = Some(Foreign::default());
    let text = flat(&contract);
    assert!(
        text.contains("not every mount was counted") && !text.contains("Nothing was found"),
        "{text}"
    );
    contract.mounts[1].foreign = Some(Foreign {
        visited: 200_000,
        stopped: true,
        ..Foreign::default()
    });
    let text = flat(&contract);
    assert!(
        text.contains("Only the first 200,000 entries were checked") && !text.contains("Nothing was found"),
        "{text}"
    );
}

#[test]
fn limits_of_a_shell_name_the_machine_and_the_reason() {
    let mut contract = ordinary();
    for (reason, why) in [
        (
            ShellReason::Asked,
            "the shell and tools there are used, as you asked (--agent shell)",
        ),
        (
            ShellReason::NotInstalled,
            "this program is not installed, so the shell and tools there are used",
        ),
    ] {
        let mount = &mut contract.mounts[0];
        mount.root = bytes("ssh://host:2222/srv/shop");
        mount.lacks = vec![Limitation::Holes, Limitation::Locks];
        mount.shell = Some(reason);
        let text = flat(&contract);
        let told = format!(
            " On ssh://host:2222, {why}: sparse files are restored without holes; a restore takes no lock there. With a copy"
        );
        assert!(text.contains(&told), "{text}");
    }
}
