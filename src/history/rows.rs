//! Rows of the table, newest first: by time of creation, then by id.
//!
//! Both directions matter: many rows share a second when prompts are imported, and clocks go back. The
//! index on the time of creation delivers the first part of the order; the statements here are made so
//! that no more rows are sorted than are asked for.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params};

use super::database::Database;
use crate::Result;
use crate::json::text::encode;

/// Most rows that one call gives.
pub const MOST_ROWS: usize = 1000;

/// A stored prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Row id.
    pub id: i64,
    /// The prompt; UTF-8, unless another program stored something else.
    pub prompt: Vec<u8>,
    /// Time of creation, seconds since 1970.
    pub created_at: i64,
    /// Working directory.
    pub cwd: Option<Vec<u8>>,
}

/// The number of rows that JavaScript's `limit` asks for.
pub fn rows_asked_for(limit: f64) -> usize {
    if limit.is_finite() {
        limit.clamp(0.0, MOST_ROWS as f64) as usize
    } else {
        0
    }
}

/// The newest prompts. Blocks, see [`Database`].
pub fn recent(database: &Database, limit: usize) -> Result<Vec<Entry>> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    database.read(|conn| newest(conn, limit))
}

fn newest(conn: &Connection, limit: usize) -> rusqlite::Result<Vec<Entry>> {
    // The second in which the last of the wanted rows was created. Rows of later seconds are wanted
    // without exception; of that second, those with the highest ids.
    let oldest: Option<Value> = conn
        .prepare_cached(
            "SELECT created_at FROM history ORDER BY created_at DESC LIMIT 1 OFFSET ?1",
        )?
        .query_map([limit as i64 - 1], |row| row.get(0))?
        .next()
        .transpose()?;
    let Some(oldest) = oldest else {
        return select(
            conn,
            "SELECT id, prompt, created_at, cwd FROM history ORDER BY created_at DESC, id DESC",
            [],
        );
    };
    let mut entries = select(
        conn,
        "SELECT id, prompt, created_at, cwd FROM history WHERE created_at > ?1
         ORDER BY created_at DESC, id DESC",
        [&oldest],
    )?;
    entries.extend(select(
        conn,
        "SELECT id, prompt, created_at, cwd FROM history WHERE created_at = ?1
         ORDER BY id DESC LIMIT ?2",
        params![oldest, limit as i64 - entries.len() as i64],
    )?);
    Ok(entries)
}

/// The rows with some ids, newest first, no more than `limit`. `ids` are ascending; those without a
/// row are passed over.
pub(super) fn newest_of(
    conn: &Connection,
    ids: &[i64],
    limit: usize,
) -> rusqlite::Result<Vec<Entry>> {
    /// Up to this many rows are looked up one by one; for more it is quicker to go through the index.
    const FEW: usize = 2000;
    let ordered = if ids.len() <= FEW {
        order_few(conn, ids)?
    } else {
        order_many(conn, ids, limit)?
    };
    let mut statement =
        conn.prepare_cached("SELECT id, prompt, created_at, cwd FROM history WHERE id = ?1")?;
    ordered
        .iter()
        .take(limit)
        .map(|id| statement.query_row([id], entry))
        .collect()
}

fn order_few(conn: &Connection, ids: &[i64]) -> rusqlite::Result<Vec<i64>> {
    let mut statement = conn.prepare_cached("SELECT created_at FROM history WHERE id = ?1")?;
    let mut found = Vec::with_capacity(ids.len());
    for &id in ids {
        let mut rows = statement.query([id])?;
        if let Some(row) = rows.next()? {
            found.push((integer(row.get_ref(0)?), id));
        }
    }
    found.sort_unstable_by(|left, right| right.cmp(left));
    Ok(found.into_iter().map(|(_, id)| id).collect())
}

/// Goes through the index from the newest second on, until enough ids have been met.
fn order_many(conn: &Connection, ids: &[i64], limit: usize) -> rusqlite::Result<Vec<i64>> {
    let mut statement =
        conn.prepare_cached("SELECT created_at, id FROM history ORDER BY created_at DESC")?;
    let mut rows = statement.query([])?;
    let mut ordered: Vec<i64> = Vec::new();
    // Where the ids of the current second begin.
    let (mut second, mut start) = (None, 0);
    while let Some(row) = rows.next()? {
        let created_at = integer(row.get_ref(0)?);
        if second != Some(created_at) {
            sort_descending(&mut ordered, start);
            if ordered.len() >= limit {
                return Ok(ordered);
            }
            (second, start) = (Some(created_at), ordered.len());
        }
        let id = row.get(1)?;
        if ids.binary_search(&id).is_ok() {
            ordered.push(id);
        }
    }
    sort_descending(&mut ordered, start);
    Ok(ordered)
}

fn sort_descending(ids: &mut [i64], from: usize) {
    if let Some(ids) = ids.get_mut(from..) {
        ids.sort_unstable_by(|left, right| right.cmp(left));
    }
}

fn select(
    conn: &Connection,
    statement: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Entry>> {
    conn.prepare_cached(statement)?
        .query_map(parameters, entry)?
        .collect()
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        id: row.get(0)?,
        prompt: bytes(row.get_ref(1)?).unwrap_or_default(),
        created_at: integer(row.get_ref(2)?),
        cwd: bytes(row.get_ref(3)?),
    })
}

/// Columns can hold values of any type, whatever the table says.
fn bytes(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
        ValueRef::Integer(number) => Some(number.to_string().into_bytes()),
        ValueRef::Real(number) => Some(number.to_string().into_bytes()),
    }
}

fn integer(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Integer(number) => number,
        ValueRef::Real(number) => number as i64,
        _ => 0,
    }
}

/// Entries as JSON: an array with `[id, prompt, created_at, cwd or null]` for each.
pub fn to_json(entries: &[Entry]) -> Vec<u8> {
    let mut json = Vec::from(b"[");
    for (at, entry) in entries.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        json.extend(format!("[{},", entry.id).into_bytes());
        json.extend(encode(&entry.prompt));
        json.extend(format!(",{},", entry.created_at).into_bytes());
        json.extend(
            entry
                .cwd
                .as_deref()
                .map_or_else(|| b"null".to_vec(), encode),
        );
        json.push(b']');
    }
    json.push(b']');
    json
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
