//! The question below a plan: yes, no, or a closer look at the plan first.

use std::collections::HashMap;

use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::view;
use super::view::plan::Listed;
use crate::model::{Coverage, Entry, RelPath};
use crate::recovery::{ChosenPaths, RecoveryError};
use crate::report::{Extent, FoldedLine, MountPlan, RestoreDocument};
use crate::terminal::checklist::Row;

/// Prints lines one by one, until its argument returns false.
type PrintLines<'a> = &'a dyn Fn(&mut dyn FnMut(&str) -> bool);

/// A question with everything that the operator can look at before the answer.
pub(super) struct PlanQuestion<'a> {
    /// The question.
    pub(super) words: &'a str,
    /// The plan; `None` if it cannot be read.
    pub(super) plan: Option<&'a RestoreDocument<'a>>,
    /// Prints the lines that would be undone; returns false once the reader is gone.
    pub(super) diff: Option<PrintLines<'a>>,
    /// Paths can be chosen.
    pub(super) can_choose: bool,
    /// The list to choose from comes before the question.
    pub(super) chooses_first: bool,
    /// Stdout belongs to a program, so everything goes to stderr.
    pub(super) is_json: bool,
}

/// End of a question without a yes.
pub(super) enum Unanswered {
    /// The operator declined, or something failed.
    Refused(CliError),
    /// The operator chose paths: a plan with these alone is wanted.
    Chosen(ChosenPaths),
}

impl From<CliError> for Unanswered {
    fn from(error: CliError) -> Self {
        Self::Refused(error)
    }
}

impl From<RecoveryError> for Unanswered {
    fn from(error: RecoveryError) -> Self {
        Self::Refused(error.into())
    }
}

impl PlanQuestion<'_> {
    /// Asks until the answer is yes, no, or a choice of paths. The plan must be on the terminal already.
    ///
    /// # Errors
    /// [`Unanswered::Refused`] with [`ErrorKind::NotConfirmed`] after a no, an empty line or no answer at all; [`Unanswered::Chosen`].
    pub(super) fn ask(&self, context: &Context<'_>) -> Result<(), Unanswered> {
        let (terminal, caught) = (context.terminal, &context.interrupts);
        if self.chooses_first && terminal.can_ask() && !self.can_choose {
            // To go on with all paths would be more than what was asked for.
            let message = "this terminal cannot show a list to choose from; nothing was changed";
            let error = CliError::new(ErrorKind::Usage, message);
            return Err(error.hint("name the paths to restore behind the session").into());
        }
        if self.chooses_first {
            return Err(match self.choose(context) {
                Some(chosen) => Unanswered::Chosen(chosen),
                None => CliError::new(ErrorKind::NotConfirmed, "not confirmed; nothing was changed").into(),
            });
        }
        loop {
            let answer = terminal.ask_line(self.words, "y/N/?", caught);
            match answer.as_deref() {
                Some("y" | "yes") => return Ok(()),
                Some("d") if self.diff.is_some() => self.show_diff(context),
                Some("p") if self.plan.is_some() => self.show_plan(context),
                Some("i") if self.can_choose => {
                    if let Some(chosen) = self.choose(context) {
                        return Err(Unanswered::Chosen(chosen));
                    }
                }
                Some("" | "n" | "no") | None => {
                    let message = "not confirmed; nothing was changed";
                    return Err(CliError::new(ErrorKind::NotConfirmed, message).into());
                }
                // Another answer is a slip, not a no.
                Some(_) => terminal.err(&self.help()),
            }
            if caught.requested() {
                let message = "cancelled; nothing was changed";
                return Err(CliError::new(ErrorKind::NotConfirmed, message).into());
            }
        }
    }

    fn help(&self) -> String {
        let lines = [
            Some("y  yes: do what the plan states"),
            Some("n  no: change nothing (the default)"),
            self.diff.map(|_| "d  show the lines that would be undone"),
            self.plan.map(|_| "p  show the plan with every path"),
            self.can_choose.then_some("i  choose some of the paths"),
            Some("?  show this help"),
        ];
        let lines: Vec<String> = lines.iter().flatten().map(|line| format!("  {line}")).collect();
        lines.join("\n")
    }

    /// Prints lines where the operator reads them.
    fn show(&self, context: &Context<'_>, print: impl FnOnce(&mut dyn FnMut(&str) -> bool)) {
        let terminal = context.terminal;
        if self.is_json || !terminal.is_tty_out() {
            return print(&mut |line| {
                terminal.err(line);
                !context.interrupts.requested()
            });
        }
        let mut page = terminal.page();
        print(&mut |line| {
            page.line(line);
            !page.is_closed() && !context.interrupts.requested()
        });
    }

    fn show_diff(&self, context: &Context<'_>) {
        if let Some(diff) = self.diff {
            self.show(context, |print| diff(print));
        }
    }

    fn show_plan(&self, context: &Context<'_>) {
        let Some(plan) = self.plan else { return };
        let width = context.terminal.width_out();
        self.show(context, |print| {
            let lines = view::plan::paths(plan, width, Listed::All);
            let _ = lines.iter().all(|line| print(line));
        });
    }

    /// Lets the operator choose among the lines of the plan; `None` if nothing was chosen.
    fn choose(&self, context: &Context<'_>) -> Option<ChosenPaths> {
        let mounts: Vec<MountPlan<'_>> = self.plan?.mounts().collect();
        let mut choices = Choices::default();
        for mount in &mounts {
            let root = match mounts.len() {
                1 => String::new(),
                _ => format!("  in {}", view::changes::host(mount.coverage)),
            };
            choices.add(mount, &root);
        }
        let Choices { rows, paths } = choices;
        let terminal = context.terminal;
        let Some(numbers) = terminal.choose_several("Paths", rows, &context.interrupts) else {
            // Ctrl-C ends the command, and its error says so.
            if !context.interrupts.requested() {
                terminal.err("cancelled");
            }
            return None;
        };
        let mut chosen = ChosenPaths::default();
        for (mount, path) in numbers.iter().filter_map(|number| paths.get(*number)).flatten() {
            chosen.insert(mount, path);
        }
        if chosen.is_empty() {
            terminal.err("nothing chosen");
            return None;
        }
        Some(chosen)
    }
}

