//! `diff --patch`: git's extended format, for people and for `git apply`. What git cannot express stands in lines that begin with
//! `# `, which `git apply` ignores. Nothing that could steer a terminal leaves: such content is encoded, as git does with binary files.

use super::changes;
use crate::diff::{self, binary_patch, git_mode, holds_passwords, is_binary, is_refused_by_git, quoted_name};
use crate::model::{Coverage, Entry, EntryKind, RelPath};
use crate::report::{Body, Change, ChangeKind, Contents, Line, MAX_TEXT, PatchOptions, Sources, contents};
use crate::terminal::{Role, sanitize, size, style};
use git_reader::{ObjectKind, Oid};

/// The largest file, in bytes, that is encoded.
const MAX_BINARY: u64 = 64 << 20;

/// Options of a patch.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Form {
    /// Options for the contents to show.
    pub(in crate::cli) options: PatchOptions,
    /// Binary content is encoded, not skipped.
    pub(in crate::cli) binary: bool,
    /// Words are marked instead of lines; then it is no patch to apply.
    pub(in crate::cli) words: bool,
    /// A program reads it: content is exact. Else it is made visible for a terminal.
    pub(in crate::cli) exact: bool,
}

/// One change in text.
pub(in crate::cli) struct Shown {
    /// Lines without the last newline; empty when there is nothing to print.
    pub(in crate::cli) text: String,
    /// Content is missing from the patch, and the text says why.
    pub(in crate::cli) lacks: bool,
}

