use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::history::queue::History;
use crate::history::registry::Registry;
use crate::history::rows::recent;

fn sandbox() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().canonicalize().unwrap().join("history.db");
    (dir, path)
}

fn open(registry: &Registry, path: &Path) -> crate::Result<History> {
    History::open(registry.database(path.to_str().unwrap())?)
}

fn store(history: &History, prompt: &str) {
    history.finish(history.add(prompt, None).unwrap()).unwrap();
}

fn count(history: &History) -> usize {
    recent(history.database(), 1000).unwrap().len()
}

/// What another process would read.
fn count_in(path: &Path) -> i64 {
    Connection::open(path)
        .unwrap()
        .query_row("SELECT count(*) FROM history", [], |row| row.get(0))
        .unwrap()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

#[test]
fn files_that_are_no_database_stay_as_they_are() {
    let cases: [(&[u8], &str); 3] = [
        (&[0x5a; 5000], "SQLITE_NOTADB"),
        (b"short", "SQLITE_NOTADB"),
        (
            b"SQLite format 3\0and then nothing that fits",
            "SQLITE_NOTADB",
        ),
    ];
    for (content, code) in cases {
        let (dir, path) = sandbox();
        fs::write(&path, content).unwrap();
        let error = open(&Registry::new(), &path).err().unwrap();
        assert_eq!((error.code(), error.path()), (code, Some(path.as_path())));
        assert_eq!(fs::read(&path).unwrap(), content);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn damaged_pages_are_told_and_stay_as_they_are() {
    let (_dir, path) = sandbox();
    store(&open(&Registry::new(), &path).unwrap(), "prompt");
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA journal_mode = DELETE")
        .unwrap();
    let mut content = fs::read(&path).unwrap();
    content[100..4096].fill(0xa5);
    fs::write(&path, &content).unwrap();
    let error = open(&Registry::new(), &path).err().unwrap();
    assert_eq!(error.code(), "SQLITE_CORRUPT");
    assert_eq!(fs::read(&path).unwrap(), content);
}

#[test]
fn places_that_cannot_hold_a_database_are_told() {
    let (dir, path) = sandbox();
    fs::create_dir(&path).unwrap();
    let error = open(&Registry::new(), &path).err().unwrap();
    assert_eq!(
        (error.code(), error.path()),
        ("SQLITE_CANTOPEN", Some(path.as_path()))
    );
    fs::write(dir.path().join("file"), "").unwrap();
    let below = dir.path().join("file/history.db");
    let error = open(&Registry::new(), &below).err().unwrap();
    assert_eq!(error.code(), "ENOTDIR");
}

#[test]
fn an_empty_file_becomes_a_database() {
    let (_dir, path) = sandbox();
    fs::write(&path, "").unwrap();
    store(&open(&Registry::new(), &path).unwrap(), "prompt");
    assert_eq!(count_in(&path), 1);
}

#[cfg(unix)]
#[test]
fn new_files_are_private_also_behind_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (dir, _) = sandbox();
    let target = dir.path().join("real/history.db");
    let link = dir.path().join("link.db");
    symlink(&target, &link).unwrap();
    let history = open(&Registry::new(), &link).unwrap();
    store(&history, "prompt");
    assert_eq!(mode(target.parent().unwrap()), 0o700);
    assert_eq!(mode(&target), 0o600);
    assert_eq!(mode(&beside(&target, "-wal")), 0o600);
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    drop(open(&Registry::new(), &link).unwrap());
    assert_eq!(mode(&target), 0o640);
}

#[cfg(unix)]
#[test]
fn a_database_that_was_removed_is_made_anew() {
    let (dir, path) = sandbox();
    let history = open(&Registry::new(), &path).unwrap();
    store(&history, "before");
    fs::remove_dir_all(dir.path()).unwrap();
    store(&history, "after");
    assert_eq!((count(&history), count_in(&path)), (1, 1));
}

#[cfg(unix)]
#[test]
fn a_database_that_was_replaced_is_used() {
    let (dir, path) = sandbox();
    let other = dir.path().join("other.db");
    let history = open(&Registry::new(), &path).unwrap();
    store(&history, "before");
    let replacement = open(&Registry::new(), &other).unwrap();
    store(&replacement, "one");
    store(&replacement, "two");
    Connection::open(&other)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    for suffix in ["-wal", "-shm"] {
        fs::remove_file(beside(&path, suffix)).unwrap();
    }
    fs::rename(&other, &path).unwrap();
    assert_eq!(count(&history), 2);
    store(&history, "three");
    assert_eq!(count_in(&path), 3);
}

/// What another copy of SQLite in this process does when it closes the database: it takes in the
/// log and removes it.
#[cfg(unix)]
#[test]
fn nothing_is_lost_when_the_log_is_removed_under_the_connections() {
    let (_dir, path) = sandbox();
    let registry = Registry::new();
    let history = open(&registry, &path).unwrap();
    let second = open(&registry, &path).unwrap();
    store(&history, "before");
    store(&second, "before too");
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    for suffix in ["-wal", "-shm"] {
        fs::remove_file(beside(&path, suffix)).unwrap();
    }
    store(&history, "after");
    assert_eq!((count(&history), count(&second)), (3, 3));
    store(&second, "after too");
    drop((history, second));
    assert_eq!(count_in(&path), 4);
}

#[test]
fn stores_of_one_process_share_the_connections_to_a_file() {
    let (dir, path) = sandbox();
    let registry = Registry::new();
    let first = registry.database(path.to_str().unwrap()).unwrap();
    let roundabout = dir.path().join("./history.db");
    let second = registry.database(roundabout.to_str().unwrap()).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    let other = registry.database(":memory:").unwrap();
    assert!(!Arc::ptr_eq(
        &other,
        &registry.database(":memory:").unwrap()
    ));
}

#[test]
fn a_database_in_memory_works() {
    let history = History::open(Registry::new().database(":memory:").unwrap()).unwrap();
    store(&history, "prompt");
    assert_eq!(count(&history), 1);
}

#[test]
fn reading_does_not_wait_for_a_writer() {
    let (_dir, path) = sandbox();
    let history = open(&Registry::new(), &path).unwrap();
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO history (prompt) VALUES ('unfinished')")
        .unwrap();
    assert_eq!(count(&history), 0);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(count(&history), 1);
}
