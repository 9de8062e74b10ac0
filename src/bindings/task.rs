//! Work off the JS thread: a blocking closure on the runtime's pool, answered by a promise.

use napi::bindgen_prelude::{Env, PromiseRaw, ToNapiValue};

use super::error::to_js;
use crate::{Error, Result};

/// Runs `work` on the blocking pool. `finish` runs on the JS thread and may create JS values; a
/// core error rejects the promise with the mapped error. A panic in `work` rejects, it never aborts.
pub(super) fn run_blocking<'env, T, V, W, F>(
    env: &'env Env,
    work: W,
    finish: F,
) -> napi::Result<PromiseRaw<'env, V>>
where
    T: Send + 'static,
    V: ToNapiValue + Send + 'static,
    W: FnOnce() -> Result<T> + Send + 'static,
    F: FnOnce(&Env, T) -> napi::Result<V> + Send + 'static,
{
    env.spawn_future_with_callback(
        async move {
            Ok(tokio::task::spawn_blocking(work)
                .await
                .unwrap_or_else(|failure| Err(Error::Internal(failure.to_string()))))
        },
        move |env, outcome| match outcome {
            Ok(value) => finish(env, value),
            Err(error) => Err(to_js(env, &error)),
        },
    )
}
