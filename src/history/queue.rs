//! Prompts on their way to the disk.
//!
//! Prompts are collected in a batch until somebody writes it, in one transaction and in the order in
//! which they were added. A prompt that repeats the one before it is not stored again; "before" means
//! the last one that was added here, or the newest in the database when the store was opened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::database::Database;
use super::{failure, lock};
use crate::text::js_trim;
use crate::{Error, Result};

/// Names a batch; unique in its store, never zero.
pub type BatchId = u64;

/// A store of prompts.
pub struct History {
    database: Arc<Database>,
    queue: Mutex<Queue>,
    /// Locked while a batch is written. Holds outcomes of batches that were written before anybody
    /// asked for them.
    outcomes: Mutex<HashMap<BatchId, Result<()>>>,
}

struct Queue {
    /// Id of the batch that prompts are added to.
    batch: BatchId,
    prompts: Vec<Prompt>,
    /// The prompt that a next one must differ from.
    last: Option<Last>,
    /// Newest prompt of this store that is in the database.
    stored: Option<String>,
}

struct Prompt {
    text: String,
    cwd: Option<String>,
}

struct Last {
    text: String,
    /// The batch that will write it; `None` when it is in the database.
    batch: Option<BatchId>,
}

impl History {
    /// A store in a database. Fails if the database cannot be used.
    pub fn open(database: Arc<Database>) -> Result<Self> {
        let stored = database.read(newest_prompt)?;
        let last = stored.clone().map(|text| Last { text, batch: None });
        Ok(Self {
            database,
            queue: Mutex::new(Queue {
                batch: 1,
                prompts: Vec::new(),
                last,
                stored,
            }),
            outcomes: Mutex::default(),
        })
    }

    /// The database of this store.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Adds a prompt, without white space around it. Gives the batch that must be written before it
    /// is on disk; `None` if there is nothing to be written. Never blocks.
    pub fn add(&self, prompt: &str, cwd: Option<String>) -> Option<BatchId> {
        let text = js_trim(prompt);
        if text.is_empty() {
            return None;
        }
        let mut queue = lock(&self.queue);
        if let Some(last) = queue.last.as_ref().filter(|last| last.text == text) {
            return last.batch;
        }
        let batch = queue.batch;
        queue.last = Some(Last {
            text: text.to_owned(),
            batch: Some(batch),
        });
        queue.prompts.push(Prompt {
            text: text.to_owned(),
            cwd,
        });
        Some(batch)
    }

    /// Waits until a batch is on disk, writing it if it has not been written. Each batch can be waited
    /// for once. If some rows fail the others are stored all the same. Blocks.
    pub fn finish(&self, batch: BatchId) -> Result<()> {
        let mut outcomes = lock(&self.outcomes);
        outcomes
            .remove(&batch)
            .unwrap_or_else(|| self.write_collected().1)
    }

    /// Writes everything that was added, for the end of a process; the batch can still be waited for.
    /// Gives the reason if that fails. Blocks.
    pub fn write_all(&self) -> Option<String> {
        let mut outcomes = lock(&self.outcomes);
        if lock(&self.queue).prompts.is_empty() {
            return None;
        }
        let (batch, outcome) = self.write_collected();
        let reason = outcome.as_ref().err().map(Error::to_string);
        outcomes.insert(batch, outcome);
        reason
    }

    /// Closes the batch and writes it. The caller holds the lock of the outcomes.
    fn write_collected(&self) -> (BatchId, Result<()>) {
        let (batch, prompts) = {
            let mut queue = lock(&self.queue);
            queue.batch += 1;
            (queue.batch - 1, std::mem::take(&mut queue.prompts))
        };
        let written = self.database.write(|conn| insert(conn, &prompts));
        let (stored, outcome) = match written {
            Ok(Inserted { last, failure }) => {
                let path = self.database.path();
                (
                    last,
                    failure.map_or(Ok(()), |error| Err(failure::at(path, &error))),
                )
            }
            Err(error) => (None, Err(error)),
        };
        lock(&self.queue).settle(batch, stored.and_then(|at| prompts.into_iter().nth(at)));
        (batch, outcome)
    }
}

impl Queue {
    /// A batch was written, `newest` being the last of its prompts that is in the database. If that
    /// is not the last that was added, the same prompt may be added again.
    fn settle(&mut self, batch: BatchId, newest: Option<Prompt>) {
        if let Some(prompt) = newest {
            self.stored = Some(prompt.text);
        }
        if self
            .last
            .as_ref()
            .is_some_and(|last| last.batch == Some(batch))
        {
            self.last = self.stored.clone().map(|text| Last { text, batch: None });
        }
    }
}

struct Inserted {
    /// Position of the last prompt that was stored.
    last: Option<usize>,
    /// Why the first of those that were not stored failed.
    failure: Option<rusqlite::Error>,
}

/// Inserts in one transaction. A row that the database refuses does not take the others with it;
/// only what ends the transaction itself, like a full disk, fails them all.
fn insert(conn: &mut Connection, prompts: &[Prompt]) -> rusqlite::Result<Inserted> {
    let mut inserted = Inserted {
        last: None,
        failure: None,
    };
    let transaction = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut statement =
            transaction.prepare_cached("INSERT INTO history (prompt, cwd) VALUES (?1, ?2)")?;
        for (at, prompt) in prompts.iter().enumerate() {
            match statement.execute((&prompt.text, &prompt.cwd)) {
                Ok(_) => inserted.last = Some(at),
                Err(error) if transaction.is_autocommit() => return Err(error),
                Err(error) => {
                    inserted.failure.get_or_insert(error);
                }
            }
        }
    }
    transaction.commit()?;
    Ok(inserted)
}

fn newest_prompt(conn: &Connection) -> rusqlite::Result<Option<String>> {
    conn.query_row(
        "SELECT prompt FROM history ORDER BY id DESC LIMIT 1",
        [],
        |row| Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned()),
    )
    .optional()
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
