//! Temporary files that a process left behind when it was killed.
//!
//! [`AtomicFile`](super::atomic::AtomicFile) writes to `.<base>.<suffix>.tmp` and removes that name
//! when it fails, but not when its process ends. Nobody asks for such a file again. It is removed
//! when it is older than any write can take, and only if its name cannot be anybody else's: the base is
//! the name of a session, of a copy of a session's old bytes, or of a blob, the suffix sixteen hex digits.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::blob::is_hash;
use super::disk::Disk;

/// How long a temporary file may still be in use.
pub const LONGEST_USE: Duration = Duration::from_secs(24 * 60 * 60);
/// Hex digits of the suffix.
const SUFFIX_DIGITS: usize = 16;

/// Removes what was left behind in a directory; gives the number of files. `now` is in milliseconds
/// since 1970. Blocks for reading the directory. Best effort: what cannot be looked at or removed stays.
pub fn remove_old(disk: &dyn Disk, dir: &Path, now: f64) -> usize {
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    let ours = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        // Of links, this is about the link itself.
        .filter(|entry| entry.metadata().is_ok_and(|it| is_old(&it, now)));
    ours.filter(|entry| disk.remove_file(&entry.path()).is_ok())
        .count()
}

/// Whether only we give a file this name.
fn is_ours(name: &str) -> bool {
    let inner = name
        .strip_prefix('.')
        .and_then(|it| it.strip_suffix(".tmp"));
    let Some((base, suffix)) = inner.and_then(|it| it.rsplit_once('.')) else {
        return false;
    };
    let digits = suffix.bytes();
    let is_suffix = suffix.len() == SUFFIX_DIGITS
        && digits
            .into_iter()
            .all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    let is_session = base.len() > ".jsonl".len() && base.ends_with(".jsonl");
    let is_copy = base.contains(".jsonl.bak-") || base.contains(".jsonl.invalid-");
    is_suffix && (is_session || is_copy || is_hash(base))
}

fn is_old(metadata: &fs::Metadata, now: f64) -> bool {
    let modified = metadata.modified().ok();
    let age = modified
        .and_then(|it| it.duration_since(UNIX_EPOCH).ok())
        .map(|it| now - it.as_secs_f64() * 1000.0);
    metadata.is_file() && age.is_some_and(|it| it > LONGEST_USE.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;
    use crate::storage::disk::OsDisk;

    const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn make(dir: &Path, name: &str, age: Duration, now: SystemTime) {
        let file = File::create(dir.join(name)).unwrap();
        file.set_modified(now - age).unwrap();
    }

    fn millis(time: SystemTime) -> f64 {
        time.duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1000.0
    }

    #[test]
    fn only_old_files_with_our_names_go() {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let (young, old) = (LONGEST_USE - Duration::from_secs(60), LONGEST_USE * 2);
        let hash = format!(".{HASH}.0123456789abcdef.tmp");
        let ours = [
            ".s.jsonl.0123456789abcdef.tmp",
            ".s.jsonl.bak-1.0123456789abcdef.tmp",
            ".s.jsonl.invalid-1.0123456789abcdef.tmp",
            hash.as_str(),
        ];
        let others = [
            "s.jsonl",
            "s.jsonl.0123456789abcdef.tmp",
            ".s.jsonl.0123456789abcdef",
            ".s.jsonl.0123456789ABCDEF.tmp",
            ".s.jsonl.0123456789abcde.tmp",
            ".s.jsonl.x0123456789abcdef.tmp",
            ".s.jsonl.tmp",
            ".jsonl.0123456789abcdef.tmp",
            ".notes.txt.0123456789abcdef.tmp",
            ".0123456789abcdef.tmp",
            ".tmp",
            HASH,
        ];
        for name in ours.iter().chain(&others) {
            make(dir.path(), name, old, now);
        }
        make(dir.path(), ".t.jsonl.0123456789abcdef.tmp", young, now);
        fs::create_dir(dir.path().join(".d.jsonl.0123456789abcdef.tmp")).unwrap();
        let mut expected: Vec<_> = others.iter().map(|it| (*it).to_owned()).collect();
        expected.push(".t.jsonl.0123456789abcdef.tmp".to_owned());
        expected.push(".d.jsonl.0123456789abcdef.tmp".to_owned());
        expected.sort();
        // The directory is young; it must stay however late it is.
        let much_later = now + LONGEST_USE / 2;
        assert_eq!(remove_old(&OsDisk, dir.path(), millis(now)), ours.len());
        assert_eq!(names(dir.path()), expected);
        assert_eq!(remove_old(&OsDisk, dir.path(), millis(much_later)), 1);
        let later = now + LONGEST_USE * 2;
        assert_eq!(remove_old(&OsDisk, dir.path(), millis(later)), 0);
        assert!(names(dir.path()).contains(&".d.jsonl.0123456789abcdef.tmp".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        make(dir.path(), "s.jsonl", LONGEST_USE * 2, now);
        let link = dir.path().join(".s.jsonl.0123456789abcdef.tmp");
        std::os::unix::fs::symlink("s.jsonl", &link).unwrap();
        let later = now + LONGEST_USE * 2;
        assert_eq!(remove_old(&OsDisk, dir.path(), millis(later)), 0);
        assert_eq!(names(dir.path()).len(), 2);
    }

    #[test]
    fn a_directory_that_cannot_be_read_is_no_failure() {
        assert_eq!(remove_old(&OsDisk, Path::new("/nowhere"), 0.0), 0);
    }

    #[test]
    fn what_a_killed_writer_leaves_is_recognised() {
        use crate::storage::atomic::AtomicFile;
        use std::sync::Arc;
        for name in ["s.jsonl", "s.jsonl.bak-1", HASH] {
            let dir = tempfile::tempdir().unwrap();
            let file = AtomicFile::create(Arc::new(OsDisk), &dir.path().join(name)).unwrap();
            let left = names(dir.path());
            assert!(left.iter().all(|it| is_ours(it)), "{left:?}");
            drop(file);
        }
    }
}
