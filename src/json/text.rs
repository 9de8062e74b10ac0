//! JSON strings: decoding, measuring and encoding.
//!
//! Decoded text is WTF-8: UTF-8 in which an escape for half a surrogate pair becomes the three
//! bytes that the code point would have. JavaScript strings may hold such halves, and they must
//! come back as the same escape.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A string as it stands between its quotes; the scanner has checked its escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawStr<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> RawStr<'a> {
    pub(super) fn new(raw: &'a [u8], escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The bytes between the quotes, escapes untouched.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Whether there are escapes in it.
    pub fn is_escaped(&self) -> bool {
        self.escaped
    }

    /// Compares the decoded text.
    pub fn is(&self, text: &str) -> bool {
        if self.escaped {
            self.decode().as_ref() == text.as_bytes()
        } else {
            self.raw == text.as_bytes()
        }
    }

    /// The text as WTF-8; borrowed when it has no escape.
    pub fn decode(&self) -> Cow<'a, [u8]> {
        if self.escaped {
            Cow::Owned(decode_escapes(self.raw))
        } else {
            Cow::Borrowed(self.raw)
        }
    }

    /// The first `units` UTF-16 units of the text as WTF-8, without splitting a character. Costs no
    /// more for a long text than for a short one.
    pub fn decode_prefix(&self, units: usize) -> Cow<'a, [u8]> {
        // A unit takes three bytes at most; four more hold the character at which the cut falls.
        let enough = units.saturating_mul(3).saturating_add(4);
        if self.raw.len() <= enough && !self.escaped {
            return cut(Cow::Borrowed(self.raw), units);
        }
        let decoded = if self.escaped {
            Cow::Owned(decode_up_to(self.raw, enough))
        } else {
            Cow::Borrowed(self.raw.get(..enough).unwrap_or(self.raw))
        };
        cut(decoded, units)
    }

    /// The text as UTF-8; invalid bytes and lone surrogates become U+FFFD.
    pub fn to_text(&self) -> String {
        match String::from_utf8(self.decode().into_owned()) {
            Ok(text) => text,
            Err(bad) => lossy(bad.as_bytes()),
        }
    }

    /// Length in UTF-16 code units, as JavaScript counts.
    pub fn utf16_len(&self) -> usize {
        utf16_len(&self.decode())
    }
}

fn cut(text: Cow<'_, [u8]>, units: usize) -> Cow<'_, [u8]> {
    let end = prefix_of_units(&text, units);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..end).unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

fn lossy(wtf8: &[u8]) -> String {
    String::from_utf16_lossy(&to_utf16(wtf8))
}

/// Length of WTF-8 text in UTF-16 code units.
pub fn utf16_len(wtf8: &[u8]) -> usize {
    if wtf8.is_ascii() {
        return wtf8.len();
    }
    wtf8.iter()
        .map(|&byte| match byte {
            0x80..=0xbf => 0,
            0xf0..=0xff => 2,
            _ => 1,
        })
        .sum()
}

/// Largest byte offset at which a prefix of at most `units` UTF-16 units ends without splitting a
/// character.
pub fn prefix_of_units(wtf8: &[u8], units: usize) -> usize {
    // No unit takes less than a byte.
    if wtf8.len() <= units {
        return wtf8.len();
    }
    let mut used = 0;
    for (offset, &byte) in wtf8.iter().enumerate() {
        let width = match byte {
            0x80..=0xbf => continue,
            0xf0..=0xff => 2,
            _ => 1,
        };
        if used + width > units {
            return offset;
        }
        used += width;
    }
    wtf8.len()
}

/// Turns WTF-8 into UTF-16; bytes that are neither UTF-8 nor a surrogate become U+FFFD.
pub fn to_utf16(wtf8: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(wtf8.len());
    let mut rest = wtf8;
    while !rest.is_empty() {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                units.extend(text.encode_utf16());
                break;
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                units.extend(std::str::from_utf8(good).unwrap_or_default().encode_utf16());
                let (unit, length) = match *bad {
                    [0xed, high @ 0xa0..=0xbf, low @ 0x80..=0xbf, ..] => (
                        0xd000 | u16::from(high & 0x3f) << 6 | u16::from(low & 0x3f),
                        3,
                    ),
                    _ => (0xfffd, error.error_len().unwrap_or(bad.len())),
                };
                units.push(unit);
                rest = bad.get(length..).unwrap_or_default();
            }
        }
    }
    units
}

