use super::*;
use proptest::prelude::*;
use std::fs;
use std::time::{Duration, SystemTime};

const TIME: &str = r#""timestamp":"2026-01-02T03:04:05.000Z""#;

fn header(rest: &str) -> String {
    format!(r#"{{"type":"session","version":3,{TIME}{rest}}}"#)
}

fn user(content: &str) -> String {
    format!(
        r#"{{"type":"message","id":"i","parentId":null,{TIME},"message":{{"role":"user","content":{content}}}}}"#
    )
}

fn name_of(text: &str) -> Option<String> {
    let beginning = describe_beginning(text)?;
    let name = beginning.name(Path::new("/s/2026_file.jsonl"));
    Some(String::from_utf16(&name).unwrap())
}

#[test]
fn names_prefer_title_then_prompt_then_id_then_file() {
    let cases = [
        (r#","id":"x","title":"T""#, r#""P""#, "T"),
        (r#","id":"x","title":"  \t ""#, r#""P""#, "x"),
        (r#","id":"x","title":"""#, r#""P""#, "P"),
        (r#","id":"x","title":5"#, r#""P""#, "x"),
        (r#","id":"x","title":null"#, r#""P""#, "P"),
        (r#","id":"x""#, r#"" \n P""#, "x"),
        (r#","id":"x""#, r#""\u0007 a\u007fb \r\nc""#, "ab"),
        (r#","id":"x""#, r#""""#, "x"),
        (r#","id":"x""#, "5", "x"),
        (
            r#","id":"x""#,
            r#"[{"type":"image","data":"d"},{"type":"any","text":"B"}]"#,
            "B",
        ),
        (r#","id":"""#, r#""""#, "2026_file"),
        (r#","id":"\n""#, r#""""#, "2026_file"),
    ];
    for (rest, content, expected) in cases {
        let text = format!("{}\n{}\n", header(rest), user(content));
        assert_eq!(
            name_of(&text).as_deref(),
            Some(expected),
            "{rest} {content}"
        );
    }
}

#[test]
fn the_first_prompt_that_can_be_read_counts() {
    let text = format!(
        "{}\n{}\n{}\n{}\n{}",
        header(r#","id":"x""#),
        user("5"),
        r#"{"type":"message","message":{"role":"assistant","content":"A"}}"#,
        user(r#"[{"type":"image"}]"#),
        user(r#""P""#),
    );
    assert_eq!(name_of(&text).unwrap(), "P");
    let torn = format!("{}\n{}", header(r#","id":"x""#), &user(r#""P""#)[..90]);
    assert_eq!(name_of(&torn).unwrap(), "x");
}

#[test]
fn halves_of_surrogate_pairs_stay_in_names() {
    let text = header(r#","id":"x","title":"a\ud83d""#);
    let name = describe_beginning(&text)
        .unwrap()
        .name(Path::new("/s/f.jsonl"));
    assert_eq!(name, [0x61, 0xd83d]);
}

#[test]
fn a_slot_before_the_header_gives_the_title() {
    let slot = |title: &str| {
        format!(r#"{{"type":"title","v":1,"title":"{title}","updatedAt":"x","pad":""}}"#)
    };
    let rest = format!(
        "{}\n{}",
        header(r#","id":"x","title":"old""#),
        user(r#""P""#)
    );
    assert_eq!(name_of(&format!("{}\n{rest}", slot("S"))).unwrap(), "S");
    assert_eq!(name_of(&format!("{}\n{rest}", slot(""))).unwrap(), "P");
}

#[test]
fn fallback_names() {
    let name = |path: &str| String::from_utf16(&fallback_name(Path::new(path))).unwrap();
    assert_eq!(name("/s/a.jsonl.jsonl"), "a.jsonl");
    assert_eq!(name("/s/.jsonl"), "Unknown");
}

#[test]
fn what_is_no_session_has_no_name() {
    for text in [
        "",
        "not json",
        r#"{"type":"message"}"#,
        r#"{"type":"other","id":"x"}"#,
        r#"{"type":"session","id":5}"#,
        r#"{"type":"session"}"#,
        "[]",
    ] {
        assert_eq!(name_of(text), None, "{text}");
    }
    // A damaged header does not hide what follows it.
    assert_eq!(
        name_of(&format!("{{torn\n{}", user(r#""P""#))).unwrap(),
        "P"
    );
}

struct Dir {
    root: tempfile::TempDir,
}

impl Dir {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    /// Writes a file that was modified `age` seconds ago.
    fn put(&self, name: &str, text: &str, age: u64) {
        let path = self.root.path().join(name);
        fs::write(&path, text).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }

    fn newest(&self) -> Option<String> {
        let path = most_recent(self.root.path(), None).unwrap()?;
        Some(path.file_name().unwrap().to_string_lossy().into_owned())
    }

    fn names(&self, count: usize) -> Vec<String> {
        let recent = recent(self.root.path(), count).unwrap();
        recent
            .iter()
            .map(|it| String::from_utf16(&it.name).unwrap())
            .collect()
    }
}

#[test]
fn the_newest_session_wins_and_equals_are_ordered_by_name() {
    let dir = Dir::new();
    assert_eq!(dir.newest(), None);
    for (name, age) in [("b", 5), ("a", 9), ("d", 5), ("c", 5)] {
        let text = header(&format!(r#","id":"{name}""#));
        dir.put(&format!("{name}.jsonl"), &text, age);
    }
    dir.put("new.jsonl", "no session", 1);
    dir.put("new.txt", &header(r#","id":"x""#), 0);
    assert_eq!(dir.newest().unwrap(), "d.jsonl");
    assert_eq!(dir.names(usize::MAX), ["d", "c", "b", "a"]);
    assert_eq!(dir.names(2), ["d", "c"]);
    assert!(dir.names(0).is_empty());
}

#[test]
fn the_end_of_a_long_header_is_looked_for() {
    let dir = Dir::new();
    dir.put("a.jsonl", &header(r#","id":"old""#), 9);
    for length in [4096, 10_000, 65_500, 70_000, 3_000_000] {
        let text = header(&format!(r#","title":"{}","id":"long""#, "t".repeat(length)));
        dir.put("b.jsonl", &text, 1);
        assert_eq!(dir.newest().unwrap(), "b.jsonl", "{length}");
    }
    let endless = header(&format!(
        r#","title":"{}","id":"long""#,
        "t".repeat(LONGEST_PREFIX as usize)
    ));
    dir.put("b.jsonl", &endless, 1);
    assert_eq!(dir.newest().unwrap(), "a.jsonl");
}

#[test]
fn prompts_beyond_the_first_bytes_are_not_looked_for() {
    let dir = Dir::new();
    let filler = r#"{"type":"custom","data":""#.to_owned() + &"x".repeat(5000) + "\"}";
    let text = format!("{}\n{filler}\n{}", header(r#","id":"x""#), user(r#""P""#));
    dir.put("a.jsonl", &text, 1);
    assert_eq!(dir.names(1), ["x"]);
}

#[test]
fn long_headers_in_text_ask_for_more() {
    let long = header(&format!(r#","title":"{}","id":"x""#, "t".repeat(5000)));
    assert_eq!(longer_prefix(&long[..4096], 4096), Some(65_536));
    assert_eq!(longer_prefix(&long, 65_536), None);
    assert_eq!(longer_prefix("short", 4096), None);
    let endless = " ".repeat(LONGEST_PREFIX as usize);
    assert_eq!(longer_prefix(&endless[..65_536], 65_536), Some(1_048_576));
    assert_eq!(longer_prefix(&endless, LONGEST_PREFIX), None);
}

#[test]
fn entries_behind_a_damaged_header_are_enough() {
    let lines = format!("{{\"type\":\"sess\n{}\n", user(r#""P""#));
    let text = lines.repeat(1 + 65_536 / lines.len());
    assert_eq!(longer_prefix(&text[..4096], 4096), Some(65_536));
    assert_eq!(longer_prefix(&text[..65_536], 65_536), None);
}

#[cfg(unix)]
#[test]
fn files_that_cannot_be_read_are_passed_over() {
    use std::os::unix::fs::symlink;
    let dir = Dir::new();
    dir.put("a.jsonl", &header(r#","id":"a""#), 9);
    symlink("nowhere", dir.root.path().join("link.jsonl")).unwrap();
    fs::create_dir(dir.root.path().join("dir.jsonl")).unwrap();
    assert_eq!(dir.names(9), ["a"]);
    assert!(
        recent(&dir.root.path().join("missing"), 9)
            .unwrap()
            .is_empty()
    );
}

proptest! {
    #[test]
    fn any_cut_of_a_session_is_read_without_complaint(cut in 0usize..300) {
        let text = format!("{}\n{}\n", header(r#","id":"x""#), user(r#""P""#));
        let cut = cut.min(text.len());
        let name = name_of(&text[..cut]);
        let header_end = header(r#","id":"x""#).len();
        prop_assert_eq!(name.is_some(), cut >= header_end);
    }

    #[test]
    fn names_are_one_trimmed_line(title in any::<String>()) {
        let title = serde_json::to_string(&title).unwrap();
        let name = name_of(&header(&format!(r#","id":"x","title":{title}"#))).unwrap();
        prop_assert!(!name.is_empty());
        let is_control = |c: char| c < ' ' || c == '\u{7f}';
        prop_assert_eq!(name.find(is_control), None);
        prop_assert_eq!(crate::text::js_trim(&name), name.as_str());
    }
}
