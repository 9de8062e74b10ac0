//! The schema, which other programs rely on:
//!
//! - table `history`: id, prompt, time of creation in seconds, working directory;
//! - `idx_history_created_at` for the order by time;
//! - `history_fts`, full-text index over `history` (external content, default tokenizer);
//! - `history_ai`, the trigger that feeds the index. Rows are never changed or deleted.
//!
//! An older form of the table used `unixepoch()` in its default, which older engines do not know; it
//! is migrated. Whatever is created or migrated is so in one transaction, whose lock also makes
//! several processes that open a fresh path take turns.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::database::BUSY_TIMEOUT;
use super::failure::{is_busy, is_read_only};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt TEXT NOT NULL,
    created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)),
    cwd TEXT
)";

const TIME_INDEX: &str =
    "CREATE INDEX IF NOT EXISTS idx_history_created_at ON history(created_at DESC)";

const FULL_TEXT: &str = "CREATE VIRTUAL TABLE IF NOT EXISTS history_fts \
     USING fts5(prompt, content='history', content_rowid='id')";

const TRIGGER: &str = "CREATE TRIGGER IF NOT EXISTS history_ai AFTER INSERT ON history BEGIN
    INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
END";

const REBUILD: &str = "INSERT INTO history_fts(history_fts) VALUES ('rebuild')";

/// Pause between attempts at a lock for which the engine does not wait by itself.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// What of the schema exists.
#[derive(Debug, Default, Clone, Copy)]
struct Found {
    table: bool,
    legacy: bool,
    time_index: bool,
    full_text: bool,
    trigger: bool,
}

impl Found {
    fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let mut found = Self::default();
        let mut statement = conn.prepare(
            "SELECT name, coalesce(sql, '') FROM sqlite_master WHERE name IN \
             ('history', 'idx_history_created_at', 'history_fts', 'history_ai')",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match row.get_ref(0)?.as_str()? {
                "history" => {
                    found.table = true;
                    found.legacy = row.get_ref(1)?.as_str()?.contains("unixepoch(");
                }
                "idx_history_created_at" => found.time_index = true,
                "history_fts" => found.full_text = true,
                _ => found.trigger = true,
            }
        }
        Ok(found)
    }

    fn is_complete(self) -> bool {
        self.table && !self.legacy && self.time_index && self.full_text && self.trigger
    }
}

/// Brings the database into the state that everything else expects. Writes nothing to a file that
/// is in this state already, or that turns out to be something else. Gives the reason if the
/// full-text index could not be built, which only searches suffer from.
pub(super) fn prepare(conn: &mut Connection) -> rusqlite::Result<Option<String>> {
    let mut warning = None;
    if !Found::read(conn)?.is_complete() {
        let mut transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been here in the meantime.
        let found = Found::read(&transaction)?;
        if !found.is_complete() {
            warning = complete(&mut transaction, found)?;
        }
        transaction.commit()?;
    }
    use_wal(conn)?;
    Ok(warning)
}

fn complete(transaction: &mut Transaction<'_>, found: Found) -> rusqlite::Result<Option<String>> {
    if found.legacy {
        migrate(transaction)?;
    }
    for statement in [TABLE, TIME_INDEX, FULL_TEXT, TRIGGER] {
        transaction.execute_batch(statement)?;
    }
    // Without the trigger, rows may have been added that the index does not know.
    if found.legacy || !found.full_text || !found.trigger {
        return rebuild(transaction);
    }
    Ok(None)
}

/// Copies the rows of an older table into one of today's form. What depends on the old table is
/// dropped first: renaming fails when it cannot be understood.
fn migrate(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "DROP TRIGGER IF EXISTS history_ai;
         DROP INDEX IF EXISTS idx_history_created_at;
         DROP TABLE IF EXISTS history_fts;
         ALTER TABLE history RENAME TO history_legacy;",
    )?;
    transaction.execute_batch(TABLE)?;
    transaction.execute_batch(
        "INSERT INTO history (id, prompt, created_at, cwd)
             SELECT id, prompt, created_at, cwd FROM history_legacy ORDER BY id;
         DROP TABLE history_legacy;",
    )
}

/// Builds the full-text index from the rows; a failure is undone and reported.
fn rebuild(transaction: &mut Transaction<'_>) -> rusqlite::Result<Option<String>> {
    let savepoint = transaction.savepoint()?;
    match savepoint.execute_batch(REBUILD) {
        Ok(()) => savepoint.commit().map(|()| None),
        Err(error) => {
            drop(savepoint);
            Ok(Some(error.to_string()))
        }
    }
}

/// Switches to a write-ahead log, with which readers and the writer do not wait for each other. The
/// engine does not wait for the lock that the switch needs, so that is done here. A database that
/// stays busy, or can only be read, is used as it is.
fn use_wal(conn: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        let mode = conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
        match mode {
            Err(error) if is_busy(&error) && Instant::now() < deadline => sleep(RETRY_PAUSE),
            Err(error) if is_busy(&error) || is_read_only(&error) => return Ok(()),
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