/// Lines that `git apply` ignores.
pub(in crate::cli) fn remark(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("# {line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// A part that the patch lacks.
struct Lacking {
    why: String,
    /// The lines, where they can be shown anyway.
    lines: Vec<String>,
}

impl From<String> for Lacking {
    fn from(why: String) -> Self {
        Self {
            why,
            lines: Vec::new(),
        }
    }
}

/// One change.
pub(in crate::cli) fn change(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    form: Form,
) -> Shown {
    let mut remarks = Vec::new();
    let mut lines = Vec::new();
    let mut lacks = false;
    for section in sections(change) {
        let made = match is_git_own(&section) {
            true => of_git(coverage, &section, sources, form),
            false => of_section(coverage, &section, sources, form),
        };
        match made {
            Ok((told, made)) => {
                remarks.extend(told);
                lines.extend(made);
            }
            Err(lacking) => {
                lacks = true;
                remarks.push(format!("  not in the patch: {}", lacking.why));
                remarks.extend(lacking.lines);
            }
        }
    }
    if !lacks && let Some(why) = inexpressible(change) {
        remarks.push(format!("  not in the patch: {why}"));
    }
    let is_quoted = |path: &RelPath| quoted_name(path.as_bytes()).starts_with('"');
    let has_odd_name = is_quoted(&change.path) || change.from_path.as_ref().is_some_and(is_quoted);
    if !remarks.is_empty() || has_odd_name {
        remarks.insert(0, changes::line(change));
    }
    let mut text: Vec<String> = remarks.iter().map(|line| remark(line)).collect();
    text.extend(lines);
    Shown {
        text: text.join("\n"),
        lacks,
    }
}

/// The change as git has it: of objects that git knows, and a change of type as one that goes and one that comes.
fn sections(change: &Change) -> Vec<Change> {
    let known = |entry: &Option<Entry>| entry.clone().filter(|entry| git_mode(entry).is_some());
    let (from, to) = (known(&change.from), known(&change.to));
    let before = change.from_path.clone().unwrap_or_else(|| change.path.clone());
    let gone = |from| Change {
        path: before.clone(),
        kind: ChangeKind::Deleted,
        from: Some(from),
        to: None,
        from_path: None,
        has_secret_name: change.has_secret_name,
    };
    let came = |to| Change {
        path: change.path.clone(),
        kind: ChangeKind::Added,
        from: None,
        to: Some(to),
        from_path: None,
        has_secret_name: change.has_secret_name,
    };
    let is_link = |entry: &Entry| matches!(entry.kind, EntryKind::Symlink(_));
    let is_refused = |path, entry: &Entry| is_refused_by_git(path, Some(entry));
    match (from, to) {
        (None, None) => Vec::new(),
        (Some(from), None) => vec![gone(from)],
        (None, Some(to)) => vec![came(to)],
        (Some(from), Some(to))
            if is_link(&from) != is_link(&to)
                || is_refused(&before, &from) != is_refused(&change.path, &to) =>
        {
            vec![gone(from), came(to)]
        }
        (Some(from), Some(to))
            if change.from_path.is_none() && from.kind == to.kind && git_mode(&from) == git_mode(&to) =>
        {
            Vec::new()
        }
        (from, to) => vec![Change {
            from,
            to,
            ..change.clone()
        }],
    }
}

/// Describes parts of the change that git does not record.
fn inexpressible(change: &Change) -> Option<&'static str> {
    let sides = || [&change.from, &change.to].into_iter().flatten();
    if sides().any(|entry| git_mode(entry).is_none()) {
        return Some(match sides().any(Entry::is_dir) {
            true => "git records no directories",
            false => "git records no FIFOs, sockets and devices",
        });
    }
    let to = change.to.as_ref()?;
    let is_usual =
        |entry: &Entry| matches!(entry.kind, EntryKind::Symlink(_)) || matches!(entry.mode, 0o644 | 0o755);
    let Some(from) = &change.from else {
        return (!is_usual(to)).then_some("git records only the modes 644 and 755");
    };
    let has_mode = from.mode == to.mode || is_usual(from) && is_usual(to);
    if from.uid != to.uid || from.gid != to.gid || from.xattrs != to.xattrs || from.flags != to.flags {
        return Some("git records no owners, attributes and flags");
    }
    // Beside the names that the file had and has nothing differs.
    let are_links = from.kind == to.kind && from.same_metadata(to);
    if (are_links || from.link != to.link) && change.kind != ChangeKind::Renamed {
        return Some("git records no hard links");
    }
    (!has_mode).then_some("git records only the modes 644 and 755")
}

fn is_git_own(section: &Change) -> bool {
    let before = section.from_path.as_ref().unwrap_or(&section.path);
    is_refused_by_git(before, section.from.as_ref()) || is_refused_by_git(&section.path, section.to.as_ref())
}

/// Writes changes inside `.git` as comments, which are never applied.
fn of_git(
    coverage: &Coverage,
    section: &Change,
    sources: &Sources<'_>,
    form: Form,
) -> Result<(Vec<String>, Vec<String>), Lacking> {
    const WHY: &str = "`git apply` changes nothing in a .git";
    let lines = match contents(coverage, section, sources, form.options, MAX_TEXT) {
        Contents::Nothing => Vec::new(),
        Contents::Both(old, new) if is_binary(&old) || is_binary(&new) => {
            let (old, new) = (size::bytes(old.len() as u64), size::bytes(new.len() as u64));
            return Err(format!("{WHY} (binary: {old} -> {new})").into());
        }
        Contents::Both(old, new) | Contents::Masked(old, new) => {
            match diff::lines(&old, &new, form.options).body {
                Body::Lines(body) => hunks(&body, false),
                _ => Vec::new(),
            }
        }
        other => return Err(format!("{WHY}; {}", absent(&other, form)).into()),
    };
    Err(Lacking {
        why: WHY.to_owned(),
        lines,
    })
}

/// Describes why content is not shown; empty if nothing is missing.
fn absent(contents: &Contents, form: Form) -> String {
    match contents {
        Contents::Hidden => "content hidden: it may hold secrets (--show-secrets shows it)".to_owned(),
        Contents::Unavailable(why) => format!("content not available: {}", sanitize::text(why)),
        Contents::Large(old, new) => {
            let more = match form.binary || form.words {
                true => "",
                false => " (--binary includes up to 64 MiB)",
            };
            format!(
                "too large to show: {} -> {}{more}",
                size::bytes(*old),
                size::bytes(*new)
            )
        }
        Contents::Nothing | Contents::Both(..) | Contents::Masked(..) => String::new(),
    }
}

/// The remarks and the lines of one section.
fn of_section(
    coverage: &Coverage,
    section: &Change,
    sources: &Sources<'_>,
    form: Form,
) -> Result<(Vec<String>, Vec<String>), Lacking> {
    let most = match form.binary {
        true => MAX_BINARY,
        false => MAX_TEXT,
    };
    let names = Names::of(section);
    let mut lines = names.header(section);
    let (old, new) = match contents(coverage, section, sources, form.options, most) {
        Contents::Nothing => return Ok((Vec::new(), lines)),
        Contents::Both(old, new) => (old, new),
        Contents::Masked(old, new) => {
            let Body::Lines(body) = diff::lines(&old, &new, form.options).body else {
                return Ok((Vec::new(), lines));
            };
            if form.words {
                lines.extend(names.files(&body));
                lines.extend(words(&body));
                return Ok((Vec::new(), lines));
            }
            return Err(Lacking {
                why: "secrets in it are hidden (--show-secrets shows them)".to_owned(),
                lines: hunks(&body, false),
            });
        }
        other => return Err(absent(&other, form).into()),
    };
    let shows_secrets = form.options.show_secrets;
    let ids = Ids::of(section, &old, &new);
    let is_large = old.len().max(new.len()) as u64 > MAX_TEXT;
    if is_binary(&old) || is_binary(&new) || is_large {
        if !form.binary || form.words {
            let differ = format!("Binary files {} and {} differ", names.old(), names.later());
            let (old, new) = (size::bytes(old.len() as u64), size::bytes(new.len() as u64));
            return Err(Lacking {
                why: format!("binary: {old} -> {new} (--binary includes it)"),
                lines: vec![differ],
            });
        }
        if !shows_secrets && (holds_passwords(&old) || holds_passwords(&new)) {
            return Err("content hidden: it may hold passwords (--show-secrets shows it)"
                .to_owned()
                .into());
        }
        lines.push(ids.line(true).ok_or_else(collides)?);
        lines.extend(binary_patch(&old, &new));
        return Ok((Vec::new(), lines));
    }
    let raw = PatchOptions {
        show_secrets: true,
        ..form.options
    };
    let Body::Lines(body) = diff::lines(&old, &new, raw).body else {
        return Ok((Vec::new(), lines));
    };
    let hides = !shows_secrets && body.iter().any(|(_, text)| holds_passwords(text));
    if hides || form.words {
        let Body::Lines(body) = diff::lines(&old, &new, form.options).body else {
            return Ok((Vec::new(), lines));
        };
        if form.words {
            lines.extend(ids.line(false));
            lines.extend(names.files(&body));
            lines.extend(words(&body));
            return Ok((Vec::new(), lines));
        }
        return Err(Lacking {
            why: "passwords in addresses are hidden (--show-secrets shows them)".to_owned(),
            lines: hunks(&body, false),
        });
    }
    if form.exact
        && !body
            .iter()
            .all(|(line, text)| *line == Line::Hunk || is_harmless(text))
    {
        // All of the file is encoded, not only what would be shown of it.
        if !shows_secrets && (holds_passwords(&old) || holds_passwords(&new)) {
            return Err(Lacking {
                why: "passwords in addresses are hidden (--show-secrets shows them)".to_owned(),
                lines: hunks(&body, false),
            });
        }
        lines.push(ids.line(true).ok_or_else(collides)?);
        lines.extend(binary_patch(&old, &new));
        let mut told =
            vec!["  encoded, for it holds bytes that a terminal must not get; made visible:".to_owned()];
        told.extend(hunks(&body, false));
        return Ok((told, lines));
    }
    lines.extend(ids.line(false));
    lines.extend(names.files(&body));
    lines.extend(hunks(&body, form.exact));
    Ok((Vec::new(), lines))
}

fn collides() -> Lacking {
    "its content was built to collide with another's SHA-1"
        .to_owned()
        .into()
}

/// Returns true if a line of content can be printed as it is: visible characters, tabs, and a carriage return at its end.
fn is_harmless(line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    std::str::from_utf8(line).is_ok_and(|line| line.chars().all(|c| c == '\t' || sanitize::is_visible(c)))
}

fn hunks(body: &[(Line, Vec<u8>)], exact: bool) -> Vec<String> {
    let lines = body.iter().map(|(line, text)| {
        let (text, end) = match text.strip_suffix(b"\r") {
            Some(text) if exact => (text, "\r"),
            _ => (text.as_slice(), ""),
        };
        let text = match exact {
            true => String::from_utf8_lossy(text).into_owned(),
            false => sanitize::line(text),
        };
        match line {
            Line::Context => format!(" {text}{end}"),
            Line::Added => style::paint(Role::Added, &format!("+{text}")) + end,
            Line::Removed => style::paint(Role::Removed, &format!("-{text}")) + end,
            Line::Hunk => style::paint(Role::Dim, text.trim_end()),
            Line::NoNewline => "\\ No newline at end of file".to_owned(),
        }
    });
    lines.collect()
}

/// Lines with the words that differ marked as git does it.
fn words(body: &[(Line, Vec<u8>)]) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = body;
    while let Some(((line, text), more)) = rest.split_first() {
        match line {
            Line::Hunk => out.push(style::paint(Role::Dim, sanitize::line(text).trim_end())),
            Line::Context => out.push(sanitize::line(text)),
            Line::NoNewline => {}
            Line::Added | Line::Removed => {
                let run = rest
                    .iter()
                    .take_while(|(line, _)| matches!(line, Line::Added | Line::Removed | Line::NoNewline))
                    .count();
                let (block, after) = rest.split_at(run);
                let side = |wanted: Line| {
                    let of_side = block.iter().filter(|(line, _)| *line == wanted);
                    let texts: Vec<String> = of_side.map(|(_, text)| sanitize::line(text)).collect();
                    texts.iter().map(|text| format!("{text}\n")).collect::<String>()
                };
                out.extend(marked(&side(Line::Removed), &side(Line::Added)));
                rest = after;
                continue;
            }
        }
        rest = more;
    }
    out
}

