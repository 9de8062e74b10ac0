//! Reading many sessions step by step.
//!
//! The caller asks for so many files at a time and learns in between how far things are; it may
//! cancel at any moment. A scan with a query keeps the sessions that match it, without their texts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cache::Cache;
use super::describe::Said;
use super::dirs::Environment;
use super::files::session_files;
use super::fuzzy::Query;
use super::list::{Listed, Listing, Reader, find_all};
use super::project::Project;
use super::row::Entry;
use super::search::search_text;
use crate::parallel::map_parallel_with;
use crate::{Error, Result};

/// Where to look.
pub enum Scope {
    /// In one directory, for the sessions of a project. A missing directory holds none, one that
    /// cannot be read is an error.
    Folder {
        /// Decides what paths mean.
        environment: Environment,
        /// The project.
        cwd: String,
        /// The directory.
        dir: String,
    },
    /// In the directories where all projects keep their sessions, and below them.
    All(Environment),
    /// In some directories and below them.
    Roots(Vec<PathBuf>),
}

/// Sessions being read.
pub struct Scan {
    scope: Scope,
    query: Option<Query>,
    cache: Arc<Cache>,
    cancelled: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Files that were not read yet, in reverse.
    waiting: Vec<PathBuf>,
    /// Number of files that were read.
    done: usize,
    project: Option<Project>,
    found: Vec<(Listed, f64)>,
    failures: Vec<Error>,
}

