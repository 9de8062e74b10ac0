//! Appending lines to a session file.
//!
//! Every append first looks at the path: a file that was replaced under its name is reopened, a
//! missing or emptied one is reported, because only a rewrite can restore its header. Lines never
//! get glued to what is there: where the file does not end with a line feed, one is written first.
//! A write that went out in part is rolled back, or fenced off by that same line feed. After the write
//! the path is looked at again: [`succession`](super::succession) says why.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::succession::is_unfinished;
use crate::Result;
use crate::storage::disk::{Disk, DiskFile, FileIdentity, WriteFailure};

/// Outcome of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The lines are in the kernel.
    Written,
    /// There is no file with a header at the path; nothing was written.
    Missing,
    /// The lines were written, but the path leads to another file now, which may have them or not:
    /// see [`succession`](super::succession).
    Displaced,
    /// The file was replaced and whoever did it is not finished; nothing was written. Told once each
    /// time the file is opened.
    Unfinished,
}

/// The append side of one session file.
pub struct Writer {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    open: Option<Open>,
    /// Whether the next opening of the file may be told to be too early.
    looks: bool,
}

struct Open {
    file: Box<dyn DiskFile>,
    identity: FileIdentity,
    /// Length at which the file is known to end with a line feed.
    clean_len: Option<u64>,
}

impl Writer {
    /// A writer that opens the file when it is first needed.
    pub fn new(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self {
            disk,
            path,
            open: None,
            looks: true,
        }
    }

    /// The writer of whoever replaced the file.
    pub fn of_rewriter(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self {
            looks: false,
            ..Self::new(disk, path)
        }
    }

    /// The session file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a descriptor is held.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Appends whole lines, each with its line feed, in one write.
    pub fn append(&mut self, lines: &[u8]) -> Result<Appended> {
        let stat = match self.disk.stat(&self.path) {
            Err(error) if error.is_not_found() => {
                self.open = None;
                return Ok(Appended::Missing);
            }
            outcome => outcome?,
        };
        if stat.len == 0 && stat.is_file {
            self.open = None;
            return Ok(Appended::Missing);
        }
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.identity != stat.identity)
        {
            self.open = None;
        }
        if self.open.is_none()
            && std::mem::take(&mut self.looks)
            && is_unfinished(&self.disk, &self.disk.resolve_link(&self.path)?)
        {
            return Ok(Appended::Unfinished);
        }
        let (open, len) = match &mut self.open {
            Some(open) => (open, stat.len),
            None => {
                let file = match self.disk.open_append(&self.path) {
                    Err(error) if error.is_not_found() => return Ok(Appended::Missing),
                    outcome => outcome?,
                };
                let stat = file.stat()?;
                let open = self.open.insert(Open {
                    identity: stat.identity,
                    file,
                    clean_len: None,
                });
                (open, stat.len)
            }
        };
        self.looks = true;
        open.append(lines, len)?;
        match self.disk.stat(&self.path) {
            Ok(stat) if stat.identity == open.identity => Ok(Appended::Written),
            // Also when that cannot be told: what was written must not be written again.
            _ => Ok(Appended::Displaced),
        }
    }

    /// Makes appended lines durable (`fsync`). Without an open descriptor there is nothing to do:
    /// rewrites sync by themselves. If the file was replaced, what took its place is synced too: the
    /// lines are there.
    pub fn sync(&mut self) -> Result<()> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        open.file.sync()?;
        match self.disk.stat(&self.path) {
            Ok(stat) if stat.identity != open.identity && stat.is_file => {
                self.disk.open_append(&self.path)?.sync()
            }
            _ => Ok(()),
        }
    }

    /// Gives the descriptor back; a later append opens the file again.
    pub fn close(&mut self) {
        self.open = None;
    }
}

impl Open {
    fn append(&mut self, lines: &[u8], len: u64) -> Result<()> {
        let clean = self.clean_len == Some(len) || self.ends_with_line_feed(len)?;
        let outcome = if clean {
            self.file.write_all(lines)
        } else {
            let mut fenced = Vec::with_capacity(lines.len() + 1);
            fenced.push(b'\n');
            fenced.extend_from_slice(lines);
            self.file.write_all(&fenced)
        };
        match outcome {
            Ok(()) => {
                self.clean_len = Some(len + lines.len() as u64 + u64::from(!clean));
                Ok(())
            }
            Err(failure) => {
                self.roll_back(len, &failure);
                Err(failure.error)
            }
        }
    }

