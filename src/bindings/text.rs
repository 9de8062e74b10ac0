//! Strings across the boundary. JavaScript strings may hold lone surrogates, which plain
//! conversions would replace; inside the core such text is WTF-8.

use napi::bindgen_prelude::{Env, ToNapiValue, TypeName};
use napi::{JsString, ValueType, sys};

use crate::json::latin1;
use crate::json::text::{from_utf16, to_utf16};

/// The text of a JavaScript string as WTF-8.
pub(super) fn from_js(text: JsString<'_>) -> napi::Result<Vec<u8>> {
    with_units(text, from_utf16)
}

/// The text of a JavaScript string, in which halves of surrogate pairs become U+FFFD. Bun 1.3 loses
/// a string that is nothing but such a half when it converts it by itself.
pub(super) fn from_js_lossy(text: JsString<'_>) -> napi::Result<String> {
    with_units(text, String::from_utf16_lossy)
}

fn with_units<T>(text: JsString<'_>, convert: impl FnOnce(&[u16]) -> T) -> napi::Result<T> {
    let text = text.into_utf16()?;
    // The slice ends with the terminator that Node-API writes.
    let units = text
        .as_slice()
        .split_last()
        .map_or(&[][..], |(_, units)| units);
    Ok(convert(units))
}

/// A JavaScript string of WTF-8 text; bytes that are no text become U+FFFD.
pub(super) fn to_js<'env>(env: &'env Env, text: &[u8]) -> napi::Result<JsString<'env>> {
    if text.is_ascii() {
        return env.create_string_latin1(text);
    }
    match std::str::from_utf8(text) {
        Ok(text) => env.create_string(text),
        Err(_) => env.create_string_utf16(to_utf16(text)),
    }
}

/// A JavaScript string of JSON text that is only parsed, never kept: maybe spelled in another way.
pub(super) fn json_to_js<'env>(env: &'env Env, json: &[u8]) -> napi::Result<JsString<'env>> {
    let narrowed = match std::str::from_utf8(json) {
        Ok(text) if !text.is_ascii() => latin1::narrow(text),
        _ => None,
    };
    match narrowed {
        Some(narrowed) => env.create_string_latin1(narrowed),
        None => to_js(env, json),
    }
}

/// JSON text that is only parsed, never kept, made ready off the JS thread.
pub struct JsonText(Encoded);

enum Encoded {
    Latin1(Vec<u8>),
    Utf8(String),
}

impl JsonText {
    /// Bytes that are no text become U+FFFD.
    pub(super) fn new(json: Vec<u8>) -> Self {
        let json = match String::from_utf8(json) {
            Ok(json) => json,
            Err(bad) => String::from_utf8_lossy(bad.as_bytes()).into_owned(),
        };
        if json.is_ascii() {
            return Self(Encoded::Latin1(json.into_bytes()));
        }
        match latin1::narrow(&json) {
            Some(narrowed) => Self(Encoded::Latin1(narrowed)),
            None => Self(Encoded::Utf8(json)),
        }
    }
}

impl TypeName for JsonText {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for JsonText {
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> napi::Result<sys::napi_value> {
        let context = Env::from_raw(env);
        let string = match text.0 {
            Encoded::Latin1(bytes) => context.create_string_latin1(bytes)?,
            Encoded::Utf8(text) => context.create_string(text)?,
        };
        // SAFETY: the caller vouches for `env`.
        unsafe { JsString::to_napi_value(env, string) }
    }
}
