//! Whole text files, as the storage classes of the public API read and write them. All blocking.
//!
//! Unlike everything that the session manager itself writes, these are plain truncating writes:
//! that is what the callers of a storage object ask for.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Result;
use crate::error::IoContext;

use super::disk::{Disk, FILE_MODE, OsDisk, parent_of, read_file, write_fully};
use super::platform;

/// The mark that some editors put before UTF-8 text; it is not part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Decodes UTF-8 as the host's text decoder does: a leading byte order mark is dropped, invalid
/// bytes become U+FFFD, one for each maximal part of a character.
pub fn decode(mut bytes: Vec<u8>) -> String {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Whether the path leads to anything. Fails when that cannot be told (no permission, a file in
/// place of a directory).
pub fn exists(path: &Path) -> Result<bool> {
    match OsDisk.stat(path) {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The whole file, decoded.
pub fn read(path: &Path) -> Result<String> {
    read_file(path).map(decode)
}

/// At most the first `max_bytes` bytes of the file, decoded.
pub fn read_prefix(path: &Path, max_bytes: u64) -> Result<String> {
    let mut bytes = Vec::new();
    File::open(path)
        .during("open", path)?
        .take(max_bytes)
        .read_to_end(&mut bytes)
        .during("read", path)?;
    Ok(decode(bytes))
}

/// Replaces the content of a file in place, or creates it.
pub fn write(path: &Path, content: &str) -> Result<()> {
    TextWriter::open(path, OpenMode::Truncate)?.write(content)
}

/// Like [`write`], creating missing directories first.
pub fn write_with_dirs(path: &Path, content: &str) -> Result<()> {
    OsDisk.create_dirs(parent_of(path))?;
    write(path, content)
}

/// Renames. A missing source or target directory counts as success: the callers clean up with it.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    match OsDisk.rename(from, to) {
        Err(error) if error.is_not_found() => Ok(()),
        outcome => outcome,
    }
}

/// How a [`TextWriter`] treats what is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Every write goes to the end.
    Append,
    /// The file is emptied when it is opened.
    Truncate,
}

/// An open file that text is written to. Clones share the descriptor; it is closed with the last.
#[derive(Clone)]
pub struct TextWriter {
    file: Arc<File>,
    path: PathBuf,
}

impl TextWriter {
    /// Opens, or creates with mode 0600. Missing directories are an error.
    pub fn open(path: &Path, mode: OpenMode) -> Result<Self> {
        let mut options = OpenOptions::new();
        match mode {
            OpenMode::Append => options.append(true),
            OpenMode::Truncate => options.write(true).truncate(true),
        };
        platform::set_creation_mode(&mut options, FILE_MODE);
        let file = options.create(true).open(path).during("open", path)?;
        Ok(Self {
            file: Arc::new(file),
            path: path.to_path_buf(),
        })
    }

    /// Writes all of the text. After a failure a part of it may be in the file.
    pub fn write(&self, text: &str) -> Result<()> {
        let mut file = &*self.file;
        Ok(write_fully(&self.path, text.as_bytes(), |rest, _| {
            file.write(rest)
        })?)
    }

    /// Makes what was written durable (`fsync`).
    pub fn sync(&self) -> Result<()> {
        self.file.sync_all().during("fsync", &self.path)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn decoding_is_the_hosts() {
        for (bytes, text) in [
            (&b"plain"[..], "plain"),
            (b"\xEF\xBB\xBFmarked", "marked"),
            (b"\xEF\xBB\xBF\xEF\xBB\xBFtwice", "\u{FEFF}twice"),
            (b"a\xFFb", "a\u{FFFD}b"),
            (b"cut \xF0\x9F\x98", "cut \u{FFFD}"),
            (b"\xED\xA0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            (b"\xEF\xBB", "\u{FFFD}"),
            (b"", ""),
        ] {
            assert_eq!(decode(bytes.to_vec()), text);
        }
    }

    #[test]
    fn files_are_replaced_in_place_and_private() {
        let root = TempDir::new().unwrap();
        let path = root.path().join("a/b/file");
        assert_eq!(write(&path, "x").unwrap_err().code(), "ENOENT");
        write_with_dirs(&path, "long content").unwrap();
        write(&path, "short").unwrap();
        assert_eq!(read(&path).unwrap(), "short");
        assert_eq!(read_prefix(&path, 3).unwrap(), "sho");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn existence_is_only_denied_when_it_is_certain() {
        let root = TempDir::new().unwrap();
        let path = root.path().join("file");
        assert!(!exists(&path).unwrap());
        write(&path, "").unwrap();
        assert!(exists(&path).unwrap());
        assert_eq!(exists(&path.join("below")).unwrap_err().code(), "ENOTDIR");
    }

    #[test]
    fn renaming_forgives_only_what_is_missing() {
        let root = TempDir::new().unwrap();
        let at = |name: &str| root.path().join(name);
        write(&at("a"), "a").unwrap();
        rename(&at("missing"), &at("b")).unwrap();
        rename(&at("a"), &at("missing/b")).unwrap();
        assert_eq!(read(&at("a")).unwrap(), "a");
        fs::create_dir_all(at("dir/child")).unwrap();
        assert_eq!(rename(&at("a"), &at("dir")).unwrap_err().code(), "EISDIR");
        rename(&at("a"), &at("b")).unwrap();
        assert_eq!(read(&at("b")).unwrap(), "a");
    }

    #[test]
    fn writers_append_or_start_over() {
        let root = TempDir::new().unwrap();
        let path = root.path().join("file");
        write(&path, "old\n").unwrap();
        let writer = TextWriter::open(&path, OpenMode::Append).unwrap();
        writer.write("one\n").unwrap();
        write(&path, "").unwrap();
        writer.write("two\n").unwrap();
        writer.sync().unwrap();
        assert_eq!(read(&path).unwrap(), "two\n");
        TextWriter::open(&path, OpenMode::Truncate).unwrap();
        assert_eq!(read(&path).unwrap(), "");
    }

    #[test]
    fn a_full_device_is_reported() {
        let writer = TextWriter::open(Path::new("/dev/full"), OpenMode::Append).unwrap();
        let error = writer.write("x").unwrap_err();
        assert_eq!((error.code(), error.syscall()), ("ENOSPC", Some("write")));
    }
}