    fn ends_with_line_feed(&self, len: u64) -> Result<bool> {
        let Some(last) = len.checked_sub(1) else {
            return Ok(true);
        };
        let mut byte = [0];
        let count = self.file.read_at(last, &mut byte)?;
        Ok(count == 0 || byte == *b"\n")
    }

    /// Takes back what went out, provided that nobody appended behind it. Whatever happens, the
    /// next append looks at the last byte and fences torn bytes off.
    fn roll_back(&mut self, len: u64, failure: &WriteFailure) {
        self.clean_len = None;
        let torn = len + failure.written as u64;
        if failure.written > 0 && self.file.len().is_ok_and(|now| now == torn) {
            // Should this fail too, the torn bytes stay and are fenced off.
            let _ = self.file.truncate(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::disk::OsDisk;

    fn writer(content: Option<&[u8]>) -> (tempfile::TempDir, Writer) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        (dir, Writer::new(Arc::new(OsDisk), path))
    }

    fn content(writer: &Writer) -> String {
        std::fs::read_to_string(writer.path()).unwrap()
    }

    #[test]
    fn lines_go_to_the_end() {
        let (_dir, mut writer) = writer(Some(b"h\n"));
        assert_eq!(writer.append(b"a\n").unwrap(), Appended::Written);
        assert_eq!(writer.append(b"b\n").unwrap(), Appended::Written);
        assert_eq!(content(&writer), "h\na\nb\n");
    }

    #[test]
    fn torn_tails_are_fenced_off() {
        let (_dir, mut writer) = writer(Some(b"h\n{\"torn"));
        writer.append(b"a\n").unwrap();
        assert_eq!(content(&writer), "h\n{\"torn\na\n");
        std::fs::write(writer.path(), "h\nlonger torn").unwrap();
        writer.append(b"b\n").unwrap();
        assert_eq!(content(&writer), "h\nlonger torn\nb\n");
    }

    #[test]
    fn replaced_files_are_followed() {
        let (dir, mut writer) = writer(Some(b"h\n"));
        writer.append(b"a\n").unwrap();
        let new = dir.path().join("new");
        std::fs::write(&new, "n\n").unwrap();
        std::fs::rename(&new, writer.path()).unwrap();
        writer.append(b"b\n").unwrap();
        assert_eq!(content(&writer), "n\nb\n");
    }

    #[test]
    fn missing_and_emptied_files_are_reported() {
        let (_dir, mut writer) = writer(None);
        assert_eq!(writer.append(b"a\n").unwrap(), Appended::Missing);
        assert!(!writer.path().exists());
        std::fs::write(writer.path(), "").unwrap();
        assert_eq!(writer.append(b"a\n").unwrap(), Appended::Missing);
        assert_eq!(content(&writer), "");
    }

    #[test]
    fn every_failure_leaves_whole_lines() {
        use crate::storage::faulty::{Fault, FaultyDisk};
        for fault in [Fault::Fails, Fault::HalfWritten] {
            for nth in 0.. {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("s.jsonl");
                std::fs::write(&path, "h\n").unwrap();
                let disk = Arc::new(FaultyDisk::new(nth, fault));
                let mut writer = Writer::new(disk.clone(), path);
                let first = writer.append(b"first\n").is_ok();
                let second = writer.append(b"second\n").is_ok();
                let third = writer.append(b"third\n").is_ok();
                let lines = content(&writer);
                let expected = [
                    (true, "h"),
                    (first, "first"),
                    (second, "second"),
                    (third, "third"),
                ];
                let whole: Vec<_> = expected
                    .iter()
                    .filter(|(ok, _)| *ok)
                    .map(|(_, line)| *line)
                    .collect();
                let found: Vec<_> = lines.lines().filter(|line| whole.contains(line)).collect();
                assert_eq!(found, whole, "{fault:?} at operation {nth}: {lines:?}");
                if !disk.struck() {
                    assert!(nth > 5);
                    break;
                }
            }
        }
    }
}
