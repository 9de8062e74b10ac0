//! Changing the header without touching the rest of the file.
//!
//! Header lines that we write end in spaces. As long as a new header fits into the old line, it is
//! written over it with one positional write of the same length.

use std::path::Path;
use std::sync::Arc;

use super::head::{self, IdValue, Shape};
use crate::Result;
use crate::json::Cursor;
use crate::storage::disk::{Disk, DiskFile};

/// Longest header line that is changed in place.
const LONGEST_LINE: usize = 64 << 10;

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
    let Some(room) = room_of(file.as_ref(), id)? else {
        return Ok(Retitled::NeedsRewrite);
    };
    if json.len() > room {
        return Ok(Retitled::NeedsRewrite);
    }
    let mut line = json.to_vec();
    line.resize(room, b' ');
    file.write_at(0, &line)?;
    file.sync()?;
    Ok(Retitled::Done)
}

/// Length of the first line without its line feed, when it is the header with this id.
fn room_of(file: &dyn DiskFile, id: &[u8]) -> Result<Option<usize>> {
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
    Ok((same && cursor.at_end()).then_some(end))
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
        let slot = [b"{\"type\":\"title\"}\n".to_vec(), header_line(OLD)].concat();
        for content in [
            tight,
            other,
            slot,
            OLD.to_vec(),
            Vec::new(),
            b"junk\n".to_vec(),
        ] {
            assert_eq!(replaced(&content, NEW), (Retitled::NeedsRewrite, content));
        }
    }
}