/// Rows to choose from: the folded lines of a plan, with the paths that each of them means.
#[derive(Default)]
struct Choices<'p> {
    rows: Vec<Row>,
    /// Paths of each row; of a renamed file both. None of a fold, which means its members.
    paths: Vec<Vec<(&'p Coverage, &'p RelPath)>>,
}

impl<'p> Choices<'p> {
    /// Adds the lines of a mount.
    fn add(&mut self, mount: &MountPlan<'p>, root: &str) {
        let mut push = |text: &str, fold: Option<usize>, paths: Vec<&'p RelPath>| {
            self.rows.push(Row {
                text: format!("{}{root}", text.trim_start()),
                fold,
                above: Vec::new(),
            });
            let paths = paths.into_iter().map(|path| (mount.coverage, path));
            self.paths.push(paths.collect());
            self.rows.len() - 1
        };
        for step in mount.aside {
            let line = view::aside::lines(std::slice::from_ref(step)).concat();
            push(&line, None, vec![&step.path]);
        }
        let both = |at: usize| {
            let change = mount.applied.get(at).map(|(_, change)| *change);
            let paths = change.map(|change| [Some(&change.path), change.from_path.as_ref()]);
            paths.into_iter().flatten().flatten().collect::<Vec<_>>()
        };
        let mut places: Vec<(usize, usize)> = Vec::new();
        for line in mount.folded() {
            let text = view::plan::entries(mount, std::slice::from_ref(&line)).concat();
            match &line {
                FoldedLine::One(at) => places.push((push(&text, None, both(*at)), *at)),
                // A part of git's own data makes no sense alone.
                FoldedLine::Fold(fold) if matches!(fold.extent, Extent::Git(_)) => {
                    let paths = fold.items.iter().flat_map(|at| both(*at)).collect();
                    let row = push(&text, None, paths);
                    places.extend(fold.items.iter().map(|at| (row, *at)));
                }
                FoldedLine::Fold(fold) => {
                    let head = push(&text, None, Vec::new());
                    for at in &fold.items {
                        let text = view::plan::entries(mount, &[FoldedLine::One(*at)]).concat();
                        places.push((push(&text, Some(head), both(*at)), *at));
                    }
                }
            }
        }
        // A directory is chosen with everything below it.
        let is_directory = |at: usize| {
            let change = mount.applied.get(at).map(|(_, change)| *change);
            change.is_some_and(|change| {
                [&change.from, &change.to]
                    .into_iter()
                    .flatten()
                    .any(Entry::is_dir)
            })
        };
        let directories = places.iter().filter(|(_, at)| is_directory(*at));
        let directories: HashMap<&RelPath, usize> = directories
            .flat_map(|(row, at)| both(*at).into_iter().map(|path| (path, *row)))
            .collect();
        for (row, at) in &places {
            let ancestors = both(*at).into_iter().flat_map(RelPath::ancestors);
            let above = ancestors.filter_map(|path| directories.get(&path).copied());
            if let Some(own) = self.rows.get_mut(*row) {
                own.above.extend(above.filter(|other| other != row));
                own.above.sort_unstable();
                own.above.dedup();
            }
        }
    }
}
