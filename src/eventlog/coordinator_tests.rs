use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::eventlog::store::Compression;
use crate::storage::disk::{Disk, OsDisk};
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
