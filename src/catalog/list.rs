//! Listing sessions with what a picker shows of them, and reading what was said in them later.
//!
//! A listing keeps no texts: [`said_in`] and [`first_message_of`] read them from the file when
//! somebody asks for them, up to where it ended when it was listed. Many files are read by a
//! [`Scan`](super::scan::Scan).

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Read, Take};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};
use std::time::SystemTime;

use super::cache::Cache;
use super::describe::{Description, Said, describe, first_message};
use super::encode::same_directory;
use super::files::{open_regular, session_files_below};
use super::row::Entry;
use super::stamp::{Version, newest_first};
use crate::error::IoContext;
use crate::journal::lines::Lines;
use crate::{Error, Result};

/// Bytes that are read at once: few enough to stay in the processor's cache until they are looked at.
const BUFFER: usize = 256 << 10;

/// A session in a listing.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its file.
    pub path: PathBuf,
    /// Which version of the file was read.
    pub version: Version,
    /// What is shown of it.
    pub entry: Arc<Entry>,
}

impl Listed {
    /// The order of listings.
    pub fn newest_first(left: &Self, right: &Self) -> Ordering {
        newest_first(
            left.version.modified,
            &left.path,
            right.version.modified,
            &right.path,
        )
    }
}

/// The sessions found and what could not be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions.
    pub sessions: Vec<Listed>,
    /// Files and sub-directories that could not be read. They do not keep the others from being
    /// listed.
    pub failures: Vec<Error>,
}

/// The session files in several directories and all directories below them; see
/// [`session_files_below`].
pub fn find_all(roots: &[PathBuf], failures: &mut Vec<Error>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (at, root) in roots.iter().enumerate() {
        let seen = roots.get(..at).unwrap_or_default();
        if !seen.iter().any(|other| same_directory(other, root)) {
            files.extend(session_files_below(root, failures)?);
        }
    }
    Ok(files)
}

/// Reads session files one after the other, into the same buffer.
pub struct Reader<'a> {
    cancelled: &'a AtomicBool,
    buffer: Vec<u8>,
}

/// What a file says.
pub struct Seen {
    /// Which version of it was read.
    pub version: Version,
    /// When it was looked at, before it was read.
    pub at: SystemTime,
    /// What it says about itself; `None` when it is no session.
    pub description: Option<Description>,
}

impl<'a> Reader<'a> {
    /// Reading ends with an error soon after `cancelled` is set.
    pub fn new(cancelled: &'a AtomicBool) -> Self {
        Self {
            cancelled,
            buffer: Vec::new(),
        }
    }

    /// What is shown of a session, from the cache if that knows it. `None` when it is no session.
    pub fn entry(&mut self, path: &Path, cache: &Cache) -> Result<Option<Listed>> {
        let listed = |version, entry| Listed {
            path: path.to_path_buf(),
            version,
            entry,
        };
        // What cannot be looked at is an error when it is opened.
        if cache.has(path)
            && let Ok(metadata) = std::fs::metadata(path)
            && let version = Version::of(&metadata)
            && let Some(known) = cache.get(path, &version)
        {
            return Ok(known.map(|entry| listed(version, entry)));
        }
        let seen = self.describe(path, None)?;
        let modified = seen.version.modified;
        let entry = seen
            .description
            .map(|description| Arc::new(Entry::new(path, modified, &description)));
        cache.put(path, seen.version, seen.at, entry.clone());
        Ok(entry.map(|entry| listed(seen.version, entry)))
    }

