//! Jobs beside a restore: each is asked for by a key, then confirmed or completed with a text, then run.

use std::path::PathBuf;

use ratatui::crossterm::event::KeyCode;

use super::app::App;
use super::data::{Ask, ForgetText, Job, What};
use super::views::{Copyable, Question, View, in_one_row};
use crate::cli::suggested_command::literal;
use crate::display::shell;

impl App {
    /// Asks before a job, if a session or snapshot is selected for it.
    pub(super) fn question(&mut self, key: char) {
        let asked = match key {
            'P' => self.pin_question(),
            'm' => self.with_session(|session| {
                let name = self.name_of(&session);
                let empty = if name.is_empty() { "none" } else { "removes it" };
                (
                    format!("Name of {session} (empty: {empty})"),
                    Job::Rename { session, name },
                )
            }),
            'c' => self.with_session(|session| {
                (
                    format!("Checkpoint of {session}, with this name (empty: none)"),
                    Job::Checkpoint {
                        session,
                        name: String::new(),
                    },
                )
            }),
            'F' => self.with_snapshot(|session, snapshot, name| {
                (
                    format!("Fork the {name} into this directory (empty: a new one below ~/.jackin)"),
                    Job::Fork {
                        session,
                        snapshot,
                        directory: String::new(),
                    },
                )
            }),
            'x' => self.with_snapshot(|session, snapshot, name| {
                (
                    format!("Export the {name} to this file"),
                    Job::Export {
                        session,
                        snapshot,
                        file: String::new(),
                    },
                )
            }),
            _ => None,
        };
        let Some((words, job)) = asked else {
            self.message = Some("Select a session or a snapshot first.".to_owned());
            return;
        };
        let typed = match &job {
            Job::Pin { .. } => None,
            Job::Rename { name, .. } => Some(name.clone()),
            _ => Some(String::new()),
        };
        self.question = Some(Question { words, typed, job });
    }

    fn with_session(&self, question: impl FnOnce(String) -> (String, Job)) -> Option<(String, Job)> {
        self.instance().map(question)
    }

    /// Passes the session, the selected snapshot and its name. In the list of sessions that is the baseline.
    fn with_snapshot(
        &self,
        question: impl FnOnce(String, Option<String>, String) -> (String, Job),
    ) -> Option<(String, Job)> {
        let session = self.instance()?;
        match self.view() {
            View::Sessions => Some(question(session, None, "baseline".to_owned())),
            _ => {
                let moment = self.chosen_moment()?;
                let (id, name) = match &moment.what {
                    What::Snapshot { id, .. } => (id.clone(), moment.name.clone()),
                    What::Restore { emergency, number } => {
                        (emergency.clone(), format!("emergency snapshot of {number}"))
                    }
                };
                Some(question(session, Some(id), name))
            }
        }
    }

    fn pin_question(&self) -> Option<(String, Job)> {
        let is_whole = self.view() == View::Sessions;
        let session = self.instance()?;
        let (snapshot, what, is_pinned) = match is_whole {
            true => {
                let chosen = self.chosen_session()?;
                (
                    None,
                    format!("{session} with all of its snapshots"),
                    chosen.is_pinned,
                )
            }
            false => {
                let moment = self.chosen_moment()?;
                let What::Snapshot { id, .. } = &moment.what else {
                    return None;
                };
                (
                    Some(id.clone()),
                    format!("the snapshot {}", moment.name),
                    moment.is_pinned,
                )
            }
        };
        let words = match is_pinned {
            true => format!("Unpin {what}, so that retention may delete it?"),
            false => format!("Pin {what}, so that retention never deletes it?"),
        };
        let job = Job::Pin {
            session,
            snapshot,
            pins: !is_pinned,
        };
        Some((words, job))
    }

    /// Takes a key while a question is open.
    pub(super) fn answered(&mut self, code: KeyCode) {
        let Some(mut question) = self.question.take() else {
            return;
        };
        match (&mut question.typed, code) {
            (_, KeyCode::Esc) => return,
            (None, KeyCode::Char('y')) => return self.run_job(question.job),
            // Another key is no yes.
            (None, _) => return,
            (Some(typed), KeyCode::Enter) => {
                let typed = std::mem::take(typed);
                return self.run_typed(question, typed);
            }
            (Some(typed), KeyCode::Backspace) => {
                typed.pop();
            }
            (Some(typed), KeyCode::Char(letter)) if !letter.is_control() => typed.push(letter),
            _ => {}
        }
        self.question = Some(question);
    }

