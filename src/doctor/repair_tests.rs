use std::collections::HashMap;

use super::super::examine::{Options, examine};
use super::super::survey::tests::piece;
use super::*;
use crate::session::snowflake::SnowflakeGenerator;
use crate::storage::disk::OsDisk;
use crate::storage::faulty::{EACH_FAULT, for_each_fault, quick_dir};
use proptest::prelude::*;
use serde_json::Value;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}"#;

fn user(id: &str, parent: Option<&str>) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:06.000Z","message":{{"role":"user","n": 1.0}}}}"#
    )
}

struct Repaired {
    done: Repair,
    copy: Vec<u8>,
}

impl Repaired {
    /// Lines of the copy behind the header, whose padding is left out.
    fn lines(&self) -> Vec<&str> {
        let text = std::str::from_utf8(&self.copy).unwrap();
        text.lines().skip(1).collect()
    }

    fn header(&self) -> &str {
        let text = std::str::from_utf8(&self.copy).unwrap();
        text.lines().next().unwrap().trim_end()
    }

    fn links(&self) -> Vec<(String, Value)> {
        let entry = |line: &&str| {
            let value: Value = serde_json::from_str(line).unwrap();
            (
                value["id"].as_str().unwrap().to_owned(),
                value["parentId"].clone(),
            )
        };
        self.lines().iter().map(entry).collect()
    }
}

fn try_repair(name: &str, bytes: &[u8]) -> Result<Repaired> {
    let dir = tempfile::tempdir().unwrap();
    let (path, output) = (dir.path().join(name), dir.path().join("copy.jsonl"));
    std::fs::write(&path, bytes).unwrap();
    let snowflakes = SnowflakeGenerator::default();
    let needs = Needs {
        ids: IdSource {
            snowflakes: &snowflakes,
            now: 1_700_000_000_000.0,
        },
        timestamp: "2026-01-01T00:00:00.000Z".to_owned(),
        cwd: "/made".to_owned(),
    };
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    let outcome = repair(&disk, &path, &output, &needs);
    assert_eq!(
        std::fs::read(&path).unwrap(),
        bytes,
        "the original is untouched"
    );
    let done = match outcome {
        Ok(done) => done,
        Err(error) => {
            assert!(output == path || !output.exists());
            return Err(error);
        }
    };
    let again = examine(&output, &Options::default()).unwrap();
    let left = again
        .findings
        .iter()
        .filter(|finding| finding.kind.is_repairable());
    assert_eq!(left.collect::<Vec<_>>(), [] as [&super::super::Finding; 0]);
    assert_eq!(again.entries, done.entries);
    Ok(Repaired {
        done,
        copy: std::fs::read(&output).unwrap(),
    })
}

fn repaired(lines: &[&str]) -> Repaired {
    try_repair("s.jsonl", &[lines.join("\n").as_bytes(), b"\n"].concat()).unwrap()
}

#[test]
fn a_whole_file_is_copied() {
    let (a, b) = (user("a", None), user("b", Some("a")));
    let title = r#"{"type":"title","v":1,"title":"T","pad":"  "}"#;
    let copy = repaired(&[HEADER, &a, &b]);
    assert_eq!(copy.header(), HEADER);
    assert_eq!(copy.lines(), [&a, &b]);
    assert_eq!(
        copy.done,
        Repair {
            entries: 2,
            ..Repair::default()
        }
    );
    let copy = repaired(&[title, HEADER, &a]);
    assert_eq!(copy.header(), title);
    assert_eq!(copy.lines()[1], a);
}

#[test]
fn unreadable_bytes_are_left_out_and_glued_entries_get_lines() {
    let (a, b, c) = (user("a", None), user("b", Some("a")), user("c", Some("b")));
    let copy = repaired(&[
        HEADER,
        "junk",
        &format!("{a}\0\0"),
        &format!("{{\"type\":{b}{c}"),
    ]);
    assert_eq!(copy.lines(), [&a, &b, &c]);
    assert_eq!(copy.done.recovered, 2);
    assert_eq!(copy.done.bytes_left_out, 4 + 2 + 8);
}

#[test]
fn headers_are_made_as_opening_makes_them() {
    let a = user("a", None);
    let name = "2026-01-02T03-04-05-678Z_0123456789abcdef.jsonl";
    let copy = try_repair(name, format!("{a}\n").as_bytes()).unwrap();
    assert_eq!(
        copy.header(),
        r#"{"type":"session","version":3,"id":"0123456789abcdef","timestamp":"2026-01-02T03:04:06.000Z","cwd":"/made"}"#
    );
    assert!(copy.done.header_made);
    let list =
        r#"{"type":"message","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"user"}}"#;
    let copy = repaired(&[&HEADER[..60], list, list]);
    let header: Value = serde_json::from_str(copy.header()).unwrap();
    assert_eq!(header["version"], 1);
    assert_eq!(header["id"].as_str().unwrap().len(), 16);
    assert_eq!(copy.lines(), [list, list]);
}

