//! Every command's arguments, the two names, and bytes that are not text.

use crate::recovery::Until;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;

use super::super::args::{
    CalledAs, Check, Color, Mtimes, OnFailure, Shell, SnapshotMode, wanted_color, wants_json,
};
use super::super::commands::Verb;
use super::super::commands::diff::DiffForm;
use super::super::error::ErrorKind;
use super::super::parse;
use super::{ParseOutcome, understood, words, wrong};
use crate::terminal::{ColorMode, Verbosity};

#[test]
fn the_name_decides_where_the_verb_stands() {
    for (line, called_as) in [
        ("jackin recovery list", CalledAs::Jackin),
        ("/usr/bin/jackin recovery list", CalledAs::Jackin),
        ("other recovery list", CalledAs::Jackin),
        ("jackin-recovery list", CalledAs::JackinRecovery),
        ("../bin/jackin-recovery list", CalledAs::JackinRecovery),
    ] {
        let invocation = understood(line);
        assert_eq!(invocation.called_as, called_as, "{line}");
        assert!(matches!(invocation.verb, Verb::List(_)));
    }
    for (line, says) in [
        ("jackin list", "after `recovery`"),
        ("jackin-recovery list-all", "no command `list-all`"),
        ("jackin console", "only `recovery`"),
        ("jackin-recovery recovery list", "directly"),
        ("jackin recovery recovery", "no command `recovery`"),
        ("jackin --", "no command"),
        ("jackin -q recovery list", "'-q'"),
        ("jackin", "no command"),
        ("jackin recovery", "no command"),
        ("jackin recovery -q", "no command"),
        ("jackin-recovery", "no command"),
    ] {
        let error = wrong(line);
        assert_eq!(error.kind, ErrorKind::Usage, "{line}");
        assert!(error.message.contains(says), "{line}: {}", error.message);
        assert!(!error.hints.is_empty(), "{line}");
    }
    assert!(parse(Vec::new(), 80).is_err());
}

#[test]
fn launch_takes_its_scope_and_the_command_as_it_is() {
    let line = "jackin recovery launch shop --snapshot project --exclude target/ --exclude *.o --path a --path b \
                --allow-broad --on-failure run --report out.json -q -- make -j --json --help -- x";
    let Verb::Launch(args) = understood(line).verb else {
        panic!()
    };
    assert_eq!(args.scope.target.as_deref(), Some(OsStr::new("shop")));
    assert_eq!(args.scope.snapshot, Some(SnapshotMode::Project));
    assert_eq!(args.scope.exclude, ["target/", "*.o"]);
    assert_eq!(args.scope.path, ["a", "b"]);
    assert!(args.scope.allow_broad);
    assert_eq!(args.scope.on_failure, Some(OnFailure::Run));
    assert_eq!(args.report.as_deref(), Some(OsStr::new("out.json")));
    assert_eq!(args.command, ["make", "-j", "--json", "--help", "--", "x"]);

    let mut line = words("jackin recovery launch --");
    line.extend([OsString::from_vec(vec![0xff, b'-']), "".into()]);
    let Verb::Launch(args) = parse(line, 80).unwrap().verb else {
        panic!()
    };
    assert_eq!(
        args.command,
        [OsString::from_vec(vec![0xff, b'-']), OsString::new()]
    );
    assert_eq!(args.scope.target, None);

    for line in [
        "launch .",
        "launch . --",
        "launch . make",
        "launch . --json -- make",
        "launch a b -- make",
    ] {
        assert_eq!(
            wrong(&format!("jackin-recovery {line}")).kind,
            ErrorKind::Usage,
            "{line}"
        );
    }
}

#[test]
fn explain_begin_and_end() {
    let Verb::Explain(args) =
        understood("jackin recovery explain ./x --snapshot project-and-state --json").verb
    else {
        panic!()
    };
    assert!(args.json && args.scope.snapshot == Some(SnapshotMode::ProjectAndState));
    let Verb::Begin(args) = understood("jackin recovery begin --pid 4711 --on-failure block --json .").verb
    else {
        panic!()
    };
    assert_eq!(
        (args.pid, args.json, args.scope.on_failure),
        (Some(4711), true, Some(OnFailure::Block))
    );
    let Verb::End(args) = understood("jackin recovery end rc-1 --json").verb else {
        panic!()
    };
    assert_eq!((args.instance.as_deref(), args.json), (Some("rc-1"), true));
    for line in [
        "begin --pid 0",
        "begin --pid x",
        "explain a b",
        "explain --snapshot all",
        "begin --report x",
    ] {
        wrong(&format!("jackin recovery {line}"));
    }
}