    /// What a session says; `said` gets what was said in it, if it is wanted.
    pub fn describe(&mut self, path: &Path, said: Option<&mut Said>) -> Result<Seen> {
        let file = open_regular(path)?;
        // Taken before reading: what is read may be newer than its time, but never older.
        let at = SystemTime::now();
        let metadata = file.metadata().during("fstat", path)?;
        let source = Cancellable {
            source: (&file).take(metadata.len()),
            cancelled: self.cancelled,
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(buffer.len().max(BUFFER), 0);
        let mut lines = Lines::into_given(source, buffer);
        let description = describe(&mut lines, said).during("read", path);
        self.buffer = lines.into_buffer();
        Ok(Seen {
            version: Version::of(&metadata),
            at,
            description: description?,
        })
    }
}

/// All texts of the user and the assistant in a session that was listed; see [`as_listed`].
pub fn said_in(path: &Path, version: &Version) -> Result<Said> {
    let mut said = Said::default();
    let (file, length) = as_listed(path, version)?;
    let mut lines = Lines::sized((&file).take(length), length);
    describe(&mut lines, Some(&mut said)).during("read", path)?;
    Ok(said)
}

/// The first text of the user in a session that was listed; see [`as_listed`].
pub fn first_message_of(path: &Path, version: &Version) -> Result<Option<Vec<u8>>> {
    let (file, length) = as_listed(path, version)?;
    let source: Take<&File> = (&file).take(length);
    first_message(&mut Lines::sized(source, length)).during("read", path)
}

/// Opens a file that was listed; gives how many bytes of it to read. If it is the same file, those
/// that it had then: sessions grow by appending. Another file in its place is read to its end.
fn as_listed(path: &Path, version: &Version) -> Result<(File, u64)> {
    let file = open_regular(path)?;
    let now = Version::of(&file.metadata().during("fstat", path)?);
    let length = if now.identity == version.identity {
        now.len.min(version.len)
    } else {
        now.len
    };
    Ok((file, length))
}

/// A source that fails once it is cancelled.
struct Cancellable<'a, R> {
    source: R,
    cancelled: &'a AtomicBool,
}

impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.load(atomic::Ordering::Relaxed) {
            return Err(io::Error::other("cancelled"));
        }
        self.source.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Environment;
    use crate::catalog::scan::{Scan, Scope};
    use std::fs;
    use std::time::{Duration, SystemTime};

    fn scanned(scope: Scope) -> Listing {
        let scan = Scan::new(scope, None, Arc::default());
        scan.find().unwrap();
        scan.read(usize::MAX);
        scan.take(usize::MAX).1
    }

    fn list(dir: &Path) -> Listing {
        list_of(&Environment::default(), "/nowhere", dir)
    }

    fn list_of(environment: &Environment, cwd: &str, dir: &Path) -> Listing {
        scanned(Scope::Folder {
            environment: environment.clone(),
            cwd: cwd.to_owned(),
            dir: dir.to_string_lossy().into_owned(),
        })
    }

    fn session(id: &str, cwd: &str) -> String {
        format!(r#"{{"type":"session","version":3,"id":"{id}","timestamp":"t","cwd":"{cwd}"}}"#)
    }

    fn put(path: &Path, text: &str, age: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }

    fn names(listing: &Listing) -> Vec<String> {
        let name = |it: &Listed| it.path.file_stem().unwrap().to_string_lossy().into_owned();
        listing.sessions.iter().map(name).collect()
    }

    #[test]
    fn newest_come_first_and_equals_are_ordered_by_name() {
        let root = tempfile::tempdir().unwrap();
        for (name, age) in [("b", 5), ("a", 9), ("d", 5), ("c", 5)] {
            put(
                &root.path().join(format!("{name}.jsonl")),
                &session(name, "/w"),
                age,
            );
        }
        put(&root.path().join("e.jsonl"), "no session", 1);
        let listing = list(root.path());
        assert_eq!(names(&listing), ["d", "c", "b", "a"]);
        assert_eq!(listing.sessions[0].version.modified.millis(), 999_995_000.0);
        assert!(listing.failures.is_empty());
        assert!(list(&root.path().join("missing")).sessions.is_empty());
    }

    #[test]
    fn sessions_of_a_namesake_project_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        let environment = Environment {
            home: "/nowhere/u".into(),
            temp: "/nowhere/t".into(),
            ..Default::default()
        };
        let dir = root.path().join("--nowhere-a-b-c--");
        for (name, cwd) in [
            ("ours", "/nowhere/a-b/c"),
            ("spelled", "/nowhere/x/../a-b/c/"),
            ("theirs", "/nowhere/a/b-c"),
            ("moved", "/nowhere/elsewhere"),
            ("relative", "a-b/c"),
        ] {
            put(&dir.join(format!("{name}.jsonl")), &session(name, cwd), 1);
        }
        put(
            &dir.join("old.jsonl"),
            r#"{"type":"session","id":"old"}"#,
            1,
        );
        let of = |cwd: &str, dir: &Path| names(&list_of(&environment, cwd, dir));
        assert_eq!(
            of("/nowhere/a-b/c", &dir),
            ["spelled", "relative", "ours", "old", "moved"]
        );
        assert_eq!(
            of("/nowhere/a/b-c", &dir),
            ["theirs", "relative", "old", "moved"]
        );
        // A directory that the user chose holds whatever they put there.
        let chosen = root.path().join("chosen");
        fs::rename(&dir, &chosen).unwrap();
        assert_eq!(of("/nowhere/a/b-c", &chosen).len(), 6);
    }

    #[test]
    fn all_sessions_of_several_roots_without_transcripts() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("one"), root.path().join("two"));
        put(&one.join("p/a.jsonl"), &session("a", "/w"), 3);
        put(&one.join("p/a/Task.jsonl"), &session("task", "/w"), 1);
        put(&two.join("q/b.jsonl"), &session("b", "/w"), 2);
        let listing = scanned(Scope::Roots(vec![one.clone(), two.clone()]));
        assert_eq!(names(&listing), ["b", "a"]);
        let twice = scanned(Scope::Roots(vec![
            one.clone(),
            one.join("p/.."),
            root.path().join("none"),
        ]));
        assert_eq!(names(&twice), ["a"]);
    }

    #[test]
    fn a_version_that_is_known_is_not_read_again() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("s.jsonl");
        put(&path, &session("one", "/w"), 5);
        let never = AtomicBool::new(false);
        let row = |cache: &Cache| {
            let listed = Reader::new(&never).entry(&path, cache).unwrap();
            listed.map(|it| String::from_utf8(it.entry.row.to_vec()).unwrap())
        };
        // Everything counts as settled, so the cache knows the file from now on.
        let cache = Cache::new(1 << 20, Duration::ZERO);
        let first = row(&cache).unwrap();
        assert!(first.contains("\"one\""));
        // Reading would fail; the file is opened only when it has another version.
        let always = AtomicBool::new(true);
        let mut cancelled = Reader::new(&always);
        let known = cancelled.entry(&path, &cache).unwrap().unwrap();
        assert_eq!(&*known.entry.row, first.as_bytes());
        assert!(cancelled.entry(&path, &Cache::default()).is_err());
        // Another file of the same length and time.
        let other = root.path().join("other");
        put(&other, &session("two", "/w"), 5);
        fs::rename(&other, &path).unwrap();
        assert!(cancelled.entry(&path, &cache).is_err());
        assert!(row(&cache).unwrap().contains("\"two\""));
        // That it is no session is known, too.
        put(&path, "no session", 5);
        assert_eq!(row(&cache), None);
        assert!(cancelled.entry(&path, &cache).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        assert!(cancelled.entry(&path, &cache).unwrap_err().is_not_found());
    }

    #[test]
    fn many_sessions_are_listed() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..300 {
            let path = root.path().join(format!("{number:03}.jsonl"));
            put(&path, &session(&number.to_string(), "/w"), number);
        }
        let listing = list(root.path());
        let expected: Vec<_> = (0..300).map(|number| format!("{number:03}")).collect();
        assert_eq!(names(&listing), expected);
    }
}