#[test]
fn headers_move_to_the_front() {
    let (a, b) = (user("a", None), user("b", Some("a")));
    let copy = repaired(&[&a, HEADER, HEADER, &b]);
    assert_eq!(copy.header(), HEADER);
    assert_eq!(copy.lines(), [&a, &b]);
    // Without a version these entries would be taken for a list.
    let old = r#"{"type":"session","id":"s1"}"#;
    let copy = repaired(&[&a, old, &b]);
    assert_eq!(copy.header(), r#"{"type":"session","id":"s1","version":3}"#);
    assert_eq!(copy.lines(), [&a, &b]);
}

#[test]
fn orphans_and_loops_hang_from_the_entry_before() {
    let lines = [
        user("o", Some("gone")),
        user("a", Some("o")),
        user("b", Some("lost")),
        user("c", Some("d")),
        user("d", Some("c")),
        user("e", Some("e")),
    ];
    let mut all = vec![HEADER];
    all.extend(lines.iter().map(String::as_str));
    let copy = repaired(&all);
    let parents: Vec<_> = copy.links().into_iter().map(|(_, parent)| parent).collect();
    let id = |id: &str| Value::from(id);
    assert_eq!(
        parents,
        [Value::Null, id("o"), id("a"), id("b"), id("c"), id("d")]
    );
    assert_eq!(copy.done.relinked, 4);
    // Byte for byte but for the link.
    assert_eq!(copy.lines()[2], lines[2].replace("\"lost\"", "\"a\""));
}

#[test]
fn joining_makes_no_loops() {
    let copy = repaired(&[HEADER, &user("a", Some("b")), &user("b", Some("gone"))]);
    let parents: Vec<_> = copy.links().into_iter().map(|(_, parent)| parent).collect();
    assert_eq!(parents, [Value::from("b"), Value::Null]);
    let copy = repaired(&[
        HEADER,
        &user("a", Some("d")),
        &user("b", Some("x")),
        &user("c", Some("y")),
        &user("d", Some("d")),
    ]);
    let parents: Vec<_> = copy.links().into_iter().map(|(_, parent)| parent).collect();
    assert_eq!(
        parents,
        [
            Value::from("d"),
            Value::from("a"),
            Value::from("b"),
            Value::Null
        ]
    );
}

#[test]
fn copies_go_and_others_get_ids_of_their_own() {
    let (a, b) = (user("a", None), user("b", Some("a")));
    let other = user("a", Some("b"));
    let child = user("c", Some("a"));
    let copy = repaired(&[HEADER, &a, &b, &a, &other, &child]);
    let links = copy.links();
    assert_eq!(copy.done.copies, 1);
    assert_eq!((copy.done.renamed, copy.done.relinked), (1, 1));
    assert_eq!(copy.lines()[..2], [&a, &b]);
    let fresh = &links[2].0;
    assert_eq!(fresh.len(), 8);
    assert_eq!(links[3], ("c".to_owned(), Value::from(fresh.as_str())));
    assert_eq!(
        copy.lines()[2],
        other.replace("\"id\":\"a\"", &format!("\"id\":\"{fresh}\""))
    );
}

#[test]
fn entries_without_id_get_one() {
    let a = user("a", None);
    let nameless = r#"{"type":"message","timestamp":"t","message":{}}"#;
    let linked = r#"{"type":"message","parentId":"a","timestamp":"t","message":{}}"#;
    let lost = r#"{"type":"message","parentId":"gone","timestamp":"t","message":{}}"#;
    let copy = repaired(&[HEADER, &a, nameless, linked, lost, "5", "{\"x\":1}"]);
    let lines = copy.lines();
    assert_eq!(lines[4], "{\"x\":1}");
    assert_eq!(lines.len(), 5);
    let value = |at: usize| serde_json::from_str::<Value>(lines[at]).unwrap();
    assert_eq!(value(1)["parentId"], "a");
    assert_eq!(value(2)["parentId"], "a");
    assert_eq!(value(3)["parentId"], value(2)["id"]);
    assert!(lines[1].starts_with(nameless.trim_end_matches('}')));
}

#[test]
fn nothing_is_made_of_nothing_and_nothing_is_replaced() {
    let code = |bytes: &[u8]| try_repair("s.jsonl", bytes).err().unwrap().code();
    assert_eq!(code(b""), "INVALID_SESSION_FILE");
    assert_eq!(code(b"junk\n"), "INVALID_SESSION_FILE");
    let taken = try_repair("copy.jsonl", HEADER.as_bytes());
    assert_eq!(
        taken.map(|_| ()).map_err(|error| error.code()),
        Err("EEXIST")
    );
}

#[derive(Debug, Clone)]
enum Damage {
    Delete,
    Repeat,
    Cut(usize),
    Glue,
    Nul(usize),
    Flip(usize),
    Junk,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::Delete),
        Just(Damage::Repeat),
        any::<usize>().prop_map(Damage::Cut),
        Just(Damage::Glue),
        (1_usize..9).prop_map(Damage::Nul),
        any::<usize>().prop_map(Damage::Flip),
        Just(Damage::Junk),
    ]
}

