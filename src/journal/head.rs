//! The fields of a line that the index needs, read in the same pass that validates the line.

use crate::json::cursor::Step;
use crate::json::{Cursor, Kind, RawStr};
use crate::session::{EntryKind, Role, Usage, time};

/// The value of an `id` member.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum IdValue<'a> {
    /// Missing, or a value that cannot identify anything.
    #[default]
    None,
    /// The usual case.
    Text(RawStr<'a>),
    /// Found in foreign files; told apart from text of the same digits.
    Number(f64),
}

/// The value of a `parentId` member.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum ParentValue<'a> {
    /// No such member, or a value that cannot be an id.
    #[default]
    Absent,
    /// JSON `null`.
    Null,
    /// An id.
    Id(IdValue<'a>),
}

/// What kind of value a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Not an object.
    #[default]
    Scalar,
    /// An object of type `session`.
    Header,
    /// Any other object.
    Object,
}

/// The fields of one value.
#[derive(Debug, Clone, Copy, Default)]
pub struct Head<'a> {
    /// What it is.
    pub shape: Shape,
    /// True when `type` is a string.
    pub typed: bool,
    /// Its kind; [`EntryKind::Unknown`] without a known `type`.
    pub kind: EntryKind,
    /// Its id.
    pub id: IdValue<'a>,
    /// Its parent link.
    pub parent: ParentValue<'a>,
    /// The raw text of its timestamp, if that is a string.
    pub timestamp_text: Option<RawStr<'a>>,
    /// Its timestamp in milliseconds since 1970, or NaN.
    pub timestamp: f64,
    /// Role of its message.
    pub role: Role,
    /// Usage of an assistant message or `task` result.
    pub usage: Option<Usage>,
    /// Its message carries replay metadata of a closed provider connection.
    pub stale_replay: bool,
    /// Target of a label.
    pub label_target: Option<IdValue<'a>>,
    /// Text of a label.
    pub label: Option<RawStr<'a>>,
    /// `firstKeptEntryIndex` of version 1 compactions.
    pub first_kept_index: Option<f64>,
    /// `version` of a header; `None` when missing or `null`, NaN when it is no number.
    pub version: Option<f64>,
}

impl Head<'_> {
    /// True for a value that would be accepted as an entry even in the middle of damaged bytes:
    /// it has all the fields that every entry has.
    pub fn is_complete_entry(&self) -> bool {
        self.shape == Shape::Object
            && self.typed
            && self.id != IdValue::None
            && self.parent != ParentValue::Absent
            && self.timestamp_text.is_some()
    }
}

/// Reads one value of any type.
pub fn read<'a>(cursor: &mut Cursor<'a>) -> Step<Head<'a>> {
    let mut head = Head {
        timestamp: f64::NAN,
        ..Head::default()
    };
    if cursor.kind()? != Kind::Object {
        cursor.skip()?;
        return Ok(head);
    }
    head.shape = Shape::Object;
    let mut message = Message::default();
    cursor.object(|cursor, key| member(cursor, key, &mut head, &mut message))?;
    head.role = message.role;
    if head.kind == EntryKind::Message {
        head.usage = message.counted_usage();
        head.stale_replay = message.role == Role::Assistant && message.replay_payload;
    }
    Ok(head)
}

fn member<'a>(
    cursor: &mut Cursor<'a>,
    key: RawStr<'a>,
    head: &mut Head<'a>,
    message: &mut Message,
) -> Step<()> {
    match key.decode().as_ref() {
        b"type" => set_type(head, cursor.string_or_skip()?),
        b"id" => head.id = id_value(cursor)?,
        b"parentId" => head.parent = parent_value(cursor)?,
        b"timestamp" => set_timestamp(cursor, head)?,
        b"message" => *message = read_message(cursor)?,
        b"targetId" => head.label_target = Some(id_value(cursor)?),
        b"label" => head.label = cursor.string_or_skip()?,
        b"firstKeptEntryIndex" => head.first_kept_index = cursor.number_or_skip()?,
        b"version" => head.version = version(cursor)?,
        _ => {
            cursor.skip()?;
        }
    }
    Ok(())
}