#[test]
fn list_show_and_diff() {
    assert!(matches!(understood("jackin recovery list --json").verb, Verb::List(args) if args.json));
    assert!(
        matches!(understood("jackin recovery show @latest").verb, Verb::Show(args) if args.session.instance.as_deref() == Some("@latest"))
    );
    // Without a name the latest session here.
    assert!(
        matches!(understood("jackin recovery show --any").verb, Verb::Show(args) if args.session.instance.is_none() && args.session.any)
    );
    let Verb::Diff(args) = understood("jackin recovery diff").verb else {
        panic!()
    };
    assert_eq!(args.subject.instance, None);
    let Verb::Diff(args) = understood("jackin recovery diff shop").verb else {
        panic!()
    };
    assert_eq!(
        (args.form(), args.from.clone(), args.to.clone()),
        (DiffForm::NameStatus, None, None)
    );
    let line = "jackin recovery diff shop a b --patch --show-secrets --from cp1 --to closing --no-renames --exit-code \
                --check content";
    let Verb::Diff(args) = understood(line).verb else {
        panic!()
    };
    assert_eq!(args.subject.paths, ["a", "b"]);
    assert_eq!(args.form(), DiffForm::Patch);
    assert_eq!(
        (args.from.as_deref(), args.to),
        (Some("cp1"), Some(Until::Snapshot("closing".into())))
    );
    assert!(args.show_secrets && args.no_renames && args.exit_code && args.check == Some(Check::Content));
    let Verb::Diff(args) = understood("jackin recovery diff shop --stat -- -n --json").verb else {
        panic!()
    };
    assert_eq!((args.form(), args.json.is_json()), (DiffForm::Stat, false));
    assert_eq!(args.subject.sure_paths(), ["-n", "--json"]);
    // Values of settings are hidden in every form.
    for form in ["", "--name-status", "--stat", "--patch", "--json"] {
        let line = format!("jackin recovery diff x {form} --show-secrets");
        assert!(matches!(understood(&line).verb, Verb::Diff(args) if args.show_secrets));
    }
    for line in [
        "diff x --stat --patch",
        "diff x --stat --json",
        "diff x --check all",
        "show a b",
    ] {
        wrong(&format!("jackin recovery {line}"));
    }
}

#[test]
fn restore_undo_and_checkpoint() {
    let Verb::Restore(args) = understood("jackin recovery restore shop").verb else {
        panic!()
    };
    assert_eq!(args.mtimes, Mtimes::Now);
    assert!(!args.yes && !args.dry_run && args.subject.paths.is_empty() && args.to.is_none());
    let line = "jackin recovery restore shop a --yes --from sn-1 --overwrite-later-edits --delete-later-files \
                --mtimes exact --require-complete --json";
    let Verb::Restore(args) = understood(line).verb else {
        panic!()
    };
    assert!(
        args.yes
            && args.overwrite_later_edits
            && args.delete_later_files
            && args.require_complete
            && args.json.is_json()
    );
    assert_eq!((args.mtimes, args.from.as_deref()), (Mtimes::Exact, Some("sn-1")));
    let Verb::Undo(args) = understood("jackin recovery undo --receipt 12 --dry-run").verb else {
        panic!()
    };
    assert_eq!(
        (args.session.instance, args.receipt, args.dry_run),
        (None, Some(12), true)
    );
    let Verb::Checkpoint(args) = understood("jackin recovery checkpoint --name n --message m").verb else {
        panic!()
    };
    assert_eq!(
        (
            args.session.instance,
            args.name.as_deref(),
            args.message.as_deref()
        ),
        (None, Some("n"), Some("m"))
    );
    for line in [
        "restore x --yes --dry-run",
        "restore x --to d --overwrite-later-edits",
        "restore x --to d --delete-later-files",
        "restore x --mtimes old",
        "restore x --yess",
        "undo --receipt 0",
        "undo --yes --dry-run",
        "undo a b",
        "checkpoint a b",
    ] {
        wrong(&format!("jackin recovery {line}"));
    }
}

