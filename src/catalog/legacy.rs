//! Moving sessions from directories with earlier names to where they belong now.
//!
//! Earlier versions named every directory `--<absolute path>--`. Such a name can belong to several
//! projects (`--home-u-x--` to `/home/u/x` and to `/home/u-x`), so each session is asked for the
//! working directory in its header and only moves when that does not name another project.
//!
//! Nothing is ever overwritten or deleted: what meets a namesake gets a numbered name, a file in
//! the way of the directory is set aside, and an old directory is removed only when it is empty.
//! Every step is one atomic operation that fails when somebody else has done it already, and the old
//! directory is locked meanwhile, so several processes can migrate at the same time. All of it is
//! best effort; what fails stays where it was and is reported.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{DirEntry, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::encode::{NamingRoots, encode_absolute, legacy_folder_name};
use super::files::{entries, is_session_name, name, stem};
use super::lexical::normalize;
use crate::storage::disk::Disk;
use crate::{Error, Result};

/// Names tried for something that meets a namesake.
const NAME_ATTEMPTS: usize = 1000;
/// Sessions asked before a directory below home's earlier names is taken for another project's. It
/// is looked at again and again, so it must be cheap; sessions of ours beyond these are moved when
/// their own project is opened.
const SAMPLE: usize = 8;
/// How long to wait for another process that is moving the same sessions.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// What a migration needs to know.
pub struct Migration<'a> {
    /// Where to change names.
    pub disk: &'a dyn Disk,
    /// What names are relative to.
    pub roots: &'a NamingRoots,
    /// Gives the working directory in the header of a session file, if it can be read.
    pub header_cwd: &'a dyn Fn(&Path) -> Option<String>,
}

/// One directory on its way.
struct Transfer<'a> {
    from: &'a Path,
    to: &'a Path,
    failures: Vec<Error>,
}

