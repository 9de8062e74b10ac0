//! What must hold for a replaced file, with and without failures.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;
use crate::storage::disk::OsDisk;
use crate::storage::faulty::{Fault, for_each_fault};

const OLD: &[u8] = b"old content\n";

fn os() -> Arc<dyn Disk> {
    Arc::new(OsDisk)
}

fn refuse() -> AtomicOptions {
    AtomicOptions {
        existing: Existing::Refuse,
        suffix: None,
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn replace(disk: Arc<dyn Disk>, path: &Path, options: AtomicOptions, content: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create_with(disk, path, options)?;
    for piece in content.chunks(30_000) {
        file.write(piece)?;
    }
    file.commit().map(drop)
}

#[test]
fn creates_private_files_and_directories() {
    let root = TempDir::new().unwrap();
    let path = root.path().join("a/b/file.jsonl");
    replace(os(), &path, AtomicOptions::default(), b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(names(path.parent().unwrap()), ["file.jsonl"]);
}

#[test]
fn content_is_in_place_only_after_commit_and_the_mode_stays() {
    let root = TempDir::new().unwrap();
    let path = root.path().join("file");
    fs::write(&path, OLD).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let options = AtomicOptions {
        suffix: Some("0a1b".to_owned()),
        ..AtomicOptions::default()
    };
    let mut file = AtomicFile::create_with(os(), &path, options).unwrap();
    file.write(b"new").unwrap();
    assert_eq!(names(root.path()), [".file.0a1b.tmp", "file"]);
    assert_eq!(fs::read(&path).unwrap(), OLD);
    let mut committed = file.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(mode(&path), 0o644);
    assert_eq!(names(root.path()), ["file"]);
    let identity = committed.file.identity().unwrap();
    assert_eq!(identity.inode, fs::metadata(&path).unwrap().ino());
    assert_eq!(committed.file.position().unwrap(), 3);
    assert_eq!(committed.path, path);
}

#[test]
fn dropping_leaves_the_old_file_and_nothing_else() {
    let root = TempDir::new().unwrap();
    let path = root.path().join("file");
    fs::write(&path, OLD).unwrap();
    let mut file = AtomicFile::create(os(), &path).unwrap();
    file.write(&vec![b'x'; 300_000]).unwrap();
    drop(file);
    assert_eq!(fs::read(&path).unwrap(), OLD);
    assert_eq!(names(root.path()), ["file"]);
}

#[test]
fn links_stay_and_their_targets_are_replaced() {
    let root = TempDir::new().unwrap();
    let real = root.path().join("real");
    fs::create_dir(&real).unwrap();
    for (link, target) in [("plain", "real/a"), ("dangling", "real/missing")] {
        symlink(target, root.path().join(link)).unwrap();
    }
    symlink("plain", root.path().join("chain")).unwrap();
    fs::write(real.join("a"), OLD).unwrap();
    for (link, target) in [("chain", "a"), ("dangling", "missing")] {
        let link = root.path().join(link);
        replace(os(), &link, AtomicOptions::default(), b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(real.join(target)).unwrap(), b"new");
    }
    assert_eq!(names(&real), ["a", "missing"]);
}

#[test]
fn circular_links_are_an_error() {
    let root = TempDir::new().unwrap();
    let path = root.path().join("loop");
    symlink("loop", &path).unwrap();
    let error = AtomicFile::create(os(), &path).err().unwrap();
    assert_eq!(error.code(), "ELOOP");
}

#[test]
fn refusing_never_touches_what_exists() {
    let root = TempDir::new().unwrap();
    let path = root.path().join("file");
    replace(os(), &path, refuse(), OLD).unwrap();
    symlink("missing", root.path().join("link")).unwrap();
    for taken in [path.clone(), root.path().join("link")] {
        let error = replace(os(), &taken, refuse(), b"new").unwrap_err();
        assert!(matches!(&error, Error::AlreadyExists(path) if *path == taken));
    }
    assert_eq!(fs::read(&path).unwrap(), OLD);
    assert_eq!(names(root.path()), ["file", "link"]);
}

#[test]
fn a_vanished_directory_is_created_again() {
    let root = TempDir::new().unwrap();
    let dir = root.path().join("dir");
    let path = dir.join("file");
    let content = vec![b'y'; 200_001];
    for existing in [Existing::Replace, Existing::Refuse] {
        let options = AtomicOptions {
            existing,
            suffix: None,
        };
        let mut file = AtomicFile::create_with(os(), &path, options).unwrap();
        file.write(&content).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), content);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(names(&dir), ["file"]);
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn long_names_leave_room_for_the_temporary_name() {
    let root = TempDir::new().unwrap();
    let path = root.path().join("ü".repeat(127));
    replace(os(), &path, AtomicOptions::default(), b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn errors_name_the_call_and_the_path() {
    let root = TempDir::new().unwrap();
    let file = root.path().join("file");
    fs::write(&file, OLD).unwrap();
    let error = AtomicFile::create(os(), &file.join("below")).err().unwrap();
    assert_eq!(error.code(), "ENOTDIR");
    let dir = root.path().join("dir");
    fs::create_dir(&dir).unwrap();
    let error = replace(os(), &dir, AtomicOptions::default(), b"new").unwrap_err();
    assert_eq!((error.code(), error.syscall()), ("EISDIR", Some("rename")));
    assert_eq!(error.dest(), Some(dir.as_path()));
    assert_eq!(names(root.path()), ["dir", "file"]);
}

/// Whatever fails: the old content or, when only the directory's sync failed, the new one is
/// there in whole, and no temporary file is left.
#[test]
fn no_single_failure_loses_the_old_content() {
    let new = vec![b'n'; 200_000];
    for fault in [Fault::Fails, Fault::HalfWritten] {
        for existing in [Existing::Replace, Existing::Refuse] {
            let faults = for_each_fault(fault, |disk| {
                let root = TempDir::new().unwrap();
                let path = root.path().join("file");
                if existing == Existing::Replace {
                    fs::write(&path, OLD).unwrap();
                }
                let options = AtomicOptions {
                    existing,
                    suffix: None,
                };
                let outcome = replace(Arc::clone(&disk) as Arc<dyn Disk>, &path, options, &new);
                let content = fs::read(&path).ok();
                match outcome {
                    Ok(()) => assert_eq!(content.as_deref(), Some(new.as_slice())),
                    Err(error) if error.path() == Some(root.path()) => {
                        assert_eq!(error.syscall(), Some("fsync"));
                        assert_eq!(content.as_deref(), Some(new.as_slice()));
                    }
                    Err(_) if existing == Existing::Replace => {
                        assert_eq!(content.as_deref(), Some(OLD));
                    }
                    Err(_) => assert_eq!(content, None),
                }
                let left = usize::from(content.is_some());
                assert_eq!(names(root.path()).len(), left, "a temporary file is left");
            });
            assert!(faults >= 8, "only {faults} operations were made to fail");
        }
    }
}