    fn run_typed(&mut self, question: Question, typed: String) {
        let mut job = question.job;
        match &mut job {
            Job::Rename { name, .. } if *name == typed => return,
            Job::Rename { name, .. } | Job::Checkpoint { name, .. } => *name = typed,
            Job::Fork { directory, .. } => *directory = typed,
            Job::Export { .. } if typed.is_empty() => {
                self.message = Some("Nothing was exported: the name of the file is missing.".to_owned());
                return;
            }
            Job::Export { file, .. } => *file = typed,
            Job::Pin { .. } | Job::Forget { .. } => {}
        }
        self.run_job(job);
    }

    fn run_job(&mut self, job: Job) {
        let words = match job {
            Job::Pin { .. } => "pinning",
            Job::Rename { .. } => "renaming",
            Job::Checkpoint { .. } => "taking a checkpoint",
            Job::Fork { .. } => "writing the fork",
            Job::Export { .. } => "exporting",
            Job::Forget { .. } => "forgetting",
        };
        self.ask(Ask::Do(job), words);
    }

    /// Shows what forgetting the selected session would delete.
    pub(super) fn plan_forget(&mut self) {
        if let Some(session) = self.instance() {
            self.ask(Ask::PlanForget(session), "planning");
        }
    }

    /// Forgets what the plan lists, once it was seen.
    pub(super) fn agree_to_forget(&mut self) {
        let Some(plan) = self.forget.as_ref().filter(|_| self.waiting.is_none()) else {
            return;
        };
        if plan.seen {
            let job = Job::Forget {
                session: plan.session.clone(),
                agreed: ForgetText {
                    text: plan.page.text.clone(),
                    at: plan.at,
                },
            };
            self.run_job(job);
        }
    }

    /// Returns the name of a session; empty if it has none.
    fn name_of(&self, session: &str) -> String {
        let mut sessions = self.sessions.iter().flatten();
        let found = sessions.find(|found| found.id == session);
        found.and_then(|found| found.name.clone()).unwrap_or_default()
    }

    fn roots_of(&self, session: &str) -> Vec<PathBuf> {
        let mut sessions = self.sessions.iter().flatten();
        let found = sessions.find(|found| found.id == session);
        found.map(|found| found.roots.clone()).unwrap_or_default()
    }

    /// Lists what can be copied of the selected row.
    pub(super) fn copyable(&self) -> Vec<Copyable> {
        let Some(session) = self.instance() else {
            return Vec::new();
        };
        let command = |words: String| ('c', "command", format!("{} {words}", self.called).into());
        match self.view() {
            View::Sessions => {
                let roots = self.chosen_session().map(|session| session.roots.clone());
                let keys = std::iter::once('p').chain('2'..='9');
                let roots = keys.zip(roots.into_iter().flatten());
                let roots = roots.map(|(key, root)| (key, "path", root.into()));
                let own = [
                    ('i', "id", session.clone().into()),
                    command(format!("show {session}")),
                ];
                roots.chain(own).collect()
            }
            View::Timeline => match self.chosen_moment().map(|moment| &moment.what) {
                Some(What::Snapshot { id, .. }) => vec![
                    ('i', "id", format!("{session}:{id}").into()),
                    command(format!("restore {session} --from {id}")),
                ],
                Some(What::Restore { number, .. }) => vec![
                    ('i', "receipt", number.to_string().into()),
                    command(format!("undo {session} --receipt {number}")),
                ],
                None => Vec::new(),
            },
            View::Changes | View::Patch => {
                let Some(compared) = &self.compared else {
                    return Vec::new();
                };
                let sides = &compared.changes.sides;
                let of = format!("{session}:{}", sides.from);
                let path = compared.tree.host(compared.scroll.at, &compared.changes);
                let shown = path.iter().map(|path| ('p', "path", path.into()));
                let roots = self.roots_of(&session);
                let word = path.as_ref().map_or_else(String::new, |path| {
                    format!(" {}", shell::word(literal(&roots, path)))
                });
                let from = match (&sides.to, sides.is_step) {
                    (Some(step), true) => format!("--only-changes-of {step}"),
                    _ => format!("--from {}", sides.from),
                };
                let own = [
                    ('i', "id", of.into()),
                    command(format!("restore {session} {from}{word}")),
                ];
                shown.chain(own).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Opens the choice of what is copied.
    pub(super) fn open_copies(&mut self) {
        self.copies = self.copyable();
    }

    /// Copies what a key chooses.
    pub(super) fn copy(&mut self, code: KeyCode) {
        let copies = std::mem::take(&mut self.copies);
        let chosen = copies.into_iter().find(|(key, ..)| code == KeyCode::Char(*key));
        if let Some((_, name, text)) = chosen {
            self.notice = Some(format!("copied the {name}: {}", in_one_row(name, &text)));
            self.copied = Some(text);
        }
    }
}