/// Turns UTF-16 into WTF-8; unpaired surrogates keep their three-byte form.
pub fn from_utf16(units: &[u16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(units.len());
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok(character) => push_code_point(&mut out, u32::from(character)),
            Err(lone) => push_code_point(&mut out, u32::from(lone.unpaired_surrogate())),
        }
    }
    out
}

fn push_code_point(out: &mut Vec<u8>, code: u32) {
    let low = |shift: u32| 0x80 | ((code >> shift) & 0x3f) as u8;
    match code {
        0..=0x7f => out.push(code as u8),
        0x80..=0x7ff => out.extend([0xc0 | (code >> 6) as u8, low(0)]),
        0x800..=0xffff => out.extend([0xe0 | (code >> 12) as u8, low(6), low(0)]),
        _ => out.extend([0xf0 | (code >> 18) as u8, low(12), low(6), low(0)]),
    }
}

fn decode_escapes(raw: &[u8]) -> Vec<u8> {
    decode_up_to(raw, usize::MAX)
}

/// Decodes until at least `limit` bytes are there; the last character may be incomplete.
fn decode_up_to(raw: &[u8], limit: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len().min(limit));
    let mut rest = raw;
    while out.len() < limit && !rest.is_empty() {
        let open = rest.get(..limit - out.len()).unwrap_or(rest);
        let Some(at) = memchr::memchr(b'\\', open) else {
            out.extend_from_slice(open);
            break;
        };
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        rest = decode_escape(tail, &mut out);
    }
    out
}

/// Decodes the escape that `tail` begins with and gives what follows it.
fn decode_escape<'a>(tail: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let simple = match tail.get(1) {
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => {
            let Some(first) = hex4(tail) else { return &[] };
            let second = tail.get(6..).and_then(hex4);
            return match (first, second) {
                (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                    push_code_point(out, 0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00));
                    tail.get(12..).unwrap_or_default()
                }
                _ => {
                    push_code_point(out, first);
                    tail.get(6..).unwrap_or_default()
                }
            };
        }
        Some(&other) => other,
        None => return &[],
    };
    out.push(simple);
    tail.get(2..).unwrap_or_default()
}

/// The value of `\uXXXX` at the start of `tail`.
fn hex4(tail: &[u8]) -> Option<u32> {
    if tail.get(..2)? != b"\\u" {
        return None;
    }
    let digits = std::str::from_utf8(tail.get(2..6)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// Encodes WTF-8 as a JSON string with quotes, in the form of `JSON.stringify`.
pub fn encode(wtf8: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(wtf8.len() + 2);
    out.push('"');
    let mut rest = wtf8;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                encode_valid(text, &mut out);
                break;
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                encode_valid(std::str::from_utf8(good).unwrap_or_default(), &mut out);
                let length = match *bad {
                    [0xed, high @ 0xa0..=0xbf, low @ 0x80..=0xbf, ..] => {
                        let unit = 0xd000 | u16::from(high & 0x3f) << 6 | u16::from(low & 0x3f);
                        // Writing to a String cannot fail.
                        let _ = write!(out, "\\u{unit:04x}");
                        3
                    }
                    _ => {
                        out.push('\u{fffd}');
                        error.error_len().unwrap_or(bad.len())
                    }
                };
                rest = bad.get(length..).unwrap_or_default();
            }
        }
    }
    out.push('"');
    out.into_bytes()
}

fn encode_valid(text: &str, out: &mut String) {
    for character in text.chars() {
        encode_char(character, |part| out.push_str(part));
    }
}

fn encode_char(character: char, mut push: impl FnMut(&str)) {
    match character {
        '"' => push("\\\""),
        '\\' => push("\\\\"),
        '\u{08}' => push("\\b"),
        '\u{0c}' => push("\\f"),
        '\n' => push("\\n"),
        '\r' => push("\\r"),
        '\t' => push("\\t"),
        control if control < ' ' => push(&format!("\\u{:04x}", u32::from(control))),
        other => push(other.encode_utf8(&mut [0; 4])),
    }
}

/// Units that are looked at together for characters that need more than a byte.
const PLAIN_BLOCK: usize = 32;

