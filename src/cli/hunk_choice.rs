//! Choice of hunks on the terminal: asks for each hunk of a plan, as `git checkout -p` does. Nothing is changed by an answer.

use super::context::Context;
use super::edited_text::edited;
use super::error::{CliError, ErrorKind};
use super::text_choice::{ChosenParts, TextChoice};
use super::view;
use crate::diff::{ChosenHunk, TextHunk, TextHunks, holds_passwords};
use crate::model::{Coverage, Entry, RelPath};
use crate::recovery::{ChosenPaths, RestorePlan};
use crate::report::{ChangeKind, Extent, FoldedLine, MountPlan, PatchOptions, Sources, restore_document};
use crate::restore::MAX_COMPOSED;
use crate::terminal::{Role, size, style};

/// Number of lines that are shown of a path that is restored as a whole.
const SHOWN: usize = 40;

/// Error when nothing was chosen.
fn not_confirmed(message: &str) -> CliError {
    CliError::new(ErrorKind::NotConfirmed, message)
}

/// Paths of a plan that are asked for together.
struct Item<'p> {
    /// The line that names them.
    title: String,
    paths: Vec<(&'p Coverage, &'p RelPath)>,
    /// A directory that comes or goes: the answers for what is in it decide.
    directory: Option<ChangeKind>,
    /// Lines that would be undone, if they are asked for as a whole.
    shown: Vec<String>,
    /// A text whose hunks are asked for one by one.
    text: Option<TextChoice<'p>>,
}

impl Item<'_> {
    /// Returns true if another item lies in this directory, which is not asked for then.
    fn is_implied_by(&self, items: &[Self]) -> bool {
        self.directory.is_some() && items.iter().any(|item| item.is_below(self))
    }

    fn is_below(&self, directory: &Self) -> bool {
        let is_below = |path: &RelPath| {
            let mut above = directory.paths.iter();
            above.any(|(_, above)| path != *above && path.is_within(above))
        };
        self.paths.iter().any(|(_, path)| is_below(path))
    }
}

/// Adds the directories that need no question: one to create, if anything in it is chosen, and one to delete, if everything in it is.
fn add_directories(chosen: &mut ChosenPaths, items: &[Item<'_>]) {
    for directory in items.iter().filter(|item| item.is_implied_by(items)) {
        let below = items
            .iter()
            .filter(|item| item.is_below(directory) && !item.is_implied_by(items));
        let is_chosen = |item: &Item<'_>| {
            let mut paths = item.paths.iter();
            paths.all(|(coverage, path)| chosen.contains(coverage, path))
        };
        let is_taken = match directory.directory {
            Some(ChangeKind::Added) => below.into_iter().all(is_chosen),
            _ => below.into_iter().any(is_chosen),
        };
        for (coverage, path) in directory.paths.iter().filter(|_| is_taken) {
            chosen.insert(coverage, path);
        }
    }
}

/// A part of an item that has an answer of its own.
#[derive(Clone)]
enum Part {
    /// The item as a whole.
    Whole,
    /// Mode, owner and attributes of a text file.
    Metadata,
    Hunk(TextHunk),
}

/// A part with its answer.
struct Asked {
    part: Part,
    answer: Option<bool>,
    edited: Option<Vec<u8>>,
}

impl Asked {
    fn new(part: Part) -> Self {
        Self {
            part,
            answer: None,
            edited: None,
        }
    }

    fn is_chosen(&self) -> bool {
        self.answer == Some(true)
    }
}

