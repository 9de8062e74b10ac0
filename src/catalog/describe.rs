//! What a listing tells about one session, collected in one pass over its file.
//!
//! The pass sees the same values as opening the session does: it uses the loader's line reader, so
//! torn, glued and foreign lines are treated alike. Memory is one buffer that grows to the longest
//! line, and the texts of the result. What was said is collected for those only who ask for it.

use std::cell::Cell;
use std::io::{self, Read};
use std::path::Path;

use super::files::stem;
use super::line::{self, Id, Line};
use crate::journal::lines::{Lines, Piece};
use crate::journal::load::id_from_name;
use crate::session::time;

/// Where the searchable text of a session is cut, in bytes: less than the longest string that
/// JavaScript engines can hold.
const LONGEST_TEXT: usize = 256 << 20;

/// A session as listings show it. Texts are WTF-8.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    /// The header, or `None` when its line is damaged but entries can be read.
    pub header: Option<Header>,
    /// The title in the slot before the header, if there is a slot; it may be empty.
    pub slot_title: Option<Vec<u8>>,
    /// The `shortSummary` of the last compaction that has one.
    pub short_summary: Option<Vec<u8>>,
    /// Number of messages of all roles, on all branches.
    pub message_count: u32,
    /// The first text that the user wrote.
    pub first_message: Option<Vec<u8>>,
}

/// All texts of the user and the assistant, on all branches, joined with spaces. WTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said(pub Vec<u8>);

/// The header of a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its line's JSON text.
    pub text: Vec<u8>,
    /// Whether it has an id that can be shown (no empty string, not zero).
    pub has_id: bool,
    /// Its `cwd`, if that is a string.
    pub cwd: Option<String>,
}

impl Header {
    pub(super) fn new(line: &Line<'_>) -> Self {
        Self {
            text: line.text.to_vec(),
            has_id: match line.id {
                Id::None => false,
                Id::Number(counts) => counts,
                Id::Text(text) => !text.raw().is_empty(),
            },
            cwd: line.cwd.map(|cwd| cwd.to_text()),
        }
    }
}

impl Description {
    /// The working directory that the session's header names.
    pub fn cwd(&self) -> Option<&str> {
        self.header.as_ref()?.cwd.as_deref()
    }
}

impl Said {
    fn add(&mut self, text: &[u8]) {
        if self.0.len() + text.len() < LONGEST_TEXT {
            if !self.0.is_empty() {
                self.0.push(b' ');
            }
            self.0.extend_from_slice(text);
        }
    }
}

/// Whose texts are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// The user's and the assistant's.
    All,
    /// The user's, until one is found that is not empty.
    First,
    Nothing,
}

/// What is kept of one value while the line it stands in is in memory.
enum Item {
    Header(Header),
    Title(Vec<u8>),
    ShortSummary(Vec<u8>),
    Message { from_user: bool, text: Vec<u8> },
    Other,
}

struct Found {
    item: Item,
    is_complete: bool,
    is_evidence: bool,
}

impl Found {
    fn new(line: &Line<'_>, wanted: Wanted) -> Self {
        Self {
            is_complete: line.is_complete(),
            is_evidence: line.is_evidence(),
            item: Item::new(line, wanted),
        }
    }
}

impl Item {
    fn new(line: &Line<'_>, wanted: Wanted) -> Self {
        if line.is("session") {
            return Self::Header(Header::new(line));
        }
        match (&line.message, line.title, line.short_summary) {
            (Some(message), ..) if line.is("message") => Self::Message {
                from_user: message.is_from_user(),
                text: match wanted {
                    Wanted::All if message.is_conversation() => message.text(),
                    Wanted::First if message.is_from_user() => message.text(),
                    _ => Vec::new(),
                },
            },
            (_, _, Some(summary)) if line.is("compaction") => {
                Self::ShortSummary(summary.decode().into_owned())
            }
            (_, Some(title), _) if line.is("title") => Self::Title(title.decode().into_owned()),
            _ => Self::Other,
        }
    }
}