fn set_type(head: &mut Head<'_>, name: Option<RawStr<'_>>) {
    head.typed = name.is_some();
    (head.shape, head.kind) = match name {
        Some(name) if name.is("session") => (Shape::Header, EntryKind::Unknown),
        Some(name) => (Shape::Object, EntryKind::from_name(&name.decode())),
        None => (Shape::Object, EntryKind::Unknown),
    };
}

fn id_value<'a>(cursor: &mut Cursor<'a>) -> Step<IdValue<'a>> {
    match cursor.kind()? {
        Kind::String => cursor.string().map(IdValue::Text),
        Kind::Number => Ok(cursor
            .number_or_skip()?
            .map_or(IdValue::None, IdValue::Number)),
        _ => cursor.skip().map(|_| IdValue::None),
    }
}

fn parent_value<'a>(cursor: &mut Cursor<'a>) -> Step<ParentValue<'a>> {
    if cursor.kind()? == Kind::Null {
        cursor.skip()?;
        return Ok(ParentValue::Null);
    }
    Ok(match id_value(cursor)? {
        IdValue::None => ParentValue::Absent,
        id => ParentValue::Id(id),
    })
}

fn set_timestamp<'a>(cursor: &mut Cursor<'a>, head: &mut Head<'a>) -> Step<()> {
    if cursor.kind()? == Kind::Number {
        head.timestamp = cursor.number_or_skip()?.unwrap_or(f64::NAN);
        return Ok(());
    }
    head.timestamp_text = cursor.string_or_skip()?;
    head.timestamp = head
        .timestamp_text
        .map_or(f64::NAN, |text| time::parse(&text.decode()));
    Ok(())
}

/// A header's version; JavaScript's comparison takes numbers in strings for numbers.
fn version(cursor: &mut Cursor<'_>) -> Step<Option<f64>> {
    match cursor.kind()? {
        Kind::Null => cursor.skip().map(|_| None),
        Kind::String => {
            let text = cursor.string()?.to_text();
            Ok(Some(text.trim().parse().unwrap_or(f64::NAN)))
        }
        _ => Ok(Some(cursor.number_or_skip()?.unwrap_or(f64::NAN))),
    }
}

/// What is read of a message.
#[derive(Default)]
struct Message {
    role: Role,
    usage: Option<Usage>,
    details_usage: Option<Usage>,
    is_task: bool,
    replay_payload: bool,
}

impl Message {
    fn counted_usage(&self) -> Option<Usage> {
        match self.role {
            Role::Assistant => self.usage,
            Role::ToolResult if self.is_task => self.details_usage,
            _ => None,
        }
    }
}

