//! Work off the JS thread: a blocking closure on the host's thread pool, answered by a promise.
//!
//! The host's own asynchronous work is used, not a runtime of ours: it costs no threads until it is
//! needed, keeps the event loop alive while it is pending, and survives `process.exit()` in a worker
//! thread at any moment.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, Env, ToNapiValue, TypeName};
use napi::{Status, Task};

use super::error::to_js;
use crate::{Error, Result};

/// A promise of `V`.
pub(super) type Promised<V> = AsyncTask<Blocking<V>>;

/// Makes the JavaScript value, on the JS thread.
type Finish<V> = Box<dyn FnOnce(&Env) -> napi::Result<V> + Send>;
/// Runs on a thread of the pool.
type Work<V> = Box<dyn FnOnce() -> Result<Finish<V>> + Send>;

/// One piece of work.
pub struct Blocking<V: 'static> {
    work: Option<Work<V>>,
}

impl<V: ToNapiValue + TypeName + 'static> Task for Blocking<V> {
    type Output = Result<Finish<V>>;
    type JsValue = V;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let Some(work) = self.work.take() else {
            return Ok(Err(Error::Internal("work was done already".to_owned())));
        };
        // A panic must not leave the pool's thread: it would end the process.
        let outcome = catch_unwind(AssertUnwindSafe(work));
        Ok(outcome.unwrap_or_else(|_| Err(Error::Internal("panic in the background".to_owned()))))
    }

    fn resolve(&mut self, env: Env, output: Self::Output) -> napi::Result<V> {
        let finish = output.map_err(|error| to_js(&env, &error))?;
        let finished = catch_unwind(AssertUnwindSafe(|| finish(&env)));
        finished.unwrap_or_else(|_| Err(napi::Error::new(Status::GenericFailure, "panic")))
    }
}

/// Runs `work` on the pool. `finish` runs on the JS thread and may create JS values; a core error
/// rejects the promise with the mapped error, and so does a panic.
pub(super) fn run_blocking<T, V, W, F>(work: W, finish: F) -> napi::Result<Promised<V>>
where
    T: Send + 'static,
    V: ToNapiValue + TypeName + 'static,
    W: FnOnce() -> Result<T> + Send + 'static,
    F: FnOnce(&Env, T) -> napi::Result<V> + Send + 'static,
{
    let work = move || {
        let value = work()?;
        Ok(Box::new(move |env: &Env| finish(env, value)) as Finish<V>)
    };
    Ok(AsyncTask::new(Blocking {
        work: Some(Box::new(work)),
    }))
}