/// Applies damage to one line; gives the bytes with their line feed, if they still have one.
fn damaged(line: &str, damage: Option<&Damage>) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    match damage {
        None => {}
        Some(Damage::Delete) => return Vec::new(),
        Some(Damage::Repeat) => bytes = [line, "\n", line].concat().into_bytes(),
        Some(Damage::Cut(at)) => bytes.truncate(at % line.len()),
        Some(Damage::Glue) => return bytes,
        Some(Damage::Nul(count)) => bytes.splice(0..0, vec![0; *count]).for_each(drop),
        Some(Damage::Flip(at)) => bytes[at % line.len()] ^= 0x55,
        Some(Damage::Junk) => bytes.extend(b"\nnot json"),
    }
    bytes.push(b'\n');
    bytes
}

proptest! {
    #[test]
    fn every_whole_entry_is_kept(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 1..14),
        damages in prop::collection::hash_map(0_usize..15, damage(), 0..6),
    ) {
        let mut lines = vec![HEADER.to_owned()];
        for (at, parent) in parents.iter().enumerate() {
            let parent = (at > 0).then(|| format!("e{}", parent.index(at)));
            lines.push(user(&format!("e{at}"), parent.as_deref()));
        }
        let bytes: Vec<u8> = lines
            .iter()
            .enumerate()
            .flat_map(|(at, line)| damaged(line, damages.get(&at)))
            .collect();
        let whole: Vec<&str> = lines[1..]
            .iter()
            .enumerate()
            .filter(|(at, _)| !matches!(damages.get(&(at + 1)), Some(Damage::Delete | Damage::Cut(_) | Damage::Flip(_))))
            .map(|(_, line)| line.as_str())
            .collect();
        let Ok(copy) = try_repair("s.jsonl", &bytes) else {
            prop_assert!(whole.is_empty());
            return Ok(());
        };
        let kept: HashMap<String, &str> = copy
            .lines()
            .into_iter()
            .map(|line| (serde_json::from_str::<Value>(line).unwrap()["id"].to_string(), line))
            .collect();
        let mut changed = 0;
        for line in whole {
            let value: Value = serde_json::from_str(line).unwrap();
            let found = kept.get(&value["id"].to_string());
            prop_assert!(found.is_some(), "{line} is lost");
            let found = found.unwrap();
            if *found != line {
                // Nothing but the link may differ.
                let now: Value = serde_json::from_str(found).unwrap();
                let old = format!("\"parentId\":{}", value["parentId"]);
                let new = format!("\"parentId\":{}", now["parentId"]);
                prop_assert_eq!(line.replace(&old, &new), *found);
                changed += 1;
            }
        }
        prop_assert!(changed <= copy.done.relinked);
    }

    #[test]
    fn copies_of_anything_are_whole(pieces in prop::collection::vec(piece(), 0..24)) {
        let bytes = pieces.concat().into_bytes();
        // What a repair must mend is checked there.
        let outcome = try_repair("s.jsonl", &bytes).map(|copy| copy.done.entries);
        if let Err(error) = outcome {
            prop_assert_eq!(error.code(), "INVALID_SESSION_FILE");
        }
    }
}

#[test]
fn faults_leave_a_whole_copy_or_none() {
    let snowflakes = SnowflakeGenerator::default();
    let needs = Needs {
        ids: IdSource {
            snowflakes: &snowflakes,
            now: 0.0,
        },
        timestamp: String::new(),
        cwd: String::new(),
    };
    let a = user("a", None);
    let original = format!("{HEADER}\njunk\n{a}\n{{\"torn");
    for fault in EACH_FAULT {
        let faults = for_each_fault(fault, |disk| {
            let dir = quick_dir();
            let (path, output) = (dir.path().join("s.jsonl"), dir.path().join("copy.jsonl"));
            std::fs::write(&path, &original).unwrap();
            let disk: Arc<dyn Disk> = disk;
            let outcome = repair(&disk, &path, &output, &needs);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), original);
            match std::fs::read_to_string(&output) {
                Ok(copy) => assert!(copy.ends_with(&format!(" \n{a}\n"))),
                Err(_) => assert!(outcome.is_err()),
            }
            let files = std::fs::read_dir(dir.path()).unwrap().count();
            assert_eq!(files, 1 + usize::from(output.exists()));
        });
        assert!(faults >= 5, "only {faults} operations were made to fail");
    }
}
