//! A session in a listing as a JSON text, which costs less to hand over than an object does.
//!
//! A row is an array: path, id, title, working directory, time of creation, time of modification in
//! milliseconds, number of messages, first message, whether that is cut, and the parent, which is
//! left out where the header has none. `null` stands for other things that are missing. Id, title,
//! time of creation and parent are whatever JSON values the header has, copied, not encoded anew.

use std::ops::Range;
use std::path::Path;

use super::describe::{Description, id_in_name, time_in_name};
use super::line::is_true;
use super::stamp::Stamp;
use crate::json::cursor::Step;
use crate::json::text::encode;
use crate::json::{Cursor, Kind};

/// First messages are cut behind this many bytes; the rest is read when somebody asks for it.
const LONGEST_FIRST: usize = 4096;
/// `null` is the time zero where a header has it for a time.
const EPOCH: &[u8] = b"0";
const NULL: &[u8] = b"null";

/// What a listing keeps of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The row.
    pub row: Box<[u8]>,
    /// The working directory in the header.
    pub cwd: Option<Box<str>>,
}

impl Entry {
    /// What is kept of a session: a long first message is cut.
    pub fn new(path: &Path, modified: Stamp, description: &Description) -> Self {
        let first = description.first_message.as_deref().map(cut);
        Self::with_first(path, Some(modified), description, first)
    }

    /// The same with all of the first message, for a text that did not come from a file.
    pub fn whole(path: &Path, description: &Description) -> Self {
        let first = description.first_message.as_deref();
        Self::with_first(path, None, description, first.map(|text| (text, false)))
    }

    fn with_first(
        path: &Path,
        modified: Option<Stamp>,
        description: &Description,
        first: Option<(&[u8], bool)>,
    ) -> Self {
        let cwd = description.cwd().map(Box::from);
        let header = description.header.as_ref().map(|header| &header.text[..]);
        // The line was read before, so it can be read again.
        let fields = header.map(|text| Fields::read(text).unwrap_or_default());
        let fields = fields.unwrap_or_default();
        let of = |span: &Option<Range<usize>>| header.unwrap_or_default().get(span.clone()?);
        let millis = modified.map(Stamp::millis);
        let created = match header {
            Some(_) => of(&fields.timestamp).map(|time| if time == NULL { EPOCH } else { time }),
            None => None,
        };
        let named = || {
            let time = time_in_name(path);
            let time = if time.is_nan() { millis } else { Some(time) };
            time.filter(|_| header.is_none())
                .map_or_else(|| NULL.to_vec(), number)
        };
        let is_cut = first.is_some_and(|(_, is_cut)| is_cut);
        let parts: [Vec<u8>; 9] = [
            encode(path.to_string_lossy().as_bytes()),
            of(&fields.id).map_or_else(|| encode(id_in_name(path).as_bytes()), <[u8]>::to_vec),
            title(description, of(&fields.title)),
            of(&fields.cwd).map_or_else(|| encode(b""), <[u8]>::to_vec),
            created.map_or_else(named, <[u8]>::to_vec),
            millis.map_or_else(|| NULL.to_vec(), number),
            description.message_count.to_string().into_bytes(),
            first.map_or_else(|| NULL.to_vec(), |(text, _)| encode(text)),
            is_cut.to_string().into_bytes(),
        ];
        let mut row = b"[".to_vec();
        row.extend(parts.join(&b','));
        if let Some(parent) = of(&fields.parent) {
            row.push(b',');
            row.extend_from_slice(parent);
        }
        row.push(b']');
        Self {
            row: row.into_boxed_slice(),
            cwd,
        }
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.row.len() + self.cwd.as_ref().map_or(0, |cwd| cwd.len())
    }
}

/// The rows of sessions as one array.
pub fn join<'a>(rows: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut text = b"[".to_vec();
    for row in rows {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(row);
    }
    text.push(b']');
    text
}

/// A whole number of milliseconds, as far as dates have them.
fn number(millis: f64) -> Vec<u8> {
    (millis as i64).to_string().into_bytes()
}

/// The beginning of a text, without splitting a character, and whether that is not all.
fn cut(text: &[u8]) -> (&[u8], bool) {
    if text.len() <= LONGEST_FIRST {
        return (text, false);
    }
    let is_start = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (0..=LONGEST_FIRST).rev().find(is_start).unwrap_or_default();
    (text.get(..end).unwrap_or_default(), true)
}

/// The title that a listing shows: the slot's, else the header's, else the last short summary.
fn title(description: &Description, in_header: Option<&[u8]>) -> Vec<u8> {
    let own = match &description.slot_title {
        Some(slot) => (!slot.is_empty()).then(|| encode(slot)),
        None => in_header.filter(|&title| title != NULL).map(<[u8]>::to_vec),
    };
    let summary = || description.short_summary.as_deref().map(encode);
    own.or_else(summary).unwrap_or_else(|| NULL.to_vec())
}

/// Where values stand in a header.
#[derive(Default)]
struct Fields {
    /// Only if JavaScript takes it for true.
    id: Option<Range<usize>>,
    title: Option<Range<usize>>,
    /// Only if it is a string.
    cwd: Option<Range<usize>>,
    timestamp: Option<Range<usize>>,
    parent: Option<Range<usize>>,
}

