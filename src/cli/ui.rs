//! `ui`: the timeline on a screen. What is shown is read, and what is restored is planned and carried out, by the code of the commands, on a
//! thread of its own (`work`), so that a key is never waited for. The screen knows words alone (`data`): where one is in it (`app`),
//! what a key does (`keys`), and how it looks (`draw`).

mod app;
mod data;
mod draw;
mod hints;
mod jobs;
mod keys;
mod mouse;
mod paint;
mod preview;
mod scroll;
mod settings;
mod timeline;
mod tree;
mod views;
mod work;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event};
use ratatui::style::Color;

use self::app::App;
use self::data::{Answer, Ask};
pub(in crate::cli) use self::settings::Settings;
use self::work::{Wishes, Worker};
use super::context::Context;
use crate::display::shell;
use crate::process::{self, Exit};
use crate::terminal::Tty;

/// Time without events after which signals and the terminal are checked.
const LOOK: Duration = Duration::from_millis(100);

/// Error message for a worker thread that is gone.
const BROKEN: &str = "the worker thread stopped";

/// Something happened: an answer came, or the operator did something.
enum News {
    Told(u64, Answer),
    Input(Event),
}

/// Draws the screen until the operator has seen enough; `is_elsewhere` says that no session covers the current directory. Gives what became of
/// a restore that they left while it was under way, and whether it failed.
///
/// # Errors
/// When the terminal cannot be drawn on or read from.
pub(in crate::cli) fn run(
    context: &Context<'_>,
    (instance, is_elsewhere): (Option<String>, bool),
    settings: Settings,
) -> io::Result<(Option<String>, bool)> {
    // Before anything else: what panics gives it back.
    let tty = Tty::enter()?;
    let wishes = Wishes::default();
    let (ask, asked) = channel();
    let (tell, news) = channel();
    let worker = Worker::new(context.environment, context.called_as, wishes.clone());
    thread::scope(|scope| {
        let telling = tell.clone();
        let work = thread::Builder::new()
            .name("work".into())
            .spawn_scoped(scope, move || worker.run(&asked, &telling))?;
        let mut app = App::new(instance, context.now());
        app.called = context.called_as.prefix().to_owned();
        app.settings = settings;
        if is_elsewhere {
            app.notice = Some("No session covers the current directory.".to_owned());
        }
        let outside = Outside {
            ask: &ask,
            tell,
            news: &news,
            wishes: &wishes,
            work: &work,
        };
        let ended = converse(context, app, tty, outside);
        // Nobody asks any more, and whoever is at work gives up.
        wishes.stop.store(true, Ordering::SeqCst);
        wishes.given_up.store(u64::MAX, Ordering::SeqCst);
        drop(ask);
        // What it panicked with was told.
        work.join().map_err(|_| io::Error::other(BROKEN))?;
        ended
    })
}

/// Channels and worker thread around the screen.
struct Outside<'a, 'scope> {
    ask: &'a Sender<(u64, Ask)>,
    tell: Sender<News>,
    news: &'a Receiver<News>,
    wishes: &'a Wishes,
    work: &'a ScopedJoinHandle<'scope, ()>,
}

