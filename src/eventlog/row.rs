//! Rows: storage records that stand for a run of streamed chunks.
//!
//! ```text
//! {"type":"text-chunks","seq0":0,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[2,3],"texts":["a","b","c"]}}
//! ```
//!
//! Member k has the sequence number `seq0 + k` and the time `time0` plus the first k gaps of `dt`.

use super::value::{self, Members, is_safe_integer, number, string};
use crate::json::RawStr;
use crate::json::number::to_js_text;

/// What kind of chunks a row or a run holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// `text-chunks` of `text-delta`.
    Text,
    /// `reasoning-chunks` of `reasoning-delta`.
    Reasoning,
    /// `tool-call-chunks` of `tool-call-delta`.
    ToolCall,
}

impl RowKind {
    /// The kind of a row by the `type` of its record.
    pub fn of_tag(tag: &str) -> Option<Self> {
        [Self::Text, Self::Reasoning, Self::ToolCall]
            .into_iter()
            .find(|kind| tag == kind.tag())
    }

    /// The kind of a run by the `type` of its chunks.
    pub(super) fn of_chunk(chunk: &RawStr<'_>) -> Option<Self> {
        [Self::Text, Self::Reasoning, Self::ToolCall]
            .into_iter()
            .find(|kind| chunk.is(kind.chunk()))
    }

    /// `type` of the record.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Text => "text-chunks",
            Self::Reasoning => "reasoning-chunks",
            Self::ToolCall => "tool-call-chunks",
        }
    }

    /// `type` of the chunks.
    fn chunk(self) -> &'static str {
        match self {
            Self::Text => "text-delta",
            Self::Reasoning => "reasoning-delta",
            Self::ToolCall => "tool-call-delta",
        }
    }
}

/// A valid row.
#[derive(Debug)]
pub struct Row<'a> {
    kind: RowKind,
    seq0: f64,
    time0: f64,
    /// `turn`, `step` and `index` as JavaScript prints them.
    place: [String; 3],
    id: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    gaps: Vec<f64>,
    texts: Vec<RawStr<'a>>,
}

/// Why a row is malformed. The texts are part of the contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed {} storage row: {why}", kind.tag())]
pub struct RowFault {
    kind: RowKind,
    why: String,
}

impl<'a> Row<'a> {
    /// Reads a record whose `type` says that it is a row; its text must be valid JSON.
    pub fn parse(kind: RowKind, text: &'a [u8]) -> Result<Self, RowFault> {
        read(kind, text).map_err(|why| RowFault { kind, why })
    }

    /// Sequence number of the first member.
    pub fn seq0(&self) -> f64 {
        self.seq0
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        self.texts.len()
    }

    /// Time of the last member.
    pub fn last_time(&self) -> f64 {
        self.gaps.iter().fold(self.time0, |time, gap| time + gap)
    }

    /// The events that the row stands for, as JSON texts with the key order of the contract.
    pub fn expand(&self) -> Vec<Vec<u8>> {
        let [turn, step, index] = &self.place;
        let mut time = self.time0;
        let mut gaps = self.gaps.iter();
        let mut events = Vec::with_capacity(self.texts.len());
        for (at, text) in self.texts.iter().enumerate() {
            let seq = to_js_text(self.seq0 + at as f64);
            let mut event = format!(
                r#"{{"type":"assistant/chunk","seq":{seq},"time":{},"data":{{"turn":{turn},"step":{step},"chunk":{{"type":"{}","index":{index}"#,
                to_js_text(time),
                self.kind.chunk(),
            )
            .into_bytes();
            push_member(&mut event, "id", self.id);
            push_member(&mut event, "name", self.name);
            let key = match self.kind {
                RowKind::ToolCall => "argumentsDelta",
                _ => "text",
            };
            push_member(&mut event, key, Some(*text));
            event.extend_from_slice(b"}}}");
            events.push(event);
            time += gaps.next().copied().unwrap_or_default();
        }
        events
    }
}