impl Migration<'_> {
    /// Moves the sessions of `cwd` (absolute) from its earlier directory below `sessions_root` to
    /// the one named `target`. Gives what could not be moved.
    pub fn project(&self, sessions_root: &Path, cwd: &Path, target: &str) -> Vec<Error> {
        let legacy = legacy_folder_name(cwd);
        if legacy == target {
            return Vec::new();
        }
        self.transfer(&sessions_root.join(legacy), &sessions_root.join(target))
    }

    /// Moves the sessions of all projects at or below `home` (absolute, links not resolved) from
    /// their earlier directories, but for the project at `done`. Gives what could not be moved.
    pub fn home(&self, sessions_root: &Path, home: &Path, done: Option<&Path>) -> Vec<Error> {
        let home = encode_absolute(home);
        if home.is_empty() {
            // Below the root directory every name would match.
            return Vec::new();
        }
        let children = match entries(sessions_root) {
            Ok(children) => children,
            Err(error) => return vec![error],
        };
        let done = done.map(legacy_folder_name);
        let mut failures = Vec::new();
        for child in children {
            let name = name(&child);
            let target = home_relative_name(&name, &home);
            let Some(target) = target.filter(|_| done.as_ref() != Some(&name)) else {
                continue;
            };
            let (from, to) = (child.path(), sessions_root.join(target));
            if !from.is_dir() {
                let renamed = rename_unless_taken(self.disk, &from, &to);
                // What is gone has been moved by another process.
                failures.extend(renamed.err().filter(|error| !error.is_not_found()));
            } else if self.may_hold_ours(&from, &to) {
                failures.extend(self.transfer(&from, &to));
            }
        }
        failures
    }

    /// Asks the newest sessions. Without any the directory stays: a project whose first session is
    /// not written yet may have just created it.
    fn may_hold_ours(&self, from: &Path, to: &Path) -> bool {
        let mut sessions = entries(from).unwrap_or_default();
        sessions.retain(|entry| is_session_name(&name(entry)));
        sessions.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
        sessions
            .iter()
            .take(SAMPLE)
            .any(|session| !self.belongs_elsewhere(&session.path(), from, to))
    }

    /// True when the session's header names a project that shares the earlier name but not the new
    /// one. Without a usable working directory in the header there is no such evidence.
    fn belongs_elsewhere(&self, session: &Path, from: &Path, to: &Path) -> bool {
        let Some(cwd) = (self.header_cwd)(session).map(PathBuf::from) else {
            return false;
        };
        if !cwd.is_absolute() {
            return false;
        }
        let cwd = normalize(&cwd);
        from.file_name() == Some(OsStr::new(&legacy_folder_name(&cwd)))
            && to.file_name() != Some(OsStr::new(&self.roots.folder_name(&cwd)))
    }

    fn transfer(&self, from: &Path, to: &Path) -> Vec<Error> {
        let mut transfer = Transfer {
            from,
            to,
            failures: Vec::new(),
        };
        if let Err(error) = self.run(&mut transfer) {
            transfer.note(error);
        }
        transfer.failures
    }

    fn run(&self, transfer: &mut Transfer<'_>) -> Result<()> {
        let Some(_lock) = lock(transfer.from) else {
            return Ok(());
        };
        let children = entries(transfer.from)?;
        if children.is_empty() {
            return Ok(());
        }
        let staying: HashSet<OsString> = children
            .iter()
            .filter(|child| is_session_name(&name(child)))
            .filter(|child| self.belongs_elsewhere(&child.path(), transfer.from, transfer.to))
            .map(DirEntry::file_name)
            .collect();
        if staying.is_empty() && self.move_whole(transfer)? {
            return Ok(());
        }
        self.move_children(transfer, &children, &staying);
        // Refused while anything is left, which is the point.
        let _ = std::fs::remove_dir(transfer.from);
        Ok(())
    }

    /// Renames the directory if its new name is free; false when it has to be merged.
    fn move_whole(&self, transfer: &Transfer<'_>) -> Result<bool> {
        if rename_unless_taken(self.disk, transfer.from, transfer.to)? {
            return Ok(true);
        }
        if transfer.to.is_dir() {
            // Links to directories are moved as such or not at all.
            return Ok(transfer.from.is_symlink());
        }
        set_aside(self.disk, transfer.to)?;
        rename_unless_taken(self.disk, transfer.from, transfer.to)
    }

    /// Moves sessions, each with its artifacts directory, and, unless sessions of another project
    /// stay behind, everything else.
    fn move_children(
        &self,
        transfer: &mut Transfer<'_>,
        children: &[DirEntry],
        staying: &HashSet<OsString>,
    ) {
        let (sessions, others): (Vec<_>, Vec<_>) = children
            .iter()
            .partition(|child| is_session_name(&name(child)));
        let owners: HashSet<String> = sessions
            .iter()
            .map(|session| stem(&name(session)).to_owned())
            .collect();
        let moving: Vec<_> = sessions
            .iter()
            .filter(|session| !staying.contains(&session.file_name()))
            .collect();
        if !moving.is_empty()
            && let Err(error) = self.disk.create_dirs(transfer.to)
        {
            return transfer.note(error);
        }
        for session in moving {
            transfer.attempt(|it| self.move_session(it, &name(session)));
        }
        if staying.is_empty() {
            for other in others.iter().filter(|other| !owners.contains(&name(other))) {
                transfer.attempt(|it| self.move_other(it, &other.file_name()));
            }
        }
    }

    /// Moves a session under the first stem that neither a session nor an artifacts directory has,
    /// so that the two stay together. The artifacts go first: should the session not follow, it
    /// finds the same stem the next time.
    fn move_session(&self, transfer: &Transfer<'_>, session: &str) -> Result<()> {
        let old_stem = stem(session);
        let artifacts = transfer.from.join(old_stem);
        let has_artifacts = artifacts.is_dir();
        for attempt in 0..NAME_ATTEMPTS {
            let new_stem = numbered(old_stem, attempt);
            let new_file = transfer.to.join(format!("{new_stem}.jsonl"));
            if new_file.symlink_metadata().is_ok() {
                continue;
            }
            let new_artifacts = transfer.to.join(new_stem);
            if has_artifacts && !rename_unless_taken(self.disk, &artifacts, &new_artifacts)? {
                continue;
            }
            return self
                .disk
                .rename_new(&transfer.from.join(session), &new_file);
        }
        Err(Error::AlreadyExists(transfer.to.join(session)))
    }

    fn move_other(&self, transfer: &Transfer<'_>, other: &OsStr) -> Result<()> {
        let path = Path::new(other);
        let (base, extension) = match (path.file_stem(), path.extension()) {
            (Some(base), Some(extension)) => (base, format!(".{}", extension.to_string_lossy())),
            _ => (other, String::new()),
        };
        for attempt in 0..NAME_ATTEMPTS {
            let new_name = match attempt {
                0 => other.to_owned(),
                _ => (numbered(&base.to_string_lossy(), attempt) + &extension).into(),
            };
            let to = transfer.to.join(new_name);
            if rename_unless_taken(self.disk, &transfer.from.join(other), &to)? {
                return Ok(());
            }
        }
        Err(Error::AlreadyExists(transfer.to.join(other)))
    }
}

