//! Closers: events that end a turn which a crash interrupted.

use indexmap::IndexMap;

use super::value::{elements, member, number, string};
use crate::json::RawStr;
use crate::json::number::to_js_text;
use crate::json::text::encode;

const NOT_STARTED: &str = "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.";
const OUTCOME_UNKNOWN: &str = "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly.";

/// The events that matter to somebody who reads a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// `turn/start`
    TurnStart,
    /// `turn/end`
    TurnEnd,
    /// `step/start`
    StepStart,
    /// `step/end`
    StepEnd,
    /// `user/message`
    UserMessage,
    /// `steering/message`, of an older format
    SteeringMessage,
    /// `assistant/message`
    AssistantMessage,
    /// `tool/call`
    ToolCall,
    /// `tool/result`
    ToolResult,
    /// `request/header`
    RequestHeader,
    /// `request/header-delta`, no longer supported
    HeaderDelta,
    /// `mode/set`, no longer supported
    ModeSet,
    /// Any other.
    Other,
}

impl EventKind {
    /// The kind of an event by its `type`.
    pub fn of_type(name: &RawStr<'_>) -> Self {
        match name.decode().as_ref() {
            b"turn/start" => Self::TurnStart,
            b"turn/end" => Self::TurnEnd,
            b"step/start" => Self::StepStart,
            b"step/end" => Self::StepEnd,
            b"user/message" => Self::UserMessage,
            b"steering/message" => Self::SteeringMessage,
            b"assistant/message" => Self::AssistantMessage,
            b"tool/call" => Self::ToolCall,
            b"tool/result" => Self::ToolResult,
            b"request/header" => Self::RequestHeader,
            b"request/header-delta" => Self::HeaderDelta,
            b"mode/set" => Self::ModeSet,
            _ => Self::Other,
        }
    }

    /// The kind of an event by its text.
    pub fn of_event(event: &[u8]) -> Self {
        let name = member(event, "type").and_then(string);
        name.map_or(Self::Other, |name| Self::of_type(&name))
    }
}

/// What is open after some events.
#[derive(Debug, Default)]
pub struct OpenTurn {
    /// JSON texts of the numbers of the turn and the step.
    turn: Option<Vec<u8>>,
    step: Option<Vec<u8>>,
    /// Calls without a result by their ids (WTF-8), in the order in which they were asked for.
    calls: IndexMap<Vec<u8>, PendingCall>,
}

#[derive(Debug)]
struct PendingCall {
    step: Option<Vec<u8>>,
    /// JSON text of the sequence number of its `tool/call`.
    started: Option<Vec<u8>>,
}

impl OpenTurn {
    /// Takes the next event into account.
    pub fn see(&mut self, kind: EventKind, event: &[u8]) {
        match kind {
            EventKind::TurnStart => {
                *self = Self {
                    turn: data_member(event, "turn"),
                    ..Self::default()
                };
            }
            EventKind::TurnEnd => *self = Self::default(),
            EventKind::StepStart => self.step = data_member(event, "step"),
            EventKind::StepEnd => {
                self.step = None;
                self.calls.clear();
            }
            EventKind::AssistantMessage => self.see_requests(event),
            EventKind::ToolCall => {
                let id = path(event, &["data", "callId"]).and_then(string);
                let call = id.and_then(|id| self.calls.get_mut(id.decode().as_ref()));
                if let Some(call) = call {
                    call.started = member(event, "seq").map(as_stringified);
                }
            }
            EventKind::ToolResult => {
                let id = path(event, &["data", "message", "source", "callId"])
                    .or_else(|| path(event, &["data", "callId"]))
                    .and_then(string);
                if let Some(id) = id {
                    self.calls.shift_remove(id.decode().as_ref());
                }
            }
            _ => {}
        }
    }

    fn see_requests(&mut self, event: &[u8]) {
        // Records of an older form have no message around their content.
        let content = path(event, &["data", "message", "content"])
            .or_else(|| path(event, &["data", "content"]))
            .and_then(elements);
        for block in content.unwrap_or_default() {
            let is_call = member(block, "type")
                .and_then(string)
                .is_some_and(|kind| kind.is("tool-call"));
            if let Some(id) = member(block, "id").and_then(string).filter(|_| is_call) {
                let call = PendingCall {
                    step: data_member(event, "step"),
                    started: None,
                };
                self.calls.insert(id.decode().into_owned(), call);
            }
        }
    }