/// Writes `,"key":"text"`, the escapes untouched.
pub(super) fn push_member(out: &mut Vec<u8>, key: &str, text: Option<RawStr<'_>>) {
    if let Some(text) = text {
        out.extend_from_slice(format!(r#","{key}":""#).as_bytes());
        out.extend_from_slice(text.raw());
        out.push(b'"');
    }
}

fn read(kind: RowKind, text: &[u8]) -> Result<Row<'_>, String> {
    let [_, seq0, time0, data] = Members::of(text, &["type", "seq0", "time0", "data"])
        .and_then(|members| members.exactly())
        .ok_or("envelope must be exactly {type, seq0, time0, data}")?;
    let seq0 = safe_integer(seq0)
        .filter(|seq| *seq >= 0.0)
        .ok_or("seq0 must be a non-negative safe integer")?;
    let time0 = safe_integer(time0).ok_or("time0 must be a safe integer")?;
    if !value::is_container(data) {
        return Err("data must be an object".to_owned());
    }
    let (place, dt, list, id, name) = match kind {
        RowKind::ToolCall => {
            let names = ["turn", "step", "index", "dt", "args", "id", "name"];
            let members = Members::of(data, &names).filter(|members| !members.others);
            let Some(
                [
                    Some(turn),
                    Some(step),
                    Some(index),
                    Some(dt),
                    Some(args),
                    Some(id),
                    name,
                ],
            ) = members.map(|members| members.values)
            else {
                return Err(
                    "data must be exactly {turn, step, index, id, name?, dt, args}".to_owned(),
                );
            };
            let wrong = "id (and name when present) must be strings";
            let id = string(id).ok_or(wrong)?;
            let name = name.map(|name| string(name).ok_or(wrong)).transpose()?;
            ([turn, step, index], dt, args, Some(id), name)
        }
        RowKind::Text | RowKind::Reasoning => {
            let [turn, step, index, dt, texts] =
                Members::of(data, &["turn", "step", "index", "dt", "texts"])
                    .and_then(|members| members.exactly())
                    .ok_or("data must be exactly {turn, step, index, dt, texts}")?;
            ([turn, step, index], dt, texts, None, None)
        }
    };
    let [turn, step, index] = place.map(|value| number(value).map(to_js_text));
    let (Some(turn), Some(step), Some(index)) = (turn, step, index) else {
        return Err("turn/step/index must be numbers".to_owned());
    };
    let texts = strings(list).ok_or_else(|| {
        let key = match kind {
            RowKind::ToolCall => "args",
            _ => "texts",
        };
        format!("{key} must be a non-empty string array")
    })?;
    let gaps = value::elements(dt)
        .and_then(|gaps| {
            gaps.into_iter()
                .map(safe_integer)
                .collect::<Option<Vec<_>>>()
        })
        .ok_or("dt must be an array of safe integers")?;
    if gaps.len() + 1 != texts.len() {
        let (gaps, members) = (gaps.len(), texts.len());
        return Err(format!("dt length {gaps} does not match {members} members"));
    }
    if !is_safe_integer(seq0 + texts.len() as f64 - 1.0) {
        return Err("member seqs must stay safe integers".to_owned());
    }
    let mut time = time0;
    for gap in &gaps {
        time += gap;
        if !is_safe_integer(time) {
            return Err("member times must stay safe integers".to_owned());
        }
    }
    Ok(Row {
        kind,
        seq0,
        time0,
        place: [turn, step, index],
        id,
        name,
        gaps,
        texts,
    })
}

fn safe_integer(text: &[u8]) -> Option<f64> {
    number(text).filter(|number| is_safe_integer(*number))
}

/// The elements of an array of strings that has at least one.
fn strings(text: &[u8]) -> Option<Vec<RawStr<'_>>> {
    let all: Vec<_> = value::elements(text)?
        .into_iter()
        .map(string)
        .collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(kind: RowKind, text: &str) -> String {
        Row::parse(kind, text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn members_count_on() {
        let text = r#"{"type":"tool-call-chunks","seq0":7,"time0":5,"data":{"turn":1.0,"step":1e0,"index":-0.5,"dt":[-3],"name":"n","id":"c","args":["\ud800",""]}}"#;
        let row = Row::parse(RowKind::ToolCall, text.as_bytes()).unwrap();
        assert_eq!((row.count(), row.last_time()), (2, 2.0));
        let events = row.expand();
        assert_eq!(
            String::from_utf8_lossy(&events[0]),
            r#"{"type":"assistant/chunk","seq":7,"time":5,"data":{"turn":1,"step":1,"chunk":{"type":"tool-call-delta","index":-0.5,"id":"c","name":"n","argumentsDelta":"\ud800"}}}"#
        );
        assert!(String::from_utf8_lossy(&events[1]).contains(r#""seq":8,"time":2,"#));
    }

    #[test]
    fn repeated_keys_count_once() {
        let text = r#"{"type":"text-chunks","seq0":7,"seq0":8,"time0":5,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}}"#;
        assert_eq!(
            Row::parse(RowKind::Text, text.as_bytes()).unwrap().seq0(),
            8.0
        );
    }

    #[test]
    fn bounds() {
        let row = |seq0: &str, dt: &str| {
            format!(
                r#"{{"type":"text-chunks","seq0":{seq0},"time0":0,"data":{{"turn":1,"step":1,"index":0,"dt":{dt},"texts":["a","b","c"]}}}}"#
            )
        };
        assert!(why(RowKind::Text, &row("9007199254740991", "[0,0]")).contains("member seqs"));
        let excursion = row("0", "[9007199254740991,1]");
        assert!(why(RowKind::Text, &excursion).contains("member times"));
        assert!(Row::parse(RowKind::Text, row("9007199254740989", "[0,0]").as_bytes()).is_ok());
        assert!(why(RowKind::Text, &row("-1", "[0,0]")).contains("seq0 must be"));
        assert!(why(RowKind::Text, &row("0", "[0]")).contains("dt length 1 does not match 3"));
        let array = r#"{"type":"text-chunks","seq0":1,"time0":0,"data":[]}"#;
        assert!(why(RowKind::Text, array).contains("data must be exactly"));
    }
}
