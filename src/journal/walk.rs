//! Walks a whole JSON text and changes chosen strings and members, at any depth, without recursion.
//!
//! What is to be changed is decided by [`Rules`]; everything else is copied byte for byte. A string
//! is judged with the key under which it stands; elements of an array stand under the array's key.

use std::borrow::Cow;
use std::ops::Range;

use crate::Result;
use crate::json::cursor::Step;
use crate::json::{Cursor, Edits, Fault, Kind, RawStr};

/// What to do with an image block: an object whose `type` is `image` with a string `data`.
pub enum Image {
    /// Treat its members like those of any other object.
    Ordinary,
    /// Leave the whole block as it is.
    Keep,
    /// Replace the `data` value by this JSON text and leave the rest of the block as it is.
    Replace(Vec<u8>),
}

/// Decisions of a walk.
pub trait Rules {
    /// Members to leave out.
    fn drops(&self, _key: &RawStr<'_>) -> bool {
        false
    }

    /// New JSON text for a string, or `None` to keep it.
    fn string(&mut self, key: &[u8], value: &RawStr<'_>) -> Result<Option<Vec<u8>>>;

    /// What to do with an image block.
    fn image(&mut self, data: &RawStr<'_>) -> Result<Image>;

    /// New JSON text for the `data` of a block that holds redacted reasoning, or `None`.
    fn redacted(&mut self, _data: &RawStr<'_>) -> Option<Vec<u8>> {
        None
    }

    /// Whether `lineCount` is kept in step with the `content` beside it.
    fn recounts_lines(&self) -> bool {
        false
    }
}

/// Applies the rules. A text that is not valid JSON comes back as it is.
pub fn rewrite<'a>(text: &'a [u8], rules: &mut dyn Rules) -> Result<Cow<'a, [u8]>> {
    let mut walk = Walk {
        text,
        cursor: Cursor::new(text),
        frames: Vec::new(),
        edits: Edits::default(),
        rules,
        failure: None,
    };
    match (walk.run(), walk.failure.take()) {
        (_, Some(failure)) => Err(failure),
        (Ok(()), None) if walk.cursor.at_end() => Ok(walk.edits.apply(text)),
        (_, None) => Ok(Cow::Borrowed(text)),
    }
}

#[derive(PartialEq, Clone, Copy)]
enum Block {
    Other,
    Image,
    Redacted,
}

/// An open object or array.
struct Frame<'a> {
    in_object: bool,
    /// Key under which its values stand: of the current member, or the array's own.
    key: Option<RawStr<'a>>,
    /// Number of edits when it was opened.
    edits_before: usize,
    block: Block,
    data: Option<Data<'a>>,
    content_lines: Option<usize>,
    line_count: Option<Range<usize>>,
    /// End of the last member that stays, and start of members that go.
    kept_until: Option<usize>,
    dropping_from: Option<usize>,
}

/// The `data` string of an object.
struct Data<'a> {
    value: RawStr<'a>,
    span: Range<usize>,
    edit: Option<usize>,
}

struct Walk<'a, 'r> {
    text: &'a [u8],
    cursor: Cursor<'a>,
    frames: Vec<Frame<'a>>,
    edits: Edits,
    rules: &'r mut dyn Rules,
    failure: Option<crate::Error>,
}

