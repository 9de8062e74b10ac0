//! Remembers what files say, so that listing them again does not read them.
//!
//! What is remembered belongs to one version of a file (device, inode, length, both times) and never
//! changes; a wrong answer would need a change that leaves all of these as they are. Files that were
//! changed moments before they were read are not remembered, because the next change could carry the
//! same times. So the cache decides about speed only, and any number of threads may share one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::row::Entry;
use super::stamp::Version;

/// What is known of a file: an entry, or that it is no session.
pub type Known = Option<Arc<Entry>>;

/// Longer than any file system's clock stands still: two seconds for FAT.
const QUIET: Duration = Duration::from_secs(3);
/// Bytes that are remembered at most, in each of two generations.
const LIMIT: usize = 24 << 20;
/// What a remembered file takes beside its path and entry, roughly.
const OVERHEAD: usize = 160;

/// Entries by path.
pub struct Cache {
    generations: Mutex<Generations>,
    limit: usize,
    quiet: Duration,
}

/// What was used lately, and what was used before that. When the first is full it becomes the second,
/// and what nobody asked for meanwhile is gone.
#[derive(Default)]
struct Generations {
    young: HashMap<PathBuf, (Version, Known)>,
    young_bytes: usize,
    old: HashMap<PathBuf, (Version, Known)>,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(LIMIT, QUIET)
    }
}

impl Cache {
    /// A cache of twice `limit` bytes at most, for files that were left alone for `quiet` when they
    /// were read.
    pub fn new(limit: usize, quiet: Duration) -> Self {
        Self {
            generations: Mutex::default(),
            limit,
            quiet,
        }
    }

    /// Whether anything is known of a path; if not, its version need not be found out.
    pub fn has(&self, path: &Path) -> bool {
        let generations = self.generations();
        generations.young.contains_key(path) || generations.old.contains_key(path)
    }

    /// What is known of this version of a file.
    pub fn get(&self, path: &Path, version: &Version) -> Option<Known> {
        let mut generations = self.generations();
        if let Some((known, entry)) = generations.young.get(path) {
            return (known == version).then(|| entry.clone());
        }
        let (path, (known, entry)) = generations.old.remove_entry(path)?;
        if known != *version {
            return None;
        }
        self.insert(&mut generations, path, known, entry.clone());
        Some(entry)
    }

    /// Remembers a version that was looked at at the time `seen`, before it was read.
    pub fn put(&self, path: &Path, version: Version, seen: SystemTime, entry: Known) {
        if version.is_settled(seen, self.quiet) {
            let mut generations = self.generations();
            self.insert(&mut generations, path.to_path_buf(), version, entry);
        }
    }

    fn insert(&self, to: &mut Generations, path: PathBuf, version: Version, entry: Known) {
        let size = size_of_one(&path, &entry);
        if size > self.limit {
            return;
        }
        if to.young_bytes + size > self.limit {
            to.old = std::mem::take(&mut to.young);
            to.young_bytes = 0;
        }
        to.young_bytes += size;
        // What it replaces stays counted: that only makes the generation end sooner.
        to.young.insert(path, (version, entry));
    }

    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn size_of_one(path: &Path, entry: &Known) -> usize {
    let entry = entry.as_ref().map_or(0, |entry| entry.size());
    OVERHEAD + path.as_os_str().len() + entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entry(text: &str) -> Known {
        Some(Arc::new(Entry {
            row: text.as_bytes().into(),
            cwd: None,
        }))
    }

    fn version_of(path: &Path) -> Version {
        Version::of(&fs::metadata(path).unwrap())
    }

    fn file(dir: &Path, name: &str) -> (PathBuf, Version) {
        let path = dir.join(name);
        fs::write(&path, name).unwrap();
        let version = version_of(&path);
        (path, version)
    }

    fn row(known: Option<Known>) -> Option<String> {
        let entry = known??;
        Some(String::from_utf8(entry.row.to_vec()).unwrap())
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    #[test]
    fn only_the_same_version_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let (path, version) = file(dir.path(), "a");
        let cache = Cache::default();
        assert!(!cache.has(&path));
        cache.put(&path, version, later(), entry("1"));
        assert!(cache.has(&path));
        assert_eq!(row(cache.get(&path, &version)).unwrap(), "1");
        assert!(cache.get(&dir.path().join("b"), &version).is_none());
        let same_time = |path: &Path| {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(
                fs::metadata(dir.path().join("a"))
                    .unwrap()
                    .modified()
                    .unwrap(),
            )
            .unwrap();
        };
        // Another file of the same length and time of modification in its place.
        let (other, _) = file(dir.path(), "b");
        same_time(&other);
        fs::rename(&other, &path).unwrap();
        let replaced = version_of(&path);
        assert_eq!(
            (replaced.len, replaced.modified),
            (version.len, version.modified)
        );
        assert!(cache.get(&path, &replaced).is_none());
        cache.put(&path, replaced, later(), None);
        assert_eq!(cache.get(&path, &replaced), Some(None));
        assert!(cache.get(&path, &version).is_none());
    }

    #[test]
    fn what_changed_a_moment_ago_is_not_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let (path, version) = file(dir.path(), "a");
        let cache = Cache::default();
        cache.put(&path, version, SystemTime::now(), entry("1"));
        assert!(!cache.has(&path));
        // A time of modification far back is no proof.
        let handle = fs::File::options().write(true).open(&path).unwrap();
        handle.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        cache.put(&path, version_of(&path), SystemTime::now(), entry("1"));
        assert!(!cache.has(&path) || cfg!(not(unix)));
        // Nor is one to come.
        handle
            .set_modified(later() + Duration::from_secs(60))
            .unwrap();
        cache.put(&path, version_of(&path), later(), entry("1"));
        assert!(!cache.has(&path));
    }

    #[test]
    fn what_is_used_stays_when_room_runs_out() {
        let dir = tempfile::tempdir().unwrap();
        let (path, version) = file(dir.path(), "used");
        let text = "x".repeat(1000);
        let cache = Cache::new(20_000, Duration::ZERO);
        cache.put(&path, version, later(), entry("1"));
        for number in 0..500 {
            let other = dir.path().join(number.to_string());
            cache.put(&other, version, later(), entry(&text));
            assert!(row(cache.get(&path, &version)).is_some(), "{number}");
            let generations = cache.generations();
            assert!(generations.young.len() + generations.old.len() < 40);
        }
        assert!(!cache.has(&dir.path().join("0")));
        assert!(cache.has(&dir.path().join("499")));
        cache.put(&path, version, later(), entry(&"x".repeat(20_000)));
        assert_eq!(row(cache.get(&path, &version)).unwrap(), "1");
    }
}
