//! Finding session files in directories and opening them without ever waiting for a pipe.

use std::collections::HashSet;
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use super::lexical::normalize;
use crate::error::IoContext;
pub use crate::storage::disk::open_regular;
use crate::{Error, Result};

const SUFFIX: &str = ".jsonl";

/// Base name of a session file: no hidden name, `.jsonl` at the end.
pub fn is_session_name(name: &str) -> bool {
    name.ends_with(SUFFIX) && !name.starts_with('.')
}

/// The name without `.jsonl`, or the whole name.
pub fn stem(name: &str) -> &str {
    name.strip_suffix(SUFFIX).unwrap_or(name)
}

/// Tidy paths of the session files of one directory, in the order of the directory: regular files
/// only, links are not followed. What does not exist or is no directory holds none; a directory that
/// cannot be read is an error.
pub fn session_files(dir: &Path) -> Result<Vec<PathBuf>> {
    // What makes one path tidy makes all of them tidy: they differ in their last name only.
    let tidy = normalize(&dir.join("name"));
    let dir_of_all = tidy.parent().unwrap_or(dir);
    Ok(entries(dir)?
        .iter()
        .filter(|entry| is_session_file(entry))
        .map(|entry| dir_of_all.join(entry.file_name()))
        .collect())
}

/// Paths of the session files in `root` and the directories below it. Leaves out hidden directories
/// and those that belong to a session (`x/` beside `x.jsonl`: artifacts and transcripts of
/// subagents). A directory below `root` that cannot be read goes to `failures`.
pub fn session_files_below(root: &Path, failures: &mut Vec<Error>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut pending = visit(entries(root)?, &mut files);
    while let Some(dir) = pending.pop() {
        match entries(&dir) {
            Ok(entries) => pending.extend(visit(entries, &mut files)),
            Err(error) => failures.push(error),
        }
    }
    Ok(files)
}

/// Adds the session files among the entries of one directory and gives the directories to go on
/// with.
fn visit(entries: Vec<DirEntry>, files: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    let (dirs, others): (Vec<_>, Vec<_>) = entries
        .into_iter()
        .partition(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let sessions = others.iter().map(name).filter(|name| is_session_name(name));
    let owners: HashSet<String> = sessions.map(|name| stem(&name).to_owned()).collect();
    files.extend(
        others
            .iter()
            .filter(|e| is_session_file(e))
            .map(DirEntry::path),
    );
    dirs.iter()
        .filter(|dir| !name(dir).starts_with('.') && !owners.contains(&name(dir)))
        .map(DirEntry::path)
        .collect()
}

/// The entries of a directory; those that vanish while reading are left out.
pub(super) fn entries(dir: &Path) -> Result<Vec<DirEntry>> {
    match std::fs::read_dir(dir) {
        Ok(entries) => entries
            .collect::<io::Result<Vec<_>>>()
            .during("scandir", dir),
        Err(error) if is_no_directory(&error) => Ok(Vec::new()),
        Err(error) => Err(Error::io("scandir", dir, error)),
    }
}

fn is_no_directory(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn is_session_file(entry: &DirEntry) -> bool {
    is_session_name(&name(entry)) && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// The entry's name as text.
pub(super) fn name(entry: &DirEntry) -> String {
    entry.file_name().to_string_lossy().into_owned()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn names(root: &Path, files: Vec<PathBuf>) -> Vec<String> {
        let mut names: Vec<_> = files
            .iter()
            .map(|file| {
                file.strip_prefix(root)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    fn make_pipe(path: &Path) {
        let status = std::process::Command::new("mkfifo").arg(path).status();
        assert!(status.unwrap().success());
    }

    #[test]
    fn only_regular_visible_files_are_sessions() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for name in [
            "a.jsonl",
            ".hidden.jsonl",
            ".jsonl",
            "b.json",
            "c.JSONL",
            "d.jsonl.bak",
        ] {
            fs::write(root.join(name), "").unwrap();
        }
        fs::create_dir(root.join("dir.jsonl")).unwrap();
        symlink(root.join("a.jsonl"), root.join("link.jsonl")).unwrap();
        make_pipe(&root.join("pipe.jsonl"));
        assert_eq!(names(root, session_files(root).unwrap()), ["a.jsonl"]);
        let untidy = root.join("dir.jsonl/..");
        assert_eq!(session_files(&untidy).unwrap(), [root.join("a.jsonl")]);
    }

    #[test]
    fn nothing_is_in_a_directory_that_is_none() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("f");
        fs::write(&file, "").unwrap();
        assert!(
            session_files(&root.path().join("missing"))
                .unwrap()
                .is_empty()
        );
        assert!(session_files(&file).unwrap().is_empty());
    }

    #[test]
    fn all_levels_are_searched_except_directories_of_sessions() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for dir in ["p/s", "p/t/u", "p/.hidden", "p/orphan"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        for file in [
            "top.jsonl",
            "p/s.jsonl",
            "p/s/Task.jsonl",
            "p/t/deep.jsonl",
            "p/t/u/deeper.jsonl",
            "p/.hidden/x.jsonl",
            "p/orphan/y.jsonl",
        ] {
            fs::write(root.join(file), "").unwrap();
        }
        symlink(root.join("p"), root.join("q")).unwrap();
        let mut failures = Vec::new();
        assert_eq!(
            names(root, session_files_below(root, &mut failures).unwrap()),
            [
                "p/orphan/y.jsonl",
                "p/s.jsonl",
                "p/t/deep.jsonl",
                "p/t/u/deeper.jsonl",
                "top.jsonl"
            ]
        );
        assert!(failures.is_empty());
    }

    #[test]
    fn pipes_are_refused_without_waiting() {
        let root = tempfile::tempdir().unwrap();
        let pipe = root.path().join("pipe");
        make_pipe(&pipe);
        assert_eq!(open_regular(&pipe).unwrap_err().code(), "EINVAL");
        assert_eq!(open_regular(root.path()).unwrap_err().code(), "EISDIR");
        assert!(
            open_regular(&root.path().join("missing"))
                .unwrap_err()
                .is_not_found()
        );
    }
}