fn marked(before: &str, after: &str) -> Vec<String> {
    let mut text = String::new();
    for (line, words) in diff::word_changes(before, after) {
        let (role, open, close) = match line {
            Line::Removed => (Role::Removed, "[-", "-]"),
            Line::Added => (Role::Added, "{+", "+}"),
            Line::Context | Line::Hunk | Line::NoNewline => {
                text.push_str(&words);
                continue;
            }
        };
        // A mark never spans lines.
        let parts = words.split('\n').map(|part| match part {
            "" => String::new(),
            part => style::paint(role, &format!("{open}{part}{close}")),
        });
        text.push_str(&parts.collect::<Vec<_>>().join("\n"));
    }
    text.lines().map(str::to_owned).collect()
}

/// Returns both names as git writes them.
struct Names {
    before: RelPath,
    after: RelPath,
    came: bool,
    went: bool,
}

impl Names {
    fn of(section: &Change) -> Self {
        Self {
            before: section.from_path.clone().unwrap_or_else(|| section.path.clone()),
            after: section.path.clone(),
            came: section.from.is_none(),
            went: section.to.is_none(),
        }
    }

    fn with(prefix: &[u8], path: &RelPath) -> String {
        quoted_name(&[prefix, path.as_bytes()].concat())
    }

    fn old(&self) -> String {
        match self.came {
            true => "/dev/null".to_owned(),
            false => Self::with(b"a/", &self.before),
        }
    }

