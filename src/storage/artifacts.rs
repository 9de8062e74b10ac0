//! Artifacts: long outputs of tools, kept as `<number>.<tool>.log` in a directory beside the
//! session file.
//!
//! A number belongs to one artifact only, whatever the tool: callers find artifacts by number.
//! Files are created exclusively, under a lock of the directory that other processes respect too.
//! Numbers whose file the caller will create later are remembered in [`Reservations`], which
//! everybody in the process shares.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use crate::Result;
use crate::error::IoContext;

use super::disk::{Disk, DiskFile, FILE_MODE, OsDisk};

/// Numbers above this are not counted on from: JavaScript could not tell them apart.
const LARGEST_NUMBER: u64 = (1 << 53) - 2;

/// The directory that holds a session's artifacts: the session file's path without `.jsonl`.
///
/// A path that does not end so, or whose name would become empty, `.` or `..` without it, gets
/// `.artifacts` appended instead: the directory is removed together with the session, so it must
/// never be one that others use.
pub fn artifacts_dir(session_file: &str) -> String {
    session_file
        .strip_suffix(".jsonl")
        .filter(|stem| names_something(stem))
        .map_or_else(|| format!("{session_file}.artifacts"), str::to_owned)
}

fn names_something(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    !matches!(name, "" | "." | "..")
}

/// Numbers handed out whose files do not exist yet, by directory.
#[derive(Debug, Default)]
pub struct Reservations(Mutex<BTreeMap<PathBuf, BTreeSet<u64>>>);

impl Reservations {
    /// Nobody reserved anything yet.
    pub const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, BTreeSet<u64>>> {
        // The sets are whole between any two statements, a panic elsewhere cannot harm them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A number with the name of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The number.
    pub id: u64,
    /// `<number>.<tool>.log`
    pub name: String,
}

/// A session's artifact directory. All methods block.
pub struct Artifacts<'r> {
    dir: PathBuf,
    reservations: &'r Reservations,
    disk: Arc<dyn Disk>,
}

impl<'r> Artifacts<'r> {
    /// Works in `dir`, which need not exist.
    pub fn new(dir: PathBuf, reservations: &'r Reservations) -> Self {
        Self::with_disk(dir, reservations, Arc::new(OsDisk))
    }

    /// Like [`new`](Artifacts::new), on another file system.
    pub fn with_disk(dir: PathBuf, reservations: &'r Reservations, disk: Arc<dyn Disk>) -> Self {
        Self {
            dir,
            reservations,
            disk,
        }
    }

    /// Creates the directory and gives the number after the largest `<number>.….log` in it.
    pub fn scan(&self) -> Result<u64> {
        if !self.dir.exists() {
            // What was reserved in a directory that is gone will not be used any more.
            self.reservations.lock().remove(&self.dir);
        }
        self.disk.create_dirs(&self.dir)?;
        let names = names_in(&self.dir).during("scandir", &self.dir)?;
        let largest = names.iter().filter_map(|name| log_number(name)).max();
        Ok(largest.map_or(0, |number| number + 1))
    }

    /// Reserves the first free number from `candidate` on. Nothing is created.
    pub fn reserve(&self, candidate: u64, tool: &str) -> Result<Artifact> {
        let mut reservations = self.reservations.lock();
        let reserved = reservations.entry(self.dir.clone()).or_default();
        let taken = self.taken();
        reserved.retain(|id| !taken.contains(id));
        let id = first_free(candidate, &taken, reserved);
        reserved.insert(id);
        Ok(Artifact::new(id, tool))
    }

    /// Writes a new artifact under the first free number from `candidate` on.
    pub fn save(&self, candidate: u64, tool: &str, content: &str) -> Result<Artifact> {
        self.disk.create_dirs(&self.dir)?;
        let (artifact, mut file) = self.create(candidate, tool)?;
        if let Err(failure) = file.write_all(content.as_bytes()) {
            // A part of an output must not pass for the whole.
            let _ = self.disk.remove_file(&self.dir.join(&artifact.name));
            return Err(failure.error);
        }
        Ok(artifact)
    }

    fn create(&self, candidate: u64, tool: &str) -> Result<(Artifact, Box<dyn DiskFile>)> {
        let mut reservations = self.reservations.lock();
        let reserved = reservations.entry(self.dir.clone()).or_default();
        let _lock = lock_directory(&self.dir);
        let taken = self.taken();
        let mut id = candidate;
        loop {
            id = first_free(id, &taken, reserved);
            let artifact = Artifact::new(id, tool);
            match self
                .disk
                .create_new(&self.dir.join(&artifact.name), FILE_MODE)
            {
                Ok(file) => return Ok((artifact, file)),
                // Only where directories cannot be locked.
                Err(error) if error.code() == "EEXIST" => id += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Numbers that any file or directory begins with; none when the directory cannot be read.
    fn taken(&self) -> BTreeSet<u64> {
        let names = names_in(&self.dir).unwrap_or_default();
        names.iter().filter_map(|name| number(name)).collect()
    }
}

impl Artifact {
    /// The tool's name becomes part of a file name: what would lead elsewhere is replaced.
    fn new(id: u64, tool: &str) -> Self {
        let tool = tool.replace(['/', '\\', '\0'], "_");
        Self {
            id,
            name: format!("{id}.{tool}.log"),
        }
    }
}

/// Sorted names of everything in a directory.
pub fn names_in(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

fn first_free(from: u64, taken: &BTreeSet<u64>, reserved: &BTreeSet<u64>) -> u64 {
    let mut id = from;
    while taken.contains(&id) || reserved.contains(&id) {
        id += 1;
    }
    id
}

/// The number of a name of the form digits, dot, anything.
fn number(name: &str) -> Option<u64> {
    let (digits, _) = name.split_once('.')?;
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| all_digits)?;
    (number <= LARGEST_NUMBER).then_some(number)
}

/// The number of a name of the form digits, dot, anything, `.log`.
fn log_number(name: &str) -> Option<u64> {
    let (_, rest) = name.split_once('.')?;
    number(name).filter(|_| rest.ends_with(".log"))
}

/// Keeps other processes from choosing a number at the same time, as long as the result lives.
/// Gives up after a while: exclusive creation is the second line of defence.
fn lock_directory(dir: &Path) -> Option<File> {
    const ATTEMPTS: u32 = 500;
    let handle = File::open(dir).ok()?;
    for _ in 0..ATTEMPTS {
        match handle.try_lock() {
            Ok(()) => return Some(handle),
            Err(fs::TryLockError::WouldBlock) => sleep(Duration::from_millis(2)),
            Err(fs::TryLockError::Error(_)) => return None,
        }
    }
    None
}

#[cfg(test)]
#[cfg(unix)]
#[path = "artifacts_tests.rs"]
mod tests;
