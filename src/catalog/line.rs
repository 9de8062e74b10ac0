//! What finding sessions needs of one line of a session file.
//!
//! Everything borrows from the line; only texts that are wanted get decoded.

use crate::json::cursor::Step;
use crate::json::{Cursor, Kind, RawStr};
use crate::session::EntryKind;

/// The value of a line.
#[derive(Debug, Clone, Default)]
pub struct Line<'a> {
    /// Its `type`, if that is a string.
    pub kind: Option<RawStr<'a>>,
    /// Its `id`.
    pub id: Id<'a>,
    /// Whether it has a `parentId` that is `null` or an id.
    has_parent: bool,
    /// Whether its `timestamp` is a string.
    has_timestamp: bool,
    /// Its text, exactly as it stands there.
    pub text: &'a [u8],
    /// Its `cwd`, if that is a string.
    pub cwd: Option<RawStr<'a>>,
    /// Its `title`, if that is a string, and whether it counts as true.
    pub title: Option<RawStr<'a>>,
    /// Whether JavaScript takes its `title` for true.
    pub has_title: bool,
    /// Its `shortSummary`, if that is a string.
    pub short_summary: Option<RawStr<'a>>,
    /// Its `message`, unless JavaScript takes that for false.
    pub message: Option<Message<'a>>,
}

/// The value of an `id` member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Id<'a> {
    /// Missing, or no string and no number.
    #[default]
    None,
    /// A number; true unless JavaScript takes it for false.
    Number(bool),
    /// A string.
    Text(RawStr<'a>),
}

/// A message, as far as listings show it.
#[derive(Debug, Clone, Default)]
pub struct Message<'a> {
    role: Option<RawStr<'a>>,
    /// Its content's JSON text; empty when it has none. Read when a text is asked for: most
    /// messages are only counted.
    content: &'a [u8],
}

#[derive(Debug, Clone, Default)]
enum Content<'a> {
    #[default]
    Unreadable,
    Text(RawStr<'a>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Debug, Clone, Copy, Default)]
struct Block<'a> {
    /// Its `type` is `text`.
    is_text: bool,
    /// Its `text`, if that is a string.
    text: Option<RawStr<'a>>,
}

impl<'a> Line<'a> {
    /// True for an object of this type.
    pub fn is(&self, kind: &str) -> bool {
        self.kind.is_some_and(|found| found.is(kind))
    }

    /// True for what the loader takes for a header or an entry even behind torn bytes: it has all
    /// the fields that every header or entry has.
    pub fn is_complete(&self) -> bool {
        let is_whole_entry = self.has_parent && self.has_timestamp && self.kind.is_some();
        self.id != Id::None && (self.is("session") || is_whole_entry)
    }

    /// True for what shows that a file without readable header is a session: a whole entry, or one
    /// of a known kind as version 1 wrote them, without ids. Other JSON lines are no evidence.
    pub fn is_evidence(&self) -> bool {
        let is_known = self
            .kind
            .is_some_and(|kind| EntryKind::from_name(&kind.decode()) != EntryKind::Unknown);
        !self.is("session") && (self.is_complete() || is_known && self.has_timestamp)
    }
}

impl<'a> Message<'a> {
    /// True for what the user wrote.
    pub fn is_from_user(&self) -> bool {
        self.role.is_some_and(|role| role.is("user"))
    }

    /// True for messages whose text listings search: the user's and the assistant's.
    pub fn is_conversation(&self) -> bool {
        self.is_from_user() || self.role.is_some_and(|role| role.is("assistant"))
    }

    /// Its text as WTF-8: the content, or the texts of its text blocks joined with spaces.
    pub fn text(&self) -> Vec<u8> {
        match self.read_content() {
            Content::Unreadable => Vec::new(),
            Content::Text(text) => text.decode().into_owned(),
            Content::Blocks(blocks) => {
                let texts: Vec<_> = blocks
                    .iter()
                    .filter(|block| block.is_text)
                    .map(|block| block.text.map(|text| text.decode()).unwrap_or_default())
                    .collect();
                texts.join(&b' ')
            }
        }
    }

