//! Three-way merge of texts, line by line, as `git merge-file --diff3` does it.
//!
//! Both sides are compared with their base. Changes of different lines that do not touch each other are combined, equal ones count
//! once, and all others overlap.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use super::patch::split;

/// Three texts to merge.
#[derive(Clone, Copy, Debug)]
pub struct MergeSides<'a> {
    /// Text that both sides began with.
    pub base: &'a [u8],
    /// Side whose lines stay where the other side did not change them.
    pub ours: &'a [u8],
    /// Side whose changes are added.
    pub theirs: &'a [u8],
}

/// Names of the texts in conflict markers.
#[derive(Clone, Copy, Debug)]
pub struct MergeLabels<'a> {
    /// Name of [`MergeSides::ours`].
    pub ours: &'a str,
    /// Name of [`MergeSides::base`].
    pub base: &'a str,
    /// Name of [`MergeSides::theirs`].
    pub theirs: &'a str,
}

/// Lines that both sides changed, each in its own way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Number of the first line in [`MergeSides::ours`], from 1.
    pub line: u64,
    /// Lines of [`MergeSides::ours`], with their newlines.
    pub ours: Vec<Vec<u8>>,
    /// The same lines in [`MergeSides::base`].
    pub base: Vec<Vec<u8>>,
    /// The same lines in [`MergeSides::theirs`].
    pub theirs: Vec<Vec<u8>>,
}

/// Result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The text; where both sides overlap it has conflict markers.
    pub text: Vec<u8>,
    /// The places where both sides overlap.
    pub overlaps: Vec<Overlap>,
}

/// Merges two sides of a text.
#[must_use]
pub fn merge(sides: MergeSides<'_>, labels: MergeLabels<'_>) -> Merged {
    let merge = Merge::of(sides);
    let owned = |lines: &[&[u8]]| lines.iter().map(|line| line.to_vec()).collect();
    let overlaps = merge.regions.iter().filter(|region| region.taken == Taken::Both);
    Merged {
        text: merge.text(labels),
        overlaps: overlaps
            .map(|region| Overlap {
                line: region.ours.start as u64 + 1,
                ours: owned(part(&merge.ours, &region.ours)),
                base: owned(part(&merge.base, &region.base)),
                theirs: owned(part(&merge.theirs, &region.theirs)),
            })
            .collect(),
    }
}

/// A change of one side, as ranges of lines.
pub(super) struct LineChange {
    pub(super) base: Range<usize>,
    pub(super) side: Range<usize>,
}

/// Side that a part of the result comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Ours,
    Theirs,
    /// Both sides changed it.
    Both,
}

/// Lines that at least one side changed, in each of the texts.
struct Region {
    taken: Taken,
    base: Range<usize>,
    ours: Range<usize>,
    theirs: Range<usize>,
}

struct Merge<'a> {
    base: Vec<&'a [u8]>,
    ours: Vec<&'a [u8]>,
    theirs: Vec<&'a [u8]>,
    regions: Vec<Region>,
}

pub(super) fn part<'l, 'a>(lines: &'l [&'a [u8]], range: &Range<usize>) -> &'l [&'a [u8]] {
    lines.get(range.clone()).unwrap_or_default()
}

pub(super) fn line_changes(base: &[&[u8]], side: &[&[u8]]) -> Vec<LineChange> {
    let mut input = InternedInput::<&[u8]>::default();
    input.update_before(base.iter().copied());
    input.update_after(side.iter().copied());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    // As git slides changes for a merge: without a look at indentation.
    diff.postprocess_no_heuristic(&input);
    let place = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let range = |lines: Range<u32>| place(lines.start)..place(lines.end);
    diff.hunks()
        .map(|hunk| LineChange {
            base: range(hunk.before),
            side: range(hunk.after),
        })
        .collect()
}

/// Returns the place of a line before a change: `back` lines before it on every side.
fn before(change: &LineChange, line: usize) -> usize {
    change
        .side
        .start
        .saturating_sub(change.base.start.saturating_sub(line))
}

/// Returns the place of a line after all changes of a side: as many lines before its end as in the base. A line that an earlier change
/// took away begins the side.
fn before_end(line: usize, base: &[&[u8]], side: &[&[u8]]) -> usize {
    (line + side.len()).saturating_sub(base.len())
}