impl<'a> Walk<'a, '_> {
    fn run(&mut self) -> Step<()> {
        loop {
            if !self.value()? && self.close()? {
                return Ok(());
            }
        }
    }

    /// Ends the walk with an error of the rules.
    fn try_rule<T>(&mut self, outcome: Result<T>) -> Step<T> {
        outcome.map_err(|failure| {
            self.failure = Some(failure);
            Fault::Incomplete
        })
    }

    /// Reads a scalar or opens a bracket; true when a value follows at once.
    fn value(&mut self) -> Step<bool> {
        match self.cursor.kind()? {
            Kind::Object => {
                self.cursor.expect(b'{')?;
                self.open(true);
                self.first_member()
            }
            Kind::Array => {
                let key = self.frames.last().and_then(|frame| frame.key);
                self.cursor.expect(b'[')?;
                self.open(false);
                if let Some(frame) = self.frames.last_mut() {
                    frame.key = key;
                }
                self.cursor.skip_whitespace();
                if self.cursor.take_if(b']')? {
                    self.frames.pop();
                    return Ok(false);
                }
                Ok(true)
            }
            Kind::String => self.string().map(|()| false),
            Kind::Number => {
                let span = self.cursor.skip()?;
                if let Some(frame) = self.member_named("lineCount") {
                    frame.line_count = Some(span);
                }
                Ok(false)
            }
            _ => self.cursor.skip().map(|_| false),
        }
    }

    fn open(&mut self, in_object: bool) {
        self.frames.push(Frame {
            in_object,
            key: None,
            edits_before: self.edits.len(),
            block: Block::Other,
            data: None,
            content_lines: None,
            line_count: None,
            kept_until: None,
            dropping_from: None,
        });
    }

    fn first_member(&mut self) -> Step<bool> {
        self.cursor.skip_whitespace();
        if self.cursor.take_if(b'}')? {
            self.frames.pop();
            return Ok(false);
        }
        self.member()
    }

    /// Reads a key; members to be dropped are stepped over. True when a value follows.
    fn member(&mut self) -> Step<bool> {
        loop {
            self.cursor.skip_whitespace();
            let start = self.cursor.pos();
            let key = self.cursor.key()?;
            let drops = self.rules.drops(&key);
            let Some(frame) = self.frames.last_mut() else {
                return Ok(false);
            };
            frame.key = Some(key);
            if !drops {
                if let (Some(from), None) = (frame.dropping_from, frame.kept_until) {
                    self.edits.replace(from..start, Vec::new());
                    frame.dropping_from = None;
                }
                return Ok(true);
            }
            frame.dropping_from.get_or_insert(start);
            self.cursor.skip()?;
            let end = self.cursor.pos();
            if let Some(kept) = frame.kept_until.replace(end) {
                self.edits.replace(kept..end, Vec::new());
                frame.dropping_from = None;
            } else {
                frame.kept_until = None;
            }
            self.cursor.skip_whitespace();
            if self.cursor.take_if(b',')? {
                continue;
            }
            return Ok(false);
        }
    }

    /// After a value: closes brackets; true at the end of the text's value.
    fn close(&mut self) -> Step<bool> {
        loop {
            let position = self.cursor.pos();
            let Some(frame) = self.frames.last_mut() else {
                return Ok(true);
            };
            let in_object = frame.in_object;
            if in_object && frame.dropping_from.is_none() {
                frame.kept_until = Some(position);
            }
            self.cursor.skip_whitespace();
            if self.cursor.take_if(b',')? {
                if !in_object || self.member()? {
                    return Ok(false);
                }
                continue;
            }
            self.cursor.expect(if in_object { b'}' } else { b']' })?;
            if in_object {
                self.end_object()?;
            }
            self.frames.pop();
        }
    }

    fn string(&mut self) -> Step<()> {
        self.cursor.skip_whitespace();
        let start = self.cursor.pos();
        let value = self.cursor.string()?;
        let span = start..self.cursor.pos();
        let key = self.frames.last().and_then(|frame| frame.key);
        let name = key.map(|key| key.decode()).unwrap_or_default();
        let outcome = self.rules.string(&name, &value);
        let new_text = self.try_rule(outcome)?;
        let edit = new_text.as_ref().map(|_| self.edits.len());
        self.note(&name, value, &span, edit, new_text.as_deref());
        if let Some(new_text) = new_text {
            self.edits.replace(span, new_text);
        }
        Ok(())
    }

    /// Remembers the strings that decide what happens at the end of their object.
    fn note(
        &mut self,
        name: &[u8],
        value: RawStr<'a>,
        span: &Range<usize>,
        edit: Option<usize>,
        new_text: Option<&[u8]>,
    ) {
        let recounts = self.rules.recounts_lines();
        let Some(frame) = self.frames.last_mut().filter(|frame| frame.in_object) else {
            return;
        };
        match name {
            b"type" if value.is("image") => frame.block = Block::Image,
            b"type" if value.is("redacted_thinking") || value.is("redactedThinking") => {
                frame.block = Block::Redacted;
            }
            b"type" => frame.block = Block::Other,
            b"data" => {
                frame.data = Some(Data {
                    value,
                    span: span.clone(),
                    edit,
                });
            }
            b"content" if recounts => {
                frame.content_lines = Some(match new_text {
                    Some(text) => count_lines(text),
                    None => count_lines(self.text.get(span.clone()).unwrap_or_default()),
                });
            }
            _ => {}
        }
    }

    fn member_named(&mut self, name: &str) -> Option<&mut Frame<'a>> {
        self.frames
            .last_mut()
            .filter(|frame| frame.in_object && frame.key.is_some_and(|key| key.is(name)))
    }

    fn end_object(&mut self) -> Step<()> {
        let end = self.cursor.pos() - 1;
        let Some(frame) = self.frames.last() else {
            return Ok(());
        };
        let (before, block) = (frame.edits_before, frame.block);
        if let (Some(from), None) = (frame.dropping_from, frame.kept_until) {
            self.edits.replace(from..end, Vec::new());
        }
        let data = self.frames.last_mut().and_then(|frame| frame.data.take());
        match (block, data) {
            (Block::Image, Some(data)) => {
                let outcome = self.rules.image(&data.value);
                match self.try_rule(outcome)? {
                    Image::Ordinary => {}
                    Image::Keep => return self.forget(before),
                    Image::Replace(text) => {
                        self.edits.truncate(before);
                        self.edits.replace(data.span, text);
                        return Ok(());
                    }
                }
            }
            (Block::Redacted, Some(data)) => {
                if let Some(text) = self.rules.redacted(&data.value) {
                    match data.edit {
                        Some(index) => self.edits.amend(index, text),
                        None => self.edits.replace(data.span, text),
                    }
                }
            }
            _ => {}
        }
        self.recount_lines(before);
        Ok(())
    }

    fn forget(&mut self, edits_before: usize) -> Step<()> {
        self.edits.truncate(edits_before);
        Ok(())
    }

    fn recount_lines(&mut self, edits_before: usize) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        if self.edits.len() == edits_before {
            return;
        }
        if let (Some(lines), Some(span)) = (frame.content_lines, frame.line_count.clone()) {
            self.edits.replace(span, lines.to_string().into_bytes());
        }
    }
}

