//! The directory of all logs: where they are, and reading them.
//!
//! ```text
//! <root>/<project>/<session>/session.jsonl.zstd     or session.jsonl
//! ```

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::failure::{self, because, corrupt};
use super::frame::{self, Decoder};
use super::header::{self, Header, quoted};
use super::log::StoredLog;
use super::names;
use super::scan::Vocabulary;
use crate::error::IoContext;
use crate::parallel::map_parallel;
use crate::storage::disk::{Disk, FileStat, OsDisk, read_file};
use crate::{Error, Result};

/// How logs are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Zstandard frames.
    Zstd,
    /// Plain JSONL.
    None,
}

impl Compression {
    fn suffix(self) -> &'static str {
        match self {
            Self::Zstd => ".jsonl.zstd",
            Self::None => ".jsonl",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::None => "none",
        }
    }

    fn file_name(self) -> String {
        format!("session{}", self.suffix())
    }

    fn other(self) -> Self {
        match self {
            Self::Zstd => Self::None,
            Self::None => Self::Zstd,
        }
    }
}

/// Set by somebody who does not want the result any more.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Makes work end soon.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Fails once it has been cancelled.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(failure::log(failure::ABORTED, "This operation was aborted"));
        }
        Ok(())
    }
}

/// A session in a list.
#[derive(Debug)]
pub struct Listed {
    /// Its header.
    pub header: Header,
    path: PathBuf,
}

/// All logs below one directory.
pub struct Store {
    pub(super) root: PathBuf,
    pub(super) compression: Compression,
    pub(super) packing: bool,
    pub(super) disk: Arc<dyn Disk>,
    /// Whether no file of the other encoding was found.
    checked: AtomicBool,
}

