//! What belongs together: tool calls and their results, compactions and what they keep.

use std::collections::HashMap;

use super::findings::{Finding, Kind};
use super::links::{Link, Links};
use super::survey::{Survey, lossy};
use crate::session::{Slot, Symbol};

/// Looks for calls without a result below them, and results without a call above them. The same id
/// may be used on several branches.
pub fn unpaired(survey: &Survey, links: &Links) -> Vec<Finding> {
    let calls = by_call(&survey.calls, links);
    let results = by_call(&survey.results, links);
    let mut findings = Vec::new();
    let about = |kind, call: Symbol, slot| {
        let mut finding = survey.at_entry(kind, slot);
        finding.related = finding.id.replace(lossy(survey.call_ids.get(call)));
        finding
    };
    for &(call, slot) in survey.calls.iter().filter(|pair| !is_copy(links, pair.1)) {
        let (start, end) = links.span(slot);
        let answered = results.get(&call).is_some_and(|results| {
            let next = results.partition_point(|result| result.0 < start);
            results.get(next).is_some_and(|result| result.0 < end)
        });
        if !answered {
            findings.push(about(Kind::CallWithoutResult, call, slot));
        }
    }
    // Spans lie within each other or apart: the widest ones up to a place decide.
    let reach: HashMap<Symbol, Vec<(u32, u32)>> = calls
        .into_iter()
        .map(|(call, mut spans)| {
            let mut widest = 0;
            for span in &mut spans {
                widest = widest.max(span.1);
                span.1 = widest;
            }
            (call, spans)
        })
        .collect();
    for &(call, slot) in survey.results.iter().filter(|pair| !is_copy(links, pair.1)) {
        let (at, _) = links.span(slot);
        let called = reach.get(&call).is_some_and(|spans| {
            let next = spans.partition_point(|span| span.0 <= at);
            let before = next.checked_sub(1).and_then(|before| spans.get(before));
            before.is_some_and(|span| at < span.1)
        });
        if !called {
            findings.push(about(Kind::ResultWithoutCall, call, slot));
        }
    }
    findings
}

fn is_copy(links: &Links, slot: Slot) -> bool {
    matches!(links.links.get(slot as usize), Some(Link::Copy(_)))
}

/// Spans of the entries of each call, in the order of the tree.
fn by_call(pairs: &[(Symbol, Slot)], links: &Links) -> HashMap<Symbol, Vec<(u32, u32)>> {
    let mut spans: HashMap<Symbol, Vec<(u32, u32)>> = HashMap::new();
    for &(call, slot) in pairs.iter().filter(|pair| !is_copy(links, pair.1)) {
        spans.entry(call).or_default().push(links.span(slot));
    }
    for list in spans.values_mut() {
        list.sort_unstable();
    }
    spans
}

/// Looks for compactions that keep from an entry which is not above them.
pub fn off_path(survey: &Survey, links: &Links) -> Vec<Finding> {
    let mut slots: HashMap<Symbol, Vec<Slot>> = HashMap::new();
    for &(_, kept) in &survey.kept {
        slots.entry(kept).or_default();
    }
    if slots.is_empty() {
        return Vec::new();
    }
    for (slot, entry) in survey.entries.iter().enumerate() {
        if let Some(list) = entry.id.and_then(|id| slots.get_mut(&id)) {
            list.push(slot as Slot);
        }
    }
    let kept = survey.kept.iter().filter(|pair| !is_copy(links, pair.0));
    kept.filter(|(slot, kept)| {
        let kept = slots.get(kept).map(Vec::as_slice).unwrap_or_default();
        !kept
            .iter()
            .any(|&kept| kept != *slot && links.is_above(kept, *slot))
    })
    .map(|&(slot, kept)| {
        let finding = survey.at_entry(Kind::KeptEntryOffPath, slot);
        finding.related_to(survey.id_text(kept))
    })
    .collect()
}
