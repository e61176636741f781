//! Lines chosen of a text.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::diff::{ChangedLine, TextHunks};

/// Returns the later text with these lines as the earlier one has them.
fn reverted(then: &str, now: &str, lines: &[ChangedLine]) -> Option<String> {
    let texts = TextHunks::of(then.as_bytes(), now.as_bytes());
    let chosen = texts.with_lines(&lines.iter().copied().collect())?;
    Some(String::from_utf8(texts.composed(&chosen)).unwrap())
}

#[test]
fn chosen_lines_come_back_or_go() {
    use ChangedLine::{Added, Removed};
    let (then, now) = ("a\nb\nc\nd\n", "A\nB\nc\nd\nnew\n");
    let of = |lines: &[ChangedLine]| reverted(then, now, lines);
    assert_eq!(of(&[]).unwrap(), now);
    assert_eq!(of(&[Added(5)]).unwrap(), "A\nB\nc\nd\n");
    assert_eq!(of(&[Removed(1)]).unwrap(), "a\nA\nB\nc\nd\nnew\n");
    assert_eq!(of(&[Added(1)]).unwrap(), "B\nc\nd\nnew\n");
    assert_eq!(of(&[Removed(2), Added(2)]).unwrap(), "A\nb\nc\nd\nnew\n");
    assert_eq!(
        of(&[Removed(1), Removed(2), Added(1), Added(2), Added(5)]).unwrap(),
        then
    );
    // A line that does not differ, or is not there, is no choice.
    assert_eq!(of(&[Removed(3)]), None);
    assert_eq!(of(&[Added(99)]), None);
    // Without a newline at the end, lines stay lines.
    assert_eq!(reverted("x", "y", &[Removed(1)]).unwrap(), "x\ny");
    assert_eq!(reverted("x", "x\nz", &[Removed(1)]).unwrap(), "x\nx\nz");
    assert_eq!(reverted("x\n", "x", &[Removed(1), Added(1)]).unwrap(), "x\n");
}

fn text() -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec("[abc]", 0..12);
    (lines, any::<bool>()).prop_map(|(lines, ends)| {
        let text = lines.join("\n");
        if ends && !text.is_empty() {
            text + "\n"
        } else {
            text
        }
    })
}

proptest! {
    #[test]
    fn all_lines_are_the_earlier_text_and_no_line_is_invented(
        then in text(), now in text(), seed in proptest::collection::vec(any::<bool>(), 24), context in 0_usize..4
    ) {
        let texts = TextHunks::of(then.as_bytes(), now.as_bytes()).with_context(context);
        let all = |number: usize| (1..=number).flat_map(|at| [ChangedLine::Removed(at), ChangedLine::Added(at)]);
        let all: BTreeSet<ChangedLine> = all(12)
            .filter(|line| texts.with_lines(&[*line].into()).is_some())
            .collect();
        let whole = texts.with_lines(&all).unwrap();
        prop_assert!(whole.iter().all(|chosen| chosen.edited.is_none()));
        prop_assert_eq!(texts.composed(&whole), then.as_bytes());
        // Each chosen line moves the number of lines by one.
        let some: BTreeSet<ChangedLine> = all.iter().zip(seed).filter(|(_, taken)| *taken).map(|(line, _)| *line).collect();
        let back = some.iter().filter(|line| matches!(line, ChangedLine::Removed(_))).count();
        let made = texts.composed(&texts.with_lines(&some).unwrap());
        let count = |text: &[u8]| text.split_inclusive(|byte| *byte == b'\n').count();
        prop_assert_eq!(count(&made) + some.len() - back, count(now.as_bytes()) + back);
    }
}
