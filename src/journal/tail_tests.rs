//! What the end of a file tells must be what the whole file tells.

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::journal::load::ahead_tests::told;
use crate::journal::load::load_bytes;
use crate::session::snowflake::SnowflakeGenerator;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

fn reach(first_window: u64) -> Reach {
    Reach {
        shortest_file: 0,
        first_window,
        longest_window: u64::MAX,
    }
}

fn message(id: usize, parent: &str, padding: usize) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"e{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"message\":{{\"role\":\"assistant\",\"usage\":{{\"input\":{id},\"output\":1}},\"content\":\"{}\"}}}}\n",
        "x".repeat(padding)
    )
}

fn compaction(id: usize, parent: &str, kept: usize) -> String {
    format!(
        "{{\"type\":\"compaction\",\"id\":\"e{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-02T03:04:05.000Z\",\"summary\":\"s\",\"firstKeptEntryId\":\"e{kept}\",\"tokensBefore\":1}}\n"
    )
}

/// Compares what reading the end and the rest gives with reading everything at once; whether the end
/// was enough.
fn compare(text: &str, first_window: u64) -> bool {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, text).unwrap();
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    let all = |text: &str| load_bytes(Arc::from(text.as_bytes()), &path, &ids).unwrap();
    let tail = match open_file(&path, &ids, reach(first_window)).unwrap() {
        Opened::Whole(outcome) => {
            assert_eq!(told(outcome), told(all(text)));
            return false;
        }
        Opened::Tail(tail) => tail,
    };
    // What is appended meanwhile is not read.
    fs::write(&path, format!("{text}{}", message(99, "null", 0))).unwrap();
    let whole = tail.rest.load(&ids, &AtomicBool::new(false)).unwrap();
    let Loaded { tree, texts, .. } = &tail.loaded;
    tail.rest.check(&whole, tree, texts).unwrap();
    let before = (whole.tree.len() - tree.len()) as Slot;
    let key = |slot: Slot| tree.ids().get(tree.record(slot).unwrap().id);
    for slot in 0..tree.len() as Slot {
        let (end, full) = (
            tree.record(slot).unwrap(),
            whole.tree.record(slot + before).unwrap(),
        );
        assert_eq!(
            (end.kind, end.role, end.marks, end.timestamp.to_bits()),
            (full.kind, full.role, full.marks, full.timestamp.to_bits())
        );
        assert_eq!(
            tree.find(key(slot)).map(|it| it + before),
            whole.tree.find(key(slot))
        );
        // The way up is the same as far as it goes.
        let path: Vec<_> = tree.path(end.id).iter().map(|it| it + before).collect();
        let full = whole.tree.path(full.id);
        assert!(full.ends_with(&path), "{full:?} {path:?}");
        let is_open = tree.is_orphan(path[0] - before);
        assert!(is_open || full == path, "{full:?} {path:?}");
    }
    let leaf = |tree: &Tree| tree.leaf().map(|leaf| tree.ids().get(leaf).to_vec());
    assert_eq!(leaf(tree), leaf(&whole.tree));
    assert_eq!(tail.loaded.header, whole.header);
    assert_eq!(told(Outcome::Session(Box::new(whole))), told(all(text)));
    true
}

