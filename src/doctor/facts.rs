//! What an entry says about tools, compactions and blobs. Looked for only where a byte search says
//! that there can be something.

use memchr::memmem;

use super::images;
use crate::journal::verdict::id_key;
use crate::json::cursor::Step;
use crate::json::{Cursor, Kind, RawStr};
use crate::session::{EntryKind, Role};

/// The facts of one value.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Ids of the tool calls in an answer.
    pub calls: Vec<Vec<u8>>,
    /// Id of the call that this is the result of.
    pub result_of: Option<Vec<u8>>,
    /// The entry from which a compaction keeps.
    pub kept: Option<Vec<u8>>,
    /// What stands behind the prefix of references to blobs.
    pub blobs: Vec<String>,
}

/// Collects the facts of a valid JSON object.
pub fn read(text: &[u8], kind: EntryKind, role: Role) -> Facts {
    let mut facts = Facts {
        blobs: images::references(text),
        ..Facts::default()
    };
    // What was validated before can be read again.
    let _ = match (kind, role) {
        (EntryKind::Message, Role::Assistant) if has(text, b"toolCall") => calls(text, &mut facts),
        (EntryKind::Message, Role::ToolResult) => in_message(text, |cursor, key| {
            if key.is("toolCallId") {
                facts.result_of = text_value(cursor)?;
                return Ok(());
            }
            cursor.skip().map(|_| ())
        }),
        (EntryKind::Compaction, _) => member(text, "firstKeptEntryId", |cursor| {
            facts.kept = text_value(cursor)?.filter(|id| !id.is_empty());
            Ok(())
        }),
        _ => Ok(()),
    };
    facts
}

/// Whether a value is the title that some programs write before the header.
pub fn is_title_slot(text: &[u8]) -> bool {
    let (mut is_title, mut has_text) = (false, false);
    let outcome = Cursor::new(text).object(|cursor, key| {
        if key.is("type") {
            is_title = cursor
                .string_or_skip()?
                .is_some_and(|name| name.is("title"));
        } else if key.is("title") {
            has_text = cursor.string_or_skip()?.is_some();
        } else {
            cursor.skip()?;
        }
        Ok(())
    });
    outcome.is_ok() && is_title && has_text
}

fn has(text: &[u8], part: &[u8]) -> bool {
    memmem::find(text, part).is_some()
}

/// The key of a string; `None` for another value.
fn text_value(cursor: &mut Cursor<'_>) -> Step<Option<Vec<u8>>> {
    Ok(cursor
        .string_or_skip()?
        .map(|text| id_key(&text).into_owned()))
}

/// Reads the members of one name of the outermost object.
fn member<'a>(
    text: &'a [u8],
    name: &str,
    mut read: impl FnMut(&mut Cursor<'a>) -> Step<()>,
) -> Step<()> {
    Cursor::new(text).object(|cursor, key| {
        if key.is(name) {
            read(cursor)
        } else {
            cursor.skip().map(|_| ())
        }
    })
}

fn object_or_skip<'a>(
    cursor: &mut Cursor<'a>,
    read: impl FnMut(&mut Cursor<'a>, RawStr<'a>) -> Step<()>,
) -> Step<()> {
    if cursor.kind()? == Kind::Object {
        cursor.object(read)
    } else {
        cursor.skip().map(|_| ())
    }
}

fn in_message<'a>(
    text: &'a [u8],
    mut read: impl FnMut(&mut Cursor<'a>, RawStr<'a>) -> Step<()>,
) -> Step<()> {
    member(text, "message", |cursor| object_or_skip(cursor, &mut read))
}

fn calls(text: &[u8], facts: &mut Facts) -> Step<()> {
    in_message(text, |cursor, key| {
        if !key.is("content") || cursor.kind()? != Kind::Array {
            return cursor.skip().map(|_| ());
        }
        facts.calls.clear();
        cursor.array(|cursor| {
            let (mut is_call, mut id) = (false, None);
            object_or_skip(cursor, |cursor, key| {
                if key.is("type") {
                    is_call = cursor
                        .string_or_skip()?
                        .is_some_and(|name| name.is("toolCall"));
                } else if key.is("id") {
                    id = text_value(cursor)?;
                } else {
                    cursor.skip()?;
                }
                Ok(())
            })?;
            facts.calls.extend(id.filter(|_| is_call));
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_results_and_kept_entries_are_found() {
        let call = br#"{"message":{"content":[{"type":"text","text":"toolCall"},{"id":"c1","type":"toolCall"},5,{"type":"toolCall"}]}}"#;
        let facts = read(call, EntryKind::Message, Role::Assistant);
        assert_eq!(facts.calls, [b"c1".to_vec()]);
        let result = br#"{"message":{"toolCallId":"c\u0031"}}"#;
        let facts = read(result, EntryKind::Message, Role::ToolResult);
        assert_eq!(facts.result_of.as_deref(), Some(&b"c1"[..]));
        for (text, kept) in [
            (&br#"{"firstKeptEntryId":"k"}"#[..], Some(&b"k"[..])),
            (br#"{"firstKeptEntryId":null}"#, None),
            (br#"{"firstKeptEntryId":""}"#, None),
        ] {
            let facts = read(text, EntryKind::Compaction, Role::None);
            assert_eq!(facts.kept.as_deref(), kept);
        }
    }

    #[test]
    fn odd_shapes_have_no_facts() {
        for text in [
            &b"{}"[..],
            br#"{"message":"toolCall"}"#,
            br#"{"message":{"content":"toolCall"}}"#,
        ] {
            assert_eq!(
                read(text, EntryKind::Message, Role::Assistant),
                Facts::default()
            );
        }
    }

    #[test]
    fn title_slots_are_told_from_entries() {
        assert!(is_title_slot(
            br#"{"type":"title","v":1,"title":"T","pad":"  "}"#
        ));
        assert!(!is_title_slot(br#"{"type":"title"}"#));
        assert!(!is_title_slot(br#"{"type":"session","title":"T"}"#));
        assert!(!is_title_slot(b"5"));
    }
}