/// Reads a session to its end. `None` when it is none: neither a header with an id nor anything that
/// is surely an entry. `said` gets what was said, if it is wanted.
pub fn describe(
    lines: &mut Lines<impl Read>,
    mut said: Option<&mut Said>,
) -> io::Result<Option<Description>> {
    let mut description = Description::default();
    let (mut is_first, mut has_entries) = (true, false);
    let wanted = Cell::new(match said {
        Some(_) => Wanted::All,
        None => Wanted::First,
    });
    let parse = |cursor: &mut crate::json::Cursor<'_>| {
        let line = line::read(cursor)?;
        Ok(Found::new(&line, wanted.get()))
    };
    while let Some(piece) = lines.next(parse, |found: &Found| found.is_complete)? {
        let Piece::Value { value: found, .. } = piece else {
            continue;
        };
        has_entries |= found.is_evidence;
        if let (Some(said), Item::Message { text, .. }) = (said.as_deref_mut(), &found.item)
            && !text.is_empty()
        {
            said.add(text);
        }
        take(&mut description, found.item, is_first);
        if wanted.get() == Wanted::First && description.first_message.is_some() {
            wanted.set(Wanted::Nothing);
        }
        is_first = false;
    }
    let has_id = description.header.as_ref().is_some_and(|it| it.has_id);
    Ok((has_id || has_entries).then_some(description))
}

fn take(description: &mut Description, item: Item, is_first: bool) {
    match item {
        // Further headers are damage; the first one counts.
        Item::Header(header) => {
            description.header.get_or_insert(header);
        }
        Item::Title(title) if is_first => description.slot_title = Some(title),
        Item::ShortSummary(summary) => description.short_summary = Some(summary),
        Item::Message { from_user, text } => {
            description.message_count += 1;
            if from_user && !text.is_empty() {
                description.first_message.get_or_insert(text);
            }
        }
        Item::Title(_) | Item::Other => {}
    }
}