/// Asks for every hunk of a plan, and returns the chosen paths, with the contents of files of which only some hunks were chosen.
///
/// # Errors
/// [`ErrorKind::NotConfirmed`] if nothing was chosen, after Ctrl-C, and if the terminal goes away.
pub(super) fn choose_hunks(
    context: &Context<'_>,
    RestorePlan {
        store, row, proposal, ..
    }: &RestorePlan,
) -> Result<ChosenPaths, CliError> {
    let blobs = proposal.contents(store);
    let sources = Sources {
        from: &blobs,
        to: None,
        hides_private: store.is_unlocked(),
    };
    let document = restore_document(row, proposal, None);
    let mounts: Vec<MountPlan<'_>> = document.mounts().collect();
    let mut chosen = ChosenPaths::default();
    for mount in &mounts {
        let items = items(mount, &sources);
        let mut quits = false;
        for item in items.iter().filter(|item| !item.is_implied_by(&items)) {
            let texts = item.text.as_ref().map(TextChoice::texts);
            let mut ask = Questions {
                context,
                item,
                texts: texts.as_ref(),
                asked: parts(item, texts.as_ref()),
                quits: false,
            };
            ask.ask()?;
            let asked = ask.asked;
            quits = ask.quits;
            choose(&mut chosen, item, texts.as_ref(), &asked)?;
            if quits {
                break;
            }
        }
        add_directories(&mut chosen, &items);
        if quits {
            break;
        }
    }
    match chosen.is_empty() {
        true => Err(not_confirmed("no hunk was chosen; nothing was changed")),
        false => Ok(chosen),
    }
}

/// Returns what is asked for, in the order of the plan.
fn items<'p>(mount: &'p MountPlan<'_>, sources: &Sources<'_>) -> Vec<Item<'p>> {
    let mut items: Vec<Item<'p>> = Vec::new();
    for step in mount.aside {
        items.push(Item {
            title: view::aside::lines(std::slice::from_ref(step)).concat(),
            paths: vec![(mount.coverage, &step.path)],
            directory: None,
            shown: Vec::new(),
            text: None,
        });
    }
    for line in mount.folded() {
        match &line {
            FoldedLine::One(at) => items.extend(one(mount, *at, sources)),
            FoldedLine::Fold(fold) if matches!(fold.extent, Extent::Files(_)) => {
                items.extend(fold.items.iter().filter_map(|at| one(mount, *at, sources)));
            }
            FoldedLine::Fold(fold)
                if matches!(
                    fold.extent,
                    Extent::Whole(ChangeKind::Modified | ChangeKind::Mode)
                ) =>
            {
                items.extend(fold.items.iter().filter_map(|at| one(mount, *at, sources)));
            }
            FoldedLine::Fold(fold) => items.push(Item {
                title: view::plan::entries(mount, std::slice::from_ref(&line)).concat(),
                paths: fold.items.iter().flat_map(|at| both(mount, *at)).collect(),
                directory: None,
                shown: Vec::new(),
                text: None,
            }),
        }
    }
    items
}

/// Returns the paths of a change: of a renamed file both.
fn both<'p>(mount: &MountPlan<'p>, at: usize) -> Vec<(&'p Coverage, &'p RelPath)> {
    let change = mount.applied.get(at).map(|(_, change)| *change);
    let paths = change.map(|change| [Some(&change.path), change.from_path.as_ref()]);
    let paths = paths.into_iter().flatten().flatten();
    paths.map(|path| (mount.coverage, path)).collect()
}

fn one<'p>(mount: &MountPlan<'p>, at: usize, sources: &Sources<'_>) -> Option<Item<'p>> {
    let (_, change) = mount.applied.get(at)?;
    let text = TextChoice::of(mount.coverage, change, sources, MAX_COMPOSED);
    let options = PatchOptions {
        context: 3,
        show_secrets: false,
        hides: false,
    };
    let shown = match &text {
        Some(_) => Vec::new(),
        None => {
            let patch = view::patch::patch(mount.coverage, change, sources, options);
            // The first line names the path, as the title does.
            patch.lines().skip(1).map(str::to_owned).collect()
        }
    };
    let entry = change.from.as_ref().or(change.to.as_ref());
    let comes_or_goes = matches!(change.kind, ChangeKind::Added | ChangeKind::Deleted);
    let directory = comes_or_goes && entry.is_some_and(Entry::is_dir);
    Some(Item {
        title: view::plan::entries(mount, &[FoldedLine::One(at)]).concat(),
        paths: both(mount, at),
        directory: directory.then_some(change.kind),
        shown,
        text,
    })
}