    /// Its text for naming a session: the content, or the first block's text that is a string,
    /// whatever the block's type.
    pub fn first_text(&self) -> Option<Vec<u8>> {
        match self.read_content() {
            Content::Unreadable => None,
            Content::Text(text) => Some(text.decode().into_owned()),
            Content::Blocks(blocks) => blocks
                .iter()
                .find_map(|block| block.text)
                .map(|text| text.decode().into_owned()),
        }
    }

    fn read_content(&self) -> Content<'a> {
        // What is no value was refused with its line.
        content(&mut Cursor::new(self.content)).unwrap_or_default()
    }
}

/// Reads one value of any type.
pub fn read<'a>(cursor: &mut Cursor<'a>) -> Step<Line<'a>> {
    let mut line = Line::default();
    if cursor.kind()? != Kind::Object {
        cursor.skip()?;
        return Ok(line);
    }
    let start = cursor.pos();
    cursor.object(|cursor, key| member(cursor, key, &mut line))?;
    line.text = cursor.slice(start..cursor.pos());
    Ok(line)
}

fn member<'a>(cursor: &mut Cursor<'a>, key: RawStr<'a>, line: &mut Line<'a>) -> Step<()> {
    match key.decode().as_ref() {
        b"type" => line.kind = cursor.string_or_skip()?,
        b"id" => line.id = id(cursor)?,
        b"parentId" => {
            let null = cursor.kind()? == Kind::Null;
            line.has_parent = id(cursor)? != Id::None || null;
        }
        b"timestamp" => line.has_timestamp = cursor.string_or_skip()?.is_some(),
        b"cwd" => line.cwd = cursor.string_or_skip()?,
        b"title" => {
            line.has_title = is_true(*cursor)?;
            line.title = cursor.string_or_skip()?;
        }
        b"shortSummary" => line.short_summary = cursor.string_or_skip()?,
        b"message" => {
            let counts = is_true(*cursor)?;
            line.message = Some(message(cursor)?).filter(|_| counts);
        }
        _ => {
            cursor.skip()?;
        }
    }
    Ok(())
}

fn id<'a>(cursor: &mut Cursor<'a>) -> Step<Id<'a>> {
    match cursor.kind()? {
        Kind::String => cursor.string().map(Id::Text),
        Kind::Number => Ok(Id::Number(cursor.number_or_skip()?.is_some_and(counts))),
        _ => cursor.skip().map(|_| Id::None),
    }
}

/// Whether JavaScript takes the next value for true.
pub(super) fn is_true(mut cursor: Cursor<'_>) -> Step<bool> {
    Ok(match cursor.kind()? {
        Kind::Object | Kind::Array | Kind::True => true,
        Kind::False | Kind::Null => false,
        Kind::Number => cursor.number_or_skip()?.is_some_and(counts),
        Kind::String => !cursor.string()?.raw().is_empty(),
    })
}

/// Whether JavaScript takes a number for true.
fn counts(number: f64) -> bool {
    number != 0.0 && !number.is_nan()
}

