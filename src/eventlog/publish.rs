//! Writing logs: the first append publishes the file, later ones add to it, repairs cut it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::failure;
use super::frame;
use super::header::Header;
use super::pack;
use super::store::{Compression, Store, exists};
use crate::storage::atomic::{AtomicFile, AtomicOptions, Existing};
use crate::storage::disk::parent_of;
use crate::{Error, Result};

impl Store {
    /// Writes header and first batch as a new file: both are there, or neither. Synced before it
    /// returns. A failure leaves nothing behind.
    pub fn materialise<T: AsRef<[u8]>>(&self, header: &Header, events: &[T]) -> Result<()> {
        self.check_root()?;
        let path = self.locate(header)?;
        let session = parent_of(&path);
        self.check_session(session)?;
        let mut content = self.encoded(&header.line())?;
        content.extend(self.encoded(&pack::lines(events, self.packing))?);
        self.make_directories(session)?;
        if exists(&path)? {
            let id = String::from_utf8_lossy(&header.id);
            return Err(failure::log(
                failure::EXISTS,
                format!(
                    "refusing to materialize \"{id}\": a log already exists on disk (load/resume it instead)"
                ),
            ));
        }
        let options = AtomicOptions {
            existing: Existing::Refuse,
            suffix: None,
        };
        let mut file = AtomicFile::create_with(Arc::clone(&self.disk), &path, options)?;
        file.write(&content)?;
        match file.commit() {
            Ok(_) => Ok(()),
            Err(error) => {
                if is_sync_of(&error, session) {
                    // The file is in place and nobody knows of it; the batch may be tried again.
                    let _ = self.disk.remove_file(&path);
                }
                Err(error)
            }
        }
    }

    /// Creates the directories down to a session's, and makes their names durable.
    fn make_directories(&self, session: &Path) -> Result<()> {
        let project = parent_of(session);
        // The nearest directory above the root that exists.
        let mut missing: Vec<PathBuf> = Vec::new();
        let mut at = parent_of(&self.root);
        while !at.exists() && at != parent_of(at) {
            missing.push(at.to_path_buf());
            at = parent_of(at);
        }
        self.disk.create_dirs(&self.root)?;
        for dir in missing.iter().rev() {
            self.disk.sync_dir(parent_of(dir))?;
        }
        self.disk.sync_dir(parent_of(&self.root))?;
        self.disk.create_dirs(project)?;
        self.disk.sync_dir(&self.root)?;
        self.disk.create_dirs(session)?;
        self.disk.sync_dir(project)
    }

    /// Adds a batch, synced before it returns. A failure leaves the file as it was; if even that
    /// fails, [`Error::Rollback`] says to which length it must be cut.
    pub fn append<T: AsRef<[u8]>>(&self, header: &Header, events: &[T]) -> Result<()> {
        self.check_root()?;
        self.append_unchecked(header, events)
    }

    fn append_unchecked<T: AsRef<[u8]>>(&self, header: &Header, events: &[T]) -> Result<()> {
        let path = self.locate(header)?;
        let content = self.encoded(&pack::lines(events, self.packing))?;
        let mut file = self.disk.open_append(&path)?;
        let len = file.len()?;
        let written = file
            .write_all(&content)
            .map_err(Error::from)
            .and_then(|()| file.sync());
        let Err(error) = written else { return Ok(()) };
        match file.truncate(len).and_then(|()| file.sync()) {
            Ok(()) => Err(error),
            Err(rollback) => Err(Error::Rollback {
                path,
                len,
                cause: Box::new(error),
                rollback: Box::new(rollback),
            }),
        }
    }

    /// Cuts the log to a length, synced.
    pub(super) fn truncate(&self, header: &Header, len: u64) -> Result<()> {
        let mut file = self.disk.open_existing(&self.locate(header)?)?;
        file.truncate(len)?;
        file.sync()
    }

    /// Cuts off a torn tail and adds events. Two steps, each synced; a crash in between loses events
    /// that nobody was promised.
    pub fn repair<T: AsRef<[u8]>>(
        &self,
        header: &Header,
        truncate_to: Option<u64>,
        events: &[T],
    ) -> Result<()> {
        if let Some(len) = truncate_to {
            self.truncate(header, len)?;
        }
        if events.is_empty() {
            return Ok(());
        }
        self.append_unchecked(header, events)
    }

    fn encoded(&self, text: &[u8]) -> Result<Vec<u8>> {
        match self.compression {
            Compression::None => Ok(text.to_vec()),
            Compression::Zstd => frame::encode(text),
        }
    }
}

fn is_sync_of(error: &Error, dir: &Path) -> bool {
    matches!(error, Error::Io { syscall: "fsync", path, .. } if path == dir)
}
