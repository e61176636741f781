//! Work that is shared by all cores: the same on many things, or on things that are found on the way.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::threads;

/// Calls `work` for every item, on up to [`threads`] threads. The results are in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_with(items, || (), |(), item| work(item))
}

/// Calls `work` like [`map`], with a state for each thread that `start` creates. The items are started in their order.
pub fn map_with<T: Sync, S, R: Send>(
    items: &[T],
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
) -> Vec<R> {
    if items.len() < 2 {
        let mut own = start();
        return items.iter().map(|item| work(&mut own, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let some = || {
        let (mut own, mut done) = (start(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break done };
            done.push((at, work(&mut own, item)));
        }
    };
    let mut all: Vec<(usize, R)> = together(threads().min(items.len()), some)
        .into_iter()
        .flatten()
        .collect();
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Visits `first` and everything that a visit finds (it puts that into the vector), until nothing is left or a visit
/// breaks off. Each thread goes down into what it found itself, in that order, and shares only when another one has
/// nothing to do. Gives what each thread gathered.
pub fn explore<J, R, V>(first: J, visit: V) -> Vec<R>
where
    J: Send,
    R: Default + Send,
    V: Fn(J, &mut Vec<J>, &mut R) -> ControlFlow<()> + Sync,
{
    let crew = Crew {
        queue: Mutex::new(Queue {
            waiting: vec![first],
            busy: 0,
        }),
        changed: Condvar::new(),
        idle: AtomicUsize::new(0),
        is_stopped: AtomicBool::new(false),
    };
    together(threads(), || crew.work(&visit))
}

/// Does the same on so many threads, this one among them. A system that gives no more gets by with those that run.
fn together<R: Send>(count: usize, work: impl Fn() -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let start = |_| super::start(scope, "share", &work).ok();
        let others: Vec<_> = (1..count).filter_map(start).collect();
        let mut all = vec![work()];
        for other in others {
            match other.join() {
                Ok(theirs) => all.push(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

/// Jobs that any worker may take, and the number of workers with jobs of their own. All work is done when there are neither.
struct Queue<J> {
    waiting: Vec<J>,
    busy: usize,
}

/// Workers that explore together.
struct Crew<J> {
    queue: Mutex<Queue<J>>,
    changed: Condvar,
    /// Number of workers that wait for a job.
    idle: AtomicUsize,
    is_stopped: AtomicBool,
}

impl<J> Crew<J> {
    fn lock(&self) -> MutexGuard<'_, Queue<J>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work<R: Default>(&self, visit: &impl Fn(J, &mut Vec<J>, &mut R) -> ControlFlow<()>) -> R {
        let mut gathered = R::default();
        let _leave = Leave(self);
        let (mut own, mut found) = (Vec::new(), Vec::new());
        let mut first = true;
        while let Some(job) = own.pop().or_else(|| self.next(std::mem::take(&mut first))) {
            if visit(job, &mut found, &mut gathered).is_break() {
                self.stop();
            }
            if self.is_stopped.load(Ordering::Relaxed) {
                break;
            }
            // The first comes out first.
            own.extend(found.drain(..).rev());
            if own.len() > 1 && self.idle.load(Ordering::Relaxed) > 0 {
                // The older half: it was found nearer to the start, and more may lie behind it.
                let half = own.len() / 2;
                self.lock().waiting.extend(own.drain(..half));
                self.changed.notify_all();
            }
        }
        gathered
    }

    /// Returns a job that another worker shared, and waits while others may still share some. `first`: before the first job.
    fn next(&self, first: bool) -> Option<J> {
        let mut queue = self.lock();
        if !first {
            queue.busy -= 1;
        }
        loop {
            if self.is_stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(job) = queue.waiting.pop() {
                queue.busy += 1;
                return Some(job);
            }
            if queue.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn stop(&self) {
        // Under the lock: who looks at it now is told, or waits already.
        let queue = self.lock();
        self.is_stopped.store(true, Ordering::Relaxed);
        drop(queue);
        self.changed.notify_all();
    }
}

/// Stops the other workers if this one panics: they would wait for jobs that it never finds.
struct Leave<'c, J>(&'c Crew<J>);

impl<J> Drop for Leave<'_, J> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{explore, map};

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

    #[test]
    fn everything_that_is_found_is_visited_once() {
        // A tree of numbers: each below 40,000 has three children.
        let visited: Vec<Vec<u64>> = explore(1, |number, found, gathered: &mut Vec<u64>| {
            gathered.push(number);
            if number < 40_000 {
                found.extend((0..3).map(|child| number * 3 + child - 1));
            }
            ControlFlow::Continue(())
        });
        let mut all: Vec<u64> = visited.into_iter().flatten().collect();
        all.sort_unstable();
        let most = *all.last().unwrap();
        assert!(
            most > 100_000 && all.iter().copied().eq(1..=most),
            "{most} {}",
            all.len()
        );
    }

    #[test]
    fn breaking_off_ends_it_for_all() {
        let count = AtomicU64::new(0);
        let _: Vec<()> = explore(0_u64, |_, found, ()| {
            found.extend([1, 2]);
            if count.fetch_add(1, Ordering::Relaxed) > 1000 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert!(count.into_inner() < 2000);
    }

    #[test]
    #[should_panic(expected = "the hundredth")]
    fn a_panic_on_the_way_ends_it_for_all() {
        let _: Vec<()> = explore(0_u64, |number, found, ()| {
            found.extend([number + 1, number + 1]);
            assert_ne!(number, 100, "the hundredth");
            ControlFlow::Continue(())
        });
    }
}
