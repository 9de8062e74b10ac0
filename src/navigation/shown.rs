//! What a list shows of one entry, and what a search looks at.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::RawStr;
use crate::json::number::to_js_text;
use crate::session::{EntryKind, Role};
use crate::text::lower_case;

use super::content::{cut, one_line};
use super::entry::{Entry, Message};

/// Units of an error message that are shown.
const ERROR: usize = 80;

/// How a row's text is to be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// What the user wrote.
    User,
    /// What the assistant wrote.
    Assistant,
    /// What stands for content that is not there, and results of tools.
    Muted,
    /// Bookkeeping and executions.
    #[default]
    Dim,
    /// An error message.
    Error,
    /// A message of an extension.
    Custom,
    /// A compaction.
    Compaction,
    /// A summary of a branch.
    Summary,
}

/// A piece of an [`Arena`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

/// Texts of many entries in one piece of memory.
#[derive(Debug, Default)]
pub struct Arena(Vec<u8>);

impl Arena {
    /// Adds a text. What would make the arena larger than 4 GiB is left out.
    pub fn add(&mut self, pieces: &[&[u8]]) -> Span {
        let start = self.0.len();
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(start + length)) else {
            return Span::default();
        };
        for piece in pieces {
            self.0.extend_from_slice(piece);
        }
        Span { start, end }
    }

    /// Adds the parts in lower case, with a space behind each.
    fn add_lower_case(&mut self, parts: &[&[u8]]) -> Span {
        let mut pieces: Vec<&[u8]> = Vec::with_capacity(2 * parts.len());
        for part in parts {
            pieces.extend([part, b" ".as_slice()]);
        }
        if parts.iter().all(|part| part.is_ascii()) {
            let span = self.add(&pieces);
            let added = self.0.get_mut(span.start as usize..span.end as usize);
            added.unwrap_or_default().make_ascii_lowercase();
            return span;
        }
        self.add(&[&lower_case(&pieces.concat())])
    }

    /// A text.
    pub fn get(&self, span: Span) -> &[u8] {
        let Range { start, end } = span.start as usize..span.end as usize;
        self.0.get(start..end).unwrap_or_default()
    }
}

/// One entry, its texts in an arena.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown {
    /// Its kind.
    pub kind: EntryKind,
    /// The role of its message.
    pub role: Role,
    /// A message of the assistant without text that ended as usual: its tool calls are shown by
    /// their results.
    pub is_quiet: bool,
    /// Colour of the text.
    pub tone: Tone,
    /// Its `type`.
    pub kind_name: Span,
    /// Role of its message, unless empty.
    pub role_name: Span,
    /// Its `timestamp`.
    pub timestamp: Span,
    /// What stands before the text.
    pub lead: Span,
    /// The text. For a tool result: what is shown when its call is not known.
    pub text: Span,
    /// What a search looks at, in lower case.
    pub search: Span,
    /// For a tool result: the id of its call.
    pub call: Span,
}

impl Shown {
    /// Works out what is shown of an entry.
    pub fn of(entry: &Entry<'_>, arena: &mut Arena) -> Self {
        let name = decoded(entry.kind);
        let mut shown = Self {
            kind: EntryKind::from_name(&name),
            kind_name: arena.add(&[&name]),
            timestamp: arena.add(&[&decoded(entry.timestamp)]),
            ..Self::default()
        };
        match shown.kind {
            EntryKind::Message => {
                if let Some(message) = &entry.message {
                    shown.describe_message(message, arena);
                }
            }
            EntryKind::CustomMessage => shown.describe_custom_message(entry, arena),
            _ => shown.describe_other(entry, arena),
        }
        shown
    }

    fn put(&mut self, arena: &mut Arena, tone: Tone, lead: &[&[u8]], text: &[&[u8]]) {
        self.tone = tone;
        self.lead = arena.add(lead);
        self.text = arena.add(text);
    }

