//! Key bindings of the screen.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::app::App;
use super::data::{Ask, Goal, Kind, What};
use super::scroll::Scroll;
use super::views::{Compared, Page, View};

/// Returns the key that a letter with Ctrl stands for, as in `less`; never the letter itself, which may restore or delete.
const fn of_control(letter: char) -> KeyCode {
    match letter {
        'd' | 'f' => KeyCode::PageDown,
        'u' | 'b' => KeyCode::PageUp,
        'n' => KeyCode::Down,
        'p' => KeyCode::Up,
        'h' => KeyCode::Backspace,
        _ => KeyCode::Null,
    }
}

impl App {
    /// A key was pressed.
    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        // A terminal sends Alt as Esc before the key, and Esc and a key that were pressed fast look like it.
        if key.modifiers.contains(KeyModifiers::ALT) {
            let plain = |code, modifiers| KeyEvent::new(code, modifiers);
            self.key(plain(KeyCode::Esc, KeyModifiers::NONE));
            return self.key(plain(key.code, key.modifiers - KeyModifiers::ALT));
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        self.notice = None;
        let code = match key.code {
            KeyCode::Char('z') if control => {
                self.suspends = true;
                return;
            }
            KeyCode::Char('c') if control => return self.leave(),
            // As a line of the shell.
            KeyCode::Char(letter @ ('u' | 'w')) if control && self.text().is_some() => {
                return self.erase(letter == 'w');
            }
            KeyCode::Char(letter) if control => of_control(letter),
            code => code,
        };
        match code {
            // Nothing of it can be read.
            code if self.drawn.is_too_small && code != KeyCode::Char('q') => {}
            _ if self.message.take().is_some() => {}
            code if self.help.is_some() => self.scroll_help(code),
            // What changes files is waited for.
            _ if self.acts() => {}
            code if self.question.is_some() => self.answered(code),
            code if !self.copies.is_empty() => self.copy(code),
            code if self.typing => self.typed(code),
            code => self.pressed(code),
        }
    }

    /// A text was pasted. It goes where a text is typed, and is no keys.
    pub(super) fn paste(&mut self, text: &str) {
        let is_plain = |letter: &char| !letter.is_control();
        let pasted: String = text
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .filter(is_plain)
            .collect();
        match self.text() {
            Some(typed) => typed.push_str(&pasted),
            None => self.notice = Some("Pasted text is ignored here.".to_owned()),
        }
        if self.question.is_none() && self.typing {
            self.narrow();
        }
    }

    /// The text that is being typed.
    fn text(&mut self) -> Option<&mut String> {
        if self.message.is_some() || self.help.is_some() || self.acts() || !self.copies.is_empty() {
            return None;
        }
        if self.question.is_some() {
            return self
                .question
                .as_mut()
                .and_then(|question| question.typed.as_mut());
        }
        match self.typing {
            true => self.filter(),
            false => None,
        }
    }

    /// Erases the last word of the text that is being typed, or all of it.
    fn erase(&mut self, word: bool) {
        if let Some(text) = self.text() {
            let kept = text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
            text.truncate(if word { kept } else { 0 });
        }
        if self.question.is_none() {
            self.narrow();
        }
    }

    /// Scrolls the help; any other key closes it.
    fn scroll_help(&mut self, code: KeyCode) {
        let page = usize::from(self.drawn.list.height.max(2) - 1);
        self.help = match code {
            KeyCode::Down | KeyCode::Char('j') => self.help.map(|top| top + 1),
            KeyCode::Up | KeyCode::Char('k') => self.help.map(|top| top.saturating_sub(1)),
            KeyCode::PageDown => self.help.map(|top| top + page),
            KeyCode::PageUp => self.help.map(|top| top.saturating_sub(page)),
            _ => None,
        };
    }

