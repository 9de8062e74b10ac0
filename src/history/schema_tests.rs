use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::history::queue::History;
use crate::history::registry::Registry;
use crate::history::rows::recent;
use crate::history::search::search;

fn sandbox() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("history.db");
    (dir, path)
}

/// Opens the store as a process of its own would.
fn open(path: &Path) -> crate::Result<History> {
    History::open(Registry::new().database(path.to_str().unwrap())?)
}

fn prompts(history: &History) -> Vec<String> {
    let entries = recent(history.database(), 100).unwrap();
    let text = |entry: crate::history::rows::Entry| String::from_utf8(entry.prompt).unwrap();
    entries.into_iter().map(text).collect()
}

fn sql_of(path: &Path, name: &str) -> Option<String> {
    Connection::open(path)
        .unwrap()
        .query_row(
            "SELECT sql FROM sqlite_master WHERE name = ?1",
            [name],
            |row| row.get(0),
        )
        .ok()
}

fn is_found(history: &History, word: &str) -> usize {
    let found = search(history.database(), word, 100).unwrap();
    assert_eq!(found.index_failure, None);
    found.entries.len()
}

/// As programs before this one created it.
const LEGACY: &str = "
    CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL,
        created_at INTEGER NOT NULL DEFAULT (unixepoch()), cwd TEXT);
    CREATE INDEX idx_history_created_at ON history(created_at DESC);
    CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');
    CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN
        INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt); END;
    INSERT INTO history (id, prompt, created_at, cwd) VALUES (3, 'older plan', 100, '/a');
    INSERT INTO history (id, prompt, created_at, cwd) VALUES (8, 'newer plan', 200, NULL);";

#[test]
fn a_fresh_database_has_the_schema() {
    let (_dir, path) = sandbox();
    open(&path).unwrap();
    let table = sql_of(&path, "history").unwrap();
    assert!(table.contains("strftime('%s','now')"), "{table}");
    for name in ["idx_history_created_at", "history_fts", "history_ai"] {
        assert!(sql_of(&path, name).is_some(), "{name}");
    }
    let conn = Connection::open(&path).unwrap();
    let mode: String = conn
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn an_old_table_is_migrated() {
    let (_dir, path) = sandbox();
    Connection::open(&path)
        .unwrap()
        .execute_batch(LEGACY)
        .unwrap();
    let history = open(&path).unwrap();
    let table = sql_of(&path, "history").unwrap();
    assert!(table.contains("strftime('%s','now')") && !table.contains("unixepoch("));
    assert_eq!(sql_of(&path, "history_legacy"), None);
    assert_eq!(prompts(&history), ["newer plan", "older plan"]);
    assert_eq!(recent(history.database(), 2).unwrap()[1].id, 3);
    assert_eq!(is_found(&history, "plan"), 2);
    history
        .finish(history.add("third plan", None).unwrap())
        .unwrap();
    assert_eq!(recent(history.database(), 1).unwrap()[0].id, 9);
    assert_eq!(is_found(&history, "plan"), 3);
}

#[test]
fn an_old_table_without_its_helpers_is_migrated() {
    let (_dir, path) = sandbox();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(LEGACY).unwrap();
    // The trigger now refers to a table that is gone, which stops the engine from renaming.
    conn.execute_batch("DROP TABLE history_fts; DROP INDEX idx_history_created_at")
        .unwrap();
    drop(conn);
    assert_eq!(is_found(&open(&path).unwrap(), "plan"), 2);
}

#[test]
fn missing_parts_are_added_and_what_they_missed_is_indexed() {
    for lost in ["DROP TABLE history_fts", "DROP TRIGGER history_ai"] {
        let (_dir, path) = sandbox();
        let history = open(&path).unwrap();
        history
            .finish(history.add("first plan", None).unwrap())
            .unwrap();
        drop(history);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(lost).unwrap();
        if lost.contains("TRIGGER") {
            conn.execute("INSERT INTO history (prompt) VALUES ('second plan')", [])
                .unwrap();
        }
        let rows: u32 = conn
            .query_row("SELECT count(*) FROM history", [], |row| row.get(0))
            .unwrap();
        drop(conn);
        assert_eq!(
            is_found(&open(&path).unwrap(), "plan"),
            rows as usize,
            "{lost}"
        );
    }
}

#[test]
fn a_database_that_is_complete_is_not_written_to() {
    let (_dir, path) = sandbox();
    drop(open(&path).unwrap());
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let before = fs::read(&path).unwrap();
    // Somebody is writing: opening would have to wait if it wanted to write.
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    let history = open(&path).unwrap();
    assert_eq!(prompts(&history), [""; 0]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_table_of_another_program_is_left_as_it_is() {
    let (dir, path) = sandbox();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE history (a)")
        .unwrap();
    let before = fs::read(&path).unwrap();
    let error = open(&path).err().unwrap();
    assert_eq!(error.code(), "SQLITE_ERROR");
    assert_eq!(error.path(), Some(path.canonicalize().unwrap().as_path()));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn tables_of_others_in_the_same_file_stay() {
    let (_dir, path) = sandbox();
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("CREATE TABLE titles (a); INSERT INTO titles VALUES (1)")
        .unwrap();
    open(&path).unwrap();
    let count: i64 = conn
        .query_row("SELECT count(*) FROM titles", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
}

#[test]
fn an_index_that_cannot_be_built_is_told_and_the_rest_works() {
    let (_dir, path) = sandbox();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE history_fts (prompt)")
        .unwrap();
    let history = open(&path).unwrap();
    let warning = history.database().take_warning().unwrap();
    assert!(warning.contains("history_fts"), "{warning}");
    assert_eq!(history.database().take_warning(), None);
    history
        .finish(history.add("prompt", None).unwrap())
        .unwrap();
    assert_eq!(prompts(&history), ["prompt"]);
}

#[test]
fn many_at_once_create_one_database() {
    const COUNT: usize = 12;
    for _ in 0..5 {
        let (_dir, path) = sandbox();
        let start = Barrier::new(COUNT);
        thread::scope(|scope| {
            for number in 0..COUNT {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    let history = open(path).unwrap();
                    let batch = history.add(&format!("prompt {number}"), None);
                    history.finish(batch.unwrap()).unwrap();
                });
            }
        });
        assert_eq!(is_found(&open(&path).unwrap(), "prompt"), COUNT);
    }
}