fn message<'a>(cursor: &mut Cursor<'a>) -> Step<Message<'a>> {
    let mut message = Message::default();
    if cursor.kind()? != Kind::Object {
        cursor.skip()?;
        return Ok(message);
    }
    cursor.object(|cursor, key| {
        match key.decode().as_ref() {
            b"role" => message.role = cursor.string_or_skip()?,
            b"content" => {
                let span = cursor.skip()?;
                message.content = cursor.slice(span);
            }
            _ => {
                cursor.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(message)
}

fn content<'a>(cursor: &mut Cursor<'a>) -> Step<Content<'a>> {
    match cursor.kind()? {
        Kind::String => cursor.string().map(Content::Text),
        Kind::Array => {
            let mut blocks = Vec::new();
            cursor.array(|cursor| {
                blocks.push(block(cursor)?);
                Ok(())
            })?;
            Ok(Content::Blocks(blocks))
        }
        _ => cursor.skip().map(|_| Content::Unreadable),
    }
}

fn block<'a>(cursor: &mut Cursor<'a>) -> Step<Block<'a>> {
    let mut block = Block::default();
    if cursor.kind()? != Kind::Object {
        cursor.skip()?;
        return Ok(block);
    }
    cursor.object(|cursor, key| {
        match key.decode().as_ref() {
            b"type" => block.is_text = cursor.string_or_skip()?.is_some_and(|kind| kind.is("text")),
            b"text" => block.text = cursor.string_or_skip()?,
            _ => {
                cursor.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::head;
    use proptest::prelude::*;

    fn line(text: &str) -> Line<'_> {
        read(&mut Cursor::new(text.as_bytes())).unwrap()
    }

    fn text_of(content: &str) -> String {
        let text =
            format!(r#"{{"type":"message","message":{{"content":{content},"role":"user"}}}}"#);
        let message = line(&text).message.unwrap();
        assert!(message.is_from_user() && message.is_conversation());
        String::from_utf8(message.text()).unwrap()
    }

    fn first_of(content: &str) -> Option<String> {
        let text = format!(r#"{{"message":{{"role":"user","content":{content}}}}}"#);
        let first = line(&text).message.unwrap().first_text()?;
        Some(String::from_utf8(first).unwrap())
    }

    #[test]
    fn texts_of_messages() {
        let cases = [
            (r#""hi \u00e9""#, "hi é"),
            (
                r#"[{"type":"text","text":"a"},{"type":"image","data":"x"},{"text":"b","type":"text"}]"#,
                "a b",
            ),
            (
                r#"[{"type":"text"},null,7,{"type":"text","text":"b"}]"#,
                " b",
            ),
            (r#"[{"type":"toolCall","text":"no"}]"#, ""),
            ("[]", ""),
            ("null", ""),
            (r#"{"type":"text","text":"no"}"#, ""),
        ];
        for (content, expected) in cases {
            assert_eq!(text_of(content), expected, "{content}");
        }
    }

    #[test]
    fn texts_for_names() {
        let cases = [
            (r#""""#, Some("")),
            (
                r#"[{"type":"image"},{"type":"any","text":"a"},{"text":"b"}]"#,
                Some("a"),
            ),
            (r#"[{"text":5}]"#, None),
            ("[]", None),
            ("5", None),
        ];
        for (content, expected) in cases {
            assert_eq!(first_of(content).as_deref(), expected, "{content}");
        }
    }

    #[test]
    fn messages_count_as_javascript_counts_them() {
        for (value, counts) in [
            ("null", false),
            ("0", false),
            ("-0.0", false),
            ("\"\"", false),
            ("false", false),
            ("{}", true),
            ("[]", true),
            ("1", true),
            ("\"x\"", true),
            ("true", true),
        ] {
            let text = format!(r#"{{"message":{value}}}"#);
            assert_eq!(line(&text).message.is_some(), counts, "{value}");
        }
    }

    #[test]
    fn headers_keep_their_text() {
        let text = r#"{"type":"session","id":"a","cwd":"\/w","title":5,"x":[1]}"#;
        let padded = format!("  {text}   ");
        let line = line(&padded);
        assert!(line.is("session") && line.is_complete() && !line.is_evidence());
        assert_eq!(line.text, text.as_bytes());
        assert!(line.cwd.is_some_and(|cwd| cwd.is("/w")));
        assert!(line.title.is_none() && line.has_title);
    }

    fn values() -> impl Strategy<Value = String> {
        prop::sample::select(vec![
            "null",
            "\"\"",
            "\"a\"",
            "\"session\"",
            "\"\\u0073ession\"",
            "\"message\"",
            "0",
            "7",
            "{}",
            "[1]",
            "true",
        ])
        .prop_map(str::to_owned)
    }

    proptest! {
        #[test]
        fn agrees_with_the_loader_on_what_an_entry_is(
            members in prop::collection::vec(
                (prop::sample::select(vec!["type", "id", "parentId", "timestamp", "message", "x"]), values()),
                0..7,
            ),
        ) {
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("\"{key}\":{value}"))
                .collect();
            let text = format!("{{{}}}", members.join(","));
            let theirs = head::read(&mut Cursor::new(text.as_bytes())).unwrap();
            let ours = line(&text);
            let is_header = theirs.shape == head::Shape::Header;
            prop_assert_eq!(ours.is("session"), is_header);
            let has_id = theirs.id != head::IdValue::None;
            let is_trusted = is_header && has_id || theirs.is_complete_entry();
            prop_assert_eq!(ours.is_complete(), is_trusted);
        }
    }
}
