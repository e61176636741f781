//! Tests of the texts: an uninstallation removes what an installation added and keeps every other byte.

mod files;
mod random;
mod refused;
mod told;

use super::{After, Fault, Program, install, uninstall};
use crate::agents::Agent;

/// The agents whose settings are JSON.
const WITH_SETTINGS: [Agent; 5] = [
    Agent::Claude,
    Agent::Codex,
    Agent::Gemini,
    Agent::Cursor,
    Agent::Copilot,
];

fn program(path: &str) -> Program {
    Program::new(path.as_ref(), path).unwrap()
}

fn ours() -> Program {
    program("/usr/bin/jackin")
}

/// Returns the text after an installation, which must change something.
#[track_caller]
fn installed(agent: Agent, text: Option<&str>) -> String {
    match install(agent, text, &ours()) {
        Ok(After::Text(text)) => text,
        other => panic!("{agent}: {other:?}"),
    }
}

/// Installs, installs again, uninstalls, and checks that nothing is left.
#[track_caller]
fn there_and_back(agent: Agent, text: &str) -> String {
    let with = installed(agent, Some(text));
    assert_eq!(
        install(agent, Some(&with), &ours()),
        Ok(After::Same),
        "{agent}\n{with}"
    );
    match uninstall(agent, Some(&with)) {
        Ok(After::Text(back)) => assert_eq!(back, text, "{agent}\n{with}"),
        other => panic!("{agent}: {other:?}\n{with}"),
    }
    with
}

fn fault(agent: Agent, text: &str) -> Fault {
    let fault = install(agent, Some(text), &ours()).unwrap_err();
    assert!(!fault.problem.is_empty());
    fault
}