    /// The events that close the turn, as JSON texts: none when no turn is open. `seq` is the first
    /// sequence number that is free, `time` the time of the last event.
    pub fn closers(&self, mut seq: u64, time: f64) -> Vec<Vec<u8>> {
        let Some(turn) = &self.turn else {
            return Vec::new();
        };
        let time = to_js_text(time);
        let mut events = Vec::new();
        for (id, call) in &self.calls {
            events.push(result(turn, id, call, seq, &time));
            seq += 1;
        }
        if let Some(step) = &self.step {
            let head = format!(r#"{{"type":"step/end","seq":{seq},"time":{time},"data":{{"turn":"#);
            events.push([head.as_bytes(), turn, br#","step":"#, step, b"}}"].concat());
            seq += 1;
        }
        let head = format!(r#"{{"type":"turn/end","seq":{seq},"time":{time},"data":{{"turn":"#);
        let reason = br#","reason":{"kind":"interrupted"}}}"#;
        events.push([head.as_bytes(), turn, reason].concat());
        events
    }
}

/// The closers of a list of events, given as JSON texts.
pub fn closers_of<T: AsRef<[u8]>>(events: &[T]) -> Vec<Vec<u8>> {
    let mut open = OpenTurn::default();
    for event in events {
        open.see(EventKind::of_event(event.as_ref()), event.as_ref());
    }
    let number_of = |name| {
        let value = events.last().and_then(|last| member(last.as_ref(), name));
        value.and_then(number).unwrap_or_default()
    };
    open.closers(number_of("seq") as u64 + 1, number_of("time"))
}

/// The result of a call that never ended.
fn result(turn: &[u8], id: &[u8], call: &PendingCall, seq: u64, time: &str) -> Vec<u8> {
    let (name, code, text) = match call.started {
        None => ("ToolNotStartedError", "TOOL_NOT_STARTED", NOT_STARTED),
        Some(_) => (
            "ToolOutcomeUnknownError",
            "TOOL_OUTCOME_UNKNOWN",
            OUTCOME_UNKNOWN,
        ),
    };
    let message_id = [
        b"interrupted-tool-result-",
        id,
        format!("-{seq}").as_bytes(),
    ]
    .concat();
    let id = encode(id);
    let mut out = format!(r#"{{"type":"tool/result","seq":{seq},"time":{time},"data":{{"turn":"#)
        .into_bytes();
    out.extend_from_slice(turn);
    if let Some(step) = &call.step {
        out.extend_from_slice(br#","step":"#);
        out.extend_from_slice(step);
    }
    out.extend_from_slice(br#","message":{"id":"#);
    out.extend_from_slice(&encode(&message_id));
    out.extend_from_slice(br#","role":"user","source":{"kind":"tool","callId":"#);
    out.extend_from_slice(&id);
    out.extend_from_slice(br#"},"content":[{"type":"tool-result","toolCallId":"#);
    out.extend_from_slice(&id);
    out.extend_from_slice(br#","isError":true,"content":[{"type":"text","text":"#);
    out.extend_from_slice(&encode(text.as_bytes()));
    let error =
        format!(r#"}}]}}]}},"error":{{"name":"{name}","code":"{code}"}}}},"surfaceOp":"append""#);
    out.extend_from_slice(error.as_bytes());
    if let Some(started) = &call.started {
        out.extend_from_slice(br#","sourceEventSeqs":["#);
        out.extend_from_slice(started);
        out.push(b']');
    }
    out.push(b'}');
    out
}

/// The value at the end of a path of keys.
fn path<'a>(text: &'a [u8], keys: &[&str]) -> Option<&'a [u8]> {
    keys.iter().try_fold(text, |text, key| member(text, key))
}

fn data_member(event: &[u8], name: &str) -> Option<Vec<u8>> {
    path(event, &["data", name]).map(as_stringified)
}

/// A value as `JSON.stringify` prints it, if it is a number; others as they are.
fn as_stringified(value: &[u8]) -> Vec<u8> {
    match number(value) {
        Some(number) => to_js_text(number).into_bytes(),
        None => value.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(closers: Vec<Vec<u8>>) -> Vec<String> {
        let text = |closer| String::from_utf8(closer).unwrap();
        closers.into_iter().map(text).collect()
    }

    #[test]
    fn ids_of_calls_are_texts_not_spellings() {
        let asked = r#"{"type":"assistant/message","seq":1,"time":2,"data":{"step":1.0,"message":{"content":[{"type":"tool-call","id":"\u0063\ud800"},{"type":"tool-call","id":"d"}]}}}"#;
        let events = [
            r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":3e0}}"#,
            asked,
            r#"{"type":"tool/call","seq":2,"time":3,"data":{"callId":"c\uD800"}}"#,
            r#"{"type":"tool/result","seq":3,"time":4.0,"data":{"message":{"source":{"callId":"d"}}}}"#,
        ];
        let closers = texts(closers_of(&events));
        assert_eq!(closers.len(), 2);
        assert!(closers[0].starts_with(r#"{"type":"tool/result","seq":4,"time":4,"data":{"turn":3,"step":1,"message":{"id":"interrupted-tool-result-c\ud800-4","#));
        assert!(closers[0].ends_with(r#""surfaceOp":"append","sourceEventSeqs":[2]}"#));
        assert_eq!(
            closers[1],
            r#"{"type":"turn/end","seq":5,"time":4,"data":{"turn":3,"reason":{"kind":"interrupted"}}}"#
        );
        serde_json::from_str::<&serde_json::value::RawValue>(&closers[0]).unwrap();
    }
}
