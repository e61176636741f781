//! The full-screen client of Codex lets a background server work, which runs the hooks and goes on when the client has ended. Whose
//! conversation it is shows the table of processes: the client works in the conversation's directory.

use std::path::Path;

use crate::config::settle;
use crate::model::ProcessRef;
use crate::process::NamedProcess;

/// Name of both programs.
pub const NAME: &str = "codex";

/// Returns the client for which a background server of Codex works in `directory`. `None` if `process` is no such server, or if no
/// client is found.
///
/// Of several clients in one directory it is the newest. If that is another one, the session ends with it; the next call of a tool
/// begins a new one.
#[must_use]
pub fn owner(process: &ProcessRef, directory: &Path, all: &[NamedProcess]) -> Option<ProcessRef> {
    let has = |process: &NamedProcess, word: &str| process.words.iter().any(|found| found == word);
    // A server that an editor has started speaks on its standard input, and ends with the editor.
    let is_server = |one: &NamedProcess| has(one, "app-server") && has(one, "--listen");
    let server = all.iter().find(|one| one.process == *process)?;
    if !is_server(server) {
        return None;
    }
    let directory = settle(directory);
    let is_client = |one: &&NamedProcess| {
        let is_there = one
            .directory
            .as_deref()
            .is_some_and(|found| settle(found) == directory);
        is_there
            && !["app-server", "exec", "mcp-server"]
                .iter()
                .any(|word| has(one, word))
    };
    let clients = all.iter().filter(is_client).map(|one| &one.process);
    clients.max_by_key(|client| client.start).cloned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::owner;
    use crate::model::ProcessRef;
    use crate::process::NamedProcess;

    fn process(pid: u32, words: &str, directory: &str) -> NamedProcess {
        NamedProcess {
            process: ProcessRef {
                pid,
                start: u64::from(pid),
                boot: "b".to_owned(),
            },
            words: words.split(' ').map(str::to_owned).collect(),
            directory: Some(directory.into()),
        }
    }

    #[test]
    fn the_client_in_the_directory_owns_the_conversation() {
        let all = [
            process(1, "codex", "/w"),
            process(2, "codex app-server --listen unix://", "/w"),
            process(3, "codex", "/other"),
            process(4, "codex exec x", "/w"),
            process(5, "codex resume", "/w"),
            process(6, "codex app-server", "/w"),
        ];
        let of = |at: usize, directory: &str| {
            let found = owner(&all[at].process, Path::new(directory), &all);
            found.map(|process| process.pid)
        };
        assert_eq!(of(1, "/w"), Some(5));
        assert_eq!(of(1, "/other"), Some(3));
        assert_eq!(of(1, "/none"), None);
        // A client that runs its hooks itself, and the server of an editor.
        assert_eq!((of(0, "/w"), of(5, "/w")), (None, None));
    }
}