impl Fields {
    fn read(header: &[u8]) -> Step<Self> {
        let mut fields = Self::default();
        Cursor::new(header).object(|cursor, key| {
            match key.decode().as_ref() {
                b"id" => {
                    let counts = is_true(*cursor)?;
                    fields.id = Some(cursor.skip()?).filter(|_| counts);
                }
                b"cwd" => {
                    let is_string = cursor.kind()? == Kind::String;
                    fields.cwd = Some(cursor.skip()?).filter(|_| is_string);
                }
                b"title" => fields.title = Some(cursor.skip()?),
                b"timestamp" => fields.timestamp = Some(cursor.skip()?),
                b"parentSession" => fields.parent = Some(cursor.skip()?),
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::describe::describe;
    use crate::journal::lines::Lines;
    use std::time::{Duration, UNIX_EPOCH};

    const PATH: &str = "/s/1970-01-01T00-00-01-500Z_00ab.jsonl";

    fn entry(lines: &[&str]) -> Entry {
        let text = lines.join("\n");
        let description = describe(&mut Lines::new(text.as_bytes()), None);
        let modified = Stamp::from(UNIX_EPOCH + Duration::from_micros(2_500_900));
        Entry::new(Path::new(PATH), modified, &description.unwrap().unwrap())
    }

    fn row(lines: &[&str]) -> Vec<serde_json::Value> {
        serde_json::from_slice(&entry(lines).row).unwrap()
    }

    fn header(rest: &str) -> String {
        format!(r#"{{"type":"session"{rest}}}"#)
    }

    /// Makes sessions of headers without id.
    const SUMMARY: &str = r#"{"type":"compaction","timestamp":"t","shortSummary":"S"}"#;

    #[test]
    fn all_values_in_order() {
        let header = header(
            r#","id":"i","title":"T\ud83d","cwd":"/w","timestamp":"t","parentSession":{"a":[1]}"#,
        );
        let user = r#"{"type":"message","message":{"role":"user","content":"h\u00e9"}}"#;
        let made = entry(&[&header, user]);
        assert_eq!(
            String::from_utf8(made.row.to_vec()).unwrap(),
            format!(r#"["{PATH}","i","T\ud83d","/w","t",2500,1,"hé",false,{{"a":[1]}}]"#)
        );
        assert_eq!(made.cwd.as_deref(), Some("/w"));
        assert!(made.size() > made.row.len());
    }

    #[test]
    fn what_is_missing_or_counts_as_false() {
        let null = serde_json::Value::Null;
        let bare = row(&[&header(""), SUMMARY]);
        assert_eq!(
            bare[1..],
            [
                "00ab".into(),
                "S".into(),
                "".into(),
                null.clone(),
                2500.into(),
                0.into(),
                null.clone(),
                false.into()
            ]
        );
        // Without header, the name tells when it was made.
        assert_eq!(row(&[SUMMARY])[4], 1500);
        let of = |rest: &str, at: usize| row(&[&header(rest), SUMMARY]).get(at).cloned();
        for id in ["\"\"", "0", "-0.0", "null", "false"] {
            assert_eq!(
                of(&format!(r#","id":{id}"#), 1),
                Some("00ab".into()),
                "{id}"
            );
        }
        for id in ["[]", "7", "{\"a\":1}", "true"] {
            let expected = serde_json::from_str(id).unwrap();
            assert_eq!(of(&format!(r#","id":{id}"#), 1), Some(expected), "{id}");
        }
        assert_eq!(of(r#","id":7,"id":"last""#, 1), Some("last".into()));
        assert_eq!(of(r#","\u0069d":"spelled""#, 1), Some("spelled".into()));
        assert_eq!(of(r#","cwd":"/w","cwd":5"#, 3), Some("".into()));
        assert_eq!(of(r#","timestamp":null"#, 4), Some(0.into()));
        assert_eq!(of(r#","timestamp":[1]"#, 4), Some(vec![1].into()));
        assert_eq!(of(r#","parentSession":null"#, 9), Some(null));
        assert_eq!(of("", 9), None);
    }

    #[test]
    fn titles_of_all_origins() {
        let slot = |title: &str| format!(r#"{{"type":"title","title":"{title}"}}"#);
        let titled = header(r#","id":1,"title":"T""#);
        let of = |lines: &[&str]| row(lines)[2].clone();
        assert_eq!(of(&[&slot("L"), &titled, SUMMARY]), "L");
        assert_eq!(of(&[&slot(""), &titled, SUMMARY]), "S");
        assert_eq!(of(&[&titled, SUMMARY]), "T");
        assert_eq!(of(&[&header(r#","id":1,"title":null"#), SUMMARY]), "S");
        assert_eq!(of(&[&header(r#","id":1,"title":"""#), SUMMARY]), "");
        assert_eq!(of(&[&header(r#","id":1"#)]), serde_json::Value::Null);
    }

    #[test]
    fn long_first_messages_are_cut_between_characters() {
        for (text, expected) in [
            ("x".repeat(LONGEST_FIRST), LONGEST_FIRST),
            ("x".repeat(LONGEST_FIRST + 1), LONGEST_FIRST),
            ("長".repeat(LONGEST_FIRST), LONGEST_FIRST / 3 * 3),
        ] {
            let user =
                format!(r#"{{"type":"message","message":{{"role":"user","content":"{text}"}}}}"#);
            let row = row(&[&header(r#","id":1"#), &user]);
            assert_eq!(row[7].as_str().unwrap(), &text[..expected]);
            assert_eq!(row[8], text.len() > expected);
        }
    }

    #[test]
    fn rows_become_one_array() {
        assert_eq!(join([].into_iter()), b"[]");
        assert_eq!(join([&b"[1]"[..], b"[2]"].into_iter()), b"[[1],[2]]");
    }
}
