//! `ui`: the timeline on a screen. What is shown is read, and what is restored is planned and carried out, by the code of the commands, on a
//! thread of its own (`work`), so that a key is never waited for. The screen knows words alone (`data`): where one is in it (`app`),
//! what a key does (`keys`), and how it looks (`draw`).

mod app;
mod data;
mod draw;
mod hints;
mod keys;
mod mouse;
mod paint;
mod preview;
mod scroll;
mod timeline;
mod tree;
mod views;
mod work;

#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event};
use ratatui::style::Color;

use self::app::App;
use self::data::{Answer, Ask};
use self::work::{Wishes, Worker};
use super::context::Context;
use crate::process;
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

/// Draws the screen until the operator has seen enough. Gives what became of a restore that they left while it was under way.
///
/// # Errors
/// When the terminal cannot be drawn on or read from.
pub(in crate::cli) fn run(context: &Context<'_>, instance: Option<String>) -> io::Result<Option<String>> {
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
        let app = App::new(instance, context.now());
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
) -> io::Result<Option<String>> {
    let parent = process::parent();
    let colors = context.terminal.shows_colors();
    let Outside {
        news, wishes, work, ..
    } = outside;
    listen(outside.tell)?;
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
            return Ok(app.farewell);
        }
        if work.is_finished() {
            return Err(io::Error::other(BROKEN));
        }
        if std::mem::take(&mut app.suspends) {
            tty.without(process::suspend)??;
            is_new = true;
        }
        if std::mem::take(&mut is_new) || tty.is_resized() {
            app.now = context.now();
            tty.draw(|frame| {
                draw::draw(&mut app, frame);
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
                News::Input(_) => {}
            }
        }
    }
}

/// Waits for keys on a detached thread: after a terminal closed, the read may never return.
fn listen(tell: Sender<News>) -> io::Result<()> {
    let wait = move || {
        while let Ok(event) = event::read() {
            if tell.send(News::Input(event)).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("keys".into()).spawn(wait).map(drop)
}

/// Leaves what is bold, underlined or reversed.
fn without_colors_of(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
    }
}
