//! The terminal while the screen is drawn on it, and as it was when it is not.

use std::ffi::OsStr;
use std::io::{self, Stdout, stdin, stdout};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, Once, PoisonError, TryLockError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Size;
use rustix::event::PollFlags;

use super::hang_up::is_hung_up;

/// True while jackin has the terminal. It belongs to the process, as the panic hook does that reads it. Locked while it draws, because a panic of another thread restores the terminal meanwhile.
static TAKEN: Mutex<bool> = Mutex::new(false);

/// Time limit for the lock: a thread that panicked while drawing holds the lock itself, and never releases it.
const PATIENCE: Duration = Duration::from_millis(200);

/// The screen. When it goes, whatever the reason, the terminal is as it was.
pub struct Tty {
    screen: ratatui::Terminal<CrosstermBackend<Stdout>>,
    /// Size of the terminal when the screen was last drawn; `None` before that.
    drawn: Option<Size>,
}

impl Tty {
    /// Takes the terminal.
    ///
    /// # Errors
    /// When there is none, or it cannot be set.
    pub fn enter() -> io::Result<Self> {
        static HOOKED: Once = Once::new();
        // What a panic says would be drawn over, and its lines would have no carriage returns.
        HOOKED.call_once(|| {
            let told = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                told(panic);
            }));
        });
        let tty = Self {
            screen: ratatui::Terminal::new(CrosstermBackend::new(stdout()))?,
            drawn: None,
        };
        take()?;
        Ok(tty)
    }

    /// Draws the next picture.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if *taken {
            self.drawn = Some(self.screen.draw(draw)?.area.as_size());
        }
        Ok(())
    }

    /// Returns true if the terminal has another size than when the screen was last drawn. The event of a resize alone does not suffice:
    /// crossterm loses it when a key is pressed at the same moment.
    #[must_use]
    pub fn is_resized(&self) -> bool {
        let now = self.screen.size().ok();
        self.drawn.is_some() && now.is_some() && self.drawn != now
    }

    /// Returns true if the terminal is gone: its window was closed, or the connection ended.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        is_hung_up(stdin(), PollFlags::IN)
    }

    /// Asks the terminal to put a text into the clipboard (OSC 52). Terminals that do not know this ignore it.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn copy(&self, text: &OsStr) -> io::Result<()> {
        let encoded = STANDARD.encode(text.as_bytes());
        execute!(stdout(), Print(format!("\u{1b}]52;c;{encoded}\u{7}")))
    }

    /// Gives the terminal back while `work` goes on.
    ///
    /// # Errors
    /// When it cannot be taken again.
    pub fn without<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let done = work();
        take()?;
        // It has nothing of what was drawn before.
        self.screen = ratatui::Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(done)
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = true;
    enable_raw_mode()?;
    execute!(
        stdout(),
        EnterAlternateScreen,
        Clear(ClearType::All),
        EnableMouseCapture,
        // Pasted text must not be taken for keys.
        EnableBracketedPaste
    )
}

/// Restores the terminal. Errors are ignored: there is no terminal left to report them on.
fn give_back() {
    let mut waited = Duration::ZERO;
    let taken = loop {
        match TAKEN.try_lock() {
            Ok(taken) => break Some(taken),
            Err(TryLockError::Poisoned(taken)) => break Some(taken.into_inner()),
            Err(TryLockError::WouldBlock) if waited >= PATIENCE => break None,
            Err(TryLockError::WouldBlock) => {
                let moment = Duration::from_millis(5);
                std::thread::sleep(moment);
                waited += moment;
            }
        }
    };
    if taken.is_some_and(|mut taken| !std::mem::replace(&mut *taken, false)) {
        return;
    }
    let _ = execute!(
        stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        Show,
        LeaveAlternateScreen
    );
    let _ = disable_raw_mode();
}
