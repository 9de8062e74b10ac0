//! Where artifacts are and how their numbers are chosen.

use tempfile::TempDir;

use super::*;
use crate::storage::faulty::{Fault, for_each_fault};

#[test]
fn the_directory_is_the_sessions_own() {
    for (session, dir) in [
        ("/s/2026_a.jsonl", "/s/2026_a"),
        ("relative.jsonl", "relative"),
        ("/s/a.jsonl.jsonl", "/s/a.jsonl"),
        ("/dir/noext", "/dir/noext.artifacts"),
        ("/tmp/abc.txt", "/tmp/abc.txt.artifacts"),
        ("/s/a.JSONL", "/s/a.JSONL.artifacts"),
        ("/s/.jsonl", "/s/.jsonl.artifacts"),
        (".jsonl", ".jsonl.artifacts"),
        ("/s/..jsonl", "/s/..jsonl.artifacts"),
        ("/s/...jsonl", "/s/...jsonl.artifacts"),
        ("", ".artifacts"),
    ] {
        assert_eq!(artifacts_dir(session), dir);
    }
}

fn touch(dir: &Path, names: &[&str]) {
    fs::create_dir_all(dir).unwrap();
    for name in names {
        fs::write(dir.join(name), "").unwrap();
    }
}

#[test]
fn numbering_goes_on_from_the_largest_log() {
    let root = TempDir::new().unwrap();
    let dir = root.path().join("a/b");
    let reservations = Reservations::new();
    let artifacts = Artifacts::new(dir.clone(), &reservations);
    assert_eq!(artifacts.scan().unwrap(), 0);
    touch(
        &dir,
        &[
            "2.bash.log",
            "10.x.log",
            "11.log",
            "99.txt",
            "0-Task.jsonl",
            "x3.y.log",
            "-4.a.log",
            "+5.a.log",
            ".log",
            "99999999999999999999.x.log",
        ],
    );
    assert_eq!(artifacts.scan().unwrap(), 11);
}

#[test]
fn a_number_that_anything_uses_is_skipped() {
    let root = TempDir::new().unwrap();
    let dir = root.path().join("a");
    touch(&dir, &["0.grep.log", "2.txt"]);
    let reservations = Reservations::new();
    let artifacts = Artifacts::new(dir.clone(), &reservations);
    let saved = artifacts.save(0, "bash", "out").unwrap();
    assert_eq!((saved.id, saved.name.as_str()), (1, "1.bash.log"));
    assert_eq!(artifacts.save(1, "bash", "out").unwrap().id, 3);
    assert_eq!(fs::read(dir.join("1.bash.log")).unwrap(), b"out");
}

#[test]
fn reserved_numbers_are_not_handed_out_again() {
    let root = TempDir::new().unwrap();
    let dir = root.path().join("a");
    let reservations = Reservations::new();
    let first = Artifacts::new(dir.clone(), &reservations);
    let second = Artifacts::new(dir.clone(), &reservations);
    first.scan().unwrap();
    second.scan().unwrap();
    assert_eq!(first.reserve(0, "t").unwrap().name, "0.t.log");
    assert_eq!(second.reserve(0, "t").unwrap().id, 1);
    assert_eq!(second.save(0, "t", "").unwrap().id, 2);
    assert_eq!(first.reserve(1, "t").unwrap().id, 3);
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(
        first.reserve(1, "t").unwrap().id,
        2,
        "the directory is not needed"
    );
    assert!(!dir.exists());
    second.scan().unwrap();
    assert_eq!(
        second.reserve(0, "t").unwrap().id,
        0,
        "a new directory starts over"
    );
}

#[test]
fn tool_names_stay_in_the_directory() {
    let root = TempDir::new().unwrap();
    let dir = root.path().join("a");
    let reservations = Reservations::new();
    let artifacts = Artifacts::new(dir.clone(), &reservations);
    for (tool, name) in [
        ("../x", "0..._x.log"),
        ("a/b\\c\0d", "1.a_b_c_d.log"),
        ("", "2..log"),
    ] {
        assert_eq!(artifacts.save(0, tool, "").unwrap().name, name);
    }
    assert_eq!(names_in(&dir).unwrap().len(), 3);
    assert_eq!(names_in(root.path()).unwrap(), ["a"]);
}

/// Two registries stand for two processes: they share nothing but the directory.
#[test]
fn processes_do_not_choose_the_same_number() {
    let root = TempDir::new().unwrap();
    let registries = [Reservations::new(), Reservations::new()];
    let mut ids = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|index| {
                let artifacts = Artifacts::new(root.path().join("a"), &registries[index % 2]);
                scope.spawn(move || {
                    let tool = format!("tool{index}");
                    let save = |_| artifacts.save(0, &tool, "out").unwrap().id;
                    (0..20).map(save).collect::<Vec<_>>()
                })
            })
            .collect();
        for thread in threads {
            ids.extend(thread.join().unwrap());
        }
    });
    ids.sort_unstable();
    assert_eq!(ids, (0..160).collect::<Vec<_>>());
}

/// Whatever fails: there is the whole output or nothing.
#[test]
fn no_single_failure_leaves_a_part_of_an_output() {
    for fault in [Fault::Fails, Fault::HalfWritten] {
        let faults = for_each_fault(fault, |disk| {
            let root = TempDir::new().unwrap();
            let dir = root.path().join("a");
            let reservations = Reservations::new();
            let artifacts = Artifacts::with_disk(dir.clone(), &reservations, disk);
            match artifacts.save(0, "t", "output") {
                Ok(saved) => assert_eq!(fs::read(dir.join(saved.name)).unwrap(), b"output"),
                Err(_) => assert!(names_in(&dir).unwrap_or_default().is_empty()),
            }
        });
        assert_eq!(faults, 3, "directory, file, content");
    }
}
