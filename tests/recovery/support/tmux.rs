//! A terminal that tests type into and look at: tmux, with a server of its own.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::termios::{LocalModes, tcgetattr};

use super::machine::{binary, skip, tool};
use super::sandbox::Sandbox;

/// How many there were.
static COUNT: AtomicU32 = AtomicU32::new(0);

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Tmux {
    program: PathBuf,
    socket: PathBuf,
}

impl Tmux {
    /// A terminal of this size in which a shell runs `script`, with `jackin` before everything else in its path.
    pub(crate) fn start(
        sandbox: &Sandbox,
        directory: &Path,
        (columns, lines): (u16, u16),
        script: &str,
        more: &[&str],
    ) -> Option<Self> {
        Self::start_from(
            binary().parent().unwrap(),
            sandbox,
            directory,
            (columns, lines),
            script,
            more,
        )
    }

    /// The same with `jackin` from another directory.
    pub(crate) fn start_from(
        programs: &Path,
        sandbox: &Sandbox,
        directory: &Path,
        (columns, lines): (u16, u16),
        script: &str,
        more: &[&str],
    ) -> Option<Self> {
        let Some(program) = tool("tmux") else {
            skip("the screen", "tmux is not installed");
            return None;
        };
        let tmux = Self {
            program,
            socket: sandbox.scratch(&format!("tmux-{}", COUNT.fetch_add(1, Ordering::Relaxed))),
        };
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("PATH={}:{path}", programs.display());
        let home = format!("HOME={}", sandbox.home().display());
        let mut command = Command::new(&tmux.program);
        command
            .arg("-S")
            .arg(&tmux.socket)
            .args(["-f", "/dev/null", "new-session", "-d", "-s", "test"]);
        command.args(["-x", &columns.to_string(), "-y", &lines.to_string()]);
        command.arg("-c").arg(directory);
        command.args([
            "env",
            "-i",
            &path,
            &home,
            "TERM=screen-256color",
            "LANG=C.UTF-8",
            "RUST_BACKTRACE=0",
        ]);
        command
            .args(more)
            .args(["bash", "--norc", "--noprofile", "-c", script]);
        let output = command
            .env("LANG", "C.UTF-8")
            .env_remove("TMUX")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(tmux)
    }

    fn run(&self, words: &[&str]) -> String {
        let output = Command::new(&self.program)
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .args(words)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Presses keys, as tmux calls them.
    pub(crate) fn press(&self, keys: &[&str]) -> &Self {
        let words: Vec<&str> = ["send-keys", "-t", "test"].iter().chain(keys).copied().collect();
        self.run(&words);
        self
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.run(&["capture-pane", "-p", "-t", "test"])
    }

    /// The same with the codes of its colors.
    pub(crate) fn painted(&self) -> String {
        self.run(&["capture-pane", "-p", "-e", "-t", "test"])
    }

    /// Appends to a file all that is written to the terminal from now on, what is overwritten or scrolls away too.
    pub(crate) fn record(&self, file: &Path) {
        self.run(&["pipe-pane", "-t", "test", &format!("cat >> '{}'", file.display())]);
    }

    /// Returns true if the cursor is shown.
    pub(crate) fn shows_cursor(&self) -> bool {
        self.run(&["display-message", "-p", "-t", "test", "#{cursor_flag}"])
            .trim()
            == "1"
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn sees(&self, wanted: &str) -> String {
        let seen = self.waits(|screen| screen.contains(wanted));
        seen.unwrap_or_else(|last| panic!("`{wanted}` does not come:\n{last}"))
    }

    /// Waits until this is on the screen and the last line is a question. What is typed before the question is thrown away.
    #[track_caller]
    pub(crate) fn asks(&self, wanted: &str) -> String {
        let is_question = |screen: &str| {
            let last = screen.trim_end().lines().last().unwrap_or_default();
            screen.contains(wanted) && last.ends_with(']')
        };
        let seen = self.waits(is_question);
        seen.unwrap_or_else(|last| panic!("`{wanted}` and a question do not come:\n{last}"))
    }

    /// Waits until this is on the screen and a program reads single keys. Before that the terminal prints what is typed, and acts itself on
    /// Ctrl-C.
    #[track_caller]
    pub(crate) fn lists(&self, wanted: &str) -> String {
        let name = self.run(&["display-message", "-p", "-t", "test", "#{pane_tty}"]);
        let terminal = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NOCTTY.bits().cast_signed())
            .open(name.trim())
            .unwrap();
        let reads_keys = || {
            let modes = tcgetattr(&terminal).unwrap().local_modes;
            !modes.contains(LocalModes::ICANON)
        };
        let seen = self.waits(|screen| screen.contains(wanted) && reads_keys());
        seen.unwrap_or_else(|last| panic!("`{wanted}` and a list do not come:\n{last}"))
    }

    /// Waits until this is on the screen no more.
    #[track_caller]
    pub(crate) fn misses(&self, unwanted: &str) -> String {
        let seen = self.waits(|screen| !screen.contains(unwanted));
        seen.unwrap_or_else(|last| panic!("`{unwanted}` stays:\n{last}"))
    }

    fn waits(&self, fits: impl Fn(&str) -> bool) -> Result<String, String> {
        let (begun, mut pause) = (Instant::now(), Duration::from_millis(10));
        loop {
            let screen = self.screen();
            if fits(&screen) {
                return Ok(screen);
            }
            if begun.elapsed() > PATIENCE {
                return Err(screen);
            }
            sleep(pause);
            // Each look is a process.
            pause = Duration::from_millis(80).min(pause * 2);
        }
    }

    pub(crate) fn resize(&self, columns: u16, lines: u16) {
        self.run(&[
            "resize-window",
            "-t",
            "test",
            "-x",
            &columns.to_string(),
            "-y",
            &lines.to_string(),
        ]);
    }

    /// The window is closed.
    pub(crate) fn close(&self) {
        self.run(&["kill-server"]);
    }

    /// Waits until there is no second screen, no mouse reporting and no hidden cursor.
    #[track_caller]
    pub(crate) fn is_plain(&self) {
        let format = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}";
        let flags = || self.run(&["display-message", "-p", "-t", "test", format]);
        let seen = self.waits(|_| flags().trim() == "0 0 1");
        seen.unwrap_or_else(|last| panic!("it does not get plain: {}\n{last}", flags()));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.close();
    }
}
