//! One [`Database`] per file and process, whatever number of threads and stores use it.
//!
//! Needed to open all connections to a file anew at the same time, see [`super::database`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use super::database::{Database, create_file};
use super::lock;
use crate::Result;
use crate::error::IoContext;

/// The databases that are open in this process.
#[derive(Default)]
pub struct Registry {
    open: Mutex<BTreeMap<PathBuf, Weak<Database>>>,
}

impl Registry {
    /// An empty registry.
    pub const fn new() -> Self {
        Self {
            open: Mutex::new(BTreeMap::new()),
        }
    }

    /// The database at a path; the file and its directories are created if missing. `:memory:` and
    /// the empty path mean a database of the caller's own. Nothing is read yet.
    pub fn database(&self, path: &str) -> Result<Arc<Database>> {
        if matches!(path, "" | ":memory:") {
            return Ok(Arc::new(Database::in_memory()));
        }
        let path = Path::new(path);
        create_file(path)?;
        let real = path.canonicalize().during("realpath", path)?;
        let mut open = lock(&self.open);
        if let Some(database) = open.get(&real).and_then(Weak::upgrade) {
            return Ok(database);
        }
        open.retain(|_, database| database.strong_count() > 0);
        let database = Arc::new(Database::in_file(real.clone()));
        open.insert(real, Arc::downgrade(&database));
        Ok(database)
    }
}