    fn later(&self) -> String {
        match self.went {
            true => "/dev/null".to_owned(),
            false => Self::with(b"b/", &self.after),
        }
    }

    /// The lines before content: the names, modes, and what was renamed.
    fn header(&self, section: &Change) -> Vec<String> {
        let mode = |entry: &Option<Entry>| entry.as_ref().and_then(git_mode);
        let (a, b) = (Self::with(b"a/", &self.before), Self::with(b"b/", &self.after));
        let mut lines = vec![style::paint(Role::Heading, &format!("diff --git {a} {b}"))];
        match (mode(&section.from), mode(&section.to)) {
            (None, Some(new)) => lines.push(format!("new file mode {new}")),
            (Some(old), None) => lines.push(format!("deleted file mode {old}")),
            (Some(old), Some(new)) if old != new => {
                lines.extend([format!("old mode {old}"), format!("new mode {new}")]);
            }
            _ => {}
        }
        if section.from_path.is_some() {
            lines.push("similarity index 100%".to_owned());
            lines.push(format!("rename from {}", quoted_name(self.before.as_bytes())));
            lines.push(format!("rename to {}", quoted_name(self.after.as_bytes())));
        }
        lines
    }

    /// The two lines before the hunks, if there are any. A tab ends a name with blanks, so that no time is looked for in it.
    fn files(&self, body: &[(Line, Vec<u8>)]) -> Vec<String> {
        if body.is_empty() {
            return Vec::new();
        }
        let line = |sign: &str, name: String| {
            let end = match name.contains(' ') && !name.starts_with('"') {
                true => "\t",
                false => "",
            };
            style::paint(Role::Heading, &format!("{sign} {name}")) + end
        };
        vec![line("---", self.old()), line("+++", self.later())]
    }
}

/// The names of both contents as git's objects.
struct Ids {
    old: Option<String>,
    new: Option<String>,
    mode: Option<&'static str>,
}

impl Ids {
    fn of(section: &Change, old: &[u8], new: &[u8]) -> Self {
        let id = |entry: &Option<Entry>, content: &[u8]| match entry {
            None => Some("0".repeat(40)),
            Some(_) => Oid::of(ObjectKind::Blob, content).map(|id| id.to_string()),
        };
        let mode = |entry: &Option<Entry>| entry.as_ref().and_then(git_mode);
        let modes = (mode(&section.from), mode(&section.to));
        Self {
            old: id(&section.from, old),
            new: id(&section.to, new),
            mode: modes.0.filter(|mode| modes.1 == Some(mode)),
        }
    }

    /// The `index` line; in full `git apply` insists on for binary content.
    fn line(&self, full: bool) -> Option<String> {
        let short = |id: &str| match full {
            true => id.to_owned(),
            false => id.chars().take(7).collect(),
        };
        let (old, new) = (short(self.old.as_ref()?), short(self.new.as_ref()?));
        let mode = self.mode.map(|mode| format!(" {mode}")).unwrap_or_default();
        Some(format!("index {old}..{new}{mode}"))
    }
}
