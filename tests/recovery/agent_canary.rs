//! A canary in every place where a secret can lie: what is an agent's is found nowhere, what stands in a file of the project nowhere
//! but in that file.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;

use crate::agent_encrypted::state as encrypted;
use crate::agent_settings::settings;
use crate::agent_state::{agents, configure, each_file, holds, write};
use crate::support::git::Repository;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// In whatever is an agent's, jackin's, or the session's alone.
const AGENT: &str = "canary-7f3a9c1e5b";
/// In the project's `.env`.
const ENV: &str = "canary-of-the-env-51c";
/// In the address of a remote.
const REMOTE: &str = "canary-of-the-remote-8e2";
const ALL: [&str; 3] = [AGENT, ENV, REMOTE];
const KEY: &str = "age1pv3t7xy42wx35l0gvyn29t475hgukr2cut2e9dtmcwe5ggrk7s2sjs9uq3";

/// The members of all archives that hold a canary; any other file of the store that does is a failure.
fn members(sandbox: &Sandbox) -> BTreeSet<(String, &'static str)> {
    let mut found = BTreeSet::new();
    each_file(sandbox, |path, bytes, plain| {
        for canary in ALL {
            assert!(!holds(bytes, canary), "{canary} in {}", path.display());
        }
        let Some(plain) = plain else { return };
        for member in tar::Archive::new(plain).entries().unwrap() {
            let mut member = member.unwrap();
            let path = String::from_utf8_lossy(&member.path_bytes()).into_owned();
            let mut content = Vec::new();
            member.read_to_end(&mut content).unwrap();
            let in_it = |canary: &&str| holds(&content, canary) || holds(path.as_bytes(), canary);
            found.extend(ALL.into_iter().filter(in_it).map(|canary| (path.clone(), canary)));
        }
    });
    found
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn s43_no_canary_is_found_but_in_its_own_file_of_the_project() {
    let plain = "[recovery.state]\nhome = true\n".to_owned();
    for (mode, state) in [
        ("project", plain.clone()),
        ("project-and-state", plain),
        ("project-and-state", encrypted(&[KEY])),
    ] {
        let sandbox = Sandbox::new();
        let project = configure(&sandbox, &state);
        let home = sandbox.home();
        agents(&home);
        settings(&home);
        sandbox.configure("config.toml", &format!("[env]\nKEY = \"{AGENT}\"\n"));
        let repository = Repository::init(&project);
        repository.git(&[
            "remote",
            "add",
            "origin",
            &format!("https://me:{REMOTE}@example.org/x.git"),
        ]);
        fs::write(project.join(".env"), format!("PASSWORD={ENV}\n")).unwrap();
        repository.commit("first");
        let log = sandbox.scratch("log");
        let (log, mut runs): (&str, Vec<Run>) = (log.to_str().unwrap(), Vec::new());
        let mut run = |args: &[&str]| {
            let more: &[&str] = if args.contains(&"--json") { &[] } else { &["-v"] };
            let command = sandbox
                .command([args, more, &["--log-file", log]].concat())
                .with("SECRET_OF_THE_SESSION", AGENT);
            runs.push(command.run());
        };
        let script = "echo more >> .env; echo x >> ~/.claude/projects/p/history.jsonl; \
                      sed -i s/numStartups/other/ ~/.claude.json; sed -i s/me:/you:/ .git/config; echo changed > ~/.codex/auth.json";
        run(&["explain", "shop"]);
        run(&["explain", "shop", "--json"]);
        let launch = [
            "launch",
            "--snapshot",
            mode,
            "shop",
            "-v",
            "--log-file",
            log,
            "--",
            "sh",
            "-c",
            script,
            AGENT,
        ];
        let launched = sandbox
            .command(launch)
            .inside(&project)
            .with("SECRET_OF_THE_SESSION", AGENT)
            .run()
            .ok();
        let id = sandbox.newest();
        for to in ["now", "closing"] {
            for form in ["--name-status", "--stat", "--patch", "--json"] {
                run(&["diff", &id, "--to", to, form]);
            }
        }
        for args in [
            &["show", &id][..],
            &["show", &id, "--json"],
            &["list"],
            &["list", "--json"],
            &["log"],
            &["log", "--json"],
            &["doctor"],
            &["doctor", "--json"],
            &["verify", "--read-data"],
            &["verify", "--json"],
            &["restore", &id, "--dry-run"],
            &["restore", &id, "--dry-run", "--json"],
            &["restore", &id, "--yes"],
            &["undo", &id, "--yes", "--json"],
            // Errors, too.
            &["diff", &id, "no-such-path"],
            &["restore", &id, "--from", "nothing", "--yes"],
            &["show", "nobody", "--json"],
            &[
                "restore",
                &id,
                "--dry-run",
                "--identity",
                home.join(".claude.json").to_str().unwrap(),
            ],
        ] {
            run(args);
        }
        runs.push(launched);
        for run in &runs {
            for canary in ALL {
                assert!(
                    !holds(&run.stdout, canary) && !run.text().contains(canary),
                    "{mode}: {canary}\n{run}"
                );
            }
        }
        let logged = fs::read(log).unwrap();
        assert!(!logged.is_empty() && ALL.into_iter().all(|canary| !holds(&logged, canary)));
        let known: BTreeSet<_> = members(&sandbox);
        // Also the object that git made of the file, which is compressed, does not show it.
        let wanted = [("shop/.env", ENV), ("shop/.git/config", REMOTE)];
        let wanted: BTreeSet<_> = wanted.map(|(path, canary)| (path.to_owned(), canary)).into();
        assert_eq!(known, wanted, "{mode}");
        // And that is where the operator's own content belongs.
        write(&home, "src/shop/.env", "gone");
        sandbox
            .jackin(["restore", &id, "--yes", "--overwrite-later-edits"])
            .ok();
        assert_eq!(
            fs::read_to_string(project.join(".env")).unwrap(),
            format!("PASSWORD={ENV}\n")
        );
    }
}
