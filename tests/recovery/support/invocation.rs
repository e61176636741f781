//! One run of the binary, from its words to its end.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::machine::{NOBODY, by_path};
use super::run::Run;
use super::sandbox::Sandbox;
use super::schema;

/// No single run may take longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// A run that is yet to be started.
pub(crate) struct Invocation<'a> {
    sandbox: &'a Sandbox,
    args: Vec<OsString>,
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
    through: Vec<OsString>,
    by_root: bool,
    apart: bool,
}

impl<'a> Invocation<'a> {
    /// `jackin recovery ARGS…` in the projects' directory.
    pub(super) fn new(sandbox: &'a Sandbox, args: Vec<OsString>) -> Self {
        let directory = sandbox.sources();
        Self {
            sandbox,
            args,
            directory,
            environment: Vec::new(),
            through: Vec::new(),
            by_root: false,
            apart: false,
        }
    }

    /// As the user who runs the tests, also where the sandbox's own user is another one.
    pub(crate) fn by_root(mut self) -> Self {
        self.by_root = true;
        self
    }

    /// As root, called by the sandbox's own user with `sudo`, which keeps HOME.
    pub(crate) fn by_sudo(self) -> Self {
        let number = NOBODY.to_string();
        self.by_root().with("SUDO_UID", &number).with("SUDO_GID", &number)
    }

    /// From a process that descends from none of the test's: in a session of which the test is the agent, as its operator.
    pub(crate) fn by_the_operator(self) -> Self {
        const ORPHAN: &str = r#"dir=$(mktemp -d) && mkfifo "$dir/go" || exit 125
            sh -c '(dir=$1; shift; read -r _ <"$dir/go"; "$@" >"$dir/out" 2>"$dir/err"; echo $? >"$dir/code") &' sh "$dir" "$@"
            echo >"$dir/go"
            until [ -s "$dir/code" ]; do sleep 0.02; done
            cat "$dir/out"; cat "$dir/err" >&2; code=$(cat "$dir/code"); rm -r "$dir"; exit "$code""#;
        self.through(&["sh", "-c", ORPHAN, "sh"])
    }

    /// In a process group of its own, whose number is that of its process: all that it starts can be killed at once.
    pub(crate) fn apart(mut self) -> Self {
        self.apart = true;
        self
    }

    /// In this directory instead of the projects' one.
    pub(crate) fn inside(mut self, directory: &Path) -> Self {
        directory.clone_into(&mut self.directory);
        self
    }

    /// With this environment variable.
    pub(crate) fn with(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((key.into(), value.as_ref().to_owned()));
        self
    }

    /// Started by this program (`strace`, `sh -c`), which gets the binary and its arguments at the end.
    pub(crate) fn through<S: AsRef<OsStr>>(mut self, program: &[S]) -> Self {
        self.through
            .extend(program.iter().map(|part| part.as_ref().to_owned()));
        self
    }

    /// Starts it without waiting.
    pub(crate) fn start(self) -> Started {
        let sandbox = self.sandbox;
        let mut words: Vec<OsString> = Vec::new();
        if sandbox.unprivileged && !self.by_root {
            words.push(by_path("setpriv").into());
            words.extend(["--reuid", "65534", "--regid", "65534", "--clear-groups"].map(Into::into));
        }
        words.extend(self.through.iter().cloned());
        words.push(sandbox.binary.clone().into());
        words.push("recovery".into());
        let shown = self
            .args
            .iter()
            .map(|arg| format!("{arg:?}"))
            .collect::<Vec<_>>()
            .join(" ");
        let document = schema::printed_by(&self.args).filter(|_| self.through.is_empty());
        words.extend(self.args);

        let [stdout, stderr] = sandbox.output_files();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", sandbox.home())
            .envs(
                sandbox
                    .carried
                    .iter()
                    .flat_map(|carried| carried.variables.clone()),
            )
            .envs(self.environment)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap());
        if self.apart {
            command.process_group(0);
        }
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Started {
            child,
            shown: format!("jackin recovery {shown}"),
            document,
            stdout,
            stderr,
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Run {
        self.start().finish()
    }
}

/// A run under way.
pub(crate) struct Started {
    /// The process.
    pub(crate) child: Child,
    shown: String,
    document: Option<&'static str>,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Started {
    /// The file that its standard output goes to.
    pub(crate) fn stdout_file(&self) -> &Path {
        &self.stdout
    }

    /// Returns what it has written to standard error until now.
    pub(crate) fn errors(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stderr).unwrap()).into_owned()
    }

    /// Waits until it ends, at most so long, and sleeps meanwhile: most runs are over in less time than a sensible nap takes.
    fn is_over_within(&mut self, patience: Duration) -> bool {
        // The number of one that was waited for may be another's.
        if self.child.try_wait().unwrap().is_some() {
            return true;
        }
        self.ends_within(patience)
    }

    #[cfg(target_os = "linux")]
    fn ends_within(&self, patience: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let process = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).unwrap();
        let begun = Instant::now();
        loop {
            let left = patience.saturating_sub(begun.elapsed());
            let mut ends = [PollFd::new(&process, PollFlags::IN)];
            match poll(&mut ends, Some(&left.try_into().unwrap())) {
                Ok(count) => return count > 0,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("{}: {error}", self.shown),
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn ends_within(&mut self, patience: Duration) -> bool {
        let begun = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if begun.elapsed() > patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Waits for the end, but not for ever.
    pub(crate) fn finish(mut self) -> Run {
        let is_over = self.is_over_within(PATIENCE);
        if !is_over {
            self.child.kill().unwrap();
        }
        let status = self.child.wait().unwrap();
        let run = Run {
            command: self.shown,
            status: is_over.then_some(status),
            stdout: fs::read(self.stdout).unwrap(),
            stderr: fs::read(self.stderr).unwrap(),
        };
        if let Some(document) = self.document {
            schema::check_run(document, &run);
        }
        run
    }
}
