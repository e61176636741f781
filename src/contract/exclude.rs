//! Judges paths by a frozen coverage: the one place that says what capture, diff and restore may look at. It knows no
//! configuration and asks the file system nothing.

use std::borrow::Cow;
use std::path::PathBuf;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::STAGING_PREFIX;
use crate::config::matcher_syntax;
use crate::model::{ByteString, Coverage, ExcludeRule, RelPath, WithheldPath, WithheldReason};

/// Verdict of a coverage on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Inside the coverage.
    Covered,
    /// Excluded by this rule.
    Excluded(&'a ExcludeRule),
    /// Skipped for this reason; the path never enters an archive.
    Withheld(WithheldReason),
    /// Outside the tracked paths. The directories above those are also outside, see [`Matcher::is_on_the_way`].
    OutsideTracked,
}

/// An exclude that cannot be compiled; `config` lets none through, so it comes from a record that was tampered with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the exclude {pattern:?} cannot be used: {problem}")]
pub struct PatternError {
    /// The pattern, or all of them when they fail together.
    pub pattern: String,
    /// The parser's words.
    pub problem: String,
}

/// A coverage, compiled.
#[derive(Clone, Debug)]
pub struct Matcher {
    globs: Gitignore,
    rules: Vec<ExcludeRule>,
    tracked: Vec<RelPath>,
    withheld: Vec<WithheldPath>,
    guarded: Vec<PathBuf>,
    folds: bool,
}

impl Matcher {
    /// Compiles the excludes of a coverage.
    ///
    /// # Errors
    /// When one does not parse.
    pub fn new(coverage: &Coverage) -> Result<Self, PatternError> {
        // Paths are matched relative to the root, so none is given here: the root's own name must not take part.
        let mut builder = GitignoreBuilder::new("");
        builder
            .case_insensitive(coverage.folds)
            .map_err(|error| PatternError {
                pattern: String::new(),
                problem: error.to_string(),
            })?;
        for (number, rule) in coverage.excludes.iter().enumerate() {
            // The builder lets each glob carry the file it came from; it carries the rule's number instead, which
            // leads from a match back to the rule.
            let number = Some(PathBuf::from(number.to_string()));
            let pattern = matcher_syntax(&rule.pattern);
            builder.add_line(number, &pattern).map_err(|error| PatternError {
                pattern: rule.pattern.clone(),
                problem: error.to_string(),
            })?;
        }
        let globs = builder.build().map_err(|error| {
            let patterns: Vec<&str> = coverage
                .excludes
                .iter()
                .map(|rule| rule.pattern.as_str())
                .collect();
            PatternError {
                pattern: patterns.join(" "),
                problem: error.to_string(),
            }
        })?;
        Ok(Self {
            globs,
            rules: coverage.excludes.clone(),
            tracked: coverage
                .tracked
                .iter()
                .map(|path| folded(path, coverage.folds))
                .collect(),
            withheld: coverage
                .withheld
                .iter()
                .map(|place| WithheldPath {
                    path: folded(&place.path, coverage.folds),
                    reason: place.reason,
                })
                .collect(),
            guarded: coverage.guarded.iter().map(ByteString::to_path).collect(),
            folds: coverage.folds,
        })
    }

