//! Globs that an operator types to choose paths, in the gitignore syntax of excludes.

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::PatternError;
use crate::config::{matcher_syntax, recorded_pattern, with_last_blank};
use crate::model::RelPath;

/// Patterns below one directory of a mount.
#[derive(Clone, Debug)]
pub struct PathGlob {
    /// Directory that the patterns are relative to.
    base: RelPath,
    lines: Vec<String>,
    globs: Gitignore,
}

impl PartialEq for PathGlob {
    fn eq(&self, other: &Self) -> bool {
        (&self.base, &self.lines) == (&other.base, &other.lines)
    }
}

impl Eq for PathGlob {}

impl PathGlob {
    /// Returns true if a word has what makes it a glob: `*`, `?`, or `[` and a later `]`.
    #[must_use]
    pub fn is_glob(word: &str) -> bool {
        let class = word.split_once('[').is_some_and(|(_, rest)| rest.contains(']'));
        class || word.contains(['*', '?'])
    }

    /// Compiles one word. An anchored one matches from `base` on, another one at any depth below it.
    ///
    /// # Errors
    /// [`PatternError`] if it does not parse.
    pub fn of_word(base: RelPath, word: &str, is_anchored: bool) -> Result<Self, PatternError> {
        let kept = word.trim_end_matches(' ');
        let blanks = word.len() - kept.len();
        // At the start of a line these two have a meaning, and blanks at its end have none.
        let start = match (is_anchored, kept.chars().next()) {
            (true, _) => "/",
            (false, Some('!' | '#')) => "\\",
            (false, _) => "",
        };
        let line = format!("{start}{kept}{}", "\\ ".repeat(blanks));
        let line = with_last_blank(&line).unwrap_or(line);
        Self::compiled(base, vec![line])
    }

    /// Compiles lines of gitignore, each of which must be able to match something; a later `!` line revokes a match of an earlier one.
    ///
    /// # Errors
    /// [`PatternError`] if one does not parse.
    pub fn of_lines(base: RelPath, lines: Vec<String>) -> Result<Self, PatternError> {
        let recorded = lines.into_iter().map(|line| {
            recorded_pattern(&line).map_err(|problem| PatternError {
                pattern: line,
                problem,
            })
        });
        Self::compiled(base, recorded.collect::<Result<_, _>>()?)
    }

    fn compiled(base: RelPath, lines: Vec<String>) -> Result<Self, PatternError> {
        let mut builder = GitignoreBuilder::new("");
        let wrong = |pattern: &str, problem: String| PatternError {
            pattern: pattern.to_owned(),
            problem,
        };
        for line in &lines {
            builder
                .add_line(None, &matcher_syntax(line))
                .map_err(|error| wrong(line, error.to_string()))?;
        }
        let globs = builder
            .build()
            .map_err(|error| wrong(&lines.join(" "), error.to_string()))?;
        Ok(Self { base, lines, globs })
    }

    /// Returns true if the patterns match a path or a directory above it. As in git, what lies below a matching directory matches too.
    #[must_use]
    pub fn matches(&self, path: &RelPath, is_dir: bool) -> bool {
        let Some(below) = self.below(path) else {
            return false;
        };
        let above = below.ancestors().filter(|above| !above.is_root());
        self.found(&below, is_dir) || above.into_iter().any(|above| self.found(&above, true))
    }

    /// Returns true if the patterns match the path itself.
    #[must_use]
    pub fn matches_itself(&self, path: &RelPath, is_dir: bool) -> bool {
        self.below(path).is_some_and(|below| self.found(&below, is_dir))
    }

    /// Returns the path below the base; `None` for the base and everything outside.
    fn below(&self, path: &RelPath) -> Option<RelPath> {
        let below = match self.base.is_root() {
            true => path.as_bytes(),
            false => {
                let rest = path.as_bytes().strip_prefix(self.base.as_bytes())?;
                rest.strip_prefix(b"/")?
            }
        };
        let below = RelPath::new(below).ok()?;
        (!below.is_root()).then_some(below)
    }

    fn found(&self, path: &RelPath, is_dir: bool) -> bool {
        self.globs.matched(path.as_path(), is_dir).is_ignore()
    }
}

#[cfg(test)]
mod tests;