    fn typed(&mut self, code: KeyCode) {
        let Some(filter) = self.filter() else {
            self.typing = false;
            return;
        };
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                filter.clear();
                self.typing = false;
            }
            KeyCode::Backspace => {
                filter.pop();
            }
            KeyCode::Char(letter) if !letter.is_control() => filter.push(letter),
            KeyCode::Up | KeyCode::Down => {
                self.typing = false;
                self.pressed(code);
                return;
            }
            _ => return,
        }
        self.narrow();
    }

    /// Shows what another filter leaves, or where the searched text is.
    fn narrow(&mut self) {
        match self.view() {
            View::Sessions => self.sessions_scroll = Scroll::default(),
            View::Points => self.points_scroll = Scroll::default(),
            View::Timeline => self.lay_out_timeline(),
            View::Changes => self.lay_out(),
            View::Patch => {
                if let Some(compared) = &mut self.compared {
                    compared.preview.find(true, true);
                }
            }
            View::Plan | View::Forget | View::Done | View::Log => {
                if let Some(page) = self.page() {
                    page.find(true, true);
                }
            }
            View::Store => {}
        }
    }

    /// The text that is looked at.
    fn page(&mut self) -> Option<&mut Page> {
        match self.view() {
            View::Plan => self.plan.as_mut().map(|plan| &mut plan.page),
            View::Forget => self.forget.as_mut().map(|plan| &mut plan.page),
            View::Done => Some(&mut self.done),
            View::Log => Some(&mut self.log),
            _ => None,
        }
    }

    /// The filter of the list that is looked at, or what is searched for in the text.
    pub(super) fn filter(&mut self) -> Option<&mut String> {
        match self.view() {
            View::Sessions => Some(&mut self.sessions_filter),
            View::Timeline => Some(&mut self.timeline_filter),
            View::Points => Some(&mut self.points_filter),
            View::Changes => self.compared.as_mut().map(|compared| &mut compared.tree.filter),
            View::Patch => self
                .compared
                .as_mut()
                .map(|compared| &mut compared.preview.search),
            View::Plan | View::Forget | View::Done | View::Log => self.page().map(|page| &mut page.search),
            View::Store => None,
        }
    }

    /// Begins another filter or search.
    fn begin_filter(&mut self) {
        let Some(filter) = self.filter() else { return };
        let is_other = !std::mem::take(filter).is_empty();
        self.typing = true;
        if is_other {
            self.narrow();
        }
    }

    fn lay_out(&mut self) {
        if let Some(compared) = &mut self.compared {
            compared.tree.lay_out(&compared.changes);
            compared.scroll = Scroll::default();
        }
        self.follow();
    }

    fn pressed(&mut self, code: KeyCode) {
        let is_answer = matches!(self.view(), View::Plan | View::Forget) && code == KeyCode::Char('y');
        let code = match is_answer {
            true => code,
            false => match self.settings.acts_as(code) {
                // No other key says yes.
                KeyCode::Char('y') if matches!(self.view(), View::Plan | View::Forget) => return,
                meant => meant,
            },
        };
        let is_searched = self.page().is_some_and(|page| !page.search.is_empty());
        // The letter for no, as at each question of the command line; of a search it means the next one found.
        if code == KeyCode::Char('n') && matches!(self.view(), View::Plan | View::Forget) && !is_searched {
            self.escape();
            return;
        }
        if matches!(self.view(), View::Changes | View::Patch) && self.read(code)
            || matches!(self.view(), View::Sessions | View::Timeline) && self.job(code)
        {
            return;
        }
        let page = isize::from(i16::try_from(self.drawn.list.height.max(2) - 1).unwrap_or(i16::MAX));
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-page),
            KeyCode::PageDown => self.step(page),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX),
            KeyCode::Char('J') => self.slide_patch(1),
            KeyCode::Char('K') => self.slide_patch(-1),
            KeyCode::Enter | KeyCode::Right => self.enter(code == KeyCode::Right),
            KeyCode::Left => self.leftwards(),
            KeyCode::Esc | KeyCode::Backspace => self.escape(),
            KeyCode::Char('q') => self.leave(),
            KeyCode::Char('?') => self.help = Some(0),
            KeyCode::Char('/') => self.begin_filter(),
            KeyCode::Char('n' | 'N') if self.page().is_some_and(|page| !page.search.is_empty()) => {
                if let Some(page) = self.page() {
                    page.find(code == KeyCode::Char('n'), false);
                }
            }
            KeyCode::Char('f') if self.view() == View::Changes => {
                if let Some(compared) = &mut self.compared {
                    compared.tree.kind = compared.tree.kind.next();
                }
                self.lay_out();
            }
            KeyCode::Char('z') if self.view() == View::Changes => {
                if let Some(compared) = &mut self.compared {
                    compared.tree.toggle_all();
                }
                self.lay_out();
            }
            KeyCode::Char(' ') if self.view() == View::Changes => {
                if let Some(compared) = &mut self.compared {
                    compared.tree.mark(compared.scroll.at, &compared.changes);
                }
                self.step(1);
            }
            KeyCode::Char('a') if self.view() == View::Changes => {
                if let Some(compared) = &mut self.compared {
                    compared.tree.mark_all(&compared.changes);
                }
            }
            KeyCode::Char('t') if self.view() == View::Timeline => self.compare_step(),
            KeyCode::Char('b') if self.view() == View::Timeline => self.list_points(),
            KeyCode::Char('r') => self.restore(false),
            KeyCode::Char('R') => self.restore(true),
            KeyCode::Char('u') => self.undo(),
            KeyCode::Char('o' | 'd') if self.view() == View::Plan => self.allow(code == KeyCode::Char('o')),
            KeyCode::Char('y') if self.view() == View::Plan => self.agree(),
            KeyCode::Char('y') if self.view() == View::Forget => self.agree_to_forget(),
            KeyCode::Char('y') => self.open_copies(),
            KeyCode::Char('s') if !matches!(self.view(), View::Plan | View::Forget) => {
                self.ask(Ask::Store, "counting")
            }
            KeyCode::Char('l') if !matches!(self.view(), View::Plan | View::Forget) => {
                let instance = match self.view() {
                    View::Sessions | View::Store => None,
                    _ => self.instance(),
                };
                let columns = usize::from(self.drawn.columns);
                self.ask(Ask::Log(instance, columns), "reading the receipts");
            }
            KeyCode::F(5) => self.refresh(),
            _ => {}
        }
    }

    /// Returns the number of rows in the current list, and its scroll position.
    pub(super) fn list(&mut self) -> Option<(usize, &mut Scroll)> {
        match self.view() {
            View::Sessions => Some((self.shown_sessions().len(), &mut self.sessions_scroll)),
            View::Timeline => Some((self.timeline_rows.len(), &mut self.timeline_scroll)),
            View::Points => Some((self.shown_points().len(), &mut self.points_scroll)),
            View::Changes => {
                let compared = self.compared.as_mut()?;
                Some((compared.tree.rows.len(), &mut compared.scroll))
            }
            View::Store => Some((self.store.len(), &mut self.store_scroll)),
            View::Patch | View::Plan | View::Forget | View::Done | View::Log => None,
        }
    }

    pub(super) fn step(&mut self, by: isize) {
        if let Some((length, scroll)) = self.list() {
            scroll.step(by, length);
            return self.follow();
        }
        let height = usize::from(self.drawn.list.height.max(1));
        match self.view() {
            View::Sessions | View::Timeline | View::Points | View::Changes | View::Store => {}
            View::Patch => {
                if let Some(compared) = &mut self.compared {
                    compared.preview.step(by);
                }
            }
            // How long a text is depends on how wide it is: whoever draws it knows.
            View::Plan => {
                if let Some(plan) = &mut self.plan {
                    plan.page.scroll.slide(by, usize::MAX, height);
                }
            }
            View::Forget => {
                if let Some(plan) = &mut self.forget {
                    plan.page.scroll.slide(by, usize::MAX, height);
                }
            }
            View::Done => self.done.scroll.slide(by, usize::MAX, height),
            View::Log => self.log.scroll.slide(by, usize::MAX, height),
        }
    }

    /// Scrolls the preview. In the preview itself the cursor moves along.
    pub(super) fn slide_patch(&mut self, by: isize) {
        let is_inside = self.view() == View::Patch;
        let Some(preview) = self.compared.as_mut().map(|compared| &mut compared.preview) else {
            return;
        };
        match is_inside {
            true => preview.step(by),
            false => preview.top = preview.top.saturating_add_signed(by),
        }
    }

    /// Handles the keys of the preview; returns false for any other key.
    fn read(&mut self, code: KeyCode) -> bool {
        let is_inside = self.view() == View::Patch;
        let Some(compared) = &mut self.compared else {
            return false;
        };
        let preview = &mut compared.preview;
        let is_searched = !preview.search.is_empty();
        match code {
            KeyCode::Char('w') => self.reading.wraps = !self.reading.wraps,
            KeyCode::Char(letter @ ('+' | '=' | '-')) => {
                self.reading.widen(letter != '-');
                self.ask_lines();
            }
            KeyCode::Char('e') => self.edit(),
            KeyCode::Char(letter @ ('H' | 'B')) => self.trace(letter == 'B'),
            KeyCode::Tab if is_inside => self.back(),
            KeyCode::Tab if preview.of.is_some() => self.views.push(View::Patch),
            _ if !is_inside => return false,
            KeyCode::Char(' ') => {
                let lines = preview.selection().unwrap_or_else(|| preview.hunk());
                preview.anchor = None;
                self.mark_lines(lines);
            }
            KeyCode::Char('a') => {
                let all = 0..preview.text.lines.len();
                preview.anchor = None;
                self.mark_lines(all);
            }
            KeyCode::Char('v') => {
                preview.anchor = match preview.anchor {
                    Some(_) => None,
                    None => Some(preview.at),
                };
            }
            KeyCode::Esc if preview.anchor.is_some() => preview.anchor = None,
            KeyCode::Char(letter @ (']' | '[')) => preview.step_hunk(letter == ']'),
            KeyCode::Char(letter @ ('n' | 'N')) if is_searched => {
                if !preview.find(letter == 'n', false) {
                    self.message = Some(format!("{:?} is not in these lines.", preview.search));
                }
            }
            KeyCode::Char('n') => self.other_path(1),
            KeyCode::Char('p') => self.other_path(-1),
            _ => return false,
        }
        true
    }

    /// Handles the keys of a session or snapshot; returns false for any other key.
    fn job(&mut self, code: KeyCode) -> bool {
        let is_timeline = self.view() == View::Timeline;
        match code {
            KeyCode::Char(letter @ ('P' | 'm' | 'c' | 'F' | 'x')) => self.question(letter),
            KeyCode::Char('D') => self.plan_forget(),
            KeyCode::Char(' ') if is_timeline => {
                self.mark_moment();
                self.step(1);
            }
            KeyCode::Esc if is_timeline && !self.marked.is_empty() => self.marked.clear(),
            _ => return false,
        }
        true
    }

    /// Marks the selected snapshot, or removes its mark. The third one replaces the first.
    fn mark_moment(&mut self) {
        let id = self.chosen_moment().map(|moment| match &moment.what {
            What::Snapshot { id, .. } => id.clone(),
            What::Restore { emergency, .. } => emergency.clone(),
        });
        let Some(id) = id else { return };
        match self.marked.iter().position(|other| *other == id) {
            Some(at) => {
                self.marked.remove(at);
            }
            None => self.marked.push(id),
        }
        if self.marked.len() > 2 {
            self.marked.remove(0);
        }
    }

    /// Compares the two marked snapshots, the older one first.
    fn compare_marked(&mut self) {
        let Some(timeline) = &self.timeline else { return };
        let taken = |wanted: &String| {
            let mut moments = timeline.moments.iter();
            moments.position(|moment| matches!(&moment.what, What::Snapshot { id, .. } if id == wanted))
        };
        // The newest moment comes first.
        let mut both = self.marked.clone();
        both.sort_by_key(|id| std::cmp::Reverse(taken(id)));
        if let [from, to] = both.as_slice() {
            self.compare(from.clone(), Some(to.clone()), false);
        }
    }

    /// Opens the stored file of the selected path beside the current one, in an editor, by the command `edit`.
    fn edit(&mut self) {
        let Some(compared) = &self.compared else { return };
        let Some(change) = compared.chosen_file() else {
            self.message = Some("Select a file to open.".to_owned());
            return;
        };
        let sides = &compared.changes.sides;
        // A file that was added is stored on the later side alone.
        let side = match (change.kind, &sides.to) {
            (Kind::Added, Some(to)) => to,
            (Kind::Added, None) => {
                self.message = Some("No snapshot on this side has the file: it was added.".to_owned());
                return;
            }
            _ => &sides.from,
        };
        let snapshot = format!("{}:{side}", sides.instance);
        // Of a renamed file the earlier path is stored.
        let path = change.hosts.last().map(|path| path.clone().into_os_string());
        self.runs = path.map(|path| vec!["edit".into(), snapshot.into(), "--".into(), path]);
    }

    /// Asks for the changes of the selected file, or for the author of each of its lines.
    fn trace(&mut self, lines: bool) {
        let file = self.compared.as_ref().and_then(Compared::chosen_file);
        let Some(path) = file.and_then(|file| file.hosts.first().cloned()) else {
            self.message = Some("Select a file first.".to_owned());
            return;
        };
        let columns = usize::from(self.drawn.columns);
        match lines {
            true => self.ask(Ask::Blame(path, columns), "reading all snapshots of the file"),
            false => self.ask(Ask::History(path, columns), "reading all snapshots of the file"),
        }
    }

    fn mark_lines(&mut self, lines: std::ops::Range<usize>) {
        let is_marked = self
            .compared
            .as_mut()
            .is_some_and(|compared| compared.mark_lines(lines));
        if !is_marked {
            let words =
                "Only lines of a modified text file can be marked. Space in the tree marks the whole path.";
            self.message = Some(words.to_owned());
        }
    }

    /// The next path that has something to show, or the one before.
    fn other_path(&mut self, by: isize) {
        let Some(compared) = &mut self.compared else {
            return;
        };
        let mut at = compared.scroll.at;
        while let Some(next) = at
            .checked_add_signed(by)
            .filter(|next| *next < compared.tree.rows.len())
        {
            at = next;
            if compared.tree.change(at).is_some() {
                compared.scroll.at = at;
                break;
            }
        }
        self.follow();
    }

    pub(super) fn enter(&mut self, only_opens: bool) {
        match self.view() {
            View::Sessions => {
                if let Some(id) = self.chosen_session().map(|session| session.id.clone()) {
                    self.ask(Ask::Timeline(id), "reading the session");
                }
            }
            View::Timeline if only_opens && self.unfold(true) => {}
            View::Timeline if self.marked.len() == 2 => self.compare_marked(),
            View::Timeline => {
                let from = self.chosen_moment().map(|moment| match &moment.what {
                    What::Snapshot { id, .. } => id.clone(),
                    What::Restore { emergency, .. } => emergency.clone(),
                });
                if let Some(from) = from {
                    self.compare(from, None, false);
                }
            }
            View::Changes => {
                let Some(compared) = &mut self.compared else {
                    return;
                };
                let wanted = only_opens.then_some(true);
                let toggled = compared
                    .tree
                    .toggle(compared.scroll.at, wanted, &compared.changes);
                if !toggled && compared.tree.rows.get(compared.scroll.at).is_some() {
                    self.views.push(View::Patch);
                }
            }
            View::Points => self.restore(false),
            View::Done => self.back(),
            View::Patch | View::Plan | View::Forget | View::Store | View::Log => {}
        }
    }

    fn leftwards(&mut self) {
        if let (View::Changes, Some(compared)) = (self.view(), &mut self.compared) {
            let at = compared.scroll.at;
            if compared.tree.toggle(at, Some(false), &compared.changes) {
                return;
            }
            if let Some(above) = compared.tree.above(at) {
                compared.scroll.at = above;
                self.follow();
                return;
            }
        }
        if self.view() == View::Timeline && self.unfold(false) {
            return;
        }
        if self.views.len() > 1 {
            self.back();
        }
    }

    /// Takes a filter off, else goes back; never ends.
    fn escape(&mut self) {
        if let Some(filter) = self.filter().filter(|filter| !filter.is_empty()) {
            filter.clear();
            match self.view() {
                View::Points => self.points_scroll = Scroll::default(),
                View::Timeline => self.lay_out_timeline(),
                View::Changes => self.lay_out(),
                _ => {}
            }
            return;
        }
        let compared = self
            .compared
            .as_mut()
            .filter(|compared| compared.tree.kind != Kind::All);
        if let (View::Changes, Some(compared)) =
            (self.views.last().copied().unwrap_or(View::Sessions), compared)
        {
            compared.tree.kind = Kind::All;
            self.lay_out();
            return;
        }
        self.back();
    }

    /// Lists the prompts and calls of the session.
    fn list_points(&mut self) {
        match self
            .timeline
            .as_ref()
            .is_some_and(|timeline| !timeline.points.is_empty())
        {
            true => self.views.push(View::Points),
            false => {
                let words = "No agent reported a prompt or a tool call in this session.";
                self.message = Some(words.to_owned());
            }
        }
    }

    /// Shows the changes of the step that led to the chosen snapshot.
    fn compare_step(&mut self) {
        let step = self.chosen_moment().map(|moment| match &moment.what {
            What::Snapshot { id, before } => before.clone().map(|before| (before, id.clone())),
            What::Restore { .. } => None,
        });
        match step {
            None => {}
            Some(Some((before, id))) => self.compare(before, Some(id), true),
            Some(None) => self.message = Some("It is the first snapshot of this session.".to_owned()),
        }
    }

    fn restore(&mut self, all: bool) {
        let view = self.view();
        if view == View::Sessions {
            self.message = Some("Open a session first (Enter), and select a snapshot.".to_owned());
            return;
        }
        match self.wanted(all || view == View::Timeline) {
            Some(wanted) => self.plan(wanted),
            None if view == View::Points => {
                self.message = Some("No snapshot precedes it.".to_owned());
            }
            None if matches!(view, View::Changes | View::Patch) => {
                self.message =
                    Some("Select a path, or mark some with Space; R restores everything.".to_owned());
            }
            None => {}
        }
    }

    fn undo(&mut self) {
        let receipt = match (self.view(), self.chosen_moment().map(|moment| &moment.what)) {
            (View::Timeline, Some(What::Restore { number, .. })) => Some(*number),
            _ => None,
        };
        if matches!(
            self.view(),
            View::Sessions | View::Timeline | View::Done | View::Changes
        ) {
            self.plan(Goal::Undo(receipt).into());
        }
    }

    /// Lets later edits be overwritten, or deleted, or no more.
    fn allow(&mut self, overwrite: bool) {
        let Some(plan) = &self.plan else { return };
        let mut request = plan.request.clone();
        match overwrite {
            true => request.overwrite_later = !request.overwrite_later,
            false => request.delete_later = !request.delete_later,
        }
        self.ask(Ask::Plan(request), "planning");
    }

    fn agree(&mut self) {
        let Some(plan) = self.plan.as_ref().filter(|_| self.waiting.is_none()) else {
            return;
        };
        if plan.does_something && plan.seen {
            let ask = Ask::Act(plan.request.clone(), plan.page.text.clone());
            self.ask(ask, "restoring (after an emergency snapshot)");
        }
    }
}