/// The first text that the user wrote, of a session of which only the beginning is read. `None` when
/// there is none.
pub fn first_message(lines: &mut Lines<impl Read>) -> io::Result<Option<Vec<u8>>> {
    let parse = |cursor: &mut crate::json::Cursor<'_>| {
        let line = line::read(cursor)?;
        Ok(Found::new(&line, Wanted::First))
    };
    while let Some(piece) = lines.next(parse, |found: &Found| found.is_complete)? {
        if let Piece::Value { value, .. } = piece
            && let Item::Message { text, .. } = value.item
            && !text.is_empty()
        {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// The id in a session's file name (`<time>_<id>.jsonl`), for sessions whose header has none; the
/// whole name without `.jsonl` when it has no such form.
pub fn id_in_name(path: &Path) -> String {
    if let Some(id) = id_from_name(path) {
        return id;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem(&name);
    match stem.rsplit_once('_') {
        Some((_, id)) if !id.is_empty() => id.to_owned(),
        _ => stem.to_owned(),
    }
}

/// The time in a session's file name, in milliseconds since 1970; NaN when there is none.
pub fn time_in_name(path: &Path) -> f64 {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stamp = name.split('_').next().unwrap_or_default();
    let Some((date, clock)) = stamp.split_once('T') else {
        return f64::NAN;
    };
    let parts: Vec<_> = clock.splitn(4, '-').collect();
    match parts[..] {
        [hour, minute, second, fraction] => {
            time::parse(format!("{date}T{hour}:{minute}:{second}.{fraction}").as_bytes())
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w/p"}"#;

    fn message(role: &str, content: &str) -> String {
        format!(
            r#"{{"type":"message","id":"i","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{{"role":"{role}","content":{content}}}}}"#
        )
    }

    /// Collecting what was said changes nothing else.
    fn read(text: &str) -> (Option<Description>, Said) {
        let mut said = Said::default();
        let mut lines = Lines::new(text.as_bytes());
        let description = describe(&mut lines, Some(&mut said)).unwrap();
        assert_eq!(
            describe(&mut Lines::new(text.as_bytes()), None).unwrap(),
            description
        );
        let first = first_message(&mut Lines::new(text.as_bytes())).unwrap();
        if let Some(description) = &description {
            assert_eq!(first, description.first_message);
        }
        (description, said)
    }

    fn described(text: &str) -> Option<Description> {
        read(text).0
    }

    fn summary(text: &str) -> (u32, String, String) {
        let (it, said) = read(text);
        let it = it.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            it.message_count,
            text(it.first_message.unwrap_or_default()),
            text(said.0),
        )
    }

    #[test]
    fn messages_of_all_branches_are_collected() {
        let text = [
            HEADER,
            &message(
                "assistant",
                r#"[{"type":"text","text":"a1"},{"type":"text","text":"a2"}]"#,
            ),
            &message("user", r#""""#),
            &message("toolResult", r#"[{"type":"text","text":"not searched"}]"#),
            &message("user", r#"" u1 ""#),
            &message("user", "5"),
            r#"{"type":"message","message":null}"#,
            r#"{"type":"custom_message","content":"not counted"}"#,
            &message("user", r#"[{"type":"text","text":"u2"}]"#),
        ]
        .join("\n");
        let (count, first, all) = summary(&text);
        assert_eq!(
            (count, first.as_str(), all.as_str()),
            (6, " u1 ", "a1 a2  u1  u2")
        );
    }

    #[test]
    fn the_last_short_summary_counts() {
        let text = [
            HEADER,
            r#"{"type":"compaction","shortSummary":"one"}"#,
            r#"{"type":"compaction","shortSummary":"two"}"#,
            r#"{"type":"compaction","shortSummary":5}"#,
            r#"{"type":"custom","shortSummary":"three"}"#,
        ]
        .join("\n");
        assert_eq!(described(&text).unwrap().short_summary.unwrap(), b"two");
    }

    #[test]
    fn sessions_without_messages_are_sessions() {
        let it = described(HEADER).unwrap();
        assert_eq!(it.cwd(), Some("/w/p"));
        assert_eq!(it.header.unwrap().text, HEADER.as_bytes());
        assert_eq!((it.message_count, it.first_message), (0, None));
    }

    #[test]
    fn what_is_no_session_is_none() {
        for text in [
            "",
            "\n  \n",
            "plain text\nmore",
            "5\nnull\n[]",
            r#"{"type":"session"}"#,
            r#"{"type":"session","id":""}"#,
            r#"{"type":"session","id":0}"#,
            r#"{"type":"message","message":{"role":"user","content":"no entry fields"}}"#,
        ] {
            assert_eq!(described(text), None, "{text}");
        }
    }

    #[test]
    fn lines_around_and_between_do_not_hide_a_session() {
        let user = message("user", r#""hi""#);
        for text in [
            format!("\u{feff}{HEADER}\n{user}\n"),
            format!("\n \r\n{HEADER}\r\n{user}\r\n"),
            format!("{HEADER}\nnull\n123\n[]\n\"str\"\n{{}}\n{user}"),
            format!("{HEADER}\n{user}\n{{\"type\":\"message\",\"id\":\"torn"),
            format!("{HEADER}\ngarbage\n{user}\n"),
            format!("{HEADER}\n{{\"type\":\"message\",\"id\":\"t{user}\n"),
            format!("{HEADER}{user}\n"),
        ] {
            assert_eq!(summary(&text), (1, "hi".into(), "hi".into()), "{text}");
        }
    }

    #[test]
    fn a_damaged_header_does_not_hide_entries() {
        let user = message("user", r#""hi""#);
        let it = described(&format!("{{\"type\":\"sess\u{0}\n{user}\n")).unwrap();
        assert_eq!((it.header, it.message_count), (None, 1));
        let no_id = described(&format!(
            "{{\"type\":\"session\",\"cwd\":\"/w\"}}\n{user}\n"
        ))
        .unwrap();
        assert!(!no_id.header.as_ref().unwrap().has_id);
        assert_eq!(no_id.cwd(), Some("/w"));
    }

    #[test]
    fn the_slot_before_the_header_gives_the_title() {
        let slot = |title: &str| {
            format!(r#"{{"type":"title","v":1,"title":"{title}","updatedAt":"x","pad":"  "}}"#)
        };
        let it = described(&format!("{}\n{HEADER}\n", slot("T"))).unwrap();
        assert_eq!(it.slot_title.unwrap(), b"T");
        let it = described(&format!("{}\n{HEADER}\n", slot(""))).unwrap();
        assert_eq!(it.slot_title.unwrap(), b"");
        let it = described(&format!("{HEADER}\n{}\n", slot("late"))).unwrap();
        assert_eq!(it.slot_title, None);
    }

    #[test]
    fn halves_of_surrogate_pairs_are_kept() {
        let text = format!("{HEADER}\n{}", message("user", r#""a\ud83d""#));
        assert_eq!(read(&text).1.0, b"a\xed\xa0\xbd");
    }

    #[test]
    fn ids_and_times_in_names() {
        let id = |name: &str| id_in_name(Path::new(name));
        assert_eq!(id("/s/2026-01-02T03-04-05-006Z_00ab.jsonl"), "00ab");
        assert_eq!(id("/s/a_b_c.jsonl"), "c");
        assert_eq!(id("/s/plain.jsonl"), "plain");
        assert_eq!(id("/s/odd_.jsonl"), "odd_");
        let time = |name: &str| time_in_name(Path::new(name));
        assert_eq!(time("1970-01-01T00-00-01-500Z_00ab.jsonl"), 1500.0);
        for name in ["plain.jsonl", "2026T1.jsonl", "2026-01-02Tx-y-z-0Z_a.jsonl"] {
            assert!(time(name).is_nan(), "{name}");
        }
    }
}
