//! A hermetic place to run the binary in: its own home, nothing of the caller's environment but `PATH`, output into
//! files (so that a process left behind cannot hold a pipe open), and a time limit on every run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use super::carried::{Carried, Kind};
use super::documents::{Changes, Restored, instances};
use super::invocation::Invocation;
use super::machine::{NOBODY, binary, copy_program, is_root, skip, tool, workplace};
use super::run::Run;
use super::tree::Tree;

/// A home of its own, with everything that a session needs.
pub(crate) struct Sandbox {
    /// What a test may compare as a whole: holds `home` and nothing of the test's own.
    world: TempDir,
    /// Captured output, reports, tools: never part of a comparison.
    scratch: TempDir,
    pub(super) binary: PathBuf,
    pub(super) unprivileged: bool,
    counter: AtomicU32,
    /// The machine that sessions' directories are reached on, when it is another one.
    pub(super) carried: Option<Carried>,
    /// Times of files count in whole seconds where they lie.
    whole_seconds: bool,
}

impl Sandbox {
    /// A new one for the user who runs the tests.
    pub(crate) fn new() -> Self {
        let sandbox = Self {
            world: TempDir::with_prefix_in("jr-", workplace()).unwrap(),
            scratch: TempDir::with_prefix_in("jr-scratch-", workplace()).unwrap(),
            binary: binary(),
            unprivileged: false,
            counter: AtomicU32::new(0),
            carried: None,
            whole_seconds: false,
        };
        fs::create_dir(sandbox.home()).unwrap();
        fs::create_dir(sandbox.sources()).unwrap();
        sandbox
    }

    /// One whose sessions work on directories that are reached in another way. `None`, and said why, when that cannot be had here.
    pub(crate) fn carried(kind: Kind) -> Option<Self> {
        let mut sandbox = Self::new();
        match Carried::new(kind, sandbox.world.path()) {
            Ok(carried) => {
                sandbox.carried = carried;
                sandbox.whole_seconds = kind == Kind::Busybox;
            }
            Err(why) => {
                skip(&format!("{kind:?}"), &why);
                return None;
            }
        }
        Some(sandbox)
    }

    /// A tree as exactly as it is recorded and put back where it lies.
    #[track_caller]
    pub(crate) fn tree(&self, path: &Path) -> Tree {
        let mut tree = Tree::read(path);
        if self.whole_seconds {
            tree.in_whole_seconds();
        }
        tree
    }

    /// The machine that it is carried to.
    pub(crate) fn machine(&self) -> &Carried {
        self.carried.as_ref().unwrap()
    }

    /// The same, to furnish it.
    pub(crate) fn machine_mut(&mut self) -> &mut Carried {
        self.carried.as_mut().unwrap()
    }

    /// How a command names a directory.
    pub(crate) fn target(&self, directory: &Path) -> String {
        self.target_of(directory).into_string().unwrap()
    }

    fn target_of(&self, directory: &Path) -> OsString {
        match &self.carried {
            Some(carried) => carried.address(directory).into(),
            None => directory.as_os_str().to_owned(),
        }
    }

