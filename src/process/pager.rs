//! The operator's pager: started when the first result comes, fed through a pipe, and waited for.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::environment::Environment;

/// What git sets when the operator has not: leave short text on the screen, keep colours, leave the screen as it was.
const DEFAULTS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// A writer that shows what it gets in the operator's pager, and passes it on where that cannot be started. Dropped, it
/// waits until the pager has ended.
pub struct Pager {
    line: OsString,
    environment: Vec<(OsString, OsString)>,
    instead: Box<dyn Write + Send>,
    state: State,
}

enum State {
    /// Nothing was written yet.
    Waiting,
    Running(Child, ChildStdin),
    /// It could not be started.
    Without,
}

/// The command line of the operator's pager: `JACKIN_RECOVERY_PAGER`, else `PAGER`, else `less`. None when it is empty or `cat`,
/// or when its program is not there. Only the environment is asked, never a file.
#[must_use]
pub fn pager_line(environment: &Environment) -> Option<OsString> {
    let asked = ["JACKIN_RECOVERY_PAGER", "PAGER"]
        .into_iter()
        .find_map(|name| environment.variables.get(OsStr::new(name)).cloned());
    let line = asked.unwrap_or_else(|| "less".into());
    let words = line.as_bytes().split(u8::is_ascii_whitespace);
    let program = words.into_iter().find(|word| !word.is_empty())?;
    // With an assignment or an expansion in front only the shell knows which program it is.
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    let is_known = !program.iter().all(plain) || is_there(OsStr::from_bytes(program), environment);
    (program != b"cat" && is_known).then_some(line)
}

fn is_there(program: &OsStr, environment: &Environment) -> bool {
    if program.as_bytes().contains(&b'/') {
        return environment.absolute(Path::new(program)).is_file();
    }
    let path = clean_path(environment);
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// `PATH` without what is relative: the current directory may be a mount, and nothing in it is ever started.
fn clean_path(environment: &Environment) -> OsString {
    let path = environment.get("PATH").unwrap_or(OsStr::new("/usr/bin:/bin"));
    let absolute = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    std::env::join_paths(absolute).unwrap_or_default()
}

impl Pager {
    /// Will run `line` by the shell when something is written. What it cannot take goes to `instead`.
    #[must_use]
    pub fn new(line: OsString, environment: &Environment, instead: Box<dyn Write + Send>) -> Self {
        let mut variables = vec![(OsString::from("PATH"), clean_path(environment))];
        let unset = |name: &&(&str, &str)| !environment.variables.contains_key(OsStr::new(name.0));
        let defaults = DEFAULTS.iter().filter(unset);
        variables.extend(defaults.map(|(name, value)| (name.into(), value.into())));
        Self {
            line,
            environment: variables,
            instead,
            state: State::Waiting,
        }
    }

    fn start(&self) -> Option<(Child, ChildStdin)> {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(&self.line)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let input = child.stdin.take()?;
        Some((child, input))
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.state, State::Waiting) {
            self.state = match self.start() {
                Some((child, input)) => State::Running(child, input),
                None => State::Without,
            };
        }
        match &mut self.state {
            State::Running(_, input) => input.write(bytes),
            State::Waiting | State::Without => self.instead.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Running(_, input) => input.flush(),
            State::Waiting | State::Without => self.instead.flush(),
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        if let State::Running(mut child, input) = std::mem::replace(&mut self.state, State::Without) {
            drop(input);
            // How it ended is its own business.
            let _ = child.wait();
        }
    }
}
