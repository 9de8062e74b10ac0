//! Packing: runs of streamed chunks become rows.

use super::row::{RowKind, push_member};
use super::value::{Members, is_safe_integer, number, string};
use crate::json::RawStr;
use crate::json::number::to_js_text;

/// Shorter runs are written as plain events. Readers accept any length.
const SHORTEST_RUN: usize = 3;

/// A row that takes the place of some of the events.
#[derive(Debug, PartialEq, Eq)]
pub struct PackedRun {
    /// Position of the first event.
    pub first: usize,
    /// Number of events.
    pub count: usize,
    /// JSON text of the row.
    pub row: Vec<u8>,
}

/// The runs in a batch of events, given as JSON texts without repeated keys; in order.
pub fn runs<T: AsRef<[u8]>>(events: &[T]) -> Vec<PackedRun> {
    let mut runs = Vec::new();
    let mut run: Vec<Chunk<'_>> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let chunk = Chunk::of(event.as_ref());
        if !matches!((&chunk, run.last()), (Some(next), Some(last)) if next.continues(last)) {
            close(&mut run, at, &mut runs);
        }
        run.extend(chunk);
    }
    close(&mut run, events.len(), &mut runs);
    runs
}

/// The lines that a batch is stored as: with `packing`, rows in the place of runs.
pub fn lines<T: AsRef<[u8]>>(events: &[T], packing: bool) -> Vec<u8> {
    let runs = if packing { runs(events) } else { Vec::new() };
    let mut runs = runs.into_iter().peekable();
    let mut out = Vec::with_capacity(events.iter().map(|event| event.as_ref().len() + 1).sum());
    let mut at = 0;
    while let Some(event) = events.get(at) {
        if let Some(run) = runs.next_if(|run| run.first == at) {
            out.extend_from_slice(&run.row);
            at += run.count;
        } else {
            out.extend_from_slice(event.as_ref());
            at += 1;
        }
        out.push(b'\n');
    }
    out
}

/// Ends a run whose last event is the one before `end`.
fn close(run: &mut Vec<Chunk<'_>>, end: usize, runs: &mut Vec<PackedRun>) {
    if run.len() >= SHORTEST_RUN {
        runs.push(PackedRun {
            first: end - run.len(),
            count: run.len(),
            row: row(run),
        });
    }
    run.clear();
}

/// An event of which nothing would be lost in a row.
struct Chunk<'a> {
    kind: RowKind,
    seq: f64,
    time: f64,
    /// `turn`, `step`, `index`.
    place: [f64; 3],
    id: Option<RawStr<'a>>,
    name: Option<RawStr<'a>>,
    text: RawStr<'a>,
}

impl<'a> Chunk<'a> {
    fn of(event: &'a [u8]) -> Option<Self> {
        let [kind, seq, time, data] =
            Members::of(event, &["type", "seq", "time", "data"])?.exactly()?;
        if !string(kind)?.is("assistant/chunk") {
            return None;
        }
        let seq = number(seq).filter(|seq| is_safe_integer(*seq) && *seq >= 0.0)?;
        let time = number(time).filter(|time| is_safe_integer(*time))?;
        let [turn, step, chunk] = Members::of(data, &["turn", "step", "chunk"])?.exactly()?;
        let names = ["type", "index", "text", "id", "name", "argumentsDelta"];
        let members = Members::of(chunk, &names).filter(|members| !members.others)?;
        let [kind, index, text, id, name, arguments] = members.values;
        let kind = RowKind::of_chunk(&string(kind?)?)?;
        let (text, id, name) = match (kind, text, id, name, arguments) {
            (RowKind::ToolCall, None, Some(id), name, Some(arguments)) => {
                let name = match name {
                    Some(name) => Some(string(name)?),
                    None => None,
                };
                (arguments, Some(string(id)?), name)
            }
            (RowKind::Text | RowKind::Reasoning, Some(text), None, None, None) => {
                (text, None, None)
            }
            _ => return None,
        };
        Some(Self {
            kind,
            seq,
            time,
            place: [number(turn)?, number(step)?, number(index?)?],
            id,
            name,
            text: string(text)?,
        })
    }

    fn continues(&self, last: &Self) -> bool {
        self.kind == last.kind
            && self.seq == last.seq + 1.0
            && is_safe_integer(self.time - last.time)
            && self.place == last.place
            && same(self.id, last.id)
            && same(self.name, last.name)
    }
}

fn same(one: Option<RawStr<'_>>, other: Option<RawStr<'_>>) -> bool {
    one.map(|text| text.decode()) == other.map(|text| text.decode())
}

fn row(run: &[Chunk<'_>]) -> Vec<u8> {
    let Some(first) = run.first() else {
        return Vec::new();
    };
    let [turn, step, index] = first.place.map(to_js_text);
    let gaps: Vec<_> = run
        .iter()
        .zip(run.iter().skip(1))
        .map(|(one, next)| to_js_text(next.time - one.time))
        .collect();
    let mut out = format!(
        r#"{{"type":"{}","seq0":{},"time0":{},"data":{{"turn":{turn},"step":{step},"index":{index},"dt":[{}]"#,
        first.kind.tag(),
        to_js_text(first.seq),
        to_js_text(first.time),
        gaps.join(","),
    )
    .into_bytes();
    push_member(&mut out, "id", first.id);
    push_member(&mut out, "name", first.name);
    out.extend_from_slice(match first.kind {
        RowKind::ToolCall => br#","args":["#,
        _ => br#","texts":["#,
    });
    for (at, chunk) in run.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
        out.extend_from_slice(chunk.text.raw());
        out.push(b'"');
    }
    out.extend_from_slice(b"]}}");
    out
}

#[cfg(test)]
#[path = "pack_tests.rs"]
mod tests;
