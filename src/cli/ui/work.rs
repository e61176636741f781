//! Answers what the screen asks for, on a thread of its own, with the code of the commands.

mod jobs;
mod plans;
mod reading;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use super::News;
use super::data::{Answer, Ask, PatchLine, PatchText, Sides, TextLine};
use crate::cli::args::CalledAs;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::fail_point::is_at;
use crate::cli::highlight::{Colors, LARGEST as LARGEST_CODE, Tokens};
use crate::cli::named_session::no_store;
use crate::cli::text_choice::TextChoice;
use crate::cli::view;
use crate::environment::Environment;
use crate::model::RelPath;
use crate::recovery::{Differences, Question, Until};
use crate::report::{
    Body, Contents, Line, MAX_TEXT, PatchOptions, Sources, contents, diff_document, line_numbers, made,
    masked, word_marks,
};
use crate::session::find_instance;
use crate::store::Store;
use crate::terminal::recorded::recorded;
use crate::terminal::{Verbosity, sanitize, size};

/// Maximum width of text, in columns; the drawing code wraps the lines.
const WIDEST: usize = 10_000;

/// Time for the colors of one path, which is not shown before.
const COLORING: Duration = Duration::from_millis(250);

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
    /// Colors of code; grammars that were used stay compiled.
    colors: Colors,
}