    fn describe_message(&mut self, message: &Message<'_>, arena: &mut Arena) {
        let role = decoded(message.role);
        let excerpt = message.content.excerpt();
        let command = decoded(message.command);
        self.role_name = arena.add(&[&role]);
        self.role = Role::from_name(&role);
        let is_execution = &*role == b"bashExecution";
        let mut parts: Vec<&[u8]> = vec![&role, &excerpt];
        match self.role {
            Role::User => self.put(arena, Tone::User, &[b"user: "], &[&one_line(&excerpt)]),
            Role::Assistant => {
                let reason = decoded(message.stop_reason);
                let is_usual = matches!(&*reason, b"" | b"stop" | b"toolUse");
                self.is_quiet = is_usual && !message.content.is_visible();
                let (tone, text) = assistant_text(message, &excerpt, &reason);
                self.put(arena, tone, &[b"assistant: "], &[&text]);
            }
            Role::ToolResult => {
                let name = decoded(message.tool_name);
                let name = if name.is_empty() { b"tool" } else { &*name };
                self.put(arena, Tone::Muted, &[], &[b"[", name, b"]"]);
                self.call = arena.add(&[&decoded(message.tool_call_id)]);
            }
            _ if is_execution => {
                self.put(arena, Tone::Dim, &[b"[bash]: "], &[&one_line(&command)]);
                parts.push(&command);
            }
            _ => self.put(arena, Tone::Dim, &[], &[b"[", &role, b"]"]),
        }
        self.search_in(arena, &parts);
    }

    fn describe_custom_message(&mut self, entry: &Entry<'_>, arena: &mut Arena) {
        let name = decoded(entry.custom_type);
        let whole = entry.content.text();
        let lead: [&[u8]; 3] = [b"[", &name, b"]: "];
        self.put(arena, Tone::Custom, &lead, &[&one_line(&whole)]);
        if entry.content.is_string() {
            self.search_in(arena, &[&name, &whole]);
        } else {
            self.search_in(arena, &[&name, &entry.content.excerpt()]);
        }
    }

    fn describe_other(&mut self, entry: &Entry<'_>, arena: &mut Arena) {
        match self.kind {
            EntryKind::Compaction => {
                let thousands = (entry.tokens_before.unwrap_or_default() / 1000.0 + 0.5).floor();
                let thousands = to_js_text(thousands).into_bytes();
                let text: [&[u8]; 3] = [b"[compaction: ", &thousands, b"k tokens]"];
                self.put(arena, Tone::Compaction, &[], &text);
                self.search_in(arena, &[b"compaction"]);
            }
            EntryKind::BranchSummary => {
                let summary = decoded(entry.summary);
                let lead: [&[u8]; 1] = [b"[branch summary]: "];
                self.put(arena, Tone::Summary, &lead, &[&one_line(&summary)]);
                self.search_in(arena, &[b"branch summary", &summary]);
            }
            EntryKind::ModelChange => self.setting(arena, b"model", &decoded(entry.model)),
            EntryKind::ThinkingLevelChange => {
                let level = decoded(entry.thinking_level);
                let level = if level.is_empty() { b"off" } else { &*level };
                self.setting(arena, b"thinking", level);
            }
            EntryKind::Custom => self.setting(arena, b"custom", &decoded(entry.custom_type)),
            EntryKind::Label => {
                self.setting(arena, b"label", &decoded(entry.label));
                if entry.label.is_none() {
                    self.put(arena, Tone::Dim, &[], &[b"[label: (cleared)]"]);
                }
            }
            _ => {}
        }
    }

    fn setting(&mut self, arena: &mut Arena, name: &[u8], value: &[u8]) {
        self.put(arena, Tone::Dim, &[], &[b"[", name, b": ", value, b"]"]);
        self.search_in(arena, &[name, value]);
    }

    /// Search words hold no spaces, so a space keeps them within one part.
    fn search_in(&mut self, arena: &mut Arena, parts: &[&[u8]]) {
        self.search = arena.add_lower_case(parts);
    }
}

fn assistant_text<'a>(
    message: &Message<'_>,
    excerpt: &'a [u8],
    reason: &[u8],
) -> (Tone, Cow<'a, [u8]>) {
    let text = one_line(excerpt);
    let error = decoded(message.error);
    if !text.is_empty() {
        (Tone::Assistant, text)
    } else if reason == b"aborted" {
        (Tone::Muted, Cow::Borrowed(b"(aborted)"))
    } else if !error.is_empty() {
        let mut error = one_line(&error).into_owned();
        cut(&mut error, ERROR);
        (Tone::Error, Cow::Owned(error))
    } else {
        (Tone::Muted, Cow::Borrowed(b"(no content)"))
    }
}

