//! Tool calls in a few words.

use crate::json::cursor::Step;
use crate::json::number::to_js_text;
use crate::json::text::{encode, utf16_len};
use crate::json::{Cursor, Kind, RawStr};

use super::content::{cut, one_line};

/// Units of a command that are shown.
const COMMAND: usize = 50;
/// Units of other arguments that are shown.
const ARGUMENTS: usize = 40;

/// A tool call in a message.
#[derive(Debug, Default, Clone, Copy)]
pub struct Call<'a> {
    /// Its id, by which results name it.
    pub id: Option<RawStr<'a>>,
    /// The tool.
    pub name: Option<RawStr<'a>>,
    /// JSON text of the arguments; empty without any.
    pub arguments: &'a [u8],
}

/// The arguments that known tools have, as texts.
#[derive(Default)]
struct Arguments {
    path: Vec<u8>,
    file_path: Vec<u8>,
    command: Vec<u8>,
    pattern: Vec<u8>,
    offset: Option<f64>,
    limit: Option<f64>,
}

impl Call<'_> {
    /// The call as one bracketed piece. In paths `home` becomes `~`.
    pub fn describe(&self, home: &[u8]) -> Vec<u8> {
        let name = self.name.map(|name| name.decode()).unwrap_or_default();
        // Arguments that cannot be read are those of a line changed under the session: none.
        let of = || Arguments::read(self.arguments).unwrap_or_default();
        match name.as_ref() {
            b"read" => {
                let arguments = of();
                let path = arguments.file(home);
                [b"[read: ", &path[..], arguments.lines().as_bytes(), b"]"].concat()
            }
            b"write" | b"edit" => [b"[", &name[..], b": ", &of().file(home), b"]"].concat(),
            b"bash" => [b"[bash: ", &short_command(&of().command)[..], b"]"].concat(),
            b"grep" => {
                let arguments = of();
                let place = arguments.place(home);
                [b"[grep: /", &arguments.pattern[..], b"/ in ", &place, b"]"].concat()
            }
            b"find" => {
                let arguments = of();
                let place = arguments.place(home);
                [b"[find: ", &arguments.pattern[..], b" in ", &place, b"]"].concat()
            }
            b"ls" => [b"[ls: ", &of().place(home)[..], b"]"].concat(),
            _ => [
                b"[",
                &name[..],
                b": ",
                &compact(self.arguments, ARGUMENTS),
                b"]",
            ]
            .concat(),
        }
    }
}

impl Arguments {
    fn read(json: &[u8]) -> Step<Self> {
        let mut arguments = Self::default();
        let mut cursor = Cursor::new(json);
        if json.is_empty() || cursor.kind()? != Kind::Object {
            return Ok(arguments);
        }
        cursor.object(|cursor, key| {
            match key.decode().as_ref() {
                b"path" => arguments.path = text_of(cursor)?,
                b"file_path" => arguments.file_path = text_of(cursor)?,
                b"command" => arguments.command = text_of(cursor)?,
                b"pattern" => arguments.pattern = text_of(cursor)?,
                b"offset" => arguments.offset = cursor.number_or_skip()?,
                b"limit" => arguments.limit = cursor.number_or_skip()?,
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })?;
        Ok(arguments)
    }

    /// The file that a tool works on.
    fn file(&self, home: &[u8]) -> Vec<u8> {
        let path = if self.path.is_empty() {
            &self.file_path
        } else {
            &self.path
        };
        shorten(path, home)
    }

    /// The place that a tool searches.
    fn place(&self, home: &[u8]) -> Vec<u8> {
        if self.path.is_empty() {
            return b".".to_vec();
        }
        shorten(&self.path, home)
    }

    /// `:start-end`, when a part of a file is read.
    fn lines(&self) -> String {
        if self.offset.is_none() && self.limit.is_none() {
            return String::new();
        }
        let start = self.offset.unwrap_or(1.0);
        match self.limit.map(|limit| start + limit - 1.0) {
            Some(end) if end != 0.0 => format!(":{}-{}", to_js_text(start), to_js_text(end)),
            _ => format!(":{}", to_js_text(start)),
        }
    }
}

/// A string, or a number or boolean as text; other values count as missing.
fn text_of(cursor: &mut Cursor<'_>) -> Step<Vec<u8>> {
    Ok(match cursor.kind()? {
        Kind::String => cursor.string()?.decode().into_owned(),
        Kind::Number => {
            let number = cursor.number_or_skip()?;
            number.map(to_js_text).unwrap_or_default().into_bytes()
        }
        kind => {
            let span = cursor.skip()?;
            match kind {
                Kind::True => cursor.slice(span).to_vec(),
                _ => Vec::new(),
            }
        }
    })
}

/// The path with `~` for a home directory that it begins with.
fn shorten(path: &[u8], home: &[u8]) -> Vec<u8> {
    match path.strip_prefix(home) {
        Some(rest) if !home.is_empty() => [b"~", rest].concat(),
        _ => path.to_vec(),
    }
}

fn short_command(command: &[u8]) -> Vec<u8> {
    let mut short = one_line(command).into_owned();
    cut(&mut short, COMMAND);
    if utf16_len(command) > COMMAND {
        short.extend_from_slice(b"...");
    }
    short
}

/// The first `units` of what `JSON.stringify` makes of a JSON text, with dots where there is more.
fn compact(json: &[u8], units: usize) -> Vec<u8> {
    let json = if json.is_empty() { b"{}" } else { json };
    // A unit takes at most three bytes; one more unit tells that there is more.
    let mut out = Compact {
        text: Vec::new(),
        limit: (units + 1) * 3,
    };
    // Damaged text ends where the damage is.
    let _ = out.value(&mut Cursor::new(json));
    let is_longer = utf16_len(&out.text) > units;
    cut(&mut out.text, units);
    if is_longer {
        out.text.extend_from_slice(b"...");
    }
    out.text
}

/// Writes JSON in the form of `JSON.stringify` until enough is there. Every level that is open has
/// written at least one byte, so the limit bounds the depth of the recursion, too.
struct Compact {
    text: Vec<u8>,
    limit: usize,
}

impl Compact {
    fn is_enough(&self) -> bool {
        self.text.len() > self.limit
    }

