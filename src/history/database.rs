//! Connections to one database file.
//!
//! Two connections: one reads, on the thread that asks; one writes, on a thread of its own choosing,
//! so that reading never waits for a write. An in-memory database has one that does both.
//!
//! A connection only works as long as the files behind it are those at their paths. They can be
//! replaced: by a user who deletes the database, but also by another copy of SQLite in the same
//! process. POSIX locks belong to processes, so when that copy closes the file our locks are gone,
//! and it removes the write-ahead log believing that nobody uses it. What is written to a removed log
//! is lost. So before each use the files are compared with the paths, and if they differ all
//! connections of the process are closed and opened anew.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{failure, lock, schema};
use crate::storage::disk::{Disk, FILE_MODE, FileIdentity, OsDisk, parent_of};
use crate::{Error, Result};

/// How long a lock is waited for.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// One database. Connections are opened when they are first needed and closed on drop.
pub struct Database {
    place: Place,
    reader: Mutex<Option<Open>>,
    /// Locked before `reader` when both are needed.
    writer: Mutex<Option<Open>>,
    warning: Mutex<Option<String>>,
}

/// Where a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// In a file, given by an absolute path without symbolic links.
    File(PathBuf),
    /// Nowhere: it ends with its connection.
    Memory,
}

struct Open {
    conn: Connection,
    files: Files,
}

/// Which files are at the paths of a database.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    main: Option<FileIdentity>,
    log: Option<FileIdentity>,
}

impl Files {
    fn at(path: &Path) -> Self {
        let identity = |path: &Path| OsDisk.stat(path).ok().map(|stat| stat.identity);
        let mut log = path.as_os_str().to_os_string();
        log.push("-wal");
        Self {
            main: identity(path),
            log: identity(Path::new(&log)),
        }
    }
}

impl Database {
    /// The database in a file, which [`create_file`] has created.
    pub(super) fn in_file(path: PathBuf) -> Self {
        Self::new(Place::File(path))
    }

    /// A database of its own in memory.
    pub(super) fn in_memory() -> Self {
        Self::new(Place::Memory)
    }

    fn new(place: Place) -> Self {
        Self {
            place,
            reader: Mutex::default(),
            writer: Mutex::default(),
            warning: Mutex::default(),
        }
    }

    /// Path of the file, for errors.
    pub fn path(&self) -> &Path {
        match &self.place {
            Place::File(path) => path,
            Place::Memory => Path::new(":memory:"),
        }
    }

    /// What went wrong while the full-text index was built; told once.
    pub fn take_warning(&self) -> Option<String> {
        lock(&self.warning).take()
    }

    /// Reads. `work` sees one state of the database. Blocks for as long as another process holds a
    /// lock, at most about [`BUSY_TIMEOUT`].
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.with(&self.reader, |conn| {
            let transaction = conn.transaction()?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })
    }

    /// Writes. Blocks for as long as another writer is at work, at most about [`BUSY_TIMEOUT`].
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        match self.place {
            Place::File(_) => self.with(&self.writer, work),
            Place::Memory => self.with(&self.reader, work),
        }
    }

    fn with<T>(
        &self,
        connection: &Mutex<Option<Open>>,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.close_if_replaced();
        let mut slot = lock(connection);
        let open = match &mut *slot {
            Some(open) => open,
            closed => closed.insert(self.open()?),
        };
        work(&mut open.conn).map_err(|error| failure::at(self.path(), &error))
    }

    /// All or none: connections of one process share what the engine knows about a file, so one
    /// that stays open would hand the old log to the new one.
    fn close_if_replaced(&self) {
        let Place::File(path) = &self.place else {
            return;
        };
        if self.is_current(path, &self.reader) && self.is_current(path, &self.writer) {
            return;
        }
        let (mut writer, mut reader) = (lock(&self.writer), lock(&self.reader));
        (*writer, *reader) = (None, None);
    }

    /// A connection in use by another thread was current when that began.
    fn is_current(&self, path: &Path, connection: &Mutex<Option<Open>>) -> bool {
        let Ok(slot) = connection.try_lock() else {
            return true;
        };
        slot.as_ref()
            .is_none_or(|open| open.files == Files::at(path))
    }

    fn open(&self) -> Result<Open> {
        let opened = match &self.place {
            Place::File(path) => {
                create_file(path)?;
                // Not `CREATE`: the engine would not choose our mode.
                connect(|flags| Connection::open_with_flags(path, flags))
            }
            Place::Memory => connect(Connection::open_in_memory_with_flags),
        };
        let prepared = opened.and_then(|mut conn| {
            let warning = schema::prepare(&mut conn)?;
            // Opens the log, if that has not happened yet: its identity is needed.
            conn.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
            Ok((conn, warning))
        });
        let (conn, warning) = prepared.map_err(|error| failure::at(self.path(), &error))?;
        if warning.is_some() {
            *lock(&self.warning) = warning;
        }
        let files = Files::at(self.path());
        Ok(Open { conn, files })
    }
}

/// Opens and sets what must be set before the first statement is run.
fn connect(
    open: impl FnOnce(OpenFlags) -> rusqlite::Result<Connection>,
) -> rusqlite::Result<Connection> {
    let conn = open(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // First of all: even reading the schema needs locks.
    conn.busy_timeout(BUSY_TIMEOUT)?;
    // Closing must not touch a log that may not be ours any more.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // What is committed is in the kernel; it is synced when the log is emptied.
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(conn)
}

/// Makes sure that there is a file, with its directories. An existing one is not touched; it is not
/// even opened, which would end this process's locks on it when it is closed.
pub(super) fn create_file(path: &Path) -> Result<()> {
    let file = OsDisk.resolve_link(path)?;
    OsDisk.create_dirs(parent_of(&file))?;
    match OsDisk.create_new(&file, FILE_MODE) {
        Err(error @ Error::Io { .. }) if error.code() != "EEXIST" => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
