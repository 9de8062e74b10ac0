//! Work that is done behind the caller's back, or by the caller who cannot wait for that.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Error, Result};

type Work<T> = Box<dyn Fn(&AtomicBool) -> Result<T> + Send + Sync>;

/// Work with one result. Whoever comes first does it, so that waiting for the result always ends,
/// also when the thread that was meant to do the work is never given the time to begin.
pub struct Background<T> {
    work: Work<T>,
    state: Mutex<State<T>>,
    changed: Condvar,
    stop: AtomicBool,
}

enum State<T> {
    Waiting,
    Running,
    /// To be done only when somebody asks for the result.
    Stopped,
    Done(Result<T>),
    Taken,
}

impl<T> Background<T> {
    /// Work that nobody has begun. It may end with any error when its flag is set.
    pub fn new(work: impl Fn(&AtomicBool) -> Result<T> + Send + Sync + 'static) -> Self {
        Self {
            work: Box::new(work),
            state: Mutex::new(State::Waiting),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
        }
    }

    /// Does the work, unless somebody has begun it. Blocking.
    pub fn run(&self) {
        let state = self.lock();
        if matches!(*state, State::Waiting) {
            drop(self.perform(state));
        }
    }

    /// Ends work that nobody waits for.
    pub fn stop(&self) {
        let mut state = self.lock();
        match *state {
            State::Waiting => *state = State::Stopped,
            State::Running => self.stop.store(true, Ordering::Relaxed),
            State::Stopped | State::Done(_) | State::Taken => {}
        }
    }

    /// The result, which can be had once; `None` afterwards. Does the work or waits for it. After a
    /// failure the work is done again the next time. Blocking.
    pub fn take(&self) -> Result<Option<T>> {
        let mut state = self.lock();
        loop {
            state = match *state {
                State::Waiting | State::Stopped => self.perform(state),
                State::Running => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                State::Done(_) | State::Taken => break,
            };
        }
        match std::mem::replace(&mut *state, State::Taken) {
            State::Done(Ok(value)) => Ok(Some(value)),
            State::Done(Err(error)) => {
                *state = State::Stopped;
                Err(error)
            }
            _ => Ok(None),
        }
    }

    fn perform<'a>(&'a self, mut state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        *state = State::Running;
        self.stop.store(false, Ordering::Relaxed);
        drop(state);
        // Also a panic must end the waiting.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(&self.stop)));
        let outcome =
            outcome.unwrap_or_else(|_| Err(Error::Internal("panic in the background".to_owned())));
        let mut state = self.lock();
        *state = match outcome {
            Err(_) if self.stop.load(Ordering::Relaxed) => State::Stopped,
            outcome => State::Done(outcome),
        };
        self.changed.notify_all();
        state
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::*;

    #[test]
    fn who_cannot_wait_does_it() {
        let work = Background::new(|_| Ok(5));
        assert_eq!(work.take().unwrap(), Some(5));
        work.run();
        assert_eq!(work.take().unwrap(), None);
    }

    #[test]
    fn it_is_done_once() {
        let gate = Arc::new((Barrier::new(2), Barrier::new(2)));
        let times = AtomicU32::new(0);
        let (begun, may_end) = (Arc::clone(&gate), Arc::clone(&gate));
        let work = Background::new(move |_| {
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
        let work = Background::new(move |_| match times.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Error::WriterClosed),
            1 => panic!("on purpose"),
            time => Ok(time),
        });
        work.run();
        assert!(matches!(work.take(), Err(Error::WriterClosed)));
        assert!(matches!(work.take(), Err(Error::Internal(_))));
        assert_eq!(work.take().unwrap(), Some(2));
    }

    #[test]
    fn stopped_work_is_done_for_those_who_need_it() {
        let begun = Arc::new(Barrier::new(2));
        let times = AtomicU32::new(0);
        let here = Arc::clone(&begun);
        let work = Background::new(move |stop| {
            if times.fetch_add(1, Ordering::Relaxed) > 0 {
                return Ok(5);
            }
            here.wait();
            while !stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            Err(Error::WriterClosed)
        });
        thread::scope(|scope| {
            scope.spawn(|| work.run());
            begun.wait();
            work.stop();
            assert_eq!(work.take().unwrap(), Some(5));
        });
        let work = Background::new(|_| Ok(5));
        work.stop();
        work.run();
        assert!(matches!(*work.lock(), State::Stopped));
        assert_eq!(work.take().unwrap(), Some(5));
    }
}
