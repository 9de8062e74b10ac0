//! The transforms before an entry is written, and back: what is written is the value that a simple
//! model of the rules gives; blobs put back give the original without its transient members.

#![no_main]

use std::cell::OnceCell;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use session_manager_native::journal::persist::{is_image_data_url, transform};
use session_manager_native::journal::resolve::resolve;
use session_manager_native::json::edit::Edits;
use session_manager_native::storage::blob::{BlobStore, PREFIX};
use session_manager_native_fuzz::{is_value, quick_dir, unique_value};
use tempfile::TempDir;

thread_local! {
    static BLOBS: OnceCell<(TempDir, BlobStore)> = const { OnceCell::new() };
}

/// `~` stands for enough base64 to be an image, which mutations would hardly find.
fn expanded(text: &[u8]) -> Vec<u8> {
    let marks = text.iter().filter(|&&byte| byte == b'~').count();
    let mut out = Vec::with_capacity(text.len() + 1200 * marks.min(4));
    let mut left = 4;
    for &byte in text {
        if byte == b'~' && left > 0 {
            left -= 1;
            out.extend_from_slice("QUJD".repeat(300).as_bytes());
        } else {
            out.push(byte);
        }
    }
    out
}

/// The value without the members that are never written.
fn lasting(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(lasting).collect(),
        Value::Object(map) => {
            let kept = map
                .iter()
                .filter(|(key, _)| !["partialJson", "jsonlEvents"].contains(&key.as_str()));
            // Recounted when the content beside it changes, which the model does not follow.
            let kept = kept.filter(|(key, _)| key.as_str() != "lineCount");
            kept.map(|(key, value)| (key.clone(), lasting(value)))
                .collect()
        }
        other => other.clone(),
    }
}

/// Every string that must have gone to the blob store is a reference to it.
fn check_stored(before: &Value, after: &Value, in_url: bool) {
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len());
            for (before, after) in before.iter().zip(after) {
                check_stored(before, after, in_url);
            }
        }
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                check_stored(value, &after[key], key == "image_url");
            }
        }
        (Value::String(before), Value::String(after)) => {
            if in_url && is_image_data_url(before.as_bytes()) {
                assert!(after.starts_with(PREFIX), "{before} stays");
            } else if before != after {
                assert!(after.starts_with(PREFIX) && before.len() >= 1024);
            }
        }
        (before, after) => assert_eq!(before, after),
    }
}

fuzz_target!(|data: &[u8]| {
    edits_are_exact(data);
    let text = expanded(data);
    BLOBS.with(|cell| {
        let (_, blobs) = cell.get_or_init(|| {
            let dir = quick_dir();
            let blobs = BlobStore::new(dir.path().join("blobs"));
            (dir, blobs)
        });
        let written = transform(&text, blobs).expect("blobs can be stored");
        if !is_value(&text) {
            assert_eq!(written.as_ref(), text, "what is no value is not touched");
            return;
        }
        assert!(is_value(&written));
        let Some(before) = unique_value(&text) else {
            return;
        };
        let after = unique_value(&written).expect("still no member twice");
        check_stored(&lasting(&before), &lasting(&after), false);
        let mut missing = Vec::new();
        let back = resolve(&written, blobs, &mut missing);
        // References that stood there before may lead anywhere.
        if !before.to_string().contains(PREFIX) {
            assert!(missing.is_empty());
            let back = unique_value(&back).expect("still no member twice");
            assert_eq!(lasting(&back), lasting(&before));
        }
    });
});

/// Arbitrary replacements do what splitting and joining the text does.
fn edits_are_exact(data: &[u8]) {
    let Some((&count, text)) = data.split_first() else {
        return;
    };
    let size = text.len() / (usize::from(count % 8) + 1);
    if size == 0 {
        return;
    }
    let mut edits = Edits::default();
    let mut expected = Vec::new();
    for (at, piece) in text.chunks(size).enumerate() {
        let from = at * size;
        let cut = usize::from(piece[0]) % (piece.len() + 1);
        let with = vec![b'#'; usize::from(piece[0] % 5)];
        edits.replace(from..from + cut, with.clone());
        expected.extend_from_slice(&with);
        expected.extend_from_slice(&piece[cut..]);
    }
    assert_eq!(edits.apply(text).as_ref(), expected);
}
