use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::eventlog::store::Compression;
use crate::storage::disk::{Disk, DiskFile, FileStat, OsDisk, WriteFailure};
use crate::storage::faulty::{Fault, for_each_fault};

const BOTH: [Compression; 2] = [Compression::Zstd, Compression::None];

fn header() -> Header {
    Header::of_caller(br#"{"version":0,"id":"s","createdAt":1,"cwd":"/w"}"#).unwrap()
}

fn logs(root: &Path, compression: Compression, disk: Arc<dyn Disk>) -> Coordinator {
    let store = Store::open(root.to_path_buf(), compression, true, disk).unwrap();
    Coordinator::new(store, None)
}

fn event(seq: u64, kind: &str) -> String {
    format!(r#"{{"type":"{kind}","seq":{seq},"time":{seq},"data":{{"turn":1,"step":1}}}}"#)
}

/// A turn of five events.
fn turn(first: u64) -> Vec<String> {
    let kinds = ["turn/start", "step/start", "x/y", "step/end", "turn/end"];
    (first..)
        .zip(kinds)
        .map(|(seq, kind)| event(seq, kind))
        .collect()
}

/// Number of events that a reader of its own sees; `None` if there is no session.
fn stored(root: &Path, compression: Compression) -> Option<u64> {
    let logs = logs(root, compression, Arc::new(OsDisk));
    let log = logs.store().read(b"s", None, &Cancel::default()).unwrap()?;
    assert_eq!(log.torn, None, "a torn tail");
    Some(log.events())
}

/// Files below a directory that are no logs.
fn leftovers(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            found.extend(leftovers(&entry.path()));
        } else if !name.starts_with("session.jsonl") || name.ends_with(".tmp") {
            found.push(name);
        }
    }
    found
}

#[test]
fn whatever_operation_fails_nothing_is_lost_and_the_batch_can_be_given_again() {
    for compression in BOTH {
        for fault in [Fault::Fails, Fault::HalfWritten] {
            let faults = for_each_fault(fault, |disk| {
                let dir = tempfile::tempdir().unwrap();
                let root = dir.path().join("deep/root");
                let logs = logs(&root, compression, disk);
                logs.create(header()).unwrap();
                let mut acknowledged = 0;
                for batch in [turn(0), turn(5), turn(10)] {
                    // One fault: the second attempt at the latest succeeds.
                    if logs.append(b"s", &batch).is_err() {
                        let on_disk = stored(&root, compression);
                        assert_eq!(on_disk.unwrap_or_default(), acknowledged);
                        assert_eq!(leftovers(&root), [] as [String; 0]);
                        logs.append(b"s", &batch).unwrap();
                    }
                    acknowledged += 5;
                    assert_eq!(stored(&root, compression), Some(acknowledged));
                }
            });
            assert!(faults > 15, "{faults}");
        }
    }
}

#[test]
fn whatever_operation_of_a_repair_fails_the_next_one_ends_it() {
    for compression in BOTH {
        let faults = for_each_fault(Fault::HalfWritten, |disk| {
            let dir = tempfile::tempdir().unwrap();
            let writer = logs(dir.path(), compression, Arc::new(OsDisk));
            writer.create(header()).unwrap();
            writer.append(b"s", &turn(0)).unwrap();
            writer.append(b"s", &turn(5)[..3]).unwrap();
            let path = writer.store().locate(&header()).unwrap();
            // A crash in the middle of one more batch.
            let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            std::io::Write::write_all(&mut &file, &[0x28, 0xb5, 0x2f]).unwrap();
            let logs = logs(dir.path(), compression, disk);
            if let Err(error) = logs.load(b"s") {
                assert_ne!(error.code(), failure::CORRUPT);
                logs.load(b"s").unwrap();
            }
            // The turn was closed: its step and itself.
            assert_eq!(stored(dir.path(), compression), Some(10));
            let later = self::logs(dir.path(), compression, Arc::new(OsDisk));
            later.append(b"s", &turn(10)).unwrap();
            assert_eq!(stored(dir.path(), compression), Some(15));
        });
        assert!(faults > 4, "{faults}");
    }
}

/// Lets half of a write out and refuses to undo it, while `failing` is set.
struct Unforgiving {
    failing: Arc<std::sync::atomic::AtomicBool>,
}

struct UnforgivingFile {
    inner: Box<dyn DiskFile>,
    failing: Arc<std::sync::atomic::AtomicBool>,
}

fn no_space() -> Error {
    Error::io("write", "/x", std::io::Error::from_raw_os_error(28))
}

impl Unforgiving {
    fn wrap(&self, file: Result<Box<dyn DiskFile>>) -> Result<Box<dyn DiskFile>> {
        let failing = Arc::clone(&self.failing);
        file.map(|inner| Box::new(UnforgivingFile { inner, failing }) as Box<dyn DiskFile>)
    }
}

