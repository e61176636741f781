//! State of the screen: the stack of views, the contents of each, and the work under way.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::data::{
    Answer, Ask, ForgetText, Goal, Holding, Moment, PatchText, Point, Request, Session, Sides, Timeline, What,
};
use super::preview::{Part, Reading};
use super::scroll::Scroll;
use super::settings::Settings;
use super::timeline::{TimelineRow, fold_moments, head_of};
use super::views::{Compared, Copyable, Drawn, ForgetPlan, Page, Plan, Question, View, Waiting};
use crate::cli::line_choice::MarkedFile;
use crate::model::Time;
use crate::report::ChangedLine;

/// State of the screen.
#[derive(Debug)]
pub(super) struct App {
    pub(super) now: Time,
    /// Never empty; the last one is looked at.
    pub(super) views: Vec<View>,
    /// None before they are known.
    pub(super) sessions: Option<Vec<Session>>,
    pub(super) sessions_scroll: Scroll,
    /// Narrows the sessions.
    pub(super) sessions_filter: String,
    pub(super) timeline: Option<Timeline>,
    pub(super) timeline_scroll: Scroll,
    /// Rows of the timeline.
    pub(super) timeline_rows: Vec<TimelineRow>,
    /// Narrows the timeline.
    pub(super) timeline_filter: String,
    /// Receipts whose rows are open.
    pub(super) opened: BTreeSet<u64>,
    pub(super) points_scroll: Scroll,
    /// Narrows the prompts and calls.
    pub(super) points_filter: String,
    pub(super) compared: Option<Compared>,
    pub(super) reading: Reading,
    pub(super) plan: Option<Plan>,
    pub(super) forget: Option<ForgetPlan>,
    /// Question that waits for an answer.
    pub(super) question: Option<Question>,
    /// Texts to choose from, of which one is copied.
    pub(super) copies: Vec<Copyable>,
    /// Text for the clipboard of the terminal.
    pub(super) copied: Option<OsString>,
    /// Command to run in front, with its words.
    pub(super) runs: Option<Vec<OsString>>,
    /// Said at the bottom until the next key.
    pub(super) notice: Option<String>,
    /// Name by which the program was called, for the commands that are copied.
    pub(super) called: String,
    pub(super) settings: Settings,
    /// Ids of the snapshots that are marked, to compare two.
    pub(super) marked: Vec<String>,
    pub(super) done: Page,
    pub(super) store: Vec<Holding>,
    pub(super) store_scroll: Scroll,
    pub(super) log: Page,
    pub(super) log_title: &'static str,
    /// A filter is being typed.
    pub(super) typing: bool,
    /// First line of the help that is shown; `None` if the help is closed.
    pub(super) help: Option<usize>,
    /// Said over everything until a key is pressed.
    pub(super) message: Option<String>,
    pub(super) waiting: Option<Waiting>,
    /// Outcome of a job, shown once the lists are read again, so that the next key finds them as they are.
    job_done: Option<String>,
    number: u64,
    /// To be asked.
    pub(super) asks: Vec<(u64, Ask)>,
    /// Answers to questions up to this number are not wanted any more.
    pub(super) given_up: u64,
    pub(super) over: bool,
    /// Outcome of a restore that ended after the operator left, so the screen did not show it.
    pub(super) farewell: Option<String>,
    /// True if that restore failed.
    pub(super) has_failed: bool,
    /// True if the worker is to stop.
    pub(super) stops: bool,
    pub(super) suspends: bool,
    /// Layout of the last frame.
    pub(super) drawn: Drawn,
    /// A restore was done here: the newest receipt of one before it. The timeline that is read next shows the new one.
    restored_after: Option<u64>,
}

impl App {
    /// Begins with all sessions, or with one of them.
    pub(super) fn new(instance: Option<String>, now: Time) -> Self {
        let mut app = Self {
            now,
            views: vec![View::Sessions],
            sessions: None,
            sessions_scroll: Scroll::default(),
            sessions_filter: String::new(),
            timeline: None,
            timeline_scroll: Scroll::default(),
            timeline_rows: Vec::new(),
            timeline_filter: String::new(),
            opened: BTreeSet::new(),
            points_scroll: Scroll::default(),
            points_filter: String::new(),
            compared: None,
            reading: Reading::default(),
            plan: None,
            forget: None,
            question: None,
            copies: Vec::new(),
            copied: None,
            runs: None,
            notice: None,
            called: String::new(),
            settings: Settings::default(),
            marked: Vec::new(),
            done: Page::default(),
            store: Vec::new(),
            store_scroll: Scroll::default(),
            log: Page::default(),
            log_title: "",
            typing: false,
            help: None,
            message: None,
            waiting: None,
            job_done: None,
            number: 0,
            asks: Vec::new(),
            given_up: 0,
            over: false,
            farewell: None,
            has_failed: false,
            stops: false,
            suspends: false,
            drawn: Drawn::default(),
            restored_after: None,
        };
        app.ask(Ask::Sessions, "reading the store");
        if let Some(instance) = instance {
            app.ask(Ask::Timeline(instance), "reading the session");
        }
        app
    }