#[test]
fn the_store_and_the_rest() {
    assert!(
        matches!(understood("jackin recovery verify --read-data --json").verb, Verb::Verify(a) if a.read_data && a.json)
    );
    assert!(
        matches!(understood("jackin recovery log --verify --json").verb, Verb::Log(a) if a.verify && a.json.is_json())
    );
    assert!(
        matches!(understood("jackin recovery rebuild").verb, Verb::Rebuild(a) if !a.json && !a.accept_loss)
    );
    assert!(
        matches!(understood("jackin recovery prune --dry-run").verb, Verb::Prune(a) if a.dry_run && !a.yes)
    );
    assert!(
        matches!(understood("jackin recovery pin x y").verb, Verb::Pin(a) if a.session.instance.as_deref() == Some("x") && a.snapshot.as_deref() == Some("y"))
    );
    assert!(
        matches!(understood("jackin recovery unpin x").verb, Verb::Unpin(a) if a.pinned.snapshot.is_none())
    );
    for (line, wanted) in [
        ("log", None),
        ("log --anchor", Some("")),
        ("log --anchor 3:ab", Some("3:ab")),
    ] {
        let understood = understood(&format!("jackin recovery {line}")).verb;
        assert!(matches!(understood, Verb::Log(a) if a.anchor.as_deref() == wanted && a.instance.is_none()));
    }
    assert!(
        matches!(understood("jackin recovery completions zsh").verb, Verb::Completions(a) if a.shell == Some(Shell::Zsh))
    );
    assert!(matches!(understood("jackin recovery man").verb, Verb::Man(a) if a.verb.is_none()));
    assert!(
        matches!(understood("jackin recovery man undo").verb, Verb::Man(a) if a.verb.as_deref() == Some("undo"))
    );
    for line in ["completions", "completions csh", "man nonsense", "list a b"] {
        wrong(&format!("jackin recovery {line}"));
    }
}

#[test]
fn paths_keep_their_bytes_and_are_never_empty() {
    let odd = OsString::from_vec(b"a\xff\n".to_vec());
    for verb in ["diff x", "restore x", "explain"] {
        let mut line = words(&format!("jackin recovery {verb}"));
        line.push(odd.clone());
        let kept = match parse(line.clone(), 80).unwrap().verb {
            Verb::Diff(args) => args.subject.paths.first().cloned(),
            Verb::Restore(args) => args.subject.paths.first().cloned(),
            Verb::Explain(args) => args.scope.target,
            other => panic!("{other:?}"),
        };
        assert_eq!(kept.as_ref(), Some(&odd));
        *line.last_mut().unwrap() = OsString::new();
        assert!(parse(line, 80).is_err(), "{verb} takes an empty path");
    }
    let mut line = words("jackin recovery show");
    line.push(odd);
    assert!(parse(line, 80).is_err(), "an instance is text");
}

#[test]
fn flags_for_all_verbs_stand_before_or_behind_the_verb() {
    for line in [
        "jackin recovery -v --color never list",
        "jackin recovery list -v --color=never",
    ] {
        let global = understood(line).global;
        assert_eq!(
            (global.verbosity(), global.color),
            (Verbosity::Verbose, Color::Never)
        );
    }
    assert_eq!(
        understood("jackin recovery list").global.verbosity(),
        Verbosity::Normal
    );
    assert_eq!(
        understood("jackin-recovery list --quiet").global.verbosity(),
        Verbosity::Quiet
    );
    wrong("jackin recovery list -q -v");
    wrong("jackin recovery list --color sometimes");
}

#[test]
fn json_and_color_are_seen_even_when_the_rest_is_wrong() {
    assert!(wants_json(&words("jackin recovery nonsense --json")));
    assert!(wants_json(&words("jackin recovery diff --json-lines --nonsense")));
    assert!(!wants_json(&words("jackin recovery launch . -- make --json")));
    assert!(!wants_json(&words("--json recovery list")));
    let color = |line| wanted_color(&words(line));
    assert_eq!(color("jackin recovery x --color never"), ColorMode::Never);
    assert_eq!(
        color("jackin recovery x --color=always -- --color=never"),
        ColorMode::Always
    );
    assert_eq!(color("jackin recovery x --color"), ColorMode::Auto);
    assert_eq!(color("jackin recovery x"), ColorMode::Auto);
}

#[test]
fn only_an_argument_that_can_be_listed_is_lacking() {
    use crate::cli::args::{Lack, with_chosen};
    let lacks = |line: &str| match parse(words(line), 80) {
        Err(ParseOutcome::Wrong { lacks, .. }) => lacks,
        other => panic!("{line}: {other:?}"),
    };
    let line = "jackin recovery hook install --scope project";
    assert_eq!(lacks(line), Some(Lack::Agent));
    let whole = "jackin recovery hook install X --scope project";
    assert_eq!(with_chosen(&words(line), Lack::Agent, "X"), words(whole));
    for line in [
        "rename",
        "exec -- true",
        "export",
        "restore --nonsense",
        "show --json x y",
        "hook",
        "lst",
    ] {
        assert_eq!(lacks(&format!("jackin recovery {line}")), None, "{line}");
    }
}
