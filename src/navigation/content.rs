//! Texts of messages.

use std::borrow::Cow;

use crate::json::cursor::Step;
use crate::json::text::{prefix_of_units, utf16_len};
use crate::json::{Cursor, Kind, RawStr};
use crate::text::{is_blank, trim};

use super::call::Call;

/// How much of a content a list shows, in UTF-16 units.
pub const EXCERPT: usize = 200;

/// The `content` of a message.
#[derive(Debug, Default, Clone)]
pub struct Content<'a> {
    /// JavaScript takes the value for true.
    pub is_present: bool,
    /// The value, if it is a string.
    string: Option<RawStr<'a>>,
    /// The texts of its text blocks, if it is a list.
    blocks: Vec<RawStr<'a>>,
    /// The tool calls in it.
    pub calls: Vec<Call<'a>>,
}

impl<'a> Content<'a> {
    /// Reads a value of any type.
    pub fn read(cursor: &mut Cursor<'a>) -> Step<Self> {
        let mut content = Self::default();
        match cursor.kind()? {
            Kind::String => {
                let text = cursor.string()?;
                content.is_present = !text.raw().is_empty();
                content.string = Some(text);
            }
            Kind::Array => {
                content.is_present = true;
                cursor.array(|cursor| content.read_block(cursor))?;
            }
            _ => content.is_present = is_true(cursor)?,
        }
        Ok(content)
    }

    fn read_block(&mut self, cursor: &mut Cursor<'a>) -> Step<()> {
        if cursor.kind()? != Kind::Object {
            cursor.skip()?;
            return Ok(());
        }
        let (mut kind, mut text, mut call) = (None, None, Call::default());
        cursor.object(|cursor, key| {
            match key.decode().as_ref() {
                b"type" => kind = cursor.string_or_skip()?,
                b"text" => text = cursor.string_or_skip()?,
                b"id" => call.id = cursor.string_or_skip()?,
                b"name" => call.name = cursor.string_or_skip()?,
                b"arguments" => call.arguments = cursor.skip().map(|span| cursor.slice(span))?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        match (kind, text) {
            (Some(kind), Some(text)) if kind.is("text") => self.blocks.push(text),
            (Some(kind), _) if kind.is("toolCall") => self.calls.push(call),
            _ => {}
        }
        Ok(())
    }

    fn texts(&self) -> impl Iterator<Item = &RawStr<'a>> {
        self.string.iter().chain(&self.blocks)
    }

    /// True for a string, as opposed to a list of blocks.
    pub fn is_string(&self) -> bool {
        self.string.is_some()
    }

    /// The string, or the texts of all text blocks without anything between them.
    pub fn text(&self) -> Vec<u8> {
        let mut whole = Vec::new();
        for text in self.texts() {
            whole.extend_from_slice(&text.decode());
        }
        whole
    }

    /// The beginning of [`Content::text`], at most [`EXCERPT`] units.
    pub fn excerpt(&self) -> Cow<'a, [u8]> {
        if let Some(text) = self.string.filter(|_| self.blocks.is_empty()) {
            return text.decode_prefix(EXCERPT);
        }
        if let [text] = self.blocks[..] {
            return text.decode_prefix(EXCERPT);
        }
        let (mut excerpt, mut left) = (Vec::new(), EXCERPT);
        for text in self.texts() {
            let piece = text.decode_prefix(left);
            excerpt.extend_from_slice(&piece);
            let taken = utf16_len(&piece);
            left -= taken.min(left);
            // A cut piece ends the text, even where half a character would still fit.
            if left == 0 || (left == 1 && text.utf16_len() > taken) {
                break;
            }
        }
        Cow::Owned(excerpt)
    }

    /// Whether any text in it is more than white space.
    pub fn is_visible(&self) -> bool {
        // The beginnings are cheaper to decode, and nearly always tell.
        self.texts().any(|text| !is_blank(&text.decode_prefix(64)))
            || self.texts().any(|text| !is_blank(&text.decode()))
    }
}

/// Whether JavaScript takes the next value for true. Steps over it.
pub fn is_true(cursor: &mut Cursor<'_>) -> Step<bool> {
    Ok(match cursor.kind()? {
        Kind::Number => cursor
            .number_or_skip()?
            .is_some_and(|number| number != 0.0 && !number.is_nan()),
        Kind::String => !cursor.string()?.raw().is_empty(),
        Kind::Null | Kind::False => {
            cursor.skip()?;
            false
        }
        Kind::Object | Kind::Array | Kind::True => {
            cursor.skip()?;
            true
        }
    })
}

/// Text on one line: line feeds and tabs become spaces one by one, then white space at both ends
/// goes.
pub fn one_line(text: &[u8]) -> Cow<'_, [u8]> {
    let text = trim(text);
    if memchr::memchr2(b'\n', b'\t', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut line = text.to_vec();
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\t') {
            *byte = b' ';
        }
    }
    Cow::Owned(line)
}

/// The first `units` UTF-16 units, without splitting a character.
pub fn cut(text: &mut Vec<u8>, units: usize) {
    text.truncate(prefix_of_units(text, units));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> (String, String, bool) {
        let content = Content::read(&mut Cursor::new(json.as_bytes())).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            text(content.text()),
            text(content.excerpt().into_owned()),
            content.is_visible(),
        )
    }

    #[test]
    fn strings_and_text_blocks() {
        for (json, text, visible) in [
            (r#""a\nb""#, "a\nb", true),
            (r#"" \u00a0\n""#, " \u{a0}\n", false),
            (
                r#"[{"type":"text","text":"a"},{"text":"b","type":"text"},{"type":"image","text":"c"}]"#,
                "ab",
                true,
            ),
            (
                r#"[{"type":"text","text":" "},{"type":"text"},{"type":"text","text":5},null,"x",{}]"#,
                " ",
                false,
            ),
            (
                r#"[{"type":"thinking","thinking":"a","text":"b"}]"#,
                "",
                false,
            ),
            ("null", "", false),
            ("{\"type\":\"text\",\"text\":\"a\"}", "", false),
            ("[]", "", false),
        ] {
            assert_eq!(
                read(json),
                (text.to_owned(), text.to_owned(), visible),
                "{json}"
            );
        }
    }

    #[test]
    fn excerpts_end_after_whole_characters() {
        let long = |prefix: usize| format!("\"{}😀b\"", "a".repeat(prefix));
        assert_eq!(read(&long(198)).1.len(), 202);
        assert_eq!(read(&long(199)).1.len(), 199);
        let blocks = format!(
            r#"[{{"type":"text","text":{}}},{{"type":"text","text":"next"}}]"#,
            long(199)
        );
        assert_eq!(read(&blocks).1, "a".repeat(199));
        let both = format!(
            r#"[{{"type":"text","text":"{}"}},{{"type":"text","text":"next"}}]"#,
            "a".repeat(197)
        );
        assert_eq!(read(&both).1, format!("{}nex", "a".repeat(197)));
    }

    #[test]
    fn what_is_seen_far_behind_white_space_counts() {
        assert!(read(&format!("\"{}x\"", " ".repeat(500))).2);
        assert!(!read(&format!("\"{}\"", "\\n".repeat(500))).2);
    }

    #[test]
    fn lines_are_joined_one_for_one() {
        assert_eq!(&*one_line(b" \ta\r\n\tb \n"), b"a\r  b");
        assert_eq!(&*one_line("\u{a0}a b".as_bytes()), b"a b");
    }
}
