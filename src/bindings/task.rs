//! Work off the JS thread: a blocking closure on the host's thread pool, answered by a promise.
//!
//! The host's own asynchronous work is used, not a runtime of ours: it costs no threads until it is
//! needed, keeps the event loop alive while it is pending, and survives `process.exit()` in a worker
//! thread at any moment.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use napi::bindgen_prelude::{AsyncTask, Env, ToNapiValue, TypeName};
use napi::{Status, Task, ValueType, sys};

use super::error::to_js;
use super::teardown::Ticket;
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
    type JsValue = Answer<V>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let Some(work) = self.work.take() else {
            return Ok(Err(Error::Internal("work was done already".to_owned())));
        };
        // A panic must not leave the pool's thread: it would end the process.
        let outcome = catch_unwind(AssertUnwindSafe(work));
        Ok(outcome.unwrap_or_else(|_| Err(Error::Internal("panic in the background".to_owned()))))
    }

    fn resolve(&mut self, env: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        let finished = catch_unwind(AssertUnwindSafe(|| match output {
            Ok(finish) => finish(&env),
            Err(error) => Err(to_js(&env, &error)),
        }));
        Ok(Answer(finished.unwrap_or_else(|_| {
            Err(napi::Error::new(Status::GenericFailure, "panic"))
        })))
    }
}

/// What a promise is settled with: a value, or the reason of a rejection.
///
/// A worker that is terminated can make no objects any more, and so no error that says so; Bun 1.3
/// then crashes on the attempt to reject. Its promises are settled with `undefined`: nobody will
/// hear of it.
pub struct Answer<V>(napi::Result<V>);

impl<V: TypeName> TypeName for Answer<V> {
    fn type_name() -> &'static str {
        V::type_name()
    }

    fn value_type() -> ValueType {
        V::value_type()
    }
}

impl<V: ToNapiValue> ToNapiValue for Answer<V> {
    unsafe fn to_napi_value(env: sys::napi_env, answer: Self) -> napi::Result<sys::napi_value> {
        let value = answer.0.and_then(|value| {
            // SAFETY: the caller vouches for `env`.
            unsafe { V::to_napi_value(env, value) }
        });
        match value {
            Err(_) if !can_make_objects(env) => {
                // SAFETY: as above.
                unsafe { <() as ToNapiValue>::to_napi_value(env, ()) }
            }
            outcome => outcome,
        }
    }
}

/// Whether the thread still runs JavaScript.
fn can_make_objects(env: sys::napi_env) -> bool {
    let mut object = ptr::null_mut();
    // SAFETY: called on the JS thread with its environment; the object is left to the collector.
    let status = unsafe { sys::napi_create_object(env, &mut object) };
    status == sys::Status::napi_ok && !object.is_null()
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
    let ticket = Ticket::take();
    let work = move || {
        // Until the work is done, or dropped without having been done.
        let _ticket = ticket;
        let value = work()?;
        Ok(Box::new(move |env: &Env| finish(env, value)) as Finish<V>)
    };
    Ok(AsyncTask::new(Blocking {
        work: Some(Box::new(work)),
    }))
}