    pub(super) fn view(&self) -> View {
        self.views.last().copied().unwrap_or(View::Sessions)
    }

    pub(super) fn ask(&mut self, ask: Ask, words: &'static str) {
        self.number += 1;
        self.waiting = Some(Waiting {
            number: self.number,
            words,
            acts: matches!(ask, Ask::Act(..) | Ask::Do(_)),
            refreshes: false,
        });
        self.asks.push((self.number, ask));
    }

    /// Cancels the pending request.
    pub(super) fn give_up(&mut self) {
        let stays = self
            .waiting
            .is_some_and(|waiting| waiting.acts || waiting.refreshes);
        if !stays && self.waiting.take().is_some() {
            self.given_up = self.number;
            self.stops = true;
        }
    }

    /// Ends. A restore that is under way is told to stop, and waited for: it is done then, or not begun, or waits to be resumed.
    pub(super) fn leave(&mut self) {
        self.stops |= !self.over;
        self.over = true;
        self.give_up();
    }

    /// Files or the store are being changed, or the lists read again after that.
    pub(super) fn acts(&self) -> bool {
        self.job_done.is_some() || self.waiting.is_some_and(|waiting| waiting.acts)
    }

    /// The sessions that the filter leaves.
    pub(super) fn shown_sessions(&self) -> Vec<&Session> {
        let filter = self.sessions_filter.to_lowercase();
        let all = self.sessions.iter().flatten();
        let fits = |session: &&Session| {
            let mut words = [
                Some(&session.id),
                session.name.as_ref(),
                session.workspace.as_ref(),
                Some(&session.place),
            ]
            .into_iter()
            .flatten();
            filter.is_empty() || words.any(|word| word.to_lowercase().contains(&filter))
        };
        all.filter(fits).collect()
    }

    pub(super) fn chosen_session(&self) -> Option<&Session> {
        self.shown_sessions().get(self.sessions_scroll.at).copied()
    }

    pub(super) fn chosen_moment(&self) -> Option<&Moment> {
        let row = self.timeline_rows.get(self.timeline_scroll.at)?;
        self.timeline.as_ref()?.moments.get(row.moment)
    }

    /// The prompts and calls that the filter leaves.
    pub(super) fn shown_points(&self) -> Vec<&Point> {
        let filter = self.points_filter.to_lowercase();
        let all = self.timeline.iter().flat_map(|timeline| &timeline.points);
        all.filter(|point| point.text.to_lowercase().contains(&filter))
            .collect()
    }

    pub(super) fn chosen_point(&self) -> Option<&Point> {
        self.shown_points().get(self.points_scroll.at).copied()
    }

    /// The session that is looked at.
    pub(super) fn instance(&self) -> Option<String> {
        match self.view() {
            View::Sessions => self.chosen_session().map(|session| session.id.clone()),
            View::Store => None,
            // It may be of a session that was chosen in the list.
            View::Plan | View::Done => self.plan.as_ref().map(|plan| plan.request.instance.clone()),
            _ => self.timeline.as_ref().map(|timeline| timeline.id.clone()),
        }
    }

    /// Asks for the lines of the path that is chosen, when others are shown.
    pub(super) fn follow(&mut self) {
        let Some(compared) = &mut self.compared else {
            return;
        };
        let wanted = compared.tree.change(compared.scroll.at);
        if wanted == compared.preview.of {
            return;
        }
        compared.preview.open(wanted);
        self.ask_lines();
    }

    /// Asks for the lines of the path that is previewed.
    pub(super) fn ask_lines(&mut self) {
        if let Some(change) = self.compared.as_ref().and_then(|compared| compared.preview.of) {
            self.number += 1;
            self.asks
                .push((self.number, Ask::Patch(change, self.reading.context)));
        }
    }

    /// Opens what differs between a snapshot and now, or between two.
    pub(super) fn compare(&mut self, from: String, to: Option<String>, is_step: bool) {
        let Some(instance) = self.timeline.as_ref().map(|timeline| timeline.id.clone()) else {
            return;
        };
        let sides = Sides {
            instance,
            from,
            to,
            is_step,
        };
        self.ask(Ask::Changes(sides), "comparing");
    }

