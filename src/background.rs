//! Work that is done behind the caller's back, or by the caller who cannot wait for that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Error, Result};

type Work<T> = Box<dyn Fn() -> Result<T> + Send + Sync>;

/// Work with one result. Whoever comes first does it, so that waiting for the result always ends,
/// also when the thread that was meant to do the work is never given the time to begin.
pub struct Background<T> {
    work: Work<T>,
    state: Mutex<State<T>>,
    changed: Condvar,
}

enum State<T> {
    Waiting,
    Running,
    Done(Result<T>),
    Taken,
}

impl<T> Background<T> {
    /// Work that nobody has begun.
    pub fn new(work: impl Fn() -> Result<T> + Send + Sync + 'static) -> Self {
        Self {
            work: Box::new(work),
            state: Mutex::new(State::Waiting),
            changed: Condvar::new(),
        }
    }

    /// Does the work, unless somebody has begun it. Blocking.
    pub fn run(&self) {
        let mut state = self.lock();
        if !matches!(*state, State::Waiting) {
            return;
        }
        *state = State::Running;
        drop(state);
        // Also a panic must end the waiting.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)()));
        let outcome =
            outcome.unwrap_or_else(|_| Err(Error::Internal("panic in the background".to_owned())));
        *self.lock() = State::Done(outcome);
        self.changed.notify_all();
    }

    /// The result, which can be had once; `None` afterwards. Does the work or waits for it. After a
    /// failure the work is done again the next time. Blocking.
    pub fn take(&self) -> Result<Option<T>> {
        self.run();
        let mut state = self
            .changed
            .wait_while(self.lock(), |state| matches!(state, State::Running))
            .unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(Ok(value)) => Ok(Some(value)),
            State::Done(Err(error)) => {
                *state = State::Waiting;
                Err(error)
            }
            State::Taken | State::Waiting | State::Running => Ok(None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::*;

    #[test]
    fn who_cannot_wait_does_it() {
        let work = Background::new(|| Ok(5));
        assert_eq!(work.take().unwrap(), Some(5));
        work.run();
        assert_eq!(work.take().unwrap(), None);
    }

    #[test]
    fn it_is_done_once() {
        let gate = Arc::new((Barrier::new(2), Barrier::new(2)));
        let times = AtomicU32::new(0);
        let (begun, may_end) = (Arc::clone(&gate), Arc::clone(&gate));
        let work = Background::new(move || {
            begun.0.wait();
            may_end.1.wait();
            Ok(times.fetch_add(1, Ordering::Relaxed) + 1)
        });
        thread::scope(|scope| {
            scope.spawn(|| work.run());
            gate.0.wait();
            // Somebody is at it: this returns at once.
            work.run();
            gate.1.wait();
            assert_eq!(work.take().unwrap(), Some(1));
        });
    }

    #[test]
    fn failures_and_panics_are_told_and_tried_again() {
        let times = AtomicU32::new(0);
        let work = Background::new(move || match times.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Error::WriterClosed),
            1 => panic!("on purpose"),
            time => Ok(time),
        });
        work.run();
        assert!(matches!(work.take(), Err(Error::WriterClosed)));
        assert!(matches!(work.take(), Err(Error::Internal(_))));
        assert_eq!(work.take().unwrap(), Some(2));
    }
}
