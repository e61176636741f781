//! The contract as a person reads it: facts, widths, and names that mean harm.

mod gaps;
mod hostile;
mod scope;

use crate::cli::view::contract::contract;
use crate::config::{
    AgentRestore, CommandDetail, Isolation, Limits, Mode, OnFailure, Prompts, Retention, Room, Sensitive,
    Sourced, Subject, ValueSource,
};
use crate::contract::{
    Contract, Foreign, MountState, MountTerms, NotCovered, RestoreTerms, RetentionTerms, SnapshotTerms,
    Unavailable,
};
use crate::model::{ByteString, Coverage, ExcludeRule, ExcludeSource};
use crate::terminal::recorded::{facts, terminal};
use crate::terminal::{Verbosity, width};

const FILE: &str = "/home/ann/.config/jackin/workspaces/shop.toml";

/// Returns a text as the terminal prints it without colors.
fn shown(text: &str) -> String {
    let (terminal, out, _) = terminal(facts(80), Verbosity::Normal);
    terminal.out(text);
    terminal.finish().unwrap();
    out.text()
}

fn at(contract_: &Contract, columns: usize) -> String {
    shown(&contract(contract_, columns))
}

/// On one line, so that facts are found wherever lines break.
fn flat(contract: &Contract) -> String {
    at(contract, 80).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn bytes(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}

fn file(line: usize) -> ValueSource {
    ValueSource::File {
        path: bytes(FILE),
        line,
    }
}

fn flag(name: &'static str) -> ValueSource {
    ValueSource::Flag { name }
}

fn rule(pattern: &str, source: ExcludeSource) -> ExcludeRule {
    ExcludeRule {
        pattern: pattern.to_owned(),
        source,
        private: None,
    }
}

fn stack(pattern: &str, name: &str, because: &str) -> ExcludeRule {
    let (name, because) = (name.to_owned(), because.to_owned());
    let defined = None;
    rule(
        pattern,
        ExcludeSource::Integration {
            name,
            because,
            defined,
        },
    )
}

fn mount(root: &str, state: MountState) -> MountTerms {
    MountTerms {
        source: bytes(root),
        root: bytes(root),
        dst: None,
        readonly: state == MountState::Readonly,
        isolation: Isolation::Shared,
        configured: file(3),
        state,
        coverage: None,
        new_excludes: vec![],
        has_baseline: false,
        absent_paths: vec![],
        kept_excludes: vec![],
        stack_warnings: vec![],
        broad: vec![],
        foreign: None,
        lacks: vec![],
        shell: None,
        helper: None,
        copied_bytes: None,
        native: None,
        container: None,
        git: None,
    }
}

fn captured(root: &str, label: &str, excludes: Vec<ExcludeRule>) -> MountTerms {
    MountTerms {
        coverage: Some(Coverage {
            excludes,
            ..Coverage::new(label, bytes(root))
        }),
        foreign: Some(Foreign::default()),
        git: None,
        ..mount(root, MountState::Captured)
    }
}

fn coverage(contract: &mut Contract) -> &mut Coverage {
    contract.mounts[0].coverage.as_mut().unwrap()
}

fn project(mounts: Vec<MountTerms>) -> Contract {
    Contract {
        subject: Subject::Workspace {
            name: "shop".to_owned(),
        },
        label: "shop".to_owned(),
        snapshot: SnapshotTerms {
            created: true,
            mode: Mode::Project,
            source: flag("--snapshot"),
        },
        restore: RestoreTerms {
            available: true,
            reason: None,
            overwrites: mounts
                .iter()
                .filter(|mount| mount.coverage.is_some())
                .map(|mount| mount.root.clone())
                .collect(),
        },
        mounts,
        watched: Vec::new(),
        cleanup_policy: None,
        jackin: None,
        state: None,
        store: Some(bytes("/home/ann/.jackin/data/recovery")),
        retention: Some(RetentionTerms {
            kept: Retention::default(),
            room: Room::default(),
        }),
        checkpoint_every: None,
        limits: Limits::default(),
        sensitive: Sourced::built_in(Sensitive::Withhold),
        on_failure: Sourced::built_in(OnFailure::Block),
        integrations: Sourced::built_in(true),
        watch: Sourced::built_in(false),
        command: Sourced::built_in(CommandDetail::Program),
        prompts: Sourced::built_in(Prompts::FirstLine),
        agent_restore: Sourced::built_in(AgentRestore::Deny),
        agent_on_failure: Sourced::built_in(OnFailure::Run),
        replica: None,
    }
}

/// One directory, one stack, one exclude of the operator's.
fn ordinary() -> Contract {
    let excludes = vec![
        stack("/target/", "rust", "Cargo.toml"),
        rule("*.log", ExcludeSource::Flag),
    ];
    Contract {
        subject: Subject::Directory {
            path: bytes("/home/ann/src/shop"),
        },
        ..project(vec![captured("/home/ann/src/shop", "shop", excludes)])
    }
}

fn without(mode: Mode, reason: Unavailable) -> Contract {
    let not = MountState::NotCovered {
        reason: NotCovered::Mode,
    };
    let mut contract = project(vec![mount("/home/ann/src/shop", not)]);
    contract.snapshot = SnapshotTerms {
        created: false,
        mode,
        source: ValueSource::Default,
    };
    contract.retention = None;
    contract.restore = RestoreTerms {
        available: false,
        reason: Some(reason),
        overwrites: vec![],
    };
    contract
}

#[test]
fn an_ordinary_directory_reads_like_this() {
    assert_eq!(
        at(&ordinary(), 80),
        "\
Recovery contract for the directory /home/ann/src/shop
Snapshot     yes, before the session and after it: mode project (--snapshot)
Mounts       captured      /home/ann/src/shop
Excluded     automatic (rust, because of Cargo.toml): /target/
             by --exclude: *.log
Skipped      No secrets: a .env and the like are captured like any file.
Stored in    /home/ann/.jackin/data/recovery (readable only by you)
Kept         the newest 20 sessions of this directory for 30 days, 100
             checkpoints, at most 50.0 GiB, 5.0 GiB free, and what is pinned or
             `undo` needs
Restore      asks first; creates, replaces and deletes files only in the mounts
Limits       at most 5,000,000 entries and 20.0 GiB per baseline
Not covered  anything outside the mounts, other file systems inside them
Not undone   side effects such as database writes, network calls, pushed commits
Note         Your edits during the session count as the agent's, except between
             turns that hooks report. Hooks record the first line of your
             prompts and of the agent's commands, and the files it names. This
             protects against accidents, not against malicious processes that
             run as you.
"
    );
}

#[test]
fn off_says_that_nothing_is_recorded_and_nothing_comes_back() {
    let mut contract = Contract {
        store: None,
        ..without(Mode::Off, Unavailable::Off)
    };
    assert_eq!(
        at(&contract, 80),
        "\
Recovery contract for the workspace shop
Snapshot     NO: no mode is configured
             Only `launch` records sessions here, with mode project. To see what
             it would record, use --snapshot project
Mounts       not captured  /home/ann/src/shop
Restore      not possible without a mode.
"
    );
    contract.snapshot.source = file(8);
    assert_eq!(
        at(&contract, 80),
        "\
Recovery contract for the workspace shop
Snapshot     NO: mode off (/home/ann/.config/jackin/workspaces/shop.toml, line
             8)
             Nothing is recorded, and nothing can be restored. To be able to
             undo the session, use --snapshot project
Mounts       not captured  /home/ann/src/shop
Restore      not possible: the mode is off.
"
    );
}

#[test]
fn metadata_says_that_no_file_is_kept() {
    let mut contract = without(Mode::Metadata, Unavailable::Metadata);
    contract.snapshot.source = file(8);
    assert_eq!(
        at(&contract, 80),
        "\
Recovery contract for the workspace shop
Snapshot     NO: mode metadata (/home/ann/.config/jackin/workspaces/shop.toml,
             line 8)
             The session and the state of git are recorded, but no files. To be
             able to undo the session, use --snapshot project
Mounts       not captured  /home/ann/src/shop
Stored in    /home/ann/.jackin/data/recovery (metadata only, readable only by
             you; it stays)
Restore      not possible: the mode is metadata, so no files are stored.
"
    );
}

#[test]
fn lines_fit_and_an_ordinary_contract_is_short() {
    for columns in [30, 50, 60, 80, 100, 200] {
        for line in at(&ordinary(), columns).lines() {
            // A path may be wider than a very narrow terminal.
            let fits = width::of(line) <= columns.min(113) || (columns == 30 && line.contains("/home/"));
            assert!(fits, "{columns}: {line}");
            assert_eq!(line, line.trim_end());
        }
    }
    assert!(at(&ordinary(), 80).lines().count() <= 32);
    assert!(at(&ordinary(), 200).lines().count() < at(&ordinary(), 80).lines().count());
    assert!(!contract(&ordinary(), 0).is_empty());
}
