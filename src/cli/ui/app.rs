//! State of the screen: the stack of views, the contents of each, and the work under way.

use super::data::{Answer, Ask, Goal, Holding, Moment, Point, Request, Session, Sides, Timeline, What};
use super::scroll::Scroll;
use super::tree::Tree;
use super::views::{Compared, Drawn, Page, Plan, View, Waiting};
use crate::model::Time;

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
    pub(super) points_scroll: Scroll,
    /// Narrows the prompts and calls.
    pub(super) points_filter: String,
    pub(super) compared: Option<Compared>,
    pub(super) plan: Option<Plan>,
    pub(super) done: Page,
    pub(super) store: Vec<Holding>,
    pub(super) store_scroll: Scroll,
    pub(super) log: Page,
    /// A filter is being typed.
    pub(super) typing: bool,
    pub(super) help: bool,
    /// Said over everything until a key is pressed.
    pub(super) message: Option<String>,
    pub(super) waiting: Option<Waiting>,
    number: u64,
    /// To be asked.
    pub(super) asks: Vec<(u64, Ask)>,
    /// Answers to questions up to this number are not wanted any more.
    pub(super) given_up: u64,
    pub(super) over: bool,
    /// Outcome of a restore that ended after the operator left, so the screen did not show it.
    pub(super) farewell: Option<String>,
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
            points_scroll: Scroll::default(),
            points_filter: String::new(),
            compared: None,
            plan: None,
            done: Page::default(),
            store: Vec::new(),
            store_scroll: Scroll::default(),
            log: Page::default(),
            typing: false,
            help: false,
            message: None,
            waiting: None,
            number: 0,
            asks: Vec::new(),
            given_up: 0,
            over: false,
            farewell: None,
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
            acts: matches!(ask, Ask::Act(..)),
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

    /// Files are being changed.
    pub(super) fn acts(&self) -> bool {
        self.waiting.is_some_and(|waiting| waiting.acts)
    }

    /// The sessions that the filter leaves.
    pub(super) fn shown_sessions(&self) -> Vec<&Session> {
        let filter = self.sessions_filter.to_lowercase();
        let all = self.sessions.iter().flatten();
        let fits = |session: &&Session| {
            let mut words = [
                Some(&session.id),
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
        self.timeline.as_ref()?.moments.get(self.timeline_scroll.at)
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
            _ => self.timeline.as_ref().map(|timeline| timeline.id.clone()),
        }
    }

    /// Asks for the lines of the path that is chosen, when others are shown.
    pub(super) fn follow(&mut self) {
        let Some(compared) = &mut self.compared else {
            return;
        };
        let wanted = compared.tree.change(compared.scroll.at);
        if wanted == compared.patch_of {
            return;
        }
        compared.patch_of = wanted;
        compared.patch.clear();
        compared.patch_scroll = Scroll::default();
        if let Some(change) = wanted {
            self.number += 1;
            self.asks.push((self.number, Ask::Patch(change)));
        }
    }

    /// Opens what differs between a snapshot and now, or between two.
    pub(super) fn compare(&mut self, from: String, to: Option<String>) {
        let Some(instance) = self.timeline.as_ref().map(|timeline| timeline.id.clone()) else {
            return;
        };
        self.ask(Ask::Changes(Sides { instance, from, to }), "comparing");
    }

    /// Asks what going back would do.
    pub(super) fn plan(&mut self, goal: Goal, paths: Vec<std::ffi::OsString>) {
        let Some(instance) = self.instance() else { return };
        let request = Request {
            instance,
            goal,
            paths,
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
        if let Answer::Patch(change, lines) = answer {
            let of = self.compared.as_mut();
            if let Some(compared) = of.filter(|compared| compared.patch_of == Some(change)) {
                compared.patch = lines;
            }
            return;
        }
        if let (true, true, Answer::Done(text) | Answer::Failed(text)) = (self.over, self.acts(), &answer) {
            self.farewell = Some(text.clone());
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
                match at {
                    Some(at) => self.timeline_scroll.at = at,
                    None => self.timeline_scroll = Scroll::default(),
                }
                if !same {
                    self.points_scroll = Scroll::default();
                    self.points_filter.clear();
                }
                self.timeline = Some(timeline);
                // One that is only shown anew is not what the operator went to.
                if self.view() == View::Sessions && waited.is_some_and(|waiting| !waiting.refreshes) {
                    self.open(View::Timeline);
                }
            }
            Answer::Changes(changes) => {
                let tree = Tree::new(&changes);
                self.compared = Some(Compared {
                    changes,
                    tree,
                    scroll: Scroll::default(),
                    patch_of: None,
                    patch: Vec::new(),
                    patch_scroll: Scroll::default(),
                });
                self.open(View::Changes);
                self.follow();
            }
            Answer::Patch(..) => {}
            Answer::Plan(request, text, does_something) => {
                let changed = self.plan.as_ref().filter(|_| self.view() == View::Plan);
                if changed.is_some_and(|plan| plan.request == request) {
                    self.message = Some("The files changed meanwhile. This is the new plan.".to_owned());
                }
                self.plan = Some(Plan {
                    request,
                    page: Page::of(text),
                    does_something,
                    seen: false,
                });
                self.open(View::Plan);
            }
            Answer::Done(text) => {
                self.done = Page::of(text);
                self.views
                    .retain(|view| matches!(view, View::Sessions | View::Timeline));
                self.compared = None;
                self.restored_after = Some(self.timeline.as_ref().map_or(0, newest_restore));
                self.open(View::Done);
                self.refresh();
            }
            Answer::Store(all) => {
                self.store = all;
                self.open(View::Store);
            }
            Answer::Log(text) => {
                self.log = Page::of(text);
                self.open(View::Log);
            }
            Answer::Failed(why) => {
                if self.sessions.is_none() {
                    self.sessions = Some(Vec::new());
                }
                self.message = Some(why);
            }
        }
    }

    /// The row of a timeline that is read anew: of the restore that was just done, else of the moment that is chosen. Rows come in
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

    /// Returns the goal and the paths of a restore from this view: the marked paths, else those in the row.
    pub(super) fn wanted(&self, all: bool) -> Option<(Goal, Vec<std::ffi::OsString>)> {
        match self.view() {
            View::Timeline => match &self.chosen_moment()?.what {
                What::Snapshot { id, .. } => Some((Goal::Snapshot(id.clone()), Vec::new())),
                What::Restore { number, .. } => Some((Goal::Undo(Some(*number)), Vec::new())),
            },
            View::Points => {
                let id = self.chosen_point()?.snapshot.clone()?;
                Some((Goal::Snapshot(id), Vec::new()))
            }
            View::Changes | View::Patch => {
                let compared = self.compared.as_ref()?;
                // A step of the session is reverted alone.
                let goal = match &compared.changes.sides.to {
                    Some(step) => Goal::Step(step.clone()),
                    None => Goal::Snapshot(compared.changes.sides.from.clone()),
                };
                if all {
                    return Some((goal, Vec::new()));
                }
                let marked: Vec<usize> = match compared.tree.marked.is_empty() {
                    false => compared.tree.marked.iter().copied().collect(),
                    true => compared.tree.meant(compared.scroll.at, &compared.changes),
                };
                if marked.is_empty() {
                    return None;
                }
                let changes = marked.iter().filter_map(|at| compared.changes.all.get(*at));
                let paths =
                    changes.flat_map(|change| change.hosts.iter().map(|host| host.clone().into_os_string()));
                Some((goal, paths.collect()))
            }
            _ => None,
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