/// Pieces between line feeds of a string in JSON form.
fn count_lines(json: &[u8]) -> usize {
    match Cursor::new(json).string() {
        Ok(value) => memchr::memchr_iter(b'\n', &value.decode()).count() + 1,
        Err(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Drops `x`, upper-cases strings under `up`, replaces image data, recounts lines.
    struct Sample;

    impl Rules for Sample {
        fn drops(&self, key: &RawStr<'_>) -> bool {
            key.is("x")
        }
        fn string(&mut self, key: &[u8], value: &RawStr<'_>) -> Result<Option<Vec<u8>>> {
            Ok(
                (key == b"up" || key == b"content" && value.is("a\nb")).then(|| {
                    format!(
                        "\"{}\"",
                        value.to_text().to_uppercase().replace('\n', "\\n")
                    )
                    .into_bytes()
                }),
            )
        }
        fn image(&mut self, data: &RawStr<'_>) -> Result<Image> {
            Ok(match data.to_text().as_str() {
                "keep" => Image::Keep,
                "go" => Image::Replace(b"\"ref\"".to_vec()),
                _ => Image::Ordinary,
            })
        }
        fn recounts_lines(&self) -> bool {
            true
        }
    }

    fn walked(text: &str) -> String {
        let out = rewrite(text.as_bytes(), &mut Sample).unwrap().into_owned();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn members_are_dropped_with_their_commas() {
        for (text, expected) in [
            (r#"{"x":1}"#, "{}"),
            (r#"{"x":1,"x":2}"#, "{}"),
            (r#"{"x":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"x":1,"x":1,"a":2,"x":3}"#, r#"{"a":2}"#),
            (r#"{"a":1,"x":[{"x":1}],"b":2}"#, r#"{"a":1,"b":2}"#),
            (r#"{"a":1,"x":1,"x":2,"b":2,"x":3}"#, r#"{"a":1,"b":2}"#),
            (r#"[{"x":{"x":1}},{"a":{"x":1}}]"#, r#"[{},{"a":{}}]"#),
            (r#"{"x":"up","up":"k"}"#, r#"{"up":"K"}"#),
        ] {
            assert_eq!(walked(text), expected, "{text}");
        }
    }

    #[test]
    fn strings_are_judged_by_key() {
        assert_eq!(
            walked(r#"{"up":["a",["b",{"c":"d"}]],"no":"e"}"#),
            r#"{"up":["A",["B",{"c":"d"}]],"no":"e"}"#
        );
    }

    #[test]
    fn image_blocks_are_taken_as_a_whole() {
        assert_eq!(
            walked(
                r#"[{"up":"a","data":"go","type":"image","x":1},{"type":"image","data":"keep","x":1},{"type":"image","data":"other","x":1}]"#
            ),
            r#"[{"up":"a","data":"ref","type":"image","x":1},{"type":"image","data":"keep","x":1},{"type":"image","data":"other"}]"#
        );
    }

    #[test]
    fn line_counts_follow_changed_content() {
        assert_eq!(
            walked(r#"{"lineCount":9,"content":"a\nb"}"#),
            r#"{"lineCount":2,"content":"A\nB"}"#
        );
        assert_eq!(
            walked(r#"{"content":"q","lineCount":9,"x":0}"#),
            r#"{"content":"q","lineCount":1}"#
        );
        assert_eq!(
            walked(r#"{"content":"q","lineCount":9}"#),
            r#"{"content":"q","lineCount":9}"#
        );
        assert_eq!(
            walked(r#"{"content":"q","lineCount":"9","x":0}"#),
            r#"{"content":"q","lineCount":"9"}"#
        );
    }

    #[test]
    fn deep_nesting_does_not_recurse() {
        let depth = 100_000;
        let text = format!("{}{{\"x\":1}}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(walked(&text).len(), text.len() - 5);
    }

    proptest! {
        #[test]
        fn dropping_agrees_with_a_tree(value in json()) {
            let text = value.to_string();
            let mut expected = value;
            drop_x(&mut expected);
            let got: serde_json::Value = serde_json::from_str(&walked(&text)).unwrap();
            prop_assert_eq!(got, expected);
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![Just(serde_json::json!(1)), Just(serde_json::json!("s"))];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                prop::collection::vec(("[axb]", inner), 0..6)
                    .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    fn drop_x(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Array(list) => list.iter_mut().for_each(drop_x),
            serde_json::Value::Object(map) => {
                map.shift_remove("x");
                map.values_mut().for_each(drop_x);
            }
            _ => {}
        }
    }
}