impl Transfer<'_> {
    fn attempt(&mut self, step: impl FnOnce(&Self) -> Result<()>) {
        if let Err(error) = step(self) {
            self.note(error);
        }
    }

    /// What is gone has been moved by another process.
    fn note(&mut self, error: Error) {
        if !error.is_not_found() {
            self.failures.push(error);
        }
    }
}

/// Keeps other processes from moving children of the same directory, which could separate sessions
/// from their artifacts. `None` when another process has been at it for too long; systems that
/// cannot lock directories do without.
fn lock(dir: &Path) -> Option<Option<File>> {
    let Ok(file) = File::open(dir) else {
        return Some(None);
    };
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Some(Some(file)),
            Err(TryLockError::Error(_)) => return Some(None),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LONGEST_WAIT => {
                std::thread::sleep(LONGEST_WAIT / 100);
            }
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

/// `--E--` gives `-`, `--E-<rest>--` gives `-<rest>`, where `E` is the encoded home directory.
fn home_relative_name(name: &str, home: &str) -> Option<String> {
    let inner = name.strip_prefix("--")?.strip_suffix("--")?;
    match inner.strip_prefix(home)? {
        "" => Some("-".to_owned()),
        rest => rest
            .strip_prefix('-')
            .filter(|rest| !rest.is_empty())
            .map(|rest| format!("-{rest}")),
    }
}

fn numbered(name: &str, attempt: usize) -> String {
    match attempt {
        0 => name.to_owned(),
        _ => format!("{name}-{attempt}"),
    }
}

/// True when renamed, false when something has the new name.
fn rename_unless_taken(disk: &dyn Disk, from: &Path, to: &Path) -> Result<bool> {
    match disk.rename_new(from, to) {
        Ok(()) => Ok(true),
        Err(Error::AlreadyExists(_)) => Ok(false),
        Err(error) if from.is_dir() && !error.is_not_found() => {
            // Not every file system can refuse; a plain rename never replaces a directory that
            // holds anything.
            let taken = to.symlink_metadata().is_ok();
            (!taken).then(|| disk.rename(from, to)).transpose()?;
            Ok(!taken)
        }
        Err(error) => Err(error),
    }
}

/// Gives a file that has the name of a directory we need another name. Linking and unlinking both
/// refuse directories, so that a directory which another process put there meanwhile stays.
fn set_aside(disk: &dyn Disk, file: &Path) -> Result<()> {
    let base = file.file_name().unwrap_or_default().to_string_lossy();
    for attempt in 1..NAME_ATTEMPTS {
        let aside = file.with_file_name(format!("{base}.aside-{attempt}"));
        match std::fs::hard_link(file, &aside) {
            Ok(()) => return disk.remove_file(file),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("link", file, error)),
        }
    }
    Err(Error::AlreadyExists(file.to_path_buf()))
}

#[cfg(test)]
#[cfg(unix)]
#[path = "legacy_tests.rs"]
mod tests;
