//! What must be changed in a loaded line before anybody sees it.
//!
//! Files of older versions are not rewritten when they are opened, and replay metadata of a closed
//! provider connection must not be used again. Both are taken care of where the text of an entry
//! is read, for the next rewrite ([`adapt`]) and for the eyes of the caller ([`adapt_for_view`]).

use std::borrow::Cow;
use std::ops::Range;

use crate::json::cursor::Step;
use crate::json::text::encode;
use crate::json::{Cursor, Edits, Kind, RawStr};
use crate::session::record::Marks;
use crate::session::{Parent, Record, Slot, Tree};

/// What stands for replay metadata in the text that entry objects are made of. Callers find the
/// keys with the value `undefined`, which JSON cannot say, so the objects' side takes it out.
const STALE_PAYLOAD: &[u8] = br#"{"type":"openaiResponsesHistory"}"#;

#[derive(Clone, Copy, PartialEq)]
enum Use {
    Disk,
    View,
}

/// The text of an entry as the current version would have written it.
pub fn adapt<'a>(text: &'a [u8], slot: Slot, tree: &Tree) -> Cow<'a, [u8]> {
    adapt_to(Use::Disk, text, slot, tree)
}

/// The text that the object of an entry is made of: replay metadata is emptied but still marked.
pub fn adapt_for_view<'a>(text: &'a [u8], slot: Slot, tree: &Tree) -> Cow<'a, [u8]> {
    adapt_to(Use::View, text, slot, tree)
}

fn adapt_to<'a>(reader: Use, text: &'a [u8], slot: Slot, tree: &Tree) -> Cow<'a, [u8]> {
    let Some(record) = tree.record(slot).filter(|record| !record.marks.is_empty()) else {
        return Cow::Borrowed(text);
    };
    let mut edits = Edits::default();
    // The text was validated when it was indexed; should it have become unreadable, reading the
    // entry will tell.
    match adapt_entry(reader, text, slot, record, tree, &mut edits) {
        Ok(()) => edits.apply(text),
        Err(_) => Cow::Borrowed(text),
    }
}

fn adapt_entry(
    reader: Use,
    text: &[u8],
    slot: Slot,
    record: &Record,
    tree: &Tree,
    edits: &mut Edits,
) -> Step<()> {
    let entry = Members::of(text, 0)?;
    if let Some(message) = entry
        .get("message")
        .filter(|member| member.kind == Kind::Object)
    {
        if record.marks.has(Marks::HOOK_ROLE) {
            rename_hook_role(text, message, edits)?;
        }
        if record.marks.has(Marks::STALE_REPLAY) {
            match reader {
                Use::Disk => strip_replay(text, message, edits)?,
                Use::View => empty_replay(text, message, edits)?,
            }
        }
    }
    if record.marks.has(Marks::ASSIGNED_ID) {
        assign_ids(&entry, slot, record, tree, edits);
    }
    Ok(())
}

/// One member of an object.
struct Member<'a> {
    key: RawStr<'a>,
    /// From the key's quote to the end of the value.
    span: Range<usize>,
    value: Range<usize>,
    kind: Kind,
}

/// The members of one object, with the offset of its closing brace.
struct Members<'a> {
    list: Vec<Member<'a>>,
    close: usize,
}

impl<'a> Members<'a> {
    fn of(text: &'a [u8], at: usize) -> Step<Self> {
        let mut cursor = Cursor::at(text, at);
        let mut list = Vec::new();
        cursor.object(|cursor, key| {
            let kind = cursor.kind()?;
            let value = cursor.skip()?;
            // The key begins at the last quote before its own text.
            let start = key_offset(text, &key).unwrap_or(value.start);
            list.push(Member {
                key,
                span: start..value.end,
                value,
                kind,
            });
            Ok(())
        })?;
        Ok(Self {
            list,
            close: cursor.pos() - 1,
        })
    }