    /// Judges one entry whose parents were already judged, as a walk from the top does. As in git, a later `!` pattern
    /// takes an earlier exclude back, and a pattern that ends in `/` is for directories only.
    #[must_use]
    pub fn verdict(&self, path: &RelPath, is_dir: bool) -> Verdict<'_> {
        if let Some(reason) = self.withheld(path, is_dir) {
            return Verdict::Withheld(reason);
        }
        let inside = self.is_tracked(path);
        if !inside && !self.is_on_the_way(path) {
            return Verdict::OutsideTracked;
        }
        match self.excluded(path, is_dir) {
            Some(ExcludeRule {
                private: Some(reason),
                ..
                // Directories are looked into: each file in them is classified separately.
            }) if inside && !is_dir => return Verdict::Withheld(*reason),
            Some(rule) if rule.private.is_none() => return Verdict::Excluded(rule),
            _ => {}
        }
        if inside {
            Verdict::Covered
        } else {
            Verdict::OutsideTracked
        }
    }

    /// Judges a path of which nothing is known: as in git, what lies below an excluded directory is excluded, whatever a
    /// later pattern says.
    #[must_use]
    pub fn verdict_with_parents(&self, path: &RelPath, is_dir: bool) -> Verdict<'_> {
        if let Some(reason) = self.withheld(path, is_dir) {
            return Verdict::Withheld(reason);
        }
        for parent in path.ancestors() {
            match self.verdict(&parent, true) {
                Verdict::Covered => {}
                Verdict::OutsideTracked if self.is_on_the_way(&parent) => {}
                other => return other,
            }
        }
        self.verdict(path, is_dir)
    }

    /// Returns true if a tracked path lies strictly below `path`. A walk must then go through it without taking the rest.
    #[must_use]
    pub fn is_on_the_way(&self, path: &RelPath) -> bool {
        !self.tracked.is_empty() && {
            let path = self.folded(path);
            let mut tracked = self.tracked.iter();
            tracked.any(|tracked| tracked != &*path && tracked.is_within(&path))
        }
    }

    fn is_tracked(&self, path: &RelPath) -> bool {
        self.tracked.is_empty() || {
            let path = self.folded(path);
            self.tracked.iter().any(|tracked| path.is_within(tracked))
        }
    }

    /// Returns a path in the form that is compared with the places of the coverage.
    fn folded<'p>(&self, path: &'p RelPath) -> Cow<'p, RelPath> {
        match self.folds {
            true => Cow::Owned(folded(path, true)),
            false => Cow::Borrowed(path),
        }
    }

    /// Returns the secret places that are skipped under any name.
    #[must_use]
    pub fn guarded(&self) -> &[PathBuf] {
        &self.guarded
    }

    /// Returns true for a path in a private place, whose files are judged one by one.
    #[must_use]
    pub fn is_among_private(&self, path: &RelPath) -> bool {
        let mut private = self.withheld.iter().filter(|place| place.reason.is_private());
        let path = self.folded(path);
        private.any(|place| path.is_within(&place.path))
    }

    fn withheld(&self, path: &RelPath, is_dir: bool) -> Option<WithheldReason> {
        if path
            .parts()
            .next()
            .is_some_and(|first| first.starts_with(STAGING_PREFIX.as_bytes()))
        {
            return Some(WithheldReason::Staging);
        }
        let path = self.folded(path);
        let hits = self
            .withheld
            .iter()
            .filter(|withheld| path.is_within(&withheld.path));
        // What was forgotten is so with all below it, whatever else it was. Else the innermost place names the reason.
        let hit = hits.max_by_key(|withheld| {
            (
                withheld.reason == WithheldReason::Forgotten,
                withheld.path.as_bytes().len(),
            )
        });
        // The existence of a directory is no secret, and a restore of its contents needs the directory.
        let is_open = |reason: &WithheldReason| is_dir && reason.is_private();
        hit.map(|withheld| withheld.reason)
            .filter(|reason| !is_open(reason))
    }

    fn excluded(&self, path: &RelPath, is_dir: bool) -> Option<&ExcludeRule> {
        if path.is_root() {
            return None;
        }
        match self.globs.matched(path.as_path(), is_dir) {
            Match::Ignore(glob) => {
                let number = glob
                    .from()
                    .and_then(|number| number.to_str())
                    .and_then(|text| text.parse::<usize>().ok());
                number.and_then(|number| self.rules.get(number))
            }
            Match::None | Match::Whitelist(_) => None,
        }
    }
}

/// Returns a path with its names folded, as a directory compares them that ignores case.
fn folded(path: &RelPath, folds: bool) -> RelPath {
    let whole = folds.then(|| RelPath::new(&handle_fs::fold_name(path.as_bytes())).ok());
    whole.flatten().unwrap_or_else(|| path.clone())
}

/// Tells which files of a coverage are private files of agents: those at the places that it names, and those that its rules match.
#[derive(Clone, Debug, Default)]
pub struct PrivateFiles {
    is_state: bool,
    /// `None` when the coverage holds none.
    matcher: Option<Matcher>,
}

impl PrivateFiles {
    /// Compiles the rules of a coverage. Where they cannot be compiled, every file of agents' state counts as private.
    #[must_use]
    pub fn of(coverage: &Coverage) -> Self {
        Self {
            is_state: coverage.state,
            matcher: coverage.state.then(|| Matcher::new(coverage).ok()).flatten(),
        }
    }

    /// Returns why the file at a path is private, and `None` for any other.
    #[must_use]
    pub fn reason(&self, path: &RelPath) -> Option<WithheldReason> {
        let Some(matcher) = &self.matcher else {
            return self.is_state.then_some(WithheldReason::Credential);
        };
        match matcher.verdict_with_parents(path, false) {
            Verdict::Withheld(reason) => Some(reason).filter(|reason| reason.is_private()),
            _ => None,
        }
    }

    /// Returns true if the file at a path is private.
    #[must_use]
    pub fn holds(&self, path: &RelPath) -> bool {
        self.reason(path).is_some()
    }

    /// Returns true if the file at a path is stored redacted.
    #[must_use]
    pub fn is_by_key(&self, path: &RelPath) -> bool {
        self.reason(path).is_some_and(WithheldReason::is_by_key)
    }
}
