//! The command: how it ends, what it inherits, what it leaves behind.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{Orphan, line_of, lines, own_process};
use crate::{Ended, Exit, Interrupts, Invocation, LaunchError, Life, life, reference, start, system};

fn invocation<'a>(program: &'a OsStr, arguments: &'a [OsString], directory: &'a Path) -> Invocation<'a> {
    Invocation {
        program,
        arguments,
        environment: &[],
        directory,
    }
}

fn words(arguments: &[&str]) -> Vec<OsString> {
    arguments.iter().map(OsString::from).collect()
}

fn shell(script: &str, interrupts: &Interrupts) -> Ended {
    let arguments = words(&["-c", script]);
    start(
        &invocation(OsStr::new("sh"), &arguments, Path::new("/")),
        interrupts,
    )
    .unwrap()
    .wait()
    .unwrap()
}

fn refused(program: &OsStr, arguments: &[OsString], directory: &Path) -> LaunchError {
    start(
        &invocation(program, arguments, directory),
        &Interrupts::install().unwrap(),
    )
    .err()
    .unwrap()
}

#[test]
fn the_status_is_the_command_s() {
    own_process!(the_status_is_the_command_s);
    let interrupts = Interrupts::install().unwrap();
    assert_eq!(
        shell("exit 0", &interrupts),
        Ended {
            exit: Exit::Code(0),
            survivors: vec![]
        }
    );
    assert_eq!(shell("exit 7", &interrupts).exit, Exit::Code(7));
    assert_eq!(shell("kill -KILL $$", &interrupts).exit, Exit::Signal(9));
    // No handler of ours is left in it.
    assert_eq!(shell("kill -INT $$; exit 1", &interrupts).exit.status(), 130);
    assert_eq!(shell("kill -TERM $$; exit 1", &interrupts).exit.status(), 143);
    assert_eq!(shell("kill -PIPE $$; exit 1", &interrupts).exit.status(), 141);
}