    /// Asks what going back would do.
    pub(super) fn plan(&mut self, wanted: Wanted) {
        let Some(instance) = self.instance() else { return };
        let request = Request {
            instance,
            goal: wanted.goal,
            paths: wanted.paths,
            lines: wanted.lines,
            overwrite_later: false,
            delete_later: false,
        };
        self.ask(Ask::Plan(request), "planning");
    }

    /// Goes back to the view before; cancels the pending request.
    pub(super) fn back(&mut self) {
        self.give_up();
        if self.views.len() > 1 {
            self.views.pop();
        }
        if matches!(self.view(), View::Sessions | View::Timeline) {
            self.compared = None;
        }
    }

    fn open(&mut self, view: View) {
        if self.view() != view {
            self.views.push(view);
        }
    }

    /// Takes in what was asked for.
    pub(super) fn told(&mut self, number: u64, answer: Answer) {
        if let Answer::Patch(change, text) = answer {
            self.show_lines(change, text);
            return;
        }
        if let (true, true, Answer::Done(text) | Answer::Failed(text)) = (self.over, self.acts(), &answer) {
            self.farewell = Some(text.clone());
            self.has_failed = matches!(answer, Answer::Failed(_));
        }
        let waited = self.waiting.filter(|waiting| waiting.number == number);
        if waited.is_some() {
            self.waiting = None;
        }
        if number <= self.given_up {
            return;
        }
        match answer {
            Answer::Sessions(all) => {
                let chosen = self.chosen_session().map(|session| session.id.clone());
                self.sessions = Some(all);
                let again = chosen.and_then(|id| self.shown_sessions().iter().position(|one| one.id == id));
                self.sessions_scroll.at = again.unwrap_or(0);
            }
            Answer::Timeline(timeline) => {
                let same = self.timeline.as_ref().is_some_and(|old| old.id == timeline.id);
                let at = self.place_in(&timeline).filter(|_| same);
                if !same {
                    self.points_scroll = Scroll::default();
                    self.points_filter.clear();
                    self.timeline_filter.clear();
                    self.opened.clear();
                    self.marked.clear();
                }
                self.timeline_rows = self.rows_of(&timeline.moments);
                match at.and_then(|at| self.row_of(&timeline, at)) {
                    Some(at) => self.timeline_scroll.at = at,
                    None => self.timeline_scroll = Scroll::default(),
                }
                self.timeline = Some(timeline);
                // One that is only shown anew is not what the operator went to.
                if self.view() == View::Sessions && waited.is_some_and(|waiting| !waiting.refreshes) {
                    self.open(View::Timeline);
                }
            }
            // Read again for a comparison that the operator has left meanwhile.
            Answer::Changes(_) if waited.is_none() && !self.views.contains(&View::Changes) => {}
            Answer::Changes(changes) => {
                let sides = changes.sides.clone();
                let before = self.compared.take();
                let mut compared = Compared::of(changes);
                match before.filter(|before| before.changes.sides == sides) {
                    Some(before) => compared.stay_at(&before),
                    None => compared.begin(),
                }
                self.compared = Some(compared);
                // What is read again behind the outcome of a restore stays behind it.
                if !self.views.contains(&View::Changes) {
                    self.open(View::Changes);
                }
                self.follow();
                self.number += 1;
                self.asks.push((self.number, Ask::Later(sides)));
            }
            Answer::Patch(..) => {}
            Answer::Later(sides, later) => {
                let compared = self.compared.as_mut();
                if let Some(compared) = compared.filter(|compared| compared.changes.sides == sides) {
                    let all = compared.changes.all.iter().enumerate();
                    let marked = all.filter_map(|(at, change)| {
                        let words = change.hosts.iter().find_map(|host| later.get(host));
                        words.map(|words| (at, *words))
                    });
                    compared.later = marked.collect();
                }
            }
            Answer::Plan(request, text, paths) => {
                let changed = self.plan.as_ref().filter(|_| self.view() == View::Plan);
                if changed.is_some_and(|plan| plan.request == request) {
                    self.message = Some("The files changed meanwhile. This is the new plan.".to_owned());
                }
                self.plan = Some(Plan {
                    request,
                    page: Page::of(text),
                    does_something: paths.is_some(),
                    paths: paths.unwrap_or(0),
                    seen: false,
                });
                self.open(View::Plan);
            }
            Answer::Done(text) => {
                if let Some(compared) = &mut self.compared {
                    // What was marked is done.
                    compared.tree.marked.clear();
                    compared.tree.in_part.clear();
                }
                self.done = Page::of(text);
                self.views
                    .retain(|view| matches!(view, View::Sessions | View::Timeline | View::Changes));
                self.restored_after = Some(self.timeline.as_ref().map_or(0, newest_restore));
                self.open(View::Done);
                self.refresh();
                if let Some(compared) = &self.compared {
                    let sides = compared.changes.sides.clone();
                    self.number += 1;
                    self.asks.push((self.number, Ask::Changes(sides)));
                }
            }
            Answer::JobDone(text) => {
                if self.view() == View::Forget {
                    // The session is gone, or some of it.
                    self.views = vec![View::Sessions];
                    (self.timeline, self.compared, self.forget) = (None, None, None);
                }
                self.job_done = Some(text);
                self.refresh();
            }
            Answer::Forget(session, ForgetText { text, at }) => {
                if self.view() == View::Forget {
                    self.message = Some("The session changed meanwhile. This is the new plan.".to_owned());
                }
                self.forget = Some(ForgetPlan {
                    session,
                    page: Page::of(text),
                    at,
                    seen: false,
                });
                self.open(View::Forget);
            }
            Answer::Store(all) => {
                self.store = all;
                self.open(View::Store);
            }
            Answer::Log(title, text) => {
                (self.log_title, self.log) = (title, Page::of(text));
                self.open(View::Log);
            }
            Answer::Failed(why) => {
                if self.sessions.is_none() {
                    self.sessions = Some(Vec::new());
                }
                self.message = Some(why);
            }
        }
        if self.waiting.is_none() {
            self.say_what_was_done();
        }
    }

