//! The members of an entry's JSON text that a list shows or searches.

use crate::json::cursor::Step;
use crate::json::{Cursor, Kind, RawStr};

use super::content::Content;

/// An entry. Everything borrows from its text; members of the wrong type count as missing.
#[derive(Debug, Default)]
pub struct Entry<'a> {
    /// `type`
    pub kind: Option<RawStr<'a>>,
    /// `timestamp`
    pub timestamp: Option<RawStr<'a>>,
    /// `message`, if that is an object.
    pub message: Option<Message<'a>>,
    /// `content`
    pub content: Content<'a>,
    /// `customType`
    pub custom_type: Option<RawStr<'a>>,
    /// `tokensBefore`
    pub tokens_before: Option<f64>,
    /// `summary`
    pub summary: Option<RawStr<'a>>,
    /// `model`
    pub model: Option<RawStr<'a>>,
    /// `thinkingLevel`
    pub thinking_level: Option<RawStr<'a>>,
    /// `label`
    pub label: Option<RawStr<'a>>,
}

/// A message.
#[derive(Debug, Default)]
pub struct Message<'a> {
    /// `role`
    pub role: Option<RawStr<'a>>,
    /// `content`
    pub content: Content<'a>,
    /// `stopReason`
    pub stop_reason: Option<RawStr<'a>>,
    /// `errorMessage`
    pub error: Option<RawStr<'a>>,
    /// `toolCallId`
    pub tool_call_id: Option<RawStr<'a>>,
    /// `toolName`
    pub tool_name: Option<RawStr<'a>>,
    /// `command`
    pub command: Option<RawStr<'a>>,
}

impl<'a> Entry<'a> {
    /// Reads one value of any type.
    pub fn read(cursor: &mut Cursor<'a>) -> Step<Self> {
        let mut entry = Self::default();
        if cursor.kind()? != Kind::Object {
            cursor.skip()?;
            return Ok(entry);
        }
        cursor.object(|cursor, key| {
            match key.decode().as_ref() {
                b"type" => entry.kind = cursor.string_or_skip()?,
                b"timestamp" => entry.timestamp = cursor.string_or_skip()?,
                b"message" => entry.message = Message::read(cursor)?,
                b"content" => entry.content = Content::read(cursor)?,
                b"customType" => entry.custom_type = cursor.string_or_skip()?,
                b"tokensBefore" => entry.tokens_before = cursor.number_or_skip()?,
                b"summary" => entry.summary = cursor.string_or_skip()?,
                b"model" => entry.model = cursor.string_or_skip()?,
                b"thinkingLevel" => entry.thinking_level = cursor.string_or_skip()?,
                b"label" => entry.label = cursor.string_or_skip()?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(entry)
    }
}

impl<'a> Message<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Step<Option<Self>> {
        if cursor.kind()? != Kind::Object {
            cursor.skip()?;
            return Ok(None);
        }
        let mut message = Self::default();
        cursor.object(|cursor, key| {
            match key.decode().as_ref() {
                b"role" => message.role = cursor.string_or_skip()?,
                b"content" => message.content = Content::read(cursor)?,
                b"stopReason" => message.stop_reason = cursor.string_or_skip()?,
                b"errorMessage" => message.error = cursor.string_or_skip()?,
                b"toolCallId" => message.tool_call_id = cursor.string_or_skip()?,
                b"toolName" => message.tool_name = cursor.string_or_skip()?,
                b"command" => message.command = cursor.string_or_skip()?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(Some(message))
    }
}
