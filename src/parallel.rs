//! Doing the same with many items on a few threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// More threads than this make a disk slower, not faster.
const MOST_THREADS: usize = 16;

/// Applies `work` to every item, on as many threads as the machine runs at once, and gives the
/// results in the order of the items. No more items than threads are in progress at any time.
pub fn map_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_parallel_with(items, || (), |(), item| work(item))
}

/// Like [`map_parallel`]; each thread makes a state for itself, a buffer for example, and hands it to
/// its calls of `work` one after the other.
pub fn map_parallel_with<T: Sync, S, R: Send>(
    items: &[T],
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
) -> Vec<R> {
    let threads = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(items.len())
        .min(MOST_THREADS);
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut results = Vec::new();
        let mut state = state();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return results;
            };
            results.push((at, work(&mut state, item)));
        }
    };
    let mut results = thread::scope(|scope| {
        // The calling thread works too; threads that the system refuses are done without.
        let helpers: Vec<_> = (1..threads)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, worker).ok())
            .collect();
        let mut results = worker();
        for helper in helpers {
            match helper.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|&(at, _)| at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        let doubled = map_parallel(&items, |item| item * 2);
        assert_eq!(
            doubled,
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert!(map_parallel(&[] as &[usize], |item| *item).is_empty());
    }

    #[test]
    fn threads_keep_their_state() {
        let items: Vec<usize> = (0..1000).collect();
        let counts = map_parallel_with(
            &items,
            || 0,
            |count, _| {
                *count += 1;
                *count
            },
        );
        let firsts = counts.iter().filter(|&&count| count == 1).count();
        assert!(firsts <= MOST_THREADS);
        assert!(counts.iter().max() >= Some(&(items.len() / MOST_THREADS)));
    }

    #[test]
    fn few_items_are_in_progress_at_once() {
        let items: Vec<usize> = (0..200).collect();
        let (open, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        map_parallel(&items, |_| {
            let now = open.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            thread::yield_now();
            open.fetch_sub(1, Ordering::SeqCst);
        });
        let limit = thread::available_parallelism()
            .map_or(1, NonZero::get)
            .min(MOST_THREADS);
        assert!(most.into_inner() <= limit);
    }
}
