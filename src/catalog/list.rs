//! Listing sessions with what a picker shows of them.
//!
//! A description depends on nothing but the file's content, so whoever wants to keep descriptions
//! may do so by path, inode, size and modification time, around [`describe_file`]. Many files are
//! read by a [`Scan`](super::scan::Scan).

use std::cmp::Ordering;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{self, AtomicBool};

use super::describe::{Description, describe};
use super::encode::same_directory;
use super::files::{open_regular, session_files_below};
use super::stamp::{Stamp, newest_first};
use crate::error::IoContext;
use crate::{Error, Result};

/// A session in a listing.
#[derive(Debug)]
pub struct Listed {
    /// Its file.
    pub path: PathBuf,
    /// When it was last modified.
    pub modified: Stamp,
    /// What it says about itself.
    pub description: Description,
}

impl Listed {
    /// The order of listings.
    pub fn newest_first(left: &Self, right: &Self) -> Ordering {
        newest_first(left.modified, &left.path, right.modified, &right.path)
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

/// Reads one session file. `None` when it is no session. Stops with an error soon after `cancelled`
/// is set.
pub fn describe_file(path: &Path, cancelled: &AtomicBool) -> Result<Option<Listed>> {
    let file = open_regular(path)?;
    // Taken before reading: what is read may be newer than its time, but never older.
    let metadata = file.metadata().during("fstat", path)?;
    let source = Cancellable {
        source: &file,
        cancelled,
    };
    let description = describe(source, metadata.len()).during("read", path)?;
    Ok(description.map(|description| Listed {
        path: path.to_path_buf(),
        modified: Stamp::of(&metadata),
        description,
    }))
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
        let scan = Scan::new(scope, None);
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
        assert_eq!(listing.sessions[0].modified.millis(), 999_995_000.0);
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
