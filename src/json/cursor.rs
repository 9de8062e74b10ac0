//! A pull scanner that validates while it walks.
//!
//! The grammar is that of `JSON.parse`: RFC 8259 values of any depth, where invalid UTF-8 is of no
//! concern (decoding replaces it later). Nothing recurses: [`Cursor::skip`] keeps one bit for each
//! open bracket, so 100,000 levels cost 12 KB.

use std::ops::Range;

use super::special::{End, end_of_string};
use super::text::RawStr;

/// Why a value could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The input ended inside a value that was valid so far.
    Incomplete,
    /// The byte at this offset cannot occur there.
    Syntax(usize),
}

/// Type of the value that follows, known from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{`
    Object,
    /// `[`
    Array,
    /// `"`
    String,
    /// A digit or a minus sign.
    Number,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
}

/// Result of a reading step.
pub type Step<T> = Result<T, Fault>;

/// A position in a text. Copying it is the way to look ahead.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, pos: 0 }
    }

    /// Starts at an offset; one past the end is allowed.
    pub fn at(bytes: &'a [u8], pos: usize) -> Self {
        Self { bytes, pos }
    }

    /// Offset of the next byte to be read.
    pub fn pos(&self) -> usize {
        self.pos
    }

    /// Bytes of a span of the text.
    pub fn slice(&self, span: Range<usize>) -> &'a [u8] {
        self.bytes.get(span).unwrap_or_default()
    }

    /// Moves over space, tab, carriage return and line feed.
    pub fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.pos) {
            self.pos += 1;
        }
    }

    /// True when only whitespace is left.
    pub fn at_end(&mut self) -> bool {
        self.skip_whitespace();
        self.pos >= self.bytes.len()
    }

    /// Type of the next value.
    pub fn kind(&mut self) -> Step<Kind> {
        self.skip_whitespace();
        match self.peek()? {
            b'{' => Ok(Kind::Object),
            b'[' => Ok(Kind::Array),
            b'"' => Ok(Kind::String),
            b'-' | b'0'..=b'9' => Ok(Kind::Number),
            b't' => Ok(Kind::True),
            b'f' => Ok(Kind::False),
            b'n' => Ok(Kind::Null),
            _ => Err(Fault::Syntax(self.pos)),
        }
    }

    /// Validates and steps over one value of any type and depth; gives its span.
    pub fn skip(&mut self) -> Step<Range<usize>> {
        self.skip_whitespace();
        let start = self.pos;
        let mut open = Nesting::default();
        loop {
            if self.begin_value(&mut open)? {
                continue;
            }
            if self.finish_values(&mut open)? {
                return Ok(start..self.pos);
            }
        }
    }

    /// Reads a string value.
    pub fn string(&mut self) -> Step<RawStr<'a>> {
        self.skip_whitespace();
        match self.peek()? {
            b'"' => self.string_body(),
            _ => Err(Fault::Syntax(self.pos)),
        }
    }

    /// Reads a string, or steps over a value of another type and gives `None`.
    pub fn string_or_skip(&mut self) -> Step<Option<RawStr<'a>>> {
        if self.kind()? == Kind::String {
            return self.string().map(Some);
        }
        self.skip()?;
        Ok(None)
    }

    /// Reads a number as a double, or steps over a value of another type and gives `None`.
    pub fn number_or_skip(&mut self) -> Step<Option<f64>> {
        let kind = self.kind()?;
        let span = self.skip()?;
        if kind != Kind::Number {
            return Ok(None);
        }
        let text = self.bytes.get(span).unwrap_or_default();
        Ok(std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()))
    }

    /// Calls `member` with each key of an object; the callback must read or skip the value.
    pub fn object<F>(&mut self, mut member: F) -> Step<()>
    where
        F: FnMut(&mut Self, RawStr<'a>) -> Step<()>,
    {
        self.expect(b'{')?;
        self.skip_whitespace();
        if self.take_if(b'}')? {
            return Ok(());
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            self.skip_whitespace();
            if self.take_if(b'}')? {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    /// Calls `element` for each element of an array; the callback must read or skip it.
    pub fn array<F>(&mut self, mut element: F) -> Step<()>
    where
        F: FnMut(&mut Self) -> Step<()>,
    {
        self.expect(b'[')?;
        self.skip_whitespace();
        if self.take_if(b']')? {
            return Ok(());
        }
        loop {
            element(self)?;
            self.skip_whitespace();
            if self.take_if(b']')? {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn peek(&self) -> Step<u8> {
        self.bytes.get(self.pos).copied().ok_or(Fault::Incomplete)
    }

    /// Steps over a byte if it is the next one.
    pub(crate) fn take_if(&mut self, byte: u8) -> Step<bool> {
        let hit = self.peek()? == byte;
        self.pos += usize::from(hit);
        Ok(hit)
    }

    /// Steps over whitespace and a byte that must follow.
    pub(crate) fn expect(&mut self, byte: u8) -> Step<()> {
        self.skip_whitespace();
        if self.take_if(byte)? {
            Ok(())
        } else {
            Err(Fault::Syntax(self.pos))
        }
    }

    /// Reads `"key":`.
    pub(crate) fn key(&mut self) -> Step<RawStr<'a>> {
        let key = self.string()?;
        self.expect(b':')?;
        Ok(key)
    }

    /// Reads a scalar or opens a bracket; true when a bracket was opened and a value follows.
    fn begin_value(&mut self, open: &mut Nesting) -> Step<bool> {
        self.skip_whitespace();
        match self.peek()? {
            b'"' => {
                self.string_body()?;
            }
            b'{' => {
                self.pos += 1;
                self.skip_whitespace();
                if !self.take_if(b'}')? {
                    open.push(true);
                    self.key()?;
                    return Ok(true);
                }
            }
            b'[' => {
                self.pos += 1;
                self.skip_whitespace();
                if !self.take_if(b']')? {
                    open.push(false);
                    return Ok(true);
                }
            }
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.literal(b"true")?,
            b'f' => self.literal(b"false")?,
            b'n' => self.literal(b"null")?,
            _ => return Err(Fault::Syntax(self.pos)),
        }
        Ok(false)
    }

    /// After a value: closes brackets; true when the outermost value is complete.
    fn finish_values(&mut self, open: &mut Nesting) -> Step<bool> {
        while let Some(in_object) = open.top() {
            self.skip_whitespace();
            match (self.peek()?, in_object) {
                (b',', true) => {
                    self.pos += 1;
                    self.key()?;
                    return Ok(false);
                }
                (b',', false) => {
                    self.pos += 1;
                    return Ok(false);
                }
                (b'}', true) | (b']', false) => {
                    self.pos += 1;
                    open.pop();
                }
                _ => return Err(Fault::Syntax(self.pos)),
            }
        }
        Ok(true)
    }

    fn literal(&mut self, word: &[u8]) -> Step<()> {
        for &expected in word {
            if self.peek()? != expected {
                return Err(Fault::Syntax(self.pos));
            }
            self.pos += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Step<()> {
        self.take_if(b'-')?;
        match self.peek()? {
            b'0' => self.pos += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return Err(Fault::Syntax(self.pos)),
        }
        if let Some(b'.') = self.bytes.get(self.pos) {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.pos) {
            self.pos += 1;
            if let b'+' | b'-' = self.peek()? {
                self.pos += 1;
            }
            self.digits()?;
        }
        match self.bytes.get(self.pos) {
            Some(byte) if byte.is_ascii_alphanumeric() => Err(Fault::Syntax(self.pos)),
            _ => Ok(()),
        }
    }

    /// One or more digits.
    fn digits(&mut self) -> Step<()> {
        if !self.peek()?.is_ascii_digit() {
            return Err(Fault::Syntax(self.pos));
        }
        while self.bytes.get(self.pos).is_some_and(u8::is_ascii_digit) {
            self.pos += 1;
        }
        Ok(())
    }

    /// The cursor stands on the opening quote.
    fn string_body(&mut self) -> Step<RawStr<'a>> {
        let start = self.pos + 1;
        match end_of_string(self.bytes, start) {
            End::Quote { at, escaped } => {
                self.pos = at + 1;
                let raw = self.bytes.get(start..at).unwrap_or_default();
                Ok(RawStr::new(raw, escaped))
            }
            End::Wrong(at) => Err(Fault::Syntax(at)),
            End::Missing => {
                self.pos = self.bytes.len();
                Err(Fault::Incomplete)
            }
        }
    }
}

/// The stack of open brackets, one bit each: set for an object, clear for an array.
#[derive(Default)]
struct Nesting {
    depth: usize,
    current: u64,
    outer: Vec<u64>,
}

impl Nesting {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.current);
        }
        self.current = (self.current << 1) | u64::from(object);
        self.depth += 1;
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.current & 1 == 1)
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.current >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.current = self.outer.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(text: &str) -> Step<()> {
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.skip()?;
        if cursor.at_end() {
            Ok(())
        } else {
            Err(Fault::Syntax(cursor.pos()))
        }
    }

    #[test]
    fn accepts_what_the_grammar_allows() {
        for text in [
            "{}",
            "[]",
            " [1 , 2.5e+10,-0 ]\r",
            "\"\\u00e9\\n\"",
            "null",
            "true",
            "false",
            "0",
            "{\"a\":{\"b\":[{},[],\"x\"]},\"c\":1E5}",
            "1e400",
            "\"\u{7f}\u{2028}\"",
        ] {
            assert_eq!(whole(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn tells_torn_from_wrong() {
        for text in [
            "{\"a\":", "[1,", "\"abc", "\"\\u12", "tru", "-", "1.", "1e", "{\"a\"", "", "[[[",
        ] {
            assert_eq!(whole(text), Err(Fault::Incomplete), "{text}");
        }
        for text in [
            "01",
            "{a:1}",
            "[1,]",
            "{\"a\":1,}",
            "'x'",
            "NaN",
            "\"\t\"",
            "\"\\x\"",
            "[1}",
            "nul0",
            "+1",
            "\0",
        ] {
            assert!(matches!(whole(text), Err(Fault::Syntax(_))), "{text}");
        }
    }

    #[test]
    fn depth_is_not_limited_by_the_stack() {
        let depth = 200_000;
        let text = format!(
            "{}{}{}{}",
            "[".repeat(depth),
            "{\"k\":0}",
            "",
            "]".repeat(depth)
        );
        assert_eq!(whole(&text), Ok(()));
        let crossed = format!(
            "{}{}{}",
            "[{\"a\":".repeat(100),
            "1",
            "}]".repeat(99) + "]}"
        );
        assert!(matches!(whole(&crossed), Err(Fault::Syntax(_))));
    }

    #[test]
    fn members_are_visited_in_order() {
        let mut seen = Vec::new();
        let mut cursor = Cursor::new(br#"{"a":1,"b":"x","c":[1,2]}"#);
        cursor
            .object(|cursor, key| {
                seen.push(String::from_utf8(key.decode().into_owned()).unwrap());
                cursor.skip().map(|_| ())
            })
            .unwrap();
        assert_eq!(seen, ["a", "b", "c"]);
        assert!(cursor.at_end());
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in "[\\[\\]{}\",:0-9a-z\\\\ue.+ -]{0,24}") {
            // serde_json refuses numbers beyond the range of doubles; the alphabet can spell them.
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
            prop_assert_eq!(whole(&text).is_ok(), theirs);
        }

        #[test]
        fn strings_end_where_serde_json_ends_them(
            parts in prop::collection::vec("(x{0,70}|\\\\[\"nu\\\\]|\\\\u00e9|\u{1f}|\"){1,3}", 0..6),
        ) {
            let text = format!("\"{}\"", parts.concat());
            let mut values = serde_json::Deserializer::from_str(&text).into_iter::<String>();
            let theirs = values.next().is_some_and(|value| value.is_ok());
            let mut cursor = Cursor::new(text.as_bytes());
            let ours = cursor.string();
            prop_assert_eq!(ours.is_ok(), theirs);
            if theirs {
                prop_assert_eq!(cursor.pos(), values.byte_offset());
            }
        }
    }
}
