//! Error for a command that lacks the name of an agent: which agents this machine has, and how to name one.

use super::args::{Lack, ParseOutcome};
use super::called_as::CalledAs;
use super::error::{CliError, ErrorKind};
use crate::agents::{Agent, present};
use crate::environment::Environment;

/// Replaces the error of a command line that lacks nothing but an agent. Any other outcome stays.
pub(super) fn explained<V>(
    understood: Result<V, ParseOutcome>,
    action: &str,
    called_as: CalledAs,
    environment: &Environment,
) -> Result<V, ParseOutcome> {
    understood.map_err(|outcome| match outcome {
        ParseOutcome::Wrong {
            lacks: lacks @ Some(Lack::Agent),
            ..
        } => ParseOutcome::Wrong {
            error: Box::new(error(action, called_as, environment)),
            help: None,
            lacks,
        },
        other => other,
    })
}

fn error(action: &str, called_as: CalledAs, environment: &Environment) -> CliError {
    let listed = |agents: Vec<&str>| agents.join(", ");
    let all = || listed(Agent::ALL.iter().map(|agent| agent.word()).collect());
    let found: Vec<Agent> = present(environment).into_iter().map(|(agent, _)| agent).collect();
    let made = match found.as_slice() {
        [] => CliError::new(
            ErrorKind::Usage,
            "no agent was named, and none was found on this machine",
        )
        .hint("neither their programs in PATH nor their settings were found")
        .hint(format!("name one of {}", all())),
        found => CliError::new(ErrorKind::Usage, "no agent was named").hint(format!(
            "found on this machine: {}",
            listed(found.iter().map(|agent| agent.word()).collect())
        )),
    };
    let example = found.first().unwrap_or(&Agent::Claude);
    made.command("for example", format!("hook {action} {example} --dry-run"))
        .as_called(called_as)
}