impl Scan {
    /// Starts a scan. Nothing is read yet. Files that the cache knows need not be read, except for a
    /// query.
    pub fn new(scope: Scope, query: Option<Query>, cache: Arc<Cache>) -> Self {
        Self {
            scope,
            query: query.filter(|query| !query.is_blank()),
            cache,
            cancelled: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Finds the files; gives how many there are.
    pub fn find(&self) -> Result<usize> {
        let mut failures = Vec::new();
        let (mut files, project) = match &self.scope {
            Scope::Folder {
                environment,
                cwd,
                dir,
            } => {
                let project = Project::of(environment, cwd, dir)?;
                (session_files(dir.as_ref())?, project)
            }
            Scope::All(environment) => (
                find_all(&environment.session_roots()?, &mut failures)?,
                None,
            ),
            Scope::Roots(roots) => (find_all(roots, &mut failures)?, None),
        };
        files.reverse();
        let count = files.len();
        *self.state() = State {
            waiting: files,
            project,
            failures,
            ..State::default()
        };
        Ok(count)
    }

    /// Reads the next `count` files, in parallel; gives how many were read so far. Returns soon after
    /// the scan is cancelled.
    pub fn read(&self, count: usize) -> usize {
        let files = {
            let mut state = self.state();
            let rest = state.waiting.len().saturating_sub(count);
            state.waiting.split_off(rest)
        };
        let outcomes = map_parallel_with(
            &files,
            || Reader::new(&self.cancelled),
            |reader, path| self.read_file(reader, path),
        );
        let mut state = self.state();
        for outcome in outcomes {
            state.take_in(outcome);
        }
        state.done += files.len();
        state.done
    }

    fn read_file(&self, reader: &mut Reader<'_>, path: &Path) -> Result<Option<(Listed, f64)>> {
        if self.is_cancelled() {
            return Ok(None);
        }
        let Some(query) = &self.query else {
            let session = reader.entry(path, &self.cache)?;
            return Ok(session.map(|session| (session, 0.0)));
        };
        let mut said = Said::default();
        let seen = reader.describe(path, Some(&mut said))?;
        let Some(description) = seen.description else {
            return Ok(None);
        };
        let score = query.score(&search_text(path, &description, &said));
        Ok(score.map(|score| {
            let entry = Entry::new(path, seen.version.modified, &description);
            let session = Listed {
                path: path.to_path_buf(),
                version: seen.version,
                entry: Arc::new(entry),
            };
            (session, score)
        }))
    }

    /// Makes reading end, now and from now on.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`Scan::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// What was found, the first `limit` sessions of it: best match first, newest first among equally
    /// good ones. Scores come in the same order as the sessions. Empties the scan.
    pub fn take(&self, limit: usize) -> (Vec<f64>, Listing) {
        let State {
            mut found,
            failures,
            ..
        } = std::mem::take(&mut *self.state());
        found.sort_by(|(left, left_score), (right, right_score)| {
            left_score
                .total_cmp(right_score)
                .then_with(|| Listed::newest_first(left, right))
        });
        found.truncate(limit);
        let (sessions, scores) = found.into_iter().unzip();
        let listing = Listing { sessions, failures };
        (scores, listing)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_in(&mut self, outcome: Result<Option<(Listed, f64)>>) {
        match outcome {
            Ok(Some((session, score))) if self.owns(&session) => {
                self.found.push((session, score));
            }
            Ok(_) => {}
            // Deleted since the directory was read.
            Err(error) if error.is_not_found() => {}
            Err(error) => self.failures.push(error),
        }
    }

    fn owns(&self, session: &Listed) -> bool {
        let project = self.project.as_ref();
        project.is_none_or(|project| project.owns(session.entry.cwd.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(dir: &Path, id: &str, title: &str, text: &str) {
        let header = format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"t","cwd":"/w","title":"{title}"}}"#
        );
        let message =
            format!(r#"{{"type":"message","message":{{"role":"user","content":"{text}"}}}}"#);
        fs::write(
            dir.join(format!("{id}.jsonl")),
            [header, message].join("\n"),
        )
        .unwrap();
    }

    fn searched(dir: &Path, query: &str, limit: usize) -> Vec<String> {
        let query = Query::new(query.as_bytes());
        let scope = Scope::Roots(vec![dir.to_path_buf()]);
        let scan = Scan::new(scope, Some(query), Arc::default());
        let total = scan.find().unwrap();
        let mut done = 0;
        while done < total {
            let now = scan.read(2);
            assert!(now > done && now <= total);
            done = now;
        }
        let (scores, listing) = scan.take(limit);
        assert!(scores.is_sorted());
        let name = |it: &Listed| it.path.file_stem().unwrap().to_string_lossy().into_owned();
        listing.sessions.iter().map(name).collect()
    }

    #[test]
    fn the_best_match_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "one", "nothing", "far behind stands a zebra");
        put(dir.path(), "two", "zebra", "x");
        put(dir.path(), "three", "other", "x");
        assert_eq!(searched(dir.path(), "ZEBRA", 9), ["two", "one"]);
        assert_eq!(searched(dir.path(), "ZEBRA", 1), ["two"]);
        assert_eq!(searched(dir.path(), "zebra behind", 9), ["one"]);
        assert_eq!(searched(dir.path(), " ", 9).len(), 3);
        // Not a letter that the name of the temporary directory may have.
        assert_eq!(searched(dir.path(), "§", 9), [] as [&str; 0]);
    }

    #[test]
    fn a_cancelled_scan_reads_nothing() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "one", "t", "x");
        put(dir.path(), "two", "t", "x");
        let scope = Scope::Roots(vec![dir.path().to_path_buf()]);
        let scan = Scan::new(scope, None, Arc::default());
        assert_eq!(scan.find().unwrap(), 2);
        assert_eq!(scan.read(1), 1);
        scan.cancel();
        // It would be listed as a failure if it were opened.
        fs::remove_file(dir.path().join("one.jsonl")).unwrap();
        fs::remove_file(dir.path().join("two.jsonl")).unwrap();
        fs::create_dir(dir.path().join("one.jsonl")).unwrap();
        fs::create_dir(dir.path().join("two.jsonl")).unwrap();
        scan.read(1);
        let (_, listing) = scan.take(9);
        assert_eq!((listing.sessions.len(), listing.failures.len()), (1, 0));
        let cancelled = AtomicBool::new(true);
        let file = dir.path().join("three.jsonl");
        fs::write(&file, "text").unwrap();
        assert!(Reader::new(&cancelled).describe(&file, None).is_err());
    }
}
