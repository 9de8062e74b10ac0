//! Strings across the boundary. JavaScript strings may hold lone surrogates, which plain
//! conversions would replace; inside the core such text is WTF-8.

use napi::bindgen_prelude::{Env, ToNapiValue, TypeName};
use napi::{JsString, JsValue, ValueType, sys};

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

/// The units of a JavaScript string, copied once: these strings are long.
pub(super) fn units(text: JsString<'_>) -> napi::Result<Vec<u16>> {
    let length = text.utf16_len()?;
    let mut units: Vec<u16> = Vec::with_capacity(length + 1);
    let mut written = 0;
    let value = text.value();
    // SAFETY: the buffer has room for the units and the terminator that Node-API adds; it tells how
    // many units it wrote.
    unsafe {
        let status = napi::sys::napi_get_value_string_utf16(
            value.env,
            value.value,
            units.as_mut_ptr(),
            length + 1,
            &raw mut written,
        );
        if status != napi::sys::Status::napi_ok {
            return Err(napi::Error::from_reason("not a string"));
        }
        units.set_len(written.min(length));
    }
    Ok(units)
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
    match narrowed(json) {
        Some(narrowed) => env.create_string_latin1(narrowed),
        None => to_js(env, json),
    }
}

fn narrowed(json: &[u8]) -> Option<Vec<u8>> {
    match std::str::from_utf8(json) {
        Ok(text) if !text.is_ascii() => latin1::narrow(text),
        _ => None,
    }
}

/// A text on its way to JavaScript, as WTF-8.
pub struct AnyText(pub(super) Vec<u8>);

/// A JSON text like those of [`json_to_js`], spelled anew where it is made and not on the JS thread.
pub struct JsonText {
    json: Vec<u8>,
    narrowed: Option<Vec<u8>>,
}

impl JsonText {
    pub(super) fn new(json: Vec<u8>) -> Self {
        Self {
            narrowed: narrowed(&json),
            json,
        }
    }
}

impl TypeName for AnyText {
    fn type_name() -> &'static str {
        "string"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl TypeName for JsonText {
    fn type_name() -> &'static str {
        "string"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ToNapiValue for AnyText {
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> napi::Result<sys::napi_value> {
        Ok(to_js(&Env::from_raw(env), &text.0)?.raw())
    }
}

impl ToNapiValue for JsonText {
    unsafe fn to_napi_value(env: sys::napi_env, text: Self) -> napi::Result<sys::napi_value> {
        let env = Env::from_raw(env);
        let string = match text.narrowed {
            Some(narrowed) => env.create_string_latin1(narrowed)?,
            None => to_js(&env, &text.json)?,
        };
        Ok(string.raw())
    }
}