/// Encodes UTF-16 as a JSON string with quotes, in the form of `JSON.stringify`: like [`encode`],
/// fast where most of the text is ASCII.
pub fn encode_utf16(units: &[u16], out: &mut Vec<u8>) {
    out.reserve(units.len() + 2);
    out.push(b'"');
    let mut rest = units;
    while !rest.is_empty() {
        let blocks = rest.chunks_exact(PLAIN_BLOCK);
        let plain = blocks.take_while(|block| is_plain(block)).count() * PLAIN_BLOCK;
        let (plain, mixed) = rest.split_at(plain);
        out.extend(plain.iter().map(|&unit| unit as u8));
        let mut end = mixed.len().min(PLAIN_BLOCK);
        if let Some(0xd800..=0xdbff) = end.checked_sub(1).and_then(|last| mixed.get(last)) {
            end = mixed.len().min(end + 1);
        }
        let (mixed, behind) = mixed.split_at(end);
        for character in char::decode_utf16(mixed.iter().copied()) {
            match character {
                Ok(character) => {
                    encode_char(character, |part| out.extend_from_slice(part.as_bytes()));
                }
                Err(lone) => {
                    let escape = format!("\\u{:04x}", lone.unpaired_surrogate());
                    out.extend_from_slice(escape.as_bytes());
                }
            }
        }
        rest = behind;
    }
    out.push(b'"');
}

/// Printable ASCII without characters that JSON escapes. Without branches, so that it is done with
/// vectors.
fn is_plain(block: &[u16]) -> bool {
    let odd = |&unit: &u16| unit.wrapping_sub(0x20) > 0x5e || unit == 0x22 || unit == 0x5c;
    !block.iter().fold(false, |any, unit| any | odd(unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Cursor;
    use proptest::prelude::*;

    fn decoded(json: &str) -> Vec<u8> {
        Cursor::new(json.as_bytes())
            .string()
            .unwrap()
            .decode()
            .into_owned()
    }

    #[test]
    fn escapes_decode() {
        assert_eq!(
            decoded(r#""a\n\t\"\\\/\u00e9\ud83d\ude00""#),
            "a\n\t\"\\/é😀".as_bytes()
        );
    }

    #[test]
    fn lone_surrogates_come_back_as_the_same_escape() {
        for json in [r#""k\ud83d…""#, r#""\udc00\ud800""#, r#""\ud83dA""#] {
            let text = decoded(json);
            assert_eq!(encode(&text), json.as_bytes());
            assert_eq!(from_utf16(&to_utf16(&text)), text);
        }
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(to_utf16(b"a\xffb\xe2\x82"), [0x61, 0xfffd, 0x62, 0xfffd]);
    }

    #[test]
    fn prefixes_do_not_split_characters() {
        let text = "a😀b".as_bytes();
        assert_eq!(prefix_of_units(text, 1), 1);
        assert_eq!(prefix_of_units(text, 2), 1);
        assert_eq!(prefix_of_units(text, 3), 5);
        assert_eq!(prefix_of_units(text, 99), text.len());
    }

    proptest! {
        #[test]
        fn prefixes_are_those_of_the_whole_text(units in prop::collection::vec(prop_oneof![Just(0xd83du16), Just(0xde00), Just(0x20ac), Just(10), any::<u16>()], 0..40), count in 0usize..45, escape: bool) {
            let wtf8 = from_utf16(&units);
            let json = if escape {
                let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
                format!("\"{escaped}\"").into_bytes()
            } else {
                encode(&wtf8)
            };
            let raw = Cursor::new(&json).string().unwrap();
            let expected = &wtf8[..prefix_of_units(&wtf8, count)];
            prop_assert_eq!(raw.decode_prefix(count).into_owned(), expected);
        }

        #[test]
        fn encoding_agrees_with_serde_json(text in any::<String>()) {
            prop_assert_eq!(encode(text.as_bytes()), serde_json::to_vec(&text).unwrap());
        }

        #[test]
        fn both_encodings_agree(parts in prop::collection::vec("[a-z]{0,70}|[\\\\\"\n\t\u{1}]{0,3}|[é日😀]{0,40}", 0..6), units in prop::collection::vec(any::<u16>(), 0..40)) {
            let mut text: Vec<u16> = parts.concat().encode_utf16().collect();
            text.splice(text.len() / 2..text.len() / 2, units);
            let mut out = Vec::new();
            encode_utf16(&text, &mut out);
            prop_assert_eq!(out, encode(&from_utf16(&text)));
        }

        #[test]
        fn utf16_round_trip(units in prop::collection::vec(any::<u16>(), 0..40)) {
            let wtf8 = from_utf16(&units);
            prop_assert_eq!(utf16_len(&wtf8), units.len());
            prop_assert_eq!(to_utf16(&wtf8), units.clone());
            let json = encode(&wtf8);
            prop_assert_eq!(Cursor::new(&json).string().unwrap().utf16_len(), units.len());
            prop_assert_eq!(Cursor::new(&json).string().unwrap().decode().into_owned(), wtf8);
        }
    }
}
