//! Listing sessions with what a picker shows of them.
//!
//! A description depends on nothing but the file's content, so whoever wants to keep descriptions
//! may do so by path, inode, size and modification time, around [`describe_file`].

use std::path::{Path, PathBuf};

use super::describe::{Description, describe};
use super::encode::same_directory;
use super::files::{open_regular, session_files, session_files_below};
use super::parallel::map_parallel;
use super::project::Project;
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

/// The sessions found, newest first, and what could not be read.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions.
    pub sessions: Vec<Listed>,
    /// Files and sub-directories that could not be read. They do not keep the others from being
    /// listed.
    pub failures: Vec<Error>,
}

/// Lists the sessions in one directory; with a project only its own. A missing directory holds none,
/// one that cannot be read is an error.
pub fn list(dir: &Path, project: Option<&Project>) -> Result<Listing> {
    let mut listing = Listing::default();
    listing.describe(session_files(dir)?);
    if let Some(project) = project {
        listing
            .sessions
            .retain(|session| project.owns(session.description.cwd()));
    }
    Ok(listing)
}

/// Lists the sessions in several directories and all directories below them.
pub fn list_all(roots: &[PathBuf]) -> Result<Listing> {
    let mut listing = Listing::default();
    let files = find_all(roots, &mut listing.failures)?;
    listing.describe(files);
    Ok(listing)
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

/// Reads one session file. `None` when it is no session.
pub fn describe_file(path: &Path) -> Result<Option<Listed>> {
    let file = open_regular(path)?;
    let description = describe(&file).during("read", path)?;
    let metadata = file.metadata().during("fstat", path)?;
    Ok(description.map(|description| Listed {
        path: path.to_path_buf(),
        modified: Stamp::of(&metadata),
        description,
    }))
}

impl Listing {
    fn describe(&mut self, files: Vec<PathBuf>) {
        for outcome in map_parallel(&files, |path| describe_file(path)) {
            match outcome {
                Ok(Some(session)) => self.sessions.push(session),
                Ok(None) => {}
                // Deleted since the directory was read.
                Err(error) if error.is_not_found() => {}
                Err(error) => self.failures.push(error),
            }
        }
        self.sessions.sort_by(|left, right| {
            newest_first(left.modified, &left.path, right.modified, &right.path)
        });
    }
}
