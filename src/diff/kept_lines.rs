//! Lines that a text kept from an earlier one.

use similar::{Algorithm, DiffOp, TextDiff};

use super::patch::{PATIENCE, split};

/// Returns for each line of `new` the number of the line of `old` that it is, from 0; `None` for a line that was added.
#[must_use]
pub fn kept_lines(old: &[u8], new: &[u8]) -> Vec<Option<usize>> {
    let (old, new) = (split(old), split(new));
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_slices(&old, &new);
    let mut kept = vec![None; new.len()];
    for op in diff.ops() {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = *op
        {
            let lines = kept.iter_mut().skip(new_index).take(len);
            for (line, old) in lines.zip(old_index..) {
                *line = Some(old);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::kept_lines;

    #[test]
    fn lines_keep_their_place_in_the_earlier_text() {
        for (old, new, expected) in [
            ("", "", vec![]),
            ("", "a\n", vec![None]),
            ("a\n", "", vec![]),
            ("a\nb\nc\n", "a\nx\nc\n", vec![Some(0), None, Some(2)]),
            ("a\nb", "a\nb\n", vec![Some(0), None]),
            ("a\nb\n", "n\na\nb\n", vec![None, Some(0), Some(1)]),
        ] {
            assert_eq!(
                kept_lines(old.as_bytes(), new.as_bytes()),
                expected,
                "{old:?} {new:?}"
            );
        }
    }
}