impl Store {
    /// A store in a directory, which need not exist. Fails if the directory cannot be read.
    pub fn open(
        root: PathBuf,
        compression: Compression,
        packing: bool,
        disk: Arc<dyn Disk>,
    ) -> Result<Self> {
        match fs::read_dir(&root) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("scandir", &root, error));
            }
            _ => {}
        }
        Ok(Self {
            root,
            compression,
            packing,
            disk,
            checked: AtomicBool::new(false),
        })
    }

    /// Where the log of a session is, or would be.
    pub fn locate(&self, header: &Header) -> Result<PathBuf> {
        let session = names::encode_segment(&header.id).map_err(failure::name)?;
        let mut path = self.root.join(header.project()?);
        path.push(session);
        path.push(self.compression.file_name());
        Ok(path)
    }

    /// Fails if there are files of the other encoding or layout. What was in order once is not looked
    /// at again.
    pub(super) fn check_root(&self) -> Result<()> {
        if self.checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        for project in self.projects()? {
            let sessions = self.sessions_of(&project)?;
            for checked in map_parallel(&sessions, |session| self.check_session(session)) {
                checked?;
            }
        }
        self.checked.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// The directories of projects. Links do not count.
    fn projects(&self) -> Result<Vec<PathBuf>> {
        directories(&self.root, |_| Ok(()))
    }

    /// The directories of the sessions of a project. Files of an older layout are an error.
    fn sessions_of(&self, project: &Path) -> Result<Vec<PathBuf>> {
        directories(project, |entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_log = name.ends_with(".jsonl") || name.ends_with(".jsonl.zstd");
            if is_log && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                return Err(flat_file(&entry.path()));
            }
            Ok(())
        })
    }

    /// Fails if a session directory holds a file of the other encoding.
    pub(super) fn check_session(&self, session: &Path) -> Result<()> {
        let other = self.compression.other();
        let path = session.join(other.file_name());
        if exists(&path)? {
            return Err(failure::log(
                failure::LAYOUT,
                format!(
                    "session artifact {} uses {}, but this backend is configured for compression {}; use a separate root or select the matching compression mode",
                    quoted(&path.to_string_lossy()),
                    other.suffix(),
                    quoted(self.compression.name()),
                ),
            ));
        }
        Ok(())
    }

    /// The log of a session, by its id in WTF-8.
    pub(super) fn find(&self, id: &[u8], cancel: &Cancel) -> Result<Option<PathBuf>> {
        let name = names::encode_segment(id).map_err(failure::name)?;
        let mut found = None;
        for project in self.projects()? {
            cancel.check()?;
            for suffix in [".jsonl.zstd", ".jsonl"] {
                let flat = project.join(format!("{name}{suffix}"));
                match fs::metadata(&flat) {
                    Ok(metadata) if metadata.is_file() => return Err(flat_file(&flat)),
                    Err(error) if !is_absence(&error) => {
                        return Err(Error::io("stat", &flat, error));
                    }
                    _ => {}
                }
            }
            let session = project.join(&name);
            self.check_session(&session)?;
            let path = session.join(self.compression.file_name());
            if exists(&path)? && found.replace(path).is_some() {
                return Err(duplicate(id));
            }
        }
        Ok(found)
    }

    /// The log of a session with everything that can be vouched for. `None` if there is no such
    /// session.
    pub fn read(
        &self,
        id: &[u8],
        vocabulary: Option<&Vocabulary>,
        cancel: &Cancel,
    ) -> Result<Option<StoredLog>> {
        cancel.check()?;
        self.check_root()?;
        let Some(path) = self.find(id, cancel)? else {
            return Ok(None);
        };
        let (bytes, revision) = read_consistently(&path, cancel)?;
        let log = StoredLog::decode(self.compression, bytes, &path, revision, vocabulary, cancel)?;
        if log.header.id != id {
            let [asked, found] = [id, &log.header.id].map(String::from_utf8_lossy);
            return Err(corrupt(format!(
                "corrupt session log \"{}\": requested id \"{asked}\" does not match header id \"{found}\"",
                path.display()
            )));
        }
        self.check_identity(&log.header, &path)?;
        Ok(Some(log))
    }

    /// Fails unless the log is where its header says that it belongs.
    fn check_identity(&self, header: &Header, path: &Path) -> Result<()> {
        let derived = self.locate(header).map_err(|error| {
            let path = path.display();
            let message =
                format!("corrupt session log \"{path}\": header id cannot name a storage path");
            because(corrupt(message), error)
        })?;
        if derived == path || same_file(&derived, path) {
            return Ok(());
        }
        Err(corrupt(format!(
            "corrupt session log \"{}\": header id \"{}\" and cwd identify \"{}\"",
            path.display(),
            String::from_utf8_lossy(&header.id),
            derived.display()
        )))
    }

    /// Identity and state of a session's log. `None` if there is no such session.
    pub fn revision(&self, id: &[u8], cancel: &Cancel) -> Result<Option<String>> {
        cancel.check()?;
        self.check_root()?;
        let Some(path) = self.find(id, cancel)? else {
            return Ok(None);
        };
        Ok(Some(revision(&OsDisk.stat(&path)?)))
    }

    /// Header and text of a session's log as it is stored. `None` if there is no such session.
    pub fn raw(&self, id: &[u8], cancel: &Cancel) -> Result<Option<(Header, Vec<u8>)>> {
        cancel.check()?;
        self.check_root()?;
        let Some(path) = self.find(id, cancel)? else {
            return Ok(None);
        };
        let (bytes, _) = read_consistently(&path, cancel)?;
        let text = match self.compression {
            Compression::None => bytes,
            Compression::Zstd => {
                let frames = frame::frames(&bytes)?;
                if frames.complete.is_empty() {
                    return Err(corrupt("empty or header-less Zstandard session log"));
                }
                super::log::decode_frames(&bytes, &frames.complete, cancel)?
            }
        };
        let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
        match header::parse_leniently(line)? {
            Some(header) if header.id == id => Ok(Some((header, text))),
            _ => Err(corrupt(format!(
                "corrupt session log: invalid header line in \"{}\"",
                path.display()
            ))),
        }
    }

    /// All sessions, in no order. Reads the headers only.
    pub fn list(&self, cancel: &Cancel) -> Result<Vec<Listed>> {
        cancel.check()?;
        self.check_root()?;
        let mut all = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for project in self.projects()? {
            let sessions = self.sessions_of(&project)?;
            let described = map_parallel(&sessions, |session| {
                cancel.check()?;
                self.describe(session)
            });
            for listed in described {
                let Some(listed) = listed? else { continue };
                if !seen.insert(listed.header.id.clone()) {
                    return Err(duplicate(&listed.header.id));
                }
                all.push(listed);
            }
        }
        Ok(all)
    }

    /// The revision of a session in a list; `None` if it has vanished.
    pub fn revision_of(&self, listed: &Listed) -> Result<Option<String>> {
        match OsDisk.stat(&listed.path) {
            Ok(stat) => Ok(Some(revision(&stat))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The session in a directory; `None` if there is nothing to be shown.
    fn describe(&self, session: &Path) -> Result<Option<Listed>> {
        self.check_session(session)?;
        let path = session.join(self.compression.file_name());
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(Error::io("open", &path, error)),
        };
        let line = match self.compression {
            Compression::None => first_line(file).during("read", &path)?,
            Compression::Zstd => first_frame(file, &path)?,
        };
        let Some(line) = line else { return Ok(None) };
        let Some(header) = header::parse_leniently(&line)? else {
            return Ok(None);
        };
        self.check_identity(&header, &path)?;
        Ok(Some(Listed { header, path }))
    }
}

/// The line that a raw log begins with; `None` if it has no end.
fn first_line(mut file: File) -> std::io::Result<Option<Vec<u8>>> {
    let mut read = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let count = file.read(&mut piece)?;
        let piece = piece.get(..count).unwrap_or_default();
        if let Some(at) = memchr::memchr(b'\n', piece) {
            read.extend_from_slice(piece.get(..at).unwrap_or_default());
            return Ok(Some(read));
        }
        if piece.is_empty() {
            return Ok(None);
        }
        read.extend_from_slice(piece);
    }
}

