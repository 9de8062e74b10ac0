//! Work that is on the host's pool while the thread that asked for it ends.
//!
//! Node and Bun 1.4 take care of it. Earlier versions of Bun free the worker, and crash when a
//! thread of the pool then reports to it. There the end of a worker is held up until its work is
//! done. Not elsewhere: Bun 1.4 drops work that has not begun, which would be waited for in vain.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use napi::bindgen_prelude::Env;
use napi_derive::napi;

/// The end of a thread is held up for this long at most: a file system that does not answer must
/// not keep it for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// What the pool needs to report work that is done to its thread.
const REPORTING: Duration = Duration::from_millis(2);

thread_local! {
    static OUTSTANDING: Arc<Outstanding> = Arc::default();
}

/// Counts the work that a thread has given to the pool.
#[derive(Default)]
struct Outstanding {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Outstanding {
    fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.count.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Blocks until everything is done.
    fn wait(&self) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if *count == 0 {
            return;
        }
        drop(
            self.changed
                .wait_timeout_while(count, LONGEST_WAIT, |count| *count > 0),
        );
        std::thread::sleep(REPORTING);
    }
}

/// Work that is counted as long as this exists.
pub(super) struct Ticket(Arc<Outstanding>);

impl Ticket {
    /// Counts one more piece of work for the current thread.
    pub(super) fn take() -> Self {
        let outstanding = OUTSTANDING.with(Arc::clone);
        outstanding.change(|count| *count += 1);
        Self(outstanding)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.change(|count| *count -= 1);
    }
}

/// Makes the current thread wait at its end for work that is still on the pool. To be called once.
#[napi(catch_unwind)]
pub fn finish_work_at_end(env: &Env) -> napi::Result<()> {
    let outstanding = OUTSTANDING.with(Arc::clone);
    env.add_env_cleanup_hook(outstanding, |outstanding| outstanding.wait())?;
    Ok(())
}