/// Sessions with branches, compactions and, seldom, what makes reading lines by themselves wrong.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    let id = 0_usize..14;
    let parent = prop_oneof![
        4 => id.clone().prop_map(|id| format!("\"e{id}\"")),
        1 => Just("null".to_owned()),
        1 => Just("\"\"".to_owned()),
    ];
    let piece = prop_oneof![
        20 => (id.clone(), parent.clone(), 0_usize..60).prop_map(|(id, parent, n)| message(id, &parent, n)),
        6 => (id.clone(), parent, id).prop_map(|(id, parent, kept)| compaction(id, &parent, kept)),
        1 => prop::sample::select(vec![
            "\n", " \r\n", "5\n", "{\"a\":[\n", "[\n", "[1,\n", "]}\n", "]\n", "\"x\"\n", ":\n", "{\n",
            "{\"type\":\"message\",\"id\":\"e1\"}{\"type\":\"x\",\"id\":\"e2\",\"parentId\":null,\"timestamp\":\"t\"}\n",
            "{\"type\":\"session\",\"version\":3,\"id\":\"t\"}\n", "{\"type\":\"message\",\n\"id\":\"e3\",\"parentId\":null}\n",
            "{\"type\":\"message\",\"parentId\":null}\n", "{\"type\":\"mess", "\0\0",
            "{\"type\":\"label\",\"id\":\"e4\",\"parentId\":\"e3\",\"timestamp\":\"t\",\"targetId\":\"e2\",\"label\":\"x\"}\n",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..30)
}

/// Entries in a row, a compaction before the last ones.
fn straight() -> impl Strategy<Value = String> {
    (5_usize..40, 0_usize..5, 0_usize..5).prop_map(|(count, kept, behind)| {
        let parent = |id: usize| format!("\"e{}\"", id.wrapping_sub(1));
        let at = count.saturating_sub(behind).max(1);
        (0..count)
            .map(|id| match id == at {
                true => compaction(id, &parent(id), id.saturating_sub(kept + 1)),
                false => message(id, &parent(id), id),
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn the_end_tells_what_the_whole_tells(pieces in pieces(), window in 1_u64..400) {
        compare(&(HEADER.to_owned() + &pieces.concat()), window);
    }

    #[test]
    fn also_behind_usual_entries(pieces in pieces(), straight in straight(), window in 1_u64..400) {
        compare(&(HEADER.to_owned() + &pieces.concat() + &straight), window);
    }
}

fn chain(count: usize, compacted_at: usize, kept: usize) -> String {
    let parent = |id: usize| format!("\"e{}\"", id.wrapping_sub(1));
    let entry = |id: usize| match id == compacted_at {
        true => compaction(id, &parent(id), kept),
        false => message(id, &parent(id), 10),
    };
    HEADER.to_owned() + &(0..count).map(entry).collect::<String>()
}

#[test]
fn the_end_is_enough_behind_a_compaction() {
    let text = chain(100, 90, 88);
    for window in [1, 100, 512, 2_000] {
        assert!(compare(&text, window), "{window}");
    }
    // Not when the context begins near the beginning, or there is no compaction.
    assert!(!compare(&chain(100, 90, 2), 512));
    assert!(!compare(&chain(100, 200, 0), 512));
}

#[test]
fn what_is_unusual_is_read_as_a_whole() {
    let text = chain(100, 90, 88);
    assert!(!compare(text.trim_end(), 512));
    assert!(!compare(
        &text.replace("\"version\":3", "\"version\":2"),
        512
    ));
    assert!(!compare(&("\n".to_owned() + &text), 512));
    assert!(!compare(&(text.clone() + "{\"type\":\n"), 512));
    assert!(!compare(&(text.clone() + HEADER), 512));
    assert!(!compare(&(text.clone() + "{\"type\":\"message\"}\n"), 512));
    assert!(!compare(
        &text.replace("\"id\":\"e95\"", "\"id\":null"),
        512
    ));
    // Before the window damage does no harm.
    assert!(compare(
        &text.replacen("{\"type\":\"message\"", "{\"a\":[", 1),
        512
    ));
    assert!(compare(
        &text.replacen("\"parentId\"", "\n\"parentId\"", 1),
        512
    ));
}

#[test]
fn reading_can_be_stopped() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, chain(100, 90, 88)).unwrap();
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    let Ok(Opened::Tail(tail)) = open_file(&path, &ids, reach(512)) else {
        panic!("not only the end was read");
    };
    let stopped = tail.rest.load(&ids, &AtomicBool::new(true));
    assert_eq!(stopped.err().map(|error| error.code()), Some("EINTR"));
}

#[test]
fn short_files_and_long_windows_are_left_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    let text = chain(100, 90, 60);
    fs::write(&path, &text).unwrap();
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    let is_tail = |reach| matches!(open_file(&path, &ids, reach), Ok(Opened::Tail(_)));
    let base = reach(512);
    assert!(is_tail(base));
    let shortest_file = text.len() as u64 + 1;
    assert!(!is_tail(Reach {
        shortest_file,
        ..base
    }));
    let longest_window = 2_048;
    assert!(!is_tail(Reach {
        longest_window,
        ..base
    }));
}

#[test]
fn a_file_that_changed_is_an_error() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("s.jsonl");
    let text = chain(100, 90, 88);
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    for changed in [
        text.replace("\"e99\"", "\"x99\""),
        text.replacen("\"e3\"", "\"e\"", 1),
        text[..500].to_owned(),
    ] {
        fs::write(&path, &text).unwrap();
        let Ok(Opened::Tail(tail)) = open_file(&path, &ids, reach(512)) else {
            panic!("not only the end was read");
        };
        fs::write(&path, changed).unwrap();
        let whole = tail.rest.load(&ids, &AtomicBool::new(false)).unwrap();
        let Loaded { tree, texts, .. } = &tail.loaded;
        let error = tail.rest.check(&whole, tree, texts).unwrap_err();
        assert_eq!(error.code(), "ENTRY_UNREADABLE");
    }
}