    /// Says what a job did, and why the lists could not be read after it.
    fn say_what_was_done(&mut self) {
        let Some(mut done) = self.job_done.take() else {
            return;
        };
        if let Some(why) = self.message.take() {
            done = format!("{done}\n{why}");
        }
        match self.over {
            true => self.farewell = Some(done),
            false => self.message = Some(done),
        }
    }

    /// Returns the rows of the timeline that the filter leaves.
    fn rows_of(&self, moments: &[Moment]) -> Vec<TimelineRow> {
        let filter = self.timeline_filter.to_lowercase();
        let fits = |row: &TimelineRow| {
            let Some(moment) = moments.get(row.moment) else {
                return false;
            };
            [&moment.name, &moment.note]
                .iter()
                .any(|text| text.to_lowercase().contains(&filter))
        };
        let mut rows = fold_moments(moments, &self.opened);
        rows.retain(|row| filter.is_empty() || fits(row));
        rows
    }

    /// Rebuilds the rows of the timeline for another filter.
    pub(super) fn lay_out_timeline(&mut self) {
        if let Some(timeline) = &self.timeline {
            self.timeline_rows = self.rows_of(&timeline.moments);
            self.timeline_scroll = Scroll::default();
        }
    }

    /// Returns the row of a moment, or that of the one that it is folded below.
    fn row_of(&self, timeline: &Timeline, moment: usize) -> Option<usize> {
        let rows = &self.timeline_rows;
        rows.iter().position(|row| row.moment == moment).or_else(|| {
            let under = head_of(&timeline.moments, timeline.moments.get(moment)?)?;
            rows.iter().position(|row| row.folds == Some(under))
        })
    }

    /// Opens or closes the row of a restore; returns false if there is nothing to open or close.
    pub(super) fn unfold(&mut self, open: bool) -> bool {
        let Some(row) = self.timeline_rows.get(self.timeline_scroll.at) else {
            return false;
        };
        let changed = match (row.folds, row.inside) {
            (Some(receipt), _) if open => self.opened.insert(receipt),
            (Some(receipt), _) | (None, Some(receipt)) if !open => self.opened.remove(&receipt),
            _ => false,
        };
        if let (true, Some(timeline)) = (changed, &self.timeline) {
            let moment = row.moment;
            self.timeline_rows = self.rows_of(&timeline.moments);
            self.timeline_scroll.at = self.row_of(timeline, moment).unwrap_or(0);
        }
        changed
    }

    /// The moment of a timeline that is read again: of the restore that was just done, else of the moment that is chosen. Rows come in
    /// at the top, so a row number would mean another moment.
    fn place_in(&mut self, timeline: &Timeline) -> Option<usize> {
        let restored = newest_restore(timeline);
        let is_new = self.restored_after.take().is_some_and(|before| restored > before);
        let chosen = self.chosen_moment().map(|moment| moment.what.clone());
        timeline
            .moments
            .iter()
            .position(|moment| match (&moment.what, &chosen) {
                (What::Restore { number, .. }, _) if is_new => *number == restored,
                _ if is_new => false,
                (What::Restore { number, .. }, Some(What::Restore { number: chosen, .. })) => {
                    number == chosen
                }
                (What::Snapshot { id, .. }, Some(What::Snapshot { id: chosen, .. })) => id == chosen,
                _ => false,
            })
    }