impl Disk for Unforgiving {
    fn open_append(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.wrap(OsDisk.open_append(path))
    }
    fn open_existing(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        self.wrap(OsDisk.open_existing(path))
    }
    fn open_lock(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        OsDisk.open_lock(path)
    }
    fn create_new(&self, path: &Path, mode: u32) -> Result<Box<dyn DiskFile>> {
        self.wrap(OsDisk.create_new(path, mode))
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        OsDisk.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        OsDisk.rename_new(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        OsDisk.link(from, to)
    }
    fn remove_file(&self, path: &Path) -> Result<()> {
        OsDisk.remove_file(path)
    }
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        OsDisk.sync_dir(dir)
    }
    fn stat(&self, path: &Path) -> Result<FileStat> {
        OsDisk.stat(path)
    }
    fn resolve_link(&self, path: &Path) -> Result<std::path::PathBuf> {
        OsDisk.resolve_link(path)
    }
    fn create_dirs(&self, path: &Path) -> Result<()> {
        OsDisk.create_dirs(path)
    }
}

impl DiskFile for UnforgivingFile {
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), WriteFailure> {
        if !self.failing.load(std::sync::atomic::Ordering::SeqCst) {
            return self.inner.write_all(bytes);
        }
        // Whole lines among it.
        let written = bytes.len() - 3;
        self.inner.write_all(&bytes[..written])?;
        Err(WriteFailure {
            written,
            error: no_space(),
        })
    }
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), WriteFailure> {
        self.inner.write_at(offset, bytes)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.inner.read_at(offset, buffer)
    }
    fn position(&mut self) -> Result<u64> {
        self.inner.position()
    }
    fn truncate(&mut self, len: u64) -> Result<()> {
        if self.failing.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(no_space());
        }
        self.inner.truncate(len)
    }
    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
    fn lock(&self, wait: bool) -> Result<bool> {
        self.inner.lock(wait)
    }
    fn set_mode(&self, mode: u32) -> Result<()> {
        self.inner.set_mode(mode)
    }
    fn stat(&self) -> Result<FileStat> {
        self.inner.stat()
    }
}

#[test]
fn an_append_that_cannot_be_undone_is_cut_off_by_the_next_call() {
    for compression in BOTH {
        for load_first in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let failing = Arc::new(std::sync::atomic::AtomicBool::new(false));
            let disk = Unforgiving {
                failing: Arc::clone(&failing),
            };
            let logs = logs(dir.path(), compression, Arc::new(disk));
            logs.create(header()).unwrap();
            logs.append(b"s", &turn(0)).unwrap();
            failing.store(true, std::sync::atomic::Ordering::SeqCst);
            let error = logs.append(b"s", &turn(5)).unwrap_err();
            assert_eq!(error.code(), "SESSION_ROLLBACK_FAILED");
            assert!(error.cause().is_some() && error.rollback().is_some());
            failing.store(false, std::sync::atomic::Ordering::SeqCst);
            if load_first {
                assert_eq!(logs.load(b"s").unwrap().events(), 5);
            }
            logs.append(b"s", &turn(5)).unwrap();
            assert_eq!(stored(dir.path(), compression), Some(10));
        }
    }
}

#[test]
fn a_deleted_log_is_not_continued_without_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let logs = logs(dir.path(), Compression::Zstd, Arc::new(OsDisk));
    logs.create(header()).unwrap();
    logs.append(b"s", &turn(0)).unwrap();
    let path = logs.store().locate(&header()).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(logs.append(b"s", &turn(5)).unwrap_err().is_not_found());
    assert!(!path.exists());
}

#[test]
fn two_stores_cannot_publish_the_same_session() {
    let dir = tempfile::tempdir().unwrap();
    let [one, other] = [(); 2].map(|()| logs(dir.path(), Compression::Zstd, Arc::new(OsDisk)));
    one.create(header()).unwrap();
    other.create(header()).unwrap();
    one.append(b"s", &turn(0)).unwrap();
    assert_eq!(
        other.append(b"s", &turn(0)).unwrap_err().code(),
        failure::EXISTS
    );
    assert_eq!(stored(dir.path(), Compression::Zstd), Some(5));
}

#[test]
fn a_repair_keeps_the_recovered_events() {
    let dir = tempfile::tempdir().unwrap();
    let writer = logs(dir.path(), Compression::Zstd, Arc::new(OsDisk));
    writer.create(header()).unwrap();
    writer.append(b"s", &turn(0)).unwrap();
    writer.append(b"s", &turn(5)).unwrap();
    let path = writer.store().locate(&header()).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    // Without its checksum.
    file.set_len(file.metadata().unwrap().len() - 4).unwrap();
    let reader = logs(dir.path(), Compression::Zstd, Arc::new(OsDisk));
    let seen = reader.inspect(b"s", &Cancel::default()).unwrap();
    assert_eq!(
        (seen.events(), seen.torn.map(|torn| torn.recovered_from)),
        (10, Some(5))
    );
    assert_eq!(reader.load(b"s").unwrap().events(), 10);
    assert_eq!(stored(dir.path(), Compression::Zstd), Some(10));
}
