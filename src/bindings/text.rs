//! Strings across the boundary. JavaScript strings may hold lone surrogates, which plain
//! conversions would replace; inside the core such text is WTF-8.

use napi::JsString;
use napi::bindgen_prelude::Env;

use crate::json::text::{from_utf16, to_utf16};

/// The text of a JavaScript string as WTF-8.
pub(super) fn from_js(text: JsString<'_>) -> napi::Result<Vec<u8>> {
    let text = text.into_utf16()?;
    // The slice ends with the terminator that Node-API writes.
    let units = text
        .as_slice()
        .split_last()
        .map_or(&[][..], |(_, units)| units);
    Ok(from_utf16(units))
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
