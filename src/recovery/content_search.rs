//! Lines of stored files that match a regular expression.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use regex::bytes::{Regex, RegexBuilder};

use super::RecoveryError;
use super::find::{FoundPath, FoundPaths, Moment};
use crate::diff::{KeyLines, MAX_TEXT, end_of_logins, is_binary, mask_settings, masked, masks_the_rest};
use crate::model::{Content, Digest};
use crate::store::archive::Piece;
use crate::store::{PathLookup, Store, StoreError};

/// Longest part of a file that is searched as one line, in bytes.
const LONGEST: usize = 1 << 20;
/// Maximum number of lines that are kept of a file.
const MOST_LINES: usize = 100;

/// Search in the contents of found paths. Each content is read once, whatever paths and snapshots have it.
pub struct ContentSearch<'f> {
    found: &'f FoundPaths,
    lookup: Option<(PathLookup<'f>, &'f Store)>,
    regex: Regex,
    /// Results, also by whether the content was searched as settings of git.
    known: HashMap<(Digest, bool), Rc<Searched>>,
    shows_secrets: bool,
    is_stopped: &'f dyn Fn() -> bool,
    /// Number of binary files that were not searched.
    pub binary: u64,
    /// Number of files that were not searched because they are likely to hold secrets.
    pub secret: u64,
    /// Number of contents that are damaged or missing.
    pub unreadable: u64,
}

/// Result of the search in one content.
enum Searched {
    Lines(Vec<MatchedLine>, u64),
    Binary,
    /// Settings of git that are too large to find the secrets in them.
    Secret,
    Unreadable,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedLine {
    /// Number of the line, from 1.
    pub number: u64,
    /// The line without its newline; logins in it are masked.
    pub text: Vec<u8>,
}

/// Lines of the newest version of a path that has any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentMatch {
    /// The first snapshot with that version.
    pub moment: Moment,
    /// The lines, at most a hundred.
    pub lines: Vec<MatchedLine>,
    /// Number of all lines that match.
    pub count: u64,
}

impl FoundPaths {
    /// Prepares a search in the contents of the found paths. Files that are likely to hold secrets are passed over. After `is_stopped`
    /// returns true, results are incomplete.
    ///
    /// # Errors
    /// [`RecoveryError::Regex`].
    pub fn search<'f>(
        &'f self,
        regex: &str,
        shows_secrets: bool,
        is_stopped: &'f dyn Fn() -> bool,
    ) -> Result<ContentSearch<'f>, RecoveryError> {
        let built = RegexBuilder::new(regex).build();
        let regex = built.map_err(|error| RecoveryError::Regex {
            regex: regex.to_owned(),
            why: error.to_string(),
        })?;
        Ok(ContentSearch {
            found: self,
            lookup: self.store.as_ref().map(|store| (PathLookup::new(store), store)),
            regex,
            known: HashMap::new(),
            shows_secrets,
            is_stopped,
            binary: 0,
            secret: 0,
            unreadable: 0,
        })
    }
}

