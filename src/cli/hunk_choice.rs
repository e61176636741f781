//! Choice of hunks on the terminal: asks for each hunk of a plan, as `git checkout -p` does. Nothing is changed by an answer.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::edited_text::edited;
use super::error::{CliError, ErrorKind};
use super::text_choice::{ChosenParts, TextChoice};
use super::view;
use crate::diff::{ChosenHunk, TextHunk, TextHunks, holds_passwords};
use crate::model::{AsideStep, Coverage, Entry, RelPath};
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

/// Paths of a plan that are asked for together. Nothing is read for them before.
struct Item<'p> {
    subject: Subject<'p>,
    paths: Vec<&'p RelPath>,
    /// A directory that comes or goes: the answers for what is in it decide.
    directory: Option<ChangeKind>,
}

/// Part of its plan that an item is.
enum Subject<'p> {
    /// An excluded directory that goes aside or comes back.
    Aside(&'p AsideStep),
    /// A change, or several that are asked for as one.
    Line(FoldedLine),
}

impl<'p> Item<'p> {
    /// Returns the line that names the paths.
    fn title(&self, mount: &MountPlan<'_>) -> String {
        match &self.subject {
            Subject::Aside(step) => view::aside::lines(std::slice::from_ref(step)).concat(),
            Subject::Line(line) => view::plan::entries(mount, std::slice::from_ref(line)).concat(),
        }
    }

    /// Reads what is shown of the item. The texts of all files together may be larger than the memory.
    fn load(&self, mount: &MountPlan<'p>, sources: &Sources<'_>) -> Loaded<'p> {
        let Subject::Line(FoldedLine::One(at)) = &self.subject else {
            return Loaded::default();
        };
        let Some((_, change)) = mount.applied.get(*at) else {
            return Loaded::default();
        };
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
        Loaded { shown, text }
    }
}

/// Contents of an item, while it is asked for.
#[derive(Default)]
struct Loaded<'p> {
    /// Lines that would be undone, if they are asked for as a whole.
    shown: Vec<String>,
    /// A text whose hunks are asked for one by one.
    text: Option<TextChoice<'p>>,
}

/// Directories that need no question: the answers for what is in them decide.
struct Implied<'p> {
    /// Each directory that comes or goes, with its position among the items.
    directories: BTreeMap<&'p RelPath, usize>,
    /// Those in which another item lies.
    implied: BTreeSet<usize>,
}