fn parts(item: &Item<'_>, texts: Option<&TextHunks<'_>>) -> Vec<Asked> {
    let (Some(text), Some(texts)) = (&item.text, texts) else {
        return vec![Asked::new(Part::Whole)];
    };
    let metadata = text.has_metadata().then_some(Part::Metadata);
    let hunks = texts.hunks().into_iter().map(Part::Hunk);
    metadata.into_iter().chain(hunks).map(Asked::new).collect()
}

/// Adds what was chosen of an item.
fn choose(
    chosen: &mut ChosenPaths,
    item: &Item<'_>,
    texts: Option<&TextHunks<'_>>,
    asked: &[Asked],
) -> Result<(), CliError> {
    if !asked.iter().any(Asked::is_chosen) {
        return Ok(());
    }
    let (Some(text), Some(texts), Some((coverage, path))) = (&item.text, texts, item.paths.first()) else {
        for (coverage, path) in &item.paths {
            chosen.insert(coverage, path);
        }
        return Ok(());
    };
    let mut parts = ChosenParts {
        hunks: Vec::new(),
        metadata: false,
    };
    for asked in asked.iter().filter(|asked| asked.is_chosen()) {
        match &asked.part {
            Part::Metadata => parts.metadata = true,
            Part::Hunk(hunk) => parts.hunks.push(ChosenHunk {
                hunk: hunk.clone(),
                edited: asked.edited.clone(),
            }),
            Part::Whole => {}
        }
    }
    text.choose(chosen, (*coverage, *path), texts, &parts, asked.len())
}

/// The questions about one item.
struct Questions<'q> {
    context: &'q Context<'q>,
    item: &'q Item<'q>,
    texts: Option<&'q TextHunks<'q>>,
    asked: Vec<Asked>,
    /// The operator wants no more questions.
    quits: bool,
}