    /// One whose commands run as nobody when the tests run as root; as the caller otherwise. `None` when that cannot
    /// be had here. Call [`Sandbox::give`] on what the test builds.
    pub(crate) fn unprivileged() -> Option<Self> {
        let mut sandbox = Self::new();
        if !is_root() {
            return Some(sandbox);
        }
        tool("setpriv")?;
        sandbox.unprivileged = true;
        for directory in [sandbox.world.path(), sandbox.scratch.path()] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        }
        // The build directory may lie where nobody may not go.
        let reaches = |program: &Path| {
            let mut command = Command::new("setpriv");
            command.args([
                "--reuid",
                "65534",
                "--regid",
                "65534",
                "--clear-groups",
                "test",
                "-x",
            ]);
            command.arg(program).status().is_ok_and(|status| status.success())
        };
        sandbox.give(&sandbox.home());
        if !reaches(&sandbox.binary) {
            let copy = sandbox.scratch.path().join("jackin");
            copy_program(&sandbox.binary, &copy);
            sandbox.binary = copy;
        }
        reaches(&sandbox.binary).then_some(sandbox)
    }

    /// Installs the program below a prefix as a package does, with a build beside it that can be copied to machines of this
    /// architecture, and runs that from now on.
    pub(crate) fn install_with(&mut self, build: &Path) {
        let prefix = self.scratch.path().join("prefix");
        let beside = prefix.join("lib/jackin-recovery");
        fs::create_dir_all(prefix.join("bin")).unwrap();
        fs::create_dir_all(&beside).unwrap();
        let program = prefix.join("bin/jackin");
        copy_program(&self.binary, &program);
        copy_program(
            build,
            &beside.join(format!("jackin-{}-linux", std::env::consts::ARCH)),
        );
        // The umask may allow others to write there; the program then ignores the build.
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).unwrap();
        self.binary = program;
    }

    /// Makes the sandbox's own user the owner of `top` and all below it.
    pub(crate) fn give(&self, top: &Path) {
        if !self.unprivileged {
            return;
        }
        for entry in walkdir::WalkDir::new(top) {
            let path = entry.unwrap().into_path();
            std::os::unix::fs::lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Everything a test may compare: the home lies in it.
    pub(crate) fn world(&self) -> &Path {
        self.world.path()
    }

    /// `$HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.world.path().join("home")
    }

    /// Where projects lie.
    pub(crate) fn sources(&self) -> PathBuf {
        self.home().join("src")
    }

    /// A project's directory, made when it is not there.
    pub(crate) fn project(&self, name: &str) -> PathBuf {
        let path = self.sources().join(name);
        fs::create_dir_all(&path).unwrap();
        self.give(&path);
        path
    }

    /// A place for the test's own files, writable by everyone, in no comparison.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        let directory = self.scratch.path().join("own");
        if !directory.exists() {
            fs::create_dir(&directory).unwrap();
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o1777)).unwrap();
        }
        directory.join(name)
    }

    /// The store's directory; it exists once something was recorded.
    pub(crate) fn store(&self) -> PathBuf {
        self.home().join(".jackin/data/recovery")
    }

    /// Writes a configuration file below `~/.config/jackin`.
    pub(crate) fn configure(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home().join(".config/jackin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.give(&self.home().join(".config"));
        path
    }

    /// An empty project that a workspace of the same name captures; `more` stands in its `[recovery]`.
    pub(crate) fn captured(&self, name: &str, more: &str) -> PathBuf {
        let project = self.project(name);
        let mount = format!("[[mounts]]\nsrc = \"{}\"\ndst = \"/w\"", project.display());
        self.configure(
            &format!("workspaces/{name}.toml"),
            &format!("{mount}\n\n[recovery]\nsnapshot = \"project\"\n{more}"),
        );
        project
    }

    /// A hook of an agent says `what` of an event.
    pub(crate) fn tell(&self, agent: &str, event: &str, what: &[u8]) -> Run {
        let file = self.scratch(&format!("event-{event}-{}", what.len()));
        fs::write(&file, what).unwrap();
        let script = format!("exec \"$@\" < '{}'", file.display());
        let hook = self.command(["hook", "run", agent, event]);
        let run = hook.through(&["sh", "-c", &script, "sh"]).run();
        // The agent would take it for its own.
        assert!(run.stdout.is_empty(), "{run}");
        run
    }

    /// A run of `jackin recovery ARGS…` that is yet to be started.
    pub(crate) fn command<I, S>(&self, args: I) -> Invocation<'_>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Invocation::new(
            self,
            args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
        )
    }

    /// Runs `jackin recovery ARGS…` to its end.
    pub(crate) fn jackin<I, S>(&self, args: I) -> Run
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.command(args).run()
    }

    /// A launch of this command on `target` that is yet to be started.
    pub(crate) fn launching(&self, target: impl AsRef<OsStr>, command: &[&str]) -> Invocation<'_> {
        let words = ["launch", "--snapshot", "project"].map(OsStr::new);
        let words = words.into_iter().chain([target.as_ref(), OsStr::new("--")]);
        self.command(words.chain(command.iter().map(OsStr::new)))
    }

    /// Runs `script` as a session on `directory` (and in it), insists that both went well, gives the instance.
    #[track_caller]
    pub(crate) fn launch(&self, directory: &Path, script: &str) -> String {
        self.launch_with(&[], directory, script)
    }

    /// The same with more flags.
    #[track_caller]
    pub(crate) fn launch_with(&self, flags: &[&str], directory: &Path, script: &str) -> String {
        let mut args: Vec<&OsStr> = ["launch", "--snapshot", "project"].map(OsStr::new).to_vec();
        args.extend(flags.iter().map(OsStr::new));
        let target = self.target_of(directory);
        args.push(&target);
        args.extend(["--", "sh", "-c", script].map(OsStr::new));
        self.command(args).inside(directory).run().ok();
        self.newest()
    }

    /// A session by `begin` and `end`, whose damage is done by the test itself: for names that no shell likes.
    #[track_caller]
    pub(crate) fn session(&self, directory: &Path, damage: impl FnOnce(&Path)) -> String {
        let id = self.begin(self.target(directory));
        damage(directory);
        self.jackin(["end", &id]).ok();
        id
    }

    /// Begins a session on `target` and gives the instance, which is all that is printed.
    #[track_caller]
    pub(crate) fn begin(&self, target: impl AsRef<OsStr>) -> String {
        let words = ["begin", "--snapshot", "project"].map(OsStr::new);
        let begun = self.jackin(words.into_iter().chain([target.as_ref()])).ok();
        let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
        assert!(
            id.starts_with("rc-") && !id.contains(char::is_whitespace),
            "`begin` prints the id\n{begun}"
        );
        id
    }

    /// The newest instance's id.
    #[track_caller]
    pub(crate) fn newest(&self) -> String {
        let run = self.jackin(["list", "--json"]).ok();
        let all = instances(&run);
        all.first()
            .unwrap_or_else(|| panic!("there is no instance\n{run}"))
            .id
            .clone()
    }

    /// `diff ID --json`.
    #[track_caller]
    pub(crate) fn diff(&self, id: &str, flags: &[&str]) -> Changes {
        let args = ["diff", id, "--json"].into_iter().chain(flags.iter().copied());
        Changes::of(&self.jackin(args).ok())
    }

    /// `restore ID --yes --json`, which must do all that was asked.
    #[track_caller]
    pub(crate) fn restore(&self, id: &str, more: &[&str]) -> Restored {
        let args = ["restore", id, "--yes", "--json"]
            .into_iter()
            .chain(more.iter().copied());
        self.changed(args.collect(), 0)
    }

    /// The same, where something must be left undone and named (exit code 6).
    #[track_caller]
    pub(crate) fn restore_in_part(&self, id: &str, more: &[&str]) -> Restored {
        let args = ["restore", id, "--yes", "--json"]
            .into_iter()
            .chain(more.iter().copied());
        self.changed(args.collect(), 6)
    }

    /// `undo ID --yes --json`.
    #[track_caller]
    pub(crate) fn undo(&self, id: &str) -> Restored {
        self.changed(vec!["undo", id, "--yes", "--json"], 0)
    }

    /// `restore ID --dry-run --json`.
    #[track_caller]
    pub(crate) fn plan(&self, id: &str, more: &[&str]) -> Restored {
        let args = ["restore", id, "--dry-run", "--json"]
            .into_iter()
            .chain(more.iter().copied());
        Restored::of(&self.jackin(args).code_in(&[0, 6]))
    }

    #[track_caller]
    fn changed(&self, args: Vec<&str>, code: i32) -> Restored {
        let restored = Restored::of(&self.jackin(args).code(code));
        self.no_litter();
        restored
    }

    /// Two new files for what a run says.
    pub(super) fn output_files(&self) -> [PathBuf; 2] {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        ["stdout", "stderr"].map(|name| self.scratch.path().join(format!("{name}-{number}")))
    }

    /// Insists that no staging directory is left inside any project, and nothing hidden beside one.
    #[track_caller]
    pub(crate) fn no_litter(&self) {
        for entry in walkdir::WalkDir::new(self.sources())
            .min_depth(1)
            .into_iter()
            .flatten()
        {
            let name = entry.file_name().as_bytes();
            let litter =
                name.starts_with(b".jackin-recovery-") || (entry.depth() == 1 && name.starts_with(b"."));
            if litter {
                // A late request of a connection that was cut leaves it empty and young.
                let inside: Vec<_> = fs::read_dir(entry.path())
                    .into_iter()
                    .flatten()
                    .flatten()
                    .collect();
                let age = entry
                    .metadata()
                    .map(|found| found.modified().map(|at| at.elapsed()));
                panic!(
                    "left behind: {}, changed {age:?} ago, with {inside:?}",
                    entry.path().display()
                );
            }
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Only root can remove what lies in a directory that a test closed.
        if !is_root() {
            open_up(self.world.path());
            open_up(self.scratch.path());
        }
        unmount_below(self.world.path());
        unmount_below(self.scratch.path());
        // A directory that stays takes room, often in memory, until the next boot, such as below a mount that outlived its test.
        for directory in [self.world.path(), self.scratch.path()] {
            let mut removed = fs::remove_dir_all(directory);
            for _ in 0..50 {
                match &removed {
                    // A shell that ends writes its history meanwhile.
                    Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
                        std::thread::sleep(Duration::from_millis(20));
                        removed = fs::remove_dir_all(directory);
                    }
                    _ => break,
                }
            }
            if let Err(error) = removed
                && !std::thread::panicking()
            {
                panic!("{} stays behind: {error}", directory.display());
            }
        }
    }
}

/// Unmounts what a test has mounted below a directory, the innermost first: its own value may be dropped later than the directory.
fn unmount_below(directory: &Path) {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    let mut below: Vec<&Path> = places
        .map(Path::new)
        .filter(|place| place.starts_with(directory))
        .collect();
    below.reverse();
    for place in below {
        let _ = Command::new("umount").arg("-l").arg(place).status();
    }
}

fn open_up(directory: &Path) {
    let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
