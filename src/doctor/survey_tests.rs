use super::*;
use crate::journal::load::{IdSource, Outcome, load_file};
use crate::session::snowflake::SnowflakeGenerator;
use proptest::prelude::*;

fn surveyed(bytes: &[u8]) -> (Survey, Option<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, bytes).unwrap();
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    let loaded = match load_file(&path, &ids).unwrap() {
        Outcome::Session(loaded) => Some(loaded.tree.len()),
        _ => None,
    };
    (survey(&path).unwrap().0, loaded)
}

#[test]
fn a_title_counts_only_at_the_start() {
    let title = r#"{"type":"title","v":1,"title":"T"}"#;
    let header = r#"{"type":"session","version":3,"id":"s"}"#;
    let (survey, _) = surveyed(format!("{title}\n{header}\n{title}\n").as_bytes());
    assert_eq!(survey.title_slot, Some((0, title.len() as u32)));
    assert_eq!(survey.extras.len(), 1);
    assert_eq!(survey.header.unwrap().offset, title.len() as u64 + 1);
}

pub(crate) fn piece() -> impl Strategy<Value = String> {
    let id = 0_u8..6;
    let entry = (id.clone(), 0_u8..8, any::<bool>()).prop_map(|(id, parent, named)| {
        let parent = if parent == 7 { "null".to_owned() } else { format!("\"{parent}\"") };
        let id = if named { format!("\"id\":\"{id}\",") } else { String::new() };
        format!(r#"{{"type":"message",{id}"parentId":{parent},"timestamp":"2026-01-02T03:04:06.000Z","message":{{"role":"user"}}}}"#)
    });
    let other = prop::sample::select(vec![
        "\n",
        "\n",
        "\n",
        "\n",
        "\0\0",
        "5",
        "{\"a\":1}",
        "{\"type\":\"mess",
        "]",
        " ",
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}",
        "{\"type\":\"session\",\"id\":\"s\"}",
    ]);
    prop_oneof![
        2 => entry.prop_map(|entry| format!("{entry}\n")),
        1 => (0_u8..6).prop_map(|id| format!(r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"t"}}"#)),
        3 => other.prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn the_doctor_sees_the_entries_that_opening_sees(pieces in prop::collection::vec(piece(), 0..24)) {
        let bytes = pieces.concat().into_bytes();
        let (survey, loaded) = surveyed(&bytes);
        let is_session = survey.header.is_some() || !survey.entries.is_empty();
        prop_assert_eq!(is_session.then_some(survey.entries.len()), loaded);
        for finding in &survey.findings {
            let end = finding.offset.unwrap() + finding.len.unwrap();
            prop_assert!(end <= bytes.len() as u64);
        }
    }
}