impl Questions<'_> {
    fn ask(&mut self) -> Result<(), CliError> {
        let terminal = self.context.terminal;
        terminal.err(&style::paint(Role::Heading, self.item.title.trim()));
        let mut at = 0;
        let mut shows = true;
        while let Some(asked) = self.asked.get(at) {
            if shows {
                self.show(&asked.part);
            }
            shows = true;
            let (question, letters) = self.question(at);
            let answer = terminal.ask_line(&question, &letters, &self.context.interrupts);
            let Some(answer) = answer.filter(|_| !self.context.interrupts.requested()) else {
                return Err(not_confirmed("cancelled; nothing was changed"));
            };
            match answer.as_str() {
                "y" | "n" => {
                    self.answer(at, answer == "y");
                    at = self.open_from(at + 1);
                }
                "a" | "d" => {
                    for rest in at..self.asked.len() {
                        self.answer(rest, answer == "a");
                    }
                    at = self.open_from(0);
                }
                "q" => {
                    self.quits = true;
                    return Ok(());
                }
                "s" if self.splits(at) => self.split(at),
                "e" if self.can_edit(at) => match self.edit(at)? {
                    true => at = self.open_from(at + 1),
                    false => {
                        terminal.err("the edited hunk does not fit, so it is asked for again");
                    }
                },
                "j" if at + 1 < self.asked.len() => at += 1,
                "k" if at > 0 => at -= 1,
                _ => {
                    terminal.err(&self.help(at));
                    shows = false;
                }
            }
        }
        Ok(())
    }

    /// Returns the next part without an answer, from `at` on or else before it; the number of parts if all have one.
    fn open_from(&self, at: usize) -> usize {
        let is_open = |at: &usize| self.asked.get(*at).is_some_and(|asked| asked.answer.is_none());
        let mut order = (at..self.asked.len()).chain(0..at);
        order.find(is_open).unwrap_or(self.asked.len())
    }

    fn answer(&mut self, at: usize, answer: bool) {
        if let Some(asked) = self.asked.get_mut(at)
            && (asked.answer.is_none() || asked.answer != Some(answer))
        {
            asked.answer = Some(answer);
            asked.edited = None;
        }
    }

    fn hunk(&self, at: usize) -> Option<(&TextHunks<'_>, &TextHunk)> {
        match &self.asked.get(at)?.part {
            Part::Hunk(hunk) => Some((self.texts?, hunk)),
            Part::Whole | Part::Metadata => None,
        }
    }

    fn splits(&self, at: usize) -> bool {
        self.hunk(at)
            .is_some_and(|(texts, hunk)| texts.split(hunk).len() > 1)
    }

    /// Returns true for a hunk of text without a login, which the editor would show.
    fn can_edit(&self, at: usize) -> bool {
        self.hunk(at)
            .is_some_and(|(texts, hunk)| !holds_passwords(&texts.editable(hunk)))
    }

    fn split(&mut self, at: usize) {
        let Some((texts, hunk)) = self.hunk(at) else {
            return;
        };
        let parts: Vec<Asked> = texts
            .split(hunk)
            .into_iter()
            .map(|hunk| Asked::new(Part::Hunk(hunk)))
            .collect();
        self.asked.splice(at..=at, parts);
    }

    /// Opens the editor on a hunk; returns false if what it holds afterwards does not fit.
    fn edit(&mut self, at: usize) -> Result<bool, CliError> {
        let Some((texts, hunk)) = self.hunk(at) else {
            return Ok(false);
        };
        let mut text = texts.editable(hunk);
        text.extend_from_slice(HELP_IN_EDITOR.as_bytes());
        let Some(text) = edited(self.context, &text)? else {
            return Ok(false);
        };
        let Some(lines) = texts.read_edited(hunk, &text) else {
            return Ok(false);
        };
        if let Some(asked) = self.asked.get_mut(at) {
            asked.answer = Some(true);
            asked.edited = Some(lines);
        }
        Ok(true)
    }

    fn show(&self, part: &Part) {
        let terminal = self.context.terminal;
        let lines = match (part, self.texts) {
            (Part::Hunk(hunk), Some(texts)) => view::patch::body(texts.lines(hunk)),
            (Part::Metadata, _) => Vec::new(),
            (Part::Whole | Part::Hunk(_), _) => self.item.shown.clone(),
        };
        let is_whole = matches!(part, Part::Whole);
        let most = if is_whole { SHOWN } else { usize::MAX };
        for line in lines.iter().take(most) {
            terminal.err(line);
        }
        let more = lines.len().saturating_sub(most) as u64;
        if more > 0 {
            terminal.err(&format!("({})", size::counted(more, "more line", "more lines")));
        }
    }

    fn question(&self, at: usize) -> (String, String) {
        let what = match self.asked.get(at).map(|asked| &asked.part) {
            Some(Part::Metadata) => "Undo this change of mode, owner or attributes?",
            Some(Part::Hunk(_)) => "Undo this hunk?",
            Some(Part::Whole) | None => "Undo this change?",
        };
        let mut letters = vec!["y", "n", "q", "a", "d"];
        letters.extend((at + 1 < self.asked.len()).then_some("j"));
        letters.extend((at > 0).then_some("k"));
        letters.extend(self.splits(at).then_some("s"));
        letters.extend(self.can_edit(at).then_some("e"));
        letters.push("?");
        (
            format!("({}/{}) {what}", at + 1, self.asked.len()),
            letters.join(","),
        )
    }

    fn help(&self, at: usize) -> String {
        let lines = [
            Some("y  undo this hunk"),
            Some("n  keep this hunk"),
            Some("q  keep this hunk and all unanswered ones"),
            Some("a  undo this hunk and all later ones of the file"),
            Some("d  keep this hunk and all later ones of the file"),
            (at + 1 < self.asked.len()).then_some("j  leave this hunk open, go to the next one"),
            (at > 0).then_some("k  leave this hunk open, go to the previous one"),
            self.splits(at).then_some("s  split this hunk"),
            self.can_edit(at).then_some("e  edit this hunk"),
            Some("?  show this help"),
        ];
        let lines: Vec<String> = lines.iter().flatten().map(|line| format!("  {line}")).collect();
        lines.join("\n")
    }
}

/// Lines below a hunk in the editor.
const HELP_IN_EDITOR: &str = "\
# Lines with - come back, lines with + go.
# To keep a + line, replace its + with a blank. To skip a - line, delete it.
# Lines with # are ignored. If the hunk does not fit afterwards, it is asked for again.
";
