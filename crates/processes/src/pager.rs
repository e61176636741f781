//! The operator's pager: started when there is more to show than the screen holds, fed through a pipe, and waited for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::search::{absolute_path, can_run, find};
use super::signals::Patience;

/// Variables that git sets if the operator has not: leave short text on the screen, keep colors, leave the screen as it was.
const DEFAULTS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// Size after which the pager certainly reads, because a pipe holds less (pipe(7): 64 KiB).
const KEPT: usize = 1 << 17;
/// Interval at which it is checked whether the pager has ended.
const NAP: Duration = Duration::from_millis(15);
/// Number of [`NAP`]s that a pager gets to end after SIGTERM.
const TO_END: u32 = 40;

/// Environment variables by their names.
type Variables = BTreeMap<OsString, OsString>;

/// A writer that shows what it gets in the operator's pager once that is more than the screen holds. What is shorter, and
/// what no pager would take, is written through. Dropped, it waits until the pager has ended.
pub struct Pager {
    line: OsString,
    environment: Vec<(OsString, OsString)>,
    /// Size of the screen: lines, and columns of each.
    screen: (usize, usize),
    patience: Patience,
    instead: Box<dyn Write + Send>,
    state: State,
    /// Text written so far, until the pager certainly reads it.
    kept: Vec<u8>,
    /// Modes of the terminal before the pager started.
    termios: Option<Termios>,
}

enum State {
    /// The text still fits on the screen.
    Waiting,
    Running(Child, ChildStdin),
    /// The pager could not be started.
    Without,
    /// The pager has ended.
    Gone,
}

/// Returns the command line of the operator's pager: the variable `own`, else `PAGER`, else `less`. None when it is empty or `cat`,
/// or when its program is not there. Only `variables` are asked, never a file.
#[must_use]
pub fn pager_line(own: &str, variables: &Variables) -> Option<OsString> {
    let asked = [own, "PAGER"]
        .into_iter()
        .find_map(|name| variables.get(OsStr::new(name)).cloned());
    let line = asked.unwrap_or_else(|| "less".into());
    let mut words = line.as_bytes().split(u8::is_ascii_whitespace);
    let program = words.find(|word| !word.is_empty())?;
    // With an assignment or an expansion in front only the shell knows which program it is.
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    let is_known = !program.iter().all(plain) || is_there(OsStr::from_bytes(program), variables);
    (program != b"cat" && is_known).then_some(line)
}

fn is_there(program: &OsStr, variables: &Variables) -> bool {
    if program.as_bytes().contains(&b'/') {
        return Path::new(program).is_absolute() && can_run(Path::new(program));
    }
    find(program, &search_path(variables), &[]).is_some()
}

fn search_path(variables: &Variables) -> OsString {
    absolute_path(variables.get(OsStr::new("PATH")).map(OsString::as_os_str))
}

impl Pager {
    /// Will run `line` by the shell when more is written than a screen of so many lines and columns holds. What it does not
    /// take goes to `instead`.
    #[must_use]
    pub fn new(
        line: OsString,
        variables: &Variables,
        screen: (usize, usize),
        patience: Patience,
        instead: Box<dyn Write + Send>,
    ) -> Self {
        let mut environment = vec![(OsString::from("PATH"), search_path(variables))];
        let unset = |name: &&(&str, &str)| !variables.contains_key(OsStr::new(name.0));
        let defaults = DEFAULTS.iter().filter(unset);
        environment.extend(defaults.map(|(name, value)| (name.into(), value.into())));
        Self {
            line,
            environment,
            screen,
            patience,
            instead,
            state: State::Waiting,
            kept: Vec::new(),
            termios: None,
        }
    }

    /// Returns true if the kept text takes more lines than the screen has. Color codes count as columns: an error on the safe
    /// side.
    fn is_long(&self) -> bool {
        let (lines, columns) = self.screen;
        let taken = self.kept.split(|byte| *byte == b'\n');
        let rows = taken.map(|line| line.len().saturating_sub(1) / columns.max(1) + 1);
        rows.sum::<usize>() > lines
    }

    fn start(&mut self) {
        self.termios = tcgetattr(io::stdin()).ok();
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(replacing_shell(&self.line))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped());
        let started = command.spawn().ok();
        self.state = match started.and_then(|mut child| Some((child.stdin.take()?, child))) {
            Some((input, child)) => {
                self.patience.ask();
                State::Running(child, input)
            }
            None => State::Without,
        };
    }

    /// Writes `bytes` to the pager, or to the writer that replaces it.
    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let State::Running(_, input) = &mut self.state {
            match input.write_all(bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe && !self.kept.is_empty() => {
                    // It has left. When it never came, nobody has seen what was written to it.
                    let never_ran = self.leave();
                    if never_ran {
                        return self.fall_back();
                    }
                    return Err(error);
                }
                other => return other,
            }
        }
        if matches!(self.state, State::Gone) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.instead.write_all(bytes)
    }

    /// Writes the kept text to the writer that replaces the pager.
    fn fall_back(&mut self) -> io::Result<()> {
        self.state = State::Without;
        let kept = std::mem::take(&mut self.kept);
        self.instead.write_all(&kept)?;
        self.instead.flush()
    }

    /// Waits until the pager has ended; returns true if it failed or could not be run. SIGTERM and SIGHUP end it.
    fn leave(&mut self) -> bool {
        let State::Running(mut child, input) = std::mem::replace(&mut self.state, State::Gone) else {
            return false;
        };
        drop(input);
        let mut naps = 0;
        loop {
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    if naps > 0 {
                        self.put_back();
                    }
                    return naps == 0 && status.code().is_some_and(|code| code != 0);
                }
                Err(_) => return false,
            }
            if self.patience.must_end() {
                // How that goes is its own business.
                let _ = match naps < TO_END {
                    true => terminate(&child),
                    false => child.kill(),
                };
                naps += 1;
            }
            std::thread::sleep(NAP);
        }
    }

    /// Gives the terminal the modes again that it had before the pager, which may have ended too fast for that.
    fn put_back(&self) {
        if let Some(termios) = &self.termios {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, termios);
        }
    }
}

/// Returns a line that leaves no shell beside the pager, if it is one command: a signal to the shell would not reach the pager.
fn replacing_shell(line: &OsStr) -> OsString {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" /._-+:,=%@^".contains(byte);
    let has_assignment = line
        .as_bytes()
        .split(|byte| *byte == b' ')
        .next()
        .is_some_and(|word| word.contains(&b'='));
    match line.as_bytes().iter().all(plain) && !has_assignment {
        true => [OsStr::new("exec "), line].into_iter().collect(),
        false => line.to_owned(),
    }
}

fn terminate(child: &Child) -> io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    match pid {
        Some(pid) => Ok(kill_process(pid, Signal::TERM)?),
        None => Ok(()),
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.state, State::Waiting) {
            self.kept.extend_from_slice(bytes);
            if self.is_long() {
                self.start();
                let kept = self.kept.clone();
                self.pass(&kept)?;
            }
            return Ok(bytes.len());
        }
        if self.kept.len() > KEPT {
            self.kept = Vec::new();
        } else if !self.kept.is_empty() {
            self.kept.extend_from_slice(bytes);
        }
        self.pass(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Waiting | State::Gone => Ok(()),
            State::Running(_, input) => input.flush(),
            State::Without => self.instead.flush(),
        }
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // A terminal that takes no more has no reader who could be told.
        if matches!(self.state, State::Waiting) || (self.leave() && !self.kept.is_empty()) {
            let _ = self.fall_back();
        }
    }
}