    fn value(&mut self, cursor: &mut Cursor<'_>) -> Step<()> {
        match cursor.kind()? {
            _ if self.is_enough() => {
                cursor.skip()?;
            }
            Kind::Object => self.object(cursor)?,
            Kind::Array => self.array(cursor)?,
            Kind::String => {
                // Escapes take up to six units for one.
                let text = cursor.string()?;
                let start = text.decode_prefix(self.limit + 1);
                let is_whole = start.len() == text.decode_prefix(self.limit + 2).len();
                let mut encoded = encode(&start);
                if !is_whole {
                    encoded.pop();
                }
                self.text.extend(encoded);
            }
            Kind::Number => {
                let number = cursor.number_or_skip()?.unwrap_or(f64::NAN);
                let text = if number.is_finite() {
                    to_js_text(number)
                } else {
                    "null".to_owned()
                };
                self.text.extend(text.into_bytes());
            }
            Kind::True | Kind::False | Kind::Null => {
                let span = cursor.skip()?;
                self.text.extend_from_slice(cursor.slice(span));
            }
        }
        Ok(())
    }

    fn array(&mut self, cursor: &mut Cursor<'_>) -> Step<()> {
        self.text.push(b'[');
        let mut is_first = true;
        cursor.array(|cursor| {
            if !std::mem::take(&mut is_first) {
                self.text.push(b',');
            }
            self.value(cursor)
        })?;
        self.text.push(b']');
        Ok(())
    }

    fn object(&mut self, cursor: &mut Cursor<'_>) -> Step<()> {
        self.text.push(b'{');
        for (at, (key, value)) in members(cursor)?.into_iter().enumerate() {
            if self.is_enough() {
                break;
            }
            if at > 0 {
                self.text.push(b',');
            }
            self.text.extend(encode(&key));
            self.text.push(b':');
            self.value(&mut Cursor::new(value))?;
        }
        self.text.push(b'}');
        Ok(())
    }
}

/// The members in the order that JavaScript keeps: array indices ascending, then the others; of equal
/// keys the last value at the first place.
fn members<'a>(cursor: &mut Cursor<'a>) -> Step<Vec<(Vec<u8>, &'a [u8])>> {
    let mut members = indexmap::IndexMap::new();
    cursor.object(|cursor, key| {
        let value = cursor.skip()?;
        members.insert(key.decode().into_owned(), cursor.slice(value));
        Ok(())
    })?;
    members.sort_by(|left, _, right, _| {
        let rank = |key: &[u8]| array_index(key).map_or((1, 0), |index| (0, index));
        rank(left).cmp(&rank(right))
    });
    Ok(members.into_iter().collect())
}

