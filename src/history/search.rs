//! Finding prompts.
//!
//! The full-text index knows beginnings of words. What it does not find is looked for inside all
//! texts: the middle of a word, and anything in writings that do not separate words.

use rusqlite::Connection;

use super::database::Database;
use super::query::Query;
use super::rows::{Entry, newest_of};
use super::substring::Needles;
use crate::Result;

/// Prompts that were found, newest first.
#[derive(Debug, Default)]
pub struct Found {
    /// The prompts.
    pub entries: Vec<Entry>,
    /// Why the full-text index could not be used, if that is so.
    pub index_failure: Option<String>,
}

/// Looks for prompts. Blocks, see [`Database`].
pub fn search(database: &Database, text: &str, limit: usize) -> Result<Found> {
    let Some(query) = Query::parse(text).filter(|_| limit > 0) else {
        return Ok(Found::default());
    };
    database.read(|conn| {
        let (mut ids, index_failure) = match in_index(conn, &query) {
            Ok(ids) => (ids, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        if ids.is_empty() || query.is_unspaced() {
            ids.extend(in_texts(conn, &mut query.needles())?);
            ids.sort_unstable();
            ids.dedup();
        }
        let entries = newest_of(conn, &ids, limit)?;
        Ok(Found {
            entries,
            index_failure,
        })
    })
}

/// Ids of the rows that the index finds, ascending.
fn in_index(conn: &Connection, query: &Query) -> rusqlite::Result<Vec<i64>> {
    let (expression, mut checks) = query.for_index();
    if expression.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(
        "SELECT rowid FROM history_fts WHERE history_fts MATCH ?1 ORDER BY rowid",
    )?;
    let mut ids: Vec<i64> = statement
        .query_map([expression], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    if !checks.is_empty() {
        keep_containing(conn, &mut ids, &mut checks)?;
    }
    Ok(ids)
}

fn keep_containing(
    conn: &Connection,
    ids: &mut Vec<i64>,
    needles: &mut Needles,
) -> rusqlite::Result<()> {
    let mut statement = conn.prepare_cached("SELECT prompt FROM history WHERE id = ?1")?;
    let mut kept = Vec::new();
    for &id in ids.iter() {
        let mut rows = statement.query([id])?;
        if let Some(row) = rows.next()? {
            let text = row.get_ref(0)?;
            if text.as_bytes().is_ok_and(|text| needles.are_in(text)) {
                kept.push(id);
            }
        }
    }
    *ids = kept;
    Ok(())
}

/// Ids of the rows whose text contains all needles, ascending; none without needles.
fn in_texts(conn: &Connection, needles: &mut Needles) -> rusqlite::Result<Vec<i64>> {
    let mut ids = Vec::new();
    if needles.is_empty() {
        return Ok(ids);
    }
    let mut statement = conn.prepare_cached("SELECT id, prompt FROM history ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(1)?;
        if text.as_bytes().is_ok_and(|text| needles.are_in(text)) {
            ids.push(row.get(0)?);
        }
    }
    Ok(ids)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