fn read_message(cursor: &mut Cursor<'_>) -> Step<Message> {
    let mut message = Message::default();
    if cursor.kind()? != Kind::Object {
        cursor.skip()?;
        return Ok(message);
    }
    cursor.object(|cursor, key| {
        match key.decode().as_ref() {
            b"role" => {
                message.role = cursor
                    .string_or_skip()?
                    .map_or(Role::None, |name| Role::from_name(&name.decode()));
            }
            b"usage" => message.usage = read_usage(cursor)?,
            b"toolName" => message.is_task = cursor.string_or_skip()?.is_some_and(|n| n.is("task")),
            b"details" => {
                message.details_usage = None;
                in_object(cursor, "usage", |cursor| {
                    message.details_usage = read_usage(cursor)?;
                    Ok(())
                })?;
            }
            b"providerPayload" => {
                message.replay_payload = false;
                in_object(cursor, "type", |cursor| {
                    let name = cursor.string_or_skip()?;
                    message.replay_payload = name.is_some_and(|n| n.is("openaiResponsesHistory"));
                    Ok(())
                })?;
            }
            _ => {
                cursor.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(message)
}

/// Reads one member of an object and steps over everything else, whatever the value is.
fn in_object<'a, F>(cursor: &mut Cursor<'a>, name: &str, mut read: F) -> Step<()>
where
    F: FnMut(&mut Cursor<'a>) -> Step<()>,
{
    if cursor.kind()? != Kind::Object {
        return cursor.skip().map(|_| ());
    }
    cursor.object(|cursor, key| {
        if key.is(name) {
            read(cursor)
        } else {
            cursor.skip().map(|_| ())
        }
    })
}

fn read_usage(cursor: &mut Cursor<'_>) -> Step<Option<Usage>> {
    if cursor.kind()? != Kind::Object {
        cursor.skip()?;
        return Ok(None);
    }
    let mut usage = Usage::default();
    cursor.object(|cursor, key| {
        let field = match key.decode().as_ref() {
            b"input" => &mut usage.input,
            b"output" => &mut usage.output,
            b"cacheRead" => &mut usage.cache_read,
            b"cacheWrite" => &mut usage.cache_write,
            b"premiumRequests" => &mut usage.premium_requests,
            b"cost" => {
                return in_object(cursor, "total", |cursor| {
                    usage.cost = cursor.number_or_skip()?.unwrap_or(0.0);
                    Ok(())
                });
            }
            _ => return cursor.skip().map(|_| ()),
        };
        *field = cursor.number_or_skip()?.unwrap_or(0.0);
        Ok(())
    })?;
    Ok(Some(usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head<'_> {
        read(&mut Cursor::new(text.as_bytes())).unwrap()
    }

    #[test]
    fn fields_of_a_message() {
        let head = head(
            r#"{"type":"message","id":"ab","parentId":null,"timestamp":"1970-01-01T00:00:01.000Z","message":{"usage":{"input":3,"output":"x","cost":{"total":0.5}},"role":"assistant","providerPayload":{"items":[1],"type":"openaiResponsesHistory"}}}"#,
        );
        assert_eq!(head.kind, EntryKind::Message);
        assert_eq!(head.role, Role::Assistant);
        assert!(matches!(head.id, IdValue::Text(id) if id.is("ab")));
        assert_eq!(head.parent, ParentValue::Null);
        assert_eq!(head.timestamp, 1000.0);
        assert_eq!(
            head.usage.unwrap().to_array(),
            [3.0, 0.0, 0.0, 0.0, 0.0, 0.5]
        );
        assert!(head.stale_replay);
        assert!(head.is_complete_entry());
    }

    #[test]
    fn task_results_count_and_others_do_not() {
        let usage = |tool: &str| {
            let text = format!(
                r#"{{"type":"message","message":{{"role":"toolResult","toolName":"{tool}","details":{{"usage":{{"input":1}}}}}}}}"#
            );
            head(&text).usage.map(|usage| usage.input)
        };
        assert_eq!(usage("task"), Some(1.0));
        assert_eq!(usage("bash"), None);
    }

    #[test]
    fn anything_is_read_without_complaint() {
        for text in [
            "null",
            "5",
            "[]",
            "\"x\"",
            "{}",
            r#"{"type":5,"id":{},"parentId":[],"timestamp":true,"message":null}"#,
            r#"{"type":"message","message":{"role":1,"usage":[],"details":null,"providerPayload":"x"}}"#,
        ] {
            let head = head(text);
            assert!(!head.is_complete_entry(), "{text}");
            assert_eq!(head.usage, None);
        }
        assert!(matches!(head(r#"{"id":5}"#).id, IdValue::Number(n) if n == 5.0));
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        let head = head(r#"{"type":"session","type":"label","id":"a","id":"b"}"#);
        assert_eq!(head.shape, Shape::Object);
        assert!(matches!(head.id, IdValue::Text(id) if id.is("b")));
    }
}