    /// The last member of a name, the one that counts.
    fn get(&self, name: &str) -> Option<&Member<'a>> {
        self.list.iter().rev().find(|member| member.key.is(name))
    }

    /// Notes the removal of all members of some names.
    fn remove(&self, names: &[&str], edits: &mut Edits) {
        let goes = |member: &Member<'_>| names.iter().any(|name| member.key.is(name));
        let mut kept_until = None;
        for (at, member) in self.list.iter().enumerate() {
            if !goes(member) {
                kept_until = Some(member.span.end);
                continue;
            }
            let span = match (kept_until, self.list.get(at + 1)) {
                (Some(kept), _) => kept..member.span.end,
                (None, Some(next)) => member.span.start..next.span.start,
                (None, None) => member.span.clone(),
            };
            if kept_until.is_some() {
                kept_until = Some(member.span.end);
            }
            edits.replace(span, Vec::new());
        }
    }
}

/// Offset of a key's opening quote: keys borrow from the text they were read from.
fn key_offset(text: &[u8], key: &RawStr<'_>) -> Option<usize> {
    let distance = (key.raw().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    distance.checked_sub(1)
}

fn rename_hook_role(text: &[u8], message: &Member<'_>, edits: &mut Edits) -> Step<()> {
    let members = Members::of(text, message.value.start)?;
    if let Some(role) = members.get("role") {
        edits.replace(role.value.clone(), b"\"custom\"".to_vec());
    }
    Ok(())
}

/// Removes the provider payload of a message and the signatures of its thinking blocks.
fn strip_replay(text: &[u8], message: &Member<'_>, edits: &mut Edits) -> Step<()> {
    let members = Members::of(text, message.value.start)?;
    members.remove(&["providerPayload"], edits);
    let Some(content) = members.get("content").filter(|m| m.kind == Kind::Array) else {
        return Ok(());
    };
    Cursor::at(text, content.value.start).array(|cursor| {
        let kind = cursor.kind()?;
        let span = cursor.skip()?;
        if kind != Kind::Object {
            return Ok(());
        }
        let block = Members::of(text, span.start)?;
        if block
            .get("type")
            .is_some_and(|member| is_text(text, member, "thinking"))
        {
            block.remove(&["thinkingSignature"], edits);
        }
        Ok(())
    })
}

/// Empties the provider payload of a message.
fn empty_replay(text: &[u8], message: &Member<'_>, edits: &mut Edits) -> Step<()> {
    if let Some(payload) = Members::of(text, message.value.start)?.get("providerPayload") {
        edits.replace(payload.value.clone(), STALE_PAYLOAD.to_vec());
    }
    Ok(())
}

fn is_text(text: &[u8], member: &Member<'_>, expected: &str) -> bool {
    member.kind == Kind::String
        && Cursor::at(text, member.value.start)
            .string()
            .is_ok_and(|value| value.is(expected))
}

/// Gives a version 1 entry the links that it got at load. Existing members keep their place, new
/// ones go to the end.
fn assign_ids(entry: &Members<'_>, slot: Slot, record: &Record, tree: &Tree, edits: &mut Edits) {
    let mut added: Vec<(&str, Vec<u8>)> = Vec::new();
    let parent = match record.parent() {
        Parent::Id(symbol) => encode(tree.ids().get(symbol)),
        Parent::Null | Parent::Absent => b"null".to_vec(),
    };
    let mut fields = vec![
        ("id", encode(tree.ids().get(record.id))),
        ("parentId", parent),
    ];
    let first_kept = tree.migrated_first_kept(slot);
    if let Some(Some(kept)) = first_kept {
        fields.push(("firstKeptEntryId", encode(tree.ids().get(kept))));
    }
    for (name, value) in fields {
        match entry.get(name) {
            Some(member) => edits.replace(member.value.clone(), value),
            None => added.push((name, value)),
        }
    }
    let mut remaining = entry.list.len();
    if first_kept.is_some() {
        entry.remove(&["firstKeptEntryIndex"], edits);
        let gone = |member: &&Member<'_>| member.key.is("firstKeptEntryIndex");
        remaining -= entry.list.iter().filter(gone).count();
    }
    let mut tail = Vec::new();
    for (name, value) in added {
        if remaining > 0 || !tail.is_empty() {
            tail.push(b',');
        }
        tail.extend_from_slice(format!("\"{name}\":").as_bytes());
        tail.extend_from_slice(&value);
    }
    edits.insert(entry.close, tail);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{EntryKind, Role};

    fn tree_with(marks: Marks, kept: Option<Option<&str>>) -> Tree {
        let mut tree = Tree::default();
        let id = tree.intern(b"new");
        let parent = Parent::Id(tree.intern(b"up"));
        let mut record = Record::new(id, parent, EntryKind::Message, Role::User, 0.0);
        record.marks = marks;
        let slot = tree.push(record);
        if let Some(kept) = kept {
            let kept = kept.map(|kept| tree.intern(kept.as_bytes()));
            tree.set_migrated_first_kept(slot, kept);
        }
        tree
    }

    fn adapted(text: &str, tree: &Tree) -> String {
        String::from_utf8(adapt(text.as_bytes(), 0, tree).into_owned()).unwrap()
    }

    #[test]
    fn unmarked_entries_are_untouched() {
        let tree = tree_with(Marks::default(), None);
        assert!(matches!(adapt(b"{}", 0, &tree), Cow::Borrowed(_)));
    }

    #[test]
    fn version_one_entries_get_links_at_the_end() {
        let tree = tree_with(Marks::ASSIGNED_ID, None);
        assert_eq!(
            adapted(r#"{"type":"x"}"#, &tree),
            r#"{"type":"x","id":"new","parentId":"up"}"#
        );
        assert_eq!(
            adapted(r#"{"id":7,"a":1}"#, &tree),
            r#"{"id":"new","a":1,"parentId":"up"}"#
        );
        assert_eq!(adapted("{}", &tree), r#"{"id":"new","parentId":"up"}"#);
    }

    #[test]
    fn compaction_indices_become_ids() {
        let tree = tree_with(Marks::ASSIGNED_ID, Some(Some("kept")));
        assert_eq!(
            adapted(r#"{"firstKeptEntryIndex":2,"a":1}"#, &tree),
            r#"{"a":1,"id":"new","parentId":"up","firstKeptEntryId":"kept"}"#
        );
        let tree = tree_with(Marks::ASSIGNED_ID, Some(None));
        assert_eq!(
            adapted(r#"{"firstKeptEntryIndex":99}"#, &tree),
            r#"{"id":"new","parentId":"up"}"#
        );
    }

    #[test]
    fn hook_messages_become_custom() {
        let tree = tree_with(Marks::HOOK_ROLE, None);
        assert_eq!(
            adapted(r#"{"message":{"role":"hookMessage","x":1}}"#, &tree),
            r#"{"message":{"role":"custom","x":1}}"#
        );
    }

    #[test]
    fn replay_metadata_is_marked_for_the_view() {
        let tree = tree_with(Marks::STALE_REPLAY, None);
        let text = br#"{"message":{"providerPayload":{"type":"openaiResponsesHistory","items":[1]},"x":1}}"#;
        assert_eq!(
            adapt_for_view(text, 0, &tree).as_ref(),
            br#"{"message":{"providerPayload":{"type":"openaiResponsesHistory"},"x":1}}"#
        );
    }

    #[test]
    fn replay_metadata_goes_and_other_signatures_stay() {
        let tree = tree_with(Marks::STALE_REPLAY, None);
        assert_eq!(
            adapted(
                r#"{"message":{"providerPayload":{"a":1},"content":[{"type":"thinking","thinking":"t","thinkingSignature":"s"},{"type":"text","textSignature":"k"},5]}}"#,
                &tree
            ),
            r#"{"message":{"content":[{"type":"thinking","thinking":"t"},{"type":"text","textSignature":"k"},5]}}"#
        );
    }
}
