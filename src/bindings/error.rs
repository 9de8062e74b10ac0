//! The one place where core errors become JavaScript errors.

use napi::ValueType;
use napi::bindgen_prelude::{Env, JsObjectValue, JsValue, Object, Unknown};

use crate::Error;

/// Makes the host's `Error` object with `code` and, where they exist, `path`, `syscall`, `errno`.
pub(super) fn to_js(env: &Env, error: &Error) -> napi::Error {
    match build(env, error) {
        Ok(js_error) => js_error,
        // Creating the object only fails when the environment is going away.
        Err(_) => napi::Error::new(napi::Status::GenericFailure, error.to_string()),
    }
}

fn build(env: &Env, error: &Error) -> napi::Result<napi::Error> {
    Ok(napi::Error::from(to_js_object(env, error)?.to_unknown()))
}

fn to_js_object<'env>(env: &'env Env, error: &Error) -> napi::Result<Object<'env>> {
    let plain = napi::Error::new(napi::Status::GenericFailure, error.to_string());
    let mut object = env.create_error(plain)?;
    object.set_named_property("code", error.code())?;
    if let Some(path) = error.path() {
        object.set_named_property("path", path.to_string_lossy().as_ref())?;
    }
    if let Some(dest) = error.dest() {
        object.set_named_property("dest", dest.to_string_lossy().as_ref())?;
    }
    if let Some(syscall) = error.syscall() {
        object.set_named_property("syscall", syscall)?;
    }
    if let Some(errno) = error.errno() {
        object.set_named_property("errno", errno)?;
    }
    if let Some(cause) = error.cause() {
        object.set_named_property("cause", to_js_object(env, cause)?)?;
    }
    if let Some(rollback) = error.rollback() {
        object.set_named_property("rollback", to_js_object(env, rollback)?)?;
    }
    // Bun gives no stack to errors that are made without a JavaScript frame below them.
    let stack: Unknown<'_> = object.get_named_property("stack")?;
    if stack.get_type()? == ValueType::Undefined {
        object.set_named_property("stack", format!("Error: {error}"))?;
    }
    Ok(object)
}

/// Shorthand for synchronous exports.
pub(super) trait OrThrow<T> {
    /// Throws the core error into JavaScript.
    fn or_throw(self, env: &Env) -> napi::Result<T>;
}

impl<T> OrThrow<T> for crate::Result<T> {
    fn or_throw(self, env: &Env) -> napi::Result<T> {
        self.map_err(|error| to_js(env, &error))
    }
}
