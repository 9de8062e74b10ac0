//! Micro-benchmarks of the core, `cargo bench`: scanning, the index of a session, the plan of a context,
//! the transforms before a write, and what is handed to an engine's parser.

#![allow(clippy::expect_used, missing_docs)]

use std::fmt::Write as _;
use std::sync::Arc;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use session_manager_native::journal::lines::Lines;
use session_manager_native::journal::load::{IdSource, Outcome, load_bytes, load_file};
use session_manager_native::journal::persist;
use session_manager_native::json::latin1;
use session_manager_native::session::snowflake::SnowflakeGenerator;
use session_manager_native::session::{EntryKind, Role, context};
use session_manager_native::storage::blob::BlobStore;

fn main() {
    divan::main();
}

const ENTRIES: usize = 4_096;

/// The text of one message: prose with escapes, sometimes characters beyond ASCII.
fn prose(length: usize, wide: bool) -> String {
    let mut text = String::with_capacity(length + 64);
    let mut at = 0;
    while text.len() < length {
        let end = if wide && at % 7 == 0 {
            "→ “done”"
        } else {
            "done"
        };
        let _ = write!(
            text,
            "line {at}: the \\\"build\\\" is {end}\\n\\tat step {at}; "
        );
        at += 1;
    }
    text
}

/// A chain of user and assistant messages, about 2.5 KB each.
fn session() -> Vec<u8> {
    let mut file = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\
         \"timestamp\":\"2026-01-02T03:04:05.000Z\",\"cwd\":\"/w/p\"}\n",
    );
    for at in 0..ENTRIES {
        let parent = match at {
            0 => "null".to_owned(),
            _ => format!("\"{:08x}\"", at - 1),
        };
        let text = prose(200 + at * 37 % 4_600, at % 11 == 0);
        let message = if at % 2 == 0 {
            format!("\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":1")
        } else {
            format!(
                "\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\
                 \"provider\":\"p\",\"model\":\"m\",\"usage\":{{\"input\":{at},\"output\":7,\
                 \"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":9,\"cost\":{{\"total\":0.25}}}},\
                 \"stopReason\":\"stop\""
            )
        };
        let _ = writeln!(
            file,
            "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":{parent},\
             \"timestamp\":\"2026-01-02T03:04:05.000Z\",\"message\":{{{message}}}}}"
        );
    }
    file.into_bytes()
}

/// Every value of a file is validated, nothing of it is kept.
#[divan::bench]
fn scan(bencher: Bencher<'_, '_>) {
    let bytes = session();
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .bench_local(|| {
            let mut lines = Lines::new(black_box(bytes.as_slice()));
            let mut values = 0;
            while let Ok(Some(_)) = lines.next(|cursor| cursor.skip(), |_| true) {
                values += 1;
            }
            values
        });
}

fn is_session(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Session(_))
}

/// Tree and places of all entries, from memory and on one thread.
#[divan::bench]
fn index_of_text(bencher: Bencher<'_, '_>) {
    let bytes: Arc<[u8]> = session().into();
    let snowflakes = SnowflakeGenerator::default();
    let ids = IdSource {
        snowflakes: &snowflakes,
        now: 0.0,
    };
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .bench_local(|| {
            let outcome = load_bytes(Arc::clone(&bytes), "x.jsonl".as_ref(), &ids);
            assert!(is_session(&outcome.expect("memory suffices")));
        });
}

/// The same from a file, on the threads that opening a session uses.
#[divan::bench]
fn index_of_file(bencher: Bencher<'_, '_>) {
    let bytes = session();
    let folder = tempfile::tempdir().expect("a folder for the file");
    let file = folder.path().join("x.jsonl");
    std::fs::write(&file, &bytes).expect("the file is written");
    let snowflakes = SnowflakeGenerator::default();
    let ids = IdSource {
        snowflakes: &snowflakes,
        now: 0.0,
    };
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .bench_local(|| {
            let outcome = load_file(&file, &ids);
            assert!(is_session(&outcome.expect("the file is readable")));
        });
}

/// Settings and messages of a path with three compactions.
#[divan::bench(args = [1_000, 25_000, 200_000])]
fn plan_of_context(bencher: Bencher<'_, '_>, length: usize) {
    let path: Vec<u8> = (0..length)
        .map(|at| match at {
            _ if at % (length / 4) == length / 4 - 1 => {
                context::pack(EntryKind::Compaction, Role::None)
            }
            _ if at % 50 == 0 => context::pack(EntryKind::ModelChange, Role::None),
            _ if at % 2 == 0 => context::pack(EntryKind::Message, Role::User),
            _ => context::pack(EntryKind::Message, Role::Assistant),
        })
        .collect();
    bencher.counter(ItemsCount::new(length)).bench_local(|| {
        let settings = context::settings(black_box(&path));
        context::messages(
            &path,
            settings.compaction,
            settings.compaction.map(|at| at - 20),
        )
    });
}

/// What is looked at, or changed, before an entry is written.
#[divan::bench(args = ["untouched 2 KB", "untouched 200 KB", "transient", "long string"])]
fn transform(bencher: Bencher<'_, '_>, what: &str) {
    let folder = tempfile::tempdir().expect("a folder for blobs");
    let blobs = BlobStore::new(folder.path().to_path_buf());
    let (length, member) = match what {
        "untouched 2 KB" => (2_000, ""),
        "untouched 200 KB" => (200_000, ""),
        "transient" => (20_000, ",\"partialJson\":\"{}\""),
        _ => (600_000, ""),
    };
    let text = format!(
        "{{\"type\":\"message\",\"message\":{{\"content\":\"{}\"{member}}}}}",
        prose(length, false)
    );
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| {
        persist::transform(black_box(text.as_bytes()), &blobs)
            .expect("no blob is written")
            .len()
    });
}

/// JSON text in one byte per character.
#[divan::bench(args = ["ASCII", "some arrows"])]
fn narrow(bencher: Bencher<'_, '_>, what: &str) {
    let text = format!("\"{}\"", prose(1 << 20, what != "ASCII"));
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| latin1::narrow(black_box(&text)));
}