#[test]
fn what_cannot_run_says_why() {
    own_process!(what_cannot_run_says_why);
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode: u32| {
        let path = scratch.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.into_os_string()
    };
    let at = scratch.path();
    for missing in ["no-such-command-here", "./missing", "/missing/at/all", ""] {
        let error = refused(OsStr::new(missing), &[], at);
        assert!(matches!(error, LaunchError::NotFound { .. }), "{error:?}");
        assert_eq!(error.status(), 127);
    }
    let cases = [
        (file("plain", "echo", 0o644), "no permission"),
        (file("garbage", "\u{1}\u{2}\u{3}", 0o755), "not a program"),
        (
            file("script", "#!/missing/interpreter\n", 0o755),
            "no interpreter",
        ),
        (at.as_os_str().to_owned(), "a directory"),
        (OsString::from("./plain/below"), "below a file"),
    ];
    for (program, what) in cases {
        let error = refused(&program, &[], at);
        assert!(
            matches!(error, LaunchError::NotExecutable { .. }),
            "{what}: {error:?}"
        );
        assert_eq!(error.status(), 126);
    }
    let error = refused(OsStr::new("true"), &[], &at.join("gone"));
    assert!(matches!(error, LaunchError::Directory { .. }), "{error:?}");
    assert_eq!(error.status(), 125);
    let error = refused(OsStr::new("true"), &words(&["a\0b"]), at);
    assert_eq!(error.status(), 125, "{error:?}");
    // Its name is the operator's own bytes, but not for the terminal to act on.
    let error = refused(OsStr::from_bytes(b"\x1b[2J\xff"), &[], at);
    assert_eq!(error.to_string(), r#"command "\u{1b}[2J\xFF" not found"#);
}

#[test]
fn a_program_beside_its_directory_is_found() {
    own_process!(a_program_beside_its_directory_is_found);
    let scratch = tempfile::tempdir().unwrap();
    symlink("/bin/sh", scratch.path().join("mine")).unwrap();
    let arguments = words(&["-c", "test \"$ADDED\" = 'a b' && pwd -P > here"]);
    let environment = [(OsString::from("ADDED"), OsString::from("a b"))];
    let invocation = Invocation {
        program: OsStr::new("./mine"),
        arguments: &arguments,
        environment: &environment,
        directory: scratch.path(),
    };
    let interrupts = Interrupts::install().unwrap();
    assert_eq!(
        start(&invocation, &interrupts).unwrap().wait().unwrap().exit,
        Exit::Code(0)
    );
    let here = fs::canonicalize(scratch.path()).unwrap();
    assert_eq!(line_of(&scratch.path().join("here")), here.to_str().unwrap());
}

#[test]
fn the_command_is_in_our_group_and_session() {
    own_process!(the_command_is_in_our_group_and_session);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("stat");
    shell(
        &format!("cat /proc/$$/stat > '{}'", file.display()),
        &Interrupts::install().unwrap(),
    );
    // Parent, group, session and terminal stand behind the state.
    let of = |stat: &str| {
        stat.split(' ')
            .skip(4)
            .take(3)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    assert_eq!(
        of(&line_of(&file)),
        of(own
            .rsplit_once(')')
            .map(|(_, rest)| format!("1 (x){rest}"))
            .unwrap()
            .as_str())
    );
}

#[test]
fn no_file_of_ours_is_open_in_the_command() {
    own_process!(no_file_of_ours_is_open_in_the_command);
    let scratch = tempfile::tempdir().unwrap();
    let lock = File::create(scratch.path().join("the-lock")).unwrap();
    lock.lock().unwrap();
    let list = scratch.path().join("list");
    let ended = shell(
        &format!("exec ls -l /proc/self/fd > '{}'", list.display()),
        &Interrupts::install().unwrap(),
    );
    assert_eq!(ended.exit, Exit::Code(0));
    let list = lines(&list).join("\n");
    assert!(list.contains(" 2 -> ") && !list.contains("the-lock"), "{list}");
    // What whoever started us passed on is passed on, nothing else.
    let inherited = fs::read_dir("/proc/self/fdinfo").unwrap().filter_map(|entry| {
        let info = fs::read_to_string(entry.ok()?.path()).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        (u32::from_str_radix(flags.trim(), 8).ok()? & 0o2_000_000 == 0).then_some(())
    });
    // Without the one that lists.
    let here = list
        .lines()
        .filter(|line| line.contains(" -> ") && !line.contains(" -> /proc/"))
        .count();
    assert_eq!(here, inherited.count(), "{list}");
}

#[test]
fn the_command_can_be_recorded_while_it_runs() {
    own_process!(the_command_can_be_recorded_while_it_runs);
    let interrupts = Interrupts::install().unwrap();
    let arguments = words(&["0.2"]);
    let running = start(
        &invocation(OsStr::new("sleep"), &arguments, Path::new("/")),
        &interrupts,
    )
    .unwrap();
    let process = running.process().unwrap().clone();
    assert_eq!(reference(process.pid), Some(process.clone()));
    assert_eq!(life(&process), Life::Alive);
    assert_eq!(running.wait().unwrap().exit, Exit::Code(0));
    assert_eq!(life(&process), Life::Dead);
}

#[test]
fn a_daemon_without_environment_is_a_survivor() {
    own_process!(a_daemon_without_environment_is_a_survivor);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let daemon = format!("echo $$ > \"{}\"; exec sleep 60", file.display());
    let script = format!(
        "(setsid env -i sh -c '{daemon}' &); for i in $(seq 500); do test -s '{}' && break; sleep 0.02; done",
        file.display()
    );
    let ended = shell(&script, &Interrupts::install().unwrap());
    let daemon = Orphan(line_of(&file).parse().unwrap());
    match system::adopt_orphans() {
        true => assert_eq!(ended.survivors, [reference(daemon.0).unwrap()]),
        // Without adoption it descends from no process of this one.
        false => assert_eq!(ended.survivors, []),
    }
}

#[test]
fn helpers_that_end_right_behind_the_command_are_no_survivors() {
    own_process!(helpers_that_end_right_behind_the_command_are_no_survivors);
    let interrupts = Interrupts::install().unwrap();
    // On a busy machine a helper may live longer than it is waited for.
    let none_survives = (0..20).any(|_| {
        let ended = shell("sleep 0.05 & exit 4", &interrupts);
        assert_eq!(ended.exit, Exit::Code(4));
        ended.survivors.is_empty()
    });
    assert!(none_survives);
}

#[test]
fn orphans_that_end_meanwhile_are_collected() {
    own_process!(orphans_that_end_meanwhile_are_collected);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let script = format!(
        "(sleep 0.05 & echo $! > '{0}'); for i in $(seq 100); do sleep 0.05; test -e /proc/$(cat '{0}') || exit 3;
        done",
        file.display()
    );
    assert_eq!(
        shell(&script, &Interrupts::install().unwrap()).exit,
        Exit::Code(3)
    );
}