impl ContentSearch<'_> {
    /// Returns the paths that are searched.
    #[must_use]
    pub fn paths(&self) -> &[FoundPath] {
        &self.found.paths
    }

    /// Searches the versions of a path, newest first; `None` if no version matches.
    pub fn of(&mut self, path: &FoundPath) -> Option<ContentMatch> {
        if path.is_secret && !self.shows_secrets {
            self.secret += 1;
            return None;
        }
        let settings = Some(path.path.as_path()).filter(|_| path.is_settings && !self.shows_secrets);
        let (mut is_binary, mut is_unreadable, mut is_secret) = (false, false, false);
        for (content, moment) in path.contents.iter().rev() {
            match &*self.searched(content, moment, settings) {
                Searched::Lines(lines, count) if *count > 0 => {
                    return Some(ContentMatch {
                        moment: moment.clone(),
                        lines: lines.clone(),
                        count: *count,
                    });
                }
                Searched::Lines(..) => {}
                Searched::Binary => is_binary = true,
                Searched::Secret => is_secret = true,
                Searched::Unreadable => is_unreadable = true,
            }
        }
        self.binary += u64::from(is_binary);
        self.secret += u64::from(is_secret);
        self.unreadable += u64::from(is_unreadable);
        None
    }

    fn searched(&mut self, content: &Content, moment: &Moment, settings: Option<&Path>) -> Rc<Searched> {
        let key = (content.digest, settings.is_some());
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let searched = self
            .read(content, moment, settings)
            .unwrap_or(Searched::Unreadable);
        let searched = Rc::new(searched);
        self.known.insert(key, Rc::clone(&searched));
        searched
    }

    fn read(
        &mut self,
        content: &Content,
        moment: &Moment,
        settings: Option<&Path>,
    ) -> Result<Searched, StoreError> {
        let mut lines = Lines {
            regex: &self.regex,
            shows_secrets: self.shows_secrets,
            is_stopped: self.is_stopped,
            begun: Vec::new(),
            is_masked: false,
            masked: Vec::new(),
            keys: KeyLines::default(),
            number: 1,
            found: Vec::new(),
            count: 0,
            is_binary: false,
        };
        let Some((lookup, store)) = &mut self.lookup else {
            return Ok(Searched::Unreadable);
        };
        let record = store.record(&moment.snapshot)?;
        if let Some(path) = settings {
            let Some(text) = lookup.bytes(&record, content, MAX_TEXT)? else {
                return Ok(Searched::Secret);
            };
            let masked = mask_settings(path, &text).unwrap_or_default();
            let masked = masked.split_inclusive(|byte| *byte == b'\n');
            lines.masked = masked.map(<[u8]>::to_vec).collect();
        }
        let streamed = lookup.stream(&record, content, &mut |piece| match piece {
            Piece::Data(data) => lines.take(data),
            // A hole is zeros.
            Piece::Hole(_) => lines.stop(),
        });
        if lines.is_binary {
            return Ok(Searched::Binary);
        }
        streamed?;
        lines.end();
        Ok(Searched::Lines(lines.found, lines.count))
    }
}

struct Lines<'r> {
    regex: &'r Regex,
    shows_secrets: bool,
    is_stopped: &'r dyn Fn() -> bool,
    begun: Vec<u8>,
    /// True if an earlier part of the same line hides what follows.
    is_masked: bool,
    /// The lines with placeholders for secrets of git settings; empty if there are none.
    masked: Vec<Vec<u8>>,
    keys: KeyLines,
    number: u64,
    found: Vec<MatchedLine>,
    count: u64,
    is_binary: bool,
}

impl Lines<'_> {
    fn stop(&mut self) -> std::io::Result<()> {
        self.is_binary = true;
        Err(std::io::ErrorKind::Interrupted.into())
    }

    fn take(&mut self, data: &[u8]) -> std::io::Result<()> {
        if is_binary(data) {
            return self.stop();
        }
        if (self.is_stopped)() {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        for part in data.split_inclusive(|byte| *byte == b'\n') {
            if self.begun.is_empty() && part.ends_with(b"\n") {
                self.judge(part);
                self.number += 1;
                continue;
            }
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.begun);
                self.judge(&line);
                self.number += 1;
                self.is_masked = false;
            } else if self.begun.len() > LONGEST {
                let rest = self.begun.split_off(end_of_logins(&self.begun));
                let line = std::mem::replace(&mut self.begun, rest);
                self.judge(&line);
                self.is_masked |= masks_the_rest(&line);
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        let line = std::mem::take(&mut self.begun);
        if !line.is_empty() {
            self.judge(&line);
        }
    }

    fn judge(&mut self, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let key = self.keys.masked(line);
        if !self.regex.is_match(line) {
            return;
        }
        self.count += 1;
        if self.found.len() < MOST_LINES {
            let at = usize::try_from(self.number - 1).unwrap_or(usize::MAX);
            let shown = key.as_ref().or_else(|| self.masked.get(at));
            let shown = shown.map_or(line, Vec::as_slice);
            let shown = shown.strip_suffix(b"\n").unwrap_or(shown);
            self.found.push(MatchedLine {
                number: self.number,
                text: match self.shows_secrets {
                    true => line.to_vec(),
                    false if self.is_masked => b"(hidden)".to_vec(),
                    false => masked(shown),
                },
            });
        }
    }
}
