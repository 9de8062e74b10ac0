//! Arbitrary first lines: the fields that the index takes are those that another parser sees, and
//! writing a new header in place changes the header and nothing else, or nothing at all.

#![no_main]

use std::fs;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use session_manager_native::journal::head::{self, IdValue, ParentValue, Shape};
use session_manager_native::journal::header::{Retitled, replace};
use session_manager_native::json::Cursor;
use session_manager_native::storage::disk::{Disk, OsDisk};
use session_manager_native_fuzz::{is_value, quick_dir, unique_value};

const NEW: &[u8] = br#"{"type":"session","version":3,"id":"s1","title":"T"}"#;

fuzz_target!(|data: &[u8]| {
    fields(data);
    in_place(data);
});

fn fields(text: &[u8]) {
    let mut cursor = Cursor::new(text);
    let Ok(head) = head::read(&mut cursor) else {
        assert!(!is_value(text));
        return;
    };
    if !cursor.at_end() {
        return;
    }
    assert!(is_value(text));
    let Some(value) = unique_value(text) else {
        return;
    };
    let kind = value.get("type").and_then(Value::as_str);
    assert_eq!(head.typed, kind.is_some());
    assert_eq!(
        head.shape,
        match &value {
            Value::Object(_) if kind == Some("session") => Shape::Header,
            Value::Object(_) => Shape::Object,
            _ => Shape::Scalar,
        }
    );
    check_id(head.id, value.get("id"));
    match (head.parent, value.get("parentId")) {
        (ParentValue::Null, found) => assert_eq!(found, Some(&Value::Null)),
        (ParentValue::Id(id), found) => check_id(id, found),
        (ParentValue::Absent, found) => assert!(!found.is_some_and(Value::is_string)),
    }
    let timestamp = value.get("timestamp").and_then(Value::as_str);
    let read = head.timestamp_text.map(|text| text.to_text());
    assert_eq!(read.as_deref(), timestamp);
}

fn check_id(id: IdValue<'_>, found: Option<&Value>) {
    match (id, found) {
        (IdValue::Text(text), found) => {
            assert_eq!(found.and_then(Value::as_str), Some(text.to_text().as_str()));
        }
        (IdValue::Number(_), found) => assert!(found.is_some_and(Value::is_number)),
        (IdValue::None, found) => {
            assert!(!found.is_some_and(|it| it.as_str().is_some_and(|it| !it.is_empty())))
        }
    }
}

fn in_place(text: &[u8]) {
    let dir = quick_dir();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, text).expect("written");
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    let outcome = replace(&disk, &path, NEW, b"s1").expect("no error of the disk");
    let now = fs::read(&path).expect("read");
    if outcome == Retitled::NeedsRewrite {
        assert_eq!(now, text);
        return;
    }
    let end = text
        .iter()
        .position(|&byte| byte == b'\n')
        .expect("a first line");
    assert!(now.starts_with(NEW) && now.len() == text.len());
    assert!(now[NEW.len()..end].iter().all(|&byte| byte == b' '));
    assert_eq!(now[end..], text[end..]);
    let old: Value = serde_json::from_slice(&text[..end]).unwrap_or_default();
    assert!(old.is_null() || old["id"] == "s1");
}