/// Thread beside the worker. It is stopped and waited for when it goes out of scope.
struct Beside<'scope> {
    stop: Arc<AtomicBool>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // What it panicked with was reported.
        let _ = self.thread.take().map(ScopedJoinHandle::join);
    }
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
            colors: Colors::within(COLORING),
        }
    }

    /// Answers until the channel closes. Of several requests for the lines of a path only the last one counts.
    pub(super) fn run(self, asked: &Receiver<(u64, Ask)>, tell: &Sender<News>) {
        thread::scope(|scope| self.answer_all(asked, tell, scope));
    }

    fn answer_all<'scope>(
        mut self,
        asked: &Receiver<(u64, Ask)>,
        tell: &Sender<News>,
        scope: &'scope Scope<'scope, 'e>,
    ) {
        let mut beside = None;
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
            let is_patch = |ask: &Ask| matches!(ask, Ask::Patch(..));
            let is_late = is_patch(&ask) && waiting.iter().any(|(_, later)| is_patch(later));
            if is_late || number <= self.wishes.given_up.load(Ordering::SeqCst) {
                continue;
            }
            // The marks of another comparison are not wanted any more, and what changes the store waits for no reader.
            if matches!(ask, Ask::Later(_) | Ask::Act(..) | Ask::Do(_)) {
                drop(beside.take());
            }
            self.wishes.stop.store(false, Ordering::SeqCst);
            breaks_at(self.environment, "screen-work");
            if let Ask::Later(sides) = ask {
                beside = self.beside(scope, tell.clone(), number, sides);
                continue;
            }
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
            Ask::Patch(change, around) => Ok(Answer::Patch(change, self.lines(change, around))),
            Ask::Later(sides) => Ok(plans::later(&context, sides)),
            Ask::Plan(request) => plans::plan(&context, request),
            Ask::Act(request, agreed) => plans::act(&context, request, &agreed, &said),
            Ask::Do(job) => jobs::run(&context, job, &said),
            Ask::PlanForget(session) => jobs::plan_forget(&context, session),
            Ask::Store => reading::store(&context).map(Answer::Store),
            Ask::Log(instance, columns) => {
                reading::log(&context, instance.as_deref(), columns).map(|text| Answer::Log("log", text))
            }
            Ask::History(path, columns) => {
                reading::history(&context, &path, columns).map(|text| Answer::Log("changes of a file", text))
            }
            Ask::Blame(path, columns) => {
                reading::blame(&context, &path, columns).map(|text| Answer::Log("blame", text))
            }
        };
        done.unwrap_or_else(|error| {
            let error = error.as_called(self.called_as);
            let before = said.text();
            Answer::Failed(format!("{before}{}", error.render(WIDEST)))
        })
    }

    /// Finds later edits on a thread of its own: the lines of a path do not wait for that.
    fn beside<'scope>(
        &self,
        scope: &'scope Scope<'scope, 'e>,
        tell: Sender<News>,
        number: u64,
        sides: Sides,
    ) -> Option<Beside<'scope>> {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let (environment, called_as) = (self.environment, self.called_as);
        let work = move || {
            let (terminal, _) = recorded(WIDEST, Verbosity::Normal);
            let context = Context::of_a_call(environment, &terminal, called_as, asked);
            let _ = tell.send(News::Told(number, plans::later(&context, sides)));
        };
        let thread = thread::Builder::new().name("later".into());
        let thread = thread.spawn_scoped(scope, work).ok()?;
        Some(Beside {
            stop,
            thread: Some(thread),
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

    /// Returns the lines of one of the changes in the last answer, with so many unchanged lines around.
    fn lines(&mut self, change: usize, context: usize) -> PatchText {
        let Some(held) = &self.held else {
            return PatchText::default();
        };
        let Ok(_needed) = held.store.share() else {
            return said("the store is locked".to_owned());
        };
        let mount = held.order.get(change);
        let mount = mount.and_then(|(mount, at)| held.found.mounts.get(*mount).map(|mount| (mount, *at)));
        let Some((mount, at)) = mount else {
            return PatchText::default();
        };
        let Some(change) = mount.comparison.changes.get(at) else {
            return PatchText::default();
        };
        let sources = Sources::of(&held.found, true);
        // A part of git's own data is invalid alone.
        let is_git = change.path.parts().any(|part| part == b".git");
        let options = PatchOptions {
            context,
            show_secrets: false,
            hides: false,
        };
        self.colors.renew(COLORING);
        let code = contents(&mount.coverage, change, &sources, options, LARGEST_CODE as u64);
        let colors = (&mut self.colors, &change.path, &code);
        let choice = TextChoice::of(&mount.coverage, change, &sources, MAX_TEXT);
        if let Some(choice) = choice.filter(|_| !is_git) {
            let texts = choice.texts().with_context(context);
            let lines = texts.hunks().into_iter().flat_map(|hunk| texts.lines(&hunk));
            let mut text = shown(lines.map(|(line, text)| (line, masked(&text))).collect(), colors);
            if text.lines.len() <= MOST_LINES {
                text.sides = choice.digests();
            }
            if choice.has_metadata() {
                let detail = view::changes::detail(change);
                text.lines.insert(0, PatchLine::Metadata(detail));
            }
            return text;
        }
        match made(&mount.coverage, change, &sources, options).body {
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
            Body::Hidden => said(
                "content hidden: it may hold secrets (`diff --patch --show-secrets` shows it)".to_owned(),
            ),
            Body::Unavailable(why) => said(format!("content not available: {}", sanitize::text(&why))),
            Body::Lines(lines) => shown(lines, colors),
        }
    }
}

/// Returns a remark in place of lines.
fn said(words: String) -> PatchText {
    PatchText {
        lines: vec![PatchLine::Said(words)],
        sides: None,
    }
}

/// Returns the lines of a patch as the screen shows them, with the colors of their code.
fn shown(lines: Vec<(Line, Vec<u8>)>, (colors, path, code): (&mut Colors, &RelPath, &Contents)) -> PatchText {
    let more = lines.len().saturating_sub(MOST_LINES);
    let numbers = line_numbers(
        lines
            .iter()
            .take(MOST_LINES)
            .map(|(line, text)| (*line, text.as_slice())),
    );
    let lines: Vec<(Line, String)> = lines
        .into_iter()
        .take(MOST_LINES)
        .map(|(line, text)| (line, words(line, &text)))
        .collect();
    let marks = word_marks(&lines);
    let of_line = |line: &[u8]| words(Line::Context, &masked(line));
    let mut tokens = colors.of_patch(path, code, (&lines, &numbers), of_line);
    tokens.resize(lines.len(), Tokens::new());
    let numbered = lines.into_iter().zip(marks).zip(numbers).zip(tokens);
    let numbered = numbered.map(|((((line, text), words), numbers), tokens)| {
        PatchLine::Line(TextLine {
            line,
            text,
            words,
            tokens,
            then: numbers.then,
            now: numbers.now,
        })
    });
    let mut shown: Vec<PatchLine> = numbered.collect();
    if more > 0 {
        let more = size::counted(more as u64, "more line", "more lines");
        shown.push(PatchLine::Said(format!("and {more}")));
    }
    PatchText {
        lines: shown,
        sides: None,
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