    /// Reads again what is behind the view.
    pub(super) fn refresh(&mut self) {
        if let (View::Changes | View::Patch, Some(compared)) = (self.view(), &self.compared) {
            let sides = compared.changes.sides.clone();
            self.views.retain(|view| *view != View::Patch);
            return self.ask(Ask::Changes(sides), "comparing");
        }
        self.ask(Ask::Sessions, "reading the store");
        if let Some(timeline) = self
            .timeline
            .as_ref()
            .filter(|_| self.views.contains(&View::Timeline))
        {
            self.ask(Ask::Timeline(timeline.id.clone()), "reading the session");
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.refreshes = true;
        }
    }

    /// Shows the lines of a path, if it is still the one that is selected. Marks in other texts than these are removed.
    fn show_lines(&mut self, change: usize, text: PatchText) {
        let of = self.compared.as_mut();
        let Some(compared) = of.filter(|compared| compared.preview.of == Some(change)) else {
            return;
        };
        let marks = compared.tree.in_part.get(&change);
        if marks.is_some_and(|marks| Some(marks.sides) != text.sides) {
            compared.tree.in_part.remove(&change);
            self.message = Some("The file changed meanwhile. Its marks are removed.".to_owned());
        }
        compared.preview.fill(text);
    }

    /// Returns the goal and the paths of a restore from this view: the marked paths and lines, else the paths in the row.
    pub(super) fn wanted(&self, all: bool) -> Option<Wanted> {
        match self.view() {
            View::Timeline => match &self.chosen_moment()?.what {
                What::Snapshot { id, .. } => Some(Goal::Snapshot(id.clone()).into()),
                What::Restore { number, .. } => Some(Goal::Undo(Some(*number)).into()),
            },
            View::Points => {
                let id = self.chosen_point()?.snapshot.clone()?;
                Some(Goal::Snapshot(id).into())
            }
            View::Changes | View::Patch => {
                let compared = self.compared.as_ref()?;
                // A step of the session is reverted alone.
                let sides = &compared.changes.sides;
                let goal = match &sides.to {
                    Some(step) if sides.is_step => Goal::Step(step.clone()),
                    _ => Goal::Snapshot(sides.from.clone()),
                };
                if all {
                    return Some(goal.into());
                }
                let tree = &compared.tree;
                let marked: Vec<usize> = match tree.marked.is_empty() && tree.in_part.is_empty() {
                    false => tree.marked.iter().chain(tree.in_part.keys()).copied().collect(),
                    true => tree.meant(compared.scroll.at, &compared.changes),
                };
                if marked.is_empty() {
                    return None;
                }
                let changes = marked.iter().filter_map(|at| compared.changes.all.get(*at));
                let paths =
                    changes.flat_map(|change| change.hosts.iter().map(|host| host.clone().into_os_string()));
                let lines = tree.in_part.iter().filter_map(|(at, marks)| {
                    let line = |part: &Part| match part {
                        Part::Line(line) => Some(*line),
                        Part::Metadata => None,
                    };
                    Some(MarkedFile {
                        path: compared.changes.all.get(*at)?.hosts.first()?.clone(),
                        sides: marks.sides,
                        lines: marks
                            .parts
                            .iter()
                            .filter_map(line)
                            .collect::<BTreeSet<ChangedLine>>(),
                        metadata: marks.parts.contains(&Part::Metadata),
                    })
                });
                Some(Wanted {
                    goal,
                    paths: paths.collect(),
                    lines: lines.collect(),
                })
            }
            _ => None,
        }
    }
}

/// Goal of a restore, with what it is limited to.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) goal: Goal,
    /// Only these and everything below them; all if empty.
    pub(super) paths: Vec<OsString>,
    /// Files among them of which only the marked lines are restored.
    pub(super) lines: Vec<MarkedFile>,
}

impl From<Goal> for Wanted {
    fn from(goal: Goal) -> Self {
        Self {
            goal,
            paths: Vec::new(),
            lines: Vec::new(),
        }
    }
}

/// The newest receipt of a restore or an undo; 0 when there is none.
fn newest_restore(timeline: &Timeline) -> u64 {
    let numbers = timeline.moments.iter().map(|moment| match &moment.what {
        What::Restore { number, .. } => *number,
        What::Snapshot { .. } => 0,
    });
    numbers.max().unwrap_or(0)
}
