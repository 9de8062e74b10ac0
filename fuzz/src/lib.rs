//! What the fuzz targets share.

use std::path::PathBuf;

use serde_json::de::{Deserializer, SliceRead};
use serde_json::value::Value;
use tempfile::TempDir;

/// Length of the JSON value at the start of a text, by another parser. Nesting does not matter to it.
pub fn value_length(text: &[u8]) -> Option<usize> {
    let reader: SliceRead<'_> = SliceRead::new(text);
    let mut stream = Deserializer::new(reader).into_iter::<serde::de::IgnoredAny>();
    stream.next()?.ok()?;
    Some(stream.byte_offset())
}

/// Whether a text is one JSON value with nothing but whitespace around it.
pub fn is_value(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

/// A text as a value, unless it has members of the same name, which the value cannot hold.
pub fn unique_value(text: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(text).ok()?;
    (members(&value) == colons(text)).then_some(value)
}

fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

/// Colons outside of strings in a valid text.
fn colons(text: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// A directory in memory where there is one.
pub fn quick_dir() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.expect("a directory for temporary files")
}