/// The line in the first frame of a log; `None` if the frame is not complete.
fn first_frame(mut file: File, path: &Path) -> Result<Option<Vec<u8>>> {
    let mut read = Vec::new();
    let mut piece = [0; 8192];
    loop {
        if let Some(end) = frame::frame_end(&read, 0)? {
            let mut text = Vec::new();
            let frame = read.get(..end).unwrap_or_default();
            Decoder::new()?.decode(frame, &mut text).map_err(|error| {
                let message = "corrupt Zstandard session log: header frame failed validation";
                because(corrupt(message), error)
            })?;
            super::log::check_header_frame(&text)?;
            text.pop();
            return Ok(Some(text));
        }
        let count = file.read(&mut piece).during("read", path)?;
        let piece = piece.get(..count).unwrap_or_default();
        if piece.is_empty() {
            return Ok(None);
        }
        read.extend_from_slice(piece);
    }
}

/// The directories in a directory, without links; none if it does not exist. `file` judges all other
/// entries.
fn directories(dir: &Path, file: impl Fn(&fs::DirEntry) -> Result<()>) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("scandir", dir, error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.during("scandir", dir)?;
        if entry.file_type().during("stat", entry.path())?.is_dir() {
            found.push(entry.path());
        } else {
            file(&entry)?;
        }
    }
    Ok(found)
}

/// A file of the layout before this one.
fn flat_file(path: &Path) -> Error {
    failure::log(
        failure::LAYOUT,
        format!(
            "session artifact {} uses the unsupported flat-file layout; use a separate root or move it into a project/session directory before loading",
            quoted(&path.to_string_lossy())
        ),
    )
}

fn duplicate(id: &[u8]) -> Error {
    failure::log(
        failure::DUPLICATE,
        format!(
            "duplicate JSONL session id \"{}\" appears in multiple project directories",
            String::from_utf8_lossy(id)
        ),
    )
}

/// Whether a path can be opened for reading. Other failures than absence are errors.
pub(super) fn exists(path: &Path) -> Result<bool> {
    match File::open(path) {
        Ok(_) => Ok(true),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(Error::io("open", path, error)),
    }
}

fn is_absence(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

/// Whether two paths lead to the same file, as on file systems that ignore case.
fn same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one.as_os_str() == OsStr::new(other.as_os_str()),
        _ => false,
    }
}

/// All bytes of a file that nobody changed meanwhile, and its revision.
fn read_consistently(path: &Path, cancel: &Cancel) -> Result<(Vec<u8>, String)> {
    let mut before = revision(&OsDisk.stat(path)?);
    loop {
        cancel.check()?;
        let bytes = read_file(path)?;
        let after = revision(&OsDisk.stat(path)?);
        if before == after {
            return Ok((bytes, after));
        }
        before = after;
    }
}

/// Identity and state of a file.
fn revision(stat: &FileStat) -> String {
    let FileStat {
        identity,
        len,
        mtime_ns,
        ctime_ns,
        ..
    } = stat;
    let (dev, inode) = (identity.dev, identity.inode);
    format!("{dev}:{inode}:{len}:{mtime_ns}:{ctime_ns}")
}
