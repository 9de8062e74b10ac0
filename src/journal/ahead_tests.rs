//! Files read by several threads must come out as if one had read them line by line.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::session::Record;
use crate::session::snowflake::SnowflakeGenerator;

/// All that an outcome tells, comparable.
pub(in crate::journal) fn told(outcome: Outcome) -> String {
    match outcome {
        Outcome::Missing => "missing".to_owned(),
        Outcome::Blank => "blank".to_owned(),
        Outcome::NotASession => "no session".to_owned(),
        Outcome::Session(loaded) => {
            let tree = &loaded.tree;
            let assigned = loaded.migrated && tree.records().iter().any(|it| !it.marks.is_empty());
            let record = |record: &Record| {
                // Ids made for version 1 differ from load to load.
                let id = |it: u32| tree.ids().get(it);
                let id = (!assigned).then(|| String::from_utf8_lossy(id(record.id)).into_owned());
                (id, record.parent(), record.kind, record.role, record.marks)
            };
            let records: Vec<_> = tree.records().iter().map(record).collect();
            let places: Vec<_> = (0..loaded.texts.len())
                .map(|slot| loaded.texts.place(slot as Slot))
                .collect();
            let labels: Vec<_> = tree.labels().collect();
            let header = loaded.header.as_deref().map(String::from_utf8_lossy);
            format!(
                "{records:?} {places:?} {labels:?} {header:?} {:?} {:?} {} {:?}",
                loaded.report, loaded.texts.residue, loaded.migrated, loaded.first_timestamp
            )
        }
    }
}

/// The outcome of one thread reading line by line, and of several reading chunks of a size.
fn both(text: &[u8], chunk: u64) -> (String, String) {
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text).unwrap();
    let source = || Source::Bytes(Arc::from(text));
    let ahead =
        Loader::new(source(), &ids).load_ahead(&file, 0..text.len() as u64, u64::MAX, chunk);
    let alone = load_bytes(Arc::from(text), Path::new("s"), &ids).unwrap();
    (told(alone), told(ahead.unwrap()))
}

fn entry(id: usize, padding: usize) -> String {
    format!(
        r#"{{"type":"message","id":"e{id}","parentId":"e{}","timestamp":"2026-01-02T03:04:05.000Z","message":{{"role":"user","content":"{}"}}}}"#,
        id.wrapping_sub(1),
        "x".repeat(padding)
    )
}

/// Pieces of files, whole and damaged.
fn piece() -> impl Strategy<Value = String> {
    let line = (0_usize..9, 0_usize..200).prop_map(|(id, padding)| entry(id, padding));
    prop_oneof![
        6 => line.clone().prop_map(|line| line + "\n"),
        1 => line.clone().prop_map(|line| line + "  \r\n"),
        1 => line.clone().prop_map(|line| line.replace(',', ",\n") + "\n"),
        1 => (line.clone(), 0_usize..150).prop_map(|(line, at)| line[..at.min(line.len())].to_owned()),
        1 => (line.clone(), line).prop_map(|(one, two)| format!("{one}{two}\n")),
        1 => Just("\0\0\0".to_owned()),
        1 => prop::sample::select(vec!["\n", "5\n", "[1,\n2]\n", "{\n", "}\n", "\u{feff}", "{\"id\":1,\"parentId\":null}\n"])
            .prop_map(str::to_owned),
        1 => Just("{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"e1\",\"timestamp\":\"t\",\"targetId\":\"e2\",\"label\":\"x\"}\n".to_owned()),
    ]
}

fn header() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n",
        "{\"type\":\"session\",\"id\":\"s\"}\n",
        "\u{feff}{\"type\":\"session\",\"version\":2,\"id\":\"s\"}\n",
        "{\"type\":\"ses\n",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn as_if_one_thread_had_read_it(
        header in header(),
        pieces in prop::collection::vec(piece(), 0..40),
        chunk in 1_u64..700,
    ) {
        let text = header + &pieces.concat();
        let (alone, ahead) = both(text.as_bytes(), chunk);
        prop_assert_eq!(ahead, alone);
    }
}

#[test]
fn lines_longer_than_many_chunks() {
    let lines = [
        entry(1, 5),
        entry(2, 500_000),
        entry(3, 0),
        entry(4, 70_000),
    ];
    let text = lines.join("\n");
    for chunk in [100, 4_096, 65_536, 600_000] {
        let (alone, ahead) = both(text.as_bytes(), chunk);
        assert_eq!(ahead, alone);
        let (alone, ahead) = both((text.clone() + "\n").as_bytes(), chunk);
        assert_eq!(ahead, alone);
    }
}

#[test]
fn what_is_appended_while_reading_is_read_too() {
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    let text: String = (0..100).map(|id| entry(id, 50) + "\n").collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    // The length was asked for before the last lines came.
    let length = text.len() as u64 / 2;
    let source = Source::Bytes(Arc::from(text.as_bytes()));
    match Loader::new(source, &ids)
        .load_ahead(&file, 0..length, u64::MAX, 512)
        .unwrap()
    {
        Outcome::Session(loaded) => assert_eq!(loaded.tree.len(), 100),
        _ => panic!("not a session"),
    }
}
