//! The number of calls to another machine, or of commands to its shell, that a restore makes. Each waits for its answer, so that it decides
//! how long the restore takes where the way is long.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::carried::Kind;
use crate::support::compare::assert_same_tree;
use crate::support::sandbox::Sandbox;

/// The commands that were sent, by the first words of each.
pub(crate) fn commands(sent: &Path) -> BTreeMap<String, usize> {
    let sent = fs::read(sent).unwrap();
    let lines: Vec<&[u8]> = sent.split(|byte| *byte == b'\n').collect();
    let is_mark = |line: &[u8]| line.len() >= 16 && line.iter().all(u8::is_ascii_alphanumeric);
    let marks: Vec<&[u8]> = lines.iter().copied().filter(|line| is_mark(line)).collect();
    let mut commands = BTreeMap::new();
    for line in lines {
        let Some(words) = marks
            .iter()
            .find_map(|mark| line.strip_prefix(*mark)?.strip_prefix(b" "))
        else {
            continue;
        };
        let words = String::from_utf8_lossy(words);
        // Without the words that carry a command and that enter a directory.
        let words = words.trim_start_matches("E=$( { ");
        let kind: String = words
            .split_whitespace()
            .filter(|word| !word.contains('/'))
            .take(12)
            .collect::<Vec<_>>()
            .join(" ");
        *commands.entry(kind).or_default() += 1;
    }
    commands
}

/// The number of messages that were sent to an agent: of each its length, and that many bytes.
fn messages(sent: &Path) -> usize {
    let sent = fs::read(sent).unwrap();
    let (mut rest, mut count) = (sent.as_slice(), 0);
    while let Some((length, message)) = rest.split_first_chunk() {
        rest = &message[u32::from_le_bytes(*length) as usize..];
        count += 1;
    }
    count
}

/// Restores a session that changed 240 small files, and returns a file of what was sent for that. `None` if there is no such machine here.
fn sent_for_a_restore(kind: Kind) -> Option<(Sandbox, PathBuf)> {
    let sandbox = Sandbox::carried(kind)?;
    let project = sandbox.project("tree");
    let build = Build::at(&project);
    for number in 0..240 {
        build.file(
            format!("part-{}/{number}.txt", number % 4),
            format!("number {number}\n"),
        );
    }
    let before = sandbox.tree(&project);
    let id = sandbox.launch(
        &project,
        "for f in part-0/* part-1/*; do echo changed >$f; done; rm part-2/*; for f in part-3/*; do echo more >$f-new; done",
    );
    let all = sandbox.machine().record();
    sandbox.jackin(["restore", &id, "--yes"]).ok().shows("240");
    assert_same_tree(&before, &sandbox.tree(&project));
    let sent = sandbox.scratch("sent");
    fs::copy(all, &sent).unwrap();
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    Some((sandbox, sent))
}

#[test]
fn a_restore_of_many_paths_takes_few_commands() {
    let Some((_sandbox, sent)) = sent_for_a_restore(Kind::Shell) else {
        return;
    };
    let commands = commands(&sent);
    let all: usize = commands.values().sum();
    assert!(all < 300, "{all} commands for 240 paths: {commands:#?}");
}

#[test]
fn a_restore_of_many_paths_takes_few_calls() {
    let Some((_sandbox, sent)) = sent_for_a_restore(Kind::Ssh) else {
        return;
    };
    let calls = messages(&sent);
    assert!(calls < 500, "{calls} calls for 240 paths");
}
