//! Merges a public text with the secrets of a live file.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::bracket::Bracket;
use super::edit::{Edits, line_end, line_start};
use super::rules::{self, Child, KeyContext, Verdict};
use super::tree::{Kind, Layout, Member, Node};
use super::{Format, Found, MAX_PATH_BYTES, MergedSettings, Redactor, Secret, json, spell, yaml};

/// Fills the placeholders in `public` with the secrets found in the live file, and adds new credentials.
pub(super) fn fill(
    redactor: Redactor<'_>,
    format: Format,
    public: &[u8],
    found: &[Found],
    is_same: &dyn Fn(&Secret) -> bool,
) -> Option<MergedSettings> {
    let (text, root) = redactor.read(format, public)?;
    let mut live = Branch::default();
    for (index, found) in found.iter().enumerate() {
        live.add(&found.secret.key, index);
    }
    let mut mending = Mending {
        format,
        text,
        found,
        is_same,
        used: vec![false; found.len()],
        missing: BTreeSet::new(),
        path: Vec::new(),
        path_bytes: MAX_PATH_BYTES,
        edits: Edits::default(),
    };
    mending.walk(&root, KeyContext::default(), Some(&live))?;
    let Mending {
        used, missing, edits, ..
    } = mending;
    let lost: BTreeSet<_> = found
        .iter()
        .zip(used)
        .filter(|(_, used)| !used)
        .map(|(found, _)| found.secret.key.clone())
        .collect();
    let whole = edits.make(text)?.into_bytes();
    // The merged text must be a valid file again.
    redactor.read(format, &whole)?;
    Some(MergedSettings {
        whole,
        missing: missing.into_iter().collect(),
        lost: lost.into_iter().collect(),
    })
}

/// The live secrets by the names that lead to them.
#[derive(Default)]
struct Branch<'a> {
    twigs: HashMap<&'a str, Branch<'a>>,
    /// Index of the secret at this place.
    leaf: Option<usize>,
}

impl<'a> Branch<'a> {
    fn add(&mut self, key: &'a [String], index: usize) {
        let mut branch = self;
        for name in key {
            branch = branch.twigs.entry(name).or_default();
        }
        branch.leaf = Some(index);
    }
}

struct Mending<'a> {
    format: Format,
    text: &'a str,
    found: &'a [Found],
    is_same: &'a dyn Fn(&Secret) -> bool,
    /// True for each live secret that is in the text again.
    used: Vec<bool>,
    missing: BTreeSet<Vec<String>>,
    path: Vec<String>,
    path_bytes: usize,
    edits: Edits,
}

impl<'a> Mending<'a> {
    /// Merges the values of a container; returns the places of those that the container around must remove.
    fn walk(
        &mut self,
        node: &Node,
        around: KeyContext,
        live: Option<&Branch<'a>>,
    ) -> Option<Vec<Range<usize>>> {
        let mut gone = Vec::new();
        for child in rules::children(node, around) {
            let live = live.and_then(|live| live.twigs.get(child.name.as_ref()));
            let withheld = child.node.is_withheld;
            if !withheld && !child.node.is_container() {
                continue;
            }
            self.path.push(child.name.clone().into_owned());
            if !withheld {
                gone.extend(self.walk(child.node, child.around(), live)?);
            } else if !self.fill(&child, live.and_then(|live| live.leaf)) {
                self.missing.insert(spell(&self.path, &mut self.path_bytes)?);
                gone.push(child.node.span.clone());
            }
            self.path.pop();
        }
        let new = live.map(|live| self.new_members(node, live)).unwrap_or_default();
        match &node.kind {
            Kind::List(_, layout) | Kind::Map(_, layout) => Some(self.arrange(node, layout, gone, &new)),
            Kind::Plain | Kind::Text(_) => Some(gone),
        }
    }

    /// Puts the live value in its place, unless an attacker may have left it there. Returns true if it did.
    fn fill(&mut self, child: &Child<'_>, live: Option<usize>) -> bool {
        let Some((index, found)) = live.and_then(|index| Some((index, self.found.get(index)?))) else {
            return false;
        };
        let credential =
            found.credential && matches!(child.verdict(), Verdict::Secret { credential: true, .. });
        if !credential && !(self.is_same)(&found.secret) {
            return false;
        }
        let Ok(raw) = str::from_utf8(&found.secret.raw) else {
            return false;
        };
        let Some(range) = self.place(child, raw) else {
            return false;
        };
        self.edits.put(range, raw.to_owned());
        if let Some(used) = self.used.get_mut(index) {
            *used = true;
        }
        true
    }

    /// Returns the range that a live value takes.
    fn place(&self, child: &Child<'_>, raw: &str) -> Option<Range<usize>> {
        let span = child.node.span.clone();
        if self.format != Format::Yaml || !raw.contains('\n') {
            return Some(span);
        }
        let key = child.key?;
        let indent = key.start - line_start(self.text, key.start);
        yaml::fits(raw, indent).then_some(key.end + 1..span.end)
    }