impl<'p> Implied<'p> {
    fn of(items: &[Item<'p>]) -> Self {
        let directory = |(at, item): (usize, &Item<'p>)| {
            let path = item.paths.first().filter(|_| item.directory.is_some());
            path.map(|path| (*path, at))
        };
        let directories = items.iter().enumerate().filter_map(directory).collect();
        let mut made = Self {
            directories,
            implied: BTreeSet::new(),
        };
        made.implied = items.iter().flat_map(|item| made.around(item)).collect();
        made
    }

    /// Returns the directories in which a path of the item lies. Each path is looked at once, for a plan may have very many.
    fn around(&self, item: &Item<'_>) -> Vec<usize> {
        let above = item.paths.iter().flat_map(|path| path.ancestors());
        above
            .filter_map(|above| self.directories.get(&above).copied())
            .collect()
    }

    /// Returns the items that are asked for.
    fn asked<'i>(&'i self, items: &'i [Item<'p>]) -> impl Iterator<Item = &'i Item<'p>> {
        let asked = items.iter().enumerate();
        asked.filter_map(|(at, item)| (!self.implied.contains(&at)).then_some(item))
    }

    /// Returns the directories to restore: one to create, if anything in it is chosen, and one to delete, if everything in it is.
    fn taken(&self, items: &[Item<'p>], is_chosen: impl Fn(&RelPath) -> bool) -> Vec<&'p RelPath> {
        // For each directory whether any, and whether all of what is asked for in it is chosen.
        let mut found: BTreeMap<usize, (bool, bool)> = BTreeMap::new();
        for item in self.asked(items) {
            let is_chosen = item.paths.iter().all(|path| is_chosen(path));
            for at in self.around(item) {
                let (any, all) = found.entry(at).or_insert((false, true));
                *any |= is_chosen;
                *all &= is_chosen;
            }
        }
        let taken = found.into_iter().filter_map(|(at, (any, all))| {
            let item = items.get(at)?;
            let is_taken = match item.directory {
                Some(ChangeKind::Added) => all,
                _ => any,
            };
            item.paths.first().copied().filter(|_| is_taken)
        });
        taken.collect()
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
        let items = items(mount);
        let implied = Implied::of(&items);
        let mut quits = false;
        for item in implied.asked(&items) {
            let loaded = item.load(mount, &sources);
            let texts = loaded.text.as_ref().map(TextChoice::texts);
            let mut ask = Questions {
                context,
                title: item.title(mount),
                shown: &loaded.shown,
                texts: texts.as_ref(),
                asked: parts(&loaded, texts.as_ref()),
                quits: false,
            };
            ask.ask()?;
            let asked = ask.asked;
            quits = ask.quits;
            let paths = (mount.coverage, item.paths.as_slice());
            choose(&mut chosen, paths, (&loaded, texts.as_ref()), &asked)?;
            if quits {
                break;
            }
        }
        for directory in implied.taken(&items, |path| chosen.contains(mount.coverage, path)) {
            chosen.insert(mount.coverage, directory);
        }
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
fn items<'p>(mount: &MountPlan<'p>) -> Vec<Item<'p>> {
    let aside = mount.aside.iter().map(|step| Item {
        subject: Subject::Aside(step),
        paths: vec![&step.path],
        directory: None,
    });
    let mut items: Vec<Item<'p>> = aside.collect();
    for line in mount.folded() {
        match line {
            FoldedLine::One(at) => items.extend(one(mount, at)),
            FoldedLine::Fold(fold)
                if matches!(
                    fold.extent,
                    Extent::Files(_) | Extent::Whole(ChangeKind::Modified | ChangeKind::Mode)
                ) =>
            {
                items.extend(fold.items.iter().filter_map(|at| one(mount, *at)));
            }
            FoldedLine::Fold(fold) => items.push(Item {
                paths: fold.items.iter().flat_map(|at| both(mount, *at)).collect(),
                subject: Subject::Line(FoldedLine::Fold(fold)),
                directory: None,
            }),
        }
    }
    items
}

/// Returns the paths of a change: of a renamed file both.
fn both<'p>(mount: &MountPlan<'p>, at: usize) -> Vec<&'p RelPath> {
    let change = mount.applied.get(at).map(|(_, change)| *change);
    let paths = change.map(|change| [Some(&change.path), change.from_path.as_ref()]);
    paths.into_iter().flatten().flatten().collect()
}

fn one<'p>(mount: &MountPlan<'p>, at: usize) -> Option<Item<'p>> {
    let (_, change) = mount.applied.get(at)?;
    let entry = change.from.as_ref().or(change.to.as_ref());
    let comes_or_goes = matches!(change.kind, ChangeKind::Added | ChangeKind::Deleted);
    let directory = comes_or_goes && entry.is_some_and(Entry::is_dir);
    Some(Item {
        subject: Subject::Line(FoldedLine::One(at)),
        paths: both(mount, at),
        directory: directory.then_some(change.kind),
    })
}

fn parts(loaded: &Loaded<'_>, texts: Option<&TextHunks<'_>>) -> Vec<Asked> {
    let (Some(text), Some(texts)) = (&loaded.text, texts) else {
        return vec![Asked::new(Part::Whole)];
    };
    let metadata = text.has_metadata().then_some(Part::Metadata);
    let hunks = texts.hunks().into_iter().map(Part::Hunk);
    metadata.into_iter().chain(hunks).map(Asked::new).collect()
}

