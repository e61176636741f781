//! The question below a plan: yes, no, or a closer look at the plan first.

use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::view;
use super::view::plan::Listed;
use crate::model::RelPath;
use crate::recovery::{ChosenPaths, RecoveryError};
use crate::report::{FoldedLine, MountPlan, RestoreDocument};

/// Number of paths above which a list to choose from has folded directories.
const LONGEST_CHOICE: usize = 1_000;

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
    /// [`Unanswered::Refused`] with [`ErrorKind::NotConfirmed`] after any other answer than a letter of the help;
    /// [`Unanswered::Chosen`].
    pub(super) fn ask(&self, context: &Context<'_>) -> Result<(), Unanswered> {
        let (terminal, caught) = (context.terminal, &context.interrupts);
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
                Some("?" | "h" | "help") => terminal.err(&self.help()),
                _ => {
                    let message = "not confirmed; nothing was changed";
                    return Err(CliError::new(ErrorKind::NotConfirmed, message).into());
                }
            }
            if caught.requested() {
                let message = "not confirmed; nothing was changed";
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
        let plan = self.plan?;
        let mounts: Vec<MountPlan<'_>> = plan.mounts().collect();
        let total: usize = mounts.iter().map(|mount| mount.applied.len()).sum();
        let (mut items, mut meanings) = (Vec::new(), Vec::new());
        for mount in &mounts {
            let folded = match total > LONGEST_CHOICE {
                true => mount.folded(),
                false => mount.folded_git(),
            };
            let root = match mounts.len() {
                1 => String::new(),
                _ => format!("  in {}", view::changes::host(mount.coverage)),
            };
            for step in mount.aside {
                let line = view::aside::lines(std::slice::from_ref(step)).concat();
                items.push(format!("{}{root}", line.trim_start()));
                meanings.push((mount, Meaning::Aside(&step.path)));
            }
            let lines = view::plan::entries(mount, &folded);
            for (text, line) in lines.into_iter().zip(folded) {
                items.push(format!("{}{root}", text.trim_start()));
                meanings.push((mount, Meaning::Steps(line)));
            }
        }
        let numbers = context
            .terminal
            .choose_several("Paths", &items, &context.interrupts)?;
        let mut chosen = ChosenPaths::default();
        for (mount, meaning) in numbers.into_iter().filter_map(|number| meanings.get(number)) {
            meaning.add_to(&mut chosen, mount);
        }
        if chosen.is_empty() {
            context.terminal.err("nothing chosen");
            return None;
        }
        Some(chosen)
    }
}

/// Meaning of a line to choose.
enum Meaning<'a> {
    /// An excluded directory that goes aside or comes back.
    Aside(&'a RelPath),
    /// Steps of the plan.
    Steps(FoldedLine),
}

impl Meaning<'_> {
    /// Adds the paths of a line; of a renamed file both.
    fn add_to(&self, chosen: &mut ChosenPaths, mount: &MountPlan<'_>) {
        let mut add = |at: &usize| {
            if let Some((_, change)) = mount.applied.get(*at) {
                let paths = [Some(&change.path), change.from_path.as_ref()];
                let paths = paths.into_iter().flatten();
                paths.for_each(|path| chosen.insert(mount.coverage, path));
            }
        };
        match self {
            Self::Aside(path) => chosen.insert(mount.coverage, path),
            Self::Steps(FoldedLine::One(at)) => add(at),
            Self::Steps(FoldedLine::Fold(fold)) => fold.items.iter().for_each(add),
        }
    }
}