    /// Returns the live credentials missing from the public text, in the order of the live file.
    fn new_members(&self, node: &Node, live: &Branch<'a>) -> Vec<usize> {
        let Kind::Map(members, _) = &node.kind else {
            return Vec::new();
        };
        let mut new: Vec<(usize, &str)> = Vec::new();
        for (name, twig) in &live.twigs {
            if let Some(index) = twig.leaf
                && self.found.get(index).is_some_and(|found| found.credential)
            {
                new.push((index, name));
            }
        }
        if !new.is_empty() {
            let known: HashSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
            new.retain(|(_, name)| !known.contains(name));
        }
        let mut new: Vec<usize> = new.into_iter().map(|(index, _)| index).collect();
        new.sort_unstable();
        new
    }

    /// Removes values from a container and adds new ones; returns those that the container around must remove.
    fn arrange(
        &mut self,
        node: &Node,
        layout: &Layout,
        gone: Vec<Range<usize>>,
        new: &[usize],
    ) -> Vec<Range<usize>> {
        match layout {
            Layout::Dotted => return gone,
            Layout::Commas { at, trailing } => {
                if gone.is_empty() && new.is_empty() {
                    return Vec::new();
                }
                let (texts, new) = if *trailing {
                    (Vec::new(), Vec::new())
                } else {
                    self.spelled(node, new)
                };
                let bracket = Bracket::new(self.text, &node.span, at, *trailing, is_empty(node));
                bracket.change(&gone, &texts, &mut self.edits);
                self.mark(&new);
            }
            Layout::Lines { body } => {
                for value in gone {
                    let range = line_start(self.text, value.start)..line_end(self.text, value.end);
                    self.edits.put(range, String::new());
                }
                self.add_lines(node, *body, new);
            }
        }
        Vec::new()
    }

    fn mark(&mut self, indices: &[usize]) {
        for index in indices {
            if let Some(used) = self.used.get_mut(*index) {
                *used = true;
            }
        }
    }

    /// Returns new members of an object or an inline table as they are to be written.
    fn spelled(&self, node: &Node, new: &[usize]) -> (Vec<String>, Vec<usize>) {
        let separator = match self.format {
            Format::Json => json::separator(self.text, node),
            Format::Toml | Format::Yaml => " = ",
        };
        new.iter()
            .filter_map(|index| {
                let (name, raw) = self.written(*index)?;
                Some((format!("{name}{separator}{raw}"), *index))
            })
            .unzip()
    }

    /// Returns a live secret's name and value as they are written.
    fn written(&self, index: usize) -> Option<(&'a str, &'a str)> {
        let found = self.found.get(index)?;
        Some((found.name.as_deref()?, str::from_utf8(&found.secret.raw).ok()?))
    }

    /// Adds members on lines of their own, after the last one that is written the same way.
    fn add_lines(&mut self, node: &Node, body: Option<usize>, new: &[usize]) {
        let Kind::Map(members, _) = &node.kind else { return };
        if new.is_empty() {
            return;
        }
        let last = match self.format {
            Format::Yaml => members.last(),
            // Tables follow the values of a table, and keys may be dotted.
            Format::Json | Format::Toml => members
                .iter()
                .filter(|member| member.node.in_one)
                .max_by_key(|member| member.node.span.start),
        };
        let (at, lead) = match (last, body) {
            (Some(Member { key, node, .. }), _) => {
                let lead = self
                    .text
                    .get(line_start(self.text, key.start)..key.start)
                    .unwrap_or_default();
                (line_end(self.text, node.span.end), lead)
            }
            (None, Some(body)) => (body, ""),
            (None, None) => return,
        };
        let is_open = at > 0 && !self.text.get(..at).is_some_and(|before| before.ends_with('\n'));
        let crlf = self.text.get(..at).is_some_and(|before| before.ends_with("\r\n"));
        let newline = if crlf { "\r\n" } else { "\n" };
        for index in new {
            let Some((name, raw)) = self.written(*index) else {
                continue;
            };
            let member = match self.format {
                Format::Yaml if !raw.contains('\n') => format!("{lead}{name}: {raw}"),
                Format::Yaml if !yaml::fits(raw, lead.len()) => continue,
                Format::Yaml => format!("{lead}{name}:{raw}"),
                Format::Json | Format::Toml => format!("{lead}{name} = {raw}"),
            };
            let line = if is_open {
                format!("{newline}{member}")
            } else {
                format!("{member}{newline}")
            };
            self.edits.put(at..at, line);
            self.mark(&[*index]);
        }
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.kind {
        Kind::List(elements, _) => elements.is_empty(),
        Kind::Map(members, _) => members.is_empty(),
        Kind::Plain | Kind::Text(_) => true,
    }
}