/// Adds what was chosen of an item.
fn choose(
    chosen: &mut ChosenPaths,
    (coverage, paths): (&Coverage, &[&RelPath]),
    (loaded, texts): (&Loaded<'_>, Option<&TextHunks<'_>>),
    asked: &[Asked],
) -> Result<(), CliError> {
    if !asked.iter().any(Asked::is_chosen) {
        return Ok(());
    }
    let (Some(text), Some(texts), Some(path)) = (&loaded.text, texts, paths.first()) else {
        for path in paths {
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
    text.choose(chosen, (coverage, path), texts, &parts, asked.len())
}

/// The questions about one item.
struct Questions<'q> {
    context: &'q Context<'q>,
    /// The line that names the paths.
    title: String,
    /// Lines that would be undone, if they are asked for as a whole.
    shown: &'q [String],
    texts: Option<&'q TextHunks<'q>>,
    asked: Vec<Asked>,
    /// The operator wants no more questions.
    quits: bool,
}

impl Questions<'_> {
    fn ask(&mut self) -> Result<(), CliError> {
        let terminal = self.context.terminal;
        terminal.err(&style::paint(Role::Heading, self.title.trim()));
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
            (Part::Whole | Part::Hunk(_), _) => self.shown.to_vec(),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{FoldedLine, Implied, Item, Subject};
    use crate::model::RelPath;
    use crate::report::ChangeKind;

    fn path(text: &str) -> RelPath {
        RelPath::new(text.as_bytes()).unwrap()
    }

    fn item(path: &RelPath, directory: Option<ChangeKind>) -> Item<'_> {
        Item {
            subject: Subject::Line(FoldedLine::One(0)),
            paths: vec![path],
            directory,
        }
    }

    #[test]
    fn answers_for_what_is_in_a_directory_decide_about_it() {
        let names = ["d", "d/e", "d/e/one", "d/two", "empty", "dx"].map(path);
        for (kind, chosen, wanted) in [
            (ChangeKind::Deleted, &["d/two"][..], &["d"][..]),
            (ChangeKind::Deleted, &["d/e/one"], &["d", "d/e"]),
            (ChangeKind::Deleted, &["dx", "empty"], &[]),
            (ChangeKind::Added, &["d/e/one"], &["d/e"]),
            (ChangeKind::Added, &["d/e/one", "d/two"], &["d", "d/e"]),
            (ChangeKind::Added, &["d/two"], &[]),
        ] {
            let is_directory = |name: &RelPath| matches!(name.as_bytes(), b"d" | b"d/e" | b"empty");
            let items = names.each_ref();
            let items = items.map(|name| item(name, is_directory(name).then_some(kind)));
            let implied = Implied::of(&items);
            let asked: Vec<&RelPath> = implied
                .asked(&items)
                .flat_map(|item| item.paths.clone())
                .collect();
            assert_eq!(asked, [&names[2], &names[3], &names[4], &names[5]]);
            let chosen: Vec<RelPath> = chosen.iter().map(|name| path(name)).collect();
            let taken = implied.taken(&items, |path| chosen.contains(path));
            let wanted: Vec<RelPath> = wanted.iter().map(|name| path(name)).collect();
            assert_eq!(taken, wanted.iter().collect::<Vec<_>>(), "{kind:?} {chosen:?}");
        }
    }

    #[test]
    fn very_many_directories_are_decided_about_in_one_pass() {
        /// With comparisons of each path with each other one this would take many minutes.
        const MANY: usize = 50_000;
        let names = (0..MANY).flat_map(|number| [path(&format!("d{number}")), path(&format!("d{number}/f"))]);
        let names: Vec<RelPath> = names.collect();
        let kinds = [Some(ChangeKind::Added), None].into_iter().cycle();
        let items: Vec<Item<'_>> = names
            .iter()
            .zip(kinds)
            .map(|(name, kind)| item(name, kind))
            .collect();
        let implied = Implied::of(&items);
        assert_eq!(implied.asked(&items).count(), MANY);
        let chosen: BTreeSet<&RelPath> = names.iter().skip(1).step_by(4).collect();
        let taken = implied.taken(&items, |path| chosen.contains(path));
        assert_eq!(taken.len(), chosen.len());
    }
}
