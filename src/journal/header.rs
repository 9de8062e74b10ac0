//! Changing the header without touching the rest of the file.
//!
//! Header lines that we write end in spaces. As long as a new header fits into the old line, it is
//! written over it with one positional write of the same length. Only lines within the first page are
//! changed so: systems may end a process between two pages of a write, and a header that is half old
//! and half new cannot be read.

use std::path::Path;
use std::sync::Arc;

use super::head::{self, IdValue, Shape};
use crate::Result;
use crate::json::Cursor;
use crate::storage::disk::{Disk, DiskFile};

/// Longest header line that is changed in place, in bytes: the smallest page of any system.
const LONGEST_LINE: usize = 4096;

/// Outcome of [`replace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retitled {
    /// The header on disk is the new one, durably.
    Done,
    /// The first line is not our header or is too short for the new one.
    NeedsRewrite,
}

/// Writes a header over the one at the start of the file, if that has the given id and leaves
/// enough room. Blocking; syncs the file.
pub fn replace(disk: &Arc<dyn Disk>, path: &Path, json: &[u8], id: &[u8]) -> Result<Retitled> {
    let mut file = match disk.open_existing(path) {
        Err(error) if error.is_not_found() => return Ok(Retitled::NeedsRewrite),
        outcome => outcome?,
    };
    let Some(old) = header_in(file.as_ref(), id)? else {
        return Ok(Retitled::NeedsRewrite);
    };
    if json.len() > old.len() {
        return Ok(Retitled::NeedsRewrite);
    }
    let mut line = json.to_vec();
    line.resize(old.len(), b' ');
    if let Err(failure) = file.write_at(0, &line) {
        if failure.written > 0 {
            // Should this fail too, the rewrite that follows an error restores the header.
            let _ = file.write_at(0, &old);
        }
        return Err(failure.error);
    }
    file.sync()?;
    Ok(Retitled::Done)
}

/// The first line without its line feed, when it is the header with this id.
fn header_in(file: &dyn DiskFile, id: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; LONGEST_LINE];
    let count = file.read_at(0, &mut buffer)?;
    buffer.truncate(count);
    let Some(end) = memchr::memchr(b'\n', &buffer) else {
        return Ok(None);
    };
    buffer.truncate(end);
    let mut cursor = Cursor::new(&buffer);
    let Ok(head) = head::read(&mut cursor) else {
        return Ok(None);
    };
    let same = head.shape == Shape::Header
        && matches!(head.id, IdValue::Text(text) if text.decode().as_ref() == id);
    let whole = same && cursor.at_end();
    Ok(whole.then_some(buffer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::rewrite::header_line;
    use crate::storage::disk::OsDisk;

    const OLD: &[u8] = br#"{"type":"session","version":3,"id":"s1"}"#;
    const NEW: &[u8] = br#"{"type":"session","version":3,"id":"s1","title":"T"}"#;

    fn replaced(content: &[u8], json: &[u8]) -> (Retitled, Vec<u8>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        std::fs::write(&path, content).unwrap();
        let disk: Arc<dyn Disk> = Arc::new(OsDisk);
        let outcome = replace(&disk, &path, json, b"s1").unwrap();
        (outcome, std::fs::read(&path).unwrap())
    }

    #[test]
    fn a_header_that_fits_is_written_in_place() {
        let old = [header_line(OLD), b"{\"id\":1}\n".to_vec()].concat();
        let new = [header_line(NEW), b"{\"id\":1}\n".to_vec()].concat();
        assert_eq!(replaced(&old, NEW), (Retitled::Done, new.clone()));
        assert_eq!(replaced(&new, OLD), (Retitled::Done, old));
    }

    #[test]
    fn anything_else_needs_a_rewrite() {
        let tight = [OLD, b"\n"].concat();
        let other = header_line(br#"{"type":"session","version":3,"id":"s2"}"#);
        let long = [&vec![b' '; LONGEST_LINE], tight.as_slice()].concat();
        let slot = [b"{\"type\":\"title\"}\n".to_vec(), header_line(OLD)].concat();
        for content in [
            tight,
            other,
            long,
            slot,
            OLD.to_vec(),
            Vec::new(),
            b"junk\n".to_vec(),
        ] {
            assert_eq!(replaced(&content, NEW), (Retitled::NeedsRewrite, content));
        }
    }

    #[test]
    fn every_failure_leaves_the_old_or_the_new_header() {
        use crate::storage::faulty::{EACH_FAULT, for_each_fault};
        let (old, new) = (header_line(OLD), header_line(NEW));
        for fault in EACH_FAULT {
            let faults = for_each_fault(fault, |disk| {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("s");
                std::fs::write(&path, &old).unwrap();
                let disk: Arc<dyn Disk> = disk;
                let outcome = replace(&disk, &path, NEW, b"s1");
                let now = std::fs::read(&path).unwrap();
                assert!(
                    now == new || (outcome.is_err() && now == old),
                    "{outcome:?}"
                );
            });
            assert_eq!(faults, 4, "open, read, write and sync fail");
        }
    }
}