fn decoded(text: Option<RawStr<'_>>) -> Cow<'_, [u8]> {
    text.map(|text| text.decode()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Cursor;

    /// Lead and text, tone, search text, whether it is quiet.
    fn shown(json: &str) -> (String, Tone, String, bool) {
        let mut arena = Arena::default();
        let entry = Entry::read(&mut Cursor::new(json.as_bytes())).unwrap();
        let shown = Shown::of(&entry, &mut arena);
        let text = |span| String::from_utf8(arena.get(span).to_vec()).unwrap();
        (
            format!("{}|{}", text(shown.lead), text(shown.text)),
            shown.tone,
            text(shown.search).trim_end_matches(' ').to_owned(),
            shown.is_quiet,
        )
    }

    fn message(json: &str) -> (String, Tone, String, bool) {
        shown(&format!(r#"{{"type":"message","message":{json}}}"#))
    }

    fn row(text: &str, tone: Tone, search: &str) -> (String, Tone, String, bool) {
        (text.to_owned(), tone, search.to_owned(), false)
    }

    #[test]
    fn messages() {
        assert_eq!(
            message(r#"{"role":"user","content":" A\nb "}"#),
            row("user: |A b", Tone::User, "user  a\nb")
        );
        assert_eq!(
            message(
                r#"{"role":"assistant","content":[{"type":"text","text":"Hi"}],"stopReason":"stop"}"#
            ),
            row("assistant: |Hi", Tone::Assistant, "assistant hi")
        );
        assert_eq!(
            message(r#"{"role":"toolResult","toolName":"ls","content":"Out"}"#),
            row("|[ls]", Tone::Muted, "toolresult out")
        );
        assert_eq!(
            message(r#"{"role":"bashExecution","command":"A\tb","output":"x"}"#),
            row("[bash]: |A b", Tone::Dim, "bashexecution  a\tb")
        );
        assert_eq!(message(r#"{"role":"x"}"#), row("|[x]", Tone::Dim, "x"));
        assert_eq!(message("null"), row("|", Tone::Dim, ""));
    }

    #[test]
    fn assistants_without_text() {
        let quiet = |rest: &str| {
            let json = format!(r#"{{"role":"assistant","content":[{{"type":"toolCall"}}]{rest}}}"#);
            let (text, _, _, is_quiet) = message(&json);
            (text, is_quiet)
        };
        for (rest, text, is_quiet) in [
            ("", "(no content)", true),
            (r#","stopReason":"toolUse""#, "(no content)", true),
            (r#","stopReason":"length""#, "(no content)", false),
            (
                r#","stopReason":"aborted","errorMessage":"e""#,
                "(aborted)",
                false,
            ),
            (
                r#","stopReason":"error","errorMessage":"e\nf""#,
                "e f",
                false,
            ),
        ] {
            assert_eq!(
                quiet(rest),
                (format!("assistant: |{text}"), is_quiet),
                "{rest}"
            );
        }
    }

    #[test]
    fn other_kinds() {
        for (json, text, tone, search) in [
            (
                r#"{"type":"compaction","tokensBefore":1500,"summary":"s"}"#,
                "|[compaction: 2k tokens]",
                Tone::Compaction,
                "compaction",
            ),
            (
                r#"{"type":"branch_summary","summary":"S\nt"}"#,
                "[branch summary]: |S t",
                Tone::Summary,
                "branch summary s\nt",
            ),
            (
                r#"{"type":"model_change","model":"p/M"}"#,
                "|[model: p/M]",
                Tone::Dim,
                "model p/m",
            ),
            (
                r#"{"type":"thinking_level_change","thinkingLevel":null}"#,
                "|[thinking: off]",
                Tone::Dim,
                "thinking off",
            ),
            (
                r#"{"type":"custom","customType":"X"}"#,
                "|[custom: X]",
                Tone::Dim,
                "custom x",
            ),
            (
                r#"{"type":"label","label":"L"}"#,
                "|[label: L]",
                Tone::Dim,
                "label l",
            ),
            (
                r#"{"type":"label"}"#,
                "|[label: (cleared)]",
                Tone::Dim,
                "label",
            ),
            (
                r#"{"type":"custom_message","customType":"N","content":[{"type":"text","text":"T"}]}"#,
                "[N]: |T",
                Tone::Custom,
                "n t",
            ),
            (
                r#"{"type":"mode_change","mode":"plan"}"#,
                "|",
                Tone::Dim,
                "",
            ),
            (r#"{"type":"unheard of"}"#, "|", Tone::Dim, ""),
            ("5", "|", Tone::Dim, ""),
        ] {
            assert_eq!(shown(json), row(text, tone, search), "{json}");
        }
    }
}
