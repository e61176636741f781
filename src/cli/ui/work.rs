//! Answers what the screen asks for, on a thread of its own, with the code of the commands.

mod plans;
mod reading;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use super::News;
use super::data::{Answer, Ask, PatchLine, Sides};
use crate::cli::args::CalledAs;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::fail_point::is_at;
use crate::cli::named_session::no_store;
use crate::environment::Environment;
use crate::recovery::{Differences, Question, Until};
use crate::report::{Body, Line, PatchOptions, Sources, diff_document, made, word_marks};
use crate::session::find_instance;
use crate::store::Store;
use crate::terminal::recorded::recorded;
use crate::terminal::{Verbosity, sanitize, size};

/// Maximum width of text, in columns; the drawing code wraps the lines.
const WIDEST: usize = 10_000;

/// Maximum number of lines shown for one path.
const MOST_LINES: usize = 50_000;

/// State shared by the screen and its worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    /// True if the worker is asked to stop.
    pub(super) stop: Arc<AtomicBool>,
    /// Number of the last request that needs no answer.
    pub(super) given_up: Arc<AtomicU64>,
}

/// Worker that answers the requests of the screen.
pub(super) struct Worker<'e> {
    environment: &'e Environment,
    called_as: CalledAs,
    wishes: Wishes,
    /// Last comparison, whose lines are read on demand.
    held: Option<Held>,
}

struct Held {
    store: Store,
    found: Differences,
    /// Mount and change, by index, for each change in the last answer.
    order: Vec<(usize, usize)>,
}

impl<'e> Worker<'e> {
    pub(super) fn new(environment: &'e Environment, called_as: CalledAs, wishes: Wishes) -> Self {
        Self {
            environment,
            called_as,
            wishes,
            held: None,
        }
    }

    /// Answers until the channel closes. Of several requests for the lines of a path only the last one counts.
    pub(super) fn run(mut self, asked: &Receiver<(u64, Ask)>, tell: &Sender<News>) {
        let mut waiting = std::collections::VecDeque::new();
        loop {
            if waiting.is_empty() {
                let Ok(first) = asked.recv() else { return };
                waiting.push_back(first);
            }
            waiting.extend(asked.try_iter());
            let Some((number, ask)) = waiting.pop_front() else {
                continue;
            };
            let is_patch = |ask: &Ask| matches!(ask, Ask::Patch(_));
            let is_late = is_patch(&ask) && waiting.iter().any(|(_, later)| is_patch(later));
            if is_late || number <= self.wishes.given_up.load(Ordering::SeqCst) {
                continue;
            }
            self.wishes.stop.store(false, Ordering::SeqCst);
            breaks_at(self.environment, "screen-work");
            let answer = self.answer(ask);
            if tell.send(News::Told(number, answer)).is_err() {
                return;
            }
        }
    }

    fn answer(&mut self, ask: Ask) -> Answer {
        let (terminal, said) = recorded(WIDEST, Verbosity::Normal);
        let stop = Arc::clone(&self.wishes.stop);
        let context = Context::of_a_call(self.environment, &terminal, self.called_as, stop);
        let done = match ask {
            Ask::Sessions => reading::sessions(&context).map(Answer::Sessions),
            Ask::Timeline(instance) => reading::timeline(&context, &instance).map(Answer::Timeline),
            Ask::Changes(sides) => self.compare(&context, sides),
            Ask::Patch(change) => Ok(Answer::Patch(change, self.lines(change))),
            Ask::Plan(request) => plans::plan(&context, request),
            Ask::Act(request, agreed) => plans::act(&context, request, &agreed, &said),
            Ask::Store => reading::store(&context).map(Answer::Store),
            Ask::Log(instance, columns) => {
                reading::log(&context, instance.as_deref(), columns).map(Answer::Log)
            }
        };
        done.unwrap_or_else(|error| {
            let error = error.as_called(self.called_as);
            let before = said.text();
            Answer::Failed(format!("{before}{}", error.render(WIDEST)))
        })
    }

    fn compare(&mut self, context: &Context<'_>, sides: Sides) -> Result<Answer, CliError> {
        let store = context
            .store_for_reading()?
            .ok_or_else(|| no_store(&sides.instance))?;
        let row = find_instance(&store, &sides.instance)?;
        // Archives must not go while they are read.
        let needed = store.share()?;
        let to = match &sides.to {
            None => Until::Now,
            Some(id) => Until::Snapshot(id.clone()),
        };
        let question = Question {
            from: Some(&sides.from),
            later_row: None,
            to: &to,
            paths: &[],
            excluded: &[],
            check_content: false,
            show_secrets: false,
            pairs_renames: true,
            marks_since: false,
        };
        let found = context.engine().compare(&store, &row, &question)?;
        drop(needed);
        let (changes, order) = reading::changes(sides, &diff_document(&row, &found));
        self.held = Some(Held { store, found, order });
        Ok(Answer::Changes(changes))
    }

    /// The lines of one of the changes that were told last.
    fn lines(&self, change: usize) -> Vec<PatchLine> {
        let said = |words: String| vec![PatchLine::Said(words)];
        let Some(held) = &self.held else { return Vec::new() };
        let Ok(_needed) = held.store.share() else {
            return said("the store is locked".to_owned());
        };
        let mount = held.order.get(change);
        let mount = mount.and_then(|(mount, at)| held.found.mounts.get(*mount).map(|mount| (mount, *at)));
        let Some((mount, at)) = mount else {
            return Vec::new();
        };
        let Some(change) = mount.comparison.changes.get(at) else {
            return Vec::new();
        };
        let options = PatchOptions {
            context: 3,
            show_secrets: false,
            hides: false,
        };
        let patch = made(&mount.coverage, change, &Sources::of(&held.found, true), options);
        match patch.body {
            Body::Nothing => said("its content is the same, or it has none".to_owned()),
            Body::Binary(old, new) => said(format!(
                "binary: {} \u{2192} {}",
                size::bytes(old),
                size::bytes(new)
            )),
            Body::Large(old, new) => said(format!(
                "too large to show: {} \u{2192} {}",
                size::bytes(old),
                size::bytes(new)
            )),
            Body::Hidden => {
                said("content hidden: it may hold secrets (`diff --show-secrets` shows it)".to_owned())
            }
            Body::Unavailable(why) => said(format!("content not available: {}", sanitize::text(&why))),
            Body::Lines(lines) => {
                let more = lines.len().saturating_sub(MOST_LINES);
                let lines: Vec<(Line, String)> = lines
                    .into_iter()
                    .take(MOST_LINES)
                    .map(|(line, text)| (line, words(line, &text)))
                    .collect();
                let marks = word_marks(&lines);
                let lines = lines.into_iter().zip(marks);
                let mut shown: Vec<PatchLine> = lines
                    .map(|((line, text), marks)| PatchLine::Line(line, text, marks))
                    .collect();
                if more > 0 {
                    shown.push(PatchLine::Said(format!(
                        "and {} more lines",
                        size::count(more as u64)
                    )));
                }
                shown
            }
        }
    }
}

/// Panics where a test wants it.
pub(super) fn breaks_at(environment: &Environment, point: &str) {
    assert!(!is_at(environment, point), "a test asked for it");
}

fn words(line: Line, text: &[u8]) -> String {
    match line {
        Line::NoNewline => "\\ No newline at end of file".to_owned(),
        Line::Hunk => sanitize::line(text).trim_end().to_owned(),
        // A tab has no width of its own on a screen that is drawn cell by cell.
        _ => sanitize::line(text).replace('\t', "    "),
    }
}