impl<'a> Merge<'a> {
    fn of(sides: MergeSides<'a>) -> Self {
        let mut merge = Self {
            base: split(sides.base),
            ours: split(sides.ours),
            theirs: split(sides.theirs),
            regions: Vec::new(),
        };
        let ours = line_changes(&merge.base, &merge.ours);
        let theirs = line_changes(&merge.base, &merge.theirs);
        let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
        loop {
            match (ours.peek(), theirs.peek()) {
                (None, None) => return merge,
                // Lines that touch are one place: what stands between two changes tells them apart.
                (Some(own), other) if other.is_none_or(|other| own.base.end < other.base.start) => {
                    let place = |line| match other {
                        Some(other) => before(other, line),
                        None => before_end(line, &merge.base, &merge.theirs),
                    };
                    let theirs = place(own.base.start)..place(own.base.end);
                    merge.add(Region {
                        taken: Taken::Ours,
                        base: own.base.clone(),
                        ours: own.side.clone(),
                        theirs,
                    });
                    ours.next();
                }
                (own, Some(other)) if own.is_none_or(|own| other.base.end < own.base.start) => {
                    let place = |line| match own {
                        Some(own) => before(own, line),
                        None => before_end(line, &merge.base, &merge.ours),
                    };
                    let ours = place(other.base.start)..place(other.base.end);
                    merge.add(Region {
                        taken: Taken::Theirs,
                        base: other.base.clone(),
                        ours,
                        theirs: other.side.clone(),
                    });
                    theirs.next();
                }
                (Some(own), Some(other)) => {
                    merge.meet(own, other);
                    let (own_end, other_end) = (own.base.end, other.base.end);
                    if own_end >= other_end {
                        theirs.next();
                    }
                    if other_end >= own_end {
                        ours.next();
                    }
                }
                (_, None) | (None, _) => return merge,
            }
        }
    }

    /// Adds two changes that overlap or touch.
    fn meet(&mut self, own: &LineChange, other: &LineChange) {
        let is_equal =
            own.base == other.base && part(&self.ours, &own.side) == part(&self.theirs, &other.side);
        if is_equal {
            return;
        }
        let base = own.base.start.min(other.base.start)..own.base.end.max(other.base.end);
        let grown = |change: &LineChange| {
            let end = change.side.end + base.end.saturating_sub(change.base.end);
            before(change, base.start)..end
        };
        self.add(Region {
            taken: Taken::Both,
            ours: grown(own),
            theirs: grown(other),
            base: base.clone(),
        });
    }

    /// Adds the next region. One that touches the last one is a part of that.
    fn add(&mut self, region: Region) {
        match self.regions.last_mut() {
            Some(last) if region.ours.start <= last.ours.end || region.theirs.start <= last.theirs.end => {
                if last.taken != region.taken {
                    last.taken = Taken::Both;
                }
                last.base.end = region.base.end;
                last.ours.end = region.ours.end;
                last.theirs.end = region.theirs.end;
            }
            _ => self.regions.push(region),
        }
    }

    fn text(&self, labels: MergeLabels<'_>) -> Vec<u8> {
        let (mut out, mut at) = (Vec::new(), 0);
        for region in &self.regions {
            out.extend(part(&self.ours, &(at..region.ours.start)).concat());
            at = region.ours.end;
            match region.taken {
                Taken::Ours => out.extend(part(&self.ours, &region.ours).concat()),
                Taken::Theirs => out.extend(part(&self.theirs, &region.theirs).concat()),
                Taken::Both => self.mark(region, labels, &mut out),
            }
        }
        out.extend(part(&self.ours, &(at..self.ours.len())).concat());
        out
    }

    /// Writes the lines of all three texts between markers.
    fn mark(&self, region: &Region, labels: MergeLabels<'_>, out: &mut Vec<u8>) {
        let newline: &[u8] = match self.has_carriage_returns(region) {
            true => b"\r\n",
            false => b"\n",
        };
        let mut put = |marker: String, lines: &[&[u8]]| {
            out.extend_from_slice(marker.as_bytes());
            out.extend_from_slice(newline);
            out.extend(lines.concat());
            if lines.last().is_some_and(|line| !line.ends_with(b"\n")) {
                out.extend_from_slice(newline);
            }
        };
        put(format!("<<<<<<< {}", labels.ours), part(&self.ours, &region.ours));
        put(format!("||||||| {}", labels.base), part(&self.base, &region.base));
        put("=======".to_owned(), part(&self.theirs, &region.theirs));
        put(format!(">>>>>>> {}", labels.theirs), &[]);
    }

    /// Returns true if markers end like the lines around them: in a carriage return and a newline.
    fn has_carriage_returns(&self, region: &Region) -> bool {
        let has = |lines: &[&[u8]], at: usize| -> Option<bool> {
            let line = lines.get(at)?;
            match (line.strip_suffix(b"\n"), at.checked_sub(1)) {
                (Some(line), _) => Some(line.ends_with(b"\r")),
                // The last line has no newline, so the one before tells.
                (None, Some(above)) => Some(lines.get(above)?.ends_with(b"\r\n")),
                (None, None) => None,
            }
        };
        has(&self.ours, region.ours.start.saturating_sub(1)) != Some(false)
            && has(&self.theirs, region.theirs.start.saturating_sub(1)) != Some(false)
            && has(&self.base, 0) == Some(true)
    }
}