fn converse(
    context: &Context<'_>,
    mut app: App,
    mut tty: Tty,
    outside: Outside<'_, '_>,
) -> io::Result<(Option<String>, bool)> {
    let parent = process::parent();
    let colors = context.terminal.shows_colors();
    let Outside {
        news, wishes, work, ..
    } = outside;
    let keys = Keys::listen(outside.tell)?;
    let mut is_new = true;
    loop {
        for question in app.asks.drain(..) {
            // Whoever works for us ends after us.
            let _ = outside.ask.send(question);
        }
        if context.interrupts.requested() || !process::is_child_of(parent) || tty.is_gone() {
            app.leave();
        }
        wishes.given_up.store(app.given_up, Ordering::SeqCst);
        if std::mem::take(&mut app.stops) {
            wishes.stop.store(true, Ordering::SeqCst);
        }
        if app.over && !app.acts() {
            return Ok((app.farewell, app.has_failed));
        }
        if work.is_finished() {
            return Err(io::Error::other(BROKEN));
        }
        if std::mem::take(&mut app.suspends) {
            tty.without(process::suspend)??;
            is_new = true;
        }
        if let Some(text) = app.copied.take() {
            tty.copy(&text)?;
        }
        if let Some(words) = app.runs.take() {
            let ended = keys.paused(|| tty.without(|| in_front(context, &words)))??;
            if ended != Exit::Code(0) {
                let shown: Vec<_> = words.iter().map(shell::word).collect();
                app.message = Some(format!(
                    "The command failed. To see why, run:\n{} {}",
                    app.called,
                    shown.join(" ")
                ));
            }
            is_new = true;
        }
        if std::mem::take(&mut is_new) || tty.is_resized() {
            app.now = context.now();
            tty.draw(|frame| {
                draw::draw(&mut app, frame);
                app.settings.color(frame.buffer_mut());
                if !colors {
                    without_colors_of(frame.buffer_mut());
                }
            })?;
        }
        // What came meanwhile is drawn at once.
        let first = news.recv_timeout(LOOK).ok();
        for happened in first.into_iter().chain(news.try_iter()) {
            is_new = true;
            match happened {
                News::Told(number, answer) => app.told(number, answer),
                News::Input(Event::Key(key)) => {
                    work::breaks_at(context.environment, "screen");
                    app.key(key);
                }
                News::Input(Event::Mouse(mouse)) => app.mouse(mouse),
                News::Input(Event::Paste(text)) => app.paste(&text),
                News::Input(_) => {}
            }
        }
    }
}

/// Runs another command of this program on the terminal, called as this one.
fn in_front(context: &Context<'_>, words: &[OsString]) -> io::Result<Exit> {
    let mut called = context.called_as.prefix().split(' ');
    let name = called.next().unwrap_or_default();
    let words: Vec<OsString> = called.map(OsString::from).chain(words.iter().cloned()).collect();
    process::in_front(name, &words, &context.interrupts)
}

/// Thread that waits for keys, detached: after a terminal closed, a read may never return.
struct Keys {
    /// True while another program has the terminal.
    pause: Arc<AtomicBool>,
    /// True once the thread reads nothing.
    is_paused: Arc<AtomicBool>,
}

impl Keys {
    fn listen(tell: Sender<News>) -> io::Result<Self> {
        let keys = Self {
            pause: Arc::default(),
            is_paused: Arc::default(),
        };
        let (pause, is_paused) = (Arc::clone(&keys.pause), Arc::clone(&keys.is_paused));
        let wait = move || {
            loop {
                is_paused.store(pause.load(Ordering::SeqCst), Ordering::SeqCst);
                if is_paused.load(Ordering::SeqCst) {
                    thread::sleep(LOOK / 5);
                    continue;
                }
                match event::poll(LOOK).and_then(|is_there| is_there.then(event::read).transpose()) {
                    Ok(Some(event)) => {
                        if tell.send(News::Input(event)).is_err() {
                            break;
                        }
                    }
                    Ok(None) => {}
                    Err(_) => break,
                }
            }
        };
        thread::Builder::new().name("keys".into()).spawn(wait)?;
        Ok(keys)
    }

    /// Runs `work` while no key is read here.
    fn paused<T>(&self, work: impl FnOnce() -> T) -> T {
        self.pause.store(true, Ordering::SeqCst);
        while !self.is_paused.load(Ordering::SeqCst) {
            thread::sleep(LOOK / 20);
        }
        let done = work();
        self.pause.store(false, Ordering::SeqCst);
        done
    }
}

/// Leaves what is bold, underlined or reversed.
fn without_colors_of(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
    }
}
