//! Storing and addressing blobs.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use tempfile::TempDir;

use super::*;
use crate::storage::faulty::{Fault, for_each_fault};

/// SHA-256 of "abc", from the standard that defines the algorithm.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn store() -> (TempDir, BlobStore) {
    let root = TempDir::new().unwrap();
    let store = BlobStore::new(root.path().join("deep/blobs"));
    (root, store)
}

#[test]
fn contents_are_addressed_by_their_hash() {
    let (_root, store) = store();
    let put = store.put(b"abc").unwrap();
    assert_eq!(put.hash, ABC);
    assert_eq!(put.path, store.dir().join(ABC));
    assert_eq!(store.get(ABC).unwrap().as_deref(), Some(&b"abc"[..]));
    assert_eq!(store.put(b"").unwrap().path.metadata().unwrap().len(), 0);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&put.path), mode(store.dir())), (0o600, 0o700));
}

#[test]
fn a_stored_content_is_not_written_again_and_a_short_file_is() {
    let (_root, store) = store();
    let put = store.put(b"abc").unwrap();
    let inode = put.path.metadata().unwrap().ino();
    assert_eq!(store.put(b"abc").unwrap(), put);
    assert_eq!(put.path.metadata().unwrap().ino(), inode);
    fs::write(&put.path, b"a").unwrap();
    store.put(b"abc").unwrap();
    assert_eq!(fs::read(&put.path).unwrap(), b"abc");
}

#[test]
fn references_only_reach_verified_blobs() {
    let (root, store) = store();
    let put = store.put(b"abc").unwrap();
    fs::write(root.path().join("secret.txt"), b"secret").unwrap();
    fs::write(store.dir().join("name"), b"content").unwrap();
    fs::write(store.dir().join(ABC.to_uppercase()), b"abc").unwrap();
    let upper = ABC.to_uppercase();
    for hash in ["", "../../secret.txt", "name", "..", ".", &ABC[1..], &upper] {
        assert_eq!(store.get(hash).unwrap(), None, "{hash}");
    }
    for damaged in [&b""[..], b"ab", b"abd"] {
        fs::write(&put.path, damaged).unwrap();
        assert_eq!(store.get(ABC).unwrap(), None);
    }
}

#[test]
fn reading_by_name_stays_in_the_directory() {
    let (root, store) = store();
    assert_eq!(store.read_any("").unwrap(), None, "no directory yet");
    store.put(b"abc").unwrap();
    fs::write(root.path().join("secret.txt"), b"secret").unwrap();
    fs::write(store.dir().join("name"), b"content").unwrap();
    let read = |name: &str| store.read_any(name).unwrap();
    assert_eq!(read("name").as_deref(), Some(&b"content"[..]));
    let absolute = root.path().join("secret.txt");
    for name in [
        "missing",
        "../../secret.txt",
        "..",
        absolute.to_str().unwrap(),
    ] {
        assert_eq!(read(name), None, "{name}");
        assert!(!store.has(name), "{name}");
    }
    for name in ["", "."] {
        let error = store.read_any(name).unwrap_err();
        assert_eq!((error.code(), error.syscall()), ("EISDIR", Some("read")));
    }
    assert!(store.has("name") && store.has(ABC));
}

#[test]
fn references_are_recognised_by_their_prefix() {
    assert_eq!(parse_ref("blob:sha256:abc"), Some("abc"));
    assert_eq!(parse_ref("blob:sha256:"), Some(""));
    assert_eq!(parse_ref("Blob:sha256:abc"), None);
    assert!(is_hash(ABC));
}

#[test]
fn concurrent_puts_of_one_content_leave_one_whole_file() {
    let (_root, store) = store();
    let content = vec![7; 300_000];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let put = store.put(&content).unwrap();
                assert_eq!(store.get(&put.hash).unwrap().as_deref(), Some(&content[..]));
            });
        }
    });
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 1);
}

/// Whatever fails: there is the whole blob or none, and never a temporary file.
#[test]
fn no_single_failure_leaves_a_short_blob() {
    let content = vec![7; 200_000];
    for fault in [Fault::Fails, Fault::HalfWritten] {
        let faults = for_each_fault(fault, |disk| {
            let root = TempDir::new().unwrap();
            let dir = root.path().join("blobs");
            let store = BlobStore::with_disk(dir.clone(), disk);
            let outcome = store.put(&content);
            let files: Vec<_> = fs::read_dir(&dir).into_iter().flatten().flatten().collect();
            for file in &files {
                assert_eq!(file.file_name().to_str(), Some(&*hash_of(&content)));
                assert_eq!(fs::read(file.path()).unwrap(), content);
            }
            assert!(files.len() == 1 || outcome.is_err());
            store.put(&content).unwrap();
            assert!(store.get(&hash_of(&content)).unwrap().is_some());
        });
        assert!(faults >= 8, "only {faults} operations were made to fail");
    }
}