/// The number that a key is, if it is one in its shortest form below 2^32 - 1.
fn array_index(key: &[u8]) -> Option<u32> {
    let is_short = key.first() != Some(&b'0') || key.len() == 1;
    let is_number = !key.is_empty() && key.iter().all(u8::is_ascii_digit) && is_short;
    let text = std::str::from_utf8(key).ok().filter(|_| is_number)?;
    text.parse().ok().filter(|&index| index < u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn described(name: &str, arguments: &str) -> String {
        let name = format!("\"{name}\"");
        let call = Call {
            id: None,
            name: Cursor::new(name.as_bytes()).string().ok(),
            arguments: arguments.as_bytes(),
        };
        String::from_utf8(call.describe(b"/home/u")).unwrap()
    }

    #[test]
    fn known_tools() {
        for (name, arguments, text) in [
            ("read", r#"{"path":"/home/u/a"}"#, "[read: ~/a]"),
            ("read", r#"{"path":"/home/user2"}"#, "[read: ~ser2]"),
            (
                "read",
                r#"{"path":"","file_path":"f","offset":3,"limit":4}"#,
                "[read: f:3-6]",
            ),
            ("read", r#"{"path":"f","limit":10}"#, "[read: f:1-10]"),
            ("read", r#"{"path":"f","offset":7}"#, "[read: f:7]"),
            (
                "read",
                r#"{"path":"f","offset":1,"limit":0}"#,
                "[read: f:1]",
            ),
            ("read", "", "[read: ]"),
            ("write", r#"{"path":7}"#, "[write: 7]"),
            ("edit", r#"{"file_path":"x"}"#, "[edit: x]"),
            ("bash", r#"{"command":" a\n\tb "}"#, "[bash: a  b]"),
            (
                "grep",
                r#"{"pattern":"p","file_path":"x"}"#,
                "[grep: /p/ in .]",
            ),
            (
                "find",
                r#"{"pattern":"*.rs","path":"/home/u"}"#,
                "[find: *.rs in ~]",
            ),
            ("ls", "[]", "[ls: .]"),
        ] {
            assert_eq!(described(name, arguments), text, "{name} {arguments}");
        }
        let command = format!(r#"{{"command":"{}"}}"#, "c".repeat(51));
        assert_eq!(
            described("bash", &command),
            format!("[bash: {}...]", "c".repeat(50))
        );
    }

    #[test]
    fn other_tools_show_their_arguments() {
        for (arguments, text) in [
            ("", "[t: {}]"),
            ("null", "[t: null]"),
            (
                r#"{ "a" : [ 1.0 , "\u00e9\/" ] }"#,
                r#"[t: {"a":[1,"é/"]}]"#,
            ),
            (
                r#"{"b":1,"10":2,"9":3,"01":4,"b":5}"#,
                r#"[t: {"9":3,"10":2,"b":5,"01":4}]"#,
            ),
            (
                r#"{"n":1e400,"m":-0,"k":1E3}"#,
                r#"[t: {"n":null,"m":0,"k":1000}]"#,
            ),
        ] {
            assert_eq!(described("t", arguments), text, "{arguments}");
        }
        let long = format!(r#"{{"a":"{}","b":1}}"#, "x".repeat(5000));
        assert_eq!(
            described("t", &long),
            format!("[t: {{\"a\":\"{}...]", "x".repeat(34))
        );
        let exact = format!(r#"{{"a":"{}"}}"#, "x".repeat(32));
        assert_eq!(described("t", &exact), format!("[t: {exact}]"));
    }

    #[test]
    fn deep_arguments_do_not_recurse_far() {
        let depth = 200_000;
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(described("t", &text), format!("[t: {}...]", "[".repeat(40)));
        let text = format!("{}1{}", "{\"\":".repeat(depth), "}".repeat(depth));
        assert_eq!(
            described("t", &text),
            format!("[t: {}...]", "{\"\":".repeat(10))
        );
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(map in prop::collection::hash_map("[a-z\\\\\"é😀]{0,6}", prop::collection::vec("[a-z\n😀]{0,9}", 0..3), 0..4)) {
            let json = serde_json::to_string_pretty(&map).unwrap();
            let whole: serde_json::Value = serde_json::from_str(&json).unwrap();
            let whole = whole.to_string();
            let mut expected = whole.clone().into_bytes();
            cut(&mut expected, 40);
            if whole.encode_utf16().count() > 40 {
                expected.extend_from_slice(b"...");
            }
            prop_assert_eq!(compact(json.as_bytes(), 40), expected);
        }
    }
}
