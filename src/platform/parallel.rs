//! The same work on many things, shared by all cores, with the results in the order of the things.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::threads;

/// Does `work` on every item, on as many threads as [`threads`] says. The results are in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break done };
            done.push((at, work(item)));
        }
    };
    let more = threads().min(items.len()).saturating_sub(1);
    if more == 0 {
        return items.iter().map(work).collect();
    }
    let mut all = thread::scope(|scope| {
        // A system that gives no more threads gets by with this one.
        let start = |_| {
            let helper = thread::Builder::new().name("share".to_owned());
            helper.spawn_scoped(scope, some).ok()
        };
        let others: Vec<_> = (0..more).filter_map(start).collect();
        let mut all = some();
        for other in others {
            match other.join() {
                Ok(theirs) => all.extend(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, 2, 7, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled = map(&items, |item| item * 2);
            assert!(
                doubled.iter().copied().eq((0..count).map(|item| item * 2)),
                "{count}"
            );
        }
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_is_not_lost() {
        let _ = map(&[1, 2, 3, 4], |item| assert_ne!(*item, 3, "the third"));
    }
}
